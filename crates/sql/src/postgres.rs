//! PostgreSQL's meaning of what DuckDB's dialect reads otherwise, put into a parsed statement: `/` of whole numbers cuts, `~` finds a
//! pattern anywhere, names behind `pg_catalog.` are those of functions and types, `regclass` and its kin read and show names, and
//! columns without a name are called as PostgreSQL calls them.
//!
//! What must hold: what the catalog stores of such a statement, a view's query or a default, means the same in every dialect: it has
//! a call there that both read alike.

use crate::calls::call;
use crate::cut_divide::divide;
use crate::declared_types::marked;
use crate::error::{Error, Result};
use crate::parser::Statement;
use crate::postgres_arrays::array_literal;
use crate::postgres_bytes::of_bytes;
use crate::postgres_casts::{
    AS_JSONB, bytes, cast, check_number, check_whole, is_day, look_at_whole, put_era, put_era_in,
    show_name,
};
use crate::postgres_comparisons::{compared, mark_compared};
use crate::postgres_conditions::divide_where_asked;
use crate::postgres_from::{
    Tables, name_tableoid, series_of_columns, series_of_moments, table_function,
};
use crate::postgres_functions::{
    MACROS, check_counts, date_part, extracted, of_any_count, show_formatted,
};
use crate::postgres_json::{list_of_json, object_of_lists};
use crate::postgres_literals::{self, mark_parts, mark_values, numeric_literal};
use crate::postgres_moments::{day_of_word, plain_day, plain_span, typed_day};
use crate::postgres_names::{ColumnName, name_calls, names};
use crate::postgres_ordered_sets::in_order;
use crate::postgres_parts::{overlaid, part_of};
use crate::postgres_patterns::{read_given, read_pattern, replaces_from, similar};
use crate::postgres_records::said_columns;
use crate::postgres_rows::{mark_row, names_of};
use crate::postgres_types::{self, OID_OF, POSTGRES_AVG, POSTGRES_SUM};
use crate::template::{drawn_once, template};
use crate::walk::visit_expressions_mut;
use sqlparser::ast::{
    self, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident,
    ObjectName, Query, Select, SelectItem, TableFactor, Value, VisitorMut,
};
use std::ops::ControlFlow;

/// Gives a statement PostgreSQL's meaning. Gives the names of the columns that it has, if it is a query.
///
/// # Errors
/// None now.
pub fn as_postgres(statement: &mut Statement) -> Result<Vec<ColumnName>> {
    let is_stored = match &*statement {
        Statement::CreateMacro(_) => true,
        Statement::Sql(statement) => matches!(
            **statement,
            ast::Statement::CreateView(_)
                | ast::Statement::CreateTable(_)
                | ast::Statement::AlterTable(_)
        ),
        _ => false,
    };
    let names = match statement {
        Statement::Sql(statement) => names(statement),
        _ => vec![],
    };
    if let Statement::Sql(statement) = statement {
        postgres_literals::mark_given(statement);
        type_columns(statement);
    }
    statement.visit(&mut Meaning {
        is_stored,
        depth: 0,
        tables: vec![],
        names: vec![],
    })?;
    if let Statement::Sql(statement) = statement {
        type_parameters(statement)?;
    }
    Ok(names)
}

/// `PREPARE p(type) AS ...`: the parameters become casts to their types.
fn type_parameters(statement: &mut ast::Statement) -> Result<()> {
    let ast::Statement::Prepare {
        data_types,
        statement,
        ..
    } = statement
    else {
        return Ok(());
    };
    let types = std::mem::take(data_types);
    let cast = |(at, ty): (usize, ast::DataType)| {
        let number = Value::Placeholder(format!("${}", at + 1));
        let data_type = postgres_types::plain(&ty).unwrap_or(ty);
        Expr::Nested(Box::new(Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(Expr::Value(number.into())),
            data_type,
            array: false,
            format: None,
        }))
    };
    let typed: Vec<Expr> = types.into_iter().enumerate().map(cast).collect();
    let _: ControlFlow<()> = visit_expressions_mut(statement, |expr| {
        if let Expr::Value(value) = expr
            && let Value::Placeholder(name) = &value.value
            && let Some(at) = name.strip_prefix('$').and_then(|n| n.parse::<usize>().ok())
            && let Some(typed) = at.checked_sub(1).and_then(|at| typed.get(at))
        {
            *expr = typed.clone();
        }
        ControlFlow::Continue(())
    });
    Ok(())
}

