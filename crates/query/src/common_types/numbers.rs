//! The common type of numbers, where DataFusion has none that keeps every digit.

use super::For;
use super::number_kind::{
    MAX_DIGITS_128, Number, common_int, decimal_type, huge_literal, int_digits, int_fits,
    int_literal, int_type, is_huge, literal_digits,
};
use datafusion::arrow::datatypes::DataType;
use datafusion::logical_expr::Expr;

/// The common type of numbers of which at least one is a decimal and not all are of one type, or of bytes and text.
pub(super) fn common<'a>(
    items: impl Iterator<Item = (Option<&'a Expr>, DataType)>,
    what: For,
) -> Option<DataType> {
    let items: Vec<_> = items.collect();
    if let Some(bytes) = bytes_beside_text(items.iter().map(|(_, t)| t)) {
        return Some(bytes);
    }
    let (mut whole, mut scale, mut float) = (0u8, 0i8, None);
    let mut first: Option<DataType> = None;
    let (mut decimal, mut mixed, mut huge) = (false, false, false);
    for (expr, data_type) in items {
        match need(expr, &data_type, what)? {
            Need::Digits { whole: w, scale: s } => {
                whole = whole.max(w);
                scale = scale.max(s);
            }
            Need::Float { double } => float = Some(double || float == Some(true)),
            Need::Nothing => continue,
        }
        huge |= is_huge(&data_type);
        decimal |= data_type.is_decimal() && !is_huge(&data_type);
        match &first {
            Some(t) => mixed |= *t != data_type,
            None => first = Some(data_type),
        }
    }
    if !(decimal || huge && float.is_some()) || !mixed {
        return None;
    }
    match float {
        Some(true) => return Some(DataType::Float64),
        Some(false) => return Some(DataType::Float32),
        None => {}
    }
    let precision = (u16::from(whole) + scale as u16).clamp(1, u16::from(MAX_DIGITS_128)) as u8;
    Some(decimal_type(precision, scale))
}

/// The common type of integers that are not of one type, where literals that fit take that of the others.
pub(super) fn common_integer(items: &[(Option<&Expr>, DataType)]) -> Option<DataType> {
    let known = items
        .iter()
        .filter(|(_, data_type)| data_type != &DataType::Null);
    let kind = |data_type: &DataType| match Number::of(data_type)? {
        Number::Int { bits, signed } => Some((bits, signed)),
        _ => None,
    };
    let mut common = None;
    // Literals come last.
    for literal in [false, true] {
        let literal_of = |expr: &Option<&Expr>| expr.and_then(huge_literal);
        let of_kind = |item: &&(Option<&Expr>, DataType)| literal_of(&item.0).is_some() == literal;
        for (expr, data_type) in known.clone().filter(of_kind) {
            let own = kind(data_type)?;
            common = Some(match (common, literal_of(expr)) {
                (None, _) => own,
                (Some(common), Some(v)) if int_fits(v, common) => common,
                (Some(common), _) => match common_int(common, own) {
                    Some(both) => both,
                    // As in DuckDB, which has no integer for both.
                    None => return Some(DataType::Float64),
                },
            });
        }
    }
    common.map(|(bits, signed)| int_type(bits, signed))
}

/// The type of numbers beside a BOOLEAN, which is 0 or 1 then.
pub(super) fn number_beside_boolean(types: &[DataType]) -> Option<DataType> {
    let is_other = |ty: &&DataType| !ty.is_null() && **ty != DataType::Boolean;
    let mut numbers = types.iter().filter(is_other);
    let first = numbers.next().filter(|ty| Number::of(ty).is_some())?;
    let of_one = numbers.all(|ty| ty == first);
    (of_one && types.contains(&DataType::Boolean)).then(|| first.clone())
}

/// The common type of integers beside BOOLEANs, of which each is 0 or 1 then.
pub(super) fn integers_beside_booleans(items: &[(Option<&Expr>, DataType)]) -> Option<DataType> {
    let integers = items.iter().filter(|(_, ty)| *ty != DataType::Boolean);
    let integers: Vec<_> = integers.cloned().collect();
    match integers.len() < items.len() {
        true => common_integer(&integers),
        false => None,
    }
}

/// BLOB or UUID, where all that stands beside it is NULL or text: that is read as one, as by a CAST.
fn bytes_beside_text<'a>(
    mut types: impl Iterator<Item = &'a DataType> + Clone,
) -> Option<DataType> {
    let is_bytes = |t: &DataType| t.is_binary() || matches!(t, DataType::FixedSizeBinary(_));
    let bytes = types.clone().find(|t| is_bytes(t))?;
    let others = types.clone().any(|t| t != bytes);
    let fits = types.all(|t| t == bytes || t.is_string() || t.is_null());
    (others && fits).then(|| bytes.clone())
}

/// Digits before and after the point that a number needs, or a float.
#[derive(Clone, Copy)]
enum Need {
    Digits {
        whole: u8,
        scale: i8,
    },
    Float {
        double: bool,
    },
    /// NULL takes any type, and so does text that is compared.
    Nothing,
}

fn need(expr: Option<&Expr>, data_type: &DataType, what: For) -> Option<Need> {
    if let Some(v) = expr.and_then(int_literal)
        && what == For::Comparison
    {
        return Some(Need::Digits {
            whole: literal_digits(v),
            scale: 0,
        });
    }
    // Text that is compared with numbers of several types is read as what these are compared as.
    if data_type == &DataType::Null || what == For::Comparison && data_type.is_string() {
        return Some(Need::Nothing);
    }
    let (whole, scale) = match Number::of(data_type)? {
        Number::Float => {
            let double = data_type == &DataType::Float64;
            return Some(Need::Float { double });
        }
        Number::Decimal(p, s) => (p.saturating_sub(s as u8), s),
        Number::Int { bits, signed } => (int_digits(bits, signed), 0),
    };
    Some(Need::Digits { whole, scale })
}
