//! `INTERVAL 3 DECADES`, `INTERVAL '2 days'` as they are written: with DuckDB's units and no others.

use sqlparser::ast::{DateTimeField, Expr, Interval, UnaryOperator, Value};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

/// Units by their words, with the function that counts them and whether it counts fractions.
const UNITS: [([&str; 2], &str, bool); 13] = [
    (["millennium", "millennia"], "to_millennia", false),
    (["century", "centuries"], "to_centuries", false),
    (["decade", "decades"], "to_decades", false),
    (["year", "years"], "to_years", false),
    (["quarter", "quarters"], "to_quarters", false),
    (["month", "months"], "to_months", false),
    (["week", "weeks"], "to_weeks", false),
    (["day", "days"], "to_days", false),
    (["hour", "hours"], "to_hours", false),
    (["minute", "minutes"], "to_minutes", false),
    (["second", "seconds"], "to_seconds", true),
    (["millisecond", "milliseconds"], "to_milliseconds", true),
    (["microsecond", "microseconds"], "to_microseconds", false),
];

/// The unit that a word names.
pub(super) fn unit(word: &str) -> Option<&'static ([&'static str; 2], &'static str, bool)> {
    let is_named = |names: &[&str; 2]| names.iter().any(|name| name.eq_ignore_ascii_case(word));
    UNITS.iter().find(|(names, ..)| is_named(names))
}

/// Parses an INTERVAL with a value; `None` where the word begins something else.
pub(super) fn parse(parser: &mut Parser) -> Option<std::result::Result<Expr, ParserError>> {
    if !parser.peek_keyword(Keyword::INTERVAL) {
        return None;
    }
    if is_column(parser) {
        return Some(parser.parse_identifier().map(Expr::Identifier));
    }
    let is_value = matches!(
        parser.peek_nth_token_ref(1).token,
        Token::SingleQuotedString(_) | Token::Number(..) | Token::LParen | Token::Minus
    );
    if !is_value || !parser.parse_keyword(Keyword::INTERVAL) {
        return None;
    }
    Some(interval_value(parser))
}

/// Whether the word is the name of a column: nothing that an interval begins with is behind it.
fn is_column(parser: &Parser) -> bool {
    let behind = |n: usize| &parser.peek_nth_token_ref(n).token;
    let is_unit = |n: usize| matches!(behind(n), Token::Word(word) if unit(&word.value).is_some());
    match behind(1) {
        Token::Word(word) if BEHIND_COLUMNS.contains(&word.keyword) => true,
        Token::Word(_) => !is_unit(2) && !matches!(behind(2), Token::Period | Token::LParen),
        Token::Minus => !(matches!(behind(2), Token::Number(..)) && is_unit(3)),
        Token::EOF | Token::Comma | Token::RParen | Token::RBracket | Token::SemiColon => true,
        Token::DoubleColon | Token::Eq | Token::Neq | Token::Lt | Token::Gt => true,
        Token::LtEq | Token::GtEq | Token::Plus | Token::Mul | Token::Div => true,
        Token::StringConcat | Token::Mod => true,
        _ => false,
    }
}

/// Words that may be behind a column, and begin no interval.
const BEHIND_COLUMNS: [Keyword; 20] = [
    Keyword::AND,
    Keyword::AS,
    Keyword::ASC,
    Keyword::BETWEEN,
    Keyword::DESC,
    Keyword::ELSE,
    Keyword::END,
    Keyword::FROM,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::ILIKE,
    Keyword::IN,
    Keyword::IS,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NOT,
    Keyword::OR,
    Keyword::ORDER,
    Keyword::THEN,
    Keyword::WHERE,
];

fn interval_value(parser: &mut Parser) -> std::result::Result<Expr, ParserError> {
    let value = if parser.consume_token(&Token::LParen) {
        let inner = parser.parse_expr()?;
        parser.expect_token(&Token::RParen)?;
        Expr::Nested(Box::new(inner))
    } else if parser.consume_token(&Token::Minus) {
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: Box::new(Expr::Value(parser.parse_number_value()?)),
        }
    } else {
        Expr::Value(parser.parse_value()?)
    };
    let is_text =
        matches!(&value, Expr::Value(v) if matches!(v.value, Value::SingleQuotedString(_)));
    let is_unit = matches!(&parser.peek_token_ref().token,
        Token::Word(w) if w.quote_style.is_none() && unit(&w.value).is_some());
    if !is_unit && !is_text {
        return Err(ParserError::ParserError(
            "an INTERVAL takes a unit from MICROSECOND to MILLENNIUM, as in INTERVAL 3 DAYS".into(),
        ));
    }
    let leading_field = match is_unit {
        true => Some(DateTimeField::Custom(parser.parse_identifier()?)),
        false => None,
    };
    let is_range = matches!(&parser.peek_token_ref().token, Token::LParen)
        || matches!(&parser.peek_token_ref().token, Token::Word(w) if w.keyword == Keyword::TO);
    if is_unit && is_range {
        return Err(ParserError::ParserError(
            "an INTERVAL takes one unit: not two with TO, and no precision".into(),
        ));
    }
    Ok(Expr::Interval(Interval {
        value: Box::new(value),
        leading_field,
        leading_precision: None,
        last_field: None,
        fractional_seconds_precision: None,
    }))
}
