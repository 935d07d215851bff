//! Anchors against a file that somebody cut, or put back, and that honest software has opened and written to since.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::providers::KeyText;
use hushdb_keys::{HEADER_LEN, KdfBudget, KeyAttempt, KeyProvider, SlotOptions, UnverifiedHeader};
use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

const SUPERBLOCKS: [usize; 2] = [32_768, 49_152];
const SUPERBLOCK_SECTOR: u64 = 8;

type Image = [Option<Vec<u8>>; 3];

fn image(main: Vec<u8>, log: Option<Vec<u8>>) -> Image {
    [Some(main), log, None]
}

fn define(store: &Arc<Store>, name: &str) {
    fill(
        store,
        name,
        vec![def("n", ColumnType::Int64)],
        &[int64s(0..3)],
    );
}

/// Opens for writing, as somebody would who knows of no anchor, and commits that many rows of 1 and a definition.
fn honest(files: &Files, name: &str, commits: i64) {
    let store = files.open();
    for _ in 0..commits {
        insert(&store, 1..2);
    }
    define(&store, name);
}

fn change_keys(store: &Arc<Store>, number: u8) {
    let key = KeyText::new(format!("hex:{}", format!("{number:02x}").repeat(32)));
    let change = store.blocks().change_header(|header, crypto, keys| {
        let slot = header.add_slot(crypto, keys, &key, &SlotOptions::default())?;
        header.remove_slot(crypto, keys, slot)
    });
    change.unwrap();
}

#[track_caller]
fn holds(files: &Files, anchor: Anchor) {
    if let Err(error) = files.try_open_at(anchor) {
        panic!("{anchor}: {error}");
    }
}

#[track_caller]
fn refused(files: &Files, anchor: Anchor) -> Error {
    let error = files.try_open_at(anchor).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tampered, "{error}");
    error
}

#[test]
fn a_cut_log_is_found_however_often_the_file_was_opened_since() {
    for encrypted in [true, false] {
        let files = Files::new(encrypted);
        let store = files.create();
        insert(&store, 100..101);
        let first = store.anchor().unwrap();
        let shorter = without_zeros(files.log());
        insert(&store, 1000..1001);
        let second = store.anchor().unwrap();
        drop(store);
        let (main, log) = files.copy();
        let mut torn = log.clone().unwrap();
        torn[shorter.len() + 70] ^= 1;
        let cuts = [shorter.clone(), shorter[..128].to_vec(), torn];
        for (at, cut) in cuts.into_iter().enumerate() {
            let files = files.with(&image(main.clone(), Some(cut)));
            for round in 0..4 {
                honest(&files, &format!("u{round}"), round % 2);
                assert!(matches!(
                    refused(&files, second),
                    Error::LogCut { expected } if expected == second.log_end
                ));
                match at {
                    1 => drop(refused(&files, first)),
                    _ => holds(&files, first),
                }
            }
        }
        let files = files.with(&image(main, log));
        for round in 0..4 {
            honest(&files, &format!("u{round}"), round % 2);
            [first, second]
                .into_iter()
                .for_each(|anchor| holds(&files, anchor));
        }
    }
}

#[test]
fn an_older_file_is_found_however_often_it_was_opened_since() {
    for encrypted in [true, false] {
        let files = Files::new(encrypted);
        drop(files.create());
        let mut states = vec![];
        for step in 0..6 {
            let store = files.open();
            insert(&store, 100..101);
            if step % 2 == 0 {
                define(&store, &format!("t{step}"));
                insert(&store, 100..101);
            }
            states.push((store.anchor().unwrap(), files.all()));
        }
        for (back, (_, image)) in states.iter().enumerate() {
            let files = files.with(image);
            // Until it is past every generation of the state that was replaced.
            for round in 0..12 {
                honest(&files, &format!("u{round}"), round % 3);
                for (at, (anchor, _)) in states.iter().enumerate() {
                    match at <= back {
                        true => holds(&files, *anchor),
                        false => drop(refused(&files, *anchor)),
                    }
                }
            }
        }
    }
}

