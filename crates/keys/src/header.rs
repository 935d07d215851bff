//! A header that is known to be genuine: just made, or verified. Key-slot operations live here.
//!
//! What must hold:
//! - The page is always complete: CRC and MAC fit the content.
//! - Each operation raises the sequence by one, or fails and changes nothing.
//! - An encrypted database keeps at least one slot.
//!
//! Removing a slot binds honest programs only: who kept an older header and knows its passphrase has the master key.
//! Only a new master key (rekeying) locks such a person out.

use std::sync::Arc;

use hushdb_crypto::{CryptoProvider, SecretBytes};

use crate::header_fields::{HeaderFields, WrappedSecrets};
use crate::layout::{FIRST_FORMAT_VERSION, FORMAT_VERSION, HEADER_LEN, MAC_AT, Page, field, put};
use crate::master_key::MasterKey;
use crate::slot::{KeySlot, is_valid_label, key_encryption_key};
use crate::{
    DatabaseId, DatabaseKeys, HeaderError, KeyContext, KeyMaterial, KeyProvider, KeyRing,
    NewMaster, SLOT_COUNT, SlotInfo, SlotKdf, Stretch, Suite,
};

/// What a new slot is given besides its key.
#[derive(Clone, Debug, Default)]
pub struct SlotOptions {
    /// The owner's name for the slot, readable without a key; at most [`MAX_LABEL_LEN`](crate::MAX_LABEL_LEN) bytes.
    pub label: String,
    /// How a passphrase is stretched.
    pub stretch: Stretch,
}

/// What makes a plain database an encrypted one. No file has it yet.
pub struct FirstKeys {
    /// The header that comes after the plain one.
    pub header: Header,
    /// Its keys.
    pub keys: DatabaseKeys,
    /// The ring that has blocks be read which were written before.
    pub ring: KeyRing,
}

impl std::fmt::Debug for FirstKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FirstKeys([secret])")
    }
}

/// A verified header.
#[derive(Clone, Debug)]
pub struct Header {
    fields: HeaderFields,
    page: Box<Page>,
    /// The slot whose key opened it.
    opened_slot: Option<usize>,
}

impl Header {
    /// The header of a new encrypted database: fresh database id, master key, system DEK and ring key, one slot.
    ///
    /// # Errors
    /// [`HeaderError::Key`] when the provider has no key, [`HeaderError::NotEncrypted`] for the plain suite,
    /// [`HeaderError::InvalidLabel`], [`HeaderError::BlobAreaFull`], [`HeaderError::Random`].
    pub fn create(
        crypto: &CryptoProvider,
        suite: Suite,
        provider: &dyn KeyProvider,
        options: &SlotOptions,
    ) -> Result<(Self, DatabaseKeys), HeaderError> {
        if !suite.is_encrypted() {
            return Err(HeaderError::NotEncrypted);
        }
        let database_id = new_database_id(crypto)?;
        let (secrets, keys) = first_secrets(crypto, database_id, suite, provider, options)?;
        let mut fields = HeaderFields {
            version: FIRST_FORMAT_VERSION,
            suite,
            database_id,
            sequence: 1,
            secrets: Some(secrets),
        };
        if fields.has_key_file() {
            fields.version = FORMAT_VERSION;
        }
        let page = authenticated_page(crypto, &fields, &keys);
        Ok((Self::of(fields, page, Some(0)), keys))
    }

    /// The header of a new plain database: a checksum, no key, no MAC.
    ///
    /// # Errors
    /// [`HeaderError::Random`].
    pub fn create_plain(crypto: &CryptoProvider) -> Result<Self, HeaderError> {
        let database_id = new_database_id(crypto)?;
        let fields = HeaderFields {
            version: FIRST_FORMAT_VERSION,
            suite: Suite::Plain,
            database_id,
            sequence: 1,
            secrets: None,
        };
        let page = fields.render();
        Ok(Self::of(fields, page, None))
    }

