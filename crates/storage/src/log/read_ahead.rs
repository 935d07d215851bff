//! Reading a log ahead: one thread reads and opens records while another replays those before.
//!
//! What must hold: what is replayed, and what is found to be wrong, comes in the order of the log, as if one thread did both. No more is
//! read ahead than a few batches, each of which ends with the record that fills it.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use parking_lot::Mutex;

use super::TAG_BYTES;
use super::log_reader::{LogEnd, LogReader, LogRecord};
use crate::error::Result;
use crate::lent_threads::LentThreads;
use crate::numbers::Lsn;

/// Batches that wait to be replayed, and the bytes that fill one.
const AHEAD: usize = 2;
const BATCH_BYTES: usize = 512 << 10;
/// A log with less is read as it is replayed: a thread would not be worth it.
const SHORT_BYTES: u64 = 4 << 20;

/// Records that opened.
#[derive(Default)]
struct Batch {
    payloads: Vec<u8>,
    records: Vec<Opened>,
}

/// A record whose payload is in its batch, behind that of the one before.
struct Opened {
    lsn: Lsn,
    durable_lsn: Lsn,
    reached: (Lsn, [u8; TAG_BYTES]),
    end: usize,
}

enum Part {
    Records(Batch),
    End(Result<LogEnd>),
}

impl LogReader {
    /// As [`LogReader::replay`], with what is to be replayed next read by a lent thread, if there is one and much to read.
    ///
    /// # Errors
    /// As [`LogReader::replay`].
    pub(crate) fn replay_beside(
        self,
        threads: &LentThreads,
        mut apply: impl FnMut(LogRecord<'_>) -> Result<()>,
    ) -> Result<LogEnd> {
        if threads.count == 0 || self.bytes_left() < SHORT_BYTES {
            return self.replay(apply);
        }
        let (to_replay, parts) = sync_channel(AHEAD);
        let reading = Mutex::new(Some((self, to_replay)));
        let read = || {
            let Some((reader, to_replay)) = reading.lock().take() else {
                return;
            };
            read_all(reader, &to_replay);
        };
        // Gone when the replay ends, and with it what is read for it.
        let mut parts = Some(parts);
        let mut end = None;
        (threads.beside)(1, &read, &mut |started| {
            let alone = (started == 0).then(|| reading.lock().take()).flatten();
            end = match (alone, parts.take()) {
                (Some((reader, _)), _) => Some(reader.replay(&mut apply)),
                (None, Some(parts)) => Some(replay_all(&parts, &mut apply)),
                (None, None) => None,
            };
        });
        end.unwrap_or_else(|| Err(std::io::Error::other("nobody has read the log").into()))
    }
}

/// Reads until the log's end, or until nobody takes what is read.
fn read_all(mut reader: LogReader, to_replay: &SyncSender<Part>) {
    loop {
        let mut batch = Batch::default();
        let mut end = None;
        while end.is_none() && batch.payloads.len() < BATCH_BYTES {
            match reader.next_record() {
                Ok(Some(record)) => batch.push(&record),
                Ok(None) => end = Some(Ok(reader.end_so_far(0))),
                Err(error) => end = Some(Err(error)),
            }
        }
        if to_replay.send(Part::Records(batch)).is_err() {
            return;
        }
        if let Some(end) = end {
            let _ = to_replay.send(Part::End(end));
            return;
        }
    }
}

fn replay_all(
    parts: &Receiver<Part>,
    apply: &mut impl FnMut(LogRecord<'_>) -> Result<()>,
) -> Result<LogEnd> {
    loop {
        match parts.recv() {
            Ok(Part::Records(batch)) => batch.records().try_for_each(&mut *apply)?,
            Ok(Part::End(end)) => return end,
            Err(gone) => return Err(std::io::Error::other(gone).into()),
        }
    }
}

impl Batch {
    fn push(&mut self, record: &LogRecord<'_>) {
        self.payloads.extend_from_slice(record.payload);
        self.records.push(Opened {
            lsn: record.lsn,
            durable_lsn: record.durable_lsn,
            reached: record.reached,
            end: self.payloads.len(),
        });
    }

    fn records(&self) -> impl Iterator<Item = LogRecord<'_>> {
        let mut begin = 0;
        self.records.iter().map(move |record| LogRecord {
            lsn: record.lsn,
            durable_lsn: record.durable_lsn,
            payload: &self.payloads[std::mem::replace(&mut begin, record.end)..record.end],
            reached: record.reached,
        })
    }
}
