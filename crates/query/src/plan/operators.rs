//! Binary operators with DuckDB's meaning where DataFusion's differs: `/` divides as DOUBLE, integer and decimal
//! arithmetic fails on overflow, dates and numbers mix.

use super::numbers::{comparable, is_comparison, one_type, place_of};
use super::postgres_operators::{PostgresOperators, is_json};
use super::rewrite_expressions::rewrite_expressions;
use super::{bit_operators, postgres_divisions, postgres_literals, temporal};
use crate::common_types::number_kind::{
    MAX_DIGITS_64, Number, float_type, huge_literal, huge_value, int_fits, int_literal, is_huge,
};
use crate::functions::arithmetic::Op;
use crate::functions::arithmetic_chain::{self, type_of_chain};
use crate::functions::{
    ELEMENT, LIST_AND_LIST, MAP_VALUE, POSITION, SLICE, SUBSTRING, date_part, huge_bits,
    in_brackets, of_texts, rounds, within_brackets,
};
use crate::heed;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, Result, ScalarValue, TableReference, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{
    ExprPlanner, PlannerResult, RawBinaryExpr, RawFieldAccessExpr,
};
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, GetFieldAccess, LogicalPlan, Operator, ScalarUDF, lit,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::sql::sqlparser::ast::BinaryOperator;
use hushdb_sql::type_names::is_row;
use hushdb_sql::{
    CONCAT, CONTAINS, CUT_DIVIDE, DECIMAL_LITERAL, INTEGER_LITERAL, NEGATIVE, ONE_TYPE, REMAINDER,
    SHIFT_LEFT, SHIFT_RIGHT, TRUTH, find_named,
};
use hushdb_storage::UnionType;
use std::sync::Arc;

/// Plans binary operators; asked before DataFusion's own planners.
#[derive(Debug)]
pub(super) struct DuckOperators {
    list_and_list: Option<Arc<ScalarUDF>>,
    map_value: Option<Arc<ScalarUDF>>,
    slice: Option<Arc<ScalarUDF>>,
    substring: Option<Arc<ScalarUDF>>,
    position: Option<Arc<ScalarUDF>>,
    element: Option<Arc<ScalarUDF>>,
    products: Vec<Arc<ScalarUDF>>,
    postgres: PostgresOperators,
}

impl DuckOperators {
    /// Operators that the rewrites of a text leave.
    fn marked(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let BinaryOperator::Custom(mark) = &expr.op else {
            return Ok(PlannerResult::Original(expr));
        };
        match mark.as_str() {
            INTEGER_LITERAL => Ok(PlannerResult::Planned(narrow(expr.left))),
            DECIMAL_LITERAL => Ok(PlannerResult::Planned(widened(expr.left, &expr.right))),
            NEGATIVE => self.negative(expr, schema),
            TRUTH => Ok(PlannerResult::Planned(truth(expr.left, schema))),
            ONE_TYPE => Ok(PlannerResult::Planned(one_type(expr.left, schema)?)),
            CONTAINS => Ok(PlannerResult::Planned(
                self.postgres.contains(expr, schema)?,
            )),
            CONCAT => match self.postgres.concat(expr, schema)? {
                PlannerResult::Original(expr) => {
                    let op = BinaryOperator::StringConcat;
                    self.plan_binary_op(RawBinaryExpr { op, ..expr }, schema)
                }
                json => Ok(json),
            },
            SHIFT_LEFT | SHIFT_RIGHT => {
                let is_left = mark.as_str() == SHIFT_LEFT;
                match self.postgres.shifted(expr, is_left, schema)? {
                    PlannerResult::Original(expr) => self.plan_binary_op(expr, schema),
                    planned => Ok(planned),
                }
            }
            CUT_DIVIDE | REMAINDER => {
                let (op, function) = postgres_divisions::meant(&expr, schema);
                let mut expr = RawBinaryExpr { op, ..expr };
                let Some(function) = function else {
                    return match self.postgres.divide_intervals(expr, schema)? {
                        PlannerResult::Original(expr) => self.plan_binary_op(expr, schema),
                        planned => Ok(planned),
                    };
                };
                bracket_operands(&mut expr);
                Ok(PlannerResult::Planned(call(
                    function, expr.left, expr.right,
                )))
            }
            _ => Ok(PlannerResult::Original(expr)),
        }
    }

