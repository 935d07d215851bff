//! Rows of `pg_catalog`.

use super::advisory;
use super::attributes::Attribute;
use super::base_types;
use super::rows::{Cell, row};
use super::sequences::{self, CLASSES};
use super::views;
use super::world::{BTREE, HEAP, INFORMATION_SCHEMA, Kind, PG_CATALOG, Relation, World, keys};
use super::world::{database_oid, role_oid};
use hushdb_sql::{POSTGRES_LITERAL, view_text};
use hushdb_storage::IndexKind;

type Rows = Vec<Vec<Cell>>;

const NULL: Cell = Cell::Null;
const DEFAULT_COLLATION: i64 = 100;
const DEFAULT_SPACE: i64 = 1_663;
/// The language of functions that are the server's own.
const INTERNAL: i64 = 12;

/// Rows of a table of `pg_catalog`; none for one that is empty.
pub(super) fn rows(world: &World, name: &str, attributes: &dyn Fn() -> Vec<Attribute>) -> Rows {
    match name {
        "pg_am" => vec![
            row![HEAP, "heap", 3_i64, "t"],
            row![BTREE, "btree", 330_i64, "i"],
        ],
        "pg_attrdef" => defaults(world, &attributes()),
        "pg_attribute" => attributes().iter().map(attribute).collect(),
        "pg_authid" => roles(world, authid),
        "pg_class" => world.relations.iter().map(|r| class(world, r)).collect(),
        "pg_collation" => ["default", "C", "POSIX"]
            .into_iter()
            .zip([DEFAULT_COLLATION, 950, 951])
            .map(|(name, oid)| collation(world, name, oid))
            .collect(),
        "pg_constraint" => constraints(world),
        "pg_database" => databases(world),
        "pg_depend" => {
            let mut rows = sequences::dependencies(world);
            rows.extend(sequences::of_defaults(world, &attributes()));
            rows.extend(views::dependencies(world));
            rows
        }
        "pg_description" => descriptions(world, &attributes()),
        "pg_index" => indexes(world),
        "pg_indexes" => index_definitions(world),
        "pg_language" => vec![row![
            INTERNAL,
            "internal",
            world.owner(),
            false,
            false,
            0_i64,
            0_i64,
            0_i64,
            NULL
        ]],
        "pg_namespace" => world
            .schemas
            .iter()
            .map(|schema| row![schema.oid, schema.name.as_str(), world.owner(), NULL])
            .collect(),
        "pg_proc" => base_types::functions()
            .into_iter()
            .map(|(oid, name, gives)| function(world, oid, name, gives))
            .collect(),
        "pg_roles" => roles(world, shown_role),
        "pg_sequence" => sequences::sequences(world),
        "pg_sequences" => sequences::shown(world, &owner_name(world)),
        "pg_settings" => settings(world),
        "pg_locks" => advisory::rows(world),
        "pg_stat_activity" => sessions(world),
        "pg_stat_user_tables" => statistics(world),
        "pg_tables" => tables(world),
        "pg_tablespace" => ["pg_default", "pg_global"]
            .into_iter()
            .zip(DEFAULT_SPACE..)
            .map(|(name, oid)| row![oid, name, world.owner(), NULL, NULL])
            .collect(),
        "pg_type" => base_types::rows(PG_CATALOG, world.owner()),
        "pg_user" => roles(world, user),
        "pg_views" => views(world),
        _ => vec![],
    }
}

fn of_tables(world: &World) -> impl Iterator<Item = &Relation> {
    let relations = world.relations.iter();
    relations.filter(|relation| matches!(relation.kind, Kind::Table(_)))
}

/// The letter of `relkind`: views of `information_schema` are views, the rest of the catalog is tables.
pub(super) fn relkind(relation: &Relation) -> &'static str {
    match &relation.kind {
        Kind::Table(_) => "r",
        Kind::View(_) => "v",
        Kind::Index(..) => "i",
        Kind::Sequence(_) => "S",
        Kind::System(_) if is_view_of_system(relation) => "v",
        Kind::System(_) => "r",
    }
}

fn is_view_of_system(relation: &Relation) -> bool {
    const VIEWS: [&str; 15] = [
        "pg_available_extensions",
        "pg_group",
        "pg_indexes",
        "pg_locks",
        "pg_matviews",
        "pg_replication_slots",
        "pg_roles",
        "pg_rules",
        "pg_sequences",
        "pg_settings",
        "pg_stat_activity",
        "pg_stat_user_tables",
        "pg_tables",
        "pg_user",
        "pg_views",
    ];
    relation.schema == 1 || VIEWS.contains(&relation.name.as_str())
}

