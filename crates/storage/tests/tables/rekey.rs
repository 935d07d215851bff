//! Sealing anew under another data key: what goes on beside it, and files that somebody put together of its states.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::providers::KeyText;
use hushdb_keys::{DatabaseKeys, KdfBudget, KeyAttempt, Suite, UnverifiedHeader};
use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

/// Offsets of the header's copies and of the superblock's slots (FORMAT.md, "File map").
const HEADERS: [usize; 2] = [0, 16_384];
pub(super) const SLOTS: [usize; 2] = [32_768, 49_152];

/// Steps until it is done or waits for somebody.
pub(super) fn steps(store: &Arc<Store>) -> RekeyState {
    for _ in 0..200 {
        match store.rekey_step_of(4096).unwrap() {
            RekeyState::Running => {}
            state => return state,
        }
    }
    panic!("it does not end");
}

pub(super) fn is_sound(store: &Arc<Store>) {
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

/// The keys that a file's header copy A gives.
pub(super) fn keys_of(files: &Files) -> DatabaseKeys {
    let bytes = files.all()[0].clone().unwrap();
    let page = bytes[..HEADER].first_chunk().unwrap();
    let key = files.key_text().unwrap();
    let mut attempt = KeyAttempt::new(&key, KdfBudget::default());
    let header = UnverifiedHeader::parse(page).unwrap();
    header
        .unlock(&CryptoProvider::aws_lc(), &mut attempt)
        .unwrap()
        .1
}

const HEADER: usize = 4096;

/// A database whose data key changes: before, and while it runs, both closed with all in the file.
pub(super) fn before_and_running() -> (Files, Files) {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 10..20);
    store.checkpoint().unwrap();
    drop(store);
    let before = files.with(&files.all());
    let store = files.open();
    assert!(store.rotate_data_key().unwrap());
    drop(store);
    (before, files)
}

/// The file of `of` with some parts of `from`.
fn with_parts(of: &Files, from: &Files, parts: &[usize]) -> Files {
    let (mut all, from) = (of.all(), from.all());
    let (bytes, from) = (all[0].as_mut().unwrap(), from[0].as_ref().unwrap());
    for at in parts {
        bytes[*at..*at + 4096].copy_from_slice(&from[*at..*at + 4096]);
    }
    of.with(&all)
}

#[test]
fn all_is_sealed_anew_beside_commits_and_nothing_is_conflict() {
    for kind in KINDS {
        if kind == "plain" {
            continue;
        }
        let fixture = Fixture::new(kind);
        let store = fixture.create();
        let types = every_type();
        let columns = types.iter().enumerate();
        let columns = columns
            .map(|(at, (ty, _))| def(&format!("c{at}"), ty.clone()))
            .collect();
        let arrays: Vec<_> = types.iter().map(|(_, array)| Arc::clone(array)).collect();
        fill(&store, "all", columns, &arrays);
        fill(
            &store,
            "t",
            vec![def("n", ColumnType::Int64)],
            &[int64s(0..10)],
        );
        let snapshot = store.snapshot();
        // It began on blocks that are about to go, and redefines a table.
        let mut txn = store.begin().unwrap();
        txn.rename_column("main", "t", "n", "m").unwrap();
        let mut bulk = store.begin().unwrap();
        append(&mut bulk, "all", &arrays);
        assert!(store.rotate_data_key().unwrap());
        assert!(!store.rotate_data_key().unwrap(), "it goes on");
        assert_eq!(steps(&store), RekeyState::Draining);
        assert_eq!(integers(&store, &snapshot, "t", "n").len(), 10);
        txn.commit().unwrap();
        assert_eq!(steps(&store), RekeyState::Draining);
        drop(snapshot);
        assert_eq!(
            steps(&store),
            RekeyState::Draining,
            "rows are on their way in"
        );
        bulk.commit().unwrap();
        assert_eq!(steps(&store), RekeyState::Done);
        is_sound(&store);
        let progress = store.rekey_progress().unwrap();
        assert_eq!(progress.key_ids, [2]);
        assert!(progress.blocks > 20 && progress.bytes > 4096 * 20);
        drop(store);
        let store = fixture.open();
        assert!(store.notices().is_empty(), "{:?}", store.notices());
        is_sound(&store);
        assert_eq!(integers(&store, &store.snapshot(), "t", "m").len(), 10);
        assert_eq!(read(&store, &store.snapshot(), "all", "c0").len(), 2);
        assert_eq!(store.rekey_progress(), None);
    }
}

