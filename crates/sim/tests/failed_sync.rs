//! A sync of the root fails, the file is opened again by the same machine, and then the power goes.

use std::sync::Arc;

use hushdb_sim::{DiskOptions, Fault, FaultKind, SimDisk};
use hushdb_storage::{StorageFile, Store, StoreOptions};

fn open(disk: &SimDisk) -> hushdb_storage::Result<Arc<Store>> {
    let file: Arc<dyn StorageFile> = Arc::new(disk.open("db", false)?);
    Store::open(file, None, &StoreOptions::default())
}

fn commit(store: &Arc<Store>, schema: &str) -> hushdb_storage::Result<()> {
    let mut txn = store.begin()?;
    txn.create_schema(schema)?;
    txn.commit().map(|_| ())
}

/// The system may show what the failed sync has lost, so that the root that is seen is not on the disk.
#[test]
fn a_root_whose_sync_failed_is_written_again_before_the_other_slot_is_touched() {
    for seed in 0..300 {
        for crash_after in 1..12 {
            let disk = SimDisk::new(seed, DiskOptions::default());
            let file: Arc<dyn StorageFile> = Arc::new(disk.create("db").unwrap());
            let store = Store::create(file, None, &StoreOptions::default()).unwrap();
            commit(&store, "first").unwrap();
            let mut txn = store.begin().unwrap();
            txn.create_schema("second").unwrap();
            // A commit that fails at some sync: of its blocks, of the first slot or of the second.
            disk.order(Fault {
                at: seed % 10,
                kind: FaultKind::Sync,
            });
            let acknowledged = txn.commit().is_ok();
            drop(store);
            disk.heal();
            disk.crash_after(crash_after);
            if let Ok(store) = open(&disk) {
                let _ = commit(&store, "third");
            }
            disk.restart();
            let store = open(&disk)
                .unwrap_or_else(|error| panic!("seed {seed}, crash after {crash_after}: {error}"));
            let snapshot = store.snapshot();
            assert!(snapshot.schema("first").is_some());
            assert!(!acknowledged || snapshot.schema("second").is_some());
        }
    }
}
