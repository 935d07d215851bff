//! `/` that cuts where both sides are whole numbers, as PostgreSQL's does: an operator in plans, a call in what is stored.

use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
};

/// The operator that cuts where both sides are whole numbers.
pub const CUT_DIVIDE: &str = "/";
/// The same as a function, in what is stored.
pub(crate) const CUT_DIVIDE_CALL: &str = "divide_as_postgres";

/// The operator that a call stands for, if it is that of what is stored.
pub(crate) fn divided(function: &Function) -> Option<Expr> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match (
        name.as_ident()?.value == CUT_DIVIDE_CALL,
        list.args.as_slice(),
    ) {
        (
            true,
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(left)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(right)),
            ],
        ) => Some(Expr::Nested(Box::new(Expr::BinaryOp {
            left: Box::new(left.clone()),
            op: BinaryOperator::Custom(CUT_DIVIDE.into()),
            right: Box::new(right.clone()),
        }))),
        _ => None,
    }
}
