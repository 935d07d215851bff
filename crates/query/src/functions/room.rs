//! `Room`: the memory that a function asks for before it makes values that are many times as long as its arguments.
//!
//! What must hold: whoever multiplies asks first, so that `repeat('x', n)` and its kind fail before they allocate. One value is
//! no longer than Arrow's offsets reach.

use datafusion::common::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use hushdb_sql::{Error, ErrorKind};
use std::sync::Arc;

/// What is not worth asking for.
const SMALL: usize = 1 << 20;
/// Bytes of one text, and items of one list, that offsets and views can say.
const MOST: u128 = i32::MAX as u128;

/// What one call makes of one batch. It is given back when the batch is made: whoever keeps it counts it.
pub(super) struct Room {
    memory: Arc<dyn MemoryPool>,
    reservation: Option<MemoryReservation>,
    bytes: usize,
}

impl Room {
    pub(super) fn new(memory: &Arc<dyn MemoryPool>) -> Self {
        Self {
            memory: Arc::clone(memory),
            reservation: None,
            bytes: 0,
        }
    }

    /// Takes room for one value of so many bytes.
    pub(super) fn take(&mut self, bytes: u128) -> Result<usize> {
        let one = one_value(bytes, "bytes")?;
        self.take_all(one)?;
        Ok(one)
    }

    /// Takes room for the items of a list, which are all items of a batch so far.
    pub(super) fn take_items(&mut self, before: usize, items: u128, width: usize) -> Result<usize> {
        let all = one_value(items.saturating_add(before as u128), "items")?;
        self.take_all((all - before).saturating_mul(width))?;
        Ok(all)
    }

    fn take_all(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes < SMALL {
            return Ok(());
        }
        let reservation = self.reservation.get_or_insert_with(|| {
            MemoryConsumer::new("the value of a function").register(&self.memory)
        });
        reservation.try_resize(self.bytes)
    }
}

fn one_value(size: u128, of: &str) -> Result<usize> {
    if size > MOST {
        return Err(Error::new(
            ErrorKind::OutOfRange,
            format!("a value would have more than {MOST} {of}"),
        )
        .into());
    }
    Ok(size as usize)
}
