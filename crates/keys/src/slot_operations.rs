//! Key slots through their life: add, change, remove, many providers, budgets, key services.

use std::sync::atomic::{AtomicUsize, Ordering};

use hushdb_crypto::{Argon2Params, CryptoProvider, SecretKey};

use crate::providers::{KeyText, WithKeyFile};
use crate::{
    DatabaseKeys, Header, HeaderError, KdfBudget, KeyAttempt, KeyContext, KeyError, KeyMaterial,
    KeyProvider, MAX_LABEL_LEN, ProviderKind, SLOT_COUNT, SlotKdf, SlotOptions, SlotPlan, Stretch,
    Suite, UnverifiedHeader,
};

fn cheap(label: &str) -> SlotOptions {
    SlotOptions {
        label: label.to_owned(),
        stretch: Stretch::cheap_for_tests(),
    }
}

fn create(crypto: &CryptoProvider, key: &str) -> (Header, DatabaseKeys) {
    Header::create(crypto, Suite::Gcm, &KeyText::new(key), &cheap("first")).unwrap()
}

fn unlock(
    crypto: &CryptoProvider,
    header: &Header,
    key: &str,
) -> Result<DatabaseKeys, HeaderError> {
    let unverified = UnverifiedHeader::parse(&header.to_page())?;
    let (verified, keys) = unverified.unlock(
        crypto,
        &mut KeyAttempt::new(&KeyText::new(key), KdfBudget::default()),
    )?;
    assert_eq!(
        (verified.sequence(), verified.mac()),
        (header.sequence(), header.mac())
    );
    Ok(keys)
}

#[test]
fn each_crypto_provider_opens_what_the_other_made() {
    let [a, b] = CryptoProvider::all();
    for (writer, reader) in [(a, b), (b, a)] {
        for suite in [Suite::Gcm, Suite::Ctr] {
            let (mut header, keys) =
                Header::create(&writer, suite, &KeyText::new("pass:one"), &cheap("")).unwrap();
            let raw = "base64:WlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlpaWlo=";
            header
                .add_slot(&writer, &keys, &KeyText::new(raw), &cheap("raw"))
                .unwrap();
            for key in ["one", raw] {
                let opened = unlock(&reader, &header, key).unwrap();
                assert_eq!(opened.ring_key(), keys.ring_key());
                assert_eq!(opened.system_dek, keys.system_dek);
                assert_eq!(opened.system_key_id(), 1);
                assert!(opened.has_key(1) && !opened.has_key(0) && !opened.has_key(2));
            }
            assert_eq!(header.suite(), suite);
        }
    }
}

#[test]
fn slots_are_added_changed_and_removed_without_touching_data_keys() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "one");
    assert_eq!(header.sequence(), 1);

    assert_eq!(
        header.add_slot(&crypto, &keys, &KeyText::new("two"), &cheap("second")),
        Ok(1)
    );
    assert_eq!(header.sequence(), 2);
    for key in ["one", "two"] {
        assert_eq!(
            unlock(&crypto, &header, key).unwrap().system_dek,
            keys.system_dek
        );
    }

    header
        .change_slot(&crypto, &keys, 0, &KeyText::new("three"), &cheap("renewed"))
        .unwrap();
    assert_eq!(header.sequence(), 3);
    assert_eq!(
        unlock(&crypto, &header, "one").unwrap_err(),
        HeaderError::WrongKey
    );
    assert!(unlock(&crypto, &header, "three").is_ok());

    header.remove_slot(&crypto, &keys, 1).unwrap();
    assert_eq!(header.sequence(), 4);
    assert_eq!(
        unlock(&crypto, &header, "two").unwrap_err(),
        HeaderError::WrongKey
    );
    let labels: Vec<_> = header
        .slots()
        .into_iter()
        .map(|slot| (slot.slot, slot.label))
        .collect();
    assert_eq!(labels, [(0, "renewed".to_owned())]);
}

#[test]
fn the_last_slot_cannot_be_removed() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "one");
    let page = header.to_page();
    assert_eq!(
        header.remove_slot(&crypto, &keys, 0),
        Err(HeaderError::LastSlot)
    );
    assert_eq!(
        header.remove_slot(&crypto, &keys, 1),
        Err(HeaderError::NoSuchSlot { slot: 1 })
    );
    assert_eq!(
        header.remove_slot(&crypto, &keys, 8),
        Err(HeaderError::NoSuchSlot { slot: 8 })
    );
    let changed = header.change_slot(&crypto, &keys, 5, &KeyText::new("x"), &cheap(""));
    assert_eq!(changed, Err(HeaderError::NoSuchSlot { slot: 5 }));
    assert_eq!(header.to_page(), page, "a failed operation changes nothing");
}

