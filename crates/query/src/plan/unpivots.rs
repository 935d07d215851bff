//! UNPIVOT, written out: each row of the FROM as often as there are columns that become rows, by a list of their names and one of
//! their values.

use super::from_columns::Column;
use super::pivots::{Walker, call, column_names, name_text, parsed_items, parsed_query};
use datafusion::arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Select, SelectItem, SetExpr, TableFactor, Value, VisitorMut,
};
use hushdb_sql::type_names::type_name;
use hushdb_sql::walk::visit_mut;
use hushdb_sql::{Error, Result, folded, sql_text};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// What an UNPIVOT makes of columns.
struct Made {
    name: String,
    values: Vec<String>,
    nulls: bool,
}

/// Columns that become one row, and its name.
struct Entry {
    name: String,
    values: Vec<Expr>,
}

/// Writes one out. The arguments say what it makes.
pub(super) fn write_out(
    walker: &Walker<'_>,
    select: &mut Select,
    is_statement: bool,
    args: Vec<Expr>,
) -> Result<()> {
    let has_more = select.selection.is_some()
        || select.having.is_some()
        || select.qualify.is_some()
        || !matches!(&select.group_by, GroupByExpr::Expressions(groups, _) if groups.is_empty());
    if has_more {
        return Err(Error::parser(
            "UNPIVOT takes no WHERE and no GROUP BY: write FROM (UNPIVOT ...) WHERE ...",
        ));
    }
    let made = match is_statement {
        true => of_statement(args),
        false => of_clause(args),
    };
    let made = made.ok_or_else(|| {
        Error::parser(
            "UNPIVOT takes ON columns INTO NAME name VALUE value, or (value FOR name IN (columns))",
        )
    })?;
    let items = std::mem::take(&mut select.projection);
    let count = items.len();
    let items = items.into_iter().enumerate();
    // The call that says what is made stands first, or last.
    let own = if is_statement { count - 1 } else { 0 };
    let mut entries = vec![];
    for (_, item) in items.filter(|(at, _)| *at != own) {
        entries.extend(entries_of(walker, select, item)?);
    }
    let rest = left_over(walker, select, &entries)?;
    check(walker, select, &made, &entries)?;
    let inner = inner(&made, &entries, &rest)?;
    let from = std::mem::take(&mut select.from);
    let mut query = parsed_query("SELECT 1")?;
    if let SetExpr::Select(within) = query.body.as_mut() {
        within.projection = inner;
        within.from = from;
    }
    let mut outer = parsed_query(&outer(&made, &rest))?;
    let SetExpr::Select(around) = outer.body.as_mut() else {
        return Err(Error::internal("a query was read otherwise"));
    };
    select.projection = std::mem::take(&mut around.projection);
    select.selection = around.selection.take();
    select.from = std::mem::take(&mut around.from);
    match select.from.first_mut().map(|table| &mut table.relation) {
        Some(TableFactor::Derived { subquery, .. }) => **subquery = query,
        _ => return Err(Error::internal("a query was read otherwise")),
    }
    Ok(())
}

fn names_of(exprs: &[Expr]) -> Option<Vec<String>> {
    let names = exprs.iter().map(|expr| match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        _ => None,
    });
    names.collect()
}

/// `"$unpivot"(name, value...)`.
fn of_statement(args: Vec<Expr>) -> Option<Made> {
    let mut names = names_of(&args)?.into_iter();
    Some(Made {
        name: names.next()?,
        values: names.collect(),
        nulls: false,
    })
}

/// `"$unpivot_for"(value, name, nulls)`, with a bracket around more values than one.
fn of_clause(args: Vec<Expr>) -> Option<Made> {
    let [values, name, Expr::Value(nulls)] = args.as_slice() else {
        return None;
    };
    let values = match values {
        Expr::Tuple(values) => names_of(values)?,
        Expr::Nested(value) => names_of(std::slice::from_ref(value))?,
        value => names_of(std::slice::from_ref(value))?,
    };
    Some(Made {
        name: names_of(std::slice::from_ref(name))?.pop()?,
        values,
        nulls: nulls.value == Value::Boolean(true),
    })
}

/// The rows that an item of the list makes.
fn entries_of(walker: &Walker<'_>, select: &Select, item: SelectItem) -> Result<Vec<Entry>> {
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr, None),
        SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias.value)),
        star => {
            let columns = walker.columns(select, vec![star])?.into_iter();
            let entries = columns.map(|column| Entry {
                values: vec![column.expr()],
                name: column.name,
            });
            return Ok(entries.collect());
        }
    };
    let mut found = Columns(None);
    let _: ControlFlow<()> = visit_mut(&mut expr.clone(), &mut found);
    if let Some(columns) = found.0 {
        let columns = walker.columns(select, vec![SelectItem::UnnamedExpr(columns)])?;
        let entries = columns.into_iter().map(|column| {
            let mut value = expr.clone();
            let _: ControlFlow<()> = visit_mut(&mut value, &mut Put(column.expr()));
            Entry {
                values: vec![value],
                name: column.name,
            }
        });
        return Ok(entries.collect());
    }
    let values = match expr {
        Expr::Tuple(values) => values,
        Expr::Nested(value) => vec![*value],
        value => vec![value],
    };
    let own = || {
        let names = values.iter().flat_map(|value| match value {
            Expr::CompoundIdentifier(parts) => parts
                .last()
                .map(|part| part.value.clone())
                .into_iter()
                .collect(),
            value => column_names(value),
        });
        names.collect::<Vec<_>>().join("_")
    };
    let name = alias.unwrap_or_else(own);
    Ok(vec![Entry { name, values }])
}

