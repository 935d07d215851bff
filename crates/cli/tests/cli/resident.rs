//! The most memory that the program takes, as the system counts it, for statements over more rows than the limit holds.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Arc;

use arrow::csv::ReaderBuilder;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use hushdb::tpch::{QUERIES, check_answer, query};

use super::place::{KEY_A, Place};

/// Beside the limit and the pages of the program itself, which are the file's, it may take a fifth of it, and this.
const BESIDE: usize = 43_000_000;

/// The table alone, as rows, is twice the limit.
const ROWS: usize = 3_000_000;

const STATEMENTS: [&str; 23] = [
    // Values of nearly the limit, which are in memory once.
    "SELECT length(repeat('x', 80000000))",
    "SELECT len(range(10000000))",
    "SELECT sum(len(l)) FROM range(2000) t(i), (SELECT list(j) AS l FROM range(100000) r(j))",
    // Constant lists, written out for each row that they are needed for.
    "SELECT sum(u) FROM (SELECT unnest(range(0, 100000)) AS u FROM range(1000))",
    "SELECT max(len(CASE WHEN i > 5 THEN range(100000) ELSE [1] END)) FROM range(2000) t(i)",
    "SELECT count(*) FROM a WHERE k < 3000 AND list_contains(range(100000), k)",
    "SELECT count(*) FROM (SELECT k, sum(r) OVER () AS t, s FROM a) WHERE t > k AND s > 'b'",
    "SELECT sum(n), max(d) FROM (SELECT s, ntile(7) OVER w AS n, cume_dist() OVER w AS d FROM a WINDOW w AS (ORDER BY r)) WHERE s > 'b'",
    "SELECT max(x), max(l) FROM (SELECT sum(r) OVER w AS x, last_value(s) OVER w AS l, s FROM a \
     WINDOW w AS (ORDER BY k ROWS BETWEEN 3 PRECEDING AND UNBOUNDED FOLLOWING)) WHERE s > 'b'",
    "SELECT sum(x) FROM (SELECT sum(r) OVER (PARTITION BY g ORDER BY k) AS x, s FROM a) WHERE x > 0",
    "SELECT count(*), max(n) FROM (SELECT s, count(*) AS n FROM a GROUP BY s)",
    "SELECT count(DISTINCT s) FROM a",
    "SELECT max(len(l)) FROM (SELECT g, list(k ORDER BY r) AS l FROM a WHERE k < 1500000 GROUP BY g)",
    "SELECT max(length(l)) FROM (SELECT g, string_agg(s, ',' ORDER BY r) AS l FROM a WHERE k < 600000 GROUP BY g)",
    "SELECT count(*) FROM (SELECT DISTINCT ON (r) r, s FROM a)",
    "SELECT count(*), max(x.s), max(y.s) FROM a x JOIN a y ON x.k = y.r",
    "SELECT count(*) FROM a WHERE k NOT IN (SELECT r FROM a)",
    "SELECT k FROM a ORDER BY s LIMIT 1 OFFSET 2999990",
    "CREATE TABLE b AS SELECT * FROM a ORDER BY r",
    "UPDATE a SET s = s || 'x', r = r + 1",
    "DELETE FROM a WHERE k % 3 <> 0",
    "INSERT INTO a SELECT * FROM b WHERE k % 3 <> 0",
    "CREATE INDEX i ON a(k)",
];

/// What multiplies its arguments past the limit, and says that it does not fit before it has.
const REFUSED: [&str; 13] = [
    "SELECT len(flatten(list_transform(range(30000), x -> range(30000))))",
    "SELECT len(list_transform(range(30000), x -> l)) FROM (SELECT range(30000) AS l) t",
    "SELECT length(string_agg(repeat('x', 100000))) FROM range(10000)",
    "SELECT length(to_json(repeat('\"', 150000000)))",
    "SELECT max(length(repeat('x', 100000) || i)) FROM range(10000) t(i)",
    "SELECT length(range(20000000)::VARCHAR)",
    "SELECT max(len([range(i), range(i), range(i)])) FROM range(20999999, 21000000) t(i)",
    "SELECT max(len(list_reverse(range(i)))) FROM range(20999999, 21000000) t(i)",
    "SELECT max(length(overlay(repeat('x', 3000000) PLACING i::VARCHAR FROM 4))) FROM range(8000) t(i)",
    "SELECT sum(octet_length(b)) FROM (SELECT bitstring_agg(i, 0, 999999999) AS b FROM range(60) t(i) GROUP BY i)",
    "SELECT max(length(bitstring('1', 200000000 + i)::VARCHAR)) FROM range(4) t(i)",
    "SELECT max(length([bitstring('1', 100000000 + i), bitstring('1', 100000000 + i)]::VARCHAR)) FROM range(1) t(i)",
    "SELECT max(length(encode(repeat(chr(1), 50000000 + i::INTEGER))::VARCHAR)) FROM range(1) t(i)",
];

