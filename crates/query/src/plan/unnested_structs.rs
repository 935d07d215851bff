//! `UnnestedStructs`: `unnest` takes structs apart, and nothing that is one to Arrow alone: no ENUM and no UNION.

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, plan_err};
use datafusion::config::ConfigOptions;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::AnalyzerRule;
use hushdb_sql::type_names::is_struct;

/// The rule; see the module.
#[derive(Debug)]
pub(super) struct UnnestedStructs;

impl AnalyzerRule for UnnestedStructs {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.apply_with_subqueries(|plan| {
            if let LogicalPlan::Unnest(unnest) = plan {
                let fields = unnest.input.schema().fields();
                let places = unnest.struct_type_columns.iter();
                let mut structs = places.filter_map(|place| fields.get(*place));
                if !structs.all(|field| is_struct(field.data_type())) {
                    return plan_err!("unnest() can only be applied to array, struct and null");
                }
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(plan)
    }

    fn name(&self) -> &str {
        "unnested_structs"
    }
}
