//! The extended protocol: statements that are prepared, bound and executed in steps, and portals that are read in pieces.
//!
//! What must hold: a result has the types that were described; what a session keeps is bounded.

use super::command::{self, Command};
use super::execute::{Answer, heads, tag};
use super::transaction::{Block, failed_block};
use super::{Fail, Session};
use crate::sql_error::SqlError;
use crate::violation::Violation;
use crate::wire::back::ColumnHead;
use crate::wire::front::{Bind, Format, Formats, Front, Named};
use crate::wire::oids;
use crate::wire::parameter;
use crate::wire::row::Rows;
use arrow::array::RecordBatch;
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::SchemaRef;
use hushdb::{PreparedStatement, QueryResult, ResultKind, Value, split_statements};
use std::sync::Arc;

const MOST_STATEMENTS: usize = 1_000;
const MOST_PORTALS: usize = 100;
const MOST_KEPT_BYTES: usize = 16 << 20;
/// Texts of which is remembered what they take and give.
const MOST_RECENT: usize = 100;

/// A statement and what is known of it.
pub(super) struct Prepared {
    /// `None` for a text without a word.
    command: Option<Command>,
    /// The engine's part.
    statement: Option<PreparedStatement>,
    parameters: Vec<u32>,
    columns: Option<(SchemaRef, Vec<ColumnHead>)>,
    bytes: usize,
}

/// A statement with its values, and how far it was read.
pub(super) struct Portal {
    prepared: Arc<Prepared>,
    values: Vec<Value>,
    results: Formats,
    state: State,
}

enum State {
    /// It was not executed yet.
    Bound,
    /// Rows are left.
    Reading(Reading),
    /// It is done, and was so with this tag.
    Done(String),
}

struct Reading {
    batches: Box<dyn Iterator<Item = hushdb::Result<RecordBatch>> + Send>,
    /// The batch that is being sent, and its next row.
    current: Option<(Rows, usize)>,
    sent: u64,
    command: String,
}

impl Session {
    /// Any message of the extended protocol but Sync and Flush.
    pub(super) fn extended(&mut self, front: Front) -> Result<(), Fail> {
        match front {
            Front::Parse { name, sql, types } => self.parse(name, sql, types),
            Front::Bind(bind) => self.bind(bind),
            Front::Describe(Named::Statement(name)) => self.describe_statement(&name),
            Front::Describe(Named::Portal(name)) => self.describe_portal(&name),
            Front::Execute { portal, most } => self.execute(&portal, most),
            Front::Close(named) => {
                match named {
                    Named::Statement(name) => self.close_statement(&name),
                    Named::Portal(name) => drop(self.portals.remove(&name)),
                }
                self.talk.out.bare(b'3');
                Ok(())
            }
            Front::FunctionCall => Err(SqlError::missing("the function call message").into()),
            _ => Err(Fail::End(super::End::Violation(Violation::new(
                "this message may not come now",
            )))),
        }
    }

    fn close_statement(&mut self, name: &str) {
        if let Some(closed) = self.statements.remove(name) {
            self.kept_bytes = self.kept_bytes.saturating_sub(closed.bytes);
        }
    }

    fn parse(&mut self, name: String, sql: String, types: Vec<u32>) -> Result<(), Fail> {
        let is_named = !name.is_empty();
        if is_named && self.statements.contains_key(&name) {
            let message = format!("prepared statement \"{name}\" already exists");
            return Err(SqlError::new("42P05", message).into());
        }
        let bytes = sql.len();
        if is_named
            && (self.statements.len() >= MOST_STATEMENTS
                || self.kept_bytes + bytes > MOST_KEPT_BYTES)
        {
            return Err(SqlError::new("54000", "too many prepared statements: close some").into());
        }
        self.close_statement(&name);
        let key = (sql, types);
        let definitions = self.connection.definitions()?;
        if definitions != self.recent_definitions {
            self.recent.clear();
            self.recent_definitions = definitions;
        }
        let known = match self.block {
            Block::Failed => None,
            _ => self.recent.get(&key).cloned(),
        };
        let prepared = match known {
            Some(known) => known,
            None => {
                let prepared = Arc::new(self.prepare(&key.0, &key.1)?);
                if self.recent.len() >= MOST_RECENT {
                    self.recent.clear();
                }
                // Cursors and statements of one name may have other columns every time, and a snapshot of its own another catalog.
                let is_fleeting = prepared.command.as_ref().is_some_and(|command| {
                    matches!(command, Command::Fetch { .. }) || command.begins_with(&["execute"])
                });
                if !is_fleeting && self.sees_the_newest() {
                    self.recent.insert(key, Arc::clone(&prepared));
                }
                prepared
            }
        };
        self.kept_bytes += prepared.bytes;
        self.statements.insert(name, prepared);
        self.talk.out.bare(b'1');
        Ok(())
    }

