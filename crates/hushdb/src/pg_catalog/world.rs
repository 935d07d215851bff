//! `World`: what the current database has, with the numbers by which PostgreSQL's clients know it.
//!
//! What must hold: a number is of one thing alone, equal in all tables of a statement, and from one start to the next as long as the
//! thing has its name. Nothing of another database is in it.

use super::{base_types, columns};
use crate::host::Host;
use crate::transaction::{AdvisoryLocks, Waits};
use hushdb_query::plan::Snapshot;
use hushdb_sql::quote;
use hushdb_storage::{
    CatalogVersion, ColumnId, CommentKind, CommentOn, Comments, ForeignKey, Index, IndexKind,
    SchemaVersion, Sequence, Store, TableId, TableVersion, View,
};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock};

/// What the names of indexes end with that were made for a foreign key.
const KEY_SUFFIX: &str = "_fkey";

/// The first number that is of something a user has made.
const FIRST_OF_USERS: u64 = 16_384;
/// Numbers of what has no number of its own lie here.
const HASHED: u64 = 1 << 30;
/// PostgreSQL's numbers of its own schemas and of the first role.
pub(super) const PG_CATALOG: i64 = 11;
pub(super) const INFORMATION_SCHEMA: i64 = 13_000;
const PUBLIC: i64 = 2_200;
/// The schema of what is the connection's own; a schema of users cannot begin with `pg_`.
pub(crate) const TEMPORARY: &str = "pg_temp";
/// The access methods of tables and of indexes.
pub(super) const HEAP: i64 = 2;
pub(super) const BTREE: i64 = 403;

/// A schema.
pub(super) struct Schema {
    pub(super) oid: i64,
    pub(super) name: String,
}

/// What a relation is.
pub(super) enum Kind {
    Table(Arc<TableVersion>),
    View(Arc<View>),
    Sequence(Arc<Sequence>),
    /// An index: its place among those of its table.
    Index(Arc<TableVersion>, usize),
    /// A table of the catalog itself, with the line of its columns.
    System(&'static str),
}

/// A table, a view, a sequence or an index.
pub(super) struct Relation {
    pub(super) oid: i64,
    pub(super) name: String,
    /// Its schema's place among the schemas.
    pub(super) schema: usize,
    pub(super) kind: Kind,
    /// The table of an index, or of a sequence that is dropped with it.
    pub(super) of: i64,
}

/// A constraint of a table.
pub(super) struct Constraint {
    pub(super) oid: i64,
    pub(super) name: String,
    /// The table's place among the relations.
    pub(super) relation: usize,
    /// `p`, `u`, `c` or `f`.
    pub(super) kind: &'static str,
    /// The index of a key, or of that which a foreign key names, or 0.
    pub(super) index: i64,
    /// Numbers of its columns.
    pub(super) keys: Vec<i64>,
    /// Of a foreign key: the place of the table that it names among the relations, and numbers of its columns.
    pub(super) names: Option<(usize, Vec<i64>)>,
    /// As SQL.
    pub(super) definition: String,
}

/// What the session has locked by numbers that sessions agree on, and how the statement waits for others that have.
pub(crate) struct Locks {
    pub(crate) held: Arc<AdvisoryLocks>,
    pub(crate) waits: Option<Arc<Waits>>,
}

/// See the module.
pub(crate) struct World {
    pub(super) database: String,
    pub(super) schemas: Vec<Schema>,
    pub(super) relations: Vec<Relation>,
    pub(super) constraints: Vec<Constraint>,
    /// The schema that names without one are looked for in.
    pub(super) current_schema: String,
    pub(super) host: Arc<dyn Host>,
    /// Whether `information_schema` is DuckDB's: that of a session of no server, in DuckDB's dialect.
    pub(super) is_duckdb: bool,
    pub(super) store: Arc<Store>,
    pub(super) locks: Locks,
    roles: OnceLock<Vec<(i64, crate::host::HostRole)>>,
    places: HashMap<i64, usize>,
    /// What is said in a schema, by its place among the schemas.
    comments: HashMap<usize, Comments>,
    /// With the place of their schema.
    foreign_keys: Vec<(usize, Arc<ForeignKey>)>,
}

/// Gives numbers, each once.
#[derive(Default)]
struct Numbers {
    taken: BTreeSet<i64>,
}

impl Numbers {
    /// The number of what has this id in its file for all its life.
    fn of_id(&mut self, id: u64) -> i64 {
        match i64::try_from(FIRST_OF_USERS + id) {
            Ok(oid) if oid < HASHED as i64 && self.taken.insert(oid) => oid,
            _ => self.of_name("id", &[&id.to_string()]),
        }
    }

