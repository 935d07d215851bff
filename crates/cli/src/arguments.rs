//! The command line.
//!
//! A first argument that names a subcommand is one; everything else is `hush [OPTIONS] [FILE] [SQL]...`. A database
//! file that is called like a subcommand is named with its directory (`./demo`).

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use hushdb::Cipher;

use crate::freshness_options::FreshnessOptions;
use crate::key_options::{KeyOptions, NewKeyOptions, SourceKeyOptions};
use crate::output::Mode;

/// What was asked for.
#[derive(Debug)]
pub(crate) enum Arguments {
    /// Run SQL, or the interactive shell.
    Shell(ShellArguments),
    /// One of the named commands.
    Command(Command),
}

impl Arguments {
    /// Reads the command line, program name first.
    ///
    /// # Errors
    /// Unknown options, missing values, contradictions; also the requests for help and version.
    pub(crate) fn parse(arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        let first = arguments
            .get(1)
            .and_then(|argument| argument.to_str())
            .unwrap_or_default();
        if COMMANDS.contains(&first) {
            Ok(Self::Command(
                CommandLine::try_parse_from(arguments)?.command,
            ))
        } else {
            Ok(Self::Shell(ShellArguments::try_parse_from(arguments)?))
        }
    }
}

const COMMANDS: [&str; 11] = [
    "demo", "inspect", "check", "salvage", "keys", "rekey", "init", "serve", "adopt", "backup",
    "rotate",
];

const COMMANDS_HELP: &str = "\
Commands (as the first argument; a database file of that name is given as ./NAME):
  hush demo          Generate TPC-H into an encrypted file, query it, attack it
  hush inspect FILE  What a database file says about itself, without and with its key
  hush check FILE    Open every block and report damage
  hush salvage FILE OUT
                     Copy what still opens of a damaged file into a new one
  hush keys ...      List, add, remove, change and verify the key slots of a file
  hush rekey FILE    Seal all blocks anew under another master key, or data key alone
  hush init DIR      Make an instance: a directory of encrypted databases
  hush serve DIR     Serve an instance to psql and other clients of PostgreSQL
  hush adopt DIR FILE --name NAME
                     Copy a database file into an instance, under a key of its own
  hush backup DIR --to OUT
                     Copy an instance, sealed as it is, also while it is served
  hush rotate DIR    Give a database, or the keyring, a new random key

A key is hex: or base64: followed by 32 bytes, pass: followed by a passphrase, or a bare passphrase.";

/// The HushDB shell: SQL on a database file that is encrypted and tamper evident.
#[derive(Debug, Parser)]
#[command(name = "hush", version, about, after_help = COMMANDS_HELP)]
pub(crate) struct ShellArguments {
    /// Database file, created when it does not exist; left out or `:memory:` is an in-memory database
    pub(crate) file: Option<PathBuf>,
    /// SQL statements or dot commands to run, then exit
    pub(crate) sql: Vec<String>,
    /// Run this SQL or dot command, then exit; can be given several times
    #[arg(short, long = "command", value_name = "SQL")]
    pub(crate) commands: Vec<String>,
    /// Run the statements of this script, then exit
    #[arg(short = 'f', long = "file", value_name = "SCRIPT", id = "script")]
    pub(crate) script: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) format: FormatOptions,
    /// Open the file read-only
    #[arg(long)]
    pub(crate) read_only: bool,
    #[command(flatten)]
    pub(crate) key: KeyOptions,
    /// Cipher of a new encrypted file: gcm or ctr
    #[arg(long, value_name = "NAME", value_parser = cipher)]
    pub(crate) cipher: Option<Cipher>,
    #[command(flatten)]
    pub(crate) freshness: FreshnessOptions,
}

fn cipher(name: &str) -> Result<Cipher, &'static str> {
    Cipher::by_name(name).ok_or("there are gcm and ctr")
}

