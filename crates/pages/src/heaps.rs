//! How many heaps the C library's allocator divides its memory into.
#![allow(unsafe_code)]

/// Has threads that are started from now on share so many heaps, each of which keeps freed memory of its own: left to itself
/// the allocator makes eight for each core. Does nothing with other C libraries.
pub fn share_heaps(heaps: usize) {
    let heaps = i32::try_from(heaps).unwrap_or(i32::MAX).max(1);
    // SAFETY: it sets a number that the allocator reads when a thread allocates for the first time.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, heaps);
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let _ = heaps;
}
