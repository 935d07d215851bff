//! What of an engine's message is shown: the sentence, never the values that it is about.
//!
//! What must hold: text in quotes and numbers that stand alone are left out of what is said of a value at run time. What is said while a
//! statement is planned names columns and types, and stays.

/// What stands for a value.
const LEFT_OUT: &str = "...";

/// DataFusion's advice to file a bug against DataFusion would send people to the wrong door.
pub(crate) fn stripped(message: &str) -> &str {
    let end = message
        .find("\nThis issue was likely caused by a bug")
        .unwrap_or(message.len());
    let text = message[..end].trim();
    let prefixes = [
        "Error during planning: ",
        "Execution error: ",
        "Arrow error: ",
        "Schema error: ",
        "Internal error: ",
    ];
    let bare = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
    bare.unwrap_or(text)
}

/// A message about values, without them.
pub fn without_values(message: &str) -> String {
    let text = stripped(message);
    if let Some(rule) = broken_pattern(text) {
        return rule;
    }
    let mut shown = without_numbers(&without_quoted(text));
    // Where in a file it is may be told.
    if !shown.contains(" at line ")
        && let Some(line) = text.rsplit_once(" at line ").map(|(_, rest)| rest)
    {
        let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        if digits > 0 {
            shown.push_str(" at line ");
            shown.push_str(&line[..digits]);
        }
    }
    shown
}

/// The regex library repeats the pattern, and says what is wrong with it in its last line.
fn broken_pattern(text: &str) -> Option<String> {
    let rest = text.split_once("regex parse error")?.1;
    let rule = rest.rsplit_once("error: ").map_or("", |(_, rule)| rule);
    Some(format!("the regular expression does not parse: {rule}"))
}

/// Without what is between the first quote that opens and the last of its kind: a value may have quotes in it.
fn without_quoted(text: &str) -> String {
    let opens = |(at, quote): &(usize, char)| {
        let before = text[..*at].chars().next_back();
        "'\"`".contains(*quote) && !before.is_some_and(char::is_alphanumeric)
    };
    let Some((at, quote)) = text.char_indices().find(opens) else {
        return text.to_owned();
    };
    let end = text.rfind(quote).filter(|end| *end > at);
    let rest = end.map_or("", |end| &text[end..]);
    format!("{}{quote}{LEFT_OUT}{rest}", &text[..at])
}

/// Without numbers that stand alone; those of a type, such as `Decimal128(10, 2)`, and of a place stay.
fn without_numbers(text: &str) -> String {
    let mut depth = 0_usize;
    let mut after_place = false;
    let mut shown = String::with_capacity(text.len());
    for word in text.split_inclusive([' ', '\n']) {
        let bare = word.trim_matches(|c: char| c.is_whitespace() || ",:;.()[]".contains(c));
        let number = bare.trim_start_matches(['-', '+']);
        let is_number = number.starts_with(|c: char| c.is_ascii_digit());
        if is_number && depth == 0 && !after_place {
            shown.push_str(&word.replacen(bare, LEFT_OUT, 1));
        } else {
            shown.push_str(word);
        }
        // A bracket that a word ends with, or that follows a type's name.
        let opened = word.matches('(').count();
        depth = (depth + opened).saturating_sub(word.matches(')').count());
        after_place = ["line", "column", "position"].contains(&bare);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out() {
        for (message, shown) in [
            (
                "Cannot cast string 'it's me' to value of Int32 type",
                "Cannot cast string '...' to value of Int32 type",
            ),
            (
                "Can't cast value 1000 to type UInt8",
                "Can't cast value ... to type UInt8",
            ),
            (
                "Execution error: Overflow happened on: 9223372036854775807 + -1",
                "Overflow happened on: ... + ...",
            ),
            (
                "12.5 is too large to store in a Decimal128 of precision 3. Max is 9.99",
                "... is too large to store in a Decimal128 of precision .... Max is ...",
            ),
            (
                "Cannot cast to Decimal128(10, 2). Overflowing on 12345678901",
                "Cannot cast to Decimal128(10, 2). Overflowing on ...",
            ),
            (
                "Error while parsing value 'x' as type 'Int64' for column 3 at line 17. Row data: '[x,y]'",
                "Error while parsing value '...' at line 17",
            ),
            (
                "Invalid input syntax for type interval: \"some \"day\"",
                "Invalid input syntax for type interval: \"...\"",
            ),
            ("no end 'of it", "no end '..."),
            (
                "regex parse error:\n    (secret\n    ^\nerror: unclosed group",
                "the regular expression does not parse: unclosed group",
            ),
        ] {
            assert_eq!(without_values(message), shown);
        }
    }
}
