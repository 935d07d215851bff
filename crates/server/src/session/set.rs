//! SET, SHOW, RESET and `set_config`, as commands.

use super::command::{Command, engine, modes};
use crate::sql_error::SqlError;
use crate::words::{Kind, Words, tokens};

pub(super) fn set(words: &mut Words<'_>) -> Result<Command, SqlError> {
    let session = words.take(&["session", "characteristics", "as", "transaction"]);
    if session || words.take(&["transaction"]) {
        let (read_only, isolation) = modes(words)?;
        if session && read_only {
            let missing = SqlError::missing("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY");
            return Err(missing.with_hint("BEGIN READ ONLY is there"));
        }
        return Ok(Command::SetTransaction {
            session,
            isolation,
            read_only,
        });
    }
    if words.take(&["constraints"]) {
        return Err(SqlError::missing("SET CONSTRAINTS"));
    }
    let local = words.take(&["local"]);
    let _ = words.take(&["session"]);
    if words.take(&["role"]) || words.take(&["authorization"]) {
        return Err(SqlError::missing("SET ROLE"));
    }
    let wrong = || SqlError::syntax("SET reads: SET name = value");
    let name = match words.take(&["time", "zone"]) {
        true => "timezone".to_owned(),
        false => {
            let name = words.names().ok_or_else(wrong)?.join(".");
            if !(words.mark('=') || words.take(&["to"])) {
                return Err(wrong());
            }
            name
        }
    };
    let mut values = vec![];
    while !words.is_empty() {
        if !words.mark(',') {
            values.push(words.value().ok_or_else(wrong)?);
        }
    }
    let value = match values.as_slice() {
        [] => return Err(wrong()),
        [level] if name == "transaction_isolation" && level != "default" => {
            return isolation(level);
        }
        [default] if default == "default" => None,
        values => Some(values.join(", ")),
    };
    Ok(Command::Set { local, name, value })
}

/// `SET transaction_isolation = 'level'`, which is SET TRANSACTION.
fn isolation(level: &str) -> Result<Command, SqlError> {
    let text = format!("isolation level {level}");
    let tokens =
        tokens(&text).ok_or_else(|| SqlError::syntax("an isolation level was expected"))?;
    let (_, isolation) = modes(&mut Words::new(&tokens))?;
    Ok(Command::SetTransaction {
        session: false,
        isolation,
        read_only: false,
    })
}

pub(super) fn reset(words: &mut Words<'_>) -> Result<Command, SqlError> {
    if words.take(&["all"]) {
        return Ok(Command::Reset(None));
    }
    let names = words
        .names()
        .ok_or_else(|| SqlError::syntax("RESET takes a name, or ALL"))?;
    Ok(Command::Reset(Some(names.join("."))))
}

pub(super) fn show(sql: &str, words: &mut Words<'_>) -> Result<Command, SqlError> {
    for (words_of, name) in [
        (
            ["transaction", "isolation", "level"].as_slice(),
            "transaction_isolation",
        ),
        (&["time", "zone"], "timezone"),
        (&["session", "authorization"], "session_authorization"),
    ] {
        if words.take(words_of) {
            return Ok(Command::Show(name.into()));
        }
    }
    let name = words.names().unwrap_or_default().join(".");
    match words.is_empty() && super::settings::is_known(&name) {
        true => Ok(Command::Show(name)),
        false if matches!(name.as_str(), "tables" | "databases") => Ok(engine(sql)),
        false if name.is_empty() => Err(SqlError::syntax("SHOW takes the name of a setting")),
        false => Err(super::settings::unknown(&name)),
    }
}

/// `SELECT set_config('name', 'value', false)` and nothing more, behind its SELECT: how drivers set what they set.
pub(super) fn set_config(words: &mut Words<'_>) -> Option<Command> {
    if words.take(&["pg_catalog"]) && !words.mark('.') {
        return None;
    }
    if !words.take(&["set_config"]) || !words.mark('(') {
        return None;
    }
    let text = |words: &mut Words<'_>| match &words.next()?.kind {
        Kind::Text(text) => Some(text.clone()),
        _ => None,
    };
    let name = text(words)?;
    let value = words.mark(',').then(|| text(words))??;
    let local = words.mark(',').then(|| words.take(&["true"]))?;
    let ends = (local || words.take(&["false"])) && words.mark(')') && words.is_empty();
    ends.then_some(Command::SetConfig { local, name, value })
}

#[cfg(test)]
mod tests {
    use super::super::command::read;

    #[test]
    fn set_config_alone_is_a_command() {
        let shown = |sql: &str| format!("{:?}", read(sql).unwrap().unwrap());
        let set = shown("SELECT pg_catalog.set_config('search_path', '', false)");
        assert!(
            set.contains("SetConfig") && set.contains("local: false"),
            "{set}"
        );
        for sql in [
            "SELECT set_config('a', 'b', false), 1",
            "SELECT set_config('a', b, false)",
            "SELECT 1",
        ] {
            assert!(shown(sql).starts_with("Engine"), "{sql}");
        }
    }
}
