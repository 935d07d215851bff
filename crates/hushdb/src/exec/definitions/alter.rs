//! ALTER TABLE: columns added, dropped, renamed and of another type, tables renamed, defaults and NOT NULL set.
//!
//! What must hold: all operations of a statement are done, or none; no CHECK names a column that is there no more.

use super::change_type::change_type;
use super::ddl::{Definition, column_definition, table_columns, validate};
use super::defaults;
use super::foreign_keys;
use super::indexes;
use super::struct_fields::{self, FieldChange};
use crate::exec::columns::generated;
use crate::exec::columns::identity;
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::arrow::array::Array;
use datafusion::sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, DropBehavior, RenameTableNameKind,
};
use hushdb_query::plan::{Relation, TableName};
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{self as sql, Error, Result, name_parts, sqlstate};
use hushdb_storage::{Column, ColumnDef, ColumnId, Error as StorageError, same_name};
use std::collections::HashSet;

pub(in crate::exec) fn alter_table(
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
        let alteration = Alteration {
            statement,
            columns: table_columns(&write, &target)?,
            write: &mut write,
            name: &mut target,
        };
        alteration.run(operation)?;
    }
    write.commit()?;
    Ok(QueryResult::done())
}

/// One operation of the statement on one table, whose columns are those before it.
struct Alteration<'a, 'w> {
    statement: &'a Statement<'a>,
    write: &'a mut Write<'w>,
    name: &'a mut TableName,
    columns: Vec<Column>,
}

impl Alteration<'_, '_> {
    fn run(mut self, operation: AlterTableOperation) -> Result<()> {
        use AlterTableOperation as A;
        if let Some(path) = field_path(&operation) {
            return self.change_field(&path, operation);
        }
        match operation {
            A::AddColumn {
                if_not_exists,
                column_def,
                ..
            } => self.add_column(&column_def, if_not_exists),
            A::DropColumn {
                column_names,
                if_exists,
                drop_behavior,
                ..
            } => {
                let cascades = matches!(drop_behavior, Some(DropBehavior::Cascade));
                self.drop_columns(&column_names, if_exists, cascades)
            }
            A::RenameColumn {
                old_column_name,
                new_column_name,
            } => self.rename_column(&old_column_name, &new_column_name.value),
            A::RenameTable { table_name } => {
                let (RenameTableNameKind::To(new_name) | RenameTableNameKind::As(new_name)) =
                    table_name;
                self.rename_table(&new_name)
            }
            A::AlterColumn { column_name, op } => self.alter_column(&column_name, op),
            A::AddConstraint { constraint, .. } => self.add_constraint(&constraint),
            A::DropConstraint {
                if_exists,
                name: constraint,
                ..
            } => indexes::drop_constraint(self.write, self.name, &constraint.value, if_exists),
            _ => Err(Error::unsupported(
                "this form of ALTER TABLE is not supported",
            )),
        }
    }

    /// Adds, drops or renames a field of a struct.
    fn change_field(&mut self, path: &[String], operation: AlterTableOperation) -> Result<()> {
        use AlterTableOperation as A;
        let [column, at @ ..] = path else {
            return Err(Error::internal("a path without a column"));
        };
        let ident = ast::Ident::with_quote('"', column);
        let column = self.find(&ident)?;
        let mut defined = Definition::default();
        let new_name;
        let change = match operation {
            A::AddColumn {
                if_not_exists,
                column_def,
                ..
            } => {
                if if_not_exists && struct_fields::has_field(&column.ty, at) {
                    return Ok(());
                }
                let named = ast::Ident::with_quote('"', "field");
                column_definition(
                    &ast::ColumnDef {
                        name: named,
                        ..column_def
                    },
                    &mut defined,
                    true,
                )?;
                let def = plain_column(&defined)?;
                FieldChange::Add(&def.ty, def.default.as_deref())
            }
            A::DropColumn { if_exists, .. } => {
                if if_exists && !struct_fields::has_field(&column.ty, at) {
                    return Ok(());
                }
                FieldChange::Drop
            }
            A::RenameColumn {
                new_column_name, ..
            } => {
                new_name = new_column_name.value;
                FieldChange::Rename(&new_name)
            }
            _ => return Err(Error::internal("a change of a field that there is not")),
        };
        let value = sql::quote(&column.name);
        let (ty, values) = struct_fields::changed(&column.ty, &value, &column.name, at, &change)?;
        let to = AlterColumnOperation::SetDataType {
            data_type: sql::type_names::sql_type(&ty)?,
            using: Some(sql::parse_expr(&values)?),
            had_set: false,
        };
        self.alter_column(&ident, to)
    }

