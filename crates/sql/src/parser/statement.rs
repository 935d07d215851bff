//! `Statement`: what a text is parsed to.

use super::super::walk::finish;
use super::merge_statement::Merge;
use crate::error::{Error, Result};
use crate::walk::visit_mut;
use hushdb_crypto::SecretBytes;
use hushdb_storage::SequenceOptions;
use sqlparser::ast::{self, ObjectName, SetExpr, VisitorMut};
use std::fmt;
use std::sync::Arc;

/// One statement.
#[derive(Clone)]
pub enum Statement {
    /// Queries, DML and DDL.
    Sql(Box<ast::Statement>),
    /// `INSERT INTO t BY NAME query`.
    InsertByName(Box<ast::Insert>),
    /// `MERGE INTO t USING s ON ... WHEN ...`.
    Merge(Box<Merge>),
    /// `EXPLAIN [ANALYZE]` of a statement that sqlparser does not know.
    Explain {
        /// What it is about.
        statement: Box<Statement>,
        /// It is done.
        analyzes: bool,
        /// How the plan is shown, text if nothing is said.
        format: Option<ast::AnalyzeFormat>,
    },
    /// `ATTACH [OR REPLACE] [DATABASE] [IF NOT EXISTS] path [AS name] [(options)]`.
    Attach {
        /// The file, as it is written.
        path: String,
        /// What it is called, after the file when not given.
        name: Option<String>,
        /// What is done when the name is taken.
        on_conflict: OnConflict,
        /// In the order in which they are written.
        options: Vec<AttachOption>,
    },
    /// `DETACH [DATABASE] [IF EXISTS] name`.
    Detach {
        /// The name.
        name: String,
        /// A database that is not there is no error.
        if_exists: bool,
    },
    /// `ALTER DATABASE [IF EXISTS] name change`.
    AlterDatabase {
        /// The name.
        name: String,
        /// A database that is not there is no error.
        if_exists: bool,
        /// What is changed.
        change: DatabaseChange,
    },
    /// `PREPARE name AS`, of a statement that sqlparser does not know.
    Prepare {
        /// The name.
        name: String,
        /// What it stands for.
        statement: Box<Statement>,
    },
    /// `USE database`, `USE schema` or `USE database.schema`, by its parts.
    Use(Vec<String>),
    /// `CALL f(args)` and `PRAGMA f(args)`.
    Call {
        /// The name.
        name: String,
        /// By their places.
        args: Vec<ast::Expr>,
        /// By their names.
        named: Vec<(String, ast::Expr)>,
    },
    /// `PRAGMA name`.
    Pragma(String),
    /// `SET name = value`.
    Set {
        /// The name.
        name: String,
        /// A literal, or an expression over settings.
        value: Box<ast::Expr>,
    },
    /// `RESET name`.
    Reset(String),
    /// `SET VARIABLE name = value`.
    SetVariable {
        /// As it is written.
        name: String,
        /// Over nothing but queries of its own; a name alone is a text.
        value: Box<ast::Expr>,
    },
    /// `RESET VARIABLE name`.
    ResetVariable(String),
    /// `ALTER VIEW [IF EXISTS] name RENAME TO new_name`.
    RenameView {
        /// The view.
        name: ObjectName,
        /// Whether it may be missing.
        if_exists: bool,
        /// Without a schema: a view stays in its own.
        new_name: String,
    },
    /// `CREATE [OR REPLACE] SEQUENCE [IF NOT EXISTS] name options`.
    CreateSequence(NewSequence),
    /// `ALTER SEQUENCE [IF EXISTS] name OWNED BY owner`.
    AlterSequence(AlterSequence),
    /// `CREATE [OR REPLACE] MACRO [IF NOT EXISTS] name(parameters) AS body`.
    CreateMacro(NewMacro),
    /// `CREATE OR REPLACE SCHEMA name`.
    ReplaceSchema(ast::ObjectName),
    /// `CREATE [OR REPLACE] TYPE [IF NOT EXISTS] name AS type`.
    CreateType(NewType),
    /// `DROP TYPE [IF EXISTS] name`.
    DropType {
        /// The type.
        name: ObjectName,
        /// Whether it may be missing.
        if_exists: bool,
    },
    /// COMMENT ON.
    Comment(NewComment),
    /// `DROP MACRO [TABLE] [IF EXISTS] name`.
    DropMacro(DroppedMacro),
    /// `COPY table [(columns)] FROM path [(options)]`.
    CopyFrom {
        /// The table that takes the rows.
        table: ObjectName,
        /// Its columns in the order of the file; all when none are named.
        columns: Vec<String>,
        /// The file.
        path: CopyPath,
        /// In the order in which they are written.
        options: Vec<(String, OptionValue)>,
    },
    /// `COPY what TO path [(options)]`.
    CopyTo {
        /// What is written.
        what: CopyTarget,
        /// The file.
        path: CopyPath,
        /// In the order in which they are written.
        options: Vec<(String, OptionValue)>,
    },
    /// `COPY FROM DATABASE a TO b`.
    CopyDatabase {
        /// The database that is read.
        from: String,
        /// The database that is written.
        to: String,
        /// What of it.
        parts: DatabaseParts,
    },
    /// `EXPORT DATABASE [database TO] directory [(options)]`.
    ExportDatabase {
        /// The current one when not named.
        database: Option<String>,
        /// As it is written.
        directory: String,
        /// In the order in which they are written.
        options: Vec<(String, OptionValue)>,
    },
    /// `IMPORT DATABASE 'directory'`.
    ImportDatabase(String),
    /// `DESCRIBE query`.
    Describe(Box<ast::Query>),
    /// `SUMMARIZE query`.
    Summarize(Box<ast::Query>),
    /// `SHOW TABLES [FROM x]`, with the parts of the database or schema.
    ShowTables(Option<Vec<String>>),
    /// `SHOW DATABASES`.
    ShowDatabases,
    /// `SHOW setting`.
    Show(String),
    /// `CHECKPOINT [database]`.
    Checkpoint(Option<String>),
    /// `VACUUM [ANALYZE] [table]`.
    Vacuum(Option<ObjectName>),
    /// `ANALYZE [table [(columns)]]`.
    Analyze(Option<ObjectName>, Vec<String>),
    /// BEGIN, COMMIT and their like.
    Transaction(TransactionStatement),
    /// `INSTALL x`, `LOAD x`.
    Extension(String),
}

