//! `pg_catalog` and `information_schema`: what PostgreSQL's clients ask of a server about its tables, as tables and functions that
//! are made for the statement which asks. Nothing of it is stored, so it is what the statement's transaction sees.
//!
//! What must hold: they say what there is, and nothing of another database but its name; whoever writes a table `pg_class` of his own
//! finds that one by its schema.

mod advisory;
mod attributes;
mod base_types;
mod columns;
mod format_text;
mod functions;
mod information;
mod known;
mod rows;
mod sequences;
mod tables;
mod text_hash;
mod views;
mod waiting;
mod world;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::Result;
use std::cell::{Cell, OnceCell};
use std::sync::Arc;

pub use base_types::{postgres_type, postgres_type_of};
pub(crate) use functions::functions;
pub use rows::POSTGRES_TYPE;
pub(crate) use sequences::row_of as sequence_row;
pub(crate) use world::{Locks, TEMPORARY, World};

/// Sectors are what a file is made of.
const SECTOR_BYTES: u64 = 4096;

/// What a statement has made of the catalog, to look at it once.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) world: OnceCell<Arc<World>>,
    /// Views are being bound, of which one may select from the catalog itself: it gets columns without rows.
    pub(crate) binding: Cell<bool>,
}

/// A table of the catalog.
pub(crate) struct SystemTable {
    name: &'static str,
    is_information: bool,
    schema: SchemaRef,
}

impl SystemTable {
    /// The table that a name of one to three parts stands for in a database, if it does.
    pub(crate) fn named(parts: &[String], database: &str) -> Option<Self> {
        let (schema, name) = match parts {
            [name] if name.starts_with("pg_") => ("pg_catalog", name),
            [schema, name] => (schema.as_str(), name),
            [first, schema, name] if first == database => (schema.as_str(), name),
            _ => return None,
        };
        let tables = match schema {
            "pg_catalog" => columns::TABLES,
            "information_schema" => columns::INFORMATION,
            _ => return None,
        };
        let (name, line) = columns::of(tables, name)?;
        Some(Self {
            name,
            is_information: schema == "information_schema",
            schema: rows::schema(line),
        })
    }

    /// Its columns without a row.
    pub(crate) fn empty(&self) -> RecordBatch {
        RecordBatch::new_empty(Arc::clone(&self.schema))
    }

    /// Its rows. What the columns of a view are is asked of `bound`, with its schema and its name.
    ///
    /// # Errors
    /// `Internal` where a row does not fit the columns.
    pub(crate) fn rows(
        &self,
        world: &World,
        bound: &dyn Fn(&str, &str) -> Option<SchemaRef>,
    ) -> Result<RecordBatch> {
        let attributes = || attributes::all(world, bound);
        let rows = match self.is_information {
            true => information::rows(world, self.name, &attributes),
            false => tables::rows(world, self.name, &attributes),
        };
        rows::batch(&self.schema, &rows)
    }
}

/// Whether the catalog has a function of that name.
pub(crate) fn has_function(name: &str) -> bool {
    functions::is_known(name)
}

/// The function of that name over what a statement sees.
pub(crate) fn function(name: &str, world: &Arc<World>) -> Option<Arc<ScalarUDF>> {
    functions::function(name, world)
}

#[cfg(test)]
mod tests {
    use crate::Database;

    fn texts(sql: &str, setup: &str) -> Vec<String> {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        connection.execute(setup).unwrap();
        connection.execute("SET sql_dialect = 'postgres'").unwrap();
        let result = connection.execute(sql).unwrap();
        let mut texts = vec![];
        for batch in result {
            let batch = batch.unwrap();
            for row in 0..batch.num_rows() {
                let cells = batch.columns().iter().map(|column| {
                    crate::value_text(column.as_ref(), row)
                        .unwrap()
                        .unwrap_or_default()
                });
                texts.push(cells.collect::<Vec<_>>().join("|"));
            }
        }
        texts
    }

    const SETUP: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY, b DECIMAL(9,2) DEFAULT 1, c VARCHAR UNIQUE, CHECK (id > 0));
        CREATE VIEW v AS SELECT id, c FROM t; CREATE VIEW w AS SELECT relname FROM pg_class WHERE relname = 't'";

    #[test]
    fn every_table_has_the_columns_that_its_line_says() {
        for (schema, tables) in [
            ("pg_catalog", super::columns::TABLES),
            ("information_schema", super::columns::INFORMATION),
        ] {
            for (name, _) in tables {
                texts(&format!("SELECT * FROM {schema}.{name}"), SETUP);
            }
        }
    }

    #[test]
    fn what_is_there_is_found() {
        let columns = "SELECT attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid)
            FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
            WHERE attrelid = 't'::regclass ORDER BY attnum";
        let found = texts(columns, SETUP);
        assert_eq!(
            found,
            [
                "id|integer|true|",
                "b|numeric(9,2)|false|1",
                "c|text|false|"
            ]
        );
        let keys = "SELECT contype, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1";
        let found = texts(keys, SETUP);
        assert_eq!(
            found,
            ["c|CHECK ((id > 0))", "p|PRIMARY KEY (id)", "u|UNIQUE (c)"]
        );
        let of_view = "SELECT column_name FROM information_schema.columns WHERE table_name = 'v'";
        assert_eq!(texts(of_view, SETUP), ["id", "c"]);
        // A view over the catalog sees it as it is.
        assert_eq!(texts("SELECT * FROM w", SETUP), ["t"]);
        let shown = "SELECT c.oid::regclass, 'int4'::regtype, relkind FROM pg_class c WHERE oid = 'v'::regclass";
        assert_eq!(texts(shown, SETUP), ["v|integer|v"]);
    }

    #[test]
    fn foreign_keys_are_found() {
        let setup = "CREATE TABLE p (a INTEGER, b INTEGER, UNIQUE (b, a));
            CREATE TABLE c (x INTEGER, y INTEGER, FOREIGN KEY (x, y) REFERENCES p (b, a))";
        let key = "SELECT conrelid::regclass, confrelid::regclass, conkey, confkey, pg_get_constraintdef(oid)
            FROM pg_constraint WHERE contype = 'f'";
        assert_eq!(
            texts(key, setup),
            ["c|p|[1, 2]|[2, 1]|FOREIGN KEY (x, y) REFERENCES p(b, a)"]
        );
        let named = "SELECT constraint_name, unique_constraint_name, delete_rule
            FROM information_schema.referential_constraints";
        assert_eq!(texts(named, setup), ["c_x_y_fkey|p_b_a_key|NO ACTION"]);
        let columns = "SELECT column_name FROM information_schema.key_column_usage
            JOIN information_schema.table_constraints USING (constraint_name)
            WHERE constraint_type = 'FOREIGN KEY' ORDER BY ordinal_position";
        assert_eq!(texts(columns, setup), ["x", "y"]);
    }

    #[test]
    fn a_table_of_ones_own_is_found_by_its_schema() {
        let own = "CREATE TABLE pg_class (a INTEGER); INSERT INTO pg_class VALUES (7)";
        assert_eq!(texts("SELECT a FROM main.pg_class", own), ["7"]);
        let system = "SELECT count(*) FROM pg_catalog.pg_class WHERE relname = 'pg_class'";
        assert_eq!(texts(system, own), ["2"]);
    }
}