    /// The column that a name names.
    fn find(&self, ident: &ast::Ident) -> Result<Column> {
        let found = sql::find_named(&self.columns, &ident.value, |column| &column.name);
        found.cloned().ok_or_else(|| {
            Error::binder(format!(
                "Table \"{}\" does not have a column with name \"{}\"",
                self.name.name, ident.value
            ))
            .with_sqlstate(sqlstate::UNDEFINED_COLUMN)
        })
    }

    fn add_column(&mut self, definition: &ast::ColumnDef, if_not_exists: bool) -> Result<()> {
        let mut defined = Definition::default();
        column_definition(definition, &mut defined, true)?;
        if defined.columns.iter().any(|def| def.generated.is_some()) {
            return Err(Error::parser(
                "Adding generated columns after table creation is not supported yet",
            ));
        }
        let constrained = !defined.checks.is_empty()
            || !defined.keys.is_empty()
            || !defined.references.is_empty();
        let Some(def) = defined.columns.pop() else {
            return Err(Error::internal("a column's definition has no column"));
        };
        if self.columns.iter().any(|c| same_name(&c.name, &def.name)) {
            return match if_not_exists {
                true => Ok(()),
                false => Err(column_exists(&def.name)),
            };
        }
        if constrained || !def.nullable {
            return Err(Error::unsupported(
                "Adding columns with constraints not yet supported",
            ));
        }
        validate(self.statement, self.name, std::slice::from_ref(&def), &[])?;
        let column = Column {
            id: ColumnId::default(),
            name: def.name.clone(),
            ty: def.ty.clone(),
            nullable: true,
            default: def.default.clone(),
            generated: None,
            declared: def.declared,
        };
        let of_each_row = defaults::of_each_row(self.statement, self.name, &column)?;
        let fill = match (&def.default, &of_each_row) {
            (Some(_), None) => Some(defaults::value(self.statement, self.name, &column)?),
            _ => None,
        };
        let (schema, table) = (&self.name.schema, &self.name.name);
        self.write.add_column(schema, table, def, fill)?;
        let Some(default) = of_each_row else {
            return Ok(());
        };
        let mut failed = None;
        let changed = self.write.change_type(
            schema,
            table,
            &column.name,
            (column.ty.clone(), column.declared),
            &mut |_, group| {
                defaults::values_of(default.as_ref(), group).map_err(|error| {
                    failed = Some(error);
                    StorageError::InvalidInput("a default that cannot be computed".into())
                })
            },
        );
        changed.map_err(|error| failed.unwrap_or_else(|| error.into()))
    }

    fn drop_columns(
        &mut self,
        names: &[ast::Ident],
        if_exists: bool,
        cascades: bool,
    ) -> Result<()> {
        for ident in names {
            let column = match self.find(ident) {
                Err(_) if if_exists => continue,
                other => other?,
            };
            let left = table_columns(self.write, self.name)?;
            let dropped = generated::all_computed_from(&left, &column)?;
            if dropped.len() == left.len() {
                return Err(Error::catalog(
                    "Cannot drop column: table only has one column remaining!",
                ));
            }
            if dropped.len() > 1 && !cascades {
                return Err(Error::catalog(
                    "Cannot drop column: column is a dependency of 1 or more generated column(s)",
                ));
            }
            // What is computed of others goes before them.
            dropped
                .iter()
                .rev()
                .try_for_each(|column| self.drop_column(column))?;
        }
        Ok(())
    }

