//! Rows of FROM and USING that RETURNING of an UPDATE or DELETE names, beside the row that is changed or deleted.
//!
//! What must hold: each is carried along as a value of the changed row, a struct by the name that it has in FROM. `*` is of the changed row
//! alone, as in DuckDB, or to clients of PostgreSQL of all, as there.

use super::returning::select;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, ObjectName, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, TableWithJoins, Visitor, VisitorMut, WildcardAdditionalOptions,
};
use hushdb_sql::walk::{visit, visit_own_expressions, visit_own_mut};
use hushdb_sql::{Error, Result, alias_of};
use hushdb_storage::{TableVersion, same_name};
use std::ops::ControlFlow;

/// Names that rows of FROM have in RETURNING.
#[derive(Default)]
pub(in crate::exec) struct Beside {
    names: Vec<Ident>,
    /// Columns that are named alone, and whose they are.
    owners: Vec<(String, Ident)>,
    /// Whether `*` has them, too.
    in_star: bool,
}

impl Beside {
    /// Those that RETURNING names; `table` is what is changed.
    ///
    /// # Errors
    /// `Unsupported` where a column is called like one of them, or `*` is of all and not all can be carried.
    pub(in crate::exec) fn named(
        statement: &Statement<'_>,
        from: &[TableWithJoins],
        items: Option<&[SelectItem]>,
        table: &TableVersion,
    ) -> Result<Self> {
        let items = items.unwrap_or_default();
        let postgres = statement.session.settings.lock().postgres;
        let in_star = postgres
            && !from.is_empty()
            && items
                .iter()
                .any(|item| matches!(item, SelectItem::Wildcard(_)));
        let is_plain =
            |table: &TableWithJoins| table.joins.is_empty() && name_of(&table.relation).is_some();
        if in_star && !from.iter().all(is_plain) {
            return Err(Error::unsupported(
                "RETURNING * beside a join or a query without a name in FROM is not there yet; name the columns",
            ));
        }
        let names = from.iter().flat_map(|table| {
            let joined = table.joins.iter().map(|join| &join.relation);
            std::iter::once(&table.relation).chain(joined)
        });
        let mut names: Vec<Ident> = names.filter_map(name_of).collect();
        let owners = owners(statement, from, &names, &alone(items, table))?;
        names.retain(|name| {
            in_star
                || owners.iter().any(|(_, owner)| owner == name)
                || items.iter().any(|item| is_named(item, name))
        });
        if !names.is_empty() {
            refuse_alike(statement, from, &names, table)?;
        }
        Ok(Self {
            names,
            owners,
            in_star,
        })
    }

    /// How many there are.
    pub(in crate::exec) fn count(&self) -> usize {
        self.names.len()
    }

    /// What brings them along.
    pub(in crate::exec) fn values(&self) -> impl Iterator<Item = SelectItem> {
        self.names.iter().map(|name| SelectItem::ExprWithAlias {
            expr: Expr::Identifier(name.clone()),
            alias: name.clone(),
        })
    }

    /// RETURNING over the changed rows that bring them along.
    pub(in crate::exec) fn returned(
        &self,
        items: &[SelectItem],
        changed: &Ident,
    ) -> Vec<SelectItem> {
        let mut returned = vec![];
        for item in items {
            let mut item = item.clone();
            if !has_lambda(&item) {
                let _ = visit_own_mut(&mut item, &mut Owned(&self.owners));
            }
            match &mut item {
                SelectItem::Wildcard(options) => {
                    self.leave_out_of(options);
                    returned.push(item);
                    if self.in_star {
                        returned.extend(self.names.iter().map(all_of));
                    }
                    continue;
                }
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) if is_name(name, changed) => self.leave_out_of(options),
                _ => {}
            }
            returned.push(item);
        }
        returned
    }

    fn leave_out_of(&self, options: &mut WildcardAdditionalOptions) {
        let names = self
            .names
            .iter()
            .map(|name| ObjectName::from(vec![name.clone()]));
        let mut excluded = match options.opt_exclude.take() {
            None => vec![],
            Some(ExcludeSelectItem::Single(name)) => vec![name],
            Some(ExcludeSelectItem::Multiple(names)) => names,
        };
        excluded.extend(names);
        options.opt_exclude =
            (!excluded.is_empty()).then_some(ExcludeSelectItem::Multiple(excluded));
    }
}

