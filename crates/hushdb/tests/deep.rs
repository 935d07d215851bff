//! Statements that nest deeply or go on for long: each is answered or refused, on a thread with the 2 MiB of stack that Rust
//! gives to threads, and the connection goes on afterwards. A process that overflows its stack dies, and the test with it.

use hushdb::{Connection, Database, ErrorKind, QueryResult, Result};

/// What `std::thread` gives when nobody says otherwise.
const STACK: usize = 2 << 20;

/// Runs a test on a thread of its own with a new database.
fn on_a_thread(work: impl FnOnce(&Connection) + Send + 'static) {
    let run = move || {
        let connection = Database::open_in_memory().unwrap().connect().unwrap();
        work(&connection);
        assert_eq!(answer(&connection, "SELECT 42").unwrap(), "42");
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run);
    if let Err(panic) = thread.unwrap().join() {
        std::panic::resume_unwind(panic);
    }
}

/// The first value of the result, as text.
fn answer(connection: &Connection, sql: &str) -> Result<String> {
    let batches = connection.execute(sql)?.collect_batches()?;
    let batch = batches.iter().find(|batch| batch.num_rows() > 0);
    Ok(batch.map_or_else(String::new, |batch| {
        let text = hushdb::value_text(batch.column(0), 0).unwrap();
        text.unwrap_or_else(|| "NULL".into())
    }))
}

/// Holds that a statement has this answer.
fn answers(sql: String, expected: &'static str) {
    on_a_thread(move |connection| match answer(connection, &sql) {
        Ok(answer) => assert_eq!(answer, expected),
        Err(error) => panic!("{error}"),
    });
}

/// Holds that a statement is refused as too deep.
fn refused(sql: String) {
    on_a_thread(move |connection| {
        let error = answer(connection, &sql).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parser, "{error}");
        assert!(error.message().contains("nested too deeply"), "{error}");
    });
}

fn chain(operator: &str, operands: impl Iterator<Item = String>) -> String {
    operands.collect::<Vec<_>>().join(operator)
}

fn repeated(before: &str, times: usize, within: &str, after: &str) -> String {
    [&before.repeat(times), within, &after.repeat(times)].concat()
}

#[test]
fn and_of_ten_thousand() {
    let terms = chain(" AND ", (0..10_000).map(|_| "true".into()));
    answers(format!("SELECT {terms}"), "true");
    let terms = chain(" AND ", (0..1_000).map(|i| format!("i <> {i}")));
    answers(
        format!("SELECT count(*) FROM range(20000) t(i) WHERE {terms}"),
        "19000",
    );
}

#[test]
fn or_of_five_thousand() {
    let terms = chain(" OR ", (0..5_000).map(|i| format!("i = {i}")));
    answers(
        format!("SELECT count(*) FROM range(20000) t(i) WHERE {terms}"),
        "5000",
    );
}

#[test]
fn or_with_and_within() {
    let terms = chain(" OR ", (0..2_000).map(|i| format!("i = {i} AND i % 2 = 0")));
    answers(
        format!("SELECT count(*) FROM range(20000) t(i) WHERE {terms}"),
        "1000",
    );
}

#[test]
fn sums() {
    answers(format!("SELECT {}", repeated("1 + ", 900, "1", "")), "901");
    let columns = repeated("x + ", 900, "x", "");
    answers(format!("SELECT {columns} FROM (VALUES (2)) t(x)"), "1802");
    let floats = repeated("x - ", 900, "x", "");
    answers(
        format!("SELECT {floats} FROM (VALUES (2::DOUBLE)) t(x)"),
        "-1798.0",
    );
    refused(format!("SELECT {}", repeated("1 + ", 100_000, "1", "")));
    refused_somehow(format!("SELECT {}", repeated("1 + ", 100_000, "", "")));
}

#[test]
fn texts() {
    let terms = chain(" || ", (0..900).map(|_| "'ab'".into()));
    answers(format!("SELECT length({terms})"), "1800");
    refused(format!(
        "SELECT {}",
        repeated("'a' || ", 100_000, "'a'", "")
    ));
}

