//! `can_cast_implicitly(x, y)`: whether a value of the type of the one may stand where the type of the other is wanted.

use super::whole::{Call, Whole, registered};
use crate::common_types::implicit_cost;
use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::Error;
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 1] = [(
        &["can_cast_implicitly"],
        |types| (types.len() == 2).then(|| types.to_vec()),
        |_, _| Some(DataType::Boolean),
        |call, _| answered(call),
    )];
    registered(functions, memory)
}

fn answered(call: &Call<'_>) -> Result<ArrayRef> {
    let (Some(from), Some(to)) = (call.field(0), call.field(1)) else {
        return Err(Error::internal("a cast is asked for without types").into());
    };
    let answer = implicit_cost(from, to).is_some();
    Ok(Arc::new(BooleanArray::from(vec![answer; call.rows()])))
}
