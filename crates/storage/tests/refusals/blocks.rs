//! Harm to blocks and to the refs that pin them.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::Suite;
use hushdb_storage::{
    BlockRef, BlockStore, Error, ErrorKind, Generation, MemFile, Role, SECTOR_BYTES, StoreOptions,
};

use super::image::*;

#[test]
fn a_bit_flipped_in_a_block() {
    for image in images() {
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

/// Nothing secret goes into the digest of suite 2: what it is worth stands in the parent alone.
#[test]
fn an_edited_block_with_its_digest_made_anew() {
    let [_, image] = images();
    let block = block_at(&image.data[0]);
    let mut bytes = image.bytes.clone();
    let database_id = bytes[16..32].to_vec();
    let block = &mut bytes[block..block + 3 * SECTOR_BYTES];
    block[5000] ^= 1;
    let tag_at = block.len() - 16;
    let parts = [
        b"HUSHBLK1",
        &database_id[..],
        &block[..60],
        &block[64..tag_at],
    ];
    let digest = CryptoProvider::portable().sha256(&parts);
    block[tag_at..].copy_from_slice(&digest[..16]);
    let crc = crc32c::crc32c_append(crc32c::crc32c(&block[..60]), &digest[..16]);
    block[60..64].copy_from_slice(&crc.to_le_bytes());
    let error = open(&bytes)
        .unwrap()
        .read(Role::ColumnData, &image.data[0])
        .unwrap_err();
    assert!(matches!(error, Error::BlockReplaced(_)), "{error}");
}

#[test]
fn two_blocks_swapped() {
    for image in images() {
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
}

#[test]
fn a_block_of_another_database_put_in() {
    for (ours, theirs) in images().into_iter().zip(images()) {
        let at = block_at(&ours.data[0]);
        let mut bytes = ours.bytes.clone();
        bytes[at..at + 3 * SECTOR_BYTES].copy_from_slice(&theirs.bytes[at..at + 3 * SECTOR_BYTES]);
        let error = open(&bytes)
            .unwrap()
            .read(Role::ColumnData, &ours.data[0])
            .unwrap_err();
        assert!(matches!(error, Error::BlockReplaced(_)), "{error}");
    }
}

#[test]
fn an_older_copy_of_a_block_put_back() {
    for (suite, role) in [(Suite::Gcm, Role::Metadata), (Suite::Ctr, Role::Index)] {
        let options = StoreOptions { suite, ..options() };
        let file = Arc::new(MemFile::new());
        let store = BlockStore::create(file.clone(), Some(&key()), &options).unwrap();
        let old = put(&store, role, b"old balance");
        store.commit(old, Generation::new(1)).unwrap();
        let before = file.to_bytes();
        store.free(&old);
        let between = put(&store, role, b"between");
        store.commit(between, Generation::new(u64::MAX)).unwrap();
        let new = put(&store, role, b"new balance");
        assert_eq!(new.sector, old.sector, "the place is used again");
        store.commit(new, Generation::new(u64::MAX)).unwrap();
        drop(store);
        let mut bytes = file.to_bytes();
        copy_page(&mut bytes, &before, block_at(&old));
        let error = open(&bytes).unwrap().read(role, &new).unwrap_err();
        assert!(matches!(error, Error::BlockReplaced(_)), "{error}");
    }
}

#[test]
fn a_block_asked_for_in_another_role() {
    for image in images() {
        let store = open(&image.bytes).unwrap();
        store.read(Role::Metadata, &image.catalog).unwrap();
        let error = store.read(Role::ColumnData, &image.catalog).unwrap_err();
        assert!(
            matches!(error, Error::BlockReplaced(_)),
            "not even from the pool"
        );
    }
}

#[test]
fn absurd_lengths_in_a_ref() {
    for image in images() {
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
}

#[test]
fn another_key_id_in_a_ref() {
    for image in images() {
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
}
