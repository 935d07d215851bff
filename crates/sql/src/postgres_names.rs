//! Names of result columns that no one has named, as PostgreSQL gives them: a call goes by its function, a cast by what it casts.

use crate::operators::POSTGRES_OPERATORS;
use sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, DataType, Expr, Ident, ObjectName, Select, SelectItem, SetExpr,
    Statement, TrimWhereField,
};

/// What PostgreSQL calls a column that has no other name.
const UNNAMED: &str = "?column?";

/// What a query's text says of the name of one of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnName {
    /// The columns of `*`, as many as there are, under their own names.
    Star,
    /// A plain column, written so: the planner knows how it is spelled.
    Column(String),
    /// The name that PostgreSQL gives it.
    Called(String),
}

/// Names calls and casts of a select list that have no name, where no other column goes by it. The columns of a statement itself are
/// called so when they are shown (`postgres_columns`): there only what ORDER BY may name is named.
pub(super) fn name_calls(select: &mut Select, is_statement: bool) {
    let wanted: Vec<Option<String>> = select.projection.iter().map(name_of_item).collect();
    let is_star = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)
        )
    };
    let has_star = select.projection.iter().any(is_star);
    for (at, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::UnnamedExpr(expr) = item else {
            continue;
        };
        let Some(Some(name)) = wanted.get(at) else {
            continue;
        };
        let same = |other: &&Option<String>| {
            let other = other.as_deref().unwrap_or_default();
            other.eq_ignore_ascii_case(name)
        };
        let name = match (is_column(expr), is_statement) {
            // One that stands beside `*` is there twice.
            (true, true) if has_star => format!("{name}${at}"),
            (true, _) => continue,
            (false, true) if is_of_column(expr) => continue,
            (false, _) if wanted.iter().filter(same).count() > 1 => continue,
            (false, _) => name.clone(),
        };
        let expr = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
        let alias = Ident::with_quote('"', name);
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

fn is_column(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_))
}

/// Whether an expression goes by the name of a column that it is made of.
fn is_of_column(expr: &Expr) -> bool {
    match expr {
        Expr::Cast { expr, .. } | Expr::Nested(expr) | Expr::Collate { expr, .. } => {
            is_column(expr) || is_of_column(expr)
        }
        Expr::CompoundFieldAccess { root, .. } => is_column(root),
        Expr::Case { else_result, .. } => {
            let is_of = |expr: &Expr| is_column(expr) || is_of_column(expr);
            else_result.as_deref().is_some_and(is_of)
        }
        _ => false,
    }
}

/// The names of the columns that a statement gives.
pub(super) fn names(statement: &Statement) -> Vec<ColumnName> {
    let items = match statement {
        Statement::Query(query) => match query.body.as_ref() {
            SetExpr::Insert(change) | SetExpr::Update(change) | SetExpr::Delete(change) => {
                return names(change);
            }
            body => first_select(body).map(|select| select.projection.as_slice()),
        },
        Statement::Insert(insert) => insert.returning.as_deref(),
        Statement::Update(update) => update.returning.as_deref(),
        Statement::Delete(delete) => delete.returning.as_deref(),
        _ => None,
    };
    let items = items.unwrap_or_default().iter();
    items
        .map(|item| match item {
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => ColumnName::Star,
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                ColumnName::Column(name.value.clone())
            }
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                let last = parts.last().map(|name| name.value.clone());
                ColumnName::Column(last.unwrap_or_default())
            }
            item => ColumnName::Called(name_of_item(item).unwrap_or_else(|| UNNAMED.into())),
        })
        .collect()
}

/// The names that a query's columns have in PostgreSQL, from what the text says of them and what the planner calls them.
pub fn postgres_columns(said: &[ColumnName], planned: &[String]) -> Vec<String> {
    let stars = said.iter().filter(|name| **name == ColumnName::Star);
    let (stars, plain) = (stars.count(), said.len());
    // Which columns are of which `*` cannot be told where there are several.
    let of_star = match (planned.len() + stars).checked_sub(plain) {
        Some(of_star) if stars == 1 || stars == 0 && of_star == 0 => of_star,
        _ => return planned.to_vec(),
    };
    let mut left = planned.iter();
    let mut names = vec![];
    for name in said {
        match name {
            ColumnName::Star => names.extend(left.by_ref().take(of_star).cloned()),
            ColumnName::Column(written) => names.extend(left.next().map(|planned| {
                // The planner has told apart what is called the same.
                match planned.eq_ignore_ascii_case(written) {
                    true => planned.clone(),
                    false => written.clone(),
                }
            })),
            ColumnName::Called(name) => names.extend(left.next().map(|_| name.clone())),
        }
    }
    names
}

fn first_select(body: &SetExpr) -> Option<&Select> {
    match body {
        SetExpr::Select(select) => Some(select),
        SetExpr::Query(query) => first_select(&query.body),
        SetExpr::SetOperation { left, .. } => first_select(left),
        _ => None,
    }
}

