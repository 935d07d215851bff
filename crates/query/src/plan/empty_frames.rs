//! Frames of windows that end before they begin: `ROWS BETWEEN 3 FOLLOWING AND 2 FOLLOWING` has no rows, and the library refuses it.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{WindowFrame, WindowFrameBound, WindowFrameUnits};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Farther than any row.
const BEHIND_ALL: u64 = 1 << 62;

/// Puts a frame behind the last row in the place of one that ends before it begins; false for all others.
pub(super) fn put_behind_all(frame: &mut WindowFrame) -> bool {
    use WindowFrameBound::{Following, Preceding};
    let ends_before = match (&frame.start_bound, &frame.end_bound) {
        (Preceding(from), Preceding(to)) => !from.is_null() && !to.is_null() && from < to,
        (Following(from), Following(to)) => !from.is_null() && !to.is_null() && from > to,
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
