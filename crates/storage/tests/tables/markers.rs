//! Nothing in the clear: what is written as name, default, value or view text is nowhere in an encrypted file's bytes.
//! A plain file, where all of it is found, shows that the search would find it.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryViewArray, StringViewArray};
use hushdb_storage::*;

use super::fixture::*;

/// 64 bytes that occur nowhere by chance.
fn marker(name: &str) -> String {
    format!("{name:-<16}{}", "q7Zx".repeat(12))
}

fn find(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[test]
fn markers_are_nowhere_in_an_encrypted_file() {
    let names = [
        "table",
        "column",
        "default",
        "check",
        "value",
        "blob",
        "view",
        "view text",
        "schema",
    ];
    for kind in KINDS {
        let fixture = Fixture::new(kind);
        let store = fixture.create();
        let mut txn = store.begin().unwrap();
        let mut text = def(&marker("column"), ColumnType::Varchar);
        text.default = Some(marker("default"));
        let columns = vec![text, def("b", ColumnType::Blob)];
        let checks = vec![Check {
            name: None,
            sql: marker("check"),
        }];
        let table = marker("table");
        txn.create_table("main", &table, columns, checks).unwrap();
        let value: ArrayRef = Arc::new(StringViewArray::from(vec![marker("value")]));
        let blob = marker("blob");
        let blob: ArrayRef = Arc::new(BinaryViewArray::from(vec![blob.as_bytes()]));
        append(&mut txn, &table, &[value, blob]);
        let view = View {
            name: marker("view"),
            sql: marker("view text"),
            columns: vec![],
        };
        txn.create_view("main", view).unwrap();
        txn.create_schema(&marker("schema")).unwrap();
        txn.commit().unwrap();
        let bytes = fixture.file.to_bytes();
        for name in names {
            let found = find(&bytes, marker(name).as_bytes());
            assert_eq!(
                found,
                kind == "plain",
                "marker of the {name} in a {kind} file"
            );
        }
    }
}
