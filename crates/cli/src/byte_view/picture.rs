//! A picture of files' bytes: a pixel a byte, files side by side, and below them how much entropy and which regions stand where.
//!
//! Each line of pixels is a run of neighbouring bytes; the lines are spread evenly over the whole file, so what is
//! seen is the file and not its beginning. Colours tell kinds of bytes apart, as binary viewers do: zero black, text
//! blue, other low values green, high values red, 255 white, each brighter with its value. Below, the file goes from left to
//! right: bars of entropy, full at 8 bits a byte, then a band with the colours of the regions, which a legend names.

use std::fs::File;
use std::io::{self, BufWriter, IntoInnerError, Read, Seek, SeekFrom, Write};
use std::path::Path;

use hushdb::maintenance::OutputFile;

use super::counts::ByteCounts;
use super::letters;
use super::regions::Region;
use crate::failure::Failure;

/// Pixels a side of one file's square.
const SIDE: usize = 512;
/// Pixels around the squares.
const MARGIN: usize = 16;
/// Pixels above the squares, for the labels.
const HEAD: usize = 40;
/// Pixels of a bar of 8 bits a byte.
const BARS: usize = 64;
/// Pixels of the band of regions, and of a line of its legend.
const LINE: usize = 18;
/// Bytes that a bar of entropy is counted from: with fewer, noise would seem to have less than it has.
const COUNTED: std::ops::RangeInclusive<u64> = 16_384..=131_072;
/// What a PNG begins with.
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const BACKGROUND: [u8; 3] = [24, 24, 27];
const INK: [u8; 3] = [228, 228, 231];
const BAR: [u8; 3] = [113, 113, 122];
const EMPTY: [u8; 3] = [39, 39, 42];
/// Colours of regions, in their order.
const REGIONS: [[u8; 3]; 12] = [
    [250, 204, 21],
    [161, 161, 170],
    [248, 113, 113],
    [74, 222, 128],
    [56, 132, 246],
    [192, 132, 252],
    [251, 146, 60],
    [45, 212, 191],
    [244, 114, 182],
    [132, 204, 22],
    [103, 232, 249],
    [180, 83, 9],
];

/// One file in the picture.
pub(crate) struct Panel<'a> {
    pub(crate) path: &'a Path,
    /// Text above it.
    pub(crate) label: String,
    /// What is where in it, as far as that is known.
    pub(crate) regions: &'a [Region],
}

