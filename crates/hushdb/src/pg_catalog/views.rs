//! What views depend on in `pg_depend`: the tables and views that their queries name, so that a dump has these first.

use super::rows::{Cell, row};
use super::sequences::CLASSES;
use super::world::{Kind, Relation, World};
use datafusion::sql::sqlparser::ast::{ObjectName, Visitor};
use hushdb_sql::walk::visit;
use hushdb_sql::{name_parts, parse_one};
use std::ops::ControlFlow;

/// Names of the relations in a query.
#[derive(Default)]
struct Names(Vec<Vec<String>>);

impl Visitor for Names {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.0.extend(name_parts(name).ok());
        ControlFlow::Continue(())
    }
}

/// That views need what their queries read.
pub(super) fn dependencies(world: &World) -> Vec<Vec<Cell>> {
    let mut rows = vec![];
    for relation in &world.relations {
        let Kind::View(view) = &relation.kind else {
            continue;
        };
        let mut names = Names::default();
        if let Ok(query) = parse_one(&view.sql) {
            let _ = visit(&query, &mut names);
        }
        let mut found: Vec<i64> = names
            .0
            .iter()
            .filter_map(|name| read(world, relation, name))
            .collect();
        found.sort_unstable();
        found.dedup();
        for read in found {
            rows.push(row![
                CLASSES,
                relation.oid,
                0_i64,
                CLASSES,
                read,
                0_i64,
                "n"
            ]);
        }
    }
    rows
}

/// The number of the relation that a view means by a name: without a schema, of its own first.
fn read(world: &World, view: &Relation, name: &[String]) -> Option<i64> {
    let (name, schema) = name.split_last()?;
    let schema = schema.last().map(String::as_str);
    let own = world.schema_of(view).1;
    let fits = |relation: &&Relation| {
        let is_read = matches!(relation.kind, Kind::Table(_) | Kind::View(_));
        is_read && relation.oid != view.oid && relation.name.eq_ignore_ascii_case(name)
    };
    let mut of_schema = world.relations.iter().filter(fits);
    let wanted = schema.unwrap_or(own);
    let found = of_schema.find(|relation| world.schema_of(relation).1.eq_ignore_ascii_case(wanted));
    found.map(|relation| relation.oid)
}
