//! Parquet files that are edited where they say how much there is: in the footer, and in the heads of pages.

use crate::reading::{Case, Expected};
use crate::samples::Samples;
use crate::thrift::{Kind, Place, number, places, written};
use hushdb::Database;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, GzipLevel};
use parquet::file::properties::{WriterProperties, WriterVersion};

/// A footer with its length and mark.
const TAIL: usize = 8;
/// Of a column chunk, from the footer's beginning: row groups, a group, its columns, a column.
const CHUNK: usize = 4;
/// Fields of a column's description.
const DESCRIPTION: usize = 3;
const PACKED_BYTES: usize = 7;
const DATA_AT: usize = 9;
const DICTIONARY_AT: usize = 11;

/// A sound Parquet file, taken apart.
pub(crate) struct File<'a> {
    bytes: &'a [u8],
    /// Where the footer begins.
    footer_at: usize,
    pub(crate) places: Vec<Place>,
}

impl<'a> File<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let end = bytes.len() - TAIL;
        let len = u32::from_le_bytes(bytes[end..end + 4].try_into().unwrap());
        let footer_at = end - len as usize;
        Self {
            bytes,
            footer_at,
            places: places(&bytes[footer_at..end], 0).0,
        }
    }

    fn footer(&self) -> &[u8] {
        &self.bytes[self.footer_at..self.bytes.len() - TAIL]
    }

    /// The file with other bytes at places of its footer, and more before it.
    fn with(&self, more: &[u8], mut cuts: Vec<(usize, usize, Vec<u8>)>) -> Vec<u8> {
        cuts.sort_by_key(|(from, ..)| std::cmp::Reverse(*from));
        let mut footer = self.footer().to_vec();
        for (from, to, bytes) in cuts {
            footer.splice(from..to, bytes);
        }
        let len = (footer.len() as u32).to_le_bytes();
        [&self.bytes[..self.footer_at], more, &footer, &len, b"PAR1"].concat()
    }

    /// The file with another value at a place of its footer.
    pub(crate) fn with_value(&self, place: &Place, value: i64) -> Vec<u8> {
        let cut = (place.from, place.to, written(place.kind, value));
        self.with(&[], vec![cut])
    }

    /// The number in the description of a column.
    fn of_chunk(&self, chunk: &[usize], field: usize) -> Option<&Place> {
        let path = [chunk, &[DESCRIPTION, field]].concat();
        let is_it = |place: &&Place| place.kind == Kind::Number && place.path == path;
        self.places.iter().find(is_it)
    }

    /// The columns of all row groups.
    pub(crate) fn chunks(&self) -> Vec<Chunk> {
        let ends = |place: &&Place| {
            place.kind == Kind::Number && place.path.ends_with(&[DESCRIPTION, DATA_AT])
        };
        let in_chunk = |place: &&Place| place.path.len() == CHUNK + 2 && place.path[0] == CHUNK;
        let found = self.places.iter().filter(ends).filter(in_chunk);
        found
            .map(|place| self.chunk(&place.path[..CHUNK]))
            .collect()
    }

    fn chunk(&self, path: &[usize]) -> Chunk {
        let value = |field| {
            let place = self.of_chunk(path, field);
            place.map(|place| number(self.footer(), place) as usize)
        };
        let data_at = value(DATA_AT).unwrap();
        let from = value(DICTIONARY_AT).unwrap_or(data_at);
        let bytes = self.bytes[from..from + value(PACKED_BYTES).unwrap()].to_vec();
        let mut pages = vec![];
        let mut at = 0;
        while at < bytes.len() {
            let (places, end) = places(&bytes, at);
            let packed = places
                .iter()
                .find(|place| place.path == [3] && place.kind == Kind::Number);
            let packed = number(&bytes, packed.unwrap()) as usize;
            at = end + packed;
            pages.push(Page {
                places,
                data: end..at,
            });
        }
        Chunk {
            path: path.to_vec(),
            data_at: data_at - from,
            bytes,
            pages,
        }
    }

    /// The file with another chunk in place of one: it stands before the footer, and the indexes of pages are left out.
    pub(crate) fn with_chunk(&self, chunk: &Chunk, bytes: &[u8]) -> Vec<u8> {
        let at = self.footer_at;
        let longer = bytes.len() as i64 - chunk.bytes.len() as i64;
        // The first page is the dictionary's, if there is one; edits are in the heads of pages, or keep their lengths.
        let data_at = match chunk.data_at {
            0 => at as i64,
            before => (at + before) as i64 + longer,
        };
        let new = [
            (PACKED_BYTES, bytes.len() as i64),
            (DATA_AT, data_at),
            (DICTIONARY_AT, at as i64),
        ];
        let mut cuts: Vec<_> = new
            .iter()
            .filter_map(|(field, value)| {
                let place = self.of_chunk(&chunk.path, *field)?;
                Some((place.from, place.to, written(Kind::Number, *value)))
            })
            .collect();
        let index = |place: &&Place| {
            let path = &place.path;
            place.kind == Kind::Field
                && path.len() == CHUNK + 1
                && path[0] == CHUNK
                && path[CHUNK] > DESCRIPTION
        };
        let indexes = self.places.iter().filter(index);
        cuts.extend(indexes.map(|place| (place.from, place.to, vec![])));
        self.with(bytes, cuts)
    }
}

