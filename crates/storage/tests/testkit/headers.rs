//! Whole files, and the two copies of the file header.

use super::cases::{Cases, Given};
use super::forge::put;
use super::samples::{Sample, Samples};

const HEADERS: [usize; 2] = [0, 16_384];
const PAGE: usize = 4096;
const CRC_AT: usize = 4060;
const SLOT: usize = 256;

/// Changes header copies as someone would who knows the format but not the key.
fn edited(cases: &mut Cases, name: &str, sample: &Sample, copies: &[usize], at: usize, new: &[u8]) {
    cases.edited(name, sample, |file| {
        for copy in copies {
            let page = &mut file[HEADERS[*copy]..][..PAGE];
            put(page, at, new);
            let crc = crc32c::crc32c(&page[..CRC_AT]);
            put(page, CRC_AT, &crc.to_le_bytes());
        }
    });
    let page = cases.0.last().map(|case| case.file[..PAGE].to_vec());
    cases.seed(Some("file_header"), page.unwrap_or_default());
}

pub(crate) fn add(cases: &mut Cases, samples: &Samples) {
    files(cases, samples);
    fields(cases, &samples.tables);
    slots(cases, &samples.tables);
    copies(cases, samples);
}

fn files(cases: &mut Cases, samples: &Samples) {
    let sound = &samples.tables.file;
    cases.with("file-sound", sound.clone(), None, Given::Key);
    cases.with(
        "file-sound-plain",
        samples.plain.file.clone(),
        None,
        Given::Nothing,
    );
    cases.file("file-empty", Vec::new());
    cases.file("file-zeros", vec![0; sound.len()]);
    let mut state = 1u64;
    let noise = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    cases.file("file-random", noise.take(sound.len()).collect());
    cases.file("file-text", b"-- not a database\n".repeat(5000));
    cases.file("file-one-byte", sound[..1].to_vec());
    cases.file("file-cut-in-magic", sound[..5].to_vec());
    cases.file("file-cut-in-header", sound[..4000].to_vec());
    cases.file("file-cut-behind-header", sound[..PAGE].to_vec());
    cases.file("file-cut-before-blocks", sound[..65_536].to_vec());
    cases.file("file-cut-one-byte", sound[..sound.len() - 1].to_vec());
    cases.file("file-cut-one-sector", sound[..sound.len() - PAGE].to_vec());
    let longer = [&sound[..], &[0x5a; 5000]].concat();
    cases.file("file-longer", longer);
    cases.edited("file-gaps-filled", &samples.tables, |file| {
        file[5000..6000].fill(0x5a)
    });
    cases.with("file-wrong-key", sound.clone(), None, Given::WrongKey);
    cases.with("file-no-key", sound.clone(), None, Given::Nothing);
    cases.file("file-plain-with-key", samples.plain.file.clone());
    cases.file("file-a-log", samples.logged.log.clone().unwrap_or_default());
}

fn fields(cases: &mut Cases, sound: &Sample) {
    let both = [0, 1];
    let mut each = |name: &str, at, new: &[u8]| edited(cases, name, sound, &both, at, new);
    each("header-magic", 0, b"HUSHDB");
    each("header-version-newer", 8, &[3, 0]);
    each("header-version-zero", 8, &[0, 0]);
    each("header-suite-plain", 10, &[0]);
    each("header-suite-ctr", 10, &[2]);
    each("header-suite-unknown", 10, &[3]);
    each("header-reserved-byte", 11, &[1]);
    each("header-system-key-id-zero", 12, &[0; 4]);
    each("header-system-key-id-other", 12, &[2, 0, 0, 0]);
    each("header-database-id", 16, &[7; 16]);
    each("header-sequence", 32, &[9]);
    each("header-commitment", 40, &[7; 32]);
    each("header-system-data-key", 72, &[7; 40]);
    each("header-previous-key-id-same", 112, &[1, 0, 0, 0]);
    each("header-previous-key-without-id", 116, &[7; 40]);
    each("header-previous-key-made-up", 112, &[7; 44]);
    each("header-ring-key", 156, &[7; 40]);
    each("header-reserved-area", 200, &[1]);
    each("header-blob-without-slot", 2304, &[1]);
    each("header-no-slots", SLOT, &[0; 256]);
    cases.edited("header-crc", sound, |file| {
        for at in HEADERS {
            file[at + CRC_AT] ^= 1;
        }
    });
    cases.edited("header-mac", sound, |file| {
        for at in HEADERS {
            file[at + 4064] ^= 1;
        }
    });
    cases.edited("header-damaged", sound, |file| {
        for at in HEADERS {
            file[at + 50] ^= 1;
        }
    });
}

