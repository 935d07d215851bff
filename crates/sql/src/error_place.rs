//! `LINE 1: ... ^`: where in a text the word stands that an error is about.
//!
//! What must hold: no literal is repeated, each of their characters is a `*`; of a text that may hold a key nothing is shown. A place
//! that is not sure is not said.

use super::dialect::HushDialect;
use super::secrets::is_quiet;
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

/// Characters that are shown before and behind the place.
const AROUND: usize = 60;
/// Longer texts are not looked through.
const LONGEST: usize = 1 << 20;

/// The lines behind a message, if the place is known: `at` from the parser, else that of the word which the message is about.
pub(crate) fn shown(message: &str, at: Option<(u64, u64)>, sql: &str) -> Option<String> {
    if message.contains("\nLINE ") {
        return None;
    }
    let (at, tokens) = found(message, at, sql)?;
    let (line, column) = (usize::try_from(at.0).ok()?, usize::try_from(at.1).ok()?);
    let masked = masked(sql, &tokens);
    let text: Vec<char> = masked.lines().nth(line.checked_sub(1)?)?.chars().collect();
    let column = column
        .checked_sub(1)
        .filter(|column| *column <= text.len())?;
    let (begin, end) = (
        column.saturating_sub(AROUND),
        (column + AROUND).min(text.len()),
    );
    let head = match begin {
        0 => format!("LINE {line}: "),
        _ => format!("LINE {line}: ..."),
    };
    let part: String = text.get(begin..end)?.iter().collect();
    let tail = if end < text.len() { "..." } else { "" };
    let blanks = " ".repeat(head.chars().count() + column - begin);
    Some(format!(
        "\n\n{head}{}{tail}\n{blanks}^",
        part.replace('\t', " ")
    ))
}

/// The number of the character in a text that an error is about, from 1, if the place is known.
pub(crate) fn position(message: &str, at: Option<(u64, u64)>, sql: &str) -> Option<usize> {
    let ((line, column), _) = found(message, at, sql)?;
    let (line, column) = (usize::try_from(line).ok()?, usize::try_from(column).ok()?);
    let before = sql.split_inclusive('\n').take(line.checked_sub(1)?);
    let before: usize = before.map(|line| line.chars().count()).sum();
    (column > 0).then_some(before + column)
}

/// Line and column of the place, and the tokens of the text.
fn found(
    message: &str,
    at: Option<(u64, u64)>,
    sql: &str,
) -> Option<((u64, u64), Vec<TokenWithSpan>)> {
    if sql.len() > LONGEST || is_quiet(sql) {
        return None;
    }
    let tokens = Tokenizer::new(&HushDialect::default(), sql)
        .tokenize_with_location()
        .ok()?;
    let at = at.or_else(|| place_of(&tokens, &named(message)?))?;
    Some((at, tokens))
}

/// The text with a `*` for each character of a literal.
fn masked(sql: &str, tokens: &[TokenWithSpan]) -> String {
    let mut lines: Vec<Vec<char>> = sql.lines().map(|line| line.chars().collect()).collect();
    let hidden = tokens.iter().filter(|token| match &token.token {
        Token::Word(_) | Token::Whitespace(sqlparser::tokenizer::Whitespace::Space) => false,
        Token::Whitespace(whitespace) => matches!(
            whitespace,
            sqlparser::tokenizer::Whitespace::SingleLineComment { .. }
                | sqlparser::tokenizer::Whitespace::MultiLineComment(_)
        ),
        token => is_literal(token),
    });
    for token in hidden {
        let (from, to) = (token.span.start, token.span.end);
        for number in from.line..=to.line {
            let Some(line) = usize::try_from(number)
                .ok()
                .and_then(|n| lines.get_mut(n.checked_sub(1)?))
            else {
                continue;
            };
            let begin = if number == from.line { from.column } else { 1 };
            let end = if number == to.line {
                to.column
            } else {
                u64::MAX
            };
            for (at, character) in (1u64..).zip(line.iter_mut()) {
                if at >= begin && at < end {
                    *character = '*';
                }
            }
        }
    }
    let lines: Vec<String> = lines
        .into_iter()
        .map(|line| line.into_iter().collect())
        .collect();
    lines.join("\n")
}

fn is_literal(token: &Token) -> bool {
    use Token as T;
    matches!(
        token,
        T::Number(..)
            | T::SingleQuotedString(_)
            | T::DoubleQuotedString(_)
            | T::DollarQuotedString(_)
            | T::TripleSingleQuotedString(_)
            | T::TripleDoubleQuotedString(_)
            | T::EscapedStringLiteral(_)
            | T::NationalStringLiteral(_)
            | T::HexStringLiteral(_)
            | T::UnicodeStringLiteral(_)
            | T::SingleQuotedByteStringLiteral(_)
            | T::DoubleQuotedByteStringLiteral(_)
            | T::SingleQuotedRawStringLiteral(_)
            | T::DoubleQuotedRawStringLiteral(_)
    )
}

