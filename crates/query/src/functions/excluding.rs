//! `Excluding`: a function over frames from which EXCLUDE takes the row itself, or rows that are sorted alike, or whose ends are computed for
//! each row. And `lag`, `lead`, `nth_value` and `ntile` of a computed number.
//!
//! What must hold: an evaluator is asked for the rows of its partition one by one, from the first on. The rows of a partition are in memory,
//! so it is refused where it outgrows that.

use super::frame_ends::{Ends, Frame, FrameUnits};
use super::frame_tree::FrameTree;
use super::room::Memory;
use super::whole::{Gives, Whole, registered};
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray};
use datafusion::arrow::compute::{and, cast, filter, is_not_null, partition};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue, internal_datafusion_err, internal_err};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    AggregateUDF, PartitionEvaluator, ScalarUDF, Signature, Volatility, WindowFunctionDefinition,
    WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::{AggregateExprBuilder, AggregateFunctionExpr};
use datafusion::physical_expr::expressions::{Column, Literal};
use hushdb_sql::{EXCLUDE, Error, FRAME, USING_KEY};
use std::ops::Range;
use std::sync::Arc;

/// Marks that plans replace: of windows, and of the keys of recursive queries.
pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    fn mark(name: &'static [&'static str], gives: Gives) -> Whole {
        let takes = |types: &[DataType]| Some(types.to_vec());
        (name, takes, gives, |_, _| {
            internal_err!("a mark was called")
        })
    }
    let marks: [Whole; 3] = [
        mark(&[EXCLUDE], |_, _| Some(DataType::Utf8)),
        mark(&[FRAME], |_, _| Some(DataType::Utf8)),
        mark(&[USING_KEY], |_, _| Some(DataType::Boolean)),
    ];
    registered(marks, memory)
}

/// What a frame is without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Excluded {
    /// It has all of its rows.
    Nothing,
    /// The row.
    Row,
    /// The row, and those that are sorted alike.
    Group,
    /// The others that are sorted alike.
    Ties,
}

/// What is computed of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Function {
    Aggregate(Arc<AggregateUDF>),
    First,
    Last,
    Nth,
    /// Of the row so many before it, or behind it, or a default.
    Neighbour {
        is_behind: bool,
    },
    /// Of the row itself, where so many buckets are filled with those of its partition.
    Bucket,
}

/// The function, whose last arguments are its FILTER if it has one, and the ends of its frames if they are computed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Excluding {
    name: String,
    function: Function,
    excluded: Excluded,
    is_distinct: bool,
    is_filtered: bool,
    frame: Option<Frame>,
    memory: Memory,
    signature: Signature,
}

/// A function of frames without what is excluded; `None` of one that looks at no frame. Behind its arguments stand a filter, and the ends of
/// frames.
pub fn excluding(
    function: &WindowFunctionDefinition,
    (excluded, frame): (Excluded, Option<Frame>),
    is_distinct: bool,
    is_filtered: bool,
    memory: &Arc<dyn MemoryPool>,
) -> Option<WindowFunctionDefinition> {
    let of_frames = match function {
        WindowFunctionDefinition::AggregateUDF(aggregate) => {
            Function::Aggregate(Arc::clone(aggregate))
        }
        WindowFunctionDefinition::WindowUDF(function) => match function.name() {
            "first_value" => Function::First,
            "last_value" => Function::Last,
            "nth_value" => Function::Nth,
            _ => return None,
        },
    };
    Some(Excluding::definition(Excluding {
        name: function.name().to_owned(),
        function: of_frames,
        excluded,
        is_distinct,
        is_filtered,
        frame,
        memory: Memory(Arc::clone(memory)),
        signature: Signature::variadic_any(Volatility::Immutable),
    }))
}

/// A function whose number is no constant; `None` of others.
pub fn of_computed(name: &str, memory: &Arc<dyn MemoryPool>) -> Option<WindowFunctionDefinition> {
    let function = match name {
        "lag" => Function::Neighbour { is_behind: false },
        "lead" => Function::Neighbour { is_behind: true },
        "nth_value" => Function::Nth,
        "ntile" => Function::Bucket,
        _ => return None,
    };
    Some(Excluding::definition(Excluding {
        name: name.to_owned(),
        function,
        excluded: Excluded::Nothing,
        is_distinct: false,
        is_filtered: false,
        frame: None,
        memory: Memory(Arc::clone(memory)),
        signature: Signature::variadic_any(Volatility::Immutable),
    }))
}

