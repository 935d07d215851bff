//! `BufferPool`: opened blocks in memory, under one budget for every database of a process.
//!
//! What must hold:
//! - What the pool holds is at most the budget, but for the one block that is being put in.
//! - A block is found only under the whole of its ref, tag included: a sector that was given back and written again in the
//!   same generation is another block.
//! - What lay where another block is written is dropped: nobody reads it any more, and it would stay until the budget is used up.
//! - No lock is held while a block is read or opened. Two threads that miss the same block may both read it.
//!
//! Eviction is by a clock whose hand is put somewhere else each time: a block that was asked for since the hand last passed is
//! spared once. A clock that goes round in order forgets each block just before it is asked for again when tables a little larger
//! than the budget are scanned again and again.

use std::any::Any;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parking_lot::Mutex;

use super::{BlockRef, Role};
use crate::spread::Spread;

const SHARDS: usize = 64;

/// Opened blocks under a budget. Shared by many stores behind an `Arc`.
pub struct BufferPool {
    shards: Vec<Mutex<Shard>>,
    hasher: Spread,
    budget_bytes: AtomicUsize,
    /// Of the budget, what others hold.
    lent_bytes: AtomicUsize,
    /// Of the budget, what the process takes although nobody counts it.
    scarce_bytes: AtomicUsize,
    held_bytes: AtomicUsize,
    next_store: AtomicU64,
    next_victim: AtomicUsize,
    hits: AtomicU64,
    misses: AtomicU64,
    evictions: AtomicU64,
    wipes: Arc<AtomicBool>,
    look: OnceLock<Look>,
}

/// What is looked at between the pieces of long work.
type Look = Box<dyn Fn(&BufferPool) + Send + Sync>;

/// What a pool holds and did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes that it may hold.
    pub budget_bytes: usize,
    /// Bytes that it holds.
    pub held_bytes: usize,
    /// Blocks that it holds.
    pub blocks: usize,
    /// Questions that it answered.
    pub hits: u64,
    /// Questions that it could not answer.
    pub misses: u64,
    /// Blocks that it let go to stay within the budget.
    pub evictions: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PoolKey {
    pub(crate) store: u64,
    pub(crate) role: Role,
    pub(crate) block: BlockRef,
}

impl PoolKey {
    /// Where a block is tells it apart from all but its forerunners there.
    fn place(&self) -> Place {
        Place {
            store: self.store,
            sector: self.block.sector,
        }
    }
}

/// Where a block begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    store: u64,
    sector: u64,
}

/// What was made of a block's payload and is kept with it.
pub(crate) type Made = Arc<dyn Any + Send + Sync>;

/// A clock over slots; freed slots are filled again.
#[derive(Default)]
struct Shard {
    places: HashMap<Place, usize, Spread>,
    slots: Vec<Option<Slot>>,
    vacant: Vec<usize>,
    hand: u64,
}

struct Slot {
    key: PoolKey,
    payload: Bytes,
    /// What somebody made of the payload, small beside it.
    made: Option<Made>,
    held_bytes: usize,
    asked_for: bool,
}

/// Memory that a pool does without.
pub(crate) struct Lent {
    pool: Arc<BufferPool>,
    bytes: usize,
}

impl Lent {
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.pool
            .lent_bytes
            .fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Lent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lent({} bytes)", self.bytes)
    }
}

