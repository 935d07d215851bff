//! Rows of `information_schema`: what is the database's own, and not the catalog's. DuckDB's has no tables of the catalog, and types in its own
//! words.

use super::attributes::Attribute;
use super::base_types;
use super::rows::{Cell, row};
use super::sequences;
use super::tables::{is_of_users, relkind};
use super::world::{Constraint, Kind, Relation, World};
use hushdb_sql::view_text;

type Rows = Vec<Vec<Cell>>;

const NULL: Cell = Cell::Null;

/// How many columns the view `columns` has.
const COLUMNS_OF_COLUMNS: usize = 44;

/// Rows of a view of `information_schema`; none for one that is empty.
pub(super) fn rows(world: &World, name: &str, attributes: &dyn Fn() -> Vec<Attribute>) -> Rows {
    match name {
        "character_sets" => vec![row![
            NULL,
            NULL,
            "UTF8",
            "UCS",
            "UTF8",
            world.database.as_str(),
            "pg_catalog",
            "C"
        ]],
        "check_constraints" => check_constraints(world),
        "columns" => columns(world, &attributes()),
        "constraint_column_usage" => {
            let attributes = attributes();
            let used = world.constraints.iter();
            used.flat_map(|one| usage(world, &attributes, one))
                .collect()
        }
        "key_column_usage" => {
            let used = of_keys(world, &attributes());
            used.into_iter().map(|key| key_usage(world, &key)).collect()
        }
        "referential_constraints" => referential_constraints(world),
        "schemata" => schemata(world),
        "sequences" => sequences(world),
        "table_constraints" => table_constraints(world),
        "tables" => tables(world),
        "views" => views(world),
        _ => vec![],
    }
}

fn yes(is: bool) -> &'static str {
    if is { "YES" } else { "NO" }
}

/// Whether a relation is one of its tables and views: those of the catalog are PostgreSQL's alone.
fn is_listed(world: &World, relation: &Relation) -> bool {
    match relation.kind {
        Kind::Table(_) | Kind::View(_) => true,
        Kind::System(_) => !world.is_duckdb,
        Kind::Index(..) | Kind::Sequence(_) => false,
    }
}

/// Tables and views, with database and schema.
fn relations(world: &World) -> impl Iterator<Item = (&Relation, [&str; 3])> {
    let relations = world.relations.iter();
    let relations = relations.filter(|relation| is_listed(world, relation));
    relations.map(|relation| {
        let (_, schema) = world.schema_of(relation);
        let name = [world.database.as_str(), schema, relation.name.as_str()];
        (relation, name)
    })
}

fn tables(world: &World) -> Rows {
    let tables = relations(world).map(|(relation, [database, schema, name])| {
        let (kind, insertable) = match relkind(relation) {
            "v" => ("VIEW", false),
            _ if world.is_temporary(relation) => ("LOCAL TEMPORARY", true),
            _ => ("BASE TABLE", is_of_users(world, relation)),
        };
        row![
            database,
            schema,
            name,
            kind,
            NULL,
            NULL,
            NULL,
            NULL,
            NULL,
            yes(insertable),
            "NO",
            NULL
        ]
    });
    tables.collect()
}

fn sequences(world: &World) -> Rows {
    let sequences = world.relations.iter().filter_map(|relation| {
        let Kind::Sequence(sequence) = &relation.kind else {
            return None;
        };
        let (_, schema) = world.schema_of(relation);
        let options = &sequence.options;
        Some(row![
            world.database.as_str(),
            schema,
            relation.name.as_str(),
            "bigint",
            64_i64,
            2_i64,
            0_i64,
            options.start.to_string(),
            options.min.to_string(),
            options.max.to_string(),
            options.increment.to_string(),
            yes(options.cycle)
        ])
    });
    sequences.collect()
}

fn views(world: &World) -> Rows {
    let views = relations(world).filter(|(relation, _)| relkind(relation) == "v");
    let views = views.map(|(relation, [database, schema, name])| {
        let text = match &relation.kind {
            Kind::View(view) => Cell::from(format!("{};", view_text(&view.sql))),
            _ => NULL,
        };
        row![
            database, schema, name, text, "NONE", "NO", "NO", "NO", "NO", "NO"
        ]
    });
    views.collect()
}

/// How many digits the numbers of a type have, to which base, and how many of them are behind the point.
fn digits((ty, modifier): (i64, i64)) -> [Cell; 3] {
    match ty {
        21 => row![16_i64, 2_i64, 0_i64],
        23 => row![32_i64, 2_i64, 0_i64],
        20 => row![64_i64, 2_i64, 0_i64],
        700 => row![24_i64, 2_i64, NULL],
        701 => row![53_i64, 2_i64, NULL],
        base_types::NUMERIC if modifier >= 4 => {
            let digits = modifier - 4;
            row![digits >> 16, 10_i64, digits & 0xffff]
        }
        base_types::NUMERIC => row![NULL, 10_i64, NULL],
        _ => vec![],
    }
    .try_into()
    .unwrap_or([NULL; 3])
}

