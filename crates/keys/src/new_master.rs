//! `NewMaster`: a master key that is to take the place of the one before, wrapped for the slots that go on.
//!
//! What must hold:
//! - Every slot in use is kept with its key at hand, or dropped: none stays that wraps the master key before, and nobody is locked out
//!   unasked.
//! - A kept slot gets a new salt, and at a place that wraps keys a new root. So whoever has the slot's wrapped key, or its root there,
//!   of before opens nothing of the new one; who has the passphrase or the raw key does.
//! - Nothing that takes time, asks a person or a service happens when the header changes: it has happened here.

use std::fmt;

use hushdb_crypto::CryptoProvider;

use crate::header::{new_slot, wrapped_slot};
use crate::master_key::MasterKey;
use crate::slot::KeySlot;
use crate::{
    DatabaseKeys, Header, HeaderError, KdfBudget, KeyAttempt, KeyContext, KeyProvider, SLOT_COUNT,
    SlotOptions, UnverifiedHeader,
};

/// What becomes of a slot under a new master key.
pub enum SlotPlan<'a> {
    /// Its key opens the file on, under its label.
    Keep {
        /// Its number.
        slot: usize,
        /// Gives the key that opens it.
        key: &'a dyn KeyProvider,
    },
    /// Another key opens the file, too; in the first place that is free then.
    Add {
        /// Gives it.
        key: &'a dyn KeyProvider,
        /// Label and stretching.
        options: SlotOptions,
    },
    /// Its key opens the file no more.
    Drop {
        /// Its number.
        slot: usize,
    },
}

/// A master key that no header has yet.
pub struct NewMaster {
    /// Of the header that it was prepared for.
    pub(crate) sequence: u64,
    pub(crate) master: MasterKey,
    pub(crate) slots: [Option<KeySlot>; SLOT_COUNT],
    /// The step of the plan whose key the process goes on with, and its slot.
    pub(crate) followed: (usize, usize),
}

impl NewMaster {
    /// The step of the plan whose key the process goes on with: the one that keeps the slot which opened the file, else the first that keeps
    /// one, else the first that adds one.
    pub fn followed(&self) -> usize {
        self.followed.0
    }

    /// Its commitment, by which the header that has it is known.
    pub fn commitment(&self) -> &[u8; 32] {
        self.master.commitment()
    }
}

impl Header {
    /// Draws a master key and wraps it for the slots of a plan. Asks for their keys and stretches them; the header stays as it is.
    ///
    /// # Errors
    /// [`HeaderError::SlotNotNamed`], [`HeaderError::SlotNamedTwice`], [`HeaderError::NoSuchSlot`], [`HeaderError::LastSlot`] where no
    /// slot would be left, [`HeaderError::WrongKey`] for a key that does not open its slot; and as [`Self::add_slot`].
    pub fn prepare_new_master(
        &self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        plan: &[SlotPlan<'_>],
    ) -> Result<NewMaster, HeaderError> {
        let secrets = self.secrets(keys)?;
        let mut named = [false; SLOT_COUNT];
        for step in plan {
            let (SlotPlan::Keep { slot, .. } | SlotPlan::Drop { slot }) = *step else {
                continue;
            };
            if !secrets.slots.get(slot).is_some_and(Option::is_some) {
                return Err(HeaderError::NoSuchSlot { slot });
            }
            if std::mem::replace(&mut named[slot], true) {
                return Err(HeaderError::SlotNamedTwice { slot });
            }
        }
        let mut unnamed = secrets.slots.iter().zip(named);
        if let Some(slot) = unnamed.position(|(slot, named)| slot.is_some() && !named) {
            return Err(HeaderError::SlotNotNamed { slot });
        }
        if plan
            .iter()
            .all(|step| matches!(step, SlotPlan::Drop { .. }))
        {
            return Err(HeaderError::LastSlot);
        }
        let master = MasterKey::new(crypto, &keys.database_id, crypto.random_key()?);
        let mut slots = [const { None }; SLOT_COUNT];
        let mut followed = None;
        for (at, step) in plan.iter().enumerate() {
            if let SlotPlan::Keep { slot, key } = *step {
                slots[slot] = Some(self.kept_slot(crypto, keys, &master, slot, key)?);
                if followed.is_none() || self.opened_slot() == Some(slot) {
                    followed = Some((at, slot));
                }
            }
        }
        for (at, step) in plan.iter().enumerate() {
            if let SlotPlan::Add { key, options } = step {
                let free = slots.iter().position(Option::is_none);
                let free = free.ok_or(HeaderError::SlotsFull)?;
                slots[free] = Some(new_slot(crypto, &keys.database_id, &master, *key, options)?);
                followed.get_or_insert((at, free));
            }
        }
        Ok(NewMaster {
            sequence: self.sequence(),
            master,
            slots,
            followed: followed.ok_or(HeaderError::LastSlot)?,
        })
    }

    /// A slot for the key of one that is in use.
    fn kept_slot(
        &self,
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        master: &MasterKey,
        slot: usize,
        key: &dyn KeyProvider,
    ) -> Result<KeySlot, HeaderError> {
        let old = self.secrets(keys)?.slots.get(slot);
        let old = old.and_then(Option::as_ref);
        let old = old.ok_or(HeaderError::NoSuchSlot { slot })?;
        let mut attempt = KeyAttempt::new(key, KdfBudget::default()).with_slot(slot);
        UnverifiedHeader::parse(&self.to_page())?.unlock(crypto, &mut attempt)?;
        let context = KeyContext {
            database_id: keys.database_id,
        };
        let established = match key.keeps_blob() {
            true => Some(key.establish(&context)?),
            false => None,
        };
        let key_file = attempt.key_file()?;
        let (material, blob) = match &established {
            Some((material, blob)) => (material, blob.clone()),
            // As it was given a moment ago: nobody is asked twice.
            None => (attempt.key_of(&context, old)?.0, Vec::new()),
        };
        let like = KeySlot {
            blob,
            ..old.clone()
        };
        let material = (material, key_file.as_deref());
        wrapped_slot(crypto, &keys.database_id, master, material, like)
    }
}

impl fmt::Debug for NewMaster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NewMaster([secret])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::providers::KeyText;
    use crate::{KeyRing, Stretch, Suite};

