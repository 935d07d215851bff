//! The text of lists, structs and maps as DuckDB writes and reads it: `[1, 'a, b', NULL]`, `{'a': 1, 'b': x}`, `(1, x)`, `{a=1}`.
//!
//! What must hold: text that was written is read as the same values. A value is in quotes where it would be read as something
//! else without; in quotes, a quote or a backslash has a backslash before it.

/// What text of a list or a struct has in it: a value's text, or NULL.
pub(super) type Item = Option<String>;

/// Characters that a value in a list or struct has in quotes only.
const SPECIAL: [char; 11] = ['\'', '"', '(', ')', ',', ':', '=', '[', ']', '{', '}'];

/// A value that is in another one, in quotes if it needs them.
pub(super) fn in_quotes_if_needed(text: String) -> String {
    let blank = |c: char| c.is_ascii_whitespace();
    let plain = !text.is_empty()
        && !text.starts_with(blank)
        && !text.ends_with(blank)
        && !text.eq_ignore_ascii_case("null")
        && !text.contains(SPECIAL);
    if plain { text } else { in_quotes(&text) }
}

/// Text in single quotes, as the name of a field always is.
pub(super) fn in_quotes(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('\'');
    for c in text.chars() {
        if matches!(c, '\'' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('\'');
    quoted
}

/// The items of a list's text; `None` if it is not the text of one.
pub(super) fn list_items(text: &str) -> Option<Vec<Item>> {
    let inner = text.trim_ascii().strip_prefix('[')?.strip_suffix(']')?;
    Some(pieces(inner)?.into_iter().map(item).collect())
}

/// The text of a list of JSON as JSON, and which items are NULL in it, which JSON is not; `None` where none is.
pub(super) fn with_json_nulls(text: &str) -> Option<(String, Vec<bool>)> {
    let inner = text.trim_ascii().strip_prefix('[')?.strip_suffix(']')?;
    let pieces = pieces(inner)?;
    let are_null: Vec<bool> = pieces
        .iter()
        .map(|piece| piece.trim_ascii() == "NULL")
        .collect();
    let items = pieces.iter().zip(&are_null);
    let items = items.map(|(piece, is_null)| if *is_null { "null" } else { piece });
    let json = format!("[{}]", items.collect::<Vec<_>>().join(","));
    are_null.contains(&true).then_some((json, are_null))
}

/// What a struct's text says of its fields.
pub(super) enum Fields {
    Named(Vec<(String, Item)>),
    InOrder(Vec<Item>),
}

/// The fields in a struct's text; `None` if it is not the text of one.
pub(super) fn struct_items(text: &str) -> Option<Fields> {
    let text = text.trim_ascii();
    if let Some(inner) = text.strip_prefix('(') {
        let items = pieces(inner.strip_suffix(')')?)?.into_iter().map(item);
        return Some(Fields::InOrder(items.collect()));
    }
    let inner = text.strip_prefix('{')?.strip_suffix('}')?;
    let field = |piece: &str| {
        let colon = positions(piece, ':')?.first().copied()?;
        let (name, value) = piece.split_at_checked(colon)?;
        let name = item(name).filter(|name| !name.is_empty())?;
        Some((name, item(value.strip_prefix(':')?)))
    };
    let fields = pieces(inner)?.into_iter().map(field);
    fields.collect::<Option<_>>().map(Fields::Named)
}

/// The keys and values in a map's text; `None` if it is not the text of one, or a key is NULL.
pub(super) fn map_items(text: &str) -> Option<Vec<(String, Item)>> {
    let inner = text.trim_ascii().strip_prefix('{')?.strip_suffix('}')?;
    let entry = |piece: &str| {
        let sign = positions(piece, '=')?.first().copied()?;
        let (key, value) = piece.split_at_checked(sign)?;
        Some((item(key)?, item(value.strip_prefix('=')?)))
    };
    pieces(inner)?.into_iter().map(entry).collect()
}

/// What stands between the commas that are in no quotes and no brackets.
fn pieces(inner: &str) -> Option<Vec<&str>> {
    if inner.trim_ascii().is_empty() {
        return Some(vec![]);
    }
    let mut pieces = vec![];
    let mut from = 0;
    for comma in positions(inner, ',')? {
        pieces.push(inner.get(from..comma)?);
        from = comma + 1;
    }
    pieces.push(inner.get(from..)?);
    Some(pieces)
}

/// Where `wanted` stands in no quotes and no brackets; `None` where these do not match. No recursion: text may have any
/// number of brackets.
fn positions(text: &str, wanted: char) -> Option<Vec<usize>> {
    let mut found = vec![];
    let mut open = vec![];
    let mut quote = None;
    let mut matched = true;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(q), c) if q == c => quote = None,
            (Some(_), _) => {}
            (None, '\\') if chars.clone().next().is_some_and(|(_, next)| is_quote(next)) => {
                chars.next();
            }
            (None, '\'' | '"') => quote = Some(c),
            (None, '[') => open.push(']'),
            (None, '{') => open.push('}'),
            (None, '(') => open.push(')'),
            (None, ']' | '}' | ')') => matched &= open.pop() == Some(c),
            (None, c) if c == wanted && open.is_empty() => found.push(at),
            _ => {}
        }
    }
    (matched && quote.is_none() && open.is_empty()).then_some(found)
}

