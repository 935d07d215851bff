//! Damage and edits below a table: what is read says so, and a check names every place.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray};
use hushdb_storage::*;

use super::fixture::*;

const SECTOR: usize = 4096;

/// A file with a table of two row groups, one with deletes.
fn sample(kind: &str) -> (Fixture, Arc<Store>) {
    let fixture = Fixture::new(kind);
    let store = fixture.create();
    fill(
        &store,
        "t",
        vec![def("n", ColumnType::Int64)],
        &[int64s((0..9000).map(|n| n * n))],
    );
    let mut txn = store.begin().unwrap();
    append(&mut txn, "t", &[int64s(0..1000)]);
    txn.delete_rows("main", "t", &[5]).unwrap();
    txn.commit().unwrap();
    (fixture, store)
}

fn flip(file: &MemFile, at: u64) {
    let mut byte = [0];
    file.read_exact_at(at, &mut byte).unwrap();
    file.write_all_at(at, &[byte[0] ^ 1]).unwrap();
}

#[test]
fn a_flipped_bit_in_any_block_is_found_by_a_check() {
    for kind in ["aws-lc-rs", "ctr", "plain"] {
        let (fixture, store) = sample(kind);
        let mut blocks = Vec::new();
        let report = store
            .check(&mut |role, block| blocks.push((role, *block)))
            .unwrap();
        assert!(report.findings.is_empty(), "{:?}", report.findings);
        assert_eq!(report.rows, 9999);
        assert_eq!((report.blocks, report.segments), (blocks.len() as u64, 2));
        for role in [
            Role::Metadata,
            Role::ColumnData,
            Role::Statistics,
            Role::FreeList,
        ] {
            assert!(
                report.by_role.contains_key(&role),
                "no {role} in the sample"
            );
        }
        for (role, block) in blocks {
            let at = block.sector * SECTOR as u64 + 64 + u64::from(block.payload_len / 2);
            flip(&fixture.file, at);
            let report = store.check(&mut |_, _| {}).unwrap();
            flip(&fixture.file, at);
            assert_eq!(report.findings.len(), 1, "{role}");
            let finding = &report.findings[0];
            assert_eq!((finding.role, finding.sector), (role, block.sector));
            let kind = finding.error.kind();
            assert!(
                matches!(kind, ErrorKind::Tampered | ErrorKind::Corrupted),
                "{kind:?}"
            );
        }
    }
}

#[test]
fn a_segment_that_was_changed_is_not_read() {
    for kind in ["aws-lc-rs", "ctr"] {
        let (fixture, store) = sample(kind);
        let snapshot = store.snapshot();
        let table = snapshot.table("main", "t").unwrap();
        let group = &table.row_groups().unwrap()[0];
        flip(
            &fixture.file,
            group.segments[0].block.sector * SECTOR as u64 + 100,
        );
        store.blocks().pool().clear();
        let error = store
            .read_column(group, &table.columns[0], None)
            .unwrap_err();
        assert!(matches!(
            error.kind(),
            ErrorKind::Tampered | ErrorKind::Corrupted
        ));
    }
}

#[test]
fn a_segment_in_the_place_of_another_columns_is_not_read() {
    let store = Fixture::new("aws-lc-rs").create();
    let columns = vec![def("a", ColumnType::Int64), def("b", ColumnType::Int32)];
    let b: ArrayRef = Arc::new(arrow_array::Int32Array::from_iter_values(0..100));
    fill(&store, "t", columns, &[int64s(0..100), b]);
    let snapshot = store.snapshot();
    let table = snapshot.table("main", "t").unwrap();
    let mut group = RowGroup::clone(&table.row_groups().unwrap()[0]);
    let other = group.segments[1].block;
    group.segments.make_mut()[0].block = other;
    let error = store
        .read_column(&group, &table.columns[0], None)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupted);
}

#[test]
fn a_value_that_fits_no_block_is_refused_and_leaves_nothing() {
    let store = Fixture::new("plain").create();
    fill(&store, "t", vec![def("b", ColumnType::Blob)], &[blob(10)]);
    let columns = store.snapshot().table("main", "t").unwrap().columns.clone();
    let error = store
        .write_row_group(&columns, &[blob(65 << 20)])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let pending = store.write_row_group(&columns, &[blob(20 << 20)]).unwrap();
    let mut txn = store.begin().unwrap();
    txn.append("main", "t", vec![pending]).unwrap();
    let snapshot = txn.commit().unwrap();
    assert_eq!(&read(&store, &snapshot, "t", "b")[1], &blob(20 << 20));
    assert!(store.check(&mut |_, _| {}).unwrap().findings.is_empty());
}

/// One value that does not compress.
fn blob(len: usize) -> ArrayRef {
    let mut state = 1u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    let bytes: Vec<u8> = std::iter::repeat_with(next).take(len).collect();
    Arc::new(BinaryViewArray::from(vec![bytes.as_slice()]))
}
