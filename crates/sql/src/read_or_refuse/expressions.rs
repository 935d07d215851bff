//! Expressions, calls and windows.

use super::query::{order, wildcard};
use super::{Result, not_there, refuse};
use sqlparser::ast::{
    AccessExpr, Array, CeilFloorKind, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentClause, FunctionArgumentList, FunctionArguments, Interval, LambdaFunction,
    ObjectName, Subscript, TypedString, WindowFrame, WindowSpec, WindowType,
};

pub(super) fn expr(expr: &Expr) -> Result<()> {
    match expr {
        Expr::Function(function) => self::function(function),
        Expr::CompoundFieldAccess {
            root: _,
            access_chain,
        } => {
            access_chain.iter().for_each(access);
            Ok(())
        }
        Expr::Like {
            negated: _,
            any,
            expr: _,
            pattern: _,
            escape_char: _,
        }
        | Expr::ILike {
            negated: _,
            any,
            expr: _,
            pattern: _,
            escape_char: _,
        } => refuse(&[(any, "LIKE ANY")]),
        Expr::Cast {
            kind: _,
            expr: _,
            data_type: _,
            array,
            format,
        } => refuse(&[(array, "CAST AS ARRAY"), (format, "FORMAT of a CAST")]),
        Expr::Ceil { expr: _, field } | Expr::Floor { expr: _, field } => match field {
            CeilFloorKind::DateTimeField(DateTimeField::NoDateTime) => Ok(()),
            _ => Err(not_there("CEIL or FLOOR with a unit or a scale")),
        },
        Expr::Trim {
            trim_where: _,
            trim_what: _,
            expr: _,
            trim_characters,
        } => {
            let many = trim_characters.as_ref().is_some_and(|c| c.len() > 1);
            refuse(&[(&many, "trim with more than two arguments")])
        }
        Expr::Struct { values: _, fields } => refuse(&[(fields, "STRUCT with types of fields")]),
        Expr::Interval(Interval {
            value: _,
            leading_field: _,
            leading_precision,
            last_field,
            fractional_seconds_precision,
        }) => refuse(&[
            (leading_precision, "a precision of an INTERVAL"),
            (last_field, "an INTERVAL from one unit TO another"),
            (fractional_seconds_precision, "a precision of an INTERVAL"),
        ]),
        other if is_whole(other) || is_operator(other) || is_syntax(other) => Ok(()),
        other => Err(not_there(foreign(other))),
    }
}

/// Whether it is a name, a value, a test or a set of what is visited by itself: all of it is read.
fn is_whole(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::IsFalse(_)
            | Expr::IsNotFalse(_)
            | Expr::IsTrue(_)
            | Expr::IsNotTrue(_)
            | Expr::IsNull(_)
            | Expr::IsNotNull(_)
            | Expr::IsUnknown(_)
            | Expr::IsNotUnknown(_)
            | Expr::IsDistinctFrom(..)
            | Expr::IsNotDistinctFrom(..)
            | Expr::Nested(_)
            | Expr::Value(_)
            | Expr::Subquery(_)
            | Expr::GroupingSets(_)
            | Expr::Cube(_)
            | Expr::Rollup(_)
            | Expr::Tuple(_)
            | Expr::Dictionary(_)
            | Expr::Map(_)
            | Expr::Wildcard(_)
            | Expr::QualifiedWildcard(..)
    )
}

/// Whether it is an operator, or a condition on operands, all of whose parts are read.
fn is_operator(expr: &Expr) -> bool {
    match expr {
        Expr::InList {
            expr: _,
            list: _,
            negated: _,
        }
        | Expr::InSubquery {
            expr: _,
            subquery: _,
            negated: _,
        }
        | Expr::Exists {
            subquery: _,
            negated: _,
        }
        | Expr::Between {
            expr: _,
            negated: _,
            low: _,
            high: _,
        }
        | Expr::BinaryOp {
            left: _,
            op: _,
            right: _,
        }
        | Expr::UnaryOp { op: _, expr: _ }
        | Expr::AnyOp {
            left: _,
            compare_op: _,
            right: _,
            // SOME is another word for ANY.
            is_some: _,
        }
        | Expr::AllOp {
            left: _,
            compare_op: _,
            right: _,
        }
        | Expr::AtTimeZone {
            timestamp: _,
            time_zone: _,
        } => true,
        _ => false,
    }
}

