//! MERGE INTO: one SELECT over the join of target and source gives for each row what becomes of it, with its new values.
//!
//! What must hold: a row of the target is changed or removed once; a second row of the source that would do so is an error.

use super::dml::{
    assignments, column_of, insert_targets, new_values, position, rows_plan, table_of,
};
use super::load::{self, RowRules};
use super::returning::{returning, returning_plan, row_by_row, select};
use super::row_ids::RowIds;
use crate::exec::columns::default_text::{self, is_default};
use crate::exec::columns::{generated, identity};
use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray, UInt64Array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, UInt64Type};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{
    self, CaseWhen, Expr, Ident, Join, JoinOperator, SelectItem, SelectItemQualifiedWildcardKind,
    TableAlias, TableFactor, Value, WildcardAdditionalOptions,
};
use hushdb_query::memory::KeepRows;
use hushdb_query::plan::{DML_TARGET, DmlTarget, TableName};
use hushdb_query::scan::ROW_ID;
use hushdb_sql::type_names::stored_as;
use hushdb_sql::walk::{visit_expressions, visit_expressions_mut};
use hushdb_sql::{
    Error, ErrorKind, Merge, MergeAction, MergeClause, MergedRows, Result, folded, name_parts,
    position_of, sqlstate,
};
use hushdb_storage::TableVersion;
use std::ops::ControlFlow;
use std::sync::Arc;

/// That a row has values of the source.
const OF_SOURCE: &str = "$of_source";
/// The column of RETURNING that says what became of a row.
const ACTION: &str = "merge_action";
/// Columns of the SELECT before the values: row id, action and the text of an error.
const BEFORE_VALUES: usize = 3;

/// What became of a row, as numbers in the SELECT.
const UPDATED: i64 = 1;
const INSERTED: i64 = 2;
const DELETED: i64 = 3;
const FAILED: i64 = 4;

pub(in crate::exec) fn merge(statement: &Statement<'_>, merge: Merge) -> Result<QueryResult> {
    let TableFactor::Table { name, alias, .. } = &merge.target else {
        return Err(Error::parser("MERGE INTO changes a table"));
    };
    let (name, mut write) = statement.resolve_for_write(name)?;
    let table = table_of(statement.snapshot(), &name)?;
    let alias = alias_of(alias.as_ref(), &name);
    let planner = statement.planner();
    let plan = found(statement, &merge, &name, &table, &alias)?;
    let sources: Vec<Option<usize>> = (0..table.columns.len())
        .map(|at| Some(at + BEFORE_VALUES))
        .collect();
    let columns = &table.columns;
    let plan = load::project_after(&planner, plan, BEFORE_VALUES, &name, columns, &sources)?;
    let rules = RowRules::new(&planner, &name.name, columns, &table.checks)?;
    let context = statement.session.engine().context();
    let mut changes = Changes::new(&rules, columns, &context)?;
    for batch in query::stream(statement, &plan)? {
        changes.take(&batch?, merge.returning.is_some())?;
    }
    let Changes {
        gone,
        new,
        all,
        rows,
        ..
    } = changes;
    let returned = match &merge.returning {
        None => None,
        Some(items) => {
            let items = without_action(items);
            Some(returning(statement, &alias, &items, &all.finish()?)?)
        }
    };
    gone.delete(&mut write, &name)?;
    load::load(
        statement,
        &mut write,
        &name,
        &rows_plan(&new.finish()?)?,
        rules,
    )?;
    write.commit()?;
    Ok(returned.unwrap_or_else(|| QueryResult::count(rows)))
}

/// The plan of the rows that MERGE finds.
pub(in crate::exec) fn rows_read(statement: &Statement<'_>, merge: &Merge) -> Result<LogicalPlan> {
    let TableFactor::Table { name, alias, .. } = &merge.target else {
        return Err(Error::parser("MERGE INTO changes a table"));
    };
    let name = statement.snapshot().resolve(&name_parts(name)?)?;
    let table = table_of(statement.snapshot(), &name)?;
    let alias = alias_of(alias.as_ref(), &name);
    found(statement, merge, &name, &table, &alias)
}

