//! What the planner says of names, in DuckDB's words: the sentence, and what may have been meant.

use crate::error_types::{of_call, of_comparison, of_condition, of_operator};
use datafusion_common::{Column, SchemaError, TableReference};
use std::collections::HashSet;

/// How like two names must be for one to be offered for the other; DuckDB's.
const LIKE_ENOUGH: f64 = 0.5;
/// Names that are offered.
const OFFERED: usize = 5;

/// The names that are most like one, the best first.
pub fn like<'a>(name: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let name = name.to_lowercase();
    let mut seen = HashSet::new();
    // Ours that begin with `$` are nobody's.
    let own = names.into_iter().filter(|known| !known.starts_with('$'));
    let rated = own
        .filter(|known| seen.insert(*known))
        .map(|known| (strsim::jaro_winkler(&name, &known.to_lowercase()), known));
    let mut rated: Vec<(f64, &str)> = rated.filter(|(like, _)| *like >= LIKE_ENOUGH).collect();
    rated.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    rated.truncate(OFFERED);
    rated.into_iter().map(|(_, known)| known).collect()
}

/// `\nwords: "a", "b"`, or nothing where there is none.
pub fn offered(words: &str, names: &[&str]) -> String {
    match names {
        [] => String::new(),
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
            format!("\n{words}: {}", names.join(", "))
        }
    }
}

/// A column that is not there, or there twice.
pub(crate) fn of_schema_error(error: &SchemaError) -> Option<String> {
    match error {
        SchemaError::FieldNotFound {
            field,
            valid_fields,
        } => Some(not_found(field, valid_fields)),
        SchemaError::AmbiguousReference { field } => Some(format!(
            "Ambiguous reference to column name \"{}\"; write its table before it",
            field.name
        )),
        _ => None,
    }
}

fn not_found(field: &Column, valid: &[Column]) -> String {
    let table = |column: &'_ Column| column.relation.as_ref().map(|t| t.table().to_owned());
    let names = |of: Option<&str>| -> Vec<&str> {
        let of_table = valid.iter().filter(|column| match of {
            None => true,
            Some(of) => table(column).is_some_and(|table| table.eq_ignore_ascii_case(of)),
        });
        like(&field.name, of_table.map(|column| column.name.as_str()))
    };
    let Some(wanted) = field.relation.as_ref().map(TableReference::table) else {
        if valid.is_empty() {
            return format!(
                "Referenced column \"{}\" was not found because the FROM clause is missing",
                field.name
            );
        }
        let like = offered("Candidate bindings", &names(None));
        return format!(
            "Referenced column \"{}\" not found in FROM clause!{like}",
            field.name
        );
    };
    let tables: Vec<String> = valid.iter().filter_map(table).collect();
    if tables
        .iter()
        .any(|table| table.eq_ignore_ascii_case(wanted))
    {
        let like = offered("Candidate bindings", &names(Some(wanted)));
        return format!(
            "Table \"{wanted}\" does not have a column named \"{}\"{like}",
            field.name
        );
    }
    let mut seen = HashSet::new();
    let tables = tables.iter().map(String::as_str);
    let tables: Vec<&str> = tables
        .filter(|table| !table.starts_with('$') && seen.insert(*table))
        .take(OFFERED)
        .collect();
    format!(
        "Referenced table \"{wanted}\" not found!{}",
        offered("Candidate tables", &tables)
    )
}

/// What an error of the planner is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum About {
    /// Something that no catalog has.
    Catalog,
    Binder,
    Parser,
    Conversion,
}

/// Sentences of which the beginning is known, and DuckDB's for them.
const SENTENCES: [(&str, About, &str); 8] = [
    (
        "Aggregate functions are not allowed in the WHERE clause",
        About::Binder,
        "WHERE clause cannot contain aggregates!",
    ),
    (
        "Aggregate function calls cannot be nested",
        About::Binder,
        "aggregate function calls cannot be nested",
    ),
    (
        "Aggregate function calls cannot contain window function calls",
        About::Binder,
        "aggregate function calls cannot contain window function calls",
    ),
    (
        "Inconsistent data length across values list",
        About::Parser,
        "VALUES lists must all be the same length",
    ),
    (
        "LIMIT must be >= 0",
        About::Binder,
        "LIMIT/OFFSET cannot be negative",
    ),
    (
        "OFFSET must be >=0",
        About::Binder,
        "LIMIT/OFFSET cannot be negative",
    ),
    (
        "unnest() can only be applied to",
        About::Binder,
        "UNNEST() can only be applied to lists, structs and NULL",
    ),
    (
        "QUALIFY clause requires window functions",
        About::Binder,
        "at least one window function must appear in the SELECT column or QUALIFY clause",
    ),
];

/// What the planner says in words alone.
pub(crate) fn of_plan_error(message: &str) -> Option<(About, String)> {
    let mut sentences = SENTENCES.iter();
    if let Some((_, about, said)) = sentences.find(|(begins, ..)| message.starts_with(begins)) {
        return Some((*about, (*said).to_owned()));
    }
    let of_types = of_call(message).or_else(|| of_operator(message));
    if let Some(said) = of_types.or_else(|| of_comparison(message)) {
        return Some((About::Binder, said));
    }
    if let Some(said) = of_condition(message) {
        return Some((About::Conversion, said));
    }
    of_places(message)
        .or_else(|| of_fields(message))
        .map(|said| (About::Binder, said))
        .or_else(|| of_names(message))
}

