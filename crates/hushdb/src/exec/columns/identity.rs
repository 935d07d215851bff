//! SERIAL and GENERATED AS IDENTITY: columns that a sequence of their own fills, as PostgreSQL has them.
//!
//! What must hold: the sequence is dropped with its column. A column that is GENERATED ALWAYS takes no value of a statement.

use super::default_text::is_default;
use crate::transaction::Write;
use datafusion::sql::sqlparser::ast::{
    self, ColumnDef, ColumnOption, ColumnOptionDef, DataType, Expr, GeneratedAs, Ident, SetExpr,
};
use hushdb_query::plan::{Snapshot, TableName};
use hushdb_sql::type_names::sql_type;
use hushdb_sql::{self as sql, Error, Result, quote, sqlstate};
use hushdb_storage::{
    Column, ColumnDef as StoredColumn, SequenceDef, SequenceOptions, SequenceUse, TableVersion,
    same_name,
};

/// Characters that PostgreSQL allows in the name that it makes for a sequence.
const LONGEST_NAME: usize = 63;

/// A sequence that is made with a column.
pub(in crate::exec) struct Own {
    column: String,
    options: SequenceOptions,
    used: SequenceUse,
    /// Known once it is named.
    name: String,
}

/// Takes SERIAL and IDENTITY out of columns' definitions.
///
/// # Errors
/// `Parser` for options that contradict each other.
pub(in crate::exec) fn take(columns: &mut [ColumnDef]) -> Result<Vec<Own>> {
    let mut all = vec![];
    for column in columns {
        if let Some(ty) = of_serial(&column.data_type) {
            column.data_type = ty;
            all.push(own(column, SequenceUse::Owned, "")?);
            continue;
        }
        let at = column.options.iter().position(|option| {
            matches!(
                &option.option,
                ColumnOption::Generated {
                    generation_expr: None,
                    ..
                }
            )
        });
        let Some(at) = at else {
            continue;
        };
        if let ColumnOption::Generated {
            generated_as,
            sequence_options,
            ..
        } = column.options.remove(at).option
        {
            let used = match generated_as {
                GeneratedAs::Always => SequenceUse::Always,
                _ => SequenceUse::Default,
            };
            let options = sequence_options.unwrap_or_default();
            let options: Vec<String> = options.iter().map(ToString::to_string).collect();
            all.push(own(column, used, &options.concat())?);
        }
    }
    Ok(all)
}

/// The type of a column that is called SERIAL or alike.
fn of_serial(ty: &DataType) -> Option<DataType> {
    let DataType::Custom(name, modifiers) = ty else {
        return None;
    };
    let [name] = name.0.as_slice() else {
        return None;
    };
    match sql::folded(&name.as_ident()?.value).as_str() {
        _ if !modifiers.is_empty() => None,
        "smallserial" | "serial2" => Some(DataType::SmallInt(None)),
        "serial" | "serial4" => Some(DataType::Integer(None)),
        "bigserial" | "serial8" => Some(DataType::BigInt(None)),
        _ => None,
    }
}

fn own(column: &mut ColumnDef, used: SequenceUse, options: &str) -> Result<Own> {
    let has_default = |option: &ColumnOptionDef| matches!(option.option, ColumnOption::Default(_));
    if column.options.iter().any(has_default) {
        return Err(Error::parser(format!(
            "column \"{}\" has a default and a sequence: leave one out",
            column.name.value
        )));
    }
    column.options.push(ColumnOptionDef {
        name: None,
        option: ColumnOption::NotNull,
    });
    let ty = match column.data_type {
        DataType::SmallInt(_) | DataType::Int2(_) => "SMALLINT",
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => "INTEGER",
        DataType::BigInt(_) | DataType::Int8(_) => "BIGINT",
        _ => {
            return Err(Error::parser(
                "identity column type must be smallint, integer, or bigint",
            ));
        }
    };
    let text = format!("CREATE SEQUENCE own AS {ty}{options}");
    match sql::parse(&text)? {
        sql::Statement::CreateSequence(new) => Ok(Own {
            column: column.name.value.clone(),
            options: new.options,
            used,
            name: String::new(),
        }),
        _ => Err(Error::internal("CREATE SEQUENCE is read as something else")),
    }
}

