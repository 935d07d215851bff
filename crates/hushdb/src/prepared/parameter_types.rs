//! What types the parameters of a statement have, read off the parsed text: by a cast, by the column that one is compared with or
//! stored in, by the other side of an operator, by LIMIT. What says nothing is text, as PostgreSQL has it.
//!
//! What must hold: every parameter gets one type, the same for the same text and tables; nothing is planned or run for it.

use super::derived_columns::{Columns, Derived, KnownTypes, Made, of_body};
use super::function_parameters::{Takes, given_by, of_clock, of_sum, taken_by};
use datafusion::arrow::datatypes::TimeUnit;
use datafusion::sql::sqlparser::ast::{
    self, AssignmentTarget, BinaryOperator, Expr, LimitClause, Query, SelectItem, SetExpr,
    TableFactor, TableObject, Value, Visitor,
};
use hushdb_sql::type_names::{NUMERIC, column_type};
use hushdb_sql::walk::visit;
use hushdb_sql::{
    CONCAT, CUT_DIVIDE, ChangesWithin, Error, NUMERIC_CAST, REMAINDER, Result, Statement,
    changes_within, folded, name_parts, position_of, sqlstate,
};
use hushdb_storage::{ColumnType, TableVersion};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Functions whose arguments are of one type, which is that of what they give.
const OF_ONE_TYPE: [&str; 5] = ["coalesce", "nullif", "greatest", "least", "ifnull"];

/// Finds the table of a name, if there is one.
pub(crate) type FindTable<'a> = dyn Fn(&[String]) -> Option<Arc<TableVersion>> + 'a;

/// The types of a statement's parameters; those that are given come first.
///
/// # Errors
/// `Binder` in PostgreSQL's dialect, for a number that is computed from two parameters of which nothing tells the type.
pub(crate) fn parameter_types(
    statement: &Statement,
    count: usize,
    given: &[Option<ColumnType>],
    find: &FindTable<'_>,
    postgres: bool,
) -> Result<Vec<ColumnType>> {
    let mut types: Vec<Option<ColumnType>> = given.iter().take(count).cloned().collect();
    types.resize(count, None);
    let mut pass = Pass {
        types,
        tables: HashMap::new(),
        columns: HashMap::new(),
        derived: HashMap::new(),
        find,
        is_ambiguous: false,
    };
    match statement {
        Statement::Sql(statement) => match changes_within(statement)? {
            Some(ChangesWithin { parts, rest }) => {
                let parts = parts.iter().map(|(_, part)| part);
                parts.chain([&rest]).for_each(|part| pass.statement(part));
            }
            None => pass.statement(statement),
        },
        Statement::InsertByName(insert) => {
            let _ = visit(insert, &mut pass);
        }
        _ => {}
    }
    if postgres && pass.is_ambiguous {
        return Err(Error::binder(
            "operator is not unique: unknown and unknown; give one of the parameters a type, as in $1::int",
        )
        .with_sqlstate(sqlstate::AMBIGUOUS_FUNCTION));
    }
    let types = pass.types.into_iter();
    Ok(types.map(|ty| ty.unwrap_or(ColumnType::Varchar)).collect())
}

struct Pass<'a> {
    types: Vec<Option<ColumnType>>,
    /// By the name or the alias that columns are written behind.
    tables: HashMap<String, Columns>,
    /// By name alone; `None` where tables differ.
    columns: HashMap<String, Option<ColumnType>>,
    /// The same of columns that queries within the statement make.
    derived: HashMap<String, Option<ColumnType>>,
    find: &'a FindTable<'a>,
    /// Whether an operator of numbers stands between two parameters of which nothing tells the type.
    is_ambiguous: bool,
}

impl KnownTypes for Pass<'_> {
    fn type_of(&self, expr: &Expr) -> Option<ColumnType> {
        Pass::type_of(self, expr)
    }

    fn named(&self, name: &str) -> Option<&Columns> {
        self.tables.get(name)
    }

    fn learn(&mut self, name: String, columns: Columns) {
        if let Columns::Derived(columns) = &columns {
            for (name, ty) in columns {
                let known = self.derived.entry(folded(name));
                let known = known.or_insert_with(|| ty.clone());
                if known != ty {
                    *known = None;
                }
            }
        }
        self.tables.insert(name, columns);
    }
}

