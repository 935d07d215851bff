//! The names of the output modes, and what else says how results are printed.

use std::fmt;
use std::str::FromStr;

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Values between the unit and record separators of ASCII.
    Ascii,
    /// A table drawn with box characters, with a row of types; long results are cut in the middle.
    #[default]
    Box,
    /// Columns that are as wide as their widest value.
    Column,
    /// Comma-separated values with a header row.
    Csv,
    /// The rows of an HTML table.
    Html,
    /// INSERT statements.
    Insert,
    /// One JSON array of objects.
    Json,
    /// A JSON object a line.
    JsonLines,
    /// A LaTeX table.
    Latex,
    /// One `column = value` a line.
    Line,
    /// Values between bars.
    List,
    /// A Markdown table.
    Markdown,
    /// Values as SQL has them, between commas.
    Quote,
    /// A table drawn with `+`, `-` and `|`.
    Table,
    /// Values between tabs.
    Tabs,
    /// Values as strings of Tcl.
    Tcl,
    /// Nothing.
    Trash,
}

impl Mode {
    /// All modes, for help and for error messages.
    pub(crate) const ALL: [Self; 17] = [
        Self::Ascii,
        Self::Box,
        Self::Column,
        Self::Csv,
        Self::Html,
        Self::Insert,
        Self::Json,
        Self::JsonLines,
        Self::Latex,
        Self::Line,
        Self::List,
        Self::Markdown,
        Self::Quote,
        Self::Table,
        Self::Tabs,
        Self::Tcl,
        Self::Trash,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Ascii => "ascii",
            Self::Box => "box",
            Self::Column => "column",
            Self::Csv => "csv",
            Self::Html => "html",
            Self::Insert => "insert",
            Self::Json => "json",
            Self::JsonLines => "jsonlines",
            Self::Latex => "latex",
            Self::Line => "line",
            Self::List => "list",
            Self::Markdown => "markdown",
            Self::Quote => "quote",
            Self::Table => "table",
            Self::Tabs => "tabs",
            Self::Tcl => "tcl",
            Self::Trash => "trash",
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

/// A mode, and what was said beside it.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) mode: Mode,
    /// Whether the names of columns come first, where a mode can do without.
    pub(crate) headers: bool,
    /// What stands for NULL, where a mode has no word of its own for it.
    pub(crate) null: String,
    /// What is between values and behind rows, where that is not what the mode has.
    pub(crate) between: Option<String>,
    pub(crate) end: Option<String>,
    /// Where INSERT statements put rows.
    pub(crate) table: String,
}

impl Style {
    /// A mode as it is when nothing else is said.
    pub(crate) fn new(mode: Mode) -> Self {
        Self {
            mode,
            headers: true,
            null: "NULL".to_owned(),
            between: None,
            end: None,
            table: "table".to_owned(),
        }
    }
}
