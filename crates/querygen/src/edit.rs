//! Walking a tree to change it.

use crate::tree::{
    Action, Assignment, Body, Change, Clause, ClauseAction, Expression, Group, Query, Rows, Script,
    Source, Statement,
};

/// A part of a query that can be changed in place.
pub enum Node<'a> {
    /// A query with what stands around it.
    Query(&'a mut Query),
    /// An expression.
    Expression(&'a mut Expression),
    /// Something in FROM.
    Source(&'a mut Source),
    /// Statements one after the other.
    Script(&'a mut Script),
    /// A statement that changes rows.
    Change(&'a mut Change),
}

/// Shows every part of every statement to `visit`, as [`edit`] does.
pub(crate) fn edit_script(script: &mut Script, visit: &mut dyn FnMut(Node<'_>) -> bool) {
    if !visit(Node::Script(script)) {
        return;
    }
    for statement in &mut script.statements {
        match statement {
            Statement::Query(query) => edit(query, visit),
            Statement::Change(change) => edit_change(change, visit),
            Statement::Transaction(_) => {}
        }
    }
}

/// What joins a table to its partner is left as it is: else a row could have two.
fn edit_change(change: &mut Change, visit: &mut dyn FnMut(Node<'_>) -> bool) {
    if !visit(Node::Change(change)) {
        return;
    }
    if let Some(partner) = &mut change.partner {
        edit_source(&mut partner.source, visit);
    }
    let mut values: Vec<&mut Expression> = vec![];
    match &mut change.action {
        Action::Insert(insert) => {
            match &mut insert.rows {
                Rows::Query(query) | Rows::ByName(query) => edit(query, visit),
                Rows::Values(rows) => values.extend(rows.iter_mut().flatten().flatten()),
                Rows::Defaults => {}
            }
            if let Some(conflict) = &mut insert.conflict {
                values.extend(assigned(&mut conflict.sets));
                values.extend(&mut conflict.filter);
            }
        }
        Action::Update(sets) => values.extend(assigned(sets)),
        Action::Merge(clauses) => values.extend(clauses.iter_mut().flat_map(clause_values)),
        Action::Delete | Action::Truncate => {}
    }
    let shown = change.returning.iter_mut().map(|item| &mut item.expression);
    for value in values.into_iter().chain(&mut change.filter).chain(shown) {
        edit_expression(value, visit);
    }
}

fn assigned(sets: &mut [Assignment]) -> impl Iterator<Item = &mut Expression> {
    sets.iter_mut().filter_map(|set| set.value.as_mut())
}

fn clause_values(clause: &mut Clause) -> Vec<&mut Expression> {
    let sets = match &mut clause.action {
        ClauseAction::Update(sets) | ClauseAction::Insert(sets) => &mut sets[..],
        ClauseAction::Delete | ClauseAction::Nothing => &mut [],
    };
    assigned(sets).chain(&mut clause.condition).collect()
}

/// Shows every part to `visit`, what holds others before these; where it says false, what is inside is left out.
pub fn edit(query: &mut Query, visit: &mut dyn FnMut(Node<'_>) -> bool) {
    if !visit(Node::Query(query)) {
        return;
    }
    for (_, inner) in &mut query.with {
        edit(inner, visit);
    }
    edit_body(&mut query.body, visit);
    for key in &mut query.order {
        edit_expression(&mut key.expression, visit);
    }
}

fn edit_body(body: &mut Body, visit: &mut dyn FnMut(Node<'_>) -> bool) {
    let select = match body {
        Body::Select(select) => select,
        Body::Set { left, right, .. } => {
            edit_body(left, visit);
            return edit_body(right, visit);
        }
    };
    if let Some(from) = &mut select.from {
        edit_source(from, visit);
    }
    let items = select.items.iter_mut().map(|item| &mut item.expression);
    let keys: Vec<&mut Expression> = match &mut select.group {
        Group::None | Group::All => vec![],
        Group::Keys(keys) => keys.iter_mut().collect(),
        Group::Sets(_, sets) => sets.iter_mut().flatten().collect(),
    };
    let all = items.chain(&mut select.filter).chain(keys);
    for one in all
        .chain(&mut select.having)
        .chain(&mut select.qualify)
        .chain(&mut select.distinct_on)
    {
        edit_expression(one, visit);
    }
}

fn edit_source(source: &mut Source, visit: &mut dyn FnMut(Node<'_>) -> bool) {
    if !visit(Node::Source(source)) {
        return;
    }
    match source {
        Source::Relation { .. } => {}
        Source::Derived { query, .. } | Source::Reshaped { query, .. } => edit(query, visit),
        Source::Join {
            left, right, on, ..
        } => {
            edit_source(left, visit);
            edit_source(right, visit);
            if let Some(on) = on {
                edit_expression(on, visit);
            }
        }
    }
}

fn edit_expression(expression: &mut Expression, visit: &mut dyn FnMut(Node<'_>) -> bool) {
    if !visit(Node::Expression(expression)) {
        return;
    }
    if let Expression::Subquery { query, .. } = expression {
        edit(query, visit);
    }
    for child in children(expression) {
        edit_expression(child, visit);
    }
}

/// The expressions right below one.
pub(crate) fn children(expression: &mut Expression) -> Vec<&mut Expression> {
    match expression {
        Expression::Column { .. } | Expression::Literal { .. } => vec![],
        Expression::Call { arguments, .. } | Expression::Subquery { arguments, .. } => {
            arguments.iter_mut().collect()
        }
        Expression::Aggregate {
            arguments, filter, ..
        } => {
            let filter = filter.as_mut().map(|filter| &mut **filter);
            arguments.iter_mut().chain(filter).collect()
        }
        Expression::Window {
            arguments,
            partition,
            order,
            filter,
            ..
        } => {
            let keys = order.iter_mut().map(|key| &mut key.expression);
            let filter = filter.as_mut().map(|filter| &mut **filter);
            let all = arguments.iter_mut().chain(partition);
            all.chain(keys).chain(filter).collect()
        }
    }
}
