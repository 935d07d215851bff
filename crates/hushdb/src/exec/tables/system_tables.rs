//! The tables and functions of `pg_catalog` for a statement: what it sees, and whose session it is.

use crate::exec::query::bound_view;
use crate::host::{Host, HostDatabase, HostRole, HostSession, HostSetting};
use crate::pg_catalog::{
    Locks, SystemTable, TEMPORARY, World, function as known_function, has_function, sequence_row,
};
use crate::statement::Statement;
use datafusion::catalog::MemTable;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{ScalarUDF, TableSource};
use hushdb_query::plan::{Planner, TEMP};
use hushdb_sql::{Error, Result};
use hushdb_storage::MAIN_SCHEMA;
use std::sync::Arc;

/// A session of no server.
struct Alone;

impl Host for Alone {
    fn user(&self) -> String {
        "hush".into()
    }

    fn session(&self) -> u32 {
        std::process::id()
    }

    fn roles(&self) -> Vec<HostRole> {
        vec![HostRole {
            name: self.user(),
            superuser: true,
            create_database: true,
            login: true,
            connection_limit: -1,
        }]
    }

    fn databases(&self) -> Vec<HostDatabase> {
        vec![]
    }

    fn settings(&self) -> Vec<HostSetting> {
        vec![]
    }

    fn setting(&self, _: &str) -> Option<String> {
        None
    }

    fn set(&self, name: &str, _: &str, _: bool) -> Result<String> {
        let message = format!("there is no setting {name} of a server here; write SET");
        Err(Error::invalid(message))
    }

    fn sessions(&self) -> Vec<HostSession> {
        vec![]
    }
}

fn world(statement: &Statement<'_>, planner: &Planner<'_>) -> Result<Arc<World>> {
    let seen = &statement.catalog;
    if let Some(world) = seen.world.get() {
        return Ok(Arc::clone(world));
    }
    let host = statement.session.host.lock().clone();
    let is_duckdb = host.is_none() && !statement.session.settings.lock().postgres;
    let host = host.unwrap_or_else(|| Arc::new(Alone));
    let locks = Locks {
        held: Arc::clone(&statement.session.advisory),
        waits: statement.waits_by().cloned(),
    };
    let world = Arc::new(World::of(planner.snapshot, host, is_duckdb, locks)?);
    Ok(Arc::clone(seen.world.get_or_init(|| world)))
}

/// The table of the catalog that a name of one to three parts stands for, if it does.
pub(in crate::exec) fn table(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    parts: &[String],
) -> Result<Option<Arc<dyn TableSource>>> {
    let database = &planner.snapshot.current_database;
    let Some(table) = SystemTable::named(parts, database) else {
        return sequence(statement, planner, parts);
    };
    let binding = &statement.catalog.binding;
    let batch = match binding.get() {
        true => table.empty(),
        false => {
            let bound = |schema: &str, view: &str| {
                binding.set(true);
                let place = match schema == TEMPORARY {
                    true => [TEMP, MAIN_SCHEMA, view],
                    false => [database, schema, view],
                };
                let bound = bound_view(planner, place);
                binding.set(false);
                bound.ok()
            };
            table.rows(&*world(statement, planner)?, &bound)?
        }
    };
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    Ok(Some(provider_as_source(Arc::new(table))))
}

/// A sequence as a table of one row, which PostgreSQL's clients read to know how far it is.
fn sequence(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    parts: &[String],
) -> Result<Option<Arc<dyn TableSource>>> {
    if !statement.session.settings.lock().postgres {
        return Ok(None);
    }
    let Ok((_, sequence)) = planner.snapshot.sequence(parts) else {
        return Ok(None);
    };
    let batch = sequence_row(&sequence)?;
    let table = MemTable::try_new(batch.schema(), vec![vec![batch]])?;
    Ok(Some(provider_as_source(Arc::new(table))))
}

/// The function of the catalog of that name, if it is one.
pub(in crate::exec) fn function(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    name: &str,
) -> Option<Arc<ScalarUDF>> {
    match has_function(name) {
        true => known_function(name, &world(statement, planner).ok()?),
        false => None,
    }
}
