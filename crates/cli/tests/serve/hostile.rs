//! Clients that mean no good: every one gets its answer, and the server lives on.

use crate::client::{Client, message, refusal, startup};
use crate::instance::{PASSWORD, Running, made, psql};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// What comes back for bytes up to the end of the connection, or for two seconds.
fn answer(server: &Running, bytes: &[u8]) -> Vec<u8> {
    let mut stream = UnixStream::connect(server.socket()).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(2)))
        .unwrap();
    let _ = stream.write_all(bytes);
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer);
    answer
}

/// The SQLSTATE of an answer that is an error alone.
fn sqlstate(answer: &[u8]) -> String {
    match answer.first() {
        Some(b'E') => refusal(&answer[5..]).sqlstate,
        _ => format!("{:?}", String::from_utf8_lossy(answer)),
    }
}

#[test]
fn what_comes_before_a_session_is_answered_or_refused() {
    let place = made();
    let mut server = Running::start(place.path());
    let packet = |body: &[u8]| [(body.len() as u32 + 4).to_be_bytes().as_slice(), body].concat();
    let gss = packet(&80_877_104_u32.to_be_bytes());
    for (bytes, expected) in [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_vec(), "08P01"),
        (b"\0\0\0\0".to_vec(), "08P01"),
        (b"\0\0\0\x03".to_vec(), "08P01"),
        (b"\x7f\xff\xff\xff".to_vec(), "08P01"),
        (b"\xff\xff\xff\xff".to_vec(), "08P01"),
        (10_001_u32.to_be_bytes().to_vec(), "08P01"),
        (packet(b"\0\x02\0\0user\0a\0\0"), "0A000"),
        (packet(b"\0\x04\0\0user\0a\0\0"), "0A000"),
        (packet(b"\0\x03\0\0\0"), "28000"),
        (packet(b"\0\x03\0\0user\0a"), "08P01"),
        (packet(b"\0\x03\0\0user\0\xff\xfe\0\0"), "22021"),
        ([gss.as_slice(), &gss].concat(), "08P01"),
    ] {
        let answer = answer(&server, &bytes);
        let error = answer.strip_prefix(b"N").unwrap_or(&answer);
        assert_eq!(sqlstate(error), expected, "{bytes:?}");
    }
    // Bytes behind the wish for TLS came from somebody in between.
    let smuggled = [packet(&80_877_103_u32.to_be_bytes()).as_slice(), b"x"].concat();
    assert_eq!(sqlstate(&answer(&server, &smuggled)), "08P01");
    // A query instead of a password.
    let query = [startup("hush", "hush"), message(b'Q', b"SELECT 1\0")].concat();
    let answered = answer(&server, &query);
    let length = u32::from_be_bytes(answered[1..5].try_into().unwrap()) as usize;
    assert_eq!(sqlstate(&answered[1 + length..]), "08P01");
    assert!(server.is_alive());
    Client::connect(&server, "hush", "hush", PASSWORD).close();
    server.stop();
}

#[test]
fn what_breaks_the_protocol_ends_one_session_alone() {
    let place = made();
    let mut server = Running::start(place.path());
    for (bytes, expected) in [
        (b"Q\0\0\0\x03".to_vec(), "08P01"),
        (b"Q\xff\xff\xff\xff".to_vec(), "08P01"),
        (b"Q\x7f\xff\xff\xff".to_vec(), "08P01"),
        (b"z\0\0\0\x04".to_vec(), "08P01"),
        (message(b'Q', b"SELECT 1"), "08P01"),
        (message(b'Q', b"SELECT 1\0more\0"), "08P01"),
        (message(b'Q', b"SELECT '\xff'\0"), "22021"),
        (message(b'P', b"\0SELECT 1\0\xff\xff"), "08P01"),
        (message(b'B', b"\0\0\0\x01\0\x02\0\0\0\0"), "08P01"),
        (message(b'B', b"\0\0\0\0\0\x01\x7f\xff\xff\xff"), "08P01"),
        (message(b'p', b"late\0"), "08P01"),
    ] {
        let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
        client.send(&bytes);
        let mut answer = vec![];
        client
            .stream
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        let _ = client.stream.read_to_end(&mut answer);
        assert_eq!(sqlstate(&answer), expected, "{bytes:?}");
    }
    // These are mistakes, not breaks.
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client.send(&message(b'd', b"nobody copies"));
    for (bytes, expected) in [
        (message(b'E', b"nowhere\0\0\0\0\0"), "34000"),
        (message(b'B', b"\0nowhere\0\0\0\0\0\0\0"), "26000"),
        (message(b'D', b"Snowhere\0"), "26000"),
        (message(b'F', b"whatever"), "0A000"),
    ] {
        assert_eq!(client.synced(&bytes).unwrap_err().sqlstate, expected);
    }
    for id in 0..2_000 {
        client.send(&message(b'P', format!("s{id}\0SELECT 1\0\0\0").as_bytes()));
    }
    client.send(&message(b'S', b""));
    assert!(server.is_alive());
    server.stop();
}