    fn drop_column(&mut self, column: &Column) -> Result<()> {
        refuse_if_checked(self.write, self.name, &column.name, "drop")?;
        foreign_keys::refuse_change(self.write, self.name, column.id, "drop", &column.name)?;
        indexes::refuse_drop_of_column(self.write, self.name, &column.name)?;
        let (schema, table) = (&self.name.schema, &self.name.name);
        self.write.drop_column(schema, table, &column.name)?;
        Ok(())
    }

    fn rename_column(&mut self, old_name: &ast::Ident, new_name: &str) -> Result<()> {
        let column = self.find(old_name)?;
        let mut others = self.columns.iter().filter(|c| c.id != column.id);
        if others.any(|c| same_name(&c.name, new_name)) {
            return Err(column_exists(new_name));
        }
        refuse_if_checked(self.write, self.name, &column.name, "rename")?;
        foreign_keys::refuse_change(self.write, self.name, column.id, "rename", &column.name)?;
        let (schema, table) = (&self.name.schema, &self.name.name);
        self.write
            .rename_column(schema, table, &column.name, new_name)?;
        for other in &self.columns {
            if let Some(text) = &other.generated {
                let text = generated::renamed(text, &column.name, new_name)?;
                let name = if other.id == column.id {
                    new_name
                } else {
                    &other.name
                };
                self.write.set_generated(schema, table, name, text)?;
            }
        }
        Ok(())
    }

    fn rename_table(&mut self, new_name: &ast::ObjectName) -> Result<()> {
        let parts = name_parts(new_name)?;
        let [new_name] = parts.as_slice() else {
            return Err(Error::binder(
                "RENAME TO takes a name without schema; a table stays in its schema",
            ));
        };
        let schema = self.write.catalog().schemas.get(&self.name.schema);
        let taken = schema.is_some_and(|schema| {
            let mut others = schema.relations().filter(|other| **other != self.name.name);
            others.any(|other| same_name(other, new_name))
        });
        if taken {
            return Err(
                Error::catalog(format!("Table with name \"{new_name}\" already exists!"))
                    .with_sqlstate(sqlstate::DUPLICATE_TABLE),
            );
        }
        self.write
            .rename_table(&self.name.schema, &self.name.name, new_name)?;
        self.name.name = new_name.clone();
        Ok(())
    }

    fn alter_column(&mut self, name: &ast::Ident, operation: AlterColumnOperation) -> Result<()> {
        use AlterColumnOperation as A;
        let mut column = self.find(name)?;
        self.refuse_generated(&column, &operation)?;
        match operation {
            A::SetDefault { value } => {
                column.default = Some(sql::sql_text(&value));
                defaults::check(self.statement, self.name, &column)?;
            }
            A::DropDefault => column.default = None,
            A::DropNotNull if indexes::is_primary(self.write, self.name, column.id) => {
                return Err(Error::catalog(format!(
                    "Cannot drop NOT NULL of column \"{}\": it is part of the primary key",
                    column.name
                )));
            }
            A::DropNotNull => column.nullable = true,
            A::SetNotNull => {
                refuse_nulls(self.write, self.name, &column)?;
                column.nullable = false;
            }
            A::SetDataType {
                data_type, using, ..
            } => {
                refuse_if_checked(self.write, self.name, &column.name, "change the type of")?;
                let (write, table) = (&mut *self.write, &*self.name);
                return change_type(self.statement, write, table, &column, &data_type, using);
            }
            A::AddGenerated {
                generated_as,
                sequence_options,
            } => {
                let options = sequence_options.unwrap_or_default();
                let used = generated_as.unwrap_or(ast::GeneratedAs::Always);
                let default = identity::add(self.write, self.name, &column, used, &options)?;
                column.default = Some(default);
            }
        }
        self.set(&column.name, column.nullable, column.default)
    }

