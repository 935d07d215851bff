//! `Claim`: what an operator's memory is for, and so what it does when it gets no more.
//!
//! Operators of ours state it. What DataFusion's are called stands in one table, whose test runs a plan for each row.

use super::MemoryBudget;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use std::any::Any;
use std::sync::Arc;

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Rows that are sorted: they are spilled, from the second batch on.
    SortedRows,
    /// Groups of an aggregation that are spilled, and read again with the same reservation.
    Groups,
    /// The same in the last step of an aggregation, which can spill before it holds a group.
    LastGroups,
    /// The same of an aggregation that gives out groups as they end, and has little use for spilling.
    OrderedGroups,
    /// Anything else that is spilled.
    Spilled,
    /// Rows on their way from one partition to others. They are counted, so that others spill, and never spill themselves.
    InTransit,
    /// A hash join's build side: the join is divided. It leaves a third to operators above it, which need memory at the same
    /// time.
    BuildSide,
    /// One side of a join that tries all pairs: when it is refused, the rows are read in parts.
    LoopSide,
    /// A window's partition: a large one spills or is refused. It leaves what sorts below it need to merge.
    Partition,
    /// A merge of what an operator holds or has spilled: without it that is of no use.
    Merge,
    /// Rows that others hold and count.
    Borrowed,
    /// What cannot be spilled.
    Held,
}

/// Consumers of DataFusion, by how their names begin; the first row that fits counts. Whatever is not here is `Spilled` or `Held`, as it
/// says that it can spill or cannot.
const OF_DATAFUSION: [(&str, Claim); 13] = [
    ("RepartitionExec[Merge ", Claim::Merge),
    // It may wait for ever once it spills: writers that share a pool leave several files open, a reader waits for more in the
    // first, and all writers wait for readers.
    ("RepartitionExec[", Claim::InTransit),
    ("FinalHashAggregateStream[", Claim::LastGroups),
    ("PartialHashAggregateStream[", Claim::Groups),
    ("SingleHashAggregateStream[", Claim::Groups),
    ("GroupedHashAggregateStream[", Claim::Groups),
    ("OrderedFinalAggregateStream[", Claim::OrderedGroups),
    ("HashJoinInput", Claim::BuildSide),
    ("NestedLoopJoinLoad[fallback]", Claim::Spilled),
    ("NestedLoopJoinLoad[", Claim::LoopSide),
    ("CrossJoinExec", Claim::LoopSide),
    ("ExternalSorterMerge[", Claim::Merge),
    // Its rows point into buffers that the sorts below hold and count, and it has two batches of each.
    ("SortPreservingMergeExec[", Claim::Borrowed),
];

impl Claim {
    /// A reservation that makes this claim, called `name` in errors.
    pub fn register(
        self,
        name: impl Into<String>,
        pool: &Arc<dyn MemoryPool>,
    ) -> MemoryReservation {
        let consumer = MemoryConsumer::new(name).with_can_spill(self.spills());
        let pool_as_any: &dyn Any = pool.as_ref();
        if let Some(budget) = pool_as_any.downcast_ref::<MemoryBudget>() {
            budget.note_claim(&consumer, self);
        }
        consumer.register(pool)
    }

    /// That of a consumer which does not state one.
    pub(super) fn of(consumer: &MemoryConsumer) -> Self {
        let row = OF_DATAFUSION.iter();
        let mut row = row.filter(|(start, _)| consumer.name().starts_with(start));
        match row.next() {
            // An operator that cannot spill in its mode says so.
            Some((_, claim)) if !claim.spills() || consumer.can_spill() => *claim,
            _ if consumer.can_spill() => Self::Spilled,
            _ => Self::Held,
        }
    }

    fn spills(self) -> bool {
        match self {
            Self::SortedRows
            | Self::Groups
            | Self::LastGroups
            | Self::OrderedGroups
            | Self::Spilled
            | Self::InTransit => true,
            Self::BuildSide
            | Self::LoopSide
            | Self::Partition
            | Self::Merge
            | Self::Borrowed
            | Self::Held => false,
        }
    }

