//! Columns that the names of directories say: `year=2024/month=1/data.csv`.
//!
//! What must hold: every file has a value of each of these columns; a value is a number or a day only if the directories' names are
//! what that would be written as.

use super::super::option_values::{flag, pairs};
use chrono::{NaiveDate, NaiveDateTime};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use hushdb_sql::type_names::named_type;
use hushdb_sql::{Error, OptionValue, Result};
use hushdb_storage::ColumnType;
use std::collections::BTreeMap;

/// What stands for NULL.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// Values by column, in the order of the columns' names.
type Values = BTreeMap<String, Option<String>>;

/// What a statement says of such directories.
#[derive(Default)]
pub(crate) struct HiveOptions {
    /// Where nothing is said, they count if all files have the same.
    wanted: Option<bool>,
    types: Vec<(String, ColumnType)>,
    /// All values are texts.
    plain: bool,
}

/// A column, and its value in each of the files.
#[derive(Debug)]
pub(crate) struct HiveColumn {
    pub(crate) name: String,
    pub(crate) ty: ColumnType,
    pub(crate) values: Vec<Option<String>>,
}

impl HiveOptions {
    /// Takes an option, if it is one of these.
    ///
    /// # Errors
    /// `Binder` for a value that it does not take.
    pub(super) fn take(&mut self, name: &str, value: &OptionValue) -> Result<bool> {
        match name {
            "hive_partitioning" => self.wanted = Some(flag(name, value)?),
            "hive_types_autocast" => self.plain = !flag(name, value)?,
            "hive_types" => {
                for (column, ty) in pairs(name, value)? {
                    self.types.push((column.clone(), named_type(ty)?));
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// The columns that some files have.
    ///
    /// # Errors
    /// `Binder` where files differ and the statement wants them, `InvalidInput` for types of columns that are none.
    pub(crate) fn columns(&self, paths: &[String]) -> Result<Vec<HiveColumn>> {
        if self.wanted == Some(false) {
            let refused = "cannot disable hive_partitioning when hive_types is enabled";
            return match self.types.is_empty() {
                true => Ok(vec![]),
                false => Err(Error::invalid(refused)),
            };
        }
        let files: Vec<Values> = paths.iter().map(|path| values(path)).collect();
        let Some(first) = files.first() else {
            return Ok(vec![]);
        };
        let other = files.iter().position(|file| !file.keys().eq(first.keys()));
        if let Some(other) = other.and_then(|at| paths.get(at)) {
            let wanted = self.wanted == Some(true) || !self.types.is_empty();
            let first = paths.first().map_or("", String::as_str);
            let text = format!("Hive partition mismatch between file \"{first}\" and \"{other}\"");
            return match wanted {
                true => Err(Error::binder(text)),
                false => Ok(vec![]),
            };
        }
        for (name, _) in &self.types {
            if !first.keys().any(|key| key.eq_ignore_ascii_case(name)) {
                return Err(Error::invalid(format!(
                    "Unknown hive_type: \"{name}\" does not appear to be a partition"
                )));
            }
        }
        let columns = first.keys().map(|name| {
            let values = files.iter().map(|file| file.get(name).cloned().flatten());
            let values: Vec<Option<String>> = values.collect();
            let mut given = self.types.iter();
            let given = given.find(|(of, _)| of.eq_ignore_ascii_case(name));
            let ty = match given {
                Some((_, ty)) => ty.clone(),
                None if self.plain => ColumnType::Varchar,
                None => type_of(&values),
            };
            HiveColumn {
                name: name.clone(),
                ty,
                values,
            }
        });
        Ok(columns.collect())
    }
}

impl HiveColumn {
    /// The value of a file, of the column's type or as text that is to be cast to it.
    pub(super) fn value(&self, file: usize) -> ScalarValue {
        let text = self.values.get(file).cloned().flatten();
        let number = text.as_deref().and_then(|text| text.parse().ok());
        match number.filter(|_| self.ty == ColumnType::Int64) {
            Some(number) => ScalarValue::Int64(Some(number)),
            None => ScalarValue::Utf8View(text),
        }
    }

    pub(super) fn arrow(&self) -> DataType {
        self.ty.arrow()
    }
}

/// What the directories of a path say.
fn values(path: &str) -> Values {
    let directories = path
        .rsplit_once('/')
        .map_or("", |(directories, _)| directories);
    let pairs = directories.split('/').filter_map(|name| {
        let (key, value) = name.split_once('=')?;
        if key.is_empty() || value.contains('=') {
            return None;
        }
        let value = Some(decoded(value)).filter(|value| value != NULL);
        Some((decoded(key), value))
    });
    pairs.collect()
}

/// A text in which `%20` is a blank (RFC 3986, 2.1); as it stands where that would be no text.
fn decoded(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *first == b'%');
        let digits = digits.and_then(|digits| str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = match byte {
            Some(_) => behind.get(2..).unwrap_or_default(),
            None => behind,
        };
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// The type that all values have.
fn type_of(values: &[Option<String>]) -> ColumnType {
    let known = || values.iter().flatten();
    let all = |is: fn(&str) -> bool| known().next().is_some() && known().all(|value| is(value));
    let is_date = |text: &str| {
        let date = NaiveDate::parse_from_str(text, "%Y-%m-%d");
        date.is_ok_and(|date| date.to_string() == text)
    };
    let is_moment = |text: &str| {
        NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S%.f").is_ok() && text.len() >= 19
    };
    let is_number = |text: &str| {
        text.parse::<i64>()
            .is_ok_and(|number| number.to_string() == text)
    };
    if all(is_date) {
        ColumnType::Date
    } else if all(is_moment) {
        ColumnType::Timestamp(datafusion::arrow::datatypes::TimeUnit::Microsecond, false)
    } else if all(is_number) {
        ColumnType::Int64
    } else {
        ColumnType::Varchar
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(options: &HiveOptions, paths: &[&str]) -> Result<String> {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let columns = options.columns(&paths)?;
        let columns = columns.iter().map(|column| {
            let values = column.values.iter();
            let values = values.map(|value| value.as_deref().unwrap_or("NULL"));
            let values = values.collect::<Vec<_>>().join(",");
            format!("{} {:?} {values}", column.name, column.ty)
        });
        Ok(columns.collect::<Vec<_>>().join("; "))
    }

    #[test]
    fn directories_say_what_they_say() {
        let found = |paths: &[&str]| columns(&HiveOptions::default(), paths).unwrap();
        assert_eq!(
            found(&["y=2020/m=01/a", "y=2021/m=2/a"]),
            "m Varchar 01,2; y Int64 2020,2021"
        );
        assert_eq!(
            found(&["/d/k=__HIVE_DEFAULT_PARTITION__/a", "/d/k=a%20b/a"]),
            "k Varchar NULL,a b"
        );
        assert_eq!(found(&["d=2020-01-02/a"]), "d Date 2020-01-02");
        assert_eq!(found(&["k=%zz%/a",]), "k Varchar %zz%");
        for none in [
            &["a"][..],
            &["k=1=2/a"],
            &["=1/a"],
            &["k=1/a", "a"],
            &["x/k=1"],
        ] {
            assert_eq!(found(none), "", "{none:?}");
        }
        let wanted = HiveOptions {
            wanted: Some(true),
            ..HiveOptions::default()
        };
        assert!(columns(&wanted, &["k=1/a", "a"]).is_err());
    }
}
