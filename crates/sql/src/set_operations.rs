//! Set operations, whose columns the planner would give the types of the first query, and some of which it reads otherwise than
//! DuckDB or not at all: EXCEPT ALL and INTERSECT ALL, which count rows, and UNION BY NAME. They become calls of functions in FROM,
//! as in `SELECT * FROM "$union"((SELECT ...), (SELECT ...))`, which `plan/set_operations.rs` plans.

use super::folded;
use super::parameters::substitute;
use super::reading::parse_query;
use crate::error::{Error, Result};
use crate::walk::visit_expressions;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, OrderByExpr, OrderByKind, Query,
    SelectItem, SetExpr, SetOperator, SetQuantifier, TableFactor, Value,
};
use std::ops::ControlFlow;

/// One that is planned here.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SetOperation {
    /// `UNION ALL`.
    UnionAll,
    /// `UNION`.
    Union,
    /// `UNION ALL BY NAME`.
    UnionAllByName,
    /// `UNION BY NAME`.
    UnionByName,
    /// `EXCEPT`.
    Except,
    /// `EXCEPT ALL`.
    ExceptAll,
    /// `INTERSECT`.
    Intersect,
    /// `INTERSECT ALL`.
    IntersectAll,
    /// Of one query: its rows.
    Rows,
}

const ROWS: &str = "$rows";

/// Their names as functions.
const NAMES: [(&str, SetOperation); 9] = [
    ("$union_all", SetOperation::UnionAll),
    ("$union", SetOperation::Union),
    ("$union_all_by_name", SetOperation::UnionAllByName),
    ("$union_by_name", SetOperation::UnionByName),
    ("$except", SetOperation::Except),
    ("$except_all", SetOperation::ExceptAll),
    ("$intersect", SetOperation::Intersect),
    ("$intersect_all", SetOperation::IntersectAll),
    (ROWS, SetOperation::Rows),
];

fn operation(op: SetOperator, quantifier: SetQuantifier) -> Option<SetOperation> {
    use SetOperation as S;
    use SetQuantifier as Q;
    Some(match (op, quantifier) {
        (SetOperator::Union, Q::All) => S::UnionAll,
        (SetOperator::Union, Q::Distinct | Q::None) => S::Union,
        (SetOperator::Union, Q::AllByName) => S::UnionAllByName,
        (SetOperator::Union, Q::ByName | Q::DistinctByName) => S::UnionByName,
        (SetOperator::Except, Q::All) => S::ExceptAll,
        (SetOperator::Except, Q::Distinct | Q::None) => S::Except,
        (SetOperator::Intersect, Q::All) => S::IntersectAll,
        (SetOperator::Intersect, Q::Distinct | Q::None) => S::Intersect,
        _ => return None,
    })
}

/// The operation and its queries, if a relation is a call of one.
pub fn set_operation(relation: &TableFactor) -> Option<(SetOperation, Vec<Query>)> {
    let TableFactor::Table {
        name,
        args: Some(args),
        ..
    } = relation
    else {
        return None;
    };
    let [name] = name.0.as_slice() else {
        return None;
    };
    let name = &name.as_ident()?.value;
    let (_, operation) = NAMES.iter().find(|(known, _)| known == name)?;
    let queries = args.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Subquery(query))) => {
            Some(query.as_ref().clone())
        }
        _ => None,
    });
    Some((*operation, queries.collect::<Option<_>>()?))
}

/// Makes calls of a query's own set operations; those of queries inside have their turn when these are visited.
pub(super) fn make_calls(body: &mut SetExpr) -> Result<()> {
    let SetExpr::SetOperation {
        op, set_quantifier, ..
    } = body
    else {
        return Ok(());
    };
    let Some(operation) = operation(*op, *set_quantifier) else {
        return operands_of(body);
    };
    let sides = sides(body, operation);
    // The order of a relation's rows is nothing that the planner keeps; that of a query in a set operation is.
    let is_sorted =
        |side: &&SetExpr| matches!(side, SetExpr::Query(query) if query.order_by.is_some());
    if sides.iter().any(is_sorted) && is_planned(operation) {
        return operands_of(body);
    }
    if matches!(
        operation,
        SetOperation::UnionAllByName | SetOperation::UnionByName
    ) {
        sides.iter().try_for_each(|side| refuse_names_twice(side))?;
    }
    let Some((name, _)) = NAMES.iter().find(|(_, named)| *named == operation) else {
        return Ok(());
    };
    let queries = sides
        .into_iter()
        .map(|side| Expr::Subquery(Box::new(query_of(side))));
    *body = select_from(name, &queries.collect::<Vec<_>>())?;
    Ok(())
}

/// Names that a query by name gives twice, which are told apart further on.
fn refuse_names_twice(side: &SetExpr) -> Result<()> {
    let SetExpr::Select(select) = side else {
        return Ok(());
    };
    let mut names = vec![];
    for item in &select.projection {
        let name = match item {
            SelectItem::ExprWithAlias { alias, .. } => &alias.value,
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => &name.value,
            _ => continue,
        };
        let key = folded(name);
        if names.contains(&key) {
            return Err(Error::binder(format!(
                "UNION (ALL) BY NAME operation doesn't support duplicate names in the SELECT list - the name \"{name}\" \
                 occurs multiple times"
            )));
        }
        names.push(key);
    }
    Ok(())
}

