//! Cuts a stream of record batches into row groups.
//!
//! What must hold: rows keep their order; a row group has at most `rows_per_group` rows, and none of its columns more than
//! 16 MiB of raw data unless a single row has.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_select::concat::concat;
use hushdb_encoding::{BIT, MAX_ROW_GROUP_ROWS, row_bytes};

use super::Column;
use crate::error::{Error, Result};

/// A row group ends when one column has this much raw data.
pub(crate) const MAX_COLUMN_RAW_BYTES: u64 = 16 << 20;

/// From how many buffers on a column's values are brought into one.
const MANY_BUFFERS: usize = 16;

/// Gathers batches until a row group is full.
pub struct RowGroupBuilder {
    columns: Vec<Column>,
    rows_per_group: usize,
    pending: GatheredRows,
    /// Raw bytes gathered per column of text, bytes, lists or structs; others cannot pass the limit.
    pending_bytes: Vec<u64>,
}

impl RowGroupBuilder {
    /// A builder for rows of `columns`.
    pub fn new(columns: &[Column], rows_per_group: usize) -> Self {
        Self {
            columns: columns.to_vec(),
            rows_per_group: rows_per_group.clamp(1, MAX_ROW_GROUP_ROWS as usize),
            pending: GatheredRows::of(columns.len()),
            pending_bytes: vec![0; columns.len()],
        }
    }

    /// Takes a batch and returns the row groups that are full.
    ///
    /// # Errors
    /// InvalidInput if the batch does not have the columns' types in order.
    pub fn push(&mut self, batch: &RecordBatch) -> Result<Vec<GatheredRows>> {
        let fits = |(array, column): (&ArrayRef, &Column)| array.data_type() == &column.ty.arrow();
        if batch.num_columns() != self.columns.len()
            || !batch.columns().iter().zip(&self.columns).all(fits)
        {
            return Err(Error::InvalidInput(
                "the rows do not have the table's columns".into(),
            ));
        }
        let mut full = Vec::new();
        let mut rest = batch.clone();
        while rest.num_rows() > 0 {
            let take = self.rows_that_fit(&rest);
            if take > 0 {
                self.take(rest.slice(0, take));
                rest = rest.slice(take, rest.num_rows() - take);
            }
            if self.pending.rows >= self.rows_per_group || rest.num_rows() > 0 {
                full.extend(self.cut());
            }
        }
        Ok(full)
    }

    /// The rows that are left, if any: the last row group, or one that ends early.
    pub fn cut(&mut self) -> Option<GatheredRows> {
        self.pending_bytes.fill(0);
        let empty = GatheredRows::of(self.columns.len());
        let rows = std::mem::replace(&mut self.pending, empty);
        (rows.rows > 0).then_some(rows)
    }

    /// How many rows of `batch` still go into the current row group; at least one if it is empty.
    fn rows_that_fit(&self, batch: &RecordBatch) -> usize {
        let mut rows = batch
            .num_rows()
            .min(self.rows_per_group - self.pending.rows);
        for (array, gathered) in batch.columns().iter().zip(&self.pending_bytes) {
            let mut total = *gathered;
            let mut fits = |bytes: u64| {
                total += bytes;
                total <= MAX_COLUMN_RAW_BYTES
            };
            if let Some(views) = views_of(array) {
                let lengths = views.iter().map(|view| u64::from(*view as u32));
                rows = lengths.take(rows).take_while(|len| fits(*len)).count();
            } else if array.data_type().is_nested() || *array.data_type() == BIT {
                let bytes = row_bytes(array.as_ref()).into_iter();
                rows = bytes.take(rows).take_while(|bytes| fits(*bytes)).count();
            }
        }
        if self.pending.rows == 0 {
            rows.max(1)
        } else {
            rows
        }
    }

    fn take(&mut self, batch: RecordBatch) {
        for (array, gathered) in batch.columns().iter().zip(&mut self.pending_bytes) {
            if let Some(views) = views_of(array) {
                *gathered += views
                    .iter()
                    .map(|view| u64::from(*view as u32))
                    .sum::<u64>();
            } else if array.data_type().is_nested() || *array.data_type() == BIT {
                *gathered += row_bytes(array.as_ref()).iter().sum::<u64>();
            }
        }
        self.pending.rows += batch.num_rows();
        let (_, arrays, _) = batch.into_parts();
        for (pieces, array) in self.pending.columns.iter_mut().zip(arrays) {
            pieces.push(array);
        }
    }
}

/// The rows of one row group in the pieces in which they came, column by column, so that who writes a column can let go of it.
pub struct GatheredRows {
    columns: Vec<Vec<ArrayRef>>,
    rows: usize,
}