fn is_columns(expr: &Expr) -> bool {
    call(expr).is_some_and(|(name, _)| name.eq_ignore_ascii_case("columns"))
}

/// Finds `COLUMNS(...)`.
struct Columns(Option<Expr>);

impl VisitorMut for Columns {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if is_columns(expr) {
            self.0 = Some(expr.clone());
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

/// Puts a column where `COLUMNS(...)` stands.
struct Put(Expr);

impl VisitorMut for Put {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if is_columns(expr) {
            *expr = self.0.clone();
        }
        ControlFlow::Continue(())
    }
}

/// Checks numbers and types of the values.
fn check(walker: &Walker<'_>, select: &Select, made: &Made, entries: &[Entry]) -> Result<()> {
    let wanted = made.values.len();
    if entries.is_empty() {
        return Err(Error::binder("UNPIVOT needs a column that becomes rows"));
    }
    if let Some(entry) = entries.iter().find(|entry| entry.values.len() != wanted) {
        return Err(Error::binder(format!(
            "UNPIVOT value count mismatch - entry has {} values, but expected all entries to have {wanted} values",
            entry.values.len(),
        )));
    }
    for at in 0..wanted {
        let values = entries.iter().map(|entry| &entry.values[at]);
        let items = values.map(|value| SelectItem::UnnamedExpr(value.clone()));
        let columns = walker.columns(select, items.collect())?;
        let first = columns.iter().find(|c| c.data_type != DataType::Null);
        let Some(first) = first else {
            continue;
        };
        let mut others = columns.iter();
        if let Some(other) = others.find(|other| !go_together(&first.data_type, &other.data_type)) {
            return Err(Error::binder(format!(
                "Cannot unpivot columns of types {} and {} - an explicit cast is required",
                type_name(&first.data_type),
                type_name(&other.data_type)
            )));
        }
    }
    Ok(())
}

/// Whether values of two types make a column without a CAST.
fn go_together(left: &DataType, right: &DataType) -> bool {
    let is_number = |ty: &DataType| ty.is_numeric() || *ty == DataType::Boolean;
    let is_text = |ty: &DataType| {
        matches!(
            ty,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View
        )
    };
    let is_day = |ty: &DataType| {
        matches!(
            ty,
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)
        )
    };
    left == right
        || *right == DataType::Null
        || (is_number(left) && is_number(right))
        || (is_text(left) && is_text(right))
        || (is_day(left) && is_day(right))
}

/// The columns that stay as they are.
fn left_over(walker: &Walker<'_>, select: &Select, entries: &[Entry]) -> Result<Vec<Column>> {
    let mut named = HashSet::new();
    let columns = walker.all_columns(select)?;
    for value in entries.iter().flat_map(|entry| &entry.values) {
        named.extend(column_names(value).iter().map(|name| folded(name)));
        if let Expr::Identifier(name) = value
            && !columns
                .iter()
                .any(|c| folded(&c.name) == folded(&name.value))
        {
            return Err(Error::binder(format!(
                "Column \"{}\" referenced in UNPIVOT but no matching entry was found in the table",
                name.value
            )));
        }
    }
    let left = columns.into_iter();
    Ok(left
        .filter(|column| !named.contains(&folded(&column.name)))
        .collect())
}

/// The select list of the query that makes the rows, under names of its own.
fn inner(made: &Made, entries: &[Entry], rest: &[Column]) -> Result<Vec<SelectItem>> {
    let rest = rest.iter().enumerate();
    let mut items: Vec<String> = rest
        .map(|(at, column)| format!("{} AS \"$c{at}\"", sql_text(&column.expr())))
        .collect();
    let names = entries
        .iter()
        .map(|entry| format!("'{}'", entry.name.replace('\'', "''")));
    let names = names.collect::<Vec<_>>().join(", ");
    items.push(format!("unnest([{names}]) AS \"$n\""));
    for at in 0..made.values.len() {
        let values = entries.iter().map(|entry| sql_text(&entry.values[at]));
        let values = values.collect::<Vec<_>>().join(", ");
        items.push(format!("unnest([{values}]) AS \"$v{at}\""));
    }
    parsed_items(&items.join(", "))
}

/// The query around it, which gives the names.
fn outer(made: &Made, rest: &[Column]) -> String {
    let rest = rest.iter().enumerate();
    let rest = rest.map(|(at, column)| format!("\"$c{at}\" AS {}", name_text(&column.name)));
    let name = format!("\"$n\" AS {}", name_text(&made.name));
    let values = made.values.iter().enumerate();
    let values = values.map(|(at, name)| format!("\"$v{at}\" AS {}", name_text(name)));
    let items = rest.chain([name]).chain(values);
    let items = items.collect::<Vec<_>>().join(", ");
    let there = (0..made.values.len()).map(|at| format!("\"$v{at}\" IS NOT NULL"));
    let there = match made.nulls {
        true => "true".to_owned(),
        false => there.collect::<Vec<_>>().join(" AND "),
    };
    format!("SELECT {items} FROM (SELECT 1) AS \"$rows\" WHERE {there}")
}
