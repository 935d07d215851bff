//! Arrays as PostgreSQL writes them in text: `{1,2}`, `{"a b",NULL}`, `{{1,2},{3,4}}`.
//!
//! What must hold: what is not such a text gives nothing; nesting is as deep as an array may be, and no deeper.

use crate::postgres_byte_texts::{blob_text, postgres_bytes};
use sqlparser::ast::{self, Expr, Value};
use std::iter::Peekable;
use std::str::Chars;

/// As many dimensions as PostgreSQL's arrays have.
const MOST_DIMENSIONS: usize = 6;

/// A text that is an array, as a list. Items without quotes are numbers where all are, else texts.
pub(super) fn array_literal(expr: &Expr) -> Option<Expr> {
    let value = match expr {
        Expr::Nested(inner) => return array_literal(inner),
        Expr::Value(value) => value,
        _ => return None,
    };
    let (Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text)) = &value.value else {
        return None;
    };
    let mut letters = text.trim().chars().peekable();
    let list = list(&mut letters, 1)?;
    letters.next().is_none().then_some(list)
}

/// A text that is an array, as DuckDB writes a list; bytes in it as it writes a BLOB.
pub(super) fn list_text(text: &str, of_bytes: bool) -> Option<String> {
    let mut letters = text.trim().chars().peekable();
    let list = list(&mut letters, 1)?;
    match letters.next() {
        None => written(&list, of_bytes),
        Some(_) => None,
    }
}

fn written(item: &Expr, of_bytes: bool) -> Option<String> {
    match item {
        Expr::Array(items) => {
            let items = items.elem.iter().map(|item| written(item, of_bytes));
            Some(format!(
                "[{}]",
                items.collect::<Option<Vec<_>>>()?.join(", ")
            ))
        }
        Expr::Value(value) => match &value.value {
            Value::Null => Some("NULL".to_owned()),
            Value::Number(text, _) => Some(text.clone()),
            Value::SingleQuotedString(text) => {
                let text = match of_bytes {
                    true => blob_text(&postgres_bytes(text)?),
                    false => text.clone(),
                };
                let quoted = text.replace('\\', "\\\\").replace('\'', "\\'");
                Some(format!("'{quoted}'"))
            }
            _ => None,
        },
        _ => None,
    }
}

fn skip_blanks(letters: &mut Peekable<Chars<'_>>) {
    while letters.next_if(|letter| letter.is_whitespace()).is_some() {}
}

/// From `{` to `}`.
fn list(letters: &mut Peekable<Chars<'_>>, depth: usize) -> Option<Expr> {
    if letters.next()? != '{' || depth > MOST_DIMENSIONS {
        return None;
    }
    let mut items = vec![];
    skip_blanks(letters);
    if letters.next_if_eq(&'}').is_none() {
        loop {
            skip_blanks(letters);
            items.push(item(letters, depth)?);
            skip_blanks(letters);
            match letters.next()? {
                ',' => {}
                '}' => break,
                _ => return None,
            }
        }
    }
    let is_number = |item: &Item| match item {
        Item::Bare(text) => text.parse::<i64>().is_ok(),
        _ => false,
    };
    let are_numbers = items.iter().all(is_number);
    let items = items.into_iter().map(|item| match item {
        Item::Null => Expr::Value(Value::Null.into()),
        Item::List(list) => *list,
        Item::Bare(text) if are_numbers => Expr::Value(Value::Number(text, false).into()),
        Item::Bare(text) | Item::Quoted(text) => {
            Expr::Value(Value::SingleQuotedString(text).into())
        }
    });
    Some(Expr::Array(ast::Array {
        elem: items.collect(),
        named: true,
    }))
}

enum Item {
    Null,
    Bare(String),
    Quoted(String),
    List(Box<Expr>),
}

fn item(letters: &mut Peekable<Chars<'_>>, depth: usize) -> Option<Item> {
    match letters.peek()? {
        '{' => list(letters, depth + 1).map(|list| Item::List(Box::new(list))),
        '"' => {
            letters.next();
            let mut text = String::new();
            loop {
                match letters.next()? {
                    '"' => return Some(Item::Quoted(text)),
                    '\\' => text.push(letters.next()?),
                    letter => text.push(letter),
                }
            }
        }
        _ => {
            let mut text = String::new();
            while let Some(letter) = letters.next_if(|letter| !matches!(letter, ',' | '}')) {
                match letter {
                    '{' | '"' => return None,
                    '\\' => text.push(letters.next()?),
                    letter => text.push(letter),
                }
            }
            let text = text.trim_end();
            match text.to_ascii_lowercase().as_str() {
                "" => None,
                "null" => Some(Item::Null),
                _ => Some(Item::Bare(text.to_owned())),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        let value = Value::SingleQuotedString(text.to_owned());
        array_literal(&Expr::Value(value.into())).map(|list| list.to_string())
    }

    #[test]
    fn arrays_are_read_as_postgresql_writes_them() {
        for (text, list) in [
            ("{}", "ARRAY[]"),
            ("{1, -2}", "ARRAY[1, -2]"),
            ("{1,x}", "ARRAY['1', 'x']"),
            (
                "{\"a,b\",\"c\\\"d\",NULL,\"null\"}",
                "ARRAY['a,b', 'c\"d', NULL, 'null']",
            ),
            ("{{1,2},{3,4}}", "ARRAY[ARRAY[1, 2], ARRAY[3, 4]]"),
            ("{a b , c}", "ARRAY['a b', 'c']"),
        ] {
            assert_eq!(read(text).as_deref(), Some(list), "{text}");
        }
        let deep = |levels: usize| format!("{}1{}", "{".repeat(levels), "}".repeat(levels));
        assert!(read(&deep(6)).is_some());
        for text in [
            "",
            "1",
            "{",
            "{1",
            "{1,}",
            "{,}",
            "{1}x",
            "{\"a}",
            "{a\"b}",
            &deep(7),
            &deep(100_000),
        ] {
            assert_eq!(read(text), None, "{text:.20}");
        }
    }
}
