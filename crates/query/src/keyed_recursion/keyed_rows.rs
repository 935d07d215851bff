//! `KeyedRows`: one row for each key, the last that came.

use crate::functions::{key_type, keys};
use crate::heed::check;
use crate::memory::Claim;
use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::row::{OwnedRow, RowConverter, SortField};
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// What a row takes beside its bytes and those of its key.
const ENTRY: usize = 2 * size_of::<OwnedRow>() + 2 * size_of::<usize>();

pub(super) struct KeyedRows {
    /// Columns of the keys.
    of_key: Vec<usize>,
    keys: RowConverter,
    columns: RowConverter,
    places: HashMap<OwnedRow, usize>,
    /// In the order in which their keys came first.
    rows: Vec<OwnedRow>,
    bytes: usize,
    reservation: MemoryReservation,
}

impl KeyedRows {
    pub(super) fn new(of_key: &[usize], schema: &SchemaRef, context: &TaskContext) -> Result<Self> {
        let types = schema.fields().iter().map(|field| field.data_type());
        let types: Vec<DataType> = types.cloned().collect();
        let fields = types.iter().cloned().map(SortField::new);
        let key_types = of_key.iter().filter_map(|at| types.get(*at));
        let key_types = key_types.map(|ty| key_type(ty).unwrap_or(ty.clone()));
        Ok(Self {
            of_key: of_key.to_vec(),
            keys: RowConverter::new(key_types.map(SortField::new).collect())?,
            columns: RowConverter::new(fields.collect())?,
            places: HashMap::new(),
            rows: vec![],
            bytes: 0,
            reservation: Claim::Held.register("rows of USING KEY", context.memory_pool()),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Puts rows in the places of those with their keys.
    pub(super) fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        check()?;
        if batch.num_rows() == 0 {
            return Ok(());
        }
        let of_key = self.of_key.iter().map(|at| keys(batch.column(*at)));
        let of_key: Vec<ArrayRef> = of_key.collect::<Result<_>>()?;
        let of_key = self.keys.convert_columns(&of_key)?;
        let rows = self.columns.convert_columns(batch.columns())?;
        for (key, row) in of_key.iter().zip(rows.iter()) {
            self.bytes += row.as_ref().len();
            let rows = &mut self.rows;
            match self.places.entry(key.owned()) {
                Entry::Occupied(place) => {
                    if let Some(old) = rows.get_mut(*place.get()) {
                        self.bytes -= old.as_ref().len();
                        *old = row.owned();
                    }
                }
                Entry::Vacant(place) => {
                    self.bytes += ENTRY + key.as_ref().len();
                    place.insert(rows.len());
                    rows.push(row.owned());
                }
            }
        }
        self.reservation.try_resize(self.bytes)
    }

    /// Some of the rows, from one on.
    pub(super) fn rows(&self, from: usize, count: usize) -> Result<Vec<ArrayRef>> {
        let rows = self.rows.iter().skip(from).take(count);
        Ok(self.columns.convert_rows(rows.map(OwnedRow::row))?)
    }
}

/// A batch of as many rows with these columns, of the types that a schema says.
pub(super) fn with_rows(
    schema: &SchemaRef,
    columns: &[ArrayRef],
    rows: usize,
) -> Result<RecordBatch> {
    let columns = columns.iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| cast(column, field.data_type()));
    let columns = columns.collect::<std::result::Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let schema = SchemaRef::clone(schema);
    Ok(RecordBatch::try_new_with_options(
        schema, columns, &options,
    )?)
}
