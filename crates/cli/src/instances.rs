//! `hush adopt`, `hush backup` and `hush rotate`: what is done to an instance on its host.
//!
//! What must hold: what is said names files and databases, never a value or a key.

use std::process::ExitCode;

use hushdb::maintenance::FileHeader;
use hushdb_server::{AdoptOptions, Backup};

use crate::arguments::{AdoptArguments, BackupArguments, RotateArguments};
use crate::failure::{Failure, say};

/// `hush adopt`.
pub(crate) fn adopt(arguments: &AdoptArguments) -> Result<ExitCode, Failure> {
    let source_key = arguments.source_key.source()?;
    let is_text = arguments.source.is_dir() || hushdb_server::is_dump(&arguments.source);
    let is_plain = is_text || !FileHeader::read(&arguments.source)?.is_encrypted;
    if !is_plain && source_key.is_none() {
        return Err(Failure::Message(
            "Key Required: the source is encrypted: give its key by --source-key-env, --source-key-file, --source-key-command or \
             --source-key-url"
                .into(),
        ));
    }
    let adopted = hushdb_server::adopt(&AdoptOptions {
        directory: arguments.directory.clone(),
        key: arguments.key.required().map_err(Failure::of_server)?,
        source: arguments.source.clone(),
        source_key,
        name: arguments.name.clone(),
        leave_out: arguments.leave_out,
        owner: arguments.owner.clone(),
    })?;
    for left_out in &adopted.left_out {
        say(&format!("left out: {left_out}"));
    }
    let read_back = match is_text {
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

/// `hush backup`.
pub(crate) fn backup(arguments: &BackupArguments) -> Result<ExitCode, Failure> {
    let to = std::path::absolute(&arguments.to);
    let backup = Backup {
        to: to.map_err(|error| Failure::file(&arguments.to, error))?,
        instance_alone: arguments.instance,
    };
    let done = match hushdb_server::backup_by_server(&arguments.directory, &backup)? {
        Some(done) => done,
        None => hushdb_server::backup(
            &arguments.directory,
            arguments.key.required().map_err(Failure::of_server)?,
            &backup,
        )?,
    };
    say(&match arguments.instance {
        true => {
            "copied the instance catalog: roles, names of databases, and all their keys".to_owned()
        }
        false => format!(
            "copied {} databases with {} rows, and the instance catalog; each block was opened",
            done.databases, done.rows
        ),
    });
    Ok(ExitCode::SUCCESS)
}

/// `hush rotate`.
pub(crate) fn rotate(arguments: &RotateArguments) -> Result<ExitCode, Failure> {
    let key = arguments.key.required().map_err(Failure::of_server)?;
    let database = arguments.database.as_deref();
    let bytes = hushdb_server::rotate(&arguments.directory, key, database)?;
    say(&match database {
        Some(name) => format!(
            "{name} has another random key and another master key, and {:.1} MiB were sealed anew under it",
            bytes as f64 / f64::from(1 << 20)
        ),
        None => {
            "the keyring has another root: all keys of databases are wrapped under it".to_owned()
        }
    });
    say("a backup that was made before opens with the keys of its own time alone: make another");
    Ok(ExitCode::SUCCESS)
}
