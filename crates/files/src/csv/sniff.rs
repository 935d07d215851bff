//! What a CSV file's beginning tells of the rest: which bytes mean something, whether its first line has names, and the kinds of its
//! columns. As DuckDB does, but that what is uncertain is refused or stays text.

use super::kinds::{Kind, Kinds, TEXT};
use super::normal_names::normal_name;
use super::options::Options;
use super::records::{Comment, Dialect, Fault, Record, Records};
use hushdb_storage::{ColumnType, check_interrupt};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::BufRead;

/// Bytes that are looked at.
pub(super) const SAMPLE_BYTES: usize = 4 << 20;
/// Records that are looked at, as many as DuckDB does.
const SAMPLED: usize = 20_480;
const DELIMITERS: [u8; 4] = [b',', b'|', b';', b'\t'];
const QUOTE: u8 = b'"';
const COMMENT: Comment = Comment {
    byte: b'#',
    anywhere: false,
};

/// The beginning of a file.
pub(super) struct Sample {
    pub(super) bytes: Vec<u8>,
    /// There is nothing behind it.
    pub(super) is_whole: bool,
}

impl Sample {
    fn records(&self, dialect: Dialect, options: &Options) -> Result<Vec<Record>, Fault> {
        let mut records = Records::new(self.bytes.as_slice(), dialect, options.skip)?;
        let mut all = vec![Record::default()];
        let most = options.sampled.flatten().unwrap_or(SAMPLED).min(SAMPLED);
        while all.len() <= most {
            check_interrupt().map_err(|_| Fault::Interrupted)?;
            match all.last_mut().map(|last| records.next(last)) {
                Some(Ok(true)) => all.push(Record::default()),
                // Where it is cut off a quote may be open.
                Some(Err(Fault::Unclosed(_))) if !self.is_whole => break,
                Some(Err(fault)) => return Err(fault),
                Some(Ok(false)) | None => break,
            }
        }
        all.pop();
        if !self.is_whole && all.len() < most {
            all.pop();
        }
        Ok(all)
    }
}

/// A file's beginning, taken apart.
pub(super) struct Sniffed {
    pub(super) dialect: Dialect,
    pub(super) columns: usize,
    /// Lines before the first record, with those that are a title.
    pub(super) skip: u64,
    rows: Vec<Record>,
}

/// What lines that no delimiter divides alike are divided by: a byte that no text has.
const NOTHING: u8 = 1;

/// Takes the beginning of a file apart, which has as many columns as are `expected`, if that is known.
///
/// # Errors
/// What is wrong, where no reading gives all records the same number of values.
pub(super) fn sniff(
    sample: &Sample,
    options: &Options,
    expected: Option<usize>,
) -> Result<Sniffed, Fault> {
    let mut best: Option<Sniffed> = None;
    let mut splits = false;
    let mut uneven = Uneven::new(sample, options, expected);
    for (number, group) in candidates(options).into_iter().enumerate() {
        for dialect in group {
            let mut rows = match sample.records(dialect, options) {
                Ok(rows) => rows,
                Err(Fault::Interrupted) => return Err(Fault::Interrupted),
                Err(_) => {
                    // What is wrong may be the value of another delimiter.
                    splits |= number == 0;
                    continue;
                }
            };
            splits |= rows.first().is_some_and(|first| first.len() > 1);
            let columns = columns_of(&rows, options, expected);
            if is_other(&rows, columns, options) {
                uneven.take(dialect, rows);
                continue;
            }
            if best.as_ref().is_some_and(|best| best.columns >= columns) {
                continue;
            }
            rows.retain(|row| (columns == 1 || !row.is_blank()) && is_row(row, columns, options));
            best = Some(Sniffed {
                dialect,
                columns,
                skip: options.skip,
                rows,
            });
        }
        if best.as_ref().is_some_and(|best| best.columns > 1) {
            break;
        }
    }
    if best.as_ref().is_none_or(|best| best.columns == 1)
        && let Some(titled) = uneven.titled.take()
    {
        return Ok(titled);
    }
    let is_sure = |columns: usize| {
        // A line that another delimiter divides may not be one value.
        columns > 1 || !splits || options.delimiter.is_some() || expected.is_some()
    };
    match best {
        Some(best) if is_sure(best.columns) => Ok(best),
        _ => match uneven.whole_lines()? {
            Some(lines) => Ok(lines),
            None => Err(why_not(sample, options, expected)),
        },
    }
}

