//! `HushDialect`: sqlparser's DuckDB dialect with what it lacks: `^` and `**` as powers, which bind tighter than `*` and
//! looser than a sign, `||`, `|`, `&`, `<<` and `>>` at one level below `+`, units of INTERVAL, numbers like `1_000`,
//! strings of the form `E'\n'`, USING in ALTER COLUMN, NOT before EXISTS as looser than comparisons, and EXPLAIN of a query in
//! brackets. Operators that the parser lacks are in `operators.rs`.

use super::interval_syntax;
use super::operators;
use sqlparser::ast::{
    AnalyzeFormat, AnalyzeFormatKind, BinaryOperator, DescribeAlias, Expr, Statement, UnaryOperator,
};
use sqlparser::dialect::{Dialect, DuckDbDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use std::any::TypeId;
use std::cell::Cell;

/// The other way to write `^`.
pub(super) const POWER: &str = "**";

/// Between `*` (40) and `::` (50); see `Dialect::prec_value`.
const POWER_PRECEDENCE: u8 = 45;
const SIGN_PRECEDENCE: u8 = 48;
/// Of `||`, `|`, `&`, `<<` and `>>`, which go from left to right: between comparisons (20) and `+` (30).
const OTHER_PRECEDENCE: u8 = 25;
/// Powers of powers without brackets.
const MAX_POWERS: usize = 200;

/// The dialect of all SQL that HushDB reads, for one text: it counts what the parser does.
#[derive(Debug, Default)]
pub(crate) struct HushDialect {
    steps_left: Cell<usize>,
    /// Whether the table of an INSERT has another name behind AS. Without AS the library would take any word for one.
    renames_target: bool,
}

impl HushDialect {
    /// Lets a parser do this many steps.
    pub(super) fn with_steps(steps: usize, renames_target: bool) -> Self {
        Self {
            steps_left: Cell::new(steps),
            renames_target,
        }
    }

    /// Whether the parser was stopped, since it had done all its steps.
    pub(super) fn gave_up(&self) -> bool {
        self.steps_left.get() == 0
    }

    /// Counts a step of the parser. The error is the one after which it tries no other reading.
    fn step(&self) -> Result<(), ParserError> {
        let left = self.steps_left.get().saturating_sub(1);
        self.steps_left.set(left);
        match left {
            0 => Err(ParserError::RecursionLimitExceeded),
            _ => Ok(()),
        }
    }
}

/// The power operator that comes next, and its number of tokens.
fn power(parser: &Parser) -> Option<(BinaryOperator, usize)> {
    let token = |n| &parser.peek_nth_token_ref(n).token;
    match (token(0), token(1)) {
        (Token::Caret, _) => Some((BinaryOperator::PGExp, 1)),
        (Token::Mul, Token::Mul) => Some((BinaryOperator::Custom(POWER.into()), 2)),
        _ => None,
    }
}

/// `IS [NOT] DISTINCT FROM`, whose right side the library would let go on past AND and OR.
fn distinct(parser: &mut Parser, left: &Expr, precedence: u8) -> Option<Result<Expr, ParserError>> {
    use Keyword as K;
    let compare = if parser.parse_keywords(&[K::IS, K::DISTINCT, K::FROM]) {
        Expr::IsDistinctFrom
    } else if parser.parse_keywords(&[K::IS, K::NOT, K::DISTINCT, K::FROM]) {
        Expr::IsNotDistinctFrom
    } else {
        return None;
    };
    let right = parser.parse_subexpr(precedence);
    Some(right.map(|right| compare(Box::new(left.clone()), Box::new(right))))
}

/// `left OPERATOR(schema.op) right`: PostgreSQL's long way to write an operator of any schema, which binds as `||` does.
fn named_operator(parser: &mut Parser, left: &Expr) -> Option<Result<Expr, ParserError>> {
    if !parser.peek_keyword(Keyword::OPERATOR)
        || parser.peek_nth_token_ref(1).token != Token::LParen
    {
        return None;
    }
    (0..2).for_each(|_| drop(parser.next_token()));
    while parser.peek_nth_token_ref(1).token == Token::Period {
        (0..2).for_each(|_| drop(parser.next_token()));
    }
    let op = match parser.next_token().token {
        Token::Tilde => BinaryOperator::PGRegexMatch,
        Token::TildeAsterisk => BinaryOperator::PGRegexIMatch,
        Token::ExclamationMarkTilde => BinaryOperator::PGRegexNotMatch,
        Token::ExclamationMarkTildeAsterisk => BinaryOperator::PGRegexNotIMatch,
        Token::Eq => BinaryOperator::Eq,
        Token::Neq => BinaryOperator::NotEq,
        Token::Lt => BinaryOperator::Lt,
        Token::LtEq => BinaryOperator::LtEq,
        Token::Gt => BinaryOperator::Gt,
        Token::GtEq => BinaryOperator::GtEq,
        Token::Plus => BinaryOperator::Plus,
        Token::Minus => BinaryOperator::Minus,
        Token::Mul => BinaryOperator::Multiply,
        other => {
            let text = format!("OPERATOR({other}) is not supported");
            return Some(Err(ParserError::ParserError(text)));
        }
    };
    let right = parser
        .expect_token(&Token::RParen)
        .and_then(|_| parser.parse_subexpr(OTHER_PRECEDENCE));
    Some(right.map(|right| Expr::BinaryOp {
        left: Box::new(left.clone()),
        op,
        right: Box::new(right),
    }))
}

/// `NOT EXISTS (...)`: the library would compare it, and not EXISTS, with what comes next.
fn not_exists(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    if !parser.parse_keyword(Keyword::NOT) {
        return None;
    }
    if !parser.peek_keyword(Keyword::EXISTS) {
        parser.prev_token();
        return None;
    }
    let precedence = DuckDbDialect.prec_value(Precedence::UnaryNot);
    let inner = parser.parse_subexpr(precedence);
    Some(inner.map(|inner| match inner {
        Expr::Exists { subquery, negated } => Expr::Exists {
            subquery,
            negated: !negated,
        },
        other => Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: Box::new(other),
        },
    }))
}

