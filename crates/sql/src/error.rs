//! The library's one error type: a kind that tells the caller what to do, and a sentence for a person.
//!
//! What must hold: no message carries a key, a password or a value.

use crate::error_place;
use crate::error_text::{stripped, without_values};
use crate::error_types::of_cast;
use crate::error_wording::{self, About};
use crate::marks::MERGED;
use crate::sqlstate;
use arrow::error::ArrowError;
use datafusion_common::{Column, DataFusionError, SchemaError, TableReference};
use hushdb_keys::KeyError;
use hushdb_storage::IndexKind;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What went wrong, by what the caller can do about it. The names in messages follow DuckDB's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The SQL text is not well formed.
    Parser,
    /// The statement names something that does not fit: an unknown column, a type that does not match.
    Binder,
    /// A table, view, schema or database does not exist, or exists already.
    Catalog,
    /// A value cannot be converted to the type asked for.
    Conversion,
    /// A number does not fit its type.
    OutOfRange,
    /// A key, NOT NULL or CHECK does not hold; the statement changed nothing, or the transaction if COMMIT says so.
    Constraint,
    /// The key does not open this file.
    WrongKey,
    /// The file is encrypted and no key was given.
    KeyRequired,
    /// The place of the key refuses it, or does not accept who asks.
    KeyRefused,
    /// The place of the key is not available: try again later.
    KeyUnavailable,
    /// A key was given and the file is plain.
    NotEncrypted,
    /// Key text that is not a key.
    MalformedKey,
    /// Something in the file was changed, moved or replayed.
    Tampered,
    /// Something in the file is damaged.
    Corrupted,
    /// Two writers met; run the transaction again.
    Conflict,
    /// The statement does not fit the state of the connection's transaction: roll it back, or begin one.
    Transaction,
    /// Someone else holds the file.
    Busy,
    /// No space left.
    Full,
    /// Memory is too little for a query that cannot do without: raise memory_limit.
    OutOfMemory,
    /// An argument or setting is not valid.
    InvalidInput,
    /// Valid, but this version cannot do it.
    Unsupported,
    /// A sequence has no number to give: it is at its end, or has given none yet.
    Sequence,
    /// The statement was cancelled.
    Interrupted,
    /// The operating system refused to read or write.
    Io,
    /// A defect in HushDB; please report it.
    Internal,
}

impl ErrorKind {
    fn title(self) -> &'static str {
        match self {
            Self::Parser => "Parser Error",
            Self::Binder => "Binder Error",
            Self::Catalog => "Catalog Error",
            Self::Conversion => "Conversion Error",
            Self::OutOfRange => "Out of Range Error",
            Self::Constraint => "Constraint Error",
            Self::WrongKey => "Wrong Key",
            Self::KeyRequired => "Key Required",
            Self::KeyRefused => "Key Refused",
            Self::KeyUnavailable => "Key Unavailable",
            Self::NotEncrypted => "Not Encrypted",
            Self::MalformedKey => "Malformed Key",
            Self::Tampered => "Tampered",
            Self::Corrupted => "Corrupted",
            Self::Conflict => "Conflict",
            Self::Transaction => "TransactionContext Error",
            Self::Busy => "Busy",
            Self::Full => "Full",
            Self::OutOfMemory => "Out of Memory Error",
            Self::InvalidInput => "Invalid Input Error",
            Self::Unsupported => "Not implemented Error",
            Self::Sequence => "Sequence Error",
            Self::Interrupted => "Interrupted",
            Self::Io => "IO Error",
            Self::Internal => "Internal Error",
        }
    }
}

/// An error of the library: `kind()` for programs, `Display` for people.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    /// Where the kind has several.
    sqlstate: Option<&'static str>,
    /// Line and column in the text, where the parser says them.
    place: Option<(u64, u64)>,
    subject: Option<Box<Subject>>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Names of what an error is about, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The table.
    pub table: Option<String>,
    /// Its column.
    pub column: Option<String>,
    /// Its key or CHECK; the text of a CHECK without a name, without its values.
    pub constraint: Option<String>,
}

