//! `Change`: a statement that changes rows, and `Script`: statements that run one after the other.

use super::expression::{Expression, list};
use super::query::{Item, Query, Source};
use std::fmt;

/// A statement of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// A query.
    Query(Query),
    /// One that changes rows.
    Change(Box<Change>),
    /// `BEGIN`, `COMMIT` or `ROLLBACK`.
    Transaction(&'static str),
}

/// Statements in their order; of a case that is shrunk, the last one fails.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The statements.
    pub statements: Vec<Statement>,
}

/// A statement that changes rows of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The table, with its schema where that is not `main`.
    pub table: String,
    /// Another name for it.
    pub alias: Option<String>,
    /// What is done.
    pub action: Action,
    /// Whose rows are looked at beside: FROM, or USING.
    pub partner: Option<Partner>,
    /// WHERE; of a MERGE, what must be true beside equal keys.
    pub filter: Option<Expression>,
    /// `RETURNING *`.
    pub returns_all: bool,
    /// Columns of RETURNING.
    pub returning: Vec<Item>,
}

/// What is done to a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// INSERT.
    Insert(Box<Insert>),
    /// UPDATE.
    Update(Vec<Assignment>),
    /// DELETE.
    Delete,
    /// MERGE INTO.
    Merge(Vec<Clause>),
    /// TRUNCATE.
    Truncate,
}

/// What is inserted, and what becomes of rows whose keys are there.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// `OR REPLACE`, `OR IGNORE` or nothing.
    pub instead: &'static str,
    /// The columns; none where all are meant.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Rows,
    /// ON CONFLICT.
    pub conflict: Option<Conflict>,
}

/// Where rows that are inserted come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Rows {
    /// VALUES: DEFAULT where there is none.
    Values(Vec<Vec<Option<Expression>>>),
    /// A query.
    Query(Query),
    /// A query whose columns say by their names where they go.
    ByName(Query),
    /// DEFAULT VALUES.
    Defaults,
}

/// ON CONFLICT.
#[derive(Clone, Debug, PartialEq)]
pub struct Conflict {
    /// The columns of the key, where they are written.
    pub keys: Vec<String>,
    /// DO UPDATE SET; DO NOTHING where there are none.
    pub sets: Vec<Assignment>,
    /// WHERE of DO UPDATE.
    pub filter: Option<Expression>,
}

/// A column and what is put into it.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The column.
    pub column: String,
    /// Its value; DEFAULT where there is none.
    pub value: Option<Expression>,
}

/// Other rows, of which at most one has the key of a row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct Partner {
    /// The rows: a table with a key, or a query that groups by its first column.
    pub source: Source,
    /// The column of the table.
    pub column: Expression,
    /// The key of the source.
    pub key: Expression,
}

/// WHEN of a MERGE.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// `MATCHED`, `NOT MATCHED` or `NOT MATCHED BY SOURCE`.
    pub kind: &'static str,
    /// AND.
    pub condition: Option<Expression>,
    /// THEN.
    pub action: ClauseAction,
}

/// What a MERGE does with a row.
#[derive(Clone, Debug, PartialEq)]
pub enum ClauseAction {
    /// UPDATE SET.
    Update(Vec<Assignment>),
    /// INSERT.
    Insert(Vec<Assignment>),
    /// DELETE.
    Delete,
    /// DO NOTHING.
    Nothing,
}

impl Script {
    /// Whether a transaction is open behind the last statement.
    pub fn is_in_transaction(&self) -> bool {
        let mut words = self.statements.iter().rev().filter_map(|one| match one {
            Statement::Transaction(word) => Some(*word),
            _ => None,
        });
        words.next() == Some("BEGIN")
    }

    /// The tables whose rows the open transaction has taken away or changed.
    pub fn touched_tables(&self) -> Vec<String> {
        if !self.is_in_transaction() {
            return vec![];
        }
        let of_transaction = self.statements.iter().rev().map_while(|one| match one {
            Statement::Transaction(_) => None,
            Statement::Query(_) => Some(None),
            Statement::Change(change) => Some((!change.adds_alone()).then(|| change.table.clone())),
        });
        of_transaction.flatten().collect()
    }
}

impl Change {
    /// Whether it leaves the rows that are there.
    pub fn adds_alone(&self) -> bool {
        let Action::Insert(insert) = &self.action else {
            return false;
        };
        let updates = |met: &Conflict| !met.sets.is_empty();
        insert.instead != "OR REPLACE" && !insert.conflict.as_ref().is_some_and(updates)
    }

    /// Whether its rows are shown.
    pub fn returns_rows(&self) -> bool {
        self.returns_all || !self.returning.is_empty()
    }

