//! `Walker`: goes over a statement from the inside out, knowing which names of WITH each select list sees.
//!
//! What must hold: each select list is visited once; what is planned to find the columns of a FROM holds nothing that is still to be
//! written out, so that no plan begins a walk of the same kind again.

use crate::plan::named_files::FILE_NAME;
use crate::plan::planner::{PlanError, Planner};
use crate::plan::with_queries::{self, Flow, Seen, WithWalker, flow};
use crate::scan::ROW_ID;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr as Expression, LogicalPlan};
use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, JoinConstraint, Query, Select, SelectItem, TableFactor, TableWithJoins,
    Value, VisitorMut, WildcardAdditionalOptions,
};
use hushdb_sql::walk::visit_mut;
use hushdb_sql::{
    Error, Result, constraint_mut, excluded_names, folded, without_columns_of_tables,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What a walk does to select lists.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Work {
    /// Writes out `COLUMNS`, `* RENAME` and places.
    Columns,
    /// Puts in what names of the select list mean.
    Names,
}

/// Goes over a statement; whether something was put in.
pub(super) fn walk(
    planner: &Planner<'_>,
    statement: &mut ast::Statement,
    work: Work,
) -> Result<bool> {
    let mut walker = Walker::new(planner, work);
    match visit_mut(statement, &mut walker) {
        ControlFlow::Continue(()) => Ok(walker.changed),
        ControlFlow::Break(error) => Err(*error),
    }
}

pub(super) struct Walker<'a> {
    pub(super) planner: &'a Planner<'a>,
    work: Work,
    /// The queries of WITH that can be named here, done already.
    seen: Seen,
    /// Queries around what is visited.
    pub(super) depth: usize,
    pub(super) changed: bool,
    /// Queries whose rows become lists, by their places.
    pub(super) lists: Vec<*const Query>,
}

impl WithWalker for Walker<'_> {
    fn seen(&mut self) -> &mut Seen {
        &mut self.seen
    }
}

impl VisitorMut for Walker<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> Flow {
        self.depth += 1;
        with_queries::enter(self, query)
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Flow {
        self.depth -= 1;
        match self.work {
            Work::Columns => {
                if let Err(error) = self.write_out_order(query) {
                    return ControlFlow::Break(Box::new(error));
                }
            }
            Work::Names => self.sort_by_rows(query),
        }
        with_queries::leave(self, query)
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        self.lists
            .extend(query_of_list(expr).map(std::ptr::from_ref));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> Flow {
        flow(match self.work {
            Work::Columns => self.write_out(select),
            Work::Names => self.put_in(select),
        })
    }
}

/// A column of a FROM.
pub(in crate::plan) struct Column {
    table: Option<String>,
    pub(in crate::plan) name: String,
    pub(in crate::plan) data_type: DataType,
    /// Whether no other has its name.
    alone: bool,
    /// Whether it has another value each time it is asked for.
    pub(super) is_volatile: bool,
    /// What stands for it behind REPLACE.
    replaced: Option<Expr>,
}

impl Column {
    /// Those of a plan.
    pub(in crate::plan) fn all(schema: &DFSchema) -> Vec<Self> {
        let mut times = HashMap::new();
        for field in schema.fields() {
            *times.entry(folded(field.name())).or_insert(0) += 1;
        }
        let columns = schema.iter().map(|(table, field)| Self {
            table: table.map(|table| table.table().to_owned()),
            name: field.name().clone(),
            data_type: field.data_type().clone(),
            alone: times.get(&folded(field.name())) == Some(&1),
            is_volatile: false,
            replaced: None,
        });
        columns.collect()
    }

    /// Whether no other column has its name.
    pub(super) fn is_alone(&self) -> bool {
        self.alone
    }

    /// The table that it is a column of.
    pub(super) fn table(&self) -> Option<&str> {
        self.table.as_deref()
    }