fn name_of_item(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => name(expr),
        SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
        _ => None,
    }
}

fn folded(name: &Ident) -> String {
    match name.quote_style {
        None => name.value.to_lowercase(),
        Some(_) => name.value.clone(),
    }
}

fn last(name: &ObjectName) -> Option<String> {
    name.0.last()?.as_ident().map(folded)
}

/// Whether the parser has put the function in the place of an operator, which it quotes.
fn is_operator(function: &ObjectName) -> bool {
    let name = function.0.last().and_then(|part| part.as_ident());
    let name = name.filter(|name| name.quote_style.is_some());
    name.is_some_and(|name| {
        let mut known = POSTGRES_OPERATORS.iter();
        known.any(|(_, function)| *function == name.value)
    })
}

/// The name that an expression gives.
fn name(expr: &Expr) -> Option<String> {
    let plain = |name: &str| Some(name.to_owned());
    match expr {
        Expr::Identifier(name) => Some(folded(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(folded),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => name(inner),
        Expr::Function(function) if is_operator(&function.name) => None,
        Expr::Function(function) => last(&function.name),
        Expr::Cast {
            expr, data_type, ..
        } => own_name(expr).or_else(|| type_name(data_type)),
        Expr::TypedString(typed) => type_name(&typed.data_type),
        Expr::Interval(_) => plain("interval"),
        Expr::Case { else_result, .. } => {
            let of_else = else_result.as_deref().and_then(name);
            of_else.or_else(|| plain("case"))
        }
        Expr::Exists { .. } => plain("exists"),
        Expr::Subquery(query) => {
            let select = first_select(&query.body)?;
            name_of_item(select.projection.first()?)
        }
        Expr::Array(_) => plain("array"),
        Expr::Extract { .. } => plain("extract"),
        Expr::Position { .. } => plain("position"),
        Expr::Substring {
            shorthand: true, ..
        } => plain("substr"),
        Expr::Substring { .. } => plain("substring"),
        Expr::Overlay { .. } => plain("overlay"),
        Expr::Ceil { .. } => plain("ceil"),
        Expr::Floor { .. } => plain("floor"),
        Expr::Trim { trim_where, .. } => match trim_where {
            Some(TrimWhereField::Leading) => plain("ltrim"),
            Some(TrimWhereField::Trailing) => plain("rtrim"),
            Some(TrimWhereField::Both) | None => plain("btrim"),
        },
        Expr::AtTimeZone { .. } => plain("timezone"),
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.last() {
            Some(AccessExpr::Dot(Expr::Identifier(field))) => Some(folded(field)),
            _ => name(root),
        },
        _ => None,
    }
}

/// The name that an expression gives a cast of it: casts and CASE have weaker ones than the type.
fn own_name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Nested(inner)
        | Expr::Collate { expr: inner, .. }
        | Expr::Cast { expr: inner, .. } => own_name(inner),
        Expr::Case { else_result, .. } => else_result.as_deref().and_then(own_name),
        Expr::TypedString(_) | Expr::Interval(_) => None,
        other => name(other),
    }
}

/// What PostgreSQL's catalog calls a type.
fn type_name(ty: &DataType) -> Option<String> {
    let name = match ty {
        DataType::Custom(name, _) => return last(name),
        DataType::Array(ArrayElemTypeDef::SquareBracket(item, _)) => return type_name(item),
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => "int4",
        DataType::BigInt(_) | DataType::Int8(_) => "int8",
        DataType::SmallInt(_) | DataType::Int2(_) => "int2",
        DataType::Boolean | DataType::Bool => "bool",
        DataType::Text => "text",
        DataType::Varchar(_) | DataType::CharacterVarying(_) => "varchar",
        DataType::Char(_) | DataType::Character(_) => "bpchar",
        DataType::Real | DataType::Float4 => "float4",
        DataType::DoublePrecision | DataType::Double(_) | DataType::Float8 | DataType::Float(_) => {
            "float8"
        }
        DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => "numeric",
        DataType::Date => "date",
        DataType::Time(_, sqlparser::ast::TimezoneInfo::WithTimeZone)
        | DataType::Time(_, sqlparser::ast::TimezoneInfo::Tz) => "timetz",
        DataType::Bit(_) => "bit",
        DataType::BitVarying(_) | DataType::VarBit(_) => "varbit",
        DataType::Time(..) => "time",
        DataType::Timestamp(_, sqlparser::ast::TimezoneInfo::WithTimeZone)
        | DataType::Timestamp(_, sqlparser::ast::TimezoneInfo::Tz) => "timestamptz",
        DataType::Timestamp(..) => "timestamp",
        DataType::Interval { .. } => "interval",
        DataType::Uuid => "uuid",
        DataType::JSON => "json",
        DataType::JSONB => "jsonb",
        DataType::Bytea => "bytea",
        DataType::Regclass => "regclass",
        _ => return None,
    };
    Some(name.to_owned())
}
