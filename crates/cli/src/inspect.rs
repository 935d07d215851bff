//! `hush inspect`: what a database file says about itself.
//!
//! Without a key that is its header, of which nothing is verified. With the key (a plain file needs none) it is also
//! what the key vouches for: generation, root, tables, and the blocks by role. No secret is printed: neither wrapped
//! keys nor salts. `--entropy` and `--picture` look at the bytes alone.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use hushdb::Freshness;
use hushdb::files::keys::{KeyProvider, SLOT_COUNT, SlotInfo, SlotKdf, UnverifiedHeader};
use hushdb::files::storage::{HeaderCopies, OsFile, Role, SECTOR_BYTES, Store, StoreOptions};

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
        let store = open_read_only(&arguments.file, &arguments.key, freshness)?;
        writeln!(out, "{}", store.anchor()?)?;
        out.flush()?;
        return Ok(ExitCode::SUCCESS);
    }
    let copies = header_copies(&arguments.file)?;
    let header = readable(&copies)?;
    let encrypted = header.suite().is_encrypted();
    let facts = [
        ("file", arguments.file.display().to_string()),
        ("size", size(copies.file_bytes)),
        ("format version", header.format_version().to_string()),
        ("suite", header.suite().to_string()),
        ("database id", header.database_id().to_string()),
        ("header sequence", header.sequence().to_string()),
        ("header copies", copies_text(&copies)),
    ];
    print(&mut out, &facts)?;
    if encrypted {
        let slots = header.slots();
        print(
            &mut out,
            &[(
                "key slots",
                format!("{} of {SLOT_COUNT} in use", slots.len()),
            )],
        )?;
        for slot in &slots {
            writeln!(out, "  slot {}", slot_text(slot))?;
        }
    }
    if encrypted && !arguments.key.is_given() && !arguments.freshness.is_given() {
        writeln!(
            out,
            "Nothing of this is verified, and tables are not shown: that takes the key."
        )?;
    } else {
        let store = open_read_only(&arguments.file, &arguments.key, freshness)?;
        with_key(&mut out, &store)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// The regions of a file: by role if it needs no key, or one is given.
fn regions_of(path: &Path, key: &KeyOptions) -> Result<Vec<Region>, Failure> {
    let encrypted = readable(&header_copies(path)?)?.suite().is_encrypted();
    let store = match (encrypted, key.is_given()) {
        (true, false) => None,
        (true, true) => Some(open_read_only(path, key, Freshness::default())?),
        // The key is another file's, which is drawn beside this one.
        (false, _) => Some(open_read_only(
            path,
            &KeyOptions::default(),
            Freshness::default(),
        )?),
    };
    byte_view::regions(path, store.as_deref())
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
        let suite = readable(&header_copies(path)?)?.suite().to_string();
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

/// Both copies of the header of the file at `path`.
///
/// # Errors
/// What is no file, or too short for a database.
pub(crate) fn header_copies(path: &Path) -> Result<HeaderCopies, Failure> {
    let file = OsFile::open(path, true).map_err(|error| named(path, error))?;
    HeaderCopies::read(&file).map_err(|error| named(path, error))
}

/// The copy to show: the newer one of those that can be read.
///
/// # Errors
/// Why neither can be read.
pub(crate) fn readable(copies: &HeaderCopies) -> Result<&UnverifiedHeader, Failure> {
    let newest = copies
        .copies
        .iter()
        .flatten()
        .max_by_key(|header| header.sequence());
    newest.ok_or_else(|| {
        let why = copies.copies.iter().filter_map(|copy| copy.as_ref().err());
        let why = why.map(ToString::to_string).next().unwrap_or_default();
        Failure::Message(format!(
            "neither copy of the file header can be read: {why}"
        ))
    })
}

/// Opens a file to look at it, with its key where it needs one.
///
/// # Errors
/// The refusals of opening.
pub(crate) fn open_read_only(
    path: &Path,
    key: &KeyOptions,
    freshness: Freshness,
) -> Result<Arc<Store>, Failure> {
    let provider = key_of(path, key)?;
    let options = StoreOptions {
        read_only: true,
        freshness,
        ..StoreOptions::default()
    };
    Ok(Store::open_path(path, provider.as_deref(), &options)?)
}

/// Where the key of a file comes from, if it needs one.
///
/// # Errors
/// What is no database; no key where one is needed.
pub(crate) fn key_of(
    path: &Path,
    key: &KeyOptions,
) -> Result<Option<Arc<dyn KeyProvider>>, Failure> {
    let encrypted = readable(&header_copies(path)?)?.suite().is_encrypted();
    let source = if encrypted {
        Some(key.required()?)
    } else {
        key.source()?
    };
    Ok(source.map(|source| source.provider()))
}

/// A slot as text: number, kind of key, label.
pub(crate) fn slot_text(slot: &SlotInfo) -> String {
    let kdf = match slot.kdf {
        SlotKdf::None if slot.blob_len > 0 => "wrapped elsewhere".to_owned(),
        SlotKdf::None => "raw key".to_owned(),
        SlotKdf::Argon2id(cost) => {
            format!(
                "passphrase, Argon2id (m = {} MiB, t = {}, p = {})",
                cost.m_kib / 1024,
                cost.t,
                cost.p
            )
        }
        SlotKdf::Pbkdf2 { iterations } => {
            format!("passphrase, PBKDF2-HMAC-SHA-512 ({iterations} iterations)")
        }
    };
    let label = if slot.label.is_empty() {
        String::new()
    } else {
        format!(", \"{}\"", slot.label)
    };
    let place = match slot.place.as_str() {
        "" => String::new(),
        place => format!(" ({place})"),
    };
    format!("{}: {kdf}, given by {}{place}{label}", slot.slot, slot.kind)
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

fn named(path: &Path, error: hushdb::files::storage::Error) -> Failure {
    let error = hushdb::Error::from(error);
    Failure::Library(hushdb::Error::new(
        error.kind(),
        format!("{}: {}", path.display(), error.message()),
    ))
}

fn copies_text(copies: &HeaderCopies) -> String {
    match &copies.copies {
        [Ok(a), Ok(b)] if a.sequence() == b.sequence() && a.mac() == b.mac() => {
            "both readable and alike".to_owned()
        }
        [Ok(a), Ok(b)] => format!("A has sequence {}, B has {}", a.sequence(), b.sequence()),
        [Err(why), Ok(_)] => format!("A cannot be read ({why}), B can"),
        [Ok(_), Err(why)] => format!("A can be read, B cannot ({why})"),
        [Err(_), Err(_)] => "neither can be read".to_owned(),
    }
}

fn print(out: &mut Sink, facts: &[(&str, String)]) -> Result<(), Failure> {
    for (name, value) in facts {
        writeln!(out, "{name:16} {value}")?;
    }
    Ok(())
}

fn with_key(out: &mut Sink, store: &Store) -> Result<(), Failure> {
    let info = store.info();
    let mut root = String::new();
    for byte in info.root_digest {
        root.push_str(&format!("{byte:02x}"));
    }
    let facts = [
        ("generation", info.generation.to_string()),
        ("root digest", root),
        ("anchor", store.anchor()?.to_string()),
        (
            "sectors",
            format!("{} of {SECTOR_BYTES} bytes", info.total_sectors),
        ),
        ("blocks sealed", format!("{} so far", info.seals)),
    ];
    print(out, &facts)?;
    for notice in store.notices() {
        print(out, &[("notice", notice.to_string())])?;
    }
    let width = out.width();
    let catalog = store.snapshot();
    let mut rows = Vec::new();
    for (schema_name, schema) in &catalog.schemas {
        for table in schema.tables.values() {
            let groups = table.row_groups()?;
            let segments = groups.iter().flat_map(|group| &group.segments);
            let (stored, raw) = segments.fold((0, 0), |(stored, raw), segment| {
                (
                    stored + u64::from(segment.block.payload_len),
                    raw + segment.raw_bytes,
                )
            });
            rows.push(vec![
                format!("{schema_name}.{}", table.name),
                table.columns.len().to_string(),
                table.row_count().to_string(),
                groups.len().to_string(),
                stored.to_string(),
                raw.to_string(),
            ]);
        }
        for view in schema.views.values() {
            let none = String::new;
            rows.push(vec![
                format!("{schema_name}.{} (view)", view.name),
                none(),
                none(),
                none(),
                none(),
                none(),
            ]);
        }
    }
    let names = [
        "table",
        "columns",
        "rows",
        "row groups",
        "bytes",
        "bytes uncompressed",
    ];
    BoxTable::of_texts(&names, &[false, true, true, true, true, true], rows, width).finish(out)?;

    let mut roles: BTreeMap<Role, (u64, u64, u64)> = BTreeMap::new();
    store.check(&mut |role, block| {
        let (count, payload, disk) = roles.entry(role).or_default();
        *count += 1;
        *payload += u64::from(block.payload_len);
        *disk += block
            .sectors()
            .map_or(0, |sectors| u64::from(sectors) * SECTOR_BYTES as u64);
    })?;
    let rows = roles.into_iter().map(|(role, (count, payload, disk))| {
        vec![
            role.to_string(),
            count.to_string(),
            payload.to_string(),
            disk.to_string(),
        ]
    });
    let names = ["blocks", "count", "bytes", "bytes on disk"];
    BoxTable::of_texts(&names, &[false, true, true, true], rows.collect(), width).finish(out)
}
