//! Views, planned where they are, once for a statement.

use super::Planner;
use crate::plan::shared_queries;
use crate::plan::snapshot::TableName;
use crate::plan::spelling::folded_column;
use datafusion::common::{Column, Result as DfResult};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, TableSource};
use hushdb_sql::{self as sql, Error, Result, folded};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Views may use views; this many levels and no more.
const MAX_VIEW_DEPTH: usize = 64;

/// Views by database, schema and name; `None` while one is planned, whose own name then means a query of its WITH, or nothing.
pub(super) type PlannedViews = Arc<Mutex<HashMap<[String; 3], Option<Arc<dyn TableSource>>>>>;

/// A view that was planned, where it is named once more.
fn named_again(view: &Arc<dyn TableSource>) -> DfResult<Arc<dyn TableSource>> {
    let anew = match view.get_logical_plan() {
        Some(plan) => shared_queries::drawn_anew(&plan)?,
        None => None,
    };
    Ok(match anew {
        Some(plan) => provider_as_source(Arc::new(ViewTable::new(plan, None))),
        None => Arc::clone(view),
    })
}

impl Planner<'_> {
    /// Names in a view are looked for where the view is, whatever database is the current one.
    pub(super) fn view(
        &self,
        name: &TableName,
        view: &hushdb_storage::View,
    ) -> Result<Arc<dyn TableSource>> {
        let key = [&name.database, &name.schema, &view.name].map(String::clone);
        let endless = || Error::binder(format!("infinite recursion in view {}", view.name));
        match self.views.lock().get(&key) {
            Some(Some(planned)) => return Ok(named_again(planned)?),
            Some(None) => return Err(endless()),
            None if self.view_depth >= MAX_VIEW_DEPTH => return Err(endless()),
            None => {}
        }
        let there = self.snapshot.at(&name.database, &name.schema);
        let planner = Planner::new(self.surroundings, &there, Arc::clone(&self.progress));
        let mut planner = planner.of_stored();
        planner.view_depth = self.view_depth + 1;
        planner.views = Arc::clone(&self.views);
        planner.spellings = Arc::clone(&self.spellings);
        self.views.lock().insert(key.clone(), None);
        let failed = |_: &Error| drop(self.views.lock().remove(&key));
        let planned = planner.plan_view(view).inspect_err(failed)?;
        self.views.lock().insert(key, Some(Arc::clone(&planned)));
        Ok(planned)
    }

    fn plan_view(&self, view: &hushdb_storage::View) -> Result<Arc<dyn TableSource>> {
        let statement = sql::parse_one(&view.sql)?;
        let (mut plan, _) = self.plan_folded(statement)?;
        let columns = plan.schema().columns();
        let is_plain = |column: &Column| folded(&column.name) == column.name;
        let mut names = HashSet::new();
        let is_kept = |column: &Column| is_plain(column) && names.insert(column.name.clone());
        if !view.columns.is_empty() || !columns.iter().all(is_kept) {
            let mut taken = HashSet::new();
            let columns = columns.into_iter().enumerate().map(|(at, column)| {
                let given = view.columns.get(at);
                let wanted = given.unwrap_or(&column.name).clone();
                match (sql::unique(&mut taken, wanted), given) {
                    (name, None) if name == column.name && is_plain(&column) => {
                        Expr::Column(column)
                    }
                    (name, _) => folded_column(column, &name),
                }
            });
            let columns: Vec<Expr> = columns.collect();
            plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
        }
        Ok(provider_as_source(Arc::new(ViewTable::new(
            plan,
            Some(view.sql.clone()),
        ))))
    }
}
