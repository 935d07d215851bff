//! `Seen`: what came of a statement in both engines, which a rule may excuse.

use super::run_statement::Outcome;
use super::theirs::Reply;
use hushdb_querygen::{Answer, Change, Table};

/// What came of a statement in both engines.
pub(super) struct Seen<'a> {
    /// The statement, and what is behind the views that it names.
    pub(super) sql: &'a str,
    /// All columns are sorted by.
    pub(super) ordered: bool,
    /// What it changes, and in which table; nothing of a query.
    pub(super) change: Option<(&'a Change, &'a Table)>,
    /// The tables whose rows its transaction has taken away or changed before.
    pub(super) touched: &'a [String],
    pub(super) ours: &'a Outcome,
    pub(super) theirs: &'a Reply,
}

impl<'a> Seen<'a> {
    /// What came of a query in no order.
    pub(super) fn of(sql: &'a str, ours: &'a Outcome, theirs: &'a Reply) -> Self {
        Self {
            sql,
            ordered: false,
            change: None,
            touched: &[],
            ours,
            theirs,
        }
    }
}

/// A difference that is meant, or that SQL leaves open.
pub(super) struct Excuse {
    /// As in docs/DIFFERENCES.md.
    pub(super) name: &'static str,
    pub(super) applies: fn(&Seen<'_>) -> bool,
}

/// Both answers.
pub(super) fn both<'a>(seen: &Seen<'a>) -> Option<(&'a Answer, &'a Answer)> {
    match (seen.ours, seen.theirs) {
        (Outcome::Rows(ours), Ok(theirs)) => Some((ours, theirs)),
        _ => None,
    }
}

/// Names and types are the same.
pub(super) fn other_rows_alone(seen: &Seen<'_>) -> bool {
    both(seen).is_some_and(|(ours, theirs)| same_columns(ours, theirs))
}

/// What excuses values says nothing of types and names.
pub(super) fn same_columns(ours: &Answer, theirs: &Answer) -> bool {
    ours.types == theirs.types && same_names(ours, theirs)
}

/// The names are the same, but that a second column of one name may have its own.
pub(super) fn same_names(ours: &Answer, theirs: &Answer) -> bool {
    let names = ours.names.iter().zip(&theirs.names).enumerate();
    names.into_iter().all(|(at, (one, other))| {
        let is_again = theirs.names[..at].contains(other);
        one == other || is_again && one.starts_with(&format!("{other}_"))
    })
}
