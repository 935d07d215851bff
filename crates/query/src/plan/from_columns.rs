//! What of a SELECT depends on the columns of its FROM, and is written out before it is planned: `COLUMNS(...)`, `* RENAME`, `#1`,
//! `unnest` that says how deep, and names of the select list that are used further on in it.
//!
//! What must hold: a column goes before a name of the select list; what is written out does not grow without end; each select list is
//! visited once.

mod ambiguous;
mod drawn;
mod merged_names;
mod put_in;
mod renamed;
mod rows;
mod several;
mod sorted;
mod stand_ins;
mod struct_stars;
mod unnested;
mod unpacked;
mod walk;
mod whole_rows;

use super::planner::Planner;
use datafusion::arrow::array::{AsArray, RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::DFSchema;
use datafusion::logical_expr::ColumnarValue;
use datafusion::sql::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query, Select, SelectItem,
    Value, Visitor, VisitorMut, WildcardAdditionalOptions,
};
use hushdb_sql::walk::{visit, visit_mut, visit_own_mut};
use hushdb_sql::{
    Error, PLACE, Result, folded, group_by_no_constants, groups_by_queries, table_of_row, unique,
};
use put_in::PutIn;
use renamed::is_written_out;
use std::collections::HashSet;
use std::ops::ControlFlow;
use unnested::Unnested;
pub(super) use walk::Column;
use walk::{Walker, Work};

/// Writes out `COLUMNS`, `* RENAME` and places, where a statement has some.
pub(super) fn expand(planner: &Planner<'_>, statement: &mut ast::Statement) -> Result<()> {
    if visit(statement, &mut Marks).is_continue() {
        return Ok(());
    }
    hushdb_sql::name_queries(statement);
    walk::walk(planner, statement, Work::Columns).map(drop)
}

/// Puts in what names of select lists mean; `false` when there is nothing to put in.
pub(super) fn name_what_is_meant(
    planner: &Planner<'_>,
    statement: &mut ast::Statement,
) -> Result<bool> {
    walk::walk(planner, statement, Work::Names)
}

/// Whether a select list gives names at all, or a name may be that of a whole row.
pub(super) fn gives_names(statement: &ast::Statement) -> bool {
    visit(statement, &mut Names).is_break() || whole_rows::may_be_named(statement)
}

/// The names that a select list gives.
fn given_names(select: &Select) -> impl Iterator<Item = &str> {
    select.projection.iter().filter_map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(alias.value.as_str()),
        _ => None,
    })
}

/// Whether a name that is given may be that of a column of `*`, too.
fn has_names_beside_star(select: &Select) -> bool {
    given_names(select).next().is_some()
        && select.projection.iter().any(|item| options(item).is_some())
}

struct Marks;

