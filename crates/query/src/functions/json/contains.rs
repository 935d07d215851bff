//! `a @> b` of PostgreSQL: whether one JSON value has all that another has (its documentation, "jsonb Containment and Existence").

use super::jsonb_text::plain_number;
use super::value::{Kind, Value};

/// Whether `a` contains `b`; a list also contains a scalar that is one of its items.
pub(super) fn contains(a: Value<'_>, b: Value<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::List, Kind::Null | Kind::Bool | Kind::Number | Kind::Text) => {
            a.items().any(|item| same_scalar(item, b))
        }
        _ => contains_within(a, b),
    }
}

fn contains_within(a: Value<'_>, b: Value<'_>) -> bool {
    match (a.kind(), b.kind()) {
        (Kind::Object, Kind::Object) => b.members().all(|(name, wanted)| {
            a.member(&name)
                .is_some_and(|found| contains_within(found, wanted))
        }),
        (Kind::List, Kind::List) => b
            .items()
            .all(|wanted| a.items().any(|item| contains_within(item, wanted))),
        _ => same_scalar(a, b),
    }
}

/// Whether both are the same text, number, truth or null.
fn same_scalar(a: Value<'_>, b: Value<'_>) -> bool {
    let kind = a.kind();
    kind == b.kind()
        && match kind {
            Kind::Text => a.string() == b.string(),
            Kind::Number => number(a) == number(b),
            Kind::Null | Kind::Bool => a.text() == b.text(),
            Kind::List | Kind::Object => false,
        }
}

/// A number without zeros behind its last digit.
fn number(of: Value<'_>) -> String {
    let text = plain_number(of.text()).into_owned();
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_contain_what_postgresql_says() {
        for (a, b, wanted) in [
            ("\"foo\"", "\"foo\"", true),
            ("[1, 2, 3]", "[3, 1, 3]", true),
            (
                "{\"a\": {\"b\": 1.0, \"c\": 2}}",
                "{\"a\": {\"b\": 1}}",
                true,
            ),
            ("[1, 2, [1, 3]]", "[1, 3]", false),
            ("[1, 2, [1, 3]]", "[[1, 3]]", true),
            ("{\"foo\": {\"bar\": \"baz\"}}", "{\"bar\": \"baz\"}", false),
            ("[\"foo\", \"bar\"]", "\"bar\"", true),
            ("\"bar\"", "[\"bar\"]", false),
            ("{\"a\": 1}", "{}", true),
            ("{}", "[]", false),
            ("[[\"x\"]]", "\"x\"", false),
        ] {
            let [a, b] = [a, b].map(|text| Value::read(text).unwrap());
            assert_eq!(contains(a, b), wanted, "{a:?} {b:?}");
        }
    }
}