#[test]
fn eight_slots_and_no_more() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "key 0");
    for slot in 1..SLOT_COUNT {
        let key = KeyText::new(format!("key {slot}"));
        assert_eq!(header.add_slot(&crypto, &keys, &key, &cheap("")), Ok(slot));
    }
    let page = header.to_page();
    assert_eq!(
        header.add_slot(&crypto, &keys, &KeyText::new("x"), &cheap("")),
        Err(HeaderError::SlotsFull)
    );
    assert_eq!(header.to_page(), page);
    for slot in 0..SLOT_COUNT {
        assert!(unlock(&crypto, &header, &format!("key {slot}")).is_ok());
    }
    // A freed place in the middle is used again.
    header.remove_slot(&crypto, &keys, 3).unwrap();
    assert_eq!(
        header.add_slot(&crypto, &keys, &KeyText::new("new"), &cheap("")),
        Ok(3)
    );
}

#[test]
fn slot_operations_ask_for_the_keys_of_this_database() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "one");
    let (_, foreign) = create(&crypto, "one");
    let added = header.add_slot(&crypto, &foreign, &KeyText::new("two"), &cheap(""));
    assert_eq!(added, Err(HeaderError::ForeignKeys));
    let mut plain = Header::create_plain(&crypto).unwrap();
    let added = plain.add_slot(&crypto, &keys, &KeyText::new("two"), &cheap(""));
    assert_eq!(added, Err(HeaderError::NotEncrypted));
    let created = Header::create(&crypto, Suite::Plain, &KeyText::new("two"), &cheap(""));
    assert_eq!(created.unwrap_err(), HeaderError::NotEncrypted);
}

#[test]
fn labels_are_kept_and_limited() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "one");
    let longest = "é".repeat(MAX_LABEL_LEN / 2);
    header
        .change_slot(&crypto, &keys, 0, &KeyText::new("one"), &cheap(&longest))
        .unwrap();
    let slots = UnverifiedHeader::parse(&header.to_page()).unwrap().slots();
    assert_eq!(slots[0].label, longest);
    assert_eq!(slots[0].kind, ProviderKind::TEXT);
    for label in [
        format!("{longest}x"),
        "a\tb".to_owned(),
        "\u{9b}31m".to_owned(),
        "admin\u{202e}gro.live".to_owned(),
        "a\u{200b}b".to_owned(),
        "a\u{e0041}b".to_owned(),
    ] {
        let added = header.add_slot(&crypto, &keys, &KeyText::new("two"), &cheap(&label));
        assert_eq!(added, Err(HeaderError::InvalidLabel));
    }
}

#[test]
fn a_new_passphrase_slot_is_stretched_at_the_floor_and_a_raw_key_not_at_all() {
    let crypto = CryptoProvider::aws_lc();
    let passphrase = Header::create(
        &crypto,
        Suite::Gcm,
        &KeyText::new("one"),
        &SlotOptions::default(),
    )
    .unwrap();
    let floor = SlotKdf::Argon2id(Argon2Params {
        m_kib: 65536,
        t: 3,
        p: 4,
    });
    assert_eq!(passphrase.0.slots()[0].kdf, floor);
    let raw = KeyText::new(format!("hex:{}", "07".repeat(32)));
    let raw = Header::create(&crypto, Suite::Gcm, &raw, &SlotOptions::default()).unwrap();
    assert_eq!(raw.0.slots()[0].kdf, SlotKdf::None);
}

#[test]
fn pbkdf2_slots_open() {
    let crypto = CryptoProvider::aws_lc();
    let options = SlotOptions {
        label: String::new(),
        stretch: Stretch::pbkdf2(210_000).unwrap(),
    };
    let (header, _) = Header::create(&crypto, Suite::Gcm, &KeyText::new("one"), &options).unwrap();
    assert!(unlock(&crypto, &header, "one").is_ok());
    assert_eq!(
        unlock(&crypto, &header, "two").unwrap_err(),
        HeaderError::WrongKey
    );
}

fn with_file(key: &str, file: &[u8]) -> (WithKeyFile, tempfile::NamedTempFile) {
    let mut path = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut path, file).unwrap();
    let key = std::sync::Arc::new(KeyText::new(key));
    (WithKeyFile::new(key, path.path()), path)
}