#[test]
fn unions() {
    for n in [3_000, 10_000] {
        let all = chain(" UNION ALL ", (0..n).map(|i| format!("SELECT {i} AS i")));
        let sum = format!("SELECT count(*) = {n} AND max(i) = {n} - 1 FROM ({all})");
        answers(sum, "true");
    }
    let distinct = chain(
        " UNION ",
        (0..3_000).map(|i| format!("SELECT {} AS i", i % 7)),
    );
    answers(format!("SELECT count(*) FROM ({distinct})"), "7");
    let ordered = chain(" UNION ALL ", (0..200).map(|i| format!("SELECT {i} AS i")));
    answers(ordered, "0");
}

#[test]
fn unions_of_types() {
    // The common type of all branches, found from left to right.
    let first = chain(" UNION ALL ", (0..100).map(|_| "SELECT 1 AS i".into()));
    answers(
        format!("SELECT sum(i) FROM ({first} UNION ALL SELECT 0.25)"),
        "100.25",
    );
}

#[test]
fn other_set_operations() {
    let all = chain(" EXCEPT ", (0..200).map(|i| format!("SELECT {i}")));
    answers(all, "0");
    refused(chain(
        " EXCEPT ",
        (0..30_000).map(|i| format!("SELECT {i}")),
    ));
}

#[test]
fn in_list_of_a_hundred_thousand() {
    let list = chain(", ", (0..100_000).map(|i| i.to_string()));
    answers(format!("SELECT 99999 IN ({list})"), "true");
    answers(
        format!("SELECT count(*) FROM range(200000) t(i) WHERE i NOT IN ({list})"),
        "100000",
    );
}

#[test]
fn case() {
    let nested = repeated("CASE WHEN true THEN ", 20, "1", " END");
    answers(format!("SELECT {nested}"), "1");
    let nested = repeated("CASE WHEN x > 0 THEN ", 20, "x", " ELSE 0 END");
    answers(format!("SELECT {nested} FROM (VALUES (2)) t(x)"), "2");
    let many = (0..2_000).map(|i| format!("WHEN {i} THEN {}", i + 1));
    let many = chain(" ", many);
    answers(
        format!("SELECT max(CASE i {many} END) FROM range(2000) t(i)"),
        "2000",
    );
    for depth in [20, 40] {
        refused_somehow(format!(
            "SELECT {}",
            repeated("CASE WHEN true THEN ", depth, "1", "")
        ));
        let wrong = repeated("CASE WHEN true THEN ", depth, "1 1", " END");
        refused_somehow(format!("SELECT {wrong}"));
    }
}

/// Holds that a statement is refused, in whatever words.
fn refused_somehow(sql: String) {
    on_a_thread(move |connection| {
        let error = answer(connection, &sql).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Parser, "{error}");
    });
}

#[test]
fn subqueries_beside_one_another() {
    // Were the outer values of each taken from a plan with those before it, the plan would double with each.
    let less = "(SELECT max(j) FROM range(3) u(j) WHERE j < i)";
    let sum = chain(" + ", (0..20).map(|_| less.into()));
    answers(format!("SELECT sum({sum}) FROM range(3) t(i)"), "20");
    answers(
        format!("SELECT count(*) FROM range(4) t(i) WHERE {sum} > 0"),
        "2",
    );
    let exists = "EXISTS (FROM range(3) u(j) WHERE j < i)";
    let any = chain(" OR ", (0..20).map(|_| exists.into()));
    answers(
        format!("SELECT count(*) FROM range(3) t(i) WHERE {any}"),
        "2",
    );
    let within = "i IN (SELECT j + 1 FROM range(3) u(j) WHERE j < i)";
    let any = chain(" OR ", (0..10).map(|_| within.into()));
    answers(
        format!("SELECT count(*) FROM range(3) t(i) WHERE {any}"),
        "2",
    );
}

