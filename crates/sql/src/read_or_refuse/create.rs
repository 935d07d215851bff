//! CREATE TABLE and CREATE VIEW.

use super::{Result, not_there, refuse, refuse_clauses};
use crate::collations::collation;
use crate::error::Error;
use crate::marks::{PIVOT, PIVOT_FOR};
use crate::walk::visit;
use sqlparser::ast::{
    CheckConstraint, ColumnDef, ColumnOption, ColumnOptionDef, CreateTable, CreateTableOptions,
    CreateView, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    HiveDistributionStyle, OnCommit, PrimaryKeyConstraint, TableConstraint, UniqueConstraint,
    ViewColumnDef, Visitor,
};
use std::ops::ControlFlow;

pub(super) fn table(table: &CreateTable) -> Result<()> {
    of_connection(table.temporary, table.global, table.on_commit.as_ref())?;
    let distributed = !matches!(table.hive_distribution, HiveDistributionStyle::NONE);
    refuse(&[
        (&distributed, "PARTITIONED or SKEWED BY"),
        (&has_options(&table.table_options), "options of a table"),
    ])?;
    refuse_clauses!(table, CreateTable {
        or_replace, if_not_exists, name, columns, constraints, query, hive_distribution, table_options,
        temporary, global, on_commit,
        // `exec/definitions/ddl.rs` refuses these.
        external, like, clone, partition_by,;
        dynamic: "DYNAMIC",
        transient: "TRANSIENT",
        volatile: "VOLATILE",
        iceberg: "ICEBERG",
        snapshot: "SNAPSHOT",
        hive_formats: "a row format",
        file_format: "a file format",
        location: "LOCATION",
        without_rowid: "WITHOUT ROWID",
        version: "an older version of a table",
        comment: "COMMENT",
        on_cluster: "ON CLUSTER",
        primary_key: "PRIMARY KEY after the columns",
        order_by: "ORDER BY of a table",
        cluster_by: "CLUSTER BY",
        clustered_by: "CLUSTERED BY",
        inherits: "INHERITS",
        partition_of: "PARTITION OF",
        for_values: "FOR VALUES",
        strict: "STRICT",
        copy_grants: "COPY GRANTS",
        enable_schema_evolution: "ENABLE_SCHEMA_EVOLUTION",
        change_tracking: "CHANGE_TRACKING",
        data_retention_time_in_days: "DATA_RETENTION_TIME_IN_DAYS",
        max_data_extension_time_in_days: "MAX_DATA_EXTENSION_TIME_IN_DAYS",
        default_ddl_collation: "DEFAULT_DDL_COLLATION",
        with_aggregation_policy: "AGGREGATION POLICY",
        with_row_access_policy: "ROW ACCESS POLICY",
        with_storage_lifecycle_policy: "STORAGE LIFECYCLE POLICY",
        with_tags: "TAG",
        external_volume: "EXTERNAL_VOLUME",
        base_location: "BASE_LOCATION",
        catalog: "CATALOG",
        catalog_sync: "CATALOG_SYNC",
        storage_serialization_policy: "STORAGE_SERIALIZATION_POLICY",
        target_lag: "TARGET_LAG",
        warehouse: "WAREHOUSE",
        refresh_mode: "REFRESH_MODE",
        initialize: "INITIALIZE",
        require_user: "REQUIRE USER",
        diststyle: "DISTSTYLE",
        distkey: "DISTKEY",
        sortkey: "SORTKEY",
        backup: "BACKUP",
    })?;
    table.columns.iter().try_for_each(column)?;
    table.constraints.iter().try_for_each(constraint)
}

/// Whom a table is for, and for how long.
fn of_connection(
    temporary: bool,
    global: Option<bool>,
    on_commit: Option<&OnCommit>,
) -> Result<()> {
    match (global, temporary) {
        (Some(true), true) => Err(Error::parser(
            "GLOBAL is deprecated in temporary table creation",
        )),
        (Some(_), false) => Err(not_there("GLOBAL or LOCAL tables")),
        _ if !matches!(on_commit, None | Some(OnCommit::PreserveRows)) => Err(Error::unsupported(
            "Only ON COMMIT PRESERVE ROWS is supported",
        )),
        _ => Ok(()),
    }
}

fn has_options(options: &CreateTableOptions) -> bool {
    match options {
        CreateTableOptions::None => false,
        CreateTableOptions::With(options)
        | CreateTableOptions::Options(options)
        | CreateTableOptions::Plain(options)
        | CreateTableOptions::TableProperties(options) => !options.is_empty(),
    }
}

