//! Names in a query that is a value or a condition of another, for which the planner would take a column of the outer query: several columns
//! of its own FROM have it, or it is that of an item. So it is in a LATERAL query, and in those within it.

use super::given_names;
use super::merged_names::names_fields;
use super::walk::{Walker, is_of_several};
use datafusion::sql::sqlparser::ast::{Expr, Query, Select, SetExpr, TableFactor, Visitor};
use hushdb_sql::walk::{visit, visit_own};
use hushdb_sql::{Error, Result, folded};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Whether a query within an expression may have such names.
pub(super) fn may_be_in(expr: &Expr) -> bool {
    let query = match expr {
        Expr::Subquery(query) => query,
        Expr::Exists { subquery, .. } | Expr::InSubquery { subquery, .. } => subquery,
        _ => return false,
    };
    selects(query).is_some_and(|select| {
        names_items(select) || is_of_several(select) && !named_alone(select).is_empty()
    })
}

/// Whether a LATERAL query, or one within it, may have such names.
pub(super) fn may_be_in_lateral(relation: &TableFactor) -> bool {
    let TableFactor::Derived {
        lateral: true,
        subquery,
        ..
    } = relation
    else {
        return false;
    };
    visit(subquery.as_ref(), &mut NamedAlone).is_break()
}

/// Stops at a SELECT of several tables that names a column without one.
struct NamedAlone;

impl Visitor for NamedAlone {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        match is_of_several(select) && !named_alone(select).is_empty() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

fn selects(query: &Query) -> Option<&Select> {
    match query.body.as_ref() {
        SetExpr::Select(select) => Some(select),
        _ => None,
    }
}

/// The names that stand without a table, but for those of lambdas.
fn all_alone(select: &Select) -> HashSet<String> {
    let mut names = Names::default();
    let _: ControlFlow<()> = visit_own(&select.projection, &mut names);
    let _: ControlFlow<()> = visit_own(&select.selection, &mut names);
    names.names.retain(|name| !names.parameters.contains(name));
    names.names
}

/// But for those of items, too.
fn named_alone(select: &Select) -> HashSet<String> {
    let mut names = all_alone(select);
    for given in given_names(select) {
        names.remove(&folded(given));
    }
    names
}

/// Whether an item's name may stand further on.
fn names_items(select: &Select) -> bool {
    let names = all_alone(select);
    given_names(select).any(|given| names.contains(&folded(given)))
}

#[derive(Default)]
struct Names {
    names: HashSet<String>,
    parameters: HashSet<String>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => self.names.extend([folded(&name.value)]),
            Expr::Lambda(lambda) => {
                let parameters = lambda.params.iter();
                self.parameters
                    .extend(parameters.map(|p| folded(&p.name.value)));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Walker<'_> {
    /// Puts in what the names of items mean.
    ///
    /// # Errors
    /// `Binder` for those of what is drawn.
    pub(super) fn name_items(&mut self, select: &mut Select) -> Result<()> {
        match self.depth > 1 && names_items(select) && !names_fields(select) {
            true => self.put_in(select),
            false => Ok(()),
        }
    }

    /// # Errors
    /// `Binder` for such a name. What cannot be planned by itself is left to the planner.
    pub(super) fn refuse_ambiguous(&mut self, select: &Select) -> Result<()> {
        if self.depth < 2 || !is_of_several(select) || names_fields(select) {
            return Ok(());
        }
        let names = named_alone(select);
        if names.is_empty() {
            return Ok(());
        }
        let Ok(columns) = self.named_in(&select.from) else {
            return Ok(());
        };
        let mut seen = HashSet::new();
        let mut again = columns
            .iter()
            .filter(|column| !seen.insert(folded(&column.name)));
        match again.find(|column| names.contains(&folded(&column.name))) {
            Some(column) => Err(Error::binder(format!(
                "Ambiguous reference to column name \"{}\"; write its table before it",
                column.name
            ))),
            None => Ok(()),
        }
    }
}
