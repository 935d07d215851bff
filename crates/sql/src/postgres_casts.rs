//! Casts of PostgreSQL: to types that only it has, to text in its writing, and of dates with an era.

use crate::calls::call;
use crate::error::{Error, ErrorKind, Result};
use crate::postgres_byte_texts::postgres_bytes;
use crate::postgres_types::{self, NUMERIC_CAST, OID_OF, TEXT_OF};
use sqlparser::ast::{self, Expr, Value};

/// A value of a type that stands for a name is shown as that name.
pub(super) fn show_name(expr: &mut Expr) {
    let shown = match expr {
        Expr::Cast {
            expr, data_type, ..
        } => postgres_types::named(data_type).map(|kind| {
            call(
                TEXT_OF[kind],
                vec![call(OID_OF[kind], vec![expr.as_ref().clone()])],
            )
        }),
        _ => None,
    };
    if let Some(shown) = shown {
        *expr = shown;
    }
}

/// The function that a cast to text is.
pub const POSTGRES_TEXT: &str = "postgres_text";
/// The function that a value is shown by: `t` and `f` of truth values, all else as by a cast.
pub const POSTGRES_OUTPUT: &str = "output_as_postgres";

/// A cast to a type that only PostgreSQL has, or to text, which some values are in another writing there.
pub(super) fn cast(expr: &Expr, data_type: &mut ast::DataType) -> Option<Expr> {
    if let Some(kind) = postgres_types::named(data_type) {
        return Some(call(OID_OF[kind], vec![expr.clone()]));
    }
    if let Some(cut) = of_length(expr, data_type) {
        return Some(cut);
    }
    if postgres_types::is_text(data_type)
        && let Expr::Function(function) = expr
        && let Some(kind) = OID_OF
            .iter()
            .position(|name| function.name.to_string() == *name)
    {
        return Some(call(TEXT_OF[kind], vec![expr.clone()]));
    }
    if postgres_types::is_text(data_type) && !is_plain(expr) {
        let text = call(POSTGRES_TEXT, vec![expr.clone()]);
        return Some(match postgres_types::letters_of(data_type) {
            Some(letters) => cut(text, letters, data_type),
            None => text,
        });
    }
    if let Some(letters) = postgres_types::letters_of(data_type) {
        let text = Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(expr.clone()),
            data_type: ast::DataType::Varchar(None),
            array: false,
            format: None,
        };
        return Some(cut(text, letters, data_type));
    }
    if matches!(data_type, ast::DataType::Bytea)
        && let Some(bytes) = bytes(expr)
    {
        return Some(bytes);
    }
    if postgres_types::is_bare_numeric(data_type) {
        match written_number(expr).and_then(postgres_types::numeric_of) {
            Some(digits) => *data_type = digits,
            None => return Some(call(NUMERIC_CAST, vec![expr.clone()])),
        }
    }
    if matches!(data_type, ast::DataType::JSONB) {
        let mut json = expr.clone();
        if is_parameter(&json) {
            json = Expr::Cast {
                kind: ast::CastKind::Cast,
                expr: Box::new(json),
                data_type: ast::DataType::JSON,
                array: false,
                format: None,
            };
        }
        return Some(call(AS_JSONB, vec![json]));
    }
    if let Some(plain) = postgres_types::plain(data_type) {
        *data_type = plain;
    }
    None
}

/// A cast to bits of that number, or to a moment with so many digits of its seconds: `bit(4)`, `timestamp(3)`.
fn of_length(expr: &Expr, data_type: &ast::DataType) -> Option<Expr> {
    use ast::DataType as T;
    let number = |of: u64| Expr::Value(Value::Number(of.to_string(), false).into());
    let plain = |digits: u64, data_type| {
        let plain = Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(expr.clone()),
            data_type,
            array: false,
            format: None,
        };
        Some(call(
            "rounded_moment_as_postgres",
            vec![plain, number(digits)],
        ))
    };
    match data_type {
        T::Bit(count) => Some(call(
            "bits_of_length_as_postgres",
            vec![expr.clone(), number(count.unwrap_or(1))],
        )),
        T::BitVarying(Some(most)) | T::VarBit(Some(most)) => Some(call(
            "bits_up_to_as_postgres",
            vec![expr.clone(), number(*most)],
        )),
        T::Timestamp(Some(digits), zone) => plain(*digits, T::Timestamp(None, *zone)),
        T::Time(Some(digits), zone) => plain(*digits, T::Time(None, *zone)),
        T::Interval {
            fields,
            precision: Some(digits),
        } => plain(
            *digits,
            T::Interval {
                fields: *fields,
                precision: None,
            },
        ),
        _ => None,
    }
}

