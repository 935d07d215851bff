//! Holds decoded text and bytes against what Arrow takes for granted.
//!
//! Holds: after [`views`] says yes, every view of a non-null row lies inside its buffer and, for text, is UTF-8.
//! The check is written for the usual case, ASCII, where it is a mask per row; only other text is looked at closely.

use arrow_array::types::ByteViewType;
use arrow_array::{Array, GenericByteViewArray};

/// Values up to this many bytes live inside their view.
const MAX_INLINE: u32 = 12;

/// Whether all views are in bounds and, if `text`, all values UTF-8.
pub(crate) fn views<T: ByteViewType>(array: &GenericByteViewArray<T>, text: bool) -> bool {
    let buffers = array.data_buffers();
    let ascii: Vec<bool> = buffers
        .iter()
        .map(|buffer| !text || buffer.is_ascii())
        .collect();
    let mut close = Vec::new();
    for (row, view) in array.views().iter().enumerate() {
        // The low 32 bits are the length; the rest is the value, or prefix, buffer index and offset.
        let len = *view as u32;
        if len <= MAX_INLINE {
            if text && !inline_is_ascii(*view) {
                close.push(row);
            }
            continue;
        }
        let index = (*view >> 64) as u32 as usize;
        let offset = (*view >> 96) as u32 as usize;
        let Some(buffer) = buffers.get(index) else {
            if array.is_null(row) {
                continue;
            }
            return false;
        };
        let in_bounds = offset
            .checked_add(len as usize)
            .is_some_and(|end| end <= buffer.len());
        if !in_bounds && array.is_valid(row) {
            return false;
        }
        if !ascii.get(index).copied().unwrap_or(false) {
            close.push(row);
        }
    }
    close
        .into_iter()
        .all(|row| array.is_null(row) || value_is_utf8(array, row))
}

fn inline_is_ascii(view: u128) -> bool {
    const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080_0000_0000;
    view & HIGH_BITS == 0
}

fn value_is_utf8<T: ByteViewType>(array: &GenericByteViewArray<T>, row: usize) -> bool {
    let Some(view) = array.views().get(row) else {
        return false;
    };
    let len = *view as u32 as usize;
    let inline = view.to_le_bytes();
    let bytes = if len <= MAX_INLINE as usize {
        inline.get(4..4 + len)
    } else {
        let index = (*view >> 64) as u32 as usize;
        let offset = (*view >> 96) as u32 as usize;
        array.data_buffers().get(index).and_then(|buffer| {
            offset
                .checked_add(len)
                .and_then(|end| buffer.as_slice().get(offset..end))
        })
    };
    bytes.is_some_and(|bytes| std::str::from_utf8(bytes).is_ok())
}
