//! A plain database is encrypted in its place: what goes on beside it, what opens it, and files that somebody made of its states.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

use hushdb_keys::providers::KeyText;
use hushdb_keys::{SlotOptions, Suite};
use hushdb_storage::*;

use super::failures::FailingFile;
use super::fixture::*;
use super::logged::*;
use super::rekey::{is_sound, steps};

/// Header copies and superblock slots (FORMAT.md, "File map").
const PARTS: [usize; 4] = [0, 16_384, 32_768, 49_152];
const MARKER: &[u8] = b"in the clear, for all to read";

fn key() -> KeyText {
    KeyText::new(format!("hex:{}", "5a".repeat(32)))
}

fn first_keys(store: &Store, suite: Suite) -> hushdb_keys::FirstKeys {
    let options = SlotOptions::default();
    store
        .blocks()
        .prepare_encryption(suite, &key(), &options)
        .unwrap()
}

fn encrypt(store: &Store, suite: Suite) {
    store.encrypt(first_keys(store, suite)).unwrap();
}

/// Files that are opened with the key.
fn with_key(files: &Files) -> Files {
    Files::new(true).with(&files.all())
}

/// A plain database with a log, rows of which are in the clear in both.
fn plain() -> (Files, Arc<Store>) {
    let files = Files::new(false);
    let store = files.create();
    let texts: arrow_array::ArrayRef = Arc::new(arrow_array::StringViewArray::from(vec![
            std::str::from_utf8(MARKER).unwrap();
            3
        ]));
    fill(
        &store,
        "s",
        vec![def("text", ColumnType::Varchar)],
        &[Arc::clone(&texts)],
    );
    insert(&store, 10..20);
    let mut txn = store.begin().unwrap();
    txn.insert("main", "s", &[texts]).unwrap();
    txn.commit().unwrap();
    let all = files.all();
    assert!(all[..2].iter().flatten().all(|bytes| has_marker(bytes)));
    (files, store)
}

fn has_marker(bytes: &[u8]) -> bool {
    bytes.windows(MARKER.len()).any(|window| window == MARKER)
}

#[test]
fn all_is_sealed_beside_commits_snapshots_and_loads_and_nothing_is_left_in_the_clear() {
    for suite in [Suite::Gcm, Suite::Ctr] {
        let (files, store) = plain();
        let snapshot = store.snapshot();
        let mut bulk = store.begin().unwrap();
        append(&mut bulk, "t", &[int64s(20..30)]);
        encrypt(&store, suite);
        assert_eq!(store.info().suite, suite);
        assert!(!store.rotate_data_key().unwrap(), "that one goes on");
        insert(&store, 30..40);
        store.rekey_step_of(1).unwrap();
        assert_eq!(steps(&store), RekeyState::Draining);
        assert_eq!(integers(&store, &snapshot, "t", "n").len(), 20);
        drop(snapshot);
        assert_eq!(
            steps(&store),
            RekeyState::Draining,
            "rows are on their way in"
        );
        bulk.commit().unwrap();
        assert_eq!(steps(&store), RekeyState::Done);
        is_sound(&store);
        assert_eq!(sum(&store), (0..40).sum::<i64>());
        assert_eq!(store.rekey_progress().unwrap().key_ids, [1]);
        for bytes in files.all().iter().flatten() {
            assert!(!has_marker(bytes));
        }
        drop(store);
        let Err(error) = files.try_open(&StoreOptions::default()) else {
            panic!("it opens without a key")
        };
        assert_eq!(error.kind(), ErrorKind::KeyRequired);
        let store = with_key(&files).open();
        assert!(store.key_notices().is_empty());
        assert_eq!((sum(&store), store.info().suite), ((0..40).sum(), suite));
    }
}

#[test]
fn the_next_writer_goes_on_with_it_and_readers_read_what_is_still_plain() {
    let (files, store) = plain();
    encrypt(&store, Suite::Gcm);
    store.rekey_step_of(1).unwrap();
    drop(store);
    let files = with_key(&files);
    let reader = files.open_read_only();
    assert_eq!(sum(&reader), (0..20).sum::<i64>());
    let [notice] = reader.key_notices()[..] else {
        panic!()
    };
    assert_eq!(notice, Notice::DataKeyChangeUnfinished { key_id: 0 });
    assert!(notice.to_string().contains("plain"), "{notice}");
    drop(reader);
    let store = files.open();
    assert_eq!(store.blocks().data_keys()[0].suite, Suite::Plain);
    insert(&store, 20..30);
    assert_eq!(steps(&store), RekeyState::Done);
    drop(store);
    let store = files.open();
    assert_eq!(sum(&store), (0..30).sum::<i64>());
    // And other keys may follow.
    assert!(store.rotate_data_key().unwrap());
    assert_eq!(steps(&store), RekeyState::Done);
    assert_eq!(store.rekey_progress().unwrap().key_ids, [2]);
}

