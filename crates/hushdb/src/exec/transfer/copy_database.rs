//! `COPY FROM DATABASE a TO b`: definitions and rows of a whole database, into another one: the way to encrypt a plain
//! database, to get one out of its key, or to give it another.
//!
//! What must hold: the copy is one transaction on the target. Names that are taken are found before a row is written.

use crate::exec::columns::generated;
use crate::exec::definitions::foreign_keys;
use crate::exec::rows::load::{self, RowRules};
use crate::result::QueryResult;
use crate::statement::Statement;
use crate::transaction::Write;
use datafusion::sql::sqlparser::ast::{self, Expr, Ident, ObjectName, ObjectNamePart, VisitorMut};
use hushdb_query::plan::{DatabaseSnapshot, Snapshot, TableName, known_as};
use hushdb_sql::walk::visit_mut;
use hushdb_sql::{self as sql, DatabaseParts, Error, Result, name_parts, sqlstate};
use hushdb_storage::{
    CatalogVersion, ColumnDef, IndexDef, MAIN_SCHEMA, Macro, TableId, TableVersion, UserType, View,
    same_name,
};
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What is copied, and where it goes.
pub(in crate::exec) struct Copied<'a> {
    pub(in crate::exec) from: &'a str,
    pub(in crate::exec) to: &'a str,
    pub(in crate::exec) parts: DatabaseParts,
    /// The schema of the target that what is in `main` goes to.
    pub(in crate::exec) main_as: &'a str,
}

impl<'a> Copied<'a> {
    /// Every schema goes to that of its name.
    pub(in crate::exec) fn same(from: &'a str, to: &'a str, parts: DatabaseParts) -> Self {
        Self {
            from,
            to,
            parts,
            main_as: MAIN_SCHEMA,
        }
    }
}

pub(in crate::exec) fn copy_database(
    statement: &Statement<'_>,
    Copied {
        from,
        to,
        parts,
        main_as,
    }: Copied<'_>,
) -> Result<QueryResult> {
    let snapshot = statement.snapshot();
    let (from, source) = snapshot.known_database(from)?;
    let to = target(snapshot, to)?;
    if from == to {
        return Err(Error::binder(format!(
            "Cannot copy from \"{from}\" to \"{to}\" - FROM and TO databases are the same"
        )));
    }
    let mut write = statement.write(to)?;
    match parts {
        DatabaseParts::Data => require_tables(&source.version, write.catalog(), main_as)?,
        _ => refuse_taken_names(&source.version, write.catalog(), main_as)?,
    }
    if parts != DatabaseParts::Data {
        define(&mut write, from, source, main_as)?;
    }
    let mut rows = 0;
    if parts != DatabaseParts::Schema {
        let tables = source.version.tables();
        statement
            .progress
            .plan_all(tables.map(|table| table.row_count()).sum());
        for (schema, table) in source.version.named_tables() {
            let from = TableName {
                database: from.into(),
                schema: schema.into(),
                name: table.name.clone(),
            };
            let schema = schema_in(schema, main_as);
            let (schema, name) = place_in(write.catalog(), schema, &table.name)?;
            let to = TableName {
                database: to.into(),
                schema,
                name,
            };
            rows += copy_rows(statement, &mut write, &from, &to)?;
        }
    }
    if parts != DatabaseParts::Data {
        // Over rows that are there: each table's keys are sorted once.
        for (schema, table) in source.version.named_tables() {
            for index in table.indexes() {
                let index = IndexDef {
                    name: index.name().into(),
                    kind: index.kind(),
                    columns: crate::exec::definitions::indexes::column_names(table, index),
                };
                statement.progress.check()?;
                let schema = schema_in(schema, main_as);
                let (schema, name) = place_in(write.catalog(), schema, &table.name)?;
                write.create_index(&schema, &name, index)?;
            }
        }
        name_rows(&mut write, &source.version, main_as)?;
    }
    write.commit()?;
    match parts {
        DatabaseParts::Data => Ok(QueryResult::count(rows)),
        _ => Ok(QueryResult::done()),
    }
}

