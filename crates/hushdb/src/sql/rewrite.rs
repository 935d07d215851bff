//! Rewrites of parsed SQL before planning, where DuckDB's dialect says what DataFusion's planner reads otherwise or not at
//! all: `FROM t` without SELECT, names of columns, fields of structs, powers, checked negation, comparisons with ANY and ALL.
//!
//! What it refuses: RIGHT and FULL JOIN with USING or NATURAL, of which the planner would give the left table's column alone.

use super::column_names::name_columns;
use super::dialect::POWER;
use super::integer_literals::{mark_expr, mark_statement};
use super::lateral_unnest;
use super::macros::{any_item, expand, template};
use super::named_options::name_options;
use super::named_windows;
use super::nested_calls;
use super::patterns::pattern;
use super::sql_text::sql_text;
use crate::error::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator,
    FunctionArgumentClause, FunctionArguments, Interval, JoinConstraint, JoinOperator,
    ObjectNamePart, OrderByExpr, OrderByKind, Query, Select, SelectFlavor, SelectItem, SetExpr,
    Statement, TableFactor, UnaryOperator, Value, VisitMut, VisitorMut, WildcardAdditionalOptions,
    WindowType,
};
use std::ops::ControlFlow;

/// What the meaning of a text depends on beside itself.
pub(crate) struct Place<'a> {
    /// The current database and schema.
    pub(crate) database: &'a str,
    pub(crate) schema: &'a str,
    /// Whether ORDER BY descends where it does not say.
    pub(crate) descending: bool,
    /// A setting's value as a literal.
    pub(crate) setting: &'a dyn Fn(&str) -> Result<Expr>,
}

/// Rewrites a statement in place.
pub(crate) fn rewrite(statement: &mut Statement, place: &Place<'_>) -> Result<()> {
    finish(VisitMut::visit(statement, &mut Rewriter::new(place)))?;
    mark_statement(statement)
}

/// Rewrites one expression in place.
pub(crate) fn rewrite_expr(expr: &mut Expr, place: &Place<'_>) -> Result<()> {
    finish(VisitMut::visit(expr, &mut Rewriter::new(place)))?;
    mark_expr(expr)
}

pub(super) fn finish(flow: ControlFlow<Box<Error>>) -> Result<()> {
    match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Rewriter<'a> {
    place: &'a Place<'a>,
    /// Current database and schema as literals.
    names: [Expr; 2],
}

impl<'a> Rewriter<'a> {
    fn new(place: &'a Place<'a>) -> Self {
        let text = |t: &str| Expr::Value(Value::SingleQuotedString(t.into()).into());
        Self {
            place,
            names: [text(place.database), text(place.schema)],
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

    /// What an expression becomes, if anything.
    fn replacement(&self, expr: &mut Expr) -> Result<Option<Expr>> {
        match expr {
            // `-x` as `0 - x`, which is checked; `-1` stays a literal.
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr: inner,
            } if !matches!(
                inner.as_ref(),
                Expr::Value(_) | Expr::Interval(_) | Expr::TypedString(_)
            ) =>
            {
                template("(0 - $1)", &[inner.as_ref().clone()]).map(Some)
            }
            Expr::Value(value) => match &value.value {
                // A number with an exponent is a DOUBLE.
                Value::Number(text, _) if text.contains(['e', 'E']) => {
                    let text = Value::SingleQuotedString(text.clone());
                    template("CAST($1 AS DOUBLE)", &[Expr::Value(text.into())]).map(Some)
                }
                _ => Ok(None),
            },
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
            Expr::Interval(interval) => {
                clock_interval(interval);
                Ok(None)
            }
            Expr::CompoundFieldAccess { access_chain, .. } => {
                nested_calls::plain_access(access_chain);
                Ok(None)
            }
            Expr::Function(function) => {
                of_the_row_itself(function);
                if let Some(WindowType::WindowSpec(window)) = &mut function.over {
                    self.direct(&mut window.order_by);
                }
                match setting_asked(function) {
                    Some(name) => (self.place.setting)(name).map(Some),
                    None => expand(function, &self.names),
                }
            }
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
            } => match (right.as_ref(), opposite(compare_op)) {
                (Expr::Subquery(query), Some(opposite)) => {
                    template("(NOT $1)", &[any(left, &opposite, query)?]).map(Some)
                }
                (list, Some(opposite)) => {
                    template("(NOT $1)", &[any_item(left, &opposite, list)?]).map(Some)
                }
                _ => Ok(None),
            },
            other => pattern(other),
        }
    }
}

