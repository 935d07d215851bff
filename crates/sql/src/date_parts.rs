//! DuckDB's names of the parts of dates, times and intervals, as `date_part`, `date_trunc`, `date_diff` and `date_sub` take them.

/// The names of each part, of which the first stands for all.
const PARTS: [&[&str]; 24] = [
    &["era"],
    &[
        "millennium",
        "mil",
        "mils",
        "millenniums",
        "millennia",
        "millenium",
    ],
    &["century", "cent", "centuries", "c"],
    &["decade", "dec", "decades", "decs"],
    &["year", "yr", "y", "years", "yrs"],
    &["quarter", "quarters"],
    &["month", "mon", "months", "mons"],
    &["week", "weeks", "w", "weekofyear"],
    &["day", "days", "d", "dayofmonth"],
    &["hour", "hr", "hours", "hrs", "h"],
    &["minute", "min", "minutes", "mins", "m"],
    &["second", "sec", "seconds", "secs", "s"],
    &[
        "millisecond",
        "milliseconds",
        "ms",
        "msec",
        "msecs",
        "msecond",
        "mseconds",
    ],
    &[
        "microsecond",
        "microseconds",
        "us",
        "usec",
        "usecs",
        "usecond",
        "useconds",
    ],
    &["dow", "dayofweek", "weekday"],
    &["doy", "dayofyear"],
    &["isodow"],
    &["isoyear"],
    &["yearweek"],
    &["julian"],
    &["epoch"],
    &["timezone"],
    &["timezone_hour"],
    &["timezone_minute"],
];

/// The one name of a part, whichever of its names is written, in any case.
pub fn date_part_name(written: &str) -> Option<&'static str> {
    // `extract('day' FROM x)` keeps its quotes.
    let written = written.trim_matches(['\'', '"']);
    PARTS.iter().find_map(|names| {
        let found = names.iter().find(|name| name.eq_ignore_ascii_case(written));
        found.and(names.first()).copied()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_one_name() {
        assert_eq!(date_part_name("WeekDay"), Some("dow"));
        assert_eq!(date_part_name("mins"), Some("minute"));
        assert_eq!(date_part_name("qtr"), None);
    }
}
