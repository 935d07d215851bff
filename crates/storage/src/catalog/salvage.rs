//! Salvage: finds what still opens of a damaged database, and copies it into a new one.
//!
//! ```text
//! damaged            lost with it
//! table record       the table
//! directory page     its rows
//! segment, deletes   the rows of its row group
//! log                the transactions from there on
//! free list, statistics, index: nothing; they are made anew
//! ```
//!
//! What must hold: the damaged file is only read; what is copied has been authenticated and decoded; rows that were deleted do not
//! come back, since a row group whose deletes do not open is left out. Refuses a file whose header, superblock or catalog root does not
//! open: nothing else says what is in it. What is lost is named by place, never by content.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::{Field, Schema};
use hushdb_keys::KeyProvider;

use super::catalog_version::{CatalogVersion, MAIN_SCHEMA, SchemaVersion};
use super::recovery::{Recovered, recover_up_to_damage};
use super::sequence::Sequence;
use super::store::Store;
use super::transaction::Transaction;
use super::user_macro::Macro;
use super::user_type::UserType;
use super::view::View;
use crate::block::{BlockRef, Role};
use crate::error::{Error, ErrorKind, Result};
use crate::file::{OsFiles, StorageFiles};
use crate::index::IndexDef;
use crate::numbers::{ColumnId, RowId, TableId};
use crate::row_group::{Column, ColumnDef, GatheredRows, RowGroup, RowGroupBuilder};
use crate::store::{BlockStore, Notice, StoreOptions};
use crate::table::{Page, TableVersion};

/// Something that does not open.
#[derive(Debug)]
pub struct Lost {
    /// The table that it belongs to, with its schema; only the schema where the table's own record is lost; `None` for the
    /// log and for the key ring.
    pub table: Option<String>,
    /// Ids of the rows that are lost with it, those that were deleted included; `None` where no row is, or all are.
    pub rows: Option<Range<u64>>,
    /// The column whose values do not open, or the index that could not be made again; without a table the key ring.
    pub part: Option<String>,
    /// What is wrong: says role and place of the block.
    pub error: Error,
}

/// How much of a table there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedTable {
    /// Schema and name.
    pub name: String,
    /// Rows that were copied, or can be.
    pub rows: u64,
    /// Rows that the table says it has, as far as the log could be read.
    pub total_rows: u64,
}

/// What [`Salvage::copy_to`] did, or [`Salvage::survey`] saw.
#[derive(Debug, Default)]
pub struct SalvageReport {
    /// Tables whose record opens.
    pub tables: Vec<SalvagedTable>,
    /// Views that were copied, or can be.
    pub views: u64,
    /// What was lost, in the order of the file's catalog.
    pub lost: Vec<Lost>,
}

/// A damaged database, opened as far as it opens.
pub struct Salvage {
    store: Arc<Store>,
    /// Definitions by table id: the tables themselves go without, since what an index says may be lost.
    indexes: Vec<(TableId, IndexDef)>,
    /// Rows that tables say they have, by id, before anything was left out.
    totals: Vec<(TableId, u64)>,
    lost: Vec<Lost>,
}

