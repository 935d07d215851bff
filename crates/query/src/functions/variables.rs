//! `getvariable('name')`: what SET VARIABLE has set in the session.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, not_impl_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use hushdb_sql::folded;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Values by folded names.
pub type Variables = Arc<BTreeMap<String, ScalarValue>>;

/// The function over a session's variables.
pub(crate) fn getvariable(variables: Variables) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(GetVariable {
        variables,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

#[derive(PartialEq, Eq, Hash)]
struct GetVariable {
    variables: Variables,
    signature: Signature,
}

/// Without the values, which are nobody else's.
impl fmt::Debug for GetVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GetVariable of {} variables", self.variables.len())
    }
}

impl GetVariable {
    /// A variable that nobody has set is NULL.
    fn value(&self, name: Option<&ScalarValue>) -> Result<ScalarValue> {
        let none = || Ok(ScalarValue::Null);
        match name {
            Some(ScalarValue::Null) => none(),
            Some(name) => match name.try_as_str() {
                Some(Some(name)) => match self.variables.get(&folded(name)) {
                    Some(value) => Ok(value.clone()),
                    None => none(),
                },
                Some(None) => none(),
                None => plan_err!("getvariable takes the name of a variable as a text"),
            },
            None => not_impl_err!("getvariable requires a constant input"),
        }
    }
}

impl ScalarUDFImpl for GetVariable {
    fn name(&self) -> &'static str {
        "getvariable"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_] => Ok(types.to_vec()),
            _ => plan_err!("getvariable takes the name of a variable"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        not_impl_err!("getvariable requires a constant input")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let name = args.scalar_arguments.first().copied().flatten();
        let data_type = self.value(name)?.data_type();
        Ok(Arc::new(Field::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let name = match args.args.first() {
            Some(ColumnarValue::Scalar(name)) => Some(name),
            _ => None,
        };
        self.value(name).map(ColumnarValue::Scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_shown() {
        let value = ScalarValue::Utf8(Some("secret".to_owned()));
        let variables = Arc::new(BTreeMap::from([("a".to_owned(), value)]));
        let shown = format!("{:?}", getvariable(variables));
        assert!(shown.contains("of 1 variables") && !shown.contains("secret"));
    }
}
