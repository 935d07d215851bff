//! Rewrites of parsed SQL before planning, where DuckDB's dialect says what DataFusion's planner reads otherwise or not at
//! all: `FROM t` without SELECT, names of columns, fields of structs, powers, comparisons with ANY and ALL.

mod chosen_groups;
mod distinct_on;
mod implicit_lateral;
mod json_values;
mod lambda_fields;
mod lateral_tables;
mod named_alike;
mod named_columns;
mod order_unselected;
mod ordered_aggregates;
mod ordinality;
mod qualified_stars;
mod row_values;
mod scalar_queries;
mod unnamed_tables;
mod written;

use super::aggregate_order;
use super::calls;
use super::column_names::name_columns;
use super::computed_frames;
use super::cut_divide::divided;
use super::dialect::POWER;
use super::folding::{Spellings, fold_expr, fold_statement, listed_names};
use super::grouping_sets;
use super::integer_literals::{is_double, mark_expr, mark_statement};
use super::intervals;
use super::lateral_unnest;
use super::literal_keys;
use super::macros::{any_item, by_known_name, expand};
use super::named_options::name_options;
use super::named_windows;
use super::namesakes::{self, Complete};
use super::nested_calls;
use super::patterns::pattern;
use super::recursive_queries;
use super::samples;
use super::set_operations;
use super::set_order;
use super::sql_text::sql_text;
use super::template::template;
use super::unused_queries::leave_out_unused;
use super::using_joins;
use super::value_names::{self, in_brackets, is_value};
use super::walk::finish;
use super::wildcards;
use super::window_defaults;
use super::window_order;
use crate::error::{Error, Result};
use crate::type_names::cast_to;
use crate::walk::visit_mut;
use hushdb_storage::ColumnType;
use sqlparser::ast::{
    BinaryOperator, CastKind, DataType as SqlType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgOperator, FunctionArgumentClause, FunctionArguments, ObjectName, ObjectNamePart,
    OrderByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem, Statement, TableFactor,
    UnaryOperator, Value, VisitorMut, WildcardAdditionalOptions, WindowType,
};
use std::collections::HashSet;
use std::ops::ControlFlow;

pub use chosen_groups::{group_by_no_constants, groups_by_queries, having_items};
pub use implicit_lateral::{make_lateral, may_be_lateral};
pub use unnamed_tables::name_queries;

/// What the meaning of a text depends on beside itself.
pub struct Place<'a> {
    /// The current database.
    pub database: &'a str,
    /// The current schema.
    pub schema: &'a str,
    /// Whether ORDER BY descends where it does not say.
    pub descending: bool,
    /// The whole name of what a table's name means.
    pub complete: Complete<'a>,
    /// Whether a name is that of a function of one row.
    pub is_scalar: &'a dyn Fn(&str) -> bool,
    /// Whether a name is that of an aggregate.
    pub is_aggregate: &'a dyn Fn(&str) -> bool,
    /// A setting's value as a literal.
    pub setting: &'a dyn Fn(&str) -> Result<Expr>,
    /// Names around a table that mean themselves alone.
    pub alike: &'a dyn Fn(&ObjectName) -> Vec<String>,
}

/// Rewrites a statement in place, and says what its names look like.
pub fn rewrite(statement: &mut Statement, place: &Place<'_>) -> Result<Spellings> {
    let listed = listed_names(statement);
    namesakes::complete(statement, place.complete);
    finish(visit_mut(statement, &mut Rewriter::new(place)))?;
    mark_statement(statement)?;
    let mut spellings = fold_statement(statement, place.alike)?;
    spellings.listed = listed;
    Ok(spellings)
}

/// Rewrites one expression in place, but for the names that mean themselves alone.
pub fn rewrite_expr(expr: &mut Expr, place: &Place<'_>, alike: HashSet<String>) -> Result<()> {
    finish(visit_mut(expr, &mut Rewriter::new(place)))?;
    mark_expr(expr)?;
    fold_expr(expr, alike)
}

