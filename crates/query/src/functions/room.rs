//! `Room`: the memory that a function asks for before it makes values that are many times as long as its arguments.
//!
//! What must hold: whoever multiplies asks first, so that `repeat('x', n)` and its kind fail before they allocate. One value is
//! no longer than Arrow's offsets reach. A large constant is made when the statement runs, where nobody copies it, and is
//! counted for as long as it is there.

use crate::memory::Claim;
use bytes::Bytes;
use datafusion::arrow::array::{Array, ArrayData, ArrayRef, AsArray, make_array};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};
use datafusion::logical_expr::ColumnarValue;
use hushdb_sql::{Error, ErrorKind};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What is not worth asking for.
pub(super) const SMALL: usize = 1 << 20;
/// What is counted while it is there: beside it there may be others, of which a next function makes one value.
const LONG: usize = 8 << 20;
/// The largest constant that a plan holds: rules of the planner copy it again and again.
const IN_PLAN: usize = 4 << 20;
/// Bytes of one text, and items of one list, that offsets and views can say.
const MOST: u128 = i32::MAX as u128;

tokio::task_local! {
    /// Set where constants are evaluated for a plan.
    static PLANNING: ();
}

/// Does work on a plan. Values that are too large for one are refused meanwhile, so that their expressions stay as they are.
pub(crate) fn while_planning<T>(work: impl FnOnce() -> T) -> T {
    PLANNING.sync_scope((), work)
}

fn is_planning() -> bool {
    PLANNING.try_with(|()| ()).is_ok()
}

/// Where a function asks for memory, which says nothing of what function it is.
#[derive(Clone)]
pub(super) struct Memory(pub(super) Arc<dyn MemoryPool>);

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("memory")
    }
}

impl PartialEq for Memory {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Memory {}

impl Hash for Memory {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Bytes that are written where rows of a column are repeated or chosen: views point to texts that are not written again.
pub(super) fn written_bytes(column: &dyn Array, rows: &mut dyn Iterator<Item = usize>) -> usize {
    match column.data_type() {
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            written_items(lists.values().as_ref(), lists.value_offsets(), rows)
        }
        DataType::Map(..) => {
            let maps = column.as_map();
            written_items(maps.entries(), maps.value_offsets(), rows)
        }
        DataType::Struct(_) => {
            let rows: Vec<usize> = rows.collect();
            let columns = column.as_struct().columns().iter();
            let of = |part: &ArrayRef| written_bytes(part.as_ref(), &mut rows.iter().copied());
            columns.map(of).fold(0, usize::saturating_add)
        }
        DataType::Utf8 => written_texts(column.as_string::<i32>().value_offsets(), rows),
        DataType::Binary => written_texts(column.as_binary::<i32>().value_offsets(), rows),
        other => rows.count().saturating_mul(width(other)),
    }
}

/// Bytes of a value that is neither nested nor written with its length.
fn width(of: &DataType) -> usize {
    of.primitive_width().unwrap_or(VIEW_BYTES)
}

/// How many there are between two offsets.
fn between(offsets: &[i32], row: usize) -> usize {
    let at = |n: usize| offsets.get(n).map_or(0, |at| *at as usize);
    at(row + 1).saturating_sub(at(row))
}

fn written_texts(offsets: &[i32], rows: &mut dyn Iterator<Item = usize>) -> usize {
    let lengths = rows.map(|row| between(offsets, row) + size_of::<i32>());
    lengths.fold(0, usize::saturating_add)
}

fn written_items(
    values: &dyn Array,
    offsets: &[i32],
    rows: &mut dyn Iterator<Item = usize>,
) -> usize {
    let own = size_of::<i32>();
    let of = values.data_type();
    let is_long = matches!(
        of,
        DataType::Utf8 | DataType::Binary | DataType::LargeBinary
    );
    if !of.is_nested() && !is_long {
        let lengths = rows.map(|row| between(offsets, row).saturating_mul(width(of)) + own);
        return lengths.fold(0, usize::saturating_add);
    }
    let first = |row: usize| offsets.get(row).map_or(0, |at| *at as usize);
    let mut lists = 0;
    let items = rows.inspect(|_| lists += own);
    let mut items = items.flat_map(|row| first(row)..first(row) + between(offsets, row));
    let items = written_bytes(values, &mut items);
    items.saturating_add(lists)
}

/// What the values of a column take when they are written anew.
pub(super) fn bytes_of(column: &dyn Array) -> usize {
    let texts = |lengths: &mut dyn Iterator<Item = u32>| {
        let written = lengths.map(|length| length as usize);
        written.sum::<usize>() + column.len() * VIEW_BYTES
    };
    match column.data_type() {
        _ if column.get_buffer_memory_size() < SMALL => column.get_buffer_memory_size(),
        DataType::Utf8View => texts(&mut column.as_string_view().lengths()),
        DataType::BinaryView => texts(&mut column.as_binary_view().lengths()),
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            within(lists.values(), lists.value_offsets())
        }
        DataType::Map(..) => {
            let maps = column.as_map();
            let entries: ArrayRef = Arc::new(maps.entries().clone());
            within(&entries, maps.value_offsets())
        }
        DataType::Struct(_) => {
            let columns = column.as_struct().columns().iter();
            columns.map(|column| bytes_of(column.as_ref())).sum()
        }
        _ => {
            let data = column.to_data();
            let slice = data.get_slice_memory_size();
            slice.unwrap_or_else(|_| column.get_buffer_memory_size())
        }
    }
}

