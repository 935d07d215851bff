//! The forms in which a query is put: of one check, the first is what the others are held against.

use super::engines::{Engines, On};
use super::run_statement::Outcome;
use hushdb::Value;
use hushdb_querygen::{
    Body, Case, ColumnType, Expression, Generator, Group, Item, Node, Query, Select, Source, World,
    edit,
};

/// What is checked of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// The rows of a query without WHERE are those with `p`, `NOT p` and `p IS NULL`.
    Where,
    /// The same of DISTINCT rows and UNION.
    Distinct,
    /// The same of HAVING.
    Having,
    /// An aggregate of all rows is that of the three parts' aggregates.
    Aggregate(&'static str),
    /// As many rows as the predicate is true for when it is a column.
    Count,
    /// A row for which the predicate is true is in the answer.
    Pivot,
    /// The same query elsewhere, and written in another way.
    Variants,
}

const CHECKS: [Check; 16] = [
    Check::Where,
    Check::Where,
    Check::Distinct,
    Check::Having,
    Check::Aggregate("min"),
    Check::Aggregate("max"),
    Check::Aggregate("count"),
    Check::Count,
    Check::Count,
    Check::Count,
    Check::Pivot,
    Check::Pivot,
    Check::Pivot,
    Check::Variants,
    Check::Variants,
    Check::Variants,
];

/// A statement and where and how it is run.
pub(crate) struct Form {
    pub(crate) label: &'static str,
    pub(crate) on: On,
    pub(crate) how: How,
    pub(crate) query: Query,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Text,
    Prepared,
    View,
}

impl Check {
    /// The `n`th in turn.
    pub(crate) fn in_turn(n: usize) -> Self {
        CHECKS[n % CHECKS.len()]
    }

    /// A query that it can be made of.
    pub(crate) fn query(self, generator: &mut Generator) -> Query {
        match self {
            Self::Variants => generator.query(),
            Self::Having => generator.aggregated(),
            Self::Pivot => generator.product(),
            _ => generator.filtered(),
        }
    }

    /// Whether the first form's rows need only be among the others'.
    pub(crate) fn holds_only(self) -> bool {
        self == Self::Pivot
    }

    /// Whether the first form says nothing of the predicate that the others have.
    pub(crate) fn first_has_no_predicate(self) -> bool {
        !matches!(self, Self::Variants | Self::Count | Self::Pivot)
    }

    /// The forms of a query; none where the check says nothing about it.
    pub(crate) fn forms(self, case: &Case, engines: &Engines) -> Option<Vec<Form>> {
        let query = &case.query;
        let select = query.select().cloned();
        let union = "UNION ALL";
        let (whole, parted) = match self {
            Self::Variants => return Some(variants(query)),
            Self::Pivot => return pivot(&case.world, &select?, engines),
            Self::Count => counts(select?)?,
            Self::Having => by_having(&select?)?,
            Self::Where => by_filter(&distinct(select?, false), union)?,
            Self::Distinct => by_filter(&distinct(select?, true), "UNION")?,
            Self::Aggregate(function) => aggregates(function, &select?)?,
        };
        let parted_on = |label, on| Form {
            label,
            on,
            how: How::Text,
            query: parted.clone(),
        };
        Some(vec![
            text("whole", whole),
            parted_on("in parts", On::Plain),
            parted_on("in parts, spilling", On::Spill),
            parted_on("in parts, with indexes", On::Indexed),
        ])
    }
}

fn text(label: &'static str, query: Query) -> Form {
    Form {
        label,
        on: On::Plain,
        how: How::Text,
        query,
    }
}

fn distinct(mut select: Select, distinct: bool) -> Select {
    select.distinct = distinct;
    select
}

/// That it is true, that it is false, and that it is NULL.
fn three_ways(predicate: &Expression) -> [Expression; 3] {
    [
        predicate.clone(),
        Expression::test("(NOT {})", predicate.clone()),
        Expression::test("({} IS NULL)", predicate.clone()),
    ]
}

fn united(operator: &'static str, parts: [Select; 3]) -> Body {
    let [one, two, three] = parts.map(|part| Body::Select(Box::new(part)));
    Body::set(operator, Body::set(operator, one, two), three)
}

fn by_filter(select: &Select, operator: &'static str) -> Option<(Query, Query)> {
    let parts = three_ways(select.filter.as_ref()?).map(|part| Select {
        filter: Some(part),
        ..select.clone()
    });
    let whole = Select {
        filter: None,
        ..select.clone()
    };
    Some((Query::of(whole), Query::from_body(united(operator, parts))))
}

