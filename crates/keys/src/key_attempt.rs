//! `KeyAttempt`: one opening's key and what it may cost, over every header that is tried with it.
//!
//! What must hold:
//! - Blobs come from headers that nobody vouched for: a place is asked for at most [`MAX_REQUESTS`] of them, for each once.
//! - Who is not accepted, or not answered, does not ask again: a header cannot have a PIN tried often enough to lock a device.

use std::sync::Arc;

use hushdb_crypto::SecretBytes;

use crate::slot::KeySlot;
use crate::{DatabaseId, KdfBudget, KeyContext, KeyError, KeyMaterial, KeyProvider};

/// Blobs that one opening may ask a place for, over both copies of the header: a header has eight slots.
const MAX_REQUESTS: usize = crate::SLOT_COUNT;

/// A caller's key on its way into a file: asked for once, and stretched within one budget, though a file has two copies of its header.
pub struct KeyAttempt<'a> {
    provider: &'a dyn KeyProvider,
    budget: KdfBudget,
    slot: Option<usize>,
    answers: Vec<Answer>,
    ended: Option<KeyError>,
    /// Read once, whether there is one or not.
    key_file: Option<Option<Arc<SecretBytes>>>,
    opened: Option<usize>,
}

/// What the place said to a blob, or to all of a database if it keeps none.
struct Answer {
    database_id: DatabaseId,
    blob: Vec<u8>,
    key: Result<KeyMaterial, KeyError>,
}

impl<'a> KeyAttempt<'a> {
    /// Nothing is asked for yet.
    pub fn new(provider: &'a dyn KeyProvider, budget: KdfBudget) -> Self {
        Self {
            provider,
            budget,
            slot: None,
            answers: Vec::new(),
            ended: None,
            key_file: None,
            opened: None,
        }
    }

    /// Tries this slot alone.
    #[must_use]
    pub fn with_slot(mut self, slot: usize) -> Self {
        self.slot = Some(slot);
        self
    }

    /// The slot that the key opened last.
    pub fn opened(&self) -> Option<usize> {
        self.opened
    }

    /// The key file that belongs to the key.
    pub(crate) fn key_file(&mut self) -> Result<Option<Arc<SecretBytes>>, KeyError> {
        if let Some(known) = &self.key_file {
            return Ok(known.clone());
        }
        let file = self.provider.key_file()?.map(Arc::new);
        Ok(self.key_file.insert(file).clone())
    }

    /// The slots that this provider can try, those of its kind first. With a key file, those that were made with one: another's slot
    /// would pass for a key that needs none. A provider that keeps blobs gets only its own kind's:
    /// no blob is sent to a service that did not make it.
    pub(crate) fn candidates<'s>(
        &self,
        slots: &'s [Option<KeySlot>],
        has_key_file: bool,
    ) -> Vec<(usize, &'s KeySlot)> {
        let provider = self.provider;
        let used = slots.iter().enumerate();
        let used = used.filter_map(|(index, slot)| Some((index, slot.as_ref()?)));
        let mut slots: Vec<_> = used
            .filter(|(index, _)| self.slot.is_none_or(|only| only == *index))
            .filter(|(_, slot)| slot.has_key_file == has_key_file)
            .filter(|(_, slot)| !provider.keeps_blob() || slot.kind == provider.kind())
            .collect();
        slots.sort_by_key(|(_, slot)| slot.kind != provider.kind());
        slots
    }

    /// The key for a slot, and the budget that it is stretched within. What a provider without blobs yields is the same for all
    /// slots of a database; one with blobs is asked once for each.
    pub(crate) fn key_of(
        &mut self,
        context: &KeyContext,
        slot: &KeySlot,
    ) -> Result<(&KeyMaterial, &mut KdfBudget), KeyError> {
        let database_id = context.database_id;
        let keeps_blob = self.provider.keeps_blob();
        let blob: &[u8] = if keeps_blob { &slot.blob } else { &[] };
        let mut known = self.answers.iter();
        let known = known.position(|it| it.database_id == database_id && it.blob == blob);
        let at = match known {
            Some(at) => at,
            None => {
                if let Some(error) = &self.ended {
                    return Err(error.clone());
                }
                if self.answers.len() == MAX_REQUESTS {
                    let limit = MAX_REQUESTS;
                    return Err(KeyError::TooManyRequests { limit });
                }
                let key = self.provider.recover(context, blob);
                self.ended = key.as_ref().err().filter(|it| it.ends_attempt()).cloned();
                self.answers.push(Answer {
                    database_id,
                    blob: blob.to_vec(),
                    key,
                });
                self.answers.len() - 1
            }
        };
        match &self.answers[at].key {
            Ok(material) => Ok((material, &mut self.budget)),
            Err(error) => Err(error.clone()),
        }
    }

    pub(crate) fn has_opened(&mut self, slot: usize) {
        self.opened = Some(slot);
    }
}

impl std::fmt::Debug for KeyAttempt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyAttempt")
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
