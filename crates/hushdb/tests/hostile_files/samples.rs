//! Small sound files that edits begin with.

use hushdb::Database;

pub(crate) struct Sample {
    /// How its name ends.
    pub(crate) ending: &'static str,
    pub(crate) bytes: Vec<u8>,
}

/// Files of the same rows.
pub(crate) struct Samples {
    pub(crate) parquet: Vec<Sample>,
    pub(crate) texts: Vec<Sample>,
}

/// The table that the rows are of.
pub(crate) const COLUMNS: &str = "a INTEGER, s VARCHAR, d DOUBLE, l BIGINT[], st STRUCT(x BIGINT, y VARCHAR), b BOOLEAN, bl BLOB, \
     de DECIMAL(12,2), ts TIMESTAMP, day DATE";
const ROWS: &str = "SELECT i::INTEGER AS a, CASE WHEN i % 3 = 0 THEN NULL ELSE 'text, \"' || (i % 40) END AS s, i * 1.5e0 AS d, \
     [i, NULL, i * 2] AS l, {'x': i, 'y': 'v' || (i % 4)} AS st, i % 2 = 0 AS b, ('b' || i)::BLOB AS bl, \
     (i * 1.25)::DECIMAL(12,2) AS de, (DATE '2020-01-01' + i::INTEGER)::TIMESTAMP AS ts, \
     DATE '2020-01-01' + i::INTEGER AS day FROM range(120) r(i)";

impl Samples {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let connection = Database::open_in_memory().unwrap().connect().unwrap();
        let copy = |ending: &'static str, options: &str| {
            let path = directory.path().join(format!("sound.{ending}"));
            let sql = format!("COPY ({ROWS}) TO '{}' {options}", path.display());
            connection.execute(&sql).unwrap();
            let bytes = std::fs::read(path).unwrap();
            Sample { ending, bytes }
        };
        let compressions = ["snappy", "zstd", "lz4", "none"];
        Self {
            parquet: compressions
                .map(|name| copy("parquet", &format!("(COMPRESSION {name})")))
                .into(),
            texts: vec![
                copy("csv", ""),
                copy("csv", "(DELIMITER '|', QUOTE '''')"),
                copy("json", ""),
                copy("json", "(ARRAY true)"),
            ],
        }
    }
}
