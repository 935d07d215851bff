//! `SealedFile`: a storage file whose blocks are sealed. The only caller of the cipher on blocks.
//!
//! What must hold:
//! - A block is sealed under the key of the current epoch ([`KeyEpochs`]), which has counted it first.
//! - What a block claims about itself decides nothing: it must say what its parent (or its fixed place) says, tag
//!   included, before the cipher is asked; the suite follows from the data key, of which file header or key ring say it.
//! - No lock is held while bytes are sealed, opened, read or written.
//!
//! Refuses a block that is damaged, edited, moved, older or of another role, each by its own error.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use bytes::Bytes;
use hushdb_crypto::CryptoProvider;
use hushdb_keys::{BlockKey, Suite};
use parking_lot::RwLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128_with_seed};

use super::envelope::{
    ENVELOPE_HEAD_BYTES, ENVELOPE_OVERHEAD_BYTES, Envelope, RawBlock, SECTOR_BYTES, TAG_BYTES,
};
use super::key_epochs::{BlockKeys, KeyEpochs};
use super::opened_block::OpenedBlock;
use super::{BlockBuf, BlockRef, Role, Sector};
use crate::error::{Error, Place, Result};
use crate::file::StorageFile;
use crate::numbers::Generation;

/// Payloads begin on such a boundary in memory: a cache line, and all that vector code asks for.
const ALIGNMENT: usize = 64;

/// How the blocks of a file are protected.
#[derive(Clone)]
pub enum Protection {
    /// Suite 0: a checksum in the tag's place.
    Plain,
    /// The same, as long as no data key is told of.
    PlainYet {
        /// Source of block keys from then on.
        keys: Arc<dyn BlockKeys>,
    },
    /// Suite 1: AES-256-GCM.
    Gcm {
        /// Source of block keys.
        keys: Arc<dyn BlockKeys>,
        /// The data key that new blocks are sealed under.
        key_id: u32,
    },
    /// Suite 2: AES-256-CTR with digests for blocks that hold values, AES-256-GCM for the others.
    Ctr {
        /// Source of block keys.
        keys: Arc<dyn BlockKeys>,
        /// The data key that new blocks are sealed under.
        key_id: u32,
    },
}

/// A file of sealed blocks.
pub struct SealedFile {
    file: Arc<dyn StorageFile>,
    crypto: CryptoProvider,
    database_id: [u8; 16],
    /// `None` in a database that stays plain.
    epochs: Option<SuiteEpochs>,
    /// How blocks of values are sealed under each data key that is known; those of a key that is not are not opened. Number 0 is no key, and
    /// known where a database is plain, or was plain until its blocks are sealed.
    suites: RwLock<Vec<(u32, Suite)>>,
    /// The data key that new blocks are sealed under; 0 in a plain database.
    key_id: AtomicU32,
    seals: AtomicU64,
    /// Whether opened blocks are overwritten when nobody holds them any more.
    wipes: Arc<AtomicBool>,
}

/// The keys of blocks, for each of the two ciphers.
struct SuiteEpochs {
    gcm: KeyEpochs,
    ctr: KeyEpochs,
}

/// A block that is ready to be written.
pub struct SealedBlock {
    /// What its parent keeps.
    pub block_ref: BlockRef,
    /// Whole sectors.
    pub bytes: Vec<u8>,
}

impl SealedFile {
    /// Blocks of the database `database_id` in `file`.
    pub fn new(
        file: Arc<dyn StorageFile>,
        crypto: CryptoProvider,
        database_id: [u8; 16],
        protection: Protection,
    ) -> Self {
        let of = |keys: Arc<dyn BlockKeys>| {
            Some(SuiteEpochs {
                gcm: KeyEpochs::new(Arc::clone(&keys), Suite::Gcm),
                ctr: KeyEpochs::new(keys, Suite::Ctr),
            })
        };
        let (epochs, suite, key_id) = match protection {
            Protection::Plain => (None, Suite::Plain, 0),
            Protection::PlainYet { keys } => (of(keys), Suite::Plain, 0),
            Protection::Gcm { keys, key_id } => (of(keys), Suite::Gcm, key_id),
            Protection::Ctr { keys, key_id } => (of(keys), Suite::Ctr, key_id),
        };
        Self {
            file,
            crypto,
            database_id,
            epochs,
            suites: RwLock::new(vec![(key_id, suite)]),
            key_id: AtomicU32::new(key_id),
            seals: AtomicU64::new(0),
            wipes: Arc::default(),
        }
    }

