//! The table drawn with box characters, as DuckDB draws it: names, types, rows, counts.
//!
//! At most `SHOWN_ROWS` rows are shown (a few more when hiding them would save nothing): the first and the last, with
//! dots between. Only those are kept while the rest of the result passes through. With a terminal's width to keep to,
//! wide columns are cut first, then columns in the middle are left out. Counts of rows and columns follow the box when
//! something was left out or nothing was found, so that a cut is never mistaken for the whole.

use std::collections::VecDeque;
use std::io::Write;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, SchemaRef};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Printer, Style, texts};
use crate::failure::Failure;

/// Rows shown of a long result, half of them from its end.
const SHOWN_ROWS: usize = 40;
/// The rows of dots that stand for the hidden ones; hiding fewer rows than these would make the box longer.
const DOT_ROWS: usize = 3;
/// Columns are not made narrower than this to fit a terminal.
const NARROWEST: usize = 20;
/// A longer value is cut even where there is no terminal to fit.
const WIDEST: usize = 100_000;

/// The rows of one result that will be shown.
pub(crate) struct BoxTable {
    columns: Vec<BoxColumn>,
    head: Vec<Vec<String>>,
    tail: VecDeque<Vec<String>>,
    rows: usize,
    width: Option<usize>,
    null: String,
    /// Whether counts follow the box; tables that are no query's result need none.
    counted: bool,
}

struct BoxColumn {
    name: String,
    type_name: String,
    right: bool,
}

impl BoxTable {
    /// An empty table for a result of `schema`.
    pub(crate) fn new(schema: SchemaRef, style: &Style, width: Option<usize>) -> Self {
        let columns = schema.fields().iter().map(|field| BoxColumn {
            name: visible(field.name()),
            type_name: type_name(field),
            right: field.data_type().is_numeric() || field.data_type().is_null(),
        });
        Self {
            columns: columns.collect(),
            head: Vec::new(),
            tail: VecDeque::new(),
            rows: 0,
            width,
            null: style.null.clone(),
            counted: true,
        }
    }

    /// A table of texts that did not come from a query; the columns in `right` are right-aligned.
    pub(crate) fn of_texts(
        names: &[&str],
        right: &[bool],
        rows: Vec<Vec<String>>,
        width: Option<usize>,
    ) -> Self {
        let columns = names.iter().zip(right).map(|(name, &right)| BoxColumn {
            name: (*name).to_owned(),
            type_name: String::new(),
            right,
        });
        Self {
            columns: columns.collect(),
            rows: rows.len(),
            head: rows,
            tail: VecDeque::new(),
            width,
            null: String::new(),
            counted: false,
        }
    }

    fn push(&mut self, row: Vec<String>) {
        self.rows += 1;
        if self.head.len() < SHOWN_ROWS + DOT_ROWS {
            self.head.push(row);
            return;
        }
        self.tail.push_back(row);
        if self.tail.len() > SHOWN_ROWS / 2 {
            self.tail.pop_front();
        }
    }

    /// The rows to show, `None` where the dots go.
    fn shown(&self) -> Vec<Option<&Vec<String>>> {
        if self.tail.is_empty() {
            return self.head.iter().map(Some).collect();
        }
        let half = SHOWN_ROWS / 2;
        let last: Vec<&Vec<String>> = self.head.iter().skip(half).chain(&self.tail).collect();
        let bottom = last.iter().skip(last.len() - half).map(|row| Some(*row));
        self.head
            .iter()
            .take(half)
            .map(Some)
            .chain([None; DOT_ROWS])
            .chain(bottom)
            .collect()
    }

    /// The columns to show with their widths; `None` is the column of dots for those left out.
    fn layout(&self, shown: &[Option<&Vec<String>>]) -> Vec<Option<(usize, usize)>> {
        let mut widths: Vec<usize> = self
            .columns
            .iter()
            .map(|column| column.name.width().max(column.type_name.width()))
            .collect();
        for row in shown.iter().flatten() {
            for (width, text) in widths.iter_mut().zip(*row) {
                *width = text.width().max(*width).min(WIDEST);
            }
        }
        let Some(limit) = self.width else {
            return widths.into_iter().enumerate().map(Some).collect();
        };
        // Every column costs its width, two spaces and a bar; one more bar closes the box.
        let mut total: usize = widths.iter().map(|width| width + 3).sum::<usize>() + 1;
        while total > limit {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > NARROWEST) else {
                break;
            };
            let excess = (*widest - NARROWEST).min(total - limit).div_ceil(8).max(1);
            *widest -= excess;
            total -= excess;
        }
        let mut kept: Vec<Option<(usize, usize)>> =
            widths.into_iter().enumerate().map(Some).collect();
        let mut dots = 0;
        while total > limit && kept.len() > 3 {
            // With the dots in place, always drop their neighbour on the longer side.
            let middle = kept.len() / 2;
            if dots == 0 {
                if let Some((_, width)) = kept[middle] {
                    total = total + 1 - width;
                }
                kept[middle] = None;
                dots = middle;
                continue;
            }
            let victim = if dots > kept.len() - 1 - dots {
                dots - 1
            } else {
                dots + 1
            };
            if let Some((_, width)) = kept.remove(victim) {
                total -= width + 3;
            }
            dots = kept.iter().position(Option::is_none).unwrap_or(0);
        }
        kept
    }

    fn footer(&self, shown_rows: usize, shown_columns: usize, width: usize) -> Option<String> {
        let rows_hidden = shown_rows < self.rows;
        let columns_hidden = shown_columns < self.columns.len();
        let short = self.rows > 0 && self.rows < 10;
        if !rows_hidden && !columns_hidden && (short || !self.counted) {
            return None;
        }
        let plural = |count: usize, noun: &str| {
            format!(
                "{} {noun}{}",
                grouped(count),
                if count == 1 { "" } else { "s" }
            )
        };
        let mut left = plural(self.rows, "row");
        if rows_hidden {
            left.push_str(&format!(" ({shown_rows} shown)"));
        }
        if self.rows == 0 {
            return Some(format!("  {left}"));
        }
        let mut right = plural(self.columns.len(), "column");
        if columns_hidden {
            right.push_str(&format!(" ({shown_columns} shown)"));
        }
        let gap = width
            .saturating_sub(4 + left.width() + right.width())
            .max(2);
        Some(format!("  {left}{}{right}", " ".repeat(gap)))
    }
}