impl Excluding {
    fn definition(self) -> WindowFunctionDefinition {
        WindowFunctionDefinition::WindowUDF(Arc::new(WindowUDF::from(self)))
    }

    /// The arguments, the filter, and the ends of frames.
    fn parts<'a, T>(&self, all: &'a [T]) -> [&'a [T]; 3] {
        let ends = self.frame.map_or(0, Frame::columns);
        let (all, ends) = all.split_at(all.len().saturating_sub(ends));
        let count = all.len().saturating_sub(usize::from(self.is_filtered));
        let (arguments, filter) = all.split_at(count);
        [arguments, filter, ends]
    }

    /// The arguments alone.
    fn arguments<'a, T>(&self, all: &'a [T]) -> &'a [T] {
        let [arguments, ..] = self.parts(all);
        arguments
    }

    /// The aggregate of columns that are called by their numbers; constants stay what they are.
    fn aggregate(
        &self,
        aggregate: &Arc<AggregateUDF>,
        args: &PartitionEvaluatorArgs<'_>,
    ) -> Result<AggregateFunctionExpr> {
        let fields = self.arguments(args.input_fields()).iter().enumerate();
        let fields = fields.map(|(at, field)| field.as_ref().clone().with_name(at.to_string()));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        let columns = self.arguments(args.input_exprs()).iter().enumerate();
        let columns = columns.map(|(at, expr)| -> Arc<dyn PhysicalExpr> {
            match expr.downcast_ref::<Literal>() {
                Some(_) => Arc::clone(expr),
                None => Arc::new(Column::new(&at.to_string(), at)),
            }
        });
        AggregateExprBuilder::new(Arc::clone(aggregate), columns.collect())
            .schema(Arc::new(schema))
            .alias(&self.name)
            .with_distinct(self.is_distinct)
            .build()
    }
}

impl WindowUDFImpl for Excluding {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        let fields = self.arguments(args.input_fields());
        let field = match (&self.function, fields) {
            (Function::Aggregate(aggregate), fields) => aggregate.return_field(fields)?,
            (Function::Bucket, _) => Arc::new(Field::new(args.name(), DataType::UInt64, true)),
            (_, [value, ..]) => Arc::new(value.as_ref().clone().with_nullable(true)),
            (_, []) => return Err(internal_datafusion_err!("{} of nothing", self.name)),
        };
        Ok(Arc::new(field.as_ref().clone().with_name(args.name())))
    }

    fn partition_evaluator(
        &self,
        args: PartitionEvaluatorArgs<'_>,
    ) -> Result<Box<dyn PartitionEvaluator>> {
        let aggregate = match &self.function {
            Function::Aggregate(aggregate) => Some(Arc::new(self.aggregate(aggregate, &args)?)),
            _ => None,
        };
        Ok(Box::new(Evaluator {
            function: self.clone(),
            aggregate,
            arguments: args.input_exprs().len(),
            ignores_nulls: args.ignore_nulls(),
            row: 0,
            partition: None,
            known: None,
        }))
    }
}

struct Evaluator {
    function: Excluding,
    /// `None` where the value is that of one row.
    aggregate: Option<Arc<AggregateFunctionExpr>>,
    /// Columns before those that rows are sorted by.
    arguments: usize,
    ignores_nulls: bool,
    /// The next one.
    row: usize,
    partition: Option<Partition>,
    /// Where values are that are not NULL, if `lag` or `lead` passes over others.
    known: Option<Vec<usize>>,
}

/// What is looked up for each row.
struct Partition {
    values: Values,
    /// How many of the rows before each are left by FILTER and IGNORE NULLS; `None` if all are.
    left: Option<Vec<usize>>,
    /// `None` where the library's frames are meant.
    ends: Option<Ends>,
    /// The rows that are sorted alike as the next one.
    peers: Range<usize>,
    /// Those behind them.
    next_peers: std::vec::IntoIter<Range<usize>>,
}

/// Of the rows that are left.
enum Values {
    Aggregated(Box<FrameTree>),
    Plain(ArrayRef),
}

