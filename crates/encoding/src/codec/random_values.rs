//! Types and arrays of them for tests, all from one number: lists and structs nested at random, NULLs anywhere, values behind
//! NULLs, arrays that are slices of others.

use std::sync::Arc;

use arrow_array::builder::{BinaryViewBuilder, FixedSizeBinaryBuilder, StringViewBuilder};
use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal64Array, Decimal128Array, Decimal256Array,
    Float64Array, Int32Array, IntervalMonthDayNanoArray, LargeBinaryArray, ListArray, StructArray,
    TimestampMicrosecondArray, UInt8Array, UInt64Array, make_array,
};
use arrow_buffer::{BooleanBuffer, NullBuffer, OffsetBuffer, i256};
use arrow_schema::{Field, TimeUnit};
use arrow_select::nullif::nullif;
use arrow_select::take::take;

use crate::bit_string::bit_string;
use crate::column_type::{ArrayType, ColumnType, MapType, UnionType};
use crate::nested_values::{list_of_type, map_of_entries};
use crate::time_tz::TimeTz;

/// A source of numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A list, array, map, struct or union with at most `depth` levels of them.
    pub(crate) fn nested_type(&mut self, depth: u32) -> ColumnType {
        if self.below(2) == 0 {
            return ColumnType::List(Box::new(self.any_type(depth - 1)));
        }
        if self.below(4) == 0 {
            let item = self.any_type(depth - 1);
            let length = 1 + self.below(4) as u32;
            return ColumnType::Array(ArrayType::new(item, length).unwrap());
        }
        if self.below(3) == 0 {
            let mut key = self.any_type(depth - 1);
            // What is made of a NULL array is none of its length, and of a NULL union several members.
            while let ColumnType::Array(_) | ColumnType::Union(_) = key {
                key = self.any_type(depth - 1);
            }
            return ColumnType::Map(MapType::new(key, self.any_type(depth - 1)));
        }
        let is_union = self.below(4) == 0;
        let fields = 1 + self.below(4);
        let field = |n: u64| (format!("field {n}"), self.any_type(depth - 1));
        let fields = (0..fields).map(field).collect();
        match is_union {
            true => ColumnType::Union(UnionType::new(fields).unwrap()),
            false => ColumnType::Struct(fields),
        }
    }

    fn any_type(&mut self, depth: u32) -> ColumnType {
        if depth > 0 && self.below(2) == 0 {
            return self.nested_type(depth);
        }
        let decimal = |precision| ColumnType::Decimal {
            precision,
            scale: 2,
        };
        match self.below(15) {
            0 => ColumnType::Boolean,
            1 => ColumnType::Double,
            2 => ColumnType::Varchar,
            3 => ColumnType::Blob,
            4 => ColumnType::Date,
            5 => ColumnType::Timestamp(TimeUnit::Microsecond, true),
            6 => ColumnType::Interval,
            7 => ColumnType::Uuid,
            8 => decimal(9),
            9 => decimal(38),
            10 => ColumnType::HugeInt,
            11 => ColumnType::UHugeInt,
            12 => ColumnType::TimeTz,
            13 => ColumnType::Bit,
            _ => ColumnType::Int32,
        }
    }

    /// An array of the type, which may be a slice of a larger one.
    pub(crate) fn array(&mut self, ty: &ColumnType, rows: usize) -> ArrayRef {
        let (before, after) = (self.below(3) as usize, self.below(3) as usize);
        let array = self.whole(ty, before + rows + after);
        array.slice(before, rows)
    }

    fn nulls(&mut self, rows: usize) -> Option<NullBuffer> {
        let share = [0, 0, 10, 50, 100][self.below(5) as usize];
        let valid = BooleanBuffer::collect_bool(rows, |_| self.below(100) >= share);
        (share > 0).then(|| NullBuffer::new(valid))
    }

    fn bytes(&mut self) -> Vec<u8> {
        let len = [0, 3, 12, 13, 40][self.below(5) as usize];
        (0..len).map(|_| b'a' + self.below(20) as u8).collect()
    }

    fn structs(
        &mut self,
        fields: &[(String, ColumnType)],
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let columns = fields.iter().map(|(_, ty)| self.array(ty, rows)).collect();
        let fields = ColumnType::struct_fields(fields);
        Arc::new(StructArray::new(fields, columns, nulls))
    }

    /// Some of those that are NULL have values all the same.
    fn unions(
        &mut self,
        union: &UnionType,
        numbers: &[i64],
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let count = union.members().len() as u64;
        let tags: Vec<u8> = numbers.iter().map(|n| (*n as u64 % count) as u8).collect();
        let is_there = |row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let mut columns: Vec<ArrayRef> = vec![Arc::new(UInt8Array::from(tags.clone()))];
        for (place, (_, ty)) in (0_u8..).zip(union.members()) {
            let is_other = |row: usize| is_there(row) && tags[row] != place;
            let others = BooleanBuffer::collect_bool(tags.len(), is_other);
            let member = self.array(ty, tags.len());
            columns.push(nullif(&member, &BooleanArray::new(others, None)).unwrap());
        }
        let fields = ColumnType::struct_fields(union.parts());
        Arc::new(StructArray::new(fields, columns, nulls))
    }

    fn lists(&mut self, item: &ColumnType, numbers: &[i64], nulls: Option<NullBuffer>) -> ArrayRef {
        let lengths: Vec<usize> = numbers.iter().map(|n| *n as usize % 5).collect();
        let values = self.array(item, lengths.iter().sum());
        let offsets = OffsetBuffer::from_lengths(lengths);
        let item = Arc::new(ColumnType::list_item(item));
        Arc::new(ListArray::new(item, offsets, values, nulls))
    }

    /// Some of those that are NULL have values all the same.
    fn arrays(
        &mut self,
        ty: &ColumnType,
        array: &ArrayType,
        numbers: &[i64],
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let length = |(row, n): (usize, &i64)| {
            let is_there = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            match is_there || n % 2 == 0 {
                true => array.length() as usize,
                false => 0,
            }
        };
        let lengths: Vec<usize> = numbers.iter().enumerate().map(length).collect();
        let values = self.array(array.item(), lengths.iter().sum());
        let item = Arc::new(ColumnType::list_item(array.item()));
        let offsets = OffsetBuffer::from_lengths(lengths);
        let list = ListArray::new(item, offsets, values, nulls);
        Arc::new(list_of_type(&ty.arrow(), list).unwrap())
    }

    fn maps(
        &mut self,
        ty: &ColumnType,
        map: &MapType,
        numbers: &[i64],
        nulls: Option<NullBuffer>,
    ) -> ArrayRef {
        let lengths: Vec<usize> = numbers.iter().map(|n| *n as usize % 4).collect();
        let total = lengths.iter().sum();
        let columns = map
            .parts()
            .map(|ty| self.array(ty, total))
            .collect::<Vec<_>>();
        // Keys are not NULL. Of parts of slices Arrow wants longer buffers than they need: these are copied.
        let without_nulls = |key: &ArrayRef| key.to_data().into_builder().nulls(None).build();
        let key = without_nulls(&columns[0]).unwrap_or_else(|_| {
            let all = UInt64Array::from_iter_values(0..total as u64);
            without_nulls(&take(&columns[0], &all, None).unwrap()).unwrap()
        });
        let key = make_array(key);
        let columns = vec![key, columns[1].clone()];
        let fields = ["key", "value"].into_iter().zip(&columns);
        let fields = fields.map(|(name, part)| Field::new(name, part.data_type().clone(), true));
        let entries = StructArray::new(fields.collect(), columns, None);
        let item = Field::new_list_field(entries.data_type().clone(), true);
        let offsets = OffsetBuffer::from_lengths(lengths);
        let list = ListArray::new(Arc::new(item), offsets, Arc::new(entries), nulls);
        Arc::new(map_of_entries(&ty.arrow(), list).unwrap())
    }

    fn whole(&mut self, ty: &ColumnType, rows: usize) -> ArrayRef {
        let nulls = self.nulls(rows);
        let small = self.below(2) == 0;
        let mut number = || match small {
            true => self.below(10) as i64,
            false => self.next() as i64 >> 1,
        };
        let numbers: Vec<i64> = (0..rows).map(|_| number()).collect();
        let is_valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        match ty {
            ColumnType::List(item) => self.lists(item, &numbers, nulls),
            ColumnType::Array(array) => self.arrays(ty, array, &numbers, nulls),
            ColumnType::Map(map) => self.maps(ty, map, &numbers, nulls),
            ColumnType::Struct(fields) => self.structs(fields, rows, nulls),
            ColumnType::Union(union) => self.unions(union, &numbers, nulls),
            ColumnType::Boolean => {
                let values = numbers.iter().map(|n| n % 2 == 0).collect::<Vec<_>>();
                Arc::new(BooleanArray::new(values.into(), nulls))
            }
            ColumnType::Double => {
                let values = numbers.iter().map(|n| *n as f64 / 8.0).collect::<Vec<_>>();
                Arc::new(Float64Array::new(values.into(), nulls))
            }
            ColumnType::Varchar => {
                let mut out = StringViewBuilder::new();
                for row in 0..rows {
                    let text = String::from_utf8(self.bytes()).unwrap();
                    out.append_option(is_valid(row).then_some(text));
                }
                Arc::new(out.finish())
            }
            ColumnType::Blob => {
                let mut out = BinaryViewBuilder::new();
                for row in 0..rows {
                    let bytes = self.bytes();
                    out.append_option(is_valid(row).then_some(bytes));
                }
                Arc::new(out.finish())
            }
            ColumnType::Date => Arc::new(Date32Array::new(
                numbers.iter().map(|n| *n as i32).collect(),
                nulls,
            )),
            ColumnType::Timestamp(..) => {
                let array = TimestampMicrosecondArray::new(numbers.into(), nulls);
                Arc::new(array.with_timezone("UTC"))
            }
            ColumnType::Interval => {
                let value = |n: &i64| IntervalMonthDayNano::new(*n as i32, (*n >> 7) as i32, *n);
                let values = numbers.iter().map(value).collect::<Vec<_>>();
                Arc::new(IntervalMonthDayNanoArray::new(values.into(), nulls))
            }
            ColumnType::Uuid => uuids(&numbers, is_valid),
            ColumnType::TimeTz => times(&numbers, is_valid),
            ColumnType::Bit => bits(&numbers, nulls),
            ColumnType::Decimal { precision, scale } => {
                decimals((*precision, *scale), &numbers, nulls)
            }
            ColumnType::HugeInt | ColumnType::UHugeInt => huge(ty, &numbers, nulls),
            _ => integers(&numbers, nulls),
        }
    }
}