    /// What is counted of a reservation of so many bytes. A hash join copies its build side into one batch at the end, beside the
    /// batches that it has reserved.
    pub(super) fn counted(self, bytes: usize) -> usize {
        match self {
            Self::BuildSide => bytes.saturating_add(bytes / 2),
            _ => bytes,
        }
    }

    /// What is counted more when a reservation of `size` bytes grows.
    pub(super) fn growth(self, size: usize, additional: usize) -> usize {
        self.counted(size.saturating_add(additional)) - self.counted(size)
    }

    /// Whether it can be refused, holding `size` bytes, although there is memory.
    pub(super) fn can_be_forced(self, size: usize) -> bool {
        match self {
            // A sort its second batch of rows, others their first, but for aggregates of which that may be empty.
            Self::SortedRows | Self::Groups => size > 0,
            Self::LastGroups | Self::LoopSide => true,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int64Array, RecordBatch};
    use datafusion::common::DataFusionError;
    use datafusion::datasource::MemTable;
    use datafusion::execution::memory_pool::{MemoryLimit, UnboundedMemoryPool};
    use datafusion::execution::runtime_env::RuntimeEnvBuilder;
    use datafusion::prelude::{SessionConfig, SessionContext};
    use parking_lot::Mutex;
    use std::collections::BTreeMap;
    use std::fmt;

    /// Refuses one consumer, and keeps what consumers are called.
    #[derive(Debug, Default)]
    struct Watched {
        all: UnboundedMemoryPool,
        refused: &'static str,
        seen: Mutex<BTreeMap<String, Claim>>,
    }

    impl fmt::Display for Watched {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("watched")
        }
    }

    impl MemoryPool for Watched {
        fn name(&self) -> &str {
            "watched"
        }

        fn register(&self, consumer: &MemoryConsumer) {
            let name = consumer.name().to_owned();
            self.seen.lock().insert(name, Claim::of(consumer));
        }

        fn grow(&self, reservation: &MemoryReservation, additional: usize) {
            self.all.grow(reservation, additional);
        }

        fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
            self.all.shrink(reservation, shrink);
        }

        fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result {
            if reservation.consumer().name() == self.refused {
                return Err(DataFusionError::ResourcesExhausted("refused".into()));
            }
            self.all.try_grow(reservation, additional)
        }

        fn reserved(&self) -> usize {
            self.all.reserved()
        }