impl Evaluator {
    fn partition(&self, values: &[ArrayRef]) -> Result<Partition> {
        let (arguments, keys) = values.split_at(self.arguments.min(values.len()));
        let rows = arguments.first().map_or(0, |column| column.len());
        let [columns, kept, ends] = self.function.parts(arguments);
        let kept = kept.first();
        let kept = kept.map(|kept| truths(kept.as_boolean()));
        let known = match (self.ignores_nulls, columns.first()) {
            (true, Some(value)) => Some(is_not_null(value)?),
            _ => None,
        };
        let kept = match (kept, known) {
            (Some(kept), Some(known)) => Some(and(&kept, &known)?),
            (kept, known) => kept.or(known),
        };
        let columns = match &kept {
            None => columns.to_vec(),
            Some(kept) => {
                let columns = columns.iter().map(|column| filter(column, kept));
                columns.collect::<std::result::Result<_, _>>()?
            }
        };
        let values = match &self.aggregate {
            Some(aggregate) => Values::Aggregated(Box::new(FrameTree::new(
                Arc::clone(aggregate),
                columns,
                &self.function.memory.0,
            ))),
            None => {
                let value = columns.into_iter().next();
                let missing = || internal_datafusion_err!("{} of nothing", self.function.name);
                Values::Plain(value.ok_or_else(missing)?)
            }
        };
        let frame = self.function.frame;
        let needs_peers = matches!(self.function.excluded, Excluded::Group | Excluded::Ties)
            || frame.is_some_and(|frame| frame.units != FrameUnits::Rows);
        let peers = match keys {
            [] => std::iter::once(0..rows).collect(),
            _ if !needs_peers => vec![],
            keys => partition(keys)?.ranges(),
        };
        let ends = frame.map(|frame| Ends::new(frame, ends, &peers, rows));
        Ok(Partition {
            values,
            left: kept.map(|kept| counts(&kept)),
            ends: ends.transpose()?,
            peers: 0..0,
            next_peers: peers.into_iter(),
        })
    }

    /// The value so many rows before a row, or behind it, or the default, which is the third argument; NULL of an unknown row.
    fn neighbour(&mut self, values: &[ArrayRef], is_behind: bool) -> Result<ScalarValue> {
        let row = self.row;
        self.row += 1;
        let [value, far, ..] = values else {
            return Err(internal_datafusion_err!(
                "lag and lead take a value and a row"
            ));
        };
        if self.ignores_nulls && self.known.is_none() {
            let known = (0..value.len()).filter(|row| value.is_valid(*row));
            self.known = Some(known.collect());
        }
        let far = far.as_primitive::<Int64Type>();
        if far.is_null(row) {
            return ScalarValue::try_from(value.data_type());
        }
        let far = i128::from(far.value(row));
        let place = place_of(
            row,
            if is_behind { far } else { -far },
            self.known.as_deref(),
        );
        match (place.filter(|place| *place < value.len()), values.get(2)) {
            (Some(place), _) => ScalarValue::try_from_array(value, place),
            (None, Some(default)) if self.arguments > 2 => {
                ScalarValue::try_from_array(default, row)?.cast_to(value.data_type())
            }
            (None, _) => ScalarValue::try_from(value.data_type()),
        }
    }

    fn bucket(&mut self, values: &[ArrayRef]) -> Result<ScalarValue> {
        let row = self.row;
        self.row += 1;
        let buckets = values.first();
        let buckets = buckets.ok_or_else(|| internal_datafusion_err!("ntile without a number"))?;
        let buckets = buckets.as_primitive::<Int64Type>();
        let known = buckets.is_valid(row).then(|| buckets.value(row));
        let bucket = known.map(|known| bucket(row, buckets.len(), known));
        Ok(ScalarValue::UInt64(bucket.transpose()?))
    }

    /// Which number `nth_value` is asked for.
    fn number(&self, values: &[ArrayRef]) -> Result<usize> {
        let missing = || internal_datafusion_err!("nth_value without a number");
        let number = values.get(1).filter(|_| self.arguments > 1);
        let number = number.ok_or_else(missing)?.slice(self.row, 1);
        let number = cast(&number, &DataType::Int64)?;
        let number = number.as_primitive::<Int64Type>();
        let number = (!number.is_null(0)).then(|| number.value(0));
        Ok(number.and_then(|n| usize::try_from(n).ok()).unwrap_or(0))
    }
}

/// The row that is so many behind another, if `far` is negative before it. Of known values alone, so many of them.
fn place_of(row: usize, far: i128, known: Option<&[usize]>) -> Option<usize> {
    let Some(known) = known.filter(|_| far != 0) else {
        return usize::try_from(row as i128 + far).ok();
    };
    let place = match far < 0 {
        true => known.partition_point(|place| *place < row) as i128 + far,
        false => known.partition_point(|place| *place <= row) as i128 + far - 1,
    };
    known.get(usize::try_from(place).ok()?).copied()
}