/// `EXPLAIN (SELECT ...)`, whose bracket the library takes for that of options, and EXPLAIN with options.
fn explain_in_brackets(parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
    let opens = parser.peek_nth_token_ref(1).token == Token::LParen;
    if !parser.peek_keyword(Keyword::EXPLAIN) || !opens {
        return None;
    }
    let options = match has_explain_options(parser) {
        true => explain_options(parser),
        false => {
            parser.next_token();
            Ok((false, None))
        }
    };
    Some(options.and_then(|(analyze, format)| explanation(parser, analyze, format)))
}

/// Whether `EXPLAIN (` comes, and in the bracket no query.
pub(crate) fn has_explain_options(parser: &Parser) -> bool {
    use Keyword as K;
    let queries = [K::SELECT, K::WITH, K::FROM, K::VALUES];
    let token = |at| &parser.peek_nth_token_ref(at).token;
    let is_query = match token(2) {
        Token::Word(word) => queries.contains(&word.keyword),
        other => *other == Token::LParen,
    };
    parser.peek_keyword(K::EXPLAIN) && *token(1) == Token::LParen && !is_query
}

fn explanation(
    parser: &mut Parser,
    analyze: bool,
    format: Option<AnalyzeFormat>,
) -> Result<Statement, ParserError> {
    Ok(Statement::Explain {
        describe_alias: DescribeAlias::Explain,
        analyze,
        verbose: false,
        query_plan: false,
        estimate: false,
        statement: Box::new(parser.parse_statement()?),
        format: format.map(AnalyzeFormatKind::Assignment),
        options: None,
    })
}

/// `EXPLAIN (ANALYZE [TRUE | FALSE], FORMAT TEXT)`: whether what comes behind it is done, and how its plan is shown.
pub(crate) fn explain_options(
    parser: &mut Parser,
) -> Result<(bool, Option<AnalyzeFormat>), ParserError> {
    (0..2).for_each(|_| drop(parser.next_token()));
    let mut analyze = false;
    let mut format = None;
    let refused = |what: &str| {
        Err(ParserError::ParserError(format!(
            "EXPLAIN takes (ANALYZE) and (FORMAT text, json or graphviz): {what} is not there"
        )))
    };
    loop {
        let option = parser.parse_identifier()?.value.to_ascii_uppercase();
        let value = match parser.peek_token_ref().token {
            Token::Comma | Token::RParen => None,
            _ => Some(parser.next_token().token.to_string().to_ascii_uppercase()),
        };
        match (option.as_str(), value.as_deref()) {
            ("ANALYZE", None | Some("TRUE" | "ON" | "1")) => analyze = true,
            ("ANALYZE", Some("FALSE" | "OFF" | "0")) => analyze = false,
            ("FORMAT", Some("TEXT" | "DEFAULT" | "'TEXT'" | "'DEFAULT'")) => {}
            ("FORMAT", Some("JSON" | "'JSON'")) => format = Some(AnalyzeFormat::JSON),
            ("FORMAT", Some("GRAPHVIZ" | "'GRAPHVIZ'")) => format = Some(AnalyzeFormat::GRAPHVIZ),
            // Nothing of these is shown.
            (
                "COSTS" | "TIMING" | "BUFFERS" | "SUMMARY" | "VERBOSE" | "SETTINGS" | "WAL",
                Some("FALSE" | "OFF" | "0"),
            ) => {}
            ("FORMAT", _) => return refused("another FORMAT"),
            _ => return refused("another option"),
        }
        if !parser.consume_token(&Token::Comma) {
            break;
        }
    }
    parser.expect_token(&Token::RParen)?;
    Ok((analyze, format))
}

/// How many powers are taken of one another to the left.
fn powers(mut expr: &Expr) -> usize {
    let mut count = 0;
    while let Expr::BinaryOp { left, op, .. } = expr
        && matches!(op, BinaryOperator::PGExp | BinaryOperator::Custom(_))
    {
        count += 1;
        expr = left;
    }
    count
}