    fn prepare(&mut self, text: &str, types: &[u32]) -> Result<Prepared, Fail> {
        let split = split_statements(text);
        let rest = (!split.rest.is_empty()).then_some(split.rest);
        let mut statements = split.statements.into_iter().chain(rest);
        let (first, more) = (statements.next(), statements.next());
        if more.is_some() {
            return Err(SqlError::syntax(
                "cannot insert multiple commands into a prepared statement",
            )
            .into());
        }
        let command = first.map(command::read).transpose()?.flatten();
        if self.block == Block::Failed && !command.as_ref().is_some_and(Command::ends_failure) {
            return Err(failed_block().into());
        }
        let mut prepared = Prepared {
            statement: None,
            parameters: vec![],
            columns: None,
            bytes: text.len(),
            command,
        };
        match &prepared.command {
            Some(command @ (Command::Engine { sql, .. } | Command::Declare { query: sql, .. })) => {
                let own = first.filter(|own| own == sql);
                let placed = |error| SqlError::placed(error, sql).within(text, own);
                let statement = self.connection.prepare(sql).map_err(placed)?;
                let given: Vec<_> = types.iter().map(|oid| oids::column_type(*oid)).collect();
                let described =
                    self.timed(|_| Ok(statement.describe(&given).map_err(placed)?))?;
                let found = described.parameters.iter().map(oids::of_column);
                prepared.parameters = found
                    .enumerate()
                    .map(|(at, found)| match types.get(at) {
                        Some(0 | &oids::UNKNOWN) | None => found,
                        Some(given) => *given,
                    })
                    .collect();
                let gives_rows = matches!(command, Command::Engine { .. });
                let columns = described.columns.filter(|_| gives_rows);
                prepared.columns = columns.map(with_heads);
                prepared.statement = Some(statement);
            }
            Some(Command::SetConfig { .. }) => {
                let schema = super::execute::text_rows("set_config", vec![])?.schema();
                prepared.columns = Some(with_heads(schema));
            }
            Some(Command::Show(name)) => {
                let schema = super::execute::text_rows(name, vec![])?.schema();
                prepared.columns = Some(with_heads(schema));
            }
            Some(Command::Fetch { name, moves, .. }) if !moves => {
                prepared.columns = self.cursor_columns(name).map(with_heads);
            }
            _ => {}
        }
        Ok(prepared)
    }

    fn bind(&mut self, bind: Bind) -> Result<(), Fail> {
        let prepared = self.statement(&bind.statement)?;
        if self.block == Block::Failed
            && !prepared.command.as_ref().is_some_and(Command::ends_failure)
        {
            return Err(failed_block().into());
        }
        if bind.values.len() != prepared.parameters.len() {
            let message = format!(
                "bind message supplies {} parameters, but the prepared statement requires {}",
                bind.values.len(),
                prepared.parameters.len()
            );
            return Err(SqlError::new("08P01", message).into());
        }
        let columns = prepared
            .columns
            .as_ref()
            .map_or(0, |(_, heads)| heads.len());
        if !bind.results.fit(columns) {
            let message =
                "bind message has another number of result formats than the query of columns";
            return Err(SqlError::new("08P01", message).into());
        }
        if !bind.portal.is_empty() && self.portals.contains_key(&bind.portal) {
            let message = format!("cursor \"{}\" already exists", bind.portal);
            return Err(SqlError::new("42P03", message).into());
        }
        if self.portals.len() >= MOST_PORTALS && !self.portals.contains_key(&bind.portal) {
            return Err(SqlError::new("54000", "too many portals: close some").into());
        }
        let zone = self.settings.lock().time_zone();
        let values = prepared.parameters.iter().zip(&bind.values).enumerate();
        let values = values.map(|(at, (oid, value))| {
            let read = parameter::read(*oid, bind.formats.of(at), value.as_deref());
            let read = read.and_then(|value| parameter::in_zone(*oid, value, zone));
            read.map_err(|(sqlstate, message)| {
                SqlError::new(sqlstate, message).with_context(format!("parameter ${}", at + 1))
            })
        });
        let portal = Portal {
            values: values.collect::<Result<_, _>>()?,
            results: bind.results,
            prepared,
            state: State::Bound,
        };
        self.portals.insert(bind.portal, portal);
        self.talk.out.bare(b'2');
        Ok(())
    }