    /// Gives it what `* REPLACE (... AS name)` says.
    pub(super) fn replace(&mut self, with: &WildcardAdditionalOptions) {
        let items = with.opt_replace.iter().flat_map(|replaced| &replaced.items);
        let mut items = items.filter(|item| folded(&item.column_name.value) == folded(&self.name));
        let given = items.next().map(|item| item.expr.clone());
        self.replaced = given.map(|expr| Expr::Nested(Box::new(expr)));
    }

    pub(super) fn is_replaced(&self) -> bool {
        self.replaced.is_some()
    }

    pub(in crate::plan) fn expr(&self) -> Expr {
        if let Some(replaced) = &self.replaced {
            return replaced.clone();
        }
        let name = Ident::with_quote('"', &self.name);
        match &self.table {
            Some(table) if !self.alone => {
                Expr::CompoundIdentifier(vec![Ident::with_quote('"', table), name])
            }
            _ => Expr::Identifier(name),
        }
    }
}

impl<'a> Walker<'a> {
    fn new(planner: &'a Planner<'a>, work: Work) -> Self {
        Self {
            planner,
            work,
            seen: Seen::default(),
            depth: 0,
            changed: false,
            lists: vec![],
        }
    }

    /// The columns of a FROM as `*` shows them.
    pub(super) fn columns(&mut self, select: &Select, mut star: SelectItem) -> Result<Vec<Column>> {
        let (mut without, mut names) = (vec![], vec![]);
        if let SelectItem::Wildcard(with) | SelectItem::QualifiedWildcard(_, with) = &mut star {
            without = without_columns_of_tables(with, &select.from)?;
            if is_of_several(select) {
                names = excluded_names(with);
                with.opt_exclude = None;
            }
        }
        let of_one_table = matches!(star, SelectItem::QualifiedWildcard(..));
        let mut columns = self.shown(select.from.clone(), star)?;
        leave_out(&mut columns, &without)?;
        leave_out_names(&mut columns, &names)?;
        for column in &mut columns {
            column.alone &= !of_one_table;
        }
        Ok(columns)
    }

    /// The columns of a FROM that a star shows.
    fn shown(&mut self, from: Vec<TableWithJoins>, star: SelectItem) -> Result<Vec<Column>> {
        let mut query = hushdb_sql::query_of(from, star)?;
        let plan = match (self.plan(&query), self.work) {
            (Err(PlanError::UnknownColumn(_)), Work::Columns) => {
                self.name_what_was_seen(&mut query)?;
                self.plan(&query)?
            }
            (planned, _) => planned?,
        };
        let mut columns = Column::all(plan.schema());
        columns.retain(|column| column.name != ROW_ID && column.name != FILE_NAME);
        let is_volatile = plan.expressions().iter().any(Expression::is_volatile);
        for column in &mut columns {
            column.is_volatile = is_volatile;
        }
        Ok(columns)
    }

    /// The columns of `*` with what its REPLACE says.
    pub(super) fn replaced_columns(
        &mut self,
        select: &Select,
        with: &WildcardAdditionalOptions,
    ) -> Result<Vec<Column>> {
        let mut columns = self.columns(select, SelectItem::Wildcard(with.clone()))?;
        for column in &mut columns {
            column.replace(with);
        }
        Ok(columns)
    }

    /// The plan of a query beside those that were seen, as they are written.
    pub(super) fn plan(&self, query: &Query) -> std::result::Result<LogicalPlan, PlanError> {
        let mut query = query.clone();
        if let Some(with) = self.seen.with() {
            query.with = Some(with);
        }
        let query = ast::Statement::Query(Box::new(query));
        Ok(self.planner.plan_written(query)?.0)
    }

