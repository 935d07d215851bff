//! The 22 queries of TPC-H: on the encrypted and on the plain file, each answer held against the official one.

use std::time::Instant;

use arrow::array::RecordBatch;
use hushdb::Connection;
use hushdb::tpch::{Mismatch, check_answer};

use crate::failure::{Failure, say};
use crate::output::{self, BoxTable, Printer, Sink};

/// How often each query runs on each file; the shortest time counts.
const RUNS: usize = 2;

/// Runs them, prints a table of times, and gives the numbers of the queries that did not answer rightly.
///
/// # Errors
/// The output's.
pub(super) fn run(
    out: &mut Sink,
    sf: f64,
    encrypted: &Connection,
    plain: &Connection,
) -> Result<Vec<u32>, Failure> {
    let mut table = Table::default();
    for (number, sql) in texts(encrypted)? {
        match Both::run(encrypted, plain, &sql) {
            Ok(both) => table.add(number, verdict(sf, number, &both)?, &both),
            Err(failure) => {
                say(&format!("Query {number}: {failure}"));
                table.fail(number);
            }
        }
    }
    let ratio = table.seconds / table.plain_seconds;
    let (wrong, official) = (table.wrong.clone(), table.official);
    table.print(out)?;
    let text = format!("  encrypted / plain: {ratio:.3} (shortest of {RUNS} runs each)");
    super::line(out, &text)?;
    if !official {
        let text = format!(
            "  There are no official answers for scale factor {sf}: encrypted was compared with plain instead."
        );
        super::line(out, &text)?;
    }
    Ok(wrong)
}

/// What an answer was held against, and what came of it.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Official,
    AsPlain,
    NotAsPlain,
    Wrong,
}

/// Compares an answer with the official one, or, where there is none, with the plain file's.
fn verdict(sf: f64, number: u32, both: &Both) -> Result<Verdict, Failure> {
    match check_answer(sf, number, &both.answer) {
        Ok(()) => Ok(Verdict::Official),
        Err(Mismatch::NoAnswer { .. }) => {
            match sorted(&both.answer)? == sorted(&both.plain_answer)? {
                true => Ok(Verdict::AsPlain),
                false => Ok(Verdict::NotAsPlain),
            }
        }
        Err(mismatch) => {
            say(&format!("Query {number}: {mismatch}"));
            Ok(Verdict::Wrong)
        }
    }
}

/// A row for each query, and what they come to.
struct Table {
    rows: Vec<Vec<String>>,
    seconds: f64,
    plain_seconds: f64,
    /// Queries that did not answer rightly.
    wrong: Vec<u32>,
    /// Whether there was an official answer for each.
    official: bool,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            seconds: 0.0,
            plain_seconds: 0.0,
            wrong: Vec::new(),
            official: true,
        }
    }
}

impl Table {
    fn add(&mut self, number: u32, verdict: Verdict, both: &Both) {
        let shown = match verdict {
            Verdict::Official => "official",
            Verdict::AsPlain => "as plain",
            Verdict::NotAsPlain => "NOT AS PLAIN",
            Verdict::Wrong => "WRONG",
        };
        match verdict {
            Verdict::Official => {}
            Verdict::AsPlain => self.official = false,
            Verdict::NotAsPlain => {
                self.official = false;
                self.wrong.push(number);
            }
            Verdict::Wrong => self.wrong.push(number),
        }
        self.seconds += both.seconds;
        self.plain_seconds += both.plain_seconds;
        let found: usize = both.answer.iter().map(RecordBatch::num_rows).sum();
        let (time, plain_time) = (milliseconds(both.seconds), milliseconds(both.plain_seconds));
        self.push(&[
            &number.to_string(),
            &time,
            &plain_time,
            &found.to_string(),
            shown,
        ]);
    }

    /// A query that gave no answer.
    fn fail(&mut self, number: u32) {
        self.wrong.push(number);
        self.push(&[&number.to_string(), "", "", "", "FAILED"]);
    }

    fn push(&mut self, cells: &[&str; 5]) {
        self.rows.push(cells.map(str::to_owned).to_vec());
    }

    fn print(mut self, out: &mut Sink) -> Result<(), Failure> {
        let (seconds, plain_seconds) =
            (milliseconds(self.seconds), milliseconds(self.plain_seconds));
        self.push(&["all", &seconds, &plain_seconds, "", ""]);
        let names = ["query", "encrypted, ms", "plain, ms", "rows", "answer"];
        let right = [true, true, true, true, false];
        BoxTable::of_texts(&names, &right, self.rows, out.width()).finish(out)
    }
}

/// One query on both files: the shortest times and the answers.
#[derive(Default)]
struct Both {
    seconds: f64,
    plain_seconds: f64,
    answer: Vec<RecordBatch>,
    plain_answer: Vec<RecordBatch>,
}

impl Both {
    fn run(encrypted: &Connection, plain: &Connection, sql: &str) -> Result<Self, Failure> {
        let mut both = Self {
            seconds: f64::INFINITY,
            plain_seconds: f64::INFINITY,
            ..Self::default()
        };
        // In turns, so that whatever else the machine does falls on both.
        for _ in 0..RUNS {
            let (seconds, batches) = timed(encrypted, sql)?;
            (both.seconds, both.answer) = (seconds.min(both.seconds), batches);
            let (seconds, batches) = timed(plain, sql)?;
            (both.plain_seconds, both.plain_answer) = (seconds.min(both.plain_seconds), batches);
        }
        Ok(both)
    }
}

fn texts(connection: &Connection) -> Result<Vec<(u32, String)>, Failure> {
    let batches = connection
        .execute("SELECT query_nr, query FROM tpch_queries() ORDER BY 1")?
        .collect_batches()?;
    let mut queries = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            if let [Some(number), Some(sql)] = output::texts(&batch, row)?.as_slice() {
                let number = number
                    .parse()
                    .map_err(|_| Failure::Message("tpch_queries() has no numbers".to_owned()))?;
                queries.push((number, sql.clone()));
            }
        }
    }
    if queries.len() == 22 {
        Ok(queries)
    } else {
        Err(Failure::Message(
            "tpch_queries() has not 22 queries".to_owned(),
        ))
    }
}

fn timed(connection: &Connection, sql: &str) -> Result<(f64, Vec<RecordBatch>), Failure> {
    let started = Instant::now();
    let batches = connection.execute(sql)?.collect_batches()?;
    Ok((started.elapsed().as_secs_f64(), batches))
}

/// The rows as texts in an order of their own: the queries leave ties open.
fn sorted(batches: &[RecordBatch]) -> Result<Vec<Vec<Option<String>>>, Failure> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            rows.push(output::texts(batch, row)?);
        }
    }
    rows.sort();
    Ok(rows)
}

fn milliseconds(seconds: f64) -> String {
    format!("{:.1}", seconds * 1000.0)
}
