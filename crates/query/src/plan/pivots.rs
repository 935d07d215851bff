//! PIVOT and UNPIVOT, which the parser has brought to queries with calls of functions that nobody has, are written out before
//! they are planned: the columns of their FROM say what the rows are grouped by, and its rows which columns a PIVOT makes that
//! has no IN. The walk also finds the numbers of LIMIT that queries say (`limits.rs`).
//!
//! What must hold: a table is written out before what is around it, so that each is looked at once.

use super::from_columns::Column;
use super::limits;
use super::planner::Planner;
use super::unpivots;
use super::with_queries::{self, Flow, Seen, WithWalker, flow};
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    GroupByExpr, Ident, Query, Select, SelectItem, SetExpr, Value, Visitor, VisitorMut, With,
};
use hushdb_sql::type_names::column_type_name;
use hushdb_sql::walk::{visit, visit_expressions, visit_mut};
use hushdb_sql::{
    Error, PIVOT, PIVOT_ENUM, PIVOT_FOR, PIVOT_NAMED, Result, UNPIVOT, UNPIVOT_FOR, folded,
    functions_by_text, quoted, sql_text,
};
use hushdb_storage::ColumnType;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Columns that a PIVOT may make.
const MAX_COLUMNS: usize = 2_000;

/// Writes out all PIVOT and UNPIVOT of a statement.
pub(super) fn write_out(planner: &Planner<'_>, statement: &mut ast::Statement) -> Result<()> {
    if visit(statement, &mut Marks).is_continue() {
        return Ok(());
    }
    let mut walker = Walker {
        planner,
        seen: Seen::default(),
    };
    match visit_mut(statement, &mut walker) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Whether there is one.
struct Marks;

impl Visitor for Marks {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        match limits::has_one(query) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        match select.projection.iter().any(|item| mark(item).is_some()) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// The call that says what a PIVOT or UNPIVOT is.
fn mark(item: &SelectItem) -> Option<(&'static str, &[FunctionArg])> {
    let SelectItem::UnnamedExpr(expr) = item else {
        return None;
    };
    let (name, args) = call(expr)?;
    let marks = [PIVOT, PIVOT_FOR, UNPIVOT, UNPIVOT_FOR];
    Some((marks.into_iter().find(|mark| *mark == name)?, args))
}

/// Name and arguments of a call.
pub(super) fn call(expr: &Expr) -> Option<(&str, &[FunctionArg])> {
    let Expr::Function(function) = expr else {
        return None;
    };
    match (function.name.0.as_slice(), &function.args) {
        ([name], FunctionArguments::List(list)) => {
            Some((name.as_ident()?.value.as_str(), &list.args))
        }
        _ => None,
    }
}

/// Arguments that are expressions.
pub(super) fn expressions(args: &[FunctionArg]) -> Result<Vec<Expr>> {
    let args = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Ok(expr.clone()),
        other => Err(Error::parser(format!(
            "syntax error at or near \"{other}\""
        ))),
    });
    args.collect()
}

/// Goes over a statement from the inside out.
pub(super) struct Walker<'a> {
    planner: &'a Planner<'a>,
    /// The queries of WITH that can be named here, written out already.
    seen: Seen,
}

impl WithWalker for Walker<'_> {
    fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }

    fn after(&mut self, query: &mut Query) -> Result<()> {
        limits::find(self, query)
    }
}

impl VisitorMut for Walker<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> Flow {
        with_queries::enter(self, query)
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Flow {
        with_queries::leave(self, query)
    }

    fn post_visit_select(&mut self, select: &mut Select) -> Flow {
        let found = select.projection.iter().find_map(mark);
        let written = match found.map(|(mark, args)| (mark, expressions(args))) {
            None => Ok(()),
            Some((_, Err(error))) => Err(error),
            Some((mark @ (PIVOT | PIVOT_FOR), Ok(on))) => self.pivot(select, mark, on),
            Some((mark, Ok(args))) => unpivots::write_out(self, select, mark == UNPIVOT, args),
        };
        flow(written)
    }
}

