//! `hush inspect --entropy` and `--picture`: what is noise, and what is not.

use super::place::Place;

/// A database with text in it, encrypted and plain.
fn databases(place: &Place) {
    let sql = "CREATE TABLE t AS SELECT range AS a, 'some text that is not short ' || (range * 7919 % 100003) AS s \
               FROM range(50000)";
    place.hush(&["--key-env", "KEY_A", "e.hush", sql]).ok();
    place.hush(&["p.hush", sql]).ok();
}

/// The line of a region.
fn line<'a>(table: &'a str, region: &str) -> &'a str {
    let mut lines = table.lines();
    let found = lines.find(|line| line.contains(&format!("│ {region} ")));
    found.unwrap_or_else(|| panic!("no {region} in {table}"))
}

#[test]
fn the_sealed_parts_of_an_encrypted_file_are_noise() {
    let place = Place::new();
    databases(&place);
    let entropy = |arguments: &[&str]| {
        let all = ["inspect", "--entropy"].iter().chain(arguments);
        place.hush(&all.copied().collect::<Vec<_>>()).ok()
    };
    let inside = entropy(&["--key-env", "KEY_A", "e.hush"]);
    for region in ["column data", "metadata", "superblock", "statistics"] {
        assert!(line(&inside, region).contains("like noise"), "{inside}");
    }
    assert!(
        line(&inside, "file header").contains("not noise"),
        "{inside}"
    );
    let outside = entropy(&["e.hush"]);
    assert!(!outside.contains("column data"), "{outside}");
    assert!(
        line(&outside, "sealed blocks").contains("like noise"),
        "{outside}"
    );
    let plain = entropy(&["p.hush"]);
    for region in ["column data", "metadata", "superblock"] {
        assert!(line(&plain, region).contains("not noise"), "{plain}");
    }
    place
        .hush(&["inspect", "--entropy", "--key-env", "KEY_B", "e.hush"])
        .refused();
}

#[test]
fn a_picture_is_drawn_of_two_files_and_over_no_database() {
    let place = Place::new();
    databases(&place);
    let arguments = |target| {
        [
            "inspect",
            "--picture",
            target,
            "--key-env",
            "KEY_A",
            "e.hush",
            "p.hush",
        ]
    };
    place.hush(&arguments("out.png")).ok();
    place.hush(&arguments("out.png")).ok();
    let bytes = std::fs::read(place.path("out.png")).expect("a picture");
    assert!(bytes.starts_with(b"\x89PNG") && bytes.len() > 100_000);
    assert!(
        place
            .hush(&arguments("p.hush"))
            .refused()
            .contains("no picture")
    );
    place.hush(&["p.hush", "SELECT count(*) FROM t"]).ok();
    // The second file is for pictures.
    let two = place.hush(&["inspect", "e.hush", "p.hush"]);
    assert!(
        !two.0.status.success() && two.err().contains("--picture"),
        "{}",
        two.err()
    );
}