/// The bucket of a row where the first ones have one row more than others.
fn bucket(row: usize, rows: usize, buckets: i64) -> Result<u64> {
    if buckets < 1 {
        let what = "Argument for ntile must be greater than zero";
        return Err(Error::invalid(what).into());
    }
    let buckets = usize::try_from(buckets).map_or(rows, |buckets| buckets.min(rows));
    let (least, larger) = (rows / buckets, rows % buckets);
    let of_larger = larger * (least + 1);
    Ok(match row < of_larger {
        true => row / (least + 1) + 1,
        false => larger + (row - of_larger) / least + 1,
    } as u64)
}

/// NULL is no truth.
fn truths(kept: &BooleanArray) -> BooleanArray {
    match kept.nulls() {
        None => kept.clone(),
        Some(nulls) => BooleanArray::new(kept.values() & nulls.inner(), None),
    }
}

/// How many are kept before each row, and of all.
fn counts(kept: &BooleanArray) -> Vec<usize> {
    let mut count = 0;
    let mut counts = Vec::with_capacity(kept.len() + 1);
    counts.push(0);
    for kept in kept.values() {
        count += usize::from(kept);
        counts.push(count);
    }
    counts
}

impl Partition {
    /// What is left of a row's frame, in order.
    fn rows(&mut self, frame: &Range<usize>, row: usize, excluded: Excluded) -> Vec<Range<usize>> {
        while row >= self.peers.end {
            match self.next_peers.next() {
                Some(peers) => self.peers = peers,
                None => break,
            }
        }
        let (own, taken) = match excluded {
            Excluded::Nothing => (row..row, frame.end..frame.end),
            Excluded::Row => (row..row, row..row + 1),
            Excluded::Group => (row..row, self.peers.clone()),
            Excluded::Ties => (row..row + 1, self.peers.clone()),
        };
        let within = |from: usize, to: usize| from.max(frame.start)..to.min(frame.end);
        let rows = [
            within(frame.start, taken.start),
            within(own.start, own.end),
            within(taken.end, frame.end),
        ];
        let left = |at: usize| match &self.left {
            None => at,
            Some(left) => left.get(at).or(left.last()).copied().unwrap_or(0),
        };
        let rows = rows.into_iter().filter(|rows| rows.start < rows.end);
        let rows = rows.map(|rows| left(rows.start)..left(rows.end));
        rows.filter(|rows| !rows.is_empty()).collect()
    }
}

/// The `n`-th of these rows, from 1.
fn nth(rows: &[Range<usize>], n: usize) -> Option<usize> {
    let mut before = n.checked_sub(1)?;
    for rows in rows {
        if before < rows.len() {
            return Some(rows.start + before);
        }
        before -= rows.len();
    }
    None
}

impl PartitionEvaluator for Evaluator {
    fn uses_window_frame(&self) -> bool {
        true
    }

    fn evaluate(&mut self, values: &[ArrayRef], frame: &Range<usize>) -> Result<ScalarValue> {
        check()?;
        match self.function.function {
            Function::Neighbour { is_behind } => return self.neighbour(values, is_behind),
            Function::Bucket => return self.bucket(values),
            _ => {}
        }
        if self.partition.is_none() {
            self.partition = Some(self.partition(values)?);
        }
        let number = match self.function.function {
            Function::Nth => self.number(values)?,
            _ => 0,
        };
        let Some(partition) = &mut self.partition else {
            return Err(internal_datafusion_err!("a window without a partition"));
        };
        let computed = partition.ends.as_mut().map(|ends| ends.of(self.row));
        let computed = computed.transpose()?;
        let frame = computed.as_ref().unwrap_or(frame);
        let rows = partition.rows(frame, self.row, self.function.excluded);
        self.row += 1;
        let column = match &mut partition.values {
            Values::Aggregated(tree) => return tree.value(&rows),
            Values::Plain(column) => column,
        };
        let place = match self.function.function {
            Function::Last => rows.last().map(|rows| rows.end - 1),
            Function::Nth => nth(&rows, number),
            _ => rows.first().map(|rows| rows.start),
        };
        match place {
            Some(place) => ScalarValue::try_from_array(column, place),
            None => ScalarValue::try_from(column.data_type()),
        }
    }
}

impl std::fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.function)
    }
}