/// A file that a delimiter divides into records of several lengths.
struct Uneven<'a> {
    sample: &'a Sample,
    options: &'a Options,
    /// Whether nothing that a statement says tells of what lines are.
    is_open: bool,
    /// Records behind lines that are a title.
    titled: Option<Sniffed>,
    /// Records may be those behind the first ones, of which nobody knows what they are.
    has_other_beginning: bool,
    /// A delimiter divides it, and no quote is where none can be.
    is_divided: bool,
}

impl<'a> Uneven<'a> {
    fn new(sample: &'a Sample, options: &'a Options, expected: Option<usize>) -> Self {
        Self {
            sample,
            options,
            is_open: expected.is_none()
                && options.skip == 0
                && !options.null_padding
                && !options.ignore_errors,
            titled: None,
            has_other_beginning: false,
            is_divided: false,
        }
    }

    /// Takes in what a dialect makes of the file.
    fn take(&mut self, dialect: Dialect, mut rows: Vec<Record>) {
        self.is_divided = true;
        let most = rows.iter().map(Record::len).max().unwrap_or(1);
        let begins = rows.iter().position(|row| row.len() == most).unwrap_or(0);
        if rows
            .iter()
            .skip(begins)
            .any(|row| !is_row(row, most, self.options))
        {
            return;
        }
        self.has_other_beginning = true;
        let title = rows.iter().take(begins);
        let is_title = title.clone().all(|row| row.len() == 1)
            && title.filter(|row| !row.is_blank()).count() * 2 < rows.len();
        let is_more = self
            .titled
            .as_ref()
            .is_none_or(|known| known.columns < most);
        if !(self.is_open && is_title && is_more) || has_lone_returns(&self.sample.bytes) {
            return;
        }
        rows.drain(..begins);
        let skip = rows.first().map_or(0, |first| first.line.saturating_sub(1));
        rows.retain(|row| !row.is_blank());
        self.titled = Some(Sniffed {
            dialect,
            columns: most,
            skip,
            rows,
        });
    }

    /// Each line as one value: no delimiter divides them alike, and no quote in them could mean something.
    fn whole_lines(&self) -> Result<Option<Sniffed>, Fault> {
        let options = self.options;
        let is_said =
            options.delimiter.is_some() || options.quote.is_some() || options.comment.is_some();
        let bytes = self.sample.bytes.as_slice();
        let end = match self.sample.is_whole {
            true => bytes.len(),
            // The last line is cut off.
            false => bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0),
        };
        let mut lines = bytes
            .get(..end)
            .unwrap_or_default()
            .split(|byte| *byte == b'\n');
        let is_plain = lines.all(is_plain);
        let is_open = self.is_open && self.is_divided && !self.has_other_beginning;
        if !is_open || is_said || !is_plain {
            return Ok(None);
        }
        let dialect = Dialect {
            delimiter: NOTHING,
            quote: None,
            escape: None,
            comment: None,
        };
        let rows = self.sample.records(dialect, self.options)?;
        Ok(Some(Sniffed {
            dialect,
            columns: 1,
            skip: 0,
            rows,
        }))
    }
}

/// Whether lines end with `\r` alone, which is no line to skip.
fn has_lone_returns(bytes: &[u8]) -> bool {
    let behind = bytes.get(1..).unwrap_or_default().iter();
    let mut pairs = bytes.iter().zip(behind.chain([&0]));
    pairs.any(|(byte, next)| *byte == b'\r' && *next != b'\n')
}