fn slots(cases: &mut Cases, sound: &Sample) {
    let both = [0, 1];
    let mut each = |name: &str, at, new: &[u8]| edited(cases, name, sound, &both, SLOT + at, new);
    // KDF, length of the label, parameters.
    let kdf = |kdf: u8, m: u32, t: u32, p: u32| {
        let numbers = [m, t, p].map(u32::to_le_bytes).concat();
        [&[kdf, 0][..], &numbers].concat()
    };
    each("slot-state-unknown", 0, &[2]);
    each("slot-provider-kind", 1, &[9]);
    each("slot-kdf-unknown", 2, &[3]);
    each("slot-raw-key-with-parameters", 4, &[1]);
    each("slot-argon-memory-absurd", 2, &kdf(1, u32::MAX, 3, 4));
    each("slot-argon-passes-absurd", 2, &kdf(1, 65_536, 17, 4));
    each("slot-argon-lanes-absurd", 2, &kdf(1, 65_536, 3, 17));
    each("slot-argon-memory-below-lanes", 2, &kdf(1, 7, 3, 1));
    each("slot-argon-no-passes", 2, &kdf(1, 65_536, 0, 4));
    each("slot-pbkdf2-iterations-absurd", 2, &kdf(2, u32::MAX, 0, 0));
    each("slot-pbkdf2-no-iterations", 2, &kdf(2, 0, 0, 0));
    each("slot-label-length-absurd", 3, &[97]);
    each(
        "slot-label-control-character",
        3,
        &[1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    );
    each("slot-label-behind-its-length", 96, b"label");
    each("slot-label-not-utf-8", 96, &[0xff]);
    each("slot-label-added", 3, &[4]);
    each("slot-salt", 16, &[7; 32]);
    each("slot-wrapped-key", 48, &[7; 40]);
    each("slot-blob-length-absurd", 88, &[0xff; 2]);
    each("slot-blob-added", 88, &[1, 0]);
    each("slot-reserved-bytes", 90, &[1]);
    each("slot-reserved-area", 200, &[1]);
    each("slot-made-up", 256, &[1, 1]);
}

fn copies(cases: &mut Cases, samples: &Samples) {
    let sound = &samples.tables;
    for (copy, name) in [(0, "a"), (1, "b")] {
        let damaged = format!("header-copy-{name}-damaged");
        cases.edited(&damaged, sound, |file| file[HEADERS[copy] + 300] ^= 1);
        let edited_name = format!("header-copy-{name}-edited");
        edited(cases, &edited_name, sound, &[copy], SLOT + 48, &[7; 40]);
        let newer = format!("header-copy-{name}-sequence-raised");
        edited(cases, &newer, sound, &[copy], 32, &[9]);
        let later = format!("header-copy-{name}-version-newer");
        edited(cases, &later, sound, &[copy], 8, &[3, 0]);
        let older = format!("header-copy-{name}-older");
        cases.edited(&older, &samples.rekeyed, |file| {
            page_of(file, &samples.tables.file, HEADERS[copy]);
        });
    }
    cases.edited("header-both-copies-older", &samples.rekeyed, |file| {
        HEADERS
            .into_iter()
            .for_each(|at| page_of(file, &samples.tables.file, at));
    });
    cases.edited("header-of-another-database", sound, |file| {
        HEADERS
            .into_iter()
            .for_each(|at| page_of(file, &samples.other.file, at));
    });
    cases.edited("header-of-a-plain-database", sound, |file| {
        HEADERS
            .into_iter()
            .for_each(|at| page_of(file, &samples.plain.file, at));
    });
    let mut file = sound.file.clone();
    HEADERS
        .into_iter()
        .for_each(|at| page_of(&mut file, &samples.plain.file, at));
    cases.with(
        "header-of-a-plain-database-without-key",
        file,
        None,
        Given::Nothing,
    );
    let mut file = samples.plain.file.clone();
    HEADERS
        .into_iter()
        .for_each(|at| page_of(&mut file, &sound.file, at));
    cases.file("plain-under-an-encrypted-header", file);
    let mut plain = |name: &str, at: usize, new: &[u8]| {
        edited(cases, name, &samples.plain, &[0, 1], at, new);
        if let Some(case) = cases.0.last_mut() {
            case.given = Given::Nothing;
        }
    };
    plain("plain-header-reserved-byte", 11, &[1]);
    plain("plain-header-system-key-id", 12, &[1]);
    plain("plain-header-database-id", 16, &[7; 16]);
    plain("plain-header-sequence", 32, &[9]);
    plain("plain-header-commitment", 40, &[7; 32]);
    plain("plain-header-key-slot", SLOT, &[1]);
    plain("plain-header-blob", 2304, &[1]);
    plain("plain-header-mac", 4070, &[1]);
    plain("plain-header-suite-unknown", 10, &[7]);
    plain("plain-header-version-zero", 8, &[0, 0]);
}

pub(crate) fn page_of(to: &mut [u8], from: &[u8], at: usize) {
    put(to, at, &from[at..at + PAGE]);
}
