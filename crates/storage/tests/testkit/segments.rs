//! Column segments, sealed again with what no writer writes.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, Int64Array};
use hushdb_storage::{ColumnType, Role, VortexCodec};

use super::cases::Cases;
use super::forge::{Forge, find, put};
use super::panicking;
use super::samples::{INDEXED, Sample, Samples};

/// Places in a segment's header, which has one part.
const FLAGS_AT: usize = 5;
const PARTS_AT: usize = 6;
const ENCODINGS_AT: usize = 7;
const ROWS_AT: usize = 8;
const PART_LEN_AT: usize = 12;
const CODES_AT: usize = 16;

pub(crate) fn add(cases: &mut Cases, samples: &Samples) {
    for (prefix, sound) in [("", &samples.tables), ("plain-", &samples.plain)] {
        headers(cases, prefix, sound);
        contents(cases, prefix, sound);
    }
}

fn headers(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        cases.forged(&format!("{prefix}segment-{name}"), sound, |forge| {
            forge.edit(Role::ColumnData, 0, |p| edit(p));
        });
    };
    forged("empty", &|p| p.clear());
    forged("codec-unknown", &|p| p[0] = 2);
    forged("version", &|p| p[1] = 2);
    forged("type-of-another-column", &|p| put(p, 2, &[13, 0, 0]));
    forged("type-unknown", &|p| p[2] = 99);
    forged("flags-unknown", &|p| p[FLAGS_AT] |= 2);
    forged("without-parts", &|p| p[PARTS_AT] = 0);
    forged("of-two-parts", &|p| p[PARTS_AT] = 2);
    forged("of-four-parts", &|p| p[PARTS_AT] = 4);
    forged("of-255-parts", &|p| p[PARTS_AT] = 255);
    forged("without-encodings", &|p| p[ENCODINGS_AT] = 0);
    forged("encodings-beyond-the-end", &|p| {
        p.truncate(60);
        p[ENCODINGS_AT] = 255;
    });
    forged("encoding-unknown", &|p| p[CODES_AT] = 200);
    forged("encoding-zero", &|p| p[CODES_AT] = 0);
    forged("encoding-of-another-kind", &|p| p[CODES_AT] = 15);
    forged("more-rows", &|p| p[ROWS_AT] += 1);
    forged("fewer-rows", &|p| p[ROWS_AT] -= 1);
    forged("rows-absurd", &|p| put(p, ROWS_AT, &[0xff; 4]));
    forged("part-length-absurd", &|p| put(p, PART_LEN_AT, &[0xff; 4]));
    forged("part-longer", &|p| p[PART_LEN_AT] += 1);
    forged("part-empty", &|p| {
        p.truncate(64);
        put(p, PART_LEN_AT, &[0; 4]);
    });
    forged("longer", &|p| p.push(0));
    forged("truncated", &|p| p.truncate(p.len() - 1));
    forged("only-its-header", &|p| p.truncate(64));
}

fn contents(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, nth: usize, edit: &dyn Fn(&mut Vec<u8>)| {
        cases.forged(&format!("{prefix}segment-{name}"), sound, |forge| {
            forge.edit(Role::ColumnData, nth, |p| edit(p));
        });
    };
    // The part ends with the length of its own description, which says how many rows and buffers there are.
    forged("description-length-absurd", 0, &|p| {
        let at = p.len() - 4;
        put(p, at, &[0xff; 4]);
    });
    forged("description-noise", 0, &|p| {
        let len = p.len();
        for (n, byte) in p[len - 60..len - 4].iter_mut().enumerate() {
            *byte = byte.wrapping_mul(31).wrapping_add(n as u8);
        }
    });
    forged("body-zeros", 0, &|p| p[64..].fill(0));
    forged("body-ones", 0, &|p| p[64..].fill(0xff));
    let text = |bytes: &'static [u8]| -> ArrayRef {
        Arc::new(BinaryViewArray::from_iter_values(vec![bytes; 10]))
    };
    let encode = |ty, array: &ArrayRef| VortexCodec::new().encode(&ty, array).unwrap().to_vec();
    for (name, bytes) in [
        ("short-text-not-utf-8", b"ab\xff".as_slice()),
        (
            "long-text-not-utf-8",
            b"a text of more than twelve bytes \xe4\xb8".as_slice(),
        ),
    ] {
        // Bytes whose segment says that they are text.
        forged(name, 1, &|p| {
            *p = encode(ColumnType::Blob, &text(bytes));
            p[2] = 13;
        });
    }
    forged("text-cut-in-a-character", 1, &|p| {
        if let Some(at) = find(p, b"text number") {
            p[at] = 0xff;
        } else {
            p[64..].fill(0xc3);
        }
    });
    let nulls: ArrayRef = Arc::new(Int64Array::from_iter((0..10).map(|n| (n > 4).then_some(n))));
    forged("nulls-where-none-are", 0, &|p| {
        *p = encode(ColumnType::Int64, &nulls)
    });
    forged("null-flag-dropped", 0, &|p| {
        *p = encode(ColumnType::Int64, &nulls);
        p[FLAGS_AT] = 0;
    });
    // Few bytes can stand for many rows: what a page says of the rows is what is decoded.
    let many: ArrayRef = Arc::new(Int64Array::from(vec![7; 1 << 20]));
    forged("of-a-million-rows", 0, &|p| {
        *p = encode(ColumnType::Int64, &many)
    });
    forged("of-a-million-rows-that-says-ten", 0, &|p| {
        *p = encode(ColumnType::Int64, &many);
        put(p, ROWS_AT, &10u32.to_le_bytes());
    });
    // A text column of as many rows as the indexed table has.
    let indexed = sound
        .parts
        .iter()
        .filter(|(role, _)| *role == Role::ColumnData)
        .count();
    let of_texts = |forge: &Forge, nth: usize| {
        let payload = forge.payload(Role::ColumnData, &forge.part(Role::ColumnData, nth));
        payload[2] == 13 && payload[ROWS_AT..ROWS_AT + 4] == (INDEXED as u32).to_le_bytes()
    };
    let forge = Forge::new(sound);
    let nth = (0..indexed).find(|nth| of_texts(&forge, *nth));
    forged("that-makes-the-library-panic", nth.unwrap(), &|p| {
        *p = panicking::segment(INDEXED as usize).1;
    });
    // The interval's three parts.
    forged("one-part-of-three", 3, &|p| p[PARTS_AT] = 1);
    forged("parts-of-uneven-length", 3, &|p| {
        let first = p[PART_LEN_AT];
        p[PART_LEN_AT] = first.wrapping_sub(64);
        p[PART_LEN_AT + 4] = p[PART_LEN_AT + 4].wrapping_add(64);
    });
}
