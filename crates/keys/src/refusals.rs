//! Every header that must be refused, each by name, and pages that nobody wrote.

use std::sync::LazyLock;

use hushdb_crypto::{CryptoProvider, SecretKey};
use proptest::prelude::*;

use crate::layout::{
    BLOB_AREA_AT, COMMITMENT_AT, CRC_AT, DATABASE_ID_AT, MAC_AT, PREVIOUS_KEY_ID_AT, Page,
    SEQUENCE_AT, SLOT_LEN, SLOTS_AT, SUITE_AT, SYSTEM_DEK_AT, SYSTEM_KEY_ID_AT, VERSION_AT, put,
};
use crate::providers::KeyText;
use crate::{
    DatabaseKeys, Header, HeaderError, KdfBudget, KeyAttempt, KeyError, SlotOptions, Stretch,
    Suite, UnverifiedHeader,
};

const RAW_KEY: &str = "hex:1111111111111111111111111111111111111111111111111111111111111111";

/// A genuine header with a raw key in slot 0, and its keys.
static GENUINE: LazyLock<(Header, DatabaseKeys)> = LazyLock::new(|| {
    let crypto = CryptoProvider::aws_lc();
    Header::create(
        &crypto,
        Suite::Gcm,
        &KeyText::new(RAW_KEY),
        &SlotOptions::default(),
    )
    .unwrap()
});

/// A genuine header with a passphrase in slot 0.
fn with_passphrase() -> Box<Page> {
    let options = SlotOptions {
        label: "alice".to_owned(),
        stretch: Stretch::cheap_for_tests(),
    };
    let crypto = CryptoProvider::aws_lc();
    Header::create(&crypto, Suite::Gcm, &KeyText::new("passphrase"), &options)
        .unwrap()
        .0
        .to_page()
}

/// The genuine page after an edit by someone who knows the format but not the key.
fn edited(at: usize, bytes: &[u8]) -> Box<Page> {
    let mut page = GENUINE.0.to_page();
    put(&mut *page, at, bytes);
    fix_crc(&mut page);
    page
}

fn fix_crc(page: &mut Page) {
    let crc = crc32c::crc32c(&page[..CRC_AT]);
    put(page, CRC_AT, &crc.to_le_bytes());
}

fn open_with(page: &Page, key: &str) -> Result<(Header, DatabaseKeys), HeaderError> {
    let key = KeyText::new(key);
    let mut attempt = KeyAttempt::new(&key, KdfBudget::default());
    UnverifiedHeader::parse(page)?.unlock(&CryptoProvider::aws_lc(), &mut attempt)
}

fn refusal(page: &Page) -> HeaderError {
    open_with(page, RAW_KEY).unwrap_err()
}

#[test]
fn the_genuine_header_opens() {
    let (header, keys) = open_with(&GENUINE.0.to_page(), RAW_KEY).unwrap();
    assert_eq!(header.mac(), GENUINE.0.mac());
    assert_eq!(keys.ring_key(), GENUINE.1.ring_key());
    assert!(open_with(&with_passphrase(), "pass:passphrase").is_ok());
}

#[test]
fn not_a_database() {
    let mut page = GENUINE.0.to_page();
    page[0] ^= 1;
    assert_eq!(refusal(&page), HeaderError::NotADatabase);
    assert_eq!(
        UnverifiedHeader::parse(&[0; 4096]).unwrap_err(),
        HeaderError::NotADatabase
    );
}

#[test]
fn newer_format() {
    assert_eq!(
        refusal(&edited(VERSION_AT, &[3, 0])),
        HeaderError::NewerFormat { found: 3 }
    );
    assert_eq!(
        refusal(&edited(VERSION_AT, &[0xff, 0xff])),
        HeaderError::NewerFormat { found: 0xffff }
    );
}

#[test]
fn edited_version() {
    assert_eq!(
        refusal(&edited(VERSION_AT, &[0, 0])),
        HeaderError::Tampered {
            what: "the file header"
        }
    );
}

#[test]
fn damaged_header() {
    let damage = HeaderError::Corrupted {
        what: "the file header",
    };
    for at in (VERSION_AT..MAC_AT).step_by(7) {
        let mut page = GENUINE.0.to_page();
        page[at] ^= 0x10;
        assert_eq!(
            UnverifiedHeader::parse(&page).unwrap_err(),
            damage,
            "byte {at}"
        );
    }
}

