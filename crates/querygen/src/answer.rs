//! `Answer`: what an engine gave, as texts, and when two of them are the same.
//!
//! What must hold: floats are the same within a relative 1e-12 (FLOAT: 1e-6), since sums may be taken in any order; zero
//! has no sign, and every NaN is one. All else is compared by its text.

/// Columns and rows of a result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub names: Vec<String>,
    /// SQL names of their types.
    pub types: Vec<String>,
    /// The rows' values as text.
    pub rows: Vec<Vec<Option<String>>>,
}

/// Rows up to which near floats are looked for in any order.
const ROWS_TO_MATCH: usize = 2000;

impl Answer {
    /// Whether both have the same rows, in any order.
    pub fn same_rows(&self, other: &Self) -> bool {
        if self.rows.len() != other.rows.len() {
            return false;
        }
        let (ours, theirs) = (self.sorted(), other.sorted());
        let mut pairs = ours.iter().zip(&theirs);
        if pairs.all(|(one, two)| self.same_row(one, two)) {
            return true;
        }
        let may_sort_otherwise = |ty: &String| tolerance(ty).is_some() || ty.contains(['[', '(']);
        self.types.iter().any(may_sort_otherwise)
            && ours.len() <= ROWS_TO_MATCH
            && self.matched(&ours, theirs)
    }

    /// Whether both have the same rows in the same order.
    pub fn same_order(&self, other: &Self) -> bool {
        let mut pairs = self.rows.iter().zip(&other.rows);
        self.rows.len() == other.rows.len() && pairs.all(|(one, two)| self.same_row(one, two))
    }

    /// Whether all rows of the other are among these.
    pub fn holds(&self, other: &Self) -> bool {
        let mut wanted = other.rows.iter();
        wanted.all(|row| self.rows.iter().any(|one| self.same_row(one, row)))
    }

    /// Each row with another one that is the same.
    fn matched(&self, ours: &[Vec<Option<String>>], mut theirs: Vec<Vec<Option<String>>>) -> bool {
        ours.iter().all(|row| {
            let found = theirs.iter().position(|other| self.same_row(row, other));
            found.map(|at| theirs.swap_remove(at)).is_some()
        })
    }

    /// The rows in an order in which those come together that differ in signs of zeros and NaNs alone.
    fn sorted(&self) -> Vec<Vec<Option<String>>> {
        let mut rows = self.rows.clone();
        rows.sort_by_cached_key(|row| {
            let values = row.iter().map(|value| value.as_deref().map(unsigned));
            values.collect::<Vec<_>>()
        });
        rows
    }

    fn same_row(&self, one: &[Option<String>], two: &[Option<String>]) -> bool {
        let values = one.iter().zip(two).zip(&self.types);
        one.len() == two.len()
            && values.into_iter().all(|((one, two), ty)| match (one, two) {
                (Some(one), Some(two)) => same_value(ty, one, two),
                (None, None) => true,
                _ => false,
            })
    }
}

fn tolerance(ty: &str) -> Option<f64> {
    match ty {
        "DOUBLE" => Some(1e-12),
        "FLOAT" => Some(1e-6),
        _ => None,
    }
}

fn same_value(ty: &str, one: &str, two: &str) -> bool {
    if one == two {
        return true;
    }
    let (Some(tolerance), Ok(one), Ok(two)) = (tolerance(ty), one.parse(), two.parse()) else {
        return ty.contains(['[', '(']) && unsigned(one) == unsigned(two);
    };
    let (one, two): (f64, f64) = (one, two);
    if one.is_nan() || two.is_nan() || one.is_infinite() || two.is_infinite() {
        return one.is_nan() && two.is_nan() || one == two;
    }
    (one - two).abs() <= tolerance * one.abs().max(two.abs())
}

/// The text of a list or struct in which zeros and NaNs have no sign.
fn unsigned(text: &str) -> String {
    let items = text.split_inclusive([',', ']', '}']);
    let items = items.map(|item| {
        let value = item.trim_end_matches([',', ']', '}']);
        match value.ends_with("-0.0") || value.ends_with("-nan") {
            true => item.replace("-0.0", "0.0").replace("-nan", "nan"),
            false => item.to_owned(),
        }
    });
    items.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(ty: &str, values: &[&str]) -> Answer {
        Answer {
            names: vec!["x".to_owned()],
            types: vec![ty.to_owned()],
            rows: values.iter().map(|v| vec![Some((*v).to_owned())]).collect(),
        }
    }

    #[test]
    fn rows_are_compared_as_multisets() {
        let one = answer("INTEGER", &["1", "2", "2"]);
        assert!(one.same_rows(&answer("INTEGER", &["2", "1", "2"])));
        assert!(!one.same_order(&answer("INTEGER", &["2", "1", "2"])));
        assert!(!one.same_rows(&answer("INTEGER", &["2", "1", "1"])));
        assert!(!one.same_rows(&answer("INTEGER", &["2", "1"])));
        assert!(one.holds(&answer("INTEGER", &["2"])));
        assert!(!one.holds(&answer("INTEGER", &["3"])));
    }

    #[test]
    fn floats_may_differ_by_a_rounding_and_zeros_by_a_sign() {
        let one = answer("DOUBLE", &["0.3", "nan", "-0.0", "inf"]);
        assert!(one.same_rows(&answer(
            "DOUBLE",
            &["inf", "0.0", "NaN", "0.30000000000000004"]
        )));
        assert!(!one.same_rows(&answer("DOUBLE", &["inf", "0.0", "NaN", "0.3001"])));
        assert!(!one.same_rows(&answer("DOUBLE", &["-inf", "0.0", "NaN", "0.3"])));
        let list = answer("DOUBLE[]", &["[-0.0, 1.0]"]);
        assert!(list.same_rows(&answer("DOUBLE[]", &["[0.0, 1.0]"])));
        assert!(!list.same_rows(&answer("DOUBLE[]", &["[0.0, -1.0]"])));
        let nans = answer("DOUBLE[]", &["[-nan, 1.0]"]);
        assert!(nans.same_rows(&answer("DOUBLE[]", &["[nan, 1.0]"])));
        let lists = answer("DOUBLE[]", &["[-3.75]", "[-0.0, 1.0]"]);
        assert!(lists.same_rows(&answer("DOUBLE[]", &["[-3.75]", "[0.0, 1.0]"])));
    }
}