    /// The header, keys and ring by which this plain database becomes an encrypted one, with one slot; the header stays as it is. Asks for
    /// the key and stretches it, which takes time.
    ///
    /// # Errors
    /// [`HeaderError::SlotsChanged`] where it is encrypted already, and as [`Self::create`].
    pub fn prepare_encryption(
        &self,
        crypto: &CryptoProvider,
        suite: Suite,
        provider: &dyn KeyProvider,
        options: &SlotOptions,
        now: i64,
    ) -> Result<FirstKeys, HeaderError> {
        if self.fields.secrets.is_some() {
            return Err(HeaderError::SlotsChanged);
        }
        if !suite.is_encrypted() {
            return Err(HeaderError::NotEncrypted);
        }
        let mut fields = self.next_fields()?;
        let (secrets, keys) = first_secrets(crypto, fields.database_id, suite, provider, options)?;
        let ring = KeyRing::behind_plain(&keys, now)?;
        (fields.version, fields.suite) = (FORMAT_VERSION, suite);
        fields.secrets = Some(secrets);
        let page = authenticated_page(crypto, &fields, &keys);
        let header = Self::of(fields, page, Some(0));
        Ok(FirstKeys { header, keys, ring })
    }

    /// Of a page that was verified, or is made right here.
    pub(crate) fn of(fields: HeaderFields, page: Box<Page>, opened_slot: Option<usize>) -> Self {
        Self {
            fields,
            page,
            opened_slot,
        }
    }

    /// The slot whose key this process has the master key from; `None` in a plain database, and of a copy that another copy's keys verified.
    pub fn opened_slot(&self) -> Option<usize> {
        self.opened_slot
    }

    /// The cipher suite.
    pub fn suite(&self) -> Suite {
        self.fields.suite
    }

    /// How blocks of values are sealed under the previous data key; `None` where there is none.
    pub fn previous_suite(&self) -> Option<(u32, Suite)> {
        let secrets = self.fields.secrets.as_ref()?;
        let (key_id, _) = secrets.previous.as_ref()?;
        Some((*key_id, secrets.previous_suite))
    }

    /// The database id.
    pub fn database_id(&self) -> &DatabaseId {
        &self.fields.database_id
    }

    /// How often the header has been written.
    pub fn sequence(&self) -> u64 {
        self.fields.sequence
    }

    /// The header's MAC, which the superblock holds (zeros in a plain database).
    pub fn mac(&self) -> [u8; 32] {
        field(&*self.page, MAC_AT)
    }

    /// The commitment to the master key, which tells one key of a database from all others; `None` in a plain one.
    pub fn commitment(&self) -> Option<[u8; 32]> {
        self.fields.secrets.as_ref().map(|it| it.commitment)
    }

    /// The page to write, both copies alike.
    pub fn to_page(&self) -> Box<[u8; HEADER_LEN]> {
        self.page.clone()
    }

    /// The key slots in use.
    pub fn slots(&self) -> Vec<SlotInfo> {
        self.fields.slots()
    }

    /// Adds a key slot in the first free place and returns its index. No data is rewritten.
    ///
    /// # Errors
    /// [`HeaderError::SlotsFull`], and as [`Self::create`].
    pub fn add_slot(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        provider: &dyn KeyProvider,
        options: &SlotOptions,
    ) -> Result<usize, HeaderError> {
        let free = self
            .secrets(keys)?
            .slots
            .iter()
            .position(Option::is_none)
            .ok_or(HeaderError::SlotsFull)?;
        let slot = new_slot(crypto, &keys.database_id, &keys.master, provider, options)?;
        self.replace_slot(crypto, keys, free, Some(slot))?;
        Ok(free)
    }

    /// Puts a new key into a slot that is in use: its old key opens the new header no more.
    ///
    /// # Errors
    /// [`HeaderError::NoSuchSlot`], and as [`Self::create`].
    pub fn change_slot(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        slot: usize,
        provider: &dyn KeyProvider,
        options: &SlotOptions,
    ) -> Result<(), HeaderError> {
        self.slot_in_use(keys, slot)?;
        let new = new_slot(crypto, &keys.database_id, &keys.master, provider, options)?;
        self.replace_slot(crypto, keys, slot, Some(new))
    }

