//! Key slots: adding, changing and removing the keys that open a file. Only the header and the superblock are written, so the time
//! does not depend on the size of the database.
//!
//! A key may be tried on a slot, too: that is what monitoring does.
//!
//! What must hold: a removed or changed key is refused by honest software alone. Whoever kept a copy of the header and its key
//! still derives the master key; what calls this says so.

use super::header::FileHeader;
use hushdb_crypto::{CryptoProvider, SecretBytes};
use hushdb_keys::{
    HeaderError, KdfBudget, KeyAttempt, KeyContext, KeyError, KeyMaterial, KeyProvider,
    ProviderKind, SlotOptions, Stretch, UnverifiedHeader,
};
use hushdb_sql::{Error, ErrorKind, Result};
use hushdb_storage::{Store, clock};
use parking_lot::Mutex;
use std::path::Path;
use std::time::Duration;

/// A slot that was changed, or tried.
#[derive(Clone, Copy, Debug)]
pub struct SlotChange {
    /// Its number.
    pub slot: usize,
    /// How long it took, without waiting for the new key to be typed, or given by its service.
    pub took: Duration,
}

/// Adds a slot for the key that `key` gives.
///
/// # Errors
/// `NotEncrypted`; `InvalidInput` where all slots are in use or the label is none; what the provider refuses.
pub(crate) fn add_slot(store: &Store, key: &dyn KeyProvider, label: &str) -> Result<SlotChange> {
    let key = Timed::new(key);
    let options = slot_options(label.to_owned());
    timed(&key, || {
        Ok(store
            .blocks()
            .change_header(|header, crypto, keys| header.add_slot(crypto, keys, &key, &options))?)
    })
}

/// Gives a slot another key; it keeps its label. The only slot need not be named.
///
/// # Errors
/// As [`add_slot`]; `InvalidInput` for a slot that is not in use, or none where there are several.
pub(crate) fn change_slot(
    store: &Store,
    slot: Option<usize>,
    key: &dyn KeyProvider,
) -> Result<SlotChange> {
    let slots = store.blocks().header().slots();
    let slot = match (slot, slots.as_slice()) {
        (Some(slot), _) => slot,
        (None, [only]) => only.slot,
        (None, several) => {
            return Err(Error::invalid(format!(
                "{} key slots are in use: say which one with --slot",
                several.len()
            )));
        }
    };
    let known = slots.into_iter().find(|info| info.slot == slot);
    let options = slot_options(known.map(|info| info.label).unwrap_or_default());
    let key = Timed::new(key);
    timed(&key, || {
        store.blocks().change_header(|header, crypto, keys| {
            header.change_slot(crypto, keys, slot, &key, &options)
        })?;
        Ok(slot)
    })
}

/// Removes a slot.
///
/// # Errors
/// `NotEncrypted`; `InvalidInput` for one that is not in use, or is the last.
pub(crate) fn remove_slot(store: &Store, slot: usize) -> Result<SlotChange> {
    let started = clock::now();
    store
        .blocks()
        .change_header(|header, crypto, keys| header.remove_slot(crypto, keys, slot))?;
    Ok(SlotChange {
        slot,
        took: started.elapsed(),
    })
}

/// Tries a key on a slot of the file at `path`, or on all of them, as opening does; the place that the key comes from is asked, and
/// nothing is written. The file may be open in another process.
///
/// # Errors
/// `Io`, `NotADatabase`; `NotEncrypted`; `InvalidInput` for a slot that is not in use; `WrongKey`, and what the provider refuses.
pub fn verify_slot(path: &Path, slot: Option<usize>, key: &dyn KeyProvider) -> Result<SlotChange> {
    FileHeader::with_newest(path, |header| verify(header, slot, key))
}

/// The same for a database that is attached.
pub(crate) fn verify_slot_of(
    store: &Store,
    slot: usize,
    key: &dyn KeyProvider,
) -> Result<SlotChange> {
    let page = store.blocks().header().to_page();
    let header = UnverifiedHeader::parse(&page).map_err(hushdb_storage::Error::from)?;
    verify(&header, Some(slot), key)
}

fn verify(
    header: &UnverifiedHeader,
    slot: Option<usize>,
    key: &dyn KeyProvider,
) -> Result<SlotChange> {
    let mut attempt = KeyAttempt::new(key, KdfBudget::default());
    if let Some(slot) = slot {
        if header.suite().is_encrypted() && !header.slots().iter().any(|known| known.slot == slot) {
            return Err(Error::invalid(format!(
                "there is no key slot {slot}: list the slots"
            )));
        }
        attempt = attempt.with_slot(slot);
    }
    let started = clock::now();
    let opened = header.unlock(&CryptoProvider::aws_lc(), &mut attempt);
    if let (Err(HeaderError::WrongKey), Some(slot)) = (&opened, slot) {
        return Err(Error::new(
            ErrorKind::WrongKey,
            format!("wrong key: key slot {slot} does not open with it; others may"),
        ));
    }
    opened.map_err(hushdb_storage::Error::from)?;
    Ok(SlotChange {
        slot: attempt.opened().unwrap_or_default(),
        took: started.elapsed(),
    })
}

fn slot_options(label: String) -> SlotOptions {
    SlotOptions {
        label,
        stretch: Stretch::default(),
    }
}

fn timed(key: &Timed<'_>, change: impl FnOnce() -> Result<usize>) -> Result<SlotChange> {
    let started = clock::now();
    let slot = change()?;
    Ok(SlotChange {
        slot,
        took: started.elapsed().saturating_sub(*key.waited.lock()),
    })
}

/// A provider that knows how long it took to get its key: typing and foreign commands are not part of a slot's change.
struct Timed<'a> {
    provider: &'a dyn KeyProvider,
    waited: Mutex<Duration>,
}

impl<'a> Timed<'a> {
    fn new(provider: &'a dyn KeyProvider) -> Self {
        Self {
            provider,
            waited: Mutex::default(),
        }
    }
}

impl KeyProvider for Timed<'_> {
    fn kind(&self) -> ProviderKind {
        self.provider.kind()
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let started = clock::now();
        let established = self.provider.establish(context);
        *self.waited.lock() += started.elapsed();
        established
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        self.provider.recover(context, blob)
    }

    fn keeps_blob(&self) -> bool {
        self.provider.keeps_blob()
    }

    fn asks_a_person(&self) -> bool {
        self.provider.asks_a_person()
    }

    fn key_file(&self) -> Result<Option<SecretBytes>, KeyError> {
        self.provider.key_file()
    }
}
