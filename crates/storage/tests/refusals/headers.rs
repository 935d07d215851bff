//! Harm to the file header and its copies, and keys that do not fit.

use std::sync::Arc;

use hushdb_keys::SlotOptions;
use hushdb_keys::providers::KeyText;
use hushdb_storage::{BlockStore, Error, ErrorKind, MemFile, Notice};

use super::image::*;

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
    edit_headers(&mut bytes, |page| page[8] = 3);
    let error = open(&bytes).unwrap_err();
    assert!(
        matches!(error, Error::NewerFormat { version: 3 }),
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
