//! `KeyLiterals`: the keys that a statement spells out. They are taken out of its text before anything reads it.
//!
//! What must hold: tokens, trees, plans and errors never have the text of a key, so none of them needs to be wiped or
//! redacted. In its place stands `'<key 0>'`, and only the parser of ATTACH asks what that stood for.

use super::split::{is_escaped, skip_comment, skip_dollar, skip_escaped, skip_line, skip_quoted};
use crate::error::{Error, Result};
use hushdb_crypto::SecretBytes;
use std::borrow::Cow;
use std::sync::Arc;

/// How the options begin whose value is secret: a key, or where one is, since people write passwords into commands and tokens
/// into the names of services.
const SECRET_OPTION: &str = "encryption_key";

/// What was taken out of one statement, in order; `None` for what is no way to write a key.
#[derive(Default)]
pub(crate) struct KeyLiterals(Vec<Option<Arc<SecretBytes>>>);

/// What the scanner saw last, besides blanks and comments.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    /// Nothing, or what does not matter.
    Other,
    /// `(` or `,`, behind which an option may stand.
    Opening,
    /// The name of a secret option, and whether the text reads as a list of options there.
    Name { in_list: bool },
    /// The name and `=`.
    Equals,
}

/// How a statement begins.
#[derive(Clone, Copy, PartialEq)]
enum Begins {
    Nothing,
    /// With ALTER, and no word behind it yet.
    Alter,
    /// As ATTACH or ALTER DATABASE, which have options that hold keys.
    OptionsOfKeys,
    /// As another statement.
    Other,
}

impl Begins {
    /// With one word more, in lower case.
    fn then(self, word: &str) -> Self {
        match (self, word) {
            (Self::Nothing, "attach") | (Self::Alter, "database") => Self::OptionsOfKeys,
            (Self::Nothing, "alter") => Self::Alter,
            (Self::Nothing | Self::Alter, _) => Self::Other,
            (Self::OptionsOfKeys | Self::Other, _) => self,
        }
    }
}

impl KeyLiterals {
    /// The text without its keys, and the keys. A statement that names no secret option is borrowed as it is.
    ///
    /// In ATTACH and ALTER DATABASE a key is whatever stands behind the option's name, and a quoted text where an option should
    /// begin. Elsewhere, as in a misspelt statement, it is a quoted text directly behind a name that begins in brackets or behind a
    /// comma there, unless a SELECT came before.
    pub(crate) fn take_out_of(sql: &str) -> (Cow<'_, str>, Self) {
        if !names(sql.as_bytes(), SECRET_OPTION) {
            return (Cow::Borrowed(sql), Self::default());
        }
        let bytes = sql.as_bytes();
        let mut text = String::with_capacity(sql.len());
        let mut this = Self::default();
        let (mut copied, mut at, mut depth) = (0, 0, 0);
        let (mut last, mut begins, mut select) = (Last::Other, Begins::Nothing, false);
        while at < bytes.len() {
            let (piece, end) = next(bytes, at);
            let is_attach = begins == Begins::OptionsOfKeys;
            let takes = match last {
                Last::Name { in_list } => is_attach || in_list,
                Last::Equals => is_attach,
                Last::Other | Last::Opening => false,
            };
            let takes_text = takes || is_attach && depth > 0 && last == Last::Opening;
            let secret = match piece {
                Piece::Quoted(from, to) if takes_text => Some(sql.get(from..to).map(undoubled)),
                Piece::Dollars(from, to) if takes_text => {
                    Some(sql.get(from..to).map(SecretBytes::from))
                }
                Piece::Escaped if takes_text => Some(None),
                Piece::Word if is_attach && takes => Some(sql.get(at..end).map(SecretBytes::from)),
                _ => None,
            };
            if let Some(secret) = secret {
                text.push_str(&sql[copied..at]);
                text.push_str(&format!("'<key {}>'", this.0.len()));
                copied = end;
                this.0.push(secret.map(Arc::new));
            }
            last = match piece {
                Piece::Blank => last,
                Piece::Word | Piece::Name => {
                    let word = sql[at..end].trim_matches('"').to_ascii_lowercase();
                    begins = begins.then(&word);
                    select |= word == "select";
                    match Self::are_values_of(&word) {
                        true => Last::Name {
                            in_list: last == Last::Opening && depth > 0 && !select,
                        },
                        false => Last::Other,
                    }
                }
                Piece::Character(b @ (b'(' | b',')) => {
                    depth += i32::from(b == b'(');
                    Last::Opening
                }
                Piece::Character(b')') => {
                    depth -= 1;
                    Last::Other
                }
                Piece::Character(b'=') if matches!(last, Last::Name { .. }) => Last::Equals,
                _ => Last::Other,
            };
            at = end;
        }
        text.push_str(&sql[copied..]);
        (Cow::Owned(text), this)
    }

