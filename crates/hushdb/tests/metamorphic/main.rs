//! Queries whose answers must agree whatever their right answer is: each is run in several forms, over random tables.
//!
//! What must hold: a predicate, its negation and its being NULL take the rows of a query apart and nothing else; a row that
//! a predicate holds for is in the answer; and no answer depends on whether operators spill, on an index, on the order of
//! joins, or on whether the query is text, prepared, a view or a WITH.
//!
//! `HUSHDB_METAMORPHIC_QUERIES` and `HUSHDB_METAMORPHIC_SEED` ask for more queries and for others, `HUSHDB_METAMORPHIC_LONGEST` for
//! longer ones, `HUSHDB_METAMORPHIC_FAILURES` says after how many failures it ends.

mod engines;
mod forms;
mod known;
#[path = "../../../../tests/run_statement.rs"]
mod run_statement;
mod search;

use engines::{Engines, Fault};
use known::Known;
use search::Search;
use std::io::Write;

/// Statements that are run when nothing else is said.
const QUERIES: usize = 12_000;
/// Characters of the longest query then. Those beyond are one in four, and take half of the time.
const LONGEST: usize = 400;

fn number(name: &str, otherwise: usize) -> usize {
    let text = std::env::var(name).ok();
    text.map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn answers_do_not_depend_on_how_a_query_is_put() {
    let search = Search {
        known: Known::read(),
        shapes: Default::default(),
        seed: number("HUSHDB_METAMORPHIC_SEED", 1) as u64,
        queries: number("HUSHDB_METAMORPHIC_QUERIES", QUERIES),
        longest: number("HUSHDB_METAMORPHIC_LONGEST", LONGEST),
        fault: None,
        most_failures: number("HUSHDB_METAMORPHIC_FAILURES", 10),
    };
    let report = search.run();
    let _ = writeln!(std::io::stdout(), "{}", report.summary());
    assert!(
        report.failures.is_empty(),
        "{}\n{}",
        report.failures.join("\n\n"),
        report.summary()
    );
    assert!(
        report.answered * 2 > report.checks,
        "most queries fail in all forms, so that nothing is compared: {}",
        report.summary()
    );
}

/// An engine that loses rows is found out, whichever of the checks could see it, and the statement is made small.
#[test]
fn a_wrong_answer_is_found_and_made_small() {
    for fault in [Fault::LastRowUnderSpill, Fault::NullsOfNegation] {
        let search = Search {
            known: Known::read(),
            shapes: Default::default(),
            seed: 7,
            queries: 2000,
            longest: LONGEST,
            fault: Some(fault),
            most_failures: 1,
        };
        let report = search.run();
        let failure = report.failures.first();
        let failure = failure.unwrap_or_else(|| panic!("{fault:?} is not seen"));
        assert!(failure.contains("seed 7"), "{failure}");
        let longest = failure.lines().map(str::len).max().unwrap_or_default();
        assert!(longest < 400, "{fault:?} is not made small:\n{failure}");
    }
}

/// The judge of errors: what a value may cause can come from the order of evaluation, all else not.
#[test]
fn an_error_in_one_form_alone_is_a_failure_unless_a_value_caused_it() {
    let world = hushdb_querygen::World {
        tables: vec![],
        views: vec![],
        domain: Default::default(),
    };
    let engines = Engines::open(&world, None);
    let run = |sql: &str| engines.run_text(engines::On::Plain, sql);
    let answer = run("SELECT 1 AS x");
    let value = run("SELECT CAST('a' AS INTEGER) AS x");
    let name = run("SELECT no_such_column AS x");
    assert_eq!(search::disagreement(&answer, &answer, false), None);
    assert_eq!(search::disagreement(&answer, &value, false), None);
    assert_eq!(search::disagreement(&name, &name, false), None);
    assert!(search::disagreement(&answer, &name, false).is_some());
    assert!(search::disagreement(&answer, &run("SELECT 2 AS x"), false).is_some());
}
