//! `Shape`: what a statement says if it is of the kind that needs no plan, known from its text alone.
//!
//! What must hold: a statement that says anything more has no shape.

use datafusion::sql::sqlparser::ast::{
    self, Assignment, AssignmentTarget, BinaryOperator, Expr, FromTable, LockClause, ObjectName,
    Query, SelectItem, SetExpr, TableFactor, TableObject, TableWithJoins,
};
use hushdb_sql::{self as sql, folded, name_parts};
use hushdb_storage::same_name;
use std::collections::HashSet;
use std::sync::LazyLock;

/// A statement that can be run without a plan if the table has the index for it. Values are in the statement, and may be
/// parameters.
pub(crate) enum Shape {
    /// `SELECT items FROM place [FOR UPDATE | FOR SHARE]`; all columns without items.
    Select {
        place: Place,
        items: Option<Vec<Item>>,
        lock: Option<LockClause>,
    },
    /// `UPDATE place SET column = value, ...`
    Update {
        place: Place,
        set: Vec<(String, Expr)>,
    },
    /// `DELETE FROM place`
    Delete { place: Place },
    /// `INSERT INTO table (columns) VALUES ...`
    Insert {
        table: ObjectName,
        columns: Vec<ObjectName>,
    },
}

/// `table WHERE column = value AND ...`, with each column once.
pub(crate) struct Place {
    pub(crate) table: ObjectName,
    /// The parts of the table's name.
    pub(crate) parts: Vec<String>,
    pub(crate) key: Vec<(String, Expr)>,
}

/// A column of a select list, and the name that it gets.
pub(crate) struct Item {
    pub(crate) column: String,
    /// None: that of the column.
    pub(crate) name: Option<String>,
}

/// A statement of each kind with nothing but what a shape has.
static BARE: LazyLock<Vec<ast::Statement>> = LazyLock::new(|| {
    let texts = [
        "SELECT a FROM t WHERE a",
        "UPDATE t SET a = 1 WHERE a",
        "DELETE FROM t WHERE a",
    ];
    let bare = texts.iter().filter_map(|text| {
        let mut statement = sql::parse_one(text).ok()?;
        take_apart(&mut statement)?;
        Some(statement)
    });
    bare.collect()
});

/// The shape of a statement, if it has one.
pub(crate) fn recognise(statement: &ast::Statement) -> Option<Shape> {
    if let ast::Statement::Insert(insert) = statement {
        return recognise_insert(insert);
    }
    let selection = selection(statement)?;
    let mut key = vec![];
    equalities(selection, &mut key)?;
    let mut rest = statement.clone();
    let parts = take_apart(&mut rest)?;
    if !BARE.contains(&rest) {
        return None;
    }
    let place = Place {
        parts: name_parts(&parts.table).ok()?,
        table: parts.table,
        key,
    };
    Some(match statement {
        ast::Statement::Query(_) => Shape::Select {
            place,
            items: items(&parts.items)?,
            lock: parts.lock,
        },
        ast::Statement::Update(_) => Shape::Update {
            place,
            set: assignments(parts.assignments)?,
        },
        _ => Shape::Delete { place },
    })
}

fn recognise_insert(insert: &ast::Insert) -> Option<Shape> {
    let TableObject::TableName(table) = &insert.table else {
        return None;
    };
    let plain = insert.on.is_none()
        && insert.or.is_none()
        && !insert.replace_into
        && insert.returning.is_none()
        && insert.table_alias.is_none()
        && insert_values(insert).is_some();
    plain.then(|| Shape::Insert {
        table: table.clone(),
        columns: insert.columns.clone(),
    })
}

/// The rows that an INSERT spells out.
pub(crate) fn insert_values(insert: &ast::Insert) -> Option<&ast::Values> {
    let query = insert.source.as_deref()?;
    let plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match query.body.as_ref() {
        SetExpr::Values(values) if plain => Some(values),
        _ => None,
    }
}

fn selection(statement: &ast::Statement) -> Option<&Expr> {
    match statement {
        ast::Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Select(select) => select.selection.as_ref(),
            _ => None,
        },
        ast::Statement::Update(update) => update.selection.as_ref(),
        ast::Statement::Delete(delete) => delete.selection.as_ref(),
        _ => None,
    }
}

/// `column = value AND ...`; `None` for any other condition.
fn equalities(expr: &Expr, key: &mut Vec<(String, Expr)>) -> Option<()> {
    match expr {
        Expr::Nested(inner) => equalities(inner, key),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            equalities(left, key)?;
            equalities(right, key)
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => {
            let (column, value) = match (left.as_ref(), right.as_ref()) {
                (Expr::Identifier(column), value) | (value, Expr::Identifier(column)) => {
                    (column.value.clone(), value)
                }
                _ => return None,
            };
            let again = key.iter().any(|(name, _)| same_name(name, &column));
            if again || matches!(value, Expr::Identifier(_)) {
                return None;
            }
            key.push((column, value.clone()));
            Some(())
        }
        _ => None,
    }
}

/// What a shape has of a statement.
struct Parts {
    table: ObjectName,
    items: Vec<SelectItem>,
    assignments: Vec<Assignment>,
    lock: Option<LockClause>,
}