/// A word that a message is about.
#[derive(Debug, PartialEq)]
enum Named<'a> {
    Word(&'a str),
    Function(&'a str),
    Column(&'a str, &'a str),
    /// A table before a point.
    Table(&'a str),
}

fn named(message: &str) -> Option<Named<'_>> {
    let first = message.lines().next()?;
    let quoted = |before: &str| Some(first.split_once(before)?.1.split_once('"')?.0);
    if let Some(rest) = first.strip_prefix("Scalar Function with name ") {
        return rest.split_once(' ').map(|(name, _)| Named::Function(name));
    }
    if let Some(rest) = first.strip_prefix("Table Function with name ") {
        return rest.split_once(' ').map(|(name, _)| Named::Function(name));
    }
    if let Some(column) = quoted("does not have a column named \"") {
        return Some(Named::Column(quoted("Table \"")?, column));
    }
    if let Some(table) = quoted("Referenced table \"") {
        return Some(Named::Table(table));
    }
    for before in ["Table with name ", "View with name ", "Schema with name "] {
        if let Some(rest) = first.strip_prefix(before) {
            let name = rest.split_once(' ').map_or(rest, |(name, _)| name);
            return Some(Named::Word(name.trim_matches('"')));
        }
    }
    for before in [
        "Referenced column \"",
        "Ambiguous reference to column name \"",
        "does not have a column with name \"",
        "syntax error at or near \"",
        "Type with name ",
    ] {
        if let Some(name) = quoted(before) {
            return Some(Named::Word(name));
        }
    }
    let column = first.strip_prefix("column \"")?;
    column.split_once('"').map(|(name, _)| Named::Word(name))
}

/// Where the one word stands that is meant; nothing where it stands twice.
fn place_of(tokens: &[TokenWithSpan], named: &Named<'_>) -> Option<(u64, u64)> {
    let tokens: Vec<&TokenWithSpan> = tokens
        .iter()
        .filter(|token| !matches!(token.token, Token::Whitespace(_)))
        .collect();
    let is = |at: usize, name: &str| match tokens.get(at).map(|token| &token.token) {
        Some(Token::Word(word)) => word.value.eq_ignore_ascii_case(name),
        Some(other) => other.to_string() == name,
        None => false,
    };
    let holds = |at: usize, token: &Token| tokens.get(at).is_some_and(|t| t.token == *token);
    let found = (0..tokens.len()).filter(|at| match named {
        Named::Word(name) => is(*at, name),
        Named::Function(name) => is(*at, name) && holds(at + 1, &Token::LParen),
        Named::Table(table) => is(*at, table) && holds(at + 1, &Token::Period),
        Named::Column(table, column) => {
            is(*at, table) && holds(at + 1, &Token::Period) && is(at + 2, column)
        }
    });
    let mut found = found.filter_map(|at| tokens.get(at));
    match (found.next(), found.next()) {
        (Some(only), None) => {
            let Location { line, column } = only.span.start;
            Some((line, column))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_is_under_the_word() {
        let message = "Referenced column \"nam\" not found in FROM clause!";
        let lines = shown(message, None, "SELECT nam\nFROM emp").unwrap_or_default();
        assert_eq!(lines, "\n\nLINE 1: SELECT nam\n               ^");
        let message = "Table \"e\" does not have a column named \"x\"";
        let lines = shown(message, None, "SELECT 1\nFROM t e WHERE e.x = x").unwrap_or_default();
        assert_eq!(
            lines,
            "\n\nLINE 2: FROM t e WHERE e.x = x\n                       ^"
        );
        let sql = "SELECT 1\nFROM té e WHERE e.x = x";
        assert_eq!(position(message, None, sql), Some(26));
        assert_eq!(position(message, Some((2, 1)), sql), Some(10));
        let message = "syntax error at or near \"b\"";
        let lines = shown(message, Some((1, 3)), "a b b").unwrap_or_default();
        assert_eq!(lines, "\n\nLINE 1: a b b\n          ^");
    }

    #[test]
    fn no_literal_is_repeated() {
        let message = "Referenced column \"nam\" not found in FROM clause!";
        let sql = "SELECT nam, 'wo''rd', 4711, $$x$$ FROM t -- note 2";
        let lines = shown(message, None, sql).unwrap_or_default();
        assert!(lines.contains("LINE 1: SELECT nam, "), "{lines}");
        for hidden in ["wo", "rd", "4711", "x", "note"] {
            assert!(!lines.contains(hidden), "{hidden} in {lines}");
        }
        assert!(lines.ends_with("\n               ^"), "{lines}");
    }

    #[test]
    fn what_is_not_sure_is_not_said() {
        let message = "Referenced column \"nam\" not found in FROM clause!";
        for sql in [
            "SELECT nam FROM t WHERE nam = 1",
            "SELECT x FROM t",
            "ATTACH 'x' AS nam",
            "SELECT nam, password FROM t",
        ] {
            assert_eq!(shown(message, None, sql), None, "{sql}");
        }
    }

    #[test]
    fn long_lines_are_cut() {
        let sql = format!("SELECT {} nam FROM t", "a + ".repeat(100));
        let message = "Referenced column \"nam\" not found in FROM clause!";
        let lines = shown(message, None, &sql).unwrap_or_default();
        let mut of_text = lines.lines().skip(2);
        let (text, mark) = (
            of_text.next().unwrap_or_default(),
            of_text.next().unwrap_or_default(),
        );
        assert!(text.starts_with("LINE 1: ..."), "{text}");
        assert_eq!(text.find("nam"), mark.find('^'), "{lines}");
    }
}
