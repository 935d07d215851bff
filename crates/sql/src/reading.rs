//! Text to sqlparser's trees: the one way in which any text is parsed.
//!
//! What must hold, whatever the text: the parser ends after work that is linear in the number of tokens, on a stack that
//! holds what it builds; what comes out is at most `MAX_DEPTH` deep, so that code that walks over it, prints, copies or drops
//! it can recurse. Chains of AND, of OR and of UNION are as good as flat: `balance.rs` makes them log n deep.

use super::balance::bring_into_shape;
use super::dialect::HushDialect;
use super::map_types::plain_map_types;
use super::operators::COMPREHENSION;
use crate::error::{Error, Result};
use crate::stack;
use sqlparser::ast::{
    DataType, Expr, ObjectName, Query, SelectItem, SetExpr, TableWithJoins, VisitMut,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// What the parser's work for one token takes of the stack at most, be it a level of recursion or of the tree that is dropped
/// in the end.
const BYTES_A_TOKEN: usize = 8 << 10;
/// What it takes for a statement as such.
const BYTES_A_STATEMENT: usize = 128 << 10;
/// More than this is not made: tens of thousands of tokens that may all be nested in one another.
const MOST_BYTES: usize = 1 << 30;
/// Steps of the parser for a token. It tries a second reading where one does not fit, so that those of nested constructs
/// multiply.
const STEPS_A_TOKEN: usize = 256;
const STEPS_A_STATEMENT: usize = 1 << 16;
/// Brackets within one another.
const MAX_BRACKETS: usize = 500;

/// Reads tokens with a parser that has room and ends.
pub(super) fn read<T>(
    tokens: Vec<TokenWithSpan>,
    work: impl FnOnce(&mut Parser<'_>) -> Result<T>,
) -> Result<T> {
    let room = room(&tokens)?;
    let steps = STEPS_A_STATEMENT + tokens.len() * STEPS_A_TOKEN;
    let dialect = HushDialect::with_steps(steps, renames_target(&tokens));
    stack::with_bytes(room, || {
        let mut parser = Parser::new(&dialect).with_tokens_with_locations(tokens);
        let read = work(&mut parser);
        match dialect.gave_up() {
            true => Err(Error::parser(
                "syntax error: no reading of the statement was found; look for a CASE without its END, or a bracket that is \
                 not closed",
            )),
            false => read,
        }
    })
}

/// Whether `INSERT INTO t AS name` stands somewhere.
fn renames_target(tokens: &[TokenWithSpan]) -> bool {
    let is_space = |token: &&TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    let mut tokens = tokens.iter().filter(|token| !is_space(token)).peekable();
    let keyword = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) if word.quote_style.is_none() => word.keyword,
        _ => Keyword::NoKeyword,
    };
    while let Some(token) = tokens.next() {
        if keyword(token) != Keyword::INTO {
            continue;
        }
        let _ = tokens.next();
        while tokens
            .next_if(|token| token.token == Token::Period)
            .is_some()
        {
            let _ = tokens.next();
        }
        if tokens
            .peek()
            .is_some_and(|token| keyword(token) == Keyword::AS)
        {
            return true;
        }
    }
    false
}