fn integers(numbers: &[i64], nulls: Option<NullBuffer>) -> ArrayRef {
    let values = numbers.iter().map(|n| *n as i32).collect();
    Arc::new(Int32Array::new(values, nulls))
}

fn bits(numbers: &[i64], nulls: Option<NullBuffer>) -> ArrayRef {
    let values = numbers.iter().map(|n| {
        let count = 1 + n.unsigned_abs() as usize % 70;
        bit_string(count, (0..count).map(|at| n >> (at % 64) & 1 == 1)).unwrap()
    });
    // Also where NULL, as keys of maps are made of these.
    let (offsets, values, _) = LargeBinaryArray::from_iter_values(values).into_parts();
    Arc::new(LargeBinaryArray::new(offsets, values, nulls))
}

fn times(numbers: &[i64], is_valid: impl Fn(usize) -> bool) -> ArrayRef {
    let mut out = FixedSizeBinaryBuilder::new(8);
    for (row, n) in numbers.iter().enumerate() {
        let time = TimeTz::new(n.rem_euclid(86_400_000_001), (*n % 57_600) as i32);
        match time.filter(|_| is_valid(row)) {
            Some(time) => out.append_value(time.to_bytes()).unwrap(),
            None => out.append_null(),
        }
    }
    Arc::new(out.finish())
}

