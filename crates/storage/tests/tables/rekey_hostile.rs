//! Changing the data key where something goes wrong, and files that somebody made who has an old data key, or parts of other states.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use hushdb_crypto::CryptoProvider;
use hushdb_keys::DatabaseKeys;
use hushdb_keys::providers::KeyText;
use hushdb_storage::*;

use super::failures::FailingFile;
use super::fixture::*;
use super::logged::*;
use super::rekey::{SLOTS, before_and_running, is_sound, keys_of, steps};

/// Offsets in a superblock's payload (FORMAT.md, "Superblock").
const RINGS: [usize; 2] = [104, 3976];
/// Bytes of a log's header, and offsets in it (FORMAT.md, "Log").
const LOG_HEADER: usize = 128;
const LOG_KEY_ID: usize = 56;
const LOG_SALT: usize = 64;
const LOG_MAC: usize = 80;

/// What somebody can make of a file who has the newest data key.
struct Forger {
    files: Files,
    keys: Arc<DatabaseKeys>,
    generation: u64,
    /// The payload of the newest superblock.
    superblock: Vec<u8>,
    /// The data key that blocks are sealed under, where it is not the newest.
    seals_under: Option<u32>,
}

impl Forger {
    fn of(files: &Files) -> Self {
        let files = files.with(&files.all());
        let keys = Arc::new(keys_of(&files));
        let mut page: [u8; 4096] = *files.all()[0].as_ref().unwrap()[SLOTS[0]..]
            .first_chunk()
            .unwrap();
        let generation = u64::from_le_bytes(*page[24..].first_chunk().unwrap());
        let mut this = Self {
            files,
            keys,
            generation,
            superblock: Vec::new(),
            seals_under: None,
        };
        let newest = BlockRef {
            sector: 8,
            payload_len: 4096 - 80,
            key_id: this.keys.system_key_id(),
            birth_generation: generation,
            tag: *page.last_chunk().unwrap(),
        };
        let sealed = this.sealed();
        sealed
            .open_in_place(Role::Superblock, &newest, &mut page)
            .unwrap();
        this.superblock = page[64..4096 - 16].to_vec();
        this
    }

    fn sealed(&self) -> SealedFile {
        let keys = Arc::clone(&self.keys);
        let id = *keys.database_id().as_bytes();
        let key_id = self.seals_under.unwrap_or(keys.system_key_id());
        let file: Arc<dyn StorageFile> = self.files.files.get("").unwrap();
        let protection = Protection::Gcm { keys, key_id };
        SealedFile::new(file, CryptoProvider::aws_lc(), id, protection)
    }

    /// Seals a block and has a superblock's ref name it.
    fn block(&mut self, role: Role, sector: u64, payload: &[u8], named_at: usize) {
        let mut buf = BlockStore::block_buffer(payload.len());
        buf.extend_from_slice(payload);
        let sealed = self.sealed();
        let block = sealed.seal(role, sector, self.generation, buf).unwrap();
        self.write(sector as usize * SECTOR_BYTES, &block.bytes);
        let r = block.block_ref;
        let at = &mut self.superblock[named_at..];
        at[..8].copy_from_slice(&r.sector.to_le_bytes());
        at[8..12].copy_from_slice(&r.payload_len.to_le_bytes());
        at[12..16].copy_from_slice(&r.key_id.to_le_bytes());
        at[16..24].copy_from_slice(&r.birth_generation.to_le_bytes());
        at[24..40].copy_from_slice(&r.tag);
    }

    fn write(&self, at: usize, bytes: &[u8]) {
        let file = self.files.files.get("").unwrap();
        file.write_all_at(at as u64, bytes).unwrap();
    }

    /// The file with the superblock as it was edited, in both slots.
    fn finished(self) -> Files {
        let mut buf = BlockStore::block_buffer(self.superblock.len());
        buf.extend_from_slice(&self.superblock);
        let sealed = self.sealed();
        let slot = sealed
            .seal(Role::Superblock, 8, self.generation, buf)
            .unwrap();
        for at in SLOTS {
            self.write(at, &slot.bytes);
        }
        let all = self.files.all();
        self.files.with(&all)
    }

