//! CREATE, ALTER and DROP of tables, views and schemas. Each statement is one transaction.

use super::load::{self, RowRules, parse_expr};
use super::query;
use crate::connection::Connection;
use crate::database::Attached;
use crate::error::{Error, Result};
use crate::plan::{Relation, Snapshot, TableName, name_parts};
use crate::result::QueryResult;
use crate::scan::ScanProgress;
use crate::sql;
use crate::sql::types::{column_type, stored_type};
use datafusion::arrow::array::ArrayRef;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{
    self, AlterColumnOperation, AlterTableOperation, ColumnOption, ObjectName, ObjectType,
    RenameTableNameKind, SchemaName, TableConstraint,
};
use hushdb_storage::{Check, Column, ColumnDef, Transaction, View};
use std::collections::HashSet;
use std::sync::Arc;

const KEYS: &str = "PRIMARY KEY, UNIQUE and FOREIGN KEY come with transactions; until then they are refused rather than \
                    accepted and not enforced";

/// A write statement's view: the writer's lock is held, and the snapshot is the version it changes.
pub(super) fn resolve_for_write(
    connection: &Connection,
    name: &ObjectName,
) -> Result<(Snapshot, TableName, Arc<Attached>)> {
    let snapshot = connection.snapshot();
    let resolved = snapshot.resolve(&name_parts(name)?)?;
    let attached = writable(connection, &resolved.database)?;
    Ok((snapshot, resolved, attached))
}

pub(super) fn writable(connection: &Connection, database: &str) -> Result<Arc<Attached>> {
    let attached = connection.shared.database(database)?;
    if attached.read_only {
        return Err(Error::invalid(format!(
            "Cannot write: database \"{database}\" is attached in read-only mode"
        )));
    }
    Ok(attached)
}

pub(super) fn create_table(
    connection: &Connection,
    create: ast::CreateTable,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    if create.temporary {
        return Err(Error::unsupported(
            "TEMPORARY tables are not there yet; create the table in database memory",
        ));
    }
    if create.external
        || create.like.is_some()
        || create.clone.is_some()
        || create.partition_by.is_some()
    {
        return Err(Error::unsupported(
            "this form of CREATE TABLE is not supported",
        ));
    }
    let (_, name, attached) = resolve_for_write(connection, &create.name)?;
    let mut transaction = attached.store.begin()?;
    let snapshot = connection.snapshot();
    if !make_room(
        &mut transaction,
        &snapshot,
        &name,
        create.or_replace,
        create.if_not_exists,
    )? {
        return Ok(QueryResult::done());
    }
    let Some(query) = create.query else {
        let (columns, checks) = definition(
            connection,
            &snapshot,
            &create.columns,
            &create.constraints,
            progress,
        )?;
        transaction.create_table(&name.schema, &name.name, columns, checks)?;
        transaction.commit()?;
        return Ok(QueryResult::done());
    };
    if !create
        .columns
        .iter()
        .all(|c| c.options.is_empty() && c.data_type == ast::DataType::Unspecified)
    {
        return Err(Error::binder(
            "CREATE TABLE AS takes column names only; types come from the query",
        ));
    }
    let planner = connection.planner(&snapshot, progress);
    let plan = planner.plan_query(*query)?;
    let names: Vec<String> = create
        .columns
        .iter()
        .map(|c| sql::normalize(&c.name))
        .collect();
    let (plan, columns) = named_columns(plan, &names)?;
    transaction.create_table(&name.schema, &name.name, columns, vec![])?;
    let columns = table_columns(&transaction, &name)?;
    let sources: Vec<Option<usize>> = (0..columns.len()).map(Some).collect();
    let plan = load::project(&planner, plan, &columns, &sources)?;
    let rules = RowRules::new(&planner, &name.name, &columns, &[])?;
    let groups = load::load(connection, &attached.store, &plan, rules, progress)?;
    let rows = transaction.append(&name.schema, &name.name, groups)?;
    transaction.commit()?;
    QueryResult::count(rows)
}

pub(super) fn table_columns(
    transaction: &Transaction<'_>,
    name: &TableName,
) -> Result<Vec<Column>> {
    match transaction.catalog().table(&name.schema, &name.name) {
        Some(table) => Ok(table.columns.clone()),
        None => Err(Error::internal(
            "the new table is not in its own transaction",
        )),
    }
}

