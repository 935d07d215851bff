//! A column segment that makes the library panic that decodes it, and what is heard of panics. Tests above storage have it too.

use std::panic::{set_hook, take_hook};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Once};

use hushdb_storage::{CodecError, ColumnType, VortexCodec, is_panic_expected};

use super::arrays::{ArrayRef, StringViewArray};

static EXPECTED: AtomicUsize = AtomicUsize::new(0);
static OTHERS: AtomicUsize = AtomicUsize::new(0);

/// Counts panics from now on. As in the shell, those for which there is an answer are not shown.
pub(crate) fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if is_panic_expected() {
                EXPECTED.fetch_add(1, Ordering::SeqCst);
            } else {
                OTHERS.fetch_add(1, Ordering::SeqCst);
                before(panic);
            }
        }));
    });
}

/// Panics so far for which there was an answer, and those that somebody would have seen.
pub(crate) fn heard() -> (usize, usize) {
    (
        EXPECTED.load(Ordering::SeqCst),
        OTHERS.load(Ordering::SeqCst),
    )
}

/// So many texts, and a segment of as many that makes the library panic: found by trying, since it is the library's to know.
pub(crate) fn segment(rows: usize) -> (ArrayRef, Vec<u8>) {
    listen();
    let texts = [
        "a text that stands there often",
        "another one of them",
        "a third",
    ];
    let texts = (0..rows).map(|row| texts[row % texts.len()]);
    let array: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
    let codec = VortexCodec::new();
    let sound = codec.encode(&ColumnType::Varchar, &array).unwrap().to_vec();
    for at in 64..sound.len() {
        for value in [0xff, 0x7f, 0x55] {
            let mut bytes = sound.clone();
            bytes[at] = value;
            let (before, _) = heard();
            let decoded = codec.decode(
                &ColumnType::Varchar,
                rows as u32,
                &bytes.clone().into(),
                None,
            );
            if heard().0 > before {
                assert!(matches!(decoded, Err(CodecError::Malformed)));
                return (array, bytes);
            }
        }
    }
    panic!("no byte makes the library panic: it takes another array");
}
