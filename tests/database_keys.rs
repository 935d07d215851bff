//! All keys of a database, computed anew from its file and what opens one of its slots.

use std::path::Path;

use hushdb::crypto::{CryptoProvider, KdfLabel};
use hushdb::keys::SecretKey;

use crate::memory_scan::Needle;

/// Where key slots begin in a header, and the bytes of each (FORMAT.md, "Key slots").
const SLOTS: usize = 256;
const SLOT_BYTES: usize = 256;

/// All keys of a database, computed from its file.
pub(crate) struct Keys {
    /// Needed to open a key slot, and no longer.
    pub(crate) passing: Vec<Needle>,
    /// Needed as long as the database is attached.
    pub(crate) lasting: Vec<Needle>,
    database_id: [u8; 16],
    data_key: SecretKey,
}

impl Keys {
    /// From what opens a slot, which `root` makes of the slot's salt.
    pub(crate) fn of(path: &Path, slot: usize, root: impl FnOnce(&[u8]) -> SecretKey) -> Self {
        let crypto = CryptoProvider::portable();
        let page = std::fs::read(path).unwrap();
        let page = page.first_chunk::<4096>().unwrap();
        let database_id: [u8; 16] = *page[16..].first_chunk().unwrap();
        let slot = &page[SLOTS + slot * SLOT_BYTES..][..SLOT_BYTES];
        let (salt, wrapped) = (&slot[16..48], &slot[48..88]);
        let root = root(salt);
        let context = [&database_id[..], salt].concat();
        let kek = crypto.kbkdf(&root, KdfLabel::KeyEncryption, &context);
        let unwrap = |kek: &SecretKey, wrapped: &[u8]| {
            let wrapped: &[u8; 40] = wrapped.try_into().unwrap();
            crypto.unwrap_key(kek, wrapped).unwrap()
        };
        let master = unwrap(&kek, wrapped);
        let derive = |label| crypto.kbkdf(&master, label, &database_id);
        let wrapping = derive(KdfLabel::Wrap);
        let data_key = unwrap(&wrapping, &page[72..112]);
        let ring_key = unwrap(&wrapping, &page[156..196]);
        Self {
            passing: vec![needle("root", &root), needle("KEK", &kek)],
            lasting: vec![
                needle("master key", &master),
                needle("header MAC key", &derive(KdfLabel::HeaderMac)),
                needle("wrapping key", &wrapping),
                needle("data key", &data_key),
                needle("ring key", &ring_key),
            ],
            database_id,
            data_key,
        }
    }

    /// Keys of every epoch of blocks in the file, and of the log beside it.
    pub(crate) fn derived(&self, path: &Path) -> Vec<Needle> {
        let crypto = CryptoProvider::portable();
        let mut needles: Vec<Needle> = Vec::new();
        let mut add = |name: String, key: SecretKey| {
            if needles.iter().all(|n| n.bytes != key.expose()) {
                needles.push(needle(&name, &key));
            }
        };
        for sector in std::fs::read(path).unwrap().chunks(4096) {
            if !sector.starts_with(b"HUSB") {
                continue;
            }
            let (suite, key_id) = (&sector[5..6], &sector[8..12]);
            let context = [&self.database_id[..], key_id, suite, &sector[32..48]];
            let key = crypto.kbkdf(&self.data_key, KdfLabel::Block, &context.concat());
            add(format!("block key of suite {}", suite[0]), key);
        }
        let log = std::fs::read(path.with_extension("hush.wal")).unwrap();
        let context = [&self.database_id[..], &log[8..16], &log[64..80]].concat();
        for label in [KdfLabel::Wal, KdfLabel::WalMac] {
            add(
                format!("{label:?}"),
                crypto.kbkdf(&self.data_key, label, &context),
            );
        }
        needles
    }
}

pub(crate) fn needle(name: &str, key: &SecretKey) -> Needle {
    Needle {
        name: name.into(),
        bytes: key.expose().to_vec(),
    }
}
