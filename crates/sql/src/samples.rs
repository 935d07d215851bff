//! `TABLESAMPLE` and `USING SAMPLE`: what is sampled comes into brackets with a mark that says how, as `FROM (t CROSS JOIN
//! "$sample"(...))`, which the planner knows as one relation (`plan/samples.rs`). A sample of a query is one of its FROM.

use super::calls::quoted_call;
use super::marks::SAMPLE;
use crate::error::{Error, Result};
use sqlparser::ast::{
    Expr, Join, JoinConstraint, JoinOperator, NamedWindowDefinition, NamedWindowExpr, Select,
    TableFactor, TableSample, TableSampleKind, TableSampleMethod, TableSampleUnit, TableWithJoins,
    Value,
};

/// Brackets all samples of a SELECT.
pub(super) fn bracket(select: &mut Select) -> Result<()> {
    for table in &mut select.from {
        bracket_factor(&mut table.relation)?;
        for join in &mut table.joins {
            bracket_factor(&mut join.relation)?;
        }
    }
    let is_sample = |window: &NamedWindowDefinition| window.0.value == SAMPLE;
    let Some(at) = select.named_window.iter().position(is_sample) else {
        return Ok(());
    };
    let NamedWindowDefinition(_, NamedWindowExpr::WindowSpec(how)) = select.named_window.remove(at)
    else {
        return Err(Error::internal("a sample without a number"));
    };
    let mut tables = std::mem::take(&mut select.from).into_iter();
    let Some(first) = tables.next() else {
        return Err(Error::binder("USING SAMPLE needs a FROM to take rows of"));
    };
    let all = tables.fold(first, |left, right| TableWithJoins {
        relation: in_brackets(left),
        joins: vec![cross(in_brackets(right))],
    });
    select.from = vec![plain(sampled(in_brackets(all), how.partition_by))];
    Ok(())
}

fn bracket_factor(factor: &mut TableFactor) -> Result<()> {
    let given = match factor {
        TableFactor::Table { sample, .. } | TableFactor::Derived { sample, .. } => sample.take(),
        TableFactor::NestedJoin {
            table_with_joins, ..
        } => {
            bracket_factor(&mut table_with_joins.relation)?;
            for join in &mut table_with_joins.joins {
                bracket_factor(&mut join.relation)?;
            }
            return Ok(());
        }
        _ => return Ok(()),
    };
    let Some(TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) =
        given
    else {
        return Ok(());
    };
    let how = said(*sample)?;
    let own = std::mem::replace(factor, nothing());
    *factor = sampled(own, how);
    Ok(())
}

/// Number, unit, method and seed in one text.
fn said(sample: TableSample) -> Result<Vec<Expr>> {
    let unreadable = || {
        Error::binder(
            "TABLESAMPLE takes a number of rows or percent, as in TABLESAMPLE reservoir(10 ROWS)",
        )
    };
    let TableSample {
        modifier: _,
        name,
        quantity: Some(quantity),
        seed,
        bucket: None,
        offset: None,
    } = sample
    else {
        return Err(unreadable());
    };
    let unit = match quantity.unit {
        Some(TableSampleUnit::Percent) => "PERCENT",
        _ => "ROWS",
    };
    let method = match name {
        Some(TableSampleMethod::Bernoulli) => "BERNOULLI",
        Some(TableSampleMethod::System | TableSampleMethod::Block) => "SYSTEM",
        _ => "ROW",
    };
    let seed = seed.map_or("NULL".to_owned(), |seed| seed.value.to_string());
    let said = format!("{}|{unit}|{method}|{seed}", quantity.value);
    Ok(vec![Expr::value(Value::SingleQuotedString(said))])
}

fn sampled(of: TableFactor, how: Vec<Expr>) -> TableFactor {
    let how = TableFactor::UNNEST {
        alias: None,
        array_exprs: vec![quoted_call(SAMPLE, how)],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    };
    in_brackets(TableWithJoins {
        relation: of,
        joins: vec![cross(how)],
    })
}

fn cross(relation: TableFactor) -> Join {
    Join {
        relation,
        global: false,
        join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
    }
}

fn plain(relation: TableFactor) -> TableWithJoins {
    TableWithJoins {
        relation,
        joins: vec![],
    }
}

fn in_brackets(table: TableWithJoins) -> TableFactor {
    match table.joins.is_empty() {
        true => table.relation,
        false => TableFactor::NestedJoin {
            table_with_joins: Box::new(table),
            alias: None,
        },
    }
}

fn nothing() -> TableFactor {
    TableFactor::UNNEST {
        alias: None,
        array_exprs: vec![],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    }
}