impl Salvage {
    /// Opens the database at `path`, and its logs, without a right to write.
    ///
    /// # Errors
    /// As [`Salvage::open_in`], and of the operating system.
    pub fn open_path(
        path: &Path,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Self> {
        Self::open_in(Arc::new(OsFiles::beside(path)?), key, options)
    }

    /// Opens a database as far as it opens.
    ///
    /// # Errors
    /// As [`BlockStore::open`], and when the root of the catalog does not open.
    pub fn open_in(
        files: Arc<dyn StorageFiles>,
        key: Option<&dyn KeyProvider>,
        options: &StoreOptions,
    ) -> Result<Self> {
        let options = StoreOptions {
            read_only: true,
            bears_lost_ring: true,
            ..options.clone()
        };
        let file = files.open("", true)?;
        let file = file.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::NotFound))?;
        let blocks = Arc::new(BlockStore::open(file, key, &options)?);
        let generation = blocks.generation();
        let mut lost: Vec<Lost> = lost_ring(&blocks).into_iter().collect();
        let mut refused = |schema: &str, _: &BlockRef, error| {
            lost.push(Lost {
                table: Some(schema.to_owned()),
                rows: None,
                part: None,
                error: may_be_lost(error)?,
            });
            Ok(())
        };
        let mut catalog = match blocks.catalog_ref() {
            Some(root) => CatalogVersion::load_but(&blocks, root, generation, &mut refused)?,
            None => CatalogVersion::empty(generation),
        };
        let mut indexes = Vec::new();
        let mut totals = Vec::new();
        for (schema, content) in &mut catalog.schemas {
            let content: &mut SchemaVersion = Arc::make_mut(content);
            for table in content.tables.values_mut() {
                let table = Arc::make_mut(table);
                totals.push((table.id, table.row_count()));
                indexes.extend(index_defs(table));
                let name = format!("{schema}.{}", table.name);
                keep_what_opens(table, &blocks, &name, &mut lost)?;
            }
        }
        let kept: Vec<(TableId, u64)> = row_counts(&catalog);
        let (catalog, refused) =
            recover_up_to_damage(files.as_ref(), &blocks, catalog, &options.freshness);
        // What the log adds and deletes counts, too.
        for ((id, total), (_, kept)) in totals.iter_mut().zip(kept) {
            let now = catalog.table_by_id(*id);
            let now = now.map_or(kept, |table| table.row_count());
            *total = total.saturating_add(now).saturating_sub(kept);
        }
        if let Some(error) = refused {
            lost.push(Lost {
                table: None,
                rows: None,
                part: None,
                error: may_be_lost(error)?,
            });
        }
        let recovered = Recovered::default();
        let store = Store::assembled(blocks, &options, false, None, catalog, recovered);
        Ok(Self {
            store,
            indexes,
            totals,
            lost,
        })
    }

    /// What could be copied: every row is read and decoded.
    ///
    /// # Errors
    /// Of the operating system.
    pub fn survey(self) -> Result<SalvageReport> {
        self.copy(None)
    }

    /// Copies what opens into `out`, a new database: tables with their columns, conditions and rows, their indexes, made
    /// anew, sequences where they are, types, macros and views. Foreign keys are left out, since rows that they name may be lost. Rows keep their order, not their ids.
    ///
    /// # Errors
    /// When `out` cannot be written; as [`Salvage::survey`].
    pub fn copy_to(self, out: &Arc<Store>) -> Result<SalvageReport> {
        self.copy(Some(out))
    }

    fn copy(self, out: Option<&Arc<Store>>) -> Result<SalvageReport> {
        let catalog = self.store.snapshot();
        let mut copy = Copy {
            from: &self.store,
            out,
            report: SalvageReport {
                lost: self.lost,
                ..SalvageReport::default()
            },
        };
        for (schema, content) in &catalog.schemas {
            copy.schema(schema)?;
            for table in content.tables.values() {
                let of_table = |(id, _): &&(TableId, IndexDef)| *id == table.id;
                let indexes = self.indexes.iter().filter(of_table);
                let total = self.totals.iter().find(|(id, _)| *id == table.id);
                copy.table(schema, table, total.map_or(0, |(_, rows)| *rows))?;
                for (_, index) in indexes {
                    copy.index(schema, table, index)?;
                }
            }
            for sequence in content.sequences.values() {
                copy.sequence(schema, content, sequence)?;
            }
            for one in content.types.values() {
                copy.user_type(schema, one)?;
            }
            for of_tables in [false, true] {
                for one in content.macros_of(of_tables).values() {
                    copy.user_macro(schema, one, of_tables)?;
                }
            }
            for view in content.views.values() {
                copy.view(schema, view)?;
            }
            copy.comments(schema, content)?;
        }
        Ok(copy.report)
    }
}

fn begin(out: &Arc<Store>) -> Result<Transaction> {
    let mut txn = out.begin()?;
    txn.let_names_be_alike();
    Ok(txn)
}

/// Leaves out row groups that cannot be read, and indexes.
fn keep_what_opens(
    table: &mut TableVersion,
    blocks: &BlockStore,
    name: &str,
    lost: &mut Vec<Lost>,
) -> Result<()> {
    let mut pages = Vec::new();
    for page in &table.pages {
        let of = |rows: Range<RowId>, error: Error| -> Result<Lost> {
            Ok(Lost {
                table: Some(name.to_owned()),
                rows: Some(rows.start.number()..rows.end.number()),
                part: None,
                error: may_be_lost(error)?,
            })
        };
        match page.groups_that_open(blocks, &table.columns) {
            Ok((open, refused)) => {
                for (group, error) in refused {
                    lost.push(of(group.first_row_id..group.end_row_id(), error)?);
                }
                if !open.is_empty() {
                    pages.push(Arc::new(Page::new(open)));
                }
            }
            Err(error) => lost.push(of(page.first_row_id..page.end_row_id, error)?),
        }
    }
    table.indexes.clear();
    table.set_rows(pages, Vec::new());
    Ok(())
}

