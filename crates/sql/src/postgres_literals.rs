//! Texts without a type, as PostgreSQL reads them where they meet a value that has one: `'\x00ff'` is bytes in hexadecimal, `'{a,b}'` a
//! list, `'20240131'` a day. DuckDB writes both otherwise. Which type they meet the plan alone knows, so they become calls that stand for themselves until then.
//!
//! What must hold: a text that no type reads otherwise than DuckDB stays as it is; what is stored means the same in both dialects.

use crate::calls::call;
use crate::cut_divide::CONTAINS;
use crate::error::Result;
use crate::postgres_arrays::list_text;
use crate::postgres_casts::{check_double, leaves_range};
use crate::postgres_moments::postgres_moment;
use sqlparser::ast::{
    self, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Insert,
    OnInsert, Query, SelectItem, SetExpr, Statement, Value,
};

/// The function that stands for a text whose type is that of what it meets.
pub const POSTGRES_LITERAL: &str = "postgres_literal";

/// Functions all of whose arguments are of one type.
const OF_ONE_TYPE: [&str; 5] = ["coalesce", "nullif", "greatest", "least", "ifnull"];

/// Functions of lists alone.
const OF_LISTS: [&str; 3] = ["list_has_all", "list_has_any", "list_concat"];

/// Functions of JSON whose second argument is a list of texts.
const OF_PATHS: [&str; 7] = [
    "json_by_path",
    "json_by_path_text",
    "jsonb_delete_path",
    "jsonb_exists_any",
    "jsonb_exists_all",
    "jsonb_set",
    "jsonb_insert",
];

/// Digits of numbers with an exponent that are read as numerics; those with more are doubles, as in DuckDB.
const MOST_DIGITS: usize = 18;

/// `1.5e3` as the numeric that it is, where DuckDB has a DOUBLE.
///
/// # Errors
/// `OutOfRange` of what is out of the range of doubles.
pub(crate) fn numeric_literal(literal: &Value) -> Result<Option<Expr>> {
    let Value::Number(number, _) = literal else {
        return Ok(None);
    };
    check_double(number)?;
    let digits = without_exponent(number);
    Ok(digits.map(|digits| Expr::value(Value::Number(digits, false))))
}

/// The digits of a number with an exponent, with their point: `1500.`.
fn without_exponent(number: &str) -> Option<String> {
    let (digits, exponent) = number.split_once(['e', 'E'])?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut digits = format!("{whole}{fraction}");
    let point = i32::try_from(whole.len()).ok()? + exponent.parse::<i8>().map(i32::from).ok()?;
    let leading = usize::try_from(1 - point).unwrap_or(0);
    digits.insert_str(0, &"0".repeat(leading));
    let point = usize::try_from(point.max(1)).ok()?;
    let missing = point.saturating_sub(digits.len());
    digits.push_str(&"0".repeat(missing));
    if digits.len() > MOST_DIGITS || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    digits.insert(point, '.');
    Some(digits)
}

/// A text of PostgreSQL that is a list, in DuckDB's writing.
pub fn postgres_list(text: &str, of_bytes: bool) -> Option<String> {
    list_text(text, of_bytes)
}

/// Whether some type reads a text otherwise than DuckDB does.
fn is_special(text: &str) -> bool {
    let trimmed = text.trim();
    let is_list = trimmed.starts_with('{') && trimmed.ends_with('}');
    text.contains('\\') || is_list || leaves_range(trimmed, true)
}

/// The same of the ends of a range, which may be moments. Of two sides of a comparison the plan knows the types.
fn is_special_end(text: &str) -> bool {
    let is_moment = |is_span| postgres_moment(text.trim(), is_span).is_some();
    is_special(text) || [true, false].into_iter().any(is_moment)
}

/// The text that an expression is, if its type is that of what it meets.
pub fn postgres_literal(expr: &Expr) -> Option<&str> {
    let Expr::Function(Function { name, args, .. }) = expr else {
        return None;
    };
    let ([part], FunctionArguments::List(list)) = (name.0.as_slice(), args) else {
        return None;
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(value)))] = list.args.as_slice()
    else {
        return None;
    };
    let is_ours = part.as_ident()?.value == POSTGRES_LITERAL;
    match &value.value {
        Value::SingleQuotedString(text) if is_ours => Some(text),
        _ => None,
    }
}

/// Has a text read by the type of what it meets, if any type reads it otherwise than DuckDB.
pub(super) fn mark(expr: &mut Expr) {
    mark_if(expr, is_special);
}