/// The output mode, one of.
#[derive(Args, Clone, Copy, Debug)]
#[group(multiple = false)]
pub(crate) struct FormatOptions {
    /// Print results as boxes (the default)
    #[arg(long = "box")]
    boxed: bool,
    /// Print results as CSV
    #[arg(long)]
    csv: bool,
    /// Print results as JSON
    #[arg(long)]
    json: bool,
    /// Print results as Markdown tables
    #[arg(long)]
    markdown: bool,
    /// Print results one value a line
    #[arg(long)]
    line: bool,
}

impl FormatOptions {
    /// The chosen mode.
    pub(crate) fn mode(self) -> Mode {
        match self {
            Self { csv: true, .. } => Mode::Csv,
            Self { json: true, .. } => Mode::Json,
            Self { markdown: true, .. } => Mode::Markdown,
            Self { line: true, .. } => Mode::Line,
            _ => Mode::Box,
        }
    }
}

#[derive(Debug, Parser)]
#[command(name = "hush", version)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

/// The named commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Generate TPC-H into an encrypted file, run the 22 queries, look at the bytes, attack the file
    Demo(DemoArguments),
    /// Say what a database file says about itself: more with its key
    Inspect(InspectArguments),
    /// Open every block and ref of a database file; exit code 1 when there is damage
    Check(FileArguments),
    /// Copy what still opens into a new file and list what does not; exit code 1 when anything is lost
    Salvage(SalvageArguments),
    /// Work on the key slots of an encrypted file; no data is rewritten
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Seal an encrypted file anew; begin it again if it was interrupted
    Rekey(RekeyArguments),
    /// Make an instance: a directory of encrypted databases that a server serves
    Init(InitArguments),
    /// Serve an instance to PostgreSQL's clients, until SIGTERM
    Serve(ServeArguments),
    /// Copy what is there already into an instance, as a database under a key of its own; no server may run on it
    Adopt(AdoptArguments),
    /// Copy an instance, sealed as it is, into another directory; a server that runs on it does so itself, and no key is needed
    Backup(BackupArguments),
    /// Give a database of an instance a new random key, or the instance's keyring a new root; no server may run on it
    Rotate(RotateArguments),
}

/// `hush init`.
#[derive(Args, Debug)]
pub(crate) struct InitArguments {
    /// A directory that is empty, or not there yet
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyOptions,
    #[command(flatten)]
    pub(crate) password: PasswordOptions,
}

/// Where the password of a new instance's superuser comes from; the terminal, where nothing is said.
#[derive(Args, Debug)]
#[group(skip)]
pub(crate) struct PasswordOptions {
    /// Take the password of the superuser `hush` from this environment variable
    #[arg(long, value_name = "VAR", group = "password")]
    pub(crate) password_env: Option<String>,
    /// Take the password of the superuser `hush` from this file
    #[arg(long, value_name = "PATH", group = "password")]
    pub(crate) password_file: Option<PathBuf>,
}

/// `hush serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArguments {
    /// The instance's directory
    pub(crate) directory: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyOptions,
    /// Listen on this address, with TLS; 127.0.0.1:5432 when no socket is asked for either
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// Listen on a Unix socket in this directory
    #[arg(long, value_name = "PATH")]
    pub(crate) socket_dir: Option<PathBuf>,
    /// Sessions at a time
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) max_connections: usize,
    /// MiB that queries and opened blocks may take together
    #[arg(long, value_name = "MIB")]
    pub(crate) memory_limit: Option<usize>,
    /// Threads that run queries
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Answer /metrics, /health and /ready by HTTP on this address, which is of this machine; 127.0.0.1:9433 when none is said
    #[arg(long, value_name = "ADDRESS:PORT", num_args = 0..=1, default_missing_value = "127.0.0.1:9433")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Write the log as a JSON object a line, with each session and each failed statement
    #[arg(long)]
    pub(crate) log_json: bool,
    /// Make the instance first, with pgbench's tables in it, and show how psql comes in
    #[arg(long)]
    pub(crate) demo: bool,
    #[command(flatten)]
    pub(crate) password: PasswordOptions,
}

