//! What nodes of physical plans say of themselves beside their rows: DataFusion asks each of ours for the same. These macros stand
//! within `impl ExecutionPlan`; what a node does with its rows, and what is true of them, it says itself.

/// Name and input of a node that has one, in the field `input`. Its `with_input` makes the same node over another.
macro_rules! one_input {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn ExecutionPlan>> {
            vec![&self.input]
        }

        fn replace_children(
            self: std::sync::Arc<Self>,
            mut children: Vec<std::sync::Arc<dyn ExecutionPlan>>,
            _: datafusion::physical_plan::ReplaceChildrenOptions,
        ) -> datafusion::common::Result<std::sync::Arc<dyn ExecutionPlan>> {
            match children.pop() {
                Some(input) if children.is_empty() => Ok(self.with_input(input)),
                _ => datafusion::common::internal_err!("{} has one input", $name),
            }
        }

        crate::plan_node::new_children_recomputed!();
    };
}

/// Name of a node that has no input.
macro_rules! no_input {
    ($name:literal) => {
        fn name(&self) -> &'static str {
            $name
        }

        fn children(&self) -> Vec<&std::sync::Arc<dyn ExecutionPlan>> {
            vec![]
        }

        fn replace_children(
            self: std::sync::Arc<Self>,
            _: Vec<std::sync::Arc<dyn ExecutionPlan>>,
            _: datafusion::physical_plan::ReplaceChildrenOptions,
        ) -> datafusion::common::Result<std::sync::Arc<dyn ExecutionPlan>> {
            Ok(self)
        }

        crate::plan_node::new_children_recomputed!();
    };
}

/// The older face of `replace_children`: what is true of the rows is found anew.
macro_rules! new_children_recomputed {
    () => {
        fn with_new_children(
            self: std::sync::Arc<Self>,
            children: Vec<std::sync::Arc<dyn ExecutionPlan>>,
        ) -> datafusion::common::Result<std::sync::Arc<dyn ExecutionPlan>> {
            use datafusion::physical_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            self.replace_children(children, options)
        }
    };
}

/// A node that evaluates nothing.
macro_rules! no_expressions {
    () => {
        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion::physical_expr::PhysicalExpr>,
            ) -> datafusion::common::Result<
                datafusion::common::tree_node::TreeNodeRecursion,
            >,
        ) -> datafusion::common::Result<datafusion::common::tree_node::TreeNodeRecursion> {
            Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
        }
    };
}

pub(crate) use {new_children_recomputed, no_expressions, no_input, one_input};
