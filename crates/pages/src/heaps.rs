//! What the C library's allocator is told about its heaps.
#![allow(unsafe_code)]

/// Has threads that are started from now on share so many heaps, each of which keeps freed memory of its own: left to itself
/// the allocator makes eight for each core. Does nothing with other C libraries.
pub fn share_heaps(heaps: usize) {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    set(libc::M_ARENA_MAX, heaps.max(1));
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = heaps;
}

/// Has the heaps keep large blocks that are freed, up to a bound, for what is allocated next: left to itself the allocator maps
/// such a block each time, and the system clears its pages, which can cost more than sealing what is written there. Does nothing
/// with other C libraries.
pub fn keep_large_blocks() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // From here on a block is mapped by itself; the allocator takes no larger number.
        set(libc::M_MMAP_THRESHOLD, 32 << 20);
        // What may be free at the end of a heap before it is cut.
        set(libc::M_TRIM_THRESHOLD, 128 << 20);
    }
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn set(parameter: libc::c_int, number: usize) {
    let number = i32::try_from(number).unwrap_or(i32::MAX);
    // SAFETY: it takes no pointer, and sets a number that the allocator reads, under the allocator's own lock.
    unsafe {
        libc::mallopt(parameter, number);
    }
}
