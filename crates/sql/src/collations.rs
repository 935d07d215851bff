//! The collations that a text can name.

use crate::error::{Error, Result};
use hushdb_storage::Collation;
use sqlparser::ast::ObjectName;

/// `$collate(text, name)`: the text, which is compared by the collation of that name; by its bytes where the name is empty.
pub const COLLATE: &str = "$collate";

/// The collation of a name; `None` where texts are compared by their bytes, as those without a collation are.
///
/// # Errors
/// `Catalog` if there is no such collation.
pub fn collation(name: &ObjectName) -> Result<Option<Collation>> {
    const BY_BYTES: [&str; 5] = ["default", "c", "posix", "ucs_basic", "binary"];
    let parts = name.0.iter().filter_map(|part| part.as_ident());
    let parts: Vec<&str> = parts.map(|part| part.value.as_str()).collect();
    let is_known = |last: &&str| {
        BY_BYTES
            .iter()
            .any(|known| last.eq_ignore_ascii_case(known))
    };
    if parts.last().is_some_and(is_known) {
        return Ok(None);
    }
    let name = parts.join(".");
    let unknown = || {
        Error::catalog(format!(
            "Collation with name {name} does not exist! There are NOCASE, NOACCENT and NOACCENT.NOCASE"
        ))
    };
    Collation::named(&name).map(Some).ok_or_else(unknown)
}
