//! `$collate(text, name)`, by which plans know a collation, and the keys that texts of a collation are compared by.

use super::more_texts::without_accents;
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::{COLLATE, Error};
use hushdb_storage::Collation;
use std::borrow::Cow;
use std::sync::Arc;

/// The mark of a collation, which plans take out.
pub(super) fn mark() -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(Mark { signature }))
}

/// What a text is compared by under a collation.
pub fn collation_key(text: Expr, collation: Collation) -> Expr {
    let key = ScalarUDF::from(Key {
        collation,
        signature: Signature::any(1, Volatility::Immutable),
    });
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(key), vec![text]))
}

/// The same of the texts of a column.
pub(super) fn collation_keys(texts: &ArrayRef, collation: Collation) -> Result<ArrayRef> {
    check()?;
    let texts = cast(texts, &DataType::Utf8View)?;
    let texts = texts.as_string_view();
    let mut keys = StringViewBuilder::with_capacity(texts.len());
    for text in texts {
        keys.append_option(text.map(|text| key(text, collation)));
    }
    Ok(Arc::new(keys.finish()))
}

fn key(text: &str, collation: Collation) -> Cow<'_, str> {
    if text.is_ascii() {
        let has_upper = text.bytes().any(|byte| byte.is_ascii_uppercase());
        return match collation.has_no_case() && has_upper {
            true => Cow::Owned(text.to_ascii_lowercase()),
            false => Cow::Borrowed(text),
        };
    }
    let bare = match collation.has_no_accents() {
        true => Cow::Owned(without_accents(text)),
        false => Cow::Borrowed(text),
    };
    match collation.has_no_case() {
        true => Cow::Owned(bare.to_lowercase()),
        false => bare,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Mark {
    signature: Signature,
}

impl ScalarUDFImpl for Mark {
    fn name(&self) -> &str {
        COLLATE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [text, _] if text.is_string() || text.is_null() => {
                Ok(vec![DataType::Utf8View, DataType::Utf8])
            }
            _ => Err(Error::binder("collations are only supported for type varchar").into()),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.coerce_types(types).map(|_| DataType::Utf8View)
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        args.args.truncate(1);
        match args.args.pop() {
            Some(text) => Ok(text),
            None => internal_err!("a collation of nothing"),
        }
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Key {
    collation: Collation,
    signature: Signature,
}

impl ScalarUDFImpl for Key {
    fn name(&self) -> &str {
        "$collation_key"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.first() {
            Some(ColumnarValue::Array(texts)) => {
                collation_keys(texts, self.collation).map(ColumnarValue::Array)
            }
            Some(ColumnarValue::Scalar(text)) => {
                let keys = collation_keys(&text.to_array()?, self.collation)?;
                ScalarValue::try_from_array(&keys, 0).map(ColumnarValue::Scalar)
            }
            None => internal_err!("a collation of nothing"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_compared_without_case_and_accents() {
        for (collation, text, expected) in [
            (Collation::NoCase, "Ab", "ab"),
            (Collation::NoCase, "ÄB", "äb"),
            (Collation::NoAccent, "Äb", "Ab"),
            (Collation::NoAccentNoCase, "ÄB", "ab"),
            (Collation::NoAccent, "Ab", "Ab"),
        ] {
            assert_eq!(key(text, collation), expected);
        }
    }
}
