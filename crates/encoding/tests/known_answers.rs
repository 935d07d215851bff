//! The bytes of column types and of values in records of the log, against a program that shares nothing with this crate:
//! `testdata/column_types.py`. Which tags and which numbers are refused.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Decimal256Array, FixedSizeBinaryArray, LargeBinaryArray, ListArray, MapArray,
    StructArray, UInt8Array,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, Fields, TimeUnit};
use hushdb_encoding::wire::{Reader, Writer};
use hushdb_encoding::{
    ArrayType, CodecError, Collation, ColumnType, EnumType, HUGEINT, MapType, TimeTz, UHUGEINT,
    UnionType, VortexCodec, bit_string, plain_values,
};

const KNOWN: &str = include_str!("../testdata/column_types.txt");

/// The last tag that FORMAT.md gives a meaning.
const LAST_TAG: u8 = 30;

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().as_chunks::<2>().0;
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16);
    digits.iter().map(|pair| byte(pair).unwrap()).collect()
}

fn named(name: &str) -> ColumnType {
    use ColumnType as C;
    let list = |item| C::List(Box::new(item));
    let decimal = |precision, scale| C::Decimal { precision, scale };
    let union = |members: Vec<(&str, C)>| {
        let members = members.into_iter().map(|(name, ty)| (name.into(), ty));
        C::Union(UnionType::new(members.collect()).unwrap())
    };
    let array = |item, length| C::Array(ArrayType::new(item, length).unwrap());
    match name {
        "boolean" => C::Boolean,
        "tinyint" => C::Int8,
        "smallint" => C::Int16,
        "integer" => C::Int32,
        "bigint" => C::Int64,
        "utinyint" => C::UInt8,
        "usmallint" => C::UInt16,
        "uinteger" => C::UInt32,
        "ubigint" => C::UInt64,
        "float" => C::Float,
        "double" => C::Double,
        "decimal-1-0" => decimal(1, 0),
        "decimal-18-3" => decimal(18, 3),
        "decimal-38-38" => decimal(38, 38),
        "varchar" => C::Varchar,
        "blob" => C::Blob,
        "date" => C::Date,
        "time" => C::Time,
        "timestamp-s" => C::Timestamp(TimeUnit::Second, false),
        "timestamp-ms" => C::Timestamp(TimeUnit::Millisecond, false),
        "timestamp" => C::Timestamp(TimeUnit::Microsecond, false),
        "timestamp-ns" => C::Timestamp(TimeUnit::Nanosecond, false),
        "timestamptz" => C::Timestamp(TimeUnit::Microsecond, true),
        "interval" => C::Interval,
        "uuid" => C::Uuid,
        "hugeint" => C::HugeInt,
        "json" => C::Json,
        "varchar-nocase" => C::Collated(Collation::NoCase),
        "varchar-noaccent" => C::Collated(Collation::NoAccent),
        "varchar-both" => C::Collated(Collation::NoAccentNoCase),
        "timetz" => C::TimeTz,
        "bit" => C::Bit,
        "uhugeint" => C::UHugeInt,
        "hugeint-list" => list(C::HugeInt),
        "list-of-lists" => list(list(C::UHugeInt)),
        "struct" => C::Struct(vec![("h".into(), C::HugeInt), ("ü".into(), C::UHugeInt)]),
        "map" => C::Map(MapType::new(C::HugeInt, C::UHugeInt)),
        "map-of-maps" => C::Map(MapType::new(
            C::Varchar,
            C::Map(MapType::new(C::Date, list(C::Int8))),
        )),
        "array" => array(C::HugeInt, 2),
        "union" => union(vec![("h", C::HugeInt), ("ü", C::UHugeInt)]),
        "union-of-unions" => union(vec![("u", list(union(vec![("a", C::Int8)])))]),
        "json-within" => C::Map(MapType::new(
            C::Json,
            C::Struct(vec![
                ("a".into(), array(list(C::Json), 2)),
                ("b".into(), C::Json),
            ]),
        )),
        "array-of-lists" => array(list(array(C::Varchar, 100_000)), 1),
        "enum" => {
            C::Enum(EnumType::new(["sad", "ok", "häppy"].map(String::from).to_vec()).unwrap())
        }
        _ => panic!("{name} is no type of this test"),
    }
}

