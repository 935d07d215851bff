//! The type that values of several types have in common: in CASE, IN, comparisons, lists, set operations, and among a function's arguments.
//!
//! ```text
//! number_kind   what there is to know about a numeric type
//! numbers       integers, decimals, floats, and what stands beside them
//! temporal      dates and timestamps
//! stacked       what a column of several queries is, as in UNION
//! nested        lists and structs, value by value within them
//! json          JSON within these
//! implicit      what a value becomes where several types are at hand: the member of a UNION
//! ```
//!
//! What must hold: no value loses a digit by coercion; a decimal with a DOUBLE becomes one and with a FLOAT a FLOAT, as in
//! DuckDB. Knows no function and no plan: both ask it.

mod implicit;
mod json;
mod nested;
pub(crate) mod number_kind;
mod numbers;
mod stacked;
mod temporal;

use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::Expr;

pub(crate) use implicit::implicit_cost;
pub(crate) use json::{
    STAND_IN, field_of, has_json_within, stand_in, with_stand_ins, without_json, without_stand_ins,
};
pub(crate) use nested::{common as common_type, entry_fields, entry_types, map_of};
pub(crate) use stacked::stacked;

/// What common type is looked for.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum For {
    /// Of values that are one value: CASE, COALESCE. A literal takes the type of the integers beside it, if it fits.
    Value,
    /// Of values that are compared: as narrow as the literals are, and integers are left to DataFusion.
    Comparison,
}

/// The common type of values that are not all of one type, if it is for these rules to find.
pub(crate) fn common_of<'a>(
    items: impl Iterator<Item = (Option<&'a Expr>, DataType)>,
    what: For,
) -> Option<DataType> {
    let items: Vec<_> = items.collect();
    let types: Vec<DataType> = items.iter().map(|(_, ty)| ty.clone()).collect();
    let mixed = types
        .iter()
        .skip(1)
        .zip(&types)
        .any(|(ty, before)| ty != before);
    match (mixed, types.iter().any(DataType::is_nested)) {
        (false, _) => None,
        // JSON is compared as the text that it is.
        (true, true) if what == For::Comparison => {
            let texts: Vec<_> = types.iter().map(without_json).collect();
            nested::common(&texts)
        }
        (true, true) => nested::common(&types),
        (true, false) => {
            if what == For::Value
                && let Some(read_as) = beside_written_texts(&items)
            {
                return Some(read_as);
            }
            let integer = match what {
                For::Value => numbers::common_integer(&items),
                For::Comparison => types
                    .iter()
                    .any(number_kind::is_huge)
                    .then(|| numbers::common_integer(&items))
                    .flatten(),
            };
            integer
                .or_else(|| numbers::common(items.iter().cloned(), what))
                .or_else(|| temporal::common(&types))
                .or_else(|| match what {
                    For::Comparison => temporal::beside_text(&types)
                        .or_else(|| numbers::number_beside_boolean(&types)),
                    For::Value => numbers::integers_beside_booleans(&items),
                })
        }
    }
}

/// The type of what stands beside texts that are written: these are read as it.
fn beside_written_texts(items: &[(Option<&Expr>, DataType)]) -> Option<DataType> {
    let is_written = |(expr, ty): &(Option<&Expr>, DataType)| match expr {
        Some(Expr::Literal(value, _)) => ty.is_string() && !value.is_null(),
        _ => false,
    };
    let others = items.iter().filter(|item| !is_written(item));
    let others: Vec<_> = others.filter(|(_, ty)| !ty.is_null()).cloned().collect();
    if !items.iter().any(is_written) {
        return None;
    }
    let (_, first) = others.first()?;
    let to = match others.iter().all(|(_, ty)| ty == first) {
        true => first.clone(),
        false => common_of(others.into_iter(), For::Value)?,
    };
    (!to.is_string()).then_some(to)
}
