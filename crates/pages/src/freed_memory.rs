//! The heap's freed memory: how much of the process is resident, and giving back to the system what is free.
#![allow(unsafe_code)]
#![expect(clippy::disallowed_methods, reason = "this is a room of /proc")]

/// Bytes that this process has in memory now but for pages of files, its own program's among them, which the system takes when it needs
/// them; `None` where the system does not tell.
pub fn resident_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<usize>().ok()
    };
    Some(kib("VmRSS:")?.saturating_sub(kib("RssFile:")?) << 10)
}

/// Has the C library's allocator, and ours, give all whole pages that are free back to the system: left to themselves they keep some
/// for what is allocated next. Does nothing with others.
pub fn give_back_freed_memory() {
    #[cfg(all(unix, feature = "heap"))]
    crate::heap::give_back();
    // SAFETY: it takes no pointer, and changes nothing that is allocated. It takes the allocator's own locks, so any
    // thread may call it at any time.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_in_the_midst_of_what_is_used_is_given_back() {
        const PIECES: usize = 4096;
        const PIECE_BYTES: usize = 64 << 10;
        let before = resident_bytes().unwrap();
        // Too small to be mapped by itself each; what is kept at the end keeps the allocator from giving back the others.
        let mut pieces: Vec<_> = (0..PIECES).map(|_| Some(vec![1u8; PIECE_BYTES])).collect();
        let full = resident_bytes().unwrap();
        assert!(full - before > PIECES * PIECE_BYTES / 10 * 9);
        for piece in pieces.iter_mut().take(PIECES - 1) {
            *piece = None;
        }
        give_back_freed_memory();
        let after = resident_bytes().unwrap();
        assert!(
            after < before + PIECES * PIECE_BYTES / 10,
            "{before} {full} {after}"
        );
        drop(pieces);
    }
}