#[test]
fn what_is_encrypted_is_not_encrypted_again_and_what_was_prepared_for_another_time_is_refused() {
    let (_, store) = plain();
    let (first, second) = (
        first_keys(&store, Suite::Gcm),
        first_keys(&store, Suite::Gcm),
    );
    store.encrypt(first).unwrap();
    assert!(store.encrypt(second).is_err());
    assert_eq!(sum(&store), (0..20).sum::<i64>());
    assert_eq!(steps(&store), RekeyState::Done);
    let options = SlotOptions::default();
    let again = store
        .blocks()
        .prepare_encryption(Suite::Gcm, &key(), &options);
    assert!(again.is_err());
}

/// The states of a file: plain, on the way, done.
fn states() -> [Files; 3] {
    let (files, store) = plain();
    store.checkpoint().unwrap();
    let before = files.with(&files.all());
    encrypt(&store, Suite::Gcm);
    store.rekey_step_of(1).unwrap();
    let amid = with_key(&files);
    assert_eq!(steps(&store), RekeyState::Done);
    drop(store);
    [before, amid, with_key(&files)]
}

/// The file of `of` with some parts of `from`.
fn with_parts(of: &Files, from: &Files, parts: &[usize]) -> [Option<Vec<u8>>; 3] {
    let (mut all, from) = (of.all(), from.all());
    let (bytes, from) = (all[0].as_mut().unwrap(), from[0].as_ref().unwrap());
    for at in parts {
        bytes[*at..*at + 4096].copy_from_slice(&from[*at..*at + 4096]);
    }
    all
}

#[test]
fn plain_headers_and_slots_put_before_it_open_nothing_with_the_key_and_nothing_without() {
    let [before, amid, done] = states();
    for of in [&amid, &done] {
        for choice in 1..16 {
            let parts: Vec<usize> = (0..4).filter(|bit| choice >> bit & 1 == 1).collect();
            let parts: Vec<usize> = parts.into_iter().map(|bit| PARTS[bit]).collect();
            let all = with_parts(of, &before, &parts);
            let encrypted = of.with(&all).try_open(&StoreOptions::default());
            // Whoever has the key reads the rows of the time, or is told.
            if let Ok(store) = encrypted {
                assert_eq!(sum(&store), (0..20).sum::<i64>(), "{choice:04b}");
                assert!(store.info().suite.is_encrypted() && !store.notices().is_empty());
            } else {
                assert!(choice & 3 == 3 || choice & 12 == 12, "{choice:04b}");
            }
            let plain = before.with(&all).try_open(&StoreOptions::default());
            // A plain file is what everybody can write.
            let is_plain = choice & 3 != 0 && choice & 12 != 0;
            assert!(plain.is_err() || is_plain, "{choice:04b}");
        }
    }
}

#[test]
fn a_plain_slot_is_said_to_be_one_and_an_edited_one_to_be_damaged() {
    let [before, amid, done] = states();
    for of in [&amid, &done] {
        for slot in 0..2 {
            let at = PARTS[2 + slot];
            let mut all = with_parts(of, &before, &[at]);
            let files = of.with(&all);
            let told = [Notice::SuperblockSlotPlain { slot }];
            assert_eq!(files.open_read_only().notices(), told);
            assert_eq!(files.open().notices(), told);
            assert_eq!(files.open().notices(), [], "it was put right");
            for edited in [at + 24, at + 100, at + 4095] {
                all[0].as_mut().unwrap()[edited] ^= 1;
                let told = [Notice::SuperblockSlotDamaged { slot }];
                assert_eq!(of.with(&all).open_read_only().notices(), told);
                all[0].as_mut().unwrap()[edited] ^= 1;
            }
        }
    }
}

/// Where the plain blocks of the file before begin, and their sectors.
fn plain_blocks(files: &Files) -> Vec<(usize, usize)> {
    let bytes = files.all()[0].clone().unwrap();
    let mut found = Vec::new();
    for sector in 16..bytes.len() / SECTOR_BYTES {
        let at = sector * SECTOR_BYTES;
        let word = |from: usize| u32::from_le_bytes(*bytes[at + from..].first_chunk().unwrap());
        if bytes[at..].starts_with(b"HUSB") && word(8) == 0 && word(16) as usize == sector {
            found.push((at, word(12) as usize * SECTOR_BYTES));
        }
    }
    found
}

#[test]
fn a_plain_block_where_a_sealed_one_is_named_is_refused_amid_and_afterwards() {
    let [before, amid, done] = states();
    let old = before.all()[0].clone().unwrap();
    for of in [&amid, &done] {
        let file = of.all()[0].clone().unwrap();
        let mut refused = 0;
        for (at, len) in plain_blocks(&before) {
            let is_sealed = file
                .get(at..at + 12)
                .is_some_and(|head| head[..4] == *b"HUSB" && head[5] != 0);
            if !is_sealed {
                continue;
            }
            let mut all = of.all();
            all[0].as_mut().unwrap()[at..at + len].copy_from_slice(&old[at..at + len]);
            let harmed = of.with(&all);
            let opened = harmed.try_open(&StoreOptions::default());
            let findings = opened.and_then(|store| store.check(&mut |_, _| {}));
            refused += usize::from(findings.is_err() || !findings.unwrap().findings.is_empty());
        }
        assert!(refused > 0);
    }
}