#[test]
fn the_cipher_changes_and_changes_back_beside_a_snapshot() {
    for (kind, other) in [("aws-lc-rs", Suite::Ctr), ("ctr", Suite::Gcm)] {
        let fixture = Fixture::new(kind);
        let store = fixture.create();
        let first = store.info().suite;
        let columns = vec![def("n", ColumnType::Int64)];
        fill(&store, "t", columns, &[int64s(0..5000)]);
        let snapshot = store.snapshot();
        assert!(store.change_cipher(other).unwrap());
        // Halfway, with blocks of both, by who opened it before and by who opens it then.
        store.rekey_step_of(1).unwrap();
        insert_into(&store, 5000..5010);
        store.blocks().pool().clear();
        assert_eq!(integers(&store, &snapshot, "t", "n").len(), 5000);
        drop((snapshot, store));
        let store = fixture.open();
        assert_eq!(store.info().suite, other);
        is_sound(&store);
        assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 5010);
        let suites = |store: &Arc<Store>| -> Vec<Suite> {
            let keys = store.blocks().data_keys();
            keys.iter().map(|key| key.suite).collect()
        };
        assert_eq!(suites(&store), [first, other]);
        let used = |store: &Arc<Store>| -> Vec<u32> {
            let usage = store.key_usage().unwrap();
            assert!(usage.values().all(|of| of.bytes >= of.blocks * 4096));
            usage.into_keys().collect()
        };
        assert_eq!(used(&store), [1, 2]);
        assert!(!store.change_cipher(first).unwrap(), "it goes on");
        assert_eq!(steps(&store), RekeyState::Done);
        assert_eq!(suites(&store), [other]);
        assert_eq!(used(&store), [2]);
        assert!(store.change_cipher(first).unwrap());
        assert_eq!(steps(&store), RekeyState::Done);
        drop(store);
        let store = fixture.open();
        assert_eq!(suites(&store), [first]);
        is_sound(&store);
        assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 5010);
        let refused = store.change_cipher(Suite::Plain).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::NotEncrypted);
        insert_into(&store, 6000..6001);
    }
}

fn insert_into(store: &Arc<Store>, numbers: std::ops::Range<i64>) {
    let mut txn = store.begin().unwrap();
    txn.insert("main", "t", &[int64s(numbers)]).unwrap();
    txn.commit().unwrap();
}

#[test]
fn a_snapshot_alone_and_rows_that_were_written_ahead_alone_are_waited_for() {
    let fixture = Fixture::new("aws-lc-rs");
    let store = fixture.create();
    let columns = vec![def("n", ColumnType::Int64)];
    fill(&store, "t", columns, &[int64s(0..10)]);
    let snapshot = store.snapshot();
    store.rotate_data_key().unwrap();
    assert_eq!(steps(&store), RekeyState::Draining);
    store.blocks().pool().clear();
    assert_eq!(integers(&store, &snapshot, "t", "n").len(), 10);
    drop(snapshot);
    assert_eq!(steps(&store), RekeyState::Done);
    // No transaction has them yet.
    let columns = store.snapshot().table("main", "t").unwrap().columns.clone();
    let ahead = store.write_row_group(&columns, &[int64s(10..20)]).unwrap();
    store.rotate_data_key().unwrap();
    assert_eq!(steps(&store), RekeyState::Draining);
    let mut txn = store.begin().unwrap();
    txn.append("main", "t", vec![ahead]).unwrap();
    txn.commit().unwrap();
    assert_eq!(steps(&store), RekeyState::Done);
    drop(store);
    let store = fixture.open();
    is_sound(&store);
    assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 20);
}

