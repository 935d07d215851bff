//! `Body`: reads the fields of one message, and demands that nothing is left.

use crate::violation::Violation;

/// What of a message has not been read yet.
pub(crate) struct Body<'a>(&'a [u8]);

const SHORT: Violation = Violation::new("a message ends before its last field");

impl<'a> Body<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next bytes, this many.
    ///
    /// # Errors
    /// When there are fewer.
    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8], Violation> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(SHORT)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Violation> {
        let taken = self.bytes(N)?;
        taken.try_into().map_err(|_| SHORT)
    }

    /// One byte.
    pub(crate) fn byte(&mut self) -> Result<u8, Violation> {
        Ok(u8::from_be_bytes(self.array()?))
    }

    /// A count or a format: 16 bits, all of them meant.
    pub(crate) fn u16(&mut self) -> Result<u16, Violation> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    /// A signed length or limit of 32 bits.
    pub(crate) fn i32(&mut self) -> Result<i32, Violation> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// An OID, a code or a secret.
    pub(crate) fn u32(&mut self) -> Result<u32, Violation> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Text up to its zero byte.
    ///
    /// # Errors
    /// When the zero byte is missing, or the text is not UTF-8.
    pub(crate) fn text(&mut self) -> Result<&'a str, Violation> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or(Violation::new("a text has no zero byte at its end"))?;
        let text = self.bytes(end)?;
        self.bytes(1)?;
        std::str::from_utf8(text).map_err(|_| Violation::not_text())
    }

    /// A value: a length and its bytes, or NULL.
    pub(crate) fn value(&mut self) -> Result<Option<&'a [u8]>, Violation> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length);
                let length = length.map_err(|_| Violation::new("a value has a length below -1"))?;
                self.bytes(length).map(Some)
            }
        }
    }

    /// All that is left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Nothing may be left.
    ///
    /// # Errors
    /// When something is.
    pub(crate) fn end(self) -> Result<(), Violation> {
        match self.0 {
            [] => Ok(()),
            _ => Err(Violation::new("a message goes on behind its last field")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_in_order() {
        let mut body = Body::new(b"ab\0\x00\x07\xff\xff\xff\xff\0\0\0\x01x");
        assert_eq!(body.text(), Ok("ab"));
        assert_eq!(body.u16(), Ok(7));
        assert_eq!(body.value(), Ok(None));
        assert_eq!(body.value(), Ok(Some(&b"x"[..])));
        assert!(body.end().is_ok());
    }

    #[test]
    fn what_is_missing_or_left_is_a_violation() {
        assert!(Body::new(b"ab").text().is_err());
        assert_eq!(Body::new(b"\xff\0").text(), Err(Violation::not_text()));
        assert!(Body::new(b"\0\0\0\x05abc").value().is_err());
        assert!(Body::new(b"\xff\xff\xff\xfe").value().is_err());
        assert!(Body::new(b"x").end().is_err());
    }
}
