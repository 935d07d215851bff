//! Frames of windows that end before they begin: `ROWS BETWEEN 3 FOLLOWING AND 2 FOLLOWING` has no rows, and the library refuses it.

use super::ranges_of_times::interval_micros;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Farther than any row.
const BEHIND_ALL: u64 = 1 << 62;

/// Puts a frame behind the last row in the place of one that ends before it begins; false for all others.
pub(super) fn put_behind_all(frame: &mut WindowFrame) -> bool {
    use WindowFrameBound::{Following, Preceding};
    let ends_before = match (&frame.start_bound, &frame.end_bound) {
        (Preceding(from), Preceding(to)) => is_less(from, to),
        (Following(from), Following(to)) => is_less(to, from),
        _ => false,
    };
    if ends_before {
        // Columns are known by what their windows are, so frames that differed differ.
        let mut hasher = DefaultHasher::new();
        frame.hash(&mut hasher);
        let place = BEHIND_ALL | (hasher.finish() >> 8);
        let behind = || Following(ScalarValue::UInt64(Some(place)));
        *frame = WindowFrame::new_bounds(WindowFrameUnits::Rows, behind(), behind());
    }
    ends_before
}

/// Whether a distance is less than another. Those of RANGE are still as they are written, and those without end are NULL.
fn is_less(distance: &ScalarValue, other: &ScalarValue) -> bool {
    match (distance, other) {
        (ScalarValue::Utf8(Some(distance)), ScalarValue::Utf8(Some(other))) => {
            match (read(distance), read(other)) {
                (Some(distance), Some(other)) => distance < other,
                _ => false,
            }
        }
        _ => !distance.is_null() && !other.is_null() && distance < other,
    }
}

/// A number, or the microseconds of an interval.
fn read(distance: &str) -> Option<f64> {
    let number = distance.trim().parse().ok();
    number.or_else(|| interval_micros(distance).ok().map(|micros| micros as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_compared_by_what_they_say() {
        let text = |text: &str| ScalarValue::Utf8(Some(text.to_owned()));
        for (less, more) in [
            ("2", "10"),
            ("9.5", "10"),
            ("9 HOUR", "10 HOUR"),
            ("2 HOUR", "1 DAY"),
        ] {
            assert!(is_less(&text(less), &text(more)));
            assert!(!is_less(&text(more), &text(less)));
        }
        assert!(!is_less(&text("1"), &ScalarValue::Utf8(None)));
    }
}
