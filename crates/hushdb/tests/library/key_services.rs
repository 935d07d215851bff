//! A key service of a program's own: given as a provider, and named in ATTACH.

use hushdb::keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind, SecretKey};
use hushdb::{Connection, Database, DatabaseOptions, ErrorKind, KeyServices, KeySource};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Keeps a key for each database that asked for one, and gives it back for the number in the slot's blob.
#[derive(Default)]
struct Safe {
    keys: Mutex<Vec<([u8; 16], [u8; 32])>>,
    asked: AtomicUsize,
    /// What it says instead.
    says: Mutex<Option<KeyError>>,
}

impl Safe {
    fn says(&self, error: Option<KeyError>) {
        *self.says.lock().unwrap() = error;
    }
}

impl KeyProvider for Safe {
    fn kind(&self) -> ProviderKind {
        ProviderKind(200)
    }

    fn establish(&self, context: &KeyContext) -> Result<(KeyMaterial, Vec<u8>), KeyError> {
        let mut keys = self.keys.lock().unwrap();
        let key = [keys.len() as u8 + 1; 32];
        keys.push((*context.database_id.as_bytes(), key));
        let blob = vec![keys.len() as u8 - 1];
        Ok((KeyMaterial::Raw(SecretKey::from_slice(&key).unwrap()), blob))
    }

    fn recover(&self, context: &KeyContext, blob: &[u8]) -> Result<KeyMaterial, KeyError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(error) = self.says.lock().unwrap().clone() {
            return Err(error);
        }
        let keys = self.keys.lock().unwrap();
        let kept = blob.first().and_then(|at| keys.get(usize::from(*at)));
        match kept {
            Some((id, key)) if id == context.database_id.as_bytes() => {
                Ok(KeyMaterial::Raw(SecretKey::from_slice(key).unwrap()))
            }
            _ => Err(KeyError::Service {
                provider: "safe",
                what: "there is no key for this database: ask whoever keeps the safe".into(),
            }),
        }
    }

    fn keeps_blob(&self) -> bool {
        true
    }
}

#[test]
fn a_provider_opens_what_it_has_sealed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sealed.hushdb");
    let safe = Arc::new(Safe::default());
    let open = |safe: &Arc<Safe>| {
        let key = Some(KeySource::Provider(Arc::clone(safe) as Arc<dyn KeyProvider>));
        Database::open_with(
            Some(&path),
            DatabaseOptions {
                key,
                ..DatabaseOptions::default()
            },
        )
    };
    let database = open(&safe).unwrap();
    let connection = database.connect().unwrap();
    connection
        .execute("CREATE TABLE t AS SELECT 42 AS a")
        .unwrap();
    drop((connection, database));
    let database = open(&safe).unwrap();
    let rows = database.connect().unwrap().execute("FROM t").unwrap();
    assert_eq!(rows.collect_batches().unwrap()[0].num_rows(), 1);
    drop(database);
    assert_eq!(
        safe.asked.load(Ordering::SeqCst),
        1,
        "asked once, when the file was opened"
    );
    let error = open(&Arc::default()).unwrap_err();
    assert!(
        error.to_string().contains("ask whoever keeps the safe"),
        "{error}"
    );
}

#[test]
fn attach_names_services_and_no_error_repeats_what_they_are_told() {
    const TOKEN: &str = "token-sesame";
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sealed.hushdb");
    let safe = Arc::new(Safe::default());
    let mut key_services = KeyServices::default();
    assert!(key_services.register("env", |_| unreachable!()).is_err());
    assert!(
        key_services
            .register("no word", |_| unreachable!())
            .is_err()
    );
    let provider = Arc::clone(&safe) as Arc<dyn KeyProvider>;
    let make = move |argument: &str| match argument {
        TOKEN => Ok(Arc::clone(&provider)),
        _ => Err(hushdb::Error::new(
            ErrorKind::InvalidInput,
            "the safe knows no such token",
        )),
    };
    key_services.register("Safe", make).unwrap();
    let options = DatabaseOptions {
        key_services,
        ..DatabaseOptions::default()
    };
    let database = Database::open_with(None, options).unwrap();
    let connection = database.connect().unwrap();
    let attach = |option: &str, told: &str| {
        let sql = format!(
            "ATTACH '{}' AS sealed (ENCRYPTION_KEY_{option} '{told}')",
            path.display()
        );
        connection.execute(&sql).map(drop)
    };
    for (option, told) in [("SAFE", "token-guess"), ("VAULT", TOKEN), ("SAFE' ", TOKEN)] {
        let error = attach(option, told).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("token-"), "{error}");
        assert!(!path.exists());
    }
    attach("SAFE", TOKEN).unwrap();
    connection
        .execute("CREATE TABLE sealed.t AS SELECT 1 AS a; DETACH sealed")
        .unwrap();
    attach("safe", TOKEN).unwrap();
    connection.execute("FROM sealed.t").unwrap();
}

