//! The SQL front as a function of bytes: what fuzzing calls, and the test that runs its corpus. No part of the interface
//! for programs.

use crate::error::Error;
use crate::stack::with_room;
use crate::{Place, Statement, parse, rewrite, split_statements};

/// Splits a text into statements, parses and rewrites each. Returns, whatever the bytes are.
pub fn sql(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let split = split_statements(&text);
    for statement in split.statements.iter().chain([&split.rest, &&*text]) {
        if let Ok(Statement::Sql(mut parsed)) = parse(statement) {
            let place = Place {
                database: "memory",
                schema: "main",
                descending: false,
                complete: &|_| None,
                is_scalar: &|_| false,
                is_aggregate: &|_| false,
                setting: &|_| Err(Error::catalog("no setting")),
                alike: &|_| vec![],
            };
            with_room(|| drop((rewrite(&mut parsed, &place), parsed)));
        }
    }
}
