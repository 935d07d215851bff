//! NULL beside JSON in VALUES is JSON: the planner takes columns whose texts are JSON in some rows alone for two types.

use sqlparser::ast::{CastKind, DataType, Expr, Query, SetExpr, Value};

/// Casts what is NULL in columns of VALUES in which another row is cast to JSON.
pub(super) fn cast_nulls(query: &mut Query) {
    let SetExpr::Values(values) = query.body.as_mut() else {
        return;
    };
    let is_json = |expr: &Expr| {
        matches!(
            expr,
            Expr::Cast {
                data_type: DataType::JSON,
                ..
            }
        )
    };
    let columns = values.rows.first().map_or(0, |row| row.content.len());
    for column in 0..columns {
        let mut of_column = values.rows.iter();
        if !of_column.any(|row| row.content.get(column).is_some_and(is_json)) {
            continue;
        }
        let cells = values.rows.iter_mut();
        for cell in cells.filter_map(|row| row.content.get_mut(column)) {
            if matches!(cell, Expr::Value(value) if value.value == Value::Null) {
                *cell = Expr::Cast {
                    kind: CastKind::Cast,
                    expr: Box::new(cell.clone()),
                    data_type: DataType::JSON,
                    array: false,
                    format: None,
                };
            }
        }
    }
}
