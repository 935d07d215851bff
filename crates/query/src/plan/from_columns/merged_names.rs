//! `SELECT ... FROM a JOIN b USING (x) WHERE x > 1`: the planner finds the merged column in a select list, and takes it for ambiguous in a
//! condition. There it gets the name of the table whose column `*` shows, and everywhere where a table of another join has such a column.
//! The column that a full join merges is of no table and stays as it is.

use super::last_name;
use super::walk::{Column, Walker};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Distinct, Expr, Ident, Join, JoinConstraint, JoinOperator, LambdaFunction,
    ObjectNamePart, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins, Value, Visit,
    VisitMut, VisitorMut,
};
use hushdb_sql::walk::{visit_expressions, visit_own_mut};
use hushdb_sql::{Result, constraint_mut, folded, tables_of};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Names of columns that joins of a FROM merge.
#[derive(Default)]
struct Merged {
    /// And the tables on the left of the join, of which one has the column.
    named: HashMap<String, HashSet<String>>,
    /// A NATURAL JOIN merges columns of whatever names.
    any: bool,
}

impl Merged {
    fn of(select: &Select) -> Self {
        let mut merged = Self::default();
        for tables in &select.from {
            merged.add(tables, &mut HashSet::new());
        }
        merged
    }

    /// Adds those of joins; `known` are the tables so far.
    fn add(&mut self, tables: &TableWithJoins, known: &mut HashSet<String>) {
        self.add_factor(&tables.relation, known);
        for join in &tables.joins {
            self.add_join(join, known);
        }
    }

    fn add_join(&mut self, join: &Join, known: &mut HashSet<String>) {
        use JoinOperator as J;
        // Others merge columns into one of no table, which is not ambiguous.
        if let J::Join(on) | J::Inner(on) | J::Left(on) | J::LeftOuter(on) = &join.join_operator {
            self.any |= matches!(on, JoinConstraint::Natural);
            if let JoinConstraint::Using(columns) = on {
                let columns = columns.iter().filter_map(|column| column.0.last());
                for column in columns.filter_map(ObjectNamePart::as_ident) {
                    let tables = self.named.entry(name_of(column));
                    tables.or_insert_with(|| known.clone());
                }
            }
        }
        self.add_factor(&join.relation, known);
    }

    fn add_factor(&mut self, factor: &TableFactor, known: &mut HashSet<String>) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => {
                // What is merged in brackets is of the tables there.
                let mut within = HashSet::new();
                self.add(table_with_joins, &mut within);
                known.extend(within);
            }
            other => known.extend(tables_of([other])),
        }
    }

    fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.any
    }

    /// Whether a part of a statement may name one.
    fn is_named(&self, part: &impl Visit) -> bool {
        let named = visit_expressions(part, |expr| match expr {
            Expr::Identifier(name) if self.has(&name.value) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        named.is_break()
    }

    fn has(&self, name: &str) -> bool {
        self.any || self.named.contains_key(&folded(name))
    }

    /// Whether a column that `*` shows is the one that is meant by its name.
    fn is(&self, column: &Column) -> bool {
        let of_tables = self.named.get(&folded(&column.name));
        let is_of_them = of_tables
            .zip(column.table())
            .is_some_and(|(tables, table)| tables.contains(&folded(table)));
        is_of_them || column.is_alone() && self.has(&column.name)
    }
}

fn name_of(name: &Ident) -> String {
    folded(&name.value)
}

/// Whether a SELECT may name a merged column.
pub(super) fn may_be_named(select: &Select) -> bool {
    let merged = Merged::of(select);
    !merged.is_empty() && merged.is_named(select)
}

/// Calls `each` with the conditions of joins, and with the columns that are merged where they stand.
fn for_conditions(tables: &mut TableWithJoins, each: &mut dyn FnMut(&mut Expr, &Merged)) {
    let (mut merged, mut known) = (Merged::default(), HashSet::new());
    for_conditions_within(&mut tables.relation, each);
    merged.add_factor(&tables.relation, &mut known);
    for join in &mut tables.joins {
        for_conditions_within(&mut join.relation, each);
        merged.add_join(join, &mut known);
        if let Some(JoinConstraint::On(on)) = constraint_mut(&mut join.join_operator) {
            each(on, &merged);
        }
    }
}

fn for_conditions_within(factor: &mut TableFactor, each: &mut dyn FnMut(&mut Expr, &Merged)) {
    if let TableFactor::NestedJoin {
        table_with_joins, ..
    } = factor
    {
        for_conditions(table_with_joins, each);
    }
}

/// Whether the ORDER BY of a query may name a merged column.
pub(super) fn may_be_sorted_by(query: &Query) -> bool {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &query.order_by) else {
        return false;
    };
    let merged = Merged::of(select);
    !merged.is_empty() && merged.is_named(order_by)
}

/// Columns that joins have merged, as a SELECT means them.
struct Meant {
    /// Those that no other table has.
    alone: PutTables,
    beside_others: PutTables,
}

