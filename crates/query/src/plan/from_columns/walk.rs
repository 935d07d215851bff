//! `Walker`: goes over a statement from the inside out, knowing which names of WITH each select list sees.
//!
//! What must hold: each select list is visited once, a query of WITH before whatever may name it; what is planned to find the columns
//! of a FROM holds nothing that is still to be written out, so that no plan begins a walk of the same kind again.

use crate::plan::planner::{PlanError, Planner};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion::sql::sqlparser::ast::{
    self, Cte, Expr, Ident, Query, Select, SelectItem, SetExpr, VisitMut, VisitorMut,
    WildcardAdditionalOptions, With,
};
use hushdb_sql::{Error, Result, folded};
use std::ops::ControlFlow;

type Flow = ControlFlow<Box<Error>>;

/// What a walk does to select lists.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Work {
    /// Writes out `COLUMNS`, `* RENAME` and places.
    Columns,
    /// Puts in what names of the select list mean.
    Names,
}

/// Goes over a statement; whether something was put in.
pub(super) fn walk(
    planner: &Planner<'_>,
    statement: &mut ast::Statement,
    work: Work,
) -> Result<bool> {
    let mut walker = Walker::new(planner, work);
    match VisitMut::visit(statement, &mut walker) {
        ControlFlow::Continue(()) => Ok(walker.changed),
        ControlFlow::Break(error) => Err(*error),
    }
}

pub(super) struct Walker<'a> {
    pub(super) planner: &'a Planner<'a>,
    work: Work,
    /// The queries of WITH that can be named here, done already.
    seen: Vec<Cte>,
    /// Of how many of them names are put in.
    named: usize,
    recursive: bool,
    /// Of each query around: how many were seen outside of it, and its own WITH, which is visited by itself.
    around: Vec<(usize, Option<With>)>,
    pub(super) changed: bool,
}

fn flow(result: Result<()>) -> Flow {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl VisitorMut for Walker<'_> {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> Flow {
        let outside = self.seen.len();
        let mut with = query.with.take();
        if let Some(with) = &mut with {
            self.recursive |= with.recursive;
            for table in &mut with.cte_tables {
                self.visit_table(table, with.recursive)?;
                self.seen.push(table.clone());
            }
        }
        self.around.push((outside, with));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> Flow {
        if let Some((outside, with)) = self.around.pop() {
            self.leave(outside);
            query.with = with;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> Flow {
        flow(match self.work {
            Work::Columns => self.write_out(select),
            Work::Names => self.put_in(select),
        })
    }
}

/// A column of a FROM.
pub(super) struct Column {
    pub(super) table: Option<String>,
    pub(super) name: String,
    /// Whether no other has its name.
    pub(super) alone: bool,
}

impl Column {
    pub(super) fn expr(&self) -> Expr {
        let name = Ident::with_quote('"', &self.name);
        match &self.table {
            Some(table) if !self.alone => {
                Expr::CompoundIdentifier(vec![Ident::with_quote('"', table), name])
            }
            _ => Expr::Identifier(name),
        }
    }
}

impl<'a> Walker<'a> {
    fn new(planner: &'a Planner<'a>, work: Work) -> Self {
        Self {
            planner,
            work,
            seen: vec![],
            named: 0,
            recursive: false,
            around: vec![],
            changed: false,
        }
    }

    /// Forgets the queries of WITH that were seen within something.
    fn leave(&mut self, outside: usize) {
        self.seen.truncate(outside);
        self.named = self.named.min(outside);
    }

    /// A query of WITH. One that names itself has the columns of its first part.
    fn visit_table(&mut self, table: &mut Cte, recursive: bool) -> Flow {
        let plain = table.query.with.is_none() && table.query.order_by.is_none();
        let first = match table.query.body.as_mut() {
            SetExpr::SetOperation { left, .. } if recursive && plain => {
                VisitMut::visit(left, self)?;
                left.clone()
            }
            _ => return VisitMut::visit(table, self),
        };
        let mut itself = table.clone();
        itself.query.body = first;
        self.seen.push(itself);
        let done = match table.query.body.as_mut() {
            SetExpr::SetOperation { right, .. } => VisitMut::visit(right, self),
            _ => ControlFlow::Continue(()),
        };
        self.leave(self.seen.len().saturating_sub(1));
        done
    }

    /// The columns of a FROM as `*` shows them.
    pub(super) fn columns(&mut self, select: &Select, star: SelectItem) -> Result<Vec<Column>> {
        let of_one_table = matches!(star, SelectItem::QualifiedWildcard(..));
        let mut query = hushdb_sql::query_of(select.from.clone(), star)?;
        let plan = match (self.plan(&query), self.work) {
            (Err(PlanError::UnknownColumn(_)), Work::Columns) => {
                self.name_what_was_seen(&mut query)?;
                self.plan(&query)?
            }
            (planned, _) => planned?,
        };
        let all: Vec<(Option<String>, String)> = (plan.schema().iter())
            .map(|(table, field)| {
                let table = table.map(|table| table.table().to_owned());
                (table, field.name().clone())
            })
            .collect();
        let of = |name: &str| {
            all.iter()
                .filter(|(_, own)| folded(own) == folded(name))
                .count()
        };
        let columns = all.iter().map(|(table, name)| Column {
            table: table.clone(),
            name: name.clone(),
            alone: of(name) == 1 && !of_one_table,
        });
        Ok(columns.collect())
    }

    /// The plan of a query beside those that were seen, as they are written.
    fn plan(&self, query: &Query) -> std::result::Result<LogicalPlan, PlanError> {
        let mut query = query.clone();
        if !self.seen.is_empty() {
            query.with = Some(With {
                with_token: AttachedToken::empty(),
                recursive: self.recursive,
                cte_tables: self.seen.clone(),
            });
        }
        let query = ast::Statement::Query(Box::new(query));
        Ok(self.planner.plan_written(query)?.0)
    }

    /// Puts in what names mean in a query, and in those that it may name.
    fn name_what_was_seen(&mut self, query: &mut Query) -> Result<()> {
        let mut names = Walker::new(self.planner, Work::Names);
        let unnamed = self.seen.split_off(self.named);
        names.seen = std::mem::take(&mut self.seen);
        names.recursive = self.recursive;
        let mut done = unnamed.into_iter().try_for_each(|mut table| {
            let done = names.visit_table(&mut table, self.recursive);
            names.seen.push(table);
            done
        });
        if done.is_continue() {
            done = VisitMut::visit(query, &mut names);
        }
        // After an error the statement is given up.
        self.seen = std::mem::take(&mut names.seen);
        self.named = self.seen.len();
        match done {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(error) => Err(*error),
        }
    }

    /// All columns of a FROM; none where there is no FROM.
    pub(super) fn all_columns(&mut self, select: &Select) -> Result<Vec<Column>> {
        match select.from.is_empty() {
            true => Ok(vec![]),
            false => self.columns(select, star()),
        }
    }
}

fn star() -> SelectItem {
    SelectItem::Wildcard(WildcardAdditionalOptions::default())
}
