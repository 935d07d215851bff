//! Names of a statement in lower case, as the planner knows them, and what they look like.

use crate::calls::call;
use crate::constraints::joins_on;
use crate::error::{Error, Result};
use crate::names::folded;
use crate::walk::finish;
use crate::walk::{visit_mut, visit_relations};
use hushdb_storage::same_name;
use sqlparser::ast::{
    AccessExpr, ExceptSelectItem, ExcludeSelectItem, Expr, GroupByExpr, Ident, IdentWithAlias,
    JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, RenameSelectItem, Select,
    SelectItem, SelectItemQualifiedWildcardKind, SetExpr, Statement, TableAlias, TableFactor,
    TableWithJoins, Value, VisitorMut, WildcardAdditionalOptions,
};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

/// The function of a value and of how its name is written.
pub const SPELLED: &str = "$spelled";

/// What the names of a statement look like.
#[derive(Default)]
pub struct Spellings {
    /// Of what has a name in the statement: how it is written, by the name in lower case.
    pub known: HashMap<String, String>,
    /// The names that the statement's own select list gives, column by column, if it lists them.
    pub listed: Vec<Option<String>>,
    /// How names behind dots are written, by the name in lower case; `None` where that differs.
    pub members: HashMap<String, Option<String>>,
}

impl Spellings {
    /// How a name is written.
    pub fn of(&self, name: &str) -> String {
        self.known.get(name).map_or(name, String::as_str).to_owned()
    }

    /// Keeps how a name is written, unless it is known already.
    pub fn add(&mut self, name: &str) {
        let lower = folded(name);
        if lower != name {
            self.known.entry(lower).or_insert_with(|| name.to_owned());
        }
    }
}

/// Brings the names of a statement to lower case, but for those that `keep` has, and says what they look like.
pub(super) fn fold_statement(
    statement: &mut Statement,
    keep: &dyn Fn(&ObjectName) -> Vec<String>,
) -> Result<Spellings> {
    let mut folder = Folder {
        keep: kept(statement, keep),
        spellings: Spellings::default(),
    };
    finish(visit_mut(statement, &mut folder))?;
    Ok(folder.spellings)
}

/// Names that a query's select list gives; nothing where `*` stands for some.
pub(super) fn listed_names(statement: &Statement) -> Vec<Option<String>> {
    match statement {
        Statement::Query(query) => listed(&query.body),
        _ => vec![],
    }
}

/// Brings the names of an expression to lower case, but for those that are to be kept.
pub(super) fn fold_expr(expr: &mut Expr, keep: HashSet<String>) -> Result<()> {
    let mut folder = Folder {
        keep,
        spellings: Spellings::default(),
    };
    finish(visit_mut(expr, &mut folder))
}

/// Names that mean themselves alone, of all tables that a statement reads.
fn kept(statement: &Statement, keep: &dyn Fn(&ObjectName) -> Vec<String>) -> HashSet<String> {
    let mut kept = HashSet::new();
    let _ = visit_relations(statement, |relation| {
        kept.extend(keep(relation));
        ControlFlow::<()>::Continue(())
    });
    kept
}

fn listed(body: &SetExpr) -> Vec<Option<String>> {
    let select = match body {
        SetExpr::Select(select) => select,
        SetExpr::Query(query) => return listed(&query.body),
        SetExpr::SetOperation { left, .. } => return listed(left),
        _ => return vec![],
    };
    let names = select.projection.iter().map(|item| match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(Some(alias.value.clone())),
        SelectItem::UnnamedExpr(_) => Some(None),
        _ => None,
    });
    names.collect::<Option<_>>().unwrap_or_default()
}

/// Whether the name of a table is the path of a file.
fn is_file(relation: &ObjectName) -> bool {
    let [ObjectNamePart::Identifier(ident)] = relation.0.as_slice() else {
        return false;
    };
    ident.quote_style == Some('\'')
        || (ident.quote_style.is_some() && ident.value.contains(['.', '/']))
}

struct Folder {
    keep: HashSet<String>,
    spellings: Spellings,
}

/// Whether what GROUP BY says does not depend on how the select list is written.
fn groups_by_names(select: &Select) -> bool {
    match &select.group_by {
        GroupByExpr::All(_) => false,
        GroupByExpr::Expressions(exprs, _) => {
            !exprs.iter().any(|expr| matches!(expr, Expr::Value(_)))
        }
    }
}

impl Folder {
    /// A name that is used.
    fn used(&self, ident: &mut Ident) {
        if ident.quote_style.is_none() || !self.keep.contains(&ident.value) {
            ident.value = folded(&ident.value);
        }
    }

    /// A name that is given.
    fn given(&mut self, ident: &mut Ident) {
        self.spellings.add(&ident.value);
        self.used(ident);
    }