#[test]
fn what_does_not_parse_ends() {
    let n = 45;
    for (before, after) in [
        ("(", ")"),
        ("CAST(", " AS INTEGER)"),
        ("f(", ")"),
        ("NOT ", ""),
        ("EXISTS (SELECT ", ")"),
        ("(SELECT ", ")"),
        ("[", "]"),
        ("{'a': ", "}"),
        ("x IN (", ")"),
        ("INTERVAL ", ""),
        ("(SELECT * FROM (SELECT ", "))"),
        ("extract(year FROM ", ")"),
    ] {
        let wrong = repeated(before, n, "1 1 selec", after);
        refused_somehow(format!("SELECT {wrong}"));
    }
    for before in ["(", "(SELECT * FROM (", "((SELECT * FROM "] {
        refused_somehow(format!("SELECT * FROM {} 1 selec", before.repeat(n)));
    }
}

#[test]
fn operators_before_and_after() {
    for (before, after) in [
        ("NOT ", ""),
        ("- ", ""),
        ("~ ", ""),
        ("", "::INTEGER"),
        ("", " IS NULL"),
        ("", "[1]"),
        ("", ".a"),
        ("", " COLLATE x"),
        ("(", ")"),
        ("[", "]"),
        ("abs(", ")"),
        ("(SELECT ", ")"),
        ("INTERVAL ", ""),
        ("NULL::INTEGER", "[]"),
        ("NULL::", "STRUCT(a "),
        ("", " BETWEEN 1 AND 2"),
        ("", " ^ 1"),
    ] {
        // What is a function in a function for the planner takes time with the cube of their number.
        let planned = if after == " ^ 1" { 60 } else { 150 };
        for times in [40, planned, 20_000] {
            let nested = match before {
                "NULL::INTEGER" => format!("{before}{}", after.repeat(times)),
                "NULL::" => format!(
                    "{before}{}INTEGER{}",
                    after.repeat(times),
                    ")".repeat(times)
                ),
                _ => repeated(before, times, "1", after),
            };
            // An answer or an error: what counts is that it comes.
            on_a_thread(move |connection| {
                let _ = answer(connection, &format!("SELECT {nested}"));
            });
        }
    }
}

#[test]
fn joins_and_tables_from_queries() {
    for times in [40, 900, 20_000] {
        let texts = [
            format!(
                "SELECT * FROM {}",
                repeated("(SELECT * FROM ", times, "range(1)", ")")
            ),
            format!("SELECT * FROM {}", repeated("(", times, "range(1)", ")")),
            format!(
                "SELECT 1 FROM {}",
                repeated("range(1) JOIN ", times, "range(1)", " ON true")
            ),
            format!("EXPLAIN {}", repeated("EXPLAIN ", times, "SELECT 1", "")),
        ];
        for text in texts {
            on_a_thread(move |connection| {
                let _ = answer(connection, &text);
            });
        }
    }
    let joins = (0..60).map(|i| format!("(SELECT {i} AS c{i}) t{i}"));
    answers(
        format!("SELECT * FROM {}", chain(" CROSS JOIN ", joins)),
        "0",
    );
}

#[test]
fn tables_joined_with_themselves_grow_too_large() {
    for levels in [20, 40] {
        let ctes = (1..levels).map(|i| {
            let before = i - 1;
            format!("c{i} AS (SELECT a.x FROM c{before} a JOIN c{before} b ON a.x = b.x)")
        });
        let ctes = chain(", ", ctes);
        let sql = format!(
            "WITH c0 AS (SELECT 1 AS x), {ctes} SELECT * FROM c{}",
            levels - 1
        );
        on_a_thread(move |connection| {
            let error = answer(connection, &sql).map(drop).unwrap_err();
            assert!(error.message().contains("too large"), "{error}");
        });
    }
}

#[test]
fn views_joined_with_themselves_grow_too_large() {
    on_a_thread(|connection| {
        connection.execute("CREATE TABLE v0 (x INTEGER)").unwrap();
        for i in 1..40 {
            let before = i - 1;
            let made = connection.execute(&format!(
                "CREATE VIEW v{i} AS SELECT a.x FROM v{before} a JOIN v{before} b ON a.x = b.x"
            ));
            if let Err(error) = made {
                assert!(error.message().contains("too large"), "{error}");
                assert!(i > 4, "{i}");
                return;
            }
        }
        panic!("all views were made");
    });
}

