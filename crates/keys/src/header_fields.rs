//! The header's content, between the bytes of a page and what the rest of this crate works with.
//!
//! Reading is strict by writing: a page is accepted only if its fields, written again, give the same bytes. So every
//! byte that has no meaning is zero, and there is one way to write each header.

use crate::layout::{
    BLOB_AREA_AT, BLOB_AREA_LEN, COMMITMENT_AT, CRC_AT, DATABASE_ID_AT, FIRST_FORMAT_VERSION,
    FORMAT_VERSION, HEADER_LEN, MAC_AT, MAGIC, PREVIOUS_DEK_AT, PREVIOUS_KEY_ID_AT,
    PREVIOUS_SUITE_AT, Page, RING_KEY_AT, SEQUENCE_AT, SLOT_LEN, SLOTS_AT, SUITE_AT, SYSTEM_DEK_AT,
    SYSTEM_KEY_ID_AT, VERSION_AT, field, put,
};
use crate::slot::KeySlot;
use crate::{DatabaseId, HeaderError, SLOT_COUNT, SlotInfo, Suite};

/// Everything in a header but CRC and MAC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HeaderFields {
    pub(crate) version: u16,
    pub(crate) suite: Suite,
    pub(crate) database_id: DatabaseId,
    pub(crate) sequence: u64,
    /// `None` in a plain database.
    pub(crate) secrets: Option<WrappedSecrets>,
}

/// What only an encrypted database has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WrappedSecrets {
    pub(crate) commitment: [u8; 32],
    pub(crate) system_key_id: u32,
    pub(crate) system_dek: [u8; 40],
    pub(crate) previous: Option<(u32, [u8; 40])>,
    /// How blocks of values are sealed under that one.
    pub(crate) previous_suite: Suite,
    pub(crate) ring_key: [u8; 40],
    pub(crate) slots: [Option<KeySlot>; SLOT_COUNT],
}

impl HeaderFields {
    pub(crate) fn parse(page: &Page) -> Result<Self, HeaderError> {
        if !page.starts_with(&MAGIC) {
            return Err(HeaderError::NotADatabase);
        }
        if crc32c::crc32c(&page[..CRC_AT]).to_le_bytes() != field::<4>(page, CRC_AT) {
            return Err(HeaderError::Corrupted {
                what: "the file header",
            });
        }
        let version = u16::from_le_bytes(field(page, VERSION_AT));
        if version > FORMAT_VERSION {
            return Err(HeaderError::NewerFormat { found: version });
        }
        let [suite] = field(page, SUITE_AT);
        let suite =
            Suite::from_wire(suite).ok_or(HeaderError::UnsupportedSuite { found: suite })?;
        let fields = Self {
            version,
            suite,
            database_id: DatabaseId::from_bytes(field(page, DATABASE_ID_AT)),
            sequence: u64::from_le_bytes(field(page, SEQUENCE_AT)),
            secrets: if suite.is_encrypted() {
                Some(WrappedSecrets::parse(page, suite)?)
            } else {
                None
            },
        };
        let written = fields.render();
        let mac_is_allowed = suite.is_encrypted() || page[MAC_AT..] == [0; 32];
        // Only an encrypted database gets a key ring, or a slot with a key file, and the later version with it.
        let version_is_allowed = match version == FIRST_FORMAT_VERSION {
            true => !fields.has_key_file(),
            false => suite.is_encrypted(),
        };
        if page[..MAC_AT] != written[..MAC_AT] || !mac_is_allowed || !version_is_allowed {
            return Err(HeaderError::Tampered {
                what: "the file header",
            });
        }
        Ok(fields)
    }

    /// The page with its CRC, its MAC zero.
    pub(crate) fn render(&self) -> Box<Page> {
        let mut page = Box::new([0; HEADER_LEN]);
        put(&mut *page, 0, &MAGIC);
        put(&mut *page, VERSION_AT, &self.version.to_le_bytes());
        put(&mut *page, SUITE_AT, &[self.suite.to_wire()]);
        put(&mut *page, DATABASE_ID_AT, self.database_id.as_bytes());
        put(&mut *page, SEQUENCE_AT, &self.sequence.to_le_bytes());
        if let Some(secrets) = &self.secrets {
            secrets.render(&mut page, self.suite);
        }
        let crc = crc32c::crc32c(&page[..CRC_AT]);
        put(&mut *page, CRC_AT, &crc.to_le_bytes());
        page
    }