    /// The same, with blocks overwritten as `wipes` says when they are let go.
    pub(crate) fn wiping(self, wipes: Arc<AtomicBool>) -> Self {
        Self { wipes, ..self }
    }

    /// The file below.
    pub fn file(&self) -> &Arc<dyn StorageFile> {
        &self.file
    }

    /// Blocks sealed since it was opened, failed attempts included.
    pub fn seals(&self) -> u64 {
        self.seals.load(Ordering::Relaxed)
    }

    /// The data key that new blocks are sealed under; 0 in a plain database.
    pub fn key_id(&self) -> u32 {
        self.key_id.load(Ordering::Acquire)
    }

    /// From now on new blocks are sealed under another data key, unless they were given one before.
    pub(crate) fn set_key_id(&self, key_id: u32) {
        self.key_id.store(key_id, Ordering::Release);
    }

    /// Says how blocks of values are sealed under a data key.
    pub(crate) fn set_suite(&self, key_id: u32, suite: Suite) {
        let mut suites = self.suites.write();
        suites.retain(|(id, _)| *id != key_id);
        suites.push((key_id, suite));
    }

    /// Forgets all data keys but the one that new blocks are sealed under.
    pub(crate) fn forget_other_keys(&self) {
        let key_id = self.key_id();
        self.suites.write().retain(|(id, _)| *id == key_id);
        self.each_epochs(|epochs| epochs.forget_all_but(key_id));
    }

    /// Forgets all expanded keys.
    pub(crate) fn forget_all_keys(&self) {
        // No data key has the number 0.
        self.each_epochs(|epochs| epochs.forget_all_but(0));
    }

    /// Forgets a data key that came to nothing.
    pub(crate) fn forget_key(&self, key_id: u32) {
        self.suites.write().retain(|(id, _)| *id != key_id);
        self.each_epochs(|epochs| epochs.forget(key_id));
    }

    fn each_epochs(&self, forget: impl Fn(&KeyEpochs)) {
        if let Some(SuiteEpochs { gcm, ctr }) = &self.epochs {
            [gcm, ctr].into_iter().for_each(forget);
        }
    }

    /// Seals `buf` where it lies, as the block that will live at `sector`.
    ///
    /// # Errors
    /// `InvalidInput` for a payload that is too large; `Crypto` when there are no random bytes.
    pub fn seal(
        &self,
        role: Role,
        sector: u64,
        birth_generation: u64,
        buf: BlockBuf,
    ) -> Result<SealedBlock> {
        let (place, birth) = (Sector::new(sector), Generation::new(birth_generation));
        self.seal_under(self.key_id(), role, place, birth, buf)
    }

    /// As [`SealedFile::seal`], under a data key that need not be the one of new blocks.
    ///
    /// # Errors
    /// As [`SealedFile::seal`], and where there is no such key.
    pub(crate) fn seal_under(
        &self,
        key_id: u32,
        role: Role,
        sector: Sector,
        birth: Generation,
        buf: BlockBuf,
    ) -> Result<SealedBlock> {
        let (payload_len, sectors) = buf.measure()?;
        let mut bytes = buf.into_padded(sectors);
        let tag_at = bytes.len() - TAG_BYTES;
        let body = &mut bytes[ENVELOPE_HEAD_BYTES..tag_at];
        let mut envelope = Envelope {
            suite: self.suite(role, key_id).to_wire(),
            role,
            key_id,
            sectors,
            sector,
            birth,
            epoch_salt: [0; 16],
        };
        self.seals.fetch_add(1, Ordering::Relaxed);
        let (nonce, tag) = match self.epochs(role, key_id) {
            None => ([0; 12], checksum(&envelope.aad(&self.database_id), body)),
            Some(epochs) => {
                let epoch = epochs.for_seal(&self.crypto, key_id)?;
                envelope.epoch_salt = epoch.salt;
                let aad = envelope.aad(&self.database_id);
                match &*epoch.key {
                    BlockKey::Gcm(key) => key
                        .seal_in_place(&aad, body)
                        .map_err(|_| Error::Crypto("sealing failed"))?,
                    BlockKey::Ctr(key) => {
                        let mut nonce = [0; 12];
                        let drawn = self.crypto.random(&mut nonce);
                        drawn.map_err(|_| Error::Crypto("there are no random bytes"))?;
                        key.apply(&nonce, body);
                        (nonce, self.digest(&aad, &nonce, body))
                    }
                }
            }
        };
        envelope.write(&mut bytes, &nonce, &tag);
        let block_ref = BlockRef {
            sector: sector.number(),
            payload_len,
            key_id: envelope.key_id,
            birth_generation: birth.number(),
            tag,
        };
        Ok(SealedBlock { block_ref, bytes })
    }

