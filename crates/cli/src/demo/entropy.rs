//! Shannon entropy of a file's bytes: 8 bits a byte is what noise has.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// How often each byte value occurs in a file.
pub(super) struct ByteCounts {
    counts: [u64; 256],
    /// How many bytes were counted.
    pub(super) total: u64,
}

impl ByteCounts {
    /// Counts the bytes of the file at `path`, from byte `start` on.
    ///
    /// # Errors
    /// The file system's.
    pub(super) fn of_file(path: &Path, start: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(start))?;
        let mut counts = [0; 256];
        let mut total = 0;
        let mut buffer = vec![0; 1 << 20];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                return Ok(Self { counts, total });
            }
            total += read as u64;
            for &byte in &buffer[..read] {
                counts[usize::from(byte)] += 1;
            }
        }
    }

    /// Bits of entropy per byte, 0 to 8.
    pub(super) fn bits_per_byte(&self) -> f64 {
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
}
