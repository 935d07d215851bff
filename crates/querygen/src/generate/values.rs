//! Lambdas and list comprehensions, structs, and lists that a query gives.

use super::queries::{below, items, sorted_by_all};
use super::{Generator, Scope};
use crate::column_type::ColumnType;
use crate::tree::{Expression, Query, Select};

impl Generator {
    /// A list or another value by a lambda; none where there is none of the type.
    pub(crate) fn by_lambda(&mut self, ty: &ColumnType, scope: &Scope) -> Option<Expression> {
        match ty {
            ColumnType::List(item) => Some(self.list_by_lambda(item, scope)),
            ColumnType::Integer => {
                let (list, inner, name) = self.bound(&ColumnType::Integer, scope);
                if self.dice.chance(50) {
                    let form = format!("CAST(len(list_filter({{}}, {name} -> {{}})) AS INTEGER)");
                    let condition = self.condition(&inner, 1);
                    return Some(Expression::call(ty.clone(), form, vec![list, condition]));
                }
                let other = self.variable();
                let inner = with_variable(&inner, &other, ty);
                let form = format!("list_reduce({{}}, ({name}, {other}) -> {{}}, {{}})");
                let parts = vec![list, self.expression(ty, &inner, 1), self.leaf(ty, scope)];
                Some(Expression::call(ty.clone(), form, parts))
            }
            _ => None,
        }
    }

    fn list_by_lambda(&mut self, item: &ColumnType, scope: &Scope) -> Expression {
        let ty = ColumnType::List(Box::new(item.clone()));
        let of = match self.dice.chance(50) {
            true => item.clone(),
            false => ColumnType::Integer,
        };
        let (list, inner, name) = self.bound(&of, scope);
        let (form, parts) = match self.dice.below(5) {
            0 if of == *item => {
                let form = format!("list_filter({{}}, {name} -> {{}})");
                (form, vec![list, self.condition(&inner, 1)])
            }
            1 => {
                let form = format!("[{{}} FOR {name} IN {{}} IF {{}}]");
                let body = self.expression(item, &inner, 1);
                (form, vec![body, list, self.condition(&inner, 1)])
            }
            2 => {
                let form = format!("[{{}} FOR {name} IN {{}}]");
                (form, vec![self.expression(item, &inner, 1), list])
            }
            3 => {
                let at = self.variable();
                let inner = with_variable(&inner, &at, &ColumnType::BigInt);
                let form = format!("list_transform({{}}, ({name}, {at}) -> {{}})");
                (form, vec![list, self.expression(item, &inner, 1)])
            }
            _ => {
                let form = format!("list_transform({{}}, {name} -> {{}})");
                (form, vec![list, self.expression(item, &inner, 1)])
            }
        };
        Expression::call(ty, form, parts)
    }

    /// A list, and the scope in which a variable stands for its items.
    fn bound(&mut self, item: &ColumnType, scope: &Scope) -> (Expression, Scope, String) {
        let of = ColumnType::List(Box::new(item.clone()));
        let list = self.expression(&of, scope, usize::from(self.dice.clone().chance(30)));
        let name = self.variable();
        let inner = with_variable(scope, &name, item);
        (list, inner, name)
    }

    fn variable(&mut self) -> String {
        self.aliases += 1;
        format!("v{}", self.aliases)
    }

    /// A struct of values.
    pub(crate) fn structure(
        &mut self,
        fields: &[(String, ColumnType)],
        scope: &Scope,
    ) -> Expression {
        let parts = fields.iter().map(|(_, ty)| self.expression(ty, scope, 1));
        let parts = parts.collect();
        let names = fields.iter().map(|(name, _)| name);
        let form = match self.dice.chance(50) {
            true => {
                let pieces: Vec<_> = names.map(|name| format!("'{name}': {{}}")).collect();
                format!("{{{}}}", pieces.join(", "))
            }
            false => {
                let pieces: Vec<_> = names.map(|name| format!("{name} := {{}}")).collect();
                format!("struct_pack({})", pieces.join(", "))
            }
        };
        Expression::call(ColumnType::Struct(fields.to_vec()), form, parts)
    }

    /// The values of a query as a list, in order.
    pub(crate) fn array_of_query(&mut self, item: &ColumnType, scope: &Scope) -> Expression {
        let inner = below(scope);
        let alias = self.alias();
        let (source, mut columns) = self.relation(alias, &inner);
        let filter = match self.dice.chance(50) {
            true => self.correlation(&columns, scope),
            false => None,
        };
        columns.depth = 9;
        let value = self.expression(item, &columns, 1);
        let mut query = Query::of(Select {
            items: items(vec![value]),
            filter,
            ..Select::from(source)
        });
        query.order = sorted_by_all(&query, &mut self.dice);
        Expression::Subquery {
            ty: ColumnType::List(Box::new(item.clone())),
            form: "ARRAY({})".to_owned(),
            arguments: vec![],
            query: Box::new(query),
        }
    }
}

/// No subquery stands in a lambda.
fn with_variable(scope: &Scope, name: &str, ty: &ColumnType) -> Scope {
    let mut inner = scope.clone();
    inner.columns.push(Expression::named(name, ty.clone()));
    inner.depth = 9;
    inner
}
