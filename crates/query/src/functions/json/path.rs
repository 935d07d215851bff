//! A place in a JSON value: `$.a.b[0]`, `$.*`, `/a/0`, or the name of a member.
//!
//! What must hold: no error repeats a path.

use super::value::{Kind, Value};
use hushdb_sql::Error;

/// One step from a value to values in it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    /// An item, counted from 0.
    Item(usize),
    /// An item, counted from the end: 1 is the last.
    Last(usize),
    /// A member of an object by this name, or an item of a list at this number.
    Either(String),
    Members,
    Items,
    /// The value, and all in it.
    Within,
}

/// The steps from a document to what is asked of it.
#[derive(Clone, Debug)]
pub(super) struct Path(Vec<Step>);

fn wrong(at: usize) -> Error {
    Error::binder(format!(
        "JSON path error at byte {at}: a path is written $.name[0].\"other name\", /name/0 or name"
    ))
}

impl Path {
    /// Reads a path that is a text.
    pub(super) fn read(text: &str) -> Result<Self, Error> {
        match text.as_bytes().first() {
            None => Ok(Self(vec![])),
            Some(b'$') => steps(text).map(Self),
            Some(b'/') => Ok(Self(pointer(text))),
            _ if text.contains('"') => Ok(Self(vec![Step::Either(text.to_owned())])),
            _ => Ok(Self(vec![Step::Member(text.to_owned())])),
        }
    }

    /// The item at a number; a negative one counts from the end.
    pub(super) fn item(number: i64) -> Self {
        let size = usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX);
        Self(vec![match number < 0 {
            true => Step::Last(size),
            false => Step::Item(size),
        }])
    }

    /// Whether it may lead to several values.
    pub(super) fn is_wild(&self) -> bool {
        let wild = [Step::Members, Step::Items, Step::Within];
        self.0.iter().any(|step| wild.contains(step))
    }

    /// The one value that it leads to.
    pub(super) fn find<'a>(&self, of: Value<'a>) -> Option<Value<'a>> {
        let mut found = None;
        follow(&self.0, of, &mut |value| {
            found = Some(value);
            false
        });
        found
    }

    /// Shows all values that it leads to, until `show` says that it has seen enough.
    pub(super) fn find_all<'a>(&self, of: Value<'a>, show: &mut dyn FnMut(Value<'a>) -> bool) {
        follow(&self.0, of, show);
    }
}

/// Goes on from a value; `false` when enough was shown.
fn follow<'a>(steps: &[Step], at: Value<'a>, show: &mut dyn FnMut(Value<'a>) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return show(at);
    };
    let next = match step {
        Step::Member(name) => member(at, name),
        Step::Item(number) => at.items().nth(*number),
        Step::Last(number) => {
            let count = at.items().count();
            let place = count.checked_sub(*number);
            place.and_then(|place| at.items().nth(place))
        }
        Step::Either(name) => match at.kind() {
            Kind::Object => member(at, name),
            _ => name.parse().ok().and_then(|place| at.items().nth(place)),
        },
        Step::Members => {
            return at.members().all(|(_, value)| follow(rest, value, show));
        }
        Step::Items => return at.items().all(|value| follow(rest, value, show)),
        Step::Within => {
            return follow(rest, at, show)
                && at.members().all(|(_, value)| follow(steps, value, show))
                && at.items().all(|value| follow(steps, value, show));
        }
    };
    next.is_none_or(|value| follow(rest, value, show))
}

fn member<'a>(of: Value<'a>, wanted: &str) -> Option<Value<'a>> {
    let mut members = of.members();
    members
        .find(|(name, _)| name == wanted)
        .map(|(_, value)| value)
}

/// RFC 6901.
fn pointer(text: &str) -> Vec<Step> {
    let names = text.split('/').skip(1);
    names
        .map(|name| Step::Either(name.replace("~1", "/").replace("~0", "~")))
        .collect()
}

/// What follows a `$`.
fn steps(text: &str) -> Result<Vec<Step>, Error> {
    let mut steps = vec![];
    let mut at = 1;
    let rest = |at: usize| text.get(at..).unwrap_or_default();
    while at < text.len() {
        let from = at;
        if rest(at).starts_with("..") {
            steps.push(Step::Within);
            at += 1;
        }
        if let Some(inner) = rest(at).strip_prefix('[') {
            let end = inner.find(']').ok_or_else(|| wrong(from))?;
            let inside = inner.get(..end).unwrap_or_default();
            steps.push(index(inside).ok_or_else(|| wrong(from))?);
            at += end + 2;
            continue;
        }
        let name = rest(at).strip_prefix('.').ok_or_else(|| wrong(from))?;
        at += 1;
        if name.starts_with("**") {
            steps.push(Step::Within);
            at += 2;
        } else if name.starts_with('*') {
            steps.push(Step::Members);
            at += 1;
        } else if let Some(quoted) = name.strip_prefix('"') {
            let end = quoted.find('"').ok_or_else(|| wrong(from))?;
            steps.push(Step::Member(
                quoted.get(..end).unwrap_or_default().to_owned(),
            ));
            at += end + 2;
        } else {
            let end = name.find(['.', '[']).unwrap_or(name.len());
            if end == 0 {
                return Err(wrong(from));
            }
            steps.push(Step::Member(name.get(..end).unwrap_or_default().to_owned()));
            at += end;
        }
    }
    Ok(steps)
}

/// What stands in brackets: `*`, `0`, `-1`, `#-1`.
fn index(inside: &str) -> Option<Step> {
    if inside == "*" {
        return Some(Step::Items);
    }
    let digits = |text: &str| match text.bytes().all(|b| b.is_ascii_digit()) {
        true => text.parse::<usize>().ok(),
        false => None,
    };
    let back = inside.strip_prefix("#-").or(inside.strip_prefix('-'));
    match (inside, back) {
        ("#", _) => Some(Step::Last(0)),
        (_, Some(back)) => digits(back).map(Step::Last),
        (plain, None) => digits(plain).map(Step::Item),
    }
}
