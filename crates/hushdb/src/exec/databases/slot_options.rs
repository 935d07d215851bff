//! The options of a key slot in ALTER DATABASE: where its key comes from, and its label.
//!
//! What must hold: no error repeats a key, nor where it comes from.

use super::attach::{key_source, read_key_file, text_of, unknown_cipher};
use crate::key_source::KeySource;
use crate::options::Cipher;
use crate::session::Session;
use hushdb_sql::{AttachOption, Error, Result};

/// The key's source, and the label where a slot may be given one.
pub(in crate::exec) fn read_options(
    session: &Session,
    options: &[AttachOption],
    may_label: bool,
) -> Result<(KeySource, Option<String>)> {
    let (mut key, mut label, mut key_file) = (None, None, None);
    for option in options {
        if option.name == "key_file" {
            read_key_file(option, &mut key_file)?;
        } else if let Some(source) = key_source(option, &session.instance.key_services)? {
            if key.replace(source).is_some() {
                return Err(Error::binder("give the key in one way only"));
            }
        } else if option.name == "label" && may_label && label.is_none() {
            label = Some(text_of(option)?);
        } else {
            return Err(unknown_option(may_label));
        }
    }
    let key: KeySource =
        key.ok_or_else(|| Error::binder("say where the key comes from: ENCRYPTION_KEY"))?;
    Ok((key.with_key_file(key_file), label))
}

/// As [`read_options`] with a label, for the first key slot of a database: and how it is to be sealed.
pub(in crate::exec) fn read_first_options(
    session: &Session,
    options: &[AttachOption],
) -> Result<(KeySource, Option<String>, Cipher)> {
    let is_cipher = |option: &&AttachOption| option.name == "encryption_cipher";
    let mut ciphers = options.iter().filter(is_cipher);
    let cipher = match (ciphers.next(), ciphers.next()) {
        (None, _) => Cipher::default(),
        (Some(cipher), None) => Cipher::by_name(&text_of(cipher)?).ok_or_else(unknown_cipher)?,
        _ => return Err(Error::binder("give ENCRYPTION_CIPHER once")),
    };
    let of_slot = options.iter().filter(|option| !is_cipher(option));
    let of_slot: Vec<AttachOption> = of_slot.cloned().collect();
    let (key, label) = read_options(session, &of_slot, true)?;
    Ok((key, label, cipher))
}

/// Without its name: what stands in its place may be a key.
fn unknown_option(may_label: bool) -> Error {
    let label = if may_label { ", and LABEL once" } else { "" };
    Error::binder(format!(
        "Unrecognized option of a key slot; there are ENCRYPTION_KEY, ENCRYPTION_KEY_ENV, ENCRYPTION_KEY_FILE, \
         ENCRYPTION_KEY_COMMAND and KEY_FILE{label}"
    ))
}