    /// `-x`: decimals keep their type and floats the sign of a zero; all else is taken from 0, which is checked.
    fn negative(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        let of = type_of(&expr.left, schema).ok();
        if let Some(Number::Decimal(..) | Number::Float) = of.as_ref().and_then(Number::of) {
            return Ok(PlannerResult::Planned(Expr::Negative(Box::new(expr.left))));
        }
        let from_zero = RawBinaryExpr {
            op: BinaryOperator::Minus,
            left: lit(0_i32),
            right: expr.left,
        };
        match self.plan_binary_op(from_zero, schema)? {
            PlannerResult::Planned(planned) => Ok(PlannerResult::Planned(planned)),
            PlannerResult::Original(RawBinaryExpr { left, right, .. }) => {
                Ok(PlannerResult::Planned(binary(left, Operator::Minus, right)))
            }
        }
    }

    /// Operators that are some of these functions.
    pub(super) fn new(functions: &[Arc<ScalarUDF>]) -> Self {
        let named = |name| functions.iter().find(|f| f.name() == name).cloned();
        Self {
            list_and_list: named(LIST_AND_LIST),
            map_value: named(MAP_VALUE),
            slice: named(SLICE),
            substring: named(SUBSTRING),
            position: named(POSITION),
            element: named(ELEMENT),
            postgres: PostgresOperators::of(functions),
            products: temporal::FUNCTIONS
                .into_iter()
                .chain(bit_operators::FUNCTIONS)
                .filter_map(named)
                .collect(),
        }
    }

    fn bitwise(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        match self.interval(bit_operators::joined(&expr, schema)) {
            Some(call) => Ok(PlannerResult::Planned(call)),
            None => bitwise(expr, schema),
        }
    }

    /// Arithmetic with dates, times and intervals, and shifts of BITs; `None` for all else.
    fn temporal(
        &self,
        op: Op,
        expr: &RawBinaryExpr,
        left: &DataType,
        right: &DataType,
    ) -> Option<Expr> {
        let product = match op {
            Op::Multiply => self.interval(temporal::product(expr, left, right)),
            Op::ShiftLeft | Op::ShiftRight => self.interval(bit_operators::shifted(op, expr, left)),
            _ => self.interval(temporal::of_times(op, expr, left, right)),
        };
        product.or_else(|| temporal::arithmetic(op, expr, left, right))
    }

    fn divided(
        &self,
        expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        match self.interval(temporal::quotient(&expr, schema)) {
            Some(quotient) => Ok(PlannerResult::Planned(quotient)),
            None => divide(expr, schema),
        }
    }

    /// A call of one of the functions of intervals.
    fn interval(&self, call: Option<(&str, Vec<Expr>)>) -> Option<Expr> {
        let (name, args) = call?;
        let function = self.products.iter().find(|f| f.name() == name)?;
        let call = ScalarFunction::new_udf(Arc::clone(function), args);
        Some(Expr::ScalarFunction(call))
    }

    /// Lists as one list, everything else as text.
    fn concatenated(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        postgres_literals::meet(&mut [&mut expr.left, &mut expr.right], schema);
        let (left, right) = (expr.left.get_type(schema)?, expr.right.get_type(schema)?);
        match &self.list_and_list {
            Some(function) if left.is_list() || right.is_list() => {
                let both = vec![expr.left, expr.right];
                let list = ScalarFunction::new_udf(Arc::clone(function), both);
                Ok(PlannerResult::Planned(Expr::ScalarFunction(list)))
            }
            _ => Ok(PlannerResult::Original(texts(expr, schema))),
        }
    }
}

/// An integer literal in its own type: INTEGER if it fits, which the planner reads as BIGINT. As in DuckDB the digits
/// decide, so -2147483648 is a BIGINT.
fn narrow(literal: Expr) -> Expr {
    match &literal {
        Expr::Literal(ScalarValue::Int64(Some(v)), metadata)
            if v.unsigned_abs() <= i32::MAX.unsigned_abs().into() =>
        {
            Expr::Literal(ScalarValue::Int32(Some(*v as i32)), metadata.clone())
        }
        Expr::Literal(value, metadata) => match huge_value(value) {
            Some(value) => Expr::Literal(value, metadata.clone()),
            None => literal,
        },
        _ => literal,
    }
}