/// `hush adopt`.
#[derive(Args, Debug)]
pub(crate) struct AdoptArguments {
    /// The instance's directory
    pub(crate) directory: PathBuf,
    /// A database file, plain or encrypted, a directory with schema.sql and a CSV or Parquet file for each table, or what pg_dump wrote as
    /// text (NAME.sql); it is left as it is
    pub(crate) source: PathBuf,
    /// What the database is to be called
    #[arg(long, value_name = "NAME")]
    pub(crate) name: String,
    /// The role that it is to belong to; hush when left out
    #[arg(long, value_name = "ROLE")]
    pub(crate) owner: Option<String>,
    /// Leave out of a dump what is not there yet, such as functions and triggers, and list it; rows never
    #[arg(long)]
    pub(crate) leave_out: bool,
    #[command(flatten)]
    pub(crate) key: KeyOptions,
    #[command(flatten)]
    pub(crate) source_key: SourceKeyOptions,
}

/// `hush backup`.
#[derive(Args, Debug)]
pub(crate) struct BackupArguments {
    /// The instance's directory
    pub(crate) directory: PathBuf,
    /// A directory that is empty, or not there yet
    #[arg(long, value_name = "OUT")]
    pub(crate) to: PathBuf,
    /// The instance catalog alone, with roles and all keys: small, and no database opens without it
    #[arg(long)]
    pub(crate) instance: bool,
    #[command(flatten)]
    pub(crate) key: KeyOptions,
}

/// `hush rotate`.
#[derive(Args, Debug)]
pub(crate) struct RotateArguments {
    /// The instance's directory
    pub(crate) directory: PathBuf,
    /// The database that gets another key; the keyring's root when left out
    #[arg(long, value_name = "NAME")]
    pub(crate) database: Option<String>,
    #[command(flatten)]
    pub(crate) key: KeyOptions,
}

/// `hush demo`.
#[derive(Args, Debug)]
pub(crate) struct DemoArguments {
    /// TPC-H scale factor: 1 is about 8.7 million rows
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = scale_factor)]
    pub(crate) sf: f64,
    /// Directory for the demo's files, created when it does not exist
    #[arg(long, value_name = "PATH", default_value = "hush-demo")]
    pub(crate) dir: PathBuf,
}

fn scale_factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(sf) if (0.001..=1000.0).contains(&sf) => Ok(sf),
        _ => Err("a number from 0.001 to 1000".to_owned()),
    }
}

/// A database file and its key.
#[derive(Args, Debug)]
pub(crate) struct FileArguments {
    /// Database file
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) key: KeyOptions,
    #[command(flatten)]
    pub(crate) freshness: FreshnessOptions,
}

/// `hush inspect`.
#[derive(Args, Debug)]
pub(crate) struct InspectArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// With --picture: another file, drawn beside the first
    #[arg(requires = "picture")]
    pub(crate) other: Option<PathBuf>,
    /// Print only the anchor: a line to keep elsewhere, for --min-anchor and ATTACH ... (MIN_ANCHOR '...')
    #[arg(long, group = "what")]
    pub(crate) anchor: bool,
    /// Print only the entropy of the file's bytes and whether they could be noise, by what they are if the key is given
    #[arg(long, group = "what")]
    pub(crate) entropy: bool,
    /// Draw the bytes of FILE, and of OTHER beside it, into a PNG
    #[arg(long, group = "what", value_name = "PNG")]
    pub(crate) picture: Option<PathBuf>,
}

/// `hush salvage`.
#[derive(Args, Debug)]
pub(crate) struct SalvageArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// The new file, which must not be there yet; it gets the same key unless another is given
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) new_key: NewKeyOptions,
}

/// `hush rekey`.
#[derive(Args, Debug)]
pub(crate) struct RekeyArguments {
    #[command(flatten)]
    pub(crate) file: FileArguments,
    /// Change the data key alone: the master key and the key slots stay, and whoever has the master key is not locked out
    #[arg(long, conflicts_with_all = ["slot", "drop_slot", "new_key_env", "new_key_file", "new_key_command", "new_key_url", "new_key_prompt"])]
    pub(crate) data: bool,
    /// Number of the slot whose key is given: it is kept, or replaced if there is a new key. The only slot need not be named
    #[arg(long, value_name = "N")]
    pub(crate) slot: Option<usize>,
    /// Another slot, whose key is to open the file no more; all others must be named so
    #[arg(long, value_name = "N")]
    pub(crate) drop_slot: Vec<usize>,
    #[command(flatten)]
    pub(crate) new_key: NewKeyOptions,
}

