//! Locks that go when a commit is queued: who sees what is not durable yet, when they are answered, and what becomes of them when
//! there is no room for it.
//!
//! What is done between the queue and the log is done by the committing thread itself, in the place where it lets others go on.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use hushdb_storage::*;

use super::failures::SmallDisk;
use super::fixture::*;

/// A database with its log on a disk with so much room for that, and a table `t` of keys 0..10 with the value 0.
fn database(room: &Arc<AtomicU64>) -> Arc<Store> {
    let disk = SmallDisk {
        files: MemFiles::new(),
        room: Arc::clone(room),
    };
    let options = StoreOptions {
        // What is read is read from the file.
        pool: Arc::new(BufferPool::new(1)),
        ..StoreOptions::default()
    };
    let store = Store::create_in(Arc::new(disk), None, &options).unwrap();
    store.set_checkpoint_on_close(false);
    fill_keys(&store);
    store
}

fn roomy() -> Arc<AtomicU64> {
    Arc::new(AtomicU64::new(u64::MAX))
}

fn fill_keys(store: &Arc<Store>) {
    let columns = ["k", "v"].map(|name| ColumnDef {
        nullable: false,
        ..def(name, ColumnType::Int64)
    });
    let zeros: arrow_array::ArrayRef = Arc::new(arrow_array::Int64Array::from(vec![0; 10]));
    fill(store, "t", columns.to_vec(), &[int64s(0..10), zeros]);
    let mut txn = store.begin().unwrap();
    let key = IndexDef {
        name: "key".into(),
        kind: IndexKind::Primary,
        columns: vec!["k".into()],
    };
    txn.create_index("main", "t", key).unwrap();
    txn.commit().unwrap();
}

fn value(store: &Arc<Store>, seen: &CatalogVersion, key: i64) -> Option<i64> {
    let keys = integers(store, seen, "t", "k");
    let at = keys.iter().position(|found| *found == Some(key))?;
    integers(store, seen, "t", "v")[at]
}

fn durable_value(store: &Arc<Store>, key: i64) -> Option<i64> {
    value(store, &store.snapshot(), key)
}

/// A transaction with the locks that it holds.
type Open = (Arc<LockOwner>, Transaction);

/// One that fails where another has a lock.
fn owner(store: &Arc<Store>) -> Arc<LockOwner> {
    store.lock_owner(Patience::None)
}

/// Begins as a statement of the owner's transaction does.
fn begin(store: &Arc<Store>, owner: &Arc<LockOwner>) -> Transaction {
    let seen = store.snapshot_for(owner).unwrap();
    let mut txn = store.begin_on(seen).unwrap();
    txn.wait_by(owner);
    txn
}

/// Sets a key's value, and waits for those who have it locked.
fn set(txn: &mut Transaction, key: i64, value: i64) -> Result<()> {
    let before = txn.savepoint();
    let table = Arc::clone(txn.catalog().table("main", "t").unwrap());
    let ids = table.find(&table.indexes()[0], &[int64s(key..key + 1)], 0)?;
    txn.delete_rows("main", "t", &ids)?;
    txn.insert(
        "main",
        "t",
        &[int64s(key..key + 1), int64s(value..value + 1)],
    )?;
    txn.settle(Some(&before))
}

/// Commits a key's value, and does something when that is queued and not written.
fn commit(
    store: &Arc<Store>,
    key: i64,
    value: i64,
    when_queued: impl Fn() + Send + Sync + 'static,
) -> Result<()> {
    let owner = owner(store);
    owner.wait_by_turns(Arc::new(when_queued));
    let mut txn = begin(store, &owner);
    set(&mut txn, key, value)?;
    txn.commit().map(drop)
}

#[test]
fn the_next_has_the_lock_and_the_row_before_it_is_durable() {
    let store = database(&roomy());
    let there = Arc::clone(&store);
    commit(&store, 1, 5, move || {
        assert_eq!(durable_value(&there, 1), Some(0));
        let next = owner(&there);
        let mut txn = begin(&there, &next);
        // The lock is free, and the row is not what it was.
        assert!(matches!(set(&mut txn, 1, 6), Err(Error::Overtaken)));
        drop(txn);
        let mut txn = begin(&there, &next);
        assert_eq!(value(&there, txn.catalog(), 1), Some(5));
        set(&mut txn, 1, 6).unwrap();
        assert_eq!(durable_value(&there, 1), Some(0));
        txn.commit().unwrap();
        assert_eq!(durable_value(&there, 1), Some(6));
    })
    .unwrap();
    assert_eq!(durable_value(&store, 1), Some(6));
    assert!(store.locks().is_empty());
}

#[test]
fn without_it_locks_stay_until_a_commit_is_durable() {
    let store = database(&roomy());
    store.set_early_release(false);
    commit(&store, 1, 5, || panic!("others go on")).unwrap();
    assert_eq!(durable_value(&store, 1), Some(5));
}