impl Pass<'_> {
    fn statement(&mut self, statement: &ast::Statement) {
        let mut tables = Tables(vec![], false);
        let _ = visit(statement, &mut tables);
        for (parts, alias) in tables.0 {
            self.table(&parts, alias);
        }
        if tables.1 {
            // A second time for those that look at one that comes later.
            for _ in 0..2 {
                self.derived.clear();
                let _ = visit(statement, &mut Derived(&mut *self));
            }
        }
        match statement {
            ast::Statement::Insert(insert) => self.insert(insert),
            ast::Statement::Update(update) => {
                for assignment in &update.assignments {
                    match (&assignment.target, &assignment.value) {
                        (AssignmentTarget::ColumnName(name), value) => self.assign(name, value),
                        (AssignmentTarget::Tuple(names), Expr::Tuple(values)) => names
                            .iter()
                            .zip(values)
                            .for_each(|(name, value)| self.assign(name, value)),
                        (AssignmentTarget::Tuple(_), _) => {}
                    }
                }
            }
            _ => {}
        }
        let _ = visit(statement, self);
    }

    /// A column is set to a value.
    fn assign(&mut self, column: &ast::ObjectName, value: &Expr) {
        if let Some(column) = name_parts(column).ok().and_then(|mut p| p.pop()) {
            let ty = self.columns.get(&folded(&column)).cloned().flatten();
            self.set_all(value, ty);
        }
    }

    /// Learns the columns of a table.
    fn table(&mut self, parts: &[String], alias: Option<String>) {
        let Some(table) = (self.find)(parts) else {
            return;
        };
        for column in &table.columns {
            let known = self.columns.entry(folded(&column.name));
            let known = known.or_insert_with(|| Some(column.ty.clone()));
            if known.as_ref().is_some_and(|known| *known != column.ty) {
                *known = None;
            }
        }
        let called = alias.or_else(|| parts.last().cloned()).unwrap_or_default();
        self.tables.insert(folded(&called), Columns::Table(table));
    }

    fn insert(&mut self, insert: &ast::Insert) {
        let TableObject::TableName(name) = &insert.table else {
            return;
        };
        let Some(table) = name_parts(name).ok().and_then(|parts| (self.find)(&parts)) else {
            return;
        };
        self.table(std::slice::from_ref(&table.name), None);
        let position = |column: &ast::ObjectName| {
            let column = name_parts(column).ok()?.pop()?;
            position_of(table.columns.iter().map(|c| c.name.as_str()), &column)
        };
        let targets: Vec<Option<usize>> = match insert.columns.as_slice() {
            // What is generated is given no value.
            [] => (0..)
                .zip(&table.columns)
                .filter(|(_, column)| column.generated.is_none())
                .map(|(at, _)| Some(at))
                .collect(),
            some => some.iter().map(position).collect(),
        };
        let types = targets
            .iter()
            .map(|at| Some(table.columns.get((*at)?)?.ty.clone()));
        let types: Vec<Option<ColumnType>> = types.collect();
        match insert.source.as_deref().map(|query| query.body.as_ref()) {
            Some(SetExpr::Values(values)) => {
                for row in &values.rows {
                    for (expr, ty) in row.iter().zip(&types) {
                        self.set_all(expr, ty.clone());
                    }
                }
            }
            Some(SetExpr::Select(select)) => {
                for (item, ty) in select.projection.iter().zip(&types) {
                    if let ast::SelectItem::UnnamedExpr(expr)
                    | ast::SelectItem::ExprWithAlias { expr, .. } = item
                    {
                        self.set_all(expr, ty.clone());
                    }
                }
            }
            _ => {}
        }
    }

    /// Gives a parameter its type, unless it has one.
    fn set(&mut self, expr: &Expr, ty: Option<ColumnType>) {
        let slot = number(expr).and_then(|number| self.types.get_mut(number));
        if let (Some(slot @ None), Some(ty)) = (slot, ty) {
            *slot = Some(ty);
        }
    }

    /// Gives the parameters of which a value is one their type.
    fn set_all(&mut self, expr: &Expr, ty: Option<ColumnType>) {
        match expr {
            Expr::Nested(inner) => self.set_all(inner, ty),
            other => {
                // What else stands beside them tells more than where the value goes.
                for part in alternatives(other) {
                    let known = alternatives(other)
                        .into_iter()
                        .find_map(|part| self.type_of(part));
                    self.set(part, known.or_else(|| ty.clone()));
                }
                self.set(other, ty);
            }
        }
    }

    /// The type of an expression, as far as its text tells it.
    fn type_of(&self, expr: &Expr) -> Option<ColumnType> {
        match expr {
            Expr::Identifier(column) => {
                let name = folded(&column.value);
                match (self.columns.get(&name), self.derived.get(&name)) {
                    // A query may call something else as a table calls a column.
                    (Some(one), Some(other)) => one.clone().filter(|_| one == other),
                    (one, other) => one.or(other)?.clone(),
                }
            }
            Expr::CompoundIdentifier(parts) => {
                let [.., table, column] = parts.as_slice() else {
                    return None;
                };
                let table = self.tables.get(&folded(&table.value))?;
                table.type_of(&column.value)
            }
            Expr::Value(value) => match &value.value {
                Value::Number(text, _) => of_number(text),
                Value::Boolean(_) => Some(ColumnType::Boolean),
                Value::SingleQuotedString(_) => Some(ColumnType::Varchar),
                Value::Placeholder(_) => self.types.get(number(expr)?)?.clone(),
                _ => None,
            },
            Expr::Cast { data_type, .. } => column_type(data_type).ok(),
            Expr::TypedString(text) => column_type(&text.data_type).ok(),
            Expr::Interval(_) => Some(ColumnType::Interval),
            Expr::Function(function) => numeric_cast(function)
                .map(|_| NUMERIC)
                .or_else(|| of_clock(&name_of(function)))
                .or_else(|| given_by(&name_of(function)))
                .or_else(|| self.of_aggregate(function))
                .or_else(|| self.of_alternatives(expr)),
            Expr::Case { .. } => self.of_alternatives(expr),
            Expr::Array(list) => {
                let element = list.elem.iter().find_map(|one| self.type_of(one))?;
                Some(ColumnType::List(Box::new(element)))
            }
            Expr::Subquery(query) => of_body(self, &query.body).into_iter().next()?.1,
            Expr::Nested(inner) => self.type_of(inner),
            Expr::UnaryOp { expr, .. } => self.type_of(expr),
            Expr::BinaryOp { left, op, right } if is_arithmetic(op) => {
                let (left, right) = (self.type_of(left), self.type_of(right));
                match (left, right) {
                    (Some(left), Some(right)) if left == right => Some(difference(op, left)),
                    (Some(ColumnType::Date), Some(ColumnType::Interval))
                    | (Some(ColumnType::Interval), Some(ColumnType::Date)) => {
                        Some(ColumnType::Timestamp(TimeUnit::Microsecond, false))
                    }
                    (left, right) => left.or(right),
                }
            }
            _ => None,
        }
    }

    /// The type of an aggregate, by that of what is aggregated.
    fn of_aggregate(&self, function: &ast::Function) -> Option<ColumnType> {
        let of_argument = || self.type_of(arguments(function).first()?);
        match name_of(function).as_str() {
            "max" | "min" => of_argument(),
            "sum_as_postgres" => Some(of_sum(of_argument()?, false)),
            "avg_as_postgres" => Some(of_sum(of_argument()?, true)),
            _ => None,
        }
    }

    /// The type of the first of an expression's values that has one.
    fn of_alternatives(&self, expr: &Expr) -> Option<ColumnType> {
        let values = alternatives(expr);
        values.into_iter().find_map(|value| self.type_of(value))
    }

    /// What stands beside an operator.
    fn operands(&mut self, left: &Expr, op: &BinaryOperator, right: &Expr) {
        let is_open = |side| {
            let slot = number(side).and_then(|number| self.types.get(number));
            matches!(slot, Some(None))
        };
        self.is_ambiguous |= is_arithmetic(op) && is_open(left) && is_open(right);
        if let (Expr::Tuple(_), Expr::Tuple(_)) = (left, right) {
            self.alike(left, &[right]);
        }
        for (one, other) in [(left, right), (right, left)] {
            if number(one).is_none() {
                continue;
            }
            let ty = match op {
                BinaryOperator::And | BinaryOperator::Or => Some(ColumnType::Boolean),
                BinaryOperator::StringConcat => Some(ColumnType::Varchar),
                BinaryOperator::Custom(mark) if mark == CONCAT => {
                    let ty = self.type_of(other);
                    ty.filter(|ty| ty.is_nested() || *ty == ColumnType::Json)
                        .or(Some(ColumnType::Varchar))
                }
                _ if is_arithmetic(op) => self.type_of(other).map(|ty| beside(op, ty)),
                _ => self.type_of(other),
            };
            self.set(one, ty);
        }
    }

    /// Gives what stands in one query of a UNION, INTERSECT or EXCEPT the types of the first, and that those of the second.
    fn sides(&mut self, body: &SetExpr) {
        let mut body = body;
        let types = of_body(self, body);
        while let SetExpr::SetOperation { left, right, .. } = body {
            self.items(right, &types);
            if !matches!(**left, SetExpr::SetOperation { .. }) {
                let types = of_body(self, right);
                self.items(left, &types);
            }
            body = left;
        }
    }

    fn items(&mut self, body: &SetExpr, types: &Made) {
        let SetExpr::Select(select) = body else {
            return;
        };
        for (item, (_, ty)) in select.projection.iter().zip(types) {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                self.set(expr, ty.clone());
            }
        }
    }

    /// Gives the values of which an expression is one the type of the others.
    fn one_of(&mut self, expr: &Expr) {
        if let Some((first, others)) = alternatives(expr).split_first() {
            self.alike(first, others);
        }
    }

    /// `f(a = $1)` compares: the parser has read a name for an argument, which functions in FROM alone have.
    fn compared(&mut self, function: &ast::Function) {
        let ast::FunctionArguments::List(list) = &function.args else {
            return;
        };
        for arg in &list.args {
            if let ast::FunctionArg::Named {
                name,
                arg: ast::FunctionArgExpr::Expr(value),
                operator: ast::FunctionArgOperator::Equals,
            } = arg
            {
                let ty = self.type_of(&Expr::Identifier(name.clone()));
                self.set(value, ty);
            }
        }
    }

    /// Gives arguments the types that their function takes.
    fn taken_by(&mut self, function: &ast::Function) {
        let args = arguments(function);
        let takes = taken_by(&name_of(function), args.len());
        let alike = takes.iter().zip(&args);
        let alike: Vec<&Expr> = alike
            .filter_map(|(takes, arg)| (*takes == Takes::Alike).then_some(*arg))
            .collect();
        if let Some((first, others)) = alike.split_first() {
            self.alike(first, others);
        }
        for (takes, arg) in takes.into_iter().zip(&args) {
            match takes {
                Takes::Type(ty) => self.set(arg, Some(ty)),
                Takes::Element => {
                    let list = args.first().and_then(|list| self.type_of(list));
                    if let Some(ColumnType::List(element)) = list {
                        self.set(arg, Some(*element));
                    }
                }
                Takes::Alike | Takes::Anything => {}
            }
        }
    }

    fn alike(&mut self, first: &Expr, others: &[&Expr]) {
        if let Expr::Tuple(parts) = first {
            for (at, part) in parts.iter().enumerate() {
                let others = others.iter().filter_map(|other| match other {
                    Expr::Tuple(others) => others.get(at),
                    _ => None,
                });
                self.alike(part, &others.collect::<Vec<_>>());
            }
            return;
        }
        let known = self.type_of(first);
        let known = known.or_else(|| others.iter().find_map(|other| self.type_of(other)));
        self.set(first, known.clone());
        others
            .iter()
            .for_each(|other| self.set(other, known.clone()));
    }
}

