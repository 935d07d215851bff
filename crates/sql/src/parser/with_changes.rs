//! `WITH a AS (query) UPDATE ...`, likewise DELETE and INSERT: the queries of WITH are put where the statement names them.
//!
//! What must hold: a query that depends on itself, or that is named more often than once and is not the same each time, is refused.

use crate::error::{Error, Result};
use crate::names::folded;
use crate::sqlstate;
use crate::walk::{finish, visit_mut};
use sqlparser::ast::{
    self, Query, SetExpr, Statement, TableAlias, TableFactor, VisitMut, VisitorMut,
};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Takes WITH out of a statement that changes rows.
///
/// # Errors
/// `Unsupported` for what cannot be put in.
pub(super) fn without_with(statement: &mut Statement) -> Result<()> {
    let Statement::Query(query) = statement else {
        return Ok(());
    };
    // Those that have others within WITH come apart when they are run.
    if change_of(query).is_none() || are_in(query) {
        return Ok(());
    }
    let with = query.with.take();
    let Some(mut change) = take_change(query) else {
        return Ok(());
    };
    let Some(with) = with else {
        *statement = change;
        return Ok(());
    };
    if with.recursive {
        return Err(Error::unsupported(
            "WITH RECURSIVE before UPDATE, DELETE or INSERT is not there yet",
        ));
    }
    if let Statement::Insert(insert) = &mut change
        && let Some(source) = &mut insert.source
        && source.with.is_none()
    {
        source.with = Some(with);
        *statement = change;
        return Ok(());
    }
    let (mut put, mut all) = (Put::default(), vec![]);
    for mut table in with.cte_tables {
        all.extend(put.put_into(&mut table.query)?);
        let query = TableFactor::Derived {
            lateral: false,
            subquery: table.query,
            alias: None,
            sample: None,
        };
        put.know(table.alias, query)?;
    }
    put.refuse_target(&change)?;
    all.extend(put.put_into(&mut change)?);
    all.sort_unstable();
    if all.windows(2).any(|two| two[0] == two[1]) {
        return Err(Error::unsupported(
            "a query of WITH that an UPDATE or DELETE names more often than once is not there yet",
        ));
    }
    *statement = change;
    Ok(())
}

/// Whether WITH of a query has a statement that changes rows.
pub(super) fn are_in(query: &Query) -> bool {
    let mut tables = query.with.iter().flat_map(|with| &with.cte_tables);
    tables.any(|table| change_of(&table.query).is_some())
}

/// The statement that changes rows which a query is.
pub(super) fn change_of(query: &Query) -> Option<&Statement> {
    match query.body.as_ref() {
        SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Insert(change) => Some(change),
        _ => None,
    }
}

/// The same, taken out.
pub(super) fn take_change(query: &mut Query) -> Option<Statement> {
    let nothing = SetExpr::Values(ast::Values {
        explicit_row: false,
        value_keyword: false,
        rows: vec![],
    });
    match std::mem::replace(query.body.as_mut(), nothing) {
        SetExpr::Update(change) | SetExpr::Delete(change) | SetExpr::Insert(change) => Some(change),
        body => {
            *query.body = body;
            None
        }
    }
}

fn shadowed() -> Error {
    Error::unsupported(
        "a query of WITH that is called like another table of the UPDATE or DELETE is not there yet",
    )
}

/// The tables that a statement changes, where their names could be those of queries.
fn targets(change: &Statement) -> impl Iterator<Item = &ast::ObjectName> {
    let tables = match change {
        Statement::Update(update) => std::slice::from_ref(&update.table),
        Statement::Delete(delete) => match &delete.from {
            ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables) => {
                tables.as_slice()
            }
        },
        _ => &[],
    };
    tables.iter().filter_map(|table| match &table.relation {
        TableFactor::Table { name, .. } => Some(name),
        _ => None,
    })
}

/// Puts queries, or what has their rows, where their names stand.
#[derive(Default)]
pub(super) struct Put {
    /// By name, in small letters.
    known: HashMap<String, Known>,
    /// The numbers of those that were put.
    put: Vec<usize>,
}

