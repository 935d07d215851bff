//! What is recorded about a column's values when a row group is written.
//!
//! What must hold: bounds enclose every non-null value under the order the engine compares in (integers by value, floats by
//! IEEE 754 totalOrder, text and bytes bytewise); no bounds if there is no value, a NaN, or no order (INTERVAL), and neither bounds nor distinct
//! values of LIST and STRUCT.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, GenericByteViewArray, PrimitiveArray};
use arrow_buffer::i256;
use arrow_schema::TimeUnit;
use hushdb_encoding::{ColumnType, MAX_DECIMAL64_PRECISION, row_bytes};

use super::{DistinctSketch, StatValue};

/// Statistics of one segment.
pub(crate) struct Statistics {
    pub(crate) null_count: u32,
    pub(crate) min: Option<StatValue>,
    pub(crate) max: Option<StatValue>,
    /// Whether `min` and `max` occur in the segment, rather than merely enclosing it.
    pub(crate) exact: bool,
    /// Size in bytes before compression: values without their offsets.
    pub(crate) raw_bytes: u64,
    pub(crate) distinct: DistinctSketch,
}

impl DistinctSketch {
    /// The sketch of an array's values, as a row group with them would record it; `None` if the array's type is not
    /// the one in which such values are stored.
    pub fn of(ty: &ColumnType, array: &ArrayRef) -> Option<Self> {
        (array.data_type() == &ty.arrow()).then(|| Statistics::of(ty, array).distinct)
    }
}

type Bounds = (Option<StatValue>, Option<StatValue>);

impl Statistics {
    /// Statistics of `array`, which must have the type `ty.arrow()`.
    pub(crate) fn of(ty: &ColumnType, array: &ArrayRef) -> Self {
        let mut distinct = DistinctSketch::default();
        let mut exact = true;
        let sketch = &mut distinct;
        let (min, max) = match ty {
            ColumnType::Boolean => booleans(array, sketch),
            ColumnType::Int8 => signed::<Int8Type>(array, sketch),
            ColumnType::Int16 => signed::<Int16Type>(array, sketch),
            ColumnType::Int32 => signed::<Int32Type>(array, sketch),
            ColumnType::Int64 => signed::<Int64Type>(array, sketch),
            ColumnType::UInt8 => unsigned::<UInt8Type>(array, sketch),
            ColumnType::UInt16 => unsigned::<UInt16Type>(array, sketch),
            ColumnType::UInt32 => unsigned::<UInt32Type>(array, sketch),
            ColumnType::UInt64 => unsigned::<UInt64Type>(array, sketch),
            ColumnType::Float => floats(array.as_primitive::<Float32Type>(), f64::from, sketch),
            ColumnType::Double => {
                floats(array.as_primitive::<Float64Type>(), |value| value, sketch)
            }
            ColumnType::Decimal { precision, .. } if *precision <= MAX_DECIMAL64_PRECISION => {
                signed::<Decimal64Type>(array, sketch)
            }
            ColumnType::Decimal { .. } => wide(array, sketch),
            ColumnType::Date => signed::<Date32Type>(array, sketch),
            ColumnType::Time => signed::<Time64MicrosecondType>(array, sketch),
            ColumnType::Timestamp(TimeUnit::Second, _) => {
                signed::<TimestampSecondType>(array, sketch)
            }
            ColumnType::Timestamp(TimeUnit::Millisecond, _) => {
                signed::<TimestampMillisecondType>(array, sketch)
            }
            ColumnType::Timestamp(TimeUnit::Microsecond, _) => {
                signed::<TimestampMicrosecondType>(array, sketch)
            }
            ColumnType::Timestamp(TimeUnit::Nanosecond, _) => {
                signed::<TimestampNanosecondType>(array, sketch)
            }
            ColumnType::Interval => {
                intervals(array, sketch);
                (None, None)
            }
            ColumnType::Varchar | ColumnType::Json | ColumnType::Collated(_) => {
                views(array.as_string_view(), true, sketch, &mut exact)
            }
            ColumnType::Blob => views(array.as_binary_view(), false, sketch, &mut exact),
            ColumnType::Bit => bytes(array.as_binary::<i64>().iter(), sketch, &mut exact),
            ColumnType::Uuid | ColumnType::TimeTz => {
                bytes(array.as_fixed_size_binary().iter(), sketch, &mut exact)
            }
            ColumnType::HugeInt => huge(array, sketch),
            ColumnType::UHugeInt => unsigned_huge(array, sketch),
            ColumnType::List(_)
            | ColumnType::Struct(_)
            | ColumnType::Map(_)
            | ColumnType::Array(_)
            | ColumnType::Union(_)
            | ColumnType::Enum(_) => (None, None),
        };
        let null_count = u32::try_from(array.null_count()).unwrap_or(u32::MAX);
        Self {
            null_count,
            min,
            max,
            exact,
            raw_bytes: raw_bytes(array),
            distinct,
        }
    }
}