/// Over TPC-H at scale factor 1, of which lineitem is 0.9 GB, each with a limit in MB.
const LARGE: [(usize, &str); 6] = [
    (
        100,
        "CREATE TABLE sorted AS SELECT * FROM lineitem ORDER BY l_shipdate, l_partkey",
    ),
    (
        100,
        "CREATE TABLE joined AS SELECT l1.l_orderkey, l1.l_comment AS one, l2.l_comment AS two FROM lineitem l1 JOIN lineitem l2 \
         USING (l_orderkey, l_linenumber)",
    ),
    (
        100,
        "SELECT max(n) FROM (SELECT l_comment, row_number() OVER (ORDER BY l_comment) AS n FROM lineitem)",
    ),
    // Before there is an index: its keys are held while rows are added.
    (100, "COPY FROM DATABASE tpch TO other"),
    (
        100,
        "CREATE UNIQUE INDEX i ON lineitem(l_partkey, l_orderkey, l_linenumber)",
    ),
    (
        200,
        "SELECT sum(l_orderkey), max(l_partkey), max(l_suppkey), max(l_quantity), max(l_extendedprice), max(l_discount), \
         max(l_tax), max(l_returnflag), max(l_linestatus), max(l_commitdate), max(l_receiptdate), max(l_shipinstruct), \
         max(l_shipmode), max(l_comment) FROM lineitem",
    ),
];

#[test]
fn statements_stay_within_the_limit_and_what_is_allowed_beside_it() {
    let place = Place::new();
    let make = format!(
        "CREATE TABLE a AS SELECT i AS k, i * 7919 % 3000017 AS r, i % 11 AS g, 'a text that is not short ' || i AS s \
         FROM range({ROWS}) t(i)"
    );
    place.hush(&["--key-env", "KEY_A", "a.hushdb", &make]).ok();
    let mut over = vec![];
    for statement in STATEMENTS {
        let mut shell = Shell::start(&place, "a.hushdb", 100);
        shell.answer(statement);
        over.extend(shell.end(statement));
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

#[test]
fn what_does_not_fit_is_refused_before_it_is_made() {
    let place = Place::new();
    let mut over = vec![];
    for statement in REFUSED {
        let mut shell = Shell::start(&place, "a.hushdb", 200);
        writeln!(shell.input, "{statement};").expect("sent");
        let mut peak = 0;
        let status = loop {
            peak = shell.peak().unwrap_or(0).max(peak);
            if let Some(status) = shell.child.try_wait().expect("a status") {
                break status;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        };
        assert!(!status.success(), "it fits: {statement}");
        over.extend(shell.over(peak, statement));
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

#[test]
fn tpch_stays_within_the_limit_with_the_right_answers() {
    let place = Place::new();
    let make = "CALL dbgen(sf = 1)";
    place
        .hush(&["--key-env", "KEY_A", "tpch.hushdb", make])
        .ok();
    let mut over = vec![];
    let mut shell = Shell::start(&place, "tpch.hushdb", 256);
    for number in 1..=QUERIES {
        let answer = shell.answer(query(number).expect("a query"));
        if let Err(mismatch) = check_answer(1.0, number, &[texts(&answer)]) {
            panic!("query {number}: {mismatch}");
        }
    }
    over.extend(shell.end("22 queries"));
    for (limit, statement) in LARGE {
        let mut shell = Shell::start(&place, "tpch.hushdb", limit);
        if statement.contains("other") {
            shell.answer(&format!(
                "ATTACH 'other.hushdb' AS other (ENCRYPTION_KEY '{KEY_A}')"
            ));
        }
        shell.answer(statement);
        over.extend(shell.end(statement));
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

/// The rows of CSV with a head, each value as text.
fn texts(csv: &str) -> RecordBatch {
    let head = csv.lines().next().expect("a head");
    let fields = head
        .split(',')
        .map(|name| Field::new(name, DataType::Utf8, true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let reader = ReaderBuilder::new(schema)
        .with_header(true)
        .with_batch_size(1 << 16);
    let mut batches = reader.build(csv.as_bytes()).expect("CSV");
    batches.next().expect("rows").expect("CSV")
}

/// The program, with a memory limit.
struct Shell {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    limit: usize,
}

impl Shell {
    fn start(place: &Place, file: &str, limit_mb: usize) -> Self {
        let mut command = place.command(&["--csv", "--key-env", "KEY_A", file]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the program runs");
        let input = child.stdin.take().expect("its input");
        let output = BufReader::new(child.stdout.take().expect("its output"));
        let mut shell = Self {
            child,
            input,
            output,
            limit: limit_mb * 1_000_000,
        };
        shell.answer(&format!("SET memory_limit = '{limit_mb}MB'"));
        shell
    }

    /// What a statement prints.
    fn answer(&mut self, statement: &str) -> String {
        const DONE: &str = "done\ndone\n";
        let statement = statement.trim_end().trim_end_matches(';');
        writeln!(self.input, "{statement};\nSELECT 'done' AS done;").expect("sent");
        let mut answer = String::new();
        while !answer.ends_with(DONE) {
            let read = self.output.read_line(&mut answer).expect("an answer");
            assert!(read > 0, "it ended: {statement}: {answer}");
        }
        answer.truncate(answer.len() - DONE.len());
        answer
    }

    /// The most bytes that it has held but for pages of the program itself, while it is there.
    fn peak(&self) -> Option<usize> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.ok()?;
        let kib = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse::<usize>().ok()
        };
        Some(kib("VmHWM:")?.saturating_sub(kib("RssFile:")?) << 10)
    }

    /// Ends it. Says so if it has held more than it may.
    fn end(mut self, what: &str) -> Option<String> {
        let over = self.over(self.peak().expect("a peak"), what);
        drop(self.input);
        assert!(self.child.wait().expect("it ends").success());
        over
    }

    /// What is said of a peak that is more than it may be.
    fn over(&self, peak: usize, what: &str) -> Option<String> {
        let most = self.limit + self.limit / 5 + BESIDE;
        let mb = |bytes: usize| bytes / 1_000_000;
        (peak > most).then(|| format!("{} MB, not {}: {what}", mb(peak), mb(most)))
    }
}
