//! The door: accepts, counts, and turns away whoever is too many. A thread for each session.

use crate::session;
use crate::shared::Server;
use crate::stream::Socket;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::{IpAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

/// Who has not said a right password yet, at most.
const MOST_WAITING: usize = 64;
/// Of these, from one address.
const MOST_OF_ADDRESS: usize = 16;
/// The most of a stack that a session may take; pages that it never touches take no memory. It is what statements ask for and more:
/// a session with less has a stack made and thrown away for each of them, for which all other sessions wait.
const STACK: usize = 16 << 20;

/// Somebody who has not said a right password yet.
struct Waiting {
    number: u64,
    address: Option<IpAddr>,
    socket: Socket,
}

/// Those who are at the door.
#[derive(Default)]
pub(crate) struct Door {
    waiting: Mutex<VecDeque<Waiting>>,
    next: AtomicU64,
}

/// A place at the door, given back when it is dropped.
pub(crate) struct Place {
    door: Arc<Door>,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.door
            .waiting
            .lock()
            .retain(|waiting| waiting.number != self.number);
    }
}

impl Door {
    /// A place for a newcomer: the oldest goes if there is none left. `None` for one whose address has enough of them.
    fn enter(self: &Arc<Self>, socket: &Socket, address: Option<IpAddr>) -> Option<Place> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.waiting.lock();
        let of_address = waiting
            .iter()
            .filter(|w| address.is_some() && w.address == address);
        if of_address.count() >= MOST_OF_ADDRESS {
            return None;
        }
        if address.is_some() && waiting.len() >= MOST_WAITING {
            let oldest = waiting.iter().position(|w| w.address.is_some());
            if let Some(oldest) = oldest.and_then(|at| waiting.remove(at)) {
                oldest.socket.hang_up();
            }
        }
        waiting.push_back(Waiting {
            number,
            address,
            socket: socket.try_clone().ok()?,
        });
        Some(Place {
            door: Arc::clone(self),
            number,
        })
    }
}

/// Accepts on TCP.
pub(crate) fn tcp(server: &Arc<Server>, listener: TcpListener) {
    let server = Arc::clone(server);
    let door = Arc::new(Door::default());
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
    let door = Arc::new(Door::default());
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
    let Some(place) = door.enter(&socket, address) else {
        session::turn_away(
            socket,
            "53300",
            "too many connections of this address have not authenticated",
        );
        return;
    };
    let server = Arc::clone(server);
    let thread = thread::Builder::new()
        .name("session".into())
        .stack_size(STACK);
    // Without a thread, the socket is closed.
    drop(thread.spawn(move || session::run(&server, socket, address, place)));
}
