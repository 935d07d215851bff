//! Operators of DuckDB that the parser lacks, as calls of the functions that they are: `@x`, `x!`, `GLOB`, `^@`, `&&`, `@>`, `<@`,
//! `<->`, `<=>`, `x IN list`; names before a colon, and list comprehensions.

use super::calls::{call, quoted_call};
use crate::cut_divide::CONTAINS;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, ExactNumberInfo, Expr, Ident, LambdaFunction,
    LambdaFunctionParameter, LambdaSyntax, OneOrManyWithParens, UnaryOperator,
};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;

type Parsed = Option<Result<Expr, ParserError>>;

/// The mark of a list comprehension, in place of its bracket. No parameter has a space in its name.
pub(super) const COMPREHENSION: &str = "$for ";
/// The mark of a name before a colon; the name follows behind a quote or a space.
pub(super) const NAMED: &str = "$as";
/// The mark of `|/`, and of `||/`.
pub(super) const SQUARE_ROOT: &str = "$|/";
pub(super) const CUBE_ROOT: &str = "$||/";
/// The mark of SYMMETRIC behind BETWEEN, and the call that the first end becomes.
pub(super) const SYMMETRIC_MARK: &str = "$between symmetric";
pub(super) const SYMMETRIC: &str = "$symmetric";
/// The column of FROM, or of the select list, at a place: `#1`.
pub const PLACE: &str = "#";
/// `*COLUMNS(...)` among arguments.
pub const UNPACKED: &str = "$columns";
/// Whether a text matches a pattern of files' names.
pub const GLOB_MATCH: &str = "~~~";
/// Of `json -> path`, which is looser than OR.
const JSON_ARROW: u8 = 4;
/// Of `!`, as in PostgreSQL's grammar: what is added before it is of its operand, what is compared is not.
const POSTFIX: u8 = 24;
/// Of BETWEEN, IN, LIKE and its kind, which bind tighter than comparisons (20) in PostgreSQL's grammar.
pub(super) const MATCHES: u8 = 22;

/// What begins with one of them.
pub(super) fn prefix(parser: &mut Parser, precedence: u8) -> Parsed {
    match &parser.peek_token_ref().token {
        Token::AtSign => {
            parser.next_token();
            let of = parser.parse_subexpr(precedence);
            Some(of.map(|of| call("abs", vec![of])))
        }
        Token::Tilde => {
            parser.next_token();
            let of = parser.parse_subexpr(precedence);
            Some(of.map(|of| Expr::UnaryOp {
                op: UnaryOperator::BitwiseNot,
                expr: Box::new(of),
            }))
        }
        Token::Sharp => match &parser.peek_nth_token_ref(1).token {
            Token::Number(..) => {
                parser.next_token();
                let number = parser.parse_number_value().map(Expr::Value);
                Some(number.map(|number| quoted_call(PLACE, vec![number])))
            }
            _ => None,
        },
        Token::Placeholder(mark) if mark == COMPREHENSION => {
            parser.next_token();
            Some(comprehension(parser))
        }
        Token::Placeholder(mark) if [SQUARE_ROOT, CUBE_ROOT].contains(&mark.as_str()) => {
            let name = if mark == SQUARE_ROOT { "sqrt" } else { "cbrt" };
            parser.next_token();
            let of = parser.parse_subexpr(precedence);
            Some(of.map(|of| call(name, vec![as_double(of)])))
        }
        Token::Placeholder(mark) if mark == SYMMETRIC_MARK => {
            parser.next_token();
            let low = parser.parse_subexpr(MATCHES);
            Some(low.map(|low| quoted_call(SYMMETRIC, vec![low])))
        }
        Token::Placeholder(mark) => {
            let name = mark.strip_prefix(NAMED)?;
            let name = match name.strip_prefix('"') {
                Some(name) => Ident::with_quote('"', name),
                None => Ident::new(name.trim_start()),
            };
            parser.next_token();
            let expr = parser.parse_expr().map(Box::new);
            Some(expr.map(|expr| Expr::Named { expr, name }))
        }
        _ => None,
    }
}

fn as_double(expr: Expr) -> Expr {
    Expr::Cast {
        kind: CastKind::Cast,
        expr: Box::new(expr),
        data_type: DataType::Double(ExactNumberInfo::None),
        array: false,
        format: None,
    }
}

/// How tightly the operator binds that comes next, if it is one of them.
pub(super) fn precedence(parser: &Parser, other: u8) -> Option<u8> {
    match &parser.peek_token_ref().token {
        Token::ExclamationMark => Some(POSTFIX),
        Token::HashArrow => Some(JSON_ARROW),
        Token::LongArrow | Token::CustomBinaryOperator(_) => Some(other),
        Token::Overlap | Token::AtArrow | Token::ArrowAt | Token::CaretAt => Some(other),
        Token::Spaceship => Some(other),
        Token::Lt if is_distance(parser) => Some(other),
        Token::Tilde
        | Token::DoubleTilde
        | Token::TildeAsterisk
        | Token::DoubleTildeAsterisk
        | Token::ExclamationMarkTilde
        | Token::ExclamationMarkTildeAsterisk
        | Token::ExclamationMarkDoubleTilde
        | Token::ExclamationMarkDoubleTildeAsterisk => Some(other),
        Token::Word(word) if is_glob(word) => Some(MATCHES),
        _ => None,
    }
}

/// Whether `<->` comes next. Its arrow is one of JSON to the parser.
fn is_distance(parser: &Parser) -> bool {
    let arrow = &parser.peek_nth_token_ref(1).token;
    matches!(arrow, Token::HashArrow | Token::Arrow)
}

