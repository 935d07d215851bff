//! The key ring: data keys beside the system's, and what else has the lifetime of keys (FORMAT.md, "Key ring").
//!
//! What must hold:
//! - Ids of data keys are given once: all that the ring has are below its next one, and so is the system's.
//! - A wrapped key is used only if it opens under the ring key and its commitment holds.
//! - While a key is retired the header has a previous one, which is in the ring; and the other way round.
//! - Blocks that are under no key are there only while a ring, sealed under the system's key, says that the file was plain; nothing else is
//!   retired then.
//!
//! Refuses what no release writes, and says so where a later one may.

use std::sync::Arc;

use hushdb_crypto::{CryptoProvider, KdfLabel, SecretKey, constant_time_eq};

use crate::layout::put;
use crate::{DatabaseId, DatabaseKeys, HeaderError, Suite};

const VERSION: u8 = 1;
const WRAPPED_BYTES: usize = 40;
const EXTENT_BYTES: usize = 16;
const KIND_RETIRED: u8 = 1;
/// No key: blocks that were written while the database was plain. 2 to 4 are for keys of tables and columns.
const KIND_PLAIN: u8 = 5;
/// Column of a key that is of no single one.
const ALL_COLUMNS: u32 = u32::MAX;
/// A ring with more retired keys than this was not written by this release: a rotation begins when the one before has ended.
const MAX_RETIRED: usize = 64;
/// Places of one replaced ring.
const MAX_RESERVED: usize = 64;

/// Sectors that are neither free nor named: first sector, and how many.
pub type ReservedSectors = (u64, u64);

/// A key ring as its block has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRing {
    next_key_id: u32,
    next_unlock_id: u32,
    /// Age in days at which the data key is to be replaced; 0: never.
    key_age_days: u32,
    /// When the system's data key was made, in seconds of 1970; 0 where it is not known.
    key_made: i64,
    /// Where the ring before this one stood: to be overwritten by who writes next, and free with the ring after this one.
    pub reserved: Vec<ReservedSectors>,
    retired: Vec<RetiredKey>,
}

/// What may be known of a data key without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataKeyInfo {
    /// Its number.
    pub id: u32,
    /// How blocks under it are sealed.
    pub suite: Suite,
    /// When it was made, in seconds of 1970; `None` where it is not known.
    pub made: Option<i64>,
    /// When another took its place, likewise; `None` for the one of new blocks.
    pub ended: Option<i64>,
}

/// A data key that seals nothing any more; of the time without one `id` is 0 and `wrapped` is `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RetiredKey {
    id: u32,
    suite: Suite,
    made: i64,
    ended: i64,
    commitment: [u8; 32],
    wrapped: Option<[u8; WRAPPED_BYTES]>,
}

impl KeyRing {
    /// The id that the next data key gets.
    pub fn next_key_id(&self) -> u32 {
        self.next_key_id
    }