    /// Whether values of this option of ATTACH are taken out.
    pub(crate) fn are_values_of(option: &str) -> bool {
        option.starts_with(SECRET_OPTION)
    }

    /// What stood where the text now has `placeholder`.
    ///
    /// # Errors
    /// `Parser` where it was no quoted text.
    pub(crate) fn behind(&self, placeholder: &str) -> Result<Arc<SecretBytes>> {
        let index = placeholder
            .strip_prefix("<key ")
            .and_then(|rest| rest.strip_suffix('>')?.parse::<usize>().ok());
        let secret = index.and_then(|index| self.0.get(index)?.clone());
        secret.ok_or_else(|| Error::parser("a key is written in single quotes, '...', or $$...$$"))
    }
}

/// A piece of SQL text.
#[derive(Clone, Copy)]
enum Piece {
    /// White space or a comment.
    Blank,
    /// A name in double quotes.
    Name,
    /// A word or number; also what would be a bare key, such as `hex:00`.
    Word,
    /// `'...'`, and where its content begins and ends.
    Quoted(usize, usize),
    /// `$$...$$`, likewise.
    Dollars(usize, usize),
    /// `E'...'`.
    Escaped,
    Character(u8),
}

/// The piece that begins at `at`, and where it ends. What is never closed ends with the text.
fn next(bytes: &[u8], at: usize) -> (Piece, usize) {
    let end = bytes.len();
    match bytes[at] {
        b if b.is_ascii_whitespace() => (Piece::Blank, at + 1),
        b'-' if bytes.get(at + 1) == Some(&b'-') => (Piece::Blank, skip_line(bytes, at)),
        b'/' if bytes.get(at + 1) == Some(&b'*') => {
            (Piece::Blank, skip_comment(bytes, at).unwrap_or(end))
        }
        b'"' => (Piece::Name, skip_quoted(bytes, at).unwrap_or(end)),
        b'\'' => {
            let close = skip_quoted(bytes, at);
            let to = close.map_or(end, |close| close - 1);
            (Piece::Quoted(at + 1, to), close.unwrap_or(end))
        }
        b'e' | b'E' if bytes.get(at + 1) == Some(&b'\'') && is_escaped(bytes, at + 1) => {
            let close = skip_escaped(bytes, at + 1);
            (Piece::Escaped, close.unwrap_or(end))
        }
        b'$' => match skip_dollar(bytes, at) {
            Some(close) if close == at + 1 => (Piece::Character(b'$'), close),
            close => {
                let tag = bytes[at + 1..].iter().position(|b| *b == b'$');
                let tag = tag.map_or(1, |n| n + 2);
                let to = close.map_or(end, |close| close - tag);
                (Piece::Dollars(at + tag, to), close.unwrap_or(end))
            }
        },
        b if is_word(b) => {
            let length = bytes[at..].iter().position(|b| !is_word(*b) && *b != b':');
            (Piece::Word, length.map_or(end, |n| at + n))
        }
        b => (Piece::Character(b), at + 1),
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || !b.is_ascii()
}

/// What is meant by the content of `'...'`, in which a quote is doubled.
fn undoubled(content: &str) -> SecretBytes {
    let mut text = Vec::with_capacity(content.len());
    let mut bytes = content.bytes();
    while let Some(b) = bytes.next() {
        text.push(b);
        if b == b'\'' {
            bytes.next();
        }
    }
    SecretBytes::new(text)
}

/// Whether the word is somewhere in the text, in any case of letters.
fn names(text: &[u8], word: &str) -> bool {
    text.windows(word.len())
        .any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(sql: &str) -> (String, Vec<Option<String>>) {
        let (text, keys) = KeyLiterals::take_out_of(sql);
        let texts = keys.0.iter().map(|key| {
            let key = key.as_ref()?;
            Some(String::from_utf8(key.expose().to_vec()).unwrap())
        });
        (text.into_owned(), texts.collect())
    }

    fn key(text: &str) -> Vec<Option<String>> {
        vec![Some(text.to_string())]
    }

    #[test]
    fn every_way_to_write_a_key_is_taken_out() {
        for (literal, expected) in [
            ("'sesame'", "sesame"),
            ("= 'sesame'", "sesame"),
            ("= /* 'no' */ -- 'no'\n 'sesame'", "sesame"),
            ("'it''s'", "it's"),
            ("''''", "'"),
            ("$$it's$$", "it's"),
            ("$a$b$$c$a$", "b$$c"),
            ("sesame", "sesame"),
            ("hex:00", "hex:00"),
            ("42", "42"),
            ("'é'", "é"),
        ] {
            for head in ["attach 'f' AS x", "/* */ Alter Database d ADD SLOT"] {
                let sql = format!("{head} (Encryption_Key {literal}, READ_ONLY)");
                let (text, keys) = taken(&sql);
                assert_eq!(keys, key(expected), "{sql}");
                assert!(text.ends_with("'<key 0>', READ_ONLY)"), "{text}");
                assert!(!text.contains("sesame"), "{text}");
            }
        }
    }

    #[test]
    fn what_never_ends_or_has_escapes_is_taken_out_too() {
        for literal in ["'sesame", "$$sesame", r"E'sesame\n'", "e'sesame"] {
            let (text, keys) = taken(&format!("ATTACH 'f' (\"encryption_key\" {literal}"));
            assert!(!text.contains("sesame"), "{text}");
            assert_eq!(keys.len(), 1);
        }
        let (_, keys) = KeyLiterals::take_out_of("ATTACH 'f' (ENCRYPTION_KEY E'x')");
        for placeholder in ["<key 0>", "<key 1>", "sesame"] {
            assert!(keys.behind(placeholder).is_err());
        }
    }

    #[test]
    fn texts_where_an_option_should_begin_are_taken_out_too() {
        for literal in ["'sesame'", "'sesame", "$$sesame$$", "$$sesame", "E'sesame"] {
            let sql = format!("ATTACH 'f' (ENCRYPTION_KEY 'open', READ_ONLY, {literal}");
            let (text, keys) = taken(&sql);
            assert!(text.ends_with("'<key 0>', READ_ONLY, '<key 1>'"), "{text}");
            assert_eq!(keys.len(), 2);
        }
    }

    #[test]
    fn misspelt_statements_lose_their_keys() {
        for sql in [
            "ATACH 'f' AS x (ENCRYPTION_KEY 'sesame')",
            "EXPLAIN ATTACH 'f' AS x (READ_ONLY, ENCRYPTION_KEY 'sesame')",
            "(ENCRYPTION_KEY_COMMAND 'sesame'",
            "ATTACH 'f' (ENCRYPTION_KEY_ENV 'sesame')",
            "ATTACH 'f' (READ_ONLY, encryption_key_vault 'sesame')",
        ] {
            let (text, keys) = taken(sql);
            assert!(!text.contains("sesame"), "{text}");
            assert_eq!(keys, key("sesame"));
        }
    }

    #[test]
    fn queries_stay_as_they_are() {
        for sql in [
            "SELECT 1",
            "SELECT encryption_key 'alias' FROM t",
            "SELECT a, encryption_key 'alias' FROM t",
            "SELECT * FROM (SELECT a, encryption_key 'alias' FROM t)",
            "SELECT 'ENCRYPTION_KEY', (encryption_key = 'x') FROM t",
            "CREATE TABLE t (encryption_key VARCHAR DEFAULT 'x')",
            "INSERT INTO t (encryption_key) VALUES ('x')",
            "ALTER TABLE t ADD COLUMN encryption_key VARCHAR DEFAULT 'x'",
            "ATTACH 'f' (ENCRYPTION_KEY, ENCRYPTION_KEY $1)",
        ] {
            assert_eq!(taken(sql), (sql.to_string(), vec![]));
        }
    }

    proptest::proptest! {
        #[test]
        fn never_panics(rest in r#"[ =]?[ '$a"Eé:\\(),=/*-]{0,20}"#) {
            for head in ["ATTACH (ENCRYPTION_KEY", "(ENCRYPTION_KEY"] {
                let sql = format!("{head}{rest}");
                let (text, keys) = KeyLiterals::take_out_of(&sql);
                proptest::prop_assert_eq!(text.matches("<key ").count(), keys.0.len());
            }
        }
    }
}