/// Says a wrong password over the Unix socket, and waits for what comes of it: the answer, or being hung up.
fn say_wrong_password(socket: &Path) {
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return;
    };
    let frame = |stream: &mut UnixStream| -> Option<Vec<u8>> {
        let mut head = [0; 5];
        stream.read_exact(&mut head).ok()?;
        let length = u32::from_be_bytes(head[1..].try_into().unwrap()) as usize;
        let mut body = vec![0; length - 4];
        stream.read_exact(&mut body).ok()?;
        Some(body)
    };
    let first = "n,,n=,r=abcdefgh";
    let length = (first.len() as u32).to_be_bytes();
    let body = [b"SCRAM-SHA-256\0".as_slice(), &length, first.as_bytes()].concat();
    let _ = stream.write_all(&[startup("hush", "hush"), message(b'p', &body)].concat());
    let said = frame(&mut stream).and_then(|_| frame(&mut stream));
    let said = said.map(|said| String::from_utf8_lossy(&said).into_owned());
    let nonce = said.as_deref().and_then(|said| said.split("r=").nth(1));
    let Some(nonce) = nonce.and_then(|rest| rest.split(',').next()) else {
        return;
    };
    let proof = format!("c=biws,r={nonce},p={}=", "A".repeat(43));
    let _ = stream.write_all(&message(b'p', proof.as_bytes()));
    let _ = frame(&mut stream);
}

#[test]
fn a_right_password_gets_in_beside_500_wrong_ones() {
    let place = made();
    let mut server = Running::start(place.path());
    let socket = server.socket();
    let attempts: Vec<_> = (0..500)
        .map(|_| {
            let socket = socket.clone();
            std::thread::spawn(move || say_wrong_password(&socket))
        })
        .collect();
    // Among them, behind them, and again. Each is there in less than the time that an answer to a wrong one is kept back.
    for _ in 0..5 {
        let began = Instant::now();
        Client::connect(&server, "hush", "hush", PASSWORD).close();
        assert!(
            began.elapsed() < Duration::from_secs(5),
            "{:?}",
            began.elapsed()
        );
    }
    let more: Vec<_> = (0..500)
        .map(|_| {
            let socket = socket.clone();
            std::thread::spawn(move || say_wrong_password(&socket))
        })
        .collect();
    Client::connect(&server, "hush", "hush", PASSWORD).close();
    assert!(server.threads() < 600, "{}", server.threads());
    for attempt in attempts.into_iter().chain(more) {
        attempt.join().unwrap();
    }
    // Connections that say nothing hold nobody up, wherever they come from.
    let silent: Vec<_> = (0..1000)
        .filter_map(|_| TcpStream::connect(("127.0.0.1", server.port())).ok())
        .collect();
    Client::connect(&server, "hush", "hush", PASSWORD).close();
    let url = server.url("hush", "hush", "sslmode=require");
    if let Some(said) = psql(&url, PASSWORD, &["SELECT 1"]) {
        assert_eq!(said.ok(), "1\n");
    }
    assert!(server.is_alive());
    drop(silent);
    server.stop();
}
