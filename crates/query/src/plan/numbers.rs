//! One common type where decimals meet other numbers: comparisons, CASE, IN, BETWEEN, COALESCE, lists, set operations and
//! joins. Within lists and structs, too (`common_types/` finds it).
//!
//! DataFusion 55 has no common type for a 64-bit decimal and a 64-bit integer but the integer, which cuts the fraction
//! off, and caps two 64-bit decimals at 18 digits. So every such place is brought to one type here, before its own
//! coercion runs and finds nothing left to do.
//!
//! What must hold: no value loses a digit by coercion; a decimal with a DOUBLE becomes one and with a FLOAT a FLOAT, as in
//! DuckDB.

use super::operators::cast_if;
use super::postgres_literals;
use super::rewrite_expressions::{rewrite_expressions, rewrite_plan};
use crate::common_types::number_kind::{MAX_DIGITS_128, Number};
use crate::common_types::{For, common_of, common_type, has_json_within};
use crate::functions::of_json;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_datafusion_err, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::binary::{comparison_coercion, type_union_coercion};
use datafusion::logical_expr::expr::{Between, Case, InList, InSubquery, ScalarFunction};
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{
    BinaryExpr, Cast, Expr, ExprSchemable, Like, LogicalPlan, LogicalPlanBuilder, Operator, lit,
    when,
};
use datafusion::optimizer::AnalyzerRule;
use hushdb_sql::SAME_TYPE_FUNCTIONS;
use hushdb_sql::type_names::{arrow_field, is_called_json, is_enum};
use hushdb_storage::{BIT, ColumnType, UnionType};
use std::sync::Arc;

/// Functions that give one of their arguments.
const ONE_OF_SEVERAL: [&str; 5] = ["coalesce", "nvl", "ifnull", "greatest", "least"];

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct CommonNumbers;

pub(super) fn to_type(expr: Expr, to: &DataType, schema: &DFSchema) -> Result<Expr> {
    let from = expr.get_type(schema)?;
    if from.is_string() && !to.is_string() {
        // A CAST becomes the function that reads the text.
        return Ok(Expr::Cast(Cast::new(Box::new(expr), to.clone())));
    }
    Ok(cast_if(expr, &from, to))
}

/// The place, from 0, of the field of a `row(...)` that a number says.
///
/// # Errors
/// When it is no constant, or there is no such field.
pub(super) fn place_of(key: &Expr, fields: usize) -> Result<usize> {
    let number = match key {
        Expr::Literal(value, _) => value.cast_to(&DataType::Int64)?,
        _ => return plan_err!("Key index for struct_extract needs to be a constant value"),
    };
    let place = match number {
        ScalarValue::Int64(Some(place)) => usize::try_from(place).ok(),
        _ => None,
    };
    match place.filter(|place| (1..=fields).contains(place)) {
        Some(place) => Ok(place - 1),
        None => plan_err!(
            "Key index for struct_extract out of range - expected an index between 1 and {fields}"
        ),
    }
}

/// Brings expressions to their common type in place; false when there was nothing to do.
pub(super) fn unify(exprs: &mut [&mut Expr], what: For, schema: &DFSchema) -> Result<bool> {
    let read = postgres_literals::meet(exprs, schema);
    if what == For::Value && beside_json(exprs, schema) {
        return Ok(true);
    }
    let read = read
        | (what == For::Comparison
            && (read_as_numbers(exprs, schema)? || read_beside_json(exprs, schema)));
    let mut types = Vec::with_capacity(exprs.len());
    for expr in exprs.iter() {
        match expr.get_type(schema) {
            Ok(t) => types.push(t),
            Err(_) => return Ok(read),
        }
    }
    let Some(to) = common_of(exprs.iter().map(|e| Some(&**e)).zip(types), what) else {
        return Ok(read);
    };
    for expr in exprs {
        let taken = std::mem::take(*expr);
        **expr = to_type(taken, &to, schema)?;
    }
    Ok(true)
}