fn wide(array: &ArrayRef, sketch: &mut DistinctSketch) -> Bounds {
    let array = array.as_primitive::<Decimal128Type>();
    each(array, |value| sketch.add_bytes(&value.to_le_bytes()));
    wrap(min_max(array, |value| value), StatValue::Int128)
}

fn huge(array: &ArrayRef, sketch: &mut DistinctSketch) -> Bounds {
    let array = array.as_primitive::<Decimal256Type>();
    each(array, |value| {
        sketch.add_bytes(&value.as_i128().to_le_bytes());
    });
    wrap(min_max(array, i256::as_i128), StatValue::Int128)
}

fn unsigned_huge(array: &ArrayRef, sketch: &mut DistinctSketch) -> Bounds {
    let array = array.as_primitive::<Decimal256Type>();
    each(array, |value| {
        sketch.add_bytes(&low_half(value).to_le_bytes());
    });
    let bytes = |value: u128| StatValue::Bytes(value.to_be_bytes().into());
    wrap(min_max(array, low_half), bytes)
}

/// What a UHUGEINT is of.
fn low_half(value: i256) -> u128 {
    value.to_parts().0
}

/// Bytes that the values of an array take, before compression.
pub(crate) fn raw_bytes(array: &ArrayRef) -> u64 {
    let lengths = |views: &[u128]| views.iter().map(|view| u64::from(*view as u32)).sum();
    if let Some(text) = array.as_string_view_opt() {
        return lengths(text.views());
    }
    if let Some(bytes) = array.as_binary_view_opt() {
        return lengths(bytes.views());
    }
    if let Some(bits) = array.as_binary_opt::<i64>() {
        let ends = [bits.value_offsets().last(), bits.value_offsets().first()];
        let [end, first] = ends.map(|end| end.map_or(0, |end| end.cast_unsigned()));
        return end - first;
    }
    if array.data_type().is_nested() {
        return row_bytes(array.as_ref()).iter().sum();
    }
    let rows = array.len() as u64;
    match array.data_type().primitive_width() {
        Some(width) => rows * width as u64,
        None if array.as_fixed_size_binary_opt().is_some() => rows * 16,
        None => rows.div_ceil(8),
    }
}

fn each<T: ArrowPrimitiveType>(array: &PrimitiveArray<T>, mut f: impl FnMut(T::Native)) {
    if array.null_count() == 0 {
        array.values().iter().for_each(|value| f(*value));
    } else {
        array.iter().flatten().for_each(f);
    }
}

fn min_max<T: ArrowPrimitiveType, V: Ord + Copy>(
    array: &PrimitiveArray<T>,
    key: impl Fn(T::Native) -> V,
) -> Option<(V, V)> {
    let fold = |bounds: Option<(V, V)>, value: V| match bounds {
        None => Some((value, value)),
        Some((low, high)) => Some((low.min(value), high.max(value))),
    };
    if array.null_count() == 0 {
        array
            .values()
            .iter()
            .map(|value| key(*value))
            .fold(None, fold)
    } else {
        array.iter().flatten().map(key).fold(None, fold)
    }
}

fn wrap<V>(bounds: Option<(V, V)>, value: impl Fn(V) -> StatValue) -> Bounds {
    match bounds {
        Some((low, high)) => (Some(value(low)), Some(value(high))),
        None => (None, None),
    }
}

fn signed<T>(array: &ArrayRef, sketch: &mut DistinctSketch) -> Bounds
where
    T: ArrowPrimitiveType,
    T::Native: Into<i64>,
{
    let array = array.as_primitive::<T>();
    each(array, |value| {
        sketch.add_number(value.into().cast_unsigned())
    });
    wrap(min_max(array, |value| value.into()), StatValue::Int)
}

