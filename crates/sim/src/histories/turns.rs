//! `Turns`: which of some threads runs, one at a time, as the dice say.
//!
//! What must hold: whoever takes part runs from the time that it is its turn until it passes the turn on or leaves, however it
//! leaves; so what they do follows from the dice, whatever the machine does.

use parking_lot::{Condvar, Mutex};

use crate::dice::Dice;

/// Whose turn it is.
pub(super) struct Turns {
    state: Mutex<State>,
    moved: Condvar,
}

struct State {
    dice: Dice,
    now: usize,
    /// Those who take part.
    live: Vec<usize>,
}

/// Taking part; dropped, the turn is another's for good.
pub(super) struct Part<'a> {
    turns: &'a Turns,
    me: usize,
}

impl Turns {
    /// For threads of the numbers from 0 on.
    pub(super) fn new(mut dice: Dice, threads: usize) -> Self {
        let now = dice.index(threads);
        Self {
            state: Mutex::new(State {
                dice,
                now,
                live: (0..threads).collect(),
            }),
            moved: Condvar::new(),
        }
    }

    /// Waits for the first turn.
    pub(super) fn take_part(&self, me: usize) -> Part<'_> {
        self.wait(me);
        Part { turns: self, me }
    }

    /// Lets the dice say who goes on, and waits until it is `me`.
    pub(super) fn pass(&self, me: usize) {
        self.state.lock().next();
        self.moved.notify_all();
        self.wait(me);
    }

    fn wait(&self, me: usize) {
        let mut state = self.state.lock();
        while state.now != me {
            self.moved.wait(&mut state);
        }
    }
}

impl State {
    fn next(&mut self) {
        if !self.live.is_empty() {
            self.now = *self.dice.pick(&self.live);
        }
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state.lock();
        state.live.retain(|other| *other != self.me);
        state.next();
        drop(state);
        self.turns.moved.notify_all();
    }
}
