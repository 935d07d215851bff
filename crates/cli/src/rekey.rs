//! `hush rekey`: seals all blocks of an encrypted file anew, under another master key and data key; with `--data` under another
//! data key alone, and the master key and the key slots stay.
//!
//! Each step is durable by itself: whoever interrupts it begins again with `hush rekey --data`, which goes on. What old copies of
//! the file hold is out of reach, and with `--data` who can derive the master key; both are said at the end.

use std::io::Write;
use std::process::ExitCode;

use hushdb::KeySource;
use hushdb::keys::{SlotOptions, SlotPlan};
use hushdb::maintenance::{
    DatabaseFile, FileHeader, KeySlot, MasterKeyChange, SealingPhase, SealingProgress,
};
use indicatif::ProgressBar;

use crate::arguments::RekeyArguments;
use crate::cpu_time;
use crate::failure::Failure;
use crate::keys;
use crate::output::Sink;
use crate::progress;

const LEFT: &str = "Copies of the file made before hold the data under the old key still, and the old master key opens the new \
    data key: who knows a removed password and has an old copy is not locked out by this.";

const KEPT: &str = "Copies of the file made before still open with the old keys, as they were. A slot that was kept opens them too: \
    --expected-key refuses one that is put in the place of this file.";

const BAR: &str = "{bar:40} {percent:>3} % {msg}";

fn show(bar: &ProgressBar, now: SealingProgress) {
    let share = match now.all_bytes {
        0 => 1.0,
        all => now.done_bytes as f64 / all as f64,
    };
    bar.set_position(progress::position(share));
    bar.set_message(said_of(now));
}

fn said_of(now: SealingProgress) -> String {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let (done, all) = (mib(now.done_bytes), mib(now.all_bytes));
    match now.phase {
        SealingPhase::Moving => format!("sealed anew: {done:.0} of {all:.0} MiB"),
        SealingPhase::Waiting => "sealed anew; waits for who reads what was before".to_owned(),
        SealingPhase::Overwriting => {
            format!("of what is free overwritten: {done:.0} of {all:.0} MiB")
        }
    }
}

/// Runs it.
///
/// # Errors
/// What keeps the file from opening or from being written; what was sealed anew stays so.
pub(crate) fn run(arguments: &RekeyArguments) -> Result<ExitCode, Failure> {
    match arguments.data {
        true => data_key(arguments),
        false => master_key(arguments),
    }
}

fn data_key(arguments: &RekeyArguments) -> Result<ExitCode, Failure> {
    let started = cpu_time::now();
    let opened = keys::open(&arguments.file)?;
    let bar = progress::bar(BAR);
    let done = opened.rotate_data_key(&mut |now| show(&bar, now));
    bar.finish_and_clear();
    let change = done?;
    arguments.file.freshness.keep(&opened.anchor()?)?;
    let mut out = Sink::standard();
    let what = match change.began {
        true => "All blocks are under a new data key",
        false => "What an earlier run left is done: all blocks are under the new data key",
    };
    writeln!(
        out,
        "{what}: {:.1} MiB in {:.1} s.",
        change.bytes as f64 / f64::from(1 << 20),
        started.elapsed().as_secs_f64()
    )?;
    writeln!(out, "{LEFT}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn master_key(arguments: &RekeyArguments) -> Result<ExitCode, Failure> {
    let started = cpu_time::now();
    // Before it is opened: to close another handle of an open file gives up locks.
    let slots = FileHeader::read(&arguments.file.file)?.slots;
    let opened = keys::open(&arguments.file)?;
    let change = changed(&opened, &slots, arguments)?;
    arguments.file.freshness.keep(&opened.anchor()?)?;
    let mut out = Sink::standard();
    writeln!(
        out,
        "All blocks are under a new master key and data key: {:.1} MiB in {:.1} s.",
        change.bytes as f64 / f64::from(1 << 20),
        started.elapsed().as_secs_f64()
    )?;
    out.write_all(b"The commitment of the new master key, for --expected-key: ")?;
    for byte in change.commitment {
        write!(out, "{byte:02x}")?;
    }
    writeln!(out, "\n{KEPT}")?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Changes the master key, in the slots that the arguments say.
fn changed(
    opened: &DatabaseFile,
    slots: &[KeySlot],
    arguments: &RekeyArguments,
) -> Result<MasterKeyChange, Failure> {
    let slot = match (arguments.slot, slots) {
        (Some(slot), _) => slot,
        (None, [only]) => only.number,
        (None, several) => {
            return Err(Failure::Message(format!(
                "{} key slots are in use: say with --slot whose key it is, and with --drop-slot which others go; \
                 ALTER DATABASE ... REKEY keeps several",
                several.len()
            )));
        }
    };
    let key = arguments.file.key.required()?.provider();
    let new_key = arguments.new_key.is_given();
    let new_key = new_key.then(|| arguments.new_key.source()).transpose()?;
    let new_key = new_key.as_ref().map(KeySource::provider_of_new_key);
    let known = slots.iter().find(|known| known.number == slot);
    let options = SlotOptions {
        label: known.map(|known| known.label.clone()).unwrap_or_default(),
        ..SlotOptions::default()
    };
    let mut plan: Vec<SlotPlan<'_>> = match &new_key {
        Some(new_key) => vec![
            SlotPlan::Drop { slot },
            SlotPlan::Add {
                key: &**new_key,
                options,
            },
        ],
        None => vec![SlotPlan::Keep { slot, key: &*key }],
    };
    let dropped = arguments.drop_slot.iter();
    plan.extend(dropped.map(|slot| SlotPlan::Drop { slot: *slot }));
    let bar = progress::bar(BAR);
    let done = opened.rekey(&plan, &mut |now| show(&bar, now));
    bar.finish_and_clear();
    Ok(done?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_says_what_is_under_way() {
        let said = |phase| {
            said_of(SealingProgress {
                phase,
                done_bytes: 3 << 20,
                all_bytes: 10 << 20,
            })
        };
        assert_eq!(said(SealingPhase::Moving), "sealed anew: 3 of 10 MiB");
        assert!(said(SealingPhase::Overwriting).contains("overwritten: 3 of 10 MiB"));
        assert!(said(SealingPhase::Waiting).contains("waits"));
    }
}