/// What stands beside a value of a type: the same, where the operator takes that twice, as PostgreSQL has it; else an interval beside an
/// instant, a number of days beside a date and a factor beside an interval.
fn beside(op: &BinaryOperator, ty: ColumnType) -> ColumnType {
    let is_minus = *op == BinaryOperator::Minus;
    let is_sum = is_minus || *op == BinaryOperator::Plus;
    match ty {
        ColumnType::Timestamp(..) | ColumnType::Time | ColumnType::Date if is_minus => ty,
        ColumnType::Timestamp(..) | ColumnType::Time => ColumnType::Interval,
        ColumnType::Date => ColumnType::Int32,
        ColumnType::Interval if !is_sum => ColumnType::Double,
        ColumnType::Boolean
        | ColumnType::Int8
        | ColumnType::Int16
        | ColumnType::Int32
        | ColumnType::Int64
        | ColumnType::UInt8
        | ColumnType::UInt16
        | ColumnType::UInt32
        | ColumnType::UInt64
        | ColumnType::HugeInt
        | ColumnType::UHugeInt
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Varchar
        | ColumnType::Blob
        | ColumnType::Interval
        | ColumnType::Uuid
        | ColumnType::TimeTz
        | ColumnType::Bit
        | ColumnType::List(_)
        | ColumnType::Array(_)
        | ColumnType::Union(_)
        | ColumnType::Struct(_)
        | ColumnType::Map(_)
        | ColumnType::Json
        | ColumnType::Collated(_)
        | ColumnType::Enum(_) => ty,
    }
}

