//! How much memory the machine has.
#![expect(clippy::disallowed_methods, reason = "this is a room of /proc")]

/// Bytes of memory of the machine as its kernel reports them; `None` where it does not.
pub fn physical_memory_bytes() -> Option<usize> {
    let books = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = books.lines().find(|line| line.starts_with("MemTotal:"))?;
    let kibibytes: usize = total.split_whitespace().nth(1)?.parse().ok()?;
    kibibytes.checked_mul(1024)
}
