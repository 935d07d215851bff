//! Carrying a command out: by the server itself, or by the engine, whose rows are sent as they come.

use super::command::Command;
use super::cursor::Fetched;
use super::transaction::{Block, failed_block};
use super::{Fail, Session};
use crate::clock;
use crate::sql_error::SqlError;
use crate::wire::back::ColumnHead;
use crate::wire::front::Formats;
use crate::wire::oids;
use crate::wire::row::Rows;
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use hushdb::{Connection, QueryResult, ResultKind};
use std::sync::Arc;
use std::time::Duration;

/// What a command gives.
pub(super) enum Answer {
    /// Rows of the server's own.
    Rows(&'static str, RecordBatch),
    /// The next rows of a cursor, with their columns.
    Fetched(SchemaRef, Fetched),
    /// A tag alone.
    Tag(String),
}

/// The tag of a command that has sent or changed so many rows.
pub(super) fn tag(command: &str, rows: u64) -> String {
    match command {
        "SELECT" | "UPDATE" | "DELETE" | "MERGE" | "COPY" | "FETCH" | "MOVE" => {
            format!("{command} {rows}")
        }
        "INSERT" => format!("INSERT 0 {rows}"),
        // Statements of DuckDB's that give rows.
        "DESCRIBE" | "SUMMARIZE" | "" => format!("SELECT {rows}"),
        other => other.to_owned(),
    }
}

/// One column of text with these rows.
pub(super) fn text_rows(name: &str, values: Vec<String>) -> Result<RecordBatch, SqlError> {
    let schema = Schema::new(vec![Field::new(name, DataType::Utf8, false)]);
    let column: ArrayRef = Arc::new(StringArray::from(values));
    Ok(RecordBatch::try_new(Arc::new(schema), vec![column])?)
}

/// What RowDescription says of columns.
pub(super) fn heads(schema: &SchemaRef) -> Vec<ColumnHead> {
    schema
        .fields()
        .iter()
        .map(|field| oids::head(field))
        .collect()
}

/// Has statements mean what they do in a dialect: in PostgreSQL's NULL is the greatest value, and `/` of whole numbers cuts.
pub(super) fn set_dialect(connection: &Connection, dialect: &str) -> Result<(), SqlError> {
    let nulls = match dialect {
        "duckdb" => "nulls_last",
        _ => "postgres",
    };
    connection.execute(&format!(
        "SET default_null_order = '{nulls}'; SET sql_dialect = '{dialect}'"
    ))?;
    Ok(())
}

impl Session {
    /// Whether a command may run as things are.
    pub(super) fn may_run(&mut self, command: &Command) -> Result<(), SqlError> {
        if self.block == Block::Failed && !command.ends_failure() {
            return Err(failed_block());
        }
        if self.block != Block::None && command.stands_alone() {
            let message = "this statement cannot run inside a transaction block or pipeline";
            return Err(SqlError::new("25001", message));
        }
        if command.defines() {
            self.recent.clear();
        }
        self.is_fresh &= matches!(
            command,
            Command::Begin { .. }
                | Command::Set { .. }
                | Command::SetTransaction { .. }
                | Command::Show(_)
        );
        self.heed_rights(command)
    }

    /// Runs the engine's part of something, under the statement's deadline.
    pub(super) fn timed<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, Fail>,
    ) -> Result<T, Fail> {
        let timeout = self.settings.lock().milliseconds("statement_timeout");
        let timeout = (timeout > 0).then(|| Duration::from_millis(timeout));
        let began = clock::now();
        self.seen.begin(timeout);
        let done = work(self);
        let late = self.seen.end();
        self.server.metrics.statement(began.elapsed());
        match done {
            Err(Fail::Sql(error)) if error.sqlstate == "57014" => {
                let why = if late {
                    "statement timeout"
                } else {
                    "user request"
                };
                let message = format!("canceling statement due to {why}");
                Err(SqlError::new("57014", message).into())
            }
            other => other,
        }
    }

