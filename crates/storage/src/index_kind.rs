//! `IndexKind`: what an index promises about its keys.

/// What an index promises about its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexKind {
    /// No two rows have the same key, and none has a NULL in it. A table has one at most.
    Primary,
    /// No two rows have the same key; rows with a NULL in it do not count.
    Unique,
    /// Nothing.
    Plain,
}

impl IndexKind {
    /// The number on disk.
    pub(crate) fn tag(self) -> u8 {
        match self {
            Self::Primary => 1,
            Self::Unique => 2,
            Self::Plain => 3,
        }
    }

    /// Whether no two rows may have the same key.
    pub fn is_unique(self) -> bool {
        self != Self::Plain
    }
}
