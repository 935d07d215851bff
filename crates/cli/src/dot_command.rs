//! The dot commands.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Parser;

use crate::failure::Failure;
use crate::freshness_options::FreshnessOptions;
use crate::key_options::KeyOptions;
use crate::output::{BoxTable, Mode, Printer, Sink, Style};
use crate::quoted_names::quoted;
use crate::session::{Session, Target};

const HELP: &str = "\
.bail [on|off]           Whether a script ends at its first error (the default); off: it goes on
.databases               List the attached databases and their files
.headers on|off          Whether names of columns come first in modes ascii, column, csv, html, list, quote, tabs, tcl
.help                    Show this text
.indexes [TABLE]         List indexes, those of keys included, of all tables or of TABLE
.mode [MODE [TABLE]]     Show or set the output mode: box, csv, json, jsonlines, markdown, line, list, tabs, column, table, insert
                         (into TABLE), quote, html, latex, ascii, tcl, trash
.nullvalue TEXT          What stands for NULL
.once FILE               Send the next statement's result to FILE
.open [OPTIONS] [FILE]   Close this database and open FILE (no FILE: in memory);
                         OPTIONS: --read-only, --key-env VAR, --key-file PATH, --key-command CMD
.output [FILE]           Send results to FILE (no FILE: to the terminal again), which has them at the next .output
                         or when the shell ends
.print TEXT...           Print TEXT
.quit                    Leave; so does .exit and Ctrl-D
.read FILE               Run the statements of FILE
.schema [NAME]           Show the columns of all tables and views, or of NAME, as CREATE statements
.separator TEXT [END]    What is between values, and behind rows, in modes ascii, csv, list, quote, tabs, tcl; \\t is a tab
.tables [PATTERN]        List tables and views, or those LIKE PATTERN
.timer [on|off]          Print how long each statement took
";

/// `.open`'s own little command line.
#[derive(Debug, Parser)]
#[command(name = ".open", no_binary_name = true, disable_help_flag = true)]
struct OpenArguments {
    file: Option<PathBuf>,
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    key: KeyOptions,
    #[command(flatten)]
    freshness: FreshnessOptions,
}

/// The names of all commands.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    let first = HELP.lines().filter_map(|line| line.split(' ').next());
    first.filter(|word| word.starts_with('.'))
}

impl Session {
    /// Runs one dot command, its name first.
    ///
    /// # Errors
    /// An unknown command, wrong arguments, whatever the command itself meets; [`Failure::Quit`] for `.quit`.
    pub(crate) fn dot_command(&mut self, command: &str) -> Result<(), Failure> {
        let words = words(command)?;
        let mut words = words.iter().map(String::as_str);
        let name = words.next().unwrap_or_default();
        let arguments: Vec<&str> = words.collect();
        match (name, arguments.as_slice()) {
            (".help", _) => Ok(write!(self.sink, "{HELP}")?),
            (".quit" | ".exit", []) => Err(Failure::Quit),
            (".timer" | ".bail", arguments) => self.switch(name, arguments),
            (".mode" | ".headers" | ".nullvalue" | ".separator", arguments) => {
                self.change_style(name, arguments)
            }
            (".print", words) => Ok(writeln!(self.sink, "{}", words.join(" "))?),
            (".read", [file]) => self.run_file(Path::new(file)),
            (".output", []) => self.print_to(Sink::standard()),
            (".output", [file]) => self.print_to(Sink::file(Path::new(file))?),
            (".once", [file]) if self.sink_later.is_none() => {
                let sink = Sink::file(Path::new(file))?;
                self.sink_later = Some(std::mem::replace(&mut self.sink, sink));
                Ok(())
            }
            (".open", arguments) => self.open_file(arguments),
            (".tables", []) => self.tables(None),
            (".tables", [pattern]) => self.tables(Some(pattern)),
            (".indexes", []) => self.indexes(None),
            (".indexes", [table]) => self.indexes(Some(table)),
            (".schema", []) => self.schema(None),
            (".schema", [name]) => self.schema(Some(name)),
            (".databases", []) => self.databases(),
            (name, _) if names().any(|known| known == name) => Err(wrong_arguments(name)),
            (name, _) => Err(Failure::Message(format!(
                "unknown command {name}; .help lists the commands"
            ))),
        }
    }