    /// The number of what has a name alone: a hash of it, or the next that is free.
    fn of_name(&mut self, kind: &str, names: &[&str]) -> i64 {
        let mut oid = hash(kind, names);
        while !self.taken.insert(oid) {
            oid = HASHED as i64 + (oid + 1 - HASHED as i64) % HASHED as i64;
        }
        oid
    }
}

/// The schemas of a database. A server's databases begin in `public`: as long as nothing is in their `main`, nothing is said of it, and
/// pg_dump does not make it anew.
fn shown_schemas(version: &CatalogVersion) -> impl Iterator<Item = (&String, &Arc<SchemaVersion>)> {
    let is_served = version.schemas.contains_key("public");
    let is_empty = |schema: &SchemaVersion| {
        schema.relations().next().is_none()
            && schema.sequences.is_empty()
            && schema.macros.is_empty()
            && schema.table_macros.is_empty()
    };
    let schemas = version.schemas.iter();
    schemas.filter(move |(name, schema)| !(is_served && *name == "main" && is_empty(schema)))
}

/// FNV-1a, into the half of all numbers that is for hashes.
fn hash(kind: &str, names: &[&str]) -> i64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in std::iter::once(&kind).chain(names) {
        for byte in text.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    (HASHED + (hash ^ hash >> 32) % HASHED) as i64
}

/// The number of a role.
pub(super) fn role_oid(name: &str) -> i64 {
    hash("role", &[name])
}

/// The number of a database.
pub(super) fn database_oid(name: &str) -> i64 {
    hash("database", &[name])
}

impl World {
    /// What a statement sees of its current database.
    ///
    /// # Errors
    /// `Catalog` when that is gone.
    pub(crate) fn of(
        snapshot: &Snapshot,
        host: Arc<dyn Host>,
        is_duckdb: bool,
        locks: Locks,
    ) -> hushdb_sql::Result<Self> {
        let (database, found) = snapshot.known_database(&snapshot.current_database)?;
        let mut world = Self {
            database: database.to_owned(),
            schemas: vec![],
            relations: vec![],
            constraints: vec![],
            current_schema: snapshot.current_schema.clone(),
            host,
            is_duckdb,
            store: Arc::clone(&found.store),
            locks,
            roles: OnceLock::new(),
            places: HashMap::new(),
            comments: HashMap::new(),
            foreign_keys: vec![],
        };
        let mut numbers = Numbers::default();
        world.enter_schemas(&found.version, &mut numbers);
        world.enter_system();
        for (schema, (name, within)) in (2..).zip(shown_schemas(&found.version)) {
            world.enter_relations(schema, name, within, &mut numbers);
        }
        if let Some(own) = snapshot.temporary() {
            let schema = world.schemas.len();
            world.schemas.push(Schema {
                oid: numbers.of_name("schema", &[TEMPORARY]),
                name: TEMPORARY.to_owned(),
            });
            world.enter_relations(schema, TEMPORARY, own, &mut numbers);
        }
        world.enter_constraints(&mut numbers);
        let places = (0..).zip(&world.relations);
        world.places = places.map(|(at, relation)| (relation.oid, at)).collect();
        Ok(world)
    }

    fn enter_schemas(&mut self, version: &CatalogVersion, numbers: &mut Numbers) {
        for (oid, name) in [
            (PG_CATALOG, "pg_catalog"),
            (INFORMATION_SCHEMA, "information_schema"),
        ] {
            let name = name.to_owned();
            self.schemas.push(Schema { oid, name });
        }
        for (name, _) in shown_schemas(version) {
            let oid = match name.as_str() {
                "public" => PUBLIC,
                name => numbers.of_name("schema", &[name]),
            };
            let name = name.clone();
            self.schemas.push(Schema { oid, name });
        }
    }

    /// The tables of the catalog itself.
    fn enter_system(&mut self) {
        for (schema, tables) in [(0, columns::TABLES), (1, columns::INFORMATION)] {
            for (oid, (name, columns)) in (12_000 + 500 * schema as i64..).zip(tables) {
                self.relations.push(Relation {
                    oid: columns::known_oid(name).unwrap_or(oid),
                    name: (*name).to_owned(),
                    schema,
                    kind: Kind::System(columns),
                    of: 0,
                });
            }
        }
    }

