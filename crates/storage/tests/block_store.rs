//! Commit, reopen, roll back, reuse of space, change of keys: a database file from outside, on both crypto providers.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use hushdb_crypto::CryptoProvider;
use hushdb_keys::providers::KeyText;
use hushdb_keys::{KeyProvider, SlotOptions};
use hushdb_storage::{
    BlockRef, BlockStore, Error, ErrorKind, Generation, MemFile, OsFile, Role, SECTOR_BYTES,
    StorageFile, StoreOptions,
};

const KEY: &str = "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

fn options(crypto: CryptoProvider) -> StoreOptions {
    StoreOptions {
        crypto,
        ..StoreOptions::default()
    }
}

fn key() -> KeyText {
    KeyText::new(KEY)
}

fn put(store: &BlockStore, payload: &[u8]) -> BlockRef {
    let mut buf = BlockStore::block_buffer(payload.len());
    buf.extend_from_slice(payload);
    store.write(Role::Metadata, buf).unwrap()
}

/// Runs `test` on encrypted and plain files of both providers.
fn everywhere(test: impl Fn(Arc<MemFile>, Option<&dyn KeyProvider>, &StoreOptions)) {
    for crypto in CryptoProvider::all() {
        test(Arc::new(MemFile::new()), Some(&key()), &options(crypto));
        test(Arc::new(MemFile::new()), None, &options(crypto));
    }
}

#[test]
fn what_was_committed_is_there_after_reopening() {
    everywhere(|file, key, options| {
        let store = BlockStore::create(file.clone(), key, options).unwrap();
        assert!(store.catalog_ref().is_none());
        let payload: Vec<u8> = (0..300_000u32).map(|i| i as u8).collect();
        let catalog = put(&store, &payload);
        assert_eq!(
            store.commit(catalog, store.generation()).unwrap(),
            Generation::new(2)
        );
        let digest = store.root_digest();
        drop(store);
        let store = BlockStore::open(file, key, options).unwrap();
        assert_eq!(store.notices(), []);
        assert_eq!(
            (store.generation(), store.root_digest()),
            (Generation::new(2), digest)
        );
        let read = store
            .read(Role::Metadata, &store.catalog_ref().unwrap())
            .unwrap();
        assert_eq!(read, payload);
        assert_eq!(
            read.as_ptr().align_offset(64),
            0,
            "a payload begins on a cache line"
        );
    });
}

#[test]
fn both_providers_read_each_others_files() {
    let file = Arc::new(MemFile::new());
    let store = BlockStore::create(
        file.clone(),
        Some(&key()),
        &options(CryptoProvider::aws_lc()),
    )
    .unwrap();
    let catalog = put(&store, b"written by one");
    store.commit(catalog, Generation::new(1)).unwrap();
    drop(store);
    let store = BlockStore::open(file, Some(&key()), &options(CryptoProvider::portable())).unwrap();
    assert_eq!(
        store.read(Role::Metadata, &catalog).unwrap(),
        b"written by one".as_slice()
    );
}

#[test]
fn a_rollback_gives_the_room_back() {
    everywhere(|file, key, options| {
        let store = BlockStore::create(file, key, options).unwrap();
        let first = put(&store, &[1; 50_000]);
        store.rollback();
        let second = put(&store, &[2; 50_000]);
        assert_eq!(first.sector, second.sector);
        assert_eq!(
            store.read(Role::Metadata, &second).unwrap(),
            [2; 50_000].as_slice()
        );
        assert!(
            store.read(Role::Metadata, &first).is_err(),
            "the pool knows one from the other"
        );
    });
}