/// Refuses the text of a literal that is cast to a numeric and is no number, or without end, or to a float and is out of its range.
///
/// # Errors
/// `Unsupported`, or `OutOfRange`.
pub(super) fn check_number(expr: &Expr, data_type: &ast::DataType) -> Result<()> {
    use ast::DataType as T;
    let text = written_number(expr).unwrap_or_default().trim();
    match data_type {
        T::Numeric(_) | T::Decimal(_) | T::Dec(_) => {
            let text = text.to_ascii_lowercase();
            match text.trim_start_matches(['+', '-']) {
                "nan" | "inf" | "infinity" => Err(Error::unsupported(
                    "NaN and infinities of numeric are not there; write double precision",
                )),
                _ => Ok(()),
            }
        }
        T::Real | T::Float4 => check_float(text, true),
        T::Double(_) | T::DoublePrecision | T::Float8 => check_double(text),
        _ => Ok(()),
    }
}

/// Refuses the text of a number that is out of the range of doubles.
///
/// # Errors
/// `OutOfRange`.
pub(super) fn check_double(text: &str) -> Result<()> {
    check_float(text, false)
}

/// The same of floats of one of the types, `real` or `double precision`.
fn check_float(text: &str, is_real: bool) -> Result<()> {
    match leaves_range(text, is_real) {
        true => Err(Error::new(
            ErrorKind::OutOfRange,
            "a literal is out of range for its type",
        )),
        false => Ok(()),
    }
}

/// Whether a text is a number of which `real`, or else `double precision`, makes something infinite, or nothing.
pub fn leaves_range(text: &str, is_real: bool) -> bool {
    let text = text.trim();
    let Ok(number) = text.parse::<f64>() else {
        return false;
    };
    let number = match is_real {
        true => f64::from(number as f32),
        false => number,
    };
    let mantissa = text.split(['e', 'E']).next().unwrap_or_default();
    let digits = mantissa.bytes().filter(u8::is_ascii_digit);
    let (mut digits, mut others) = (digits.clone(), digits.filter(|digit| *digit != b'0'));
    number.is_infinite() && digits.next().is_some() || number == 0.0 && others.next().is_some()
}

/// Refuses the text of a literal that is cast to a whole number and is none: DuckDB rounds `'4.5'`.
///
/// # Errors
/// `Conversion` with PostgreSQL's code.
pub(super) fn check_whole(
    kind: &ast::CastKind,
    expr: &Expr,
    data_type: &ast::DataType,
) -> Result<()> {
    // What TRY_CAST cannot read is no error.
    if matches!(kind, ast::CastKind::TryCast | ast::CastKind::SafeCast) {
        return Ok(());
    }
    let Some(name) = name_of_whole(data_type) else {
        return Ok(());
    };
    let text = match expr {
        Expr::Nested(inner) => return check_whole(kind, inner, data_type),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.trim(),
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Ok(());
    }
    let what = format!("invalid input syntax for type {name}: the text is no whole number");
    Err(Error::new(ErrorKind::Conversion, what).with_sqlstate("22P02"))
}

/// The function that looks at a text which is cast to a whole number.
pub const POSTGRES_WHOLE: &str = "postgres_whole";

/// Has a text looked at that is computed, and is cast to a whole number.
pub(super) fn look_at_whole(kind: &ast::CastKind, expr: &mut Expr, data_type: &ast::DataType) {
    let may_fail = !matches!(kind, ast::CastKind::TryCast | ast::CastKind::SafeCast);
    if may_fail && name_of_whole(data_type).is_some() && !is_plain(expr) && !is_negated(expr) {
        *expr = call(POSTGRES_WHOLE, vec![expr.clone()]);
    }
}

