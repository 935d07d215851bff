//! Macros that users make: calls of them become their bodies, with arguments where parameters stand, before a statement is planned.
//!
//! What must hold: texts of macros come from files, which may be anybody's. A macro in a macro in a macro ends at [`MAX_LEVELS`], and all
//! that a statement becomes has [`MAX_WEIGHT`] parts at most and is no deeper than what is parsed.

use crate::balance::bring_into_shape;
use crate::chains::unchain;
use crate::error::{Error, Result};
use crate::macro_arguments::{Arguments, has_columns};
use crate::macro_calls::MacroCalls;
use crate::names::{folded, name_parts, quoted};
use crate::own_macros::table_macro;
use crate::parser::name_tables;
use crate::reading::{parse_expr, parse_query};
use crate::walk::finish;
use crate::walk::{visit, visit_expressions, visit_mut};
use hushdb_storage::{Macro, MacroOverload};
use sqlparser::ast::{
    self, Expr, Function, FunctionArg, FunctionArguments, Ident, ObjectName, Query, Select,
    SelectItem, SetExpr, TableFactor, Value, Visit, VisitMut, Visitor, VisitorMut,
};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Macros may use macros; this many levels and no more.
const MAX_LEVELS: usize = 64;
/// Parts of all that macros of a statement become; sixteen characters of a text are one.
const MAX_WEIGHT: usize = 100_000;

/// Finds a macro by the parts of its name: of expressions, or of tables.
pub type FindMacro<'a> = dyn Fn(&[String], bool) -> Option<Arc<Macro>> + 'a;

/// Puts the bodies of macros in the places of their calls; those of macros whose parameters have types are left to [`MacroCalls::put_in`].
///
/// # Errors
/// `Binder` for arguments that no overload takes, and for a statement that becomes too large or does not end.
pub fn expand_macros(
    parsed: &mut impl VisitMut,
    find: &FindMacro<'_>,
    calls: &mut MacroCalls,
) -> Result<()> {
    let mut expander = Expander {
        find,
        level: 0,
        calls,
    };
    finish(visit_mut(parsed, &mut expander))?;
    match calls.weight {
        0 => Ok(()),
        _ => bring_into_shape(parsed),
    }
}

pub(crate) struct Expander<'a> {
    pub(crate) find: &'a FindMacro<'a>,
    /// How many macros are around.
    pub(crate) level: usize,
    /// Of the whole statement.
    pub(crate) calls: &'a mut MacroCalls,
}

type Flow = ControlFlow<Box<Error>>;

