//! Functions in FROM: `read_csv`, `sniff_csv`, `read_parquet`, `read_json`, `glob`, `read_text`, `read_blob`, `range`, `generate_series`, `tpch_queries`, `databases`,
//! `duckdb_settings`, `locks`, `database_anchor`, `key_slots`, `key_memory`, `data_keys`, `rekey_progress`, `spill_files`, `duckdb_indexes`, `duckdb_constraints`,
//! `pragma_table_info`, what catalogs have (`catalog_tables.rs`), and what tools ask about the program (`about_tables.rs`).

use super::series::series;
use super::{
    about_tables, catalog_tables, dependency_table, function_table, index_tables, process_tables,
    session_functions, storage_table, system_tables,
};
use crate::exec::confined;
use crate::exec::query;
use crate::exec::settings;
use crate::statement::Statement;
use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Int64Array, StringArray, UInt64Array,
};
use datafusion::arrow::datatypes::{Field, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::MemTable;
use datafusion::common::ScalarValue;
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, LogicalPlan, ScalarUDF, TableSource};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::sql::sqlparser::ast;
use hushdb_files::copy_options::Format;
use hushdb_files::file_paths::matching;
use hushdb_files::{AS_OBJECTS, file_tables, parquet_tables, read_files, told};
use hushdb_query::engine::Engine;
use hushdb_query::functions::{Random, Variables};
use hushdb_query::plan::{OrderDefaults, Planner, Surroundings, Taken, named_file};
use hushdb_sql::sqlstate;
use hushdb_sql::{self as sql, OptionValue};
use hushdb_sql::{Error, Result};
use hushdb_storage::SpillSpace;
use hushdb_storage::clock::unix_micros;
use std::sync::Arc;

/// The table that a call in FROM stands for.
fn call(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    name: &str,
    args: Vec<Expr>,
) -> Result<Arc<dyn TableSource>> {
    let args = args
        .into_iter()
        .map(|arg| constant(planner, name, arg))
        .collect::<Result<Vec<_>>>()?;
    if let Some(format) = format_read(name) {
        return files(statement, planner, name, format, &args);
    }
    if parquet_tables::NAMES.contains(&name) {
        return parquet_rows(name, &args);
    }
    match name {
        "sniff_csv" => sniffed(&args),
        "glob" | "read_text" | "read_blob" => file_rows(name, &args),
        sql::ROWS_OF => {
            let text = args.first().and_then(text).unwrap_or_default();
            rows_of(statement, planner, &text)
        }
        "range" => series(&args, false),
        "generate_series" => series(&args, true),
        "tpch_queries" if args.is_empty() => tpch_queries(),
        "database_anchor" => database_anchor(planner, &args),
        "key_memory" if args.is_empty() => key_memory(),
        "spill_files" if args.is_empty() => spill_files(planner),
        _ if args.is_empty() && process_tables::NAMES.contains(&name) => {
            table(process_tables::named(name, statement.session, planner))
        }
        _ if args.is_empty() && about_tables::NAMES.contains(&name) => {
            table(about_tables::named(name, planner))
        }
        "duckdb_prepared_statements" if args.is_empty() => {
            table(session_functions::prepared_statements(statement))
        }
        "pragma_show" => described(statement, planner, &args),
        "which_secret" if args.len() == 2 => table(about_tables::which_secret()),
        "duckdb_functions" if args.is_empty() => table(function_table::functions(planner)),
        "duckdb_databases" if args.is_empty() => table(catalog_tables::databases(planner)),
        "duckdb_schemas" if args.is_empty() => table(catalog_tables::schemas(planner)),
        "duckdb_tables" if args.is_empty() => table(catalog_tables::tables(planner)),
        "duckdb_views" if args.is_empty() => table(catalog_tables::views(planner)),
        "duckdb_columns" if args.is_empty() => table(catalog_tables::columns(planner)),
        "duckdb_sequences" if args.is_empty() => table(catalog_tables::sequences(planner)),
        "pragma_database_list" if args.is_empty() => table(catalog_tables::database_list(planner)),
        "pragma_database_size" if args.is_empty() => {
            table(catalog_tables::database_size(statement.session, planner)?)
        }
        "duckdb_indexes" if args.is_empty() => table(index_tables::indexes(planner)),
        "duckdb_constraints" if args.is_empty() => table(index_tables::constraints(planner)),
        "duckdb_dependencies" if args.is_empty() => table(dependency_table::dependencies(planner)),
        "pragma_table_info" | "table_info" => table(index_tables::table_info(
            planner,
            &table_named(name, &args)?,
        )?),
        "pragma_storage_info" | "storage_info" => table(storage_table::storage_info(
            planner,
            &table_named(name, &args)?,
        )?),
        _ => Err(
            Error::catalog(format!("Table Function with name {name} does not exist!"))
                .with_sqlstate(sqlstate::UNDEFINED_FUNCTION),
        ),
    }
}