/// Until something holds, or 20 seconds are over.
fn holds_soon(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// A database whose key the safe keeps.
fn kept(safe: &Arc<Safe>, path: &Path) -> Database {
    kept_beside(safe, KeyServices::default(), path)
}

fn kept_beside(safe: &Arc<Safe>, key_services: KeyServices, path: &Path) -> Database {
    let key = Some(KeySource::Provider(Arc::clone(safe) as Arc<dyn KeyProvider>));
    let options = DatabaseOptions {
        key,
        key_services,
        ..DatabaseOptions::default()
    };
    Database::open_with(Some(path), options).unwrap()
}

/// A new one, with rows in the file and in the log, of which the safe is asked again often.
fn watched(safe: &Arc<Safe>, path: &Path) -> Database {
    let database = kept(safe, path);
    is_filled_and_watched(&database);
    database
}

fn is_filled_and_watched(database: &Database) {
    let connection = database.connect().unwrap();
    for sql in [
        "CREATE TABLE t AS SELECT range AS a FROM range(1000)",
        "CHECKPOINT",
        "INSERT INTO t VALUES (5000)",
        "SET key_recheck_grace = '200ms'",
        "SET key_recheck = '20ms'",
    ] {
        connection.execute(sql).unwrap();
    }
}

fn sum(connection: &Connection) -> hushdb::Result<String> {
    let rows = connection.execute("SELECT sum(a) FROM t")?;
    let rows = rows.collect_batches()?;
    Ok(format!("{:?}", rows[0].columns()))
}

fn says() -> (String, String) {
    ("safe".to_owned(), "ask the keeper".to_owned())
}

#[test]
fn a_place_that_is_silent_or_knows_not_who_asks_disturbs_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let safe = Arc::new(Safe::default());
    let database = watched(&safe, &directory.path().join("sealed.hushdb"));
    let connection = database.connect().unwrap();
    let asked = || safe.asked.load(Ordering::SeqCst);
    assert!(holds_soon(|| asked() > 3), "nobody asks");
    let ((place, why), (silent, later)) = (says(), says());
    for error in [
        KeyError::Unavailable {
            place: silent,
            why: later,
        },
        KeyError::CredentialsRefused { place, why },
    ] {
        safe.says(Some(error));
        let before = asked();
        assert!(holds_soon(|| asked() > before + 20), "nobody asks");
        assert!(sum(&connection).is_ok());
        let told = database.take_notices();
        let is_told = told.iter().any(|text| text.contains("ask the keeper"));
        assert!(is_told, "{told:?}");
        safe.says(None);
        let before = asked();
        assert!(holds_soon(|| asked() > before + 2));
    }
}

#[test]
fn a_key_that_is_refused_ends_the_open_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sealed.hushdb");
    let safe = Arc::new(Safe::default());
    let database = watched(&safe, &path);
    let (connection, other) = (database.connect().unwrap(), database.connect().unwrap());
    other.execute("BEGIN").unwrap();
    let before = sum(&other).unwrap();
    let (place, why) = says();
    safe.says(Some(KeyError::Refused { place, why }));
    let began = Instant::now();
    assert!(holds_soon(|| sum(&connection).is_err()), "it goes on");
    assert!(began.elapsed() >= Duration::from_millis(150));
    for sql in ["FROM t", "INSERT INTO t VALUES (1)", "FROM sealed.t"] {
        let error = connection.execute(sql).map(|_| ()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KeyRefused, "{sql}: {error}");
        assert!(error.to_string().contains("ask the keeper"), "{error}");
    }
    assert_eq!(sum(&other).unwrap_err().kind(), ErrorKind::KeyRefused);
    assert!(other.execute("COMMIT").is_ok() || other.execute("ROLLBACK").is_ok());
    drop((connection, other, database));
    safe.says(None);
    let connection = kept(&safe, &path).connect().unwrap();
    assert_eq!(sum(&connection).unwrap(), before);
}

