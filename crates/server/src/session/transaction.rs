//! Transactions as a client sees them: blocks that it begins, and those around a pipeline or several statements of one text.

use super::command::Command;
use super::{End, Fail, Session};
use crate::sql_error::SqlError;
use crate::words::{Kind, tokens};

/// The level that is there for transactions that only read, for which it is that of REPEATABLE READ.
pub(super) const SERIALIZABLE: &str = "serializable";

/// What is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Block {
    /// Every statement is a transaction of its own.
    #[default]
    None,
    /// Around what the client sent together.
    Implicit,
    /// Between BEGIN and COMMIT.
    Explicit,
    /// The same after an error.
    Failed,
}

impl Block {
    /// What ReadyForQuery says of it.
    pub(super) fn status(self) -> u8 {
        match self {
            Self::None | Self::Implicit => b'I',
            Self::Explicit => b'T',
            Self::Failed => b'E',
        }
    }

    pub(super) fn is_open(self) -> bool {
        matches!(self, Self::Explicit | Self::Failed)
    }
}

pub(super) fn failed_block() -> SqlError {
    SqlError::new(
        "25P02",
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

/// The savepoint that a statement names, which is its last word.
fn point_of(sql: &str) -> String {
    let words = tokens(sql).unwrap_or_default().into_iter().rev();
    let mut names = words.filter_map(|token| match token.kind {
        Kind::Word(word) => Some(word),
        Kind::Quoted(name) => Some(name),
        _ => None,
    });
    names.next().unwrap_or_default()
}

impl Session {
    fn engine(&mut self, sql: &str) -> Result<(), SqlError> {
        self.connection.run(sql)?;
        Ok(())
    }

    /// Begins a transaction under a level, the session's own where none is said.
    fn begin_engine(
        &mut self,
        read_only: bool,
        isolation: Option<&'static str>,
    ) -> Result<(), SqlError> {
        let level = |level: &str| format!("SET default_transaction_isolation = '{level}'");
        match isolation {
            Some(SERIALIZABLE) => self.engine(&level("repeatable read"))?,
            Some(isolation) => self.engine(&level(isolation))?,
            None => {}
        }
        let begun = self.engine(if read_only {
            "BEGIN READ ONLY"
        } else {
            "BEGIN"
        });
        self.is_fresh = true;
        if isolation.is_some() {
            let own = self.settings.lock().get("default_transaction_isolation");
            self.engine(&level(&own.unwrap_or_default()))?;
        }
        let mut settings = self.settings.lock();
        settings.of_block = match isolation {
            Some(level) => Some(level.to_owned()),
            None => settings.get("default_transaction_isolation"),
        };
        settings.begin();
        drop(settings);
        begun
    }

    /// SET TRANSACTION: one that has done nothing yet begins anew as is said, any other stays as it is.
    pub(super) fn set_transaction(
        &mut self,
        session: bool,
        isolation: Option<&'static str>,
        read_only: bool,
    ) -> Result<(), SqlError> {
        let of_block = self.settings.lock().of_block.clone();
        let differs = isolation.is_some() && isolation != of_block.as_deref();
        if !session && self.block == Block::Explicit && (differs || read_only) {
            if !self.is_fresh {
                let message = "SET TRANSACTION must be called before any query";
                return Err(SqlError::new("25001", message));
            }
            self.engine("ROLLBACK")?;
            return self.begin_engine(read_only, isolation);
        }
        let Some(level) = isolation.filter(|_| session) else {
            return Ok(());
        };
        self.settings
            .lock()
            .set("default_transaction_isolation", Some(level), false)?;
        self.apply("default_transaction_isolation")
    }

    /// Begins a transaction around what comes, unless one is open.
    pub(super) fn begin_implicit(&mut self) -> Result<(), SqlError> {
        if self.block == Block::None {
            self.engine("BEGIN")?;
            self.settings.lock().begin();
            self.block = Block::Implicit;
        }
        Ok(())
    }

    /// Commits the transaction around what came.
    pub(super) fn end_implicit(&mut self) -> Result<(), SqlError> {
        match self.block {
            Block::Implicit => self.commit_engine(),
            _ => Ok(()),
        }
    }

    fn commit_engine(&mut self) -> Result<(), SqlError> {
        self.hold_cursors();
        let done = self.end_engine("COMMIT");
        if done.is_err() {
            self.cursors.clear();
        }
        done
    }

    /// Ends the transaction, and has the engine heed what settings are without it.
    fn end_engine(&mut self, how: &str) -> Result<(), SqlError> {
        if how == "ROLLBACK" {
            self.recent.clear();
        }
        self.ended();
        let done = self.engine(how);
        if done.is_err() && self.connection.in_transaction() {
            let _ = self.engine("ROLLBACK");
        }
        let applied = self.end_settings(done.is_ok() && how == "COMMIT");
        done.and(applied)
    }

    /// Settings are what they are behind the transaction.
    fn end_settings(&mut self, kept: bool) -> Result<(), SqlError> {
        let changed = self.settings.lock().end_transaction(kept);
        self.heed_settings(&changed)
    }

    /// Tells clients of settings that have changed, and has the engine heed them.
    fn heed_settings(&mut self, changed: &[String]) -> Result<(), SqlError> {
        let told = self.settings.lock().told(changed);
        self.tell(told);
        changed.iter().try_for_each(|name| self.apply(name))
    }

    /// The transaction is over, however it went.
    fn ended(&mut self) {
        self.block = Block::None;
        self.portals.clear();
        self.end_cursors();
        self.settings.lock().of_block = None;
    }

    fn warn(&mut self, sqlstate: &str, message: &str) {
        self.talk
            .report("WARNING", &SqlError::new(sqlstate, message));
    }

    /// An error has happened: what is implicit is undone, a block waits for its end.
    pub(super) fn fail_block(&mut self) {
        match self.block {
            Block::None | Block::Failed => {}
            Block::Implicit => {
                if self.connection.in_transaction() {
                    let _ = self.end_engine("ROLLBACK");
                }
                self.ended();
                let _ = self.end_settings(false);
            }
            Block::Explicit => {
                self.block = Block::Failed;
                self.portals.clear();
            }
        }
    }

    /// BEGIN, COMMIT and their like; gives the tag.
    pub(super) fn control(&mut self, command: &Command) -> Result<&'static str, Fail> {
        match command {
            Command::Begin {
                read_only,
                isolation,
            } => {
                match self.block {
                    Block::Failed => return Err(failed_block().into()),
                    Block::Explicit => {
                        self.warn("25001", "there is already a transaction in progress")
                    }
                    // What came before in the pipeline is a part of it, as in PostgreSQL.
                    Block::Implicit => {}
                    Block::None => {
                        self.begin_engine(*read_only, *isolation)?;
                    }
                }
                self.block = Block::Explicit;
                Ok("BEGIN")
            }
            Command::Commit => self.commit(),
            Command::Rollback => {
                match self.block {
                    Block::None => self.warn("25P01", "there is no transaction in progress"),
                    _ => {
                        self.end_engine("ROLLBACK")?;
                    }
                }
                Ok("ROLLBACK")
            }
            Command::Savepoint(sql) => {
                match self.block {
                    Block::Failed => return Err(failed_block().into()),
                    Block::Explicit => self.engine(sql)?,
                    _ => {
                        let message = "SAVEPOINT can only be used in transaction blocks";
                        return Err(SqlError::new("25P01", message).into());
                    }
                }
                let is_release = sql
                    .trim_start()
                    .get(..7)
                    .is_some_and(|w| w.eq_ignore_ascii_case("release"));
                let mut settings = self.settings.lock();
                match is_release {
                    true => settings.release(&point_of(sql)),
                    false => settings.savepoint(&point_of(sql)),
                }
                Ok(if is_release { "RELEASE" } else { "SAVEPOINT" })
            }
            Command::RollbackTo(sql) => {
                if !self.block.is_open() {
                    let message = "ROLLBACK TO SAVEPOINT can only be used in transaction blocks";
                    return Err(SqlError::new("25P01", message).into());
                }
                self.engine(sql)?;
                self.recent.clear();
                self.block = Block::Explicit;
                let changed = self.settings.lock().back_to(&point_of(sql));
                self.heed_settings(&changed)?;
                // Which of them are of the part that is undone is not kept.
                self.end_cursors();
                Ok("ROLLBACK")
            }
            _ => Ok(""),
        }
    }

    fn commit(&mut self) -> Result<&'static str, Fail> {
        match self.block {
            Block::None => {
                self.warn("25P01", "there is no transaction in progress");
                Ok("COMMIT")
            }
            Block::Failed => {
                self.end_engine("ROLLBACK")?;
                Ok("ROLLBACK")
            }
            Block::Implicit | Block::Explicit => {
                self.commit_engine()?;
                Ok("COMMIT")
            }
        }
    }

    /// Sync: a pipeline is a transaction up to here.
    pub(super) fn sync(&mut self) -> Result<(), End> {
        if let Err(error) = self.end_implicit() {
            self.talk.report("ERROR", &error);
        }
        if !self.block.is_open() {
            self.portals.clear();
        }
        self.talk.out.ready(self.block.status());
        Ok(())
    }
}