/// The name of a table, which is all that a function takes.
fn table_named(function: &str, args: &[ScalarValue]) -> Result<String> {
    let of = match args {
        [value] => text(value),
        _ => None,
    };
    of.ok_or_else(|| Error::binder(format!("{function} takes a table's name")))
}

/// The columns of a table that is given by its name.
fn described(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    args: &[ScalarValue],
) -> Result<Arc<dyn TableSource>> {
    let of = table_named("pragma_show", args)?;
    let parts = sql::name_in_text(&of)?;
    let parts: Vec<String> = parts.iter().map(|part| sql::quote(part)).collect();
    let text = format!("DESCRIBE {}", parts.join("."));
    rows_of(statement, planner, &text)
}

/// The rows of DESCRIBE, SHOW and SUMMARIZE.
fn rows_of(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    text: &str,
) -> Result<Arc<dyn TableSource>> {
    let result = super::show::rows_of(statement, planner, text)?;
    let schema = result.schema();
    let rows = MemTable::try_new(schema, vec![result.collect_batches()?])?;
    Ok(provider_as_source(Arc::new(rows)))
}

fn database_anchor(planner: &Planner<'_>, args: &[ScalarValue]) -> Result<Arc<dyn TableSource>> {
    let name = match args {
        [] => Some(planner.snapshot.current_database.clone()),
        [value] => text(value),
        _ => None,
    };
    let name = name
        .ok_or_else(|| Error::binder("database_anchor takes the name of an attached database"))?;
    let anchor = planner.snapshot.database(&name)?.store.anchor()?;
    let anchor = StringArray::from(vec![anchor.to_string()]);
    table(vec![("anchor", Arc::new(anchor))])
}

/// Functions that read each record of JSON files as one text.
const OBJECTS: [&str; 3] = [
    "read_json_objects",
    "read_json_objects_auto",
    "read_ndjson_objects",
];

/// The format of the files that a function reads, if it is one that does.
fn format_read(name: &str) -> Option<Format> {
    match name {
        "read_csv" | "read_csv_auto" => Some(Format::Csv),
        "read_parquet" | "parquet_scan" => Some(Format::Parquet),
        "read_json" | "read_json_auto" | "read_ndjson" | "read_ndjson_auto" => Some(Format::Json),
        _ if OBJECTS.contains(&name) => Some(Format::Json),
        _ => None,
    }
}

/// The files that a function reads: those of a path or pattern, or of a list of them.
fn files(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    function: &str,
    format: Format,
    args: &[ScalarValue],
) -> Result<Arc<dyn TableSource>> {
    let (paths, options) = args.split_first().unwrap_or((&ScalarValue::Null, &[]));
    let paths = paths_in(function, paths)?;
    let options = options.iter().map(|option| named_option(function, option));
    let mut options = options.collect::<Result<Vec<_>>>()?;
    if OBJECTS.contains(&function) {
        options.push((AS_OBJECTS.into(), OptionValue::None));
    }
    let rejects = &statement.session.rejects;
    read_files::source(planner, format, &paths, options, rejects)
}

/// What is found out from the beginning of a CSV file.
fn sniffed(args: &[ScalarValue]) -> Result<Arc<dyn TableSource>> {
    let wrong = || Error::binder("sniff_csv takes the path of one file, and options of read_csv");
    let (path, options) = args.split_first().ok_or_else(wrong)?;
    let pattern = text(path).ok_or_else(wrong)?;
    let files = matching(&pattern)?;
    let [path] = files.as_slice() else {
        return Err(wrong());
    };
    let options = options
        .iter()
        .map(|option| named_option("sniff_csv", option));
    table(told(path, &options.collect::<Result<Vec<_>>>()?)?)
}

