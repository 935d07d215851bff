//! Functions in FROM whose columns others say: `jsonb_to_recordset(x) AS t(a int, b text)` and its kin, and `ROWS FROM (f(x), g(y))`, the rows
//! of several functions beside one another.

use crate::calls::call;
use crate::error::{Error, Result};
use crate::marks::{JSON_RECORDS, ROWS_FROM};
use crate::postgres_from::{list_of_rows, without_lateral};
use crate::reading::parse_query;
use crate::template::{put_in, template};
use crate::walk::visit_expressions_mut;
use sqlparser::ast::{
    DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, SelectItem,
    SetExpr, TableAlias, TableAliasColumnDef, TableFactor, Value,
};
use std::ops::ControlFlow;

/// The row of a record of JSON.
const ROW: &str = "\"$row\"";

/// A function whose columns its alias says with their types, or one of several.
pub(crate) fn said_columns(factor: &mut TableFactor) -> Result<bool> {
    without_lateral(factor)?;
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        ..
    } = &mut *factor
    else {
        return Ok(false);
    };
    let called = name.0.last().and_then(|part| part.as_ident());
    let called = called.map(|name| name.value.to_ascii_lowercase());
    let called = called.unwrap_or_default();
    let args = args.args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => Some(arg.clone()),
        _ => None,
    });
    let Some(args) = args.collect::<Option<Vec<Expr>>>() else {
        return Ok(false);
    };
    let mut of_records = JSON_RECORDS.iter();
    let of_record = of_records.find(|(known, _)| *known == called);
    let (query, alias) = match (of_record, args.as_slice()) {
        (None, functions) if called == ROWS_FROM => beside_one_another(functions, alias.take())?,
        (Some((_, has_many)), [json]) => (
            record(json, alias.as_ref(), *has_many)?,
            unsaid(alias.take()),
        ),
        _ => return Ok(false),
    };
    *factor = TableFactor::Derived {
        lateral: false,
        subquery: query,
        alias,
        sample: None,
    };
    Ok(true)
}

/// The alias of columns that have their names by now.
fn unsaid(alias: Option<TableAlias>) -> Option<TableAlias> {
    alias.map(|mut alias| {
        alias.columns.clear();
        alias
    })
}

/// The members of JSON as columns, or those of each item of it.
fn record(json: &Expr, alias: Option<&TableAlias>, has_many: bool) -> Result<Box<Query>> {
    let columns = alias.map_or(&[][..], |alias| alias.columns.as_slice());
    let items = columns.iter().map(member);
    let items = items.collect::<Result<Vec<SelectItem>>>()?;
    if items.is_empty() {
        return Err(Error::parser(
            "a column definition list is required for functions returning \"record\": write AS t(a int, b text)",
        )
        .with_sqlstate("42601"));
    }
    // Asked for once, however many columns there are.
    let rows = match has_many {
        false => "$1",
        true => "unnest(json_items($1))",
    };
    let mut query = parse_query(&format!(
        "SELECT 1 FROM (SELECT {rows} AS {ROW}) AS \"$rows\""
    ))?;
    put_in_query(&mut query, json)?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = items;
    }
    Ok(query)
}

/// Puts an expression where `$1` stands in a query of ours.
fn put_in_query(query: &mut Query, json: &Expr) -> Result<()> {
    let mut failed = None;
    let _ = visit_expressions_mut(query, |expr| {
        let stands = matches!(expr, Expr::Value(value) if matches!(&value.value, Value::Placeholder(name) if name == "$1"));
        if stands {
            failed = put_in(expr, std::slice::from_ref(json)).err();
            return ControlFlow::Break(());
        }
        ControlFlow::<()>::Continue(())
    });
    failed.map_or(Ok(()), Err)
}

/// One member of a row, as a value of the type of its column.
fn member(column: &TableAliasColumnDef) -> Result<SelectItem> {
    let Some(data_type) = &column.data_type else {
        return Err(Error::parser(
            "a column of a record has a type: write AS t(a int, b text)",
        ));
    };
    let of_json = matches!(
        data_type,
        DataType::JSON | DataType::JSONB | DataType::Array(_)
    );
    let function = if of_json {
        "json_by_path"
    } else {
        "json_by_path_text"
    };
    let name = Value::SingleQuotedString(column.name.value.clone());
    let value = template(
        &format!("{function}({ROW}, [$1])"),
        &[Expr::Value(name.into())],
    )?;
    Ok(SelectItem::ExprWithAlias {
        expr: Expr::Cast {
            kind: sqlparser::ast::CastKind::Cast,
            expr: Box::new(value),
            data_type: data_type.clone(),
            array: false,
            format: None,
        },
        alias: column.name.clone(),
    })
}

/// The rows of functions beside one another: where one has fewer, there is NULL.
fn beside_one_another(
    functions: &[Expr],
    alias: Option<TableAlias>,
) -> Result<(Box<Query>, Option<TableAlias>)> {
    let mut items = vec![];
    for function in functions {
        let Expr::Function(called) = function else {
            return Err(refused());
        };
        let name = called.name.0.last().and_then(|name| name.as_ident());
        let name = name.map(|name| name.value.to_ascii_lowercase());
        let FunctionArguments::List(list) = &called.args else {
            return Err(refused());
        };
        let args = list.args.iter().map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) => Some(arg.clone()),
            _ => None,
        });
        let args = args.collect::<Option<Vec<Expr>>>().ok_or_else(refused)?;
        let name = name.unwrap_or_default();
        for (column, list) in list_of_rows(&name, args).ok_or_else(refused)? {
            items.push(SelectItem::ExprWithAlias {
                expr: call("unnest", vec![list]),
                alias: Ident::new(column),
            });
        }
    }
    let mut query = parse_query("SELECT 1")?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = items;
    }
    let alias = alias.unwrap_or_else(|| TableAlias {
        explicit: false,
        name: Ident::with_quote('"', ROWS_FROM),
        columns: vec![],
        at: None,
    });
    Ok((query, Some(alias)))
}

fn refused() -> Error {
    Error::unsupported(
        "ROWS FROM takes functions of one column: unnest, generate_series, and those of the items of JSON and texts",
    )
}
