//! One state of the whole database.
//!
//! What must hold: immutable once published; schema `main` is always there; within a schema no table and view share a name.
//! Sequences, types, macros of expressions and macros of tables have names of their own each. New names differ in more than the case of their letters.
//! While a version lives, the blocks that it names are not reused.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use hushdb_encoding::wire::{Reader, WireError, Writer};

use super::comment::Comments;
use super::entries;
use super::foreign_key::ForeignKey;
use super::sequence::Sequence;
use super::tables::Tables;
use super::user_macro::Macro;
use super::user_type::UserType;
use super::view::View;
use crate::block::{BlockRef, Role};
use crate::error::{Error, Result};
use crate::numbers::{Generation, TableId};
use crate::store::BlockStore;
use crate::table::TableVersion;

/// The schema that every database has.
pub const MAIN_SCHEMA: &str = "main";

const VERSION: u8 = 1;
/// Of a root with entries.
const WITH_ENTRIES: u8 = 2;

/// The database as one snapshot sees it.
#[derive(Clone, Debug)]
pub struct CatalogVersion {
    /// The superblock that published it.
    pub generation: Generation,
    /// Schemas by name.
    pub schemas: BTreeMap<String, Arc<SchemaVersion>>,
    /// The id that the next table gets.
    pub(crate) next_table_id: TableId,
    /// Grows by one with every commit, since the store was opened, that changed what there is rather than rows.
    pub(crate) definitions: u64,
    /// Where the root is stored; `None` for a database that has never been committed to.
    pub(crate) block: Option<BlockRef>,
}

/// A schema as one snapshot sees it.
#[derive(Clone, Debug, Default)]
pub struct SchemaVersion {
    /// Tables by name.
    pub tables: Tables,
    /// Views by name.
    pub views: BTreeMap<String, Arc<View>>,
    /// Sequences by name.
    pub sequences: BTreeMap<String, Arc<Sequence>>,
    /// Macros of expressions by name.
    pub macros: BTreeMap<String, Arc<Macro>>,
    /// Macros of tables by name.
    pub table_macros: BTreeMap<String, Arc<Macro>>,
    /// Types by name.
    pub types: BTreeMap<String, Arc<UserType>>,
    /// Which rows of its tables name which others.
    pub foreign_keys: Vec<Arc<ForeignKey>>,
    /// What is said of all of these.
    pub comments: Comments,
}

impl SchemaVersion {
    /// Names of all tables and views.
    pub fn relations(&self) -> impl Iterator<Item = &String> + Clone {
        self.tables.keys().chain(self.views.keys())
    }

    /// Macros of tables, or of expressions, by name.
    pub fn macros_of(&self, tables: bool) -> &BTreeMap<String, Arc<Macro>> {
        match tables {
            true => &self.table_macros,
            false => &self.macros,
        }
    }

    /// Whether there is anything in it.
    pub fn is_empty(&self) -> bool {
        self.relations().next().is_none() && !entries::has_things(self)
    }
}

impl CatalogVersion {
    /// A number that grows, while the store is open, with every commit that changed what there is rather than rows.
    pub fn definitions(&self) -> u64 {
        self.definitions
    }

    /// The catalog of a new database.
    pub(crate) fn empty(generation: Generation) -> Self {
        let schemas = BTreeMap::from([(MAIN_SCHEMA.to_owned(), Arc::default())]);
        Self {
            generation,
            schemas,
            next_table_id: TableId::new(1),
            definitions: 0,
            block: None,
        }
    }

    /// The schema of that name, compared exactly.
    pub fn schema(&self, name: &str) -> Option<&Arc<SchemaVersion>> {
        self.schemas.get(name)
    }

    /// The table of that name, compared exactly.
    pub fn table(&self, schema: &str, name: &str) -> Option<&Arc<TableVersion>> {
        self.schemas.get(schema)?.tables.get(name)
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableVersion>> {
        self.named_tables().map(|(_, table)| table)
    }

    /// The table of an id.
    pub(crate) fn table_by_id(&self, id: TableId) -> Option<&Arc<TableVersion>> {
        let mut schemas = self.schemas.values();
        schemas.find_map(|schema| schema.tables.by_id(id))
    }

    /// All sequences.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = &Arc<Sequence>> {
        let schemas = self.schemas.values();
        schemas.flat_map(|schema| schema.sequences.values())
    }

    /// All tables with the names of their schemas.
    pub fn named_tables(&self) -> impl Iterator<Item = (&str, &Arc<TableVersion>)> {
        self.schemas.iter().flat_map(|(name, schema)| {
            let tables = schema.tables.values();
            tables.map(|table| (name.as_str(), table))
        })
    }