fn opens(header: &Header, key: &dyn KeyProvider) -> Result<(), HeaderError> {
    let header = UnverifiedHeader::parse(&header.to_page())?;
    let mut attempt = KeyAttempt::new(key, KdfBudget::default());
    header
        .unlock(&CryptoProvider::aws_lc(), &mut attempt)
        .map(|_| ())
}

#[test]
fn two_factors_open_together_and_neither_alone() {
    let crypto = CryptoProvider::aws_lc();
    let raw = format!("hex:{}", "07".repeat(32));
    for text in ["one", &raw] {
        let (both, _file) = with_file(text, &[7; 40]);
        let (header, _) = Header::create(&crypto, Suite::Gcm, &both, &cheap("")).unwrap();
        let slots = header.slots();
        assert!(slots[0].has_key_file);
        let page = UnverifiedHeader::parse(&header.to_page()).unwrap();
        assert_eq!(page.format_version(), 2);
        assert_eq!(opens(&header, &both), Ok(()));
        let alone = opens(&header, &KeyText::new(text));
        assert_eq!(alone, Err(HeaderError::Key(KeyError::KeyFileNeeded)));
        for (text, file) in [(text, [8; 40]), ("two", [7; 40])] {
            let (other, _file) = with_file(text, &file);
            assert_eq!(opens(&header, &other), Err(HeaderError::WrongKey));
        }
        let (longer, _file) = with_file(text, &[7; 41]);
        assert_eq!(opens(&header, &longer), Err(HeaderError::WrongKey));
    }
}

#[test]
fn with_a_key_file_no_slot_passes_that_takes_none() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "one");
    let (both, _file) = with_file("one", &[7; 40]);
    assert_eq!(opens(&header, &both), Err(HeaderError::WrongKey));
    let page = UnverifiedHeader::parse(&header.to_page()).unwrap();
    assert_eq!(page.format_version(), 1);
    assert_eq!(header.add_slot(&crypto, &keys, &both, &cheap("")), Ok(1));
    assert_eq!(opens(&header, &both), Ok(()));
    assert_eq!(opens(&header, &KeyText::new("one")), Ok(()));
    // A file beside a service.
    let service = std::sync::Arc::new(Service::new(16, 0));
    let (_, file) = with_file("", &[9; 32]);
    let both = WithKeyFile::new(service.clone(), file.path());
    header
        .change_slot(&crypto, &keys, 0, &both, &cheap(""))
        .unwrap();
    assert_eq!(opens(&header, &both), Ok(()));
    assert_eq!(
        opens(&header, &*service),
        Err(HeaderError::Key(KeyError::KeyFileNeeded))
    );
    // The slot that takes no file is not the service's, and another's file would not help.
    header
        .add_slot(&crypto, &keys, &KeyText::new("two"), &cheap(""))
        .unwrap();
    let tried = |slot| {
        let header = UnverifiedHeader::parse(&header.to_page()).unwrap();
        let attempt = KeyAttempt::new(&*service, KdfBudget::default());
        let mut attempt = attempt.with_slot(slot);
        header.unlock(&crypto, &mut attempt).map(|_| ())
    };
    let needs_file = HeaderError::Key(KeyError::KeyFileNeeded);
    assert_eq!(tried(0), Err(needs_file));
    assert_eq!(tried(2), Err(HeaderError::WrongKey));
    // No slot with a file has version 1.
    let mut page = *header.to_page();
    page[8] = 1;
    let crc = crc32c::crc32c(&page[..4060]).to_le_bytes();
    page[4060..4064].copy_from_slice(&crc);
    let edited = UnverifiedHeader::parse(&page).map(|_| ());
    assert!(matches!(edited, Err(HeaderError::Tampered { .. })));
    // And a file that was only said to belong, or not to, is refused with the page.
    for value in [0, 2] {
        let mut page = *header.to_page();
        page[256 + 90] = value;
        let crc = crc32c::crc32c(&page[..4060]).to_le_bytes();
        page[4060..4064].copy_from_slice(&crc);
        let opened = UnverifiedHeader::parse(&page).and_then(|page| {
            let mut attempt = KeyAttempt::new(&both, KdfBudget::default());
            page.unlock(&crypto, &mut attempt).map(|_| ())
        });
        assert!(opened.is_err(), "{value}");
    }
}

