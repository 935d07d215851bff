//! Blocks as they lie in the file, edited by someone without the key; and refs, edited by someone with it.

use hushdb_storage::{BlockRef, Role};

use super::cases::{Cases, Given};
use super::fields;
use super::forge::put;
use super::samples::{Sample, Samples};
use super::superblocks::seal_crc;

const SECTOR: usize = 4096;

pub(crate) fn add(cases: &mut Cases, samples: &Samples) {
    for (prefix, sound) in [("", &samples.tables), ("ctr-", &samples.ctr)] {
        envelopes(cases, prefix, sound);
        contents(cases, prefix, sound);
    }
    blocks_of_others(cases, samples);
    refs(cases, samples);
}

fn nth(sample: &Sample, role: Role, nth: usize) -> BlockRef {
    let mut found = sample.parts.iter().filter(|(of, _)| *of == role);
    found.nth(nth).expect("the sample has such a block").1
}

fn range(block: &BlockRef) -> std::ops::Range<usize> {
    let at = block.sector as usize * SECTOR;
    at..at + block.sectors().unwrap() as usize * SECTOR
}

fn envelopes(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let data = nth(sound, Role::ColumnData, 0);
    let fields = [
        ("magic", 0),
        ("version", 4),
        ("suite", 5),
        ("role", 6),
        ("flags", 7),
        ("key-id", 8),
        ("sectors", 12),
        ("sector", 16),
        ("generation", 24),
        ("salt", 32),
        ("nonce", 48),
        ("tag", SECTOR - 1),
    ];
    for (name, at) in fields {
        // Without its checksum it is damage, with it an edit.
        for (how, crc) in [("damaged", false), ("edited", true)] {
            cases.edited(&format!("{prefix}envelope-{name}-{how}"), sound, |file| {
                let block = &mut file[range(&data)];
                block[at] ^= 2;
                if crc {
                    seal_crc(block);
                }
            });
        }
    }
    cases.edited(&format!("{prefix}envelope-crc"), sound, |file| {
        file[range(&data).start + 60] ^= 1
    });
}

const OF_ROLE: [(&str, Role, usize); 6] = [
    ("catalog", Role::Metadata, 0),
    ("table", Role::Metadata, 1),
    ("page", Role::Metadata, 2),
    ("delete-vector", Role::Metadata, 3),
    ("sketches", Role::Statistics, 0),
    ("segment", Role::ColumnData, 1),
];

fn contents(cases: &mut Cases, prefix: &str, sound: &Sample) {
    for (name, role, at) in OF_ROLE {
        let block = nth(sound, role, at);
        let payload = range(&block).start + 64;
        cases.edited(&format!("{prefix}block-{name}-flipped"), sound, |file| {
            file[payload + 1] ^= 1
        });
        cases.edited(&format!("{prefix}block-{name}-zeros"), sound, |file| {
            file[range(&block)].fill(0)
        });
    }
    let data = [0, 1, 2].map(|at| nth(sound, Role::ColumnData, at));
    cases.edited(&format!("{prefix}block-padding-flipped"), sound, |file| {
        file[range(&data[0]).end - 17] ^= 1;
    });
    cases.edited(
        &format!("{prefix}block-another-in-its-place"),
        sound,
        |file| {
            file.copy_within(range(&data[1]), range(&data[0]).start);
        },
    );
    cases.edited(&format!("{prefix}block-two-swapped"), sound, |file| {
        let (a, b) = (range(&data[0]), range(&data[1]));
        let first = file[a.clone()].to_vec();
        file.copy_within(b.clone(), a.start);
        put(file, b.start, &first);
    });
}

