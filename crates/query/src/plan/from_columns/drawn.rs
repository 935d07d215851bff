//! Names of what has another value wherever it stands, such as `random() AS r`: they mean nothing further on in their SELECT.

use super::walk::Walker;
use datafusion::sql::sqlparser::ast::{Expr, Ident, Select, SelectItem};
use hushdb_sql::walk::visit_own_expressions;
use hushdb_sql::{Error, Result, folded};
use std::ops::ControlFlow;

/// The error of such a name.
pub(super) fn refused(name: &str) -> Error {
    Error::binder(format!(
        "Alias \"{name}\" referenced - but the expression has side effects. This is not yet supported."
    ))
}

/// The items of a select list whose names stand in its QUALIFY.
fn in_qualify(select: &Select) -> impl Iterator<Item = (&Ident, &Expr)> {
    let items = select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { expr, alias } => Some((alias, expr)),
        _ => None,
    });
    items.filter(|(alias, _)| {
        let wanted = folded(&alias.value);
        let named = visit_own_expressions(&select.qualify, |expr| match expr {
            Expr::Identifier(name) if folded(&name.value) == wanted => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        named.is_break()
    })
}

/// Whether QUALIFY may mean what the select list gives a name: the planner finds that by itself.
pub(super) fn may_be_in_qualify(select: &Select) -> bool {
    select.qualify.is_some() && in_qualify(select).next().is_some()
}

impl Walker<'_> {
    /// Refuses such a name in QUALIFY. A column goes before.
    pub(super) fn refuse_drawn_in_qualify(&mut self, select: &Select) -> Result<()> {
        if select.qualify.is_none() {
            return Ok(());
        }
        let drawn = in_qualify(select).filter(|(_, expr)| self.planner.draws(expr));
        let drawn: Vec<&Ident> = drawn.map(|(alias, _)| alias).collect();
        if drawn.is_empty() {
            return Ok(());
        }
        let columns = self.all_columns(select)?;
        let is_column = |alias: &&Ident| {
            let name = folded(&alias.value);
            columns.iter().any(|column| folded(&column.name) == name)
        };
        match drawn.into_iter().find(|alias| !is_column(alias)) {
            Some(alias) => Err(refused(&alias.value)),
            None => Ok(()),
        }
    }
}