#[test]
fn a_database_without_a_table_has_blocks_of_its_own_to_seal_anew() {
    let fixture = Fixture::new("aws-lc-rs");
    let store = fixture.create();
    let mut txn = store.begin().unwrap();
    txn.create_schema("s").unwrap();
    txn.commit().unwrap();
    store.rotate_data_key().unwrap();
    assert_eq!(steps(&store), RekeyState::Done);
    drop(store);
    let store = fixture.open();
    is_sound(&store);
    assert!(store.snapshot().schema("s").is_some());
}

#[test]
fn the_next_writer_goes_on_and_a_second_time_gives_the_next_key() {
    let (_, files) = before_and_running();
    for key_id in [2, 3] {
        let store = files.open();
        let running = store.rekey_progress().unwrap();
        assert_eq!(running.state, RekeyState::Running);
        assert_eq!(running.key_ids, [key_id - 1, key_id]);
        insert(&store, 100..101);
        assert_eq!(steps(&store), RekeyState::Done);
        is_sound(&store);
        assert_eq!(keys_of(&files).system_key_id(), key_id);
        store.rotate_data_key().unwrap();
    }
    assert_eq!(sum(&files.open()), 45 + 145 + 200);
}

#[test]
fn a_plain_database_and_a_reader_have_no_data_key_to_change() {
    let files = Files::new(false);
    let error = files.create().rotate_data_key().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotEncrypted);
    let (_, files) = before_and_running();
    let reader = files.open_read_only();
    assert!(matches!(reader.rotate_data_key(), Err(Error::ReadOnly)));
    assert!(matches!(reader.rekey_step(), Err(Error::ReadOnly)));
    assert_eq!(sum(&reader), 45 + 145);
}

#[test]
fn it_pauses_and_goes_on_and_commits_do_not_wait() {
    let (_, files) = before_and_running();
    let store = files.open();
    store.pause_rekey(true);
    assert_eq!(steps(&store), RekeyState::Paused);
    insert(&store, 100..101);
    assert_eq!(store.rekey_progress().unwrap().state, RekeyState::Paused);
    let ids = |store: &Arc<Store>| -> Vec<u32> {
        let keys = store.blocks().data_keys();
        keys.iter().map(|key| key.id).collect()
    };
    assert_eq!(ids(&store), [1, 2]);
    store.pause_rekey(false);
    assert_eq!(steps(&store), RekeyState::Done);
    assert_eq!(ids(&store), [2]);
    // As fast as it may, which is one block a step.
    store.set_rekey_bytes_per_second(1 << 20);
    let began = std::time::Instant::now();
    store.rotate_data_key().unwrap();
    let mut overwritten = 0;
    let mut tell = |now: &RekeyProgress| {
        overwritten = now.scrubbing.map_or(overwritten, |share| share.done);
    };
    while store.rekey_step_told(&mut tell).unwrap() != RekeyState::Done {}
    let bytes = store.rekey_progress().unwrap().bytes;
    let all = (bytes + overwritten) as f64;
    let least = std::time::Duration::from_secs_f64(all / f64::from(1 << 20));
    assert!(bytes > 0 && overwritten > 0, "{bytes}, {overwritten}");
    assert!(began.elapsed() >= least, "{bytes}, {overwritten}");
}

