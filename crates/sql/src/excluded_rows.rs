//! Marks of windows whose frames EXCLUDE rows: what they are, and how the window was written.

use super::calls::unnamed;
use crate::marks::EXCLUDE;
use sqlparser::ast::{Expr, Function, FunctionArguments, Value, ValueWithSpan, WindowType};

/// What a mark in PARTITION BY says is excluded.
pub(super) fn excluded(expr: &Expr) -> Option<&str> {
    let Expr::Function(Function {
        name,
        args: FunctionArguments::List(list),
        ..
    }) = expr
    else {
        return None;
    };
    let [name] = name.0.as_slice() else {
        return None;
    };
    let is_mark = name.as_ident().is_some_and(|name| name.value == EXCLUDE);
    match unnamed(list.args.first().filter(|_| is_mark)?)? {
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }) => Some(text),
        _ => None,
    }
}

/// A call over a window, with EXCLUDE at the end of its frame in the place of the mark.
pub(super) fn as_written(function: &Function) -> String {
    let mut plain = function.clone();
    let mut words = None;
    if let Some(WindowType::WindowSpec(window)) = &mut plain.over {
        window.partition_by.retain(|expr| match excluded(expr) {
            Some(excluded) => {
                words = Some(excluded.to_uppercase());
                false
            }
            None => true,
        });
    }
    let mut text = plain.to_string();
    if let Some(words) = words
        && text.ends_with(')')
    {
        text.pop();
        text.push_str(&format!(" EXCLUDE {words})"));
    }
    text
}
