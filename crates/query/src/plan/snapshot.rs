//! What one statement sees: a catalog version of each attached database, and how names resolve against them.
//!
//! What must hold: a statement reads one version of each database from its first lookup to its last row.

use datafusion::sql::sqlparser::ast::ObjectName;
use hushdb_sql::{Error, Result, alike, folded, name_parts, sqlstate};
use hushdb_storage::{
    CatalogVersion, ColumnType, MAIN_SCHEMA, Macro, SchemaVersion, Sequence, Store, TableVersion,
    Tables, View, same_name,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One attached database at one version.
#[derive(Clone)]
pub struct DatabaseSnapshot {
    /// The open file.
    pub store: Arc<Store>,
    /// Its tables and views.
    pub version: Arc<CatalogVersion>,
    /// Where it lies, to be shown; `None` for a database in memory.
    pub place: Option<Arc<str>>,
    /// Whether it is the connection's own, and gone with it.
    pub is_temporary: bool,
}

/// The name of a connection's own database.
pub const TEMP: &str = "temp";
/// PostgreSQL's name of a schema of what is a connection's own.
const PG_TEMP: &str = "pg_temp";

/// All attached databases, and where unqualified names are looked for.
#[derive(Clone)]
pub struct Snapshot {
    /// By their names.
    pub databases: BTreeMap<String, DatabaseSnapshot>,
    /// Where a name without a database is looked for.
    pub current_database: String,
    /// Where a name without a schema is looked for.
    pub current_schema: String,
    /// What `now()` gives, in microseconds since 1970-01-01 00:00:00 UTC.
    pub now: i64,
}

/// A fully qualified name of a table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableName {
    /// The database.
    pub database: String,
    /// The schema in it.
    pub schema: String,
    /// The table or view in it.
    pub name: String,
}

/// What a name stands for.
pub enum Relation {
    /// Rows.
    Table(Arc<TableVersion>),
    /// A query.
    View(Arc<View>),
}

/// Things by name.
pub trait ByName {
    /// Such a thing.
    type Thing;

    /// What has exactly that name.
    fn of_name(&self, name: &str) -> Option<(&String, &Self::Thing)>;

    /// All of them.
    fn named(&self) -> impl Iterator<Item = (&String, &Self::Thing)>;
}

impl<T> ByName for BTreeMap<String, T> {
    type Thing = T;

    fn of_name(&self, name: &str) -> Option<(&String, &T)> {
        self.get_key_value(name)
    }

    fn named(&self) -> impl Iterator<Item = (&String, &T)> {
        self.iter()
    }
}

impl ByName for Tables {
    type Thing = Arc<TableVersion>;

    fn of_name(&self, name: &str) -> Option<(&String, &Self::Thing)> {
        self.get_key_value(name)
    }

    fn named(&self) -> impl Iterator<Item = (&String, &Self::Thing)> {
        self.iter()
    }
}

/// What goes by a name: that of exactly this name, else the only one that differs from it in case alone.
pub fn known_as<'a, M: ByName>(map: &'a M, name: &str) -> Option<(&'a String, &'a M::Thing)> {
    map.of_name(name).or_else(|| {
        let mut alike = map.named().filter(|(known, _)| same_name(known, name));
        let only = alike.next()?;
        alike.next().is_none().then_some(only)
    })
}

fn has_relation(within: &SchemaVersion, name: &str) -> bool {
    known_as(&within.tables, name).is_some() || known_as(&within.views, name).is_some()
}

/// Names that differ from one in case alone, if there are several.
fn several_of<'a>(names: impl Iterator<Item = &'a String>, name: &str) -> Vec<String> {
    let found: Vec<String> = names
        .filter(|known| same_name(known, name))
        .cloned()
        .collect();
    match found.len() {
        0 | 1 => vec![],
        _ => found,
    }
}

impl Snapshot {
    /// An attached database.
    ///
    /// # Errors
    /// `Catalog` when there is none of that name.
    pub fn database(&self, name: &str) -> Result<&DatabaseSnapshot> {
        self.known_database(name).map(|(_, database)| database)
    }

    /// The database of a name, and how that is written.
    ///
    /// # Errors
    /// `Catalog` when there is none of that name.
    pub fn known_database(&self, name: &str) -> Result<(&str, &DatabaseSnapshot)> {
        known_as(&self.databases, name)
            .map(|(known, database)| (known.as_str(), database))
            .ok_or_else(|| {
                Error::catalog(format!("Catalog with name {name} does not exist!"))
                    .with_sqlstate(sqlstate::UNKNOWN_DATABASE)
            })
    }

