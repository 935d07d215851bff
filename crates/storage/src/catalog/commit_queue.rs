//! Who of those that wait for the log writes it, and who is done.
//!
//! Holds: one leads at a time; whoever waits is woken when the leader is through, all at once, and is done or may lead.

use parking_lot::{Condvar, Mutex};

/// Tickets of commits that wait to become durable.
#[derive(Default)]
pub(super) struct CommitQueue {
    state: Mutex<QueueState>,
    moved: Condvar,
}

#[derive(Default)]
struct QueueState {
    /// Tickets up to this one are durable.
    durable: u64,
    is_led: bool,
}

/// The right to write the log for all who wait; given up when dropped.
pub(super) struct Lead<'a>(&'a CommitQueue);

impl CommitQueue {
    /// Waits until the ticket is durable (`None`) or the caller has to see to it.
    pub(super) fn wait(&self, ticket: u64) -> Option<Lead<'_>> {
        let mut state = self.state.lock();
        while state.durable < ticket && state.is_led {
            self.moved.wait(&mut state);
        }
        if state.durable >= ticket {
            return None;
        }
        state.is_led = true;
        Some(Lead(self))
    }

    /// Tickets up to this one are durable.
    pub(super) fn durable(&self, ticket: u64) {
        let mut state = self.state.lock();
        state.durable = state.durable.max(ticket);
        drop(state);
        self.moved.notify_all();
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_led = false;
        self.0.moved.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_leads_and_the_others_are_done_with_it() {
        let queue = CommitQueue::default();
        let lead = queue.wait(1).expect("nobody leads");
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (2..5)
                .map(|ticket| {
                    let queue = &queue;
                    scope.spawn(move || queue.wait(ticket).is_none())
                })
                .collect();
            queue.durable(4);
            drop(lead);
            for thread in waiting {
                assert!(thread.join().unwrap());
            }
        });
        assert!(queue.wait(5).is_some());
    }

    #[test]
    fn a_leader_that_fails_leaves_the_lead_to_another() {
        let queue = CommitQueue::default();
        drop(queue.wait(1));
        assert!(queue.wait(1).is_some());
    }
}
