//! `KeyUrl`: a URL of a place, in parts, before anybody knows whether its scheme can do with them.
//!
//! RFC 3986 in what is needed: `scheme:[//authority]path[?name=value&...]`, values and paths percent-encoded. Fragments, users and
//! passwords are refused.

use crate::PlaceError;

/// Most bytes of a URL.
const MAX_URL_LEN: usize = 4096;

/// The parts of a URL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct KeyUrl {
    /// In small letters.
    pub(crate) scheme: String,
    /// What stands between `//` and the path; `None` without `//`.
    pub(crate) authority: Option<String>,
    /// Not decoded yet: a scheme splits it first.
    pub(crate) path: String,
    /// Decoded, in their order.
    pub(crate) parameters: Vec<(String, String)>,
}

impl KeyUrl {
    /// Takes a URL apart. Never panics, whatever it is given.
    pub(crate) fn parse(url: &str) -> Result<Self, PlaceError> {
        let allowed = |c: char| c.is_ascii_graphic() && !"<>\"\\^`{|}#".contains(c);
        let (scheme, rest) = url.split_once(':').ok_or(PlaceError::NotAUrl)?;
        let scheme_is_word = !scheme.is_empty()
            && scheme.len() <= 16
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-');
        if url.len() > MAX_URL_LEN || !scheme_is_word || !url.chars().all(allowed) {
            return Err(PlaceError::NotAUrl);
        }
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (Some(rest[..end].to_owned()), rest[end..].to_owned())
            }
            None => (None, rest.to_owned()),
        };
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            authority,
            path,
            parameters: match query {
                Some(query) => parameters(query, '&')?,
                None => Vec::new(),
            },
        })
    }

    /// The authority, which must not have a user or password.
    pub(crate) fn host(&self, instead: &'static str) -> Result<&str, PlaceError> {
        let authority = self.authority.as_deref().unwrap_or_default();
        match authority.contains('@') {
            true => Err(PlaceError::CredentialsInUrl { instead }),
            false => Ok(authority),
        }
    }

    /// Takes a parameter out.
    pub(crate) fn take(&mut self, name: &str) -> Result<Option<String>, PlaceError> {
        let mut all = self.take_all(name);
        match all.len() {
            0 | 1 => Ok(all.pop()),
            _ => Err(PlaceError::RepeatedParameter {
                parameter: name.to_owned(),
            }),
        }
    }

    /// Takes all parameters of a name out.
    pub(crate) fn take_all(&mut self, name: &str) -> Vec<String> {
        let of_name = self.parameters.extract_if(.., |(it, _)| it == name);
        of_name.map(|(_, value)| value).collect()
    }

    /// Refuses what nobody has taken.
    pub(crate) fn finish(self, scheme: &'static str) -> Result<(), PlaceError> {
        match self.parameters.into_iter().next() {
            None => Ok(()),
            Some((name, _)) => Err(PlaceError::UnknownParameter {
                scheme,
                parameter: shown_name(name),
            }),
        }
    }
}

/// A name that may be repeated: what is no short word may be a secret that went astray.
pub(crate) fn shown_name(name: String) -> String {
    let is_word = name.len() <= 24 && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    match is_word && !name.is_empty() {
        true => name,
        false => "of that name".to_owned(),
    }
}

/// `name=value` pairs, decoded.
pub(crate) fn parameters(text: &str, separator: char) -> Result<Vec<(String, String)>, PlaceError> {
    let pairs = text.split(separator).filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    });
    pairs.collect()
}

/// Undoes percent-encoding (RFC 3986, section 2.1). What it gives is text without control characters.
pub(crate) fn decoded(text: &str) -> Result<String, PlaceError> {
    match String::from_utf8(decoded_bytes(text)?) {
        Ok(text) if !text.chars().any(char::is_control) => Ok(text),
        _ => Err(PlaceError::NotAUrl),
    }
}

/// The same for what may be any bytes.
pub(crate) fn decoded_bytes(text: &str) -> Result<Vec<u8>, PlaceError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, behind) = rest.split_at_checked(2).ok_or(PlaceError::NotAUrl)?;
        let digit = |at: usize| char::from(digits[at]).to_digit(16);
        let (high, low) = digit(0).zip(digit(1)).ok_or(PlaceError::NotAUrl)?;
        bytes.push((high * 16 + low) as u8);
        rest = behind;
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_url_comes_apart() {
        let mut url = KeyUrl::parse("VAULT://h:1/transit/a%20b?x=1%3d2&y&x=3").unwrap();
        assert_eq!(url.scheme, "vault");
        assert_eq!(url.host("").unwrap(), "h:1");
        assert_eq!(decoded(&url.path).unwrap(), "/transit/a b");
        assert_eq!(
            url.take("x"),
            Err(PlaceError::RepeatedParameter {
                parameter: "x".into()
            })
        );
        assert_eq!(
            url.finish("vault"),
            Err(PlaceError::UnknownParameter {
                scheme: "vault",
                parameter: "y".into()
            })
        );
        let url = KeyUrl::parse("exec:/bin/x").unwrap();
        assert_eq!((url.authority, &*url.path), (None, "/bin/x"));
    }

    #[test]
    fn what_is_no_url_is_refused_and_repeated_nowhere() {
        for text in [
            "sesame",
            "open sesame",
            ":sesame",
            "vault://h/sesame%2",
            "vault://h/a#sesame",
            "vault://h/a?b=%zzsesame",
            "vault://h/a?sesame=%00",
            "sesame\u{e9}:x",
        ] {
            let refused = KeyUrl::parse(text).and_then(|url| decoded(&url.path).map(drop));
            let error = refused.unwrap_err();
            assert_eq!(error, PlaceError::NotAUrl, "{text}");
            assert!(!error.to_string().contains("sesame"));
        }
        let url = KeyUrl::parse("vault://me:sesame@h/transit/a").unwrap();
        let error = url.host("say it elsewhere").unwrap_err();
        assert!(!error.to_string().contains("sesame"), "{error}");
        let url = KeyUrl::parse("vault://h/a?hvs.Sesame").unwrap();
        let error = url.finish("vault").unwrap_err();
        assert!(!error.to_string().contains("Sesame"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,80}") {
            let _ = KeyUrl::parse(&text);
        }

        #[test]
        fn nearly_urls_do_not_either(text in "(vault|exec|kmip|pkcs11):(//)?[a-z@:/?&=%0-9]{0,60}") {
            let _ = crate::Places::new(crate::Environment::of::<&str, &str>([])).provider(&text);
        }
    }
}