    /// Carries out what is the server's own business; `None` for what is the engine's.
    pub(super) fn of_server(&mut self, command: &Command) -> Result<Option<Answer>, Fail> {
        let done = |tag: &str| Ok(Some(Answer::Tag(tag.into())));
        match command {
            _ if command.is_control() => done(self.control(command)?),
            Command::Set { .. }
            | Command::SetConfig { .. }
            | Command::Reset(_)
            | Command::Show(_) => self.of_settings(command),
            Command::SetTransaction {
                session,
                isolation,
                read_only,
            } => {
                self.set_transaction(*session, *isolation, *read_only)?;
                done("SET")
            }
            Command::Discard(only_temporary) => {
                if self.block != Block::None {
                    return Err(SqlError::new(
                        "25001",
                        "DISCARD cannot run inside a transaction block",
                    )
                    .into());
                }
                self.connection.drop_temporary()?;
                if *only_temporary {
                    return done("DISCARD TEMP");
                }
                self.reset(None)?;
                self.forget_statements();
                self.connection.let_go_of_advisory_locks();
                done("DISCARD ALL")
            }
            Command::Deallocate(None) => {
                self.forget_statements();
                done("DEALLOCATE ALL")
            }
            Command::Deallocate(Some(name)) => {
                if self.statements.remove(name).is_none() {
                    let quoted = name.replace('"', "\"\"");
                    self.connection.run(&format!("DEALLOCATE \"{quoted}\""))?;
                }
                done("DEALLOCATE")
            }
            Command::Declare { .. } | Command::Fetch { .. } | Command::CloseCursor(_) => {
                self.of_cursor(command)
            }
            other => self.of_instance(other),
        }
    }

    fn of_settings(&mut self, command: &Command) -> Result<Option<Answer>, Fail> {
        let done = |tag: &str| Ok(Some(Answer::Tag(tag.into())));
        match command {
            Command::Set { name, value, .. } if self.is_engines(name) => {
                let value = value.as_deref().map(|value| value.replace('\'', "''"));
                self.connection.run(&match value {
                    Some(value) => format!("SET {name} = '{value}'"),
                    None => format!("RESET {name}"),
                })?;
                done("SET")
            }
            Command::Reset(Some(name)) if self.is_engines(name) => {
                self.connection.run(&format!("RESET {name}"))?;
                done("RESET")
            }
            Command::Set { local, name, value } => {
                let changed = self.settings.lock().set(name, value.as_deref(), *local)?;
                self.tell(changed);
                self.apply(name)?;
                done("SET")
            }
            Command::SetConfig { local, name, value } => {
                let changed = self.settings.lock().set(name, Some(value), *local)?;
                self.tell(changed);
                self.apply(name)?;
                let value = self.settings.lock().shown(name).unwrap_or_default();
                let rows = text_rows("set_config", vec![value])?;
                Ok(Some(Answer::Rows("SELECT 1", rows)))
            }
            Command::Reset(name) => {
                self.reset(name.as_deref())?;
                done("RESET")
            }
            Command::Show(name) => {
                let value = self.settings.lock().shown(name).unwrap_or_default();
                Ok(Some(Answer::Rows("SHOW", text_rows(name, vec![value])?)))
            }
            _ => Ok(None),
        }
    }

    /// Whether a setting is the engine's alone, which those who speak its dialect may set.
    fn is_engines(&self, name: &str) -> bool {
        let is_name = name
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        let settings = self.settings.lock();
        is_name
            && !super::settings::is_known(name)
            && settings.value("sql_dialect") == Some("duckdb")
    }

