//! `serve`: an instance from its opening to its end.
#![expect(
    clippy::disallowed_methods,
    reason = "it makes and removes the socket's name"
)]

use crate::auth::throttle::Throttle;
use crate::clock;
use crate::control;
use crate::door;
use crate::failure::{FailureKind, Result, ServeError};
use crate::http;
use crate::instance::catalog::MOCK_SECRET;
use crate::instance::{FIRST, Instance};
use crate::monitor::log::Log;
use crate::monitor::notify::notify;
use crate::registry::Registry;
use crate::shared::Server;
use hushdb::KeySource;
use hushdb::crypto::CryptoProvider;
use hushdb::keys::SecretKey;
use parking_lot::Mutex;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;
use zeroize::Zeroizing;

/// How an instance is served.
pub struct ServeOptions {
    /// The instance.
    pub directory: PathBuf,
    /// Opens it.
    pub key: KeySource,
    /// Where TCP is listened on, if anywhere. Only TLS is spoken there.
    pub listen: Option<SocketAddr>,
    /// Where the socket `.s.PGSQL.<port>` lies, if anywhere.
    pub socket_directory: Option<PathBuf>,
    /// Sessions at a time; three more for superusers.
    pub max_connections: usize,
    /// Bytes that operators and opened blocks may take together; the library's share of the machine when not given.
    pub memory_bytes: Option<usize>,
    /// Threads that run queries; one for each core when not given.
    pub threads: Option<usize>,
    /// Whether pgbench's tables are loaded first, which a new instance alone takes.
    pub demo: bool,
    /// Where `/metrics`, `/health` and `/ready` are answered by HTTP, if anywhere: an address of this machine alone.
    pub metrics: Option<SocketAddr>,
    /// Whether the log is a JSON object a line, with each session and each failure.
    pub json_log: bool,
    /// Is told the lines of the log: never a text of a statement, a value, a secret, or a name of a database or role.
    pub say: fn(&str),
}

/// How long running statements have when the server stops.
const SHUTDOWN: Duration = Duration::from_secs(30);
/// How often deadlines of statements and signals are looked at.
const TICK: Duration = Duration::from_millis(20);

/// Serves an instance until SIGTERM or SIGINT; then sessions end, what runs has half a minute, and logs are stored. A second signal ends
/// it at once.
///
/// # Errors
/// What keeps the instance from being opened or listened for.
pub fn serve(options: ServeOptions) -> Result<()> {
    let stop = Arc::new(AtomicBool::new(false));
    let signals = || -> io::Result<()> {
        for signal in [SIGTERM, SIGINT] {
            signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop))?;
            signal_hook::flag::register(signal, Arc::clone(&stop))?;
        }
        Ok(())
    };
    signals().map_err(|error| ServeError::other(format!("signals cannot be heard: {error}")))?;
    let log = Log {
        say: options.say,
        json: options.json_log,
    };
    let server = Arc::new(open(&options, log)?);
    if options.demo {
        server.instance.load_demo()?;
    }
    let mut sockets = listen(&server, &options)?;
    match control::listen(&server, &options.directory) {
        Ok(socket) => sockets.push(socket),
        Err(error) => log.server(&format!(
            "no control socket, so no backup while this server runs: {error}"
        )),
    }
    if let Some(address) = options.metrics {
        listen_for_metrics(&server, address)?;
    }
    log.server("ready");
    notify("READY=1");
    while !stop.load(Ordering::Acquire) {
        server.registry.end_late_statements(clock::now());
        for notice in server.instance.take_notices() {
            log.server(&notice);
        }
        thread::sleep(TICK);
    }
    log.server("stopping");
    notify("STOPPING=1");
    end_sessions(&server);
    server.instance.checkpoint();
    for socket in sockets {
        let _ = std::fs::remove_file(socket);
    }
    log.server("stopped");
    Ok(())
}

