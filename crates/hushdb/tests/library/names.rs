//! Names in files of earlier versions, which could differ in the case of letters alone.

use hushdb::{Connection, Database, Result, value_text};
use hushdb_storage::{
    Check, ColumnDef, ColumnType, IndexDef, IndexKind, Store, StoreOptions, View,
};
use std::path::Path;

/// A file in which names differ in case alone, as earlier versions could make it.
fn make(file: &Path) -> Result<()> {
    let store = Store::create_path(file, None, &StoreOptions::default())?;
    let column = |name: &str| ColumnDef {
        name: name.into(),
        ty: ColumnType::Int32,
        nullable: true,
        default: None,
        generated: None,
        declared: None,
    };
    let mut txn = store.begin()?;
    txn.let_names_be_alike();
    // The names in it are without quotes: in lower case, to earlier versions.
    let check = Check {
        name: None,
        sql: "ID > 0".into(),
    };
    let columns = ["id", "ID", "Other"].map(column).to_vec();
    txn.create_table("main", "people", columns, vec![check])?;
    txn.create_table("main", "PEOPLE", vec![column("Only")], vec![])?;
    txn.create_schema("s")?;
    txn.create_schema("S")?;
    txn.create_table("s", "t", vec![column("a")], vec![])?;
    txn.create_table("S", "t", vec![column("A")], vec![])?;
    for (name, columns) in [("ix", "id"), ("IX", "ID")] {
        let index = IndexDef {
            name: name.into(),
            kind: IndexKind::Plain,
            columns: vec![columns.into()],
        };
        txn.create_index("main", "people", index)?;
    }
    for (name, sql) in [
        ("v", "SELECT ID, \"ID\" AS upper, OTHER FROM PEOPLE"),
        ("V", "SELECT only FROM \"PEOPLE\""),
        ("w", "SELECT * FROM people"),
    ] {
        let view = View {
            name: name.into(),
            columns: vec![],
            sql: sql.into(),
        };
        txn.create_view("main", view)?;
    }
    txn.commit()?;
    Ok(())
}

fn rows(connection: &Connection, sql: &str) -> Result<String> {
    let result = connection.execute(sql)?;
    let names: Vec<String> = result
        .schema()
        .fields()
        .iter()
        .map(|f| f.name().clone())
        .collect();
    let mut lines = vec![names.join(" ")];
    for batch in result.collect_batches()? {
        for row in 0..batch.num_rows() {
            let values = batch.columns().iter().map(|column| value_text(column, row));
            let values = values.map(|value| value.unwrap().unwrap_or("NULL".into()));
            lines.push(values.collect::<Vec<_>>().join(" "));
        }
    }
    Ok(lines.join("; "))
}

#[test]
fn names_of_earlier_versions_that_differ_in_case_alone_are_all_found() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("f.hushdb");
    make(&file).unwrap();
    let database = Database::open(&file).unwrap();
    let connection = database.connect().unwrap();
    for sql in [
        "INSERT INTO people VALUES (1, 10, 100)",
        "INSERT INTO people(id, \"ID\", OTHER) VALUES (2, 20, 200)",
        "INSERT INTO \"PEOPLE\" VALUES (7)",
        "INSERT INTO s.t VALUES (1)",
        "INSERT INTO \"S\".t VALUES (2)",
        "UPDATE people SET \"ID\" = \"ID\" + id WHERE id = 2",
        "CHECKPOINT",
    ] {
        connection.execute(sql).unwrap();
    }
    let is = |sql: &str, wanted: &str| assert_eq!(rows(&connection, sql).unwrap(), wanted, "{sql}");
    is("FROM people", "id ID Other; 1 10 100; 2 22 200");
    is(
        "SELECT id, \"ID\", other FROM people WHERE \"ID\" = 22",
        "id ID_1 Other; 2 22 200",
    );
    is("SELECT p.\"ID\" FROM people p WHERE p.id = 1", "ID; 10");
    is("FROM \"PEOPLE\"", "Only; 7");
    is("FROM v ORDER BY id LIMIT 1", "id upper Other; 1 10 100");
    is("FROM \"V\"", "Only; 7");
    is("SELECT id, id_1 FROM w WHERE id = 2", "id ID_1; 2 22");
    is("SELECT x.a, y.a FROM s.t x, \"S\".t y", "a A; 1 2");
    is("SELECT count(*) AS n FROM duckdb_indexes()", "n; 2");
    // Who adds a name hears of the one that is there.
    for sql in [
        "INSERT INTO people VALUES (0, 1, 1)",
        "INSERT INTO people(\"Id\") VALUES (1)",
        "CREATE TABLE \"People\"(a INTEGER)",
        "ALTER TABLE people ADD COLUMN \"iD\" INTEGER",
        "SELECT count(*) FROM people JOIN \"PEOPLE\" ON true",
    ] {
        connection.execute(sql).map(drop).unwrap_err();
    }
    let copy = "COPY FROM DATABASE f TO memory";
    assert!(
        connection
            .execute(copy)
            .map(drop)
            .unwrap_err()
            .to_string()
            .contains("name")
    );
    // The way out.
    for sql in [
        "DROP VIEW v",
        "DROP INDEX ix",
        "DROP INDEX \"IX\"",
        "CREATE TABLE apart AS SELECT id, \"ID\" AS number FROM people",
        "ALTER TABLE \"PEOPLE\" RENAME TO others",
    ] {
        connection.execute(sql).unwrap();
    }
    is("SELECT ID, NUMBER FROM APART", "id number; 1 10; 2 22");
    is("FROM others", "Only; 7");
}
