//! `Planner`: plans one statement's queries against one snapshot. It is the name resolution that DataFusion asks for.

mod views;

use super::catalog_views;
use super::drawn_operands;
use super::from_columns;
use super::growth;
use super::json_members::{self, Written};
use super::lateral_unnest::LateralUnnest;
use super::named_files;
use super::numbered_rows;
use super::order::{NullOrder, OrderDefaults};
use super::outer_aggregates;
use super::pivots;
use super::samples::Samples;
use super::sequence_functions::sequence_function;
use super::set_operations::SetOperations;
use super::shared_queries::{self, SharedQueries};
use super::short_aliases::ShortAliases;
use super::snapshot::{Relation, Snapshot};
use super::spelling::{folded_source, spelled};
use super::surroundings::Surroundings;
use super::type_names::DuckTypes;
use super::typed_macros;
use super::unnested_keys::UnnestedKeys;
use super::using_joins::UsingJoins;
use super::values;
use crate::engine::{Engine, in_zone};
use crate::functions::{
    STATEMENT_TIMESTAMP, Zone, fill, getvariable, instant_function, of_texts, random_function,
    zone_of,
};
use crate::heed;
use crate::scan::{ScanProgress, TableScan};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::cte_worktable::CteWorkTable;
use datafusion::common::{
    DFSchema, DFSchemaRef, DataFusionError, Result as DfResult, SchemaError, TableReference,
};
use datafusion::config::ConfigOptions;
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionState;
use datafusion::logical_expr::planner::{
    ContextProvider, ExprPlanner, RelationPlanner, TypePlanner,
};
use datafusion::logical_expr::{
    AggregateUDF, EmptyRelation, Expr, HigherOrderUDF, LogicalPlan, LogicalPlanBuilder, ScalarUDF,
    TableSource, Volatility, WindowUDF,
};
use datafusion::optimizer::OptimizerRule;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::physical_plan::PhysicalExpr;
use datafusion::sql::planner::{PlannerContext, SqlToRel};
use datafusion::sql::sqlparser::ast::{self, VisitMut};
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{self as sql, Error, Result, Spellings, alike, folded};
use hushdb_storage::TableVersion;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use views::PlannedViews;

/// The name under which UPDATE and DELETE plans see their table with row ids.
pub const DML_TARGET: &str = "$target";
/// The name under which ON CONFLICT plans see the rows that were to be inserted.
pub const DML_EXCLUDED: &str = "$excluded";

/// The table a DML statement changes, by database and version.
#[derive(Clone)]
pub struct DmlTarget {
    /// Name of the attached database.
    pub database: String,
    /// The version that the statement reads.
    pub table: Arc<TableVersion>,
}

/// What a name of ours stands for.
enum Target {
    Table(DmlTarget),
    Rows(Arc<dyn TableSource>),
}

/// Why a statement was not planned.
pub(super) enum PlanError {
    /// A name is not that of a column.
    UnknownColumn(Error),
    Other(Error),
}

impl PlanError {
    fn of(error: DataFusionError) -> Self {
        let is_unknown = matches!(
            error.find_root(),
            DataFusionError::SchemaError(schema, _)
                if matches!(schema.as_ref(), SchemaError::FieldNotFound { .. })
        );
        match is_unknown {
            true => Self::UnknownColumn(error.into()),
            false => Self::Other(error.into()),
        }
    }
}

