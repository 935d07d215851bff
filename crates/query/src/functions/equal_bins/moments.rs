//! Bins of points in time, which end at round ones: they are steps of months, days, hours, minutes or seconds apart.

use chrono::{DateTime, Datelike, Days, Months, NaiveDateTime, NaiveTime, TimeDelta, Timelike};
use datafusion::common::Result;
use hushdb_sql::{Error, ErrorKind};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Of a part of a month.
const DAYS_OF_MONTH: f64 = 30.0;

/// How far it is from one bin to the next.
#[derive(Clone, Copy)]
struct Step {
    months: i64,
    days: i64,
    micros: i64,
}

/// The ends of bins between two points, in microseconds, from the last to the first. The first point is the earlier one.
pub(super) fn bins(min: i64, max: i64, count: usize) -> Result<Vec<i64>> {
    let step = round_step(step_between(moment(min)?, moment(max)?, count as f64));
    let mut at = rounded_up(moment(max)?, step).ok_or_else(too_far)?;
    let mut bins = vec![];
    while micros(at) >= min && bins.len() < count {
        bins.push(micros(at));
        match before(at, step) {
            Some(earlier) => at = earlier,
            None => break,
        }
    }
    Ok(bins)
}

fn too_far() -> Error {
    let what = "a bin ends at a time that is too far away to be rounded";
    Error::new(ErrorKind::OutOfRange, what)
}

fn moment(micros: i64) -> Result<NaiveDateTime> {
    let at = DateTime::from_timestamp_micros(micros).ok_or_else(too_far)?;
    Ok(at.naive_utc())
}

fn micros(at: NaiveDateTime) -> i64 {
    at.and_utc().timestamp_micros()
}

/// The difference of each part, divided; what is left of a month goes to the days, and what is left of a day to its time.
fn step_between(min: NaiveDateTime, max: NaiveDateTime, count: f64) -> Step {
    let months = |at: NaiveDateTime| i64::from(at.year()) * 12 + i64::from(at.month());
    let time = |at: NaiveDateTime| (at.time() - NaiveTime::MIN).num_microseconds().unwrap_or(0);
    let months = (months(max) - months(min)) as f64 / count;
    let mut days = f64::from(max.day() as i32 - min.day() as i32) / count;
    let mut micros = (time(max) - time(min)) as f64 / count;
    if months > 0.0 {
        days += months.fract() * DAYS_OF_MONTH;
    }
    if days > 0.0 {
        micros += days.fract() * DAY as f64;
    }
    Step {
        months: months as i64,
        days: days as i64,
        micros: micros as i64,
    }
}

/// A large step has no small parts.
fn round_step(mut step: Step) -> Step {
    let nearest = |micros: i64, of: i64| (micros + of / 2) / of * of;
    match step {
        Step { months: 6.., .. } => {
            (step.days, step.micros) = (0, 0);
        }
        Step { months: 1.., .. } | Step { days: 5.., .. } => step.micros = 0,
        Step {
            days: 1.., micros, ..
        } => step.micros = nearest(micros, HOUR),
        Step { micros, .. } => {
            step.micros = match micros {
                _ if micros >= 6 * HOUR => nearest(micros, HOUR),
                _ if micros >= HOUR => nearest(micros, 15 * MINUTE),
                _ if micros >= 10 * MINUTE => nearest(micros, MINUTE),
                _ if micros >= MINUTE => nearest(micros, 15 * SECOND),
                _ if micros >= 10 * SECOND => nearest(micros, SECOND),
                _ => micros,
            }
        }
    }
    match step.months <= 0 && step.days <= 0 && step.micros <= 0 {
        true => Step {
            months: 0,
            days: 0,
            micros: 1,
        },
        false => step,
    }
}

/// The first point from there on without parts that are small beside the step.
fn rounded_up(at: NaiveDateTime, step: Step) -> Option<NaiveDateTime> {
    let midnight = at.date().and_time(NaiveTime::MIN);
    let up_to = |unit: i64| {
        let time = at.time();
        let time = i64::from(time.num_seconds_from_midnight()) * SECOND
            + i64::from(time.nanosecond() / 1000);
        let units = (time + unit - 1) / unit;
        midnight.checked_add_signed(TimeDelta::microseconds(units * unit))
    };
    match step {
        Step { months: 12.., .. } => {
            let first = midnight.with_day(1)?;
            match first == at {
                true => Some(at),
                false => first.checked_add_months(Months::new(1)),
            }
        }
        Step { months: 1.., .. } | Step { days: 1.., .. } => up_to(DAY),
        Step { micros, .. } if micros >= HOUR => up_to(HOUR),
        Step { micros, .. } if micros >= MINUTE => up_to(MINUTE),
        Step { micros, .. } if micros >= SECOND => up_to(SECOND),
        _ => Some(at),
    }
}

/// The point a step earlier. A part of it may be negative.
fn before(at: NaiveDateTime, step: Step) -> Option<NaiveDateTime> {
    let count = |n: i64| u32::try_from(n.unsigned_abs()).ok();
    let months = Months::new(count(step.months)?);
    let days = Days::new(step.days.unsigned_abs());
    let at = match step.months < 0 {
        true => at.checked_add_months(months)?,
        false => at.checked_sub_months(months)?,
    };
    let at = match step.days < 0 {
        true => at.checked_add_days(days)?,
        false => at.checked_sub_days(days)?,
    };
    at.checked_sub_signed(TimeDelta::microseconds(step.micros))
}