#[test]
fn it_says_how_much_there_is_to_do_and_comes_to_just_that() {
    let (_, files) = before_and_running();
    let store = files.open();
    let opened = store.rekey_progress().unwrap();
    assert_eq!((opened.steps, opened.in_all), (0, None));
    assert!(opened.suspended.unwrap().contains("RESUME"));
    assert_eq!(steps(&store), RekeyState::Done);
    let mut txn = store.begin().unwrap();
    let index = IndexDef {
        name: "i".into(),
        kind: IndexKind::Plain,
        columns: vec!["n".into()],
    };
    txn.create_index("main", "t", index).unwrap();
    txn.commit().unwrap();
    store.rotate_data_key().unwrap();
    let mut heard = Vec::new();
    while store.rekey_step_of(4096).unwrap() == RekeyState::Running {
        let now = store.rekey_progress().unwrap();
        assert_eq!(now.suspended, None);
        heard.push(now);
    }
    let all = heard[0].in_all.unwrap();
    assert!(all.blocks > 1 && all.bytes >= 4096 * all.blocks);
    assert!(heard.iter().all(|now| now.in_all == Some(all)), "{heard:?}");
    let is_ahead = |pair: &[RekeyProgress]| pair[0].bytes <= pair[1].bytes;
    assert!(heard.windows(2).all(is_ahead) && heard[0].blocks < all.blocks);
    let done = store.rekey_progress().unwrap();
    assert_eq!((done.state, done.in_all), (RekeyState::Done, Some(all)));
    assert_eq!(
        (done.blocks, done.bytes, done.steps),
        (all.blocks, all.bytes, all.steps)
    );
}

#[test]
fn overwriting_what_is_free_is_told_on_the_way() {
    let (_, files) = before_and_running();
    let store = files.open();
    let mut heard = Vec::new();
    let mut tell = |now: &RekeyProgress| heard.push(now.clone());
    while store.rekey_step_told(&mut tell).unwrap() != RekeyState::Done {}
    let shares: Vec<Share> = heard.iter().filter_map(|now| now.scrubbing).collect();
    assert!(!shares.is_empty(), "{heard:?}");
    assert!(shares.iter().all(|s| 0 < s.done && s.done <= s.all));
    let last = heard.last().unwrap();
    assert_eq!((last.state, last.scrubbing), (RekeyState::Done, None));
}

/// A call that waited for a lock of the step would never come back.
#[test]
fn definitions_and_checkpoints_do_not_wait_for_overwriting() {
    let (_, files) = before_and_running();
    let store = files.open();
    let mut made = 0;
    let mut tell = |now: &RekeyProgress| {
        if now.scrubbing.is_some() && made < 3 {
            made += 1;
            fill(
                &store,
                &format!("beside_{made}"),
                vec![def("n", ColumnType::Int64)],
                &[int64s(0..5)],
            );
            insert(&store, 1000..1001);
            store.checkpoint().unwrap();
        }
    };
    while store.rekey_step_told(&mut tell).unwrap() != RekeyState::Done {}
    assert!(made > 0);
    is_sound(&store);
    assert_eq!(store.blocks().data_keys().len(), 1);
}

#[test]
fn roots_that_others_move_beside_steps_are_followed() {
    let files = Files::new(true);
    let store = files.create();
    for first in (0..200).step_by(20) {
        insert(&store, first..first + 20);
        store.checkpoint().unwrap();
    }
    let before = integers(&store, &store.snapshot(), "t", "n");
    store.rotate_data_key().unwrap();
    std::thread::scope(|scope| {
        let steps = scope.spawn(|| while store.rekey_step_of(4096).unwrap() != RekeyState::Done {});
        for n in 0..40 {
            let mut txn = store.begin().unwrap();
            txn.delete_rows("main", "t", &[n as u64 * 5]).unwrap();
            txn.commit().unwrap();
            insert(&store, 1000 + n..1001 + n);
            store.checkpoint().unwrap();
        }
        steps.join().unwrap();
    });
    is_sound(&store);
    let deleted: i64 = before.iter().flatten().step_by(5).take(40).sum();
    let added: i64 = (1000..1040).sum();
    assert_eq!(
        sum(&store),
        before.iter().flatten().sum::<i64>() - deleted + added
    );
    assert_eq!(store.blocks().data_keys().len(), 1);
}

