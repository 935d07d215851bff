//! Every function that DuckDB lists, with arguments at the borders of their types.

use super::judge::Verdict;
use super::{Differ, Plan, Seen, judge, shown_outcome, shown_reply};
use crate::failure::Result;
use hushdb_querygen::Dice;

use super::run_statement::Outcome;

/// Calls of each function, at most.
const CALLS: u64 = 24;

/// Types of parameters, and arguments at their borders. `ANY` and `T` take any.
const ARGUMENTS: [(&str, &[&str]); 22] = [
    ("BOOLEAN", &["true", "false"]),
    (
        "TINYINT",
        &["0::TINYINT", "(-128)::TINYINT", "127::TINYINT"],
    ),
    (
        "SMALLINT",
        &["0::SMALLINT", "(-32768)::SMALLINT", "3::SMALLINT"],
    ),
    (
        "INTEGER",
        &["0", "1", "-1", "3", "2147483647", "(-2147483648)::INTEGER"],
    ),
    (
        "BIGINT",
        &[
            "0::BIGINT",
            "1::BIGINT",
            "-1::BIGINT",
            "2::BIGINT",
            "9223372036854775807::BIGINT",
        ],
    ),
    ("UTINYINT", &["0::UTINYINT", "255::UTINYINT"]),
    (
        "UBIGINT",
        &["0::UBIGINT", "'18446744073709551615'::UBIGINT"],
    ),
    ("FLOAT", &["0::FLOAT", "'1.5'::FLOAT", "'nan'::FLOAT"]),
    (
        "DOUBLE",
        &[
            "0::DOUBLE",
            "1::DOUBLE",
            "'-1.5'::DOUBLE",
            "'0.5'::DOUBLE",
            "'nan'::DOUBLE",
            "'inf'::DOUBLE",
            "'1e308'::DOUBLE",
        ],
    ),
    (
        "DECIMAL",
        &[
            "0.00::DECIMAL(9,2)",
            "1.25::DECIMAL(9,2)",
            "(-2.50)::DECIMAL(9,2)",
        ],
    ),
    (
        "VARCHAR",
        &[
            "''",
            "'a'",
            "'abc'",
            "'Äß😀'",
            "'a,b'",
            "'%'",
            "' x '",
            "'1'",
        ],
    ),
    ("BLOB", &["''::BLOB", "'\\x00a'::BLOB", "'abc'::BLOB"]),
    (
        "DATE",
        &[
            "DATE '1970-01-01'",
            "DATE '2024-02-29'",
            "DATE '1969-12-31'",
            "DATE '0001-01-01'",
        ],
    ),
    ("TIME", &["TIME '00:00:00'", "TIME '23:59:59.999999'"]),
    (
        "TIMESTAMP",
        &[
            "TIMESTAMP '1970-01-01 00:00:00'",
            "TIMESTAMP '2024-02-29 12:34:56.789123'",
            "TIMESTAMP '1969-12-31 23:59:59.999999'",
        ],
    ),
    (
        "INTERVAL",
        &[
            "INTERVAL 1 DAY",
            "INTERVAL '-1 month'",
            "INTERVAL '1 year 2 days 03:04:05.6'",
        ],
    ),
    ("UUID", &["'12345678-9abc-def0-1234-56789abcdef0'::UUID"]),
    ("INTEGER[]", &["[]::INTEGER[]", "[1]", "[3, NULL, 1, 3]"]),
    (
        "BIGINT[]",
        &["[]::BIGINT[]", "[1::BIGINT]", "[2, NULL, 1]::BIGINT[]"],
    ),
    (
        "DOUBLE[]",
        &["[]::DOUBLE[]", "[1.5, 2]::DOUBLE[]", "[0, NULL]::DOUBLE[]"],
    ),
    ("VARCHAR[]", &["[]::VARCHAR[]", "['a', NULL, 'b']", "['']"]),
    ("STRUCT", &["{'a': 1, 'b': 'x'}", "{'a': NULL}"]),
];

