//! Rows of FROM and USING that RETURNING of an UPDATE or DELETE names, beside the row that is changed or deleted.
//!
//! What must hold: each is carried along as a value of the changed row, a struct by the name that it has in FROM. `*` is of the changed row
//! alone, as in DuckDB, or to clients of PostgreSQL of all, as there.

use super::returning::select;
use crate::statement::Statement;
use datafusion::sql::sqlparser::ast::{
    ExcludeSelectItem, Expr, Ident, ObjectName, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, TableWithJoins, Visitor, WildcardAdditionalOptions,
};
use hushdb_sql::walk::visit;
use hushdb_sql::{Error, Result};
use hushdb_storage::{TableVersion, same_name};
use std::ops::ControlFlow;

/// Names that rows of FROM have in RETURNING.
#[derive(Default)]
pub(in crate::exec) struct Beside {
    names: Vec<Ident>,
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
        if in_star && from.iter().any(|table| !table.joins.is_empty()) {
            return Err(Error::unsupported(
                "RETURNING * beside a join in FROM is not there yet; name the columns",
            ));
        }
        let names = from.iter().flat_map(|table| {
            let joined = table.joins.iter().map(|join| &join.relation);
            std::iter::once(&table.relation).chain(joined)
        });
        let names = names.filter_map(name_of);
        let names: Vec<Ident> = names
            .filter(|name| in_star || items.iter().any(|item| is_named(item, name)))
            .collect();
        if !names.is_empty() {
            refuse_alike(statement, from, &names, table)?;
        }
        Ok(Self { names, in_star })
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
    match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        }
        | TableFactor::UNNEST {
            alias: Some(alias), ..
        }
        | TableFactor::TableFunction {
            alias: Some(alias), ..
        }
        | TableFactor::Function {
            alias: Some(alias), ..
        } => Some(alias.name.clone()),
        TableFactor::Table { name, .. } => name.0.last()?.as_ident().cloned(),
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

/// Refuses names that a column has, too: it would be meant.
fn refuse_alike(
    statement: &Statement<'_>,
    from: &[TableWithJoins],
    names: &[Ident],
    table: &TableVersion,
) -> Result<()> {
    let all = select("t", |select| {
        select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
        select.from = from.to_vec();
    })?;
    let plan = statement.planner().plan_query(all)?;
    let beside = plan.schema().fields().iter().map(|field| field.name());
    let own = table.columns.iter().map(|column| &column.name);
    let columns: Vec<&String> = beside.chain(own).collect();
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
