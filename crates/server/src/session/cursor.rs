//! Cursors in SQL: DECLARE, FETCH, MOVE and CLOSE. They go forward only.
//!
//! What must hold: rows are read when they are asked for, so that a cursor keeps no more than the batch it stands in; a cursor ends
//! with its transaction, unless it is WITH HOLD and that was committed.

use super::command::Command;
use super::transaction::Block;
use super::{Fail, Session};
use crate::sql_error::SqlError;
use crate::words::{Kind, Words};
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use hushdb::{PreparedStatement, QueryResult, ResultKind, Value};
use parking_lot::Mutex;
use std::sync::Arc;

const MOST_CURSORS: usize = 100;

/// A query whose rows are asked for one after another.
pub(super) struct Cursor {
    schema: SchemaRef,
    left: Arc<Mutex<Left>>,
    /// WITH HOLD.
    hold: bool,
    /// Its transaction was committed.
    held: bool,
}

/// Rows that were not fetched yet.
struct Left {
    batches: Box<dyn Iterator<Item = hushdb::Result<RecordBatch>> + Send>,
    batch: Option<RecordBatch>,
}

/// The next so many rows of a cursor.
pub(super) struct Fetched {
    left: Arc<Mutex<Left>>,
    rows: u64,
}

impl Iterator for Fetched {
    type Item = hushdb::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut left = self.left.lock();
        while self.rows > 0 {
            let batch = match left.batch.take() {
                Some(batch) => batch,
                None => match left.batches.next()? {
                    Ok(batch) => batch,
                    Err(error) => return Some(Err(error)),
                },
            };
            let wanted = usize::try_from(self.rows).unwrap_or(usize::MAX);
            let taken = batch.num_rows().min(wanted);
            if taken < batch.num_rows() {
                left.batch = Some(batch.slice(taken, batch.num_rows() - taken));
            }
            self.rows -= taken as u64;
            if taken > 0 {
                return Some(Ok(batch.slice(0, taken)));
            }
        }
        None
    }
}

/// DECLARE, behind its first word.
///
/// # Errors
/// 42601, and 0A000 for cursors that go back or are binary.
pub(super) fn declare(sql: &str, words: &mut Words<'_>) -> Result<Command, SqlError> {
    let wrong =
        || SqlError::syntax("DECLARE reads: DECLARE name CURSOR [WITH HOLD] FOR SELECT ...");
    let name = words.name().ok_or_else(wrong)?;
    while !words.take(&["cursor"]) {
        if words.take(&["binary"]) {
            return Err(SqlError::missing("a BINARY cursor"));
        }
        if words.take(&["scroll"]) {
            return Err(SqlError::missing("a SCROLL cursor"));
        }
        let said = [&["no", "scroll"][..], &["insensitive"], &["asensitive"]];
        if !said.iter().any(|said| words.take(said)) {
            return Err(wrong());
        }
    }
    let hold = words.take(&["with", "hold"]);
    let _ = words.take(&["without", "hold"]);
    let first = match words.take(&["for"]) {
        true => words.next().ok_or_else(wrong)?,
        false => return Err(wrong()),
    };
    let reads = match &first.kind {
        Kind::Word(word) => ["select", "values", "with", "table", "from"].contains(&word.as_str()),
        kind => *kind == Kind::Mark('('),
    };
    match sql.get(first.start..) {
        Some(query) if reads => Ok(Command::Declare {
            name,
            query: query.to_owned(),
            hold,
        }),
        _ => Err(wrong()),
    }
}

