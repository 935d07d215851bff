//! `Between`: stands between the program and a service, and lets through, holds or cuts what comes.

use std::io::{Read, Write, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What becomes of a connection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mood {
    /// As if nobody stood between.
    Through,
    /// Nothing is answered.
    Hangs,
    /// It is closed at once.
    Cut,
    /// This is answered to a request of HTTP.
    Says(String),
}

/// A port that leads to another.
pub(crate) struct Between {
    pub(crate) port: u16,
    mood: Arc<Mutex<Mood>>,
    seen: Arc<AtomicUsize>,
}

impl Between {
    pub(crate) fn to(service: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let this = Self {
            port: listener.local_addr().expect("an address").port(),
            mood: Arc::new(Mutex::new(Mood::Through)),
            seen: Arc::default(),
        };
        let (mood, seen) = (Arc::clone(&this.mood), Arc::clone(&this.seen));
        std::thread::spawn(move || {
            let mut held = Vec::new();
            for stream in listener.incoming().flatten() {
                seen.fetch_add(1, Ordering::SeqCst);
                let mood = mood.lock().unwrap_or_else(PoisonError::into_inner).clone();
                match mood {
                    Mood::Through => pass(stream, service),
                    Mood::Hangs => held.push(stream),
                    Mood::Cut => drop(stream),
                    Mood::Says(answer) => say(stream, &answer),
                }
            }
        });
        this
    }

    pub(crate) fn set(&self, mood: Mood) {
        *self.mood.lock().unwrap_or_else(PoisonError::into_inner) = mood;
    }

    /// Connections so far.
    pub(crate) fn seen(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }
}

fn pass(from: TcpStream, service: u16) {
    let Ok(to) = TcpStream::connect(("127.0.0.1", service)) else {
        return;
    };
    for (mut from, mut to) in [
        (from.try_clone(), to.try_clone()),
        (to.try_clone(), from.try_clone()),
    ]
    .map(|(from, to)| (from.expect("a socket"), to.expect("a socket")))
    {
        std::thread::spawn(move || {
            let _ = copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
    }
}

/// Reads what was sent at once, and answers.
fn say(mut stream: TcpStream, answer: &str) {
    let mut asked = [0; 16 << 10];
    let _ = stream.read(&mut asked);
    let len = answer.len();
    let head =
        format!("HTTP/1.1 400 As Told\r\nconnection: close\r\ncontent-length: {len}\r\n\r\n");
    let _ = stream.write_all((head + answer).as_bytes());
    // Unread bytes would reset the connection before the answer is read.
    let _ = stream.shutdown(Shutdown::Write);
    while stream.read(&mut asked).is_ok_and(|read| read > 0) {}
}