/// A decimal literal of so many digits.
fn widened(literal: Expr, digits: &Expr) -> Expr {
    let digits = int_literal(digits).and_then(|digits| u8::try_from(digits).ok());
    match (literal, digits) {
        (Expr::Literal(ScalarValue::Decimal128(v, of, scale), metadata), Some(digits))
            if digits > of =>
        {
            Expr::Literal(ScalarValue::Decimal128(v, digits, scale), metadata)
        }
        (literal, _) => literal,
    }
}

/// Gives an integer literal the type of the integer that it stands beside, if it fits that.
fn fit_literal(expr: &mut RawBinaryExpr, left: &DataType, right: &DataType) {
    let fits =
        |literal: &Expr, other: &Expr, ty: &DataType| match (huge_literal(literal), Number::of(ty))
        {
            (Some(v), Some(Number::Int { bits, signed })) if huge_literal(other).is_none() => {
                int_fits(v, (bits, signed))
            }
            _ => false,
        };
    if fits(&expr.right, &expr.left, left) {
        expr.right = cast(std::mem::take(&mut expr.right), left.clone());
    } else if fits(&expr.left, &expr.right, right) {
        expr.left = cast(std::mem::take(&mut expr.left), right.clone());
    }
}

/// A comparison, whose sides are made comparable.
fn compared(mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    postgres_literals::read_lists(&mut expr, schema)?;
    Ok(PlannerResult::Original(comparable(expr, schema)))
}

impl ExprPlanner for DuckOperators {
    fn plan_binary_op(
        &self,
        mut expr: RawBinaryExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        heed::check()?;
        let op = match &bracket_operands(&mut expr) {
            B::Custom(_) => return self.marked(expr, schema),
            B::Plus => Op::Add,
            B::Minus if is_json(&expr.left, schema) => {
                return Ok(PlannerResult::Planned(self.postgres.minus(expr)?));
            }
            B::Minus => Op::Subtract,
            B::Multiply => Op::Multiply,
            B::Modulo => Op::Modulo,
            B::DuckIntegerDivide => Op::IntegerDivide,
            B::PGBitwiseShiftLeft => Op::ShiftLeft,
            B::PGBitwiseShiftRight => Op::ShiftRight,
            B::Divide => return self.divided(expr, schema),
            B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => return compared(expr, schema),
            B::And | B::Or => return Ok(PlannerResult::Original(truths(expr, schema))),
            B::StringConcat => return self.concatenated(expr, schema),
            B::BitwiseAnd | B::BitwiseOr => return self.bitwise(expr, schema),
            _ => return Ok(PlannerResult::Original(expr)),
        };
        let (Ok(left), Ok(right)) = (type_of(&expr.left, schema), type_of(&expr.right, schema))
        else {
            return Ok(PlannerResult::Original(expr));
        };
        if let Some(planned) = self.temporal(op, &expr, &left, &right) {
            return Ok(PlannerResult::Planned(planned));
        }
        temporal::refuse_numbers(&expr, &left, &right)?;
        match (Number::of(&left), Number::of(&right)) {
            (Some(l), Some(r)) if are_exact(op, l, r) => {
                fit_literal(&mut expr, &left, &right);
                let right = type_of(&expr.right, schema)?;
                let planned = arithmetic_chain::call(op, (expr.left, &left), (expr.right, &right));
                Ok(PlannerResult::Planned(planned?))
            }
            (Some(_), Some(_)) if op == Op::IntegerDivide => {
                Ok(PlannerResult::Planned(quotient(expr, &left, &right)))
            }
            (Some(_), Some(_)) if matches!(op, Op::ShiftLeft | Op::ShiftRight) => {
                plan_err!("<< and >> take whole numbers")
            }
            (Some(_), Some(_)) => Ok(PlannerResult::Planned(both_float(op, expr, &left, &right))),
            // But for decimals, NULL as an operand takes the other side's type.
            (Some(Number::Decimal(..)), None) | (None, Some(Number::Decimal(..)))
                if (left.is_null() || right.is_null()) && op != Op::IntegerDivide =>
            {
                Ok(PlannerResult::Planned(lit(ScalarValue::Null)))
            }
            (None, None) if left.is_null() && right.is_null() => {
                let left = cast(expr.left, DataType::Int64);
                self.plan_binary_op(RawBinaryExpr { left, ..expr }, schema)
            }
            (Some(_), None) if right == DataType::Null => {
                let right = cast(expr.right, left);
                self.plan_binary_op(RawBinaryExpr { right, ..expr }, schema)
            }
            (None, Some(_)) if left == DataType::Null => {
                let left = cast(expr.left, right);
                self.plan_binary_op(RawBinaryExpr { left, ..expr }, schema)
            }
            _ => Ok(PlannerResult::Original(expr)),
        }
    }

