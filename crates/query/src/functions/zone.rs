//! `Zone`: what the clocks of a time zone show at an instant, and back.
//!
//! What must hold: a time that a zone's clocks show twice is the later one; one that they leave out is what they would have shown had
//! they not been changed; what is infinitely far is so in all zones.

use super::date_spans::moved;
use super::date_trunc::first_of;
use super::text::calendar;
use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::{OffsetComponents, OffsetName, TZ_VARIANTS, Tz};
use datafusion::arrow::datatypes::{DataType, IntervalMonthDayNano};
use hushdb_sql::{Error, ErrorKind};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Up to this year the tables of zones have each change of their clocks. The calendars of all later years are those of the 28 before it.
const LAST_YEAR: i64 = 2099;
const AFTER_LAST_YEAR: i64 = 4_102_444_800 * MICROS_PER_SECOND;

/// Names that ICU has beside those of the IANA database, and what they stand for there.
const OTHER_NAMES: [(&str, Tz); 41] = [
    ("ACT", Tz::Australia__Darwin),
    ("AET", Tz::Australia__Sydney),
    ("AGT", Tz::America__Argentina__Buenos_Aires),
    ("ART", Tz::Africa__Cairo),
    ("AST", Tz::America__Anchorage),
    ("BET", Tz::America__Sao_Paulo),
    ("BST", Tz::Asia__Dhaka),
    ("CAT", Tz::Africa__Harare),
    ("CNT", Tz::America__St_Johns),
    ("CST", Tz::America__Chicago),
    ("CTT", Tz::Asia__Shanghai),
    ("Canada/East-Saskatchewan", Tz::America__Regina),
    ("EAT", Tz::Africa__Addis_Ababa),
    ("ECT", Tz::Europe__Paris),
    ("Factory", Tz::UTC),
    ("IET", Tz::America__Indiana__Indianapolis),
    ("IST", Tz::Asia__Kolkata),
    ("JST", Tz::Asia__Tokyo),
    ("MIT", Tz::Pacific__Apia),
    ("NET", Tz::Asia__Yerevan),
    ("NST", Tz::Pacific__Auckland),
    ("PLT", Tz::Asia__Karachi),
    ("PNT", Tz::America__Phoenix),
    ("PRT", Tz::America__Puerto_Rico),
    ("PST", Tz::America__Los_Angeles),
    ("SST", Tz::Pacific__Guadalcanal),
    ("SystemV/AST4", Tz::Etc__GMTPlus4),
    ("SystemV/AST4ADT", Tz::America__Halifax),
    ("SystemV/CST6", Tz::Etc__GMTPlus6),
    ("SystemV/CST6CDT", Tz::America__Chicago),
    ("SystemV/EST5", Tz::Etc__GMTPlus5),
    ("SystemV/EST5EDT", Tz::America__New_York),
    ("SystemV/HST10", Tz::Etc__GMTPlus10),
    ("SystemV/MST7", Tz::Etc__GMTPlus7),
    ("SystemV/MST7MDT", Tz::America__Denver),
    ("SystemV/PST8", Tz::Etc__GMTPlus8),
    ("SystemV/PST8PDT", Tz::America__Los_Angeles),
    ("SystemV/YST9", Tz::Etc__GMTPlus9),
    ("SystemV/YST9YDT", Tz::America__Anchorage),
    ("US/Pacific-New", Tz::America__Los_Angeles),
    ("VST", Tz::Asia__Ho_Chi_Minh),
];

/// A time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone(Tz);

/// Whether a count of microseconds is none of the two that are infinitely far.
fn is_near(micros: i64) -> bool {
    micros.saturating_abs() != i64::MAX
}

impl Zone {
    /// Zone without summer, whose clocks show what instants are counted in.
    pub const UTC: Self = Self(Tz::UTC);

    /// The zone of a name of the IANA database, or of ICU's others, in any case of letters; and the name as it is written there.
    pub fn named(name: &str) -> Option<(Self, &'static str)> {
        if name == "UTC" {
            return Some((Self::UTC, "UTC"));
        }
        let exact = name.parse::<Tz>().ok().map(|tz| (Self(tz), tz.name()));
        exact
            .or_else(|| all().find(|(_, known)| known.eq_ignore_ascii_case(name)))
            .or_else(|| {
                // `UTC+1`, as a name of hours that are ahead.
                let (start, rest) = name.split_at_checked(3)?;
                let (sign, hours) = rest.split_at_checked(1)?;
                let hours: u8 = hours
                    .parse()
                    .ok()
                    .filter(|_| start.eq_ignore_ascii_case("utc"))?;
                let sign = match sign {
                    "+" => '-',
                    "-" => '+',
                    _ => return None,
                };
                let tz = format!("Etc/GMT{sign}{hours}").parse::<Tz>().ok()?;
                Some((Self(tz), tz.name()))
            })
    }

    /// The same.
    ///
    /// # Errors
    /// `Unsupported` where there is none.
    pub(super) fn known(name: &str) -> Result<Self, Error> {
        let text =
            "Unknown TimeZone: it takes a name of the IANA database, such as 'Europe/Berlin'";
        let zone = Self::named(name).map(|(zone, _)| zone);
        zone.ok_or_else(|| Error::unsupported(text))
    }