/// `CAST(x AS JSON)`.
pub const AS_JSON: &str = "$as_json";
/// `TRY_CAST(x AS JSON)`.
pub const TRY_AS_JSON: &str = "$try_as_json";
/// The function that `~` is.
pub const BIT_NOT: &str = "$bit_not";
/// What `xor(a, b)` is of `a | b` and `a & b`.
pub const XOR: &str = "$xor";

struct Rewriter<'a> {
    place: &'a Place<'a>,
    /// Current database and schema as literals.
    names: [Expr; 2],
    /// Queries of WITH RECURSIVE, whose union is none of other queries.
    recursive: Vec<*const Query>,
    /// Queries behind ANY and ALL, which stand for all their values.
    of_values: Vec<*const Query>,
}

impl<'a> Rewriter<'a> {
    fn new(place: &'a Place<'a>) -> Self {
        let text = |t: &str| Expr::Value(Value::SingleQuotedString(t.into()).into());
        Self {
            place,
            names: [text(place.database), text(place.schema)],
            recursive: vec![],
            of_values: vec![],
        }
    }

    /// Gives ORDER BY the direction that it does not say.
    fn direct<'e>(&self, expressions: impl IntoIterator<Item = &'e mut OrderByExpr>) {
        if self.place.descending {
            for expression in expressions {
                expression.options.asc.get_or_insert(false);
            }
        }
    }

    /// What a query says beside its SELECT.
    fn query(&mut self, query: &mut Query) -> Result<()> {
        leave_out_unused(query);
        named_columns::of_with(query)?;
        json_values::cast_nulls(query);
        literal_keys::read(query, || self.allows_literals())?;
        distinct_on::number_rows(query)?;
        chosen_groups::order_by_groups(query, self.place.is_aggregate);
        order_unselected::select_keys(query)?;
        named_windows::resolve_in_order(query)?;
        match query.order_by.as_mut().map(|order_by| &mut order_by.kind) {
            Some(OrderByKind::Expressions(expressions)) => {
                self.direct(expressions);
            }
            Some(OrderByKind::All(options)) if self.place.descending => {
                options.asc.get_or_insert(false);
            }
            _ => {}
        }
        using_joins::name_singles_in_order(query);
        named_alike::order_by_names(query);
        set_order::order_by_items(query)?;
        recursive_queries::refuse(query)?;
        set_operations::select_values(&mut query.body)?;
        set_operations::order_by_all(query)?;
        match self.recursive.iter().any(|r| std::ptr::eq(*r, query)) {
            true => set_operations::operands_of(&mut query.body)?,
            false => set_operations::make_calls(&mut query.body)?,
        }
        // Found again by their places when they are visited.
        let with = query.with.iter().filter(|with| with.recursive);
        let queries = with.flat_map(|with| &with.cte_tables);
        let queries = queries.map(|table| std::ptr::from_ref(table.query.as_ref()));
        self.recursive.extend(queries);
        Ok(())
    }

    /// What a query that stands for a value is.
    fn scalar_query(&mut self, expr: &mut Expr) -> Result<()> {
        if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = &*expr
            && let Expr::Subquery(query) = right.as_ref()
        {
            self.of_values.push(std::ptr::from_ref(query.as_ref()));
        }
        let is_value = match &*expr {
            Expr::Subquery(query) => !self.of_values.contains(&std::ptr::from_ref(query.as_ref())),
            _ => false,
        };
        if !is_value {
            return Ok(());
        }
        if let Some(meant) = scalar_queries::outer_aggregate(expr, self.place.is_aggregate) {
            *expr = meant;
        }
        let refuses = (self.place.setting)("scalar_subquery_error_on_multiple_rows");
        match matches!(expr, Expr::Subquery(_)) && refuses.is_ok_and(|on| !is_true(&on)) {
            true => scalar_queries::first_row(expr),
            false => Ok(()),
        }
    }

    /// Whether keys may be literals that are no places.
    fn allows_literals(&self) -> bool {
        (self.place.setting)("order_by_non_integer_literal").is_ok_and(|on| is_true(&on))
    }

    /// What a call becomes, if anything.
    fn call(&self, function: &mut Function) -> Result<Option<Expr>> {
        by_known_name(function);
        of_the_row_itself(function);
        by_whole_rows(function)?;
        if let Some(WindowType::WindowSpec(window)) = &mut function.over {
            self.direct(&mut window.order_by);
            computed_frames::mark(window)?;
        }
        window_order::rank_by_own_order(function)?;
        window_order::with_key(function)?;
        aggregate_order::refuse_count_of_several(function)?;
        aggregate_order::read(function)?;
        aggregate_order::first_and_last(function);
        aggregate_order::refuse_of_scalar(function, self.place.is_scalar)?;
        aggregate_order::refuse_nulls_of_window(function)?;
        aggregate_order::refuse_more_of_window(function)?;
        if let Some(meant) = window_defaults::apply(function)? {
            return Ok(Some(meant));
        }
        count_in_wholes(function)?;
        match setting_asked(function) {
            Some(name) => (self.place.setting)(name).map(Some),
            None if counts_rows(function) => {
                let call = Expr::Function(function.clone());
                template("CAST($1 AS BIGINT)", &[call]).map(Some)
            }
            None => {
                let is_window = function.over.is_some();
                let meant = expand(function, &self.names)?;
                match is_window {
                    true => self.over_frames(function, meant),
                    false => Ok(meant),
                }
            }
        }
    }

    /// What a call over a window means, with an order of its arguments brought to what the planner knows.
    fn over_frames(&self, function: &Function, meant: Option<Expr>) -> Result<Option<Expr>> {
        let mut expr = meant.unwrap_or_else(|| Expr::Function(function.clone()));
        let nulls = (self.place.setting)("default_null_order")?;
        let nulls = match &nulls {
            Expr::Value(value) => value.value.clone().into_string().unwrap_or_default(),
            _ => String::new(),
        };
        window_order::apply(&mut expr, &nulls)?;
        Ok(Some(expr))
    }

    /// What an expression becomes, if anything.
    fn replacement(&self, expr: &mut Expr) -> Result<Option<Expr>> {
        match expr {
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) if is_double(text) => {
                    let text = Value::SingleQuotedString(text.clone());
                    template("CAST($1 AS DOUBLE)", &[Expr::Value(text.into())]).map(Some)
                }
                _ => Ok(None),
            },
            Expr::BinaryOp {
                op: op @ BinaryOperator::Divide,
                ..
            } => {
                if (self.place.setting)("integer_division").is_ok_and(|on| is_true(&on)) {
                    *op = BinaryOperator::DuckIntegerDivide;
                }
                Ok(None)
            }
            Expr::BinaryOp { left, op, right } if is_power(op) => {
                let operands = [left.as_ref().clone(), right.as_ref().clone()];
                template("power(CAST($1 AS DOUBLE), CAST($2 AS DOUBLE))", &operands).map(Some)
            }
            Expr::AtTimeZone {
                timestamp,
                time_zone,
            } => {
                let operands = [time_zone.as_ref().clone(), timestamp.as_ref().clone()];
                template("timezone($1, $2)", &operands).map(Some)
            }
            Expr::Interval(interval) => intervals::plain(interval),
            Expr::Dictionary(fields) => {
                let names = fields.iter().map(|field| field.key.value.as_str());
                nested_calls::refuse_names_twice(names).map(|()| None)
            }
            Expr::Map(map) => Ok(Some(nested_calls::map_of(std::mem::take(&mut map.entries)))),
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr,
            } => Ok(intervals::negate(expr)),
            Expr::CompoundFieldAccess { root, access_chain } => {
                nested_calls::plain_access(root, access_chain);
                Ok(None)
            }
            Expr::Function(function) => match (&function.args, divided(function)) {
                (FunctionArguments::Subquery(query), _) => nested_calls::array_of(query).map(Some),
                (_, None) => self.call(function),
                (_, divided) => Ok(divided),
            },
            Expr::Cast { expr: of, .. } if !is_value(of) => Ok(Some(in_brackets(expr.clone()))),
            Expr::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => match right.as_ref() {
                Expr::Subquery(query) => any(left, compare_op, query).map(Some),
                list => any_item(left, compare_op, list).map(Some),
            },
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => all(left, compare_op, right),
            other => pattern(other),
        }
    }
}

