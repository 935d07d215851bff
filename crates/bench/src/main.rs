//! `hushdb-bench`: what encryption costs, and how that compares, as ratios that are taken side by side in one run.
//!
//! What must hold: subjects run the same SQL text, each in a process of its own with the same number of threads, and take
//! turns within a run; what is compared was measured minutes apart at most. The plain database appears twice: how far
//! these two differ is how much any ratio can be trusted.
//!
//! Begin with `subject.rs`, what is measured, `child.rs`, the process that it runs in, and `report.rs`; a benchmark is a file like `tpch.rs`.

#![allow(clippy::print_stderr, reason = "progress is for the person who waits")]

mod accounts;
mod block_path;
mod child;
mod commits;
mod differ;
mod engines;
mod failure;
mod key_places;
mod outofcore;
mod pgbench;
mod planning;
mod points;
mod recovery;
mod rekey;
mod report;
mod rival;
mod samples;
mod servers;
mod stage;
mod subject;
mod tables;
mod tails;
mod tpcb;
mod tpch;
mod wide;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::failure::{Failure, Result};
use crate::stage::Stage;

/// Benchmarks of HushDB.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

#[derive(Subcommand)]
enum Benchmark {
    /// TPC-H: load, size, the 22 queries, scans, memory; encrypted against plain against a rival.
    Tpch {
        #[command(flatten)]
        tables: Tables,
        #[command(flatten)]
        rounds: Rounds,
    },
    /// Queries that outgrow a memory limit: TPC-H, sort, self join, scan, and the most memory that each took.
    Outofcore {
        #[command(flatten)]
        tables: Tables,
        #[command(flatten)]
        rounds: Rounds,
        /// Only rows whose name contains this.
        #[arg(long)]
        only: Option<String>,
    },
    /// Transactions of one row each, durable one by one: from one connection, and from sixteen.
    Commits {
        /// Transactions in each measurement.
        #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(16..))]
        count: u32,
        #[command(flatten)]
        rounds: Rounds,
    },
    /// SELECT of single rows by primary key, prepared, random keys, warm, one thread.
    Points {
        /// Rows of the table.
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
        rows: u64,
        /// Statements in each measurement.
        #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(16..))]
        count: u32,
        #[command(flatten)]
        rounds: Rounds,
    },
    /// Eight selects, one update and one insert by key, each a transaction, from several connections.
    Mixed {
        /// Rows of the table at first.
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
        rows: u64,
        /// Statements in each measurement.
        #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(16..))]
        count: u32,
        /// Connections at once.
        #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
        connections: u32,
        #[command(flatten)]
        rounds: Rounds,
    },
    /// TPC-B as pgbench has it, from 4 and 64 connections under READ COMMITTED, on one branch and on many; 64 also with locks that go
    /// when a commit is durable.
    Tpcb(Tpcb),
    /// `hush serve` and PostgreSQL under pgbench, in turns.
    Pgbench(Pgbench),
    /// Loading pgbench's accounts, selecting and updating them, in memory and beyond it.
    Accounts(Accounts),
    /// Updates of one key, with nothing that heals what they leave behind: the last thousand against the first.
    Updates {
        /// Updates in each measurement.
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(2000..))]
        count: u32,
        #[command(flatten)]
        place: Place,
    },
    /// Commits beside checkpoints that come by themselves: how long the slowest take, against the median.
    Tails {
        /// Commits in each measurement.
        #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(2000..))]
        count: u32,
        /// Megabytes of log after which a checkpoint is made.
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
        megabytes: u32,
        #[command(flatten)]
        place: Place,
    },
    /// A new master key: queries and commits beside it, and it against a copy into a new file.
    Rekey(Rekey),
    /// Opening a file by the key of a place, against a raw key.
    Open(Open),
    /// Opening a file whose process was killed, with a log of so many bytes.
    Recovery(Recovery),
    /// Seal and open 256 KiB through the block path and through the bare cipher.
    Blocks {
        /// Measured rounds.
        #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
    },
    /// Random statements in HushDB and in a rival whose answers are taken for right; exit code 1 if they differ.
    Differ(Differ),
    /// How many of a rival's functions are known, and how many of their documented examples have its answers.
    Coverage {
        /// Where the rival's Python environment is made.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
    },
    /// Statements of 124 to 992 terms in many shapes: how planning grows with them.
    Planning {
        /// Measured rounds.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
        /// Only shapes whose name contains this.
        #[arg(long)]
        only: Option<String>,
    },
    /// One subject, started by this program itself.
    #[command(hide = true)]
    Subject,
}

/// What is held against a rival.
#[derive(Args)]
struct Differ {
    /// The rival.
    #[arg(long)]
    rival: RivalName,
    /// Statements that are run.
    #[arg(long, default_value_t = 10_000)]
    queries: usize,
    /// From which the statements follow.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The set of tables of the seed to begin with; each has 40 statements.
    #[arg(long, default_value_t = 0)]
    world: u64,
    /// Kinds of failures after which it ends.
    #[arg(long, default_value_t = 20)]
    failures: usize,
    /// Also every function by itself, with arguments at the borders of their types.
    #[arg(long)]
    functions: bool,
    /// Among the queries also statements that change rows, over tables with keys, rules and defaults.
    #[arg(long)]
    edits: bool,
    /// Where the rival's Python environment is made.
    #[arg(long, default_value = "target/bench")]
    dir: PathBuf,
}

