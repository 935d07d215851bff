//! Macros in a statement, those whose parameters have types as well: a call of such a one is planned as a function that only sees the types
//! of its arguments, until its body can take its place.
//!
//! What must hold: no plan is kept that has such a function.

use super::planner::Planner;
use crate::common_types::implicit_cost;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, LogicalPlan, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::sql::sqlparser::ast::{self, VisitMut};
use hushdb_sql::type_names::{arrow_field, is_called_json};
use hushdb_sql::{self as sql, ArgumentTypes, Error, MacroCalls, Result, TYPED_CALL};
use hushdb_storage::ColumnType;
use parking_lot::Mutex;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Types of arguments, as they come to be known.
pub(super) type Seen = Arc<Mutex<ArgumentTypes>>;

/// Puts the bodies of macros in the places of their calls.
pub(super) fn expand(planner: &Planner<'_>, statement: &mut ast::Statement) -> Result<()> {
    put_in(planner, statement, |statement| {
        let (plan, _) = planner.plan_expanded(statement)?;
        Ok(look_at(&plan)?)
    })
}

/// The same in an expression over a schema.
pub(super) fn expand_in(
    planner: &Planner<'_>,
    expr: &mut ast::Expr,
    schema: &DFSchema,
) -> Result<()> {
    if !planner.snapshot.has_macros() {
        return unchain(planner, expr);
    }
    put_in(planner, expr, |expr| {
        let expr = planner.plan_expanded_expr(expr, schema)?;
        ask(&expr, schema).map(|_| ())?;
        Ok(expr.to_field(schema).map(|_| ())?)
    })
}

fn put_in<T: VisitMut + Clone>(
    planner: &Planner<'_>,
    parsed: &mut T,
    plan: impl Fn(T) -> Result<()>,
) -> Result<()> {
    unchain(planner, parsed)?;
    let find = |parts: &[String], of_tables: bool| planner.snapshot.macro_named(parts, of_tables);
    let mut calls = MacroCalls::default();
    sql::expand_macros(parsed, &find, &mut calls)?;
    while !calls.are_done() {
        planner.macro_arguments.lock().clear();
        // What stands behind a call may be wrong until the call is a body.
        let planned = plan(parsed.clone());
        let types = std::mem::take(&mut *planner.macro_arguments.lock());
        if !calls.put_in(parsed, &find, &types, &cost)? {
            planned?;
            return Err(Error::unsupported(
                "a macro with types in a place where its arguments have none: use one without types",
            ));
        }
    }
    Ok(())
}

/// Makes plain calls of those behind dots, which PostgreSQL has not.
fn unchain(planner: &Planner<'_>, parsed: &mut impl VisitMut) -> Result<()> {
    let postgres = ast::Expr::value(ast::Value::SingleQuotedString("postgres".into()));
    sql::unchain(parsed, &|parts| {
        planner.snapshot.macro_named(parts, false).is_some()
            || planner.surroundings.setting("sql_dialect").ok() == Some(postgres.clone())
    })
}

/// Asks for the types of all calls in a plan.
fn look_at(plan: &LogicalPlan) -> DfResult<()> {
    plan.apply_with_subqueries(|node| {
        let mut schema = DFSchema::empty();
        let inputs = node.inputs().into_iter();
        inputs.for_each(|input| schema.merge(input.schema()));
        node.apply_expressions(|expr| ask(expr, &schema))
    })
    .map(|_| ())
}

fn ask(expr: &Expr, schema: &DFSchema) -> DfResult<TreeNodeRecursion> {
    expr.apply(|within| {
        if let Expr::ScalarFunction(function) = within
            && function.name().starts_with(TYPED_CALL)
        {
            // An error is that of something else, which is said when the plan is made in the end.
            let _ = within.to_field(schema);
        }
        Ok(TreeNodeRecursion::Continue)
    })
}

/// What it costs to bring an argument to a parameter's type.
pub(super) fn cost(from: &FieldRef, to: &ColumnType) -> Option<u32> {
    let to = arrow_field("", to, true);
    let is_plain = !from.data_type().is_null() && !is_called_json(from);
    match is_called_json(&to) && is_plain {
        // Anything is JSON, a text rather itself.
        true => Some(u32::from(from.data_type().is_string())),
        false => implicit_cost(from, &to),
    }
}

impl Planner<'_> {
    /// What it costs to bring an expression without columns to a type; `None` where that takes a CAST.
    ///
    /// # Errors
    /// Of the plan of the expression.
    pub fn cost_of(&self, expr: ast::Expr, to: &ColumnType) -> Result<Option<u32>> {
        let schema = DFSchema::empty();
        let (_, field) = self.plan_expr(expr, &schema)?.to_field(&schema)?;
        Ok(cost(&field, to))
    }
}

/// The function that stands for a call of a macro, if that is its name.
pub(super) fn call(name: &str, seen: &Seen) -> Option<Arc<ScalarUDF>> {
    let number = name.strip_prefix(TYPED_CALL)?.parse().ok()?;
    let any = vec![TypeSignature::VariadicAny, TypeSignature::Nullary];
    Some(Arc::new(ScalarUDF::from(Call {
        name: name.to_owned(),
        number,
        seen: Arc::clone(seen),
        signature: Signature::one_of(any, Volatility::Volatile),
    })))
}

#[derive(Debug)]
struct Call {
    name: String,
    number: usize,
    seen: Seen,
    signature: Signature,
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Call {}

impl Hash for Call {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl ScalarUDFImpl for Call {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        let field = Field::new(TYPED_CALL, DataType::Null, true);
        Ok(DataType::Struct(vec![field].into()))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> DfResult<FieldRef> {
        let mut seen = self.seen.lock();
        let all = seen.entry(self.number).or_default();
        if !all.iter().any(|known| known == args.arg_fields) {
            all.push(args.arg_fields.to_vec());
        }
        Ok(Arc::new(Field::new(
            &self.name,
            self.return_type(&[])?,
            true,
        )))
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        Err(Error::internal("a call of a macro was not put in").into())
    }
}
