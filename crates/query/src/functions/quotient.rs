//! Quotients of PostgreSQL's numerics: as many digits behind the point for each, rounded as PostgreSQL does.

use crate::common_types::number_kind::MAX_DIGITS_128;
use datafusion::arrow::array::{ArrayRef, Decimal128Array};
use datafusion::arrow::datatypes::{DataType, i256};
use datafusion::common::Result;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// Digits behind the point of a quotient. PostgreSQL has at least as many that count.
const QUOTIENT_SCALE: i8 = 16;

/// The type of a quotient, and of a mean.
pub(super) const QUOTIENT: DataType = DataType::Decimal128(MAX_DIGITS_128, QUOTIENT_SCALE);

/// What a number is divided by another that is not zero, in units of a quotient's last digit. The dividend has `scale` digits more
/// behind its point than the divisor.
pub(super) fn quotient(
    dividend: i128,
    divisor: i128,
    scale: i8,
) -> std::result::Result<i128, Error> {
    let more = QUOTIENT_SCALE - scale;
    let power = |digits: i8| 10_i128.pow(u32::from(digits.unsigned_abs()));
    let (up, down) = (power(more.max(0)), power(more.min(0)));
    let exact = dividend
        .checked_mul(up)
        .zip(divisor.checked_mul(down))
        .map(|(dividend, divisor)| rounded(dividend, divisor));
    let wide = || {
        let dividend = i256::from_i128(dividend).checked_mul(i256::from_i128(up))?;
        let divisor = i256::from_i128(divisor).checked_mul(i256::from_i128(down))?;
        let (whole, rest) = (dividend.checked_div(divisor)?, dividend % divisor);
        let is_up = rest.wrapping_abs() >= divisor.wrapping_abs() - rest.wrapping_abs();
        let is_negative = dividend.is_negative() != divisor.is_negative();
        let step = match (is_up, is_negative) {
            (false, _) => i256::ZERO,
            (true, false) => i256::ONE,
            (true, true) => i256::MINUS_ONE,
        };
        (whole + step).to_i128()
    };
    let limit = power(MAX_DIGITS_128 as i8);
    let found = exact.or_else(wide).filter(|found| found.abs() < limit);
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::OutOfRange,
            "a quotient of numerics has 22 digits before its point and 16 behind; cast an operand to double precision",
        )
    })
}

/// Means of so many numbers each, whose sums have `scale` digits behind the point; NULL of none.
pub(super) fn exact_means(sums: &[i128], counts: &[i64], scale: i8) -> Result<ArrayRef> {
    let each = sums.iter().zip(counts).map(|(sum, count)| match count {
        0 => Ok(None),
        count => quotient(*sum, i128::from(*count), scale).map(Some),
    });
    let means = each.collect::<std::result::Result<Decimal128Array, Error>>()?;
    Ok(Arc::new(means.with_data_type(QUOTIENT)))
}

/// Halves go away from zero.
fn rounded(dividend: i128, divisor: i128) -> i128 {
    let (whole, rest) = (dividend / divisor, dividend % divisor);
    let is_up = rest.unsigned_abs() >= divisor.unsigned_abs() - rest.unsigned_abs();
    match (is_up, (dividend < 0) != (divisor < 0)) {
        (false, _) => whole,
        (true, false) => whole + 1,
        (true, true) => whole - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotients_are_rounded_at_their_last_digit() {
        for (dividend, divisor, scale, wanted) in [
            (10, 4, 0, 25_000_000_000_000_000),
            (-10, 4, 0, -25_000_000_000_000_000),
            (200, 3, 0, 666_666_666_666_666_667),
            (200, -3, 0, -666_666_666_666_666_667),
            (1, 3, 16, 0),
            (2, 3, 16, 1),
            (25, 1, 17, 3),
            // Too wide for 128 bits in between.
            (10_i128.pow(37), 10_i128.pow(36), 0, 10_i128.pow(17)),
            (
                -(10_i128.pow(37)),
                10_i128.pow(37) / 3,
                0,
                -30_000_000_000_000_000,
            ),
        ] {
            assert_eq!(quotient(dividend, divisor, scale).unwrap(), wanted);
        }
        let refused = quotient(10_i128.pow(23), 1, 0).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::OutOfRange);
    }
}
