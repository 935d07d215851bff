//! `/metrics`, `/health` and `/ready` by HTTP, on a port of this machine alone.
//!
//! What must hold: GET alone is answered; a request has a bounded length and time; whoever asks wrongly is told no more than that.

use crate::clock;
use crate::instance::FIRST;
use crate::monitor::metrics::Now;
use crate::shared::Server;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// The longest request.
const MOST_BYTES: usize = 4096;
/// How long a request and its answer may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Answers requests, one after the other.
pub(crate) fn serve(server: &Arc<Server>, listener: TcpListener) {
    let server = Arc::clone(server);
    thread::spawn(move || {
        loop {
            match listener.accept() {
                Ok((stream, _)) => drop(answer(&server, stream)),
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    });
}

fn answer(server: &Server, mut stream: TcpStream) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = request(&mut stream)?;
    let (status, body) = match path(&request) {
        Some("/metrics") => ("200 OK", server.metrics.text(now(server))),
        Some("/health") => ("200 OK", "alive\n".into()),
        Some("/ready") => match is_ready(server) {
            true => ("200 OK", "ready\n".into()),
            false => ("503 Service Unavailable", "not ready\n".into()),
        },
        Some(_) => (
            "404 Not Found",
            "there are /metrics, /health and /ready\n".into(),
        ),
        None => ("400 Bad Request", "GET alone is answered\n".into()),
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

/// What comes up to the empty line.
fn request(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let until = clock::now() + PATIENCE;
    let mut request = Vec::with_capacity(512);
    let mut bytes = [0; 512];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.saturating_duration_since(clock::now());
        if left.is_zero() || request.len() > MOST_BYTES {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => request.extend(bytes.iter().take(length)),
        }
    }
    Ok(request)
}

/// The path of `GET path HTTP/1.x`, without a query.
fn path(request: &[u8]) -> Option<&str> {
    let line = request.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, path, version) = (words.next()?, words.next()?, words.next()?);
    let is_get = method == "GET" && version.starts_with("HTTP/1.") && words.next().is_none();
    is_get.then(|| path.split('?').next())?
}

/// Whether clients would be let in: the instance catalog is read, and nobody has asked the server to stop.
fn is_ready(server: &Server) -> bool {
    let role = server.instance.catalog.role(FIRST);
    role.is_ok() && !server.stopping.load(Ordering::Acquire)
}

fn now(server: &Server) -> Now {
    let (active, idle) = server.registry.counts();
    Now {
        active,
        idle,
        most_sessions: server.max_connections,
        databases: server
            .instance
            .catalog
            .databases()
            .map_or(0, |rows| rows.len()),
        seconds_up: server.began.elapsed().as_secs(),
    }
}

#[cfg(test)]
mod tests {
    use super::path;

    #[test]
    fn get_alone_is_read() {
        assert_eq!(
            path(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
            Some("/metrics")
        );
        assert_eq!(path(b"GET /ready?x=1 HTTP/1.0\r\n\r\n"), Some("/ready"));
        for wrong in [
            b"".as_slice(),
            b"\r\n\r\n",
            b"POST /metrics HTTP/1.1\r\n\r\n",
            b"GET /metrics\r\n\r\n",
            b"GET /a b HTTP/1.1\r\n\r\n",
            b"GET \xff HTTP/1.1\r\n\r\n",
            b"get /metrics HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(path(wrong), None);
        }
    }
}
