//! `ColumnPass`: what a pass over the rows finds out about one column.

use super::Summary;
use super::numbers::Numbers;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::ScalarValue;
use datafusion::functions_aggregate::min_max::{MaxAccumulator, MinAccumulator};
use datafusion::logical_expr::Accumulator;
use hushdb_sql::type_names::stored_type;
use hushdb_sql::{Error, Result};
use hushdb_storage::{ColumnType, DistinctSketch};

/// What is not known of a column yet.
#[derive(Clone, Copy, Default)]
pub(super) struct Wanted {
    /// The smallest and the greatest value.
    pub(super) bounds: bool,
    /// Distinct values and NULLs.
    pub(super) distinct: bool,
    /// Average, deviation and quartiles.
    pub(super) numbers: bool,
}

impl Wanted {
    pub(super) fn all(field: &Field) -> Self {
        Self {
            bounds: true,
            distinct: true,
            numbers: Numbers::are(field.data_type()),
        }
    }

    pub(super) fn anything(self) -> bool {
        self.bounds || self.distinct || self.numbers
    }
}

pub(super) struct ColumnPass {
    bounds: Option<(MinAccumulator, MaxAccumulator)>,
    distinct: Option<Distinct>,
    numbers: Option<Numbers>,
    rows: u64,
}

impl ColumnPass {
    pub(super) fn new(field: &Field, wanted: Wanted, partition: usize) -> Result<Self> {
        let ty = field.data_type();
        let bounds = match wanted.bounds && *ty != DataType::Null {
            true => Some((MinAccumulator::try_new(ty)?, MaxAccumulator::try_new(ty)?)),
            false => None,
        };
        let numbers = wanted.numbers.then(|| Numbers::new(ty, partition as u64));
        Ok(Self {
            bounds,
            distinct: wanted.distinct.then(|| Distinct::new(field)),
            numbers: numbers.flatten(),
            rows: 0,
        })
    }

    pub(super) fn add(&mut self, values: &ArrayRef) -> Result<()> {
        self.rows += values.len() as u64;
        self.add_bounds(values)?;
        if let Some(distinct) = &mut self.distinct {
            distinct.add(values)?;
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.add(values);
        }
        Ok(())
    }

    fn add_bounds(&mut self, values: &ArrayRef) -> Result<()> {
        if let Some((min, max)) = &mut self.bounds {
            min.update_batch(std::slice::from_ref(values))?;
            max.update_batch(std::slice::from_ref(values))?;
        }
        Ok(())
    }

    pub(super) fn merge(&mut self, mut other: Self) -> Result<()> {
        self.rows += other.rows;
        if let Some((min, max)) = &mut other.bounds {
            self.add_bounds(&min.evaluate()?.to_array()?)?;
            self.add_bounds(&max.evaluate()?.to_array()?)?;
        }
        if let (Some(mine), Some(theirs)) = (&mut self.distinct, &other.distinct) {
            mine.sketch.merge(&theirs.sketch);
            mine.nulls += theirs.nulls;
        }
        if let (Some(mine), Some(theirs)) = (&mut self.numbers, other.numbers) {
            mine.merge(theirs);
        }
        Ok(())
    }

    /// Says what was found.
    pub(super) fn finish(self, summary: &mut Summary) -> Result<()> {
        let value = |value: ScalarValue| (!value.is_null()).then_some(value);
        if let Some((mut min, mut max)) = self.bounds {
            summary.min = value(min.evaluate()?);
            summary.max = value(max.evaluate()?);
        }
        if let Some(distinct) = self.distinct {
            summary.nulls = distinct.nulls;
            let values = self.rows - distinct.nulls;
            summary.distinct = distinct.sketch.estimate().min(values);
        }
        if let Some(numbers) = self.numbers {
            summary.numbers = numbers.texts()?;
        }
        Ok(())
    }
}

/// Distinct values, roughly, and NULLs.
struct Distinct {
    sketch: DistinctSketch,
    nulls: u64,
    /// How the values would be stored; those that could not be are told apart by their sort keys.
    ty: Option<ColumnType>,
    sort_field: SortField,
}

impl Distinct {
    fn new(field: &Field) -> Self {
        // Sketches of lists and structs are not kept.
        let is_flat = !field.data_type().is_nested();
        Self {
            sketch: DistinctSketch::default(),
            nulls: 0,
            ty: stored_type(field).ok().filter(|_| is_flat),
            sort_field: SortField::new(field.data_type().clone()),
        }
    }

    fn add(&mut self, values: &ArrayRef) -> Result<()> {
        if *values.data_type() == DataType::Null {
            self.nulls += values.len() as u64;
            return Ok(());
        }
        self.nulls += values.null_count() as u64;
        if let Some(ty) = &self.ty {
            let to = ty.arrow();
            let stored = match values.data_type() == &to {
                true => ArrayRef::clone(values),
                false => cast(values, &to)?,
            };
            if let Some(sketch) = DistinctSketch::of(ty, &stored) {
                self.sketch.merge(&sketch);
                return Ok(());
            }
        }
        let keys = RowConverter::new(vec![self.sort_field.clone()])
            .and_then(|converter| converter.convert_columns(std::slice::from_ref(values)));
        let keys = keys.map_err(|_| {
            Error::unsupported(format!(
                "values of type {} cannot be counted",
                values.data_type()
            ))
        })?;
        for (row, key) in keys.iter().enumerate() {
            if values.is_valid(row) {
                self.sketch.add_bytes(key.as_ref());
            }
        }
        Ok(())
    }
}