/// The same of a table that is known.
fn found(
    statement: &Statement<'_>,
    merge: &Merge,
    place: &TableName,
    table: &Arc<TableVersion>,
    alias: &Ident,
) -> Result<LogicalPlan> {
    let merging = Merging {
        statement,
        place,
        table,
        alias,
        source: source_of(merge.source.clone())?,
    };
    let query = merging.query(&merge.clauses, merge.constraint.clone())?;
    let target = DmlTarget {
        database: place.database.clone(),
        table: Arc::clone(table),
    };
    let plan = statement.planner().with_target(target).plan_query(query)?;
    row_by_row(&plan)?;
    Ok(plan)
}

fn alias_of(alias: Option<&TableAlias>, name: &TableName) -> Ident {
    match alias {
        Some(alias) => alias.name.clone(),
        None => Ident::with_quote('"', name.name.clone()),
    }
}

/// The columns that RETURNING gives, if there is one.
pub(in crate::exec) fn described(
    statement: &Statement<'_>,
    merge: &Merge,
) -> Result<Option<SchemaRef>> {
    let (TableFactor::Table { name, alias, .. }, Some(items)) = (&merge.target, &merge.returning)
    else {
        return Ok(None);
    };
    let name = statement.snapshot().resolve(&name_parts(name)?)?;
    let table = table_of(statement.snapshot(), &name)?;
    let alias = alias_of(alias.as_ref(), &name);
    let context = statement.session.engine().context();
    let none = KeepRows::new(returned_columns(&table.columns), &context).finish()?;
    let plan = returning_plan(statement, &alias, &without_action(items), &none)?;
    Ok(Some(Arc::clone(plan.schema().inner())))
}

/// Those of a table, and what became of the row.
fn returned_columns(columns: &[hushdb_storage::Column]) -> SchemaRef {
    let schema = load::schema_of(columns);
    let fields = schema.fields().iter().cloned();
    let action = Arc::new(Field::new(ACTION, DataType::Utf8, true));
    Arc::new(Schema::new(fields.chain([action]).collect::<Vec<_>>()))
}

/// The source and what its columns are written behind.
struct Source {
    factor: TableFactor,
    alias: Ident,
}

/// The source under a name.
fn source_of(mut factor: TableFactor) -> Result<Source> {
    let named = |name: Ident| TableAlias {
        explicit: true,
        name,
        columns: vec![],
        at: None,
    };
    let alias = match &mut factor {
        TableFactor::Table { name, alias, .. } => match alias {
            Some(alias) => alias.name.clone(),
            None => Ident::with_quote('"', name_parts(name)?.pop().unwrap_or_default()),
        },
        TableFactor::Derived { alias, .. } => {
            let unnamed = || named(Ident::with_quote('"', "$source"));
            alias.get_or_insert_with(unnamed).name.clone()
        }
        _ => {
            return Err(Error::parser(
                "MERGE INTO takes a table or a query behind USING",
            ));
        }
    };
    Ok(Source { factor, alias })
}

/// A MERGE whose names are known.
struct Merging<'a> {
    statement: &'a Statement<'a>,
    place: &'a TableName,
    table: &'a Arc<TableVersion>,
    alias: &'a Ident,
    source: Source,
}

/// The conditions of a clause and what it gives.
struct Branch {
    holds: Expr,
    /// Nothing for DO NOTHING.
    action: Option<i64>,
    text: Option<Expr>,
    values: Vec<Expr>,
}

