//! Which types a value is brought to without being asked, and which of them rather than others: how DuckDB chooses the member of a UNION
//! that a value becomes.

use super::entry_types;
use super::number_kind::Number;
use datafusion::arrow::datatypes::{DataType, Field, TimeUnit};
use hushdb_sql::type_names::{enum_type, is_called_json};
use hushdb_storage::{ArrayType, BIT, HUGEINT, UnionType};

/// What it costs to be JSON.
const AS_JSON: u32 = 158;

/// What it costs to bring values of a field's type to another's, 0 where they are of it; `None` where that takes a CAST.
pub(crate) fn implicit_cost(from: &Field, to: &Field) -> Option<u32> {
    if is_called_json(to) {
        return Some(if is_called_json(from) { 0 } else { AS_JSON });
    }
    let own = from;
    let (from, to) = (from.data_type(), to.data_type());
    if from == to {
        return Some(0);
    }
    if to.is_null() {
        return None;
    }
    if from.is_null() {
        return Some(target_cost(to));
    }
    if let Some(members) = UnionType::members_of(to) {
        return match UnionType::members_of(from) {
            Some(own) => own.iter().all(|own| members.contains(own)).then_some(1),
            None => members.iter().filter_map(|to| implicit_cost(own, to)).min(),
        };
    }
    if enum_type(from).is_some() || enum_type(to).is_some() {
        return match (enum_type(from).is_some(), enum_type(to).is_some()) {
            (true, true) => Some(0),
            (true, false) if to.is_string() => Some(target_cost(to)),
            _ => None,
        };
    }
    if let (Some(own), Some(other)) = (Number::of(from), Number::of(to)) {
        return widens(from, (own, other), to).then(|| match (own, other) {
            (Number::Decimal(..), Number::Decimal(..)) => 0,
            _ => target_cost(to),
        });
    }
    match (from, to) {
        (from, to) if from.is_string() && to.is_string() => Some(0),
        (from, to) if from.is_binary() && to.is_binary() => {
            ((*from == BIT) == (*to == BIT)).then_some(0)
        }
        (DataType::Date32, DataType::Timestamp(..)) => Some(target_cost(to)),
        // Whose clocks show an instant is no other type to SQL.
        (DataType::Timestamp(_, Some(_)), DataType::Timestamp(_, Some(_))) => Some(0),
        (DataType::Timestamp(from, None), DataType::Timestamp(to_unit, zone)) => {
            let refines = match (from, zone) {
                (from, Some(_)) => *from == TimeUnit::Microsecond,
                (TimeUnit::Nanosecond, _) => *to_unit == TimeUnit::Microsecond,
                (from, _) => to_unit > from,
            };
            refines.then(|| target_cost(to))
        }
        (DataType::List(item), DataType::List(other)) => {
            let lengths = [from, to].map(ArrayType::length_of);
            let cost = implicit_cost(item, other)?;
            match lengths {
                [Some(own), Some(other)] if own != other => None,
                [own, other] if own != other => Some(cost.max(1)),
                _ => Some(cost.saturating_sub(1)),
            }
        }
        (DataType::Map(..), DataType::Map(..)) => entry_types(from).and(entry_types(to)).map(|_| 0),
        (DataType::Struct(fields), DataType::Struct(others)) if fields.len() == others.len() => {
            let costs = fields.iter().zip(others).map(|(field, other)| {
                let cost = implicit_cost(field, other);
                cost.filter(|_| field.name().eq_ignore_ascii_case(other.name()))
            });
            costs.sum()
        }
        _ => None,
    }
}

/// Whether every number of one type is about one of the other.
fn widens(from: &DataType, kinds: (Number, Number), to: &DataType) -> bool {
    match kinds {
        (
            Number::Int { bits, signed },
            Number::Int {
                bits: wide,
                signed: to_signed,
            },
        ) => wide > bits && (to_signed || !signed),
        (Number::Int { .. }, _) | (Number::Decimal(..), Number::Decimal(..) | Number::Float) => {
            true
        }
        (Number::Float, Number::Float) => from != &DataType::Float64 && to == &DataType::Float64,
        (Number::Float | Number::Decimal(..), _) => false,
    }
}

/// What DuckDB takes for a type to become, the less the rather.
fn target_cost(to: &DataType) -> u32 {
    match to {
        DataType::Int64 => 101,
        DataType::Int32 => 102,
        to if *to == HUGEINT => 103,
        DataType::Float64 => 104,
        DataType::Decimal64(..) | DataType::Decimal128(..) => 105,
        DataType::Timestamp(_, Some(_)) => 123,
        DataType::Timestamp(TimeUnit::Nanosecond, None) => 119,
        DataType::Timestamp(TimeUnit::Microsecond, None) => 120,
        DataType::Timestamp(TimeUnit::Millisecond, None) => 121,
        DataType::Timestamp(TimeUnit::Second, None) => 122,
        to if to.is_string() => 149,
        to if to.is_nested() => 160,
        _ => 110,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushdb_storage::UHUGEINT;

    fn cost(from: &DataType, to: &DataType) -> Option<u32> {
        let field = |of: &DataType| Field::new("", of.clone(), true);
        implicit_cost(&field(from), &field(to))
    }

    /// DuckDB's own order, least cost first.
    #[test]
    fn types_are_chosen_in_their_order() {
        use DataType as T;
        let decimal = T::Decimal64(10, 2);
        let order = |from: T, expected: &[T]| {
            let costs: Vec<_> = expected.iter().map(|to| cost(&from, to)).collect();
            assert!(costs.iter().all(Option::is_some), "{from}: {costs:?}");
            assert!(costs.is_sorted(), "{from}: {costs:?}");
        };
        let float = [T::Float64, decimal.clone(), T::Float32];
        order(
            T::Int8,
            &[&[T::Int8, T::Int64, T::Int32, HUGEINT][..], &float].concat(),
        );
        order(T::Int64, &[&[T::Int64, HUGEINT][..], &float].concat());
        order(
            decimal.clone(),
            &[T::Decimal128(30, 2), T::Float64, T::Float32],
        );
        let moment = |unit| T::Timestamp(unit, None);
        order(
            T::Date32,
            &[
                moment(TimeUnit::Nanosecond),
                moment(TimeUnit::Microsecond),
                moment(TimeUnit::Millisecond),
                moment(TimeUnit::Second),
                T::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            ],
        );
        for (from, to) in [
            (T::Int32, T::Int16),
            (T::Int32, T::UInt64),
            (T::UInt64, T::Int64),
            (UHUGEINT, HUGEINT),
            (T::Float64, T::Float32),
            (T::Float32, decimal.clone()),
            (decimal, T::Int64),
            (T::Int32, T::Utf8View),
            (T::Utf8View, T::Int32),
            (T::Boolean, T::Int32),
            (moment(TimeUnit::Microsecond), moment(TimeUnit::Second)),
            (moment(TimeUnit::Microsecond), T::Date32),
        ] {
            assert_eq!(cost(&from, &to), None, "{from} to {to}");
        }
    }
}
