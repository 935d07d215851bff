//! Groups.

use super::queries::items;
use super::{Generator, Scope};
use crate::column_type::ColumnType;
use crate::literals::Value;
use crate::tree::{Expression, Group, Select};

impl Generator {
    /// A SELECT with groups.
    pub(crate) fn grouped(&mut self, outer: &Scope) -> Select {
        let (source, mut scope) = self.sources(outer);
        let filter = self.dice.chance(40).then(|| self.condition(&scope, 2));
        // Few subqueries within aggregates and keys.
        scope.depth = if self.dice.chance(8) { 1 } else { 9 };
        let count = self.dice.below(3);
        let mut keys: Vec<Expression> = vec![];
        for _ in 0..count {
            let ty = self.key_type(&scope);
            let size = usize::from(self.dice.chance(25));
            let key = self.expression(&ty, &scope, size);
            // A literal is no key: it would be a place in the list.
            let literal = matches!(key, Expression::Literal { .. });
            if !literal && !keys.contains(&key) {
                keys.push(key);
            }
        }
        let mut columns = keys.clone();
        for _ in 0..self.dice.between(1, 3) {
            columns.push(self.aggregate(&scope));
        }
        let having = match self.dice.chance(30) {
            false => None,
            true => Some(self.having(&keys, &scope)),
        };
        let group = self.group(keys.clone());
        let mut qualify = None;
        if self.dice.chance(15) && group != Group::All {
            qualify = self.over_groups(&keys, &mut columns);
        }
        if matches!(group, Group::Sets(..)) && self.dice.chance(40) {
            let form = format!("grouping({})", vec!["{}"; keys.len()].join(", "));
            columns.push(Expression::call(ColumnType::BigInt, form, keys));
        }
        Select {
            items: items(columns),
            filter,
            group,
            having,
            qualify,
            ..Select::from(source)
        }
    }

    /// One more column, of a window function over the groups; or a QUALIFY of it.
    fn over_groups(
        &mut self,
        keys: &[Expression],
        columns: &mut Vec<Expression>,
    ) -> Option<Expression> {
        let is_sorted = |column: &&Expression| !column.ty().is_nested();
        let groups = Scope {
            columns: columns.iter().filter(is_sorted).cloned().collect(),
            depth: 9,
            ..Scope::default()
        };
        // Groups differ in their keys; without one of these they may change places.
        let of_peers = groups.columns.len() < columns.len() || keys.is_empty();
        let window = self.window(&groups, of_peers);
        if self.dice.chance(30) {
            return Some(self.of_window(window));
        }
        columns.push(window);
        None
    }

    /// A predicate over keys and aggregates.
    pub(crate) fn having(&mut self, keys: &[Expression], scope: &Scope) -> Expression {
        let mut columns = keys.to_vec();
        columns.push(self.aggregate(scope));
        columns.push(self.aggregate(scope));
        let groups = Scope {
            columns,
            depth: 9,
            ..Scope::default()
        };
        self.condition(&groups, 1)
    }

    /// An aggregate of something in scope.
    pub(crate) fn aggregate(&mut self, scope: &Scope) -> Expression {
        let filter = match self.dice.chance(20) {
            true => Some(Box::new(self.condition(scope, 1))),
            false => None,
        };
        let (function, argument, ty, ordered) = self.aggregate_call(scope);
        let distinct = function != "count_star" && self.dice.chance(20);
        // Sorting by a literal is refused, and says nothing.
        let literal = matches!(argument, Some(Expression::Literal { .. }));
        // A subquery that is written twice is two to DuckDB, which sorts a DISTINCT aggregate by its argument alone.
        let is_asked = |argument: &Expression| argument.to_string().contains("(SELECT ");
        let is_twice = distinct && argument.as_ref().is_some_and(is_asked);
        let ordered = ordered && !literal && !is_twice;
        let comma = Expression::literal(ColumnType::Varchar, Value::Text(",".to_owned()));
        let share = || Expression::call(ColumnType::Double, "0.25", vec![]);
        let second = match function {
            "string_agg" => Some(comma),
            "quantile_disc" | "quantile_cont" => Some(share()),
            "max_n" | "min_n" => Some(Expression::integer(2)),
            _ => None,
        };
        Expression::Aggregate {
            ty,
            function: function
                .replace("count_star", "count")
                .trim_end_matches("_n")
                .to_owned(),
            distinct,
            arguments: argument.into_iter().chain(second).collect(),
            ordered,
            filter,
        }
    }

