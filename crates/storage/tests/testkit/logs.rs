//! The log beside the file: missing, another one, its header and its records edited without the key.

use super::cases::{Cases, Given};
use super::forge::put;
use super::log_forge::{HEADER_BYTES, LogForge, lsns, number, seal_head};
use super::samples::{LOGGED, Sample, Samples};

pub(crate) fn add(cases: &mut Cases, samples: &Samples) {
    others(cases, samples);
    for (prefix, sound) in [("", &samples.logged), ("plain-", &samples.plain_logged)] {
        header_bytes(cases, prefix, sound);
        tails(cases, prefix, sound);
        records(cases, prefix, sound);
        heads(cases, prefix, sound);
    }
    headers_with_key(cases, samples);
    leftovers(cases, samples);
}

/// A case of a file of `sound` with another log beside it.
fn beside(cases: &mut Cases, name: &str, sound: &Sample, log: Option<Vec<u8>>) {
    let given = match sound.file[10] {
        0 => Given::Nothing,
        _ => Given::Key,
    };
    cases.with(name, sound.file.clone(), log, given);
}

pub(crate) fn edited(
    cases: &mut Cases,
    name: &str,
    sound: &Sample,
    edit: impl FnOnce(&mut Vec<u8>),
) {
    let mut log = sound.log.clone().unwrap_or_default();
    let before = log.clone();
    edit(&mut log);
    assert!(log != before, "{name}: the edit changes something");
    beside(cases, name, sound, Some(log.clone()));
    if name.contains("header") || name.contains("tail") {
        cases.seed(Some("log"), log);
    }
}

fn others(cases: &mut Cases, samples: &Samples) {
    let sound = &samples.logged;
    beside(cases, "log-sound", sound, sound.log.clone());
    beside(
        cases,
        "plain-log-sound",
        &samples.plain_logged,
        samples.plain_logged.log.clone(),
    );
    beside(cases, "log-missing", sound, None);
    beside(cases, "plain-log-missing", &samples.plain_logged, None);
    beside(
        cases,
        "log-of-another-database",
        sound,
        samples.other_logged.log.clone(),
    );
    beside(
        cases,
        "log-later-one",
        sound,
        samples.logged_next.log.clone(),
    );
    beside(
        cases,
        "log-earlier-one",
        &samples.logged_next,
        sound.log.clone(),
    );
    beside(
        cases,
        "log-plain-beside-encrypted",
        sound,
        samples.plain_logged.log.clone(),
    );
    beside(
        cases,
        "log-encrypted-beside-plain",
        &samples.plain_logged,
        sound.log.clone(),
    );
    beside(cases, "log-empty", sound, Some(Vec::new()));
    beside(cases, "log-zeros", sound, Some(vec![0; 4096]));
    beside(cases, "log-a-database", sound, Some(sound.file.clone()));
    beside(
        cases,
        "log-text",
        sound,
        Some(b"-- not a log\n".repeat(100)),
    );
}

fn header_bytes(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let fields = [
        ("magic", 0, 1),
        ("version", 4, 3),
        ("version-zero", 4, 1),
        ("suite", 5, 1),
        ("suite-unknown", 5, 6),
        ("reserved", 6, 1),
        ("sequence", 8, 1),
        ("database-id", 16, 1),
        ("generation", 32, 1),
        ("chain-tag", 40, 1),
        ("key-id", 56, 3),
        ("reserved-behind-key-id", 60, 1),
        ("salt", 64, 1),
        ("mac", 80, 1),
        ("reserved-at-the-end", 127, 1),
    ];
    for (name, at, flip) in fields {
        edited(cases, &format!("{prefix}log-header-{name}"), sound, |log| {
            log[at] ^= flip
        });
    }
    edited(cases, &format!("{prefix}log-header-cut"), sound, |log| {
        log.truncate(127)
    });
}

fn tails(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let at = lsns(sound.log.as_deref().unwrap_or_default());
    let (last, end) = (at[LOGGED - 1], at[LOGGED]);
    let mut edited = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        self::edited(cases, &format!("{prefix}log-tail-{name}"), sound, |log| {
            edit(log)
        });
    };
    edited("cut-to-the-header", &|log| log.truncate(HEADER_BYTES));
    edited("last-record-cut-off", &|log| log.truncate(last));
    edited("last-record-torn", &|log| log.truncate(end - 10));
    edited("last-record-head-only", &|log| log.truncate(last + 40));
    edited("last-record-in-part", &|log| log[last + 64..end].fill(0));
    edited("last-record-flipped", &|log| log[end - 30] ^= 1);
    edited("noise", &|log| log.extend_from_slice(&[0x5a; 1000]));
    edited("zeros", &|log| log.extend_from_slice(&[0; 1 << 16]));
    edited("length-absurd", &|log| {
        // The head of a record that never was.
        let mut head = vec![0; 64];
        put(&mut head, 0, &((64u32 << 20) - 56).to_le_bytes());
        put(&mut head, 8, &(end as u64).to_le_bytes());
        put(&mut head, 16, &(end as u64).to_le_bytes());
        seal_head(&mut head, 0);
        log.extend_from_slice(&head);
    });
}

