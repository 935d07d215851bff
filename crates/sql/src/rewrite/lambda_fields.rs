//! `lambda s: s.a`: fields of a lambda's parameter.

use crate::folded;
use crate::walk::visit_expressions_mut;
use sqlparser::ast::{AccessExpr, Expr, LambdaFunction, OneOrManyWithParens, Subscript, Value};
use std::ops::ControlFlow;

/// `lambda s: s.a` reads a field of its parameter, where a name in two parts is a table's column elsewhere.
pub(super) fn fields_of_parameters(lambda: &mut LambdaFunction) {
    let names: Vec<String> = match &lambda.params {
        OneOrManyWithParens::One(one) => vec![folded(&one.name.value)],
        OneOrManyWithParens::Many(many) => many.iter().map(|p| folded(&p.name.value)).collect(),
    };
    let _: ControlFlow<()> = visit_expressions_mut(lambda.body.as_mut(), |expr| {
        if let Expr::CompoundIdentifier(parts) = expr
            && let Some((first, fields)) = parts.split_first()
            && names.contains(&folded(&first.value))
        {
            let fields = fields.iter().map(|field| {
                let name = Value::SingleQuotedString(field.value.clone());
                AccessExpr::Subscript(Subscript::Index {
                    index: Expr::value(name),
                })
            });
            *expr = Expr::CompoundFieldAccess {
                root: Box::new(Expr::Identifier(first.clone())),
                access_chain: fields.collect(),
            };
        }
        ControlFlow::Continue(())
    });
}
