//! The common type of dates and timestamps, and of these and text.

use datafusion::arrow::datatypes::{DataType, TimeUnit};

/// The common type of dates and timestamps of several kinds: the most exact one, with a zone if one has it.
pub(super) fn common(types: &[DataType]) -> Option<DataType> {
    let mut unit: Option<TimeUnit> = None;
    let mut zone = None;
    for ty in types {
        match ty {
            DataType::Timestamp(own, own_zone) => {
                unit = Some(unit.map_or(*own, |unit| unit.max(*own)));
                zone = zone.or(own_zone.clone());
            }
            DataType::Date32 | DataType::Null => {}
            _ => return None,
        }
    }
    unit.map(|unit| DataType::Timestamp(unit, zone))
}

/// The type that dates and timestamps without a zone, BOOLEAN and INTERVAL have in common with text, which is read as such.
pub(super) fn beside_text(types: &[DataType]) -> Option<DataType> {
    let is_text = |ty: &&DataType| ty.is_string() || ty.is_null();
    let days = types.iter().filter(|ty| !is_text(ty)).cloned();
    let days: Vec<DataType> = days.collect();
    let is_day = |ty: &DataType| matches!(ty, DataType::Date32 | DataType::Timestamp(_, None));
    match days.first() {
        Some(first @ (DataType::Boolean | DataType::Interval(_))) => {
            days.iter().all(|ty| ty == first).then(|| first.clone())
        }
        Some(first) if days.iter().all(is_day) => Some(common(&days).unwrap_or(first.clone())),
        _ => None,
    }
}
