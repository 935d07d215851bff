//! Functions in FROM that are queries over a table that is given by its name: `histogram('t', x)` and `histogram_values('t', x)`.

use hushdb_storage::{Macro, MacroOverload, MacroParameter};
use std::sync::{Arc, LazyLock};

/// Their names.
pub const TABLE_MACROS: [&str; 2] = ["histogram", "histogram_values"];

/// The one of that name.
pub(super) fn table_macro(parts: &[String]) -> Option<Arc<Macro>> {
    let [name] = parts else { return None };
    let mut own = OWN.iter();
    own.find(|own| own.name.eq_ignore_ascii_case(name)).cloned()
}

static OWN: LazyLock<[Arc<Macro>; 2]> = LazyLock::new(|| {
    let [histogram, values] = TABLE_MACROS;
    [
        over_a_column(histogram, HISTOGRAM),
        over_a_column(values, VALUES),
    ]
});

fn over_a_column(name: &str, sql: &str) -> Arc<Macro> {
    let parameter = |name: &str, default: Option<&str>| MacroParameter {
        name: name.into(),
        ty: None,
        default: default.map(Into::into),
    };
    let as_they_are = format!(
        "({} AND technique = 'auto' OR technique = 'sample')",
        AS_NUMBER
            .map(|of| format!("NOT can_cast_implicitly($of, {of})"))
            .join(" AND ")
    );
    Arc::new(Macro {
        name: name.into(),
        overloads: vec![MacroOverload {
            parameters: vec![
                parameter("source", None),
                parameter("col_name", None),
                parameter("bin_count", Some("10")),
                parameter("technique", Some("'auto'")),
            ],
            sql: sql
                .replace(
                    "$column_as_it_is",
                    &as_they_are.replace("$of", "min(col_name)"),
                )
                .replace("$bin_as_it_is", &as_they_are.replace("$of", "\"$bin\"")),
        }],
    })
}

/// What values are cast to where bins are as wide as each other; those of other types are counted as they are.
const AS_NUMBER: [&str; 3] = [
    "CAST(NULL AS BIGINT)",
    "CAST(NULL AS DOUBLE)",
    "CAST(NULL AS TIMESTAMP)",
];

const VALUES: &str = "WITH \"$bins\" AS (SELECT CASE \
     WHEN $column_as_it_is THEN approx_top_k(col_name, bin_count) \
     WHEN technique = 'equi-height' THEN quantile(col_name, \
     list_transform(generate_series(1, bin_count), lambda \"$part\": \"$part\" / CAST(bin_count AS DOUBLE))) \
     WHEN technique = 'equi-width' THEN equi_width_bins(min(col_name), max(col_name), bin_count, false) \
     WHEN technique = 'equi-width-nice' OR technique = 'auto' \
     THEN equi_width_bins(min(col_name), max(col_name), bin_count, true) \
     ELSE error(concat('Unrecognized technique ', technique)) END AS \"$ends\" FROM query_table(source)) \
     SELECT unnest(map_keys(\"$counts\")) AS bin, unnest(map_values(\"$counts\")) AS count \
     FROM (SELECT CASE WHEN $column_as_it_is \
     THEN histogram_exact(col_name, (SELECT \"$ends\" FROM \"$bins\")) \
     ELSE histogram(col_name, (SELECT \"$ends\" FROM \"$bins\")) END AS \"$counts\" FROM query_table(source))";

const HISTOGRAM: &str = "SELECT CASE WHEN is_histogram_other_bin(\"$bin\") THEN '(other values)' \
     WHEN $bin_as_it_is THEN CAST(\"$bin\" AS VARCHAR) \
     WHEN \"$before\" IS NULL THEN concat('x <= ', CAST(\"$bin\" AS VARCHAR)) \
     ELSE concat(\"$before\", ' < x <= ', CAST(\"$bin\" AS VARCHAR)) END AS bin, count, \
     bar(count, 0, max(count) OVER ()) AS bar \
     FROM (SELECT bin AS \"$bin\", lag(CAST(bin AS VARCHAR)) OVER (ORDER BY \"$place\") AS \"$before\", count, \"$place\" \
     FROM (SELECT *, row_number() OVER () AS \"$place\" \
     FROM histogram_values(source, col_name, bin_count := bin_count, technique := technique))) ORDER BY \"$place\"";