#[test]
fn two_factors_are_kept_under_a_new_master_key() {
    let crypto = CryptoProvider::aws_lc();
    let (both, _file) = with_file("one", &[7; 40]);
    let (mut header, keys) = Header::create(&crypto, Suite::Gcm, &both, &cheap("")).unwrap();
    let plan = [SlotPlan::Keep {
        slot: 0,
        key: &both,
    }];
    let prepared = header.prepare_new_master(&crypto, &keys, &plan).unwrap();
    header.rekey(&crypto, &keys, None, prepared, 0).unwrap();
    assert!(header.slots()[0].has_key_file);
    assert_eq!(opens(&header, &both), Ok(()));
}

/// A provider that counts how often it is asked.
struct Counted(KeyText, AtomicUsize);

impl KeyProvider for Counted {
    fn kind(&self) -> ProviderKind {
        self.0.kind()
    }
    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        self.0.establish(context)
    }
    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.recover(context, blob)
    }
}

#[test]
fn one_open_asks_once_and_keeps_to_its_budget() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "key 0");
    for slot in 1..SLOT_COUNT {
        header
            .add_slot(
                &crypto,
                &keys,
                &KeyText::new(format!("key {slot}")),
                &cheap(""),
            )
            .unwrap();
    }
    let unverified = UnverifiedHeader::parse(&header.to_page()).unwrap();
    // A cheap slot costs 8 units: this budget pays for three of the eight.
    let open = |key: &str| {
        let provider = Counted(KeyText::new(key), AtomicUsize::new(0));
        let opened = unverified
            .unlock(
                &crypto,
                &mut KeyAttempt::new(&provider, KdfBudget::new(8 * 3)),
            )
            .map(|_| ());
        assert_eq!(provider.1.into_inner(), 1);
        opened
    };
    assert_eq!(open("key 2"), Ok(()));
    assert_eq!(open("key 3"), Err(HeaderError::KdfBudgetSpent));
    assert_eq!(open("wrong"), Err(HeaderError::KdfBudgetSpent));
}

#[test]
fn both_copies_of_a_header_are_tried_with_one_answer_and_one_budget() {
    let crypto = CryptoProvider::aws_lc();
    let (header, _) = create(&crypto, "key");
    let copies =
        [&header, &header].map(|header| UnverifiedHeader::parse(&header.to_page()).unwrap());
    let provider = Counted(KeyText::new("wrong"), AtomicUsize::new(0));
    let mut attempt = KeyAttempt::new(&provider, KdfBudget::new(8));
    let refusals = copies.map(|copy| copy.unlock(&crypto, &mut attempt).map(|_| ()));
    let expected = [HeaderError::WrongKey, HeaderError::KdfBudgetSpent];
    assert_eq!(refusals, expected.map(Err));
    assert_eq!(provider.1.load(Ordering::Relaxed), 1);
}

/// A key service in miniature: its ciphertext is the key, wrapped under a key of its own, beside the encryption context.
struct Service {
    crypto: CryptoProvider,
    kind: ProviderKind,
    own_key: SecretKey,
    padding: usize,
    asked: AtomicUsize,
}

impl Service {
    fn new(kind: u8, padding: usize) -> Self {
        let crypto = CryptoProvider::aws_lc();
        let own_key = crypto.random_key().unwrap();
        Self {
            crypto,
            kind: ProviderKind(kind),
            own_key,
            padding,
            asked: AtomicUsize::new(0),
        }
    }
}

impl KeyProvider for Service {
    fn kind(&self) -> ProviderKind {
        self.kind
    }
    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let key = self.crypto.random_key().map_err(|_| KeyError::Empty)?;
        let mut blob = context.database_id.as_bytes().to_vec();
        blob.extend(self.crypto.wrap_key(&self.own_key, &key));
        blob.resize(blob.len() + self.padding, 0xee);
        Ok((KeyMaterial::Raw(key), blob))
    }
    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let refused = || KeyError::Service {
            provider: "test",
            what: "refused: check the grants".to_owned(),
        };
        let (bound_to, rest) = blob.split_at_checked(16).ok_or_else(refused)?;
        let wrapped = rest.first_chunk::<40>().ok_or_else(refused)?;
        if bound_to != context.database_id.as_bytes() {
            return Err(refused());
        }
        self.crypto
            .unwrap_key(&self.own_key, wrapped)
            .map(KeyMaterial::Raw)
            .map_err(|_| refused())
    }
    fn keeps_blob(&self) -> bool {
        true
    }
}

