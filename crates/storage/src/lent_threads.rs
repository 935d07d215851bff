//! `LentThreads`: threads of the caller's, which do parts of some work beside the one that calls.
//!
//! What must hold: results come in the order of what they were made of, whoever made them; parts stop with the work that they are of. No
//! thread is started here: whoever opens a store has them, or there are none.

use std::vec::IntoIter;

use parking_lot::Mutex;

use crate::error::Result;
use crate::interrupt::watched_here;

/// Has up to so many threads do the first, and meanwhile does the second, which is told how many they are; returns when all are done.
pub type Beside = fn(usize, &(dyn Fn() + Sync), &mut dyn FnMut(usize));

/// Threads beside the one that calls.
#[derive(Clone, Copy, Debug)]
pub struct LentThreads {
    /// At most so many.
    pub count: usize,
    /// What has them work.
    pub beside: Beside,
}

impl Default for LentThreads {
    /// None.
    fn default() -> Self {
        Self {
            count: 0,
            beside: |_, _, here| here(0),
        }
    }
}

impl LentThreads {
    /// Does the work for each item, and gives what came of them in their order. After an error no further item is begun.
    ///
    /// # Errors
    /// The first in the order of the items.
    pub(crate) fn in_order<T: Send, R: Send>(
        &self,
        items: Vec<T>,
        work: impl Fn(T) -> Result<R> + Sync,
    ) -> Result<Vec<R>> {
        let others = self.count.min(items.len().saturating_sub(1));
        let done = Mutex::new(Vec::with_capacity(items.len()));
        let left = Mutex::new(items.into_iter());
        let count = left.lock().len();
        let next = |left: &mut IntoIter<T>| {
            let at = count - left.len();
            Some((at, left.next()?))
        };
        let take_part = || {
            loop {
                let Some((at, item)) = next(&mut left.lock()) else {
                    return;
                };
                let result = work(item);
                if result.is_err() {
                    *left.lock() = Vec::new().into_iter();
                }
                done.lock().push((at, result));
            }
        };
        (self.beside)(others, &watched_here(take_part), &mut |_| take_part());
        let mut done = done.into_inner();
        done.sort_by_key(|(at, _)| *at);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;
    use crate::error::Error;

    const THREE: LentThreads = LentThreads {
        count: 3,
        beside: |count, there, here| {
            thread::scope(|scope| {
                (0..count).for_each(|_| drop(scope.spawn(there)));
                here(count);
            });
        },
    };

    #[test]
    fn results_are_in_order_and_several_threads_make_them() {
        let all_four = Barrier::new(4);
        let work = |n: usize| {
            if n < 4 {
                all_four.wait();
            }
            Ok(n * n)
        };
        let squares = THREE.in_order((0..100).collect(), work).unwrap();
        assert_eq!(squares, (0..100).map(|n| n * n).collect::<Vec<_>>());
        let one = LentThreads::default().in_order(vec![1, 2], |n| Ok(n + 1));
        assert_eq!(one.unwrap(), [2, 3]);
    }

    #[test]
    fn the_first_error_is_given_and_nothing_is_begun_after_one() {
        for threads in [THREE, LentThreads::default()] {
            let begun = Mutex::new(0);
            let failed = threads.in_order((0..10_000).collect(), |n| {
                *begun.lock() += 1;
                match n {
                    5 => Err(Error::Unsupported("five".into())),
                    _ if n > 5 => Err(Error::Unsupported("more".into())),
                    _ => Ok(()),
                }
            });
            assert!(failed.unwrap_err().to_string().contains("five"));
            assert!(begun.into_inner() < 20);
        }
    }
}
