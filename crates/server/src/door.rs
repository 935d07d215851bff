//! The door: accepts, and gives each client a place and a thread of its own.

use crate::places::Door;
use crate::session;
use crate::shared::Server;
use crate::stream::Socket;
use std::net::{IpAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Accepts on TCP.
pub(crate) fn tcp(server: &Arc<Server>, listener: TcpListener) {
    let server = Arc::clone(server);
    let door = Door::counting(&server.metrics);
    accept(move || {
        let (stream, from) = listener.accept()?;
        let _ = stream.set_nodelay(true);
        admit(&server, &door, Socket::Tcp(stream), Some(from.ip()));
        Ok(())
    });
}

/// Accepts on a Unix socket, whose door is its own: who is on the machine is not kept out by who is not.
pub(crate) fn unix(server: &Arc<Server>, listener: UnixListener) {
    let server = Arc::clone(server);
    let door = Door::counting(&server.metrics);
    accept(move || {
        let (stream, _) = listener.accept()?;
        admit(&server, &door, Socket::Unix(stream), None);
        Ok(())
    });
}

fn accept(mut next: impl FnMut() -> std::io::Result<()> + Send + 'static) {
    thread::spawn(move || {
        loop {
            if next().is_err() {
                // Out of file descriptors: others have to go first.
                thread::sleep(Duration::from_millis(50));
            }
        }
    });
}

fn admit(server: &Arc<Server>, door: &Arc<Door>, socket: Socket, address: Option<IpAddr>) {
    if server.stopping.load(Ordering::Acquire) {
        return;
    }
    // Without a file descriptor for its place, the socket is closed.
    let Some(place) = door.enter(&socket, address) else {
        return;
    };
    let server = Arc::clone(server);
    // Without a thread, the socket is closed.
    drop(session::thread().spawn(move || session::run(&server, socket, address, place)));
}
