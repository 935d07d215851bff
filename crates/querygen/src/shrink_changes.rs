//! Making scripts small: statements before the last one go, and clauses, assignments and rows of each.

use crate::tree::{
    Action, Assignment, Change, Clause, ClauseAction, Expression, Group, Insert, Query, Rows,
    Script, Source,
};
use crate::world::World;

/// Whether each row has one partner at most, and rows of a query that meet keys have each key once.
pub(crate) fn is_determined(change: &Change, world: &World) -> bool {
    let has_one_partner = match change.partner.as_ref() {
        None => true,
        Some(partner) => match &partner.source {
            Source::Derived { query, .. } => groups_by_first(query, 1),
            Source::Relation { name, .. } => {
                let mut tables = world.tables.iter().filter(|table| table.name == *name);
                let key = match &partner.key {
                    Expression::Column { name, .. } => vec![name.clone()],
                    _ => vec![],
                };
                tables.any(|table| table.keys().contains(&key))
            }
            _ => false,
        },
    };
    let meets_keys_once = match &change.action {
        Action::Insert(insert) if insert.conflict.is_some() || !insert.instead.is_empty() => {
            let mut tables = world.tables.iter().filter(|t| t.name == change.table);
            let keys = tables.next().map(|table| table.keys()).unwrap_or_default();
            match (&insert.rows, keys.as_slice()) {
                (Rows::Query(query) | Rows::ByName(query), [key]) => {
                    groups_by_first(query, key.len())
                }
                (Rows::Query(_) | Rows::ByName(_), _) => false,
                _ => true,
            }
        }
        _ => true,
    };
    has_one_partner && meets_keys_once
}

/// Whether the query groups by its first columns.
fn groups_by_first(query: &Query, count: usize) -> bool {
    query.select().is_some_and(|select| {
        let first = select.items.iter().take(count).map(|item| &item.expression);
        match &select.group {
            Group::Keys(keys) => keys.iter().eq(first),
            _ => false,
        }
    })
}

/// Something that falls with every edit of a statement by itself.
pub(crate) fn change_cost(change: &Change) -> usize {
    let sets = |sets: &[Assignment]| 2 * sets.len();
    let action = match &change.action {
        Action::Insert(insert) => insert_cost(insert),
        Action::Update(assigned) => sets(assigned),
        Action::Merge(clauses) => {
            let clauses = clauses.iter().map(|clause| {
                let action = match &clause.action {
                    ClauseAction::Update(assigned) | ClauseAction::Insert(assigned) => {
                        sets(assigned)
                    }
                    ClauseAction::Delete | ClauseAction::Nothing => 0,
                };
                4 + action + usize::from(clause.condition.is_some())
            });
            clauses.sum()
        }
        Action::Delete | Action::Truncate => 0,
    };
    let around = usize::from(change.filter.is_some()) + usize::from(change.partner.is_some());
    4 + action + around + usize::from(change.returns_all) + 2 * change.returning.len()
}

fn insert_cost(insert: &Insert) -> usize {
    let conflict = insert.conflict.as_ref().map_or(0, |conflict| {
        let filter = usize::from(conflict.filter.is_some());
        2 + conflict.keys.len() + filter + 2 * conflict.sets.len()
    });
    let rows = match &insert.rows {
        Rows::Values(rows) => rows.iter().map(|row| 2 + row.len()).sum(),
        Rows::Query(_) | Rows::ByName(_) | Rows::Defaults => 0,
    };
    conflict + rows + insert.columns.len() + insert.instead.len()
}

/// Takes one of the statements before the last out of the script.
pub(crate) fn edit_script(script: &mut Script, choice: usize) -> Option<()> {
    let before = script.statements.len().saturating_sub(1);
    (choice < before).then(|| drop(script.statements.remove(choice)))
}

/// Makes one of the edits of a statement; `gone` is told which names are no more.
pub(crate) fn edit_change(
    change: &mut Change,
    choice: usize,
    gone: &mut Vec<String>,
) -> Option<()> {
    match choice {
        0 => {
            change.returns_all = false;
            change.returning.clear();
        }
        1 => change.filter = None,
        2 if !matches!(change.action, Action::Merge(_)) => {
            if let Some(partner) = change.partner.take() {
                names(&partner.source, gone);
            }
        }
        2 => {}
        3 => drop(change.returning.pop()),
        _ => return edit_action(&mut change.action, choice - 4),
    }
    Some(())
}

fn edit_action(action: &mut Action, choice: usize) -> Option<()> {
    match action {
        Action::Insert(insert) => edit_insert(insert, choice),
        Action::Update(sets) => remove(sets, choice, 1),
        Action::Merge(clauses) => {
            let count = clauses.len();
            match choice < count {
                true => remove(clauses, choice, 1),
                false => edit_clause(clauses, choice - count),
            }
        }
        Action::Delete | Action::Truncate => None,
    }
}

/// Removes one, where `least` are left.
fn remove<T>(all: &mut Vec<T>, at: usize, least: usize) -> Option<()> {
    if at >= all.len() {
        return None;
    }
    if all.len() > least {
        all.remove(at);
    }
    Some(())
}

fn edit_clause(clauses: &mut [Clause], choice: usize) -> Option<()> {
    // More than a clause has of anything.
    const EDITS: usize = 16;
    let clause = clauses.get_mut(choice / EDITS)?;
    match (choice % EDITS, &mut clause.action) {
        (0, _) => clause.condition = None,
        (n, ClauseAction::Update(sets) | ClauseAction::Insert(sets)) => {
            let _ = remove(sets, n - 1, 1);
        }
        _ => {}
    }
    Some(())
}

fn edit_insert(insert: &mut Insert, choice: usize) -> Option<()> {
    match choice {
        0 => insert.conflict = None,
        1 => insert.instead = "",
        2 => {
            if let Some(conflict) = &mut insert.conflict {
                conflict.filter = None;
            }
        }
        3 | 4 => {
            if let Some(conflict) = &mut insert.conflict {
                let _ = remove(&mut conflict.sets, choice - 3, 1);
            }
        }
        _ => return edit_rows(insert, choice - 5),
    }
    Some(())
}

/// Takes a row out, or a column with its values.
fn edit_rows(insert: &mut Insert, choice: usize) -> Option<()> {
    let Rows::Values(rows) = &mut insert.rows else {
        return None;
    };
    let count = rows.len();
    if choice < count {
        return remove(rows, choice, 1);
    }
    let at = choice - count;
    remove(&mut insert.columns, at, 1)?;
    for row in rows {
        if row.len() > insert.columns.len() {
            row.remove(at);
        }
    }
    Some(())
}

/// By what names the columns of a source are called.
pub(crate) fn names(source: &Source, all: &mut Vec<String>) {
    match source {
        Source::Relation { name, alias } => all.push(alias.clone().unwrap_or(name.clone())),
        Source::Derived { alias, .. } | Source::Reshaped { alias, .. } => all.push(alias.clone()),
        Source::Join { left, right, .. } => {
            names(left, all);
            names(right, all);
        }
    }
}
