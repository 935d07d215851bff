//! `SELECT ... FROM a JOIN b USING (x) WHERE x > 1`: the planner finds the merged column in a select list, and takes it for ambiguous in a
//! condition. There it gets the name of the table whose column `*` shows, and everywhere where a table of another join has such a column.
//! What a right or full join merges is of a table that the planner has for both.

use super::walk::{Column, Walker};
use super::{given_names, last_name};
use datafusion::sql::sqlparser::ast::{
    AccessExpr, Distinct, Expr, Ident, Join, JoinConstraint, JoinOperator, LambdaFunction,
    ObjectName, ObjectNamePart, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins,
    Visit, VisitMut, VisitorMut,
};
use hushdb_sql::walk::{visit_expressions, visit_mut, visit_own_mut};
use hushdb_sql::{
    MERGED, Result, column_name, constraint_mut, constraint_of, folded, having_items, tables_of,
};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// Names of columns that joins of a FROM merge.
#[derive(Default)]
struct Merged {
    /// And the tables on the left of the joins that merge it, of which one has the column.
    named: HashMap<String, HashSet<String>>,
    /// A NATURAL JOIN merges columns of whatever names.
    any: bool,
    /// A NATURAL JOIN that is RIGHT or FULL does, so that those of its tables are others.
    of_neither: bool,
}

impl Merged {
    fn of(select: &Select) -> Self {
        Self::of_from(&select.from)
    }

    fn of_from(from: &[TableWithJoins]) -> Self {
        let mut merged = Self::default();
        for tables in from {
            merged.add(tables, &mut HashSet::new());
        }
        merged
    }

    /// Adds those of joins; `known` are the tables so far.
    fn add(&mut self, tables: &TableWithJoins, known: &mut HashSet<String>) {
        self.add_factor(&tables.relation, known);
        for join in &tables.joins {
            self.add_join(join, known);
        }
    }

    fn add_join(&mut self, join: &Join, known: &mut HashSet<String>) {
        use JoinOperator as J;
        if let Some(on) = constraint_of(&join.join_operator) {
            let is_natural = matches!(on, JoinConstraint::Natural);
            self.any |= is_natural;
            self.of_neither |= is_natural
                && matches!(
                    join.join_operator,
                    J::Right(_) | J::RightOuter(_) | J::FullOuter(_)
                );
            if let JoinConstraint::Using(columns) = on {
                let columns = columns.iter().filter_map(|column| column.0.last());
                for column in columns.filter_map(ObjectNamePart::as_ident) {
                    let tables = self.named.entry(name_of(column)).or_default();
                    tables.extend(known.iter().cloned());
                }
            }
        }
        self.add_factor(&join.relation, known);
    }

    fn add_factor(&mut self, factor: &TableFactor, known: &mut HashSet<String>) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => {
                // What is merged in brackets is of the tables there.
                let mut within = HashSet::new();
                self.add(table_with_joins, &mut within);
                known.extend(within);
            }
            other => known.extend(tables_of([other])),
        }
    }

    fn is_empty(&self) -> bool {
        self.named.is_empty() && !self.any
    }

    /// Whether a part of a statement may name one.
    fn is_named(&self, part: &impl Visit) -> bool {
        let named = visit_expressions(part, |expr| match expr {
            Expr::Identifier(name) if self.has(&name.value) => ControlFlow::Break(()),
            Expr::CompoundIdentifier(_) if self.of_neither => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        });
        named.is_break()
    }

    fn has(&self, name: &str) -> bool {
        self.any || self.named.contains_key(&folded(name))
    }

    /// Whether a column that `*` shows is the one that is meant by its name.
    fn is(&self, column: &Column) -> bool {
        match (self.named.get(&folded(&column.name)), column.table()) {
            (Some(tables), Some(table)) => is_of_both(table) || tables.contains(&folded(table)),
            (Some(_), None) => column.is_alone(),
            (None, _) => self.any && column.is_alone(),
        }
    }
}

fn name_of(name: &Ident) -> String {
    folded(&name.value)
}

/// Whether a table is none, but what a right or full join has made of two.
fn is_of_both(table: &str) -> bool {
    table.starts_with(MERGED)
}