/// `~x` and CASTs to JSON as calls of functions of ours.
fn call_of_ours(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::UnaryOp {
            op: UnaryOperator::BitwiseNot,
            expr: of,
        } => Some(calls::quoted_call(BIT_NOT, vec![of.as_ref().clone()])),
        Expr::Cast {
            kind,
            expr: of,
            data_type: SqlType::JSON,
            ..
        } => {
            let name = match kind {
                CastKind::TryCast | CastKind::SafeCast => TRY_AS_JSON,
                CastKind::Cast | CastKind::DoubleColon => AS_JSON,
            };
            Some(calls::quoted_call(name, vec![of.as_ref().clone()]))
        }
        _ => None,
    }
}

/// `left op ALL (...)`: no item for which the opposite holds.
fn all(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Option<Expr>> {
    let Some(opposite) = opposite(op) else {
        return Ok(None);
    };
    let found = match right {
        Expr::Subquery(query) => any(left, &opposite, query)?,
        list => any_item(left, &opposite, list)?,
    };
    template("(NOT $1)", &[found]).map(Some)
}

impl VisitorMut for Rewriter<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        flow(self.query(query))
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        if let Err(error) = written::name_items(select) {
            return ControlFlow::Break(Box::new(error));
        }
        named_alike::leave_out_names(select);
        chosen_groups::having_items(select, self.place.is_aggregate, &|_| false);
        chosen_groups::no_groups_of_constants(select, self.place.is_aggregate);
        let planned = select_as_planned(select);
        chosen_groups::qualify_listed_windows(select);
        value_names::tell_apart(select, self.place.is_scalar);
        flow(planned)
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        if let Err(error) = ordinality::number_rows(factor) {
            return ControlFlow::Break(Box::new(error));
        }
        nested_calls::unnest_table(factor);
        name_options(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let replaced = written::replaced(expr);
        match replaced.and_then(|new| {
            new.map_or_else(|| ordered_aggregates::meant(expr), |new| Ok(Some(new)))
        }) {
            Ok(None) => {}
            Ok(Some(new)) => *expr = new,
            Err(error) => return ControlFlow::Break(Box::new(error)),
        }
        if let Err(error) = self.scalar_query(expr) {
            return ControlFlow::Break(Box::new(error));
        }
        if let Expr::Function(function) = expr
            && let Err(error) =
                literal_keys::refuse_in_aggregate(function, || self.allows_literals())
                    .and_then(|()| compare_arguments(function))
        {
            return ControlFlow::Break(Box::new(error));
        }
        if let Expr::Lambda(lambda) = expr {
            lambda_fields::fields_of_parameters(lambda);
        }
        flow(row_values::in_query(expr))
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        row_values::as_call(expr);
        let new = match call_of_ours(expr) {
            None => self.replacement(expr),
            call => Ok(call),
        };
        flow(new.map(|new| {
            if let Some(new) = new {
                *expr = new;
            }
        }))
    }
}