/// Clears the way for a new table or view. False when IF NOT EXISTS leaves the old one.
fn make_room(
    transaction: &mut Transaction<'_>,
    snapshot: &Snapshot,
    name: &TableName,
    or_replace: bool,
    if_not_exists: bool,
) -> Result<bool> {
    match snapshot.find(name) {
        None => Ok(true),
        Some(_) if if_not_exists => Ok(false),
        Some(Relation::Table(_)) if or_replace => {
            transaction.drop_table(&name.schema, &name.name)?;
            Ok(true)
        }
        Some(Relation::View(_)) if or_replace => {
            transaction.drop_view(&name.schema, &name.name)?;
            Ok(true)
        }
        Some(Relation::Table(_)) => Err(Error::catalog(format!(
            "Table with name \"{}\" already exists!",
            name.name
        ))),
        Some(Relation::View(_)) => Err(Error::catalog(format!(
            "View with name \"{}\" already exists!",
            name.name
        ))),
    }
}

/// Names and types of a query's columns. A name that comes twice gets `_1`, `_2`, ... as in DuckDB.
fn named_columns(plan: LogicalPlan, names: &[String]) -> Result<(LogicalPlan, Vec<ColumnDef>)> {
    let schema = Arc::clone(plan.schema());
    if names.len() > schema.fields().len() {
        return Err(Error::binder(
            "Target table has more columns than query result.",
        ));
    }
    let mut taken = HashSet::new();
    let mut columns = vec![];
    for (i, field) in schema.fields().iter().enumerate() {
        let wanted = names
            .get(i)
            .map_or_else(|| field.name().clone(), Clone::clone);
        let mut name = wanted.clone();
        let mut n = 0;
        while !taken.insert(name.clone()) {
            n += 1;
            name = format!("{wanted}_{n}");
        }
        columns.push(ColumnDef {
            name,
            ty: stored_type(field)?,
            nullable: true,
            default: None,
        });
    }
    // Two columns of one qualified name cannot be told apart further up, so each gets its new name here.
    let exprs = schema
        .columns()
        .into_iter()
        .zip(&columns)
        .map(|(column, def)| datafusion::logical_expr::Expr::Column(column).alias(&def.name));
    let plan = if schema.columns().iter().collect::<HashSet<_>>().len() == columns.len() {
        LogicalPlanBuilder::from(plan).project(exprs)?.build()?
    } else {
        plan
    };
    Ok((plan, columns))
}

/// Columns and checks of `CREATE TABLE t (...)`.
fn definition(
    connection: &Connection,
    snapshot: &Snapshot,
    columns: &[ast::ColumnDef],
    constraints: &[TableConstraint],
    progress: &Arc<ScanProgress>,
) -> Result<(Vec<ColumnDef>, Vec<Check>)> {
    if columns.is_empty() {
        return Err(Error::parser("Table must have at least one column!"));
    }
    let (mut defs, mut checks): (Vec<ColumnDef>, Vec<Check>) = (vec![], vec![]);
    for column in columns {
        let (def, check) = column_definition(column)?;
        if defs.iter().any(|d| d.name == def.name) {
            return Err(Error::catalog(format!(
                "Column with name {} already exists!",
                def.name
            )));
        }
        defs.push(def);
        checks.extend(check);
    }
    for constraint in constraints {
        match constraint {
            TableConstraint::Check(check) => {
                let name = check.name.as_ref().map(sql::normalize);
                checks.push(Check {
                    name,
                    sql: check.expr.to_string(),
                });
            }
            _ => return Err(Error::unsupported(KEYS)),
        }
    }
    validate(connection, snapshot, &defs, &checks, progress)?;
    Ok((defs, checks))
}

fn column_definition(column: &ast::ColumnDef) -> Result<(ColumnDef, Vec<Check>)> {
    let mut def = ColumnDef {
        name: sql::normalize(&column.name),
        ty: column_type(&column.data_type)?,
        nullable: true,
        default: None,
    };
    if def.name.starts_with('$') {
        return Err(Error::binder("a column's name cannot begin with $"));
    }
    let mut checks = vec![];
    for option in &column.options {
        match &option.option {
            ColumnOption::Null => def.nullable = true,
            ColumnOption::NotNull => def.nullable = false,
            ColumnOption::Default(expr) => def.default = Some(expr.to_string()),
            ColumnOption::Check(check) => {
                let name = option.name.as_ref().map(sql::normalize);
                checks.push(Check {
                    name,
                    sql: check.expr.to_string(),
                });
            }
            ColumnOption::PrimaryKey(_) | ColumnOption::Unique(_) | ColumnOption::ForeignKey(_) => {
                return Err(Error::unsupported(KEYS));
            }
            other => {
                return Err(Error::unsupported(format!(
                    "the column option {other} is not supported"
                )));
            }
        }
    }
    Ok((def, checks))
}

