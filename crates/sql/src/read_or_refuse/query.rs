//! Queries, set operations and SELECTs.

use super::{Result, expressions, not_there, refuse, relations};
use crate::error::Error;
use crate::walk::{finish, visit, visit_mut};
use sqlparser::ast::{
    Cte, Distinct, GroupByExpr, LimitClause, LockClause, LockType, NamedWindowDefinition,
    NamedWindowExpr, NonBlock, Offset, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, Query,
    ReplaceSelectElement, ReplaceSelectItem, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, SetOperator, SetQuantifier, Statement, Values, Visitor, VisitorMut,
    WildcardAdditionalOptions, With,
};
use std::ops::ControlFlow;

/// A statement, or one that is prepared, without its locking clauses, which `exec/rows/for_update.rs` and `exec/rows/locked_queries.rs` read.
pub(super) fn without_lock(statement: &Statement) -> Result<Option<Statement>> {
    let inner = match statement {
        Statement::Prepare { statement, .. } => statement.as_ref(),
        other => other,
    };
    let reads_locks = matches!(
        inner,
        Statement::Query(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Insert(_)
    );
    if !reads_locks || !has_lock(inner) {
        return Ok(None);
    }
    let mut statement = statement.clone();
    finish(visit_mut(&mut statement, &mut Unlocked))?;
    Ok(Some(statement))
}

fn has_lock(statement: &Statement) -> bool {
    struct Locks;
    impl Visitor for Locks {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            match query.locks.is_empty() {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        }
    }
    visit(statement, &mut Locks).is_break()
}

/// Takes locking clauses away.
struct Unlocked;

impl VisitorMut for Unlocked {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        match std::mem::take(&mut query.locks).as_slice() {
            [] => ControlFlow::Continue(()),
            [clause] => {
                let LockClause {
                    lock_type: LockType::Update | LockType::Share,
                    of: _,
                    nonblock: None | Some(NonBlock::Nowait | NonBlock::SkipLocked),
                } = clause;
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(Box::new(not_there("more than one locking clause"))),
        }
    }
}

pub(super) fn query(query: &Query) -> Result<()> {
    let Query {
        with,
        body,
        order_by,
        limit_clause,
        fetch,
        locks,
        for_clause,
        settings,
        format_clause,
        pipe_operators,
    } = query;
    refuse(&[
        (fetch, "FETCH"),
        (
            locks,
            "a locking clause such as FOR UPDATE within another statement",
        ),
        (for_clause, "FOR XML, JSON or BROWSE"),
        (settings, "SETTINGS of a query"),
        (format_clause, "FORMAT of a query"),
        (pipe_operators, "the operator |>"),
    ])?;
    if let Some(with) = with {
        self::with(with)?;
    }
    if let Some(order_by) = order_by {
        self::order_by(order_by)?;
    }
    if let Some(limit) = limit_clause {
        self::limit(limit)?;
    }
    set_expr(body)
}

fn with(with: &With) -> Result<()> {
    let With {
        with_token: _,
        recursive: _,
        cte_tables,
    } = with;
    for table in cte_tables {
        let Cte {
            alias,
            query: _,
            from,
            // A hint; the rows are the same.
            materialized: _,
            closing_paren_token: _,
        } = table;
        refuse(&[(from, "FROM after a query of WITH")])?;
        relations::alias(alias)?;
    }
    Ok(())
}

fn order_by(order_by: &OrderBy) -> Result<()> {
    let OrderBy { kind, interpolate } = order_by;
    refuse(&[(interpolate, "INTERPOLATE")])?;
    match kind {
        OrderByKind::All(options) => {
            directions(options);
            Ok(())
        }
        OrderByKind::Expressions(expressions) => order(expressions),
    }
}

/// Expressions of an ORDER BY, wherever it stands.
pub(super) fn order(expressions: &[OrderByExpr]) -> Result<()> {
    expressions.iter().try_for_each(|expression| {
        let OrderByExpr {
            expr: _,
            options,
            with_fill,
        } = expression;
        directions(options);
        refuse(&[(with_fill, "WITH FILL")])
    })
}

/// Both are read.
fn directions(options: &OrderByOptions) {
    let OrderByOptions {
        asc: _,
        nulls_first: _,
    } = options;
}

fn limit(limit: &LimitClause) -> Result<()> {
    match limit {
        LimitClause::LimitOffset {
            limit: _,
            offset,
            limit_by,
        } => {
            if let Some(Offset { value: _, rows: _ }) = offset {}
            refuse(&[(limit_by, "LIMIT BY")])
        }
        LimitClause::OffsetCommaLimit {
            offset: _,
            limit: _,
        } => Ok(()),
    }
}

fn set_expr(body: &SetExpr) -> Result<()> {
    match body {
        // Visited by themselves.
        SetExpr::Select(_) | SetExpr::Query(_) => Ok(()),
        SetExpr::SetOperation {
            left,
            op,
            set_quantifier,
            right,
        } => {
            operation(*op, *set_quantifier)?;
            set_expr(left)?;
            set_expr(right)
        }
        SetExpr::Values(Values {
            explicit_row,
            value_keyword,
            rows: _,
        }) => refuse(&[(explicit_row, "ROW in VALUES"), (value_keyword, "VALUE")]),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
            Err(not_there(
                "INSERT, UPDATE, DELETE or MERGE within a query, but for those of a whole statement's WITH,",
            ))
        }
        SetExpr::Table(_) => Err(not_there("TABLE name as a query")),
    }
}

