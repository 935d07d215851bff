//! `Collation`: what is made of a text before it is compared.

/// The collations that a column of texts can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collation {
    /// Lower case.
    NoCase,
    /// No accents.
    NoAccent,
    /// No accents, and lower case.
    NoAccentNoCase,
}

impl Collation {
    const ALL: [Self; 3] = [Self::NoCase, Self::NoAccent, Self::NoAccentNoCase];

    /// Its name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::NoCase => "nocase",
            Self::NoAccent => "noaccent",
            Self::NoAccentNoCase => "noaccent.nocase",
        }
    }

    /// That of a name, in any case, whose parts may come in any order; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let mut found = [false; 2];
        for part in name.split('.') {
            match part {
                "nocase" => found[0] = true,
                "noaccent" => found[1] = true,
                _ => return None,
            }
        }
        Some(match found {
            [true, true] => Self::NoAccentNoCase,
            [true, false] => Self::NoCase,
            [false, _] => Self::NoAccent,
        })
    }

    /// Whether the case of letters does not count.
    pub fn has_no_case(self) -> bool {
        matches!(self, Self::NoCase | Self::NoAccentNoCase)
    }

    /// Whether accents do not count.
    pub fn has_no_accents(self) -> bool {
        matches!(self, Self::NoAccent | Self::NoAccentNoCase)
    }

    /// What stands for it in a file (FORMAT.md, "Tables").
    pub(super) fn byte(self) -> u8 {
        match self {
            Self::NoCase => 1,
            Self::NoAccent => 2,
            Self::NoAccentNoCase => 3,
        }
    }

    pub(super) fn of_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.byte() == byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_bytes_come_back() {
        for known in Collation::ALL {
            assert_eq!(Collation::named(known.name()), Some(known));
            assert_eq!(Collation::of_byte(known.byte()), Some(known));
        }
        let both = Some(Collation::NoAccentNoCase);
        assert_eq!(Collation::named("NOCASE.NoAccent"), both);
        assert_eq!(Collation::of_byte(0), None);
        assert_eq!(Collation::named("de"), None);
        assert_eq!(Collation::named(""), None);
    }
}
