//! What makes and takes apart lists and structs: calls under DuckDB's names, fields, slices, `unnest` in FROM.

use super::calls::{all_unnamed, call, in_from, quoted_call};
use super::column_names::name;
use super::folded;
use super::marks::{JSON_EACH, JSON_MEMBERS, JSON_TREE};
use super::operators::lambda;
use super::sql_text::sql_text;
use super::template::template;
use super::type_names::row_field;
use crate::error::{Error, Result};
use crate::walk::visit_expressions;
use sqlparser::ast::{
    AccessExpr, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentClause,
    FunctionArguments, GroupByExpr, Ident, MapEntry, ObjectName, OrderByExpr, OrderByKind, Query,
    SelectItem, SetExpr, Subscript, TableAlias, TableAliasColumnDef, TableFactor, UnaryOperator,
    Value,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

pub(super) const LIST_BOOL_AND: &str = "CASE WHEN list_transform($1, \"$one\" -> \"$one\" IS TRUE) IS NULL THEN NULL \
     WHEN list_contains($1, false) THEN false WHEN list_contains($1, true) THEN true END";
pub(super) const LIST_BOOL_OR: &str = "CASE WHEN list_transform($1, \"$one\" -> \"$one\" IS TRUE) IS NULL THEN NULL \
     WHEN list_contains($1, true) THEN true WHEN list_contains($1, false) THEN false END";
pub(super) const LIST_STRING_AGG: &str =
    "CASE WHEN len(list_compact($1)) > 0 THEN array_to_string(list_compact($1), ',') END";
const SEPARATED_TEXTS: &str =
    "CASE WHEN len(list_compact($1)) > 0 THEN array_to_string(list_compact($1), $2) END";
/// All values of a list; of none NULL, as of no rows.
const ALL: &str = "CASE WHEN len($1) > 0 THEN $1 END";

/// Aggregates that `list_aggregate` takes, and what they are of a list.
const AGGREGATES: [(&str, &str); 47] = [
    ("min", "array_min($1)"),
    ("max", "array_max($1)"),
    ("sum", "list_sum($1)"),
    ("avg", "list_avg($1)"),
    ("mean", "list_avg($1)"),
    ("count", "len(list_compact($1))"),
    ("first", "array_element($1, 1)"),
    ("last", "array_element($1, -1)"),
    ("any_value", "array_element(list_compact($1), 1)"),
    ("arbitrary", "array_element($1, 1)"),
    ("string_agg", LIST_STRING_AGG),
    ("group_concat", LIST_STRING_AGG),
    ("listagg", LIST_STRING_AGG),
    ("string_agg", SEPARATED_TEXTS),
    ("group_concat", SEPARATED_TEXTS),
    ("listagg", SEPARATED_TEXTS),
    ("list", ALL),
    ("array_agg", ALL),
    ("bool_and", LIST_BOOL_AND),
    ("bool_or", LIST_BOOL_OR),
    (
        "approx_count_distinct",
        "CAST(len(list_distinct($1)) AS BIGINT)",
    ),
    ("median", "list_median($1)"),
    ("mode", "list_mode($1)"),
    ("mad", "list_mad($1)"),
    ("entropy", "list_entropy($1)"),
    ("histogram", "list_histogram($1)"),
    ("product", "list_product($1)"),
    ("skewness", "list_skewness($1)"),
    ("kurtosis", "list_kurtosis($1)"),
    ("kurtosis_pop", "list_kurtosis_pop($1)"),
    ("sem", "list_sem($1)"),
    ("fsum", "list_fsum($1)"),
    ("sumkahan", "list_fsum($1)"),
    ("kahan_sum", "list_fsum($1)"),
    ("favg", "list_favg($1)"),
    ("var_pop", "list_var_pop($1)"),
    ("var_samp", "list_var_samp($1)"),
    ("variance", "list_var_samp($1)"),
    ("stddev_pop", "list_stddev_pop($1)"),
    ("stddev_samp", "list_stddev_samp($1)"),
    ("stddev", "list_stddev_samp($1)"),
    ("bit_and", "list_bit_and($1)"),
    ("bit_or", "list_bit_or($1)"),
    ("bit_xor", "list_bit_xor($1)"),
    ("quantile", "\"$quantile_of\"($1, $2)"),
    ("quantile_disc", "\"$quantile_of\"($1, $2)"),
    ("quantile_cont", "\"$quantile_between\"($1, $2)"),
];

/// Functions that are read here.
pub(super) const NAMES: [&str; 16] = [
    "list",
    "unnest",
    "struct_pack",
    "struct_extract",
    "struct_insert",
    "struct_update",
    "union_value",
    "union_extract",
    "row",
    "list_value",
    "list_pack",
    "list_aggregate",
    "list_aggr",
    "array_aggregate",
    "array_aggr",
    "aggregate",
];

/// A value of a UNION of one member: its name, and its value.
pub const UNION_VALUE: &str = "$union_value";
/// A struct with other values, or more of them.
pub const STRUCT_UPDATE: &str = "$struct_update";

/// What a call of one of these functions means; `None` for all others.
pub(super) fn expand(called: &str, function: &mut Function) -> Result<Option<Expr>> {
    if called == "list" {
        // An aggregate, with all that may stand behind it.
        function.name = ObjectName::from(vec![Ident::new("array_agg")]);
        return Ok(None);
    }
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(None);
    };
    if called == "string_agg" {
        separated(&mut list.args);
        return Ok(None);
    }
    let text = |text: &str| Expr::value(Value::SingleQuotedString(text.into()));
    let fields = |named: Vec<(String, Expr)>| {
        let args = named.into_iter();
        let args = args
            .flat_map(|(name, value)| [text(&name), value])
            .collect();
        call("named_struct", args)
    };
    match called {
        "unnest" if list.args.iter().any(is_unnest) => Err(Error::binder(
            "Nested UNNEST calls are not supported: use a subquery for each level",
        )),
        "struct_pack" => {
            let named = list.args.iter().map(packed);
            let named = named.collect::<Result<Vec<_>>>()?;
            if named.is_empty() {
                return Err(Error::binder("Can't pack nothing into a struct"));
            }
            refuse_names_twice(named.iter().map(|(name, _)| name.as_str()))?;
            Ok(Some(fields(named)))
        }
        "union_value" => union_value(&list.args).map(Some),
        "struct_insert" | "struct_update" => with_fields(called, &list.args),
        "row" => {
            let Some(values) = all_unnamed(&list.args) else {
                return Ok(None);
            };
            let named = (1..).map(row_field).zip(values).collect();
            Ok(Some(fields(named)))
        }
        "struct_extract" | "union_extract" | "array_extract" => extracted(called, &list.args),
        "list_value" | "list_pack" => {
            Ok(all_unnamed(&list.args).map(|values| call("make_array", values)))
        }
        "list_aggregate" | "list_aggr" | "array_aggregate" | "array_aggr" | "aggregate" => {
            aggregate_of_list(all_unnamed(&list.args).as_deref())
        }
        _ => Ok(None),
    }
}

