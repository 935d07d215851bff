//! Where the files of a database are once it is open: the log beside the real file, whatever becomes of names.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, exit};

use hushdb_storage::*;

use super::fixture::*;
use super::logged::{insert, sum};

const PLACE: &str = "HUSHDB_TEST_PLACE";
const CHANGE: &str = "HUSHDB_TEST_CHANGE";

/// By what name a database is opened, and what then happens to names.
const CHANGES: [(&str, &str); 5] = [
    ("in/a.hush", "none"),
    ("in/a.hush", "working directory"),
    ("in/a.hush", "directory"),
    ("link.hush", "none"),
    ("link.hush", "link"),
];

/// Not a test by itself: the process that opens a database, commits to its log, and ends without closing it.
#[test]
fn other_process_commits_and_ends() {
    let Some(place) = std::env::var_os(PLACE) else {
        return;
    };
    let change: usize = std::env::var(CHANGE).unwrap().parse().unwrap();
    let (name, change) = CHANGES[change];
    std::env::set_current_dir(place).unwrap();
    let store = Store::open_path(Path::new(name), None, &StoreOptions::default()).unwrap();
    match change {
        "working directory" => {
            fs::create_dir_all("elsewhere/in").unwrap();
            std::env::set_current_dir("elsewhere").unwrap();
        }
        "directory" => {
            fs::rename("in", "moved").unwrap();
            fs::create_dir("in").unwrap();
        }
        "link" => {
            fs::remove_file("link.hush").unwrap();
            symlink("nowhere", "link.hush").unwrap();
        }
        _ => {}
    }
    insert(&store, 100..103);
    exit(0);
}

#[test]
fn the_log_is_beside_the_file_whatever_becomes_of_names() {
    for (number, (name, change)) in CHANGES.iter().enumerate() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("in")).unwrap();
        symlink("in/a.hush", at("link.hush")).unwrap();
        let options = StoreOptions::default();
        let store = Store::create_path(&at("in/a.hush"), None, &options).unwrap();
        let columns = vec![def("n", ColumnType::Int64)];
        fill(&store, "t", columns, &[int64s(0..10)]);
        drop(store);
        let mut other = Command::new(std::env::current_exe().unwrap());
        other.args(["--exact", "places::other_process_commits_and_ends"]);
        other.env(PLACE, directory.path());
        other.env(CHANGE, number.to_string());
        assert!(other.output().unwrap().status.success(), "{name} {change}");
        let real = match *change {
            "directory" => at("moved/a.hush"),
            _ => at("in/a.hush"),
        };
        assert!(real.with_extension("hush.wal").exists(), "{name} {change}");
        let store = Store::open_path(&real, None, &options).unwrap();
        assert_eq!(sum(&store), 45 + 303, "{name} {change}");
    }
}

#[test]
fn a_database_is_made_where_a_link_leads_but_not_in_the_place_of_a_log() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let options = StoreOptions::default();
    symlink("real.hush", at("link.hush")).unwrap();
    drop(Store::create_path(&at("link.hush"), None, &options).unwrap());
    assert!(fs::symlink_metadata(at("real.hush")).unwrap().is_file());
    for name in ["real.hush.wal", "real.hush.wal.next"] {
        let refused = Store::create_path(&at(name), None, &options);
        assert!(matches!(refused, Err(Error::InvalidInput(_))), "{name}");
        assert!(!at(name).exists());
    }
    Store::open_path(&at("real.hush"), None, &options).unwrap();
}