fn index_defs(table: &TableVersion) -> Vec<(TableId, IndexDef)> {
    let name_of = |id: &ColumnId| {
        let mut columns = table.columns.iter();
        columns
            .find(|column| column.id == *id)
            .map(|c| c.name.clone())
    };
    let of = |index: &crate::index::Index| IndexDef {
        name: index.name().to_owned(),
        kind: index.kind(),
        columns: index.column_ids().iter().filter_map(name_of).collect(),
    };
    let indexes = table.indexes().iter();
    indexes.map(|index| (table.id, of(index))).collect()
}

fn row_counts(catalog: &CatalogVersion) -> Vec<(TableId, u64)> {
    let tables = catalog.tables();
    tables.map(|table| (table.id, table.row_count())).collect()
}

/// The key ring, if no copy of it opens.
fn lost_ring(blocks: &BlockStore) -> Option<Lost> {
    let sector = blocks.key_ring_refs().first().map_or(0, |r| r.sector);
    let what = "neither copy holds: what is under data keys that only it had does not open";
    let is_lost = blocks.notices().contains(&Notice::KeyRingLost);
    is_lost.then(|| Lost {
        table: None,
        rows: None,
        part: Some("the key ring".into()),
        error: Error::malformed(Role::KeyRing, sector, what),
    })
}

/// What the file itself is to blame for. Where the disk fails, trying again may give more.
fn may_be_lost(error: Error) -> Result<Error> {
    match error.kind() {
        ErrorKind::Tampered | ErrorKind::Corrupted | ErrorKind::Unsupported => Ok(error),
        _ => Err(error),
    }
}

/// A copy under way; without `out` it only looks.
struct Copy<'a> {
    from: &'a Store,
    out: Option<&'a Arc<Store>>,
    report: SalvageReport,
}

impl Copy<'_> {
    fn schema(&mut self, schema: &str) -> Result<()> {
        if let Some(out) = self.out.filter(|_| schema != MAIN_SCHEMA) {
            let mut txn = begin(out)?;
            txn.create_schema(schema)?;
            txn.commit()?;
        }
        Ok(())
    }

    fn table(&mut self, schema: &str, table: &TableVersion, total_rows: u64) -> Result<()> {
        let name = format!("{schema}.{}", table.name);
        let mut writer = match self.out {
            Some(out) => Some(TableWriter::new(out, schema, table)?),
            None => None,
        };
        let mut rows = 0;
        for group in table.row_groups()? {
            match self.rows_of(group, table) {
                Ok(batch) => {
                    rows += batch.num_rows() as u64;
                    if let Some(writer) = &mut writer {
                        writer.push(&batch)?;
                    }
                }
                Err((column, error)) => self.report.lost.push(Lost {
                    table: Some(name.clone()),
                    rows: Some(group.first_row_id.number()..group.end_row_id().number()),
                    part: Some(column),
                    error: may_be_lost(error)?,
                }),
            }
        }
        if let Some(writer) = writer {
            writer.finish()?;
        }
        self.report.tables.push(SalvagedTable {
            name,
            rows,
            total_rows,
        });
        Ok(())
    }

    /// The rows of a row group that are not deleted; else the column that does not open, and why. Each segment is decoded whole, as a
    /// check does.
    fn rows_of(
        &self,
        group: &RowGroup,
        table: &TableVersion,
    ) -> Result<RecordBatch, (String, Error)> {
        let visible = group.visible().map(|rows| BooleanArray::new(rows, None));
        let read = |column: &Column| -> Result<ArrayRef> {
            let values = self.from.read_column(group, column, None)?;
            match &visible {
                None => Ok(values),
                Some(visible) => arrow_select::filter::filter(&values, visible)
                    .map_err(|_| Error::InvalidInput("rows could not be filtered".into())),
            }
        };
        let columns = table.columns.iter();
        let arrays = columns.map(|column| read(column).map_err(|e| (column.name.clone(), e)));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let batch = RecordBatch::try_new(arrow_schema_of(&table.columns), arrays);
        batch.map_err(|_| {
            let error = Error::InvalidInput("columns of unequal length".into());
            (String::new(), error)
        })
    }

    /// An index that does not fit the rows, which only a forged or broken file has, is lost; the rows stay.
    fn index(&mut self, schema: &str, table: &TableVersion, index: &IndexDef) -> Result<()> {
        let Some(out) = self.out else {
            return Ok(());
        };
        let mut txn = begin(out)?;
        let made = txn.create_index(schema, &table.name, index.clone());
        match made.and_then(|()| txn.commit().map(|_| ())) {
            Ok(()) => Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::Full | ErrorKind::Io) => Err(error),
            Err(error) => {
                self.report.lost.push(Lost {
                    table: Some(format!("{schema}.{}", table.name)),
                    rows: None,
                    part: Some(index.name.clone()),
                    error,
                });
                Ok(())
            }
        }
    }

    fn sequence(
        &mut self,
        schema: &str,
        content: &SchemaVersion,
        sequence: &Sequence,
    ) -> Result<()> {
        if let Some(out) = self.out {
            let mut txn = begin(out)?;
            txn.create_sequence(schema, sequence.to_def())?;
            if let Some((table, column)) = sequence.owner_in(content)
                && txn.catalog().table(schema, &table.name).is_some()
            {
                let column = column.map(|column| column.name.as_str());
                let owner = Some((table.name.as_str(), column));
                txn.set_sequence_owner(schema, &sequence.name, owner, sequence.used())?;
            }
            txn.commit()?;
        }
        Ok(())
    }

    fn user_macro(&mut self, schema: &str, one: &Macro, of_tables: bool) -> Result<()> {
        if let Some(out) = self.out {
            let mut txn = begin(out)?;
            txn.create_macro(schema, one.clone(), of_tables)?;
            txn.commit()?;
        }
        Ok(())
    }

    fn user_type(&mut self, schema: &str, one: &UserType) -> Result<()> {
        if let Some(out) = self.out {
            let mut txn = begin(out)?;
            txn.create_type(schema, one.clone())?;
            txn.commit()?;
        }
        Ok(())
    }

    /// What is said of all of a schema, of what is lost, too.
    fn comments(&mut self, schema: &str, content: &SchemaVersion) -> Result<()> {
        let Some(out) = self.out.filter(|_| !content.comments.is_empty()) else {
            return Ok(());
        };
        let mut txn = begin(out)?;
        for (on, text) in &content.comments {
            txn.set_comment(schema, on.clone(), Some(text))?;
        }
        txn.commit()?;
        Ok(())
    }

    fn view(&mut self, schema: &str, view: &View) -> Result<()> {
        if let Some(out) = self.out {
            let mut txn = begin(out)?;
            txn.create_view(schema, view.clone())?;
            txn.commit()?;
        }
        self.report.views += 1;
        Ok(())
    }
}

