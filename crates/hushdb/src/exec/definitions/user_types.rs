//! CREATE and DROP TYPE, and what such types are.
//!
//! What must hold: a type goes without the columns that have it: they have what it stood for.

use super::entries::{Kind, placed};
use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::{self, ObjectName, Query};
use hushdb_query::functions::value_text;
use hushdb_query::plan::known_as;
use hushdb_sql::type_names::{column_type, column_type_name, enum_of};
use hushdb_sql::{
    Error, NewType, Result, Statement as Parsed, TypeBody, expand_type, name_parts, sqlstate,
};
use hushdb_storage::{ColumnType, EnumType, SchemaVersion, UserType, Values};
use std::collections::HashSet;

/// Puts what they stand for in the places of named types, in what defines tables.
pub(in crate::exec) fn expand(
    statement: &Statement<'_>,
    parsed: &mut ast::Statement,
) -> Result<()> {
    match parsed {
        ast::Statement::CreateTable(_) | ast::Statement::AlterTable(_) => {
            statement.planner().expand_types(parsed)
        }
        _ => Ok(()),
    }
}

/// CREATE TYPE and DROP TYPE.
pub(in crate::exec) fn run(statement: &Statement<'_>, parsed: Parsed) -> Result<QueryResult> {
    match parsed {
        Parsed::CreateType(new) => create(statement, new),
        Parsed::DropType { name, if_exists } => drop(statement, &name, if_exists),
        _ => Err(Error::internal("a statement that is about no type")),
    }
}

fn create(statement: &Statement<'_>, new: NewType) -> Result<QueryResult> {
    let own = statement.for_new(new.head.temporary)?;
    let statement = own.as_ref().unwrap_or(statement);
    let kind = Kind {
        name: "Type",
        taken: sqlstate::DUPLICATE_OBJECT,
        known: &|schema, name| known_as(&schema.types, name).map(|(known, _)| known.clone()),
    };
    let Some(placed) = placed(statement, &new.head, &kind)? else {
        return Ok(QueryResult::done());
    };
    let ty = match new.body {
        TypeBody::Type(mut ty) => {
            let snapshot = statement.snapshot();
            expand_type(&mut ty, &|parts| snapshot.type_named(parts))?;
            column_type(&ty)?
        }
        TypeBody::Query(query) => ColumnType::Enum(values_of(statement, *query)?),
    };
    let (place, mut write) = (placed.place, placed.write);
    if let Some(known) = placed.replaced {
        write.drop_type(&place.schema, &known)?;
    }
    let name = place.name.clone();
    write.create_type(&place.schema, UserType { name, ty })?;
    write.commit()?;
    Ok(QueryResult::done())
}

/// The ENUM of a query's values, in the order in which they come first; NULL is none.
fn values_of(statement: &Statement<'_>, query: Query) -> Result<EnumType> {
    let plan = statement.planner().plan_query(query)?;
    if plan.schema().fields().len() != 1 {
        return Err(Error::binder(
            "The query must return a single column to make an ENUM of",
        ));
    }
    let mut seen = HashSet::new();
    let mut values = vec![];
    for batch in query::collect(statement, &plan)? {
        for row in 0..batch.num_rows() {
            if let Some(text) = value_text(batch.column(0).as_ref(), row)?
                && seen.insert(text.clone())
            {
                values.push(text);
            }
        }
    }
    enum_of(values)
}

fn drop(statement: &Statement<'_>, name: &ObjectName, if_exists: bool) -> Result<QueryResult> {
    let has = |schema: &SchemaVersion, name: &str| known_as(&schema.types, name).is_some();
    let place = match statement.snapshot().entry(&name_parts(name)?, &has) {
        Err(error) if if_exists && error.kind() == crate::ErrorKind::Catalog => {
            return Ok(QueryResult::done());
        }
        place => place?,
    };
    let mut write = statement.write(&place.database)?;
    let schema = write.catalog().schema(&place.schema);
    let known = schema.and_then(|schema| known_as(&schema.types, &place.name));
    let Some(known) = known.map(|(known, _)| known.clone()) else {
        if if_exists {
            return Ok(QueryResult::done());
        }
        let text = format!("Type with name {} does not exist!", place.name);
        return Err(Error::catalog(text).with_sqlstate(sqlstate::UNDEFINED_OBJECT));
    };
    write.drop_type(&place.schema, &known)?;
    write.commit()?;
    Ok(QueryResult::done())
}

/// The values of an ENUM.
pub(in crate::exec) fn labels(ty: &ColumnType) -> Option<Vec<String>> {
    let ColumnType::Enum(of) = ty else {
        return None;
    };
    Some(of.values().iter().map(ToString::to_string).collect())
}

/// Bytes of a value, 0 where they differ.
pub(in crate::exec) fn size(ty: &ColumnType) -> Option<i64> {
    let width = match (ty, ty.properties().values) {
        (ColumnType::Enum(of), _) => match of.parts() {
            [(_, code)] => return size(code),
            _ => 0,
        },
        (ColumnType::Array(_), _) => 0,
        (_, Values::Bits) => 1,
        (_, Values::Fixed(width)) => width,
        (_, Values::Text | Values::Bytes | Values::List(_) | Values::Map(_)) => 16,
        (_, Values::Struct(_)) => 0,
    };
    i64::try_from(width).ok()
}

/// The name of a type without what is in brackets behind it.
pub(in crate::exec) fn logical(ty: &ColumnType) -> String {
    if let ColumnType::List(_) = ty {
        return "LIST".into();
    }
    if let ColumnType::Array(_) = ty {
        return "ARRAY".into();
    }
    let name = column_type_name(ty);
    name.split_once('(')
        .map_or(name.clone(), |(head, _)| head.to_owned())
}