fn unsigned<T>(array: &ArrayRef, sketch: &mut DistinctSketch) -> Bounds
where
    T: ArrowPrimitiveType,
    T::Native: Into<u64>,
{
    let array = array.as_primitive::<T>();
    each(array, |value| sketch.add_number(value.into()));
    wrap(min_max(array, |value| value.into()), StatValue::UInt)
}

fn floats<T: ArrowPrimitiveType>(
    array: &PrimitiveArray<T>,
    widen: impl Fn(T::Native) -> f64,
    sketch: &mut DistinctSketch,
) -> Bounds {
    let mut bounds: Option<(f64, f64)> = None;
    let mut has_nan = false;
    each(array, |value| {
        let value = widen(value);
        has_nan |= value.is_nan();
        // -0.0 and 0.0 are one value to SQL, and so are all NaNs.
        let counted = if value == 0.0 {
            0.0
        } else if value.is_nan() {
            f64::NAN
        } else {
            value
        };
        sketch.add_number(counted.to_bits());
        bounds = Some(match bounds {
            None => (value, value),
            Some((low, high)) => (
                if value.total_cmp(&low).is_lt() {
                    value
                } else {
                    low
                },
                if value.total_cmp(&high).is_gt() {
                    value
                } else {
                    high
                },
            ),
        });
    });
    if has_nan {
        (None, None)
    } else {
        wrap(bounds, StatValue::Float)
    }
}

/// Intervals have no order that bounds could be of.
fn intervals(array: &ArrayRef, sketch: &mut DistinctSketch) {
    each(array.as_primitive::<IntervalMonthDayNanoType>(), |value| {
        let mut bytes = [0; 16];
        let (months, rest) = bytes.split_at_mut(4);
        let (days, nanos) = rest.split_at_mut(4);
        months.copy_from_slice(&value.months.to_le_bytes());
        days.copy_from_slice(&value.days.to_le_bytes());
        nanos.copy_from_slice(&value.nanoseconds.to_le_bytes());
        sketch.add_bytes(&bytes);
    });
}

fn booleans(array: &ArrayRef, sketch: &mut DistinctSketch) -> Bounds {
    let array = array.as_boolean();
    let set = array.true_count();
    let clear = array.len() - array.null_count() - set;
    if clear > 0 {
        sketch.add_number(0);
    }
    if set > 0 {
        sketch.add_number(1);
    }
    let bounds = (set + clear > 0).then_some((clear == 0, set > 0));
    wrap(bounds, StatValue::Bool)
}

/// Short values that were seen lately, by a hash of their view. Seeing a value twice changes no statistic, and columns
/// of few short values are common.
struct SeenLately([u128; 256]);

impl SeenLately {
    /// Whether this view, which holds its whole value, was seen; notes it.
    fn note(&mut self, view: u128) -> bool {
        let folded = (view as u64) ^ ((view >> 64) as u64);
        let slot = (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as usize;
        self.0
            .get_mut(slot)
            .is_some_and(|seen| std::mem::replace(seen, view) == view)
    }
}

fn views<T: ByteViewType>(
    array: &GenericByteViewArray<T>,
    text: bool,
    sketch: &mut DistinctSketch,
    exact: &mut bool,
) -> Bounds {
    const MAX_INLINE: u32 = 12;
    // No view is all ones: its length would be larger than any value's.
    let mut seen = SeenLately([u128::MAX; 256]);
    let mut extremes = Extremes::default();
    for (row, view) in array.views().iter().enumerate() {
        // A NULL is not noted: its view is that of an empty value, which may come later.
        if array.is_null(row) || *view as u32 <= MAX_INLINE && seen.note(*view) {
            continue;
        }
        let value: &[u8] = array.value(row).as_ref();
        sketch.add_bytes(value);
        extremes.see(value);
    }
    extremes.bounds(text, exact)
}

fn bytes<'a>(
    values: impl Iterator<Item = Option<&'a [u8]>>,
    sketch: &mut DistinctSketch,
    exact: &mut bool,
) -> Bounds {
    let mut extremes = Extremes::default();
    for value in values.flatten() {
        sketch.add_bytes(value);
        extremes.see(value);
    }
    extremes.bounds(false, exact)
}

/// Smallest and largest byte string so far, each with its first four bytes as a number.
#[derive(Default)]
struct Extremes<'a>(Option<[(u32, &'a [u8]); 2]>);

