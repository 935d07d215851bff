//! `format('{:>5}', x)` and `printf('%5d', x)`: values put into a text in a form of their own.
//!
//! What must hold: a width or a precision asks for its memory before anything of it is written; no error repeats a value.

use super::formatted_values::{Align, Form, Given};
use super::room::Room;
use super::value_text;
use super::whole::{Call, Whole, registered};
use crate::heed::check;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringViewBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal256Type, Float64Type};
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::logical_expr::ScalarUDF;
use hushdb_sql::{Error, ErrorKind};
use hushdb_storage::HUGEINT;
use std::sync::Arc;

/// Rows between two looks at the statement.
const LOOK_ROWS: usize = 256;

pub(super) fn all(memory: &Arc<dyn MemoryPool>) -> Vec<Arc<ScalarUDF>> {
    let functions: [Whole; 2] = [
        (
            &["format"],
            takes,
            |_, _| Some(DataType::Utf8View),
            |call, room| written(call, room, braces),
        ),
        (
            &["printf"],
            takes,
            |_, _| Some(DataType::Utf8View),
            |call, room| written(call, room, percents),
        ),
    ];
    registered(functions, memory)
}

/// A text, and values of any type.
fn takes(types: &[DataType]) -> Option<Vec<DataType>> {
    let (format, values) = types.split_first()?;
    let is_text = format.is_string() || format.is_null();
    is_text.then(|| {
        let mut all = vec![DataType::Utf8View];
        all.extend_from_slice(values);
        all
    })
}

pub(super) fn invalid(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidInput, what)
}

type Fill = fn(&str, &mut Values<'_>, &mut String) -> Result<()>;

fn written(call: &Call<'_>, room: &mut Room, fill: Fill) -> Result<ArrayRef> {
    let Some((formats, columns)) = call.columns().split_first() else {
        return Err(Error::internal("a format without a text").into());
    };
    let formats = formats.as_string_view();
    let columns = columns.iter().map(whole_numbers);
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let mut out = StringViewBuilder::with_capacity(formats.len());
    for row in 0..formats.len() {
        if row.is_multiple_of(LOOK_ROWS) {
            check()?;
        }
        if formats.is_null(row) || columns.iter().any(|column| is_null(column, row)) {
            out.append_null();
            continue;
        }
        let mut values = Values {
            columns: &columns,
            row,
            next: 0,
            by_number: None,
            room,
        };
        let mut text = String::new();
        fill(formats.value(row), &mut values, &mut text)?;
        out.try_append_value(text)?;
    }
    Ok(Arc::new(out.finish()))
}

/// Also where NULL is written, which has no type.
fn is_null(column: &ArrayRef, row: usize) -> bool {
    column.data_type().is_null() || column.is_null(row)
}

/// Numbers in the widest type of their kind.
fn whole_numbers(column: &ArrayRef) -> Result<ArrayRef> {
    let to = match column.data_type() {
        DataType::Null | DataType::Boolean => return Ok(Arc::clone(column)),
        of if of.is_integer() => HUGEINT,
        of if *of == HUGEINT => return Ok(Arc::clone(column)),
        of if of.is_numeric() => DataType::Float64,
        _ => return Ok(Arc::clone(column)),
    };
    Ok(cast(column, &to)?)
}

/// The values of a row, one after the other or by their numbers.
struct Values<'a> {
    columns: &'a [ArrayRef],
    row: usize,
    next: usize,
    by_number: Option<bool>,
    room: &'a mut Room,
}

