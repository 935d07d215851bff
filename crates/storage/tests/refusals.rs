//! What a database file must refuse, or bear and put right: one named test for each case.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::providers::KeyText;
use hushdb_keys::{KeyProvider, SlotOptions};
use hushdb_storage::{
    BlockBuf, BlockRef, BlockStore, Error, ErrorKind, MemFile, Notice, Protection, Role,
    SECTOR_BYTES, SealedFile, StoreOptions,
};

const KEY: &str = "hex:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
const SECOND_KEY: &str = "hex:ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eff";
const OTHER_KEY: &str = "hex:aa0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eaa";

const HEADERS: [usize; 2] = [0, 16_384];
const SUPERBLOCKS: [usize; 2] = [32_768, 49_152];
const PAGE: usize = 4096;

/// A database's bytes after each of its commits, with blocks to go for.
struct Image {
    bytes: Vec<u8>,
    before: Vec<u8>,
    catalog: BlockRef,
    data: [BlockRef; 2],
}

fn options() -> StoreOptions {
    StoreOptions::default()
}

fn key() -> KeyText {
    KeyText::new(KEY)
}

fn open(bytes: &[u8]) -> Result<BlockStore, Error> {
    BlockStore::open(
        Arc::new(MemFile::from_bytes(bytes)),
        Some(&key()),
        &options(),
    )
}

fn open_plain(bytes: &[u8]) -> Result<BlockStore, Error> {
    BlockStore::open(Arc::new(MemFile::from_bytes(bytes)), None, &options())
}

fn put(store: &BlockStore, role: Role, payload: &[u8]) -> BlockRef {
    let mut buf = BlockStore::block_buffer(payload.len());
    buf.extend_from_slice(payload);
    store.write(role, buf).unwrap()
}

fn image_with(key: Option<&dyn KeyProvider>) -> Image {
    let file = Arc::new(MemFile::new());
    let store = BlockStore::create(file.clone(), key, &options()).unwrap();
    let data = [
        put(&store, Role::ColumnData, &[1; 9000]),
        put(&store, Role::ColumnData, &[2; 9000]),
    ];
    let first = put(&store, Role::Metadata, b"first");
    store.commit(first, 1).unwrap();
    let before = file.to_bytes();
    let catalog = put(&store, Role::Metadata, b"second");
    store.commit(catalog, 2).unwrap();
    drop(store);
    Image {
        bytes: file.to_bytes(),
        before,
        catalog,
        data,
    }
}

fn image() -> Image {
    image_with(Some(&key()))
}

fn plain_image() -> Image {
    image_with(None)
}

fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at] ^= 0x10;
    bytes
}

/// Changes both header copies as someone would who knows the format but not the key.
fn edit_headers(bytes: &mut [u8], edit: impl Fn(&mut [u8])) {
    for at in HEADERS {
        let page = &mut bytes[at..at + PAGE];
        edit(page);
        let crc = crc32c::crc32c(&page[..4060]);
        page[4060..4064].copy_from_slice(&crc.to_le_bytes());
    }
}

fn copy_page(to: &mut [u8], from: &[u8], at: usize) {
    to[at..at + PAGE].copy_from_slice(&from[at..at + PAGE]);
}

fn block_at(r: &BlockRef) -> usize {
    r.sector as usize * SECTOR_BYTES
}

