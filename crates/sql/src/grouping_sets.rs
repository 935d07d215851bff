//! GROUP BY with several elements of which one is GROUPING SETS, ROLLUP or CUBE: the planner keeps one of them alone, and reads
//! no tuples within them. All become one list of sets: each set of an element with each of the others.

use super::calls::{all_unnamed, quoted_call as called};
use super::folding::SPELLED;
use super::literal_keys::place;
use super::template::template;
use crate::error::{Error, Result};
use sqlparser::ast::{
    Expr, Function, FunctionArguments, GroupByExpr, Ident, Select, SelectItem, Value,
};

/// As many sets as DuckDB takes.
const MOST_SETS: usize = 65_535;

/// Writes a GROUP BY with sets as one GROUPING SETS, and tuples as their expressions.
pub(super) fn multiply(select: &mut Select) -> Result<()> {
    let GroupByExpr::Expressions(elements, _) = &mut select.group_by else {
        return Ok(());
    };
    for element in elements.iter_mut() {
        match place(element) {
            Some(..1) => return Err(out_of_range(&select.projection)),
            Some(place) => *element = Expr::value(Value::Number(place.to_string(), false)),
            None => {}
        }
    }
    let is_set = |e: &Expr| matches!(e, Expr::GroupingSets(_) | Expr::Rollup(_) | Expr::Cube(_));
    let is_empty = |e: &Expr| matches!(e, Expr::Tuple(items) if items.is_empty());
    if elements.iter().any(is_set) || !elements.is_empty() && elements.iter().all(is_empty) {
        let mut sets = vec![vec![]];
        for element in elements.iter() {
            sets = products(sets, &alternatives(element)?)?;
        }
        tell_apart(&sets, &mut select.projection);
        for expr in sets.iter_mut().flatten() {
            *expr = listed(expr, &select.projection)?;
        }
        *elements = match <[_; 1]>::try_from(sets) {
            Ok([one]) => one,
            Err(several) => vec![Expr::GroupingSets(several)],
        };
        if elements.is_empty() && select.having.is_none() {
            select.having = Some(Expr::value(Value::Boolean(true)));
        }
    } else if elements.iter().any(|e| matches!(e, Expr::Tuple(_))) {
        let flat = std::mem::take(elements).into_iter().flat_map(|e| match e {
            Expr::Tuple(items) => items,
            other => vec![other],
        });
        *elements = flat.collect();
    }
    Ok(())
}

/// HAVING without GROUP BY makes one group of all rows, also where nothing else asks for an aggregate.
pub(super) fn group_all(select: &mut Select) -> Result<()> {
    let has_no_groups = match &select.group_by {
        GroupByExpr::Expressions(elements, _) => elements.is_empty(),
        GroupByExpr::All(_) => false,
    };
    if has_no_groups && let Some(having) = select.having.take() {
        // Not by AND: a condition of no column would be pushed below the aggregate.
        select.having = Some(template("CASE WHEN count(*) >= 0 THEN $1 END", &[having])?);
    }
    Ok(())
}

/// The sets of one element.
fn alternatives(element: &Expr) -> Result<Vec<Vec<Expr>>> {
    Ok(match element {
        Expr::GroupingSets(sets) => {
            let mut all = vec![];
            for set in sets {
                match set.as_slice() {
                    [one] => match nested(one) {
                        Some(element) => all.extend(alternatives(&element)?),
                        None => all.push(flat(set)),
                    },
                    _ => all.push(flat(set)),
                }
                if all.len() > MOST_SETS {
                    return Err(too_many());
                }
            }
            all
        }
        Expr::Rollup(parts) => (0..=parts.len())
            .rev()
            .map(|n| parts[..n].iter().flat_map(|part| flat(part)).collect())
            .collect(),
        Expr::Cube(parts) => {
            let count = 1usize
                .checked_shl(parts.len() as u32)
                .filter(|n| *n <= MOST_SETS);
            let count = count.ok_or_else(too_many)?;
            let chosen = |set: usize| {
                let parts = parts.iter().enumerate();
                let parts = parts.filter(move |(at, _)| set & 1 << at != 0);
                parts.flat_map(|(_, part)| flat(part)).collect()
            };
            (0..count).rev().map(chosen).collect()
        }
        other => vec![flat(std::slice::from_ref(other))],
    })
}

