//! `Query`: a tree of clauses that prints as SQL.

use super::expression::{Expression, SortKey, fill, list};
use std::fmt;

/// A query with what stands around its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// WITH: names and queries.
    pub with: Vec<(String, Query)>,
    /// `MATERIALIZED `, `NOT MATERIALIZED ` or nothing, of all queries in WITH.
    pub with_words: &'static str,
    /// What gives the rows.
    pub body: Body,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// `ORDER BY ALL`, as the first key says, in the place of the keys.
    pub by_all: bool,
    /// LIMIT.
    pub limit: Option<u64>,
    /// OFFSET.
    pub offset: Option<u64>,
}

/// One SELECT, or two bodies that a set operator puts together.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// A SELECT.
    Select(Box<Select>),
    /// A set operation.
    Set {
        /// `UNION ALL` and so on.
        operator: &'static str,
        /// What stands before it.
        left: Box<Body>,
        /// What stands after it.
        right: Box<Body>,
    },
}

/// A SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// DISTINCT.
    pub distinct: bool,
    /// DISTINCT ON.
    pub distinct_on: Vec<Expression>,
    /// What stands in the place of the first columns.
    pub star: Option<Star>,
    /// The columns.
    pub items: Vec<Item>,
    /// FROM.
    pub from: Option<Source>,
    /// WHERE.
    pub filter: Option<Expression>,
    /// GROUP BY.
    pub group: Group,
    /// HAVING.
    pub having: Option<Expression>,
    /// QUALIFY.
    pub qualify: Option<Expression>,
}

/// A column of a SELECT.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Its value.
    pub expression: Expression,
    /// Its name.
    pub alias: String,
    /// How it is said.
    pub naming: Naming,
}

/// How the name of a column is said.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Naming {
    /// `value AS name`.
    #[default]
    Behind,
    /// `name: value`.
    Before,
    /// As that of a column before it, which makes its own name of it: `x` and `x_1`.
    Again(String),
}

/// `*` with what is said behind it, or another way to name columns of FROM together.
#[derive(Clone, Debug, PartialEq)]
pub struct Star {
    /// `*`, `r1.*` or `COLUMNS(...)`.
    pub text: String,
    /// EXCLUDE.
    pub excluded: Vec<String>,
    /// RENAME: the name of FROM, and the column that has another.
    pub renamed: Vec<(String, usize)>,
    /// REPLACE, of columns by their place.
    pub replaced: Vec<usize>,
    /// Columns that it stands for.
    pub count: usize,
}

/// What rows are grouped by.
#[derive(Clone, Debug, PartialEq)]
pub enum Group {
    /// Nothing.
    None,
    /// Keys.
    Keys(Vec<Expression>),
    /// `GROUP BY ALL`.
    All,
    /// `ROLLUP`, `CUBE` of all keys of the first set, or `GROUPING SETS`.
    Sets(&'static str, Vec<Vec<Expression>>),
}

/// Something in FROM.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A table or view.
    Relation {
        /// With the schema where that is not `main`.
        name: String,
        /// Another name for it.
        alias: Option<String>,
    },
    /// A subquery.
    Derived {
        /// The query.
        query: Box<Query>,
        /// Its name.
        alias: String,
        /// It may name columns of what stands before it.
        lateral: bool,
    },
    /// `form` with `{}` for the query: PIVOT or UNPIVOT.
    Reshaped {
        /// What is printed.
        form: String,
        /// What is turned into another shape.
        query: Box<Query>,
        /// Its name.
        alias: String,
    },
    /// Two sources.
    Join {
        /// `JOIN`, `LEFT JOIN`, `NATURAL JOIN`, `ASOF JOIN`, `CROSS JOIN`, `,` and so on.
        kind: &'static str,
        /// What stands before it.
        left: Box<Source>,
        /// What stands after it.
        right: Box<Source>,
        /// ON.
        on: Option<Expression>,
        /// The columns of USING.
        using: Vec<String>,
    },
}