/// Which logs are replayed.
#[derive(Args)]
struct Recovery {
    /// The length of the log, in MiB.
    #[arg(long, default_value_t = 1024, value_parser = clap::value_parser!(u64).range(1..))]
    mebibytes: u64,
    /// Only logs whose name contains this.
    #[arg(long)]
    only: Option<String>,
    #[command(flatten)]
    rounds: Rounds,
}

/// How much of TPC-B.
#[derive(Args)]
struct Tpcb {
    /// Branches of the larger one; each has 100,000 accounts.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(i64).range(1..=10_000))]
    scale: i64,
    /// Of each measurement.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    #[command(flatten)]
    place: Place,
}

/// How pgbench is run, and against which programs.
#[derive(Args)]
struct Pgbench {
    /// The program that serves.
    #[arg(long, default_value = "target/release/hush")]
    hush: PathBuf,
    /// Where PostgreSQL's programs are.
    #[arg(long, default_value = "/usr/lib/postgresql/15/bin")]
    postgres: PathBuf,
    /// Branches; each has 100,000 accounts.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    scale: u32,
    /// Clients at once; may be given more than once.
    #[arg(long, default_values_t = [4, 64])]
    clients: Vec<u32>,
    /// Of each measurement.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Also TPC-B from 64 clients for so many minutes in one go.
    #[arg(long, default_value_t = 0)]
    minutes: u32,
    #[command(flatten)]
    place: Place,
}

/// How many of pgbench's accounts.
#[derive(Args)]
struct Accounts {
    /// Branches; each has 100,000 accounts.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    scale: u32,
    /// Transactions in each measurement.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(64..))]
    count: u32,
    #[command(flatten)]
    place: Place,
}

/// How much is sealed anew.
#[derive(Args)]
struct Rekey {
    /// Scale factor of TPC-H.
    #[arg(long, default_value_t = 1.0)]
    sf: f64,
    /// Of each measurement of commits.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
    #[command(flatten)]
    place: Place,
}

/// Which place opens it.
#[derive(Args)]
struct Open {
    /// The place, as in docs/KEYS.md.
    #[arg(long, value_name = "URL")]
    key_url: String,
    /// Openings of each kind.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Where the database is made.
    #[arg(long, default_value = "target/bench")]
    dir: PathBuf,
}

/// Where a database is made, and how often it is measured.
#[derive(Args)]
struct Place {
    /// Measured rounds.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Where the database is made.
    #[arg(long, default_value = "target/bench")]
    dir: PathBuf,
}