/// Whether a SELECT may name a merged column.
pub(super) fn may_be_named(select: &Select) -> bool {
    let merged = Merged::of(select);
    !merged.is_empty() && merged.is_named(select)
}

/// Calls `each` with the conditions of joins, and with the columns that are merged where they stand.
fn for_conditions(tables: &mut TableWithJoins, each: &mut dyn FnMut(&mut Expr, &Merged)) {
    let (mut merged, mut known) = (Merged::default(), HashSet::new());
    for_conditions_within(&mut tables.relation, each);
    merged.add_factor(&tables.relation, &mut known);
    for join in &mut tables.joins {
        for_conditions_within(&mut join.relation, each);
        merged.add_join(join, &mut known);
        if let Some(JoinConstraint::On(on)) = constraint_mut(&mut join.join_operator) {
            each(on, &merged);
        }
    }
}

fn for_conditions_within(factor: &mut TableFactor, each: &mut dyn FnMut(&mut Expr, &Merged)) {
    if let TableFactor::NestedJoin {
        table_with_joins, ..
    } = factor
    {
        for_conditions(table_with_joins, each);
    }
}

/// Whether the ORDER BY of a query may name a merged column.
pub(super) fn may_be_sorted_by(query: &Query) -> bool {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &query.order_by) else {
        return false;
    };
    let merged = Merged::of(select);
    !merged.is_empty() && merged.is_named(order_by)
}