    /// A function, its argument, the result's type, and whether it asks for an order.
    fn aggregate_call(
        &mut self,
        scope: &Scope,
    ) -> (&'static str, Option<Expression>, ColumnType, bool) {
        use ColumnType as C;
        match self.dice.below(21) {
            0..=1 => ("count_star", None, C::BigInt, false),
            2 => {
                let ty = self.key_type(scope);
                let argument = self.expression(&ty, scope, 1);
                ("count", Some(argument), C::BigInt, false)
            }
            3..=5 => {
                let function = *self.dice.pick(&["min", "max"]);
                let ty = match self.dice.chance(25) {
                    true => self.some_type(scope),
                    false => self.key_type(scope),
                };
                (function, Some(self.expression(&ty, scope, 1)), ty, false)
            }
            6..=8 => {
                let ty = self
                    .dice
                    .pick(&[C::Integer, C::Integer, C::SmallInt, C::BigInt])
                    .clone();
                let number = self.expression(&ty, scope, 1);
                ("sum", Some(number), C::BigInt, false)
            }
            9 => {
                let ty = C::Decimal(9, 2);
                let result = C::Decimal(38, 2);
                ("sum", Some(self.expression(&ty, scope, 1)), result, false)
            }
            10 => {
                let number = self.expression(&C::Integer, scope, 1);
                ("avg", Some(number), C::Double, false)
            }
            11 => {
                let function = *self.dice.pick(&["bool_and", "bool_or"]);
                (function, Some(self.condition(scope, 1)), C::Boolean, false)
            }
            12 => {
                let function = *self.dice.pick(&["bit_and", "bit_or", "bit_xor"]);
                let number = self.expression(&C::Integer, scope, 1);
                (function, Some(number), C::Integer, false)
            }
            13 => {
                let text = self.expression(&C::Varchar, scope, 1);
                ("string_agg", Some(text), C::Varchar, true)
            }
            14 => {
                let number = self.expression(&C::Integer, scope, 1);
                ("median", Some(number), C::Double, false)
            }
            16..=18 => self.of_sorted_values(scope),
            15 => ("count_if", Some(self.condition(scope, 1)), C::BigInt, false),
            _ => {
                let ty = self.key_type(scope);
                let argument = self.expression(&ty, scope, 0);
                ("list", Some(argument), C::List(Box::new(ty)), true)
            }
        }
    }

    /// An aggregate whose value is known where the values are sorted.
    fn of_sorted_values(
        &mut self,
        scope: &Scope,
    ) -> (&'static str, Option<Expression>, ColumnType, bool) {
        use ColumnType as C;
        match self.dice.below(3) {
            0 => {
                let ty = self.key_type(scope);
                let value = self.expression(&ty, scope, 1);
                ("quantile_disc", Some(value), ty, false)
            }
            1 => {
                let number = self.expression(&C::Integer, scope, 1);
                let list = C::List(Box::new(C::Integer));
                let function = *self.dice.pick(&["max_n", "min_n"]);
                (function, Some(number), list, false)
            }
            _ => {
                let functions = ["var_pop", "stddev_samp", "quantile_cont"];
                let function = *self.dice.pick(&functions);
                let number = self.expression(&C::TinyInt, scope, 1);
                (function, Some(number), C::Double, false)
            }
        }
    }
}