#[test]
fn who_has_looked_at_it_is_answered_when_it_is_durable() {
    type Look = fn(&Arc<Store>, &Arc<LockOwner>);
    let overtaken: Look = |store, owner| {
        let mut txn = begin(store, owner);
        assert!(matches!(set(&mut txn, 1, 9), Err(Error::Overtaken)));
    };
    let locked: Look = |store, owner| {
        let id = store.snapshot().table("main", "t").unwrap().id;
        store.lock_table(owner, id, LockMode::Share, false).unwrap();
        let seen = store.snapshot_for(owner).unwrap();
        assert_eq!(value(store, &seen, 1), Some(5));
    };
    let defined: Look = |store, owner| {
        let mut txn = begin(store, owner);
        let dropped = txn.drop_table("main", "t");
        assert!(matches!(dropped, Err(Error::Overtaken)));
    };
    let refused: Look = |store, owner| {
        // Without its locks, which is found at the commit.
        let mut txn = begin(store, owner);
        txn.delete_rows("main", "t", &[1]).unwrap();
        assert!(matches!(txn.commit(), Err(Error::Conflict(_))));
    };
    for look in [overtaken, locked, defined, refused] {
        for commits in [false, true] {
            let store = database(&roomy());
            let there = Arc::clone(&store);
            commit(&store, 1, 5, move || {
                let owner = owner(&there);
                look(&there, &owner);
                assert_eq!(durable_value(&there, 1), Some(0));
                match commits {
                    // There is nothing to commit, but something that was seen.
                    true => drop(begin(&there, &owner).commit().unwrap()),
                    false => there.until_durable(&owner).unwrap(),
                }
                assert_eq!(durable_value(&there, 1), Some(5));
            })
            .unwrap();
        }
    }
}

#[test]
fn who_has_looked_at_what_finds_no_room_fails() {
    let room = roomy();
    let store = database(&room);
    let kept: Arc<Mutex<Vec<Open>>> = Arc::default();
    let (there, keeps, full) = (Arc::clone(&store), Arc::clone(&kept), Arc::clone(&room));
    let failed = commit(&store, 1, 5, move || {
        // One that has changed another row, goes on from what is queued and would commit that; one that has only seen it.
        let writer = owner(&there);
        let mut txn = begin(&there, &writer);
        set(&mut txn, 2, 8).unwrap();
        txn.advance_to_newest().unwrap();
        let reader = owner(&there);
        assert!(matches!(
            set(&mut begin(&there, &reader), 1, 6),
            Err(Error::Overtaken)
        ));
        reader.let_go();
        let seen = begin(&there, &reader);
        assert_eq!(value(&there, seen.catalog(), 1), Some(5));
        keeps
            .lock()
            .unwrap()
            .extend([(writer, txn), (reader, seen)]);
        full.store(0, SeqCst);
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Full);
    room.store(u64::MAX, SeqCst);
    assert_eq!(durable_value(&store, 1), Some(0));
    // Another row in the place of the one that was taken back, counted and numbered as that.
    commit(&store, 1, 7, || ()).unwrap();
    for (owner, mut txn) in kept.lock().unwrap().drain(..) {
        let is_conflict = |error: Option<Error>| matches!(error, Some(Error::Conflict(_)));
        assert!(is_conflict(store.look(&owner).err()));
        assert!(is_conflict(store.snapshot_for(&owner).err()));
        assert!(is_conflict(txn.advance_to_newest().err()));
        assert!(is_conflict(store.until_durable(&owner).err()));
        assert!(is_conflict(txn.commit().err()));
    }
    assert_eq!(durable_value(&store, 1), Some(7));
    assert_eq!(durable_value(&store, 2), Some(0));
    commit(&store, 2, 3, || ()).unwrap();
    assert_eq!(durable_value(&store, 2), Some(3));
    assert!(store.locks().is_empty());
    assert!(store.check(&mut |_, _| {}).unwrap().findings.is_empty());
}

/// A file that counts its writes while nobody has anything locked.
#[derive(Debug, Default)]
struct WatchedFile {
    inner: MemFile,
    of: OnceLock<Weak<Store>>,
    unlocked: AtomicU64,
}

impl StorageFile for WatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.inner.read_exact_at(offset, buf)
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        let store = self.of.get().and_then(Weak::upgrade);
        if store.is_none_or(|store| store.locks().is_empty()) {
            self.unlocked.fetch_add(1, SeqCst);
        }
        self.inner.write_all_at(offset, buf)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        self.inner.sync()
    }

    fn sync_directory(&self) -> io::Result<()> {
        self.inner.sync_directory()
    }
}

