//! `unnest(list) WITH ORDINALITY`: the items of a list with their numbers, from 1, as a query of both in step.

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

/// Brings such a call to a query.
pub(super) fn number_rows(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        with_ordinality: true,
        ..
    } = factor
    else {
        return Ok(());
    };
    let list = list_of(&name.to_string().to_ascii_lowercase(), &args.args)?;
    let mut alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: false,
        name: Ident::new(name.to_string()),
        columns: vec![],
        at: None,
    });
    if let [_] = alias.columns.as_slice() {
        alias.columns.push(TableAliasColumnDef {
            name: Ident::new(ORDINALITY),
            data_type: None,
        });
    }
    let item = |text: &str, name: Ident| -> Result<SelectItem> {
        Ok(SelectItem::ExprWithAlias {
            expr: template(text, std::slice::from_ref(&list))?,
            alias: name,
        })
    };
    let value = item("unnest($1)", Ident::new(name.to_string()))?;
    let number = item("unnest(range(1, len($1) + 1))", Ident::new(ORDINALITY))?;
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
    Ok(())
}

/// The list whose items a call in FROM gives.
fn list_of(name: &str, args: &[FunctionArg]) -> Result<Expr> {
    let of = |what: &str| Error::unsupported(format!("WITH ORDINALITY of {what} is not there yet"));
    let exprs = all_unnamed(args).ok_or_else(|| of("arguments with names"))?;
    let columns = exprs.iter().any(|expr| {
        let found = visit_expressions(expr, |expr| match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    });
    match (name, exprs.as_slice()) {
        _ if columns => Err(of("columns of other tables")),
        ("unnest", [list]) => Ok(list.clone()),
        ("range" | "generate_series", ends) => Ok(call(name, ends.to_vec())),
        ("string_to_table", [text, by]) => Ok(call("string_split", vec![text.clone(), by.clone()])),
        _ => Err(of(name)),
    }
}