impl From<Error> for PlanError {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

impl From<PlanError> for Error {
    fn from(error: PlanError) -> Self {
        match error {
            PlanError::UnknownColumn(error) | PlanError::Other(error) => error,
        }
    }
}

/// A plan, and the names that its select list gives.
type Listed = (LogicalPlan, Vec<Option<String>>);

/// Plans against one snapshot, for one statement.
pub struct Planner<'a> {
    pub(super) surroundings: &'a dyn Surroundings,
    engine: Arc<Engine>,
    order: OrderDefaults,
    options: Arc<ConfigOptions>,
    /// What the statement sees.
    pub snapshot: &'a Snapshot,
    /// Counts what scans read, and cancels them.
    pub progress: Arc<ScanProgress>,
    targets: Vec<(Cow<'static, str>, Target)>,
    relations: [Arc<dyn RelationPlanner>; 7],
    expressions: Vec<Arc<dyn ExprPlanner>>,
    /// How names behind dots are written.
    members: Written,
    view_depth: usize,
    /// Views that were planned: one that is named often is planned once.
    views: PlannedViews,
    /// What names look like that the planner knows in lower case.
    spellings: Arc<Mutex<Spellings>>,
    /// Whether functions that take texts are given values of ENUMs.
    enums_are_texts: AtomicBool,
    /// What recursive queries read of themselves, by their names.
    work_tables: Mutex<HashMap<String, Arc<dyn TableSource>>>,
    /// Types that calls of macros were seen to have as their arguments.
    pub(super) macro_arguments: typed_macros::Seen,
}

/// Whether a function of that name is one of texts rather than of values of whatever type.
fn takes_texts(name: &str) -> bool {
    const OF_ANY: [&str; 6] = [
        "typeof",
        "make_array",
        "named_struct",
        "row",
        "hash",
        "nullif",
    ];
    let of_any = ["enum_", "list_", "array_", "struct_", "$"];
    !OF_ANY.contains(&name)
        && !sql::SAME_TYPE_FUNCTIONS.contains(&name)
        && !of_any.iter().any(|start| name.starts_with(start))
}

impl<'a> Planner<'a> {
    /// A planner for one statement of a session.
    pub fn new(
        surroundings: &'a dyn Surroundings,
        snapshot: &'a Snapshot,
        progress: Arc<ScanProgress>,
    ) -> Self {
        let engine = surroundings.engine();
        let order = surroundings.order();
        let shared_queries = SharedQueries::of(&engine);
        let mut options = Arc::clone(engine.state.config_options());
        if order.nulls != NullOrder::default() {
            let nulls = order.nulls.planner_name().into();
            Arc::make_mut(&mut options).sql_parser.default_null_ordering = nulls;
        }
        let members = Written::default();
        let expressions =
            json_members::before_others(&engine.state, &members, surroundings.is_postgres());
        Self {
            surroundings,
            engine,
            order,
            options,
            snapshot,
            progress,
            targets: vec![],
            relations: [
                Arc::new(UnnestedKeys::default()),
                Arc::new(shared_queries),
                Arc::new(Samples),
                Arc::new(ShortAliases),
                Arc::new(LateralUnnest),
                Arc::new(SetOperations),
                Arc::new(UsingJoins),
            ],
            expressions,
            members,
            view_depth: 0,
            views: Arc::default(),
            spellings: Arc::default(),
            enums_are_texts: AtomicBool::new(false),
            work_tables: Mutex::default(),
            macro_arguments: typed_macros::Seen::default(),
        }
    }

    /// Another for what the catalog keeps, which means the same in every dialect.
    pub fn for_stored(&self) -> Self {
        let progress = Arc::clone(&self.progress);
        Self::new(self.surroundings, self.snapshot, progress).of_stored()
    }

    fn of_stored(mut self) -> Self {
        self.expressions = json_members::before_others(&self.engine.state, &self.members, false);
        self
    }

    /// Functions and rules that are planned with.
    pub fn state(&self) -> &SessionState {
        &self.engine.state
    }

    /// Makes `DML_TARGET` stand for a table with its row ids.
    pub fn with_target(mut self, target: DmlTarget) -> Self {
        self.targets
            .push((DML_TARGET.into(), Target::Table(target)));
        self
    }

    /// Makes a name of ours stand for rows.
    pub fn with_rows(
        mut self,
        name: impl Into<Cow<'static, str>>,
        rows: Arc<dyn TableSource>,
    ) -> Self {
        self.targets.push((name.into(), Target::Rows(rows)));
        self
    }

