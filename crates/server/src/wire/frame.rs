//! `Frames`: cuts what a client sends into messages.
//!
//! What must hold: a message is its length and not a byte more or less; a length is checked before its bytes are waited for; the
//! buffer grows as bytes come, and shrinks back when it is empty.

use crate::violation::Violation;
use std::io::{self, Read};

/// Bytes that an idle session keeps.
const IDLE_BYTES: usize = 8 << 10;
/// Bytes that are asked of the socket at once while a large message comes.
const STEP: usize = 64 << 10;
/// Bytes of a startup packet, its length included.
pub(crate) const STARTUP_BYTES: usize = 10_000;

/// The messages that may come now, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected {
    /// An answer to a request for authentication.
    Password,
    /// Anything that a session in order sends.
    Command,
}

impl Expected {
    /// The most bytes that the body of a message may have; `None` for one that may not come.
    fn limit(self, kind: u8) -> Option<usize> {
        match (self, kind) {
            (Self::Password, b'p') => Some(2 << 10),
            (Self::Password, _) => None,
            (Self::Command, b'Q' | b'P') => Some(8 << 20),
            (Self::Command, b'B' | b'd') => Some(64 << 20),
            (Self::Command, b'D' | b'E' | b'C' | b'S' | b'H' | b'X' | b'c' | b'f' | b'F') => {
                Some(64 << 10)
            }
            (Self::Command, _) => None,
        }
    }
}

/// One message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// Its first byte.
    pub(crate) kind: u8,
    /// What is behind its length.
    pub(crate) body: Vec<u8>,
}

/// What was read of a socket and not handled yet.
#[derive(Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    /// Where the bytes begin that nobody has taken.
    start: usize,
}

/// Why there is no frame.
#[derive(Debug)]
pub(crate) enum FrameError {
    /// The client has gone, within a message or between two.
    Closed,
    /// The socket failed, or took too long.
    Io(io::Error),
    /// The client broke the protocol.
    Violation(Violation),
}

impl From<Violation> for FrameError {
    fn from(violation: Violation) -> Self {
        Self::Violation(violation)
    }
}

