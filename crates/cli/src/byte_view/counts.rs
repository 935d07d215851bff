//! How often each byte occurs, and the Shannon entropy of that: 8 bits a byte is what noise has.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

/// How often each byte value occurs.
pub(crate) struct ByteCounts {
    pub(super) counts: [u64; 256],
    /// How many bytes were counted.
    pub(crate) total: u64,
}

impl Default for ByteCounts {
    fn default() -> Self {
        Self {
            counts: [0; 256],
            total: 0,
        }
    }
}

impl ByteCounts {
    /// Counts the bytes of the file at `path`, from byte `start` on.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn of_file(path: &Path, start: u64) -> io::Result<Self> {
        let mut counts = Self::default();
        counts.add(&mut File::open(path)?, start..u64::MAX)?;
        Ok(counts)
    }

    /// Counts bytes of a file too, as far as it has them.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn add(&mut self, file: &mut File, range: Range<u64>) -> io::Result<()> {
        file.seek(SeekFrom::Start(range.start))?;
        let mut left = range.end.saturating_sub(range.start);
        let mut buffer = vec![0; left.min(1 << 20) as usize];
        while left > 0 {
            let most = buffer
                .len()
                .min(usize::try_from(left).unwrap_or(usize::MAX));
            let read = file.read(buffer.get_mut(..most).unwrap_or_default())?;
            if read == 0 {
                break;
            }
            self.count(buffer.get(..read).unwrap_or_default());
            left -= read as u64;
        }
        Ok(())
    }

    /// Counts bytes in memory too.
    pub(super) fn count(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        for &byte in bytes {
            self.counts[usize::from(byte)] += 1;
        }
    }

    /// Bits of entropy per byte, 0 to 8.
    pub(crate) fn bits_per_byte(&self) -> f64 {
        let total = self.total as f64;
        let terms = self
            .counts
            .iter()
            .filter(|&&count| count > 0)
            .map(|&count| {
                let share = count as f64 / total;
                -share * share.log2()
            });
        terms.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(bytes: &[u8]) -> f64 {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("written");
        ByteCounts::of_file(file.path(), 0)
            .expect("counted")
            .bits_per_byte()
    }

    #[test]
    fn known_entropies() {
        assert!(bits(&[7; 1000]).abs() < 1e-12);
        assert!((bits(b"abab") - 1.0).abs() < 1e-12);
        let every: Vec<u8> = (0..=255).cycle().take(1024).collect();
        assert!((bits(&every) - 8.0).abs() < 1e-12);
    }

    #[test]
    fn ranges_add_up() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), b"aabbccdd").expect("written");
        let mut counts = ByteCounts::default();
        let mut file = file.reopen().expect("open");
        for range in [0..2, 4..6, 7..100] {
            counts.add(&mut file, range).expect("counted");
        }
        let of = |byte: u8| counts.counts[usize::from(byte)];
        assert_eq!(
            (counts.total, of(b'a'), of(b'b'), of(b'c'), of(b'd')),
            (5, 2, 0, 2, 1)
        );
    }
}