    /// What is in the schema at a place among the schemas.
    fn enter_relations(
        &mut self,
        schema: usize,
        schema_name: &str,
        within: &SchemaVersion,
        numbers: &mut Numbers,
    ) {
        self.comments.insert(schema, within.comments.clone());
        let keys = within.foreign_keys.iter();
        self.foreign_keys
            .extend(keys.map(|key| (schema, Arc::clone(key))));
        for table in within.tables.values() {
            let oid = numbers.of_id(table.id.number());
            self.relations.push(Relation {
                oid,
                name: table.name.clone(),
                schema,
                kind: Kind::Table(Arc::clone(table)),
                of: 0,
            });
            for (at, index) in table.indexes().iter().enumerate() {
                // A foreign key has none in PostgreSQL, and a dump must not make it twice.
                let of_key = |key: &Arc<ForeignKey>| {
                    key.child == table.id
                        && index.kind() == IndexKind::Plain
                        && index.column_ids() == key.columns
                        && index.name().ends_with(KEY_SUFFIX)
                };
                if within.foreign_keys.iter().any(of_key) {
                    continue;
                }
                let of = table.id.to_string();
                self.relations.push(Relation {
                    oid: numbers.of_name("index", &[&of, index.name()]),
                    name: index.name().to_owned(),
                    schema,
                    kind: Kind::Index(Arc::clone(table), at),
                    of: oid,
                });
            }
        }
        for view in within.views.values() {
            self.relations.push(Relation {
                oid: numbers.of_name("view", &[schema_name, &view.name]),
                name: view.name.clone(),
                schema,
                kind: Kind::View(Arc::clone(view)),
                of: 0,
            });
        }
        for sequence in within.sequences.values() {
            let owner = sequence.owner_in(within).map(|(table, _)| table.id);
            let owner = self.relations.iter().find(|relation| {
                let id = match &relation.kind {
                    Kind::Table(table) => Some(table.id),
                    _ => None,
                };
                relation.schema == schema && id.is_some() && id == owner
            });
            self.relations.push(Relation {
                of: owner.map_or(0, |table| table.oid),
                oid: numbers.of_id(sequence.id().number()),
                name: sequence.name.clone(),
                schema,
                kind: Kind::Sequence(Arc::clone(sequence)),
            });
        }
    }

    fn enter_constraints(&mut self, numbers: &mut Numbers) {
        let mut constraints = vec![];
        for (at, relation) in self.relations.iter().enumerate() {
            match &relation.kind {
                Kind::Index(table, index) => {
                    let Some(index) = table.indexes().get(*index) else {
                        continue;
                    };
                    let (kind, words) = match index.kind() {
                        IndexKind::Primary => ("p", "PRIMARY KEY"),
                        IndexKind::Unique => ("u", "UNIQUE"),
                        IndexKind::Plain => continue,
                    };
                    let table_at = self.relations.iter().position(|r| r.oid == relation.of);
                    constraints.push(Constraint {
                        oid: numbers.of_name("constraint", &[&relation.oid.to_string()]),
                        name: relation.name.clone(),
                        relation: table_at.unwrap_or(at),
                        kind,
                        index: relation.oid,
                        keys: keys(table, index.column_ids()),
                        names: None,
                        definition: format!("{words} ({})", quoted(table, index)),
                    });
                }
                Kind::Table(table) => {
                    let mut names = BTreeSet::new();
                    for check in &table.checks {
                        let made = || check_name(&table.name, &names);
                        let name = check.name.clone().unwrap_or_else(made);
                        names.insert(name.clone());
                        let of = relation.oid.to_string();
                        constraints.push(Constraint {
                            oid: numbers.of_name("check", &[&of, &name]),
                            name,
                            relation: at,
                            kind: "c",
                            index: 0,
                            keys: vec![],
                            names: None,
                            definition: format!("CHECK ({})", in_brackets(&check.sql)),
                        });
                    }
                }
                _ => {}
            }
        }
        let mut taken = BTreeSet::new();
        for (schema, key) in &self.foreign_keys {
            let Some(mut constraint) = self.foreign_key(*schema, key) else {
                continue;
            };
            // Of several on the same columns, those behind the first have a number.
            let (mut more, name) = (0, constraint.name.clone());
            while !taken.insert((constraint.relation, constraint.name.clone())) {
                more += 1;
                constraint.name = format!("{name}{more}");
            }
            let of = self.relations.get(constraint.relation);
            let of = of.map_or(0, |relation| relation.oid).to_string();
            constraint.oid = numbers.of_name("foreign key", &[&of, &constraint.name]);
            constraints.push(constraint);
        }
        self.constraints = constraints;
    }