    /// The payload of the ring, as its first copy has it.
    fn ring(&self) -> (u64, Vec<u8>) {
        let at = &self.superblock[RINGS[0]..];
        let r = BlockRef {
            sector: u64::from_le_bytes(*at.first_chunk().unwrap()),
            payload_len: u32::from_le_bytes(*at[8..].first_chunk().unwrap()),
            key_id: u32::from_le_bytes(*at[12..].first_chunk().unwrap()),
            birth_generation: u64::from_le_bytes(*at[16..].first_chunk().unwrap()),
            tag: *at[24..].first_chunk().unwrap(),
        };
        let ring = self.sealed().read(Role::KeyRing, &r, u64::MAX / 4096);
        (r.sector, ring.unwrap().to_vec())
    }

    fn second_ring_sector(&self) -> u64 {
        u64::from_le_bytes(*self.superblock[RINGS[1]..].first_chunk().unwrap())
    }
}

/// A log's header as somebody makes it who has the data keys: the given one under another data key, no record behind it.
fn forged_log(log: &[u8], keys: &DatabaseKeys, key_id: u32) -> Vec<u8> {
    let crypto = CryptoProvider::aws_lc();
    let mut header = log[..LOG_HEADER].to_vec();
    header[LOG_KEY_ID..LOG_KEY_ID + 4].copy_from_slice(&key_id.to_le_bytes());
    let sequence = u64::from_le_bytes(*header[8..].first_chunk().unwrap());
    let salt = *header[LOG_SALT..].first_chunk().unwrap();
    let log_keys = keys.log_keys(&crypto, key_id, sequence, &salt).unwrap();
    let mac = crypto.hmac_sha256(&log_keys.header_mac_key, &[&header[..LOG_MAC]]);
    header[LOG_MAC..LOG_MAC + 16].copy_from_slice(&mac[..16]);
    header
}

fn key() -> KeyText {
    KeyText::new(format!("hex:{}", "5a".repeat(32)))
}

#[test]
fn a_full_disk_at_any_write_of_the_beginning_harms_nothing_and_it_can_begin_again() {
    for allowed in 0.. {
        let file = FailingFile::new();
        let all = Arc::clone(&file) as Arc<dyn StorageFile>;
        let store = Store::create(all, Some(&key()), &StoreOptions::default()).unwrap();
        let columns = vec![def("n", ColumnType::Int64)];
        fill(&store, "t", columns, &[int64s(0..100)]);
        file.writes_left.store(allowed, SeqCst);
        let began = store.rotate_data_key();
        file.writes_left.store(u64::MAX, SeqCst);
        if began.is_ok() {
            assert!(allowed > 4, "{allowed}");
            return;
        }
        if store.begin().is_ok() {
            // The keys of the one that failed are gone: nothing may be sealed under what is left of them.
            assert_eq!(began.unwrap_err().kind(), ErrorKind::Full);
            assert!(store.rotate_data_key().unwrap());
            assert_eq!(steps(&store), RekeyState::Done);
            is_sound(&store);
        }
        drop(store);
        let copy = Arc::new(MemFile::from_bytes(&file.inner.to_bytes()));
        let store = Store::open(copy, Some(&key()), &StoreOptions::default())
            .unwrap_or_else(|error| panic!("full at write {allowed}: {error}"));
        is_sound(&store);
        let numbers = integers(&store, &store.snapshot(), "t", "n");
        assert_eq!(numbers.len(), 100);
    }
}