    /// Reads the catalog that `root` names, with all table records; row-group directories are left for first use.
    pub(crate) fn load(
        blocks: &Arc<BlockStore>,
        root: BlockRef,
        generation: Generation,
    ) -> Result<Self> {
        Self::load_but(blocks, root, generation, &mut |_, _, error| Err(error))
    }

    /// As [`CatalogVersion::load`], but asks `refused` about each table whose record cannot be read, with the name of its
    /// schema and the place of the record; if that gives no error, the table is left out.
    pub(crate) fn load_but(
        blocks: &Arc<BlockStore>,
        root: BlockRef,
        generation: Generation,
        refused: &mut dyn FnMut(&str, &BlockRef, Error) -> Result<()>,
    ) -> Result<Self> {
        let malformed = |at: &BlockRef, what| Error::malformed(Role::Metadata, at.sector, what);
        let bytes = blocks.read(Role::Metadata, &root)?;
        let (mut catalog, tables) =
            Self::decode(&bytes, root, generation).map_err(|_| malformed(&root, "catalog"))?;
        let mut ids: HashSet<TableId> = catalog.sequences().map(|sequence| sequence.id).collect();
        for (schema, refs) in tables {
            for block in refs {
                let mut add = || {
                    let bytes = blocks.read(Role::Metadata, &block)?;
                    let table = TableVersion::decode(&bytes, block, blocks)
                        .map_err(|_| malformed(&block, "table"))?;
                    if !ids.insert(table.id) || table.id >= catalog.next_table_id {
                        return Err(malformed(&block, "table id"));
                    }
                    let into = catalog.schemas.get_mut(&schema).and_then(Arc::get_mut);
                    let into = into.ok_or_else(|| malformed(&root, "catalog"))?;
                    let name = table.name.clone();
                    if into.views.contains_key(&name) || into.tables.contains_key(&name) {
                        return Err(malformed(&block, "table name"));
                    }
                    into.tables.insert(name, Arc::new(table));
                    Ok(())
                };
                if let Err(error) = add() {
                    refused(&schema, &block, error)?;
                }
            }
        }
        Ok(catalog)
    }

    /// Bytes of the root; all tables must be stored.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        let has_entries = self.schemas.values().any(|schema| entries::has_any(schema));
        out.u8(if has_entries { WITH_ENTRIES } else { VERSION });
        out.u64(self.next_table_id.number());
        out.count(self.schemas.len());
        for (name, schema) in &self.schemas {
            out.text(name);
            out.count(schema.tables.len());
            for table in schema.tables.values() {
                out.raw(&BlockRef::option_to_bytes(table.block.as_ref()));
            }
            out.count(schema.views.len());
            for view in schema.views.values() {
                view.write(&mut out);
            }
            if has_entries {
                entries::write(schema, &mut out);
            }
        }
        out.into_bytes()
    }

    /// Parses a root: the catalog without its tables, and the refs of these by schema.
    pub(crate) fn decode(
        bytes: &[u8],
        block: BlockRef,
        generation: Generation,
    ) -> Result<Parsed, WireError> {
        let mut reader = Reader::new(bytes);
        let has_entries = match reader.u8()? {
            VERSION => false,
            WITH_ENTRIES => true,
            _ => return Err(WireError),
        };
        let next_table_id = TableId::new(reader.u64()?);
        let mut schemas = BTreeMap::new();
        let mut tables = Vec::new();
        for _ in 0..reader.count(4 + 4 + 4)? {
            let name = reader.text()?;
            let mut refs = Vec::new();
            for _ in 0..reader.count(TableVersion::SMALLEST)? {
                refs.push(BlockRef::from_bytes(&reader.array()?));
            }
            let mut schema = SchemaVersion::default();
            for _ in 0..reader.count(View::SMALLEST)? {
                let view = View::read(&mut reader)?;
                if schema
                    .views
                    .insert(view.name.clone(), Arc::new(view))
                    .is_some()
                {
                    return Err(WireError);
                }
            }
            if has_entries {
                entries::read(&mut reader, &mut schema)?;
            }
            tables.push((name.clone(), refs));
            if schemas.insert(name, Arc::new(schema)).is_some() {
                return Err(WireError);
            }
        }
        reader.finish()?;
        if !schemas.contains_key(MAIN_SCHEMA) {
            return Err(WireError);
        }
        let catalog = Self {
            generation,
            schemas,
            next_table_id,
            definitions: 0,
            block: Some(block),
        };
        let mut ids = HashSet::new();
        let mut sequences = catalog.sequences();
        if !sequences.all(|sequence| sequence.id < next_table_id && ids.insert(sequence.id)) {
            return Err(WireError);
        }
        drop(sequences);
        Ok((catalog, tables))
    }
}

