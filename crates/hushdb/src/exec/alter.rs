//! ALTER TABLE: columns added, dropped, renamed and of another type, tables renamed, defaults and NOT NULL set. All operations
//! of a statement are done, or none.

use super::change_type::change_type;
use super::ddl::{Definition, column_definition, default_value, table_columns, validate};
use super::indexes;
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::arrow::array::Array;
use datafusion::sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, RenameTableNameKind,
};
use hushdb_query::plan::{Relation, TableName};
use hushdb_sql::{self as sql, Error, Result, name_parts, sqlstate};
use hushdb_storage::{Column, ColumnDef, same_name};
use std::collections::HashSet;

pub(super) fn alter_table(
    statement: &Statement<'_>,
    alter: ast::AlterTable,
) -> Result<QueryResult> {
    let found = statement.resolve_for_write(&alter.name);
    let (name, mut write) = match found {
        Err(error) if alter.if_exists && error.kind() == crate::ErrorKind::Catalog => {
            return Ok(QueryResult::done());
        }
        other => other?,
    };
    match statement.snapshot().find(&name) {
        Some(Relation::Table(_)) => {}
        Some(Relation::View(_)) => {
            return Err(
                Error::catalog(format!("{} is a view, not a table", name.name))
                    .with_sqlstate(sqlstate::WRONG_OBJECT),
            );
        }
        None if alter.if_exists => return Ok(QueryResult::done()),
        None => return Err(statement.snapshot().unknown(&name)),
    }
    let mut target = name;
    for operation in alter.operations {
        alter_one(statement, &mut write, &mut target, operation)?;
    }
    write.commit()?;
    Ok(QueryResult::done())
}

fn alter_one(
    statement: &Statement<'_>,
    write: &mut Write<'_>,
    name: &mut TableName,
    operation: AlterTableOperation,
) -> Result<()> {
    use AlterTableOperation as A;
    let columns = table_columns(write, name)?;
    let find = |ident: &ast::Ident| {
        let found = sql::find_named(&columns, &ident.value, |column| &column.name);
        found.cloned().ok_or_else(|| {
            Error::binder(format!(
                "Table \"{}\" does not have a column with name \"{}\"",
                name.name, ident.value
            ))
            .with_sqlstate(sqlstate::UNDEFINED_COLUMN)
        })
    };
    match operation {
        A::AddColumn {
            if_not_exists,
            column_def,
            ..
        } => {
            let mut defined = Definition::default();
            column_definition(&column_def, &mut defined)?;
            let constrained = !defined.checks.is_empty() || !defined.keys.is_empty();
            let Some(def) = defined.columns.pop() else {
                return Err(Error::internal("a column's definition has no column"));
            };
            if columns.iter().any(|c| same_name(&c.name, &def.name)) {
                if if_not_exists {
                    return Ok(());
                }
                return Err(Error::catalog(format!(
                    "Column with name {} already exists!",
                    def.name
                ))
                .with_sqlstate(sqlstate::DUPLICATE_COLUMN));
            }
            if constrained || !def.nullable {
                return Err(Error::unsupported(
                    "Adding columns with constraints not yet supported",
                ));
            }
            validate(statement, std::slice::from_ref(&def), &[])?;
            let column = Column {
                id: 0,
                name: def.name.clone(),
                ty: def.ty.clone(),
                nullable: true,
                default: def.default.clone(),
            };
            let fill = match &def.default {
                Some(_) => Some(default_value(statement, &column)?),
                None => None,
            };
            write.add_column(&name.schema, &name.name, def, fill)?;
        }
        A::DropColumn {
            column_names,
            if_exists,
            ..
        } => {
            for ident in &column_names {
                let column = match find(ident) {
                    Err(_) if if_exists => continue,
                    other => other?,
                };
                if columns.len() == 1 {
                    return Err(Error::catalog(
                        "Cannot drop column: table only has one column remaining!",
                    ));
                }
                refuse_if_checked(write, name, &column.name, "drop")?;
                indexes::refuse_drop_of_column(write, name, &column.name)?;
                write.drop_column(&name.schema, &name.name, &column.name)?;
            }
        }
        A::RenameColumn {
            old_column_name,
            new_column_name,
        } => {
            let column = find(&old_column_name)?;
            let new_name = new_column_name.value;
            let mut others = columns.iter().filter(|c| c.id != column.id);
            if others.any(|c| same_name(&c.name, &new_name)) {
                return Err(
                    Error::catalog(format!("Column with name {new_name} already exists!"))
                        .with_sqlstate(sqlstate::DUPLICATE_COLUMN),
                );
            }
            refuse_if_checked(write, name, &column.name, "rename")?;
            write.rename_column(&name.schema, &name.name, &column.name, &new_name)?;
        }
        A::RenameTable { table_name } => {
            let (RenameTableNameKind::To(new_name) | RenameTableNameKind::As(new_name)) =
                table_name;
            let parts = name_parts(&new_name)?;
            let [new_name] = parts.as_slice() else {
                return Err(Error::binder(
                    "RENAME TO takes a name without schema; a table stays in its schema",
                ));
            };
            let schema = write.catalog().schemas.get(&name.schema);
            let taken = schema.is_some_and(|schema| {
                let mut others = schema.relations().filter(|other| **other != name.name);
                others.any(|other| same_name(other, new_name))
            });
            if taken {
                return Err(Error::catalog(format!(
                    "Table with name \"{new_name}\" already exists!"
                ))
                .with_sqlstate(sqlstate::DUPLICATE_TABLE));
            }
            write.rename_table(&name.schema, &name.name, new_name)?;
            name.name = new_name.clone();
        }
        A::AlterColumn { column_name, op } => {
            let mut column = find(&column_name)?;
            match op {
                AlterColumnOperation::SetDefault { value } => {
                    column.default = Some(sql::sql_text(&value));
                    default_value(statement, &column)?;
                }
                AlterColumnOperation::DropDefault => column.default = None,
                AlterColumnOperation::DropNotNull
                    if indexes::is_primary(write, name, column.id) =>
                {
                    return Err(Error::catalog(format!(
                        "Cannot drop NOT NULL of column \"{}\": it is part of the primary key",
                        column.name
                    )));
                }
                AlterColumnOperation::DropNotNull => column.nullable = true,
                AlterColumnOperation::SetNotNull => {
                    refuse_nulls(write, name, &column)?;
                    column.nullable = false;
                }
                AlterColumnOperation::SetDataType {
                    data_type, using, ..
                } => {
                    refuse_if_checked(write, name, &column.name, "change the type of")?;
                    return change_type(statement, write, name, &column, &data_type, using);
                }
                _ => {
                    return Err(Error::unsupported(
                        "this form of ALTER COLUMN is not supported",
                    ));
                }
            }
            write.set_column(
                &name.schema,
                &name.name,
                &column.name,
                column.nullable,
                column.default,
            )?;
        }
        A::AddConstraint { constraint, .. } => {
            let key = indexes::of_table(&constraint)?.ok_or_else(|| {
                Error::unsupported("ALTER TABLE adds keys only; name CHECKs in CREATE TABLE")
            })?;
            let mut definitions: Vec<ColumnDef> = columns.iter().map(as_definition).collect();
            indexes::refuse_second_primary(write, name, &key)?;
            indexes::apply(&name.name, std::slice::from_ref(&key), &mut definitions)?;
            for (column, definition) in columns.iter().zip(definitions) {
                if column.nullable && !definition.nullable {
                    refuse_nulls(write, name, column)?;
                    let default = column.default.clone();
                    write.set_column(&name.schema, &name.name, &column.name, false, default)?;
                }
            }
            indexes::create(write, name, key)?;
        }
        A::DropConstraint {
            if_exists,
            name: constraint,
            ..
        } => indexes::drop_constraint(write, name, &constraint.value, if_exists)?,
        _ => {
            return Err(Error::unsupported(
                "this form of ALTER TABLE is not supported",
            ));
        }
    }
    Ok(())
}