fn huge(of: &DataType, values: &[Option<&str>]) -> ArrayRef {
    let values = values.iter();
    let values = values.map(|value| value.map(|text| i256::from_string(text).unwrap()));
    let array = Decimal256Array::from_iter(values);
    Arc::new(array.with_data_type(of.clone()))
}

/// Maps of two, no and one of the keys and values, of which the second is NULL.
fn maps(keys: ArrayRef, values: ArrayRef) -> ArrayRef {
    let DataType::Map(field, ordered) = named("map").arrow() else {
        panic!("a MAP is one to Arrow");
    };
    let DataType::Struct(fields) = field.data_type() else {
        panic!("a MAP has entries");
    };
    Arc::new(MapArray::new(
        Arc::clone(&field),
        OffsetBuffer::from_lengths([2, 0, 0, 1]),
        StructArray::new(fields.clone(), vec![keys, values], None),
        Some(NullBuffer::from(vec![true, false, true, true])),
        ordered,
    ))
}

/// Arrays of the values, of which the second is NULL.
fn arrays(values: ArrayRef) -> ArrayRef {
    let DataType::List(field) = named("array").arrow() else {
        panic!("an ARRAY is a list of so many values");
    };
    let there = NullBuffer::from(vec![true, false, true]);
    let offsets = OffsetBuffer::from_lengths([2, 0, 2]);
    Arc::new(ListArray::new(field, offsets, values, Some(there)))
}

/// Unions of these members, of which the second is NULL.
fn unions(first: ArrayRef, second: ArrayRef) -> ArrayRef {
    let DataType::Struct(fields) = named("union").arrow() else {
        panic!("a UNION is a struct of its tag and its members");
    };
    let tags = UInt8Array::from(vec![Some(1), None, Some(0), Some(0)]);
    let there = NullBuffer::from(vec![true, false, true, true]);
    let parts = vec![Arc::new(tags), first, second];
    Arc::new(StructArray::new(fields, parts, Some(there)))
}

fn times() -> ArrayRef {
    let time = |micros, offset| Some(TimeTz::new(micros, offset).unwrap().to_bytes());
    let times = [
        time(0, 57_599),
        time(86_400_000_000, -57_599),
        None,
        time(36_000_000_001, 7200),
        time(0, 0),
    ];
    let times = times.into_iter();
    Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(times, 8).unwrap())
}

fn bits() -> ArrayRef {
    let value = |text: &str| bit_string(text.len(), text.chars().map(|bit| bit == '1'));
    let values = ["101", "", "0", "11111111", "000000001"];
    Arc::new(values.map(value).into_iter().collect::<LargeBinaryArray>())
}