    fn of_cursor(&mut self, command: &Command) -> Result<Option<Answer>, Fail> {
        let done = |tag: &str| Ok(Some(Answer::Tag(tag.into())));
        match command {
            Command::Declare { name, query, hold } => {
                let statement = self.connection.prepare(query)?;
                self.declare_over(name, *hold, &statement, &[])?;
                done("DECLARE CURSOR")
            }
            Command::Fetch { name, rows, moves } => match moves {
                true => done(&tag("MOVE", self.skip(name, *rows)?)),
                false => {
                    let (schema, fetched) = self.fetch(name, *rows)?;
                    Ok(Some(Answer::Fetched(schema, fetched)))
                }
            },
            Command::CloseCursor(name) => {
                self.close_cursor(name.as_deref())?;
                done(match name {
                    Some(_) => "CLOSE CURSOR",
                    None => "CLOSE CURSOR ALL",
                })
            }
            _ => Ok(None),
        }
    }

    /// What databases, roles and tables of the session's own are asked.
    fn of_instance(&mut self, command: &Command) -> Result<Option<Answer>, Fail> {
        let done = |tag: &str| Ok(Some(Answer::Tag(tag.into())));
        match command {
            Command::CreateDatabase { name, owner } => {
                self.create_database(name, owner.as_deref())?;
                done("CREATE DATABASE")
            }
            Command::DropDatabase { name, if_exists } => {
                self.drop_database(name, *if_exists)?;
                done("DROP DATABASE")
            }
            Command::AlterDatabase { name, change } => {
                self.alter_database(name, change)?;
                done("ALTER DATABASE")
            }
            Command::CreateRole(role) => {
                self.change_role(role, true)?;
                done("CREATE ROLE")
            }
            Command::AlterRole(role) => {
                self.change_role(role, false)?;
                done("ALTER ROLE")
            }
            Command::DropRole { names, if_exists } => {
                self.drop_roles(names, *if_exists)?;
                done("DROP ROLE")
            }
            Command::OwnerTo(role) => {
                self.owner_to(role)?;
                done("ALTER TABLE")
            }
            Command::Nothing { tag } => done(tag),
            Command::DropSeveral { what, tag, names } => {
                self.begin_implicit()?;
                for name in names {
                    let name = super::command::quoted(name).join(".");
                    self.connection.run(&format!("DROP {what} {name}"))?;
                }
                done(tag)
            }
            Command::Truncate { tables, restart } => {
                self.truncate(tables, *restart)?;
                done("TRUNCATE TABLE")
            }
            Command::CopyIn(copy) => {
                let rows = self.copy_in(copy)?;
                done(&tag("COPY", rows))
            }
            Command::CopyOut(copy) => {
                let rows = self.copy_out(copy)?;
                done(&tag("COPY", rows))
            }
            _ => Ok(None),
        }
    }

    /// Sequences begin anew at once, which no ROLLBACK takes back: so not within a block, where the rows might come back.
    fn truncate(&mut self, tables: &[Vec<String>], restart: bool) -> Result<(), Fail> {
        if restart && self.block != Block::None {
            let missing = SqlError::missing("TRUNCATE ... RESTART IDENTITY in a transaction block");
            let hint = "TRUNCATE there, and ALTER SEQUENCE ... RESTART behind COMMIT";
            return Err(missing.with_hint(hint).into());
        }
        self.begin_implicit()?;
        for table in tables {
            let name = super::command::quoted(table).join(".");
            self.connection.run(&format!("TRUNCATE TABLE {name}"))?;
        }
        if !restart {
            return Ok(());
        }
        self.end_implicit()?;
        for table in tables {
            let name = super::command::quoted(table).join(".").replace('\'', "''");
            let sql = format!(
                "SELECT pg_get_serial_sequence('{name}', attname) FROM pg_catalog.pg_attribute
                 WHERE attrelid = '{name}'::regclass AND pg_get_serial_sequence('{name}', attname) IS NOT NULL"
            );
            for batch in self.connection.run(&sql)? {
                let batch = batch?;
                let sequences = batch.column(0);
                for row in 0..batch.num_rows() {
                    if let Some(sequence) = hushdb::value_text(sequences, row)? {
                        self.connection
                            .run(&format!("ALTER SEQUENCE {sequence} RESTART"))?;
                    }
                }
            }
        }
        Ok(())
    }