impl Query {
    /// A SELECT with nothing around it.
    pub fn of(select: Select) -> Self {
        Self::from_body(Body::Select(Box::new(select)))
    }

    /// A body with nothing around it.
    pub fn from_body(body: Body) -> Self {
        Self {
            with: vec![],
            with_words: "",
            body,
            order: vec![],
            by_all: false,
            limit: None,
            offset: None,
        }
    }

    /// The names and types of the columns.
    pub fn items(&self) -> &[Item] {
        self.body.items()
    }

    /// Gives the columns of the one SELECT other names.
    pub(crate) fn rename(&mut self, names: &[String]) {
        if let Body::Select(select) = &mut self.body {
            for (item, name) in select.items.iter_mut().zip(names) {
                item.alias.clone_from(name);
            }
        }
    }

    /// The one SELECT of the body.
    pub fn select(&self) -> Option<&Select> {
        match &self.body {
            Body::Select(select) => Some(select),
            Body::Set { .. } => None,
        }
    }

    /// `SELECT * FROM (this) AS alias`, its columns by name.
    pub fn wrapped(&self, alias: &str) -> Select {
        let items = self.items().iter().map(|item| {
            let column = Expression::Column {
                ty: item.expression.ty().clone(),
                qualifier: Some(alias.to_owned()),
                name: item.alias.clone(),
            };
            Item::new(column, item.alias.clone())
        });
        Select {
            items: items.collect(),
            ..Select::from(Source::Derived {
                query: Box::new(self.clone()),
                alias: alias.to_owned(),
                lateral: false,
            })
        }
    }
}

impl Item {
    /// `value AS name`.
    pub fn new(expression: Expression, alias: String) -> Self {
        Self {
            expression,
            alias,
            naming: Naming::Behind,
        }
    }
}

impl Body {
    /// The columns, with the names that the first SELECT gives them.
    pub fn items(&self) -> &[Item] {
        match self {
            Self::Select(select) => &select.items,
            Self::Set { left, .. } => left.items(),
        }
    }

    /// Two bodies put together.
    pub fn set(operator: &'static str, left: Self, right: Self) -> Self {
        Self::Set {
            operator,
            left: Box::new(left),
            right: Box::new(right),
        }
    }
}

impl Select {
    /// A SELECT from a source, without columns yet.
    pub fn from(source: Source) -> Self {
        Self {
            from: Some(source),
            ..Self::of(vec![])
        }
    }

    /// A SELECT of values alone.
    pub fn of(items: Vec<Item>) -> Self {
        Self {
            distinct: false,
            distinct_on: vec![],
            star: None,
            items,
            from: None,
            filter: None,
            group: Group::None,
            having: None,
            qualify: None,
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, (name, query)) in self.with.iter().enumerate() {
            let start = if n > 0 { ", " } else { "WITH " };
            write!(f, "{start}{name} AS {}({query})", self.with_words)?;
        }
        f.write_str(if self.with.is_empty() { "" } else { " " })?;
        write!(f, "{}", self.body)?;
        match self.order.first() {
            Some(key) if self.by_all => write!(f, " ORDER BY ALL{}", key.direction())?,
            Some(_) => {
                f.write_str(" ORDER BY ")?;
                list(f, &self.order)?;
            }
            None => {}
        }
        if let Some(limit) = self.limit {
            write!(f, " LIMIT {limit}")?;
        }
        if let Some(offset) = self.offset {
            write!(f, " OFFSET {offset}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Select(select) => write!(f, "{select}"),
            Self::Set {
                operator,
                left,
                right,
            } => {
                left.operand(f)?;
                write!(f, " {operator} ")?;
                right.operand(f)
            }
        }
    }
}

impl Body {
    fn operand(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Select(_) => write!(f, "{self}"),
            Self::Set { .. } => write!(f, "({self})"),
        }
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let distinct = if self.distinct { "DISTINCT " } else { "" };
        write!(f, "SELECT {distinct}")?;
        if !self.distinct_on.is_empty() {
            f.write_str("DISTINCT ON (")?;
            list(f, &self.distinct_on)?;
            f.write_str(") ")?;
        }
        self.columns(f)?;
        if let Some(from) = &self.from {
            write!(f, " FROM {from}")?;
        }
        if let Some(filter) = &self.filter {
            write!(f, " WHERE {filter}")?;
        }
        write!(f, "{}", self.group)?;
        if let Some(having) = &self.having {
            write!(f, " HAVING {having}")?;
        }
        if let Some(qualify) = &self.qualify {
            write!(f, " QUALIFY {qualify}")?;
        }
        Ok(())
    }
}