fn class(world: &World, relation: &Relation) -> Vec<Cell> {
    let (schema, _) = world.schema_of(relation);
    let (columns, rows, indexed, checks) = match &relation.kind {
        Kind::Table(table) => (
            table.columns.len(),
            table.row_count() as f64,
            !table.indexes().is_empty(),
            table.checks.len(),
        ),
        Kind::View(view) => (view.columns.len(), 0.0, false, 0),
        Kind::Sequence(_) => (3, 1.0, false, 0),
        Kind::Index(table, _) => (
            world.index_columns(relation).len(),
            table.row_count() as f64,
            false,
            0,
        ),
        Kind::System(line) => (line.split(',').count(), 0.0, false, 0),
    };
    let kind = relkind(relation);
    let access = match kind {
        "r" => HEAP,
        "i" => BTREE,
        _ => 0,
    };
    let file = if kind == "v" { 0 } else { relation.oid };
    let replica = if kind == "r" { "d" } else { "n" };
    row![
        relation.oid,
        relation.name.as_str(),
        schema,
        0_i64,
        0_i64,
        world.owner(),
        access,
        file,
        0_i64,
        0_i64,
        Cell::Int(rows as i64),
        0_i64,
        0_i64,
        indexed,
        false,
        if world.is_temporary(relation) {
            "t"
        } else {
            "p"
        },
        kind,
        columns as i64,
        checks as i64,
        kind == "v",
        has_foreign_key(world, relation),
        false,
        false,
        false,
        true,
        replica,
        false,
        0_i64,
        0_i64,
        0_i64,
        NULL,
        NULL,
        NULL,
    ]
}

fn attribute(attribute: &Attribute) -> Vec<Cell> {
    let (ty, modifier) = attribute.ty;
    let known = base_types::TYPES.iter().find(|known| known.oid == ty);
    let bytes = known.map_or(-1, |known| known.bytes);
    let collation = match known {
        Some(known) if known.category == "S" => DEFAULT_COLLATION,
        _ => 0,
    };
    let dimensions = i64::from(known.is_none());
    row![
        attribute.relation,
        attribute.name.as_str(),
        ty,
        -1_i64,
        bytes,
        attribute.number,
        dimensions,
        -1_i64,
        modifier,
        (1..=8).contains(&bytes),
        if bytes == 8 { "d" } else { "i" },
        if bytes < 0 { "x" } else { "p" },
        "",
        attribute.not_null,
        attribute.default.is_some() || attribute.generated.is_some(),
        false,
        attribute.identity,
        if attribute.generated.is_some() {
            "s"
        } else {
            ""
        },
        false,
        true,
        0_i64,
        collation,
        NULL,
        NULL,
        NULL,
        NULL,
    ]
}

/// What is said of relations and of their columns.
fn descriptions(world: &World, attributes: &[Attribute]) -> Rows {
    let of_relations = world.relations.iter().filter_map(|relation| {
        let text = world.comment(relation, None)?;
        Some(row![relation.oid, CLASSES, 0_i64, text])
    });
    let of_columns = attributes.iter().filter_map(|attribute| {
        let relation = world.relation(attribute.relation)?;
        if !matches!(relation.kind, Kind::Table(_) | Kind::View(_)) {
            return None;
        }
        let text = world.comment(relation, Some(&attribute.name))?;
        Some(row![relation.oid, CLASSES, attribute.number, text])
    });
    of_relations.chain(of_columns).collect()
}

/// A default that is a text which its column's type reads, as PostgreSQL shows it: with the type.
fn literal(default: &str, ty: (i64, i64)) -> Option<String> {
    let text = default.strip_prefix(POSTGRES_LITERAL)?;
    let text = text.strip_prefix("('")?.strip_suffix("')")?;
    let is_whole = !text.replace("''", "").contains('\'');
    let ty = base_types::format_type(ty.0, None).filter(|_| is_whole)?;
    Some(format!("'{text}'::{ty}"))
}

/// Whether a table has a foreign key or one names it, for which PostgreSQL has triggers: pg_dump looks for foreign keys there alone.
fn has_foreign_key(world: &World, relation: &Relation) -> bool {
    let is_it = |at: usize| {
        world
            .relations
            .get(at)
            .is_some_and(|r| r.oid == relation.oid)
    };
    world.constraints.iter().any(|constraint| {
        let named = constraint.names.as_ref().map(|(at, _)| *at);
        constraint.kind == "f" && (is_it(constraint.relation) || named.is_some_and(is_it))
    })
}