/// The greatest number of characters, and of bytes, of a type of texts.
fn lengths((ty, modifier): (i64, i64)) -> [Cell; 2] {
    let is_text = [base_types::TEXT, base_types::VARCHAR, base_types::BPCHAR].contains(&ty);
    let length = (modifier >= 4).then(|| modifier - 4);
    let bytes = length.map_or(MOST_BYTES, |length| length.saturating_mul(4));
    match is_text {
        true => [
            length.map_or(NULL, Cell::Int),
            Cell::Int(bytes.min(MOST_BYTES)),
        ],
        false => [NULL, NULL],
    }
}

/// Bytes of a text in PostgreSQL.
const MOST_BYTES: i64 = 1 << 30;

fn columns(world: &World, attributes: &[Attribute]) -> Rows {
    let columns = attributes.iter().filter_map(|attribute| {
        let relation = world.relation(attribute.relation)?;
        if !is_listed(world, relation) {
            return None;
        }
        let (_, schema) = world.schema_of(relation);
        if world.is_duckdb {
            return Some(column_of_duckdb(world, attribute, [schema, &relation.name]));
        }
        let (ty, _) = attribute.ty;
        let known = base_types::TYPES.iter().find(|known| known.oid == ty);
        let data_type = known.map_or("ARRAY", |known| known.sql_name());
        let array = base_types::TYPES.iter().find(|known| known.array == ty);
        let short = match (known, array) {
            (Some(known), _) => Cell::from(known.name),
            (_, Some(item)) => Cell::from(format!("_{}", item.name)),
            _ => NULL,
        };
        let default = attribute.default.as_deref();
        let default = default.map(|default| sequences::default_shown(world, relation, default));
        let mut cells = row![
            world.database.as_str(),
            schema,
            relation.name.as_str(),
            attribute.name.as_str(),
            attribute.number,
            default,
            yes(!attribute.not_null),
            data_type,
        ];
        cells.extend(lengths(attribute.ty));
        cells.extend(digits(attribute.ty));
        cells.push(match ty {
            1083 | 1114 | 1184 | 1186 => Cell::Int(6),
            1082 => Cell::Int(0),
            _ => NULL,
        });
        cells.extend(vec![NULL; 11]);
        cells.extend(row![world.database.as_str(), "pg_catalog", short]);
        cells.extend(vec![NULL; 4]);
        cells.extend(row![attribute.number.to_string(), "NO", "NO"]);
        cells.extend(vec![NULL; 5]);
        let updatable = matches!(relation.kind, Kind::Table(_));
        let generated = attribute.generated.as_deref();
        cells.extend(row![
            "NO",
            if generated.is_some() {
                "ALWAYS"
            } else {
                "NEVER"
            },
            generated,
            yes(updatable && generated.is_none())
        ]);
        Some(cells)
    });
    columns.collect()
}

/// A column as DuckDB describes it.
fn column_of_duckdb(world: &World, attribute: &Attribute, [schema, table]: [&str; 2]) -> Vec<Cell> {
    let ty = attribute.type_name.as_str();
    let mut cells = row![
        world.database.as_str(),
        schema,
        table,
        attribute.name.as_str(),
        attribute.number,
        attribute.default.as_deref(),
        yes(!attribute.not_null),
        ty,
        NULL,
        NULL,
    ];
    let bits = match ty.strip_prefix('U').unwrap_or(ty) {
        "TINYINT" => Some(8),
        "SMALLINT" => Some(16),
        "INTEGER" => Some(32),
        "BIGINT" => Some(64),
        "HUGEINT" => Some(128),
        "FLOAT" => Some(24),
        "DOUBLE" => Some(53),
        _ => None,
    };
    let decimal = ty.strip_prefix("DECIMAL(").and_then(|ty| {
        let (digits, scale) = ty.strip_suffix(')')?.split_once(',')?;
        Some((digits.parse().ok()?, scale.parse().ok()?))
    });
    cells.extend::<[Cell; 3]>(match (bits, decimal) {
        (Some(bits), _) => [Cell::Int(bits), Cell::Int(2), Cell::Int(0)],
        (None, Some((digits, scale))) => [Cell::Int(digits), Cell::Int(10), Cell::Int(scale)],
        (None, None) => [NULL; 3],
    });
    cells.resize(COLUMNS_OF_COLUMNS, NULL);
    cells
}

