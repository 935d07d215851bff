//! The arena: where key bytes and passphrases lie, in pages that the system keeps apart from other memory.
//!
//! What must hold:
//! - A cell is all zero when it is handed out and when it is given back.
//! - Pages are never given back to the system. A few of them are enough for any number of databases.
//! - What the system refuses is counted, not an error: keys then lie in ordinary memory, and [`key_memory`] says so.
//! - In a forked child cells are gone. [`Cell::is_there`] knows.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hushdb_pages::{Pages, core_dumps_are_possible, lock_limit_bytes};
use zeroize::Zeroize;

use crate::expanded_keys;

/// Bytes that are mapped at once; whole pages on every machine with pages of up to 16 KiB.
const CHUNK_BYTES: usize = 16 << 10;
const LEAST_CELL_BYTES: usize = 64;
/// The last byte of a cell that is in use. A fork turns it to zero with the rest.
const IN_USE: u8 = 0xa5;

static ARENA: Mutex<Arena> = Mutex::new(Arena::new());

/// What is held by the arena of this process, and what the system grants for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyMemory {
    /// Bytes of pages for keys and passphrases.
    pub bytes: u64,
    /// Bytes of them that hold one.
    pub used_bytes: u64,
    /// Bytes that stay out of swap.
    pub locked_bytes: u64,
    /// Bytes that stay out of core dumps.
    pub dump_excluded_bytes: u64,
    /// Bytes that a forked child does not get.
    pub wiped_on_fork_bytes: u64,
    /// Bytes that the process may lock; `None` without a limit.
    pub lock_limit_bytes: Option<u64>,
    /// Expanded AES keys. The cipher library makes them in ordinary memory, and wipes them when they are dropped.
    pub expanded_keys: u64,
    /// Whether the kernel would write the rest of this process's memory to a core dump.
    pub core_dumps: bool,
}

/// What is held by the arena of this process, and what the system grants for it.
pub fn key_memory() -> KeyMemory {
    KeyMemory {
        lock_limit_bytes: lock_limit_bytes(),
        expanded_keys: expanded_keys::count(),
        core_dumps: core_dumps_are_possible(),
        ..arena().books
    }
}

struct Arena {
    /// Free cells by their size.
    free: BTreeMap<usize, Vec<&'static mut [u8]>>,
    books: KeyMemory,
}

impl Arena {
    const fn new() -> Self {
        Self {
            free: BTreeMap::new(),
            books: KeyMemory {
                bytes: 0,
                used_bytes: 0,
                locked_bytes: 0,
                dump_excluded_bytes: 0,
                wiped_on_fork_bytes: 0,
                lock_limit_bytes: None,
                expanded_keys: 0,
                core_dumps: false,
            },
        }
    }

    fn take(&mut self, cell_bytes: usize) -> &'static mut [u8] {
        if let Some(cell) = self.free.get_mut(&cell_bytes).and_then(Vec::pop) {
            return cell;
        }
        let chunk_bytes = cell_bytes.max(CHUNK_BYTES);
        let pages = Pages::map(chunk_bytes).unwrap_or_else(|| Pages {
            memory: Box::leak(vec![0; chunk_bytes].into_boxed_slice()),
            locked: false,
            dump_excluded: false,
            wiped_on_fork: false,
        });
        let of = |granted: bool| u64::from(granted) * chunk_bytes as u64;
        self.books.bytes += of(true);
        self.books.locked_bytes += of(pages.locked);
        self.books.dump_excluded_bytes += of(pages.dump_excluded);
        self.books.wiped_on_fork_bytes += of(pages.wiped_on_fork);
        let (first, rest) = pages.memory.split_at_mut(cell_bytes);
        let cells = self.free.entry(cell_bytes).or_default();
        cells.extend(rest.chunks_exact_mut(cell_bytes));
        first
    }
}

/// A panic elsewhere leaves the lists of cells whole: each step of them is a push or a pop.
fn arena() -> MutexGuard<'static, Arena> {
    ARENA.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes in the arena. Wiped and given back when dropped.
pub(crate) struct Cell {
    memory: &'static mut [u8],
    len: usize,
}

impl Cell {
    /// So many bytes, all zero.
    pub(crate) fn zeroed(len: usize) -> Self {
        let cell_bytes = (len + 1).next_power_of_two().max(LEAST_CELL_BYTES);
        let mut arena = arena();
        let memory = arena.take(cell_bytes);
        arena.books.used_bytes += cell_bytes as u64;
        memory[cell_bytes - 1] = IN_USE;
        Self { memory, len }
    }

    /// A copy of `bytes`.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut cell = Self::zeroed(bytes.len());
        cell.bytes_mut().copy_from_slice(bytes);
        cell
    }

    /// False in a child that was forked after the cell was taken: it has zeros there.
    pub(crate) fn is_there(&self) -> bool {
        // The kernel changes the byte behind the compiler's back.
        black_box(&*self.memory).last() == Some(&IN_USE)
    }

    /// The bytes.
    ///
    /// # Panics
    /// In a forked child, where going on would seal under a key of zeros.
    pub(crate) fn bytes(&self) -> &[u8] {
        assert!(
            self.is_there(),
            "keys do not outlive a fork: open the database again in the new process"
        );
        &self.memory[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.memory[..self.len]
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        let memory = std::mem::take(&mut self.memory);
        memory.zeroize();
        let mut arena = arena();
        arena.books.used_bytes -= memory.len() as u64;
        arena.free.entry(memory.len()).or_default().push(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_room_and_come_back_wiped() {
        for len in [0, 1, 32, 63, 64, 1000, 70_000] {
            let mut cell = Cell::zeroed(len);
            assert_eq!(cell.bytes(), vec![0; len]);
            cell.bytes_mut().fill(7);
            assert_eq!(cell.bytes(), vec![7; len]);
            assert!(cell.is_there());
        }
        // A size that no other test takes, so that the same cell comes again.
        let mut cell = Cell::of(&[7; 300_000]);
        let place = cell.bytes_mut().as_ptr();
        drop(cell);
        let cell = Cell::zeroed(300_000);
        assert_eq!(cell.bytes().as_ptr(), place);
        assert_eq!(cell.bytes(), vec![0; 300_000]);
    }

    #[test]
    fn the_books_count_what_is_there() {
        let cell = Cell::of(&[7; 20_000]);
        let books = key_memory();
        assert!(
            books.used_bytes >= 32 << 10 && books.bytes >= books.used_bytes,
            "{books:?}"
        );
        assert!(books.locked_bytes <= books.bytes);
        drop(cell);
    }

    #[test]
    #[should_panic(expected = "open the database again")]
    fn what_a_fork_wiped_is_not_used() {
        let cell = Cell::of(&[7; 32]);
        cell.memory.fill(0);
        cell.bytes();
    }
}
