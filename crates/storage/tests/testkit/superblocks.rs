//! The two superblock slots, edited with and without the key; and the free list.

use hushdb_storage::Role;

use super::cases::{Cases, Given};
use super::forge::{SUPERBLOCKS, TOTAL_SECTORS_AT, put};
use super::headers::page_of;
use super::samples::{Sample, Samples};

pub(crate) fn add(cases: &mut Cases, samples: &Samples) {
    without_key(cases, samples);
    with_key(cases, samples);
    history(cases, samples);
    free_list(cases, samples);
}

fn without_key(cases: &mut Cases, samples: &Samples) {
    one_slot(cases, samples);
    a_byte_of_both_slots(cases, &samples.tables);
    both_slots(cases, samples);
}

/// One slot is spoilt, and the other is sound.
fn one_slot(cases: &mut Cases, samples: &Samples) {
    let sound = &samples.tables;
    for slot in [0, 1] {
        cases.edited(&format!("superblock-slot-{slot}-damaged"), sound, |file| {
            file[SUPERBLOCKS[slot] + 100] ^= 1;
        });
        cases.edited(&format!("superblock-slot-{slot}-crc"), sound, |file| {
            file[SUPERBLOCKS[slot] + 60] ^= 1;
        });
        cases.edited(&format!("superblock-slot-{slot}-older"), sound, |file| {
            page_of(file, &samples.before.file, SUPERBLOCKS[slot]);
        });
        cases.edited(&format!("superblock-slot-{slot}-zeros"), sound, |file| {
            file[SUPERBLOCKS[slot]..][..4096].fill(0);
        });
        cases.edited(
            &format!("superblock-slot-{slot}-of-another-database"),
            sound,
            |file| {
                page_of(file, &samples.other.file, SUPERBLOCKS[slot]);
            },
        );
    }
}

fn a_byte_of_both_slots(cases: &mut Cases, sound: &Sample) {
    let mut both = |name: &str, at: usize, crc: bool| {
        cases.edited(name, sound, |file| {
            for slot in SUPERBLOCKS {
                file[slot + at] ^= 1;
                if crc {
                    seal_crc(&mut file[slot..slot + 4096]);
                }
            }
        });
    };
    both("superblock-content", 100, false);
    both("superblock-tag", 4090, false);
    both("superblock-tag-with-crc", 4090, true);
    both("superblock-envelope-magic", 0, true);
    both("superblock-envelope-version", 4, true);
    both("superblock-envelope-suite", 5, true);
    both("superblock-envelope-role", 6, true);
    both("superblock-envelope-flags", 7, true);
    both("superblock-envelope-key-id", 8, true);
    both("superblock-envelope-sectors", 13, true);
    both("superblock-envelope-sector", 16, true);
    both("superblock-envelope-generation", 24, true);
    both("superblock-envelope-salt", 32, true);
    both("superblock-envelope-nonce", 48, true);
}

/// Both slots hold what they must not.
fn both_slots(cases: &mut Cases, samples: &Samples) {
    let sound = &samples.tables;
    cases.edited("superblock-both-zeros", sound, |file| {
        SUPERBLOCKS
            .into_iter()
            .for_each(|at| file[at..at + 4096].fill(0));
    });
    cases.edited("superblock-both-of-another-database", sound, |file| {
        SUPERBLOCKS
            .into_iter()
            .for_each(|at| page_of(file, &samples.other.file, at));
    });
    cases.edited("superblock-both-older", sound, |file| {
        SUPERBLOCKS
            .into_iter()
            .for_each(|at| page_of(file, &samples.before.file, at));
    });
    cases.edited("superblock-a-block-in-its-place", sound, |file| {
        let block = file[65_536..65_536 + 4096].to_vec();
        SUPERBLOCKS.into_iter().for_each(|at| put(file, at, &block));
    });
    cases.forged("superblock-two-histories", sound, |forge| {
        let mut payload = forge.superblock();
        payload[232] ^= 1;
        let generation = u64::from_le_bytes(payload[8..16].try_into().unwrap());
        forge.put_superblock(&payload, generation, &[1]);
    });
}

/// Puts a checksum over an envelope that was edited.
pub(crate) fn seal_crc(block: &mut [u8]) {
    let tag = block.len() - 16;
    let crc = crc32c::crc32c_append(crc32c::crc32c(&block[..60]), &block[tag..]);
    put(block, 60, &crc.to_le_bytes());
}

