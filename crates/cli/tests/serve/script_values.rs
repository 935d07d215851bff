//! Values as they come over the wire, in PostgreSQL's text, in the text that the scripts of `tests/slt` have, which is DuckDB's.

use arrow::array::{Array, BinaryArray, Float32Array, Float64Array};
use std::iter::Peekable;
use std::str::Chars;

const BOOL: u32 = 16;
const BYTES: u32 = 17;
const JSON: u32 = 114;
const REAL: u32 = 700;
const DOUBLE: u32 = 701;
const INTERVAL: u32 = 1186;
const DATES: [u32; 3] = [1082, 1114, 1184];
/// Types of arrays, with those of their items.
const ARRAYS: [(u32, u32); 20] = [
    (1000, BOOL),
    (1001, BYTES),
    (1003, 19),
    (1005, 21),
    (1007, 23),
    (1009, 25),
    (1015, 1043),
    (1016, 20),
    (1021, REAL),
    (1022, DOUBLE),
    (1115, 1114),
    (1182, 1082),
    (1183, 1083),
    (1185, 1184),
    (1187, INTERVAL),
    (1270, 1266),
    (1563, 1562),
    (1231, 1700),
    (199, JSON),
    (2951, 2950),
];

/// Whether a type of the wire does not say which of ours it is: JSON is, and structs are.
pub(crate) fn is_unclear(oid: u32) -> bool {
    oid == JSON || oid == 199
}

/// A value; `of` is the name of its type here, where that of the wire is unclear.
pub(crate) fn shown(oid: u32, cell: Option<&str>, of: &str) -> String {
    let Some(text) = cell else {
        return "NULL".into();
    };
    match plain(oid, text, of).as_str() {
        "" => "(empty)".into(),
        text => text.replace('\n', "\\n"),
    }
}

fn plain(oid: u32, text: &str, of: &str) -> String {
    let item = ARRAYS.iter().find(|(array, _)| *array == oid);
    match (oid, item) {
        (_, Some((_, item))) => list(*item, &mut text.chars().peekable(), of),
        (BOOL, _) => ["false", "true"][usize::from(text == "t")].into(),
        (BYTES, _) => {
            let bytes = hex::decode(text.trim_start_matches("\\x")).unwrap();
            of_array(&BinaryArray::from(vec![bytes.as_slice()]))
        }
        (REAL, _) => of_array(&Float32Array::from(vec![text.parse::<f32>().unwrap()])),
        (DOUBLE, _) => of_array(&Float64Array::from(vec![text.parse::<f64>().unwrap()])),
        (INTERVAL, _) => {
            let words = text.split(' ').scan("", |before, word| {
                let one = std::mem::replace(before, word) == "-1";
                let word = word.trim_start_matches('+').replace("mon", "month");
                Some(if one {
                    word.trim_end_matches('s').into()
                } else {
                    word
                })
            });
            words.collect::<Vec<_>>().join(" ")
        }
        (JSON, _) if !of.contains("JSON") => {
            let is_map = of.starts_with("MAP");
            value(&mut text.chars().peekable(), is_map)
        }
        _ if DATES.contains(&oid) && text.ends_with(" BC") => text.replace(" BC", " (BC)"),
        _ => text.to_owned(),
    }
}

fn of_array(array: &dyn Array) -> String {
    hushdb::value_text(array, 0).unwrap().unwrap()
}

/// `{1,NULL,"a b"}` as `[1, NULL, a b]`.
fn list(item: u32, letters: &mut Peekable<Chars<'_>>, of: &str) -> String {
    letters.next();
    let mut items = vec![];
    loop {
        match letters.peek() {
            None | Some('}') => break,
            Some(',') => drop(letters.next()),
            Some('{') => items.push(list(item, letters, of)),
            Some('"') => {
                let text = plain(item, &quoted(letters), of);
                items.push(match item {
                    JSON => text,
                    _ => in_quotes_if_needed(text),
                });
            }
            Some(_) => {
                let text = until(letters, &[',', '}']);
                items.push(match text.as_str() {
                    "NULL" => text,
                    _ if item == JSON => plain(item, &text, of),
                    _ => in_quotes_if_needed(plain(item, &text, of)),
                });
            }
        }
    }
    letters.next();
    format!("[{}]", items.join(", "))
}

