//! `World`: the tables and views that queries run over.

use crate::column_type::ColumnType;
use crate::literals::{self, Domain, Value};
use crate::tree::Query;

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
    /// Its rows, a value for each column.
    pub rows: Vec<Vec<Value>>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: ColumnType,
    /// `NOT NULL`, `PRIMARY KEY` or nothing.
    pub constraint: &'static str,
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
            let columns = table.columns.iter();
            let columns = columns.map(|c| format!("{} {} {}", c.name, c.ty, c.constraint));
            let columns: Vec<_> = columns.map(|text| text.trim_end().to_owned()).collect();
            all.push(format!(
                "CREATE TABLE {} ({})",
                table.name,
                columns.join(", ")
            ));
            if !table.rows.is_empty() {
                all.push(table.insert());
            }
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
            let columns = view.query.items().iter().map(|item| Column {
                name: item.alias.clone(),
                ty: item.expression.ty().clone(),
                constraint: "",
            });
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

    fn insert(&self) -> String {
        let rows = self.rows.iter().map(|row| {
            let mut text = String::from("(");
            for (n, (column, value)) in self.columns.iter().zip(row).enumerate() {
                text.push_str(if n > 0 { ", " } else { "" });
                literals::print(&column.ty, value, &mut text);
            }
            text + ")"
        });
        let rows: Vec<_> = rows.collect();
        format!("INSERT INTO {} VALUES {}", self.name, rows.join(", "))
    }
}
