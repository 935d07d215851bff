//! ORDER BY behind a set operation that says a column of one of its queries: `SELECT a FROM t UNION ALL SELECT b FROM u ORDER BY u.b`. The
//! result has no tables, so that the planner would look for the column beside it.
//!
//! What must hold: a key is the result's column that the query's item is, by its place, or by its name where columns meet by name.

use crate::error::{Error, Result};
use sqlparser::ast::{
    Expr, Ident, OrderByKind, Query, Select, SelectItem, SetExpr, SetQuantifier, TableFactor, Value,
};

/// A column of the result: its place, from 0, where that can be told, and its name, where it has one.
struct Found {
    place: Option<usize>,
    name: Option<Ident>,
}

/// Writes keys that are `table.column`, or a name that one of the queries has, as columns of the result.
///
/// # Errors
/// `Binder` for a column of a table whose query does not select it.
pub(super) fn order_by_items(query: &mut Query) -> Result<()> {
    if !matches!(query.body.as_ref(), SetExpr::SetOperation { .. }) {
        return Ok(());
    }
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_mut().map(|order| &mut order.kind)
    else {
        return Ok(());
    };
    for key in keys {
        if let Expr::Identifier(name) = &key.expr
            && let Named::At(place) = place_of(&query.body, name)
        {
            let number = Value::Number((place + 1).to_string(), false);
            key.expr = Expr::Value(number.into());
        }
        let Expr::CompoundIdentifier(parts) = &key.expr else {
            continue;
        };
        let [.., table, _] = parts.as_slice() else {
            continue;
        };
        match found(&query.body, parts) {
            Some(Found {
                place: Some(place), ..
            }) => {
                let number = Value::Number((place + 1).to_string(), false);
                key.expr = Expr::Value(number.into());
            }
            Some(Found {
                name: Some(name), ..
            }) => key.expr = Expr::Identifier(name),
            _ if is_table_alone(&query.body, table) => {
                return Err(Error::binder(format!(
                    "Could not ORDER BY column \"{}\": add the expression/function to every SELECT, or move the UNION into a \
                     FROM clause",
                    key.expr
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether a query has a column of a name.
enum Named {
    /// At this place, from 0.
    At(usize),
    /// It may have one among those of a `*`, or columns meet by name.
    Perhaps,
    No,
}

/// The place of a name in the first of the queries that has it.
fn place_of(body: &SetExpr, name: &Ident) -> Named {
    match body {
        SetExpr::Query(query) => place_of(&query.body, name),
        SetExpr::SetOperation {
            left,
            right,
            set_quantifier,
            ..
        } if !by_name(*set_quantifier) => match place_of(left, name) {
            Named::No => place_of(right, name),
            found => found,
        },
        SetExpr::Select(select) => place_in(select, name),
        _ => Named::Perhaps,
    }
}

fn place_in(select: &Select, name: &Ident) -> Named {
    let is_plain = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    if !select.projection.iter().all(is_plain) {
        return Named::Perhaps;
    }
    let mut items = select.projection.iter();
    let place = items.position(|item| item_name(item).is_some_and(|item| alike(item, name)));
    place.map_or(Named::No, Named::At)
}

fn alike(one: &Ident, other: &Ident) -> bool {
    one.value.eq_ignore_ascii_case(&other.value)
}

fn found(body: &SetExpr, column: &[Ident]) -> Option<Found> {
    match body {
        SetExpr::Select(select) => in_select(select, column),
        SetExpr::Query(query) => found(&query.body, column),
        SetExpr::SetOperation {
            left,
            right,
            set_quantifier,
            ..
        } => {
            let first = found(left, column);
            let is_first = first.is_some();
            let found = first.or_else(|| found(right, column))?;
            if by_name(*set_quantifier) {
                return Some(Found {
                    place: None,
                    name: found.name,
                });
            }
            // The names are those of the first query.
            let name = match is_first {
                true => found.name,
                false => name_at(left, found.place?),
            };
            Some(Found { name, ..found })
        }
        _ => None,
    }
}

fn by_name(quantifier: SetQuantifier) -> bool {
    matches!(
        quantifier,
        SetQuantifier::ByName | SetQuantifier::AllByName | SetQuantifier::DistinctByName
    )
}

fn in_select(select: &Select, column: &[Ident]) -> Option<Found> {
    let [.., table, last] = column else {
        return None;
    };
    let is_here = names_table(select, table);
    let mut place = Some(0);
    for item in &select.projection {
        let (expr, name) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, item_name(item)),
            SelectItem::ExprWithAlias { expr, alias } => (expr, Some(alias)),
            _ => {
                place = None;
                continue;
            }
        };
        let is_column = match expr {
            Expr::Identifier(name) => is_here && alike(name, last),
            Expr::CompoundIdentifier(parts) => {
                parts.len() == column.len() && parts.iter().zip(column).all(|(a, b)| alike(a, b))
            }
            _ => false,
        };
        if is_column {
            let name = name.cloned();
            return Some(Found { place, name });
        }
        place = place.map(|place| place + 1);
    }
    // One of those that `*` stands for.
    (is_here && place.is_none()).then(|| Found {
        place: None,
        name: Some(last.clone()),
    })
}

/// What an item is called.
fn item_name(item: &SelectItem) -> Option<&Ident> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(name),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last(),
        _ => None,
    }
}

fn name_at(body: &SetExpr, place: usize) -> Option<Ident> {
    match body {
        SetExpr::Select(select) => item_name(select.projection.get(place)?).cloned(),
        SetExpr::Query(query) => name_at(&query.body, place),
        SetExpr::SetOperation { left, .. } => name_at(left, place),
        _ => None,
    }
}

fn names_table(select: &Select, table: &Ident) -> bool {
    let relations = select.from.iter().flat_map(|from| {
        std::iter::once(&from.relation).chain(from.joins.iter().map(|join| &join.relation))
    });
    relations.into_iter().any(|relation| match relation {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } => alike(&alias.name, table),
        TableFactor::Table { name, .. } => {
            let last = name.0.last().and_then(|part| part.as_ident());
            last.is_some_and(|last| alike(last, table))
        }
        _ => false,
    })
}

/// Whether a name is that of a table of one of the queries, and of no column that they may give.
fn is_table_alone(body: &SetExpr, name: &Ident) -> bool {
    fn selects<'a>(body: &'a SetExpr, all: &mut Vec<&'a Select>) {
        match body {
            SetExpr::Select(select) => all.push(select),
            SetExpr::Query(query) => selects(&query.body, all),
            SetExpr::SetOperation { left, right, .. } => {
                selects(left, all);
                selects(right, all);
            }
            _ => {}
        }
    }
    let mut all = vec![];
    selects(body, &mut all);
    let may_give = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. } => {
            item_name(item).is_some_and(|item| alike(item, name))
        }
        _ => true,
    };
    let gives = all
        .iter()
        .any(|select| select.projection.iter().any(may_give));
    !gives && all.iter().any(|select| names_table(select, name))
}