impl Values<'_> {
    fn at(&self, number: usize) -> Result<Given> {
        let Some(column) = self.columns.get(number) else {
            return Err(invalid(format!("Argument index \"{number}\" out of range")).into());
        };
        Ok(match column.data_type() {
            DataType::Boolean => Given::Bool(column.as_boolean().value(self.row)),
            of if *of == HUGEINT => {
                let value = column.as_primitive::<Decimal256Type>().value(self.row);
                Given::Int(value.as_i128())
            }
            DataType::Float64 => Given::Float(column.as_primitive::<Float64Type>().value(self.row)),
            _ => Given::Text(value_text(column.as_ref(), self.row)?.unwrap_or_default()),
        })
    }

    fn take_next(&mut self) -> Result<Given> {
        self.go_by(false)?;
        self.next += 1;
        self.at(self.next - 1)
    }

    fn numbered(&mut self, number: usize) -> Result<Given> {
        self.go_by(true)?;
        self.at(number)
    }

    fn go_by(&mut self, number: bool) -> Result<()> {
        if *self.by_number.get_or_insert(number) == number {
            return Ok(());
        }
        Err(invalid(match number {
            true => "cannot switch from automatic to manual argument indexing",
            false => "cannot switch from manual to automatic argument indexing",
        })
        .into())
    }

    /// A width or a precision that a value says.
    fn size(&mut self) -> Result<usize> {
        match self.take_next()? {
            Given::Int(size) => usize::try_from(size)
                .ok()
                .filter(|size| *size <= i32::MAX as usize)
                .ok_or_else(|| invalid("number is too big").into()),
            _ => Err(invalid("width is not integer").into()),
        }
    }

    fn put(&mut self, form: &Form, value: Given, out: &mut String) -> Result<()> {
        let wanted = form.width.max(form.precision.unwrap_or(0));
        self.room.take((out.len() + wanted) as u128)?;
        form.write(value, out)
    }
}

/// What is left of a format.
struct Rest<'a>(std::iter::Peekable<std::str::Chars<'a>>);

impl Rest<'_> {
    fn take(&mut self, wanted: char) -> bool {
        self.0.next_if_eq(&wanted).is_some()
    }

    /// A number, if one comes next.
    fn number(&mut self) -> Result<Option<usize>> {
        let mut number: Option<usize> = None;
        while let Some(digit) = self.0.peek().and_then(|c| c.to_digit(10)) {
            self.0.next();
            let so_far = number.unwrap_or(0);
            let longer = so_far.checked_mul(10).map(|n| n + digit as usize);
            let longer = longer.filter(|n| *n <= i32::MAX as usize);
            number = Some(longer.ok_or_else(|| invalid("number is too big"))?);
        }
        Ok(number)
    }

    /// `+`, `-` or a space, `#`, and what separates thousands.
    fn flag(&mut self, form: &mut Form) -> bool {
        match self.0.peek() {
            Some(sign @ ('+' | ' ')) => form.plus = Some(*sign),
            Some('#') => form.alternate = true,
            Some(mark @ (',' | '\'' | '_')) => form.thousands = Some(*mark),
            _ => return false,
        }
        self.0.next();
        true
    }
}

/// A text with values in braces, as in Python.
fn braces(format: &str, values: &mut Values<'_>, out: &mut String) -> Result<()> {
    let mut rest = Rest(format.chars().peekable());
    while let Some(c) = rest.0.next() {
        match c {
            '{' if rest.take('{') => out.push('{'),
            '{' => one_in_braces(&mut rest, values, out)?,
            '}' if rest.take('}') => out.push('}'),
            '}' => return Err(invalid("unmatched '}' in format string").into()),
            c => out.push(c),
        }
    }
    Ok(())
}

