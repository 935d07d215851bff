//! `ScanSource`: the leaf of every physical plan. Partitions are contiguous ranges of row groups; filters are evaluated
//! inside the scan so that the other columns are opened only for the rows that survive. Rows that an index finds are read by
//! themselves.

use super::group::{GroupReader, RowFilter};
use super::lookup::{Lookup, LookupReader};
use super::prune;
use super::statistics::{table_statistics, visible_rows};
use super::table::TableScan;
use crate::heed::interrupt_of;
use crate::memory::{Claim, limit_of};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, MutableArrayData, make_array};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::config::ConfigOptions;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, Statistics};
use datafusion::datasource::source::DataSource;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::utils::reassign_expr_columns;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::DisplayFormatType;
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use hushdb_sql::Error;
use hushdb_storage::{Interrupt, RowGroup};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

#[derive(Clone)]
pub(crate) struct ScanSource {
    scan: TableScan,
    groups: Arc<[Arc<RowGroup>]>,
    /// Read instead of the row groups.
    lookup: Option<Arc<Lookup>>,
    /// Indexes into the scan's schema, in output order.
    projection: Vec<usize>,
    output: SchemaRef,
    /// Conjuncts over the scan's whole schema; all of them hold for every row that comes out.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    /// Filters that joins and top-k fill while the query runs. They may be ignored: their owners check again.
    dynamic: Vec<Arc<dyn PhysicalExpr>>,
    partitions: Vec<Range<usize>>,
    fetch: Option<usize>,
    statistics: Arc<Statistics>,
    metrics: ExecutionPlanMetricsSet,
    /// Whether somebody above may keep a batch.
    kept: bool,
}

impl ScanSource {
    pub(super) fn try_new(
        scan: TableScan,
        projection: Option<Vec<usize>>,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        share: f64,
        fetch: Option<usize>,
        target_partitions: usize,
    ) -> Result<Self> {
        let projection = projection.unwrap_or_else(|| (0..scan.schema.fields().len()).collect());
        let mut groups = scan.table.row_groups().map_err(Error::from)?.to_vec();
        let whole = table_statistics(&scan, &groups);
        let lookup = Lookup::of(&scan, &filters)?.map(Arc::new);
        if lookup.is_some() {
            groups.clear();
        }
        for filter in &filters {
            let keep = prune::keep(&scan, &groups, filter);
            let mut flags = keep.into_iter();
            groups.retain(|_| flags.next().unwrap_or(true));
        }
        let output = Arc::new(scan.schema.project(&projection)?);
        let statistics = match &lookup {
            Some(lookup) => {
                let found = lookup.row_ids.len();
                let mut thin = thinned(whole, found as f64 / scan.table.row_count().max(1) as f64);
                thin.num_rows = Precision::Inexact(found);
                thin
            }
            None if filters.is_empty() => whole,
            None => thinned(whole, share),
        };
        let mut source = Self {
            groups: groups.into(),
            lookup,
            output,
            statistics: Arc::new(projected(statistics, &projection)),
            projection,
            filters,
            dynamic: vec![],
            partitions: vec![],
            fetch,
            metrics: ExecutionPlanMetricsSet::new(),
            kept: true,
            scan,
        };
        source.partitions = source.ranges(target_partitions);
        Ok(source)
    }

    /// The same for readers that keep no batch.
    pub(super) fn let_go(&self) -> Self {
        Self {
            kept: false,
            ..self.clone()
        }
    }

    /// Cuts the row groups into at most `wanted` contiguous ranges with about the same number of rows.
    fn ranges(&self, wanted: usize) -> Vec<Range<usize>> {
        let total: u64 = self.groups.iter().map(|g| u64::from(g.rows)).sum();
        let wanted = wanted.clamp(1, self.groups.len().max(1)) as u64;
        let mut ranges = vec![];
        let (mut start, mut seen) = (0, 0);
        for (i, group) in self.groups.iter().enumerate() {
            seen += u64::from(group.rows);
            let cut = ranges.len() as u64 + 1;
            if cut < wanted && seen * wanted >= total * cut {
                ranges.push(start..i + 1);
                start = i + 1;
            }
        }
        if start < self.groups.len() || ranges.is_empty() {
            ranges.push(start..self.groups.len());
        }
        ranges
    }

    fn rows(&self, partition: usize) -> u64 {
        if let Some(lookup) = &self.lookup {
            return lookup.row_ids.len() as u64;
        }
        self.partitions.get(partition).map_or(0, |range| {
            self.groups[range.clone()]
                .iter()
                .map(|g| visible_rows(g))
                .sum()
        })
    }
}

impl fmt::Debug for ScanSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScanSource({})", self.scan.table.name)
    }
}

