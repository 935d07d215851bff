//! ATTACH and DETACH, and the options that say where a key comes from.

use super::statement::{AttachOption, OnConflict, Statement};
use super::tokens::{expect, scalar, string, word};
use crate::error::{Error, Result};
use crate::key_literals::KeyLiterals;
use sqlparser::ast::{Expr, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

pub(super) fn attach(parser: &mut Parser, keys: &KeyLiterals) -> Result<Statement> {
    parser.next_token();
    let replaces = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let _ = parser.parse_keyword(Keyword::DATABASE);
    let keeps = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    let on_conflict = match (replaces, keeps) {
        (false, false) => OnConflict::Fail,
        (false, true) => OnConflict::Keep,
        (true, false) => OnConflict::Replace,
        (true, true) => {
            return Err(Error::parser(
                "ATTACH takes OR REPLACE or IF NOT EXISTS, not both",
            ));
        }
    };
    let path = string(parser)?;
    let name = if parser.parse_keyword(Keyword::AS) {
        Some(word(parser)?)
    } else {
        None
    };
    let options = match parser.peek_token().token {
        Token::LParen => options(parser, keys)?,
        _ => vec![],
    };
    Ok(Statement::Attach {
        path,
        name,
        on_conflict,
        options,
    })
}

/// `(NAME value, NAME = value, NAME)`, where values of options about keys were taken out of the text.
pub(super) fn options(parser: &mut Parser, keys: &KeyLiterals) -> Result<Vec<AttachOption>> {
    expect(parser, &Token::LParen)?;
    let mut options = vec![];
    loop {
        let name = word(parser)?.to_lowercase();
        let (mut value, mut secret) = (None, None);
        if !matches!(parser.peek_token().token, Token::Comma | Token::RParen) {
            let _ = parser.consume_token(&Token::Eq);
            let next = parser.peek_token();
            value = match next.token {
                Token::Placeholder(name) => {
                    parser.next_token();
                    let value = Value::Placeholder(name).with_span(next.span);
                    Some(Expr::Value(value))
                }
                _ if KeyLiterals::are_values_of(&name) => {
                    secret = Some(keys.behind(&scalar(parser)?)?);
                    None
                }
                _ => Some(Expr::value(Value::SingleQuotedString(scalar(parser)?))),
            };
        }
        options.push(AttachOption {
            name,
            value,
            secret,
        });
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    expect(parser, &Token::RParen)?;
    Ok(options)
}

pub(super) fn detach(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    let _ = parser.parse_keyword(Keyword::DATABASE);
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    Ok(Statement::Detach {
        name: word(parser)?,
        if_exists,
    })
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn attach_reads_its_options() {
        let Ok(Statement::Attach {
            path,
            name,
            options,
            ..
        }) = parse("ATTACH 'a b.db' AS x (ENCRYPTION_KEY 'hex:00', READ_ONLY, TYPE hush)")
        else {
            panic!("not an ATTACH")
        };
        assert_eq!((path.as_str(), name.as_deref()), ("a b.db", Some("x")));
        assert_eq!(
            options.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(),
            ["encryption_key", "read_only", "type"]
        );
        assert!(!format!("{options:?}").contains("hex:00"));
    }

    #[test]
    fn errors_do_not_repeat_strings() {
        let error = parse("ATTACH 'f' AS x (ENCRYPTION_KEY 'sesame' 'sesame')")
            .err()
            .unwrap();
        assert!(!error.to_string().contains("sesame"), "{error}");
    }
}
