//! CSV files as tables.
//!
//! What must hold: a value is read as what it says, or the file is refused by line; nothing is guessed from a part of the file that
//! another part contradicts without an error, as far as its columns are read. Reading takes memory for some thousand records, not for the file.

mod chunks;
mod kinds;
mod long_delimiter;
mod normal_names;
mod options;
mod records;
mod rejected;
mod rows;
mod scan;
mod sniff;
mod stops;
mod told;
mod write;

pub(crate) use self::kinds::is_form;
use self::kinds::{Kind, Number, TEXT};
use self::options::Options;
use self::records::{Dialect, Fault};
use self::rejected::{Accepts, Alone, Checked};
use self::scan::{CsvFile, ReadColumn, open, table, wrong};
use self::sniff::{SAMPLE_BYTES, Sample, sniff};
use self::told::read_file;
pub use self::told::told;
pub(crate) use self::write::{CsvForm, CsvWriter, Quoted, formed};
use crate::rejects::{FileRejects, RejectPlace};
use datafusion::datasource::{ViewTable, provider_as_source};
use datafusion::logical_expr::{Cast, Expr, LogicalPlan, LogicalPlanBuilder, TableSource, TryCast};
use hushdb_query::plan::{MAX_FILE_COLUMNS, named, too_wide};
use hushdb_sql::OptionValue;
use hushdb_sql::type_names::{arrow_field, column_type_name};
use hushdb_sql::{Error, Result};
use hushdb_storage::{Column, ColumnType};
use std::collections::HashSet;
use std::io::{BufReader, Read};
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
pub(crate) fn source(
    path: &str,
    given: &[(String, OptionValue)],
    place: RejectPlace<'_>,
) -> Result<CsvTable> {
    let seen = seen(path, given)?;
    let rejects = seen.options.rejects.as_ref();
    let rejects = rejects.map(|asked| {
        let about = read_file(path, given, &seen);
        FileRejects::new(place, &asked.tables, asked.most, about)
    });
    let Seen {
        options,
        sample,
        dialect,
        header,
        names,
        types,
        kinds,
        without_values,
    } = seen;
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
    let casts = Casts {
        names: &names,
        types: &types,
        ignore_errors: options.ignore_errors,
        rejects: rejects.as_ref().map(|rejects| (rejects, dialect)),
    };
    let is_placed = rejects.is_some() && casts.are_some();
    let file = CsvFile::new(path, options, dialect, header, columns);
    let file = file.keeping(rejects.clone(), is_placed);
    Ok(CsvTable {
        source: casts.of(table(file)?)?,
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
    let mut options = Options::new(path, given)?;
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
    let (mut kinds, mut without_values) = (shape.kinds, shape.without_values);
    if sniffed.is_too_short(&sample, &options) {
        let file = BufReader::new(open(path, &options)?);
        let by_more = sniffed.by_more(file, shape.header, &options);
        (kinds, without_values) = by_more.map_err(|fault| wrong(path, fault))?;
    }
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
    options.skip = sniffed.skip;
    Ok(Seen {
        dialect: sniffed.dialect,
        header: shape.header,
        kinds,
        without_values,
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
    if options.rejects.is_some() {
        return Err(Error::unsupported(
            "store_rejects of COPY FROM is not there yet: INSERT INTO ... FROM read_csv(..., store_rejects = true) does it",
        ));
    }
    let ignore_errors = options.ignore_errors;
    let file = CsvFile::new(path, options, sniffed.dialect, header, columns);
    let source = table(file)?;
    if !ignore_errors {
        return Ok(Some(source));
    }
    let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
    let types: Vec<Option<ColumnType>> = types.into_iter().map(|ty| ty.cloned()).collect();
    let casts = Casts {
        names: &names,
        types: &types,
        ignore_errors,
        rejects: None,
    };
    casts.of(source).map(Some)
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
        | ColumnType::TimeTz
        | ColumnType::Bit
        | ColumnType::List(_)
        | ColumnType::Array(_)
        | ColumnType::Union(_)
        | ColumnType::Struct(_)
        | ColumnType::Map(_)
        | ColumnType::Json
        | ColumnType::Collated(_)
        | ColumnType::Enum(_)
        | ColumnType::Timestamp(_, true) => cast,
    }
}

/// How columns become of the types that were given.
struct Casts<'a> {
    names: &'a [String],
    types: &'a [Option<ColumnType>],
    /// Rows with values that are of another type are left out.
    ignore_errors: bool,
    /// And kept here.
    rejects: Option<(&'a FileRejects, Dialect)>,
}

impl Casts<'_> {
    /// Whether there are any.
    fn are_some(&self) -> bool {
        let mut types = self.types.iter().flatten();
        types.any(|ty| *ty != ColumnType::Varchar)
    }

    /// The table with its columns of their types.
    fn of(&self, source: Arc<dyn TableSource>) -> Result<Arc<dyn TableSource>> {
        if !self.are_some() {
            return Ok(source);
        }
        let mut plan = LogicalPlanBuilder::scan("file", source, None)?.build()?;
        if let Some(condition) = self.condition(&plan) {
            plan = LogicalPlanBuilder::from(plan).filter(condition)?.build()?;
        }
        let columns = plan.schema().columns().into_iter();
        let columns = columns.zip(self.names).zip(self.types);
        let columns = columns.map(|((column, name), ty)| {
            let column = Box::new(Expr::Column(column));
            let Some(ty) = ty else {
                return column.alias(name);
            };
            let field = Arc::new(arrow_field(name, ty, true));
            // What could not be cast is gone, unless a condition of the query is asked first.
            let cast = match self.ignore_errors {
                true => Expr::TryCast(TryCast::new_from_field(column, field)),
                false => Expr::Cast(Cast::new_from_field(column, field)),
            };
            cast.alias(name)
        });
        let columns: Vec<Expr> = columns.collect();
        let plan = LogicalPlanBuilder::from(plan).project(columns)?.build()?;
        Ok(provider_as_source(match self.rejects {
            Some(_) => Arc::new(Alone(plan)),
            None => Arc::new(ViewTable::new(plan, None)),
        }))
    }

    /// Which rows are not left out.
    fn condition(&self, plan: &LogicalPlan) -> Option<Expr> {
        if !self.ignore_errors {
            return None;
        }
        let all = plan.schema().columns();
        let (mut checked, mut casts) = (vec![], vec![]);
        let columns = all.iter().zip(self.names).zip(self.types).enumerate();
        for (place, ((column, name), ty)) in columns {
            let Some(ty) = ty else { continue };
            let field = Arc::new(arrow_field(name, ty, true));
            let column = Expr::Column(column.clone());
            let cast = TryCast::new_from_field(Box::new(column.clone()), field);
            casts.push(column.is_null().or(Expr::TryCast(cast).is_not_null()));
            checked.push(Checked {
                place,
                name: name.clone(),
                type_name: column_type_name(ty),
            });
        }
        let Some((rejects, dialect)) = self.rejects else {
            return casts.into_iter().reduce(Expr::and);
        };
        let place = all.iter().skip(self.names.len()).cloned();
        let args = place.map(Expr::Column).chain(casts).collect();
        let columns = self.names.len();
        Some(Accepts::condition(
            rejects.clone(),
            dialect,
            columns,
            checked,
            args,
        ))
    }
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
