//! `Command`: what a statement asks of the server, and what it leaves to the engine.
//!
//! What must hold: what neither of them can do is refused by name; a password is taken out here and stands in nothing that is kept.

use super::transaction::SERIALIZABLE;
use super::{alter, cursor, set};
use crate::sql_error::SqlError;
use crate::wire::copy_options::CopyOptions;
use crate::words::{Kind, Token, Words, tokens};

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Command {
    Begin {
        read_only: bool,
        /// The level that is asked for.
        isolation: Option<&'static str>,
    },
    Commit,
    Rollback,
    /// SAVEPOINT, RELEASE and ROLLBACK TO, which the engine carries out.
    Savepoint(String),
    RollbackTo(String),
    Set {
        local: bool,
        name: String,
        value: Option<String>,
    },
    /// `SELECT set_config('name', 'value', local)`, which gives a row.
    SetConfig {
        local: bool,
        name: String,
        value: String,
    },
    /// SET TRANSACTION, of the open one, and SET SESSION CHARACTERISTICS, of those to come.
    SetTransaction {
        session: bool,
        isolation: Option<&'static str>,
        read_only: bool,
    },
    /// `None` for all.
    Reset(Option<String>),
    Show(String),
    /// Whether of temporary tables alone.
    Discard(bool),
    Deallocate(Option<String>),
    CopyIn(Copy),
    CopyOut(Copy),
    CreateDatabase {
        name: String,
        owner: Option<String>,
    },
    DropDatabase {
        name: String,
        if_exists: bool,
    },
    AlterDatabase {
        name: String,
        change: DatabaseChange,
    },
    CreateRole(RoleChange),
    AlterRole(RoleChange),
    DropRole {
        names: Vec<String>,
        if_exists: bool,
    },
    /// Several tables or views that are dropped together.
    DropSeveral {
        /// `TABLE` or `VIEW`, and IF EXISTS.
        what: String,
        tag: &'static str,
        names: Vec<Vec<String>>,
    },
    /// Tables that are emptied together, and whether their sequences begin anew.
    Truncate {
        tables: Vec<Vec<String>>,
        restart: bool,
    },
    Declare {
        name: String,
        query: String,
        hold: bool,
    },
    /// FETCH, and MOVE, which gives no rows.
    Fetch {
        name: String,
        rows: u64,
        moves: bool,
    },
    /// `None` for all.
    CloseCursor(Option<String>),
    /// `ALTER ... OWNER TO` of what is in a database.
    OwnerTo(String),
    /// Nothing to do, and this to say.
    Nothing {
        tag: &'static str,
    },
    /// Anything else, in words that the engine knows; and something to say of it.
    Engine {
        sql: String,
        notice: Option<&'static str>,
    },
}

/// COPY between a table or a query and the client.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) table: Vec<String>,
    pub(crate) columns: Vec<String>,
    /// Instead of a table.
    pub(crate) query: Option<String>,
    pub(crate) options: CopyOptions,
}

impl Copy {
    /// The columns of its table, as SELECT.
    pub(crate) fn select(&self) -> String {
        let columns = match self.columns.is_empty() {
            true => "*".to_owned(),
            false => quoted(&self.columns).join(", "),
        };
        format!("SELECT {columns} FROM {}", quoted(&self.table).join("."))
    }
}

/// Names in quotes, as they are.
pub(crate) fn quoted(names: &[String]) -> Vec<String> {
    let quote = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
    names.iter().map(quote).collect()
}

/// ALTER DATABASE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DatabaseChange {
    /// Another random key, another master key, and all blocks sealed anew.
    RotateKey,
    /// All blocks sealed anew under another data key.
    RotateDataKey,
    OwnerTo(String),
    RenameTo(String),
}

/// CREATE ROLE and ALTER ROLE.
#[derive(Clone, Default)]
pub(crate) struct RoleChange {
    pub(crate) name: String,
    /// `Some(None)` takes the password away.
    pub(crate) password: Option<Option<String>>,
    pub(crate) superuser: Option<bool>,
    pub(crate) create_database: Option<bool>,
    pub(crate) login: Option<bool>,
    pub(crate) connection_limit: Option<i32>,
}

