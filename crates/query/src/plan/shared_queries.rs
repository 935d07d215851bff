//! Queries of WITH that are named more than once, and whose rows may be others each time they run (`random()`, `nextval()`, a sample):
//! they run once, as in DuckDB and PostgreSQL. All others are planned wherever they are named, so that conditions reach them.
//!
//! What must hold: what is drawn in a view is drawn anew wherever the view is named.

use super::dependent_plans::plan_names_any;
use super::join_subqueries::subquery_of;
use crate::engine::Engine;
use crate::memory::{SharedRows, SharedRowsExec};
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, TableScan, TableSource, TableType,
};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    self, Cte, Ident, Query, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins, Visitor,
    VisitorMut, WildcardAdditionalOptions, With,
};
use hushdb_sql::walk::{visit, visit_mut};
use hushdb_sql::{Error, folded, parse_one, query_of, unique};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// What a query is called that is to run once, if it draws.
const ONCE: &str = "$once";

/// Marks the queries of WITH that a statement names more than once.
///
/// # Errors
/// `Internal` for a query that cannot be put into another.
pub(super) fn mark(statement: &mut ast::Statement) -> hushdb_sql::Result<()> {
    let mut names = Names::default();
    let _: ControlFlow<()> = visit(statement, &mut names);
    names.times.retain(|_, times| *times > 1);
    if !names.has_with || names.times.is_empty() {
        return Ok(());
    }
    match visit_mut(statement, &mut Mark(names.times)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// How often tables are named, by names without a schema.
#[derive(Default)]
struct Names {
    has_with: bool,
    times: HashMap<String, usize>,
}

impl Visitor for Names {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.has_with |= query.with.is_some();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, .. } = factor
            && let [name] = name.0.as_slice()
            && let Some(name) = name.as_ident()
        {
            *self.times.entry(folded(&name.value)).or_default() += 1;
        }
        ControlFlow::Continue(())
    }
}

struct Mark(HashMap<String, usize>);

impl VisitorMut for Mark {
    type Break = Box<Error>;

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Box<Error>> {
        let Some(with) = &mut query.with else {
            return ControlFlow::Continue(());
        };
        for table in &mut with.cte_tables {
            if self.names_more_than_once(table)
                && let Err(error) = mark_table(table, with.recursive)
            {
                return ControlFlow::Break(Box::new(error));
            }
        }
        ControlFlow::Continue(())
    }
}

impl Mark {
    /// Whether a query of WITH is named more than once outside of itself.
    fn names_more_than_once(&self, table: &Cte) -> bool {
        let name = folded(&table.alias.name.value);
        let Some(times) = self.0.get(&name) else {
            return false;
        };
        let mut within = Names::default();
        let _: ControlFlow<()> = visit(&table.query, &mut within);
        *times > 1 + within.times.get(&name).copied().unwrap_or_default()
    }
}

/// Makes a query `SELECT * FROM (query) AS "$once"`.
fn mark_table(table: &mut Cte, recursive: bool) -> hushdb_sql::Result<()> {
    let mut query = table.query.clone();
    if recursive && matches!(*query.body, SetExpr::SetOperation { .. }) {
        // Which goes on to name itself.
        query = in_scope_of_its_own(table)?;
    }
    let alias = TableAlias {
        explicit: true,
        name: Ident::with_quote('"', ONCE),
        columns: vec![],
        at: None,
    };
    table.query = all_of(TableFactor::Derived {
        lateral: false,
        subquery: query,
        alias: Some(alias),
        sample: None,
    })?;
    Ok(())
}

/// `WITH RECURSIVE name AS (query) SELECT * FROM name`.
fn in_scope_of_its_own(table: &mut Cte) -> hushdb_sql::Result<Box<Query>> {
    let named = parse_one(&format!("SELECT * FROM {}", table.alias.name))?;
    let ast::Statement::Query(mut query) = named else {
        return Err(Error::internal("a SELECT was parsed as something else"));
    };
    let own = table.clone();
    table.alias.columns.clear();
    query.with = Some(With {
        with_token: AttachedToken::empty(),
        recursive: true,
        cte_tables: vec![own],
    });
    Ok(query)
}

fn all_of(relation: TableFactor) -> hushdb_sql::Result<Box<Query>> {
    let star = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    let from = TableWithJoins {
        relation,
        joins: vec![],
    };
    query_of(vec![from], star)
}

/// Plans what is marked.
pub(super) struct SharedQueries {
    engine: Arc<Engine>,
}

impl SharedQueries {
    pub(super) fn of(engine: &Arc<Engine>) -> Self {
        Self {
            engine: Arc::clone(engine),
        }
    }
}

impl fmt::Debug for SharedQueries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedQueries")
    }
}

impl RelationPlanner for SharedQueries {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Derived { alias, .. } = &mut relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        if alias.take_if(|alias| alias.name.value == ONCE).is_none() {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        let mut plan = context.plan(relation)?;
        if draws(&plan)? && !depends(&plan)? {
            plan = once(plan, &self.engine.state)?;
        }
        let planned = PlannedRelation::new(plan, None);
        Ok(RelationPlanning::Planned(Box::new(planned)))
    }
}

/// Has what draws run once where a subquery names its columns: such a subquery is evaluated for the values that they have, and joined with
/// the rows by them.
///
/// # Errors
/// What planning such rows by themselves gives.
pub(super) fn share_outer(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    if !draws(&plan)? {
        return Ok(plan);
    }
    let shared = plan.transform_up_with_subqueries(|plan| {
        if !has_dependent_subquery(&plan)? {
            return Ok(Transformed::no(plan));
        }
        plan.map_children(|input| match draws(&input)? && !depends(&input)? {
            true => once(input, state).map(Transformed::yes),
            false => Ok(Transformed::no(input)),
        })
    })?;
    Ok(shared.data)
}