    /// Writes a sealed block to its place.
    pub fn write(&self, block: &SealedBlock) -> Result<()> {
        let place = block.block_ref.place();
        let offset = place
            .offset()
            .ok_or(Error::InvalidInput("sector out of range".into()))?;
        Ok(self.file.write_all_at(offset, &block.bytes)?)
    }

    /// Reads and opens the block behind `r`, in one buffer: the payload is a slice of what was read, and begins on a
    /// 64-byte boundary. `end_sector` bounds the file, so that nothing is allocated for a length that cannot be.
    ///
    /// # Errors
    /// `Malformed` for a ref that cannot be, `BlockReplaced`, `BlockEdited`, `BlockDamaged` for a block that is not what
    /// the ref says, `Truncated` where the file ends before the block does.
    pub fn read(&self, role: Role, r: &BlockRef, end_sector: u64) -> Result<Bytes> {
        let malformed = |what| Error::malformed(role, r.sector, what);
        let sectors = r
            .sectors()
            .ok_or_else(|| malformed("its length is beyond the limit"))?;
        let end = r.place().checked_add(u64::from(sectors));
        if end.is_none_or(|end| end.number() > end_sector) {
            return Err(malformed("it reaches beyond the end of the file"));
        }
        let offset = r.place().offset();
        let offset = offset.ok_or_else(|| malformed("its sector is out of range"))?;
        let len = sectors as usize * SECTOR_BYTES;

        let mut bytes: Vec<u8> = Vec::with_capacity(len + ALIGNMENT);
        let start = bytes.as_ptr().align_offset(ALIGNMENT).min(ALIGNMENT);
        bytes.resize(start, 0);
        match self.file.append_exact_at(offset, len, &mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                let expected_bytes = offset + len as u64;
                return Err(Error::Truncated {
                    expected_bytes,
                    found_bytes: self.file.len()?,
                });
            }
            Err(error) => return Err(error.into()),
        }
        self.open(role, r, sectors, &mut bytes[start..])?;
        let payload = start + ENVELOPE_HEAD_BYTES;
        let opened = OpenedBlock {
            bytes,
            wipes: Arc::clone(&self.wipes),
        };
        Ok(Bytes::from_owner(opened).slice(payload..payload + r.payload_len as usize))
    }

    /// Opens a block where it lies; the payload is then behind the first 64 bytes.
    ///
    /// # Errors
    /// As [`SealedFile::read`].
    pub fn open_in_place(&self, role: Role, r: &BlockRef, block: &mut [u8]) -> Result<()> {
        let malformed = || Error::malformed(role, r.sector, "its length is not what its ref says");
        let sectors = r.sectors().ok_or_else(malformed)?;
        if block.len() != sectors as usize * SECTOR_BYTES {
            return Err(malformed());
        }
        self.open(role, r, sectors, block)
    }

    /// Opens a superblock, which no ref pins: its place is fixed, its age and tag are what the sector says. Returns a ref
    /// that describes it, and its payload. It must be sealed under the data key `key_id`.
    pub(crate) fn open_superblock<'a>(
        &self,
        key_id: u32,
        sector: Sector,
        block: &'a mut [u8; SECTOR_BYTES],
    ) -> Result<(BlockRef, &'a [u8])> {
        let raw = RawBlock::split(block).ok_or(Error::SuperblockDamaged)?;
        let r = BlockRef {
            sector: sector.number(),
            payload_len: (SECTOR_BYTES - ENVELOPE_OVERHEAD_BYTES) as u32,
            key_id,
            birth_generation: raw.birth().number(),
            tag: raw.tag,
        };
        // Nothing but its checksum covers the checksum, and a superblock must be the same to the last byte in both slots.
        if !raw.is_intact() {
            return Err(Error::SuperblockDamaged);
        }
        self.open(Role::Superblock, &r, 1, block)?;
        Ok((r, &block[ENVELOPE_HEAD_BYTES..SECTOR_BYTES - TAG_BYTES]))
    }

    /// Whether a page is a superblock of this database as a plain file has it, to the last byte. Anybody can write one: it is never read.
    pub(crate) fn is_plain_superblock(
        &self,
        sector: Sector,
        block: &mut [u8; SECTOR_BYTES],
    ) -> bool {
        let Some(raw) = RawBlock::split(block).filter(RawBlock::is_intact) else {
            return false;
        };
        let r = BlockRef {
            sector: sector.number(),
            payload_len: (SECTOR_BYTES - ENVELOPE_OVERHEAD_BYTES) as u32,
            key_id: 0,
            birth_generation: raw.birth().number(),
            tag: raw.tag,
        };
        let plain = Suite::Plain.to_wire();
        let envelope = Envelope::expected(plain, Role::Superblock, &r, 1, raw.epoch_salt());
        raw.says(&envelope) && checksum(&envelope.aad(&self.database_id), raw.body) == raw.tag
    }

    fn open(&self, role: Role, r: &BlockRef, sectors: u32, block: &mut [u8]) -> Result<()> {
        let place = Place {
            role,
            sector: r.sector,
        };
        let raw = RawBlock::split(block).ok_or(Error::BlockDamaged(place))?;
        let suite = self.suite(role, r.key_id).to_wire();
        let envelope = Envelope::expected(suite, role, r, sectors, raw.epoch_salt());
        if !raw.says(&envelope) || raw.tag != r.tag {
            return Err(if raw.is_intact() {
                Error::BlockReplaced(place)
            } else {
                Error::BlockDamaged(place)
            });
        }
        let (nonce, aad) = (raw.nonce(), envelope.aad(&self.database_id));
        // Of envelope and tag, which opening does not touch.
        let is_intact = raw.is_intact();
        let refused = || match is_intact {
            true => Error::BlockEdited(place),
            false => Error::BlockDamaged(place),
        };
        match self.epochs(role, r.key_id) {
            None if checksum(&aad, raw.body) == r.tag => Ok(()),
            None => Err(Error::BlockDamaged(place)),
            Some(epochs) => {
                let key = epochs.for_open(&self.crypto, r.key_id, &envelope.epoch_salt)?;
                match &*key {
                    BlockKey::Gcm(key) => key
                        .open_in_place(&nonce, &aad, raw.body, &r.tag)
                        .map_err(|_| refused()),
                    BlockKey::Ctr(key) if self.digest(&aad, &nonce, raw.body) == r.tag => {
                        key.apply(&nonce, raw.body);
                        Ok(())
                    }
                    BlockKey::Ctr(_) => Err(refused()),
                }
            }
        }
    }

    /// The tag of suite 2: no key is in it, but the parent that holds it is authentic.
    fn digest(&self, aad: &[u8], nonce: &[u8; 12], ciphertext: &[u8]) -> [u8; TAG_BYTES] {
        let digest = self.crypto.sha256(&[aad, nonce, ciphertext]);
        std::array::from_fn(|i| digest[i])
    }

    /// The keys of blocks of that role under a data key; `None` for blocks that are plain.
    fn epochs(&self, role: Role, key_id: u32) -> Option<&KeyEpochs> {
        let SuiteEpochs { gcm, ctr } = self.epochs.as_ref()?;
        let suite = || {
            let suites = self.suites.read();
            let known = suites.iter().find(|(id, _)| *id == key_id);
            known.map(|(_, suite)| *suite)
        };
        match (key_id, role.holds_values()) {
            (0, _) if suite() == Some(Suite::Plain) => None,
            (_, true) if suite() == Some(Suite::Ctr) => Some(ctr),
            _ => Some(gcm),
        }
    }

    fn suite(&self, role: Role, key_id: u32) -> Suite {
        let epochs = self.epochs(role, key_id);
        epochs.map_or(Suite::Plain, KeyEpochs::suite)
    }
}

