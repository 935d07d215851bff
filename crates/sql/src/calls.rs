//! Calls of functions, as the parser makes them.

use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident,
    ObjectName, TableAlias, TableFactor,
};

/// A call of a function whose name may be no word.
pub fn quoted_call(name: &str, args: Vec<Expr>) -> Expr {
    let mut call = call(name, args);
    if let Expr::Function(function) = &mut call {
        function.name = ObjectName::from(vec![Ident::with_quote('"', name)]);
    }
    call
}

/// A call of a function with arguments without names.
pub fn call(name: &str, args: Vec<Expr>) -> Expr {
    let args = args.into_iter().map(FunctionArgExpr::Expr);
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.map(FunctionArg::Unnamed).collect(),
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

/// An argument without a name.
pub(super) fn unnamed(arg: &FunctionArg) -> Option<&Expr> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// The arguments, if none has a name.
pub(super) fn all_unnamed(args: &[FunctionArg]) -> Option<Vec<Expr>> {
    args.iter().map(|arg| unnamed(arg).cloned()).collect()
}

/// A function in FROM, with LATERAL or without: its name, its alias and its arguments.
pub(super) fn in_from(
    factor: &mut TableFactor,
) -> Option<(&ObjectName, &mut Option<TableAlias>, &[FunctionArg])> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: Some(args),
            with_ordinality: false,
            ..
        } => Some((name, alias, &args.args)),
        TableFactor::Function {
            lateral: true,
            name,
            args,
            alias,
            ..
        } => Some((name, alias, args)),
        _ => None,
    }
}