    /// Does what depends on the place that a text is read in.
    fn in_place<T>(&self, work: impl FnOnce(&sql::Place<'_>) -> T) -> T {
        work(&sql::Place {
            database: &self.snapshot.current_database,
            schema: &self.snapshot.current_schema,
            descending: self.order.descending,
            complete: &|parts| {
                let name = self.snapshot.resolve(parts).ok()?;
                self.snapshot.find(&name)?;
                Some([name.database, name.schema, name.name])
            },
            is_scalar: &|name| self.state().scalar_functions().contains_key(name),
            is_aggregate: &|name| self.is_aggregate(name),
            setting: &|name| self.surroundings.setting(name),
            alike: &|relation| self.alike(relation),
        })
    }

    /// Whether it is the name of an aggregate.
    pub(super) fn is_aggregate(&self, name: &str) -> bool {
        self.state().aggregate_functions().contains_key(name)
    }

    /// The names around a table that mean themselves alone, since others differ from them in case alone.
    fn alike(&self, relation: &ast::ObjectName) -> Vec<String> {
        let name = relation.0.first().and_then(|part| part.as_ident());
        let target = self
            .targets
            .iter()
            .find(|(known, _)| name.is_some_and(|name| name.value == *known));
        let columns: Vec<String> = match target {
            None => return self.snapshot.alike(relation),
            Some((_, Target::Table(target))) => target
                .table
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect(),
            Some((_, Target::Rows(rows))) => rows
                .schema()
                .fields()
                .iter()
                .map(|field| field.name().clone())
                .collect(),
        };
        let alike = alike(columns.iter().map(String::as_str));
        alike.into_iter().map(str::to_owned).collect()
    }

    /// The logical plan of a query, EXPLAIN or DESCRIBE of a query.
    pub fn plan_statement(&self, statement: ast::Statement) -> Result<LogicalPlan> {
        let (plan, listed) = self.plan_folded(statement)?;
        let mut spellings = self.spellings.lock();
        spellings.listed = listed;
        Ok(spelled(plan, &spellings)?)
    }

    /// The plan with names as the planner knows them, and those that the select list gives.
    fn plan_folded(&self, mut statement: ast::Statement) -> Result<Listed> {
        typed_macros::expand(self, &mut statement)?;
        self.plan_expanded(statement)
    }

    /// The plan of a statement without macros.
    pub(super) fn plan_expanded(&self, mut statement: ast::Statement) -> Result<Listed> {
        self.expand_types(&mut statement)?;
        drawn_operands::name(self, &mut statement)?;
        numbered_rows::put_in(self, &mut statement)?;
        named_files::put_in(self, &mut statement);
        catalog_views::put_in(self, &mut statement)?;
        pivots::write_out(self, &mut statement)?;
        from_columns::expand(self, &mut statement)?;
        let (plan, listed) = self.plan_named(statement)?;
        Ok((shared_queries::share_outer(plan, self.state())?, listed))
    }

    /// The plan of a statement in which no `COLUMNS` is left; names of select lists may be.
    fn plan_named(&self, statement: ast::Statement) -> Result<Listed> {
        let again = self.snapshot.has_enums().then(|| statement.clone());
        match (self.plan_with_names(statement), again) {
            // A function may have been given an ENUM, of which it takes the text.
            (Err(error), Some(statement)) => {
                self.enums_are_texts.store(true, Ordering::Relaxed);
                let planned = self.plan_with_names(statement);
                self.enums_are_texts.store(false, Ordering::Relaxed);
                planned.map_err(|_| error)
            }
            (planned, _) => planned,
        }
    }

    fn plan_with_names(&self, statement: ast::Statement) -> Result<Listed> {
        let again = sql::may_be_lateral(&statement, DML_TARGET).then(|| statement.clone());
        match (self.plan_with_items(statement), again) {
            // A query in FROM may have meant columns of what is to its left.
            (Err(PlanError::UnknownColumn(error)), Some(mut statement)) => {
                sql::make_lateral(&mut statement, DML_TARGET);
                let planned = self.plan_with_items(statement);
                planned.map_err(|_| error)
            }
            (planned, _) => Ok(planned?),
        }
    }

    fn plan_with_items(&self, statement: ast::Statement) -> std::result::Result<Listed, PlanError> {
        let named = from_columns::gives_names(&statement).then(|| statement.clone());
        match (self.plan_written(statement), named) {
            // A name of a select list may have been meant.
            (Err(PlanError::UnknownColumn(error)), Some(mut statement)) => {
                match from_columns::name_what_is_meant(self, &mut statement)? {
                    true => self.plan_written(statement),
                    false => Err(PlanError::UnknownColumn(error)),
                }
            }
            (planned, _) => planned,
        }
    }

    /// The plan of a statement as it is written: nothing is put in.
    pub(super) fn plan_written(
        &self,
        mut statement: ast::Statement,
    ) -> std::result::Result<Listed, PlanError> {
        let found = self.in_place(|place| sql::rewrite(&mut statement, place))?;
        let mut spellings = self.spellings.lock();
        for name in found.known.values() {
            spellings.add(name);
        }
        drop(spellings);
        self.members.lock().extend(found.members);
        growth::hold_text(&statement)?;
        values::unify(self, &mut statement);
        shared_queries::mark(&mut statement)?;
        let plan = SqlToRel::new(self)
            .sql_statement_to_plan(statement)
            .map_err(PlanError::of)?;
        growth::hold(&plan)?;
        outer_aggregates::refuse(&plan)?;
        Ok((plan, found.listed))
    }

    /// Puts what they stand for in the places of types that users have named.
    ///
    /// # Errors
    /// `Internal` for a type that has no text.
    pub fn expand_types(&self, parsed: &mut impl VisitMut) -> Result<()> {
        match self.snapshot.has_types() {
            true => sql::expand_types(parsed, &|parts| self.snapshot.type_named(parts)),
            false => Ok(()),
        }
    }

    /// The logical plan of a query.
    pub fn plan_query(&self, query: ast::Query) -> Result<LogicalPlan> {
        self.plan_statement(ast::Statement::Query(Box::new(query)))
    }

    /// The rows of a plan, on which another depends.
    pub(super) fn rows(&self, plan: &LogicalPlan) -> Result<Vec<RecordBatch>> {
        self.surroundings.rows(plan)
    }

    /// Whether an expression may have another value each time it is evaluated. Of a macro that waits for types, its body will tell.
    pub(super) fn draws(&self, expr: &ast::Expr) -> bool {
        let is_drawn = |function: &ast::Function| {
            let name = function.name.0.last().and_then(|name| name.as_ident());
            let name = name.filter(|name| !name.value.starts_with(sql::TYPED_CALL));
            let function = name.and_then(|name| self.get_function_meta(&folded(&name.value)));
            function.is_some_and(|f| f.signature().volatility == Volatility::Volatile)
        };
        let found = visit_expressions(expr, |expr| match expr {
            ast::Expr::Function(function) if is_drawn(function) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    }

    /// A scalar expression over a schema.
    pub fn plan_expr(&self, mut expr: ast::Expr, schema: &DFSchema) -> Result<Expr> {
        typed_macros::expand_in(self, &mut expr, schema)?;
        self.plan_expanded_expr(expr, schema)
    }

    /// A scalar expression without macros.
    pub(super) fn plan_expanded_expr(
        &self,
        mut expr: ast::Expr,
        schema: &DFSchema,
    ) -> Result<Expr> {
        self.expand_types(&mut expr)?;
        drawn_operands::name(self, &mut expr)?;
        let names = schema.fields().iter().map(|field| field.name());
        let alike = names
            .filter(|name| folded(name) != **name)
            .cloned()
            .collect();
        self.in_place(|place| sql::rewrite_expr(&mut expr, place, alike))?;
        Ok(SqlToRel::new(self).sql_to_expr(expr, schema, &mut PlannerContext::new())?)
    }

    /// A physical expression over a schema: with the meaning that casts, numbers and comparisons have in a query.
    pub fn physical_expr(&self, expr: Expr, schema: &DFSchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
        Self::physical_in(self.state(), expr, schema)
    }

    /// The same of an expression that a table keeps, whose clocks show UTC in every session: it must not mean something else for another
    /// one.
    pub fn kept_expr(&self, expr: Expr, schema: &DFSchemaRef) -> Result<Arc<dyn PhysicalExpr>> {
        match zone_of(&self.options) {
            None => self.physical_expr(expr, schema),
            Some(_) => Self::physical_in(&in_zone(self.state(), None), expr, schema),
        }
    }

    fn physical_in(
        state: &SessionState,
        expr: Expr,
        schema: &DFSchemaRef,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        let rows = LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: true,
            schema: Arc::clone(schema),
        });
        let plan = LogicalPlanBuilder::from(rows)
            .project([expr.alias("$value")])?
            .build()?;
        let options = state.config_options();
        let analyzed = state
            .analyzer()
            .execute_and_check(plan, options, |_, _| {})?;
        // Some functions, such as coalesce, have no values but as what they are simplified to.
        let simplified = SimplifyExpressions::new().rewrite(analyzed, state)?;
        let value = match simplified.data {
            LogicalPlan::Projection(mut projection) => projection.expr.pop(),
            _ => None,
        };
        let value =
            value.ok_or_else(|| Error::binder("an expression of a table takes no query"))?;
        Ok(state.create_physical_expr(value.unalias(), schema)?)
    }

    /// Whether a name of ours stands for a table, which has its row ids.
    pub(super) fn is_target(&self, name: &str) -> bool {
        let mut targets = self.targets.iter();
        targets.any(|(known, target)| *known == name && matches!(target, Target::Table(_)))
    }

    fn source(&self, reference: &TableReference) -> Result<Arc<dyn TableSource>> {
        if let TableReference::Bare { table } = reference
            && let Some((_, target)) = self.targets.iter().find(|(n, _)| *n == table.as_ref())
        {
            return match target {
                Target::Table(target) => self.scan(&target.database, &target.table, true),
                Target::Rows(rows) => {
                    let schema = rows.schema();
                    let names = schema.fields().iter().map(|field| field.name().as_str());
                    let rows = Arc::clone(rows);
                    Ok(folded_source(rows, &alike(names))?)
                }
            };
        }
        if reference.schema() == Some(sql::RECURRING)
            && reference.catalog().is_none()
            && let Some(table) = self.work_tables.lock().get(reference.table())
        {
            return Ok(Arc::clone(table));
        }
        if let TableReference::Bare { table } = reference
            && let Some(parts) = numbered_rows::numbered_table(table)
        {
            let (name, table) = self.snapshot.table(&parts)?;
            return self.scan(&name.database, &table, true);
        }
        let parts: Vec<String> = [
            reference.catalog(),
            reference.schema(),
            Some(reference.table()),
        ]
        .into_iter()
        .flatten()
        .map(str::to_string)
        .collect();
        match self.snapshot.relation(&parts) {
            Ok((name, Relation::Table(table))) => self.scan(&name.database, &table, false),
            Ok((name, Relation::View(view))) => self.view(&name, &view),
            Err(error) => self.beside(reference, &parts, error),
        }
    }

    /// What a name stands for that no table has: a table of the system's catalog or, as in DuckDB, the file that it looks like.
    fn beside(
        &self,
        reference: &TableReference,
        parts: &[String],
        error: Error,
    ) -> Result<Arc<dyn TableSource>> {
        if let Some(source) = self.surroundings.system_table(self, parts)? {
            return Ok(source);
        }
        match self.surroundings.file(self, reference.table())? {
            Some(source) if parts.len() == 1 => self.folded(source),
            _ => Err(error),
        }
    }

    fn folded(&self, source: Arc<dyn TableSource>) -> Result<Arc<dyn TableSource>> {
        Ok(folded_source(source, &HashSet::new())?)
    }

    /// A table of a database with its row ids, in its last column.
    ///
    /// # Errors
    /// `Catalog` when there is no such database.
    pub fn with_row_ids(
        &self,
        database: &str,
        table: &Arc<TableVersion>,
    ) -> Result<Arc<dyn TableSource>> {
        self.scan(database, table, true)
    }

    fn scan(
        &self,
        database: &str,
        table: &Arc<TableVersion>,
        row_ids: bool,
    ) -> Result<Arc<dyn TableSource>> {
        let database = self.snapshot.database(database)?;
        let scan = TableScan::new(
            Arc::clone(&database.store),
            Arc::clone(&database.version),
            Arc::clone(table),
            row_ids,
            Arc::clone(&self.progress),
        );
        Ok(provider_as_source(Arc::new(scan)))
    }
}

impl ContextProvider for Planner<'_> {
    fn get_table_source(&self, name: TableReference) -> DfResult<Arc<dyn TableSource>> {
        heed::check()?;
        self.source(&name).map_err(DataFusionError::from)
    }

