//! Parquet, CSV and JSON files of strangers: whatever they say, reading them ends in an answer or in an error that names the file,
//! soon, within the memory limit, and without a panic.
//!
//! `HUSHDB_HOSTILE_EDITS` and `HUSHDB_HOSTILE_SEED` choose how many edits are tried, and the first of them. An edit follows from its
//! seed; the file of one that fails is kept.

mod dice;
mod edits;
mod parquet;
mod reading;
mod samples;
mod text_cases;
mod thrift;

use dice::Dice;
use reading::Reader;
use samples::Samples;

fn number(variable: &str, default: u64) -> u64 {
    let given = std::env::var(variable).ok();
    given.map_or(default, |text| text.parse().expect("a number"))
}

fn assert_none(faults: impl Iterator<Item = String>) {
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn texts_that_mean_harm_are_read_or_refused() {
    let reader = Reader::new();
    let cases = text_cases::all();
    assert_none(cases.iter().flat_map(|case| reader.check_case(case)));
}

#[test]
fn parquet_files_that_mean_harm_are_read_or_refused() {
    let reader = Reader::new();
    let cases = parquet::cases(&Samples::new());
    assert_none(cases.iter().flat_map(|case| reader.check_case(case)));
}

#[test]
fn edited_files_are_read_or_refused() {
    let (reader, samples) = (Reader::new(), Samples::new());
    let first = number("HUSHDB_HOSTILE_SEED", 1);
    let seeds = first..first + number("HUSHDB_HOSTILE_EDITS", 400);
    assert_none(seeds.flat_map(|seed| {
        let edited = edits::edited(&samples, &mut Dice::new(seed));
        reader.check_edit(seed, &edited)
    }));
}