#[test]
fn blocks_that_a_snapshot_needs_are_not_overwritten() {
    everywhere(|file, key, options| {
        let store = BlockStore::create(file, key, options).unwrap();
        let mut catalog = put(&store, b"generation 2");
        store.commit(catalog, Generation::new(1)).unwrap();
        let held = catalog;
        for round in 0..50 {
            store.free(&catalog);
            catalog = put(&store, format!("round {round}").as_bytes());
            store.commit(catalog, Generation::new(2)).unwrap();
            assert_eq!(
                store.read_from_disk(Role::Metadata, &held).unwrap(),
                b"generation 2".as_slice()
            );
        }
        store.release(store.generation()).unwrap();
        let sectors: Vec<u64> = (0..100).map(|_| put(&store, b"x").sector).collect();
        assert!(
            sectors.contains(&held.sector),
            "and now its place is used again"
        );
    });
}

#[test]
fn a_file_that_is_rewritten_does_not_grow() {
    everywhere(|file, key, options| {
        let mut store = BlockStore::create(file.clone(), key, options).unwrap();
        let mut held: Vec<BlockRef> = (0..20)
            .map(|i| put(&store, &vec![i; 10_000 * (1 + i as usize)]))
            .collect();
        let mut catalog = put(&store, b"catalog");
        store.commit(catalog, store.generation()).unwrap();
        let mut size = 0;
        for round in 0..200u32 {
            let at = round as usize * 7 % held.len();
            store.free(&held[at]);
            store.free(&catalog);
            held[at] = put(
                &store,
                &vec![round as u8; 10_000 * (1 + round as usize * 3 % 20)],
            );
            catalog = put(&store, b"catalog");
            store.commit(catalog, store.generation()).unwrap();
            if round % 25 == 0 {
                drop(store);
                store = BlockStore::open(file.clone(), key, options).unwrap();
            }
            if round == 100 {
                size = store.info().total_sectors;
            }
        }
        let info = store.info();
        assert!(
            info.total_sectors < size * 3 / 2,
            "{size} then {}",
            info.total_sectors
        );
        // Every sector is in a block, free or retired: none leaks.
        let used: u64 = held
            .iter()
            .chain([&catalog])
            .chain(&store.free_list_refs())
            .map(|r| u64::from(r.sectors().unwrap()))
            .sum();
        let free: u64 = store
            .free_extents()
            .unwrap()
            .iter()
            .map(|(_, sectors)| sectors)
            .sum();
        assert_eq!(used + free + 16, info.total_sectors);
        held.iter()
            .for_each(|r| assert!(store.read_from_disk(Role::Metadata, r).is_ok()));
        drop(store);
        assert_eq!(
            file.len().unwrap(),
            info.total_sectors * SECTOR_BYTES as u64,
            "a closed file has no slack"
        );
    });
}

#[test]
fn many_threads_write_at_once() {
    let file = Arc::new(MemFile::new());
    let store = BlockStore::create(file, Some(&key()), &options(CryptoProvider::aws_lc())).unwrap();
    let written = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for thread in 0..4u8 {
            let (store, written) = (&store, &written);
            scope.spawn(move || {
                for i in 0..50 {
                    let payload = vec![thread; 1000 * (i + 1)];
                    let r = put(store, &payload);
                    written.lock().unwrap().push((r, payload));
                }
            });
        }
    });
    let catalog = put(&store, b"catalog");
    store.commit(catalog, Generation::new(1)).unwrap();
    for (r, payload) in written.into_inner().unwrap() {
        assert_eq!(store.read(Role::Metadata, &r).unwrap(), payload);
    }
}