/// The rows whose bytes the program has made.
fn rows_of(name: &str) -> ArrayRef {
    const LEAST: &str = "-170141183460469231731687303715884105728";
    const MOST: &str = "170141183460469231731687303715884105727";
    const ABOVE: &str = "170141183460469231731687303715884105728";
    const UNSIGNED_MOST: &str = "340282366920938463463374607431768211455";
    const TWO_64: &str = "18446744073709551616";
    const MINUS_TWO_64: &str = "-18446744073709551616";
    match name {
        "timetz" => times(),
        "hugeint" => huge(
            &HUGEINT,
            &[
                Some("0"),
                Some("1"),
                Some("-1"),
                None,
                Some(LEAST),
                Some(MOST),
                Some(TWO_64),
                Some(MINUS_TWO_64),
                None,
            ],
        ),
        "uhugeint" => huge(
            &UHUGEINT,
            &[
                Some("0"),
                Some(ABOVE),
                None,
                Some(UNSIGNED_MOST),
                Some(TWO_64),
            ],
        ),
        "hugeint-list" => Arc::new(ListArray::new(
            Arc::new(Field::new_list_field(HUGEINT, true)),
            OffsetBuffer::from_lengths([2, 0, 0, 1]),
            huge(&HUGEINT, &[Some(LEAST), None, Some(MOST)]),
            Some(NullBuffer::from(vec![true, false, true, true])),
        )),
        "array" => arrays(huge(&HUGEINT, &[Some(LEAST), None, Some("0"), Some(MOST)])),
        "struct" => Arc::new(StructArray::new(
            Fields::from(vec![
                Field::new("h", HUGEINT, true),
                Field::new("ü", UHUGEINT, true),
            ]),
            vec![
                huge(&HUGEINT, &[Some(LEAST), None, None]),
                huge(&UHUGEINT, &[Some(UNSIGNED_MOST), None, Some("0")]),
            ],
            Some(NullBuffer::from(vec![true, false, true])),
        )),
        "union" => unions(
            huge(&HUGEINT, &[None, None, Some(LEAST), None]),
            huge(&UHUGEINT, &[Some(UNSIGNED_MOST), None, None, None]),
        ),
        "enum" => {
            let DataType::Struct(fields) = named(name).arrow() else {
                panic!("an ENUM is a struct of its code");
            };
            let codes = UInt8Array::from(vec![Some(2), None, Some(0), Some(1)]);
            let there = NullBuffer::from(vec![true, false, true, true]);
            Arc::new(StructArray::new(fields, vec![Arc::new(codes)], Some(there)))
        }
        "map" => maps(
            huge(&HUGEINT, &[Some(LEAST), Some("0"), Some(MOST)]),
            huge(&UHUGEINT, &[Some(UNSIGNED_MOST), None, Some("0")]),
        ),
        _ => panic!("{name} has no rows in this test"),
    }
}

#[test]
fn types_have_their_known_bytes() {
    let mut tags = Vec::new();
    for line in KNOWN.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["type", name, hex] = *words.as_slice() else {
            continue;
        };
        let (ty, known) = (named(name), bytes(hex));
        let mut written = Writer::default();
        ty.write(&mut written);
        assert_eq!(written.into_bytes(), known, "{name}");
        let mut reader = Reader::new(&known);
        assert_eq!(ColumnType::read(&mut reader), Ok(ty), "{name}");
        assert_eq!(reader.finish(), Ok(()), "{name}");
        tags.push(known[0]);
    }
    for tag in 1..=LAST_TAG {
        assert!(tags.contains(&tag), "tag {tag} has a known answer");
    }
}

#[test]
fn times_and_bits_that_are_none_are_not_written() {
    let bytes = [Some([0xff; 8])].into_iter();
    let array = FixedSizeBinaryArray::try_from_sparse_iter_with_size(bytes, 8).unwrap();
    let written = plain_values::write(&array, &ColumnType::TimeTz, &mut Writer::default());
    assert!(written.is_err());
    let array: ArrayRef = Arc::new(array);
    let encoded = VortexCodec::new().encode(&ColumnType::TimeTz, &array);
    assert!(matches!(encoded, Err(CodecError::WrongType)));
    let array: ArrayRef = Arc::new(LargeBinaryArray::from_vec(vec![&[9, 0xff]]));
    let written = plain_values::write(&array, &ColumnType::Bit, &mut Writer::default());
    assert!(written.is_err());
    let encoded = VortexCodec::new().encode(&ColumnType::Bit, &array);
    assert!(matches!(encoded, Err(CodecError::WrongType)));
}

