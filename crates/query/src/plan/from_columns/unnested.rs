//! `unnest(x, recursive := true)` and `max_depth := n` in a select list, and `unnest(x)` of a struct: how many lists lie in each other, and
//! which fields the structs in them have, the type of `x` says.
//!
//! What must hold: lists come first, then structs; a list in a struct stays.

use super::call;
use super::walk::Walker;
use datafusion::arrow::datatypes::DataType;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, Ident, Select, SelectItem, Value,
};
use hushdb_sql::type_names::{is_row, is_struct};
use hushdb_sql::walk::visit_expressions;
use hushdb_sql::{Error, Result, parse_expr, sql_text};
use std::ops::ControlFlow;

/// What is taken apart, and how many levels of it.
pub(super) struct Unnested {
    of: Expr,
    depth: usize,
    /// Whether it says how deep.
    is_said: bool,
}

impl Unnested {
    /// An `unnest` of what may be a struct; `None` for all else.
    pub(super) fn of(expr: &Expr) -> Result<Option<Self>> {
        let Some((
            name,
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(of)),
                options @ ..,
            ],
        )) = call(expr)
        else {
            return Ok(None);
        };
        let is_unnest = |expr: &Expr| match call(expr) {
            Some((name, _)) if name.eq_ignore_ascii_case("unnest") => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let is_left = matches!(of, Expr::Array(_)) || visit_expressions(of, is_unnest).is_break();
        if !name.eq_ignore_ascii_case("unnest") || is_left && options.is_empty() {
            return Ok(None);
        }
        let (mut is_recursive, mut most) = (false, None);
        for option in options {
            match named(option) {
                Some((name, Value::Boolean(value))) if name == "recursive" => is_recursive = *value,
                Some((name, Value::Number(depth, _))) if name == "max_depth" => {
                    most = Some(depth.parse::<usize>().map_err(|_| wrong())?);
                }
                _ => return Err(wrong()),
            }
        }
        let depth = match (most, is_recursive) {
            (Some(0), _) => return Err(Error::binder("UNNEST cannot have a max depth of 0")),
            (Some(depth), _) => depth,
            (None, true) => usize::MAX,
            (None, false) => 1,
        };
        Ok(Some(Self {
            of: of.clone(),
            depth,
            is_said: !options.is_empty(),
        }))
    }
}

fn wrong() -> Error {
    Error::binder("unnest takes a value, recursive := true or false, and max_depth := a number")
}

/// The name of an option, in lower case, and its value.
fn named(option: &FunctionArg) -> Option<(String, &Value)> {
    let (name, arg) = match option {
        FunctionArg::Named { name, arg, .. } => (name, arg),
        FunctionArg::ExprNamed {
            name: Expr::Identifier(name),
            arg,
            ..
        } => (name, arg),
        _ => return None,
    };
    match arg {
        FunctionArgExpr::Expr(Expr::Value(value)) => {
            Some((name.value.to_ascii_lowercase(), &value.value))
        }
        _ => None,
    }
}

impl Walker<'_> {
    /// The items of a select list that an `unnest` becomes; `None` where the planner does what is meant.
    pub(super) fn unnested(
        &mut self,
        select: &Select,
        unnest: Unnested,
        alias: Option<&Ident>,
    ) -> Result<Option<Vec<SelectItem>>> {
        let item = SelectItem::UnnamedExpr(unnest.of.clone());
        let found = self.columns(select, item);
        if !unnest.is_said {
            // What is no value of the FROM alone, and what would have another value each time.
            let Ok([column]) = found.as_deref() else {
                return Ok(None);
            };
            if !is_struct(&column.data_type) || column.is_volatile {
                return Ok(None);
            }
            return fields(&sql_text(&unnest.of), &column.data_type, 1).map(Some);
        }
        let found = found?.into_iter().next();
        let mut ty = found.map_or(DataType::Null, |column| column.data_type);
        let mut text = sql_text(&unnest.of);
        let mut levels = 0;
        while let DataType::List(item) = &ty
            && levels < unnest.depth
        {
            if levels > 0 {
                text = format!("flatten({text})");
            }
            ty = item.data_type().clone();
            levels += 1;
        }
        let left = unnest.depth - levels;
        if levels > 0 {
            text = format!("unnest({text})");
        }
        if left > 0 && is_struct(&ty) {
            return fields(&text, &ty, left).map(Some);
        }
        if levels == 0 {
            text = format!("unnest({text})");
        }
        let expr = parse_expr(&text)?;
        Ok(Some(vec![match alias {
            Some(alias) => SelectItem::ExprWithAlias {
                expr,
                alias: alias.clone(),
            },
            None => SelectItem::UnnamedExpr(expr),
        }]))
    }
}

/// An item for each field of structs, and of those in them.
fn fields(text: &str, ty: &DataType, depth: usize) -> Result<Vec<SelectItem>> {
    let DataType::Struct(all) = ty else {
        return Ok(vec![]);
    };
    let mut items = vec![];
    let is_row = is_row(all);
    for (place, field) in (1..).zip(all) {
        let name = field.name().replace('\'', "''");
        let value = format!("struct_extract({text}, '{name}')");
        match depth > 1 && is_struct(field.data_type()) {
            true => items.extend(fields(&value, field.data_type(), depth - 1)?),
            false => items.push(SelectItem::ExprWithAlias {
                expr: parse_expr(&value)?,
                alias: match is_row {
                    true => Ident::new(format!("element{place}")),
                    false => Ident::with_quote('"', field.name()),
                },
            }),
        }
    }
    Ok(items)
}
