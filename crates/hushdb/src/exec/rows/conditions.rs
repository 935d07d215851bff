//! CHECKs of rows that a prepared statement writes without a plan, by conditions that are planned once.
//!
//! What must hold: a row that is let through holds what the plan's rules ask of it. Whatever may mean something else at another time is
//! left to the plan, and whatever does not hold, too: it has the error.

use super::load;
use crate::prepared::{Conditions, Prepared};
use crate::statement::Statement;
use datafusion::arrow::array::ArrayRef;
use datafusion::sql::sqlparser::ast::{self, Expr, Visitor};
use hushdb_sql::walk::visit;
use hushdb_sql::{Result, parse_expr};
use hushdb_storage::TableVersion;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Whether rows of a table hold its CHECKs. `None`: they do not, or it is the plan that has to say.
pub(in crate::exec) fn hold(
    statement: &Statement<'_>,
    table: &TableVersion,
    arrays: &[ArrayRef],
    kept: Option<&Prepared>,
) -> Option<()> {
    if table.checks.is_empty() {
        return Some(());
    }
    let mut kept = kept?.conditions.lock();
    let conditions = match kept.as_ref().filter(|before| before.suits(table)) {
        Some(before) => Arc::clone(before),
        None => {
            let made = Arc::new(plan(statement, table).ok().flatten()?);
            Arc::clone(kept.insert(made))
        }
    };
    drop(kept);
    conditions.hold(arrays).then_some(())
}

fn plan(statement: &Statement<'_>, table: &TableVersion) -> Result<Option<Conditions>> {
    for check in &table.checks {
        if !is_plain(&parse_expr(&check.sql)?) {
            return Ok(None);
        }
    }
    let planner = statement.planner();
    let holds = load::conditions(&planner, &table.columns, &table.checks)?;
    Ok(Some(Conditions {
        table_id: table.id,
        columns: table.columns.clone(),
        checks: table.checks.clone(),
        schema: load::schema_of(&table.columns),
        holds: holds.into_iter().map(|(_, condition)| condition).collect(),
    }))
}

/// Whether a condition compares and computes with columns and literals alone: no function, which may be that of the time, and no cast.
fn is_plain(condition: &Expr) -> bool {
    struct Others;
    impl Visitor for Others {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            let is_plain = match expr {
                Expr::Value(value) => !matches!(value.value, ast::Value::Placeholder(_)),
                Expr::Identifier(_)
                | Expr::Nested(_)
                | Expr::BinaryOp { .. }
                | Expr::UnaryOp { .. }
                | Expr::Between { .. }
                | Expr::InList { .. }
                | Expr::IsNull(_)
                | Expr::IsNotNull(_) => true,
                _ => false,
            };
            match is_plain {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
    }
    visit(condition, &mut Others).is_continue()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Connection, Database};

    fn count(connection: &Connection, sql: &str) -> usize {
        let rows = connection.execute(sql).unwrap().collect_batches().unwrap();
        rows.iter().map(|rows| rows.num_rows()).sum()
    }

    #[test]
    fn what_compares_columns_and_literals_is_plain() {
        for (text, expected) in [
            ("a > 0 AND (b IS NULL OR b IN ('x', 'y'))", true),
            ("NOT a BETWEEN -5 AND 5 + b", true),
            ("a < now()", false),
            ("length(b) > 3", false),
            ("a > CAST('1' AS INTEGER)", false),
            ("a > $1", false),
        ] {
            assert_eq!(is_plain(&parse_expr(text).unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn a_prepared_statement_lets_through_what_the_plan_does_and_has_its_error() {
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let run = |sql: &str| drop(connection.execute(sql).unwrap().collect_batches().unwrap());
        run(
            "CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER CHECK (a > 0), b VARCHAR, CHECK (a < 100 OR b = 'x'))",
        );
        let insert = connection
            .prepare("INSERT INTO t VALUES ($1, $2, $3)")
            .unwrap();
        let update = connection
            .prepare("UPDATE t SET a = a + $1 WHERE k = $2")
            .unwrap();
        insert.execute(&[1.into(), 50.into(), "y".into()]).unwrap();
        insert.execute(&[2.into(), 500.into(), "x".into()]).unwrap();
        update.execute(&[40.into(), 1.into()]).unwrap();
        for failed in [
            insert.execute(&[3.into(), 0.into(), "x".into()]),
            insert.execute(&[3.into(), 100.into(), "y".into()]),
            update.execute(&[10.into(), 1.into()]),
            update.execute(&[(-500).into(), 2.into()]),
        ] {
            assert_eq!(failed.unwrap_err().sqlstate(), "23514");
        }
        let both = "SELECT k FROM t WHERE k = 1 AND a = 90 OR k = 2 AND a = 500";
        assert_eq!(count(&connection, both), 2);
        // Other conditions, under the same name.
        run(
            "DROP TABLE t; CREATE TABLE t (k INTEGER PRIMARY KEY, a INTEGER CHECK (a <> 7), b VARCHAR)",
        );
        insert.execute(&[1.into(), 0.into(), "y".into()]).unwrap();
        let seven = update.execute(&[7.into(), 1.into()]).unwrap_err();
        assert_eq!(seven.sqlstate(), "23514");
        assert_eq!(count(&connection, "SELECT k FROM t WHERE a = 0"), 1);
    }
}