fn defaults(world: &World, attributes: &[Attribute]) -> Rows {
    let defaults = attributes.iter().filter_map(|attribute| {
        let text = attribute.default.as_deref();
        let table = world.relation(attribute.relation)?;
        let text = text.map(|default| match literal(default, attribute.ty) {
            Some(literal) => literal,
            None => sequences::default_shown(world, table, default),
        });
        let text = text.or_else(|| attribute.generated.clone())?;
        Some(row![
            attribute.default_oid(),
            attribute.relation,
            attribute.number,
            text
        ])
    });
    defaults.collect()
}

fn constraints(world: &World) -> Rows {
    let constraints = world.constraints.iter().filter_map(|constraint| {
        let table = world.relations.get(constraint.relation)?;
        let (schema, _) = world.schema_of(table);
        let expression = (constraint.kind == "c").then_some(constraint.definition.as_str());
        let keys: Cell = match constraint.keys.is_empty() {
            true => NULL,
            false => constraint.keys.clone().into(),
        };
        let (named, named_keys): (i64, Cell) = match &constraint.names {
            Some((at, keys)) => (world.relations.get(*at)?.oid, keys.clone().into()),
            None => (0, NULL),
        };
        let (action, matching) = match constraint.kind {
            "f" => ("a", "s"),
            _ => (" ", " "),
        };
        Some(row![
            constraint.oid,
            constraint.name.as_str(),
            schema,
            constraint.kind,
            false,
            false,
            true,
            table.oid,
            0_i64,
            constraint.index,
            0_i64,
            named,
            action,
            action,
            matching,
            true,
            0_i64,
            constraint.kind != "c",
            keys,
            named_keys,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            expression,
        ])
    });
    constraints.collect()
}

fn indexes(world: &World) -> Rows {
    let indexes = world.relations.iter().filter_map(|relation| {
        let Kind::Index(table, at) = &relation.kind else {
            return None;
        };
        let index = table.indexes().get(*at)?;
        let keys = keys(table, index.column_ids());
        let count = keys.len() as i64;
        let zeros = vec![0_i64; keys.len()];
        let is_primary = index.kind() == IndexKind::Primary;
        Some(row![
            relation.oid,
            relation.of,
            count,
            count,
            index.kind().is_unique(),
            false,
            is_primary,
            false,
            true,
            false,
            true,
            false,
            true,
            true,
            false,
            keys,
            zeros.clone(),
            zeros.clone(),
            zeros,
            NULL,
            NULL,
        ])
    });
    indexes.collect()
}

fn index_definitions(world: &World) -> Rows {
    let indexes = world.relations.iter().filter_map(|relation| {
        let definition = world.index_definition(relation)?;
        let (_, schema) = world.schema_of(relation);
        let table = world.relation(relation.of)?;
        Some(row![
            schema,
            table.name.as_str(),
            relation.name.as_str(),
            NULL,
            definition
        ])
    });
    indexes.collect()
}

fn collation(world: &World, name: &str, oid: i64) -> Vec<Cell> {
    let provider = if name == "default" { "d" } else { "c" };
    let locale = (name != "default").then_some(name);
    row![
        oid,
        name,
        PG_CATALOG,
        world.owner(),
        provider,
        true,
        -1_i64,
        locale,
        locale,
        NULL,
        NULL
    ]
}

/// Names of the server's databases, as in PostgreSQL, where everybody sees them; nothing of what is in them.
fn databases(world: &World) -> Rows {
    let databases = world.host.databases().into_iter();
    let databases = databases.map(|database| {
        row![
            database_oid(&database.name),
            database.name.as_str(),
            role_oid(&database.owner),
            6_i64,
            "c",
            false,
            true,
            -1_i64,
            0_i64,
            0_i64,
            DEFAULT_SPACE,
            "C",
            "C",
            NULL,
            NULL,
            NULL,
        ]
    });
    databases.collect()
}

fn function(world: &World, oid: i64, name: String, gives: i64) -> Vec<Cell> {
    row![
        oid,
        name.as_str(),
        PG_CATALOG,
        world.owner(),
        INTERNAL,
        1_i64,
        0_i64,
        0_i64,
        0_i64,
        "f",
        false,
        false,
        true,
        false,
        "i",
        "s",
        1_i64,
        0_i64,
        gives,
        vec![2_275_i64],
        NULL,
        NULL,
        NULL,
        NULL,
        NULL,
        name.clone(),
        NULL,
        NULL,
        NULL,
        NULL,
    ]
}

