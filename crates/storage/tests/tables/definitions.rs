//! Schemas, tables, columns and views: made, changed, dropped, found again after reopening; what is refused.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, StringViewArray};
use hushdb_storage::*;

use super::fixture::*;

fn refused<T: std::fmt::Debug>(result: Result<T>) {
    assert_eq!(result.unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn what_was_defined_is_there_after_reopening() {
    let fixture = Fixture::new("aws-lc-rs");
    let store = fixture.create();
    let mut txn = store.begin().unwrap();
    txn.create_schema("other").unwrap();
    let mut column = def(
        "n",
        ColumnType::Decimal {
            precision: 12,
            scale: 4,
        },
    );
    column.nullable = false;
    column.default = Some("1 + 2".into());
    let checks = vec![
        Check {
            name: Some("positive".into()),
            sql: "n > 0".into(),
        },
        Check {
            name: None,
            sql: "n < 9".into(),
        },
    ];
    let id = txn
        .create_table("other", "t", vec![column], checks.clone())
        .unwrap();
    let view = View {
        name: "v".into(),
        sql: "SELECT 1".into(),
        columns: vec!["a".into()],
    };
    txn.create_view("main", view.clone()).unwrap();
    txn.commit().unwrap();
    drop(store);

    let snapshot = fixture.open().snapshot();
    assert_eq!(
        snapshot.schemas.keys().collect::<Vec<_>>(),
        ["main", "other"]
    );
    assert_eq!(*snapshot.schema("main").unwrap().views["v"], view);
    let table = snapshot.table("other", "t").unwrap();
    assert_eq!((table.id, &table.checks), (id, &checks));
    let column = &table.columns[0];
    assert_eq!((column.name.as_str(), column.nullable), ("n", false));
    assert_eq!(column.default.as_deref(), Some("1 + 2"));
    assert_eq!(
        column.ty,
        ColumnType::Decimal {
            precision: 12,
            scale: 4
        }
    );
}

#[test]
fn columns_are_added_filled_renamed_and_dropped() {
    let fixture = Fixture::new("aws-lc-rs");
    let store = fixture.create();
    fill(
        &store,
        "t",
        vec![def("a", ColumnType::Int64)],
        &[int64s(0..100)],
    );
    let mut txn = store.begin().unwrap();
    append(&mut txn, "t", &[int64s(100..150)]);
    let seven: ArrayRef = Arc::new(Int64Array::from(vec![7]));
    txn.add_column("main", "t", def("b", ColumnType::Int64), Some(seven))
        .unwrap();
    txn.add_column("main", "t", def("c", ColumnType::Varchar), None)
        .unwrap();
    txn.rename_column("main", "t", "b", "bee").unwrap();
    txn.set_column("main", "t", "bee", false, Some("7".into()))
        .unwrap();
    txn.commit().unwrap();
    let snapshot = store.snapshot();
    let sevens = integers(&store, &snapshot, "t", "bee");
    assert_eq!(sevens, vec![Some(7); 150]);
    let nulls = read(&store, &snapshot, "t", "c");
    assert!(nulls.iter().all(|array| array.null_count() == array.len()));
    let bee = snapshot
        .table("main", "t")
        .unwrap()
        .column("bee")
        .unwrap()
        .clone();
    assert_eq!((bee.nullable, bee.default.as_deref()), (false, Some("7")));
    assert_eq!(
        snapshot
            .table("main", "t")
            .unwrap()
            .distinct_count(bee.id)
            .unwrap(),
        Some(1)
    );

    let mut txn = store.begin().unwrap();
    txn.drop_column("main", "t", "a").unwrap();
    txn.add_column("main", "t", def("a", ColumnType::Varchar), None)
        .unwrap();
    txn.commit().unwrap();
    drop(store);
    let store = fixture.open();
    let again = store.snapshot();
    let table = again.table("main", "t").unwrap();
    let names: Vec<&str> = table
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(names, ["bee", "c", "a"]);
    assert_eq!(table.columns[2].id.number(), 3, "ids are not given twice");
    assert!(
        read(&store, &again, "t", "a")
            .iter()
            .all(|array| array.null_count() == array.len())
    );
    assert_eq!(integers(&store, &again, "t", "bee"), sevens);
    assert!(store.check(&mut |_, _| {}).unwrap().findings.is_empty());
    let old = read(&store, &again, "t", "bee");
    assert_eq!(old[0].as_primitive::<Int64Type>().value(0), 7);
}

#[test]
fn tables_are_renamed_and_dropped_with_their_schema() {
    let store = Fixture::new("plain").create();
    let mut txn = store.begin().unwrap();
    txn.create_schema("s").unwrap();
    txn.create_table("s", "t", vec![def("a", ColumnType::Int64)], vec![])
        .unwrap();
    txn.rename_table("s", "t", "u").unwrap();
    txn.commit().unwrap();
    assert_eq!(store.snapshot().table("s", "u").unwrap().name, "u");
    assert!(store.snapshot().table("s", "t").is_none());
    let mut txn = store.begin().unwrap();
    txn.drop_schema("s").unwrap();
    txn.commit().unwrap();
    assert!(store.snapshot().schema("s").is_none());
}

#[test]
fn names_that_are_taken_or_missing_are_refused() {
    let store = Fixture::new("plain").create();
    let mut txn = store.begin().unwrap();
    let columns = || vec![def("a", ColumnType::Int64)];
    let view = |name: &str| View {
        name: name.into(),
        sql: "SELECT 1".into(),
        columns: vec![],
    };
    txn.create_table("main", "t", columns(), vec![]).unwrap();
    txn.create_view("main", view("v")).unwrap();
    refused(txn.create_table("main", "t", columns(), vec![]));
    refused(txn.create_table("main", "v", columns(), vec![]));
    refused(txn.create_table("nowhere", "t", columns(), vec![]));
    refused(txn.create_table("main", "u", vec![], vec![]));
    refused(txn.create_table("main", "u", [columns(), columns()].concat(), vec![]));
    let decimal = ColumnType::Decimal {
        precision: 39,
        scale: 0,
    };
    refused(txn.create_table("main", "u", vec![def("a", decimal)], vec![]));
    refused(txn.create_view("main", view("t")));
    refused(txn.create_schema("main"));
    refused(txn.drop_schema("main"));
    refused(txn.drop_schema("nowhere"));
    refused(txn.drop_table("main", "v"));
    refused(txn.drop_view("main", "t"));
    refused(txn.rename_table("main", "t", "v"));
    refused(txn.add_column("main", "t", def("a", ColumnType::Int64), None));
    refused(txn.drop_column("main", "t", "a"));
    refused(txn.drop_column("main", "t", "b"));
    refused(txn.rename_column("main", "t", "b", "c"));
    refused(txn.set_column("main", "t", "b", true, None));
    refused(txn.append("main", "nowhere", vec![]));
    refused(txn.delete_rows("main", "nowhere", &[1]));
    let text: ArrayRef = Arc::new(StringViewArray::from(vec!["x"]));
    refused(txn.add_column("main", "t", def("c", ColumnType::Int64), Some(text)));
    txn.commit().unwrap();
}

#[test]
fn rows_of_another_table_or_store_are_refused() {
    let (store, other) = (
        Fixture::new("plain").create(),
        Fixture::new("plain").create(),
    );
    fill(
        &store,
        "t",
        vec![def("a", ColumnType::Int64)],
        &[int64s(0..1)],
    );
    fill(
        &other,
        "t",
        vec![def("a", ColumnType::Int64)],
        &[int64s(0..1)],
    );
    let columns = store.snapshot().table("main", "t").unwrap().columns.clone();
    let foreign = other.write_row_group(&columns, &[int64s(0..1)]).unwrap();
    let mut txn = store.begin().unwrap();
    refused(txn.append("main", "t", vec![foreign]));
    txn.create_table("main", "u", vec![def("a", ColumnType::Varchar)], vec![])
        .unwrap();
    let pending = store.write_row_group(&columns, &[int64s(0..1)]).unwrap();
    refused(txn.append("main", "u", vec![pending]));
    refused(store.write_row_group(&columns, &[int64s(0..0)]));
    refused(store.write_row_group(&columns, &[]));
}

#[test]
fn a_read_only_store_writes_nothing() {
    let mut fixture = Fixture::new("aws-lc-rs");
    let store = fixture.create();
    fill(
        &store,
        "t",
        vec![def("n", ColumnType::Int64)],
        &[int64s(0..10)],
    );
    let columns = store.snapshot().table("main", "t").unwrap().columns.clone();
    drop(store);
    fixture.options.read_only = true;
    let store = fixture.open();
    refused(store.begin().map(|_| ()));
    refused(store.write_row_group(&columns, &[int64s(0..1)]).map(|_| ()));
    assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 10);
}

#[test]
fn rows_that_are_null_throughout_are_truncated_in_the_transaction_that_wrote_them() {
    let store = Fixture::new("plain").create();
    let mut txn = store.begin().unwrap();
    let columns = vec![def("n", ColumnType::Int64)];
    txn.create_table("main", "t", columns, vec![]).unwrap();
    append(&mut txn, "t", &[Arc::new(Int64Array::new_null(3))]);
    assert_eq!(txn.truncate("main", "t").unwrap(), 3);
    let catalog = txn.commit().unwrap();
    assert_eq!(catalog.table("main", "t").unwrap().row_count(), 0);
}