pub(super) fn column(column: &ColumnDef) -> Result<()> {
    let ColumnDef {
        name: _,
        data_type: _,
        options,
    } = column;
    options.iter().try_for_each(|option| {
        let ColumnOptionDef { name: _, option } = option;
        match option {
            ColumnOption::Null | ColumnOption::NotNull | ColumnOption::Default(_) => Ok(()),
            ColumnOption::Collation(name) => collation(name).map(drop),
            ColumnOption::PrimaryKey(key) => primary_key(key),
            ColumnOption::Unique(key) => unique(key),
            ColumnOption::Check(condition) => check(condition),
            // `exec/columns/generated.rs` and `exec/columns/identity.rs` read these.
            ColumnOption::Generated { .. } => Ok(()),
            // What is none of these is refused by `exec/definitions/ddl.rs`.
            _ => Ok(()),
        }
    })
}

pub(super) fn constraint(constraint: &TableConstraint) -> Result<()> {
    match constraint {
        TableConstraint::PrimaryKey(key) => primary_key(key),
        TableConstraint::Unique(key) => unique(key),
        TableConstraint::Check(condition) => check(condition),
        // What is none of these is refused by `exec/definitions/ddl.rs`.
        _ => Ok(()),
    }
}

fn primary_key(key: &PrimaryKeyConstraint) -> Result<()> {
    refuse_clauses!(key, PrimaryKeyConstraint {
        name, columns,;
        index_name: "a name of a key's index",
        index_type: "USING of a key",
        index_options: "options of a key's index",
        characteristics: "DEFERRABLE, INITIALLY or ENFORCED",
    })
}

fn unique(key: &UniqueConstraint) -> Result<()> {
    refuse_clauses!(key, UniqueConstraint {
        // KEY and INDEX are noise after UNIQUE.
        index_type_display,
        name, columns, nulls_distinct,;
        index_name: "a name of a key's index",
        index_type: "USING of a key",
        index_options: "options of a key's index",
        characteristics: "DEFERRABLE, INITIALLY or ENFORCED",
    })
}

fn check(condition: &CheckConstraint) -> Result<()> {
    let CheckConstraint {
        name: _,
        expr: _,
        enforced,
    } = condition;
    refuse(&[(enforced, "ENFORCED of a CHECK")])
}

pub(super) fn view(view: &CreateView) -> Result<()> {
    let CreateView {
        or_alter,
        or_replace: _,
        temporary: _,
        // `exec/definitions/ddl.rs` refuses these.
        materialized: _,
        secure,
        name: _,
        name_before_not_exists: _,
        columns,
        query,
        options,
        cluster_by,
        comment,
        with_no_schema_binding,
        if_not_exists: _,
        copy_grants,
        to,
        params,
    } = view;
    if has_options(options) {
        return Err(not_there("options of a view"));
    }
    if visit(query.as_ref(), &mut PivotsByData).is_break() {
        return Err(Error::parser(
            "PIVOT statements with pivot elements extracted from the data cannot be used in views; name the values: ON x IN (...)",
        ));
    }
    refuse(&[
        (or_alter, "CREATE OR ALTER"),
        (secure, "SECURE"),
        (cluster_by, "CLUSTER BY"),
        (comment, "COMMENT"),
        (with_no_schema_binding, "WITH NO SCHEMA BINDING"),
        (copy_grants, "COPY GRANTS"),
        (to, "TO of a view"),
        (params, "parameters of CREATE VIEW"),
    ])?;
    columns.iter().try_for_each(|column| {
        let ViewColumnDef {
            name: _,
            data_type,
            options,
        } = column;
        refuse(&[
            (data_type, "a type of a view's column"),
            (options, "an option of a view's column"),
        ])
    })
}

/// Finds a PIVOT whose columns its rows say.
struct PivotsByData;

impl Visitor for PivotsByData {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        let (is_pivot, FunctionArguments::List(list)) = (pivots_on(function), &function.args)
        else {
            return ControlFlow::Continue(());
        };
        let is_named = |arg: &FunctionArg| {
            matches!(
                arg,
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::InList { .. }))
            )
        };
        match is_pivot && !list.args.iter().all(is_named) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

fn pivots_on(function: &Function) -> bool {
    let [name] = function.name.0.as_slice() else {
        return false;
    };
    name.as_ident()
        .is_some_and(|name| [PIVOT, PIVOT_FOR].contains(&name.value.as_str()))
}