impl Merging<'_> {
    /// `SELECT row id, action, text, values... FROM target JOIN source`.
    fn query(
        &self,
        clauses: &[MergeClause],
        constraint: ast::JoinConstraint,
    ) -> Result<ast::Query> {
        let with_source = select("t", |select| {
            select.projection = vec![
                SelectItem::Wildcard(WildcardAdditionalOptions::default()),
                named(Expr::value(Value::Boolean(true)), OF_SOURCE),
            ];
            for table in &mut select.from {
                table.relation = self.source.factor.clone();
            }
        })?;
        let columns = self.source_columns()?;
        let branches = clauses.iter().map(|clause| self.branch(clause, &columns));
        let branches = branches.collect::<Result<Vec<_>>>()?;
        let number = |n: i64| Expr::value(Value::Number(n.to_string(), false));
        let null = || Expr::value(Value::Null);
        let action = cases(&branches, |branch| branch.action.map_or_else(null, number));
        let mut items = vec![
            SelectItem::UnnamedExpr(column_of(self.alias, ROW_ID)),
            named(action.clone(), "$action"),
            named(
                cases(&branches, |b| b.text.clone().unwrap_or_else(null)),
                "$text",
            ),
        ];
        for at in 0..self.table.columns.len() {
            let value = cases(&branches, |b| {
                b.values.get(at).cloned().unwrap_or_else(null)
            });
            items.push(named(value, &format!("$new{at}")));
        }
        let join = Join {
            relation: TableFactor::Derived {
                lateral: false,
                subquery: Box::new(with_source),
                alias: Some(TableAlias {
                    explicit: true,
                    name: self.source.alias.clone(),
                    columns: vec![],
                    at: None,
                }),
                sample: None,
            },
            global: false,
            join_operator: join_of(clauses, constraint),
        };
        let from = format!("\"{DML_TARGET}\" AS {}", self.alias);
        select(&from, |select| {
            select.projection = items;
            select.selection = Some(Expr::IsNotNull(Box::new(action)));
            for table in &mut select.from {
                table.joins = vec![join.clone()];
            }
        })
    }

    /// The names of the source's columns.
    fn source_columns(&self) -> Result<Vec<String>> {
        let all = select("t", |select| {
            select.projection = vec![SelectItem::Wildcard(WildcardAdditionalOptions::default())];
            for table in &mut select.from {
                table.relation = self.source.factor.clone();
            }
        })?;
        let plan = self.statement.planner().plan_query(all)?;
        let fields = plan.schema().fields().iter();
        Ok(fields.map(|field| field.name().clone()).collect())
    }

    fn branch(&self, clause: &MergeClause, columns: &[String]) -> Result<Branch> {
        let own = self.table.columns.iter().map(|column| column.name.clone());
        let own: Vec<String> = own.collect();
        let seen = |expr: &Expr| match clause.rows {
            MergedRows::Matched => Ok(expr.clone()),
            MergedRows::OfSource => seen_alone(expr, &self.source.alias, columns, self.alias),
            MergedRows::OfTarget => seen_alone(expr, self.alias, &own, &self.source.alias),
        };
        let is_there = |expr: Expr| Expr::IsNotNull(Box::new(expr));
        let is_missing = |expr: Expr| Expr::IsNull(Box::new(expr));
        let row = || column_of(self.alias, ROW_ID);
        let mark = || column_of(&self.source.alias, OF_SOURCE);
        let mut holds = match clause.rows {
            MergedRows::Matched => and(is_there(row()), is_there(mark())),
            MergedRows::OfSource => is_missing(row()),
            MergedRows::OfTarget => is_missing(mark()),
        };
        if let Some(condition) = &clause.condition {
            holds = and(holds, Expr::Nested(Box::new(seen(condition)?)));
        }
        let mut branch = Branch {
            holds,
            action: None,
            text: None,
            values: vec![],
        };
        let old = || {
            self.table
                .columns
                .iter()
                .map(|c| column_of(self.alias, &c.name))
        };
        match &clause.action {
            MergeAction::Nothing => {}
            MergeAction::Delete => {
                branch.action = Some(DELETED);
                branch.values = old().collect();
            }
            MergeAction::Error(text) => {
                branch.action = Some(FAILED);
                let text = text.as_deref().map(seen).transpose()?;
                branch.text = Some(self.failure(clause.rows, text)?);
            }
            MergeAction::Update(given) => {
                let mut assigned = assignments(self.table, given)?;
                for (_, value) in &mut assigned {
                    *value = seen(value)?;
                }
                branch.action = Some(UPDATED);
                branch.values = self.updated(assigned)?;
            }
            MergeAction::UpdateAll { by_name } => {
                let pairs = self.all_of_source(columns, *by_name)?;
                branch.action = Some(UPDATED);
                branch.values = self.updated(pairs)?;
            }
            MergeAction::Insert { columns, values } => {
                let values = values.as_ref().map(|values| values.iter().map(seen));
                let values = values.map(|values| values.collect::<Result<Vec<_>>>());
                branch.action = Some(INSERTED);
                branch.values = self.inserted(columns, values.transpose()?)?;
            }
            MergeAction::InsertAll { by_name } => {
                let pairs = self.all_of_source(columns, *by_name)?;
                branch.action = Some(INSERTED);
                branch.values = self.filled(pairs)?;
            }
        }
        Ok(branch)
    }

    /// What an ERROR says.
    fn failure(&self, rows: MergedRows, text: Option<Expr>) -> Result<Expr> {
        let when = match rows {
            MergedRows::Matched => "WHEN MATCHED",
            MergedRows::OfSource => "WHEN NOT MATCHED BY TARGET",
            MergedRows::OfTarget => "WHEN NOT MATCHED BY SOURCE",
        };
        let quoted = |text: String| Expr::value(Value::SingleQuotedString(text));
        let begin = format!("Merge error condition {when}");
        Ok(match text {
            None => quoted(begin),
            Some(text) => Expr::BinaryOp {
                left: Box::new(quoted(begin + ": ")),
                op: ast::BinaryOperator::StringConcat,
                right: Box::new(Expr::Nested(Box::new(text))),
            },
        })
    }

    /// Each column of the source for one of the table.
    fn all_of_source(&self, columns: &[String], by_name: bool) -> Result<Vec<(usize, Expr)>> {
        let value = |name: &String| column_of(&self.source.alias, name);
        if by_name {
            let pair = |name: &String| Ok((position(self.table, name)?, value(name)));
            return columns.iter().map(pair).collect();
        }
        let targets = generated::given(self.table);
        if targets.len() != columns.len() {
            return Err(Error::binder(format!(
                "table {} has {} columns but {} values were supplied",
                self.place.name,
                targets.len(),
                columns.len()
            )));
        }
        Ok(targets.into_iter().zip(columns.iter().map(value)).collect())
    }

    fn updated(&self, assigned: Vec<(usize, Expr)>) -> Result<Vec<Expr>> {
        let snapshot = self.statement.snapshot();
        identity::refuse_update(snapshot, self.place, self.table, &assigned)?;
        let values = new_values(snapshot, self.place, self.table, self.alias, assigned)?;
        let values = values.into_iter().zip(&self.table.columns);
        let values = values.map(|(item, column)| match item {
            SelectItem::ExprWithAlias { expr, .. } => stored_as(expr, &column.ty),
            _ => Err(Error::internal("a new value without a name")),
        });
        values.collect()
    }

    /// The values of a new row for the columns that are named; the others have their defaults.
    fn inserted(
        &self,
        columns: &[ast::ObjectName],
        values: Option<Vec<Expr>>,
    ) -> Result<Vec<Expr>> {
        let targets = insert_targets(self.table, columns)?;
        let Some(values) = values else {
            return self.filled(vec![]);
        };
        if values.len() != targets.len() {
            return Err(Error::binder(format!(
                "table {} has {} columns but {} values were supplied",
                self.place.name,
                targets.len(),
                values.len()
            )));
        }
        self.filled(targets.into_iter().zip(values).collect())
    }

    fn filled(&self, given: Vec<(usize, Expr)>) -> Result<Vec<Expr>> {
        let snapshot = self.statement.snapshot();
        let real = given.iter().filter(|(_, value)| !is_default(value));
        let targets: Vec<usize> = real.map(|(at, _)| *at).collect();
        identity::refuse_values(snapshot, self.place, self.table, &targets, None)?;
        let columns = self.table.columns.iter().enumerate();
        let values = columns.map(|(at, column)| {
            let value = given.iter().find(|(target, _)| *target == at);
            let value = match value.map(|(_, value)| value) {
                Some(value) if !is_default(value) => value.clone(),
                _ => default_text::expression(snapshot, self.place, column.default.as_deref())?,
            };
            stored_as(value, &column.ty)
        });
        values.collect()
    }
}