    /// The zone in which instants of a type are shown; `None` for what is no instant.
    pub(super) fn of(ty: &DataType) -> Option<Self> {
        match ty {
            DataType::Timestamp(_, Some(name)) => {
                Some(Self::named(name).map_or(Self::UTC, |(zone, _)| zone))
            }
            _ => None,
        }
    }

    /// Its name in the IANA database.
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// What its clocks show before those of UTC at an instant, in microseconds.
    pub(super) fn offset(self, instant: i64) -> i64 {
        if self == Self::UTC {
            return 0;
        }
        let at = DateTime::from_timestamp_micros(instant - behind_last_year(instant));
        // Before the first year that chrono knows, clocks showed what they did in it.
        let at = at.map_or(NaiveDateTime::MIN, |at| at.naive_utc());
        let offset = self.0.offset_from_utc_datetime(&at);
        i64::from(offset.fix().local_minus_utc()) * MICROS_PER_SECOND
    }

    /// What its time is called at an instant in microseconds, such as `CEST`; of zones without such names it is the offset.
    pub(super) fn abbreviation(self, instant: i64) -> String {
        let at = DateTime::from_timestamp_micros(instant).unwrap_or_default();
        let offset = self.0.offset_from_utc_datetime(&at.naive_utc());
        offset.abbreviation().unwrap_or_default().to_owned()
    }

    /// What its clocks show at an instant, as a count of microseconds; `None` past the end.
    pub(super) fn local(self, instant: i64) -> Option<i64> {
        if self == Self::UTC || !is_near(instant) {
            return Some(instant);
        }
        let local = instant.checked_add(self.offset(instant))?;
        Some(local).filter(|local| is_near(*local))
    }

    /// The instant at which its clocks show a time, both in microseconds since 1970; `None` past the end.
    pub fn instant(self, local: i64) -> Option<i64> {
        if self == Self::UTC || !is_near(local) {
            return Some(local);
        }
        let Some(shown) = DateTime::from_timestamp_micros(local - behind_last_year(local)) else {
            let instant = local.checked_sub(self.offset(local))?;
            return Some(instant).filter(|instant| is_near(*instant));
        };
        let shown = shown.naive_utc();
        let offset = match self.0.offset_from_local_datetime(&shown) {
            MappedLocalTime::Single(offset) | MappedLocalTime::Ambiguous(_, offset) => offset,
            // As before the clocks were changed.
            MappedLocalTime::None => {
                let before = shown.checked_sub_signed(TimeDelta::days(1))?;
                self.0.offset_from_local_datetime(&before).latest()?
            }
        };
        let seconds = i64::from(offset.fix().local_minus_utc());
        let instant = local.checked_sub(seconds * MICROS_PER_SECOND)?;
        Some(instant).filter(|instant| is_near(*instant))
    }

    /// An instant so many days later, at the time of the day at which clocks are then. A time that they show twice stays before or
    /// behind their change as it was, unlike one that is computed from what they show.
    pub(super) fn plus_days(self, instant: i64, days: i64) -> Option<i64> {
        let moved = instant.checked_add(days.checked_mul(MICROS_PER_DAY)?)?;
        let change = self.offset(instant) - self.offset(moved);
        if change == 0 {
            return Some(moved);
        }
        let back = moved.checked_add(change)?;
        let same_clock =
            self.local(back)? == self.local(instant)?.checked_add(days * MICROS_PER_DAY)?;
        Some(if same_clock { back } else { moved })
    }
}

impl Zone {
    /// An instant after an interval: months, days and the rest one after the other; a rest that goes back comes first, as in DuckDB.
    pub(super) fn plus(self, instant: i64, by: IntervalMonthDayNano) -> Option<i64> {
        if !is_near(instant) {
            return Some(instant);
        }
        let rest = |at: i64| at.checked_add(by.nanoseconds / 1000);
        let days = |at: i64| self.plus_days(at, by.days.into());
        let months = |at: i64| match by.months {
            0 => Some(at),
            months => {
                let months = IntervalMonthDayNano::new(months, 0, 0);
                self.instant(moved(self.local(at)?, months, 1)?)
            }
        };
        let moved = match by.nanoseconds < 0 {
            true => days(months(rest(instant)?)?),
            false => rest(days(months(instant)?)?),
        };
        moved.filter(|at| is_near(*at))
    }
}

/// How long a time after the last year of the tables is behind that of a year with the same calendar in them, in microseconds.
fn behind_last_year(micros: i64) -> i64 {
    if micros < AFTER_LAST_YEAR {
        return 0;
    }
    let (year, ..) = calendar(micros.div_euclid(MICROS_PER_DAY));
    let first = first_of(year, 1);
    let days = first_of(year + 1, 1) - first;
    let mut alike =
        (LAST_YEAR - 27..=LAST_YEAR).map(|year| (first_of(year, 1), first_of(year + 1, 1)));
    let alike = alike.find(|(start, next)| next - start == days && (first - start) % 7 == 0);
    alike.map_or(0, |(start, _)| (first - start) * MICROS_PER_DAY)
}