impl std::fmt::Debug for RoleChange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoleChange").finish_non_exhaustive()
    }
}

impl Command {
    /// Whether it begins or ends transactions, or parts of one.
    pub(crate) fn is_control(&self) -> bool {
        matches!(
            self,
            Self::Begin { .. }
                | Self::Commit
                | Self::Rollback
                | Self::Savepoint(_)
                | Self::RollbackTo(_)
        )
    }

    /// Whether it runs in a transaction that has failed.
    pub(crate) fn ends_failure(&self) -> bool {
        matches!(self, Self::Commit | Self::Rollback | Self::RollbackTo(_))
    }

    /// Whether it may not be a part of a transaction.
    pub(crate) fn stands_alone(&self) -> bool {
        match self {
            Self::CreateDatabase { .. }
            | Self::DropDatabase { .. }
            | Self::AlterDatabase { .. } => true,
            _ => self.begins_with(&["vacuum", "checkpoint"]),
        }
    }

    /// Whether it may change what there is in the database, rather than rows.
    pub(crate) fn defines(&self) -> bool {
        matches!(self, Self::DropSeveral { .. }) || self.begins_with(&["create", "drop", "alter"])
    }

    /// Whether it is the engine's, and its first word one of these.
    pub(crate) fn begins_with(&self, words: &[&str]) -> bool {
        let Self::Engine { sql, .. } = self else {
            return false;
        };
        let mut rest = sql.trim_start();
        while let Some(behind) = behind_comment(rest) {
            rest = behind.trim_start();
        }
        words.iter().any(|word| {
            let first = rest.get(..word.len());
            first.is_some_and(|first| first.eq_ignore_ascii_case(word))
        })
    }
}

/// What stands behind a comment that a text begins with.
fn behind_comment(sql: &str) -> Option<&str> {
    if let Some(comment) = sql.strip_prefix("--") {
        return Some(comment.split_once('\n').map_or("", |(_, rest)| rest));
    }
    let comment = sql.strip_prefix("/*")?;
    comment.split_once("*/").map(|(_, rest)| rest)
}

/// Reads one statement; `None` for one without a word.
///
/// # Errors
/// 42601 for what is not well formed, 0A000 for what is not there.
pub(crate) fn read(sql: &str) -> Result<Option<Command>, SqlError> {
    let tokens =
        tokens(sql).ok_or_else(|| SqlError::syntax("unterminated quoted string or comment"))?;
    let mut words = Words::new(&tokens);
    let Some(first) = words.next() else {
        return Ok(None);
    };
    let Kind::Word(first) = &first.kind else {
        return Ok(Some(engine(sql)));
    };
    let command = match first.as_str() {
        "begin" => begin(&mut words)?,
        "start" if words.take(&["transaction"]) => begin(&mut words)?,
        "commit" | "end" => end(&mut words, Command::Commit)?,
        "abort" => end(&mut words, Command::Rollback)?,
        "rollback" => rollback(sql, &mut words)?,
        "savepoint" | "release" => Command::Savepoint(sql.to_owned()),
        "prepare" if words.take(&["transaction"]) => {
            return Err(SqlError::missing("two-phase commit"));
        }
        "set" => set::set(&mut words)?,
        "reset" => set::reset(&mut words)?,
        "show" => return set::show(sql, &mut words).map(Some),
        "select" => set::set_config(&mut words).unwrap_or_else(|| engine(sql)),
        "discard" => Command::Discard(words.take(&["temp"]) || words.take(&["temporary"])),
        "deallocate" => deallocate(&mut words)?,
        "copy" => copy(sql, &mut words)?,
        "create" => return create(sql, &tokens, &mut words).map(Some),
        "drop" => return drop_what(sql, &mut words).map(Some),
        "alter" => return alter::alter(sql, &tokens, &mut words).map(Some),
        "truncate" => truncate(&mut words)?,
        "unlisten" => Command::Nothing { tag: "UNLISTEN" },
        "listen" | "notify" => return Err(SqlError::missing("LISTEN and NOTIFY")),
        "grant" | "revoke" => return Err(SqlError::missing("GRANT and REVOKE")),
        "declare" => cursor::declare(sql, &mut words)?,
        "fetch" | "move" => cursor::fetch(&mut words, first == "move")?,
        "close" => cursor::close(&mut words)?,
        "analyze" => Command::Nothing { tag: "ANALYZE" },
        "comment" => comment(sql, &tokens, &mut words),
        "cluster" | "reindex" | "security" | "refresh" | "import" | "do" => {
            return Err(SqlError::missing(&first.to_uppercase()));
        }
        _ => engine(sql),
    };
    Ok(Some(command))
}

