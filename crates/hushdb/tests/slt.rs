//! Every script of `tests/slt`, under every configuration of `tests/configs`.
//!
//! Each script has a directory and a database of its own, and each of its named connections is one to that database. What
//! must hold beside the answers: after the script, a file passes the check of all its blocks.

use hushdb::{
    Cipher, Connection, Database, DatabaseOptions, Error, Isolation, KeySource, QueryResult,
    ResultKind,
};
use hushdb_keys::providers::KeyText;
use hushdb_storage::{Store, StoreOptions};
use sqllogictest::{DB, DBOutput, DefaultColumnType as Letter, Runner};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Scripts that run at once; most of their time goes into waiting for the disk.
const WORKERS: usize = 4;

#[test]
fn in_memory() {
    run_all("memory");
}

#[test]
fn plain_file() {
    run_all("plain");
}

#[test]
fn encrypted_file() {
    run_all("encrypted");
}

#[test]
fn restart_after_every_statement() {
    run_all("restart");
}

#[test]
fn restart_from_the_log_after_every_statement() {
    run_all("log");
}

#[test]
fn small_row_groups() {
    run_all("small_row_groups");
}

#[test]
fn everything_spills() {
    run_all("spill");
}

#[test]
fn examples_of_functions_run() {
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    let rows = "(VALUES (1, 2, 'a'), (3, 4, 'b'), (NULL, NULL, NULL)) t(x, y, s)";
    let count = |sql: &str| {
        let batches = connection.execute(sql)?.collect_batches()?;
        Ok::<_, Error>(batches.iter().map(|batch| batch.num_rows()).sum::<usize>())
    };
    for (name, _, example) in hushdb_query::functions::DESCRIPTIONS {
        let found = format!("SELECT 1 FROM duckdb_functions() WHERE function_name = '{name}'");
        assert!(count(&found).unwrap() > 0, "{name} is not there");
        // Names alone, where one is the last argument.
        let of_rows = ["x", "s"]
            .iter()
            .any(|name| example.contains(&format!("({name}")));
        let sql = match of_rows {
            true => format!("SELECT {example} FROM {rows} WHERE s IS NOT NULL"),
            false => format!("SELECT {example}"),
        };
        count(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    // What is listed in FROM is there, whatever it says of arguments that are missing.
    let listed = "SELECT string_agg(DISTINCT function_name, ' ') FROM duckdb_functions() WHERE function_type = 'table'";
    let listed = connection.execute(listed).unwrap();
    let listed = listed.collect_batches().unwrap();
    let names = hushdb::value_text(listed[0].column(0), 0).unwrap().unwrap();
    for name in names.split(' ') {
        let unknown = |arguments: &str| {
            let called = count(&format!("FROM {name}({arguments})"));
            called.is_err_and(|error| error.to_string().contains("does not exist"))
        };
        let arguments = ["", "1, 1", "'SELECT 1'", "'duckdb_tables'"];
        assert!(!arguments.into_iter().all(unknown), "{name} is not there");
    }
}

#[test]
fn read_committed() {
    run_all("read_committed");
}

#[test]
fn repeatable_read() {
    run_all("repeatable_read");
}

/// What a file of `tests/configs` says.
struct Config {
    /// Of connections that wait. Their records are under `onlyif waiting` and the level's name, with `_` for the space.
    isolation: Option<Isolation>,
    /// The scripts and folders that it runs; empty: all.
    only: Vec<String>,
    file: bool,
    key: Option<String>,
    cipher: Option<Cipher>,
    restart: bool,
    checkpoint_on_shutdown: bool,
    row_group_rows: Option<usize>,
    memory_limit: Option<String>,
    force_external: bool,
    skip: Vec<String>,
}

impl Config {
    /// Reads `name = value` lines.
    fn read(name: &str) -> Self {
        let path = tests().join("configs").join(name).with_extension("toml");
        let text = std::fs::read_to_string(&path).unwrap();
        let mut values: HashMap<&str, &str> = text
            .lines()
            .filter(|line| !line.trim().is_empty() && !line.starts_with('#'))
            .map(|line| line.split_once('=').unwrap())
            .map(|(name, value)| (name.trim(), value.trim().trim_matches('"')))
            .collect();
        let config = Self {
            isolation: values.remove("isolation").map(|name| match name {
                "read committed" => Isolation::ReadCommitted,
                "repeatable read" => Isolation::RepeatableRead,
                other => panic!("no level: {other}"),
            }),
            only: words(values.remove("only")),
            file: values.remove("file") == Some("true"),
            key: values.remove("key").map(str::to_string),
            cipher: values
                .remove("cipher")
                .map(|name| Cipher::by_name(name).unwrap()),
            restart: values.remove("restart") == Some("true"),
            checkpoint_on_shutdown: values.remove("checkpoint_on_shutdown") != Some("false"),
            row_group_rows: values.remove("row_group_rows").map(|n| n.parse().unwrap()),
            memory_limit: values.remove("memory_limit").map(str::to_string),
            force_external: values.remove("force_external") == Some("true"),
            skip: words(values.remove("skip")),
        };
        assert!(values.is_empty(), "{}: unknown {values:?}", path.display());
        config
    }

    /// What records may be `onlyif` and `skipif`.
    fn labels(&self) -> &'static [&'static str] {
        match self.isolation {
            Some(Isolation::ReadCommitted) => &["waiting", "read_committed"],
            Some(Isolation::RepeatableRead) => &["waiting", "repeatable_read"],
            _ => &[],
        }
    }
}

fn words(of: Option<&str>) -> Vec<String> {
    let words = of.unwrap_or_default().split_whitespace();
    words.map(str::to_string).collect()
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

fn scripts(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|e| e == "slt") {
            found.push(path);
        }
    }
}