#[test]
fn edited_suite() {
    // To the other cipher: only the MAC knows.
    assert_eq!(
        refusal(&edited(SUITE_AT, &[2])),
        HeaderError::Tampered {
            what: "the file header"
        }
    );
    // To none: the key slots give it away, with a key and without.
    let plain = edited(SUITE_AT, &[0]);
    assert_eq!(
        UnverifiedHeader::parse(&plain).unwrap_err(),
        HeaderError::Tampered {
            what: "the file header"
        }
    );
    assert_eq!(
        refusal(&edited(SUITE_AT, &[3])),
        HeaderError::UnsupportedSuite { found: 3 }
    );
}

#[test]
fn edited_slot() {
    let what = |page: &Page| refusal(page);
    let by_mac = HeaderError::Tampered {
        what: "the file header",
    };
    // Provider kind and label of the slot itself.
    assert_eq!(what(&edited(SLOTS_AT + 1, &[9])), by_mac);
    assert_eq!(
        what(&edited(SLOTS_AT + 3, &[1, 0, 0, 0, 0])),
        HeaderError::Tampered { what: "a key slot" }
    );
    // A second slot appears.
    let mut page = GENUINE.0.to_page();
    page.copy_within(SLOTS_AT..SLOTS_AT + SLOT_LEN, SLOTS_AT + SLOT_LEN);
    fix_crc(&mut page);
    assert_eq!(what(&page), by_mac);
    // Salt or wrapped key of the only slot: it opens no more.
    assert_eq!(what(&edited(SLOTS_AT + 16, &[0; 8])), HeaderError::WrongKey);
    assert_eq!(what(&edited(SLOTS_AT + 48, &[0; 8])), HeaderError::WrongKey);
    // Unknown states, and a database without slots.
    assert_eq!(
        what(&edited(SLOTS_AT, &[2])),
        HeaderError::Tampered { what: "a key slot" }
    );
    let empty = edited(SLOTS_AT, &[0; SLOT_LEN]);
    assert_eq!(
        what(&empty),
        HeaderError::Tampered {
            what: "the set of key slots"
        }
    );
}

#[test]
fn edited_sequence_database_id_and_key_ids() {
    let by_mac = HeaderError::Tampered {
        what: "the file header",
    };
    assert_eq!(refusal(&edited(SEQUENCE_AT, &[2])), by_mac);
    assert_eq!(refusal(&edited(SYSTEM_KEY_ID_AT, &[2])), by_mac);
    // Ids that no program writes are seen without a key.
    let ids = HeaderError::Tampered {
        what: "the set of data keys",
    };
    assert_eq!(refusal(&edited(SYSTEM_KEY_ID_AT, &[0])), ids);
    assert_eq!(refusal(&edited(PREVIOUS_KEY_ID_AT, &[1])), ids);
    let mut page = edited(SYSTEM_KEY_ID_AT, &[0]);
    page[PREVIOUS_KEY_ID_AT] = 1;
    fix_crc(&mut page);
    assert_eq!(refusal(&page), ids);
    assert_eq!(refusal(&edited(PREVIOUS_KEY_ID_AT, &[2])), by_mac);
    // The id enters the key-encryption key.
    assert_eq!(
        refusal(&edited(DATABASE_ID_AT, &[0; 16])),
        HeaderError::WrongKey
    );
}

#[test]
fn edited_commitment_is_seen_before_any_key_below_it_is_used() {
    let edit = edited(COMMITMENT_AT, &[0; 32]);
    assert_eq!(
        refusal(&edit),
        HeaderError::Tampered {
            what: "the commitment to the master key"
        }
    );
}

#[test]
fn edited_mac() {
    let mut page = GENUINE.0.to_page();
    page[MAC_AT + 31] ^= 1;
    assert_eq!(
        refusal(&page),
        HeaderError::Tampered {
            what: "the file header"
        }
    );
}

#[test]
fn a_data_key_that_does_not_unwrap_is_refused_even_under_a_valid_mac() {
    let crypto = CryptoProvider::aws_lc();
    let mut page = edited(SYSTEM_DEK_AT, &[0; 40]);
    let mac = crypto.hmac_sha256(GENUINE.1.master.mac_key(), &[&page[..MAC_AT]]);
    put(&mut *page, MAC_AT, &mac);
    assert_eq!(
        refusal(&page),
        HeaderError::Tampered {
            what: "a wrapped data key"
        }
    );
}

