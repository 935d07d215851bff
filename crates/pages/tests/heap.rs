//! Whether a program with our allocator gives back what it has freed when it is told to.
#![cfg(target_os = "linux")]

use hushdb_pages::{Heap, give_back_freed_memory, resident_bytes};

#[global_allocator]
static HEAP: Heap = Heap;

#[test]
fn freed_memory_is_given_back_when_it_is_asked_for() {
    const BYTES: usize = 256 << 20;
    for piece in [64 << 10, 16 << 20] {
        let count = BYTES / piece;
        let before = resident_bytes().unwrap();
        let pieces: Vec<_> = (0..count).map(|_| vec![1u8; piece]).collect();
        let full = resident_bytes().unwrap();
        assert!(full - before > BYTES / 10 * 9, "{before} {full}");
        drop(pieces);
        // It is kept for what comes next, large blocks too, and goes at once when it is asked for.
        let kept = resident_bytes().unwrap();
        assert!(kept > full - BYTES / 4, "{full} {kept}");
        give_back_freed_memory();
        let after = resident_bytes().unwrap();
        assert!(after < before + BYTES / 10, "{before} {full} {after}");
    }
}