fn is_glob(word: &sqlparser::tokenizer::Word) -> bool {
    word.quote_style.is_none() && word.value.eq_ignore_ascii_case("glob")
}

/// What an operand becomes together with one of them, and what is to the operator's right.
pub(super) fn infix(parser: &mut Parser, left: &Expr, precedence: u8) -> Parsed {
    let (name, turned) = match &parser.peek_token_ref().token {
        Token::ExclamationMark => {
            parser.next_token();
            return Some(Ok(call("factorial", vec![left.clone()])));
        }
        Token::Overlap => ("list_has_any", false),
        Token::AtArrow => ("list_has_all", false),
        Token::ArrowAt => ("list_has_all", true),
        Token::CaretAt => ("starts_with", false),
        Token::Spaceship => ("list_cosine_distance", false),
        Token::Lt if is_distance(parser) => {
            parser.next_token();
            ("list_distance", false)
        }
        Token::CustomBinaryOperator(name) => {
            let name = name.clone();
            return postgres_operator(parser, left, &name, precedence);
        }
        Token::Word(word) if is_glob(word) => (GLOB_MATCH, false),
        _ => return in_list(parser, left),
    };
    parser.next_token();
    let right = parser.parse_subexpr(precedence);
    let call = |name, args| match name == GLOB_MATCH {
        true => quoted_call(name, args),
        false => call(name, args),
    };
    Some(right.map(|right| match turned {
        true => call(name, vec![right, left.clone()]),
        false => call(name, vec![left.clone(), right]),
    }))
}

/// Operators of PostgreSQL's JSON, by the names of their functions.
pub(super) const POSTGRES_OPERATORS: [(&str, &str); 8] = [
    ("->", "jsonb_object_field"),
    ("->>", "jsonb_object_field_text"),
    ("#>", "json_by_path"),
    ("#>>", "json_by_path_text"),
    ("#-", "jsonb_delete_path"),
    ("?", "jsonb_exists"),
    ("?|", "jsonb_exists_any"),
    ("?&", "jsonb_exists_all"),
];

/// One of PostgreSQL's operators: a call, or a mark where the plan alone knows whether it is one of JSON or of lists.
fn postgres_operator(parser: &mut Parser, left: &Expr, name: &str, precedence: u8) -> Parsed {
    let contains = ["@>", "<@"].contains(&name);
    let known = POSTGRES_OPERATORS.iter().find(|(known, _)| *known == name);
    if name == "#" {
        parser.next_token();
        let right = parser.parse_subexpr(precedence);
        return Some(right.map(|right| call("xor", vec![left.clone(), right])));
    }
    if known.is_none() && !contains {
        return None;
    }
    parser.next_token();
    let right = parser.parse_subexpr(precedence);
    Some(right.map(|right| match known {
        Some((_, function)) => quoted_call(function, vec![left.clone(), right]),
        None => {
            let (left, right) = match name {
                "@>" => (left.clone(), right),
                _ => (right, left.clone()),
            };
            Expr::BinaryOp {
                left: Box::new(left),
                op: BinaryOperator::Custom(CONTAINS.into()),
                right: Box::new(right),
            }
        }
    }))
}

/// `x IN list`, without brackets.
fn in_list(parser: &mut Parser, left: &Expr) -> Parsed {
    let is = |n: usize, wanted| match &parser.peek_nth_token_ref(n).token {
        Token::Word(word) => word.keyword == wanted,
        _ => false,
    };
    let negated = is(0, Keyword::NOT);
    let at = usize::from(negated);
    if !is(at, Keyword::IN)
        || parser.peek_nth_token_ref(at + 1).token == Token::LParen
        || is(at + 1, Keyword::UNNEST)
    {
        return None;
    }
    (0..=at).for_each(|_| drop(parser.next_token()));
    if let Token::SingleQuotedString(_) | Token::Number(..) = &parser.peek_token_ref().token {
        return Some(parser.expected("a list", parser.peek_token()));
    }
    // Operators behind the list are about the answer: `x IN l::VARCHAR` is a text.
    let list = parser.parse_subexpr(u8::MAX);
    Some(list.map(|list| {
        let found = call("contains", vec![list, left.clone()]);
        match negated {
            true => Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: Box::new(found),
            },
            false => found,
        }
    }))
}

/// `value FOR x IN list IF condition]`, or with `x, n` for the value and its place.
fn comprehension(parser: &mut Parser) -> Result<Expr, ParserError> {
    let value = parser.parse_expr()?;
    parser.expect_keyword_is(Keyword::FOR)?;
    let mut names = vec![parser.parse_identifier()?];
    if parser.consume_token(&Token::Comma) {
        names.push(parser.parse_identifier()?);
    }
    parser.expect_keyword_is(Keyword::IN)?;
    let mut list = parser.parse_expr()?;
    if parser.parse_keyword(Keyword::IF) {
        let condition = parser.parse_expr()?;
        list = call("list_filter", vec![list, lambda(names.clone(), condition)]);
    }
    parser.expect_token(&Token::RBracket)?;
    Ok(call("list_transform", vec![list, lambda(names, value)]))
}

/// `name -> body`, or `(name, other) -> body`.
pub(crate) fn lambda(names: Vec<Ident>, body: Expr) -> Expr {
    let mut names = names.into_iter().map(|name| LambdaFunctionParameter {
        name,
        data_type: None,
    });
    let params = match (names.next(), names.next()) {
        (Some(only), None) => OneOrManyWithParens::One(only),
        (first, second) => OneOrManyWithParens::Many(first.into_iter().chain(second).collect()),
    };
    Expr::Lambda(LambdaFunction {
        params,
        body: Box::new(body),
        syntax: LambdaSyntax::Arrow,
    })
}
