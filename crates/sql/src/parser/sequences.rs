//! CREATE and ALTER SEQUENCE.
//!
//! Refuses options that contradict each other or come twice, as DuckDB does.

use super::statement::{AlterSequence, NewSequence, SequenceChange, Statement};
use super::tokens::{entry_head, object_name, syntax_error, words};
use crate::error::{Error, Result};
use hushdb_storage::SequenceOptions;
use sqlparser::ast::ObjectName;
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

/// `CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] name options`.
pub(super) fn create(parser: &mut Parser) -> Result<Statement> {
    let head = entry_head(parser)?;
    let mut given = Given::default();
    while given.option(parser)? {}
    Ok(Statement::CreateSequence(NewSequence {
        head,
        options: given.options()?,
        owner: given.owner,
    }))
}

/// `ALTER SEQUENCE [IF EXISTS] name OWNED BY owner`, or `RESTART [[WITH] number]`.
pub(super) fn alter(parser: &mut Parser) -> Result<Statement> {
    (0..2).for_each(|_| drop(parser.next_token()));
    let if_exists = parser.parse_keywords(&[Keyword::IF, Keyword::EXISTS]);
    let name = object_name(parser)?;
    let change = if parser.parse_keywords(&[Keyword::OWNED, Keyword::BY]) {
        SequenceChange::Owner(owner(parser)?)
    } else if parser.parse_keyword(Keyword::RESTART) {
        let with = parser.parse_keyword(Keyword::WITH);
        let ends = matches!(parser.peek_token().token, Token::EOF | Token::SemiColon);
        SequenceChange::Restart(match with || !ends {
            true => Some(integer(parser, "restart")?),
            false => None,
        })
    } else {
        return Err(Error::unsupported(
            "ALTER SEQUENCE option not supported yet! It takes OWNED BY and RESTART",
        ));
    };
    Ok(Statement::AlterSequence(AlterSequence {
        name,
        if_exists,
        change,
    }))
}

/// What follows OWNED BY.
fn owner(parser: &mut Parser) -> Result<Option<ObjectName>> {
    match parser.parse_keyword(Keyword::NONE) {
        true => Ok(None),
        false => object_name(parser).map(Some),
    }
}

/// Options as they are read.
#[derive(Default)]
struct Given {
    increment: Option<i64>,
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    start: Option<i64>,
    cycle: Option<bool>,
    /// The least and greatest number of the type.
    type_range: Option<(i64, i64)>,
    owner: Option<ObjectName>,
}

