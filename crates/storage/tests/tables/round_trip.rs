//! What goes in comes out: every type, NULLs, empty and full, masks, after reopening.

use std::sync::Arc;

use arrow_array::*;
use arrow_buffer::BooleanBuffer;
use hushdb_storage::*;

use super::fixture::*;

#[test]
fn every_type_comes_back_with_and_without_nulls() {
    for kind in KINDS {
        let fixture = Fixture::new(kind);
        let store = fixture.create();
        let mut columns = Vec::new();
        let mut arrays = Vec::new();
        for (index, (ty, array)) in every_type().into_iter().enumerate() {
            assert_eq!(array.data_type(), &ty.arrow());
            columns.push(def(&format!("full{index}"), ty.clone()));
            columns.push(def(&format!("holes{index}"), ty.clone()));
            columns.push(def(&format!("nothing{index}"), ty.clone()));
            arrays.push(Arc::clone(&array));
            arrays.push(with_nulls(&array));
            arrays.push(new_null_array(array.data_type(), array.len()));
        }
        fill(&store, "t", columns.clone(), &arrays);
        let check = |store: &Arc<Store>| {
            let snapshot = store.snapshot();
            for (column, expected) in columns.iter().zip(&arrays) {
                let read = read(store, &snapshot, "t", &column.name);
                assert_eq!(read.len(), 1);
                assert_eq!(&read[0], expected, "{kind} {:?}", column.ty);
            }
        };
        check(&store);
        drop(store);
        let store = fixture.open();
        check(&store);
        let report = store.check(&mut |_, _| {}).unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        assert_eq!(report.segments, 2 * every_type().len() as u64);
    }
}

#[test]
fn crypto_providers_read_each_others_files() {
    for (writer, reader) in [("aws-lc-rs", "rustcrypto"), ("rustcrypto", "aws-lc-rs")] {
        let mut fixture = Fixture::new(writer);
        let store = fixture.create();
        fill(
            &store,
            "t",
            vec![def("n", ColumnType::Int64)],
            &[int64s(0..5000)],
        );
        drop(store);
        fixture.options.crypto = Fixture::new(reader).options.crypto;
        let store = fixture.open();
        assert_eq!(integers(&store, &store.snapshot(), "t", "n").len(), 5000);
        let mut txn = store.begin().unwrap();
        append(&mut txn, "t", &[int64s(5000..6000)]);
        txn.commit().unwrap();
        assert!(store.check(&mut |_, _| {}).unwrap().findings.is_empty());
    }
}

#[test]
fn masks_select_rows_of_every_type() {
    let store = Fixture::new("aws-lc-rs").create();
    for (index, (ty, array)) in every_type().into_iter().enumerate() {
        // Long enough for the encodings that work on blocks of 1,024 values.
        let rows = if ty.is_nested() { 1100 } else { 5000 };
        let places = (0..rows as u32).map(|row| (row * row / 7) % 8);
        let places = UInt32Array::from_iter_values(places);
        let long = arrow_select::take::take(&array, &places, None).unwrap();
        for (suffix, array) in [("full", long.clone()), ("holes", with_nulls(&long))] {
            let name = format!("t{index}{suffix}");
            fill(
                &store,
                &name,
                vec![def("c", ty.clone())],
                std::slice::from_ref(&array),
            );
            let snapshot = store.snapshot();
            let table = snapshot.table("main", &name).unwrap();
            let group = &table.row_groups().unwrap()[0];
            for step in [1, 2, 3, 700, rows - 1, 6000] {
                let mask = BooleanBuffer::collect_bool(rows, |row| row % step == step / 2);
                let expected =
                    arrow_select::filter::filter(&array, &BooleanArray::from(mask.clone()))
                        .unwrap();
                let read = store
                    .read_column(group, &table.columns[0], Some(&mask))
                    .unwrap();
                assert_eq!(read.data_type(), &ty.arrow());
                assert_eq!(&read, &expected, "{ty:?} {suffix} step {step}");
            }
            let distinct = table.distinct_count(table.columns[0].id).unwrap();
            match ty.is_nested() {
                true => assert_eq!(distinct, None),
                false => assert!(distinct.is_some_and(|count| (1..=9).contains(&count))),
            }
        }
    }
}
