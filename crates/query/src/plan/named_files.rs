//! `filename`: the name of the file that a row is from, as a column of each table out of files that no star shows.
//!
//! What must hold: a column of that name goes before; a table has the names of its files only within the SELECT that asks for them.

use super::numbered_rows::is_name;
use super::planner::Planner;
use super::snapshot::Relation;
use datafusion::sql::sqlparser::ast::{
    self, Expr, FunctionArg, FunctionArgExpr, Ident, ObjectName, ObjectNamePart, OrderByKind,
    Query, RenameSelectItem, Select, SelectItem, SetExpr, TableAlias, TableFactor, TableWithJoins,
    VisitorMut, WildcardAdditionalOptions,
};
use hushdb_sql::walk::{visit_expressions, visit_mut};
use hushdb_sql::{name_parts, parse_expr, query_of};
use hushdb_storage::same_name;
use std::ops::ControlFlow;

const NAME: &str = "filename";
/// What the column is called while a statement is planned.
pub(super) const FILE_NAME: &str = "$filename";
/// What the name of a file begins with that is to have it.
const NAMED: &str = "$named ";
const FUNCTIONS: [&str; 8] = [
    "read_csv",
    "read_csv_auto",
    "read_parquet",
    "parquet_scan",
    "read_json",
    "read_json_auto",
    "read_ndjson",
    "read_ndjson_auto",
];

/// The file that a name in FROM stands for, and the option that gives it the column, if it is to have one.
pub fn named_file(name: &str) -> (&str, Option<(&'static str, &'static str)>) {
    match name.strip_prefix(NAMED) {
        Some(path) => (path, Some((NAME, FILE_NAME))),
        None => (name, None),
    }
}

/// Puts the names of files in where a statement asks for them.
pub(super) fn put_in(planner: &Planner<'_>, statement: &mut ast::Statement) {
    let is_named = visit_expressions(statement, |expr| match is_it(expr) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    if is_named.is_break() {
        let _ = visit_mut(statement, &mut Walk { planner });
    }
}

fn is_it(expr: &Expr) -> bool {
    is_name(expr, NAME)
}

struct Walk<'a> {
    planner: &'a Planner<'a>,
}

impl VisitorMut for Walk<'_> {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let mut order = vec![];
        if let Some(by) = &mut query.order_by
            && let OrderByKind::Expressions(items) = &mut by.kind
        {
            order = items.iter_mut().map(|item| &mut item.expr).collect();
        }
        match query.body.as_mut() {
            SetExpr::Select(select) => self.select(select, order),
            body => self.selects(body),
        }
        ControlFlow::Continue(())
    }
}

impl Walk<'_> {
    fn selects(&self, body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => self.select(select, vec![]),
            SetExpr::SetOperation { left, right, .. } => {
                self.selects(left);
                self.selects(right);
            }
            _ => {}
        }
    }

    fn select(&self, select: &mut Select, order: Vec<&mut Expr>) {
        let mut files = vec![];
        let mut is_alone = true;
        for factor in factors(&mut select.from) {
            let file = self.file(factor);
            is_alone &= file.is_some() || self.is_without_names(factor);
            files.push(file);
        }
        let mut all = files.iter().enumerate().filter(|(_, file)| file.is_some());
        let one = match (all.next(), all.next()) {
            (None, _) => return,
            (Some((at, _)), None) if is_alone => Some(at),
            _ => None,
        };
        let mut put_in = PutIn {
            one,
            files: &files,
            depth: 0,
            used: vec![],
        };
        // A name that the select list gives goes before in ORDER BY.
        let is_given = select.projection.iter().any(|item| {
            matches!(item, SelectItem::ExprWithAlias { alias, .. } if same_name(&alias.value, NAME))
        });
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) = item
                && put_in.file_of(expr).is_some()
            {
                let alias = Ident::new(NAME);
                let expr = expr.clone();
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
        }
        let _ = visit_mut(select, &mut put_in);
        for expr in order {
            if !(is_given && matches!(expr, Expr::Identifier(_))) {
                let _ = visit_mut(expr, &mut put_in);
            }
        }
        let used = put_in.used;
        if used.is_empty() {
            return;
        }
        for (at, factor) in factors(&mut select.from).enumerate() {
            if used.contains(&at) {
                ask_for_names(factor);
            }
        }
        for item in &mut select.projection {
            if let SelectItem::Wildcard(with) | SelectItem::QualifiedWildcard(_, with) = item
                && with.opt_rename.is_none()
            {
                // Which has the star written out.
                with.opt_rename = Some(RenameSelectItem::Multiple(vec![]));
            }
        }
    }

    /// What a table out of files is called, if it could have their names and has not.
    fn file(&self, factor: &TableFactor) -> Option<String> {
        let TableFactor::Table {
            name, alias, args, ..
        } = factor
        else {
            return None;
        };
        let [own]: [String; 1] = name_parts(name).ok()?.try_into().ok()?;
        let is_file = match args {
            Some(args) => {
                let has_names = |arg: &FunctionArg| {
                    arg.to_string()
                        .to_lowercase()
                        .contains("named_struct('filename'")
                };
                FUNCTIONS.iter().any(|function| same_name(function, &own))
                    && !args.args.iter().any(has_names)
            }
            None => {
                own.contains('.')
                    && self
                        .planner
                        .snapshot
                        .relation(std::slice::from_ref(&own))
                        .is_err()
            }
        };
        let is_without = is_file
            && self
                .columns(factor)?
                .iter()
                .all(|column| !same_name(column, NAME));
        let alias = alias.as_ref().map(|alias| alias.name.value.clone());
        is_without.then(|| alias.unwrap_or(own))
    }

    /// The columns of a table, if it is one.
    fn columns(&self, factor: &TableFactor) -> Option<Vec<String>> {
        let from = TableWithJoins {
            relation: factor.clone(),
            joins: vec![],
        };
        let star = SelectItem::Wildcard(WildcardAdditionalOptions::default());
        let query = query_of(vec![from], star).ok()?;
        let (plan, _) = self
            .planner
            .plan_written(ast::Statement::Query(query))
            .ok()?;
        let fields = plan.schema().fields().iter();
        Some(fields.map(|field| field.name().clone()).collect())
    }

    /// Whether it is known that a table has no column that is called so.
    fn is_without_names(&self, factor: &TableFactor) -> bool {
        let TableFactor::Table {
            name, args: None, ..
        } = factor
        else {
            return false;
        };
        let relation = name_parts(name).ok();
        let relation = relation.and_then(|parts| self.planner.snapshot.relation(&parts).ok());
        match relation {
            Some((_, Relation::Table(table))) => table
                .columns
                .iter()
                .all(|column| !same_name(&column.name, NAME)),
            _ => false,
        }
    }
}

