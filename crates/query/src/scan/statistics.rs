//! Table statistics for the planner, and per-row-group bounds for pruning, from what segments record.
//!
//! What must hold: `Exact` is said only where the value is the true answer over visible rows, since DataFusion answers
//! MIN, MAX and COUNT from exact statistics without scanning. Distinct counts are sketches and never exact.

use super::TableScan;
use datafusion::arrow::datatypes::{DataType, i256};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use hushdb_storage::{Column, ColumnType, RowGroup, StatValue};
use std::sync::Arc;

/// A segment bound as a scalar of the column's Arrow type; `None` where the kind of bound does not fit the type.
pub fn scalar(value: &StatValue, ty: &ColumnType) -> Option<ScalarValue> {
    use ColumnType as C;
    Some(match (value, ty) {
        (StatValue::Bool(v), C::Boolean) => ScalarValue::Boolean(Some(*v)),
        (StatValue::Float(v), C::Float) => ScalarValue::Float32(Some(*v as f32)),
        (StatValue::Float(v), C::Double) => ScalarValue::Float64(Some(*v)),
        (StatValue::Int128(v), C::Decimal { precision, scale }) => {
            ScalarValue::Decimal128(Some(*v), *precision, *scale)
        }
        (StatValue::Int128(v), C::HugeInt) => huge(i256::from_i128(*v), &ty.arrow())?,
        (StatValue::Bytes(v), C::UHugeInt) => {
            let value = u128::from_be_bytes(v.as_slice().try_into().ok()?);
            huge(i256::from_parts(value, 0), &ty.arrow())?
        }
        (StatValue::Bytes(v), C::Varchar | C::Json | C::Collated(_)) => {
            ScalarValue::Utf8View(Some(String::from_utf8(v.clone()).ok()?))
        }
        (StatValue::Bytes(v), C::Blob) => ScalarValue::BinaryView(Some(v.clone())),
        (StatValue::Bytes(v), C::Bit) => ScalarValue::LargeBinary(Some(v.clone())),
        (StatValue::Bytes(v), C::Uuid) => ScalarValue::FixedSizeBinary(16, Some(v.clone())),
        (StatValue::Bytes(v), C::TimeTz) => ScalarValue::FixedSizeBinary(8, Some(v.clone())),
        (StatValue::UInt(v), C::UInt8) => ScalarValue::UInt8(Some(u8::try_from(*v).ok()?)),
        (StatValue::UInt(v), C::UInt16) => ScalarValue::UInt16(Some(u16::try_from(*v).ok()?)),
        (StatValue::UInt(v), C::UInt32) => ScalarValue::UInt32(Some(u32::try_from(*v).ok()?)),
        (StatValue::UInt(v), C::UInt64) => ScalarValue::UInt64(Some(*v)),
        (StatValue::Int(v), C::Int8) => ScalarValue::Int8(Some(i8::try_from(*v).ok()?)),
        (StatValue::Int(v), C::Int16) => ScalarValue::Int16(Some(i16::try_from(*v).ok()?)),
        (StatValue::Int(v), C::Int32) => ScalarValue::Int32(Some(i32::try_from(*v).ok()?)),
        (StatValue::Int(v), C::Int64) => ScalarValue::Int64(Some(*v)),
        (StatValue::Int(v), C::Date) => ScalarValue::Date32(Some(i32::try_from(*v).ok()?)),
        (StatValue::Int(v), C::Time) => ScalarValue::Time64Microsecond(Some(*v)),
        (StatValue::Int(v), C::Decimal { precision, scale }) => match ty.arrow() {
            DataType::Decimal64(..) => ScalarValue::Decimal64(Some(*v), *precision, *scale),
            _ => ScalarValue::Decimal128(Some(i128::from(*v)), *precision, *scale),
        },
        (StatValue::Int(v), C::Timestamp(..)) => {
            ScalarValue::Int64(Some(*v)).cast_to(&ty.arrow()).ok()?
        }
        _ => return None,
    })
}

