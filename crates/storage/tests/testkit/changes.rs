//! Log records, sealed again: what they say cannot be.

use super::cases::{Cases, Given};
use super::forge::put;
use super::log_forge::{HEADER_BYTES, LogForge, Record};
use super::samples::{Sample, Samples};

const ABSURD: [u8; 4] = [0xff; 4];

/// Places in the payload of a transaction that adds two rows of a BIGINT, a VARCHAR and a BOOLEAN.
const TRANSACTIONS_AT: usize = 1;
const CHANGES_AT: usize = 5;
const TABLE_ID_AT: usize = 9;
const NEXT_ROW_ID_AT: usize = 17;
const DELETED_AT: usize = 25;
const ADDED_AT: usize = 37;
const FIRST_ROW_ID_AT: usize = 41;
const ROWS_AT: usize = 49;
const DELETED_OF_THEM_AT: usize = 53;
const COLUMNS_AT: usize = 57;
const NUMBER_AT: usize = 61;
const TEXT_AT: usize = NUMBER_AT + 4 + 3 + 1 + 16;
/// Behind column id, type, flag, bit of each row: the lengths.
const LENGTHS_AT: usize = TEXT_AT + 4 + 3 + 1 + 1;
const FLAG_AT: usize = LENGTHS_AT + 8 + 10;

pub(crate) fn add(cases: &mut Cases, samples: &Samples) {
    for (prefix, sound) in [("", &samples.logged), ("plain-", &samples.plain_logged)] {
        records(cases, prefix, sound);
        payloads(cases, prefix, sound);
        sequences(cases, prefix, sound);
        rows(cases, prefix, sound);
    }
}

/// A case with the second record edited.
fn forged(cases: &mut Cases, name: &str, sound: &Sample, edit: impl FnOnce(&mut Record)) {
    let mut forge = LogForge::new(sound);
    edit(&mut forge.records[1]);
    let given = match sound.file[10] {
        0 => Given::Nothing,
        _ => Given::Key,
    };
    let log = forge.bytes();
    cases.with(name, sound.file.clone(), Some(log.clone()), given);
    match name.contains("change-") {
        true => cases.seed(Some("change"), forge.records[1].payload.clone()),
        false => cases.seed(Some("log_record"), log[HEADER_BYTES..].to_vec()),
    }
}

fn records(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: &dyn Fn(&mut Record)| {
        let name = format!("{prefix}record-{name}");
        self::forged(cases, &name, sound, |record| edit(record));
    };
    forged("flags", &|record| record.flags = 1);
    forged("reserved", &|record| record.reserved = 1);
    forged("durable-goes-back", &|record| record.durable_lsn = Some(1));
    forged("durable-ahead", &|record| {
        record.durable_lsn = Some(1 << 40)
    });
    forged("payload-length-absurd", &|record| {
        record.body = Some(vec![0xff; 72])
    });
    forged("payload-length-of-a-shorter-record", &|record| {
        record.body = Some([&[3, 0, 0, 0][..], &[0; 68]].concat());
    });
    forged("padding", &|record| {
        record.body = Some([&[9, 0, 0, 0][..], &[0; 66], &[1, 0]].concat());
    });
}

fn sequences(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        let name = format!("{prefix}change-{name}");
        self::forged(cases, &name, sound, |record| edit(&mut record.payload));
    };
    let sequence = |id: u64| {
        let mut bytes = vec![2, 1, 0, 0, 0];
        bytes.extend(ABSURD);
        bytes.extend(id.to_le_bytes());
        bytes.extend(1u64.to_le_bytes());
        bytes.extend(1i64.to_le_bytes());
        bytes.push(1);
        bytes
    };
    forged("sequence-unknown", &|p| *p = sequence(77));
    forged("sequence-truncated", &|p| {
        *p = sequence(1);
        p.pop();
    });
    forged("sequence-in-version-1", &|p| {
        *p = sequence(1);
        p[0] = 1;
    });
}

