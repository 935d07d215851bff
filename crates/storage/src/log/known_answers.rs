//! Logs against answers from an implementation that shares no code with this one (Python's `cryptography`, from the
//! format's description), on both crypto providers.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;

use super::log_header::LOG_HEADER_BYTES;
use super::log_owner::OneDataKey;
use super::record_head::{RECORD_HEAD_BYTES, RecordHead};
use super::*;
use crate::file::MemFile;
use crate::numbers::{Generation, Lsn};

fn basis() -> LogBasis {
    LogBasis {
        sequence: 5,
        base_generation: Generation::new(42),
        chain_tag: std::array::from_fn(|i| {
            hex::decode("fdf51bf0fc76b9e7a05dba5a7ad98754").unwrap()[i]
        }),
    }
}

#[test]
fn a_log_of_the_reference_is_replayed() {
    for crypto in CryptoProvider::all() {
        let owner = OneDataKey::owner(crypto);
        let file = Arc::new(MemFile::from_bytes(&hex::decode(LOG).unwrap()));
        let salt = std::array::from_fn(|i| 0xc0 + i as u8);
        let reader = LogReader::open(file, &owner, &basis(), Some(&salt)).unwrap();
        let mut payloads = Vec::new();
        let end = reader.replay(|record| {
            payloads.push((record.lsn.number(), record.payload.to_vec()));
            Ok(())
        });
        let long: Vec<u8> = (0..100).collect();
        assert_eq!(
            payloads,
            [
                (128, b"insert row 1".to_vec()),
                (256, b"commit 1".to_vec()),
                (384, long)
            ]
        );
        let end = end.unwrap();
        assert_eq!(
            (end.lsn, end.records, end.torn_bytes),
            (Lsn::new(576), 3, 0)
        );
    }
}

/// Bodies here are bare text, so they are opened below the reader.
#[test]
fn records_of_the_reference_open_with_their_flags() {
    for crypto in CryptoProvider::all() {
        let owner = OneDataKey::owner(crypto);
        let mut log = hex::decode(BARE).unwrap();
        let header = UnverifiedLogHeader::parse(&log).unwrap();
        let (header, seal) = header.verified(&owner).unwrap();
        assert_eq!(header.to_bytes(&owner), log[..LOG_HEADER_BYTES]);
        let (mut at, mut previous) = (LOG_HEADER_BYTES, header.mac);
        for (flags, text) in [(0, "insert row 1"), (1, "commit 1")] {
            let (head, nonce) = RecordHead::from_bytes(&log[at..]).unwrap();
            assert_eq!((head.flags, head.lsn.number()), (flags, at as u64));
            let end = at + head.record_len().unwrap();
            let (rest, tag) = log[at..end].split_last_chunk_mut::<TAG_BYTES>().unwrap();
            let (_, body) = rest.split_at_mut(RECORD_HEAD_BYTES);
            assert!(seal.open(&previous, &head.to_bytes(), &nonce, body, tag));
            assert_eq!(&body[..text.len()], text.as_bytes());
            (at, previous) = (end, *tag);
        }
        assert_eq!(at, log.len());
    }
}

const LOG: &str = concat!(
    "48555357010100000500000000000000000102030405060708090a0b0c0d0e0f2a00000000000000fdf51bf0",
    "fc76b9e7a05dba5a7ad987540100000000000000c0c1c2c3c4c5c6c7c8c9cacbcccdcecf5ffafc4660de3ac1",
    "c83da7e984d35c1e000000000000000000000000000000000000000000000000000000000000000048000000",
    "0000000080000000000000008000000000000000d0d0d0d0d0d0d0d0d0d0d0d05c19e4973ea51bc8f6c35a4d",
    "c8a64187edfdadea83a8c362765c47092b6ece9ea2ccb9bc9495d7b9a76cf380201e1ebf52af9453112215ee",
    "c43eaccaeddc5535b13c8588ce27d5993cc29a9506ae8fab13084bde92a5f388d4ee91214800000000000000",
    "00010000000000000001000000000000d1d1d1d1d1d1d1d1d1d1d1d1b4eb2e77370a277d61aaab0792c9949b",
    "a3a34fc835831a0d3ac17b3c26ec3cc459ff8453f2358b17ffbe28be7543befca272ad8f49a09d51f7c42361",
    "412c6def2926cef09ae581f51faeb7af917b8cea7b6a487586ba8a8bb16591e1880000000000000080010000",
    "000000008001000000000000d2d2d2d2d2d2d2d2d2d2d2d227b393c1f1ea44b284e041fbf0d8f56f112823e7",
    "6bb9fb65687c2965de94007231819b474925064946640e8cd46a76083ee7b461029b7470df5a46884f43a020",
    "7f552ee89b5a52af340863257a76885371094c6352020f3d05db03136535770098e14ecfd37bb722e5953073",
    "0b75c8a2deb3e9caacac25d29d6baffb77a254589eeec577b630374f241b2f10e941ac115e15d9a4b67d7d33",
    "5f924d82"
);

const BARE: &str = concat!(
    "48555357010100000500000000000000000102030405060708090a0b0c0d0e0f2a00000000000000fdf51bf0",
    "fc76b9e7a05dba5a7ad987540100000000000000c0c1c2c3c4c5c6c7c8c9cacbcccdcecf5ffafc4660de3ac1",
    "c83da7e984d35c1e000000000000000000000000000000000000000000000000000000000000000048000000",
    "0000000080000000000000008000000000000000d0d0d0d0d0d0d0d0d0d0d0d05c19e4975bcb68adedd9095a",
    "d5a541c4828a8ddb83a8c362765c47092b6ece9ea2ccb9bc9495d7b9a76cf380201e1ebf52af9453112215ee",
    "c43eaccaeddc5535b13c8588ce27d5993cc29a95dc4b8fb6aa12fd81ae8b959b2d514b090800000001000000",
    "00010000000000000001000000000000d1d1d1d1d1d1d1d1d1d1d1d133b874815c654a106bb1e65b31f93a63",
    "23bba61bb712675d764f22cd"
);