fn by_having(select: &Select) -> Option<(Query, Query)> {
    let parts = three_ways(select.having.as_ref()?).map(|part| Select {
        having: Some(part),
        ..select.clone()
    });
    let whole = Select {
        having: None,
        ..select.clone()
    };
    Some((
        Query::of(whole),
        Query::from_body(united("UNION ALL", parts)),
    ))
}

fn aggregate(function: &str, argument: Expression) -> Expression {
    let ty = match function {
        "count" => ColumnType::BigInt,
        _ => argument.ty().clone(),
    };
    Expression::Aggregate {
        ty,
        function: function.to_owned(),
        distinct: false,
        arguments: vec![argument],
        ordered: false,
        filter: None,
    }
}

fn aggregates(function: &'static str, select: &Select) -> Option<(Query, Query)> {
    let argument = select.items.first()?.expression.clone();
    if argument.ty().is_nested() && function != "count" {
        return None;
    }
    let value = aggregate(function, argument);
    let one = Select {
        items: vec![Item::new(value, "x0".to_owned())],
        ..distinct(select.clone(), false)
    };
    let (whole, parts) = by_filter(&one, "UNION ALL")?;
    let mut outer = parts.wrapped("parts");
    let part = outer.items[0].expression.clone();
    outer.items[0].expression = match function {
        "count" => Expression::Aggregate {
            ty: ColumnType::BigInt,
            function: "sum".to_owned(),
            distinct: false,
            arguments: vec![part],
            ordered: false,
            filter: None,
        },
        _ => aggregate(function, part),
    };
    Some((whole, Query::of(outer)))
}

/// `count(*)` of the rows that a predicate leaves, and the sum of the ones that it is true for.
fn counts(select: Select) -> Option<(Query, Query)> {
    let predicate = select.filter.clone()?;
    let item = |expression| vec![Item::new(expression, "n".to_owned())];
    let count = Expression::call(ColumnType::BigInt, "count(*)", vec![]);
    let ones = "CAST(COALESCE(sum(CASE WHEN {} THEN 1 ELSE 0 END), 0) AS BIGINT)";
    let sum = Expression::call(ColumnType::BigInt, ones, vec![predicate]);
    let filtered = Select {
        items: item(count),
        ..distinct(select.clone(), false)
    };
    let summed = Select {
        items: item(sum),
        filter: None,
        ..distinct(select, false)
    };
    Some((Query::of(summed), Query::of(filtered)))
}

/// One row of each table is picked. The engine says what the predicate is for them, and the predicate is turned so that it is
/// true; then these rows must be in the answer.
fn pivot(world: &World, select: &Select, engines: &Engines) -> Option<Vec<Form>> {
    let predicate = select.filter.clone()?;
    let mut row = Query::of(Select {
        filter: None,
        ..distinct(select.clone(), false)
    });
    let mut found = true;
    edit(&mut row, &mut |node| {
        if let Node::Source(source) = node
            && let Source::Relation { name, alias } = &*source
        {
            match first_row(world, name) {
                Some(query) => {
                    *source = Source::Derived {
                        query: Box::new(query),
                        alias: alias.clone().unwrap_or_default(),
                        lateral: false,
                    };
                }
                None => found = false,
            }
            return false;
        }
        true
    });
    let mut judged = row.select().filter(|_| found)?.clone();
    judged.items = vec![Item::new(predicate.clone(), "p".to_owned())];
    let Outcome::Rows(verdict) = engines.run_text(On::Plain, &Query::of(judged).to_string()) else {
        return None;
    };
    let [holds, fails, unknown] = three_ways(&predicate);
    let turned = match verdict.rows.first()?.first()?.as_deref() {
        Some("true") => holds,
        Some(_) => fails,
        None => unknown,
    };
    let all = Query::of(Select {
        filter: Some(turned),
        ..select.clone()
    });
    let on = |label, on| Form {
        label,
        on,
        how: How::Text,
        query: all.clone(),
    };
    Some(vec![
        text("a row", row),
        on("where it holds", On::Plain),
        on("where it holds, spilling", On::Spill),
        on("where it holds, with indexes", On::Indexed),
    ])
}

/// The values of a table's middle row, as a query.
fn first_row(world: &World, name: &str) -> Option<Query> {
    let table = world.tables.iter().find(|table| table.name == name)?;
    let row = table.rows.get(table.rows.len() / 2)?;
    let values = table.columns.iter().zip(row);
    let items = values.map(|(column, value)| {
        Item::new(
            Expression::literal(column.ty.clone(), value.clone()),
            column.name.clone(),
        )
    });
    Some(Query::of(Select::of(items.collect())))
}

