//! Commit, reopen, roll back, reuse of space, change of keys: a database file from outside, on both crypto providers.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::KeyProvider;
use hushdb_keys::providers::KeyText;
use hushdb_storage::{BlockRef, BlockStore, MemFile, Role, StoreOptions};

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
        assert_eq!(store.commit(catalog, store.generation()).unwrap(), 2);
        let digest = store.root_digest();
        drop(store);
        let store = BlockStore::open(file, key, options).unwrap();
        assert_eq!(store.notices(), []);
        assert_eq!((store.generation(), store.root_digest()), (2, digest));
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
    store.commit(catalog, 1).unwrap();
    drop(store);
    let store = BlockStore::open(file, Some(&key()), &options(CryptoProvider::portable())).unwrap();
    assert_eq!(
        store.read(Role::Metadata, &catalog).unwrap(),
        b"written by one".as_slice()
    );
}
