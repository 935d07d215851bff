//! Numbers that have a type of their own in `storage` are not passed bare there.

use crate::sources::{none, read, rust_files, shown};

const JUDGED: &str = "crates/storage/src/";

/// What names of such numbers end with, and their types.
const TYPES: [(&str, &str); 5] = [
    ("lsn", "Lsn"),
    ("generation", "Generation"),
    ("table_id", "TableId"),
    ("column_id", "ColumnId"),
    ("row_id", "RowId"),
];

/// As the bytes of a block's ref have it; `BlockRef::birth` gives it with its type.
const EXCEPT: &str = "birth_generation";

#[test]
fn numbers_with_a_type_are_not_passed_bare() {
    let mut faults = Vec::new();
    for file in rust_files() {
        let path = shown(&file);
        if !path.starts_with(JUDGED) {
            continue;
        }
        let source = read(&file);
        let product = source.split("#[cfg(test)]\nmod ").next();
        for (number, line) in (1..).zip(product.unwrap_or_default().lines()) {
            let bare = bare_number(line).filter(|(name, _)| *name != EXCEPT);
            if let Some((name, of)) = bare {
                faults.push(format!(
                    "{path}:{number} has {name} as a bare number, not as {of}"
                ));
            }
        }
    }
    none(faults);
}

#[test]
fn the_judge_of_numbers_sees_fields_and_parameters() {
    for (line, name) in [
        ("    pub next_row_id: u64,", Some("next_row_id")),
        (
            "fn f(&self, table_id: Option<u64>, n: u64) {",
            Some("table_id"),
        ),
        ("fn f(n: u64, column_id: &u32)", Some("column_id")),
        ("let of = |lsn: u64| lsn;", Some("lsn")),
        ("    pub next_row_id: RowId,", None),
        ("fn f(ids: &[u64], rows: u64)", None),
        ("// generation: u64", None),
    ] {
        assert_eq!(bare_number(line).map(|(name, _)| name), name, "{line}");
    }
}

/// The first name in a line that is declared as a bare number, and the type that it should have.
fn bare_number(line: &str) -> Option<(&str, &'static str)> {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices(": ").find_map(|(at, colon)| {
        let ty = code[at + colon.len()..].trim_start_matches(['&', '(']);
        let ty = ty.trim_start_matches("Option<");
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let end = ty.find(|c| !is_name(c)).unwrap_or(ty.len());
        if !["u32", "u64", "usize"].contains(&&ty[..end]) {
            return None;
        }
        let begin = code[..at]
            .rfind(|c| !is_name(c))
            .map_or(0, |before| before + 1);
        let name = &code[begin..at];
        let is_one = |(end, _): &&(&str, &str)| {
            name.strip_suffix(end)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('_'))
        };
        TYPES.iter().find(is_one).map(|(_, of)| (name, *of))
    })
}
