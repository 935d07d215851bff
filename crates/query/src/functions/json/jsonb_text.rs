//! The one writing of `jsonb` in PostgreSQL.

use super::value::{Kind, Value, write_string};
use std::borrow::Cow;

impl Value<'_> {
    /// Writes it as PostgreSQL writes `jsonb`: the members of objects by the length of their names, then by their bytes, of one name
    /// the last; numbers without exponents.
    pub(super) fn write_jsonb(self, out: &mut String) {
        self.write_kept(&|_, _| true, true, out);
    }

    /// The same without members that are null, at any depth.
    pub(super) fn write_jsonb_without_nulls(self, out: &mut String) {
        let keeps =
            |name: Option<&str>, value: Value<'_>| name.is_none() || value.kind() != Kind::Null;
        self.write_kept(&keeps, true, out);
    }

    /// The same without the members of some names, or the items that are such texts.
    pub(super) fn write_jsonb_without(self, gone: &dyn Fn(&str) -> bool, out: &mut String) {
        let keeps = |name: Option<&str>, value: Value<'_>| match name {
            Some(name) => !gone(name),
            None => !value.string().is_some_and(|text| gone(&text)),
        };
        self.write_kept(&keeps, false, out);
    }

    /// `keeps` is asked of members and items: of all, or of those of this value alone.
    fn write_kept(
        self,
        keeps: &dyn Fn(Option<&str>, Value<'_>) -> bool,
        deep: bool,
        out: &mut String,
    ) {
        let inner = |value: Value<'_>, out: &mut String| match deep {
            true => value.write_kept(keeps, true, out),
            false => value.write_jsonb(out),
        };
        match self.kind() {
            Kind::Object => {
                let mut members: Vec<_> = self.members().collect();
                members.sort_by(|(a, _), (b, _)| (a.len(), a).cmp(&(b.len(), b)));
                let mut members = members.into_iter().peekable();
                out.push('{');
                let mut is_first = true;
                while let Some((name, value)) = members.next() {
                    let is_last = members.peek().is_none_or(|(next, _)| *next != name);
                    if !is_last || !keeps(Some(&name), value) {
                        continue;
                    }
                    out.push_str(if is_first { "" } else { ", " });
                    is_first = false;
                    write_string(&name, out);
                    out.push_str(": ");
                    inner(value, out);
                }
                out.push('}');
            }
            Kind::List => {
                out.push('[');
                let kept = self.items().filter(|item| keeps(None, *item));
                for (place, item) in kept.enumerate() {
                    out.push_str(if place == 0 { "" } else { ", " });
                    inner(item, out);
                }
                out.push(']');
            }
            Kind::Text => write_string(&self.string().unwrap_or_default(), out),
            Kind::Number => out.push_str(&plain_number(self.text())),
            Kind::Null | Kind::Bool => out.push_str(self.text()),
        }
    }
}

/// Digits that an exponent may make of a number.
const MOST_ZEROS: i64 = 1_000;

/// A number without an exponent, if that makes it no longer than a number should be, and without the sign of zero.
pub(super) fn plain_number(word: &str) -> Cow<'_, str> {
    if !word.contains(|c: char| c.is_ascii_digit()) {
        return word.into();
    }
    let (sign, bare) = match word.strip_prefix('-') {
        Some(bare) => ("-", bare),
        None => ("", word),
    };
    let sign = match bare.contains(|c: char| ('1'..='9').contains(&c)) {
        true => sign,
        false => "",
    };
    let Some((number, power)) = bare.split_once(['e', 'E']) else {
        return if sign.is_empty() {
            bare.into()
        } else {
            word.into()
        };
    };
    let power = power.parse::<i64>().ok();
    let Some(power) = power.filter(|power| power.abs() <= MOST_ZEROS) else {
        return word.into();
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = [whole, fraction].concat();
    // Where the point stands among the digits.
    let point = whole.len() as i64 + power;
    let count = digits.len() as i64;
    let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
    let (before, behind) = match digits.split_at_checked(usize::try_from(point).unwrap_or(0)) {
        Some((before, behind)) if point > 0 => (before.to_owned(), behind.to_owned()),
        _ if point <= 0 => (String::new(), zeros(-point) + &digits),
        _ => (digits + &zeros(point - count), String::new()),
    };
    let before = match before.trim_start_matches('0') {
        "" => "0",
        before => before,
    };
    match behind.is_empty() {
        true => format!("{sign}{before}").into(),
        false => format!("{sign}{before}.{behind}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jsonb_is_written_as_in_postgresql() {
        for (text, wanted) in [
            (
                "{\"bb\":1,\"a\":[1,2 , {}],\"bb\":2}",
                "{\"a\": [1, 2, {}], \"bb\": 2}",
            ),
            (
                "[1e2, 1.50, -0, 1.5e-3, 12.5e1, 1E1]",
                "[100, 1.50, 0, 0.0015, 125, 10]",
            ),
            ("\"\\u00e9\"", "\"é\""),
            ("{}", "{}"),
            ("null", "null"),
        ] {
            let mut out = String::new();
            Value::read(text).unwrap().write_jsonb(&mut out);
            assert_eq!(out, wanted);
        }
        let value = Value::read("{\"a\":null,\"b\":[null,{\"c\":null}]}").unwrap();
        let mut out = String::new();
        value.write_jsonb_without_nulls(&mut out);
        assert_eq!(out, "{\"b\": [null, {}]}");
        let mut out = String::new();
        value.write_jsonb_without(&|name| name == "b", &mut out);
        assert_eq!(out, "{\"a\": null}");
    }
}