/// FETCH and MOVE, behind the first word.
///
/// # Errors
/// 42601, and 55000 for what goes back.
pub(super) fn fetch(words: &mut Words<'_>, moves: bool) -> Result<Command, SqlError> {
    let wrong = || SqlError::syntax("FETCH reads: FETCH [n | ALL | FORWARD n] FROM cursor");
    for back in ["prior", "first", "last", "absolute", "relative", "backward"] {
        if words.take(&[back]) || words.mark('-') {
            let error = SqlError::new("55000", "cursor can only scan forward");
            return Err(error.with_hint("FETCH [FORWARD] n and ALL are there"));
        }
    }
    let forward = words.take(&["forward"]);
    let rows = match words.peek() {
        _ if words.take(&["all"]) => u64::MAX,
        _ if !forward && words.take(&["next"]) => 1,
        Some(Kind::Number(number)) => {
            words.next();
            number.parse().map_err(|_| wrong())?
        }
        _ => 1,
    };
    if rows == 0 {
        return Err(SqlError::missing("FETCH 0, which gives the last row again"));
    }
    let _ = words.take(&["from"]) || words.take(&["in"]);
    let name = words.name().ok_or_else(wrong)?;
    match words.is_empty() {
        true => Ok(Command::Fetch { name, rows, moves }),
        false => Err(wrong()),
    }
}

/// CLOSE, behind its first word.
///
/// # Errors
/// 42601.
pub(super) fn close(words: &mut Words<'_>) -> Result<Command, SqlError> {
    let all = words.take(&["all"]);
    let name = (!all).then(|| words.name()).flatten();
    match words.is_empty() && (all || name.is_some()) {
        true => Ok(Command::CloseCursor(name)),
        false => Err(SqlError::syntax("CLOSE takes the name of a cursor, or ALL")),
    }
}

impl Session {
    /// Runs a query whose rows are fetched later.
    pub(super) fn declare_over(
        &mut self,
        name: &str,
        hold: bool,
        query: &PreparedStatement,
        values: &[Value],
    ) -> Result<(), Fail> {
        self.may_declare(name, hold)?;
        if !query.is_query() {
            return Err(SqlError::missing("a cursor over a statement that changes rows").into());
        }
        let result = query.execute(values)?;
        Ok(self.declared(name, hold, result)?)
    }

    /// Whether a cursor may be declared now.
    fn may_declare(&self, name: &str, hold: bool) -> Result<(), SqlError> {
        if self.block == Block::None && !hold {
            let message = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(SqlError::new("25P01", message));
        }
        if self.cursors.contains_key(name) || self.portals.contains_key(name) {
            let message = format!("cursor \"{name}\" already exists");
            return Err(SqlError::new("42P03", message));
        }
        match self.cursors.len() < MOST_CURSORS {
            true => Ok(()),
            false => Err(SqlError::new("54000", "too many cursors: close some")),
        }
    }

    /// Keeps a result to fetch from.
    fn declared(
        &mut self,
        name: &str,
        hold: bool,
        mut result: QueryResult,
    ) -> Result<(), SqlError> {
        if !matches!(result.kind(), ResultKind::Rows) {
            return Err(SqlError::syntax("a cursor is FOR a query"));
        }
        let schema = result.schema();
        let batches = Box::new(std::iter::from_fn(move || result.next()));
        let left = Left {
            batches,
            batch: None,
        };
        let cursor = Cursor {
            schema,
            left: Arc::new(Mutex::new(left)),
            hold,
            held: self.block == Block::None,
        };
        self.cursors.insert(name.to_owned(), cursor);
        Ok(())
    }

    /// The columns that FETCH gives, if there is such a cursor.
    pub(super) fn cursor_columns(&self, name: &str) -> Option<SchemaRef> {
        let cursor = self.cursors.get(name)?;
        Some(cursor.schema.clone())
    }

    /// The next rows of a cursor, with their columns.
    pub(super) fn fetch(&self, name: &str, rows: u64) -> Result<(SchemaRef, Fetched), SqlError> {
        let cursor = self.cursors.get(name).ok_or_else(|| unknown(name))?;
        let left = Arc::clone(&cursor.left);
        Ok((cursor.schema.clone(), Fetched { left, rows }))
    }

    /// Goes over rows; gives how many there were.
    pub(super) fn skip(&self, name: &str, rows: u64) -> Result<u64, Fail> {
        let (_, mut fetched) = self.fetch(name, rows)?;
        fetched.try_fold(0, |sum, batch| Ok(sum + batch?.num_rows() as u64))
    }