/// What Parquet files say of themselves.
fn parquet_rows(function: &str, args: &[ScalarValue]) -> Result<Arc<dyn TableSource>> {
    let [patterns] = args else {
        return Err(Error::binder(format!(
            "{function} takes a path or a list of paths"
        )));
    };
    table(parquet_tables::named(
        function,
        &paths_in(function, patterns)?,
    )?)
}

/// Files as rows.
fn file_rows(function: &str, args: &[ScalarValue]) -> Result<Arc<dyn TableSource>> {
    let [patterns] = args else {
        return Err(Error::binder(format!(
            "{function} takes a path or a list of paths"
        )));
    };
    let patterns = paths_in(function, patterns)?;
    match function {
        "glob" => file_tables::listed(&patterns),
        _ => file_tables::contents(&patterns, function == "read_text"),
    }
}

/// A text, or the texts of a list that is not empty.
fn paths_in(function: &str, value: &ScalarValue) -> Result<Vec<String>> {
    let paths = match value {
        ScalarValue::List(list) if !list.is_empty() && list.is_valid(0) => {
            let items = list.value(0);
            let items = (0..items.len()).map(|at| ScalarValue::try_from_array(&items, at));
            let items = items.collect::<Result<Vec<_>, _>>()?;
            items.iter().map(text).collect::<Option<Vec<String>>>()
        }
        value => text(value).map(|path| vec![path]),
    };
    paths.filter(|paths| !paths.is_empty()).ok_or_else(|| {
        Error::binder(format!(
            "{function} takes the path of a file or a list of paths, which may have the wildcards *, ?, [..] and **, and options such as filename = true"
        ))
    })
}

/// A file named in FROM, as in `FROM 'data.csv'` or `FROM 'data/*.csv'`.
fn file_source(
    statement: &Statement<'_>,
    planner: &Planner<'_>,
    name: &str,
) -> Result<Option<Arc<dyn TableSource>>> {
    let (path, named) = named_file(name);
    let Some(format) = Format::of_name(path) else {
        return Ok(None);
    };
    let options = named.map(|(name, column)| (name.into(), OptionValue::Text(column.into())));
    let options = options.into_iter().collect();
    let rejects = &statement.session.rejects;
    read_files::source(planner, format, &[path.into()], options, rejects).map(Some)
}

impl Surroundings for Statement<'_> {
    fn engine(&self) -> Arc<Engine> {
        self.session.engine()
    }

    fn order(&self) -> OrderDefaults {
        self.session.settings.lock().order
    }

    fn setting(&self, name: &str) -> Result<ast::Expr> {
        settings::literal(self.session, name)
    }

    fn variables(&self) -> Variables {
        Arc::clone(&self.session.variables.lock())
    }

    fn random(&self) -> Arc<Random> {
        Arc::clone(&self.session.random)
    }

    fn began(&self) -> i64 {
        *self.began.get_or_init(unix_micros)
    }

    fn taken(&self) -> Arc<Taken> {
        Arc::clone(&self.session.taken)
    }

    fn is_postgres(&self) -> bool {
        self.session.settings.lock().postgres
    }

    fn rows(&self, plan: &LogicalPlan) -> Result<Vec<RecordBatch>> {
        query::collect(self, plan)
    }

    fn table_function(
        &self,
        planner: &Planner<'_>,
        name: &str,
        args: Vec<Expr>,
    ) -> Result<Arc<dyn TableSource>> {
        confined::check_function(self.session, name)?;
        call(self, planner, name, args)
    }

    fn system_table(
        &self,
        planner: &Planner<'_>,
        parts: &[String],
    ) -> Result<Option<Arc<dyn TableSource>>> {
        system_tables::table(self, planner, parts)
    }

    fn function(&self, planner: &Planner<'_>, name: &str) -> Option<Arc<ScalarUDF>> {
        session_functions::function(self, name)
            .or_else(|| system_tables::function(self, planner, name))
    }

    fn file(&self, planner: &Planner<'_>, name: &str) -> Result<Option<Arc<dyn TableSource>>> {
        match self.session.instance.external_access {
            true => file_source(self, planner, name),
            false => Ok(None),
        }
    }
}

fn constant(planner: &Planner<'_>, name: &str, arg: Expr) -> Result<ScalarValue> {
    let context = SimplifyContext::builder()
        .with_config_options(Arc::clone(planner.state().config_options()))
        .build();
    match ExprSimplifier::new(context).simplify(arg)? {
        Expr::Literal(value, _) => Ok(value),
        _ => Err(Error::binder(format!(
            "the arguments of {name} must be constants"
        ))),
    }
}