/// Runs all scripts and fails with a list of those that fail. `SLT=part/of/a/name` runs some of them only.
fn run_all(config: &str) {
    let config = Config::read(config);
    let root = tests().join("slt");
    let mut paths = vec![];
    scripts(&root, &mut paths);
    paths.sort();
    let only = std::env::var("SLT").unwrap_or_default();
    paths.retain(|path| {
        let name = path.strip_prefix(&root).unwrap().with_extension("");
        let name = name.to_string_lossy();
        name.contains(&only)
            && (config.only.is_empty() || config.only.iter().any(|only| name.starts_with(only)))
            && !config.skip.iter().any(|skip| *skip == name)
    });
    // Spilling aside, what touches no database gives in a file what it gives in memory.
    if config.file && !config.force_external {
        paths.retain(|path| touches_a_database(&std::fs::read_to_string(path).unwrap()));
    }
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(vec![]);
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(path) = paths.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = path.strip_prefix(&root).unwrap().display().to_string();
                    let result = std::panic::catch_unwind(|| run_script(&config, path))
                        .unwrap_or_else(|_| Err("it panicked".into()));
                    if let Err(failure) = result {
                        failures.lock().unwrap().push((name, failure));
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    let list: Vec<String> = failures
        .iter()
        .map(|(name, failure)| format!("== {name}\n{failure}"))
        .collect();
    assert!(
        failures.is_empty(),
        "{}\n{} of {} scripts fail",
        list.join("\n"),
        failures.len(),
        paths.len()
    );
}

/// Whether a script may make, fill, read or ask about anything that lies in a database, or set how that is done.
fn touches_a_database(script: &str) -> bool {
    const WORDS: &[&str] = &[
        "alter",
        "attach",
        "begin",
        "call",
        "checkpoint",
        "create",
        "describe",
        "drop",
        "export",
        "import",
        "insert",
        "load",
        "pragma",
        "prepare",
        "reset",
        "set",
        "show",
        "summarize",
        "use",
        "vacuum",
    ];
    const STARTS: &[&str] = &[
        "current_",
        "duckdb_",
        "hush_",
        "information_schema",
        "pg_",
        "sqlite_",
    ];
    let script = script.to_ascii_lowercase();
    // A copy of a query touches what the query does.
    let mut copies = script.split("copy").skip(1);
    if copies.any(|what| !what.trim_start().starts_with('(')) {
        return true;
    }
    let mut words = script.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| WORDS.contains(&word) || STARTS.iter().any(|start| word.starts_with(start)))
}

