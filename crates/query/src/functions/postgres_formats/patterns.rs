//! The patterns in a format of moments.

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// What stands for itself. `true`: in quotes.
    Text(String, bool),
    Pattern(Pattern),
}

/// A pattern with its modifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// In upper case.
    pub(super) key: &'static str,
    /// How its letters are written: for names.
    pub(super) case: Case,
    /// FM or TM: nothing is filled up.
    pub(super) bare: bool,
    /// TH or th behind it: `true` for capitals.
    pub(super) ordinal: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Upper,
    Title,
    Lower,
}

/// The longer before what they begin with.
const KEYS: [&str; 54] = [
    "Y,YYY", "SSSSS", "MONTH", "A.D.", "B.C.", "A.M.", "P.M.", "HH24", "HH12", "IDDD", "IYYY",
    "SSSS", "YYYY", "DAY", "DDD", "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "IYY", "MON", "TZH",
    "TZM", "YYY", "AD", "AM", "BC", "CC", "DD", "DY", "HH", "ID", "IW", "IY", "MI", "MM", "MS",
    "OF", "PM", "RM", "SS", "TZ", "US", "WW", "YY", "FX", "D", "I", "J", "Q", "W", "Y",
];

/// The key that a text begins with.
fn key(text: &str) -> Option<&'static str> {
    let mut keys = KEYS.into_iter();
    keys.find(|key| {
        let begin = text.get(..key.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(key))
    })
}

fn case(written: &str) -> Case {
    let mut letters = written.chars().filter(|c| c.is_ascii_alphabetic());
    let is_upper = |c: Option<char>| c.is_some_and(|c| c.is_ascii_uppercase());
    match (is_upper(letters.next()), is_upper(letters.next())) {
        (false, _) => Case::Lower,
        (true, false) if written.len() > 1 => Case::Title,
        _ => Case::Upper,
    }
}

/// A format taken apart.
pub(super) fn nodes(format: &str) -> Vec<Node> {
    let mut nodes = vec![];
    let mut rest = format;
    let mut bare = false;
    let push_text = |nodes: &mut Vec<Node>, c: char, quoted: bool| match nodes.last_mut() {
        Some(Node::Text(text, known)) if *known == quoted => text.push(c),
        _ => nodes.push(Node::Text(c.to_string(), quoted)),
    };
    while let Some(c) = rest.chars().next() {
        let begins = |with: &str| {
            let begin = rest.get(..with.len());
            begin.is_some_and(|begin| begin.eq_ignore_ascii_case(with))
        };
        if begins("FM") || begins("TM") {
            bare = true;
            rest = rest.get(2..).unwrap_or_default();
            continue;
        }
        if let Some(key) = key(rest) {
            let (written, behind) = rest.split_at_checked(key.len()).unwrap_or((rest, ""));
            let ordinal = behind.get(..2).filter(|th| th.eq_ignore_ascii_case("th"));
            rest = behind
                .get(ordinal.map_or(0, str::len)..)
                .unwrap_or_default();
            if key != "FX" {
                nodes.push(Node::Pattern(Pattern {
                    key,
                    case: case(written),
                    bare: std::mem::take(&mut bare),
                    ordinal: ordinal.map(|th| th.starts_with('T')),
                }));
            }
            continue;
        }
        rest = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '"' => {
                let mut letters = rest.char_indices();
                let mut end = rest.len();
                while let Some((at, c)) = letters.next() {
                    match c {
                        '"' => {
                            end = at + 1;
                            break;
                        }
                        '\\' => {
                            if let Some((_, next)) = letters.next() {
                                push_text(&mut nodes, next, true);
                            }
                        }
                        c => push_text(&mut nodes, c, true),
                    }
                }
                rest = rest.get(end..).unwrap_or_default();
            }
            '\\' if rest.starts_with('"') => {
                push_text(&mut nodes, '"', false);
                rest = rest.get(1..).unwrap_or_default();
            }
            c => push_text(&mut nodes, c, false),
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_taken_apart() {
        let shown = |format: &str| {
            let nodes = nodes(format).into_iter().map(|node| match node {
                Node::Text(text, quoted) => format!("{}{text}", if quoted { "\"" } else { "" }),
                Node::Pattern(pattern) => {
                    let bare = if pattern.bare { "FM" } else { "" };
                    let ordinal = pattern
                        .ordinal
                        .map_or("", |th| if th { "TH" } else { "th" });
                    format!("{bare}{}{ordinal}", pattern.key)
                }
            });
            nodes.collect::<Vec<_>>().join("|")
        };
        for (format, wanted) in [
            (
                "YYYY-MM-DD HH24:MI:SS.US",
                "YYYY|-|MM|-|DD| |HH24|:|MI|:|SS|.|US",
            ),
            ("FMDDth \"of the\" Month", "FMDDth| |\"of the| |MONTH"),
            ("yyyymmdd", "YYYY|MM|DD"),
            ("Y,YYY é", "Y,YYY| é"),
            ("\\\"x", "\"x"),
        ] {
            assert_eq!(shown(format), wanted);
        }
        let cases = ["MON", "Mon", "mon"].map(case);
        assert_eq!(cases, [Case::Upper, Case::Title, Case::Lower]);
    }
}
