//! Names of result columns as DuckDB gives them: `count_star()`, `(a + 1)`, and `a_1` for a second `a`, which is the one beside
//! `*` in `SELECT a, *`.
//!
//! What must hold: only names are added. Columns of different tables that share a name keep it. The case of letters tells no
//! names apart.

use super::calls::all_unnamed;
use super::collations::COLLATE;
use super::excluded_rows::as_written;
use super::{folded, quote};
use sqlparser::ast::{
    CastKind, DictionaryField, ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, Select, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, UnaryOperator, Value, WildcardAdditionalOptions,
};
use std::collections::{HashMap, HashSet};

/// Names every expression of a select list that has no name, and tells equal names apart.
pub(super) fn name_columns(select: &mut Select) {
    let mut names = Names::default();
    let tables = tables(select);
    let is_from_any = !select.from.is_empty();
    let wildcards = Wildcards::of(select);
    for item in &mut select.projection {
        without_brackets(item);
        if let SelectItem::UnnamedExpr(expr) = item
            && let Some(column) = wildcards.column(expr, &tables)
        {
            names.taken.insert(folded(&column));
            let unique = unique(&mut names.taken, column);
            name_item(item, unique);
            continue;
        }
        match item {
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
                if !(is_from_any && is_field(parts, &tables)) =>
            {
                if let Some(unique) = names.of_table(parts) {
                    name_item(item, unique);
                }
            }
            SelectItem::UnnamedExpr(expr) => {
                let own = matches!(expr, Expr::Identifier(_));
                let wanted = match &*expr {
                    Expr::CompoundIdentifier(parts) => last_of(parts),
                    other => name(other),
                };
                let unique = names.plain(wanted.clone());
                if !own || unique != wanted {
                    name_item(item, unique);
                }
            }
            SelectItem::ExprWithAlias { alias, .. } => {
                let wanted = alias.value.clone();
                let unique = names.plain(wanted.clone());
                if unique != wanted {
                    *alias = Ident::with_quote('"', unique);
                }
            }
            _ => {}
        }
    }
}

/// The names of a select list so far.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
    /// Of columns under their tables' names, and these tables.
    of_tables: HashMap<String, Vec<String>>,
}

impl Names {
    /// A name for `t.a`, where it does not keep its own: columns of different tables do.
    fn of_table(&mut self, parts: &[Ident]) -> Option<String> {
        let wanted = last_of(parts);
        let table = parts.iter().nth_back(1).map(|part| folded(&part.value));
        let table = table.unwrap_or_default();
        let tables = self.of_tables.entry(folded(&wanted)).or_default();
        if tables.contains(&table) {
            self.taken.insert(folded(&wanted));
        }
        if self.taken.contains(&folded(&wanted)) {
            return Some(unique(&mut self.taken, wanted));
        }
        tables.push(table);
        None
    }

    /// A name that no other item has.
    fn plain(&mut self, wanted: String) -> String {
        let of_table = self.of_tables.remove_entry(&folded(&wanted));
        self.taken.extend(
            of_table
                .filter(|(_, tables)| !tables.is_empty())
                .map(|(name, _)| name),
        );
        unique(&mut self.taken, wanted)
    }
}

fn last_of(parts: &[Ident]) -> String {
    let last = parts.last().map(|part| part.value.clone());
    last.unwrap_or_default()
}

/// Brackets around a name change nothing.
fn without_brackets(item: &mut SelectItem) {
    while let SelectItem::UnnamedExpr(Expr::Nested(inner)) = item
        && matches!(
            inner.as_ref(),
            Expr::Nested(_) | Expr::Identifier(_) | Expr::CompoundIdentifier(_)
        )
    {
        let inner = std::mem::replace(inner.as_mut(), Expr::Identifier(Ident::new("")));
        *item = SelectItem::UnnamedExpr(inner);
    }
}

