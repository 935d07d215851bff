//! What the definition of a column says of its values beyond their type: `varchar(n)`, `char(n)` and `jsonb` of PostgreSQL.
//!
//! What must hold: no text of more characters than a column's is stored; an error repeats nothing of it.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewArray};
use hushdb_query::functions::jsonb_texts;
use hushdb_sql::{Error, ErrorKind, Result, sqlstate};
use hushdb_storage::{Column, Declared};
use std::sync::Arc;

/// Values as a column of their type has them.
///
/// # Errors
/// `Conversion` when a text has more characters than the column, and they are not blanks at its end; those of memory.
pub(super) fn fitted(column: &Column, values: ArrayRef) -> Result<ArrayRef> {
    let Some(declared) = column.declared else {
        return Ok(values);
    };
    if fits(column, &values) {
        return Ok(values);
    }
    if declared == Declared::Jsonb {
        return Ok(jsonb_texts(&values)?);
    }
    let texts = values.as_string_view().iter();
    let texts = texts.map(|text| match text {
        None => Ok(None),
        Some(text) => match fitted_text(declared, text) {
            None => Err(too_long(declared)),
            fitted => Ok(fitted),
        },
    });
    Ok(Arc::new(texts.collect::<Result<StringViewArray>>()?))
}

/// Whether values of a column's type may stand in it as they are, as far as is seen at once.
pub(super) fn fits(column: &Column, values: &ArrayRef) -> bool {
    match column.declared {
        None | Some(Declared::Varchar(None)) => true,
        Some(Declared::Jsonb) => values.null_count() == values.len(),
        Some(declared) => {
            let mut texts = values.as_string_view().iter().flatten();
            texts.all(|text| {
                fitted_text(declared, text).is_some_and(|kept| kept.len() == text.len())
            })
        }
    }
}

/// A text without the blanks at its end that a column has no room for; of `char(n)` without any. `None` if it is too long.
fn fitted_text(declared: Declared, text: &str) -> Option<&str> {
    let (text, length) = match declared {
        Declared::Varchar(Some(length)) => (text, length.get() as usize),
        Declared::Char(length) => (text.trim_end_matches(' '), length.get() as usize),
        Declared::Varchar(None) | Declared::Jsonb => return Some(text),
    };
    if text.len() <= length {
        return Some(text);
    }
    let Some((end, _)) = text.char_indices().nth(length) else {
        return Some(text);
    };
    let (kept, rest) = text.split_at_checked(end)?;
    rest.bytes().all(|byte| byte == b' ').then_some(kept)
}

fn too_long(declared: Declared) -> Error {
    let ty = match declared {
        Declared::Varchar(Some(length)) => format!("character varying({length})"),
        Declared::Char(length) => format!("character({length})"),
        Declared::Varchar(None) | Declared::Jsonb => "text".to_owned(),
    };
    let what = format!("value too long for type {ty}");
    Error::new(ErrorKind::Conversion, what).with_sqlstate(sqlstate::TOO_LONG)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU32;

    #[test]
    fn blanks_at_the_end_are_cut_off_and_nothing_else() {
        let three = NonZeroU32::new(3);
        let (varchar, char) = (Declared::Varchar(three), Declared::Char(three.unwrap()));
        for (text, as_varchar, as_char) in [
            ("", Some(""), Some("")),
            ("abc", Some("abc"), Some("abc")),
            ("ab ", Some("ab "), Some("ab")),
            ("abc   ", Some("abc"), Some("abc")),
            ("äöü", Some("äöü"), Some("äöü")),
            ("äöü ", Some("äöü"), Some("äöü")),
            ("abcd", None, None),
            ("abc\t", None, None),
            ("     ", Some("   "), Some("")),
        ] {
            assert_eq!(fitted_text(varchar, text), as_varchar, "{text}");
            assert_eq!(fitted_text(char, text), as_char, "{text}");
        }
    }
}
