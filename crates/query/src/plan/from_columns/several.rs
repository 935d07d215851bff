//! `*` of several tables in a query that another one reads: columns of one name get names of their own, `a` and `a_1`.

use super::walk::is_of_several;
use super::{columns_of, last_name, options};
use datafusion::sql::sqlparser::ast::{Ident, Query, Select, SelectItem, SetExpr, TableFactor};
use hushdb_sql::unique;
use std::collections::HashSet;

/// Whether such a query stands in WITH.
pub(super) fn in_with(query: &Query) -> bool {
    let tables = query.with.iter().flat_map(|with| &with.cte_tables);
    tables
        .into_iter()
        .any(|table| may_name_twice(&table.query.body))
}

/// Whether it is such a query.
pub(super) fn in_from(relation: &TableFactor) -> bool {
    match relation {
        TableFactor::Derived { subquery, .. } => may_name_twice(&subquery.body),
        _ => false,
    }
}

/// Gives columns of one name names of their own, where all are written out.
pub(super) fn tell_apart(items: &mut [SelectItem]) {
    if items.iter().any(|item| options(item).is_some()) {
        return;
    }
    let mut taken = HashSet::new();
    for item in items {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &*item
        else {
            continue;
        };
        let given = match &*item {
            SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.clone()),
            _ => last_name(expr),
        };
        let Some(name) = given else {
            continue;
        };
        let own = unique(&mut taken, name.clone());
        if own != name {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', own),
            };
        }
    }
}

/// Whether a select list shows all of several tables.
pub(super) fn shows_all(select: &Select) -> bool {
    let is_star = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) => columns_of(expr).is_some(),
        _ => options(item).is_some(),
    };
    is_of_several(select) && select.projection.iter().any(is_star)
}

fn may_name_twice(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => shows_all(select),
        SetExpr::SetOperation { left, .. } => may_name_twice(left),
        SetExpr::Query(query) => may_name_twice(&query.body),
        _ => false,
    }
}
