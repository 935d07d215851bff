//! Advisory locks between sessions of a server, and who is said to hold them.

use crate::client::Client;
use crate::instance::{PASSWORD, Running, made};

#[test]
fn sessions_lock_what_they_have_agreed_on() {
    let place = made();
    let server = Running::start(place.path());
    let open = || Client::connect(&server, "hush", "hush", PASSWORD);
    let (mut one, mut two) = (open(), open());
    let attempt = "SELECT pg_try_advisory_lock(hashtext('migrations'))";
    assert_eq!(one.rows(attempt), [["t"]]);
    assert_eq!(two.rows(attempt), [["f"]]);
    // A big number and two small ones, as PostgreSQL shows them.
    one.rows("SELECT pg_advisory_lock(-2), pg_advisory_lock_shared(3, -4)");
    let pid = one.rows("SELECT pg_backend_pid()").remove(0).remove(0);
    let held = two.rows(
        "SELECT classid, objid, objsubid, mode, granted, pid FROM pg_locks
         WHERE locktype = 'advisory' AND objid::bigint > 4294967290
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
         ORDER BY objid::bigint",
    );
    let pid = pid.as_str();
    let expected = [
        ["3", "4294967292", "2", "ShareLock", "t", pid],
        ["4294967295", "4294967294", "1", "ExclusiveLock", "t", pid],
    ];
    assert_eq!(held, expected);
    // What is locked in a transaction of a pipeline or of several statements goes with it.
    two.rows("BEGIN; SELECT pg_advisory_xact_lock(5); COMMIT");
    two.table("SELECT pg_advisory_xact_lock(5)", true).unwrap();
    assert_eq!(one.rows("SELECT pg_try_advisory_lock(5)"), [["t"]]);
    one.run("DISCARD ALL").unwrap();
    assert_eq!(two.rows(attempt), [["t"]]);
    one.rows("SELECT pg_advisory_lock(6)");
    // Who leaves holds nothing.
    one.close();
    two.rows("SET lock_timeout = '20s'");
    two.rows("SELECT pg_advisory_lock(6)");
    let all = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'";
    assert_eq!(two.rows(all), [["2"]]);
    assert_eq!(two.rows("SELECT pg_advisory_unlock_all()"), [[""]]);
    assert_eq!(two.rows(all), [["0"]]);
    two.close();
    server.stop();
}
