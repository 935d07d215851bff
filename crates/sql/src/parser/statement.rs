//! `Statement`: what a text is parsed to.

use super::super::rewrite::finish;
use crate::error::{Error, Result};
use datafusion::sql::sqlparser::ast::{self, ObjectName, VisitMut, VisitorMut};
use hushdb_crypto::SecretBytes;
use std::fmt;
use std::sync::Arc;

/// One statement.
#[derive(Clone)]
pub(crate) enum Statement {
    /// Queries, DML and DDL.
    Sql(Box<ast::Statement>),
    /// `INSERT INTO t BY NAME query`.
    InsertByName(Box<ast::Insert>),
    Attach {
        path: String,
        name: Option<String>,
        on_conflict: OnConflict,
        options: Vec<AttachOption>,
    },
    Detach {
        name: String,
        if_exists: bool,
    },
    /// `PREPARE name AS`, of a statement that sqlparser does not know.
    Prepare {
        name: String,
        statement: Box<Statement>,
    },
    Use(Vec<String>),
    /// `CALL f(args)` and `PRAGMA f(args)`.
    Call {
        name: String,
        args: Vec<ast::Expr>,
        named: Vec<(String, ast::Expr)>,
    },
    /// `PRAGMA name`.
    Pragma(String),
    Set {
        name: String,
        value: Box<ast::Expr>,
    },
    Reset(String),
    CopyFrom {
        table: ObjectName,
        columns: Vec<String>,
        path: String,
        options: Vec<(String, OptionValue)>,
    },
    CopyTo {
        what: CopyTarget,
        path: String,
        options: Vec<(String, OptionValue)>,
    },
    /// `COPY FROM DATABASE a TO b`.
    CopyDatabase {
        from: String,
        to: String,
        parts: DatabaseParts,
    },
    ExportDatabase {
        /// The current one when not named.
        database: Option<String>,
        directory: String,
        options: Vec<(String, OptionValue)>,
    },
    /// `IMPORT DATABASE 'directory'`.
    ImportDatabase(String),
    Describe(Box<ast::Query>),
    Summarize(Box<ast::Query>),
    /// `SHOW TABLES [FROM x]`, `SHOW ALL TABLES`.
    ShowTables {
        from: Option<Vec<String>>,
        all: bool,
    },
    ShowDatabases,
    ShowSchemas,
    /// `SHOW setting`.
    Show(String),
    /// `CHECKPOINT [database]`.
    Checkpoint(Option<String>),
    /// `VACUUM [ANALYZE] [table]`.
    Vacuum(Option<ObjectName>),
    Transaction(TransactionStatement),
    /// `INSTALL x`, `LOAD x`.
    Extension(String),
    /// Known, and not there yet; the text says what to do instead.
    NotYet(&'static str),
}

impl Statement {
    /// Whether it leaves a transaction, or a part of it, behind; only such a statement runs after an error in one.
    pub(crate) fn ends_transaction(&self) -> bool {
        use TransactionStatement as T;
        matches!(
            self,
            Self::Transaction(T::Commit | T::Rollback | T::RollbackTo(_))
        )
    }
}

impl Statement {
    /// Visits all parsed SQL in it.
    ///
    /// # Errors
    /// The one that the visitor broke off with.
    pub(crate) fn visit(
        &mut self,
        visitor: &mut impl VisitorMut<Break = Box<Error>>,
    ) -> Result<()> {
        match self {
            Self::Sql(statement) => finish(VisitMut::visit(statement.as_mut(), visitor)),
            Self::InsertByName(insert) => finish(VisitMut::visit(insert.as_mut(), visitor)),
            Self::Prepare { statement, .. } => statement.visit(visitor),
            Self::CopyTo {
                what: CopyTarget::Query(query),
                ..
            }
            | Self::Describe(query)
            | Self::Summarize(query) => finish(VisitMut::visit(query.as_mut(), visitor)),
            Self::Set { value, .. } => finish(VisitMut::visit(value.as_mut(), visitor)),
            Self::Call { args, named, .. } => {
                let named = named.iter_mut().map(|(_, value)| value);
                let mut all = args.iter_mut().chain(named);
                all.try_for_each(|arg| finish(VisitMut::visit(arg, visitor)))
            }
            Self::Attach { options, .. } => {
                let values = options.iter_mut();
                let mut values = values.filter_map(|option| option.value.as_mut());
                values.try_for_each(|value| finish(VisitMut::visit(value, visitor)))
            }
            _ => Ok(()),
        }
    }
}

/// A statement about the connection's transaction.
#[derive(Clone)]
pub(crate) enum TransactionStatement {
    Begin { read_only: bool },
    Commit,
    Rollback,
    Savepoint(String),
    RollbackTo(String),
    Release(String),
}

/// What COPY FROM DATABASE copies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DatabaseParts {
    All,
    /// Definitions alone.
    Schema,
    /// Rows alone, into tables that are there.
    Data,
}

/// What COPY ... TO writes.
#[derive(Clone)]
pub(crate) enum CopyTarget {
    Query(Box<ast::Query>),
    Table(ObjectName, Vec<ast::Ident>),
}

/// A value in an option list.
#[derive(Clone, PartialEq)]
pub(crate) enum OptionValue {
    /// The option stands alone.
    None,
    Text(String),
    List(Vec<String>),
    /// Names with texts, in the order in which they are given.
    Pairs(Vec<(String, String)>),
}

/// What ATTACH does when a database of the name is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnConflict {
    Fail,
    /// IF NOT EXISTS.
    Keep,
    /// OR REPLACE.
    Replace,
}

/// An option of ATTACH. Its value may say where a key is, so it has no Debug output.
#[derive(Clone)]
pub(crate) struct AttachOption {
    pub(crate) name: String,
    /// A text, or a parameter that stands for one.
    pub(crate) value: Option<ast::Expr>,
    /// What was taken out of the text before it was read, instead of a value.
    pub(crate) secret: Option<Arc<SecretBytes>>,
}

impl fmt::Debug for AttachOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttachOption({})", self.name)
    }
}
