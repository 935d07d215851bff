//! `SELECT t.* FROM s.t`: the planner finds a star's table by its whole name alone.

use super::super::folded;
use sqlparser::ast::{
    ObjectName, ObjectNamePart, Select, SelectItem, SelectItemQualifiedWildcardKind, TableFactor,
    TableWithJoins,
};

/// Puts the whole names of tables before the stars of a select list. Where two tables have the name, it is refused elsewhere.
pub(super) fn complete(select: &mut Select) {
    let from = &select.from;
    for item in &mut select.projection {
        if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) =
            item
            && let [ObjectNamePart::Identifier(table)] = name.0.as_slice()
            && let Some(whole) = whole_name(from, &folded(&table.value))
        {
            *name = whole.clone();
        }
    }
}

/// The name of the table that is called so, if it has more parts; none if something else goes by that name.
fn whole_name<'a>(from: &'a [TableWithJoins], name: &str) -> Option<&'a ObjectName> {
    let factors = from.iter().flat_map(|tables| {
        let joined = tables.joins.iter().map(|join| &join.relation);
        std::iter::once(&tables.relation).chain(joined)
    });
    let mut named = factors.filter_map(|factor| called(factor, name));
    let found = named.next()?;
    let is_only = named.next().is_none();
    found.filter(|whole| is_only && whole.0.len() > 1)
}

/// What a relation of that name is: a table by its own name, or something else.
fn called<'a>(factor: &'a TableFactor, name: &str) -> Option<Option<&'a ObjectName>> {
    let is_it = |given: &str| folded(given) == name;
    match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        }
        | TableFactor::UNNEST {
            alias: Some(alias), ..
        } => is_it(&alias.name.value).then_some(None),
        TableFactor::Table {
            name: whole,
            alias: None,
            args: None,
            ..
        } => {
            let last = whole.0.last()?.as_ident()?;
            is_it(&last.value).then_some(Some(whole))
        }
        _ => None,
    }
}
