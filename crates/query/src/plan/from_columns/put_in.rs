//! Names that mean what a select list, or a table, gives them: what they mean is put in their place.

use super::walk::{Walker, for_conditions, unconditional};
use super::{drawn, whole_rows};
use datafusion::sql::sqlparser::ast::{Expr, Select, SelectItem, VisitorMut};
use hushdb_sql::walk::{visit_expressions, visit_own_mut};
use hushdb_sql::{Error, Result, folded};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Parts that the expressions of a select list may have, when names stand for what they mean.
const MAX_PARTS: usize = 10_000;

impl Walker<'_> {
    /// Puts in what the names of its items, and of its tables, mean.
    pub(super) fn put_in(&mut self, select: &mut Select) -> Result<()> {
        // Of what cannot be planned by itself, such as a lateral join, nobody knows which names are columns.
        let Ok(columns) = self.columns_of(unconditional(&select.from)) else {
            return Ok(());
        };
        let rows = whole_rows::of_tables(&columns);
        let columns: HashSet<String> = columns.iter().map(|c| folded(&c.name)).collect();
        let mut names = PutIn::new(rows);
        names.means.retain(|(name, _)| !columns.contains(name));
        for_conditions(&mut select.from, &mut |on| {
            let _: ControlFlow<()> = visit_own_mut(on, &mut names);
        });
        let given: Vec<Option<String>> = select.projection.iter().map(given_name).collect();
        for (at, item) in select.projection.iter_mut().enumerate() {
            match item {
                SelectItem::UnnamedExpr(expr) => {
                    let name = match &expr {
                        Expr::Identifier(name) => Some(name.clone()),
                        _ => None,
                    };
                    let parts = names.parts;
                    let _: ControlFlow<()> = visit_own_mut(expr, &mut names);
                    if let Some(alias) = name
                        && names.parts > parts
                    {
                        let expr = expr.clone();
                        *item = SelectItem::ExprWithAlias { expr, alias };
                    }
                }
                SelectItem::ExprWithAlias { expr, alias } => {
                    let _: ControlFlow<()> = visit_own_mut(expr, &mut names);
                    let name = folded(&alias.value);
                    // Of several items of a name it means the last.
                    let is_again = given[at + 1..].contains(&Some(name.clone()));
                    if !columns.contains(&name) && !is_again {
                        if self.planner.draws(expr) {
                            names.drawn.insert(name.clone());
                        }
                        names.means.push((name, expr.clone()));
                    }
                }
                _ => {}
            }
            if names.parts > MAX_PARTS {
                return Err(Error::binder(
                    "the select list is too large, when each name in it stands for what it means: use a subquery",
                ));
            }
        }
        let _: ControlFlow<()> = visit_own_mut(&mut select.selection, &mut names);
        let _: ControlFlow<()> = visit_own_mut(&mut select.having, &mut names);
        let _: ControlFlow<()> = visit_own_mut(&mut select.qualify, &mut names);
        self.changed |= names.parts > 0;
        match names.drawn_again {
            Some(name) => Err(drawn::refused(&name)),
            None => Ok(()),
        }
    }
}

fn given_name(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(&alias.value)),
        _ => None,
    }
}

/// Puts in what names mean.
#[derive(Default)]
pub(super) struct PutIn {
    pub(super) means: Vec<(String, Expr)>,
    /// Names of what has another value wherever it stands.
    drawn: HashSet<String>,
    /// One of these that was to be put in.
    drawn_again: Option<String>,
    /// Parts that were put in.
    pub(super) parts: usize,
}

impl PutIn {
    pub(super) fn new(means: Vec<(String, Expr)>) -> Self {
        Self {
            means,
            ..Self::default()
        }
    }
}

impl VisitorMut for PutIn {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Identifier(name) = &expr else {
            return ControlFlow::Continue(());
        };
        let wanted = folded(&name.value);
        let meaning = self.means.iter().rev().find(|(name, _)| *name == wanted);
        if let Some((_, meaning)) = meaning {
            if self.drawn.contains(&wanted) {
                self.drawn_again = Some(name.value.clone());
            }
            self.parts += 1;
            let _: ControlFlow<()> = visit_expressions(meaning, |_| {
                self.parts += 1;
                ControlFlow::Continue(())
            });
            *expr = match meaning {
                Expr::Identifier(_) | Expr::Value(_) | Expr::Function(_) => meaning.clone(),
                other => Expr::Nested(Box::new(other.clone())),
            };
            // What is too large is refused when the item is done.
            if self.parts > MAX_PARTS {
                return ControlFlow::Break(());
            }
        }
        ControlFlow::Continue(())
    }
}