impl Given {
    /// Reads an option; `false` where there is none.
    fn option(&mut self, parser: &mut Parser) -> Result<bool> {
        let ahead = words(parser, 2);
        let ahead: Vec<&str> = ahead.iter().map(String::as_str).collect();
        let mut skip = |n: usize| (0..n).for_each(|_| drop(parser.next_token()));
        match ahead.as_slice() {
            ["INCREMENT", by] => {
                skip(1 + usize::from(*by == "BY"));
                once(
                    &mut self.increment,
                    "Increment",
                    integer(parser, "increment")?,
                )?;
            }
            ["MINVALUE", _] => {
                skip(1);
                once(
                    &mut self.min,
                    "Minvalue",
                    Some(integer(parser, "minvalue")?),
                )?;
            }
            ["MAXVALUE", _] => {
                skip(1);
                once(
                    &mut self.max,
                    "Maxvalue",
                    Some(integer(parser, "maxvalue")?),
                )?;
            }
            ["NO", "MINVALUE"] => {
                skip(2);
                once(&mut self.min, "Minvalue", None)?;
            }
            ["NO", "MAXVALUE"] => {
                skip(2);
                once(&mut self.max, "Maxvalue", None)?;
            }
            ["START", with] => {
                skip(1 + usize::from(*with == "WITH"));
                once(&mut self.start, "Start", integer(parser, "start")?)?;
            }
            ["CYCLE", _] => {
                skip(1);
                once(&mut self.cycle, "Cycle", true)?;
            }
            ["NO", "CYCLE"] => {
                skip(2);
                once(&mut self.cycle, "Cycle", false)?;
            }
            // PostgreSQL's: numbers are put aside by their own measure, and left out after a crash alone.
            ["CACHE", _] => {
                skip(1);
                integer(parser, "cache")?;
            }
            ["AS", of] => {
                let range = type_range(of)?;
                skip(2);
                once(&mut self.type_range, "As", range)?;
            }
            ["OWNED", "BY"] => {
                skip(2);
                self.owner = owner(parser)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn options(&self) -> Result<SequenceOptions> {
        let increment = self.increment.unwrap_or(1);
        if increment == 0 {
            return Err(Error::parser("Increment must not be zero"));
        }
        let (least, greatest) = self.type_range.unwrap_or((i64::MIN, i64::MAX));
        let (low, high) = match increment > 0 {
            true => (1, greatest),
            false => (least, -1),
        };
        let min = self.min.flatten().unwrap_or(low);
        let max = self.max.flatten().unwrap_or(high);
        if min >= max {
            return Err(Error::parser(format!(
                "MINVALUE ({min}) must be less than MAXVALUE ({max})"
            )));
        }
        if min < least || max > greatest {
            return Err(Error::parser(
                "MINVALUE or MAXVALUE is out of the range of the sequence's type",
            ));
        }
        let start = self.start.unwrap_or(if increment > 0 { min } else { max });
        if start < min {
            return Err(Error::parser(format!(
                "START value ({start}) cannot be less than MINVALUE ({min})"
            )));
        }
        if start > max {
            return Err(Error::parser(format!(
                "START value ({start}) cannot be greater than MAXVALUE ({max})"
            )));
        }
        Ok(SequenceOptions {
            start,
            increment,
            min,
            max,
            cycle: self.cycle.unwrap_or(false),
        })
    }
}

fn once<T>(option: &mut Option<T>, name: &str, value: T) -> Result<()> {
    match option.replace(value) {
        None => Ok(()),
        Some(_) => Err(Error::parser(format!(
            "{name} should be passed at most once"
        ))),
    }
}

/// The whole number that is an option's value.
fn integer(parser: &mut Parser, option: &str) -> Result<i64> {
    let is_negative = parser.consume_token(&Token::Minus);
    let _ = !is_negative && parser.consume_token(&Token::Plus);
    match parser.next_token().token {
        Token::Number(digits, _) => {
            let sign = if is_negative { "-" } else { "" };
            format!("{sign}{digits}").parse().map_err(|_| {
                Error::parser(format!("Expected an integer argument for option {option}"))
            })
        }
        other => Err(syntax_error(&other)),
    }
}

/// The least and greatest number of a type that PostgreSQL's sequences have.
fn type_range(name: &str) -> Result<(i64, i64)> {
    match name {
        "SMALLINT" | "INT2" => Ok((i16::MIN.into(), i16::MAX.into())),
        "INTEGER" | "INT" | "INT4" => Ok((i32::MIN.into(), i32::MAX.into())),
        "BIGINT" | "INT8" => Ok((i64::MIN, i64::MAX)),
        _ => Err(Error::parser(
            "a sequence is AS SMALLINT, INTEGER or BIGINT",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn options(text: &str) -> Result<SequenceOptions> {
        match parse(&format!("CREATE SEQUENCE s {text}"))? {
            Statement::CreateSequence(new) => Ok(new.options),
            _ => panic!("{text} is read as something else"),
        }
    }

    #[test]
    fn ends_follow_from_the_direction() {
        let up = options("").unwrap();
        assert_eq!((up.start, up.min, up.max), (1, 1, i64::MAX));
        let down = options("INCREMENT BY -2").unwrap();
        assert_eq!((down.start, down.min, down.max), (-1, i64::MIN, -1));
        let small = options("AS smallint NO CYCLE CACHE 1").unwrap();
        assert_eq!(small.max, i64::from(i16::MAX));
        let least = options("MINVALUE -9223372036854775808").unwrap();
        assert_eq!(least.start, i64::MIN);
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for text in [
            "INCREMENT 0",
            "START 1 START 2",
            "MINVALUE 5 MAXVALUE 5",
            "MINVALUE 5 START 3",
            "MAXVALUE 99999999999999999999",
            "MINVALUE 1.5",
            "START",
            "FOO",
            "CYCLE NO CYCLE",
            "AS smallint MAXVALUE 100000",
            "AS text",
        ] {
            let error = options(text).err();
            assert!(
                error.is_some_and(|e| e.kind() == crate::ErrorKind::Parser),
                "{text}"
            );
        }
        assert!(parse("CREATE OR REPLACE SEQUENCE IF NOT EXISTS s").is_err());
        for refused in ["CYCLE", "RESTART WITH", "RESTART x"] {
            assert!(
                parse(&format!("ALTER SEQUENCE s {refused}")).is_err(),
                "{refused}"
            );
        }
        for read in ["RESTART", "RESTART 5", "RESTART WITH -5"] {
            assert!(parse(&format!("ALTER SEQUENCE s {read}")).is_ok(), "{read}");
        }
    }
}
