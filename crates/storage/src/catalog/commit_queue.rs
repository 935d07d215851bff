//! Which of the commits that wait for the log writes it, and which are done.
//!
//! What must hold: one commit leads at a time. Who waits is woken when it is done or has failed; when the lead is given up, one of those
//! who are left is, to lead. Nobody waits while nobody leads and nobody was woken to.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};

use parking_lot::Mutex;

use crate::error::{Error, Result};

/// Tickets of commits that wait to become durable.
#[derive(Default)]
pub(super) struct CommitQueue {
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    /// Tickets up to this one are durable.
    durable: u64,
    /// Tickets that were given up, in order; neighbours are one range.
    failed: Vec<RangeInclusive<u64>>,
    is_led: bool,
    waiting: Vec<Arc<Waiting>>,
}

/// One that waits. Each is woken by itself: woken together, all but one would find that it is not their turn.
struct Waiting {
    ticket: u64,
    thread: Thread,
    is_woken: AtomicBool,
}

impl Waiting {
    fn wake(&self) {
        self.is_woken.store(true, Ordering::Release);
        self.thread.unpark();
    }

    fn wait(&self) {
        while !self.is_woken.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

impl QueueState {
    fn has_failed(&self, ticket: u64) -> bool {
        self.failed.iter().any(|failed| failed.contains(&ticket))
    }

    /// Takes out those who wait for a ticket up to this one, to be woken.
    fn up_to(&mut self, ticket: u64) -> Vec<Arc<Waiting>> {
        let done = |waiting: &mut Arc<Waiting>| waiting.ticket <= ticket;
        self.waiting.extract_if(.., done).collect()
    }

    /// Takes out who is to lead, if nobody does: who came first.
    fn next(&mut self) -> Option<Arc<Waiting>> {
        (!self.is_led && !self.waiting.is_empty()).then(|| self.waiting.remove(0))
    }
}

/// The right to write the log for all who wait; given up when dropped.
pub(super) struct Lead<'a>(&'a CommitQueue);

impl CommitQueue {
    /// Waits until the ticket is durable (`None`) or the caller has to see to it.
    ///
    /// # Errors
    /// Full if the ticket was given up.
    pub(super) fn wait(&self, ticket: u64) -> Result<Option<Lead<'_>>> {
        loop {
            let mut state = self.state.lock();
            let is_failed = state.has_failed(ticket);
            if is_failed || state.durable >= ticket {
                // It may have been woken to lead.
                let next = state.next();
                drop(state);
                next.iter().for_each(|next| next.wake());
                return match is_failed {
                    true => Err(Error::Full(std::io::ErrorKind::StorageFull.into())),
                    false => Ok(None),
                };
            }
            if !state.is_led {
                state.is_led = true;
                return Ok(Some(Lead(self)));
            }
            let waiting = Arc::new(Waiting {
                ticket,
                thread: thread::current(),
                is_woken: AtomicBool::new(false),
            });
            state.waiting.push(Arc::clone(&waiting));
            drop(state);
            waiting.wait();
        }
    }

    /// Whether a state is durable, which has the ticket `now`, for who has looked at one with the ticket `before`.
    ///
    /// # Errors
    /// Conflict if one of the two was given up.
    pub(super) fn look(&self, before: u64, now: u64) -> Result<bool> {
        let state = self.state.lock();
        if [before, now].iter().any(|ticket| state.has_failed(*ticket)) {
            return Err(Error::Conflict(
                "there was no room on the disk for a change that this transaction builds on".into(),
            ));
        }
        Ok(state.durable >= now)
    }

    /// Tickets up to this one that are not durable never will be: there was no room for them.
    pub(super) fn failed(&self, ticket: u64) {
        let mut state = self.state.lock();
        let last = state.failed.last().map_or(0, |failed| *failed.end());
        let first = state.durable.max(last) + 1;
        match state.failed.last_mut() {
            Some(failed) if *failed.end() + 1 == first => *failed = *failed.start()..=ticket,
            _ => state.failed.push(first..=ticket),
        }
        let failed = state.up_to(ticket);
        drop(state);
        failed.iter().for_each(|waiting| waiting.wake());
    }

    /// Tickets up to this one are durable. Those who wait for them are woken when what this gives is dropped: the next who leads need not
    /// wait for that.
    pub(super) fn durable(&self, ticket: u64) -> Done {
        let mut state = self.state.lock();
        state.durable = state.durable.max(ticket);
        Done(state.up_to(ticket))
    }
}

/// Those whose wait is over; woken when dropped.
#[must_use = "they are woken when it is dropped"]
pub(super) struct Done(Vec<Arc<Waiting>>);

impl Drop for Done {
    fn drop(&mut self) {
        self.0.iter().for_each(|waiting| waiting.wake());
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.is_led = false;
        let next = state.next();
        drop(state);
        next.iter().for_each(|next| next.wake());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_leads_and_the_others_are_done_with_it() {
        let queue = CommitQueue::default();
        let lead = queue.wait(1).unwrap().expect("nobody leads");
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (2..5)
                .map(|ticket| {
                    let queue = &queue;
                    scope.spawn(move || queue.wait(ticket).unwrap().is_none())
                })
                .collect();
            let done = queue.durable(4);
            drop(lead);
            drop(done);
            for thread in waiting {
                assert!(thread.join().unwrap());
            }
        });
        assert!(queue.wait(5).unwrap().is_some());
    }

    #[test]
    fn a_leader_that_fails_leaves_the_lead_to_another() {
        let queue = CommitQueue::default();
        drop(queue.wait(1));
        assert!(queue.wait(1).unwrap().is_some());
    }

    #[test]
    fn who_is_left_when_the_lead_is_given_up_leads() {
        let queue = CommitQueue::default();
        let lead = queue.wait(1).unwrap().expect("nobody leads");
        std::thread::scope(|scope| {
            for ticket in 2..20 {
                let queue = &queue;
                scope.spawn(move || {
                    // Each is done with its own ticket alone, so the others have to go on.
                    if let Some(lead) = queue.wait(ticket).unwrap() {
                        drop(queue.durable(ticket));
                        drop(lead);
                    }
                });
            }
            while queue.state.lock().waiting.len() < 18 {
                std::thread::yield_now();
            }
            drop(lead);
        });
        let state = queue.state.lock();
        assert!(state.durable >= 19 && state.waiting.is_empty() && !state.is_led);
    }

    #[test]
    fn what_was_given_up_stays_so_when_later_ones_are_durable() {
        let queue = CommitQueue::default();
        drop(queue.durable(2));
        queue.failed(4);
        queue.failed(5);
        drop(queue.durable(7));
        queue.failed(8);
        drop(queue.durable(9));
        for ticket in 1..10 {
            let failed = [3, 4, 5, 8].contains(&ticket);
            assert_eq!(queue.wait(ticket).is_err(), failed, "{ticket}");
        }
        assert_eq!(queue.state.lock().failed, [3..=5, 8..=8]);
    }
}
