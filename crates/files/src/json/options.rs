//! What a statement says of a JSON file, with DuckDB's names.

use super::super::option_values::{flag, pairs, text};
use super::super::packed_files::Packing;
use super::found::Finder;
use super::given::MomentForms;
use super::objects::MAX_BYTES;
use super::text_kinds::TextKinds;
use hushdb_query::functions::MomentForm;
use hushdb_sql::type_names::named_type;
use hushdb_sql::{Error, OptionValue, Result};
use hushdb_storage::ColumnType;

/// How records lie in a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Where nothing is said, the file's name tells it.
    pub(super) packing: Option<Packing>,
    pub(super) form: RecordForm,
    /// What does not fit is NULL.
    pub(super) ignores_errors: bool,
    /// Bytes of a record at most.
    pub(super) most_bytes: usize,
}

/// Where a record begins, and where it ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum RecordForm {
    /// The file tells.
    Auto,
    Array,
    /// Each is a line.
    Lines,
    /// They are one behind the other.
    Unstructured,
}

impl RecordForm {
    fn named(name: &str, value: &OptionValue) -> Result<Self> {
        match text(name, value)?.to_ascii_lowercase().as_str() {
            "auto" => Ok(Self::Auto),
            "array" => Ok(Self::Array),
            "newline_delimited" | "nd" => Ok(Self::Lines),
            "unstructured" => Ok(Self::Unstructured),
            _ => Err(Error::binder(
                "format must be one of ['auto', 'array', 'nd', 'newline_delimited', 'unstructured']",
            )),
        }
    }
}

impl Default for Layout {
    fn default() -> Self {
        Self {
            packing: None,
            form: RecordForm::Auto,
            ignores_errors: false,
            most_bytes: MAX_BYTES,
        }
    }
}

/// How a JSON file is to be read.
#[derive(Default)]
pub(crate) struct JsonOptions {
    /// All columns, named and typed; none if they are to be found out.
    pub(crate) columns: Vec<(String, ColumnType)>,
    pub(super) layout: Layout,
    /// Whether records are objects, whose members are columns; where nothing is said, they tell it.
    pub(super) records: Option<bool>,
    /// Each record is one text.
    pub(super) as_objects: bool,
    /// Records of a file that tell its columns, where it is said; none for all of them.
    pub(super) sampled: Option<Option<usize>>,
    /// So deep are values taken apart; what is within these is JSON.
    depth: Option<usize>,
    /// Formats of dates and points in time.
    pub(super) moments: MomentForms,
    /// Texts of integers are integers.
    finds_integers: bool,
    /// Objects of so many names are maps, if it is said.
    map_from: Option<usize>,
    /// Objects are maps whose names are in a smaller part of them, if it is said.
    appearance: Option<f64>,
}

/// What DuckDB has where nothing is said.
const MAP_FROM: usize = 200;
const APPEARANCE: f64 = 0.1;

/// What `read_json_objects` gives beside its options.
pub const AS_OBJECTS: &str = "$as_objects";