fn with_key(cases: &mut Cases, samples: &Samples) {
    for (prefix, sound) in [
        ("superblock", &samples.tables),
        ("plain-superblock", &samples.plain),
    ] {
        let mut forged = |name: &str, at: usize, new: &[u8]| {
            cases.forged(&format!("{prefix}-{name}"), sound, |forge| {
                forge.edit_superblock(|payload| put(payload, at, new));
            });
        };
        fields(&mut forged);
        catalog_ref(&mut |name: &str, at: usize, new: &[u8]| forged(name, 24 + at, new));
        for slot in [0, 1] {
            cases.forged(&format!("{prefix}-slot-{slot}-version"), sound, |forge| {
                let mut payload = forge.superblock();
                payload[0] = 4;
                let generation = u64::from_le_bytes(payload[8..16].try_into().unwrap());
                forge.put_superblock(&payload, generation, &[slot]);
            });
        }
    }
    cases.forged(
        "superblock-generation-is-not-the-envelopes",
        &samples.tables,
        |forge| {
            let payload = forge.superblock();
            forge.put_superblock(&payload, 77, &[0, 1]);
        },
    );
    cases.forged(
        "superblock-names-the-free-list-as-catalog",
        &samples.tables,
        |forge| {
            let block = forge.part(Role::FreeList, 0).to_bytes();
            forge.edit_superblock(|payload| put(payload, 24, &block));
        },
    );
}

/// The fields of a superblock, by their places in it.
fn fields(forged: &mut dyn FnMut(&str, usize, &[u8])) {
    forged("version", 0, &[4]);
    forged("version-1-with-a-history", 0, &[1]);
    forged("reserved-bytes", 4, &[1]);
    forged("reserved-behind-log-state", 185, &[1]);
    forged("reserved-at-the-end", 4015, &[1]);
    forged("log-state-unknown", 184, &[2]);
    forged("log-open-without-log", 184, &[1]);
    forged(
        "no-room-for-its-own-parts",
        TOTAL_SECTORS_AT,
        &15u64.to_le_bytes(),
    );
    forged(
        "more-sectors-than-there-are",
        TOTAL_SECTORS_AT,
        &5000u64.to_le_bytes(),
    );
    forged("sectors-beyond-u64", TOTAL_SECTORS_AT, &[0xff; 8]);
    forged(
        "fewer-sectors-than-blocks",
        TOTAL_SECTORS_AT,
        &17u64.to_le_bytes(),
    );
    forged("header-sequence", 144, &[9]);
    forged("header-mac", 152, &[9; 32]);
}

/// The ref of the catalog's root, by places in the ref.
fn catalog_ref(catalog: &mut dyn FnMut(&str, usize, &[u8])) {
    catalog("catalog-in-the-fixed-part", 0, &8u64.to_le_bytes());
    catalog("catalog-beyond-the-end", 0, &5000u64.to_le_bytes());
    catalog("catalog-sector-beyond-u64", 0, &[0xff; 8]);
    catalog("catalog-length-absurd", 8, &[0xff; 4]);
    catalog(
        "catalog-length-beyond-the-limit",
        8,
        &((64u32 << 20) - 79).to_le_bytes(),
    );
    catalog(
        "catalog-length-beyond-the-end",
        8,
        &((64u32 << 20) - 80).to_le_bytes(),
    );
    catalog("catalog-length-zero", 8, &[0; 4]);
    catalog("catalog-key-id", 12, &[7]);
    catalog("catalog-generation", 16, &[0xff]);
    catalog("catalog-tag", 24, &[7; 16]);
}

/// Where the history begins in a superblock's payload, and its first entry.
const HISTORY_AT: usize = 256;
const ENTRIES_AT: usize = HISTORY_AT + 72;

