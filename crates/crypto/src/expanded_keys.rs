//! How many AES keys are expanded now. An expanded key begins with the key itself and lies where its library puts it.

use std::sync::atomic::{AtomicU64, Ordering};

static COUNT: AtomicU64 = AtomicU64::new(0);

pub(crate) fn count() -> u64 {
    COUNT.load(Ordering::Relaxed)
}

/// One that is there; goes with the key.
pub(crate) struct Expanded(());

impl Expanded {
    pub(crate) fn counted() -> Self {
        COUNT.fetch_add(1, Ordering::Relaxed);
        Self(())
    }
}

impl Drop for Expanded {
    fn drop(&mut self) {
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}
