//! CSV and JSON files that mean harm, by name.

use crate::reading::{Case, Expected};

const PAIR: &str = "a INTEGER, b VARCHAR";

pub(crate) fn all() -> Vec<Case> {
    let cases = [json(), json_of_many_names(), csv()];
    cases.into_iter().flatten().collect()
}

fn case(name: &str, bytes: Vec<u8>, expected: Expected) -> Case {
    Case {
        name: name.to_owned(),
        bytes,
        expected,
        columns: Some(PAIR),
    }
}

fn rows(name: &str, bytes: impl Into<Vec<u8>>, rows: usize) -> Case {
    case(name, bytes.into(), Expected::Rows(rows))
}

fn error(name: &str, bytes: impl Into<Vec<u8>>, text: &'static str) -> Case {
    case(name, bytes.into(), Expected::Error(text))
}

/// `before`, `middle` so many times, and `behind`.
fn many(before: &str, middle: &str, times: usize, behind: &str) -> Vec<u8> {
    [before, &middle.repeat(times), behind]
        .concat()
        .into_bytes()
}

/// The lines of a file in which numbers are counted through.
fn counted(numbers: usize, of: impl Fn(usize) -> String, between: &str) -> String {
    (0..numbers).map(of).collect::<Vec<_>>().join(between)
}

/// An object of so many members.
fn object(members: usize, value: impl Fn(usize) -> &'static str) -> String {
    let members = counted(members, |at| format!("\"k{at}\":{}", value(at)), ",");
    format!("{{{members}}}")
}

fn json_of_many_names() -> Vec<Case> {
    vec![
        rows("keys.json", object(100_000, |_| "1"), 1),
        error(
            "unlike_keys.json",
            object(100_000, |at| if at % 2 == 0 { "1" } else { "[]" }),
            "more than 10000 columns",
        ),
        error("more_keys.json", object(600_000, |_| "1"), "names"),
        rows(
            "keys_in_turn.json",
            counted(20_000, |at| format!("{{\"k{at}\":1}}"), "\n"),
            20_000,
        ),
        rows(
            "keys_in_keys.json",
            (0..100).fold("{}".to_owned(), |within, _| {
                let others = counted(200, |at| format!("\"k{at}\":{{}}"), ",");
                format!("{{\"n\":{within},{others}}}")
            }),
            1,
        ),
    ]
}

fn json() -> Vec<Case> {
    let nested = |open: &str, close: &str, times: usize| {
        format!("{{\"a\":{}1{}}}\n", open.repeat(times), close.repeat(times))
    };
    let behind_sample = |record: &str| format!("{}{record}", "{\"a\":1}\n".repeat(20_480));
    let deep = "values are nested too deep";
    vec![
        error("lists.json", nested("[", "]", 100_000), deep),
        error("objects.json", nested("{\"a\":", "}", 100_000), deep),
        error(
            "late_lists.json",
            behind_sample(&nested("[", "]", 1_000_000)),
            deep,
        ),
        error(
            "late_objects.json",
            behind_sample(&nested("{\"a\":", "}", 1_000_000)),
            deep,
        ),
        error("open_lists.json", many("", "[", 1_000_000, ""), deep),
        error(
            "open_objects.json",
            many("", "{\"a\":", 1_000_000, ""),
            deep,
        ),
        rows(
            "texts_of_brackets.json",
            many("{\"a\":\"", "[{", 100_000, "\"}\n"),
            1,
        ),
        rows(
            "long_text.json",
            many("{\"a\":\"", "x", 5_000_000, "\"}\n"),
            1,
        ),
        error(
            "long_number.json",
            many("{\"a\":", "1", 1_000_000, "}\n"),
            "is not JSON",
        ),
        error("large_number.json", "{\"a\":1e999999999}\n", "is not JSON"),
        error("zeros.json", vec![0; 100_000], "is not JSON"),
        error("nul.json", "{\"a\":\0 1}\n", "is not JSON"),
        error(
            "no_utf_8.json",
            b"{\"a\":\"\xff\xfe\"}\n".to_vec(),
            "is not JSON",
        ),
        error(
            "half_a_character.json",
            "{\"a\":\"\\ud800\"}\n",
            "is not JSON",
        ),
        error("open_text.json", "{\"a\":1}\n{\"a\":\"x", "is not JSON"),
        error("open_array.json", "[{\"a\":1},", "is not JSON"),
        error(
            "behind_the_array.json",
            "[{\"a\":1}] {\"a\":2}",
            "is not JSON",
        ),
        rows("numbers.json", "1\n2\n", 2),
        rows("nothing.json", "", 0),
        rows("no_records.json", "[]", 0),
        rows("other_shapes.json", "{\"a\":[1]}\n{\"a\":{\"b\":1}}\n", 2),
        error(
            "late_text.json",
            behind_sample("{\"a\":\"a secret\"}\n"),
            "failed to parse ...",
        ),
        error(
            "late_list.json",
            behind_sample("{\"a\":[\"a secret\"]}\n"),
            "expected primitive got ...",
        ),
        error("late_half.json", behind_sample("{\"a\":"), "does not read"),
    ]
}

fn csv() -> Vec<Case> {
    let line = |columns: usize| counted(columns, |at| format!("c{at}"), ",");
    vec![
        error(
            "header.csv",
            format!("{}\n", line(400_000)),
            "more than 10000 columns",
        ),
        error(
            "header_of_commas.csv",
            many("", ",", 3_000_000, "\n"),
            "more than 10000 columns",
        ),
        error(
            "line_of_commas.csv",
            many("a,b\n1,2\n", ",", 10_000_000, "\n"),
            "line 3",
        ),
        error(
            "longer_than_a_record.csv",
            many("a,b\n1,", "x", 66 << 20, "\n"),
            "longer than 64 MiB",
        ),
        rows("long_value.csv", many("a,b\n1,", "x", 5_000_000, "\n"), 1),
        error(
            "open_quote.csv",
            many("a,b\n1,\"x\n", "1,2\n", 100_000, ""),
            "a quote is not closed",
        ),
        error(
            "quotes.csv",
            many("", "\"", 1_000_001, ""),
            "a quote is not closed",
        ),
        error(
            "behind_a_quote.csv",
            "a,b\n1,\"x\"y\n",
            "text follows a value in quotes",
        ),
        rows("nul.csv", "a,b\n1,\0\0\n\0,\0\n", 2),
        rows("zeros.csv", vec![0; 100_000], 0),
        error(
            "no_utf_8.csv",
            b"a,b\n1,\xff\xfe\n".to_vec(),
            "line 2: a value is not UTF-8",
        ),
        error(
            "late_no_utf_8.csv",
            [many("a,b\n", "1,2\n", 30_000, ""), b"1,\xff\n".to_vec()].concat(),
            "line 30002",
        ),
        error("another_count.csv", "a,b\n1,2\n1,2,3\n", "line 3"),
        error(
            "late_text.csv",
            many("a,b\n", "1,2\n", 30_000, "a secret,2\n"),
            "is no BIGINT",
        ),
        rows("lines.csv", many("", "\n", 100_000, ""), 99_999),
        rows("nothing.csv", "", 0),
        rows("mark.csv", "\u{feff}", 0),
        rows(
            "equal_names.csv",
            format!("{}\n", vec!["c"; 500].join(",")),
            0,
        ),
    ]
}
