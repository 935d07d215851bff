//! Tables in which each column is as wide as its widest value: Markdown, LaTeX, columns, and lines of `+` and `-`.
//!
//! What must hold: no value ends its cell. In Markdown pipes are escaped and line breaks become `<br>`; in LaTeX what has a meaning there is
//! escaped; the others show line breaks as `\n`.

use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use unicode_width::UnicodeWidthStr;

use super::box_table::visible;
use super::{Mode, Printer, Style, texts};
use crate::failure::Failure;

pub(super) struct Grid {
    mode: Mode,
    headers: bool,
    null: String,
    /// Columns of numbers.
    right: Vec<bool>,
    /// The names first.
    rows: Vec<Vec<String>>,
}

impl Grid {
    pub(super) fn new(schema: &SchemaRef, style: &Style) -> Self {
        let (mode, fields) = (style.mode, schema.fields().iter());
        let is_right = fields.clone().map(|field| field.data_type().is_numeric());
        let names = fields.map(|field| escaped(mode, field.name()));
        Self {
            mode,
            // Without its names Markdown has no table.
            headers: style.headers || mode != Mode::Column,
            null: style.null.clone(),
            right: is_right.collect(),
            rows: vec![names.collect()],
        }
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = vec![0; self.right.len()];
        for row in &self.rows {
            for (width, text) in widths.iter_mut().zip(row) {
                *width = text.width().max(*width);
            }
        }
        widths
    }

    /// The line between two of the table's parts, if there is one.
    fn rule(&self, widths: &[usize], place: Place) -> Option<String> {
        let columns = widths.iter().zip(&self.right);
        match (self.mode, place) {
            (Mode::Table, _) => {
                let parts = widths.iter().map(|width| "-".repeat(width + 2));
                Some(format!("+{}+", parts.collect::<Vec<_>>().join("+")))
            }
            (Mode::Latex, Place::First) => {
                let letters = self
                    .right
                    .iter()
                    .map(|&right| if right { 'r' } else { 'l' });
                let letters: String = letters.collect();
                Some(format!("\\begin{{tabular}}{{|{letters}|}}\n\\hline"))
            }
            (Mode::Latex, Place::BelowNames) => Some("\\hline".to_owned()),
            (Mode::Latex, Place::Last) => Some("\\hline\n\\end{tabular}".to_owned()),
            (Mode::Column, Place::BelowNames) => {
                let parts = widths.iter().map(|width| "-".repeat(*width));
                Some(parts.collect::<Vec<_>>().join("  "))
            }
            (Mode::Markdown, Place::BelowNames) => {
                let parts = columns.map(|(width, &right)| match right {
                    true => format!("{}:", "-".repeat(width + 1)),
                    false => "-".repeat(width + 2),
                });
                Some(format!("|{}|", parts.collect::<Vec<_>>().join("|")))
            }
            _ => None,
        }
    }

    fn line(&self, row: &[String], widths: &[usize], is_names: bool) -> String {
        let is_centred = is_names && self.mode != Mode::Column;
        let padded = row.iter().zip(widths).map(|(text, width)| {
            let space = width.saturating_sub(text.width());
            let before = if is_centred { space / 2 } else { 0 };
            format!("{}{text}{}", " ".repeat(before), " ".repeat(space - before))
        });
        let padded: Vec<String> = padded.collect();
        match self.mode {
            Mode::Column => padded.join("  "),
            Mode::Latex => format!("{} \\\\", padded.join(" & ")),
            _ => format!("| {} |", padded.join(" | ")),
        }
    }
}

/// Where a line may be drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    First,
    BelowNames,
    Last,
}

impl Printer for Grid {
    fn batch(&mut self, batch: &RecordBatch, _out: &mut dyn Write) -> Result<(), Failure> {
        for row in 0..batch.num_rows() {
            let texts = texts(batch, row)?.into_iter();
            let cells = texts.map(|text| escaped(self.mode, text.as_ref().unwrap_or(&self.null)));
            self.rows.push(cells.collect());
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let widths = self.widths();
        let mut lines = vec![self.rule(&widths, Place::First)];
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 || self.headers {
                lines.push(Some(self.line(row, &widths, index == 0)));
            }
            if index == 0 && self.headers {
                lines.push(self.rule(&widths, Place::BelowNames));
            }
        }
        lines.push(self.rule(&widths, Place::Last));
        for line in lines.into_iter().flatten() {
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

/// A text that stays within its cell.
fn escaped(mode: Mode, text: &str) -> String {
    match mode {
        Mode::Markdown => text
            .replace('|', "\\|")
            .replace("\r\n", "<br>")
            .replace('\n', "<br>"),
        Mode::Latex => text.chars().map(of_latex).collect(),
        _ => visible(text),
    }
}

fn of_latex(character: char) -> String {
    match character {
        '&' | '%' | '$' | '#' | '_' | '{' | '}' => format!("\\{character}"),
        '\\' => "\\textbackslash{}".to_owned(),
        '~' => "\\textasciitilde{}".to_owned(),
        '^' => "\\textasciicircum{}".to_owned(),
        '\n' | '\r' => " ".to_owned(),
        other => other.to_string(),
    }
}