/// The pages of a column in a row group.
pub(crate) struct Chunk {
    path: Vec<usize>,
    /// Where the pages behind the dictionary begin.
    data_at: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) pages: Vec<Page>,
}

pub(crate) struct Page {
    /// In its head.
    pub(crate) places: Vec<Place>,
    pub(crate) data: std::ops::Range<usize>,
}

impl Chunk {
    /// The bytes with another value at a place in the head of a page.
    pub(crate) fn with_value(&self, place: &Place, value: i64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes.splice(place.from..place.to, written(place.kind, value));
        bytes
    }
}

/// The interesting ones, by name.
pub(crate) fn cases(samples: &Samples) -> Vec<Case> {
    let sound = &samples.parquet[0].bytes;
    let file = File::new(sound);
    let case = |name: &str, bytes: Vec<u8>, expected| Case {
        name: format!("{name}.parquet"),
        bytes,
        expected: Expected::Error(expected),
        columns: Some(crate::samples::COLUMNS),
    };
    let len = sound.len();
    let with_len = |len: u32| [&sound[..sound.len() - TAIL], &len.to_le_bytes(), b"PAR1"].concat();
    let mut cases = vec![
        Case {
            expected: Expected::Rows(120),
            ..case("sound", sound.clone(), "")
        },
        case("empty", vec![], "it is no Parquet file"),
        case("mark_alone", b"PAR1".to_vec(), "it is no Parquet file"),
        case(
            "wrong_mark",
            [&sound[..len - 4], b"PAR2"].concat(),
            "it is no Parquet file",
        ),
        case(
            "encrypted",
            [&sound[..len - 4], b"PARE"].concat(),
            "encrypted",
        ),
        case(
            "cut_in_half",
            sound[..len / 2].to_vec(),
            "it is no Parquet file",
        ),
        case(
            "footer_of_4_gib",
            with_len(u32::MAX),
            "its footer is damaged",
        ),
        case("footer_of_nothing", with_len(0), "its footer is damaged"),
        case(
            "footer_is_the_file",
            with_len((len - TAIL) as u32),
            "cannot read",
        ),
        case("zeros", vec![0; 100_000], "it is no Parquet file"),
    ];
    cases.extend(footer_cases(&file).map(|(name, bytes, expected)| case(name, bytes, expected)));
    cases.extend(page_cases(&file).map(|(name, bytes, expected)| case(name, bytes, expected)));
    let schema = schema_cases();
    cases.extend(schema.map(|(name, bytes, expected)| case(name, bytes, expected)));
    cases.push(case("bomb", bomb(), "more than half of memory_limit"));
    let large = "SELECT repeat('x', 150000000) AS a";
    let bomb = with_small_page(&gzip(large, WriterVersion::PARQUET_1_0));
    cases.push(case("gzip_bomb", bomb, "more than its head says"));
    // Long enough to be looked at.
    let texts =
        "SELECT md5(i::VARCHAR) AS a, CASE WHEN i % 3 = 0 THEN i END AS b FROM range(20000) t(i)";
    let versions = [
        ("gzip_1", WriterVersion::PARQUET_1_0),
        ("gzip_2", WriterVersion::PARQUET_2_0),
    ];
    cases.extend(versions.map(|(name, version)| Case {
        expected: Expected::Rows(20_000),
        columns: Some("a VARCHAR, b BIGINT"),
        ..case(name, gzip(texts, version), "")
    }));
    cases
}