/// Makes calls within the queries of a set operation, which stays one.
pub(super) fn operands_of(body: &mut SetExpr) -> Result<()> {
    if let SetExpr::SetOperation { left, right, .. } = body {
        make_calls(left)?;
        make_calls(right)?;
    }
    Ok(())
}

/// Whether the planner knows the operation, but for types.
fn is_planned(operation: SetOperation) -> bool {
    use SetOperation as S;
    matches!(operation, S::UnionAll | S::Union | S::Except | S::Intersect)
}

/// The queries of an operation; of a chain of one kind of union, all of them.
fn sides(body: &SetExpr, wanted: SetOperation) -> Vec<&SetExpr> {
    let is_chain = matches!(wanted, SetOperation::UnionAll | SetOperation::Union);
    let mut sides = vec![];
    let mut rest = body;
    while let SetExpr::SetOperation {
        op,
        set_quantifier,
        left,
        right,
    } = rest
        && operation(*op, *set_quantifier) == Some(wanted)
        && (is_chain || sides.is_empty())
    {
        sides.push(right.as_ref());
        rest = left;
    }
    sides.push(rest);
    sides.reverse();
    sides
}

/// `SELECT * FROM name(args)`.
fn select_from(name: &str, args: &[Expr]) -> Result<SetExpr> {
    let places: Vec<String> = (1..=args.len()).map(|i| format!("${i}")).collect();
    parsed(
        &format!("SELECT * FROM \"{name}\"({})", places.join(", ")),
        args,
    )
}

/// A text of ours, in which `$1`, `$2`... stand for expressions.
fn parsed(text: &str, args: &[Expr]) -> Result<SetExpr> {
    let mut query = parse_query(text)?;
    substitute(query.as_mut(), args)?;
    Ok(*query.body)
}

fn query_of(body: &SetExpr) -> Query {
    match body {
        SetExpr::Query(query) => query.as_ref().clone(),
        body => Query {
            with: None,
            body: Box::new(body.clone()),
            order_by: None,
            limit_clause: None,
            fetch: None,
            locks: vec![],
            for_clause: None,
            settings: None,
            format_clause: None,
            pipe_operators: vec![],
        },
    }
}

/// ORDER BY ALL by position, where the text shows how many columns there are; else over a SELECT of all of them.
pub(super) fn order_by_all(query: &mut Query) -> Result<()> {
    let columns = count_of_columns(&query.body);
    let has_own_names = has_own_names(&query.body);
    let Some(order_by) = &mut query.order_by else {
        return Ok(());
    };
    let OrderByKind::All(options) = order_by.kind else {
        return Ok(());
    };
    if let Some(columns) = columns {
        let positions = (1..=columns).map(|i| OrderByExpr {
            expr: Expr::value(Value::Number(i.to_string(), false)),
            options,
            with_fill: None,
        });
        order_by.kind = OrderByKind::Expressions(positions.collect());
    } else if !has_own_names {
        let inner = Expr::Subquery(Box::new(query_of(&query.body)));
        *query.body = select_from(ROWS, &[inner])?;
    }
    Ok(())
}

/// Whether a query's body is a SELECT, none of whose items may be several columns but stars.
fn has_own_names(body: &SetExpr) -> bool {
    match body {
        SetExpr::Select(select) => !select.projection.iter().any(is_unnest),
        _ => false,
    }
}

/// Whether an item may be several columns: those of a struct.
fn is_unnest(item: &SelectItem) -> bool {
    matches!(item, SelectItem::UnnamedExpr(Expr::Function(function))
        if function.name.to_string().eq_ignore_ascii_case("unnest"))
}

/// How many columns a query's body has, if no `*` hides it.
fn count_of_columns(body: &SetExpr) -> Option<usize> {
    match body {
        SetExpr::Select(select) => {
            let is_one = |item: &SelectItem| {
                matches!(
                    item,
                    SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
                ) && !is_unnest(item)
            };
            let listed = select.projection.iter().all(is_one) && !select.projection.is_empty();
            listed.then_some(select.projection.len())
        }
        SetExpr::Values(values) => values.rows.first().map(|row| row.content.len()),
        SetExpr::Query(query) => count_of_columns(&query.body),
        SetExpr::SetOperation {
            set_quantifier: SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None,
            left,
            ..
        } => count_of_columns(left),
        _ => None,
    }
}

/// Rows of VALUES that have subqueries, which the planner's VALUES cannot run, as a SELECT for each.
pub(super) fn select_values(body: &mut SetExpr) -> Result<()> {
    let SetExpr::Values(values) = body else {
        return Ok(());
    };
    let has_query = |expr: &Expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        // ARRAY(SELECT ...).
        Expr::Function(function) if matches!(function.args, FunctionArguments::Subquery(_)) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    };
    let rows: Vec<&Vec<Expr>> = values.rows.iter().map(|row| &row.content).collect();
    if !rows
        .iter()
        .any(|row| visit_expressions(*row, has_query).is_break())
    {
        return Ok(());
    }
    let selects = rows.into_iter().map(|row| {
        let items = (1..=row.len()).map(|i| format!("${i} AS column{i}"));
        let text = format!("SELECT {}", items.collect::<Vec<_>>().join(", "));
        parsed(&text, row)
    });
    let selects = selects.collect::<Result<Vec<_>>>()?;
    let all = selects
        .into_iter()
        .reduce(|left, right| SetExpr::SetOperation {
            op: SetOperator::Union,
            set_quantifier: SetQuantifier::All,
            left: Box::new(left),
            right: Box::new(right),
        });
    *body = all.unwrap_or_else(|| body.clone());
    Ok(())
}
