//! What the other modules need: stores of each kind, arrays of each type.

use std::sync::Arc;

use arrow_array::builder::*;
use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, TimeUnit};
use hushdb_crypto::CryptoProvider;
use hushdb_keys::{KeyProvider, Suite, providers::KeyText};
use hushdb_storage::*;

/// Both crypto providers, each cipher, and plain.
pub(crate) const KINDS: [&str; 4] = ["aws-lc-rs", "rustcrypto", "ctr", "plain"];

/// A file in memory, how it is opened, and with which key.
pub(crate) struct Fixture {
    pub(crate) file: Arc<MemFile>,
    pub(crate) options: StoreOptions,
    encrypted: bool,
}

impl Fixture {
    pub(crate) fn new(kind: &str) -> Self {
        let encrypted = kind != "plain";
        let suite = match kind {
            "ctr" => Suite::Ctr,
            _ => Suite::Gcm,
        };
        let options = StoreOptions {
            crypto: CryptoProvider::by_name(kind).unwrap_or_default(),
            suite,
            ..StoreOptions::default()
        };
        Self {
            file: Arc::new(MemFile::new()),
            options,
            encrypted,
        }
    }

    fn key(&self) -> Option<KeyText> {
        let text = format!("hex:{}", "5a".repeat(32));
        self.encrypted.then(|| KeyText::new(text))
    }

    pub(crate) fn create(&self) -> Arc<Store> {
        let key = self.key();
        let key = key.as_ref().map(|key| key as &dyn KeyProvider);
        Store::create(
            Arc::clone(&self.file) as Arc<dyn StorageFile>,
            key,
            &self.options,
        )
        .unwrap()
    }

    pub(crate) fn open(&self) -> Arc<Store> {
        let key = self.key();
        let key = key.as_ref().map(|key| key as &dyn KeyProvider);
        let options = StoreOptions {
            pool: Arc::new(BufferPool::new(64 << 20)),
            ..self.options.clone()
        };
        Store::open(
            Arc::clone(&self.file) as Arc<dyn StorageFile>,
            key,
            &options,
        )
        .unwrap()
    }
}

pub(crate) fn def(name: &str, ty: ColumnType) -> ColumnDef {
    ColumnDef {
        name: name.into(),
        ty,
        nullable: true,
        default: None,
        generated: None,
        declared: None,
    }
}

/// Makes a table and appends one row group.
pub(crate) fn fill(store: &Arc<Store>, name: &str, columns: Vec<ColumnDef>, arrays: &[ArrayRef]) {
    let mut txn = store.begin().unwrap();
    txn.create_table("main", name, columns, vec![]).unwrap();
    append(&mut txn, name, arrays);
    txn.commit().unwrap();
}

pub(crate) fn append(txn: &mut Transaction, name: &str, arrays: &[ArrayRef]) -> u64 {
    let columns = txn.catalog().table("main", name).unwrap().columns.clone();
    let pending = txn.store().write_row_group(&columns, arrays).unwrap();
    txn.append("main", name, vec![pending]).unwrap()
}

/// All row groups of a column, one array each.
pub(crate) fn read(
    store: &Arc<Store>,
    catalog: &CatalogVersion,
    table: &str,
    column: &str,
) -> Vec<ArrayRef> {
    let table = catalog.table("main", table).unwrap();
    let column = table.column(column).unwrap();
    let groups = table.row_groups().unwrap().iter();
    groups
        .map(|group| store.read_column(group, column, None).unwrap())
        .collect()
}

/// The visible values of an integer column, in order.
pub(crate) fn integers(
    store: &Arc<Store>,
    catalog: &CatalogVersion,
    table: &str,
    column: &str,
) -> Vec<Option<i64>> {
    let table = catalog.table("main", table).unwrap();
    let column = table.column(column).unwrap();
    let mut all = Vec::new();
    for group in table.row_groups().unwrap() {
        let array = store
            .read_column(group, column, group.visible().as_ref())
            .unwrap();
        all.extend(cast::AsArray::as_primitive::<Int64Type>(&array).iter());
    }
    all
}

