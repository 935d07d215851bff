//! Names as statements have them.

/// A name as an identifier, in quotes where it needs them.
pub(crate) fn quoted(name: &str) -> String {
    let plain = name.starts_with(|first: char| first.is_ascii_lowercase() || first == '_')
        && name.chars().all(|character| {
            character.is_ascii_lowercase() || character.is_ascii_digit() || character == '_'
        });
    if plain {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_where_they_must_be() {
        assert_eq!(quoted("orders"), "orders");
        assert_eq!(quoted("My \"table\""), "\"My \"\"table\"\"\"");
    }
}
