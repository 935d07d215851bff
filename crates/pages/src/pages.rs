//! `Pages`: memory of whole pages that stays for the life of the process.

use memmap2::{Advice, MmapMut};
use rustix::process::{Resource, getrlimit};

use crate::wipe_on_fork::wipe_on_fork;

/// Fresh pages, all zero, and what the system grants for them.
#[derive(Debug)]
pub struct Pages {
    /// The memory. It is never given back: who has done with a part of it wipes it and uses it again.
    pub memory: &'static mut [u8],
    /// It stays out of swap.
    pub locked: bool,
    /// It stays out of core dumps.
    pub dump_excluded: bool,
    /// A forked child finds zeros in its place.
    pub wiped_on_fork: bool,
}

impl Pages {
    /// Maps `bytes`, a multiple of the page's size; `None` if the system has none.
    pub fn map(bytes: usize) -> Option<Self> {
        let mapping = Box::leak(Box::new(MmapMut::map_anon(bytes).ok()?));
        Some(Self {
            locked: mapping.lock().is_ok(),
            dump_excluded: mapping.advise(Advice::DontDump).is_ok(),
            wiped_on_fork: wipe_on_fork(mapping),
            memory: mapping,
        })
    }
}

/// Bytes that this process may lock; `None` without a limit.
pub fn lock_limit_bytes() -> Option<u64> {
    getrlimit(Resource::Memlock).current
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_zero_and_what_is_granted_shows_in_the_kernels_books() {
        let pages = Pages::map(1 << 14).unwrap();
        assert!(pages.memory.iter().all(|byte| *byte == 0));
        pages.memory[5] = 5;
        let start = pages.memory.as_ptr().addr();
        let books = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut inside = false;
        let mut flags = None;
        for line in books.lines() {
            let range = line.split(' ').next().and_then(|word| {
                let (from, to) = word.split_once('-')?;
                let address = |text| usize::from_str_radix(text, 16).ok();
                Some(address(from)?..address(to)?)
            });
            if let Some(range) = range {
                inside = range.contains(&start);
            }
            if let (true, Some(found)) = (inside, line.strip_prefix("VmFlags:")) {
                flags = Some(found.split_whitespace().collect::<Vec<_>>());
            }
        }
        let flags = flags.expect("the mapping is in the books");
        for (granted, flag) in [
            (pages.locked, "lo"),
            (pages.dump_excluded, "dd"),
            (pages.wiped_on_fork, "wf"),
        ] {
            assert_eq!(flags.contains(&flag), granted, "{flag}");
        }
        assert!(pages.dump_excluded);
    }
}