/// Whether a line is one value as it is written: its quotes are closed, and none is around all of it.
fn is_plain(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    let quotes = line.iter().filter(|byte| **byte == QUOTE).count();
    let is_around = line.starts_with(&[QUOTE]) && line.ends_with(&[QUOTE]);
    quotes % 2 == 0 && !is_around && !line.contains(&NOTHING) && !line.contains(&b'\r')
}

/// Ways to read a file, those that are more likely first.
fn candidates(options: &Options) -> Vec<Vec<Dialect>> {
    let quote = options.quote.unwrap_or(Some(QUOTE));
    let escapes = match (options.escape, quote) {
        (Some(given), _) => vec![given],
        (None, None) => vec![None],
        (None, Some(QUOTE)) => vec![quote, Some(b'\\')],
        (None, Some(_)) => vec![quote, Some(QUOTE), Some(b'\\')],
    };
    let comments = match options.comment {
        Some(given) => vec![given.map(|byte| Comment {
            byte,
            anywhere: true,
        })],
        None => vec![None, Some(COMMENT)],
    };
    let delimiters = match options.delimiter {
        Some(given) => vec![given],
        None => DELIMITERS.to_vec(),
    };
    let mut groups = vec![];
    for comment in comments {
        for escape in &escapes {
            let group = delimiters.iter().map(|delimiter| Dialect {
                delimiter: *delimiter,
                quote,
                escape: *escape,
                comment,
            });
            groups.push(group.collect());
        }
    }
    groups
}

fn columns_of(rows: &[Record], options: &Options, expected: Option<usize>) -> usize {
    let mut lens = rows.iter().filter(|row| !row.is_blank()).map(Record::len);
    let found = match options.null_padding {
        true => lens.max(),
        false => lens.next(),
    };
    expected.or(found).unwrap_or(1)
}

/// Whether records are not those of a file with so many columns: one of them, or half if errors are to be ignored.
fn is_other(rows: &[Record], columns: usize, options: &Options) -> bool {
    let others = rows.iter().filter(|row| !is_row(row, columns, options));
    match options.ignore_errors {
        true => others.count() * 2 > rows.len(),
        false => others.count() > 0,
    }
}

/// The first record that has another number of values.
fn first_other<'a>(rows: &'a [Record], columns: usize, options: &Options) -> Option<&'a Record> {
    rows.iter().find(|row| !is_row(row, columns, options))
}

/// Whether a record is one of a file with so many columns.
fn is_row(row: &Record, columns: usize, options: &Options) -> bool {
    row.is_blank() || is_count(row.len_of(columns), columns, options)
}

/// Whether so many values are those of so many columns.
pub(super) fn is_count(values: usize, columns: usize, options: &Options) -> bool {
    values == columns || options.null_padding && values < columns
}

fn why_not(sample: &Sample, options: &Options, expected: Option<usize>) -> Fault {
    let first = candidates(options).into_iter().flatten().next();
    let unclear = Fault::Line(
        options.skip + 1,
        "how values are divided is not clear: give DELIM",
    );
    let Some(dialect) = first else {
        return unclear;
    };
    match sample.records(dialect, options) {
        Err(fault) => fault,
        Ok(rows) => {
            let columns = columns_of(&rows, options, expected);
            let other = first_other(&rows, columns, options);
            other.map_or(unclear, |other| Fault::Line(other.line, OTHER_COUNT))
        }
    }
}

pub(super) const OTHER_COUNT: &str = "the number of values is not that of the columns: give DELIM, QUOTE, ESCAPE, COMMENT, SKIP or \
     NULL_PADDING";

/// What a table's columns are.
pub(super) struct Shape {
    pub(super) header: bool,
    pub(super) names: Vec<String>,
    pub(super) kinds: Vec<Kind>,
    /// Which columns have nothing but NULL.
    pub(super) without_values: Vec<bool>,
}

