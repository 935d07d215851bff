//! Queries with a locking clause within other statements, as those that take work from a queue have them:
//! `UPDATE ... WHERE id = (SELECT id ... FOR UPDATE SKIP LOCKED LIMIT 1)`.
//!
//! What must hold: each is run once, before the statement around it, which then has its rows as values; their locks stay until the
//! transaction ends. A query whose rows depend on those around it is refused.

use super::for_update;
use crate::statement::Statement;
use crate::value::Value;
use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, Query, SetExpr, TableAlias, TableAliasColumnDef, TableFactor, Values,
    Visitor, VisitorMut,
};
use hushdb_sql::type_names::{cast_to, stored_type};
use hushdb_sql::walk::{visit, visit_mut};
use hushdb_sql::{self as sql, Error, Result};
use std::ops::ControlFlow;

/// Rows that a query within a statement may lock.
const MOST_ROWS: usize = 10_000;

/// Whether a statement has a query with a locking clause within it.
fn are_within(parsed: &ast::Statement) -> bool {
    struct Locks(usize, bool);
    impl Visitor for Locks {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            let is_outermost = self.1 && self.0 == 0;
            self.0 += 1;
            match query.locks.is_empty() || is_outermost {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
    }
    let of_query = matches!(parsed, ast::Statement::Query(_));
    visit(parsed, &mut Locks(0, of_query)).is_break()
}

/// Runs the queries with a locking clause within a statement, if there are any, and puts their rows in their place.
///
/// # Errors
/// `Unsupported` where nothing waits, or for a query that has no rows of one table; what running it gives.
pub(in crate::exec) fn resolve(
    statement: &Statement<'_>,
    parsed: &mut ast::Statement,
) -> Result<()> {
    if !are_within(parsed) {
        return Ok(());
    }
    let of_query = matches!(parsed, ast::Statement::Query(_));
    let mut resolver = Resolver {
        statement,
        depth: usize::from(!of_query),
    };
    match visit_mut(parsed, &mut resolver) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Resolver<'a, 'b> {
    statement: &'a Statement<'b>,
    /// Queries around.
    depth: usize,
}

impl VisitorMut for Resolver<'_, '_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        if self.depth == 0 || query.locks.is_empty() {
            return ControlFlow::Continue(());
        }
        match rows_of(self.statement, query.clone()) {
            Ok(rows) => {
                *query = rows;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

/// `SELECT * FROM (VALUES ...) AS t (columns)`: the rows that a query has locked.
fn rows_of(statement: &Statement<'_>, query: Query) -> Result<Query> {
    let result = for_update::run(statement, query)?;
    let schema = result.schema();
    let types = schema.fields().iter().map(|field| stored_type(field));
    let types = types.collect::<Result<Vec<_>>>()?;
    let mut rows = vec![];
    for batch in result.collect_batches()? {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().zip(&types);
            let cells =
                cells.map(|(column, ty)| cast_to(Value::of(column.as_ref(), row)?.to_expr()?, ty));
            rows.push(cells.collect::<Result<Vec<Expr>>>()?);
        }
        if rows.len() > MOST_ROWS {
            return Err(Error::unsupported(format!(
                "a query within a statement locks {MOST_ROWS} rows at most: lock the others by a statement of their own"
            )));
        }
    }
    let is_empty = rows.is_empty();
    if is_empty {
        let null = || Expr::value(ast::Value::Null);
        let nulls = types.iter().map(|ty| cast_to(null(), ty));
        rows.push(nulls.collect::<Result<Vec<_>>>()?);
    }
    let text = match is_empty {
        true => "SELECT * FROM (SELECT 1) AS \"$locked\" LIMIT 0",
        false => "SELECT * FROM (SELECT 1) AS \"$locked\"",
    };
    let ast::Statement::Query(mut outer) = sql::parse_one(text)? else {
        return Err(Error::internal("a SELECT was parsed as something else"));
    };
    if let SetExpr::Select(select) = outer.body.as_mut()
        && let Some(from) = select.from.first_mut()
        && let TableFactor::Derived {
            subquery, alias, ..
        } = &mut from.relation
    {
        *subquery.body = SetExpr::Values(Values {
            explicit_row: false,
            value_keyword: false,
            rows: rows.into_iter().map(ast::Parens::with_empty_span).collect(),
        });
        let names = schema.fields().iter().map(|field| TableAliasColumnDef {
            name: Ident::with_quote('"', field.name()),
            data_type: None,
        });
        *alias = Some(TableAlias {
            explicit: true,
            name: Ident::with_quote('"', "$locked"),
            columns: names.collect(),
            at: None,
        });
    }
    Ok(*outer)
}
