//! Types that users name: what they stand for takes the place of their names before a statement is planned, or a column defined.
//!
//! What must hold: a type of the system goes before one of a user.

use crate::error::{Error, Result};
use crate::folded;
use crate::names::name_parts;
use crate::reading::parse_data_type;
use crate::type_names::{column_type, sql_type};
use crate::walk::{finish, visit_mut};
use hushdb_storage::ColumnType;
use sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ArrayElemTypeDef, DataType, Expr, FunctionArg,
    FunctionArgExpr, Statement, TableFactor, Value, VisitMut, VisitorMut,
};
use std::ops::ControlFlow;

/// Finds a type by the parts of its name.
pub type FindType<'a> = dyn Fn(&[String]) -> Option<ColumnType> + 'a;

/// Puts what they stand for in the places of types that users have named.
///
/// # Errors
/// `Internal` for a type that has no text.
pub fn expand_types(parsed: &mut impl VisitMut, find: &FindType<'_>) -> Result<()> {
    finish(visit_mut(parsed, &mut Expander(find)))
}

/// As [`expand_types`], of a type.
///
/// # Errors
/// The same.
pub fn expand_type(ty: &mut DataType, find: &FindType<'_>) -> Result<()> {
    match ty {
        DataType::Custom(name, modifiers) if modifiers.is_empty() => {
            let parts = name_parts(name).unwrap_or_default();
            if column_type(ty).is_err()
                && let Some(found) = find(&parts)
            {
                *ty = sql_type(&found)?;
            }
            Ok(())
        }
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => expand_type(item, find),
        DataType::Struct(fields, _) => fields
            .iter_mut()
            .try_for_each(|field| expand_type(&mut field.field_type, find)),
        DataType::Union(members) => members
            .iter_mut()
            .try_for_each(|member| expand_type(&mut member.field_type, find)),
        DataType::Map(key, value) => {
            expand_type(key, find)?;
            expand_type(value, find)
        }
        _ => Ok(()),
    }
}

/// Functions that read files, whose arguments say of which types columns are.
const READERS: [&str; 7] = [
    "read_csv",
    "read_csv_auto",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_ndjson_auto",
    "read_parquet",
];

/// Those of their arguments that do.
const TYPES_OF_COLUMNS: [&str; 5] = ["columns", "types", "dtypes", "column_types", "hive_types"];

/// A text that names a type, as the type that it stands for.
fn expand_text(value: &mut Expr, find: &FindType<'_>) -> Result<()> {
    let Expr::Value(text) = value else {
        return Ok(());
    };
    let Value::SingleQuotedString(text) = &mut text.value else {
        return Ok(());
    };
    if let Ok(mut ty) = parse_data_type(text) {
        let named = ty.clone();
        expand_type(&mut ty, find)?;
        if ty != named {
            *text = ty.to_string();
        }
    }
    Ok(())
}

/// The same in `types = {'column': 'type'}` and its kind.
fn expand_argument(arg: &mut FunctionArg, find: &FindType<'_>) -> Result<()> {
    let name = match arg {
        FunctionArg::Named { name, .. } => folded(&name.value),
        FunctionArg::ExprNamed {
            name: Expr::Identifier(name),
            ..
        } => folded(&name.value),
        FunctionArg::ExprNamed { .. } | FunctionArg::Unnamed(_) => return Ok(()),
    };
    let (FunctionArg::Named { arg, .. } | FunctionArg::ExprNamed { arg, .. }) = arg else {
        return Ok(());
    };
    let FunctionArgExpr::Expr(value) = arg else {
        return Ok(());
    };
    if !TYPES_OF_COLUMNS.contains(&name.as_str()) {
        return Ok(());
    }
    match value {
        Expr::Dictionary(fields) => {
            let mut values = fields.iter_mut().map(|field| field.value.as_mut());
            values.try_for_each(|value| expand_text(value, find))
        }
        Expr::Array(list) => {
            let mut values = list.elem.iter_mut();
            values.try_for_each(|value| expand_text(value, find))
        }
        _ => Ok(()),
    }
}

struct Expander<'a>(&'a FindType<'a>);

impl Expander<'_> {
    fn flow(&self, ty: &mut DataType) -> ControlFlow<Box<Error>> {
        match expand_type(ty, self.0) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }
}

impl VisitorMut for Expander<'_> {
    type Break = Box<Error>;

    fn pre_visit_statement(&mut self, statement: &mut Statement) -> ControlFlow<Box<Error>> {
        match statement {
            Statement::CreateTable(create) => {
                let mut columns = create.columns.iter_mut();
                columns.try_for_each(|column| self.flow(&mut column.data_type))
            }
            Statement::AlterTable(alter) => {
                alter
                    .operations
                    .iter_mut()
                    .try_for_each(|operation| match operation {
                        AlterTableOperation::AddColumn { column_def, .. } => {
                            self.flow(&mut column_def.data_type)
                        }
                        AlterTableOperation::AlterColumn {
                            op: AlterColumnOperation::SetDataType { data_type, .. },
                            ..
                        } => self.flow(data_type),
                        _ => ControlFlow::Continue(()),
                    })
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Box<Error>> {
        let (name, args) = match factor {
            TableFactor::Table {
                name,
                args: Some(args),
                ..
            } => (name, &mut args.args),
            TableFactor::Function { name, args, .. } => (name, args),
            _ => return ControlFlow::Continue(()),
        };
        if !READERS.contains(&name.to_string().to_lowercase().as_str()) {
            return ControlFlow::Continue(());
        }
        let expanded = args
            .iter_mut()
            .try_for_each(|arg| expand_argument(arg, self.0));
        match expanded {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Box<Error>> {
        match expr {
            Expr::Cast { data_type, .. } => self.flow(data_type),
            Expr::TypedString(typed) => self.flow(&mut typed.data_type),
            _ => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parser::parse_one;
    use crate::type_names::enum_of;

    #[test]
    fn names_of_types_give_way_wherever_a_type_stands() {
        let mood = ColumnType::Enum(enum_of(vec!["a".into()]).unwrap());
        let find = |parts: &[String]| (parts == ["mood"]).then(|| mood.clone());
        for (given, expected) in [
            ("SELECT 'a'::mood[]", "SELECT 'a'::ENUM('a')[]"),
            (
                "CREATE TABLE t (a mood, b STRUCT(x mood) DEFAULT CAST('a' AS mood), c other)",
                "CREATE TABLE t (a ENUM('a'), b STRUCT(x ENUM('a')) DEFAULT CAST('a' AS ENUM('a')), c other)",
            ),
            (
                "ALTER TABLE t ALTER COLUMN a SET DATA TYPE mood USING a::mood",
                "ALTER TABLE t ALTER COLUMN a SET DATA TYPE ENUM('a') USING a::ENUM('a')",
            ),
            (
                "ALTER TABLE t ADD COLUMN a mood",
                "ALTER TABLE t ADD COLUMN a ENUM('a')",
            ),
            ("SELECT 1::uuid", "SELECT 1::UUID"),
            (
                "FROM read_csv('f', types = {'a': 'mood', 'b': 'mood[]', 'c': 'INTEGER'}, names = ['mood'])",
                "FROM read_csv('f', types = {'a': 'ENUM(''a'')', 'b': 'ENUM(''a'')[]', 'c': 'INTEGER'}, names = ['mood'])",
            ),
        ] {
            let mut parsed = parse_one(given).unwrap();
            expand_types(&mut parsed, &find).unwrap();
            let expected = parse_one(expected).unwrap();
            assert_eq!(parsed.to_string(), expected.to_string(), "{given}");
        }
    }
}
