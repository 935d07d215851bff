//! Crashes and faults by the thousand, and proof that the harness would notice a store that breaks its word.
//!
//! `HUSHDB_SIM_SEED` and `HUSHDB_SIM_CRASHES` choose other worlds, or more of them.

use std::io::Write;
use std::time::Instant;

use hushdb_sim::{Breakage, CRASHES_PER_WORLD, Campaign};

/// Crashes in the test command.
const CRASHES: u64 = 10_000;
/// Worlds within which a broken promise must be noticed.
const WORLDS_TO_NOTICE: u64 = 20;

fn setting(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().expect("a number"),
        Err(_) => default,
    }
}

#[test]
fn every_acknowledged_commit_survives_every_crash() {
    let campaign = Campaign {
        seed: setting("HUSHDB_SIM_SEED", 1),
        crashes: setting("HUSHDB_SIM_CRASHES", CRASHES),
        breakage: Breakage::Sound,
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let started = Instant::now();
    let report = campaign
        .run(threads)
        .unwrap_or_else(|failure| panic!("{failure}"));
    let (sum, seconds) = (report.sum, started.elapsed().as_secs_f64());
    let _ = writeln!(
        std::io::stdout(),
        "{} crashes, {:.0} a second on {threads} threads: {sum:?}",
        sum.disk.crashes,
        sum.disk.crashes as f64 / seconds
    );
    assert!(sum.disk.crashes >= campaign.crashes);
    // A campaign that did nothing would hold as well.
    assert!(sum.commits > sum.disk.crashes);
    if campaign.crashes >= CRASHES {
        assert!(sum.found_in_flight > 0 && sum.lost_in_flight > 0 && sum.key_changes > 0);
        assert!(sum.disk.faults > 0 && sum.snapshots > 0 && sum.conflicts > 0);
        assert!(sum.beside_checkpoints > 0);
        assert!(sum.woken_checkpoints > 0);
        assert!(sum.rekeys > 0 && sum.rekeys_ended > 0);
        assert!(sum.anchors > 0 && sum.anchors_refused > 0);
    }
}

#[test]
fn a_seed_replays() {
    let campaign = Campaign {
        seed: 7,
        crashes: 3 * CRASHES_PER_WORLD,
        breakage: Breakage::Sound,
    };
    assert_eq!(campaign.run(1).unwrap(), campaign.run(2).unwrap());
}

fn is_noticed(breakage: Breakage, seed: u64) -> String {
    let campaign = Campaign {
        seed,
        crashes: WORLDS_TO_NOTICE * CRASHES_PER_WORLD,
        breakage,
    };
    match campaign.run(1) {
        Ok(_) => panic!("{breakage:?} is not noticed"),
        Err(failure) => failure.what,
    }
}

#[test]
fn a_disk_that_ignores_sync_is_noticed() {
    is_noticed(Breakage::IgnoresSync, 1);
}

#[test]
fn a_root_that_is_durable_before_its_blocks_is_noticed() {
    is_noticed(Breakage::RootBeforeBlocks, 1);
}

#[test]
fn an_error_of_sync_that_is_kept_quiet_is_noticed() {
    is_noticed(Breakage::SwallowsSyncErrors, 1);
}