#[test]
fn every_bit_of_the_header_counts() {
    let genuine = GENUINE.0.to_page();
    for bit in 0..8 * genuine.len() {
        let mut page = genuine.clone();
        page[bit / 8] ^= 1 << (bit % 8);
        assert!(open_with(&page, RAW_KEY).is_err(), "bit {bit}");
        // And when the editor mends the checksum, unless that undoes the edit.
        fix_crc(&mut page);
        if page != genuine {
            assert!(
                open_with(&page, RAW_KEY).is_err(),
                "bit {bit}, checksum mended"
            );
        }
    }
}

#[test]
fn reserved_bytes_are_zero() {
    let empty_slot = SLOTS_AT + 3 * SLOT_LEN;
    for at in [
        11,
        116,
        196,
        255,
        SLOTS_AT + 90,
        SLOTS_AT + 192,
        empty_slot + 255,
        BLOB_AREA_AT,
        CRC_AT - 1,
    ] {
        let page = edited(at, &[1]);
        let error = UnverifiedHeader::parse(&page).unwrap_err();
        assert_eq!(
            error,
            HeaderError::Tampered {
                what: "the file header"
            },
            "byte {at}"
        );
    }
}

#[test]
fn absurd_kdf_parameters_are_refused_before_any_work() {
    let page = with_passphrase();
    let absurd: [(u8, [u32; 3]); 6] = [
        (1, [(1 << 20) + 1, 3, 4]),
        (1, [65536, 17, 4]),
        (1, [65536, 3, 17]),
        (1, [u32::MAX; 3]),
        (2, [10_000_001, 0, 0]),
        (7, [1, 1, 1]),
    ];
    for (kdf, parameters) in absurd {
        let mut page = page.clone();
        page[SLOTS_AT + 2] = kdf;
        for (i, parameter) in parameters.into_iter().enumerate() {
            put(&mut *page, SLOTS_AT + 4 + 4 * i, &parameter.to_le_bytes());
        }
        fix_crc(&mut page);
        assert_eq!(
            UnverifiedHeader::parse(&page).unwrap_err(),
            HeaderError::AbsurdKdf { slot: 0 }
        );
    }
}

#[test]
fn edited_kdf_parameters_do_not_open() {
    // Other parameters give another root: nothing is gained by asking for less work.
    let mut page = with_passphrase();
    put(&mut *page, SLOTS_AT + 8, &2u32.to_le_bytes());
    fix_crc(&mut page);
    assert_eq!(
        open_with(&page, "passphrase").unwrap_err(),
        HeaderError::WrongKey
    );
}

#[test]
fn wrong_key() {
    let other = RAW_KEY.replace('1', "2");
    assert_eq!(
        open_with(&GENUINE.0.to_page(), &other).unwrap_err(),
        HeaderError::WrongKey
    );
    assert_eq!(
        open_with(&GENUINE.0.to_page(), "passphrase").unwrap_err(),
        HeaderError::WrongKey
    );
    assert_eq!(
        open_with(&with_passphrase(), "Passphrase").unwrap_err(),
        HeaderError::WrongKey
    );
    assert_eq!(
        open_with(&with_passphrase(), RAW_KEY).unwrap_err(),
        HeaderError::WrongKey
    );
}

#[test]
fn key_missing() {
    let header = UnverifiedHeader::parse(&GENUINE.0.to_page()).unwrap();
    assert_eq!(header.open_plain().unwrap_err(), HeaderError::KeyRequired);
}

#[test]
fn key_given_for_a_plain_file() {
    let page = Header::create_plain(&CryptoProvider::aws_lc())
        .unwrap()
        .to_page();
    assert_eq!(
        open_with(&page, RAW_KEY).unwrap_err(),
        HeaderError::NotEncrypted
    );
    assert!(UnverifiedHeader::parse(&page).unwrap().open_plain().is_ok());
}

#[test]
fn malformed_key_text() {
    let error = open_with(&GENUINE.0.to_page(), "hex:1111").unwrap_err();
    assert!(matches!(
        error,
        HeaderError::Key(KeyError::Malformed { .. })
    ));
    assert!(!error.to_string().contains("1111"));
}

