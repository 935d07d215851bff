//! What a writer promises, and that both crypto providers read each other's logs.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use hushdb_crypto::CryptoProvider;
use hushdb_storage::{
    Error, Generation, LogBasis, LogError, LogReader, LogWriter, Lsn, MAX_LOG_PAYLOAD_BYTES,
    MemFile, OsFiles, StorageFile, StorageFiles, Synchronous,
};

use super::image::*;

/// A file in memory that counts syncs and fails when told to.
#[derive(Debug, Default)]
struct Watched {
    file: MemFile,
    syncs: AtomicU64,
    unsynced_writes: AtomicU64,
    fail_writes: AtomicBool,
    /// Bytes of the next write that find room, if not all do.
    room: Mutex<Option<usize>>,
    fail_syncs: AtomicBool,
}

impl StorageFile for Watched {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_exact_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(offset, buf)
    }

    fn write_all_at(&self, offset: u64, buf: &[u8]) -> io::Result<()> {
        if self.fail_writes.load(Ordering::Relaxed) {
            return Err(io::Error::other("the disk is gone"));
        }
        if let Some(room) = *self.room.lock().unwrap() {
            self.file
                .write_all_at(offset, &buf[..room.min(buf.len())])?;
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.unsynced_writes.fetch_add(1, Ordering::Relaxed);
        self.file.write_all_at(offset, buf)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    fn sync(&self) -> io::Result<()> {
        if self.fail_syncs.load(Ordering::Relaxed) {
            return Err(io::Error::other("the disk is gone"));
        }
        self.unsynced_writes.store(0, Ordering::Relaxed);
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn sync_directory(&self) -> io::Result<()> {
        Ok(())
    }
}

fn watched(synchronous: Synchronous) -> (Arc<Watched>, LogWriter) {
    let file = Arc::new(Watched::default());
    let writer = LogWriter::create(file.clone(), &encrypted(), BASIS, synchronous).unwrap();
    (file, writer)
}

#[test]
fn both_providers_read_each_others_logs() {
    let [this, that] = CryptoProvider::all();
    for (writer, reader) in [(this, that), (that, this)] {
        let bytes = log(&encrypted_by(writer));
        let end = replay(&encrypted_by(reader), &bytes).unwrap();
        assert_eq!((end.records, end.torn_bytes), (5, 0));
    }
}

#[test]
fn nothing_of_a_payload_is_in_the_clear() {
    let bytes = log(&encrypted());
    assert!(!bytes.windows(16).any(|window| window == [0x5a; 16]));
    assert!(log(&plain()).windows(16).any(|window| window == [0x5a; 16]));
}

#[test]
fn a_log_is_on_disk_with_its_name_and_is_replayed_from_there() {
    let directory = tempfile::tempdir().unwrap();
    let files = OsFiles::beside(directory.path().join("a.hush")).unwrap();
    let large = vec![7; 3 << 20];
    let payloads: [&[u8]; 4] = [b"small", &large, b"", b"after"];
    let file = files.create(".wal.next").unwrap();
    let mut writer = LogWriter::create(file, &encrypted(), BASIS, Synchronous::Full).unwrap();
    for payload in payloads {
        writer.append(payload).unwrap();
    }
    let (position, last_tag) = (writer.position(), *writer.last_tag());
    drop(writer);
    files.rename(".wal.next", ".wal").unwrap();
    files.sync().unwrap();
    let file = files.open(".wal", true).unwrap().unwrap();
    let mut reader = LogReader::open(file, &encrypted(), &BASIS, None).unwrap();
    for payload in payloads {
        assert!(reader.next_record().unwrap().unwrap().payload == payload);
    }
    assert!(reader.next_record().unwrap().is_none());
    let end = reader.end().unwrap();
    assert_eq!(
        (end.lsn, end.last_tag, end.torn_bytes),
        (position, last_tag, 0)
    );
}

#[test]
fn a_next_log_is_chained_to_the_last_record() {
    let first = log(&encrypted());
    let end = replay(&encrypted(), &first).unwrap();
    let basis = LogBasis {
        sequence: 8,
        base_generation: Generation::new(13),
        chain_tag: end.last_tag,
    };
    let second = Arc::new(MemFile::from_bytes(&log_with(&encrypted(), basis, [])));
    LogReader::open(second, &encrypted(), &basis, None).unwrap();
}

#[test]
fn a_full_log_writes_a_record_only_after_the_one_before_is_durable() {
    let (file, mut writer) = watched(Synchronous::Full);
    for _ in 0..10 {
        let before = file.syncs.load(Ordering::Relaxed);
        let lsn = writer.append(b"payload").unwrap();
        assert_eq!(writer.durable_lsn(), lsn, "all but this one");
        assert_eq!(file.unsynced_writes.load(Ordering::Relaxed), 1);
        assert!(file.syncs.load(Ordering::Relaxed) <= before + 1);
    }
    writer.sync().unwrap();
    writer.sync().unwrap();
    assert_eq!(writer.durable_lsn(), writer.position());
    assert_eq!(
        file.syncs.load(Ordering::Relaxed),
        11,
        "no sync for nothing"
    );
}

#[test]
fn an_unsynced_log_claims_nothing() {
    let (file, mut writer) = watched(Synchronous::Off);
    for payload in PAYLOADS {
        writer.append(payload).unwrap();
    }
    assert_eq!(file.syncs.load(Ordering::Relaxed), 1);
    let mut bytes = file.file.to_bytes();
    bytes.truncate(768);
    bytes[300] ^= 1;
    let end = replay(&encrypted(), &bytes).unwrap();
    assert_eq!(end.records, 2, "what was never durable is a torn tail");
}

#[test]
fn a_log_that_failed_to_sync_takes_no_more() {
    let (file, mut writer) = watched(Synchronous::Full);
    writer.append(b"one").unwrap();
    file.fail_syncs.store(true, Ordering::Relaxed);
    assert!(matches!(writer.sync(), Err(Error::Io(_))));
    file.fail_syncs.store(false, Ordering::Relaxed);
    assert!(matches!(writer.sync(), Err(Error::WriteFailedEarlier)));
    assert!(matches!(
        writer.append(b"two"),
        Err(Error::WriteFailedEarlier)
    ));
    assert!(writer.has_failed());
    assert_eq!(writer.durable_lsn(), lsn(0));
}

#[test]
fn a_log_that_failed_to_write_takes_no_more() {
    let (file, mut writer) = watched(Synchronous::Full);
    file.fail_writes.store(true, Ordering::Relaxed);
    assert!(matches!(writer.append(b"one"), Err(Error::Io(_))));
    file.fail_writes.store(false, Ordering::Relaxed);
    assert!(matches!(
        writer.append(b"one"),
        Err(Error::WriteFailedEarlier)
    ));
    assert!(matches!(writer.sync(), Err(Error::WriteFailedEarlier)));
}

#[test]
fn a_record_that_finds_no_room_leaves_nothing_and_the_log_goes_on() {
    let large = vec![7; 10_000];
    for room in [0, 1, 39, 40, 64, 5000, 10_063] {
        let (file, mut writer) = watched(Synchronous::Full);
        writer.append(b"one").unwrap();
        *file.room.lock().unwrap() = Some(room);
        let before = (writer.position(), *writer.last_tag());
        assert!(matches!(writer.append(&large), Err(Error::Full(_))));
        assert!(!writer.has_failed());
        assert_eq!((writer.position(), *writer.last_tag()), before);
        let bytes = file.file.to_bytes();
        assert_eq!(
            Lsn::new(bytes.len() as u64),
            before.0,
            "nothing is left of it"
        );
        assert_eq!(payloads(&bytes), [b"one"]);
        *file.room.lock().unwrap() = None;
        for payload in [&b"two"[..], &large, b"three"] {
            writer.append(payload).unwrap();
        }
        writer.sync().unwrap();
        let found = payloads(&file.file.to_bytes());
        assert!(found == [&b"one"[..], b"two", &large, b"three"]);
        assert_eq!(writer.records(), 5, "each under a nonce of its own");
    }
}

/// What the records of a log with a clean end say.
fn payloads(bytes: &[u8]) -> Vec<Vec<u8>> {
    let file = Arc::new(MemFile::from_bytes(bytes));
    let mut found = Vec::new();
    let reader = LogReader::open(file, &encrypted(), &BASIS, None).unwrap();
    let end = reader.replay(|record| {
        found.push(record.payload.to_vec());
        Ok(())
    });
    assert_eq!(end.unwrap().torn_bytes, 0);
    found
}

#[test]
fn a_payload_over_the_limit_is_refused_and_the_log_goes_on() {
    let (_, mut writer) = watched(Synchronous::Full);
    let largest = vec![1; MAX_LOG_PAYLOAD_BYTES + 1];
    assert!(matches!(
        writer.append(&largest),
        Err(Error::Log(LogError::TooLarge { .. }))
    ));
    writer.append(&largest[1..]).unwrap();
    assert_eq!(writer.position(), lsn(0) + (64 << 20));
}

#[test]
fn a_log_begins_in_an_empty_file_only() {
    let file = Arc::new(MemFile::from_bytes(&[0]));
    let error = LogWriter::create(file, &encrypted(), BASIS, Synchronous::Full).unwrap_err();
    assert!(matches!(error, Error::InvalidInput(_)));
}