fn schemata(world: &World) -> Rows {
    let owner = world.owner();
    let mut roles = world.roles().iter();
    let owner = roles.find(|(oid, _)| *oid == owner);
    let owner = owner.map(|(_, role)| role.name.clone());
    let schemas = world.schemas.iter();
    let schemas = schemas.filter(|schema| {
        !world.is_duckdb || !["pg_catalog", "information_schema"].contains(&schema.name.as_str())
    });
    let schemas = schemas.map(|schema| {
        row![
            world.database.as_str(),
            schema.name.as_str(),
            owner.clone(),
            NULL,
            NULL,
            NULL,
            NULL
        ]
    });
    schemas.collect()
}

/// Database, schema and name of a constraint, and of its table.
fn names<'a>(world: &'a World, constraint: &'a Constraint) -> Option<[&'a str; 3]> {
    let table = world.relations.get(constraint.relation)?;
    let (_, schema) = world.schema_of(table);
    Some([schema, constraint.name.as_str(), table.name.as_str()])
}

fn table_constraints(world: &World) -> Rows {
    let constraints = world.constraints.iter().filter_map(|constraint| {
        let [schema, name, table] = names(world, constraint)?;
        let kind = match constraint.kind {
            "p" => "PRIMARY KEY",
            "u" => "UNIQUE",
            "f" => "FOREIGN KEY",
            _ => "CHECK",
        };
        let database = world.database.as_str();
        let distinct = (constraint.kind == "u").then_some("YES");
        Some(row![
            database, schema, name, database, schema, table, kind, "NO", "NO", "YES", distinct
        ])
    });
    constraints.collect()
}

fn referential_constraints(world: &World) -> Rows {
    let named = world.constraints.iter().filter(|c| c.kind == "f");
    let named = named.filter_map(|constraint| {
        let [schema, name, _] = names(world, constraint)?;
        let mut keys = world.constraints.iter();
        let key = keys.find(|key| key.kind != "f" && key.index == constraint.index)?;
        let [other, key, _] = names(world, key)?;
        let database = world.database.as_str();
        Some(row![
            database,
            schema,
            name,
            database,
            other,
            key,
            "NONE",
            "NO ACTION",
            "NO ACTION"
        ])
    });
    named.collect()
}

fn check_constraints(world: &World) -> Rows {
    let checks = world.constraints.iter().filter(|c| c.kind == "c");
    let checks = checks.filter_map(|constraint| {
        let [schema, name, _] = names(world, constraint)?;
        let clause = constraint.definition.strip_prefix("CHECK ");
        Some(row![world.database.as_str(), schema, name, clause])
    });
    checks.collect()
}

/// A column of a key.
struct KeyColumn<'a> {
    constraint: &'a Constraint,
    column: String,
    at: i64,
}

fn of_keys<'a>(world: &'a World, attributes: &[Attribute]) -> Vec<KeyColumn<'a>> {
    let mut found = vec![];
    for constraint in &world.constraints {
        let table = world.relations.get(constraint.relation);
        for (at, key) in (1..).zip(&constraint.keys) {
            let column = attributes.iter().find(|attribute| {
                table.is_some_and(|table| table.oid == attribute.relation)
                    && attribute.number == *key
            });
            found.extend(column.map(|column| KeyColumn {
                constraint,
                column: column.name.clone(),
                at,
            }));
        }
    }
    found
}

/// A column that a constraint is about: of a foreign key one that it names.
fn usage(world: &World, attributes: &[Attribute], constraint: &Constraint) -> Rows {
    let (table, keys) = match &constraint.names {
        Some((parent, keys)) => (*parent, keys),
        None => (constraint.relation, &constraint.keys),
    };
    let (Some(table), Some([schema, name, _])) =
        (world.relations.get(table), names(world, constraint))
    else {
        return vec![];
    };
    let database = world.database.as_str();
    let (_, own) = world.schema_of(table);
    let columns = keys.iter().filter_map(|key| {
        let mut attributes = attributes.iter();
        attributes.find(|attribute| attribute.relation == table.oid && attribute.number == *key)
    });
    let rows = columns.map(|column| {
        row![
            database,
            own,
            table.name.as_str(),
            column.name.as_str(),
            database,
            schema,
            name
        ]
    });
    rows.collect()
}

fn key_usage(world: &World, key: &KeyColumn<'_>) -> Vec<Cell> {
    let database = world.database.as_str();
    let [schema, name, table] = names(world, key.constraint).unwrap_or_default();
    row![
        database,
        schema,
        name,
        database,
        schema,
        table,
        key.column.as_str(),
        key.at,
        NULL
    ]
}