fn named(expr: Expr, name: &str) -> SelectItem {
    let alias = Ident::with_quote('"', name);
    SelectItem::ExprWithAlias { expr, alias }
}

fn and(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: ast::BinaryOperator::And,
        right: Box::new(right),
    }
}

/// `CASE WHEN the first holds THEN ... END`.
fn cases(branches: &[Branch], value: impl Fn(&Branch) -> Expr) -> Expr {
    let conditions = branches.iter().map(|branch| CaseWhen {
        condition: branch.holds.clone(),
        result: value(branch),
    });
    Expr::Case {
        case_token: ast::helpers::attached_token::AttachedToken::empty(),
        end_token: ast::helpers::attached_token::AttachedToken::empty(),
        operand: None,
        conditions: conditions.collect(),
        else_result: None,
    }
}

/// The join that has the rows that clauses are about.
fn join_of(clauses: &[MergeClause], constraint: ast::JoinConstraint) -> JoinOperator {
    let any = |rows| clauses.iter().any(|clause| clause.rows == rows);
    match (any(MergedRows::OfTarget), any(MergedRows::OfSource)) {
        (true, true) => JoinOperator::FullOuter(constraint),
        (true, false) => JoinOperator::Left(constraint),
        (false, true) => JoinOperator::Right(constraint),
        (false, false) => JoinOperator::Inner(constraint),
    }
}

