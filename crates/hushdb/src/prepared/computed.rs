//! `Computed`: what an UPDATE of one key sets columns to that is computed from the row, planned once.
//!
//! What must hold: it is used only for a table with the columns that it was made for, and for parameters of its types.

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::physical_expr::PhysicalExpr;
use hushdb_storage::{Column, ColumnType, Shared, TableId, TableVersion};
use std::sync::Arc;

/// Values over a table's columns, behind which stand the parameters.
pub(crate) struct Computed {
    pub(crate) table_id: TableId,
    pub(crate) columns: Shared<Column>,
    /// Each parameter that is used, as it is written, and its type.
    pub(crate) parameters: Vec<(String, ColumnType)>,
    /// The columns that are set, in the order of the statement.
    pub(crate) positions: Vec<usize>,
    /// Of the rows that values are computed from.
    pub(crate) schema: SchemaRef,
    /// The values, in the order of the statement.
    pub(crate) values: Vec<Arc<dyn PhysicalExpr>>,
}

impl Computed {
    /// Whether it was made for a table as it is now, and such parameters.
    ///
    /// It was made for the same statement, so that parameters of the same types in the same columns are all that may differ.
    pub(crate) fn suits(
        &self,
        table: &TableVersion,
        mut positions: impl Iterator<Item = usize>,
        type_of: impl Fn(&str) -> Option<ColumnType>,
    ) -> bool {
        let mut known = self.parameters.iter();
        self.table_id == table.id
            && self.columns == table.columns
            && self
                .positions
                .iter()
                .all(|at| positions.next() == Some(*at))
            && positions.next().is_none()
            && known.all(|(name, ty)| type_of(name).as_ref() == Some(ty))
    }
}
