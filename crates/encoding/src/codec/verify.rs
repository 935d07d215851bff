//! Checks that decoded text and bytes are what Arrow takes for granted.
//!
//! What must hold: after [`views`] says yes, every view of a non-null row lies inside its buffer and, for text, is UTF-8.
//! A first pass without branches settles the usual case, short or ASCII values in bounds; otherwise
//! every row is looked at.

use arrow_array::types::ByteViewType;
use arrow_array::{Array, GenericByteViewArray};

/// Values up to this many bytes live inside their view.
const MAX_INLINE: u32 = 12;

/// Whether all views are in bounds and, if `text`, all values UTF-8.
pub(crate) fn views<T: ByteViewType>(array: &GenericByteViewArray<T>, text: bool) -> bool {
    plainly_sound(array, text)
        || (0..array.len()).all(|row| array.is_null(row) || sound(array, row, text))
}

/// Length, buffer index and offset in a view; the last two only for values that are not inline.
fn fields(view: u128) -> (u32, u32, u32) {
    (view as u32, (view >> 64) as u32, (view >> 96) as u32)
}

/// True only if all values are in bounds and, if `text`, ASCII. NULL rows are not told apart.
fn plainly_sound<T: ByteViewType>(array: &GenericByteViewArray<T>, text: bool) -> bool {
    const HIGH_BITS: u128 = 0x8080_8080_8080_8080_8080_8080_0000_0000;
    let high_bits = if text { HIGH_BITS } else { 0 };
    // A buffer that is not ASCII, and one that is not there, count as empty.
    let limit = |len: usize, ascii: bool| if ascii { len as u64 } else { 0 };
    let buffers = array.data_buffers().iter();
    let mut limits: Vec<u64> = buffers
        .map(|b| limit(b.len(), !text || b.is_ascii()))
        .collect();
    let missing = limits.len();
    limits.push(0);
    let mut unsure = false;
    if missing == 0 {
        // Short values only: nothing to look up.
        for view in array.views().iter() {
            unsure |= (*view as u32 > MAX_INLINE) | (view & high_bits != 0);
        }
        return !unsure;
    }
    if missing == 1 {
        // As decoded text mostly is. Without a look-up the pass takes several values at a time.
        let limit = limits.first().copied().unwrap_or(0);
        for view in array.views().iter() {
            let (len, index, offset) = fields(*view);
            let is_inline = len <= MAX_INLINE;
            let inline_unsure = view & high_bits != 0;
            let buffer_unsure = (index != 0) | (u64::from(offset) + u64::from(len) > limit);
            unsure |= (is_inline & inline_unsure) | (!is_inline & buffer_unsure);
        }
        return !unsure;
    }
    for view in array.views().iter() {
        let (len, index, offset) = fields(*view);
        let limit = limits
            .get((index as usize).min(missing))
            .copied()
            .unwrap_or(0);
        let is_inline = len <= MAX_INLINE;
        let inline_unsure = view & high_bits != 0;
        let buffer_unsure = u64::from(offset) + u64::from(len) > limit;
        unsure |= (is_inline & inline_unsure) | (!is_inline & buffer_unsure);
    }
    !unsure
}

/// Whether the value of one row is in bounds and, if `text`, UTF-8.
fn sound<T: ByteViewType>(array: &GenericByteViewArray<T>, row: usize, text: bool) -> bool {
    let Some(view) = array.views().get(row) else {
        return false;
    };
    let (len, index, offset) = fields(*view);
    let inline = view.to_le_bytes();
    let value = if len <= MAX_INLINE {
        inline.get(4..4 + len as usize)
    } else {
        let end = (offset as usize).checked_add(len as usize);
        let buffer = array.data_buffers().get(index as usize);
        buffer
            .zip(end)
            .and_then(|(buffer, end)| buffer.as_slice().get(offset as usize..end))
    };
    value.is_some_and(|value| !text || std::str::from_utf8(value).is_ok())
}

#[cfg(test)]
mod tests {
    use arrow_array::builder::make_view;
    use arrow_array::{BinaryViewArray, StringViewArray};
    use arrow_buffer::{Buffer, ScalarBuffer};

    use super::views;

    fn binary(view: u128, buffer: &[u8]) -> Option<BinaryViewArray> {
        let views = ScalarBuffer::from(vec![view]);
        BinaryViewArray::try_new(views, vec![Buffer::from(buffer)], None).ok()
    }

    #[test]
    fn text_of_every_kind_is_sound() {
        let text = [
            "",
            "abc",
            "Grüße",
            "longer than twelve bytes",
            "länger als zwölf Bytes, 世界",
        ];
        assert!(views(&StringViewArray::from_iter_values(text), true));
        assert!(views(
            &StringViewArray::from(vec![None, Some("ü"), None]),
            true
        ));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_found_as_text_only() {
        for value in [
            b"\xff".as_slice(),
            b"more than twelve bytes \xff",
            b"cut here \xe4\xb8",
        ] {
            let array = binary(make_view(value, 0, 0), value).unwrap();
            assert!(!views(&array, true));
            assert!(views(&array, false));
        }
    }
}