    /// Ids of the retired data keys, in order.
    pub fn retired_ids(&self) -> impl Iterator<Item = u32> + '_ {
        self.retired.iter().map(|key| key.id)
    }

    /// Whether blocks may be under a key that is retired, or under none.
    pub fn has_retired(&self) -> bool {
        !self.retired.is_empty()
    }

    /// What is known of the retired data keys, in order.
    pub fn retired(&self) -> impl Iterator<Item = DataKeyInfo> + '_ {
        self.retired.iter().map(|key| DataKeyInfo {
            id: key.id,
            suite: key.suite,
            made: (key.made != 0).then_some(key.made),
            ended: Some(key.ended),
        })
    }

    /// When the system's data key was made, in seconds of 1970; `None` where it is not known.
    pub fn key_made(&self) -> Option<i64> {
        (self.key_made != 0).then_some(self.key_made)
    }

    /// Age in days at which the system's data key is to be changed; `None`: never.
    pub fn key_age_days(&self) -> Option<u32> {
        (self.key_age_days != 0).then_some(self.key_age_days)
    }

    /// The ring of a file that has none yet: its data key was made at a time that nobody wrote down.
    pub(crate) fn first(keys: &DatabaseKeys) -> Result<Self, HeaderError> {
        let next = keys.system_key_id.checked_add(1);
        Ok(Self {
            next_key_id: next.ok_or(HeaderError::KeyIdsSpent)?,
            next_unlock_id: 1,
            key_age_days: 0,
            key_made: 0,
            reserved: Vec::new(),
            retired: Vec::new(),
        })
    }

    /// The ring of a file that was plain until now.
    pub(crate) fn behind_plain(keys: &DatabaseKeys, now: i64) -> Result<Self, HeaderError> {
        let mut ring = Self::first(keys)?;
        ring.key_made = now;
        ring.retired.push(RetiredKey {
            id: 0,
            suite: Suite::Plain,
            made: 0,
            ended: now,
            commitment: [0; 32],
            wrapped: None,
        });
        Ok(ring)
    }

    pub(crate) fn with_key_age_days(&self, days: u32) -> Self {
        Self {
            key_age_days: days,
            ..self.clone()
        }
    }

    /// The ring in which the system's key is retired and `key_id` takes its place, under a ring key that need not be the one of `keys`.
    pub(crate) fn retiring(
        crypto: &CryptoProvider,
        keys: &DatabaseKeys,
        before: Option<&Self>,
        suite: Suite,
        (key_id, ring_key): (u32, &SecretKey),
        now: i64,
    ) -> Result<Self, HeaderError> {
        let mut ring = match before {
            Some(before) => before.clone(),
            None => Self::first(keys)?,
        };
        if ring.retired.len() >= MAX_RETIRED {
            return Err(HeaderError::KeyIdsSpent);
        }
        ring.next_key_id = key_id.checked_add(1).ok_or(HeaderError::KeyIdsSpent)?;
        for retired in &mut ring.retired {
            let wrapped = retired.wrapped.as_mut().ok_or_else(damaged)?;
            let key = crypto.unwrap_key(&keys.ring_key, wrapped);
            *wrapped = crypto.wrap_key(ring_key, &key.map_err(|_| damaged())?);
        }
        ring.retired.push(RetiredKey {
            id: keys.system_key_id,
            suite,
            made: ring.key_made,
            ended: now,
            commitment: commitment(
                crypto,
                &keys.system_dek,
                &keys.database_id,
                keys.system_key_id,
            ),
            wrapped: Some(crypto.wrap_key(ring_key, &keys.system_dek)),
        });
        ring.key_made = now;
        Ok(ring)
    }

    pub(crate) fn without_retired(&self) -> Self {
        Self {
            retired: Vec::new(),
            ..self.clone()
        }
    }

    /// Bytes of the ring's block.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![VERSION];
        out.extend(self.next_key_id.to_le_bytes());
        out.extend(self.next_unlock_id.to_le_bytes());
        out.extend(self.key_age_days.to_le_bytes());
        out.extend(self.key_made.to_le_bytes());
        out.extend((self.reserved.len() as u32).to_le_bytes());
        for (sector, sectors) in &self.reserved {
            out.extend(sector.to_le_bytes());
            out.extend(sectors.to_le_bytes());
        }
        // Unlock keys: none yet.
        out.extend(0u32.to_le_bytes());
        out.extend((self.retired.len() as u32).to_le_bytes());
        for key in &self.retired {
            out.extend(key.id.to_le_bytes());
            let kind = match key.wrapped {
                Some(_) => KIND_RETIRED,
                None => KIND_PLAIN,
            };
            out.extend([kind, key.suite.to_wire(), 0, 0]);
            out.extend(key.made.to_le_bytes());
            out.extend(key.ended.to_le_bytes());
            out.extend(0u64.to_le_bytes());
            out.extend(ALL_COLUMNS.to_le_bytes());
            out.extend([0; 8]);
            out.extend(key.commitment);
            let wrapped = key.wrapped.as_ref().map_or(&[][..], |key| &key[..]);
            out.extend((wrapped.len() as u32).to_le_bytes());
            out.extend(wrapped);
        }
        out
    }

    /// Reads an opened ring block. Never panics, and takes no more memory than the block has bytes.
    ///
    /// # Errors
    /// [`HeaderError::NewerRing`] for what a later release writes, [`HeaderError::Tampered`] for what none does.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, HeaderError> {
        let mut reader = Reader(bytes);
        if reader.u8()? != VERSION {
            return Err(HeaderError::NewerRing {
                what: "another version",
            });
        }
        let next_key_id = reader.u32()?;
        let next_unlock_id = reader.u32()?;
        let key_age_days = reader.u32()?;
        let key_made = reader.i64()?;
        let count = reader.count(EXTENT_BYTES, MAX_RESERVED)?;
        let mut reserved = Vec::with_capacity(count);
        for _ in 0..count {
            reserved.push((reader.u64()?, reader.u64()?));
        }
        if reader.u32()? != 0 {
            return Err(HeaderError::NewerRing {
                what: "keys of tables and columns",
            });
        }
        let count = reader.count(WRAPPED_BYTES, MAX_RETIRED)?;
        let mut retired = Vec::with_capacity(count);
        for _ in 0..count {
            retired.push(RetiredKey::read(&mut reader)?);
        }
        let ids = || retired.iter().map(|key| key.id);
        let in_order = ids().zip(ids().skip(1)).all(|(a, b)| a < b);
        let given = ids().all(|id| id < next_key_id);
        // Who was plain has had no other key before.
        let was_plain = retired.iter().any(|key| key.wrapped.is_none());
        let is_alone = !was_plain || count == 1;
        if !reader.0.is_empty() || !in_order || !given || !is_alone || next_unlock_id == 0 {
            return Err(damaged());
        }
        Ok(Self {
            next_key_id,
            next_unlock_id,
            key_age_days,
            key_made,
            reserved,
            retired,
        })
    }
}

