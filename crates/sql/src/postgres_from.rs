//! What PostgreSQL has in FROM: functions behind `pg_catalog.`, series whose ends are columns or parameters, functions that never have
//! a row here, and the number of a row's table, `tableoid`.

use crate::calls::call;
use crate::error::{Error, Result};
use crate::marks::JSON_MEMBERS;
use crate::postgres_casts::AS_JSONB;
use crate::postgres_types::OID_OF;
use crate::reading::{parse_query, query_of};
use crate::template::template;
use crate::walk::visit_expressions;
use sqlparser::ast::{
    DataType, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinOperator,
    ObjectName, Select, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
    TableWithJoins, TimezoneInfo, Value,
};
use std::ops::ControlFlow;

/// Functions that have no row where there are no partitions, options or files to speak of, and their columns.
const EMPTY: [(&str, &str); 4] = [
    ("pg_partition_ancestors", "CAST(NULL AS BIGINT) AS relid"),
    (
        "pg_partition_tree",
        "CAST(NULL AS BIGINT) AS relid, CAST(NULL AS BIGINT) AS parentrelid, false AS isleaf, 0 AS level",
    ),
    (
        "pg_options_to_table",
        "CAST(NULL AS VARCHAR) AS option_name, CAST(NULL AS VARCHAR) AS option_value",
    ),
    (
        "pg_show_all_file_settings",
        "CAST(NULL AS VARCHAR) AS sourcefile",
    ),
];

/// Functions of one value, whose row in FROM is that value.
const OF_ONE_ROW: [&str; 3] = ["string_to_array", "current_schemas", "current_setting"];

/// Functions whose rows are the values of lists that functions of ours give, and what their column is called; those of several columns
/// are none.
const AS_LISTS: [(&str, &str, &str); 13] = [
    (
        "regexp_matches",
        "regexp_groups_as_postgres",
        "regexp_matches",
    ),
    ("json_array_elements", "json_items", "value"),
    ("jsonb_array_elements", "json_items", "value"),
    ("json_array_elements_text", "json_items_text", "value"),
    ("jsonb_array_elements_text", "json_items_text", "value"),
    ("json_object_keys", "json_keys", "json_object_keys"),
    ("jsonb_object_keys", "json_keys", "jsonb_object_keys"),
    ("json_each", JSON_MEMBERS[0], ""),
    ("jsonb_each", JSON_MEMBERS[0], ""),
    ("json_each_text", JSON_MEMBERS[1], ""),
    ("jsonb_each_text", JSON_MEMBERS[1], ""),
    (
        "regexp_split_to_table",
        "regexp_split_to_array",
        "regexp_split_to_table",
    ),
    ("string_to_table", "string_to_array", "string_to_table"),
];

/// What a call in ROWS FROM has for columns: their names, and lists of their values.
pub(crate) fn list_of_rows(name: &str, args: Vec<Expr>) -> Option<Vec<(String, Expr)>> {
    let one = |column: &str, list: Expr| Some(vec![(column.to_owned(), list)]);
    match name {
        "unnest" => Some(
            args.into_iter()
                .map(|list| (name.to_owned(), list))
                .collect(),
        ),
        "generate_series" => one(name, call(name, args)),
        _ => {
            let (_, list, column) = AS_LISTS
                .iter()
                .find(|(known, _, column)| *known == name && !column.is_empty())?;
            one(column, call(list, args))
        }
    }
}

/// A function in FROM whose rows are the values of a list: one column goes by the function's alias, as for every function there.
fn of_list(factor: &mut TableFactor, list: &str, column: &str) -> Result<()> {
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        ..
    } = factor
    else {
        return Ok(());
    };
    let is_unnamed = alias.is_none();
    let called = name.0.last().and_then(|part| part.as_ident());
    let called = called.map_or_else(|| Ident::new(list), Clone::clone);
    let alias = alias.get_or_insert_with(|| TableAlias {
        explicit: false,
        name: called.clone(),
        columns: vec![],
        at: None,
    });
    if column.is_empty() {
        *name = ObjectName::from(vec![Ident::new(list)]);
        return Ok(());
    }
    if alias.columns.is_empty() {
        let name = match is_unnamed {
            true => Ident::new(column),
            false => alias.name.clone(),
        };
        alias.columns.push(TableAliasColumnDef {
            name,
            data_type: None,
        });
    }
    let is_jsonb = called.value.to_lowercase().starts_with("jsonb");
    let values = args.args.iter().map(|arg| match unnamed(arg)? {
        // In the one writing, in which a column's values are.
        literal @ Expr::Value(_) if is_jsonb => Some(call(AS_JSONB, vec![literal.clone()])),
        value => Some(value.clone()),
    });
    if let Some(values) = values.collect::<Option<Vec<_>>>() {
        args.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(call(
            list, values,
        )))];
        *name = ObjectName::from(vec![Ident::new("unnest")]);
    }
    Ok(())
}