impl Walker<'_> {
    /// A query over the FROM of a SELECT.
    fn query(&self, select: &Select, items: Vec<SelectItem>) -> Result<Query> {
        let star = SelectItem::Wildcard(ast::WildcardAdditionalOptions::default());
        let mut query = hushdb_sql::query_of(select.from.clone(), star)?;
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = items;
        }
        query.with = self.with();
        Ok(*query)
    }

    /// The queries of WITH that may be named here.
    pub(super) fn with(&self) -> Option<With> {
        self.seen.with()
    }

    /// The columns that items of a select list have.
    pub(super) fn columns(&self, select: &Select, items: Vec<SelectItem>) -> Result<Vec<Column>> {
        let plan = self.planner.plan_query(self.query(select, items)?)?;
        Ok(Column::all(plan.schema()))
    }

    pub(super) fn all_columns(&self, select: &Select) -> Result<Vec<Column>> {
        let star = SelectItem::Wildcard(ast::WildcardAdditionalOptions::default());
        self.columns(select, vec![star])
    }

    /// The rows of a query, as texts.
    pub(super) fn texts(&self, query: Query) -> Result<Vec<Vec<Option<String>>>> {
        let plan = self.planner.plan_query(query)?;
        let mut rows = vec![];
        for batch in self.planner.rows(&plan)? {
            let columns = batch.columns().iter();
            let columns = columns.map(|column| cast(column, &DataType::Utf8));
            let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
            for row in 0..batch.num_rows() {
                let value = |column: &dyn Array| {
                    let texts = column.as_string::<i32>();
                    texts.is_valid(row).then(|| texts.value(row).to_owned())
                };
                rows.push(columns.iter().map(|c| value(c.as_ref())).collect());
            }
            if rows.len() > MAX_COLUMNS {
                return Err(too_many());
            }
        }
        Ok(rows)
    }
}

fn too_many() -> Error {
    Error::unsupported(format!(
        "PIVOT makes {MAX_COLUMNS} columns at most; name the values that are wanted: ON x IN (...)"
    ))
}

/// What PIVOT is ON at one place: expressions, and their values with the names of these.
struct On {
    exprs: Vec<Expr>,
    values: Vec<(Vec<Option<String>>, String)>,
}

