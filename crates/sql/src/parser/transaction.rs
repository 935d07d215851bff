//! BEGIN, COMMIT, ROLLBACK and savepoints, with the words that DuckDB and PostgreSQL take beside them.

use super::statement::{Statement, TransactionStatement};
use super::tokens::{parser_error, word};
use crate::error::Result;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

const NOISE: [Keyword; 2] = [Keyword::TRANSACTION, Keyword::WORK];

/// BEGIN, COMMIT and ROLLBACK as programs write them around each transaction: a parser would take a stack of its own for them.
pub(super) fn of_one_word(sql: &str) -> Option<Statement> {
    let begin = TransactionStatement::Begin {
        read_only: false,
        isolation: None,
    };
    let known = [
        ("BEGIN", begin.clone()),
        ("BEGIN TRANSACTION", begin.clone()),
        ("START TRANSACTION", begin),
        ("COMMIT", TransactionStatement::Commit),
        ("END", TransactionStatement::Commit),
        ("ROLLBACK", TransactionStatement::Rollback),
    ];
    let mut known = known.into_iter();
    let found = known.find(|(text, _)| text.eq_ignore_ascii_case(sql));
    found.map(|(_, statement)| Statement::Transaction(statement))
}

/// `BEGIN [TRANSACTION | WORK] [READ ONLY | READ WRITE | ISOLATION LEVEL level], ...`, `START TRANSACTION ...`.
pub(super) fn begin(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let _ = parser.parse_one_of_keywords(&NOISE);
    let (mut read_only, mut isolation) = (false, None);
    loop {
        if parser.parse_keyword(Keyword::READ) {
            let mode = parser.expect_one_of_keywords(&[Keyword::ONLY, Keyword::WRITE]);
            read_only = mode.map_err(parser_error)? == Keyword::ONLY;
        } else if parser.parse_keywords(&[Keyword::ISOLATION, Keyword::LEVEL]) {
            isolation = Some(level(parser)?);
        } else {
            break;
        }
        // PostgreSQL takes modes without a comma between them, too.
        let _ = parser.consume_token(&Token::Comma);
    }
    Ok(Statement::Transaction(TransactionStatement::Begin {
        read_only,
        isolation,
    }))
}

/// The name of an isolation level.
fn level(parser: &mut Parser) -> Result<&'static str> {
    use Keyword as K;
    let first = [K::READ, K::REPEATABLE, K::SERIALIZABLE, K::SNAPSHOT];
    Ok(
        match parser
            .expect_one_of_keywords(&first)
            .map_err(parser_error)?
        {
            K::READ => {
                let which = parser.expect_one_of_keywords(&[K::COMMITTED, K::UNCOMMITTED]);
                match which.map_err(parser_error)? {
                    K::COMMITTED => "read committed",
                    _ => "read uncommitted",
                }
            }
            K::REPEATABLE => {
                parser.expect_keyword(K::READ).map_err(parser_error)?;
                "repeatable read"
            }
            K::SERIALIZABLE => "serializable",
            _ => "snapshot",
        },
    )
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

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::{Statement, TransactionStatement, of_one_word};

    #[test]
    fn what_needs_no_parser_is_what_the_parser_reads() {
        let said = |statement: &Statement| match statement {
            Statement::Transaction(statement) => format!("{statement:?}"),
            _ => panic!("no transaction"),
        };
        for sql in [
            "BEGIN",
            "begin transaction",
            "START TRANSACTION",
            "Commit",
            "END",
            "rollback",
        ] {
            let known = of_one_word(sql).expect(sql);
            // A blank before it sends it to the parser.
            assert_eq!(said(&known), said(&parse(&format!(" {sql}")).unwrap()));
        }
        for sql in ["BEGIN READ ONLY", "ROLLBACK TO a", "", "COMMITS", "BEGIN;"] {
            assert!(of_one_word(sql).is_none(), "{sql}");
        }
        let rollback = TransactionStatement::Rollback;
        assert_ne!(
            said(&Statement::Transaction(rollback)),
            said(&parse("COMMIT").unwrap())
        );
    }
}
