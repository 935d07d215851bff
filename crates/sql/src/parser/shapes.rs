//! Relations that are brought to others that mean the same, once they are parsed: VALUES with DuckDB's names of columns, `query('...')`,
//! `query_table('...')`, `repeat(x, n)` and `repeat_row(x, y, num_rows := n)`, and `range` of points in time or of a column, which is an `unnest`.
//!
//! What must hold: a text in `query` is read as any other, and refused as any other.

use super::Statement;
use crate::calls::{all_unnamed, call, in_from, unnamed};
use crate::error::{Error, Result};
use crate::reading::query_of;
use crate::walk::{finish, visit_expressions, visit_mut};
use sqlparser::ast::{
    self, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, Ident, ObjectName, Query, Select, SelectItem, SetExpr, TableAlias,
    TableAliasColumnDef, TableFactor, TableFunctionArgs, TableWithJoins, Value, VisitMut,
    VisitorMut, WildcardAdditionalOptions,
};

use std::ops::ControlFlow;

/// Brings them to what is known.
pub(super) struct PlainShapes;

impl VisitorMut for PlainShapes {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(function) = expr {
            treat_nulls(function);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        match said_by_text(factor, false) {
            Ok(Some(new)) => *factor = new,
            Ok(None) => series_as_list(factor),
            Err(error) => return ControlFlow::Break(Box::new(error)),
        }
        ControlFlow::Continue(())
    }
}

/// `lag(f(x) IGNORE NULLS) OVER w` is about `lag`, not about `f`, for which the parser takes it.
fn treat_nulls(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    if function.over.is_none() {
        return;
    }
    if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(last)))) =
        list.args.last_mut()
        && last.over.is_none()
        && let Some(treatment) = last.null_treatment.take()
    {
        let clause = FunctionArgumentClause::IgnoreOrRespectNulls(treatment);
        list.clauses.push(clause);
    }
}

/// Gives columns of VALUES DuckDB's names, where they have none: PostgreSQL's are the planner's.
///
/// # Errors
/// `Internal` only.
pub fn name_columns_of_values(statement: &mut Statement) -> Result<()> {
    select_values(statement)?;
    statement.visit(&mut NamedValues)
}

struct NamedValues;

impl VisitorMut for NamedValues {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            if table.alias.columns.is_empty() {
                table.alias.columns = names_of_values(&table.query);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let mut unnamed = 0;
        for table in &mut select.from {
            let joined = table.joins.iter_mut().map(|join| &mut join.relation);
            for relation in std::iter::once(&mut table.relation).chain(joined) {
                name_values(relation, &mut unnamed);
            }
        }
        ControlFlow::Continue(())
    }
}

/// A statement that is VALUES alone selects from it, so that its columns have names.
fn select_values(statement: &mut Statement) -> Result<()> {
    let Statement::Sql(inner) = statement else {
        return Ok(());
    };
    let ast::Statement::Query(query) = inner.as_mut() else {
        return Ok(());
    };
    if !matches!(query.body.as_ref(), SetExpr::Values(_)) {
        return Ok(());
    }
    let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    let mut of = query_of(vec![], all)?;
    if let SetExpr::Select(select) = of.body.as_mut() {
        let mut values = query_of(vec![], SelectItem::UnnamedExpr(Expr::value(Value::Null)))?;
        std::mem::swap(&mut values.body, &mut query.body);
        select.from = vec![TableWithJoins {
            relation: derived(values, None),
            joins: vec![],
        }];
    }
    query.body = of.body;
    Ok(())
}

fn derived(subquery: Box<Query>, alias: Option<TableAlias>) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery,
        alias,
        sample: None,
    }
}

/// `col0`, `col1`... of VALUES.
fn names_of_values(query: &Query) -> Vec<TableAliasColumnDef> {
    let columns = match query.body.as_ref() {
        SetExpr::Values(values) => values.rows.first().map_or(0, |row| row.content.len()),
        _ => 0,
    };
    let names = (0..columns).map(|n| TableAliasColumnDef::from_name(format!("col{n}")));
    names.collect()
}