fn text(value: &ScalarValue) -> Option<String> {
    value.try_as_str().flatten().map(str::to_string)
}

/// An option with its name: a struct of one field.
fn named_option(function: &str, value: &ScalarValue) -> Result<(String, OptionValue)> {
    let wrong = || {
        Error::binder(format!(
            "options of {function} are written name = value, with a text, number, list or {{'name': 'text'}} as value"
        ))
    };
    let ScalarValue::Struct(option) = value else {
        return Err(wrong());
    };
    let field = option.fields().first().ok_or_else(wrong)?;
    let value = ScalarValue::try_from_array(option.column(0), 0)?;
    let value = match &value {
        ScalarValue::Struct(pairs) => {
            let pairs = pairs
                .fields()
                .iter()
                .zip(pairs.columns())
                .map(|(field, column)| {
                    let text =
                        plain_text(&ScalarValue::try_from_array(column, 0)?).ok_or_else(wrong)?;
                    Ok((field.name().clone(), text))
                });
            OptionValue::Pairs(pairs.collect::<Result<_>>()?)
        }
        ScalarValue::List(list) => {
            let items = list.value(0);
            let items = (0..items.len())
                .map(|at| plain_text(&ScalarValue::try_from_array(&items, at)?).ok_or_else(wrong));
            OptionValue::List(items.collect::<Result<_>>()?)
        }
        value => OptionValue::Text(plain_text(value).ok_or_else(wrong)?),
    };
    Ok((field.name().to_ascii_lowercase(), value))
}

/// A value that is not NULL as text.
fn plain_text(value: &ScalarValue) -> Option<String> {
    let is_plain = !value.is_null() && !value.data_type().is_nested();
    is_plain.then(|| text(value).unwrap_or_else(|| value.to_string()))
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Arc<dyn TableSource>> {
    let fields: Vec<_> = columns
        .iter()
        .map(|(n, a)| Field::new(*n, a.data_type().clone(), true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(
        Arc::clone(&schema),
        columns.into_iter().map(|(_, a)| a).collect(),
    )?;
    Ok(provider_as_source(Arc::new(MemTable::try_new(
        schema,
        vec![vec![batch]],
    )?)))
}

/// Temporary files that are there now, and what was ever written to any.
fn spill_files(planner: &Planner<'_>) -> Result<Arc<dyn TableSource>> {
    let space = planner.state().config().get_extension::<SpillSpace>();
    let stats = space.map(|space| space.stats()).unwrap_or_default();
    let number = |n: u64| -> ArrayRef { Arc::new(UInt64Array::from(vec![n])) };
    table(vec![
        ("files", number(stats.files)),
        ("bytes", number(stats.bytes)),
        ("written_bytes", number(stats.written_bytes)),
    ])
}

/// Where the keys of this process lie, and what the system grants for that.
fn key_memory() -> Result<Arc<dyn TableSource>> {
    let memory = hushdb_crypto::key_memory();
    let number = |n: u64| -> ArrayRef { Arc::new(UInt64Array::from(vec![n])) };
    table(vec![
        ("bytes", number(memory.bytes)),
        ("used_bytes", number(memory.used_bytes)),
        ("locked_bytes", number(memory.locked_bytes)),
        ("dump_excluded_bytes", number(memory.dump_excluded_bytes)),
        ("wiped_on_fork_bytes", number(memory.wiped_on_fork_bytes)),
        (
            "lock_limit_bytes",
            Arc::new(UInt64Array::from(vec![memory.lock_limit_bytes])),
        ),
        ("expanded_keys", number(memory.expanded_keys)),
        (
            "core_dumps",
            Arc::new(BooleanArray::from(vec![memory.core_dumps])),
        ),
    ])
}

fn tpch_queries() -> Result<Arc<dyn TableSource>> {
    let numbers: Int64Array = (1..=crate::tpch::QUERIES)
        .map(|n| Some(i64::from(n)))
        .collect();
    let texts: StringArray = (1..=crate::tpch::QUERIES).map(crate::tpch::query).collect();
    table(vec![
        ("query_nr", Arc::new(numbers)),
        ("query", Arc::new(texts)),
    ])
}