impl Walker<'_> {
    /// Puts tables before merged columns: in the conditions of a SELECT and of later joins, and where another table has a column of
    /// the name everywhere.
    pub(super) fn write_out_merged(&mut self, select: &mut Select) -> Result<()> {
        if !may_be_named(select) {
            return Ok(());
        }
        let merged = Merged::of(select);
        if merged.of_neither || merged.any && has_several_joins(select) {
            for tables in &mut select.from {
                self.say_what_is_merged(tables);
            }
        }
        for tables in &mut select.from {
            self.put_in_semi_joins(tables);
        }
        self.put_in_lateral_queries(&mut select.from);
        let Some(meant) = self.meant(&select.from, &Merged::of(select)) else {
            return Ok(());
        };
        // A name in HAVING may be an item's.
        having_items(select, &|name| self.planner.is_aggregate(name), &|_| false);
        let written = select.projection.clone();
        self.put_within(select, &meant);
        let mut put = meant;
        put.put(&mut select.projection);
        put.put(&mut select.group_by);
        put.put(&mut select.having);
        put.put(&mut select.qualify);
        put.put(&mut select.selection);
        let items = names_of_items(select);
        if let (Some(Distinct::On(on)), Some(items)) = (&mut select.distinct, items) {
            put.without(&items).put(on);
        }
        keep_names(select, &written);
        for tables in &mut select.from {
            for_conditions(tables, &mut |on, merged| put.of(merged).put(on));
        }
        Ok(())
    }

    /// The same in an ORDER BY, where names of the select list go before.
    pub(super) fn sort_by_merged(&mut self, query: &mut Query) {
        if !may_be_sorted_by(query) {
            return;
        }
        let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &mut query.order_by)
        else {
            return;
        };
        if let Some(items) = names_of_items(select)
            && let Some(meant) = self.meant(&select.from, &Merged::of(select))
        {
            meant.without(&items).put(order_by);
        }
    }

    /// Gives NATURAL joins the names that both sides have: what they merge is seen beside others then. What cannot be planned by itself
    /// stays as it is.
    fn say_what_is_merged(&mut self, tables: &mut TableWithJoins) {
        self.say_what_is_merged_within(&mut tables.relation);
        for at in 0..tables.joins.len() {
            let (before, rest) = tables.joins.split_at_mut(at);
            let Some(join) = rest.first_mut() else {
                continue;
            };
            self.say_what_is_merged_within(&mut join.relation);
            let Some(on @ JoinConstraint::Natural) = constraint_mut(&mut join.join_operator) else {
                continue;
            };
            let mut columns = |relation: &TableFactor, joins: &[Join]| {
                let tables = TableWithJoins {
                    relation: relation.clone(),
                    joins: joins.to_vec(),
                };
                self.named_in(&[tables])
            };
            let (left, right) = (
                columns(&tables.relation, before),
                columns(&join.relation, &[]),
            );
            if let (Ok(left), Ok(right)) = (left, right) {
                let names = shared(&left, &right);
                if !names.is_empty() {
                    *on = JoinConstraint::Using(names);
                }
            }
        }
    }

    fn say_what_is_merged_within(&mut self, factor: &mut TableFactor) {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            self.say_what_is_merged(table_with_joins);
        }
    }

    /// Puts tables in what SEMI and ANTI joins are on: columns of both sides are seen there.
    fn put_in_semi_joins(&mut self, tables: &mut TableWithJoins) {
        use JoinOperator as J;
        let (mut merged, mut known) = (Merged::default(), HashSet::new());
        self.put_in_semi_joins_within(&mut tables.relation);
        merged.add_factor(&tables.relation, &mut known);
        for at in 0..tables.joins.len() {
            let (before, rest) = tables.joins.split_at_mut(at);
            let Some(join) = rest.first_mut() else {
                continue;
            };
            self.put_in_semi_joins_within(&mut join.relation);
            merged.add_join(join, &mut known);
            let (J::Semi(on) | J::LeftSemi(on) | J::Anti(on) | J::LeftAnti(on)) =
                &mut join.join_operator
            else {
                continue;
            };
            self.put_in_unseen(&mut join.relation);
            let JoinConstraint::On(on) = on else {
                continue;
            };
            if merged.is_empty() || !merged.is_named(on) {
                continue;
            }
            let side_by_side = Join {
                relation: join.relation.clone(),
                global: false,
                join_operator: J::CrossJoin(JoinConstraint::None),
            };
            let both = TableWithJoins {
                relation: tables.relation.clone(),
                joins: before.iter().cloned().chain([side_by_side]).collect(),
            };
            if let Some(mut meant) = self.meant(&[both], &merged) {
                meant.put(on);
            }
        }
    }

    /// Puts tables in conditions within brackets on the right of a SEMI or ANTI JOIN, whose columns nothing else sees.
    fn put_in_unseen(&mut self, factor: &mut TableFactor) {
        let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        else {
            return;
        };
        let mut merged = Merged::default();
        merged.add(table_with_joins, &mut HashSet::new());
        if merged.is_empty() {
            return;
        }
        let tables = std::slice::from_ref(table_with_joins.as_ref());
        if let Some(meant) = self.meant(tables, &merged) {
            for_conditions(table_with_joins, &mut |on, merged| meant.of(merged).put(on));
        }
    }

    fn put_in_semi_joins_within(&mut self, factor: &mut TableFactor) {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            self.put_in_semi_joins(table_with_joins);
        }
    }

    /// Puts tables before merged columns in queries in FROM, which see what is to their left. Those that are not LATERAL become it.
    fn put_in_lateral_queries(&mut self, from: &mut [TableWithJoins]) {
        for at in 0..from.len() {
            let (before, rest) = from.split_at_mut(at);
            let Some(tables) = rest.first_mut() else {
                continue;
            };
            self.put_in_lateral_query(&mut tables.relation, before, None);
            for at in 0..tables.joins.len() {
                let (joined, rest) = tables.joins.split_at_mut(at);
                let left = (&tables.relation, &*joined);
                if let Some(join) = rest.first_mut() {
                    self.put_in_lateral_query(&mut join.relation, before, Some(left));
                }
            }
        }
    }

    fn put_in_lateral_query(
        &mut self,
        factor: &mut TableFactor,
        before: &[TableWithJoins],
        joined: Option<(&TableFactor, &[Join])>,
    ) {
        let TableFactor::Derived { subquery, .. } = factor else {
            return;
        };
        let joined = joined.map(|(relation, joins)| TableWithJoins {
            relation: relation.clone(),
            joins: joins.to_vec(),
        });
        let left: Vec<TableWithJoins> = before.iter().cloned().chain(joined).collect();
        let merged = Merged::of_from(&left);
        if merged.is_empty() || !merged.is_named(subquery.as_ref()) {
            return;
        }
        let Some(put) = self.meant(&left, &merged) else {
            return;
        };
        let written = match subquery.body.as_ref() {
            SetExpr::Select(select) => Some(select.projection.clone()),
            _ => None,
        };
        let mut within = Within {
            walker: self,
            put,
            levels: vec![],
        };
        let _: ControlFlow<()> = visit_mut(subquery.as_mut(), &mut within);
        if let (SetExpr::Select(select), Some(written)) = (subquery.body.as_mut(), written) {
            keep_names(select, &written);
        }
    }

    /// Puts tables before merged columns in queries within a SELECT: the planner does not find these from there.
    fn put_within(&mut self, select: &mut Select, meant: &PutTables) {
        let mut within = Within {
            walker: self,
            put: PutTables::of_columns(meant.columns.clone()),
            levels: vec![],
        };
        let _: ControlFlow<()> = visit_mut(&mut select.projection, &mut within);
        let _: ControlFlow<()> = visit_mut(&mut select.selection, &mut within);
        let _: ControlFlow<()> = visit_mut(&mut select.having, &mut within);
        let _: ControlFlow<()> = visit_mut(&mut select.qualify, &mut within);
    }

    /// What the names of merged columns mean. Of what cannot be planned by itself, such as a lateral join, nobody knows it.
    fn meant(&mut self, from: &[TableWithJoins], merged: &Merged) -> Option<PutTables> {
        let columns = self.named_in(from).ok()?;
        let meant = columns.into_iter().filter(|column| merged.is(column));
        let (alone, beside_others): (Vec<Column>, Vec<Column>) = meant.partition(Column::is_alone);
        let (mut meant, beside_others) = (PutTables::new(alone), PutTables::new(beside_others));
        // What two joins have merged side by side could be either.
        let is_one = |name: &str| {
            let columns = beside_others.columns.iter();
            columns
                .filter(|(_, other)| folded(other) == folded(name))
                .count()
                == 1
        };
        meant.columns.extend(beside_others.with(is_one).columns);
        Some(meant)
    }
}

