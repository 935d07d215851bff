//! The simple protocol: a text of statements, each answered with text values.

use super::command::{self, Command};
use super::execute::{Answer, heads, tag};
use super::{End, Fail, Session};
use crate::sql_error::SqlError;
use crate::wire::front::Formats;
use crate::wire::row::Rows;
use hushdb::split_statements;

impl Session {
    /// A Query message.
    pub(super) fn query(&mut self, sql: &str) -> Result<(), End> {
        self.portals.remove("");
        self.statements.remove("");
        match self.statements_of(sql) {
            Ok(()) => {}
            Err(Fail::End(end)) => return Err(end),
            Err(Fail::Sql(error)) => {
                self.notices();
                self.failed(&error);
            }
        }
        self.talk.out.ready(self.block.status());
        Ok(())
    }

    fn statements_of(&mut self, sql: &str) -> Result<(), Fail> {
        let split = split_statements(sql);
        if split.open_quote {
            return Err(SqlError::syntax("unterminated quoted string or comment").into());
        }
        let rest = (!split.rest.is_empty()).then_some(split.rest);
        let statements: Vec<&str> = split.statements.into_iter().chain(rest).collect();
        let mut answered = false;
        for statement in &statements {
            let Some(command) = command::read(statement)? else {
                continue;
            };
            answered = true;
            // Several statements are one transaction, unless they say otherwise.
            if statements.len() > 1 && !command.is_control() {
                self.may_run(&command)?;
                self.begin_implicit()?;
            }
            let own = match &command {
                Command::Engine { sql, .. } if sql == statement => Some(*statement),
                _ => None,
            };
            self.simple(&command).map_err(|fail| match fail {
                Fail::Sql(error) => Fail::Sql(error.within(sql, own)),
                end => end,
            })?;
        }
        if !answered {
            self.talk.out.bare(b'I');
        }
        self.end_implicit()?;
        Ok(())
    }

    fn simple(&mut self, command: &Command) -> Result<(), Fail> {
        self.may_run(command)?;
        let answered = self.timed(|session| match session.of_server(command)? {
            Some(answer) => session.answer(answer).map(|()| true),
            None => Ok(false),
        });
        if answered? {
            return Ok(());
        }
        let Command::Engine { sql, notice } = command else {
            return Err(SqlError::missing("this statement").into());
        };
        if let Some(notice) = notice {
            self.talk.report("NOTICE", &SqlError::new("00000", *notice));
        }
        self.timed(|session| {
            let result = session.connection.run(sql);
            let result = result.map_err(|error| SqlError::placed(error, sql))?;
            session.send_result(result)
        })
    }

    fn answer(&mut self, answer: Answer) -> Result<(), Fail> {
        match answer {
            Answer::Tag(tag) => self.talk.out.complete(&tag),
            Answer::Rows(said, batch) => {
                self.talk
                    .out
                    .row_description(&heads(&batch.schema()), |_| false);
                let rows = Rows::new(&batch)?;
                self.send_rows(&rows, 0, usize::MAX, &Formats::default())?;
                self.talk.out.complete(said);
            }
            Answer::Fetched(schema, fetched) => {
                self.talk.out.row_description(&heads(&schema), |_| false);
                let mut count = 0;
                for batch in fetched {
                    let rows = Rows::new(&batch?)?;
                    count += self.send_rows(&rows, 0, usize::MAX, &Formats::default())? as u64;
                }
                self.notices();
                self.talk.out.complete(&tag("FETCH", count));
            }
        }
        Ok(())
    }
}
