//! A small log as bytes, and ways to harm and to replay it.

use std::sync::Arc;

use hushdb_crypto::{CryptoProvider, SecretKey};
use hushdb_keys::{DatabaseId, HeaderError, LogKeys};
use hushdb_storage::{
    Error, Generation, LogBasis, LogEnd, LogError, LogKeySource, LogOwner, LogReader, LogWriter,
    Lsn, MemFile, StorageFile, Synchronous,
};

pub(crate) const BASIS: LogBasis = LogBasis {
    sequence: 7,
    base_generation: Generation::new(12),
    chain_tag: [3; 16],
};

/// Payloads of the example, and where their records begin and the last one ends.
pub(crate) const PAYLOADS: [&[u8]; 5] = [b"one", b"", &[0x5a; 200], b"four and no more", b"five"];
pub(crate) const LSNS: [u64; 6] = [128, 192, 256, 576, 704, 768];

pub(crate) fn lsn(record: usize) -> Lsn {
    Lsn::new(LSNS[record])
}

pub(crate) struct Keys(pub(crate) u8, pub(crate) [u8; 16]);

impl LogKeySource for Keys {
    fn log_keys(
        &self,
        crypto: &CryptoProvider,
        key_id: u32,
        sequence: u64,
        salt: &[u8; 16],
    ) -> Result<LogKeys, HeaderError> {
        let data_key = SecretKey::from_bytes([self.0; 32]);
        let id = DatabaseId::from_bytes(self.1);
        match key_id {
            1 => Ok(LogKeys::derive(crypto, &data_key, &id, sequence, salt)),
            key_id => Err(HeaderError::UnknownKeyId { key_id }),
        }
    }
}

pub(crate) fn encrypted_by(crypto: CryptoProvider) -> LogOwner {
    LogOwner::encrypted(crypto, [9; 16], Arc::new(Keys(1, [9; 16])), 1)
}

pub(crate) fn encrypted() -> LogOwner {
    encrypted_by(CryptoProvider::aws_lc())
}

pub(crate) fn plain() -> LogOwner {
    LogOwner::plain(CryptoProvider::aws_lc(), [9; 16])
}

/// Bytes of a log with these payloads, without the zeros ahead.
pub(crate) fn log_with<'a>(
    owner: &LogOwner,
    basis: LogBasis,
    payloads: impl IntoIterator<Item = &'a [u8]>,
) -> Vec<u8> {
    let file = Arc::new(MemFile::new());
    let mut writer = LogWriter::create(file.clone(), owner, basis, Synchronous::Full).unwrap();
    for payload in payloads {
        writer.append(payload).unwrap();
    }
    writer.sync().unwrap();
    file.set_len(writer.position().number()).unwrap();
    file.to_bytes()
}

pub(crate) fn log(owner: &LogOwner) -> Vec<u8> {
    log_with(owner, BASIS, PAYLOADS)
}

/// Replays; every payload that comes must be the one that was written there.
pub(crate) fn replay(owner: &LogOwner, bytes: &[u8]) -> Result<LogEnd, Error> {
    let file = Arc::new(MemFile::from_bytes(bytes));
    let reader = LogReader::open(file.clone(), owner, &BASIS, None)?;
    let mut at = 0;
    let end = reader.replay(|record| {
        assert_eq!((record.lsn, record.payload), (lsn(at), PAYLOADS[at]));
        at += 1;
        Ok(())
    });
    assert!(file.to_bytes() == bytes, "a reader writes nothing");
    if let Ok(end) = &end {
        assert_eq!((end.records, end.lsn), (at as u64, lsn(at)));
    }
    end
}

pub(crate) fn refused(owner: &LogOwner, bytes: &[u8]) -> LogError {
    match replay(owner, bytes) {
        Err(Error::Log(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// The bytes of record `i` of the example.
pub(crate) fn record(bytes: &[u8], i: usize) -> &[u8] {
    &bytes[LSNS[i] as usize..LSNS[i + 1] as usize]
}

/// Puts a checksum over a head that was edited, as someone would who knows the format but not the key.
pub(crate) fn edit_head(bytes: &mut [u8], lsn: u64, edit: impl FnOnce(&mut [u8])) {
    let head = &mut bytes[lsn as usize..lsn as usize + 40];
    edit(head);
    let crc = crc32c::crc32c(&head[..36]);
    head[36..40].copy_from_slice(&crc.to_le_bytes());
}