/// A number in ORDER BY or GROUP BY that is none of a column, and a subquery with too many of them.
fn of_places(message: &str) -> Option<String> {
    let out_of_range = |clause: &str, most: &str| {
        format!("{clause} term out of range - should be between 1 and {most}")
    };
    if let Some(rest) = message.strip_prefix("Order by column out of bounds, specified: ") {
        return Some(out_of_range("ORDER", rest.split_once("max: ")?.1));
    }
    if let Some(rest) = message.strip_prefix("Cannot find column with position ") {
        return Some(out_of_range("GROUP BY", rest.split_once(" 1 to ")?.1));
    }
    let begins = "Too many columns! The subquery should only return one column: ";
    let columns = message.strip_prefix(begins)?.split(", ").count();
    Some(format!("Subquery returns {columns} columns - expected 1"))
}

/// A field that a struct has not.
fn of_fields(message: &str) -> Option<String> {
    let name = message
        .strip_prefix("Field ")?
        .strip_suffix(" not found in struct")?;
    Some(format!("Could not find key \"{name}\" in struct"))
}

/// What is said of a column that is in no group.
pub fn in_no_group(name: &str) -> String {
    format!(
        "column \"{name}\" must appear in the GROUP BY clause or must be part of an aggregate function.\n\
         Either add it to the GROUP BY list, or use \"ANY_VALUE({name})\" if the exact value of \"{name}\" is not important."
    )
}

/// A function that is not there, and a column that is in no group.
fn of_names(message: &str) -> Option<(About, String)> {
    if let Some(rest) = message.strip_prefix("Invalid function '") {
        let (name, rest) = rest.split_once('\'')?;
        let meant = rest.split_once("Did you mean '");
        let meant = meant.and_then(|(_, meant)| meant.split_once('\''));
        let meant = meant.filter(|(meant, _)| !meant.starts_with('$'));
        let meant = meant.map_or(String::new(), |(meant, _)| {
            format!("\nDid you mean \"{meant}\"?")
        });
        let text = format!("Scalar Function with name {name} does not exist!{meant}");
        return Some((About::Catalog, text));
    }
    if message.starts_with("Column in SELECT must be in GROUP BY") {
        let (_, rest) = message.split_once("column \"")?;
        let name = rest.split_once('"')?.0;
        let name = name.rsplit('.').next()?;
        return Some((About::Binder, in_no_group(name)));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(table: &str, name: &str) -> Column {
        Column::new(Some(table.to_owned()), name)
    }

    #[test]
    fn names_that_are_not_there() {
        let valid: Vec<Column> = ["id", "name", "$row"]
            .map(|name| column("emp", name))
            .into();
        for (field, said) in [
            (
                Column::new_unqualified("nam"),
                "Referenced column \"nam\" not found in FROM clause!\nCandidate bindings: \"name\"",
            ),
            (
                column("emp", "nam"),
                "Table \"emp\" does not have a column named \"nam\"\nCandidate bindings: \"name\"",
            ),
            (
                column("e", "id"),
                "Referenced table \"e\" not found!\nCandidate tables: \"emp\"",
            ),
        ] {
            assert_eq!(not_found(&field, &valid), said);
        }
    }

    #[test]
    fn functions_and_groups() {
        let said = of_plan_error("Invalid function 'lenght'.\nDid you mean 'length'?");
        let text = "Scalar Function with name lenght does not exist!\nDid you mean \"length\"?";
        assert_eq!(said, Some((About::Catalog, text.into())));
        let said = of_plan_error("Invalid function 'x'.\nDid you mean '$bit_not'?");
        assert_eq!(said.map(|(_, text)| text.contains("mean")), Some(false));
        let said = of_plan_error(
            "Column in SELECT must be in GROUP BY or an aggregate function: While expanding wildcard, column \"emp.id\" must \
             appear in the GROUP BY clause",
        );
        let said = said.map(|(_, text)| text).unwrap_or_default();
        assert!(
            said.starts_with("column \"id\" must appear in the GROUP BY clause"),
            "{said}"
        );
        assert_eq!(of_plan_error("something else"), None);
        for (message, about, said) in [
            (
                "Order by column out of bounds, specified: 5, max: 1",
                About::Binder,
                "ORDER term out of range - should be between 1 and 1",
            ),
            (
                "Too many columns! The subquery should only return one column: t.a, t.b",
                About::Binder,
                "Subquery returns 2 columns - expected 1",
            ),
            (
                "Field b not found in struct",
                About::Binder,
                "Could not find key \"b\" in struct",
            ),
            (
                "Inconsistent data length across values list: got 2 values in row 1 but expected 1",
                About::Parser,
                "VALUES lists must all be the same length",
            ),
        ] {
            assert_eq!(of_plan_error(message), Some((about, said.into())));
        }
    }
}