/// Gives an item without a name one.
fn name_item(item: &mut SelectItem, name: String) {
    if let SelectItem::UnnamedExpr(expr) = item {
        let expr = std::mem::replace(expr, Expr::Identifier(Ident::new("")));
        let alias = Ident::with_quote('"', name);
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

/// The `*` and `t.*` of a select list.
struct Wildcards {
    /// The table of each, and what it says beside it.
    all: Vec<(Option<String>, WildcardAdditionalOptions)>,
    /// Whether FROM is one table.
    of_one_table: bool,
}

impl Wildcards {
    fn of(select: &Select) -> Self {
        let mut all = vec![];
        for item in &select.projection {
            match item {
                SelectItem::Wildcard(options) => all.push((None, options.clone())),
                SelectItem::QualifiedWildcard(
                    SelectItemQualifiedWildcardKind::ObjectName(name),
                    options,
                ) => {
                    let table = name.0.last().and_then(|part| part.as_ident());
                    let table = table.map(|table| folded(&table.value));
                    all.push((table, options.clone()));
                }
                _ => {}
            }
        }
        let of_one_table = matches!(select.from.as_slice(), [from] if from.joins.is_empty());
        Self { all, of_one_table }
    }

    /// The name of a column of `tables` that is one of a wildcard, too.
    fn column(&self, expr: &Expr, tables: &HashSet<String>) -> Option<String> {
        let (table, column) = match expr {
            Expr::Identifier(column) => (None, column),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [table, column] => (Some(folded(&table.value)), column),
                _ => return None,
            },
            _ => return None,
        };
        // A row's number is in no `*`.
        let is_shown = !column.value.eq_ignore_ascii_case("rowid");
        let is_here = table.as_ref().is_none_or(|table| tables.contains(table));
        let mut all = self.all.iter();
        let is_in = all.any(|(of, options)| {
            let of_table = match (of, &table) {
                (None, _) => true,
                (Some(_), None) => self.of_one_table,
                (Some(of), Some(table)) => of == table,
            };
            of_table && keeps(options, column)
        });
        (is_shown && is_here && is_in).then(|| column.value.clone())
    }
}

/// Whether a `*` with these options has a column of the name.
fn keeps(options: &WildcardAdditionalOptions, column: &Ident) -> bool {
    let others =
        options.opt_ilike.is_some() || options.opt_except.is_some() || options.opt_rename.is_some();
    let excluded = match &options.opt_exclude {
        None => &[],
        Some(ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
        Some(ExcludeSelectItem::Multiple(names)) => names.as_slice(),
    };
    let is_it = |name: &ObjectName| {
        let name = name.0.last().and_then(|part| part.as_ident());
        name.is_some_and(|name| folded(&name.value) == folded(&column.value))
    };
    !others && !excluded.iter().any(is_it)
}

/// The names that the tables of a FROM go by there.
fn tables(select: &Select) -> HashSet<String> {
    tables_of(select.from.iter().flat_map(|from| {
        let joins = from.joins.iter().map(|join| &join.relation);
        std::iter::once(&from.relation).chain(joins)
    }))
}

/// The names that tables go by.
pub fn tables_of<'a>(joined: impl IntoIterator<Item = &'a TableFactor>) -> HashSet<String> {
    let mut names = HashSet::new();
    for table in joined {
        let (own, alias) = match table {
            TableFactor::Table { name, alias, .. } => (name.0.last(), alias.as_ref()),
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => {
                let joins = table_with_joins.joins.iter().map(|join| &join.relation);
                let joined: Vec<_> = joins.chain([&table_with_joins.relation]).collect();
                names.extend(tables_of(joined));
                continue;
            }
            TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => (None, alias.as_ref()),
            _ => continue,
        };
        let own = own.and_then(|part| part.as_ident());
        names.extend(
            alias
                .map(|alias| &alias.name)
                .or(own)
                .map(|name| folded(&name.value)),
        );
    }
    names
}

/// Whether `a.b.c` is a field of a column, rather than a column of a table that is named with its schema or without.
fn is_field(parts: &[Ident], tables: &HashSet<String>) -> bool {
    let is_table = |part: &Ident| tables.contains(&folded(&part.value));
    match parts.iter().take(3).position(is_table) {
        Some(table) => parts.len() > table + 2,
        None => true,
    }
}

/// A name, with a number if it is taken in whatever case; it is taken now.
pub fn unique(taken: &mut HashSet<String>, wanted: String) -> String {
    let mut name = wanted.clone();
    let mut n = 0;
    while !taken.insert(folded(&name)) {
        n += 1;
        name = format!("{wanted}_{n}");
    }
    name
}

/// The name of an expression that is given none.
pub fn name(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(ident) => ident.value.clone(),
        Expr::CompoundIdentifier(parts) => {
            let parts: Vec<_> = parts.iter().map(|p| p.value.as_str()).collect();
            parts.join(".")
        }
        Expr::Nested(inner) => name(inner),
        Expr::BinaryOp { left, op, right } => format!("({} {op} {})", name(left), name(right)),
        Expr::UnaryOp { op, expr } => match op {
            UnaryOperator::Not => format!("(NOT {})", name(expr)),
            op => format!("{op}{}", name(expr)),
        },
        Expr::IsNull(inner) => format!("({} IS NULL)", name(inner)),
        Expr::IsNotNull(inner) => format!("({} IS NOT NULL)", name(inner)),
        Expr::Cast {
            kind,
            expr,
            data_type,
            ..
        } => {
            let word = match kind {
                CastKind::TryCast | CastKind::SafeCast => "TRY_CAST",
                _ => "CAST",
            };
            format!("{word}({} AS {data_type})", name(expr))
        }
        Expr::Array(list) => {
            let items: Vec<_> = list.elem.iter().map(name).collect();
            format!("main.list_value({})", items.join(", "))
        }
        Expr::Dictionary(fields) => {
            let field =
                |f: &DictionaryField| format!("{} := {}", quote(&f.key.value), name(&f.value));
            let fields: Vec<_> = fields.iter().map(field).collect();
            format!("main.struct_pack({})", fields.join(", "))
        }
        Expr::Function(function) if is_collated(function) => collated(function),
        Expr::Function(function) => call(function).unwrap_or_else(|| as_written(function)),
        other => other.to_string(),
    }
}

