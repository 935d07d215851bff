//! Logs, edited by someone who has the key: header and records are authenticated and sealed again.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::LogKeys;
use hushdb_storage::{Generation, LogBasis, LogKeySource, LogOwner, LogReader, MemFile};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128, xxh3_128_with_seed};

use super::forge::{Forge, put};
use super::samples::Sample;

pub(crate) const HEADER_BYTES: usize = 128;
const MAC_AT: usize = 80;
const HEAD_BYTES: usize = 40;

/// A record before it is sealed.
#[derive(Clone, Default)]
pub(crate) struct Record {
    pub(crate) payload: Vec<u8>,
    /// Instead of length, payload and zeros.
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) flags: u8,
    pub(crate) reserved: u8,
    /// Instead of where it stands.
    pub(crate) durable_lsn: Option<u64>,
}

pub(crate) struct LogForge {
    database_id: [u8; 16],
    keys: Option<Arc<hushdb_keys::DatabaseKeys>>,
    pub(crate) header: Vec<u8>,
    pub(crate) records: Vec<Record>,
}

impl LogForge {
    pub(crate) fn new(sample: &Sample) -> Self {
        let forge = Forge::new(sample);
        let log = sample.log.as_ref().expect("the sample has a log");
        let header = log[..HEADER_BYTES].to_vec();
        let crypto = CryptoProvider::aws_lc();
        let owner = match &forge.keys {
            Some(keys) => {
                let source = Arc::clone(keys) as Arc<dyn LogKeySource>;
                LogOwner::encrypted(crypto, forge.database_id, source, keys.system_key_id())
            }
            None => LogOwner::plain(crypto, forge.database_id),
        };
        let basis = LogBasis {
            sequence: number(&header, 8),
            base_generation: Generation::new(number(&header, 32)),
            chain_tag: header[40..56].try_into().unwrap(),
        };
        let file = Arc::new(MemFile::from_bytes(log));
        let reader = LogReader::open(file, &owner, &basis, None).unwrap();
        let mut records = Vec::new();
        let end = reader.replay(|record| {
            records.push(Record {
                payload: record.payload.to_vec(),
                ..Record::default()
            });
            Ok(())
        });
        assert_eq!(end.unwrap().torn_bytes, 0);
        Self {
            database_id: forge.database_id,
            keys: forge.keys,
            header,
            records,
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let crypto = CryptoProvider::aws_lc();
        let sequence = number(&self.header, 8);
        let keys = self.keys.as_ref().map(|keys| {
            let salt = self.header[64..80].try_into().unwrap();
            let keys = keys.log_keys(&crypto, keys.system_key_id(), sequence, &salt);
            keys.unwrap()
        });
        let mut log = self.header.clone();
        let mac = match &keys {
            Some(keys) => {
                crypto.hmac_sha256(&keys.header_mac_key, &[&log[..MAC_AT]])[..16].to_vec()
            }
            None => xxh3_128(&log[..MAC_AT]).to_le_bytes().to_vec(),
        };
        put(&mut log, MAC_AT, &mac);
        let mut previous = mac;
        for record in &self.records {
            let lsn = log.len() as u64;
            let sealed = self.seal(record, keys.as_ref(), sequence, &previous, lsn);
            previous = sealed[sealed.len() - 16..].to_vec();
            log.extend_from_slice(&sealed);
        }
        log
    }

    fn seal(
        &self,
        record: &Record,
        keys: Option<&LogKeys>,
        sequence: u64,
        previous: &[u8],
        lsn: u64,
    ) -> Vec<u8> {
        let mut body = record.body.clone().unwrap_or_else(|| {
            let len = (record.payload.len() as u32).to_le_bytes();
            let mut body = [&len[..], &record.payload].concat();
            let whole = (body.len() + HEAD_BYTES + 16).next_multiple_of(64);
            body.resize(whole - HEAD_BYTES - 16, 0);
            body
        });
        let mut head = Vec::with_capacity(HEAD_BYTES);
        head.extend_from_slice(&(body.len() as u32).to_le_bytes());
        head.extend_from_slice(&[record.flags, record.reserved, 0, 0]);
        head.extend_from_slice(&lsn.to_le_bytes());
        head.extend_from_slice(&record.durable_lsn.unwrap_or(lsn).to_le_bytes());
        let id = &self.database_id;
        let sequence = sequence.to_le_bytes();
        let bound = [&b"HUSHWAL1"[..], id, &sequence, previous, &head].concat();
        let (nonce, tag) = match keys {
            Some(keys) => keys.record_key.seal_in_place(&bound, &mut body).unwrap(),
            None => {
                let tag = xxh3_128_with_seed(&body, xxh3_64(&bound));
                ([0; 12], tag.to_le_bytes())
            }
        };
        head.extend_from_slice(&nonce);
        head.extend_from_slice(&crc32c::crc32c(&head).to_le_bytes());
        [head, body, tag.to_vec()].concat()
    }
}

/// Where the records of a log begin, and where the last one ends.
pub(crate) fn lsns(log: &[u8]) -> Vec<usize> {
    let mut all = vec![HEADER_BYTES];
    let mut at = HEADER_BYTES;
    while at < log.len() {
        let body = u32::from_le_bytes(log[at..at + 4].try_into().unwrap()) as usize;
        at += body + HEAD_BYTES + 16;
        all.push(at);
    }
    all
}

/// Puts a checksum over a record's head that was edited.
pub(crate) fn seal_head(log: &mut [u8], lsn: usize) {
    let crc = crc32c::crc32c(&log[lsn..lsn + 36]);
    put(log, lsn + 36, &crc.to_le_bytes());
}

pub(crate) fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}
