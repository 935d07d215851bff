//! `Samples`: what was measured of one thing, several times.

use serde_json::{Value, json};

/// Measurements of one quantity on one subject, in the order they were taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Samples(Vec<f64>);

impl Samples {
    /// Adds a measurement.
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The middle value, or the mean of the two; NaN for none.
    pub(crate) fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match (sorted.len() % 2, sorted.get(middle)) {
            (_, None) => f64::NAN,
            (1, Some(value)) => *value,
            (_, Some(upper)) => (sorted[middle - 1] + upper) / 2.0,
        }
    }

    /// Distance of the extremes, as a share of the median.
    pub(crate) fn spread(&self) -> f64 {
        let low = self.0.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        (high - low) / self.median()
    }

    /// The quotients of two series that were taken side by side, pair by pair: a disturbance that hits one round hits
    /// both sides of its quotient.
    pub(crate) fn pairwise(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a / b).collect())
    }

    /// Median, spread and every value, for a machine.
    pub(crate) fn to_json(&self) -> Value {
        json!({"median": self.median(), "spread": self.spread(), "values": self.0})
    }
}

impl FromIterator<f64> for Samples {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_even_and_no_measurements() {
        assert_eq!(Samples::from_iter([3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(Samples::from_iter([4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert!(Samples::default().median().is_nan());
    }

    #[test]
    fn a_ratio_outlives_a_disturbed_round() {
        let quiet = Samples::from_iter([1.0, 1.0, 9.0]);
        let slower = Samples::from_iter([1.1, 1.1, 9.9]);
        assert!((slower.pairwise(&quiet).median() - 1.1).abs() < 1e-9);
        assert!((Samples::from_iter([2.0, 3.0, 2.5]).spread() - 0.4).abs() < 1e-9);
    }
}