impl Walker<'_> {
    fn pivot(&self, select: &mut Select, mark: &str, on: Vec<Expr>) -> Result<()> {
        if select.selection.is_some() || select.having.is_some() || select.qualify.is_some() {
            return Err(Error::parser(
                "PIVOT takes no WHERE: write PIVOT (FROM t WHERE ...) ON ...",
            ));
        }
        let mut using = std::mem::take(&mut select.projection);
        using.retain(|item| self::mark(item).is_none());
        if using.is_empty() && !on.is_empty() {
            using = parsed_items("count(*)")?;
        }
        let using = self.named_aggregates(select, using, on.is_empty())?;
        let groups = self.groups(select, &on, &using)?;
        let on = on.into_iter().map(|expr| self.on(select, mark, expr));
        let on = on.collect::<Result<Vec<On>>>()?;
        let mut items: Vec<SelectItem> = groups
            .iter()
            .cloned()
            .map(SelectItem::UnnamedExpr)
            .collect();
        for (condition, name) in combinations(&on)? {
            for (expr, suffix) in &using {
                let mut expr = expr.clone();
                if let Some(condition) = &condition {
                    self.filter(&mut expr, condition);
                }
                let parts = [name.as_str(), suffix.as_str()];
                let parts = parts.into_iter().filter(|part| !part.is_empty());
                let alias = Ident::with_quote('"', parts.collect::<Vec<_>>().join("_"));
                items.push(SelectItem::ExprWithAlias { expr, alias });
            }
        }
        if items.is_empty() {
            return Err(Error::binder(
                "PIVOT makes no column: there is no value to make one of, and nothing to group by",
            ));
        }
        if items.len() > MAX_COLUMNS {
            return Err(too_many());
        }
        // Without an aggregate left, the groups still are one row each.
        select.group_by = GroupByExpr::Expressions(groups, vec![]);
        select.projection = items;
        Ok(())
    }

    /// The aggregates, with what a column's name says of them.
    fn named_aggregates(
        &self,
        select: &Select,
        using: Vec<SelectItem>,
        all_named: bool,
    ) -> Result<Vec<(Expr, String)>> {
        let alone = using.len() == 1 && !all_named;
        let shown = match alone || using.is_empty() {
            true => vec![],
            false => self.columns(select, using.clone())?,
        };
        let named = using.into_iter().enumerate().map(|(at, item)| {
            let (expr, name) = match item {
                SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value),
                SelectItem::UnnamedExpr(expr) => {
                    let name = shown.get(at).map(|column| column.name.clone());
                    (expr, name.unwrap_or_default())
                }
                other => {
                    let text = format!("PIVOT takes aggregates in USING, and not {other}");
                    return Err(Error::binder(text));
                }
            };
            let mut found = expr.clone();
            match self.filter(&mut found, &Expr::value(Value::Boolean(true))) {
                true => Ok((expr, name)),
                false => Err(Error::binder(
                    "Columns can only be referenced within the aggregate of a PIVOT expression",
                )),
            }
        });
        named.collect()
    }

    /// What the rows are grouped by: what GROUP BY says, or all columns that are not named in the PIVOT; nothing without ON.
    fn groups(&self, select: &Select, on: &[Expr], using: &[(Expr, String)]) -> Result<Vec<Expr>> {
        match &select.group_by {
            GroupByExpr::Expressions(groups, _) if !groups.is_empty() => {
                let is_name =
                    |expr: &Expr| matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
                return match groups.iter().all(is_name) {
                    true => Ok(groups.clone()),
                    false => Err(Error::parser("GROUP BY of a PIVOT takes names of columns")),
                };
            }
            GroupByExpr::All(_) => {
                return Err(Error::parser("GROUP BY of a PIVOT takes names of columns"));
            }
            GroupByExpr::Expressions(..) if on.is_empty() => return Ok(vec![]),
            GroupByExpr::Expressions(..) => {}
        }
        let mut named = HashSet::new();
        for expr in on.iter().chain(using.iter().map(|(expr, _)| expr)) {
            named.extend(column_names(expr).iter().map(|name| folded(name)));
        }
        let columns = self.all_columns(select)?.into_iter();
        let left = columns.filter(|column| !named.contains(&folded(&column.name)));
        Ok(left.map(|column| column.expr()).collect())
    }

    /// Has the aggregates of an expression count the rows of a condition alone; whether there is one.
    fn filter(&self, expr: &mut Expr, condition: &Expr) -> bool {
        let mut filter = Filter {
            planner: self.planner,
            condition,
            found: false,
        };
        let _: ControlFlow<()> = visit_mut(expr, &mut filter);
        filter.found
    }

    /// The values of what a PIVOT is ON.
    fn on(&self, select: &Select, mark: &str, expr: Expr) -> Result<On> {
        let (expr, rows) = match expr {
            Expr::InList {
                expr,
                list,
                negated: false,
            } => {
                let list = match self.values_of_enum(&list)? {
                    Some(values) => values,
                    None => list,
                };
                return self.on_list(*expr, list);
            }
            Expr::InSubquery {
                expr,
                subquery,
                negated: false,
            } => (*expr, Some(subquery)),
            other if mark == PIVOT => (other, None),
            other => {
                return Err(Error::parser(format!(
                    "syntax error at or near \")\": {} FOR takes IN (...)",
                    sql_text(&other)
                )));
            }
        };
        let value = parsed_items(&format!("CAST(({}) AS VARCHAR)", sql_text(&expr)))?;
        let query = match rows {
            None => self.query(select, value)?,
            Some(rows) => {
                let rows = format!(
                    "SELECT CAST(\"$v\" AS VARCHAR) FROM ({}) AS t(\"$v\")",
                    sql_text(rows.as_ref())
                );
                let mut query = parsed_query(&rows)?;
                query.with = self.with();
                query
            }
        };
        let with = query.with.clone();
        let text = sql_text(&Query {
            with: None,
            ..query
        });
        let distinct = format!(
            "SELECT DISTINCT \"$v\" FROM ({text}) AS t(\"$v\") WHERE \"$v\" IS NOT NULL ORDER BY 1"
        );
        let mut distinct = parsed_query(&distinct)?;
        distinct.with = with;
        let values = self.texts(distinct)?.into_iter().flatten().flatten();
        let values = values.map(|text| (vec![Some(text.clone())], text));
        Ok(On {
            exprs: vec![expr],
            values: values.collect(),
        })
    }

    /// The values of an ENUM, if a list stands for them.
    fn values_of_enum(&self, list: &[Expr]) -> Result<Option<Vec<Expr>>> {
        let [Expr::Function(_)] = list else {
            return Ok(None);
        };
        let name = match call(&list[0]) {
            Some((PIVOT_ENUM, args)) => match expressions(args)?.as_slice() {
                [Expr::Identifier(name)] => name.value.clone(),
                _ => return Err(Error::parser("PIVOT IN takes the name of an ENUM")),
            },
            _ => return Ok(None),
        };
        match self
            .planner
            .snapshot
            .type_named(std::slice::from_ref(&name))
        {
            Some(ColumnType::Enum(known)) => {
                let text = |value: &String| Value::SingleQuotedString(value.clone());
                let values = known.values().iter().map(text);
                Ok(Some(values.map(Expr::value).collect()))
            }
            Some(other) => Err(Error::binder(format!(
                "Pivot must reference an ENUM type: \"{name}\" is of type \"{}\"",
                column_type_name(&other)
            ))),
            None => Err(Error::catalog(format!(
                "Type with name {name} does not exist!"
            ))),
        }
    }

    fn on_list(&self, expr: Expr, list: Vec<Expr>) -> Result<On> {
        let exprs = match expr {
            Expr::Tuple(exprs) => exprs,
            expr => vec![expr],
        };
        let mut values = vec![];
        let mut names = HashSet::new();
        for value in list {
            let (value, given) = match call(&value) {
                Some((PIVOT_NAMED, args)) => match expressions(args)?.as_slice() {
                    [value, Expr::Identifier(name)] => (value.clone(), Some(name.value.clone())),
                    _ => return Err(Error::parser("a value of PIVOT goes by one name")),
                },
                _ => (value, None),
            };
            let parts = match value {
                Expr::Tuple(parts) => parts,
                value => vec![value],
            };
            if parts.len() != exprs.len() {
                return Err(Error::binder(format!(
                    "PIVOT IN list - inconsistent amount of rows - expected {} but got {}",
                    exprs.len(),
                    parts.len()
                )));
            }
            let parts = parts.iter().map(|part| self.constant(part));
            let parts = parts.collect::<Result<Vec<Option<String>>>>()?;
            let name = parts.iter().map(|part| part.as_deref().unwrap_or("NULL"));
            let name = name.collect::<Vec<_>>().join("_");
            if !names.insert(parts.clone()) {
                return Err(Error::binder(format!(
                    "The value \"{name}\" was specified multiple times in the IN clause"
                )));
            }
            values.push((parts, given.unwrap_or(name)));
        }
        Ok(On { exprs, values })
    }

    /// The text of a constant.
    fn constant(&self, expr: &Expr) -> Result<Option<String>> {
        if let Expr::Value(value) = expr
            && let Value::SingleQuotedString(text) = &value.value
        {
            return Ok(Some(text.clone()));
        }
        if !column_names(expr).is_empty() {
            return Err(Error::binder(
                "PIVOT IN list must contain constant expressions",
            ));
        }
        let query = parsed_query(&format!("SELECT CAST(({}) AS VARCHAR)", sql_text(expr)))?;
        Ok(self.texts(query)?.into_iter().flatten().flatten().next())
    }
}