/// Answers of the dialect that this one is made of.
macro_rules! as_duckdb {
    ($($name:ident)*) => {
        $(fn $name(&self) -> bool {
            DuckDbDialect.$name()
        })*
    };
}

impl Dialect for HushDialect {
    fn dialect(&self) -> TypeId {
        DuckDbDialect.dialect()
    }

    fn is_identifier_start(&self, ch: char) -> bool {
        DuckDbDialect.is_identifier_start(ch)
    }

    fn is_identifier_part(&self, ch: char) -> bool {
        DuckDbDialect.is_identifier_part(ch)
    }

    fn supports_insert_table_alias(&self) -> bool {
        self.renames_target
    }

    as_duckdb! {
        supports_trailing_commas
        supports_filter_during_aggregation
        supports_group_by_expr
        supports_bitwise_shift_operators
        supports_named_fn_args_with_eq_operator
        supports_named_fn_args_with_assignment_operator
        supports_dictionary_syntax
        support_map_literal_syntax
        supports_lambda_functions
        allow_extract_single_quotes
        supports_explain_with_utility_options
        supports_load_extension
        supports_array_typedef_with_brackets
        supports_from_first_select
        supports_order_by_all
        supports_select_wildcard_exclude
        supports_notnull_operator
        supports_install
        supports_detach
        supports_select_wildcard_replace
        supports_comma_separated_trim
    }

    fn supports_select_wildcard_rename(&self) -> bool {
        true
    }

    /// Words that begin a part of a SELECT without FROM are no names.
    fn is_column_alias(&self, word: &Keyword, parser: &mut Parser) -> bool {
        let begins = matches!(word, Keyword::QUALIFY | Keyword::WINDOW);
        !begins && DuckDbDialect.is_column_alias(word, parser)
    }

    fn allow_extract_custom(&self) -> bool {
        true
    }

    fn supports_string_escape_constant(&self) -> bool {
        true
    }

    fn supports_numeric_literal_underscores(&self) -> bool {
        true
    }

    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    fn supports_map_literal_with_angle_brackets(&self) -> bool {
        true
    }

    fn supports_alter_column_type_using(&self) -> bool {
        true
    }

    fn parse_statement(&self, parser: &mut Parser) -> Option<Result<Statement, ParserError>> {
        explain_in_brackets(parser)
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        match precedence {
            Precedence::Between | Precedence::Like => operators::MATCHES,
            other => DuckDbDialect.prec_value(other),
        }
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        if let Err(error) = self.step() {
            return Some(Err(error));
        }
        if power(parser).is_some() {
            return Some(Ok(POWER_PRECEDENCE));
        }
        if let Some(precedence) = operators::precedence(parser, OTHER_PRECEDENCE) {
            return Some(Ok(precedence));
        }
        match parser.peek_nth_token_ref(0).token {
            Token::StringConcat
            | Token::Pipe
            | Token::Ampersand
            | Token::ShiftLeft
            | Token::ShiftRight => Some(Ok(OTHER_PRECEDENCE)),
            Token::Word(ref word)
                if word.keyword == Keyword::OPERATOR
                    && parser.peek_nth_token_ref(1).token == Token::LParen =>
            {
                Some(Ok(OTHER_PRECEDENCE))
            }
            _ => None,
        }
    }

    fn parse_infix(
        &self,
        parser: &mut Parser,
        left: &Expr,
        precedence: u8,
    ) -> Option<Result<Expr, ParserError>> {
        if let Some(comparison) = distinct(parser, left, precedence) {
            return Some(comparison);
        }
        if let Some(named) = named_operator(parser, left) {
            return Some(named);
        }
        let Some((op, tokens)) = power(parser) else {
            return operators::infix(parser, left, precedence);
        };
        // The parser lends the left side only, which has to be copied: a chain takes the square of its length.
        if powers(left) >= MAX_POWERS {
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        (0..tokens).for_each(|_| drop(parser.next_token()));
        Some(
            parser
                .parse_subexpr(precedence)
                .map(|right| Expr::BinaryOp {
                    left: Box::new(left.clone()),
                    op,
                    right: Box::new(right),
                }),
        )
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        if let Err(error) = self.step() {
            return Some(Err(error));
        }
        if let Some(interval) = interval_syntax::parse(parser) {
            return Some(interval);
        }
        if let Some(not_exists) = not_exists(parser) {
            return Some(not_exists);
        }
        if let Some(prefix) = operators::prefix(parser, OTHER_PRECEDENCE) {
            return Some(prefix);
        }
        if !parser.consume_token(&Token::Minus) {
            return None;
        }
        Some(
            parser
                .parse_subexpr(SIGN_PRECEDENCE)
                .map(|expr| Expr::UnaryOp {
                    op: UnaryOperator::Minus,
                    expr: Box::new(expr),
                }),
        )
    }
}
