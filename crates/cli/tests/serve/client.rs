//! A client of PostgreSQL's protocol over the Unix socket, as small as tests need it.

use crate::instance::Running;
use base64::prelude::{BASE64_STANDARD, Engine};
use hushdb::crypto::CryptoProvider;
use hushdb::keys::SecretKey;
use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::os::unix::net::UnixStream;

/// An error of the server.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) sqlstate: String,
    pub(crate) message: String,
    /// Of table, column and constraint, and the place in the text, each behind its code: `t=orders n=positive`, `P=8`.
    pub(crate) names: String,
}

/// What a statement gave.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// Types of its columns, if it has any.
    pub(crate) oids: Option<Vec<u32>>,
    pub(crate) rows: Vec<Vec<Option<String>>>,
    pub(crate) tag: String,
}

/// A session.
#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    /// Of the last ReadyForQuery.
    pub(crate) status: u8,
}

type Rows = Vec<Vec<Vec<u8>>>;

/// Types of parameters; names and types of columns.
type Described = (Vec<u32>, Vec<(String, u32)>);

/// A message with its length.
pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind];
    bytes.extend((body.len() as u32 + 4).to_be_bytes());
    bytes.extend(body);
    bytes
}

/// A startup packet.
pub(crate) fn startup(user: &str, database: &str) -> Vec<u8> {
    let body = format!("\0\x03\0\0user\0{user}\0database\0{database}\0\0");
    let mut bytes = (body.len() as u32 + 4).to_be_bytes().to_vec();
    bytes.extend(body.as_bytes());
    bytes
}

impl Client {
    pub(crate) fn connect(server: &Running, user: &str, database: &str, password: &str) -> Self {
        Self::try_connect(server, user, database, password).unwrap()
    }