    /// A key under the name that it has if it is the only one on its columns, and without a number.
    fn foreign_key(&self, schema: usize, key: &ForeignKey) -> Option<Constraint> {
        let find = |id: TableId| {
            let mut relations = self.relations.iter().enumerate();
            relations.find_map(|(at, relation)| match &relation.kind {
                Kind::Table(table) if table.id == id && relation.schema == schema => {
                    Some((at, relation, table))
                }
                _ => None,
            })
        };
        let (at, _, child) = find(key.child)?;
        let (parent_at, parent_relation, parent) = find(key.parent)?;
        let index = self.relations.iter().find(|other| match &other.kind {
            Kind::Index(_, index) if other.of == parent_relation.oid => {
                let index = parent.indexes().get(*index);
                index.is_some_and(|index| {
                    index.kind().is_unique() && index.column_ids() == key.parent_columns
                })
            }
            _ => false,
        });
        let columns = |table: &TableVersion, ids: &[ColumnId]| -> Vec<String> {
            let column = |id: &ColumnId| table.columns.iter().find(|c| c.id == *id);
            ids.iter()
                .filter_map(column)
                .map(|c| c.name.clone())
                .collect()
        };
        let listed = |names: &[String]| {
            let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
            names.join(", ")
        };
        let (own, other) = (
            columns(child, &key.columns),
            columns(parent, &key.parent_columns),
        );
        Some(Constraint {
            oid: 0,
            name: format!("{}_{}{KEY_SUFFIX}", child.name, own.join("_")),
            relation: at,
            kind: "f",
            index: index.map_or(0, |index| index.oid),
            keys: keys(child, &key.columns),
            names: Some((parent_at, keys(parent, &key.parent_columns))),
            definition: format!(
                "FOREIGN KEY ({}) REFERENCES {}({})",
                listed(&own),
                self.shown(parent_relation),
                listed(&other)
            ),
        })
    }

    pub(super) fn schema_of(&self, relation: &Relation) -> (i64, &str) {
        let schema = self.schemas.get(relation.schema);
        schema.map_or((0, ""), |schema| (schema.oid, schema.name.as_str()))
    }

    pub(super) fn relation(&self, oid: i64) -> Option<&Relation> {
        self.relations.get(*self.places.get(&oid)?)
    }

    /// Whether a relation is found by its name alone.
    pub(super) fn is_visible(&self, relation: &Relation) -> bool {
        let (_, schema) = self.schema_of(relation);
        schema == self.current_schema || schema == "pg_catalog" || schema == TEMPORARY
    }

    /// What is said of a relation, or of a column of it.
    pub(super) fn comment(&self, relation: &Relation, column: Option<&str>) -> Option<&str> {
        let comments = self.comments.get(&relation.schema)?;
        let (kind, name, part) = match &relation.kind {
            Kind::Index(table, _) => (
                CommentKind::Index,
                &table.name,
                Some(relation.name.as_str()),
            ),
            Kind::Sequence(_) => (CommentKind::Sequence, &relation.name, None),
            _ => (CommentKind::Relation, &relation.name, column),
        };
        let on = CommentOn {
            kind,
            name: name.clone(),
            part: part.map(str::to_owned),
        };
        comments.get(&on).map(|text| text.as_ref())
    }

    /// The number of the schema of what is the connection's own; 0 if there is none.
    pub(super) fn temporary_schema(&self) -> i64 {
        let own = self.schemas.iter().find(|schema| schema.name == TEMPORARY);
        own.map_or(0, |schema| schema.oid)
    }

    /// Whether a relation is the connection's own.
    pub(super) fn is_temporary(&self, relation: &Relation) -> bool {
        self.schema_of(relation).1 == TEMPORARY
    }

    /// A relation's name as it is found from here.
    pub(super) fn shown(&self, relation: &Relation) -> String {
        match self.is_visible(relation) {
            true => quote(&relation.name),
            false => self.whole_name(relation),
        }
    }

    /// A relation's name with that of its schema.
    pub(super) fn whole_name(&self, relation: &Relation) -> String {
        let (_, schema) = self.schema_of(relation);
        format!("{}.{}", quote(schema), quote(&relation.name))
    }

    /// The relation of a name as SQL writes it: with quotes and a schema, or without.
    pub(super) fn named(&self, text: &str) -> Option<&Relation> {
        let parts = name_parts(text)?;
        let mut relations = self.relations.iter();
        match parts.as_slice() {
            [name] => {
                let mut named = relations.filter(|r| r.name == *name && self.is_visible(r));
                let first = named.clone().find(|r| self.is_temporary(r));
                first.or_else(|| named.next())
            }
            [.., schema, name] => {
                relations.find(|r| r.name == *name && self.schema_of(r).1 == schema)
            }
            [] => None,
        }
    }