/// COMMENT ON. Of schemas, databases and the like nothing is kept: an empty one, which pg_dump writes of `public`, takes nothing away.
fn comment(sql: &str, tokens: &[Token], words: &mut Words<'_>) -> Command {
    let kept = ["table", "view", "column", "index", "sequence"];
    let is_kept = words.take(&["on"]) && kept.iter().any(|kind| words.take(&[kind]));
    match !is_kept && tokens.last().is_some_and(says_nothing) {
        true => Command::Nothing { tag: "COMMENT" },
        false => engine(sql),
    }
}

/// Whether a comment is empty.
fn says_nothing(last: &Token) -> bool {
    match &last.kind {
        Kind::Text(text) => text.is_empty(),
        Kind::Word(word) => word == "null",
        _ => false,
    }
}

pub(super) fn engine(sql: &str) -> Command {
    Command::Engine {
        sql: sql.to_owned(),
        notice: None,
    }
}

/// Modes of a transaction: whether it only reads, and its level if one is said.
pub(super) fn modes(words: &mut Words<'_>) -> Result<(bool, Option<&'static str>), SqlError> {
    let (mut read_only, mut isolation) = (false, None);
    while !words.is_empty() {
        if words.take(&["isolation", "level"]) {
            let level = if words.take(&["serializable"]) {
                SERIALIZABLE
            } else if words.take(&["repeatable", "read"]) {
                "repeatable read"
            } else if words.take(&["read", "committed"]) || words.take(&["read", "uncommitted"]) {
                "read committed"
            } else {
                return Err(SqlError::syntax("an isolation level was expected"));
            };
            isolation = Some(level);
        } else if words.take(&["read", "only"]) {
            read_only = true;
        } else if words.take(&["read", "write"]) {
            read_only = false;
        } else if !(words.take(&["not", "deferrable"])
            || words.take(&["deferrable"])
            || words.mark(','))
        {
            return Err(SqlError::syntax("a transaction mode was expected"));
        }
    }
    // Transactions that only read are in any order what each of them is alone: one that sees one state.
    match isolation == Some(SERIALIZABLE) && !read_only {
        true => Err(
            SqlError::missing("SERIALIZABLE of a transaction that may write")
                .with_hint("REPEATABLE READ is there, and SERIALIZABLE READ ONLY"),
        ),
        false => Ok((read_only, isolation)),
    }
}

fn begin(words: &mut Words<'_>) -> Result<Command, SqlError> {
    let _ = words.take(&["work"]) || words.take(&["transaction"]);
    let (read_only, isolation) = modes(words)?;
    Ok(Command::Begin {
        read_only,
        isolation,
    })
}

fn end(words: &mut Words<'_>, command: Command) -> Result<Command, SqlError> {
    let _ = words.take(&["work"]) || words.take(&["transaction"]);
    let _ = words.take(&["and", "no", "chain"]);
    if words.take(&["and", "chain"]) {
        return Err(SqlError::missing("AND CHAIN"));
    }
    if words.take(&["prepared"]) {
        return Err(SqlError::missing("two-phase commit"));
    }
    match words.is_empty() {
        true => Ok(command),
        false => Err(SqlError::syntax("nothing more was expected")),
    }
}

fn rollback(sql: &str, words: &mut Words<'_>) -> Result<Command, SqlError> {
    let _ = words.take(&["work"]) || words.take(&["transaction"]);
    match words.take(&["to"]) {
        true => Ok(Command::RollbackTo(sql.to_owned())),
        false => end(words, Command::Rollback),
    }
}

