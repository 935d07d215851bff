//! Edits by someone who has the key: a block is opened, changed and sealed again, and so is every parent up to the
//! superblock. What then refuses the file is the decoder, not a tag.

use std::sync::Arc;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::{DatabaseKeys, HEADER_LEN, KdfBudget, KeyAttempt, UnverifiedHeader};
use hushdb_storage::{
    BlockBuf, BlockRef, MemFile, Protection, Role, SECTOR_BYTES, SealedFile, StorageFile,
};

use super::samples::{Sample, key};

pub(crate) const SUPERBLOCKS: [usize; 2] = [32_768, 49_152];
const SUPERBLOCK_SECTOR: u64 = 8;
const SUPERBLOCK_PAYLOAD: u32 = 4016;
/// What a block has beside its payload.
const ENVELOPE_BYTES: usize = 80;
/// Places in a superblock's payload.
pub(crate) const TOTAL_SECTORS_AT: usize = 16;

/// A copy of a sample that is being edited.
pub(crate) struct Forge {
    file: Arc<MemFile>,
    sealed: SealedFile,
    pub(crate) keys: Option<Arc<DatabaseKeys>>,
    pub(crate) database_id: [u8; 16],
    parts: Vec<(Role, BlockRef)>,
    /// Role, number and payload of the block that was edited.
    edited: Option<(Role, usize, Vec<u8>)>,
}

impl Forge {
    pub(crate) fn new(sample: &Sample) -> Self {
        let crypto = CryptoProvider::aws_lc();
        let file = Arc::new(MemFile::from_bytes(&sample.file));
        let page: &[u8; HEADER_LEN] = sample.file.first_chunk().unwrap();
        let header = UnverifiedHeader::parse(page).unwrap();
        let database_id = *header.database_id().as_bytes();
        let keys = header.suite().is_encrypted().then(|| {
            let key = key();
            let mut attempt = KeyAttempt::new(&key, KdfBudget::default());
            let opened = header.unlock(&crypto, &mut attempt);
            Arc::new(opened.unwrap().1)
        });
        let protection = match &keys {
            Some(keys) => Protection::Gcm {
                keys: Arc::clone(keys) as _,
                key_id: keys.system_key_id(),
            },
            None => Protection::Plain,
        };
        let sealed = SealedFile::new(file.clone(), crypto, database_id, protection);
        Self {
            file,
            sealed,
            keys,
            database_id,
            parts: sample.parts.clone(),
            edited: None,
        }
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.file.to_bytes()
    }

    /// The block that is the `nth` of its role in the sample, as it is by now.
    pub(crate) fn part(&self, role: Role, nth: usize) -> BlockRef {
        let mut found = self.parts.iter().filter(|(of, _)| *of == role);
        found.nth(nth).expect("the sample has such a block").1
    }

    pub(crate) fn payload(&self, role: Role, block: &BlockRef) -> Vec<u8> {
        let end = self.file.len().unwrap() / SECTOR_BYTES as u64;
        self.sealed.read(role, block, end).unwrap().to_vec()
    }

    pub(crate) fn superblock(&self) -> Vec<u8> {
        let page = &self.file.to_bytes()[SUPERBLOCKS[0]..][..SECTOR_BYTES];
        let block = BlockRef {
            sector: SUPERBLOCK_SECTOR,
            payload_len: SUPERBLOCK_PAYLOAD,
            key_id: u32::from_le_bytes(page[8..12].try_into().unwrap()),
            birth_generation: u64::from_le_bytes(page[24..32].try_into().unwrap()),
            tag: page[SECTOR_BYTES - 16..].try_into().unwrap(),
        };
        self.payload(Role::Superblock, &block)
    }

    /// Seals a superblock and puts it into the given slots.
    pub(crate) fn put_superblock(&self, payload: &[u8], generation: u64, slots: &[usize]) {
        let buf = buf(payload);
        let sealed = self
            .sealed
            .seal(Role::Superblock, SUPERBLOCK_SECTOR, generation, buf);
        let page = sealed.unwrap().bytes;
        for slot in slots {
            let at = SUPERBLOCKS[*slot] as u64;
            self.file.write_all_at(at, &page).unwrap();
        }
    }

