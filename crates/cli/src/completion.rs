//! What Tab offers in the shell: dot commands and their arguments, names of files in quotes, and in SQL keywords, tables, and
//! their columns.
//!
//! What must hold: nothing but the directory that a file's name points to is read; the names in the database are those that the
//! shell asked for before the input began.
#![expect(clippy::disallowed_methods, reason = "Tab lists files")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::dot_command;
use crate::output::Mode;
use crate::quoted_names::quoted;
use crate::session::Session;

/// Words that statements are made of, as a person types them.
const KEYWORDS: &str = "ADD ALL ALTER ANALYZE AND AS ASC ATTACH BEGIN BETWEEN BIGINT BLOB BOOLEAN BY CALL CASE CAST CHECK \
    CHECKPOINT COLUMN COMMIT CONFLICT CONSTRAINT COPY CREATE CROSS DATABASE DATE DECIMAL DEFAULT DELETE DESC DESCRIBE DETACH \
    DISTINCT DO DOUBLE DROP ELSE END EXCEPT EXECUTE EXISTS EXPLAIN FALSE FILTER FIRST FLOAT FOR FROM FULL GROUP HAVING IF IN \
    INDEX INNER INSERT INTEGER INTERSECT INTERVAL INTO IS JOIN KEY LAST LEFT LIKE LIMIT NATURAL NOT NOTHING NULL NULLS OFFSET \
    ON OR ORDER OUTER OVER PARTITION PRAGMA PREPARE PRIMARY READ_ONLY RECURSIVE REFERENCES RENAME REPLACE RETURNING RIGHT \
    ROLLBACK ROW ROWS SAVEPOINT SCHEMA SELECT SET SHOW SMALLINT STRUCT SUMMARIZE TABLE TABLES THEN TIME TIMESTAMP TINYINT TO \
    TRANSACTION TRUE TRUNCATE TYPE UNION UNIQUE UPDATE USE USING UUID VACUUM VALUES VARCHAR VIEW WHEN WHERE WINDOW WITH";

/// Names of what there is in the attached databases.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Names {
    pub(crate) tables: Vec<TableNames>,
}

/// A table or view, and where it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TableNames {
    pub(crate) database: String,
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) columns: Vec<String>,
}

impl Session {
    /// What Tab offers of the databases; none within a transaction, of which a question would be the first statement.
    pub(crate) fn names(&self) -> Option<Names> {
        if self.connection.in_transaction() {
            return None;
        }
        let rows = self.ask(
            "SELECT database, schema, name, array_to_string(column_names, chr(0)) FROM (SHOW ALL TABLES)",
        );
        let rows = rows.ok()?;
        let tables = rows.into_iter().filter_map(|row| {
            let [database, schema, name, columns] = <[String; 4]>::try_from(row).ok()?;
            let columns = columns.split('\0').filter(|name| !name.is_empty());
            Some(TableNames {
                database,
                schema,
                name,
                columns: columns.map(str::to_owned).collect(),
            })
        });
        Some(Names {
            tables: tables.collect(),
        })
    }
}

/// What may stand instead of `input[start..]`, for a cursor behind `input`.
pub(crate) fn complete(input: &str, names: &Names) -> (usize, Vec<String>) {
    if let Some(command) = input.strip_prefix('.')
        && !input.contains('\n')
    {
        return dot_command(command, input, names);
    }
    if let Some(start) = open_text(input) {
        return (start, files(tail(input, start)));
    }
    let start = word_start(input);
    (start, of_sql(tail(input, start), input, names))
}

fn tail(input: &str, start: usize) -> &str {
    input.get(start..).unwrap_or_default()
}

fn dot_command(command: &str, input: &str, names: &Names) -> (usize, Vec<String>) {
    let begins = |typed: &str, options: &mut dyn Iterator<Item = String>| {
        options
            .filter(|option| option.starts_with(typed))
            .collect::<Vec<_>>()
    };
    let Some(blank) = command.find(char::is_whitespace) else {
        let mut commands = dot_command::names().map(str::to_owned);
        return (0, begins(input, &mut commands));
    };
    let start = match input.rfind(char::is_whitespace) {
        Some(blank) => blank + 1,
        None => input.len(),
    };
    let typed = tail(input, start);
    let name = command.get(..blank).unwrap_or_default();
    let options = match name {
        "mode" => begins(typed, &mut Mode::ALL.iter().map(Mode::to_string)),
        "timer" => begins(typed, &mut ["on", "off"].into_iter().map(str::to_owned)),
        "schema" | "tables" | "indexes" => begins(
            typed,
            &mut names.tables.iter().map(|table| table.name.clone()),
        ),
        "read" | "output" | "open" => {
            let quote = |c| matches!(c, '\'' | '"');
            let path = typed.trim_start_matches(quote);
            return (input.len() - path.len(), files(path));
        }
        _ => Vec::new(),
    };
    (start, options)
}

