//! `*COLUMNS(...)` among arguments and in lists: each of the columns is one of them, as in `coalesce(*COLUMNS(*))`.

use super::walk::Walker;
use super::{Column, call};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArgOperator, FunctionArguments, Ident, Select,
    Visitor, VisitorMut,
};
use hushdb_sql::walk::{visit, visit_mut};
use hushdb_sql::{Result, UNPACKED};
use std::ops::ControlFlow;

/// The arguments of `*COLUMNS(...)`.
pub(super) fn arguments(expr: &Expr) -> Option<&[FunctionArg]> {
    match call(expr)? {
        (UNPACKED, args) => Some(args),
        _ => None,
    }
}

impl Walker<'_> {
    /// Writes all of them out, but for those that are no argument and in no list.
    pub(super) fn unpack(&mut self, select: &mut Select) -> Result<()> {
        let mut found = Found(vec![]);
        let _: ControlFlow<()> = visit(select, &mut found);
        if found.0.is_empty() {
            return Ok(());
        }
        let mut unpack = Unpack(vec![]);
        for args in found.0 {
            let chosen = self.chosen(select, &args)?.into_iter();
            let columns = chosen.map(|(column, _)| column).collect();
            unpack.0.push((args, columns));
        }
        let _: ControlFlow<()> = visit_mut(select, &mut unpack);
        Ok(())
    }
}

struct Found(Vec<Vec<FunctionArg>>);

impl Visitor for Found {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.0.extend(arguments(expr).map(<[FunctionArg]>::to_vec));
        ControlFlow::Continue(())
    }
}

/// The columns that arguments of COLUMNS stand for.
struct Unpack(Vec<(Vec<FunctionArg>, Vec<Column>)>);

impl Unpack {
    fn columns(&self, expr: &Expr) -> Option<&[Column]> {
        let args = arguments(expr)?;
        let mut known = self.0.iter();
        let (_, columns) = known.find(|(known, _)| known.as_slice() == args)?;
        Some(columns)
    }

    fn values(&self, values: &mut Vec<Expr>) {
        let given = std::mem::take(values).into_iter();
        let given = given.flat_map(|value| match self.columns(&value) {
            Some(columns) => columns.iter().map(Column::expr).collect(),
            None => vec![value],
        });
        values.extend(given);
    }

    fn arguments(&self, args: &mut Vec<FunctionArg>, are_named: bool) {
        let given = std::mem::take(args).into_iter();
        let given = given.flat_map(|arg| {
            let columns = match &arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => self.columns(expr),
                _ => None,
            };
            let Some(columns) = columns else {
                return vec![arg];
            };
            let each = columns.iter().map(|column| {
                let value = FunctionArgExpr::Expr(column.expr());
                match are_named {
                    true => FunctionArg::Named {
                        name: Ident::with_quote('"', &column.name),
                        arg: value,
                        operator: FunctionArgOperator::Assignment,
                    },
                    false => FunctionArg::Unnamed(value),
                }
            });
            each.collect()
        });
        args.extend(given);
    }
}

impl VisitorMut for Unpack {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) => {
                let called = function.name.to_string();
                if let FunctionArguments::List(list) = &mut function.args {
                    let are_named = called.eq_ignore_ascii_case("struct_pack");
                    self.arguments(&mut list.args, are_named);
                }
            }
            Expr::InList { list, .. } => self.values(list),
            Expr::Array(array) => self.values(&mut array.elem),
            Expr::Tuple(values) => self.values(values),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
