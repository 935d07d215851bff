//! `Engines`: the same tables in three databases, which ought to answer alike.

use super::run_statement::{Outcome, outcome};
use hushdb::{Connection, Database, DatabaseOptions, KeySource, Value};
use hushdb_querygen::World;

/// In which database a form is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// In memory.
    Plain,
    /// An encrypted file, small row groups, and every operator that can spill does.
    Spill,
    /// In memory, with an index of every column that can have one, on one thread where the others have two.
    Indexed,
}

/// What is done wrong on purpose, to see that it is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Operators that spill lose a row.
    LastRowUnderSpill,
    /// NOT of NULL is taken for true.
    NullsOfNegation,
}

/// The databases.
pub(crate) struct Engines {
    connections: [Connection; 3],
    fault: Option<Fault>,
    /// What could not be made.
    pub(crate) refused: Vec<String>,
    _directory: tempfile::TempDir,
}

/// Of `tests/configs/spill.toml`.
const KEY: &str = "hex:5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

impl Engines {
    /// Makes the world's tables in each database.
    pub(crate) fn open(world: &World, fault: Option<Fault>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let options = |threads| DatabaseOptions {
            threads: Some(threads),
            memory_limit_bytes: Some(256 << 20),
            ..DatabaseOptions::default()
        };
        let in_memory = |threads| {
            let database = Database::open_with(None, options(threads)).unwrap();
            database.connect().unwrap()
        };
        let spilling = DatabaseOptions {
            key: Some(KeySource::Text(KEY.into())),
            row_group_rows: 7,
            ..options(2)
        };
        let file = directory.path().join("db.hushdb");
        let spilling = Database::open_with(Some(&file), spilling).unwrap();
        let spilling = spilling.connect().unwrap();
        for setting in [
            "SET memory_limit = '64MiB'",
            "SET debug_force_external = true",
            // Nothing of it is opened again.
            "SET synchronous = off",
        ] {
            let _ = spilling.execute(setting);
        }
        let mut engines = Self {
            connections: [in_memory(2), spilling, in_memory(1)],
            fault,
            refused: vec![],
            _directory: directory,
        };
        engines.fill(world);
        engines
    }

    fn fill(&mut self, world: &World) {
        for sql in world.statements() {
            for connection in &self.connections {
                if let Err(error) = connection.execute(&sql) {
                    self.refused.push(format!("{sql}: {error}"));
                }
            }
        }
        let _ = self.connections[1].execute("CHECKPOINT");
        for table in &world.tables {
            for (n, column) in table.columns.iter().enumerate() {
                let name = table.name.replace('.', "_");
                let sql = format!(
                    "CREATE INDEX i_{name}_{n} ON {} ({})",
                    table.name, column.name
                );
                // Of lists, structs and floats there is none.
                let _ = self.connections[2].execute(&sql);
            }
        }
    }

    /// Runs a statement and reads all of its rows.
    pub(crate) fn run_text(&self, on: On, sql: &str) -> Outcome {
        self.spoiled(on, sql, outcome(|| self.on(on).execute(sql)))
    }

    /// Prepares a statement and runs it with these values.
    pub(crate) fn run_prepared(&self, on: On, sql: &str, values: &[Value]) -> Outcome {
        let run = || self.on(on).prepare(sql)?.execute(values);
        self.spoiled(on, sql, outcome(run))
    }

    fn on(&self, on: On) -> &Connection {
        &self.connections[on as usize]
    }

    /// The outcome, with the fault that is asked for.
    fn spoiled(&self, on: On, sql: &str, mut outcome: Outcome) -> Outcome {
        let spoiled = match self.fault {
            None => false,
            Some(Fault::LastRowUnderSpill) => on == On::Spill,
            Some(Fault::NullsOfNegation) => sql.contains("IS NULL)"),
        };
        if let Outcome::Rows(answer) = &mut outcome
            && spoiled
        {
            answer.rows.pop();
        }
        outcome
    }
}