impl Statement {
    /// What PostgreSQL calls it when it is done, without the number of rows: the first words of the statement.
    pub fn command(&self) -> &'static str {
        use TransactionStatement as T;
        match self {
            Self::Sql(statement) => sql_command(statement),
            Self::InsertByName(_) => "INSERT",
            Self::Merge(_) => "MERGE",
            Self::Explain { .. } => "EXPLAIN",
            Self::Attach { .. } => "ATTACH",
            Self::Detach { .. } => "DETACH",
            Self::AlterDatabase { .. } => "ALTER DATABASE",
            Self::Prepare { .. } => "PREPARE",
            Self::Use(_) => "USE",
            Self::Call { .. } => "CALL",
            Self::Pragma(_) => "PRAGMA",
            Self::Set { .. } | Self::SetVariable { .. } => "SET",
            Self::Reset(_) | Self::ResetVariable(_) => "RESET",
            Self::RenameView { .. } => "ALTER VIEW",
            Self::CreateSequence(_) => "CREATE SEQUENCE",
            Self::CreateMacro(_) => "CREATE FUNCTION",
            Self::CreateType(_) => "CREATE TYPE",
            Self::ReplaceSchema(_) => "CREATE SCHEMA",
            Self::DropType { .. } => "DROP TYPE",
            Self::Comment(_) => "COMMENT",
            Self::DropMacro(_) => "DROP FUNCTION",
            Self::AlterSequence(_) => "ALTER SEQUENCE",
            Self::CopyFrom { .. } | Self::CopyTo { .. } => "COPY",
            Self::CopyDatabase { .. } => "COPY FROM DATABASE",
            Self::ExportDatabase { .. } => "EXPORT DATABASE",
            Self::ImportDatabase(_) => "IMPORT DATABASE",
            Self::Summarize(_) => "SUMMARIZE",
            Self::Describe(_) => "DESCRIBE",
            Self::ShowTables(_) | Self::ShowDatabases | Self::Show(_) => "SHOW",
            Self::Checkpoint(_) => "CHECKPOINT",
            Self::Vacuum(_) => "VACUUM",
            Self::Analyze(..) => "ANALYZE",
            Self::Transaction(T::Begin { .. }) => "BEGIN",
            Self::Transaction(T::Commit) => "COMMIT",
            Self::Transaction(T::Rollback | T::RollbackTo(_)) => "ROLLBACK",
            Self::Transaction(T::Savepoint(_)) => "SAVEPOINT",
            Self::Transaction(T::Release(_)) => "RELEASE",
            Self::Extension(_) => "LOAD",
        }
    }

    /// Whether it leaves a transaction, or a part of it, behind; only such a statement runs after an error in one.
    pub fn ends_transaction(&self) -> bool {
        use TransactionStatement as T;
        matches!(
            self,
            Self::Transaction(T::Commit | T::Rollback | T::RollbackTo(_))
        )
    }
}

