//! Every byte changed, every length cut, arbitrary bytes: never a wrong payload, never a panic.

use hushdb_storage::{ErrorKind, LogOwner, UnverifiedLogHeader};
use proptest::prelude::*;

use super::image::*;

#[test]
fn every_byte_flipped_is_refused_or_ends_the_log_there() {
    for owner in [encrypted(), plain()] {
        let bytes = log(&owner);
        for at in 128..bytes.len() {
            for bit in [0x01, 0x80] {
                let mut harmed = bytes.clone();
                harmed[at] ^= bit;
                let hit = LSNS.iter().rposition(|&lsn| lsn <= at as u64).unwrap();
                match replay(&owner, &harmed) {
                    Ok(end) => {
                        assert_eq!(hit, 4, "{at}: only the last record may be lost quietly");
                        assert_eq!(end.records, 4);
                        assert!(end.torn_bytes > 0);
                    }
                    Err(error) => {
                        assert!(hit < 4, "{at}: {error}");
                        let kinds = [ErrorKind::Tampered, ErrorKind::Corrupted];
                        assert!(kinds.contains(&error.kind()), "{at}: {error}");
                    }
                }
            }
        }
    }
}

#[test]
fn every_length_gives_a_prefix_and_says_whether_it_was_torn() {
    for owner in [encrypted(), plain()] {
        let bytes = log(&owner);
        for len in 128..=bytes.len() {
            let whole = LSNS.iter().rposition(|&lsn| lsn <= len as u64).unwrap();
            let left = &bytes[LSNS[whole] as usize..len];
            let torn = left
                .iter()
                .rposition(|&byte| byte != 0)
                .map_or(0, |at| at + 1);
            for zeros in [0, 1, 63, 64, 5000] {
                let mut cut = bytes[..len].to_vec();
                cut.resize(len + zeros, 0);
                let end = replay(&owner, &cut).unwrap();
                let last = LSNS
                    .iter()
                    .rposition(|&lsn| lsn <= (len + zeros) as u64)
                    .unwrap();
                // Zeros may happen to be what was cut off.
                assert!((whole..=last.max(whole)).contains(&(end.records as usize)));
                if end.records == whole as u64 {
                    assert_eq!(end.torn_bytes, torn as u64, "{len}");
                }
            }
        }
    }
}

#[test]
fn a_record_torn_in_the_middle_is_a_torn_tail() {
    for owner in [encrypted(), plain()] {
        let mut bytes = log(&owner);
        bytes.truncate(LSNS[3] as usize);
        // Some lines of the last record never reached the disk.
        for missing in [256..320, 320..384, 512..576, 256..512] {
            let mut torn = bytes.clone();
            torn[missing].fill(0);
            let end = replay(&owner, &torn).unwrap();
            assert_eq!((end.records, end.lsn), (2, lsn(2)));
            assert!(end.torn_bytes > 0);
        }
    }
}

#[test]
fn what_lies_behind_the_end_is_reported_and_not_replayed() {
    for owner in [encrypted(), plain()] {
        let mut bytes = log(&owner);
        bytes.resize(bytes.len() + 3000, 0);
        assert_eq!(replay(&owner, &bytes).unwrap().torn_bytes, 0);
        bytes[2000] = 1;
        assert_eq!(replay(&owner, &bytes).unwrap().torn_bytes, 2001 - 768);
    }
}

fn survives(owner: &LogOwner, bytes: &[u8]) {
    // `replay` holds every payload against what was written.
    let _ = replay(owner, bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_are_no_log(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = UnverifiedLogHeader::parse(&bytes);
        prop_assert!(replay(&encrypted(), &bytes).is_err());
    }

    #[test]
    fn arbitrary_records_yield_nothing(
        records in proptest::collection::vec(any::<u8>(), 0..600),
        lengths in proptest::collection::vec((any::<u32>(), any::<u64>()), 1..4),
    ) {
        for owner in [encrypted(), plain()] {
            let mut bytes = log_with(&owner, BASIS, []);
            bytes.extend_from_slice(&records);
            survives(&owner, &bytes);
            bytes.resize(1024, 0);
            for (i, &(body_len, durable)) in (2..).zip(&lengths) {
                edit_head(&mut bytes, i * 64, |head| {
                    head[..4].copy_from_slice(&(body_len % 512).to_le_bytes());
                    head[8..16].copy_from_slice(&(i * 64).to_le_bytes());
                    head[16..24].copy_from_slice(&(durable % 512).to_le_bytes());
                });
            }
            survives(&owner, &bytes);
        }
    }

    #[test]
    fn pieces_of_a_log_in_any_order_yield_a_prefix(
        pieces in proptest::collection::vec((0usize..5, 0usize..5), 0..8),
    ) {
        for owner in [encrypted(), plain()] {
            let good = log(&owner);
            let mut bytes = good[..128].to_vec();
            for &(from, to) in &pieces {
                let (from, to) = (from.min(to), from.max(to));
                bytes.extend_from_slice(&good[LSNS[from] as usize..LSNS[to] as usize]);
            }
            survives(&owner, &bytes);
        }
    }
}