    /// The same state, with another place where unqualified names are looked for. What is the connection's own has its names looked for
    /// where the connection does.
    pub fn at(&self, database: &str, schema: &str) -> Self {
        if self
            .databases
            .get(database)
            .is_some_and(|at| at.is_temporary)
        {
            return self.clone();
        }
        Self {
            databases: self.databases.clone(),
            current_database: database.to_string(),
            current_schema: schema.to_string(),
            now: self.now,
        }
    }

    /// Databases that are attached: all but the connection's own.
    pub fn attached(&self) -> impl Iterator<Item = (&String, &DatabaseSnapshot)> + Clone {
        let all = self.databases.iter();
        all.filter(|(_, database)| !database.is_temporary)
    }

    /// The same state without what is the connection's own.
    pub fn without_temporary(&self) -> Self {
        let mut others = self.clone();
        others
            .databases
            .retain(|_, database| !database.is_temporary);
        others
    }

    /// What is the connection's own.
    pub fn temporary(&self) -> Option<&Arc<SchemaVersion>> {
        let own = self.databases.get(TEMP);
        let own = own.filter(|database| database.is_temporary)?;
        own.version.schemas.get(MAIN_SCHEMA)
    }

    fn schema(&self, database: &str, schema: &str) -> Option<&Arc<SchemaVersion>> {
        let (_, database) = known_as(&self.databases, database)?;
        known_as(&database.version.schemas, schema).map(|(_, schema)| schema)
    }

    /// The names around a table that mean themselves alone, since others differ from them in case alone.
    pub fn alike(&self, relation: &ObjectName) -> Vec<String> {
        let written = name_parts(relation).unwrap_or_default();
        // Which one a name without quotes means is found in lower case.
        let lower: Vec<String> = written.iter().map(|part| folded(part)).collect();
        let mut names = self.alike_around(&written);
        if lower != written {
            names.extend(self.alike_around(&lower));
        }
        names
    }

    fn alike_around(&self, parts: &[String]) -> Vec<String> {
        let Ok((database, schema, name)) = self.meant(parts, &has_relation) else {
            return vec![];
        };
        let Some(within) = self.schema(database, schema) else {
            return vec![];
        };
        let mut names = several_of(within.relations(), name);
        if let Ok(database) = self.database(database) {
            names.extend(several_of(database.version.schemas.keys(), schema));
        }
        if let Some((_, table)) = known_as(&within.tables, name) {
            let columns = table.columns.iter().map(|column| column.name.as_str());
            names.extend(alike(columns).into_iter().map(str::to_owned));
        }
        names
    }

    /// Completes a name of one to three parts. As in DuckDB, `a.b` is schema `a` of the current database if there is
    /// one, else the current schema of database `a` if it is the current one, else its schema `main`.
    ///
    /// What is the connection's own goes before what others see, too. What is there comes under the name that it has, and a name of
    /// nothing as it is written.
    pub fn resolve(&self, parts: &[String]) -> Result<TableName> {
        self.resolved(self.meant(parts, &has_relation)?)
    }

    /// The same for a table or view that is to be made: one of the connection's own, or one that others see.
    ///
    /// # Errors
    /// `Catalog` when there is no such database or schema, `Parser` when the name's database is another one.
    pub fn resolve_new(&self, parts: &[String], temporary: bool) -> Result<TableName> {
        self.resolved(self.new_place(parts, temporary)?)
    }

    fn resolved(&self, (database, schema, name): (&str, &str, &str)) -> Result<TableName> {
        let version = &self.database(database)?.version;
        let Some((schema, within)) = known_as(&version.schemas, schema) else {
            return Err(
                Error::catalog(format!("Schema with name {schema} does not exist!"))
                    .with_sqlstate(sqlstate::UNKNOWN_SCHEMA),
            );
        };
        let (database, _) = known_as(&self.databases, database)
            .ok_or_else(|| Error::internal("a database that was found is gone"))?;
        let known = known_as(&within.tables, name).map(|(known, _)| known);
        let known = known.filter(|known| *known == name).or_else(|| {
            let view = known_as(&within.views, name).map(|(known, _)| known);
            view.filter(|view| *view == name).or(known).or(view)
        });
        Ok(TableName {
            database: database.clone(),
            schema: schema.clone(),
            name: known.map_or(name, String::as_str).to_owned(),
        })
    }

