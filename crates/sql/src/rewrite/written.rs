//! Functions that are about their arguments as they are written: `alias(x)` and `switch(x, map {1: 'a'}, 'b')`.

use crate::calls::all_unnamed;
use crate::error::{Error, Result};
use crate::template::template;
use crate::value_names::within_brackets;
use sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArguments, Select, SelectItem, Value,
    helpers::attached_token::AttachedToken,
};
use std::collections::HashSet;

/// What a call of one of them stands for.
pub(super) fn replaced(expr: &Expr) -> Result<Option<Expr>> {
    let Expr::Function(function) = expr else {
        return Ok(None);
    };
    let Some(args) = plain_arguments(function) else {
        return Ok(None);
    };
    let called = function.name.to_string().to_ascii_lowercase();
    match (called.as_str(), args.as_slice()) {
        ("alias", [of]) => named(of, shown(of)).map(Some),
        ("switch", [Expr::Map(_), ..] | [_, _] | [_, _, _]) => chosen(&args).map(Some),
        _ => Ok(None),
    }
}

fn plain_arguments(function: &Function) -> Option<Vec<Expr>> {
    match &function.args {
        FunctionArguments::List(list)
            if function.over.is_none()
                && function.filter.is_none()
                && list.clauses.is_empty()
                && list.duplicate_treatment.is_none() =>
        {
            all_unnamed(&list.args)
        }
        _ => None,
    }
}

/// Calls of `alias` that have a name themselves, which is their value.
pub(super) fn name_items(select: &mut Select) -> Result<()> {
    for item in &mut select.projection {
        let SelectItem::ExprWithAlias { expr, alias } = item else {
            continue;
        };
        let Expr::Function(function) = &*expr else {
            continue;
        };
        if !function.name.to_string().eq_ignore_ascii_case("alias") {
            continue;
        }
        if let Some([of]) = plain_arguments(function).as_deref() {
            *expr = named(of, alias.value.clone())?;
        }
    }
    Ok(())
}

/// The name of an expression. It is there still, so that what it names is looked for.
fn named(of: &Expr, name: String) -> Result<Expr> {
    let name = Expr::value(Value::SingleQuotedString(name));
    template(
        "CASE WHEN false THEN CAST($1 AS VARCHAR) ELSE $2 END",
        &[of.clone(), name],
    )
}

fn shown(of: &Expr) -> String {
    match of {
        Expr::Identifier(name) => name.value.clone(),
        Expr::CompoundIdentifier(parts) => parts
            .last()
            .map(|name| name.value.clone())
            .unwrap_or_default(),
        Expr::Nested(inner) => shown(inner),
        Expr::Function(call) => within_brackets(call).map_or_else(|| of.to_string(), shown),
        Expr::BinaryOp { left, op, right } => format!("({} {op} {})", shown(left), shown(right)),
        other => other.to_string(),
    }
}

/// `CASE`, with a WHEN for each entry.
fn chosen(args: &[Expr]) -> Result<Expr> {
    let (operand, entries, otherwise) = match args {
        [Expr::Map(map)] => (None, map, None),
        [Expr::Map(map), otherwise] => (None, map, Some(otherwise)),
        [key, Expr::Map(map)] => (Some(key), map, None),
        [key, Expr::Map(map), otherwise] => (Some(key), map, Some(otherwise)),
        _ => {
            let what = "SWITCH expected a constant map for the cases";
            return Err(Error::binder(what));
        }
    };
    if entries.entries.is_empty() {
        return Err(Error::binder("No values provided for SWITCH expression"));
    }
    let is_null = |key: &Expr| matches!(key, Expr::Value(v) if v.value == Value::Null);
    let mut keys = HashSet::new();
    for entry in &entries.entries {
        if is_null(&entry.key) {
            return Err(Error::invalid("Map keys can not be NULL."));
        }
        if !keys.insert(&entry.key) {
            return Err(Error::invalid("Map keys must be unique."));
        }
    }
    let conditions = entries.entries.iter().map(|entry| CaseWhen {
        condition: entry.key.as_ref().clone(),
        result: entry.value.as_ref().clone(),
    });
    Ok(Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: operand.map(|key| Box::new(key.clone())),
        conditions: conditions.collect(),
        else_result: otherwise.map(|value| Box::new(value.clone())),
    })
}