/// Makes the foreign keys of the source, whose indexes are there.
fn name_rows(write: &mut Write<'_>, source: &CatalogVersion, main_as: &str) -> Result<()> {
    for (name, within) in &source.schemas {
        let table = |id: TableId| within.tables.values().find(|table| table.id == id);
        for key in &within.foreign_keys {
            let (Some(child), Some(parent)) = (table(key.child), table(key.parent)) else {
                continue;
            };
            let (schema, child_name) =
                place_in(write.catalog(), schema_in(name, main_as), &child.name)?;
            let (_, parent_name) =
                place_in(write.catalog(), schema_in(name, main_as), &parent.name)?;
            write.create_foreign_key(
                &schema,
                (
                    &child_name,
                    &foreign_keys::column_names(child, &key.columns),
                ),
                (
                    &parent_name,
                    &foreign_keys::column_names(parent, &key.parent_columns),
                ),
                String::new(),
            )?;
        }
    }
    Ok(())
}

/// The schema of the target that one of the source becomes.
fn schema_in<'a>(schema: &'a str, main_as: &'a str) -> &'a str {
    match schema {
        MAIN_SCHEMA => main_as,
        other => other,
    }
}

fn refuse_taken_names(
    source: &CatalogVersion,
    target: &CatalogVersion,
    main_as: &str,
) -> Result<()> {
    for (name, schema) in &source.schemas {
        let Some((_, there)) = known_as(&target.schemas, schema_in(name, main_as)) else {
            continue;
        };
        let kind =
            |name: &String| match (known_as(&there.tables, name), known_as(&there.views, name)) {
                (Some(_), _) => Some("Table"),
                (_, Some(_)) => Some("View"),
                _ => None,
            };
        let mut names = schema.tables.keys().chain(schema.views.keys());
        if let Some((name, kind)) = names.find_map(|name| Some((name, kind(name)?))) {
            return Err(
                Error::catalog(format!("{kind} with name \"{name}\" already exists!"))
                    .with_sqlstate(sqlstate::DUPLICATE_TABLE),
            );
        }
        let mut sequences = schema.sequences.keys();
        if let Some(name) = sequences.find(|name| known_as(&there.sequences, name).is_some()) {
            return Err(
                Error::catalog(format!("Sequence with name \"{name}\" already exists!"))
                    .with_sqlstate(sqlstate::DUPLICATE_TABLE),
            );
        }
        let mut types = schema.types.keys();
        if let Some(name) = types.find(|name| known_as(&there.types, name).is_some()) {
            return Err(
                Error::catalog(format!("Type with name \"{name}\" already exists!"))
                    .with_sqlstate(sqlstate::DUPLICATE_OBJECT),
            );
        }
        for of_tables in [false, true] {
            let mut macros = schema.macros_of(of_tables).keys();
            let taken = macros.find(|name| known_as(there.macros_of(of_tables), name).is_some());
            if let Some(name) = taken {
                return Err(Error::catalog(format!(
                    "Macro Function with name \"{name}\" already exists!"
                ))
                .with_sqlstate(sqlstate::DUPLICATE_FUNCTION));
            }
        }
        let index_names = |schema: &hushdb_storage::SchemaVersion| -> Vec<String> {
            let indexes = schema.tables.values().flat_map(|table| table.indexes());
            indexes.map(|index| index.name().to_string()).collect()
        };
        let taken = index_names(there);
        if let Some(name) = index_names(schema)
            .iter()
            .find(|name| taken.iter().any(|known| same_name(known, name)))
        {
            return Err(
                Error::catalog(format!("Index with name \"{name}\" already exists!"))
                    .with_sqlstate(sqlstate::DUPLICATE_OBJECT),
            );
        }
    }
    Ok(())
}

/// What a table of the source and its schema are called in the target.
fn place_in(target: &CatalogVersion, schema: &str, table: &str) -> Result<(String, String)> {
    let place = known_as(&target.schemas, schema).and_then(|(schema, within)| {
        let (name, _) = known_as(&within.tables, table)?;
        Some((schema.clone(), name.clone()))
    });
    place.ok_or_else(|| {
        Error::catalog(format!(
            "Table with name {table} does not exist! Copy definitions first: COPY FROM DATABASE ... (SCHEMA)"
        ))
.with_sqlstate(sqlstate::UNDEFINED_TABLE)
    })
}

