//! The DataFusion session every statement is planned and run in.
//!
//! What must hold: operators write to sealed spill files and nowhere else, and no setting reaches DataFusion but through here:
//! some of its settings would rebuild the runtime with plaintext temporary files.

use super::casts::DuckCasts;
use super::cheap_conditions::CheapConditions;
use super::collations::Collations;
use super::comparison_keys::ComparisonKeys;
use super::cross_joins::CrossJoins;
use super::dependent_joins::DependentJoins;
use super::excluded_rows::ExcludedRows;
use super::flat_plans::{FlatFilters, GroupedUnions};
use super::flat_unions::FlatUnions;
use super::given_files::GivenFiles;
use super::guarded_aggregates::{KnownAggregates, LimitedGroups, single_distinct};
use super::guarded_rules::{common_expressions, extract_keys, guarded, push_down_filters};
use super::held_casts::HeldCasts;
use super::in_order::InsertionOrder;
use super::in_turn::FewerReaders;
use super::join_order::JoinOrder;
use super::join_subqueries::JoinSubqueries;
use super::keyed_recursions::UsingKey;
use super::lambda_places::LambdaPlaces;
use super::list_members::ListMembers;
use super::named_pushdown::NamedPushdown;
use super::nullable_subqueries::NullableSubqueries;
use super::numbers::CommonNumbers;
use super::one_nan::OneNan;
use super::operators::{DuckOperators, NarrowLiterals};
use super::ordered_subqueries::OrderedSubqueries;
use super::plain_rows::NoFalseClaims;
use super::projected_filters::ProjectedFilters;
use super::set_keys::SetKeys;
use super::sorted_again::SortedAgain;
use super::subquery_values::SubqueryValues;
use super::temporal::DaysOfTimestamps;
use super::type_names::DuckTypes;
use super::unnested_json::UnnestedJson;
use super::unnested_keys::ForgetUnnestedKeys;
use super::unnested_structs::UnnestedStructs;
use super::wanted_order::{KeptOrders, LateralOrder, WantedOrder};
use super::watched::Watched;
use super::written_values::WrittenValues;
use crate::functions;
use crate::keyed_recursion::KeyedRecursions;
use crate::memory::{
    AccountedWindows, LargeLimits, MemoryBudget, RepeatedLists, SealedTempFiles, SpillingJoins,
    SpillingSorts,
};
use crate::scan::KeptBatches;
use datafusion::execution::SessionState;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::logical_expr::{HigherOrderUDF, ScalarUDF};
use datafusion::optimizer::eliminate_filter::EliminateFilter;
use datafusion::optimizer::{Analyzer, AnalyzerRule, Optimizer, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::prelude::SessionConfig;
use hushdb_sql::Result;
use hushdb_storage::SpillSpace;
use std::sync::Arc;

/// Spill files that are merged at once: each takes two batches of memory, which a merge always gets.
const MERGED_FILES: usize = 16;

/// Builds the session state that a database's connections share.
pub fn session_state(
    threads: usize,
    memory: Arc<MemoryBudget>,
    spill: Arc<SpillSpace>,
) -> Result<SessionState> {
    let mut config = SessionConfig::new()
        .with_target_partitions(threads)
        .with_create_default_catalog_and_schema(false)
        .with_information_schema(false)
        // A scan has as many partitions as it has work for; dealing batches out again would lose the row order.
        .with_round_robin_repartition(false)
        // For `spill_files()`.
        .with_extension(Arc::clone(&spill))
        // For operators of ours.
        .with_extension(Arc::clone(&memory));
    let options = config.options_mut();
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.default_null_ordering = "nulls_last".into();
    // Which sorts nobody sees, `WantedOrder` knows.
    options.sql_parser.enable_subquery_sort_elimination = false;
    // min and max would keep rows from others beside them: from those of expressions, with a FILTER, or without a value yet.
    options.optimizer.enable_aggregate_dynamic_filter_pushdown = false;
    // A build side of this size costs less to share than dealing out the rows of the other side by hash.
    options.optimizer.hash_join_single_partition_threshold = 64 << 20;
    options.optimizer.hash_join_single_partition_threshold_rows = 1 << 20;
    options.explain.logical_plan_only = false;
    // Plans of rows know better than those of expressions which columns are never NULL, or not as well: COALESCE, IS TRUE.
    options.execution.skip_physical_aggregate_schema_check = true;
    // What each partition of a sort sets aside for merging; more is asked for when it is needed.
    options.execution.sort_spill_reservation_bytes = 1 << 20;
    let pool: Arc<dyn MemoryPool> = Arc::clone(&memory) as _;
    let scalar_functions = functions::scalar_functions(&pool);
    let temp_files = Arc::new(SealedTempFiles(spill));
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::clone(&memory) as _)
        .with_disk_manager_builder(
            DiskManagerBuilder::default()
                .with_temp_file_factory(temp_files)
                .with_max_spill_merge_fan_in(MERGED_FILES),
        )
        .build_arc()?;
    let mut builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_default_features()
        .with_analyzer_rules(analyzer_rules(&scalar_functions, &pool))
        .with_optimizer_rules(optimizer_rules())
        .with_type_planner(Arc::new(DuckTypes))
        .with_physical_optimizer_rules(physical_rules(memory));
    let planners = builder.expr_planners().get_or_insert_default();
    planners.insert(0, Arc::new(DuckOperators::new(&scalar_functions)));
    planners.insert(0, Arc::new(WrittenValues::new(&scalar_functions)));
    let known = builder.scalar_functions().get_or_insert_default();
    // The library's other names of a function are left out with it.
    let ours = |name: &str| scalar_functions.iter().any(|f| f.name() == name);
    known.retain(|function| {
        !functions::LEFT_OUT.contains(&function.name()) && !ours(function.name())
    });
    known.extend(scalar_functions);
    let of_lambdas = builder.higher_order_functions().get_or_insert_default();
    register_lambdas(of_lambdas, &pool);
    let aggregates = functions::aggregate_functions(&pool);
    let ours = |name: &str| aggregates.iter().any(|f| f.name() == name);
    let known = builder.aggregate_functions().get_or_insert_default();
    known.retain(|function| !ours(function.name()));
    known.extend(aggregates);
    Ok(builder.build())
}

