//! `Door`: places for those who have not said a right password yet, and who goes when there is none left.
//!
//! What must hold: there are never more than so many; who said a wrong password goes before who said none, and an address that has many
//! before one that has few.

use crate::monitor::metrics::Metrics;
use crate::stream::Socket;
use parking_lot::Mutex;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Who has not said a right password yet, at most.
const MOST_WAITING: usize = 512;

/// Somebody who has not said a right password yet.
struct Waiting {
    number: u64,
    address: Option<IpAddr>,
    socket: Socket,
    /// Whether it said a wrong password, and waits for the answer.
    wrong: bool,
}

/// Those who are at the door.
#[derive(Default)]
pub(crate) struct Door {
    waiting: Mutex<VecDeque<Waiting>>,
    next: AtomicU64,
    metrics: Arc<Metrics>,
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

impl Place {
    /// Its client said a wrong password: it is the first to go when places are short.
    pub(crate) fn wrong(&self) {
        let mut waiting = self.door.waiting.lock();
        if let Some(waiting) = waiting.iter_mut().find(|w| w.number == self.number) {
            waiting.wrong = true;
        }
    }
}

/// Who goes when there is no place left: of those who wait for the answer to a wrong password the one that has waited longest; else
/// the first of the address that has the most.
fn goes(waiting: &VecDeque<Waiting>) -> Option<usize> {
    if let Some(wrong) = waiting.iter().position(|w| w.wrong) {
        return Some(wrong);
    }
    let mut of_address: HashMap<Option<IpAddr>, (usize, usize)> = HashMap::new();
    for (at, waiting) in waiting.iter().enumerate() {
        of_address.entry(waiting.address).or_insert((0, at)).0 += 1;
    }
    let most = of_address.into_values();
    most.max_by_key(|(count, first)| (*count, usize::MAX - first))
        .map(|(_, first)| first)
}

impl Door {
    /// One that counts whom it hangs up.
    pub(crate) fn counting(metrics: &Arc<Metrics>) -> Arc<Self> {
        Arc::new(Self {
            metrics: Arc::clone(metrics),
            ..Self::default()
        })
    }

    /// A place for a newcomer: somebody else goes if there is none left.
    pub(crate) fn enter(
        self: &Arc<Self>,
        socket: &Socket,
        address: Option<IpAddr>,
    ) -> Option<Place> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.waiting.lock();
        if waiting.len() >= MOST_WAITING
            && let Some(gone) = goes(&waiting).and_then(|at| waiting.remove(at))
        {
            gone.socket.hang_up();
            self.metrics.hung_up();
        }
        waiting.push_back(Waiting {
            number,
            address,
            socket: socket.try_clone().ok()?,
            wrong: false,
        });
        Some(Place {
            door: Arc::clone(self),
            number,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn who_goes_first_said_a_wrong_password_or_is_of_many() {
        let door = Arc::new(Door::default());
        let address = |last| Some(IpAddr::from([10, 0, 0, last]));
        let mut clients = vec![];
        let mut enter = |from| {
            let (mine, theirs) = UnixStream::pair().unwrap();
            theirs.set_nonblocking(true).unwrap();
            clients.push(theirs);
            door.enter(&Socket::Unix(mine), from).unwrap()
        };
        let first = enter(address(1));
        let mut places: Vec<Place> = (1..MOST_WAITING).map(|_| enter(address(2))).collect();
        // Its client is the ninth of all.
        places[7].wrong();
        places.extend([enter(address(3)), enter(address(3))]);
        let mut is_gone = |at: &usize| matches!(clients[*at].read(&mut [0]), Ok(0));
        // The one that said a wrong password, then the first of many; not who came first of all.
        let gone: Vec<usize> = (0..MOST_WAITING + 2).filter(|at| is_gone(at)).collect();
        assert_eq!(gone, [1, 8]);
        assert_eq!(door.waiting.lock().len(), MOST_WAITING);
        drop((first, places));
        assert!(door.waiting.lock().is_empty());
    }
}
