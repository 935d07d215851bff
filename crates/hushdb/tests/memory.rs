//! What is left of keys in memory. A process of its own, the *subject*, attaches, works and detaches; this one knows all
//! keys of its database and looks for them in the subject's memory.

#[path = "../../../tests/database_keys.rs"]
mod database_keys;
#[path = "../../../tests/memory_scan.rs"]
mod memory_scan;

use database_keys::Keys;
use hushdb::{Database, DatabaseOptions};
use hushdb_crypto::{Argon2Params, CryptoProvider, SecretKey};
use memory_scan::{Found, Needle, scan};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Tells the subject which cryptographic library to use.
const CRYPTO: &str = "HUSHDB_MEMORY_SUBJECT";
/// How the subject's answers begin; the test harness prints other lines.
const ANSWER: &str = "@";

#[test]
fn passphrases_and_the_keys_below_them() {
    examine("aws-lc-rs", &format!("a passphrase: {}", digits(8)), "GCM");
}

#[test]
fn raw_keys_and_the_keys_below_them() {
    examine("aws-lc-rs", &format!("hex:{}", digits(32)), "GCM");
}

#[test]
fn keys_of_another_cipher() {
    examine("aws-lc-rs", &format!("hex:{}", digits(32)), "CTR");
}

#[test]
fn keys_of_the_portable_provider() {
    examine("rustcrypto", &format!("hex:{}", digits(32)), "GCM");
}