    /// # Errors
    /// `Binder` when a generated column would be something else, or not be what it is computed from.
    fn refuse_generated(&self, column: &Column, operation: &AlterColumnOperation) -> Result<()> {
        use AlterColumnOperation as A;
        let name = &column.name;
        let text = match (operation, column.generated.is_some()) {
            (A::SetDefault { .. }, true) => {
                format!("Cannot SET DEFAULT for generated column \"{name}\"")
            }
            (A::DropDefault, true) => {
                format!("Cannot DROP DEFAULT for generated column \"{name}\"")
            }
            (A::SetNotNull | A::DropNotNull, true) => {
                "Unsupported constraint for generated column!".to_owned()
            }
            (A::SetDataType { .. }, true) => {
                "Using generated columns in alter statement not supported".to_owned()
            }
            (A::SetDataType { .. }, false) => {
                match generated::computed_from(&self.columns, name)? {
                    None => return Ok(()),
                    Some(other) => format!(
                        "This column is referenced by the generated column \"{}\", so its type can not be changed",
                        other.name
                    ),
                }
            }
            _ => return Ok(()),
        };
        Err(Error::binder(text))
    }

    fn add_constraint(&mut self, constraint: &ast::TableConstraint) -> Result<()> {
        if let Some(reference) = foreign_keys::of_table(constraint)? {
            return foreign_keys::create(self.statement, self.write, self.name, &reference);
        }
        let key = indexes::of_table(constraint)?.ok_or_else(|| {
            Error::unsupported("ALTER TABLE adds keys only; name CHECKs in CREATE TABLE")
        })?;
        let mut definitions: Vec<ColumnDef> = self.columns.iter().map(as_definition).collect();
        indexes::refuse_second_primary(self.write, self.name, &key)?;
        indexes::apply(
            &self.name.name,
            std::slice::from_ref(&key),
            &mut definitions,
        )?;
        for (column, definition) in std::mem::take(&mut self.columns).iter().zip(definitions) {
            if column.nullable && !definition.nullable {
                refuse_nulls(self.write, self.name, column)?;
                self.set(&column.name, false, column.default.clone())?;
            }
        }
        indexes::create(self.write, self.name, key)
    }

    fn set(&mut self, column: &str, nullable: bool, default: Option<String>) -> Result<()> {
        let (schema, table) = (&self.name.schema, &self.name.name);
        Ok(self
            .write
            .set_column(schema, table, column, nullable, default)?)
    }
}

/// The path that an operation names in the place of a column.
fn field_path(operation: &AlterTableOperation) -> Option<Vec<String>> {
    use AlterTableOperation as A;
    match operation {
        A::AddColumn { column_def, .. } => sql::field_path(&column_def.name.value),
        A::DropColumn { column_names, .. } => match column_names.as_slice() {
            [name] => sql::field_path(&name.value),
            _ => None,
        },
        A::RenameColumn {
            old_column_name, ..
        } => sql::field_path(&old_column_name.value),
        _ => None,
    }
}

/// The one column of a definition, which says no more than its type and its default.
fn plain_column(defined: &Definition) -> Result<&ColumnDef> {
    let is_plain =
        defined.checks.is_empty() && defined.keys.is_empty() && defined.references.is_empty();
    match defined.columns.as_slice() {
        [def] if is_plain && def.nullable && def.generated.is_none() => Ok(def),
        _ => Err(Error::parser(
            "Adding columns with constraints not yet supported",
        )),
    }
}

fn column_exists(name: &str) -> Error {
    Error::catalog(format!("Column with name {name} already exists!"))
        .with_sqlstate(sqlstate::DUPLICATE_COLUMN)
}

fn as_definition(column: &Column) -> ColumnDef {
    ColumnDef {
        name: column.name.clone(),
        ty: column.ty.clone(),
        nullable: column.nullable,
        default: column.default.clone(),
        generated: column.generated.clone(),
        declared: column.declared,
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
        let _ = visit_expressions(&expr, |e| {
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
