//! Predicates.

use super::{Generator, Scope};
use crate::column_type::{ColumnType, FLAT};
use crate::literals::{Value, bare, value};
use crate::tree::Expression;

const COMPARISONS: [&str; 8] = [
    "({} = {})",
    "({} <> {})",
    "({} < {})",
    "({} <= {})",
    "({} > {})",
    "({} >= {})",
    "({} IS DISTINCT FROM {})",
    "({} IS NOT DISTINCT FROM {})",
];
const QUANTIFIED: [&str; 6] = [
    "({} = ANY ({}))",
    "({} < ANY ({}))",
    "({} <> ANY ({}))",
    "({} = ALL ({}))",
    "({} >= ALL ({}))",
    "({} <> ALL ({}))",
];
const TRUTH: [&str; 4] = [
    "({} IS TRUE)",
    "({} IS NOT TRUE)",
    "({} IS FALSE)",
    "({} IS NOT FALSE)",
];
const OF_TEXTS: [&str; 6] = [
    "({} LIKE {})",
    "({} NOT LIKE {})",
    "({} ILIKE {})",
    "starts_with({}, {})",
    "contains({}, {})",
    "ends_with({}, {})",
];

impl Generator {
    /// A predicate over the scope.
    pub(crate) fn condition(&mut self, scope: &Scope, size: usize) -> Expression {
        let boolean = ColumnType::Boolean;
        let roll = if size == 0 { 0 } else { self.dice.below(100) };
        match roll {
            0..=34 => self.comparison(scope, size),
            35..=54 => {
                let form = *self
                    .dice
                    .pick(&["({} AND {})", "({} OR {})", "({} AND {})"]);
                let sides = vec![
                    self.condition(scope, size - 1),
                    self.condition(scope, size - 1),
                ];
                Expression::call(boolean, form, sides)
            }
            55..=61 => Expression::test("(NOT {})", self.condition(scope, size - 1)),
            62..=69 => {
                let form = *self.dice.pick(&["({} IS NULL)", "({} IS NOT NULL)"]);
                let ty = self.some_type(scope);
                Expression::test(form, self.expression(&ty, scope, size - 1))
            }
            70..=74 => {
                let form = *self.dice.pick(&TRUTH);
                Expression::test(form, self.condition(scope, size - 1))
            }
            75..=79 => self.between(scope, size - 1),
            80..=86 => self.in_list(scope, size - 1),
            87..=90 => {
                let form = *self.dice.pick(&OF_TEXTS);
                let ty = ColumnType::Varchar;
                let sides = vec![
                    self.expression(&ty, scope, size - 1),
                    self.expression(&ty, scope, 0),
                ];
                Expression::call(boolean, form, sides)
            }
            91..=97 if scope.depth < 2 => self.subquery_condition(scope),
            _ => self.expression(&boolean, scope, size - 1),
        }
    }

    fn comparison(&mut self, scope: &Scope, size: usize) -> Expression {
        if self.dice.chance(8) {
            return self.narrowed(scope);
        }
        let ty = self.some_type(scope);
        let form = *self.dice.pick(&COMPARISONS);
        let below = size.saturating_sub(1);
        let left = self.expression(&ty, scope, below);
        let other = self.related_type(&ty, 12);
        let right = self.compared(&other, scope, below.min(1));
        let sides = match self.dice.chance(20) {
            true => vec![right, left],
            false => vec![left, right],
        };
        Expression::call(ColumnType::Boolean, form, sides)
    }

    /// A column that is cast to a type which not all of its values have, beside constants. Of two types with a sign, or two
    /// without, DuckDB compares what is below the cast.
    fn narrowed(&mut self, scope: &Scope) -> Expression {
        let is_signed = |ty: &ColumnType| ty.bounds().is_some_and(|(least, _)| least < 0);
        let columns = scope
            .columns
            .iter()
            .filter(|column| column.ty().is_integer());
        let columns: Vec<_> = columns.cloned().collect();
        let column = match columns.is_empty() {
            true => Expression::literal(ColumnType::BigInt, Value::Text("-1".to_owned())),
            false => self.dice.pick(&columns).clone(),
        };
        let others = FLAT
            .iter()
            .filter(|ty| ty.is_integer() && is_signed(ty) != is_signed(column.ty()));
        let to = (*self.dice.pick(&others.collect::<Vec<_>>())).clone();
        let form = *self.dice.pick(&[
            "({} = {})",
            "({} <> {})",
            "({} < {})",
            "({} >= {})",
            "({} IS DISTINCT FROM {})",
            "({} IN ({}, {}))",
            "({} NOT IN ({}, {}))",
            "({} BETWEEN {} AND {})",
        ]);
        let cast = Expression::call(to.clone(), format!("TRY_CAST({{}} AS {to})"), vec![column]);
        let mut sides = vec![cast];
        for _ in 1..form.matches("{}").count() {
            let constant = value(&to, 4, self.domain, &mut self.dice);
            sides.push(Expression::literal(to.clone(), constant));
        }
        Expression::call(ColumnType::Boolean, form, sides)
    }

