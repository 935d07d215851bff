//! What a client says: the messages of a session that is in order.

use super::body::Body;
use super::frame::Frame;
use crate::violation::Violation;

/// Values that a Bind may carry; the count is of 16 bits.
pub(crate) const MOST_PARAMETERS: usize = 65_535;

/// A message of a client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Query(String),
    Parse {
        name: String,
        sql: String,
        /// OIDs; 0 for a type that is not given.
        types: Vec<u32>,
    },
    Bind(Bind),
    Describe(Named),
    Close(Named),
    Execute {
        portal: String,
        /// Rows at most; 0 for all.
        most: u32,
    },
    Sync,
    Flush,
    CopyData(Vec<u8>),
    CopyDone,
    CopyFail,
    /// The old call of a function by its OID.
    FunctionCall,
    Terminate,
}

/// A statement or a portal, by its name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Statement(String),
    Portal(String),
}

/// A Bind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bind {
    pub(crate) portal: String,
    pub(crate) statement: String,
    pub(crate) formats: Formats,
    pub(crate) values: Vec<Option<Vec<u8>>>,
    pub(crate) results: Formats,
}

/// How values are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Binary,
}

/// The formats of a row: none means text, one means it for all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Formats(Vec<Format>);

impl Formats {
    /// Binary for all columns.
    pub(crate) fn binary() -> Self {
        Self(vec![Format::Binary])
    }

    /// The format of a column.
    pub(crate) fn of(&self, column: usize) -> Format {
        match self.0.as_slice() {
            [] => Format::Text,
            [one] => *one,
            many => many.get(column).copied().unwrap_or(Format::Text),
        }
    }

    /// Whether they are for this many columns.
    pub(crate) fn fit(&self, columns: usize) -> bool {
        self.0.len() <= 1 || self.0.len() == columns
    }

    fn read(body: &mut Body<'_>) -> Result<Self, Violation> {
        let count = body.u16()?;
        let formats = (0..count).map(|_| match body.u16()? {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            _ => Err(Violation::new("a format is neither text nor binary")),
        });
        formats.collect::<Result<_, _>>().map(Self)
    }
}

/// Reads a message.
///
/// # Errors
/// Fields that are missing, left over or not text.
pub(crate) fn read(frame: Frame) -> Result<Front, Violation> {
    if frame.kind == b'd' {
        return Ok(Front::CopyData(frame.body));
    }
    let mut body = Body::new(&frame.body);
    let front = match frame.kind {
        b'Q' => Front::Query(body.text()?.to_owned()),
        b'P' => parse(&mut body)?,
        b'B' => Front::Bind(bind(&mut body)?),
        b'D' => Front::Describe(named(&mut body)?),
        b'C' => Front::Close(named(&mut body)?),
        b'E' => Front::Execute {
            portal: body.text()?.to_owned(),
            // A negative limit means none, as in PostgreSQL.
            most: u32::try_from(body.i32()?).unwrap_or(0),
        },
        b'S' => Front::Sync,
        b'H' => Front::Flush,
        b'c' => Front::CopyDone,
        b'f' => {
            body.text()?;
            Front::CopyFail
        }
        b'F' => {
            body.rest();
            Front::FunctionCall
        }
        b'X' => Front::Terminate,
        _ => return Err(Violation::new("a message of this type is not known")),
    };
    body.end()?;
    Ok(front)
}

fn parse(body: &mut Body<'_>) -> Result<Front, Violation> {
    let (name, sql) = (body.text()?.to_owned(), body.text()?.to_owned());
    let count = body.u16()?;
    let types = (0..count).map(|_| body.u32());
    Ok(Front::Parse {
        name,
        sql,
        types: types.collect::<Result<_, _>>()?,
    })
}

fn bind(body: &mut Body<'_>) -> Result<Bind, Violation> {
    let (portal, statement) = (body.text()?.to_owned(), body.text()?.to_owned());
    let formats = Formats::read(body)?;
    let count = usize::from(body.u16()?);
    debug_assert!(count <= MOST_PARAMETERS);
    if !formats.fit(count) {
        return Err(Violation::new(
            "a Bind has another number of parameter formats than of parameters",
        ));
    }
    let values = (0..count).map(|_| Ok(body.value()?.map(<[u8]>::to_vec)));
    Ok(Bind {
        portal,
        statement,
        formats,
        values: values.collect::<Result<_, _>>()?,
        results: Formats::read(body)?,
    })
}

fn named(body: &mut Body<'_>) -> Result<Named, Violation> {
    match body.byte()? {
        b'S' => Ok(Named::Statement(body.text()?.to_owned())),
        b'P' => Ok(Named::Portal(body.text()?.to_owned())),
        _ => Err(Violation::new("neither a statement nor a portal is named")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Result<Front, Violation> {
        read(Frame {
            kind,
            body: body.to_vec(),
        })
    }

    #[test]
    fn messages_are_read() {
        assert_eq!(message(b'Q', b"x\0"), Ok(Front::Query("x".into())));
        let parse = message(b'P', b"s\0select $1\0\0\x01\0\0\0\x17");
        let types = vec![23];
        let (name, sql) = ("s".into(), "select $1".into());
        assert_eq!(parse, Ok(Front::Parse { name, sql, types }));
        let bind = message(
            b'B',
            b"\0s\0\0\x01\0\x01\0\x02\0\0\0\x01a\xff\xff\xff\xff\0\x01\0\x01",
        );
        let Ok(Front::Bind(bind)) = bind else {
            panic!("{bind:?}")
        };
        assert_eq!(bind.values, [Some(b"a".to_vec()), None]);
        assert_eq!(bind.formats.of(1), Format::Binary);
        assert_eq!(bind.results.of(9), Format::Binary);
    }

    #[test]
    fn hostile_messages_are_violations() {
        for (kind, body) in [
            (b'Q', &b""[..]),
            (b'Q', b"no end"),
            (b'Q', b"a\0b\0"),
            (b'Q', b"\xc3\x28\0"),
            (b'P', b"\0x\0\xff\xff"),
            (b'B', b"\0\0\0\0\xff\xff\0\0\0\x01"),
            (b'B', b"\0\0\0\x01\0\x02\0\0\0\0"),
            (b'B', b"\0\0\0\x02\0\0\0\0\0\x01\xff\xff\xff\xff\0\0"),
            (b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff\0\0"),
            (b'D', b"X\0"),
            (b'E', b"p\0\0\0\0"),
            (b'S', b"x"),
        ] {
            assert!(message(kind, body).is_err(), "{kind} {body:?}");
        }
    }
}
