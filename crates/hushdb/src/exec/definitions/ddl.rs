//! CREATE and DROP of tables, views and schemas.
//!
//! What must hold: what is refused leaves nothing behind: all changes of a statement are one [`Write`], which `commit` keeps.

use super::indexes::{self, Key};
use super::{defaults, foreign_keys, sequences};
use crate::exec::columns::{generated, identity};
use crate::exec::rows::load::{self, RowRules};
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use datafusion::sql::sqlparser::ast::{
    self, ColumnOption, ObjectName, ObjectType, SchemaName, TableConstraint,
};
use hushdb_query::plan::{Relation, Snapshot, TEMP, TableName, known_as};
use hushdb_sql::type_names::{column_type, stored_type};
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{self as sql, Error, Result, name_parts, sqlstate};
use hushdb_storage::{
    Check, Column, ColumnDef, ColumnId, ColumnType, MAIN_SCHEMA, SchemaVersion, TableId, View,
    same_name,
};
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(in crate::exec) fn create_table(
    statement: &Statement<'_>,
    create: ast::CreateTable,
) -> Result<QueryResult> {
    let own = statement.for_new(create.temporary)?;
    let statement = own.as_ref().unwrap_or(statement);
    if create.external
        || create.like.is_some()
        || create.clone.is_some()
        || create.partition_by.is_some()
    {
        return Err(Error::unsupported(
            "this form of CREATE TABLE is not supported",
        ));
    }
    let (name, mut write) = statement.resolve_new(&create.name, create.temporary)?;
    if !make_room(
        statement.snapshot(),
        &mut write,
        &name,
        create.or_replace,
        create.if_not_exists,
    )? {
        return Ok(QueryResult::done());
    }
    let Some(query) = create.query else {
        let mut columns = create.columns;
        let postgres = statement.session.settings.lock().postgres;
        let mut own = match postgres {
            true => identity::take(&mut columns)?,
            false => vec![],
        };
        let mut defined = definition(&columns, &create.constraints, postgres)?;
        name_checks(postgres, &name.name, &mut defined)?;
        let untyped = generated_without_type(&columns);
        settle_generated(statement, &mut defined, &untyped)?;
        indexes::apply(&name.name, &defined.keys, &mut defined.columns)?;
        let Definition {
            columns,
            checks,
            keys,
            references,
        } = defined;
        validate(statement, &name, &columns, &checks)?;
        let mut columns = columns;
        identity::fill(&write, &name, &mut own, &mut columns);
        write.create_table(&name.schema, &name.name, columns, checks)?;
        identity::create(&mut write, &name, own)?;
        for key in keys {
            indexes::create(&mut write, &name, key)?;
        }
        for reference in references {
            foreign_keys::create(statement, &mut write, &name, &reference)?;
        }
        write.commit()?;
        return Ok(QueryResult::done());
    };
    let plain =
        |c: &ast::ColumnDef| c.options.is_empty() && c.data_type == ast::DataType::Unspecified;
    if !create.columns.iter().all(plain) || !create.constraints.is_empty() {
        return Err(Error::binder(
            "CREATE TABLE AS takes column names only; types come from the query",
        ));
    }
    let names = create.columns.iter().map(|c| c.name.value.clone());
    let names: Vec<String> = names.collect();
    let rows = fill_from_query(statement, &mut write, &name, *query, &names)?;
    write.commit()?;
    Ok(QueryResult::count(rows))
}

/// Makes the table that a query describes, and writes the query's rows into it.
fn fill_from_query(
    statement: &Statement<'_>,
    write: &mut Write<'_>,
    name: &TableName,
    query: ast::Query,
    names: &[String],
) -> Result<u64> {
    let planner = statement.planner();
    let (plan, columns) = named_columns(planner.plan_query(query)?, names)?;
    write.create_table(&name.schema, &name.name, columns, vec![])?;
    let columns = table_columns(write, name)?;
    let sources: Vec<Option<usize>> = (0..columns.len()).map(Some).collect();
    let plan = load::project(&planner, plan, name, &columns, &sources)?;
    let rules = RowRules::new(&planner, &name.name, &columns, &[])?;
    load::load(statement, write, name, &plan, rules)
}

