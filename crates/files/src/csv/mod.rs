//! CSV files as tables.
//!
//! What must hold: a value is read as what it says, or the file is refused by line; nothing is guessed from a part of the file that
//! another part contradicts without an error, as far as its columns are read. Reading takes memory for some thousand records, not for the file.

mod chunks;
mod kinds;
mod normal_names;
mod options;
mod records;
mod rows;
mod scan;
mod sniff;
mod told;
mod write;

pub(crate) use self::kinds::is_form;
use self::kinds::{Kind, Number, TEXT};
use self::options::Options;
use self::records::{Dialect, Fault};
use self::scan::{CsvFile, ReadColumn, open, table, wrong};
use self::sniff::{SAMPLE_BYTES, Sample, sniff};
pub use self::told::told;
pub(crate) use self::write::{CsvForm, CsvWriter, Quoted, formed};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::logical_expr::{Cast, Expr, LogicalPlanBuilder, TableSource, TryCast};
use hushdb_query::plan::{MAX_FILE_COLUMNS, named, too_wide};
use hushdb_sql::OptionValue;
use hushdb_sql::type_names::arrow_field;
use hushdb_sql::{Error, Result};
use hushdb_storage::{Column, ColumnType};
use std::collections::HashSet;
use std::io::Read;
use std::sync::Arc;

/// A CSV file as a table.
pub(crate) struct CsvTable {
    pub(crate) source: Arc<dyn TableSource>,
    /// Columns whose type is not known, since its beginning has no values of them.
    pub(crate) without_values: HashSet<String>,
    /// It has not a byte.
    pub(crate) is_empty: bool,
}

/// A CSV file as a table; what the options leave open is found out from its beginning.
///
/// # Errors
/// `Io` when it cannot be read, `InvalidInput` when it is no CSV, by line.
pub(crate) fn source(path: &str, given: &[(String, OptionValue)]) -> Result<CsvTable> {
    let Seen {
        options,
        sample,
        dialect,
        header,
        names,
        types,
        kinds,
        without_values,
    } = seen(path, given)?;
    let without_values = names.iter().zip(&types).zip(&without_values);
    let without_values = without_values.filter(|((_, ty), none)| **none && ty.is_none());
    let without_values = without_values.map(|((name, _), _)| name.clone()).collect();
    let columns = names.iter().zip(&types).zip(kinds);
    let columns = columns.map(|((name, ty), kind)| ReadColumn {
        name: name.clone(),
        kind: match ty {
            Some(ty) => kind_for(ty, &options),
            None if options.all_varchar => TEXT,
            None => kind,
        },
        is_sniffed: ty.is_none(),
    });
    let columns = columns.collect();
    let ignore_errors = options.ignore_errors;
    let file = CsvFile::new(path, options, dialect, header, columns);
    Ok(CsvTable {
        source: typed(table(file)?, &names, &types, ignore_errors)?,
        without_values,
        is_empty: sample.bytes.is_empty(),
    })
}

/// What a file's beginning tells, and what the options say.
struct Seen {
    options: Options,
    sample: Sample,
    dialect: Dialect,
    header: bool,
    names: Vec<String>,
    /// Those that were given.
    types: Vec<Option<ColumnType>>,
    kinds: Vec<Kind>,
    without_values: Vec<bool>,
}

fn seen(path: &str, given: &[(String, OptionValue)]) -> Result<Seen> {
    let options = Options::new(path, given)?;
    let expected = Some(options.columns.len()).filter(|columns| *columns > 0);
    let sample = sample(path, &options)?;
    let sniffed = sniff(&sample, &options, expected).map_err(|fault| wrong(path, fault))?;
    if sniffed.columns > MAX_FILE_COLUMNS {
        return Err(named(path, too_wide()));
    }
    let positional: Vec<Option<&ColumnType>> = match options.columns.is_empty() {
        true => options
            .types
            .iter()
            .filter(|(name, _)| name.is_none())
            .map(|(_, ty)| Some(ty))
            .collect(),
        false => options.columns.iter().map(|(_, ty)| Some(ty)).collect(),
    };
    let shape = sniffed.shape(&options, &positional);
    let shape = shape.map_err(|fault| wrong(path, fault))?;
    let mut names = shape.names;
    if options.names.len() > names.len() {
        return Err(Error::binder(format!(
            "{} names are given, and the file has {} columns",
            options.names.len(),
            names.len()
        )));
    }
    let given_names = options.columns.iter().map(|(name, _)| name);
    for (name, given) in names.iter_mut().zip(given_names.chain(&options.names)) {
        name.clone_from(given);
    }
    let types = types_of(&options, &names, &positional)?;
    Ok(Seen {
        dialect: sniffed.dialect,
        header: shape.header,
        kinds: shape.kinds,
        without_values: shape.without_values,
        options,
        sample,
        names,
        types,
    })
}