/// `MAP {key: value}` of the lists of its keys and values.
pub(super) fn map_of(entries: Vec<MapEntry>) -> Expr {
    let entries = entries.into_iter().map(|entry| (*entry.key, *entry.value));
    let (keys, values) = entries.unzip();
    let lists = [keys, values].map(|items| call("make_array", items));
    quoted_call("$map", lists.into())
}

/// A field of a struct or a union, which a list has not.
fn extracted(called: &str, args: &[FunctionArg]) -> Result<Option<Expr>> {
    let args = all_unnamed(args).and_then(|args| args.try_into().ok());
    let Some([of, key]): Option<[Expr; 2]> = args else {
        return Ok(None);
    };
    let constant = match &key {
        Expr::Value(value) => Some(&value.value),
        _ => None,
    };
    match (called, constant) {
        ("struct_extract" | "union_extract", Some(Value::Null)) => {
            Ok(Some(Expr::value(Value::Null)))
        }
        ("union_extract", _)
        | (_, Some(Value::SingleQuotedString(_)))
        | ("struct_extract", Some(Value::Number(..))) => template("($1)[$2]", &[of, key]).map(Some),
        ("struct_extract", _) => template("get_field($1, $2)", &[of, key]).map(Some),
        _ => Ok(None),
    }
}

/// `union_value(name := value)`.
fn union_value(args: &[FunctionArg]) -> Result<Expr> {
    match args {
        [FunctionArg::Unnamed(_)] => Err(Error::binder(
            "Need named argument for union tag, e.g. UNION_VALUE(a := b)",
        )),
        [member] => {
            let (name, value) = packed(member)?;
            let name = Expr::value(Value::SingleQuotedString(name));
            Ok(quoted_call(UNION_VALUE, vec![name, value]))
        }
        _ => Err(Error::binder("union_value takes exactly one argument")),
    }
}

/// `struct_insert(struct, name := value)` and `struct_update`.
fn with_fields(called: &str, args: &[FunctionArg]) -> Result<Option<Expr>> {
    let Some((FunctionArg::Unnamed(FunctionArgExpr::Expr(of)), added)) = args.split_first() else {
        return Ok(None);
    };
    let named = added.iter().map(packed).collect::<Result<Vec<_>>>()?;
    refuse_names_twice(named.iter().map(|(name, _)| name.as_str()))?;
    let text = |text: String| Expr::value(Value::SingleQuotedString(text));
    let fields = named.into_iter();
    let fields = fields.flat_map(|(name, value)| [text(name), value]);
    let fields = call("named_struct", fields.collect());
    let own = match called {
        "struct_insert" => "struct_concat",
        _ => STRUCT_UPDATE,
    };
    Ok(Some(quoted_call(own, vec![of.clone(), fields])))
}