    fn statement(&self, name: &str) -> Result<Arc<Prepared>, SqlError> {
        let statement = self.statements.get(name).cloned();
        statement.ok_or_else(|| {
            SqlError::new(
                "26000",
                format!("prepared statement \"{name}\" does not exist"),
            )
        })
    }

    fn describe_statement(&mut self, name: &str) -> Result<(), Fail> {
        let prepared = self.statement(name)?;
        self.talk.out.parameter_description(&prepared.parameters);
        self.describe_columns(&prepared, &Formats::default());
        Ok(())
    }

    fn describe_portal(&mut self, name: &str) -> Result<(), Fail> {
        if let Some(schema) = self.cursor_columns(name) {
            self.talk.out.row_description(&heads(&schema), |_| false);
            return Ok(());
        }
        let portal = self.portals.get(name).ok_or_else(|| unknown_portal(name))?;
        let (prepared, results) = (Arc::clone(&portal.prepared), portal.results.clone());
        self.describe_columns(&prepared, &results);
        Ok(())
    }

    fn describe_columns(&mut self, prepared: &Prepared, results: &Formats) {
        match &prepared.columns {
            None => self.talk.out.bare(b'n'),
            Some((_, heads)) => {
                let is_binary = |at| results.of(at) == Format::Binary;
                self.talk.out.row_description(heads, is_binary);
            }
        }
    }

    fn execute(&mut self, name: &str, most: u32) -> Result<(), Fail> {
        // Whoever reads a portal has it; it comes back if it may be read on.
        let portal = self.portals.remove(name);
        let mut portal = portal.ok_or_else(|| unknown_portal(name))?;
        let prepared = Arc::clone(&portal.prepared);
        let Some(command) = &prepared.command else {
            self.talk.out.bare(b'I');
            self.portals.insert(name.to_owned(), portal);
            return Ok(());
        };
        self.may_run(command)?;
        let alone = self.talk.frames.next_kind() == Some(b'S');
        // A pipeline is one transaction up to its Sync.
        if !alone && !command.is_control() && !command.stands_alone() {
            self.begin_implicit()?;
        }
        let done = self.timed(|session| session.advance(&mut portal, command, most));
        if done.is_err() {
            self.recent.clear();
        }
        done?;
        // What ends a transaction ends its portals.
        if !command.is_control() {
            self.portals.insert(name.to_owned(), portal);
        }
        Ok(())
    }

    /// Runs a portal if it was not yet, and sends what is asked for of it.
    fn advance(&mut self, portal: &mut Portal, command: &Command, most: u32) -> Result<(), Fail> {
        if let State::Bound = portal.state {
            portal.state = self.open(portal, command)?;
        }
        let most = if most == 0 { usize::MAX } else { most as usize };
        let complete = match &mut portal.state {
            State::Bound => None,
            State::Done(tag) => Some(tag.clone()),
            State::Reading(reading) => {
                let described = portal.prepared.columns.as_ref();
                let ended = self.read(reading, described, &portal.results, most)?;
                ended.then(|| tag(&reading.command, reading.sent))
            }
        };
        self.notices();
        match complete {
            None => self.talk.out.bare(b's'),
            Some(tag) => {
                self.talk.out.complete(&tag);
                let ended = match portal.prepared.columns {
                    Some(_) => super::execute::tag(tag.split(' ').next().unwrap_or_default(), 0),
                    None => tag,
                };
                portal.state = State::Done(ended);
            }
        }
        Ok(())
    }

