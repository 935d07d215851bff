//! Panics of libraries that read bytes of strangers, or that may not know what to do with a value: caught where they are called,
//! where an error says all that there is to say.
//!
//! What must hold: who shows panics to people asks [`is_panic_expected`] first, so that no defect is reported beside that error.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Calls on this thread whose panics have an answer.
    static EXPECTED: Cell<usize> = const { Cell::new(0) };
}

/// Whether whoever called what panics on this thread has an answer ready; for a panic hook.
pub fn is_panic_expected() -> bool {
    EXPECTED.try_with(|calls| calls.get() > 0).unwrap_or(false)
}

/// Calls a library; `None` when it panics.
pub fn expect_panics<T>(call: impl FnOnce() -> T) -> Option<T> {
    /// Counts the call for as long as it lasts, however it ends.
    struct Counted;
    impl Drop for Counted {
        fn drop(&mut self) {
            EXPECTED.with(|calls| calls.set(calls.get() - 1));
        }
    }
    EXPECTED.with(|calls| calls.set(calls.get() + 1));
    let _counted = Counted;
    catch_unwind(AssertUnwindSafe(call)).ok()
}