#[test]
fn a_full_disk_suspends_it_and_it_goes_on_when_there_is_room() {
    let file = FailingFile::new();
    let all = Arc::clone(&file) as Arc<dyn StorageFile>;
    let store = Store::create(all, Some(&key()), &StoreOptions::default()).unwrap();
    let columns = vec![def("n", ColumnType::Int64)];
    fill(&store, "t", columns, &[int64s(0..100)]);
    store.rotate_data_key().unwrap();
    file.writes_left.store(0, SeqCst);
    let error = store.rekey_step().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Full);
    let now = store.rekey_progress().unwrap();
    assert!(now.lacks_room && now.suspended == Some(error.to_string()));
    assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 100);
    file.writes_left.store(u64::MAX, SeqCst);
    store.rekey_step().unwrap();
    let now = store.rekey_progress().unwrap();
    assert!(!now.lacks_room && now.suspended.is_none());
    assert_eq!(steps(&store), RekeyState::Done);
    is_sound(&store);
}

#[test]
fn it_goes_on_in_little_room() {
    let file = FailingFile::new();
    let all = Arc::clone(&file) as Arc<dyn StorageFile>;
    let store = Store::create(all, Some(&key()), &StoreOptions::default()).unwrap();
    let noise = |group: i64| {
        int64s((0..20_000).map(move |i| (i + group).wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64)))
    };
    fill(&store, "t", vec![def("n", ColumnType::Int64)], &[noise(0)]);
    for group in 1..20 {
        let mut txn = store.begin().unwrap();
        append(&mut txn, "t", &[noise(group)]);
        txn.commit().unwrap();
    }
    let before = integers(&store, &store.snapshot(), "t", "n");
    store.rotate_data_key().unwrap();
    let len = file.inner.len().unwrap();
    assert!(len > 3 << 20, "{len}");
    // For little more than a block, where a step takes all of it elsewhere; what the file grew by is to get its place when it is written.
    let room = (len + (300 << 10)).next_multiple_of(SECTOR_BYTES as u64);
    file.inner.set_len(room + (4 << 20)).unwrap();
    file.room.store(room, SeqCst);
    let mut steps = 0;
    while store.rekey_step().unwrap() != RekeyState::Done {
        steps += 1;
        assert!(steps < 200);
    }
    assert!(steps > 5, "{steps}");
    assert!(!store.rekey_progress().unwrap().lacks_room);
    assert_eq!(integers(&store, &store.snapshot(), "t", "n"), before);
    is_sound(&store);
}

#[test]
fn an_old_ring_that_cannot_be_overwritten_is_told_and_the_next_step_does_it() {
    let mut was_told = false;
    for allowed in 0.. {
        let file = FailingFile::new();
        let all = Arc::clone(&file) as Arc<dyn StorageFile>;
        let store = Store::create(all, Some(&key()), &StoreOptions::default()).unwrap();
        let columns = vec![def("n", ColumnType::Int64)];
        fill(&store, "t", columns, &[int64s(0..100)]);
        store.rotate_data_key().unwrap();
        assert_eq!(steps(&store), RekeyState::Done);
        let old_rings = store.blocks().key_ring_refs();
        let is_there = || {
            let bytes = file.inner.to_bytes();
            let at = |ring: &BlockRef| ring.sector as usize * 4096;
            old_rings.iter().any(|ring| bytes[at(ring)] != 0)
        };
        file.writes_left.store(allowed, SeqCst);
        let began = store.rotate_data_key();
        file.writes_left.store(u64::MAX, SeqCst);
        let Ok(began) = began else {
            continue;
        };
        assert!(began);
        let now = store.rekey_progress().unwrap();
        if now.suspended.is_none() {
            assert!(was_told && !is_there());
            return;
        }
        was_told = true;
        assert!(now.lacks_room && is_there(), "{now:?}");
        store.rekey_step().unwrap();
        assert!(!is_there() && store.rekey_progress().unwrap().suspended.is_none());
        assert_eq!(steps(&store), RekeyState::Done);
        is_sound(&store);
    }
}

