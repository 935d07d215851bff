//! What the planner says of names, in DuckDB's words: the sentence, and what may have been meant.

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

/// What the planner says in words alone, and whether it is about something that no catalog has.
pub(crate) fn of_plan_error(message: &str) -> Option<(bool, String)> {
    if let Some(rest) = message.strip_prefix("Invalid function '") {
        let (name, rest) = rest.split_once('\'')?;
        let meant = rest.split_once("Did you mean '");
        let meant = meant.and_then(|(_, meant)| meant.split_once('\''));
        let meant = meant.filter(|(meant, _)| !meant.starts_with('$'));
        let meant = meant.map_or(String::new(), |(meant, _)| {
            format!("\nDid you mean \"{meant}\"?")
        });
        let text = format!("Scalar Function with name {name} does not exist!{meant}");
        return Some((true, text));
    }
    if message.starts_with("Column in SELECT must be in GROUP BY") {
        let (_, rest) = message.split_once("column \"")?;
        let name = rest.split_once('"')?.0;
        let name = name.rsplit('.').next()?;
        let text = format!(
            "column \"{name}\" must appear in the GROUP BY clause or must be part of an aggregate function.\n\
             Either add it to the GROUP BY list, or use \"ANY_VALUE({name})\" if the exact value of \"{name}\" is not important."
        );
        return Some((false, text));
    }
    let begins = "Aggregate functions are not allowed in the WHERE clause";
    message
        .starts_with(begins)
        .then(|| (false, "WHERE clause cannot contain aggregates!".into()))
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
        assert_eq!(said, Some((true, text.into())));
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
    }
}
