//! `TimeTz`: a time of day and how far its clock is from UTC, in eight bytes that are in the order of the values.
//!
//! What must hold: bytes compare as DuckDB compares: first what clocks of UTC show at that time, then clocks further ahead before others.
//! Refuses: bytes that stand for no time of a day, or for a distance of 16 hours and more.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use std::fmt;

/// What TIME WITH TIME ZONE is to Arrow, which has none: bytes that sort as the values do, of a length that nothing else has.
pub const TIMETZ: DataType = DataType::FixedSizeBinary(8);

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// The most seconds that a clock is before or behind UTC.
const MAX_OFFSET: i32 = 16 * 3600 - 1;
/// Bits of the distance.
const OFFSET_BITS: u32 = 24;

/// A value of TIME WITH TIME ZONE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeTz {
    micros: i64,
    offset: i32,
}

impl TimeTz {
    /// A time in microseconds since midnight, up to 24:00, of a clock so many seconds before UTC; `None` where there is none.
    pub fn new(micros: i64, offset: i32) -> Option<Self> {
        let is_one =
            (0..=MICROS_PER_DAY).contains(&micros) && (-MAX_OFFSET..=MAX_OFFSET).contains(&offset);
        is_one.then_some(Self { micros, offset })
    }

    /// What the clock shows, in microseconds since midnight.
    pub fn micros(self) -> i64 {
        self.micros
    }

    /// What it shows before clocks of UTC, in seconds.
    pub fn offset(self) -> i32 {
        self.offset
    }

    /// The value as its bytes.
    pub fn to_bytes(self) -> [u8; 8] {
        let behind = i64::from(MAX_OFFSET - self.offset);
        let in_order = self.micros + behind * MICROS_PER_SECOND;
        (in_order << OFFSET_BITS | behind).to_be_bytes()
    }

    /// The value that bytes stand for.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let number = i64::from_be_bytes(bytes.try_into().ok()?);
        let behind = number & ((1 << OFFSET_BITS) - 1);
        let offset = MAX_OFFSET - i32::try_from(behind).ok()?;
        Self::new((number >> OFFSET_BITS) - behind * MICROS_PER_SECOND, offset)
    }
}

/// Whether all values of an array of TIMETZ stand for one, as those that a program made may not.
pub(crate) fn are_times(array: &dyn Array) -> bool {
    let mut values = array.as_fixed_size_binary().iter().flatten();
    values.all(|bytes| TimeTz::of_bytes(bytes).is_some())
}

/// As DuckDB writes it: fractions without their last zeros, and of the distance as much as is not 0.
impl fmt::Display for TimeTz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, fraction) = (
            self.micros / MICROS_PER_SECOND,
            self.micros % MICROS_PER_SECOND,
        );
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        write!(f, "{hours:02}:{minutes:02}:{:02}", seconds % 60)?;
        if fraction != 0 {
            let digits = format!("{fraction:06}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        let sign = if self.offset < 0 { '-' } else { '+' };
        let offset = self.offset.abs();
        write!(f, "{sign}{:02}", offset / 3600)?;
        if offset % 3600 != 0 {
            write!(f, ":{:02}", offset / 60 % 60)?;
        }
        match offset % 60 {
            0 => Ok(()),
            seconds => write!(f, ":{seconds:02}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_and_are_in_order() {
        let hour = 3600 * MICROS_PER_SECOND;
        let at = |hours: i64, offset: i32| TimeTz::new(hours * hour, offset * 3600).unwrap();
        // Of the same time, clocks that are ahead come first.
        let sorted = [
            at(0, 15),
            at(10, 2),
            at(8, 0),
            at(3, -5),
            at(10, 0),
            at(24, 0),
            at(24, -15),
        ];
        for value in sorted {
            assert_eq!(TimeTz::of_bytes(&value.to_bytes()), Some(value));
        }
        let bytes = sorted.map(TimeTz::to_bytes);
        assert!(bytes.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn texts_have_what_is_not_zero() {
        let text = |micros, offset| TimeTz::new(micros, offset).unwrap().to_string();
        assert_eq!(text(36_000_000_000, 7200), "10:00:00+02");
        assert_eq!(text(36_000_123_400, -19_800), "10:00:00.1234-05:30");
        assert_eq!(text(MICROS_PER_DAY, 3208), "24:00:00+00:53:28");
        assert_eq!(text(0, 1), "00:00:00+00:00:01");
    }

    #[test]
    fn what_is_no_time_is_refused() {
        assert_eq!(TimeTz::new(-1, 0), None);
        assert_eq!(TimeTz::new(MICROS_PER_DAY + 1, 0), None);
        for offset in [MAX_OFFSET + 1, -MAX_OFFSET - 1, i32::MIN, i32::MAX] {
            assert_eq!(TimeTz::new(0, offset), None);
        }
        assert!(TimeTz::of_bytes(&[0; 8]).is_some());
        for bytes in [[0xff; 8], [0x7f; 8], [0, 0, 0, 0, 0, 0xff, 0xff, 0xff]] {
            assert_eq!(TimeTz::of_bytes(&bytes), None);
        }
        assert_eq!(TimeTz::of_bytes(&[0; 7]), None);
    }
}