impl JsonOptions {
    /// # Errors
    /// `Binder` for an option that is none, `NotSupported` for a value that is not there yet.
    pub(crate) fn new(given: &[(String, OptionValue)]) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in given {
            match name.as_str() {
                "columns" => {
                    for (column, ty) in pairs(name, value)? {
                        options.columns.push((column.clone(), named_type(ty)?));
                    }
                }
                AS_OBJECTS => options.as_objects = true,
                "compression" => options.layout.packing = Packing::named(name, value)?,
                "format" => options.layout.form = RecordForm::named(name, value)?,
                "records" => options.records = records(text(name, value)?)?,
                "auto_detect" => only(name, value, &["true", "1"])?,
                "ignore_errors" => options.layout.ignores_errors = flag(name, value)?,
                "convert_strings_to_integers" => options.finds_integers = flag(name, value)?,
                "map_inference_threshold" => options.map_from = Some(map_from(text(name, value)?)?),
                "field_appearance_threshold" => {
                    options.appearance = Some(appearance(text(name, value)?)?);
                }
                _ if options.take_form(name, value)? => {}
                "maximum_depth" => {
                    options.depth = match text(name, value)?.parse::<i64>() {
                        Ok(-1) => None,
                        Ok(depth @ 1..) => usize::try_from(depth).ok(),
                        _ => {
                            return Err(Error::binder(
                                "the option maximum_depth is 1 or more, or -1 for all",
                            ));
                        }
                    }
                }
                "sample_size" => {
                    options.sampled = Some(match text(name, value)?.parse::<i64>() {
                        Ok(-1) => None,
                        Ok(rows @ 1..) => usize::try_from(rows).ok(),
                        _ => {
                            return Err(Error::binder(
                                "read_json \"sample_size\" parameter must be positive, or -1 to sample all input files entirely",
                            ));
                        }
                    });
                }
                "maximum_object_size" => {
                    let wrong = |_| Error::binder(format!("the option {name} takes a number"));
                    let most = text(name, value)?.parse::<u32>().map_err(wrong)?;
                    let twice = usize::try_from(most)
                        .unwrap_or(usize::MAX)
                        .saturating_mul(2);
                    options.layout.most_bytes = twice.max(MAX_BYTES);
                }
                other => {
                    return Err(Error::binder(format!(
                        "Invalid named parameter \"{other}\" for function read_json"
                    )));
                }
            }
        }
        Ok(options)
    }

    /// What COPY FROM says of a JSON file.
    ///
    /// # Errors
    /// `NotSupported` for an option that is of `read_json` alone, or of no JSON file.
    pub(crate) fn of_copy(given: &[(String, OptionValue)]) -> Result<Self> {
        let mut options = Self::default();
        for (name, value) in given {
            match name.as_str() {
                "format" => {}
                // Both forms are told apart by their first character.
                "auto_detect" => drop(flag(name, value)?),
                "array" => {
                    options.layout.form = match flag(name, value)? {
                        true => RecordForm::Array,
                        false => RecordForm::Lines,
                    };
                }
                "compression" | "codec" => {
                    options.layout.packing = Packing::named(name, value)?;
                }
                _ if options.take_form(name, value)? => {}
                other => {
                    return Err(Error::unsupported(format!(
                        "Unsupported option for COPY FROM: {}; INSERT INTO ... FROM read_json('file') takes others",
                        other.to_uppercase()
                    )));
                }
            }
        }
        Ok(options)
    }

    /// Takes a format of dates or points in time, if the option is one.
    fn take_form(&mut self, name: &str, value: &OptionValue) -> Result<bool> {
        let (form, iso) = match name {
            "dateformat" | "date_format" => (&mut self.moments.date, "%Y-%m-%d"),
            "timestampformat" | "timestamp_format" => {
                (&mut self.moments.moment, "%Y-%m-%dT%H:%M:%S.%fZ")
            }
            _ => return Ok(false),
        };
        let given = text(name, value)?;
        let given = match given.eq_ignore_ascii_case("iso") {
            true => iso,
            false => given,
        };
        let wrong = |_| {
            Error::binder(format!(
                "the option {name} takes a format of strptime, such as '%d.%m.%Y'"
            ))
        };
        *form = Some(MomentForm::new(given).map_err(wrong)?);
        Ok(true)
    }

    /// What finds the types of columns.
    pub(super) fn finder(&self) -> Result<Finder> {
        let (date, moment) = (self.moments.date.as_ref(), self.moments.moment.as_ref());
        let texts = TextKinds::new(date, moment, self.finds_integers)?;
        let finder = Finder::new(
            texts,
            self.depth.unwrap_or(usize::MAX),
            self.map_from.unwrap_or(MAP_FROM),
            self.appearance.unwrap_or(APPEARANCE),
        );
        Ok(finder.taking_twice(self.layout.ignores_errors))
    }
}

fn map_from(value: &str) -> Result<usize> {
    match value.parse::<i64>() {
        Ok(-1) => Ok(usize::MAX),
        Ok(names @ 0..) => Ok(usize::try_from(names).unwrap_or(usize::MAX)),
        _ => Err(Error::binder(
            "read_json \"map_inference_threshold\" parameter must be 0 or positive, or -1 to disable map inference for consistent objects.",
        )),
    }
}

fn appearance(value: &str) -> Result<f64> {
    let share = value.parse::<f64>().ok();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| {
        Error::binder("read_json \"field_appearance_threshold\" parameter must be between 0 and 1")
    })
}

/// Whether records are objects; `None` for what they tell themselves.
fn records(value: &str) -> Result<Option<bool>> {
    match value.to_ascii_lowercase().as_str() {
        "auto" => Ok(None),
        "true" | "1" => Ok(Some(true)),
        "false" | "0" => Ok(Some(false)),
        _ => Err(Error::binder(
            "the option records takes 'auto', true and false",
        )),
    }
}

/// An option of which there are only these values.
fn only(name: &str, value: &OptionValue, values: &[&str]) -> Result<()> {
    let text = text(name, value)?;
    match values.iter().any(|known| known.eq_ignore_ascii_case(text)) {
        true => Ok(()),
        false => Err(Error::unsupported(format!(
            "the option {name} of JSON files is not supported but for {}",
            values.join(", ")
        ))),
    }
}