impl Visitor for Marks {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        match sorted::by_all_of_several(query)
            || merged_names::may_be_sorted_by(query)
            || several::in_with(query)
        {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, relation: &ast::TableFactor) -> ControlFlow<()> {
        match several::in_from(relation) || ambiguous::may_be_in_lateral(relation) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let renames =
            |item: &SelectItem| options(item).is_some_and(|with| is_written_out(with, select));
        let stars = select.projection.iter().filter_map(options);
        match stars.count() > 1
            || has_names_beside_star(select)
            || select.projection.iter().any(renames)
            || struct_stars::may_have(select)
            || drawn::may_be_in_qualify(select)
            || merged_names::may_be_named(select)
            || groups_by_queries(select)
        {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let is_mark = columns_of(expr).is_some()
            || place(expr).is_some()
            || table_of_row(expr).is_some()
            || unpacked::arguments(expr).is_some()
            || ambiguous::may_be_in(expr)
            || walk::query_of_list(expr).is_some_and(sorted::by_own_names)
            || !matches!(Unnested::of(expr), Ok(None));
        match is_mark {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

struct Names;

impl Visitor for Names {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let named = |item: &SelectItem| matches!(item, SelectItem::ExprWithAlias { .. });
        match select.projection.iter().any(named) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

fn options(item: &SelectItem) -> Option<&WildcardAdditionalOptions> {
    match item {
        SelectItem::Wildcard(options) | SelectItem::QualifiedWildcard(_, options) => Some(options),
        _ => None,
    }
}

/// The arguments of `COLUMNS(...)`.
fn columns_of(expr: &Expr) -> Option<&[FunctionArg]> {
    match call(expr)? {
        (name, args) if name.eq_ignore_ascii_case("columns") => Some(args),
        _ => None,
    }
}

/// The number in `#1`.
fn place(expr: &Expr) -> Option<usize> {
    match call(expr)? {
        (PLACE, [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))]) => {
            match &value.value {
                Value::Number(number, _) => number.parse().ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

fn call(expr: &Expr) -> Option<(&str, &[FunctionArg])> {
    let Expr::Function(function) = expr else {
        return None;
    };
    match (function.name.0.as_slice(), &function.args) {
        ([name], FunctionArguments::List(list)) if function.over.is_none() => {
            Some((name.as_ident()?.value.as_str(), &list.args))
        }
        _ => None,
    }
}

impl Walker<'_> {
    fn write_out(&mut self, select: &mut Select) -> Result<()> {
        self.refuse_drawn_in_qualify(select)?;
        if groups_by_queries(select) {
            let is_aggregate = |name: &str| self.planner.is_aggregate(name);
            group_by_no_constants(select, &is_aggregate, &|query| self.plan(query).is_ok());
        }
        self.write_out_merged(select)?;
        self.refuse_ambiguous(select)?;
        self.name_items(select)?;
        self.write_out_places(select)?;
        rows::write_out(self, select)?;
        self.unpack(select)?;
        let is_read = self.depth > 1 && several::shows_all(select);
        let mut items = vec![];
        let had_items = !select.projection.is_empty();
        for item in std::mem::take(&mut select.projection) {
            if let Some(fields) = self.fields_of(select, &item)? {
                items.extend(fields);
                continue;
            }
            match &item {
                SelectItem::Wildcard(with) | SelectItem::QualifiedWildcard(_, with)
                    if is_written_out(with, select) =>
                {
                    items.extend(self.renamed(select, &item)?);
                }
                SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                    let alias = match &item {
                        SelectItem::ExprWithAlias { alias, .. } => Some(alias),
                        _ => None,
                    };
                    if let Some(unnest) = Unnested::of(expr)?
                        && let Some(taken_apart) = self.unnested(select, unnest, alias)?
                    {
                        items.extend(taken_apart);
                        continue;
                    }
                    match find_columns(expr)? {
                        None => items.push(item),
                        Some(args) => items.extend(self.for_each(select, expr, &args, alias)?),
                    }
                }
                _ => items.push(item),
            }
        }
        if items.is_empty() && had_items {
            return Err(Error::binder(
                "SELECT list is empty after resolving * expressions!",
            ));
        }
        select.projection = items;
        self.tell_stars_apart(select)?;
        if is_read {
            several::tell_apart(&mut select.projection);
        }
        let conditions = [&select.selection, &select.having, &select.qualify];
        let conditions = conditions.map(|condition| match condition {
            Some(condition) => self.all_hold(select, condition),
            None => Ok(None),
        });
        let [selection, having, qualify] = conditions;
        select.selection = selection?;
        select.having = having?;
        select.qualify = qualify?;
        Ok(())
    }

    /// A condition for each column, all of which must hold.
    fn all_hold(&mut self, select: &Select, condition: &Expr) -> Result<Option<Expr>> {
        let Some(args) = find_columns(condition)? else {
            return Ok(Some(condition.clone()));
        };
        let each = self.for_each(select, condition, &args, None)?.into_iter();
        let each = each.filter_map(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
                Some(Expr::Nested(Box::new(expr)))
            }
            _ => None,
        });
        Ok(each.reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: ast::BinaryOperator::And,
            right: Box::new(right),
        }))
    }

    /// An expression once for each column that its COLUMNS stands for.
    fn for_each(
        &mut self,
        select: &Select,
        expr: &Expr,
        args: &[FunctionArg],
        alias: Option<&Ident>,
    ) -> Result<Vec<SelectItem>> {
        let chosen = self.chosen(select, args)?;
        let items = chosen.iter().map(|(column, pattern)| {
            let mut expr = expr.clone();
            let _: ControlFlow<()> = visit_mut(&mut expr, &mut Replace(column.expr()));
            let alias = match alias {
                None if expr == column.expr() && !column.is_replaced() => {
                    return Ok(SelectItem::UnnamedExpr(expr));
                }
                None => column.name.clone(),
                Some(alias) => alias_of(&alias.value, column, pattern.as_ref())?,
            };
            let alias = Ident::with_quote('"', alias);
            Ok(SelectItem::ExprWithAlias { expr, alias })
        });
        items.collect()
    }

    /// The columns that the arguments of COLUMNS choose, with the pattern that did.
    fn chosen(
        &mut self,
        select: &Select,
        args: &[FunctionArg],
    ) -> Result<Vec<(Column, Option<regex::Regex>)>> {
        let wrong = || {
            Error::binder(
                "COLUMNS takes *, a regular expression, a list of names, or a lambda of a name: COLUMNS(c -> c LIKE 'a%')",
            )
        };
        let [FunctionArg::Unnamed(arg)] = args else {
            return Err(wrong());
        };
        let star = |with: &WildcardAdditionalOptions| SelectItem::Wildcard(with.clone());
        let none = WildcardAdditionalOptions::default();
        let plain = |columns: Vec<Column>| columns.into_iter().map(|column| (column, None));
        let expr = match arg {
            FunctionArgExpr::Wildcard => {
                return Ok(plain(self.columns(select, star(&none))?).collect());
            }
            FunctionArgExpr::WildcardWithOptions(with) => {
                return Ok(plain(self.replaced_columns(select, with)?).collect());
            }
            FunctionArgExpr::QualifiedWildcard(table) => {
                let table = ast::SelectItemQualifiedWildcardKind::ObjectName(table.clone());
                let star = SelectItem::QualifiedWildcard(table, none);
                return Ok(plain(self.columns(select, star)?).collect());
            }
            FunctionArgExpr::Expr(expr) => expr,
        };
        let all = self.all_columns(select)?;
        let chosen: Vec<(Column, Option<regex::Regex>)> = match expr {
            Expr::Value(value) => {
                let Value::SingleQuotedString(pattern) = &value.value else {
                    return Err(wrong());
                };
                let pattern = regex::Regex::new(pattern)
                    .map_err(|_| Error::invalid("COLUMNS takes a regular expression"))?;
                let all = all.into_iter();
                let found = all.filter(|column| pattern.is_match(&column.name));
                found
                    .map(|column| (column, Some(pattern.clone())))
                    .collect()
            }
            Expr::Array(list) => listed(all, &list.elem)?
                .into_iter()
                .map(|c| (c, None))
                .collect(),
            Expr::Lambda(lambda) => {
                let ast::OneOrManyWithParens::One(name) = &lambda.params else {
                    return Err(wrong());
                };
                let mut chosen = vec![];
                for column in all {
                    if self.holds(&lambda.body, &name.name, &column.name)? {
                        chosen.push((column, None));
                    }
                }
                chosen
            }
            _ => return Err(wrong()),
        };
        match chosen.is_empty() {
            true => Err(Error::binder(
                "No matching columns found that match the expression of COLUMNS",
            )),
            false => Ok(chosen),
        }
    }

    /// Whether a condition on a name holds for a column's.
    fn holds(&self, condition: &Expr, parameter: &Ident, name: &str) -> Result<bool> {
        let mut condition = condition.clone();
        let text = Expr::value(Value::SingleQuotedString(name.to_owned()));
        let _: ControlFlow<()> = visit_own_mut(
            &mut condition,
            &mut PutIn::new(vec![(folded(&parameter.value), text)]),
        );
        let nothing = std::sync::Arc::new(DFSchema::empty());
        let planned = self.planner.plan_expr(condition, &nothing)?;
        let planned = self.planner.physical_expr(planned, &nothing)?;
        let one = RecordBatchOptions::new().with_row_count(Some(1));
        let row = RecordBatch::try_new_with_options(Schema::empty().into(), vec![], &one)?;
        let value = planned
            .evaluate(&row)
            .and_then(|value| ColumnarValue::into_array(value, 1))?;
        match value.as_boolean_opt() {
            Some(value) => Ok(value.iter().next().flatten() == Some(true)),
            None => Err(Error::binder(
                "the lambda of COLUMNS must say true or false",
            )),
        }
    }

    /// `SELECT *, *` and `SELECT *, a + 1 AS a` with a name of its own for each column: the planner takes none twice. So has `*` of
    /// several tables in a query that another one reads.
    fn tell_stars_apart(&mut self, select: &mut Select) -> Result<()> {
        let has_several = select.projection.iter().filter_map(options).count() > 1;
        let is_read = self.depth > 1 && several::shows_all(select);
        let must_be_told_apart = has_several || has_names_beside_star(select);
        if !must_be_told_apart && !is_read {
            return Ok(());
        }
        let mut is_twice = false;
        let mut taken = HashSet::new();
        let mut items = vec![];
        for item in select.projection.clone() {
            if options(&item).is_none() {
                items.push(item);
                continue;
            }
            let shown = match self.renamed(select, &item) {
                // A lateral join is not planned by itself.
                Err(_) if !must_be_told_apart => return Ok(()),
                shown => shown?,
            };
            for item in shown {
                let (expr, name) = match item {
                    SelectItem::ExprWithAlias { expr, alias } => (expr, alias.value),
                    SelectItem::UnnamedExpr(expr) => {
                        let name = last_name(&expr).unwrap_or_default();
                        (expr, name)
                    }
                    other => {
                        items.push(other);
                        continue;
                    }
                };
                let own = unique(&mut taken, name.clone());
                is_twice |= own != name;
                // What REPLACE has put there may be a column of another name.
                let is_name = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
                items.push(match is_name && last_name(&expr).as_ref() == Some(&own) {
                    true => SelectItem::UnnamedExpr(expr),
                    false => SelectItem::ExprWithAlias {
                        expr,
                        alias: Ident::with_quote('"', own),
                    },
                });
            }
        }
        let is_taken = |name| taken.contains(&folded(name));
        if has_several || is_read && is_twice || given_names(select).any(is_taken) {
            select.projection = items;
        }
        Ok(())
    }

    /// `#1` is the first column of FROM.
    fn write_out_places(&mut self, select: &mut Select) -> Result<()> {
        let mut found = Places(vec![]);
        let _: ControlFlow<()> = visit(select, &mut found);
        if found.0.is_empty() {
            return Ok(());
        }
        let columns = self.all_columns(select)?;
        let wrong = found.0.iter().find(|n| !(1..=columns.len()).contains(*n));
        if let Some(wrong) = wrong {
            return Err(Error::binder(format!(
                "Positional reference {wrong} out of range (total {} columns)",
                columns.len()
            )));
        }
        let _: ControlFlow<()> = visit_mut(select, &mut FillPlaces(columns));
        Ok(())
    }
}

/// The name that an expression of COLUMNS gives for a column: `\0` in it is the column's, `\1` what a group of the pattern has found.
fn alias_of(alias: &str, column: &Column, pattern: Option<&regex::Regex>) -> Result<String> {
    let found = pattern.and_then(|pattern| pattern.captures(&column.name));
    let mut name = String::new();
    let mut letters = alias.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            name.push(letter);
            continue;
        }
        match letters.next() {
            Some('\\') => name.push('\\'),
            Some('0') if pattern.is_none() => name.push_str(&column.name),
            Some('1'..='9') if pattern.is_none() => {
                return Err(Error::binder(
                    "Only the backslash escape code \\0 can be used when no regex is supplied to COLUMNS(*)",
                ));
            }
            Some(digit @ '0'..='9') => {
                let group = digit.to_digit(10).unwrap_or_default() as usize;
                let group = found.as_ref().and_then(|found| found.get(group));
                name.push_str(group.map_or("", |group| group.as_str()));
            }
            _ => {
                return Err(Error::binder(
                    "Unterminated backslash in the alias of COLUMNS. Backslashes must either be escaped or followed by a number",
                ));
            }
        }
    }
    Ok(name)
}

