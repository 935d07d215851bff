//! ALTER, as commands.

use super::command::{Command, DatabaseChange, engine, role};
use crate::sql_error::SqlError;
use crate::words::{Kind, Token, Words};

/// ALTER, behind its first word.
///
/// # Errors
/// 42601 for what is not well formed, 0A000 for what is not there.
pub(super) fn alter(
    sql: &str,
    tokens: &[Token],
    words: &mut Words<'_>,
) -> Result<Command, SqlError> {
    if words.take(&["user"]) || words.take(&["role"]) {
        return role(words, false).map(Command::AlterRole);
    }
    if words.take(&["database"]) {
        return alter_database(words);
    }
    for (word, what) in [
        ("system", "ALTER SYSTEM"),
        ("default", "ALTER DEFAULT PRIVILEGES"),
    ] {
        if words.take(&[word]) {
            return Err(SqlError::missing(what));
        }
    }
    if let Some(owner) = owner_to(tokens) {
        return Ok(Command::OwnerTo(owner));
    }
    if words.take(&["table"]) {
        let _ = words.take(&["if", "exists"]);
        // No table inherits from another, so ONLY says nothing. pg_dump writes it.
        if matches!(words.peek(), Some(Kind::Word(only)) if only == "only")
            && let Some(only) = words.next()
        {
            let mut sql = sql.to_owned();
            sql.replace_range(only.start..only.end, "");
            return Ok(engine(&sql));
        }
    }
    Ok(engine(sql))
}

fn alter_database(words: &mut Words<'_>) -> Result<Command, SqlError> {
    let wrong = || {
        SqlError::missing(
            "ALTER DATABASE with anything but ROTATE KEY, ROTATE DATA KEY, OWNER TO and RENAME TO",
        )
    };
    let name = words.name();
    let name = name.ok_or_else(|| SqlError::syntax("a database's name was expected"))?;
    let change = if words.take(&["rotate", "key"]) {
        DatabaseChange::RotateKey
    } else if words.take(&["rotate", "data", "key"]) {
        DatabaseChange::RotateDataKey
    } else if words.take(&["owner", "to"]) {
        DatabaseChange::OwnerTo(words.name().ok_or_else(wrong)?)
    } else if words.take(&["rename", "to"]) {
        DatabaseChange::RenameTo(words.name().ok_or_else(wrong)?)
    } else {
        return Err(wrong());
    };
    match words.is_empty() {
        true => Ok(Command::AlterDatabase { name, change }),
        false => Err(SqlError::syntax("nothing more was expected")),
    }
}

/// The role behind `ALTER TABLE name OWNER TO`, and likewise for what else is in a schema.
fn owner_to(tokens: &[Token]) -> Option<String> {
    let is = |token: &Token, words: &[&str]| matches!(&token.kind, Kind::Word(is) if words.contains(&is.as_str()));
    let tokens = match tokens.split_last() {
        Some((last, rest)) if last.kind == Kind::Mark(';') => rest,
        _ => tokens,
    };
    let [_, what, .., before, owner, to, role] = tokens else {
        return None;
    };
    if is(before, &["rename", "column"]) {
        return None;
    }
    let known = ["table", "view", "sequence", "schema"];
    let is_it = is(what, &known) && is(owner, &["owner"]) && is(to, &["to"]);
    match &role.kind {
        Kind::Word(name) | Kind::Quoted(name) if is_it => Some(name.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::command::read;

    #[test]
    fn owners_are_read_behind_any_name() {
        let shown = |sql: &str| format!("{:?}", read(sql).unwrap().unwrap());
        for sql in [
            "ALTER TABLE public.t OWNER TO alice",
            "ALTER TABLE ONLY t OWNER TO alice;",
            "alter sequence s owner to \"alice\"",
            "ALTER SCHEMA x OWNER TO alice",
        ] {
            assert_eq!(shown(sql), "OwnerTo(\"alice\")", "{sql}");
        }
        assert!(shown("ALTER TABLE t RENAME owner TO x").starts_with("Engine"));
        assert!(shown("ALTER TABLE t RENAME COLUMN owner TO x").starts_with("Engine"));
    }
}
