//! Calls of macros whose parameters have types: which overload is meant is known when the types of the arguments are.
//!
//! Such a call is put aside as a call of a function of ours, which whoever plans the statement asks for the types of its arguments; then the
//! body takes its place, with arguments that are cast. The function's own type has [`TYPED_CALL`] in it, so that what is made of it waits, too.

use crate::balance::bring_into_shape;
use crate::calls::all_unnamed;
use crate::error::{Error, Result};
use crate::macro_arguments::{Arguments, Places, ambiguous, unsupported};
use crate::macro_calls::{MacroCalls, TYPED_CALL};
use crate::user_macros::{Expander, FindMacro};
use crate::walk::{finish, visit_mut};
use arrow::datatypes::{DataType, FieldRef};
use hushdb_storage::{ColumnType, Macro, MacroOverload};
use sqlparser::ast::{
    Expr, Function, FunctionArguments, SelectItem, SetExpr, TableFactor, VisitMut, VisitorMut,
};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What it costs to take an argument as it is.
const UNTYPED: u64 = 1_000_000;

/// Types of the arguments of calls that were put aside, by their numbers: of each place that one has, as COLUMNS gives it several.
pub type ArgumentTypes = HashMap<usize, Vec<Vec<FieldRef>>>;

/// What it costs to bring an argument to a type; `None` where that takes a CAST.
pub type CastCost<'a> = dyn Fn(&FieldRef, &ColumnType) -> Option<u32> + 'a;

/// Whether a type has that of a call in it, whose macro is not known yet.
fn is_open(ty: &DataType) -> bool {
    match ty {
        DataType::Struct(fields) => {
            let mut fields = fields.iter();
            fields.any(|field| field.name() == TYPED_CALL || is_open(field.data_type()))
        }
        DataType::List(item) | DataType::Map(item, _) => is_open(item.data_type()),
        _ => false,
    }
}

impl MacroCalls {
    /// Puts bodies in the places of calls whose arguments have known types; whether there were any.
    ///
    /// # Errors
    /// `Binder` where no overload takes these types, or several as well, and as [`crate::expand_macros`].
    pub fn put_in(
        &mut self,
        parsed: &mut impl VisitMut,
        find: &FindMacro<'_>,
        types: &ArgumentTypes,
        cost: &CastCost<'_>,
    ) -> Result<bool> {
        let mut bodies = Bodies {
            find,
            types,
            cost,
            done: vec![],
            calls: self,
        };
        finish(visit_mut(parsed, &mut bodies))?;
        let done = bodies.done;
        self.waiting.retain(|number, _| !done.contains(number));
        bring_into_shape(parsed)?;
        Ok(!done.is_empty())
    }
}

/// The number of a call that was put aside, and its arguments.
fn number_of(function: &Function) -> Option<(usize, Vec<Expr>)> {
    let [part] = &function.name.0[..] else {
        return None;
    };
    let number = part.as_ident()?.value.strip_prefix(TYPED_CALL)?;
    match &function.args {
        FunctionArguments::List(list) => Some((number.parse().ok()?, all_unnamed(&list.args)?)),
        FunctionArguments::None | FunctionArguments::Subquery(_) => None,
    }
}

/// The call of a table macro that a query in FROM stands for.
fn table_call(factor: &TableFactor) -> Option<(usize, Vec<Expr>)> {
    let TableFactor::Derived { subquery, .. } = factor else {
        return None;
    };
    let SetExpr::Select(select) = subquery.body.as_ref() else {
        return None;
    };
    match &select.projection[..] {
        [SelectItem::UnnamedExpr(Expr::Function(function))] => number_of(function),
        _ => None,
    }
}

struct Bodies<'a> {
    find: &'a FindMacro<'a>,
    types: &'a ArgumentTypes,
    cost: &'a CastCost<'a>,
    /// Numbers of the calls that are none any more.
    done: Vec<usize>,
    calls: &'a mut MacroCalls,
}

