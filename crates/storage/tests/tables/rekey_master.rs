//! Another master key, and files that somebody puts together of the states before it, amid it and after it.

use std::sync::Arc;

use hushdb_keys::providers::KeyText;
use hushdb_keys::{SlotOptions, SlotPlan};
use hushdb_storage::*;

use super::logged::*;
use super::rekey::{is_sound, steps};

/// Header copies and superblock slots (FORMAT.md, "File map").
const PARTS: [usize; 4] = [0, 16_384, 32_768, 49_152];
/// The sum of the rows.
const SUM: i64 = 45 + 145;

fn new_key(number: u8) -> KeyText {
    KeyText::new(format!("hex:{}", hex::encode([number; 32])))
}

/// A closed database of which all is in the file.
fn before() -> Files {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 10..20);
    store.checkpoint().unwrap();
    drop(store);
    files
}

fn copy(files: &Files) -> Files {
    files.with(&files.all())
}

fn open(files: &Files, key: &KeyText, options: &StoreOptions) -> Result<Arc<Store>> {
    let files = Arc::clone(&files.files) as Arc<dyn StorageFiles>;
    let store = Store::open_in(files, Some(key), options)?;
    store.set_checkpoint_on_close(false);
    Ok(store)
}

/// What a reader of a copy finds.
fn read(files: &Files, key: &KeyText) -> Result<i64> {
    let options = StoreOptions {
        read_only: true,
        ..StoreOptions::default()
    };
    let store = open(&copy(files), key, &options)?;
    is_sound(&store);
    Ok(sum(&store))
}

fn begin(store: &Arc<Store>, plan: &[SlotPlan<'_>]) -> bool {
    let new = store.blocks().prepare_new_master(plan).unwrap();
    store.rekey(new).unwrap()
}

/// The file with a new master key under another key alone: while it is sealed anew, and when it is done.
fn rekeyed(files: &Files, key: &KeyText) -> (Files, Files) {
    let begun = copy(files);
    let store = begun.open();
    let plan = [
        SlotPlan::Drop { slot: 0 },
        SlotPlan::Add {
            key,
            options: SlotOptions::default(),
        },
    ];
    assert!(begin(&store, &plan));
    drop(store);
    let done = copy(&begun);
    let store = open(&done, key, &StoreOptions::default()).unwrap();
    assert_eq!(steps(&store), RekeyState::Done);
    drop(store);
    (begun, done)
}

/// `of` with each choice of header copies and slots of `from`, and how many of these are `from`'s.
fn mixtures(of: &Files, from: &Files) -> Vec<(Files, usize, usize)> {
    let mixture = |choice: usize| {
        let (mut all, from) = (of.all(), from.all());
        let (bytes, from) = (all[0].as_mut().unwrap(), from[0].as_ref().unwrap());
        let chosen: Vec<usize> = (0..4).filter(|part| choice & (1 << part) != 0).collect();
        for part in &chosen {
            let at = PARTS[*part];
            bytes[at..at + 4096].copy_from_slice(&from[at..at + 4096]);
        }
        let headers = chosen.iter().filter(|part| **part < 2).count();
        (of.with(&all), headers, chosen.len() - headers)
    };
    (0..16).map(mixture).collect()
}

#[test]
fn parts_of_the_file_before_open_with_the_old_key_until_it_is_done_and_never_afterwards() {
    let before = before();
    let (old, new) = (before.key_text().unwrap(), new_key(1));
    let (begun, done) = rekeyed(&before, &new);
    assert!(read(&done, &old).is_err());
    for (state, is_done) in [(&begun, false), (&done, true)] {
        for (file, headers, slots) in mixtures(state, &before) {
            let what = format!("{headers} headers, {slots} slots, done: {is_done}");
            let by_old = read(&file, &old);
            // The old file is still whole in one that has just begun.
            match headers > 0 && slots > 0 && !is_done {
                true => assert_eq!(by_old.unwrap(), SUM, "{what}"),
                false => assert!(by_old.is_err(), "{what}"),
            }
            let by_new = read(&file, &new);
            match headers < 2 && slots < 2 {
                true => assert_eq!(by_new.unwrap(), SUM, "{what}"),
                false => assert!(by_new.is_err(), "{what}"),
            }
        }
    }
    // A state amid it that is put back in parts, where both have the same key.
    for (file, headers, slots) in mixtures(&done, &begun) {
        assert!(read(&file, &old).is_err());
        let by_new = read(&file, &new);
        match headers < 2 && slots < 2 {
            true => assert_eq!(by_new.unwrap(), SUM),
            false => assert!(by_new.is_err(), "{headers} headers, {slots} slots"),
        }
    }
}

#[test]
fn a_header_of_another_rekey_is_refused() {
    let before = before();
    let (one, two) = (new_key(1), new_key(2));
    let (begun, done) = rekeyed(&before, &one);
    let (other_begun, other_done) = rekeyed(&before, &two);
    for (file, other) in [(&begun, &other_begun), (&done, &other_done)] {
        for (mixed, headers, slots) in mixtures(file, other) {
            let opens = |headers, slots| headers > 0 && slots > 0;
            let (by_one, by_two) = (read(&mixed, &one), read(&mixed, &two));
            match opens(2 - headers, 2 - slots) {
                true => assert_eq!(by_one.unwrap(), SUM),
                false => assert!(by_one.is_err(), "{headers} headers, {slots} slots"),
            }
            // With a slot of its own it finds its own ring's place, where another one stands.
            assert!(
                by_two.is_err(),
                "{headers} headers, {slots} slots of the other"
            );
        }
    }
}

#[test]
fn a_kept_slot_opens_the_old_file_and_the_expected_key_refuses_it() {
    let before = before();
    let key = before.key_text().unwrap();
    let begun = copy(&before);
    let store = begun.open();
    // Not while another change has not ended.
    store.rotate_data_key().unwrap();
    let keep = [SlotPlan::Keep { slot: 0, key: &key }];
    assert!(!begin(&store, &keep));
    assert_eq!(steps(&store), RekeyState::Done);
    assert!(begin(&store, &keep));
    assert_eq!(steps(&store), RekeyState::Done);
    let commitment = store.blocks().header().commitment();
    drop(store);
    let expecting = |files: &Files| {
        let options = StoreOptions {
            read_only: true,
            freshness: Freshness {
                expected_key: commitment,
                ..Freshness::default()
            },
            ..StoreOptions::default()
        };
        open(&copy(files), &key, &options)
    };
    assert_eq!(sum(&expecting(&begun).unwrap()), SUM);
    // The whole old file, and the old header before the new body.
    assert_eq!(read(&before, &key).unwrap(), SUM);
    assert!(matches!(expecting(&before), Err(Error::NotExpectedKey)));
    let (mixed, ..) = mixtures(&begun, &before).swap_remove(3);
    assert!(read(&mixed, &key).is_err());
    assert!(matches!(expecting(&mixed), Err(Error::NotExpectedKey)));
}