/// Writes a PNG of `panels`, left to right, to `target`.
///
/// # Errors
/// The file system's; a target that is there and is no PNG, or is where a database has its log.
pub(crate) fn write(target: &Path, panels: &[Panel<'_>]) -> Result<(), Failure> {
    let failed = |error| Failure::file(target, error);
    refuse_other_than_picture(target).map_err(failed)?;
    let canvas = drawn(panels).map_err(failed)?;
    let file = OutputFile::create(target).map_err(|error| Failure::output(target, error.into()))?;
    let file = canvas.encoded(BufWriter::new(file)).map_err(failed)?;
    file.commit()
        .map_err(|error| Failure::output(target, error.into()))
}

/// Nothing but a picture becomes a picture by a slip.
fn refuse_other_than_picture(target: &Path) -> io::Result<()> {
    let is_file = std::fs::metadata(target).is_ok_and(|there| there.is_file());
    if is_file {
        let mut start = vec![0; SIGNATURE.len()];
        let read = read_at(&mut File::open(target)?, 0, &mut start)?;
        if read > 0 && start != SIGNATURE {
            return Err(io::Error::other(
                "it is there and is no picture: give another name",
            ));
        }
    }
    Ok(())
}

fn drawn(panels: &[Panel<'_>]) -> io::Result<Canvas> {
    let width = MARGIN + panels.len() * (SIDE + MARGIN);
    let legend = panels.iter().map(|panel| panel.regions.len()).max();
    let legend = legend
        .filter(|lines| *lines > 0)
        .map_or(0, |lines| lines + 1);
    let below = MARGIN / 2 + BARS + legend * LINE;
    let height = HEAD + SIDE + below + MARGIN;
    let mut canvas = Canvas {
        width,
        pixels: BACKGROUND.repeat(width * height),
    };
    for (index, panel) in panels.iter().enumerate() {
        canvas.panel(panel, MARGIN + index * (SIDE + MARGIN))?;
    }
    Ok(canvas)
}

struct Canvas {
    width: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    /// Writes it as a PNG; gives back what it was written to.
    fn encoded<W: Write>(&self, mut out: BufWriter<W>) -> io::Result<W> {
        let size = |pixels: usize| u32::try_from(pixels).map_err(io::Error::other);
        let height = self.pixels.len() / 3 / self.width;
        let mut encoder = png::Encoder::new(&mut out, size(self.width)?, size(height)?);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer
            .write_image_data(&self.pixels)
            .map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)?;
        out.into_inner().map_err(IntoInnerError::into_error)
    }

    fn panel(&mut self, panel: &Panel<'_>, left: usize) -> io::Result<()> {
        self.text(&panel.label, 2, (left, 14));
        let mut file = File::open(panel.path)?;
        let length = file.metadata()?.len();
        let mut bytes = vec![0; SIDE];
        for line in 0..SIDE {
            let spread = length.saturating_sub(SIDE as u64) * line as u64 / (SIDE as u64 - 1);
            let read = read_at(&mut file, spread, &mut bytes)?;
            for (x, &byte) in bytes.iter().take(read).enumerate() {
                self.set(left + x, HEAD + line, colour(byte));
            }
        }
        let bars = HEAD + SIDE + MARGIN / 2;
        for x in 0..SIDE {
            let place = |x: usize| length * x as u64 / SIDE as u64;
            let (from, to) = (place(x), place(x + 1));
            let counted = (to - from).clamp(*COUNTED.start(), *COUNTED.end());
            let from = from.min(length.saturating_sub(counted));
            let mut counts = ByteCounts::default();
            counts.add(&mut file, from..from + counted)?;
            let filled = (counts.bits_per_byte() / 8.0 * BARS as f64).round() as usize;
            for y in 0..BARS {
                let colour = if BARS - y <= filled { BAR } else { EMPTY };
                self.set(left + x, bars + y, colour);
            }
        }
        if !panel.regions.is_empty() {
            self.regions(panel.regions, &mut file, (left, bars + BARS))?;
        }
        Ok(())
    }

    /// The band of regions, and what their colours mean.
    fn regions(
        &mut self,
        regions: &[Region],
        file: &mut File,
        (left, top): (usize, usize),
    ) -> io::Result<()> {
        let length = file.metadata()?.len();
        let colours = regions.iter().zip(REGIONS.iter().cycle());
        for (line, (region, colour)) in colours.enumerate() {
            for range in &region.ranges {
                let place = |at: u64| (at.min(length) * SIDE as u64 / length.max(1)) as usize;
                // What is small is seen all the same, unless something larger comes after it.
                let (from, to) = (place(range.start), place(range.end.saturating_sub(1)));
                for x in from..=to.min(SIDE - 1) {
                    (2..LINE - 4).for_each(|y| self.set(left + x, top + y, *colour));
                }
            }
            let top = top + (line + 1) * LINE;
            for pixel in 0..100 {
                self.set(left + pixel % 10, top + pixel / 10, *colour);
            }
            let mut counts = ByteCounts::default();
            for range in &region.ranges {
                counts.add(file, range.clone())?;
            }
            let (bits, bytes) = (counts.bits_per_byte(), counts.total);
            let text = format!("{:14}{bits:.4} BITS/BYTE  {bytes} BYTES", region.name);
            self.text(&text, 1, (left + 18, top + 2));
        }
        Ok(())
    }

    fn text(&mut self, text: &str, scale: usize, (left, top): (usize, usize)) {
        letters::draw(&text.to_uppercase(), scale, |x, y| {
            self.set(left + x, top + y, INK)
        });
    }

    fn set(&mut self, x: usize, y: usize, colour: [u8; 3]) {
        let at = (y * self.width + x) * 3;
        if let Some(pixel) = self.pixels.get_mut(at..at + 3).filter(|_| x < self.width) {
            pixel.copy_from_slice(&colour);
        }
    }
}

fn read_at(file: &mut File, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
    file.seek(SeekFrom::Start(at))?;
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(bytes.get_mut(filled..).unwrap_or_default())? {
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
        let regions = [Region {
            name: "first half".to_owned(),
            ranges: std::iter::once(0..1 << 19).collect(),
        }];
        let panel = |path, label: &str| Panel {
            path,
            label: label.to_owned(),
            regions: &regions,
        };
        write(&target, &[panel(&a, "ENCRYPTED"), panel(&b, "PLAIN")]).expect("a picture");
        let file = io::BufReader::new(File::open(&target).expect("there"));
        let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
        let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
        let info = reader.next_frame(&mut pixels).expect("an image");
        assert_eq!((info.width, info.height), (1072, 676));
        let at = |x: usize, y: usize| &pixels[(y * 1072 + x) * 3..][..3];
        assert_eq!(at(MARGIN, HEAD), [255, 255, 255]);
        assert_eq!(at(MARGIN * 2 + SIDE, HEAD), [0, 0, 0]);
        assert_eq!(at(0, 0), BACKGROUND);
        assert!(pixels.chunks(3).any(|pixel| pixel == INK), "no label");
        // A database must not become a picture by a slip.
        assert!(write(&a, &[panel(&b, "PLAIN")]).is_err());
        write(&target, &[panel(&b, "PLAIN")]).expect("written again");
        // One value has no entropy; the region's colour ends in the middle of the file.
        assert_eq!(at(MARGIN, HEAD + SIDE + MARGIN), EMPTY);
        let band = HEAD + SIDE + MARGIN / 2 + BARS + 8;
        assert_eq!(at(MARGIN + SIDE / 2 - 1, band), REGIONS[0]);
        assert_eq!(at(MARGIN + SIDE / 2, band), BACKGROUND);
    }
}