/// Reads JSON and ENUMs that are compared with numbers as such; whether there were any.
fn read_as_numbers(exprs: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let types = exprs.iter().filter_map(|expr| expr.get_type(schema).ok());
    let numbers: Vec<DataType> = types.filter(DataType::is_numeric).collect();
    let items = numbers.iter().map(|of| (None, of.clone()));
    let Some(to) = common_of(items, For::Value).or_else(|| numbers.first().cloned()) else {
        return Ok(false);
    };
    let mut any = false;
    for expr in exprs {
        any |= read_as_number(expr, &to, schema)?;
    }
    Ok(any)
}

/// Reads JSON that is compared with values of another type as that; whether there is any. Texts have to be JSON themselves; bytes, bits,
/// members of an ENUM, lists and structs are compared as what they are in JSON.
fn read_beside_json(exprs: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let fields = exprs.iter().map(|expr| expr.to_field(schema));
    let Ok(fields) = fields.collect::<Result<Vec<_>>>() else {
        return false;
    };
    let fields: Vec<_> = fields.into_iter().map(|(_, field)| field).collect();
    let is_other = |field: &&FieldRef| !is_called_json(field) && !field.data_type().is_null();
    let mut others = fields.iter().filter(is_other);
    let Some(to) = others.next().map(|field| field.data_type().clone()) else {
        return false;
    };
    let is_one = others.all(|other| *other.data_type() == to);
    if !is_one || to.is_numeric() || has_json_within(&to) {
        return false;
    }
    use DataType as T;
    let of_bytes = matches!(to, T::Binary | T::LargeBinary | T::BinaryView);
    let (to, is_read): (FieldRef, _) = match to.is_string() || to.is_nested() || of_bytes {
        true => (Arc::new(arrow_field("", &ColumnType::Json, true)), false),
        false => (Arc::new(Field::new("", to, true)), true),
    };
    if !fields.iter().any(|field| is_called_json(field)) {
        return false;
    }
    for (expr, field) in exprs.iter_mut().zip(&fields) {
        if is_called_json(field) == is_read && !field.data_type().is_null() {
            let value = Box::new(std::mem::take(*expr));
            **expr = Expr::Cast(Cast::new_from_field(value, Arc::clone(&to)));
        }
    }
    true
}

/// Reads an expression as a number if it is JSON or an ENUM; whether it is.
fn read_as_number(expr: &mut Expr, to: &DataType, schema: &DFSchema) -> Result<bool> {
    let Ok((_, field)) = expr.to_field(schema) else {
        return Ok(false);
    };
    let of_enum = is_enum(field.data_type());
    if of_enum {
        *expr = to_type(std::mem::take(expr), &DataType::Utf8View, schema)?;
    }
    let is_read = of_enum || is_called_json(&field);
    if is_read {
        *expr = Expr::Cast(Cast::new(Box::new(std::mem::take(expr)), to.clone()));
    }
    Ok(is_read)
}

/// Makes JSON of what stands beside JSON; whether there was anything.
fn beside_json(exprs: &mut [&mut Expr], schema: &DFSchema) -> bool {
    let field = |expr: &Expr| expr.to_field(schema).ok().map(|(_, field)| field);
    let is_json = |expr: &Expr| field(expr).is_some_and(|field| is_called_json(&field));
    let is_other = |expr: &Expr| {
        let field = field(expr);
        field.is_some_and(|field| !is_called_json(&field))
    };
    if !exprs.iter().any(|expr| is_json(expr)) || !exprs.iter().any(|expr| is_other(expr)) {
        return false;
    }
    let json = Arc::new(arrow_field("", &ColumnType::Json, true));
    for expr in exprs {
        if is_other(expr) {
            let value = Box::new(std::mem::take(*expr));
            **expr = Expr::Cast(Cast::new_from_field(value, Arc::clone(&json)));
        }
    }
    true
}

pub(super) fn is_comparison(op: Operator) -> bool {
    use Operator as O;
    matches!(
        op,
        O::Eq
            | O::NotEq
            | O::Lt
            | O::LtEq
            | O::Gt
            | O::GtEq
            | O::IsDistinctFrom
            | O::IsNotDistinctFrom
    )
}

