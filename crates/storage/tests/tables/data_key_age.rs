//! The age at which a data key is to be changed: in the file, for whoever opens it.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use hushdb_keys::providers::KeyText;
use hushdb_keys::{SlotPlan, UnverifiedHeader};
use hushdb_storage::*;

use super::failures::FailingFile;
use super::fixture::*;
use super::logged::*;
use super::rekey::{is_sound, steps};

fn version_of(files: &Files) -> u16 {
    let bytes = files.all()[0].clone().unwrap();
    let page = bytes.first_chunk().unwrap();
    UnverifiedHeader::parse(page).unwrap().format_version()
}

#[test]
fn it_makes_a_first_ring_and_goes_with_the_file_over_changes_of_keys() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 10..20);
    assert_eq!((store.data_key_age_days(), version_of(&files)), (None, 1));
    store.set_data_key_age_days(365).unwrap();
    insert(&store, 20..30);
    drop(store);
    assert_eq!(version_of(&files), 2);
    let due = Notice::DataKeyDue {
        key_id: 1,
        age_days: None,
        due_days: 365,
    };
    let reader = files.open_read_only();
    assert_eq!(reader.key_notices(), [due]);
    let refused = reader.set_data_key_age_days(1).unwrap_err();
    assert!(matches!(refused, Error::ReadOnly));
    drop(reader);
    let store = files.open();
    assert!(!store.notices().iter().any(Notice::is_damage));
    assert_eq!(
        (store.data_key_age_days(), sum(&store)),
        (Some(365), 45 + 145 + 245)
    );
    let key = files.key_text().unwrap();
    let plan = [SlotPlan::Keep { slot: 0, key: &key }];
    let new = store.blocks().prepare_new_master(&plan).unwrap();
    assert!(store.rekey(new).unwrap());
    // While it changes, too.
    store.set_data_key_age_days(90).unwrap();
    let ids = |store: &Arc<Store>| -> Vec<u32> {
        let keys = store.blocks().data_keys();
        keys.iter().map(|key| key.id).collect()
    };
    assert_eq!(ids(&store), [1, 2]);
    drop(store);
    let store = files.open();
    let unfinished = Notice::DataKeyChangeUnfinished { key_id: 1 };
    assert_eq!(store.key_notices(), [unfinished]);
    assert_eq!(steps(&store), RekeyState::Done);
    drop(store);
    let store = files.open();
    assert_eq!((ids(&store), store.key_notices()), (vec![2], vec![]));
    assert_eq!(
        (store.data_key_age_days(), sum(&store)),
        (Some(90), 45 + 145 + 245)
    );
    is_sound(&store);
    for days in [1, 0, 7] {
        store.set_data_key_age_days(days).unwrap();
    }
    drop(store);
    assert_eq!(files.open().data_key_age_days(), Some(7));
}

#[test]
fn a_full_disk_at_any_write_leaves_it_as_it_was_or_as_it_is_to_be() {
    let key = KeyText::new(format!("hex:{}", "5a".repeat(32)));
    for before in [None, Some(7)] {
        for allowed in 0.. {
            let file = FailingFile::new();
            let all = Arc::clone(&file) as Arc<dyn StorageFile>;
            let store = Store::create(all, Some(&key), &StoreOptions::default()).unwrap();
            let columns = vec![def("n", ColumnType::Int64)];
            fill(&store, "t", columns, &[int64s(0..100)]);
            if let Some(days) = before {
                store.set_data_key_age_days(days).unwrap();
            }
            file.writes_left.store(allowed, SeqCst);
            let set = store.set_data_key_age_days(30);
            file.writes_left.store(u64::MAX, SeqCst);
            let goes_on = store.begin().is_ok();
            if let (Err(error), true) = (&set, goes_on) {
                assert_eq!(error.kind(), ErrorKind::Full);
                assert_eq!(store.data_key_age_days(), before);
                store.set_data_key_age_days(30).unwrap();
            }
            drop(store);
            let copy = Arc::new(MemFile::from_bytes(&file.inner.to_bytes()));
            let store = Store::open(copy, Some(&key), &StoreOptions::default())
                .unwrap_or_else(|error| panic!("full at write {allowed}: {error}"));
            is_sound(&store);
            let age = store.data_key_age_days();
            assert!(age == Some(30) || !goes_on && age == before, "{age:?}");
            assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 100);
            if set.is_ok() {
                assert!(allowed > 4, "{allowed}");
                break;
            }
        }
    }
}
