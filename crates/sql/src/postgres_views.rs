//! A view's text as PostgreSQL's clients wrote it: the catalog keeps calls that every dialect reads alike, in which nobody would know it again.
//!
//! What must hold: read in PostgreSQL's dialect, the text has the meaning of what is stored.

use crate::calls::all_unnamed;
use crate::cut_divide::operator_of;
use crate::operators::POSTGRES_OPERATORS;
use crate::postgres::OTHER_NAMES;
use crate::postgres_casts::{POSTGRES_OUTPUT, POSTGRES_TEXT, POSTGRES_WHOLE};
use crate::postgres_functions::MACROS;
use crate::reading::parse_query;
use crate::walk::visit_expressions_mut;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType, Expr, Function, FunctionArguments, Ident, ObjectName,
};
use std::ops::ControlFlow;

/// The text of a stored query, for clients of PostgreSQL.
pub fn view_text(stored: &str) -> String {
    let Ok(mut query) = parse_query(stored) else {
        return stored.to_owned();
    };
    let _ = visit_expressions_mut(&mut query, |expr| {
        let written = match expr {
            Expr::Function(function) => written(function),
            _ => None,
        };
        if let Some(written) = written {
            *expr = written;
        }
        ControlFlow::<()>::Continue(())
    });
    query.to_string()
}

/// What a call was written as, if otherwise.
fn written(function: &mut Function) -> Option<Expr> {
    let [name] = function.name.0.as_slice() else {
        return None;
    };
    let name = name.as_ident()?.value.clone();
    if let Some(plain) = plain_name(&name) {
        function.name = ObjectName::from(vec![Ident::new(plain)]);
        return None;
    }
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let args = all_unnamed(&list.args)?;
    match <[Expr; 2]>::try_from(args) {
        Ok([left, right]) => {
            let mut operators = POSTGRES_OPERATORS.iter();
            let known = operators.find(|(_, function)| *function == name);
            let op = match known {
                Some((op, _)) => BinaryOperator::Custom((*op).to_owned()),
                None => operator_of(&name)?,
            };
            Some(Expr::Nested(Box::new(Expr::BinaryOp {
                left: Box::new(left),
                op,
                right: Box::new(right),
            })))
        }
        Err(args) => {
            let [of] = <[Expr; 1]>::try_from(args).ok()?;
            match name.as_str() {
                POSTGRES_WHOLE | POSTGRES_OUTPUT => Some(of),
                POSTGRES_TEXT => Some(Expr::Nested(Box::new(Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(of),
                    data_type: DataType::Text,
                    array: false,
                    format: None,
                }))),
                _ => None,
            }
        }
    }
}

/// The name of a function that is ours under another one, with the same arguments.
fn plain_name(ours: &str) -> Option<&'static str> {
    let mut names = OTHER_NAMES.iter();
    let other = names.find(|(_, known)| *known == ours && ours.ends_with("_as_postgres"));
    if let Some((name, _)) = other {
        return Some(*name);
    }
    let mut macros = MACROS.iter();
    let same = macros.find(|(_, count, meaning)| {
        let args = (1..=*count).map(|n| format!("${n}")).collect::<Vec<_>>();
        ours.ends_with("_as_postgres") && *meaning == format!("{ours}({})", args.join(", "))
    });
    same.map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_shown_as_it_was_written() {
        for (stored, shown) in [
            (
                "SELECT divide_as_postgres(postgres_whole(a)::INT, b) AS q FROM t",
                "SELECT (a::INT / b) AS q FROM t",
            ),
            (
                "SELECT sum_as_postgres(b) OVER () AS s, date_trunc_as_postgres('day', d) AS d FROM t",
                "SELECT sum(b) OVER () AS s, date_trunc('day', d) AS d FROM t",
            ),
            (
                "SELECT postgres_text(b) AS t, \"jsonb_object_field_text\"(j, 'x') AS x FROM t",
                "SELECT (CAST(b AS TEXT)) AS t, (j ->> 'x') AS x FROM t",
            ),
        ] {
            assert_eq!(view_text(stored), shown);
        }
    }
}
