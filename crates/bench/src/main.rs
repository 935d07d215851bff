//! `hushdb-bench`: what encryption costs, and how that compares, as ratios that are taken side by side in one run.
//!
//! What must hold: subjects run the same SQL text, each in a process of its own with the same number of threads, and take
//! turns within a run; what is compared was measured minutes apart at most. The plain database appears twice: how far
//! these two differ is how much any ratio can be trusted.

#![allow(clippy::print_stderr, reason = "progress is for the person who waits")]

mod block_path;
mod child;
mod commits;
mod failure;
mod points;
mod report;
mod rival;
mod samples;
mod stage;
mod subject;
mod tpch;
mod workload;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

use crate::failure::{Failure, Result};
use crate::stage::Stage;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

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
        /// Scale factor; answers are checked at 0.01, 0.1 and 1.
        #[arg(long, default_value_t = 1.0)]
        sf: f64,
        /// Also measure this database, encrypted.
        #[arg(long)]
        rival: Option<RivalName>,
        /// Measured rounds, after one that warms up.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
        /// Threads of each subject; all that there are by default.
        #[arg(long)]
        threads: Option<usize>,
        /// Where the databases are made, some 2 GB at scale factor 1.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
        /// Also write every measurement to this file.
        #[arg(long)]
        json: Option<PathBuf>,
    },
    /// Transactions of one row each, durable one by one: from one connection, and from sixteen.
    Commits {
        /// Transactions in each measurement.
        #[arg(long, default_value_t = 2000, value_parser = clap::value_parser!(u32).range(16..))]
        count: u32,
        /// Also measure this database, encrypted; may be given more than once.
        #[arg(long)]
        rival: Vec<RivalName>,
        /// Measured rounds, after one that warms up.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
        /// Where the databases are made.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
    },
    /// SELECT of single rows by primary key, prepared, random keys, warm, one thread.
    Points {
        /// Rows of the table.
        #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
        rows: u64,
        /// Statements in each measurement.
        #[arg(long, default_value_t = 200_000, value_parser = clap::value_parser!(u32).range(16..))]
        count: u32,
        /// Also measure this database, encrypted; may be given more than once.
        #[arg(long)]
        rival: Vec<RivalName>,
        /// Measured rounds, after one that warms up.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
        /// Where the databases are made.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
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
        /// Also measure this database, encrypted; may be given more than once.
        #[arg(long)]
        rival: Vec<RivalName>,
        /// Measured rounds, after one that warms up.
        #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
        /// Where the databases are made.
        #[arg(long, default_value = "target/bench")]
        dir: PathBuf,
    },
    /// Seal and open 256 KiB through the block path and through the bare cipher.
    Blocks {
        /// Measured rounds.
        #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
        runs: u32,
    },
    /// One subject, started by this program itself.
    #[command(hide = true)]
    Subject,
}

#[derive(Clone, Copy, ValueEnum)]
enum RivalName {
    Duckdb,
    /// In WAL mode, synchronous=full.
    Sqlcipher,
}

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
        Benchmark::Commits {
            count,
            rival,
            runs,
            dir,
        } => commits::measure(&stage(&dir, None, &rival)?, count, runs)?.print(),
        Benchmark::Points {
            rows,
            count,
            rival,
            runs,
            dir,
        } => points::points(&stage(&dir, Some(1), &rival)?, rows, count, runs)?.print(),
        Benchmark::Mixed {
            rows,
            count,
            connections,
            rival,
            runs,
            dir,
        } => {
            let stage = stage(&dir, None, &rival)?;
            points::mixed(&stage, connections, rows, count, runs)?.print()
        }
        Benchmark::Tpch {
            sf,
            rival,
            runs,
            threads,
            dir,
            json,
        } => {
            if !(sf > 0.0 && sf.is_finite()) {
                return Err(Failure("the scale factor must be above zero".to_owned()));
            }
            if matches!(rival, Some(RivalName::Sqlcipher)) {
                return Err(Failure("tpch has no rival but duckdb".to_owned()));
            }
            let plan = tpch::Plan {
                sf,
                runs,
                stage: stage(&dir, threads, rival.as_slice())?,
            };
            let (figures, done) = plan.measure();
            let reports = [figures, block_path::measure(runs)?];
            for report in &reports {
                report.print()?;
            }
            if let Some(path) = json {
                let all: serde_json::Value = reports.iter().map(report::Report::to_json).collect();
                std::fs::write(path, format!("{all:#}\n"))?;
            }
            done
        }
    }
}

fn stage(dir: &Path, threads: Option<usize>, rivals: &[RivalName]) -> Result<Stage> {
    std::fs::create_dir_all(dir)?;
    let directory = dir.canonicalize()?;
    let threads = match threads {
        Some(threads) => threads.max(1),
        None => std::thread::available_parallelism()?.get(),
    };
    let rivals = rivals.iter().map(|name| match name {
        RivalName::Duckdb => rival::Rival::duckdb(&directory),
        RivalName::Sqlcipher => rival::Rival::sqlcipher(&directory),
    });
    Ok(Stage {
        threads,
        rivals: rivals.collect::<Result<_>>()?,
        directory,
    })
}