    pub(crate) fn try_connect(
        server: &Running,
        user: &str,
        database: &str,
        password: &str,
    ) -> Result<Self, Refusal> {
        let stream = UnixStream::connect(server.socket()).unwrap();
        let mut client = Self { stream, status: 0 };
        client.send(&startup(user, database));
        client.expect(b'R')?;
        let first = "n,,n=,r=abcdefgh";
        let mut body = b"SCRAM-SHA-256\0".to_vec();
        body.extend((first.len() as u32).to_be_bytes());
        body.extend(first.as_bytes());
        client.send(&message(b'p', &body));
        let challenge = client.expect(b'R')?;
        let challenge = String::from_utf8(challenge[4..].to_vec()).unwrap();
        client.send(&message(b'p', proof(password, &challenge).as_bytes()));
        client.expect(b'R')?;
        client.until_ready()?;
        Ok(client)
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The next message.
    fn next(&mut self) -> Option<(u8, Vec<u8>)> {
        let mut head = [0; 5];
        self.stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4;
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some((head[0], body))
    }

    fn expect(&mut self, kind: u8) -> Result<Vec<u8>, Refusal> {
        match self.next().ok_or_else(gone)? {
            (b'E', body) => Err(refusal(&body)),
            (is, body) if is == kind => Ok(body),
            (is, _) => panic!("{} came", is as char),
        }
    }

    /// All messages up to ReadyForQuery.
    fn until_ready(&mut self) -> Result<Vec<(u8, Vec<u8>)>, Refusal> {
        let (mut all, mut error) = (vec![], None);
        loop {
            match self.next() {
                Some((b'Z', body)) => {
                    self.status = body[0];
                    return error.map_or(Ok(all), Err);
                }
                Some((b'E', body)) => error = Some(refusal(&body)),
                Some(other) => all.push(other),
                None => return Err(error.unwrap_or_else(gone)),
            }
        }
    }

    /// What comes of messages and a Sync behind them.
    pub(crate) fn synced(&mut self, bytes: &[u8]) -> Result<(), Refusal> {
        self.send(bytes);
        self.send(&message(b'S', b""));
        self.until_ready().map(drop)
    }

    fn query(&mut self, sql: &str) -> Result<Vec<(u8, Vec<u8>)>, Refusal> {
        // What a server said before it went is still read.
        let sent = message(b'Q', format!("{sql}\0").as_bytes());
        let _ = self.stream.write_all(&sent);
        self.until_ready()
    }

    /// Runs a text, of which a COPY FROM STDIN gets nothing.
    pub(crate) fn query_or_copy(&mut self, sql: &str) -> Result<(), Refusal> {
        self.send(&message(b'Q', format!("{sql}\0").as_bytes()));
        let mut error = None;
        loop {
            match self.next() {
                Some((b'Z', body)) => {
                    self.status = body[0];
                    return error.map_or(Ok(()), Err);
                }
                Some((b'E', body)) => error = Some(refusal(&body)),
                Some((b'G', body)) => {
                    // A file in binary has a head and an end of its own.
                    if body[0] == 1 {
                        let file = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\xff\xff";
                        self.send(&message(b'd', file));
                    }
                    self.send(&message(b'c', b""));
                }
                Some(_) => {}
                None => return Err(error.expect("the server says why it goes")),
            }
        }
    }

    /// Runs a text; gives the tags.
    pub(crate) fn run(&mut self, sql: &str) -> Result<Vec<String>, Refusal> {
        let all = self.query(sql)?;
        Ok(all
            .iter()
            .filter(|(kind, _)| *kind == b'C')
            .map(|(_, body)| text(body))
            .collect())
    }

    /// Rows of a text, as text.
    pub(crate) fn rows(&mut self, sql: &str) -> Vec<Vec<String>> {
        let all = self.query(sql).unwrap();
        let rows = all
            .iter()
            .filter(|(kind, _)| *kind == b'D')
            .map(|(_, body)| row(body));
        rows.map(|row| {
            row.into_iter()
                .map(|v| String::from_utf8(v).unwrap())
                .collect()
        })
        .collect()
    }

    /// What a statement gives, by a simple or an extended query.
    pub(crate) fn table(&mut self, sql: &str, extended: bool) -> Result<Table, Refusal> {
        let all = match extended {
            false => self.query(sql)?,
            true => {
                let mut bytes = parse(sql);
                bytes.extend(bind(&[], false));
                bytes.extend(message(b'D', b"P\0"));
                bytes.extend(message(b'E', b"\0\0\0\0\0"));
                bytes.extend(message(b'S', b""));
                self.send(&bytes);
                self.until_ready()?
            }
        };
        let mut table = Table::default();
        for (kind, body) in all {
            match kind {
                b'T' => {
                    let columns = columns(&body).into_iter();
                    table.oids = Some(columns.map(|(_, oid)| oid).collect());
                }
                b'D' => table.rows.push(cells(&body)),
                b'C' => table.tag = text(&body),
                _ => {}
            }
        }
        Ok(table)
    }

    /// Types of parameters, and names and types of columns.
    pub(crate) fn describe(&mut self, sql: &str) -> Result<Described, Refusal> {
        let mut bytes = parse(sql);
        bytes.extend(message(b'D', b"S\0"));
        bytes.extend(message(b'S', b""));
        self.send(&bytes);
        let (mut types, mut columns) = (vec![], vec![]);
        for (kind, body) in self.until_ready()? {
            match kind {
                b't' => {
                    types = body[2..]
                        .chunks(4)
                        .map(|b| u32::from_be_bytes(b.try_into().unwrap()))
                        .collect()
                }
                b'T' => columns = self::columns(&body),
                _ => {}
            }
        }
        Ok((types, columns))
    }

    /// What `SELECT $1` gives for a value of a type: the type of the column, and the value.
    pub(crate) fn echo(
        &mut self,
        oid: u32,
        value: &[u8],
        in_binary: bool,
        out_binary: bool,
    ) -> Result<(u32, Vec<u8>), Refusal> {
        let one = 1_u16.to_be_bytes();
        let format = |binary: bool| u16::from(binary).to_be_bytes();
        let types = [&one, oid.to_be_bytes().as_slice()].concat();
        let mut bytes = message(b'P', &[b"\0SELECT $1\0".as_slice(), &types].concat());
        let (length, taken) = ((value.len() as u32).to_be_bytes(), format(in_binary));
        let bound = [b"\0\0", one.as_slice(), &taken, &one, &length, value, &one];
        bytes.extend(message(
            b'B',
            &[bound.concat(), format(out_binary).to_vec()].concat(),
        ));
        bytes.extend(message(b'D', b"P\0"));
        bytes.extend(message(b'E', b"\0\0\0\0\0"));
        bytes.extend(message(b'S', b""));
        self.send(&bytes);
        let (mut found, mut given) = (0, vec![]);
        for (kind, body) in self.until_ready()? {
            match kind {
                b'T' => found = columns(&body).first().map_or(0, |(_, oid)| *oid),
                b'D' => given = row(&body).remove(0),
                _ => {}
            }
        }
        Ok((found, given))
    }

    /// Rows of a statement with these values in text, at most so many, and its tag or `suspended`.
    pub(crate) fn extended(
        &mut self,
        sql: &str,
        values: &[Option<&str>],
        most: u32,
        binary: bool,
    ) -> Result<(Rows, String), Refusal> {
        let mut bytes = parse(sql);
        bytes.extend(bind(values, binary));
        self.send(&bytes);
        self.execute_on(most)
    }

    /// More rows of the portal without a name.
    pub(crate) fn execute_on(&mut self, most: u32) -> Result<(Rows, String), Refusal> {
        let mut bytes = message(b'E', &[b"\0".as_slice(), &most.to_be_bytes()].concat());
        bytes.extend(message(b'S', b""));
        self.send(&bytes);
        let (mut rows, mut end) = (vec![], String::new());
        for (kind, body) in self.until_ready()? {
            match kind {
                b'D' => rows.push(row(&body)),
                b'C' => end = text(&body),
                b's' => end = "suspended".into(),
                _ => {}
            }
        }
        Ok((rows, end))
    }

    /// Statements that are sent together, before one Sync.
    pub(crate) fn pipeline(&mut self, statements: &[&str]) -> Result<(), Refusal> {
        let mut bytes = vec![];
        for sql in statements {
            bytes.extend(parse(sql));
            bytes.extend(bind(&[], false));
            bytes.extend(message(b'E', b"\0\0\0\0\0"));
        }
        bytes.extend(message(b'S', b""));
        self.send(&bytes);
        self.until_ready().map(drop)
    }

    /// The tag of a COPY FROM STDIN of these pieces.
    pub(crate) fn copy_in(&mut self, sql: &str, pieces: &[&[u8]]) -> Result<String, Refusal> {
        self.send(&message(b'Q', format!("{sql}\0").as_bytes()));
        self.expect(b'G')?;
        for piece in pieces {
            self.send(&message(b'd', piece));
        }
        self.send(&message(b'c', b""));
        let all = self.until_ready()?;
        Ok(text(&all.last().unwrap().1))
    }

    pub(crate) fn copy_out(&mut self, sql: &str) -> String {
        String::from_utf8(self.copy_out_bytes(sql)).unwrap()
    }

    /// All that a COPY TO STDOUT sends.
    pub(crate) fn copy_out_bytes(&mut self, sql: &str) -> Vec<u8> {
        let all = self.query(sql).unwrap();
        let data = all
            .into_iter()
            .filter(|(kind, _)| *kind == b'd')
            .flat_map(|(_, body)| body);
        data.collect()
    }

    pub(crate) fn close(mut self) {
        self.send(&message(b'X', b""));
    }
}

fn parse(sql: &str) -> Vec<u8> {
    message(b'P', format!("\0{sql}\0\0\0").as_bytes())
}

fn bind(values: &[Option<&str>], binary: bool) -> Vec<u8> {
    let mut body = b"\0\0\0\0".to_vec();
    body.extend((values.len() as u16).to_be_bytes());
    for value in values {
        match value {
            None => body.extend((-1_i32).to_be_bytes()),
            Some(value) => {
                body.extend((value.len() as u32).to_be_bytes());
                body.extend(value.as_bytes());
            }
        }
    }
    body.extend([0, 1, 0, u8::from(binary)]);
    message(b'B', &body)
}

fn text(body: &[u8]) -> String {
    let end = body.iter().position(|byte| *byte == 0).unwrap();
    String::from_utf8(body[..end].to_vec()).unwrap()
}

/// Names and types of the columns that a RowDescription has.
fn columns(body: &[u8]) -> Vec<(String, u32)> {
    let (mut columns, mut rest) = (vec![], &body[2..]);
    while !rest.is_empty() {
        let name = text(rest);
        let after = &rest[name.len() + 1..];
        columns.push((name, u32::from_be_bytes(after[6..10].try_into().unwrap())));
        rest = &after[18..];
    }
    columns
}

/// The values of a row, as text.
fn cells(body: &[u8]) -> Vec<Option<String>> {
    let (mut values, mut rest) = (vec![], &body[2..]);
    while !rest.is_empty() {
        let length = i32::from_be_bytes(rest[..4].try_into().unwrap());
        rest = &rest[4..];
        values.push(usize::try_from(length).ok().map(|length| {
            let (value, behind) = rest.split_at(length);
            rest = behind;
            String::from_utf8(value.to_vec()).unwrap()
        }));
    }
    values
}

fn row(body: &[u8]) -> Vec<Vec<u8>> {
    let (mut values, mut rest) = (vec![], &body[2..]);
    while !rest.is_empty() {
        let length = i32::from_be_bytes(rest[..4].try_into().unwrap());
        let length = usize::try_from(length).unwrap_or(0);
        values.push(rest[4..4 + length].to_vec());
        rest = &rest[4 + length..];
    }
    values
}

fn gone() -> Refusal {
    Refusal {
        sqlstate: String::new(),
        message: "the server has gone".into(),
        names: String::new(),
    }
}

pub(crate) fn refusal(body: &[u8]) -> Refusal {
    let fields = body
        .split(|byte| *byte == 0)
        .map(|field| String::from_utf8_lossy(field).into_owned());
    let (mut sqlstate, mut message) = (String::new(), String::new());
    let mut names = vec![];
    for field in fields {
        match field.chars().next() {
            Some('C') => sqlstate = field[1..].into(),
            Some('M') => message = field[1..].into(),
            Some(code @ ('t' | 'c' | 'n' | 'P')) => names.push(format!("{code}={}", &field[1..])),
            _ => {}
        }
    }
    Refusal {
        sqlstate,
        message,
        names: names.join(" "),
    }
}

/// The client's last message of SCRAM-SHA-256 (RFC 5802).
fn proof(password: &str, challenge: &str) -> String {
    let crypto = CryptoProvider::portable();
    let field = |name| {
        challenge
            .split(',')
            .find_map(|f| f.strip_prefix(name))
            .unwrap()
    };
    let salt = BASE64_STANDARD.decode(field("s=")).unwrap();
    let rounds = NonZeroU32::new(field("i=").parse().unwrap()).unwrap();
    let salted = crypto.pbkdf2_hmac_sha256(password.as_bytes(), &salt, rounds);
    let key = crypto.hmac_sha256(&salted, &[b"Client Key"]);
    let stored = SecretKey::from_bytes(crypto.sha256(&[&key]));
    let last = format!("c=biws,r={}", field("r="));
    let signed = format!("n=,r=abcdefgh,{challenge},{last}");
    let mut proof = crypto.hmac_sha256(&stored, &[signed.as_bytes()]);
    proof.iter_mut().zip(key).for_each(|(a, b)| *a ^= b);
    format!("{last},p={}", BASE64_STANDARD.encode(proof))
}