/// Reads a piece of text to its end; for one that the library or the catalog holds. `is_type`: the name of a type.
fn piece<T: VisitMut>(
    text: &str,
    is_type: bool,
    work: impl FnOnce(&mut Parser<'_>) -> Result<T, ParserError>,
) -> Result<T> {
    let failed = |error: ParserError| Error::parser(error.to_string());
    let mut tokens = Tokenizer::new(&HushDialect::default(), text)
        .tokenize_with_location()
        .map_err(|error| failed(error.into()))?;
    plain_map_types(&mut tokens, is_type);
    read(tokens, |parser| {
        let mut parsed = work(parser).map_err(failed)?;
        parser.expect_token(&Token::EOF).map_err(failed)?;
        bring_into_shape(&mut parsed)?;
        Ok(parsed)
    })
}

/// Parses an expression, such as a default.
pub fn parse_expr(text: &str) -> Result<Expr> {
    piece(text, false, |parser| parser.parse_expr())
}

/// Parses a query.
pub(super) fn parse_query(text: &str) -> Result<Box<Query>> {
    piece(text, false, |parser| parser.parse_query())
}

/// `SELECT item FROM tables`.
pub fn query_of(tables: Vec<TableWithJoins>, item: SelectItem) -> Result<Box<Query>> {
    let mut query = parse_query("SELECT 1")?;
    match query.body.as_mut() {
        SetExpr::Select(select) => {
            select.from = tables;
            select.projection = vec![item];
            Ok(query)
        }
        _ => Err(Error::internal("a query was read otherwise")),
    }
}

/// Parses the name of a type.
pub fn parse_data_type(text: &str) -> Result<DataType> {
    piece(text, true, |parser| parser.parse_data_type())
}

/// Parses a name with its parts.
pub(crate) fn parse_object_name(text: &str) -> Result<ObjectName> {
    piece(text, false, |parser| parser.parse_object_name(false))
}

/// How deep the tree of a text can get, and so how much of the stack it takes. A comma ends every chain of its level but
/// one of set operations; all that is not a name or a value may be a level of its own.
fn room(tokens: &[TokenWithSpan]) -> Result<usize> {
    /// Tokens of one level of brackets that may be nested in each other.
    #[derive(Clone, Copy, Default)]
    struct Level {
        expressions: usize,
        set_operations: usize,
    }
    let mut levels = vec![Level::default()];
    let (mut here, mut most) = (0usize, 0usize);
    let (mut in_a_row, mut angles) = (0usize, 0usize);
    let mut before = &Token::EOF;
    for token in tokens {
        if matches!(token.token, Token::Whitespace(_)) {
            continue;
        }
        // `INT[][]...` and `ARRAY<ARRAY<...` nest types without brackets within each other.
        match (before, &token.token) {
            (Token::RBracket, Token::LBracket) => in_a_row += 1,
            (Token::RBracket, _) => in_a_row = 0,
            (Token::Word(word), Token::Lt) if is_nested_type(word.keyword) => angles += 1,
            _ => {}
        }
        before = &token.token;
        let is_within = levels.len() > 1;
        let Some(level) = levels.last_mut() else {
            break;
        };
        match &token.token {
            Token::Number(..) | Token::SingleQuotedString(_) | Token::Period => {}
            Token::Word(word) if word.keyword == Keyword::NoKeyword => {}
            Token::Word(word) if is_set_operator(word.keyword) => {
                level.set_operations += 1;
                here += 1;
            }
            Token::Comma | Token::SemiColon => {
                here -= level.expressions;
                level.expressions = 0;
            }
            opens if is_bracket(opens) => {
                levels.push(Level::default());
                here += 1;
            }
            Token::RParen | Token::RBracket | Token::RBrace if is_within => {
                let ended = levels.pop().unwrap_or_default();
                here -= ended.expressions + ended.set_operations + 1;
                // What was in brackets may be an operand of what follows: `a[1][1]`.
                if let Some(level) = levels.last_mut() {
                    level.expressions += 1;
                    here += 1;
                }
            }
            _ => {
                level.expressions += 1;
                here += 1;
            }
        }
        most = most.max(here);
        if levels.len().max(in_a_row).max(angles) > MAX_BRACKETS {
            return Err(Error::parser(format!(
                "the statement is nested too deeply: it has more than {MAX_BRACKETS} brackets within or after each other"
            )));
        }
    }
    bytes_for(most)
}

/// Bytes of stack for a statement of which that many tokens may be nested in each other.
fn bytes_for(tokens: usize) -> Result<usize> {
    let bytes = BYTES_A_STATEMENT + tokens * BYTES_A_TOKEN;
    match bytes > MOST_BYTES {
        true => Err(Error::parser(
            "the statement is nested too deeply: it has too long a chain of operators; write IN (...) or a list instead, or \
             put the values into a table",
        )),
        false => Ok(bytes),
    }
}

/// Whether a bracket opens; that of a list comprehension is a mark.
fn is_bracket(token: &Token) -> bool {
    match token {
        Token::LParen | Token::LBracket | Token::LBrace => true,
        Token::Placeholder(mark) => mark == COMPREHENSION,
        _ => false,
    }
}

fn is_nested_type(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::ARRAY | Keyword::STRUCT | Keyword::MAP | Keyword::NESTED | Keyword::TUPLE
    )
}

fn is_set_operator(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::MINUS
    )
}