/// Whether a node has a subquery that may name columns of the node's input.
fn has_dependent_subquery(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    if let LogicalPlan::Join(join) = plan {
        found |= plan_names_any(&join.right, &|_| true)?;
    }
    plan.apply_expressions(|expr| {
        expr.apply(|expr| {
            if let Some(subquery) = subquery_of(expr) {
                found |= plan_names_any(&subquery.subquery, &|_| true)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(found)
}

/// A plan with the same columns, which runs once wherever it stands.
fn once(plan: LogicalPlan, state: &SessionState) -> Result<LogicalPlan> {
    let columns = plan.schema().columns();
    let mut taken = HashSet::new();
    let names = columns
        .iter()
        .map(|column| unique(&mut taken, column.name.clone()));
    let names: Vec<String> = names.collect();
    let named = columns.iter().cloned().zip(&names);
    let named: Vec<Expr> = named
        .map(|(column, name)| Expr::Column(column).alias(name))
        .collect();
    let plan = LogicalPlanBuilder::from(plan).project(named)?.build()?;
    // What names in lambdas mean is said for a whole statement, of which this will be no part.
    let plan = plan.resolve_lambda_variables()?.data;
    // Rules make columns of other types than they were planned with.
    let schema = Arc::clone(state.optimize(&plan)?.schema().inner());
    let scan = LogicalPlanBuilder::scan(ONCE, SharedQuery::source(plan, schema), None)?;
    let as_they_were = columns.into_iter().zip(names).map(|(column, name)| {
        let shared = Expr::Column(Column::new(Some(ONCE), name));
        shared.alias_qualified(column.relation, column.name)
    });
    let as_they_were: Vec<Expr> = as_they_were.collect();
    scan.project(as_they_were)?.build()
}

/// The same plan, for a view that is named once more, where a query in it runs once. `None` where none does.
pub(super) fn drawn_anew(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    let has_any = any(
        plan,
        |plan| matches!(plan, LogicalPlan::TableScan(scan) if is_shared(scan)),
    )?;
    match has_any {
        true => anew(plan, &mut HashMap::new()).map(Some),
        false => Ok(None),
    }
}

/// What sources are anew, by where they are.
type Sources = HashMap<*const (), Arc<dyn TableSource>>;

fn anew(plan: &LogicalPlan, sources: &mut Sources) -> Result<LogicalPlan> {
    let anew = plan
        .clone()
        .transform_down_with_subqueries(|plan| match plan {
            LogicalPlan::TableScan(mut scan) if is_shared(&scan) => {
                scan.source = source_anew(&scan.source, sources)?;
                Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
            }
            plan => Ok(Transformed::no(plan)),
        })?;
    Ok(anew.data)
}

fn source_anew(
    source: &Arc<dyn TableSource>,
    sources: &mut Sources,
) -> Result<Arc<dyn TableSource>> {
    let key = Arc::as_ptr(source).cast();
    if let Some(known) = sources.get(&key) {
        return Ok(Arc::clone(known));
    }
    let table = source_as_provider(source)?;
    let anew = match table.downcast_ref::<SharedQuery>() {
        Some(query) => SharedQuery::source(anew(&query.plan, sources)?, Arc::clone(&query.schema)),
        None => Arc::clone(source),
    };
    sources.insert(key, Arc::clone(&anew));
    Ok(anew)
}

/// Whether a plan may give other rows each time it runs.
fn draws(plan: &LogicalPlan) -> Result<bool> {
    any(plan, |plan| {
        plan.expressions().iter().any(Expr::is_volatile)
    })
}

/// Whether a plan means something only where it stands: it names columns, or the rows of a turn, of queries around.
fn depends(plan: &LogicalPlan) -> Result<bool> {
    let mut turns = HashSet::new();
    any(plan, |plan| {
        if let LogicalPlan::RecursiveQuery(query) = plan {
            turns.insert(query.name.clone());
        }
        false
    })?;
    let of_turns = any(plan, |plan| match plan {
        LogicalPlan::TableScan(scan) => {
            let table = source_as_provider(&scan.source).ok();
            let table = table
                .as_ref()
                .and_then(|table| table.downcast_ref::<CteWorkTable>());
            table.is_some_and(|table| !turns.contains(table.name()))
        }
        _ => false,
    });
    Ok(!plan.all_out_ref_exprs().is_empty() || of_turns?)
}

fn is_shared(scan: &TableScan) -> bool {
    source_as_provider(&scan.source)
        .is_ok_and(|table| table.downcast_ref::<SharedQuery>().is_some())
}

fn any(plan: &LogicalPlan, mut holds: impl FnMut(&LogicalPlan) -> bool) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|plan| {
        found |= holds(plan);
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(found)
}

/// A query that runs once, as a table.
#[derive(Debug)]
struct SharedQuery {
    plan: LogicalPlan,
    schema: SchemaRef,
    rows: OnceCell<Arc<SharedRows>>,
}

impl SharedQuery {
    fn source(plan: LogicalPlan, schema: SchemaRef) -> Arc<dyn TableSource> {
        provider_as_source(Arc::new(Self {
            plan,
            schema,
            rows: OnceCell::new(),
        }))
    }
}

#[async_trait]
impl TableProvider for SharedQuery {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        session: &dyn Session,
        columns: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.rows.get_or_try_init(|| async {
            let plan = session.create_physical_plan(&self.plan).await?;
            Ok::<_, DataFusionError>(Arc::new(SharedRows::of(plan)))
        });
        let rows = Arc::clone(rows.await?);
        Ok(Arc::new(SharedRowsExec::new(rows, columns)?))
    }
}
