//! `SELECT ... FROM a JOIN b USING (x) WHERE x > 1`: the planner finds the merged column in a select list, and takes it for ambiguous in a
//! condition. There it gets the name of the table whose column `*` shows, and everywhere where a table of another join has such a column.

use super::walk::{Column, Walker};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Expr, Ident, JoinConstraint, JoinOperator, LambdaFunction, ObjectNamePart, Select,
    TableFactor, TableWithJoins, VisitorMut,
};
use hushdb_sql::walk::{visit_expressions, visit_own_mut};
use hushdb_sql::{Result, folded, tables_of};
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
            use JoinOperator as J;
            // Others merge columns into one of no table, which is not ambiguous.
            if let J::Join(on) | J::Inner(on) | J::Left(on) | J::LeftOuter(on) = &join.join_operator
            {
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
    }

    fn add_factor(&mut self, factor: &TableFactor, known: &mut HashSet<String>) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => self.add(table_with_joins, known),
            other => known.extend(tables_of([other])),
        }
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
    if merged.named.is_empty() && !merged.any {
        return false;
    }
    let named = visit_expressions(select, |expr| match expr {
        Expr::Identifier(name) if merged.has(&name.value) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    named.is_break()
}

impl Walker<'_> {
    /// Puts tables before merged columns: in the condition of a SELECT, and where another table has a column of the name everywhere.
    pub(super) fn write_out_merged(&mut self, select: &mut Select) -> Result<()> {
        if !may_be_named(select) || names_fields(select) {
            return Ok(());
        }
        let merged = Merged::of(select);
        // Of what cannot be planned by itself, such as a lateral join, nobody knows which names are columns.
        let Ok(columns) = self.all_columns(select) else {
            return Ok(());
        };
        let meant = columns.into_iter().filter(|column| merged.is(column));
        let (alone, beside_others): (Vec<Column>, Vec<Column>) = meant.partition(Column::is_alone);
        let mut put = PutTables::of(beside_others);
        if !put.columns.is_empty() {
            let _: ControlFlow<()> = visit_own_mut(&mut select.projection, &mut put);
            let _: ControlFlow<()> = visit_own_mut(&mut select.group_by, &mut put);
            let _: ControlFlow<()> = visit_own_mut(&mut select.having, &mut put);
            let _: ControlFlow<()> = visit_own_mut(&mut select.qualify, &mut put);
        }
        put.columns.extend(PutTables::of(alone).columns);
        let _: ControlFlow<()> = visit_own_mut(&mut select.selection, &mut put);
        Ok(())
    }
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
    fn of(columns: Vec<Column>) -> Self {
        let columns = columns.into_iter();
        let columns = columns.filter_map(|column| Some((column.table()?.to_owned(), column.name)));
        Self {
            columns: columns.collect(),
            parameters: vec![],
        }
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
