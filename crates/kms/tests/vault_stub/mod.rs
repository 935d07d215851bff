//! A stub that answers the calls of Vault 1.14 that HushDB makes as Vault does: paths, statuses and bodies. It keeps what it wraps in
//! a table. Not a Vault: policies are a word, and nothing is encrypted.
#![allow(dead_code)]

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

/// A connection, encrypted or not.
pub(crate) trait Stream: Read + Write + Send {}
impl<S: Read + Write + Send> Stream for S {}

/// How the stub behaves.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Mood {
    /// As a Vault that is well.
    #[default]
    Well,
    /// `503` to all.
    Sealed,
    /// `500` so many times, then well.
    Stumbles(u32),
    /// Answers late.
    Slow(Duration),
    /// Sends who asks elsewhere, with this status.
    Redirects(u16, String),
    /// Begins a body of 1 GiB.
    Endless,
    /// Answers with this.
    Says(&'static str),
    /// The same with another status.
    #[allow(dead_code, reason = "one suite asks for it")]
    SaysAs(u16, &'static str),
    /// Closes each connection.
    HangsUp,
}

/// A key of Transit.
#[derive(Clone, Debug)]
pub(crate) struct TransitKey {
    pub(crate) latest: u32,
    pub(crate) oldest: u32,
    /// Whether it binds associated data.
    pub(crate) binds: bool,
}

/// What the stub has and has seen.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) mood: Mood,
    pub(crate) keys: BTreeMap<String, TransitKey>,
    /// Versions of a secret, from 1; `None` where one was deleted.
    pub(crate) secrets: BTreeMap<String, Vec<Option<Value>>>,
    /// Tokens, and whether they may use keys.
    pub(crate) tokens: BTreeMap<String, bool>,
    /// Role and secret ids.
    pub(crate) role: Option<(String, String)>,
    pub(crate) namespace: Option<String>,
    /// What it gives back, in base64, for all that it has wrapped.
    pub(crate) gives_back: Option<&'static str>,
    /// What its ciphertexts begin with.
    pub(crate) writes: &'static str,
    /// Each request's method and path.
    pub(crate) requests: Vec<String>,
    sealed: HashMap<String, (String, String)>,
}

impl State {
    /// What it was given to wrap, in base64.
    pub(crate) fn wrapped(&self) -> Vec<String> {
        self.sealed
            .values()
            .map(|(plain, _)| plain.clone())
            .collect()
    }
}

/// A running stub.
pub(crate) struct VaultStub {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
    stopped: Arc<AtomicBool>,
}

pub(crate) const TOKEN: &str = "hvs.SesameToken0123456789";

impl VaultStub {
    /// A stub with the key `hr`, the secret `app/db` and a token.
    pub(crate) fn start() -> Self {
        Self::start_with(|stream| Ok(Box::new(stream)))
    }

    /// The same, over what makes a stream of a connection.
    pub(crate) fn start_with(
        wrap: impl Fn(TcpStream) -> io::Result<Box<dyn Stream>> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let this = Self {
            address: listener.local_addr().expect("an address"),
            state: Arc::default(),
            stopped: Arc::default(),
        };
        {
            let mut state = this.state();
            state.writes = "vault:v";
            let hr = TransitKey {
                latest: 1,
                oldest: 1,
                binds: true,
            };
            state.keys.insert("hr".into(), hr);
            let secret = json!({ "key": format!("hex:{}", "ab".repeat(32)) });
            state.secrets.insert("app/db".into(), vec![Some(secret)]);
            state.tokens.insert(TOKEN.into(), true);
        }
        let (state, stopped, wrap) = (this.state.clone(), this.stopped.clone(), Arc::new(wrap));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let (state, wrap) = (state.clone(), wrap.clone());
                std::thread::spawn(move || {
                    if let Ok(mut stream) = wrap(stream) {
                        while serve(&mut *stream, &state).is_ok_and(|goes_on| goes_on) {}
                    }
                });
            }
        });
        this
    }

    /// What it has, to look at and change.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its address as `VAULT_ADDR`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Requests since the last call, those of a token's lookup left out.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        std::mem::take(&mut self.state().requests)
    }

    /// Listens no more.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        while TcpStream::connect(self.address).is_ok() {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for VaultStub {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

struct Request {
    line: String,
    headers: HashMap<String, String>,
    body: Value,
}