fn one_in_braces(rest: &mut Rest<'_>, values: &mut Values<'_>, out: &mut String) -> Result<()> {
    let missing = || invalid("missing '}' in format string");
    let value = match (rest.number()?, rest.0.peek()) {
        (Some(number), _) => values.numbered(number)?,
        (None, Some('}' | ':')) => values.take_next()?,
        (None, Some(c)) if c.is_alphabetic() => {
            return Err(invalid("Arguments have no names: write {}, {0} or {:d}").into());
        }
        _ => return Err(invalid("invalid format string").into()),
    };
    let mut form = Form::default();
    if rest.take(':') {
        let mut ahead = rest.0.clone();
        let (first, second) = (ahead.next(), ahead.next());
        if let (Some(fill), Some(align)) = (first, second.and_then(Align::of))
            && !matches!(fill, '{' | '}')
        {
            (form.fill, form.align) = (fill, align);
            rest.0.nth(1);
        } else if let Some(align) = first.and_then(Align::of) {
            form.align = align;
            rest.0.next();
        }
        // As without.
        let _ = rest.take('-');
        while rest.flag(&mut form) {}
        if rest.take('t') {
            form.thousands = Some(rest.0.next().filter(|c| *c != '}').ok_or_else(missing)?);
        }
        if rest.take('0') {
            form.zeros();
        }
        form.width = size_in_braces(rest, values)?.unwrap_or(0);
        if rest.take('.') {
            let precision = size_in_braces(rest, values)?;
            form.precision = Some(precision.ok_or_else(|| invalid("missing precision specifier"))?);
        }
        form.kind = rest.0.next_if(|c| *c != '}');
    }
    if !rest.take('}') {
        return Err(missing().into());
    }
    let takes_precision = matches!(value, Given::Float(_) | Given::Text(_));
    if form.precision.is_some() && !takes_precision {
        return Err(invalid("precision not allowed for this argument type").into());
    }
    let is_numeric = form.align == Align::Number || form.plus.is_some() || form.alternate;
    if is_numeric && matches!(value, Given::Text(_)) {
        return Err(invalid("format specifier requires numeric argument").into());
    }
    if matches!((form.kind, &value), (Some('c'), _))
        || matches!((form.kind, &value), (Some('s'), Given::Bool(_)))
    {
        return Err(value.unlike(form.kind.unwrap_or_default()).into());
    }
    values.put(&form, value, out)
}

/// A number, or `{}` for the next value.
fn size_in_braces(rest: &mut Rest<'_>, values: &mut Values<'_>) -> Result<Option<usize>> {
    if !rest.take('{') {
        return rest.number();
    }
    match rest.take('}') {
        true => values.size().map(Some),
        false => Err(invalid("invalid format string").into()),
    }
}

/// A text with values after percent signs, as in C.
fn percents(format: &str, values: &mut Values<'_>, out: &mut String) -> Result<()> {
    let mut rest = Rest(format.chars().peekable());
    while let Some(c) = rest.0.next() {
        match c {
            '%' if rest.take('%') => out.push('%'),
            '%' => one_after_percent(&mut rest, values, out)?,
            c => out.push(c),
        }
    }
    Ok(())
}

fn one_after_percent(rest: &mut Rest<'_>, values: &mut Values<'_>, out: &mut String) -> Result<()> {
    let mut form = Form {
        of_c: true,
        ..Form::default()
    };
    // `%2$s`: a number that is no width.
    let mut ahead = Rest(rest.0.clone());
    let numbered = match ahead.number()? {
        Some(number) if ahead.take('$') => {
            rest.0 = ahead.0;
            Some(
                number
                    .checked_sub(1)
                    .ok_or_else(|| invalid("Argument index out of range"))?,
            )
        }
        _ => None,
    };
    loop {
        if rest.take('-') {
            form.align = Align::Left;
        } else if rest.take('0') {
            form.zeros();
        } else if !rest.flag(&mut form) {
            break;
        }
    }
    form.width = match rest.take('*') {
        true => values.size()?,
        false => rest.number()?.unwrap_or(0),
    };
    if rest.take('.') {
        form.precision = Some(match rest.take('*') {
            true => values.size()?,
            false => rest.number()?.unwrap_or(0),
        });
    }
    while matches!(rest.0.peek(), Some('h' | 'l' | 'j' | 'z' | 't' | 'L')) {
        rest.0.next();
    }
    let value = match numbered {
        Some(number) => values.numbered(number)?,
        None => values.take_next()?,
    };
    form.kind = Some(rest.0.next().ok_or_else(|| value.unlike('%'))?);
    values.put(&form, value, out)
}