#[test]
fn a_key_service_keeps_its_blob_in_the_header() {
    let crypto = CryptoProvider::aws_lc();
    let (first, second, third) = (
        Service::new(16, 400),
        Service::new(17, 500),
        Service::new(16, 0),
    );
    let (mut header, keys) =
        Header::create(&crypto, Suite::Gcm, &first, &cheap("service")).unwrap();
    header
        .add_slot(&crypto, &keys, &KeyText::new("pass"), &cheap("person"))
        .unwrap();
    header
        .add_slot(&crypto, &keys, &second, &cheap("other service"))
        .unwrap();
    header
        .add_slot(&crypto, &keys, &third, &cheap("third"))
        .unwrap();
    let blobs: Vec<_> = header.slots().iter().map(|slot| slot.blob_len).collect();
    assert_eq!(blobs, [456, 0, 556, 56]);

    let open = |header: &Header, service: &Service| {
        service.asked.store(0, Ordering::Relaxed);
        let unverified = UnverifiedHeader::parse(&header.to_page()).unwrap();
        unverified
            .unlock(&crypto, &mut KeyAttempt::new(service, KdfBudget::new(0)))
            .map(|_| service.asked.load(Ordering::Relaxed))
    };
    // Each service sees only the blobs of its kind.
    assert_eq!(open(&header, &first), Ok(1));
    assert_eq!(open(&header, &second), Ok(1));
    assert_eq!(open(&header, &third), Ok(2));
    assert!(unlock(&crypto, &header, "pass").is_ok());
    let stranger = Service::new(16, 0);
    assert!(matches!(
        open(&header, &stranger),
        Err(HeaderError::Key(KeyError::Service { .. }))
    ));

    assert_eq!(
        stranger.asked.load(Ordering::Relaxed),
        2,
        "asked for the slots of its kind only"
    );

    // When a slot goes, the blobs behind it move up.
    header.remove_slot(&crypto, &keys, 0).unwrap();
    assert_eq!(open(&header, &second), Ok(1));
    assert_eq!(open(&header, &third), Ok(1));
}

/// A header of two slots, each of a service, and where their blobs stand, which are of one length.
fn of_two_services(first: &Service, second: &Service) -> (Header, [std::ops::Range<usize>; 2]) {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = Header::create(&crypto, Suite::Gcm, first, &cheap("")).unwrap();
    header.add_slot(&crypto, &keys, second, &cheap("")).unwrap();
    (header, [2304..2360, 2360..2416])
}

/// What both services make of a page with a checksum that holds.
fn opened_by(page: &mut [u8; 4096], services: [&Service; 2]) -> [Result<(), HeaderError>; 2] {
    let crc = crc32c::crc32c(&page[..4060]).to_le_bytes();
    page[4060..4064].copy_from_slice(&crc);
    services.map(|service| {
        let header = UnverifiedHeader::parse(page)?;
        let mut attempt = KeyAttempt::new(service, KdfBudget::new(0));
        header
            .unlock(&CryptoProvider::aws_lc(), &mut attempt)
            .map(|_| ())
    })
}

#[test]
fn blobs_exchanged_between_slots_services_and_databases_open_nothing() {
    let (first, second) = (Service::new(16, 0), Service::new(17, 0));
    // Between two slots of one service, which gives both keys: neither is its slot's.
    let (header, [a, b]) = of_two_services(&first, &first);
    let exchanged = |header: &Header| {
        let mut page = *header.to_page();
        let front = page[a.clone()].to_vec();
        page.copy_within(b.clone(), a.start);
        page[b.clone()].copy_from_slice(&front);
        page
    };
    let answers = opened_by(&mut exchanged(&header), [&first, &first]);
    assert_eq!(
        answers,
        [Err(HeaderError::WrongKey), Err(HeaderError::WrongKey)]
    );
    // Between two services: neither knows what the other wrapped.
    let (header, _) = of_two_services(&first, &second);
    for answer in opened_by(&mut exchanged(&header), [&first, &second]) {
        assert!(matches!(answer, Err(HeaderError::Key(_))), "{answer:?}");
    }
    // From another database, with the same services: it is bound to that one.
    let (other, _) = of_two_services(&first, &second);
    let mut page = *header.to_page();
    page[2304..2416].copy_from_slice(&other.to_page()[2304..2416]);
    for answer in opened_by(&mut page, [&first, &second]) {
        assert!(matches!(answer, Err(HeaderError::Key(_))), "{answer:?}");
    }
    // With slot, blob and all: the master key is another's, and so is the database's name in its wrapping.
    let mut page = *header.to_page();
    page[256..2416].copy_from_slice(&other.to_page()[256..2416]);
    for answer in opened_by(&mut page, [&first, &second]) {
        assert!(answer.is_err());
    }
}

