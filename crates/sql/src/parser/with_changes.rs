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
    if !matches!(
        query.body.as_ref(),
        SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Insert(_)
    ) {
        return Ok(());
    }
    let Some(with) = query.with.take() else {
        return Ok(());
    };
    let nothing = SetExpr::Values(ast::Values {
        explicit_row: false,
        value_keyword: false,
        rows: vec![],
    });
    let body = std::mem::replace(query.body.as_mut(), nothing);
    let (SetExpr::Update(mut change) | SetExpr::Delete(mut change) | SetExpr::Insert(mut change)) =
        body
    else {
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
        let mut put = Put {
            name: table.alias.name.clone(),
            columns: table.alias.columns,
            query: table.query,
            times: 0,
        };
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

fn shadowed() -> Error {
    Error::unsupported(
        "a query of WITH that is called like another table of the UPDATE or DELETE is not there yet",
    )
}

/// Whether a statement changes a table of that name.
fn is_target(change: &Statement, name: &Ident) -> bool {
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

/// Puts a query where its name stands.
struct Put {
    name: Ident,
    columns: Vec<ast::TableAliasColumnDef>,
    query: Box<Query>,
    times: usize,
}

impl Put {
    fn put_into(&mut self, tree: &mut impl VisitMut) -> Result<()> {
        finish(visit_mut(tree, self))
    }
}

impl VisitorMut for Put {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        let tables = query.with.iter().flat_map(|with| &with.cte_tables);
        let mut names = tables.map(|table| &table.alias.name.value);
        match names.any(|name| name.eq_ignore_ascii_case(&self.name.value)) {
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
        if !is_named(name, &self.name) {
            return ControlFlow::Continue(());
        }
        self.times += 1;
        let mut alias = alias.take().unwrap_or_else(|| TableAlias {
            explicit: true,
            name: self.name.clone(),
            columns: vec![],
            at: None,
        });
        if alias.columns.is_empty() {
            alias.columns = self.columns.clone();
        }
        *factor = TableFactor::Derived {
            lateral: false,
            subquery: self.query.clone(),
            alias: Some(alias),
            sample: None,
        };
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
