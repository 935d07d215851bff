//! `OldKey`: a data key that a file had once, to see that nothing in it opens under that key any more.

use std::io;
use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{
    DatabaseKeys, HeaderError, KdfBudget, KeyAttempt, KeyProvider, Suite, UnverifiedHeader,
};
use hushdb_storage::{BlockRef, Protection, Role, SECTOR_BYTES, SealedFile, StorageFile, Store};

/// Bytes of a block that are no payload.
const ENVELOPE_OVERHEAD: usize = 80;

/// The data key of a header.
pub struct OldKey {
    keys: Arc<DatabaseKeys>,
    key_id: u32,
    suite: Suite,
}

impl OldKey {
    /// The data key of an open file, as it is now.
    ///
    /// # Errors
    /// When `key` does not open the header.
    pub fn of(store: &Store, key: &dyn KeyProvider) -> Result<Self, HeaderError> {
        let page = store.blocks().header().to_page();
        let header = UnverifiedHeader::parse(&page)?;
        let mut attempt = KeyAttempt::new(key, KdfBudget::default());
        let (header, keys) = header.unlock(&CryptoProvider::aws_lc(), &mut attempt)?;
        Ok(Self {
            key_id: keys.system_key_id(),
            keys: Arc::new(keys),
            suite: header.suite(),
        })
    }

    /// Its number.
    pub fn key_id(&self) -> u32 {
        self.key_id
    }

    /// The first sector of a file at which a block begins that opens under the key, wherever it says that it stands.
    ///
    /// # Errors
    /// What reading the file reports.
    pub fn opens_in(&self, file: &Arc<dyn StorageFile>) -> io::Result<Option<u64>> {
        let (keys, key_id) = (Arc::clone(&self.keys), self.key_id);
        let database_id = *keys.database_id().as_bytes();
        let protection = match self.suite {
            Suite::Ctr => Protection::Ctr { keys, key_id },
            _ => Protection::Gcm { keys, key_id },
        };
        let crypto = CryptoProvider::aws_lc();
        let sealed = SealedFile::new(Arc::clone(file), crypto, database_id, protection);
        let mut bytes = vec![0; usize::try_from(file.len()?).unwrap_or(usize::MAX)];
        file.read_exact_at(0, &mut bytes)?;
        for sector in 0..bytes.len() / SECTOR_BYTES {
            let at = &bytes[sector * SECTOR_BYTES..];
            let (Some(r), Some(role)) = (self.block_at(at), Role::from_number(at[6])) else {
                continue;
            };
            let len = r.sectors().unwrap_or_default() as usize * SECTOR_BYTES;
            let mut block = at[..len].to_vec();
            if sealed.open_in_place(role, &r, &mut block).is_ok() {
                return Ok(Some(sector as u64));
            }
        }
        Ok(None)
    }

    /// Whether what begins like a log says that it is under the key.
    pub fn is_of_log(&self, log: &[u8]) -> bool {
        log.get(56..60) == Some(&self.key_id.to_le_bytes())
    }

    /// What a parent would say of the block that begins there, if one does that is under the key.
    fn block_at(&self, bytes: &[u8]) -> Option<BlockRef> {
        let number = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        if !bytes.starts_with(b"HUSB") || number(8)? != self.key_id {
            return None;
        }
        let len = (number(12)? as usize).checked_mul(SECTOR_BYTES)?;
        let block = bytes.get(..len)?;
        Some(BlockRef {
            sector: long(16)?,
            payload_len: u32::try_from(len.checked_sub(ENVELOPE_OVERHEAD)?).ok()?,
            key_id: self.key_id,
            birth_generation: long(24)?,
            tag: *block.last_chunk()?,
        })
    }
}

impl std::fmt::Debug for OldKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OldKey({})", self.key_id)
    }
}
