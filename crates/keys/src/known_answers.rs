//! The key schedule against answers from an implementation that shares no code with this one (Python's `cryptography`
//! and `hashlib`, from the format's description), on both crypto providers.

use hushdb_crypto::{CryptoProvider, SecretKey};

use crate::master_key::MasterKey;
use crate::slot::key_encryption_key;
use crate::{DatabaseId, DatabaseKeys, KeyMaterial, SlotKdf, Suite};

const DATABASE_ID: DatabaseId =
    DatabaseId::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);

fn master(crypto: &CryptoProvider) -> MasterKey {
    MasterKey::new(crypto, &DATABASE_ID, SecretKey::from_bytes([0x11; 32]))
}

#[test]
fn key_encryption_key_and_wrapped_master_key() {
    let salt = std::array::from_fn(|i| 0x40 + i as u8);
    for crypto in CryptoProvider::all() {
        let root = KeyMaterial::Raw(SecretKey::from_bytes([0x33; 32]));
        let kek = key_encryption_key(&crypto, &DATABASE_ID, &root, SlotKdf::None, &salt, None)
            .unwrap()
            .unwrap();
        assert_eq!(
            hex::encode(kek.expose()),
            "fc1e7ba09e781e65da148ed327fe28d45c1b27a43420711fa9278858d23783d1"
        );
        assert_eq!(
            hex::encode(master(&crypto).wrapped(&crypto, &kek)),
            "08ac33e470d2a0a491fba3133a73e8956c6ade158042e2e4af4f7cd91a521b313dc91c8a80ec525d"
        );
    }
}

#[test]
fn commitment_mac_key_and_wrapped_data_key() {
    for crypto in CryptoProvider::all() {
        let master = master(&crypto);
        assert_eq!(
            hex::encode(master.commitment()),
            "1e4fe7750f9098c8217ab79fe4f22c22a1968a0bff717bad8c06ed7dd410f554"
        );
        assert_eq!(
            hex::encode(master.mac_key().expose()),
            "c6248b0d5ac394e44b05e41da16e32984b0c6a5834243826b8769b3da11779d5"
        );
        let dek = SecretKey::from_bytes([0x22; 32]);
        assert_eq!(
            hex::encode(crypto.wrap_key(master.wrapping_key(), &dek)),
            "122d831720d66f31cd6a7d7b470d473f55c25a3b4399c40685f06ac55b731e16e5b798da72952b14"
        );
    }
}

fn database_keys(crypto: &CryptoProvider) -> DatabaseKeys {
    DatabaseKeys {
        database_id: DATABASE_ID,
        master: master(crypto).into(),
        system_key_id: 1,
        system_dek: SecretKey::from_bytes([0x22; 32]).into(),
        previous: None,
        retired: Vec::new(),
        ring_key: SecretKey::from_bytes([0; 32]).into(),
    }
}

#[test]
fn block_key() {
    let salt = std::array::from_fn(|i| 0xa0 + i as u8);
    for crypto in CryptoProvider::all() {
        let keys = database_keys(&crypto);
        let key = keys.derive_block_key(&crypto, &keys.system_dek, 1, Suite::Gcm, &salt);
        assert_eq!(
            hex::encode(key.expose()),
            "5d02819c7858b5f8121e396156ec31c81fa79433f2255930969b4a642dd372dd"
        );
    }
}

/// The record key is seen through a record that it opens, the first of the reference's log.
#[test]
fn log_keys() {
    let salt = std::array::from_fn(|i| 0xc0 + i as u8);
    for crypto in CryptoProvider::all() {
        let keys = database_keys(&crypto)
            .log_keys(&crypto, 1, 5, &salt)
            .unwrap();
        assert_eq!(
            hex::encode(keys.header_mac_key.expose()),
            "c6700534b8213d13dc0121f04aab3a7f3ed0d366d6e0b3300c68c3c489051b4b"
        );
        let mut aad = b"HUSHWAL1".to_vec();
        aad.extend_from_slice(DATABASE_ID.as_bytes());
        aad.extend_from_slice(&5u64.to_le_bytes());
        aad.extend_from_slice(&hex::decode("5ffafc4660de3ac1c83da7e984d35c1e").unwrap());
        aad.extend_from_slice(
            &hex::decode("480000000000000080000000000000008000000000000000").unwrap(),
        );
        let sealed = hex::decode(RECORD).unwrap();
        let (body, tag) = sealed.split_last_chunk::<16>().unwrap();
        let mut body = body.to_vec();
        keys.record_key
            .open_in_place(&[0xd0; 12], &aad, &mut body, tag)
            .unwrap();
        assert_eq!(&body[..12], b"insert row 1");
        assert!(
            database_keys(&crypto)
                .log_keys(&crypto, 2, 5, &salt)
                .is_err()
        );
    }
}

const RECORD: &str = concat!(
    "5bcb68adedd9095ad5a541c4828a8ddb83a8c362765c47092b6ece9ea2ccb9bc9495d7b9a76cf380201e1ebf",
    "52af9453112215eec43eaccaeddc5535b13c8588ce27d5993cc29a95dc4b8fb6aa12fd81ae8b959b2d514b09"
);