/// Gives a column that is there a sequence of its own; gives the default by which it takes its values from that.
///
/// # Errors
/// `Parser` for a column that has a default or may be NULL, and for options that contradict each other; as `create_sequence`.
pub(in crate::exec) fn add(
    write: &mut Write<'_>,
    place: &TableName,
    column: &Column,
    generated_as: GeneratedAs,
    options: &[ast::SequenceOptions],
) -> Result<String> {
    let name = &column.name;
    if column.default.is_some() || column.nullable {
        return Err(Error::parser(format!(
            "column \"{name}\" must be NOT NULL and without a default before it can be GENERATED AS IDENTITY"
        )));
    }
    let mut definition = ColumnDef {
        name: Ident::with_quote('"', name),
        data_type: sql_type(&column.ty)?,
        options: vec![],
    };
    let used = match generated_as {
        GeneratedAs::Always => SequenceUse::Always,
        _ => SequenceUse::Default,
    };
    let options: String = options.iter().map(ToString::to_string).collect();
    let mut own = [own(&mut definition, used, &options)?];
    fill(write, place, &mut own, &mut []);
    let [own] = own;
    let text = quote(&own.name).replace('\'', "''");
    create(write, place, vec![own])?;
    Ok(format!("nextval('{text}')"))
}

/// Names the sequences and has the columns take their values from them.
pub(in crate::exec) fn fill(
    write: &Write<'_>,
    place: &TableName,
    all: &mut [Own],
    columns: &mut [StoredColumn],
) {
    let mut named: Vec<String> = vec![];
    for own in all {
        let schema = write.catalog().schema(&place.schema);
        let is_taken = |name: &str| {
            named.iter().any(|known| same_name(known, name))
                || schema.is_some_and(|schema| {
                    let mut names = schema.relations().chain(schema.sequences.keys());
                    names.any(|known| same_name(known, name))
                })
        };
        let names = (0_u64..).map(|n| match n {
            0 => made_name(&place.name, &own.column, "seq"),
            n => made_name(&place.name, &own.column, &format!("seq{n}")),
        });
        own.name = names
            .into_iter()
            .find(|name| !is_taken(name))
            .unwrap_or_default();
        named.push(own.name.clone());
        let text = quote(&own.name).replace('\'', "''");
        for column in columns
            .iter_mut()
            .filter(|column| column.name == own.column)
        {
            column.default = Some(format!("nextval('{text}')"));
        }
    }
}

/// `table_column_seq`, the longer of the two names cut so that it is no longer than PostgreSQL allows.
fn made_name(table: &str, column: &str, ending: &str) -> String {
    let (mut table, mut column): (Vec<char>, Vec<char>) =
        (table.chars().collect(), column.chars().collect());
    while table.len() + column.len() + ending.len() + 2 > LONGEST_NAME {
        match table.len() > column.len() {
            true => table.pop(),
            false => column.pop(),
        };
    }
    let text = |chars: Vec<char>| chars.into_iter().collect::<String>();
    format!("{}_{}_{ending}", text(table), text(column))
}

/// Makes the sequences of a table that was just made.
pub(in crate::exec) fn create(
    write: &mut Write<'_>,
    place: &TableName,
    all: Vec<Own>,
) -> Result<()> {
    for own in all {
        let def = SequenceDef {
            name: own.name.clone(),
            options: own.options,
            point: None,
        };
        write.create_sequence(&place.schema, def)?;
        let owner = Some((place.name.as_str(), Some(own.column.as_str())));
        write.set_sequence_owner(&place.schema, &own.name, owner, own.used)?;
    }
    Ok(())
}