#[test]
fn two_copies_that_went_on_apart_do_not_pass_for_each_other() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 1..2);
    let common = store.anchor().unwrap();
    drop(store);
    let copies = [files.with(&files.all()), files.with(&files.all())];
    let mut anchors = [vec![], vec![]];
    for round in 0..3 {
        for (files, anchors) in copies.iter().zip(&mut anchors) {
            let store = files.open();
            insert(&store, 1..2);
            anchors.push(store.anchor().unwrap());
            define(&store, &format!("u{round}"));
            anchors.push(store.anchor().unwrap());
        }
    }
    for (at, files) in copies.iter().enumerate() {
        holds(files, common);
        anchors[at].iter().for_each(|anchor| holds(files, *anchor));
        for anchor in &anchors[1 - at] {
            refused(files, *anchor);
        }
    }
}

#[test]
fn a_key_change_that_was_taken_back_is_found() {
    let files = Files::new(true);
    drop(files.create());
    let before = files.all();
    let store = files.open();
    change_keys(&store, 1);
    let changed = store.anchor().unwrap();
    drop(store);
    holds(&files, changed);
    let files = files.with(&before);
    refused(&files, changed);
    let store = files.open();
    change_keys(&store, 2);
    drop(store);
    for round in 0..3 {
        refused(&files, changed);
        honest(&files, &format!("u{round}"), 0);
    }
    refused(&files, changed);
}

#[test]
fn a_next_log_that_was_taken_away_is_found_after_the_file_was_opened() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 10..11);
    let named = store.anchor().unwrap();
    let checkpoint = store.begin_checkpoint().unwrap().unwrap();
    insert(&store, 20..21);
    let first = store.anchor().unwrap();
    let cut = files.all();
    insert(&store, 30..31);
    let second = store.anchor().unwrap();
    let [main, log, next] = files.all();
    checkpoint.finish().unwrap();
    insert(&store, 40..41);
    let third = store.anchor().unwrap();
    drop(store);
    let whole = files.with(&[main.clone(), log.clone(), next]);
    let gone = files.with(&[main, log, None]);
    let cut = files.with(&cut);
    for round in 0..4 {
        for (files, held) in [(&files, 4), (&whole, 3), (&cut, 2), (&gone, 1)] {
            honest(files, &format!("u{round}"), 1);
            for (at, anchor) in [named, first, second, third].into_iter().enumerate() {
                match at < held {
                    true => holds(files, anchor),
                    false => drop(refused(files, anchor)),
                }
            }
        }
    }
}

#[test]
fn an_anchor_within_a_log_holds_once_the_log_is_gone() {
    let files = Files::new(true);
    let store = files.create();
    let mut anchors = vec![store.anchor().unwrap()];
    for n in 0..5 {
        insert(&store, n..n + 1);
        anchors.push(store.anchor().unwrap());
        if n == 3 {
            change_keys(&store, 3);
            anchors.push(store.anchor().unwrap());
        }
    }
    store.checkpoint().unwrap();
    anchors.push(store.anchor().unwrap());
    insert(&store, 7..8);
    anchors.push(store.anchor().unwrap());
    drop(store);
    for round in 0..3 {
        for anchor in &anchors {
            let opened = files.try_open_at(*anchor).unwrap();
            opened
                .holds(&Freshness {
                    min_anchor: Some(*anchor),
                    ..Freshness::default()
                })
                .unwrap();
        }
        let store = files.open();
        insert(&store, 1..2);
        anchors.push(store.anchor().unwrap());
        store.set_checkpoint_on_close(round > 0);
    }
}

#[test]
fn an_anchor_is_of_what_is_durable() {
    let files = Files::new(true);
    let store = files.create();
    store.set_synchronous(Synchronous::Off);
    insert(&store, 1..2);
    let anchor = store.anchor().unwrap();
    insert(&store, 2..3);
    assert!(store.anchor().unwrap().log_end > anchor.log_end);
    drop(store);
    holds(&files, anchor);
}

