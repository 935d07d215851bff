//! What who runs a server looks at: metrics, health, the log and systemd's socket; and that no tenant is named in any of it.

use crate::client::Client;
use crate::instance::{KEY, PASSWORD, Running, hush, made};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixDatagram;
use std::time::Duration;

/// Sends bytes to the port of metrics, and gives all that comes back.
fn ask(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let _ = stream.write_all(bytes);
    let mut answer = vec![];
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).unwrap()
}

fn get(address: &str, path: &str) -> String {
    ask(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes(),
    )
}

/// Where metrics are, as the log says.
fn metrics_of(server: &Running) -> String {
    let log = server.log().join("\n");
    let (_, rest) = log.split_once("metrics on http://").unwrap();
    rest.split('/').next().unwrap().to_owned()
}

#[test]
fn metrics_and_health_are_answered_without_a_tenants_name() {
    let place = made();
    let mut server = Running::start_with(place.path(), &["--metrics", "127.0.0.1:0"]);
    let address = metrics_of(&server);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE USER tenant_marker PASSWORD 'password_marker'")
        .unwrap();
    client
        .run("CREATE DATABASE database_marker OWNER tenant_marker")
        .unwrap();
    let mut tenant = Client::connect(
        &server,
        "tenant_marker",
        "database_marker",
        "password_marker",
    );
    tenant
        .run("CREATE TABLE table_marker (i INT PRIMARY KEY)")
        .unwrap();
    tenant.run("INSERT INTO table_marker VALUES (1)").unwrap();
    for _ in 0..2 {
        tenant
            .run("INSERT INTO table_marker VALUES (1)")
            .unwrap_err();
    }
    Client::try_connect(&server, "tenant_marker", "database_marker", "wrong").unwrap_err();
    let text = get(&address, "/metrics");
    for line in [
        "hush_sessions_total 2",
        "hush_wrong_passwords_total 1",
        "hush_databases 2",
        "hush_sessions{state=\"idle\"} 2",
        "hush_errors_total{sqlstate=\"23505\"} 2",
        "hush_errors_total{sqlstate=\"28P01\"} 1",
    ] {
        assert!(text.lines().any(|is| is == line), "{line} in {text}");
    }
    assert!(!text.contains("marker"), "{text}");
    assert!(get(&address, "/health").starts_with("HTTP/1.1 200 "));
    assert!(get(&address, "/ready").ends_with("ready\n"));
    assert!(get(&address, "/db").starts_with("HTTP/1.1 404 "));
    for wrong in [
        b"POST /metrics HTTP/1.1\r\n\r\n".as_slice(),
        b"\x16\x03\x01\r\n\r\n",
        &[b'x'; 10_000],
        b"",
    ] {
        let answer = ask(&address, wrong);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 400 "),
            "{answer}"
        );
    }
    assert!(server.is_alive());
    let log = server.stop().join("\n");
    assert!(!log.contains("marker"), "{log}");
}

#[test]
fn nothing_is_listened_on_unless_it_is_asked_for_and_nowhere_but_here() {
    let place = made();
    let server = Running::start(place.path());
    assert!(!server.log().join("\n").contains("metrics"));
    server.stop();
    let outside = hush(&["serve", place.path().to_str().unwrap(), "--key-env", "K"])
        .args(["--listen", "127.0.0.1:0", "--metrics", "0.0.0.0:0"])
        .env("K", KEY)
        .output()
        .unwrap();
    assert_eq!(outside.status.code(), Some(2));
}

#[test]
fn the_log_is_json_and_names_nobody() {
    let place = made();
    let server = Running::start_with(place.path(), &["--log-json"]);
    let mut client = Client::connect(&server, "hush", "hush", PASSWORD);
    client
        .run("CREATE USER tenant_marker PASSWORD 'password_marker'")
        .unwrap();
    client
        .run("SELECT 'value_marker' FROM table_marker")
        .unwrap_err();
    client.close();
    Client::try_connect(&server, "tenant_marker", "nowhere_marker", "wrong").unwrap_err();
    let log = server.stop();
    let mut events = vec![];
    for line in &log {
        let event: serde_json::Value = serde_json::from_str(line).expect(line);
        assert!(event["time"].as_str().unwrap().ends_with('Z'), "{line}");
        events.push(event);
    }
    let of = |name: &str| {
        events
            .iter()
            .find(|event| event["event"] == name)
            .expect(name)
    };
    assert_eq!(of("session_began")["from"], "socket");
    assert_eq!(of("statement_failed")["sqlstate"], "42P01");
    assert_eq!(
        of("statement_failed")["session"],
        of("session_began")["session"]
    );
    assert_eq!(
        of("session_ended")["session"],
        of("session_began")["session"]
    );
    assert_eq!(of("refused")["sqlstate"], "28P01");
    assert_eq!(events.last().unwrap()["message"], "stopped");
    assert!(!log.join("\n").contains("marker"), "{log:?}");
}

#[test]
fn systemd_is_told_that_it_is_ready_and_that_it_stops() {
    let (place, sockets) = (made(), tempfile::tempdir().unwrap());
    let path = sockets.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let mut child = hush(&["serve", place.path().to_str().unwrap(), "--key-env", "K"])
        .args(["--listen", "127.0.0.1:0"])
        .envs([("K", KEY), ("NOTIFY_SOCKET", path.to_str().unwrap())])
        .spawn()
        .unwrap();
    let told = || {
        let mut bytes = [0; 64];
        let length = socket.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    };
    assert_eq!(told(), "READY=1");
    let pid = child.id().to_string();
    let kill = std::process::Command::new("kill")
        .args(["-TERM", &pid])
        .status();
    assert!(kill.unwrap().success());
    assert_eq!(told(), "STOPPING=1");
    assert!(child.wait().unwrap().success());
}