/// Whether a statement may have changed what is in the file. What only reads needs no restart behind it: the file is as it was at the one before.
fn may_change(sql: &str) -> bool {
    let sql = sql.trim_start().to_ascii_lowercase();
    let reads = ["select", "from", "values", "describe", "show", "summarize"];
    !reads.iter().any(|word| sql.starts_with(word)) || sql.contains("val(")
}

fn run_script(config: &Config, path: &Path) -> Result<(), String> {
    let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
    let inside = directory.path().join("files");
    std::fs::create_dir(&inside).map_err(|e| e.to_string())?;
    let mut text = std::fs::read_to_string(path)
        .map_err(|e| e.to_string())?
        .replace("__TEST_DIR__", &inside.to_string_lossy());
    let file = config.file.then(|| directory.path().join("db.hushdb"));
    if file.is_some() {
        // The scripts call the database they begin in by its name.
        text = of_file(&text);
    }
    let script = Script::open(config, file.as_deref()).map_err(|e| e.to_string())?;
    let mut runner = Runner::new(move || {
        let engine = script.connect();
        async move { engine }
    });
    for label in config.labels() {
        runner.add_label(label);
    }
    runner.with_column_validator(|actual, expected| {
        actual.len() == expected.len()
            && actual
                .iter()
                .zip(expected)
                .all(|(a, e)| a == e || *a == Letter::Any)
    });
    runner
        .run_script_with_name(&text, path.to_string_lossy())
        .map_err(|e| e.display(false).to_string())?;
    drop(runner);
    file.map_or(Ok(()), |file| check(config, &file))
}

/// A script whose database is called `db`: the word `memory` stands for it, but for `:memory:`.
fn of_file(script: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':');
    let mut parts = script.split("memory").peekable();
    let mut text = String::new();
    while let Some(part) = parts.next() {
        text.push_str(part);
        if let Some(next) = parts.peek() {
            let is_within = text.ends_with(is_word) || next.starts_with(is_word);
            text.push_str(if is_within { "memory" } else { "db" });
        }
    }
    text
}

/// Opens every block of the file.
fn check(config: &Config, file: &Path) -> Result<(), String> {
    let key = config.key.as_ref().map(|k| KeyText::new(k.as_str()));
    let store = Store::open_path(file, key.as_ref().map(|k| k as _), &StoreOptions::default())
        .map_err(|e| e.to_string())?;
    let report = store.check(&mut |_, _| ()).map_err(|e| e.to_string())?;
    match report.findings.as_slice() {
        [] => Ok(()),
        findings => Err(format!("the file's check: {findings:?}")),
    }
}

/// The database that a script runs in.
struct Script {
    database: Database,
    isolation: Option<Isolation>,
    /// ATTACH of the script's own file, for a restart.
    attach: Option<String>,
    connections: Arc<Mutex<Vec<Arc<Connection>>>>,
}

impl Script {
    fn open(config: &Config, file: Option<&Path>) -> hushdb::Result<Self> {
        let mut options = DatabaseOptions {
            key: config
                .key
                .as_ref()
                .map(|key| KeySource::Text(key.as_str().into())),
            cipher: config.cipher,
            threads: Some(2),
            memory_limit_bytes: Some(256 << 20),
            ..DatabaseOptions::default()
        };
        if let Some(rows) = config.row_group_rows {
            options.row_group_rows = rows;
        }
        let attach = match (file, &config.key, config.restart) {
            (Some(file), Some(key), true) => Some(format!(
                "ATTACH '{}' AS db (ENCRYPTION_KEY '{key}')",
                file.display()
            )),
            _ => None,
        };
        let database = Database::open_with(file, options)?;
        if let Some(limit) = &config.memory_limit {
            let connection = database.connect()?;
            connection.execute(&format!("SET memory_limit = '{limit}'"))?;
        }
        if config.force_external {
            let connection = database.connect()?;
            connection.execute("SET debug_force_external = true")?;
        }
        if !config.checkpoint_on_shutdown {
            // What small statements did is then in the log alone, and every opening replays it.
            database
                .connect()?
                .execute("PRAGMA disable_checkpoint_on_shutdown")?;
        }
        Ok(Self {
            database,
            isolation: config.isolation,
            attach,
            connections: Arc::default(),
        })
    }

