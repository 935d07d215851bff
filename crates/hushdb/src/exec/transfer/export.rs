//! `EXPORT DATABASE 'dir'`: a database as files that `IMPORT DATABASE` reads: `schema.sql`, `load.sql` and a file with the
//! rows of each table, laid out as DuckDB does.
//!
//! What must hold: all files show one state of the database. They are plaintext, so it is refused where encryption is enforced.

use super::copy_database::{select_given, sql_without_database};
use crate::exec::copy;
use crate::exec::definitions::{as_sql, comments};
use crate::exec::{query, settings, transaction};
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::{self, ObjectName, Visitor};
use hushdb_files::copy_options;
use hushdb_query::plan::Snapshot;
use hushdb_sql::name_parts;
use hushdb_sql::walk::visit;
use hushdb_sql::{self as sql, CopyTarget, OptionValue, quote};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{
    CatalogVersion, ColumnType, MAIN_SCHEMA, SchemaVersion, TableVersion, create_directory,
};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

/// How NULL is written to CSV files, so that it is told from an empty text.
const CSV_NULL: &str = "\\N";

pub(in crate::exec) fn export_database(
    statement: &Statement<'_>,
    database: Option<String>,
    directory: &str,
    options: Vec<(String, OptionValue)>,
) -> Result<QueryResult> {
    if settings::enforces_encryption(statement.session) {
        return Err(Error::invalid(
            "EXPORT DATABASE writes rows in the clear, and enforce_encryption is on; COPY FROM DATABASE copies into an \
             attached encrypted database",
        ));
    }
    let database = database.unwrap_or_else(|| statement.session.current_database());
    let export = Export::new(directory, options)?;
    transaction::as_one(statement.session, None, || {
        // Within the transaction.
        let statement = &statement.anew();
        let snapshot = statement.snapshot();
        let catalog = Arc::clone(&snapshot.database(&database)?.version);
        statement
            .progress
            .plan_all(catalog.tables().map(|table| table.row_count()).sum());
        create_directory(directory).map_err(|e| failed(directory, &e))?;
        export.write(
            "schema.sql",
            &definitions_of(&database, &catalog, snapshot)?,
        )?;
        let mut loads = String::new();
        let mut taken = HashSet::new();
        for (schema, _, table) in in_order(&catalog) {
            let file = export.file_name(schema, &table.name, &mut taken);
            if export.is_csv() {
                refuse_marker(statement, &database, schema, table)?;
            }
            let all = select_given(&database, schema, table)?;
            let ast::Statement::Query(all) = all else {
                return Err(Error::internal("a SELECT was parsed as something else"));
            };
            let target = CopyTarget::Query(all);
            let path = Path::new(directory).join(&file);
            let path = path.to_string_lossy();
            // In UTC, whose distance is written in full.
            copy::write(statement, target, &path, &export.options, None)?;
            loads.push_str(&format!(
                "COPY {} FROM {} ({});\n",
                as_sql::path(schema, &table.name),
                text(&path),
                export.options_text()
            ));
        }
        export.write("load.sql", &loads)
    })?;
    Ok(QueryResult::done())
}

struct Export<'a> {
    directory: &'a Path,
    extension: String,
    options: Vec<(String, OptionValue)>,
}

impl<'a> Export<'a> {
    fn new(directory: &'a str, mut options: Vec<(String, OptionValue)>) -> Result<Self> {
        let given = |options: &[(String, OptionValue)], names: &[&str]| {
            options
                .iter()
                .any(|(name, _)| names.contains(&name.as_str()))
        };
        if !given(&options, &["format"]) {
            options.insert(0, ("format".into(), OptionValue::Text("csv".into())));
        }
        let extension = match options.iter().find(|(name, _)| name == "format") {
            Some((_, OptionValue::Text(format))) => format.to_ascii_lowercase(),
            _ => return Err(Error::binder("the option format needs a value")),
        };
        if extension == "csv" {
            if !given(&options, &["header"]) {
                options.push(("header".into(), OptionValue::Text("true".into())));
            }
            if !given(&options, &["null", "nullstr"]) {
                options.push(("nullstr".into(), OptionValue::Text(CSV_NULL.into())));
            }
        }
        Ok(Self {
            directory: Path::new(directory),
            extension,
            options,
        })
    }

