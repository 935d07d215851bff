//! Room on the stack for what recurses with the depth of a statement: parsing it, planning it, running it, and letting go of
//! its trees.
//!
//! What must hold: nothing that a statement, or a view or check in somebody's file, nests overflows a stack, whichever thread
//! calls. Texts are read with as much room as their tokens can take (`reading.rs`), their trees are at most
//! `MAX_DEPTH` deep after that, and [`with_room`] is enough for such a tree.

/// What a tree of the greatest depth needs of whoever walks over it without looking at the stack: copying, dropping, evaluating.
const UNGUARDED: usize = 8 << 20;
/// What work over the trees of one statement begins with.
const ROOM: usize = UNGUARDED + (1 << 20);
/// The size of a stack that is made where there is less. Pages that nobody touches take no memory.
const STACK: usize = 32 << 20;

/// The stack of the threads that run queries.
pub const THREAD_STACK: usize = STACK;

/// Has the libraries' recursive functions, which look at the stack, leave enough of it to those that do not.
pub fn guard_libraries() {
    recursive::set_minimum_stack_size(UNGUARDED);
    recursive::set_stack_allocation_size(STACK);
}

/// Does work that goes over the trees of one statement.
pub fn with_room<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(ROOM, STACK, work)
}

/// Does work that may need this much, and calls the libraries' recursive functions.
pub fn with_bytes<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let bytes = bytes + ROOM;
    stacker::maybe_grow(bytes, bytes, work)
}