struct Known {
    number: usize,
    alias: TableAlias,
    rows: TableFactor,
}

impl Put {
    /// From now on `rows`, a query or a table without an alias, stand where the name of a query of WITH does. Names are numbered as they come.
    ///
    /// # Errors
    /// `Binder` for a name that is known.
    pub(super) fn know(&mut self, alias: TableAlias, rows: TableFactor) -> Result<()> {
        let known = Known {
            number: self.known.len(),
            alias,
            rows,
        };
        let name = known.alias.name.value.clone();
        match self.known.insert(folded(&name), known) {
            None => Ok(()),
            Some(_) => Err(Error::binder(format!(
                "WITH query name \"{name}\" specified more than once"
            ))
            .with_sqlstate(sqlstate::DUPLICATE_ALIAS)),
        }
    }

    /// Gives the number of each name that was replaced.
    ///
    /// # Errors
    /// `Unsupported` where another query of WITH has the same name.
    pub(super) fn put_into(&mut self, tree: &mut impl VisitMut) -> Result<Vec<usize>> {
        finish(visit_mut(tree, self))?;
        Ok(std::mem::take(&mut self.put))
    }

    /// # Errors
    /// `Unsupported` where a statement changes a table that is called like a query.
    pub(super) fn refuse_target(&self, change: &Statement) -> Result<()> {
        match targets(change).any(|name| self.find(name).is_some()) {
            true => Err(shadowed()),
            false => Ok(()),
        }
    }

    fn find(&self, name: &ast::ObjectName) -> Option<&Known> {
        match name.0.as_slice() {
            [part] => self.known.get(&folded(&part.as_ident()?.value)),
            _ => None,
        }
    }
}

impl VisitorMut for Put {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let mut names = tables.map(|table| &table.alias.name.value);
        match names.any(|name| self.known.contains_key(&folded(name))) {
            true => ControlFlow::Break(Box::new(shadowed())),
            false => ControlFlow::Continue(()),
        }
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
        else {
            return ControlFlow::Continue(());
        };
        let Some(known) = self.find(name) else {
            return ControlFlow::Continue(());
        };
        let mut own = alias.take().unwrap_or_else(|| TableAlias {
            explicit: true,
            columns: vec![],
            ..known.alias.clone()
        });
        if own.columns.is_empty() {
            own.columns = known.alias.columns.clone();
        }
        let number = known.number;
        *factor = known.rows.clone();
        if let TableFactor::Derived { alias, .. } | TableFactor::Table { alias, .. } = factor {
            *alias = Some(own);
        }
        self.put.push(number);
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn queries_of_with_stand_where_they_are_named() {
        for (sql, same) in [
            (
                "WITH n AS (SELECT 1 AS a) UPDATE t SET b = 2 FROM n WHERE t.a = n.a",
                "UPDATE t SET b = 2 FROM (SELECT 1 AS a) AS n WHERE t.a = n.a",
            ),
            (
                "WITH n(x) AS (SELECT 1), m AS (SELECT x FROM n) DELETE FROM t WHERE a IN (SELECT x FROM m)",
                "DELETE FROM t WHERE a IN (SELECT x FROM (SELECT x FROM (SELECT 1) AS n (x)) AS m)",
            ),
        ] {
            let text = |sql: &str| match crate::parse(sql).unwrap() {
                crate::Statement::Sql(statement) => statement.to_string(),
                _ => panic!("{sql}"),
            };
            assert_eq!(text(sql), text(same));
        }
        assert!(crate::parse("WITH n AS (SELECT 1 AS a) INSERT INTO t SELECT a FROM n").is_ok());
        for bad in [
            "WITH RECURSIVE n AS (SELECT 1 AS a) DELETE FROM t USING n",
            "WITH n AS (SELECT 1 AS a) DELETE FROM t USING n, n AS m",
            "WITH t AS (SELECT 1 AS a) DELETE FROM t",
            "WITH n AS (SELECT 1) DELETE FROM t WHERE a IN (WITH n AS (SELECT 2) SELECT * FROM n)",
        ] {
            assert!(crate::parse(bad).is_err(), "{bad}");
        }
    }
}
