//! What a statement's length costs: milliseconds to plan and run one of so many terms, for each shape that grows, and the
//! ratio for twice as many. A ratio of 2 is linear, 4 is square.

use std::time::Instant;

use hushdb::{Connection, Database};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::report::Report;
use crate::samples::Samples;

/// Chains of arithmetic may have a thousand levels, and the statement is some of them.
const TERMS: [usize; 4] = [124, 248, 496, 992];
const NAMES: [&str; 4] = ["124", "248", "496", "992"];

/// A shape's name, and its statement with so many terms.
type Shape = (&'static str, fn(usize) -> String);

const SHAPES: [Shape; 28] = [
    ("x AND y ...", |n| {
        filter(" AND ", n, |i| format!("i <> {i}"))
    }),
    ("x OR y ...", |n| filter(" OR ", n, |i| format!("i = {i}"))),
    ("a AND b OR ...", |n| {
        filter(" OR ", n, |i| format!("i = {i} AND j = 1"))
    }),
    ("computed AND ...", |n| {
        filter(" AND ", n, |i| format!("i + {i} >= 0"))
    }),
    ("computed OR ...", |n| {
        filter(" OR ", n, |i| format!("i + {i} < 0"))
    }),
    ("BETWEEN AND ...", |n| {
        filter(" AND ", n, |i| format!("i NOT BETWEEN {i} AND {i} + 1"))
    }),
    ("LIKE OR ...", |n| {
        filter(" OR ", n, |i| format!("s LIKE '%{i}%'"))
    }),
    ("NOT ... AND ...", |n| {
        filter(" AND ", n, |i| format!("NOT (i = {i} OR j = {i})"))
    }),
    ("JOIN ON ... AND ...", |n| {
        let on = terms(" AND ", n, |i| format!("a.i + b.j <> {i}"));
        format!("SELECT count(*) FROM t a JOIN t b ON a.i = b.i AND {on}")
    }),
    ("i IN (...)", |n| {
        let list = terms(", ", n, |i| i.to_string());
        format!("SELECT count(*) FROM t WHERE i IN ({list})")
    }),
    ("1 + 1 ...", |n| {
        format!("SELECT {}", terms(" + ", n, |_| "1".into()))
    }),
    ("i + i ...", |n| of_columns(" + ", n, "i")),
    ("decimals", |n| of_columns(" + ", n, "m")),
    ("doubles", |n| of_columns(" * ", n, "d")),
    ("texts ||", |n| of_columns(" || ", n, "s")),
    ("columns", |n| {
        format!("SELECT {} FROM t", terms(", ", n, |i| format!("i + {i}")))
    }),
    ("aggregates", |n| {
        format!(
            "SELECT {} FROM t",
            terms(", ", n, |i| format!("sum(i + {i})"))
        )
    }),
    ("windows", |n| {
        let windows = terms(", ", n, |i| format!("sum(i + {i}) OVER ()"));
        format!("SELECT {windows} FROM t")
    }),
    ("GROUP BY", |n| {
        let keys = terms(", ", n, |i| format!("i + {i}"));
        format!("SELECT count(*) FROM t GROUP BY {keys}")
    }),
    ("ORDER BY", |n| {
        let keys = terms(", ", n, |i| format!("i + {i}"));
        format!("SELECT i FROM t ORDER BY {keys}")
    }),
    ("greatest(...)", |n| {
        let arguments = terms(", ", n, |i| format!("i + {i}"));
        format!("SELECT sum(greatest({arguments})) FROM t")
    }),
    ("* of columns", |n| format!("SELECT * FROM t{n}")),
    ("* of columns, filtered", |n| {
        format!("SELECT * FROM t{n} WHERE c0 + 1 = 1 ORDER BY c1")
    }),
    ("CASE WHEN ...", |n| {
        let whens = terms(" ", n, |i| format!("WHEN i = {i} THEN j + {i}"));
        format!("SELECT sum(CASE {whens} END) FROM t")
    }),
    ("VALUES", |n| {
        format!(
            "SELECT count(*) FROM (VALUES {})",
            terms(", ", n, |i| format!("({i}, 'x')"))
        )
    }),
    ("UNION ALL", |n| {
        format!(
            "SELECT count(*) FROM ({})",
            terms(" UNION ALL ", n, |i| format!("SELECT {i} AS i"))
        )
    }),
    ("UNION ALL of a table", |n| {
        format!(
            "SELECT count(*) FROM ({})",
            terms(" UNION ALL ", n, |i| format!(
                "SELECT i FROM t WHERE i = {i}"
            ))
        )
    }),
    ("UNION", |n| {
        format!(
            "SELECT count(*) FROM ({})",
            terms(" UNION ", n, |i| format!("SELECT {i} AS i"))
        )
    }),
];

fn terms(between: &str, n: usize, term: impl Fn(usize) -> String) -> String {
    (0..n).map(term).collect::<Vec<_>>().join(between)
}

fn filter(between: &str, n: usize, term: impl Fn(usize) -> String) -> String {
    format!("SELECT count(*) FROM t WHERE {}", terms(between, n, term))
}

fn of_columns(between: &str, n: usize, column: &str) -> String {
    format!("SELECT {} FROM t", terms(between, n, |_| column.into()))
}

/// Measures all shapes whose name contains `only`, `runs` times.
///
/// # Errors
/// When a statement fails.
pub(crate) fn measure(runs: u32, only: &str) -> Result<Report> {
    let connection = Database::open_in_memory()
        .and_then(|database| database.connect())
        .map_err(|error| Failure(error.to_string()))?;
    run(
        &connection,
        "CREATE TABLE t AS SELECT i, 1 AS j, 1::DECIMAL(9,2) AS m, 1::DOUBLE AS d, 's' AS s FROM range(100) r(i)",
    )?;
    for n in TERMS {
        let columns = terms(", ", n, |i| format!("{i} AS c{i}"));
        run(
            &connection,
            &format!("CREATE TABLE t{n} AS SELECT {columns}"),
        )?;
    }
    let conditions = json!({"rounds": runs});
    let mut report = Report::new(
        "planning",
        conditions,
        NAMES.to_vec(),
        vec![(1, 0), (2, 1), (3, 2)],
    );
    for (name, statement) in SHAPES {
        if !name.contains(only) {
            continue;
        }
        let mut samples = vec![Samples::default(); TERMS.len()];
        for _ in 0..runs {
            for (samples, n) in samples.iter_mut().zip(TERMS) {
                samples.push(run(&connection, &statement(n))?);
            }
        }
        report.add(name, "ms", samples);
    }
    Ok(report)
}

/// Milliseconds of a statement.
fn run(connection: &Connection, sql: &str) -> Result<f64> {
    let before = Instant::now();
    let done = connection
        .run(sql)
        .and_then(|result| result.collect_batches());
    done.map_err(|error| Failure(error.to_string()))?;
    Ok(before.elapsed().as_secs_f64() * 1000.0)
}