pub(in crate::exec) fn table_columns(write: &Write<'_>, name: &TableName) -> Result<Vec<Column>> {
    match write.catalog().table(&name.schema, &name.name) {
        Some(table) => Ok(table.columns.to_vec()),
        None => Err(Error::internal(
            "the new table is not in its own transaction",
        )),
    }
}

/// Clears the way for a new table or view. False when IF NOT EXISTS leaves the old one.
fn make_room(
    snapshot: &Snapshot,
    write: &mut Write<'_>,
    name: &TableName,
    or_replace: bool,
    if_not_exists: bool,
) -> Result<bool> {
    let kind = match snapshot.find(name) {
        None => return Ok(true),
        Some(_) if if_not_exists => return Ok(false),
        Some(Relation::Table(_)) if or_replace => {
            foreign_keys::refuse_drop(write, name)?;
            write.drop_table(&name.schema, &name.name)?;
            return Ok(true);
        }
        Some(Relation::View(_)) if or_replace => {
            write.drop_view(&name.schema, &name.name)?;
            return Ok(true);
        }
        Some(Relation::Table(_)) => "Table",
        Some(Relation::View(_)) => "View",
    };
    Err(Error::catalog(format!(
        "{kind} with name \"{}\" already exists!",
        name.name
    ))
    .with_sqlstate(sqlstate::DUPLICATE_TABLE))
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
        columns.push(ColumnDef {
            name: sql::unique(&mut taken, wanted),
            ty: stored_type(field)?,
            nullable: true,
            default: None,
            generated: None,
            declared: None,
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

/// What a table is defined to be.
#[derive(Default)]
pub(in crate::exec) struct Definition {
    pub(in crate::exec) columns: Vec<ColumnDef>,
    pub(in crate::exec) checks: Vec<Check>,
    pub(in crate::exec) keys: Vec<Key>,
    pub(in crate::exec) references: Vec<foreign_keys::Reference>,
}

/// Gives conditions without a name those of PostgreSQL, in its dialect: `table_column_check` where they are of one column.
fn name_checks(postgres: bool, table: &str, defined: &mut Definition) -> Result<()> {
    let named = defined.checks.iter().filter_map(|check| check.name.clone());
    let mut taken: HashSet<String> = named.collect();
    for check in &mut defined.checks {
        if check.name.is_some() || !postgres {
            continue;
        }
        let mut columns: Vec<&str> = vec![];
        let expr = sql::parse_expr(&check.sql)?;
        let _: ControlFlow<()> = visit_expressions(&expr, |expr| {
            if let ast::Expr::Identifier(name) = expr
                && let Some(column) = defined
                    .columns
                    .iter()
                    .find(|column| same_name(&column.name, &name.value))
                && !columns.contains(&column.name.as_str())
            {
                columns.push(&column.name);
            }
            ControlFlow::Continue(())
        });
        let base = match columns.as_slice() {
            [column] => format!("{table}_{column}_check"),
            _ => format!("{table}_check"),
        };
        let numbered = (1..).map(|n: usize| format!("{base}{n}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        check.name = names.find(|name| taken.insert(name.clone()));
    }
    Ok(())
}

/// Checks the generated columns of a definition, and gives those a type that have none.
fn settle_generated(
    statement: &Statement<'_>,
    defined: &mut Definition,
    untyped: &[usize],
) -> Result<()> {
    let keyed = defined.keys.iter().flat_map(|key| key.columns.clone());
    let keyed: Vec<String> = keyed.collect();
    let mut defined = generated::Defined {
        columns: &mut defined.columns,
        checks: &defined.checks,
        keyed: &keyed,
    };
    let schema_of = |columns: &[ColumnDef]| load::planned_schema(&as_columns(columns));
    generated::settle(&statement.planner(), &mut defined, untyped, schema_of)
}

/// Whether a type stands for what an expression gives.
fn is_of_expression(ty: &ast::DataType) -> bool {
    matches!(ty, ast::DataType::Custom(name, _) if sql::same_parts(name, sql::OF_EXPRESSION))
}

/// Places of the columns whose type is what their expression gives.
fn generated_without_type(columns: &[ast::ColumnDef]) -> Vec<usize> {
    let columns = columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| is_of_expression(&column.data_type));
    columns.map(|(at, _)| at).collect()
}

/// What `CREATE TABLE t (...)` says.
fn definition(
    columns: &[ast::ColumnDef],
    constraints: &[TableConstraint],
    postgres: bool,
) -> Result<Definition> {
    if columns.is_empty() {
        return Err(Error::parser("Table must have at least one column!"));
    }
    let mut defined = Definition::default();
    for column in columns {
        column_definition(column, &mut defined, postgres)?;
    }
    for constraint in constraints {
        if let Some(reference) = foreign_keys::of_table(constraint)? {
            defined.references.push(reference);
            continue;
        }
        match (constraint, indexes::of_table(constraint)?) {
            (_, Some(key)) => defined.keys.push(key),
            (TableConstraint::Check(check), None) => defined.checks.push(Check {
                name: check.name.as_ref().map(|name| name.value.clone()),
                sql: sql::sql_text(check.expr.as_ref()),
            }),
            (other, None) => {
                return Err(Error::unsupported(format!(
                    "the constraint {other} is not supported"
                )));
            }
        }
    }
    Ok(defined)
}

/// Adds what a column's definition says.
pub(in crate::exec) fn column_definition(
    column: &ast::ColumnDef,
    to: &mut Definition,
    postgres: bool,
) -> Result<()> {
    let mut def = ColumnDef {
        name: column.name.value.clone(),
        ty: match is_of_expression(&column.data_type) {
            true => ColumnType::Varchar,
            false => column_type(&column.data_type)?,
        },
        nullable: true,
        default: None,
        generated: None,
        declared: sql::declared(&column.data_type)?,
    };
    if def.name.starts_with('$') {
        return Err(Error::binder("a column's name cannot begin with $"));
    }
    if to.columns.iter().any(|d| same_name(&d.name, &def.name)) {
        return Err(
            Error::catalog(format!("Column with name {} already exists!", def.name))
                .with_sqlstate(sqlstate::DUPLICATE_COLUMN),
        );
    }
    for option in &column.options {
        if let Some(key) = indexes::of_column(&def.name, option)? {
            to.keys.push(key);
            continue;
        }
        if let Some(reference) = foreign_keys::of_column(&def.name, &option.option)? {
            to.references.push(reference);
            continue;
        }
        match &option.option {
            ColumnOption::Collation(name) => def.ty = collated(def.ty, name)?,
            ColumnOption::Null => def.nullable = true,
            ColumnOption::NotNull => def.nullable = false,
            ColumnOption::Default(expr) => def.default = Some(sql::sql_text(expr)),
            ColumnOption::Generated {
                generation_expr: Some(expr),
                generation_expr_mode: mode,
                ..
            } => {
                let text = generated::expression(&def.name, expr, *mode, postgres)?;
                def.generated = Some(text);
            }
            ColumnOption::Check(check) => to.checks.push(Check {
                name: option.name.as_ref().map(|name| name.value.clone()),
                sql: sql::sql_text(check.expr.as_ref()),
            }),
            other => {
                return Err(Error::unsupported(format!(
                    "the column option {other} is not supported"
                )));
            }
        }
    }
    to.columns.push(def);
    Ok(())
}

/// The type of texts that a collation compares.
fn collated(ty: ColumnType, name: &ast::ObjectName) -> Result<ColumnType> {
    if ty != ColumnType::Varchar {
        return Err(Error::parser("Only VARCHAR columns can have collations!"));
    }
    Ok(sql::collation(name)?.map_or(ty, ColumnType::Collated))
}

/// Columns that are not there yet.
pub(in crate::exec) fn as_columns(columns: &[ColumnDef]) -> Vec<Column> {
    let columns = columns.iter().map(|def| Column {
        id: ColumnId::default(),
        name: def.name.clone(),
        ty: def.ty.clone(),
        nullable: def.nullable,
        default: def.default.clone(),
        generated: def.generated.clone(),
        declared: def.declared,
    });
    columns.collect()
}

/// Plans every default and check once, so that a mistake shows at CREATE and not at the first INSERT.
pub(in crate::exec) fn validate(
    statement: &Statement<'_>,
    place: &TableName,
    columns: &[ColumnDef],
    checks: &[Check],
) -> Result<()> {
    let planner = statement.planner();
    let columns = as_columns(columns);
    for column in &columns {
        if column.default.is_some() {
            defaults::check(statement, place, column)?;
        }
    }
    RowRules::new(&planner, "", &columns, checks)?;
    Ok(())
}

pub(in crate::exec) fn create_view(
    statement: &Statement<'_>,
    view: ast::CreateView,
) -> Result<QueryResult> {
    if view.materialized {
        return Err(Error::unsupported("MATERIALIZED views are not supported"));
    }
    let own = statement.for_new(view.temporary)?;
    let statement = own.as_ref().unwrap_or(statement);
    let (name, mut write) = statement.resolve_new(&view.name, view.temporary)?;
    if !make_room(
        statement.snapshot(),
        &mut write,
        &name,
        view.or_replace,
        view.if_not_exists,
    )? {
        return Ok(QueryResult::done());
    }
    // Planned once, so that a mistake shows now: as it will be read, with names looked for where the view is.
    let there = statement.snapshot().at(&name.database, &name.schema);
    let plan = statement
        .planner_on(&there)
        .plan_query((*view.query).clone())?;
    let columns: Vec<String> = view.columns.iter().map(|c| c.name.value.clone()).collect();
    if columns.len() > plan.schema().fields().len() {
        return Err(Error::binder(
            "More VIEW aliases than columns in query result",
        ));
    }
    let stored = View {
        name: name.name.clone(),
        sql: sql::sql_text(view.query.as_ref()),
        columns,
    };
    write.create_view(&name.schema, stored)?;
    write.commit()?;
    Ok(QueryResult::done())
}

/// `ALTER VIEW name RENAME TO new_name`.
pub(in crate::exec) fn rename_view(
    statement: &Statement<'_>,
    name: &ObjectName,
    if_exists: bool,
    new_name: String,
) -> Result<QueryResult> {
    let (resolved, mut write) = match statement.resolve_for_write(name) {
        Err(error) if if_exists && error.kind() == crate::ErrorKind::Catalog => {
            return Ok(QueryResult::done());
        }
        other => other?,
    };
    match statement.snapshot().find(&resolved) {
        Some(Relation::View(_)) => {}
        Some(Relation::Table(_)) => {
            return Err(Error::catalog(format!(
                "{} is a table; use ALTER TABLE",
                resolved.name
            )));
        }
        None if if_exists => return Ok(QueryResult::done()),
        None => {
            return Err(Error::catalog(format!(
                "View with name {} does not exist!",
                resolved.name
            ))
            .with_sqlstate(sqlstate::UNDEFINED_TABLE));
        }
    }
    let taken = TableName {
        name: new_name.clone(),
        ..resolved.clone()
    };
    let is_own = sql::folded(&new_name) == sql::folded(&resolved.name);
    if !is_own && statement.snapshot().find(&taken).is_some() {
        return Err(Error::catalog(format!(
            "Could not rename \"{}\" to \"{new_name}\": another entry with this name already exists!",
            resolved.name
        ))
        .with_sqlstate(sqlstate::DUPLICATE_TABLE));
    }
    write.rename_view(&resolved.schema, &resolved.name, &new_name)?;
    write.commit()?;
    Ok(QueryResult::done())
}

/// `schema` or `database.schema`.
fn schema_parts(snapshot: &Snapshot, parts: Vec<String>) -> Result<(String, String)> {
    match <[String; 2]>::try_from(parts) {
        Ok([database, schema]) => match known_as(&snapshot.databases, &database) {
            Some((database, _)) => Ok((database.clone(), schema)),
            None => Ok((database, schema)),
        },
        Err(parts) => match <[String; 1]>::try_from(parts) {
            Ok([schema]) => Ok((snapshot.current_database.clone(), schema)),
            Err(_) => Err(Error::binder(
                "a schema's name is schema or database.schema",
            )),
        },
    }
}

/// What becomes of a schema of that name.
enum WhenThere {
    Fail,
    Keep,
    /// By an empty one; as in DuckDB it must be empty itself.
    Replace,
}

pub(in crate::exec) fn create_schema(
    statement: &Statement<'_>,
    name: &SchemaName,
    if_not_exists: bool,
) -> Result<QueryResult> {
    match if_not_exists {
        true => new_schema(statement, name, WhenThere::Keep),
        false => new_schema(statement, name, WhenThere::Fail),
    }
}

/// `CREATE OR REPLACE SCHEMA`.
pub(in crate::exec) fn replace_schema(
    statement: &Statement<'_>,
    name: ObjectName,
) -> Result<QueryResult> {
    new_schema(statement, &SchemaName::Simple(name), WhenThere::Replace)
}

fn new_schema(
    statement: &Statement<'_>,
    name: &SchemaName,
    there: WhenThere,
) -> Result<QueryResult> {
    let SchemaName::Simple(name) = name else {
        return Err(Error::unsupported("CREATE SCHEMA takes a name only"));
    };
    let snapshot = statement.snapshot();
    let (database, schema) = schema_parts(snapshot, name_parts(name)?)?;
    if same_name(&database, TEMP) {
        return Err(Error::invalid(format!(
            "Cannot create non-temporary entry \"{schema}\" in temporary catalog"
        )));
    }
    let mut write = statement.write(&database)?;
    if let Some((known, version)) = known_as(&write.catalog().schemas, &schema) {
        match there {
            WhenThere::Keep => return Ok(QueryResult::done()),
            WhenThere::Replace if known == MAIN_SCHEMA => {
                return Err(Error::catalog(
                    "Cannot drop entry \"main\" because it is an internal system entry",
                ));
            }
            WhenThere::Replace if version.is_empty() => return Ok(QueryResult::done()),
            WhenThere::Replace => return Err(not_empty(known)),
            WhenThere::Fail => {}
        }
        return Err(
            Error::catalog(format!("Schema with name \"{schema}\" already exists!"))
                .with_sqlstate(sqlstate::DUPLICATE_SCHEMA),
        );
    }
    write.create_schema(&schema)?;
    write.commit()?;
    Ok(QueryResult::done())
}

pub(in crate::exec) fn drop(
    statement: &Statement<'_>,
    object: ObjectType,
    if_exists: bool,
    names: &[ObjectName],
    cascade: bool,
) -> Result<QueryResult> {
    // One by one they would be transactions of their own, of which some could fail.
    let [name] = names else {
        return Err(Error::unsupported("Can only drop one object at a time"));
    };
    match object {
        ObjectType::Table | ObjectType::View => drop_relation(statement, object, if_exists, name)?,
        ObjectType::Schema => drop_schema(statement, if_exists, name, cascade)?,
        ObjectType::Index => indexes::drop_index(statement, if_exists, name)?,
        ObjectType::Sequence => sequences::drop(statement, if_exists, name)?,
        other => return Err(Error::unsupported(format!("DROP {other} is not supported"))),
    }
    Ok(QueryResult::done())
}

fn drop_relation(
    statement: &Statement<'_>,
    object: ObjectType,
    if_exists: bool,
    name: &ObjectName,
) -> Result<()> {
    let (resolved, mut write) = match statement.resolve_for_write(name) {
        Err(error) if if_exists && error.kind() == crate::ErrorKind::Catalog => return Ok(()),
        other => other?,
    };
    match (statement.snapshot().find(&resolved), object) {
        (Some(Relation::Table(_)), ObjectType::Table) => {
            foreign_keys::refuse_drop(&write, &resolved)?;
            write.drop_table(&resolved.schema, &resolved.name)?
        }
        (Some(Relation::View(_)), ObjectType::View) => {
            write.drop_view(&resolved.schema, &resolved.name)?
        }
        (Some(Relation::Table(_)), _) => {
            return Err(Error::catalog(format!(
                "Existing object {} is of type Table, trying to drop type View",
                resolved.name
            )));
        }
        (Some(Relation::View(_)), _) => {
            return Err(Error::catalog(format!(
                "Existing object {} is of type View, trying to drop type Table",
                resolved.name
            )));
        }
        (None, _) if if_exists => return Ok(()),
        (None, ObjectType::View) => {
            return Err(Error::catalog(format!(
                "View with name {} does not exist!",
                resolved.name
            ))
            .with_sqlstate(sqlstate::UNDEFINED_TABLE));
        }
        (None, _) => return Err(statement.snapshot().unknown(&resolved)),
    }
    write.commit()
}

/// The tables of a schema, those whose rows name rows of others before these.
fn children_first(version: &SchemaVersion) -> Vec<&String> {
    let mut left: Vec<_> = version.tables.iter().collect();
    let mut sorted = vec![];
    while !left.is_empty() {
        let is_named = |id: TableId| {
            let mut keys = version.foreign_keys.iter();
            keys.any(|key| {
                let child = left.iter().find(|(_, table)| table.id == key.child);
                key.parent == id && key.child != id && child.is_some()
            })
        };
        let free = left.iter().position(|(_, table)| !is_named(table.id));
        // What is left names each other, and is refused when it is dropped.
        sorted.push(left.remove(free.unwrap_or(0)).0);
    }
    sorted
}

fn not_empty(schema: &str) -> Error {
    Error::catalog(format!(
        "Cannot drop schema \"{schema}\" because there are entries that depend on it. Use DROP...CASCADE to drop \
         all dependents."
    ))
}

fn drop_schema(
    statement: &Statement<'_>,
    if_exists: bool,
    name: &ObjectName,
    cascade: bool,
) -> Result<()> {
    let snapshot = statement.snapshot();
    let (database, schema) = schema_parts(snapshot, name_parts(name)?)?;
    let mut write = statement.write(&database)?;
    let found = known_as(&write.catalog().schemas, &schema);
    let Some((schema, version)) = found.map(|(name, version)| (name.clone(), Arc::clone(version)))
    else {
        if if_exists {
            return Ok(());
        }
        return Err(
            Error::catalog(format!("Schema with name {schema} does not exist!"))
                .with_sqlstate(sqlstate::UNKNOWN_SCHEMA),
        );
    };
    if schema == "main" {
        return Err(Error::catalog(
            "Cannot drop schema \"main\": every database has it",
        ));
    }
    if !cascade && !version.is_empty() {
        return Err(not_empty(&schema));
    }
    for view in version.views.keys() {
        write.drop_view(&schema, view)?;
    }
    for table in children_first(&version) {
        write.drop_table(&schema, table)?;
    }
    write.drop_schema(&schema)?;
    write.commit()?;
    let mut session = statement.session.settings.lock();
    if session.database == database && session.schema == schema {
        session.schema = "main".into();
    }
    Ok(())
}
