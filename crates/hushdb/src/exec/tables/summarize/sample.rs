//! `Sample`: some of many values, each as likely as any other, from which quartiles are told.
//!
//! Reservoir sampling by Li's algorithm L (1994). With 2^15 values the rank of a quartile is off by 0.25 % (one standard
//! deviation); of no more values than that, it is exact.

/// Values that are kept of each partition.
const KEPT: usize = 1 << 15;

pub(super) struct Sample {
    kept: Vec<f64>,
    seen: u64,
    /// The value that is kept next, counted from the first.
    next: u64,
    weight: f64,
    random: u64,
}

impl Sample {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            kept: vec![],
            seen: 0,
            next: 0,
            weight: 1.0,
            random: seed,
        }
    }

    /// Offers values by their index among `count`, so that those that are not kept are not even read.
    pub(super) fn offer(&mut self, count: usize, value: impl Fn(usize) -> f64) {
        let mut at = 0;
        while at < count && self.kept.len() < KEPT {
            self.kept.push(value(at));
            at += 1;
            if self.kept.len() == KEPT {
                self.next = self.seen + at as u64;
                self.skip();
            }
        }
        let end = self.seen + count as u64;
        if self.kept.len() == KEPT {
            while self.next < end {
                let slot = (self.number() * KEPT as f64) as usize % KEPT;
                self.kept[slot] = value((self.next - self.seen) as usize);
                self.next += 1;
                self.skip();
            }
        }
        self.seen = end;
    }

    /// Passes over values that are not kept.
    fn skip(&mut self) {
        self.weight *= (self.number().ln() / KEPT as f64).exp();
        let skipped = self.number().ln() / (1.0 - self.weight).ln();
        self.next = self.next.saturating_add(skipped as u64);
    }

    /// Above 0 and below 1: SplitMix64.
    fn number(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        ((mixed >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }
}

/// Several samples, each of its own number of values, as one.
#[derive(Default)]
pub(super) struct Samples(Vec<Sample>);

impl Samples {
    pub(super) fn new(seed: u64) -> Self {
        Self(vec![Sample::new(seed)])
    }

    pub(super) fn offer(&mut self, count: usize, value: impl Fn(usize) -> f64) {
        if let Some(sample) = self.0.first_mut() {
            sample.offer(count, value);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// The values below which these shares of all values are; between two neighbours as DuckDB's t-digest has it.
    pub(super) fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [Option<f64>; N] {
        let mut points: Vec<(f64, f64)> = vec![];
        for sample in &self.0 {
            let weight = sample.seen as f64 / sample.kept.len().max(1) as f64;
            points.extend(sample.kept.iter().map(|value| (*value, weight)));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let total: f64 = points.iter().map(|(_, weight)| weight).sum();
        shares.map(|share| {
            let wanted = share * total;
            let mut before = 0.0;
            let mut last: Option<(f64, f64)> = None;
            for (value, weight) in &points {
                let middle = before + weight / 2.0;
                if middle >= wanted {
                    return Some(match last {
                        Some((low, at)) if low < *value => {
                            low + (value - low) * ((wanted - at) / (middle - at))
                        }
                        _ => *value,
                    });
                }
                before += weight;
                last = Some((*value, middle));
            }
            last.map(|(value, _)| value)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quartiles(values: &[f64]) -> [f64; 3] {
        let mut samples = Samples::new(1);
        samples.offer(values.len(), |i| values[i]);
        samples.quantiles([0.25, 0.5, 0.75]).map(Option::unwrap)
    }

    #[test]
    fn few_values_are_told_exactly() {
        assert_eq!(quartiles(&[7.0]), [7.0; 3]);
        assert_eq!(quartiles(&[1.0, 0.0, 3.0, 2.0]), [0.5, 1.5, 2.5]);
        let hundred: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(quartiles(&hundred), [24.5, 49.5, 74.5]);
        assert_eq!(Samples::new(1).quantiles([0.5]), [None]);
    }

    #[test]
    fn many_values_are_told_roughly_in_any_order() {
        let n = 2_000_000_usize;
        let orders: [fn(usize, usize) -> f64; 3] = [
            |i, _| i as f64,
            |i, n| (n - 1 - i) as f64,
            |i, n| (i * 7919 % n) as f64,
        ];
        for order in orders {
            let mut samples = Samples::new(3);
            let mut other = Samples::new(4);
            for start in (0..n).step_by(8192) {
                let count = 8192.min(n - start);
                // Partitions of different sizes.
                let into = if start < n / 5 {
                    &mut other
                } else {
                    &mut samples
                };
                into.offer(count, |i| order(start + i, n));
            }
            samples.merge(other);
            for (found, share) in samples
                .quantiles([0.25, 0.5, 0.75])
                .into_iter()
                .zip([0.25, 0.5, 0.75])
            {
                let rank = found.unwrap() / n as f64;
                assert!((rank - share).abs() < 0.02, "{rank} for {share}");
            }
        }
    }
}
