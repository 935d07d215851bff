//! JSON that PostgreSQL makes of lists and rows: `json_agg`, and `json_object` of names and values.

use crate::calls::call;
use crate::error::Result;
use crate::postgres_arrays::array_literal;
use crate::postgres_casts::AS_JSONB;
use crate::postgres_rows::table_of_row;
use crate::template::{drawn_once, template};
use sqlparser::ast::{
    Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName,
    Value,
};

/// `json_agg(x ORDER BY y)`: its items as text, which is put together in that order.
pub(crate) fn list_of_json(function: &Function) -> Result<Option<Expr>> {
    let FunctionArguments::List(list) = &function.args else {
        return Ok(None);
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(item))] = list.args.as_slice() else {
        return Ok(None);
    };
    let is_row = table_of_row(item).is_some();
    let text = "coalesce(CAST(to_json_as_postgres($1) AS VARCHAR), 'null')";
    let item = template(text, std::slice::from_ref(item))?;
    let comma = if is_row { ", \n " } else { ", " };
    let comma = Expr::Value(Value::SingleQuotedString(comma.to_owned()).into());
    let mut joined = function.clone();
    joined.name = ObjectName::from(vec![Ident::new("string_agg")]);
    if let FunctionArguments::List(list) = &mut joined.args {
        let args = [item, comma].map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)));
        list.args = args.into();
    }
    let text = "CAST('[' || $1 || ']' AS JSON)";
    template(text, &[Expr::Function(joined)]).map(Some)
}

/// An object whose names and values are those at the same place of two lists, the second of `$2`, or one behind the other in one.
const OF_LISTS: &str = "CASE WHEN len($1) <> len($2) THEN error_as_postgres('2202E', 'mismatched array dimensions') \
    ELSE CAST('{' || array_to_string(list_transform(range(1, len($1) + 1), \"$at\" -> \
    CAST(to_json_as_postgres(list_extract(CAST($1 AS VARCHAR[]), \"$at\")) AS VARCHAR) || ' : ' || \
    coalesce(CAST(to_json_as_postgres(list_extract(CAST($2 AS VARCHAR[]), \"$at\")) AS VARCHAR), 'null')), ', ') || '}' AS JSON) END";
const OF_PAIRS: &str = "CASE WHEN len($1) % 2 = 1 THEN error_as_postgres('2202E', 'array must have even number of elements') \
    ELSE CAST('{' || array_to_string(list_transform(range(1, len($1) // 2 + 1), \"$at\" -> \
    CAST(to_json_as_postgres(list_extract(CAST($1 AS VARCHAR[]), 2 * \"$at\" - 1)) AS VARCHAR) || ' : ' || \
    coalesce(CAST(to_json_as_postgres(list_extract(CAST($1 AS VARCHAR[]), 2 * \"$at\")) AS VARCHAR), 'null')), ', ') || '}' AS JSON) END";

/// What `json_object` or `jsonb_object` of lists means.
pub(crate) fn object_of_lists(name: &str, args: &[Expr]) -> Result<Option<Expr>> {
    if !matches!(name, "json_object" | "jsonb_object") {
        return Ok(None);
    }
    let lists = args.iter().map(|arg| match array_literal(arg) {
        Some(list) => flat(list),
        None => arg.clone(),
    });
    let lists: Vec<Expr> = lists.collect();
    let object = match lists.len() {
        1 => drawn_once(OF_PAIRS, &lists)?,
        2 => drawn_once(OF_LISTS, &lists)?,
        _ => return Ok(None),
    };
    Ok(Some(match name {
        "json_object" => object,
        _ => call(AS_JSONB, vec![object]),
    }))
}

/// A list of pairs as one list.
fn flat(list: Expr) -> Expr {
    match list {
        Expr::Array(Array { elem, named }) => {
            let items = elem.into_iter().flat_map(|item| match flat(item) {
                Expr::Array(Array { elem, .. }) => elem,
                item => vec![item],
            });
            Expr::Array(Array {
                elem: items.collect(),
                named,
            })
        }
        item => item,
    }
}