    fn plan_extract(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let part = ScalarFunction::new_udf(date_part(), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(part)))
    }

    fn plan_substring(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let Some(substring) = &self.substring else {
            return Ok(PlannerResult::Original(args));
        };
        let call = ScalarFunction::new_udf(of_texts(Arc::clone(substring)), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }

    fn plan_position(&self, args: Vec<Expr>) -> Result<PlannerResult<Vec<Expr>>> {
        let Some(position) = &self.position else {
            return Ok(PlannerResult::Original(args));
        };
        let call = ScalarFunction::new_udf(of_texts(Arc::clone(position)), args);
        Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
    }

    fn plan_field_access(
        &self,
        expr: RawFieldAccessExpr,
        schema: &DFSchema,
    ) -> Result<PlannerResult<RawFieldAccessExpr>> {
        let call = |function: &Arc<ScalarUDF>, args| {
            let call = ScalarFunction::new_udf(Arc::clone(function), args);
            Ok(PlannerResult::Planned(Expr::ScalarFunction(call)))
        };
        let RawFieldAccessExpr {
            expr: of,
            field_access,
        } = &expr;
        match (
            of.get_type(schema)?,
            field_access,
            &self.map_value,
            &self.slice,
        ) {
            (DataType::Map(..), GetFieldAccess::ListIndex { key }, Some(value), _) => {
                return call(value, vec![of.clone(), *key.clone()]);
            }
            (DataType::Map(..), GetFieldAccess::NamedStructField { name }, Some(value), _) => {
                return call(value, vec![of.clone(), lit(name.clone())]);
            }
            (
                _,
                GetFieldAccess::ListRange {
                    start,
                    stop,
                    stride,
                },
                _,
                Some(slice),
            ) => {
                let mut args = vec![of.clone(), *start.clone(), *stop.clone()];
                if stride.as_ref() != &lit(1i64) {
                    args.push(*stride.clone());
                }
                return call(slice, args);
            }
            (DataType::Struct(fields), GetFieldAccess::ListIndex { key }, _, _)
                if is_row(&fields) =>
            {
                let at = place_of(key, fields.len())?;
                let field = get_field(of.clone(), fields[at].name().as_str());
                return Ok(PlannerResult::Planned(field));
            }
            _ => {}
        }
        if let GetFieldAccess::NamedStructField { name } = field_access {
            let of_type = of.get_type(schema)?;
            let found = name
                .try_as_str()
                .flatten()
                .and_then(|name| field(&of_type, name));
            return Ok(match found {
                Some((name, _)) => PlannerResult::Planned(get_field(of.clone(), name)),
                None => PlannerResult::Original(expr),
            });
        }
        match (of.get_type(schema)?, field_access, &self.element) {
            (of_type, GetFieldAccess::ListIndex { key }, Some(element))
                if of_type.is_string() || of_type.is_list() =>
            {
                call(element, vec![of.clone(), *key.clone()])
            }
            _ => Ok(PlannerResult::Original(expr)),
        }
    }

    fn plan_compound_identifier(
        &self,
        column: &Field,
        qualifier: Option<&TableReference>,
        nested_names: &[String],
    ) -> Result<PlannerResult<Vec<Expr>>> {
        let mut expr = Expr::Column(Column::from((qualifier, column)));
        let mut of = column.data_type();
        for nested in nested_names {
            match field(of, nested) {
                Some((name, within)) => {
                    expr = get_field(expr, name);
                    of = within;
                }
                None => expr = get_field(expr, nested.as_str()),
            }
        }
        Ok(PlannerResult::Planned(expr))
    }
}