#[test]
fn a_block_that_is_plain_is_not_read_once_none_is() {
    let [before, _, done] = states();
    // Everything that a plain block may be named by is sealed: so a ref of a plain block is one that this reader refuses by itself.
    let store = done.open();
    let catalog = before.open().blocks().catalog_ref().unwrap();
    assert_eq!(catalog.key_id, 0);
    let (at, old) = (
        catalog.sector as usize * SECTOR_BYTES,
        before.all()[0].clone().unwrap(),
    );
    let len = catalog.sectors().unwrap() as usize * SECTOR_BYTES;
    let file = done.files.get("").unwrap();
    file.write_all_at(at as u64, &old[at..at + len]).unwrap();
    let error = store
        .blocks()
        .read_from_disk(Role::Metadata, &catalog)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tampered, "{error}");
}

#[test]
fn a_plain_log_beside_it_is_refused_amid_and_afterwards() {
    let (files, store) = plain();
    let log = files.log();
    encrypt(&store, Suite::Gcm);
    let amid = with_key(&files);
    assert_eq!(steps(&store), RekeyState::Done);
    drop(store);
    for of in [amid, with_key(&files)] {
        for name in [".wal", ".wal.next"] {
            let harmed = of.with(&of.all());
            harmed.files.put(name, Arc::new(MemFile::from_bytes(&log)));
            let error = harmed.refusal();
            assert!(
                error.to_string().contains("the log is not encrypted"),
                "{name}: {error}"
            );
        }
    }
}

#[test]
fn what_plain_logs_said_is_overwritten() {
    for has_next in [false, true] {
        let (files, store) = plain();
        let mut logs = vec![files.files.get(".wal").unwrap()];
        if has_next {
            // A checkpoint that failed leaves two.
            drop(store.begin_checkpoint().unwrap());
            let checkpoint = store.begin_checkpoint().unwrap();
            insert(&store, 20..30);
            drop(checkpoint);
            logs.extend(files.files.get(".wal.next"));
        }
        assert_eq!(logs.len(), if has_next { 2 } else { 1 });
        encrypt(&store, Suite::Gcm);
        for log in logs {
            assert!(log.to_bytes()[128..].iter().all(|byte| *byte == 0));
        }
        assert!(files.all()[1..].iter().all(Option::is_none));
    }
}

#[test]
fn commits_of_others_go_on_while_it_begins_and_none_is_lost() {
    for _ in 0..8 {
        let (files, store) = plain();
        let ends = AtomicBool::new(false);
        let (mut sums, store) = (0, &store);
        std::thread::scope(|scope| {
            let committing = scope.spawn(|| {
                let (mut sum, mut at) = (0, 100);
                while !ends.load(SeqCst) {
                    insert(store, at..at + 1);
                    (sum, at) = (sum + at, at + 1);
                }
                sum
            });
            while store.log_bytes() < 4096 {
                std::thread::yield_now();
            }
            let began = store.encrypt(first_keys(store, Suite::Gcm));
            // Beside it, and then alone: what is on its way in has to end.
            let beside = (0..20).try_for_each(|_| store.rekey_step().map(drop));
            ends.store(true, SeqCst);
            sums = committing.join().unwrap();
            began.and(beside).unwrap();
        });
        assert_eq!(steps(store), RekeyState::Done);
        is_sound(store);
        let expected = (0..20).sum::<i64>() + sums;
        assert_eq!(sum(store), expected);
        assert_eq!(sum(&with_key(&files).open()), expected);
    }
}

#[test]
fn a_full_disk_at_any_write_of_the_beginning_leaves_it_plain_and_it_can_begin_again() {
    for allowed in 0.. {
        let file = FailingFile::new();
        let all = Arc::clone(&file) as Arc<dyn StorageFile>;
        let store = Store::create(all, None, &StoreOptions::default()).unwrap();
        let columns = vec![def("n", ColumnType::Int64)];
        fill(&store, "t", columns, &[int64s(0..100)]);
        let first = first_keys(&store, Suite::Gcm);
        file.writes_left.store(allowed, SeqCst);
        let began = store.encrypt(first);
        file.writes_left.store(u64::MAX, SeqCst);
        if began.is_ok() {
            assert!(allowed > 4, "{allowed}");
            return;
        }
        let opens = store.begin().is_ok();
        if opens {
            assert_eq!(began.unwrap_err().kind(), ErrorKind::Full);
            assert!(!store.info().suite.is_encrypted());
            encrypt(&store, Suite::Gcm);
            assert_eq!(steps(&store), RekeyState::Done);
            is_sound(&store);
        }
        drop(store);
        let open = |key: Option<&dyn hushdb_keys::KeyProvider>| {
            let copy = Arc::new(MemFile::from_bytes(&file.inner.to_bytes()));
            Store::open(copy, key, &StoreOptions::default())
        };
        let key = key();
        let stores: Vec<_> = [open(Some(&key)), open(None)]
            .into_iter()
            .flatten()
            .collect();
        assert!(!stores.is_empty(), "full at write {allowed}");
        for store in stores {
            is_sound(&store);
            assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 100);
        }
    }
}
