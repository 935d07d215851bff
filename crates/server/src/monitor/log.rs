//! `Log`: what happens, a line each: for people, or as JSON for what collects logs.
//!
//! What must hold: an event has numbers, SQLSTATEs and addresses, and no text of a statement, no value and no name that a client chose.

use crate::clock;
use std::fmt::Write;
use std::net::IpAddr;
use std::time::Duration;

/// Something that happened.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// Of the server as a whole, in words: what it listens on, that it is ready or stops, what opening files found.
    Server(&'a str),
    /// A client has said the right password.
    SessionBegan {
        session: u32,
        address: Option<IpAddr>,
        tls: bool,
    },
    SessionEnded {
        session: u32,
        lasted: Duration,
    },
    /// A client was turned away before it was in.
    Refused {
        address: Option<IpAddr>,
        sqlstate: &'a str,
    },
    /// A statement has failed.
    Failed {
        session: u32,
        sqlstate: &'a str,
    },
}

/// Where events go.
#[derive(Clone, Copy)]
pub(crate) struct Log {
    /// Writes a line.
    pub(crate) say: fn(&str),
    /// Whether each event is a JSON object. People are told of the server alone.
    pub(crate) json: bool,
}

impl Log {
    /// Tells of the server, in words that have nothing of a client's in them.
    pub(crate) fn server(&self, words: &str) {
        self.event(Event::Server(words));
    }

    pub(crate) fn event(&self, event: Event<'_>) {
        match (self.json, event) {
            (true, event) => (self.say)(&json(clock::wall(), event)),
            (false, Event::Server(words)) => (self.say)(&format!("hush serve: {words}")),
            (false, _) => {}
        }
    }
}

/// An event as one line; `now` is the time since 1970.
fn json(now: Duration, event: Event<'_>) -> String {
    let mut line = format!("{{\"time\":\"{}\"", instant(now));
    let mut text = |name: &str, value: &str| {
        line.push_str(&format!(",\"{name}\":"));
        quote(value, &mut line);
    };
    match event {
        Event::Server(words) => {
            text("event", "server");
            text("message", words);
        }
        Event::SessionBegan {
            session,
            address,
            tls,
        } => {
            text("event", "session_began");
            text("from", &from(address));
            let _ = write!(line, ",\"session\":{session},\"tls\":{tls}");
        }
        Event::SessionEnded { session, lasted } => {
            text("event", "session_ended");
            let seconds = lasted.as_secs_f64();
            let _ = write!(line, ",\"session\":{session},\"seconds\":{seconds:.3}");
        }
        Event::Refused { address, sqlstate } => {
            text("event", "refused");
            text("from", &from(address));
            text("sqlstate", sqlstate);
        }
        Event::Failed { session, sqlstate } => {
            text("event", "statement_failed");
            text("sqlstate", sqlstate);
            let _ = write!(line, ",\"session\":{session}");
        }
    }
    line.push('}');
    line
}

fn from(address: Option<IpAddr>) -> String {
    address.map_or_else(|| "socket".into(), |address| address.to_string())
}

/// A JSON string (RFC 8259, section 7).
fn quote(text: &str, line: &mut String) {
    line.push('"');
    for letter in text.chars() {
        match letter {
            '"' => line.push_str("\\\""),
            '\\' => line.push_str("\\\\"),
            letter if letter < ' ' => {
                let _ = write!(line, "\\u{:04x}", u32::from(letter));
            }
            letter => line.push(letter),
        }
    }
    line.push('"');
}

/// `2026-01-31T23:59:59.123Z` of a time since 1970 (RFC 3339).
fn instant(now: Duration) -> String {
    let (days, seconds) = (now.as_secs() / 86_400, now.as_secs() % 86_400);
    // Years begin in March, and eras of 400 of them in the year 0.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let of_era_years = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * of_era_years + of_era_years / 4 - of_era_years / 100);
    let march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = of_era_years + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let milli = now.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(instant(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn an_event_is_one_line_of_json() {
        let line = json(Duration::from_millis(1), Event::Server("a \"b\"\n\\c"));
        assert_eq!(
            line,
            r#"{"time":"1970-01-01T00:00:00.001Z","event":"server","message":"a \"b\"\u000a\\c"}"#
        );
        let event = Event::Failed {
            session: 7,
            sqlstate: "23505",
        };
        let line = json(Duration::ZERO, event);
        assert!(
            line.ends_with(r#""sqlstate":"23505","session":7}"#),
            "{line}"
        );
        let event = Event::SessionBegan {
            session: 7,
            address: None,
            tls: false,
        };
        assert!(
            json(Duration::ZERO, event).contains(r#""from":"socket","session":7,"tls":false}"#)
        );
    }
}