fn payloads(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        let name = format!("{prefix}change-{name}");
        self::forged(cases, &name, sound, |record| edit(&mut record.payload));
    };
    forged("empty", &|p| p.clear());
    forged("version", &|p| p[0] = 9);
    forged("truncated", &|p| p.truncate(p.len() - 1));
    forged("longer", &|p| p.push(0));
    forged("transaction-count-absurd", &|p| {
        put(p, TRANSACTIONS_AT, &ABSURD)
    });
    forged("change-count-absurd", &|p| put(p, CHANGES_AT, &ABSURD));
    forged("table-unknown", &|p| p[TABLE_ID_AT] = 99);
    forged("next-row-id-before-the-rows", &|p| {
        put(p, NEXT_ROW_ID_AT, &[0; 8])
    });
    forged("deleted-length-absurd", &|p| put(p, DELETED_AT, &ABSURD));
    forged("deleted-longer", &|p| {
        p[DELETED_AT] += 1;
        p.insert(DELETED_AT + 12, 0);
    });
    forged("deleted-count-absurd", &|p| {
        put(p, DELETED_AT + 4, &[0xff; 8])
    });
    // {high half, cookie, one container of rows key 0, values - 1, offset, value}
    let deleted = |p: &mut Vec<u8>, value: u16| {
        let mut bytes = 1u64.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[
            0, 0, 0, 0, 0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
        ]);
        bytes.extend_from_slice(&value.to_le_bytes());
        put(p, DELETED_AT, &(bytes.len() as u32).to_le_bytes());
        p.splice(DELETED_AT + 4..DELETED_AT + 12, bytes);
    };
    forged("deletes-a-row", &|p| deleted(p, 1));
    forged("deletes-a-row-that-is-not-there", &|p| deleted(p, 7));
    forged("deletes-more-than-is-ever-logged", &|p| {
        // Runs: five containers of 65,536 rows in a few bytes.
        let mut bytes = 1u64.to_le_bytes().to_vec();
        bytes.extend_from_slice(&[0, 0, 0, 0, 0x3b, 0x30, 4, 0, 0x1f]);
        (0..5u16).for_each(|key| bytes.extend_from_slice(&[key as u8, 0, 0xff, 0xff]));
        let mut offset = 4 + 1 + 20 + 20u32;
        for _ in 0..5 {
            bytes.extend_from_slice(&offset.to_le_bytes());
            offset += 6;
        }
        (0..5).for_each(|_| bytes.extend_from_slice(&[1, 0, 0, 0, 0xff, 0xff]));
        put(p, DELETED_AT, &(bytes.len() as u32).to_le_bytes());
        p.splice(DELETED_AT + 4..DELETED_AT + 12, bytes);
    });
    forged("added-count-absurd", &|p| put(p, ADDED_AT, &ABSURD));
}

fn rows(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        let name = format!("{prefix}change-{name}");
        self::forged(cases, &name, sound, |record| edit(&mut record.payload));
    };
    forged("rows-that-are-there-already", &|p| {
        put(p, FIRST_ROW_ID_AT, &[0; 8])
    });
    forged("row-ids-end", &|p| put(p, FIRST_ROW_ID_AT, &[0xff; 8]));
    forged("no-rows", &|p| put(p, ROWS_AT, &[0; 4]));
    forged("rows-absurd", &|p| put(p, ROWS_AT, &ABSURD));
    forged("rows-above-the-limit", &|p| {
        put(p, ROWS_AT, &((1u32 << 20) + 1).to_le_bytes())
    });
    forged("more-rows-than-values", &|p| p[ROWS_AT] = 200);
    forged("rows-without-values", &|p| {
        // A million rows of NULL in a few bytes.
        p.truncate(COLUMNS_AT);
        p.extend_from_slice(&[0; 4]);
        put(p, ROWS_AT, &(1u32 << 20).to_le_bytes());
    });
    forged("deleted-of-them-absurd", &|p| {
        put(p, DELETED_OF_THEM_AT, &ABSURD)
    });
    forged("deleted-of-them-all", &|p| {
        let mut bytes = vec![
            0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 16, 0, 0, 0, 0, 0, 1, 0,
        ];
        put(p, DELETED_OF_THEM_AT, &(bytes.len() as u32).to_le_bytes());
        bytes.reverse();
        bytes
            .into_iter()
            .for_each(|byte| p.insert(DELETED_OF_THEM_AT + 4, byte));
    });
    forged("column-count-absurd", &|p| put(p, COLUMNS_AT, &ABSURD));
    forged("column-unknown", &|p| p[FLAG_AT] = 9);
    forged("columns-out-of-order", &|p| p[NUMBER_AT] = 1);
    forged("type-unknown", &|p| p[NUMBER_AT + 4] = 99);
    forged("type-of-another-column", &|p| p[NUMBER_AT + 4] = 9);
    forged("null-flag", &|p| p[NUMBER_AT + 7] = 2);
    forged("text-length-absurd", &|p| put(p, LENGTHS_AT, &ABSURD));
    forged("text-length-short", &|p| p[LENGTHS_AT] -= 1);
    forged("text-not-utf-8", &|p| p[LENGTHS_AT + 8] = 0xff);
    forged("boolean-of-two", &|p| p[FLAG_AT + 8] = 2);
}
