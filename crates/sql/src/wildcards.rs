//! `* EXCLUDE` and `* REPLACE`: names without case, and each of them a column that is there.

use super::constraints::constraint_of;
use super::folded;
use super::names::{name_parts, same_parts};
use crate::error::{Error, Result};
use sqlparser::ast::{
    ExcludeSelectItem, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, JoinConstraint, ObjectName, ObjectNamePart, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableWithJoins, WildcardAdditionalOptions,
};

/// The function that gives its first argument, if the column that is its second is there.
pub const IN_PLACE_OF: &str = "$in_place_of";

/// Brings the options of each `*` to what the planner reads.
pub(super) fn plain(select: &mut Select) -> Result<()> {
    for item in &mut select.projection {
        match item {
            SelectItem::Wildcard(options) => plain_options(options, &[])?,
            SelectItem::QualifiedWildcard(
                SelectItemQualifiedWildcardKind::ObjectName(table),
                options,
            ) => {
                let table = table.0.iter().filter_map(ObjectNamePart::as_ident).cloned();
                plain_options(options, &table.collect::<Vec<_>>())?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn plain_options(options: &mut WildcardAdditionalOptions, table: &[Ident]) -> Result<()> {
    let mut excluded: Vec<String> = vec![];
    let names = match &options.opt_exclude {
        None => &[],
        Some(ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
        Some(ExcludeSelectItem::Multiple(names)) => names.as_slice(),
    };
    for name in names {
        let [ObjectNamePart::Identifier(column)] = name.0.as_slice() else {
            return Err(Error::unsupported(format!(
                "EXCLUDE takes names of columns without their table: {name}"
            )));
        };
        unique(&mut excluded, &column.value, "EXCLUDE")?;
    }
    let mut replaced = vec![];
    let items = options
        .opt_replace
        .iter_mut()
        .flat_map(|list| &mut list.items);
    for item in items {
        let name = &item.column_name;
        unique(&mut replaced, &name.value, "REPLACE")?;
        if excluded.contains(&folded(&name.value)) {
            return Err(Error::parser(format!(
                "Column \"{}\" cannot occur in both EXCLUDE and REPLACE list",
                name.value
            )));
        }
        let parts: Vec<Ident> = table.iter().chain([name]).cloned().collect();
        let column = match parts.len() {
            1 => Expr::Identifier(name.clone()),
            _ => Expr::CompoundIdentifier(parts),
        };
        item.expr = in_place_of(item.expr.clone(), column);
    }
    Ok(())
}

/// The names after EXCLUDE, in lower case.
pub fn excluded_names(options: &WildcardAdditionalOptions) -> Vec<String> {
    let names = match &options.opt_exclude {
        None => &[],
        Some(ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
        Some(ExcludeSelectItem::Multiple(names)) => names.as_slice(),
    };
    let names = names.iter().filter_map(|name| name.0.last()?.as_ident());
    names.map(|name| folded(&name.value)).collect()
}

/// Whether EXCLUDE says of which table a column is.
pub fn has_columns_of_tables(options: &WildcardAdditionalOptions) -> bool {
    match &options.opt_exclude {
        None => false,
        Some(ExcludeSelectItem::Single(name)) => name.0.len() > 1,
        Some(ExcludeSelectItem::Multiple(names)) => names.iter().any(|name| name.0.len() > 1),
    }
}

/// Takes the columns that EXCLUDE gives with their table out of it: their tables and their names.
///
/// # Errors
/// `Parser` for one that is named twice; `Unsupported` for one that a join has made one of two, of which the other would be shown.
pub fn without_columns_of_tables(
    options: &mut WildcardAdditionalOptions,
    from: &[TableWithJoins],
) -> Result<Vec<(String, String)>> {
    let names = match options.opt_exclude.take() {
        None => vec![],
        Some(ExcludeSelectItem::Single(name)) => vec![name],
        Some(ExcludeSelectItem::Multiple(names)) => names,
    };
    let (of_tables, plain): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.0.len() > 1);
    if !plain.is_empty() {
        options.opt_exclude = Some(ExcludeSelectItem::Multiple(plain));
    }
    let mut taken = vec![];
    let mut found = vec![];
    for name in &of_tables {
        unique(&mut taken, &name.to_string(), "EXCLUDE")?;
        if let [.., table, column] = name_parts(name)?.as_slice() {
            if from.iter().any(|from| is_joined(from, column)) {
                return Err(Error::unsupported(
                    "EXCLUDE of a column of USING that is named with its table: name it without",
                ));
            }
            found.push((table.clone(), column.clone()));
        }
    }
    Ok(found)
}

/// Whether USING or NATURAL may have made one of two columns of a name.
fn is_joined(from: &TableWithJoins, name: &str) -> bool {
    let mut constraints = from
        .joins
        .iter()
        .filter_map(|join| constraint_of(&join.join_operator));
    constraints.any(|constraint| match constraint {
        JoinConstraint::Using(columns) => columns.iter().any(|column| same_parts(column, name)),
        JoinConstraint::Natural => true,
        JoinConstraint::On(_) | JoinConstraint::None => false,
    })
}

fn unique(taken: &mut Vec<String>, name: &str, list: &str) -> Result<()> {
    let key = folded(name);
    if taken.contains(&key) {
        return Err(Error::parser(format!(
            "Duplicate entry \"{name}\" in {list} list"
        )));
    }
    taken.push(key);
    Ok(())
}

fn in_place_of(value: Expr, column: Expr) -> Expr {
    let args = [value, column].map(|e| FunctionArg::Unnamed(FunctionArgExpr::Expr(e)));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::with_quote('"', IN_PLACE_OF)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: args.into(),
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}
