//! Arguments of a macro's call, and which of its overloads take them.

use crate::error::{Error, Result};
use crate::names::folded;
use crate::reading::parse_expr;
use crate::type_names::{cast_to, column_type_name};
use crate::walk::visit_expressions;
use hushdb_storage::{Macro, MacroOverload, MacroParameter};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What a call gives, in the order in which it does.
pub(crate) struct Arguments<'a> {
    /// Folded, where they are given by name.
    pub(crate) names: Vec<Option<String>>,
    pub(crate) values: Vec<&'a Expr>,
}

/// Which argument each parameter takes; `None` where its default stands for it.
pub(crate) type Places = Vec<Option<usize>>;

impl<'a> Arguments<'a> {
    /// The arguments of a call.
    ///
    /// # Errors
    /// `Binder` for what is no expression, and for arguments behind those that have names.
    pub(crate) fn read(found: &Macro, args: &'a [FunctionArg]) -> Result<Self> {
        let mut read = Self {
            names: vec![],
            values: vec![],
        };
        for arg in args {
            let (name, value) = match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value))
                    if read.names.iter().all(Option::is_none) =>
                {
                    (None, value)
                }
                FunctionArg::Named {
                    name,
                    arg: FunctionArgExpr::Expr(value),
                    ..
                }
                | FunctionArg::ExprNamed {
                    name: Expr::Identifier(name),
                    arg: FunctionArgExpr::Expr(value),
                    ..
                } => (Some(folded(&name.value)), value),
                _ => return Err(unsupported(found)),
            };
            read.names.push(name);
            read.values.push(value);
        }
        Ok(read)
    }

    /// Whether one of them names columns.
    pub(crate) fn has_columns(&self) -> bool {
        self.values.iter().any(|value| has_columns(value))
    }

    /// The overloads that take as many arguments of these names.
    ///
    /// # Errors
    /// `Binder` when there are none.
    pub(crate) fn takers<'m>(&self, found: &'m Macro) -> Result<Vec<(&'m MacroOverload, Places)>> {
        let all = found.overloads.iter();
        let takers = all.filter_map(|overload| Some((overload, self.places(overload)?)));
        let takers: Vec<(&MacroOverload, Places)> = takers.collect();
        match takers.is_empty() {
            true => Err(unsupported(found)),
            false => Ok(takers),
        }
    }

    /// The one overload that takes them, of a macro without types.
    ///
    /// # Errors
    /// `Binder` when there is none, or more.
    pub(crate) fn taker<'m>(&self, found: &'m Macro) -> Result<(&'m MacroOverload, Places)> {
        let mut takers = self.takers(found)?;
        match (takers.pop(), takers.is_empty()) {
            (Some(taker), true) => Ok(taker),
            _ => Err(ambiguous(found, "")),
        }
    }

    fn places(&self, overload: &MacroOverload) -> Option<Places> {
        let named = self.names.iter().filter(|name| name.is_some()).count();
        let positional = self.names.len() - named;
        if positional > overload.parameters.len() {
            return None;
        }
        let mut taken = 0;
        let places = overload.parameters.iter().enumerate().map(|(at, one)| {
            let name = folded(&one.name);
            let given = self.names.iter();
            let mut given = given.map(|known| known.as_deref() == Some(name.as_str()));
            match (at < positional, given.position(|is_it| is_it)) {
                (true, None) => Some(Some(at)),
                (false, Some(place)) => {
                    taken += 1;
                    Some(Some(place))
                }
                (false, None) => one.default.as_ref().map(|_| None),
                (true, Some(_)) => None,
            }
        });
        let places: Option<Places> = places.collect();
        places.filter(|_| taken == named)
    }

    /// What stands for an overload's parameters, by their folded names: brought to the types that they have.
    ///
    /// # Errors
    /// Of the parser, for a default.
    pub(crate) fn values(
        &self,
        overload: &MacroOverload,
        places: &Places,
    ) -> Result<HashMap<String, Expr>> {
        let parameters = overload.parameters.iter().zip(places);
        let values = parameters.map(|(parameter, place)| {
            let given = place.and_then(|place| self.values.get(place));
            let value = match (given, &parameter.default) {
                (Some(value), _) => Expr::clone(value),
                (None, Some(default)) => parse_expr(default)?,
                (None, None) => return Err(Error::internal("a parameter without a value")),
            };
            let value = match &parameter.ty {
                Some(ty) => cast_to(value, ty)?,
                None => value,
            };
            Ok((folded(&parameter.name), value))
        });
        values.collect()
    }
}

/// Whether an expression names columns.
pub(crate) fn has_columns(value: &Expr) -> bool {
    let found = visit_expressions(value, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// That no overload takes the arguments of a call.
pub(crate) fn unsupported(found: &Macro) -> Error {
    Error::binder(format!(
        "Macro {}() does not support the supplied arguments. You might need to add explicit type casts.\n{}",
        found.name,
        candidates(found)
    ))
}

/// That several overloads do; and what else helps than to name them.
pub(crate) fn ambiguous(found: &Macro, more: &str) -> Error {
    Error::binder(format!(
        "Macro {}() has multiple overloads that match the supplied arguments.\n\
         In order to select one, please supply all arguments by name{more}\n{}",
        found.name,
        candidates(found)
    ))
}

fn candidates(found: &Macro) -> String {
    let candidates = found.overloads.iter().map(|overload| {
        let parameters: Vec<String> = overload.parameters.iter().map(written).collect();
        format!("\t{}({})", found.name, parameters.join(", "))
    });
    let candidates: Vec<String> = candidates.collect();
    format!("Candidate macros:\n{}", candidates.join("\n"))
}

fn written(parameter: &MacroParameter) -> String {
    let ty = parameter.ty.as_ref().map(column_type_name);
    let ty = ty.map_or(String::new(), |ty| format!(" {ty}"));
    let default = parameter.default.as_ref();
    let default = default.map_or(String::new(), |default| format!(" := {default}"));
    format!("{}{ty}{default}", parameter.name)
}
