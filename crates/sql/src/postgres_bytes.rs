//! PostgreSQL's functions of bytes: `encode`, `decode`, and digests whose values are bytes rather than texts.

use crate::error::Result;
use crate::postgres_literals::mark;
use crate::template::template;
use sqlparser::ast::{Expr, Value};

/// Name, what the second argument says, if there is one, and meaning.
const OF_BYTES: [(&str, Option<&str>, &str); 10] = [
    ("encode", Some("hex"), "lower(hex(CAST($1 AS BLOB)))"),
    // Lines of 76 letters, as in RFC 2045.
    (
        "encode",
        Some("base64"),
        "rtrim(regexp_replace(to_base64(CAST($1 AS BLOB)), '(.{76})', '\\1' || chr(10), 'g'), chr(10))",
    ),
    (
        "encode",
        Some("escape"),
        "escaped_as_postgres(CAST($1 AS BLOB))",
    ),
    ("convert_from", Some("utf8"), "decode(CAST($1 AS BLOB))"),
    ("convert_from", Some("utf-8"), "decode(CAST($1 AS BLOB))"),
    (
        "bit_count",
        None,
        "count_of_bits_as_postgres(CAST($1 AS BLOB))",
    ),
    ("decode", Some("hex"), "unhex($1)"),
    (
        "decode",
        Some("base64"),
        "from_base64(regexp_replace($1, '\\s', '', 'g'))",
    ),
    ("decode", Some("escape"), "unescaped_as_postgres($1)"),
    ("sha256", None, "unhex(sha256(CAST($1 AS BLOB)))"),
];

/// What a call is, if it is of one of these.
pub(super) fn of_bytes(name: &str, args: &[Expr]) -> Result<Option<Expr>> {
    let (bytes, format) = match args {
        [bytes] => (bytes, None),
        [bytes, Expr::Value(format)] => match &format.value {
            Value::SingleQuotedString(format) => (bytes, Some(format.to_lowercase())),
            _ => return Ok(None),
        },
        _ => return Ok(None),
    };
    let mut known = OF_BYTES.iter();
    let known = known.find(|(of, with, _)| *of == name && *with == format.as_deref());
    let Some((.., meaning)) = known else {
        return Ok(None);
    };
    let mut bytes = bytes.clone();
    if name != "decode" {
        mark(&mut bytes);
    }
    template(meaning, &[bytes]).map(Some)
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_read_where_a_function_takes_them() {
        for (sql, means) in [
            (
                "SELECT encode('\\x00ff', 'hex')",
                "SELECT lower(hex(CAST((postgres_literal('\\x00ff')) AS BLOB))) AS \"encode\"",
            ),
            (
                "SELECT a FROM t WHERE b = decode(a, 'HEX')",
                "SELECT a FROM t WHERE b = unhex(a)",
            ),
            (
                "SELECT a FROM t WHERE b = decode(a, 'base32')",
                "SELECT a FROM t WHERE b = decode(a, 'base32')",
            ),
        ] {
            let mut statement = crate::parse(sql).unwrap();
            crate::as_postgres(&mut statement).unwrap();
            let crate::Statement::Sql(statement) = statement else {
                panic!("{sql}")
            };
            assert_eq!(statement.to_string(), means);
        }
    }
}
