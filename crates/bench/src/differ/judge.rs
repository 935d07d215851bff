//! What is said of two outcomes of one statement, and what excuses a difference.

use super::changes;
use super::run_statement::Outcome;
use super::seen::{Excuse, Seen, both, other_rows_alone, same_columns, same_names};
use super::shapes::{
    compares_date_trunc, compares_try_cast, has_subquery_between_null, reduces_by_column,
};
use hushdb::ErrorKind;
use hushdb_querygen::Answer;

/// What is said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Same,
    BothFail,
    /// HushDB says by name that it does not do it.
    Refused,
    Excused(&'static str),
    Failure(&'static str),
}

/// The excuses. Each stands in docs/DIFFERENCES.md, with the reason.
pub(super) const EXCUSES: [Excuse; 20] = [
    Excuse {
        name: "not there in DuckDB",
        applies: |seen| {
            let is_missing = |error: &String| is_missing(error);
            matches!(seen.ours, Outcome::Rows(_)) && seen.theirs.as_ref().is_err_and(is_missing)
        },
    },
    Excuse {
        name: "type of NULL || x, list_sort and list_distinct of NULL",
        applies: |seen| {
            let is_null = |answer: &Answer, at: usize| {
                // Also within a list.
                let is_null =
                    |text: &str| text.replace("NULL", "").trim_matches(['[', ']']).is_empty();
                let mut rows = answer.rows.iter().map(|row| row[at].as_deref());
                rows.all(|value| value.is_none_or(is_null))
            };
            let called = ["||", "list_sort(", "list_reverse_sort(", "list_distinct("];
            let of_null = called.iter().any(|name| seen.sql.contains(name))
                && both(seen).is_some_and(|(ours, theirs)| {
                    let mut types = ours.types.iter().zip(&theirs.types).enumerate();
                    types.all(|(at, (one, other))| {
                        one == other || other.starts_with("INTEGER") && is_null(ours, at)
                    }) && same_rows(seen, ours, theirs)
                });
            of_null || takes_null_for_integer(seen)
        },
    },
    Excuse {
        name: "columns of a result that have one name",
        applies: |seen| {
            both(seen).is_some_and(|(ours, theirs)| {
                same_names(ours, theirs)
                    && ours.types == theirs.types
                    && same_rows(seen, ours, theirs)
            })
        },
    },
    Excuse {
        name: "DuckDB's internal error",
        applies: |seen| {
            // It makes BETWEEN of two comparisons, also of lists, of which it has none.
            let is_own = |error: &String| error.ends_with(": Invalid type for BETWEEN");
            let theirs = seen.theirs.as_ref();
            theirs.is_err_and(|error| is_fatal(error) || is_own(error))
        },
    },
    Excuse {
        name: "order of evaluation",
        applies: evaluation_order,
    },
    Excuse {
        name: "TRY_CAST that is compared",
        applies: |seen| other_rows_alone(seen) && compares_try_cast(seen.sql),
    },
    Excuse {
        name: "a correlated subquery BETWEEN NULL",
        applies: |seen| other_rows_alone(seen) && has_subquery_between_null(seen.sql),
    },
    Excuse {
        name: "date_trunc of NULL beside a constant",
        applies: |seen| other_rows_alone(seen) && compares_date_trunc(seen.sql),
    },
    Excuse {
        name: "292 years of hours in an interval",
        applies: |seen| match (seen.ours, seen.theirs) {
            (Outcome::Error(ErrorKind::OutOfRange, text), Ok(theirs)) => {
                text.contains("Interval value is out of range")
                    && theirs.types.iter().all(|ty| ty == "INTERVAL")
            }
            _ => false,
        },
    },
    Excuse {
        name: "NULL where DuckDB asks for a CAST",
        applies: |seen| match (seen.ours, seen.theirs) {
            (Outcome::Rows(ours), Err(theirs)) => {
                let asks = [
                    "Could not choose a best candidate function",
                    "Unimplemented type for cast (INTEGER -> \"NULL\")",
                ];
                asks.iter().any(|asks| theirs.contains(asks))
                    && ours.rows.iter().flatten().all(Option::is_none)
            }
            _ => false,
        },
    },
    Excuse {
        name: "columns of an outer query in a lambda",
        applies: |seen| {
            let is_unknown = |error: &String| {
                let error = error.strip_prefix("Binder Error: ").unwrap_or_default();
                let within = error.strip_prefix("failed to bind function, either: ");
                let error = within.unwrap_or(error);
                error.starts_with("Referenced ") && error.contains(" not found")
            };
            let has_lambda = [" -> ", " FOR v"]
                .iter()
                .any(|mark| seen.sql.contains(mark));
            has_lambda
                && matches!(seen.ours, Outcome::Rows(_))
                && seen.theirs.as_ref().is_err_and(is_unknown)
        },
    },
    Excuse {
        name: "names of struct_pack that DuckDB loses",
        applies: |seen| {
            let loses = |error: &String| error.contains("Need named argument for struct pack");
            seen.sql.contains("struct_pack(")
                && matches!(seen.ours, Outcome::Rows(_))
                && seen.theirs.as_ref().is_err_and(loses)
        },
    },
    Excuse {
        name: "order of list_distinct",
        applies: |seen| {
            let called = ["list_distinct(", "array_distinct("];
            called.iter().any(|name| seen.sql.contains(name)) && same_items(seen)
        },
    },
    Excuse {
        name: "order of what arg_max and arg_min find under one key",
        applies: |seen| {
            let called = ["arg_max", "arg_min", "max_by(", "min_by("];
            called.iter().any(|name| seen.sql.contains(name)) && same_items(seen)
        },
    },
    Excuse {
        name: "a column in the lambda of list_reduce",
        applies: |seen| other_rows_alone(seen) && reduces_by_column(seen.sql),
    },
    Excuse {
        name: "a share that is not a number",
        applies: |seen| match seen.ours {
            Outcome::Error(_, text) => {
                seen.sql.contains("'nan'")
                    && text.contains("can only take parameters in range [0, 1]")
                    && seen.theirs.is_ok()
            }
            _ => false,
        },
    },
    Excuse {
        name: "limits of DuckDB's aggregates",
        applies: |seen| {
            let ends = [
                "n value must be < 1000000",
                "is too large for bitstring aggregation",
            ];
            let is_limit = |error: &String| ends.iter().any(|end| error.ends_with(end));
            match (seen.ours, seen.theirs) {
                (Outcome::Rows(_), Err(theirs)) => is_limit(theirs),
                // It looks at the number where a row counts.
                (Outcome::Error(_, ours), Ok(theirs)) => {
                    ours.ends_with("n value must be > 0")
                        && theirs.rows.iter().flatten().all(Option::is_none)
                }
                _ => false,
            }
        },
    },
    Excuse {
        name: "round ends of bins beyond all numbers",
        applies: |seen| {
            let is_nan = |value: &Option<String>| value.as_ref().is_some_and(|v| v.contains("nan"));
            let mut theirs = seen.theirs.iter().flat_map(|answer| &answer.rows).flatten();
            seen.sql.contains("equi_width_bins(")
                && seen.sql.contains("'1e308'")
                && theirs.any(is_nan)
                && other_rows_alone(seen)
        },
    },
    Excuse {
        name: "upper of ß",
        applies: |seen| {
            both(seen).is_some_and(|(ours, theirs)| {
                let full =
                    |text: &Option<String>| text.as_ref().map(|text| text.replace('ẞ', "SS"));
                let full_row = |row: &Vec<Option<String>>| row.iter().map(full).collect();
                let theirs = Answer {
                    rows: theirs.rows.iter().map(full_row).collect(),
                    ..theirs.clone()
                };
                let called = ["upper(", "ucase("];
                called.iter().any(|name| seen.sql.contains(name))
                    && same_columns(ours, &theirs)
                    && ours.same_rows(&theirs)
            })
        },
    },
    Excuse {
        name: "round past the end of an integer",
        applies: |seen| match (seen.ours, seen.theirs) {
            (Outcome::Error(ErrorKind::OutOfRange, text), Ok(theirs)) => {
                seen.sql.contains("round(")
                    && text.contains("Overflow in round")
                    && theirs
                        .types
                        .iter()
                        .all(|ty| ty.ends_with("INT") || ty == "INTEGER")
            }
            _ => false,
        },
    },
];

/// After such an error of DuckDB's, its database answers nothing more.
pub(super) fn is_fatal(error: &str) -> bool {
    error.starts_with("INTERNAL Error") || error.starts_with("FATAL Error")
}

/// Whether it says that DuckDB does not do something yet.
pub(super) fn is_missing(error: &str) -> bool {
    let ends = [
        "not yet supported.",
        "not supported in returning statements",
        "contains a subquery, which isn't allowed",
    ];
    let starts = [
        "Not implemented Error",
        "Binder Error: DEFAULT value cannot contain ",
        "Binder Error: DO UPDATE SET clause cannot contain a subquery",
        "Parser Error: subqueries prohibited in CHECK constraints",
    ];
    starts.iter().any(|start| error.starts_with(start))
        || ends.iter().any(|end| error.ends_with(end))
}

/// DuckDB refuses a NULL of another type where it is written, since it has taken it for an INTEGER.
fn takes_null_for_integer(seen: &Seen<'_>) -> bool {
    let written = ["CAST(NULL AS VARCHAR) || ", " || CAST(NULL AS VARCHAR)"];
    let refuses = |error: &String| {
        error.starts_with("Binder Error: UNNEST requires a single list")
            || error.starts_with("Binder Error: Cannot compare values of type ")
                && error.contains(" type INTEGER ")
    };
    // A function of NULL is NULL to it as well.
    let sorts = ["list_sort(", "list_reverse_sort(", "list_distinct("];
    let sorts_null =
        sorts.iter().any(|name| seen.sql.contains(name)) && seen.sql.contains("(CAST(NULL AS ");
    (sorts_null || written.iter().any(|written| seen.sql.contains(written)))
        && matches!(seen.ours, Outcome::Rows(_))
        && seen.theirs.as_ref().is_err_and(refuses)
}

/// One list in each, with the same items.
fn same_items(seen: &Seen<'_>) -> bool {
    let items = |answer: &Answer| match answer.rows.as_slice() {
        [row] => row.first().cloned().flatten().map(|list| {
            let mut items: Vec<_> = list
                .trim_matches(['[', ']'])
                .split(", ")
                .map(str::to_owned)
                .collect();
            items.sort();
            items
        }),
        _ => None,
    };
    both(seen).is_some_and(|(ours, theirs)| {
        same_columns(ours, theirs) && items(ours).is_some() && items(ours) == items(theirs)
    })
}

fn same_rows(seen: &Seen<'_>, ours: &Answer, theirs: &Answer) -> bool {
    match seen.ordered {
        true => ours.same_order(theirs),
        false => ours.same_rows(theirs),
    }
}

/// Words after which an expression may be evaluated for more rows than are asked for, or for fewer.
const CHOOSING: [&str; 17] = [
    " WHERE ",
    "(WHERE ",
    "CASE ",
    "COALESCE",
    "NULLIF",
    " AND ",
    " OR ",
    " JOIN ",
    " LIMIT ",
    " HAVING ",
    "(SELECT ",
    " IN (",
    // What is counted may be known not to be NULL, and what stands beside NULL not to matter.
    "count(",
    "(NULL AS ",
    ", NULL)",
    // Of a MERGE, and of rows that meet keys.
    " WHEN ",
    " ON CONFLICT ",
];

/// An error that a value caused comes in one of the two alone, and the statement leaves open for which rows is evaluated what.
fn evaluation_order(seen: &Seen<'_>) -> bool {
    let chooses = CHOOSING.iter().any(|word| seen.sql.contains(word));
    chooses
        && match (seen.ours, seen.theirs) {
            (Outcome::Rows(_), Err(theirs)) => value_error(theirs),
            (Outcome::Error(kind, _), Ok(_)) => matches!(
                kind,
                ErrorKind::OutOfRange | ErrorKind::Conversion | ErrorKind::InvalidInput
            ),
            _ => false,
        }
}

fn value_error(theirs: &str) -> bool {
    let kinds = [
        "Conversion Error",
        "Out of Range Error",
        "Invalid Input Error",
    ];
    kinds.iter().any(|kind| theirs.starts_with(kind))
}

/// The verdict.
pub(super) fn judge(seen: &Seen<'_>) -> Verdict {
    let verdict = match (seen.ours, seen.theirs) {
        (Outcome::Panic(_), _) => return Verdict::Failure("panic"),
        (Outcome::Error(ErrorKind::Internal, _), _) => return Verdict::Failure("internal error"),
        (Outcome::Error(..), Err(_)) => return Verdict::BothFail,
        (Outcome::Error(ErrorKind::Unsupported, _), Ok(_)) => return Verdict::Refused,
        (Outcome::Rows(ours), Ok(theirs)) => match same_rows(seen, ours, theirs) {
            false => Verdict::Failure("other rows"),
            true if ours.types != theirs.types => Verdict::Failure("other types"),
            true if ours.names != theirs.names => Verdict::Failure("other names"),
            true => return Verdict::Same,
        },
        (Outcome::Error(..), Ok(_)) => Verdict::Failure("an error where DuckDB has an answer"),
        (Outcome::Rows(_), Err(_)) => Verdict::Failure("an answer where DuckDB has an error"),
    };
    let mut excuses = EXCUSES.iter().chain(&changes::EXCUSES);
    let excuse = excuses.find(|excuse| (excuse.applies)(seen));
    excuse.map_or(verdict, |excuse| Verdict::Excused(excuse.name))
}

#[cfg(test)]
mod tests {
    use super::super::theirs::Reply;
    use super::*;

    fn answer(ty: &str, values: &[&str]) -> Answer {
        Answer {
            names: vec!["x".to_owned()],
            types: vec![ty.to_owned()],
            rows: values.iter().map(|v| vec![Some((*v).to_owned())]).collect(),
        }
    }

    fn named(names: &[&str]) -> Answer {
        Answer {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            types: vec!["INTEGER".to_owned(); names.len()],
            rows: vec![vec![Some("1".to_owned()); names.len()]],
        }
    }

    fn verdict(sql: &str, ours: Outcome, theirs: Reply) -> Verdict {
        judge(&Seen {
            ordered: sql.contains("ORDER BY"),
            ..Seen::of(sql, &ours, &theirs)
        })
    }

    #[test]
    fn differences_are_failures_unless_a_rule_excuses_them() {
        let rows = |ty, values: &[&str]| Outcome::Rows(answer(ty, values));
        let error = |kind| Outcome::Error(kind, String::new());
        let two = || Ok(answer("INTEGER", &["1", "2"]));
        let one = || Ok(answer("INTEGER", &["1"]));
        let plain = "SELECT x FROM t";
        assert_eq!(
            verdict(plain, rows("INTEGER", &["2", "1"]), two()),
            Verdict::Same
        );
        for (sql, ours, theirs) in [
            (
                "SELECT x FROM t ORDER BY x",
                rows("INTEGER", &["2", "1"]),
                two(),
            ),
            (plain, rows("INTEGER", &["2"]), one()),
            (plain, rows("BIGINT", &["1"]), one()),
            (plain, error(ErrorKind::Conversion), one()),
            (
                plain,
                error(ErrorKind::Internal),
                Err("Binder Error".to_owned()),
            ),
            (
                plain,
                rows("INTEGER", &["1"]),
                Err("Binder Error: no".to_owned()),
            ),
            (plain, Outcome::Panic(String::new()), one()),
            (
                plain,
                rows("DECIMAL(38,0)", &["1"]),
                Ok(answer("HUGEINT", &["1"])),
            ),
            (
                "SELECT list_distinct([3, 1]) AS x",
                rows("INTEGER[]", &["[3, 2]"]),
                Ok(answer("INTEGER[]", &["[1, 3]"])),
            ),
            (
                "SELECT upper(x) AS x FROM t",
                rows("BIGINT", &["1"]),
                Ok(answer("INTEGER", &["1"])),
            ),
            (
                "SELECT date_trunc('a', NULL) AS x",
                rows("TIMESTAMP", &["1"]),
                Err("Binder Error: Could not choose a best candidate function".to_owned()),
            ),
        ] {
            let found = verdict(sql, ours, theirs);
            assert!(matches!(found, Verdict::Failure(_)), "{found:?}");
        }
        let filtered = "SELECT x FROM t WHERE x > 1";
        for (sql, ours, theirs) in [
            (filtered, error(ErrorKind::Conversion), one()),
            (
                filtered,
                rows("INTEGER", &["1"]),
                Err("Out of Range Error: x".to_owned()),
            ),
            (
                "SELECT list_distinct([3, 1]) AS x",
                rows("INTEGER[]", &["[3, 1]"]),
                Ok(answer("INTEGER[]", &["[1, 3]"])),
            ),
            (
                "SELECT upper('ß') AS x",
                rows("VARCHAR", &["SS"]),
                Ok(answer("VARCHAR", &["ẞ"])),
            ),
            (
                "SELECT round(127::TINYINT, -1) AS x",
                Outcome::Error(ErrorKind::OutOfRange, "Overflow in round: no".to_owned()),
                Ok(answer("TINYINT", &["-126"])),
            ),
        ] {
            let found = verdict(sql, ours, theirs);
            assert!(matches!(found, Verdict::Excused(_)), "{found:?}");
        }
    }

    #[test]
    fn a_second_column_of_one_name_may_have_its_own() {
        let seen = |theirs: &[&str]| {
            let ours = Outcome::Rows(named(&["x", "x_1"]));
            verdict("SELECT x, x FROM t", ours, Ok(named(theirs)))
        };
        assert!(matches!(seen(&["x", "x"]), Verdict::Excused(_)));
        assert!(matches!(seen(&["x", "y"]), Verdict::Failure(_)));
    }

    #[test]
    fn a_lambda_may_name_columns_of_an_outer_query() {
        let seen = |sql, error: &str| {
            let ours = Outcome::Rows(answer("INTEGER", &["1"]));
            verdict(sql, ours, Err(error.to_owned()))
        };
        let (with, without) = (
            "SELECT (SELECT list_filter([1], v -> (v = t.x))) AS x FROM t",
            "SELECT (SELECT t.x AS y) AS x FROM t",
        );
        let unknown = "Binder Error: Referenced table \"t\" not found!";
        assert!(matches!(seen(with, unknown), Verdict::Excused(_)));
        assert!(matches!(seen(without, unknown), Verdict::Failure(_)));
        assert!(matches!(
            seen(with, "Binder Error: no"),
            Verdict::Failure(_)
        ));
    }

    #[test]
    fn defects_of_duckdb_are_excused_by_their_shape() {
        let seen = |sql| {
            let ours = Outcome::Rows(answer("INTEGER", &["1"]));
            verdict(sql, ours, Ok(answer("INTEGER", &["1", "2"])))
        };
        for sql in [
            "SELECT 1 AS x FROM o WHERE ((SELECT v FROM i WHERE (i.a = o.a)) NOT BETWEEN CAST(NULL AS INTEGER) AND 2)",
            "SELECT 1 AS x FROM o WHERE (abs((SELECT v FROM i WHERE (i.a = o.a))) BETWEEN 2 AND CAST(NULL AS INTEGER))",
            "SELECT 1 AS x FROM t WHERE (date_trunc('month', (SELECT t.d AS d)) <> CAST('2020-01-02' AS TIMESTAMP))",
            "SELECT 1 AS x FROM t WHERE (CAST('2020-01-02' AS TIMESTAMP) = date_trunc('month', t.d))",
            "SELECT 1 AS x FROM t WHERE (date_trunc('month', t.d) <> (CAST('2020-01-02' AS TIMESTAMP) + CAST('1 day' AS INTERVAL)))",
            "SELECT list_reduce(t0.c0, (v1, v2) -> (v1 + len(t0.c1)), 3) AS x",
            "SELECT 1 AS x FROM t WHERE (TRY_CAST(t.c AS INTEGER) NOT BETWEEN 1 AND 1)",
            "SELECT (2 > TRY_CAST((t.c + 1) AS UTINYINT)) AS x FROM t",
            "SELECT (TRY_CAST(t.c AS BIGINT) IS NOT DISTINCT FROM CAST(NULL AS BIGINT)) AS x FROM t",
        ] {
            assert!(matches!(seen(sql), Verdict::Excused(_)), "{sql}");
        }
        for sql in [
            "SELECT ((SELECT 1) BETWEEN 0 AND 2 OR CAST(NULL AS BOOLEAN)) AS x",
            "SELECT (x BETWEEN CAST(NULL AS INTEGER) AND 2) AS x FROM (SELECT 1 AS x)",
            "SELECT date_trunc('month', x) AS x FROM t WHERE (x = CAST('1' AS TIMESTAMP))",
            "SELECT (date_trunc('month', x) = y) AS x FROM t",
            "SELECT list_reduce(t0.c0, (v1, v2) -> log10((v1 + len('c0'))), t0.c1) AS x",
            "SELECT TRY_CAST(t.c AS INTEGER) AS x FROM t WHERE (t.c IN (1, 2))",
            "SELECT (TRY_CAST(t.c AS DATE) = t.d) AS x FROM t",
        ] {
            assert!(matches!(seen(sql), Verdict::Failure(_)), "{sql}");
        }
    }

    #[test]
    fn a_null_that_is_taken_for_an_integer_is_excused_where_it_is_written() {
        let seen = |sql, error: &str| {
            let ours = Outcome::Rows(answer("INTEGER", &["1"]));
            verdict(sql, ours, Err(error.to_owned()))
        };
        let (unnest, compare) = (
            "Binder Error: UNNEST requires a single list as input",
            "Binder Error: Cannot compare values of type INTEGER and type VARCHAR - an explicit cast is required",
        );
        let sorted =
            "SELECT i FROM (SELECT list_sort(CAST(NULL AS INTEGER[])) AS l), unnest(l) AS w(i)";
        let joined =
            "SELECT 1 AS x FROM (SELECT (CAST(NULL AS VARCHAR) || 'a') AS a) JOIN t ON (a < t.c)";
        assert!(matches!(seen(sorted, unnest), Verdict::Excused(_)));
        assert!(matches!(seen(joined, compare), Verdict::Excused(_)));
        let plain = "SELECT 1 AS x FROM (SELECT (t.c || 'a') AS a FROM t) WHERE (a < t.c)";
        assert!(matches!(seen(plain, compare), Verdict::Failure(_)));
        assert!(matches!(
            seen(sorted, "Binder Error: no"),
            Verdict::Failure(_)
        ));
    }

    fn counted(count: &str) -> Answer {
        Answer {
            names: vec!["Count".to_owned()],
            types: vec!["BIGINT".to_owned()],
            rows: vec![vec![Some(count.to_owned())]],
        }
    }

    #[test]
    fn what_is_meant_of_changes_is_excused_and_all_else_fails() {
        let rows = |count| Outcome::Rows(counted(count));
        let seen = |sql, ours, theirs| verdict(sql, rows(ours), Ok(counted(theirs)));
        let twice =
            "ON CONFLICT DO UPDATE can not update the same row twice in the same command: x";
        let twice = || Outcome::Error(ErrorKind::InvalidInput, twice.to_owned());
        let replacing = "INSERT OR REPLACE INTO t0 VALUES (1), (1)";
        let found = verdict(replacing, twice(), Ok(counted("1")));
        assert!(matches!(found, Verdict::Excused(_)));
        let found = verdict("UPDATE t0 SET c0 = 1", twice(), Ok(counted("1")));
        assert!(matches!(found, Verdict::Failure(_)));

        let merge = "MERGE INTO t0 USING t1 AS r ON (t0.c0 = r.c0) WHEN NOT MATCHED BY SOURCE THEN UPDATE SET c1 = 1";
        let returning = format!("{merge} RETURNING *");
        assert!(matches!(seen(&returning, "1", "2"), Verdict::Excused(_)));
        assert!(matches!(seen(merge, "1", "2"), Verdict::Failure(_)));

        let error = |error: &str| Err(error.to_owned());
        let unknown = "Binder Error: Table \"t0\" does not have a column named \"v1\"";
        let listed =
            "INSERT INTO t0 VALUES (1) ON CONFLICT DO UPDATE SET c0 = [v1 FOR v1 IN t0.c0 IF true]";
        let found = verdict(listed, rows("1"), error(unknown));
        assert!(matches!(found, Verdict::Excused(_)));
        let found = verdict(&listed.replace(" IF ", " "), rows("1"), error(unknown));
        assert!(matches!(found, Verdict::Failure(_)));
        let misses = "Binder Error: Missing ASOF JOIN inequality";
        let joined = "SELECT 1 AS x FROM t0 ASOF JOIN t1 ON (t0.g0 < t1.c0)";
        let constant = format!("{joined} -- CREATE TABLE t0 (g0 INTEGER GENERATED ALWAYS AS (1))");
        let found = verdict(&constant, rows("1"), error(misses));
        assert!(matches!(found, Verdict::Excused(_)));
        let found = verdict(joined, rows("1"), error(misses));
        assert!(matches!(found, Verdict::Failure(_)));

        let overflow = || Outcome::Error(ErrorKind::OutOfRange, String::new());
        let generated = "UPDATE t0 SET c0 = 1 -- CREATE TABLE t0 (c0 INTEGER, g0 INTEGER GENERATED ALWAYS AS ((c0 + 1)))";
        let found = verdict(generated, overflow(), Ok(counted("1")));
        assert!(matches!(found, Verdict::Excused(_)));
        let found = verdict("UPDATE t0 SET c0 = 1", overflow(), Ok(counted("1")));
        assert!(matches!(found, Verdict::Failure(_)));
    }
}
