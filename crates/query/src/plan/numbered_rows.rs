//! `rowid`: the number of a row, as a column of each table that no star shows.
//!
//! What must hold: a column of that name goes before; a table gets its row ids only within the SELECT that names them.

use super::planner::Planner;
use super::snapshot::{Relation, TableName};
use super::with_queries::{Flow, Given, flow};
use crate::scan::ROW_ID;
use datafusion::sql::sqlparser::ast::{
    self, CastKind, DataType, Expr, Ident, ObjectName, ObjectNamePart, OrderByKind, Query,
    RenameSelectItem, Select, SelectItem, SetExpr, TableAlias, TableFactor, VisitorMut,
};
use hushdb_sql::walk::{visit_expressions, visit_mut};
use hushdb_sql::{Error, Result, name_in_text, name_parts, quoted};
use hushdb_storage::same_name;
use std::collections::HashSet;
use std::ops::ControlFlow;

const NAME: &str = "rowid";
/// What the name of a table begins with that is to have its row ids.
const NUMBERED: &str = "$numbered ";

/// The table that a name of ours stands for.
pub(super) fn numbered_table(name: &str) -> Option<Vec<String>> {
    name_in_text(name.strip_prefix(NUMBERED)?).ok()
}

/// Puts row ids in where a statement names them.
///
/// # Errors
/// `Binder` where several tables of a FROM could be meant.
pub(super) fn put_in(planner: &Planner<'_>, statement: &mut ast::Statement) -> Result<()> {
    let is_named = visit_expressions(statement, |expr| match is_it(expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    if is_named.is_continue() {
        return Ok(());
    }
    let mut walk = Walk {
        planner,
        with: Given::default(),
    };
    match visit_mut(statement, &mut walk) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

/// Whether an expression is the name of a row's number.
fn is_it(expr: &Expr) -> bool {
    is_name(expr, NAME)
}

/// Whether an expression is a name, with its table or without.
pub(super) fn is_name(expr: &Expr, wanted: &str) -> bool {
    let name = match expr {
        Expr::Identifier(name) => Some(name),
        Expr::CompoundIdentifier(parts) => parts.last(),
        _ => None,
    };
    name.is_some_and(|name| same_name(&name.value, wanted))
}

struct Walk<'a> {
    planner: &'a Planner<'a>,
    with: Given,
}

impl VisitorMut for Walk<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> Flow {
        self.with.enter(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Flow {
        let done = self.query(query);
        self.with.leave();
        flow(done)
    }
}

/// The SELECTs of a query's body, but those in brackets, which are queries themselves.
fn each_select(body: &mut SetExpr, f: &mut impl FnMut(&mut Select)) {
    match body {
        SetExpr::Select(select) => f(select),
        SetExpr::SetOperation { left, right, .. } => {
            each_select(left, f);
            each_select(right, f);
        }
        _ => {}
    }
}

/// A table that has row ids to give.
struct Table {
    /// What it is called in its FROM.
    alias: String,
    /// Where it is; `None` where it has them already.
    place: Option<TableName>,
}

impl Walk<'_> {
    /// Puts row ids into a query, whose parts in brackets were visited.
    fn query(&self, query: &mut Query) -> Result<()> {
        let mut done = Ok(());
        each_select(&mut query.body, &mut |select| {
            if done.is_ok() {
                done = self.select(select);
            }
        });
        done?;
        let (SetExpr::Select(select), Some(order)) = (query.body.as_mut(), &mut query.order_by)
        else {
            return Ok(());
        };
        let OrderByKind::Expressions(items) = &mut order.kind else {
            return Ok(());
        };
        let tables = self.tables(select)?;
        let is_shown = select.projection.iter().any(|item| {
            matches!(item, SelectItem::ExprWithAlias { alias, .. } if same_name(&alias.value, NAME))
        });
        for item in items {
            if is_it(&item.expr) && is_shown {
                continue;
            }
            let mut put_in = PutIn::new(&tables);
            let _ = visit_mut(&mut item.expr, &mut put_in);
            if !put_in.used.is_empty() {
                give_row_ids(select, &tables);
            }
        }
        Ok(())
    }

    /// Puts row ids into a SELECT.
    fn select(&self, select: &mut Select) -> Result<()> {
        let tables = self.tables(select)?;
        name_beside_star(select, &tables);
        if tables.is_empty() {
            return Ok(());
        }
        let mut put_in = PutIn::new(&tables);
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && put_in.means(expr)
            {
                let alias = Ident::new(NAME);
                let expr = expr.clone();
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        // What is in FROM was visited by itself; conditions of joins are not queries.
        let _ = visit_mut(select, &mut put_in);
        if put_in.is_ambiguous {
            let names: Vec<String> = tables
                .iter()
                .map(|table| format!("\"{}.{NAME}\"", table.alias))
                .collect();
            return Err(Error::binder(format!(
                "Ambiguous reference to column name \"{NAME}\" (use: {})",
                names.join(" or ")
            )));
        }
        if !put_in.used.is_empty() {
            give_row_ids(select, &tables);
        }
        Ok(())
    }

    /// The tables of a FROM that have row ids to give.
    fn tables(&self, select: &Select) -> Result<Vec<Table>> {
        let mut tables = vec![];
        for from in &select.from {
            let joined = from.joins.iter().map(|join| &join.relation);
            for factor in std::iter::once(&from.relation).chain(joined) {
                if let TableFactor::Table {
                    name,
                    alias,
                    args: None,
                    ..
                } = factor
                    && let Some(table) = self.table(name, alias.as_ref())?
                {
                    tables.push(table);
                }
            }
        }
        Ok(tables)
    }

    fn table(&self, name: &ObjectName, alias: Option<&TableAlias>) -> Result<Option<Table>> {
        let Ok(parts) = name_parts(name) else {
            return Ok(None);
        };
        let Some(last) = parts.last() else {
            return Ok(None);
        };
        let alias = alias.map_or(last, |alias| &alias.name.value).clone();
        if let [own] = parts.as_slice() {
            if self.planner.is_target(own) || numbered_table(own).is_some() {
                return Ok(Some(Table { alias, place: None }));
            }
            if self.with.has(own) {
                return Ok(None);
            }
        }
        let Ok((place, Relation::Table(table))) = self.planner.snapshot.relation(&parts) else {
            return Ok(None);
        };
        let has_own = table
            .columns
            .iter()
            .any(|column| same_name(&column.name, NAME));
        let place = Some(place);
        Ok((!has_own).then_some(Table { alias, place }))
    }
}

/// A column of a table's own that is called so has another name beside a star, as all columns have that are there twice.
fn name_beside_star(select: &mut Select, tables: &[Table]) {
    let mut items = select.projection.iter();
    // One that leaves columns out may leave out this one.
    let is_star = |item: &SelectItem| match item {
        SelectItem::Wildcard(of) | SelectItem::QualifiedWildcard(_, of) => {
            of.opt_exclude.is_none() && of.opt_except.is_none() && of.opt_ilike.is_none()
        }
        _ => false,
    };
    if !items.any(is_star) {
        return;
    }
    let put_in = PutIn::new(tables);
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && is_it(expr)
            && !put_in.means(expr)
        {
            let alias = Ident::new(format!("{NAME}_1"));
            let expr = expr.clone();
            *item = SelectItem::ExprWithAlias { expr, alias };
        }
    }
}

/// Has the tables of a FROM give their row ids, which stars do not show.
fn give_row_ids(select: &mut Select, tables: &[Table]) {
    for from in &mut select.from {
        let joined = from.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut from.relation).chain(joined) {
            if let TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } = factor
            {
                let called = alias.as_ref().map(|alias| alias.name.value.clone());
                let called = called.or_else(|| name_parts(name).ok()?.pop());
                let is_it = |table: &&Table| called.as_ref() == Some(&table.alias);
                let Some(table) = tables.iter().find(is_it) else {
                    continue;
                };
                let Some(place) = &table.place else {
                    continue;
                };
                let path = [&place.database, &place.schema, &place.name].map(|part| quoted(part));
                let text = format!("{NUMBERED}{}", path.join("."));
                *name = ObjectName(vec![ObjectNamePart::Identifier(Ident::with_quote(
                    '"', text,
                ))]);
                if alias.is_none() {
                    *alias = Some(TableAlias {
                        explicit: true,
                        name: Ident::with_quote('"', &table.alias),
                        columns: vec![],
                        at: None,
                    });
                }
            }
        }
    }
    for item in &mut select.projection {
        if let SelectItem::Wildcard(with) | SelectItem::QualifiedWildcard(_, with) = item
            && with.opt_rename.is_none()
        {
            // Which has the star written out.
            with.opt_rename = Some(RenameSelectItem::Multiple(vec![]));
        }
    }
}