/// Each combination of values, as a condition and a name.
fn combinations(on: &[On]) -> Result<Vec<(Option<Expr>, String)>> {
    let count = on.iter().map(|on| on.values.len());
    let count = count.fold(1usize, |all, of| all.saturating_mul(of));
    if count > MAX_COLUMNS {
        return Err(too_many());
    }
    let mut all = vec![(None, String::new())];
    for on in on {
        let mut longer = Vec::with_capacity(all.len() * on.values.len());
        for (condition, name) in &all {
            for (values, own) in &on.values {
                let mut condition: Option<Expr> = condition.clone();
                for (expr, value) in on.exprs.iter().zip(values) {
                    let is_value = is_value(expr, value.as_deref())?;
                    condition = Some(match condition {
                        None => is_value,
                        Some(others) => and(others, is_value),
                    });
                }
                let name = match name.is_empty() {
                    true => own.clone(),
                    false => format!("{name}_{own}"),
                };
                longer.push((condition, name));
            }
        }
        all = longer;
    }
    Ok(all)
}

/// Whether an expression has a value, by the text of both.
fn is_value(expr: &Expr, value: Option<&str>) -> Result<Expr> {
    let expr = sql_text(expr);
    hushdb_sql::parse_expr(&match value {
        None => format!("(({expr}) IS NULL)"),
        Some(value) => {
            let value = value.replace('\'', "''");
            format!("(CAST(({expr}) AS VARCHAR) IS NOT DISTINCT FROM '{value}')")
        }
    })
}

