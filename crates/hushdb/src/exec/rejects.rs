//! What CSV files had that was not read, in tables of the connection: stored before its next statement.

use super::rows::append;
use super::{dispatch, in_transaction};
use crate::session::Session;
use crate::statement::Statement;
use datafusion::arrow::record_batch::RecordBatch;
use hushdb_query::plan::TEMP;
use hushdb_query::scan::ScanProgress;
use hushdb_sql::stack::with_room;
use hushdb_sql::{self as sql, Result, quoted};
use hushdb_storage::MAIN_SCHEMA;
use std::sync::Arc;

const SCANS: &str = "scan_id UBIGINT, file_id UBIGINT, file_path VARCHAR, delimiter VARCHAR, quote VARCHAR, escape VARCHAR, \
     newline_delimiter VARCHAR, skip_rows UINTEGER, has_header BOOLEAN, columns VARCHAR, date_format VARCHAR, \
     timestamp_format VARCHAR, user_arguments VARCHAR";
const ERRORS: &str = "scan_id UBIGINT, file_id UBIGINT, line UBIGINT, line_byte_position UBIGINT, byte_position UBIGINT, \
     column_idx UBIGINT, column_name VARCHAR, error_type ENUM('CAST', 'MISSING COLUMNS', 'TOO MANY COLUMNS', 'UNQUOTED VALUE', \
     'LINE SIZE OVER MAXIMUM', 'INVALID ENCODING', 'INVALID STATE'), csv_line VARCHAR, error_message VARCHAR";

/// Stores what was not read so far, if anything; the tables are made when they are first needed.
///
/// # Errors
/// Those of making tables and adding rows.
pub(super) fn store(session: &Session, progress: &Arc<ScanProgress>) -> Result<()> {
    let is_aborted = session
        .transaction
        .lock()
        .as_ref()
        .is_some_and(|open| open.is_aborted());
    if is_aborted {
        return Ok(());
    }
    for (tables, scans, errors) in session.rejects.take()? {
        add(session, progress, &tables.scans, SCANS, scans)?;
        add(session, progress, &tables.errors, ERRORS, errors)?;
    }
    Ok(())
}

fn add(
    session: &Session,
    progress: &Arc<ScanProgress>,
    table: &str,
    columns: &str,
    rows: RecordBatch,
) -> Result<()> {
    let made = format!(
        "CREATE TEMP TABLE IF NOT EXISTS {} ({columns})",
        quoted(table)
    );
    in_transaction(session, false, || {
        let statement = Statement::new(session, progress);
        dispatch(&statement, sql::parse(&made)?)
    })?;
    if rows.num_rows() == 0 {
        return Ok(());
    }
    let path = [TEMP, MAIN_SCHEMA, table].map(str::to_owned);
    in_transaction(session, false, || {
        let statement = Statement::new(session, progress);
        with_room(|| append::append(&statement, &path, &[], rows))
    })?;
    Ok(())
}