fn truncate(words: &mut Words<'_>) -> Result<Command, SqlError> {
    let _ = words.take(&["table"]);
    let mut tables = vec![];
    loop {
        let _ = words.take(&["only"]);
        tables.push(
            words
                .names()
                .ok_or_else(|| SqlError::syntax("TRUNCATE takes names of tables"))?,
        );
        if !words.mark(',') {
            break;
        }
    }
    let _ = words.take(&["continue", "identity"]);
    let restart = words.take(&["restart", "identity"]);
    // CASCADE reaches no other table: rows that others name fail the statement.
    let _ = words.take(&["restrict"]) || words.take(&["cascade"]);
    match words.is_empty() {
        true => Ok(Command::Truncate { tables, restart }),
        false => Err(SqlError::syntax("nothing more was expected")),
    }
}

fn deallocate(words: &mut Words<'_>) -> Result<Command, SqlError> {
    let _ = words.take(&["prepare"]);
    if words.take(&["all"]) {
        return Ok(Command::Deallocate(None));
    }
    let name = words
        .name()
        .ok_or_else(|| SqlError::syntax("DEALLOCATE takes a name, or ALL"))?;
    Ok(Command::Deallocate(Some(name)))
}

fn copy(sql: &str, words: &mut Words<'_>) -> Result<Command, SqlError> {
    let wrong = || {
        SqlError::syntax(
            "COPY reads: COPY table [(columns)] FROM STDIN, or COPY table or (query) TO STDOUT",
        )
    };
    let (mut table, mut columns, mut query) = (vec![], vec![], None);
    if let Some(Kind::Mark('(')) = words.peek() {
        let start = words.next().map_or(0, |token| token.end);
        let end = matching(words).ok_or_else(wrong)?;
        query = Some(sql.get(start..end).ok_or_else(wrong)?.to_owned());
    } else {
        table = words.names().ok_or_else(wrong)?;
        if words.mark('(') {
            while !words.mark(')') {
                columns.push(words.name().ok_or_else(wrong)?);
                let _ = words.mark(',');
            }
        }
    }
    let from = words.take(&["from"]);
    if !from && !words.take(&["to"]) {
        return Err(wrong());
    }
    if !(words.take(&["stdin"]) || words.take(&["stdout"])) {
        return Err(SqlError::new(
            "42501",
            "permission denied: COPY between a table and a file or program of the server is not allowed",
        )
        .with_hint("use COPY FROM STDIN or TO STDOUT; psql's \\copy does"));
    }
    let options = CopyOptions::read(words, from)?;
    let copy = Copy {
        table,
        columns,
        query,
        options,
    };
    match from {
        true if copy.query.is_some() => Err(wrong()),
        true => Ok(Command::CopyIn(copy)),
        false => Ok(Command::CopyOut(copy)),
    }
}

/// Goes behind the bracket that closes, and gives its place.
fn matching(words: &mut Words<'_>) -> Option<usize> {
    let mut depth = 1_usize;
    loop {
        let token = words.next()?;
        match token.kind {
            Kind::Mark('(') => depth += 1,
            Kind::Mark(')') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(token.start);
        }
    }
}

fn create(sql: &str, tokens: &[Token], words: &mut Words<'_>) -> Result<Command, SqlError> {
    if words.take(&["database"]) {
        let wrong = || SqlError::syntax("CREATE DATABASE reads: CREATE DATABASE name [OWNER role]");
        let name = words.name().ok_or_else(wrong)?;
        let _ = words.take(&["with"]);
        let mut owner = None;
        while !words.is_empty() {
            let option = words.name().ok_or_else(wrong)?;
            let _ = words.mark('=');
            let value = words.value().ok_or_else(wrong)?;
            match option.as_str() {
                "owner" => owner = Some(value),
                "encoding" if value.replace('-', "").eq_ignore_ascii_case("utf8") => {}
                "template" if matches!(value.as_str(), "template0" | "template1") => {}
                other => {
                    return Err(SqlError::missing(&format!(
                        "the option {} of CREATE DATABASE",
                        other.to_uppercase()
                    )));
                }
            }
        }
        return Ok(Command::CreateDatabase { name, owner });
    }
    let as_user = words.take(&["user"]);
    if as_user || words.take(&["role"]) {
        return role(words, as_user).map(Command::CreateRole);
    }
    for (word, what) in [
        ("function", "CREATE FUNCTION"),
        ("procedure", "CREATE PROCEDURE"),
        ("trigger", "CREATE TRIGGER"),
        ("extension", "CREATE EXTENSION"),
        ("publication", "CREATE PUBLICATION"),
        ("subscription", "CREATE SUBSCRIPTION"),
        ("materialized", "CREATE MATERIALIZED VIEW"),
        ("rule", "CREATE RULE"),
    ] {
        if words.take(&[word]) {
            return Err(SqlError::missing(what));
        }
    }
    if words.take(&["index"]) || words.take(&["unique", "index"]) {
        return Ok(create_index(sql, tokens));
    }
    create_table(sql, tokens)
}