/// Writes row ids in the place of their name.
struct PutIn<'a> {
    tables: &'a [Table],
    /// How many queries are around.
    depth: usize,
    used: HashSet<String>,
    is_ambiguous: bool,
}

impl<'a> PutIn<'a> {
    fn new(tables: &'a [Table]) -> Self {
        Self {
            tables,
            depth: 0,
            used: HashSet::new(),
            is_ambiguous: false,
        }
    }

    /// Whether an expression is the row id of one of the tables.
    fn means(&self, expr: &Expr) -> bool {
        is_it(expr) && !self.of(expr).is_empty()
    }

    /// The tables whose row id an expression may be.
    fn of(&self, expr: &Expr) -> Vec<&'a Table> {
        match expr {
            Expr::Identifier(_) if self.depth == 0 => self.tables.iter().collect(),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, _] => {
                    let is_it = |known: &&Table| same_name(&known.alias, &table.value);
                    self.tables.iter().filter(is_it).collect()
                }
                _ => vec![],
            },
            _ => vec![],
        }
    }
}

impl VisitorMut for PutIn<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if !is_it(expr) {
            return ControlFlow::Continue(());
        }
        match self.of(expr).as_slice() {
            [] => {}
            [table] => {
                self.used.insert(table.alias.clone());
                let parts = [&table.alias, ROW_ID].map(|part| Ident::with_quote('"', part));
                *expr = Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(Expr::CompoundIdentifier(parts.to_vec())),
                    data_type: DataType::BigInt(None),
                    array: false,
                    format: None,
                };
            }
            _ => self.is_ambiguous = true,
        }
        ControlFlow::Continue(())
    }
}