    const NOW: i64 = 1_800_000_000;

    fn cheap(label: &str) -> SlotOptions {
        SlotOptions {
            label: label.to_owned(),
            stretch: Stretch::cheap_for_tests(),
        }
    }

    fn unlock(header: &Header, key: &str) -> Result<DatabaseKeys, HeaderError> {
        let key = KeyText::new(key);
        let mut attempt = KeyAttempt::new(&key, KdfBudget::default());
        let header = UnverifiedHeader::parse(&header.to_page())?;
        header
            .unlock(&CryptoProvider::aws_lc(), &mut attempt)
            .map(|(_, keys)| keys)
    }

    /// A header with three slots: `one`, `two` and a raw key.
    fn header() -> (CryptoProvider, Header, DatabaseKeys) {
        let crypto = CryptoProvider::aws_lc();
        let one = KeyText::new("one");
        let (mut header, keys) =
            Header::create(&crypto, Suite::Gcm, &one, &cheap("first")).unwrap();
        for (key, label) in [("two".to_owned(), "second"), (raw(), "third")] {
            header
                .add_slot(&crypto, &keys, &KeyText::new(key), &cheap(label))
                .unwrap();
        }
        (crypto, header, keys)
    }

    fn raw() -> String {
        format!("hex:{}", "07".repeat(32))
    }

    #[test]
    fn the_plan_is_what_opens_afterwards_and_nothing_else_does() {
        let (crypto, mut header, keys) = header();
        let before = header.clone();
        let (one, raw_key, new) = (
            KeyText::new("one"),
            KeyText::new(raw()),
            KeyText::new("new"),
        );
        let plan = [
            SlotPlan::Add {
                key: &new,
                options: cheap("added"),
            },
            SlotPlan::Keep { slot: 0, key: &one },
            SlotPlan::Drop { slot: 1 },
            SlotPlan::Keep {
                slot: 2,
                key: &raw_key,
            },
        ];
        let prepared = header.prepare_new_master(&crypto, &keys, &plan).unwrap();
        let commitment = *prepared.commitment();
        let (next, ring) = header.rekey(&crypto, &keys, None, prepared, NOW).unwrap();
        assert_eq!(header.commitment(), Some(commitment));
        assert_ne!(before.commitment(), header.commitment());
        let labels: Vec<_> = header.slots().into_iter().map(|slot| slot.label).collect();
        assert_eq!(labels, ["first", "added", "third"]);
        for key in ["one", "new", &raw()] {
            let opened = unlock(&header, key).unwrap();
            let opened = opened.with_ring(&crypto, &ring).unwrap();
            assert_eq!(
                (opened.system_key_id(), opened.previous_key_id()),
                (2, Some(1))
            );
            assert_eq!(opened.ring_key(), next.ring_key());
            assert_ne!(opened.ring_key(), keys.ring_key());
        }
        assert_eq!(unlock(&header, "two").unwrap_err(), HeaderError::WrongKey);
        // The keys before neither hold the header nor open the ring.
        assert_eq!(
            header.remove_slot(&crypto, &keys, 0),
            Err(HeaderError::ForeignKeys)
        );
        let old = unlock(&before, "one").unwrap();
        assert_ne!(old.ring_key(), next.ring_key());
        for page in [before.to_page(), header.to_page()] {
            assert!(page.windows(40).all(|bytes| {
                let bytes = bytes.first_chunk().unwrap();
                let opened = crypto.unwrap_key(keys.master.wrapping_key(), bytes);
                !opened.is_ok_and(|key| key == *next.system_dek || key == *next.ring_key)
            }));
        }
        // And it ends as every change of the data key does.
        let (next, ring) = header.forget_retired_keys(&crypto, &next, &ring).unwrap();
        assert!(next.has_key(2) && !next.has_key(1));
        assert!(KeyRing::from_bytes(&ring.to_bytes()).is_ok());
        assert!(
            unlock(&header, "new")
                .unwrap()
                .with_ring(&crypto, &ring)
                .is_ok()
        );
    }

