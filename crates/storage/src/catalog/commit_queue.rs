//! Which of the commits that wait for the log writes it, and which are done.
//!
//! What must hold: one commit leads at a time; all others are woken together when it has finished, and each is then done, has failed
//! or may lead.

use std::ops::RangeInclusive;

use parking_lot::{Condvar, Mutex};

use crate::error::{Error, Result};

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
    /// Tickets that were given up, in order; neighbours are one range.
    failed: Vec<RangeInclusive<u64>>,
    is_led: bool,
}

impl QueueState {
    fn has_failed(&self, ticket: u64) -> bool {
        self.failed.iter().any(|failed| failed.contains(&ticket))
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
        let mut state = self.state.lock();
        loop {
            if state.has_failed(ticket) {
                return Err(Error::Full(std::io::ErrorKind::StorageFull.into()));
            }
            if state.durable >= ticket {
                return Ok(None);
            }
            if !state.is_led {
                state.is_led = true;
                return Ok(Some(Lead(self)));
            }
            self.moved.wait(&mut state);
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
        drop(state);
        self.moved.notify_all();
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
        let lead = queue.wait(1).unwrap().expect("nobody leads");
        std::thread::scope(|scope| {
            let waiting: Vec<_> = (2..5)
                .map(|ticket| {
                    let queue = &queue;
                    scope.spawn(move || queue.wait(ticket).unwrap().is_none())
                })
                .collect();
            queue.durable(4);
            drop(lead);
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
    fn what_was_given_up_stays_so_when_later_ones_are_durable() {
        let queue = CommitQueue::default();
        queue.durable(2);
        queue.failed(4);
        queue.failed(5);
        queue.durable(7);
        queue.failed(8);
        queue.durable(9);
        for ticket in 1..10 {
            let failed = [3, 4, 5, 8].contains(&ticket);
            assert_eq!(queue.wait(ticket).is_err(), failed, "{ticket}");
        }
        assert_eq!(queue.state.lock().failed, [3..=5, 8..=8]);
    }
}
