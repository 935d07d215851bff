//! What can be locked, and which locks go together.
//!
//! What must hold: two rows with one key have one lock. Two keys with one hash wait for each other needlessly, no more; the hash is keyed, so
//! that nobody can make such keys.

use crate::numbers::{ColumnId, TableId};
use std::hash::{BuildHasher, RandomState};

/// Something to lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum LockKey {
    /// Which schemas, tables and views there are, and what they are.
    Definitions,
    /// A table, by its id.
    Table(TableId),
    /// A key in an index of a table, by the table's id and a hash.
    Key(TableId, u64),
    /// What sessions have agreed on.
    Advisory(AdvisoryKey),
}

/// A number that sessions have agreed on, or two of them: what it stands for is theirs to say. As PostgreSQL's advisory locks have it, one
/// number is never what two are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdvisoryKey {
    /// One number.
    One(i64),
    /// Two numbers.
    Two(i32, i32),
}

impl LockKey {
    /// The id of the table that it is, or is in.
    pub(super) fn table_id(self) -> Option<TableId> {
        match self {
            Self::Definitions | Self::Advisory(_) => None,
            Self::Table(id) | Self::Key(id, _) => Some(id),
        }
    }

    /// What people call what it locks.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Definitions => "definitions",
            Self::Table(_) => "table",
            Self::Key(..) => "key",
            Self::Advisory(_) => "advisory",
        }
    }

    /// The numbers that it is, if sessions have agreed on some.
    pub(super) fn agreed_on(self) -> Option<AdvisoryKey> {
        match self {
            Self::Advisory(key) => Some(key),
            _ => None,
        }
    }
}

/// How it is locked: definitions in the last mode, a key and what is agreed on in the last two, a table in any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// A table of which rows are changed that have their own locks, or none.
    Rows,
    /// A table whose rows have no key to lock: one at a time changes rows that are there.
    Change,
    /// A table or a key that stays as it is: many may hold it so.
    Share,
    /// A table or a key, alone.
    All,
}

impl LockMode {
    /// What people call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Rows => "rows",
            Self::Change => "change",
            Self::Share => "share",
            Self::All => "all",
        }
    }

    /// Whether two owners may hold these at once.
    pub(crate) fn goes_with(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Rows, Self::Rows | Self::Change)
                | (Self::Change, Self::Rows)
                | (Self::Share, Self::Share)
        )
    }

    /// The weakest mode that keeps out whatever either of the two does.
    pub(crate) fn with(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Rows | Self::Change, Self::Rows | Self::Change) => Self::Change,
            _ => Self::All,
        }
    }
}

/// Makes hashes of keys under a key that the process keeps for itself.
#[derive(Debug, Default)]
pub(super) struct KeyHash(RandomState);

impl KeyHash {
    /// The lock of a key as bytes, in the index of these columns of a table.
    pub(super) fn lock_of(
        &self,
        table_id: TableId,
        column_ids: &[ColumnId],
        key: &[u8],
    ) -> LockKey {
        LockKey::Key(table_id, self.0.hash_one((column_ids, key)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_go_together_as_they_say() {
        use LockMode::{All, Change, Rows, Share};
        let together = [(Rows, Rows), (Rows, Change), (Change, Rows), (Share, Share)];
        let modes = [Rows, Change, Share, All];
        for a in modes {
            for b in modes {
                assert_eq!(a.goes_with(b), together.contains(&(a, b)), "{a:?} {b:?}");
                for other in modes {
                    let both = a.goes_with(other) && b.goes_with(other);
                    assert!(both || !a.with(b).goes_with(other), "{a:?} {b:?} {other:?}");
                }
            }
        }
    }

    #[test]
    fn locks_of_other_tables_indexes_and_keys_are_others() {
        let hash = KeyHash::default();
        let one = hash.lock_of(TableId::new(1), &[ColumnId::new(0)], b"a");
        assert_eq!(
            one,
            hash.lock_of(TableId::new(1), &[ColumnId::new(0)], b"a")
        );
        for other in [
            hash.lock_of(TableId::new(2), &[ColumnId::new(0)], b"a"),
            hash.lock_of(TableId::new(1), &[ColumnId::new(1)], b"a"),
            hash.lock_of(TableId::new(1), &[ColumnId::new(0)], b"b"),
            KeyHash::default().lock_of(TableId::new(1), &[ColumnId::new(0)], b"a"),
        ] {
            assert_ne!(one, other);
        }
    }
}