impl DataSource for ScanSource {
    fn open(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let range = self.partitions.get(partition).cloned().unwrap_or(0..0);
        let progress = Arc::clone(&self.scan.progress);
        progress.plan(self.rows(partition));
        let schema = &self.scan.schema;
        let filters = RowFilter::all(&self.filters, schema)?;
        let dynamic = self.dynamic.iter().map(|f| RowFilter::new(f, schema));
        let dynamic = dynamic.collect::<Result<_>>()?;
        if let Some(lookup) = &self.lookup {
            let reader = LookupReader {
                scan: self.scan.clone(),
                lookup: Arc::clone(lookup),
                projection: self.projection.clone(),
                output: Arc::clone(&self.output),
                filters,
                batch_rows: context.session_config().batch_size(),
                done: 0,
                left: self.fetch,
            };
            return Ok(Box::pin(RecordBatchStreamAdapter::new(
                Arc::clone(&self.output),
                futures::stream::iter(reader),
            )));
        }
        let reader = PartitionReader {
            reader: GroupReader::new(
                &self.scan,
                &self.projection,
                Arc::clone(&self.output),
                filters,
                dynamic,
            ),
            groups: Arc::clone(&self.groups),
            next: range,
            scan: self.scan.clone(),
            batch_rows: context.session_config().batch_size(),
            copies: self.kept && is_scarce(&context),
            current: None,
            reservation: Claim::Held.register("Scan", context.memory_pool()),
            left: self.fetch,
            baseline: BaselineMetrics::new(&self.metrics, partition),
            interrupt: interrupt_of(&context),
            skipped: MetricBuilder::new(&self.metrics).counter("row_groups_pruned", partition),
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.output),
            futures::stream::iter(reader),
        )))
    }

    fn fmt_as(&self, t: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<_> = self
            .output
            .fields()
            .iter()
            .map(|field| field.name().as_str())
            .collect();
        match t {
            DisplayFormatType::TreeRender => write!(f, "table={}", self.scan.table.name),
            _ => {
                write!(
                    f,
                    "table={}, columns=[{}]",
                    self.scan.table.name,
                    columns.join(", ")
                )?;
                let filters: Vec<_> = self
                    .filters
                    .iter()
                    .chain(&self.dynamic)
                    .map(ToString::to_string)
                    .collect();
                if !filters.is_empty() {
                    write!(f, ", filter={}", filters.join(" AND "))?;
                }
                if let Some(fetch) = self.fetch {
                    write!(f, ", limit={fetch}")?;
                }
                match &self.lookup {
                    Some(lookup) => {
                        write!(f, ", index={}, rows={}", lookup.index, lookup.row_ids.len())
                    }
                    None => write!(f, ", row_groups={}", self.groups.len()),
                }
            }
        }
    }

    fn output_partitioning(&self) -> Partitioning {
        Partitioning::UnknownPartitioning(self.partitions.len())
    }

    fn eq_properties(&self) -> EquivalenceProperties {
        EquivalenceProperties::new(Arc::clone(&self.output))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> Result<Arc<Statistics>> {
        match partition {
            None => Ok(Arc::clone(&self.statistics)),
            Some(p) => {
                let mut statistics = self.statistics.as_ref().clone().to_inexact();
                let rows = self.rows(p) as usize;
                statistics.num_rows = match statistics.num_rows {
                    Precision::Exact(n) | Precision::Inexact(n) => {
                        Precision::Inexact(rows.min(n / self.partitions.len().max(1)))
                    }
                    Precision::Absent => Precision::Inexact(rows),
                };
                Ok(Arc::new(statistics))
            }
        }
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn DataSource>> {
        let mut source = self.clone();
        source.fetch = limit;
        Some(Arc::new(source))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn metrics(&self) -> ExecutionPlanMetricsSet {
        self.metrics.clone()
    }

    /// Takes over a projection that only picks columns; anything computed stays in its own operator.
    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn DataSource>>> {
        let mut picked = vec![];
        for item in projection.as_ref() {
            let Some(column) = item
                .expr
                .downcast_ref::<datafusion::physical_expr::expressions::Column>()
            else {
                return Ok(None);
            };
            if column.name() != item.alias || picked.contains(&column.index()) {
                return Ok(None);
            }
            picked.push(column.index());
        }
        let mut source = self.clone();
        source.projection = picked.iter().map(|&i| self.projection[i]).collect();
        source.output = Arc::new(self.scan.schema.project(&source.projection)?);
        source.statistics = Arc::new(projected(self.statistics.as_ref().clone(), &picked));
        Ok(Some(Arc::new(source)))
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _config: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn DataSource>>> {
        let mut source = self.clone();
        let mut answers = Vec::with_capacity(filters.len());
        for filter in filters {
            let filter = reassign_expr_columns(filter, &self.scan.schema)?;
            if is_dynamic(&filter) {
                source.dynamic.push(filter);
                answers.push(PushedDown::No);
            } else if is_volatile(&filter) {
                answers.push(PushedDown::No);
            } else {
                source.filters.push(filter);
                answers.push(PushedDown::Yes);
            }
        }
        Ok(
            FilterPushdownPropagation::with_parent_pushdown_result(answers)
                .with_updated_node(Arc::new(source) as Arc<dyn DataSource>),
        )
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        for expr in self.filters.iter().chain(&self.dynamic) {
            if f(expr)? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

/// Statistics of a share of the rows.
fn thinned(statistics: Statistics, share: f64) -> Statistics {
    let mut thin = statistics.to_inexact();
    let scale = |n: Precision<usize>| n.with_estimated_selectivity(share);
    thin.num_rows = scale(thin.num_rows);
    for column in &mut thin.column_statistics {
        column.byte_size = scale(column.byte_size);
        column.null_count = scale(column.null_count);
        column.distinct_count = match (column.distinct_count, thin.num_rows) {
            (Precision::Inexact(n), Precision::Inexact(rows)) => Precision::Inexact(n.min(rows)),
            (other, _) => other,
        };
    }
    thin
}

/// Statistics of some of the columns; the size counts those only, since a join builds on the side with fewer bytes.
fn projected(statistics: Statistics, columns: &[usize]) -> Statistics {
    let mut statistics = statistics.project(Some(&columns));
    statistics.total_byte_size = statistics
        .column_statistics
        .iter()
        .fold(Precision::Inexact(0), |sum, c| sum.add(&c.byte_size));
    statistics
}

/// Whether an operator fills the filter, or a part of it, while the query runs.
fn is_dynamic(filter: &Arc<dyn PhysicalExpr>) -> bool {
    filter
        .exists(|e| Ok(e.downcast_ref::<DynamicFilterPhysicalExpr>().is_some()))
        .unwrap_or(true)
}

/// Memory under which copying a batch costs less than spilling early.
const SCARCE_BYTES: usize = 1 << 30;

fn is_scarce(context: &TaskContext) -> bool {
    limit_of(context.memory_pool().as_ref()) < SCARCE_BYTES
}

/// The same rows in buffers of their own.
fn copied(batch: &RecordBatch) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|array| -> Result<ArrayRef> {
        Ok(match array.data_type() {
            DataType::Utf8View => Arc::new(array.as_string_view().gc()),
            DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
            _ => {
                let data = array.to_data();
                let mut copy = MutableArrayData::new(vec![&data], false, array.len());
                copy.try_extend(0, 0, array.len())?;
                make_array(copy.freeze())
            }
        })
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = columns.collect::<Result<_>>()?;
    Ok(RecordBatch::try_new_with_options(
        batch.schema(),
        columns,
        &options,
    )?)
}

/// Reads one partition row group by row group and hands out slices of `batch_rows` rows.
struct PartitionReader {
    reader: GroupReader,
    groups: Arc<[Arc<RowGroup>]>,
    next: Range<usize>,
    scan: TableScan,
    batch_rows: usize,
    /// Batches are cut out by copying: who keeps one does not keep, and count, its whole row group.
    copies: bool,
    current: Option<(RecordBatch, usize)>,
    /// For `current`, and when it is gone, for the next while it is decoded. Taken without asking: operators above get less.
    reservation: MemoryReservation,
    left: Option<usize>,
    baseline: BaselineMetrics,
    interrupt: Arc<Interrupt>,
    skipped: Count,
}

impl PartitionReader {
    fn advance(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            self.interrupt.check().map_err(Error::from)?;
            if let Some((batch, offset)) = self.current.take() {
                let rows = self
                    .batch_rows
                    .min(batch.num_rows() - offset)
                    .min(self.left.unwrap_or(usize::MAX));
                let mut slice = batch.slice(offset, rows);
                if self.copies && rows < batch.num_rows() {
                    slice = copied(&slice)?;
                }
                if let Some(left) = &mut self.left {
                    *left -= rows;
                }
                if offset + rows < batch.num_rows() {
                    self.current = Some((batch, offset + rows));
                }
                return Ok(Some(slice));
            }
            let Some(index) = self.next.next() else {
                return Ok(None);
            };
            let group = &self.groups[index];
            if !self.reader.may_match(&self.scan, group) {
                self.skipped.add(1);
            } else if let Some(batch) = self.interrupt.watch(|| self.reader.read(group))?
                && batch.num_rows() > 0
            {
                self.reservation.resize(batch.get_array_memory_size());
                self.current = Some((batch, 0));
            }
            self.scan.progress.done(visible_rows(group));
        }
    }
}

impl Iterator for PartitionReader {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let timer = self.baseline.elapsed_compute().clone();
        let _timing = timer.timer();
        match self.advance() {
            Ok(Some(batch)) => {
                self.baseline.record_output(batch.num_rows());
                Some(Ok(batch))
            }
            Ok(None) => None,
            Err(error) => {
                self.next = 0..0;
                self.current = None;
                Some(Err(error))
            }
        }
    }
}
