//! `PromisedOrder`: puts rows into the order that a plan promised and that joining them in parts has lost.

use crate::memory::rows::RowsExec;
use crate::memory::sort::SpillingSort;
use datafusion::common::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use std::sync::Arc;

#[derive(Default)]
pub(super) struct PromisedOrder(Option<LexOrdering>);

impl PromisedOrder {
    /// Takes all orders that are promised as one: rows that are in it are in each of them.
    pub(super) fn of(properties: &PlanProperties) -> Self {
        let orders = properties.equivalence_properties().oeq_class();
        Self(LexOrdering::new(orders.iter().flatten().cloned()))
    }

    /// Sorts the rows if an order was promised.
    pub(super) fn restore(
        self,
        rows: SendableRecordBatchStream,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        match self.0 {
            None => Ok(rows),
            Some(order) => {
                let rows = Arc::new(RowsExec::once(rows));
                SpillingSort::new(order, rows).execute(0, context)
            }
        }
    }
}
