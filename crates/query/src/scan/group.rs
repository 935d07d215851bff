//! `GroupReader`: one row group to one batch. Opens the columns that filters need, decides which rows survive, and opens
//! the other columns for those rows only.

use super::prune;
use super::table::TableScan;
use crate::heed::check;
use crate::memory::rows_at_once;
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder, RecordBatchOptions, UInt64Array,
};
use datafusion::arrow::buffer::BooleanBuffer;
use datafusion::arrow::compute::{filter, filter_record_batch, prep_null_mask_filter};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::TreeNode;
use datafusion::physical_expr::expressions::{Literal, lit};
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::{
    snapshot_generation, snapshot_physical_expr,
};
use hushdb_sql::Error;
use hushdb_storage::{Column, RowGroup, Shared, Store};
use std::collections::HashMap;
use std::sync::Arc;

/// Below this share of surviving rows, columns are decoded for the survivors only, also while filtering.
const SPARSE: f64 = 0.25;
/// A dynamic filter that passes more than this share of rows costs more than it saves.
const USELESS: f64 = 0.8;
/// Rows between two looks at the statement.
const PIECE_ROWS: usize = 8192;
/// Row groups over which a dynamic filter is judged.
const TRIAL_GROUPS: u32 = 2;

/// Conjuncts that read the same columns, renumbered to a batch that holds only those.
pub(super) struct RowFilter {
    /// Over the scan's whole schema, for pruning.
    whole: Arc<dyn PhysicalExpr>,
    /// Each a conjunct over `schema`.
    terms: Vec<Arc<dyn PhysicalExpr>>,
    columns: Vec<usize>,
    schema: SchemaRef,
    cost: usize,
    /// How many rows are evaluated at once: few where it calls a function, which may take long for a row, or has several terms.
    at_once: usize,
    /// For dynamic filters: generation of the bounds that pruning last saw, and how useful evaluating rows was.
    seen: u64,
    bounds: Option<Arc<dyn PhysicalExpr>>,
    trials: u32,
    rows_in: usize,
    rows_out: usize,
}

impl RowFilter {
    pub(super) fn new(expr: &Arc<dyn PhysicalExpr>, schema: &SchemaRef) -> Result<Self> {
        let mut columns: Vec<usize> = collect_columns(expr).iter().map(|c| c.index()).collect();
        columns.sort_unstable();
        columns.dedup();
        let narrow_schema: SchemaRef = Arc::new(schema.project(&columns)?);
        let cost = columns
            .iter()
            .map(|&i| match schema.field(i).data_type() {
                DataType::Utf8View | DataType::BinaryView => 8,
                _ => 1,
            })
            .sum();
        Ok(Self {
            terms: vec![reassign_expr_columns(Arc::clone(expr), &narrow_schema)?],
            whole: Arc::clone(expr),
            columns,
            schema: narrow_schema,
            cost,
            at_once: match expr.exists(|part| Ok(part.is::<ScalarFunctionExpr>()))? {
                true => rows_at_once(expr)?.min(PIECE_ROWS),
                false => rows_at_once(expr)?,
            },
            seen: 0,
            bounds: None,
            trials: 0,
            rows_in: 0,
            rows_out: 0,
        })
    }

    /// All of a scan's conjuncts, by the columns that they read, so that rows are gone through once for many.
    pub(super) fn all(exprs: &[Arc<dyn PhysicalExpr>], schema: &SchemaRef) -> Result<Vec<Self>> {
        let mut filters: Vec<Self> = vec![];
        let mut places: HashMap<Vec<usize>, usize> = HashMap::new();
        for expr in exprs {
            let filter = Self::new(expr, schema)?;
            let place = *places
                .entry(filter.columns.clone())
                .or_insert(filters.len());
            match filters.get_mut(place) {
                Some(same) => {
                    same.terms.extend(filter.terms);
                    same.at_once = same.at_once.min(filter.at_once).min(PIECE_ROWS);
                }
                None => filters.push(filter),
            }
        }
        Ok(filters)
    }