/// Plans every default and check once, so that a mistake shows at CREATE and not at the first INSERT.
fn validate(
    connection: &Connection,
    snapshot: &Snapshot,
    columns: &[ColumnDef],
    checks: &[Check],
    progress: &Arc<ScanProgress>,
) -> Result<()> {
    let planner = connection.planner(snapshot, progress);
    let columns: Vec<Column> = columns
        .iter()
        .map(|c| Column {
            id: 0,
            name: c.name.clone(),
            ty: c.ty.clone(),
            nullable: c.nullable,
            default: c.default.clone(),
        })
        .collect();
    for column in &columns {
        if column.default.is_some() {
            default_value(connection, snapshot, column, progress)?;
        }
    }
    RowRules::new(&planner, "", &columns, checks)?;
    Ok(())
}

/// The value that a column's default has now, as one row.
fn default_value(
    connection: &Connection,
    snapshot: &Snapshot,
    column: &Column,
    progress: &Arc<ScanProgress>,
) -> Result<ArrayRef> {
    let planner = connection.planner(snapshot, progress);
    let one_row = LogicalPlanBuilder::empty(true).build()?;
    let plan = load::project(&planner, one_row, std::slice::from_ref(column), &[None])?;
    let batches = query::collect(connection, &plan, progress)?;
    let value = batches.first().map(|b| Arc::clone(b.column(0)));
    value.ok_or_else(|| Error::internal("a default gave no row"))
}

pub(super) fn create_view(
    connection: &Connection,
    view: ast::CreateView,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    if view.materialized || view.temporary {
        return Err(Error::unsupported(
            "MATERIALIZED and TEMPORARY views are not supported",
        ));
    }
    let (_, name, attached) = resolve_for_write(connection, &view.name)?;
    let mut transaction = attached.store.begin()?;
    let snapshot = connection.snapshot();
    if !make_room(
        &mut transaction,
        &snapshot,
        &name,
        view.or_replace,
        view.if_not_exists,
    )? {
        return Ok(QueryResult::done());
    }
    // Planned once, so that a mistake shows now.
    let plan = connection
        .planner(&snapshot, progress)
        .plan_query((*view.query).clone())?;
    let columns: Vec<String> = view
        .columns
        .iter()
        .map(|c| sql::normalize(&c.name))
        .collect();
    if columns.len() > plan.schema().fields().len() {
        return Err(Error::binder(
            "More VIEW aliases than columns in query result",
        ));
    }
    let stored = View {
        name: name.name.clone(),
        sql: view.query.to_string(),
        columns,
    };
    transaction.create_view(&name.schema, stored)?;
    transaction.commit()?;
    Ok(QueryResult::done())
}

/// `schema` or `database.schema`.
fn schema_parts(connection: &Connection, parts: Vec<String>) -> Result<(String, String)> {
    match <[String; 2]>::try_from(parts) {
        Ok([database, schema]) => Ok((database, schema)),
        Err(parts) => match <[String; 1]>::try_from(parts) {
            Ok([schema]) => Ok((connection.current_database(), schema)),
            Err(_) => Err(Error::binder(
                "a schema's name is schema or database.schema",
            )),
        },
    }
}

pub(super) fn create_schema(
    connection: &Connection,
    name: &SchemaName,
    if_not_exists: bool,
) -> Result<QueryResult> {
    let SchemaName::Simple(name) = name else {
        return Err(Error::unsupported("CREATE SCHEMA takes a name only"));
    };
    let (database, schema) = schema_parts(connection, name_parts(name)?)?;
    let attached = writable(connection, &database)?;
    let mut transaction = attached.store.begin()?;
    if transaction.catalog().schemas.contains_key(&schema) {
        if if_not_exists {
            return Ok(QueryResult::done());
        }
        return Err(Error::catalog(format!(
            "Schema with name \"{schema}\" already exists!"
        )));
    }
    transaction.create_schema(&schema)?;
    transaction.commit()?;
    Ok(QueryResult::done())
}

pub(super) fn drop(
    connection: &Connection,
    object: ObjectType,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
) -> Result<QueryResult> {
    for name in names {
        match object {
            ObjectType::Table | ObjectType::View => {
                drop_relation(connection, object, if_exists, name)?
            }
            ObjectType::Schema => drop_schema(connection, if_exists, name, cascade)?,
            other => return Err(Error::unsupported(format!("DROP {other} is not supported"))),
        }
    }
    Ok(QueryResult::done())
}