#[test]
fn a_plain_header_holds_nothing_else() {
    let plain = Header::create_plain(&CryptoProvider::portable()).unwrap();
    for at in [
        12,
        COMMITMENT_AT,
        SLOTS_AT,
        BLOB_AREA_AT,
        CRC_AT - 1,
        MAC_AT,
        MAC_AT + 31,
    ] {
        let mut page = plain.to_page();
        page[at] = 1;
        fix_crc(&mut page);
        let error = UnverifiedHeader::parse(&page).unwrap_err();
        assert_eq!(
            error,
            HeaderError::Tampered {
                what: "the file header"
            },
            "byte {at}"
        );
    }
}

#[test]
fn labels_that_steer_a_terminal_are_refused() {
    let turned_round = *b"a\xe2\x80\xaeb";
    for label in [
        *b"\x1b[31m",
        *b"a\nb\nc",
        *b"\xff\xfe\xfd\xfc\xfb",
        turned_round,
    ] {
        let mut page = with_passphrase();
        put(&mut *page, SLOTS_AT + 96, &label);
        fix_crc(&mut page);
        assert_eq!(
            UnverifiedHeader::parse(&page).unwrap_err(),
            HeaderError::Tampered { what: "a key slot" }
        );
    }
}

#[test]
fn the_other_copy_is_held_against_the_same_keys() {
    let crypto = CryptoProvider::aws_lc();
    let verify = |page: &Page| {
        UnverifiedHeader::parse(page)
            .unwrap()
            .verify(&crypto, &GENUINE.1)
    };
    assert_eq!(verify(&GENUINE.0.to_page()).unwrap().mac(), GENUINE.0.mac());
    let tampered = HeaderError::Tampered {
        what: "the file header",
    };
    assert_eq!(verify(&edited(SEQUENCE_AT, &[9])).unwrap_err(), tampered);
    assert_eq!(
        verify(&with_passphrase()).unwrap_err(),
        HeaderError::ForeignKeys
    );
    let mut plain = Header::create_plain(&crypto).unwrap().to_page();
    put(
        &mut *plain,
        DATABASE_ID_AT,
        GENUINE.0.database_id().as_bytes(),
    );
    fix_crc(&mut plain);
    assert_eq!(
        verify(&plain).unwrap_err(),
        HeaderError::Tampered {
            what: "the cipher suite"
        }
    );
}

#[test]
fn an_unknown_data_key_is_refused() {
    let crypto = CryptoProvider::aws_lc();
    let error = GENUINE
        .1
        .block_key(&crypto, 7, Suite::Gcm, &[0; 16])
        .unwrap_err();
    assert_eq!(error, HeaderError::UnknownKeyId { key_id: 7 });
    assert!(
        GENUINE
            .1
            .block_key(&crypto, 1, Suite::Ctr, &[0; 16])
            .is_ok()
    );
    let plain = GENUINE.1.block_key(&crypto, 1, Suite::Plain, &[0; 16]);
    assert_eq!(plain.unwrap_err(), HeaderError::NotEncrypted);
}

#[test]
fn nothing_secret_is_printed() {
    let (header, keys) = &*GENUINE;
    let printed = format!(
        "{header:?} {keys:?} {:?}",
        keys.block_key(&CryptoProvider::aws_lc(), 1, Suite::Gcm, &[0; 16])
    );
    let shows = |key: &SecretKey| printed.contains(&format!("{:?}", key.expose()));
    assert!(!shows(&keys.system_dek) && !shows(&keys.ring_key) && !shows(keys.master.mac_key()));
    assert!(printed.contains("[secret]"));
}

proptest! {
    #[test]
    fn parsing_never_panics_on_noise(noise in proptest::collection::vec(any::<u8>(), 4096), suite in 0..3u8) {
        let mut page: Page = noise.try_into().unwrap();
        let _ = UnverifiedHeader::parse(&page);
        // With a head and a checksum that lead further in.
        put(&mut page, 0, &GENUINE.0.to_page()[..SUITE_AT]);
        page[SUITE_AT] = suite;
        fix_crc(&mut page);
        let _ = UnverifiedHeader::parse(&page);
    }

    #[test]
    fn parsing_never_panics_on_edits(edits in proptest::collection::vec((0..4096usize, any::<u8>()), 1..20)) {
        let mut page = GENUINE.0.to_page();
        for (at, byte) in edits {
            page[at] = byte;
        }
        let _ = UnverifiedHeader::parse(&page);
        fix_crc(&mut page);
        if page != GENUINE.0.to_page() {
            prop_assert!(open_with(&page, RAW_KEY).is_err());
        }
    }
}
