//! COMMENT ON.

use super::statement::{Commented, NewComment, Statement};
use super::tokens::{object_name, string, syntax_error, words};
use crate::error::{Error, Result};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;

/// `COMMENT ON kind name IS 'text'`, or NULL.
pub(super) fn comment(parser: &mut Parser) -> Result<Statement> {
    (0..2).for_each(|_| drop(parser.next_token()));
    let ahead = words(parser, 2);
    let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
    let (on, count) = match ahead.as_slice() {
        ["MACRO" | "FUNCTION", "TABLE"] => (Commented::TableMacro, 2),
        ["MACRO" | "FUNCTION", _] => (Commented::Macro, 1),
        ["TABLE" | "VIEW", _] => (Commented::Relation, 1),
        ["COLUMN", _] => (Commented::Column, 1),
        ["SEQUENCE", _] => (Commented::Sequence, 1),
        ["INDEX", _] => (Commented::Index, 1),
        ["TYPE", _] => (Commented::Type, 1),
        ["SCHEMA", _] => {
            return Err(Error::unsupported(
                "Adding comments to schemas is not implemented",
            ));
        }
        ["DATABASE", _] => {
            return Err(Error::unsupported(
                "Adding comments to databases is not implemented",
            ));
        }
        _ => return Err(syntax_error(&parser.peek_token().token)),
    };
    (0..count).for_each(|_| drop(parser.next_token()));
    let name = object_name(parser)?;
    if !parser.parse_keyword(Keyword::IS) {
        return Err(syntax_error(&parser.peek_token().token));
    }
    let text = match parser.parse_keyword(Keyword::NULL) {
        true => None,
        false => Some(string(parser)?),
    };
    Ok(Statement::Comment(NewComment { on, name, text }))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[test]
    fn what_is_commented_on_and_what_is_said_are_read() {
        for (text, wanted) in [
            ("COMMENT ON TABLE s.t IS 'x'", Commented::Relation),
            ("comment on view v is null", Commented::Relation),
            ("COMMENT ON COLUMN t.c IS $$x$$", Commented::Column),
            ("COMMENT ON MACRO TABLE f IS 'x'", Commented::TableMacro),
            ("COMMENT ON FUNCTION f IS 'x'", Commented::Macro),
            ("COMMENT ON TYPE s.t IS 'x'", Commented::Type),
        ] {
            let Ok(Statement::Comment(read)) = parse(text) else {
                panic!("{text}")
            };
            assert_eq!(read.on, wanted, "{text}");
        }
        for text in [
            "COMMENT ON t IS 'x'",
            "COMMENT ON TABLE t IS 5",
            "COMMENT ON TABLE t IS x",
            "COMMENT ON TABLE t 'x'",
            "COMMENT ON TABLE t IS 'a' || 'b'",
            "COMMENT ON SCHEMA s IS 'x'",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
