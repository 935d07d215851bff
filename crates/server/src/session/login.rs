//! From the first byte to ReadyForQuery: TLS, who it is, the password, and the session's settings.
//!
//! What must hold: nothing is answered about roles or databases before the password was right; all of it takes ten seconds at most.

use super::execute::set_dialect;
use super::host::ServerHost;
use super::rights::Rights;
use super::settings::{Settings, of_options};
use super::transaction::Block;
use super::{End, Leaving, Session, Talk, WRITE_TIMEOUT};
use crate::auth::scram::{Exchange, Outcome, SCRAM, SCRAM_PLUS};
use crate::auth::verifier::Verifier;
use crate::clock;
use crate::instance::catalog::Role;
use crate::places::Place;
use crate::registry::{Registry, Seen};
use crate::shared::Server;
use crate::sql_error::SqlError;
use crate::violation::Violation;
use crate::wire::body::Body;
use crate::wire::frame::Expected;
use crate::wire::startup::{self, FirstPacket, Startup};
use hushdb::Connection;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long a client may take until it is in.
const LOGIN: Duration = Duration::from_secs(10);
/// Bytes that are read and not looked at while a wrong password waits for its answer.
const MOST_IGNORED: usize = 4096;
/// Sessions of superusers beside the most that there may be.
const RESERVED: usize = 3;

/// A client that has said the right password, and what there is for it.
pub(super) struct Admitted {
    startup: Startup,
    role: Role,
    database: String,
    connection: Connection,
    seen: Arc<Seen>,
    pub(super) number: u32,
    secret: u32,
}

/// Lets a client in that says the right password; `None` for a connection that wanted no session.
pub(super) fn login(
    server: &Arc<Server>,
    talk: &mut Talk,
    address: Option<IpAddr>,
    place: &Place,
) -> Result<Option<Admitted>, End> {
    let until = clock::now() + LOGIN;
    let Some(startup) = first_packets(server, talk, until)? else {
        return Ok(None);
    };
    if !talk.stream.is_tls() && !talk.stream.socket().is_unix() {
        return Err(End::Fatal(
            "28000",
            "this server speaks TLS alone on TCP: connect with sslmode=require".into(),
        ));
    }
    if startup.minor > 0 || !startup.unknown.is_empty() {
        talk.out.negotiate(&startup.unknown);
    }
    let role = match authenticate(server, talk, &startup, address, until)? {
        Ok(role) => role,
        Err(wait) => {
            place.wrong();
            server.metrics.wrong_password();
            outwait(talk, wait)?;
            let user = &startup.user;
            let wrong = format!("password authentication failed for user \"{user}\"");
            return Err(End::Fatal("28P01", wrong));
        }
    };
    let admitted = enter(server, talk, startup, role)?;
    let _ = talk.stream.socket().set_timeouts(None, Some(WRITE_TIMEOUT));
    Ok(Some(admitted))
}

/// Reads what comes in the time that is left.
fn fill(talk: &mut Talk, until: Instant) -> Result<(), End> {
    talk.flush()?;
    let left = until.saturating_duration_since(clock::now());
    if left.is_zero() {
        return Err(too_late());
    }
    let _ = talk.stream.socket().set_timeouts(Some(left), Some(left));
    talk.frames
        .fill(&mut talk.stream)
        .map_err(|error| match End::from(error) {
            End::Fatal(..) => too_late(),
            other => other,
        })
}

fn too_late() -> End {
    End::Fatal("08006", "the client took too long to authenticate".into())
}

/// Up to who wants to talk to which database; `None` for a cancel.
fn first_packets(server: &Server, talk: &mut Talk, until: Instant) -> Result<Option<Startup>, End> {
    let mut asked = (false, false);
    loop {
        let Some(packet) = talk.frames.take_startup().map_err(End::Violation)? else {
            // A client that begins with TLS at once says the type of a handshake where a length would begin.
            if talk.frames.next_kind() == Some(0x16)
                && talk.frames.is_fresh()
                && !talk.stream.is_tls()
            {
                return Err(End::Violation(Violation::new(
                    "TLS begins with an SSLRequest here",
                )));
            }
            fill(talk, until)?;
            continue;
        };
        match startup::read(&packet).map_err(End::Violation)? {
            FirstPacket::Tls if !asked.0 && !talk.stream.is_tls() => {
                asked.0 = true;
                if !talk.frames.is_empty() {
                    return Err(End::Violation(Violation::new(
                        "received unencrypted data after SSL request",
                    )));
                }
                talk.stream.write_all(b"S").map_err(|_| End::Closed)?;
                into_tls(server, talk)?;
            }
            FirstPacket::Gss if !asked.1 => {
                asked.1 = true;
                if !talk.frames.is_empty() {
                    return Err(End::Violation(Violation::new(
                        "received unencrypted data after GSSAPI encryption request",
                    )));
                }
                talk.stream.write_all(b"N").map_err(|_| End::Closed)?;
            }
            FirstPacket::Tls | FirstPacket::Gss => {
                return Err(End::Violation(Violation::new(
                    "encryption was asked for before",
                )));
            }
            FirstPacket::Cancel { session, secret } => {
                server.metrics.cancel();
                server.registry.cancel(session, secret);
                return Ok(None);
            }
            FirstPacket::Startup(startup) => return Ok(Some(startup)),
        }
    }
}

