//! The one unsafe call of the workspace: no library offers `MADV_WIPEONFORK` by a safe function.
#![allow(unsafe_code)]

/// Has the kernel give a forked child zeros in place of these pages; false if it will not (Linux before 4.14).
pub(crate) fn wipe_on_fork(pages: &mut [u8]) -> bool {
    let (start, length) = (pages.as_mut_ptr().cast(), pages.len());
    // SAFETY: `MADV_WIPEONFORK` changes neither contents nor mapping of this process. The kernel refuses a range that is
    // not private anonymous memory on a page boundary; a last page that is only partly in the range is anonymous memory
    // of the same mapping.
    unsafe { libc::madvise(start, length, libc::MADV_WIPEONFORK) == 0 }
}
