//! `hush keys`: the key slots of an encrypted file.
//!
//! Only the file header and the superblock are written, so the time does not depend on the size of the database. A
//! removed key is refused by honest software; whoever kept an old copy of the header and its key can still derive the
//! master key, and only new data keys would lock such a person out. That is said after each removal and change.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use hushdb::KeySource;
use hushdb::files::CryptoProvider;
use hushdb::files::keys::providers::PromptKey;
use hushdb::files::keys::{
    KdfBudget, KeyAttempt, KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind,
    SLOT_COUNT, SlotOptions, Stretch,
};
use hushdb::files::storage::{Error as StorageError, Store, StoreOptions};

use crate::arguments::{FileArguments, KeysCommand};
use crate::failure::{Failure, say};
use crate::inspect;
use crate::key_options::NewKeyOptions;
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
            new_key,
            label,
        } => {
            let store = open(file)?;
            let provider = Timed::new(new_key)?;
            let options = labelled(label.clone());
            let started = Instant::now();
            let slot = store.blocks().change_header(|header, crypto, keys| {
                header.add_slot(crypto, keys, &provider, &options)
            })?;
            let took = provider.without_waiting(started.elapsed());
            file.freshness.keep(&store.anchor()?)?;
            writeln!(
                out,
                "Added key slot {slot} in {}; no data was rewritten.",
                shown(took)
            )?;
        }
        KeysCommand::Remove { file, slot } => {
            let store = open(file)?;
            let started = Instant::now();
            store
                .blocks()
                .change_header(|header, crypto, keys| header.remove_slot(crypto, keys, *slot))?;
            let took = started.elapsed();
            file.freshness.keep(&store.anchor()?)?;
            writeln!(
                out,
                "Removed key slot {slot} in {}; no data was rewritten.",
                shown(took)
            )?;
            writeln!(out, "{REMOVED}")?;
        }
        KeysCommand::Change {
            file,
            new_key,
            slot,
        } => {
            let store = open(file)?;
            let slots = store.blocks().header().slots();
            let slot = match (slot, slots.as_slice()) {
                (Some(slot), _) => *slot,
                (None, [only]) => only.slot,
                (None, _) => {
                    let text = format!(
                        "{} key slots are in use: say which one with --slot",
                        slots.len()
                    );
                    return Err(Failure::Message(text));
                }
            };
            let label = slots
                .iter()
                .find(|info| info.slot == slot)
                .map(|info| info.label.clone());
            let provider = Timed::new(new_key)?;
            let options = labelled(label.unwrap_or_default());
            let started = Instant::now();
            store.blocks().change_header(|header, crypto, keys| {
                header.change_slot(crypto, keys, slot, &provider, &options)
            })?;
            let took = provider.without_waiting(started.elapsed());
            file.freshness.keep(&store.anchor()?)?;
            writeln!(
                out,
                "Changed key slot {slot} in {}; no data was rewritten.",
                shown(took)
            )?;
            writeln!(out, "{REMOVED}")?;
        }
        KeysCommand::Verify { file, slot } => verify(&mut out, file, *slot)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Tries a key on the newest copy of the header. The file may be open elsewhere.
fn verify(out: &mut Sink, file: &FileArguments, slot: Option<usize>) -> Result<(), Failure> {
    let copies = inspect::header_copies(&file.file)?;
    let newest = inspect::readable(&copies)?;
    let in_use = |slot: usize| newest.slots().iter().any(|known| known.slot == slot);
    if let Some(slot) = slot.filter(|slot| !in_use(*slot)) {
        let text = format!("there is no key slot {slot}: list the slots");
        return Err(Failure::Message(text));
    }
    let provider = file.key.required()?.provider();
    let mut attempt = KeyAttempt::new(&*provider, KdfBudget::default());
    if let Some(slot) = slot {
        attempt = attempt.with_slot(slot);
    }
    let started = Instant::now();
    newest
        .unlock(&CryptoProvider::aws_lc(), &mut attempt)
        .map_err(StorageError::from)?;
    let took = shown(started.elapsed());
    let slot = attempt.opened().unwrap_or_default();
    let kind = provider.kind();
    writeln!(out, "Key slot {slot} opens by {kind}; it took {took}.")?;
    Ok(())
}

fn list(out: &mut Sink, file: &Path) -> Result<(), Failure> {
    let copies = inspect::header_copies(file)?;
    let header = inspect::readable(&copies)?;
    if !header.suite().is_encrypted() {
        return Err(Failure::Message(format!(
            "{} is not encrypted: it has no key slots",
            file.display()
        )));
    }
    let slots = header.slots();
    writeln!(out, "{} of {SLOT_COUNT} key slots in use", slots.len())?;
    for slot in &slots {
        writeln!(out, "  slot {}", inspect::slot_text(slot))?;
    }
    Ok(())
}

fn open(arguments: &FileArguments) -> Result<Arc<Store>, Failure> {
    let copies = inspect::header_copies(&arguments.file)?;
    if !inspect::readable(&copies)?.suite().is_encrypted() {
        let text = format!(
            "Not Encrypted: {} is a plain database: it has no key slots",
            arguments.file.display()
        );
        return Err(Failure::Message(text));
    }
    let provider = arguments.key.required()?.provider();
    let options = StoreOptions {
        freshness: arguments.freshness.freshness(true)?,
        ..StoreOptions::default()
    };
    // With its log, which an anchor may be about, and which nobody else is to find open under a key that was changed.
    let store = Store::open_path(&arguments.file, Some(&*provider), &options)?;
    for notice in store.notices() {
        say(&format!(
            "Notice: {}: {notice}; it has been put right",
            arguments.file.display()
        ));
    }
    Ok(store)
}

fn labelled(label: String) -> SlotOptions {
    let stretch = Stretch::default();
    SlotOptions { label, stretch }
}

fn shown(took: Duration) -> String {
    format!("{:.1} ms", took.as_secs_f64() * 1000.0)
}

/// A provider that knows how long it took to get its key: typing and foreign commands are not part of the slot change.
struct Timed {
    provider: Arc<dyn KeyProvider>,
    waited: Mutex<Duration>,
}

impl Timed {
    fn new(options: &NewKeyOptions) -> Result<Self, Failure> {
        let provider: Arc<dyn KeyProvider> = match options.source()? {
            KeySource::Prompt => Arc::new(PromptKey::new("New key: ")),
            source => source.provider(),
        };
        Ok(Self {
            provider,
            waited: Mutex::new(Duration::ZERO),
        })
    }

    fn without_waiting(&self, total: Duration) -> Duration {
        total.saturating_sub(*self.waited.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl KeyProvider for Timed {
    fn kind(&self) -> ProviderKind {
        self.provider.kind()
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let started = Instant::now();
        let established = self.provider.establish(context);
        *self.waited.lock().unwrap_or_else(PoisonError::into_inner) += started.elapsed();
        established
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        self.provider.recover(context, blob)
    }

    fn keeps_blob(&self) -> bool {
        self.provider.keeps_blob()
    }
}