/// Has a text read by the type of what it meets.
fn mark_any(expr: &mut Expr) {
    mark_if(expr, |_| true);
}

fn mark_if(expr: &mut Expr, is_meant: fn(&str) -> bool) {
    match expr {
        Expr::Nested(inner) => mark_if(inner, is_meant),
        Expr::Value(value) => {
            if let Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) =
                &mut value.value
                && is_meant(text)
            {
                let text = Value::SingleQuotedString(std::mem::take(text));
                *expr = call(POSTGRES_LITERAL, vec![Expr::Value(text.into())]);
            }
        }
        _ => {}
    }
}

/// Has the texts in an expression read by the types of what they meet in it.
pub(super) fn mark_parts(expr: &mut Expr) {
    match expr {
        Expr::BinaryOp { left, op, right } if is_of_one_type(op) => {
            mark(left);
            mark(right);
        }
        Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
            mark(left);
            mark(right);
        }
        Expr::InList { expr, list, .. } => {
            mark(expr);
            list.iter_mut().for_each(mark);
        }
        Expr::Between {
            expr, low, high, ..
        } => {
            mark(expr);
            mark_if(low, is_special_end);
            mark_if(high, is_special_end);
        }
        Expr::Case {
            operand,
            conditions,
            else_result,
            ..
        } => {
            operand.iter_mut().for_each(|operand| mark(operand));
            for when in conditions {
                mark(&mut when.condition);
                mark(&mut when.result);
            }
            else_result.iter_mut().for_each(|result| mark(result));
        }
        Expr::Function(function) => mark_arguments(function),
        _ => {}
    }
}

/// Whether both sides are of one type.
fn is_of_one_type(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    let contains = matches!(op, B::Custom(mark) if mark == CONTAINS);
    contains
        || matches!(
            op,
            B::Eq | B::NotEq | B::Lt | B::LtEq | B::Gt | B::GtEq | B::Spaceship | B::StringConcat
        )
}

fn mark_arguments(function: &mut Function) {
    let ([part], FunctionArguments::List(list)) = (function.name.0.as_slice(), &mut function.args)
    else {
        return;
    };
    let name = part.as_ident().map(|name| name.value.to_lowercase());
    let is_of = |names: &[&str]| name.as_deref().is_some_and(|name| names.contains(&name));
    let (of_one_type, of_lists) = (is_of(&OF_ONE_TYPE), is_of(&OF_LISTS));
    let of_paths = is_of(&OF_PATHS);
    for (at, arg) in list.args.iter_mut().enumerate() {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(arg)) = arg {
            match crate::postgres_arrays::array_literal(arg) {
                Some(list) if of_lists || of_paths && at == 1 => *arg = list,
                _ if of_one_type => mark(arg),
                _ => {}
            }
        }
    }
}

/// Has the texts read so that are values of rows: those of VALUES, of the SELECT of an INSERT, and of queries under one another, whose
/// texts have the type of what the others give, whatever that is.
pub(super) fn mark_values(query: &mut Query) {
    mark_body(&mut query.body, None);
}

fn mark_body(body: &mut SetExpr, mark_item: Option<fn(&mut Expr)>) {
    match body {
        SetExpr::Values(values) => {
            let rows = values.rows.iter_mut();
            rows.for_each(|row| row.content.iter_mut().for_each(mark));
        }
        SetExpr::SetOperation { left, right, .. } => {
            mark_body(left, Some(mark_any));
            mark_body(right, Some(mark_any));
        }
        SetExpr::Select(select) => {
            let Some(mark_item) = mark_item else {
                return;
            };
            for item in &mut select.projection {
                if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                {
                    mark_item(expr);
                }
            }
        }
        _ => {}
    }
}

/// Has the texts read so that a statement gives to columns.
pub(super) fn mark_given(statement: &mut Statement) {
    match statement {
        Statement::Insert(Insert { source, on, .. }) => {
            if let Some(source) = source {
                mark_body(&mut source.body, Some(mark));
            }
            if let Some(OnInsert::OnConflict(conflict)) = on
                && let ast::OnConflictAction::DoUpdate(update) = &mut conflict.action
            {
                update.assignments.iter_mut().for_each(mark_assigned);
            }
        }
        Statement::Update(update) => update.assignments.iter_mut().for_each(mark_assigned),
        Statement::CreateTable(create) => {
            for column in &mut create.columns {
                let is_typed = matches!(
                    column.data_type,
                    ast::DataType::Bytea | ast::DataType::Blob(_) | ast::DataType::Array(_)
                );
                for option in &mut column.options {
                    if let ast::ColumnOption::Default(value) = &mut option.option
                        && is_typed
                    {
                        mark(value);
                    }
                }
            }
        }
        Statement::AlterTable(alter) => {
            for operation in &mut alter.operations {
                if let ast::AlterTableOperation::AlterColumn {
                    op: ast::AlterColumnOperation::SetDefault { value },
                    ..
                } = operation
                {
                    mark(value);
                }
            }
        }
        _ => {}
    }
}

