//! Where the fields of metadata stand, found by walking a sound payload (FORMAT.md, "Tables" and "Catalog").

/// A place in a payload that moves on with each field.
struct At<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl At<'_> {
    fn skip(&mut self, bytes: usize) -> usize {
        let at = self.at;
        self.at += bytes;
        at
    }

    fn count(&mut self) -> usize {
        let at = self.skip(4);
        u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap()) as usize
    }

    /// Length and bytes of a text.
    fn text(&mut self) -> usize {
        let at = self.at;
        let len = self.count();
        self.skip(len);
        at
    }

    fn optional_text(&mut self) -> usize {
        let at = self.skip(1);
        if self.bytes[at] == 1 {
            self.text();
        }
        at
    }

    fn bound(&mut self) -> usize {
        let at = self.skip(1);
        match self.bytes[at] {
            0 => {}
            1 => self.at += 1,
            5 => self.at += 16,
            6 => {
                self.text();
            }
            _ => self.at += 8,
        }
        at
    }
}

pub(crate) struct RootFields {
    pub(crate) next_table_id: usize,
    pub(crate) schema_count: usize,
    pub(crate) schemas: Vec<SchemaFields>,
}

/// Name, number of tables, refs of tables, number of views, names of views.
pub(crate) type SchemaFields = (usize, usize, Vec<usize>, usize, Vec<usize>);

pub(crate) fn root(bytes: &[u8]) -> RootFields {
    let mut at = At { bytes, at: 1 };
    let next_table_id = at.skip(8);
    let schema_count = at.at;
    let schemas = (0..at.count()).map(|_| {
        let (name, tables) = (at.text(), at.at);
        let refs = (0..at.count()).map(|_| at.skip(40)).collect();
        let views = at.at;
        let names = (0..at.count()).map(|_| {
            let name = at.text();
            at.text();
            (0..at.count()).for_each(|_| {
                at.text();
            });
            name
        });
        (name, tables, refs, views, names.collect())
    });
    RootFields {
        next_table_id,
        schema_count,
        schemas: schemas.collect(),
    }
}

pub(crate) struct TableFields {
    pub(crate) id: usize,
    pub(crate) name: usize,
    pub(crate) next_row_id: usize,
    pub(crate) next_column_id: usize,
    pub(crate) column_count: usize,
    /// Id, name, type, nullable, default.
    pub(crate) columns: Vec<[usize; 5]>,
    pub(crate) check_count: usize,
    /// Name, condition.
    pub(crate) checks: Vec<[usize; 2]>,
    pub(crate) index_count: usize,
    /// Name, kind, number of columns, root, entries.
    pub(crate) indexes: Vec<[usize; 5]>,
    pub(crate) page_count: usize,
    /// Ref, first row id, end of row ids, visible rows.
    pub(crate) pages: Vec<[usize; 4]>,
}

pub(crate) fn table(bytes: &[u8]) -> TableFields {
    let mut at = At { bytes, at: 1 };
    let (id, name) = (at.skip(8), at.text());
    let (next_row_id, next_column_id) = (at.skip(8), at.skip(4));
    let column_count = at.at;
    let columns = (0..at.count()).map(|_| {
        let (id, name) = (at.skip(4), at.text());
        [id, name, at.skip(3), at.skip(1), at.optional_text()]
    });
    let columns = columns.collect();
    let check_count = at.at;
    let checks = (0..at.count()).map(|_| [at.optional_text(), at.text()]);
    let checks = checks.collect();
    let index_count = at.at;
    let indexes = (0..at.count()).map(|_| {
        let (name, kind, columns) = (at.text(), at.skip(1), at.at);
        let count = at.count();
        at.skip(4 * count);
        [name, kind, columns, at.skip(40), at.skip(8)]
    });
    let indexes = indexes.collect();
    let page_count = at.at;
    let pages = (0..at.count()).map(|_| [at.skip(40), at.skip(8), at.skip(8), at.skip(8)]);
    let pages = pages.collect();
    assert_eq!(at.at, bytes.len(), "the record is walked to its end");
    TableFields {
        id,
        name,
        next_row_id,
        next_column_id,
        column_count,
        columns,
        check_count,
        checks,
        index_count,
        indexes,
        page_count,
        pages,
    }
}

pub(crate) struct GroupFields {
    pub(crate) first_row_id: usize,
    pub(crate) rows: usize,
    pub(crate) deletes: usize,
    pub(crate) sketches: usize,
    pub(crate) segment_count: usize,
    pub(crate) segments: Vec<SegmentFields>,
}

pub(crate) struct SegmentFields {
    pub(crate) column_id: usize,
    pub(crate) block: usize,
    pub(crate) nulls: usize,
    pub(crate) exact: usize,
    pub(crate) min: usize,
    pub(crate) max: usize,
}

pub(crate) fn page(bytes: &[u8]) -> Vec<GroupFields> {
    let mut at = At { bytes, at: 1 };
    let groups = (0..at.count()).map(|_| {
        let (first_row_id, rows) = (at.skip(8), at.skip(4));
        let (deletes, sketches) = (at.skip(40), at.skip(40));
        let segment_count = at.at;
        let segments = (0..at.count()).map(|_| {
            let (column_id, block, nulls) = (at.skip(4), at.skip(40), at.skip(4));
            let (exact, min, max) = (at.skip(1), at.bound(), at.bound());
            at.skip(8);
            SegmentFields {
                column_id,
                block,
                nulls,
                exact,
                min,
                max,
            }
        });
        GroupFields {
            first_row_id,
            rows,
            deletes,
            sketches,
            segment_count,
            segments: segments.collect(),
        }
    });
    groups.collect()
}