impl<'a> Extremes<'a> {
    fn see(&mut self, value: &'a [u8]) {
        let mut prefix = [0; 4];
        prefix
            .iter_mut()
            .zip(value)
            .for_each(|(to, from)| *to = *from);
        // Zeros stand for what is not there, so prefixes in order mean values in order, but equal ones mean nothing.
        let keyed = (u32::from_be_bytes(prefix), value);
        let [low, high] = self.0.get_or_insert([keyed, keyed]);
        if keyed < *low {
            *low = keyed;
        } else if keyed > *high {
            *high = keyed;
        }
    }

    fn bounds(&self, text: bool, exact: &mut bool) -> Bounds {
        let Some([(_, low), (_, high)]) = self.0 else {
            return (None, None);
        };
        let (min, min_exact) = StatValue::lower_bound(low, text);
        let (max, max_exact) = StatValue::upper_bound(high, text);
        *exact = min_exact && max_exact;
        (Some(min), max)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{BooleanArray, Decimal128Array, Float64Array, Int32Array, StringViewArray};

    use super::*;

    fn of(ty: ColumnType, array: impl Array + 'static) -> Statistics {
        let array: ArrayRef = Arc::new(array);
        Statistics::of(&ty, &array)
    }

    fn bounds(statistics: &Statistics) -> (Option<&StatValue>, Option<&StatValue>) {
        (statistics.min.as_ref(), statistics.max.as_ref())
    }

    #[test]
    fn numbers_are_bounded_without_their_nulls() {
        let values = vec![Some(3), None, Some(-7), Some(3)];
        let statistics = of(ColumnType::Int32, Int32Array::from(values));
        let expected = (Some(&StatValue::Int(-7)), Some(&StatValue::Int(3)));
        assert_eq!(bounds(&statistics), expected);
        assert_eq!((statistics.null_count, statistics.raw_bytes), (1, 16));
        assert_eq!(statistics.distinct.estimate(), 2);
    }

    #[test]
    fn wide_decimals_are_bounded() {
        let array = Decimal128Array::from(vec![i128::from(u64::MAX) + 1, -5]);
        let array = array.with_precision_and_scale(38, 0).unwrap();
        let statistics = of(
            ColumnType::Decimal {
                precision: 38,
                scale: 0,
            },
            array,
        );
        let high = StatValue::Int128(i128::from(u64::MAX) + 1);
        assert_eq!(
            bounds(&statistics),
            (Some(&StatValue::Int128(-5)), Some(&high))
        );
    }

    #[test]
    fn floats_are_bounded_in_total_order_unless_one_is_nan() {
        let statistics = of(ColumnType::Double, Float64Array::from(vec![0.0, -0.0, 2.5]));
        let Some(StatValue::Float(low)) = statistics.min else {
            panic!()
        };
        assert!(low == 0.0 && low.is_sign_negative());
        assert_eq!(statistics.distinct.estimate(), 2);
        let statistics = of(ColumnType::Double, Float64Array::from(vec![1.0, f64::NAN]));
        assert_eq!(bounds(&statistics), (None, None));
    }

    #[test]
    fn long_text_has_cut_bounds_and_says_so() {
        let (low, high) = ("a".repeat(100), "b".repeat(100));
        let array = StringViewArray::from(vec![Some(low.as_str()), None, Some(high.as_str())]);
        let statistics = of(ColumnType::Varchar, array);
        let expected_high = format!("{}c", "b".repeat(63));
        let low = StatValue::Bytes(vec![b'a'; 64]);
        let high = StatValue::Bytes(expected_high.into_bytes());
        assert_eq!(bounds(&statistics), (Some(&low), Some(&high)));
        assert!(!statistics.exact);
        assert_eq!(statistics.raw_bytes, 200);
    }

    #[test]
    fn an_empty_text_after_a_null_is_within_the_bounds() {
        let array = StringViewArray::from(vec![None, Some("b"), Some("")]);
        let statistics = of(ColumnType::Varchar, array);
        let (low, high) = (StatValue::Bytes(vec![]), StatValue::Bytes(vec![b'b']));
        assert_eq!(bounds(&statistics), (Some(&low), Some(&high)));
        assert_eq!(statistics.distinct.estimate(), 2);
    }

    #[test]
    fn booleans_are_bounded() {
        let statistics = of(
            ColumnType::Boolean,
            BooleanArray::from(vec![Some(true), None]),
        );
        let yes = StatValue::Bool(true);
        assert_eq!(bounds(&statistics), (Some(&yes), Some(&yes)));
        assert_eq!(statistics.distinct.estimate(), 1);
    }
}