impl Select {
    fn columns(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(star) = &self.star else {
            return list(f, &self.items);
        };
        f.write_str(&star.text)?;
        if !star.excluded.is_empty() {
            write!(f, " EXCLUDE ({})", star.excluded.join(", "))?;
        }
        let replaced = star.replaced.iter().filter_map(|at| self.items.get(*at));
        let replaced: Vec<_> = replaced.cloned().collect();
        if !replaced.is_empty() {
            f.write_str(" REPLACE (")?;
            list(f, &replaced)?;
            f.write_str(")")?;
        }
        let renamed = star.renamed.iter().filter_map(|(from, at)| {
            let to = &self.items.get(*at)?.alias;
            Some(format!("{from} AS {to}"))
        });
        let renamed: Vec<_> = renamed.collect();
        if !renamed.is_empty() {
            write!(f, " RENAME ({})", renamed.join(", "))?;
        }
        let rest = self.items.get(star.count..).unwrap_or_default();
        if !rest.is_empty() {
            f.write_str(", ")?;
        }
        list(f, rest)
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.naming {
            Naming::Behind => write!(f, "{} AS {}", self.expression, self.alias),
            Naming::Before => write!(f, "{}: {}", self.alias, self.expression),
            Naming::Again(name) => write!(f, "{} AS {name}", self.expression),
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::All => f.write_str(" GROUP BY ALL"),
            Self::Keys(keys) => {
                f.write_str(" GROUP BY ")?;
                list(f, keys)
            }
            Self::Sets("GROUPING SETS", sets) => {
                f.write_str(" GROUP BY GROUPING SETS (")?;
                for (n, set) in sets.iter().enumerate() {
                    f.write_str(if n > 0 { ", (" } else { "(" })?;
                    list(f, set)?;
                    f.write_str(")")?;
                }
                f.write_str(")")
            }
            Self::Sets(kind, sets) => {
                write!(f, " GROUP BY {kind} (")?;
                list(f, sets.first().map_or(&[][..], |keys| keys))?;
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Relation { name, alias } => match alias {
                Some(alias) => write!(f, "{name} AS {alias}"),
                None => f.write_str(name),
            },
            Self::Derived {
                query,
                alias,
                lateral,
            } => {
                let lateral = if *lateral { "LATERAL " } else { "" };
                write!(f, "{lateral}({query}) AS {alias}")
            }
            Self::Reshaped { form, query, alias } => {
                fill(f, form, &[query])?;
                write!(f, " AS {alias}")
            }
            Self::Join {
                kind,
                left,
                right,
                on,
                using,
            } => {
                let space = if *kind == "," { "" } else { " " };
                write!(f, "{left}{space}{kind} ")?;
                match **right {
                    Self::Join { .. } => write!(f, "({right})")?,
                    _ => write!(f, "{right}")?,
                }
                match on {
                    Some(on) => write!(f, " ON {on}"),
                    None if using.is_empty() => Ok(()),
                    None => write!(f, " USING ({})", using.join(", ")),
                }
            }
        }
    }
}