/// Places of the table's columns that are GENERATED ALWAYS.
fn always(snapshot: &Snapshot, place: &TableName, table: &TableVersion) -> Vec<usize> {
    let database = snapshot.database(&place.database).ok();
    let schema = database.and_then(|database| database.version.schema(&place.schema));
    let sequences = schema.iter().flat_map(|schema| schema.sequences.values());
    let always = sequences.filter(|sequence| sequence.used() == SequenceUse::Always);
    let ids = always.filter_map(|sequence| {
        let schema = schema?;
        let (owner, column) = sequence.owner_in(schema)?;
        (owner.id == table.id).then_some(column?.id)
    });
    let places = ids.filter_map(|id| table.columns.iter().position(|column| column.id == id));
    places.collect()
}

/// Whether some column of a table is GENERATED ALWAYS.
pub(in crate::exec) fn has_always(
    snapshot: &Snapshot,
    place: &TableName,
    table: &TableVersion,
) -> bool {
    !always(snapshot, place, table).is_empty()
}

/// Whether a statement gives a value to a column that takes none.
pub(in crate::exec) fn gives_value(
    snapshot: &Snapshot,
    place: &TableName,
    table: &TableVersion,
    targets: &[usize],
    source: Option<&ast::Query>,
) -> Option<usize> {
    let refused = always(snapshot, place, table);
    let values = source.and_then(|source| match source.body.as_ref() {
        SetExpr::Values(values) => Some(values),
        _ => None,
    });
    refused.into_iter().find(|column| {
        let Some(at) = targets.iter().position(|target| target == column) else {
            return false;
        };
        let is_default = |expr: Option<&Expr>| expr.is_some_and(is_default);
        !values.is_some_and(|values| {
            let mut rows = values.rows.iter();
            rows.all(|row| is_default(row.content.get(at)))
        })
    })
}

/// # Errors
/// `Constraint` when an INSERT gives a value to a column that is GENERATED ALWAYS.
pub(in crate::exec) fn refuse_values(
    snapshot: &Snapshot,
    place: &TableName,
    table: &TableVersion,
    targets: &[usize],
    source: Option<&ast::Query>,
) -> Result<()> {
    match gives_value(snapshot, place, table, targets, source) {
        None => Ok(()),
        Some(at) => Err(Error::binder(format!(
            "cannot insert a non-DEFAULT value into column \"{}\": it is GENERATED ALWAYS",
            table
                .columns
                .get(at)
                .map_or("", |column| column.name.as_str())
        ))
        .with_sqlstate(sqlstate::GENERATED_ALWAYS)),
    }
}

/// # Errors
/// As [`refuse_values`], when an UPDATE does.
pub(in crate::exec) fn refuse_update(
    snapshot: &Snapshot,
    place: &TableName,
    table: &TableVersion,
    assigned: &[(usize, Expr)],
) -> Result<()> {
    let refused = always(snapshot, place, table);
    let mut given = assigned.iter().filter(|(_, value)| !is_default(value));
    match given.find(|(at, _)| refused.contains(at)) {
        None => Ok(()),
        Some((at, _)) => Err(Error::binder(format!(
            "column \"{}\" can only be updated to DEFAULT: it is GENERATED ALWAYS",
            table
                .columns
                .get(*at)
                .map_or("", |column| column.name.as_str())
        ))
        .with_sqlstate(sqlstate::GENERATED_ALWAYS)),
    }
}

#[cfg(test)]
mod tests {
    use super::made_name;

    #[test]
    fn names_are_made_as_postgresql_makes_them() {
        assert_eq!(made_name("t", "id", "seq"), "t_id_seq");
        let long = made_name(&"t".repeat(80), &"c".repeat(70), "seq1");
        assert_eq!(long.len(), 63);
        assert!(long.ends_with("c_seq1") && long.starts_with('t'));
    }
}
