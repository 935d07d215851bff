//! Every mode on one small result, and the box where it has to leave something out.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, ListArray, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;

use super::*;

fn small() -> RecordBatch {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), Some(-22), None]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        Some("a|b"),
        None,
        Some("say \"hi\"\n"),
    ]));
    RecordBatch::try_from_iter_with_nullable([("n", numbers, true), ("text", texts, true)])
        .expect("a batch")
}

fn numbers(columns: usize, rows: i64) -> RecordBatch {
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let columns = (0..columns).map(|index| (format!("column_{index}"), Arc::clone(&column)));
    RecordBatch::try_from_iter(columns).expect("a batch")
}

fn printed(mode: Mode, batches: &[RecordBatch], width: Option<usize>) -> String {
    styled(&Style::new(mode), batches, width)
}

fn styled(style: &Style, batches: &[RecordBatch], width: Option<usize>) -> String {
    let mut out = Vec::new();
    let mut printer = printer(style, batches[0].schema(), width);
    for batch in batches {
        printer.batch(batch, &mut out).expect("printed");
    }
    printer.finish(&mut out).expect("printed");
    String::from_utf8(out).expect("UTF-8")
}

#[test]
fn a_box_has_names_types_and_rows() {
    // The type line is the library's; names and rows are held here.
    let text = printed(Mode::Box, &[numbers(1, 2)], None);
    assert_eq!(
        text,
        "┌──────────┐\n│ column_0 │\n│  int64   │\n├──────────┤\n│        0 │\n│        1 │\n└──────────┘\n"
    );
    let text = printed(Mode::Box, &[small()], None);
    assert!(text.contains("│     1 │ a|b"), "{text}");
    assert!(text.contains("│  NULL │ say \"hi\"\\n │"), "{text}");
}

#[test]
fn a_long_box_is_cut_in_the_middle_and_says_so() {
    for batches in [
        vec![numbers(2, 1000)],
        (0..100)
            .map(|at| numbers(2, 1000).slice(at * 10, 10))
            .collect(),
    ] {
        let text = printed(Mode::Box, &batches, None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4 + 40 + 3 + 1 + 1, "{text}");
        assert!(lines[4 + 19].contains(" 19 "), "{text}");
        assert!(lines[4 + 20].contains('·'), "{text}");
        assert!(lines[4 + 23].contains("980 "), "{text}");
        assert!(lines[4 + 42].contains("999 "), "{text}");
        assert!(
            lines[48].trim_start().starts_with("1000 rows (40 shown)"),
            "{text}"
        );
        assert!(lines[48].ends_with("2 columns"), "{text}");
    }
}

#[test]
fn a_box_hides_nothing_when_that_saves_nothing() {
    let text = printed(Mode::Box, &[numbers(1, 43)], None);
    assert!(!text.contains('·') && text.contains(" 42 "), "{text}");
    let text = printed(Mode::Box, &[numbers(1, 44)], None);
    assert!(text.contains("44 rows (40 shown)"), "{text}");
    assert!(text.contains(" 24 ") && !text.contains(" 23 "), "{text}");
}

#[test]
fn a_box_fits_the_terminal() {
    for width in [40, 60, 80, 100] {
        let text = printed(Mode::Box, &[numbers(30, 3)], Some(width));
        for line in text.lines() {
            assert!(
                unicode_width::UnicodeWidthStr::width(line) <= width,
                "{width}:\n{text}"
            );
        }
        assert!(
            text.contains("column_0")
                && text.contains("column_29")
                && text.contains("30 columns ("),
            "{text}"
        );
    }
    let long: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(500)]));
    let text = printed(
        Mode::Box,
        &[RecordBatch::try_from_iter([("a", long)]).expect("a batch")],
        Some(80),
    );
    assert!(
        text.contains("x…")
            && text
                .lines()
                .all(|line| unicode_width::UnicodeWidthStr::width(line) <= 80),
        "{text}"
    );
}

#[test]
fn an_empty_box_says_so() {
    let text = printed(Mode::Box, &[numbers(2, 0)], None);
    assert!(
        text.ends_with("  0 rows\n") && !text.contains('├'),
        "{text}"
    );
}

#[test]
fn csv_tells_null_empty_and_the_word_apart() {
    assert_eq!(
        printed(Mode::Csv, &[small()], None),
        "n,text\n1,a|b\n-22,NULL\nNULL,\"say \"\"hi\"\"\n\"\n"
    );
    let texts: ArrayRef = Arc::new(StringArray::from(vec![
        None,
        Some(""),
        Some("NULL"),
        Some("a,b"),
    ]));
    let text = printed(
        Mode::Csv,
        &[RecordBatch::try_from_iter([("t", texts)]).expect("a batch")],
        None,
    );
    assert_eq!(text, "t\nNULL\n\"\"\n\"NULL\"\n\"a,b\"\n");
}

#[test]
fn json_keeps_numbers_and_nesting() {
    assert_eq!(
        printed(Mode::Json, &[small()], None),
        "[{\"n\":1,\"text\":\"a|b\"},\n{\"n\":-22,\"text\":null},\n{\"n\":null,\"text\":\"say \\\"hi\\\"\\n\"}]\n"
    );
    let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(
        vec![Some(1), None],
    )]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
    let batch = RecordBatch::try_from_iter([("l", lists), ("f", floats)]).expect("a batch");
    assert_eq!(
        printed(Mode::Json, &[batch], None),
        "[{\"l\":[1,null],\"f\":\"nan\"}]\n"
    );
    assert_eq!(printed(Mode::Json, &[numbers(1, 0)], None), "[]\n");
}