fn name_values(relation: &mut TableFactor, unnamed: &mut usize) {
    let TableFactor::Derived {
        subquery, alias, ..
    } = relation
    else {
        return;
    };
    let columns = names_of_values(subquery);
    if columns.is_empty() {
        return;
    }
    let alias = alias.get_or_insert_with(|| {
        let name = match std::mem::replace(unnamed, *unnamed + 1) {
            0 => "valueslist".to_owned(),
            more => format!("valueslist{more}"),
        };
        table_alias(&name)
    });
    let given = alias.columns.len();
    alias.columns.extend(columns.into_iter().skip(given));
}

fn table_alias(name: &str) -> TableAlias {
    TableAlias {
        explicit: true,
        name: Ident::new(name),
        columns: vec![],
        at: None,
    }
}

/// Gives `query_table(t)` its meaning, once nothing is put in for the name any more.
pub(crate) fn name_tables(parsed: &mut impl VisitMut) -> Result<()> {
    struct Named;
    impl VisitorMut for Named {
        type Break = Box<Error>;

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
            match said_by_text(factor, true) {
                Ok(Some(new)) => *factor = new,
                Ok(None) => {}
                Err(error) => return ControlFlow::Break(Box::new(error)),
            }
            ControlFlow::Continue(())
        }
    }
    finish(visit_mut(parsed, &mut Named))
}

/// What a function in FROM means whose text is a query or the name of a table; a name without quotes may be a macro's parameter,
/// unless these are all `put_in`.
fn said_by_text(factor: &mut TableFactor, put_in: bool) -> Result<Option<TableFactor>> {
    let TableFactor::Table {
        name,
        alias,
        args: Some(TableFunctionArgs { args, .. }),
        ..
    } = factor
    else {
        return Ok(None);
    };
    let called = name.to_string().to_lowercase();
    let all = args.as_slice();
    let args: Vec<&Expr> = args.iter().filter_map(unnamed).collect();
    match (called.as_str(), args.as_slice()) {
        ("query", [text]) => {
            let text = written(text).ok_or_else(|| {
                Error::binder("query takes the text of a query, as in query('SELECT 42')")
            })?;
            let alias = alias.take().unwrap_or_else(|| table_alias("query"));
            Ok(Some(derived(parsed_query(text)?, Some(alias))))
        }
        ("query_table", [Expr::Identifier(_) | Expr::CompoundIdentifier(_), ..]) if !put_in => {
            Ok(None)
        }
        ("query_table", [tables]) => of_tables(&[*tables], false, alias.take()).map(Some),
        ("query_table", [tables, by_name]) => {
            let by_name = match by_name {
                Expr::Value(value) => value.value == Value::Boolean(true),
                _ => return Err(named_tables()),
            };
            of_tables(&[*tables], by_name, alias.take()).map(Some)
        }
        ("repeat_row", _) => repeated_row(all, alias.take()).map(Some),
        ("repeat", [value, times]) => {
            let from = repeated((*times).clone());
            let item = SelectItem::UnnamedExpr((*value).clone());
            let alias = alias.take().unwrap_or_else(|| table_alias("repeat"));
            Ok(Some(derived(query_of(vec![from], item)?, Some(alias))))
        }
        _ => Ok(None),
    }
}

/// A table of so many rows.
fn repeated(times: Expr) -> TableWithJoins {
    let times = FunctionArg::Unnamed(FunctionArgExpr::Expr(times));
    TableWithJoins {
        relation: TableFactor::Table {
            name: ObjectName::from(vec![Ident::new("range")]),
            alias: Some(table_alias("$repeated")),
            args: Some(TableFunctionArgs {
                args: vec![times],
                settings: None,
            }),
            with_hints: vec![],
            version: None,
            with_ordinality: false,
            partitions: vec![],
            json_path: None,
            sample: None,
            index_hints: vec![],
        },
        joins: vec![],
    }
}

/// `repeat_row(x, y, num_rows := n)`.
fn repeated_row(args: &[FunctionArg], alias: Option<TableAlias>) -> Result<TableFactor> {
    let (mut values, mut rows) = (vec![], None);
    for arg in args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => values.push(value.clone()),
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(count),
                ..
            } if name.value.eq_ignore_ascii_case("num_rows") => {
                rows = Some(count.clone());
            }
            _ => return Err(Error::binder("repeat_row takes values, and num_rows := n")),
        }
    }
    let rows =
        rows.ok_or_else(|| Error::binder("repeat_rows requires num_rows to be specified"))?;
    let Some(first) = values.first().cloned() else {
        let what = "repeat_rows requires at least one column to be specified";
        return Err(Error::binder(what));
    };
    let mut query = query_of(vec![repeated(rows)], SelectItem::UnnamedExpr(first))?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        let named = values.into_iter().enumerate();
        let named = named.map(|(n, expr)| SelectItem::ExprWithAlias {
            expr,
            alias: Ident::new(format!("column{n}")),
        });
        select.projection = named.collect();
    }
    let alias = alias.unwrap_or_else(|| table_alias("repeat_row"));
    Ok(derived(query, Some(alias)))
}

