//! `WITH a AS (DELETE ... RETURNING *) INSERT ...`: statements that change rows within WITH, PostgreSQL's way of doing several things at once.
//!
//! ```text
//! WITH a AS (DELETE FROM t RETURNING x), b AS (SELECT x + 1 AS y FROM a) INSERT INTO u SELECT y FROM b
//!   $with0: DELETE FROM t RETURNING x
//!   $with1: SELECT x + 1 AS y FROM "$with0" AS a
//!   rest:   INSERT INTO u SELECT y FROM "$with1" AS b
//! ```
//!
//! What must hold: each part is run once, in the order of the text; what a later one names is what an earlier one gave. Queries that nobody
//! names are not run.

use super::with_changes::{Put, are_in, change_of, take_change, without_with};
use crate::error::{Error, Result};
use crate::reading::query_of;
use sqlparser::ast::{
    Cte, Ident, ObjectName, SelectItem, Statement, TableFactor, TableWithJoins,
    WildcardAdditionalOptions, With,
};

/// A statement taken apart.
#[derive(Debug)]
pub struct ChangesWithin {
    /// What WITH has, each with the name that stands for its rows in those after it.
    pub parts: Vec<(String, Statement)>,
    /// The statement behind WITH.
    pub rest: Statement,
}

/// Takes a statement apart that has some which change rows within its WITH; `None` for all others.
///
/// # Errors
/// `Unsupported` for names that mean several things, or rows of a part that returns none.
pub fn changes_within(statement: &Statement) -> Result<Option<ChangesWithin>> {
    let Statement::Query(query) = statement else {
        return Ok(None);
    };
    if !are_in(query) {
        return Ok(None);
    }
    let mut query = query.clone();
    let Some(with) = query.with.take() else {
        return Ok(None);
    };
    let mut rest = take_change(&mut query).unwrap_or(Statement::Query(query));
    let recursive = with.recursive.then(|| With {
        cte_tables: vec![],
        ..with.clone()
    });
    let mut put = Put::default();
    let mut parts = vec![];
    for mut table in with.cte_tables {
        let place = format!("$with{}", parts.len());
        let change = change_of(&table.query);
        change.map_or(Ok(()), |change| put.refuse_target(change))?;
        let is_change = change.is_some();
        let named_by_it = put.put_into(&mut table.query)?;
        put.know(table.alias.clone(), named(Ident::with_quote('"', &place)))?;
        let name = table.alias.name.value.clone();
        if let (false, Some(with)) = (is_change, &recursive) {
            table = of_itself(table, with)?;
        }
        let mut part = Statement::Query(table.query);
        without_with(&mut part)?;
        parts.push(Part {
            name,
            is_change,
            names: named_by_it,
            place,
            part,
        });
    }
    put.refuse_target(&rest)?;
    let names = put.put_into(&mut rest)?;
    let parts = named_ones(parts, names)?;
    Ok(Some(ChangesWithin { parts, rest }))
}

struct Part {
    name: String,
    is_change: bool,
    /// Numbers of the parts before it that it names.
    names: Vec<usize>,
    place: String,
    part: Statement,
}

/// The parts but for queries that neither the rest, which names these, nor a part after them names.
fn named_ones(parts: Vec<Part>, by_rest: Vec<usize>) -> Result<Vec<(String, Statement)>> {
    let mut named = vec![false; parts.len()];
    by_rest.into_iter().for_each(|number| named[number] = true);
    let mut kept = vec![];
    for (number, part) in parts.into_iter().enumerate().rev() {
        if named[number] && !returns(&part.part) {
            return Err(Error::unsupported(format!(
                "WITH query \"{}\" does not have a RETURNING clause",
                part.name
            )));
        }
        if named[number] || part.is_change {
            part.names
                .into_iter()
                .for_each(|number| named[number] = true);
            kept.push((part.place, part.part));
        }
    }
    kept.reverse();
    Ok(kept)
}

/// A table that is called so, or the rows of a query of WITH.
fn named(name: Ident) -> TableFactor {
    TableFactor::Table {
        name: ObjectName::from(vec![name]),
        alias: None,
        args: None,
        with_hints: vec![],
        version: None,
        with_ordinality: false,
        partitions: vec![],
        json_path: None,
        sample: None,
        index_hints: vec![],
    }
}

fn returns(part: &Statement) -> bool {
    match part {
        Statement::Insert(insert) => insert.returning.is_some(),
        Statement::Update(update) => update.returning.is_some(),
        Statement::Delete(delete) => delete.returning.is_some(),
        _ => true,
    }
}

/// `WITH RECURSIVE name AS (...) SELECT * FROM name`: a query that may name itself.
fn of_itself(table: Cte, with: &With) -> Result<Cte> {
    let from = TableWithJoins {
        relation: named(table.alias.name.clone()),
        joins: vec![],
    };
    let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    let mut query = query_of(vec![from], all)?;
    let itself = table.clone();
    query.with = Some(With {
        cte_tables: vec![table],
        ..with.clone()
    });
    Ok(Cte { query, ..itself })
}

#[cfg(test)]
mod tests {
    use super::changes_within;

    fn apart(sql: &str) -> crate::Result<Vec<String>> {
        let changes = changes_within(&crate::parse_one(sql)?)?.unwrap();
        let parts = changes.parts.iter();
        let mut texts: Vec<String> = parts
            .map(|(place, part)| format!("{place}: {part}"))
            .collect();
        texts.push(changes.rest.to_string());
        Ok(texts)
    }

    #[test]
    fn each_part_names_what_those_before_it_gave() {
        let moved = "WITH a AS (DELETE FROM t RETURNING x), b(y) AS (SELECT x + 1 FROM a), unused AS (SELECT 1) \
                     INSERT INTO u SELECT y FROM b WHERE y NOT IN (SELECT x FROM a AS a2)";
        assert_eq!(
            apart(moved).unwrap(),
            [
                "$with0: DELETE FROM t RETURNING x",
                "$with1: SELECT x + 1 FROM \"$with0\" AS a",
                "INSERT INTO u SELECT y FROM \"$with1\" AS b (y) WHERE y NOT IN (SELECT x FROM \"$with0\" AS a2)",
            ]
        );
        assert_eq!(
            apart(
                "WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 3), \
                   i AS (INSERT INTO t SELECT x FROM r) SELECT 1"
            )
            .unwrap(),
            [
                "$with0: WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r WHERE x < 3) SELECT * FROM r",
                "$with1: INSERT INTO t SELECT x FROM \"$with0\" AS r",
                "SELECT 1",
            ]
        );
    }

    #[test]
    fn what_cannot_be_told_apart_is_refused() {
        for bad in [
            "WITH a AS (DELETE FROM t) SELECT * FROM a",
            "WITH a AS (DELETE FROM t RETURNING x) DELETE FROM a",
            "WITH a AS (DELETE FROM t RETURNING x) SELECT * FROM (WITH a AS (SELECT 1) SELECT * FROM a)",
            "SELECT * FROM (WITH a AS (DELETE FROM t RETURNING x) SELECT * FROM a)",
            "WITH b AS (WITH a AS (DELETE FROM t RETURNING x) SELECT * FROM a) SELECT * FROM b",
            "CREATE TABLE u AS WITH a AS (DELETE FROM t RETURNING x) SELECT * FROM a",
            "EXPLAIN WITH a AS (DELETE FROM t RETURNING x) SELECT * FROM a",
        ] {
            assert!(apart(bad).is_err(), "{bad}");
        }
    }
}
