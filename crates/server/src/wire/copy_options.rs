//! Options of COPY FROM STDIN and TO STDOUT, in the new spelling and the old one.

use crate::sql_error::SqlError;
use crate::wire::parameter::boolean;
use crate::words::{Kind, Words};

/// How rows of COPY are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopyOptions {
    pub(crate) csv: bool,
    pub(crate) binary: bool,
    pub(crate) header: bool,
    pub(crate) delimiter: u8,
    pub(crate) null: String,
    pub(crate) quote: u8,
    pub(crate) escape: u8,
}

impl CopyOptions {
    fn of(csv: bool) -> Self {
        Self {
            csv,
            binary: false,
            header: false,
            delimiter: if csv { b',' } else { b'\t' },
            null: if csv { "" } else { "\\N" }.into(),
            quote: b'"',
            escape: b'"',
        }
    }

    /// Reads what stands behind STDIN or STDOUT.
    ///
    /// # Errors
    /// 0A000 for what is not there, 42601 and 22023 for what is wrong.
    pub(crate) fn read(words: &mut Words<'_>, from: bool) -> Result<Self, SqlError> {
        let _ = words.take(&["with"]);
        let brackets = words.mark('(');
        let mut given: Vec<(String, Option<String>)> = vec![];
        while !(words.is_empty() || brackets && words.mark(')')) {
            let name = words
                .name()
                .ok_or_else(|| SqlError::syntax("an option of COPY was expected"))?;
            let takes = !matches!(words.peek(), None | Some(Kind::Mark(_)));
            let is_flag =
                matches!(name.as_str(), "csv" | "binary" | "freeze" | "header") && !brackets;
            if !brackets {
                let _ = words.take(&["as"]);
            }
            let value = match takes && !is_flag {
                true => Some(
                    words
                        .value()
                        .ok_or_else(|| SqlError::syntax("an option of COPY lacks its value"))?,
                ),
                false => None,
            };
            given.push((name, value));
            let _ = words.mark(',');
        }
        if !words.is_empty() {
            return Err(SqlError::syntax(
                "nothing more was expected behind the options of COPY",
            ));
        }
        Self::of_list(&given, from)
    }

    fn of_list(given: &[(String, Option<String>)], from: bool) -> Result<Self, SqlError> {
        let says = |name: &str, word: &str| {
            let mut given = given.iter();
            given
                .any(|(n, v)| n == name && v.as_ref().is_some_and(|v| v.eq_ignore_ascii_case(word)))
        };
        let csv = says("format", "csv") || given.iter().any(|(name, _)| name == "csv");
        let mut options = Self::of(csv);
        let mut escape = None;
        for (name, value) in given {
            let text = || {
                value
                    .clone()
                    .ok_or_else(|| SqlError::syntax("an option of COPY lacks its value"))
            };
            let is_on = || {
                value
                    .as_deref()
                    .is_none_or(|value| boolean(value) == Some(true))
            };
            match name.as_str() {
                "format" => match text()?.to_ascii_lowercase().as_str() {
                    "csv" | "text" => {}
                    "binary" => options.binary = true,
                    _ => return Err(SqlError::missing("this format of COPY")),
                },
                "csv" | "freeze" => {}
                "binary" => options.binary = true,
                "header" => options.header = is_on(),
                "delimiter" | "delimiters" => options.delimiter = one_byte(name, &text()?)?,
                "null" => options.null = text()?,
                "quote" if csv => options.quote = one_byte(name, &text()?)?,
                "escape" if csv => escape = Some(one_byte(name, &text()?)?),
                "encoding" if text()?.replace('-', "").eq_ignore_ascii_case("utf8") => {}
                other => {
                    return Err(SqlError::missing(&format!(
                        "the option {} of COPY",
                        other.to_uppercase()
                    )));
                }
            }
        }
        let only = ["format", "binary", "freeze", "encoding"];
        if options.binary && given.iter().any(|(name, _)| !only.contains(&name.as_str())) {
            return Err(SqlError::syntax("COPY in binary takes no option of text"));
        }
        options.escape = escape.unwrap_or(options.quote);
        if options.header && !csv && from {
            return Err(SqlError::missing("HEADER in text format"));
        }
        let taken = [b'\n', b'\r', options.quote];
        let ambiguous = csv && taken.contains(&options.delimiter)
            || !csv && b"\\\r\n.".contains(&options.delimiter);
        match ambiguous || options.null.contains(['\r', '\n']) {
            true => Err(SqlError::new(
                "22023",
                "COPY delimiter or null string cannot be told from data",
            )),
            false => Ok(options),
        }
    }
}

fn one_byte(name: &str, text: &str) -> Result<u8, SqlError> {
    match text.as_bytes() {
        [byte] => Ok(*byte),
        _ => Err(SqlError::new(
            "22023",
            format!("COPY {name} must be a single one-byte character"),
        )),
    }
}
