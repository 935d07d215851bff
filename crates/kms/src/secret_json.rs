//! JSON with secrets in it: answers of services and programs, from whoever answered.
//!
//! What must hold: a text that is taken out is wiped when it is dropped; what is nested deeply, or no JSON, is `None`.

use serde_json::Value;
use zeroize::{Zeroize, Zeroizing};

/// An answer, read. All texts in it are wiped on drop.
pub(crate) struct Answer(Value);

impl Answer {
    /// Reads one JSON value with nothing behind it. At most 128 levels deep.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().map(Self)
    }

    /// The text at a path such as `/data/plaintext`.
    pub(crate) fn text(&mut self, path: &str) -> Option<Zeroizing<String>> {
        match self.0.pointer_mut(path)? {
            Value::String(text) => Some(Zeroizing::new(std::mem::take(text))),
            _ => None,
        }
    }

    /// The whole number at a path.
    pub(crate) fn number(&self, path: &str) -> Option<u64> {
        self.0.pointer(path)?.as_u64()
    }

    /// Whether there is anything at a path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.0.pointer(path).is_some()
    }

    /// Whether it is an object of these members and no other.
    pub(crate) fn has_only(&self, names: &[&str]) -> bool {
        self.0.as_object().is_some_and(|members| {
            members.len() == names.len() && names.iter().all(|name| members.contains_key(*name))
        })
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(members) => members.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// An object of texts, in memory that is wiped. Names are our own words.
pub(crate) fn object(members: &[(&str, &str)]) -> Zeroizing<Vec<u8>> {
    // An escape takes six bytes at most, so nothing moves while it is written.
    let most = members
        .iter()
        .map(|(name, text)| name.len() + 6 * text.len() + 8);
    let mut json = Zeroizing::new(Vec::with_capacity(most.sum::<usize>() + 2));
    json.push(b'{');
    for (at, (name, text)) in members.iter().enumerate() {
        if at > 0 {
            json.push(b',');
        }
        for part in [*name, *text] {
            // Texts can always be written, and so can memory.
            let _ = serde_json::to_writer(&mut *json, part);
            json.push(b':');
        }
        json.pop();
    }
    json.push(b'}');
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_written_and_read() {
        let json = object(&[("a", "x\"\n\u{e9}\u{1}"), ("b", "")]);
        let mut answer = Answer::parse(&json).unwrap();
        assert!(answer.has_only(&["a", "b"]) && !answer.has_only(&["a"]));
        assert_eq!(**answer.text("/a").unwrap(), *"x\"\n\u{e9}\u{1}");
        assert_eq!(answer.text("/c"), None);
        assert_eq!(&object(&[])[..], b"{}");
        let bombs = ["[".repeat(60_000), "{\"a\":".repeat(10_000), "1 2".into()];
        assert!(
            bombs
                .iter()
                .all(|bomb| Answer::parse(bomb.as_bytes()).is_none())
        );
    }
}
