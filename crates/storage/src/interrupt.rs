//! `Interrupt`: what asks work to stop, and the work that a thread does now.
//!
//! What must hold: work looks for it at least every few milliseconds, and only where it can be given up; what is being made durable
//! goes on to its end. A look costs about as much as reading a number.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::error::{Error, Result};

thread_local! {
    /// What this thread works for.
    static WORKS_FOR: RefCell<Option<Arc<Interrupt>>> = const { RefCell::new(None) };
}

/// Steps between two looks, where a step takes less than a microsecond.
const STEPS: u32 = 1024;
/// Between two looks while a lock is waited for.
const PAUSE: Duration = Duration::from_millis(10);

/// Asks work to stop. A part of some work stops with the whole.
#[derive(Debug, Default)]
pub struct Interrupt {
    asked: AtomicBool,
    whole: Option<Arc<Interrupt>>,
}

impl Interrupt {
    /// Of a part, which can be asked to stop by itself.
    pub fn of_part(whole: &Arc<Self>) -> Arc<Self> {
        Arc::new(Self {
            asked: AtomicBool::new(false),
            whole: Some(Arc::clone(whole)),
        })
    }

    /// Asks the work to stop; it does soon, with [`Error::Interrupted`].
    pub fn ask(&self) {
        self.asked.store(true, Ordering::SeqCst);
    }

    /// Whether the work, or all that it is a part of, was asked to stop.
    pub fn is_asked(&self) -> bool {
        self.asked.load(Ordering::SeqCst)
            || self.whole.as_ref().is_some_and(|whole| whole.is_asked())
    }

    /// # Errors
    /// `Interrupted` once somebody asked.
    pub fn check(&self) -> Result<()> {
        match self.is_asked() {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Does work on this thread that heeds it.
    pub fn watch<T>(self: &Arc<Self>, work: impl FnOnce() -> T) -> T {
        /// Puts back what the thread worked for, however the work ends.
        struct Back(Option<Arc<Interrupt>>);
        impl Drop for Back {
            fn drop(&mut self) {
                WORKS_FOR.with(|now| now.replace(self.0.take()));
            }
        }
        let before = WORKS_FOR.with(|now| now.replace(Some(Arc::clone(self))));
        let _back = Back(before);
        work()
    }
}

/// Work that heeds, on whichever thread does it, what this thread does now.
pub(crate) fn watched_here(work: impl Fn() + Sync) -> impl Fn() + Sync {
    let now = WORKS_FOR.with_borrow(Clone::clone);
    move || match &now {
        Some(interrupt) => interrupt.watch(&work),
        None => work(),
    }
}

/// # Errors
/// `Interrupted` once somebody asked the work to stop that this thread does.
pub fn check_interrupt() -> Result<()> {
    WORKS_FOR.with_borrow(|now| match now {
        Some(interrupt) => interrupt.check(),
        None => Ok(()),
    })
}

/// Looks every so many steps of a loop.
#[derive(Default)]
pub(crate) struct Steps(u32);

impl Steps {
    /// # Errors
    /// As [`check_interrupt`].
    pub(crate) fn step(&mut self) -> Result<()> {
        self.0 = self.0.wrapping_add(1);
        match self.0 % STEPS {
            0 => check_interrupt(),
            _ => Ok(()),
        }
    }
}

/// Waits for a lock, until somebody asks the work to stop that this thread does.
///
/// # Errors
/// As [`check_interrupt`].
pub(crate) fn wait_for<T>(lock: &Mutex<T>) -> Result<MutexGuard<'_, T>> {
    if WORKS_FOR.with_borrow(Option::is_none) {
        return Ok(lock.lock());
    }
    loop {
        if let Some(held) = lock.try_lock_for(PAUSE) {
            return Ok(held);
        }
        check_interrupt()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_stops_with_the_whole_and_not_the_other_way_round() {
        let whole = Arc::new(Interrupt::default());
        let (one, other) = (Interrupt::of_part(&whole), Interrupt::of_part(&whole));
        one.ask();
        assert!(one.is_asked() && !other.is_asked() && !whole.is_asked());
        whole.ask();
        assert!(other.is_asked());
    }

    #[test]
    fn a_thread_heeds_what_it_works_for_and_nothing_else() {
        let asked = Arc::new(Interrupt::default());
        asked.ask();
        let quiet = Arc::new(Interrupt::default());
        assert!(check_interrupt().is_ok());
        asked.watch(|| {
            assert!(matches!(check_interrupt(), Err(Error::Interrupted)));
            quiet.watch(|| assert!(check_interrupt().is_ok()));
            assert!(check_interrupt().is_err());
        });
        assert!(check_interrupt().is_ok());
    }

    #[test]
    fn who_waits_for_a_lock_can_be_asked_to_stop() {
        let lock = Mutex::new(());
        let _held = lock.lock();
        let asked = Arc::new(Interrupt::default());
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| asked.watch(|| wait_for(&lock).map(drop)));
            asked.ask();
            assert!(matches!(waiting.join().unwrap(), Err(Error::Interrupted)));
        });
    }
}