    /// Empties a slot.
    ///
    /// # Errors
    /// [`HeaderError::NoSuchSlot`], and [`HeaderError::LastSlot`] when no other is in use.
    pub fn remove_slot(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        slot: usize,
    ) -> Result<(), HeaderError> {
        self.slot_in_use(keys, slot)?;
        if self.fields.slots().len() == 1 {
            return Err(HeaderError::LastSlot);
        }
        self.replace_slot(crypto, keys, slot, None)
    }

    fn replace_slot(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        index: usize,
        slot: Option<KeySlot>,
    ) -> Result<(), HeaderError> {
        let mut fields = self.next_fields()?;
        let secrets = fields.secrets.as_mut().ok_or(HeaderError::NotEncrypted)?;
        *secrets
            .slots
            .get_mut(index)
            .ok_or(HeaderError::NoSuchSlot { slot: index })? = slot;
        if !secrets.blobs_fit() {
            return Err(HeaderError::BlobAreaFull);
        }
        if fields.has_key_file() {
            fields.version = FORMAT_VERSION;
        }
        self.page = authenticated_page(crypto, &fields, keys);
        self.fields = fields;
        Ok(())
    }

    /// Puts a new data key, of that suite, in the place of the system's, which becomes the previous one and a retired one of the ring.
    /// The master key stays, and with it every slot. Returns the keys and the ring that go with the changed header.
    ///
    /// # Errors
    /// [`HeaderError::ForeignKeys`], [`HeaderError::NotEncrypted`], [`HeaderError::Random`], and
    /// [`HeaderError::KeyIdsSpent`].
    pub fn rotate_data_key(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        ring: Option<&KeyRing>,
        suite: Suite,
        now: i64,
    ) -> Result<(DatabaseKeys, KeyRing), HeaderError> {
        match suite.is_encrypted() {
            true => self.with_next_data_key(crypto, keys, ring, (suite, None), now),
            false => Err(HeaderError::NotEncrypted),
        }
    }

    /// As [`Self::rotate_data_key`], with a new ring key and a new master key, too, in the slots that it was prepared for: what was
    /// known before opens nothing of the changed header.
    ///
    /// # Errors
    /// As [`Self::rotate_data_key`]; [`HeaderError::SlotsChanged`] where the slots are not those that it was prepared for, and
    /// [`HeaderError::BlobAreaFull`].
    pub fn rekey(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        ring: Option<&KeyRing>,
        new: NewMaster,
        now: i64,
    ) -> Result<(DatabaseKeys, KeyRing), HeaderError> {
        match new.sequence == self.fields.sequence {
            true => {
                let next = (self.fields.suite, Some(new));
                self.with_next_data_key(crypto, keys, ring, next, now)
            }
            false => Err(HeaderError::SlotsChanged),
        }
    }

