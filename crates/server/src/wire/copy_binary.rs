//! COPY's binary format: a signature, then a row after another, each value behind its length in the binary form of its type
//! (PostgreSQL's documentation, "COPY", "Binary Format").
//!
//! What must hold: a length is believed when its bytes have come; what is left over behind the end is an error, and so is a row that
//! is cut off. The mark behind the last row may be missing, as in PostgreSQL: CopyDone says as much, and pgx sends no mark.

use super::parameter;
use crate::sql_error::SqlError;
use crate::wire::front::Format;
use hushdb::Value;

const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";
/// The longest row that is waited for.
const MOST_ROW: usize = 64 << 20;

/// What comes before the rows: signature, no flags, no extension.
pub(crate) fn header() -> Vec<u8> {
    [SIGNATURE.as_slice(), &[0; 8]].concat()
}

/// What comes behind them.
pub(crate) const TRAILER: [u8; 2] = (-1_i16).to_be_bytes();

/// Rows of what comes in pieces.
#[derive(Default)]
pub(crate) struct Tuples {
    bytes: Vec<u8>,
    /// How many of them were read.
    read: usize,
    began: bool,
    ended: bool,
}

fn bad(message: &str) -> SqlError {
    SqlError::new("22P04", message)
}

impl Tuples {
    /// # Errors
    /// A row that is longer than it may be.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), SqlError> {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend(bytes);
        match self.bytes.len() > MOST_ROW {
            true => Err(SqlError::new("54000", "a row of COPY is too long")),
            false => Ok(()),
        }
    }

    /// The next row that is whole; `None` until more comes.
    ///
    /// # Errors
    /// 22P04 for what is not the format, 22P03 for a value that is none of its type.
    pub(crate) fn next(&mut self, types: &[u32]) -> Result<Option<Vec<Value>>, SqlError> {
        let waiting = self.bytes.get(self.read..).unwrap_or_default();
        if !self.began {
            let Some((header, rest)) = waiting.split_at_checked(19) else {
                return Ok(None);
            };
            let (flags, length) = (number(header, 11)?, number(header, 15)?);
            if !header.starts_with(SIGNATURE) {
                return Err(bad("COPY file signature not recognized"));
            }
            // OIDs of rows, and whatever a later format has that must be understood.
            if flags != 0 {
                return Err(bad("unrecognized critical flags in COPY file header"));
            }
            let extension = usize::try_from(length);
            let extension = extension.map_err(|_| bad("invalid COPY file header"))?;
            if rest.len() < extension {
                return Ok(None);
            }
            (self.began, self.read) = (true, self.read + 19 + extension);
            return self.next(types);
        }
        if self.ended {
            return match waiting.is_empty() {
                true => Ok(None),
                false => Err(bad("received copy data after EOF marker")),
            };
        }
        let Some(count) = waiting
            .first_chunk()
            .map(|count| i16::from_be_bytes(*count))
        else {
            return Ok(None);
        };
        if count == -1 {
            (self.ended, self.read) = (true, self.read + 2);
            return self.next(types);
        }
        if usize::try_from(count) != Ok(types.len()) {
            return Err(bad(
                "a row has another number of fields than there are columns",
            ));
        }
        let (mut at, mut values) = (2, Vec::with_capacity(types.len()));
        for oid in types {
            let Some(length) = waiting.get(at..).and_then(|rest| rest.first_chunk()) else {
                return Ok(None);
            };
            let length = i32::from_be_bytes(*length);
            at += 4;
            let field = match usize::try_from(length) {
                Err(_) if length == -1 => None,
                Err(_) => return Err(bad("invalid field size")),
                Ok(length) => {
                    let Some(field) = waiting.get(at..).and_then(|rest| rest.get(..length)) else {
                        return Ok(None);
                    };
                    at += length;
                    Some(field)
                }
            };
            let value = parameter::read(*oid, Format::Binary, field);
            values.push(value.map_err(|(sqlstate, _)| {
                SqlError::new(sqlstate, "incorrect binary data format")
            })?);
        }
        self.read += at;
        Ok(Some(values))
    }

    /// # Errors
    /// 22P04 where the header is missing, or a row's end.
    pub(crate) fn end(&self) -> Result<(), SqlError> {
        match self.began && self.bytes.len() == self.read {
            true => Ok(()),
            false => Err(bad("unexpected EOF in COPY data")),
        }
    }
}

fn number(header: &[u8], at: usize) -> Result<i32, SqlError> {
    let bytes = header.get(at..).and_then(|rest| rest.first_chunk());
    let bytes = bytes.ok_or_else(|| bad("invalid COPY file header"))?;
    Ok(i32::from_be_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::oids;

    const TYPES: [u32; 2] = [oids::INT4, oids::TEXT];

    fn file(rows: &[&[u8]]) -> Vec<u8> {
        [header(), rows.concat(), TRAILER.to_vec()].concat()
    }

    fn all(pieces: &[&[u8]]) -> Result<Vec<Vec<Value>>, SqlError> {
        let (mut tuples, mut rows) = (Tuples::default(), vec![]);
        for piece in pieces {
            tuples.push(piece)?;
            while let Some(row) = tuples.next(&TYPES)? {
                rows.push(row);
            }
        }
        tuples.end().map(|()| rows)
    }

    const ROW: &[u8] = b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02ab";
    const NULLS: &[u8] = b"\0\x02\xff\xff\xff\xff\xff\xff\xff\xff";

    #[test]
    fn rows_are_read_however_they_come() {
        let file = file(&[ROW, NULLS]);
        let expected = [
            vec![Value::Integer(7), Value::Text("ab".into())],
            vec![Value::Null, Value::Null],
        ];
        assert_eq!(all(&[&file]).unwrap(), expected);
        let single: Vec<&[u8]> = file.chunks(1).collect();
        assert_eq!(all(&single).unwrap(), expected);
        assert_eq!(
            all(&[&super::header(), &TRAILER]).unwrap(),
            Vec::<Vec<Value>>::new()
        );
    }

    #[test]
    fn what_is_not_the_format_is_refused() {
        let whole = file(&[ROW]);
        // Behind the header, and behind the row, it may end.
        let unmarked = [super::header().len(), whole.len() - TRAILER.len()];
        for end in 0..whole.len() {
            let is_read = all(&[&whole[..end]]).is_ok();
            assert_eq!(is_read, unmarked.contains(&end), "{end}");
        }
        for row in [
            b"\0\x01\0\0\0\x04\0\0\0\x07".as_slice(),
            b"\0\x03\0\0\0\x04\0\0\0\x07\0\0\0\0\0\0\0\0",
            b"\xff\xfe",
            b"\0\x02\0\0\0\x03\0\0\x07\0\0\0\x02ab",
            b"\0\x02\xff\xff\xff\xfe\0\0\0\x02ab",
            b"\0\x02\x7f\xff\xff\xff\0\0\0\x02ab",
            b"\0\x02\0\0\0\x04\0\0\0\x07\0\0\0\x02\xff\xff",
        ] {
            assert!(all(&[&file(&[row])]).is_err(), "{row:?}");
        }
        assert!(all(&[&[whole.as_slice(), b"x"].concat()]).is_err());
        let mut flags = whole.clone();
        flags[13] = 1;
        assert!(all(&[&flags]).is_err());
        assert!(all(&[b"not PGCOPY at all"]).is_err());
    }
}