/// Whether it is a call with words of its own, a CASE, a list or a literal with a type: all of its parts are read.
fn is_syntax(expr: &Expr) -> bool {
    match expr {
        Expr::Extract {
            field: _,
            // FROM or a comma.
            syntax: _,
            expr: _,
        }
        | Expr::Position { expr: _, r#in: _ }
        | Expr::Substring {
            expr: _,
            substring_from: _,
            substring_for: _,
            // How it is written.
            special: _,
            shorthand: _,
        }
        | Expr::Overlay {
            expr: _,
            overlay_what: _,
            overlay_from: _,
            overlay_for: _,
        }
        | Expr::Case {
            case_token: _,
            end_token: _,
            operand: _,
            conditions: _,
            else_result: _,
        }
        | Expr::SimilarTo {
            negated: _,
            expr: _,
            pattern: _,
            escape_char: _,
        }
        | Expr::Array(Array { elem: _, named: _ })
        | Expr::Lambda(LambdaFunction {
            params: _,
            body: _,
            syntax: _,
        })
        | Expr::TypedString(TypedString {
            data_type: _,
            value: _,
            // How it is written.
            uses_odbc_syntax: _,
        }) => true,
        _ => false,
    }
}

/// Expressions of other dialects.
fn foreign(expr: &Expr) -> &'static str {
    match expr {
        Expr::IsNormalized { .. } => "IS NORMALIZED",
        Expr::InUnnest { .. } => "IN UNNEST",
        Expr::RLike { .. } => "RLIKE",
        Expr::Convert { .. } => "CONVERT",
        Expr::Collate { .. } => "COLLATE",
        Expr::Prefixed { .. } => "a string with a prefix",
        Expr::Named { .. } => "a named expression",
        Expr::MatchAgainst { .. } => "MATCH AGAINST",
        Expr::OuterJoin(_) => "the join operator (+)",
        Expr::Prior(_) => "PRIOR",
        Expr::MemberOf(_) => "MEMBER OF",
        Expr::JsonAccess { .. } => "a path after a colon",
        _ => "this expression",
    }
}

fn access(access: &AccessExpr) {
    match access {
        AccessExpr::Dot(_)
        | AccessExpr::Subscript(
            Subscript::Index { index: _ }
            | Subscript::Slice {
                lower_bound: _,
                upper_bound: _,
                stride: _,
            },
        ) => {}
    }
}

fn function(function: &Function) -> Result<()> {
    let Function {
        name,
        // How it is written.
        uses_odbc_syntax: _,
        parameters,
        args,
        // `aggregate_order.rs` refuses what belongs to aggregates of what is none.
        filter: _,
        null_treatment: _,
        over,
        within_group,
    } = function;
    let has_parameters = !matches!(parameters, FunctionArguments::None);
    let is_array = name.to_string().eq_ignore_ascii_case("array");
    let is_query = matches!(args, FunctionArguments::Subquery(_)) && !is_array;
    refuse(&[
        (&has_parameters, "a function with parameters of its own"),
        (&is_query, "a query in the place of a function's arguments"),
    ])?;
    order(within_group)?;
    match over {
        Some(WindowType::WindowSpec(window)) => self::window(window)?,
        Some(WindowType::NamedWindow(_)) | None => {}
    }
    let FunctionArguments::List(list) = args else {
        return Ok(());
    };
    let FunctionArgumentList {
        duplicate_treatment: _,
        args,
        clauses,
    } = list;
    match is_columns(name) {
        true => columns(args)?,
        false => arguments(args)?,
    }
    clauses.iter().try_for_each(|clause| match clause {
        FunctionArgumentClause::IgnoreOrRespectNulls(_) => Ok(()),
        FunctionArgumentClause::OrderBy(expressions) => order(expressions),
        FunctionArgumentClause::Limit(_) => Err(not_there("LIMIT among a function's arguments")),
        FunctionArgumentClause::OnOverflow(_) => Err(not_there("ON OVERFLOW")),
        FunctionArgumentClause::Having(_) => Err(not_there("HAVING among a function's arguments")),
        FunctionArgumentClause::Separator(_) => Err(not_there("SEPARATOR")),
        FunctionArgumentClause::JsonNullClause(_) => Err(not_there("NULL ON NULL")),
        FunctionArgumentClause::JsonReturningClause(_) => {
            Err(not_there("RETURNING among a function's arguments"))
        }
    })
}

fn is_columns(name: &ObjectName) -> bool {
    match name.0.as_slice() {
        [part] => (part.as_ident()).is_some_and(|name| name.value.eq_ignore_ascii_case("columns")),
        _ => false,
    }
}

/// `COLUMNS(* EXCLUDE (a))` is written out column by column.
fn columns(args: &[FunctionArg]) -> Result<()> {
    match args {
        [FunctionArg::Unnamed(FunctionArgExpr::WildcardWithOptions(options))] => wildcard(options),
        args => arguments(args),
    }
}

pub(super) fn arguments(args: &[FunctionArg]) -> Result<()> {
    args.iter().try_for_each(|arg| {
        let value = match arg {
            FunctionArg::Named {
                name: _,
                arg,
                operator: _,
            }
            | FunctionArg::ExprNamed {
                name: _,
                arg,
                operator: _,
            }
            | FunctionArg::Unnamed(arg) => arg,
        };
        match value {
            FunctionArgExpr::Expr(_)
            | FunctionArgExpr::QualifiedWildcard(_)
            | FunctionArgExpr::Wildcard => Ok(()),
            FunctionArgExpr::WildcardWithOptions(options) => {
                wildcard(options)?;
                Err(not_there("* EXCLUDE or REPLACE as an argument"))
            }
        }
    })
}

pub(super) fn window(window: &WindowSpec) -> Result<()> {
    let WindowSpec {
        window_name: _,
        partition_by: _,
        order_by,
        window_frame,
    } = window;
    if let Some(WindowFrame {
        units: _,
        start_bound: _,
        end_bound: _,
    }) = window_frame
    {}
    order(order_by)
}