    /// Shows or sets what is on or off.
    fn switch(&mut self, name: &str, arguments: &[&str]) -> Result<(), Failure> {
        let switch = match name {
            ".timer" => &mut self.timer,
            _ => &mut self.bail,
        };
        match arguments {
            [] => {
                let state = if *switch { "on" } else { "off" };
                writeln!(self.sink, "{}: {state}", name.trim_start_matches('.'))?;
            }
            [word] => *switch = is_on(word)?,
            _ => return Err(wrong_arguments(name)),
        }
        Ok(())
    }

    /// How results are printed from now on.
    fn change_style(&mut self, name: &str, arguments: &[&str]) -> Result<(), Failure> {
        match (name, arguments) {
            (".mode", []) => writeln!(self.sink, "current output mode: {}", self.style.mode)?,
            (".mode", [mode, table @ ..]) if table.len() < 2 => {
                let mode = mode.parse::<Mode>().map_err(Failure::Message)?;
                if !table.is_empty() && mode != Mode::Insert {
                    return Err(wrong_arguments(name));
                }
                let new = Style::new(mode);
                self.style = Style {
                    headers: self.style.headers,
                    null: std::mem::take(&mut self.style.null),
                    table: table.first().map_or(new.table, |&table| table.to_owned()),
                    ..new
                };
            }
            (".headers", [word]) => self.style.headers = is_on(word)?,
            (".nullvalue", [text]) => self.style.null = (*text).to_owned(),
            (".separator", [between]) => self.style.between = Some(unescaped(between)),
            (".separator", [between, end]) => {
                self.style.between = Some(unescaped(between));
                self.style.end = Some(unescaped(end));
            }
            _ => return Err(wrong_arguments(name)),
        }
        Ok(())
    }

    /// Sends results there from now on; a file that they were sent to is whole.
    pub(crate) fn print_to(&mut self, sink: Sink) -> Result<(), Failure> {
        if let Some(later) = self.sink_later.take() {
            later.finish()?;
        }
        std::mem::replace(&mut self.sink, sink).finish()
    }

    fn open_file(&mut self, arguments: &[&str]) -> Result<(), Failure> {
        let arguments = OpenArguments::try_parse_from(arguments).map_err(|error| {
            Failure::Message(
                error
                    .to_string()
                    .trim_end()
                    .trim_start_matches("error: ")
                    .to_owned(),
            )
        })?;
        let target = Target {
            file: arguments.file,
            key: arguments.key,
            cipher: None,
            read_only: arguments.read_only,
            freshness: arguments.freshness,
        };
        self.open_other(&target)
    }

    fn tables(&mut self, pattern: Option<&str>) -> Result<(), Failure> {
        for row in self.ask("SHOW ALL TABLES")? {
            if let [database, schema, name, ..] = row.as_slice()
                && pattern.is_none_or(|pattern| like(name, pattern))
            {
                writeln!(self.sink, "{}", self.path(database, schema, name))?;
            }
        }
        Ok(())
    }

    /// A name as it must be written to be found: with its database and schema where the bare name would not do.
    fn path(&self, database: &str, schema: &str, name: &str) -> String {
        match (database == self.connection.current_database(), schema) {
            (true, "main") => quoted(name),
            (true, schema) => format!("{}.{}", quoted(schema), quoted(name)),
            (false, "main") => format!("{}.{}", quoted(database), quoted(name)),
            (false, schema) => format!("{}.{}.{}", quoted(database), quoted(schema), quoted(name)),
        }
    }

