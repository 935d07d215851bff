//! `hush adopt`: what is done to an instance on its host while no server runs on it.
//!
//! What must hold: what is said names files and databases, never a value or a key.

use std::process::ExitCode;

use hushdb::maintenance::FileHeader;
use hushdb_server::AdoptOptions;

use crate::arguments::AdoptArguments;
use crate::failure::{Failure, say};

/// `hush adopt`.
pub(crate) fn adopt(arguments: &AdoptArguments) -> Result<ExitCode, Failure> {
    let source_key = arguments.source_key.source()?;
    let is_directory = arguments.source.is_dir();
    let is_plain = is_directory || !FileHeader::read(&arguments.source)?.is_encrypted;
    if !is_plain && source_key.is_none() {
        return Err(Failure::Message(
            "Key Required: the source is encrypted: give its key by --source-key-env, --source-key-file, --source-key-command or \
             --source-key-url"
                .into(),
        ));
    }
    let adopted = hushdb_server::adopt(&AdoptOptions {
        directory: arguments.directory.clone(),
        key: arguments.key.required()?,
        source: arguments.source.clone(),
        source_key,
        name: arguments.name.clone(),
        owner: arguments.owner.clone(),
    })?;
    let read_back = match is_directory {
        true => "read back",
        false => "each table was read back and compared",
    };
    say(&format!(
        "made the database {} of {} tables with {} rows and {} views; {read_back}",
        arguments.name, adopted.tables, adopted.rows, adopted.views
    ));
    if is_plain {
        say(&format!(
            "{} is as it was, and plain: whoever has it reads it",
            arguments.source.display()
        ));
    }
    Ok(ExitCode::SUCCESS)
}
