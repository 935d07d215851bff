//! Windows that a WINDOW clause names, put in the places of their names. One may go on where another ends: `v AS (w ROWS ...)`.

use super::excluded_rows::excluded;
use super::folded;
use crate::error::{Error, Result};
use crate::walk::visit_own_mut;
use sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, Query, Select, VisitorMut, WindowSpec,
    WindowType,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// The definitions of one SELECT, by name.
pub(super) struct NamedWindows<'a>(HashMap<String, &'a NamedWindowExpr>);

impl<'a> NamedWindows<'a> {
    fn of(definitions: &'a [NamedWindowDefinition]) -> Result<Self> {
        let mut named = HashMap::new();
        for NamedWindowDefinition(name, window) in definitions {
            if named.insert(folded(&name.value), window).is_some() {
                return Err(syntax(format!(
                    "window \"{}\" is already defined",
                    name.value
                )));
            }
        }
        Ok(Self(named))
    }

    /// What a name stands for. A window is built on as many others as there are, at most.
    fn find(&self, name: &Ident, depth: usize) -> Result<WindowSpec> {
        let window = self.0.get(&folded(&name.value));
        let window = window.filter(|_| depth <= self.0.len());
        match window {
            None => Err(syntax(format!("window \"{}\" does not exist", name.value))),
            Some(NamedWindowExpr::NamedWindow(other)) => self.find(other, depth + 1),
            Some(NamedWindowExpr::WindowSpec(window)) => self.complete(window.clone(), depth + 1),
        }
    }

    /// A window with what it takes from the one that it names.
    fn complete(&self, mut window: WindowSpec, depth: usize) -> Result<WindowSpec> {
        let Some(name) = window.window_name.take() else {
            return Ok(window);
        };
        let base = self.find(&name, depth)?;
        let marks = window
            .partition_by
            .extract_if(.., |by| excluded(by).is_some());
        let marks: Vec<Expr> = marks.collect();
        let refused = if base.window_frame.is_some() {
            format!(
                "cannot copy window \"{}\" because it has a frame clause",
                name.value
            )
        } else if !window.partition_by.is_empty() {
            format!(
                "Cannot override PARTITION BY clause of window \"{}\"",
                name.value
            )
        } else if !window.order_by.is_empty() && !base.order_by.is_empty() {
            format!(
                "Cannot override ORDER BY clause of window \"{}\"",
                name.value
            )
        } else {
            window.partition_by = base.partition_by;
            window.partition_by.extend(marks);
            if window.order_by.is_empty() {
                window.order_by = base.order_by;
            }
            return Ok(window);
        };
        Err(syntax(refused))
    }
}

fn syntax(message: String) -> Error {
    Error::parser(message)
}

/// Puts windows in the places of their names, in what a SELECT lists and in QUALIFY.
pub(super) fn resolve_in_select(select: &mut Select) -> Result<()> {
    let definitions = std::mem::take(&mut select.named_window);
    let mut names = Names(NamedWindows::of(&definitions)?);
    super::walk::finish(visit_own_mut(&mut select.projection, &mut names))?;
    super::walk::finish(visit_own_mut(&mut select.qualify, &mut names))
}

/// The same in a query's ORDER BY, which sees the windows of its SELECT.
pub(super) fn resolve_in_order(query: &mut Query) -> Result<()> {
    let Some(select) = query.body.as_select() else {
        return Ok(());
    };
    let mut names = Names(NamedWindows::of(&select.named_window)?);
    super::walk::finish(visit_own_mut(&mut query.order_by, &mut names))
}

/// Puts the meaning of windows' names in; queries inside have windows of their own.
struct Names<'a>(NamedWindows<'a>);

impl Names<'_> {
    fn resolve(&self, window: &mut WindowType) -> Result<()> {
        let spec = match window {
            WindowType::NamedWindow(name) => self.0.find(name, 0)?,
            WindowType::WindowSpec(spec) if spec.window_name.is_some() => {
                self.0.complete(spec.clone(), 0)?
            }
            WindowType::WindowSpec(_) => return Ok(()),
        };
        *window = WindowType::WindowSpec(spec);
        Ok(())
    }
}

impl VisitorMut for Names<'_> {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(function) = expr
            && let Some(window) = &mut function.over
            && let Err(error) = self.resolve(window)
        {
            return ControlFlow::Break(Box::new(error));
        }
        ControlFlow::Continue(())
    }
}