#[test]
fn keys_that_are_given_up_leave_nothing_readable_and_lose_nothing() {
    let files = Files::new(true);
    let store = files.create();
    store.checkpoint().unwrap();
    insert(&store, 10..20);
    let snapshot = store.snapshot();
    let mut txn = store.begin().unwrap();
    txn.insert("main", "t", &[int64s(90..91)]).unwrap();
    store.withdraw_keys();
    let table = snapshot.table("main", "t").unwrap();
    let stored = &table.row_groups().unwrap()[0];
    let read = store.read_column(stored, &table.columns[0], None);
    assert_eq!(read.map(|_| ()).unwrap_err().kind(), ErrorKind::KeyRefused);
    assert!(txn.commit().is_err());
    assert!(store.begin().is_err() && store.checkpoint().is_err());
    drop((snapshot, store));
    assert_eq!(sum(&files.open()), 45 + 145);
}

#[test]
fn an_old_header_before_new_slots_is_refused() {
    let (before, running) = before_and_running();
    let file = with_parts(&running, &before, &HEADERS);
    assert_eq!(file.refusal().kind(), ErrorKind::Tampered);
    // One copy of two is told, and put right.
    for at in HEADERS {
        let file = with_parts(&running, &before, &[at]);
        let copy = usize::from(at > 0);
        let store = file.open();
        assert_eq!(store.notices(), [Notice::HeaderCopyOlder { copy }]);
        assert_eq!(sum(&store), 45 + 145);
        drop(store);
        assert!(file.open().notices().is_empty());
    }
}

#[test]
fn an_old_slot_is_told_as_older_and_two_are_refused() {
    let (before, running) = before_and_running();
    for (slot, at) in SLOTS.into_iter().enumerate() {
        let file = with_parts(&running, &before, &[at]);
        let store = file.open();
        let notices = store.notices();
        let [
            Notice::SuperblockSlotOlder {
                slot: told,
                found,
                newest,
            },
        ] = notices[..]
        else {
            panic!("{notices:?}");
        };
        assert!(told == slot && found < newest);
        assert_eq!(sum(&store), 45 + 145);
        drop(store);
        assert!(file.open().notices().is_empty());
    }
    let file = with_parts(&running, &before, &SLOTS);
    assert_ne!(file.refusal().kind(), ErrorKind::WrongKey);
}

#[test]
fn a_superblock_made_with_the_old_key_is_never_the_root() {
    let (before, running) = before_and_running();
    // What the newest superblock says, sealed under the old data key, of a later generation.
    let keys = Arc::new(keys_of(&before));
    let new = keys_of(&running);
    let (id, key_id) = (*keys.database_id().as_bytes(), keys.system_key_id());
    let sealed = |keys: Arc<DatabaseKeys>, key_id| {
        let file: Arc<dyn StorageFile> = running.files.get("").unwrap();
        let protection = Protection::Gcm { keys, key_id };
        SealedFile::new(file, CryptoProvider::aws_lc(), id, protection)
    };
    let bytes = running.all()[0].clone().unwrap();
    let mut page: [u8; 4096] = *bytes[SLOTS[0]..].first_chunk().unwrap();
    let generation = u64::from_le_bytes(*page[24..].first_chunk().unwrap());
    let newest = BlockRef {
        sector: 8,
        payload_len: 4096 - 80,
        key_id: new.system_key_id(),
        birth_generation: generation,
        tag: *page.last_chunk().unwrap(),
    };
    let opener = sealed(Arc::new(new), newest.key_id);
    opener
        .open_in_place(Role::Superblock, &newest, &mut page)
        .unwrap();
    let mut payload = page[64..4096 - 16].to_vec();
    payload[8..16].copy_from_slice(&(generation + 5).to_le_bytes());
    let mut buf = BlockStore::block_buffer(payload.len());
    buf.extend_from_slice(&payload);
    let forged = sealed(keys, key_id);
    let forged = forged
        .seal(Role::Superblock, 8, generation + 5, buf)
        .unwrap();
    let with = |slots: &[usize]| {
        let mut all = running.all();
        for at in slots {
            all[0].as_mut().unwrap()[*at..*at + 4096].copy_from_slice(&forged.bytes);
        }
        running.with(&all)
    };
    for (slot, at) in SLOTS.into_iter().enumerate() {
        let file = with(&[at]);
        let store = file.open();
        assert_eq!(store.notices(), [Notice::SuperblockSlotDamaged { slot }]);
        assert_eq!(store.info().generation.number(), generation);
    }
    with(&SLOTS).refusal();
}