fn drop_relation(
    connection: &Connection,
    object: ObjectType,
    if_exists: bool,
    name: &ObjectName,
) -> Result<()> {
    let (_, resolved, attached) = match resolve_for_write(connection, name) {
        Err(error) if if_exists && error.kind() == crate::ErrorKind::Catalog => return Ok(()),
        other => other?,
    };
    let mut transaction = attached.store.begin()?;
    let snapshot = connection.snapshot();
    match (snapshot.find(&resolved), object) {
        (Some(Relation::Table(_)), ObjectType::Table) => {
            transaction.drop_table(&resolved.schema, &resolved.name)?
        }
        (Some(Relation::View(_)), ObjectType::View) => {
            transaction.drop_view(&resolved.schema, &resolved.name)?
        }
        (Some(Relation::Table(_)), _) => {
            return Err(Error::catalog(format!(
                "{} is a table; use DROP TABLE",
                resolved.name
            )));
        }
        (Some(Relation::View(_)), _) => {
            return Err(Error::catalog(format!(
                "{} is a view; use DROP VIEW",
                resolved.name
            )));
        }
        (None, _) if if_exists => return Ok(()),
        (None, ObjectType::View) => {
            return Err(Error::catalog(format!(
                "View with name {} does not exist!",
                resolved.name
            )));
        }
        (None, _) => return Err(snapshot.unknown(&resolved)),
    }
    transaction.commit()?;
    Ok(())
}

fn drop_schema(
    connection: &Connection,
    if_exists: bool,
    name: &ObjectName,
    cascade: bool,
) -> Result<()> {
    let (database, schema) = schema_parts(connection, name_parts(name)?)?;
    let attached = writable(connection, &database)?;
    let mut transaction = attached.store.begin()?;
    let Some(version) = transaction.catalog().schemas.get(&schema).cloned() else {
        if if_exists {
            return Ok(());
        }
        return Err(Error::catalog(format!(
            "Schema with name \"{schema}\" does not exist!"
        )));
    };
    if schema == "main" {
        return Err(Error::catalog(
            "Cannot drop schema \"main\": every database has it",
        ));
    }
    let empty = version.tables.is_empty() && version.views.is_empty();
    if !cascade && !empty {
        return Err(Error::catalog(format!(
            "Cannot drop schema \"{schema}\" because there are entries that depend on it. Use DROP...CASCADE to drop \
             all dependents."
        )));
    }
    for view in version.views.keys() {
        transaction.drop_view(&schema, view)?;
    }
    for table in version.tables.keys() {
        transaction.drop_table(&schema, table)?;
    }
    transaction.drop_schema(&schema)?;
    transaction.commit()?;
    let mut session = connection.session.lock();
    if session.database == database && session.schema == schema {
        session.schema = "main".into();
    }
    Ok(())
}

pub(super) fn alter_table(
    connection: &Connection,
    alter: ast::AlterTable,
    progress: &Arc<ScanProgress>,
) -> Result<QueryResult> {
    let found = resolve_for_write(connection, &alter.name);
    let (_, name, attached) = match found {
        Err(error) if alter.if_exists && error.kind() == crate::ErrorKind::Catalog => {
            return Ok(QueryResult::done());
        }
        other => other?,
    };
    let mut transaction = attached.store.begin()?;
    let snapshot = connection.snapshot();
    match snapshot.find(&name) {
        Some(Relation::Table(_)) => {}
        Some(Relation::View(_)) => {
            return Err(Error::catalog(format!(
                "{} is a view, not a table",
                name.name
            )));
        }
        None if alter.if_exists => return Ok(QueryResult::done()),
        None => return Err(snapshot.unknown(&name)),
    }
    let mut target = name;
    for operation in alter.operations {
        alter_one(
            connection,
            &mut transaction,
            &snapshot,
            &mut target,
            operation,
            progress,
        )?;
    }
    transaction.commit()?;
    Ok(QueryResult::done())
}