    fn name(&self) -> String {
        match &self.alias {
            Some(alias) => format!("{} AS {alias}", self.table),
            None => self.table.clone(),
        }
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut statements = self.statements.iter();
        statements.try_for_each(|statement| writeln!(f, "{statement};"))
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(query) => write!(f, "{query}"),
            Self::Change(change) => write!(f, "{change}"),
            Self::Transaction(word) => f.write_str(word),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name();
        match &self.action {
            Action::Insert(insert) => insert.print(f, &name)?,
            Action::Update(sets) => {
                write!(f, "UPDATE {name} SET ")?;
                list(f, sets)?;
                self.places(f, "FROM")?;
            }
            Action::Delete => {
                write!(f, "DELETE FROM {name}")?;
                self.places(f, "USING")?;
            }
            Action::Merge(clauses) => {
                write!(f, "MERGE INTO {name}")?;
                if let Some(partner) = &self.partner {
                    write!(f, " USING {} ON {}", partner.source, self.condition())?;
                }
                for clause in clauses {
                    write!(f, " {clause}")?;
                }
            }
            Action::Truncate => write!(f, "TRUNCATE {}", self.table)?,
        }
        if self.returns_rows() {
            let star = match (self.returns_all, self.returning.is_empty()) {
                (true, true) => "*",
                (true, false) => "*, ",
                _ => "",
            };
            write!(f, " RETURNING {star}")?;
            list(f, &self.returning)?;
        }
        Ok(())
    }
}

impl Change {
    /// That keys are equal, and the filter.
    fn condition(&self) -> String {
        let keys = self.partner.iter();
        let keys = keys.map(|partner| format!("({} = {})", partner.column, partner.key));
        let filter = self.filter.iter().map(ToString::to_string);
        keys.chain(filter).collect::<Vec<_>>().join(" AND ")
    }

    fn places(&self, f: &mut fmt::Formatter<'_>, word: &str) -> fmt::Result {
        if let Some(partner) = &self.partner {
            write!(f, " {word} {}", partner.source)?;
        }
        match self.condition() {
            condition if condition.is_empty() => Ok(()),
            condition => write!(f, " WHERE {condition}"),
        }
    }
}

impl Insert {
    fn print(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        let space = if self.instead.is_empty() { "" } else { " " };
        write!(f, "INSERT {}{space}INTO {name}", self.instead)?;
        if !self.columns.is_empty() {
            write!(f, " ({})", self.columns.join(", "))?;
        }
        match &self.rows {
            Rows::Values(rows) => {
                f.write_str(" VALUES ")?;
                let rows: Vec<_> = rows.iter().map(values).collect();
                list(f, &rows)?;
            }
            Rows::Query(query) => write!(f, " {query}")?,
            Rows::ByName(query) => write!(f, " BY NAME {query}")?,
            Rows::Defaults => f.write_str(" DEFAULT VALUES")?,
        }
        match &self.conflict {
            Some(conflict) => write!(f, " {conflict}"),
            None => Ok(()),
        }
    }
}

fn values<'a>(row: impl IntoIterator<Item = &'a Option<Expression>>) -> String {
    let texts: Vec<_> = row.into_iter().map(assigned).collect();
    format!("({})", texts.join(", "))
}

fn assigned(value: &Option<Expression>) -> String {
    let text = value.as_ref().map(ToString::to_string);
    text.unwrap_or_else(|| "DEFAULT".to_owned())
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ON CONFLICT ")?;
        if !self.keys.is_empty() {
            write!(f, "({}) ", self.keys.join(", "))?;
        }
        if self.sets.is_empty() {
            return f.write_str("DO NOTHING");
        }
        f.write_str("DO UPDATE SET ")?;
        list(f, &self.sets)?;
        match &self.filter {
            Some(filter) => write!(f, " WHERE {filter}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.column, assigned(&self.value))
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WHEN {}", self.kind)?;
        if let Some(condition) = &self.condition {
            write!(f, " AND {condition}")?;
        }
        f.write_str(" THEN ")?;
        match &self.action {
            ClauseAction::Update(sets) => {
                f.write_str("UPDATE SET ")?;
                list(f, sets)
            }
            ClauseAction::Insert(sets) => {
                let columns: Vec<_> = sets.iter().map(|set| set.column.as_str()).collect();
                let row = values(sets.iter().map(|set| &set.value));
                write!(f, "INSERT ({}) VALUES {row}", columns.join(", "))
            }
            ClauseAction::Delete => f.write_str("DELETE"),
            ClauseAction::Nothing => f.write_str("DO NOTHING"),
        }
    }
}