/// A superblock of the release before the history: version 1, and zeros where the history is.
fn as_first_version(image: &Image, key: Option<&KeyText>) -> Image {
    let mut main = image[0].clone().unwrap();
    let page: &[u8; HEADER_LEN] = main.first_chunk().unwrap();
    let header = UnverifiedHeader::parse(page).unwrap();
    let id = *header.database_id().as_bytes();
    let crypto = CryptoProvider::aws_lc();
    let keys = key.map(|key| {
        let mut attempt = KeyAttempt::new(key, KdfBudget::default());
        let opened = header.unlock(&crypto, &mut attempt);
        Arc::new(opened.unwrap().1)
    });
    let protection = match &keys {
        Some(keys) => Protection::Gcm {
            keys: Arc::clone(keys) as _,
            key_id: keys.system_key_id(),
        },
        None => Protection::Plain,
    };
    let file = Arc::new(MemFile::from_bytes(&main));
    let sealed = SealedFile::new(file, crypto, id, protection);
    let page = main[SUPERBLOCKS[0]..][..SECTOR_BYTES].to_vec();
    let generation = u64::from_le_bytes(page[24..32].try_into().unwrap());
    let block = BlockRef {
        sector: SUPERBLOCK_SECTOR,
        payload_len: 4016,
        key_id: u32::from_le_bytes(page[8..12].try_into().unwrap()),
        birth_generation: generation,
        tag: *page.last_chunk().unwrap(),
    };
    let mut payload = sealed
        .read(Role::Superblock, &block, u64::MAX >> 20)
        .unwrap()
        .to_vec();
    payload[0] = 1;
    payload[256..].fill(0);
    let mut buf = BlockBuf::with_capacity(payload.len());
    buf.extend_from_slice(&payload);
    let written = sealed
        .seal(Role::Superblock, SUPERBLOCK_SECTOR, generation, buf)
        .unwrap();
    for at in SUPERBLOCKS {
        main[at..at + SECTOR_BYTES].copy_from_slice(&written.bytes);
    }
    [Some(main), image[1].clone(), image[2].clone()]
}

#[test]
fn a_file_without_a_history_begins_one_with_its_first_superblock() {
    for encrypted in [true, false] {
        let files = Files::new(encrypted);
        drop(files.create());
        let store = files.open();
        store.set_checkpoint_on_close(true);
        drop(store);
        let key = files.key_text();
        let older = as_first_version(&files.all(), key.as_ref());
        let older_anchor = files.with(&older).open_read_only().anchor().unwrap();
        let store = files.open();
        define(&store, "later");
        insert(&store, 5..6);
        drop(store);
        let newer = as_first_version(&files.all(), key.as_ref());
        let files = files.with(&newer);
        let anchor = files.open_read_only().anchor().unwrap();
        assert!(anchor.to_string().starts_with("hush1:"));
        holds(&files, anchor);
        holds(&files, older_anchor);
        honest(&files, "after", 1);
        let store = files.open();
        insert(&store, 1..2);
        let now = store.anchor().unwrap();
        drop(store);
        assert!(now.to_string().starts_with("hush2:"));
        for anchor in [older_anchor, anchor, now] {
            let opened = files.try_open_at(anchor).unwrap();
            let weak = |notice: &Notice| matches!(notice, Notice::AnchorWithoutHistory { .. });
            let is_old = anchor.generation < now.generation;
            assert_eq!(opened.notices().iter().any(weak), is_old);
        }

        // The older file put back, and written to since: whoever has an anchor of the time before is not told a story.
        let files = files.with(&older);
        for round in 0..6 {
            honest(&files, &format!("u{round}"), 1);
            holds(&files, older_anchor);
            refused(&files, anchor);
            refused(&files, now);
        }
    }
}

#[test]
fn a_log_of_a_file_without_a_history_is_held_against_an_anchor() {
    let files = Files::new(false);
    let store = files.create();
    insert(&store, 1..2);
    let shorter = without_zeros(files.log());
    insert(&store, 2..3);
    drop(store);
    let older = as_first_version(&files.all(), None);
    let files = files.with(&older);
    let anchor = files.open_read_only().anchor().unwrap();
    assert!(anchor.log_end > Lsn::new(128) && !anchor.has_run());
    holds(&files, anchor);
    let cut = files.with(&[older[0].clone(), Some(shorter), None]);
    for round in 0..3 {
        honest(&files, &format!("u{round}"), 1);
        holds(&files, anchor);
        honest(&cut, &format!("u{round}"), 1);
        refused(&cut, anchor);
    }
}

/// More openings than a superblock has room for.
const RUNS: usize = 170;

#[test]
fn very_many_runs_are_all_vouched_for() {
    let files = Files::new(true);
    let store = files.create();
    let mut anchors = vec![store.anchor().unwrap()];
    drop(store);
    for run in 0..RUNS {
        let store = files.open();
        insert(&store, 0..1);
        anchors.push(store.anchor().unwrap());
        store.set_checkpoint_on_close(run % 3 == 0);
    }
    let store = files.open();
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert!(report.by_role[&Role::Index] > 0);
    drop(store);
    let before = files.all();
    for anchor in &anchors {
        holds(&files, *anchor);
        let forged = Anchor {
            run: anchors[RUNS / 2].run,
            ..*anchor
        };
        if anchor.run != forged.run && anchor.generation < anchors[RUNS].generation {
            refused(&files, forged);
        }
    }
    assert_eq!(files.all(), before);
}

