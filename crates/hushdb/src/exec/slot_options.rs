//! The options of a key slot in ALTER DATABASE: where its key comes from, and its label.
//!
//! What must hold: no error repeats a key, nor where it comes from.

use super::attach::{key_source, read_key_file, text_of};
use crate::key_source::KeySource;
use crate::session::Session;
use hushdb_sql::{AttachOption, Error, Result};

/// The key's source, and the label where a slot may be given one.
pub(super) fn read_options(
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

/// Without its name: what stands in its place may be a key.
fn unknown_option(may_label: bool) -> Error {
    let label = if may_label { ", and LABEL once" } else { "" };
    Error::binder(format!(
        "Unrecognized option of a key slot; there are ENCRYPTION_KEY, ENCRYPTION_KEY_ENV, ENCRYPTION_KEY_FILE, \
         ENCRYPTION_KEY_COMMAND and KEY_FILE{label}"
    ))
}
