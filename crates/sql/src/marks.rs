//! Marks that the text's rewriting leaves in an expression for the planner, which knows types and columns: operators that no dialect
//! has, and names of functions that no text has.

use sqlparser::ast::{BinaryOperator, Expr, Value};

/// What PIVOT has ON, as a statement.
pub const PIVOT: &str = "$pivot";
/// What PIVOT has behind FOR, where it follows a table: each with its values.
pub const PIVOT_FOR: &str = "$pivot_for";
/// The values of PIVOT, where they are those of an ENUM: its name.
pub const PIVOT_ENUM: &str = "$pivot_enum";
/// A value of PIVOT, and the name that it has in place of its own.
pub const PIVOT_NAMED: &str = "$pivot_named";
/// The columns that UNPIVOT makes, as a statement: name and values.
pub const UNPIVOT: &str = "$unpivot";
/// Those that it makes where it follows a table: values, name, and whether NULL is one.
pub const UNPIVOT_FOR: &str = "$unpivot_for";
/// What a column that USING merges is of, where neither table has it as it is: the name begins so.
pub const MERGED: &str = "$merged";
/// What stands in the condition of an ASOF JOIN.
pub const ASOF: &str = "$asof";
/// What is the condition of a POSITIONAL JOIN.
pub const POSITIONAL: &str = "$positional";
/// The type of a generated column that is given none.
pub const OF_EXPRESSION: &str = "$generated";
/// The list of structs that are the rows of PostgreSQL's `json_each`, and those of `json_each_text`.
pub const JSON_MEMBERS: [&str; 2] = ["json_members", "json_members_text"];
/// The function that stands for `ROWS FROM (...)` of PostgreSQL.
pub(crate) const ROWS_FROM: &str = "$rows_from";
/// PostgreSQL's functions of JSON whose columns their alias says, with types, and whether they have many rows.
pub(crate) const JSON_RECORDS: [(&str, bool); 4] = [
    ("json_to_record", false),
    ("jsonb_to_record", false),
    ("json_to_recordset", true),
    ("jsonb_to_recordset", true),
];
/// The list of structs that are the rows of `json_each`.
pub const JSON_EACH: &str = "$json_each";
/// Those of `json_tree`.
pub const JSON_TREE: &str = "$json_tree";
/// What is beside a relation of which a sample is taken, and the window that stands for one of a query.
pub const SAMPLE: &str = "$sample";
/// What stands in PARTITION BY of a window whose frames EXCLUDE rows: a call with what is excluded, in small letters.
pub const EXCLUDE: &str = "$exclude";
/// What stands in PARTITION BY of a window whose frames have computed ends: a call with `rows` or `groups`, and of each end which it is and how
/// far it is from the row.
pub const FRAME: &str = "$frame";
/// What the first part of a recursive query has as its condition, if it has a key: its columns.
pub const USING_KEY: &str = "$using_key";
/// What a LIMIT in percent is.
pub const PERCENT: &str = "$percent";

/// Puts a mark behind an expression.
pub(super) fn mark(expr: &mut Expr, mark: &str) {
    mark_with(
        expr,
        BinaryOperator::Custom(mark.into()),
        Expr::value(Value::Null),
    );
}

/// Puts a mark behind an expression, and what is to be known of it behind the mark.
pub(super) fn mark_with(expr: &mut Expr, op: BinaryOperator, right: Expr) {
    let marked = std::mem::replace(expr, Expr::value(Value::Null));
    *expr = Expr::BinaryOp {
        left: Box::new(marked),
        op,
        right: Box::new(right),
    };
}
