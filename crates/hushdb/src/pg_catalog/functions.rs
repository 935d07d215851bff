//! PostgreSQL's functions about the catalog. Each is made for the statement that calls it, with what that sees.

use super::advisory::LOCKS;
use super::base_types;
use super::format_text::{format_text, quote_ident, quote_literal};
use super::known::Known;
use super::rows::{Cell, scalar, schema};
use super::sequences;
use super::text_hash::HASHES;
use super::waiting;
use super::world::{Kind, Relation, World};
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result as DfResult, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::{Error, OID_OF, Result, TEXT_OF, sqlstate, view_text};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

const NULL: Cell = Cell::Null;

fn yes(_: &World, _: &[Cell]) -> Result<Cell> {
    Ok(true.into())
}

fn no(_: &World, _: &[Cell]) -> Result<Cell> {
    Ok(false.into())
}

fn nothing(_: &World, _: &[Cell]) -> Result<Cell> {
    Ok(NULL)
}

fn first(_: &World, args: &[Cell]) -> Result<Cell> {
    Ok(args.first().cloned().unwrap_or(NULL))
}

const KNOWN: &[Known] = &[
    Known("current_schemas", 1, 1, "name[]", false, current_schemas),
    Known("session_user_name", 0, 0, "name", false, |world, _| {
        Ok(world.host.user().into())
    }),
    Known("setting_of_session", 1, 2, "text", false, setting),
    Known("postgres_version", 0, 0, "text", false, |world, _| {
        let version = world.host.setting("server_version").unwrap_or_default();
        Ok(format!("PostgreSQL {version}").into())
    }),
    Known("pg_backend_pid", 0, 0, "int4", false, |world, _| {
        Ok(i64::from(world.host.session()).into())
    }),
    Known("pg_is_in_recovery", 0, 0, "bool", false, no),
    Known("pg_is_other_temp_schema", 1, 1, "bool", false, no),
    Known("pg_my_temp_schema", 0, 0, "oid", false, |world, _| {
        Ok(world.temporary_schema().into())
    }),
    Known("pg_sleep", 1, 1, "text", false, waiting::seconds),
    Known("sleep_ms", 1, 1, "int4", false, waiting::milliseconds),
    Known("set_config", 3, 3, "text", false, |world, args| {
        let (name, value) = (text(args, 0), text(args, 1));
        let is_local = args.get(2) == Some(&Cell::Bool(true));
        let (name, value) = (name.unwrap_or_default(), value.unwrap_or_default());
        Ok(world.host.set(name, value, is_local)?.into())
    }),
    Known("getdatabaseencoding", 0, 0, "name", false, |_, _| {
        Ok("UTF8".into())
    }),
    Known("acldefault", 2, 2, "text", false, nothing),
    Known("format_as_postgres", 1, 64, "text", true, format_text),
    Known("pg_get_userbyid", 1, 1, "name", false, user_by_id),
    Known("pg_encoding_to_char", 1, 1, "name", false, |_, args| {
        Ok(if int(args, 0) == Some(6) { "UTF8" } else { "" }.into())
    }),
    Known("pg_char_to_encoding", 1, 1, "int4", false, |_, args| {
        let is_ours = text(args, 0).is_some_and(|name| name.eq_ignore_ascii_case("UTF8"));
        Ok(if is_ours { 6_i64 } else { -1 }.into())
    }),
    Known("format_type", 2, 2, "text", true, |_, args| {
        let oid = int(args, 0);
        let shown =
            oid.map(|oid| base_types::format_type(oid, int(args, 1)).unwrap_or("???".into()));
        Ok(shown.into())
    }),
    Known("pg_table_is_visible", 1, 1, "bool", false, |world, args| {
        let relation = world.relation(int(args, 0).unwrap_or_default());
        Ok(relation.map(|relation| world.is_visible(relation)).into())
    }),
    Known("pg_type_is_visible", 1, 1, "bool", false, yes),
    Known("pg_function_is_visible", 1, 1, "bool", false, yes),
    Known("pg_operator_is_visible", 1, 1, "bool", false, yes),
    Known("pg_opclass_is_visible", 1, 1, "bool", false, yes),
    Known("pg_opfamily_is_visible", 1, 1, "bool", false, yes),
    Known("pg_collation_is_visible", 1, 1, "bool", false, yes),
    Known("pg_statistics_obj_is_visible", 1, 1, "bool", false, yes),
    Known("pg_conversion_is_visible", 1, 1, "bool", false, yes),
    Known("pg_ts_config_is_visible", 1, 1, "bool", false, yes),
    Known("pg_ts_dict_is_visible", 1, 1, "bool", false, yes),
    Known("pg_get_expr", 2, 3, "text", false, first),
    Known(
        "pg_get_constraintdef",
        1,
        2,
        "text",
        false,
        constraint_definition,
    ),
    Known("pg_get_indexdef", 1, 3, "text", false, index_definition),
    Known("pg_get_viewdef", 1, 2, "text", false, view_definition),
    Known("pg_get_ruledef", 1, 2, "text", false, nothing),
    Known("pg_get_triggerdef", 1, 2, "text", false, nothing),
    Known("pg_get_functiondef", 1, 1, "text", false, nothing),
    Known(
        "pg_get_function_result",
        1,
        1,
        "text",
        false,
        function_result,
    ),
    Known("pg_get_function_arguments", 1, 1, "text", false, |_, _| {
        Ok("".into())
    }),
    Known(
        "pg_get_function_identity_arguments",
        1,
        1,
        "text",
        false,
        |_, _| Ok("".into()),
    ),
    Known("pg_get_function_sqlbody", 1, 1, "text", false, nothing),
    Known("pg_get_partkeydef", 1, 1, "text", false, nothing),
    Known("pg_partition_ancestors", 1, 1, "oid", false, nothing),
    Known(
        "pg_get_statisticsobjdef_columns",
        1,
        1,
        "text",
        false,
        nothing,
    ),
    Known(
        "pg_get_serial_sequence",
        2,
        2,
        "text",
        false,
        serial_sequence,
    ),
    Known("obj_description", 1, 2, "text", false, description),
    Known("col_description", 2, 2, "text", false, column_description),
    Known("shobj_description", 2, 2, "text", false, nothing),
    Known("pg_size_pretty", 1, 1, "text", false, size_pretty),
    Known("pg_database_size", 1, 1, "int8", false, database_size),
    Known("pg_table_size", 1, 1, "int8", false, nothing),
    Known("pg_relation_size", 1, 2, "int8", false, nothing),
    Known("pg_total_relation_size", 1, 1, "int8", false, nothing),
    Known("pg_indexes_size", 1, 1, "int8", false, nothing),
    Known("pg_tablespace_location", 1, 1, "text", false, |_, _| {
        Ok("".into())
    }),
    Known("pg_stat_get_numscans", 1, 1, "int8", false, |_, _| {
        Ok(0_i64.into())
    }),
    Known("pg_relation_is_publishable", 1, 1, "bool", false, no),
    Known("has_table_privilege", 2, 3, "bool", false, yes),
    Known("has_any_column_privilege", 2, 3, "bool", false, yes),
    Known("has_column_privilege", 3, 4, "bool", false, yes),
    Known("has_schema_privilege", 2, 3, "bool", false, yes),
    Known("has_function_privilege", 2, 3, "bool", false, yes),
    Known("has_sequence_privilege", 2, 3, "bool", false, yes),
    Known("has_type_privilege", 2, 3, "bool", false, yes),
    Known("has_language_privilege", 2, 3, "bool", false, yes),
    Known(
        "has_database_privilege",
        2,
        3,
        "bool",
        false,
        database_privilege,
    ),
    Known("has_tablespace_privilege", 2, 3, "bool", false, no),
    Known("pg_has_role", 2, 3, "bool", false, has_role),
    Known("quote_ident", 1, 1, "text", false, |_, args| {
        Ok(text(args, 0).map(quote_ident).into())
    }),
    Known("quote_literal", 1, 1, "text", false, |_, args| {
        Ok(text(args, 0).map(quote_literal).into())
    }),
    Known("quote_nullable", 1, 1, "text", true, |_, args| {
        Ok(text(args, 0)
            .map_or("NULL".to_owned(), quote_literal)
            .into())
    }),
    Known("parse_ident", 1, 2, "text[]", false, |_, args| {
        let name = text(args, 0).unwrap_or_default();
        let parts = super::world::name_parts(name);
        let parts = parts.ok_or_else(|| Error::invalid("string is not a valid identifier"))?;
        Ok(parts.into())
    }),
    Known("to_regclass", 1, 1, "text", false, |world, args| {
        let relation = world.named(text(args, 0).unwrap_or_default());
        Ok(relation.map(|relation| world.shown(relation)).into())
    }),
    Known("to_regtype", 1, 1, "text", false, |_, args| {
        let oid = base_types::by_name(text(args, 0).unwrap_or_default());
        Ok(oid
            .and_then(|oid| base_types::format_type(oid, None))
            .into())
    }),
    Known(OID_OF[0], 1, 1, "oid", false, |world, args| {
        oid_of(args, "relation", sqlstate::UNDEFINED_TABLE, |name| {
            world.named(name).map(|relation| relation.oid)
        })
    }),
    Known(TEXT_OF[0], 1, 1, "text", false, |world, args| {
        text_of(args, |oid| world.relation(oid).map(|r| world.shown(r)))
    }),
    Known(OID_OF[1], 1, 1, "oid", false, |_, args| {
        oid_of(
            args,
            "type",
            sqlstate::UNDEFINED_OBJECT,
            base_types::by_name,
        )
    }),
    Known(TEXT_OF[1], 1, 1, "text", false, |_, args| {
        text_of(args, |oid| base_types::format_type(oid, None))
    }),
    Known(OID_OF[2], 1, 1, "oid", false, |_, args| {
        oid_of(args, "function", sqlstate::UNDEFINED_FUNCTION, |name| {
            let name = name.strip_prefix("pg_catalog.").unwrap_or(name);
            let mut all = base_types::functions().into_iter();
            all.find(|(_, known, _)| known == name).map(|(oid, ..)| oid)
        })
    }),
    Known(TEXT_OF[2], 1, 1, "text", false, |_, args| {
        text_of(args, |oid| {
            let mut all = base_types::functions().into_iter();
            all.find(|(known, ..)| *known == oid)
                .map(|(_, name, _)| name)
        })
    }),
    Known(OID_OF[3], 1, 1, "oid", false, |world, args| {
        oid_of(args, "schema", sqlstate::UNKNOWN_SCHEMA, |name| {
            let name = super::world::name_parts(name)?.pop()?;
            let mut schemas = world.schemas.iter();
            schemas
                .find(|schema| schema.name == name)
                .map(|schema| schema.oid)
        })
    }),
    Known(TEXT_OF[3], 1, 1, "text", false, |world, args| {
        text_of(args, |oid| {
            let mut schemas = world.schemas.iter();
            schemas
                .find(|schema| schema.oid == oid)
                .map(|schema| quote_ident(&schema.name))
        })
    }),
    Known(OID_OF[4], 1, 1, "oid", false, |world, args| {
        oid_of(args, "role", sqlstate::UNDEFINED_OBJECT, |name| {
            let name = super::world::name_parts(name)?.pop()?;
            let mut roles = world.roles().iter();
            roles
                .find(|(_, role)| role.name == name)
                .map(|(oid, _)| *oid)
        })
    }),
    Known(TEXT_OF[4], 1, 1, "text", false, |world, args| {
        text_of(args, |oid| {
            let mut roles = world.roles().iter();
            roles
                .find(|(known, _)| *known == oid)
                .map(|(_, role)| quote_ident(&role.name))
        })
    }),
];