    /// The type, or in `percent` of 100 another one whose values can stand beside its own.
    pub(crate) fn related_type(&mut self, ty: &ColumnType, percent: u64) -> ColumnType {
        if !self.dice.chance(percent) {
            return ty.clone();
        }
        let is_number = |ty: &ColumnType| {
            ty.is_integer() || ty.is_float() || matches!(ty, ColumnType::Decimal(..))
        };
        let is_moment = |ty: &ColumnType| matches!(ty, ColumnType::Date | ColumnType::Timestamp);
        let related = FLAT
            .iter()
            .filter(|other| is_number(ty) && is_number(other) || is_moment(ty) && is_moment(other));
        let related: Vec<_> = related.collect();
        match related.is_empty() {
            true => ty.clone(),
            false => (*self.dice.pick(&related)).clone(),
        }
    }

    /// What a value of the type is compared with: at times a literal that says no type.
    pub(crate) fn compared(&mut self, ty: &ColumnType, scope: &Scope, size: usize) -> Expression {
        match self.dice.chance(20) {
            true => Expression::call(ty.clone(), bare(ty, &mut self.dice), vec![]),
            false => self.expression(ty, scope, size),
        }
    }

    fn between(&mut self, scope: &Scope, size: usize) -> Expression {
        let ty = self.key_type(scope);
        let forms = ["({} BETWEEN {} AND {})", "({} NOT BETWEEN {} AND {})"];
        let form = *self.dice.pick(&forms);
        let sides = vec![
            self.expression(&ty, scope, size),
            self.compared(&ty, scope, 0),
            self.compared(&ty, scope, 0),
        ];
        Expression::call(ColumnType::Boolean, form, sides)
    }

    fn in_list(&mut self, scope: &Scope, size: usize) -> Expression {
        let ty = self.key_type(scope);
        let count = self.dice.between(1, 4) as usize;
        let not = if self.dice.chance(40) { "NOT " } else { "" };
        let form = format!("({{}} {not}IN ({}))", vec!["{}"; count].join(", "));
        let mut sides = vec![self.expression(&ty, scope, size)];
        sides.extend((0..count).map(|_| {
            let other = self.related_type(&ty, 8);
            self.compared(&other, scope, 0)
        }));
        Expression::call(ColumnType::Boolean, form, sides)
    }

    /// Two values that a query has together.
    fn row_in_query(&mut self, scope: &Scope, correlated: bool) -> Expression {
        let types = [self.key_type(scope), self.key_type(scope)];
        let query = self.subquery(&types, scope, correlated);
        let forms = ["(({}, {}) IN ({}))", "(({}, {}) NOT IN ({}))"];
        Expression::Subquery {
            ty: ColumnType::Boolean,
            form: (*self.dice.pick(&forms)).to_owned(),
            arguments: types.iter().map(|ty| self.leaf(ty, scope)).collect(),
            query: Box::new(query),
        }
    }

    /// EXISTS, IN and their negations, ANY and ALL.
    fn subquery_condition(&mut self, scope: &Scope) -> Expression {
        let correlated = self.dice.chance(50);
        if self.dice.chance(50) {
            let query = self.subquery(&[ColumnType::Integer], scope, correlated);
            let form = *self.dice.pick(&["EXISTS ({})", "(NOT EXISTS ({}))"]);
            return Expression::Subquery {
                ty: ColumnType::Boolean,
                form: form.to_owned(),
                arguments: vec![],
                query: Box::new(query),
            };
        }
        if self.dice.chance(15) {
            return self.row_in_query(scope, correlated);
        }
        let ty = self.key_type(scope);
        let query = self.subquery(
            std::slice::from_ref(&ty),
            scope,
            correlated && self.dice.clone().chance(40),
        );
        let form = match self.dice.chance(75) {
            true => *self.dice.pick(&["({} IN ({}))", "({} NOT IN ({}))"]),
            false => *self.dice.pick(&QUANTIFIED),
        };
        Expression::Subquery {
            ty: ColumnType::Boolean,
            form: form.to_owned(),
            arguments: vec![self.expression(&ty, scope, 0)],
            query: Box::new(query),
        }
    }
}