fn read(stream: &mut dyn Stream) -> io::Result<Request> {
    let mut reader = BufReader::with_capacity(1, stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut parts = line.split(' ');
    let method = parts.next().unwrap_or_default();
    let path = parts.next().ok_or(io::ErrorKind::InvalidData)?;
    let line = format!("{method} {path}");
    let mut headers = HashMap::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        match header.trim().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let len = headers.get("content-length");
    let len = len.and_then(|len| len.parse().ok()).unwrap_or(0);
    let mut body = vec![0; len];
    reader.read_exact(&mut body)?;
    Ok(Request {
        line,
        headers,
        body: serde_json::from_slice(&body).unwrap_or_default(),
    })
}

/// Answers one request; whether another may come.
fn serve(stream: &mut dyn Stream, state: &Mutex<State>) -> io::Result<bool> {
    let request = read(stream)?;
    let locked = || state.lock().unwrap_or_else(PoisonError::into_inner);
    locked().requests.push(request.line.clone());
    let mood = locked().mood.clone();
    let (status, body) = match mood {
        Mood::HangsUp => return Ok(false),
        Mood::Sealed => (503, json!({ "errors": ["Vault is sealed"] }).to_string()),
        Mood::Stumbles(times) if times > 0 => {
            locked().mood = Mood::Stumbles(times - 1);
            (500, json!({ "errors": ["internal error"] }).to_string())
        }
        Mood::Redirects(status, to) => {
            let head = format!(
                "HTTP/1.1 {status} Elsewhere\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"
            );
            stream.write_all(head.as_bytes())?;
            return Ok(true);
        }
        Mood::Endless => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n",
                1 << 30
            )?;
            loop {
                stream.write_all(&[b' '; 4096])?;
            }
        }
        Mood::Says(text) => (200, text.to_owned()),
        Mood::SaysAs(status, text) => (status, text.to_owned()),
        Mood::Slow(_) | Mood::Well | Mood::Stumbles(_) => {
            if let Mood::Slow(time) = mood {
                std::thread::sleep(time);
            }
            let (status, body) = answer(&mut locked(), &request);
            (status, body.to_string())
        }
    };
    let len = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} As Told\r\ncontent-type: application/json\r\ncontent-length: {len}\r\n\r\n{body}"
    )?;
    stream.flush()?;
    Ok(true)
}

fn errors(status: u16, error: &str) -> (u16, Value) {
    (status, json!({ "errors": [error] }))
}

fn answer(state: &mut State, request: &Request) -> (u16, Value) {
    let header = |name: &str| request.headers.get(name).cloned();
    let text = |name: &str| request.body[name].as_str().unwrap_or_default().to_owned();
    if header("x-vault-namespace") != state.namespace {
        return errors(404, "no handler for route");
    }
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let path = path.strip_prefix("/v1/").unwrap_or_default();
    if path == "auth/approle/login" {
        let given = Some((text("role_id"), text("secret_id")));
        return match given == state.role {
            true => (200, json!({ "auth": { "client_token": TOKEN } })),
            false => errors(400, "invalid role or secret ID"),
        };
    }
    let token = header("x-vault-token").unwrap_or_default();
    let Some(may_use) = state.tokens.get(&token).copied() else {
        return errors(403, "permission denied");
    };
    if path == "auth/token/lookup-self" {
        return (200, json!({ "data": { "ttl": 3600 } }));
    }
    if !may_use {
        return errors(403, "permission denied");
    }
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if let Some(name) = path.strip_prefix("transit/encrypt/") {
        return encrypt(state, name, text("plaintext"), text("associated_data"));
    }
    if let Some(name) = path.strip_prefix("transit/decrypt/") {
        return decrypt(state, name, &text("ciphertext"), &text("associated_data"));
    }
    if let Some(name) = path.strip_prefix("secret/data/") {
        return secret(state, name, query);
    }
    errors(404, "no handler for route")
}

fn encrypt(state: &mut State, name: &str, plaintext: String, bound: String) -> (u16, Value) {
    let Some(key) = state.keys.get(name) else {
        return errors(400, "encryption key not found");
    };
    let version = key.latest;
    let writes = state.writes;
    let sealed = format!("{writes}{version}:{name}{:08}AAAA==", state.sealed.len());
    let bound = if key.binds { bound } else { String::new() };
    state.sealed.insert(sealed.clone(), (plaintext, bound));
    (
        200,
        json!({ "data": { "ciphertext": sealed, "key_version": version } }),
    )
}

fn decrypt(state: &State, name: &str, ciphertext: &str, bound: &str) -> (u16, Value) {
    let Some(key) = state.keys.get(name) else {
        return errors(400, "encryption key not found");
    };
    let version = ciphertext
        .strip_prefix(state.writes)
        .and_then(|rest| rest.split(':').next()?.parse::<u32>().ok());
    match version {
        None => return errors(400, "invalid ciphertext: no prefix"),
        Some(version) if version < key.oldest => {
            return errors(
                400,
                "ciphertext or signature version is disallowed by policy (too old)",
            );
        }
        Some(_) => {}
    }
    let of_key = ciphertext.contains(&format!(":{name}"));
    match state.sealed.get(ciphertext).filter(|_| of_key) {
        Some((plaintext, to)) if !key.binds || to == bound => {
            let plaintext = state.gives_back.unwrap_or(plaintext);
            (200, json!({ "data": { "plaintext": plaintext } }))
        }
        _ => errors(400, "cipher: message authentication failed"),
    }
}

fn secret(state: &State, name: &str, query: &str) -> (u16, Value) {
    let Some(versions) = state.secrets.get(name) else {
        return (404, json!({ "errors": [] }));
    };
    let asked = query.strip_prefix("version=");
    let version = asked.map_or(versions.len(), |number| number.parse().unwrap_or(0));
    match versions.get(version.wrapping_sub(1)) {
        Some(Some(data)) => (
            200,
            json!({ "data": { "data": data, "metadata": { "version": version } } }),
        ),
        Some(None) => (
            404,
            json!({ "data": { "data": null, "metadata": { "version": version, "destroyed": true } } }),
        ),
        None => (404, json!({ "errors": [] })),
    }
}