fn arrow_schema_of(columns: &[Column]) -> Arc<Schema> {
    let field = |column: &Column| Field::new(&column.name, column.ty.arrow(), true);
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

/// Writes the rows of one table, in row groups of the usual size.
struct TableWriter<'a> {
    out: &'a Arc<Store>,
    schema: &'a str,
    name: String,
    columns: Vec<Column>,
    builder: RowGroupBuilder,
}

impl<'a> TableWriter<'a> {
    fn new(out: &'a Arc<Store>, schema: &'a str, table: &TableVersion) -> Result<Self> {
        let def = |column: &Column| ColumnDef {
            name: column.name.clone(),
            ty: column.ty.clone(),
            nullable: column.nullable,
            default: column.default.clone(),
            generated: column.generated.clone(),
            declared: column.declared,
        };
        let defs = table.columns.iter().map(def).collect();
        let mut txn = begin(out)?;
        txn.create_table(schema, &table.name, defs, table.checks.clone())?;
        let made = txn.commit()?;
        let made = made.table(schema, &table.name);
        let columns = made.map(|made| made.columns.to_vec()).unwrap_or_default();
        Ok(Self {
            out,
            schema,
            name: table.name.clone(),
            builder: RowGroupBuilder::new(&columns, out.row_group_rows()),
            columns,
        })
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        for rows in self.builder.push(batch)? {
            write(self.out, self.schema, &self.name, &self.columns, rows)?;
        }
        Ok(())
    }

    fn finish(mut self) -> Result<()> {
        if let Some(rows) = self.builder.cut() {
            write(self.out, self.schema, &self.name, &self.columns, rows)?;
        }
        Ok(())
    }
}

fn write(
    out: &Arc<Store>,
    schema: &str,
    table: &str,
    columns: &[Column],
    rows: GatheredRows,
) -> Result<()> {
    let group = out.write_gathered(columns, rows)?;
    let mut txn = begin(out)?;
    txn.append(schema, table, vec![group])?;
    txn.commit()?;
    Ok(())
}
