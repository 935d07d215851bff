//! What the block path adds to the cipher: 256 KiB blocks sealed and opened in memory by one thread, through envelope,
//! checks and checksum, next to the same number of bytes through the bare library.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use aws_lc_rs::aead::{AES_256_GCM, Aad, RandomizedNonceKey};
use hushdb::{Database, DatabaseOptions};
use hushdb_crypto::{CryptoProvider, SecretKey};
use hushdb_keys::{BlockKey, Suite};
use hushdb_storage::{BlockBuf, BlockKeys, MemFile, Protection, Role, SealedFile};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::report::Report;
use crate::samples::Samples;

const BLOCK_BYTES: usize = 256 << 10;
/// Envelope and tag: the payload that fills a block to its last sector.
const PAYLOAD_BYTES: usize = BLOCK_BYTES - 80;
/// Blocks between two looks at the clock: together more than the second-level cache holds.
const BLOCKS: u64 = 64;
const KEY: [u8; 32] = [0x5a; 32];

/// Measures, in `runs` rounds after one that warms up.
///
/// # Errors
/// When a block does not seal or open.
pub(crate) fn measure(runs: u32) -> Result<Report> {
    // The allocator is told what it is told where the process is the database's.
    let options = DatabaseOptions {
        owns_process: true,
        ..DatabaseOptions::default()
    };
    let _of_process = Database::open_with(None, options)?;
    let sealed_file = sealed_file();
    let bare_key = RandomizedNonceKey::new(&AES_256_GCM, &KEY).map_err(|_| refused("a key"))?;
    let mut seal = vec![Samples::default(), Samples::default()];
    let mut open = seal.clone();
    for round in 0..=runs {
        // In turns, as which of them finds more of its memory in the caches depends on what ran before it.
        let (ours, bare) = match round % 2 {
            0 => (
                through_block_path(&sealed_file)?,
                through_bare_cipher(&bare_key)?,
            ),
            _ => {
                let bare = through_bare_cipher(&bare_key)?;
                (through_block_path(&sealed_file)?, bare)
            }
        };
        if round > 0 {
            for (at, (sealing, opening)) in [ours, bare].into_iter().enumerate() {
                seal[at].push(sealing);
                open[at].push(opening);
            }
        }
    }
    let conditions = json!({"block bytes": BLOCK_BYTES, "rounds": runs, "threads": 1});
    let mut report = Report::new(
        "blocks",
        conditions,
        vec!["block path", "bare aws-lc-rs"],
        vec![(0, 1)],
    );
    report.add("seal 256 KiB", "GiB/s", seal);
    report.add("open 256 KiB", "GiB/s", open);
    Ok(report)
}

/// GiB per second of sealing and of opening.
fn through_block_path(sealed_file: &SealedFile) -> Result<(f64, f64)> {
    let buffers: Vec<BlockBuf> = (0..BLOCKS).map(|_| filled()).collect();
    let mut blocks = Vec::with_capacity(buffers.len());
    let before = Instant::now();
    for (sector, buffer) in (16..).step_by(BLOCK_BYTES / 4096).zip(buffers) {
        let block = sealed_file.seal(Role::ColumnData, sector, 1, buffer);
        blocks.push(block.map_err(|error| Failure(error.to_string()))?);
    }
    let sealing = rate(before);
    let before = Instant::now();
    for block in &mut blocks {
        let opened =
            sealed_file.open_in_place(Role::ColumnData, &block.block_ref, &mut block.bytes);
        opened.map_err(|error| Failure(error.to_string()))?;
    }
    let opening = rate(before);
    black_box(blocks);
    Ok((sealing, opening))
}

fn through_bare_cipher(key: &RandomizedNonceKey) -> Result<(f64, f64)> {
    // The associated data is as long as a block's.
    let aad = || Aad::from([7u8; 72]);
    // As large as blocks, so that both find the same memory: the payload, then room for the tag.
    let mut buffers: Vec<Vec<u8>> = (0..BLOCKS).map(|_| vec![0x33; BLOCK_BYTES]).collect();
    let mut sealed = Vec::with_capacity(buffers.len());
    let before = Instant::now();
    for buffer in &mut buffers {
        let payload = &mut buffer[..PAYLOAD_BYTES];
        let nonce_and_tag = key.seal_in_place_separate_tag(aad(), payload);
        sealed.push(nonce_and_tag.map_err(|_| refused("a seal"))?);
    }
    let sealing = rate(before);
    for (buffer, (_, tag)) in buffers.iter_mut().zip(&sealed) {
        buffer[PAYLOAD_BYTES..PAYLOAD_BYTES + 16].copy_from_slice(tag.as_ref());
    }
    let before = Instant::now();
    for (buffer, (nonce, _)) in buffers.iter_mut().zip(sealed) {
        key.open_in_place(nonce, aad(), &mut buffer[..PAYLOAD_BYTES + 16])
            .map_err(|_| refused("an open"))?;
    }
    let opening = rate(before);
    black_box(buffers);
    Ok((sealing, opening))
}

fn filled() -> BlockBuf {
    let mut buffer = BlockBuf::with_capacity(PAYLOAD_BYTES);
    buffer.resize(PAYLOAD_BYTES);
    buffer.payload_mut().fill(0x33);
    buffer
}

fn rate(since: Instant) -> f64 {
    let gib = (BLOCKS as usize * BLOCK_BYTES) as f64 / f64::from(1 << 30);
    gib / since.elapsed().as_secs_f64()
}

fn refused(what: &str) -> Failure {
    Failure(format!("aws-lc-rs refused {what}"))
}

fn sealed_file() -> SealedFile {
    let protection = Protection::Gcm {
        keys: Arc::new(OneKey),
        key_id: 1,
    };
    SealedFile::new(
        Arc::new(MemFile::new()),
        CryptoProvider::aws_lc(),
        [1; 16],
        protection,
    )
}

/// One key for every epoch: nothing sealed here outlives the process.
struct OneKey;

impl BlockKeys for OneKey {
    fn block_key(
        &self,
        crypto: &CryptoProvider,
        _: u32,
        _: Suite,
        _: &[u8; 16],
    ) -> hushdb_storage::Result<BlockKey> {
        let key = SecretKey::from_bytes(KEY);
        Ok(BlockKey::Gcm(crypto.gcm_key(&key)))
    }
}