    /// Database, schema and name that are meant: of the connection's own if `has` finds it there, as in DuckDB.
    fn meant<'a>(
        &'a self,
        parts: &'a [String],
        has: &dyn Fn(&SchemaVersion, &str) -> bool,
    ) -> Result<(&'a str, &'a str, &'a str)> {
        let own = match parts {
            [name] => Some(name),
            [schema, name] if same_name(schema, MAIN_SCHEMA) => Some(name),
            _ => None,
        };
        match (own, self.temporary()) {
            (Some(name), Some(within)) if has(within, name) => Ok((TEMP, MAIN_SCHEMA, name)),
            _ => self.complete(parts),
        }
    }

    /// Where something of a name is to be made.
    fn new_place<'a>(
        &'a self,
        parts: &'a [String],
        temporary: bool,
    ) -> Result<(&'a str, &'a str, &'a str)> {
        let is_own = |name: &str| same_name(name, TEMP) || same_name(name, PG_TEMP);
        match (temporary, parts) {
            (true, [name]) => Ok((TEMP, MAIN_SCHEMA, name)),
            (true, [first, name]) if is_own(first) || same_name(first, MAIN_SCHEMA) => {
                Ok((TEMP, MAIN_SCHEMA, name))
            }
            (true, [first, schema, name]) if same_name(first, TEMP) => Ok((TEMP, schema, name)),
            (true, _) => {
                // Which says that there is no such thing, where there is none.
                self.complete(parts)?;
                Err(Error::parser(
                    "TEMPORARY table names can *only* use the \"temp\" catalog",
                ))
            }
            (false, _) => {
                let place = self.complete(parts)?;
                let own = self.databases.get(place.0);
                match own.is_some_and(|own| own.is_temporary) {
                    true => Err(Error::parser(
                        "Only TEMPORARY table names can use the \"temp\" catalog",
                    )),
                    false => Ok(place),
                }
            }
        }
    }

    /// Database, schema and name that are written, whether they are there or not.
    fn complete<'a>(&'a self, parts: &'a [String]) -> Result<(&'a str, &'a str, &'a str)> {
        match parts {
            [name] => Ok((&self.current_database, &self.current_schema, name)),
            [first, name] => {
                if self.schema(&self.current_database, first).is_some() {
                    Ok((&self.current_database, first, name))
                } else if known_as(&self.databases, first).is_some() {
                    let schema = match same_name(first, &self.current_database) {
                        true => &self.current_schema,
                        false => MAIN_SCHEMA,
                    };
                    Ok((first, schema, name))
                } else if same_name(first, PG_TEMP) && self.temporary().is_some() {
                    Ok((TEMP, MAIN_SCHEMA, name))
                } else {
                    Err(
                        Error::catalog(format!("Schema with name {first} does not exist!"))
                            .with_sqlstate(sqlstate::UNKNOWN_SCHEMA),
                    )
                }
            }
            [database, schema, name] => Ok((database, schema, name)),
            _ => Err(Error::binder(
                "a table's name has at most three parts: database.schema.table",
            )),
        }
    }

    /// The table of that name and its database, if there is one; without a word about why not.
    pub fn seen<'a>(
        &'a self,
        parts: &'a [String],
    ) -> Option<(&'a DatabaseSnapshot, &'a Arc<TableVersion>)> {
        let (database, schema, name) = self.meant(parts, &has_relation).ok()?;
        let within = self.schema(database, schema)?;
        let (known, table) = known_as(&within.tables, name)?;
        if known != name && within.views.contains_key(name) {
            return None;
        }
        Some((self.database(database).ok()?, table))
    }

    /// The place that the name of a new entry means, with schema and database as they are written; the entry itself may be there.
    ///
    /// # Errors
    /// As [`Snapshot::resolve_new`].
    pub fn place(&self, parts: &[String], temporary: bool) -> Result<TableName> {
        self.named(self.new_place(parts, temporary)?)
    }

    /// The place of an entry that is there, or would be, of which `has` says whether a schema has it under a name.
    ///
    /// # Errors
    /// `Catalog` when there is no such database or schema.
    pub fn entry(
        &self,
        parts: &[String],
        has: &dyn Fn(&SchemaVersion, &str) -> bool,
    ) -> Result<TableName> {
        self.named(self.meant(parts, has)?)
    }

    fn named(&self, place: (&str, &str, &str)) -> Result<TableName> {
        let name = place.2.to_owned();
        Ok(TableName {
            name,
            ..self.resolved(place)?
        })
    }

    /// The sequence of a name of one to three parts, and where it is.
    ///
    /// # Errors
    /// `Catalog` when there is none, with a name that looks alike.
    pub fn sequence(&self, parts: &[String]) -> Result<(TableName, Arc<Sequence>)> {
        let has = |within: &SchemaVersion, name: &str| known_as(&within.sequences, name).is_some();
        let place = self.entry(parts, &has)?;
        let within = self.schema(&place.database, &place.schema);
        let sequences = within.map(|schema| &schema.sequences);
        let found = sequences.and_then(|sequences| known_as(sequences, &place.name));
        if let Some((name, sequence)) = found {
            let name = name.clone();
            return Ok((TableName { name, ..place }, Arc::clone(sequence)));
        }
        let text = format!("Sequence with name {} does not exist!", place.name);
        let names = sequences.into_iter().flat_map(|sequences| sequences.keys());
        let text = with_suggestion(text, names.map(String::as_str), &place.name);
        Err(Error::catalog(text).with_sqlstate(sqlstate::UNDEFINED_TABLE))
    }

    /// Whether some database has macros.
    pub fn has_macros(&self) -> bool {
        let versions = self.databases.values().map(|database| &database.version);
        let mut schemas = versions.flat_map(|version| version.schemas.values());
        schemas.any(|schema| !(schema.macros.is_empty() && schema.table_macros.is_empty()))
    }

    /// Whether some database has types that users named.
    pub fn has_types(&self) -> bool {
        let versions = self.databases.values().map(|database| &database.version);
        let mut schemas = versions.flat_map(|version| version.schemas.values());
        schemas.any(|schema| !schema.types.is_empty())
    }

    /// Whether a column of some table is an ENUM, or a type is named that may be one.
    pub fn has_enums(&self) -> bool {
        let mut databases = self.databases.values();
        self.has_types()
            || databases.any(|database| {
                let mut columns = database.version.tables().flat_map(|t| t.columns.iter());
                columns.any(|column| matches!(column.ty, ColumnType::Enum(_)))
            })
    }

    /// What the type of a name of one to three parts stands for.
    pub fn type_named(&self, parts: &[String]) -> Option<ColumnType> {
        let has = |within: &SchemaVersion, name: &str| known_as(&within.types, name).is_some();
        let (database, schema, name) = self.meant(parts, &has).ok()?;
        let types = &self.schema(database, schema)?.types;
        known_as(types, name).map(|(_, found)| found.ty.clone())
    }

    /// The macro of a name of one to three parts, of tables or of expressions.
    pub fn macro_named(&self, parts: &[String], of_tables: bool) -> Option<Arc<Macro>> {
        let has = |within: &SchemaVersion, name: &str| {
            known_as(within.macros_of(of_tables), name).is_some()
        };
        let (database, schema, name) = self.meant(parts, &has).ok()?;
        let macros = self.schema(database, schema)?.macros_of(of_tables);
        known_as(macros, name).map(|(_, found)| Arc::clone(found))
    }

    /// What stands under a name, if anything.
    pub fn find(&self, name: &TableName) -> Option<Relation> {
        let schema = self.schema(&name.database, &name.schema)?;
        if let Some(table) = schema.tables.get(&name.name) {
            return Some(Relation::Table(Arc::clone(table)));
        }
        schema
            .views
            .get(&name.name)
            .map(|view| Relation::View(Arc::clone(view)))
    }

    /// The table or view of that name.
    ///
    /// # Errors
    /// `Catalog`, with a name that looks alike if there is one.
    pub fn relation(&self, parts: &[String]) -> Result<(TableName, Relation)> {
        let name = self.resolve(parts)?;
        match self.find(&name) {
            Some(relation) => Ok((name, relation)),
            None => Err(self.unknown(&name)),
        }
    }

    /// The table of that name; a view is an error.
    pub fn table(&self, parts: &[String]) -> Result<(TableName, Arc<TableVersion>)> {
        match self.relation(parts)? {
            (name, Relation::Table(table)) => Ok((name, table)),
            (name, Relation::View(_)) => Err(Error::catalog(format!(
                "{} is a view, not a table",
                name.name
            ))
            .with_sqlstate(sqlstate::WRONG_OBJECT)),
        }
    }

    /// The error of a name that nothing has.
    pub fn unknown(&self, name: &TableName) -> Error {
        let text = format!("Table with name {} does not exist!", name.name);
        let names = self
            .schema(&name.database, &name.schema)
            .into_iter()
            .flat_map(|schema| {
                schema
                    .tables
                    .keys()
                    .chain(schema.views.keys())
                    .map(String::as_str)
                    .collect::<Vec<_>>()
            });
        let text = with_suggestion(text, names, &name.name);
        Error::catalog(text).with_sqlstate(sqlstate::UNDEFINED_TABLE)
    }
}

/// The text of an error about a name, with one that looks like it if there is one.
fn with_suggestion<'a>(
    mut text: String,
    names: impl Iterator<Item = &'a str>,
    name: &str,
) -> String {
    let close = names
        .map(|candidate| (edit_distance(candidate, name), candidate))
        .filter(|(distance, _)| *distance <= 1 + name.len() / 4)
        .min();
    if let Some((_, candidate)) = close {
        text.push_str(&format!("\nDid you mean \"{candidate}\"?"));
    }
    text
}

/// Levenshtein distance, for suggestions in errors.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    #[test]
    fn distance_counts_edits() {
        assert_eq!(edit_distance("lineitem", "linitem"), 1);
        assert_eq!(edit_distance("abc", "abc"), 0);
        assert_eq!(edit_distance("", "abc"), 3);
    }
}
