//! A key service of a program's own: given as a provider, and named in ATTACH.

use hushdb::keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind, SecretKey};
use hushdb::{Database, DatabaseOptions, ErrorKind, KeyServices, KeySource};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Keeps a key for each database that asked for one, and gives it back for the number in the slot's blob.
#[derive(Default)]
struct Safe {
    keys: Mutex<Vec<([u8; 16], [u8; 32])>>,
    asked: AtomicUsize,
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
