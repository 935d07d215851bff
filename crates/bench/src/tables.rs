//! The TPC-H tables that benchmarks run on: one database file for each subject, with the same rows.

use std::path::PathBuf;

use crate::engines::{DUCKDB, Engine, PLAIN, attach, engine_name};
use crate::failure::Result;
use crate::stage::{Stage, fresh};

const TABLES: [&str; 8] = [
    "region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem",
];

/// What a subject's file with all tables is called after.
pub(crate) const CONTENT: &str = "tpch";

/// Opens and decodes all 16 columns. The sum keeps engines from answering the maxima out of statistics.
pub(crate) const SCAN: &str = "SELECT sum(l_orderkey), max(l_partkey), max(l_suppkey), max(l_linenumber), max(l_quantity), \
    max(l_extendedprice), max(l_discount), max(l_tax), max(l_returnflag), max(l_linestatus), max(l_shipdate), \
    max(l_commitdate), max(l_receiptdate), max(l_shipinstruct), max(l_shipmode), max(l_comment) FROM lineitem";

/// A plain database with all tables for each engine.
pub(crate) fn make_sources(stage: &Stage, sf: f64) -> Result<()> {
    let subjects = stage.subjects();
    for subject in [PLAIN, DUCKDB] {
        if !subjects.iter().any(|other| other.engine == subject.engine) {
            continue;
        }
        eprintln!(
            "generating scale factor {sf} with {}",
            engine_name(subject.engine)
        );
        let mut child = stage.start(subject)?;
        let path = source(stage, subject.engine);
        fresh(&path)?;
        child.sql(&attach(&path, "source", None, false))?;
        child.sql("USE source")?;
        child.sql(&format!("CALL dbgen(sf = {sf})"))?;
        child.sql("USE memory")?;
        child.sql("DETACH source")?;
    }
    Ok(())
}

/// A database with all tables for each subject, out of the sources.
pub(crate) fn make_databases(stage: &Stage) -> Result<()> {
    for subject in stage.subjects() {
        let path = stage.file(subject, CONTENT);
        fresh(&path)?;
        let mut child = stage.start(subject)?;
        child.sql(&attach(
            &source(stage, subject.engine),
            "source",
            None,
            true,
        ))?;
        child.sql(&attach(&path, "target", subject.key, false))?;
        for table in TABLES {
            child.sql(&format!(
                "CREATE TABLE target.main.{table} AS FROM source.main.{table}"
            ))?;
        }
        child.sql("DETACH target")?;
    }
    Ok(())
}

/// An engine's source.
pub(crate) fn source(stage: &Stage, engine: Engine) -> PathBuf {
    stage
        .directory
        .join(format!("source.{}", engine_name(engine)))
}