    fn reset(&mut self, name: Option<&str>) -> Result<(), SqlError> {
        let changed = match name {
            None => self.settings.lock().reset_all(),
            Some(name) => self
                .settings
                .lock()
                .set(name, None, false)?
                .into_iter()
                .collect(),
        };
        self.tell(changed);
        for engines in [
            "search_path",
            "lock_timeout",
            "default_transaction_isolation",
            "sql_dialect",
            "TimeZone",
        ] {
            self.apply(engines)?;
        }
        Ok(())
    }

    fn forget_statements(&mut self) {
        self.statements.clear();
        self.portals.clear();
        self.cursors.clear();
        self.recent.clear();
        self.kept_bytes = 0;
    }

    /// Has the engine heed a setting that it has too.
    pub(super) fn apply(&mut self, name: &str) -> Result<(), SqlError> {
        for engines in ["lock_timeout", "default_transaction_isolation", "TimeZone"] {
            if name.eq_ignore_ascii_case(engines) {
                let value = self.settings.lock().get(engines).unwrap_or_default();
                self.connection.run(&format!("SET {engines} = '{value}'"))?;
            }
        }
        if name.eq_ignore_ascii_case("sql_dialect") {
            let value = self.settings.lock().get(name).unwrap_or_default();
            self.recent.clear();
            return set_dialect(&self.connection, &value);
        }
        if name.eq_ignore_ascii_case("search_path") {
            self.apply_path()?;
        }
        Ok(())
    }

    /// Begins in the first schema of the path that there is.
    fn apply_path(&mut self) -> Result<(), SqlError> {
        let path = self.settings.lock().get("search_path").unwrap_or_default();
        let schemas = path
            .split(',')
            .map(|part| part.trim().trim_matches('"').replace("\"\"", "\""));
        let wanted =
            schemas.filter(|schema| !matches!(schema.as_str(), "" | "$user" | "pg_catalog"));
        let wanted: Vec<String> = wanted.collect();
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let database = quoted(&self.database);
        let mut candidates = wanted
            .iter()
            .map(String::as_str)
            .chain([crate::instance::PUBLIC]);
        let found = candidates.find(|schema| {
            self.connection
                .run(&format!("USE {database}.{}", quoted(schema)))
                .is_ok()
        });
        self.recent.clear();
        if wanted.len() > 1 && found.is_some() {
            let notice = "search_path: the first schema that there is is looked in, and no other";
            self.talk.report("NOTICE", &SqlError::new("00000", notice));
        }
        Ok(())
    }

    /// Sends rows of a batch from one of them on, at most so many; gives how many.
    pub(super) fn send_rows(
        &mut self,
        rows: &Rows,
        from: usize,
        most: usize,
        formats: &Formats,
    ) -> Result<usize, Fail> {
        let end = rows.len().min(from.saturating_add(most));
        for row in from..end {
            self.talk.out.row(rows, row, formats)?;
            self.talk.flush_full().map_err(Fail::End)?;
        }
        Ok(end - from)
    }

    /// Sends a result of the simple protocol: its columns, its rows in text, its tag.
    pub(super) fn send_result(&mut self, mut result: QueryResult) -> Result<(), Fail> {
        let command = result.command();
        let count = match result.kind() {
            ResultKind::Rows => {
                let heads = heads(&result.schema());
                self.talk.out.row_description(&heads, |_| false);
                let mut count = 0;
                let texts = Formats::default();
                for batch in &mut result {
                    let rows = Rows::new(&batch?)?.with_vectors(&heads, &texts)?;
                    count += self.send_rows(&rows, 0, usize::MAX, &texts)? as u64;
                }
                count
            }
            ResultKind::Count(rows) => rows,
            ResultKind::Done => 0,
        };
        self.notices();
        let tag = match result.kind() {
            ResultKind::Done if command.is_empty() => "OK".to_owned(),
            _ => tag(command, count),
        };
        self.talk.out.complete(&tag);
        Ok(())
    }
}
