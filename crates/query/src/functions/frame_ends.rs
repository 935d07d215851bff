//! `Ends`: where the frames of rows begin and end that are computed for each row, in rows or in groups of rows that are sorted alike.
//!
//! What must hold: rows are asked for one by one, from the first on.
//! Refuses: ends at a distance that is NULL, as PostgreSQL does; what DuckDB answers changes from run to run.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int64Array};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::common::{Result, internal_datafusion_err};
use hushdb_sql::{Error, ErrorKind};
use std::ops::Range;

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

/// Frames whose ends are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Whether distances are groups of rows.
    pub of_groups: bool,
    /// Where they begin, and where they end.
    pub ends: [FrameEnd; 2],
}

/// The ends of a partition's frames.
pub(super) struct Ends {
    frame: Frame,
    distances: [Int64Array; 2],
    groups: Vec<Range<usize>>,
    /// The group of the next row.
    group: usize,
    rows: usize,
}

impl Ends {
    pub(super) fn new(
        frame: Frame,
        distances: &[ArrayRef],
        groups: &[Range<usize>],
        rows: usize,
    ) -> Result<Self> {
        let [from, to] = distances else {
            return Err(internal_datafusion_err!("a frame has two ends"));
        };
        Ok(Self {
            frame,
            distances: [from, to].map(|far| far.as_primitive::<Int64Type>().clone()),
            groups: if frame.of_groups {
                groups.to_vec()
            } else {
                vec![]
            },
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
        let distances = &self.distances[which];
        if distances.is_null(row) {
            let text = "Invalid frame: how far one of its ends is from the row is NULL; say with coalesce() what that means";
            return Err(Error::new(ErrorKind::OutOfRange, text).into());
        }
        let distance = i128::from(distances.value(row));
        let far = match end {
            FrameEnd::First => return Ok(0),
            FrameEnd::Last => return Ok(self.rows),
            FrameEnd::Current => 0,
            FrameEnd::Preceding => -distance,
            FrameEnd::Following => distance,
        };
        if !self.frame.of_groups {
            let place = row as i128 + far + which as i128;
            return Ok(place.clamp(0, self.rows as i128) as usize);
        }
        if distance < 0 {
            let text = "Invalid GROUPS value: it is negative";
            return Err(Error::new(ErrorKind::OutOfRange, text).into());
        }
        let place = self.group as i128 + far;
        Ok(match usize::try_from(place) {
            Err(_) => 0,
            Ok(place) => match (self.groups.get(place), which) {
                (None, _) => self.rows,
                (Some(group), 0) => group.start,
                (Some(group), _) => group.end,
            },
        })
    }
}
