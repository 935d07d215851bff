//! The decoders of everything that a file holds, each as a function of bytes: what fuzzing calls, and the test that runs
//! its corpus. No part of the interface for programs.
//!
//! What must hold: a function returns, whatever the bytes are, and has then read what they say as opening and reading a file would.
//! Keys and checksums stand before most decoders; here they do not.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use hushdb_crypto::CryptoProvider;
use hushdb_encoding::{
    ArrayType, ColumnType, MapType, OpenSegment, SegmentHeader, UnionType, VortexCodec,
};
use hushdb_keys::{HEADER_LEN, KeyRing, UnverifiedHeader};

use crate::block::{BlockRef, Protection, Role, SECTOR_BYTES, SealedFile};
use crate::catalog::{CatalogVersion, Replay, Store};
use crate::error::Result;
use crate::file::MemFile;
use crate::log::{LogBasis, LogOwner, LogReader, UnverifiedLogHeader, plain_log};
use crate::numbers::{Generation, RowId};
use crate::row_group::{ColumnDef, DistinctSketch, RowGroup};
use crate::store::{BlockStore, StoreOptions, Superblock, read_free_list};
use crate::table::{Page, TableVersion};
use crate::tree::Node;

/// A decoder by its name.
pub type Decoder = (&'static str, fn(&[u8]));

/// All of them. The names are those of the fuzz targets and of the folders of their corpora.
pub const ALL: [Decoder; 14] = [
    ("file_header", file_header),
    ("key_ring", key_ring),
    ("superblock", superblock),
    ("block_ref", block_ref),
    ("free_list", free_list),
    ("log", log),
    ("log_record", log_record),
    ("change", change),
    ("catalog_root", catalog_root),
    ("table_record", table_record),
    ("page", page),
    ("index_node", index_node),
    ("row_group_extras", row_group_extras),
    ("segment", segment),
];

/// A copy of the file header, cut or filled to its length.
pub fn file_header(bytes: &[u8]) {
    let mut page = [0; HEADER_LEN];
    let len = bytes.len().min(HEADER_LEN);
    page[..len].copy_from_slice(&bytes[..len]);
    if let Ok(header) = UnverifiedHeader::parse(&page) {
        let _ = (header.slots(), header.open_plain());
    }
}

/// The payload of a key ring, which is written as it was read.
pub fn key_ring(bytes: &[u8]) {
    if let Ok(ring) = KeyRing::from_bytes(bytes) {
        assert_eq!(ring.to_bytes(), bytes, "it reads what nobody writes");
    }
}

/// The payload of a superblock, padding included.
pub fn superblock(bytes: &[u8]) {
    if let Ok(superblock) = Superblock::from_payload(bytes) {
        let _ = superblock.to_payload();
    }
}

/// A ref, and the block that it stands for in a small plain file.
pub fn block_ref(bytes: &[u8]) {
    const SECTORS: u64 = 4;
    let Some((block, rest)) = bytes.split_first_chunk::<{ BlockRef::BYTES }>() else {
        return;
    };
    let mut file = rest.to_vec();
    file.resize(SECTORS as usize * SECTOR_BYTES, 0);
    let file = Arc::new(MemFile::from_bytes(&file));
    let sealed = SealedFile::new(file, CryptoProvider::portable(), [0; 16], Protection::Plain);
    if let Some(block) = BlockRef::option_from_bytes(block) {
        let _ = sealed.read(Role::Metadata, &block, SECTORS);
    }
}

/// A chain of free-list blocks that all have this payload.
pub fn free_list(bytes: &[u8]) {
    let payload = Bytes::copy_from_slice(bytes);
    let first = BlockRef::from_bytes(&[1; BlockRef::BYTES]);
    let _ = read_free_list(Some(first), 1 << 20, |_| Ok(payload.clone()));
}

/// A log as it stands, beside a plain database.
pub fn log(bytes: &[u8]) {
    if let Ok(header) = UnverifiedLogHeader::parse(bytes) {
        let owner = LogOwner::plain(CryptoProvider::portable(), header.database_id());
        let _ = replay(bytes, &owner);
    }
}

/// What follows the header of a log: heads and tags are given the checksums that an editor would give them.
pub fn log_record(bytes: &[u8]) {
    let owner = LogOwner::plain(CryptoProvider::portable(), [0; 16]);
    let _ = replay(&plain_log(&owner, bytes), &owner);
}

fn replay(bytes: &[u8], owner: &LogOwner) -> Result<()> {
    let header = UnverifiedLogHeader::parse(bytes)?.verify(owner)?;
    let basis: LogBasis = *header.basis();
    let file = Arc::new(MemFile::from_bytes(bytes));
    let reader = LogReader::open(file, owner, &basis, None)?;
    reader.replay(|record| {
        change(record.payload);
        Ok(())
    })?;
    Ok(())
}

/// The payload of a log record, applied to a database with a table of each type.
pub fn change(bytes: &[u8]) {
    if let Some(before) = sample() {
        let mut replay = Replay::strict(before.clone());
        let _ = replay.apply(bytes);
        let _ = replay.finish();
    }
}

/// The root of the catalog.
pub fn catalog_root(bytes: &[u8]) {
    let _ = CatalogVersion::decode(bytes, no_block(), Generation::new(1));
}

/// A table's record, its columns and indexes.
pub fn table_record(bytes: &[u8]) {
    let blocks = sample_blocks();
    if let Some(Ok(table)) = blocks.map(|blocks| TableVersion::decode(bytes, no_block(), blocks)) {
        let _ = (table.row_count(), table.encode());
    }
}

/// A page of a row-group directory.
pub fn page(bytes: &[u8]) {
    if let Ok(groups) = Page::decode(bytes) {
        let groups: Vec<_> = groups.into_iter().map(Arc::new).collect();
        let _ = Page::encode(&groups);
    }
}

/// A block of an index.
pub fn index_node(bytes: &[u8]) {
    if let Ok(node) = Node::parse(Bytes::copy_from_slice(bytes)) {
        for at in 0..node.count {
            let _ = (node.entry(at), node.child(at));
        }
    }
}

/// A delete vector, and distinct sketches: which of them the bytes are is for both to find out.
pub fn row_group_extras(bytes: &[u8]) {
    let group = RowGroup::in_memory(RowId::default(), 100_000, Vec::new());
    let _ = group.deletes_from_bytes(bytes);
    for (_, sketch) in DistinctSketch::read_all(bytes).unwrap_or_default() {
        let _ = sketch.estimate();
    }
}

/// A column segment, taken for what it says it is: all of it, and its first and last value.
pub fn segment(bytes: &[u8]) {
    static CODEC: OnceLock<VortexCodec> = OnceLock::new();
    /// More rows than this only take longer.
    const ROWS: u32 = 1 << 16;
    let codec = CODEC.get_or_init(VortexCodec::new);
    let bytes = Bytes::copy_from_slice(bytes);
    let Ok((header, _)) = SegmentHeader::parse(&bytes) else {
        return;
    };
    if header.rows > ROWS {
        return;
    }
    let _ = codec.decode(&header.ty, header.rows, &bytes, None);
    let opened: Result<OpenSegment, _> = codec.open(&header.ty, header.rows, &bytes);
    if let Ok(open) = opened {
        for row in [0, header.rows.saturating_sub(1)] {
            let _ = codec.value(&open, row as usize);
        }
    }
}

fn no_block() -> BlockRef {
    BlockRef::from_bytes(&[0; BlockRef::BYTES])
}

fn sample_blocks() -> Option<&'static Arc<BlockStore>> {
    static BLOCKS: OnceLock<Option<Arc<BlockStore>>> = OnceLock::new();
    let make = || BlockStore::create(Arc::new(MemFile::new()), None, &StoreOptions::default());
    BLOCKS.get_or_init(|| make().ok().map(Arc::new)).as_ref()
}

