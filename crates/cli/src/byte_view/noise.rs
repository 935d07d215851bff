//! Whether bytes could be noise: Pearson's chi-square test against all 256 values being equally likely.

use std::fmt;

use super::counts::ByteCounts;

/// With fewer bytes, under five of each value, the test says nothing.
const FEWEST_BYTES: u64 = 256 * 5;
/// Noise fails with this probability, for once that a region is looked at.
const SIGNIFICANCE: f64 = 1e-5;
const DEGREES_OF_FREEDOM: f64 = 255.0;

/// What the test says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// Noise would be as uneven as this with the probability `p`.
    Noise { chi_square: f64, p: f64 },
    /// Too uneven for noise.
    Uneven { chi_square: f64, p: f64 },
    /// More even than noise is.
    TooEven { chi_square: f64, p: f64 },
    /// Not enough bytes to tell.
    TooFew,
}

impl Verdict {
    /// Tests counted bytes.
    pub(crate) fn of(bytes: &ByteCounts) -> Self {
        if bytes.total < FEWEST_BYTES {
            return Self::TooFew;
        }
        let expected = bytes.total as f64 / 256.0;
        let terms = bytes.counts.iter().map(|&count| {
            let off = count as f64 - expected;
            off * off / expected
        });
        let chi_square = terms.sum();
        let p = upper_tail(chi_square);
        if p < SIGNIFICANCE {
            Self::Uneven { chi_square, p }
        } else if p > 1.0 - SIGNIFICANCE {
            Self::TooEven { chi_square, p }
        } else {
            Self::Noise { chi_square, p }
        }
    }

    /// The statistic and how likely noise is to have one as large.
    pub(crate) fn numbers(self) -> Option<(f64, f64)> {
        match self {
            Self::Noise { chi_square, p }
            | Self::Uneven { chi_square, p }
            | Self::TooEven { chi_square, p } => Some((chi_square, p)),
            Self::TooFew => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Noise { .. } => "like noise",
            Self::Uneven { .. } => "not noise",
            Self::TooEven { .. } => "too even for noise",
            Self::TooFew => "too few bytes",
        })
    }
}

/// The probability that chi-square of 255 degrees of freedom is as large: its cube root is all but normal (Wilson and Hilferty,
/// 1931).
fn upper_tail(chi_square: f64) -> f64 {
    let spread = 2.0 / (9.0 * DEGREES_OF_FREEDOM);
    let z = ((chi_square / DEGREES_OF_FREEDOM).cbrt() - (1.0 - spread)) / spread.sqrt();
    0.5 * complementary_error_function(z / std::f64::consts::SQRT_2)
}

/// erfc, to seven digits (Press et al., Numerical Recipes, "erfcc").
fn complementary_error_function(x: f64) -> f64 {
    const TERMS: [f64; 10] = [
        -1.265_512_23,
        1.000_023_68,
        0.374_091_96,
        0.096_784_18,
        -0.186_288_06,
        0.278_868_07,
        -1.135_203_98,
        1.488_515_87,
        -0.822_152_23,
        0.170_872_77,
    ];
    let t = 1.0 / (1.0 + 0.5 * x.abs());
    let sum = TERMS.iter().rev().fold(0.0, |sum, term| sum * t + term);
    let tail = t * (sum - x * x).exp();
    if x < 0.0 { 2.0 - tail } else { tail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_those_of_the_tables() {
        // From tables of the chi-square distribution with 255 degrees of freedom.
        for (chi_square, p) in [
            (254.333, 0.5),
            (293.248, 0.05),
            (310.457, 0.01),
            (330.520, 0.001),
            (219.025, 0.95),
        ] {
            let found = upper_tail(chi_square);
            assert!((found / p - 1.0).abs() < 0.02, "{chi_square}: {found}");
        }
        assert!((complementary_error_function(0.0) - 1.0).abs() < 1e-6);
    }

    fn verdict(bytes: &[u8]) -> Verdict {
        let mut counts = ByteCounts::default();
        counts.count(bytes);
        Verdict::of(&counts)
    }

    #[test]
    fn noise_is_told_from_what_is_not() {
        let mut state = 7u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let noise: Vec<u8> = (0..100_000).map(|_| next()).collect();
        assert!(matches!(verdict(&noise), Verdict::Noise { .. }));
        let mut spoilt = noise.clone();
        spoilt[..3000].fill(0);
        assert!(matches!(verdict(&spoilt), Verdict::Uneven { .. }));
        let even: Vec<u8> = (0..=255).cycle().take(100_000).collect();
        assert!(matches!(verdict(&even), Verdict::TooEven { .. }));
        assert_eq!(verdict(&noise[..1000]), Verdict::TooFew);
    }
}