pub(crate) type Parsed = (CatalogVersion, Vec<(String, Vec<BlockRef>)>);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::comment::{CommentKind, CommentOn};
    use super::super::sequence::{SequenceDef, SequenceOptions};
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Parsed, WireError> {
        CatalogVersion::decode(
            bytes,
            BlockRef::from_bytes(&[0; BlockRef::BYTES]),
            Generation::new(1),
        )
    }

    fn sample() -> Vec<u8> {
        let mut catalog = CatalogVersion::empty(Generation::new(1));
        let view = View {
            name: "v".into(),
            sql: "SELECT 1".into(),
            columns: vec!["a".into()],
        };
        let mut schema = SchemaVersion::default();
        schema.views.insert(view.name.clone(), Arc::new(view));
        catalog.schemas.insert("s".into(), Arc::new(schema));
        catalog.encode()
    }

    /// Two schemas with two sequences.
    fn with_entries() -> CatalogVersion {
        let mut catalog = decode(&sample()).unwrap().0;
        for (id, schema) in (1..).zip(["main", "s"]) {
            let id = TableId::new(id);
            let options = SequenceOptions {
                start: 1,
                increment: 1,
                min: 1,
                max: 9,
                cycle: false,
            };
            let def = SequenceDef {
                name: "q".into(),
                options,
                point: None,
            };
            let sequence = Arc::new(Sequence::new(id, def).unwrap());
            let schema = catalog.schemas.get_mut(schema).unwrap();
            let sequences = &mut Arc::make_mut(schema).sequences;
            sequences.insert("q".into(), sequence);
        }
        catalog.next_table_id = TableId::new(3);
        catalog
    }

    #[test]
    fn entries_come_back_and_what_cannot_be_does_not() {
        assert_eq!(sample()[0], 1, "a root without entries is as it was");
        let mut said = with_entries();
        let schema = said.schemas.get_mut("main").unwrap();
        let on = CommentOn {
            kind: CommentKind::Relation,
            name: "t".into(),
            part: Some("a".into()),
        };
        let comments = &mut Arc::make_mut(schema).comments;
        comments.insert(on, "what a is".into());
        let (read, _) = decode(&said.encode()).unwrap();
        assert_eq!(read.encode(), said.encode());
        let bytes = with_entries().encode();
        let (catalog, _) = decode(&bytes).unwrap();
        assert_eq!(catalog.sequences().count(), 2);
        assert_eq!(catalog.encode(), bytes);
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "cut to {len}");
        }
        let mut ids_past_the_next = with_entries();
        ids_past_the_next.next_table_id = TableId::new(2);
        assert!(decode(&ids_past_the_next.encode()).is_err());
        // The kind of the last entry, and the length of what it says.
        let at = bytes.len() - Sequence::SMALLEST - "q".len() - 5;
        assert_eq!(bytes[at], 1);
        for (at, value) in [(at, 200), (at + 1, 0xff), (at + 4, 0xff)] {
            let mut edited = bytes.clone();
            edited[at] = value;
            assert!(decode(&edited).is_err(), "at {at}");
        }
    }

    #[test]
    fn a_root_comes_back() {
        let (catalog, tables) = decode(&sample()).unwrap();
        assert_eq!(catalog.schemas["s"].views["v"].columns, ["a"]);
        assert_eq!(tables.len(), 2);
    }

    #[test]
    fn a_root_without_main_or_with_absurd_counts_is_refused() {
        let mut without_main = CatalogVersion::empty(Generation::new(1));
        without_main.schemas.clear();
        assert!(decode(&without_main.encode()).is_err());
        let sample = sample();
        // Number of schemas, length of the first name, number of its tables, of its views.
        for at in [9, 13, 21, 25] {
            let mut bytes = sample.clone();
            bytes[at..at + 4].copy_from_slice(&[0xff; 4]);
            assert!(decode(&bytes).is_err(), "at {at}");
        }
        for len in 0..sample.len() {
            assert!(decode(&sample[..len]).is_err(), "cut to {len}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes);
        }

        #[test]
        fn no_edit_makes_the_decoder_panic(at in 0usize..100, value: u8) {
            let mut bytes = sample();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = decode(&bytes);
        }

        #[test]
        fn no_edit_of_entries_makes_the_decoder_panic(at in 0usize..300, value: u8) {
            let mut bytes = with_entries().encode();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = decode(&bytes);
        }
    }
}