/// `list_aggregate(list, 'name', more)`.
fn aggregate_of_list(args: Option<&[Expr]>) -> Result<Option<Expr>> {
    let Some([of, Expr::Value(aggregate), more @ ..]) = args else {
        return Ok(None);
    };
    let Value::SingleQuotedString(aggregate) = &aggregate.value else {
        return Ok(None);
    };
    let args = [std::slice::from_ref(of), more].concat();
    let found = AGGREGATES.iter().find(|(name, meaning)| {
        let takes = if meaning.contains("$2") { 2 } else { 1 };
        aggregate.eq_ignore_ascii_case(name) && takes == args.len()
    });
    match found {
        Some((_, meaning)) => template(meaning, &args).map(Some),
        None => Err(Error::unsupported(format!(
            "list_aggregate takes {}; unnest the list for {aggregate}",
            AGGREGATES.map(|(name, _)| name).join(", ")
        ))),
    }
}

/// An argument of `struct_pack`: the field's name, which may be that of a column, and its value.
fn packed(arg: &FunctionArg) -> Result<(String, Expr)> {
    match arg {
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            ..
        } => Ok((name.value.clone(), value.clone())),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(
            value @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_)),
        )) => {
            let whole = name(value);
            let last = whole.rsplit('.').next().unwrap_or_default();
            Ok((last.to_string(), value.clone()))
        }
        _ => Err(Error::binder(
            "Need named argument for struct pack, e.g. STRUCT_PACK(a := b)",
        )),
    }
}

/// Refuses fields of a struct that differ in case alone, or not at all.
pub(super) fn refuse_names_twice<'a>(names: impl Iterator<Item = &'a str>) -> Result<()> {
    let mut taken = HashSet::new();
    for name in names {
        if !taken.insert(folded(name)) {
            return Err(Error::binder(format!(
                "Duplicate struct entry name \"{name}\""
            )));
        }
    }
    Ok(())
}

/// Brings fields and slices to the forms that the planner knows: `x.a` is `x['a']`, and `l[:2]` is `l[1:2]`. Names behind a name
/// stay: what of them is a table, a column or a field only the planner knows.
pub(super) fn plain_access(root: &Expr, chain: &mut [AccessExpr]) {
    let is_name = |access: &&mut AccessExpr| {
        matches!(root, Expr::Identifier(_))
            && matches!(access, AccessExpr::Dot(Expr::Identifier(_)))
    };
    for access in chain.iter_mut().skip_while(is_name) {
        match access {
            AccessExpr::Dot(Expr::Identifier(field)) => {
                let name = Value::SingleQuotedString(field.value.clone());
                let index = Expr::value(name);
                *access = AccessExpr::Subscript(Subscript::Index { index });
            }
            AccessExpr::Subscript(Subscript::Slice {
                lower_bound,
                upper_bound,
                stride,
            }) => {
                let number = |text: &str| Expr::value(Value::Number(text.into(), false));
                let back = matches!(
                    stride,
                    Some(Expr::UnaryOp {
                        op: UnaryOperator::Minus,
                        ..
                    })
                );
                let (first, last) = if back { ("-1", "1") } else { ("1", "-1") };
                lower_bound.get_or_insert_with(|| number(first));
                upper_bound.get_or_insert_with(|| number(last));
            }
            _ => {}
        }
    }
}

/// `unnest(list)` in FROM, which the parser takes for a function like others; `json_each` and `json_tree` are lists, too.
pub fn unnest_table(factor: &mut TableFactor) {
    let Some((name, alias, args)) = in_from(factor) else {
        return;
    };
    let called = name.to_string().to_lowercase();
    let of_json = match called.as_str() {
        "unnest" => None,
        "json_each" => Some(JSON_EACH),
        "json_tree" => Some(JSON_TREE),
        name => match JSON_MEMBERS.iter().find(|known| **known == name) {
            Some(members) => Some(*members),
            None => return,
        },
    };
    if let Some(mut array_exprs) = all_unnamed(args) {
        if let Some(of_json) = of_json {
            array_exprs = vec![quoted_call(of_json, array_exprs)];
        }
        let named = |name: &str| TableAlias {
            explicit: true,
            name: Ident::new(name),
            columns: vec![],
            at: None,
        };
        let mut alias = alias.take().unwrap_or_else(|| named(&called));
        if alias.columns.is_empty() && array_exprs.len() == 1 && of_json.is_none() {
            alias.columns = vec![TableAliasColumnDef::from_name("unnest")];
        }
        *factor = TableFactor::UNNEST {
            alias: Some(alias),
            array_exprs,
            with_offset: false,
            with_offset_alias: None,
            with_ordinality: false,
        };
    }
}

