//! A named query.
//!
//! What must hold: the SQL text is kept as given; storage does not read it.

use hushdb_encoding::wire::{Reader, WireError, Writer};

/// A view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// As the user wrote it.
    pub name: String,
    /// The query.
    pub sql: String,
    /// Names for the query's columns; may be empty.
    pub columns: Vec<String>,
}

impl View {
    /// The fewest bytes a view takes in a file.
    pub(crate) const SMALLEST: usize = 4 + 4 + 4;

    pub(crate) fn write(&self, out: &mut Writer) {
        out.text(&self.name);
        out.text(&self.sql);
        out.count(self.columns.len());
        for column in &self.columns {
            out.text(column);
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let name = reader.text()?;
        let sql = reader.text()?;
        let count = reader.count(4)?;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            columns.push(reader.text()?);
        }
        Ok(Self { name, sql, columns })
    }
}