/// So many random bytes as hex digits: a constant would lie in the subject's program.
fn digits(bytes: usize) -> String {
    let mut random = vec![0; bytes];
    CryptoProvider::portable().random(&mut random).unwrap();
    random.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_planted_copy_is_found() {
    let mut subject = Subject::start("aws-lc-rs");
    let planted = Needle {
        name: "planted".into(),
        bytes: (0..32).map(|i| i * 7 + 1).collect(),
    };
    let needles = [planted];
    assert!(subject.scan(&needles).is_empty());
    subject.run("!plant");
    let found = subject.scan(&needles);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(!has(&found[0], "dd"), "{found:?}");
    subject.run("!unplant");
    assert!(subject.scan(&needles).is_empty());
}

/// Follows a database with this key through the life of a process.
fn examine(crypto: &'static str, key: &str, cipher: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("subject.hush");
    let mut subject = Subject::start(crypto);
    let given = crate::given(key);
    subject.run("SELECT 1");
    assert_none("before", &subject.scan(&given));

    subject.run(&format!(
        "SET temp_directory = '{}'",
        directory.path().display()
    ));
    let attach = format!(
        "ATTACH '{}' AS v (ENCRYPTION_KEY '{key}', ENCRYPTION_CIPHER '{cipher}')",
        path.display()
    );
    subject.run(&attach);
    subject.run("CREATE TABLE v.t AS SELECT i, 'text ' || i AS s FROM range(300000) r(i)");
    subject.run("CHECKPOINT v");
    subject.run("CREATE TABLE v.small (i INTEGER PRIMARY KEY, s VARCHAR)");
    subject.run("INSERT INTO v.small VALUES (1, 'one'), (2, 'two')");
    subject.run("SET memory_limit = '48MB'");
    subject.run("SELECT count(*) FROM (SELECT s, i, row_number() OVER (ORDER BY s) AS n FROM v.t)");
    subject.run("SELECT * FROM v.small WHERE i = 2");

    // While it is attached: what was given and what opened the key slot is gone, the rest lies in the arena.
    let keys = Keys::of(&path, 0, |salt| root(key, salt));
    assert_none("what was given, while attached", &subject.scan(&given));
    assert_none(
        "the slot's keys, while attached",
        &subject.scan(&keys.passing),
    );
    let locked = subject.locks_its_keys();
    let lasting = subject.scan(&keys.lasting);
    for needle in &keys.lasting {
        let places = || lasting.iter().filter(|found| found.name == needle.name);
        assert!(
            places().count() > 0,
            "{} is needed and must be somewhere",
            needle.name
        );
        assert!(
            places()
                .all(|found| has(found, "dd") && has(found, "wf") && (has(found, "lo") || !locked)),
            "{} lies outside of the arena: {lasting:#?}",
            needle.name
        );
    }

    // Statements that fail must not keep the key either.
    subject.fail(&format!("ATACH 'x' AS w (ENCRYPTION_KEY '{key}')"));
    subject.fail(&format!(
        "ATTACH 'x' AS w (ENCRYPTION_KEY '{key}', NO_SUCH_OPTION, '{key}"
    ));

    // The last of the keys are those of blocks and logs, which the cipher library keeps where it likes until DETACH.
    let mut all = given;
    let derived = keys.derived(&path);
    assert!(derived.len() >= 2, "blocks and log have keys");
    subject.run("DETACH v");
    all.extend(keys.passing.into_iter().chain(keys.lasting).chain(derived));
    assert_none("after DETACH", &subject.scan(&all));

    let wrong = format!("a wrong passphrase: {}", digits(8));
    subject.fail(&attach.replace(key, &wrong));
    assert_none("after a wrong key", &subject.scan(&crate::given(&wrong)));

    // The same again, with a file that is there already, read only.
    subject.run(&attach.replace("(ENC", "(READ_ONLY, ENC"));
    subject.run("SELECT sum(i), max(s) FROM v.t");
    subject.run("DETACH v");
    assert_none("after the second DETACH", &subject.scan(&all));
}

/// Whether the kernel's books give the page that flag.
fn has(found: &Found, flag: &str) -> bool {
    found.flags.iter().any(|has| has == flag)
}

fn assert_none(when: &str, found: &[Found]) {
    assert!(found.is_empty(), "{when}: {found:#?}");
}

/// The key as it is written, and as bytes.
fn given(key: &str) -> Vec<Needle> {
    let mut needles = vec![Needle {
        name: "key text".into(),
        bytes: key.into(),
    }];
    if let Some(digits) = key.strip_prefix("hex:") {
        needles.push(Needle {
            name: "digits".into(),
            bytes: digits.into(),
        });
        needles.push(Needle {
            name: "raw key".into(),
            bytes: raw(digits),
        });
    }
    needles
}

fn raw(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// What the key makes of a slot's salt.
fn root(key: &str, salt: &[u8]) -> SecretKey {
    match key.strip_prefix("hex:") {
        Some(digits) => SecretKey::from_slice(&raw(digits)).unwrap(),
        None => {
            let floor = Argon2Params {
                m_kib: 65_536,
                t: 3,
                p: 4,
            };
            let crypto = CryptoProvider::portable();
            crypto.argon2id(key.as_bytes(), salt, floor).unwrap()
        }
    }
}

/// A process that runs what it is told.
struct Subject {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Subject {
    fn start(crypto: &str) -> Self {
        let program: PathBuf = std::env::current_exe().unwrap();
        let mut process = Command::new(program)
            .args(["--exact", "subject", "--ignored", "--nocapture"])
            .env(CRYPTO, crypto)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
        }
    }

    fn answer(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").unwrap();
        loop {
            let mut answer = String::new();
            let read = self.output.read_line(&mut answer).unwrap();
            assert!(read > 0, "the subject ended");
            if let Some((_, answer)) = answer.split_once(ANSWER) {
                return answer.trim_end().to_string();
            }
        }
    }

    fn run(&mut self, line: &str) {
        let answer = self.answer(line);
        assert!(answer.starts_with("done"), "{line}: {answer}");
    }

    fn fail(&mut self, line: &str) {
        let answer = self.answer(line);
        assert!(answer.starts_with("error"), "{line}: {answer}");
    }

    /// Whether the system grants locked memory here.
    fn locks_its_keys(&mut self) -> bool {
        let sql = "SELECT locked_bytes = bytes AND bytes > 0 AS v FROM key_memory()";
        self.answer(sql).contains("true")
    }

    fn scan(&self, needles: &[Needle]) -> Vec<Found> {
        scan(self.process.id(), needles).unwrap()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs lines of its standard input, and keeps no copy of them.
#[test]
#[ignore = "started by the other tests, in a process of its own"]
fn subject() {
    let Ok(crypto) = std::env::var(CRYPTO) else {
        return;
    };
    let options = DatabaseOptions {
        crypto: CryptoProvider::by_name(&crypto).unwrap(),
        threads: Some(2),
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(None, options).unwrap();
    let connection = database.connect().unwrap();
    let mut planted = Vec::new();
    // Reads as large as this one pass the standard input's own buffer by.
    let mut buffer = vec![0; 64 << 10];
    let mut length = 0;
    loop {
        let read = std::io::stdin().lock().read(&mut buffer[length..]).unwrap();
        if read == 0 {
            return;
        }
        length += read;
        if buffer[length - 1] != b'\n' {
            continue;
        }
        let answer = match std::str::from_utf8(&buffer[..length - 1]).unwrap() {
            "!plant" => {
                planted.extend((0..32u8).map(|i| i * std::hint::black_box(7) + 1));
                "done".to_string()
            }
            "!unplant" => {
                planted.fill(0);
                "done".to_string()
            }
            sql => match connection.execute(sql).and_then(|r| r.collect_batches()) {
                Ok(batches) => format!("done {:?}", batches.first()).replace('\n', " "),
                Err(error) => format!("error {error}").replace('\n', " "),
            },
        };
        buffer[..length].fill(0);
        length = 0;
        let mut output = std::io::stdout().lock();
        writeln!(output, "{ANSWER}{answer}").unwrap();
        output.flush().unwrap();
    }
}
