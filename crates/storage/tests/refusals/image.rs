//! A small database as bytes, and ways to harm it.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::providers::KeyText;
use hushdb_keys::{KeyProvider, Suite};
use hushdb_storage::{
    BlockRef, BlockStore, Error, Generation, MemFile, Notice, Role, SECTOR_BYTES, StoreOptions,
};

pub(crate) const KEY: &str = "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
pub(crate) const SECOND_KEY: &str =
    "hex:ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";
pub(crate) const OTHER_KEY: &str =
    "hex:aa0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eaa";

pub(crate) const HEADERS: [usize; 2] = [0, 16_384];
pub(crate) const SUPERBLOCKS: [usize; 2] = [32_768, 49_152];
pub(crate) const PAGE: usize = 4096;

/// A database's bytes after each of its commits, with blocks to go for.
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    pub(crate) before: Vec<u8>,
    pub(crate) catalog: BlockRef,
    pub(crate) data: [BlockRef; 2],
}

pub(crate) fn options() -> StoreOptions {
    StoreOptions::default()
}

pub(crate) fn key() -> KeyText {
    KeyText::new(KEY)
}

pub(crate) fn open(bytes: &[u8]) -> Result<BlockStore, Error> {
    open_with_both(bytes, Some(&key()))
}

pub(crate) fn open_plain(bytes: &[u8]) -> Result<BlockStore, Error> {
    open_with_both(bytes, None)
}

/// Both crypto providers must come to one conclusion.
pub(crate) fn open_with_both(
    bytes: &[u8],
    key: Option<&dyn KeyProvider>,
) -> Result<BlockStore, Error> {
    let [this, that] = CryptoProvider::all().map(|crypto| {
        let options = StoreOptions {
            crypto,
            ..options()
        };
        BlockStore::open(Arc::new(MemFile::from_bytes(bytes)), key, &options)
    });
    let said = |opened: &Result<BlockStore, Error>| match opened {
        Ok(store) => format!("{:?}", store.notices()),
        Err(error) => error.to_string(),
    };
    assert_eq!(said(&this), said(&that));
    this
}

pub(crate) fn put(store: &BlockStore, role: Role, payload: &[u8]) -> BlockRef {
    let mut buf = BlockStore::block_buffer(payload.len());
    buf.extend_from_slice(payload);
    store.write(role, buf).unwrap()
}

fn image_with(key: Option<&dyn KeyProvider>, suite: Suite) -> Image {
    let file = Arc::new(MemFile::new());
    let options = StoreOptions { suite, ..options() };
    let store = BlockStore::create(file.clone(), key, &options).unwrap();
    let data = [
        put(&store, Role::ColumnData, &[1; 9000]),
        put(&store, Role::ColumnData, &[2; 9000]),
    ];
    let first = put(&store, Role::Metadata, b"first");
    store.commit(first, Generation::new(1)).unwrap();
    let before = file.to_bytes();
    let catalog = put(&store, Role::Metadata, b"second");
    store.commit(catalog, Generation::new(2)).unwrap();
    drop(store);
    Image {
        bytes: file.to_bytes(),
        before,
        catalog,
        data,
    }
}

pub(crate) fn image() -> Image {
    image_with(Some(&key()), Suite::Gcm)
}

/// One of each cipher suite.
pub(crate) fn images() -> [Image; 2] {
    [Suite::Gcm, Suite::Ctr].map(|suite| image_with(Some(&key()), suite))
}

pub(crate) fn plain_image() -> Image {
    image_with(None, Suite::Gcm)
}

pub(crate) fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x10;
    bytes
}

/// Changes both header copies as someone would who knows the format but not the key.
pub(crate) fn edit_headers(bytes: &mut [u8], edit: impl Fn(&mut [u8])) {
    for at in HEADERS {
        let page = &mut bytes[at..at + PAGE];
        edit(page);
        let crc = crc32c::crc32c(&page[..4060]);
        page[4060..4064].copy_from_slice(&crc.to_le_bytes());
    }
}

pub(crate) fn copy_page(to: &mut [u8], from: &[u8], at: usize) {
    to[at..at + PAGE].copy_from_slice(&from[at..at + PAGE]);
}

pub(crate) fn block_at(r: &BlockRef) -> usize {
    r.sector as usize * SECTOR_BYTES
}

/// Opens twice: the first time must report exactly `expected`, the second time nothing.
pub(crate) fn opens_with_notice(bytes: &[u8], expected: Notice) {
    let file = Arc::new(MemFile::from_bytes(bytes));
    let read_only = StoreOptions {
        read_only: true,
        ..options()
    };
    let reader = BlockStore::open(file.clone(), Some(&key()), &read_only).unwrap();
    assert_eq!(reader.notices(), [expected]);
    drop(reader);
    assert!(file.to_bytes() == bytes, "a reader repairs nothing");
    let store = BlockStore::open(file.clone(), Some(&key()), &options()).unwrap();
    assert_eq!(store.notices(), [expected]);
    assert_eq!(
        store
            .read(Role::Metadata, &store.catalog_ref().unwrap())
            .unwrap(),
        b"second".as_slice()
    );
    drop(store);
    assert_eq!(
        BlockStore::open(file, Some(&key()), &options())
            .unwrap()
            .notices(),
        [],
        "repaired"
    );
}
