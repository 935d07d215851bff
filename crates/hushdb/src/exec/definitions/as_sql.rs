//! Tables, views, sequences and macros as the SQL that makes them again.

use super::foreign_keys;
use super::indexes::quoted;
use hushdb_sql::type_names::{column_type_name, declared_type};
use hushdb_sql::{self as sql, quote};
use hushdb_storage::{
    Column, IndexKind, MAIN_SCHEMA, Macro, MacroOverload, SchemaVersion, Sequence, TableVersion,
    UserType, View,
};

/// A name as it is found from schema main.
pub(in crate::exec) fn path(schema: &str, name: &str) -> String {
    match schema {
        MAIN_SCHEMA => quote(name),
        _ => format!("{}.{}", quote(schema), quote(name)),
    }
}

/// `CREATE TABLE`, with its keys and conditions.
pub(in crate::exec) fn table(schema: &str, within: &SchemaVersion, table: &TableVersion) -> String {
    let mut parts = vec![];
    for column in &table.columns {
        let mut part = format!("{} {}", quote(&column.name), declared_type(&column.ty));
        if let Some(generated) = &column.generated {
            part.push_str(&format!(" GENERATED ALWAYS AS ({generated})"));
        }
        if let Some(default) = &column.default {
            part.push_str(&format!(" DEFAULT ({default})"));
        }
        if !column.nullable {
            part.push_str(" NOT NULL");
        }
        parts.push(part);
    }
    for check in &table.checks {
        let name = check.name.as_ref();
        let name = name.map_or(String::new(), |name| format!("CONSTRAINT {} ", quote(name)));
        parts.push(format!("{name}CHECK ({})", check.sql));
    }
    for index in table.indexes() {
        let kind = match index.kind() {
            IndexKind::Primary => "PRIMARY KEY",
            IndexKind::Unique => "UNIQUE",
            IndexKind::Plain => continue,
        };
        parts.push(format!(
            "CONSTRAINT {} {kind} ({})",
            quote(index.name()),
            quoted(table, index)
        ));
    }
    let references = foreign_keys::of(within, table).into_iter();
    parts.extend(references.map(|reference| reference.text));
    format!(
        "CREATE TABLE {} ({});",
        path(schema, &table.name),
        parts.join(", ")
    )
}

/// `CREATE INDEX` for each index of a table that is no key.
pub(in crate::exec) fn indexes(
    schema: &str,
    within: &SchemaVersion,
    table: &TableVersion,
) -> Vec<String> {
    let indexes = table.indexes().iter();
    let plain = indexes.filter(|index| {
        let is_own = foreign_keys::is_own_index(within, table.id, index);
        index.kind() == IndexKind::Plain && !is_own
    });
    plain
        .map(|index| {
            format!(
                "CREATE INDEX {} ON {} ({});",
                quote(index.name()),
                path(schema, &table.name),
                quoted(table, index)
            )
        })
        .collect()
}

/// `CREATE SEQUENCE`, which goes on where it is; one at its end begins with its last number, which was given out.
pub(in crate::exec) fn sequence(schema: &str, sequence: &Sequence) -> String {
    let options = &sequence.options;
    let start = sequence.upcoming().or(sequence.last());
    format!(
        "CREATE SEQUENCE {} INCREMENT BY {} MINVALUE {} MAXVALUE {} START {} {};",
        path(schema, &sequence.name),
        options.increment,
        options.min,
        options.max,
        start.unwrap_or(options.start),
        if options.cycle { "CYCLE" } else { "NO CYCLE" },
    )
}

/// `CREATE MACRO`.
pub(in crate::exec) fn user_macro(schema: &str, one: &Macro, of_tables: bool) -> String {
    let overloads = one.overloads.iter().map(|overload| {
        let table = if of_tables { "TABLE " } else { "" };
        format!(
            "({}) AS {table}{}",
            parameters(overload).join(", "),
            overload.sql
        )
    });
    let overloads: Vec<String> = overloads.collect();
    format!(
        "CREATE MACRO {}{};",
        path(schema, &one.name),
        overloads.join(", ")
    )
}

/// `CREATE TYPE`.
pub(in crate::exec) fn user_type(schema: &str, one: &UserType) -> String {
    format!(
        "CREATE TYPE {} AS {};",
        path(schema, &one.name),
        column_type_name(&one.ty)
    )
}

/// A macro's parameters, with types and defaults.
fn parameters(overload: &MacroOverload) -> Vec<String> {
    let parameters = overload.parameters.iter().map(|parameter| {
        let ty = parameter.ty.as_ref().map(column_type_name);
        let ty = ty.map_or(String::new(), |ty| format!(" {ty}"));
        let default = parameter.default.as_ref();
        let default = default.map_or(String::new(), |default| format!(" := {default}"));
        format!("{}{ty}{default}", quote(&parameter.name))
    });
    parameters.collect()
}

/// `ALTER SEQUENCE ... OWNED BY`.
pub(in crate::exec) fn sequence_owner(
    schema: &str,
    sequence: &Sequence,
    table: &TableVersion,
    column: Option<&Column>,
) -> String {
    let column = column.map_or(String::new(), |column| format!(".{}", quote(&column.name)));
    format!(
        "ALTER SEQUENCE {} OWNED BY {}{column};",
        path(schema, &sequence.name),
        path(schema, &table.name)
    )
}

/// `CREATE VIEW`, of a query that is given.
pub(in crate::exec) fn view(schema: &str, view: &View, query: &str) -> String {
    let names: Vec<String> = view.columns.iter().map(|name| sql::quote(name)).collect();
    let names = match names.is_empty() {
        true => String::new(),
        false => format!(" ({})", names.join(", ")),
    };
    format!(
        "CREATE VIEW {}{names} AS {query};",
        path(schema, &view.name)
    )
}
