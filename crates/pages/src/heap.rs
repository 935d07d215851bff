//! `Heap`: the allocator of programs that are ours alone.
#![allow(unsafe_code)]

/// jemalloc, as a program's `#[global_allocator]`: threads that come and go by the hundred, as a server's, do not wait for each other's heaps.
/// How it is set stands in `.cargo/config.toml`, from which it is built.
pub use tikv_jemallocator::Jemalloc as Heap;

/// Of all arenas, give back to the system every page that is free (`MALLCTL_ARENAS_ALL`, jemalloc(3)).
const PURGE_ALL: &std::ffi::CStr = c"arena.4096.purge";

/// Has it give all whole pages that are free back to the system; nothing where the program has another allocator.
pub(crate) fn give_back() {
    // SAFETY: the name is a C string, and this command neither reads nor writes anything by the other pointers (jemalloc(3)).
    unsafe {
        tikv_jemalloc_sys::mallctl(
            PURGE_ALL.as_ptr(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            0,
        );
    }
}