    /// Whether a key file belongs to the key of any slot.
    pub(crate) fn has_key_file(&self) -> bool {
        let mut slots = self
            .secrets
            .iter()
            .flat_map(|secrets| secrets.slots.iter().flatten());
        slots.any(|slot| slot.has_key_file)
    }

    pub(crate) fn slots(&self) -> Vec<SlotInfo> {
        let slots = self
            .secrets
            .iter()
            .flat_map(|secrets| secrets.slots.iter().enumerate());
        slots
            .filter_map(|(index, slot)| slot.as_ref().map(|slot| slot.info(index)))
            .collect()
    }
}

impl WrappedSecrets {
    fn parse(page: &Page, suite: Suite) -> Result<Self, HeaderError> {
        let mut blobs = &page[BLOB_AREA_AT..BLOB_AREA_AT + BLOB_AREA_LEN];
        let mut slots = [const { None }; SLOT_COUNT];
        for (index, slot) in slots.iter_mut().enumerate() {
            let at = SLOTS_AT + index * SLOT_LEN;
            *slot = KeySlot::parse(index, &page[at..at + SLOT_LEN], &mut blobs)?;
        }
        let system_key_id = u32::from_le_bytes(field(page, SYSTEM_KEY_ID_AT));
        let previous_key_id = u32::from_le_bytes(field(page, PREVIOUS_KEY_ID_AT));
        if system_key_id == 0 || previous_key_id == system_key_id {
            return Err(HeaderError::Tampered {
                what: "the set of data keys",
            });
        }
        if slots.iter().all(Option::is_none) {
            return Err(HeaderError::Tampered {
                what: "the set of key slots",
            });
        }
        let previous_suite = match field(page, PREVIOUS_SUITE_AT) {
            [0] => suite,
            [other] => {
                Suite::from_wire(other).ok_or(HeaderError::UnsupportedSuite { found: other })?
            }
        };
        Ok(Self {
            commitment: field(page, COMMITMENT_AT),
            system_key_id,
            system_dek: field(page, SYSTEM_DEK_AT),
            previous: (previous_key_id != 0)
                .then(|| (previous_key_id, field(page, PREVIOUS_DEK_AT))),
            previous_suite,
            ring_key: field(page, RING_KEY_AT),
            slots,
        })
    }

    fn render(&self, page: &mut Page, suite: Suite) {
        put(page, SYSTEM_KEY_ID_AT, &self.system_key_id.to_le_bytes());
        put(page, COMMITMENT_AT, &self.commitment);
        put(page, SYSTEM_DEK_AT, &self.system_dek);
        if let Some((key_id, wrapped)) = &self.previous {
            put(page, PREVIOUS_KEY_ID_AT, &key_id.to_le_bytes());
            put(page, PREVIOUS_DEK_AT, wrapped);
            if self.previous_suite != suite {
                put(page, PREVIOUS_SUITE_AT, &[self.previous_suite.to_wire()]);
            }
        }
        put(page, RING_KEY_AT, &self.ring_key);
        let mut blob_at = BLOB_AREA_AT;
        for (index, slot) in self.slots.iter().enumerate() {
            if let Some(slot) = slot {
                let at = SLOTS_AT + index * SLOT_LEN;
                slot.render(&mut page[at..at + SLOT_LEN]);
                put(page, blob_at, &slot.blob);
                blob_at += slot.blob.len();
            }
        }
    }

    /// Whether all blobs fit into the blob area.
    pub(crate) fn blobs_fit(&self) -> bool {
        self.slots
            .iter()
            .flatten()
            .map(|slot| slot.blob.len())
            .sum::<usize>()
            <= BLOB_AREA_LEN
    }
}