/// Every type with values that try its limits, without NULL.
pub(crate) fn every_type() -> Vec<(ColumnType, ArrayRef)> {
    let decimal = |precision, scale| ColumnType::Decimal { precision, scale };
    let max38 = 10i128.pow(38) - 1;
    let decimal128 = Decimal128Array::from(vec![0, 1, -1, max38, -max38, 1 << 64, -(1 << 64), 7]);
    let decimal64 = Decimal64Array::from(vec![
        0,
        1,
        -1,
        10i64.pow(18) - 1,
        1 - 10i64.pow(18),
        5,
        6,
        7,
    ]);
    let long = "x".repeat(70_000);
    let text = [
        "",
        "a",
        "twelve bytes",
        "thirteen byte",
        "Grüße, 世界",
        "\u{10FFFF}",
        long.as_str(),
        "a",
    ];
    let blobs: [&[u8]; 8] = [
        b"",
        b"\0",
        b"\xff\xfe",
        b"abc",
        long.as_bytes(),
        &[0xff; 80],
        b"\x80",
        b"z",
    ];
    let uuids = (0..8u8).map(|i| [i.wrapping_mul(37); 16]);
    let intervals = [
        (0, 0, 0),
        (1, -1, 1),
        (i32::MAX, i32::MIN, i64::MAX),
        (i32::MIN, i32::MAX, i64::MIN),
    ];
    let intervals = intervals.iter().cycle().take(8);
    let intervals = intervals.map(|(m, d, n)| IntervalMonthDayNanoType::make_value(*m, *d, *n));
    let i64s = vec![0, 1, -1, i64::MAX, i64::MIN, 2, 3, 4];
    let stamps = |unit, zoned| {
        let array: ArrayRef = match unit {
            TimeUnit::Second => Arc::new(zone(TimestampSecondArray::from(i64s.clone()), zoned)),
            TimeUnit::Millisecond => {
                Arc::new(zone(TimestampMillisecondArray::from(i64s.clone()), zoned))
            }
            TimeUnit::Microsecond => {
                Arc::new(zone(TimestampMicrosecondArray::from(i64s.clone()), zoned))
            }
            TimeUnit::Nanosecond => {
                Arc::new(zone(TimestampNanosecondArray::from(i64s.clone()), zoned))
            }
        };
        (ColumnType::Timestamp(unit, zoned), array)
    };
    let floats = [
        0.0,
        -0.0,
        1.5,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::EPSILON,
    ];
    let flat: Vec<(ColumnType, ArrayRef)> = vec![
        (
            ColumnType::Boolean,
            Arc::new(BooleanArray::from(vec![
                true, false, true, true, false, false, true, true,
            ])),
        ),
        (
            ColumnType::Int8,
            Arc::new(Int8Array::from(vec![0, 1, -1, i8::MAX, i8::MIN, 2, 3, 4])),
        ),
        (
            ColumnType::Int16,
            Arc::new(Int16Array::from(vec![
                0,
                1,
                -1,
                i16::MAX,
                i16::MIN,
                2,
                3,
                4,
            ])),
        ),
        (
            ColumnType::Int32,
            Arc::new(Int32Array::from(vec![
                0,
                1,
                -1,
                i32::MAX,
                i32::MIN,
                2,
                3,
                4,
            ])),
        ),
        (ColumnType::Int64, Arc::new(Int64Array::from(i64s.clone()))),
        (
            ColumnType::UInt8,
            Arc::new(UInt8Array::from(vec![0, 1, 2, u8::MAX, 4, 5, 6, 7])),
        ),
        (
            ColumnType::UInt16,
            Arc::new(UInt16Array::from(vec![0, 1, 2, u16::MAX, 4, 5, 6, 7])),
        ),
        (
            ColumnType::UInt32,
            Arc::new(UInt32Array::from(vec![0, 1, 2, u32::MAX, 4, 5, 6, 7])),
        ),
        (
            ColumnType::UInt64,
            Arc::new(UInt64Array::from(vec![0, 1, 2, u64::MAX, 4, 5, 6, 7])),
        ),
        (
            ColumnType::Float,
            Arc::new(Float32Array::from(floats.map(|v| v as f32).to_vec())),
        ),
        (
            ColumnType::Double,
            Arc::new(Float64Array::from(floats.to_vec())),
        ),
        (
            decimal(18, 3),
            Arc::new(decimal64.with_precision_and_scale(18, 3).unwrap()),
        ),
        (
            decimal(38, 10),
            Arc::new(decimal128.with_precision_and_scale(38, 10).unwrap()),
        ),
        (
            ColumnType::Varchar,
            Arc::new(StringViewArray::from_iter_values(text)),
        ),
        (
            ColumnType::Blob,
            Arc::new(BinaryViewArray::from_iter_values(blobs)),
        ),
        (
            ColumnType::Date,
            Arc::new(Date32Array::from(vec![
                0,
                1,
                -1,
                i32::MAX,
                i32::MIN,
                2,
                3,
                4,
            ])),
        ),
        (
            ColumnType::Time,
            Arc::new(Time64MicrosecondArray::from(vec![
                0,
                1,
                2,
                3,
                4,
                5,
                6,
                86_399_999_999,
            ])),
        ),
        stamps(TimeUnit::Second, false),
        stamps(TimeUnit::Millisecond, false),
        stamps(TimeUnit::Microsecond, true),
        stamps(TimeUnit::Nanosecond, false),
        stamps(TimeUnit::Nanosecond, true),
        (
            ColumnType::Interval,
            Arc::new(IntervalMonthDayNanoArray::from_iter_values(intervals)),
        ),
        (
            ColumnType::Uuid,
            Arc::new(FixedSizeBinaryArray::try_from_iter(uuids).unwrap()),
        ),
    ];
    let lists = flat.iter().map(list_of).collect::<Vec<_>>();
    let structs = [&flat, &lists].map(|fields| struct_of(fields));
    let nested = list_of(&structs[1]);
    [flat, lists, structs.to_vec(), vec![nested]].concat()
}

