//! The simulated disk keeps its promises and uses its liberties.

use std::collections::BTreeSet;

use hushdb_sim::{DiskOptions, Fault, FaultKind, SimDisk};
use hushdb_storage::StorageFile;

const OLD: u8 = 1;
const NEW: u8 = 2;

fn disk(seed: u64) -> SimDisk {
    SimDisk::new(seed, DiskOptions::default())
}

/// A durable file of 4096 old bytes, half of which was then overwritten; nothing was synced since.
fn overwritten(seed: u64) -> SimDisk {
    let disk = disk(seed);
    let file = disk.create("f").unwrap();
    file.write_all_at(0, &[OLD; 4096]).unwrap();
    file.sync().unwrap();
    disk.sync_directory().unwrap();
    file.write_all_at(0, &[NEW; 2048]).unwrap();
    disk
}

#[test]
fn what_was_synced_survives_and_the_rest_may_be_torn_at_512_bytes() {
    let mut seen = BTreeSet::new();
    for seed in 0..400 {
        let disk = overwritten(seed);
        disk.crash();
        disk.restart();
        let bytes = disk.contents("f").unwrap();
        assert_eq!(bytes[2048..], [OLD; 2048]);
        for piece in bytes.chunks(512) {
            assert!(piece.iter().all(|byte| *byte == piece[0]));
        }
        seen.insert(bytes.chunks(512).map(|piece| piece[0]).collect::<Vec<u8>>());
    }
    // Four pieces, each old or new: every mixture comes up.
    assert_eq!(seen.len(), 16);
}

#[test]
fn writes_between_syncs_are_reordered_and_lengths_lost() {
    let (mut second_alone, mut shorter) = (false, false);
    for seed in 0..200 {
        let disk = disk(seed);
        let file = disk.create("f").unwrap();
        disk.sync_directory().unwrap();
        file.set_len(8192).unwrap();
        file.sync().unwrap();
        file.write_all_at(0, &[NEW; 512]).unwrap();
        file.write_all_at(4096, &[NEW; 512]).unwrap();
        file.set_len(16_384).unwrap();
        disk.crash();
        disk.restart();
        let bytes = disk.contents("f").unwrap();
        second_alone |= bytes[0] != NEW && bytes[4096] == NEW;
        shorter |= bytes.len() == 8192;
    }
    assert!(second_alone && shorter);
}

#[test]
fn names_last_only_after_the_directory_was_synced() {
    let (mut lost, mut kept) = (false, false);
    for seed in 0..50 {
        let disk = disk(seed);
        let file = disk.create("old").unwrap();
        file.write_all_at(0, &[OLD]).unwrap();
        file.sync().unwrap();
        disk.sync_directory().unwrap();
        disk.rename("old", "new").unwrap();
        assert!(disk.exists("new") && !disk.exists("old"));
        disk.crash();
        disk.restart();
        assert!(
            disk.exists("new") != disk.exists("old"),
            "a rename is whole"
        );
        match disk.exists("new") {
            true => kept = true,
            false => lost = true,
        }
        let name = disk.names().remove(0);
        assert_eq!(disk.contents(&name).unwrap(), [OLD]);
        disk.remove(&name).unwrap();
        disk.sync_directory().unwrap();
        disk.crash();
        disk.restart();
        assert!(disk.names().is_empty());
    }
    assert!(lost && kept);
}

#[test]
fn nothing_after_the_crash_has_an_effect() {
    let disk = overwritten(1);
    let file = disk.open("f", false).unwrap();
    file.sync().unwrap();
    disk.crash_after(2);
    file.write_all_at(0, &[3; 512]).unwrap();
    file.write_all_at(512, &[3; 512]).unwrap_err();
    assert!(disk.is_down());
    file.sync().unwrap_err();
    disk.open("f", false).unwrap_err();
    disk.restart();
    file.write_all_at(0, &[4]).unwrap_err();
    assert!(!disk.contents("f").unwrap().contains(&4));
}

#[test]
fn a_failed_sync_loses_what_was_written_and_the_next_one_succeeds() {
    let mut lost = false;
    for seed in 0..50 {
        let disk = overwritten(seed);
        let file = disk.open("f", false).unwrap();
        disk.order(Fault {
            at: 0,
            kind: FaultKind::Sync,
        });
        file.sync().unwrap_err();
        assert!(file.sync_failed());
        file.sync().unwrap();
        assert!(disk.violations().is_empty());
        disk.crash();
        disk.restart();
        lost |= disk.contents("f").unwrap()[0] == OLD;
    }
    assert!(lost);
}

#[test]
fn faults_come_once_and_a_full_disk_stays_full() {
    let disk = overwritten(1);
    let file = disk.open("f", false).unwrap();
    for kind in [FaultKind::Read, FaultKind::Write, FaultKind::ShortWrite] {
        disk.order(Fault { at: 0, kind });
        let touch = || match kind {
            FaultKind::Read => file.read_exact_at(0, &mut [0]),
            _ => file.write_all_at(0, &[5; 100]),
        };
        touch().unwrap_err();
        touch().unwrap();
    }
    disk.order(Fault {
        at: 0,
        kind: FaultKind::Full,
    });
    let far = [6; 5 * 4096];
    for _ in 0..2 {
        let error = file.write_all_at(4096, &far).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    }
    file.write_all_at(0, &[7; 4096]).unwrap();
    disk.make_room();
    file.write_all_at(4096, &far).unwrap();
}

#[test]
fn writing_where_one_must_not_is_noted() {
    let disk = overwritten(1);
    let file = disk.open("f", true).unwrap();
    file.write_all_at(0, &[1]).unwrap_err();
    assert_eq!(disk.violations().len(), 1);
    let file = disk.open("f", false).unwrap();
    disk.order(Fault {
        at: 0,
        kind: FaultKind::Sync,
    });
    file.sync().unwrap_err();
    file.set_len(0).unwrap();
    assert_eq!(disk.violations().len(), 2);
}
