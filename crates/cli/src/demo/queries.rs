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
    let mut rows = Vec::new();
    let (mut sum_encrypted, mut sum_plain) = (0.0, 0.0);
    let mut wrong = Vec::new();
    let mut official = true;
    for (number, sql) in texts(encrypted)? {
        let both = match Both::run(encrypted, plain, &sql) {
            Ok(both) => both,
            Err(failure) => {
                wrong.push(number);
                say(&format!("Query {number}: {failure}"));
                let none = String::new;
                rows.push(vec![
                    number.to_string(),
                    none(),
                    none(),
                    none(),
                    "FAILED".to_owned(),
                ]);
                continue;
            }
        };
        let verdict = match check_answer(sf, number, &both.answer) {
            Ok(()) => "official",
            Err(Mismatch::NoAnswer { .. }) => {
                official = false;
                if sorted(&both.answer)? == sorted(&both.plain_answer)? {
                    "as plain"
                } else {
                    "NOT AS PLAIN"
                }
            }
            Err(mismatch) => {
                say(&format!("Query {number}: {mismatch}"));
                "WRONG"
            }
        };
        if verdict != "official" && verdict != "as plain" {
            wrong.push(number);
        }
        sum_encrypted += both.seconds;
        sum_plain += both.plain_seconds;
        let found: usize = both.answer.iter().map(RecordBatch::num_rows).sum();
        let (time, plain_time) = (milliseconds(both.seconds), milliseconds(both.plain_seconds));
        rows.push(vec![
            number.to_string(),
            time,
            plain_time,
            found.to_string(),
            verdict.to_owned(),
        ]);
    }
    rows.push(vec![
        "all".to_owned(),
        milliseconds(sum_encrypted),
        milliseconds(sum_plain),
        String::new(),
        String::new(),
    ]);
    let names = ["query", "encrypted, ms", "plain, ms", "rows", "answer"];
    BoxTable::of_texts(&names, &[true, true, true, true, false], rows, out.width()).finish(out)?;
    super::line(
        out,
        &format!(
            "  encrypted / plain: {:.3} (shortest of {RUNS} runs each)",
            sum_encrypted / sum_plain
        ),
    )?;
    if !official {
        let text = format!(
            "  There are no official answers for scale factor {sf}: encrypted was compared with plain instead."
        );
        super::line(out, &text)?;
    }
    Ok(wrong)
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
