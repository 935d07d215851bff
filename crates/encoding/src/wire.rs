//! Bytes of metadata: a writer, and a reader that trusts nothing.
//!
//! What must hold: every length and count is held against the bytes that are left before anything is allocated; integers are
//! little-endian; a record ends exactly where its reader stops ([`Reader::finish`]).
//! Refuses: short input, absurd counts, text that is not UTF-8, bytes left over.

/// Metadata that does not parse. Says no more: where it lay is known to the caller, what it held is nobody's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireError;

/// Appends little-endian fields to a buffer.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// One for about so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
        }
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self, value: u16) {
        self.raw(&value.to_le_bytes());
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self, value: u32) {
        self.raw(&value.to_le_bytes());
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    /// Bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// A count of things that follow. More than `u32::MAX` of anything cannot be in memory as metadata.
    #[inline]
    pub fn count(&mut self, count: usize) {
        self.u32(u32::try_from(count).unwrap_or(u32::MAX));
    }

    /// Length and bytes.
    #[inline]
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.raw(bytes);
    }

    /// Length and UTF-8.
    #[inline]
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// One byte saying whether there is a text, then the text.
    #[inline]
    pub fn optional_text(&mut self, text: Option<&str>) {
        self.u8(u8::from(text.is_some()));
        if let Some(text) = text {
            self.text(text);
        }
    }

    /// What has been written.
    pub fn written(&self) -> &[u8] {
        &self.bytes
    }

    /// What was written.
    #[inline]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Takes little-endian fields off a slice. Every method fails where the bytes are not what it says.
pub struct Reader<'a> {
    left: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads from the first byte on.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { left: bytes }
    }

    /// The next `len` bytes.
    #[inline]
    pub fn raw(&mut self, len: usize) -> Result<&'a [u8], WireError> {
        let (head, tail) = self.left.split_at_checked(len).ok_or(WireError)?;
        self.left = tail;
        Ok(head)
    }

    /// The next `N` bytes.
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        self.raw(N)?.try_into().map_err(|_| WireError)
    }

    /// A byte.
    #[inline]
    pub fn u8(&mut self) -> Result<u8, WireError> {
        Ok(u8::from_le_bytes(self.array()?))
    }

    /// Two bytes.
    #[inline]
    pub fn u16(&mut self) -> Result<u16, WireError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Four bytes.
    #[inline]
    pub fn u32(&mut self) -> Result<u32, WireError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Eight bytes.
    #[inline]
    pub fn u64(&mut self) -> Result<u64, WireError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A byte that is 0 or 1.
    #[inline]
    pub fn flag(&mut self) -> Result<bool, WireError> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(WireError),
        }
    }

    /// A count of things of which each takes at least `smallest` bytes here.
    #[inline]
    pub fn count(&mut self, smallest: usize) -> Result<usize, WireError> {
        let count = usize::try_from(self.u32()?).map_err(|_| WireError)?;
        let needed = count.checked_mul(smallest.max(1)).ok_or(WireError)?;
        if needed > self.left.len() {
            Err(WireError)
        } else {
            Ok(count)
        }
    }

    /// Takes these bytes if they are the next ones.
    #[inline]
    pub fn consume(&mut self, bytes: &[u8]) -> bool {
        match self.left.strip_prefix(bytes) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// What [`Writer::bytes`] wrote.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let len = self.count(1)?;
        self.raw(len)
    }

    /// What [`Writer::text`] wrote.
    #[inline]
    pub fn text(&mut self) -> Result<String, WireError> {
        let bytes = self.bytes()?;
        Ok(std::str::from_utf8(bytes)
            .map_err(|_| WireError)?
            .to_owned())
    }

    /// What [`Writer::optional_text`] wrote.
    #[inline]
    pub fn optional_text(&mut self) -> Result<Option<String>, WireError> {
        if self.flag()? {
            self.text().map(Some)
        } else {
            Ok(None)
        }
    }

    /// Bytes that were not taken yet.
    #[inline]
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// Nothing may be left.
    #[inline]
    pub fn finish(self) -> Result<(), WireError> {
        if self.left.is_empty() {
            Ok(())
        } else {
            Err(WireError)
        }
    }
}
