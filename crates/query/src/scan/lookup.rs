//! `Lookup`: the rows that an index finds for a filter that fixes its columns, so that nothing else is read.
//!
//! What must hold: every row that passes the filters is among them. The filters are held against them all the same.

use super::group::RowFilter;
use super::table::TableScan;
use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatchOptions, UInt64Array};
use datafusion::arrow::compute::{and, filter};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column as PhysicalColumn, InListExpr, Literal,
};
use hushdb_sql::Error;
use hushdb_storage::{Column, ColumnType, Index};
use std::collections::HashMap;
use std::sync::Arc;

/// Keys that are looked up for one filter, and no more.
const MOST_KEYS: usize = 1024;
/// Rows that are read one by one at any rate; past this, as many as a twentieth of the table.
const FEW_ROWS: u64 = 1024;

/// Rows found by an index.
#[derive(Debug)]
pub(super) struct Lookup {
    /// The index's name.
    pub(super) index: String,
    /// In ascending order.
    pub(super) row_ids: Vec<u64>,
}

impl Lookup {
    /// Looks up what the filters, all of which must hold, fix by an index; `None` when a scan is the better way.
    pub(super) fn of(scan: &TableScan, filters: &[Arc<dyn PhysicalExpr>]) -> Result<Option<Self>> {
        if scan.table.indexes().is_empty() {
            return Ok(None);
        }
        let mut fixed: HashMap<usize, Vec<ScalarValue>> = HashMap::new();
        for filter in filters {
            if let Some((at, values)) = values(scan, filter) {
                let shorter = fixed
                    .get(&at)
                    .is_none_or(|known| values.len() < known.len());
                if shorter {
                    fixed.insert(at, values);
                }
            }
        }
        let kind = |unique| {
            let indexes = scan.table.indexes().iter();
            indexes.filter(move |index| index.kind().is_unique() == unique)
        };
        for index in kind(true).chain(kind(false)) {
            if let Some(row_ids) = find(scan, index, &fixed)? {
                let index = index.name().to_string();
                return Ok(Some(Self { index, row_ids }));
            }
        }
        Ok(None)
    }
}

/// The column that a filter fixes, by its position, and the values that it allows.
fn values(scan: &TableScan, filter: &Arc<dyn PhysicalExpr>) -> Option<(usize, Vec<ScalarValue>)> {
    if let Some(list) = filter.downcast_ref::<InListExpr>() {
        if list.negated() || list.list().len() > MOST_KEYS {
            return None;
        }
        let (at, cast) = column(list.expr())?;
        let values = list.list().iter().map(|item| value(scan, at, cast, item));
        return Some((at, values.collect::<Option<Vec<_>>>()?.concat()));
    }
    let binary = filter.downcast_ref::<BinaryExpr>()?;
    match binary.op() {
        Operator::Eq => {
            let (at, cast, item) = match (column(binary.left()), column(binary.right())) {
                (Some((at, cast)), None) => (at, cast, binary.right()),
                (None, Some((at, cast))) => (at, cast, binary.left()),
                _ => return None,
            };
            Some((at, value(scan, at, cast, item)?))
        }
        // A short IN list.
        Operator::Or => {
            let (left, mut all) = values(scan, binary.left())?;
            let (right, more) = values(scan, binary.right())?;
            all.extend(more);
            (left == right && all.len() <= MOST_KEYS).then_some((left, all))
        }
        _ => None,
    }
}

/// A column, and the type it is cast to, if it is.
fn column(expr: &Arc<dyn PhysicalExpr>) -> Option<(usize, Option<&DataType>)> {
    if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        let (at, inner) = column(cast.expr())?;
        return inner.is_none().then_some((at, Some(cast.cast_type())));
    }
    let column = expr.downcast_ref::<PhysicalColumn>()?;
    Some((column.index(), None))
}

/// The value of the column that equals a literal: none when no value of its type does.
fn value(
    scan: &TableScan,
    at: usize,
    cast: Option<&DataType>,
    item: &Arc<dyn PhysicalExpr>,
) -> Option<Vec<ScalarValue>> {
    let literal = item.downcast_ref::<Literal>()?.value();
    let ty = scan.table.columns.get(at)?.ty.arrow();
    if literal.is_null() {
        return Some(vec![]);
    }
    let Some(to) = cast else {
        return (literal.data_type() == ty).then(|| vec![literal.clone()]);
    };
    // Only casts that keep different values apart.
    let alike = (ty.is_integer() && to.is_integer())
        || (ty.is_decimal() && to.is_decimal())
        || (ty.is_string() && to.is_string());
    if !alike || literal.data_type() != *to {
        return None;
    }
    match literal.cast_to(&ty) {
        Ok(value) if value.cast_to(to).is_ok_and(|back| back == *literal) => Some(vec![value]),
        _ => Some(vec![]),
    }
}

