//! Types that users name: what they stand for takes the place of their names before a statement is planned, or a column defined.
//!
//! What must hold: a type of the system goes before one of a user.

use crate::error::{Error, Result};
use crate::names::name_parts;
use crate::type_names::{column_type, sql_type};
use crate::walk::{finish, visit_mut};
use hushdb_storage::ColumnType;
use sqlparser::ast::{
    AlterColumnOperation, AlterTableOperation, ArrayElemTypeDef, DataType, Expr, Statement,
    VisitMut, VisitorMut,
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
        ] {
            let mut parsed = parse_one(given).unwrap();
            expand_types(&mut parsed, &find).unwrap();
            let expected = parse_one(expected).unwrap();
            assert_eq!(parsed.to_string(), expected.to_string(), "{given}");
        }
    }
}