#[test]
fn key_changes_alone_are_vouched_for_however_many_there_are() {
    let files = Files::new(true);
    drop(files.create());
    honest(&files, "u", 1);
    let mut anchors = vec![];
    for run in 0..RUNS {
        let store = files.open();
        change_keys(&store, (run % 200) as u8);
        anchors.push(store.anchor().unwrap());
    }
    let at = [0, 1, 63, 64, 90, 91, 92, 93, RUNS - 2, RUNS - 1];
    at.iter().for_each(|at| holds(&files, anchors[*at]));
    let report = files.open().check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
}

#[test]
fn a_damaged_history_is_found_by_a_check_and_by_who_asks_it() {
    let files = Files::new(true);
    drop(files.create());
    let mut anchors = vec![];
    for _ in 0..RUNS {
        let store = files.open();
        define(&store, &format!("t{}", anchors.len()));
        anchors.push(store.anchor().unwrap());
    }
    let mut index = None;
    let store = files.open();
    let seen = &mut |role, block: &BlockRef| {
        if role == Role::Index {
            index = Some(block.sector as usize);
        }
    };
    assert!(store.check(seen).unwrap().findings.is_empty());
    drop(store);
    let mut image = files.all();
    image[0].as_mut().unwrap()[index.unwrap() * SECTOR_BYTES + 200] ^= 1;
    let files = files.with(&image);
    let store = files.open_read_only();
    let report = store.check(&mut |_, _| {}).unwrap();
    assert_eq!(report.findings.len(), 1, "{:?}", report.findings);
    drop(store);
    holds(&files, anchors[RUNS - 1]);
    let error = files.try_open_at(anchors[3]).unwrap_err();
    assert!(matches!(error, Error::BlockEdited(_)), "{error}");
    assert_eq!(sum(&files.open()), 45);
}

#[test]
fn the_history_does_not_keep_a_file_long() {
    let files = Files::new(true);
    drop(files.create());
    let store = files.open();
    let long = (0..300_000).map(|n: i64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64));
    fill(
        &store,
        "long",
        vec![def("n", ColumnType::Int64)],
        &[int64s(long)],
    );
    drop(store);
    let mut anchors = vec![];
    for run in 0..100 {
        let store = files.open();
        insert(&store, run..run + 1);
        anchors.push(store.anchor().unwrap());
    }
    let store = files.open();
    let mut txn = store.begin().unwrap();
    txn.drop_table("main", "long").unwrap();
    txn.commit().unwrap();
    let before = store.info().total_sectors;
    store.vacuum(None).unwrap();
    let after = store.info().total_sectors;
    assert!(after < 16 + 60, "{after} of {before} sectors");
    let report = store.check(&mut |_, _| {}).unwrap();
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    drop(store);
    anchors.iter().for_each(|anchor| holds(&files, *anchor));
}

#[test]
fn a_salvage_is_held_against_an_anchor() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 100..101);
    let shorter = without_zeros(files.log());
    insert(&store, 1000..1001);
    let anchor = store.anchor().unwrap();
    drop(store);
    let (older, _) = files.copy();
    let open = |files: &Files| {
        let options = StoreOptions {
            freshness: Freshness {
                min_anchor: Some(anchor),
                ..Freshness::default()
            },
            ..StoreOptions::default()
        };
        let key = files.key_text();
        let key = key.as_ref().map(|key| key as &dyn KeyProvider);
        Salvage::open_in(Arc::clone(&files.files) as _, key, &options)
    };
    assert!(open(&files).unwrap().survey().unwrap().lost.is_empty());
    // A cut log is something that is lost, and the rest is saved.
    let cut = files.with(&image(older, Some(shorter)));
    let report = open(&cut).unwrap().survey().unwrap();
    assert!(matches!(report.lost[0].error, Error::LogCut { .. }));
    assert_eq!(report.tables[0].rows, 11);
    honest(&cut, "u", 1);
    let error = open(&cut).err().unwrap();
    assert!(matches!(error, Error::LogCut { .. }), "{error}");
}
