//! What excuses a difference of a statement that changes rows. Each stands in docs/DIFFERENCES.md.

use super::run_statement::Outcome;
use super::seen::{Excuse, Seen, both, other_rows_alone};
use hushdb::ErrorKind;
use hushdb_querygen::{Action, Answer, Expression, Insert, Rows, Rule, Table, Value};

/// The excuses. Behind a statement stands how its tables are made.
pub(super) const EXCUSES: [Excuse; 13] = [
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
            let Some((insert, table)) = insert(seen) else {
                return false;
            };
            let meets = !insert.instead.is_empty() || insert.conflict.is_some();
            let dropped = rows_with_null_keys(insert, table).saturating_sub(1);
            meets
                && match (seen.ours, seen.theirs) {
                    (Outcome::Rows(ours), Ok(theirs)) => {
                        more_rows(ours, theirs).is_some_and(|more| (1..=dropped).contains(&more))
                    }
                    // What DuckDB drops may break another rule.
                    (Outcome::Error(ErrorKind::Constraint, _), Ok(_)) => dropped > 0,
                    _ => false,
                }
        },
    },
    Excuse {
        name: "a row with the key of one that another key keeps out",
        applies: |seen| {
            let Some((insert, table)) = insert(seen) else {
                return false;
            };
            let ignores = insert.instead == "OR IGNORE"
                || insert
                    .conflict
                    .as_ref()
                    .is_some_and(|met| met.sets.is_empty());
            let dropped = rows_with_keys_of_others(insert, table);
            ignores
                && table.keys().len() > 1
                && both(seen)
                    .and_then(|(ours, theirs)| more_rows(ours, theirs))
                    .is_some_and(|more| (1..=dropped).contains(&more))
        },
    },
    Excuse {
        name: "RETURNING of OR REPLACE where all columns are of the key",
        applies: |seen| {
            let all_of_key = insert(seen).is_some_and(|(insert, table)| {
                insert.instead == "OR REPLACE" && has_keys_alone(table)
            });
            all_of_key
                && seen.sql.contains(" RETURNING ")
                && other_rows_alone(seen)
                && both(seen).is_some_and(|(ours, theirs)| ours.rows.len() == theirs.rows.len())
        },
    },
    Excuse {
        name: "when a foreign key is looked up",
        applies: foreign_key_is_found,
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
        name: "a key that a MERGE takes from a row that it deletes",
        applies: |seen| {
            let is_twice = |error: &String| {
                error.starts_with("Constraint Error: Duplicate key ")
                    && error.contains("constraint")
            };
            let words = [" THEN UPDATE ", " THEN DELETE"];
            seen.sql.starts_with("MERGE INTO ")
                && words.iter().all(|words| seen.sql.contains(words))
                && matches!(seen.ours, Outcome::Rows(_))
                && seen.theirs.as_ref().is_err_and(is_twice)
        },
    },
    Excuse {
        name: "a generated column of a row that an outer join adds",
        applies: |seen| {
            let joins = ["LEFT JOIN ", "RIGHT JOIN ", "FULL JOIN ", "MERGE INTO "];
            seen.sql.contains(GENERATED)
                && joins.iter().any(|join| seen.sql.contains(join))
                && match (seen.ours, seen.theirs) {
                    // A row that its value lets in may break a rule.
                    (Outcome::Rows(_), Err(theirs)) => theirs.starts_with("Constraint Error"),
                    (Outcome::Error(ErrorKind::Constraint, text), Ok(_)) => {
                        text.starts_with("NOT NULL constraint failed")
                    }
                    _ => other_rows_alone(seen),
                }
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
        name: "an ASOF JOIN by a generated column that is a constant",
        applies: |seen| {
            let misses = |error: &String| error == "Binder Error: Missing ASOF JOIN inequality";
            let words = [GENERATED, " ASOF "];
            words.iter().all(|words| seen.sql.contains(words))
                && matches!(seen.ours, Outcome::Rows(_))
                && seen.theirs.as_ref().is_err_and(misses)
        },
    },
    Excuse {
        name: "a list comprehension with IF in ON CONFLICT",
        applies: |seen| {
            let is_unknown = |error: &String| {
                error.starts_with("Binder Error: Table ")
                    && error.contains(" does not have a column named \"v")
            };
            let words = [" ON CONFLICT ", " FOR v", " IF "];
            is_insert(seen)
                && words.iter().all(|words| seen.sql.contains(words))
                && matches!(seen.ours, Outcome::Rows(_))
                && seen.theirs.as_ref().is_err_and(is_unknown)
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

/// DuckDB finds rows that the statement takes away or changes, and those of which its transaction has done so.
fn foreign_key_is_found(seen: &Seen<'_>) -> bool {
    let Some((change, table)) = seen.change else {
        return false;
    };
    match (seen.ours, seen.theirs) {
        (Outcome::Rows(_), Err(theirs)) => {
            let takes_alone = matches!(change.action, Action::Delete | Action::Truncate);
            let is_changed = !takes_alone && !change.adds_alone();
            theirs.contains("is still referenced by a foreign key in a different table")
                && (is_changed || seen.touched.iter().any(|other| *other != table.name))
        }
        (Outcome::Error(ErrorKind::Constraint, text), Ok(_)) => {
            let is_touched = |rule: &Rule| matches!(rule, Rule::References(_, parent, _) if seen.touched.contains(parent));
            text.contains("a key does not exist in the referenced table")
                && table.rules.iter().any(is_touched)
        }
        _ => false,
    }
}

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

/// How many rows more, or by how much their count is greater; nothing where others are missing.
fn more_rows(ours: &Answer, theirs: &Answer) -> Option<usize> {
    let count = |answer: &Answer| match (answer.names.as_slice(), answer.rows.as_slice()) {
        ([name], [row]) if name == "Count" => row.first()?.as_ref()?.parse().ok(),
        _ => None,
    };
    match (count(ours), count(theirs)) {
        (Some(ours), Some(theirs)) => usize::checked_sub(ours, theirs),
        _ if ours.holds(theirs) => ours.rows.len().checked_sub(theirs.rows.len()),
        _ => None,
    }
}

/// The INSERT that it is, and its table.
fn insert<'a>(seen: &Seen<'a>) -> Option<(&'a Insert, &'a Table)> {
    match seen.change {
        Some((change, table)) => match &change.action {
            Action::Insert(insert) => Some((insert, table)),
            _ => None,
        },
        None => None,
    }
}

/// Whether all that is stored is of one key.
fn has_keys_alone(table: &Table) -> bool {
    let keys = table.keys();
    keys.iter().any(|key| {
        let mut stored = table.columns.iter().filter(|c| c.generated.is_none());
        stored.all(|column| key.contains(&column.name))
    })
}

/// The rows of VALUES with what may be NULL in a key. A query has each key once.
fn rows_with_null_keys(insert: &Insert, table: &Table) -> usize {
    let has_value = |value: &Option<&Expression>| matches!(value, Some(Expression::Literal { value, .. }) if *value != Value::Null);
    let rows = keys_of_rows(insert, table);
    let has_null = |keys: &Vec<Vec<Option<&Expression>>>| !keys.iter().flatten().all(has_value);
    rows.iter().filter(|keys| has_null(keys)).count()
}

/// The rows of VALUES with a key that a row before them has.
fn rows_with_keys_of_others(insert: &Insert, table: &Table) -> usize {
    let rows = keys_of_rows(insert, table);
    let is_of_other = |at: &usize| {
        let mut before = rows[..*at].iter();
        before.any(|row| row.iter().zip(&rows[*at]).any(|(one, other)| one == other))
    };
    (0..rows.len()).filter(is_of_other).count()
}

/// What VALUES writes into each key of the table, by rows; nothing where that is left out.
fn keys_of_rows<'a>(insert: &'a Insert, table: &Table) -> Vec<Vec<Vec<Option<&'a Expression>>>> {
    let Rows::Values(rows) = &insert.rows else {
        return vec![];
    };
    let columns: Vec<&String> = match insert.columns.as_slice() {
        [] => {
            let stored = table.columns.iter().filter(|c| c.generated.is_none());
            stored.map(|column| &column.name).collect()
        }
        named => named.iter().collect(),
    };
    let keys = table.keys();
    let of_row = |row: &'a Vec<Option<Expression>>| {
        let value = |name: &String| {
            let at = columns.iter().position(|column| *column == name)?;
            row.get(at)?.as_ref()
        };
        let keys = keys.iter().map(|key| key.iter().map(value).collect());
        keys.collect()
    };
    rows.iter().map(of_row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::theirs::Reply;
    use super::*;
    use hushdb_querygen::{Change, Column, ColumnType};

    fn value(text: &str) -> Option<Expression> {
        let value = match text {
            "NULL" => Value::Null,
            "DEFAULT" => return None,
            text => Value::Text(text.to_owned()),
        };
        Some(Expression::literal(ColumnType::Integer, value))
    }

    fn table(constraints: &[&'static str]) -> Table {
        let columns = constraints.iter().enumerate();
        let columns = columns.map(|(n, constraint)| Column {
            constraint,
            ..Column::new(&format!("c{n}"), ColumnType::Integer)
        });
        Table {
            name: "t0".to_owned(),
            columns: columns.collect(),
            rules: vec![],
            rows: vec![],
        }
    }

    /// The excuse for an INSERT of rows into the table.
    fn excuse(
        (instead, rows): (&'static str, &[&[&str]]),
        table: &Table,
        (ours, theirs): (&Outcome, &Answer),
    ) -> Option<&'static str> {
        let row = |row: &&[&str]| row.iter().map(|text| value(text)).collect();
        let insert = Insert {
            instead,
            columns: vec![],
            rows: Rows::Values(rows.iter().map(row).collect()),
            conflict: None,
        };
        let change = change(Action::Insert(Box::new(insert)));
        excuse_of((&change, table), &[], (ours, &Ok(theirs.clone())))
    }

    fn change(action: Action) -> Change {
        Change {
            table: "t0".to_owned(),
            alias: None,
            action,
            partner: None,
            filter: None,
            returns_all: true,
            returning: vec![],
        }
    }

    fn excuse_of(
        (change, table): (&Change, &Table),
        touched: &[String],
        (ours, theirs): (&Outcome, &Reply),
    ) -> Option<&'static str> {
        let sql = change.to_string();
        let seen = Seen {
            change: Some((change, table)),
            touched,
            ..Seen::of(&sql, ours, theirs)
        };
        let excuse = EXCUSES.iter().find(|excuse| (excuse.applies)(&seen));
        excuse.map(|excuse| excuse.name)
    }

    #[test]
    fn foreign_keys_of_rows_that_are_taken_away_or_changed_are_excused() {
        let error = |text: &str| {
            Err(format!(
                "Constraint Error: Violates foreign key constraint because key \"c0: 1\" {text}"
            ))
        };
        let named = error("is still referenced by a foreign key in a different table");
        let ours = Outcome::Rows(answer(&["1"]));
        let plain = table(&[""]);
        let touched = ["t1".to_owned()];
        let found = |action, touched: &[String], theirs: &Reply| {
            excuse_of((&change(action), &plain), touched, (&ours, theirs)).is_some()
        };
        assert!(found(Action::Update(vec![]), &[], &named));
        assert!(found(Action::Delete, &touched, &named));
        assert!(!found(Action::Delete, &[], &named));
        assert!(!found(Action::Delete, &["t0".to_owned()], &named));
        let unknown = error("does not exist in the referenced table");
        assert!(!found(Action::Update(vec![]), &touched, &unknown));

        let text =
            "Violates foreign key constraint because a key does not exist in the referenced table";
        let ours = Outcome::Error(ErrorKind::Constraint, text.to_owned());
        let child = Table {
            rules: vec![Rule::References("c0".into(), "t1".into(), "c0".into())],
            ..table(&[""])
        };
        let found = |table, touched: &[String]| {
            let change = change(Action::Update(vec![]));
            excuse_of((&change, table), touched, (&ours, &Ok(answer(&["1"])))).is_some()
        };
        assert!(found(&child, &touched));
        assert!(!found(&child, &[]) && !found(&plain, &touched));
        assert!(!found(&child, &["t2".to_owned()]));
    }

    fn answer(rows: &[&str]) -> Answer {
        Answer {
            names: vec!["c0".to_owned()],
            types: vec!["INTEGER".to_owned()],
            rows: rows
                .iter()
                .map(|row| vec![Some((*row).to_owned())])
                .collect(),
        }
    }

    #[test]
    fn nulls_of_unique_columns_excuse_the_rows_that_are_dropped_alone() {
        let (unique, plain) = (table(&["UNIQUE"]), table(&[""]));
        let ours = |rows: &[&str]| Outcome::Rows(answer(rows));
        let nulls: &[&[&str]] = &[&["NULL"], &["1"], &["DEFAULT"]];
        let one: &[&[&str]] = &[&["NULL"], &["1"]];
        let found = |insert, table, left: &[&str], right: &[&str]| {
            excuse(insert, table, (&ours(left), &answer(right))).is_some()
        };
        assert!(found(
            ("OR IGNORE", nulls),
            &unique,
            &["a", "b", "c"],
            &["a", "b"]
        ));
        assert!(!found(
            ("OR IGNORE", nulls),
            &unique,
            &["a", "b", "c"],
            &["a"]
        ));
        assert!(!found(
            ("OR IGNORE", nulls),
            &unique,
            &["a", "b", "c"],
            &["a", "d"]
        ));
        assert!(!found(("OR IGNORE", nulls), &unique, &["a"], &["a", "b"]));
        assert!(!found(
            ("OR IGNORE", nulls),
            &plain,
            &["a", "b", "c"],
            &["a", "b"]
        ));
        assert!(!found(("OR IGNORE", one), &unique, &["a", "b"], &["a"]));
        assert!(!found(("", nulls), &unique, &["a", "b", "c"], &["a", "b"]));
        let broken = Outcome::Error(ErrorKind::Constraint, String::new());
        let found = |rows| excuse(("OR IGNORE", rows), &unique, (&broken, &answer(&["a"])));
        assert!(found(nulls).is_some() && found(one).is_none());
    }

    #[test]
    fn rows_with_keys_of_rows_that_are_kept_out_are_excused() {
        let two = table(&["PRIMARY KEY", "UNIQUE"]);
        let ours = Outcome::Rows(answer(&["a", "b"]));
        let twice: &[&[&str]] = &[&["1", "5"], &["2", "5"], &["2", "6"]];
        let once: &[&[&str]] = &[&["1", "5"], &["2", "4"], &["3", "6"]];
        let found = |instead, rows, table: &Table| {
            excuse((instead, rows), table, (&ours, &answer(&["a"]))).is_some()
        };
        assert!(found("OR IGNORE", twice, &two));
        assert!(!found("OR IGNORE", once, &two));
        assert!(!found("OR REPLACE", twice, &two));
        assert!(!found("OR IGNORE", twice, &table(&["PRIMARY KEY", ""])));
    }

    #[test]
    fn replaced_rows_are_excused_where_all_columns_are_of_the_key() {
        let ours = Outcome::Rows(answer(&["1"]));
        let rows: &[&[&str]] = &[&["1", "2"]];
        let found = |instead, constraints: &[&'static str]| {
            excuse(
                (instead, rows),
                &table(constraints),
                (&ours, &answer(&["0"])),
            )
            .is_some()
        };
        assert!(found("OR REPLACE", &["PRIMARY KEY"]));
        assert!(!found("OR REPLACE", &["PRIMARY KEY", ""]));
        assert!(!found("OR IGNORE", &["PRIMARY KEY"]));
    }
}