impl RetiredKey {
    fn read(reader: &mut Reader<'_>) -> Result<Self, HeaderError> {
        let id = reader.u32()?;
        let [kind, suite, reserved @ ..] = reader.array::<4>()?;
        if kind != KIND_RETIRED && kind != KIND_PLAIN {
            return Err(HeaderError::NewerRing {
                what: "keys of tables and columns",
            });
        }
        let (made, ended) = (reader.i64()?, reader.i64()?);
        let (table, column) = (reader.u64()?, reader.u32()?);
        let (unlock, instead_of) = (reader.u32()?, reader.u32()?);
        let fields = (reserved, table, column, unlock, instead_of);
        let suite = Suite::from_wire(suite).filter(|_| fields == ([0; 2], 0, ALL_COLUMNS, 0, 0));
        let suite = suite.ok_or_else(damaged)?;
        let commitment: [u8; 32] = reader.array()?;
        let len = reader.u32()? as usize;
        let is_plain = kind == KIND_PLAIN;
        let wrapped = match is_plain {
            true => None,
            false if len != WRAPPED_BYTES => return Err(damaged()),
            false => Some(reader.array()?),
        };
        let nothing = (id, len, made, commitment) == (0, 0, 0, [0; 32]);
        if is_plain == suite.is_encrypted() || is_plain && !nothing || !is_plain && id == 0 {
            return Err(damaged());
        }
        Ok(Self {
            id,
            suite,
            made,
            ended,
            commitment,
            wrapped,
        })
    }
}

impl DatabaseKeys {
    /// The keys with those that a ring has.
    ///
    /// # Errors
    /// [`HeaderError::Tampered`] for a ring that does not go with the header, or with a key that is not what it says.
    pub fn with_ring(&self, crypto: &CryptoProvider, ring: &KeyRing) -> Result<Self, HeaderError> {
        let wrapped = || {
            ring.retired
                .iter()
                .filter_map(|key| Some((key, key.wrapped.as_ref()?)))
        };
        let newest_retired = wrapped().next_back().map(|(key, _)| key.id);
        if self.system_key_id >= ring.next_key_id
            || ring.retired_ids().any(|id| id >= self.system_key_id)
            || newest_retired != self.previous_key_id()
        {
            return Err(damaged());
        }
        let mut keys = self.clone();
        keys.retired.clear();
        for (key, wrapped) in wrapped() {
            let opened = crypto.unwrap_key(&self.ring_key, wrapped);
            let opened = opened.map_err(|_| damaged())?;
            let found = commitment(crypto, &opened, &self.database_id, key.id);
            if !constant_time_eq(&found, &key.commitment) {
                return Err(damaged());
            }
            keys.retired.push((key.id, Arc::new(opened)));
        }
        Ok(keys)
    }
}

/// KBKDF(DEK, "HUSH1 dcommit", database id || key id).
fn commitment(
    crypto: &CryptoProvider,
    data_key: &SecretKey,
    database_id: &DatabaseId,
    key_id: u32,
) -> [u8; 32] {
    let mut context = [0; 20];
    put(&mut context, 0, database_id.as_bytes());
    put(&mut context, 16, &key_id.to_le_bytes());
    *crypto
        .kbkdf(data_key, KdfLabel::DataKeyCommitment, &context)
        .expose()
}

fn damaged() -> HeaderError {
    HeaderError::Tampered {
        what: "the key ring",
    }
}

