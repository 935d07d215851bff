//! PostgreSQL's texts without a type, where they meet a list or bytes: read as PostgreSQL writes these.
//!
//! What must hold: the text is read once, while the statement is planned; what is no value of the type is an error that repeats nothing of it.

use super::casts::is_blob;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{Cast, Expr, ExprSchemable, lit};
use hushdb_sql::{
    Error, ErrorKind, POSTGRES_LITERAL, leaves_range, postgres_bytes, postgres_list,
    postgres_moment,
};

/// The text that an expression is, if its type is that of what it meets.
pub(super) fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::ScalarFunction(call) if call.func.name() == POSTGRES_LITERAL => {
            match call.args.as_slice() {
                [Expr::Literal(text, _)] => text.try_as_str().flatten(),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The literal of which a cast to a type is what the text means; NULL for what is none of the type, if that is no error.
pub(super) fn read(text: &str, to: &DataType, lenient: bool) -> Result<ScalarValue> {
    let (read, name) = match to {
        to if is_blob(to) => (
            postgres_bytes(text).map(|bytes| ScalarValue::BinaryView(Some(bytes))),
            "bytea",
        ),
        // A text in DuckDB's own writing is a list, too.
        DataType::List(_) if text.trim_start().starts_with('[') => (Some(text.into()), "array"),
        DataType::List(item) => {
            let of_bytes = is_blob(item.data_type());
            let list = postgres_list(text, of_bytes);
            (list.map(ScalarValue::from), "array")
        }
        to if to.is_floating() && leaves_range(text, *to == DataType::Float32) => {
            let what = "a literal is out of range for the type of its column";
            return Err(Error::new(ErrorKind::OutOfRange, what).into());
        }
        to => {
            let moment = moment_text(text, to);
            (
                Some(moment.map_or_else(|| text.into(), ScalarValue::from)),
                "",
            )
        }
    };
    match read {
        Some(read) => Ok(read),
        None if lenient => Ok(ScalarValue::Utf8View(None)),
        None => Err(Error::new(
            ErrorKind::Conversion,
            format!("invalid input syntax for type {name}"),
        )
        .into()),
    }
}

/// The text of a moment or an interval as everybody reads it, if PostgreSQL alone reads it as it is, and the type is one of these.
pub(super) fn moment_text(text: &str, of: &DataType) -> Option<String> {
    match of {
        DataType::Interval(_) => postgres_moment(text, true),
        DataType::Date32 | DataType::Timestamp(..) => postgres_moment(text, false),
        _ => None,
    }
}

/// Casts a text to the type of what it meets, if that reads it otherwise than DuckDB: a list, bytes, or a moment.
pub(super) fn cast_to_met(expr: &mut Expr, met: &DataType) -> bool {
    let is_read = text_of(expr)
        .is_some_and(|text| met.is_list() || is_blob(met) || moment_text(text, met).is_some());
    if is_read {
        *expr = Expr::Cast(Cast::new(Box::new(std::mem::take(expr)), met.clone()));
    }
    is_read
}

/// Casts the texts among expressions that have to be of one type to that of the others, if that reads them otherwise than DuckDB.
pub(super) fn meet(exprs: &mut [&mut Expr], schema: &DFSchema) -> bool {
    if !exprs.iter().any(|expr| text_of(expr).is_some()) {
        return false;
    }
    let others = exprs.iter().filter(|expr| text_of(expr).is_none());
    let mut types = others.filter_map(|expr| expr.get_type(schema).ok());
    let Some(met) = types.find(|ty| !ty.is_null()) else {
        return false;
    };
    let cast = exprs.iter_mut().map(|expr| cast_to_met(expr, &met));
    cast.fold(false, |any, cast| any | cast)
}

/// Lists that are written as text beside lists.
pub(super) fn read_lists(expr: &mut RawBinaryExpr, schema: &DFSchema) -> Result<()> {
    let types = (expr.left.get_type(schema), expr.right.get_type(schema));
    if let (Ok(left), Ok(right)) = types {
        read_list(&mut expr.right, &left)?;
        read_list(&mut expr.left, &right)?;
    }
    Ok(())
}

/// `'{1,2}'` beside a list is that list, as PostgreSQL writes it.
fn read_list(literal: &mut Expr, beside: &DataType) -> Result<()> {
    let (DataType::List(item), Expr::Literal(value, _)) = (beside, &*literal) else {
        return Ok(());
    };
    let text = value.try_as_str().flatten();
    let inner = text.and_then(|text| text.strip_prefix('{')?.strip_suffix('}'));
    let Some(inner) = inner.filter(|inner| !inner.contains(['{', '"', '\\'])) else {
        return Ok(());
    };
    let items = inner.split(',').filter(|_| !inner.is_empty());
    let items = items.map(|text| ScalarValue::from(text.trim()).cast_to(item.data_type()));
    let items = items.collect::<Result<Vec<_>>>()?;
    let list = ScalarValue::new_list_nullable(&items, item.data_type());
    *literal = lit(ScalarValue::List(list));
    Ok(())
}
