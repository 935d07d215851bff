//! `OpenedBlock`: the bytes of a block that was opened, for all who hold a part of them.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Overwritten with zeros when it is dropped, if that is asked for by then.
pub(super) struct OpenedBlock {
    pub(super) bytes: Vec<u8>,
    pub(super) wipes: Arc<AtomicBool>,
}

impl AsRef<[u8]> for OpenedBlock {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl OpenedBlock {
    fn wipe_if_asked(&mut self) {
        if self.wipes.load(Ordering::Relaxed) {
            self.bytes.fill(0);
            // Nobody reads the zeros: the compiler must not find that out.
            black_box(&self.bytes);
        }
    }
}

impl Drop for OpenedBlock {
    fn drop(&mut self) {
        self.wipe_if_asked();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::BufferPool;

    #[test]
    fn bytes_are_overwritten_once_that_is_asked_for() {
        let pool = BufferPool::new(1000);
        let mut block = OpenedBlock {
            bytes: vec![7; 100],
            wipes: pool.wipes(),
        };
        block.wipe_if_asked();
        assert_eq!(block.bytes, [7; 100]);
        pool.set_wiping(true);
        block.wipe_if_asked();
        assert_eq!(block.bytes, [0; 100]);
    }
}