/// The name of a column.
fn last_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Identifier(name) => Some(name.value.clone()),
        Expr::CompoundIdentifier(parts) => parts.last().map(|name| name.value.clone()),
        _ => None,
    }
}

/// The columns of a list of names.
fn listed(all: Vec<Column>, names: &[Expr]) -> Result<Vec<Column>> {
    let mut chosen = HashSet::new();
    for name in names {
        let wanted = match name {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(name) => name,
                _ => return Err(Error::binder("COLUMNS takes a list of texts")),
            },
            _ => return Err(Error::binder("COLUMNS takes a list of texts")),
        };
        let wanted_name = folded(wanted);
        if !all.iter().any(|c| folded(&c.name) == wanted_name) {
            return Err(Error::binder(format!(
                "Column \"{wanted}\" was selected but was not found in the FROM clause"
            )));
        }
        chosen.insert(wanted_name);
    }
    let all = all.into_iter();
    Ok(all.filter(|c| chosen.contains(&folded(&c.name))).collect())
}

/// The arguments of an expression's COLUMNS, if it has one: two that are not the same make no sense.
fn find_columns(expr: &Expr) -> Result<Option<Vec<FunctionArg>>> {
    let mut found = Found(vec![]);
    let _: ControlFlow<()> = visit(expr, &mut found);
    let mut all = found.0.into_iter();
    let first = all.next();
    match first
        .as_ref()
        .is_none_or(|first| all.all(|other| other == *first))
    {
        true => Ok(first),
        false => Err(Error::binder(
            "Multiple different STAR/COLUMNS in the same expression are not supported",
        )),
    }
}

/// Collects the arguments of COLUMNS, but for those of queries within.
struct Found(Vec<Vec<FunctionArg>>);

impl Visitor for Found {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Some(args) = columns_of(expr) {
            self.0.push(args.to_vec());
        }
        ControlFlow::Continue(())
    }
}

/// Puts a column where COLUMNS stands.
struct Replace(Expr);

impl VisitorMut for Replace {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if columns_of(expr).is_some() {
            *expr = self.0.clone();
        }
        ControlFlow::Continue(())
    }
}

struct Places(Vec<usize>);

impl Visitor for Places {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.0.extend(place(expr));
        ControlFlow::Continue(())
    }
}

struct FillPlaces(Vec<Column>);

impl VisitorMut for FillPlaces {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let column = place(expr).and_then(|n| self.0.get(n.checked_sub(1)?));
        if let Some(column) = column {
            *expr = column.expr();
        }
        ControlFlow::Continue(())
    }
}