/// A CSV file with the columns of a table, as text or what a given form makes of it; `None` for a file without a record.
///
/// # Errors
/// As [`source`].
pub(crate) fn source_for(
    path: &str,
    given: &[(String, OptionValue)],
    columns: &[&Column],
) -> Result<Option<Arc<dyn TableSource>>> {
    let options = Options::new(path, given)?;
    let sample = sample(path, &options)?;
    if sample.bytes.is_empty() {
        return Ok(None);
    }
    let sniffed = sniff(&sample, &options, Some(columns.len()));
    let sniffed = sniffed.map_err(|fault| wrong(path, fault))?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    let types: Vec<Option<&ColumnType>> = columns.iter().map(|column| Some(&column.ty)).collect();
    let header = options.header;
    let header = header.unwrap_or_else(|| sniffed.names_columns(&options, &names, &types));
    let columns = columns.iter().map(|column| ReadColumn {
        name: column.name.clone(),
        kind: kind_for(&column.ty, &options),
        is_sniffed: false,
    });
    let columns = columns.collect();
    let file = CsvFile::new(path, options, sniffed.dialect, header, columns);
    table(file).map(Some)
}

/// The type of each column for which one was given.
fn types_of(
    options: &Options,
    names: &[String],
    positional: &[Option<&ColumnType>],
) -> Result<Vec<Option<ColumnType>>> {
    let mut types: Vec<Option<ColumnType>> = vec![None; names.len()];
    if positional.len() > names.len() {
        return Err(Error::binder(format!(
            "types are given for {} columns and the file has {}",
            positional.len(),
            names.len()
        )));
    }
    for (to, ty) in types.iter_mut().zip(positional) {
        *to = ty.cloned();
    }
    for (name, ty) in &options.types {
        let Some(name) = name else { continue };
        let at = names.iter().position(|of| of.eq_ignore_ascii_case(name));
        let to = at.and_then(|at| types.get_mut(at)).ok_or_else(|| {
            Error::binder(format!(
                "the file has no column \"{name}\", for which a type is given"
            ))
        })?;
        *to = Some(ty.clone());
    }
    Ok(types)
}

/// How values are read that are to have a type.
fn kind_for(ty: &ColumnType, options: &Options) -> Kind {
    let cast = Kind::Text { trimmed: true };
    if let Some(form) = options.numbers
        && ty.arrow().is_numeric()
    {
        return Kind::Number(Number::Text, form);
    }
    match ty {
        ColumnType::Varchar => TEXT,
        ColumnType::Date => options.date_form.clone().map_or(cast, Kind::Date),
        ColumnType::Timestamp(_, false) => match &options.timestamp_form {
            Some(form) => Kind::Timestamp(Some(form.clone())),
            None => cast,
        },
        ColumnType::Boolean
        | ColumnType::Int8
        | ColumnType::Int16
        | ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::HugeInt
        | ColumnType::UHugeInt
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Blob
        | ColumnType::Time
        | ColumnType::Interval
        | ColumnType::Uuid
        | ColumnType::List(_)
        | ColumnType::Struct(_)
        | ColumnType::Map(_)
        | ColumnType::Json
        | ColumnType::Enum(_)
        | ColumnType::Timestamp(_, true) => cast,
    }
}

/// The table with its columns cast to the types that were given; rows with values that are of another are left out, if so.
fn typed(
    source: Arc<dyn TableSource>,
    names: &[String],
    types: &[Option<ColumnType>],
    ignore_errors: bool,
) -> Result<Arc<dyn TableSource>> {
    if types.iter().flatten().all(|ty| *ty == ColumnType::Varchar) {
        return Ok(source);
    }
    let mut plan = LogicalPlanBuilder::scan("file", source, None)?.build()?;
    if ignore_errors {
        let columns = plan.schema().columns().into_iter().zip(names).zip(types);
        let casts = columns.filter_map(|((column, name), ty)| {
            let field = Arc::new(arrow_field(name, ty.as_ref()?, true));
            let column = Expr::Column(column);
            let cast = TryCast::new_from_field(Box::new(column.clone()), field);
            Some(column.is_null().or(Expr::TryCast(cast).is_not_null()))
        });
        if let Some(all) = casts.reduce(Expr::and) {
            plan = LogicalPlanBuilder::from(plan).filter(all)?.build()?;
        }
    }
    let columns = plan.schema().columns().into_iter().zip(names).zip(types);
    let columns = columns.map(|((column, name), ty)| {
        let column = Expr::Column(column);
        match ty {
            None => column.alias(name),
            Some(ty) => {
                let field = Arc::new(arrow_field(name, ty, true));
                Expr::Cast(Cast::new_from_field(Box::new(column), field)).alias(name)
            }
        }
    });
    let columns: Vec<Expr> = columns.collect();
    let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
    Ok(provider_as_source(Arc::new(ViewTable::new(plan, None))))
}

fn sample(path: &str, options: &Options) -> Result<Sample> {
    let mut bytes = vec![];
    let read = open(path, options)?
        .take(SAMPLE_BYTES as u64)
        .read_to_end(&mut bytes);
    read.map_err(|error| wrong(path, Fault::Io(error)))?;
    let is_whole = bytes.len() < SAMPLE_BYTES;
    Ok(Sample { bytes, is_whole })
}
