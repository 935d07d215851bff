//! Calls of macros in a statement: what their bodies weigh, and those that wait for the types of their arguments.

use crate::calls::quoted_call;
use crate::macro_arguments::Arguments;
use hushdb_storage::Macro;
use sqlparser::ast::Expr;
use std::collections::HashMap;
use std::sync::Arc;

/// How the names of functions begin that stand for calls of macros, and the field of the struct that is their type.
pub const TYPED_CALL: &str = "$macro_";

/// Macros in a statement: what they weigh, and those that wait for types.
#[derive(Default)]
pub struct MacroCalls {
    /// Of all that was put in so far.
    pub(crate) weight: usize,
    pub(crate) waiting: HashMap<usize, Waiting>,
    last: usize,
}

/// A call that was put aside.
pub(crate) struct Waiting {
    pub(crate) found: Arc<Macro>,
    /// Of its arguments, folded.
    pub(crate) names: Vec<Option<String>>,
    /// How many macros were around.
    pub(crate) level: usize,
    pub(crate) is_table: bool,
}

impl MacroCalls {
    /// Whether none waits for types.
    pub fn are_done(&self) -> bool {
        self.waiting.is_empty()
    }

    /// What stands for a call until the types of its arguments are known.
    pub(crate) fn put_aside(
        &mut self,
        found: &Arc<Macro>,
        given: Arguments<'_>,
        level: usize,
        is_table: bool,
    ) -> Expr {
        self.last += 1;
        let waiting = Waiting {
            found: Arc::clone(found),
            names: given.names,
            level,
            is_table,
        };
        self.waiting.insert(self.last, waiting);
        let values = given.values.into_iter().cloned();
        quoted_call(&format!("{TYPED_CALL}{}", self.last), values.collect())
    }
}