/// What the first place says counts no more once its slot has the key of another, and that one's does.
#[test]
fn a_key_that_moved_is_asked_for_where_it_is() {
    const OTHER: &str = "(ENCRYPTION_KEY_OTHER '')";
    let ways = [
        format!("ALTER DATABASE sealed CHANGE SLOT 0 {OTHER}"),
        format!("ALTER DATABASE sealed REKEY (DROP SLOT 0, ADD SLOT {OTHER})"),
        format!(
            "ALTER DATABASE sealed ADD SLOT {OTHER}; ALTER DATABASE sealed REKEY (DROP SLOT 0, KEEP SLOT 1 {OTHER})"
        ),
    ];
    for way in ways {
        let directory = tempfile::tempdir().unwrap();
        let (first, other) = (Arc::new(Safe::default()), Arc::new(Safe::default()));
        let database = beside(&first, &other, &directory.path().join("sealed.hushdb"));
        let connection = database.connect().unwrap();
        connection.execute(&way).unwrap();
        let (place, why) = says();
        first.says(Some(KeyError::Refused { place, why }));
        // One asking of the first may have been under way.
        let asked = |safe: &Arc<Safe>| safe.asked.load(Ordering::SeqCst);
        let (before, of_first) = (asked(&other), asked(&first));
        assert!(holds_soon(|| asked(&other) > before + 20), "{way}");
        assert!(asked(&first) <= of_first + 1, "{way}");
        assert!(sum(&connection).is_ok(), "{way}");
        let (place, why) = says();
        other.says(Some(KeyError::Refused { place, why }));
        assert!(holds_soon(|| sum(&connection).is_err()), "{way}");
    }
}

/// Nobody could withdraw a key that no place keeps; a slot that did not open the database changes nothing.
#[test]
fn a_key_that_no_place_keeps_is_not_asked_for_and_other_slots_change_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let (first, other) = (Arc::new(Safe::default()), Arc::new(Safe::default()));
    let path = directory.path().join("sealed.hushdb");
    let database = beside(&first, &other, &path);
    let connection = database.connect().unwrap();
    let asked = |safe: &Arc<Safe>| safe.asked.load(Ordering::SeqCst);
    for sql in [
        "ALTER DATABASE sealed ADD SLOT (ENCRYPTION_KEY_OTHER '')",
        "ALTER DATABASE sealed CHANGE SLOT 1 (ENCRYPTION_KEY 'hex:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff')",
        "ALTER DATABASE sealed CHANGE SLOT 1 (ENCRYPTION_KEY_OTHER '')",
    ] {
        connection.execute(sql).unwrap();
        let before = asked(&first);
        assert!(holds_soon(|| asked(&first) > before + 3), "{sql}");
    }
    assert_eq!(asked(&other), 0);
    connection
        .execute("ALTER DATABASE sealed CHANGE SLOT 0 (ENCRYPTION_KEY 'hex:00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff')")
        .unwrap();
    let (place, why) = says();
    first.says(Some(KeyError::Refused { place, why }));
    std::thread::sleep(Duration::from_millis(600));
    assert!(sum(&connection).is_ok());
}

/// A watched database whose key `first` keeps, and in whose statements `other` has a name.
fn beside(first: &Arc<Safe>, other: &Arc<Safe>, path: &Path) -> Database {
    let mut services = KeyServices::default();
    let provider = Arc::clone(other) as Arc<dyn KeyProvider>;
    services
        .register("other", move |_| Ok(Arc::clone(&provider)))
        .unwrap();
    let database = kept_beside(first, services, path);
    is_filled_and_watched(&database);
    database
}
