//! What `clippy.toml` disallows, a clock, files by name, is called in listed rooms alone.

use crate::sources::{none, read, rust_files, shown, workspace};

/// Crates that are shipped, by the file that opens them.
const SHIPPED: [&str; 12] = [
    "crates/cli/src/main.rs",
    "crates/crypto/src/lib.rs",
    "crates/encoding/src/lib.rs",
    "crates/files/src/lib.rs",
    "crates/hushdb/src/lib.rs",
    "crates/keys/src/lib.rs",
    "crates/kms/src/lib.rs",
    "crates/pages/src/lib.rs",
    "crates/query/src/lib.rs",
    "crates/server/src/lib.rs",
    "crates/sql/src/lib.rs",
    "crates/storage/src/lib.rs",
];

/// Sources that may call it. One that is called `mod.rs` stands for its folder.
const ROOMS: &str = include_str!("rooms.txt");

#[test]
fn clocks_and_files_stay_in_their_rooms() {
    let named = ["clippy::disallowed", "_methods"].concat();
    let expected = format!("#![expect({named}");
    let mut faults = Vec::new();
    let mut rooms: Vec<&str> = ROOMS.lines().collect();
    assert!(
        read(&workspace().join("clippy.toml")).contains("disallowed-methods = ["),
        "clippy knows what is disallowed"
    );
    for file in rust_files() {
        let (path, source) = (shown(&file), read(&file));
        if SHIPPED.contains(&path.as_str()) {
            let on = format!("#![cfg_attr(not(test), warn({named}))]");
            if !source.contains(&on) {
                faults.push(format!("{path} does not say {on}"));
            }
        } else if rooms.contains(&path.as_str()) {
            rooms.retain(|room| *room != path);
            let without_blanks: String = source.split_whitespace().collect();
            if !without_blanks.contains(&expected) {
                faults.push(format!("{path} is no room: take it off the list"));
            }
        } else if source.contains(&named) {
            faults.push(format!(
                "{path} calls what clippy.toml disallows, and is no room"
            ));
        }
    }
    let gone = rooms.iter();
    faults.extend(gone.map(|room| format!("{room} is listed and is not there")));
    none(faults);
}
