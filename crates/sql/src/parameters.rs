//! Parameters of prepared statements: `?`, `$1`, `$2`... and `$name`, which gets a number.
//!
//! What it refuses: parameters with names beside others.

use super::parser::{DatabaseChange, Statement};
use super::walk::finish;
use crate::error::{Error, Result};
use crate::names::folded;
use crate::walk::visit_mut;
use sqlparser::ast::{Expr, Value, VisitMut, VisitorMut};
use sqlparser::tokenizer::Location;
use std::ops::ControlFlow;

/// The highest number of a parameter, as in PostgreSQL.
const MOST_PARAMETERS: usize = 65_535;

/// What parameters a statement has.
#[derive(Default)]
pub struct Numbered {
    /// For each number up to the highest whether it is used.
    pub used: Vec<bool>,
    /// The names of all of them in lower case, if they have names.
    pub names: Vec<String>,
}

/// Gives every `?` and every name its number: `$1` to the first, and so on.
///
/// # Errors
/// `Unsupported` for parameters with names beside others.
pub fn number_parameters(statement: &mut Statement) -> Result<Numbered> {
    if has_its_own(statement) {
        return Ok(Numbered::default());
    }
    let mut marks = QuestionMarks::default();
    visit(statement, &mut marks)?;
    marks.0.sort();
    if marks.0.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Error::internal("two parameters stand at one place"));
    }
    let mut numbers = Numbers {
        marks: marks.0,
        found: Numbered::default(),
    };
    visit(statement, &mut numbers)?;
    Ok(numbers.found)
}

/// Whether the parameters in a statement are of one that it keeps: PREPARE takes no values.
fn has_its_own(statement: &Statement) -> bool {
    statement.command() == "PREPARE"
}

/// Puts values where a statement has `$1`, `$2`...
///
/// # Errors
/// `Binder` when a parameter has no value, or a value no parameter.
pub fn substitute_parameters(statement: &mut Statement, values: &[Expr]) -> Result<()> {
    if has_its_own(statement) && values.is_empty() {
        return Ok(());
    }
    let mut binder = Parameters::new(values);
    visit(statement, &mut binder)?;
    if binder.used.contains(&false) {
        return Err(Error::binder(format!(
            "{} values were given, and the prepared statement uses {}",
            values.len(),
            binder.used.iter().filter(|used| **used).count()
        )));
    }
    Ok(())
}

/// Puts expressions where a text of ours has `$1`, `$2`...
pub(super) fn substitute(text: &mut impl VisitMut, values: &[Expr]) -> Result<()> {
    finish(visit_mut(text, &mut Parameters::new(values)))
}

fn visit(
    statement: &mut Statement,
    visitor: &mut dyn VisitorMut<Break = Box<Error>>,
) -> Result<()> {
    match statement {
        Statement::Sql(statement) => finish(visit_mut(statement.as_mut(), visitor)),
        Statement::InsertByName(insert) => finish(visit_mut(insert.as_mut(), visitor)),
        Statement::Merge(merge) => merge.visit(visitor),
        Statement::Explain { statement, .. } => visit(statement, visitor),
        Statement::Attach { options, .. }
        | Statement::AlterDatabase {
            change:
                DatabaseChange::AddSlot(options)
                | DatabaseChange::Encrypt(options)
                | DatabaseChange::ChangeSlot { options, .. }
                | DatabaseChange::VerifySlot { options, .. },
            ..
        } => {
            let values = options
                .iter_mut()
                .filter_map(|option| option.value.as_mut());
            for value in values {
                finish(visit_mut(value, visitor))?;
            }
            Ok(())
        }
        Statement::AlterDatabase {
            change: DatabaseChange::Rekey(slots),
            ..
        } => {
            let options = slots.iter_mut().flat_map(|slot| slot.options_mut());
            for value in options.filter_map(|option| option.value.as_mut()) {
                finish(visit_mut(value, visitor))?;
            }
            Ok(())
        }
        // The others are no place for parameters.
        _ => Ok(()),
    }
}

fn parameter(expr: &mut Expr) -> Option<&mut String> {
    match expr {
        Expr::Value(value) => match &mut value.value {
            Value::Placeholder(name) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

fn place(expr: &Expr) -> Location {
    match expr {
        Expr::Value(value) => value.span.start,
        _ => Location::empty(),
    }
}

fn number(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse().ok().filter(|n| *n > 0)
}

/// Where the text has a `?`: they are numbered as they stand there, not as the tree has them (`OFFSET ? LIMIT ?`).
#[derive(Default)]
struct QuestionMarks(Vec<Location>);

impl VisitorMut for QuestionMarks {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Value(value) = expr
            && value.value == Value::Placeholder("?".into())
        {
            self.0.push(value.span.start);
        }
        ControlFlow::Continue(())
    }
}

struct Numbers {
    /// Places of each `?`, in the order of the text.
    marks: Vec<Location>,
    found: Numbered,
}

impl Numbers {
    /// The number of a name.
    fn named(&mut self, name: &str) -> Result<usize> {
        let names = &mut self.found.names;
        if names.len() < self.found.used.len() {
            return Err(mixed());
        }
        let name = folded(name.strip_prefix('$').unwrap_or(name));
        if !name.starts_with(|first: char| first.is_alphabetic() || first == '_') {
            return Err(Error::binder(format!(
                "${name} is no parameter: they are ?, $1, $2... or $name"
            )));
        }
        let known = names.iter().position(|known| *known == name);
        Ok(1 + known.unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        }))
    }
}

fn mixed() -> Error {
    Error::unsupported("Mixing named and positional parameters is not supported yet")
}

impl VisitorMut for Numbers {
    type Break = Box<Error>;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let at = place(expr);
        let Some(name) = parameter(expr) else {
            return ControlFlow::Continue(());
        };
        if name == "?" {
            let before = self.marks.partition_point(|mark| *mark < at);
            *name = format!("${}", before + 1);
        }
        let number = match number(name) {
            Some(_) if !self.found.names.is_empty() => {
                return ControlFlow::Break(Box::new(mixed()));
            }
            Some(number) => number,
            None => match self.named(&name.clone()) {
                Ok(number) => {
                    *name = format!("${number}");
                    number
                }
                Err(error) => return ControlFlow::Break(Box::new(error)),
            },
        };
        if number > MOST_PARAMETERS {
            return ControlFlow::Break(Box::new(Error::binder(format!(
                "{name} is out of range: a statement has {MOST_PARAMETERS} parameters at most"
            ))));
        }
        if self.found.used.len() < number {
            self.found.used.resize(number, false);
        }
        self.found.used[number - 1] = true;
        ControlFlow::Continue(())
    }
}

struct Parameters<'a> {
    values: &'a [Expr],
    used: Vec<bool>,
}

impl<'a> Parameters<'a> {
    fn new(values: &'a [Expr]) -> Self {
        Self {
            values,
            used: vec![false; values.len()],
        }
    }
}

impl VisitorMut for Parameters<'_> {
    type Break = Box<Error>;

    /// Afterwards, so that the parameters within what was put in are left alone: they are the statement's own.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Some(name) = parameter(expr) else {
            return ControlFlow::Continue(());
        };
        let at = number(name).map(|number| number - 1);
        match at.and_then(|at| Some((at, self.values.get(at)?))) {
            Some((at, given)) => {
                self.used[at] = true;
                *expr = given.clone();
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(Box::new(Error::binder(format!(
                "parameter {name} has no value; {} were given",
                self.values.len()
            )))),
        }
    }
}
