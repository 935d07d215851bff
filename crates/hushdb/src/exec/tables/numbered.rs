//! What the catalogs have, numbered: the same numbers in all tables that tell of it.
//!
//! What must hold: numbers called `oid` are equal in all of these tables as long as no definition changes.

use super::arrays::{numbers, texts};
use crate::exec::Columns;
use crate::exec::definitions::foreign_keys;
use hushdb_query::plan::Planner;
use hushdb_storage::{Index, Macro, SchemaVersion, Sequence, TableVersion, UserType, View};
use std::sync::Arc;

/// A schema, and where it is.
pub(super) struct SchemaRow<'a> {
    pub(super) version: &'a SchemaVersion,
    pub(super) database: &'a str,
    pub(super) is_temporary: bool,
    pub(super) database_oid: i64,
    pub(super) name: &'a str,
    pub(super) oid: i64,
}

impl SchemaRow<'_> {
    /// The SQL that makes an entry here.
    pub(super) fn made_by(&self, sql: String) -> String {
        match self.is_temporary {
            true => sql.replacen("CREATE", "CREATE TEMP", 1),
            false => sql,
        }
    }
}

/// What a schema has.
#[derive(Clone, Copy)]
pub(super) enum Entry<'a> {
    Table(&'a Arc<TableVersion>),
    View(&'a Arc<View>),
    Sequence(&'a Arc<Sequence>),
    Type(&'a Arc<UserType>),
    Macro(&'a Arc<Macro>),
    TableMacro(&'a Arc<Macro>),
    /// One that a user has made or named, of a table.
    Index(&'a Arc<TableVersion>, &'a Index),
}

impl<'a> Entry<'a> {
    pub(super) fn table(self) -> Option<&'a Arc<TableVersion>> {
        match self {
            Self::Table(table) => Some(table),
            _ => None,
        }
    }

    pub(super) fn view(self) -> Option<&'a Arc<View>> {
        match self {
            Self::View(view) => Some(view),
            _ => None,
        }
    }

    pub(super) fn sequence(self) -> Option<&'a Arc<Sequence>> {
        match self {
            Self::Sequence(sequence) => Some(sequence),
            _ => None,
        }
    }

    pub(super) fn user_type(self) -> Option<&'a Arc<UserType>> {
        match self {
            Self::Type(one) => Some(one),
            _ => None,
        }
    }

    pub(super) fn index(self) -> Option<(&'a Arc<TableVersion>, &'a Index)> {
        match self {
            Self::Index(table, index) => Some((table, index)),
            _ => None,
        }
    }
}

pub(super) struct EntryRow<'a> {
    schema: usize,
    pub(super) oid: i64,
    pub(super) entry: Entry<'a>,
}

/// All entries, numbered in one way.
pub(super) struct Entries<'a> {
    pub(super) schemas: Vec<SchemaRow<'a>>,
    entries: Vec<EntryRow<'a>>,
}

impl<'a> Entries<'a> {
    pub(super) fn of(planner: &'a Planner<'_>) -> Self {
        let mut all = Self {
            schemas: vec![],
            entries: vec![],
        };
        let mut numbers = 1..;
        let mut oid = || numbers.next().unwrap_or_default();
        for (database, found) in &planner.snapshot.databases {
            let database_oid = oid();
            for (name, version) in &found.version.schemas {
                let schema = all.schemas.len();
                all.schemas.push(SchemaRow {
                    version,
                    database,
                    is_temporary: found.is_temporary,
                    database_oid,
                    name,
                    oid: oid(),
                });
                all.entries.extend(entries(version).map(|entry| EntryRow {
                    schema,
                    oid: oid(),
                    entry,
                }));
            }
        }
        all
    }

    /// The entries, each with its schema.
    pub(super) fn all(&self) -> impl Iterator<Item = (&SchemaRow<'a>, &EntryRow<'a>)> {
        let entries = self.entries.iter();
        entries.filter_map(|row| Some((self.schemas.get(row.schema)?, row)))
    }

    /// The entries of a kind, each with its schema and number.
    pub(super) fn chosen<T>(
        &self,
        of: impl Fn(Entry<'a>) -> Option<T>,
    ) -> Vec<(&SchemaRow<'a>, i64, T)> {
        let chosen = self.all();
        let chosen = chosen.filter_map(|(schema, row)| Some((schema, row.oid, of(row.entry)?)));
        chosen.collect()
    }

    /// The number of a table of a schema.
    pub(super) fn table_oid(&self, schema: &SchemaRow<'_>, table: &TableVersion) -> Option<i64> {
        let mut all = self.all();
        all.find_map(|(within, row)| match row.entry {
            Entry::Table(one) if within.oid == schema.oid && one.id == table.id => Some(row.oid),
            _ => None,
        })
    }
}

/// What a schema has. Indexes come last.
fn entries(version: &SchemaVersion) -> impl Iterator<Item = Entry<'_>> {
    let tables = version.tables.values();
    let views = version.views.values().map(Entry::View);
    let sequences = version.sequences.values().map(Entry::Sequence);
    let types = version.types.values().map(Entry::Type);
    let macros = version.macros.values().map(Entry::Macro);
    let table_macros = version.table_macros.values().map(Entry::TableMacro);
    let indexes = tables.clone().flat_map(|table| {
        let own = table.indexes().iter();
        let own = own.filter(|index| !foreign_keys::is_own_index(version, table.id, index));
        own.map(move |index| Entry::Index(table, index))
    });
    let tables = tables.map(Entry::Table);
    let entries = tables.chain(views).chain(sequences);
    entries
        .chain(types)
        .chain(macros)
        .chain(table_macros)
        .chain(indexes)
}

/// Where each row's entry is.
pub(super) fn places<T>(rows: &[T], schema: impl Fn(&T) -> &SchemaRow<'_>) -> Columns {
    vec![
        (
            "database_name",
            texts(rows, |row| Some(schema(row).database.into())),
        ),
        (
            "database_oid",
            numbers(rows, |row| Some(schema(row).database_oid)),
        ),
        (
            "schema_name",
            texts(rows, |row| Some(schema(row).name.into())),
        ),
        ("schema_oid", numbers(rows, |row| Some(schema(row).oid))),
    ]
}

pub(super) fn number(count: usize) -> Option<i64> {
    i64::try_from(count).ok()
}
