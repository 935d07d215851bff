//! Core dumps of this process, on and off.

use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, dumpable_behavior, getrlimit, set_dumpable_behavior,
    setrlimit,
};

/// Switches core dumps of this process off, or on again. Off also means that other processes of the same user can
/// neither trace it nor read its memory.
///
/// # Errors
/// What the system says; what could be done is done.
pub fn set_core_dumps(possible: bool) -> io::Result<()> {
    let behavior = match possible {
        true => DumpableBehavior::Dumpable,
        false => DumpableBehavior::NotDumpable,
    };
    // A dump to a pipe heeds only the first, and whoever makes a process dumpable again only the second.
    let dumpable = set_dumpable_behavior(behavior);
    let maximum = getrlimit(Resource::Core).maximum;
    let current = if possible { maximum } else { Some(0) };
    let limit = setrlimit(Resource::Core, Rlimit { current, maximum });
    Ok(dumpable.and(limit)?)
}

/// Whether the kernel would write this process's memory to a core dump.
pub fn core_dumps_are_possible() -> bool {
    let dumpable = dumpable_behavior().is_ok_and(|b| b == DumpableBehavior::Dumpable);
    dumpable && getrlimit(Resource::Core).current != Some(0)
}