/// Takes the parts that a shape has out of a statement. What is left is the same for all statements that say no more.
fn take_apart(statement: &mut ast::Statement) -> Option<Parts> {
    let (mut items, mut assignments, mut lock) = (vec![], vec![], None);
    let table = match statement {
        ast::Statement::Query(query) => {
            let Query { body, locks, .. } = query.as_mut();
            // More than one clause, or one that names the table, stays and is none of the shape.
            if matches!(locks.as_slice(), [LockClause { of: None, .. }]) {
                lock = locks.pop();
            }
            let SetExpr::Select(select) = body.as_mut() else {
                return None;
            };
            select.selection = None;
            items = std::mem::take(&mut select.projection);
            take_name(select.from.first_mut()?)?
        }
        ast::Statement::Update(update) => {
            update.selection = None;
            assignments = std::mem::take(&mut update.assignments);
            take_name(&mut update.table)?
        }
        ast::Statement::Delete(delete) => {
            delete.selection = None;
            let FromTable::WithFromKeyword(tables) = &mut delete.from else {
                return None;
            };
            take_name(tables.first_mut()?)?
        }
        _ => return None,
    };
    Some(Parts {
        table,
        items,
        assignments,
        lock,
    })
}

fn take_name(table: &mut TableWithJoins) -> Option<ObjectName> {
    match &mut table.relation {
        TableFactor::Table { name, .. } => Some(std::mem::replace(name, ObjectName(vec![]))),
        _ => None,
    }
}

/// The columns of a select list, no name twice; `Some(None)` for `*`.
fn items(items: &[SelectItem]) -> Option<Option<Vec<Item>>> {
    if let [SelectItem::Wildcard(options)] = items {
        return (*options == Default::default()).then_some(None);
    }
    let mut names = HashSet::new();
    let items = items.iter().map(|item| {
        let (column, name) = match item {
            SelectItem::UnnamedExpr(Expr::Identifier(column)) => (column, None),
            SelectItem::ExprWithAlias {
                expr: Expr::Identifier(column),
                alias,
            } => (column, Some(alias.value.clone())),
            _ => return None,
        };
        let column = column.value.clone();
        let shown = folded(name.as_ref().unwrap_or(&column));
        names.insert(shown).then_some(Item { column, name })
    });
    items.collect::<Option<Vec<_>>>().map(Some)
}

fn assignments(assignments: Vec<Assignment>) -> Option<Vec<(String, Expr)>> {
    let pairs = assignments.into_iter().map(|assignment| {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return None;
        };
        let mut parts = name_parts(name).ok()?;
        match (parts.pop(), parts.is_empty()) {
            (Some(column), true) => Some((column, assignment.value)),
            _ => None,
        }
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Option<Shape> {
        recognise(&sql::parse_one(text).unwrap())
    }

    #[test]
    fn statements_about_a_key_have_a_shape() {
        for text in [
            "SELECT * FROM t WHERE a = 1",
            "SELECT a, b AS c FROM s.t WHERE (a = ?) AND 'x' = b",
            "FROM t SELECT a WHERE a = $1",
            "SELECT a FROM t WHERE a = 1 FOR UPDATE SKIP LOCKED",
            "UPDATE t SET a = 1, b = b + 1 WHERE a = 2",
            "DELETE FROM t WHERE a = 2",
            "INSERT INTO t (a) VALUES (1), (2)",
        ] {
            assert!(shape(text).is_some() || text.starts_with("FROM"), "{text}");
        }
    }

    #[test]
    fn statements_that_say_more_have_none() {
        for text in [
            "SELECT * FROM t",
            "SELECT * FROM t AS u WHERE a = 1",
            "SELECT * FROM t, u WHERE a = 1",
            "SELECT * FROM t JOIN u ON true WHERE a = 1",
            "SELECT DISTINCT a FROM t WHERE a = 1",
            "SELECT a + 1 FROM t WHERE a = 1",
            "SELECT a, a FROM t WHERE a = 1",
            "SELECT * EXCLUDE (a) FROM t WHERE a = 1",
            "SELECT a FROM t WHERE a = 1 OR b = 2",
            "SELECT a FROM t WHERE a = 1 AND a = 2",
            "SELECT a FROM t WHERE a = b",
            "SELECT a FROM t WHERE a > 1",
            "SELECT a FROM t WHERE a = 1 LIMIT 1",
            "SELECT a FROM t WHERE a = 1 FOR UPDATE OF t",
            "SELECT a FROM t WHERE a = 1 ORDER BY a",
            "SELECT a FROM t WHERE a = 1 GROUP BY a",
            "WITH u AS (SELECT 1) SELECT a FROM t WHERE a = 1",
            "SELECT a FROM t WHERE a = 1 UNION SELECT 1",
            "SELECT a FROM range(5) WHERE a = 1",
            "UPDATE t AS u SET a = 1 WHERE a = 2",
            "UPDATE t SET a = 1 FROM u WHERE a = 2",
            "UPDATE t SET a = 1 WHERE a = 2 RETURNING a",
            "UPDATE t SET (a, b) = (1, 2) WHERE a = 2",
            "UPDATE t SET a = 1",
            "DELETE FROM t USING u WHERE a = 1",
            "DELETE FROM t WHERE a = 1 RETURNING *",
            "DELETE FROM t",
            "INSERT INTO t SELECT 1",
            "INSERT INTO t VALUES (1) RETURNING a",
            "INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING",
            "INSERT OR REPLACE INTO t VALUES (1)",
        ] {
            assert!(shape(text).is_none(), "{text}");
        }
    }
}
