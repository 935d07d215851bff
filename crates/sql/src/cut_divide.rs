//! `/` and `%` of PostgreSQL: `/` cuts where both sides are whole numbers, and zero divides nothing; and `@>` and `||`, which JSON has
//! there, too. They are operators in plans, calls in what is stored.

use crate::calls::{all_unnamed, call};
use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    UnaryOperator, Value,
};

/// The operator that cuts where both sides are whole numbers.
pub const CUT_DIVIDE: &str = "/";
/// The operator that is the remainder.
pub const REMAINDER: &str = "%";

/// The operator that is whether one value contains another: lists, or JSON.
pub const CONTAINS: &str = "@>";
/// The operator that puts texts, lists or JSON together.
pub const CONCAT: &str = "||";

/// The operator that shifts the bits of a whole number up, by as many as are left of a division by how many it has.
pub const SHIFT_LEFT: &str = "<<";
/// The operator that shifts them down.
pub const SHIFT_RIGHT: &str = ">>";

/// The same as functions, in what is stored.
const CALLS: [(&str, &str); 6] = [
    (SHIFT_LEFT, "shift_left_as_postgres"),
    (SHIFT_RIGHT, "shift_right_as_postgres"),
    (CONTAINS, "contains_as_postgres"),
    (CONCAT, "concat_as_postgres"),
    (CUT_DIVIDE, "divide_as_postgres"),
    (REMAINDER, "remainder_as_postgres"),
];

/// The mark of an operator that PostgreSQL means otherwise.
fn mark_of(op: &BinaryOperator) -> Option<&'static str> {
    match op {
        BinaryOperator::Divide => Some(CUT_DIVIDE),
        BinaryOperator::Modulo => Some(REMAINDER),
        BinaryOperator::StringConcat => Some(CONCAT),
        BinaryOperator::PGBitwiseShiftLeft => Some(SHIFT_LEFT),
        BinaryOperator::PGBitwiseShiftRight => Some(SHIFT_RIGHT),
        BinaryOperator::Custom(mark) if mark == CONTAINS => Some(CONTAINS),
        _ => None,
    }
}

/// Gives `/`, `||` and `%` PostgreSQL's meaning; what is stored becomes a call.
pub(crate) fn divide(
    left: &Expr,
    op: &mut BinaryOperator,
    right: &Expr,
    is_stored: bool,
) -> Option<Expr> {
    let mark = mark_of(op)?;
    // Of texts it is the same in both dialects, and most are.
    if is_stored && mark == CONCAT && ![left, right].into_iter().any(is_json) {
        return None;
    }
    if is_stored {
        let (_, name) = CALLS.iter().find(|(known, _)| *known == mark)?;
        return Some(call(name, vec![left.clone(), right.clone()]));
    }
    *op = BinaryOperator::Custom(mark.into());
    None
}

/// Whether an expression says itself that it is JSON.
fn is_json(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_json(inner),
        Expr::Cast { data_type, .. } => matches!(data_type, DataType::JSON | DataType::JSONB),
        Expr::Function(function) => {
            let name = function.name.to_string().to_lowercase();
            (name.contains("json") && !name.ends_with("_text")) || name == "concat_as_postgres"
        }
        _ => false,
    }
}

/// The operator that a call stands for, if it is one of what is stored.
pub(crate) fn divided(function: &Function) -> Option<Expr> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let name = &name.as_ident()?.value;
    let (mark, _) = CALLS.iter().find(|(_, call)| call == name)?;
    let [left, right] = all_unnamed(&list.args)?.try_into().ok()?;
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::Custom((*mark).into()),
        right: Box::new(right),
    })))
}

/// The operator that people write for such a call.
pub(crate) fn operator_of(name: &str) -> Option<BinaryOperator> {
    let (mark, _) = CALLS.iter().find(|(_, call)| *call == name)?;
    Some(match *mark {
        CUT_DIVIDE => BinaryOperator::Divide,
        REMAINDER => BinaryOperator::Modulo,
        CONCAT => BinaryOperator::StringConcat,
        other => BinaryOperator::Custom(other.to_owned()),
    })
}

/// What an expression divides by, if it does and that may be zero.
pub(crate) fn divisor_mut(expr: &mut Expr) -> Option<&mut Expr> {
    if !may_divide_by_zero(expr) {
        return None;
    }
    match expr {
        Expr::BinaryOp { right, .. } => Some(right.as_mut()),
        Expr::Function(function) => match &mut function.args {
            FunctionArguments::List(list) => match list.args.last_mut()? {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(divisor)) => Some(divisor),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether an expression divides by what may be zero.
pub(crate) fn may_divide_by_zero(expr: &Expr) -> bool {
    match expr {
        Expr::BinaryOp { op, right, .. } => {
            let divides = matches!(op, BinaryOperator::Divide | BinaryOperator::Modulo);
            divides && !is_number_but_zero(right)
        }
        Expr::Function(function) => {
            let name = function.name.to_string();
            ["mod", "div"]
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known))
        }
        _ => false,
    }
}

fn is_number_but_zero(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits.bytes().any(|digit| (b'1'..=b'9').contains(&digit)),
            _ => false,
        },
        Expr::Nested(inner) => is_number_but_zero(inner),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => is_number_but_zero(expr),
        _ => false,
    }
}
