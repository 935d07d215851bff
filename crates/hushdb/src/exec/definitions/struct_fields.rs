//! ALTER TABLE ... ADD, DROP and RENAME COLUMN of a field of a struct: the column gets another type, and its values are made anew.
//!
//! What must hold: a struct that is NULL stays NULL, wherever it lies.

use hushdb_sql::type_names::column_type_name;
use hushdb_sql::{Error, Result, folded};
use hushdb_storage::{ColumnType, same_name};

/// What is done to a field.
pub(super) enum FieldChange<'a> {
    /// The type of the new one, and its default as SQL.
    Add(&'a ColumnType, Option<&'a str>),
    Drop,
    /// Its new name.
    Rename(&'a str),
}

/// The other type of values, and their expression, where `at` is the path of a field in them and `value` gives them.
pub(super) fn changed(
    ty: &ColumnType,
    value: &str,
    column: &str,
    at: &[String],
    change: &FieldChange<'_>,
) -> Result<(ColumnType, String)> {
    let [name, inner @ ..] = at else {
        return Err(Error::internal("a path without a field"));
    };
    if let ColumnType::List(item) = ty
        && folded(name) == "element"
        && !inner.is_empty()
    {
        let (item, values) = changed(item, "\"$item\"", name, inner, change)?;
        let values = format!("list_transform({value}, \"$item\" -> {values})");
        return Ok((ColumnType::List(Box::new(item)), values));
    }
    let ColumnType::Struct(fields) = ty else {
        return Err(not_nested(column, change));
    };
    let of_field = |name: &str| format!("struct_extract({value}, {})", text(name));
    let own = fields
        .iter()
        .map(|(name, ty)| (name.clone(), ty.clone(), of_field(name)));
    let mut fields: Vec<Field> = own.collect();
    change_fields(&mut fields, column, name, inner, change)?;
    let values = fields
        .iter()
        .map(|(name, _, of)| format!("{}: {of}", text(name)));
    let values = values.collect::<Vec<_>>().join(", ");
    let fields = fields.into_iter().map(|(name, ty, _)| (name, ty));
    Ok((
        ColumnType::Struct(fields.collect()),
        format!("CASE WHEN {value} IS NOT NULL THEN {{{values}}} END"),
    ))
}

/// A field with its type, and the expression of its values.
type Field = (String, ColumnType, String);

/// Changes the fields of one struct, or those of a struct in it.
fn change_fields(
    fields: &mut Vec<Field>,
    column: &str,
    name: &str,
    inner: &[String],
    change: &FieldChange<'_>,
) -> Result<()> {
    let found = fields
        .iter()
        .position(|(known, _, _)| same_name(known, name));
    match (found, inner.is_empty(), change) {
        (Some(at), false, _) => {
            let (known, ty, of) = &fields[at];
            let (ty, of) = changed(ty, of, known, inner, change)?;
            fields[at] = (known.clone(), ty, of);
        }
        (Some(_), true, FieldChange::Add(..)) => {
            return Err(Error::catalog(format!(
                "Duplicate field \"{name}\" - field already exists in struct {column}"
            )));
        }
        (None, true, FieldChange::Add(ty, default)) => {
            let default = default.map_or("NULL".to_owned(), |default| format!("({default})"));
            let default = format!("CAST({default} AS {})", column_type_name(ty));
            fields.push((name.to_owned(), (*ty).clone(), default));
        }
        (Some(_), true, FieldChange::Drop) if fields.len() == 1 => {
            return Err(Error::catalog(format!(
                "Cannot drop field {name} from column {column} - it is the last field of the struct"
            )));
        }
        (Some(at), true, FieldChange::Drop) => drop(fields.remove(at)),
        (Some(at), true, FieldChange::Rename(to)) => {
            let others = fields.iter().enumerate();
            let mut others = others.filter(|(other, _)| *other != at);
            if others.any(|(_, (known, _, _))| same_name(known, to)) {
                return Err(Error::catalog(format!(
                    "Cannot rename field {name} from column {column} to {to} - a field with this name already exists"
                )));
            }
            (*to).clone_into(&mut fields[at].0);
        }
        (None, _, _) => return Err(unknown(name, change)),
    }
    Ok(())
}

fn not_nested(column: &str, change: &FieldChange<'_>) -> Error {
    let what = match change {
        FieldChange::Add(..) => "ADD COLUMN",
        FieldChange::Drop => "DROP COLUMN",
        FieldChange::Rename(_) => "RENAME COLUMN",
    };
    Error::binder(format!(
        "Column '{column}' is not a nested type, {what} can only be used on nested types"
    ))
}

fn text(name: &str) -> String {
    format!("'{}'", name.replace('\'', "''"))
}

fn unknown(name: &str, change: &FieldChange<'_>) -> Error {
    let what = match change {
        FieldChange::Add(..) => "add to",
        FieldChange::Drop => "drop",
        FieldChange::Rename(_) => "rename",
    };
    Error::catalog(format!(
        "Cannot {what} field \"{name}\" - it does not exist"
    ))
}

/// Whether there is a field at a path.
pub(super) fn has_field(ty: &ColumnType, at: &[String]) -> bool {
    let [name, inner @ ..] = at else {
        return true;
    };
    if let ColumnType::List(item) = ty {
        return folded(name) == "element" && has_field(item, inner);
    }
    let ColumnType::Struct(fields) = ty else {
        return false;
    };
    let mut fields = fields.iter();
    fields.any(|(known, ty)| same_name(known, name) && has_field(ty, inner))
}