fn sql_command(statement: &ast::Statement) -> &'static str {
    use ast::{ObjectType as O, Statement as S};
    match statement {
        // What stands behind WITH, where some of that changes rows.
        S::Query(query) => match query.body.as_ref() {
            SetExpr::Insert(_) => "INSERT",
            SetExpr::Update(_) => "UPDATE",
            SetExpr::Delete(_) => "DELETE",
            _ => "SELECT",
        },
        // Its rows are those of a query, and so is its name in PostgreSQL.
        S::CreateTable(create) if create.query.is_some() => "SELECT",
        S::CreateTable(_) => "CREATE TABLE",
        S::CreateView(_) => "CREATE VIEW",
        S::CreateSchema { .. } => "CREATE SCHEMA",
        S::CreateIndex(_) => "CREATE INDEX",
        S::AlterTable(_) => "ALTER TABLE",
        S::Drop { object_type, .. } => match object_type {
            O::Table => "DROP TABLE",
            O::View => "DROP VIEW",
            O::Schema => "DROP SCHEMA",
            O::Index => "DROP INDEX",
            O::Sequence => "DROP SEQUENCE",
            _ => "DROP",
        },
        S::Insert(_) => "INSERT",
        S::Update(_) => "UPDATE",
        S::Delete(_) => "DELETE",
        S::Truncate(_) => "TRUNCATE TABLE",
        S::Explain { .. } => "EXPLAIN",
        S::ExplainTable { .. } => "DESCRIBE",
        S::Prepare { .. } => "PREPARE",
        S::Execute { .. } => "EXECUTE",
        S::Deallocate { .. } => "DEALLOCATE",
        S::Lock(_) => "LOCK TABLE",
        // Not run.
        _ => "",
    }
}

impl Statement {
    /// Visits all parsed SQL in it.
    ///
    /// # Errors
    /// The one that the visitor broke off with.
    pub fn visit(&mut self, visitor: &mut dyn VisitorMut<Break = Box<Error>>) -> Result<()> {
        match self {
            Self::Sql(statement) => finish(visit_mut(statement.as_mut(), visitor)),
            Self::InsertByName(insert) => finish(visit_mut(insert.as_mut(), visitor)),
            Self::Merge(merge) => merge.visit(visitor),
            Self::Prepare { statement, .. } | Self::Explain { statement, .. } => {
                statement.visit(visitor)
            }
            Self::CopyTo { what, path, .. } => {
                path.visit(visitor)?;
                match what {
                    CopyTarget::Query(query) => finish(visit_mut(query.as_mut(), visitor)),
                    CopyTarget::Table(..) => Ok(()),
                }
            }
            Self::CopyFrom { path, .. } => path.visit(visitor),
            Self::Describe(query) | Self::Summarize(query) => {
                finish(visit_mut(query.as_mut(), visitor))
            }
            Self::Set { value, .. } | Self::SetVariable { value, .. } => {
                finish(visit_mut(value.as_mut(), visitor))
            }
            Self::CreateMacro(new) => new.overloads.iter_mut().try_for_each(|overload| {
                let parameters = overload.parameters.iter_mut();
                let mut defaults = parameters.filter_map(|one| one.default.as_mut());
                defaults.try_for_each(|default| finish(visit_mut(default, visitor)))?;
                match &mut overload.body {
                    MacroBody::Expr(body) => finish(visit_mut(body.as_mut(), visitor)),
                    MacroBody::Query(body) => finish(visit_mut(body.as_mut(), visitor)),
                }
            }),
            Self::CreateType(NewType {
                body: TypeBody::Query(query),
                ..
            }) => finish(visit_mut(query.as_mut(), visitor)),
            Self::Call { args, named, .. } => {
                let named = named.iter_mut().map(|(_, value)| value);
                let mut all = args.iter_mut().chain(named);
                all.try_for_each(|arg| finish(visit_mut(arg, visitor)))
            }
            Self::Attach { options, .. }
            | Self::AlterDatabase {
                change:
                    DatabaseChange::AddSlot(options)
                    | DatabaseChange::Encrypt(options)
                    | DatabaseChange::ChangeSlot { options, .. }
                    | DatabaseChange::VerifySlot { options, .. },
                ..
            } => {
                let values = options.iter_mut();
                let mut values = values.filter_map(|option| option.value.as_mut());
                values.try_for_each(|value| finish(visit_mut(value, visitor)))
            }
            _ => Ok(()),
        }
    }
}