/// An expression where one side alone is seen: names that stand alone are its columns.
fn seen_alone(expr: &Expr, side: &Ident, columns: &[String], other: &Ident) -> Result<Expr> {
    let hidden = visit_expressions(expr, |expr| match expr {
        Expr::CompoundIdentifier(parts)
            if parts.len() == 2
                && parts
                    .first()
                    .is_some_and(|first| folded(&first.value) == folded(&other.value)) =>
        {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    if hidden.is_break() {
        return Err(Error::binder(format!(
            "Referenced table \"{}\" not found!\nCandidate tables: \"{}\"",
            other.value, side.value
        )));
    }
    let has_query = visit_expressions(expr, |expr| match expr {
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let mut expr = expr.clone();
    if has_query.is_continue() {
        let _ = visit_expressions_mut(&mut expr, |expr| {
            if let Expr::Identifier(name) = expr
                && let Some(at) = position_of(columns.iter().map(String::as_str), &name.value)
                && let Some(column) = columns.get(at)
            {
                *expr = column_of(side, column);
            }
            ControlFlow::<()>::Continue(())
        });
    }
    Ok(expr)
}

/// `*` without the column that says what became of a row.
fn without_action(items: &[SelectItem]) -> Vec<SelectItem> {
    let exclude = |options: &WildcardAdditionalOptions| {
        let mut options = options.clone();
        let action = ast::ObjectName::from(vec![Ident::new(ACTION)]);
        options.opt_exclude = Some(match options.opt_exclude {
            None => ast::ExcludeSelectItem::Multiple(vec![action]),
            Some(ast::ExcludeSelectItem::Single(one)) => {
                ast::ExcludeSelectItem::Multiple(vec![one, action])
            }
            Some(ast::ExcludeSelectItem::Multiple(mut all)) => {
                all.push(action);
                ast::ExcludeSelectItem::Multiple(all)
            }
        });
        options
    };
    let items = items.iter().map(|item| match item {
        SelectItem::Wildcard(options) => SelectItem::Wildcard(exclude(options)),
        SelectItem::QualifiedWildcard(
            kind @ SelectItemQualifiedWildcardKind::ObjectName(_),
            options,
        ) => SelectItem::QualifiedWildcard(kind.clone(), exclude(options)),
        item => item.clone(),
    });
    items.collect()
}

/// What a MERGE changes, as its rows come.
struct Changes<'a> {
    rules: &'a RowRules,
    gone: RowIds,
    /// Rows that the table gets.
    new: KeepRows,
    /// All rows for RETURNING, with what became of them.
    all: KeepRows,
    returned: SchemaRef,
    rows: u64,
}

impl<'a> Changes<'a> {
    fn new(
        rules: &'a RowRules,
        columns: &[hushdb_storage::Column],
        context: &Arc<datafusion::execution::TaskContext>,
    ) -> Result<Self> {
        let schema = load::schema_of(columns);
        let returned = returned_columns(columns);
        Ok(Self {
            rules,
            gone: RowIds::default(),
            new: KeepRows::new(schema, context),
            all: KeepRows::new(Arc::clone(&returned), context),
            returned,
            rows: 0,
        })
    }

    fn take(&mut self, batch: &RecordBatch, returns: bool) -> Result<()> {
        let wrong = || Error::internal("a MERGE gave other columns");
        let (ids, actions, texts) = match batch.columns() {
            [ids, actions, texts, ..] => (ids, actions, texts),
            _ => return Err(wrong()),
        };
        let actions = datafusion::arrow::compute::cast(actions, &DataType::Int64)?;
        let actions = actions.as_primitive::<Int64Type>();
        if let Some(at) = actions.values().iter().position(|action| *action == FAILED) {
            let texts = datafusion::arrow::compute::cast(texts, &DataType::Utf8)?;
            let text = texts.as_string::<i32>();
            let text = if text.is_valid(at) {
                text.value(at)
            } else {
                ""
            };
            return Err(Error::new(ErrorKind::Constraint, text));
        }
        let ids = ids.as_primitive_opt::<UInt64Type>().ok_or_else(wrong)?;
        self.meet(ids)?;
        let values: Vec<usize> = (BEFORE_VALUES..batch.num_columns()).collect();
        let values = self.rules.typed(&batch.project(&values)?)?;
        let is_new: BooleanArray = actions.iter().map(|a| Some(a != Some(DELETED))).collect();
        self.new.push(filter_record_batch(&values, &is_new)?)?;
        if returns {
            let became = actions.iter().map(|action| match action {
                Some(UPDATED) => "UPDATE",
                Some(INSERTED) => "INSERT",
                _ => "DELETE",
            });
            let became: ArrayRef = Arc::new(StringArray::from_iter_values(became));
            let columns = values.columns().iter().cloned().chain([became]);
            let returned = Arc::clone(&self.returned);
            self.all
                .push(RecordBatch::try_new(returned, columns.collect())?)?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Takes the rows of the target that go, each for the first time.
    fn meet(&mut self, ids: &UInt64Array) -> Result<()> {
        for id in ids.iter().flatten() {
            if !self.gone.insert(id) {
                let what = "MERGE INTO can not change the same row twice: several rows of the source match it; \
                            let one of them match";
                return Err(Error::invalid(what).with_sqlstate(sqlstate::CARDINALITY_VIOLATION));
            }
        }
        Ok(())
    }
}