/// Brackets operands that are operators themselves where without them another expression had the same name: a query cannot have
/// both then, as aggregates or keys.
///
/// Gives the operator.
pub(super) fn bracket_operands(expr: &mut RawBinaryExpr) -> BinaryOperator {
    use BinaryOperator as B;
    let level = match &expr.op {
        B::Custom(_) => return expr.op.clone(),
        B::Or => Operator::Or.precedence(),
        B::And => Operator::And.precedence(),
        B::Plus | B::Minus => Operator::Plus.precedence(),
        B::Multiply | B::Divide | B::Modulo | B::DuckIntegerDivide => {
            Operator::Multiply.precedence()
        }
        B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq => Operator::Eq.precedence(),
        _ => Operator::StringConcat.precedence(),
    };
    let joins_conditions = matches!(expr.op, B::And | B::Or);
    let is_open = |operand: &Expr, is_right: bool| match operand {
        // What ANDs and ORs are of is clear but for one another.
        Expr::BinaryExpr(inner) if joins_conditions => inner.op.precedence() < level,
        Expr::BinaryExpr(inner) => {
            let inner = match inner.op.precedence() {
                // All comparisons are of one level.
                20 => Operator::Eq.precedence(),
                other => other,
            };
            inner < level || is_right && inner == level
        }
        Expr::Not(_) | Expr::IsNull(_) | Expr::IsNotNull(_) => !joins_conditions,
        _ => false,
    };
    for (operand, is_right) in [(&mut expr.left, false), (&mut expr.right, true)] {
        if is_open(operand, is_right) {
            *operand = in_brackets(std::mem::take(operand));
        }
    }
    expr.op.clone()
}

/// The field of a struct, or the member of a union, that goes by a name, and its type.
fn field<'a>(of: &'a DataType, name: &str) -> Option<(&'a str, &'a DataType)> {
    let DataType::Struct(fields) = of else {
        return None;
    };
    let fields = UnionType::members_of(of).unwrap_or(fields);
    let found = find_named(fields, name, |field| field.name().as_str())?;
    Some((found.name().as_str(), found.data_type()))
}

pub(super) fn binary(left: Expr, op: Operator, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)))
}

pub(super) fn cast(expr: Expr, to: DataType) -> Expr {
    // What is for our own casts stays one.
    if let Expr::Literal(value, metadata) = &expr
        && !to.is_nested()
        && !rounds(&value.data_type(), &to)
        && let Ok(value) = value.cast_to(&to)
    {
        return Expr::Literal(value, metadata.clone());
    }
    Expr::Cast(Cast::new(Box::new(expr), to))
}

/// `expr` of type `from` as `to`; literals are cast at once.
pub(super) fn cast_if(expr: Expr, from: &DataType, to: &DataType) -> Expr {
    if from == to {
        expr
    } else {
        cast(expr, to.clone())
    }
}

/// Whether numbers are calculated with exactly: whole numbers and decimals, of which `//`, `<<` and `>>` take whole ones alone.
fn are_exact(op: Op, left: Number, right: Number) -> bool {
    let is_exact = |number| match number {
        Number::Int { .. } => true,
        Number::Decimal(..) => !matches!(op, Op::IntegerDivide | Op::ShiftLeft | Op::ShiftRight),
        Number::Float => false,
    };
    is_exact(left) && is_exact(right)
}

/// `//` of numbers that are not both whole: a division of floats which is NULL by zero.
fn quotient(expr: RawBinaryExpr, left: &DataType, right: &DataType) -> Expr {
    let to = float_type(left, right);
    let divisor = cast_if(expr.right, right, &to);
    let zero = cast(lit(0.0), to.clone());
    let divisor = datafusion::functions::expr_fn::nullif(divisor, zero);
    binary(cast_if(expr.left, left, &to), Operator::Divide, divisor)
}

/// Floats keep IEEE semantics.
fn both_float(op: Op, expr: RawBinaryExpr, left: &DataType, right: &DataType) -> Expr {
    let to = float_type(left, right);
    let operator = match op {
        Op::Add => Operator::Plus,
        Op::Subtract => Operator::Minus,
        Op::Multiply => Operator::Multiply,
        _ => Operator::Modulo,
    };
    let (left, right) = (
        cast_if(expr.left, left, &to),
        cast_if(expr.right, right, &to),
    );
    arithmetic_chain::float_call((op, operator), left, right, &to)
}

/// Operands of AND and OR.
fn truths(expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    RawBinaryExpr {
        left: truth(expr.left, schema),
        right: truth(expr.right, schema),
        ..expr
    }
}