    fn schema(&mut self, only: Option<&str>) -> Result<(), Failure> {
        for row in self.ask("SHOW ALL TABLES")? {
            let [database, schema, name, stored_columns, ..] = row.as_slice() else {
                continue;
            };
            if only.is_some_and(|only| only != name) {
                continue;
            }
            let path = self.path(database, schema, name);
            let columns = self.ask(&format!(
                "DESCRIBE {}.{}.{}",
                quoted(database),
                quoted(schema),
                quoted(name)
            ))?;
            let columns = columns.iter().filter_map(|column| match column.as_slice() {
                [name, type_name, null, _, default, ..] => {
                    let null = if null == "NO" { " NOT NULL" } else { "" };
                    let default = if default.is_empty() {
                        String::new()
                    } else {
                        format!(" DEFAULT {default}")
                    };
                    Some(format!("{} {type_name}{default}{null}", quoted(name)))
                }
                _ => None,
            });
            let keys = self.ask(&format!(
                "SELECT constraint_name, constraint_text FROM duckdb_constraints() WHERE {} \
                 AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')",
                at(database, schema, name)
            ))?;
            let keys = keys.iter().filter_map(|key| match key.as_slice() {
                [name, text] => Some(format!("CONSTRAINT {} {text}", quoted(name))),
                _ => None,
            });
            let columns = columns.chain(keys).collect::<Vec<_>>().join(", ");
            // A view stores no columns of its own; its query is not told by SHOW.
            if stored_columns.is_empty() {
                writeln!(self.sink, "-- view {path}({columns})")?;
            } else {
                writeln!(self.sink, "CREATE TABLE {path}({columns});")?;
            }
            let indexes = self.ask(&format!(
                "SELECT index_name, expressions FROM duckdb_indexes() WHERE {} AND NOT is_unique",
                at(database, schema, name)
            ))?;
            for index in indexes {
                if let [name, columns] = index.as_slice() {
                    let columns = columns.trim_start_matches('[').trim_end_matches(']');
                    writeln!(
                        self.sink,
                        "CREATE INDEX {} ON {path}({columns});",
                        quoted(name)
                    )?;
                }
            }
        }
        Ok(())
    }

    fn indexes(&mut self, only: Option<&str>) -> Result<(), Failure> {
        let indexes =
            "SELECT database_name, schema_name, index_name, table_name FROM duckdb_indexes()";
        for row in self.ask(indexes)? {
            if let [database, schema, index, table] = row.as_slice()
                && only.is_none_or(|only| only == table)
            {
                writeln!(self.sink, "{}", self.path(database, schema, index))?;
            }
        }
        Ok(())
    }

    fn databases(&mut self) -> Result<(), Failure> {
        let rows = self.ask("SELECT database_name, path FROM duckdb_databases() ORDER BY 1")?;
        let mut table = BoxTable::of_texts(
            &["database", "file"],
            &[false, false],
            rows,
            self.sink.width(),
        );
        table.finish(&mut self.sink)
    }
}

fn is_on(word: &str) -> Result<bool, Failure> {
    match word {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(Failure::Message("say on or off".to_owned())),
    }
}

fn wrong_arguments(name: &str) -> Failure {
    Failure::Message(format!("wrong arguments for {name}; .help shows them"))
}

/// What was typed with `\t`, `\n` and `\r` for the characters that they stand for.
fn unescaped(text: &str) -> String {
    text.replace("\\t", "\t")
        .replace("\\n", "\n")
        .replace("\\r", "\r")
}

/// The condition for rows about one table.
fn at(database: &str, schema: &str, table: &str) -> String {
    let text = |name: &str| format!("'{}'", name.replace('\'', "''"));
    format!(
        "database_name = {} AND schema_name = {} AND table_name = {}",
        text(database),
        text(schema),
        text(table)
    )
}

/// SQL's LIKE without regard to case: `%` is any text, `_` one character.
fn like(name: &str, pattern: &str) -> bool {
    let mut pattern = pattern.chars();
    match pattern.next() {
        None => name.is_empty(),
        Some('%') => {
            let rest = pattern.as_str();
            name.char_indices().any(|(at, _)| like(&name[at..], rest)) || like("", rest)
        }
        Some(wanted) => {
            let mut characters = name.chars();
            let same =
                |found: char| wanted == '_' || wanted.to_lowercase().eq(found.to_lowercase());
            characters.next().is_some_and(same) && like(characters.as_str(), pattern.as_str())
        }
    }
}

/// Words are separated by blanks; quotes of either kind keep blanks together.
fn words(command: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in command.trim().trim_end_matches(';').chars() {
        match quote {
            Some(end) if character == end => quote = None,
            Some(_) => word.get_or_insert_default().push(character),
            None if matches!(character, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            None if character.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(character),
        }
    }
    if quote.is_some() {
        return Err(Failure::Message("a quote is not closed".to_owned()));
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_quotes() {
        let words = words(".open --key-command 'cat my key' \"a b.hush\" '' ;").expect("words");
        assert_eq!(
            words,
            [".open", "--key-command", "cat my key", "a b.hush", ""]
        );
        assert!(super::words(".read 'a").is_err());
    }

    #[test]
    fn patterns() {
        for pattern in ["%", "orders", "ORD%", "%er%", "order_", "o%s"] {
            assert!(like("orders", pattern), "{pattern}");
        }
        for pattern in ["", "order", "%x%", "orders_"] {
            assert!(!like("orders", pattern), "{pattern}");
        }
    }
}
