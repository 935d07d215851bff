//! What is said of how results are printed, where one of them goes, and what a script does behind an error.

use std::fs;

use crate::place::Place;

#[test]
fn results_look_as_was_said() {
    let place = Place::new();
    let run = |script: &str| place.hush(&["-c", script]).ok();
    let sql = "SELECT 1 AS a, NULL AS b;";
    assert_eq!(run(&format!(".mode list\n{sql}")), "a|b\n1|NULL\n");
    assert_eq!(
        run(&format!(
            ".mode csv\n.headers off\n.nullvalue ''\n.separator \\t\n{sql}"
        )),
        "1\t\n"
    );
    assert_eq!(
        run(&format!(".mode insert people\n{sql}")),
        "INSERT INTO people(a,b) VALUES(1,NULL);\n"
    );
    assert_eq!(
        run(&format!(".mode trash\n{sql}\n.print 'a  b' c")),
        "a  b c\n"
    );
    for wrong in [
        ".mode csv people",
        ".headers maybe",
        ".separator",
        ".nullvalue",
        ".once",
    ] {
        place.hush(&["-c", wrong]).refused();
    }
}

#[test]
fn one_result_goes_to_a_file() {
    let place = Place::new();
    let script = ".mode csv\n.once one.csv\nSELECT 1 AS a;\nSELECT 2 AS b;";
    assert_eq!(place.hush(&["-c", script]).ok(), "b\n2\n");
    let written = fs::read_to_string(place.path("one.csv"));
    assert_eq!(written.expect("written"), "a\n1\n");
    let script = ".once one.csv\nSELECT nothing;";
    place.hush(&["-c", script]).refused();
    let kept = fs::read_to_string(place.path("one.csv"));
    assert_eq!(kept.expect("still there"), "a\n1\n");
}

#[test]
fn a_script_goes_on_behind_errors_where_it_says_so() {
    let script = ".bail off\nSELECT nothing;\n.nonsense\nSELECT 2 AS b;\n";
    let run = Place::new().piped(&["--csv"], script);
    assert_eq!(run.out(), "b\n2\n");
    let said = run.refused();
    assert!(
        said.contains("nothing") && said.contains(".nonsense"),
        "{said}"
    );
}