    fn with_next_data_key(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        ring: Option<&KeyRing>,
        (suite, new_master): (Suite, Option<NewMaster>),
        now: i64,
    ) -> Result<(DatabaseKeys, KeyRing), HeaderError> {
        self.secrets(keys)?;
        let mut next = keys.clone();
        let mut slots = None;
        if let Some(new) = new_master {
            next.master = Arc::new(new.master);
            next.ring_key = Arc::new(crypto.random_key()?);
            slots = Some((new.slots, new.followed.1));
        }
        let old_id = keys.system_key_id;
        let key_id = match ring {
            Some(ring) => Some(ring.next_key_id()),
            None => old_id
                .max(keys.previous_key_id().unwrap_or(0))
                .checked_add(1),
        };
        let key_id = key_id.ok_or(HeaderError::KeyIdsSpent)?;
        let old_suite = self.fields.suite;
        let retired = (key_id, &*next.ring_key);
        let ring = KeyRing::retiring(crypto, keys, ring, old_suite, retired, now)?;
        let (old, new) = (&keys.system_dek, Arc::new(crypto.random_key()?));
        let (mut fields, mut opened_slot) = (self.next_fields()?, self.opened_slot);
        (fields.version, fields.suite) = (FORMAT_VERSION, suite);
        if let Some(secrets) = &mut fields.secrets {
            let wrapping_key = next.master.wrapping_key();
            secrets.commitment = *next.master.commitment();
            secrets.system_key_id = key_id;
            secrets.system_dek = crypto.wrap_key(wrapping_key, &new);
            secrets.previous = Some((old_id, crypto.wrap_key(wrapping_key, old)));
            secrets.previous_suite = old_suite;
            secrets.ring_key = crypto.wrap_key(wrapping_key, &next.ring_key);
            if let Some((slots, opened)) = slots {
                (secrets.slots, opened_slot) = (slots, Some(opened));
            }
            if !secrets.blobs_fit() {
                return Err(HeaderError::BlobAreaFull);
            }
        }
        next.previous = Some((old_id, Arc::clone(old)));
        next.retired.push((old_id, Arc::clone(old)));
        (next.system_key_id, next.system_dek) = (key_id, new);
        self.page = authenticated_page(crypto, &fields, &next);
        (self.fields, self.opened_slot) = (fields, opened_slot);
        Ok((next, ring))
    }

    /// Forgets the previous data key and all retired ones. Returns the keys and the ring that go with the changed header.
    ///
    /// # Errors
    /// As [`Self::rotate_data_key`].
    pub fn forget_retired_keys(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        ring: &KeyRing,
    ) -> Result<(DatabaseKeys, KeyRing), HeaderError> {
        self.secrets(keys)?;
        let mut fields = self.next_fields()?;
        let suite = fields.suite;
        if let Some(secrets) = &mut fields.secrets {
            (secrets.previous, secrets.previous_suite) = (None, suite);
        }
        let mut next = keys.clone();
        (next.previous, next.retired) = (None, Vec::new());
        self.page = authenticated_page(crypto, &fields, keys);
        self.fields = fields;
        Ok((next, ring.without_retired()))
    }

    /// Has the data key be changed at an age in days; 0: never. Returns the ring that says so. The header stays as it is, but where there
    /// was no ring: then it becomes one of version 2.
    ///
    /// # Errors
    /// As [`Self::rotate_data_key`].
    pub fn set_key_age_days(
        &mut self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        ring: Option<&KeyRing>,
        days: u32,
    ) -> Result<KeyRing, HeaderError> {
        self.secrets(keys)?;
        if let Some(ring) = ring {
            return Ok(ring.with_key_age_days(days));
        }
        let ring = KeyRing::first(keys)?.with_key_age_days(days);
        let mut fields = self.next_fields()?;
        fields.version = FORMAT_VERSION;
        self.page = authenticated_page(crypto, &fields, keys);
        self.fields = fields;
        Ok(ring)
    }

    /// The fields of the header that comes next, as far as they follow from this one.
    fn next_fields(&self) -> Result<HeaderFields, HeaderError> {
        let mut fields = self.fields.clone();
        let sequence = fields.sequence.checked_add(1);
        fields.sequence = sequence.ok_or(HeaderError::Tampered {
            what: "the header's sequence",
        })?;
        Ok(fields)
    }

    fn slot_in_use(&self, keys: &DatabaseKeys, slot: usize) -> Result<(), HeaderError> {
        let in_use = self
            .secrets(keys)?
            .slots
            .get(slot)
            .is_some_and(Option::is_some);
        if in_use {
            Ok(())
        } else {
            Err(HeaderError::NoSuchSlot { slot })
        }
    }

    /// The wrapped keys, if `keys` are theirs.
    pub(crate) fn secrets(&self, keys: &DatabaseKeys) -> Result<&WrappedSecrets, HeaderError> {
        let secrets = self
            .fields
            .secrets
            .as_ref()
            .ok_or(HeaderError::NotEncrypted)?;
        // The database id enters the commitment.
        if *keys.master.commitment() != secrets.commitment {
            return Err(HeaderError::ForeignKeys);
        }
        Ok(secrets)
    }
}