fn int(args: &[Cell], at: usize) -> Option<i64> {
    match args.get(at)? {
        Cell::Int(value) => Some(*value),
        Cell::Text(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn text(args: &[Cell], at: usize) -> Option<&str> {
    match args.get(at)? {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

/// The number of what a name or a number stands for.
fn oid_of(
    args: &[Cell],
    what: &str,
    sqlstate: &'static str,
    find: impl FnOnce(&str) -> Option<i64>,
) -> Result<Cell> {
    if let Some(oid) = int(args, 0) {
        return Ok(oid.into());
    }
    let name = text(args, 0).unwrap_or_default();
    let unknown =
        || Error::catalog(format!("{what} \"{name}\" does not exist")).with_sqlstate(sqlstate);
    Ok(find(name).ok_or_else(unknown)?.into())
}

/// The name of a number, which is shown itself if nothing has it; text stays as it is.
fn text_of(args: &[Cell], find: impl FnOnce(i64) -> Option<String>) -> Result<Cell> {
    Ok(match int(args, 0) {
        Some(0) => "-".into(),
        Some(oid) => find(oid).unwrap_or_else(|| oid.to_string()).into(),
        None => text(args, 0).into(),
    })
}

/// A relation by its number or its name.
fn relation<'a>(world: &'a World, args: &[Cell]) -> Option<&'a Relation> {
    match int(args, 0) {
        Some(oid) => world.relation(oid),
        None => world.named(text(args, 0)?),
    }
}

fn current_schemas(world: &World, args: &[Cell]) -> Result<Cell> {
    let implicit = args.first() == Some(&Cell::Bool(true));
    let mut schemas = vec![];
    if implicit {
        schemas.push("pg_catalog".to_owned());
    }
    schemas.push(world.current_schema.clone());
    Ok(schemas.into())
}

fn setting(world: &World, args: &[Cell]) -> Result<Cell> {
    let name = text(args, 0).unwrap_or_default();
    match world.host.setting(name) {
        Some(value) => Ok(value.into()),
        None if args.get(1) == Some(&Cell::Bool(true)) => Ok(NULL),
        None => {
            let message = format!("unrecognized configuration parameter \"{name}\"");
            Err(Error::catalog(message).with_sqlstate(sqlstate::UNDEFINED_OBJECT))
        }
    }
}

/// What is said of a relation; other things have numbers that nobody asks for.
fn description(world: &World, args: &[Cell]) -> Result<Cell> {
    let relation = int(args, 0).and_then(|oid| world.relation(oid));
    let text = relation.and_then(|relation| world.comment(relation, None));
    Ok(text.into())
}

/// What is said of a table's column.
fn column_description(world: &World, args: &[Cell]) -> Result<Cell> {
    let relation = int(args, 0).and_then(|oid| world.relation(oid));
    let text = relation.and_then(|relation| {
        let Kind::Table(table) = &relation.kind else {
            return None;
        };
        let at = usize::try_from(int(args, 1)?.checked_sub(1)?).ok()?;
        world.comment(relation, Some(&table.columns.get(at)?.name))
    });
    Ok(text.into())
}

fn user_by_id(world: &World, args: &[Cell]) -> Result<Cell> {
    let oid = int(args, 0).unwrap_or_default();
    let mut roles = world.roles().iter();
    let role = roles.find(|(known, _)| *known == oid);
    let unknown = || format!("unknown (OID={oid})");
    Ok(role
        .map_or_else(unknown, |(_, role)| role.name.clone())
        .into())
}

fn constraint_definition(world: &World, args: &[Cell]) -> Result<Cell> {
    let oid = int(args, 0).unwrap_or_default();
    let mut constraints = world.constraints.iter();
    let found = constraints.find(|constraint| constraint.oid == oid);
    Ok(found.map(|constraint| constraint.definition.clone()).into())
}

fn index_definition(world: &World, args: &[Cell]) -> Result<Cell> {
    let Some(relation) = world.relation(int(args, 0).unwrap_or_default()) else {
        return Ok(NULL);
    };
    Ok(match int(args, 1).and_then(|at| usize::try_from(at).ok()) {
        None | Some(0) => world.index_definition(relation).into(),
        Some(at) => {
            let columns = world.index_columns(relation);
            columns
                .get(at - 1)
                .map_or("".to_owned(), |name| quote_ident(name))
                .into()
        }
    })
}

fn serial_sequence(world: &World, args: &[Cell]) -> Result<Cell> {
    Ok(match args {
        [Cell::Text(table), Cell::Text(column)] => {
            sequences::of_column(world, table, column).into()
        }
        _ => NULL,
    })
}

fn view_definition(world: &World, args: &[Cell]) -> Result<Cell> {
    Ok(match relation(world, args).map(|relation| &relation.kind) {
        Some(Kind::View(view)) => format!(" {};", view_text(&view.sql)).into(),
        _ => NULL,
    })
}

fn function_result(_: &World, args: &[Cell]) -> Result<Cell> {
    let oid = int(args, 0).unwrap_or_default();
    let mut all = base_types::functions().into_iter();
    let gives = all.find(|(known, ..)| *known == oid);
    Ok(gives
        .and_then(|(.., gives)| base_types::format_type(gives, None))
        .into())
}

/// Bytes in the unit in which they are fewer than 10,240.
fn size_pretty(_: &World, args: &[Cell]) -> Result<Cell> {
    let Some(bytes) = int(args, 0) else {
        return Ok(NULL);
    };
    let (mut size, mut unit) = (bytes as f64, "bytes");
    for larger in ["kB", "MB", "GB", "TB", "PB"] {
        if size.abs() < 10_240.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    Ok(format!("{} {unit}", size.round()).into())
}

/// The size of the session's database; of others nothing is said.
fn database_size(world: &World, args: &[Cell]) -> Result<Cell> {
    let is_own = match int(args, 0) {
        Some(oid) => oid == super::world::database_oid(&world.database),
        None => text(args, 0) == Some(world.database.as_str()),
    };
    let info = world.store.info();
    let bytes = info.total_sectors.saturating_mul(super::SECTOR_BYTES);
    Ok(is_own
        .then(|| i64::try_from(bytes).unwrap_or(i64::MAX))
        .into())
}

/// Whether the session's role may connect to a database: its owner, and superusers.
fn database_privilege(world: &World, args: &[Cell]) -> Result<Cell> {
    let user = world.host.user();
    let (_, role) = match world.roles().iter().find(|(_, role)| role.name == user) {
        Some(found) => found,
        None => return Ok(false.into()),
    };
    let asked = &args[args.len().saturating_sub(2)..];
    let databases = world.host.databases();
    let found = databases.iter().find(|one| match int(asked, 0) {
        Some(oid) => super::world::database_oid(&one.name) == oid,
        None => text(asked, 0) == Some(one.name.as_str()),
    });
    Ok(found
        .is_some_and(|one| role.superuser || one.owner == user)
        .into())
}

fn has_role(world: &World, args: &[Cell]) -> Result<Cell> {
    let user = world.host.user();
    let mut roles = world.roles().iter();
    let superuser = roles.any(|(_, role)| role.name == user && role.superuser);
    let asked = &args[args.len().saturating_sub(2)..];
    let is_own = match int(asked, 0) {
        Some(oid) => oid == super::world::role_oid(&user),
        None => text(asked, 0) == Some(user.as_str()),
    };
    Ok((superuser || is_own).into())
}

/// What the functions here are called.
pub(crate) fn functions() -> impl Iterator<Item = &'static str> {
    all().map(|known| known.0)
}

fn all() -> impl Iterator<Item = &'static Known> {
    KNOWN.iter().chain(LOCKS).chain(HASHES)
}

/// Whether there is such a function.
pub(super) fn is_known(name: &str) -> bool {
    all().any(|known| known.0 == name)
}

/// The function of that name over what a statement sees.
pub(super) fn function(name: &str, world: &Arc<World>) -> Option<Arc<ScalarUDF>> {
    let known = all().find(|known| known.0 == name)?;
    let acts = ["pg_sleep", "sleep_ms", "set_config"].contains(&name)
        || LOCKS.iter().any(|known| known.0 == name);
    let volatility = match acts {
        true => Volatility::Volatile,
        false => Volatility::Stable,
    };
    Some(Arc::new(ScalarUDF::from(Function {
        known,
        world: Arc::clone(world),
        signature: Signature::user_defined(volatility),
    })))
}

struct Function {
    known: &'static Known,
    world: Arc<World>,
    signature: Signature,
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.known.0)
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.known.0 == other.known.0
    }
}