impl Sniffed {
    /// What the columns are, of which some have a type that was given.
    ///
    /// # Errors
    /// `Interrupted` alone.
    pub(super) fn shape(
        &self,
        options: &Options,
        given: &[Option<&ColumnType>],
    ) -> Result<Shape, Fault> {
        let header = match (options.header, self.rows.as_slice()) {
            (Some(given), _) => given,
            (None, []) => false,
            (None, [only]) => {
                let kinds = self.kinds(std::slice::from_ref(only), options)?;
                self.is_all_text(&kinds, given)
            }
            (None, [first, rest @ ..]) => {
                let kinds = self.kinds(rest, options)?;
                self.is_all_text(&kinds, given)
                    || (0..self.columns).all(|at| value(first, at, options).is_none())
                    || self.contradicts(first, options, given, &kinds)
            }
        };
        let data = self.rows.get(usize::from(header)..).unwrap_or_default();
        let first = self.rows.first().filter(|_| header);
        Ok(Shape {
            header,
            names: self.names(first, options.normalizes_names),
            kinds: self.kinds(data, options)?,
            without_values: (0..self.columns)
                .map(|at| data.iter().all(|row| value(row, at, options).is_none()))
                .collect(),
        })
    }

    /// Whether the first line names columns of these names and types.
    pub(super) fn names_columns(
        &self,
        options: &Options,
        names: &[&str],
        given: &[Option<&ColumnType>],
    ) -> bool {
        let Some(first) = self.rows.first() else {
            return false;
        };
        let mut named = names.iter().enumerate();
        let is_named = named.all(|(at, name)| {
            let text = String::from_utf8_lossy(first.get(at));
            text.trim().eq_ignore_ascii_case(name)
        });
        is_named || self.contradicts(first, options, given, &vec![TEXT; self.columns])
    }

    fn kinds(&self, rows: &[Record], options: &Options) -> Result<Vec<Kind>, Fault> {
        let kinds = (0..self.columns).map(|at| {
            check_interrupt().map_err(|_| Fault::Interrupted)?;
            let mut kinds = kinds_for(options);
            for text in rows.iter().filter_map(|row| value(row, at, options)) {
                if !kinds.take(&text) {
                    break;
                }
            }
            Ok(kinds.found())
        });
        kinds.collect()
    }

    /// Whether a statement asks for more records than the beginning of the file has.
    pub(super) fn is_too_short(&self, sample: &Sample, options: &Options) -> bool {
        let more = match options.sampled {
            None => false,
            Some(None) => true,
            Some(Some(rows)) => rows > self.rows.len(),
        };
        more && !(sample.is_whole && self.rows.len() < SAMPLED)
    }

    /// The kinds of the columns, and which are without values, by as many records of the whole file as a statement asks for.
    ///
    /// # Errors
    /// `Interrupted`, and what is wrong with the file.
    pub(super) fn by_more(
        &self,
        file: impl BufRead,
        header: bool,
        options: &Options,
    ) -> Result<(Vec<Kind>, Vec<bool>), Fault> {
        let mut records = Records::new(file, self.dialect, self.skip)?;
        let mut kinds: Vec<Kinds> = (0..self.columns).map(|_| kinds_for(options)).collect();
        let mut left = options.sampled.flatten().unwrap_or(usize::MAX);
        let (mut record, mut is_names) = (Record::default(), header);
        while left > 0 && records.next(&mut record)? {
            check_interrupt().map_err(|_| Fault::Interrupted)?;
            if record.is_blank() && self.columns > 1 || std::mem::take(&mut is_names) {
                continue;
            }
            left -= 1;
            for (at, kinds) in kinds.iter_mut().enumerate() {
                if let Some(text) = value(&record, at, options) {
                    kinds.take(&text);
                }
            }
        }
        let without_values = kinds.iter().map(Kinds::is_without_values).collect();
        Ok((
            kinds.into_iter().map(Kinds::found).collect(),
            without_values,
        ))
    }