    pub(crate) fn edit_superblock(&self, edit: impl FnOnce(&mut [u8])) {
        let mut payload = self.superblock();
        edit(&mut payload);
        let generation = u64::from_le_bytes(payload[8..16].try_into().unwrap());
        self.put_superblock(&payload, generation, &[0, 1]);
    }

    /// Changes the payload of the `nth` block of a role, and whatever must follow from that in its parents.
    pub(crate) fn edit(&mut self, role: Role, nth: usize, edit: impl FnOnce(&mut Vec<u8>)) {
        let block = self.part(role, nth);
        let mut payload = self.payload(role, &block);
        let before = payload.clone();
        edit(&mut payload);
        assert!(payload != before, "the edit changes something");
        self.edited = Some((role, nth, payload.clone()));
        self.replace(role, &block, &payload);
    }

    /// Role, number and payload of what was edited.
    pub(crate) fn edited(&self) -> (Role, usize, Vec<u8>) {
        let superblock = || (Role::Superblock, 0, self.superblock());
        self.edited.clone().unwrap_or_else(superblock)
    }

    fn replace(&mut self, role: Role, old: &BlockRef, payload: &[u8]) {
        let sectors = (payload.len() + ENVELOPE_BYTES).div_ceil(SECTOR_BYTES) as u64;
        let sector = match old.sectors().map(u64::from) == Some(sectors) {
            true => old.sector,
            false => self.grow(sectors),
        };
        let sealed = self
            .sealed
            .seal(role, sector, old.birth_generation, buf(payload))
            .unwrap();
        self.sealed.write(&sealed).unwrap();
        for part in &mut self.parts {
            if part.1 == *old {
                part.1 = sealed.block_ref;
            }
        }
        self.repoint(old, &sealed.block_ref);
    }

    /// Puts another block behind all others; nothing names it.
    pub(crate) fn add(&mut self, role: Role, payload: &[u8]) -> BlockRef {
        let generation = self.part(role, 0).birth_generation;
        let sectors = (payload.len() + ENVELOPE_BYTES).div_ceil(SECTOR_BYTES) as u64;
        let sector = self.grow(sectors);
        let sealed = self.sealed.seal(role, sector, generation, buf(payload));
        let sealed = sealed.unwrap();
        self.sealed.write(&sealed).unwrap();
        sealed.block_ref
    }

    /// More sectors at the end of the file.
    fn grow(&self, sectors: u64) -> u64 {
        let mut first = 0;
        self.edit_superblock(|payload| {
            first = u64::from_le_bytes(payload[TOTAL_SECTORS_AT..][..8].try_into().unwrap());
            put(payload, TOTAL_SECTORS_AT, &(first + sectors).to_le_bytes());
        });
        let len = (first + sectors) * SECTOR_BYTES as u64;
        self.file.set_len(len).unwrap();
        first
    }

    fn repoint(&mut self, old: &BlockRef, new: &BlockRef) {
        let (old, new) = (old.to_bytes(), new.to_bytes());
        if find(&self.superblock(), &old).is_some() {
            self.edit_superblock(|payload| swap(payload, &old, &new));
            return;
        }
        let parents = [Role::Metadata, Role::FreeList];
        let candidates: Vec<_> = self.parts.clone();
        for (role, block) in candidates.iter().filter(|(role, _)| parents.contains(role)) {
            let mut payload = self.payload(*role, block);
            if find(&payload, &old).is_some() {
                swap(&mut payload, &old, &new);
                self.replace(*role, block, &payload);
                return;
            }
        }
        panic!("nothing names the block");
    }
}

/// Replaces the only occurrence of `old`.
pub(crate) fn swap(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let at = find(bytes, old).expect("it is there");
    put(bytes, at, new);
}

pub(crate) fn find(bytes: &[u8], needle: &[u8]) -> Option<usize> {
    bytes.windows(needle.len()).position(|part| part == needle)
}

pub(crate) fn put(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes[at..at + new.len()].copy_from_slice(new);
}

fn buf(payload: &[u8]) -> BlockBuf {
    let mut buf = BlockBuf::with_capacity(payload.len());
    buf.extend_from_slice(payload);
    buf
}