/// The name of a call in FROM, without `pg_catalog.`.
fn called(factor: &TableFactor) -> Option<String> {
    let TableFactor::Table {
        name,
        args: Some(_),
        ..
    } = factor
    else {
        return None;
    };
    Some(name.0.last()?.as_ident()?.value.to_ascii_lowercase())
}

/// A function in FROM: its schema is left out, and its one column goes by its alias.
pub(super) fn table_function(factor: &mut TableFactor) -> Result<()> {
    name_series(factor);
    let Some(called) = called(factor) else {
        return Ok(());
    };
    if let Some((_, columns)) = EMPTY.iter().find(|(name, _)| *name == called) {
        return without_rows(factor, columns);
    }
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        ..
    } = factor
    else {
        return Ok(());
    };
    if let [schema, function] = name.0.as_slice()
        && schema
            .as_ident()
            .is_some_and(|schema| schema.value.eq_ignore_ascii_case("pg_catalog"))
    {
        *name = ObjectName(vec![function.clone()]);
    }
    if OF_ONE_ROW.contains(&called.as_str()) {
        return one_row(factor);
    }
    if let Some((_, list, column)) = AS_LISTS.iter().find(|(name, ..)| *name == called) {
        return of_list(factor, list, column);
    }
    if called == "generate_series" {
        refuse_fractions(args.args.iter().filter_map(unnamed))?;
        type_parameters(&mut args.args)?;
    }
    let of_one = ["generate_series", "range", "unnest"].contains(&called.as_str());
    if let Some(TableAlias { name, columns, .. }) = alias
        && of_one
        && columns.is_empty()
    {
        columns.push(TableAliasColumnDef {
            name: name.clone(),
            data_type: None,
        });
    }
    Ok(())
}

/// `LATERAL f(x)` is `f(x)`, which sees what is to its left in any case.
pub(crate) fn without_lateral(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::Function {
        name,
        args,
        with_ordinality,
        alias,
        ..
    } = factor
    else {
        return Ok(());
    };
    let query = parse_query("SELECT 1 FROM f()")?;
    let SetExpr::Select(select) = *query.body else {
        return Ok(());
    };
    let Some(mut plain) = select.from.into_iter().next().map(|table| table.relation) else {
        return Ok(());
    };
    if let TableFactor::Table {
        name: called,
        args: Some(given),
        with_ordinality: ordinality,
        alias: goes_by,
        ..
    } = &mut plain
    {
        called.clone_from(name);
        given.args = std::mem::take(args);
        *ordinality = *with_ordinality;
        *goes_by = alias.take();
        *factor = plain;
    }
    Ok(())
}

/// The parser has made a list of a series whose ends are columns, and called its column as DuckDB does.
fn name_series(factor: &mut TableFactor) {
    let TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs,
        ..
    } = factor
    else {
        return;
    };
    if let [Expr::Function(series)] = array_exprs.as_slice()
        && let [column] = alias.columns.as_mut_slice()
        && ["generate_series", "range"].contains(&column.name.value.as_str())
        && column.name.value == series.name.to_string()
    {
        column.name = alias.name.clone();
    }
}

/// A query without a row, in a function's place.
fn without_rows(factor: &mut TableFactor, columns: &str) -> Result<()> {
    let TableFactor::Table {
        name,
        alias,
        with_ordinality,
        ..
    } = factor
    else {
        return Ok(());
    };
    let ordinality = match with_ordinality {
        true => ", CAST(NULL AS BIGINT) AS ordinality",
        false => "",
    };
    let query = parse_query(&format!("SELECT {columns}{ordinality} WHERE false"))?;
    let alias = alias.clone().or_else(|| {
        let last = name.0.last().and_then(|part| part.as_ident());
        last.map(|name| TableAlias {
            explicit: false,
            name: name.clone(),
            columns: vec![],
            at: None,
        })
    });
    *factor = TableFactor::Derived {
        lateral: false,
        subquery: query,
        alias,
        sample: None,
    };
    Ok(())
}

/// A query of one row, in a function's place.
fn one_row(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        ..
    } = factor
    else {
        return Ok(());
    };
    let Some(function) = name.0.last().and_then(|part| part.as_ident()) else {
        return Ok(());
    };
    let values = args.args.iter().map(|arg| unnamed(arg).cloned());
    let Some(values) = values.collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let called = alias.as_ref().map_or(function, |alias| &alias.name);
    let item = SelectItem::ExprWithAlias {
        expr: call(&function.value, values),
        alias: called.clone(),
    };
    *factor = TableFactor::Derived {
        lateral: false,
        subquery: query_of(vec![], item)?,
        alias: alias.clone(),
        sample: None,
    };
    Ok(())
}

