//! Functions of the library that write their arguments anew, which ask for the memory before they do.
//!
//! What must hold: what is asked for is no less than what the call takes beside its arguments.

use super::json_within::{given_field, known_types, relabelled, taken, without_json_within};
use super::room::{Memory, Room, bytes_of};
use super::whole::{item, list_of};
use crate::common_types::map_of;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature,
};
use hushdb_sql::Error;
use std::sync::Arc;

/// A list of values: `[a, b]`.
pub const MAKE_LIST: &str = "make_array";
/// `overlay(text PLACING ...)`.
pub const OVERLAY: &str = "overlay";

/// The functions, and how many times what they are given they take.
const WRITERS: [(&str, usize); 29] = [
    (MAKE_LIST, 1),
    (OVERLAY, 1),
    ("array_add", 2),
    ("array_compact", 1),
    ("array_except", 4),
    // These take nothing, and are here for JSON.
    ("array_max", 0),
    ("array_min", 0),
    ("array_normalize", 2),
    ("array_pop_back", 1),
    ("array_pop_front", 1),
    ("array_positions", 2),
    ("array_remove", 2),
    ("array_remove_all", 2),
    ("array_remove_n", 2),
    ("array_replace", 2),
    ("array_replace_all", 2),
    ("array_replace_n", 2),
    ("array_reverse", 2),
    ("array_scale", 2),
    ("array_subtract", 2),
    ("array_union", 4),
    ("arrays_zip", 2),
    ("flatten", 1),
    ("initcap", 2),
    ("map_entries", 1),
    ("map_keys", 1),
    ("map_values", 1),
    ("regexp_match", 2),
    ("substr_index", 1),
];

/// Those functions, each of which asks.
pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let library = datafusion::functions::all_default_functions().into_iter();
    let library = library.chain(datafusion::functions_nested::all_default_nested_functions());
    let asked = library.filter_map(|inner| {
        let (_, times) = WRITERS.iter().find(|(name, _)| *name == inner.name())?;
        let signature = Signature::user_defined(inner.signature().volatility);
        Some(Arc::new(ScalarUDF::from(Asked {
            inner,
            times: *times,
            memory: Memory(Arc::clone(memory)),
            signature,
        })))
    });
    asked.collect()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Asked {
    inner: Arc<ScalarUDF>,
    times: usize,
    memory: Memory,
    signature: Signature,
}

/// What a value takes when it is written once for each row.
fn bytes_of_value(value: &ScalarValue) -> usize {
    match value {
        ScalarValue::List(list) => bytes_of(list.as_ref()),
        ScalarValue::Struct(fields) => bytes_of(fields.as_ref()),
        ScalarValue::Map(map) => bytes_of(map.as_ref()),
        other => other.size(),
    }
}

impl Asked {
    /// The type as which an argument is taken: an array is a list like others, and so are those that become one list.
    fn taken(&self, of: &DataType) -> DataType {
        match (self.name(), item(of)) {
            ("map_entries" | "map_keys" | "map_values", _) if of.is_null() => {
                map_of(&DataType::Int32, &DataType::Int32)
            }
            (MAKE_LIST, _) | (_, None | Some(DataType::Null)) => of.clone(),
            ("flatten", Some(lists)) => list_of(item(&lists).map_or(lists, list_of)),
            (_, Some(item)) => list_of(item),
        }
    }
}

impl ScalarUDFImpl for Asked {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if let ("flatten", Some(each)) = (self.name(), types.first().and_then(item))
            && !each.is_null()
            && item(&each).is_none()
        {
            return Err(Error::binder("flatten takes a list of lists").into());
        }
        taken(self.name(), types, |known| {
            let field = |ty: &DataType| Arc::new(Field::new("", self.taken(ty), true));
            let fields: Vec<FieldRef> = known.iter().map(field).collect();
            let coerced = fields_with_udf(&fields, self.inner.as_ref())?;
            Ok(coerced.iter().map(|f| f.data_type().clone()).collect())
        })
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let known = known_types(self.name(), args.arg_fields).into_iter();
        let fields = known.zip(args.arg_fields);
        let fields = fields.map(|(known, field)| match known == *field.data_type() {
            true => Arc::clone(field),
            false => Arc::new(Field::new(field.name(), known, field.is_nullable())),
        });
        let given = self.inner.return_field_from_args(ReturnFieldArgs {
            arg_fields: &fields.collect::<Vec<_>>(),
            scalar_arguments: args.scalar_arguments,
        })?;
        let own = args.arg_fields.iter().map(AsRef::as_ref);
        let field = given_field(given.name(), given.data_type(), own);
        let field = field.with_nullable(given.is_nullable());
        Ok(match field.data_type() == given.data_type() {
            true => given,
            false => Arc::new(field),
        })
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let inner = self.inner.inner().with_updated_config(config)?;
        Some(ScalarUDF::from(Self {
            inner: Arc::new(inner),
            times: self.times,
            memory: self.memory.clone(),
            signature: self.signature.clone(),
        }))
    }

    fn is_strict(&self) -> bool {
        self.inner.inner().is_strict()
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = |arg: &ColumnarValue| matches!(arg, ColumnarValue::Scalar(_));
        let constant = args.args.iter().all(is_constant);
        let rows = if constant { 1 } else { args.number_rows };
        let number_rows = args.number_rows;
        let given = args.args.iter().map(|arg| match arg {
            ColumnarValue::Array(array) => bytes_of(array.as_ref()),
            ColumnarValue::Scalar(value) => bytes_of_value(value).saturating_mul(rows),
        });
        let given = given.fold(0, usize::saturating_add);
        let mut room = Room::new(&self.memory.0);
        room.take_if_long(given.saturating_mul(self.times))?;
        let to = args.return_field.data_type().clone();
        let (made, constant) = match self.inner.invoke_with_args(without_json_within(args)?)? {
            ColumnarValue::Array(made) => (made, false),
            ColumnarValue::Scalar(made) => (made.to_array()?, true),
        };
        room.result(relabelled(made, &to)?, constant, number_rows)
    }
}