/// The names that columns of both sides have.
fn shared(left: &[Column], right: &[Column]) -> Vec<ObjectName> {
    let mut names: Vec<&str> = vec![];
    for column in left {
        let is_it = |other: &Column| folded(&other.name) == folded(&column.name);
        if right.iter().any(is_it) && !names.contains(&column.name.as_str()) {
            names.push(&column.name);
        }
    }
    let names = names.into_iter().map(|name| Ident::with_quote('"', name));
    names.map(|name| ObjectName::from(vec![name])).collect()
}

/// The names that a select list gives to its columns; `None` where it has a `*`.
fn names_of_items(select: &Select) -> Option<HashSet<String>> {
    let mut names = HashSet::new();
    for item in &select.projection {
        match item {
            SelectItem::ExprWithAlias { alias, .. } => names.extend([name_of(alias)]),
            SelectItem::UnnamedExpr(expr) => {
                names.extend(last_name(expr).map(|name| folded(&name)));
            }
            _ => return None,
        }
    }
    Some(names)
}

/// Columns are called as they were written.
fn keep_names(select: &mut Select, written: &[SelectItem]) {
    for (item, written) in select.projection.iter_mut().zip(written) {
        let (SelectItem::UnnamedExpr(expr), SelectItem::UnnamedExpr(written)) = (&*item, written)
        else {
            continue;
        };
        if expr != written && last_name(written).is_none() {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', column_name(written)),
            };
        }
    }
}

/// Whether a FROM joins more than two tables.
fn has_several_joins(select: &Select) -> bool {
    let is_nested = |factor: &TableFactor| matches!(factor, TableFactor::NestedJoin { .. });
    let tables = select.from.iter().map(|tables| {
        let joined = tables.joins.iter().map(|join| &join.relation);
        let all = joined.chain([&tables.relation]);
        all.map(|factor| if is_nested(factor) { 2 } else { 1 })
            .sum::<usize>()
    });
    tables.sum::<usize>() > 2
}