    fn open(&mut self, portal: &Portal, command: &Command) -> Result<State, Fail> {
        if let (Some(statement), Command::Declare { name, hold, .. }) =
            (&portal.prepared.statement, command)
        {
            self.declare_over(name, *hold, statement, &portal.values)?;
            return Ok(State::Done("DECLARE CURSOR".to_owned()));
        }
        if let Some(answer) = self.of_server(command)? {
            return Ok(match answer {
                Answer::Fetched(_, fetched) => State::Reading(Reading {
                    batches: Box::new(fetched),
                    current: None,
                    sent: 0,
                    command: "FETCH".to_owned(),
                }),
                Answer::Tag(tag) => State::Done(tag),
                Answer::Rows(command, batch) => State::Reading(Reading {
                    batches: Box::new(std::iter::once(Ok(batch))),
                    current: None,
                    sent: 0,
                    command: command.to_owned(),
                }),
            });
        }
        let (Some(statement), Command::Engine { notice, .. }) =
            (&portal.prepared.statement, command)
        else {
            return Err(SqlError::missing("this statement").into());
        };
        if let Some(notice) = notice {
            self.talk.report("NOTICE", &SqlError::new("00000", *notice));
        }
        Ok(of_result(statement.execute(&portal.values)?))
    }

    /// Whether statements see what is committed, rather than a state of their transaction.
    fn sees_the_newest(&self) -> bool {
        let settings = self.settings.lock();
        self.block == Block::None
            || settings.value("transaction_isolation") != Some("repeatable read")
    }

    /// Sends rows; says whether there are no more.
    fn read(
        &mut self,
        reading: &mut Reading,
        described: Option<&(SchemaRef, Vec<ColumnHead>)>,
        formats: &Formats,
        most: usize,
    ) -> Result<bool, Fail> {
        let mut left = most;
        loop {
            if let Some((rows, at)) = &mut reading.current {
                let sent = self.send_rows(rows, *at, left, formats)?;
                (*at, left) = (*at + sent, left - sent);
                reading.sent += sent as u64;
                if *at < rows.len() {
                    return Ok(false);
                }
                reading.current = None;
            }
            let Some(batch) = reading.batches.next() else {
                return Ok(true);
            };
            let (schema, heads) = described.ok_or_else(other_columns)?;
            let rows = Rows::new(&as_described(batch?, schema)?)?;
            let rows = rows.told(heads)?.with_vectors(heads, formats)?;
            reading.current = Some((rows, 0));
        }
    }
}

fn with_heads(schema: SchemaRef) -> (SchemaRef, Vec<ColumnHead>) {
    let heads = heads(&schema);
    (schema, heads)
}

fn unknown_portal(name: &str) -> SqlError {
    SqlError::new("34000", format!("portal \"{name}\" does not exist"))
}

fn of_result(mut result: QueryResult) -> State {
    let command = result.command().to_owned();
    match result.kind() {
        ResultKind::Rows => State::Reading(Reading {
            batches: Box::new(std::iter::from_fn(move || result.next())),
            current: None,
            sent: 0,
            command,
        }),
        ResultKind::Count(rows) => State::Done(tag(&command, rows)),
        ResultKind::Done if command.is_empty() => State::Done("OK".into()),
        ResultKind::Done => State::Done(tag(&command, 0)),
    }
}

fn other_columns() -> SqlError {
    SqlError::new("0A000", "cached plan must not change result type")
}

/// A batch with the types that the client was told.
fn as_described(batch: RecordBatch, described: &SchemaRef) -> Result<RecordBatch, SqlError> {
    let changed = other_columns;
    if described.fields().len() != batch.num_columns() {
        return Err(changed());
    }
    let is_same = |(field, column): (&Arc<arrow::datatypes::Field>, &arrow::array::ArrayRef)| {
        oids::of(field.data_type()) == oids::of(column.data_type())
    };
    if described.fields().iter().zip(batch.columns()).all(is_same) {
        return Ok(batch);
    }
    let columns = described.fields().iter().zip(batch.columns());
    // A value that does not fit is no NULL.
    let strict = CastOptions {
        safe: false,
        ..CastOptions::default()
    };
    let columns =
        columns.map(|(field, column)| cast_with_options(column, field.data_type(), &strict));
    let columns = columns
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| changed())?;
    let fields = described.fields().iter().zip(&columns);
    let fields = fields.map(|(field, column)| {
        let field = field.as_ref().clone().with_nullable(true);
        field.with_data_type(column.data_type().clone())
    });
    let schema = arrow::datatypes::Schema::new(fields.collect::<Vec<_>>());
    Ok(RecordBatch::try_new(Arc::new(schema), columns)?)
}
