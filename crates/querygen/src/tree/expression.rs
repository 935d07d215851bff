//! `Expression`: a typed tree that prints as SQL.

use super::query::Query;
use crate::column_type::ColumnType;
use crate::literals::{self, Value};
use std::fmt;

/// An expression and the type of its value.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A column of a source.
    Column {
        /// Its type.
        ty: ColumnType,
        /// The source's alias or name; none where the name alone is clear.
        qualifier: Option<String>,
        /// The column's name.
        name: String,
    },
    /// A value.
    Literal {
        /// Its type.
        ty: ColumnType,
        /// The value.
        value: Value,
    },
    /// An operator or function: `form` with `{}` for each argument.
    Call {
        /// The result's type.
        ty: ColumnType,
        /// What is printed.
        form: String,
        /// What stands for each `{}`.
        arguments: Vec<Expression>,
    },
    /// `form` with `{}` for each argument and, last, for the query.
    Subquery {
        /// The result's type.
        ty: ColumnType,
        /// What is printed.
        form: String,
        /// What stands for each `{}` but the last.
        arguments: Vec<Expression>,
        /// The query.
        query: Box<Query>,
    },
    /// An aggregate.
    Aggregate {
        /// The result's type; the call is cast to it where engines differ.
        ty: ColumnType,
        /// The function's name.
        function: String,
        /// Each value once.
        distinct: bool,
        /// Arguments; none for `count(*)`.
        arguments: Vec<Expression>,
        /// Sorted by its first argument.
        ordered: bool,
        /// FILTER.
        filter: Option<Box<Expression>>,
    },
    /// A window function.
    Window {
        /// The result's type.
        ty: ColumnType,
        /// The function's name.
        function: String,
        /// Its arguments.
        arguments: Vec<Expression>,
        /// PARTITION BY.
        partition: Vec<Expression>,
        /// ORDER BY.
        order: Vec<SortKey>,
        /// The frame with EXCLUDE, or nothing.
        frame: String,
        /// What stands behind the arguments: `IGNORE NULLS`, or nothing.
        nulls: &'static str,
        /// FILTER.
        filter: Option<Box<Expression>>,
    },
}

/// One key of an ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// What is sorted by.
    pub expression: Expression,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

impl Expression {
    /// The type of its value.
    pub fn ty(&self) -> &ColumnType {
        match self {
            Self::Column { ty, .. }
            | Self::Literal { ty, .. }
            | Self::Call { ty, .. }
            | Self::Subquery { ty, .. }
            | Self::Aggregate { ty, .. }
            | Self::Window { ty, .. } => ty,
        }
    }

    /// A call of an operator or function.
    pub fn call(ty: ColumnType, form: impl Into<String>, arguments: Vec<Self>) -> Self {
        Self::Call {
            ty,
            form: form.into(),
            arguments,
        }
    }

    /// A condition of one argument.
    pub fn test(form: &str, argument: Self) -> Self {
        Self::call(ColumnType::Boolean, form, vec![argument])
    }

    /// A literal.
    pub fn literal(ty: ColumnType, value: Value) -> Self {
        Self::Literal { ty, value }
    }

    /// A whole number.
    pub fn integer(value: i64) -> Self {
        Self::literal(ColumnType::Integer, Value::Text(value.to_string()))
    }

    /// A column by its name alone.
    pub fn named(name: &str, ty: ColumnType) -> Self {
        Self::Column {
            ty,
            qualifier: None,
            name: name.to_owned(),
        }
    }
}

/// Fills in the places of a form.
pub(crate) fn fill(
    f: &mut fmt::Formatter<'_>,
    form: &str,
    parts: &[&dyn fmt::Display],
) -> fmt::Result {
    let mut parts = parts.iter();
    for (n, piece) in form.split("{}").enumerate() {
        if n > 0 {
            match parts.next() {
                Some(part) => write!(f, "{part}")?,
                None => return Err(fmt::Error),
            }
        }
        f.write_str(piece)?;
    }
    Ok(())
}

fn displayed(expressions: &[Expression]) -> Vec<&dyn fmt::Display> {
    expressions
        .iter()
        .map(|one| one as &dyn fmt::Display)
        .collect()
}

/// Writes things with commas between them.
pub(crate) fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, all: &[T]) -> fmt::Result {
    for (n, one) in all.iter().enumerate() {
        let comma = if n > 0 { ", " } else { "" };
        write!(f, "{comma}{one}")?;
    }
    Ok(())
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column {
                qualifier, name, ..
            } => match qualifier {
                Some(qualifier) => write!(f, "{qualifier}.{name}"),
                None => f.write_str(name),
            },
            Self::Literal { ty, value } => {
                let mut text = String::new();
                literals::print(ty, value, &mut text);
                f.write_str(&text)
            }
            Self::Call {
                form, arguments, ..
            } => fill(f, form, &displayed(arguments)),
            Self::Subquery {
                form,
                arguments,
                query,
                ..
            } => {
                let mut parts = displayed(arguments);
                parts.push(query);
                fill(f, form, &parts)
            }
            Self::Aggregate { .. } => self.aggregate(f),
            Self::Window { .. } => self.window(f),
        }
    }
}

impl Expression {
    fn aggregate(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Aggregate {
            ty,
            function,
            distinct,
            arguments,
            ordered,
            filter,
        } = self
        else {
            return Err(fmt::Error);
        };
        // Types of sums differ between engines.
        let cast = matches!(function.as_str(), "sum" | "avg" | "median");
        f.write_str(if cast { "CAST(" } else { "" })?;
        let distinct = if *distinct { "DISTINCT " } else { "" };
        write!(f, "{function}({distinct}")?;
        list(f, arguments)?;
        if arguments.is_empty() {
            f.write_str("*")?;
        }
        if let (true, Some(first)) = (*ordered, arguments.first()) {
            write!(f, " ORDER BY {first}")?;
        }
        f.write_str(")")?;
        if let Some(filter) = filter {
            write!(f, " FILTER (WHERE {filter})")?;
        }
        if cast { write!(f, " AS {ty})") } else { Ok(()) }
    }

    fn window(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Window {
            ty,
            function,
            arguments,
            partition,
            order,
            frame,
            nulls,
            filter,
        } = self
        else {
            return Err(fmt::Error);
        };
        write!(f, "CAST({function}(")?;
        list(f, arguments)?;
        if arguments.is_empty() && function == "count" {
            f.write_str("*")?;
        }
        if !nulls.is_empty() {
            write!(f, " {nulls}")?;
        }
        f.write_str(")")?;
        if let Some(filter) = filter {
            write!(f, " FILTER (WHERE {filter})")?;
        }
        f.write_str(" OVER (")?;
        if !partition.is_empty() {
            f.write_str("PARTITION BY ")?;
            list(f, partition)?;
        }
        if !order.is_empty() {
            f.write_str(" ORDER BY ")?;
            list(f, order)?;
        }
        if !frame.is_empty() {
            write!(f, " {frame}")?;
        }
        write!(f, ") AS {ty})")
    }
}

impl SortKey {
    /// What stands behind the expression.
    pub(crate) fn direction(&self) -> String {
        let direction = if self.descending { " DESC" } else { "" };
        let nulls = if self.nulls_first { "FIRST" } else { "LAST" };
        format!("{direction} NULLS {nulls}")
    }
}

impl fmt::Display for SortKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.expression, self.direction())
    }
}
