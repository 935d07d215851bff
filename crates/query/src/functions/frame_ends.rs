//! `Ends`: where the frames of rows begin and end that are computed for each row, in rows, in groups of rows that are sorted alike, or by
//! the values that rows are sorted by.
//!
//! What must hold: rows are asked for one by one, from the first on.
//! Refuses: ends at a distance that is NULL, as PostgreSQL does; what DuckDB answers changes from run to run.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, DynComparator, Int64Array, make_comparator,
};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use hushdb_sql::{Error, ErrorKind};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// What an end of a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameEnd {
    /// The first row of the partition.
    First,
    /// So far before the row.
    Preceding,
    /// The row.
    Current,
    /// So far behind the row.
    Following,
    /// The last row of the partition.
    Last,
}

impl FrameEnd {
    /// The end of a name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "first" => Self::First,
            "preceding" => Self::Preceding,
            "current" => Self::Current,
            "following" => Self::Following,
            "last" => Self::Last,
            _ => return None,
        })
    }
}

/// What ends of frames are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FrameUnits {
    /// In rows.
    Rows,
    /// In groups of rows that are sorted alike.
    Groups,
    /// In the values that rows are sorted by.
    Values {
        /// Whether the greatest comes first.
        falls: bool,
        /// Whether those without a value come first.
        nulls_first: bool,
    },
}

/// Frames whose ends are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Of the distances.
    pub units: FrameUnits,
    /// Where they begin, and where they end.
    pub ends: [FrameEnd; 2],
}

impl Frame {
    /// How many columns say where its ends are: a distance each, or a value each and that of the row.
    pub(super) fn columns(self) -> usize {
        match self.units {
            FrameUnits::Rows | FrameUnits::Groups => 2,
            FrameUnits::Values { .. } => 3,
        }
    }
}

/// The ends of a partition's frames.
pub(super) struct Ends {
    frame: Frame,
    far: Far,
    groups: Vec<Range<usize>>,
    /// The group of the next row.
    group: usize,
    rows: usize,
}

/// How far ends are from a row.
enum Far {
    Distances([Int64Array; 2]),
    Values(Box<ByValue>),
}

/// Ends at values.
struct ByValue {
    /// Those of the rows.
    keys: ArrayRef,
    /// Where rows have a value.
    known: Range<usize>,
    /// The values of both ends beside those of rows, as rows are sorted.
    ends: [(ArrayRef, DynComparator); 2],
}

impl ByValue {
    fn new(columns: &[ArrayRef], falls: bool, nulls_first: bool) -> Result<Self> {
        let [from, to, keys] = columns else {
            return Err(internal_datafusion_err!("a frame has two ends and a value"));
        };
        let options = SortOptions {
            descending: falls,
            nulls_first,
        };
        let nulls = keys.null_count();
        let known = match nulls_first {
            true => nulls..keys.len(),
            false => 0..keys.len() - nulls,
        };
        let end = |values: &ArrayRef| -> Result<_> {
            let compared = make_comparator(values, keys, options)?;
            Ok((Arc::clone(values), compared))
        };
        Ok(Self {
            keys: Arc::clone(keys),
            known,
            ends: [end(from)?, end(to)?],
        })
    }

    /// The first row at an end, or the one behind the last; `None` of a row without a value.
    fn place(&self, row: usize, is_before: bool, which: usize) -> Result<Option<usize>> {
        if self.keys.is_null(row) {
            return Ok(None);
        }
        let (values, compared) = &self.ends[which];
        if values.is_null(row) {
            return Err(unknown_end());
        }
        let (wrong, name) = match is_before {
            true => (Ordering::Greater, "PRECEDING"),
            false => (Ordering::Less, "FOLLOWING"),
        };
        if compared(row, row) == wrong {
            let text = format!("Invalid RANGE {name} value");
            return Err(Error::new(ErrorKind::OutOfRange, text).into());
        }
        let (mut low, mut high) = (self.known.start, self.known.end);
        while low < high {
            let middle = low + (high - low) / 2;
            let is_behind = match which {
                0 => compared(row, middle) != Ordering::Greater,
                _ => compared(row, middle) == Ordering::Less,
            };
            match is_behind {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        Ok(Some(low))
    }
}

fn unknown_end() -> DataFusionError {
    let text = "Invalid frame: how far one of its ends is from the row is NULL; say with coalesce() what that means";
    Error::new(ErrorKind::OutOfRange, text).into()
}

impl Ends {
    pub(super) fn new(
        frame: Frame,
        columns: &[ArrayRef],
        groups: &[Range<usize>],
        rows: usize,
    ) -> Result<Self> {
        let far = match (frame.units, columns) {
            (FrameUnits::Values { falls, nulls_first }, columns) => {
                Far::Values(Box::new(ByValue::new(columns, falls, nulls_first)?))
            }
            (FrameUnits::Rows | FrameUnits::Groups, [from, to]) => {
                Far::Distances([from, to].map(|far| far.as_primitive::<Int64Type>().clone()))
            }
            _ => return Err(internal_datafusion_err!("a frame has two ends")),
        };
        let groups = match frame.units {
            FrameUnits::Rows => vec![],
            FrameUnits::Groups | FrameUnits::Values { .. } => groups.to_vec(),
        };
        Ok(Self {
            frame,
            far,
            groups,
            group: 0,
            rows,
        })
    }

    /// The frame of the next row.
    pub(super) fn of(&mut self, row: usize) -> Result<Range<usize>> {
        while self
            .groups
            .get(self.group)
            .is_some_and(|group| row >= group.end)
        {
            self.group += 1;
        }
        let [begins, ends] = self.frame.ends;
        let start = self.place(row, begins, 0)?;
        let end = self.place(row, ends, 1)?;
        Ok(start..end.max(start))
    }

    /// The first row of a frame, or the one behind its last.
    fn place(&self, row: usize, end: FrameEnd, which: usize) -> Result<usize> {
        let distances = match &self.far {
            Far::Distances(distances) => &distances[which],
            Far::Values(values) => {
                let place = match end {
                    FrameEnd::First => return Ok(0),
                    FrameEnd::Last => return Ok(self.rows),
                    FrameEnd::Current => None,
                    FrameEnd::Preceding => values.place(row, true, which)?,
                    FrameEnd::Following => values.place(row, false, which)?,
                };
                return Ok(place.unwrap_or_else(|| self.of_group(self.group, which)));
            }
        };
        if distances.is_null(row) {
            return Err(unknown_end());
        }
        let distance = i128::from(distances.value(row));
        let far = match end {
            FrameEnd::First => return Ok(0),
            FrameEnd::Last => return Ok(self.rows),
            FrameEnd::Current => 0,
            FrameEnd::Preceding => -distance,
            FrameEnd::Following => distance,
        };
        if self.frame.units == FrameUnits::Rows {
            let place = row as i128 + far + which as i128;
            return Ok(place.clamp(0, self.rows as i128) as usize);
        }
        if distance < 0 {
            let text = "Invalid GROUPS value: it is negative";
            return Err(Error::new(ErrorKind::OutOfRange, text).into());
        }
        let place = self.group as i128 + far;
        Ok(usize::try_from(place).map_or(0, |group| self.of_group(group, which)))
    }

    /// Where a group of rows begins, or ends.
    fn of_group(&self, group: usize, which: usize) -> usize {
        match (self.groups.get(group), which) {
            (None, _) => self.rows,
            (Some(group), 0) => group.start,
            (Some(group), _) => group.end,
        }
    }
}
