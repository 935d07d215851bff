//! What SET takes: sizes and plain values as text.

use crate::error::{Error, Result};
use sqlparser::ast::{Expr, UnaryOperator, Value};

/// A literal or bare word as text.
pub fn plain_text(value: &Expr) -> Option<String> {
    Some(match value {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::Number(text, _) => text.clone(),
            Value::DollarQuotedString(text) => text.value.clone(),
            Value::Boolean(flag) => flag.to_string(),
            _ => return None,
        },
        Expr::Identifier(ident) => ident.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
            parts.join(".")
        }
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => format!("-{}", plain_text(expr)?),
        _ => return None,
    })
}

/// A size as DuckDB reads it: `16MB` is decimal, `16MiB` is not; a number alone is bytes.
pub fn memory_size(text: &str) -> Result<u64> {
    let malformed = || Error::invalid("a size reads like '16MB' or '16MiB'");
    let text = text.trim().to_lowercase();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let factor: u64 = match unit.trim() {
        "" | "b" | "byte" | "bytes" => 1,
        "k" | "kb" => 1_000,
        "m" | "mb" => 1_000_000,
        "g" | "gb" => 1_000_000_000,
        "t" | "tb" => 1_000_000_000_000,
        "kib" => 1 << 10,
        "mib" => 1 << 20,
        "gib" => 1 << 30,
        "tib" => 1 << 40,
        _ => return Err(malformed()),
    };
    let number: f64 = number.parse().map_err(|_| malformed())?;
    Ok((number * factor as f64) as u64)
}

/// A size as DuckDB shows it: `16.0 MiB`.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if bytes < 1024 {
        return format!("{bytes} bytes");
    }
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    // Cut, not rounded: what is shown is not more than there is.
    format!("{:.1} {}", (size * 10.0).floor() / 10.0, UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_shown() {
        for (text, bytes) in [
            ("16MB", 16_000_000),
            ("1 TiB", 1 << 40),
            ("5", 5),
            ("1.5kb", 1500),
        ] {
            assert_eq!(memory_size(text).unwrap(), bytes, "{text}");
        }
        for text in ["", "MB", "1XB", "-1MB", "1.2.3GB"] {
            assert!(memory_size(text).is_err(), "{text}");
        }
        for (bytes, text) in [
            (0, "0 bytes"),
            (1 << 24, "16.0 MiB"),
            (1_000_000_000_000, "931.3 GiB"),
        ] {
            assert_eq!(size_text(bytes), text);
        }
    }
}
