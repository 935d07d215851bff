//! ORDER BY of a query: COLUMNS in it, and ORDER BY ALL of several tables, which may have columns of one name, of `* REPLACE`, and of `*`
//! beside values.

use super::put_in::PutIn;
use super::walk::Walker;
use super::{Result, find_columns, given_names, options, whole_rows};
use datafusion::sql::sqlparser::ast::{self, Expr, Query, SelectItem, Value};
use hushdb_sql::folded;
use hushdb_sql::walk::{visit_expressions, visit_own_mut};
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Whether an expression is more than values that are written.
fn names_something(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Function(_)
        | Expr::Subquery(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether a query gives its columns names, and sorts.
pub(super) fn by_own_names(query: &Query) -> bool {
    match query.body.as_ref() {
        ast::SetExpr::Select(select) => {
            query.order_by.is_some() && given_names(select).next().is_some()
        }
        _ => false,
    }
}

/// Whether a query sorts by all columns of a star of several tables, of one that replaces some, or of one with values beside it.
pub(super) fn by_all_of_several(query: &Query) -> bool {
    let by_all = query
        .order_by
        .as_ref()
        .is_some_and(|order_by| matches!(order_by.kind, ast::OrderByKind::All(_)));
    let ast::SetExpr::Select(select) = query.body.as_ref() else {
        return false;
    };
    let is_star = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        )
    };
    let replaces = |item: &SelectItem| options(item).is_some_and(|of| of.opt_replace.is_some());
    let is_several = select.from.len() > 1 || select.from.iter().any(|from| !from.joins.is_empty());
    let items = || select.projection.iter();
    by_all
        && ((is_several || items().any(is_computed)) && items().any(is_star)
            || items().any(replaces))
}

/// A query of as many columns, which names nothing of queries around it but in FROM: NULLs stand for what is computed.
fn with_nulls(mut query: Query) -> Query {
    let ast::SetExpr::Select(select) = query.body.as_mut() else {
        return query;
    };
    for (at, item) in select.projection.iter_mut().enumerate() {
        if is_computed(item) && !is_unnest(item) {
            *item = SelectItem::ExprWithAlias {
                expr: Expr::value(Value::Null),
                alias: ast::Ident::with_quote('"', format!("${at}")),
            };
        }
    }
    (select.selection, select.having, select.qualify) = (None, None, None);
    (select.distinct, select.named_window) = (None, vec![]);
    select.group_by = ast::GroupByExpr::Expressions(vec![], vec![]);
    query
}

fn is_computed(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
        }
        _ => false,
    }
}

/// Whether an item may be several columns: those of a struct.
fn is_unnest(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(Expr::Function(function)) => {
            function.name.to_string().eq_ignore_ascii_case("unnest")
        }
        _ => false,
    }
}

impl Walker<'_> {
    /// ORDER BY ALL by the places of the columns. What has a FROM that cannot be planned by itself stays as it is.
    fn sort_by_places(&self, query: &mut Query) {
        let mut rows = query.clone();
        (rows.with, rows.order_by, rows.limit_clause) = (None, None, None);
        let planned = self.plan(&rows);
        let Ok(plan) = planned.or_else(|_| self.plan(&with_nulls(rows))) else {
            return;
        };
        let Some(order_by) = &mut query.order_by else {
            return;
        };
        let ast::OrderByKind::All(options) = order_by.kind else {
            return;
        };
        let places = (1..=plan.schema().fields().len()).map(|place| ast::OrderByExpr {
            expr: Expr::value(Value::Number(place.to_string(), false)),
            options,
            with_fill: None,
        });
        order_by.kind = ast::OrderByKind::Expressions(places.collect());
    }

    /// `ORDER BY t` of a table in FROM sorts by its rows, unless a column or what is selected has its name.
    pub(super) fn sort_by_rows(&mut self, query: &mut Query) {
        let (ast::SetExpr::Select(select), Some(order_by)) =
            (query.body.as_ref(), &mut query.order_by)
        else {
            return;
        };
        let ast::OrderByKind::Expressions(keys) = &mut order_by.kind else {
            return;
        };
        // What cannot be planned by itself stays as it is.
        let Ok(columns) = self.all_columns(select) else {
            return;
        };
        let given: HashSet<String> = given_names(select).map(folded).collect();
        let mut rows = PutIn::new(whole_rows::of_tables(&columns));
        rows.means.retain(|(name, _)| {
            let mut columns = columns.iter();
            !given.contains(name) && !columns.any(|column| folded(&column.name) == *name)
        });
        for key in keys {
            let _: ControlFlow<()> = visit_own_mut(&mut key.expr, &mut rows);
        }
        self.changed |= rows.parts > 0;
    }

    /// `ARRAY(SELECT a + 1 AS b ... ORDER BY b)` sorts by what `b` means: the list is made before there is such a column. One of FROM goes
    /// before.
    fn sort_by_items(&mut self, query: &mut Query) {
        let (ast::SetExpr::Select(select), Some(order_by)) =
            (query.body.as_ref(), &mut query.order_by)
        else {
            return;
        };
        // What cannot be planned by itself stays as it is.
        let Ok(columns) = self.all_columns(select) else {
            return;
        };
        let is_column = |name: &str| columns.iter().any(|c| folded(&c.name) == name);
        let items = select.projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } => Some((folded(&alias.value), expr.clone())),
            _ => None,
        });
        let items = items.filter(|(name, _)| !is_column(name));
        let mut items = PutIn::new(items.collect());
        let ast::OrderByKind::Expressions(keys) = &mut order_by.kind else {
            return;
        };
        for key in keys {
            let parts = items.parts;
            let _: ControlFlow<()> = visit_own_mut(&mut key.expr, &mut items);
            // A number alone is a place, and the one column is that of the item.
            if items.parts > parts && !names_something(&key.expr) {
                key.expr = Expr::value(Value::Number("1".to_owned(), false));
            }
        }
    }

    /// `ORDER BY COLUMNS(...)` sorts by each of the columns.
    pub(super) fn write_out_order(&mut self, query: &mut Query) -> Result<()> {
        if by_all_of_several(query) {
            self.sort_by_places(query);
            return Ok(());
        }
        self.sort_by_merged(query);
        if self.lists.contains(&std::ptr::from_ref(query)) {
            self.sort_by_items(query);
        }
        let (ast::SetExpr::Select(select), Some(order_by)) =
            (query.body.as_ref(), &mut query.order_by)
        else {
            return Ok(());
        };
        let ast::OrderByKind::Expressions(keys) = &mut order_by.kind else {
            return Ok(());
        };
        let mut sorted = vec![];
        for key in std::mem::take(keys) {
            let Some(args) = find_columns(&key.expr)? else {
                sorted.push(key);
                continue;
            };
            for item in self.for_each(select, &key.expr, &args, None)? {
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                {
                    sorted.push(ast::OrderByExpr {
                        expr,
                        ..key.clone()
                    });
                }
            }
        }
        *keys = sorted;
        Ok(())
    }
}
