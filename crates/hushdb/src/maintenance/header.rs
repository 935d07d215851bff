//! `FileHeader`: what a database file says of itself to anybody. Nothing of it is verified: that takes the key.

use hushdb_keys::{SLOT_COUNT, SlotInfo, SlotKdf, Suite, UnverifiedHeader};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{HeaderCopies, OsFile, StorageFiles};
use std::fmt;
use std::io;
use std::path::Path;

/// Slots for keys in a file header.
pub const KEY_SLOTS: usize = SLOT_COUNT;

/// The newer of the copies of a file's header that can be read (FORMAT.md, "Header").
#[derive(Clone, Debug)]
pub struct FileHeader {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Version of the format.
    pub format_version: u16,
    /// How blocks are sealed, as text.
    pub suite: String,
    /// Whether there are keys at all.
    pub is_encrypted: bool,
    /// The database's name for life, in hexadecimal.
    pub database_id: String,
    /// The commitment to the master key, in hexadecimal, for `EXPECTED_KEY`; `None` of a plain database.
    pub key_commitment: Option<String>,
    /// Counts changes of the header.
    pub sequence: u64,
    /// How the two copies stand to each other, in words.
    pub copies: String,
    /// Slots in use, in their order.
    pub slots: Vec<KeySlot>,
}

/// A slot in use: one of the keys that open the file.
#[derive(Clone, Debug)]
pub struct KeySlot {
    /// Its number, from 0.
    pub number: usize,
    /// Raw key or passphrase, and how the latter is stretched.
    pub key: String,
    /// Whether a key file belongs to the key.
    pub has_key_file: bool,
    /// Which kind of place gave the key.
    pub provider: String,
    /// What a place for keys says of its key there: name and version; may be empty.
    pub place: String,
    /// The owner's name for it; may be empty.
    pub label: String,
}

impl FileHeader {
    /// Reads the header of the file at `path`.
    ///
    /// # Errors
    /// `Io`; `NotADatabase` or `Truncated` for what is no database; `Corrupted` where neither copy can be read.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of(&copies_of(path)?)
    }

    /// Reads the header of a database that a source of files has.
    ///
    /// # Errors
    /// Likewise.
    pub fn read_in(files: &dyn StorageFiles) -> Result<Self> {
        let file = files.open("", true)?;
        let file = file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound));
        let file = file.map_err(hushdb_storage::Error::from)?;
        Self::of(&HeaderCopies::read(&*file)?)
    }

    fn of(copies: &HeaderCopies) -> Result<Self> {
        let header = newest(copies)?;
        Ok(Self {
            file_bytes: copies.file_bytes,
            format_version: header.format_version(),
            suite: header.suite().to_string(),
            is_encrypted: header.suite().is_encrypted(),
            database_id: header.database_id().to_string(),
            key_commitment: header.commitment().map(in_hex),
            sequence: header.sequence(),
            copies: in_words(copies),
            slots: header.slots().into_iter().map(KeySlot::from).collect(),
        })
    }

    /// How the blocks of the file at `path` are sealed, likewise.
    pub(super) fn suite_of(path: &Path) -> Result<Suite> {
        Ok(newest(&copies_of(path)?)?.suite())
    }

    /// Looks at the newest copy that can be read.
    pub(super) fn with_newest<T>(
        path: &Path,
        look: impl FnOnce(&UnverifiedHeader) -> Result<T>,
    ) -> Result<T> {
        look(newest(&copies_of(path)?)?)
    }
}

fn in_hex(bytes: [u8; 32]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn copies_of(path: &Path) -> Result<HeaderCopies> {
    let copies = OsFile::open(path, true).and_then(|file| HeaderCopies::read(&file));
    copies.map_err(|error| {
        let error = Error::from(error);
        let text = format!("{}: {}", path.display(), error.message());
        Error::new(error.kind(), text)
    })
}

/// The newer one of the copies that can be read.
fn newest(copies: &HeaderCopies) -> Result<&UnverifiedHeader> {
    let readable = copies.copies.iter().flatten();
    let newest = readable.max_by_key(|header| header.sequence());
    newest.ok_or_else(|| {
        let mut reasons = copies.copies.iter().filter_map(|copy| copy.as_ref().err());
        let why = reasons.next().map(ToString::to_string).unwrap_or_default();
        let text = format!("neither copy of the file header can be read: {why}");
        Error::new(ErrorKind::Corrupted, text)
    })
}

fn in_words(copies: &HeaderCopies) -> String {
    match &copies.copies {
        [Ok(a), Ok(b)] if a.sequence() == b.sequence() && a.mac() == b.mac() => {
            "both readable and alike".to_owned()
        }
        [Ok(a), Ok(b)] => format!("A has sequence {}, B has {}", a.sequence(), b.sequence()),
        [Err(why), Ok(_)] => format!("A cannot be read ({why}), B can"),
        [Ok(_), Err(why)] => format!("A can be read, B cannot ({why})"),
        [Err(_), Err(_)] => "neither can be read".to_owned(),
    }
}

impl From<SlotInfo> for KeySlot {
    fn from(slot: SlotInfo) -> Self {
        Self {
            number: slot.slot,
            key: match slot.kdf {
                SlotKdf::None if slot.blob_len > 0 => "wrapped elsewhere".to_owned(),
                SlotKdf::None => "raw key".to_owned(),
                SlotKdf::Argon2id(cost) => format!(
                    "passphrase, Argon2id (m = {} MiB, t = {}, p = {})",
                    cost.m_kib / 1024,
                    cost.t,
                    cost.p
                ),
                SlotKdf::Pbkdf2 { iterations } => {
                    format!("passphrase, PBKDF2-HMAC-SHA-512 ({iterations} iterations)")
                }
            },
            has_key_file: slot.has_key_file,
            provider: slot.kind.to_string(),
            place: slot.place,
            label: slot.label,
        }
    }
}

impl fmt::Display for KeySlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, key, provider) = (self.number, &self.key, &self.provider);
        write!(f, "{number}: {key}, given by {provider}")?;
        if self.has_key_file {
            f.write_str(", with a key file")?;
        }
        if !self.place.is_empty() {
            write!(f, " ({})", self.place)?;
        }
        match self.label.as_str() {
            "" => Ok(()),
            label => write!(f, ", \"{label}\""),
        }
    }
}