fn require_tables(source: &CatalogVersion, target: &CatalogVersion, main_as: &str) -> Result<()> {
    for (schema, table) in source.named_tables() {
        let (schema, name) = place_in(target, schema_in(schema, main_as), &table.name)?;
        let there = target.table(&schema, &name);
        let there = there.ok_or_else(|| Error::internal("a table that was found is gone"))?;
        if let Some(column) = table
            .columns
            .iter()
            .find(|c| there.column(&c.name).is_none())
        {
            return Err(Error::binder(format!(
                "Table \"{}\" does not have a column with name \"{}\"",
                table.name, column.name
            ))
            .with_sqlstate(sqlstate::UNDEFINED_COLUMN));
        }
    }
    Ok(())
}

/// Makes schemas, tables without their keys, sequences where they are, and views.
fn define(
    write: &mut Write<'_>,
    from: &str,
    source: &DatabaseSnapshot,
    main_as: &str,
) -> Result<()> {
    for (name, schema) in &source.version.schemas {
        let name = schema_in(name, main_as);
        let known = known_as(&write.catalog().schemas, name).map(|(known, _)| known.clone());
        if known.is_none() {
            write.create_schema(name)?;
        }
        let name = known.as_deref().unwrap_or(name);
        for table in schema.tables.values() {
            let columns = table.columns.iter().map(|column| ColumnDef {
                name: column.name.clone(),
                ty: column.ty.clone(),
                nullable: column.nullable,
                default: column.default.clone(),
                generated: column.generated.clone(),
                declared: column.declared,
            });
            write.create_table(name, &table.name, columns.collect(), table.checks.clone())?;
        }
        for sequence in schema.sequences.values() {
            write.create_sequence(name, sequence.to_def())?;
            if let Some((table, column)) = sequence.owner_in(schema) {
                let column = column.map(|column| column.name.as_str());
                let owner = Some((table.name.as_str(), column));
                write.set_sequence_owner(name, &sequence.name, owner, sequence.used())?;
            }
        }
        for one in schema.types.values() {
            write.create_type(name, UserType::clone(one))?;
        }
        for of_tables in [false, true] {
            for one in schema.macros_of(of_tables).values() {
                write.create_macro(name, Macro::clone(one), of_tables)?;
            }
        }
        for view in schema.views.values() {
            let view = View {
                sql: view_sql(view, from, &source.version, main_as)?,
                ..View::clone(view)
            };
            write.create_view(name, view)?;
        }
        for (on, text) in &schema.comments {
            write.set_comment(name, on.clone(), Some(text))?;
        }
    }
    Ok(())
}

/// The database that is copied into.
///
/// # Errors
/// `InvalidInput` for what is a connection's own.
fn target<'a>(snapshot: &'a Snapshot, name: &str) -> Result<&'a str> {
    let (name, found) = snapshot.known_database(name)?;
    match found.is_temporary {
        true => Err(Error::invalid(
            "Cannot copy a database into the temporary catalog; CREATE TEMP TABLE ... AS copies a table",
        )),
        false => Ok(name),
    }
}

/// A query of all rows of a table.
pub(in crate::exec) fn select_all(
    database: &str,
    schema: &str,
    table: &str,
) -> Result<ast::Statement> {
    let name = [database, schema, table].map(sql::quoted).join(".");
    sql::parse_one(&format!("SELECT * FROM {name}"))
}

/// A query of what a table's rows are given: all but what is generated.
pub(in crate::exec) fn select_given(
    database: &str,
    schema: &str,
    table: &TableVersion,
) -> Result<ast::Statement> {
    if !generated::has_any(table) {
        return select_all(database, schema, &table.name);
    }
    let columns = generated::given(table).into_iter();
    let columns: Vec<String> = columns
        .map(|at| sql::quoted(&table.columns[at].name))
        .collect();
    let name = [database, schema, &table.name].map(sql::quoted).join(".");
    sql::parse_one(&format!("SELECT {} FROM {name}", columns.join(", ")))
}