/// `f(a = b AND c)` compares: the parser reads a name for an argument, which functions in FROM alone have.
fn compare_arguments(function: &mut Function) -> Result<()> {
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(());
    };
    for arg in &mut list.args {
        if let FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            operator: FunctionArgOperator::Equals,
        } = arg
        {
            // Read again, since what was taken for the value may go on past the comparison.
            let comparison = template(&format!("{name} = {}", sql_text(value)), &[])?;
            *arg = FunctionArg::Unnamed(FunctionArgExpr::Expr(comparison));
        }
    }
    Ok(())
}

/// Functions whose results the planner takes for unsigned or narrower numbers.
fn counts_rows(function: &Function) -> bool {
    let called = function.name.to_string().to_ascii_lowercase();
    match function.over.is_some() {
        true => ["row_number", "rank", "dense_rank", "ntile"].contains(&called.as_str()),
        false => called == "grouping",
    }
}

/// `ntile(2.5)` is `ntile(3)`, and so is the number of `nth_value`; what is computed is cast.
fn count_in_wholes(function: &mut Function) -> Result<()> {
    let at = match function.name.to_string().to_ascii_lowercase().as_str() {
        "ntile" => 0,
        "nth_value" => 1,
        _ => return Ok(()),
    };
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(());
    };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(number))) = list.args.get_mut(at) else {
        return Ok(());
    };
    if function.over.is_none() {
        return Ok(());
    }
    if let Expr::Value(value) = number {
        match &value.value {
            Value::Number(digits, _) if digits.bytes().all(|digit| digit.is_ascii_digit()) => {
                return Ok(());
            }
            Value::Placeholder(_) => return Ok(()),
            written => {
                if let Some(whole) = whole(written) {
                    value.value = Value::Number(whole.to_string(), false);
                    return Ok(());
                }
            }
        }
    }
    *number = template("CAST($1 AS BIGINT)", std::slice::from_ref(number))?;
    Ok(())
}