impl CopyPath {
    fn visit(&mut self, visitor: &mut dyn VisitorMut<Break = Box<Error>>) -> Result<()> {
        match self {
            Self::Written(_) => Ok(()),
            Self::Value(value) => finish(visit_mut(value.as_mut(), visitor)),
        }
    }
}

/// A statement about the connection's transaction.
#[derive(Clone, Debug)]
pub enum TransactionStatement {
    /// `BEGIN [TRANSACTION] [READ ONLY | READ WRITE] [ISOLATION LEVEL level]`.
    Begin {
        /// It refuses every write.
        read_only: bool,
        /// The name of its isolation level in lower case; that of the connection when not given.
        isolation: Option<&'static str>,
    },
    /// `COMMIT`.
    Commit,
    /// `ROLLBACK`.
    Rollback,
    /// `SAVEPOINT name`.
    Savepoint(String),
    /// `ROLLBACK TO SAVEPOINT name`.
    RollbackTo(String),
    /// `RELEASE SAVEPOINT name`.
    Release(String),
}

/// ALTER SEQUENCE.
#[derive(Clone)]
pub struct AlterSequence {
    /// The sequence.
    pub name: ObjectName,
    /// Whether it may be missing.
    pub if_exists: bool,
    /// What becomes of it.
    pub change: SequenceChange,
}

/// What ALTER SEQUENCE changes.
#[derive(Clone)]
pub enum SequenceChange {
    /// OWNED BY a table, or a column of one; `None` for NONE.
    Owner(Option<ObjectName>),
    /// RESTART: the next number; `None` for the one that it began with.
    Restart(Option<i64>),
}

/// What a comment is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Commented {
    /// A table or view.
    Relation,
    /// A column of one.
    Column,
    /// A sequence.
    Sequence,
    /// A macro of expressions.
    Macro,
    /// A macro of tables.
    TableMacro,
    /// An index.
    Index,
    /// A type.
    Type,
}

/// What COMMENT ON says.
#[derive(Clone)]
pub struct NewComment {
    /// What it is about.
    pub on: Commented,
    /// Its name; of a column behind that of its table.
    pub name: ObjectName,
    /// What is said; `None` for nothing.
    pub text: Option<String>,
}

/// What a CREATE says before it says what is made.
#[derive(Clone)]
pub struct EntryHead {
    /// The name.
    pub name: ObjectName,
    /// It takes the place of one of that name.
    pub or_replace: bool,
    /// One of that name stays.
    pub if_not_exists: bool,
    /// Of the connection alone.
    pub temporary: bool,
}

/// A sequence as CREATE SEQUENCE describes it.
#[derive(Clone)]
pub struct NewSequence {
    /// Its name, and what is to become of one that has it.
    pub head: EntryHead,
    /// What it counts.
    pub options: SequenceOptions,
    /// The table that it is dropped with, or a column of one.
    pub owner: Option<ObjectName>,
}

/// A macro that DROP MACRO names.
#[derive(Clone)]
pub struct DroppedMacro {
    /// The macro.
    pub name: ObjectName,
    /// One of tables; else one of either kind.
    pub is_table: bool,
    /// Whether it may be missing.
    pub if_exists: bool,
}

/// A type as CREATE TYPE describes it.
#[derive(Clone)]
pub struct NewType {
    /// Its name, and what is to become of one that has it.
    pub head: EntryHead,
    /// What it stands for.
    pub body: TypeBody,
}

/// What a type stands for.
#[derive(Clone)]
pub enum TypeBody {
    /// Another.
    Type(ast::DataType),
    /// The ENUM of what a query gives.
    Query(Box<ast::Query>),
}

/// A macro as CREATE MACRO describes it.
#[derive(Clone)]
pub struct NewMacro {
    /// Its name, and what is to become of one that has it.
    pub head: EntryHead,
    /// Whether it stands for tables, as all of its overloads do.
    pub is_table: bool,
    /// At least one.
    pub overloads: Vec<NewOverload>,
}

/// What a macro is with such parameters.
#[derive(Clone)]
pub struct NewOverload {
    /// In the order in which arguments are given.
    pub parameters: Vec<NewParameter>,
    /// What it stands for.
    pub body: MacroBody,
}