fn roles(world: &World, row: fn(i64, &crate::host::HostRole) -> Vec<Cell>) -> Rows {
    let roles = world.roles().iter();
    roles.map(|(oid, role)| row(*oid, role)).collect()
}

fn authid(oid: i64, role: &crate::host::HostRole) -> Vec<Cell> {
    row![
        oid,
        role.name.as_str(),
        role.superuser,
        true,
        role.superuser,
        role.create_database,
        role.login,
        false,
        role.superuser,
        i64::from(role.connection_limit),
        NULL,
        NULL,
    ]
}

fn shown_role(oid: i64, role: &crate::host::HostRole) -> Vec<Cell> {
    row![
        role.name.as_str(),
        role.superuser,
        true,
        role.superuser,
        role.create_database,
        role.login,
        false,
        i64::from(role.connection_limit),
        "********",
        NULL,
        role.superuser,
        NULL,
        oid,
    ]
}

fn user(oid: i64, role: &crate::host::HostRole) -> Vec<Cell> {
    row![
        role.name.as_str(),
        oid,
        role.create_database,
        role.superuser,
        false,
        role.superuser,
        "********",
        NULL,
        NULL,
    ]
}

fn settings(world: &World) -> Rows {
    let settings = world.host.settings().into_iter();
    let settings = settings.map(|setting| {
        let source = match setting.value == setting.reset_value {
            true => "default",
            false => "session",
        };
        row![
            setting.name.as_str(),
            setting.value.as_str(),
            NULL,
            "Session",
            NULL,
            NULL,
            "user",
            "string",
            source,
            NULL,
            NULL,
            NULL,
            setting.reset_value.as_str(),
            setting.reset_value.as_str(),
            NULL,
            NULL,
            false,
        ]
    });
    settings.collect()
}

fn sessions(world: &World) -> Rows {
    let sessions = world.host.sessions().into_iter();
    let sessions = sessions.map(|session| {
        let mut cells = row![
            database_oid(&session.database),
            session.database.as_str(),
            i64::from(session.number),
            NULL,
            role_oid(&session.user),
            session.user.as_str(),
        ];
        cells.extend(vec![NULL; 10]);
        cells.push(if session.busy { "active" } else { "idle" }.into());
        cells.extend(vec![NULL; 3]);
        // What a statement says is nobody else's business.
        cells.extend(row!["", "client backend"]);
        cells
    });
    sessions.collect()
}

fn statistics(world: &World) -> Rows {
    let tables = of_tables(world).map(|relation| {
        let Kind::Table(table) = &relation.kind else {
            return vec![];
        };
        let (_, schema) = world.schema_of(relation);
        let mut cells = row![relation.oid, schema, relation.name.as_str()];
        cells.extend(vec![Cell::Int(0); 8]);
        cells.push(Cell::Int(
            i64::try_from(table.row_count()).unwrap_or(i64::MAX),
        ));
        cells.extend(vec![Cell::Int(0); 3]);
        cells.extend(vec![NULL; 4]);
        cells.extend(vec![Cell::Int(0); 4]);
        cells
    });
    tables.collect()
}

fn owner_name(world: &World) -> String {
    let owner = world.owner();
    let mut roles = world.roles().iter();
    let found = roles.find(|(oid, _)| *oid == owner);
    found.map_or_else(|| world.host.user(), |(_, role)| role.name.clone())
}

fn tables(world: &World) -> Rows {
    let owner = owner_name(world);
    let tables = world.relations.iter().filter(|r| relkind(r) == "r");
    let tables = tables.map(|relation| {
        let indexed = matches!(&relation.kind, Kind::Table(table) if !table.indexes().is_empty());
        let (_, schema) = world.schema_of(relation);
        row![
            schema,
            relation.name.as_str(),
            owner.as_str(),
            NULL,
            indexed,
            false,
            false,
            false
        ]
    });
    tables.collect()
}

fn views(world: &World) -> Rows {
    let owner = owner_name(world);
    let views = world.relations.iter().filter(|r| relkind(r) == "v");
    let views = views.map(|relation| {
        let (_, schema) = world.schema_of(relation);
        let definition = match &relation.kind {
            Kind::View(view) => Cell::from(format!("{};", view_text(&view.sql))),
            _ => NULL,
        };
        row![schema, relation.name.as_str(), owner.as_str(), definition]
    });
    views.collect()
}

/// A relation's schema, for those that belong to the database and not to the catalog.
pub(super) fn is_of_users(world: &World, relation: &Relation) -> bool {
    let (schema, _) = world.schema_of(relation);
    schema != PG_CATALOG && schema != INFORMATION_SCHEMA
}
