//! Settings of DuckDB that say how it works, and on which no answer depends: they are taken, kept and shown, and change nothing here.

use super::setting::{Setting, flag};
use crate::session::Session;
use hushdb_sql::{Error, Result};

/// One hint: its name, its type, DuckDB's default, and what it is about there.
macro_rules! hint {
    ($name:literal, $kind:literal, $default:literal, $description:literal) => {
        Setting {
            name: $name,
            aliases: &[],
            input_type: $kind,
            is_local: true,
            description: concat!("Changes nothing here; in DuckDB: ", $description),
            get: |session| kept(session, $name, $default),
            set: |session, text| keep(session, $name, $kind, text),
            default: |_| $default.into(),
        }
    };
}

#[rustfmt::skip]
pub(super) const HINTS: [Setting; 61] = [
    hint!("allocator_background_threads", "BOOLEAN", "false", "whether threads give memory back"),
    hint!("allocator_bulk_deallocation_flush_threshold", "VARCHAR", "512.0 MiB", "when much memory is given back at once"),
    hint!("allocator_flush_threshold", "VARCHAR", "128.0 MiB", "when memory is given back"),
    hint!("allow_extensions_metadata_mismatch", "BOOLEAN", "false", "whether extensions of other releases are loaded, of which there are none"),
    hint!("arrow_large_buffer_size", "BOOLEAN", "false", "whether Arrow has texts in large buffers"),
    hint!("asof_loop_join_threshold", "BIGINT", "64", "rows up to which an ASOF join is a loop"),
    hint!("auto_checkpoint_skip_wal_threshold", "BIGINT", "100000", "rows from which a commit is a checkpoint"),
    hint!("autoinstall_known_extensions", "BOOLEAN", "true", "whether extensions are fetched, of which there are none"),
    hint!("autoload_known_extensions", "BOOLEAN", "true", "whether extensions are loaded, of which there are none"),
    hint!("catalog_error_max_schemas", "BIGINT", "100", "schemas that are searched for like names"),
    hint!("custom_extension_repository", "VARCHAR", "", "where extensions are fetched from"),
    hint!("debug_asof_iejoin", "BOOLEAN", "false", "how ASOF joins are done"),
    hint!("debug_checkpoint_sleep_ms", "BIGINT", "0", "how long a checkpoint waits"),
    hint!("debug_eviction_queue_sleep_micro_seconds", "BIGINT", "0", "how long blocks wait that are to go"),
    hint!("debug_force_no_cross_product", "BOOLEAN", "false", "whether joins are ordered without cross products"),
    hint!("debug_verify_blocks", "BOOLEAN", "false", "whether blocks are counted at each checkpoint"),
    hint!("debug_verify_vector", "VARCHAR", "NONE", "in which form values are held"),
    hint!("debug_window_mode", "VARCHAR", "WINDOW", "how windows are done"),
    hint!("default_block_size", "BIGINT", "262144", "bytes of a block in new files"),
    hint!("disable_parquet_prefetching", "BOOLEAN", "false", "whether Parquet files are read ahead"),
    hint!("disabled_compression_methods", "VARCHAR", "", "how columns are not compressed"),
    hint!("disabled_optimizers", "VARCHAR", "", "optimizers that are left out"),
    hint!("dynamic_or_filter_threshold", "BIGINT", "50", "values up to which a join filters the other side by OR"),
    hint!("enable_caching_operators", "BOOLEAN", "true", "whether small chunks are put together"),
    hint!("enable_external_file_cache", "BOOLEAN", "true", "whether files are kept in memory"),
    hint!("enable_fsst_vectors", "BOOLEAN", "false", "whether scans give compressed texts"),
    hint!("enable_http_metadata_cache", "BOOLEAN", "false", "whether what is known of files is kept"),
    hint!("enable_object_cache", "BOOLEAN", "false", "nothing"),
    hint!("enable_verification", "BOOLEAN", "false", "whether each statement runs in several ways that are compared"),
    hint!("experimental_metadata_reuse", "BOOLEAN", "true", "whether a checkpoint writes what has changed alone"),
    hint!("extension_directory", "VARCHAR", "", "where extensions are kept"),
    hint!("external_threads", "BIGINT", "1", "threads of others that help"),
    hint!("force_bitpacking_mode", "VARCHAR", "AUTO", "how numbers are compressed"),
    hint!("force_compression", "VARCHAR", "AUTO", "how columns are compressed"),
    hint!("index_scan_max_count", "BIGINT", "2048", "rows up to which an index is read"),
    hint!("index_scan_percentage", "DOUBLE", "0.001", "share of the rows up to which an index is read"),
    hint!("lambda_syntax", "VARCHAR", "DEFAULT", "whether x -> x + 1 is a lambda, as it always is here"),
    hint!("late_materialization_max_rows", "BIGINT", "50", "rows of a LIMIT up to which columns are read late"),
    hint!("max_vacuum_tasks", "BIGINT", "100", "threads that join row groups"),
    hint!("merge_join_threshold", "BIGINT", "1000", "rows below which no join is a merge join"),
    hint!("nested_loop_join_threshold", "BIGINT", "5", "rows up to which a join is a loop"),
    hint!("ordered_aggregate_threshold", "BIGINT", "262144", "rows after which an ordered aggregate sorts"),
    hint!("parquet_metadata_cache", "BOOLEAN", "false", "whether footers of Parquet files are kept"),
    hint!("partitioned_write_flush_threshold", "BIGINT", "524288", "rows after which COPY with PARTITION_BY writes"),
    hint!("partitioned_write_max_open_files", "BIGINT", "100", "files that COPY with PARTITION_BY has open"),
    hint!("perfect_ht_threshold", "BIGINT", "12", "bits of keys up to which groups are found by their place"),
    hint!("pin_threads", "VARCHAR", "auto", "whether threads stay on their cores"),
    hint!("pivot_filter_threshold", "BIGINT", "20", "columns from which PIVOT is an operator of its own"),
    hint!("prefer_range_joins", "BOOLEAN", "false", "whether joins prefer their inequalities"),
    hint!("prefetch_all_parquet_files", "BOOLEAN", "false", "whether all Parquet files are read ahead"),
    hint!("preserve_insertion_order", "BOOLEAN", "true", "whether rows must come in insertion order, in which they always come"),
    hint!("produce_arrow_string_view", "BOOLEAN", "false", "whether Arrow has texts as views"),
    hint!("progress_bar_time", "BIGINT", "2000", "milliseconds after which progress is shown"),
    hint!("scheduler_process_partial", "BOOLEAN", "false", "whether tasks yield"),
    hint!("storage_compatibility_version", "VARCHAR", "v0.10.2", "releases that read new files"),
    hint!("streaming_buffer_size", "VARCHAR", "976.5 KiB", "bytes of a result that are ready"),
    hint!("user", "VARCHAR", "", "nothing"),
    hint!("username", "VARCHAR", "", "nothing"),
    hint!("wal_autocheckpoint_entries", "BIGINT", "0", "records of the log after which there is a checkpoint"),
    hint!("write_buffer_row_group_count", "BIGINT", "5", "row groups that are written together"),
    hint!("zstd_min_string_length", "BIGINT", "4096", "length from which texts are compressed by zstd"),
];