fn records(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let at = lsns(sound.log.as_deref().unwrap_or_default());
    let mut edited = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        self::edited(cases, &format!("{prefix}log-record-{name}"), sound, |log| {
            edit(log)
        });
    };
    edited("damaged", &|log| log[at[1] + 50] ^= 1);
    edited("head-damaged", &|log| log[at[1] + 10] ^= 1);
    edited("tag-damaged", &|log| log[at[2] - 1] ^= 1);
    edited("nonce-damaged", &|log| log[at[1] + 24] ^= 1);
    edited("first-damaged", &|log| log[at[0] + 50] ^= 1);
    edited("zeros", &|log| log[at[1]..at[2]].fill(0));
    edited("dropped", &|log| drop(log.drain(at[1]..at[2])));
    edited("first-dropped", &|log| drop(log.drain(at[0]..at[1])));
    edited("repeated", &|log| {
        let record = log[at[0]..at[1]].to_vec();
        log.splice(at[1]..at[1], record);
    });
    edited("last-repeated", &|log| log.extend_from_within(at[3]..at[4]));
    edited("in-the-place-of-the-next", &|log| {
        log.copy_within(at[1]..at[2], at[2])
    });
    edited("reordered", &|log| {
        let [first, second] = [1, 2].map(|n| log[at[n]..at[n + 1]].to_vec());
        put(log, at[1], &[second, first].concat());
    });
    let mut spliced = LogForge::new(sound);
    spliced.records.swap(0, 1);
    // Another log of this database, sealed with its key: its records do not chain here.
    spliced.header[64] ^= 1;
    let other = spliced.bytes();
    edited("spliced", &|log| put(log, at[1], &other[at[1]..at[2]]));
}

/// Heads with a checksum that holds.
fn heads(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let at = lsns(sound.log.as_deref().unwrap_or_default());
    let mut edited = |name: &str, offset: usize, new: &[u8]| {
        let name = format!("{prefix}log-record-head-{name}");
        self::edited(cases, &name, sound, |log| {
            put(log, at[1] + offset, new);
            seal_head(log, at[1]);
        });
    };
    let before = (at[0] as u64).to_le_bytes();
    let after = (at[2] as u64).to_le_bytes();
    edited("length-zero", 0, &[0; 4]);
    edited("length-uneven", 0, &[73, 0, 0, 0]);
    edited("length-absurd", 0, &[0xff; 4]);
    edited(
        "length-beyond-the-end",
        0,
        &((64u32 << 20) - 56).to_le_bytes(),
    );
    edited(
        "length-over-the-next",
        0,
        &((at[3] - at[1] - 56) as u32).to_le_bytes(),
    );
    edited("flags", 4, &[1]);
    edited("reserved", 5, &[1]);
    edited("lsn-before", 8, &before);
    edited("lsn-after", 8, &after);
    edited("durable-ahead", 16, &after);
    edited("durable-back", 16, &before);
    edited("durable-beyond-u64", 16, &[0xff; 8]);
    edited("nonce", 24, &[7; 12]);
}

fn headers_with_key(cases: &mut Cases, samples: &Samples) {
    for (prefix, sound) in [("", &samples.logged), ("plain-", &samples.plain_logged)] {
        let mut forged = |name: &str, at: usize, new: &[u8]| {
            let mut forge = LogForge::new(sound);
            put(&mut forge.header, at, new);
            let name = format!("{prefix}log-forged-{name}");
            beside(cases, &name, sound, Some(forge.bytes()));
        };
        let header = &sound.log.as_ref().expect("a log")[..HEADER_BYTES];
        forged("sound", 0, &[]);
        forged("sequence", 8, &(number(header, 8) + 1).to_le_bytes());
        forged("sequence-absurd", 8, &[0xff; 8]);
        forged(
            "generation-earlier",
            32,
            &(number(header, 32) - 1).to_le_bytes(),
        );
        forged(
            "generation-later",
            32,
            &(number(header, 32) + 1).to_le_bytes(),
        );
        forged("generation-absurd", 32, &[0xff; 8]);
        forged("chain-tag", 40, &[7; 16]);
        forged("salt", 64, &[7; 16]);
        forged("reserved", 96, &[1]);
    }
}

/// Logs that the superblock does not name.
fn leftovers(cases: &mut Cases, samples: &Samples) {
    let sound = &samples.tables;
    beside(
        cases,
        "leftover-of-another-database",
        sound,
        samples.logged.log.clone(),
    );
    beside(
        cases,
        "leftover-plain",
        sound,
        samples.plain_logged.log.clone(),
    );
    beside(cases, "leftover-empty", sound, Some(Vec::new()));
    beside(cases, "leftover-noise", sound, Some(vec![0x5a; 500]));
    // The file before the log was named: the log has records, so that the file is older.
    let mut forge = LogForge::new(&samples.logged);
    for (name, ahead, records) in [
        ("leftover-ahead-with-records", 1, true),
        ("leftover-ahead-without-records", 1, false),
        ("leftover-two-ahead", 2, false),
        ("leftover-earlier", 0, true),
    ] {
        let superblock = |forge: &super::forge::Forge| forge.superblock();
        let closed = super::forge::Forge::new(&samples.logged);
        closed.edit_superblock(|payload| payload[184] = 0);
        let sequence = number(&superblock(&closed), 192) + ahead;
        put(&mut forge.header, 8, &sequence.to_le_bytes());
        if !records {
            forge.records.clear();
        }
        cases.with(name, closed.bytes(), Some(forge.bytes()), Given::Key);
        forge = LogForge::new(&samples.logged);
    }
}