impl std::fmt::Debug for SealedFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SealedFile")
            .field("file", &self.file)
            .field("suite", &self.suite(Role::ColumnData, self.key_id()))
            .finish()
    }
}

/// Suite 0's tag: XXH3-128, little-endian, of the padded payload, seeded with the XXH3-64 of the associated data.
fn checksum(aad: &[u8], body: &[u8]) -> [u8; TAG_BYTES] {
    xxh3_128_with_seed(body, xxh3_64(aad)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use hushdb_crypto::{KdfLabel, SecretKey};

    use super::*;
    use crate::file::MemFile;

    const KEY_ID: u32 = 1;

    /// Block keys from one data key, as the header's keys make them.
    struct OneKey {
        database_id: [u8; 16],
        data_key: SecretKey,
    }

    impl OneKey {
        fn derived(
            &self,
            crypto: &CryptoProvider,
            key_id: u32,
            suite: Suite,
            epoch_salt: &[u8; 16],
        ) -> SecretKey {
            let mut context = self.database_id.to_vec();
            context.extend_from_slice(&key_id.to_le_bytes());
            context.push(suite.to_wire());
            context.extend_from_slice(epoch_salt);
            crypto.kbkdf(&self.data_key, KdfLabel::Block, &context)
        }
    }

    impl BlockKeys for OneKey {
        fn block_key(
            &self,
            crypto: &CryptoProvider,
            key_id: u32,
            suite: Suite,
            epoch_salt: &[u8; 16],
        ) -> Result<BlockKey> {
            let key = self.derived(crypto, key_id, suite, epoch_salt);
            Ok(match suite {
                Suite::Ctr => BlockKey::Ctr(crypto.ctr_key(&key)),
                _ => BlockKey::Gcm(crypto.gcm_key(&key)),
            })
        }
    }

    fn database_id() -> [u8; 16] {
        std::array::from_fn(|i| i as u8)
    }

    fn keys() -> OneKey {
        OneKey {
            database_id: database_id(),
            data_key: SecretKey::from_bytes([0x22; 32]),
        }
    }

    fn sealed_file(crypto: CryptoProvider, suite: Suite) -> SealedFile {
        let (keys, key_id) = (Arc::new(keys()), KEY_ID);
        let protection = match suite {
            Suite::Ctr => Protection::Ctr { keys, key_id },
            _ => Protection::Gcm { keys, key_id },
        };
        SealedFile::new(Arc::new(MemFile::new()), crypto, database_id(), protection)
    }

    fn buf(payload: &[u8]) -> BlockBuf {
        let mut buf = BlockBuf::with_capacity(payload.len());
        buf.extend_from_slice(payload);
        buf
    }

    /// Seals as `SealedFile::seal` does, but with the salt and nonce of the known answers. Sealing takes no nonce, so the
    /// ciphertext is made by counter mode, which GCM is from the third block of key stream on (SP 800-38D, 6.5), and the tag
    /// is the known one; that it holds is seen by opening.
    fn known_block(
        crypto: &CryptoProvider,
        suite: Suite,
        payload: &[u8],
        tag: [u8; 16],
    ) -> SealedBlock {
        let epoch_salt: [u8; 16] = std::array::from_fn(|i| 0xa0 + i as u8);
        let nonce: [u8; 12] = std::array::from_fn(|i| 0xb0 + i as u8);
        let buf = buf(payload);
        let (payload_len, sectors) = buf.measure().unwrap();
        let mut bytes = buf.into_padded(sectors);
        let tag_at = bytes.len() - TAG_BYTES;
        let key = crypto.ctr_key(&keys().derived(crypto, KEY_ID, suite, &epoch_salt));
        let skipped = if suite == Suite::Gcm { 32 } else { 0 };
        bytes[ENVELOPE_HEAD_BYTES - skipped..ENVELOPE_HEAD_BYTES].fill(0);
        key.apply(&nonce, &mut bytes[ENVELOPE_HEAD_BYTES - skipped..tag_at]);
        let (sector, birth) = (Sector::new(16), Generation::new(42));
        let role = Role::ColumnData;
        let envelope = Envelope {
            suite: suite.to_wire(),
            role,
            key_id: KEY_ID,
            sectors,
            sector,
            birth,
            epoch_salt,
        };
        envelope.write(&mut bytes, &nonce, &tag);
        let block_ref = BlockRef {
            sector: sector.number(),
            payload_len,
            key_id: KEY_ID,
            birth_generation: birth.number(),
            tag,
        };
        SealedBlock { block_ref, bytes }
    }

    /// Answers (SHA-256 of the block, ref) of an implementation in another language that shares no code with this one.
    #[test]
    fn known_answers() {
        let large: Vec<u8> = (0..262_064u32).map(|i| (i % 251) as u8).collect();
        let cases = [
            (
                Suite::Gcm,
                b"hello block".as_slice(),
                "9995684e333246add115fbe4417528bf1f87a1c081d1d027c711bde46c239411",
                "10000000000000000b000000010000002a00000000000000fdf51bf0fc76b9e7a05dba5a7ad98754",
            ),
            (
                Suite::Gcm,
                large.as_slice(),
                "b65d42a42c492300df6a3f8082569ccbee1554ad2be36a8c57653ec481860450",
                "1000000000000000b0ff0300010000002a000000000000007371059946c3909d41fcfbf4fa65de0b",
            ),
            (
                Suite::Ctr,
                b"hello block".as_slice(),
                "e4abaea6a4920d6e2988aab949f8b5863db07219df5cd9fef63119d6f1a1114e",
                "10000000000000000b000000010000002a00000000000000f1fb174ca7c6d6b6fab950bcebd3e322",
            ),
            (
                Suite::Ctr,
                large.as_slice(),
                "de47434a28c359ab233e3154fcb223341ed08e57617762b1def27cabb5173002",
                "1000000000000000b0ff0300010000002a000000000000000925868f22fab93ae174c364c90f570d",
            ),
        ];
        for (suite, payload, digest, block_ref) in cases {
            let mut known = [0; BlockRef::BYTES];
            hex::decode_to_slice(block_ref, &mut known).unwrap();
            let known = BlockRef::from_bytes(&known);
            for crypto in CryptoProvider::all() {
                let mut block = known_block(&crypto, suite, payload, known.tag);
                assert_eq!(hex::encode(block.block_ref.to_bytes()), block_ref);
                assert_eq!(hex::encode(crypto.sha256(&[&block.bytes])), digest);
                sealed_file(crypto, suite)
                    .open_in_place(Role::ColumnData, &known, &mut block.bytes)
                    .unwrap();
                assert_eq!(
                    &block.bytes[ENVELOPE_HEAD_BYTES..][..payload.len()],
                    payload
                );
            }
        }
    }

    #[test]
    fn every_payload_length_around_a_sector_boundary_comes_back() {
        for (crypto, suite) in CryptoProvider::all()
            .into_iter()
            .flat_map(|crypto| [(crypto, Suite::Gcm), (crypto, Suite::Ctr)])
        {
            let sealed = sealed_file(crypto, suite);
            for len in [0, 1, 4015, 4016, 4017, 8111, 8112, 8113] {
                let payload = vec![7; len];
                let block = sealed.seal(Role::Index, 16, 3, buf(&payload)).unwrap();
                assert_eq!(block.bytes.len() % SECTOR_BYTES, 0);
                sealed.write(&block).unwrap();
                let read = sealed.read(Role::Index, &block.block_ref, 100).unwrap();
                assert_eq!(read, payload);
                assert!(
                    !block.bytes.windows(16).any(|window| window == [7; 16]),
                    "nothing in the clear"
                );
            }
        }
    }

    #[test]
    fn a_payload_over_the_limit_is_refused() {
        let mut buf = BlockBuf::with_capacity(0);
        buf.resize(super::super::MAX_PAYLOAD_BYTES + 1);
        let error = sealed_file(CryptoProvider::aws_lc(), Suite::Gcm)
            .seal(Role::Index, 16, 3, buf)
            .err();
        assert!(matches!(error, Some(Error::InvalidInput(_))));
    }

    #[test]
    fn equal_payloads_look_different_each_time() {
        for suite in [Suite::Gcm, Suite::Ctr] {
            let sealed = sealed_file(CryptoProvider::aws_lc(), suite);
            let blocks = [(); 2].map(|()| {
                let block = sealed.seal(Role::Index, 16, 3, buf(b"equal"));
                block.unwrap().bytes
            });
            assert_ne!(blocks[0][64..], blocks[1][64..]);
        }
    }

    #[test]
    fn suite_2_is_for_values_alone() {
        let sealed = sealed_file(CryptoProvider::aws_lc(), Suite::Ctr);
        for role in Role::ALL {
            let block = sealed.seal(role, 16, 3, buf(b"x")).unwrap();
            let values = [
                Role::ColumnData,
                Role::Index,
                Role::Statistics,
                Role::Overflow,
            ];
            let expected = if values.contains(&role) { 2 } else { 1 };
            assert_eq!(block.bytes[5], expected, "{role}");
        }
    }
}
