//! PostgreSQL's meaning of what DuckDB's dialect reads otherwise, put into a parsed statement: `/` of whole numbers cuts, `~` finds a
//! pattern anywhere, names behind `pg_catalog.` are those of functions and types, `regclass` and its kin read and show names, and
//! columns without a name are called as PostgreSQL calls them.
//!
//! What must hold: what the catalog stores of such a statement, a view's query or a default, means the same in every dialect: it has
//! a call there that both read alike.

use crate::calls::call;
use crate::cut_divide::divide;
use crate::error::{Error, Result};
use crate::parser::Statement;
use crate::postgres_arrays::array_literal;
use crate::postgres_byte_texts::postgres_bytes;
use crate::postgres_bytes::of_bytes;
use crate::postgres_conditions::divide_where_asked;
use crate::postgres_formats::{of_format, to_char};
use crate::postgres_from::{
    Tables, name_tableoid, series_of_columns, series_of_moments, table_function,
};
use crate::postgres_functions::{MACROS, date_part, extracted};
use crate::postgres_literals::{self, mark_parts, mark_values};
use crate::postgres_names::{ColumnName, name_calls, names};
use crate::postgres_patterns::similar;
use crate::postgres_types::{self, NUMERIC_CAST, OID_OF, POSTGRES_AVG, POSTGRES_SUM, TEXT_OF};
use crate::template::template;
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
        Statement::Sql(statement) => match statement.as_ref() {
            ast::Statement::Query(query) => names(query),
            _ => vec![],
        },
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
        for item in &mut select.projection {
            name_tableoid(item);
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                show_name(expr);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Self::Break> {
        self.tables.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        match table_function(factor) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(Box::new(error)),
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        divide_where_asked(expr);
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        mark_parts(expr);
        match self.replacement(expr) {
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
            Expr::SimilarTo {
                pattern,
                escape_char,
                ..
            } => {
                similar(pattern, escape_char)?;
                None
            }
            Expr::Cast {
                expr, data_type, ..
            } => {
                if matches!(data_type, ast::DataType::Array(_))
                    && let Some(list) = array_literal(expr)
                {
                    **expr = list;
                }
                if is_day(data_type) {
                    put_era(expr);
                }
                cast(expr, data_type)
            }
            Expr::TypedString(text) if matches!(text.data_type, ast::DataType::Bytea) => {
                bytes(&Expr::Value(text.value.clone()))
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
            Expr::Substring {
                expr: text,
                substring_from: Some(pattern),
                substring_for: None,
                ..
            } => found_part(text, pattern)?,
            _ => None,
        })
    }
}

/// A value of a type that stands for a name is shown as that name.
fn show_name(expr: &mut Expr) {
    let shown = match expr {
        Expr::Cast {
            expr, data_type, ..
        } => postgres_types::named(data_type).map(|kind| {
            call(
                TEXT_OF[kind],
                vec![call(OID_OF[kind], vec![expr.as_ref().clone()])],
            )
        }),
        _ => None,
    };
    if let Some(shown) = shown {
        *expr = shown;
    }
}

/// The function that a cast to text is.
pub const POSTGRES_TEXT: &str = "postgres_text";

/// A cast to a type that only PostgreSQL has, or to text, which some values are in another writing there.
fn cast(expr: &Expr, data_type: &mut ast::DataType) -> Option<Expr> {
    if let Some(kind) = postgres_types::named(data_type) {
        return Some(call(OID_OF[kind], vec![expr.clone()]));
    }
    if postgres_types::is_text(data_type)
        && let Expr::Function(function) = expr
        && let Some(kind) = OID_OF
            .iter()
            .position(|name| function.name.to_string() == *name)
    {
        return Some(call(TEXT_OF[kind], vec![expr.clone()]));
    }
    if postgres_types::is_text(data_type) && !is_plain(expr) {
        let text = call(POSTGRES_TEXT, vec![expr.clone()]);
        return Some(match postgres_types::letters_of(data_type) {
            Some(letters) => cut(text, letters),
            None => text,
        });
    }
    if let Some(letters) = postgres_types::letters_of(data_type) {
        let text = Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(expr.clone()),
            data_type: ast::DataType::Varchar(None),
            array: false,
            format: None,
        };
        return Some(cut(text, letters));
    }
    if matches!(data_type, ast::DataType::Bytea)
        && let Some(bytes) = bytes(expr)
    {
        return Some(bytes);
    }
    if postgres_types::is_bare_numeric(data_type) {
        match written_number(expr).and_then(postgres_types::numeric_of) {
            Some(digits) => *data_type = digits,
            None => return Some(call(NUMERIC_CAST, vec![expr.clone()])),
        }
    }
    if let Some(plain) = postgres_types::plain(data_type) {
        *data_type = plain;
    }
    None
}

