//! Seeds for fuzzing: what the sound samples hold, and what the cases made of it, by target.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

use hushdb_storage::Role;

use super::cases::Cases;
use super::forge::Forge;
use super::log_forge::{HEADER_BYTES, LogForge};
use super::samples::Samples;

/// Larger ones teach a fuzzer nothing more.
const MAX_BYTES: usize = 5000;
/// The first cases of a target say the most.
const PER_TARGET: usize = 24;

/// The target that reads the `nth` block of a role in the sample.
pub(crate) fn target_of(role: Role, nth: usize) -> Option<&'static str> {
    match (role, nth) {
        (Role::Superblock, _) => Some("superblock"),
        (Role::FreeList, _) => Some("free_list"),
        (Role::Metadata, 0) => Some("catalog_root"),
        (Role::Metadata, 1 | 8) => Some("table_record"),
        (Role::Metadata, 2) => Some("page"),
        (Role::Metadata, 3) | (Role::Statistics, _) => Some("row_group_extras"),
        (Role::Index, _) => Some("index_node"),
        (Role::ColumnData, _) => Some("segment"),
        _ => None,
    }
}

/// Writes them into folders by target, if there is a directory. No sample has a key ring, whose seeds are in the corpus alone.
pub(crate) fn write(samples: &Samples, cases: &Cases, directory: Option<&Path>) {
    let mut seeds: BTreeMap<&str, Vec<(String, Vec<u8>)>> = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut add = |target, name: &str, bytes: Vec<u8>| {
        let of_target = seeds.entry(target).or_default();
        let few = of_target.len() < PER_TARGET || name.starts_with("sound");
        if few && bytes.len() <= MAX_BYTES && seen.insert((target, bytes.clone())) {
            of_target.push((name.to_owned(), bytes));
        }
    };
    let sound = Forge::new(&samples.tables);
    let mut numbers: BTreeMap<Role, usize> = BTreeMap::new();
    for (role, block) in &samples.tables.parts {
        let nth = numbers.entry(*role).or_default();
        if let Some(target) = target_of(*role, *nth) {
            let name = format!("sound-{role}-{nth}").replace(' ', "-");
            add(target, &name, sound.payload(*role, block));
        }
        if *role == Role::Metadata && *nth == 2 {
            let block = block.to_bytes().to_vec();
            add("block_ref", "sound", block);
        }
        *nth += 1;
    }
    let nested = Forge::new(&samples.nested);
    let mut number = 0;
    for (role, block) in &samples.nested.parts {
        let payload = nested.payload(*role, block);
        if *role == Role::ColumnData {
            add("segment", &format!("sound-nested-{number}"), payload);
            number += 1;
        } else if *role == Role::Metadata {
            // Which of them they are is for both to find out.
            add("table_record", &format!("sound-nested-{number}"), payload);
            number += 1;
        }
    }
    let nested = LogForge::new(&samples.nested);
    add("change", "sound-nested", nested.records[0].payload.clone());
    let first = samples.plain.parts.first().map(|(_, block)| *block);
    for (name, sector) in [
        ("in-the-file", 0),
        ("behind-the-file", 9),
        ("beyond-u64", u64::MAX),
    ] {
        let mut block = first.expect("the sample has blocks");
        block.sector = sector;
        let at = samples.plain.parts[0].1.sector as usize * 4096;
        let page = &samples.plain.file[at..at + 4096];
        add("block_ref", name, [&block.to_bytes()[..], page].concat());
    }
    add("superblock", "sound", sound.superblock());
    add("file_header", "sound", samples.tables.file[..4096].to_vec());
    add(
        "file_header",
        "sound-plain",
        samples.plain.file[..4096].to_vec(),
    );
    let logged = LogForge::new(&samples.plain_logged);
    add("log", "sound", logged.bytes());
    add(
        "log_record",
        "sound",
        logged.bytes()[HEADER_BYTES..].to_vec(),
    );
    add("change", "sound", logged.records[0].payload.clone());
    for case in &cases.0 {
        // What is encrypted says nothing to a decoder.
        let log = case
            .seed
            .as_ref()
            .is_some_and(|(target, _)| target.starts_with("log"));
        if let Some((target, bytes)) = case
            .seed
            .as_ref()
            .filter(|_| !log || case.name.starts_with("plain-"))
        {
            add(target, &case.name, bytes.clone());
        }
    }
    for (target, decoder) in hushdb_storage::decoders::ALL {
        let of_target = seeds.get(target).map_or(&[][..], Vec::as_slice);
        assert!(of_target.len() > 2 || target == "key_ring", "{target}");
        for (name, bytes) in of_target {
            decoder(bytes);
            if let Some(directory) = directory {
                let folder = directory.join(target);
                fs::create_dir_all(&folder).expect("a folder");
                fs::write(folder.join(name), bytes).expect("written");
            }
        }
    }
}