fn unnamed(arg: &FunctionArg) -> Option<&Expr> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    }
}

/// Ends of a series that are parameters whose type nobody says are whole numbers.
fn type_parameters(args: &mut [FunctionArg]) -> Result<()> {
    let is_bare = |expr: &Expr| matches!(expr, Expr::Value(value) if matches!(value.value, Value::Placeholder(_)));
    let is_number = |expr: &Expr| matches!(expr, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    let are_numbers = args
        .iter()
        .filter_map(unnamed)
        .all(|expr| is_bare(expr) || is_number(expr));
    for arg in args.iter_mut().filter(|_| are_numbers) {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = arg
            && is_bare(expr)
        {
            *expr = template("CAST($1 AS BIGINT)", std::slice::from_ref(expr))?;
        }
    }
    Ok(())
}

/// `generate_series` in FROM whose ends are computed, or columns: of the tables to its left, or, where it is the first, of the query around.
pub(super) fn series_of_columns(select: &mut Select) -> Result<()> {
    for (at, table) in select.from.iter_mut().enumerate() {
        series_of_column(&mut table.relation, at == 0)?;
        for join in &mut table.joins {
            series_of_column(&mut join.relation, false)?;
        }
    }
    Ok(())
}

fn series_of_column(factor: &mut TableFactor, is_first: bool) -> Result<()> {
    let is_series = called(factor).is_some_and(|name| name == "generate_series");
    let TableFactor::Table {
        name,
        alias,
        args: Some(args),
        ..
    } = factor
    else {
        return Ok(());
    };
    let is_computed = visit_expressions(&args.args, |expr| match expr {
        Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Function(_) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    if !is_series || is_computed.is_continue() {
        return Ok(());
    }
    let ends = args.args.iter().map(|arg| unnamed(arg).cloned());
    let Some(ends) = ends.collect::<Option<Vec<_>>>() else {
        return Ok(());
    };
    let series = call("generate_series", ends);
    if !is_first {
        *name = ObjectName::from(vec![Ident::new("unnest")]);
        args.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(series))];
        return Ok(());
    }
    let given = alias.as_ref().map(|alias| {
        let column = alias.columns.first();
        column.map_or_else(|| alias.name.clone(), |column| column.name.clone())
    });
    let item = SelectItem::ExprWithAlias {
        expr: call("unnest", vec![series]),
        alias: given.unwrap_or_else(|| Ident::new("generate_series")),
    };
    *factor = TableFactor::Derived {
        lateral: false,
        subquery: query_of(vec![], item)?,
        alias: alias.clone(),
        sample: None,
    };
    Ok(())
}

/// A series of moments, whose step is an interval: with a time zone if an end is written as a moment with one, or as a day.
pub(super) fn series_of_moments(ends: &[Expr]) -> Result<Option<Expr>> {
    refuse_fractions(ends.iter())?;
    let [from, to, step] = ends else {
        return Ok(None);
    };
    let is_step = match step {
        Expr::Interval(_) => true,
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_)),
        Expr::Cast { data_type, .. } => matches!(data_type, DataType::Interval { .. }),
        _ => false,
    };
    let is_number =
        |end: &Expr| matches!(end, Expr::Value(value) if matches!(value.value, Value::Number(..)));
    if !is_step || is_number(from) || is_number(to) {
        return Ok(None);
    }
    let of = match has_zone(from) || has_zone(to) {
        true => "TIMESTAMP WITH TIME ZONE[]",
        false => "TIMESTAMP[]",
    };
    let text = format!(
        "CAST(generate_series(CAST($1 AS TIMESTAMP), CAST($2 AS TIMESTAMP), CAST($3 AS INTERVAL)) AS {of})"
    );
    template(&text, ends).map(Some)
}

/// Refuses a series of numerics, whose fractions a series of ours has not.
fn refuse_fractions<'a>(mut ends: impl Iterator<Item = &'a Expr>) -> Result<()> {
    let has_fraction = |end: &Expr| match end {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(digits, _) if digits.contains('.'))
        }
        _ => false,
    };
    match ends.any(has_fraction) {
        true => Err(Error::unsupported(
            "generate_series of numerics is not there; write one of whole numbers and divide them",
        )),
        false => Ok(()),
    }
}

