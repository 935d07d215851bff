//! What stands in FROM.

use super::{Result, expressions, not_there, refuse};
use crate::constraints::joins_on;
use crate::error::Error;
use crate::marks::JSON_RECORDS;
use sqlparser::ast::{
    Join, JoinConstraint, JoinOperator, TableAlias, TableAliasColumnDef, TableFactor,
    TableFunctionArgs, TableWithJoins,
};

pub(super) fn from(tables: &[TableWithJoins]) -> Result<()> {
    tables.iter().try_for_each(joins)
}

/// The joins of a table; the tables themselves are visited by themselves.
pub(super) fn joins(table: &TableWithJoins) -> Result<()> {
    let TableWithJoins { relation: _, joins } = table;
    for join in joins {
        let Join {
            relation: _,
            global,
            join_operator,
        } = join;
        refuse(&[(global, "GLOBAL JOIN")])?;
        operator(join_operator)?;
    }
    Ok(())
}

fn operator(operator: &JoinOperator) -> Result<()> {
    use JoinOperator as J;
    match operator {
        joins_on!(on) => match on {
            JoinConstraint::On(_) | JoinConstraint::Using(_) | JoinConstraint::Natural => Ok(()),
            JoinConstraint::None => Err(Error::parser(
                "a JOIN takes ON, USING or NATURAL; all pairs of rows are a CROSS JOIN",
            )),
        },
        J::CrossJoin(on) => match on {
            JoinConstraint::None => Ok(()),
            _ => Err(Error::parser("a CROSS JOIN takes no condition")),
        },
        J::AsOf {
            match_condition: _,
            constraint: _,
        } => Err(not_there("ASOF JOIN")),
        J::CrossApply | J::OuterApply => Err(not_there("APPLY")),
        J::StraightJoin(_) => Err(not_there("STRAIGHT_JOIN")),
        J::ArrayJoin | J::LeftArrayJoin | J::InnerArrayJoin => Err(not_there("ARRAY JOIN")),
    }
}

/// The alias that a table goes by.
pub fn alias_of(factor: &TableFactor) -> Option<&TableAlias> {
    match factor {
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::NestedJoin { alias, .. } => alias.as_ref(),
        _ => None,
    }
}

pub(super) fn alias(alias: &TableAlias) -> Result<()> {
    let TableAlias {
        explicit: _,
        name: _,
        columns,
        at,
    } = alias;
    refuse(&[(at, "AT after an alias")])?;
    columns.iter().try_for_each(|column| {
        let TableAliasColumnDef { name: _, data_type } = column;
        refuse(&[(data_type, "a type in the columns of an alias")])
    })
}

/// Whether the columns of a function are those that its alias says with their types.
fn says_columns(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table {
            name,
            args: Some(_),
            ..
        }
        | TableFactor::Function { name, .. } => {
            let name = name.0.last().and_then(|name| name.as_ident());
            let is_it =
                |known: &str| name.is_some_and(|name| name.value.eq_ignore_ascii_case(known));
            JSON_RECORDS.iter().any(|(known, _)| is_it(known))
        }
        _ => false,
    }
}

fn table_arguments(arguments: &TableFunctionArgs) -> Result<()> {
    let TableFunctionArgs { args, settings } = arguments;
    refuse(&[(settings, "SETTINGS of a table function")])?;
    expressions::arguments(args)
}

pub(super) fn factor(factor: &TableFactor) -> Result<()> {
    match alias_of(factor) {
        Some(of_record) if says_columns(factor) => refuse(&[(&of_record.at, "AT after an alias")])?,
        Some(other) => alias(other)?,
        None => {}
    }
    match factor {
        TableFactor::Table {
            name: _,
            alias: _,
            args,
            with_hints,
            version,
            with_ordinality: _,
            partitions,
            json_path,
            sample: _,
            index_hints,
        } => {
            args.as_ref().map_or(Ok(()), table_arguments)?;
            refuse(&[
                (with_hints, "WITH (hints) of a table"),
                (version, "an older version of a table"),
                (partitions, "PARTITION of a table"),
                (json_path, "a path into a table"),
                (index_hints, "an index hint"),
            ])
        }
        TableFactor::Derived {
            lateral: _,
            subquery: _,
            alias: _,
            sample: _,
        } => Ok(()),
        TableFactor::Function {
            lateral: _,
            name: _,
            args,
            with_ordinality,
            alias: _,
        } => {
            refuse(&[(with_ordinality, "WITH ORDINALITY")])?;
            expressions::arguments(args)
        }
        TableFactor::UNNEST {
            alias: _,
            array_exprs: _,
            with_offset,
            with_offset_alias,
            with_ordinality,
        } => refuse(&[
            (with_offset, "WITH OFFSET"),
            (with_offset_alias, "WITH OFFSET"),
            (with_ordinality, "WITH ORDINALITY"),
        ]),
        TableFactor::NestedJoin {
            table_with_joins,
            alias: _,
        } => joins(table_with_joins),
        TableFactor::TableFunction { .. } => Err(not_there("TABLE(...)")),
        TableFactor::JsonTable { .. } | TableFactor::OpenJsonTable { .. } => {
            Err(not_there("JSON_TABLE"))
        }
        TableFactor::Pivot { .. } => Err(not_there("PIVOT")),
        TableFactor::Unpivot { .. } => Err(not_there("UNPIVOT")),
        TableFactor::MatchRecognize { .. } => Err(not_there("MATCH_RECOGNIZE")),
        TableFactor::XmlTable { .. } => Err(not_there("XMLTABLE")),
        TableFactor::SemanticView { .. } => Err(not_there("SEMANTIC_VIEW")),
    }
}