/// What two types are compared as that have no common type to DataFusion: an ENUM as its text, a UNION's member as that UNION, and decimals whose common type had more than 38 digits
/// with 38, where a value that does not fit is an error.
fn compared_as(left: &DataType, right: &DataType) -> Option<DataType> {
    if left != right && (is_enum(left) || is_enum(right)) {
        return Some(DataType::Utf8View);
    }
    if left != right
        && [left, right]
            .iter()
            .any(|of| UnionType::members_of(of).is_some())
    {
        return common_type(&[left.clone(), right.clone()]);
    }
    let decimal = |ty| match Number::of(ty)? {
        Number::Decimal(digits, scale) => Some((i16::from(digits) - i16::from(scale), scale)),
        _ => None,
    };
    let ((left, scale), (right, other)) = (decimal(left)?, decimal(right)?);
    let scale = scale.max(other);
    let digits = left.max(right) + i16::from(scale);
    let is_too_long = digits > i16::from(MAX_DIGITS_128);
    is_too_long.then_some(DataType::Decimal128(MAX_DIGITS_128, scale))
}

/// Brings operands that DataFusion does not compare to one type, or not as DuckDB reads text: BOOLEAN with a number, UUID,
/// INTERVAL, days and points in time with text.
pub(super) fn comparable(mut expr: RawBinaryExpr, schema: &DFSchema) -> RawBinaryExpr {
    if read_beside_json(&mut [&mut expr.left, &mut expr.right], schema) {
        return expr;
    }
    let (Ok(left), Ok(right)) = (expr.left.get_type(schema), expr.right.get_type(schema)) else {
        return expr;
    };
    let meets = |from: &DataType, to: &DataType| match (from, to) {
        (DataType::Boolean, to) => Number::of(to).is_some(),
        (from, DataType::Boolean | DataType::FixedSizeBinary(_) | DataType::Interval(_)) => {
            from.is_string()
        }
        (from, DataType::Date32 | DataType::Timestamp(..)) => from.is_string(),
        (from, to) if *to == BIT => from.is_string(),
        _ => false,
    };
    // An ENUM is compared with a number as its text is.
    if is_enum(&left) && right.is_numeric() {
        expr.left = cast_if(expr.left, &left, &DataType::Utf8View);
        return expr;
    }
    if left.is_numeric() && is_enum(&right) {
        expr.right = cast_if(expr.right, &right, &DataType::Utf8View);
        return expr;
    }
    if let Some(to) = compared_as(&left, &right) {
        expr.left = cast_if(expr.left, &left, &to);
        expr.right = cast_if(expr.right, &right, &to);
        return expr;
    }
    // Not `cast`: text becomes a UUID by a function that takes the place of this very node.
    let to_type = |e: Expr, to: &DataType| Expr::Cast(Cast::new(Box::new(e), to.clone()));
    if meets(&left, &right) {
        expr.left = to_type(expr.left, &right);
    } else if meets(&right, &left) {
        expr.right = to_type(expr.right, &left);
    }
    expr
}

/// Brings the values of a CASE, or the arguments of such a function, to their common type. While a statement is planned the
/// type of a CASE would else be that of its first value.
pub(super) fn one_type(expr: Expr, schema: &DFSchema) -> Result<Expr> {
    rewrite(expr, schema).map(|rewritten| rewritten.data)
}

/// Types that DataFusion finds nothing in common for are an error of the statement.
fn refuse_incomparable(left: &Expr, right: &Expr, schema: &DFSchema) -> Result<()> {
    let (left, right) = (left.get_type(schema)?, right.get_type(schema)?);
    match comparison_coercion(&left, &right) {
        Some(_) => Ok(()),
        None => plan_err!(
            "Cannot compare values of type {left} and type {right} - an explicit cast is required"
        ),
    }
}

/// Puts the texts of ENUMs in their places; whether there were any.
fn texts_of_enums(like: &mut Like, schema: &DFSchema) -> Result<bool> {
    Ok(text_of_enum(&mut like.expr, schema)? | text_of_enum(&mut like.pattern, schema)?)
}