fn flow(result: Result<()>) -> Flow {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl VisitorMut for Expander<'_> {
    type Break = Box<Error>;

    fn pre_visit_select(&mut self, select: &mut Select) -> Flow {
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && self.has_call(expr)
            {
                let alias = Ident::with_quote('"', expr.to_string());
                let expr = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> Flow {
        if let Expr::Function(function) = expr
            && let Some(found) = self.found(&function.name, false)
        {
            let body = self.called(&found, function);
            return flow(body.map(|body| *expr = body));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> Flow {
        let TableFactor::Table {
            name,
            args: Some(args),
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        match self.found(name, true) {
            None if self.level == 0 => flow(name_tables(factor)),
            None => ControlFlow::Continue(()),
            Some(found) => {
                let table = self.table(&found, &args.args.clone(), factor);
                flow(table.map(|table| *factor = table))
            }
        }
    }
}

impl Expander<'_> {
    fn found(&self, name: &ObjectName, is_table: bool) -> Option<Arc<Macro>> {
        let parts = name_parts(name).ok()?;
        let own = || is_table.then(|| table_macro(&parts)).flatten();
        (self.find)(&parts, is_table).or_else(own)
    }

    fn has_call(&self, expr: &Expr) -> bool {
        let found = visit_expressions(expr, |expr| match expr {
            Expr::Function(function) if self.found(&function.name, false).is_some() => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        });
        found.is_break()
    }

    /// What a call of a macro stands for.
    fn called(&mut self, found: &Arc<Macro>, function: &Function) -> Result<Expr> {
        let plain = function.over.is_none()
            && function.filter.is_none()
            && function.within_group.is_empty()
            && function.null_treatment.is_none();
        let args = match &function.args {
            FunctionArguments::List(list)
                if plain && list.clauses.is_empty() && list.duplicate_treatment.is_none() =>
            {
                &list.args
            }
            _ => {
                return Err(Error::binder(format!(
                    "Macro {} takes arguments alone: no OVER, FILTER, DISTINCT or ORDER BY",
                    found.name
                )));
            }
        };
        let given = Arguments::read(found, args)?;
        if found.has_types() {
            given.takers(found)?;
            return Ok(self.calls.put_aside(found, given, self.level, false));
        }
        let (overload, places) = given.taker(found)?;
        self.expr(found, overload, given.values(overload, &places)?)
    }

    /// What an overload of a macro is with these values.
    pub(crate) fn expr(
        &mut self,
        found: &Macro,
        overload: &MacroOverload,
        values: HashMap<String, Expr>,
    ) -> Result<Expr> {
        let mut body = self.body(found, overload, parse_expr(&overload.sql)?)?;
        self.put_in(&mut body, values)?;
        Ok(Expr::Nested(Box::new(body)))
    }

    /// What a call of a table macro stands for.
    fn table(
        &mut self,
        found: &Arc<Macro>,
        args: &[FunctionArg],
        factor: &TableFactor,
    ) -> Result<TableFactor> {
        let given = Arguments::read(found, args)?;
        if found.has_types() {
            given.takers(found)?;
            let has_columns = given.has_columns();
            let call = self.calls.put_aside(found, given, self.level, true);
            let query = with_item(parse_query("SELECT 1")?, call);
            return derived_from(&found.name, query, has_columns, factor);
        }
        let (overload, places) = given.taker(found)?;
        let values = given.values(overload, &places)?;
        self.query(found, overload, values, factor)
    }

    /// What an overload of a table macro is with these values, under the name that its call has.
    pub(crate) fn query(
        &mut self,
        found: &Macro,
        overload: &MacroOverload,
        values: HashMap<String, Expr>,
        factor: &TableFactor,
    ) -> Result<TableFactor> {
        let mut query = self.body(found, overload, parse_query(&overload.sql)?)?;
        let has_columns = values.values().any(has_columns);
        self.put_in(query.as_mut(), values)?;
        if self.level == 0 {
            name_tables(query.as_mut())?;
        }
        derived_from(&found.name, query, has_columns, factor)
    }

    /// The body of a macro without macros in it.
    fn body<T: VisitMut + Visit>(
        &mut self,
        found: &Macro,
        overload: &MacroOverload,
        mut body: T,
    ) -> Result<T> {
        if self.level >= MAX_LEVELS {
            return Err(Error::binder(format!(
                "infinite recursion in macro {}: macros are put into each other {MAX_LEVELS} times at most",
                found.name
            )));
        }
        self.weigh(1 + overload.sql.len() / 16)?;
        unchain(&mut body, &|parts| (self.find)(parts, false).is_some())?;
        let mut within = Expander {
            find: self.find,
            level: self.level + 1,
            calls: self.calls,
        };
        finish(visit_mut(&mut body, &mut within))?;
        Ok(body)
    }

    fn put_in<T: VisitMut + Visit>(
        &mut self,
        body: &mut T,
        values: HashMap<String, Expr>,
    ) -> Result<()> {
        refuse_capture(body, &values)?;
        let weights = values
            .iter()
            .map(|(name, value)| (name.clone(), weight(value)));
        let mut puts = PutIn {
            weights: weights.collect(),
            values,
            weight: 0,
            most: MAX_WEIGHT.saturating_sub(self.calls.weight),
        };
        if visit_mut(body, &mut puts).is_break() {
            return Err(too_large());
        }
        self.weigh(weight(body))?;
        bring_into_shape(body)
    }

    fn weigh(&mut self, more: usize) -> Result<()> {
        self.calls.weight = self.calls.weight.saturating_add(more);
        match self.calls.weight > MAX_WEIGHT {
            true => Err(too_large()),
            false => Ok(()),
        }
    }
}

/// # Errors
/// `Unsupported` when a name in an argument would become that of a parameter of a lambda in the body.
fn refuse_capture(body: &impl Visit, values: &HashMap<String, Expr>) -> Result<()> {
    let mut names = HashSet::new();
    let _ = visit_expressions(body, |expr| {
        if let Expr::Lambda(lambda) = expr {
            names.extend(lambda.params.iter().map(|param| folded(&param.name.value)));
        }
        ControlFlow::<()>::Continue(())
    });
    let mut values = values.values();
    let is_captured = !names.is_empty()
        && values.any(|value| {
            let found = visit_expressions(value, |expr| match expr {
                Expr::Identifier(name) if names.contains(&folded(&name.value)) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            });
            found.is_break()
        });
    match is_captured {
        true => Err(Error::unsupported(
            "an argument of a macro has a name that a lambda in the macro has for its parameter: give the argument through a subquery under another name",
        )),
        false => Ok(()),
    }
}

fn too_large() -> Error {
    Error::binder(format!(
        "the statement is too large to be planned: with its macros put in wherever they are called it has more than {MAX_WEIGHT} parts"
    ))
}

/// The parts of a tree, in which long texts are several.
fn weight(of: &impl Visit) -> usize {
    struct Weight(usize);
    impl Visitor for Weight {
        type Break = ();

        fn pre_visit_expr(&mut self, _: &Expr) -> ControlFlow<()> {
            self.0 += 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_value(&mut self, value: &ast::ValueWithSpan) -> ControlFlow<()> {
            if let Value::SingleQuotedString(text) | Value::Number(text, _) = &value.value {
                self.0 += text.len() / 16;
            }
            ControlFlow::Continue(())
        }
    }
    let mut weight = Weight(0);
    let _ = visit(of, &mut weight);
    weight.0
}

/// Puts arguments where parameters stand.
struct PutIn {
    /// By folded names.
    values: HashMap<String, Expr>,
    weights: HashMap<String, usize>,
    weight: usize,
    most: usize,
}

impl VisitorMut for PutIn {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Identifier(name) = expr else {
            return ControlFlow::Continue(());
        };
        let name = folded(&name.value);
        let Some(value) = self.values.get(&name) else {
            return ControlFlow::Continue(());
        };
        self.weight += self.weights.get(&name).copied().unwrap_or(1);
        if self.weight > self.most {
            return ControlFlow::Break(());
        }
        *expr = match value {
            Expr::Value(_)
            | Expr::Identifier(_)
            | Expr::CompoundIdentifier(_)
            | Expr::Nested(_) => value.clone(),
            value => Expr::Nested(Box::new(value.clone())),
        };
        ControlFlow::Continue(())
    }
}

/// A query in the place of a table, under the name that the table has there.
fn derived_from(
    name: &str,
    query: Box<Query>,
    has_columns: bool,
    place: &TableFactor,
) -> Result<TableFactor> {
    let mut table = derived(name)?;
    if let (
        TableFactor::Derived {
            lateral,
            subquery,
            alias,
            ..
        },
        TableFactor::Table { alias: given, .. } | TableFactor::Derived { alias: given, .. },
    ) = (&mut table, place)
    {
        (*lateral, *subquery) = (has_columns, query);
        if given.is_some() {
            alias.clone_from(given);
        }
    }
    Ok(table)
}

/// A query that selects one expression.
fn with_item(mut query: Box<Query>, item: Expr) -> Box<Query> {
    if let SetExpr::Select(select) = query.body.as_mut() {
        select.projection = vec![SelectItem::UnnamedExpr(item)];
    }
    query
}

/// A query in FROM under a name.
fn derived(name: &str) -> Result<TableFactor> {
    let query: Box<Query> = parse_query(&format!("SELECT 1 FROM (SELECT 1) AS {}", quoted(name)))?;
    let table = match *query.body {
        SetExpr::Select(mut select) => select.from.pop().map(|table| table.relation),
        _ => None,
    };
    table.ok_or_else(|| Error::internal("a query in FROM is read as something else"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushdb_storage::MacroParameter;

    fn one(name: &str, parameters: &[&str], sql: &str) -> Arc<Macro> {
        let parameters = parameters.iter().map(|name| MacroParameter {
            name: (*name).into(),
            ty: None,
            default: None,
        });
        Arc::new(Macro {
            name: name.into(),
            overloads: vec![MacroOverload {
                parameters: parameters.collect(),
                sql: sql.into(),
            }],
        })
    }

    fn expanded(text: &str, macros: &[Arc<Macro>]) -> Result<String> {
        let mut expr = parse_expr(text)?;
        let find = |parts: &[String], is_table: bool| {
            let name = parts.last()?;
            let found = macros.iter().find(|known| known.name == *name);
            found.filter(|_| !is_table).cloned()
        };
        expand_macros(&mut expr, &find, &mut MacroCalls::default())?;
        Ok(expr.to_string())
    }

    #[test]
    fn arguments_stand_where_parameters_were() {
        let macros = [
            one("f", &["a", "b"], "a * b"),
            one("g", &["a"], "f(a, a + 1)"),
        ];
        assert_eq!(expanded("f(1 + 2, x)", &macros).unwrap(), "((1 + 2) * x)");
        assert_eq!(expanded("g(a)", &macros).unwrap(), "((a * (a + 1)))");
        assert_eq!(expanded("f(b := 1, a := 2)", &macros).unwrap(), "(2 * 1)");
        // What an argument is called is no parameter.
        assert_eq!(expanded("f(b, a)", &macros).unwrap(), "(b * a)");
        assert!(expanded("f(1)", &macros).is_err());
        assert!(expanded("f(1, c := 2)", &macros).is_err());
    }

    #[test]
    fn a_macro_that_does_not_end_is_refused() {
        assert!(expanded("f(1)", &[one("f", &["a"], "f(a) + 1")]).is_err());
        let two = [one("f", &["a"], "g(a)"), one("g", &["a"], "f(a)")];
        assert!(expanded("g(1)", &two).is_err());
    }

    #[test]
    fn what_multiplies_is_refused_before_it_is_made() {
        let doubling = |of_nothing: bool| -> Vec<Arc<Macro>> {
            let names: Vec<String> = (0..60).map(|n| format!("f{n}")).collect();
            let next = names
                .iter()
                .zip(names.iter().skip(1))
                .map(|(before, name)| {
                    let text = match of_nothing {
                        true => format!("{before}({before}(a))"),
                        false => format!("{before}(a) + {before}(a)"),
                    };
                    one(name, &["a"], &text)
                });
            let body = if of_nothing { "1" } else { "a" };
            [one("f0", &["a"], body)].into_iter().chain(next).collect()
        };
        for of_nothing in [true, false] {
            assert!(expanded("f50(1)", &doubling(of_nothing)).is_err());
            assert!(expanded("f5(1)", &doubling(of_nothing)).is_ok());
        }
        let long = format!("'{}'", "x".repeat(1 << 20));
        let repeats = one(
            "f",
            &["a"],
            &vec!["a"; 1000].join(", ").replace("a, ", "a || "),
        );
        assert!(expanded(&format!("f({long})"), &[repeats]).is_err());
        let deep = one(
            "f",
            &["a"],
            &format!("{}a{}", "(".repeat(100), ")".repeat(100)),
        );
        let calls = format!("{}1{}", "f(".repeat(20), ")".repeat(20));
        assert!(expanded(&calls, &[deep]).is_err());
    }
}