/// Whether a name stands behind a dot: it is visited like others.
pub(super) fn names_fields(select: &Select) -> bool {
    let found = visit_expressions(select, |expr| match expr {
        Expr::CompoundFieldAccess { access_chain, .. } => {
            let mut fields = access_chain.iter();
            match fields.any(|field| matches!(field, AccessExpr::Dot(_))) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

struct PutTables {
    columns: Vec<(String, String)>,
    /// Names of lambdas around.
    parameters: Vec<String>,
}

impl PutTables {
    fn new(columns: Vec<Column>) -> Self {
        let columns = columns.into_iter();
        let columns = columns.filter_map(|column| Some((column.table()?.to_owned(), column.name)));
        Self::of_columns(columns.collect())
    }

    fn of_columns(columns: Vec<(String, String)>) -> Self {
        Self {
            columns,
            parameters: vec![],
        }
    }

    /// Those for which something holds.
    fn with(&self, holds: impl Fn(&str) -> bool) -> Self {
        let columns = self.columns.iter();
        let columns = columns.filter(|(_, name)| holds(name)).cloned();
        Self::of_columns(columns.collect())
    }

    fn without(&self, names: &HashSet<String>) -> Self {
        self.with(|name| !names.contains(&folded(name)))
    }

    fn of(&self, merged: &Merged) -> Self {
        self.with(|name| merged.has(name))
    }

    fn put(&mut self, part: &mut impl VisitMut) {
        let _: ControlFlow<()> = visit_own_mut(part, self);
    }
}

fn parameters(lambda: &LambdaFunction) -> impl Iterator<Item = String> {
    let parameters = lambda.params.iter();
    parameters.map(|parameter| name_of(&parameter.name))
}

/// Calls `each` with what stands behind dots: names that are visited like others, but those of no column.
fn fields(access_chain: &mut [AccessExpr], each: impl Fn(&mut Expr)) {
    for access in access_chain {
        if let AccessExpr::Dot(field) = access {
            each(field);
        }
    }
}

impl VisitorMut for PutTables {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Lambda(lambda) => self.parameters.extend(parameters(lambda)),
            Expr::CompoundFieldAccess { access_chain, .. } => fields(access_chain, |field| {
                if let Expr::Identifier(name) = field {
                    *field = Expr::CompoundIdentifier(vec![name.clone()]);
                }
            }),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Lambda(lambda) => {
                let without = self.parameters.len() - parameters(lambda).count();
                self.parameters.truncate(without);
            }
            Expr::CompoundFieldAccess { access_chain, .. } => fields(access_chain, |field| {
                if let Expr::CompoundIdentifier(name) = field
                    && let [name] = name.as_slice()
                {
                    *field = Expr::Identifier(name.clone());
                }
            }),
            Expr::Identifier(name) if !self.parameters.contains(&name_of(name)) => {
                let wanted = name_of(name);
                let mut columns = self.columns.iter();
                if let Some((table, _)) = columns.find(|(_, name)| folded(name) == wanted) {
                    let table = Ident::with_quote('"', table);
                    *expr = Expr::CompoundIdentifier(vec![table, name.clone()]);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Puts tables in the queries within a SELECT.
struct Within<'w, 'p> {
    walker: &'w mut Walker<'p>,
    put: PutTables,
    /// The names that queries around a place have themselves; `None` where nobody knows.
    levels: Vec<Option<HashSet<String>>>,
}

impl Within<'_, '_> {
    fn names_of(&mut self, query: &Query) -> Option<HashSet<String>> {
        let SetExpr::Select(select) = query.body.as_ref() else {
            return None;
        };
        let columns = self.walker.named_in(&select.from).ok()?;
        let columns = columns.iter().map(|column| folded(&column.name));
        Some(columns.chain(given_names(select).map(folded)).collect())
    }

    fn is_meant(&self, name: &Ident) -> bool {
        let name = name_of(name);
        let mut levels = self.levels.iter().flatten();
        !self.levels.is_empty()
            && self.levels.iter().all(Option::is_some)
            && !levels.any(|names| names.contains(&name))
    }
}

impl VisitorMut for Within<'_, '_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let names = self.names_of(query);
        self.levels.push(names);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.levels.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        self.put.pre_visit_expr(expr)
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) if !self.is_meant(name) => ControlFlow::Continue(()),
            expr => self.put.post_visit_expr(expr),
        }
    }
}