    #[test]
    fn a_kept_slot_has_a_new_salt_and_keeps_its_cost() {
        let (crypto, mut header, keys) = header();
        let before = header.slots();
        let salts = |header: &Header| -> Vec<Vec<u8>> {
            let page = header.to_page();
            let salts = (0..3).map(|slot| page[256 + 256 * slot + 16..][..32].to_vec());
            salts.collect()
        };
        let old = salts(&header);
        let given = ["one".to_owned(), "two".to_owned(), raw()].map(KeyText::new);
        let numbered = given.iter().enumerate();
        let plan: Vec<SlotPlan<'_>> = numbered
            .map(|(slot, key)| SlotPlan::Keep { slot, key })
            .collect();
        let prepared = header.prepare_new_master(&crypto, &keys, &plan).unwrap();
        header.rekey(&crypto, &keys, None, prepared, NOW).unwrap();
        assert_eq!(header.slots(), before);
        assert!(salts(&header).iter().zip(&old).all(|(new, old)| new != old));
    }

    #[test]
    fn plans_that_forget_a_slot_or_say_it_twice_are_refused() {
        let (crypto, header, keys) = header();
        let (one, two) = (KeyText::new("one"), KeyText::new("two"));
        let keep = |slot, key| SlotPlan::Keep { slot, key };
        let drop = |slot| SlotPlan::Drop { slot };
        let refused = |plan: &[SlotPlan<'_>]| {
            let prepared = header.prepare_new_master(&crypto, &keys, plan);
            prepared.map(|_| ()).unwrap_err()
        };
        use HeaderError::{LastSlot, NoSuchSlot, SlotNamedTwice, SlotNotNamed, WrongKey};
        assert_eq!(refused(&[]), SlotNotNamed { slot: 0 });
        assert_eq!(refused(&[keep(0, &one), drop(2)]), SlotNotNamed { slot: 1 });
        let twice = [keep(0, &one), drop(1), drop(0), drop(2)];
        assert_eq!(refused(&twice), SlotNamedTwice { slot: 0 });
        let none = [keep(0, &one), drop(1), drop(2), drop(3)];
        assert_eq!(refused(&none), NoSuchSlot { slot: 3 });
        assert_eq!(
            refused(&[drop(0), drop(1), drop(2), drop(9)]),
            NoSuchSlot { slot: 9 }
        );
        assert_eq!(refused(&[drop(0), drop(1), drop(2)]), LastSlot);
        // A key that opens the file, but not that slot.
        assert_eq!(refused(&[keep(0, &two), drop(1), drop(2)]), WrongKey);
    }

    #[test]
    fn what_was_prepared_for_another_header_is_refused() {
        let (crypto, mut header, keys) = header();
        let one = KeyText::new("one");
        let plan = [
            SlotPlan::Keep { slot: 0, key: &one },
            SlotPlan::Drop { slot: 1 },
            SlotPlan::Drop { slot: 2 },
        ];
        let prepared = header.prepare_new_master(&crypto, &keys, &plan).unwrap();
        header.remove_slot(&crypto, &keys, 1).unwrap();
        let page = header.to_page();
        let changed = header.rekey(&crypto, &keys, None, prepared, NOW);
        assert_eq!(changed.map(|_| ()), Err(HeaderError::SlotsChanged));
        assert_eq!(header.to_page(), page);
    }
}