        fn memory_limit(&self) -> MemoryLimit {
            MemoryLimit::Infinite
        }
    }

    type Result<T = ()> = datafusion::common::Result<T>;

    /// For each row a query by whose plan its consumer is registered, the settings that take, and who is refused.
    const PLANS: [(&str, &str, &[&str], &str); 13] = [
        (
            "RepartitionExec[Merge ",
            "SELECT a, count(*) FROM sorted GROUP BY a ORDER BY a",
            &["datafusion.optimizer.prefer_existing_sort"],
            "",
        ),
        ("RepartitionExec[", GROUPED, &[], ""),
        ("FinalHashAggregateStream[", GROUPED, MIGRATED, ""),
        ("PartialHashAggregateStream[", GROUPED, MIGRATED, ""),
        (
            "SingleHashAggregateStream[",
            "SELECT a, count(*) FROM (SELECT DISTINCT a FROM t) GROUP BY a",
            MIGRATED,
            "",
        ),
        ("GroupedHashAggregateStream[", GROUPED, &[], ""),
        (
            "OrderedFinalAggregateStream[",
            "SELECT a, count(*) FROM sorted GROUP BY a ORDER BY a",
            &[
                "datafusion.optimizer.prefer_existing_sort",
                "datafusion.execution.enable_migration_aggregate",
            ],
            "",
        ),
        (
            "HashJoinInput",
            "SELECT * FROM t JOIN one ON t.a = one.a",
            &[],
            "",
        ),
        (
            "NestedLoopJoinLoad[fallback]",
            PAIRS,
            &[],
            "NestedLoopJoinLoad[0]",
        ),
        ("NestedLoopJoinLoad[", PAIRS, &[], ""),
        ("CrossJoinExec", "SELECT * FROM t CROSS JOIN one", &[], ""),
        ("ExternalSorterMerge[", SORTED, &[], ""),
        ("SortPreservingMergeExec[", SORTED, &[], ""),
    ];
    const GROUPED: &str = "SELECT a, count(*) FROM t GROUP BY a";
    const PAIRS: &str = "SELECT * FROM t JOIN one ON t.a < one.a";
    const SORTED: &str = "SELECT * FROM t ORDER BY a";
    const MIGRATED: &[&str] = &["datafusion.execution.enable_migration_aggregate"];

    fn table(partitions: i64) -> MemTable {
        let values = |from: i64| Arc::new(Int64Array::from_iter_values(from..from + 100));
        let batch = |from| RecordBatch::try_from_iter([("a", values(from) as _)]).unwrap();
        let schema = batch(0).schema();
        let parts = (0..partitions).map(|part| vec![batch(part * 10)]);
        MemTable::try_new(schema, parts.collect()).unwrap()
    }

    async fn consumers(
        sql: &str,
        settings: &[&str],
        refused: &'static str,
    ) -> BTreeMap<String, Claim> {
        let watched = Arc::new(Watched {
            refused,
            ..Watched::default()
        });
        let runtime = RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::clone(&watched) as _)
            .build_arc();
        let migration = "datafusion.execution.enable_migration_aggregate";
        let mut config = SessionConfig::new()
            .with_target_partitions(2)
            .set_bool(migration, false);
        for setting in settings {
            config = config.set_bool(setting, true);
        }
        let context = SessionContext::new_with_config_rt(config, runtime.unwrap());
        let by_a = vec![vec![datafusion::prelude::col("a").sort(true, false)]];
        let sorted = table(2).with_sort_order(by_a);
        context.register_table("t", Arc::new(table(2))).unwrap();
        context.register_table("one", Arc::new(table(1))).unwrap();
        context.register_table("sorted", Arc::new(sorted)).unwrap();
        let rows = context.sql(sql).await.unwrap().collect().await.unwrap();
        assert!(!rows.is_empty(), "{sql}");
        drop(rows);
        watched.seen.lock().clone()
    }

    #[tokio::test]
    async fn each_row_of_the_table_is_what_a_consumer_of_datafusion_is_called() {
        assert!(
            OF_DATAFUSION
                .map(|row| row.0)
                .into_iter()
                .eq(PLANS.map(|plan| plan.0))
        );
        let mut faults = vec![];
        for ((start, claim), (_, sql, settings, refused)) in OF_DATAFUSION.into_iter().zip(PLANS) {
            let seen = consumers(sql, settings, refused).await;
            let is_it = |(name, seen): (&String, &Claim)| name.starts_with(start) && *seen == claim;
            if !seen.iter().any(is_it) {
                faults.push(format!("{start} is not among {seen:?}"));
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
    }

    #[test]
    fn what_is_stated_counts_and_not_the_name() {
        let budget = MemoryBudget::new(Arc::new(hushdb_storage::BufferPool::new(0)), 1600);
        let budget: Arc<dyn MemoryPool> = Arc::new(budget);
        let merge = Claim::Merge.register("any name", &budget);
        merge.try_grow(100_000).unwrap();
        let held = Claim::Held.register("SortPreservingMergeExec[0]", &budget);
        assert!(held.try_grow(100_000).is_err());
        assert!(
            Claim::SortedRows
                .register("s", &budget)
                .consumer()
                .can_spill()
        );
    }
}