/// The whole number that a literal becomes.
fn whole(written: &Value) -> Option<u64> {
    match written {
        Value::Number(digits, _) => {
            let (whole, part) = digits.split_once('.')?;
            let whole: u64 = format!("0{whole}").parse().ok()?;
            let is_digits = part.bytes().all(|digit| digit.is_ascii_digit());
            let is_up = part.bytes().next().is_some_and(|digit| digit >= b'5');
            is_digits.then(|| whole.saturating_add(u64::from(is_up)))
        }
        Value::SingleQuotedString(text) => text.trim().parse().ok(),
        Value::Boolean(is_one) => Some(u64::from(*is_one)),
        _ => None,
    }
}

/// `lag(x, 0 IGNORE NULLS)` is `lag(x, 0)`: it looks at no other row.
fn of_the_row_itself(function: &mut Function) {
    let called = function.name.to_string();
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    let offset = match list.args.get(1) {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(offset)))) => &offset.value,
        _ => return,
    };
    let is_shift = ["lag", "lead"]
        .iter()
        .any(|name| called.eq_ignore_ascii_case(name));
    if is_shift && matches!(offset, Value::Number(text, _) if text == "0") {
        function.null_treatment = None;
        list.clauses
            .retain(|clause| !matches!(clause, FunctionArgumentClause::IgnoreOrRespectNulls(_)));
    }
}

/// Casts how many rows `lag` and `lead` go, if that is no whole number already.
fn by_whole_rows(function: &mut Function) -> Result<()> {
    let called = function.name.to_string().to_lowercase();
    let FunctionArguments::List(list) = &mut function.args else {
        return Ok(());
    };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(far))) = list.args.get_mut(1) else {
        return Ok(());
    };
    if matches!(called.as_str(), "lag" | "lead") && !is_whole_or_given(far) {
        *far = cast_to(far.clone(), &ColumnType::Int64)?;
    }
    Ok(())
}

/// Whether a number of rows is a whole number that is written, a parameter or NULL.
fn is_whole_or_given(far: &Expr) -> bool {
    match far {
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => text.parse::<i64>().is_ok(),
            Value::Placeholder(_) | Value::Null => true,
            _ => false,
        },
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => is_whole_or_given(expr),
        _ => false,
    }
}

fn flow(result: Result<()>) -> ControlFlow<Box<Error>> {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

/// What a SELECT says beside its expressions.
fn select_as_planned(select: &mut Select) -> Result<()> {
    if select.flavor == SelectFlavor::FromFirstNoSelect && select.projection.is_empty() {
        select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
    }
    select.flavor = SelectFlavor::Standard;
    unnamed_tables::name(select);
    samples::bracket(select)?;
    named_windows::resolve_in_select(select)?;
    row_values::group_by_columns(select);
    row_values::keep_rows(select)?;
    qualified_stars::complete(select);
    wildcards::plain(select)?;
    using_joins::name_singles(select);
    name_columns(select);
    grouping_sets::multiply(select)?;
    grouping_sets::group_all(select)?;
    lateral_tables::mark(select)?;
    lateral_unnest::bracket(select)?;
    using_joins::bracket(select);
    namesakes::refuse_ambiguous(select)
}

/// The name in `current_setting('name')`.
fn setting_asked(function: &Function) -> Option<&str> {
    let [ObjectNamePart::Identifier(name)] = function.name.0.as_slice() else {
        return None;
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))]
            if name.value.eq_ignore_ascii_case("current_setting") =>
        {
            match &value.value {
                Value::SingleQuotedString(text) => Some(text),
                _ => None,
            }
        }
        _ => None,
    }
}

