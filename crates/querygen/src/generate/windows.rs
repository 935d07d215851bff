//! Window functions, and QUALIFY.

use super::queries::items;
use super::{Generator, Scope};
use crate::column_type::ColumnType;
use crate::tree::{Expression, Select, SortKey};

const FRAMES: [&str; 12] = [
    "",
    "",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
    "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
    "GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING",
];

/// Frames that hold all rows that are equal, or none.
const PEER_FRAMES: [&str; 6] = [
    "",
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
    "GROUPS BETWEEN 1 PRECEDING AND CURRENT ROW",
    "GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
];

const EXCLUDED: [&str; 4] = ["CURRENT ROW", "GROUP", "TIES", "NO OTHERS"];

/// Functions whose value is the same for rows that may change places.
const OF_PEERS: [&str; 4] = ["count", "min", "max", "sum"];

/// A function, its arguments and its type.
struct Called {
    function: &'static str,
    arguments: Vec<Expression>,
    ty: ColumnType,
    framed: bool,
}

impl Generator {
    /// A SELECT with window functions over rows that are wholly sorted.
    pub(crate) fn windowed(&mut self, outer: &Scope) -> Select {
        let (source, mut scope) = self.sources(outer);
        let filter = self.dice.chance(40).then(|| self.condition(&scope, 2));
        scope.depth = if self.dice.chance(5) { 1 } else { 9 };
        let mut columns = scope.columns.clone();
        columns.push(self.window(&scope, false));
        if self.dice.chance(50) {
            columns.push(self.window(&scope, true));
        }
        let first = columns[scope.columns.len()].clone();
        let mut items = items(columns);
        let qualify = match self.dice.below(10) {
            0 => Some(self.of_window(first)),
            1 => {
                let named =
                    Expression::named(&items[scope.columns.len()].alias, first.ty().clone());
                Some(self.of_window(named))
            }
            2 => {
                let window = self.window(&scope, true);
                Some(self.of_window(window))
            }
            3 => {
                // Alone it may tell rows apart that are equal.
                items.truncate(scope.columns.len());
                Some(self.of_window(first))
            }
            _ => None,
        };
        if items.is_empty() {
            items = super::queries::items(vec![Expression::integer(1)]);
        }
        Select {
            items,
            filter,
            qualify,
            ..Select::from(source)
        }
    }

    /// A predicate over a window function's value.
    pub(crate) fn of_window(&mut self, window: Expression) -> Expression {
        if *window.ty() != ColumnType::BigInt {
            return Expression::test("({} IS NOT NULL)", window);
        }
        let form = *self.dice.pick(&["({} = {})", "({} <= {})", "({} > {})"]);
        let constant = Expression::integer(self.dice.between(1, 3) as i64);
        Expression::call(ColumnType::Boolean, form, vec![window, constant])
    }

    /// A window function. One that is `of_peers` alone has the same value for rows that are equal, so that it can stand beside
    /// another, which may take these rows in another order.
    pub(crate) fn window(&mut self, scope: &Scope, of_peers: bool) -> Expression {
        let Called {
            function,
            arguments,
            ty,
            framed,
        } = self.called(scope, of_peers);
        let mut keys = scope.columns.clone();
        let turn = self.dice.index(keys.len().max(1));
        keys.rotate_left(turn);
        let partition = match self.dice.chance(50) {
            true => {
                let flat = keys.iter().take(1).filter(|key| !key.ty().is_nested());
                flat.cloned().collect()
            }
            false => vec![],
        };
        let by_distance = framed && OF_PEERS.contains(&function) && self.dice.chance(25);
        let frame = match (framed, of_peers) {
            (false, _) => String::new(),
            _ if by_distance => self.by_distance(&mut keys),
            (true, false) => self.frame(&FRAMES),
            (true, true) => self.frame(&PEER_FRAMES),
        };
        let has_peers =
            OF_PEERS.contains(&function) || function.ends_with("rank") || function == "cume_dist";
        if has_peers && !frame.starts_with("ROWS") && !by_distance && self.dice.chance(50) {
            keys.truncate(1);
        }
        let order = keys.into_iter().map(|expression| SortKey {
            expression,
            descending: self.dice.chance(30),
            nulls_first: self.dice.chance(30),
        });
        let order = order.collect();
        let can_ignore = ["lag", "lead", "first_value", "last_value", "nth_value"];
        let ignores = can_ignore.contains(&function) && self.dice.chance(25);
        let has_filter = OF_PEERS.contains(&function) && self.dice.chance(20);
        Expression::Window {
            ty,
            function: function.to_owned(),
            arguments,
            partition,
            order,
            frame,
            nulls: if ignores { "IGNORE NULLS" } else { "" },
            filter: has_filter.then(|| Box::new(self.condition(scope, 1))),
        }
    }

