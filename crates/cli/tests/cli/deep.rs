//! Statements that nest deeply, given to the shell.

use super::place::Place;

#[test]
fn statements_that_nest_deeply_are_answered_or_refused() {
    let place = Place::new();
    let run = |sql: String| {
        place.write("deep.sql", &sql);
        place.hush(&["--csv", "-f", "deep.sql"])
    };
    let all = vec!["true"; 10_000].join(" AND ");
    assert_eq!(run(format!("SELECT {all} AS a")).ok(), "a\ntrue\n");
    let unions = vec!["SELECT 1 AS i"; 3_000].join(" UNION ALL ");
    let unions = format!("SELECT count(*) AS n FROM ({unions})");
    assert_eq!(run(unions).ok(), "n\n3000\n");
    let sums = vec!["1"; 100_000].join(" + ");
    let cases = "CASE WHEN true THEN ".repeat(40);
    for refused in [sums, format!("{cases} 1")] {
        let said = run(format!("SELECT {refused}")).refused();
        assert!(said.contains("Parser Error"), "{said}");
    }
}