/// Where the text begins whose quote is still open, if one is.
fn open_text(input: &str) -> Option<usize> {
    let mut open = None;
    for (at, c) in input.char_indices() {
        match (open, c) {
            (None, '\'' | '"') => open = Some((at, c)),
            (Some((_, quote)), c) if c == quote => open = None,
            _ => {}
        }
    }
    // In double quotes is the name of something else.
    open.filter(|(_, quote)| *quote == '\'')
        .map(|(at, _)| at + 1)
}

/// The names in a directory that go on like `typed`, directories with a slash behind them.
fn files(typed: &str) -> Vec<String> {
    let (directory, begin) = match typed.rfind('/') {
        Some(slash) => typed.split_at(slash + 1),
        None => ("", typed),
    };
    let from = if directory.is_empty() { "." } else { directory };
    let Ok(entries) = fs::read_dir(Path::new(from)) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let shown =
                name.starts_with(begin) && (!name.starts_with('.') || begin.starts_with('.'));
            let slash = if entry.path().is_dir() { "/" } else { "" };
            shown.then(|| format!("{directory}{name}{slash}"))
        })
        .collect();
    found.sort();
    found
}

/// A word of SQL is a path of names: letters, digits, underscores and dots, and what is in double quotes.
fn word_start(input: &str) -> usize {
    let mut start = input.len();
    let mut quoted = input.matches('"').count() % 2 == 1;
    for (at, c) in input.char_indices().rev() {
        if c == '"' {
            quoted = !quoted;
        } else if !(quoted || c.is_alphanumeric() || matches!(c, '_' | '.')) {
            break;
        }
        start = at;
    }
    start
}

fn of_sql(word: &str, input: &str, names: &Names) -> Vec<String> {
    let (path, typed) = match word.rfind('.') {
        Some(dot) => (word.get(..dot), tail(word, dot + 1)),
        None => (None, word),
    };
    let typed = typed.to_lowercase();
    let goes_on = |name: &&str| {
        name.to_lowercase().starts_with(&typed) || quoted(name).to_lowercase().starts_with(&typed)
    };
    let mut found = BTreeSet::new();
    if let Some(path) = path {
        let plain = path.replace('"', "");
        for table in &names.tables {
            let ends = format!(".{}.{}.{}", table.database, table.schema, table.name);
            if ends.ends_with(&format!(".{plain}")) || is_alias(&plain, &table.name, input) {
                let columns = table.columns.iter().map(String::as_str);
                found.extend(columns.filter(goes_on).map(quoted));
            }
            if plain == table.schema || plain == format!("{}.{}", table.database, table.schema) {
                found.extend(Some(table.name.as_str()).filter(goes_on).map(quoted));
            } else if plain == table.database {
                let inner = [table.schema.as_str(), table.name.as_str()].into_iter();
                found.extend(inner.filter(goes_on).map(quoted));
            }
        }
        return found
            .into_iter()
            .map(|name| format!("{path}.{name}"))
            .collect();
    }
    if typed.is_empty() {
        return Vec::new();
    }
    let lower = !word.chars().any(char::is_uppercase);
    let keywords = KEYWORDS.split_whitespace();
    let keywords = keywords.filter(|word| word.to_lowercase().starts_with(&typed));
    let keywords = keywords.map(|word| match lower {
        true => word.to_lowercase(),
        false => word.to_owned(),
    });
    let mentioned = |table: &&TableNames| words(input).any(|word| word == table.name);
    let columns_of: Vec<&TableNames> = match names.tables.iter().any(|table| mentioned(&table)) {
        true => names.tables.iter().filter(mentioned).collect(),
        false => names.tables.iter().collect(),
    };
    let columns = columns_of.into_iter().flat_map(|table| &table.columns);
    let tables = names.tables.iter().flat_map(|t| [&t.name, &t.database]);
    found.extend(
        columns
            .chain(tables)
            .map(String::as_str)
            .filter(goes_on)
            .map(quoted),
    );
    found.into_iter().chain(keywords).collect()
}