struct Meaning {
    /// Whether the catalog keeps the text.
    is_stored: bool,
    /// How many queries stand around.
    depth: usize,
    /// The tables of the SELECTs around.
    tables: Vec<Tables>,
    /// What the tables of each go by.
    names: Vec<Vec<Ident>>,
}

impl VisitorMut for Meaning {
    type Break = Box<Error>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        mark_values(query);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        name_calls(select, self.depth == 1 && !self.is_stored);
        if let Err(error) = series_of_columns(select) {
            return ControlFlow::Break(Box::new(error));
        }
        self.tables.push(Tables::of(select));
        self.names.push(names_of(select));
        for item in &mut select.projection {
            name_tableoid(item);
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                show_name(expr);
                series_as_rows(expr);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Self::Break> {
        self.tables.pop();
        self.names.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        let meant = match said_columns(factor) {
            Ok(false) => table_function(factor),
            said => said.map(drop),
        };
        match meant {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        divide_where_asked(expr);
        if let Some(names) = self.names.last() {
            mark_row(expr, names);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        mark_parts(expr);
        if !self.is_stored {
            mark_compared(expr);
        }
        let meaning = match compared(expr) {
            Ok(None) => self.replacement(expr),
            compared => compared,
        };
        match meaning {
            Ok(Some(new)) => *expr = new,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(Box::new(error)),
        }
        ControlFlow::Continue(())
    }
}

impl Meaning {
    /// What an expression becomes, if anything.
    fn replacement(&self, expr: &mut Expr) -> Result<Option<Expr>> {
        Ok(match expr {
            Expr::BinaryOp { left, op, right } => match divide(left, op, right, self.is_stored) {
                None => found_anywhere(left, op, right)?,
                divided => divided,
            },
            Expr::Like {
                pattern,
                escape_char: escape @ None,
                ..
            }
            | Expr::ILike {
                pattern,
                escape_char: escape @ None,
                ..
            } => {
                escape_by_backslash(pattern, escape);
                None
            }
            Expr::SimilarTo {
                pattern,
                escape_char,
                ..
            } => {
                similar(pattern, escape_char)?;
                None
            }
            Expr::Cast {
                kind,
                expr,
                data_type,
                ..
            } => self.cast(kind, expr, data_type)?,
            Expr::Value(value) => numeric_literal(&value.value)?,
            Expr::TypedString(text) if matches!(text.data_type, ast::DataType::Bytea) => {
                bytes(&Expr::Value(text.value.clone()))
            }
            Expr::TypedString(text) => self.typed(text)?,
            Expr::Interval(interval) => {
                if interval.leading_field.is_none() {
                    plain_span(&mut interval.value);
                }
                None
            }
            Expr::Identifier(name) if name.quote_style.is_none() => match known_word(name)? {
                None => Tables::meaning(&self.tables, expr)?,
                known => known,
            },
            Expr::CompoundIdentifier(_) => Tables::meaning(&self.tables, expr)?,
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => {
                if let Some(list) = array_literal(right) {
                    **right = list;
                }
                None
            }
            Expr::Function(function) => self::function(function)?,
            Expr::Extract { field, expr, .. } => extracted(&field.to_string(), expr)?,
            Expr::Position { .. } => {
                let found = std::slice::from_ref(expr);
                Some(template("CAST($1 AS INTEGER)", found)?)
            }
            Expr::Substring { .. } => part_of(expr)?,
            Expr::Overlay { .. } => overlaid(expr),
            _ => None,
        })
    }

    /// What `DATE 'text'` and its like become, if anything.
    fn typed(&self, text: &mut ast::TypedString) -> Result<Option<Expr>> {
        if is_day(&text.data_type) {
            put_era_in(&mut text.value.value);
        }
        check_number(&Expr::Value(text.value.clone()), &text.data_type)?;
        let word = typed_day(text, self.is_stored)?;
        if word.is_some() || !is_of_digits(&text.data_type) {
            return Ok(word);
        }
        let literal = Expr::Value(text.value.clone());
        Ok(cast(&literal, &mut text.data_type))
    }

    /// What a cast becomes, if anything.
    fn cast(
        &self,
        kind: &ast::CastKind,
        expr: &mut Expr,
        data_type: &mut ast::DataType,
    ) -> Result<Option<Expr>> {
        if matches!(data_type, ast::DataType::Array(_))
            && let Some(list) = array_literal(expr)
        {
            *data_type = of_dimensions(data_type, &list);
            *expr = list;
        }
        if is_day(data_type) {
            put_era(expr);
            plain_day(expr);
            if let Some(day) = day_of_word(expr)?
                && !self.is_stored
            {
                *expr = day;
            }
        }
        if matches!(data_type, ast::DataType::Interval { .. }) {
            plain_span(expr);
        }
        check_whole(kind, expr, data_type)?;
        check_number(expr, data_type)?;
        look_at_whole(kind, expr, data_type);
        Ok(cast(expr, data_type))
    }
}

/// Whether a type says how many digits of its seconds are kept.
fn is_of_digits(ty: &ast::DataType) -> bool {
    matches!(
        ty,
        ast::DataType::Timestamp(Some(_), _) | ast::DataType::Time(Some(_), _)
    )
}

/// The type of arrays of an item, with as many dimensions as a list has: to PostgreSQL these are one type.
fn of_dimensions(ty: &ast::DataType, list: &Expr) -> ast::DataType {
    let (mut ty, mut item) = (ty.clone(), ty);
    let mut list = list;
    while let Expr::Array(ast::Array { elem, .. }) = list
        && let Some(first @ Expr::Array(_)) = elem.first()
    {
        match item {
            ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(inner, _))
                if matches!(**inner, ast::DataType::Array(_)) =>
            {
                item = inner;
            }
            _ => {
                ty = ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(Box::new(ty), None))
            }
        }
        list = first;
    }
    ty
}

/// A series in a select list has a row for each of its values.
fn series_as_rows(expr: &mut Expr) {
    if let Expr::Function(function) = expr
        && function
            .name
            .0
            .last()
            .and_then(|part| part.as_ident())
            .is_some_and(|name| name.value.eq_ignore_ascii_case("generate_series"))
    {
        *expr = call("unnest", vec![expr.clone()]);
    }
}

/// Has a backslash in a pattern of LIKE take the meaning of the letter behind it, where there may be one.
fn escape_by_backslash(pattern: &Expr, escape: &mut Option<ast::ValueWithSpan>) {
    if may_escape(pattern) {
        *escape = Some(Value::SingleQuotedString("\\".to_owned()).into());
    }
}

/// Whether a pattern of LIKE is, or may come to be, one in which a backslash takes the meaning of the letter behind it.
fn may_escape(pattern: &Expr) -> bool {
    match pattern {
        Expr::Nested(inner) => may_escape(inner),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text) => {
                text.contains('\\')
            }
            Value::Placeholder(_) => true,
            _ => false,
        },
        _ => false,
    }
}