fn written(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// The one query of a text.
fn parsed_query(text: &str) -> Result<Box<Query>> {
    match super::parse(text)? {
        Statement::Sql(statement) => match *statement {
            ast::Statement::Query(query) => Ok(query),
            _ => Err(only_queries()),
        },
        _ => Err(only_queries()),
    }
}

fn only_queries() -> Error {
    Error::parser("Expected a single SELECT statement")
}

fn named_tables() -> Error {
    Error::binder("query_table takes the name of a table, or a list of names")
}

/// A table by the text of its name, or several, one behind the other.
fn of_tables(tables: &[&Expr], by_name: bool, alias: Option<TableAlias>) -> Result<TableFactor> {
    let names: Vec<&Expr> = match tables {
        [Expr::Array(names)] => names.elem.iter().collect(),
        one => one.to_vec(),
    };
    let text = names.iter().map(|name| {
        if let Expr::Identifier(_) | Expr::CompoundIdentifier(_) = name {
            return Ok(name.to_string());
        }
        let name = written(name).ok_or_else(named_tables)?;
        // As it would be written, so that it may have a schema; else in quotes.
        Ok(match crate::reading::parse_object_name(name) {
            Ok(name) => name.to_string(),
            Err(_) => crate::names::quote(name),
        })
    });
    let text = text.collect::<Result<Vec<String>>>()?;
    let union = if by_name {
        " UNION ALL BY NAME "
    } else {
        " UNION ALL "
    };
    let each = text.iter().map(|name| format!("SELECT * FROM {name}"));
    let all = each.collect::<Vec<_>>().join(union);
    if all.is_empty() {
        return Err(named_tables());
    }
    let alias = alias.unwrap_or_else(|| table_alias("query_table"));
    Ok(derived(parsed_query(&all)?, Some(alias)))
}

/// `range` and `generate_series` in FROM of what is no number that is written: the list of the same, unnested.
fn series_as_list(factor: &mut TableFactor) {
    let Some((name, alias, args)) = in_from(factor) else {
        return;
    };
    let called = name.to_string().to_lowercase();
    if !matches!(called.as_str(), "range" | "generate_series") {
        return;
    }
    let Some(given) = all_unnamed(args).filter(|given| given.iter().any(is_no_number)) else {
        return;
    };
    let mut alias = alias.take().unwrap_or_else(|| table_alias(&called));
    if alias.columns.is_empty() {
        alias.columns = vec![TableAliasColumnDef::from_name(&called)];
    }
    *factor = TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs: vec![call(&called, given)],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    };
}

/// Whether a bound of a series is a point in time, a span, or a column.
fn is_no_number(bound: &Expr) -> bool {
    let is_moment = |of: &DataType| {
        matches!(
            of,
            DataType::Date | DataType::Timestamp(..) | DataType::Datetime(_)
        )
    };
    let found = visit_expressions(bound, |expr| match expr {
        Expr::Subquery(_) => ControlFlow::Break(false),
        Expr::TypedString(text) if is_moment(&text.data_type) => ControlFlow::Break(true),
        Expr::Cast { data_type, .. } if is_moment(data_type) => ControlFlow::Break(true),
        Expr::Interval(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
            ControlFlow::Break(true)
        }
        Expr::Function(Function { name, .. }) if is_clock(name) => ControlFlow::Break(true),
        _ => ControlFlow::Continue(()),
    });
    matches!(found, ControlFlow::Break(true))
}

fn is_clock(name: &ObjectName) -> bool {
    let name = name.to_string().to_lowercase();
    [
        "now",
        "today",
        "current_date",
        "current_timestamp",
        "date_trunc",
        "make_date",
    ]
    .contains(&name.as_str())
}