fn alter_one(
    connection: &Connection,
    transaction: &mut Transaction<'_>,
    snapshot: &Snapshot,
    name: &mut TableName,
    operation: AlterTableOperation,
    progress: &Arc<ScanProgress>,
) -> Result<()> {
    use AlterTableOperation as A;
    let columns = table_columns(transaction, name)?;
    let find = |ident: &ast::Ident| {
        let wanted = sql::normalize(ident);
        columns
            .iter()
            .find(|c| c.name == wanted)
            .cloned()
            .ok_or_else(|| {
                Error::binder(format!(
                    "Table \"{}\" does not have a column with name \"{wanted}\"",
                    name.name
                ))
            })
    };
    match operation {
        A::AddColumn {
            if_not_exists,
            column_def,
            ..
        } => {
            let (def, checks) = column_definition(&column_def)?;
            if columns.iter().any(|c| c.name == def.name) {
                if if_not_exists {
                    return Ok(());
                }
                return Err(Error::catalog(format!(
                    "Column with name {} already exists!",
                    def.name
                )));
            }
            if !checks.is_empty() || !def.nullable {
                return Err(Error::unsupported(
                    "Adding columns with constraints not yet supported",
                ));
            }
            validate(
                connection,
                snapshot,
                std::slice::from_ref(&def),
                &[],
                progress,
            )?;
            let column = Column {
                id: 0,
                name: def.name.clone(),
                ty: def.ty.clone(),
                nullable: true,
                default: def.default.clone(),
            };
            let fill = match &def.default {
                Some(_) => Some(default_value(connection, snapshot, &column, progress)?),
                None => None,
            };
            transaction.add_column(&name.schema, &name.name, def, fill)?;
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
                refuse_if_checked(transaction, name, &column.name, "drop")?;
                transaction.drop_column(&name.schema, &name.name, &column.name)?;
            }
        }
        A::RenameColumn {
            old_column_name,
            new_column_name,
        } => {
            let column = find(&old_column_name)?;
            let new_name = sql::normalize(&new_column_name);
            if columns.iter().any(|c| c.name == new_name) {
                return Err(Error::catalog(format!(
                    "Column with name {new_name} already exists!"
                )));
            }
            refuse_if_checked(transaction, name, &column.name, "rename")?;
            transaction.rename_column(&name.schema, &name.name, &column.name, &new_name)?;
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
            let schema = transaction.catalog().schemas.get(&name.schema);
            if schema
                .is_some_and(|s| s.tables.contains_key(new_name) || s.views.contains_key(new_name))
            {
                return Err(Error::catalog(format!(
                    "Table with name \"{new_name}\" already exists!"
                )));
            }
            transaction.rename_table(&name.schema, &name.name, new_name)?;
            name.name = new_name.clone();
        }
        A::AlterColumn { column_name, op } => {
            let mut column = find(&column_name)?;
            match op {
                AlterColumnOperation::SetDefault { value } => {
                    column.default = Some(value.to_string());
                    default_value(connection, snapshot, &column, progress)?;
                }
                AlterColumnOperation::DropDefault => column.default = None,
                AlterColumnOperation::DropNotNull => column.nullable = true,
                AlterColumnOperation::SetNotNull => {
                    if has_nulls(transaction, name, &column)? {
                        return Err(Error::constraint(format!(
                            "NOT NULL constraint failed: {}.{}",
                            name.name, column.name
                        )));
                    }
                    column.nullable = false;
                }
                _ => {
                    return Err(Error::unsupported(
                        "ALTER COLUMN ... TYPE is not there yet; use CREATE TABLE AS with a CAST",
                    ));
                }
            }
            transaction.set_column(
                &name.schema,
                &name.name,
                &column.name,
                column.nullable,
                column.default,
            )?;
        }
        _ => {
            return Err(Error::unsupported(
                "this form of ALTER TABLE is not supported",
            ));
        }
    }
    Ok(())
}

/// A CHECK names columns in its text: changing one under it would break it.
fn refuse_if_checked(
    transaction: &Transaction<'_>,
    name: &TableName,
    column: &str,
    what: &str,
) -> Result<()> {
    let Some(table) = transaction.catalog().table(&name.schema, &name.name) else {
        return Ok(());
    };
    for check in &table.checks {
        let expr = parse_expr(&check.sql)?;
        let mut names = HashSet::new();
        let _ = ast::visit_expressions(&expr, |e| {
            if let ast::Expr::Identifier(ident) = e {
                names.insert(sql::normalize(ident));
            }
            std::ops::ControlFlow::<()>::Continue(())
        });
        if names.contains(column) {
            return Err(Error::catalog(format!(
                "Cannot {what} column \"{column}\" because there is a CHECK constraint that depends on it"
            )));
        }
    }
    Ok(())
}

/// Whether any visible row has NULL in a column.
fn has_nulls(transaction: &Transaction<'_>, name: &TableName, column: &Column) -> Result<bool> {
    let Some(table) = transaction.catalog().table(&name.schema, &name.name) else {
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
        let values = transaction
            .store()
            .read_column(group, column, visible.as_ref())?;
        if values.null_count() > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}