/// The type of two values of one type between which an operator stands.
fn difference(op: &BinaryOperator, ty: ColumnType) -> ColumnType {
    if *op != BinaryOperator::Minus {
        return ty;
    }
    if matches!(ty, ColumnType::Timestamp(..) | ColumnType::Time) {
        return ColumnType::Interval;
    }
    if ty == ColumnType::Date {
        return ColumnType::Int64;
    }
    ty
}

/// What a call casts to PostgreSQL's numeric, if it does.
fn numeric_cast(function: &ast::Function) -> Option<&Expr> {
    let is_cast = function.name.to_string() == NUMERIC_CAST;
    arguments(function).first().filter(|_| is_cast).copied()
}

/// The name of a function in small letters, without its schema.
fn name_of(function: &ast::Function) -> String {
    let name = name_parts(&function.name).ok().and_then(|mut p| p.pop());
    folded(&name.unwrap_or_default())
}

fn arguments(function: &ast::Function) -> Vec<&Expr> {
    let ast::FunctionArguments::List(list) = &function.args else {
        return vec![];
    };
    let args = list.args.iter().filter_map(|arg| match arg {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(expr)) => Some(expr),
        _ => None,
    });
    args.collect()
}

/// The expressions of which an expression gives one: those of CASE, COALESCE and their kin.
fn alternatives(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Case {
            conditions,
            else_result,
            ..
        } => {
            let results = conditions.iter().map(|when| &when.result);
            results.chain(else_result.as_deref()).collect()
        }
        Expr::Function(function) => {
            let name = function.name.to_string();
            let is_one_of_them = OF_ONE_TYPE
                .iter()
                .any(|known| name.eq_ignore_ascii_case(known));
            match is_one_of_them {
                true => arguments(function),
                false => vec![],
            }
        }
        _ => vec![],
    }
}

