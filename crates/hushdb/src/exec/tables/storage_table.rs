//! `PRAGMA storage_info('t')`: the segments that a table's columns lie in.
//!
//! What must hold: it tells no value that a query of the table does not: bounds are shown where they are values, and no row of the
//! segment is gone.

use super::arrays::{flags, number_lists, numbers, texts};
use super::numbered::number;
use crate::exec::Columns;
use hushdb_query::functions::value_text;
use hushdb_query::plan::Planner;
use hushdb_query::scan::bound_value;
use hushdb_sql::type_names::column_type_name;
use hushdb_sql::{Result, name_in_text};
use hushdb_storage::{Column, RowGroup, Segment, StatValue};
use std::sync::Arc;

/// A column's values in a row group; without a segment they are in memory, or all NULL.
struct SegmentRow<'a> {
    group: usize,
    at: usize,
    column: &'a Column,
    rows: &'a RowGroup,
    segment: Option<&'a Segment>,
}

impl SegmentRow<'_> {
    /// How values lie; Vortex chooses among its encodings in each segment.
    fn compression(&self) -> &'static str {
        match (self.segment, &self.rows.memory) {
            (Some(_), _) => "Vortex",
            (None, Some(_)) => "Uncompressed",
            (None, None) => "Constant",
        }
    }

    fn stats(&self) -> Option<String> {
        let segment = self.segment.filter(|_| self.rows.deletes.is_none())?;
        let bound = |value: &Option<StatValue>| {
            let value = bound_value(value.as_ref()?, &self.column.ty)?;
            let value = value.to_array().ok()?;
            value_text(value.as_ref(), 0).ok().flatten()
        };
        let bounds = match (bound(&segment.min), bound(&segment.max)) {
            (Some(min), Some(max)) if segment.exact => format!("[Min: {min}, Max: {max}]"),
            _ => String::new(),
        };
        let nulls = segment.null_count;
        Some(format!(
            "{bounds}[Has Null: {}, Has No Null: {}]",
            nulls > 0,
            nulls < u64::from(self.rows.rows)
        ))
    }

    fn info(&self) -> String {
        self.segment.map_or(String::new(), |segment| {
            format!(
                "{} bytes, {} before compression",
                segment.block.payload_len, segment.raw_bytes
            )
        })
    }
}

/// One row a column of a row group.
pub(in crate::exec) fn storage_info(planner: &Planner<'_>, name: &str) -> Result<Columns> {
    let (_, table) = planner.snapshot.table(&name_in_text(name)?)?;
    let groups: &[Arc<RowGroup>] = table.row_groups()?;
    let mut rows = vec![];
    for (group, in_group) in groups.iter().enumerate() {
        rows.extend(
            table
                .columns
                .iter()
                .enumerate()
                .map(|(at, column)| SegmentRow {
                    group,
                    at,
                    column,
                    rows: in_group,
                    segment: in_group.segment(column.id),
                }),
        );
    }
    let block = |row: &SegmentRow<'_>| i64::try_from(row.segment?.block.sector).ok();
    Ok(vec![
        ("row_group_id", numbers(&rows, |row| number(row.group))),
        (
            "column_name",
            texts(&rows, |row| Some(row.column.name.clone())),
        ),
        ("column_id", numbers(&rows, |row| number(row.at))),
        (
            "column_path",
            texts(&rows, |row| Some(format!("[{}]", row.at))),
        ),
        ("segment_id", numbers(&rows, |_| Some(0))),
        (
            "segment_type",
            texts(&rows, |row| Some(column_type_name(&row.column.ty))),
        ),
        ("start", numbers(&rows, |_| Some(0))),
        ("count", numbers(&rows, |row| Some(row.rows.rows.into()))),
        (
            "compression",
            texts(&rows, |row| Some(row.compression().into())),
        ),
        ("stats", texts(&rows, SegmentRow::stats)),
        ("has_updates", flags(&rows, |_| false)),
        ("persistent", flags(&rows, |row| row.rows.memory.is_none())),
        ("block_id", numbers(&rows, block)),
        ("block_offset", numbers(&rows, |row| row.segment.map(|_| 0))),
        ("segment_info", texts(&rows, |row| Some(row.info()))),
        ("additional_block_ids", number_lists(&rows, |_| vec![])),
    ])
}