#[test]
fn a_log_made_with_the_old_key_is_refused_while_it_runs_and_afterwards() {
    let (_, files) = before_and_running();
    let store = files.open();
    // Its own log was closed when it was opened; this one is under the new key.
    insert(&store, 20..30);
    drop(store);
    let keys = {
        let reader = files.open_read_only();
        assert_eq!(sum(&reader), 45 + 145 + 245);
        keys_of(&files)
    };
    let (old, new) = (keys.previous_key_id().unwrap(), keys.system_key_id());
    let log = files.log();
    assert_eq!(log[LOG_KEY_ID..LOG_KEY_ID + 4], new.to_le_bytes());
    // It would take back what was acknowledged, as if a crash had.
    let emptied = |of: &Files, key_id| {
        let mut all = of.all();
        all[1] = Some(forged_log(&log, &keys, key_id));
        of.with(&all)
    };
    assert_eq!(sum(&emptied(&files, new).open_read_only()), 45 + 145);
    assert_eq!(emptied(&files, old).refusal().kind(), ErrorKind::Tampered);
    let store = files.open();
    assert_eq!(steps(&store), RekeyState::Done);
    insert(&store, 30..31);
    drop(store);
    let log = files.log();
    let mut all = files.all();
    all[1] = Some(forged_log(&log, &keys, old));
    assert_eq!(files.with(&all).refusal().kind(), ErrorKind::Tampered);
}

#[test]
fn what_old_logs_said_is_overwritten_before_it_is_done() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 10..20);
    let first = files.files.get(".wal").unwrap();
    let is_zero = |bytes: &[u8]| bytes[LOG_HEADER..].iter().all(|byte| *byte == 0);
    assert!(!is_zero(&first.to_bytes()));
    store.rotate_data_key().unwrap();
    // Acknowledged under the old key still, and left behind by a crash.
    insert(&store, 20..30);
    drop(store);
    let store = files.open();
    assert!(is_zero(&first.to_bytes()), "the next writer closed it");
    insert(&store, 30..40);
    assert_eq!(steps(&store), RekeyState::Done);
    let numbers = integers(&store, &store.snapshot(), "t", "n");
    assert_eq!(numbers.len(), 40);
}

/// A removal may fail, which ends no commit; the key may not go before the log does.
#[test]
fn a_log_that_was_left_behind_goes_before_the_old_key_does() {
    let files = Files::new(true);
    let store = files.create();
    insert(&store, 10..20);
    let left_behind = files.log();
    store.rotate_data_key().unwrap();
    store.checkpoint().unwrap();
    assert!(files.files.get(".wal").is_none());
    files.put_log(&left_behind);
    let log = files.files.get(".wal").unwrap();
    assert_eq!(steps(&store), RekeyState::Done);
    assert!(files.files.get(".wal").is_none());
    assert!(log.to_bytes()[LOG_HEADER..].iter().all(|byte| *byte == 0));
    drop(store);
    assert_eq!(sum(&files.open()), 45 + 145);
}

#[test]
fn ring_copies_that_open_and_differ_are_refused() {
    let (_, running) = before_and_running();
    let mut forger = Forger::of(&running);
    let (_, mut ring) = forger.ring();
    // The policy: nothing else in it would be refused.
    ring[9] ^= 1;
    let sector = forger.second_ring_sector();
    forger.block(Role::KeyRing, sector, &ring, RINGS[1]);
    let error = forger.finished().refusal();
    assert_eq!(error.kind(), ErrorKind::Corrupted);
    assert!(
        error.to_string().contains("its two copies differ"),
        "{error}"
    );
}

#[test]
fn a_ring_damaged_in_one_copy_opens_on_a_full_disk_and_is_mended_later() {
    let (_, running) = before_and_running();
    let refs = running.open_read_only().blocks().key_ring_refs();
    let mut bytes = running.all()[0].clone().unwrap();
    bytes[refs[1].sector as usize * SECTOR_BYTES + 100] ^= 1;
    let file = FailingFile::holding(&bytes);
    let open = || {
        let file = Arc::clone(&file) as Arc<dyn StorageFile>;
        Store::open(file, Some(&key()), &StoreOptions::default()).unwrap()
    };
    for writes in [0, 1, u64::MAX] {
        file.writes_left.store(writes, SeqCst);
        let store = open();
        assert_eq!(store.notices(), [Notice::KeyRingCopyDamaged { copy: 1 }]);
        assert_eq!(sum(&store), 45 + 145);
    }
    is_sound(&open());
    assert!(open().notices().is_empty());
}