/// `std::result::Result` with the library's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Makes an error of one kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            sqlstate: None,
            place: None,
            subject: None,
            source: None,
        }
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The five characters of the SQL standard that programs act upon.
    pub fn sqlstate(&self) -> &'static str {
        self.sqlstate
            .unwrap_or_else(|| sqlstate::of_kind(self.kind))
    }

    /// The same error with a SQLSTATE that says more than its kind, one of [`sqlstate`].
    #[must_use]
    pub fn with_sqlstate(mut self, sqlstate: &'static str) -> Self {
        self.sqlstate = Some(sqlstate);
        self
    }

    /// The same error at a line and column of the text, counted from 1.
    #[must_use]
    pub(crate) fn at(mut self, line: u64, column: u64) -> Self {
        self.place = Some((line, column));
        self
    }

    /// The same error with the place in the statement's text that it is about, where that is known: no literal of the text is shown.
    #[must_use]
    pub fn shown_in(mut self, sql: &str) -> Self {
        if matches!(
            self.kind,
            ErrorKind::Parser | ErrorKind::Binder | ErrorKind::Catalog
        ) && let Some(lines) = error_place::shown(&self.message, self.place, sql)
        {
            self.message.push_str(&lines);
        }
        self
    }

    /// The number of the character that the error is about, from 1, in the text of the statement, where that is known.
    pub fn position_in(&self, sql: &str) -> Option<usize> {
        match self.kind {
            ErrorKind::Parser | ErrorKind::Binder | ErrorKind::Catalog => {
                error_place::position(&self.message, self.place, sql)
            }
            _ => None,
        }
    }

    /// Says what the error is about.
    pub fn about(mut self, subject: Subject) -> Self {
        self.subject = Some(Box::new(subject));
        self
    }

    /// What the error is about, where that is known.
    pub fn subject(&self) -> Option<&Subject> {
        self.subject.as_deref()
    }

    /// Whether the transaction that it came up in is aborted: as in DuckDB, not if the statement was never run.
    pub fn aborts(&self) -> bool {
        !matches!(
            self.kind,
            ErrorKind::Parser | ErrorKind::Binder | ErrorKind::Catalog | ErrorKind::Unsupported
        )
    }

    /// The sentence without the kind's title.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// A text that does not read as SQL.
    pub fn parser(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Parser, message)
    }
    /// A name or a type does not fit what there is.
    pub fn binder(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Binder, message)
    }
    /// A table, schema, function or setting is missing, or there already.
    pub fn catalog(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Catalog, message)
    }
    fn constraint(sqlstate: &'static str, message: String) -> Self {
        Self::new(ErrorKind::Constraint, message).with_sqlstate(sqlstate)
    }
    /// A column that takes no NULL was given one.
    pub fn not_null(table: &str, column: &str) -> Self {
        Self::constraint(
            sqlstate::NOT_NULL_VIOLATION,
            format!("NOT NULL constraint failed: {table}.{column}"),
        )
        .about(Subject {
            table: Some(table.to_owned()),
            column: Some(column.to_owned()),
            constraint: None,
        })
    }
    /// A row does not fulfil a CHECK, which is shown without its literals.
    pub fn check(table: &str, name: &str) -> Self {
        Self::constraint(
            sqlstate::CHECK_VIOLATION,
            format!(
                "CHECK constraint failed on table {table} with expression {}",
                without_values(name)
            ),
        )
        .about(Subject {
            table: Some(table.to_owned()),
            column: None,
            constraint: Some(without_values(name)),
        })
    }
    /// A key is there already.
    pub fn duplicate(message: impl Into<String>) -> Self {
        Self::constraint(sqlstate::UNIQUE_VIOLATION, message.into())
    }
    /// ON CONFLICT DO UPDATE would change a row twice.
    pub fn affected_twice() -> Self {
        Self::invalid(
            "ON CONFLICT DO UPDATE can not update the same row twice in the same command: rows proposed for insertion \
             have the same key; insert each key once",
        )
        .with_sqlstate(sqlstate::CARDINALITY_VIOLATION)
    }
    /// A value that cannot be taken.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }
    /// Something that is not there; the message says what to do instead.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }
    /// A statement that does not fit the state of its transaction.
    pub fn transaction(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Transaction, message)
    }
    /// A defect of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }
    /// Someone asked the statement to stop.
    pub fn interrupted() -> Self {
        Self::new(ErrorKind::Interrupted, "the statement was cancelled")
    }
    /// What a panic said may have values in it, and is left out.
    pub fn of_panic() -> Self {
        Self::internal("a part of the statement failed: please report this")
    }
}