impl BufferPool {
    /// A pool that holds up to `budget_bytes`.
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: Spread::default(),
            budget_bytes: AtomicUsize::new(budget_bytes),
            lent_bytes: AtomicUsize::new(0),
            scarce_bytes: AtomicUsize::new(0),
            held_bytes: AtomicUsize::new(0),
            next_store: AtomicU64::new(0),
            next_victim: AtomicUsize::new(0),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
            wipes: Arc::default(),
            look: OnceLock::new(),
        }
    }

    /// Has a look taken between the pieces of long work, when a piece has let go of the memory that it took: whenever memory is lent,
    /// a block was opened, and when rows of a column are encoded or decoded. The first look counts.
    pub fn look_between_pieces(&self, look: impl Fn(&Self) + Send + Sync + 'static) {
        // A second one would be of the same process.
        let _ = self.look.set(Box::new(look));
    }

    /// Takes the look that was asked for.
    pub(crate) fn look(&self) {
        if let Some(look) = self.look.get() {
            look(self);
        }
    }

    /// Has opened blocks overwritten with zeros when the pool, and whoever still reads them, lets them go; or no more.
    pub fn set_wiping(&self, wipes: bool) {
        self.wipes.store(wipes, Ordering::Relaxed);
    }

    /// Whether blocks that are let go are overwritten.
    pub fn is_wiping(&self) -> bool {
        self.wipes.load(Ordering::Relaxed)
    }

    /// What blocks look at when they are let go.
    pub(crate) fn wipes(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wipes)
    }

    /// Changes the budget, and lets blocks go if it shrank.
    pub fn set_budget(&self, budget_bytes: usize) {
        self.budget_bytes.store(budget_bytes, Ordering::Relaxed);
        self.shrink_to(self.for_blocks());
    }

    /// Says by how many bytes the process takes more than it should, whatever is counted. The pool does without them, but for a quarter
    /// of what it has: with none at all every block would be opened again for each row.
    pub fn set_scarce(&self, bytes: usize) {
        if self.scarce_bytes.swap(bytes, Ordering::Relaxed) < bytes {
            self.shrink_to(self.for_blocks());
        }
    }

    /// What it may hold now.
    pub(crate) fn for_blocks(&self) -> usize {
        let lent = self.lent_bytes.load(Ordering::Relaxed);
        let scarce = self.scarce_bytes.load(Ordering::Relaxed);
        let rest = self
            .budget_bytes
            .load(Ordering::Relaxed)
            .saturating_sub(lent);
        rest.saturating_sub(scarce).max(rest / 4)
    }

    /// Makes room for what somebody else holds, until that is dropped.
    pub(crate) fn lend(self: &Arc<Self>, bytes: usize) -> Lent {
        self.lent_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.shrink_to(self.for_blocks());
        self.look();
        Lent {
            pool: Arc::clone(self),
            bytes,
        }
    }

    /// What it holds and did.
    pub fn stats(&self) -> PoolStats {
        PoolStats {
            budget_bytes: self.budget_bytes.load(Ordering::Relaxed),
            held_bytes: self.held_bytes.load(Ordering::Relaxed),
            blocks: self
                .shards
                .iter()
                .map(|shard| shard.lock().places.len())
                .sum(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }

    /// A number that no other store of this pool has.
    pub(crate) fn register_store(&self) -> u64 {
        self.next_store.fetch_add(1, Ordering::Relaxed)
    }

    /// Drops every block, so that each is read and opened again.
    pub fn clear(&self) {
        self.remove_where(|_| true);
    }

    /// Drops all blocks of a store that is closed.
    pub(crate) fn remove_store(&self, store: u64) {
        self.remove_where(|place| place.store == store);
    }

    /// How many blocks were asked for so far, found or not.
    pub(crate) fn asked_for(&self) -> u64 {
        self.hits.load(Ordering::Relaxed) + self.misses.load(Ordering::Relaxed)
    }

    pub(crate) fn get(&self, key: &PoolKey) -> Option<Bytes> {
        let found = self.shard(key.place()).lock().get(key);
        let counter = if found.is_some() {
            &self.hits
        } else {
            &self.misses
        };
        counter.fetch_add(1, Ordering::Relaxed);
        found
    }

    /// Takes in a block that occupies `held_bytes` of memory. One that is larger than the budget is not kept.
    pub(crate) fn put(&self, key: PoolKey, payload: Bytes, held_bytes: usize) {
        let budget = self.for_blocks();
        if held_bytes > budget {
            return;
        }
        // Counted first: whoever evicts the block must find it counted.
        self.held_bytes.fetch_add(held_bytes, Ordering::Relaxed);
        let unused = self.shard(key.place()).lock().put(Slot {
            key,
            payload,
            made: None,
            held_bytes,
            asked_for: false,
        });
        self.held_bytes.fetch_sub(unused, Ordering::Relaxed);
        self.shrink_to(budget);
        // Work that only looks for keys does nothing else that would.
        self.look();
    }

    /// What was made of a block, if it is here and anything was.
    pub(crate) fn made_of(&self, key: &PoolKey) -> Option<Made> {
        let made = self.shard(key.place()).lock().slot(key)?.made.clone()?;
        self.hits.fetch_add(1, Ordering::Relaxed);
        Some(made)
    }

    /// Keeps what was made of a block as long as the block is here.
    pub(crate) fn keep(&self, key: &PoolKey, made: Made) {
        if let Some(slot) = self.shard(key.place()).lock().slot(key) {
            slot.made = Some(made);
        }
    }

    /// Drops what lay in sectors where another block is written now.
    pub(crate) fn remove_overwritten(&self, store: u64, sectors: Range<u64>) {
        for sector in sectors {
            let place = Place { store, sector };
            let freed = self.shard(place).lock().remove(place);
            self.held_bytes.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    fn shard(&self, place: Place) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(place) as usize % SHARDS]
    }

    fn shrink_to(&self, target_bytes: usize) {
        let mut empty = 0;
        while self.held_bytes.load(Ordering::Relaxed) > target_bytes && empty < SHARDS {
            let victim = self.next_victim.fetch_add(1, Ordering::Relaxed) % SHARDS;
            let freed = self.shards[victim].lock().evict_one();
            match freed {
                Some(bytes) => {
                    self.held_bytes.fetch_sub(bytes, Ordering::Relaxed);
                    self.evictions.fetch_add(1, Ordering::Relaxed);
                    empty = 0;
                }
                None => empty += 1,
            }
        }
    }

    fn remove_where(&self, goes: impl Fn(Place) -> bool) {
        for shard in &self.shards {
            let mut shard = shard.lock();
            let places = shard.places.keys().copied();
            let places: Vec<Place> = places.filter(|place| goes(*place)).collect();
            for place in places {
                let freed = shard.remove(place);
                self.held_bytes.fetch_sub(freed, Ordering::Relaxed);
            }
        }
    }
}

impl Shard {
    fn get(&mut self, key: &PoolKey) -> Option<Bytes> {
        self.slot(key).map(|slot| slot.payload.clone())
    }

    /// The slot of a block that somebody asks for.
    fn slot(&mut self, key: &PoolKey) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(*self.places.get(&key.place())?)?;
        let slot = slot.as_mut().filter(|slot| slot.key == *key)?;
        slot.asked_for = true;
        Some(slot)
    }

    /// Bytes that are not held for it: its own if it was there already, or those of the block that was in its place.
    fn put(&mut self, slot: Slot) -> usize {
        let place = slot.key.place();
        if self.slot(&slot.key).is_some() {
            return slot.held_bytes;
        }
        let unused = self.remove(place);
        let at = match self.vacant.pop() {
            Some(at) => {
                self.slots[at] = Some(slot);
                at
            }
            None => {
                self.slots.push(Some(slot));
                self.slots.len() - 1
            }
        };
        self.places.insert(place, at);
        unused
    }

    /// Bytes that this made free.
    fn remove(&mut self, place: Place) -> usize {
        let Some(at) = self.places.remove(&place) else {
            return 0;
        };
        self.vacant.push(at);
        self.slots[at].take().map_or(0, |slot| slot.held_bytes)
    }

    /// Bytes that this made free; `None` if there is nothing to evict.
    fn evict_one(&mut self) -> Option<usize> {
        if self.places.is_empty() {
            return None;
        }
        // A multiplier from Knuth's table (The Art of Computer Programming, volume 2, 3.3.4); the high bits are the better ones.
        self.hand = self
            .hand
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let mut place = (self.hand >> 33) as usize;
        loop {
            place = (place + 1) % self.slots.len();
            match &mut self.slots[place] {
                Some(slot) if slot.asked_for => slot.asked_for = false,
                Some(slot) => {
                    let place = slot.key.place();
                    return Some(self.remove(place));
                }
                None => {}
            }
        }
    }
}

