//! Dates and times of clients: days and microseconds, and the ISO texts that drivers send.

/// Days from 1970-01-01 to 2000-01-01, where PostgreSQL's binary values begin.
pub(crate) const EPOCH_DAYS: i32 = 10_957;
/// The same in microseconds.
pub(crate) const EPOCH_MICROS: i64 = 946_684_800_000_000;
const DAY: i64 = 86_400_000_000;

/// Days since 1970-01-01 of a date of the proleptic Gregorian calendar, if there is such a date.
fn days_of(year: i64, month: i64, day: i64) -> Option<i32> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [
        31,
        28 + i64::from(leap),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let length = lengths.get(usize::try_from(month.checked_sub(1)?).ok()?)?;
    (1..=*length).contains(&day).then_some(())?;
    // March is the first month of a year that ends with the leap day.
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let of_era = shifted.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    i32::try_from(days).ok()
}

/// `YYYY-MM-DD`. A time or a zone behind it says nothing, as in PostgreSQL; pgjdbc and pgx send them.
pub(crate) fn date(text: &str) -> Option<i32> {
    let text = text.trim();
    let Some((day, rest)) = text.split_once(['T', ' ']) else {
        return day_of(text);
    };
    match rest.trim() {
        zone if zone.starts_with(['+', '-']) => offset(zone).map(drop)?,
        _ => timestamp(text).map(drop)?,
    }
    day_of(day)
}

fn day_of(text: &str) -> Option<i32> {
    let mut parts = text.splitn(3, '-').map(digits);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    days_of(year, month, day)
}

/// `HH:MM[:SS[.ffffff]]`, in microseconds.
pub(crate) fn time(text: &str) -> Option<i64> {
    let (clock, fraction) = match text.trim().split_once('.') {
        Some((clock, fraction)) => (clock, micros_of(fraction)?),
        None => (text.trim(), 0),
    };
    let mut parts = clock.split(':').map(digits);
    let (hours, minutes) = (parts.next()??, parts.next()??);
    let seconds = match parts.next() {
        None => 0,
        Some(seconds) => seconds?,
    };
    let is_time = hours <= 24 && minutes < 60 && seconds <= 60 && parts.next().is_none();
    let micros = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + fraction;
    (is_time && micros <= DAY).then_some(micros)
}

/// A date, and a time behind a blank or a `T`; and what the time zone adds to UTC, if one is said, in microseconds.
pub(crate) fn timestamp(text: &str) -> Option<(i64, Option<i64>)> {
    let text = text.trim();
    let Some((day, rest)) = text.split_once(['T', ' ']) else {
        return Some((i64::from(day_of(text)?).checked_mul(DAY)?, None));
    };
    let rest = rest.trim();
    let at = rest.find(['+', '-', 'Z', 'z']);
    let (clock, zone) = match at {
        None => (rest, None),
        Some(at) => (rest.get(..at)?, Some(offset(rest.get(at..)?)?)),
    };
    let micros = i64::from(day_of(day)?).checked_mul(DAY)?;
    Some((micros.checked_add(time(clock)?)?, zone))
}

/// `Z`, `+02`, `-0330`, `+05:30`, in microseconds.
fn offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let rest: String = text.get(1..)?.chars().filter(|c| *c != ':').collect();
    let (hours, rest) = rest.split_at_checked(2)?;
    let (minutes, seconds) = match rest.len() {
        0 => (0, 0),
        2 => (digits(rest)?, 0),
        4 => (digits(rest.get(..2)?)?, digits(rest.get(2..)?)?),
        _ => return None,
    };
    Some(sign * ((digits(hours)? * 60 + minutes) * 60 + seconds) * 1_000_000)
}

fn digits(text: &str) -> Option<i64> {
    let is_number = !text.is_empty() && text.len() <= 7 && text.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// Digits behind the point, rounded to microseconds.
fn micros_of(fraction: &str) -> Option<i64> {
    let is_number = !fraction.is_empty() && fraction.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(())?;
    let padded: String = fraction.chars().chain("0000000".chars()).take(7).collect();
    Some((padded.parse::<i64>().ok()? + 5) / 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_drivers_are_read() {
        assert_eq!(date("1970-01-01"), Some(0));
        assert_eq!(date("2000-01-01"), Some(EPOCH_DAYS));
        assert_eq!(date("2024-02-29"), Some(19_782));
        assert_eq!(date("1600-03-01"), Some(-135_080));
        assert_eq!(date("2024-02-29 +02"), Some(19_782));
        assert_eq!(date("2024-02-29 00:00:00Z"), Some(19_782));
        assert_eq!(date("2024-02-29 x"), None);
        assert_eq!(time("01:02:03.5"), Some(3_723_500_000));
        assert_eq!(timestamp("2000-01-01 00:00:00"), Some((EPOCH_MICROS, None)));
        let zoned = timestamp("2000-01-01T02:00:00.000001+02:00");
        assert_eq!(
            zoned,
            Some((EPOCH_MICROS + 7_200_000_001, Some(7_200_000_000)))
        );
    }

    #[test]
    fn others_are_not() {
        for text in [
            "",
            "2023-02-29",
            "2023-13-01",
            "x",
            "2023-1",
            "99999999-01-01",
            "2023-01-01 25:00:00",
            "2023-01-01 +x",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
        for text in ["", "1", "24:00:01", "00:60:00", "1:2:3:4", "00:00:00.x"] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