fn as_definition(column: &Column) -> ColumnDef {
    ColumnDef {
        name: column.name.clone(),
        ty: column.ty.clone(),
        nullable: column.nullable,
        default: column.default.clone(),
    }
}

/// # Errors
/// `Constraint` when a visible row has NULL in the column.
fn refuse_nulls(write: &Write<'_>, name: &TableName, column: &Column) -> Result<()> {
    match has_nulls(write, name, column)? {
        true => Err(Error::not_null(&name.name, &column.name)),
        false => Ok(()),
    }
}

/// A CHECK names columns in its text: changing one under it would break it.
fn refuse_if_checked(write: &Write<'_>, name: &TableName, column: &str, what: &str) -> Result<()> {
    let Some(table) = write.catalog().table(&name.schema, &name.name) else {
        return Ok(());
    };
    for check in &table.checks {
        let expr = sql::parse_expr(&check.sql)?;
        let mut names = HashSet::new();
        let _ = ast::visit_expressions(&expr, |e| {
            if let ast::Expr::Identifier(ident) = e {
                names.insert(sql::folded(&ident.value));
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
        if names.contains(&sql::folded(column)) {
            return Err(Error::catalog(format!(
                "Cannot {what} column \"{column}\" because there is a CHECK constraint that depends on it"
            )));
        }
    }
    Ok(())
}

/// Whether any visible row has NULL in a column.
fn has_nulls(write: &Write<'_>, name: &TableName, column: &Column) -> Result<bool> {
    let Some(table) = write.catalog().table(&name.schema, &name.name) else {
        return Ok(false);
    };
    for group in table.row_groups()? {
        let nulls = group
            .segments
            .iter()
            .find(|s| s.column_id == column.id)
            .map_or(u64::from(group.rows), |s| s.null_count);
        if nulls == 0 {
            continue;
        }
        let visible = group.visible();
        let values = write.store().read_column(group, column, visible.as_ref())?;
        if values.null_count() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}
