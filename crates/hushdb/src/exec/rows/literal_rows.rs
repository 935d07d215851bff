//! Rows that VALUES spells out: literals that are of their columns' own kinds become arrays without a plan.
//!
//! What must hold: the rows are those that the plan would give.

use super::literal::{Argument, Literal, array_of};
use datafusion::arrow::array::ArrayRef;
use datafusion::sql::sqlparser::ast::{self, Expr};
use hushdb_storage::TableVersion;

/// The rows as arrays in the order of the table's columns, where `targets` says which column each value is for, and `now` what time
/// it is for the transaction, if `now()` needs no plan.
pub(in crate::exec) fn literal_rows(
    values: &ast::Values,
    table: &TableVersion,
    targets: &[usize],
    arguments: &[Argument<'_>],
    now: Option<i64>,
) -> Option<Vec<ArrayRef>> {
    let rows: Vec<&[Expr]> = values
        .rows
        .iter()
        .map(|row| row.content.as_slice())
        .collect();
    if rows.iter().any(|row| row.len() != targets.len()) {
        return None;
    }
    let columns = table.columns.iter().enumerate();
    columns
        .map(|(position, column)| {
            let source = targets.iter().position(|target| *target == position);
            let cells = rows.iter().map(|row| match source {
                Some(source) => {
                    let expr = row.get(source)?;
                    Literal::of(expr, arguments).or_else(|| Literal::now(expr, now?))
                }
                None if column.default.is_none() => Some(Literal::Null),
                None => None,
            });
            let cells: Vec<Literal<'_>> = cells.collect::<Option<_>>()?;
            match cells.iter().any(|cell| cell.is_null()) && !column.nullable {
                true => None,
                false => array_of(column, &cells),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::Database;
    use hushdb_sql::parse_expr;

    #[test]
    fn the_time_of_a_transaction_needs_no_plan_and_is_that_of_the_plan() {
        for (text, is_now) in [
            ("CURRENT_TIMESTAMP", true),
            ("current_timestamp", true),
            ("now()", true),
            ("\"now\"()", false),
            ("now(1)", false),
            ("now() + INTERVAL 1 DAY", false),
            ("current_date", false),
            ("later()", false),
        ] {
            let found = super::Literal::now(&parse_expr(text).unwrap(), 7);
            assert_eq!(found.is_some(), is_now, "{text}");
        }
        let database = Database::open_in_memory().unwrap();
        let connection = database.connect().unwrap();
        let run = |sql: &str| connection.execute(sql).unwrap().collect_batches().unwrap();
        run("CREATE TABLE t (a INTEGER, b TIMESTAMP, c TIMESTAMPTZ, d DATE)");
        run("BEGIN");
        let insert = connection.prepare("INSERT INTO t VALUES (?, CURRENT_TIMESTAMP, now(), NULL)");
        insert.unwrap().execute(&[1.into()]).unwrap();
        run("INSERT INTO t VALUES (2, now(), CURRENT_TIMESTAMP, CURRENT_TIMESTAMP)");
        run("INSERT INTO t SELECT 3, now(), now(), now()");
        let same = "SELECT a FROM t WHERE b = (SELECT b FROM t WHERE a = 3) AND c = now() AND (d IS NULL) = (a = 1)";
        let rows: usize = run(same).iter().map(|rows| rows.num_rows()).sum();
        assert_eq!(rows, 3);
    }
}
