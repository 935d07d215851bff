//! Types of bytes that others made, which are BLOBs whatever the Arrow type is.

use arrow::datatypes::{DataType, FieldRef};
use hushdb_storage::BIT;
use std::sync::Arc;

/// A field with BLOBs for bytes, also within lists, structs and maps; but for a fixed length of sixteen, which may be those of a UUID. Eight of
/// others are no TIME WITH TIME ZONE, and those by long offsets no BIT.
pub fn with_blobs(field: &FieldRef) -> FieldRef {
    let read = match field.data_type() {
        DataType::FixedSizeBinary(length) if *length != 16 => DataType::BinaryView,
        of if *of == BIT => DataType::BinaryView,
        DataType::List(item) => DataType::List(with_blobs(item)),
        DataType::LargeList(item) => DataType::LargeList(with_blobs(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(with_blobs(item), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(with_blobs).collect()),
        DataType::Map(entry, is_sorted) => DataType::Map(with_blobs(entry), *is_sorted),
        _ => return Arc::clone(field),
    };
    Arc::new(field.as_ref().clone().with_data_type(read))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::datatypes::{Field, Fields};

    fn field(ty: DataType) -> FieldRef {
        Arc::new(Field::new("f", ty, true))
    }

    #[test]
    fn bytes_within_others_are_blobs() {
        let of = |short: DataType| {
            let uuid = DataType::FixedSizeBinary(16);
            let fields = Fields::from(vec![field(short.clone()), field(uuid)]);
            let list = DataType::List(field(DataType::Struct(fields)));
            field(DataType::FixedSizeList(field(list), 2))
        };
        for bytes in [DataType::FixedSizeBinary(8), DataType::LargeBinary] {
            let read = with_blobs(&of(bytes));
            assert_eq!(read, of(DataType::BinaryView));
            assert_eq!(with_blobs(&read), read);
        }
    }
}
