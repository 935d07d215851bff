//! Logs that are not replayed.

use hushdb_storage::{
    ErrorKind, Generation, LogBasis, LogError, LogOwner, Lsn, MAX_LOG_RECORD_BYTES,
};

use super::image::*;

fn of(basis: LogBasis) -> LogError {
    refused(&encrypted(), &log_with(&encrypted(), basis, PAYLOADS))
}

#[test]
fn a_log_of_another_sequence() {
    let (expected, found) = (7, 8);
    let error = of(LogBasis {
        sequence: 8,
        ..BASIS
    });
    assert_eq!(error, LogError::OtherSequence { expected, found });
    assert_eq!(error.kind(), ErrorKind::Tampered);
}

#[test]
fn a_log_on_another_generation() {
    let (expected, found) = (Generation::new(12), Generation::new(11));
    let error = of(LogBasis {
        base_generation: found,
        ..BASIS
    });
    assert_eq!(error, LogError::OtherGeneration { expected, found });
}

#[test]
fn a_log_with_another_chain_tag() {
    let error = of(LogBasis {
        chain_tag: [4; 16],
        ..BASIS
    });
    assert_eq!(error, LogError::OtherHistory);
}

#[test]
fn a_log_with_another_salt_than_the_superblock_names() {
    let file = std::sync::Arc::new(hushdb_storage::MemFile::from_bytes(&log(&encrypted())));
    let error =
        hushdb_storage::LogReader::open(file, &encrypted(), &BASIS, Some(&[0; 16])).unwrap_err();
    assert!(matches!(
        error,
        hushdb_storage::Error::Log(LogError::OtherHistory)
    ));
}

#[test]
fn a_log_of_another_database() {
    let crypto = hushdb_crypto::CryptoProvider::aws_lc();
    let keys = std::sync::Arc::new(Keys(1, [8; 16]));
    let other = LogOwner::encrypted(crypto, [8; 16], keys, 1);
    assert_eq!(refused(&encrypted(), &log(&other)), LogError::OtherDatabase);
    assert_eq!(
        refused(&plain(), &log(&LogOwner::plain(crypto, [8; 16]))),
        LogError::OtherDatabase
    );
}

#[test]
fn a_log_that_names_this_database_but_was_sealed_under_another_key() {
    let crypto = hushdb_crypto::CryptoProvider::aws_lc();
    let keys = std::sync::Arc::new(Keys(2, [9; 16]));
    let other = LogOwner::encrypted(crypto, [9; 16], keys, 1);
    assert_eq!(refused(&encrypted(), &log(&other)), LogError::HeaderEdited);
}

#[test]
fn a_plain_log_beside_an_encrypted_file() {
    let error = refused(&encrypted(), &log(&plain()));
    assert_eq!(error, LogError::PlainBesideEncrypted);
    assert_eq!(error.kind(), ErrorKind::Tampered);
}

#[test]
fn an_encrypted_log_beside_a_plain_file() {
    let error = refused(&plain(), &log(&encrypted()));
    assert_eq!(error, LogError::EncryptedBesidePlain);
}

#[test]
fn a_log_of_a_later_format() {
    let mut bytes = log(&encrypted());
    bytes[4] = 2;
    let error = refused(&encrypted(), &bytes);
    assert_eq!(error, LogError::NewerFormat { version: 2 });
    assert_eq!(error.kind(), ErrorKind::Unsupported);
}

#[test]
fn a_header_that_is_cut_off() {
    for owner in [encrypted(), plain()] {
        let bytes = log(&owner);
        for len in 0..128 {
            let error = refused(&owner, &bytes[..len]);
            let found_bytes = len as u64;
            assert_eq!(error, LogError::Truncated { found_bytes });
        }
    }
}

#[test]
fn a_header_with_any_byte_changed() {
    for owner in [encrypted(), plain()] {
        for at in 0..128 {
            let mut bytes = log(&owner);
            bytes[at] ^= 1;
            let error = refused(&owner, &bytes);
            let kinds = [
                ErrorKind::Tampered,
                ErrorKind::Corrupted,
                ErrorKind::Unsupported,
            ];
            assert!(kinds.contains(&error.kind()), "{at}: {error}");
        }
    }
    let mut bytes = log(&encrypted());
    bytes[8] ^= 1;
    assert_eq!(refused(&encrypted(), &bytes), LogError::HeaderEdited);
}

#[test]
fn a_header_of_zeros() {
    assert!(matches!(
        refused(&encrypted(), &[0; 4096]),
        LogError::HeaderDamaged(_)
    ));
}

#[test]
fn a_record_dropped() {
    for owner in [encrypted(), plain()] {
        let bytes = log(&owner);
        for dropped in 0..4 {
            let mut harmed = bytes.clone();
            harmed.drain(LSNS[dropped] as usize..LSNS[dropped + 1] as usize);
            let (lsn, found) = (lsn(dropped), lsn(dropped + 1));
            let error = refused(&owner, &harmed);
            assert_eq!(error, LogError::RecordsDropped { lsn, found });
        }
    }
}

/// Writes another place over a head, and that all before it was durable.
fn move_head(bytes: &mut [u8], lsn: u64) {
    edit_head(bytes, lsn, |head| {
        head[8..16].copy_from_slice(&lsn.to_le_bytes());
        head[16..24].copy_from_slice(&lsn.to_le_bytes());
    });
}