/// Puts the text of an ENUM in its place; whether it was one.
fn text_of_enum(expr: &mut Expr, schema: &DFSchema) -> Result<bool> {
    let is_enum = is_enum(&expr.get_type(schema)?);
    if is_enum {
        *expr = to_type(std::mem::take(expr), &DataType::Utf8View, schema)?;
    }
    Ok(is_enum)
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_comparison(*op) => unify(
            &mut [left.as_mut(), right.as_mut()],
            For::Comparison,
            schema,
        )?,
        Expr::Between(Between {
            expr, low, high, ..
        }) => {
            let mut all = [expr.as_mut(), low.as_mut(), high.as_mut()];
            let changed = unify(&mut all, For::Comparison, schema)?;
            refuse_incomparable(expr, low, schema)?;
            refuse_incomparable(expr, high, schema)?;
            changed
        }
        Expr::InList(InList { expr, list, .. }) => {
            let mut all: Vec<&mut Expr> = vec![expr.as_mut()];
            all.extend(list.iter_mut());
            unify(&mut all, For::Comparison, schema)?
        }
        Expr::Case(Case {
            expr,
            when_then_expr,
            else_expr,
        }) => {
            let (mut tests, mut results): (Vec<&mut Expr>, Vec<&mut Expr>) = (vec![], vec![]);
            for (when, then) in when_then_expr {
                tests.push(when.as_mut());
                results.push(then.as_mut());
            }
            results.extend(else_expr.iter_mut().map(|e| e.as_mut()));
            let mut changed =
                unify(&mut results, For::Value, schema)? || as_planned(&mut results, schema)?;
            if let Some(expr) = expr {
                tests.push(expr.as_mut());
                changed |= unify(&mut tests, For::Comparison, schema)?;
            }
            changed
        }
        Expr::ScalarFunction(call) if call.name() == "nullif" && call.args.len() == 2 => {
            return null_if(call, schema);
        }
        Expr::ScalarFunction(ScalarFunction { func, args })
            if SAME_TYPE_FUNCTIONS.contains(&func.name()) =>
        {
            unify(&mut args.iter_mut().collect::<Vec<_>>(), For::Value, schema)?
        }
        Expr::WindowFunction(window) if ["lag", "lead"].contains(&window.fun.name()) => {
            as_its_value(&mut window.params.args, schema)?
        }
        Expr::Like(like) | Expr::SimilarTo(like) => texts_of_enums(like, schema)?,
        Expr::InSubquery(within) => one_type_with_query(within, schema)?,
        _ => false,
    };
    Ok(with_json(expr, changed, schema))
}

/// What is JSON as JSON, and all else as it is.
fn with_json(expr: Expr, changed: bool, schema: &DFSchema) -> Transformed<Expr> {
    match is_unsaid_json(&expr, schema) {
        true => Transformed::yes(of_json(expr)),
        false => Transformed::new(expr, changed, TreeNodeRecursion::Continue),
    }
}

/// Brings what `lag(value, n, otherwise)` gives otherwise to the type of its value; whether it had another.
fn as_its_value(args: &mut [Expr], schema: &DFSchema) -> Result<bool> {
    let [value, _, otherwise] = args else {
        return Ok(false);
    };
    let (to, from) = (value.get_type(schema)?, otherwise.get_type(schema)?);
    let is_other = to != from && !to.is_null() && !from.is_null();
    if is_other {
        *otherwise = Expr::Cast(Cast::new(Box::new(std::mem::take(otherwise)), to));
    }
    Ok(is_other)
}

/// Brings the results of a CASE to the type that the planner will give it; whether they had several. Until then the type of a CASE is
/// that of its first result, and whoever asks takes it for another.
fn as_planned(results: &mut [&mut Expr], schema: &DFSchema) -> Result<bool> {
    let types = results.iter().map(|result| result.get_type(schema));
    let Ok(types) = types.collect::<Result<Vec<_>>>() else {
        return Ok(false);
    };
    let known: Vec<&DataType> = types.iter().filter(|of| !of.is_null()).collect();
    let is_one = known.windows(2).all(|two| two[0] == two[1]);
    let all = |is: fn(&DataType) -> bool| known.iter().all(|of| is(of));
    // Of what has nothing in common, the planner's cast is an error.
    if is_one || !all(DataType::is_numeric) && !all(DataType::is_temporal) {
        return Ok(false);
    }
    let items = types.iter().map(|of| (None, of.clone()));
    let to = common_of(items, For::Value).or_else(|| {
        let mut types = types.iter();
        types.try_fold(DataType::Null, |all, of| type_union_coercion(&all, of))
    });
    let Some(to) = to else {
        return Ok(false);
    };
    for result in results {
        **result = to_type(std::mem::take(*result), &to, schema)?;
    }
    Ok(true)
}

