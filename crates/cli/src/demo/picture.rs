//! A picture of files' bytes: a pixel a byte, files side by side.
//!
//! Each line of pixels is a run of neighbouring bytes; the lines are spread evenly over the whole file, so what is
//! seen is the file and not its beginning. Colours tell kinds of bytes apart, as binary viewers do: zero black, text
//! blue, other low values green, high values red, 255 white, each brighter with its value.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::Path;

use super::letters;

/// Pixels a side of one file's square.
const SIDE: usize = 512;
/// Pixels around the squares.
const MARGIN: usize = 16;
/// Pixels above the squares, for the labels.
const HEAD: usize = 40;
const BACKGROUND: [u8; 3] = [24, 24, 27];
const INK: [u8; 3] = [228, 228, 231];

/// One file in the picture.
pub(super) struct Panel<'a> {
    pub(super) path: &'a Path,
    /// Capital letters, digits and a little punctuation.
    pub(super) label: String,
}

/// Writes a PNG of `panels`, left to right, to `target`.
///
/// # Errors
/// The file system's.
pub(super) fn write(target: &Path, panels: &[Panel<'_>]) -> io::Result<()> {
    let width = MARGIN + panels.len() * (SIDE + MARGIN);
    let height = HEAD + SIDE + MARGIN;
    let mut canvas = Canvas {
        width,
        pixels: BACKGROUND.repeat(width * height),
    };
    for (index, panel) in panels.iter().enumerate() {
        let left = MARGIN + index * (SIDE + MARGIN);
        letters::draw(&panel.label, 2, |x, y| canvas.set(left + x, 14 + y, INK));
        let mut file = File::open(panel.path)?;
        let length = file.metadata()?.len();
        let mut bytes = [0; SIDE];
        for line in 0..SIDE {
            let spread = length.saturating_sub(SIDE as u64) * line as u64 / (SIDE as u64 - 1);
            file.seek(SeekFrom::Start(spread))?;
            let read = fill(&mut file, &mut bytes)?;
            for (x, &byte) in bytes[..read].iter().enumerate() {
                canvas.set(left + x, HEAD + line, colour(byte));
            }
        }
    }
    let file = BufWriter::new(File::create(target)?);
    let size = |pixels: usize| u32::try_from(pixels).map_err(io::Error::other);
    let mut encoder = png::Encoder::new(file, size(width)?, size(height)?);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(io::Error::other)?;
    writer
        .write_image_data(&canvas.pixels)
        .map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)
}

struct Canvas {
    width: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    fn set(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        let at = (y * self.width + x) * 3;
        if let Some(pixel) = self.pixels.get_mut(at..at + 3).filter(|_| x < self.width) {
            pixel.copy_from_slice(&colour);
        }
    }
}

fn fill(file: &mut File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

fn colour(byte: u8) -> [u8; 3] {
    let bright = 64 + byte / 2 + byte / 4;
    match byte {
        0 => [0, 0, 0],
        0xff => [255, 255, 255],
        0x20..=0x7e => [32, 96, 160 + byte / 2],
        0x01..=0x1f | 0x7f => [32, 112 + byte, 64],
        _ => [bright, 48, 40],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_is_a_png_of_both_files() {
        let directory = tempfile::tempdir().expect("a directory");
        let (a, b, target) = (
            directory.path().join("a"),
            directory.path().join("b"),
            directory.path().join("c.png"),
        );
        std::fs::write(&a, vec![0xff; 1 << 20]).expect("written");
        std::fs::write(&b, vec![0; 100]).expect("written");
        let panel = |path, label: &str| Panel {
            path,
            label: label.to_owned(),
        };
        write(&target, &[panel(&a, "ENCRYPTED"), panel(&b, "PLAIN")]).expect("a picture");
        let file = io::BufReader::new(File::open(&target).expect("there"));
        let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut pixels).expect("an image");
        assert_eq!((info.width, info.height), (1072, 568));
        let at = |x: usize, y: usize| &pixels[(y * 1072 + x) * 3..][..3];
        assert_eq!(at(MARGIN, HEAD), [255, 255, 255]);
        assert_eq!(at(MARGIN * 2 + SIDE, HEAD), [0, 0, 0]);
        assert_eq!(at(0, 0), BACKGROUND);
        assert!(pixels.chunks(3).any(|pixel| pixel == INK), "no label");
    }
}