/// Rows that an index finds for the values of its columns; `None` when a column is not fixed, or it is too many.
fn find(
    scan: &TableScan,
    index: &Index,
    fixed: &HashMap<usize, Vec<ScalarValue>>,
) -> Result<Option<Vec<u64>>> {
    let mut columns: Vec<&[ScalarValue]> = vec![];
    for id in index.column_ids() {
        let at = scan.table.columns.iter().position(|c| c.id == *id);
        let Some((column, values)) = at.and_then(|at| {
            let column = scan.table.columns.get(at)?;
            Some((column, fixed.get(&at)?))
        }) else {
            return Ok(None);
        };
        // How zeros of floats compare is the filter's business.
        if matches!(column.ty, ColumnType::Float | ColumnType::Double) {
            return Ok(None);
        }
        columns.push(values);
    }
    let keys = columns
        .iter()
        .try_fold(1usize, |n, values| n.checked_mul(values.len()));
    let Some(keys) = keys.filter(|keys| *keys <= MOST_KEYS) else {
        return Ok(None);
    };
    let rows = scan.table.row_count();
    let limit = FEW_ROWS.max(rows / 20);
    if !index.kind().is_unique() && rows_expected(scan, index, rows)? * keys as u64 > limit {
        return Ok(None);
    }
    let mut found = vec![];
    for mut key in 0..keys {
        let arrays = columns.iter().map(|values| {
            let value = values.get(key % values.len());
            key /= values.len();
            value.map_or_else(|| ScalarValue::Null.to_array(), ScalarValue::to_array)
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        match scan.table.find(index, &arrays, 0) {
            Ok(ids) => found.extend(ids),
            // A key too long for the index is in no row, which the scan finds out.
            Err(hushdb_storage::Error::Unsupported(_)) => return Ok(None),
            Err(error) => return Err(Error::from(error).into()),
        }
        if found.len() as u64 > limit {
            return Ok(None);
        }
    }
    found.sort_unstable();
    found.dedup();
    Ok(Some(found))
}

/// How many rows a key of an index has, as its columns' distinct values tell; one where they tell nothing.
fn rows_expected(scan: &TableScan, index: &Index, rows: u64) -> Result<u64> {
    let mut distinct = 0;
    for id in index.column_ids() {
        let known = scan.table.distinct_count(*id).map_err(Error::from)?;
        distinct = distinct.max(known.unwrap_or_default());
    }
    Ok(rows.checked_div(distinct).unwrap_or(1))
}

/// Reads rows of a lookup in batches.
pub(super) struct LookupReader {
    pub(super) scan: TableScan,
    pub(super) lookup: Arc<Lookup>,
    pub(super) projection: Vec<usize>,
    pub(super) output: SchemaRef,
    pub(super) filters: Vec<RowFilter>,
    pub(super) batch_rows: usize,
    /// How many of the rows are behind.
    pub(super) done: usize,
    pub(super) left: Option<usize>,
}

impl LookupReader {
    fn read(&self, row_ids: &[u64]) -> Result<RecordBatch> {
        let table = &self.scan.table;
        let filtered = self.filters.iter().flat_map(RowFilter::columns);
        let mut wanted: Vec<usize> = filtered.chain(&self.projection).copied().collect();
        wanted.sort_unstable();
        wanted.dedup();
        // Past the table's columns stands only the row id.
        let columns: Vec<&Column> = wanted
            .iter()
            .filter_map(|at| table.columns.get(*at))
            .collect();
        let arrays = self.scan.store.read_rows(table, &columns, row_ids);
        let mut arrays = arrays.map_err(Error::from)?;
        if wanted.len() > arrays.len() {
            arrays.push(Arc::new(UInt64Array::from(row_ids.to_vec())));
        }
        let array = |at: &usize| {
            let found = wanted.binary_search(at).ok().and_then(|i| arrays.get(i));
            let found = found.map(Arc::clone);
            found.ok_or_else(|| Error::internal("a column of a lookup is missing").into())
        };
        let mut keep: Option<BooleanArray> = None;
        for filter in &self.filters {
            let columns = filter.columns().iter().map(array).collect::<Result<_>>()?;
            let passes = filter.evaluate(columns, row_ids.len())?;
            keep = Some(match keep {
                None => passes,
                Some(before) => and(&before, &passes)?,
            });
        }
        let rows = keep
            .as_ref()
            .map_or(row_ids.len(), BooleanArray::true_count);
        let columns = self.projection.iter().map(|at| {
            let array = array(at)?;
            match &keep {
                Some(keep) if rows < row_ids.len() => Ok(filter(&array, keep)?),
                _ => Ok(array),
            }
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let output = Arc::clone(&self.output);
        Ok(RecordBatch::try_new_with_options(
            output, columns, &options,
        )?)
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            self.scan.progress.check()?;
            let rest = self.lookup.row_ids.get(self.done..).unwrap_or_default();
            let next = rest
                .get(..self.batch_rows.min(rest.len()))
                .unwrap_or_default();
            if next.is_empty() || self.left == Some(0) {
                return Ok(None);
            }
            let mut batch = self.read(next)?;
            self.scan.progress.done(next.len() as u64);
            self.done += next.len();
            if let Some(left) = &mut self.left {
                batch = batch.slice(0, batch.num_rows().min(*left));
                *left -= batch.num_rows();
            }
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }
}

impl Iterator for LookupReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance().transpose();
        if matches!(next, Some(Err(_))) {
            self.left = Some(0);
        }
        next
    }
}
