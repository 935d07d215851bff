//! The cipher suite of a database. FORMAT.md, "Sealing". The header names it and the header's MAC covers it, so it
//! cannot be downgraded.

use std::fmt;

/// How blocks are sealed. The numbers are the wire's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Suite {
    /// No encryption: checksums find errors, not attackers.
    Plain = 0,
    /// AES-256-GCM.
    Gcm = 1,
    /// AES-256-CTR for data, with digests in the parents; roots and log stay AES-256-GCM.
    Ctr = 2,
}

impl Suite {
    /// The suite with this number, if this version knows it.
    pub const fn from_wire(byte: u8) -> Option<Self> {
        match byte {
            0 => Some(Self::Plain),
            1 => Some(Self::Gcm),
            2 => Some(Self::Ctr),
            _ => None,
        }
    }

    /// The suite's number.
    pub const fn to_wire(self) -> u8 {
        self as u8
    }

    /// Whether data is encrypted.
    pub const fn is_encrypted(self) -> bool {
        !matches!(self, Self::Plain)
    }

    /// The suite's name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gcm => "AES-256-GCM",
            Self::Ctr => "AES-256-CTR",
        }
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