    fn is_all_text(&self, kinds: &[Kind], given: &[Option<&ColumnType>]) -> bool {
        (0..self.columns).all(|at| match given.get(at).copied().flatten() {
            Some(ty) => *ty == ColumnType::Varchar,
            None => kinds.get(at).is_none_or(|kind| *kind == TEXT),
        })
    }

    /// Whether a record has a value that its column cannot have.
    fn contradicts(
        &self,
        row: &Record,
        options: &Options,
        given: &[Option<&ColumnType>],
        kinds: &[Kind],
    ) -> bool {
        (0..self.columns).any(|at| {
            let Some(text) = value(row, at, options) else {
                return false;
            };
            match (given.get(at).copied().flatten(), kinds.get(at)) {
                (Some(ty), _) => !could_be(ty, &text),
                (None, kind) => kind.is_some_and(|kind| !kind.fits(&text)),
            }
        })
    }

    /// Those of the first line, or where it has none, by number; none twice.
    fn names(&self, first: Option<&Record>, normal: bool) -> Vec<String> {
        let digits = self.columns.saturating_sub(1).to_string().len();
        let mut names: Vec<String> = vec![];
        let mut taken = HashSet::new();
        // The last number that was given to a name.
        let mut numbers: HashMap<String, u64> = HashMap::new();
        for at in 0..self.columns {
            let text = first.map(|first| String::from_utf8_lossy(first.get(at)).trim().to_string());
            let name = text.filter(|text| !text.is_empty());
            let name = match name {
                Some(name) if normal => normal_name(&name),
                Some(name) => name,
                None if normal && first.is_some() => "_".into(),
                None => format!("column{at:0digits$}"),
            };
            let mut free = name.clone();
            let mut lower = name.to_ascii_lowercase();
            while !taken.insert(lower) {
                let last = numbers.entry(name.to_ascii_lowercase()).or_default();
                *last += 1;
                free = format!("{name}_{last}");
                lower = free.to_ascii_lowercase();
            }
            names.push(free);
        }
        names
    }
}

fn kinds_for(options: &Options) -> Kinds {
    Kinds::new(
        options.date_form.as_deref(),
        options.timestamp_form.as_deref(),
        options.numbers,
        options.candidates.as_deref(),
    )
}

/// A value as text, `None` for NULL.
fn value<'a>(row: &'a Record, at: usize, options: &Options) -> Option<Cow<'a, str>> {
    let bytes = row.get(at);
    let is_null = options.nulls.iter().any(|null| null.as_bytes() == bytes)
        && (options.quoted_nulls || !row.is_quoted(at));
    (!is_null).then(|| String::from_utf8_lossy(bytes))
}

/// Whether a text may be a value of a type; in doubt it may.
fn could_be(ty: &ColumnType, text: &str) -> bool {
    let words = ["nan", "inf", "infinity", "epoch"];
    let bare = text.trim().trim_start_matches(['-', '+']);
    match ty {
        ColumnType::Varchar
        | ColumnType::Blob
        | ColumnType::Boolean
        | ColumnType::Json
        | ColumnType::Collated(_)
        | ColumnType::Union(_)
        | ColumnType::Enum(_) => true,
        ColumnType::List(_) | ColumnType::Array(_) => text.trim().starts_with('['),
        ColumnType::Struct(_) | ColumnType::Map(_) => text.trim().starts_with(['{', '(']),
        ColumnType::Int8
        | ColumnType::Int16
        | ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::HugeInt
        | ColumnType::UHugeInt
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Time
        | ColumnType::Timestamp(..)
        | ColumnType::Interval
        | ColumnType::Uuid
        | ColumnType::TimeTz
        | ColumnType::Bit => {
            text.contains(|c: char| c.is_ascii_digit())
                || words.iter().any(|word| bare.eq_ignore_ascii_case(word))
        }
    }
}
