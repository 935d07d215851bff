//! Edits of sound files, by the dice.

use crate::dice::Dice;
use crate::parquet::File;
use crate::reading::Edited;
use crate::samples::{Sample, Samples};
use crate::thrift::{Kind, Place};

/// Values that code forgets.
const EXTREMES: [i64; 16] = [
    0,
    1,
    -1,
    2,
    63,
    127,
    -128,
    255,
    1 << 20,
    1 << 28,
    i32::MAX as i64,
    i32::MIN as i64,
    1 << 31,
    u32::MAX as i64,
    i64::MAX,
    i64::MIN,
];

/// Pieces that mean something in a text.
const PIECES: [&[u8]; 22] = [
    b"\0",
    b"\"",
    b"\"\"",
    b"'",
    b"\\",
    b"\\u0000",
    b"\\ud800",
    b",",
    b"|",
    b"\t",
    b"\n",
    b"\r",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"\xff",
    b"\xf4\x90\x80\x80",
    b"\xef\xbb\xbf",
    b"1e999",
    b"null",
];

/// A sample with an edit, or a few.
pub(crate) fn edited(samples: &Samples, dice: &mut Dice) -> Edited {
    // What is deep in a Parquet file wants more tries.
    if dice.below(5) < 3 {
        let sample = dice.pick(&samples.parquet);
        return match dice.below(8) {
            0..=2 => in_footer(sample, dice),
            3..=5 => in_page(sample, dice),
            _ => of_bytes(sample, dice),
        };
    }
    let sample = dice.pick(&samples.texts);
    match dice.below(2) {
        0 => of_bytes(sample, dice),
        _ => of_text(sample, dice),
    }
}

fn named(sample: &Sample, bytes: Vec<u8>, edit: String) -> Edited {
    Edited {
        ending: sample.ending,
        bytes,
        edit,
    }
}

/// An extreme in place of a length, a count or a number.
fn place_and_value<'a>(places: &'a [Place], dice: &mut Dice) -> (&'a Place, i64) {
    let place = dice.pick(places);
    let value = match place.kind {
        Kind::Field => 0,
        _ => *dice.pick(&EXTREMES),
    };
    (place, value)
}

fn in_footer(sample: &Sample, dice: &mut Dice) -> Edited {
    let file = File::new(&sample.bytes);
    let (place, value) = place_and_value(&file.places, dice);
    let edit = format!("footer {:?} {:?} = {value}", place.kind, place.path);
    named(sample, file.with_value(place, value), edit)
}

fn in_page(sample: &Sample, dice: &mut Dice) -> Edited {
    let file = File::new(&sample.bytes);
    let chunks = file.chunks();
    let at = dice.below(chunks.len());
    let chunk = &chunks[at];
    let number = dice.below(chunk.pages.len());
    let page = &chunk.pages[number];
    if dice.below(2) == 0 || page.data.is_empty() {
        let (place, value) = place_and_value(&page.places, dice);
        let bytes = chunk.with_value(place, value);
        let edit = format!(
            "column {at}, page {number}: {:?} {:?} = {value}",
            place.kind, place.path
        );
        return named(sample, file.with_chunk(chunk, &bytes), edit);
    }
    let mut bytes = chunk.bytes.clone();
    let place = page.data.start + dice.below(page.data.len());
    bytes[place] = match dice.below(2) {
        0 => bytes[place] ^ (1 << dice.below(8)),
        _ => *dice.pick(&[0, 0x7f, 0x80, 0xff]),
    };
    let edit = format!("column {at}, page {number}: byte {place} changed");
    named(sample, file.with_chunk(chunk, &bytes), edit)
}

/// What may be done to any file.
fn of_bytes(sample: &Sample, dice: &mut Dice) -> Edited {
    let mut bytes = sample.bytes.clone();
    let at = dice.below(bytes.len());
    let edit = match dice.below(5) {
        0 => {
            bytes.truncate(at);
            format!("cut to {at} bytes")
        }
        1 => {
            let flips = 1 + dice.below(4);
            for _ in 0..flips {
                let at = dice.below(bytes.len());
                bytes[at] ^= 1 << dice.below(8);
            }
            format!("{flips} bits flipped")
        }
        2 => {
            let len = dice.below(bytes.len() - at).min(2000);
            bytes.drain(at..at + len);
            format!("{len} bytes left out at {at}")
        }
        3 => {
            let len = dice.below(bytes.len() - at).min(2000);
            let copy = bytes[at..at + len].to_vec();
            let to = dice.below(bytes.len());
            bytes.splice(to..to, copy);
            format!("{len} bytes at {at} again at {to}")
        }
        _ => {
            let len = dice.below(bytes.len() - at).min(200);
            bytes[at..at + len].fill(*dice.pick(&[0, 0xff]));
            format!("{len} bytes overwritten at {at}")
        }
    };
    named(sample, bytes, edit)
}

/// Pieces put into a text, some of them very often.
fn of_text(sample: &Sample, dice: &mut Dice) -> Edited {
    let mut bytes = sample.bytes.clone();
    let mut edit = String::from("put in");
    for _ in 0..1 + dice.below(3) {
        let (piece, at) = (*dice.pick(&PIECES), dice.below(bytes.len()));
        let times = *dice.pick(&[1, 1, 1, 2, 130, 100_000]);
        bytes.splice(at..at, piece.repeat(times));
        edit.push_str(&format!(
            " {times} times {:?} at {at}",
            piece.escape_ascii().to_string()
        ));
    }
    named(sample, bytes, edit)
}