#[test]
fn a_record_dropped_and_the_places_of_those_behind_rewritten() {
    let mut bytes = log(&encrypted());
    bytes.drain(LSNS[1] as usize..LSNS[2] as usize);
    for lsn in &LSNS[2..5] {
        move_head(&mut bytes, lsn - 64);
    }
    let error = refused(&encrypted(), &bytes);
    assert!(
        matches!(error, LogError::RecordEdited { lsn, .. } if lsn == Lsn::new(192)),
        "{error}"
    );
}

#[test]
fn a_last_record_moved_up_is_no_more_than_a_cut_tail() {
    let mut bytes = log(&encrypted());
    bytes.drain(LSNS[3] as usize..LSNS[4] as usize);
    move_head(&mut bytes, LSNS[3]);
    let end = replay(&encrypted(), &bytes).unwrap();
    assert_eq!((end.records, end.lsn), (3, lsn(3)));
}

#[test]
fn a_record_repeated() {
    for owner in [encrypted(), plain()] {
        let bytes = log(&owner);
        for repeated in 0..5 {
            let (at, end) = (LSNS[repeated] as usize, LSNS[repeated + 1] as usize);
            let harmed = [&bytes[..end], &bytes[at..end], &bytes[end..]].concat();
            let (lsn, found) = (lsn(repeated + 1), lsn(repeated));
            let error = refused(&owner, &harmed);
            assert_eq!(error, LogError::RecordRepeated { lsn, found });
        }
    }
}

#[test]
fn two_records_exchanged() {
    for owner in [encrypted(), plain()] {
        let bytes = log(&owner);
        let mut harmed = bytes[..LSNS[2] as usize].to_vec();
        for i in [3, 2, 4] {
            harmed.extend_from_slice(record(&bytes, i));
        }
        let error = refused(&owner, &harmed);
        assert_eq!(
            error,
            LogError::RecordsDropped {
                lsn: lsn(2),
                found: lsn(3)
            }
        );
        assert_eq!(error.kind(), ErrorKind::Tampered);
    }
}

#[test]
fn a_record_of_another_log_spliced_in() {
    let ours = log(&encrypted());
    let theirs = log_with(
        &encrypted(),
        LogBasis {
            sequence: 6,
            ..BASIS
        },
        PAYLOADS,
    );
    for i in 0..4 {
        let mut harmed = ours.clone();
        let (at, end) = (LSNS[i] as usize, LSNS[i + 1] as usize);
        harmed[at..end].copy_from_slice(&theirs[at..end]);
        let error = refused(&encrypted(), &harmed);
        let (lsn, durable_lsn) = (lsn(i), lsn(i + 1));
        assert_eq!(error, LogError::RecordEdited { lsn, durable_lsn });
    }
}

#[test]
fn a_record_of_another_history_of_this_log_spliced_in() {
    // One log, copied and continued twice: the same keys, the same places.
    let base = log_with(&plain(), BASIS, PAYLOADS);
    let other = [PAYLOADS[0], b"x", PAYLOADS[2], PAYLOADS[3], PAYLOADS[4]];
    let fork = log_with(&plain(), BASIS, other);
    let mut harmed = base.clone();
    harmed[LSNS[2] as usize..LSNS[3] as usize].copy_from_slice(record(&fork, 2));
    assert!(matches!(
        refused(&plain(), &harmed),
        LogError::RecordDamaged { lsn, .. } if lsn == Lsn::new(256)
    ));
}

#[test]
fn a_length_stretched_over_the_records_behind() {
    let bytes = log(&encrypted());
    for body_len in [
        bytes.len() as u32 - 256 - 56,
        (1 << 20) - 56,
        (64 << 20) - 56,
    ] {
        let mut harmed = bytes.clone();
        edit_head(&mut harmed, 256, |head| {
            head[..4].copy_from_slice(&body_len.to_le_bytes())
        });
        let error = refused(&encrypted(), &harmed);
        assert!(
            matches!(error, LogError::RecordEdited { lsn, .. } if lsn == Lsn::new(256)),
            "{error}"
        );
    }
}

#[test]
fn absurd_lengths() {
    for owner in [encrypted(), plain()] {
        for body_len in [
            0,
            1,
            7,
            9,
            64,
            MAX_LOG_RECORD_BYTES as u32 + 8,
            u32::MAX,
            u32::MAX - 55,
        ] {
            let mut bytes = log(&owner);
            edit_head(&mut bytes, 704, |head| {
                head[..4].copy_from_slice(&body_len.to_le_bytes())
            });
            let error = refused(&owner, &bytes);
            assert!(
                matches!(error, LogError::Malformed { lsn, .. } if lsn == Lsn::new(704)),
                "{body_len}: {error}"
            );
            assert_eq!(error.kind(), ErrorKind::Corrupted);
        }
    }
}

#[test]
fn a_durable_lsn_that_lies_ahead() {
    let mut bytes = log(&encrypted());
    edit_head(&mut bytes, 704, |head| head[16..24].fill(0xff));
    assert!(matches!(
        refused(&encrypted(), &bytes),
        LogError::Malformed { lsn, .. } if lsn == Lsn::new(704)
    ));
}

#[test]
fn damage_below_a_later_records_durable_lsn() {
    for owner in [encrypted(), plain()] {
        for i in 0..4 {
            let mut bytes = log(&owner);
            bytes[LSNS[i] as usize..LSNS[i + 1] as usize].fill(0);
            let (lsn, durable_lsn) = (lsn(i), lsn(i + 1));
            let error = refused(&owner, &bytes);
            assert_eq!(error, LogError::RecordDamaged { lsn, durable_lsn });
            assert_eq!(error.kind(), ErrorKind::Corrupted);
        }
    }
}
