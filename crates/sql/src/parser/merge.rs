//! MERGE INTO, as DuckDB reads it: USING of columns, actions BY NAME, DO NOTHING and ERROR, and RETURNING are not sqlparser's.

use super::merge_statement::{Merge, MergeAction, MergeClause, MergedRows};
use super::statement::Statement;
use super::tokens::{expect, parser_error, syntax_error};
use crate::error::{Error, Result};
use sqlparser::ast::{Ident, JoinConstraint, ObjectName};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

pub(super) fn merge(parser: &mut Parser) -> Result<Statement> {
    parser.next_token();
    if !parser.parse_keyword(Keyword::INTO) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let target = parser.parse_table_factor().map_err(parser_error)?;
    if !parser.parse_keyword(Keyword::USING) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let source = parser.parse_table_factor().map_err(parser_error)?;
    let constraint = constraint(parser)?;
    let mut clauses = vec![];
    while parser.parse_keyword(Keyword::WHEN) {
        let clause = clause(parser)?;
        refuse_second(&clauses, &clause)?;
        clauses.push(clause);
    }
    if clauses.is_empty() {
        return Err(syntax_error(&parser.peek_token().token));
    }
    // Of rows of a kind, one without a condition has what the others leave, wherever it stands.
    clauses.sort_by_key(|clause| clause.condition.is_none());
    let returning = match parser.parse_keyword(Keyword::RETURNING) {
        true => Some(
            parser
                .parse_comma_separated(Parser::parse_select_item)
                .map_err(parser_error)?,
        ),
        false => None,
    };
    Ok(Statement::Merge(Box::new(Merge {
        target,
        source,
        constraint,
        clauses,
        returning,
    })))
}

fn constraint(parser: &mut Parser) -> Result<JoinConstraint> {
    if parser.parse_keyword(Keyword::ON) {
        return Ok(JoinConstraint::On(
            parser.parse_expr().map_err(parser_error)?,
        ));
    }
    if !parser.parse_keyword(Keyword::USING) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    expect(parser, &Token::LParen)?;
    let columns = parser
        .parse_comma_separated(Parser::parse_identifier)
        .map_err(parser_error)?;
    expect(parser, &Token::RParen)?;
    let columns = columns
        .into_iter()
        .map(|c: Ident| ObjectName::from(vec![c]));
    Ok(JoinConstraint::Using(columns.collect()))
}

/// What stands behind WHEN.
fn clause(parser: &mut Parser) -> Result<MergeClause> {
    let not = parser.parse_keyword(Keyword::NOT);
    if !parser.parse_keyword(Keyword::MATCHED) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let rows = match not {
        false => MergedRows::Matched,
        true if parser.parse_keywords(&[Keyword::BY, Keyword::SOURCE]) => MergedRows::OfTarget,
        true => {
            let _ = parser.parse_keywords(&[Keyword::BY, Keyword::TARGET]);
            MergedRows::OfSource
        }
    };
    let condition = match parser.parse_keyword(Keyword::AND) {
        true => Some(parser.parse_expr().map_err(parser_error)?),
        false => None,
    };
    if !parser.parse_keyword(Keyword::THEN) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let action = action(parser)?;
    refuse_misplaced(rows, &action)?;
    Ok(MergeClause {
        rows,
        condition,
        action,
    })
}

/// Nothing would come to a second clause without a condition.
fn refuse_second(before: &[MergeClause], clause: &MergeClause) -> Result<()> {
    let mut all = before.iter();
    let is_second = clause.condition.is_none()
        && all.any(|one| one.rows == clause.rows && one.condition.is_none());
    let kind = match clause.rows {
        MergedRows::Matched => "WHEN MATCHED",
        MergedRows::OfSource => "WHEN NOT MATCHED",
        MergedRows::OfTarget => "WHEN NOT MATCHED BY SOURCE",
    };
    match is_second {
        true => Err(Error::parser(format!(
            "Unconditional {kind} clause was already defined - only one unconditional {kind} clause is supported"
        ))),
        false => Ok(()),
    }
}