/// An overload with the values of its parameters, how many macros are around it, and its macro.
type Body = (Arc<Macro>, MacroOverload, HashMap<String, Expr>, usize);

impl VisitorMut for Bodies<'_> {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let Some((number, args)) = number_of(function) else {
            return ControlFlow::Continue(());
        };
        let put_in = self.body(number, &args, false).and_then(|body| {
            if let Some((found, overload, values, level)) = body {
                *expr = self.expander(level).expr(&found, &overload, values)?;
            }
            Ok(())
        });
        flow(put_in)
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Box<Error>> {
        let Some((number, args)) = table_call(factor) else {
            return ControlFlow::Continue(());
        };
        let put_in = self.body(number, &args, true).and_then(|body| {
            if let Some((found, overload, values, level)) = body {
                let mut expander = self.expander(level);
                *factor = expander.query(&found, &overload, values, factor)?;
            }
            Ok(())
        });
        flow(put_in)
    }
}

fn flow(result: Result<()>) -> ControlFlow<Box<Error>> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl Bodies<'_> {
    fn expander(&mut self, level: usize) -> Expander<'_> {
        Expander {
            find: self.find,
            level,
            calls: self.calls,
        }
    }

    /// What a call stands for, if the types of its arguments are known.
    fn body(&mut self, number: usize, args: &[Expr], is_table: bool) -> Result<Option<Body>> {
        let (Some(waiting), Some(types)) =
            (self.calls.waiting.get(&number), self.types.get(&number))
        else {
            return Ok(None);
        };
        let is_known = |field: &FieldRef| !is_open(field.data_type());
        if waiting.is_table != is_table || !types.iter().flatten().all(is_known) {
            return Ok(None);
        }
        let given = Arguments {
            names: waiting.names.clone(),
            values: args.iter().collect(),
        };
        let found = Arc::clone(&waiting.found);
        let mut chosen: Option<(&MacroOverload, Places)> = None;
        for types in types {
            let one = cheapest(&found, &given, types, self.cost)?;
            if chosen.is_some_and(|(other, _)| other != one.0) {
                return Err(Error::unsupported(format!(
                    "columns of COLUMNS of types for which macro {} has several overloads: name the columns one by one",
                    found.name
                )));
            }
            chosen = Some(one);
        }
        let Some((overload, places)) = chosen else {
            return Ok(None);
        };
        self.done.push(number);
        let values = given.values(overload, &places)?;
        let level = waiting.level;
        Ok(Some((Arc::clone(&found), overload.clone(), values, level)))
    }
}

/// The overload that takes arguments of these types for the least.
fn cheapest<'m>(
    found: &'m Macro,
    given: &Arguments<'_>,
    types: &[FieldRef],
    cost: &CastCost<'_>,
) -> Result<(&'m MacroOverload, Places)> {
    let costs = given.takers(found)?.into_iter().filter_map(|taker| {
        let (overload, places) = &taker;
        let parameters = overload.parameters.iter().zip(places);
        let costs = parameters.filter_map(|(parameter, place)| {
            let field = types.get((*place)?)?;
            Some(match &parameter.ty {
                Some(ty) => cost(field, ty).map(u64::from),
                None => Some(UNTYPED),
            })
        });
        let sum: Option<u64> = costs.sum();
        Some((sum?, taker))
    });
    let costs: Vec<(u64, (&MacroOverload, Places))> = costs.collect();
    let least = costs.iter().map(|(cost, _)| *cost).min();
    let mut best = costs.into_iter().filter(|(cost, _)| Some(*cost) == least);
    match (best.next(), best.next()) {
        (Some((_, taker)), None) => Ok(taker),
        (None, _) => Err(unsupported(found)),
        (Some(_), Some(_)) => Err(ambiguous(found, ", and/or add explicit type casts.")),
    }
}
