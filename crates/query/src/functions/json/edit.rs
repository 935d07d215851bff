//! A JSON value with one place in it changed: `jsonb_set`, `jsonb_insert`, `#-` and `-` of PostgreSQL.

use super::value::{Kind, Value, write_string};
use hushdb_sql::{Error, ErrorKind};

/// What becomes of the place.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    Delete,
    /// A value is put there; into an object or at an end of a list also where there is none, if that is wanted.
    Set {
        new: Value<'a>,
        create: bool,
    },
    /// A value is put before it, or behind it.
    Insert {
        new: Value<'a>,
        after: bool,
    },
}

/// Writes a value with the place that a path leads to changed, in the one writing of `jsonb`. A path that leads nowhere changes nothing.
pub(super) fn changed(
    of: Value<'_>,
    path: &[&str],
    change: Change<'_>,
    out: &mut String,
) -> Result<(), Error> {
    if !matches!(of.kind(), Kind::Object | Kind::List) {
        let what = match change {
            Change::Delete => "cannot delete path in scalar",
            Change::Set { .. } | Change::Insert { .. } => "cannot set path in scalar",
        };
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    let mut text = String::new();
    match path.is_empty() {
        true => text.push_str(of.text()),
        false => put(of, path, change, &mut text)?,
    }
    Value::read(&text)?.write_jsonb(out);
    Ok(())
}

fn put(of: Value<'_>, path: &[&str], change: Change<'_>, out: &mut String) -> Result<(), Error> {
    match (of.kind(), path.split_first()) {
        (Kind::Object, Some((step, rest))) => in_object(of, step, rest, change, out),
        (Kind::List, Some((step, rest))) => in_list(of, step, rest, change, out),
        _ => {
            out.push_str(of.text());
            Ok(())
        }
    }
}

fn separate(out: &mut String, open: char) {
    if !out.ends_with(open) {
        out.push(',');
    }
}

fn in_object(
    of: Value<'_>,
    step: &str,
    rest: &[&str],
    change: Change<'_>,
    out: &mut String,
) -> Result<(), Error> {
    let mut parts = vec![];
    let named = |name: &str, value: &dyn Fn(&mut String) -> Result<(), Error>| {
        let mut part = String::new();
        write_string(name, &mut part);
        part.push(':');
        value(&mut part).map(|()| part)
    };
    let plain = |value: Value<'_>| {
        let text = value.text().to_owned();
        move |out: &mut String| {
            out.push_str(&text);
            Ok::<(), Error>(())
        }
    };
    let mut is_there = false;
    for (name, value) in of.members() {
        let is_it = name == step;
        is_there |= is_it;
        match (is_it, rest.is_empty(), change) {
            (false, ..) => parts.push(named(&name, &plain(value))?),
            (true, false, _) => parts.push(named(&name, &|out| put(value, rest, change, out))?),
            (true, true, Change::Delete) => {}
            (true, true, Change::Set { new, .. }) => parts.push(named(&name, &plain(new))?),
            (true, true, Change::Insert { .. }) => {
                let what = "cannot replace existing key";
                return Err(Error::new(ErrorKind::InvalidInput, what));
            }
        }
    }
    let added = match change {
        Change::Set { new, create: true } | Change::Insert { new, .. } => Some(new),
        Change::Set { .. } | Change::Delete => None,
    };
    if let Some(new) = added.filter(|_| !is_there && rest.is_empty()) {
        parts.push(named(step, &plain(new))?);
    }
    out.push('{');
    out.push_str(&parts.join(","));
    out.push('}');
    Ok(())
}

fn in_list(
    of: Value<'_>,
    step: &str,
    rest: &[&str],
    change: Change<'_>,
    out: &mut String,
) -> Result<(), Error> {
    let Ok(wanted) = step.trim().parse::<i64>() else {
        let what = "path element is not an integer";
        return Err(Error::new(ErrorKind::Conversion, what).with_sqlstate("22P02"));
    };
    let count = of.items().count() as i64;
    let at = if wanted < 0 { count + wanted } else { wanted };
    let is_there = (0..count).contains(&at);
    let new = match change {
        Change::Delete => None,
        Change::Set { new, create } => Some(new).filter(|_| create),
        Change::Insert { new, .. } => Some(new),
    };
    let added = new.filter(|_| !is_there && rest.is_empty());
    out.push('[');
    let item = |value: Value<'_>, out: &mut String| {
        separate(out, '[');
        out.push_str(value.text());
    };
    let mut text = String::from("[");
    if let Some(new) = added.filter(|_| at < 0) {
        item(new, &mut text);
    }
    for (place, value) in (0..).zip(of.items()) {
        if place != at {
            item(value, &mut text);
            continue;
        }
        match (rest.is_empty(), change) {
            (false, _) => {
                separate(&mut text, '[');
                put(value, rest, change, &mut text)?;
            }
            (true, Change::Delete) => {}
            (true, Change::Set { new, .. }) => item(new, &mut text),
            (true, Change::Insert { new, after }) => {
                let both = if after { [value, new] } else { [new, value] };
                both.into_iter().for_each(|value| item(value, &mut text));
            }
        }
    }
    if let Some(new) = added.filter(|_| at >= 0) {
        item(new, &mut text);
    }
    out.push_str(text.get(1..).unwrap_or_default());
    out.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_changed_and_nothing_else() {
        let new = Value::read("9").unwrap();
        let set = |create| Change::Set { new, create };
        let insert = |after| Change::Insert { new, after };
        for (json, path, change, wanted) in [
            (
                "{\"a\":[1,{\"b\":2}]}",
                &["a", "1", "b"][..],
                set(true),
                "{\"a\": [1, {\"b\": 9}]}",
            ),
            ("{\"a\":1}", &["b"], set(true), "{\"a\": 1, \"b\": 9}"),
            ("{\"a\":1}", &["b"], set(false), "{\"a\": 1}"),
            ("{\"a\":1}", &["b", "c"], set(true), "{\"a\": 1}"),
            ("[1,2]", &["5"], set(true), "[1, 2, 9]"),
            ("[1,2]", &["-5"], set(true), "[9, 1, 2]"),
            ("[1,2]", &["-1"], set(false), "[1, 9]"),
            ("[[],[1]]", &["0"], insert(true), "[[], 9, [1]]"),
            ("[[],[1]]", &["1", "0"], insert(false), "[[], [9, 1]]"),
            ("[1,2,3]", &["1"], Change::Delete, "[1, 3]"),
            (
                "{\"a\":{\"b\":1,\"c\":2}}",
                &["a", "b"],
                Change::Delete,
                "{\"a\": {\"c\": 2}}",
            ),
            ("{\"a\":1}", &[], Change::Delete, "{\"a\": 1}"),
        ] {
            let mut out = String::new();
            changed(Value::read(json).unwrap(), path, change, &mut out).unwrap();
            assert_eq!(out, wanted);
        }
        for (json, path) in [("[1]", "x"), ("1", "a")] {
            let failed = changed(
                Value::read(json).unwrap(),
                &[path],
                set(true),
                &mut String::new(),
            );
            assert!(failed.is_err());
        }
    }
}
