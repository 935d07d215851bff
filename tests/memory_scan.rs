//! Looks for secrets in the memory of another process, as whoever may read that memory would.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

/// What is read at once.
const PIECE_BYTES: usize = 4 << 20;

/// Something that must not lie about.
pub(crate) struct Needle {
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// Where a needle was found.
pub(crate) struct Found {
    pub(crate) name: String,
    pub(crate) address: u64,
    /// What the kernel says of the mapping: its line in the books, and its flags (`lo` locked, `dd` not dumped).
    pub(crate) mapping: String,
    pub(crate) flags: Vec<String>,
}

impl fmt::Debug for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.flags.join(" ");
        write!(
            f,
            "{} at {:x}, {}, {flags}",
            self.name, self.address, self.mapping
        )
    }
}

/// Every place in readable memory of the process where one of the needles lies.
pub(crate) fn scan(process: u32, needles: &[Needle]) -> io::Result<Vec<Found>> {
    let longest = needles.iter().map(|needle| needle.bytes.len()).max();
    let overlap = longest.unwrap_or(1).max(8) - 1;
    // Needles by their first two bytes.
    let mut begins = vec![false; 1 << 16];
    for needle in needles {
        assert!(needle.bytes.len() >= 8, "{} is too short", needle.name);
        begins[pair(&needle.bytes)] = true;
    }
    let memory = File::open(format!("/proc/{process}/mem"))?;
    let mut found = Vec::new();
    let mut piece = vec![0; PIECE_BYTES + overlap];
    for mapping in mappings(process)? {
        let mut start = mapping.start;
        while start < mapping.end {
            let length = (mapping.end - start).min(piece.len() as u64) as usize;
            let piece = &mut piece[..length];
            // Some of the kernel's own pages cannot be read.
            if memory.read_exact_at(piece, start).is_err() {
                break;
            }
            let new = length.min(PIECE_BYTES);
            for at in 0..new.min(length - 1) {
                if !begins[pair(&piece[at..])] {
                    continue;
                }
                let here = needles.iter().filter(|n| piece[at..].starts_with(&n.bytes));
                found.extend(here.map(|needle| Found {
                    name: needle.name.clone(),
                    address: start + at as u64,
                    mapping: mapping.line.clone(),
                    flags: mapping.flags.clone(),
                }));
            }
            start += new as u64;
        }
    }
    Ok(found)
}

struct Mapping {
    start: u64,
    end: u64,
    line: String,
    flags: Vec<String>,
}

fn mappings(process: u32) -> io::Result<Vec<Mapping>> {
    let mut mappings: Vec<Mapping> = Vec::new();
    for line in fs::read_to_string(format!("/proc/{process}/smaps"))?.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            if let Some(mapping) = mappings.last_mut() {
                mapping.flags = flags.split_whitespace().map(str::to_string).collect();
            }
            continue;
        }
        let range = line.split(' ').next().and_then(|range| {
            let (start, end) = range.split_once('-')?;
            let address = |text| u64::from_str_radix(text, 16).ok();
            Some((address(start)?, address(end)?))
        });
        if let Some((start, end)) = range {
            mappings.push(Mapping {
                start,
                end,
                line: line.to_string(),
                flags: vec![],
            });
        }
    }
    mappings.retain(|mapping| mapping.flags.iter().any(|flag| flag == "rd"));
    Ok(mappings)
}

fn pair(bytes: &[u8]) -> usize {
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}