/// What repeats what it is given doubles with each level: a few levels are answered, many are refused at once.
#[test]
fn expressions_that_repeat_what_they_are_given() {
    on_a_thread(|connection| {
        connection
            .execute("CREATE TABLE t AS SELECT i FROM range(3) r(i)")
            .unwrap();
        for (before, after) in [
            ("xor(", ", 5)"),
            ("CAST(", " = ANY ([1, 2]) AS INTEGER)"),
            ("CAST(", " BETWEEN 1 AND 3 AS INTEGER)"),
            ("CAST(", " IN (1, 2) AS INTEGER)"),
            ("coalesce(", ", 3)"),
            (
                "date_diff('month', DATE '2020-01-01', DATE '2020-01-01' + CAST(",
                " AS INTEGER))",
            ),
        ] {
            for (times, fits) in [(3, true), (25, false)] {
                let nested = repeated(before, times, "i", after);
                let answered = answer(connection, &format!("SELECT max({nested}) FROM t"));
                match answered {
                    Ok(_) => assert!(fits, "{before}"),
                    Err(error) => {
                        assert!(!fits, "{before}: {error}");
                        let kinds = [ErrorKind::Binder, ErrorKind::Parser];
                        assert!(kinds.contains(&error.kind()), "{error}");
                    }
                }
            }
        }
        // Many that stand side by side are no such thing.
        let between = chain(" OR ", (0..1000).map(|i| format!("i BETWEEN {i} AND 9")));
        answer(
            connection,
            &format!("SELECT count(*) FROM t WHERE {between}"),
        )
        .unwrap();
    });
}

/// Texts in somebody's file: stored by a connection, and read by another thread that opens it.
#[test]
fn what_a_file_holds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("given.hushdb");
    let conditions = chain(" AND ", (0..1_000).map(|i| format!("x <> -{i} - 1")));
    let sum = repeated("1 + ", 900, "1", "");
    {
        let connection = Database::open(&path).unwrap().connect().unwrap();
        let made = [
            format!("CREATE TABLE t (x INTEGER DEFAULT ({sum}), CHECK ({conditions}))"),
            format!("CREATE VIEW v AS SELECT {sum} AS s FROM t WHERE {conditions}"),
        ];
        for sql in made {
            connection.execute(&sql).unwrap();
        }
    }
    let read = move || -> Result<()> {
        let connection = Database::open(&path)?.connect()?;
        connection.execute("INSERT INTO t DEFAULT VALUES")?;
        assert_eq!(answer(&connection, "SELECT x FROM t")?, "901");
        assert_eq!(answer(&connection, "SELECT s FROM v")?, "901");
        let failed = connection.execute("INSERT INTO t VALUES (-7)").unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Constraint);
        Ok(())
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(read);
    thread.unwrap().join().unwrap().unwrap();
}

#[test]
fn prepared_statements() {
    on_a_thread(|connection| {
        let terms = repeated("? + ", 800, "?", "");
        let prepared = connection.prepare(&format!("SELECT {terms}")).unwrap();
        let values: Vec<hushdb::Value> = (0..801).map(|_| 1i64.into()).collect();
        let batches = prepared
            .execute(&values)
            .and_then(QueryResult::collect_batches)
            .unwrap();
        assert_eq!(batches[0].num_rows(), 1);
        let chain = repeated("? + ", 100_000, "?", "");
        assert!(connection.prepare(&format!("SELECT {chain}")).is_err());
    });
}

#[test]
fn values_that_nest() {
    for times in [100, 100_000] {
        let text = repeated("[", times, "1", "]");
        on_a_thread(move |connection| {
            for to in ["INTEGER[]", "INTEGER[][]", "STRUCT(a INTEGER)"] {
                let _ = answer(connection, &format!("SELECT '{text}'::{to}"));
                let _ = answer(
                    connection,
                    &format!("SELECT CAST(x AS {to}) FROM (VALUES ('{text}')) t(x)"),
                );
            }
        });
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("deep.json");
        std::fs::write(&path, repeated("{\"a\":", times, "1", "}")).unwrap();
        on_a_thread(move |connection| {
            let _ = answer(connection, &format!("SELECT * FROM '{}'", path.display()));
            drop(directory);
        });
    }
}