#[test]
fn tags_that_mean_nothing_yet_are_refused() {
    for tag in (LAST_TAG + 1..=u8::MAX).chain([0]) {
        for behind in [vec![], vec![0; 64], bytes("040000"), bytes("0d0000040000")] {
            let unknown = [vec![tag, 0, 0], behind].concat();
            assert!(
                ColumnType::read(&mut Reader::new(&unknown)).is_err(),
                "{tag}"
            );
        }
    }
    // An ARRAY is its tag and its length, of 1 to 100,000, before the type of its values.
    assert!(ColumnType::read(&mut Reader::new(&bytes("1b000001000000020000"))).is_ok());
    for wrong in [
        "1b010001000000020000",
        "1b000101000000020000",
        "1b000000000000020000",
        "1b0000a1860100020000",
        "1b0000ffffffff020000",
        "1b0000020000",
    ] {
        assert!(
            ColumnType::read(&mut Reader::new(&bytes(wrong))).is_err(),
            "{wrong}"
        );
    }
    // HUGEINT, UHUGEINT, JSON, TIME WITH TIME ZONE and BIT are their tags alone; VARCHAR has three collations.
    for wrong in [
        "170100", "170001", "180100", "180001", "1a0100", "1a0001", "0d0400", "0d0101", "1d0100",
        "1d0001", "1e0100", "1e0001",
    ] {
        assert!(
            ColumnType::read(&mut Reader::new(&bytes(wrong))).is_err(),
            "{wrong}"
        );
    }
}

#[test]
fn values_have_their_known_bytes() {
    let mut cases = 0;
    for line in KNOWN.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let ["values", name, rows, hex] = *words.as_slice() else {
            continue;
        };
        let array = match name {
            "bit" => bits(),
            name => rows_of(name),
        };
        let (ty, known) = (named(name), bytes(hex));
        assert_eq!(array.len(), rows.parse::<usize>().unwrap(), "{name}");
        let mut written = Writer::default();
        plain_values::write(array.as_ref(), &ty, &mut written).unwrap();
        assert_eq!(written.into_bytes(), known, "{name}");
        let mut reader = Reader::new(&known);
        let read = plain_values::read(&ty, array.len(), &mut reader).unwrap();
        assert_eq!(reader.finish(), Ok(()), "{name}");
        assert_eq!(&read, &array, "{name}");
        for len in 0..known.len() {
            let cut = plain_values::read(&ty, array.len(), &mut Reader::new(&known[..len]));
            assert!(cut.is_err(), "{name} cut to {len} bytes");
        }
        cases += 1;
    }
    assert_eq!(cases, 10);
}

#[test]
fn a_map_without_a_key_or_an_entry_is_refused() {
    let ty = ColumnType::Map(MapType::new(ColumnType::Int8, ColumnType::Int8));
    let read = |bytes: &str| {
        let known = self::bytes(bytes);
        plain_values::read(&ty, 1, &mut Reader::new(&known))
    };
    // One map of one entry: 7 to 8.
    assert!(read("00 01000000 00 00 07 00 08".replace(' ', "").as_str()).is_ok());
    for wrong in [
        "00 01000000 01 00 00 07 00 08",
        "00 01000000 00 01 00 07 00 08",
    ] {
        assert!(read(&wrong.replace(' ', "")).is_err(), "{wrong}");
    }
}

#[test]
fn numbers_of_more_than_128_bits_are_refused() {
    for ty in [ColumnType::HugeInt, ColumnType::UHugeInt] {
        // One value, not NULL; each bit above the lowest 128 alone.
        for bit in 128..256 {
            let mut value = [0u8; 33];
            value[1 + bit / 8] |= 1 << (bit % 8);
            let read = plain_values::read(&ty, 1, &mut Reader::new(&value));
            assert!(read.is_err(), "{ty:?}, bit {bit}");
        }
    }
    // 2^127 with zeros above is none of a HUGEINT, and with ones above none of a UHUGEINT.
    let mut above = [0u8; 33];
    above[16] = 0x80;
    let read = |ty, bytes: &[u8]| plain_values::read(&ty, 1, &mut Reader::new(bytes)).is_ok();
    assert!(!read(ColumnType::HugeInt, &above) && read(ColumnType::UHugeInt, &above));
    above[17..].fill(0xff);
    assert!(read(ColumnType::HugeInt, &above) && !read(ColumnType::UHugeInt, &above));
}