fn huge(value: i256, of: &DataType) -> Option<ScalarValue> {
    match of {
        DataType::Decimal256(digits, scale) => {
            Some(ScalarValue::Decimal256(Some(value), *digits, *scale))
        }
        _ => None,
    }
}

/// Statistics of all visible rows, a column statistic for each field of the scan's schema.
pub(super) fn table_statistics(scan: &TableScan, groups: &[Arc<RowGroup>]) -> Statistics {
    let deletes = groups
        .iter()
        .any(|g| g.deletes.is_some() || g.memory.is_some());
    let rows: u64 = groups.iter().map(|g| visible_rows(g)).sum();
    let mut raw_bytes = 0u64;
    let mut column_statistics = Vec::with_capacity(scan.schema.fields().len());
    for column in &scan.table.columns {
        let facts = Facts::of(column, groups, !deletes);
        raw_bytes += facts.bytes;
        let distinct = scan.table.distinct_count(column.id).ok().flatten();
        let distinct_count = match distinct {
            Some(n) if n > 0 || rows == 0 => Precision::Inexact((n as usize).min(rows as usize)),
            _ => Precision::Absent,
        };
        column_statistics.push(ColumnStatistics {
            distinct_count,
            ..facts.statistics(deletes)
        });
    }
    if scan.schema.fields().len() > column_statistics.len() {
        column_statistics.push(ColumnStatistics::new_unknown());
    }
    Statistics {
        num_rows: Precision::Exact(rows as usize),
        total_byte_size: Precision::Inexact(raw_bytes as usize),
        column_statistics,
    }
}

/// What row groups say of a column.
struct Facts {
    null_count: u64,
    bytes: u64,
    bounds: Option<(ScalarValue, ScalarValue)>,
    /// Whether all of them say between which values theirs are.
    known: bool,
    exact: bool,
}

impl Facts {
    fn of(column: &Column, groups: &[Arc<RowGroup>], exact: bool) -> Self {
        let mut this = Self {
            null_count: 0,
            bytes: 0,
            bounds: None,
            known: true,
            exact,
        };
        for group in groups {
            this.add(column, group);
        }
        this
    }

    fn add(&mut self, column: &Column, group: &RowGroup) {
        if group.memory.is_some() {
            // Rows since the last checkpoint: nothing was counted yet.
            (self.known, self.exact) = (false, false);
            return;
        }
        let Some(segment) = group.segment(column.id) else {
            // A column added later: all NULL in this row group.
            self.null_count += u64::from(group.rows);
            return;
        };
        self.null_count += segment.null_count;
        self.bytes += segment.raw_bytes;
        if segment.null_count == u64::from(group.rows) {
            return;
        }
        self.exact &= segment.exact;
        let low = segment.min.as_ref().and_then(|v| scalar(v, &column.ty));
        let high = segment.max.as_ref().and_then(|v| scalar(v, &column.ty));
        let (Some(low), Some(high)) = (low, high) else {
            self.known = false;
            return;
        };
        self.bounds = Some(match self.bounds.take() {
            None => (low, high),
            Some((l, h)) => (
                if low < l { low } else { l },
                if high > h { high } else { h },
            ),
        });
    }

    /// They for the planner, but for how many values differ.
    fn statistics(self, deletes: bool) -> ColumnStatistics {
        let precise = |value: ScalarValue| match self.exact {
            true => Precision::Exact(value),
            false => Precision::Inexact(value),
        };
        let (min_value, max_value) = match self.bounds {
            Some((low, high)) if self.known => (precise(low), precise(high)),
            _ => (Precision::Absent, Precision::Absent),
        };
        let null_count = self.null_count as usize;
        ColumnStatistics {
            null_count: match deletes {
                true => Precision::Inexact(null_count),
                false => Precision::Exact(null_count),
            },
            min_value,
            max_value,
            sum_value: Precision::Absent,
            distinct_count: Precision::Absent,
            byte_size: Precision::Inexact(self.bytes as usize),
        }
    }
}

pub(super) fn visible_rows(group: &RowGroup) -> u64 {
    u64::from(group.rows) - group.deletes.as_ref().map_or(0, |d| d.len())
}