/// Puts our functions of lambdas in the place of the library's.
fn register_lambdas(known: &mut Vec<Arc<HigherOrderUDF>>, memory: &Arc<dyn MemoryPool>) {
    let ours = functions::lambda_functions(memory);
    let is_ours = |name: &str| {
        let mut named = ours.iter().flat_map(|function| function.aliases());
        named.any(|alias| alias == name)
    };
    known.retain(|function| !is_ours(function.name()));
    known.extend(ours);
}

/// Our rules, and DataFusion's behind them.
fn analyzer_rules(
    functions: &[Arc<ScalarUDF>],
    memory: &Arc<dyn MemoryPool>,
) -> Vec<Arc<dyn AnalyzerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn AnalyzerRule + Send + Sync>> = vec![
        Arc::new(UsingKey),
        Arc::new(OrderedSubqueries),
        Arc::new(LateralOrder),
        Arc::new(FlatUnions),
        Arc::new(SetKeys),
        Arc::new(NarrowLiterals),
        Arc::new(UnnestedStructs),
        Arc::new(UnnestedJson),
        Arc::new(CommonNumbers),
        Arc::new(NullableSubqueries),
        Arc::new(JoinSubqueries),
        Arc::new(SubqueryValues),
        Arc::new(DependentJoins),
        Arc::new(OneNan),
        Arc::new(Collations),
        Arc::new(ComparisonKeys),
        Arc::new(DuckCasts::new(functions)),
    ];
    rules.extend(Analyzer::new().rules);
    rules.push(Arc::new(ListMembers));
    rules.push(Arc::new(HeldCasts));
    rules.push(Arc::new(ExcludedRows::new(memory)));
    let watched = rules
        .into_iter()
        .map(|rule| -> Arc<dyn AnalyzerRule + Send + Sync> { Arc::new(Watched(rule)) });
    watched.collect()
}