/// Opens twice: the first time must report exactly `expected`, the second time nothing.
fn opens_with_notice(bytes: &[u8], expected: Notice) {
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

#[test]
fn wrong_key() {
    let other = KeyText::new(OTHER_KEY);
    let file = Arc::new(MemFile::from_bytes(&image().bytes));
    let error = BlockStore::open(file, Some(&other), &options()).unwrap_err();
    assert!(matches!(error, Error::WrongKey));
    assert_eq!(error.kind(), ErrorKind::WrongKey);
}

#[test]
fn key_missing() {
    assert!(matches!(
        open_plain(&image().bytes),
        Err(Error::KeyRequired)
    ));
}

#[test]
fn key_given_for_a_plain_file() {
    assert!(matches!(
        open(&plain_image().bytes),
        Err(Error::NotEncrypted)
    ));
}

#[test]
fn malformed_key_text() {
    let malformed = KeyText::new("hex:0011");
    let file = Arc::new(MemFile::from_bytes(&image().bytes));
    let error = BlockStore::open(file, Some(&malformed), &options()).unwrap_err();
    assert!(matches!(error, Error::KeyUnusable(_)));
    let error =
        BlockStore::create(Arc::new(MemFile::new()), Some(&malformed), &options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn not_a_hushdb_file() {
    for bytes in [&b""[..], b"id,name\n1,x\n", &[0; 100_000], &[b'S'; 65_536]] {
        assert!(
            matches!(open(bytes), Err(Error::NotADatabase)),
            "{} bytes",
            bytes.len()
        );
    }
}

#[test]
fn newer_format() {
    let mut bytes = image().bytes;
    edit_headers(&mut bytes, |page| page[8] = 2);
    let error = open(&bytes).unwrap_err();
    assert!(
        matches!(error, Error::NewerFormat { version: 2 }),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn unknown_suite() {
    let mut bytes = image().bytes;
    edit_headers(&mut bytes, |page| page[10] = 9);
    assert_eq!(open(&bytes).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn suite_edited_to_another_one() {
    let mut bytes = image().bytes;
    edit_headers(&mut bytes, |page| page[10] = 2);
    assert!(matches!(open(&bytes), Err(Error::HeaderEdited)));
}

#[test]
fn suite_edited_to_plain() {
    let mut bytes = image().bytes;
    edit_headers(&mut bytes, |page| page[10] = 0);
    assert_eq!(open(&bytes).unwrap_err().kind(), ErrorKind::Tampered);
    assert_eq!(open_plain(&bytes).unwrap_err().kind(), ErrorKind::Tampered);
}

#[test]
fn header_made_plain_over_an_encrypted_body() {
    let image = image();
    let mut bytes = image.bytes;
    edit_headers(&mut bytes, |page| {
        page[10] = 0;
        page[12..16].fill(0);
        page[40..4060].fill(0);
        page[4064..].fill(0);
    });
    assert!(matches!(open(&bytes), Err(Error::NotEncrypted)));
    assert!(matches!(open_plain(&bytes), Err(Error::SuperblockEdited)));
}

#[test]
fn edited_slot() {
    let mut bytes = image().bytes;
    // The provider kind of slot 0, which nothing but the header's MAC protects.
    edit_headers(&mut bytes, |page| page[257] ^= 1);
    assert!(matches!(open(&bytes), Err(Error::HeaderEdited)));
}

#[test]
fn edited_sequence() {
    let mut bytes = image().bytes;
    edit_headers(&mut bytes, |page| page[32] += 1);
    assert!(matches!(open(&bytes), Err(Error::HeaderEdited)));
}

#[test]
fn truncated_file() {
    let bytes = image().bytes;
    for len in [
        bytes.len() - 1,
        bytes.len() - SECTOR_BYTES,
        65_536,
        65_535,
        40_000,
        4096,
        100,
    ] {
        let error = open(&bytes[..len]).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{len}: {error}");
        assert_eq!(error.kind(), ErrorKind::Corrupted);
    }
}

#[test]
fn a_longer_file_is_an_unfinished_load() {
    let mut bytes = image().bytes;
    bytes.extend_from_slice(&[7; 100_000]);
    assert_eq!(open(&bytes).unwrap().notices(), []);
}

#[test]
fn a_bit_flipped_in_one_header_copy() {
    let bytes = image().bytes;
    for (copy, start) in HEADERS.into_iter().enumerate() {
        for at in (0..PAGE).step_by(371).chain([8, 10, 4060, 4095]) {
            opens_with_notice(
                &flipped(&bytes, start + at),
                Notice::HeaderCopyDamaged { copy },
            );
        }
    }
}

#[test]
fn a_bit_flipped_in_both_header_copies() {
    let bytes = image().bytes;
    for at in [9, 11, 40, 300, 4000, 4061] {
        let error = open(&flipped(&flipped(&bytes, HEADERS[0] + at), HEADERS[1] + at)).unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Corrupted),
            "{at}: {error}"
        );
    }
    let mac = open(&flipped(
        &flipped(&bytes, HEADERS[0] + 4070),
        HEADERS[1] + 4090,
    ))
    .unwrap_err();
    assert!(matches!(mac, Error::HeaderEdited));
}

#[test]
fn a_bit_flipped_in_one_superblock_slot() {
    let bytes = image().bytes;
    for (slot, start) in SUPERBLOCKS.into_iter().enumerate() {
        for at in (0..PAGE)
            .step_by(307)
            .chain([4, 5, 6, 24, 40, 50, 61, 4095])
        {
            opens_with_notice(
                &flipped(&bytes, start + at),
                Notice::SuperblockSlotDamaged { slot },
            );
        }
    }
}

#[test]
fn a_bit_flipped_in_both_superblock_slots() {
    let bytes = image().bytes;
    let envelope = flipped(&flipped(&bytes, SUPERBLOCKS[0] + 20), SUPERBLOCKS[1] + 30);
    assert!(matches!(open(&envelope), Err(Error::SuperblockDamaged)));
    let content = flipped(&flipped(&bytes, SUPERBLOCKS[0] + 200), SUPERBLOCKS[1] + 200);
    assert!(matches!(open(&content), Err(Error::SuperblockEdited)));
}

#[test]
fn a_bit_flipped_in_the_gaps_means_nothing() {
    let bytes = image().bytes;
    for at in [5000, 30_000, 40_000, 60_000] {
        assert_eq!(open(&flipped(&bytes, at)).unwrap().notices(), []);
    }
}

#[test]
fn a_bit_flipped_in_a_block() {
    let image = image();
    let block = block_at(&image.data[0]);
    let last = image.data[0].sectors().unwrap() as usize * SECTOR_BYTES - 1;
    for at in (0..64).chain([64, 5000, 9063, 9064, last - 16, last - 15, last]) {
        let store = open(&flipped(&image.bytes, block + at)).unwrap();
        let error = store.read(Role::ColumnData, &image.data[0]);
        let in_content = (64..=last - 16).contains(&at);
        match error {
            // Envelope and tag have a checksum, so damage there is told from an edit.
            Ok(_) => assert!(
                (60..64).contains(&at),
                "only the checksum itself says nothing about the content: {at}"
            ),
            Err(Error::BlockEdited(place)) => {
                assert!(in_content && place.sector == image.data[0].sector, "{at}")
            }
            Err(Error::BlockDamaged(_)) => assert!(!in_content, "{at}"),
            Err(other) => panic!("{at}: {other}"),
        }
        assert!(
            store.read(Role::ColumnData, &image.data[1]).is_ok(),
            "other blocks still open"
        );
    }
}

#[test]
fn a_bit_flipped_in_a_plain_block() {
    let image = plain_image();
    for at in [0, 5, 20, 64, 5000, 9070, 3 * SECTOR_BYTES - 1] {
        let store = open_plain(&flipped(&image.bytes, block_at(&image.data[0]) + at)).unwrap();
        let error = store.read(Role::ColumnData, &image.data[0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupted, "{at}: {error}");
    }
}

#[test]
fn two_blocks_swapped() {
    let image = image();
    let (a, b, len) = (
        block_at(&image.data[0]),
        block_at(&image.data[1]),
        3 * SECTOR_BYTES,
    );
    let mut bytes = image.bytes.clone();
    bytes[a..a + len].copy_from_slice(&image.bytes[b..b + len]);
    bytes[b..b + len].copy_from_slice(&image.bytes[a..a + len]);
    let store = open(&bytes).unwrap();
    for block in &image.data {
        let error = store.read(Role::ColumnData, block).unwrap_err();
        assert!(matches!(error, Error::BlockReplaced(_)), "{error}");
        assert_eq!(error.kind(), ErrorKind::Tampered);
    }
}

#[test]
fn a_block_of_another_database_put_in() {
    let (ours, theirs) = (image(), image());
    let at = block_at(&ours.data[0]);
    let mut bytes = ours.bytes.clone();
    bytes[at..at + 3 * SECTOR_BYTES].copy_from_slice(&theirs.bytes[at..at + 3 * SECTOR_BYTES]);
    let error = open(&bytes)
        .unwrap()
        .read(Role::ColumnData, &ours.data[0])
        .unwrap_err();
    assert!(matches!(error, Error::BlockReplaced(_)), "{error}");
}

#[test]
fn an_older_copy_of_a_block_put_back() {
    let file = Arc::new(MemFile::new());
    let store = BlockStore::create(file.clone(), Some(&key()), &options()).unwrap();
    let old = put(&store, Role::Metadata, b"old balance");
    store.commit(old, 1).unwrap();
    let before = file.to_bytes();
    store.free(&old);
    let between = put(&store, Role::Metadata, b"between");
    store.commit(between, u64::MAX).unwrap();
    let new = put(&store, Role::Metadata, b"new balance");
    assert_eq!(new.sector, old.sector, "the place is used again");
    store.commit(new, u64::MAX).unwrap();
    drop(store);
    let mut bytes = file.to_bytes();
    copy_page(&mut bytes, &before, block_at(&old));
    let error = open(&bytes)
        .unwrap()
        .read(Role::Metadata, &new)
        .unwrap_err();
    assert!(matches!(error, Error::BlockReplaced(_)), "{error}");
}

#[test]
fn a_block_asked_for_in_another_role() {
    let image = image();
    let store = open(&image.bytes).unwrap();
    store.read(Role::Metadata, &image.catalog).unwrap();
    let error = store.read(Role::ColumnData, &image.catalog).unwrap_err();
    assert!(
        matches!(error, Error::BlockReplaced(_)),
        "not even from the pool"
    );
}

#[test]
fn an_older_superblock_put_back_into_one_slot() {
    let image = image();
    for (slot, at) in SUPERBLOCKS.into_iter().enumerate() {
        let mut bytes = image.bytes.clone();
        copy_page(&mut bytes, &image.before, at);
        opens_with_notice(
            &bytes,
            Notice::SuperblockSlotOlder {
                slot,
                found: 2,
                newest: 3,
            },
        );
    }
}

#[test]
fn superblocks_of_two_histories() {
    let image = image();
    let file = Arc::new(MemFile::from_bytes(&image.before));
    let fork = BlockStore::open(file.clone(), Some(&key()), &options()).unwrap();
    let other = put(&fork, Role::Metadata, b"another second");
    fork.commit(other, 2).unwrap();
    let mut bytes = image.bytes;
    copy_page(&mut bytes, &file.to_bytes(), SUPERBLOCKS[1]);
    let error = open(&bytes).unwrap_err();
    assert!(
        matches!(error, Error::SuperblockForked { generation: 3 }),
        "{error}"
    );
}

/// An image before and after the first key was replaced by the second.
fn rekeyed() -> (Vec<u8>, Vec<u8>) {
    let image = image();
    let file = Arc::new(MemFile::from_bytes(&image.bytes));
    let store = BlockStore::open(file.clone(), Some(&key()), &options()).unwrap();
    let second = KeyText::new(SECOND_KEY);
    store
        .change_header(|header, crypto, keys| {
            header.change_slot(crypto, keys, 0, &second, &SlotOptions::default())
        })
        .unwrap();
    drop(store);
    (image.bytes, file.to_bytes())
}

#[test]
fn an_older_header_copy_put_back_with_its_password() {
    let (before, after) = rekeyed();
    let second = KeyText::new(SECOND_KEY);
    for (copy, at) in HEADERS.into_iter().enumerate() {
        let mut bytes = after.clone();
        copy_page(&mut bytes, &before, at);
        let file = Arc::new(MemFile::from_bytes(&bytes));
        assert!(
            matches!(open(&bytes), Err(Error::WrongKey)),
            "the removed key opens nothing"
        );
        let store = BlockStore::open(file.clone(), Some(&second), &options()).unwrap();
        assert_eq!(store.notices(), [Notice::HeaderCopyOlder { copy }]);
        drop(store);
        assert_eq!(
            BlockStore::open(file, Some(&second), &options())
                .unwrap()
                .notices(),
            [],
            "repaired"
        );
    }
}

#[test]
fn an_older_header_put_back_in_both_copies() {
    let (before, mut after) = rekeyed();
    HEADERS
        .iter()
        .for_each(|&at| copy_page(&mut after, &before, at));
    let error = open(&after).unwrap_err();
    assert!(
        matches!(
            error,
            Error::HeaderReplaced {
                expected: 2,
                found: 1
            }
        ),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Tampered);
}

#[test]
fn an_older_header_put_back_and_the_newer_copy_spoilt() {
    let (before, mut after) = rekeyed();
    copy_page(&mut after, &before, HEADERS[0]);
    let error = open(&flipped(&after, HEADERS[1] + 77)).unwrap_err();
    assert!(matches!(error, Error::HeaderReplaced { .. }), "{error}");
}

#[test]
fn an_older_header_with_an_older_superblock_in_one_slot() {
    let (before, mut after) = rekeyed();
    copy_page(&mut after, &before, HEADERS[0]);
    copy_page(&mut after, &before, SUPERBLOCKS[0]);
    assert!(
        matches!(open(&after), Err(Error::WrongKey)),
        "one spoilt slot rolls nothing back"
    );
}

#[test]
fn absurd_lengths_in_a_ref() {
    let image = image();
    let store = open(&image.bytes).unwrap();
    let good = image.data[0];
    for bad in [
        BlockRef {
            payload_len: u32::MAX,
            ..good
        },
        BlockRef {
            payload_len: (64 << 20) - 80,
            ..good
        },
        BlockRef {
            payload_len: (64 << 20) - 79,
            ..good
        },
        BlockRef {
            sector: u64::MAX,
            ..good
        },
        BlockRef {
            sector: u64::MAX / 4096,
            ..good
        },
        BlockRef { sector: 0, ..good },
        BlockRef { sector: 15, ..good },
    ] {
        let error = store.read(Role::ColumnData, &bad).unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{bad:?}: {error}");
        assert_eq!(error.kind(), ErrorKind::Corrupted);
    }
    let longer = BlockRef {
        payload_len: good.payload_len + 4096,
        ..good
    };
    let error = store.read(Role::ColumnData, &longer).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Tampered | ErrorKind::Corrupted),
        "{error}"
    );
}

#[test]
fn another_key_id_in_a_ref() {
    let image = image();
    let bad = BlockRef {
        key_id: 7,
        ..image.data[0]
    };
    let error = open(&image.bytes)
        .unwrap()
        .read(Role::ColumnData, &bad)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Tampered);
}

/// A plain file, whose checksums anybody can make, with its superblock's payload changed.
fn with_plain_superblock(image: &Image, edit: impl Fn(&mut [u8])) -> Vec<u8> {
    let mut bytes = image.bytes.clone();
    let mut database_id = [0; 16];
    database_id.copy_from_slice(&bytes[16..32]);
    let sealed = SealedFile::new(
        Arc::new(MemFile::new()),
        CryptoProvider::aws_lc(),
        database_id,
        Protection::Plain,
    );
    let mut payload = bytes[SUPERBLOCKS[0] + 64..SUPERBLOCKS[0] + PAGE - 16].to_vec();
    edit(&mut payload);
    let mut buf = BlockBuf::with_capacity(payload.len());
    buf.extend_from_slice(&payload);
    let block = sealed.seal(Role::Superblock, 8, 3, buf).unwrap();
    SUPERBLOCKS
        .iter()
        .for_each(|&at| bytes[at..at + PAGE].copy_from_slice(&block.bytes));
    bytes
}

#[test]
fn absurd_sizes_in_a_plain_superblock() {
    let image = plain_image();
    assert!(open_plain(&with_plain_superblock(&image, |_| {})).is_ok());
    let total = |sectors: u64| {
        move |payload: &mut [u8]| payload[16..24].copy_from_slice(&sectors.to_le_bytes())
    };
    for sectors in [u64::MAX, 1 << 50, 10_000] {
        let error = open_plain(&with_plain_superblock(&image, total(sectors))).unwrap_err();
        assert!(matches!(error, Error::Truncated { .. }), "{error}");
    }
    for sectors in [0, 15] {
        assert_eq!(
            open_plain(&with_plain_superblock(&image, total(sectors)))
                .unwrap_err()
                .kind(),
            ErrorKind::Corrupted
        );
    }
    let free_list = |payload: &mut [u8]| payload[72..76].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = open_plain(&with_plain_superblock(&image, free_list)).unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
    let reserved = |payload: &mut [u8]| payload[300] = 1;
    assert_eq!(
        open_plain(&with_plain_superblock(&image, reserved))
            .unwrap_err()
            .kind(),
        ErrorKind::Corrupted
    );
    let newer = |payload: &mut [u8]| payload[0] = 2;
    assert_eq!(
        open_plain(&with_plain_superblock(&image, newer))
            .unwrap_err()
            .kind(),
        ErrorKind::Unsupported
    );
}

#[test]
fn no_prefix_and_no_garbage_panics() {
    let image = image();
    for len in (0..image.bytes.len()).step_by(997) {
        assert!(open(&image.bytes[..len]).is_err());
    }
    let mut state = 1u64;
    for _ in 0..200 {
        let mut bytes = image.bytes.clone();
        for _ in 0..40 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] ^= (state >> 25) as u8;
        }
        if let Ok(store) = open(&bytes) {
            let _ = store.read(Role::Metadata, &image.catalog);
        }
    }
}