/// The same of the items that offsets point to.
fn within(values: &ArrayRef, offsets: &[i32]) -> usize {
    let from = offsets.first().map_or(0, |at| *at as usize);
    let to = offsets.last().map_or(0, |at| *at as usize);
    bytes_of(values.slice(from, to - from).as_ref()) + size_of_val(offsets)
}

/// What a view of a text takes.
pub(super) const VIEW_BYTES: usize = 16;

/// What one call makes of one batch. It is given back when the batch is made, since whoever keeps that counts it; a long one keeps it
/// until nobody has it any more.
pub(super) struct Room {
    memory: Arc<dyn MemoryPool>,
    reservation: Option<MemoryReservation>,
    bytes: usize,
    /// What is reserved: more than is taken, since each question takes a while.
    reserved: usize,
}

impl std::fmt::Debug for Room {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "room for {} bytes", self.bytes)
    }
}

impl Room {
    pub(super) fn new(memory: &Arc<dyn MemoryPool>) -> Self {
        Self {
            memory: Arc::clone(memory),
            reservation: None,
            bytes: 0,
            reserved: 0,
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

    /// Takes room for a value that is about as long as an argument, if that is long.
    pub(super) fn take_if_long(&mut self, bytes: usize) -> Result<()> {
        match bytes < SMALL {
            true => Ok(()),
            false => self.take_all(bytes),
        }
    }

    /// Takes room beside the value.
    pub(super) fn take_all(&mut self, bytes: usize) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes < SMALL || self.bytes <= self.reserved && !is_planning() {
            return Ok(());
        }
        if self.bytes > IN_PLAN && is_planning() {
            let what = "a constant that is too large for a plan";
            return Err(Error::new(ErrorKind::OutOfMemory, what).into());
        }
        let reservation = self
            .reservation
            .get_or_insert_with(|| Claim::Held.register("the value of a function", &self.memory));
        let wanted = self.bytes + self.bytes / 8;
        let done = match reservation.try_resize(wanted) {
            Ok(()) => Ok(wanted),
            Err(_) => reservation.try_resize(self.bytes).map(|()| self.bytes),
        };
        match done {
            Ok(reserved) => {
                self.reserved = reserved;
                Ok(())
            }
            Err(refused) => {
                self.bytes -= bytes.min(self.bytes);
                Err(refused)
            }
        }
    }

    /// What was made, of `rows` rows, as a function gives it; `constant` if it is one value for all of them.
    pub(super) fn result(
        self,
        made: ArrayRef,
        constant: bool,
        rows: usize,
    ) -> Result<ColumnarValue> {
        match (constant, self.reservation) {
            (_, Some(held))
                if if constant {
                    rows == 1
                } else {
                    self.bytes >= LONG
                } =>
            {
                held.try_resize(made.get_buffer_memory_size())?;
                Ok(ColumnarValue::Array(make_array(counted(
                    made.to_data(),
                    held,
                )?)))
            }
            (false, _) => Ok(ColumnarValue::Array(made)),
            (true, _) => ScalarValue::try_from_array(&made, 0).map(ColumnarValue::Scalar),
        }
    }
}

/// A buffer, and the memory that is counted for it.
struct Counted {
    buffer: Buffer,
    _held: MemoryReservation,
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.buffer
    }
}

/// The same values, the largest buffer of which holds the memory that is counted for all.
fn counted(data: ArrayData, held: MemoryReservation) -> Result<ArrayData> {
    let own = data.buffers().iter().map(Buffer::len).enumerate();
    let own = own.max_by_key(|(_, len)| *len);
    let child = data.child_data().iter().map(largest).enumerate();
    let child = child.max_by_key(|(_, len)| *len);
    if let Some((at, _)) = child.filter(|(_, len)| own.is_none_or(|(_, own)| own < *len)) {
        let mut children = data.child_data().to_vec();
        if let Some(child) = children.get_mut(at) {
            *child = counted(child.clone(), held)?;
        }
        return Ok(data.into_builder().child_data(children).build()?);
    }
    let mut buffers = data.buffers().to_vec();
    if let Some(buffer) = own.and_then(|(at, _)| buffers.get_mut(at)) {
        *buffer = Buffer::from(Bytes::from_owner(Counted {
            buffer: buffer.clone(),
            _held: held,
        }));
    }
    Ok(data.into_builder().buffers(buffers).build()?)
}

/// Bytes of the largest buffer.
fn largest(data: &ArrayData) -> usize {
    let own = data.buffers().iter().map(Buffer::len);
    own.chain(data.child_data().iter().map(largest))
        .max()
        .unwrap_or(0)
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