fn variants(query: &Query) -> Vec<Form> {
    let form = |label, on, how, query| Form {
        label,
        on,
        how,
        query,
    };
    let same = || query.clone();
    let mut with = Query::of(query.wrapped("w0"));
    with.with = vec![("q0".to_owned(), same())];
    if let Body::Select(select) = &mut with.body {
        select.from = Some(Source::Relation {
            name: "q0".to_owned(),
            alias: Some("w0".to_owned()),
        });
    }
    vec![
        text("as it is", same()),
        form("spilling", On::Spill, How::Text, same()),
        form("with indexes", On::Indexed, How::Text, same()),
        form(
            "joined the other way round",
            On::Plain,
            How::Text,
            swapped(same()),
        ),
        form("by WITH", On::Plain, How::Text, with),
        form("as a view", On::Plain, How::View, same()),
        form("prepared", On::Plain, How::Prepared, same()),
    ]
}

fn has_star(body: &Body) -> bool {
    match body {
        Body::Select(select) => select.star.is_some(),
        Body::Set { left, right, .. } => has_star(left) || has_star(right),
    }
}

/// Each join with its sides exchanged.
fn swapped(mut query: Query) -> Query {
    edit(&mut query, &mut |node| {
        // A star has the columns in the order of FROM.
        if let Node::Query(query) = &node
            && has_star(&query.body)
        {
            return false;
        }
        if let Node::Source(Source::Join {
            kind, left, right, ..
        }) = node
        {
            *kind = match *kind {
                // It names what stands before it.
                _ if matches!(**right, Source::Derived { lateral: true, .. }) => return true,
                "LEFT JOIN" => "RIGHT JOIN",
                "RIGHT JOIN" => "LEFT JOIN",
                "NATURAL LEFT JOIN" => "NATURAL RIGHT JOIN",
                "NATURAL RIGHT JOIN" => "NATURAL LEFT JOIN",
                // These say which side's rows come back; a comma binds less than the joins beside it.
                "SEMI JOIN" | "ANTI JOIN" | "ASOF JOIN" | "ASOF LEFT JOIN" | "," => return true,
                kind => kind,
            };
            std::mem::swap(left, right);
        }
        true
    });
    query
}

/// Keys of GROUP BY that are an integer alone, which stands for a column of the result.
fn positions(query: &mut Query) -> Vec<Expression> {
    fn of_body(body: &Body, all: &mut Vec<Expression>) {
        let select = match body {
            Body::Select(select) => select,
            Body::Set { left, right, .. } => {
                of_body(left, all);
                return of_body(right, all);
            }
        };
        let keys: Vec<&Expression> = match &select.group {
            Group::None | Group::All => vec![],
            Group::Keys(keys) => keys.iter().collect(),
            Group::Sets(_, sets) => sets.iter().flatten().collect(),
        };
        // With a sign before it or without.
        let is_sign = |c: char| matches!(c, '(' | '-' | ')');
        let is_position = |key: &&Expression| {
            let text = key.to_string();
            text.chars().all(|c| c.is_ascii_digit() || is_sign(c))
        };
        all.extend(keys.into_iter().filter(is_position).cloned());
    }
    let mut all = vec![];
    edit(query, &mut |node| {
        if let Node::Query(query) = node {
            of_body(&query.body, &mut all);
        }
        true
    });
    all
}

/// The query with parameters in place of its literals, equal ones with the same, and their values.
pub(crate) fn with_parameters(mut query: Query) -> (Query, Vec<Value>) {
    let mut literals: Vec<Expression> = vec![];
    let positions = positions(&mut query);
    edit(&mut query, &mut |node| {
        let Node::Expression(expression) = node else {
            return true;
        };
        if positions.contains(expression) {
            return false;
        }
        match expression {
            // Counts of rows are read when the statement is planned.
            Expression::Window { .. } => return false,
            Expression::Literal {
                ty,
                value: hushdb_querygen::Value::Text(_),
            } => {
                let ty = ty.clone();
                let known = literals.iter().position(|one| one == expression);
                let at = known.unwrap_or_else(|| {
                    literals.push(expression.clone());
                    literals.len() - 1
                });
                let form = format!("CAST(${} AS {ty})", at + 1);
                *expression = Expression::call(ty, form, vec![]);
                return false;
            }
            _ => {}
        }
        true
    });
    let values = literals.iter().map(|literal| match literal {
        Expression::Literal {
            ty,
            value: hushdb_querygen::Value::Text(text),
        } if ty.is_integer() => Value::Integer(text.parse().unwrap()),
        Expression::Literal {
            value: hushdb_querygen::Value::Text(text),
            ..
        } => Value::Text(text.clone()),
        _ => Value::Null,
    });
    let values = values.collect();
    (query, values)
}
