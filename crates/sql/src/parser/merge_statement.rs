//! `Merge`: what MERGE INTO is parsed to.

use crate::error::{Error, Result};
use crate::walk::{finish, visit_mut};
use sqlparser::ast::{
    Assignment, Expr, JoinConstraint, ObjectName, SelectItem, TableFactor, VisitMut, VisitorMut,
};

/// `MERGE INTO target USING source ON condition WHEN ... [RETURNING ...]`.
#[derive(Clone)]
pub struct Merge {
    /// The table that changes.
    pub target: TableFactor,
    /// The rows that change it.
    pub source: TableFactor,
    /// How rows of both belong together.
    pub constraint: JoinConstraint,
    /// In their order: of each pair of rows the first one counts that holds.
    pub clauses: Vec<MergeClause>,
    /// The items of RETURNING.
    pub returning: Option<Vec<SelectItem>>,
}

/// WHEN of a MERGE.
#[derive(Clone)]
pub struct MergeClause {
    /// Which rows it is about.
    pub rows: MergedRows,
    /// Behind AND.
    pub condition: Option<Expr>,
    /// Behind THEN.
    pub action: MergeAction,
}

/// Rows that WHEN is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergedRows {
    /// MATCHED: of both.
    Matched,
    /// NOT MATCHED [BY TARGET]: of the source alone.
    OfSource,
    /// NOT MATCHED BY SOURCE: of the target alone.
    OfTarget,
}

/// What becomes of a row.
#[derive(Clone)]
pub enum MergeAction {
    /// `UPDATE SET ...`.
    Update(Vec<Assignment>),
    /// `UPDATE` or `UPDATE SET *`, and `UPDATE BY NAME`: all columns of the source, by their places or names.
    UpdateAll {
        /// By their names.
        by_name: bool,
    },
    /// `INSERT [(columns)] VALUES (...)`; without values those of the defaults.
    Insert {
        /// All when none are named.
        columns: Vec<ObjectName>,
        /// As many as columns.
        values: Option<Vec<Expr>>,
    },
    /// `INSERT`, `INSERT *` and `INSERT BY NAME`: all columns of the source.
    InsertAll {
        /// By their names.
        by_name: bool,
    },
    /// The row goes.
    Delete,
    /// The row stays as it is.
    Nothing,
    /// The statement fails, with a text if it is given.
    Error(Option<Box<Expr>>),
}

impl Merge {
    /// Visits all parsed SQL in it.
    ///
    /// # Errors
    /// The one that the visitor broke off with.
    pub fn visit(&mut self, visitor: &mut dyn VisitorMut<Break = Box<Error>>) -> Result<()> {
        fn each<T: VisitMut>(
            part: &mut T,
            visitor: &mut dyn VisitorMut<Break = Box<Error>>,
        ) -> Result<()> {
            finish(visit_mut(part, visitor))
        }
        each(&mut self.target, visitor)?;
        each(&mut self.source, visitor)?;
        each(&mut self.constraint, visitor)?;
        for clause in &mut self.clauses {
            each(&mut clause.condition, visitor)?;
            match &mut clause.action {
                MergeAction::Update(assignments) => each(assignments, visitor)?,
                MergeAction::Insert { values, .. } => each(values, visitor)?,
                MergeAction::Error(text) => each(text, visitor)?,
                MergeAction::UpdateAll { .. }
                | MergeAction::InsertAll { .. }
                | MergeAction::Delete
                | MergeAction::Nothing => {}
            }
        }
        each(&mut self.returning, visitor)
    }
}