    fn connect(&self) -> hushdb::Result<Engine> {
        let isolation = self.isolation.unwrap_or_default();
        let connection = Arc::new(self.database.connect_with(isolation)?);
        if self.isolation.is_some() {
            // A script is one thread: what it waits for does not come.
            connection.execute("SET lock_timeout = 50")?;
        }
        let all = Arc::clone(&self.connections);
        all.lock().unwrap().push(Arc::clone(&connection));
        Ok(Engine {
            connection,
            attach: self.attach.clone(),
            all,
        })
    }
}

/// One connection under test.
struct Engine {
    connection: Arc<Connection>,
    attach: Option<String>,
    /// Those of the whole script.
    all: Arc<Mutex<Vec<Arc<Connection>>>>,
}

impl Engine {
    /// Closes the script's file and opens it again; the connections go on where they were. Not while one of them has a
    /// transaction open, which a restart would end.
    fn restart(&self) -> hushdb::Result<()> {
        let Some(attach) = &self.attach else {
            return Ok(());
        };
        if self.all.lock().unwrap().iter().any(|c| c.in_transaction()) {
            return Ok(());
        }
        let place = self
            .connection
            .execute("SELECT current_database(), current_schema()")?;
        let (_, place) = Self::rows(place)?;
        self.connection.execute("USE memory")?;
        self.connection.execute("DETACH db")?;
        self.connection.execute(attach)?;
        self.connection
            .execute(&format!("USE \"{}\".\"{}\"", place[0][0], place[0][1]))?;
        Ok(())
    }

    fn rows(result: QueryResult) -> hushdb::Result<(Vec<Letter>, Vec<Vec<String>>)> {
        let schema = result.schema();
        let letters = schema
            .fields()
            .iter()
            .map(|f| letter(&hushdb::display_type(f)))
            .collect();
        let mut rows = vec![];
        for batch in result {
            let batch = batch?;
            for row in 0..batch.num_rows() {
                let texts = batch
                    .columns()
                    .iter()
                    .map(|column| Ok(shown(hushdb::value_text(column, row)?)))
                    .collect::<hushdb::Result<Vec<_>>>()?;
                rows.push(texts);
            }
        }
        Ok((letters, rows))
    }
}

impl DB for Engine {
    type Error = Error;
    type ColumnType = Letter;

    fn run(&mut self, sql: &str) -> hushdb::Result<DBOutput<Letter>> {
        let result = self.connection.execute(sql)?;
        let output = match result.kind() {
            ResultKind::Count(rows) => DBOutput::StatementComplete(rows),
            ResultKind::Done => DBOutput::StatementComplete(0),
            ResultKind::Rows => {
                let (types, rows) = Self::rows(result)?;
                DBOutput::Rows { types, rows }
            }
        };
        if may_change(sql) {
            self.restart()?;
        }
        Ok(output)
    }

    fn engine_name(&self) -> &str {
        "hushdb"
    }
}

/// A value as the scripts write it.
fn shown(text: Option<String>) -> String {
    match text.as_deref() {
        None => "NULL".into(),
        Some("") => "(empty)".into(),
        Some(text) => text.replace('\n', "\\n"),
    }
}

/// The scripts' letter for a type.
fn letter(name: &str) -> Letter {
    match name {
        // An untyped NULL is an INTEGER there.
        "\"NULL\"" => Letter::Any,
        "FLOAT" | "DOUBLE" => Letter::FloatingPoint,
        _ if name.starts_with("DECIMAL") => Letter::FloatingPoint,
        _ if name.ends_with("INT") || name.ends_with("INTEGER") => Letter::Integer,
        _ => Letter::Text,
    }
}