#[test]
fn a_ring_of_an_earlier_state_and_one_under_an_old_key_are_refused() {
    let (_, running) = before_and_running();
    let earlier = running.all()[0].clone().unwrap();
    let earlier_rings = running.open_read_only().blocks().key_ring_refs();
    assert_eq!(steps(&running.open()), RekeyState::Done);
    let rings = running.open_read_only().blocks().key_ring_refs();
    let mut all = running.all();
    for (r, earlier_r) in rings.iter().zip(&earlier_rings) {
        let from = earlier_r.sector as usize * SECTOR_BYTES;
        let to = r.sector as usize * SECTOR_BYTES;
        let block = &earlier[from..from + SECTOR_BYTES];
        all[0].as_mut().unwrap()[to..to + SECTOR_BYTES].copy_from_slice(block);
    }
    assert_eq!(running.with(&all).refusal().kind(), ErrorKind::Tampered);
    // A superblock of who has the newest key and names a ring under the old one.
    let (_, running) = before_and_running();
    let mut forger = Forger::of(&running);
    for at in RINGS {
        forger.superblock[at + 12..at + 16].copy_from_slice(&1u32.to_le_bytes());
    }
    assert_eq!(forger.finished().refusal().kind(), ErrorKind::Tampered);
}

#[test]
fn a_ring_that_was_sealed_under_an_old_key_is_refused_whoever_names_it() {
    let (_, running) = before_and_running();
    let mut forger = Forger::of(&running);
    let (first, ring) = forger.ring();
    let second = forger.second_ring_sector();
    let superblocks_key = Arc::clone(&forger.keys);
    forger.seals_under = Some(superblocks_key.previous_key_id().unwrap());
    forger.block(Role::KeyRing, first, &ring, RINGS[0]);
    forger.block(Role::KeyRing, second, &ring, RINGS[1]);
    forger.seals_under = None;
    let error = forger.finished().refusal();
    assert_eq!(error.kind(), ErrorKind::Tampered, "{error}");
}

#[test]
fn a_ring_without_the_retired_key_or_with_one_more_is_refused() {
    const ENTRY: usize = 120;
    let (_, running) = before_and_running();
    // So that there is an id before the one that is retired.
    let store = running.open();
    assert_eq!(steps(&store), RekeyState::Done);
    store.rotate_data_key().unwrap();
    drop(store);
    assert_eq!(keys_of(&running).previous_key_id(), Some(2));
    let with_ring = |edit: &dyn Fn(&mut Vec<u8>, usize)| {
        let mut forger = Forger::of(&running);
        let (first, mut ring) = forger.ring();
        let count_at = ring.len() - ENTRY - 4;
        assert_eq!(ring[count_at..count_at + 8], [1, 0, 0, 0, 2, 0, 0, 0]);
        edit(&mut ring, count_at);
        let second = forger.second_ring_sector();
        forger.block(Role::KeyRing, first, &ring, RINGS[0]);
        forger.block(Role::KeyRing, second, &ring, RINGS[1]);
        forger.finished()
    };
    assert_eq!(sum(&with_ring(&|_, _| ()).open()), 45 + 145);
    let without = with_ring(&|ring, count_at| {
        ring[count_at] = 0;
        ring.truncate(count_at + 4);
    });
    assert_eq!(without.refusal().kind(), ErrorKind::Tampered);
    let with_more = with_ring(&|ring, count_at| {
        let mut more = ring[count_at + 4..].to_vec();
        more[0] = 1;
        ring[count_at] = 2;
        ring.splice(count_at + 4..count_at + 4, more);
    });
    assert_eq!(with_more.refusal().kind(), ErrorKind::Tampered);
}