impl Eq for Function {}

impl Hash for Function {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.known.0.hash(state);
    }
}

/// A value of an argument.
fn cell(array: &dyn Array, row: usize) -> DfResult<Cell> {
    let value = ScalarValue::try_from_array(array, row)?;
    if value.is_null() {
        return Ok(NULL);
    }
    Ok(match &value {
        ScalarValue::Boolean(Some(value)) => Cell::Bool(*value),
        value if value.data_type().is_integer() => match value.cast_to(&DataType::Int64)? {
            ScalarValue::Int64(Some(value)) => Cell::Int(value),
            _ => NULL,
        },
        value => match value.try_as_str().flatten() {
            Some(text) => Cell::Text(text.to_owned()),
            None => Cell::Text(value.to_string()),
        },
    })
}

impl ScalarUDFImpl for Function {
    fn name(&self) -> &str {
        self.known.0
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> DfResult<Vec<DataType>> {
        let Known(name, fewest, most, ..) = self.known;
        match (*fewest..=*most).contains(&types.len()) {
            true => Ok(types.to_vec()),
            false => plan_err!("No function matches {name} with {} arguments", types.len()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> DfResult<DataType> {
        let field = schema(&format!("value {}", self.known.3));
        Ok(field.field(0).data_type().clone())
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> DfResult<FieldRef> {
        let field = schema(&format!("value {}", self.known.3));
        let field = field.field(0).clone().with_name(self.known.0);
        Ok(Arc::new(field))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DfResult<ColumnarValue> {
        let Known(_, _, _, _, sees_nulls, run) = self.known;
        let ty = args.return_field.data_type().clone();
        // What does something is asked once for each row.
        let is_constant = self.signature.volatility != Volatility::Volatile
            && args
                .args
                .iter()
                .all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let columns = args.args.iter().map(|arg| arg.to_array(rows));
        let columns = columns.collect::<DfResult<Vec<ArrayRef>>>()?;
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let cells = columns.iter().map(|column| cell(column.as_ref(), row));
            let cells = cells.collect::<DfResult<Vec<_>>>()?;
            let value = match !sees_nulls && cells.contains(&NULL) {
                true => NULL,
                false => run(&self.world, &cells)?,
            };
            values.push(scalar(&value, &ty)?);
        }
        match (is_constant, values.as_slice()) {
            (true, [value]) => Ok(ColumnarValue::Scalar(value.clone())),
            (_, []) => {
                let none = datafusion::arrow::array::new_empty_array(&ty);
                Ok(ColumnarValue::Array(none))
            }
            _ => Ok(ColumnarValue::Array(ScalarValue::iter_to_array(values)?)),
        }
    }
}