fn is_collated(function: &Function) -> bool {
    let [part] = function.name.0.as_slice() else {
        return false;
    };
    part.as_ident().is_some_and(|part| part.value == COLLATE)
}

/// `x COLLATE nocase`.
fn collated(function: &Function) -> String {
    let args = match &function.args {
        FunctionArguments::List(list) => all_unnamed(&list.args),
        _ => None,
    };
    match args.as_deref() {
        Some([text, Expr::Value(collation)]) => match &collation.value {
            Value::SingleQuotedString(collation) if !collation.is_empty() => {
                format!("{} COLLATE {collation}", name(text))
            }
            _ => name(text),
        },
        _ => function.to_string(),
    }
}

/// `f(a, b)` for a call without OVER, FILTER and the like.
fn call(function: &Function) -> Option<String> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let plain = function.over.is_none()
        && function.filter.is_none()
        && function.null_treatment.is_none()
        && function.within_group.is_empty()
        && list.clauses.is_empty();
    if !plain {
        return None;
    }
    let called = function.name.to_string().to_lowercase();
    if let ("count", [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)]) =
        (called.as_str(), list.args.as_slice())
    {
        return Some("count_star()".into());
    }
    let args: Vec<String> = list
        .args
        .iter()
        .map(|arg| match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => name(expr),
            other => other.to_string(),
        })
        .collect();
    let distinct = list
        .duplicate_treatment
        .map_or(String::new(), |d| format!("{d} "));
    Some(format!("{called}({distinct}{})", args.join(", ")))
}