fn into_tls(server: &Server, talk: &mut Talk) -> Result<(), End> {
    let socket = talk.stream.socket().try_clone().map_err(|_| End::Closed)?;
    let stream = crate::stream::Stream::Plain(socket);
    talk.stream = stream.into_tls(&server.tls).map_err(|_| End::Closed)?;
    Ok(())
}

/// One answer to a request for authentication.
fn answer(talk: &mut Talk, until: Instant) -> Result<Vec<u8>, End> {
    loop {
        if let Some(frame) = talk
            .frames
            .take(Expected::Password)
            .map_err(End::Violation)?
        {
            return Ok(frame.body);
        }
        fill(talk, until)?;
    }
}

/// Waits before a wrong password is answered, unless the client goes, or is hung up for others who come.
fn outwait(talk: &mut Talk, wait: Duration) -> Result<(), End> {
    let until = clock::now() + wait;
    let mut ignored = 0;
    while ignored <= MOST_IGNORED {
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() {
            return Ok(());
        }
        let _ = talk.stream.socket().set_timeouts(Some(left), Some(LOGIN));
        match talk.stream.socket_mut().read(&mut [0; 512]) {
            Ok(0) => return Err(End::Closed),
            Ok(bytes) => ignored += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                return Ok(());
            }
            Err(_) => return Err(End::Closed),
        }
    }
    Err(End::Closed)
}

/// The role whose password the client knows; or how long the answer to a wrong one waits.
fn authenticate(
    server: &Server,
    talk: &mut Talk,
    startup: &Startup,
    address: Option<IpAddr>,
    until: Instant,
) -> Result<Result<Role, Duration>, End> {
    let unavailable = || End::Fatal("58000", "the instance catalog cannot be read".into());
    let role = server
        .instance
        .catalog
        .role(&startup.user)
        .map_err(|_| unavailable())?;
    let verifier = role
        .as_ref()
        .and_then(|role| Verifier::parse(role.verifier.as_deref()?));
    let verifier = verifier.or_else(|| Verifier::mock(&server.crypto, &server.mock, &startup.user));
    let verifier = verifier.ok_or_else(unavailable)?;
    let certificate = talk.stream.is_tls().then_some(server.certificate);
    let mechanisms = match certificate {
        Some(_) => [SCRAM_PLUS, "\0", SCRAM, "\0\0"].concat(),
        None => [SCRAM, "\0\0"].concat(),
    };
    talk.out.authentication(10, mechanisms.as_bytes());
    let first = answer(talk, until)?;
    let mut body = Body::new(&first);
    let mechanism = body.text().map_err(End::Violation)?;
    let message = body.value().map_err(End::Violation)?;
    body.end().map_err(End::Violation)?;
    let message = message.ok_or(End::Violation(Violation::new(
        "a SCRAM message was expected",
    )))?;
    let exchange = Exchange::begin(server.crypto, verifier, mechanism, certificate, message);
    let exchange = exchange.map_err(End::Violation)?;
    talk.out
        .authentication(11, exchange.server_first().as_bytes());
    let last = answer(talk, until)?;
    match (exchange.finish(&last).map_err(End::Violation)?, role) {
        (Outcome::Proven(proof), Some(role)) => {
            server.throttle.right(&startup.user, address);
            talk.out.authentication(12, proof.as_bytes());
            talk.out.authentication(0, &[]);
            Ok(Ok(role))
        }
        _ => {
            let throttle = &server.throttle;
            Ok(Err(throttle.wrong(&startup.user, address, clock::now())))
        }
    }
}

