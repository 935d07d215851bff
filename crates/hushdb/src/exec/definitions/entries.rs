//! What the CREATE of an entry begins with: where it is to be, and what becomes of one that has its name.

use crate::statement::Statement;
use crate::transaction::Write;
use hushdb_query::plan::TableName;
use hushdb_sql::{EntryHead, Error, Result, name_parts};
use hushdb_storage::SchemaVersion;

/// A kind of entries.
pub(in crate::exec) struct Kind<'a> {
    /// What DuckDB calls it.
    pub(in crate::exec) name: &'a str,
    /// SQLSTATE of a name that is taken.
    pub(in crate::exec) taken: &'static str,
    /// The name of the one that goes by a name.
    pub(in crate::exec) known: &'a dyn Fn(&SchemaVersion, &str) -> Option<String>,
}

/// Where an entry is to be.
pub(in crate::exec) struct Placed<'a> {
    pub(in crate::exec) place: TableName,
    pub(in crate::exec) write: Write<'a>,
    /// The one that it takes the place of, which is still there.
    pub(in crate::exec) replaced: Option<String>,
}

/// Finds the place of an entry; `None` where IF NOT EXISTS leaves what is there.
///
/// # Errors
/// `Catalog` when there is no such database or schema, or the name is taken; as [`Statement::write`].
pub(in crate::exec) fn placed<'a>(
    statement: &Statement<'a>,
    head: &EntryHead,
    kind: &Kind<'_>,
) -> Result<Option<Placed<'a>>> {
    let parts = name_parts(&head.name)?;
    let place = statement.snapshot().place(&parts, head.temporary)?;
    let write = statement.write(&place.database)?;
    let schema = write.catalog().schema(&place.schema);
    let replaced = schema.and_then(|schema| (kind.known)(schema, &place.name));
    if replaced.is_some() && head.if_not_exists {
        return Ok(None);
    }
    if replaced.is_some() && !head.or_replace {
        return Err(Error::catalog(format!(
            "{} with name \"{}\" already exists!",
            kind.name, place.name
        ))
        .with_sqlstate(kind.taken));
    }
    Ok(Some(Placed {
        place,
        write,
        replaced,
    }))
}
