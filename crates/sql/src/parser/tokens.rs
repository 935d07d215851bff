//! Reading tokens one by one: words, names, strings, and what is said of a token that does not fit.

use super::statement::EntryHead;
use crate::error::{Error, Result};
use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

pub(super) fn object_name(parser: &mut Parser) -> Result<ObjectName> {
    parser.parse_object_name(false).map_err(parser_error)
}

/// `name [CASCADE | RESTRICT]`, of things on which nothing else depends, so that both drop the one.
pub(super) fn dropped_name(parser: &mut Parser) -> Result<ObjectName> {
    let name = object_name(parser)?;
    if parser.peek_token().token == Token::Comma {
        return Err(Error::unsupported("Can only drop one object at a time"));
    }
    let cascade = parser.parse_keyword(Keyword::CASCADE);
    let _ = !cascade && parser.parse_keyword(Keyword::RESTRICT);
    Ok(name)
}

/// `CREATE [OR REPLACE] [TEMP] kind [IF NOT EXISTS] name`, of a kind that is one word.
pub(super) fn entry_head(parser: &mut Parser) -> Result<EntryHead> {
    parser.next_token();
    let or_replace = parser.parse_keywords(&[Keyword::OR, Keyword::REPLACE]);
    let temporary = parser
        .parse_one_of_keywords(&[Keyword::TEMP, Keyword::TEMPORARY])
        .is_some();
    parser.next_token();
    let if_not_exists = parser.parse_keywords(&[Keyword::IF, Keyword::NOT, Keyword::EXISTS]);
    if or_replace && if_not_exists {
        return Err(Error::parser("syntax error at or near \"NOT\""));
    }
    Ok(EntryHead {
        name: object_name(parser)?,
        or_replace,
        if_not_exists,
        temporary,
    })
}

pub(super) fn parts(name: &ObjectName) -> Vec<String> {
    name.0
        .iter()
        .filter_map(|part| part.as_ident().map(|ident| ident.value.clone()))
        .collect()
}

/// A word, as it is written.
pub(super) fn word(parser: &mut Parser) -> Result<String> {
    Ok(parser.parse_identifier().map_err(parser_error)?.value)
}

pub(super) fn string(parser: &mut Parser) -> Result<String> {
    match parser.next_token().token {
        Token::SingleQuotedString(text) => Ok(text),
        Token::DollarQuotedString(text) => Ok(text.value),
        other => Err(syntax_error(&other)),
    }
}

/// A string, number or word as text.
pub(super) fn scalar(parser: &mut Parser) -> Result<String> {
    match parser.next_token().token {
        Token::SingleQuotedString(text) => Ok(text),
        Token::DollarQuotedString(text) => Ok(text.value),
        Token::Word(word) => Ok(word.value),
        Token::Number(text, _) => Ok(text),
        Token::Minus => match parser.next_token().token {
            Token::Number(text, _) => Ok(format!("-{text}")),
            other => Err(syntax_error(&other)),
        },
        other => Err(syntax_error(&other)),
    }
}

pub(super) fn expect(parser: &mut Parser, token: &Token) -> Result<()> {
    if parser.consume_token(token) {
        Ok(())
    } else {
        Err(syntax_error(&parser.peek_token().token))
    }
}

/// The next tokens as upper-case words, without consuming them.
pub(super) fn words(parser: &Parser, n: usize) -> Vec<String> {
    (0..n)
        .map(|i| match &parser.peek_nth_token_ref(i).token {
            Token::Word(word) if word.quote_style.is_none() => word.value.to_uppercase(),
            other => other.to_string(),
        })
        .collect()
}

pub(super) fn parser_error(error: ParserError) -> Error {
    let text = match error {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text,
        ParserError::RecursionLimitExceeded => "the statement is nested too deeply".to_string(),
    };
    let text = without_string(&text);
    match found_at(&text) {
        Some((error, Some((line, column)))) => error.at(line, column),
        Some((error, None)) => error,
        None => Error::parser(text),
    }
}

/// DuckDB's words for `Expected: x, found: y at Line: 1, Column: 2`, and the place.
fn found_at(text: &str) -> Option<(Error, Option<(u64, u64)>)> {
    let (_, found) = text.strip_prefix("Expected: ")?.split_once("found: ")?;
    let (token, place) = match found.rsplit_once(" at Line: ") {
        Some((token, place)) => (token, place.split_once(", Column: ")),
        None => (found, None),
    };
    let place = place.and_then(|(line, column)| Some((line.parse().ok()?, column.parse().ok()?)));
    let error = match token {
        "EOF" => Error::parser("syntax error at end of input"),
        "a string" => Error::parser("syntax error at or near a string"),
        // A number may be data.
        number if number.starts_with(|c: char| c.is_ascii_digit()) => {
            Error::parser("syntax error at or near a number")
        }
        token => Error::parser(format!("syntax error at or near \"{token}\"")),
    };
    Some((error, place.filter(|_| token != "EOF")))
}

/// The text without the string that was found where it does not fit.
fn without_string(text: &str) -> String {
    const FOUND: &str = "found: ";
    let Some((before, found)) = text.split_once(FOUND) else {
        return text.to_string();
    };
    let (token, place) = match found.rfind(" at Line: ") {
        Some(at) => found.split_at(at),
        None => (found, ""),
    };
    // `'...'`, `$$...$$`, and those with letters before them: `E'...'`, `X'...'`, `U&'...'`.
    let quoted = token.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '&');
    let parameter = token
        .strip_prefix('$')
        .is_some_and(|n| n.parse::<u32>().is_ok());
    match quoted.starts_with(['\'', '$']) && !parameter {
        true => format!("{before}{FOUND}a string{place}"),
        false => text.to_string(),
    }
}

pub(super) fn syntax_error(token: &Token) -> Error {
    match token {
        Token::EOF => Error::parser("syntax error at end of input"),
        // A string may be a key: it is not repeated.
        Token::SingleQuotedString(_) | Token::DollarQuotedString(_) => {
            Error::parser("syntax error at or near a string")
        }
        Token::Number(..) => Error::parser("syntax error at or near a number"),
        other => Error::parser(format!("syntax error at or near \"{other}\"")),
    }
}