/// The settings that are hints in PRAGMAs of DuckDB: `enable_x`, `disable_x`, `force_x`, and those that verify.
pub(super) const PRAGMAS: [&str; 16] = [
    "disable_object_cache",
    "disable_optimizer",
    "disable_profile",
    "disable_profiling",
    "disable_verification",
    "disable_verify_external",
    "disable_verify_fetch_row",
    "disable_verify_parallelism",
    "disable_verify_serializer",
    "enable_object_cache",
    "enable_optimizer",
    "enable_verification",
    "verify_external",
    "verify_fetch_row",
    "verify_parallelism",
    "verify_serializer",
];

fn kept(session: &Session, name: &str, default: &str) -> String {
    let settings = session.settings.lock();
    let kept = settings.hints.get(name).cloned();
    kept.unwrap_or_else(|| default.into())
}

fn keep(session: &Session, name: &'static str, kind: &str, text: &str) -> Result<()> {
    let wrong = || Error::invalid(format!("{name} is a number"));
    let text = match kind {
        "BOOLEAN" => flag(name, text)?.to_string(),
        "BIGINT" => text.parse::<u32>().map_err(|_| wrong())?.to_string(),
        "DOUBLE" => text.parse::<f64>().map_err(|_| wrong())?.to_string(),
        _ => text.into(),
    };
    session.settings.lock().hints.insert(name, text);
    Ok(())
}