/// The first letters of a text.
fn cut(text: Expr, letters: u64) -> Expr {
    let letters = Expr::Value(Value::Number(letters.to_string(), false).into());
    call("left", vec![text, letters])
}

/// The number that a literal is, as it is written.
fn written_number(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Nested(inner) => written_number(inner),
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) | Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// Gives the columns that a statement defines PostgreSQL's types.
fn type_columns(statement: &mut ast::Statement) {
    let set = |ty: &mut ast::DataType| {
        if let Some(ours) = postgres_types::of_column(ty) {
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

fn is_day(data_type: &ast::DataType) -> bool {
    matches!(
        data_type,
        ast::DataType::Date | ast::DataType::Timestamp(..)
    )
}

/// Puts the era of a literal where DuckDB has it: behind the day, and not behind the time.
fn put_era(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => put_era(inner),
        Expr::Value(value) => {
            if let Value::SingleQuotedString(text) = &mut value.value
                && let Some(era) = era_behind_day(text)
            {
                *text = era;
            }
        }
        _ => {}
    }
}

/// A date or timestamp that ends in ` BC`, as PostgreSQL writes it, in DuckDB's order: `0044-03-15 (BC) 00:00:01`.
/// `None` when it has no era.
pub fn era_behind_day(text: &str) -> Option<String> {
    let text = text.trim();
    let at = text.len().checked_sub(3)?;
    let (text, era) = text.split_at_checked(at)?;
    let (day, rest) = text.split_at(text.find([' ', 'T']).unwrap_or(text.len()));
    era.eq_ignore_ascii_case(" bc")
        .then(|| format!("{day} (BC){rest}"))
}

/// Whether an expression is a literal or a parameter, whose type a cast says.
fn is_plain(expr: &Expr) -> bool {
    match expr {
        Expr::Value(_) => true,
        Expr::Nested(inner) => is_plain(inner),
        _ => false,
    }
}

/// The bytes that a text means, which DuckDB would read otherwise.
fn bytes(expr: &Expr) -> Option<Expr> {
    let Expr::Value(value) = expr else {
        return None;
    };
    let (Value::SingleQuotedString(text) | Value::EscapedStringLiteral(text)) = &value.value else {
        return None;
    };
    let bytes = postgres_bytes(text).filter(|_| text.contains('\\'))?;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let digits = Expr::Value(Value::SingleQuotedString(digits).into());
    Some(call("unhex", vec![digits]))
}

/// `~` and its kin, which find a pattern anywhere in a text.
fn found_anywhere(left: &Expr, op: &BinaryOperator, right: &Expr) -> Result<Option<Expr>> {
    let text = match op {
        BinaryOperator::PGRegexMatch => "regexp_matches($1, $2)",
        BinaryOperator::PGRegexNotMatch => "(NOT regexp_matches($1, $2))",
        BinaryOperator::PGRegexIMatch => "regexp_matches($1, $2, 'i')",
        BinaryOperator::PGRegexNotIMatch => "(NOT regexp_matches($1, $2, 'i'))",
        _ => return Ok(None),
    };
    template(text, &[left.clone(), right.clone()]).map(Some)
}

/// `substring(text FROM 'pattern')`: what the brackets of a pattern find, or all that it finds.
fn found_part(text: &Expr, pattern: &Expr) -> Result<Option<Expr>> {
    let Expr::Value(value) = pattern else {
        return Ok(None);
    };
    let Value::SingleQuotedString(written) = &value.value else {
        return Ok(None);
    };
    let plain = written.replace("\\\\", "").replace("\\(", "");
    let brackets = plain.replace("(?:", "").matches('(').count();
    let found = match brackets.min(1) {
        0 => "CASE WHEN regexp_matches($1, $2) THEN regexp_extract($1, $2) END",
        _ => "CASE WHEN regexp_matches($1, $2) THEN regexp_extract($1, $2, 1) END",
    };
    template(found, &[text.clone(), pattern.clone()]).map(Some)
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
const OTHER_NAMES: [(&str, &str); 15] = [
    ("sum", POSTGRES_SUM),
    ("avg", POSTGRES_AVG),
    ("every", "bool_and"),
    ("json_build_object", "json_object"),
    ("jsonb_build_object", "json_object"),
    ("json_build_array", "json_array"),
    ("jsonb_build_array", "json_array"),
    ("to_jsonb", "to_json"),
    ("array_to_json", "to_json"),
    ("json_object_agg", "json_group_object"),
    ("jsonb_object_agg", "json_group_object"),
    ("json_agg", "json_group_array"),
    ("jsonb_agg", "json_group_array"),
    ("jsonb_pretty", "json_pretty"),
    ("format", "format_as_postgres"),
];

/// Whether a schema is one of those that are PostgreSQL's own.
fn is_system_schema(name: &str) -> bool {
    ["pg_catalog", "information_schema"]
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known))
}

/// `json_agg(x ORDER BY y)`, since JSON's own aggregate knows no order: its items as text, which is put together in that order.
fn ordered_json(function: &Function) -> Result<Option<Expr>> {
    let FunctionArguments::List(list) = &function.args else {
        return Ok(None);
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(item))] = list.args.as_slice() else {
        return Ok(None);
    };
    let text = "coalesce(CAST(to_json($1) AS VARCHAR), 'null')";
    let item = template(text, std::slice::from_ref(item))?;
    let comma = Expr::Value(Value::SingleQuotedString(",".to_owned()).into());
    let mut joined = function.clone();
    joined.name = ObjectName::from(vec![Ident::new("string_agg")]);
    if let FunctionArguments::List(list) = &mut joined.args {
        let args = [item, comma].map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)));
        list.args = args.into();
    }
    let text = "CAST('[' || $1 || ']' AS JSON)";
    template(text, &[Expr::Function(joined)]).map(Some)
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
    let is_ordered =
        matches!(&function.args, FunctionArguments::List(list) if !list.clauses.is_empty());
    if is_ordered && matches!(name.as_str(), "json_agg" | "jsonb_agg") {
        return ordered_json(function);
    }
    if let Some((_, ours)) = OTHER_NAMES.iter().find(|(other, _)| *other == name) {
        function.name = ObjectName::from(vec![Ident::new(*ours)]);
        return Ok(None);
    }
    let args = match &function.args {
        FunctionArguments::List(list) if list.clauses.is_empty() => &list.args,
        _ => return Ok(None),
    };
    let plain = args.iter().map(|arg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let Some(args) = plain.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    // `nextval('s'::regclass)`: the name alone says which.
    if ["nextval", "currval", "setval"].contains(&name.as_str())
        && let Some(Expr::Function(first)) = args.first()
        && first.name.to_string() == OID_OF[0]
        && let FunctionArguments::List(inner) = &first.args
        && let Some(written) = inner.args.first().cloned()
        && let FunctionArguments::List(list) = &mut function.args
        && let Some(place) = list.args.first_mut()
    {
        *place = written;
        return Ok(None);
    }
    match name.as_str() {
        "generate_series" => return series_of_moments(&args),
        "to_char" => return to_char(&args),
        "date_part" => return date_part(&args),
        _ => {}
    }
    for meaning in [of_bytes(&name, &args)?, of_format(&name, &args)?] {
        if meaning.is_some() {
            return Ok(meaning);
        }
    }
    let mut known = MACROS.iter();
    match known.find(|(known, count, _)| *known == name && *count == args.len()) {
        Some((.., text)) if function.over.is_none() => template(text, &args).map(Some),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_era_goes_behind_the_day() {
        let written = era_behind_day("0044-03-15 00:00:01 bc");
        assert_eq!(written.as_deref(), Some("0044-03-15 (BC) 00:00:01"));
        assert_eq!(
            era_behind_day("0044-03-15 BC").as_deref(),
            Some("0044-03-15 (BC)")
        );
        assert_eq!(era_behind_day("2024-01-01"), None);
        assert_eq!(era_behind_day("BC"), None);
    }

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
    fn the_catalogs_types_and_operators_are_read() {
        for (sql, means) in [
            (
                "SELECT a FROM t WHERE a OPERATOR(pg_catalog.~) '^(t)$' COLLATE pg_catalog.default AND b",
                "SELECT a FROM t WHERE regexp_matches(a, ('^(t)$' COLLATE pg_catalog.default)) AND b",
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
                some("bool")
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