/// DataFusion's rules, with ours between them.
fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    // Two that take fields out of structs below other plans lose whose columns these are.
    let lose_names = ["extract_leaf_expressions", "push_down_leaf_projections"];
    let rules = Optimizer::new().rules.into_iter();
    let rules = rules.filter(|rule| !lose_names.contains(&rule.name()));
    let rules = rules.map(|rule| -> Arc<dyn OptimizerRule + Send + Sync> {
        match rule.name() {
            "push_down_filter" => guarded(rule, push_down_filters),
            "common_sub_expression_eliminate" => guarded(rule, common_expressions),
            "extract_equijoin_predicate" => guarded(rule, extract_keys),
            "single_distinct_aggregation_to_group_by" => guarded(rule, single_distinct),
            "eliminate_cross_join" => Arc::new(CrossJoins),
            _ => rule,
        }
    });
    let mut rules: Vec<_> = rules.collect();
    let place = |rules: &[Arc<dyn OptimizerRule + Send + Sync>], name: &str| {
        rules.iter().position(|rule| rule.name() == name)
    };
    let simplified = place(&rules, "simplify_expressions").map_or(0, |at| at + 1);
    rules.insert(simplified, Arc::new(DaysOfTimestamps));
    // A condition of a join that is NULL is a filter by then. It must not be pushed below an aggregate without keys, which has a row
    // of no rows, too.
    let pushed = place(&rules, "push_down_filter").unwrap_or_default();
    rules.insert(pushed, Arc::new(EliminateFilter::new()));
    let pushed = place(&rules, "push_down_filter").map_or(0, |at| at + 1);
    rules.insert(pushed, Arc::new(FlatFilters));
    // Joins are ordered when filters have reached their tables, and before columns are pruned.
    let last = rules.len().saturating_sub(1);
    rules.insert(last, Arc::new(JoinOrder));
    rules.push(Arc::new(GroupedUnions));
    for reads_keys in [
        "replace_distinct_aggregate",
        "eliminate_join",
        "optimize_projections",
    ] {
        let at = place(&rules, reads_keys).unwrap_or_default();
        rules.insert(at, Arc::new(ForgetUnnestedKeys));
    }
    let watched = rules
        .into_iter()
        .map(|rule| -> Arc<dyn OptimizerRule + Send + Sync> { Arc::new(Watched(rule)) });
    watched.collect()
}

/// DataFusion's rules of physical plans, and ours behind them.
fn physical_rules(memory: Arc<MemoryBudget>) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let physical = PhysicalOptimizer::new().rules;
    let mut by_name = physical.iter();
    let sorts = by_name.find(|rule| rule.name() == "EnsureRequirements");
    let sorts = sorts.cloned();
    let physical = physical.into_iter();
    let physical = physical.map(|rule| -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
        match rule.name() {
            "aggregate_statistics" => Arc::new(KnownAggregates(rule)),
            "LimitAggregation" => Arc::new(LimitedGroups(rule)),
            "SanityCheckPlan" => Arc::new(SortedAgain {
                looks: rule,
                sorts: sorts.clone(),
            }),
            "ProjectionPushdown" => Arc::new(ProjectedFilters(rule)),
            name if name.starts_with("FilterPushdown") => Arc::new(NamedPushdown(rule)),
            _ => rule,
        }
    });
    let mut physical: Vec<_> = physical.collect();
    physical.insert(0, Arc::new(NoFalseClaims));
    // Before partitions are dealt out.
    physical.insert(0, Arc::new(FewerReaders));
    physical.insert(0, Arc::new(WantedOrder));
    physical.extend([
        Arc::new(LambdaPlaces) as Arc<dyn PhysicalOptimizerRule + Send + Sync>,
        Arc::new(KeptOrders),
        Arc::new(InsertionOrder),
        Arc::new(LargeLimits(Arc::clone(&memory))),
        Arc::new(KeptBatches),
        Arc::new(SpillingJoins),
        Arc::new(AccountedWindows),
        Arc::new(SpillingSorts),
        Arc::new(GivenFiles(memory)),
        Arc::new(CheapConditions),
        Arc::new(RepeatedLists),
        Arc::new(KeyedRecursions),
    ]);
    let watched = physical
        .into_iter()
        .map(|rule| -> Arc<dyn PhysicalOptimizerRule + Send + Sync> { Arc::new(Watched(rule)) });
    watched.collect()
}
