//! What a hostile client may send, item by item: the answer that it gets, and after each the server is alive, lets others in, and holds no
//! more memory than before.
//!
//! Beside it stand `hostile.rs` (500 wrong passwords at once) and the units of `server/src/wire` (every cut of a binary value, COPY lines).

use crate::client::{Client, message, refusal, startup};
use crate::instance::{PASSWORD, Running, made};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// A name, and what is done to the server.
type Item = (&'static str, fn(&Running));

const ITEMS: [Item; 16] = [
    ("garbage, and HTTP, before a startup", garbage_first),
    ("startups that are none", startups),
    ("protocols 2.0, 3.9 and 4.0", protocols),
    (
        "wishes for encryption twice, mixed, with bytes behind",
        encryption,
    ),
    ("messages out of state", out_of_state),
    ("lengths 0, 3, 2^31-1 and -1 of every message", lengths),
    ("every cut of a session", cuts),
    (
        "every change of a byte of a startup and of a session",
        changes,
    ),
    (
        "counts that exceed their message, and formats that are none",
        counts,
    ),
    ("70,000 parameters", parameters),
    ("portals and statements that are not there", unknown),
    ("20,000 Parse of one name, and of none", parses),
    ("COPY in binary with wild lengths", copy_binary),
    ("a byte at a time after the password", slow_sessions),
    ("a client that never reads", never_reads),
    ("10,000 connections", connections),
];

#[test]
fn every_hostile_message_has_its_answer() {
    let place = made();
    let mut server = Running::start(place.path());
    // What every server comes to hold: caches, a stack for each thread of the pool.
    (ITEMS[4].1)(&server);
    let before = server.resident_mib();
    for (name, item) in ITEMS {
        let began = Instant::now();
        item(&server);
        assert!(server.is_alive(), "{name}");
        let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
        assert_eq!(client.rows("SELECT 1"), [["1"]], "{name}");
        client.close();
        let now = server.resident_mib();
        let took = began.elapsed();
        let _ = writeln!(std::io::stderr(), "{name}: {took:?}, {now} MiB");
        assert!(now < before + 128, "{name}: {now} MiB after {before}");
    }
    server.stop();
}

fn packet(body: &[u8]) -> Vec<u8> {
    [(body.len() as u32 + 4).to_be_bytes().as_slice(), body].concat()
}

/// All that comes back for bytes behind which nothing follows.
fn answer(server: &Running, bytes: &[u8]) -> Vec<u8> {
    let stream = UnixStream::connect(server.socket()).unwrap();
    rest(stream, bytes)
}

fn rest(mut stream: UnixStream, bytes: &[u8]) -> Vec<u8> {
    let limit = Some(Duration::from_secs(20));
    stream.set_read_timeout(limit).unwrap();
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = vec![];
    if let Err(error) = stream.read_to_end(&mut answer) {
        // It has hung up without reading all that was sent.
        assert_eq!(
            error.kind(),
            ErrorKind::ConnectionReset,
            "it answers, or hangs up"
        );
    }
    answer
}

/// What comes back in a session.
fn in_session(server: &Running, bytes: &[u8]) -> Vec<u8> {
    rest(
        Client::connect(server, "hush", "hush", PASSWORD).stream,
        bytes,
    )
}

/// The SQLSTATEs of errors among messages.
fn errors(mut answer: &[u8]) -> Vec<String> {
    let mut errors = vec![];
    while let Some((head, _)) = answer.split_at_checked(5) {
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let Some(body) = answer.get(5..length + 1) else {
            break;
        };
        if head[0] == b'E' {
            errors.push(refusal(body).sqlstate);
        }
        answer = &answer[length + 1..];
    }
    errors
}

fn garbage_first(server: &Running) {
    for bytes in [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(),
        &[0xff; 64],
        &[0x16, 3, 1, 2, 0, 1, 0, 1],
        b"\0",
        b"",
    ] {
        let errors = errors(&answer(server, bytes));
        let is_cut = bytes.len() < 4;
        assert!(
            errors == ["08P01"] || is_cut && errors.is_empty(),
            "{bytes:?}: {errors:?}"
        );
    }
}

fn startups(server: &Running) {
    for (bytes, sqlstate) in [
        (packet(b"\0\x03\0\0\0"), "28000"),
        (packet(b"\0\x03\0\0user\0a"), "08P01"),
        (packet(b"\0\x03\0\0user\0\xff\0\0"), "22021"),
        (10_001_u32.to_be_bytes().to_vec(), "08P01"),
        (packet(&[b'x'; 9_997]), "08P01"),
        (packet(b"\0\x03\0\0database\0x\0\0"), "28000"),
    ] {
        let errors = errors(&answer(server, &bytes));
        assert!(
            errors == [sqlstate] || errors == ["0A000"],
            "{errors:?} for {sqlstate}"
        );
    }
}

fn protocols(server: &Running) {
    for version in [b"\0\x02\0\0", b"\0\x04\0\0"] {
        let bytes = packet(&[version.as_slice(), b"user\0a\0\0"].concat());
        assert_eq!(errors(&answer(server, &bytes)), ["0A000"]);
    }
    // A newer minor protocol is told which one is spoken, and goes on.
    let newer = answer(server, &packet(b"\0\x03\0\x09user\0hush\0\0"));
    assert_eq!(newer.first(), Some(&b'v'));
    let option = answer(server, &packet(b"\0\x03\0\0user\0hush\0_pq_.x\0y\0\0"));
    assert_eq!(option.first(), Some(&b'v'));
}

fn encryption(server: &Running) {
    let tls = packet(&80_877_103_u32.to_be_bytes());
    let gss = packet(&80_877_104_u32.to_be_bytes());
    let after = |first: &[u8], expected: u8, then: &[u8]| {
        let mut stream = UnixStream::connect(server.socket()).unwrap();
        stream.write_all(first).unwrap();
        let mut one = [0];
        stream.read_exact(&mut one).unwrap();
        assert_eq!(one[0], expected);
        rest(stream, then)
    };
    // A second one is no TLS.
    assert!(!after(&tls, b'S', &tls).starts_with(b"S"));
    assert_eq!(after(&gss, b'N', &tls).first(), Some(&b'S'));
    assert_eq!(errors(&after(&gss, b'N', &gss)), ["08P01"]);
    for behind in [
        [tls.as_slice(), b"x"].concat(),
        [tls, startup("hush", "hush")].concat(),
    ] {
        assert_eq!(errors(&answer(server, &behind)), ["08P01"]);
    }
}

fn out_of_state(server: &Running) {
    for bytes in [
        message(b'Q', b"SELECT 1\0"),
        message(b'S', b""),
        message(b'X', b""),
    ] {
        let both = [startup("hush", "hush"), bytes].concat();
        assert_eq!(errors(&answer(server, &both)), ["08P01"]);
    }
    let mechanism = [startup("hush", "hush"), message(b'p', b"PLAIN\0\0\0\0\0")].concat();
    assert_eq!(errors(&answer(server, &mechanism)).len(), 1);
    assert_eq!(
        errors(&in_session(server, &message(b'p', b"late\0"))),
        ["08P01"]
    );
    let copy = [
        message(b'd', b"x"),
        message(b'c', b""),
        message(b'f', b"x\0"),
    ]
    .concat();
    assert!(errors(&in_session(server, &copy)).is_empty());
    // Within COPY.
    let query = message(
        b'Q',
        b"CREATE TABLE IF NOT EXISTS hostile (i INT); COPY hostile FROM STDIN\0",
    );
    let twice = [query.as_slice(), &query].concat();
    assert_eq!(errors(&in_session(server, &twice)), ["08P01"]);
}

fn lengths(server: &Running) {
    for kind in *b"QPBDECSHXFdcf\x01z" {
        for length in [0_u32, 3, i32::MAX as u32, u32::MAX] {
            let bytes = [&[kind], length.to_be_bytes().as_slice()].concat();
            assert_eq!(
                errors(&in_session(server, &bytes)),
                ["08P01"],
                "{kind} {length}"
            );
        }
    }
}

/// A session with every kind of message, in which all is well.
fn session() -> Vec<u8> {
    [
        message(b'Q', b"BEGIN; SELECT 1, 'two'\0"),
        message(b'P', b"s\0SELECT $1::int + 1\0\0\x01\0\0\0\x17"),
        message(b'D', b"Ss\0"),
        message(
            b'B',
            b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\x07\0\x01\0\x01",
        ),
        message(b'D', b"Pp\0"),
        message(b'E', b"p\0\0\0\0\0"),
        message(b'H', b""),
        message(b'C', b"Pp\0"),
        message(b'S', b""),
        message(b'Q', b"COPY (SELECT 1) TO STDOUT\0"),
        message(b'X', b""),
    ]
    .concat()
}

fn cuts(server: &Running) {
    let session = session();
    assert!(errors(&in_session(server, &session)).is_empty());
    for end in 0..session.len() {
        let errors = errors(&in_session(server, &session[..end]));
        assert!(errors.is_empty(), "{end}: {errors:?}");
    }
    let first = startup("hush", "hush");
    for end in 0..first.len() {
        assert!(answer(server, &first[..end]).is_empty(), "{end}");
    }
}

fn changes(server: &Running) {
    for (at, _) in startup("hush", "hush").iter().enumerate() {
        for flip in [0x01, 0x80] {
            let mut bytes = startup("hush", "hush");
            bytes[at] ^= flip;
            answer(server, &bytes);
        }
    }
    for at in 0..session().len() {
        let mut bytes = session();
        bytes[at] ^= if at % 2 == 0 { 0x01 } else { 0x80 };
        in_session(server, &bytes);
    }
}

fn counts(server: &Running) {
    let synced = |bytes: &[u8]| in_session(server, &[bytes, &message(b'S', b"")].concat());
    for body in [
        b"\0\0\x7f\xff".as_slice(),
        b"\0\0\0\x01\0\x02\0\0\0\0",
        b"\0\0\0\0\0\x01\x7f\xff\xff\xff",
        b"\0\0\0\0\0\x01\xff\xff\xff\xfe",
        b"\0\0\0\0\0\0\xff\xff",
        b"\0\0\0\0\0\0\0\x01\0\x02",
    ] {
        assert_eq!(errors(&synced(&message(b'B', body))), ["08P01"], "{body:?}");
    }
    assert_eq!(
        errors(&synced(&message(b'P', b"\0SELECT 1\0\xff\xff"))),
        ["08P01"]
    );
}

fn parameters(server: &Running) {
    let mut client = Client::connect(server, "hush", "hush", PASSWORD);
    for text in [
        "SELECT $70000::int",
        "SELECT $0::int",
        "SELECT $99999999999999999999::int",
    ] {
        let parse = message(b'P', format!("\0{text}\0\0\0").as_bytes());
        assert!(client.synced(&parse).is_err(), "{text}");
    }
    let parse = message(b'P', b"\0SELECT 1\0\0\0");
    let mut bind = b"\0\0\0\0\xff\xff".to_vec();
    bind.extend([0xff; 4 * 65_535]);
    bind.extend(b"\0\0");
    let both = [parse, message(b'B', &bind)].concat();
    assert_eq!(client.synced(&both).unwrap_err().sqlstate, "08P01");
}

fn unknown(server: &Running) {
    let mut client = Client::connect(server, "hush", "hush", PASSWORD);
    for (bytes, sqlstate) in [
        (message(b'E', b"nowhere\0\0\0\0\0"), "34000"),
        (message(b'D', b"Pnowhere\0"), "34000"),
        (message(b'D', b"Snowhere\0"), "26000"),
        (message(b'B', b"\0nowhere\0\0\0\0\0\0\0"), "26000"),
        (message(b'F', b"whatever"), "0A000"),
    ] {
        assert_eq!(client.synced(&bytes).unwrap_err().sqlstate, sqlstate);
    }
    // To close what is not there is no error.
    client.synced(&message(b'C', b"Snowhere\0")).unwrap();
}

fn parses(server: &Running) {
    let mut client = Client::connect(server, "hush", "hush", PASSWORD);
    for name in ["s", ""] {
        let parse = message(b'P', format!("{name}\0SELECT 1\0\0\0").as_bytes());
        let many = parse.repeat(20_000);
        let done = client.synced(&many);
        // A name is taken; that of none is taken over.
        assert_eq!(
            done.map_err(|error| error.sqlstate).err().as_deref(),
            (name == "s").then_some("42P05")
        );
    }
}

fn copy_binary(server: &Running) {
    let mut client = Client::connect(server, "hush", "hush", PASSWORD);
    client
        .run("CREATE TABLE IF NOT EXISTS hostile (i INT)")
        .unwrap();
    let header = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".as_slice();
    for row in [
        b"\0\x01\x7f\xff\xff\xff".as_slice(),
        b"\0\x01\xff\xff\xff\xfe",
        b"\0\x01\0\0\0\x05abcde",
        b"\x7f\xff",
        b"\xff\xfe",
        b"\xff\xff\0",
        b"\0",
    ] {
        let data = [header, row].concat();
        let done = client.copy_in("COPY hostile FROM STDIN (FORMAT binary)", &[&data]);
        assert!(done.is_err(), "{row:?}");
    }
    let extension = [&header[..15], b"\x7f\xff\xff\xff"].concat();
    let done = client.copy_in("COPY hostile FROM STDIN (FORMAT binary)", &[&extension]);
    assert!(done.is_err());
    // Lines that are none, and one without an end.
    for data in [
        b"\xff\n".as_slice(),
        b"1\t2\n",
        b"\\",
        b"99999999999\n",
        &[b'1'; 100_000],
    ] {
        assert!(client.copy_in("COPY hostile FROM STDIN", &[data]).is_err());
    }
    assert_eq!(client.rows("SELECT count(*) FROM hostile"), [["0"]]);
}

fn slow_sessions(server: &Running) {
    let mut slow = Client::connect(server, "hush", "hush", PASSWORD);
    for byte in message(b'Q', b"SELECT 1\0") {
        slow.send(&[byte]);
        std::thread::sleep(Duration::from_millis(30));
    }
    // Before it, there are ten seconds in all.
    let mut stream = UnixStream::connect(server.socket()).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    let began = Instant::now();
    for byte in startup("hush", "hush").into_iter().cycle() {
        let sent = stream.write_all(&[byte]);
        let mut answer = [0; 64];
        let read = stream.read(&mut answer);
        if sent.is_err() || matches!(read, Ok(length) if length == 0 || answer[0] == b'E') {
            break;
        }
        assert!(
            began.elapsed() < Duration::from_secs(30),
            "the server waits on"
        );
    }
}

fn never_reads(server: &Running) {
    let mut deaf = Client::connect(server, "hush", "hush", PASSWORD);
    deaf.send(&message(
        b'Q',
        b"SELECT i, repeat('x', 1000) FROM range(2000000) r(i)\0",
    ));
    std::thread::sleep(Duration::from_secs(2));
    let mut other = Client::connect(server, "hush", "hush", PASSWORD);
    assert_eq!(
        other.rows("SELECT sum(i) FROM range(1000) r(i)"),
        [["499500"]]
    );
    drop(deaf);
    // It is noticed that nobody is there.
    let active =
        "SELECT pid FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid()";
    let began = Instant::now();
    while !other.rows(active).is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn connections(server: &Running) {
    for _ in 0..10 {
        let many = (0..1000).filter_map(|at| match at % 2 {
            0 => TcpStream::connect(("127.0.0.1", server.port()))
                .ok()
                .map(drop_later),
            _ => UnixStream::connect(server.socket()).ok().map(drop_later),
        });
        let many: Vec<Box<dyn std::any::Any>> = many.collect();
        assert!(server.threads() < 1200, "{}", server.threads());
        drop(many);
    }
}

fn drop_later(socket: impl std::any::Any) -> Box<dyn std::any::Any> {
    Box::new(socket)
}
