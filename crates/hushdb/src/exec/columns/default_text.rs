//! Texts of columns' defaults: what they mean in the statement that takes them.
//!
//! What must hold: the sequence that a default names is looked for where its table is, whatever database and schema are the current ones.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, VisitorMut,
};
use hushdb_query::plan::{SEQUENCE_FUNCTIONS, Snapshot, TableName};
use hushdb_sql::walk::visit_mut;
use hushdb_sql::{self as sql, Result, name_in_text, quoted};
use std::convert::Infallible;
use std::ops::ControlFlow;

/// Whether an expression is the word that stands for a column's default.
pub(in crate::exec) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// The default of a column of the table at `place`, as an expression of any statement; NULL where there is none.
pub(in crate::exec) fn expression(
    snapshot: &Snapshot,
    place: &TableName,
    default: Option<&str>,
) -> Result<Expr> {
    let mut expr = sql::parse_expr(default.unwrap_or("NULL"))?;
    qualify(snapshot, place, &mut expr);
    Ok(expr)
}

/// The sequences that the default of a column of the table at `place` names.
pub(in crate::exec) fn sequences(
    snapshot: &Snapshot,
    place: &TableName,
    default: &str,
) -> Vec<TableName> {
    match sql::parse_expr(default) {
        Ok(mut expr) => qualify(snapshot, place, &mut expr),
        Err(_) => vec![],
    }
}

fn qualify(snapshot: &Snapshot, place: &TableName, expr: &mut Expr) -> Vec<TableName> {
    let mut names = Names {
        there: snapshot.at(&place.database, &place.schema),
        found: vec![],
    };
    let ControlFlow::Continue(()) = visit_mut(expr, &mut names);
    names.found
}

/// Gives sequences the names by which they are found from everywhere.
struct Names {
    there: Snapshot,
    found: Vec<TableName>,
}

impl VisitorMut for Names {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(function) = expr
            && let Some(text) = named(function)
            && let Ok(parts) = name_in_text(text)
            && let Ok((name, _)) = self.there.sequence(&parts)
        {
            *text = [&name.database, &name.schema, &name.name]
                .map(|part| quoted(part))
                .join(".");
            self.found.push(name);
        }
        ControlFlow::Continue(())
    }
}

/// The name that a call of `nextval` or `currval` is given.
fn named(function: &mut Function) -> Option<&mut String> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let name = sql::folded(&name.as_ident()?.value);
    let FunctionArguments::List(list) = &mut function.args else {
        return None;
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] =
        list.args.as_mut_slice()
    else {
        return None;
    };
    match &mut value.value {
        Value::SingleQuotedString(text) if SEQUENCE_FUNCTIONS.contains(&name.as_str()) => {
            Some(text)
        }
        _ => None,
    }
}