    /// Puts in what names mean in a query, and in those that it may name.
    fn name_what_was_seen(&mut self, query: &mut Query) -> Result<()> {
        let mut names = Walker::new(self.planner, Work::Names);
        let recursive = self.seen.recursive;
        let unnamed = self.seen.tables.split_off(self.seen.named);
        names.seen.tables = std::mem::take(&mut self.seen.tables);
        names.seen.recursive = recursive;
        let mut done = unnamed.into_iter().try_for_each(|mut table| {
            let done = with_queries::visit_table(&mut names, &mut table, recursive);
            names.seen.tables.push(table);
            done
        });
        if done.is_continue() {
            done = visit_mut(query, &mut names);
        }
        // After an error the statement is given up.
        self.seen.tables = std::mem::take(&mut names.seen.tables);
        self.seen.named = self.seen.tables.len();
        match done {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(*error),
        }
    }

    /// All columns of a FROM; none where there is no FROM.
    pub(super) fn all_columns(&mut self, select: &Select) -> Result<Vec<Column>> {
        self.columns_of(select.from.clone())
    }

    /// As [`Self::all_columns`].
    pub(super) fn columns_of(&mut self, from: Vec<TableWithJoins>) -> Result<Vec<Column>> {
        match from.is_empty() {
            true => Ok(vec![]),
            false => self.shown(from, star()),
        }
    }
}

/// The query of `ARRAY(SELECT ...)`.
pub(super) fn query_of_list(expr: &Expr) -> Option<&Query> {
    match expr {
        Expr::Function(function) => match &function.args {
            ast::FunctionArguments::Subquery(query) => Some(query),
            _ => None,
        },
        _ => None,
    }
}

/// Whether a FROM has more than one table.
pub(super) fn is_of_several(select: &Select) -> bool {
    match select.from.as_slice() {
        [] => false,
        [one] => !one.joins.is_empty() || matches!(one.relation, TableFactor::NestedJoin { .. }),
        _ => true,
    }
}

/// Leaves out columns of which the table is named, too.
///
/// # Errors
/// `Binder` for one that is not there.
fn leave_out(columns: &mut Vec<Column>, without: &[(String, String)]) -> Result<()> {
    for (table, name) in without {
        let count = columns.len();
        let is_it = |column: &Column| {
            folded(&column.name) == folded(name)
                && column.table().is_some_and(|of| folded(of) == folded(table))
        };
        columns.retain(|column| !is_it(column));
        if columns.len() == count {
            return Err(Error::binder(format!(
                "Column \"{table}.{name}\" in EXCLUDE list not found in FROM clause"
            )));
        }
    }
    Ok(())
}

/// Leaves out all columns of some names.
///
/// # Errors
/// `Binder` for one that is not there.
fn leave_out_names(columns: &mut Vec<Column>, names: &[String]) -> Result<()> {
    let is_there = |name: &&String| columns.iter().any(|column| folded(&column.name) == **name);
    if let Some(name) = names.iter().find(|name| !is_there(name)) {
        return Err(Error::binder(format!(
            "Column \"{name}\" in EXCLUDE list not found in FROM clause"
        )));
    }
    columns.retain(|column| !names.contains(&folded(&column.name)));
    Ok(())
}

fn star() -> SelectItem {
    SelectItem::Wildcard(WildcardAdditionalOptions::default())
}

/// The tables of a FROM side by side: a condition changes no column, and it may name rows.
pub(super) fn unconditional(from: &[TableWithJoins]) -> Vec<TableWithJoins> {
    let mut from = from.to_vec();
    for_conditions(&mut from, &mut |on| *on = Expr::value(Value::Boolean(true)));
    from
}

/// Calls `each` with what the joins of a FROM are on.
pub(super) fn for_conditions(from: &mut [TableWithJoins], each: &mut dyn FnMut(&mut Expr)) {
    for tables in from {
        let TableWithJoins { relation, joins } = tables;
        within(relation, each);
        for join in joins {
            within(&mut join.relation, each);
            if let Some(JoinConstraint::On(on)) = constraint_mut(&mut join.join_operator) {
                each(on);
            }
        }
    }
}

fn within(factor: &mut TableFactor, each: &mut dyn FnMut(&mut Expr)) {
    if let TableFactor::NestedJoin {
        table_with_joins, ..
    } = factor
    {
        for_conditions(std::slice::from_mut(table_with_joins), each);
    }
}
