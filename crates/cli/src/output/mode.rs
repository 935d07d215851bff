//! The names of the output modes.

use std::fmt;
use std::str::FromStr;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A table drawn with box characters, with a row of types; long results are cut in the middle.
    #[default]
    Box,
    /// Comma-separated values with a header row.
    Csv,
    /// One JSON array of objects.
    Json,
    /// A Markdown table.
    Markdown,
    /// One `column = value` a line.
    Line,
}

impl Mode {
    /// All modes, for help and for error messages.
    pub(crate) const ALL: [Self; 5] =
        [Self::Box, Self::Csv, Self::Json, Self::Markdown, Self::Line];

    fn name(self) -> &'static str {
        match self {
            Self::Box => "box",
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Markdown => "markdown",
            Self::Line => "line",
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // DuckDB calls its box "duckbox"; scripts written for it should run.
        let text = if text == "duckbox" { "box" } else { text };
        Self::ALL
            .into_iter()
            .find(|mode| mode.name() == text)
            .ok_or_else(|| {
                let names: Vec<&str> = Self::ALL.iter().map(|mode| mode.name()).collect();
                format!(
                    "unknown mode \"{text}\"; the modes are {}",
                    names.join(", ")
                )
            })
    }
}