fn of_number(text: &str) -> Option<ColumnType> {
    if text.parse::<i32>().is_ok() {
        return Some(ColumnType::Int32);
    }
    match text.parse::<i64>() {
        Ok(_) => Some(ColumnType::Int64),
        Err(_) => text.parse::<f64>().ok().map(|_| ColumnType::Double),
    }
}

fn is_arithmetic(op: &BinaryOperator) -> bool {
    use BinaryOperator as B;
    match op {
        B::Plus | B::Minus | B::Multiply | B::Divide | B::Modulo => true,
        B::Custom(mark) => mark == CUT_DIVIDE || mark == REMAINDER,
        _ => false,
    }
}

/// Which parameter an expression is, counted from 0.
fn number(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => number(inner),
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => name
                .strip_prefix('$')?
                .parse::<usize>()
                .ok()?
                .checked_sub(1),
            _ => None,
        },
        _ => None,
    }
}

impl Visitor for Pass<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let Some(LimitClause::LimitOffset { limit, offset, .. }) = &query.limit_clause {
            let offset = offset.as_ref().map(|offset| &offset.value);
            for expr in limit.iter().chain(offset) {
                self.set(expr, Some(ColumnType::Int64));
            }
        }
        if matches!(*query.body, SetExpr::SetOperation { .. }) {
            self.sides(&query.body);
        }
        if let SetExpr::Values(values) = query.body.as_ref() {
            let columns = values
                .rows
                .iter()
                .map(|row| row.content.len())
                .max()
                .unwrap_or(0);
            for at in 0..columns {
                let column = values.rows.iter().filter_map(|row| row.content.get(at));
                let column: Vec<&Expr> = column.collect();
                if let Some((first, others)) = column.split_first() {
                    self.alike(first, others);
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Cast {
                expr, data_type, ..
            } => self.set(expr, column_type(data_type).ok()),
            Expr::BinaryOp { left, op, right } => self.operands(left, op, right),
            Expr::Between {
                expr, low, high, ..
            } => self.alike(expr, &[low, high]),
            Expr::InSubquery { expr, subquery, .. } => {
                let first = of_body(self, &subquery.body).into_iter().next();
                self.set(expr, first.and_then(|(_, ty)| ty));
            }
            Expr::InList { expr, list, .. } => {
                self.alike(expr, &list.iter().collect::<Vec<_>>());
            }
            Expr::Case {
                operand,
                conditions,
                ..
            } => {
                let asked: Vec<&Expr> = conditions.iter().map(|when| &when.condition).collect();
                match operand {
                    Some(operand) => self.alike(operand, &asked),
                    None => asked
                        .into_iter()
                        .for_each(|asked| self.set(asked, Some(ColumnType::Boolean))),
                }
                self.one_of(expr);
            }
            Expr::Function(function) => {
                if let Some(of) = numeric_cast(function) {
                    self.set(of, Some(NUMERIC));
                }
                self.compared(function);
                self.taken_by(function);
                self.one_of(expr);
            }
            Expr::Ceil { expr, .. } | Expr::Floor { expr, .. } => {
                self.set(expr, Some(ColumnType::Double));
            }
            Expr::UnaryOp {
                op: ast::UnaryOperator::Not,
                expr,
            } => self.set(expr, Some(ColumnType::Boolean)),
            Expr::Like { expr, pattern, .. } | Expr::ILike { expr, pattern, .. } => {
                self.set(expr, Some(ColumnType::Varchar));
                self.set(pattern, Some(ColumnType::Varchar));
            }
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.alike(left, &[right]);
            }
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
                let list = self.type_of(left).map(Box::new).map(ColumnType::List);
                self.set(right, list);
                if let Some(ColumnType::List(element)) = self.type_of(right) {
                    self.set(left, Some(*element));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Every table that a statement names, and its alias; and whether there are queries that have names, too.
struct Tables(Vec<(Vec<String>, Option<String>)>, bool);

impl Visitor for Tables {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.1 |= query.with.is_some();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, table: &TableFactor) -> ControlFlow<()> {
        self.1 |= matches!(table, TableFactor::Derived { .. });
        if let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = table
            && let Ok(parts) = name_parts(name)
        {
            let alias = alias.as_ref().map(|alias| alias.name.value.clone());
            self.0.push((parts, alias));
        }
        ControlFlow::Continue(())
    }
}
