//! `hush inspect`: what a database file says about itself.
//!
//! Without a key that is its header, of which nothing is verified. With the key (a plain file needs none) it is also
//! what the key vouches for: generation, root, tables, and the blocks by role. `--entropy` and `--picture`
//! look at the bytes alone.
//!
//! What must hold: no secret is printed, neither wrapped keys nor salts.
#![expect(clippy::disallowed_methods, reason = "it looks at files from outside")]

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hushdb::Freshness;
use hushdb::keys::KeyProvider;
use hushdb::maintenance::{DatabaseFile, FileHeader, KEY_SLOTS, SECTOR_BYTES};

use crate::arguments::InspectArguments;
use crate::byte_view::{self, BLOCKS_BEGIN, ByteCounts, Panel, Region, Verdict};
use crate::failure::Failure;
use crate::key_options::KeyOptions;
use crate::output::{BoxTable, Printer, Sink};

/// Runs it.
///
/// # Errors
/// What is no database, what the key does not open, what was changed.
pub(crate) fn run(arguments: &InspectArguments) -> Result<ExitCode, Failure> {
    let mut out = Sink::standard();
    let freshness = arguments.file.freshness.freshness(false)?;
    let looks_at_bytes = arguments.entropy || arguments.picture.is_some();
    if looks_at_bytes && arguments.file.freshness.is_given() {
        // Before anything is said of them.
        open_read_only(&arguments.file.file, &arguments.file.key, freshness)?;
    }
    if let Some(target) = &arguments.picture {
        picture(arguments, target)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (anchor, only_entropy) = (arguments.anchor, arguments.entropy);
    let arguments = &arguments.file;
    if only_entropy {
        entropy(&mut out, &arguments.file, &arguments.key)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    if anchor {
        let file = open_read_only(&arguments.file, &arguments.key, freshness)?;
        writeln!(out, "{}", file.anchor()?)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let header = FileHeader::read(&arguments.file)?;
    let facts = [
        ("file", arguments.file.display().to_string()),
        ("size", size(header.file_bytes)),
        ("format version", header.format_version.to_string()),
        ("suite", header.suite.clone()),
        ("database id", header.database_id.clone()),
        ("header sequence", header.sequence.to_string()),
        ("header copies", header.copies.clone()),
    ];
    print(&mut out, &facts)?;
    if let Some(commitment) = &header.key_commitment {
        print(&mut out, &[("key commitment", commitment.clone())])?;
    }
    let encrypted = header.is_encrypted;
    if encrypted {
        let used = format!("{} of {KEY_SLOTS} in use", header.slots.len());
        print(&mut out, &[("key slots", used)])?;
        for slot in &header.slots {
            writeln!(out, "  slot {slot}")?;
        }
    }
    if encrypted && !arguments.key.is_given() && !arguments.freshness.is_given() {
        writeln!(
            out,
            "Nothing of this is verified, and tables are not shown: that takes the key."
        )?;
    } else {
        let file = open_read_only(&arguments.file, &arguments.key, freshness)?;
        with_key(&mut out, &file)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The regions of a file: by role if it needs no key, or one is given.
fn regions_of(path: &Path, key: &KeyOptions) -> Result<Vec<Region>, Failure> {
    let opened = match (FileHeader::read(path)?.is_encrypted, key.is_given()) {
        (true, false) => None,
        (true, true) => Some(open_read_only(path, key, Freshness::default())?),
        // The key is another file's, which is drawn beside this one.
        (false, _) => Some(open_read_only(
            path,
            &KeyOptions::default(),
            Freshness::default(),
        )?),
    };
    byte_view::regions(path, opened.as_ref())
}

/// Bits of entropy per byte and a test for noise, region by region.
fn entropy(out: &mut Sink, path: &Path, key: &KeyOptions) -> Result<(), Failure> {
    let failed = |error| Failure::file(path, error);
    let mut file = File::open(path).map_err(failed)?;
    let mut rows = Vec::new();
    for region in regions_of(path, key)? {
        let mut counts = ByteCounts::default();
        for range in region.ranges {
            counts.add(&mut file, range).map_err(failed)?;
        }
        if counts.total == 0 {
            continue;
        }
        let verdict = Verdict::of(&counts);
        let (chi_square, p) = verdict.numbers().unzip();
        rows.push(vec![
            region.name,
            counts.total.to_string(),
            format!("{:.6}", counts.bits_per_byte()),
            chi_square.map_or_else(String::new, |x: f64| format!("{x:.1}")),
            p.map_or_else(String::new, |p| match p {
                0.0001.. => format!("{p:.4}"),
                _ => "< 0.0001".to_owned(),
            }),
            verdict.to_string(),
        ]);
    }
    let names = [
        "region",
        "bytes",
        "bits a byte",
        "chi-square",
        "p",
        "verdict",
    ];
    let width = out.width();
    BoxTable::of_texts(&names, &[false, true, true, true, true, false], rows, width).finish(out)?;
    writeln!(
        out,
        "8 bits a byte is noise. p: how likely noise is to be as uneven as this, of 256 equally likely values."
    )?;
    Ok(())
}

/// Draws one or two files.
fn picture(arguments: &InspectArguments, target: &Path) -> Result<(), Failure> {
    let paths = std::iter::once(&arguments.file.file).chain(&arguments.other);
    let known = paths.map(|path| {
        let regions = regions_of(path, &arguments.file.key)?;
        let counts = ByteCounts::of_file(path, BLOCKS_BEGIN);
        let counts = counts.map_err(|error| Failure::file(path, error))?;
        let suite = FileHeader::read(path)?.suite;
        let label = format!("{suite}  {:.4} bits/byte", counts.bits_per_byte());
        Ok((path, label, regions))
    });
    let known = known.collect::<Result<Vec<_>, Failure>>()?;
    let panels = known.iter().map(|(path, label, regions)| Panel {
        path,
        label: label.clone(),
        regions,
    });
    let panels: Vec<_> = panels.collect();
    byte_view::write(target, &panels)
}

/// Opens a file to look at it, with its key where it needs one.
///
/// # Errors
/// The refusals of opening.
pub(crate) fn open_read_only(
    path: &Path,
    key: &KeyOptions,
    freshness: Freshness,
) -> Result<DatabaseFile, Failure> {
    let provider = key_of(path, key)?;
    let opened = DatabaseFile::open_read_only(path, provider.as_deref(), freshness);
    Ok(opened?)
}

/// Where the key of a file comes from, if it needs one.
///
/// # Errors
/// What is no database; no key where one is needed.
pub(crate) fn key_of(
    path: &Path,
    key: &KeyOptions,
) -> Result<Option<Arc<dyn KeyProvider>>, Failure> {
    let source = if FileHeader::read(path)?.is_encrypted {
        Some(key.required()?)
    } else {
        key.source()?
    };
    Ok(source.map(|source| source.provider()))
}

/// Bytes for people and for programs.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = None;
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = Some(next);
    }
    unit.map_or_else(
        || format!("{bytes} bytes"),
        |unit| format!("{value:.1} {unit} ({bytes} bytes)"),
    )
}

fn print(out: &mut Sink, facts: &[(&str, String)]) -> Result<(), Failure> {
    for (name, value) in facts {
        writeln!(out, "{name:16} {value}")?;
    }
    Ok(())
}

fn with_key(out: &mut Sink, file: &DatabaseFile) -> Result<(), Failure> {
    let known = file.facts();
    let mut root = String::new();
    for byte in known.root_digest {
        root.push_str(&format!("{byte:02x}"));
    }
    let facts = [
        ("generation", known.generation.to_string()),
        ("root digest", root),
        ("anchor", file.anchor()?.to_string()),
        (
            "sectors",
            format!("{} of {SECTOR_BYTES} bytes", known.sectors),
        ),
        ("blocks sealed", format!("{} so far", known.seals)),
    ];
    print(out, &facts)?;
    for notice in [file.notices(), file.key_notices()].concat() {
        print(out, &[("notice", notice.text)])?;
    }
    tables(out, file)?;
    blocks(out, file)
}

fn tables(out: &mut Sink, file: &DatabaseFile) -> Result<(), Failure> {
    let rows = file.relations()?.into_iter().map(|relation| {
        let name = format!("{}.{}", relation.schema, relation.name);
        match relation.table {
            Some(table) => vec![
                name,
                table.columns.to_string(),
                table.rows.to_string(),
                table.row_groups.to_string(),
                table.stored_bytes.to_string(),
                table.raw_bytes.to_string(),
            ],
            None => {
                let mut cells = vec![format!("{name} (view)")];
                cells.resize(6, String::new());
                cells
            }
        }
    });
    let names = [
        "table",
        "columns",
        "rows",
        "row groups",
        "bytes",
        "bytes uncompressed",
    ];
    let (right, width) = ([false, true, true, true, true, true], out.width());
    BoxTable::of_texts(&names, &right, rows.collect(), width).finish(out)
}

fn blocks(out: &mut Sink, file: &DatabaseFile) -> Result<(), Failure> {
    let totals = file.check(&mut |_| {})?.by_role.into_iter().map(|total| {
        vec![
            total.role,
            total.blocks.to_string(),
            total.payload_bytes.to_string(),
            total.disk_bytes.to_string(),
        ]
    });
    let names = ["blocks", "count", "bytes", "bytes on disk"];
    let (right, width) = ([false, true, true, true], out.width());
    BoxTable::of_texts(&names, &right, totals.collect(), width).finish(out)
}