/// Functions of which two engines may say different things: where they run, what is set, and how plans look.
const LEFT_OUT: [&str; 8] = [
    "version",
    "hash",
    "approx_count_distinct",
    "reservoir_quantile",
    "current_",
    "pg_",
    "icu_",
    "write_log",
];

/// Functions whose answer is as long as an argument says: no large numbers for them.
const AS_LONG_AS_SAID: [&str; 8] = [
    "repeat",
    "lpad",
    "rpad",
    "range",
    "generate_series",
    "list_resize",
    "array_resize",
    "bar",
];

/// Tries each function with some arguments of each of its lists of parameters.
pub(super) fn try_all(differ: &mut Differ, plan: &Plan) -> Result<()> {
    let mut dice = Dice::new(plan.seed);
    for (name, kind, types) in differ.theirs.functions()? {
        if LEFT_OUT.iter().any(|left_out| name.starts_with(left_out)) {
            continue;
        }
        let lists: Option<Vec<&[&str]>> = types.iter().map(|ty| arguments(ty, &mut dice)).collect();
        let Some(lists) = lists else { continue };
        let all: u64 = lists.iter().map(|list| list.len() as u64 + 1).product();
        for _ in 0..all.min(CALLS) {
            let chosen: Vec<String> = lists.iter().map(|list| argument(list, &mut dice)).collect();
            let large = |text: &String| text.contains("2147483") || text.contains("92233720");
            if AS_LONG_AS_SAID.contains(&name.as_str()) && chosen.iter().any(large) {
                continue;
            }
            if !one(differ, &name, &kind, &chosen)? {
                break;
            }
        }
    }
    Ok(())
}

fn arguments(ty: &str, dice: &mut Dice) -> Option<&'static [&'static str]> {
    let ty = match ty {
        "ANY" | "T" | "NULL" => *dice.pick(&["INTEGER", "VARCHAR", "DOUBLE"]),
        "ANY[]" | "T[]" => "INTEGER[]",
        _ if ty.starts_with("DECIMAL") => "DECIMAL",
        _ if ty.starts_with("STRUCT") => "STRUCT",
        ty => ty,
    };
    let found = ARGUMENTS.iter().find(|(name, _)| *name == ty);
    found.map(|(_, arguments)| *arguments)
}

fn argument(list: &[&str], dice: &mut Dice) -> String {
    match dice.chance(8) {
        true => "NULL".to_owned(),
        false => (*dice.pick(list)).to_owned(),
    }
}

/// One call. False when the function need not be tried again.
fn one(differ: &mut Differ, name: &str, kind: &str, chosen: &[String]) -> Result<bool> {
    let sql = match (kind, chosen) {
        ("aggregate", [first, rest @ ..]) => {
            let rest: String = rest.iter().map(|one| format!(", {one}")).collect();
            format!("SELECT {name}(v{rest}) AS x FROM (VALUES ({first}), (NULL), ({first})) t(v)")
        }
        _ => format!("SELECT {name}({}) AS x", chosen.join(", ")),
    };
    let (ours, theirs) = differ.run(&sql)?;
    if let Outcome::Error(_, text) = &ours {
        let lower = text.to_lowercase();
        if lower.contains("function")
            && (lower.contains("does not exist") || lower.contains("invalid function"))
        {
            differ.tally.missing.insert(name.to_owned());
            return Ok(false);
        }
    }
    let verdict = judge(&Seen::of(&sql, &ours, &theirs));
    differ.tally.add(verdict);
    let Verdict::Failure(_) = verdict else {
        return Ok(true);
    };
    let (ours, theirs) = (shown_outcome(&ours), shown_reply(&theirs));
    let text = format!("{verdict:?}\n  {sql};\n  hushdb: {ours}\n  duckdb: {theirs}");
    differ.fail(&text, &format!("function {name}"))?;
    Ok(false)
}
