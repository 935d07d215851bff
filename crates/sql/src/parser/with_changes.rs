//! `WITH a AS (query) UPDATE ...`, likewise DELETE and INSERT: the queries of WITH are put where the statement names them.
//!
//! What must hold: a query that depends on itself, or that is named more often than once and is not the same each time, is refused.

use crate::error::{Error, Result};
use crate::walk::{finish, visit_mut};
use sqlparser::ast::{
    self, Ident, Query, SetExpr, Statement, TableAlias, TableFactor, VisitMut, VisitorMut,
};
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
    let mut tables = with.cte_tables;
    while !tables.is_empty() {
        let table = tables.remove(0);
        if is_target(&change, &table.alias.name) {
            return Err(shadowed());
        }
        let query = TableFactor::Derived {
            lateral: false,
            subquery: table.query,
            alias: None,
            sample: None,
        };
        let mut put = Put::new(&table.alias, query);
        for later in &mut tables {
            put.put_into(&mut later.query)?;
        }
        put.put_into(&mut change)?;
        if put.times > 1 {
            return Err(Error::unsupported(
                "a query of WITH that an UPDATE or DELETE names more often than once is not there yet",
            ));
        }
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

pub(super) fn shadowed() -> Error {
    Error::unsupported(
        "a query of WITH that is called like another table of the UPDATE or DELETE is not there yet",
    )
}

/// Whether a statement changes a table of that name.
pub(super) fn is_target(change: &Statement, name: &Ident) -> bool {
    let named = |table: &ast::TableWithJoins| match &table.relation {
        TableFactor::Table { name: of, .. } => is_named(of, name),
        _ => false,
    };
    match change {
        Statement::Update(update) => named(&update.table),
        Statement::Delete(delete) => match &delete.from {
            ast::FromTable::WithFromKeyword(tables) | ast::FromTable::WithoutKeyword(tables) => {
                tables.iter().any(named)
            }
        },
        _ => false,
    }
}

fn is_named(of: &ast::ObjectName, name: &Ident) -> bool {
    match of.0.as_slice() {
        [part] => part
            .as_ident()
            .is_some_and(|part| part.value.eq_ignore_ascii_case(&name.value)),
        _ => false,
    }
}

/// Puts a query, or what has its rows, where its name stands.
pub(super) struct Put {
    alias: TableAlias,
    rows: TableFactor,
    /// How often it stood there.
    pub(super) times: usize,
}

impl Put {
    /// Puts `rows`, a query or a table without an alias, where the name of a query of WITH stands.
    pub(super) fn new(alias: &TableAlias, rows: TableFactor) -> Self {
        Self {
            alias: alias.clone(),
            rows,
            times: 0,
        }
    }

    /// # Errors
    /// `Unsupported` where another query of WITH has the same name.
    pub(super) fn put_into(&mut self, tree: &mut impl VisitMut) -> Result<()> {
        finish(visit_mut(tree, self))
    }
}

impl VisitorMut for Put {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let mut names = tables.map(|table| &table.alias.name.value);
        match names.any(|name| name.eq_ignore_ascii_case(&self.alias.name.value)) {
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
        if !is_named(name, &self.alias.name) {
            return ControlFlow::Continue(());
        }
        self.times += 1;
        let mut own = alias.take().unwrap_or_else(|| TableAlias {
            explicit: true,
            columns: vec![],
            ..self.alias.clone()
        });
        if own.columns.is_empty() {
            own.columns = self.alias.columns.clone();
        }
        *factor = self.rows.clone();
        if let TableFactor::Derived { alias, .. } | TableFactor::Table { alias, .. } = factor {
            *alias = Some(own);
        }
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
