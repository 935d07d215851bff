//! One name of two functions: one takes lists and what else is said, the other all else.

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::Result;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use std::sync::Arc;

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfLists {
    lists: Arc<ScalarUDF>,
    others: Arc<ScalarUDF>,
    /// Whether NULL and what is no text is a list and a value.
    of_null: bool,
    signature: Signature,
}

/// The function, which has the name and the other names of the one that takes no lists.
pub(super) fn of_lists(
    lists: Arc<ScalarUDF>,
    others: Arc<ScalarUDF>,
    of_null: bool,
) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(OfLists {
        lists,
        others,
        of_null,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

impl OfLists {
    fn of(&self, types: &[DataType]) -> &ScalarUDF {
        let of_null = match types {
            [DataType::Null, value] => self.of_null && !value.is_string() && !value.is_null(),
            _ => false,
        };
        match of_null || types.iter().any(DataType::is_nested) {
            true => &self.lists,
            false => &self.others,
        }
    }
}

impl ScalarUDFImpl for OfLists {
    fn name(&self) -> &str {
        self.others.name()
    }

    fn aliases(&self) -> &[String] {
        self.others.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let field = |ty: &DataType| Arc::new(Field::new("", ty.clone(), true));
        let fields: Vec<FieldRef> = types.iter().map(field).collect();
        let coerced = fields_with_udf(&fields, self.of(types))?;
        Ok(coerced.iter().map(|f| f.data_type().clone()).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.of(types).return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types = args
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone());
        self.of(&types.collect::<Vec<_>>())
            .return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let types: Vec<_> = args.args.iter().map(ColumnarValue::data_type).collect();
        self.of(&types).invoke_with_args(args)
    }
}