impl Frames {
    /// Whether nothing has been read that was not handled.
    pub(crate) fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }

    /// Whether nothing was taken yet of what has come.
    pub(crate) fn is_fresh(&self) -> bool {
        self.start == 0
    }

    fn waiting(&self) -> &[u8] {
        self.bytes.get(self.start..).unwrap_or_default()
    }

    /// The kind of the next message if its first byte has come.
    pub(crate) fn next_kind(&self) -> Option<u8> {
        self.waiting().first().copied()
    }

    /// The next message, if all of it has come.
    ///
    /// # Errors
    /// A message that may not come now, or is too long.
    pub(crate) fn take(&mut self, expected: Expected) -> Result<Option<Frame>, Violation> {
        let waiting = self.waiting();
        let Some(kind) = waiting.first().copied() else {
            return Ok(None);
        };
        let limit = expected.limit(kind).ok_or(match expected {
            Expected::Password => Violation::new("a password message was expected"),
            Expected::Command => Violation::new("a message of this type is not known"),
        })?;
        let Some(length) = waiting.get(1..5).and_then(|b| b.first_chunk::<4>()) else {
            return Ok(None);
        };
        let length = body_length(*length, limit)?;
        let Some(body) = waiting.get(5..5 + length) else {
            return Ok(None);
        };
        let frame = Frame {
            kind,
            body: body.to_vec(),
        };
        self.consume(5 + length);
        Ok(Some(frame))
    }

    /// The next packet without a type, as the first of a connection is: what is behind its length.
    ///
    /// # Errors
    /// A packet that is too short or too long.
    pub(crate) fn take_startup(&mut self) -> Result<Option<Vec<u8>>, Violation> {
        let Some(length) = self.waiting().first_chunk::<4>() else {
            return Ok(None);
        };
        let length = body_length(*length, STARTUP_BYTES - 4)?;
        let Some(body) = self.waiting().get(4..4 + length) else {
            return Ok(None);
        };
        let body = body.to_vec();
        self.consume(4 + length);
        Ok(Some(body))
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        if self.is_empty() {
            self.bytes.clear();
            self.bytes.shrink_to(IDLE_BYTES);
            self.start = 0;
        }
    }

    /// Reads what has come, at least a byte.
    ///
    /// # Errors
    /// When nothing comes any more, or the socket fails.
    pub(crate) fn fill(&mut self, from: &mut impl Read) -> Result<(), FrameError> {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        let before = self.bytes.len();
        let step = if before < IDLE_BYTES {
            IDLE_BYTES
        } else {
            STEP
        };
        self.bytes.resize(before + step, 0);
        let read = loop {
            match from.read(&mut self.bytes[before..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.bytes.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(FrameError::Closed),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(FrameError::Closed),
            Err(error) => Err(FrameError::Io(error)),
        }
    }
}

/// The length of a body whose message says this length, which counts its own four bytes.
fn body_length(said: [u8; 4], limit: usize) -> Result<usize, Violation> {
    let said = i32::from_be_bytes(said);
    let body = usize::try_from(said).ok().and_then(|n| n.checked_sub(4));
    let body = body.ok_or(Violation::new("a message has an invalid length"))?;
    match body <= limit {
        true => Ok(body),
        false => Err(Violation::new("a message is longer than it may be")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8]) -> Frames {
        let mut frames = Frames::default();
        frames.fill(&mut &*bytes).unwrap();
        frames
    }

    #[test]
    fn messages_are_cut_at_their_lengths() {
        let mut two = frames(b"Q\0\0\0\x06a\0S\0\0\0\x04X");
        let query = two.take(Expected::Command).unwrap().unwrap();
        assert_eq!((query.kind, &*query.body), (b'Q', &b"a\0"[..]));
        assert_eq!(two.next_kind(), Some(b'S'));
        let sync = two.take(Expected::Command).unwrap().unwrap();
        assert_eq!((sync.kind, &*sync.body), (b'S', &b""[..]));
        assert_eq!(two.take(Expected::Command).unwrap(), None);
        assert!(!two.is_empty());
    }

    #[test]
    fn wrong_lengths_are_refused_before_their_bytes_come() {
        for length in [0_i32, 3, -1, i32::MIN, i32::MAX, (64 << 10) + 5] {
            let mut bytes = vec![b'S'];
            bytes.extend(length.to_be_bytes());
            assert!(frames(&bytes).take(Expected::Command).is_err(), "{length}");
        }
        assert!(frames(b"\0\0\x27\x11").take_startup().is_err());
        assert!(frames(b"\0\0\0\x03").take_startup().is_err());
    }

    #[test]
    fn types_are_those_of_the_state() {
        assert!(frames(b"Q\0\0\0\x05\0").take(Expected::Password).is_err());
        assert!(frames(b"p\0\0\0\x05\0").take(Expected::Command).is_err());
        assert!(frames(b"G").take(Expected::Command).is_err());
        let long = [b"p".as_slice(), &2053_i32.to_be_bytes()].concat();
        assert!(frames(&long).take(Expected::Password).is_err());
    }

    #[test]
    fn every_truncation_waits_for_more() {
        let whole = b"P\0\0\0\x0d\0select\0\0\0";
        for end in 0..whole.len() - 1 {
            let mut part = Frames::default();
            let _ = part.fill(&mut &whole[..end]);
            assert_eq!(part.take(Expected::Command), Ok(None), "{end}");
        }
    }

    #[test]
    fn a_large_message_leaves_no_large_buffer() {
        let mut bytes = vec![b'd'];
        bytes.extend((1_000_004_i32).to_be_bytes());
        bytes.resize(1_000_005, 7);
        let mut frames = Frames::default();
        let mut from = &*bytes;
        while !from.is_empty() {
            frames.fill(&mut from).unwrap();
        }
        assert_eq!(
            frames.take(Expected::Command).unwrap().unwrap().body.len(),
            1_000_000
        );
        assert!(frames.bytes.capacity() <= IDLE_BYTES);
    }
}