/// What is left of a ring's bytes.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn array<const N: usize>(&mut self) -> Result<[u8; N], HeaderError> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or_else(damaged)?;
        self.0 = rest;
        Ok(*head)
    }

    fn u8(&mut self) -> Result<u8, HeaderError> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn u32(&mut self) -> Result<u32, HeaderError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, HeaderError> {
        self.array().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64, HeaderError> {
        self.array().map(i64::from_le_bytes)
    }

    /// A number of entries of so many bytes at least.
    fn count(&mut self, entry_bytes: usize, limit: usize) -> Result<usize, HeaderError> {
        let count = self.u32()? as usize;
        match count <= limit && count <= self.0.len() / entry_bytes {
            true => Ok(count),
            false => Err(damaged()),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::providers::KeyText;
    use crate::{FirstKeys, Header, KdfBudget, KeyAttempt, SlotOptions, UnverifiedHeader};

    fn rotated() -> (Header, DatabaseKeys, KeyRing) {
        let crypto = CryptoProvider::aws_lc();
        let key = KeyText::new(format!("hex:{:064x}", 7));
        let made = Header::create(&crypto, Suite::Gcm, &key, &SlotOptions::default());
        let (mut header, keys) = made.unwrap();
        let (keys, mut ring) = header
            .rotate_data_key(&crypto, &keys, None, Suite::Gcm, 1_800_000_000)
            .unwrap();
        ring.reserved = vec![(17, 1), (19, 1)];
        (header, keys, ring)
    }

    fn unlocked(header: &Header) -> DatabaseKeys {
        let crypto = CryptoProvider::aws_lc();
        let key = KeyText::new(format!("hex:{:064x}", 7));
        let page = UnverifiedHeader::parse(&header.to_page()).unwrap();
        let mut attempt = KeyAttempt::new(&key, KdfBudget::default());
        page.unlock(&crypto, &mut attempt).unwrap().1
    }

    #[test]
    fn known_answers() {
        let crypto = CryptoProvider::portable();
        let id = DatabaseId::from_bytes(std::array::from_fn(|at| at as u8));
        let data_key = SecretKey::from_bytes([0x44; 32]);
        let ring_key = SecretKey::from_bytes([0x55; 32]);
        assert_eq!(
            hex::encode(commitment(&crypto, &data_key, &id, 5)),
            "e45791a2bf156970d8dad6886ff71d25e1a5e2a5b642f4298977fc0a056caf5c"
        );
        assert_eq!(
            hex::encode(crypto.wrap_key(&ring_key, &data_key)),
            "4514f0693cbe5dd0a99f55f394c1e2c81a316c209d13830fd66dfe085cf3768211294989aef7b32f"
        );
    }

    /// `testdata/key_ring.py` made them, which shares nothing with this crate.
    #[test]
    fn headers_and_rings_of_another_program_are_read_and_written_the_same() {
        let lines = include_str!("../testdata/key_ring.txt").lines();
        let mut found = Vec::new();
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let [name, front, end, payload] = words[..] else {
                panic!("{line}")
            };
            let [front, end, payload] = [front, end, payload].map(|hex| hex::decode(hex).unwrap());
            let mut page = [0; 4096];
            page[..front.len()].copy_from_slice(&front);
            page[4096 - end.len()..].copy_from_slice(&end);
            let key = KeyText::new(format!("hex:{}", "66".repeat(32)));
            for crypto in CryptoProvider::all() {
                let mut attempt = KeyAttempt::new(&key, KdfBudget::default());
                let header = UnverifiedHeader::parse(&page).unwrap();
                let (header, keys) = header.unlock(&crypto, &mut attempt).unwrap();
                assert_eq!(*header.to_page(), page, "{name}");
                let ring = KeyRing::from_bytes(&payload).unwrap();
                assert_eq!(ring.to_bytes(), payload, "{name}");
                assert_eq!(ring.key_made(), Some(1_800_000_000));
                let keys = keys.with_ring(&crypto, &ring).unwrap();
                let retired: Vec<u32> = ring.retired_ids().collect();
                found.push((name, keys.system_key_id(), retired, ring.reserved.len()));
                assert_eq!(keys.has_key(1), name != "ended");
            }
        }
        let both = |case: (&'static str, u32, Vec<u32>, usize)| [case.clone(), case];
        let cases = [
            ("running", 2, vec![1], 0),
            ("ended", 2, vec![], 2),
            ("other-master", 2, vec![1], 1),
        ];
        assert_eq!(found, cases.into_iter().flat_map(both).collect::<Vec<_>>());
    }

    #[test]
    fn a_rotated_header_and_its_ring_give_the_old_key_and_the_new_one() {
        let crypto = CryptoProvider::aws_lc();
        let (mut header, keys, ring) = rotated();
        assert_eq!(KeyRing::from_bytes(&ring.to_bytes()).unwrap(), ring);
        let read = unlocked(&header).with_ring(&crypto, &ring).unwrap();
        assert_eq!((read.system_key_id(), read.previous_key_id()), (2, Some(1)));
        assert_eq!(
            (ring.next_key_id(), ring.retired_ids().collect()),
            (3, vec![1])
        );
        assert_eq!(
            UnverifiedHeader::parse(&header.to_page())
                .unwrap()
                .format_version(),
            2
        );
        let (keys, ring) = header.forget_retired_keys(&crypto, &keys, &ring).unwrap();
        assert!(!keys.has_key(1) && keys.has_key(2));
        let read = unlocked(&header).with_ring(&crypto, &ring).unwrap();
        assert!(!read.has_key(1) && read.has_key(2));
        assert_eq!(read.previous_key_id(), None);
    }

    #[test]
    fn a_header_says_the_suite_of_the_previous_key_where_it_is_another() {
        let crypto = CryptoProvider::aws_lc();
        let (mut header, keys, ring) = rotated();
        let unlocked = |header: &Header| {
            let page = UnverifiedHeader::parse(&header.to_page()).unwrap();
            let key = KeyText::new(format!("hex:{:064x}", 7));
            let mut attempt = KeyAttempt::new(&key, KdfBudget::default());
            let (header, _) = page.unlock(&crypto, &mut attempt).unwrap();
            (
                header.suite(),
                header.previous_suite(),
                header.to_page()[196],
            )
        };
        let same = (Suite::Gcm, Some((1, Suite::Gcm)), 0);
        assert_eq!(unlocked(&header), same);
        let (keys, ring) = header.forget_retired_keys(&crypto, &keys, &ring).unwrap();
        assert_eq!(unlocked(&header), (Suite::Gcm, None, 0));
        let next = header.rotate_data_key(&crypto, &keys, Some(&ring), Suite::Ctr, 1);
        let (keys, ring) = next.unwrap();
        assert_eq!(unlocked(&header), (Suite::Ctr, Some((2, Suite::Gcm)), 1));
        let retired: Vec<Suite> = ring.retired().map(|key| key.suite).collect();
        assert_eq!(retired, [Suite::Gcm]);
        header.forget_retired_keys(&crypto, &keys, &ring).unwrap();
        assert_eq!(unlocked(&header), (Suite::Ctr, None, 0));
        let plain = header.rotate_data_key(&crypto, &keys, Some(&ring), Suite::Plain, 1);
        assert_eq!(plain.map(|_| ()), Err(HeaderError::NotEncrypted));
        // A number that is no other suite of a previous key.
        for (number, had) in [(2, "none"), (1, "none"), (3, "one")] {
            let (other, ..) = rotated();
            let mut page = match had {
                "one" => other.to_page(),
                _ => header.to_page(),
            };
            page[196] = number;
            let crc = crc32c::crc32c(&page[..4060]).to_le_bytes();
            page[4060..4064].copy_from_slice(&crc);
            assert!(UnverifiedHeader::parse(&page).is_err(), "{number}, {had}");
        }
    }

    #[test]
    fn a_ring_of_another_time_is_refused() {
        let crypto = CryptoProvider::aws_lc();
        let (mut header, keys, ring) = rotated();
        // Without the retired key that the header calls previous, and with one that it does not.
        let without = ring.without_retired();
        assert!(unlocked(&header).with_ring(&crypto, &without).is_err());
        header.forget_retired_keys(&crypto, &keys, &ring).unwrap();
        assert!(unlocked(&header).with_ring(&crypto, &ring).is_err());
    }

    #[test]
    fn a_key_that_is_not_what_the_ring_says_is_refused() {
        let crypto = CryptoProvider::aws_lc();
        let (header, _, ring) = rotated();
        let mut edits = [ring.clone(), ring.clone(), ring.clone(), ring];
        edits[0].retired[0].commitment[0] ^= 1;
        edits[1].retired[0].wrapped.as_mut().unwrap()[0] ^= 1;
        // The id of the system's key, given twice.
        edits[2].retired[0].id = 2;
        edits[3].next_key_id = 2;
        for (at, ring) in edits.iter().enumerate() {
            assert!(unlocked(&header).with_ring(&crypto, ring).is_err(), "{at}");
        }
    }

    #[test]
    fn no_part_of_a_ring_is_one_and_absurd_counts_are_refused() {
        let (.., ring) = rotated();
        let bytes = ring.to_bytes();
        for len in 0..bytes.len() {
            assert!(KeyRing::from_bytes(&bytes[..len]).is_err(), "cut to {len}");
        }
        assert!(KeyRing::from_bytes(&[&bytes[..], &[0]].concat()).is_err());
        // Version, counts of reserved places, of unlock keys and of data keys, kind, reserved bytes, length of the key.
        let keys = 25 + 2 * EXTENT_BYTES;
        for at in [
            0,
            21,
            keys,
            keys + 4,
            keys + 12,
            keys + 14,
            bytes.len() - 44,
        ] {
            let mut edited = bytes.clone();
            edited[at] ^= 0x80;
            assert!(KeyRing::from_bytes(&edited).is_err(), "at {at}");
        }
    }

    /// A database that was plain, and is on the way to be encrypted.
    fn encrypting() -> FirstKeys {
        let crypto = CryptoProvider::aws_lc();
        let key = KeyText::new(format!("hex:{:064x}", 7));
        let plain = Header::create_plain(&crypto).unwrap();
        let options = SlotOptions::default();
        let made = plain.prepare_encryption(&crypto, Suite::Ctr, &key, &options, 5);
        let made = made.unwrap();
        assert_eq!(made.header.database_id(), plain.database_id());
        assert_eq!(made.header.sequence(), plain.sequence() + 1);
        made
    }

    #[test]
    fn a_plain_database_gets_a_header_and_a_ring_that_says_so_until_it_ends() {
        let crypto = CryptoProvider::aws_lc();
        let FirstKeys {
            mut header,
            keys,
            ring,
        } = encrypting();
        assert_eq!(KeyRing::from_bytes(&ring.to_bytes()).unwrap(), ring);
        let read = unlocked(&header).with_ring(&crypto, &ring).unwrap();
        assert_eq!((read.system_key_id(), read.previous_key_id()), (1, None));
        assert!(read.has_key(1) && !read.has_key(0));
        let retired: Vec<_> = ring.retired().map(|key| (key.id, key.suite)).collect();
        assert_eq!(
            (retired, ring.key_made()),
            (vec![(0, Suite::Plain)], Some(5))
        );
        let again = header.prepare_encryption(
            &crypto,
            Suite::Gcm,
            &KeyText::new("x"),
            &SlotOptions::default(),
            5,
        );
        assert_eq!(again.map(|_| ()).unwrap_err(), HeaderError::SlotsChanged);
        // No other change of keys begins behind it.
        let mut other = header.clone();
        let rotated = other.rotate_data_key(&crypto, &keys, Some(&ring), Suite::Gcm, 6);
        assert!(rotated.is_err());
        let (keys, ring) = header.forget_retired_keys(&crypto, &keys, &ring).unwrap();
        assert!(!ring.has_retired());
        let read = unlocked(&header).with_ring(&crypto, &ring).unwrap();
        assert_eq!(read.ring_key(), keys.ring_key());
    }

    #[test]
    fn a_ring_that_says_more_or_less_of_a_plain_time_is_refused() {
        let crypto = CryptoProvider::aws_lc();
        let FirstKeys { ring, .. } = encrypting();
        let bytes = ring.to_bytes();
        // Id, kind, suite, time, table, commitment, length of the key.
        let key = 33;
        for at in [0, 4, 5, 8, 24, 44, 76].map(|at| key + at) {
            for bits in 1..=4 {
                let mut edited = bytes.clone();
                edited[at] ^= bits;
                assert!(KeyRing::from_bytes(&edited).is_err(), "{bits} at {at}");
            }
        }
        // Of a file that had other keys: there plain blocks are nobody's.
        let (header, _, rotated) = rotated();
        let mut both = rotated.clone();
        both.retired.insert(0, ring.retired[0].clone());
        assert!(KeyRing::from_bytes(&both.to_bytes()).is_err());
        assert!(unlocked(&header).with_ring(&crypto, &ring).is_err());
        let mut named = rotated;
        (named.retired[0].id, named.retired[0].suite) = (0, Suite::Plain);
        assert!(KeyRing::from_bytes(&named.to_bytes()).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = KeyRing::from_bytes(&bytes);
        }

        #[test]
        fn no_edit_makes_the_decoder_panic(at: usize, value: u8) {
            let (.., ring) = rotated();
            let mut bytes = ring.to_bytes();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = KeyRing::from_bytes(&bytes);
        }
    }
}