    /// The name that a select list gives. What looks like a name that is passed on, but for its case, would be taken for it.
    fn given_to(&mut self, expr: &mut Expr, alias: &mut Ident) {
        let own = match &*expr {
            Expr::Identifier(own) => Some(own),
            Expr::CompoundIdentifier(parts) => parts.last(),
            _ => None,
        };
        let lower = folded(&alias.value);
        let known = self.spellings.known.get(&lower);
        if own.is_some_and(|own| same_name(&own.value, &lower))
            || known.is_some_and(|known| *known != alias.value)
        {
            let name = Expr::value(Value::SingleQuotedString(alias.value.clone()));
            let value = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
            *expr = call(SPELLED, vec![value, name]);
        }
        self.given(alias);
    }

    /// A name behind a dot, which may be that of a member of JSON.
    fn member(&mut self, ident: &Ident) {
        let members = &mut self.spellings.members;
        let written = members.entry(folded(&ident.value));
        written
            .and_modify(|known| {
                known.take_if(|known| *known != ident.value);
            })
            .or_insert_with(|| Some(ident.value.clone()));
    }

    fn path(&self, name: &mut ObjectName) {
        for part in &mut name.0 {
            if let ObjectNamePart::Identifier(ident) = part {
                self.used(ident);
            }
        }
    }

    fn alias(&mut self, alias: &mut TableAlias) {
        self.used(&mut alias.name);
        for column in &mut alias.columns {
            self.given(&mut column.name);
        }
    }

    fn joins(&self, tables: &mut TableWithJoins) {
        for join in &mut tables.joins {
            let on = match &mut join.join_operator {
                joins_on!(on)
                | JoinOperator::CrossJoin(on)
                | JoinOperator::StraightJoin(on)
                | JoinOperator::AsOf { constraint: on, .. } => Some(on),
                _ => None,
            };
            if let Some(JoinConstraint::Using(columns)) = on {
                columns.iter_mut().for_each(|column| self.path(column));
            }
        }
    }

    fn wildcard(&mut self, options: &mut WildcardAdditionalOptions) {
        match &mut options.opt_exclude {
            Some(ExcludeSelectItem::Single(name)) => self.path(name),
            Some(ExcludeSelectItem::Multiple(names)) => {
                names.iter_mut().for_each(|name| self.path(name));
            }
            None => {}
        }
        if let Some(ExceptSelectItem {
            first_element,
            additional_elements,
        }) = &mut options.opt_except
        {
            let rest = additional_elements.iter_mut();
            std::iter::once(first_element)
                .chain(rest)
                .for_each(|name| self.used(name));
        }
        for item in options
            .opt_replace
            .iter_mut()
            .flat_map(|replace| &mut replace.items)
        {
            self.given(&mut item.column_name);
        }
        let mut rename = |renamed: &mut IdentWithAlias| {
            self.used(&mut renamed.ident);
            self.given(&mut renamed.alias);
        };
        match &mut options.opt_rename {
            Some(RenameSelectItem::Single(renamed)) => rename(renamed),
            Some(RenameSelectItem::Multiple(all)) => all.iter_mut().for_each(rename),
            None => {}
        }
    }
}

impl VisitorMut for Folder {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        for table in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            self.alias(&mut table.alias);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let spells = groups_by_names(select);
        for item in &mut select.projection {
            match item {
                SelectItem::ExprWithAlias { expr, alias } if spells => self.given_to(expr, alias),
                SelectItem::ExprWithAlias { alias, .. } => self.given(alias),
                SelectItem::QualifiedWildcard(of, options) => {
                    if let SelectItemQualifiedWildcardKind::ObjectName(name) = of {
                        self.path(name);
                    }
                    self.wildcard(options);
                }
                SelectItem::Wildcard(options) => self.wildcard(options),
                SelectItem::ExprWithAliases { aliases, .. } => {
                    aliases.iter_mut().for_each(|alias| self.given(alias));
                }
                SelectItem::UnnamedExpr(_) => {}
            }
        }
        select.from.iter_mut().for_each(|tables| self.joins(tables));
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                self.joins(table_with_joins);
                alias.iter_mut().for_each(|alias| self.alias(alias));
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. } => {
                alias.iter_mut().for_each(|alias| self.alias(alias));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<Self::Break> {
        if !is_file(relation) {
            self.path(relation);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Identifier(ident) => self.used(ident),
            Expr::CompoundIdentifier(parts) => {
                parts.iter().skip(1).for_each(|part| self.member(part));
                parts.iter_mut().for_each(|part| self.used(part));
            }
            Expr::CompoundFieldAccess { access_chain, .. } => {
                for access in access_chain {
                    if let AccessExpr::Dot(Expr::Identifier(name)) = access {
                        self.member(name);
                    }
                }
            }
            Expr::QualifiedWildcard(name, _) => self.path(name),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