/// Adds a table's rows to another of the same columns, by their names.
fn copy_rows(
    statement: &Statement<'_>,
    write: &mut Write<'_>,
    from: &TableName,
    to: &TableName,
) -> Result<u64> {
    let Some(target) = write.catalog().table(&to.schema, &to.name).map(Arc::clone) else {
        return Err(Error::internal("the copy of a table is not there"));
    };
    let planner = statement.planner();
    let all = select_all(&from.database, &from.schema, &from.name)?;
    let plan = planner.plan_statement(all)?;
    let sources = target.columns.iter().map(|column| {
        let fields = plan.schema().fields().iter();
        sql::position_of(fields.map(|field| field.name().as_str()), &column.name)
    });
    let sources: Vec<Option<usize>> = sources.collect();
    let plan = load::project(&planner, plan, to, &target.columns, &sources)?;
    let rules = RowRules::new(&planner, &to.name, &target.columns, &target.checks)?;
    load::load(statement, write, to, &plan, rules)
}

/// A view's query without the name that its own database has now, by which it would not find its tables elsewhere.
pub(in crate::exec) fn sql_without_database(
    view: &View,
    database: &str,
    catalog: &CatalogVersion,
) -> Result<String> {
    view_sql(view, database, catalog, MAIN_SCHEMA)
}

/// The same where schema `main` is called otherwise.
fn view_sql(
    view: &View,
    database: &str,
    catalog: &CatalogVersion,
    main_as: &str,
) -> Result<String> {
    let ast::Statement::Query(mut query) = sql::parse_one(&view.sql)? else {
        return Ok(view.sql.clone());
    };
    let mut unqualify = Unqualify {
        database,
        catalog,
        main_as,
    };
    let ControlFlow::Continue(()) = visit_mut(query.as_mut(), &mut unqualify);
    Ok(sql::sql_text(query.as_ref()))
}

struct Unqualify<'a> {
    database: &'a str,
    catalog: &'a CatalogVersion,
    main_as: &'a str,
}

impl Unqualify<'_> {
    /// Whether a name of a schema is that of `main`, which is called otherwise in the target.
    fn is_renamed(&self, schema: &str) -> bool {
        self.main_as != MAIN_SCHEMA && same_name(schema, MAIN_SCHEMA)
    }
}

impl VisitorMut for Unqualify<'_> {
    type Break = Infallible;

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Infallible> {
        let Ok(parts) = name_parts(relation) else {
            return ControlFlow::Continue(());
        };
        // `a.b` is schema a of the view's own database, if it has one of that name.
        let qualified = match parts.as_slice() {
            [first, _] => {
                same_name(first, self.database) && known_as(&self.catalog.schemas, first).is_none()
            }
            [first, ..] => same_name(first, self.database),
            [] => false,
        };
        if qualified && parts.len() == 2 {
            relation.0[0] = ObjectNamePart::Identifier(Ident::new(self.main_as));
            return ControlFlow::Continue(());
        }
        if qualified && parts.len() == 3 {
            relation.0.remove(0);
        }
        let schema = parts.len().checked_sub(2).and_then(|at| parts.get(at));
        if relation.0.len() == 2 && schema.is_some_and(|schema| self.is_renamed(schema)) {
            relation.0[0] = ObjectNamePart::Identifier(Ident::new(self.main_as));
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        // A column by the name of its table: `database.table.column`, `database.schema.table.column`.
        if let Expr::CompoundIdentifier(parts) = expr
            && parts
                .first()
                .is_some_and(|first| same_name(&first.value, self.database))
            && known_as(&self.catalog.schemas, self.database).is_none()
        {
            match parts.len() {
                3 => parts[0] = Ident::new(self.main_as),
                4 => drop(parts.remove(0)),
                _ => {}
            }
        }
        // `main.table.column`.
        if let Expr::CompoundIdentifier(parts) = expr
            && parts.len() == 3
            && parts
                .first()
                .is_some_and(|first| self.is_renamed(&first.value))
        {
            parts[0] = Ident::new(self.main_as);
        }
        ControlFlow::Continue(())
    }
}