type Named = (&'static str, Vec<u8>, &'static str);

/// Counts and lengths of a footer that ask for more than there is.
fn footer_cases<'a>(file: &'a File<'a>) -> impl Iterator<Item = Named> + 'a {
    const FIRST: [usize; 4] = [4, 0, 1, 0];
    let list = |path: &[usize]| {
        let is_it = |place: &&Place| place.path == path && matches!(place.kind, Kind::Count(_));
        file.places.iter().find(is_it).unwrap()
    };
    let of_first = |field: usize| file.of_chunk(&FIRST, field).unwrap();
    let of_column = |field: usize| {
        let path = [&FIRST[..], &[field]].concat();
        let is_it = |place: &&Place| place.path == path && place.kind == Kind::Number;
        file.places.iter().find(is_it).unwrap()
    };
    let outside = "the values of a column lie outside of it";
    let index = "it says that it has more bytes than it has";
    [
        (
            "row_groups_of_2_gib",
            list(&[4]),
            i64::from(i32::MAX),
            "its footer is damaged",
        ),
        (
            "columns_without_end",
            list(&[4, 0, 1]),
            i64::MAX,
            "its footer is damaged",
        ),
        (
            "schema_of_2_gib",
            list(&[2]),
            i64::from(i32::MAX),
            "its footer is damaged",
        ),
        ("column_of_8_eib", of_first(PACKED_BYTES), i64::MAX, outside),
        (
            "column_of_2_gib",
            of_first(PACKED_BYTES),
            i64::from(i32::MAX),
            outside,
        ),
        (
            "column_of_less_than_nothing",
            of_first(PACKED_BYTES),
            -1,
            outside,
        ),
        (
            "dictionary_beyond_the_end",
            of_first(DICTIONARY_AT),
            1 << 40,
            outside,
        ),
        (
            "dictionary_before_the_beginning",
            of_first(DICTIONARY_AT),
            i64::MIN,
            outside,
        ),
        ("index_beyond_the_end", of_column(4), 1 << 40, index),
        ("index_of_2_gib", of_column(5), i64::from(i32::MAX), index),
        (
            "index_of_less_than_nothing",
            of_column(7),
            -1,
            "an index of its pages is damaged",
        ),
    ]
    .into_iter()
    .map(|(name, place, value, expected)| (name, file.with_value(place, value), expected))
}

/// Heads of pages that ask for more than there is.
fn page_cases<'a>(file: &'a File<'a>) -> impl Iterator<Item = Named> + 'a {
    let chunk = file.chunks().swap_remove(0);
    let of = |page: usize, path: &[usize]| {
        let mut places = chunk.pages[page].places.iter();
        places.find(|place| place.path == path && place.kind == Kind::Number)
    };
    let most = i64::from(i32::MAX);
    let cases = [
        (
            "dictionary_of_2_gib_of_values",
            of(0, &[7, 1]),
            most,
            "a dictionary has fewer values",
        ),
        (
            "dictionary_page_of_2_gib",
            of(0, &[2]),
            most,
            "more than half of memory_limit",
        ),
        (
            "page_of_2_gib",
            of(1, &[2]),
            most,
            "more than half of memory_limit",
        ),
        (
            "page_of_64_mib",
            of(1, &[2]),
            64 << 20,
            "a page cannot unpack to as much",
        ),
        (
            "page_of_less_than_nothing",
            of(1, &[2]),
            -1,
            "the head of a page is damaged",
        ),
        ("page_packed_in_2_gib", of(1, &[3]), most, "cannot read"),
        (
            "page_of_2_gib_of_values",
            of(1, &[5, 1]),
            most,
            "cannot read",
        ),
    ];
    let bytes = cases.map(|(name, place, value, expected)| {
        let bytes = chunk.with_value(place.unwrap(), value);
        (name, file.with_chunk(&chunk, &bytes), expected)
    });
    bytes.into_iter()
}