#[test]
fn markdown_escapes_pipes() {
    assert_eq!(
        printed(Mode::Markdown, &[small()], None),
        "|  n   |     text     |\n|-----:|--------------|\n| 1    | a\\|b         |\n| -22  | NULL         |\n| NULL | say \"hi\"<br> |\n"
    );
}

#[test]
fn line_mode_aligns_names() {
    assert_eq!(
        printed(Mode::Line, &[small().slice(0, 2)], None),
        "    n = 1\n text = a|b\n\n    n = -22\n text = NULL\n"
    );
}

/// As DuckDB's shell prints them, but for texts of several lines in grids, and what LaTeX reads as its own.
#[test]
fn modes_of_other_shells() {
    let small = [small()];
    let expected = [
        (Mode::List, "n|text\n1|a|b\n-22|NULL\nNULL|say \"hi\"\n\n"),
        (
            Mode::Tabs,
            "n\ttext\n1\ta|b\n-22\tNULL\nNULL\tsay \"hi\"\n\n",
        ),
        (
            Mode::Ascii,
            "n\u{1f}text\u{1e}1\u{1f}a|b\u{1e}-22\u{1f}NULL\u{1e}NULL\u{1f}say \"hi\"\n\u{1e}",
        ),
        (
            Mode::Tcl,
            "\"n\" \"text\"\n\"1\" \"a|b\"\n\"-22\" \"NULL\"\n\"NULL\" \"say \\\"hi\\\"\\n\"\n",
        ),
        (
            Mode::Quote,
            "'n','text'\n1,'a|b'\n-22,NULL\nNULL,'say \"hi\"\n'\n",
        ),
        (
            Mode::Insert,
            "INSERT INTO \"table\"(n,text) VALUES(1,'a|b');\nINSERT INTO \"table\"(n,text) VALUES(-22,NULL);\n\
             INSERT INTO \"table\"(n,text) VALUES(NULL,'say \"hi\"\n');\n",
        ),
        (
            Mode::JsonLines,
            "{\"n\":1,\"text\":\"a|b\"}\n{\"n\":-22,\"text\":null}\n{\"n\":null,\"text\":\"say \\\"hi\\\"\\n\"}\n",
        ),
        (
            Mode::Html,
            "<tr><th>n</th>\n<th>text</th>\n</tr>\n<tr><td>1</td>\n<td>a|b</td>\n</tr>\n\
             <tr><td>-22</td>\n<td>NULL</td>\n</tr>\n<tr><td>NULL</td>\n<td>say &quot;hi&quot;\n</td>\n</tr>\n",
        ),
        (
            Mode::Column,
            "n     text      \n----  ----------\n1     a|b       \n-22   NULL      \nNULL  say \"hi\"\\n\n",
        ),
        (
            Mode::Table,
            "+------+------------+\n|  n   |    text    |\n+------+------------+\n| 1    | a|b        |\n\
             | -22  | NULL       |\n| NULL | say \"hi\"\\n |\n+------+------------+\n",
        ),
        (
            Mode::Latex,
            "\\begin{tabular}{|rl|}\n\\hline\n n   &   text    \\\\\n\\hline\n1    & a|b       \\\\\n\
             -22  & NULL      \\\\\nNULL & say \"hi\"  \\\\\n\\hline\n\\end{tabular}\n",
        ),
        (Mode::Trash, ""),
    ];
    for (mode, text) in expected {
        assert_eq!(printed(mode, &small, None), text, "{mode}");
    }
    assert_eq!(printed(Mode::JsonLines, &[numbers(1, 0)], None), "");
    assert_eq!(printed(Mode::List, &[numbers(1, 0)], None), "column_0\n");
}

#[test]
fn names_null_and_separators_as_said() {
    let mut style = Style::new(Mode::Csv);
    style.headers = false;
    style.null = "-".to_owned();
    style.between = Some(";".to_owned());
    style.end = Some("\r\n".to_owned());
    let texts: ArrayRef = Arc::new(StringArray::from(vec![None, Some("-"), Some("a;b")]));
    let numbers: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN, 2.5]));
    let batch = RecordBatch::try_from_iter([("t", texts), ("f", numbers)]).expect("a batch");
    let batch = [batch];
    assert_eq!(
        styled(&style, &batch, None),
        "-;1.0\r\n\"-\";nan\r\n\"a;b\";2.5\r\n"
    );
    let with = |mode| Style {
        mode,
        between: None,
        end: None,
        ..style.clone()
    };
    assert_eq!(
        styled(&with(Mode::Quote), &batch, None),
        "NULL,1.0\n'-','nan'\n'a;b',2.5\n"
    );
    assert_eq!(
        styled(&with(Mode::Column), &batch, None),
        "-    1.0\n-    nan\na;b  2.5\n"
    );
    assert!(styled(&with(Mode::Box), &batch, None).contains("│ -       │    1.0 │"));
}
