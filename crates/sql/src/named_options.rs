//! `read_csv('f.csv', header = false)`: options by name in calls of FROM, which the planner takes by position alone.

use super::calls::call;
use super::folded;
use sqlparser::ast::{
    BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, TableFactor, Value,
};

/// Functions that have options.
const FUNCTIONS: [&str; 12] = [
    "sniff_csv",
    "read_csv",
    "read_csv_auto",
    "read_parquet",
    "parquet_scan",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_ndjson_auto",
    "read_json_objects",
    "read_json_objects_auto",
    "read_ndjson_objects",
];

/// Makes a struct of one field of each option of a function in FROM, its name the option's.
pub(super) fn name_options(factor: &mut TableFactor) {
    let TableFactor::Table {
        name,
        args: Some(args),
        ..
    } = factor
    else {
        return;
    };
    if !FUNCTIONS
        .iter()
        .any(|function| name.to_string().eq_ignore_ascii_case(function))
    {
        return;
    }
    for arg in &mut args.args {
        let (name, value) = match arg {
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value),
                operator: FunctionArgOperator::Equals | FunctionArgOperator::Assignment,
            } => (folded(&name.value), value.clone()),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp {
                left,
                op: BinaryOperator::Eq,
                right,
            })) => match left.as_ref() {
                Expr::Identifier(name) => (folded(&name.value), right.as_ref().clone()),
                _ => continue,
            },
            _ => continue,
        };
        let name = Expr::value(Value::SingleQuotedString(name));
        let option = call("named_struct", vec![name, value]);
        *arg = FunctionArg::Unnamed(FunctionArgExpr::Expr(option));
    }
}