fn uuids(numbers: &[i64], is_valid: impl Fn(usize) -> bool) -> ArrayRef {
    let mut out = FixedSizeBinaryBuilder::new(16);
    for (row, n) in numbers.iter().enumerate() {
        match is_valid(row) {
            true => out.append_value(i128::from(*n).to_be_bytes()).unwrap(),
            false => out.append_null(),
        }
    }
    Arc::new(out.finish())
}

fn decimals((precision, scale): (u8, i8), numbers: &[i64], nulls: Option<NullBuffer>) -> ArrayRef {
    if precision <= 18 {
        let values: Vec<i64> = numbers.iter().map(|n| n % 1_000_000_000).collect();
        let array = Decimal64Array::new(values.into(), nulls);
        return Arc::new(array.with_precision_and_scale(precision, scale).unwrap());
    }
    let values = numbers.iter().map(|n| i128::from(*n) * 1_000_000_007);
    let array = Decimal128Array::new(values.collect::<Vec<_>>().into(), nulls);
    Arc::new(array.with_precision_and_scale(precision, scale).unwrap())
}

fn huge(ty: &ColumnType, numbers: &[i64], nulls: Option<NullBuffer>) -> ArrayRef {
    let signed = *ty == ColumnType::HugeInt;
    let wide = |n: &i64| match signed {
        true => i256::from_i128(i128::from(*n) * i128::from(i64::MIN)),
        false => i256::from_parts(u128::MAX - u128::from(n.unsigned_abs()), 0),
    };
    let values: Vec<i256> = numbers.iter().map(wide).collect();
    Arc::new(Decimal256Array::new(values.into(), nulls).with_data_type(ty.arrow()))
}