/// `name.*`
pub(in crate::exec) fn all_of(name: &Ident) -> SelectItem {
    SelectItem::QualifiedWildcard(
        SelectItemQualifiedWildcardKind::ObjectName(ObjectName::from(vec![name.clone()])),
        WildcardAdditionalOptions::default(),
    )
}

/// What stands before the columns of a relation.
fn name_of(factor: &TableFactor) -> Option<Ident> {
    match (alias_of(factor), factor) {
        (Some(alias), _) => Some(alias.name.clone()),
        (None, TableFactor::Table { name, .. }) => name.0.last()?.as_ident().cloned(),
        _ => None,
    }
}

fn is_name(name: &ObjectName, wanted: &Ident) -> bool {
    match name.0.as_slice() {
        [part] => part
            .as_ident()
            .is_some_and(|part| same_name(&part.value, &wanted.value)),
        _ => false,
    }
}

/// Whether an item has a column that a name stands before.
fn is_named(item: &SelectItem, name: &Ident) -> bool {
    struct Before<'a>(&'a str);
    impl Visitor for Before<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::CompoundIdentifier(parts)
                    if parts.len() > 1 && same_name(&parts[0].value, self.0) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match item {
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(of), _) => {
            is_name(of, name)
        }
        item => visit(item, &mut Before(&name.value)).is_break(),
    }
}

/// Puts the name of its relation before a column that is named alone.
struct Owned<'a>(&'a [(String, Ident)]);

impl VisitorMut for Owned<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some((_, owner)) = self
                .0
                .iter()
                .find(|(column, _)| same_name(column, &name.value))
        {
            *expr = Expr::CompoundIdentifier(vec![owner.clone(), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}

/// Whether an item has names of its own.
fn has_lambda(item: &SelectItem) -> bool {
    let found = visit_own_expressions(item, |expr| match expr {
        Expr::Lambda(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Names that stand alone and are of no column of the table that is changed.
fn alone(items: &[SelectItem], table: &TableVersion) -> Vec<String> {
    let mut found = vec![];
    for item in items.iter().filter(|item| !has_lambda(item)) {
        let _: ControlFlow<()> = visit_own_expressions(item, |expr| {
            if let Expr::Identifier(name) = expr {
                let mut own = table.columns.iter();
                if !own.any(|column| same_name(&column.name, &name.value)) {
                    found.push(name.value.clone());
                }
            }
            ControlFlow::Continue(())
        });
    }
    found
}

/// Of which relation each of these columns is, where one alone has it.
fn owners(
    statement: &Statement<'_>,
    from: &[TableWithJoins],
    names: &[Ident],
    columns: &[String],
) -> Result<Vec<(String, Ident)>> {
    if columns.is_empty() || names.is_empty() {
        return Ok(vec![]);
    }
    let mut owners = vec![];
    let of_each = names
        .iter()
        .map(|name| columns_of(statement, from, all_of(name)));
    let of_each = of_each.collect::<Result<Vec<_>>>()?;
    for column in columns {
        let has = |of: &&Vec<String>| of.iter().any(|other| same_name(other, column));
        if of_each.iter().filter(has).count() == 1 {
            let owner = of_each.iter().zip(names).find(|(of, _)| has(of));
            owners.extend(owner.map(|(_, name)| (column.clone(), name.clone())));
        }
    }
    Ok(owners)
}

/// Names of the columns that an item has over a FROM.
fn columns_of(
    statement: &Statement<'_>,
    from: &[TableWithJoins],
    item: SelectItem,
) -> Result<Vec<String>> {
    let query = select("t", |select| {
        select.projection = vec![item];
        select.from = from.to_vec();
    })?;
    let plan = statement.planner().plan_query(query)?;
    let names = plan.schema().fields().iter();
    Ok(names.map(|field| field.name().clone()).collect())
}

/// Refuses names that a column has, too: it would be meant.
fn refuse_alike(
    statement: &Statement<'_>,
    from: &[TableWithJoins],
    names: &[Ident],
    table: &TableVersion,
) -> Result<()> {
    let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    let mut columns = columns_of(statement, from, all)?;
    columns.extend(table.columns.iter().map(|column| column.name.clone()));
    for name in names {
        if columns.iter().any(|column| same_name(column, &name.value)) {
            return Err(Error::unsupported(format!(
                "RETURNING of \"{0}\" in FROM, where a column is called \"{0}\", too, is not there yet; give it another alias",
                name.value
            )));
        }
    }
    Ok(())
}
