//! Statements as a whole; what they are made of is in the files beside this one.

use super::{Result, alter, change, create, refuse};
use sqlparser::ast::{
    AnalyzeFormatKind, CreateIndex, DescribeAlias, Lock, LockTableTarget, SchemaName, Statement,
    Truncate, TruncateTableTarget,
};

pub(super) fn statement(statement: &Statement) -> Result<()> {
    use Statement as S;
    match statement {
        S::Insert(insert) => change::insert(insert),
        S::Update(update) => change::update(update),
        S::Delete(delete) => change::delete(delete),
        S::Truncate(truncate) => self::truncate(truncate),
        S::CreateTable(table) => create::table(table),
        S::CreateView(view) => create::view(view),
        S::CreateIndex(index) => create_index(index),
        S::AlterTable(alter) => alter::table(alter),
        S::Lock(lock) => self::lock(lock),
        S::CreateSchema { .. } | S::Drop { .. } => definition(statement),
        S::Explain { .. } | S::ExplainTable { .. } => explanation(statement),
        S::Prepare { .. } | S::Execute { .. } | S::Deallocate { .. } => prepared(statement),
        // A query is visited by itself; what is none of these is refused by `exec`.
        _ => Ok(()),
    }
}

/// CREATE SCHEMA, and DROP of anything.
fn definition(statement: &Statement) -> Result<()> {
    use Statement as S;
    match statement {
        S::CreateSchema {
            schema_name,
            if_not_exists: _,
            with,
            options,
            default_collate_spec,
            clone,
        } => {
            let authorized = !matches!(schema_name, SchemaName::Simple(_));
            refuse(&[
                (&authorized, "AUTHORIZATION"),
                (with, "WITH of a schema"),
                (options, "OPTIONS of a schema"),
                (default_collate_spec, "DEFAULT COLLATE"),
                (clone, "CLONE"),
            ])
        }
        S::Drop {
            object_type: _,
            if_exists: _,
            names: _,
            // Of a schema; nothing depends on other things in a way that is known.
            cascade: _,
            restrict: _,
            purge,
            temporary,
            table,
        } => refuse(&[
            (purge, "PURGE"),
            (temporary, "DROP TEMPORARY"),
            (table, "ON table after DROP"),
        ]),
        _ => Ok(()),
    }
}

/// EXPLAIN and DESCRIBE.
fn explanation(statement: &Statement) -> Result<()> {
    use Statement as S;
    match statement {
        S::Explain {
            describe_alias: DescribeAlias::Explain | DescribeAlias::Describe | DescribeAlias::Desc,
            analyze: _,
            verbose: _,
            query_plan,
            estimate,
            statement: _,
            format,
            options,
        } => {
            let is_bare = matches!(format, Some(AnalyzeFormatKind::Keyword(_)));
            refuse(&[
                (&is_bare, "EXPLAIN FORMAT without brackets"),
                (query_plan, "EXPLAIN QUERY PLAN"),
                (estimate, "EXPLAIN ESTIMATE"),
                (options, "EXPLAIN with options in brackets"),
            ])
        }
        S::ExplainTable {
            describe_alias: _,
            hive_format,
            has_table_keyword: _,
            table_name: _,
        } => refuse(&[(hive_format, "DESCRIBE EXTENDED or FORMATTED")]),
        _ => Ok(()),
    }
}

/// PREPARE, EXECUTE and DEALLOCATE.
fn prepared(statement: &Statement) -> Result<()> {
    use Statement as S;
    match statement {
        // `exec/mod.rs` refuses types that no dialect has brought into casts.
        S::Prepare {
            name: _,
            data_types: _,
            statement: _,
        } => Ok(()),
        S::Execute {
            name: _,
            parameters: _,
            has_parentheses: _,
            immediate,
            into,
            using,
            output,
            default,
        } => refuse(&[
            (immediate, "EXECUTE IMMEDIATE"),
            (into, "EXECUTE INTO"),
            (using, "EXECUTE USING"),
            (output, "OUTPUT of EXECUTE"),
            (default, "DEFAULT of EXECUTE"),
        ]),
        S::Deallocate {
            name: _,
            prepare: _,
        } => Ok(()),
        _ => Ok(()),
    }
}

fn truncate(truncate: &Truncate) -> Result<()> {
    let Truncate {
        table_names,
        partitions,
        table: _,
        if_exists,
        identity,
        cascade,
        on_cluster,
    } = truncate;
    refuse(&[
        (partitions, "PARTITION of TRUNCATE"),
        (if_exists, "TRUNCATE IF EXISTS"),
        (identity, "RESTART or CONTINUE IDENTITY"),
        (cascade, "CASCADE and RESTRICT of TRUNCATE"),
        (on_cluster, "ON CLUSTER"),
    ])?;
    table_names.iter().try_for_each(|target| {
        let TruncateTableTarget {
            name: _,
            only,
            has_asterisk,
        } = target;
        refuse(&[(only, "ONLY"), (has_asterisk, "* after a table's name")])
    })
}

/// There are no tables below others, which ONLY and `*` are about.
fn lock(lock: &Lock) -> Result<()> {
    let Lock {
        tables,
        lock_mode: _,
        nowait: _,
    } = lock;
    for target in tables {
        let LockTableTarget {
            name: _,
            only: _,
            has_asterisk: _,
        } = target;
    }
    Ok(())
}

/// `exec/definitions/indexes.rs` reads or refuses all of it.
fn create_index(index: &CreateIndex) -> Result<()> {
    let CreateIndex {
        name: _,
        table_name: _,
        using: _,
        columns: _,
        unique: _,
        concurrently: _,
        if_not_exists: _,
        include: _,
        nulls_distinct: _,
        with: _,
        predicate: _,
        index_options: _,
        alter_options: _,
    } = index;
    Ok(())
}
