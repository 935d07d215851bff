//! A long chain of operators, `a + b - c + ...`, checked ones or those of floats, as one function of all its operands: planning
//! goes over a tree once for each of its levels.
//!
//! What must hold: it gives what its operators give from left to right, each in the one type that all results have, and checked
//! in it but for floats.

use super::arithmetic::{Op, apply, left_operand, operand_types};
use super::first_of::within_brackets;
use super::float_arithmetic;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, Cast, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use std::any::Any;
use std::fmt::Write;
use std::sync::Arc;

/// Operators up to which a chain is a tree like others.
const SHORT: usize = 16;

/// The operators behind the first operand, and the type of all results.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Chain {
    operators: Vec<Op>,
    result: DataType,
    /// Whether floats may not leave their range.
    in_range: bool,
    signature: Signature,
}

/// `left op right`, of operands of these types. Where `left` is a long chain of the result's type, it gets longer.
pub(crate) fn call(
    op: Op,
    (left, left_type): (Expr, &DataType),
    (right, right_type): (Expr, &DataType),
) -> Result<Expr> {
    let operand = match type_of_chain(&left).is_some() || is_long(&left) {
        true => operand_types(op, left_type, right_type)?,
        false => None,
    };
    let operand = match operand {
        Some([l, r]) if l == *left_type && op.result_type(&l, &r)? == l => r,
        _ => {
            let call = ScalarFunction::new_udf(op.function(), vec![left, right]);
            return Ok(Expr::ScalarFunction(call));
        }
    };
    let right = match operand == *right_type {
        true => right,
        false => Expr::Cast(Cast::new(Box::new(right), operand)),
    };
    Ok(longer(op, left, right, left_type, false))
}

/// `left op right`, of floats of one type, which the result has too.
pub(crate) fn float_call(
    (op, operator): (Op, Operator),
    left: Expr,
    right: Expr,
    result: &DataType,
) -> Expr {
    match type_of_chain(&left).is_some() || is_long(&left) {
        true => longer(op, left, right, result, false),
        false => Expr::BinaryExpr(BinaryExpr::new(Box::new(left), operator, Box::new(right))),
    }
}

/// The same, which fails where the result leaves the range of its type.
pub(crate) fn call_in_range(op: Op, left: Expr, right: Expr, result: &DataType) -> Expr {
    let divides = matches!(op, Op::Divide | Op::Quotient);
    match !divides && (type_of_chain(&left).is_some() || is_long(&left)) {
        true => longer(op, left, right, result, true),
        false => {
            let function = op.function_in_range();
            Expr::ScalarFunction(ScalarFunction::new_udf(function, vec![left, right]))
        }
    }
}

/// A chain with one more operand.
fn longer(op: Op, left: Expr, right: Expr, result: &DataType, in_range: bool) -> Expr {
    let goes_on =
        |function: &ScalarUDF| chain(function).is_some_and(|chain| chain.in_range == in_range);
    let (mut operators, mut operands) = match left {
        Expr::ScalarFunction(ScalarFunction { func, args }) if goes_on(&func) => {
            let before = chain(&func).map(|chain| chain.operators.clone());
            (before.unwrap_or_default(), args)
        }
        left => (vec![], vec![left]),
    };
    operators.push(op);
    operands.push(right);
    let chain = Chain {
        signature: Signature::any(operands.len(), Volatility::Immutable),
        operators,
        result: result.clone(),
        in_range,
    };
    let chain = Arc::new(ScalarUDF::from(chain));
    Expr::ScalarFunction(ScalarFunction::new_udf(chain, operands))
}

fn chain(function: &ScalarUDF) -> Option<&Chain> {
    let function: &dyn Any = function.inner().as_ref();
    function.downcast_ref()
}

/// The type of an expression, if it is a chain: without a look at its operands.
pub(crate) fn type_of_chain(expr: &Expr) -> Option<&DataType> {
    match expr {
        Expr::ScalarFunction(ScalarFunction { func, .. }) => chain(func).map(|chain| &chain.result),
        _ => None,
    }
}

fn is_long(mut expr: &Expr) -> bool {
    for _ in 0..SHORT {
        expr = within_brackets(expr).unwrap_or(expr);
        match (expr, left_operand(expr)) {
            (_, Some(left)) => expr = left,
            (Expr::BinaryExpr(BinaryExpr { left, op, .. }), None) if of_floats(*op) => expr = left,
            _ => return false,
        }
    }
    true
}

/// Whether this may be an operator of floats that a chain can have.
fn of_floats(operator: Operator) -> bool {
    use Operator::{Minus, Modulo, Multiply, Plus};
    matches!(operator, Plus | Minus | Multiply | Modulo)
}

impl ScalarUDFImpl for Chain {
    fn name(&self) -> &'static str {
        "operators"
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let Some((first, rest)) = args.split_first() else {
            return internal_err!("a chain of operators has no operands");
        };
        // Operators of floats have no brackets of their own, and other expressions must not have the same name.
        let named = |operand: &Expr| match operand {
            Expr::BinaryExpr(_) => format!("({})", operand.schema_name()),
            _ => operand.schema_name().to_string(),
        };
        let mut text = format!("({}", named(first));
        for (op, operand) in self.operators.iter().zip(rest) {
            let _ = write!(text, " {} {}", op.symbol(), named(operand));
        }
        text.push(')');
        Ok(text)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.result.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut operands = args.args.into_iter();
        let Some(mut result) = operands.next() else {
            return internal_err!("a chain of operators has no operands");
        };
        for (op, operand) in self.operators.iter().zip(operands) {
            let made = apply(*op, &result, &operand, &self.result)?;
            result = match self.in_range {
                true => float_arithmetic::in_range(*op, made, &result, &operand)?,
                false => made,
            };
        }
        Ok(result)
    }
}