/// Brings what is looked for in a query, and its column, to one type; whether they have one.
fn one_type_with_query(within: &mut InSubquery, schema: &DFSchema) -> Result<bool> {
    let InSubquery { expr, subquery, .. } = within;
    let field = subquery.subquery.schema().field(0);
    let column = field.data_type().clone();
    let read = column.is_numeric() && read_as_number(expr, &column, schema)?;
    let own = expr.get_type(schema)?;
    let reads_column = own.is_numeric() && is_called_json(field);
    let items = [(Some(expr.as_ref()), own.clone()), (None, column)];
    let to = match reads_column {
        true => Some(own),
        false => common_of(items.into_iter(), For::Comparison),
    };
    let Some(to) = to else {
        return Ok(read);
    };
    let plan = subquery.subquery.as_ref().clone();
    subquery.subquery = Arc::new(cast_columns(plan, std::slice::from_ref(&to))?);
    **expr = to_type(std::mem::take(expr.as_mut()), &to, schema)?;
    Ok(true)
}

/// `nullif(a, b)` compares as `=` does, and has the type of `a`.
fn null_if(call: &mut ScalarFunction, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let types = |args: &[Expr]| {
        let types = args.iter().map(|arg| arg.get_type(schema));
        types.collect::<Result<Vec<_>>>()
    };
    let of_texts = |types: &[DataType]| types.iter().all(DataType::is_string);
    let given = types(&call.args).unwrap_or_default();
    let mut compared = call.args.clone();
    let what = match given.first().is_none_or(DataType::is_null) || of_texts(&given) {
        true => For::Value,
        false => For::Comparison,
    };
    let changed = unify(&mut compared.iter_mut().collect::<Vec<_>>(), what, schema)?;
    if what == For::Comparison && given.first() != given.last() {
        let value = call.args.swap_remove(0);
        let [left, right] = <[Expr; 2]>::try_from(compared)
            .map_err(|_| internal_datafusion_err!("nullif takes two arguments"))?;
        let unequal = when(left.eq(right), lit(ScalarValue::Null)).otherwise(value)?;
        return Ok(with_json(unequal, true, schema));
    }
    let call = Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&call.func), compared));
    Ok(with_json(call, changed, schema))
}

/// Whether a value is one of several that are JSON, or NULL, which DataFusion does not say of it.
fn is_unsaid_json(expr: &Expr, schema: &DFSchema) -> bool {
    let values: Vec<&Expr> = match expr {
        Expr::Case(case) => {
            let results = case.when_then_expr.iter().map(|(_, then)| then.as_ref());
            results.chain(case.else_expr.as_deref()).collect()
        }
        Expr::ScalarFunction(call) if ONE_OF_SEVERAL.contains(&call.name()) => {
            call.args.iter().collect()
        }
        Expr::ScalarFunction(call) if call.name() == "nullif" => {
            call.args.first().into_iter().collect()
        }
        _ => return false,
    };
    let field = |expr: &Expr| expr.to_field(schema).ok().map(|(_, field)| field);
    let is_json = |expr: &Expr| field(expr).is_some_and(|field| is_called_json(&field));
    let is_null = |expr: &Expr| field(expr).is_some_and(|field| field.data_type().is_null());
    values.iter().any(|value| is_json(value))
        && values.iter().all(|value| is_json(value) || is_null(value))
        && field(expr).is_some_and(|field| field.data_type().is_string() && !is_called_json(&field))
}