/// Eight lists of the eight values of an array, some of them empty.
fn list_of((ty, array): &(ColumnType, ArrayRef)) -> (ColumnType, ArrayRef) {
    let ty = ColumnType::List(Box::new(ty.clone()));
    let DataType::List(item) = ty.arrow() else {
        unreachable!("the type of a list")
    };
    let offsets = OffsetBuffer::from_lengths([0, 1, 2, 0, 3, 1, 0, 1]);
    let list = ListArray::new(item, offsets, Arc::clone(array), None);
    (ty, Arc::new(list))
}

/// Structs of the values of arrays.
fn struct_of(fields: &[(ColumnType, ArrayRef)]) -> (ColumnType, ArrayRef) {
    let (types, arrays): (Vec<_>, Vec<_>) = fields.iter().cloned().unzip();
    let named = (0..).map(|n| format!("field {n}")).zip(types);
    let ty = ColumnType::Struct(named.collect());
    let DataType::Struct(fields) = ty.arrow() else {
        unreachable!("the type of a struct")
    };
    (ty, Arc::new(StructArray::new(fields, arrays, None)))
}

fn zone<T: ArrowTimestampType>(array: PrimitiveArray<T>, zoned: bool) -> PrimitiveArray<T> {
    if zoned {
        array.with_timezone("UTC")
    } else {
        array
    }
}

/// The array with every row of an odd number NULL.
pub(crate) fn with_nulls(array: &ArrayRef) -> ArrayRef {
    let mut keep = BooleanBuilder::new();
    (0..array.len()).for_each(|row| keep.append_value(row % 2 == 1));
    arrow_select::nullif::nullif(array.as_ref(), &keep.finish()).unwrap()
}

pub(crate) fn int64s(values: impl IntoIterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}