/// The separator of `string_agg`, which is a comma where none is given; NULL makes all NULL.
fn separated(args: &mut Vec<FunctionArg>) {
    let text = |value| FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::value(value)));
    let comma = || text(Value::SingleQuotedString(",".into()));
    match args.as_mut_slice() {
        [_] => args.push(comma()),
        [of, separator] if *separator == text(Value::Null) => {
            *of = text(Value::Null);
            *separator = comma();
        }
        _ => {}
    }
}

fn is_unnest(arg: &FunctionArg) -> bool {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(function))) => {
            function.name.to_string().eq_ignore_ascii_case("unnest")
        }
        _ => false,
    }
}

/// Functions that are no aggregates, which those of other names may be.
const OF_ONE_VALUE: [&str; 5] = ["quote_literal", "quote_ident", "lower", "upper", "trim"];

/// `SELECT f(x) FROM unnest(list) x` as a call that needs no rows, so that the list may be a column of the query around.
fn of_list(query: &Query) -> Option<Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] =
        select.projection.as_slice()
    else {
        return None;
    };
    let [table] = select.from.as_slice() else {
        return None;
    };
    let mut factor = table.relation.clone();
    unnest_table(&mut factor);
    let TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs,
        ..
    } = &factor
    else {
        return None;
    };
    let ([list], [name]) = (array_exprs.as_slice(), alias.columns.as_slice()) else {
        return None;
    };
    // The same with other words: nothing but the list and what is made of each of its values.
    let plain =
        crate::reading::query_of(select.from.clone(), SelectItem::UnnamedExpr(item.clone()));
    let mut said = query.clone();
    if let SetExpr::Select(select) = said.body.as_mut() {
        select.projection = vec![SelectItem::UnnamedExpr(item.clone())];
    }
    let is_plain = plain.is_ok_and(|plain| plain.to_string() == said.to_string());
    let is_call = visit_expressions(item, |expr| match expr {
        Expr::Subquery(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
        Expr::Function(function) => {
            let name = function.name.to_string();
            match OF_ONE_VALUE
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known))
            {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    (is_plain && is_call.is_continue()).then(|| {
        let each = lambda(vec![name.name.clone()], item.clone());
        call("list_transform", vec![list.clone(), each])
    })
}

/// `ARRAY(SELECT ...)`: what is selected as one list, which is empty where nothing is.
pub(super) fn array_of(query: &Query) -> Result<Expr> {
    if let Some(list) = of_list(query) {
        return template("coalesce($1, [])", &[list]);
    }
    // Nothing but rows and a condition: the query itself may gather them, and name columns of the one around it.
    if let Some((item, keys)) = gathers(query) {
        let mut all = template("array_agg($1)", std::slice::from_ref(item))?;
        if let Expr::Function(call) = &mut all
            && let FunctionArguments::List(list) = &mut call.args
            && !keys.is_empty()
        {
            list.clauses.push(FunctionArgumentClause::OrderBy(keys));
        }
        let mut query = query.clone();
        query.order_by = None;
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = vec![SelectItem::UnnamedExpr(all)];
        }
        return template("coalesce($1, [])", &[Expr::Subquery(Box::new(query))]);
    }
    let query = sql_text(query);
    let text = format!(
        "coalesce((SELECT array_agg(\"$item\") FROM ({query}) AS \"$array\"(\"$item\")), [])"
    );
    template(&text, &[])
}

/// The column of a query that may gather its rows itself, and what they are sorted by.
fn gathers(query: &Query) -> Option<(&Expr, Vec<OrderByExpr>)> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(by, _) if by.is_empty());
    let ([SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }], None) =
        (select.projection.as_slice(), &query.limit_clause)
    else {
        return None;
    };
    let keys = match query.order_by.as_ref().map(|order| &order.kind) {
        None => vec![],
        Some(OrderByKind::Expressions(keys)) => keys.clone(),
        Some(OrderByKind::All(_)) => return None,
    };
    // `ORDER BY 1` is the column. What its name means was put in before.
    let keys = keys.into_iter().map(|key| OrderByExpr {
        expr: match key.expr {
            Expr::Value(_) => item.clone(),
            other => other,
        },
        ..key
    });
    (ungrouped && select.distinct.is_none()).then(|| (item, keys.collect()))
}