/// The tables of a FROM.
fn factors(from: &mut [TableWithJoins]) -> impl Iterator<Item = &mut TableFactor> {
    from.iter_mut().flat_map(|from| {
        let joined = from.joins.iter_mut().map(|join| &mut join.relation);
        std::iter::once(&mut from.relation).chain(joined)
    })
}

/// Has a table out of files give their names.
fn ask_for_names(factor: &mut TableFactor) {
    let TableFactor::Table {
        name, alias, args, ..
    } = factor
    else {
        return;
    };
    match args {
        Some(args) => {
            let option = parse_expr(&format!("named_struct('{NAME}', '{FILE_NAME}')"));
            let option = option.map(|option| FunctionArg::Unnamed(FunctionArgExpr::Expr(option)));
            args.args.extend(option);
        }
        None => {
            let Some(path) = name_parts(name).ok().and_then(|mut parts| parts.pop()) else {
                return;
            };
            if alias.is_none() {
                *alias = Some(TableAlias {
                    explicit: true,
                    name: Ident::with_quote('"', &path),
                    columns: vec![],
                    at: None,
                });
            }
            let named = Ident::with_quote('"', format!("{NAMED}{path}"));
            *name = ObjectName(vec![ObjectNamePart::Identifier(named)]);
        }
    }
}

/// Writes the names of files in the place of their name.
struct PutIn<'a> {
    /// What the tables out of files are called.
    files: &'a [Option<String>],
    /// Which one is meant where no table is named.
    one: Option<usize>,
    /// How many queries are around.
    depth: usize,
    used: Vec<usize>,
}

impl PutIn<'_> {
    /// The table whose files' names an expression is.
    fn file_of(&self, expr: &Expr) -> Option<usize> {
        if !is_it(expr) {
            return None;
        }
        match expr {
            Expr::Identifier(_) if self.depth == 0 => self.one,
            Expr::CompoundIdentifier(parts) => {
                let [table, _] = parts.as_slice() else {
                    return None;
                };
                let is_it = |known: &Option<String>| {
                    known
                        .as_ref()
                        .is_some_and(|known| same_name(known, &table.value))
                };
                self.files.iter().position(is_it)
            }
            _ => None,
        }
    }
}

impl VisitorMut for PutIn<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(file) = self.file_of(expr) {
            self.used.push(file);
            let hidden = Ident::with_quote('"', FILE_NAME);
            match expr {
                Expr::CompoundIdentifier(parts) => {
                    parts.pop();
                    parts.push(hidden);
                }
                expr => *expr = Expr::Identifier(hidden),
            }
        }
        ControlFlow::Continue(())
    }
}
