//! `Campaign`: many worlds, one after another, each from a seed of its own.
//!
//! A failure names the seed of its world alone: `--seed` with it replays that world from its beginning.

use std::fmt;
use std::ops::AddAssign;

use crate::disk::Breakage;
use crate::world::{World, WorldReport};

/// Crashes that one world lives through.
pub const CRASHES_PER_WORLD: u64 = 20;

/// Which worlds to run.
#[derive(Clone, Copy, Debug)]
pub struct Campaign {
    /// Seed of the first world; the next ones count up.
    pub seed: u64,
    /// Crashes over all worlds, rounded up to whole worlds.
    pub crashes: u64,
    /// What is wrong with the disk beyond what a disk may do.
    pub breakage: Breakage,
}

/// A world in which something did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// What did not hold.
    pub what: String,
}

/// The sum over all worlds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CampaignReport {
    /// Worlds.
    pub worlds: u64,
    /// Sums of their reports; the trace is folded.
    pub sum: WorldReport,
}

impl Campaign {
    /// Runs on `threads` threads; each world stays on one, so that its seed replays.
    ///
    /// # Errors
    /// The failure with the lowest seed among those found.
    pub fn run(self, threads: usize) -> Result<CampaignReport, Failure> {
        let threads = threads.max(1) as u64;
        let worlds = self.crashes.div_ceil(CRASHES_PER_WORLD);
        let share = |thread: u64| {
            let mut report = CampaignReport::default();
            for number in (thread..worlds).step_by(threads as usize) {
                report += self.world(self.seed.wrapping_add(number))?;
            }
            Ok(report)
        };
        let results: Vec<Result<CampaignReport, Failure>> = std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads)
                .map(|thread| scope.spawn(move || share(thread)))
                .collect();
            running
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect()
        });
        let mut sum = CampaignReport::default();
        let mut failure: Option<Failure> = None;
        for result in results {
            match result {
                Ok(report) => {
                    sum.worlds += report.worlds;
                    sum += report.sum;
                    sum.worlds -= 1;
                }
                Err(found) if failure.as_ref().is_none_or(|f| found.seed < f.seed) => {
                    failure = Some(found);
                }
                Err(_) => {}
            }
        }
        failure.map_or(Ok(sum), Err)
    }

    /// Runs one world.
    ///
    /// # Errors
    /// What did not hold in it; a panic of the database is one such thing.
    pub fn world(self, seed: u64) -> Result<WorldReport, Failure> {
        let world =
            std::panic::AssertUnwindSafe(|| World::new(seed, self.breakage).run(CRASHES_PER_WORLD));
        let what = match std::panic::catch_unwind(world) {
            Ok(Ok(report)) => return Ok(report),
            Ok(Err(what)) => what,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                format!("a panic: {}", text.unwrap_or("without a message"))
            }
        };
        Err(Failure { seed, what })
    }
}

impl AddAssign<WorldReport> for CampaignReport {
    fn add_assign(&mut self, world: WorldReport) {
        self.worlds += 1;
        let sum = &mut self.sum;
        sum.commits += world.commits;
        sum.key_changes += world.key_changes;
        sum.found_in_flight += world.found_in_flight;
        sum.lost_in_flight += world.lost_in_flight;
        sum.openings += world.openings;
        sum.snapshots += world.snapshots;
        sum.conflicts += world.conflicts;
        sum.beside_checkpoints += world.beside_checkpoints;
        sum.woken_checkpoints += world.woken_checkpoints;
        sum.rekeys += world.rekeys;
        sum.rekeys_ended += world.rekeys_ended;
        sum.anchors += world.anchors;
        sum.anchors_refused += world.anchors_refused;
        sum.disk.operations += world.disk.operations;
        sum.disk.syncs += world.disk.syncs;
        sum.disk.crashes += world.disk.crashes;
        sum.disk.faults += world.disk.faults;
        sum.disk.trace ^= world.disk.trace;
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\nreplay: cargo run --release -p hushdb-sim -p hushdb-cli --bin hushdb-sim -- --seed {} --crashes {CRASHES_PER_WORLD}",
            self.what, self.seed
        )
    }
}

impl std::error::Error for Failure {}