    /// CLOSE, of one or of all.
    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<(), SqlError> {
        let Some(name) = name else {
            self.cursors.clear();
            return Ok(());
        };
        match self.cursors.remove(name).is_some() || self.portals.remove(name).is_some() {
            true => Ok(()),
            false => Err(unknown(name)),
        }
    }

    /// A transaction is committed: cursors WITH HOLD go on.
    pub(super) fn hold_cursors(&mut self) {
        for cursor in self.cursors.values_mut() {
            cursor.held |= cursor.hold;
        }
    }

    /// A transaction, or a part of one, is over: its cursors are gone.
    pub(super) fn end_cursors(&mut self) {
        self.cursors.retain(|_, cursor| cursor.held);
    }
}

fn unknown(name: &str) -> SqlError {
    SqlError::new("34000", format!("cursor \"{name}\" does not exist"))
}

#[cfg(test)]
mod tests {
    use super::super::command::{Command, read};

    fn sqlstate(sql: &str) -> String {
        match read(sql) {
            Err(error) => error.sqlstate.to_string(),
            Ok(command) => panic!("{sql}: {command:?}"),
        }
    }

    #[test]
    fn cursors_are_read_as_clients_write_them() {
        let declared = |sql: &str| match read(sql) {
            Ok(Some(Command::Declare { name, query, hold })) => (name, query, hold),
            other => panic!("{sql}: {other:?}"),
        };
        let query = "SELECT 1".to_owned();
        for (sql, name, hold) in [
            ("DECLARE c CURSOR FOR SELECT 1", "c", false),
            (
                "declare \"A b\" no scroll cursor with hold for SELECT 1",
                "A b",
                true,
            ),
            (
                "DECLARE C INSENSITIVE CURSOR WITHOUT HOLD FOR SELECT 1",
                "c",
                false,
            ),
        ] {
            assert_eq!(declared(sql), (name.to_owned(), query.clone(), hold));
        }
        let fetched = |sql: &str| match read(sql) {
            Ok(Some(Command::Fetch { name, rows, moves })) => (name, rows, moves),
            other => panic!("{sql}: {other:?}"),
        };
        for (sql, rows, moves) in [
            ("FETCH c", 1, false),
            ("FETCH NEXT FROM c", 1, false),
            ("FETCH FORWARD 100 FROM \"c\"", 100, false),
            ("FETCH ALL IN c", u64::MAX, false),
            ("MOVE FORWARD ALL FROM c", u64::MAX, true),
            ("fetch 7 c", 7, false),
        ] {
            assert_eq!(fetched(sql), ("c".to_owned(), rows, moves), "{sql}");
        }
        assert!(matches!(
            read("CLOSE ALL"),
            Ok(Some(Command::CloseCursor(None)))
        ));
    }

    #[test]
    fn what_cursors_do_not_do_is_refused_by_name() {
        for (sql, state) in [
            ("DECLARE c SCROLL CURSOR FOR SELECT 1", "0A000"),
            ("DECLARE c BINARY CURSOR FOR SELECT 1", "0A000"),
            ("DECLARE c CURSOR FOR DELETE FROM t", "42601"),
            ("DECLARE c CURSOR FOR", "42601"),
            ("DECLARE c CURSOR SELECT 1", "42601"),
            ("DECLARE", "42601"),
            ("FETCH BACKWARD 1 FROM c", "55000"),
            ("FETCH -1 FROM c", "55000"),
            ("FETCH ABSOLUTE 3 FROM c", "55000"),
            ("FETCH 0 FROM c", "0A000"),
            ("FETCH 99999999999999999999 FROM c", "42601"),
            ("FETCH 1 FROM c d", "42601"),
            ("FETCH", "42601"),
            ("CLOSE", "42601"),
            ("CLOSE a b", "42601"),
        ] {
            assert_eq!(sqlstate(sql), state, "{sql}");
        }
    }
}
