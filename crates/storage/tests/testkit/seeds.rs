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
    let mut seeds = Seeds::default();
    seeds.blocks(samples);
    seeds.nested(samples);
    seeds.places(samples);
    seeds.heads_and_logs(samples);
    seeds.cases(cases);
    for (target, decoder) in hushdb_storage::decoders::ALL {
        let of_target = seeds.by_target.get(target).map_or(&[][..], Vec::as_slice);
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

/// Seeds by target, each once.
#[derive(Default)]
struct Seeds {
    by_target: BTreeMap<&'static str, Vec<(String, Vec<u8>)>>,
    seen: HashSet<(&'static str, Vec<u8>)>,
}

impl Seeds {
    fn add(&mut self, target: &'static str, name: &str, bytes: Vec<u8>) {
        let of_target = self.by_target.entry(target).or_default();
        let few = of_target.len() < PER_TARGET || name.starts_with("sound");
        if few && bytes.len() <= MAX_BYTES && self.seen.insert((target, bytes.clone())) {
            of_target.push((name.to_owned(), bytes));
        }
    }

    /// The blocks of a sound database.
    fn blocks(&mut self, samples: &Samples) {
        let sound = Forge::new(&samples.tables);
        let mut numbers: BTreeMap<Role, usize> = BTreeMap::new();
        for (role, block) in &samples.tables.parts {
            let nth = numbers.entry(*role).or_default();
            if let Some(target) = target_of(*role, *nth) {
                let name = format!("sound-{role}-{nth}").replace(' ', "-");
                self.add(target, &name, sound.payload(*role, block));
            }
            if *role == Role::Metadata && *nth == 2 {
                let block = block.to_bytes().to_vec();
                self.add("block_ref", "sound", block);
            }
            *nth += 1;
        }
    }

    /// Those of one with lists and structs.
    fn nested(&mut self, samples: &Samples) {
        let nested = Forge::new(&samples.nested);
        let mut number = 0;
        for (role, block) in &samples.nested.parts {
            let payload = nested.payload(*role, block);
            if *role == Role::ColumnData {
                self.add("segment", &format!("sound-nested-{number}"), payload);
                number += 1;
            } else if *role == Role::Metadata {
                // Which of them they are is for both to find out.
                self.add("table_record", &format!("sound-nested-{number}"), payload);
                number += 1;
            }
        }
        let nested = LogForge::new(&samples.nested);
        self.add("change", "sound-nested", nested.records[0].payload.clone());
    }

    /// Refs into a file and beyond it.
    fn places(&mut self, samples: &Samples) {
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
            self.add("block_ref", name, [&block.to_bytes()[..], page].concat());
        }
    }

    fn heads_and_logs(&mut self, samples: &Samples) {
        let sound = Forge::new(&samples.tables);
        self.add("superblock", "sound", sound.superblock());
        self.add("file_header", "sound", samples.tables.file[..4096].to_vec());
        self.add(
            "file_header",
            "sound-plain",
            samples.plain.file[..4096].to_vec(),
        );
        let logged = LogForge::new(&samples.plain_logged);
        self.add("log", "sound", logged.bytes());
        self.add(
            "log_record",
            "sound",
            logged.bytes()[HEADER_BYTES..].to_vec(),
        );
        self.add("change", "sound", logged.records[0].payload.clone());
    }

    /// What hostile files have in the places of these.
    fn cases(&mut self, cases: &Cases) {
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
                self.add(target, &case.name, bytes.clone());
            }
        }
    }
}
