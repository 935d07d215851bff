//! Functions in FROM that are queries: `test_all_types()`, `parquet_full_metadata('a.parquet')`, and over a table that is given by its
//! name `histogram('t', x)` and `histogram_values('t', x)`.

use crate::all_types;
use hushdb_storage::{Macro, MacroOverload, MacroParameter};
use std::sync::{Arc, LazyLock};

/// Their names.
pub const TABLE_MACROS: [&str; 4] = [
    "histogram",
    "histogram_values",
    "parquet_full_metadata",
    "test_all_types",
];

/// The one of that name.
pub(super) fn table_macro(parts: &[String]) -> Option<Arc<Macro>> {
    let [name] = parts else { return None };
    let mut own = OWN.iter();
    own.find(|own| own.name.eq_ignore_ascii_case(name)).cloned()
}

static OWN: LazyLock<[Arc<Macro>; 4]> = LazyLock::new(|| {
    let [histogram, values, full_metadata, types] = TABLE_MACROS;
    [
        over_a_column(histogram, HISTOGRAM),
        over_a_column(values, VALUES),
        query(
            full_metadata,
            vec![parameter("files", None)],
            FULL_METADATA.into(),
        ),
        query(types, vec![], all_types::query()),
    ]
});

fn query(name: &str, parameters: Vec<MacroParameter>, sql: String) -> Arc<Macro> {
    Arc::new(Macro {
        name: name.into(),
        overloads: vec![MacroOverload { parameters, sql }],
    })
}

fn parameter(name: &str, default: Option<&str>) -> MacroParameter {
    MacroParameter {
        name: name.into(),
        ty: None,
        default: default.map(Into::into),
    }
}

fn over_a_column(name: &str, sql: &str) -> Arc<Macro> {
    let as_they_are = format!(
        "({} AND technique = 'auto' OR technique = 'sample')",
        AS_NUMBER
            .map(|of| format!("NOT can_cast_implicitly($of, {of})"))
            .join(" AND ")
    );
    let parameters = vec![
        parameter("source", None),
        parameter("col_name", None),
        parameter("bin_count", Some("10")),
        parameter("technique", Some("'auto'")),
    ];
    let of_column = as_they_are.replace("$of", "min(col_name)");
    let of_bin = as_they_are.replace("$of", "\"$bin\"");
    let sql = sql.replace("$column_as_it_is", &of_column);
    query(name, parameters, sql.replace("$bin_as_it_is", &of_bin))
}

/// A row for each file, of what the other functions say of it.
const FULL_METADATA: &str = "SELECT [\"$file\"] AS parquet_file_metadata, \
     coalesce((SELECT list(\"$row\") FROM parquet_metadata(files) \"$row\" WHERE \"$row\".file_name = \"$name\"), []) \
     AS parquet_metadata, \
     coalesce((SELECT list(\"$row\") FROM parquet_schema(files) \"$row\" WHERE \"$row\".file_name = \"$name\"), []) \
     AS parquet_schema, \
     coalesce((SELECT list(\"$row\") FROM parquet_kv_metadata(files) \"$row\" WHERE \"$row\".file_name = \"$name\"), []) \
     AS parquet_kv_metadata \
     FROM (SELECT \"$one\" AS \"$file\", file_name AS \"$name\", row_number() OVER () AS \"$place\" FROM parquet_file_metadata(files) \"$one\") \
     ORDER BY \"$place\"";

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
