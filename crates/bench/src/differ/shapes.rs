//! Whether a statement has a part in which DuckDB is known to be wrong, by how it is written.

/// Where each bracket opens and closes, outside of texts.
fn brackets(sql: &str) -> Vec<(usize, usize)> {
    let (mut open, mut pairs, mut in_text) = (vec![], vec![], false);
    for (at, byte) in sql.bytes().enumerate() {
        match byte {
            b'\'' => in_text = !in_text,
            b'(' if !in_text => open.push(at),
            b')' if !in_text => pairs.extend(open.pop().map(|start| (start, at))),
            _ => {}
        }
    }
    pairs
}

/// `x BETWEEN NULL AND y`, `x BETWEEN y AND NULL` or NOT, of an `x` with a subquery.
pub(super) fn has_subquery_between_null(sql: &str) -> bool {
    let pairs = brackets(sql);
    sql.match_indices(" BETWEEN ").any(|(at, between)| {
        let around = pairs
            .iter()
            .filter(|(start, end)| (*start..*end).contains(&at));
        let innermost = around.max_by_key(|(start, _)| *start);
        innermost.is_some_and(|&(start, end)| {
            let (value, bounds) = (&sql[start + 1..at], &sql[at + between.len()..end]);
            let null = "CAST(NULL AS ";
            value.contains("(SELECT ")
                && (bounds.starts_with(null) || bounds.contains(&format!(" AND {null}")))
        })
    })
}

/// `list_reduce(list, (v1, v2) -> body, first)` of a body that names a column.
pub(super) fn reduces_by_column(sql: &str) -> bool {
    let pairs = brackets(sql);
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    pairs.iter().any(|&(start, end)| {
        let head = &sql[..start];
        let Some(arrow) = sql[start..end]
            .find(") -> ")
            .filter(|_| head.ends_with("list_reduce"))
        else {
            return false;
        };
        let body = start + arrow + ") -> ".len();
        // Up to the argument behind it.
        let rest = sql[body..end].match_indices(", ").map(|(at, _)| body + at);
        let is_outside = |at: &usize| {
            !pairs
                .iter()
                .any(|(open, close)| *open >= body && (*open..*close).contains(at))
        };
        let body = &sql[body..rest.filter(is_outside).last().unwrap_or(end)];
        let texts = body.split('\'').step_by(2);
        let mut words = texts.flat_map(|text| text.split_inclusive(|c| !is_name(c)));
        words.any(|word| {
            let (word, called) = (word.trim_end_matches(|c| !is_name(c)), word.ends_with('('));
            let is_named = word.starts_with(|c: char| c.is_ascii_lowercase());
            is_named
                && word.ends_with(|c: char| c.is_ascii_digit())
                && !called
                && !word.starts_with('v')
        })
    })
}

/// `TRY_CAST(x AS INTEGER) > y` and its kind, either way round, of a type of whole numbers or decimals.
pub(super) fn compares_try_cast(sql: &str) -> bool {
    const OPERATORS: [&str; 9] = [
        "=",
        "<>",
        "<",
        "<=",
        ">",
        ">=",
        "BETWEEN",
        "DISTINCT FROM",
        "IN",
    ];
    brackets(sql).into_iter().any(|(start, end)| {
        let (head, rest) = (&sql[..start], &sql[end + 1..]);
        let (Some(head), Some((_, ty))) = (
            head.strip_suffix(" TRY_CAST")
                .or(head.strip_suffix("(TRY_CAST")),
            sql[start..end].rsplit_once(" AS "),
        ) else {
            return false;
        };
        let rest = rest.trim_start_matches(" IS").trim_start_matches(" NOT");
        let is_beside = |operator: &&str| {
            head.ends_with(&format!(" {operator}")) || rest.starts_with(&format!(" {operator} "))
        };
        let is_number = ty.ends_with("INT") || ty == "INTEGER" || ty.starts_with("DECIMAL(");
        is_number && OPERATORS.iter().any(is_beside)
    })
}

/// `date_trunc(...) <> 'constant'` or `=`, either way round.
pub(super) fn compares_date_trunc(sql: &str) -> bool {
    let (mut after, mut before) = (vec![], vec![]);
    for operator in ["=", "<>"] {
        // A point in time, or one and an interval from it.
        for (opens, ends) in [("CAST('", " AS TIMESTAMP)"), ("(CAST('", " AS INTERVAL))")] {
            after.push(format!(" {operator} {opens}"));
            before.push(format!("{ends} {operator} date_trunc"));
        }
    }
    brackets(sql).into_iter().any(|(start, end)| {
        let (head, rest) = (&sql[..start], &sql[end + 1..]);
        let constant = after.iter().any(|after| rest.starts_with(after))
            || before.iter().any(|before| head.ends_with(before));
        head.ends_with("date_trunc") && constant
    })
}