/// Files without rows, of schemas that cannot be, or that go too far.
fn schema_cases() -> impl Iterator<Item = Named> {
    let file = |elements: Vec<Vec<u8>>| {
        let count = written(Kind::Count(12), elements.len() as i64);
        let schema = [&[0x15, 2, 0x19][..], &count, &elements.concat()].concat();
        // Number of rows, and no row group.
        let footer = [&schema[..], &[0x16, 0, 0x19, 0x0c, 0]].concat();
        let len = (footer.len() as u32).to_le_bytes();
        [&b"PAR1"[..], &footer, &len, b"PAR1"].concat()
    };
    // A group: its name and the number of its members. A column: INT32, optional, its name.
    let group = |members: i64| {
        [
            &[0x48, 1, b'g', 0x15][..],
            &written(Kind::Number, members),
            &[0],
        ]
        .concat()
    };
    let column = |name: &str| {
        let name = [&[name.len() as u8], name.as_bytes()].concat();
        [&[0x15, 2, 0x25, 2, 0x18][..], &name, &[0]].concat()
    };
    let nested = |depth: usize| [vec![group(1); depth], vec![column("c")]].concat();
    let wide = |columns: usize| {
        let columns = (0..columns).map(|at| column(&format!("c{at}")));
        let root = group(columns.len() as i64);
        [vec![root], columns.collect()].concat()
    };
    [
        (
            "schema_of_a_million_groups",
            file(nested(1_000_000)),
            "nested too deep",
        ),
        ("schema_of_130_groups", file(nested(130)), "nested too deep"),
        (
            "schema_of_less_than_nothing",
            file(vec![group(-1), column("c")]),
            "no number of columns",
        ),
        (
            "schema_that_lacks_columns",
            file(vec![group(1000), column("c")]),
            "cannot read",
        ),
        ("schema_of_nothing", file(vec![]), "cannot read"),
        (
            "schema_of_20000_columns",
            file(wide(20_000)),
            "more than 10000 columns",
        ),
    ]
    .into_iter()
}

/// A small file of one value that unpacks to more than the statements that read it may take.
fn bomb() -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bomb.parquet");
    let connection = Database::open_in_memory().unwrap().connect().unwrap();
    let sql = format!(
        "COPY (SELECT repeat('x', 150000000) AS a) TO '{}' (COMPRESSION zstd)",
        path.display()
    );
    connection.execute(&sql).unwrap();
    let bytes = std::fs::read(path).unwrap();
    assert!(bytes.len() < 1 << 20);
    bytes
}

/// A file of a query's rows, packed as COPY does not.
fn gzip(query: &str, version: WriterVersion) -> Vec<u8> {
    let connection = Database::open_in_memory().unwrap().connect().unwrap();
    let rows = connection.execute(query).unwrap();
    let batches = rows.collect_batches().unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(GzipLevel::default()))
        .set_writer_version(version)
        .build();
    let mut bytes = vec![];
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batches[0].schema(), Some(properties)).unwrap();
    for batch in &batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// The file, whose first page that unpacks to more than a MiB says that it unpacks to 1,000 bytes.
fn with_small_page(bytes: &[u8]) -> Vec<u8> {
    let file = File::new(bytes);
    let chunk = file.chunks().swap_remove(0);
    let mut places = chunk.pages.iter().flat_map(|page| &page.places);
    let is_large = |place: &&Place| {
        let is_it = place.kind == Kind::Number && place.path == [2];
        is_it && number(&chunk.bytes, place) > 1 << 20
    };
    let place = places.find(is_large).unwrap();
    file.with_chunk(&chunk, &chunk.with_value(place, 1000))
}