/// Whether an expression says itself that it is a day, or a moment with a time zone.
fn has_zone(expr: &Expr) -> bool {
    let of = |ty: &DataType| match ty {
        DataType::Date => Some(true),
        DataType::Timestamp(_, zone) => Some(matches!(
            zone,
            TimezoneInfo::Tz | TimezoneInfo::WithTimeZone
        )),
        DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("timestamptz") => {
            Some(true)
        }
        _ => None,
    };
    match expr {
        Expr::Nested(inner) => has_zone(inner),
        Expr::Cast { data_type, .. } => of(data_type).unwrap_or(false),
        Expr::TypedString(text) => of(&text.data_type).unwrap_or(false),
        Expr::BinaryOp { left, right, .. } => has_zone(left) || has_zone(right),
        Expr::Identifier(name) => {
            let words = ["current_date", "current_timestamp"];
            words
                .iter()
                .any(|word| name.value.eq_ignore_ascii_case(word))
        }
        Expr::Function(function) => match function.name.to_string().to_lowercase().as_str() {
            "now" | "current_date" | "current_timestamp" | "to_timestamp" => true,
            "date_trunc" => match &function.args {
                FunctionArguments::List(list) => list.args.iter().filter_map(unnamed).any(has_zone),
                _ => false,
            },
            _ => false,
        },
        _ => false,
    }
}

/// The tables of a SELECT, by the names that they go by.
pub(super) struct Tables(Vec<NamedTable>);

struct NamedTable {
    goes_by: Ident,
    /// As `regclass` reads it.
    name: String,
    /// Whether an outer join may have a row without one of its own.
    may_lack: bool,
}

/// The column of every table that has its number.
const TABLEOID: &str = "tableoid";

impl Tables {
    pub(super) fn of(select: &Select) -> Self {
        let mut tables = vec![];
        for TableWithJoins { relation, joins } in &select.from {
            let first = tables.len();
            tables.extend(named_table(relation, false));
            for join in joins {
                use JoinOperator as J;
                let (left, right) = match join.join_operator {
                    J::Left(_) | J::LeftOuter(_) => (false, true),
                    J::Right(_) | J::RightOuter(_) => (true, false),
                    J::FullOuter(_) => (true, true),
                    _ => (false, false),
                };
                for before in tables.iter_mut().skip(first) {
                    before.may_lack |= left;
                }
                tables.extend(named_table(&join.relation, right));
            }
        }
        Self(tables)
    }

    /// What `tableoid` means: the innermost query that has the table says it.
    pub(super) fn meaning(around: &[Self], expr: &Expr) -> Result<Option<Expr>> {
        let table = match expr {
            Expr::Identifier(name) if is_tableoid(name) => match around.last() {
                Some(Self(tables)) => match tables.as_slice() {
                    [one] => Some(one),
                    _ => None,
                },
                None => None,
            },
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, name] if is_tableoid(name) => {
                    let mut all = around.iter().rev().flat_map(|Self(tables)| tables);
                    all.find(|known| known.goes_by.value.eq_ignore_ascii_case(&table.value))
                }
                _ => None,
            },
            _ => None,
        };
        let Some(table) = table else {
            return Ok(None);
        };
        let name = Value::SingleQuotedString(table.name.clone());
        let oid = call(OID_OF[0], vec![Expr::Value(name.into())]);
        if !table.may_lack {
            return Ok(Some(oid));
        }
        // All but a few tables of the catalog have a number of each row; of others nobody knows which column is never NULL.
        let is_of_catalog = table.name.rsplit('.').next();
        if !is_of_catalog.is_some_and(|name| name.starts_with("pg_")) {
            return Err(Error::unsupported(
                "tableoid of a table on the outer side of a join is not there",
            ));
        }
        let own = vec![table.goes_by.clone(), Ident::new("oid")];
        let args = [Expr::CompoundIdentifier(own), oid];
        template("CASE WHEN $1 IS NOT NULL THEN $2 END", &args).map(Some)
    }
}

fn is_tableoid(name: &Ident) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case(TABLEOID)
}

fn named_table(factor: &TableFactor, may_lack: bool) -> Option<NamedTable> {
    let TableFactor::Table {
        name,
        alias,
        args: None,
        ..
    } = factor
    else {
        return None;
    };
    let goes_by = match alias {
        Some(alias) => alias.name.clone(),
        None => name.0.last()?.as_ident()?.clone(),
    };
    Some(NamedTable {
        goes_by,
        name: name.to_string(),
        may_lack,
    })
}

/// A select list's `tableoid` keeps its name.
pub(super) fn name_tableoid(item: &mut SelectItem) {
    let SelectItem::UnnamedExpr(expr) = item else {
        return;
    };
    let last = match expr {
        Expr::Identifier(name) => Some(&*name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    if last.is_some_and(is_tableoid) {
        *item = SelectItem::ExprWithAlias {
            expr: expr.clone(),
            alias: Ident::new(TABLEOID),
        };
    }
}