/// A parameter of a macro.
#[derive(Clone)]
pub struct NewParameter {
    /// As it was written.
    pub name: String,
    /// What arguments are cast to.
    pub ty: Option<ast::DataType>,
    /// What stands for it where it is not given.
    pub default: Option<ast::Expr>,
}

/// What a macro stands for.
#[derive(Clone)]
pub enum MacroBody {
    /// An expression.
    Expr(Box<ast::Expr>),
    /// A table.
    Query(Box<ast::Query>),
}

/// What COPY FROM DATABASE copies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DatabaseParts {
    /// Definitions and rows.
    All,
    /// Definitions alone.
    Schema,
    /// Rows alone, into tables that are there.
    Data,
}

/// The file of a COPY.
#[derive(Clone)]
pub enum CopyPath {
    /// Its name, as it is written.
    Written(String),
    /// `(getvariable('x'))`: the value is its name.
    Value(Box<ast::Expr>),
}

/// What COPY ... TO writes.
#[derive(Clone)]
pub enum CopyTarget {
    /// The rows of a query.
    Query(Box<ast::Query>),
    /// The rows of a table, all columns when none are named.
    Table(ObjectName, Vec<ast::Ident>),
}

/// A value in an option list.
#[derive(Clone, PartialEq)]
pub enum OptionValue {
    /// The option stands alone.
    None,
    /// A text, a number or a word.
    Text(String),
    /// Names in parentheses.
    List(Vec<String>),
    /// Names with texts, in the order in which they are given.
    Pairs(Vec<(String, String)>),
}

/// What ATTACH does when a database of the name is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnConflict {
    /// The name is taken: an error.
    Fail,
    /// IF NOT EXISTS.
    Keep,
    /// OR REPLACE.
    Replace,
}

/// What ALTER DATABASE changes.
#[derive(Clone)]
pub enum DatabaseChange {
    /// `ROTATE DATA KEY`: everything is sealed anew under another data key.
    RotateDataKey,
    /// `REKEY (KEEP SLOT n (options), ADD SLOT (options), DROP SLOT n)`: the same, under another master key, in these slots.
    Rekey(Vec<RekeySlot>),
    /// `SET ENCRYPTION_CIPHER name`: as ROTATE DATA KEY, and the new key's blocks are sealed with that cipher.
    SetCipher(String),
    /// `SET (rekey_after = age)`: it is said when the data key is older. The text is read by who carries it out.
    SetRekeyAfter(String),
    /// `SET ENCRYPTION OFF`.
    Decrypt,
    /// `SET ENCRYPTION ON (options)`.
    Encrypt(Vec<AttachOption>),
    /// `SET ENCRYPTION SUSPEND`: what is under way pauses; and `RESUME`, it goes on.
    PauseRekey(bool),
    /// `ADD SLOT (options)`: another key opens the file.
    AddSlot(Vec<AttachOption>),
    /// `CHANGE SLOT n (options)`: another key in the place of one.
    ChangeSlot {
        /// Its number.
        slot: usize,
        /// Where the new key comes from.
        options: Vec<AttachOption>,
    },
    /// `VERIFY SLOT n (options)`: whether a key opens it.
    VerifySlot {
        /// Its number.
        slot: usize,
        /// Where the key comes from.
        options: Vec<AttachOption>,
    },
    /// `DROP SLOT n`: a key opens the file no more.
    DropSlot(usize),
}

/// What REKEY makes of a key slot.
#[derive(Clone)]
pub enum RekeySlot {
    /// `KEEP SLOT n (options)`.
    Keep {
        /// Its number.
        slot: usize,
        /// Where its key comes from.
        options: Vec<AttachOption>,
    },
    /// `ADD SLOT (options)`.
    Add(Vec<AttachOption>),
    /// `DROP SLOT n`.
    Drop(usize),
}

impl RekeySlot {
    /// Its options, if it has any.
    pub(crate) fn options_mut(&mut self) -> &mut [AttachOption] {
        match self {
            Self::Keep { options, .. } | Self::Add(options) => options,
            Self::Drop(_) => &mut [],
        }
    }
}

/// An option of ATTACH, or of a key slot. Its value may say where a key is, so it has no Debug output.
#[derive(Clone)]
pub struct AttachOption {
    /// What is set, in lower case.
    pub name: String,
    /// A text, or a parameter that stands for one.
    pub value: Option<ast::Expr>,
    /// What was taken out of the text before it was read, instead of a value.
    pub secret: Option<Arc<SecretBytes>>,
}

impl fmt::Debug for AttachOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AttachOption({})", self.name)
    }
}
