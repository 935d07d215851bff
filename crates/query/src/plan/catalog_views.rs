//! `FROM duckdb_tables` and `FROM sqlite_master`: what DuckDB has as views over its functions of the same names. A table that is
//! called so goes before, and so does a query of WITH.

use super::planner::Planner;
use super::with_queries::Given;
use datafusion::sql::sqlparser::ast::{
    self, Ident, ObjectName, ObjectNamePart, Query, TableAlias, TableFactor, Visitor, VisitorMut,
};
use hushdb_sql::walk::{visit, visit_mut};
use hushdb_sql::{Error, Result, folded, parse_one};
use std::ops::ControlFlow;

const MASTER: &str = "SELECT 'table' AS type, table_name AS name, table_name AS tbl_name, 0 AS rootpage, sql \
    FROM duckdb_tables() WHERE NOT internal \
    UNION ALL SELECT 'view', view_name, view_name, 0, sql FROM duckdb_views() WHERE NOT internal \
    UNION ALL SELECT 'index', index_name, table_name, 0, sql FROM duckdb_indexes()";

/// The query that a name stands for.
fn meaning(name: &str) -> Option<String> {
    Some(match name {
        "duckdb_columns" | "duckdb_databases" | "duckdb_schemas" | "duckdb_tables"
        | "duckdb_views" => format!("SELECT * FROM {name}() WHERE NOT internal"),
        "duckdb_constraints" | "duckdb_indexes" | "duckdb_types" => {
            format!("SELECT * FROM {name}()")
        }
        "sqlite_master" | "sqlite_schema" | "sqlite_temp_master" | "sqlite_temp_schema" => {
            MASTER.into()
        }
        _ => return None,
    })
}

/// Puts the queries in where a statement names them.
///
/// # Errors
/// `Internal` for a query of ours that cannot be read.
pub(super) fn put_in(planner: &Planner<'_>, statement: &mut ast::Statement) -> Result<()> {
    if visit(statement, &mut IsNamed).is_continue() {
        return Ok(());
    }
    let mut walk = Walk {
        planner,
        with: Given::default(),
    };
    match visit_mut(statement, &mut walk) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// The view that a name in FROM may be, in lower case.
fn view_of(factor: &TableFactor) -> Option<String> {
    let TableFactor::Table {
        name, args: None, ..
    } = factor
    else {
        return None;
    };
    let view = match name.0.as_slice() {
        [ObjectNamePart::Identifier(view)] => view,
        [
            ObjectNamePart::Identifier(schema),
            ObjectNamePart::Identifier(view),
        ] if folded(&schema.value) == "main" => view,
        _ => return None,
    };
    let view = folded(&view.value);
    meaning(&view).is_some().then_some(view)
}

/// Whether anything is called so.
struct IsNamed;

impl Visitor for IsNamed {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match view_of(factor) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

struct Walk<'a> {
    planner: &'a Planner<'a>,
    with: Given,
}

impl VisitorMut for Walk<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Box<Error>> {
        self.with.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Box<Error>> {
        self.with.leave();
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Box<Error>> {
        let Some(view) = view_of(factor).filter(|view| !self.with.has(view)) else {
            return ControlFlow::Continue(());
        };
        let TableFactor::Table { name, alias, .. } = factor else {
            return ControlFlow::Continue(());
        };
        if self.is_table(name) {
            return ControlFlow::Continue(());
        }
        match query(&view) {
            Ok(query) => {
                let alias = alias.take().or_else(|| Some(called(&view)));
                *factor = TableFactor::Derived {
                    lateral: false,
                    subquery: query,
                    alias,
                    sample: None,
                };
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

impl Walk<'_> {
    fn is_table(&self, name: &ObjectName) -> bool {
        let parts = name.0.iter().filter_map(ObjectNamePart::as_ident);
        let parts: Vec<String> = parts.map(|part| part.value.clone()).collect();
        let snapshot = self.planner.snapshot;
        let found = snapshot.resolve(&parts);
        found.is_ok_and(|name| snapshot.find(&name).is_some())
    }
}

fn query(view: &str) -> Result<Box<Query>> {
    match parse_one(&meaning(view).unwrap_or_default())? {
        ast::Statement::Query(query) => Ok(query),
        _ => Err(Error::internal("a view of the catalog is no query")),
    }
}

fn called(name: &str) -> TableAlias {
    TableAlias {
        explicit: true,
        name: Ident::new(name),
        columns: vec![],
        at: None,
    }
}