#[test]
fn a_key_change_rewrites_no_block() {
    for crypto in CryptoProvider::all() {
        let (file, options) = (Arc::new(MemFile::new()), options(crypto));
        let store = BlockStore::create(file.clone(), Some(&key()), &options).unwrap();
        let catalog = put(&store, &[5; 100_000]);
        store.commit(catalog, Generation::new(1)).unwrap();
        let before = file.to_bytes();
        let second =
            KeyText::new("hex:aa0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eaa");
        let slot = store
            .change_header(|header, crypto, keys| {
                header.add_slot(crypto, keys, &second, &SlotOptions::default())
            })
            .unwrap();
        store
            .change_header(|header, crypto, keys| header.remove_slot(crypto, keys, 0))
            .unwrap();
        let last =
            store.change_header(|header, crypto, keys| header.remove_slot(crypto, keys, slot));
        assert!(
            matches!(last, Err(Error::KeySlots(_))),
            "the last slot stays"
        );
        drop(store);
        let after = file.to_bytes();
        assert!(
            before[65_536..after.len()] == after[65_536..],
            "blocks are as they were"
        );
        let refused = BlockStore::open(file.clone(), Some(&key()), &options);
        assert!(matches!(refused, Err(Error::WrongKey)));
        let store = BlockStore::open(file, Some(&second), &options).unwrap();
        assert_eq!(store.notices(), []);
        assert_eq!(store.info().header_sequence, 3);
        assert_eq!(
            store.read(Role::Metadata, &catalog).unwrap(),
            [5; 100_000].as_slice()
        );
    }
}

#[test]
fn a_read_only_store_writes_nothing() {
    let file = Arc::new(MemFile::new());
    let store = BlockStore::create(file.clone(), None, &StoreOptions::default()).unwrap();
    let catalog = put(&store, b"catalog");
    store.commit(catalog, Generation::new(1)).unwrap();
    drop(store);
    let bytes = file.to_bytes();
    let read_only = StoreOptions {
        read_only: true,
        ..StoreOptions::default()
    };
    let store = BlockStore::open(file.clone(), None, &read_only).unwrap();
    assert!(store.read_only());
    assert!(store.read(Role::Metadata, &catalog).is_ok());
    assert!(matches!(
        store.write(Role::Metadata, BlockStore::block_buffer(1)),
        Err(Error::ReadOnly)
    ));
    assert!(matches!(
        store.commit(catalog, Generation::new(1)),
        Err(Error::ReadOnly)
    ));
    drop(store);
    assert!(file.to_bytes() == bytes);
}

/// What happened to a file, to be played again up to a crash.
#[derive(Clone, Debug)]
enum Event {
    Write(u64, Vec<u8>),
    SetLen(u64),
    Sync,
    /// The caller was told that this generation is durable.
    Acknowledged(Generation),
}

/// A file that remembers what was done to it, and fails the n-th sync on demand.
#[derive(Debug)]
struct Recorder {
    file: MemFile,
    events: Mutex<Vec<Event>>,
    syncs_until_failure: AtomicUsize,
}

impl Recorder {
    fn new(syncs_until_failure: usize) -> Arc<Self> {
        let syncs_until_failure = AtomicUsize::new(syncs_until_failure);
        Arc::new(Self {
            file: MemFile::new(),
            events: Mutex::default(),
            syncs_until_failure,
        })
    }

    fn note(&self, event: Event) {
        self.events.lock().unwrap().push(event);
    }
}

impl StorageFile for Recorder {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(offset, buf)
    }
    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        self.note(Event::Write(offset, buf.to_vec()));
        self.file.write_all_at(offset, buf)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.note(Event::SetLen(len));
        self.file.set_len(len)
    }
    fn sync(&self) -> io::Result<()> {
        if self.syncs_until_failure.fetch_sub(1, Ordering::Relaxed) == 1 {
            return Err(io::Error::other("the disk is gone"));
        }
        self.note(Event::Sync);
        Ok(())
    }
    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

fn play(file: &MemFile, event: &Event, torn: bool) {
    match event {
        Event::Write(offset, bytes) => {
            let len = if torn { bytes.len() / 2 } else { bytes.len() };
            file.write_all_at(*offset, &bytes[..len]).unwrap();
        }
        Event::SetLen(len) => file.set_len(*len).unwrap(),
        Event::Sync | Event::Acknowledged(_) => {}
    }
}