    /// Whether NULL is written as [`CSV_NULL`].
    fn is_csv(&self) -> bool {
        let marker = OptionValue::Text(CSV_NULL.into());
        self.options
            .iter()
            .any(|(name, value)| name == "nullstr" && *value == marker)
    }

    /// A name that no other table's file has, of letters and digits alone.
    fn file_name(&self, schema: &str, table: &str, taken: &mut HashSet<String>) -> String {
        let name = match schema {
            MAIN_SCHEMA => table.to_string(),
            _ => format!("{schema}_{table}"),
        };
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let stem: String = name.chars().map(plain).collect();
        let numbered = (1..).map(|n| format!("{stem}_{n}"));
        let mut stems = std::iter::once(stem.clone()).chain(numbered);
        let free = stems.find(|stem| taken.insert(stem.to_ascii_lowercase()));
        format!("{}.{}", free.unwrap_or(stem), self.extension)
    }

    fn options_text(&self) -> String {
        let options = self.options.iter().map(|(name, value)| match value {
            OptionValue::None => name.clone(),
            OptionValue::Text(value) => format!("{name} {}", text(value)),
            OptionValue::List(values) => {
                let values: Vec<String> = values.iter().map(|value| text(value)).collect();
                format!("{name} ({})", values.join(", "))
            }
            OptionValue::Pairs(pairs) => {
                let pairs = pairs
                    .iter()
                    .map(|(key, value)| format!("{}: {}", text(key), text(value)));
                format!("{name} {{{}}}", pairs.collect::<Vec<_>>().join(", "))
            }
        });
        options.collect::<Vec<_>>().join(", ")
    }

    fn write(&self, name: &str, content: &str) -> Result<()> {
        let path = self.directory.join(name);
        let path = path.to_string_lossy();
        let mut file = copy_options::output_file(&path)?;
        file.write_all(content.as_bytes())
            .map_err(|e| failed(&path, &e))?;
        copy_options::commit(file, &path)
    }
}

fn text(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

fn failed(path: &str, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("Cannot write \"{path}\": {error}"))
}

/// A text that is written as NULL is would come back as NULL.
fn refuse_marker(
    statement: &Statement<'_>,
    database: &str,
    schema: &str,
    table: &TableVersion,
) -> Result<()> {
    let texts = table.columns.iter();
    // No JSON is written so.
    let texts = texts.filter(|c| matches!(c.ty, ColumnType::Varchar | ColumnType::Collated(_)));
    let hits: Vec<String> = texts
        .map(|column| format!("{} = {}", sql::quoted(&column.name), text(CSV_NULL)))
        .collect();
    if hits.is_empty() {
        return Ok(());
    }
    let name = [database, schema, &table.name].map(sql::quoted).join(".");
    let found = sql::parse_one(&format!(
        "SELECT 1 FROM {name} WHERE {} LIMIT 1",
        hits.join(" OR ")
    ))?;
    let plan = statement.planner().plan_statement(found)?;
    let rows = query::collect(statement, &plan)?;
    if rows.iter().any(|batch| batch.num_rows() > 0) {
        return Err(Error::invalid(format!(
            "a text of table {} is {CSV_NULL}, which stands for NULL in the files; export with FORMAT parquet, or with \
             another NULLSTR",
            table.name
        )));
    }
    Ok(())
}

/// A table, and the schema that it is in.
type Placed<'a> = (&'a String, &'a SchemaVersion, &'a Arc<TableVersion>);