/// Gives the columns that a statement defines PostgreSQL's types.
fn type_columns(statement: &mut ast::Statement) {
    let set = |ty: &mut ast::DataType| {
        if let Some(ours) = marked(ty).or_else(|| postgres_types::of_column(ty)) {
            *ty = ours;
        }
    };
    match statement {
        ast::Statement::CreateTable(create) => {
            create
                .columns
                .iter_mut()
                .for_each(|column| set(&mut column.data_type));
        }
        ast::Statement::AlterTable(alter) => {
            for operation in &mut alter.operations {
                match operation {
                    ast::AlterTableOperation::AddColumn { column_def, .. } => {
                        set(&mut column_def.data_type);
                    }
                    ast::AlterTableOperation::AlterColumn {
                        op: ast::AlterColumnOperation::SetDataType { data_type, .. },
                        ..
                    } => set(data_type),
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

/// `~` and its kin, which find a pattern anywhere in a text.
fn found_anywhere(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Option<Expr>> {
    let text = match op {
        BinaryOperator::PGRegexMatch => "regexp_matches($1, $2)",
        BinaryOperator::PGRegexNotMatch => "(NOT regexp_matches($1, $2))",
        BinaryOperator::PGExp => "power_as_postgres($1, $2)",
        BinaryOperator::PGRegexIMatch => "regexp_matches($1, $2, 'i')",
        BinaryOperator::PGRegexNotIMatch => "(NOT regexp_matches($1, $2, 'i'))",
        _ => return Ok(None),
    };
    let mut right = right.clone();
    if *op != BinaryOperator::PGExp {
        read_pattern(&mut right);
    }
    template(text, &[left.clone(), right]).map(Some)
}

/// Words that are calls without brackets.
fn known_word(name: &Ident) -> Result<Option<Expr>> {
    let text = match name.value.to_ascii_lowercase().as_str() {
        "current_user" | "session_user" | "user" | "current_role" => "session_user_name()",
        "current_catalog" => "current_database()",
        "current_schema" => "current_schema()",
        _ => return Ok(None),
    };
    template(text, &[]).map(Some)
}

/// PostgreSQL's functions that are ours under another name, with any arguments.
pub(crate) const OTHER_NAMES: [(&str, &str); 14] = [
    ("sum", POSTGRES_SUM),
    ("avg", POSTGRES_AVG),
    ("every", "bool_and"),
    ("json_build_object", "json_object_as_postgres"),
    ("jsonb_build_object", "json_object_as_postgres"),
    ("json_build_array", "json_array_as_postgres"),
    ("jsonb_build_array", "json_array_as_postgres"),
    ("to_json", "to_json_as_postgres"),
    ("row_to_json", "to_json_as_postgres"),
    ("to_jsonb", "to_json_as_postgres"),
    ("array_to_json", "to_json_as_postgres"),
    ("json_object_agg", "json_group_object"),
    ("jsonb_object_agg", "json_group_object"),
    ("format", "format_as_postgres"),
];

/// Whether a schema is one of those that are PostgreSQL's own.
fn is_system_schema(name: &str) -> bool {
    ["pg_catalog", "information_schema"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// `nextval('s'::regclass)`: the name alone says which. Whether it is such a call.
fn takes_a_sequence(name: &str, args: &[Expr], function: &mut Function) -> bool {
    if ["nextval", "currval", "setval"].contains(&name)
        && let Some(Expr::Function(first)) = args.first()
        && first.name.to_string() == OID_OF[0]
        && let FunctionArguments::List(inner) = &first.args
        && let Some(written) = inner.args.first().cloned()
        && let FunctionArguments::List(list) = &mut function.args
        && let Some(place) = list.args.first_mut()
    {
        *place = written;
        return true;
    }
    false
}

/// What a call means.
fn function(function: &mut Function) -> Result<Option<Expr>> {
    if let [schema, name] = function.name.0.as_slice()
        && schema
            .as_ident()
            .is_some_and(|schema| is_system_schema(&schema.value))
    {
        function.name = ObjectName(vec![name.clone()]);
    }
    let [part] = function.name.0.as_slice() else {
        return Ok(None);
    };
    let name = part.as_ident().map(|name| name.value.to_lowercase());
    let name = name.unwrap_or_default();
    check_counts(&name, function)?;
    if matches!(name.as_str(), "json_agg" | "jsonb_agg") {
        let list = list_of_json(function)?;
        return Ok(match name.as_str() {
            "jsonb_agg" => list.map(|list| call(AS_JSONB, vec![list])),
            _ => list,
        });
    }
    if let Some((_, ours)) = OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        function.name = ObjectName::from(vec![Ident::new(*ours)]);
        show_formatted(&name, &mut function.args);
        let is_jsonb = name.contains("jsonb");
        return Ok(is_jsonb.then(|| call(AS_JSONB, vec![Expr::Function(function.clone())])));
    }
    let args = match &function.args {
        FunctionArguments::List(list) if list.clauses.is_empty() => &list.args,
        _ => return Ok(None),
    };
    if let Some(meaning) = in_order(&name, function)? {
        return Ok(Some(meaning));
    }
    if let Some(meaning) = of_any_count(&name, args)? {
        return Ok(Some(meaning));
    }
    let plain = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let Some(mut args) = plain.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    read_given(&name, &mut args, function);
    if takes_a_sequence(&name, &args, function) {
        return Ok(None);
    }
    match name.as_str() {
        "generate_series" => return series_of_moments(&args),
        "date_part" => return date_part(&args),
        _ => {}
    }
    if replaces_from(&name, &args) {
        let text = "regexp_replace_as_postgres($1, $2, $3, $4, 1, '')";
        return template(text, &args).map(Some);
    }
    if let Some(meaning) = of_bytes(&name, &args)? {
        return Ok(Some(meaning));
    }
    if let Some(meaning) = object_of_lists(&name, &args)? {
        return Ok(Some(meaning));
    }
    let mut known = MACROS.iter();
    match known.find(|(known, count, _)| *known == name && *count == args.len()) {
        Some((.., text)) if function.over.is_none() => drawn_once(text, &args).map(Some),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_reads_alike_in_both_dialects() {
        let mut statement = crate::parse("CREATE VIEW v AS SELECT a / 2 AS b FROM t").unwrap();
        as_postgres(&mut statement).unwrap();
        let Statement::Sql(statement) = statement else {
            panic!()
        };
        let text = statement.to_string();
        assert!(text.contains("divide_as_postgres(a, 2)"), "{text}");
        let query = crate::parse("SELECT pg_catalog.count(*) / 2 FROM t");
        let mut query = query.unwrap();
        as_postgres(&mut query).unwrap();
        let Statement::Sql(query) = query else {
            panic!()
        };
        assert_eq!(query.to_string(), "SELECT count(*) / 2 FROM t");
    }

    fn meant(sql: &str) -> (String, Vec<ColumnName>) {
        let mut statement = crate::parse(sql).unwrap();
        let names = as_postgres(&mut statement).unwrap();
        match statement {
            Statement::Sql(statement) => (statement.to_string(), names),
            _ => panic!("{sql}"),
        }
    }

    #[test]
    fn texts_that_are_no_whole_numbers_are_refused_unless_that_is_tried() {
        let read = |sql: &str| as_postgres(&mut crate::parse(sql).unwrap());
        for sql in ["SELECT '4.5'::int", "SELECT CAST('' AS BIGINT)"] {
            assert_eq!(read(sql).unwrap_err().sqlstate(), "22P02", "{sql}");
        }
        for sql in ["SELECT TRY_CAST('4.5' AS int)", "SELECT ' -4 '::int"] {
            assert!(read(sql).is_ok(), "{sql}");
        }
    }

    #[test]
    fn the_catalogs_types_and_operators_are_read() {
        for (sql, means) in [
            (
                "SELECT a FROM t WHERE a OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default AND b",
                "SELECT a FROM t WHERE regexp_matches(a, (\"$collate\"('^(t)$', ''))) AND b",
            ),
            (
                "SELECT a FROM t WHERE o = 't'::pg_catalog.regclass",
                "SELECT a FROM t WHERE o = oid_of_regclass('t')",
            ),
            (
                "SELECT a FROM t WHERE o::regtype::text = 'x'",
                "SELECT a FROM t WHERE text_of_regtype(oid_of_regtype(o)) = 'x'",
            ),
            (
                "SELECT o::regclass AS r FROM t",
                "SELECT text_of_regclass(oid_of_regclass(o)) AS r FROM t",
            ),
            (
                "SELECT a FROM t WHERE k = ANY('{r,p}')",
                "SELECT a FROM t WHERE k = ANY(ARRAY['r', 'p'])",
            ),
            (
                "SELECT a FROM t WHERE user = b::pg_catalog.oid",
                "SELECT a FROM t WHERE session_user_name() = b::BIGINT",
            ),
            (
                "SELECT (SELECT max(s) FROM pg_catalog.generate_series(0, t.a) s, u) FROM t",
                "SELECT (SELECT max(s) AS \"max\" FROM (SELECT unnest(generate_series(0, t.a)) AS s) s, u) AS \"max\" FROM t",
            ),
            (
                "SELECT s FROM t, generate_series(1, t.a) s",
                "SELECT s FROM t, UNNEST(generate_series(1, t.a)) s (s)",
            ),
        ] {
            assert_eq!(meant(sql).0, means);
        }
    }

    #[test]
    fn columns_are_called_as_in_postgresql() {
        let names = |sql: &str| meant(sql).1;
        let some = |name: &str| ColumnName::Called(name.to_owned());
        assert_eq!(
            names(
                "SELECT count(*), 1, a::text, '1'::int, CASE WHEN a THEN b END, t.*, (SELECT max(x) FROM u), true FROM t"
            ),
            [
                some("count"),
                some("?column?"),
                some("a"),
                some("int4"),
                some("case"),
                ColumnName::Star,
                some("max"),
                some("?column?")
            ]
        );
        let said = names("SELECT t.*, b, 2, b FROM t");
        let planned = ["x", "y", "b", "2", "b_1"].map(str::to_owned);
        assert_eq!(
            crate::postgres_columns(&said, &planned),
            ["x", "y", "b", "?column?", "b"]
        );
        let inner = meant("SELECT count FROM (SELECT count(*) FROM t) s").0;
        assert_eq!(
            inner,
            "SELECT count FROM (SELECT count(*) AS \"count\" FROM t) s"
        );
    }
}