impl Printer for BoxTable {
    fn batch(&mut self, batch: &RecordBatch, _out: &mut dyn Write) -> Result<(), Failure> {
        // Rows that can only ever be hidden are counted, not rendered.
        let rows = batch.num_rows();
        let room = (SHOWN_ROWS + DOT_ROWS)
            .saturating_sub(self.head.len())
            .min(rows);
        let skip_to = rows.saturating_sub(SHOWN_ROWS / 2).max(room);
        for row in (0..room).chain(skip_to..rows) {
            let texts = texts(batch, row)?.into_iter();
            let texts = texts.map(|text| match text {
                Some(text) => visible(&text),
                None => self.null.clone(),
            });
            let texts = texts.collect();
            self.push(texts);
        }
        self.rows += skip_to - room;
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<(), Failure> {
        let shown = self.shown();
        let layout = self.layout(&shown);
        let bars: Vec<String> = layout
            .iter()
            .map(|slot| "─".repeat(slot.map_or(1, |(_, width)| width) + 2))
            .collect();
        let bar =
            |left: &str, middle: &str, right: &str| format!("{left}{}{right}", bars.join(middle));
        let line = |text: &dyn Fn(usize) -> String, side: &dyn Fn(usize) -> Side, gap: &str| {
            let cells = layout.iter().map(|slot| match slot {
                Some((column, width)) => {
                    format!(" {} ", placed(&text(*column), *width, side(*column)))
                }
                None => format!(" {gap} "),
            });
            format!("│{}│", cells.collect::<Vec<_>>().join("│"))
        };
        let aligned = |column: usize| match self.columns[column].right {
            true => Side::Right,
            false => Side::Left,
        };

        writeln!(out, "{}", bar("┌", "┬", "┐"))?;
        writeln!(
            out,
            "{}",
            line(
                &|column| self.columns[column].name.clone(),
                &|_| Side::Middle,
                "…"
            )
        )?;
        if self
            .columns
            .iter()
            .any(|column| !column.type_name.is_empty())
        {
            writeln!(
                out,
                "{}",
                line(
                    &|column| self.columns[column].type_name.clone(),
                    &|_| Side::Middle,
                    "…"
                )
            )?;
        }
        if self.rows > 0 {
            writeln!(out, "{}", bar("├", "┼", "┤"))?;
        }
        for row in &shown {
            let text = |column: usize| match row {
                Some(row) => row.get(column).cloned().unwrap_or_default(),
                None => "·".to_owned(),
            };
            writeln!(
                out,
                "{}",
                line(&text, &aligned, if row.is_some() { "…" } else { "·" })
            )?;
        }
        writeln!(out, "{}", bar("└", "┴", "┘"))?;
        let shown_columns = layout.iter().flatten().count();
        let width = bars.iter().map(|bar| bar.width()).sum::<usize>() + layout.len() + 1;
        if let Some(footer) = self.footer(shown.iter().flatten().count(), shown_columns, width) {
            writeln!(out, "{footer}")?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Middle,
    Right,
}

/// `text` in exactly `width` columns, cut with an ellipsis when it is longer.
fn placed(text: &str, width: usize, side: Side) -> String {
    let mut shown = text.to_owned();
    if shown.width() > width {
        shown.clear();
        for character in text.chars() {
            if shown.width() + character.width().unwrap_or(0) >= width {
                break;
            }
            shown.push(character);
        }
        shown.push('…');
    }
    let space = width.saturating_sub(shown.width());
    let before = match side {
        Side::Left => 0,
        Side::Middle => space / 2,
        Side::Right => space,
    };
    format!(
        "{}{shown}{}",
        " ".repeat(before),
        " ".repeat(space - before)
    )
}

/// Control characters as escapes: a value must not move the cursor or break the box.
pub(super) fn visible(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return text.to_owned();
    }
    text.chars()
        .map(|character| {
            if character.is_control() {
                character.escape_default().to_string()
            } else {
                character.to_string()
            }
        })
        .collect()
}

fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        // Counts below 10,000 read better without a comma.
        if index > 0 && digits.len() > 4 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// DuckDB's short names for integers, its SQL names in lower case for the rest.
fn type_name(field: &Field) -> String {
    let name = match field.data_type() {
        // DuckDB gives a bare NULL the type INTEGER.
        DataType::Null => "int32",
        DataType::Int8 => "int8",
        DataType::Int16 => "int16",
        DataType::Int32 => "int32",
        DataType::Int64 => "int64",
        DataType::UInt8 => "uint8",
        DataType::UInt16 => "uint16",
        DataType::UInt32 => "uint32",
        DataType::UInt64 => "uint64",
        ty if *ty == hushdb::HUGEINT => "int128",
        ty if *ty == hushdb::UHUGEINT => "uint128",
        _ => return hushdb::display_type(field).to_lowercase(),
    };
    name.to_owned()
}