/// The names in an input, without their quotes.
fn words(input: &str) -> impl Iterator<Item = &str> {
    let within = |c: char| c.is_alphanumeric() || c == '_';
    input
        .split(move |c| !within(c))
        .filter(|word| !word.is_empty())
}

/// Whether the input has `table alias` or `table AS alias`.
fn is_alias(alias: &str, table: &str, input: &str) -> bool {
    let words: Vec<&str> = words(input).collect();
    words.iter().enumerate().any(|(at, word)| {
        let next = |n: usize| words.get(at + n).copied();
        let found = match next(1) {
            Some(word) if word.eq_ignore_ascii_case("as") => next(2),
            next => next,
        };
        *word == table && found == Some(alias)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let table = |schema: &str, name: &str, columns: &[&str]| TableNames {
            database: "memory".into(),
            schema: schema.into(),
            name: name.into(),
            columns: columns.iter().map(|&c| c.to_owned()).collect(),
        };
        Names {
            tables: vec![
                table("main", "orders", &["o_key", "o_total", "Order Date"]),
                table("main", "other", &["x"]),
                table("s", "parts", &["p_key"]),
            ],
        }
    }

    fn offered(input: &str) -> Vec<String> {
        let (start, found) = complete(input, &names());
        found
            .iter()
            .map(|found| format!("{}{found}", &input[..start]))
            .collect()
    }

    #[test]
    fn keywords_come_in_the_case_that_is_typed() {
        assert_eq!(offered("SEL"), ["SELECT"]);
        assert_eq!(offered("select o_key fr"), ["select o_key from"]);
        assert_eq!(offered("select 1;\nvac"), ["select 1;\nvacuum"]);
        assert!(offered("select ").is_empty());
    }

    #[test]
    fn tables_and_columns_are_found_by_their_beginnings() {
        let orders =
            ["\"Order Date\"", "orders", "order"].map(|name| format!("select * from {name}"));
        assert_eq!(offered("select * from orde"), orders);
        assert_eq!(
            offered("FROM orders SELECT o_t"),
            ["FROM orders SELECT o_total"]
        );
        assert_eq!(offered("SELECT orders.o_k"), ["SELECT orders.o_key"]);
        assert_eq!(offered("SELECT max(p_"), ["SELECT max(p_key"]);
        // Another table is meant.
        assert!(offered("FROM orders SELECT p_k").is_empty());
        assert_eq!(
            offered("FROM orders AS z WHERE z.o_k"),
            ["FROM orders AS z WHERE z.o_key"]
        );
        assert_eq!(
            offered("SELECT orders.ord"),
            ["SELECT orders.\"Order Date\""]
        );
        assert_eq!(offered("SELECT \"Ord"), ["SELECT \"Order Date\""]);
        assert_eq!(offered("FROM s."), ["FROM s.parts"]);
        assert_eq!(offered("FROM memory.s.pa"), ["FROM memory.s.parts"]);
    }

    #[test]
    fn dot_commands_and_what_they_take() {
        assert_eq!(offered(".ti"), [".timer"]);
        assert_eq!(offered(".mode m"), [".mode markdown"]);
        assert_eq!(offered(".timer o"), [".timer on", ".timer off"]);
        assert_eq!(offered(".schema ord"), [".schema orders"]);
        assert!(offered(".nothing x").is_empty());
    }

    #[test]
    fn files_are_found_in_quotes() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["data.csv", "data.json", ".hidden"] {
            fs::write(directory.path().join(name), "").expect("written");
        }
        fs::create_dir(directory.path().join("deep")).expect("made");
        let at = directory.path().display().to_string();
        assert_eq!(
            offered(&format!("FROM '{at}/d")),
            ["data.csv", "data.json", "deep/"].map(|name| format!("FROM '{at}/{name}"))
        );
        assert_eq!(
            offered(&format!(".read {at}/data.c")),
            [format!(".read {at}/data.csv")]
        );
        assert_eq!(
            offered(&format!("SELECT 'a', '{at}/.h")),
            [format!("SELECT 'a', '{at}/.hidden")]
        );
    }
}