impl Walker<'_> {
    /// Puts tables before merged columns: in the conditions of a SELECT and of later joins, and where another table has a column of
    /// the name everywhere.
    pub(super) fn write_out_merged(&mut self, select: &mut Select) -> Result<()> {
        if !may_be_named(select) || names_fields(select) {
            return Ok(());
        }
        let Some(meant) = self.meant(select) else {
            return Ok(());
        };
        let mut put = meant.beside_others;
        if !put.columns.is_empty() {
            put.put(&mut select.projection);
            put.put(&mut select.group_by);
            put.put(&mut select.having);
            put.put(&mut select.qualify);
            let items = names_of_items(select);
            if let (Some(Distinct::On(on)), Some(items)) = (&mut select.distinct, items) {
                put.without(&items).put(on);
            }
        }
        put.columns.extend(meant.alone.columns);
        put.put(&mut select.selection);
        for tables in &mut select.from {
            for_conditions(tables, &mut |on, merged| put.of(merged).put(on));
        }
        Ok(())
    }

    /// The same in an ORDER BY, where names of the select list go before.
    pub(super) fn sort_by_merged(&mut self, query: &mut Query) {
        if !may_be_sorted_by(query) {
            return;
        }
        let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &mut query.order_by)
        else {
            return;
        };
        if let Some(items) = names_of_items(select)
            && let Some(meant) = self.meant(select)
        {
            meant.beside_others.without(&items).put(order_by);
        }
    }

    /// What the names of merged columns mean. Of what cannot be planned by itself, such as a lateral join, nobody knows it.
    fn meant(&mut self, select: &Select) -> Option<Meant> {
        let merged = Merged::of(select);
        let mut tables = select.from.clone();
        for tables in &mut tables {
            // It changes no column, and the planner does not take it.
            for_conditions(tables, &mut |on, merged| {
                if merged.is_named(on) {
                    *on = Expr::value(Value::Boolean(true));
                }
            });
        }
        let columns = self.columns_of(tables).ok()?;
        let meant = columns.into_iter().filter(|column| merged.is(column));
        let (alone, beside_others): (Vec<Column>, Vec<Column>) = meant.partition(Column::is_alone);
        Some(Meant {
            alone: PutTables::new(alone),
            beside_others: PutTables::new(beside_others),
        })
    }
}

/// The names that a select list gives to its columns; `None` where it has a `*`.
fn names_of_items(select: &Select) -> Option<HashSet<String>> {
    let mut names = HashSet::new();
    for item in &select.projection {
        match item {
            SelectItem::ExprWithAlias { alias, .. } => names.extend([name_of(alias)]),
            SelectItem::UnnamedExpr(expr) => {
                names.extend(last_name(expr).map(|name| folded(&name)));
            }
            _ => return None,
        }
    }
    Some(names)
}

/// Whether a name stands behind a dot: it is visited like others.
fn names_fields(select: &Select) -> bool {
    let found = visit_expressions(select, |expr| match expr {
        Expr::CompoundFieldAccess { access_chain, .. } => {
            let mut fields = access_chain.iter();
            match fields.any(|field| matches!(field, AccessExpr::Dot(_))) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

struct PutTables {
    columns: Vec<(String, String)>,
    /// Names of lambdas around.
    parameters: Vec<String>,
}

impl PutTables {
    fn new(columns: Vec<Column>) -> Self {
        let columns = columns.into_iter();
        let columns = columns.filter_map(|column| Some((column.table()?.to_owned(), column.name)));
        Self {
            columns: columns.collect(),
            parameters: vec![],
        }
    }

    /// Those for which something holds.
    fn with(&self, holds: impl Fn(&str) -> bool) -> Self {
        let columns = self.columns.iter();
        let columns = columns.filter(|(_, name)| holds(name)).cloned();
        Self {
            columns: columns.collect(),
            parameters: vec![],
        }
    }

    fn without(&self, names: &HashSet<String>) -> Self {
        self.with(|name| !names.contains(&folded(name)))
    }

    fn of(&self, merged: &Merged) -> Self {
        self.with(|name| merged.has(name))
    }

    fn put(&mut self, part: &mut impl VisitMut) {
        let _: ControlFlow<()> = visit_own_mut(part, self);
    }
}

fn parameters(lambda: &LambdaFunction) -> impl Iterator<Item = String> {
    let parameters = lambda.params.iter();
    parameters.map(|parameter| name_of(&parameter.name))
}

impl VisitorMut for PutTables {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Lambda(lambda) = expr {
            self.parameters.extend(parameters(lambda));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Lambda(lambda) => {
                let without = self.parameters.len() - parameters(lambda).count();
                self.parameters.truncate(without);
            }
            Expr::Identifier(name) if !self.parameters.contains(&name_of(name)) => {
                let wanted = name_of(name);
                let mut columns = self.columns.iter();
                if let Some((table, _)) = columns.find(|(_, name)| folded(name) == wanted) {
                    let table = Ident::with_quote('"', table);
                    *expr = Expr::CompoundIdentifier(vec![table, name.clone()]);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