#[test]
fn a_crash_at_any_moment_leaves_the_old_or_the_new_state() {
    let recorder = Recorder::new(usize::MAX);
    let store = BlockStore::create(
        recorder.clone(),
        Some(&key()),
        &options(CryptoProvider::aws_lc()),
    )
    .unwrap();
    let created = recorder.events.lock().unwrap().len();
    let mut catalog: Option<BlockRef> = None;
    for round in 0..6u64 {
        if let Some(old) = catalog {
            store.free(&old);
        }
        let new = put(&store, &[round as u8; 9000]);
        recorder.note(Event::Acknowledged(
            store.commit(new, store.generation()).unwrap(),
        ));
        catalog = Some(new);
        if round == 3 {
            let label = SlotOptions {
                label: "second".into(),
                ..SlotOptions::default()
            };
            store
                .change_header(|header, crypto, keys| header.add_slot(crypto, keys, &key(), &label))
                .unwrap();
            recorder.note(Event::Acknowledged(store.generation()));
        }
    }
    let events = recorder.events.lock().unwrap().clone();
    let mut crashes = 0;
    for crash in created..=events.len() {
        let done = &events[..crash];
        let synced = done
            .iter()
            .rposition(|event| matches!(event, Event::Sync))
            .map_or(0, |at| at + 1);
        let acknowledged = done.iter().rev().find_map(|event| match event {
            Event::Acknowledged(generation) => Some(*generation),
            _ => None,
        });
        let pending = &done[synced..];
        for subset in 0..1u32 << pending.len().min(5) {
            for torn in [false, true] {
                let file = Arc::new(MemFile::new());
                done[..synced]
                    .iter()
                    .for_each(|event| play(&file, event, false));
                for (at, event) in pending.iter().enumerate() {
                    if at >= 5 || subset & (1 << at) != 0 {
                        play(&file, event, torn);
                    }
                }
                let store =
                    BlockStore::open(file, Some(&key()), &options(CryptoProvider::aws_lc()))
                        .unwrap_or_else(|error| {
                            panic!("crash at {crash}, subset {subset:b}, torn {torn}: {error}")
                        });
                assert!(
                    store.generation() >= acknowledged.unwrap_or(Generation::new(1)),
                    "crash at {crash} lost a commit"
                );
                if let Some(catalog) = store.catalog_ref() {
                    store.read(Role::Metadata, &catalog).unwrap();
                }
                let next = put(&store, b"life goes on");
                store.commit(next, store.generation()).unwrap();
                crashes += 1;
            }
        }
    }
    assert!(crashes > 100);
}

#[test]
fn after_a_failed_sync_nothing_more_is_written() {
    for failing in 1..=3 {
        let recorder = Recorder::new(usize::MAX);
        let options = options(CryptoProvider::aws_lc());
        let store = BlockStore::create(recorder.clone(), Some(&key()), &options).unwrap();
        let catalog = put(&store, b"kept");
        store.commit(catalog, Generation::new(1)).unwrap();
        recorder
            .syncs_until_failure
            .store(failing, Ordering::Relaxed);
        let lost = put(&store, b"not acknowledged");
        assert!(matches!(
            store.commit(lost, Generation::new(2)),
            Err(Error::Io(_))
        ));
        let before = recorder.events.lock().unwrap().len();
        let refused = store
            .write(Role::Metadata, BlockStore::block_buffer(1))
            .unwrap_err();
        assert!(matches!(refused, Error::WriteFailedEarlier));
        assert!(store.commit(catalog, Generation::new(2)).is_err());
        assert!(
            store.read(Role::Metadata, &catalog).is_ok(),
            "reading goes on"
        );
        drop(store);
        assert_eq!(
            recorder.events.lock().unwrap().len(),
            before,
            "not even on closing"
        );
        assert!(BlockStore::open(recorder, Some(&key()), &options).is_ok());
    }
}

