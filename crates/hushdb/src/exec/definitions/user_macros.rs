//! CREATE and DROP MACRO, and what `duckdb_functions()` says of macros.
//!
//! What must hold: a macro that the default or CHECK of a table calls is not dropped before it.

use super::entries::{Kind, placed};
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::Expr;
use hushdb_query::plan::{TableName, known_as};
use hushdb_sql::Statement as Parsed;
use hushdb_sql::type_names::{column_type, column_type_name};
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{
    self as sql, DroppedMacro, Error, MacroBody, NewMacro, NewOverload, NewParameter, Result,
    expand_type, name_parts, same_parts, sqlstate,
};
use hushdb_storage::{Macro, MacroOverload, MacroParameter, SchemaVersion};
use std::ops::ControlFlow;

/// What DuckDB calls it.
fn kind(is_table: bool) -> &'static str {
    match is_table {
        true => "Table Macro Function",
        false => "Macro Function",
    }
}

/// CREATE MACRO and DROP MACRO.
pub(in crate::exec) fn run(statement: &Statement<'_>, parsed: Parsed) -> Result<QueryResult> {
    match parsed {
        Parsed::CreateMacro(new) => create(statement, new),
        Parsed::DropMacro(dropped) => drop(statement, &dropped),
        _ => Err(Error::internal("a statement that is about no macro")),
    }
}

fn create(statement: &Statement<'_>, new: NewMacro) -> Result<QueryResult> {
    let own = statement.for_new(new.head.temporary)?;
    let statement = own.as_ref().unwrap_or(statement);
    let kind = Kind {
        name: kind(new.is_table),
        taken: sqlstate::DUPLICATE_FUNCTION,
        known: &|schema, name| {
            known_as(schema.macros_of(new.is_table), name).map(|(known, _)| known.clone())
        },
    };
    let Some(placed) = placed(statement, &new.head, &kind)? else {
        return Ok(QueryResult::done());
    };
    let (place, mut write) = (placed.place, placed.write);
    if let Some(known) = placed.replaced {
        write.drop_macro(&place.schema, &known, new.is_table)?;
    }
    let overloads = new.overloads.into_iter();
    let overloads = overloads.map(|overload| self::overload(statement, overload));
    let made = Macro {
        name: place.name.clone(),
        overloads: overloads.collect::<Result<_>>()?,
    };
    if !made.is_sound() {
        return Err(Error::binder(format!(
            "Ambiguity in macro overloads - macro {}() has multiple definitions with the same parameters",
            made.name
        )));
    }
    write.create_macro(&place.schema, made, new.is_table)?;
    write.commit()?;
    Ok(QueryResult::done())
}

fn overload(statement: &Statement<'_>, new: NewOverload) -> Result<MacroOverload> {
    let parameters = new.parameters.into_iter();
    let parameters = parameters.map(|new| parameter(statement, new));
    Ok(MacroOverload {
        parameters: parameters.collect::<Result<_>>()?,
        sql: match &new.body {
            MacroBody::Expr(body) => sql::sql_text(body.as_ref()),
            MacroBody::Query(body) => sql::sql_text(body.as_ref()),
        },
    })
}

/// # Errors
/// `Binder` for a default that is not brought to the parameter's type without a CAST.
fn parameter(statement: &Statement<'_>, new: NewParameter) -> Result<MacroParameter> {
    let ty = new.ty.map(|mut ty| {
        let snapshot = statement.snapshot();
        expand_type(&mut ty, &|parts| snapshot.type_named(parts))?;
        column_type(&ty)
    });
    let ty = ty.transpose()?;
    if let (Some(ty), Some(default)) = (&ty, &new.default)
        && statement.planner().cost_of(default.clone(), ty)?.is_none()
    {
        return Err(Error::binder(format!(
            "Default value for parameter '{}' cannot be implicitly cast to '{}'. Please add an explicit type cast.",
            new.name,
            column_type_name(ty)
        )));
    }
    Ok(MacroParameter {
        name: new.name,
        ty,
        default: new.default.as_ref().map(sql::sql_text),
    })
}

/// `DROP MACRO`; without TABLE, one of expressions goes before one of tables.
fn drop(statement: &Statement<'_>, dropped: &DroppedMacro) -> Result<QueryResult> {
    let (is_table, if_exists) = (dropped.is_table, dropped.if_exists);
    let has = |schema: &SchemaVersion, name: &str| {
        let of = |tables: bool| known_as(schema.macros_of(tables), name).is_some();
        of(true) || !is_table && of(false)
    };
    let place = match statement
        .snapshot()
        .entry(&name_parts(&dropped.name)?, &has)
    {
        Err(error) if if_exists && error.kind() == crate::ErrorKind::Catalog => {
            return Ok(QueryResult::done());
        }
        place => place?,
    };
    let mut write = statement.write(&place.database)?;
    let schema = write.catalog().schema(&place.schema);
    let find = |is_table: bool| {
        let (known, _) = known_as(schema?.macros_of(is_table), &place.name)?;
        Some((known.clone(), is_table))
    };
    let found = match is_table {
        true => find(true),
        false => find(false).or_else(|| find(true)),
    };
    let Some((known, found_table)) = found else {
        if if_exists {
            return Ok(QueryResult::done());
        }
        return Err(Error::catalog(format!(
            "{} with name {} does not exist!",
            kind(is_table),
            place.name
        ))
        .with_sqlstate(sqlstate::UNDEFINED_FUNCTION));
    };
    if !found_table {
        refuse_needed(statement, &place, &known)?;
    }
    write.drop_macro(&place.schema, &known, found_table)?;
    write.commit()?;
    Ok(QueryResult::done())
}

/// # Errors
/// `Catalog` when a default or CHECK calls a macro of that name.
fn refuse_needed(statement: &Statement<'_>, place: &TableName, known: &str) -> Result<()> {
    let version = &statement.snapshot().database(&place.database)?.version;
    let calls = |text: &str| {
        let Ok(expr) = sql::parse_expr(text) else {
            return false;
        };
        let found = visit_expressions(&expr, |expr| match expr {
            Expr::Function(function) if same_parts(&function.name, known) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    };
    let needing = version.tables().find(|table| {
        let mut defaults = table.columns.iter().filter_map(|c| c.default.as_deref());
        defaults.any(calls) || table.checks.iter().any(|check| calls(&check.sql))
    });
    match needing {
        None => Ok(()),
        Some(table) => Err(Error::catalog(format!(
            "Cannot drop entry \"{known}\" because there are entries that depend on it.\n\
             table \"{}\" depends on macro function \"{known}\": drop the table or its default first",
            table.name
        ))
        .with_sqlstate(sqlstate::DEPENDENT_OBJECTS)),
    }
}
