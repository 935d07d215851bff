//! The types of VALUES: where a column has values of several, each is cast to their common one before the planner chooses its own,
//! which for a decimal and a DOUBLE is a decimal.

use super::planner::Planner;
use crate::common_types::{For, common_of};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::planner::{PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, CastKind, Query, SetExpr, Value, VisitorMut,
};
use hushdb_sql::type_names::{is_called_json, sql_type, stored_type};
use hushdb_sql::walk::visit_mut;
use hushdb_sql::{DECIMAL_LITERAL, INTEGER_LITERAL, postgres_literal};
use std::ops::ControlFlow;

/// Brings the values of every VALUES in a statement to common types.
pub(super) fn unify(planner: &Planner<'_>, statement: &mut ast::Statement) {
    let _: ControlFlow<()> = visit_mut(statement, &mut Unifier(planner));
}

struct Unifier<'a>(&'a Planner<'a>);

impl VisitorMut for Unifier<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.body(&mut query.body);
        ControlFlow::Continue(())
    }
}

impl Unifier<'_> {
    fn body(&self, body: &mut SetExpr) {
        match body {
            SetExpr::Values(values) => self.values(values),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            _ => {}
        }
    }

    fn values(&self, values: &mut ast::Values) {
        let columns = values.rows.first().map_or(0, |row| row.content.len());
        for column in 0..columns {
            let cells = values.rows.iter().map(|row| row.content.get(column));
            let Some(cells) = cells.collect::<Option<Vec<_>>>() else {
                return;
            };
            let Some(ty) = self.common_type(&cells) else {
                continue;
            };
            let cells = values.rows.iter_mut();
            for cell in cells.filter_map(|row| row.content.get_mut(column)) {
                let value = std::mem::replace(cell, ast::Expr::value(Value::Null));
                *cell = ast::Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(value),
                    data_type: ty.clone(),
                    array: false,
                    format: None,
                };
            }
        }
    }

    /// The type that values need a cast to, if any; what cannot be planned has its error later.
    fn common_type(&self, cells: &[&ast::Expr]) -> Option<ast::DataType> {
        if !may_be_mixed(cells) {
            return None;
        }
        let nothing = DFSchema::empty();
        let mut is_json = false;
        let planned = cells.iter().map(|cell| {
            let mut context = PlannerContext::new();
            let cell = SqlToRel::new(self.0).sql_to_expr((*cell).clone(), &nothing, &mut context);
            let cell = cell.ok()?;
            let field = cell.to_field(&nothing).ok()?.1;
            is_json |= is_called_json(&field);
            Some((cell, field.data_type().clone()))
        });
        let planned = planned.zip(cells).map(|(planned, cell)| {
            let (planned, ty) = planned?;
            // A text that is written out is read as one of the others.
            let ty = if is_text(cell) { DataType::Null } else { ty };
            Some((planned, ty))
        });
        let planned: Vec<(Expr, DataType)> = planned.collect::<Option<_>>()?;
        if is_json {
            return Some(ast::DataType::JSON);
        }
        let common = common_of(
            planned.iter().map(|(cell, ty)| (Some(cell), ty.clone())),
            For::Value,
        );
        let common = common.or_else(|| {
            let mut known = planned.iter().map(|(_, ty)| ty).filter(|ty| !ty.is_null());
            let first = known.next()?;
            let texts = cells.iter().any(|cell| is_text(cell));
            (texts && known.all(|ty| ty == first)).then(|| first.clone())
        })?;
        sql_type(&stored_type(&Field::new("", common, true)).ok()?).ok()
    }
}

/// Whether values may be of several types: not if all are written out, or cast to one type.
fn may_be_mixed(cells: &[&ast::Expr]) -> bool {
    let is_plain = |cell: &ast::Expr| match cell {
        ast::Expr::BinaryOp { op, .. } => {
            matches!(op, BinaryOperator::Custom(mark) if mark == INTEGER_LITERAL || mark == DECIMAL_LITERAL)
        }
        ast::Expr::UnaryOp { expr, .. } => matches!(expr.as_ref(), ast::Expr::Value(_)),
        cell => matches!(cell, ast::Expr::Value(_)) || postgres_literal(cell).is_some(),
    };
    let is_boolean = |cell: &ast::Expr| matches!(cell, ast::Expr::Value(v) if matches!(v.value, Value::Boolean(_)));
    let is_null = |cell: &ast::Expr| matches!(cell, ast::Expr::Value(v) if v.value == Value::Null);
    let any = |kind: &dyn Fn(&ast::Expr) -> bool| cells.iter().any(|cell| kind(cell));
    if any(&is_boolean) && any(&|cell| !is_boolean(cell) && !is_null(cell)) {
        return true;
    }
    let mut others = cells.iter().filter(|cell| !is_null(cell));
    let Some(first) = others.next() else {
        return false;
    };
    let of_one_type =
        |cell: &&ast::Expr| type_named(cell).is_some() && type_named(cell) == type_named(first);
    !cells.iter().all(|cell| is_plain(cell)) && !others.all(of_one_type)
}

fn is_text(cell: &ast::Expr) -> bool {
    postgres_literal(cell).is_some()
        || matches!(cell, ast::Expr::Value(v) if matches!(v.value, Value::SingleQuotedString(_)))
}

/// The type that a value says it is of.
fn type_named(cell: &ast::Expr) -> Option<&ast::DataType> {
    match cell {
        ast::Expr::Cast { data_type, .. } => Some(data_type),
        ast::Expr::TypedString(text) => Some(&text.data_type),
        _ => None,
    }
}