/// Does a statement's work; a panic, be it a library's or ours, is its error and goes no further. Locks are given up on the way
/// and never poisoned; what they guard is whole between any two calls of libraries, and a write that was begun is undone
/// by being dropped.
pub fn caught<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(Error::of_panic()))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.title(), self.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e.as_ref() as _)
    }
}

impl From<hushdb_storage::Error> for Error {
    fn from(error: hushdb_storage::Error) -> Self {
        use hushdb_storage::{Error as Damaged, ErrorKind as S};
        let malformed = matches!(
            &error,
            hushdb_storage::Error::KeyUnusable(
                KeyError::Malformed { .. }
                    | KeyError::RecoveryGroup { .. }
                    | KeyError::Empty
                    | KeyError::NotText
            )
        );
        if let hushdb_storage::Error::Duplicate { index, kind } = &error {
            let what = match kind {
                IndexKind::Primary => "primary key",
                _ => "unique",
            };
            return Self::duplicate(format!(
                "Duplicate key violates {what} constraint \"{index}\""
            ))
            .about(Subject {
                constraint: Some(index.clone()),
                ..Subject::default()
            });
        }
        let sqlstate = match error {
            Damaged::ReadOnly => Some(sqlstate::READ_ONLY_TRANSACTION),
            Damaged::Deadlock => Some(sqlstate::DEADLOCK),
            Damaged::LockTimeout => Some(sqlstate::LOCK_NOT_AVAILABLE),
            Damaged::ForeignKey { .. } => Some(sqlstate::FOREIGN_KEY_VIOLATION),
            _ => None,
        };
        let kind = match error.kind() {
            _ if malformed => ErrorKind::MalformedKey,
            S::WrongKey => ErrorKind::WrongKey,
            S::KeyRequired => ErrorKind::KeyRequired,
            S::KeyRefused => ErrorKind::KeyRefused,
            S::KeyUnavailable => ErrorKind::KeyUnavailable,
            S::NotEncrypted => ErrorKind::NotEncrypted,
            S::Tampered => ErrorKind::Tampered,
            S::Corrupted => ErrorKind::Corrupted,
            S::Interrupted => ErrorKind::Interrupted,
            S::Conflict => ErrorKind::Conflict,
            S::Busy => ErrorKind::Busy,
            S::OutOfMemory => ErrorKind::OutOfMemory,
            S::Full => ErrorKind::Full,
            S::InvalidInput => ErrorKind::InvalidInput,
            S::Unsupported => ErrorKind::Unsupported,
            S::Io => ErrorKind::Io,
            S::Constraint => ErrorKind::Constraint,
            _ => ErrorKind::Internal,
        };
        let mut message = without_number(untitled(kind, error.to_string()));
        if kind == ErrorKind::Conflict {
            message.push_str("; nothing of this transaction was committed: run it again");
        }
        if matches!(error, Damaged::BlockDamaged(_) | Damaged::Malformed { .. }) {
            message.push_str(
                "; restore the file from a backup, or have `hush salvage` copy what still opens",
            );
        }
        Self {
            kind,
            message,
            sqlstate,
            place: None,
            subject: None,
            source: Some(Box::new(error)),
        }
    }
}