/// ROLLUP and CUBE within GROUPING SETS, which the parser reads as calls.
fn nested(expr: &Expr) -> Option<Expr> {
    let Expr::Function(Function { name, args, .. }) = expr else {
        return None;
    };
    let FunctionArguments::List(list) = args else {
        return None;
    };
    let parts = all_unnamed(&list.args)?;
    let parts = parts.into_iter().map(|part| match part {
        Expr::Tuple(items) => items,
        other => vec![other],
    });
    match name.to_string().to_ascii_lowercase().as_str() {
        "rollup" => Some(Expr::Rollup(parts.collect())),
        "cube" => Some(Expr::Cube(parts.collect())),
        _ => None,
    }
}

/// Expressions, those of tuples one by one.
fn flat(exprs: &[Expr]) -> Vec<Expr> {
    let items = exprs.iter().flat_map(|expr| match expr {
        Expr::Tuple(items) => items.clone(),
        other => vec![other.clone()],
    });
    items.collect()
}

fn products(sets: Vec<Vec<Expr>>, others: &[Vec<Expr>]) -> Result<Vec<Vec<Expr>>> {
    if sets.len() * others.len() > MOST_SETS {
        return Err(too_many());
    }
    let product = |set: &Vec<Expr>, other: &Vec<Expr>| {
        let mut both = set.clone();
        for expr in other {
            if !both.contains(expr) {
                both.push(expr.clone());
            }
        }
        both
    };
    let products = sets
        .iter()
        .flat_map(|set| others.iter().map(move |o| product(set, o)));
    Ok(products.collect())
}

fn too_many() -> Error {
    Error::binder(format!(
        "GROUP BY makes more than {MOST_SETS} grouping sets"
    ))
}

/// Items of the select list that are written alike, but grouped by under names or places of their own, are several keys: the planner
/// would take them for one.
fn tell_apart(sets: &[Vec<Expr>], projection: &mut [SelectItem]) {
    let is_key = |at: usize, expr: &Expr, alias: &Ident| {
        let is_alias = |key: &Expr| match key {
            Expr::Identifier(name) => key != expr && name.value.eq_ignore_ascii_case(&alias.value),
            _ => false,
        };
        let mut keys = sets.iter().flatten();
        keys.any(|key| is_alias(key) || place(key) == i64::try_from(at + 1).ok())
    };
    let items = projection.iter().enumerate();
    let keys: Vec<usize> = items
        .filter_map(|(at, item)| match item {
            SelectItem::ExprWithAlias { expr, alias } => is_key(at, expr, alias).then_some(at),
            _ => None,
        })
        .collect();
    for (n, at) in keys.iter().enumerate() {
        let (before, after) = projection.split_at_mut(at + 1);
        let Some(SelectItem::ExprWithAlias { expr, alias }) = before.last_mut() else {
            continue;
        };
        let is_same = |item: &SelectItem| match item {
            SelectItem::ExprWithAlias { expr: other, .. } => other == expr,
            _ => false,
        };
        if keys[n + 1..]
            .iter()
            .any(|later| after.get(later - at - 1).is_some_and(is_same))
        {
            let name = Expr::value(Value::SingleQuotedString(alias.value.clone()));
            let value = std::mem::replace(expr, Expr::value(Value::Null));
            *expr = called(SPELLED, vec![value, name]);
        }
    }
}

/// What the select list has at a place, which the planner knows outside of sets only.
fn listed(expr: &Expr, projection: &[SelectItem]) -> Result<Expr> {
    let Some(place) = place(expr) else {
        return Ok(expr.clone());
    };
    let at = usize::try_from(place).ok().and_then(|n| n.checked_sub(1));
    match at.and_then(|at| projection.get(at)) {
        // In brackets, so that a number that is a value is not a place again.
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => {
            Ok(Expr::Nested(Box::new(expr.clone())))
        }
        _ => Err(out_of_range(projection)),
    }
}

fn out_of_range(projection: &[SelectItem]) -> Error {
    Error::binder(format!(
        "GROUP BY term out of range - should be between 1 and {}",
        projection.len()
    ))
}