    /// Positions in the scan's schema of the columns that it reads.
    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// One flag a row: true where it passes.
    pub(super) fn evaluate(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<BooleanArray> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        if rows <= self.at_once {
            return passing(&self.terms, &batch);
        }
        let mut flags = BooleanBufferBuilder::new(rows);
        for start in (0..rows).step_by(self.at_once) {
            check()?;
            let piece = batch.slice(start, self.at_once.min(rows - start));
            flags.append_buffer(passing(&self.terms, &piece)?.values());
        }
        Ok(BooleanArray::new(flags.finish(), None))
    }

    /// False while a join has not filled it yet, and once it has shown that it keeps nearly everything.
    fn worth_evaluating(&self) -> bool {
        let idle = self.bounds.as_ref().is_none_or(is_true);
        let useless =
            self.trials >= TRIAL_GROUPS && self.rows_out as f64 > USELESS * self.rows_in as f64;
        !idle && !useless
    }
}

/// One flag a row: true where all terms hold. Once few rows are left, the other terms are held against these alone.
fn passing(terms: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<BooleanArray> {
    let mut selection = Selection::all(batch.num_rows());
    let mut rest = terms;
    while let Some((term, others)) = rest.split_first() {
        check()?;
        let holds = term.evaluate(batch)?.into_array(batch.num_rows())?;
        let holds = holds.as_boolean();
        match holds.null_count() {
            0 => selection.narrow(holds, false),
            _ => selection.narrow(&prep_null_mask_filter(holds), false),
        }
        if selection.count == 0 {
            break;
        }
        if let Some(mask) = &selection.mask
            && selection.sparse()
            && !others.is_empty()
        {
            let few = filter_record_batch(batch, &BooleanArray::new(mask.clone(), None))?;
            selection.narrow(&passing(others, &few)?, true);
            break;
        }
        rest = others;
    }
    Ok(BooleanArray::new(selection.flags(), None))
}

fn is_true(expr: &Arc<dyn PhysicalExpr>) -> bool {
    expr.downcast_ref::<Literal>()
        .is_some_and(|l| l.value() == &datafusion::common::ScalarValue::Boolean(Some(true)))
}

pub(super) struct GroupReader {
    store: Arc<Store>,
    columns: Shared<Column>,
    projection: Vec<usize>,
    output: SchemaRef,
    filters: Vec<RowFilter>,
    dynamic: Vec<RowFilter>,
}

/// The rows of a row group that are still wanted, and the columns that were opened whole on the way.
struct Selection {
    rows: usize,
    /// `None`: all of them.
    mask: Option<BooleanBuffer>,
    count: usize,
    whole: HashMap<usize, ArrayRef>,
}

impl Selection {
    fn all(rows: usize) -> Self {
        Self {
            rows,
            mask: None,
            count: rows,
            whole: HashMap::new(),
        }
    }

    /// A flag for each row.
    fn flags(self) -> BooleanBuffer {
        let rows = self.rows;
        self.mask.unwrap_or_else(|| BooleanBuffer::new_set(rows))
    }

    fn sparse(&self) -> bool {
        (self.count as f64) < SPARSE * self.rows as f64
    }

    /// Narrows to the rows where `keep` holds; `keep` has a flag for each row, or, if `compact`, for each selected row.
    fn narrow(&mut self, keep: &BooleanArray, compact: bool) {
        let mask = match (&self.mask, compact) {
            (None, _) => keep.values().clone(),
            (Some(mask), false) => mask & keep.values(),
            (Some(mask), true) => {
                let mut next = BooleanBufferBuilder::new(self.rows);
                next.append_n(self.rows, false);
                for (position, row) in mask.set_indices().enumerate() {
                    if keep.value(position) {
                        next.set_bit(row, true);
                    }
                }
                next.finish()
            }
        };
        self.count = mask.count_set_bits();
        self.mask = (self.count < self.rows).then_some(mask);
    }
}

impl GroupReader {
    pub(super) fn new(
        scan: &TableScan,
        projection: &[usize],
        output: SchemaRef,
        mut filters: Vec<RowFilter>,
        dynamic: Vec<RowFilter>,
    ) -> Self {
        filters.sort_by_key(|f| f.cost);
        Self {
            store: Arc::clone(&scan.store),
            columns: scan.table.columns.clone(),
            projection: projection.to_vec(),
            output,
            filters,
            dynamic,
        }
    }

    /// Holds the dynamic filters, as they are by now, against the row group's bounds.
    pub(super) fn may_match(&mut self, scan: &TableScan, group: &Arc<RowGroup>) -> bool {
        for filter in &mut self.dynamic {
            let generation = snapshot_generation(&filter.whole);
            if generation != filter.seen || filter.bounds.is_none() {
                filter.seen = generation;
                filter.bounds = Some(
                    snapshot_physical_expr(Arc::clone(&filter.whole)).unwrap_or_else(|_| lit(true)),
                );
            }
            if let Some(bounds) = &filter.bounds
                && !is_true(bounds)
                && prune::keep(scan, std::slice::from_ref(group), bounds) == [false]
            {
                return false;
            }
        }
        true
    }

    /// The projected columns of the rows that pass; `None` when no row does.
    pub(super) fn read(&mut self, group: &RowGroup) -> Result<Option<RecordBatch>> {
        let rows = group.rows as usize;
        let mut selection = Selection::all(rows);
        if let Some(deleted) = &group.deletes {
            let mut visible = BooleanBufferBuilder::new(rows);
            visible.append_n(rows, true);
            for row in deleted.iter() {
                visible.set_bit(row as usize, false);
            }
            selection.narrow(&BooleanArray::new(visible.finish(), None), false);
        }

        for index in 0..self.filters.len() {
            self.apply(&self.filters[index], group, &mut selection)?;
            if selection.count == 0 {
                return Ok(None);
            }
        }
        for index in 0..self.dynamic.len() {
            if !self.dynamic[index].worth_evaluating() {
                continue;
            }
            let before = selection.count;
            self.apply(&self.dynamic[index], group, &mut selection)?;
            let filter = &mut self.dynamic[index];
            filter.trials += 1;
            filter.rows_in += before;
            filter.rows_out += selection.count;
            if selection.count == 0 {
                return Ok(None);
            }
        }

        let columns = self
            .projection
            .iter()
            .map(|&index| self.selected(index, group, &selection));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(selection.count));
        Ok(Some(RecordBatch::try_new_with_options(
            Arc::clone(&self.output),
            columns,
            &options,
        )?))
    }

    fn apply(&self, filter: &RowFilter, group: &RowGroup, selection: &mut Selection) -> Result<()> {
        let compact = selection.sparse();
        let mut columns = Vec::with_capacity(filter.columns.len());
        for &index in &filter.columns {
            columns.push(if compact {
                self.selected(index, group, selection)?
            } else {
                match selection.whole.get(&index) {
                    Some(array) => Arc::clone(array),
                    None => {
                        let array = self.column(index, group, None)?;
                        selection.whole.insert(index, Arc::clone(&array));
                        array
                    }
                }
            });
        }
        let rows = if compact {
            selection.count
        } else {
            selection.rows
        };
        let keep = filter.evaluate(columns, rows)?;
        selection.narrow(&keep, compact);
        Ok(())
    }

    /// One column of the selected rows.
    fn selected(&self, index: usize, group: &RowGroup, selection: &Selection) -> Result<ArrayRef> {
        match (selection.whole.get(&index), &selection.mask) {
            (Some(array), None) => Ok(Arc::clone(array)),
            (Some(array), Some(mask)) => Ok(filter(array, &BooleanArray::new(mask.clone(), None))?),
            (None, mask) => self.column(index, group, mask.as_ref()),
        }
    }

    fn column(
        &self,
        index: usize,
        group: &RowGroup,
        mask: Option<&BooleanBuffer>,
    ) -> Result<ArrayRef> {
        match self.columns.get(index) {
            Some(column) => Ok(self
                .store
                .read_column(group, column, mask)
                .map_err(Error::from)?),
            // Past the table's columns stands only the row id.
            None => {
                let first = group.first_row_id.number();
                let ids: UInt64Array = match mask {
                    None => (first..first + u64::from(group.rows)).collect(),
                    Some(mask) => mask.set_indices().map(|row| first + row as u64).collect(),
                };
                Ok(Arc::new(ids))
            }
        }
    }
}
