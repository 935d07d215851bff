//! Whole rows of PostgreSQL by the name of their table: `to_json(t)`, `json_agg(t)`. Which columns a row has the plan alone knows
//! (`crates/query/src/plan/from_columns`).

use crate::calls::quoted_call;
use sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Select, TableFactor,
};

/// The function that stands for a row of the table that its argument names.
const WHOLE_ROW: &str = "$whole_row";

/// Functions of JSON whose argument may be a whole row.
const OF_ROWS: [&str; 5] = [
    "to_json",
    "to_jsonb",
    "row_to_json",
    "json_agg",
    "jsonb_agg",
];

/// What the tables of a SELECT go by.
pub(super) fn names_of(select: &Select) -> Vec<Ident> {
    let joined = select.from.iter().flat_map(|table| {
        let joins = table.joins.iter().map(|join| &join.relation);
        std::iter::once(&table.relation).chain(joins)
    });
    joined.filter_map(goes_by).collect()
}

fn goes_by(factor: &TableFactor) -> Option<Ident> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } => match alias {
            Some(alias) => Some(alias.name.clone()),
            None => name.0.last()?.as_ident().cloned(),
        },
        TableFactor::Derived { alias, .. } => alias.as_ref().map(|alias| alias.name.clone()),
        _ => None,
    }
}

/// Marks the argument of a function of JSON that is the name of a table.
pub(super) fn mark_row(expr: &mut Expr, tables: &[Ident]) {
    let Expr::Function(function) = expr else {
        return;
    };
    let (Some(name), FunctionArguments::List(list)) = (
        function.name.0.last().and_then(|part| part.as_ident()),
        &mut function.args,
    ) else {
        return;
    };
    let name = name.value.to_lowercase();
    if !OF_ROWS.contains(&name.as_str()) {
        return;
    }
    // `t.*` is the row, too.
    if let Some(FunctionArg::Unnamed(arg)) = list.args.first_mut()
        && let FunctionArgExpr::QualifiedWildcard(name) = &*arg
        && let [table] = name.0.as_slice()
        && let Some(table) = table.as_ident()
    {
        *arg = FunctionArgExpr::Expr(Expr::Identifier(table.clone()));
    }
    if let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))) = list.args.first_mut()
        && let Expr::Identifier(name) = &*arg
        && tables
            .iter()
            .any(|table| table.value.eq_ignore_ascii_case(&name.value))
    {
        *arg = quoted_call(WHOLE_ROW, vec![arg.clone()]);
    }
}

/// The table whose row an expression stands for.
pub fn table_of_row(expr: &Expr) -> Option<ObjectName> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let ([name], FunctionArguments::List(list)) = (function.name.0.as_slice(), &function.args)
    else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(table)))]
            if name.as_ident()?.value == WHOLE_ROW =>
        {
            Some(ObjectName::from(vec![table.clone()]))
        }
        _ => None,
    }
}
