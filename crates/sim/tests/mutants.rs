//! The list of checks that are taken out for a test: each is where the list says.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use hushdb_sim::MUTANTS;

#[test]
fn every_check_of_the_list_is_in_its_file_once() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut faults = Vec::new();
    for mutant in MUTANTS {
        let source = fs::read_to_string(root.join(mutant.file)).unwrap_or_default();
        let found = source.matches(mutant.from).count();
        if found != 1 || mutant.from == mutant.to {
            faults.push(format!(
                "{}: \"{}\" is there {found} times",
                mutant.file, mutant.name
            ));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_name_is_given_twice() {
    let names: HashSet<&str> = MUTANTS.iter().map(|mutant| mutant.name).collect();
    assert_eq!(names.len(), MUTANTS.len());
}