#[test]
fn a_commit_that_moves_the_root_keeps_its_locks_until_it_has() {
    let file = Arc::new(WatchedFile::default());
    let shared = Arc::clone(&file) as Arc<dyn StorageFile>;
    let store = Store::create(shared, None, &StoreOptions::default()).unwrap();
    fill_keys(&store);
    file.of.set(Arc::downgrade(&store)).unwrap();
    file.unlocked.store(0, SeqCst);
    commit(&store, 1, 5, || panic!("others go on")).unwrap();
    assert_eq!(file.unlocked.load(SeqCst), 0);
    assert_eq!(durable_value(&store, 1), Some(5));
    assert!(store.locks().is_empty());
}

#[test]
fn what_a_log_does_not_take_keeps_its_locks_until_it_is_in_the_file() {
    let store = database(&roomy());
    let texts = def("s", ColumnType::Varchar);
    let long: arrow_array::ArrayRef = Arc::new(arrow_array::StringViewArray::from(vec![
        "x".repeat(9 << 20),
    ]));
    let short: arrow_array::ArrayRef = Arc::new(arrow_array::StringViewArray::from(vec!["x"]));
    fill(&store, "long", vec![texts], &[short]);
    type More<'a> = &'a dyn Fn(&mut Transaction);
    let defines: More<'_> = &|txn| {
        let columns = vec![def("a", ColumnType::Int64)];
        let made = txn.create_table("main", "new", columns, vec![]);
        made.map(drop).unwrap();
    };
    let is_long: More<'_> = &|txn| {
        let added = txn.insert("main", "long", &[Arc::clone(&long)]);
        added.map(drop).unwrap();
    };
    for (value, more) in [(5, defines), (6, is_long)] {
        let owner = owner(&store);
        owner.wait_by_turns(Arc::new(|| panic!("others go on")));
        let mut txn = begin(&store, &owner);
        more(&mut txn);
        set(&mut txn, 1, value).unwrap();
        txn.commit().unwrap();
        assert_eq!(durable_value(&store, 1), Some(value));
    }
    assert!(store.locks().is_empty());
}

#[test]
fn a_state_that_was_never_published_is_read_past_checkpoints() {
    let store = database(&roomy());
    let kept: Arc<Mutex<Option<Arc<CatalogVersion>>>> = Arc::default();
    let (there, keeps) = (Arc::clone(&store), Arc::clone(&kept));
    commit(&store, 1, 5, move || {
        *keeps.lock().unwrap() = Some(there.look(&owner(&there)).unwrap());
        // Published in the place of it.
        commit(&there, 2, 6, || ()).unwrap();
    })
    .unwrap();
    let seen = kept.lock().unwrap().take().unwrap();
    let before = integers(&store, &seen, "t", "k");
    // What it names is given up, and as much is written as there is room for in its place.
    let mut txn = store.begin().unwrap();
    txn.truncate("main", "t").unwrap();
    txn.commit().unwrap();
    for _ in 0..8 {
        store.checkpoint().unwrap();
        let mut txn = store.begin().unwrap();
        append(&mut txn, "t", &[int64s(100..110), int64s(100..110)]);
        txn.commit().unwrap();
        let mut txn = store.begin().unwrap();
        txn.truncate("main", "t").unwrap();
        txn.commit().unwrap();
    }
    assert_eq!(integers(&store, &seen, "t", "k"), before);
    assert_eq!(value(&store, &seen, 1), Some(5));
    assert_eq!(value(&store, &seen, 2), Some(0));
}

#[test]
fn who_changes_very_many_rows_again_has_others_wait() {
    let options = StoreOptions::default();
    let store = Store::create_in(Arc::new(MemFiles::new()), None, &options).unwrap();
    store.set_checkpoint_on_close(false);
    fill_keys(&store);
    let many: Vec<i64> = (100..50_100).collect();
    let many: arrow_array::ArrayRef = Arc::new(arrow_array::Int64Array::from(many));
    let own = owner(&store);
    let mut txn = begin(&store, &own);
    for part in 0..10 {
        let part = many.slice(part * 5_000, 5_000);
        txn.insert("main", "t", &[Arc::clone(&part), part]).unwrap();
    }
    txn.settle(None).unwrap();
    let mut value = 0;
    let refused = loop {
        value += 1;
        let other = owner(&store);
        let mut beside = begin(&store, &other);
        match set(&mut beside, 1, value) {
            Ok(()) => beside.commit().map(drop).unwrap(),
            Err(error) => break error,
        }
        txn.advance_to_newest().unwrap();
    };
    assert!(matches!(refused, Error::LockTimeout), "{refused}");
    assert!((20..25).contains(&value), "{value}");
    txn.commit().unwrap();
    assert_eq!(
        store.snapshot().table("main", "t").unwrap().row_count(),
        50_010
    );
}