/// A text in double quotes, with backslashes before what is not as it stands.
fn quoted(letters: &mut Peekable<Chars<'_>>) -> String {
    letters.next();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => break,
            '\\' => match letters.next() {
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(other) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    text
}

fn until(letters: &mut Peekable<Chars<'_>>, ends: &[char]) -> String {
    let mut text = String::new();
    while let Some(letter) = letters.next_if(|letter| !ends.contains(letter)) {
        text.push(letter);
    }
    text
}

/// A struct, list or value that came as JSON.
fn value(letters: &mut Peekable<Chars<'_>>, is_map: bool) -> String {
    let mut parts = vec![];
    match letters.peek() {
        Some('{') => {
            letters.next();
            // Fields without a name have `$1` and so on.
            let mut is_row = true;
            while let Some(letter) = letters.peek().copied().filter(|letter| *letter != '}') {
                if letter == ',' {
                    letters.next();
                }
                let name = quoted(letters);
                letters.next();
                let value = value(letters, false);
                let has_none = name.starts_with('$');
                is_row &= has_none;
                parts.push(match (is_map, name.as_str()) {
                    (true, _) => format!("{}={value}", in_quotes_if_needed(name)),
                    (false, _) if has_none => value,
                    (false, name) => format!("{}: {value}", in_quotes(name)),
                });
            }
            letters.next();
            let parts = parts.join(", ");
            match is_row && !is_map {
                true => format!("({parts})"),
                false => format!("{{{parts}}}"),
            }
        }
        Some('[') => {
            letters.next();
            while let Some(letter) = letters.peek().copied().filter(|letter| *letter != ']') {
                if letter == ',' {
                    letters.next();
                }
                parts.push(value(letters, false));
            }
            letters.next();
            format!("[{}]", parts.join(", "))
        }
        Some('"') => in_quotes_if_needed(quoted(letters)),
        _ => match until(letters, &[',', '}', ']']).as_str() {
            "null" => "NULL".into(),
            other => other.into(),
        },
    }
}

fn in_quotes_if_needed(text: String) -> String {
    let is_plain = !text.is_empty()
        && text.trim() == text
        && !text.eq_ignore_ascii_case("null")
        && !text.contains(['(', ')', '[', ']', '{', '}', '\'', '"', ',', ':', '=']);
    match is_plain {
        true => text,
        false => in_quotes(&text),
    }
}

fn in_quotes(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[test]
fn values_are_shown_as_the_scripts_write_them() {
    for (oid, text, of, shows) in [
        (BOOL, "t", "", "true"),
        (BYTES, "\\x0041", "", "\\x00A"),
        (DOUBLE, "1e+20", "", "1e+20"),
        (DOUBLE, "1", "", "1.0"),
        (
            INTERVAL,
            "1 year 2 mons 04:00:00",
            "",
            "1 year 2 months 04:00:00",
        ),
        (INTERVAL, "-1 mons +2 days", "", "-1 month 2 days"),
        (1007, "{1,NULL}", "", "[1, NULL]"),
        (1009, r#"{"a,b",c,"NULL"}"#, "", "['a,b', c, 'NULL']"),
        (1007, "{{1},{}}", "", "[[1], []]"),
        (
            JSON,
            r#"{"a":1,"b":"x","c":[null]}"#,
            "STRUCT(a INTEGER)",
            "{'a': 1, 'b': x, 'c': [NULL]}",
        ),
        (JSON, r#"{"a":1}"#, "JSON", r#"{"a":1}"#),
        (JSON, r#"{"a":1}"#, "MAP(VARCHAR, INTEGER)", "{a=1}"),
        (199, r#"{"{\"a\":1}"}"#, "STRUCT(a INTEGER)[]", "[{'a': 1}]"),
    ] {
        assert_eq!(shown(oid, Some(text), of), shows);
    }
}
