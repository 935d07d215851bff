//! Sines of degrees and their kin, which PostgreSQL gives exactly where they are: of multiples of 30 and 45 degrees
//! (<https://www.postgresql.org/docs/15/functions-math.html>, "Trigonometric Functions").
//!
//! What must hold: what is computed is divided by the same of an angle whose value is known, as PostgreSQL does.

use super::plain::{Form, Kind, Run, plain};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let one = |names, run| plain(names, vec![Form::new(&[Kind::Double], run)], memory);
    vec![
        one(
            &["sind_as_postgres"],
            Run::Double(|row| turned(row.double(0), |x| Ok(sine(x)))),
        ),
        one(
            &["cosd_as_postgres"],
            Run::Double(|row| turned(row.double(0), |x| Ok(cosine(x)))),
        ),
        one(
            &["tand_as_postgres"],
            Run::Double(|row| turned(row.double(0), |x| Ok(tangent(x)))),
        ),
        one(
            &["cotd_as_postgres"],
            Run::Double(|row| turned(row.double(0), |x| Ok(cotangent(x)))),
        ),
        one(
            &["asind_as_postgres"],
            Run::Double(|row| {
                let x = share(row.double(0))?;
                Ok(Some(if x < 0.0 { -arc_sine(-x) } else { arc_sine(x) }))
            }),
        ),
        one(
            &["acosd_as_postgres"],
            Run::Double(|row| {
                let x = share(row.double(0))?;
                Ok(Some(match x < 0.0 {
                    true => 90.0 + arc_sine(-x),
                    false => arc_cosine(x),
                }))
            }),
        ),
        one(
            &["atand_as_postgres"],
            Run::Double(|row| Ok(Some(row.double(0).atan() / 1_f64.atan() * 45.0))),
        ),
        plain(
            &["atan2d_as_postgres"],
            vec![Form::new(
                &[Kind::Double, Kind::Double],
                Run::Double(|row| {
                    let angle = row.double(0).atan2(row.double(1));
                    Ok(Some(angle / 1_f64.atan() * 45.0))
                }),
            )],
            memory,
        ),
    ]
}

fn out_of_range() -> Error {
    Error::new(ErrorKind::OutOfRange, "input is out of range")
}

/// What a function gives of an angle that is not infinite.
fn turned(angle: f64, function: fn(f64) -> Result<f64>) -> Result<Option<f64>> {
    match angle {
        angle if angle.is_nan() => Ok(Some(angle)),
        angle if angle.is_infinite() => Err(out_of_range().into()),
        angle => function(angle % 360.0).map(Some),
    }
}

/// What has an angle whose sine or cosine it is.
fn share(x: f64) -> Result<f64> {
    match x.is_nan() || (-1.0..=1.0).contains(&x) {
        true => Ok(x),
        false => Err(out_of_range().into()),
    }
}

/// From 0 to 30 degrees.
fn sine_of_little(x: f64) -> f64 {
    x.to_radians().sin() / 30_f64.to_radians().sin() / 2.0
}

/// From 0 to 60 degrees.
fn cosine_of_little(x: f64) -> f64 {
    let of_sixty = 1.0 - 60_f64.to_radians().cos();
    1.0 - (1.0 - x.to_radians().cos()) / of_sixty / 2.0
}

/// From 0 to 90 degrees.
fn sine_of_quarter(x: f64) -> f64 {
    match x <= 30.0 {
        true => sine_of_little(x),
        false => cosine_of_little(90.0 - x),
    }
}

/// From 0 to 90 degrees.
fn cosine_of_quarter(x: f64) -> f64 {
    match x <= 60.0 {
        true => cosine_of_little(x),
        false => sine_of_little(90.0 - x),
    }
}

/// The angle of the first quarter, and the signs by which the sine, the cosine, and the tangent of another are those of it.
fn in_first_quarter(angle: f64) -> (f64, [f64; 3]) {
    let (mut x, [mut sine, mut cosine]) = (angle, [1.0, 1.0]);
    if x < 0.0 {
        (x, sine) = (-x, -sine);
    }
    if x > 180.0 {
        (x, sine) = (360.0 - x, -sine);
    }
    if x > 90.0 {
        (x, cosine) = (180.0 - x, -cosine);
    }
    (x, [sine, cosine, sine * cosine])
}

fn sine(angle: f64) -> f64 {
    let (x, [sign, ..]) = in_first_quarter(angle);
    sign * sine_of_quarter(x)
}

fn cosine(angle: f64) -> f64 {
    let (x, [_, sign, _]) = in_first_quarter(angle);
    sign * cosine_of_quarter(x)
}

fn tangent(angle: f64) -> f64 {
    let (x, [.., sign]) = in_first_quarter(angle);
    let of = |x| sine_of_quarter(x) / cosine_of_quarter(x);
    // A zero has no sign.
    sign * (of(x) / of(45.0)) + 0.0
}

fn cotangent(angle: f64) -> f64 {
    let (x, [.., sign]) = in_first_quarter(angle);
    let of = |x| cosine_of_quarter(x) / sine_of_quarter(x);
    sign * (of(x) / of(45.0)) + 0.0
}

/// Of 0 to 1.
fn arc_sine(x: f64) -> f64 {
    match x <= 0.5 {
        true => x.asin() / 0.5_f64.asin() * 30.0,
        false => 90.0 - x.acos() / 0.5_f64.acos() * 60.0,
    }
}

/// Of 0 to 1.
fn arc_cosine(x: f64) -> f64 {
    match x <= 0.5 {
        true => 90.0 - x.asin() / 0.5_f64.asin() * 30.0,
        false => x.acos() / 0.5_f64.acos() * 60.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_exact() {
        assert_eq!([30.0, 90.0, 210.0, -30.0].map(sine), [0.5, 1.0, -0.5, -0.5]);
        assert_eq!([60.0, 90.0, 180.0].map(cosine), [0.5, 0.0, -1.0]);
        assert_eq!([45.0, 135.0, 180.0].map(tangent), [1.0, -1.0, 0.0]);
        assert_eq!([45.0, 225.0].map(cotangent), [1.0, 1.0]);
        assert_eq!([0.5, 1.0].map(arc_sine), [30.0, 90.0]);
        assert_eq!([0.5, 0.0].map(arc_cosine), [60.0, 90.0]);
    }
}
