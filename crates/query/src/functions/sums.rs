//! `Sums`: what is kept of numbers for `skewness`, `kurtosis`, `product` and sums that lose no digits.

use super::moments::{Answer, Moments, Of};

/// Sums of powers, the product, and the sum with what rounding has taken off it (Kahan, 1965).
#[derive(Clone, Copy, Debug)]
pub(super) struct Sums {
    count: f64,
    powers: [f64; 4],
    product: f64,
    sum: f64,
    lost: f64,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            count: 0.0,
            powers: [0.0; 4],
            product: 1.0,
            sum: 0.0,
            lost: 0.0,
        }
    }
}

impl Sums {
    fn known(&self, answer: f64) -> Answer {
        Ok((self.count > 0.0).then_some(answer))
    }

    pub(super) fn product(&self) -> Answer {
        self.known(self.product)
    }

    pub(super) fn exact_sum(&self) -> Answer {
        self.known(self.finite_sum())
    }

    /// What adds up past all numbers is none, since what is to be added to it is not known any more.
    fn finite_sum(&self) -> f64 {
        match self.sum.is_finite() {
            true => self.sum,
            false => f64::NAN,
        }
    }

    pub(super) fn exact_mean(&self) -> Answer {
        self.known(self.finite_sum() / self.count)
    }

    /// Of a sample: without bias.
    pub(super) fn skewness(&self) -> Answer {
        let [sum, squares, cubes, _] = self.powers;
        let n = self.count;
        if n <= 2.0 {
            return Ok(None);
        }
        let part = 1.0 / n;
        let cubed = (part * (squares - sum * sum * part)).powi(3);
        if cubed <= 0.0 {
            return Ok(Some(f64::NAN));
        }
        let spread = cubed.sqrt();
        let bias = (n * (n - 1.0)).sqrt() / (n - 2.0);
        let third = cubes - 3.0 * squares * sum * part + 2.0 * sum.powi(3) * part * part;
        finite(bias * part * third / spread, "SKEW")
    }

    /// Of a sample, without bias, or of all.
    pub(super) fn kurtosis(&self, of_sample: bool) -> Answer {
        let [sum, squares, cubes, fourths] = self.powers;
        let n = self.count;
        if n <= 1.0 || of_sample && n <= 3.0 {
            return Ok(None);
        }
        let part = 1.0 / n;
        let second = part * (squares - sum * sum * part);
        if second <= 0.0 {
            return Ok(None);
        }
        let fourth = part
            * (fourths - 4.0 * cubes * sum * part + 6.0 * squares * sum * sum * part * part
                - 3.0 * sum.powi(4) * part.powi(3));
        let ratio = fourth / (second * second);
        let kurtosis = match of_sample {
            false => ratio - 3.0,
            true => (n - 1.0) * ((n + 1.0) * ratio - 3.0 * (n - 1.0)) / ((n - 2.0) * (n - 3.0)),
        };
        finite(kurtosis, "Kurtosis")
    }

    fn add_exactly(&mut self, value: f64) {
        let value = value - self.lost;
        let sum = self.sum + value;
        self.lost = (sum - self.sum) - value;
        self.sum = sum;
    }
}

fn finite(value: f64, name: &'static str) -> Answer {
    match value.is_finite() {
        true => Ok(Some(value)),
        false => Err(name),
    }
}

impl Moments for Sums {
    const NUMBERS: &'static [&'static str] = &[
        "count", "sum", "squares", "cubes", "fourths", "product", "exact", "lost",
    ];

    fn add(&mut self, row: &[f64]) {
        let &[value, ..] = row else { return };
        self.count += 1.0;
        for (sum, power) in self.powers.iter_mut().zip(1..) {
            *sum += value.powi(power);
        }
        self.product *= value;
        self.add_exactly(value);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        for (sum, other) in self.powers.iter_mut().zip(other.powers) {
            *sum += other;
        }
        self.product *= other.product;
        self.add_exactly(other.sum);
        self.lost += other.lost;
    }

    fn numbers(&self) -> Vec<f64> {
        let [sum, squares, cubes, fourths] = self.powers;
        vec![
            self.count,
            sum,
            squares,
            cubes,
            fourths,
            self.product,
            self.sum,
            self.lost,
        ]
    }

    fn from_numbers(numbers: &[f64]) -> Option<Self> {
        let &[count, a, b, c, d, product, sum, lost] = numbers else {
            return None;
        };
        Some(Self {
            count,
            powers: [a, b, c, d],
            product,
            sum,
            lost,
        })
    }

    fn answer(&self, of: Of) -> Answer {
        match of {
            Of::Sums(answer) => answer(self),
            Of::One(_) | Of::Two(_) => Ok(None),
        }
    }
}
