//! `hush keys`: the key slots of an encrypted file.
//!
//! Only the file header and the superblock are written, so the time does not depend on the size of the database. A
//! removed key is refused by honest software; whoever kept an old copy of the header and its key can still derive the
//! master key, and only new data keys would lock such a person out. That is said after each removal and change.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use hushdb::KeySource;
use hushdb::keys::{DatabaseId, KeyContext, KeyError, KeyMaterial, KeyProvider, NewRecoveryKey};
use hushdb::maintenance::{DatabaseFile, FileHeader, KEY_SLOTS, SlotChange, verify_slot};

use crate::arguments::{FileArguments, KeysCommand};
use crate::failure::{Failure, say};
use crate::key_options;
use crate::output::Sink;

const REMOVED: &str = "Copies of the file made before still open with the old key.";

/// Runs it.
///
/// # Errors
/// The refusals of opening and of slot changes.
pub(crate) fn run(command: &KeysCommand) -> Result<ExitCode, Failure> {
    let mut out = Sink::standard();
    match command {
        KeysCommand::List { file } => list(&mut out, file)?,
        KeysCommand::Add {
            file,
            recovery: true,
            label,
            ..
        } => {
            let opened = open(file)?;
            let key = NewRecoveryKey::random();
            let key = key.map_err(|error| Failure::Message(error.to_string()))?;
            let change = opened.add_slot(&key, label)?;
            done(&mut out, file, &opened, "Added", change)?;
            show_once(&mut out, &key)?;
        }
        KeysCommand::Add {
            file,
            new_key,
            recovery: false,
            label,
        } => {
            let opened = open(file)?;
            let key = new_key.source()?.provider_of_new_key();
            let change = opened.add_slot(&*key, label)?;
            done(&mut out, file, &opened, "Added", change)?;
        }
        KeysCommand::Remove { file, slot } => {
            let opened = open(file)?;
            let change = opened.remove_slot(*slot)?;
            done(&mut out, file, &opened, "Removed", change)?;
            writeln!(out, "{REMOVED}")?;
        }
        KeysCommand::Change {
            file,
            new_key,
            slot,
        } => {
            let opened = open(file)?;
            let key = new_key.source()?.provider_of_new_key();
            let change = opened.change_slot(*slot, &*key)?;
            done(&mut out, file, &opened, "Changed", change)?;
            writeln!(out, "{REMOVED}")?;
        }
        KeysCommand::Verify { file, slot } => verify(&mut out, file, *slot)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a recovery key whose slot is durable, and has a person who is there type it.
fn show_once(out: &mut Sink, key: &NewRecoveryKey) -> Result<(), Failure> {
    let text = key.text();
    out.write_all(b"The recovery key, which is shown once:\n\n    ")?;
    out.write_all(text.expose())?;
    out.write_all(
        b"\n\nKeep it on paper, away from the file. To open the file, give it as recovery: and the nine groups.\n",
    )?;
    out.flush()?;
    if !key_options::terminal() {
        return Ok(());
    }
    say("Type it once from the paper, with recovery: before it.");
    match (typed(), raw(key)) {
        (Ok(typed), Ok(shown)) if typed == shown => say("It is the key."),
        (Err(error), _) => say(&format!(
            "Notice: {error}. The slot has the key that is shown above: correct the paper, or remove the slot."
        )),
        _ => say(
            "Notice: that is another key. The slot has the one that is shown above: correct the paper, or remove the slot.",
        ),
    }
    Ok(())
}

fn typed() -> Result<KeyMaterial, KeyError> {
    raw(&*KeySource::Prompt.provider())
}

fn raw(key: &dyn KeyProvider) -> Result<KeyMaterial, KeyError> {
    let database_id = DatabaseId::from_bytes([0; 16]);
    key.recover(&KeyContext { database_id }, &[])
}

/// Tries a key on the newest copy of the header. The file may be open elsewhere.
fn verify(out: &mut Sink, file: &FileArguments, slot: Option<usize>) -> Result<(), Failure> {
    let key = file.key.required()?.provider();
    let opened = verify_slot(&file.file, slot, &*key)?;
    writeln!(
        out,
        "Key slot {} opens by {}; it took {}.",
        opened.slot,
        key.kind(),
        shown(opened.took)
    )?;
    Ok(())
}

/// Keeps the anchor, and says what was done.
fn done(
    out: &mut Sink,
    file: &FileArguments,
    opened: &DatabaseFile,
    verb: &str,
    change: SlotChange,
) -> Result<(), Failure> {
    file.freshness.keep(&opened.anchor()?)?;
    let (slot, took) = (change.slot, shown(change.took));
    writeln!(
        out,
        "{verb} key slot {slot} in {took}; no data was rewritten."
    )?;
    Ok(())
}

fn shown(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1000.0)
}

fn list(out: &mut Sink, file: &Path) -> Result<(), Failure> {
    let slots = encrypted(file)?.slots;
    writeln!(out, "{} of {KEY_SLOTS} key slots in use", slots.len())?;
    for slot in &slots {
        writeln!(out, "  slot {slot}")?;
    }
    Ok(())
}

/// The header of a file that has key slots.
fn encrypted(file: &Path) -> Result<FileHeader, Failure> {
    let header = FileHeader::read(file)?;
    match header.is_encrypted {
        true => Ok(header),
        false => Err(Failure::Message(format!(
            "Not Encrypted: {} is a plain database: it has no key slots",
            file.display()
        ))),
    }
}

/// Opens an encrypted file for writing, with its log.
///
/// # Errors
/// The refusals of opening, and a plain file.
pub(crate) fn open(arguments: &FileArguments) -> Result<DatabaseFile, Failure> {
    encrypted(&arguments.file)?;
    let key = arguments.key.required()?.provider();
    let freshness = arguments.freshness.freshness(true)?;
    let opened = DatabaseFile::open_for_keys(&arguments.file, &*key, freshness)?;
    for notice in opened.notices() {
        say(&format!(
            "Notice: {}: {}; it has been put right",
            arguments.file.display(),
            notice.text
        ));
    }
    Ok(opened)
}