impl GatheredRows {
    fn of(columns: usize) -> Self {
        Self {
            columns: vec![Vec::new(); columns],
            rows: 0,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// One array for each column, joined when it is asked for; its pieces are gone then.
    ///
    /// # Errors
    /// Each: InvalidInput if Arrow cannot join the pieces.
    pub fn into_columns(self) -> impl Iterator<Item = Result<ArrayRef>> {
        self.columns.into_iter().map(|pieces| {
            if let [only] = pieces.as_slice() {
                return Ok(Arc::clone(only));
            }
            let pieces: Vec<&dyn Array> = pieces.iter().map(|piece| piece.as_ref()).collect();
            let joined = concat(&pieces).map_err(|e| Error::InvalidInput(e.to_string()))?;
            Ok(in_few_buffers(joined))
        })
    }
}

/// Sorted and joined rows point into buffers of many batches. The compressor, which cuts arrays into samples, looks at all
/// buffers for each piece.
fn in_few_buffers(array: ArrayRef) -> ArrayRef {
    let is_many = |buffers: usize| buffers > MANY_BUFFERS;
    if let Some(text) = array.as_string_view_opt()
        && is_many(text.data_buffers().len())
    {
        Arc::new(text.gc())
    } else if let Some(bytes) = array.as_binary_view_opt()
        && is_many(bytes.data_buffers().len())
    {
        Arc::new(bytes.gc())
    } else {
        array
    }
}

/// The views of an array of text or bytes; the low 32 bits of a view are the value's length.
fn views_of(array: &ArrayRef) -> Option<&[u128]> {
    let text = array
        .as_string_view_opt()
        .map(|array| array.views().as_ref());
    text.or_else(|| {
        array
            .as_binary_view_opt()
            .map(|array| array.views().as_ref())
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::{Int32Array, StringViewArray};
    use arrow_schema::{Field, Schema};

    use super::*;
    use hushdb_encoding::ColumnType;

    fn column(name: &str, ty: ColumnType) -> Column {
        Column {
            id: crate::numbers::ColumnId::default(),
            name: name.into(),
            ty,
            nullable: true,
            default: None,
            generated: None,
            declared: None,
        }
    }

    fn batch(array: ArrayRef) -> RecordBatch {
        let field = Field::new("c", array.data_type().clone(), true);
        RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap()
    }

    /// The only column of each row group.
    fn columns(groups: Vec<GatheredRows>) -> Vec<ArrayRef> {
        let only = |group: GatheredRows| group.into_columns().next().unwrap().unwrap();
        groups.into_iter().map(only).collect()
    }

    fn lens(groups: Vec<GatheredRows>) -> Vec<usize> {
        columns(groups).iter().map(|array| array.len()).collect()
    }

    #[test]
    fn rows_are_cut_by_number_and_keep_their_order() {
        let mut builder = RowGroupBuilder::new(&[column("c", ColumnType::Int32)], 100);
        let mut groups = Vec::new();
        let mut next = 0;
        for len in [30, 0, 70, 250, 1] {
            let array = Int32Array::from_iter_values(next..next + len);
            groups.extend(builder.push(&batch(Arc::new(array))).unwrap());
            next += len;
        }
        groups.extend(builder.cut());
        let groups = columns(groups);
        let lens: Vec<usize> = groups.iter().map(|array| array.len()).collect();
        assert_eq!(lens, [100, 100, 100, 51]);
        let values = groups.iter().flat_map(|array| {
            array
                .as_primitive::<arrow_array::types::Int32Type>()
                .values()
                .to_vec()
        });
        assert!(values.eq(0..351));
    }

    #[test]
    fn rows_are_cut_by_raw_bytes_and_a_larger_value_stands_alone() {
        let mut builder = RowGroupBuilder::new(&[column("c", ColumnType::Varchar)], 1000);
        let (mega, large) = ("m".repeat(6 << 20), "l".repeat(20 << 20));
        let texts = [&mega, &mega, &mega, &large, &mega].map(|text| text.as_str());
        let array = StringViewArray::from_iter_values(texts);
        let mut groups = builder.push(&batch(Arc::new(array))).unwrap();
        groups.extend(builder.cut());
        assert_eq!(lens(groups), [2, 1, 1, 1]);
    }

    #[test]
    fn rows_are_cut_by_what_is_in_their_lists() {
        let ty = ColumnType::List(Box::new(ColumnType::Boolean));
        let mut builder = RowGroupBuilder::new(&[column("c", ty)], 1000);
        let lengths = [6 << 20, 6 << 20, 6 << 20, 20 << 20, 1];
        let values = arrow_buffer::BooleanBuffer::new_set(lengths.iter().sum());
        let array = arrow_array::ListArray::new(
            Arc::new(Field::new_list_field(arrow_schema::DataType::Boolean, true)),
            arrow_buffer::OffsetBuffer::from_lengths(lengths),
            Arc::new(arrow_array::BooleanArray::new(values, None)),
            None,
        );
        let mut groups = builder.push(&batch(Arc::new(array))).unwrap();
        groups.extend(builder.cut());
        assert_eq!(lens(groups), [2, 1, 1, 1]);
    }

    #[test]
    fn batches_of_other_types_are_refused() {
        let mut builder = RowGroupBuilder::new(&[column("c", ColumnType::Varchar)], 100);
        assert!(
            builder
                .push(&batch(Arc::new(Int32Array::from(vec![1]))))
                .is_err()
        );
    }
}
