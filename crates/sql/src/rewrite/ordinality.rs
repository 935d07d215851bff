//! `unnest(list) WITH ORDINALITY`: the items of a list with their numbers, from 1, as a query of both in step, which may
//! name columns to its left as any in FROM.

use crate::calls::{all_unnamed, call};
use crate::error::{Error, Result};
use crate::reading::query_of;
use crate::template::template;
use crate::walk::visit_expressions;
use sqlparser::ast::{
    Expr, FunctionArg, Ident, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
};
use std::ops::ControlFlow;

/// What the column of the numbers is called where nobody says.
const ORDINALITY: &str = "ordinality";

/// Brings such a call to a query; true if it is one whose list names columns, which are of tables to the left where there are any.
///
/// # Errors
/// Unsupported of functions that are no list.
pub(super) fn number_rows(factor: &mut TableFactor) -> Result<bool> {
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        with_ordinality: true,
        ..
    } = factor
    else {
        return Ok(false);
    };
    let list = list_of(&name.to_string().to_ascii_lowercase(), &args.args)?;
    let mut alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: false,
        name: Ident::new(name.to_string()),
        columns: vec![],
        at: None,
    });
    let names = [Ident::new(name.to_string()), Ident::new(ORDINALITY)];
    let missing = names.into_iter().skip(alias.columns.len());
    alias
        .columns
        .extend(missing.map(|name| TableAliasColumnDef {
            name,
            data_type: None,
        }));
    // No column of another table that the list names is called so.
    let item = |text: &str, name: &str| -> Result<SelectItem> {
        Ok(SelectItem::ExprWithAlias {
            expr: template(text, std::slice::from_ref(&list))?,
            alias: Ident::with_quote('"', name),
        })
    };
    let value = item("unnest($1)", "$value")?;
    let number = item("unnest(range(1, len($1) + 1))", "$number")?;
    let mut query = query_of(vec![], value)?;
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection.push(number);
    }
    *factor = TableFactor::Derived {
        lateral: false,
        subquery: query,
        alias: Some(alias),
        sample: None,
    };
    Ok(names_columns(&list))
}

fn names_columns(list: &Expr) -> bool {
    let found = visit_expressions(list, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// The list whose items a call in FROM gives.
fn list_of(name: &str, args: &[FunctionArg]) -> Result<Expr> {
    let of = |what: &str| Error::unsupported(format!("WITH ORDINALITY of {what} is not there yet"));
    let exprs = all_unnamed(args).ok_or_else(|| of("arguments with names"))?;
    match (name, exprs.as_slice()) {
        ("unnest", [list]) => Ok(list.clone()),
        ("range" | "generate_series", ends) => Ok(call(name, ends.to_vec())),
        ("string_to_table", [text, by]) => Ok(call("string_split", vec![text.clone(), by.clone()])),
        _ => Err(of(name)),
    }
}
