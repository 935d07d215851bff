//! `Fault`: an error that the disk is to give, once, and when.

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A read fails; nothing is lost.
    Read,
    /// A write fails and nothing of it is kept.
    Write,
    /// A write fails after a part of it.
    ShortWrite,
    /// A sync fails. As on Linux, what was not durable may never be, and the next sync succeeds all the same.
    Sync,
    /// From here on no file gets another block, until [`super::SimDisk::make_room`].
    Full,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [Self; 5] = [
        Self::Read,
        Self::Write,
        Self::ShortWrite,
        Self::Sync,
        Self::Full,
    ];
}

/// The first operation of the fault's kind at or after operation number `at` fails.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Operations of any kind, reads included, from now.
    pub at: u64,
    /// What goes wrong then.
    pub kind: FaultKind,
}