fn open(options: &ServeOptions, log: Log) -> Result<Server> {
    let instance = Instance::open(
        &options.directory,
        options.key.clone(),
        options.memory_bytes,
        options.threads,
    )?;
    for notice in instance.take_notices() {
        log.server(&notice);
    }
    let crypto = CryptoProvider::aws_lc();
    let identity = instance.identity()?;
    let mock = Zeroizing::new(instance.catalog.secret(MOCK_SECRET)?);
    let mock = SecretKey::from_slice(&mock).ok_or_else(|| {
        ServeError::new(FailureKind::Damaged, "a secret of the instance is damaged")
    })?;
    Ok(Server {
        certificate: crypto.sha256(&[&identity.certificate]),
        tls: identity.server_config().map_err(ServeError::other)?,
        instance,
        crypto,
        mock,
        throttle: Throttle::default(),
        registry: Registry::new(crypto),
        max_connections: options.max_connections,
        metrics: Arc::default(),
        log,
        began: clock::now(),
        stopping: AtomicBool::new(false),
        roles: Mutex::default(),
        roles_version: AtomicU64::new(1),
    })
}

fn listen_for_metrics(server: &Arc<Server>, address: SocketAddr) -> Result<()> {
    if !address.ip().is_loopback() {
        return Err(ServeError::new(
            FailureKind::Usage,
            "metrics are for this machine alone: give an address such as 127.0.0.1:9433, and have a proxy show them elsewhere",
        ));
    }
    let failed =
        |error: io::Error| ServeError::other(format!("cannot listen on {address}: {error}"));
    let listener = TcpListener::bind(address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    server
        .log
        .server(&format!("metrics on http://{address}/metrics"));
    http::serve(server, listener);
    Ok(())
}

/// Listens; gives the sockets that are to be removed at the end.
fn listen(server: &Arc<Server>, options: &ServeOptions) -> Result<Vec<PathBuf>> {
    let mut sockets = vec![];
    let mut port = 5432;
    if let Some(address) = options.listen {
        let failed =
            |error: io::Error| ServeError::other(format!("cannot listen on {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        port = address.port();
        server.log.server(&format!("listening on {address}"));
        door::tcp(server, listener);
        if options.demo {
            server.log.server(&format!(
                "psql 'host={} port={port} user={FIRST} dbname={FIRST} sslmode=require'",
                address.ip()
            ));
        }
    }
    if let Some(directory) = &options.socket_directory {
        let path = directory.join(format!(".s.PGSQL.{port}"));
        let listener = unix_listener(&path).map_err(|error| {
            ServeError::other(format!("cannot listen on {}: {error}", path.display()))
        })?;
        server
            .log
            .server(&format!("listening on {}", path.display()));
        door::unix(server, listener);
        if options.demo {
            server.log.server(&format!(
                "psql 'host={} port={port} user={FIRST} dbname={FIRST}'",
                directory.display()
            ));
        }
        sockets.push(path);
    }
    match options.listen.is_none() && sockets.is_empty() {
        true => Err(ServeError::new(
            FailureKind::Usage,
            "nowhere to listen: give --listen or --socket-dir",
        )),
        false => Ok(sockets),
    }
}

/// Binds a socket; one that a server left behind which is no more is taken away.
fn unix_listener(path: &Path) -> io::Result<UnixListener> {
    let listener = match UnixListener::bind(path) {
        Err(error)
            if error.kind() == io::ErrorKind::AddrInUse && UnixStream::connect(path).is_err() =>
        {
            std::fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        other => other?,
    };
    // Whoever may connect is asked for a password.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    Ok(listener)
}

/// Lets idle sessions go, waits for the others, and interrupts them at the end.
fn end_sessions(server: &Server) {
    server.stopping.store(true, Ordering::Release);
    let began = clock::now();
    let mut interrupted = false;
    while !server.registry.is_empty() && began.elapsed() < SHUTDOWN + Duration::from_secs(5) {
        server.registry.hang_up_idle();
        if !interrupted && began.elapsed() >= SHUTDOWN {
            server.registry.interrupt_all();
            interrupted = true;
        }
        server.registry.end_late_statements(clock::now());
        thread::sleep(TICK);
    }
}