fn is_true(setting: &Expr) -> bool {
    matches!(setting, Expr::Value(value) if value.value == Value::Boolean(true))
}

fn is_power(op: &BinaryOperator) -> bool {
    match op {
        BinaryOperator::PGExp => true,
        BinaryOperator::Custom(text) => text == POWER,
        _ => false,
    }
}

fn opposite(op: &BinaryOperator) -> Option<BinaryOperator> {
    use BinaryOperator as B;
    Some(match op {
        B::Eq => B::NotEq,
        B::NotEq => B::Eq,
        B::Lt => B::GtEq,
        B::LtEq => B::Gt,
        B::Gt => B::LtEq,
        B::GtEq => B::Lt,
        _ => return None,
    })
}

/// `left op ANY (query)`: true when it holds for the query's smallest or greatest value; else unknown when the query has
/// a NULL or `left` is one; else false.
fn any(left: &Expr, op: &BinaryOperator, query: &Query) -> Result<Expr> {
    use BinaryOperator as B;
    let query = sql_text(query);
    let from = format!("FROM ({query}) AS \"$any\"(\"$value\")");
    let of_many = is_nested(&sql_text(left));
    if *op != B::Eq && opposite(op).is_some() && (of_many || is_nested(&query)) {
        return template(&any_once(op, &from, of_many), std::slice::from_ref(left));
    }
    let holds = match op {
        B::Eq => return template(&format!("($1 IN ({query}))"), std::slice::from_ref(left)),
        B::Gt | B::GtEq => format!("$1 {op} (SELECT min(\"$value\") {from})"),
        B::Lt | B::LtEq => format!("$1 {op} (SELECT max(\"$value\") {from})"),
        B::NotEq => format!(
            "$1 <> (SELECT min(\"$value\") {from}) OR $1 <> (SELECT max(\"$value\") {from})"
        ),
        _ => {
            return Err(Error::binder(format!(
                "{op} cannot be used with ANY or ALL"
            )));
        }
    };
    let text = format!(
        "CASE WHEN {holds} THEN true WHEN (SELECT count(*) {from}) = 0 THEN false \
         WHEN $1 IS NULL OR (SELECT count(*) - count(\"$value\") {from}) > 0 THEN NULL ELSE false END"
    );
    template(&text, std::slice::from_ref(left))
}

/// Whether there are such comparisons within one, brought to others or not yet.
fn is_nested(text: &str) -> bool {
    ["$any", " ANY(", " ALL("]
        .iter()
        .any(|mark| text.contains(mark))
}

/// The same with its query written once, and its value, too, where that is one of `many`: copies within copies would grow with
/// every level. It is slower.
fn any_once(op: &BinaryOperator, from: &str, many: bool) -> String {
    use BinaryOperator as B;
    let left = if many { "\"$left\"" } else { "$1" };
    let holds = match op {
        B::Gt | B::GtEq => format!("{left} {op} \"$least\""),
        B::Lt | B::LtEq => format!("{left} {op} \"$most\""),
        _ => format!("{left} {op} \"$least\" OR {left} {op} \"$most\""),
    };
    let all = format!(
        "FROM (SELECT count(*) AS \"$rows\", count(\"$value\") AS \"$known\", min(\"$value\") AS \"$least\", \
         max(\"$value\") AS \"$most\" {from}) AS \"$all\""
    );
    let all = match many {
        false => all,
        true => format!("FROM (SELECT $1 AS \"$left\", * {all}) AS \"$one\""),
    };
    format!(
        "(SELECT CASE WHEN {holds} THEN true WHEN \"$rows\" = 0 THEN false \
         WHEN {left} IS NULL OR \"$rows\" > \"$known\" THEN NULL ELSE false END {all})"
    )
}