fn mark_assigned(assignment: &mut ast::Assignment) {
    match &mut assignment.value {
        Expr::Tuple(values) => values.iter_mut().for_each(mark),
        value => mark(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(sql: &str) -> String {
        let mut statement = crate::parse(sql).unwrap();
        crate::as_postgres(&mut statement).unwrap();
        match statement {
            crate::Statement::Sql(statement) => statement.to_string(),
            _ => panic!("{sql}"),
        }
    }

    #[test]
    fn texts_that_meet_a_type_are_marked_and_no_others() {
        for (sql, marked_texts) in [
            ("SELECT * FROM t WHERE b = '\\x00'", 1),
            ("SELECT * FROM t WHERE b IN ('\\x00', 'x', '{}')", 2),
            ("SELECT * FROM t WHERE b BETWEEN '\\x00' AND '\\x01'", 2),
            ("SELECT CASE WHEN a THEN b ELSE '{a}' END FROM t", 1),
            ("SELECT coalesce(b, '\\x00') FROM t", 1),
            ("VALUES ('\\x00', '{a,b}', '[a]')", 2),
            ("INSERT INTO t VALUES ('\\x00')", 1),
            ("INSERT INTO t SELECT '\\x00', b || '{' FROM t", 1),
            (
                "INSERT INTO t VALUES (1) ON CONFLICT (a) DO UPDATE SET b = '\\x00'",
                1,
            ),
            ("UPDATE t SET b = '\\x00', c = '{1}'", 2),
            (
                "CREATE TABLE t (b BYTEA DEFAULT '\\x00', c TEXT DEFAULT '{}', d INT[] DEFAULT '{}')",
                2,
            ),
            ("CREATE TABLE t (b BYTEA CHECK (b <> '\\x00'))", 1),
            ("CREATE VIEW v AS SELECT a FROM t WHERE b <> '\\x00'", 1),
            ("ALTER TABLE t ALTER COLUMN b SET DEFAULT '\\x00'", 1),
            ("SELECT DATE '2020-01-01' UNION SELECT '2020-01-02'", 1),
            ("SELECT a FROM t WHERE a LIKE '\\_%' AND a ~ '\\d'", 0),
            ("SELECT '\\x00', '{a}'", 0),
            ("SELECT length('\\x00'), '{a}'::int[], '\\x00'::bytea", 0),
        ] {
            let found = marked(sql);
            assert_eq!(
                found.matches("postgres_literal(").count(),
                marked_texts,
                "{found}"
            );
        }
    }

    #[test]
    fn numbers_with_exponents_are_numerics() {
        for (written, number) in [
            ("1e5", Some("100000.")),
            ("1.50E+3", Some("1500.")),
            ("1.505e2", Some("150.5")),
            ("1.5e-3", Some("0.0015")),
            ("15e-1", Some("1.5")),
            (".5e1", Some("5.")),
            ("0e0", Some("0.")),
            ("1e17", Some("100000000000000000.")),
            ("1e18", None),
            ("1e-18", None),
            ("1e300", None),
            ("15", None),
        ] {
            assert_eq!(without_exponent(written).as_deref(), number, "{written}");
        }
    }

    #[test]
    fn lists_are_written_as_duckdb_reads_them() {
        for (text, list) in [
            ("{1,2}", "[1, 2]"),
            ("{}", "[]"),
            (
                "{a,\"b c\",NULL,\"null\",\"it's\"}",
                "['a', 'b c', NULL, 'null', 'it\\'s']",
            ),
            ("{{1},{2}}", "[[1], [2]]"),
        ] {
            assert_eq!(postgres_list(text, false).as_deref(), Some(list));
        }
        let bytes = postgres_list("{\"\\\\x00ff\"}", true);
        assert_eq!(bytes.as_deref(), Some("['\\\\x00\\\\xFF']"));
        assert_eq!(postgres_list("{", false), None);
    }
}