/// Layers below begin some of their sentences with the kind, which the title says already.
fn untitled(kind: ErrorKind, message: String) -> String {
    let title = kind.title();
    match message.split_at_checked(title.len()) {
        Some((start, rest)) if start.eq_ignore_ascii_case(title) => {
            rest.strip_prefix(": ").map_or(message.clone(), Into::into)
        }
        _ => message,
    }
}

/// Without the system's number of an error, of which the sentence is enough.
fn without_number(message: String) -> String {
    let begins = " (os error ";
    let Some((before, rest)) = message.split_once(begins) else {
        return message;
    };
    match rest.split_once(')') {
        Some((_, behind)) => format!("{before}{behind}"),
        None => message,
    }
}

/// Lets an error of ours travel through DataFusion's streams and come out whole.
impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        DataFusionError::External(Box::new(error))
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        match error {
            ArrowError::ExternalError(inner) => from_boxed(inner),
            ArrowError::IoError(_, inner) => from_io(inner),
            error => {
                let made = Self::new(arrow_kind(&error), arrow_message(&error));
                match sqlstate::of_cast(&error) {
                    Some(sqlstate) => made.with_sqlstate(sqlstate),
                    None => made,
                }
            }
        }
    }
}

/// A spill file's own error travels through writers as one of the operating system.
fn from_io(error: std::io::Error) -> Error {
    match error.downcast::<hushdb_storage::Error>() {
        Ok(ours) => ours.into(),
        Err(error) => Error::new(ErrorKind::Io, without_number(error.to_string())),
    }
}

fn arrow_kind(error: &ArrowError) -> ErrorKind {
    match error {
        ArrowError::ArithmeticOverflow(_) | ArrowError::DivideByZero => ErrorKind::OutOfRange,
        ArrowError::ComputeError(text) if text.contains("overflow") => ErrorKind::OutOfRange,
        ArrowError::CastError(_) | ArrowError::ParseError(_) => ErrorKind::Conversion,
        ArrowError::InvalidArgumentError(text) if text.contains(" to store in a Decimal") => {
            ErrorKind::Conversion
        }
        ArrowError::NotYetImplemented(_) => ErrorKind::Unsupported,
        ArrowError::IoError(..) => ErrorKind::Io,
        _ => ErrorKind::InvalidInput,
    }
}

fn arrow_message(error: &ArrowError) -> String {
    let text = error.to_string();
    let bare = text.split_once(" error: ").map_or(&*text, |(_, rest)| rest);
    match error {
        ArrowError::SchemaError(_) => bare.to_owned(),
        _ => {
            let shown = without_values(bare);
            of_cast(&shown).unwrap_or(shown)
        }
    }
}

