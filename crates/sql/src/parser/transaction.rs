//! BEGIN, COMMIT, ROLLBACK and savepoints, with the words that DuckDB and PostgreSQL take beside them.

use super::statement::{Statement, TransactionStatement};
use super::tokens::{parser_error, word};
use crate::error::Result;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;

const NOISE: [Keyword; 2] = [Keyword::TRANSACTION, Keyword::WORK];

/// `BEGIN [TRANSACTION | WORK] [READ ONLY | READ WRITE]`, `START TRANSACTION ...`.
pub(super) fn begin(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let _ = parser.parse_one_of_keywords(&NOISE);
    let mut read_only = false;
    if parser.parse_keyword(Keyword::READ) {
        let mode = parser.expect_one_of_keywords(&[Keyword::ONLY, Keyword::WRITE]);
        read_only = mode.map_err(parser_error)? == Keyword::ONLY;
    }
    Ok(Statement::Transaction(TransactionStatement::Begin {
        read_only,
    }))
}

/// `COMMIT [TRANSACTION | WORK]`, `END ...`.
pub(super) fn commit(parser: &mut Parser) -> Statement {
    parser.next_token();
    let _ = parser.parse_one_of_keywords(&NOISE);
    Statement::Transaction(TransactionStatement::Commit)
}

/// `ROLLBACK [TRANSACTION | WORK] [TO [SAVEPOINT] name]`, `ABORT ...`.
pub(super) fn rollback(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let _ = parser.parse_one_of_keywords(&NOISE);
    Ok(Statement::Transaction(
        if parser.parse_keyword(Keyword::TO) {
            let _ = parser.parse_keyword(Keyword::SAVEPOINT);
            TransactionStatement::RollbackTo(word(parser)?)
        } else {
            TransactionStatement::Rollback
        },
    ))
}

/// `SAVEPOINT name`.
pub(super) fn savepoint(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let name = word(parser)?;
    Ok(Statement::Transaction(TransactionStatement::Savepoint(
        name,
    )))
}

/// `RELEASE [SAVEPOINT] name`.
pub(super) fn release(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let _ = parser.parse_keyword(Keyword::SAVEPOINT);
    let name = word(parser)?;
    Ok(Statement::Transaction(TransactionStatement::Release(name)))
}