#[test]
fn a_new_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.hush");
    let store = BlockStore::create(
        Arc::new(OsFile::create(&path).unwrap()),
        Some(&key()),
        &StoreOptions::default(),
    )
    .unwrap();
    assert_eq!(
        std::fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    let catalog = put(&store, &[3; 500_000]);
    store.commit(catalog, Generation::new(1)).unwrap();
    drop(store);
    assert!(
        matches!(OsFile::create(&path), Err(Error::InvalidInput(_))),
        "nothing is overwritten"
    );
    let store = BlockStore::open(
        Arc::new(OsFile::open(&path, true).unwrap()),
        Some(&key()),
        &StoreOptions {
            read_only: true,
            ..StoreOptions::default()
        },
    )
    .unwrap();
    let read = store.read(Role::Metadata, &catalog).unwrap();
    assert_eq!(read, [3; 500_000].as_slice());
    assert_eq!(read.as_ptr().align_offset(64), 0);
}

#[test]
fn one_process_attaches_a_file_once() {
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (
        directory.path().join("a.hush"),
        directory.path().join("link.hush"),
    );
    let file = OsFile::create(&path).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for (path, read_only) in [(&path, false), (&path, true), (&link, false)] {
        let error = OsFile::open(path, read_only).unwrap_err();
        assert!(matches!(error, Error::AlreadyAttached), "{error}");
        assert_eq!(error.kind(), ErrorKind::Busy);
    }
    drop(file);
    assert!(OsFile::open(&path, false).is_ok());
}

const HELD_FILE: &str = "HUSHDB_TEST_HELD_FILE";
const HELD_READ_ONLY: &str = "HUSHDB_TEST_HELD_READ_ONLY";

/// Not a test by itself: the other process of the tests below. It holds the file until its input ends.
#[test]
fn other_process_holds_the_file() {
    if let Ok(path) = std::env::var(HELD_FILE) {
        let _file = OsFile::open(path, std::env::var_os(HELD_READ_ONLY).is_some()).unwrap();
        std::fs::write(std::env::var(HELD_FILE).unwrap() + ".held", "").unwrap();
        io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
    }
}

fn while_held(path: &std::path::Path, read_only: bool, test: impl Fn(u32)) {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "other_process_holds_the_file", "--nocapture"])
        .env(HELD_FILE, path);
    if read_only {
        command.env(HELD_READ_ONLY, "1");
    }
    let mut child = command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let held = std::path::PathBuf::from(format!("{}.held", path.display()));
    while !held.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    test(child.id());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    std::fs::remove_file(held).unwrap();
}

#[test]
fn busy_names_the_process_that_holds_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shared.hush");
    drop(OsFile::create(&path).unwrap());
    while_held(&path, false, |holder| {
        for read_only in [false, true] {
            let error = OsFile::open(&path, read_only).unwrap_err();
            assert!(
                matches!(error, Error::Busy { pid: Some(pid) } if pid == holder),
                "{error}"
            );
            assert!(error.to_string().contains(&holder.to_string()));
        }
    });
    while_held(&path, true, |holder| {
        let error = OsFile::open(&path, false).unwrap_err();
        assert!(
            matches!(error, Error::Busy { pid: Some(pid) } if pid == holder),
            "{error}"
        );
        assert!(OsFile::open(&path, true).is_ok(), "readers share it");
    });
    assert!(OsFile::open(&path, false).is_ok());
}

#[test]
fn a_database_is_made_in_an_empty_file_alone() {
    let file = Arc::new(MemFile::new());
    file.write_all_at(0, b"letters to my sister").unwrap();
    let made = BlockStore::create(Arc::clone(&file) as _, None, &StoreOptions::default());
    assert!(matches!(made, Err(Error::InvalidInput(_))));
    let mut found = [0; 20];
    file.read_exact_at(0, &mut found).unwrap();
    assert_eq!(&found, b"letters to my sister");
}