fn from_boxed(inner: Box<dyn std::error::Error + Send + Sync>) -> Error {
    let inner = match inner.downcast::<Error>() {
        Ok(ours) => return *ours,
        Err(other) => other,
    };
    match inner.downcast::<DataFusionError>() {
        Ok(df) => Error::from(*df),
        Err(other) if other.to_string().contains("regex parse error") => {
            Error::invalid(without_values(&other.to_string()))
        }
        Err(other) => Error::new(ErrorKind::Internal, without_values(&other.to_string())),
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        use DataFusionError as D;
        match error {
            D::External(inner) => from_boxed(inner),
            D::ArrowError(inner, _) => (*inner).into(),
            D::Context(_, inner) | D::Diagnostic(_, inner) => (*inner).into(),
            D::Shared(inner) => match shared(&inner) {
                Some(error) => error,
                None => Error::new(ErrorKind::Internal, without_values(&inner.to_string())),
            },
            D::Collection(mut all) if !all.is_empty() => all.swap_remove(0).into(),
            D::SQL(inner, _) => Error::parser(inner.to_string().replace("sql parser error: ", "")),
            D::NotImplemented(message) if is_window_in_condition(&message) => {
                Error::binder("WHERE clause cannot contain window functions!")
            }
            D::NotImplemented(message) => Error::unsupported(without_values(&message)),
            D::Plan(message) => {
                let is_catalog =
                    message.contains("does not exist") && message.starts_with("Catalog");
                let mut error = match error_wording::of_plan_error(stripped(&message)) {
                    Some((About::Catalog, text)) => Error::catalog(text),
                    Some((About::Binder, text)) => Error::binder(text),
                    Some((About::Parser, text)) => Error::parser(text),
                    Some((About::Conversion, text)) => Error::new(ErrorKind::Conversion, text),
                    None if is_catalog => Error::catalog(stripped(&message)),
                    None => Error::binder(stripped(&message)),
                };
                error.sqlstate = sqlstate::of_plan_error(&message);
                error
            }
            D::SchemaError(inner, _) if is_merged(&inner) => Error::unsupported(
                "a column that a RIGHT or FULL JOIN with USING has merged is not there yet under a table's name: leave the name out",
            ),
            D::SchemaError(inner, _) => {
                let words = error_wording::of_schema_error(&inner);
                let words = words.unwrap_or_else(|| stripped(&inner.to_string()).to_owned());
                Error::binder(words).with_sqlstate(sqlstate::of_schema_error(&inner))
            }
            D::Configuration(message) => Error::invalid(stripped(&message)),
            // It counts bytes and names operators, whose memory is no value of a row.
            D::ResourcesExhausted(message) => {
                Error::new(ErrorKind::OutOfMemory, stripped(&message))
            }
            D::Execution(message) => Error::new(execution_kind(&message), without_values(&message)),
            D::IoError(inner) => from_io(inner),
            D::ParquetError(inner) => Error::invalid(without_values(&inner.to_string())),
            other => Error::new(ErrorKind::Internal, without_values(&other.to_string())),
        }
    }
}

/// Whether a window function stands where there is no window, which shows when the plan is to be run.
fn is_window_in_condition(message: &str) -> bool {
    message.starts_with("Physical plan does not support logical expression WindowFunction")
}

/// DataFusion's own functions tell by words only.
fn execution_kind(message: &str) -> ErrorKind {
    let lower = message.to_lowercase();
    if lower.contains("overflow") || lower.contains("out of range") {
        ErrorKind::OutOfRange
    } else if lower.contains("cast") || lower.contains("pars") {
        ErrorKind::Conversion
    } else {
        ErrorKind::InvalidInput
    }
}

/// Whether the column of one table is missing since a join has merged it with that of another.
fn is_merged(error: &SchemaError) -> bool {
    let SchemaError::FieldNotFound {
        field,
        valid_fields,
    } = error
    else {
        return false;
    };
    let is_it = |valid: &Column| {
        let of = valid.relation.as_ref().map(TableReference::table);
        of.is_some_and(|of| of.starts_with(MERGED)) && valid.name == field.name
    };
    field.relation.is_some() && valid_fields.iter().any(is_it)
}

/// A shared error cannot be taken apart, so what it says is copied out.
fn shared(error: &DataFusionError) -> Option<Error> {
    let copy = |inner: &(dyn std::error::Error + Send + Sync + 'static)| {
        let ours = inner.downcast_ref::<Error>()?;
        Some(Error {
            sqlstate: ours.sqlstate,
            subject: ours.subject.clone(),
            ..Error::new(ours.kind, ours.message.clone())
        })
    };
    match error.find_root() {
        DataFusionError::External(inner) => copy(inner.as_ref()),
        DataFusionError::ArrowError(inner, _) => match inner.as_ref() {
            ArrowError::ExternalError(inner) => copy(inner.as_ref()),
            other => Some(Error::new(arrow_kind(other), arrow_message(other))),
        },
        DataFusionError::Execution(m) => Some(Error::new(execution_kind(m), without_values(m))),
        DataFusionError::ResourcesExhausted(m) => {
            Some(Error::new(ErrorKind::OutOfMemory, stripped(m)))
        }
        _ => None,
    }
}