    /// A frame of the rows whose key is so far from that of a row, and that one key.
    fn by_distance(&mut self, keys: &mut Vec<Expression>) -> String {
        use ColumnType as C;
        let of = keys.iter().find_map(|key| match key.ty() {
            C::Date | C::Timestamp => Some((key.clone(), "INTERVAL 1 DAY")),
            ty if ty.is_float() => Some((key.clone(), "0.5")),
            // No key is so great that there is nothing at the distance.
            ty if ty.is_integer() => {
                let form = "CAST(({} % 10) AS INTEGER)";
                Some((Expression::call(C::Integer, form, vec![key.clone()]), "1"))
            }
            _ => None,
        });
        let (key, distance) = of.unwrap_or((Expression::call(C::Double, "0.5", vec![]), "1"));
        *keys = vec![key];
        let ends = [
            format!("{distance} PRECEDING AND {distance} FOLLOWING"),
            format!("UNBOUNDED PRECEDING AND {distance} FOLLOWING"),
            format!("{distance} PRECEDING AND CURRENT ROW"),
            format!("{distance} FOLLOWING AND UNBOUNDED FOLLOWING"),
            format!("CURRENT ROW AND {distance} FOLLOWING"),
        ];
        let ends = ends.map(|ends| format!("RANGE BETWEEN {ends}"));
        self.frame(&ends.each_ref().map(String::as_str))
    }

    /// One of the frames, at times without some of its rows.
    fn frame(&mut self, frames: &[&str]) -> String {
        let frame = *self.dice.pick(frames);
        match !frame.is_empty() && self.dice.chance(30) {
            true => format!("{frame} EXCLUDE {}", self.dice.pick(&EXCLUDED)),
            false => frame.to_owned(),
        }
    }

    fn called(&mut self, scope: &Scope, of_peers: bool) -> Called {
        use ColumnType as C;
        let ty = self.key_type(scope);
        let argument = self.expression(&ty, scope, 0);
        let integer = self.expression(&C::Integer, scope, 1);
        let roll = match of_peers {
            true => *self.dice.pick(&[1, 2, 9, 10, 11, 12, 13, 14]),
            false => self.dice.below(15),
        };
        let two = Expression::integer(2);
        let (function, arguments, ty, framed) = match roll {
            // Without an order any row may be the next one.
            4..=8 if scope.columns.is_empty() => ("row_number", vec![], C::BigInt, false),
            0 => ("row_number", vec![], C::BigInt, false),
            1 => ("rank", vec![], C::BigInt, false),
            2 => ("dense_rank", vec![], C::BigInt, false),
            3 => ("ntile", vec![Expression::integer(3)], C::BigInt, false),
            4 => ("lag", vec![argument], ty, false),
            5 => ("lead", vec![argument, two], ty, false),
            6 => ("first_value", vec![argument], ty, true),
            7 => ("last_value", vec![argument], ty, true),
            8 => ("nth_value", vec![argument, two], ty, true),
            9 => ("count", vec![argument], C::BigInt, true),
            10 => ("min", vec![argument], ty, true),
            11 => ("max", vec![argument], ty, true),
            12 => ("percent_rank", vec![], C::Double, false),
            13 => ("cume_dist", vec![], C::Double, false),
            _ => ("sum", vec![integer], C::BigInt, true),
        };
        Called {
            function,
            arguments,
            ty,
            framed,
        }
    }
}