#[test]
fn a_ring_damaged_in_one_copy_is_told_and_mended_and_in_both_refused() {
    let (_, running) = before_and_running();
    let refs = running.open_read_only().blocks().key_ring_refs();
    let spoilt = |copies: &[usize]| {
        let mut all = running.all();
        for copy in copies {
            let at = refs[*copy].sector as usize * SECTOR_BYTES;
            all[0].as_mut().unwrap()[at + 100] ^= 1;
        }
        running.with(&all)
    };
    for copy in [0, 1] {
        let file = spoilt(&[copy]);
        let damaged = [Notice::KeyRingCopyDamaged { copy }];
        let reader = file.open_read_only();
        assert_eq!(reader.notices(), damaged);
        // It is told once.
        is_sound(&reader);
        drop(reader);
        let store = file.open();
        assert_eq!(store.notices(), damaged);
        is_sound(&store);
        drop(store);
        let store = file.open();
        assert!(store.notices().is_empty(), "{:?}", store.notices());
        assert_eq!(steps(&store), RekeyState::Done);
        assert_eq!(sum(&store), 45 + 145);
    }
    let refused = spoilt(&[0, 1]).refusal();
    assert_eq!(refused.kind(), ErrorKind::Tampered);
    let text = refused.to_string();
    assert!(
        text.contains("neither copy") && text.contains("hush salvage"),
        "{text}"
    );
}

#[test]
fn a_replaced_ring_is_overwritten_and_its_place_is_kept() {
    let (_, files) = before_and_running();
    let store = files.open();
    let rings = store.blocks().key_ring_refs();
    assert_eq!(steps(&store), RekeyState::Done);
    let reserved = store.blocks().reserved_sectors();
    assert_eq!(reserved.len(), 2);
    let bytes = files.all()[0].clone().unwrap();
    for ring in &rings {
        assert!(reserved.contains(&(ring.sector, 1)));
        let at = ring.sector as usize * SECTOR_BYTES;
        assert!(bytes[at..at + SECTOR_BYTES].iter().all(|byte| *byte == 0));
    }
    // An interruption left one: the next writer overwrites it, and nothing else that may stand there.
    drop(store);
    let mut all = files.all();
    let at = rings[0].sector as usize * SECTOR_BYTES;
    let ring_now = files.open_read_only().blocks().key_ring_refs()[0];
    let from = ring_now.sector as usize * SECTOR_BYTES;
    let bytes = all[0].as_mut().unwrap();
    bytes.copy_within(from..from + SECTOR_BYTES, at);
    bytes[at + 16..at + 24].copy_from_slice(&rings[0].sector.to_le_bytes());
    let other = rings[1].sector as usize * SECTOR_BYTES;
    bytes[other..other + SECTOR_BYTES].fill(0x55);
    let left = files.with(&all);
    drop(left.open());
    let bytes = left.all()[0].clone().unwrap();
    assert!(bytes[at..at + SECTOR_BYTES].iter().all(|byte| *byte == 0));
    assert!(
        bytes[other..other + SECTOR_BYTES]
            .iter()
            .all(|byte| *byte == 0x55)
    );
}

#[test]
fn a_password_that_is_changed_meanwhile_opens_the_file() {
    let (_, files) = before_and_running();
    let store = files.open();
    let key = KeyText::new(format!("hex:{}", "77".repeat(32)));
    let changed = store.blocks().change_header(|header, crypto, keys| {
        header.add_slot(crypto, keys, &key, &hushdb_keys::SlotOptions::default())
    });
    changed.unwrap();
    assert_eq!(steps(&store), RekeyState::Done);
    store.opens_with(&key).unwrap();
    drop(store);
    let store = files.open();
    store.opens_with(&key).unwrap();
    is_sound(&store);
}