/// What stands for a condition: a number or text is read as BOOLEAN, as by a CAST.
fn truth(expr: Expr, schema: &DFSchema) -> Expr {
    // Chains of conditions are long, and not gone through for each of their members.
    let is_boolean = match &expr {
        Expr::BinaryExpr(of) => {
            is_comparison(of.op) || matches!(of.op, Operator::And | Operator::Or)
        }
        _ => false,
    };
    if is_boolean {
        return expr;
    }
    match expr.get_type(schema) {
        Ok(ty) if ty.is_string() || Number::of(&ty).is_some() => {
            Expr::Cast(Cast::new(Box::new(expr), DataType::Boolean))
        }
        _ => expr,
    }
}

/// Operands of `||` as text, where Arrow would write them otherwise than DuckDB.
fn texts(mut expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    let is_blob = |t: &DataType| matches!(t, DataType::Binary | DataType::BinaryView);
    let is_bytes = |side: &Expr| side.get_type(schema).is_ok_and(|t| is_blob(&t));
    let bytes = is_bytes(&expr.left) && is_bytes(&expr.right);
    for side in [&mut expr.left, &mut expr.right] {
        let is_text = |t: &DataType| t.is_string() || t.is_null() || bytes;
        if side.get_type(schema).is_ok_and(|t| !is_text(&t)) {
            *side = Expr::Cast(Cast::new(
                Box::new(std::mem::take(side)),
                DataType::Utf8View,
            ));
        }
    }
    expr
}

/// `a & b` and `a | b` of two types: a literal takes the other side's, two NULLs are BIGINTs.
fn bitwise(mut expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    if let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) {
        fit_literal(&mut expr, &left, &right);
        if left.is_null() && right.is_null() {
            expr.left = cast(expr.left, DataType::Int64);
        }
        if is_huge(&left) || is_huge(&right) {
            let is_and = expr.op == BinaryOperator::BitwiseAnd;
            let types = [expr.left.get_type(schema)?, expr.right.get_type(schema)?];
            let bits = huge_bits(is_and, [expr.left, expr.right], &types)?;
            return Ok(PlannerResult::Planned(bits));
        }
    }
    Ok(PlannerResult::Original(expr))
}

/// `/` is always a division of floats, as in DuckDB.
fn divide(expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
    let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
        return Ok(PlannerResult::Original(expr));
    };
    let numeric = |t: &DataType| Number::of(t).is_some() || t == &DataType::Null;
    if !numeric(&left) || !numeric(&right) {
        return Ok(PlannerResult::Original(expr));
    }
    let to = float_type(&left, &right);
    Ok(PlannerResult::Planned(binary(
        cast_if(expr.left, &left, &to),
        Operator::Divide,
        cast_if(expr.right, &right, &to),
    )))
}

pub(super) fn call(op: Op, left: Expr, right: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(op.function(), vec![left, right]))
}

/// An operand's type. Chains know theirs; any other expression is gone through.
pub(super) fn type_of(expr: &Expr, schema: &DFSchema) -> Result<DataType> {
    type_of_chain(expr).map_or_else(|| expr.get_type(schema), |known| Ok(known.clone()))
}

/// Takes brackets away, which have said by now what they have to, and gives decimal literals of up to 18 digits the 64-bit type
/// that columns of that size have, so that comparing one with a column does not widen the column.
#[derive(Debug)]
pub(super) struct NarrowLiterals;

impl AnalyzerRule for NarrowLiterals {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            // VALUES keeps its schema, which was made from the literals as they are.
            if matches!(plan, LogicalPlan::Values(_)) {
                return Ok(Transformed::no(plan));
            }
            rewrite_expressions(plan, |expr, _| {
                Ok(match expr {
                    Expr::Literal(ScalarValue::Decimal128(Some(v), p, s), metadata)
                        if p <= MAX_DIGITS_64 && i64::try_from(v).is_ok() =>
                    {
                        let narrow = ScalarValue::Decimal64(Some(v as i64), p, s);
                        Transformed::yes(Expr::Literal(narrow, metadata))
                    }
                    other => match within_brackets(&other) {
                        Some(inner) => Transformed::yes(inner.clone()),
                        None => Transformed::no(other),
                    },
                })
            })
        })
        .map(|t| t.data)
    }

    fn name(&self) -> &str {
        "narrow_literals"
    }
}