fn is_negated(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_negated(inner),
        expr => matches!(expr, Expr::UnaryOp { .. }),
    }
}

fn name_of_whole(data_type: &ast::DataType) -> Option<&'static str> {
    match data_type {
        ast::DataType::SmallInt(_) | ast::DataType::Int2(_) => Some("smallint"),
        ast::DataType::Int(_) | ast::DataType::Integer(_) | ast::DataType::Int4(_) => {
            Some("integer")
        }
        ast::DataType::BigInt(_) | ast::DataType::Int8(_) => Some("bigint"),
        _ => None,
    }
}

/// The function that a cast to `jsonb` is.
pub(super) const AS_JSONB: &str = "as_jsonb";

fn is_parameter(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_parameter(inner),
        Expr::Value(value) => matches!(value.value, Value::Placeholder(_)),
        _ => false,
    }
}

/// The first letters of a text; of `char(n)` without the blanks at its end, which mean nothing there.
fn cut(text: Expr, letters: u64, ty: &ast::DataType) -> Expr {
    let letters = Expr::Value(Value::Number(letters.to_string(), false).into());
    let text = call("left", vec![text, letters]);
    match ty {
        ast::DataType::Char(_) | ast::DataType::Character(_) => {
            let blank = Expr::Value(Value::SingleQuotedString(" ".to_owned()).into());
            call("rtrim", vec![text, blank])
        }
        _ => text,
    }
}

/// The number that a literal is, as it is written.
fn written_number(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => written_number(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) | Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

pub(super) fn is_day(data_type: &ast::DataType) -> bool {
    matches!(
        data_type,
        ast::DataType::Date | ast::DataType::Timestamp(..)
    )
}

/// Puts the era of a literal where DuckDB has it: behind the day, and not behind the time.
pub(super) fn put_era(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => put_era(inner),
        Expr::Value(value) => put_era_in(&mut value.value),
        _ => {}
    }
}

/// The same of the literal itself.
pub(super) fn put_era_in(value: &mut Value) {
    if let Value::SingleQuotedString(text) = value
        && let Some(era) = era_behind_day(text)
    {
        *text = era;
    }
}

/// A date or timestamp that ends in ` BC`, as PostgreSQL writes it, in DuckDB's order: `0044-03-15 (BC) 00:00:01`.
/// `None` when it has no era.
pub fn era_behind_day(text: &str) -> Option<String> {
    let text = text.trim();
    let at = text.len().checked_sub(3)?;
    let (text, era) = text.split_at_checked(at)?;
    let (day, rest) = text.split_at(text.find([' ', 'T']).unwrap_or(text.len()));
    era.eq_ignore_ascii_case(" bc")
        .then(|| format!("{day} (BC){rest}"))
}

/// Whether an expression is a literal or a parameter, whose type a cast says.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::Nested(inner) => is_plain(inner),
        _ => false,
    }
}

/// The bytes that a text means, which DuckDB would read otherwise.
pub(super) fn bytes(expr: &Expr) -> Option<Expr> {
    let Expr::Value(value) = expr else {
        return None;
    };
    let (Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text)) = &value.value else {
        return None;
    };
    let bytes = postgres_bytes(text).filter(|_| text.contains('\\'))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let digits = Expr::Value(Value::SingleQuotedString(digits).into());
    Some(call("unhex", vec![digits]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_era_goes_behind_the_day() {
        let written = era_behind_day("0044-03-15 00:00:01 bc");
        assert_eq!(written.as_deref(), Some("0044-03-15 (BC) 00:00:01"));
        assert_eq!(
            era_behind_day("0044-03-15 BC").as_deref(),
            Some("0044-03-15 (BC)")
        );
        assert_eq!(era_behind_day("2024-01-01"), None);
        assert_eq!(era_behind_day("BC"), None);
    }
}