/// Which TPC-H tables, and what becomes of the figures.
#[derive(Args)]
struct Tables {
    /// Scale factor; answers are checked at 0.01, 0.1 and 1.
    #[arg(long, default_value_t = 1.0)]
    sf: f64,
    /// Threads of each subject; all that there are by default.
    #[arg(long)]
    threads: Option<usize>,
    /// Also write every measurement to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

/// How often, against whom and where.
#[derive(Args)]
struct Rounds {
    /// Also measure this database, encrypted; may be given more than once.
    #[arg(long)]
    rival: Vec<RivalName>,
    /// Measured rounds, after one that warms up.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Where the databases are made, some 2 GB for TPC-H at scale factor 1.
    #[arg(long, default_value = "target/bench")]
    dir: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum RivalName {
    Duckdb,
    /// In WAL mode, synchronous=full.
    Sqlcipher,
}

/// As `hush` has it.
#[cfg(unix)]
#[global_allocator]
static HEAP: hushdb::Heap = hushdb::Heap;

fn main() -> ExitCode {
    match run(Arguments::parse().benchmark) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("hushdb-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(benchmark: Benchmark) -> Result<()> {
    match benchmark {
        Benchmark::Subject => subject::serve(),
        Benchmark::Blocks { runs } => block_path::measure(runs)?.print(),
        Benchmark::Planning { runs, only } => {
            planning::measure(runs, only.as_deref().unwrap_or_default())?.print()
        }
        Benchmark::Tpcb(Tpcb {
            scale,
            seconds,
            place,
        }) => tpcb::measure(&place.dir, scale, seconds, place.runs)?.print(),
        Benchmark::Pgbench(pgbench) => pgbench.run(),
        Benchmark::Accounts(accounts) => accounts.run(),
        Benchmark::Updates { count, place } => {
            tpcb::updates(&place.dir, count, place.runs)?.print()?;
            wide::measure(&place.dir, place.runs)?.print()
        }
        Benchmark::Tails {
            count,
            megabytes,
            place,
        } => tails::measure(&place.dir, count, megabytes, place.runs)?.print(),
        Benchmark::Rekey(rekey) => rekey.run(),
        Benchmark::Open(open) => key_places::measure(&open.dir, &open.key_url, open.runs)?.print(),
        Benchmark::Recovery(recovery) => recovery.run(),
        Benchmark::Commits { count, rounds } => {
            commits::measure(&rounds.stage(None)?, count, rounds.runs)?.print()
        }
        Benchmark::Points {
            rows,
            count,
            rounds,
        } => points::points(&rounds.stage(Some(1))?, rows, count, rounds.runs)?.print(),
        Benchmark::Mixed {
            rows,
            count,
            connections,
            rounds,
        } => {
            let stage = rounds.stage(None)?;
            points::mixed(&stage, connections, rows, count, rounds.runs)?.print()
        }
        Benchmark::Differ(differ) => differ.run(),
        Benchmark::Coverage { dir } => {
            std::fs::create_dir_all(&dir)?;
            differ::coverage(&dir.canonicalize()?)
        }
        Benchmark::Tpch { tables, rounds } => tables.tpch(&rounds),
        Benchmark::Outofcore {
            tables,
            rounds,
            only,
        } => {
            let stage = tables.stage(&rounds)?;
            let only = only.as_deref().unwrap_or_default();
            let (figures, done) = outofcore::measure(&stage, tables.sf, rounds.runs, only);
            tables.publish(&[figures])?;
            done
        }
    }
}

impl Differ {
    fn run(self) -> Result<()> {
        if !matches!(self.rival, RivalName::Duckdb) {
            return Err(Failure("differ has no rival but duckdb".to_owned()));
        }
        std::fs::create_dir_all(&self.dir)?;
        let plan = differ::Plan {
            queries: self.queries,
            seed: self.seed,
            world: self.world,
            failures: self.failures,
            functions: self.functions,
            edits: self.edits,
        };
        differ::run(&plan, &self.dir.canonicalize()?)
    }
}

impl Recovery {
    fn run(&self) -> Result<()> {
        let only = self.only.as_deref().unwrap_or_default();
        let stage = self.rounds.stage(None)?;
        recovery::measure(&stage, self.mebibytes << 20, only, self.rounds.runs)?.print()
    }
}

impl Pgbench {
    fn run(self) -> Result<()> {
        let plan = pgbench::Plan {
            hush: self.hush.canonicalize()?,
            postgres: self.postgres,
            scale: self.scale,
            clients: self.clients,
            seconds: self.seconds,
            runs: self.place.runs,
            minutes: self.minutes,
        };
        pgbench::measure(&self.place.dir, &plan)?.print()
    }
}

impl Accounts {
    fn run(self) -> Result<()> {
        let plan = accounts::Plan {
            scale: self.scale,
            count: self.count,
            runs: self.place.runs,
        };
        accounts::measure(&self.place.stage()?, &plan)?.print()
    }
}

impl Place {
    /// The subjects without a rival.
    fn stage(self) -> Result<Stage> {
        let rounds = Rounds {
            rival: Vec::new(),
            runs: self.runs,
            dir: self.dir,
        };
        rounds.stage(None)
    }
}

impl Rekey {
    fn run(&self) -> Result<()> {
        let plan = rekey::Plan {
            sf: self.sf,
            seconds: self.seconds,
            runs: self.place.runs,
        };
        let reports = rekey::measure(&self.place.dir, &plan)?;
        reports.iter().try_for_each(report::Report::print)
    }
}

impl Tables {
    fn stage(&self, rounds: &Rounds) -> Result<Stage> {
        if !(self.sf > 0.0 && self.sf.is_finite()) {
            return Err(Failure("the scale factor must be above zero".to_owned()));
        }
        let without = |name: &RivalName| matches!(name, RivalName::Sqlcipher);
        if rounds.rival.iter().any(without) {
            return Err(Failure("TPC-H has no rival but duckdb".to_owned()));
        }
        rounds.stage(self.threads)
    }

    fn tpch(&self, rounds: &Rounds) -> Result<()> {
        let plan = tpch::Plan {
            sf: self.sf,
            runs: rounds.runs,
            stage: self.stage(rounds)?,
        };
        let (figures, done) = plan.measure();
        self.publish(&[figures, block_path::measure(rounds.runs)?])?;
        done
    }

    fn publish(&self, reports: &[report::Report]) -> Result<()> {
        for report in reports {
            report.print()?;
        }
        if let Some(path) = &self.json {
            let all: serde_json::Value = reports.iter().map(report::Report::to_json).collect();
            std::fs::write(path, format!("{all:#}\n"))?;
        }
        Ok(())
    }
}

impl Rounds {
    fn stage(&self, threads: Option<usize>) -> Result<Stage> {
        std::fs::create_dir_all(&self.dir)?;
        let directory = self.dir.canonicalize()?;
        let threads = match threads {
            Some(threads) => threads.max(1),
            None => std::thread::available_parallelism()?.get(),
        };
        let rivals = self.rival.iter().map(|name| match name {
            RivalName::Duckdb => rival::Rival::duckdb(&directory),
            RivalName::Sqlcipher => rival::Rival::sqlcipher(&directory),
        });
        Ok(Stage {
            threads,
            rivals: rivals.collect::<Result<_>>()?,
            directory,
        })
    }
}