/// CREATE INDEX without the method that all indexes have here.
fn create_index(sql: &str, tokens: &[Token]) -> Command {
    let is = |token: &Token, word: &str| matches!(&token.kind, Kind::Word(is) if is == word);
    let using = tokens.windows(2).find_map(|pair| match pair {
        [using, btree] if is(using, "using") && is(btree, "btree") => Some(using.start..btree.end),
        _ => None,
    });
    let mut sql = sql.to_owned();
    if let Some(using) = using {
        sql.replace_range(using, "");
    }
    engine(&sql)
}

/// CREATE TABLE without what only says how PostgreSQL stores it.
fn create_table(sql: &str, tokens: &[Token]) -> Result<Command, SqlError> {
    let mut sql = sql.to_owned();
    let mut notice = None;
    let is = |at: usize, word: &str| matches!(tokens.get(at).map(|t| &t.kind), Some(Kind::Word(is)) if is == word);
    let mark = |at: usize, mark: char| matches!(tokens.get(at).map(|t| &t.kind), Some(Kind::Mark(is)) if *is == mark);
    // From the end, so that places stay right.
    let last = tokens.len();
    let with = last.checked_sub(6).filter(|at| {
        is(*at, "with")
            && mark(at + 1, '(')
            && is(at + 2, "fillfactor")
            && mark(at + 3, '=')
            && mark(at + 5, ')')
    });
    if let Some(with) = with.and_then(|at| tokens.get(at)) {
        sql.truncate(with.start);
    }
    if is(1, "unlogged")
        && let Some(word) = tokens.get(1)
    {
        sql.replace_range(word.start..word.end, "");
        notice = Some("UNLOGGED tables are logged as all others");
    }
    Ok(Command::Engine { sql, notice })
}

fn drop_what(sql: &str, words: &mut Words<'_>) -> Result<Command, SqlError> {
    for (word, what, tag) in [
        ("table", "TABLE", "DROP TABLE"),
        ("view", "VIEW", "DROP VIEW"),
    ] {
        if words.take(&[word]) {
            return Ok(several(what, tag, words).unwrap_or_else(|| engine(sql)));
        }
    }
    let database = words.take(&["database"]);
    if !database && !words.take(&["user"]) && !words.take(&["role"]) {
        return Ok(engine(sql));
    }
    let if_exists = words.take(&["if", "exists"]);
    let wrong = || SqlError::syntax("a name was expected");
    let mut names = vec![words.name().ok_or_else(wrong)?];
    while words.mark(',') {
        names.push(words.name().ok_or_else(wrong)?);
    }
    if words.take(&["with"]) || words.mark('(') {
        return Err(SqlError::missing("DROP DATABASE ... WITH (FORCE)"));
    }
    if !words.is_empty() || (database && names.len() > 1) {
        return Err(SqlError::syntax("nothing more was expected"));
    }
    Ok(match (database, names.as_slice()) {
        (true, [name]) => Command::DropDatabase {
            name: name.clone(),
            if_exists,
        },
        _ => Command::DropRole { names, if_exists },
    })
}

/// Several names; `None` for one, which the engine drops.
fn several(what: &str, tag: &'static str, words: &mut Words<'_>) -> Option<Command> {
    let what = match words.take(&["if", "exists"]) {
        true => format!("{what} IF EXISTS"),
        false => what.to_owned(),
    };
    let mut names = vec![words.names()?];
    while words.mark(',') {
        names.push(words.names()?);
    }
    let _ = words.take(&["restrict"]);
    (names.len() > 1 && words.is_empty()).then_some(Command::DropSeveral { what, tag, names })
}