#[test]
fn a_header_with_an_earlier_data_key_and_no_ring_is_refused() {
    let (_, running) = before_and_running();
    let mut forger = Forger::of(&running);
    // A superblock of version 2.
    forger.superblock[0] = 2;
    for at in RINGS {
        forger.superblock[at..at + 40].fill(0);
    }
    forger.superblock[188..192].fill(0);
    let error = forger.finished().refusal();
    assert!(error.to_string().contains("key ring"), "{error}");
}

#[test]
fn a_ring_that_reserves_what_lives_overwrites_nothing_and_one_that_cannot_is_refused() {
    let (_, running) = before_and_running();
    let all = running.all()[0].clone().unwrap();
    let live: Vec<u64> = (16..all.len() as u64 / 4096)
        .filter(|sector| {
            let at = *sector as usize * SECTOR_BYTES;
            all[at..].starts_with(b"HUSB") && all[at + 6] != 6
        })
        .collect();
    let with_reserved = |places: &[(u64, u64)]| {
        let mut forger = Forger::of(&running);
        let (first, ring) = forger.ring();
        let had = u32::from_le_bytes(*ring[21..].first_chunk().unwrap()) as usize;
        let mut edited = ring[..21].to_vec();
        edited.extend((places.len() as u32).to_le_bytes());
        for (sector, sectors) in places {
            edited.extend(sector.to_le_bytes());
            edited.extend(sectors.to_le_bytes());
        }
        edited.extend(&ring[25 + 16 * had..]);
        let second = forger.second_ring_sector();
        forger.block(Role::KeyRing, first, &edited, RINGS[0]);
        forger.block(Role::KeyRing, second, &edited, RINGS[1]);
        forger.finished()
    };
    let places: Vec<(u64, u64)> = live.iter().map(|sector| (*sector, 1)).collect();
    assert!(places.len() > 2);
    let file = with_reserved(&places);
    let store = file.open();
    assert_eq!(sum(&store), 45 + 145);
    drop(store);
    let bytes = file.all()[0].clone().unwrap();
    for sector in live {
        let at = sector as usize * SECTOR_BYTES;
        assert_eq!(bytes[at..at + SECTOR_BYTES], all[at..at + SECTOR_BYTES]);
    }
    let refs = running.open_read_only().blocks().key_ring_refs();
    for places in [
        vec![(15, 1)],
        vec![(refs[0].sector, 1)],
        vec![(17, 2), (18, 1)],
        vec![(18, 1), (17, 1), (17, 1)],
        vec![(17, 0)],
        vec![(u64::MAX, 2)],
        vec![(17, 1 << 40)],
    ] {
        let error = with_reserved(&places).refusal();
        assert!(
            error.to_string().contains("reserves"),
            "{places:?}: {error}"
        );
    }
}

#[test]
fn what_a_lost_ring_takes_with_it_is_said_by_salvage() {
    let (_, running) = before_and_running();
    let refs = running.open_read_only().blocks().key_ring_refs();
    let mut all = running.all();
    for r in refs {
        all[0].as_mut().unwrap()[r.sector as usize * SECTOR_BYTES + 100] ^= 1;
    }
    let file = running.with(&all);
    assert_eq!(file.refusal().kind(), ErrorKind::Tampered);
    let files = Arc::clone(&file.files) as Arc<dyn StorageFiles>;
    let salvage = Salvage::open_in(files, Some(&key()), &StoreOptions::default()).unwrap();
    let report = salvage.survey().unwrap();
    // The header has the data key before: no row is lost.
    let tables: Vec<_> = report
        .tables
        .iter()
        .map(|t| (t.rows, t.total_rows))
        .collect();
    assert_eq!(tables, [(20, 20)]);
    let lost: Vec<_> = report
        .lost
        .iter()
        .map(|lost| lost.part.as_deref())
        .collect();
    assert_eq!(lost, [Some("the key ring")]);
}