fn operation(op: SetOperator, quantifier: SetQuantifier) -> Result<()> {
    use SetQuantifier as Q;
    match (op, quantifier) {
        (SetOperator::Minus, _) => Err(not_there("MINUS; write EXCEPT")),
        (SetOperator::Union, _) | (_, Q::All | Q::Distinct | Q::None) => Ok(()),
        (_, Q::ByName | Q::AllByName | Q::DistinctByName) => {
            Err(Error::parser("EXCEPT and INTERSECT take no BY NAME"))
        }
    }
}

pub(super) fn select(select: &Select) -> Result<()> {
    let Select {
        select_token: _,
        optimizer_hints,
        distinct,
        select_modifiers,
        top,
        // Says where TOP stands.
        top_before_distinct: _,
        projection,
        exclude,
        into,
        from,
        lateral_views,
        prewhere,
        selection: _,
        connect_by,
        group_by,
        cluster_by,
        distribute_by,
        sort_by,
        having: _,
        named_window,
        qualify: _,
        // Either place is read.
        window_before_qualify: _,
        value_table_mode,
        flavor: _,
    } = select;
    refuse(&[
        (optimizer_hints, "a hint"),
        (select_modifiers, "a modifier of SELECT"),
        (top, "TOP"),
        (exclude, "EXCLUDE after the select list"),
        (into, "SELECT INTO"),
        (lateral_views, "LATERAL VIEW"),
        (prewhere, "PREWHERE"),
        (connect_by, "CONNECT BY"),
        (cluster_by, "CLUSTER BY"),
        (distribute_by, "DISTRIBUTE BY"),
        (sort_by, "SORT BY"),
        (value_table_mode, "SELECT AS STRUCT or VALUE"),
    ])?;
    match distinct {
        None | Some(Distinct::All | Distinct::Distinct | Distinct::On(_)) => {}
    }
    items(projection)?;
    relations::from(from)?;
    match group_by {
        GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers) => {
            refuse(&[(modifiers, "WITH ROLLUP, CUBE or TOTALS after GROUP BY")])?;
        }
    }
    for NamedWindowDefinition(_, window) in named_window {
        match window {
            NamedWindowExpr::NamedWindow(_) => {}
            NamedWindowExpr::WindowSpec(window) => expressions::window(window)?,
        }
    }
    Ok(())
}

/// A select list, of RETURNING too.
pub(super) fn items(items: &[SelectItem]) -> Result<()> {
    items.iter().try_for_each(|item| match item {
        SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { expr: _, alias: _ } => Ok(()),
        SelectItem::ExprWithAliases {
            expr: _,
            aliases: _,
        } => Err(not_there("more than one alias of an expression")),
        SelectItem::QualifiedWildcard(of, options) => match of {
            SelectItemQualifiedWildcardKind::ObjectName(_) => wildcard(options),
            SelectItemQualifiedWildcardKind::Expr(_) => Err(not_there(".* of an expression")),
        },
        SelectItem::Wildcard(options) => wildcard(options),
    })
}

pub(super) fn wildcard(options: &WildcardAdditionalOptions) -> Result<()> {
    let WildcardAdditionalOptions {
        wildcard_token: _,
        opt_ilike,
        opt_exclude: _,
        opt_except,
        opt_replace,
        // Written out column by column.
        opt_rename: _,
        opt_alias,
    } = options;
    refuse(&[
        (opt_ilike, "* ILIKE"),
        (opt_except, "* EXCEPT; write EXCLUDE"),
        (opt_alias, "an alias of *"),
    ])?;
    let replaced = opt_replace
        .iter()
        .flat_map(|ReplaceSelectItem { items }| items);
    for item in replaced {
        let ReplaceSelectElement {
            expr: _,
            column_name: _,
            as_keyword: _,
        } = item.as_ref();
    }
    Ok(())
}
