//! Harm to the superblock slots and to the length of the file.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_storage::{
    BlockBuf, BlockStore, Error, ErrorKind, Generation, MemFile, Notice, Protection, Role,
    SECTOR_BYTES, SealedFile,
};

use super::image::*;

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
fn an_older_superblock_put_back_into_one_slot() {
    let image = image();
    for (slot, at) in SUPERBLOCKS.into_iter().enumerate() {
        let mut bytes = image.bytes.clone();
        copy_page(&mut bytes, &image.before, at);
        opens_with_notice(
            &bytes,
            Notice::SuperblockSlotOlder {
                slot,
                found: Generation::new(2),
                newest: Generation::new(3),
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
    fork.commit(other, Generation::new(2)).unwrap();
    let mut bytes = image.bytes;
    copy_page(&mut bytes, &file.to_bytes(), SUPERBLOCKS[1]);
    let error = open(&bytes).unwrap_err();
    assert!(
        matches!(error, Error::SuperblockForked { generation } if generation == Generation::new(3)),
        "{error}"
    );
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
    let reserved = |payload: &mut [u8]| payload[4000] = 1;
    assert_eq!(
        open_plain(&with_plain_superblock(&image, reserved))
            .unwrap_err()
            .kind(),
        ErrorKind::Corrupted
    );
    let newer = |payload: &mut [u8]| payload[0] = 4;
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