pub(super) fn role(words: &mut Words<'_>, login: bool) -> Result<RoleChange, SqlError> {
    let wrong = || SqlError::syntax("a role's name and options were expected");
    let mut role = RoleChange {
        name: words.name().ok_or_else(wrong)?,
        login: login.then_some(true),
        ..RoleChange::default()
    };
    let _ = words.take(&["with"]);
    while !words.is_empty() {
        let option = words.name().ok_or_else(wrong)?;
        match option.as_str() {
            "login" => role.login = Some(true),
            "nologin" => role.login = Some(false),
            "superuser" => role.superuser = Some(true),
            "nosuperuser" => role.superuser = Some(false),
            "createdb" => role.create_database = Some(true),
            "nocreatedb" => role.create_database = Some(false),
            "inherit" | "noreplication" | "nobypassrls" | "nocreaterole" => {}
            "encrypted" => {}
            "password" => {
                role.password = Some(match words.take(&["null"]) {
                    true => None,
                    false => match words.next().map(|token| &token.kind) {
                        Some(Kind::Text(password)) => Some(password.clone()),
                        _ => return Err(wrong()),
                    },
                });
            }
            "connection" if words.take(&["limit"]) => {
                let limit = words.value().and_then(|limit| limit.parse().ok());
                role.connection_limit = Some(limit.filter(|n| *n >= -1).ok_or_else(wrong)?);
            }
            other => {
                return Err(SqlError::missing(&format!(
                    "the option {} of roles",
                    other.to_uppercase()
                )));
            }
        }
    }
    Ok(role)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_of_the_server_are_told_from_the_engines() {
        let shown = |sql: &str| format!("{:?}", read(sql).unwrap().unwrap());
        assert!(
            shown("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY").contains("read_only: true")
        );
        assert!(shown("set application_name to 'x'").contains("Some(\"x\")"));
        assert!(shown("SET search_path = a, \"B\"").contains("a, B"));
        assert!(shown("copy t (a, b) from stdin with (format csv)").starts_with("CopyIn"));
        assert!(shown("COPY (SELECT (1)) TO STDOUT").contains("query: Some(\"SELECT (1)\")"));
        assert!(shown("create database d owner = o").contains("Some(\"o\")"));
        assert!(shown("-- c\nselect 1").starts_with("Engine"));
        let table = shown("create unlogged table t (i int) with (fillfactor=100)");
        assert!(
            table.contains("create  table t (i int) ") && !table.contains("fillfactor"),
            "{table}"
        );
        assert!(read("-- ping").unwrap().is_none());
        let index = shown("CREATE UNIQUE INDEX i ON s.t USING btree (a, b)");
        assert!(index.contains("INDEX i ON s.t  (a, b)"), "{index}");
        assert!(shown("CREATE INDEX i ON t USING hash (a)").contains("USING hash"));
        let only = shown("ALTER TABLE IF EXISTS ONLY public.t ADD PRIMARY KEY (i)");
        assert!(
            only.contains("ALTER TABLE IF EXISTS  public.t ADD"),
            "{only}"
        );
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        let command = read("create user a password 'hunter2'").unwrap();
        assert!(!format!("{command:?}").contains("hunter2"));
    }

    #[test]
    fn what_is_not_there_is_refused_by_name() {
        for sql in [
            "LISTEN x",
            "GRANT SELECT ON t TO a",
            "BEGIN ISOLATION LEVEL SERIALIZABLE",
            "CREATE FUNCTION f() ...",
            "COMMIT AND CHAIN",
            "ALTER SYSTEM SET a = 1",
        ] {
            assert_eq!(read(sql).unwrap_err().sqlstate, "0A000", "{sql}");
        }
        assert_eq!(
            read("COPY t FROM '/etc/passwd'").unwrap_err().sqlstate,
            "42501"
        );
        assert_eq!(
            read("COPY t FROM PROGRAM 'id'").unwrap_err().sqlstate,
            "42501"
        );
    }
}
