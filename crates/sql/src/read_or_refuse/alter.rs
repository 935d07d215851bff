//! ALTER TABLE.

use super::{Result, create, refuse};
use sqlparser::ast::{AlterColumnOperation, AlterTable, AlterTableOperation, DropBehavior};

pub(super) fn table(alter: &AlterTable) -> Result<()> {
    let AlterTable {
        name: _,
        if_exists: _,
        only,
        operations,
        location,
        on_cluster,
        table_type,
        end_token: _,
    } = alter;
    refuse(&[
        (only, "ONLY"),
        (location, "LOCATION"),
        (on_cluster, "ON CLUSTER"),
        (table_type, "ALTER of a table of another kind"),
    ])?;
    operations.iter().try_for_each(operation)
}

fn operation(operation: &AlterTableOperation) -> Result<()> {
    use AlterTableOperation as A;
    match operation {
        A::AddConstraint {
            constraint,
            not_valid,
        } => {
            refuse(&[(not_valid, "NOT VALID")])?;
            create::constraint(constraint)
        }
        A::AddColumn {
            column_keyword: _,
            if_not_exists: _,
            column_def,
            column_position,
        } => {
            refuse(&[(column_position, "FIRST or AFTER a column")])?;
            create::column(column_def)
        }
        A::DropColumn {
            has_column_keyword: _,
            column_names: _,
            if_exists: _,
            drop_behavior: _,
        } => Ok(()),
        A::DropConstraint {
            if_exists: _,
            name: _,
            drop_behavior,
        } => {
            let cascades = matches!(drop_behavior, Some(DropBehavior::Cascade));
            refuse(&[(&cascades, "CASCADE of DROP CONSTRAINT")])
        }
        A::RenameColumn {
            old_column_name: _,
            new_column_name: _,
        }
        | A::RenameTable { table_name: _ } => Ok(()),
        A::AlterColumn { column_name: _, op } => match op {
            AlterColumnOperation::SetNotNull
            | AlterColumnOperation::DropNotNull
            | AlterColumnOperation::SetDefault { value: _ }
            | AlterColumnOperation::DropDefault
            | AlterColumnOperation::SetDataType {
                data_type: _,
                using: _,
                // Another way to write it.
                had_set: _,
            }
            | AlterColumnOperation::AddGenerated {
                generated_as: _,
                sequence_options: _,
            } => Ok(()),
        },
        // What is none of these is refused by `exec/definitions/alter.rs`.
        _ => Ok(()),
    }
}
