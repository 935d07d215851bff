//! `Throttle`: how long the answer to a wrong password is kept back, by who asks from where.
//!
//! What must hold: the right password never waits; what is kept is bounded, whoever asks.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Wrong passwords that are answered at once.
const FREE: u32 = 5;
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Who asked wrongly, at most this many; the oldest go first.
const MOST: usize = 10_000;
/// After this long without a wrong password, all is forgotten.
const FORGET: Duration = Duration::from_secs(600);

type Asker = (String, Option<IpAddr>);

/// Wrong passwords of late.
#[derive(Default)]
pub(crate) struct Throttle(Mutex<HashMap<Asker, (u32, Instant)>>);

impl Throttle {
    /// A password was wrong: how long its answer waits.
    pub(crate) fn wrong(&self, user: &str, from: Option<IpAddr>, now: Instant) -> Duration {
        let mut askers = self.0.lock();
        if askers.len() >= MOST {
            askers.retain(|_, (_, last)| now.duration_since(*last) < FORGET);
        }
        if askers.len() >= MOST {
            let oldest = askers.iter().min_by_key(|(_, (_, last))| *last);
            if let Some(oldest) = oldest.map(|(asker, _)| asker.clone()) {
                askers.remove(&oldest);
            }
        }
        let asker = (user.to_owned(), from.map(network));
        let (count, last) = askers.entry(asker).or_insert((0, now));
        if now.duration_since(*last) >= FORGET {
            *count = 0;
        }
        *count = count.saturating_add(1);
        *last = now;
        match count.checked_sub(FREE + 1) {
            None => Duration::ZERO,
            Some(over) => FIRST_WAIT
                .saturating_mul(1 << over.min(10))
                .min(LONGEST_WAIT),
        }
    }

    /// A password was right.
    pub(crate) fn right(&self, user: &str, from: Option<IpAddr>) {
        self.0.lock().remove(&(user.to_owned(), from.map(network)));
    }
}

/// The network of an address: /24 or /64.
fn network(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            IpAddr::from([a, b, c, 0])
        }
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 0])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_limit() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        let from = Some(IpAddr::from([10, 0, 0, 7]));
        let waits: Vec<u64> = (0..14)
            .map(|_| throttle.wrong("alice", from, now).as_millis() as u64)
            .collect();
        assert_eq!(waits[..8], [0, 0, 0, 0, 0, 100, 200, 400]);
        assert_eq!(waits[13], 10_000);
        // A neighbour counts with it, another user does not.
        let neighbour = Some(IpAddr::from([10, 0, 0, 8]));
        assert_eq!(throttle.wrong("alice", neighbour, now), LONGEST_WAIT);
        assert_eq!(throttle.wrong("bob", from, now), Duration::ZERO);
        throttle.right("alice", from);
        assert_eq!(throttle.wrong("alice", from, now), Duration::ZERO);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (throttle, now) = (Throttle::default(), Instant::now());
        for name in 0..MOST + 100 {
            throttle.wrong(&name.to_string(), None, now);
        }
        assert!(throttle.0.lock().len() <= MOST);
    }
}
