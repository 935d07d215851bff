//! `Known`: what `left_out.txt` says of defects that are known.

use hushdb_querygen::Case;
use std::path::Path;

/// Rules, each with a defect behind it.
#[derive(Default)]
pub(crate) struct Known {
    /// Queries with such a text are not run.
    shapes: Vec<String>,
    /// Errors with such a text are no failure.
    errors: Vec<String>,
}

impl Known {
    /// Reads the rules.
    pub(crate) fn read() -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/metamorphic/left_out.txt");
        let mut known = Self::default();
        for line in std::fs::read_to_string(path).unwrap().lines() {
            match line.split_once(' ') {
                Some(("shape", text)) => known.shapes.push(text.to_owned()),
                Some(("says", text)) => known.errors.push(text.to_owned()),
                Some(("#", _)) | None => {}
                Some((other, _)) => panic!("left_out.txt: {other} is no kind of rule"),
            }
        }
        known
    }

    pub(crate) fn has_shape(&self, case: &Case) -> bool {
        let sql = format!("{} ", case.query);
        self.shapes.iter().any(|shape| shows(&sql, shape))
    }

    pub(crate) fn says(&self, error: &str) -> bool {
        self.errors.iter().any(|text| shows(error, text))
    }
}

/// Whether the pieces between `*` occur in their order.
fn shows(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    pattern
        .split('*')
        .all(|piece| match rest.split_once(piece) {
            Some((_, after)) => {
                rest = after;
                true
            }
            None => false,
        })
}