impl VisitorMut for Rewriter<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if let Err(error) = named_windows::resolve_in_order(query) {
            return ControlFlow::Break(Box::new(error));
        }
        match query.order_by.as_mut().map(|order_by| &mut order_by.kind) {
            Some(OrderByKind::Expressions(expressions)) => self.direct(expressions),
            Some(OrderByKind::All(options)) if self.place.descending => {
                options.asc.get_or_insert(false);
            }
            _ => {}
        }
        // ORDER BY ALL over a plain select list, by position.
        let SetExpr::Select(select) = query.body.as_ref() else {
            return ControlFlow::Continue(());
        };
        let listed = select.projection.iter().all(|item| {
            matches!(
                item,
                SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
            )
        });
        if let Some(order_by) = &mut query.order_by
            && let OrderByKind::All(options) = order_by.kind
            && listed
            && !select.projection.is_empty()
        {
            let positions = (1..=select.projection.len()).map(|i| OrderByExpr {
                expr: number(&i.to_string()),
                options,
                with_fill: None,
            });
            order_by.kind = OrderByKind::Expressions(positions.collect());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        if select.flavor == SelectFlavor::FromFirstNoSelect && select.projection.is_empty() {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        }
        select.flavor = SelectFlavor::Standard;
        if let Err(error) = named_windows::resolve_in_select(select) {
            return ControlFlow::Break(Box::new(error));
        }
        name_columns(select);
        lateral_unnest::bracket(select);
        for join in select.from.iter_mut().flat_map(|from| &mut from.joins) {
            use JoinOperator as J;
            let operator = std::mem::replace(&mut join.join_operator, J::CrossApply);
            join.join_operator = match operator {
                J::Semi(on) => J::LeftSemi(on),
                J::Anti(on) => J::LeftAnti(on),
                J::Right(on) | J::RightOuter(on) | J::FullOuter(on)
                    if matches!(on, JoinConstraint::Using(_) | JoinConstraint::Natural) =>
                {
                    return ControlFlow::Break(Box::new(Error::unsupported(
                        "RIGHT and FULL JOIN with USING or NATURAL are not there yet; write ON, and coalesce the two columns",
                    )));
                }
                other => other,
            };
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        nested_calls::unnest_table(factor);
        name_options(factor);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(function) = expr
            && let Err(error) = compare_arguments(function)
        {
            return ControlFlow::Break(Box::new(error));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match self.replacement(expr) {
            Ok(Some(new)) => *expr = new,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(Box::new(error)),
        }
        ControlFlow::Continue(())
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

/// `INTERVAL '2 days 03:04:05'`: the clock's part in words.
fn clock_interval(interval: &mut Interval) {
    let (Expr::Value(value), None) = (interval.value.as_mut(), &interval.leading_field) else {
        return;
    };
    let Value::SingleQuotedString(text) = &mut value.value else {
        return;
    };
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| {
            let (sign, clock) = word
                .strip_prefix('-')
                .map_or(("", word), |rest| ("-", rest));
            match clock.split(':').collect::<Vec<_>>().as_slice() {
                [h, m] => format!("{sign}{h} hours {sign}{m} minutes"),
                [h, m, s] => format!("{sign}{h} hours {sign}{m} minutes {sign}{s} seconds"),
                _ => word.to_string(),
            }
        })
        .collect();
    *text = words.join(" ");
}

fn number(text: &str) -> Expr {
    Expr::Value(Value::Number(text.into(), false).into())
}
