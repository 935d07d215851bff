//! `Report`: figures over subjects, as a table for people and as JSON.

use std::io::Write;

use serde_json::{Map, Value, json};

use crate::failure::Result;
use crate::samples::Samples;

/// What was measured, under which conditions.
pub(crate) struct Report {
    name: &'static str,
    conditions: Value,
    subjects: Vec<&'static str>,
    /// Pairs of subjects whose quotient is shown: over, under.
    ratios: Vec<(usize, usize)>,
    figures: Vec<Figure>,
}

/// One quantity, measured on every subject in turn.
struct Figure {
    name: String,
    unit: &'static str,
    detail: bool,
    samples: Vec<Samples>,
}

impl Report {
    /// An empty report over `subjects`; each of `ratios` is a pair of their indices, over and under.
    pub(crate) fn new(
        name: &'static str,
        conditions: Value,
        subjects: Vec<&'static str>,
        ratios: Vec<(usize, usize)>,
    ) -> Self {
        Self {
            name,
            conditions,
            subjects,
            ratios,
            figures: Vec::new(),
        }
    }

    /// Adds a figure: samples in the order of the subjects.
    pub(crate) fn add(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        samples: Vec<Samples>,
    ) {
        self.push(name.into(), unit, false, samples);
    }

    /// Adds a figure that is part of another one.
    pub(crate) fn add_detail(
        &mut self,
        name: impl Into<String>,
        unit: &'static str,
        samples: Vec<Samples>,
    ) {
        self.push(name.into(), unit, true, samples);
    }

    fn push(&mut self, name: String, unit: &'static str, detail: bool, samples: Vec<Samples>) {
        self.figures.push(Figure {
            name,
            unit,
            detail,
            samples,
        });
    }

    /// Prints the table to standard output: medians, then ratios with the spread of their pairs.
    pub(crate) fn print(&self) -> Result<()> {
        let mut header = vec![self.name.to_owned(), "unit".to_owned()];
        header.extend(self.subjects.iter().map(|subject| (*subject).to_owned()));
        header.extend(self.ratios.iter().map(|ratio| self.ratio_name(*ratio)));
        let mut rows = vec![header];
        for figure in &self.figures {
            let indent = if figure.detail { "  " } else { "" };
            let mut row = vec![format!("{indent}{}", figure.name), figure.unit.to_owned()];
            row.extend(figure.samples.iter().map(|samples| shown(samples.median())));
            row.extend(self.ratios.iter().map(|&(over, under)| {
                let pairs = figure.samples[over].pairwise(&figure.samples[under]);
                let median = pairs.median();
                if median.is_nan() {
                    String::new()
                } else {
                    format!("{median:.3} ±{:.3}", pairs.spread() * median / 2.0)
                }
            }));
            rows.push(row);
        }
        let width = |column: usize| {
            rows.iter()
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        };
        let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
        let mut output = std::io::stdout().lock();
        writeln!(output, "\n{}", self.conditions)?;
        for row in &rows {
            let cells = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| match column {
                    0 | 1 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                });
            writeln!(
                output,
                "{}",
                cells.collect::<Vec<_>>().join("  ").trim_end()
            )?;
        }
        Ok(output.flush()?)
    }

    /// Everything: conditions, every value, medians, ratios and their spread.
    pub(crate) fn to_json(&self) -> Value {
        let figures = self.figures.iter().map(|figure| {
            let samples = self.subjects.iter().zip(&figure.samples);
            let ratios = self.ratios.iter().map(|&(over, under)| {
                let pairs = figure.samples[over].pairwise(&figure.samples[under]);
                (self.ratio_name((over, under)), pairs.to_json())
            });
            json!({
                "figure": figure.name,
                "unit": figure.unit,
                "subjects": samples.map(|(name, samples)| ((*name).to_owned(), samples.to_json())).collect::<Map<_, _>>(),
                "ratios": ratios.collect::<Map<_, _>>(),
            })
        });
        json!({"report": self.name, "conditions": self.conditions, "figures": figures.collect::<Vec<_>>()})
    }

    fn ratio_name(&self, (over, under): (usize, usize)) -> String {
        format!("{}/{}", self.subjects[over], self.subjects[under])
    }
}

fn shown(value: f64) -> String {
    match value {
        value if value.is_nan() => String::new(),
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}