/// Fresh master key, data key and ring key, with one slot.
fn first_secrets(
    crypto: &CryptoProvider,
    database_id: DatabaseId,
    suite: Suite,
    provider: &dyn KeyProvider,
    options: &SlotOptions,
) -> Result<(WrappedSecrets, DatabaseKeys), HeaderError> {
    let master = MasterKey::new(crypto, &database_id, crypto.random_key()?);
    let (system_dek, ring_key) = (crypto.random_key()?, crypto.random_key()?);
    let mut slots = [const { None }; SLOT_COUNT];
    slots[0] = Some(new_slot(crypto, &database_id, &master, provider, options)?);
    let secrets = WrappedSecrets {
        commitment: *master.commitment(),
        system_key_id: 1,
        system_dek: crypto.wrap_key(master.wrapping_key(), &system_dek),
        previous: None,
        previous_suite: suite,
        ring_key: crypto.wrap_key(master.wrapping_key(), &ring_key),
        slots,
    };
    if !secrets.blobs_fit() {
        return Err(HeaderError::BlobAreaFull);
    }
    let keys = DatabaseKeys {
        database_id,
        master: Arc::new(master),
        system_key_id: 1,
        system_dek: Arc::new(system_dek),
        previous: None,
        retired: Vec::new(),
        ring_key: Arc::new(ring_key),
    };
    Ok((secrets, keys))
}

fn new_database_id(crypto: &CryptoProvider) -> Result<DatabaseId, HeaderError> {
    let mut id = [0; 16];
    crypto.random(&mut id)?;
    Ok(DatabaseId::from_bytes(id))
}

pub(crate) fn new_slot(
    crypto: &CryptoProvider,
    database_id: &DatabaseId,
    master: &MasterKey,
    provider: &dyn KeyProvider,
    options: &SlotOptions,
) -> Result<KeySlot, HeaderError> {
    if !is_valid_label(&options.label) {
        return Err(HeaderError::InvalidLabel);
    }
    let (material, blob) = provider.establish(&KeyContext {
        database_id: *database_id,
    })?;
    let kdf = match material {
        KeyMaterial::Raw(_) => SlotKdf::None,
        KeyMaterial::Passphrase(_) => options.stretch.kdf(),
    };
    let key_file = provider.key_file()?;
    let like = KeySlot {
        kind: provider.kind(),
        kdf,
        salt: [0; 32],
        wrapped_master_key: [0; 40],
        label: options.label.clone(),
        blob,
        has_key_file: key_file.is_some(),
    };
    wrapped_slot(
        crypto,
        database_id,
        master,
        (&material, key_file.as_ref()),
        like,
    )
}

/// A slot like one that was given, with a salt of its own and the master key wrapped for it.
pub(crate) fn wrapped_slot(
    crypto: &CryptoProvider,
    database_id: &DatabaseId,
    master: &MasterKey,
    (material, key_file): (&KeyMaterial, Option<&SecretBytes>),
    mut slot: KeySlot,
) -> Result<KeySlot, HeaderError> {
    crypto.random(&mut slot.salt)?;
    let kek = key_encryption_key(
        crypto,
        database_id,
        material,
        slot.kdf,
        &slot.salt,
        key_file,
    )?;
    slot.wrapped_master_key = master.wrapped(crypto, &kek.ok_or(HeaderError::WrongKey)?);
    Ok(slot)
}

fn authenticated_page(
    crypto: &CryptoProvider,
    fields: &HeaderFields,
    keys: &DatabaseKeys,
) -> Box<Page> {
    let mut page = fields.render();
    let mac = crypto.hmac_sha256(keys.master.mac_key(), &[&page[..MAC_AT]]);
    put(&mut *page, MAC_AT, &mac);
    page
}
