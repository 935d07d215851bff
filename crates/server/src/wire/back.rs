//! What the server says: messages written into a buffer, which the session sends when it is full or has to be read.

use super::front::Formats;
use super::row::Rows;
use arrow::error::ArrowError;
use hushdb::Subject;

/// Messages that were not sent yet.
#[derive(Default)]
pub(crate) struct Out {
    bytes: Vec<u8>,
}

/// The fields of an error or a notice.
pub(crate) struct Report<'a> {
    /// `ERROR`, `FATAL`, `NOTICE`, `WARNING`.
    pub(crate) severity: &'static str,
    pub(crate) sqlstate: &'a str,
    pub(crate) message: &'a str,
    pub(crate) hint: Option<&'a str>,
    /// Where it happened, such as the line of a COPY.
    pub(crate) context: Option<&'a str>,
    pub(crate) subject: Option<&'a Subject>,
    pub(crate) position: Option<usize>,
}

/// A column, as RowDescription says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnHead {
    pub(crate) name: String,
    pub(crate) oid: u32,
    /// Bytes of a value, or -1 where they differ.
    pub(crate) size: i16,
    pub(crate) modifier: i32,
}

/// Bytes after which what was written is sent.
pub(crate) const FULL: usize = 64 << 10;

impl Out {
    /// What is to be sent.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether it should be sent before more is written.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= FULL
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// All of it was sent.
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.shrink_to(FULL * 2);
    }

    /// Writes a message, whose length is put in behind its body.
    pub(crate) fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        self.bytes.push(kind);
        let at = self.bytes.len();
        self.bytes.extend([0; 4]);
        body(&mut self.bytes);
        let length = u32::try_from(self.bytes.len() - at).unwrap_or(u32::MAX);
        if let Some(place) = self.bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&length.to_be_bytes());
        }
    }

    /// A message without a body.
    pub(crate) fn bare(&mut self, kind: u8) {
        self.message(kind, |_| ());
    }

    /// AuthenticationOk, or another request with its data.
    pub(crate) fn authentication(&mut self, code: u32, data: &[u8]) {
        self.message(b'R', |body| {
            body.extend(code.to_be_bytes());
            body.extend(data);
        });
    }

    pub(crate) fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |body| {
            text(body, name);
            text(body, value);
        });
    }

    pub(crate) fn key_data(&mut self, session: u32, secret: u32) {
        self.message(b'K', |body| {
            body.extend(session.to_be_bytes());
            body.extend(secret.to_be_bytes());
        });
    }

    pub(crate) fn negotiate(&mut self, unknown: &[String]) {
        self.message(b'v', |body| {
            body.extend(0_u32.to_be_bytes());
            body.extend((unknown.len() as u32).to_be_bytes());
            unknown.iter().for_each(|name| text(body, name));
        });
    }

    /// `I`, `T` or `E`: what the transaction is.
    pub(crate) fn ready(&mut self, status: u8) {
        self.message(b'Z', |body| body.push(status));
    }

    pub(crate) fn complete(&mut self, tag: &str) {
        self.message(b'C', |body| text(body, tag));
    }

    pub(crate) fn report(&mut self, report: &Report<'_>) {
        let kind = match report.severity {
            "ERROR" | "FATAL" => b'E',
            _ => b'N',
        };
        self.message(kind, |body| {
            let mut field = |code: u8, value: &str| {
                body.push(code);
                text(body, value);
            };
            field(b'S', report.severity);
            field(b'V', report.severity);
            field(b'C', report.sqlstate);
            field(b'M', report.message);
            if let Some(hint) = report.hint {
                field(b'H', hint);
            }
            if let Some(context) = report.context {
                field(b'W', context);
            }
            if let Some(position) = report.position {
                field(b'P', &position.to_string());
            }
            if let Some(Subject {
                table,
                column,
                constraint,
            }) = report.subject
            {
                let names = [(b't', table), (b'c', column), (b'n', constraint)];
                for (code, name) in names {
                    if let Some(name) = name {
                        field(code, name);
                    }
                }
            }
            body.push(0);
        });
    }

    pub(crate) fn row_description(
        &mut self,
        columns: &[ColumnHead],
        binary: impl Fn(usize) -> bool,
    ) {
        self.message(b'T', |body| {
            body.extend((columns.len() as u16).to_be_bytes());
            for (at, column) in columns.iter().enumerate() {
                text(body, &column.name);
                // No column of a table is named: 0 is what a computed one has.
                body.extend(0_u32.to_be_bytes());
                body.extend(0_u16.to_be_bytes());
                body.extend(column.oid.to_be_bytes());
                body.extend(column.size.to_be_bytes());
                body.extend(column.modifier.to_be_bytes());
                body.extend(u16::from(binary(at)).to_be_bytes());
            }
        });
    }

    pub(crate) fn parameter_description(&mut self, oids: &[u32]) {
        self.message(b't', |body| {
            body.extend((oids.len() as u16).to_be_bytes());
            oids.iter().for_each(|oid| body.extend(oid.to_be_bytes()));
        });
    }

    /// A row of a result.
    ///
    /// # Errors
    /// A value that has no form on the wire; nothing of the row is written then.
    pub(crate) fn row(
        &mut self,
        rows: &Rows,
        row: usize,
        formats: &Formats,
    ) -> Result<(), ArrowError> {
        let before = self.bytes.len();
        let mut written = Ok(());
        self.message(b'D', |body| written = rows.write(row, formats, body));
        if written.is_err() {
            self.bytes.truncate(before);
        }
        written
    }

    /// CopyInResponse (`G`) or CopyOutResponse (`H`), in text or in binary.
    pub(crate) fn copy_response(&mut self, kind: u8, columns: usize, binary: bool) {
        self.message(kind, |body| {
            body.push(u8::from(binary));
            body.extend((columns as u16).to_be_bytes());
            (0..columns).for_each(|_| body.extend(u16::from(binary).to_be_bytes()));
        });
    }

    pub(crate) fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |body| body.extend(data));
    }
}

/// Text and its zero byte. A zero byte within would end it early, and is left out.
fn text(body: &mut Vec<u8>, text: &str) {
    body.extend(text.bytes().filter(|byte| *byte != 0));
    body.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_count_themselves() {
        let mut out = Out::default();
        out.ready(b'I');
        out.complete("SELECT 1");
        assert_eq!(out.bytes(), b"Z\0\0\0\x05IC\0\0\0\x0dSELECT 1\0");
    }

    #[test]
    fn a_zero_byte_ends_no_text_early() {
        let mut out = Out::default();
        out.complete("a\0b");
        assert_eq!(out.bytes(), b"C\0\0\0\x07ab\0");
    }
}