/// `hush keys`.
#[derive(Debug, Subcommand)]
pub(crate) enum KeysCommand {
    /// Show which key slots are in use; needs no key
    List {
        /// Database file
        file: PathBuf,
    },
    /// Add a key: afterwards the old one and the new one open the file
    Add {
        #[command(flatten)]
        file: FileArguments,
        #[command(flatten)]
        new_key: NewKeyOptions,
        /// Make a recovery key, which is printed once, for paper: to open the file when all other keys are lost
        #[arg(long, conflicts_with_all = ["new_key_env", "new_key_file", "new_key_command", "new_key_url", "new_key_prompt"])]
        recovery: bool,
        /// A name for the slot; everyone can read it
        #[arg(long, value_name = "TEXT", default_value = "")]
        label: String,
    },
    /// Remove a key slot; the last one cannot be removed
    Remove {
        #[command(flatten)]
        file: FileArguments,
        /// Number of the slot, as `hush keys list` shows it
        #[arg(long, value_name = "N")]
        slot: usize,
    },
    /// Put a new key into a slot; the slot's old key opens the file no more
    Change {
        #[command(flatten)]
        file: FileArguments,
        #[command(flatten)]
        new_key: NewKeyOptions,
        /// Number of the slot, as `hush keys list` shows it; can be left out when there is only one
        #[arg(long, value_name = "N")]
        slot: Option<usize>,
    },
    /// Ask the key's place and see that a slot opens with what it gives; nothing is written. For monitoring
    Verify {
        #[command(flatten)]
        file: FileArguments,
        /// Number of the slot that must open; any when left out
        #[arg(long, value_name = "N")]
        slot: Option<usize>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Arguments {
        let all = std::iter::once("hush").chain(arguments.iter().copied());
        Arguments::parse(all.map(OsString::from).collect()).expect("a valid command line")
    }

    fn shell(arguments: &[&str]) -> ShellArguments {
        match parse(arguments) {
            Arguments::Shell(shell) => shell,
            Arguments::Command(command) => panic!("{command:?} is not the shell"),
        }
    }

    #[test]
    fn the_definitions_are_consistent() {
        use clap::CommandFactory;
        ShellArguments::command().debug_assert();
        CommandLine::command().debug_assert();
    }

    #[test]
    fn file_then_sql() {
        let arguments = shell(&[
            "--csv", "a.hush", "SELECT 1", "SELECT 2", "-c", "SELECT 3", "-c", ".tables",
        ]);
        assert_eq!(arguments.file, Some(PathBuf::from("a.hush")));
        assert_eq!(arguments.sql, ["SELECT 1", "SELECT 2"]);
        assert_eq!(arguments.commands, ["SELECT 3", ".tables"]);
        assert_eq!(arguments.format.mode(), Mode::Csv);
    }

    #[test]
    fn commands_are_first_arguments_only() {
        assert!(matches!(
            parse(&["demo", "--sf", "0.01"]),
            Arguments::Command(Command::Demo(_))
        ));
        assert_eq!(shell(&["./demo"]).file, Some(PathBuf::from("./demo")));
        assert_eq!(shell(&["--csv", "demo"]).file, Some(PathBuf::from("demo")));
    }

    #[test]
    fn contradictions_are_refused() {
        for arguments in [
            ["--csv", "--json"].as_slice(),
            &["--key-env", "A", "--key-file", "b", "f"],
        ] {
            let all = std::iter::once("hush").chain(arguments.iter().copied());
            assert!(
                Arguments::parse(all.map(OsString::from).collect()).is_err(),
                "{arguments:?}"
            );
        }
    }
}
