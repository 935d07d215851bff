//! Patterns that name very many files.

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use hushdb::Database;

#[test]
fn very_many_files_are_read_in_turn() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().display();
    let database = Database::open_in_memory().unwrap();
    let connection = database.connect().unwrap();
    for number in 0..300 {
        let path = directory.path().join(format!("{number:03}.csv"));
        std::fs::write(path, format!("i\n{number}\n")).unwrap();
    }
    let numbers = |sql: &str| {
        let batches = connection.execute(sql).unwrap().collect_batches().unwrap();
        let columns = batches
            .iter()
            .map(|batch| batch.column(0).as_primitive::<Int64Type>());
        columns
            .flat_map(|column| column.values().to_vec())
            .collect::<Vec<i64>>()
    };
    let all = numbers(&format!("FROM '{root}/*.csv'"));
    assert_eq!(all, (0..300).collect::<Vec<i64>>());
    let some = format!(
        "SELECT i FROM read_csv('{root}/*.csv', filename = true) WHERE filename LIKE '%7.csv' LIMIT 3"
    );
    assert_eq!(numbers(&some), [7, 17, 27]);
    let groups = format!("SELECT count(*) FROM '{root}/*.csv' GROUP BY i % 2");
    assert_eq!(numbers(&groups), [150, 150]);
    let plan = format!("EXPLAIN SELECT max(i) FROM '{root}/*.csv'");
    let shown = connection
        .execute(&plan)
        .unwrap()
        .collect_batches()
        .unwrap();
    assert!(format!("{shown:?}").contains("InTurnExec"));
}
