//! A header as a file shows it: well-formed, but anyone may have written it.
//!
//! Opening it takes this order, and no key leaves before the last step
//! 1. a slot's key-encryption key, within the limits and the budget for key derivation;
//! 2. the master key, unwrapped;
//! 3. its commitment against the header's, in constant time: before anything is opened with a key below it;
//! 4. the header's MAC, in constant time: slots, suite, version and sequence are now as they were written;
//! 5. system DEK and ring key, unwrapped.

use std::sync::Arc;

use hushdb_crypto::{CryptoProvider, SecretKey, constant_time_eq};

use crate::header::Header;
use crate::header_fields::{HeaderFields, WrappedSecrets};
use crate::layout::{HEADER_LEN, MAC_AT, Page, field};
use crate::master_key::MasterKey;
use crate::slot::key_encryption_key;
use crate::{
    DatabaseId, DatabaseKeys, HeaderError, KeyAttempt, KeyContext, KeyError, KeyMaterial, SlotInfo,
    Suite,
};

/// A header that no key has vouched for.
#[derive(Clone, Debug)]
pub struct UnverifiedHeader {
    fields: HeaderFields,
    page: Box<Page>,
}

impl UnverifiedHeader {
    /// Reads one copy of the header. Never panics, whatever the page holds.
    ///
    /// # Errors
    /// [`HeaderError::NotADatabase`], [`HeaderError::Corrupted`], [`HeaderError::NewerFormat`],
    /// [`HeaderError::UnsupportedSuite`], [`HeaderError::AbsurdKdf`], and [`HeaderError::Tampered`] for a page whose
    /// checksum holds and which no honest program writes.
    pub fn parse(page: &[u8; HEADER_LEN]) -> Result<Self, HeaderError> {
        Ok(Self {
            fields: HeaderFields::parse(page)?,
            page: Box::new(*page),
        })
    }

    /// The cipher suite that the header names.
    pub fn suite(&self) -> Suite {
        self.fields.suite
    }

    /// The database id that the header names.
    pub fn database_id(&self) -> &DatabaseId {
        &self.fields.database_id
    }

    /// The format version of the file.
    pub fn format_version(&self) -> u16 {
        self.fields.version
    }

    /// How often the header has been written.
    pub fn sequence(&self) -> u64 {
        self.fields.sequence
    }

    /// The MAC that the header carries (zeros in a plain database).
    pub fn mac(&self) -> [u8; 32] {
        field(&*self.page, MAC_AT)
    }

    /// The commitment to the master key that the header names; `None` in a plain database.
    pub fn commitment(&self) -> Option<[u8; 32]> {
        self.fields.secrets.as_ref().map(|it| it.commitment)
    }

    /// What the key slots tell without a key.
    pub fn slots(&self) -> Vec<SlotInfo> {
        self.fields.slots()
    }

    /// Opens a plain database's header.
    ///
    /// # Errors
    /// [`HeaderError::KeyRequired`] when the database is encrypted.
    pub fn open_plain(&self) -> Result<Header, HeaderError> {
        match self.fields.secrets {
            Some(_) => Err(HeaderError::KeyRequired),
            None => Ok(Header::of(self.fields.clone(), self.page.clone(), None)),
        }
    }