    /// Roles with their numbers.
    pub(super) fn roles(&self) -> &[(i64, crate::host::HostRole)] {
        self.roles.get_or_init(|| {
            let roles = self.host.roles().into_iter();
            roles.map(|role| (role_oid(&role.name), role)).collect()
        })
    }

    /// The role that owns the current database, and so all that is in it.
    pub(super) fn owner(&self) -> i64 {
        let databases = self.host.databases();
        let own = databases.iter().find(|one| one.name == self.database);
        own.map_or_else(|| role_oid(&self.host.user()), |own| role_oid(&own.owner))
    }

    /// The SQL that makes an index again.
    pub(super) fn index_definition(&self, relation: &Relation) -> Option<String> {
        let Kind::Index(table, at) = &relation.kind else {
            return None;
        };
        let index = table.indexes().get(*at)?;
        let unique = if index.kind().is_unique() {
            "UNIQUE "
        } else {
            ""
        };
        Some(format!(
            "CREATE {unique}INDEX {} ON {} USING btree ({})",
            quote(index.name()),
            self.whole_name(self.relation(relation.of)?),
            quoted(table, index)
        ))
    }

    /// The columns of an index, as SQL writes them.
    pub(super) fn index_columns(&self, relation: &Relation) -> Vec<String> {
        match &relation.kind {
            Kind::Index(table, at) => {
                let index = table.indexes().get(*at);
                index.map_or(vec![], |index| column_names(table, index))
            }
            _ => vec![],
        }
    }
}

/// Names of an index's columns.
fn column_names(table: &TableVersion, index: &Index) -> Vec<String> {
    let name = |id: &ColumnId| table.columns.iter().find(|column| column.id == *id);
    let columns = index.column_ids().iter().filter_map(name);
    columns.map(|column| column.name.clone()).collect()
}

/// The same as SQL.
fn quoted(table: &TableVersion, index: &Index) -> String {
    let names = column_names(table, index);
    let names: Vec<String> = names.iter().map(|name| quote(name)).collect();
    names.join(", ")
}

/// A condition in brackets, which it may have already.
fn in_brackets(condition: &str) -> String {
    let mut depth = 0_i32;
    let mut letters = condition.char_indices();
    let end = letters.find_map(|(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (depth == 0).then_some(at + c.len_utf8())
    });
    match condition.starts_with('(') && end == Some(condition.len()) {
        true => condition.to_owned(),
        false => format!("({condition})"),
    }
}

/// A name for a condition that was given none.
fn check_name(table: &str, taken: &BTreeSet<String>) -> String {
    let names = (0..).map(|n| match n {
        0 => format!("{table}_check"),
        n => format!("{table}_check{n}"),
    });
    let mut free = names.filter(|name| !taken.contains(name));
    free.next().unwrap_or_default()
}

/// The numbers of columns, from 1.
pub(super) fn keys(table: &TableVersion, ids: &[ColumnId]) -> Vec<i64> {
    let place = |id: &ColumnId| {
        let at = table.columns.iter().position(|column| column.id == *id);
        at.and_then(|at| i64::try_from(at + 1).ok())
    };
    ids.iter().filter_map(place).collect()
}

/// The type of a column, as OID and modifier.
pub(super) fn column_type(column: &hushdb_storage::Column) -> (i64, i64) {
    match column.declared {
        Some(declared) => base_types::of_declared(declared),
        None => base_types::of_column(&column.ty),
    }
}

/// The parts of a name as SQL writes it; `None` if a quote has no end.
pub(super) fn name_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = vec![String::new()];
    let mut letters = text.trim().chars().peekable();
    let mut quoted = false;
    while let Some(letter) = letters.next() {
        let part = parts.last_mut()?;
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            letter if quoted => part.push(letter),
            letter => part.extend(letter.to_lowercase()),
        }
    }
    (!quoted && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart_as_sql_writes_them() {
        let parts = |text| name_parts(text);
        assert_eq!(
            parts("Shop.\"A\"\"b.c\""),
            Some(vec!["shop".into(), "A\"b.c".into()])
        );
        assert_eq!(parts("\"a"), None);
        assert_eq!(parts("a..b"), None);
    }

    #[test]
    fn numbers_are_given_once() {
        let mut numbers = Numbers::default();
        let first = numbers.of_name("view", &["public", "v"]);
        let second = numbers.of_name("view", &["public", "v"]);
        assert_ne!(first, second);
        assert_eq!(first, hash("view", &["public", "v"]));
        assert!((1 << 30..1 << 31).contains(&first));
        assert_eq!(numbers.of_id(3), 16_387);
    }
}