/// A piece as the value it stands for, the empty text where nothing stands.
fn item(piece: &str) -> Item {
    let piece = piece.trim_ascii();
    (!piece.eq_ignore_ascii_case("null")).then(|| without_quotes(piece))
}

fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '"')
}

/// A value without its quotes and the backslashes within them and before quotes, but for what is in brackets.
fn without_quotes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut depth = 0usize;
    let mut quote = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let escapes = c == '\\' && (quote.is_some() || chars.peek().is_some_and(|c| is_quote(*c)));
        let is_kept = match (quote, c) {
            _ if escapes => depth > 0 || chars.peek().is_none(),
            (Some(q), _) if q == c => {
                quote = None;
                depth > 0
            }
            (None, _) if is_quote(c) => {
                quote = Some(c);
                depth > 0
            }
            (None, '[' | '{' | '(') => {
                depth += 1;
                true
            }
            (None, ']' | '}' | ')') => {
                depth = depth.saturating_sub(1);
                true
            }
            _ => true,
        };
        if is_kept {
            plain.push(c);
        }
        if escapes {
            plain.extend(chars.next());
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(items: &[Item]) -> String {
        let items = items.iter().cloned();
        let items = items.map(|i| i.map_or("NULL".into(), in_quotes_if_needed));
        format!("[{}]", items.collect::<Vec<_>>().join(", "))
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(items in prop::collection::vec(prop::option::of("[a-cN'\", \\[\\]{}():=\\\\]{0,6}|null|\\PC{0,5}"), 0..6)) {
            prop_assert_eq!(list_items(&written(&items)), Some(items.clone()));
            let name = |n: usize| format!("f{n}'s \\");
            let fields = items.iter().enumerate().map(|(n, item)| {
                let text = item.clone().map_or("NULL".into(), in_quotes_if_needed);
                format!("{}: {text}", in_quotes(&name(n)))
            });
            let text = format!("{{{}}}", fields.collect::<Vec<_>>().join(", "));
            let Some(Fields::Named(read)) = struct_items(&text) else {
                return Err(TestCaseError::fail(text));
            };
            let expected: Vec<_> = items.into_iter().enumerate().map(|(n, i)| (name(n), i)).collect();
            prop_assert_eq!(&read, &expected);
            let entries = expected.iter().map(|(name, item)| {
                let text = item.clone().map_or("NULL".into(), in_quotes_if_needed);
                format!("{}={text}", in_quotes_if_needed(name.clone()))
            });
            let text = format!("{{{}}}", entries.collect::<Vec<_>>().join(", "));
            prop_assert_eq!(map_items(&text), Some(expected));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[a'\"\\\\,:=\\[\\]{}() ]{0,20}") {
            let _ = (list_items(&text), struct_items(&text).is_some(), map_items(&text));
        }
    }

    #[test]
    fn null_stands_between_json() {
        let (json, are_null) = with_json_nulls(r#"[{"a": [NULL]}, NULL,"NULL", null]"#).unwrap();
        assert_eq!(json, r#"[{"a": [NULL]},null,"NULL", null]"#);
        assert_eq!(are_null, [false, true, false, false]);
        for none in ["[1]", r#"["NULL", null]"#, "NULL", "[", "[]"] {
            assert_eq!(with_json_nulls(none), None, "{none}");
        }
    }

    #[test]
    fn text_is_read_as_duckdb_reads_it() {
        let some = |text: &str| Some(text.to_string());
        assert_eq!(
            list_items(" [a, \"b c\", 'd,e' , NULL,[1, 2], {'x': 1}]"),
            Some(vec![
                some("a"),
                some("b c"),
                some("d,e"),
                None,
                some("[1, 2]"),
                some("{'x': 1}"),
            ])
        );
        assert_eq!(list_items("[ ]"), Some(vec![]));
        // A blank that is not ASCII's is a value.
        assert_eq!(list_items("[\u{a0}]"), Some(vec![some("\u{a0}")]));
        for bad in ["", "[", "1, 2", "[1]]", "['a]", "[(1]", "[1,2"] {
            assert_eq!(list_items(bad), None, "{bad}");
        }
        assert_eq!(
            map_items(" { a = 1 ,'b=c'=NULL,={d=1}, e=} "),
            Some(vec![
                ("a".to_string(), some("1")),
                ("b=c".to_string(), None),
                (String::new(), some("{d=1}")),
                ("e".to_string(), some("")),
            ])
        );
        assert_eq!(map_items("{}"), Some(vec![]));
        for bad in ["{a: 1}", "{NULL=1}", "{a=1,}", "[a=1]", "{a=1", "{a='}"] {
            assert_eq!(map_items(bad), None, "{bad}");
        }
        assert_eq!(
            list_items("[NULL,, can\\'t, a'b'c,]"),
            Some(vec![None, some(""), some("can't"), some("abc"), some("")])
        );
        for bad in ["{a}", "{: 1}", "[a: 1]", "{a: 1"] {
            assert!(struct_items(bad).is_none(), "{bad}");
        }
    }
}