    /// Opens an encrypted database's header with the caller's key. Slots of the provider's kind are tried first. A file's other
    /// copy is tried with the same `attempt`.
    ///
    /// # Errors
    /// [`HeaderError::NotEncrypted`] for a plain database, [`HeaderError::WrongKey`] when no slot opens,
    /// [`HeaderError::KdfBudgetSpent`] when slots were left out for their cost, [`HeaderError::Tampered`] when a slot
    /// opens and the rest does not fit it, [`HeaderError::Key`] and [`HeaderError::Stretch`] when there is no key.
    pub fn unlock(
        &self,
        crypto: &CryptoProvider,
        attempt: &mut KeyAttempt<'_>,
    ) -> Result<(Header, DatabaseKeys), HeaderError> {
        let secrets = self
            .fields
            .secrets
            .as_ref()
            .ok_or(HeaderError::NotEncrypted)?;
        let database_id = self.fields.database_id;
        let context = KeyContext { database_id };
        let mut failure = HeaderError::WrongKey;
        let key_file = attempt.key_file()?;
        let candidates = attempt.candidates(&secrets.slots, key_file.is_some());
        let needs_file = || !attempt.candidates(&secrets.slots, true).is_empty();
        if candidates.is_empty() && key_file.is_none() && needs_file() {
            failure = KeyError::KeyFileNeeded.into();
        }
        for (index, slot) in candidates {
            let (material, budget) = match attempt.key_of(&context, slot) {
                Ok(answer) => answer,
                Err(error) if error.ends_attempt() => return Err(error.into()),
                // Another slot of this service may still open.
                Err(error) => {
                    failure = error.into();
                    continue;
                }
            };
            if matches!(material, KeyMaterial::Passphrase(_)) && !budget.spend(slot.kdf) {
                failure = HeaderError::KdfBudgetSpent;
                continue;
            }
            let Some(kek) = key_encryption_key(
                crypto,
                &database_id,
                material,
                slot.kdf,
                &slot.salt,
                key_file.as_deref(),
            )?
            else {
                continue;
            };
            if let Ok(master_key) = crypto.unwrap_key(&kek, &slot.wrapped_master_key) {
                let master = MasterKey::new(crypto, &database_id, master_key);
                let keys = self.promote(crypto, secrets, master)?;
                attempt.has_opened(index);
                let header = Header::of(self.fields.clone(), self.page.clone(), Some(index));
                return Ok((header, keys));
            }
        }
        Err(failure)
    }

    /// Verifies this copy with the keys that another copy gave: same database, same master key, MAC holds.
    ///
    /// # Errors
    /// [`HeaderError::ForeignKeys`] for another database, [`HeaderError::Tampered`] otherwise.
    pub fn verify(
        &self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
    ) -> Result<Header, HeaderError> {
        if self.fields.database_id != keys.database_id {
            return Err(HeaderError::ForeignKeys);
        }
        let secrets = self.fields.secrets.as_ref().ok_or(HeaderError::Tampered {
            what: "the cipher suite",
        })?;
        self.check(crypto, secrets, &keys.master)?;
        Ok(Header::of(self.fields.clone(), self.page.clone(), None))
    }

    fn promote(
        &self,
        crypto: &CryptoProvider,
        secrets: &WrappedSecrets,
        master: MasterKey,
    ) -> Result<DatabaseKeys, HeaderError> {
        self.check(crypto, secrets, &master)?;
        let unwrap = |wrapped: &[u8; 40]| -> Result<SecretKey, HeaderError> {
            crypto
                .unwrap_key(master.wrapping_key(), wrapped)
                .map_err(|_| HeaderError::Tampered {
                    what: "a wrapped data key",
                })
        };
        let system_dek = Arc::new(unwrap(&secrets.system_dek)?);
        let ring_key = Arc::new(unwrap(&secrets.ring_key)?);
        let previous = match &secrets.previous {
            Some((key_id, wrapped)) => Some((*key_id, Arc::new(unwrap(wrapped)?))),
            None => None,
        };
        Ok(DatabaseKeys {
            database_id: self.fields.database_id,
            system_key_id: secrets.system_key_id,
            system_dek,
            previous,
            retired: Vec::new(),
            ring_key,
            master: Arc::new(master),
        })
    }

    /// The commitment, then the MAC.
    fn check(
        &self,
        crypto: &CryptoProvider,
        secrets: &WrappedSecrets,
        master: &MasterKey,
    ) -> Result<(), HeaderError> {
        if !constant_time_eq(master.commitment(), &secrets.commitment) {
            return Err(HeaderError::Tampered {
                what: "the commitment to the master key",
            });
        }
        if !crypto.hmac_sha256_verify(master.mac_key(), &[&self.page[..MAC_AT]], &self.mac()) {
            return Err(HeaderError::Tampered {
                what: "the file header",
            });
        }
        Ok(())
    }
}
