//! `GatheredRows`: rows of log records that follow each other, as the records have them.
//!
//! What must hold: what comes out is the same as if each record's rows had been made arrays and these joined. A log of small commits has
//! millions of records: an array for each of their values would cost many times what reading them does.

use arrow_array::ArrayRef;
use arrow_buffer::BooleanBufferBuilder;
use hushdb_encoding::ColumnType;
use hushdb_encoding::plain_values::FlatValues;
use hushdb_encoding::wire::WireError;

use super::change_record::{LoggedRows, LoggedValues};
use crate::numbers::{ColumnId, RowId};
use crate::row_group::RowGroup;

/// Rows without deletes, of columns that are neither lists nor structs.
pub(super) struct GatheredRows {
    first_row_id: RowId,
    rows: u32,
    columns: Vec<GatheredColumn>,
}

struct GatheredColumn {
    id: ColumnId,
    ty: ColumnType,
    /// A bit for each row, once one is NULL.
    nulls: Option<BooleanBufferBuilder>,
    lengths: Vec<u8>,
    bytes: Vec<u8>,
}

impl GatheredRows {
    /// The first rows; `None` if such rows cannot be gathered.
    pub(super) fn begin(first: &LoggedRows<'_>) -> Option<Self> {
        let flat = |values: &LoggedValues<'_>| matches!(values, LoggedValues::Flat(_));
        if first.deletes.is_some() || !first.values.iter().all(|(.., values)| flat(values)) {
            return None;
        }
        let columns = first.values.iter().map(|(id, ty, _)| GatheredColumn {
            id: *id,
            ty: ty.clone(),
            nulls: None,
            lengths: Vec::new(),
            bytes: Vec::new(),
        });
        let mut gathered = Self {
            first_row_id: first.first_row_id,
            rows: 0,
            columns: columns.collect(),
        };
        gathered.add(first);
        Some(gathered)
    }

    /// Adds rows if they have the same columns, and no deletes. `false`: they have not.
    pub(super) fn add(&mut self, more: &LoggedRows<'_>) -> bool {
        let same = |(column, (id, ty, values)): (&GatheredColumn, &(ColumnId, ColumnType, _))| {
            column.id == *id && column.ty == *ty && matches!(values, LoggedValues::Flat(_))
        };
        if more.deletes.is_some()
            || self.columns.len() != more.values.len()
            || !self.columns.iter().zip(&more.values).all(same)
        {
            return false;
        }
        for (column, (.., values)) in self.columns.iter_mut().zip(&more.values) {
            if let LoggedValues::Flat(values) = values {
                column.add(values, self.rows as usize, more.rows as usize);
            }
        }
        self.rows += more.rows;
        true
    }

    /// The rows in memory.
    ///
    /// # Errors
    /// None but for values that were not held against their types.
    pub(super) fn finish(self) -> Result<RowGroup, WireError> {
        let rows = self.rows as usize;
        let columns = self.columns.into_iter();
        let values = columns.map(|column| Ok((column.id, column.finish(rows)?)));
        let values = values.collect::<Result<_, WireError>>()?;
        Ok(RowGroup::in_memory(self.first_row_id, self.rows, values))
    }
}

impl GatheredColumn {
    fn add(&mut self, values: &FlatValues<'_>, before: usize, rows: usize) {
        if values.nulls.is_some() && self.nulls.is_none() {
            let mut all = BooleanBufferBuilder::new(before + rows);
            all.append_n(before, true);
            self.nulls = Some(all);
        }
        match (&mut self.nulls, values.nulls) {
            (Some(nulls), Some(bits)) => nulls.append_packed_range(0..rows, bits),
            (Some(nulls), None) => nulls.append_n(rows, true),
            (None, _) => {}
        }
        self.lengths.extend_from_slice(values.lengths);
        self.bytes.extend_from_slice(values.bytes);
    }

    fn finish(self, rows: usize) -> Result<ArrayRef, WireError> {
        let values = FlatValues {
            nulls: self.nulls.as_ref().map(BooleanBufferBuilder::as_slice),
            lengths: &self.lengths,
            bytes: &self.bytes,
        };
        values.array(&self.ty, rows)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Int32Array, StringViewArray};

    use super::*;
    use hushdb_encoding::plain_values;
    use hushdb_encoding::wire::{Reader, Writer};

    const TYPES: [ColumnType; 3] = [ColumnType::Int32, ColumnType::Varchar, ColumnType::Boolean];

    fn arrays(rows: &[Option<i32>]) -> [ArrayRef; 3] {
        let text = |n: &Option<i32>| n.map(|n| "long text ".repeat(n as usize % 4));
        [
            Arc::new(Int32Array::from(rows.to_vec())),
            Arc::new(StringViewArray::from_iter(rows.iter().map(text))),
            Arc::new(BooleanArray::from_iter(
                rows.iter().map(|n| n.map(|n| n % 2 == 0)),
            )),
        ]
    }

    #[test]
    fn rows_come_out_one_after_the_other() {
        let parts = [
            vec![Some(1)],
            vec![Some(2), None, Some(3)],
            vec![Some(4)],
            vec![None],
            (5..40).map(Some).collect(),
        ];
        let mut gathered: Option<GatheredRows> = None;
        let mut first_row_id = RowId::new(7);
        for part in &parts {
            let mut columns = vec![];
            for (array, ty) in arrays(part).iter().zip(&TYPES) {
                let mut out = Writer::default();
                plain_values::write(array.as_ref(), ty, &mut out).unwrap();
                columns.push(out.into_bytes());
            }
            let values = columns
                .iter()
                .zip(&TYPES)
                .enumerate()
                .map(|(id, (bytes, ty))| {
                    let flat = FlatValues::read(ty, part.len(), &mut Reader::new(bytes)).unwrap();
                    (
                        ColumnId::new(id as u32),
                        ty.clone(),
                        LoggedValues::Flat(flat),
                    )
                });
            let rows = LoggedRows {
                first_row_id,
                rows: part.len() as u32,
                deletes: None,
                values: values.collect(),
            };
            first_row_id = first_row_id + part.len() as u64;
            match &mut gathered {
                Some(gathered) => assert!(gathered.add(&rows)),
                None => gathered = GatheredRows::begin(&rows),
            }
        }
        let group = gathered.unwrap().finish().unwrap();
        let all = parts.concat();
        assert_eq!(
            (group.first_row_id, group.rows as usize),
            (RowId::new(7), all.len())
        );
        for (id, expected) in arrays(&all).iter().enumerate() {
            assert_eq!(
                group.memory_values(ColumnId::new(id as u32)),
                Some(expected)
            );
        }
    }
}