/// Tables in the order in which they were made: those whose rows are named by others' come before these.
fn in_order(catalog: &CatalogVersion) -> Vec<Placed<'_>> {
    let schemas = catalog.schemas.iter();
    let tables = schemas.flat_map(|(name, within)| {
        let tables = within.tables.values();
        tables.map(move |table| (name, within.as_ref(), table))
    });
    let mut tables: Vec<_> = tables.collect();
    tables.sort_by_key(|(_, _, table)| table.id);
    tables
}

/// `schema.sql`: what stands on others comes after them.
fn definitions_of(database: &str, catalog: &CatalogVersion, snapshot: &Snapshot) -> Result<String> {
    let mut lines = vec![];
    for schema in catalog.schemas.keys().filter(|name| *name != MAIN_SCHEMA) {
        lines.push(format!("CREATE SCHEMA {};", quote(schema)));
    }
    let sequences = || {
        let schemas = catalog.schemas.iter();
        schemas.flat_map(|(name, schema)| schema.sequences.values().map(move |s| (name, schema, s)))
    };
    for (schema, _, sequence) in sequences() {
        lines.push(as_sql::sequence(schema, sequence));
        if sequence.upcoming().is_none() {
            return Err(Error::invalid(format!(
                "sequence \"{}\" is at its end, which no CREATE SEQUENCE says: drop it before the export",
                sequence.name
            )));
        }
    }
    for (schema, within) in &catalog.schemas {
        let types = within.types.values();
        lines.extend(types.map(|one| as_sql::user_type(schema, one)));
        for of_tables in [false, true] {
            let macros = within.macros_of(of_tables).values();
            lines.extend(macros.map(|one| as_sql::user_macro(schema, one, of_tables)));
        }
    }
    for (schema, within, table) in in_order(catalog) {
        lines.push(as_sql::table(schema, within, table));
    }
    for (schema, within, sequence) in sequences() {
        if let Some((table, column)) = sequence.owner_in(within) {
            lines.push(as_sql::sequence_owner(schema, sequence, table, column));
        }
    }
    let mut views = Views {
        database,
        catalog,
        snapshot,
        seen: HashSet::new(),
        lines: vec![],
    };
    for (schema, version) in &catalog.schemas {
        for name in version.views.keys() {
            views.add(schema, name)?;
        }
    }
    lines.extend(views.lines);
    for (schema, within, table) in in_order(catalog) {
        lines.extend(as_sql::indexes(schema, within, table));
    }
    for (name, schema) in &catalog.schemas {
        lines.extend(comments::definitions(name, schema));
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// Views in an order in which they can be made.
struct Views<'a> {
    database: &'a str,
    catalog: &'a CatalogVersion,
    snapshot: &'a Snapshot,
    seen: HashSet<(String, String)>,
    lines: Vec<String>,
}

impl Views<'_> {
    fn add(&mut self, schema: &str, name: &str) -> Result<()> {
        let view = self
            .catalog
            .schemas
            .get(schema)
            .and_then(|s| s.views.get(name));
        let Some(view) = view else {
            return Ok(());
        };
        if !self.seen.insert((schema.into(), name.into())) {
            return Ok(());
        }
        let query = sql_without_database(view, self.database, self.catalog)?;
        let mut named = Named::default();
        let _ = visit(&sql::parse_one(&query)?, &mut named);
        let there = self.snapshot.without_temporary();
        let there = there.at(self.database, schema);
        for parts in named.0.into_values() {
            if let Ok(other) = there.resolve(&parts)
                && other.database == self.database
            {
                self.add(&other.schema, &other.name)?;
            }
        }
        self.lines.push(as_sql::view(schema, view, &query));
        Ok(())
    }
}

/// Names of tables and views in a query, in the order of their text.
#[derive(Default)]
struct Named(BTreeMap<String, Vec<String>>);

impl Visitor for Named {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        if let Ok(parts) = name_parts(relation) {
            self.0.insert(relation.to_string(), parts);
        }
        ControlFlow::Continue(())
    }
}
