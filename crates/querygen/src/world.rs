//! `World`: the tables and views that queries run over.

use crate::column_type::ColumnType;
use crate::literals::{self, Domain, Value};
use crate::tree::{Expression, Query};
use std::fmt;

/// Tables with their rows, and views.
#[derive(Clone, Debug, PartialEq)]
pub struct World {
    /// The tables.
    pub tables: Vec<Table>,
    /// The views, each over what stands before it.
    pub views: Vec<View>,
    /// What values are chosen from.
    pub domain: Domain,
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// With the schema where that is not `main`.
    pub name: String,
    /// Its columns.
    pub columns: Vec<Column>,
    /// What stands behind the columns.
    pub rules: Vec<Rule>,
    /// Its rows, a value for each column; that of a generated one says nothing.
    pub rows: Vec<Vec<Value>>,
}

/// What must hold for the rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// `PRIMARY KEY` or `UNIQUE`, of columns.
    Key(&'static str, Vec<String>),
    /// CHECK.
    Check(Expression),
    /// FOREIGN KEY: a column, and the table and column that it names.
    References(String, String, String),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// `NOT NULL`, `PRIMARY KEY`, `UNIQUE` or nothing.
    pub constraint: &'static str,
    /// DEFAULT.
    pub default: Option<Expression>,
    /// GENERATED ALWAYS AS.
    pub generated: Option<Expression>,
}

/// A view.
#[derive(Clone, Debug, PartialEq)]
pub struct View {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub query: Query,
}

impl World {
    /// The statements that make it in an empty database.
    pub fn statements(&self) -> Vec<String> {
        let mut all = vec![];
        let mut schemas: Vec<&str> = self.tables.iter().filter_map(|t| t.schema()).collect();
        schemas.sort_unstable();
        schemas.dedup();
        all.extend(schemas.iter().map(|name| format!("CREATE SCHEMA {name}")));
        for table in &self.tables {
            all.push(table.definition());
            all.extend(table.inserts());
        }
        let views = self.views.iter();
        all.extend(views.map(|view| format!("CREATE VIEW {} AS {}", view.name, view.query)));
        all
    }

    /// The relations that a query may name, with their columns.
    pub fn relations(&self) -> Vec<(String, Vec<Column>)> {
        let tables = self.tables.iter();
        let tables = tables.map(|table| (table.name.clone(), table.columns.clone()));
        let views = self.views.iter().map(|view| {
            let columns = view.query.items().iter();
            let columns =
                columns.map(|item| Column::new(&item.alias, item.expression.ty().clone()));
            (view.name.clone(), columns.collect())
        });
        tables.chain(views).collect()
    }
}

impl Table {
    /// The schema in its name.
    pub fn schema(&self) -> Option<&str> {
        self.name.split_once('.').map(|(schema, _)| schema)
    }

    /// The statement that makes it without rows.
    pub fn definition(&self) -> String {
        let columns = self.columns.iter().map(ToString::to_string);
        let rules = self.rules.iter().map(ToString::to_string);
        let all: Vec<_> = columns.chain(rules).collect();
        format!("CREATE TABLE {} ({})", self.name, all.join(", "))
    }

    /// The columns of each key of it.
    pub fn keys(&self) -> Vec<Vec<String>> {
        let columns = self.columns.iter();
        let columns = columns.filter(|c| ["PRIMARY KEY", "UNIQUE"].contains(&c.constraint));
        let rules = self.rules.iter().filter_map(|rule| match rule {
            Rule::Key(_, columns) => Some(columns.clone()),
            _ => None,
        });
        let columns = columns.map(|column| vec![column.name.clone()]);
        columns.chain(rules).collect()
    }

    /// One statement for each row where some may be refused, else one for all.
    fn inserts(&self) -> Vec<String> {
        let stored: Vec<_> = (0..self.columns.len())
            .filter(|at| self.columns[*at].generated.is_none())
            .collect();
        let row = |row: &Vec<Value>| {
            let mut text = String::from("(");
            for (n, at) in stored.iter().enumerate() {
                text.push_str(if n > 0 { ", " } else { "" });
                literals::print(&self.columns[*at].ty, &row[*at], &mut text);
            }
            text + ")"
        };
        let rows: Vec<_> = self.rows.iter().map(row).collect();
        let insert =
            |rows: &[String]| format!("INSERT INTO {} VALUES {}", self.name, rows.join(", "));
        let may_be_refused = self.columns.iter().any(|c| c.constraint == "UNIQUE");
        match may_be_refused || !self.rules.is_empty() {
            true => rows.chunks(1).map(insert).collect(),
            false if rows.is_empty() => vec![],
            false => vec![insert(&rows)],
        }
    }
}

impl Column {
    /// One that may have any value of its type.
    pub fn new(name: &str, ty: ColumnType) -> Self {
        Self {
            name: name.to_owned(),
            ty,
            constraint: "",
            default: None,
            generated: None,
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.name, self.ty)?;
        if let Some(generated) = &self.generated {
            write!(f, " GENERATED ALWAYS AS ({generated})")?;
        }
        if !self.constraint.is_empty() {
            write!(f, " {}", self.constraint)?;
        }
        match &self.default {
            Some(default) => write!(f, " DEFAULT ({default})"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(kind, columns) => write!(f, "{kind} ({})", columns.join(", ")),
            Self::Check(condition) => write!(f, "CHECK ({condition})"),
            Self::References(column, table, key) => {
                write!(f, "FOREIGN KEY ({column}) REFERENCES {table} ({key})")
            }
        }
    }
}
