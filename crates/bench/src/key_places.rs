//! The benchmark of opening a file by the key of a place: a service, a token, a program. One file with two slots, opened by a raw key and by
//! the place in turns, in this process.
//!
//! What the place itself takes is not ours: for each opening by it the time is told apart for which it was asked, and, where that is
//! plain HTTP, how long a bare request takes there.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hushdb::keys::{KeyContext, KeyError, KeyMaterial, KeyProvider, ProviderKind};
use hushdb::{Database, DatabaseOptions, KeySource};
use hushdb_kms::{Environment, Places};
use serde_json::json;

use crate::failure::{Failure, Result};
use crate::report::Report;
use crate::samples::Samples;
use crate::stage::fresh;

/// It protects nothing: there is nothing in the file.
const KEY: &str = "hex:5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a";

/// A place, and for how long it was asked.
struct Timed {
    place: Arc<dyn KeyProvider>,
    asked: Mutex<Duration>,
}

impl Timed {
    fn timed<T>(&self, ask: impl FnOnce(&dyn KeyProvider) -> T) -> T {
        let began = Instant::now();
        let said = ask(&*self.place);
        if let Ok(mut asked) = self.asked.lock() {
            *asked += began.elapsed();
        }
        said
    }

    /// Milliseconds since it was asked last.
    fn take(&self) -> f64 {
        let taken = self
            .asked
            .lock()
            .map(|mut asked| std::mem::take(&mut *asked));
        taken.map_or(f64::NAN, milliseconds)
    }
}

impl KeyProvider for Timed {
    fn kind(&self) -> ProviderKind {
        self.place.kind()
    }

    fn establish(
        &self,
        context: &KeyContext,
    ) -> std::result::Result<(KeyMaterial, Vec<u8>), KeyError> {
        self.timed(|place| place.establish(context))
    }

    fn recover(
        &self,
        context: &KeyContext,
        blob: &[u8],
    ) -> std::result::Result<KeyMaterial, KeyError> {
        self.timed(|place| place.recover(context, blob))
    }

    fn keeps_blob(&self) -> bool {
        self.place.keeps_blob()
    }

    fn asks_a_person(&self) -> bool {
        self.place.asks_a_person()
    }
}

/// Measures `runs` openings of each kind, after some that warm up, of a file in `dir` that is removed in the end.
///
/// # Errors
/// A URL that names no place, one that gives no key, and when a statement fails.
pub(crate) fn measure(dir: &Path, url: &str, runs: u32) -> Result<Report> {
    std::fs::create_dir_all(dir)?;
    let path = dir.join("places.hushdb");
    fresh(&path)?;
    let places = Places::new(Environment::of_process());
    let place = places.provider(url);
    let place = place.map_err(|error| Failure(error.to_string()))?;
    let place = Arc::new(Timed {
        place,
        asked: Mutex::default(),
    });
    let by_place = KeySource::Provider(Arc::clone(&place) as Arc<dyn KeyProvider>);
    let by_key = KeySource::Text(KEY.into());
    let database = open(&path, &by_place)?;
    let connection = database.connect()?;
    let name = "ALTER DATABASE places ADD SLOT (ENCRYPTION_KEY";
    connection.execute(&format!("{name} '{KEY}')"))?;
    drop((connection, database));
    let mut figures: [Vec<Samples>; 4] = std::array::from_fn(|_| vec![Samples::default(); 2]);
    for round in 0..runs + 5 {
        place.take();
        let mut opened = [0.0; 2];
        for (took, key) in opened.iter_mut().zip([&by_key, &by_place]) {
            let began = Instant::now();
            let database = open(&path, key)?;
            *took = milliseconds(began.elapsed());
            drop(database);
        }
        let (asked, bare) = (place.take(), bare_request());
        if round >= 5 {
            let [raw, by_place] = opened;
            let rows = [
                [raw, by_place],
                [0.0, asked],
                [raw, by_place - asked],
                [f64::NAN, bare],
            ];
            for (figure, row) in figures.iter_mut().zip(rows) {
                figure
                    .iter_mut()
                    .zip(row)
                    .for_each(|(samples, value)| samples.push(value));
            }
        }
    }
    fresh(&path)?;
    let conditions = json!({"place": place.kind().to_string(), "openings": runs});
    let subjects = vec!["raw key", "place"];
    let mut report = Report::new("open by a place", conditions, subjects, vec![]);
    let [opened, asked, beyond, bare] = figures;
    report.add("open", "ms", opened);
    report.add_detail("of it, asking the place", "ms", asked);
    report.add_detail("beyond asking it", "ms", beyond);
    report.add_detail("a bare request to VAULT_ADDR", "ms", bare);
    Ok(report)
}

fn open(path: &Path, key: &KeySource) -> Result<Database> {
    let options = DatabaseOptions {
        key: Some(key.clone()),
        ..DatabaseOptions::default()
    };
    Ok(Database::open_with(Some(path), options)?)
}

/// Milliseconds of a request that `VAULT_ADDR` answers without work; NaN where that is not plain HTTP.
fn bare_request() -> f64 {
    let address = std::env::var("VAULT_ADDR").unwrap_or_default();
    let Some(host) = address.strip_prefix("http://") else {
        return f64::NAN;
    };
    let began = Instant::now();
    let asked = TcpStream::connect(host).and_then(|mut stream| {
        let request = format!(
            "GET /v1/sys/seal-status HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes())?;
        stream.read_to_end(&mut Vec::new())
    });
    asked.map_or(f64::NAN, |_| milliseconds(began.elapsed()))
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
