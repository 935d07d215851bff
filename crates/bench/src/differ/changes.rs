//! What excuses a difference of a statement that changes rows. Each stands in docs/DIFFERENCES.md.

use super::run_statement::Outcome;
use super::seen::{Excuse, Seen, both, other_rows_alone};
use hushdb::ErrorKind;
use hushdb_querygen::Answer;

/// The excuses. Behind a statement stands how its tables are made.
pub(super) const EXCUSES: [Excuse; 9] = [
    Excuse {
        name: "rows of one key in ON CONFLICT",
        applies: |seen| match seen.ours {
            Outcome::Error(_, text) => {
                text.contains("can not update the same row twice in the same command")
                    && is_insert(seen)
                    && seen.theirs.is_ok()
            }
            _ => false,
        },
    },
    Excuse {
        name: "NULLs of a UNIQUE column in ON CONFLICT",
        applies: |seen| {
            let meets = ["INSERT OR ", " ON CONFLICT "];
            let keeps_more = match (seen.ours, seen.theirs) {
                (Outcome::Rows(ours), Ok(theirs)) => has_more(ours, theirs),
                (Outcome::Error(ErrorKind::Constraint, _), Ok(_)) => true,
                _ => false,
            };
            is_insert(seen)
                && meets.iter().any(|words| seen.sql.contains(words))
                && seen.sql.contains("UNIQUE")
                && keeps_more
        },
    },
    Excuse {
        name: "RETURNING of OR REPLACE where all columns are of the key",
        applies: |seen| {
            seen.sql.starts_with("INSERT OR REPLACE ")
                && seen.sql.contains(" RETURNING ")
                && other_rows_alone(seen)
                && both(seen).is_some_and(|(ours, theirs)| ours.rows.len() == theirs.rows.len())
        },
    },
    Excuse {
        name: "when a foreign key is looked up",
        applies: |seen| {
            let says = |error: &String| error.contains("Violates foreign key constraint");
            matches!(seen.ours, Outcome::Rows(_)) && seen.theirs.as_ref().is_err_and(says)
        },
    },
    Excuse {
        name: "RETURNING of MERGE with NOT MATCHED BY SOURCE",
        applies: |seen| {
            let words = [
                " WHEN NOT MATCHED BY SOURCE ",
                " THEN UPDATE ",
                " RETURNING ",
            ];
            seen.sql.starts_with("MERGE INTO ")
                && words.iter().all(|words| seen.sql.contains(words))
                && other_rows_alone(seen)
                && both(seen).is_some_and(|(ours, theirs)| ours.rows.len() == theirs.rows.len())
        },
    },
    Excuse {
        name: "a generated column of a row that an outer join adds",
        applies: |seen| {
            let joins = ["LEFT JOIN ", "RIGHT JOIN ", "FULL JOIN ", "MERGE INTO "];
            seen.sql.contains(GENERATED)
                && joins.iter().any(|join| seen.sql.contains(join))
                && other_rows_alone(seen)
        },
    },
    Excuse {
        name: "when a generated column is computed",
        applies: |seen| {
            seen.sql.contains(GENERATED)
                && match (seen.ours, seen.theirs) {
                    (Outcome::Error(kind, _), Ok(_)) => VALUE_ERRORS.contains(kind),
                    _ => false,
                }
        },
    },
    Excuse {
        name: "an interval that is set to one that equals it",
        applies: |seen| {
            let sets = ["UPDATE ", "MERGE INTO ", "INSERT "];
            sets.iter().any(|words| seen.sql.starts_with(words)) && other_intervals_alone(seen)
        },
    },
    Excuse {
        name: "a DEFAULT that has no value",
        applies: |seen| match (seen.ours, seen.theirs) {
            (Outcome::Error(kind, _), Ok(_)) => {
                let is_made = seen.sql.starts_with("CREATE TABLE ");
                is_made && seen.sql.contains(" DEFAULT ") && VALUE_ERRORS.contains(kind)
            }
            _ => false,
        },
    },
];

/// Errors that a value causes.
const VALUE_ERRORS: [ErrorKind; 3] = [
    ErrorKind::OutOfRange,
    ErrorKind::Conversion,
    ErrorKind::InvalidInput,
];

const GENERATED: &str = " GENERATED ALWAYS AS ";

fn is_insert(seen: &Seen<'_>) -> bool {
    seen.sql.starts_with("INSERT ")
}

/// Rows that are the same but for their intervals.
fn other_intervals_alone(seen: &Seen<'_>) -> bool {
    let bare = |answer: &Answer| {
        let mut answer = answer.clone();
        for row in &mut answer.rows {
            for (value, ty) in row.iter_mut().zip(&answer.types) {
                if ty == "INTERVAL" && value.is_some() {
                    *value = Some(String::new());
                }
            }
        }
        answer
    };
    other_rows_alone(seen)
        && both(seen).is_some_and(|(ours, theirs)| bare(ours).same_rows(&bare(theirs)))
}

/// More rows, or a greater count of them.
fn has_more(ours: &Answer, theirs: &Answer) -> bool {
    let count = |answer: &Answer| match (answer.names.as_slice(), answer.rows.as_slice()) {
        ([name], [row]) if name == "Count" => row.first()?.as_ref()?.parse::<u64>().ok(),
        _ => None,
    };
    match (count(ours), count(theirs)) {
        (Some(ours), Some(theirs)) => ours > theirs,
        _ => ours.rows.len() > theirs.rows.len() && ours.holds(theirs),
    }
}
