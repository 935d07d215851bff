//! The library's `named_struct`, which says of a field that it is JSON where its value is.

use super::json_within::{given_field, known_types};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, StructFieldMapping,
};
use hushdb_sql::type_names::is_called_json;
use std::sync::Arc;

/// A struct of names and values.
pub const NAMED_STRUCT: &str = "named_struct";

/// The function, over the library's.
#[derive(Debug, PartialEq, Eq, Hash)]
struct NamedStruct(Arc<ScalarUDF>);

/// The function to register.
pub(super) fn function() -> Arc<ScalarUDF> {
    let library = datafusion::functions::core::named_struct();
    Arc::new(ScalarUDF::from(NamedStruct(library)))
}

impl ScalarUDFImpl for NamedStruct {
    fn name(&self) -> &str {
        NAMED_STRUCT
    }

    fn signature(&self) -> &Signature {
        self.0.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.0.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let known = known_types(NAMED_STRUCT, args.arg_fields).into_iter();
        let fields = known.map(|of| Arc::new(Field::new("", of, true)));
        let given = self.0.return_field_from_args(ReturnFieldArgs {
            arg_fields: &fields.collect::<Vec<_>>(),
            scalar_arguments: args.scalar_arguments,
        })?;
        let own = args.arg_fields.iter().map(AsRef::as_ref);
        Ok(Arc::new(given_field(NAMED_STRUCT, given.data_type(), own)))
    }

    /// Where no value is JSON it is the library's, whose fields the library finds in it.
    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        for arg in &args {
            if is_called_json(arg.to_field(info.schema())?.1.as_ref()) {
                return Ok(ExprSimplifyResult::Original(args));
            }
        }
        let library = ScalarFunction::new_udf(Arc::clone(&self.0), args);
        Ok(ExprSimplifyResult::Simplified(Expr::ScalarFunction(
            library,
        )))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.0.invoke_with_args(args)
    }

    fn struct_field_mapping(
        &self,
        literal_args: &[Option<ScalarValue>],
    ) -> Option<StructFieldMapping> {
        self.0.struct_field_mapping(literal_args)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.0.documentation()
    }
}