    fn get_table_function_source(
        &self,
        name: &str,
        args: Vec<Expr>,
    ) -> DfResult<Arc<dyn TableSource>> {
        let source = self.surroundings.table_function(self, name, args);
        source
            .and_then(|source| self.folded(source))
            .map_err(DataFusionError::from)
    }

    fn create_cte_work_table(
        &self,
        name: &str,
        schema: SchemaRef,
    ) -> DfResult<Arc<dyn TableSource>> {
        let table = provider_as_source(Arc::new(CteWorkTable::new(name, schema)));
        let mut tables = self.work_tables.lock();
        tables.insert(name.to_owned(), Arc::clone(&table));
        Ok(table)
    }

    fn get_expr_planners(&self) -> &[Arc<dyn ExprPlanner>] {
        &self.expressions
    }

    fn get_relation_planners(&self) -> &[Arc<dyn RelationPlanner>] {
        &self.relations
    }

    fn get_type_planner(&self) -> Option<Arc<dyn TypePlanner>> {
        Some(Arc::new(DuckTypes))
    }

    fn get_function_meta(&self, name: &str) -> Option<Arc<ScalarUDF>> {
        if name == "getvariable" {
            return Some(getvariable(self.surroundings.variables()));
        }
        if let Some(drawn) = random_function(name, &self.surroundings.random()) {
            return Some(drawn);
        }
        let known = || self.state().scalar_functions().get(name).cloned();
        let own = || self.surroundings.function(self, name);
        let zone = zone_of(&self.options).unwrap_or(Zone::UTC);
        let now = match name {
            STATEMENT_TIMESTAMP => self.surroundings.began(),
            _ => self.snapshot.now,
        };
        let found = instant_function(name, now, zone)
            .or_else(|| sequence_function(name, self.snapshot, self.surroundings))
            .or_else(known)
            .or_else(own)
            .or_else(|| typed_macros::call(name, &self.macro_arguments));
        match self.enums_are_texts.load(Ordering::Relaxed) && takes_texts(name) {
            true => found.map(of_texts),
            false => found,
        }
    }

    fn get_higher_order_meta(&self, name: &str) -> Option<Arc<HigherOrderUDF>> {
        self.state().higher_order_functions().get(name).cloned()
    }

    fn get_aggregate_meta(&self, name: &str) -> Option<Arc<AggregateUDF>> {
        self.state().aggregate_functions().get(name).cloned()
    }

    fn get_window_meta(&self, name: &str) -> Option<Arc<WindowUDF>> {
        match name {
            sql::FILL => Some(fill()),
            _ => self.state().window_functions().get(name).cloned(),
        }
    }

    fn get_variable_type(&self, _: &[String]) -> Option<DataType> {
        None
    }

    fn options(&self) -> &ConfigOptions {
        &self.options
    }

    fn udf_names(&self) -> Vec<String> {
        self.state().scalar_functions().keys().cloned().collect()
    }

    fn higher_order_function_names(&self) -> Vec<String> {
        self.state()
            .higher_order_functions()
            .keys()
            .cloned()
            .collect()
    }

    fn udaf_names(&self) -> Vec<String> {
        self.state().aggregate_functions().keys().cloned().collect()
    }

    fn udwf_names(&self) -> Vec<String> {
        self.state().window_functions().keys().cloned().collect()
    }
}