fn blocks_of_others(cases: &mut Cases, samples: &Samples) {
    let sound = &samples.tables;
    for (name, role, at) in OF_ROLE {
        let plain = nth(&samples.plain, role, at);
        let mut file = samples.plain.file.clone();
        file[range(&plain).start + 65] ^= 1;
        let name = format!("plain-block-{name}-flipped");
        cases.with(&name, file, None, Given::Nothing);
    }
    let data = [0, 1, 2].map(|at| nth(sound, Role::ColumnData, at));
    cases.edited("block-of-another-database", sound, |file| {
        put(
            file,
            range(&data[0]).start,
            &samples.other.file[range(&data[0])],
        );
    });
    cases.edited("block-encrypted-in-a-plain-file", &samples.plain, |file| {
        put(file, range(&data[0]).start, &sound.file[range(&data[0])]);
    });
    if let Some(case) = cases.0.last_mut() {
        case.given = Given::Nothing;
    }
    cases.edited("block-older-put-back", sound, |file| {
        // A block of an earlier commit in whose place this state has another one.
        let older = samples.before.parts.iter().map(|(_, block)| block);
        let mut replaced = older.filter(|old| {
            let same = |(_, new): &&(Role, BlockRef)| new.sector == old.sector && new != *old;
            sound.parts.iter().any(|part| same(&part))
        });
        let block = *replaced.next_back().expect("sectors were used again");
        put(
            file,
            range(&block).start,
            &samples.before.file[range(&block)],
        );
    });
}

/// Refs of table `t`'s first segments, in its page.
fn refs(cases: &mut Cases, samples: &Samples) {
    for (prefix, sound) in [("ref", &samples.tables), ("plain-ref", &samples.plain)] {
        let mut forged = |name: &str, at: usize, new: &[u8]| {
            cases.forged(&format!("{prefix}-{name}"), sound, |forge| {
                forge.edit(Role::Metadata, 2, |payload| {
                    let block = fields::page(payload)[0].segments[0].block;
                    put(payload, block + at, new);
                });
            });
        };
        forged("in-the-fixed-part", 0, &3u64.to_le_bytes());
        forged("none-where-one-must-be", 0, &[0; 40]);
        forged("beyond-the-end", 0, &5000u64.to_le_bytes());
        forged("sector-beyond-u64", 0, &[0xff; 8]);
        forged(
            "sector-times-4096-beyond-u64",
            0,
            &(u64::MAX / 4096 + 1).to_le_bytes(),
        );
        forged("length-absurd", 8, &[0xff; 4]);
        forged(
            "length-beyond-the-limit",
            8,
            &((64u32 << 20) - 79).to_le_bytes(),
        );
        forged(
            "length-beyond-the-end",
            8,
            &((64u32 << 20) - 80).to_le_bytes(),
        );
        forged("length-of-two-sectors", 8, &5000u32.to_le_bytes());
        forged("length-shorter", 8, &[70, 0, 0, 0]);
        forged("length-zero", 8, &[0; 4]);
        forged("key-id", 12, &[7]);
        forged("generation", 16, &[0xff]);
        forged("tag", 24, &[7; 16]);
    }
    let mut swapped = |name: &str, from: (Role, usize), to: (Role, usize)| {
        cases.forged(name, &samples.tables, |forge| {
            let [from, to] = [from, to].map(|(role, at)| forge.part(role, at).to_bytes());
            forge.edit(Role::Metadata, 2, |payload| {
                super::forge::swap(payload, &from, &to)
            });
        });
    };
    swapped(
        "ref-to-another-columns-segment",
        (Role::ColumnData, 0),
        (Role::ColumnData, 1),
    );
    swapped(
        "ref-to-another-row-groups-segment",
        (Role::ColumnData, 0),
        (Role::ColumnData, 5),
    );
    swapped(
        "ref-to-another-tables-segment",
        (Role::ColumnData, 0),
        (Role::ColumnData, 10),
    );
    swapped(
        "ref-to-another-role",
        (Role::ColumnData, 0),
        (Role::Statistics, 0),
    );
    swapped(
        "ref-to-the-root-as-deletes",
        (Role::Metadata, 3),
        (Role::Metadata, 0),
    );
}
