//! The parts of a database file: as its catalog tells them, or, without the key, the envelopes of its blocks.
//!
//! What must hold: a byte is in one region at most.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use hushdb::maintenance::{DatabaseFile, SECTOR_BYTES};

use crate::failure::Failure;

const SECTOR: u64 = SECTOR_BYTES;
/// Header copies and superblocks stand in the first sector of each of these (FORMAT.md, "File map").
const SPACING: u64 = 16_384;
/// Blocks begin here; before are headers and gaps between them.
pub(crate) const BLOCKS_BEGIN: u64 = 4 * SPACING;
/// What an envelope begins with.
const MAGIC: &[u8; 4] = b"HUSB";
/// Of each block, what is in the clear before the rest: magic, role, place, nonce.
const ENVELOPE: u64 = 64;

/// A kind of bytes in a file, and where they are.
#[derive(Debug)]
pub(crate) struct Region {
    /// What they are.
    pub(crate) name: String,
    /// Where, in ascending order.
    pub(crate) ranges: Vec<Range<u64>>,
}

impl Region {
    fn new(name: &str, ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        Self {
            name: name.to_owned(),
            ranges: ranges.into_iter().collect(),
        }
    }
}

/// The regions of a file: by role if it could be opened.
///
/// # Errors
/// What reading the file or the blocks reports.
pub(crate) fn regions(path: &Path, opened: Option<&DatabaseFile>) -> Result<Vec<Region>, Failure> {
    let mut file = File::open(path).map_err(|error| Failure::file(path, error))?;
    let length = file
        .metadata()
        .map_err(|error| Failure::file(path, error))?;
    let length = length.len();
    let mut blocks = BTreeMap::new();
    match opened {
        Some(opened) => {
            opened.check(&mut |block| {
                blocks.insert(block.offset, (block.role.clone(), block.disk_bytes));
            })?;
        }
        None => {
            for (sector, sectors) in seen(&mut file, length) {
                let place = (
                    sector.saturating_mul(SECTOR),
                    sectors.saturating_mul(SECTOR),
                );
                blocks.insert(place.0, ("sealed blocks".to_owned(), place.1));
            }
        }
    }
    let envelope = |at: u64| at..at + ENVELOPE;
    let sealed = |at: u64| at + ENVELOPE..at + SECTOR;
    let mut envelopes = vec![envelope(2 * SPACING), envelope(3 * SPACING)];
    let mut by_name: BTreeMap<String, Vec<Range<u64>>> = BTreeMap::new();
    let mut free = Vec::new();
    let mut end = BLOCKS_BEGIN;
    for (start, (name, bytes)) in blocks {
        // A superblock has a place of its own, and two blocks in one place are `hush check`'s to report.
        if start < end {
            continue;
        }
        if start > end {
            free.push(end..start);
        }
        end = start.saturating_add(bytes);
        envelopes.push(envelope(start));
        by_name.entry(name).or_default().push(start + ENVELOPE..end);
    }
    if end < length {
        free.push(end..length);
    }
    let header = [0..SECTOR, SPACING..SPACING + SECTOR];
    let mut regions = vec![
        Region::new("file header", header),
        Region::new("envelopes", envelopes),
        // Not in one region: the same bytes twice are not noise.
        Region::new("superblock", std::iter::once(sealed(2 * SPACING))),
        Region::new("its copy", std::iter::once(sealed(3 * SPACING))),
    ];
    let by_name = by_name.into_iter();
    regions.extend(by_name.map(|(name, ranges)| Region::new(&name, ranges)));
    if !free.is_empty() {
        regions.push(Region::new("free", free));
    }
    Ok(regions)
}

/// Sector and sectors of blocks, as their envelopes say to anybody. Those in free space are seen too.
fn seen(file: &mut File, length: u64) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let mut at = BLOCKS_BEGIN / SECTOR;
    while (at + 1) * SECTOR <= length {
        let mut head = [0; 24];
        let read = file
            .seek(SeekFrom::Start(at * SECTOR))
            .and_then(|_| file.read_exact(&mut head));
        let [
            m0,
            m1,
            m2,
            m3,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            _,
            n0,
            n1,
            n2,
            n3,
            own @ ..,
        ] = head;
        let sectors = u64::from(u32::from_le_bytes([n0, n1, n2, n3]));
        let is_block = [m0, m1, m2, m3] == *MAGIC && u64::from_le_bytes(own) == at;
        let fits = sectors > 0 && sectors <= length / SECTOR - at;
        if read.is_ok() && is_block && fits {
            found.push((at, sectors));
            at += sectors;
        } else {
            at += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushdb::Database;

    #[test]
    fn regions_do_not_overlap_and_cover_all_blocks() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("a.hush");
        let database = Database::open(&path).expect("a database");
        let connection = database.connect().expect("connected");
        connection
            .run("CREATE TABLE t AS SELECT i, 'text ' || i AS s FROM range(10000) r(i)")
            .expect("made");
        drop((connection, database));
        let opened = DatabaseFile::open_read_only(&path, None, hushdb::Freshness::default());
        let opened = opened.expect("opened");
        let length = std::fs::metadata(&path).expect("there").len();
        for opened in [Some(&opened), None] {
            let regions = regions(&path, opened).expect("regions");
            let names: Vec<&str> = regions.iter().map(|region| region.name.as_str()).collect();
            let expected = match opened {
                Some(_) => ["column data", "metadata"].as_slice(),
                None => &["sealed blocks"],
            };
            assert!(
                expected.iter().all(|name| names.contains(name)),
                "{names:?}"
            );
            let ranges = regions.iter().flat_map(|region| region.ranges.clone());
            let mut ranges: Vec<_> = ranges.collect();
            ranges.sort_by_key(|range| range.start);
            assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
            let blocks = ranges.iter().filter(|range| range.start >= BLOCKS_BEGIN);
            let covered: u64 = blocks.map(|range| range.end - range.start).sum();
            assert_eq!(covered, length - BLOCKS_BEGIN);
        }
    }
}