impl std::fmt::Debug for BufferPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.stats().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(store: u64, sector: u64) -> PoolKey {
        let block = BlockRef {
            sector,
            payload_len: 1,
            key_id: 1,
            birth_generation: 1,
            tag: [0; 16],
        };
        PoolKey {
            store,
            role: Role::ColumnData,
            block,
        }
    }

    fn fill(pool: &BufferPool, store: u64, blocks: u64) {
        (0..blocks).for_each(|sector| pool.put(key(store, sector), Bytes::from_static(b"x"), 100));
    }

    #[test]
    fn scans_of_a_little_more_than_fits_find_most_blocks() {
        let pool = BufferPool::new(900 * 100);
        let scan = || {
            let found = (0..1000).filter(|&sector| {
                let key = key(0, sector);
                let found = pool.get(&key).is_some();
                if !found {
                    pool.put(key, Bytes::from_static(b"x"), 100);
                }
                found
            });
            found.count()
        };
        let found: Vec<_> = (0..10).map(|_| scan()).collect();
        assert!(found[5..].iter().all(|found| *found > 600), "{found:?}");
    }

    #[test]
    fn it_stays_within_its_budget() {
        let pool = BufferPool::new(1000);
        fill(&pool, 0, 500);
        let stats = pool.stats();
        assert_eq!(
            (stats.held_bytes, stats.blocks, stats.evictions),
            (1000, 10, 490)
        );
        pool.put(key(0, 999), Bytes::from_static(b"x"), 1001);
        assert!(
            pool.get(&key(0, 999)).is_none(),
            "a block over the budget is not kept"
        );
        pool.set_budget(350);
        assert_eq!(pool.stats().held_bytes, 300);
        pool.set_budget(0);
        assert_eq!((pool.stats().held_bytes, pool.stats().blocks), (0, 0));
    }

    #[test]
    fn it_makes_room_for_what_others_hold() {
        let pool = Arc::new(BufferPool::new(1000));
        fill(&pool, 0, 20);
        let lent = pool.lend(300);
        assert_eq!((lent.bytes(), pool.stats().held_bytes), (300, 700));
        let more = pool.lend(900);
        fill(&pool, 1, 20);
        assert_eq!(pool.stats().held_bytes, 0);
        drop((lent, more));
        fill(&pool, 1, 20);
        assert_eq!(pool.stats().held_bytes, 1000);
    }

    #[test]
    fn it_does_without_what_the_process_takes_beside_it_but_for_a_quarter() {
        let pool = BufferPool::new(1000);
        fill(&pool, 0, 20);
        pool.set_scarce(300);
        assert_eq!(pool.stats().held_bytes, 700);
        pool.set_scarce(1_000_000);
        fill(&pool, 1, 20);
        assert_eq!(pool.stats().held_bytes, 200);
        pool.set_scarce(0);
        fill(&pool, 2, 20);
        assert_eq!(pool.stats().held_bytes, 1000);
    }

    #[test]
    fn a_block_is_found_only_under_its_whole_ref() {
        let pool = BufferPool::new(1000);
        fill(&pool, 0, 1);
        assert!(pool.get(&key(0, 0)).is_some());
        let mut other = key(0, 0);
        other.block.tag[3] = 1;
        assert!(pool.get(&other).is_none());
        assert!(pool.get(&key(1, 0)).is_none());
        assert_eq!((pool.stats().hits, pool.stats().misses), (1, 2));
    }

    #[test]
    fn a_closed_store_leaves_nothing() {
        let pool = BufferPool::new(10_000);
        fill(&pool, 0, 10);
        fill(&pool, 1, 10);
        pool.remove_store(0);
        assert_eq!((pool.stats().blocks, pool.stats().held_bytes), (10, 1000));
        assert!(pool.get(&key(1, 3)).is_some());
    }

    #[test]
    fn what_was_asked_for_is_spared() {
        let mut shard = Shard::default();
        for sector in 0..4 {
            shard.put(Slot {
                key: key(0, sector),
                payload: Bytes::new(),
                made: None,
                held_bytes: 1,
                asked_for: false,
            });
        }
        assert!(shard.get(&key(0, 1)).is_some());
        assert!(shard.get(&key(0, 3)).is_some());
        assert_eq!((shard.evict_one(), shard.evict_one()), (Some(1), Some(1)));
        assert!(shard.get(&key(0, 1)).is_some() && shard.get(&key(0, 3)).is_some());
    }

    #[test]
    fn what_was_overwritten_is_not_kept() {
        let pool = BufferPool::new(10_000);
        fill(&pool, 0, 10);
        fill(&pool, 1, 10);
        pool.remove_overwritten(0, 2..5);
        assert_eq!((pool.stats().blocks, pool.stats().held_bytes), (17, 1700));
        assert!(pool.get(&key(0, 2)).is_none() && pool.get(&key(1, 2)).is_some());
        // One that takes the place of another before anybody said so.
        let mut newer = key(0, 7);
        newer.block.birth_generation = 2;
        pool.put(newer, Bytes::from_static(b"y"), 200);
        assert_eq!((pool.stats().blocks, pool.stats().held_bytes), (17, 1800));
        assert!(pool.get(&key(0, 7)).is_none() && pool.get(&newer).is_some());
    }

    #[test]
    fn threads_share_it() {
        let pool = BufferPool::new(2000);
        std::thread::scope(|scope| {
            for store in 0..4 {
                let pool = &pool;
                scope.spawn(move || {
                    for sector in (0..200).cycle().take(5000) {
                        if pool.get(&key(store, sector)).is_none() {
                            pool.put(key(store, sector), Bytes::from_static(b"x"), 100);
                        }
                    }
                });
            }
        });
        let stats = pool.stats();
        assert!(
            stats.held_bytes <= 2000 && stats.held_bytes == stats.blocks * 100,
            "{stats:?}"
        );
    }
}