fn and(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::And,
        right: Box::new(right),
    }
}

/// Gives aggregates a condition.
struct Filter<'a> {
    planner: &'a Planner<'a>,
    condition: &'a Expr,
    found: bool,
}

impl Filter<'_> {
    fn is_aggregate(&self, function: &Function) -> bool {
        /// Those that are others under another name.
        const OTHERS: [&str; 6] = [
            "first",
            "last",
            "list",
            "arbitrary",
            "group_concat",
            "listagg",
        ];
        let [name] = function.name.0.as_slice() else {
            return false;
        };
        let name = name.as_ident().map(|name| folded(&name.value));
        let Some(name) = name.filter(|_| function.over.is_none()) else {
            return false;
        };
        let by_text = || functions_by_text().any(|known| known == (name.as_str(), "aggregate"));
        self.planner
            .state()
            .aggregate_functions()
            .contains_key(&name)
            || OTHERS.contains(&name.as_str())
            || (by_text() && !self.planner.state().scalar_functions().contains_key(&name))
    }
}

impl VisitorMut for Filter<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        if self.is_aggregate(function) {
            self.found = true;
            let condition = Box::new(self.condition.clone());
            function.filter = Some(match function.filter.take() {
                None => condition,
                Some(own) => Box::new(and(Expr::Nested(own), Expr::Nested(condition))),
            });
        }
        ControlFlow::Continue(())
    }
}

/// The columns that an expression names.
pub(super) fn column_names(expr: &Expr) -> Vec<String> {
    let mut names = vec![];
    let _: ControlFlow<()> = visit_expressions(expr, |expr| {
        match expr {
            Expr::Identifier(name) => names.push(name.value.clone()),
            // A table's column; or a field of a column.
            Expr::CompoundIdentifier(parts) => {
                names.extend(parts.iter().map(|part| part.value.clone()));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    names
}

/// A query of ours.
pub(super) fn parsed_query(text: &str) -> Result<Query> {
    match hushdb_sql::parse_one(text)? {
        ast::Statement::Query(query) => Ok(*query),
        _ => Err(Error::internal("a query was read otherwise")),
    }
}

/// The select list of a query of ours.
pub(super) fn parsed_items(text: &str) -> Result<Vec<SelectItem>> {
    match *parsed_query(&format!("SELECT {text}"))?.body {
        SetExpr::Select(select) => Ok(select.projection),
        _ => Err(Error::internal("a query was read otherwise")),
    }
}

/// A name in quotes.
pub(super) fn name_text(name: &str) -> String {
    quoted(name)
}