/// Casts a plan's columns, keeping their names.
fn cast_columns(plan: LogicalPlan, types: &[DataType]) -> Result<LogicalPlan> {
    let plan = read_literals(plan, types)?;
    let schema = Arc::clone(plan.schema());
    let exprs = schema
        .iter()
        .zip(types)
        .map(|((qualifier, field), to)| {
            let column = Expr::Column((qualifier, field).into());
            if field.data_type() == to {
                return Ok(column);
            }
            let cast = to_type(column, to, &schema)?;
            Ok(cast.alias_qualified(qualifier.cloned(), field.name()))
        })
        .collect::<Result<Vec<_>>>()?;
    LogicalPlanBuilder::from(plan).project(exprs)?.build()
}

/// Casts the texts that a SELECT's items are, if the types of its columns read them in their own way.
pub(super) fn read_literals(plan: LogicalPlan, types: &[DataType]) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(projection) = &plan else {
        return Ok(plan);
    };
    let mut items = projection.expr.clone();
    let mut any = false;
    for ((item, to), name) in items.iter_mut().zip(types).zip(plan.schema().columns()) {
        let mut value = item.clone().unalias();
        if postgres_literals::cast_to_met(&mut value, to) {
            *item = value.alias_qualified(name.relation, name.name);
            any = true;
        }
    }
    match any {
        true => LogicalPlanBuilder::from(projection.input.as_ref().clone())
            .project(items)?
            .build(),
        false => Ok(plan),
    }
}

/// Brings the branches of UNION to common types, column by column.
fn union(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Union(mut union) = plan else {
        return Ok(Transformed::no(plan));
    };
    let first = union.inputs.first().map(|input| Arc::clone(input.schema()));
    let columns = first.as_ref().map_or(0, |first| first.fields().len());
    // Where inputs are of other types by now, the library would go by what they were.
    let types = |schema: &DFSchema| -> Vec<DataType> {
        let fields = schema.fields().iter();
        fields.map(|field| field.data_type().clone()).collect()
    };
    let mut changed = first.is_some_and(|first| types(&first) != types(&union.schema));
    let mut targets: Vec<Option<DataType>> = vec![];
    for i in 0..columns {
        let types = union
            .inputs
            .iter()
            .map(|input| (None, input.schema().field(i).data_type().clone()));
        let target = common_of(types, For::Value);
        changed |= target.is_some();
        targets.push(target);
    }
    if !changed {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    for input in &mut union.inputs {
        let types: Vec<DataType> = targets
            .iter()
            .enumerate()
            .map(|(i, t)| {
                t.clone()
                    .unwrap_or_else(|| input.schema().field(i).data_type().clone())
            })
            .collect();
        *input = Arc::new(cast_columns(input.as_ref().clone(), &types)?);
    }
    let union = datafusion::logical_expr::Union::try_new_with_loose_types(union.inputs)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

/// Reads a side of a join as the number that it is compared with, if it is JSON or an ENUM; whether it is.
fn read_side(side: &mut Expr, schema: &DFSchema, other: DataType) -> Result<bool> {
    Ok(other.is_numeric() && read_as_number(side, &other, schema)?)
}

fn join(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let LogicalPlan::Join(mut join) = plan else {
        return Ok(Transformed::no(plan));
    };
    let mut changed = false;
    for (left, right) in &mut join.on {
        changed |= read_side(
            left,
            join.left.schema(),
            right.get_type(join.right.schema())?,
        )?;
        changed |= read_side(
            right,
            join.right.schema(),
            left.get_type(join.left.schema())?,
        )?;
        let types = [
            left.get_type(join.left.schema())?,
            right.get_type(join.right.schema())?,
        ];
        let Some(to) = common_of([None, None].into_iter().zip(types), For::Comparison) else {
            continue;
        };
        *left = to_type(std::mem::take(left), &to, join.left.schema())?;
        *right = to_type(std::mem::take(right), &to, join.right.schema())?;
        changed = true;
    }
    let plan = LogicalPlan::Join(join);
    Ok(if changed {
        Transformed::yes(plan)
    } else {
        Transformed::no(plan)
    })
}

impl AnalyzerRule for CommonNumbers {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_plan(plan, |plan| {
            union(plan)?
                .transform_data(join)?
                .transform_data(|plan| rewrite_expressions(plan, rewrite))
        })
    }

    fn name(&self) -> &str {
        "common_numbers"
    }
}