/// There is no row of the target to change, or no row of the source to take.
fn refuse_misplaced(rows: MergedRows, action: &MergeAction) -> Result<()> {
    use MergeAction as A;
    match (rows, action) {
        (MergedRows::OfSource, A::Update(_) | A::UpdateAll { .. } | A::Delete) => {
            Err(Error::parser(
                "WHEN NOT MATCHED (BY TARGET) cannot be combined with UPDATE or DELETE actions - as there is no \
                 corresponding row in the target to update or delete.\nDid you mean to use WHEN MATCHED or WHEN NOT \
                 MATCHED BY SOURCE?",
            ))
        }
        (MergedRows::OfTarget, A::InsertAll { .. } | A::UpdateAll { .. }) => Err(Error::parser(
            "WHEN NOT MATCHED BY SOURCE has no columns of the source to take; name the values",
        )),
        _ => Ok(()),
    }
}

fn action(parser: &mut Parser) -> Result<MergeAction> {
    if parser.parse_keyword(Keyword::DELETE) {
        return Ok(MergeAction::Delete);
    }
    if parser.parse_keywords(&[Keyword::DO, Keyword::NOTHING]) {
        return Ok(MergeAction::Nothing);
    }
    if parser.parse_keyword(Keyword::ERROR) {
        let ends = matches!(&parser.peek_token().token, Token::EOF | Token::SemiColon)
            || parser.peek_keyword(Keyword::WHEN)
            || parser.peek_keyword(Keyword::RETURNING);
        let text = match ends {
            true => None,
            false => Some(Box::new(parser.parse_expr().map_err(parser_error)?)),
        };
        return Ok(MergeAction::Error(text));
    }
    if parser.parse_keyword(Keyword::UPDATE) {
        return update(parser);
    }
    if parser.parse_keyword(Keyword::INSERT) {
        return insert(parser);
    }
    Err(syntax_error(&parser.peek_token().token))
}

/// `BY NAME` or `BY POSITION`; whether it is the first.
fn by_name(parser: &mut Parser) -> bool {
    if parser.parse_keywords(&[Keyword::BY, Keyword::NAME]) {
        return true;
    }
    let _ = parser.parse_keywords(&[Keyword::BY, Keyword::POSITION]);
    false
}

fn update(parser: &mut Parser) -> Result<MergeAction> {
    let by_name = by_name(parser);
    if !parser.parse_keyword(Keyword::SET) || parser.consume_token(&Token::Mul) {
        return Ok(MergeAction::UpdateAll { by_name });
    }
    let assignments = parser.parse_comma_separated(Parser::parse_assignment);
    Ok(MergeAction::Update(assignments.map_err(parser_error)?))
}

fn insert(parser: &mut Parser) -> Result<MergeAction> {
    let by_name = by_name(parser);
    let mut columns = vec![];
    if !by_name && parser.consume_token(&Token::LParen) {
        columns = parser
            .parse_comma_separated(|parser| parser.parse_object_name(false))
            .map_err(parser_error)?;
        expect(parser, &Token::RParen)?;
    }
    if parser.parse_keywords(&[Keyword::DEFAULT, Keyword::VALUES]) {
        let values = None;
        return Ok(MergeAction::Insert { columns, values });
    }
    if !by_name && parser.parse_keyword(Keyword::VALUES) {
        expect(parser, &Token::LParen)?;
        let values = parser
            .parse_comma_separated(Parser::parse_expr)
            .map_err(parser_error)?;
        expect(parser, &Token::RParen)?;
        let values = Some(values);
        return Ok(MergeAction::Insert { columns, values });
    }
    let _ = parser.consume_token(&Token::Mul);
    match columns.is_empty() {
        true => Ok(MergeAction::InsertAll { by_name }),
        false => Err(syntax_error(&parser.peek_token().token)),
    }
}