/// Table 1 has a BIGINT, a VARCHAR and a BOOLEAN, table 2 a DECIMAL, a BLOB and an INTERVAL, table 3 lists and structs, table 4
/// numbers of 128 bits.
fn sample() -> Option<&'static CatalogVersion> {
    static SAMPLE: OnceLock<Option<CatalogVersion>> = OnceLock::new();
    SAMPLE.get_or_init(|| make_sample().ok()).as_ref()
}

fn make_sample() -> Result<CatalogVersion> {
    let store = Store::open_in_memory(&StoreOptions::default())?;
    let mut txn = store.begin()?;
    for (name, types) in ["a", "b", "c", "d", "e", "f", "g"]
        .into_iter()
        .zip(sample_types())
    {
        let column = |(name, ty): (&str, ColumnType)| ColumnDef {
            name: name.into(),
            ty,
            nullable: true,
            default: None,
            generated: None,
            declared: None,
        };
        let columns = ["x", "y", "z"].into_iter().zip(types).map(column);
        txn.create_table("main", name, columns.collect(), Vec::new())?;
    }
    Ok(CatalogVersion::clone(&*txn.commit()?))
}

/// Of each table of the sample the types of its columns.
fn sample_types() -> [[ColumnType; 3]; 7] {
    let (precision, scale) = (20, 2);
    let array = |item: &ColumnType, length| {
        let of = ArrayType::new(item.clone(), length);
        of.map_or(item.clone(), ColumnType::Array)
    };
    let union = |members: &[(&str, ColumnType)]| {
        let named = members
            .iter()
            .map(|(name, ty)| ((*name).to_owned(), ty.clone()));
        let of = UnionType::new(named.collect());
        of.map_or(ColumnType::Boolean, ColumnType::Union)
    };
    let number_or_text = union(&[("num", ColumnType::Int32), ("str", ColumnType::Varchar)]);
    let map = |key, value| ColumnType::Map(MapType::new(key, value));
    let point = ColumnType::Struct(vec![
        ("x".into(), ColumnType::Double),
        ("y".into(), ColumnType::Varchar),
    ]);
    [
        [ColumnType::Int64, ColumnType::Varchar, ColumnType::Boolean],
        [
            ColumnType::Decimal { precision, scale },
            ColumnType::Blob,
            ColumnType::Interval,
        ],
        [
            ColumnType::List(Box::new(ColumnType::Int32)),
            point.clone(),
            ColumnType::List(Box::new(point.clone())),
        ],
        [
            ColumnType::HugeInt,
            ColumnType::UHugeInt,
            ColumnType::List(Box::new(ColumnType::UHugeInt)),
        ],
        [
            map(ColumnType::Varchar, ColumnType::Int32),
            map(point.clone(), ColumnType::Date),
            map(
                ColumnType::Int8,
                map(ColumnType::Int64, ColumnType::Boolean),
            ),
        ],
        [
            array(&ColumnType::Float, 3),
            array(&point, 1),
            array(&array(&ColumnType::Varchar, 2), 2),
        ],
        [
            number_or_text.clone(),
            union(&[("u", union(&[("a", ColumnType::Boolean)]))]),
            ColumnType::List(Box::new(number_or_text)),
        ],
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds that begin with `sound` get to the end of the decoder, so that their edits try all of it.
    #[test]
    fn sound_seeds_are_changes_of_the_sample() {
        let is_applied = |bytes: &[u8]| {
            let mut replay = Replay::strict(sample().unwrap().clone());
            replay.apply(bytes).is_ok() && replay.finish().1.is_ok()
        };
        let sound: &[u8] = include_bytes!("../../../fuzz/corpus/change/sound-huge");
        assert!(is_applied(sound));
        let hostile: [&[u8]; 3] = [
            include_bytes!("../../../fuzz/corpus/change/change-hugeint-above-its-bits"),
            include_bytes!("../../../fuzz/corpus/change/change-uhugeint-with-a-sign"),
            include_bytes!("../../../fuzz/corpus/change/change-type-above-all"),
        ];
        let of_arrays: &[u8] = include_bytes!("../../../fuzz/corpus/change/sound-array");
        assert!(is_applied(of_arrays));
        let hostile_arrays: [&[u8]; 5] = [
            include_bytes!("../../../fuzz/corpus/change/change-array-of-another-length"),
            include_bytes!("../../../fuzz/corpus/change/change-array-with-a-null-that-has-values"),
            include_bytes!("../../../fuzz/corpus/change/change-array-length-absurd"),
            include_bytes!("../../../fuzz/corpus/change/change-array-values-absurd"),
            include_bytes!("../../../fuzz/corpus/change/change-array-of-nothing"),
        ];
        let of_unions: &[u8] = include_bytes!("../../../fuzz/corpus/change/sound-union");
        assert!(is_applied(of_unions));
        let hostile_unions: [&[u8]; 6] = [
            include_bytes!("../../../fuzz/corpus/change/change-union-of-a-tag-without-a-member"),
            include_bytes!("../../../fuzz/corpus/change/change-union-of-another-member"),
            include_bytes!("../../../fuzz/corpus/change/change-union-of-two-members"),
            include_bytes!("../../../fuzz/corpus/change/change-union-without-a-tag"),
            include_bytes!("../../../fuzz/corpus/change/change-union-members-absurd"),
            include_bytes!("../../../fuzz/corpus/change/change-union-of-nothing"),
        ];
        let hostile = hostile.map(|bytes| (bytes, sound)).into_iter();
        let all = hostile
            .chain(hostile_arrays.map(|bytes| (bytes, of_arrays)))
            .chain(hostile_unions.map(|bytes| (bytes, of_unions)));
        for (bytes, sound) in all {
            assert_eq!(bytes.len(), sound.len());
            assert!(!is_applied(bytes));
        }
    }
}