/// All zones under all of their names.
fn all() -> impl Iterator<Item = (Zone, &'static str)> {
    let iana = TZ_VARIANTS.iter().map(|tz| (Zone(*tz), tz.name()));
    iana.chain(OTHER_NAMES.iter().map(|(name, tz)| (Zone(*tz), *name)))
}

/// All zones that there are, by name, and of each at an instant, in microseconds since 1970: what its time is called, such as `CEST`,
/// what its clocks show before those of UTC, and whether they are put forward.
pub fn time_zones(micros: i64) -> Vec<(&'static str, String, IntervalMonthDayNano, bool)> {
    let at = DateTime::from_timestamp_micros(micros).unwrap_or_default();
    let facts = all().map(|(zone, name)| {
        let offset = zone.0.offset_from_utc_datetime(&at.naive_utc());
        let before = IntervalMonthDayNano::new(0, 0, zone.offset(micros) * 1000);
        let short = offset.abbreviation().unwrap_or_default().to_string();
        (name, short, before, !offset.dst_offset().is_zero())
    });
    let mut facts: Vec<_> = facts.collect();
    facts.sort_by_key(|(name, ..)| *name);
    facts
}

/// The error of an instant whose clocks show nothing that there is.
pub(super) fn out_of_range() -> Error {
    Error::new(
        ErrorKind::Conversion,
        "Timestamp out of range in a time zone",
    )
}

/// What stands behind a time to say how far it is from UTC: hours, and minutes if there are any, as in `+05:30`.
pub(super) fn offset_text(micros: i64) -> String {
    let sign = if micros < 0 { '-' } else { '+' };
    let minutes = micros.abs() / (60 * MICROS_PER_SECOND);
    match minutes % 60 {
        0 => format!("{sign}{:02}", minutes / 60),
        rest => format!("{sign}{:02}:{rest:02}", minutes / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3600 * MICROS_PER_SECOND;

    fn berlin() -> Zone {
        Zone::named("europe/berlin").unwrap().0
    }

    #[test]
    fn clocks_that_are_changed_show_a_time_twice_or_leave_it_out() {
        // 2024-10-27 00:30 and 01:30 are both 02:30, 2024-03-31 02:30 is none.
        let first = 1_729_989_000 * MICROS_PER_SECOND;
        let shown = first + 2 * HOUR;
        assert_eq!(berlin().local(first), Some(shown));
        assert_eq!(berlin().local(first + HOUR), Some(shown));
        assert_eq!(berlin().instant(shown), Some(first + HOUR));
        let none = 1_711_852_200 * MICROS_PER_SECOND;
        assert_eq!(berlin().instant(none), Some(none - HOUR));
        assert_eq!(berlin().local(none - HOUR), Some(none + HOUR));
    }

    #[test]
    fn days_keep_the_time_of_clocks() {
        let before = 1_711_711_800 * MICROS_PER_SECOND;
        assert_eq!(
            berlin().plus_days(before, 7),
            Some(before + 7 * 24 * HOUR - HOUR)
        );
        // 2024-10-26 02:30 and the day after, before the change.
        let october = 1_729_902_600 * MICROS_PER_SECOND;
        assert_eq!(berlin().plus_days(october, 1), Some(october + 24 * HOUR));
        // Into what is left out.
        let march = 1_711_762_200 * MICROS_PER_SECOND;
        assert_eq!(berlin().plus_days(march, 1), Some(march + 24 * HOUR));
    }

    #[test]
    fn names_are_found_in_any_case_and_the_ends_stay() {
        let name = |text| Zone::named(text).map(|(_, name)| name);
        assert_eq!(name("EUROPE/berlin"), Some("Europe/Berlin"));
        assert_eq!(name("pst"), Some("PST"));
        assert_eq!(name("UTC+1"), Some("Etc/GMT-1"));
        assert_eq!((name("+01"), name(""), name("UTC+99")), (None, None, None));
        assert_eq!(berlin().local(i64::MAX), Some(i64::MAX));
        assert_eq!(berlin().local(i64::MAX - 1), None);
        assert_eq!(berlin().instant(-i64::MAX), Some(-i64::MAX));
    }

    #[test]
    fn clocks_are_changed_in_all_years_to_come() {
        // 2150-07-01 12:00 and 2150-01-01 12:00.
        assert_eq!(berlin().offset(5_696_308_800 * MICROS_PER_SECOND), 2 * HOUR);
        assert_eq!(berlin().offset(5_680_670_400 * MICROS_PER_SECOND), HOUR);
        assert!(berlin().local(i64::MAX - 24 * HOUR).is_some());
        assert!(berlin().local(-i64::MAX + 24 * HOUR).is_some());
    }

    #[test]
    fn offsets_are_hours_and_minutes() {
        assert_eq!(offset_text(2 * HOUR), "+02");
        assert_eq!(offset_text(-HOUR * 5 / 2), "-02:30");
        assert_eq!(offset_text(3208 * MICROS_PER_SECOND), "+00:53");
    }
}