/// What a client that is who it says may do here.
fn enter(server: &Server, talk: &Talk, startup: Startup, role: Role) -> Result<Admitted, End> {
    let fatal = |error: SqlError| End::Fatal("XX000", error.message);
    if !role.login {
        return Err(End::Fatal(
            "28000",
            format!("role \"{}\" is not permitted to log in", role.name),
        ));
    }
    if server.stopping.load(Ordering::Acquire) {
        return Err(End::Fatal("57P03", "the server is shutting down".into()));
    }
    let row = server.instance.online(&startup.database);
    let row = row.map_err(|(_, message)| End::Fatal("3D000", message))?;
    if !role.superuser && row.owner != role.name {
        return Err(End::Fatal(
            "42501",
            format!("permission denied for database \"{}\"", row.name),
        ));
    }
    let connection = server.instance.connect(&row);
    let connection = connection.map_err(|refused| fatal(refused.into()))?;
    set_dialect(&connection, "postgres").map_err(fatal)?;
    let most = server.max_connections + if role.superuser { RESERVED } else { 0 };
    let limit = usize::try_from(role.connection_limit)
        .ok()
        .filter(|_| !role.superuser);
    let entered = talk.stream.socket().try_clone().ok().and_then(|socket| {
        let interrupt = connection.interrupt_handle();
        let place = [&role.name, &row.name];
        Registry::enter(&server.registry, interrupt, socket, place, most, limit)
    });
    let Some((number, secret, seen)) = entered else {
        server.instance.disconnected(&row.name);
        return Err(End::Fatal(
            "53300",
            "sorry, too many clients already".into(),
        ));
    };
    Ok(Admitted {
        startup,
        role,
        database: row.name,
        connection,
        seen,
        number,
        secret,
    })
}

impl Session {
    pub(super) fn new(server: &Arc<Server>, talk: Talk, admitted: Admitted) -> Self {
        let settings = Arc::new(Mutex::new(Settings::default()));
        let rights = Rights::at_login(server, &admitted.role);
        admitted.connection.set_host(Arc::new(ServerHost {
            server: Arc::clone(server),
            user: admitted.role.name.clone(),
            number: admitted.number,
            settings: Arc::clone(&settings),
        }));
        Self {
            server: Arc::clone(server),
            talk,
            connection: admitted.connection,
            seen: admitted.seen,
            number: admitted.number,
            user: admitted.role.name,
            rights,
            database: admitted.database.clone(),
            is_fresh: false,
            skipping: false,
            is_quiet: false,
            block: Block::default(),
            startup: admitted.startup,
            secret: admitted.secret,
            settings,
            statements: HashMap::new(),
            portals: HashMap::new(),
            cursors: HashMap::new(),
            recent: HashMap::new(),
            recent_definitions: 0,
            kept_bytes: 0,
            _leaving: Leaving {
                server: Arc::clone(server),
                number: admitted.number,
                database: admitted.database,
            },
        }
    }

    /// Takes the settings of the startup packet, and says all that a client waits for.
    pub(super) fn begin(&mut self) -> Result<(), End> {
        self.settings.lock().fix(
            "is_superuser",
            if self.rights.superuser { "on" } else { "off" },
        );
        self.settings
            .lock()
            .fix("session_authorization", &self.user);
        let mut given = std::mem::take(&mut self.startup.settings);
        if let Some(at) = given.iter().position(|(name, _)| name == "options") {
            let (_, options) = given.remove(at);
            let options = of_options(&options).ok_or_else(|| {
                End::Fatal(
                    "22023",
                    "the startup option \"options\" cannot be read".into(),
                )
            })?;
            given.extend(options);
        }
        for (name, value) in &given {
            // Instants have their offset: who says a zone that is not known reads them rightly in UTC, and is told.
            if name.eq_ignore_ascii_case("timezone")
                && self.settings.lock().set_at_start(name, value).is_err()
            {
                let notice = SqlError::new(
                    "00000",
                    "the time zone is not known; instants are shown in UTC",
                );
                self.talk.report("NOTICE", &notice);
                continue;
            }
            let set = self.settings.lock().set_at_start(name, value);
            let set = set.and_then(|()| self.apply(name));
            set.map_err(|error| End::Fatal("22023", error.message))?;
        }
        let reported = self.settings.lock().all_reported();
        self.tell(reported);
        self.talk.out.key_data(self.number, self.secret);
        self.notices();
        self.talk.out.ready(b'I');
        self.talk.flush()
    }
}