#[test]
fn the_blob_area_is_limited() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "one");
    assert_eq!(
        header.add_slot(&crypto, &keys, &Service::new(16, 1700), &cheap("")),
        Ok(1)
    );
    let page = header.to_page();
    for padding in [0, 66_000] {
        let added = header.add_slot(&crypto, &keys, &Service::new(16, padding), &cheap(""));
        assert_eq!(added, Err(HeaderError::BlobAreaFull));
    }
    assert_eq!(header.to_page(), page);
    let created = Header::create(&crypto, Suite::Gcm, &Service::new(16, 1701), &cheap(""));
    assert_eq!(created.unwrap_err(), HeaderError::BlobAreaFull);
}

/// A service that always says the same, and counts.
struct Says(KeyError, AtomicUsize);

impl KeyProvider for Says {
    fn kind(&self) -> ProviderKind {
        ProviderKind(16)
    }
    fn establish(&self, _: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        Err(self.0.clone())
    }
    fn recover(&self, _: &KeyContext, _: &[u8]) -> Result<KeyMaterial, KeyError> {
        self.1.fetch_add(1, Ordering::Relaxed);
        Err(self.0.clone())
    }
    fn keeps_blob(&self) -> bool {
        true
    }
}

fn said() -> (String, String) {
    ("test".to_owned(), "ask again".to_owned())
}

fn refused() -> KeyError {
    let (place, why) = said();
    KeyError::Refused { place, why }
}

/// Two copies of a header that differ: eight slots of a service each, none alike.
fn two_copies(crypto: &CryptoProvider) -> [UnverifiedHeader; 2] {
    [(); 2].map(|()| {
        let service = Service::new(16, 0);
        let (mut header, keys) = Header::create(crypto, Suite::Gcm, &service, &cheap("")).unwrap();
        for _ in 1..SLOT_COUNT {
            header
                .add_slot(crypto, &keys, &service, &cheap(""))
                .unwrap();
        }
        UnverifiedHeader::parse(&header.to_page()).unwrap()
    })
}

#[test]
fn two_copies_that_differ_make_eight_requests_in_all() {
    let crypto = CryptoProvider::aws_lc();
    let says = Says(refused(), AtomicUsize::new(0));
    let mut attempt = KeyAttempt::new(&says, KdfBudget::default());
    let [first, second] = two_copies(&crypto);
    let mut open = |header: &UnverifiedHeader| header.unlock(&crypto, &mut attempt).map(drop);
    assert_eq!(open(&first), Err(HeaderError::Key(refused())));
    let limit = SLOT_COUNT;
    let many = HeaderError::Key(KeyError::TooManyRequests { limit });
    assert_eq!(open(&second), Err(many));
    // Of the first copy, all is known.
    assert_eq!(open(&first), Err(HeaderError::Key(refused())));
    assert_eq!(says.1.load(Ordering::Relaxed), SLOT_COUNT);
}

#[test]
fn a_wrong_pin_and_a_silent_service_are_tried_once() {
    let crypto = CryptoProvider::aws_lc();
    let ((place, why), (silent, wait)) = (said(), said());
    for error in [
        KeyError::CredentialsRefused { place, why },
        KeyError::Unavailable {
            place: silent,
            why: wait,
        },
    ] {
        let says = Says(error.clone(), AtomicUsize::new(0));
        let mut attempt = KeyAttempt::new(&says, KdfBudget::default());
        for copy in two_copies(&crypto) {
            let opened = copy.unlock(&crypto, &mut attempt).map(drop);
            assert_eq!(opened, Err(HeaderError::Key(error.clone())));
        }
        assert_eq!(says.1.load(Ordering::Relaxed), 1);
    }
}

#[test]
fn one_slot_can_be_tried_alone() {
    let crypto = CryptoProvider::aws_lc();
    let (mut header, keys) = create(&crypto, "one");
    header
        .add_slot(&crypto, &keys, &KeyText::new("two"), &cheap(""))
        .unwrap();
    let header = UnverifiedHeader::parse(&header.to_page()).unwrap();
    for (key, slot, opens) in [("one", 0, true), ("two", 1, true), ("two", 0, false)] {
        let key = KeyText::new(key);
        let mut attempt = KeyAttempt::new(&key, KdfBudget::default()).with_slot(slot);
        assert_eq!(header.unlock(&crypto, &mut attempt).is_ok(), opens);
        assert_eq!(attempt.opened(), opens.then_some(slot));
    }
}