fn history(cases: &mut Cases, samples: &Samples) {
    cases.forged("superblock-version-1", &samples.tables, |forge| {
        forge.edit_superblock(|payload| {
            payload[0] = 1;
            payload[HISTORY_AT..].fill(0);
        });
    });
    let sound = &samples.runs;
    let mut forged = |name: &str, at: usize, new: &[u8]| {
        cases.forged(&format!("history-{name}"), sound, |forge| {
            forge.edit_superblock(|payload| put(payload, at, new));
        });
    };
    forged("sound", HISTORY_AT, &[1]);
    forged("run-zero", HISTORY_AT, &[0; 16]);
    forged(
        "tree-beyond-the-end",
        HISTORY_AT + 16,
        &5000u64.to_le_bytes(),
    );
    forged("tree-tag", HISTORY_AT + 40, &[7; 16]);
    forged("entries-without-tree", HISTORY_AT + 16, &[0; 40]);
    forged("tree-without-entries", HISTORY_AT + 56, &[0; 8]);
    forged("tree-with-fewer-entries", HISTORY_AT + 56, &[63]);
    forged("more-runs-than-room", HISTORY_AT + 64, &[93]);
    forged("count-absurd", HISTORY_AT + 64, &[0xff; 4]);
    forged("count-beyond-its-entries", HISTORY_AT + 64, &[90]);
    forged("reserved-bytes", HISTORY_AT + 68, &[1]);
    forged("generation-ahead", ENTRIES_AT, &[1]);
    forged("generation-zero", ENTRIES_AT, &[0; 8]);
    forged(
        "generation-before-the-trees",
        ENTRIES_AT,
        &1u64.to_be_bytes(),
    );
    forged("entry-without-run", ENTRIES_AT + 8, &[0; 16]);
    forged("log-sequence-ahead", ENTRIES_AT + 24, &[1]);
    // A leaf of 64 entries of 40 bytes, behind a head of 6 and the ends of the entries.
    let first = 6 + 64 * 4;
    let mut in_tree = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        cases.forged(&format!("history-tree-{name}"), sound, |forge| {
            forge.edit(Role::Index, 0, |payload| edit(payload));
        });
    };
    in_tree("entry-without-run", &|payload| {
        put(payload, first + 40 + 8, &[0; 16])
    });
    in_tree("generations-out-of-order", &|payload| {
        put(payload, first, &7u64.to_be_bytes());
    });
    in_tree("entry-too-short", &|payload| {
        put(payload, 6, &39u32.to_le_bytes());
    });
    in_tree("log-sequence-goes-back", &|payload| {
        put(payload, first + 24, &9u64.to_be_bytes());
    });
    if let Some((_, block)) = sound.parts.iter().find(|(role, _)| *role == Role::Index) {
        cases.edited("history-tree-damaged", sound, |file| {
            file[block.sector as usize * 4096 + 70] ^= 1;
        });
    }
}

fn free_list(cases: &mut Cases, samples: &Samples) {
    let sound = &samples.tables;
    let mut forged = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        cases.forged(&format!("free-list-{name}"), sound, |forge| {
            forge.edit(Role::FreeList, 0, |payload| edit(payload));
        });
    };
    // Two extents: the first begins at 48.
    let number =
        |payload: &[u8], at: usize| u64::from_le_bytes(payload[at..at + 8].try_into().unwrap());
    forged("no-extent", &|payload| put(payload, 0, &[0; 4]));
    forged("count-absurd", &|payload| put(payload, 0, &[0xff; 4]));
    forged("reserved-bytes", &|payload| payload[4] = 1);
    forged("extent-empty", &|payload| put(payload, 56, &[0; 8]));
    forged("extent-in-the-fixed-part", &|payload| {
        put(payload, 48, &3u64.to_le_bytes())
    });
    forged("extent-beyond-the-end", &|payload| {
        put(payload, 56, &5000u64.to_le_bytes())
    });
    forged("extent-beyond-u64", &|payload| put(payload, 48, &[0xff; 8]));
    forged("extents-out-of-order", &|payload| {
        let first: Vec<u8> = payload[48..64].to_vec();
        payload.copy_within(64..80, 48);
        put(payload, 64, &first);
    });
    forged("extents-overlap", &|payload| {
        let first = number(payload, 48);
        put(payload, 64, &first.to_le_bytes());
    });
    forged("names-a-block-in-use", &|payload| {
        let second = number(payload, 64);
        put(payload, 64, &(second - 1).to_le_bytes());
    });
    forged("truncated", &|payload| payload.truncate(40));
    forged("padding", &|payload| {
        payload.extend_from_slice(&[0; 16]);
        let at = payload.len() - 1;
        payload[at] = 1;
    });
    cases.forged("free-list-next-is-another-role", sound, |forge| {
        let catalog = forge.part(Role::Metadata, 0).to_bytes();
        forge.edit(Role::FreeList, 0, |payload| put(payload, 8, &catalog));
    });
    cases.forged("free-list-next-is-itself", sound, |forge| {
        // Its own ref can only be that of what it was before.
        let own = forge.part(Role::FreeList, 0).to_bytes();
        forge.edit(Role::FreeList, 0, |payload| put(payload, 8, &own));
    });
    let free_list = sound.parts.iter().find(|(role, _)| *role == Role::FreeList);
    if let Some((_, block)) = free_list {
        cases.edited("free-list-damaged", sound, |file| {
            file[block.sector as usize * 4096 + 70] ^= 1;
        });
    }
    cases.with(
        "plain-free-list-sound",
        samples.plain.file.clone(),
        None,
        Given::Nothing,
    );
    cases.forged("plain-free-list-count-absurd", &samples.plain, |forge| {
        forge.edit(Role::FreeList, 0, |payload| put(payload, 0, &[0xff; 4]));
    });
}
