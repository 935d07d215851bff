//! SQL type names on one side, `ColumnType` and Arrow types on the other. The names are DuckDB's.
//!
//! What must hold: a type without a home in the file is refused here, by name. The fields of a `row(...)` are named by their
//! places, which no type in a file is.

use super::calls::quoted_call;
use super::declared_types::plain_type as plain_type_of_declared;
use super::postgres_types::{NUMERIC_SCALE, STORED_NUMERIC};
use super::reading::parse_data_type;
use super::type_parameters::{no_parameters, refuse_parameters};
use super::{folded, quote};
use crate::error::{Error, Result};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, TimeUnit};
use hushdb_storage::{
    ArrayType, BIT, Collation, ColumnType, EnumType, HUGEINT, MAX_TYPE_DEPTH, MAX_TYPES_IN_TYPE,
    MapType, TIMETZ, UHUGEINT, UnionType, plain_item,
};
pub use hushdb_storage::{called_json, is_called_json};
use sqlparser::ast::{
    self, ArrayElemTypeDef, DataType as SqlType, EnumMember, ExactNumberInfo, StructField,
    TimezoneInfo, UnionField,
};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Arrow's extension name for a UUID in 16 bytes.
const UUID_EXTENSION: &str = "arrow.uuid";
const EXTENSION_KEY: &str = "ARROW:extension:name";

/// What says in the metadata of a field by which collation its texts are compared.
const COLLATION_KEY: &str = "hushdb.collation";

/// DuckDB's default for a bare `DECIMAL`.
const DEFAULT_DECIMAL: (u8, i8) = (18, 3);

/// The column type that a text names.
pub fn named_type(text: &str) -> Result<ColumnType> {
    let parsed = parse_data_type(text);
    column_type(
        &parsed.map_err(|_| Error::binder(format!("\"{text}\" is not the name of a type")))?,
    )
}

/// The column type that a SQL type name stands for.
pub fn column_type(sql: &SqlType) -> Result<ColumnType> {
    use ColumnType as C;
    use SqlType as S;
    if let Some(plain) = plain_type_of_declared(sql) {
        return column_type(&plain);
    }
    refuse_parameters(sql)?;
    Ok(match sql {
        S::Boolean | S::Bool => C::Boolean,
        S::TinyInt(_) => C::Int8,
        S::SmallInt(_) | S::Int2(_) | S::Int16 => C::Int16,
        S::Int(_) | S::Integer(_) | S::Int4(_) | S::Int32 | S::Signed | S::SignedInteger => {
            C::Int32
        }
        S::BigInt(_) | S::Int8(_) | S::Int64 => C::Int64,
        S::UTinyInt | S::TinyIntUnsigned(_) | S::UInt8 => C::UInt8,
        S::USmallInt | S::SmallIntUnsigned(_) | S::Int2Unsigned(_) | S::UInt16 => C::UInt16,
        S::IntUnsigned(_) | S::IntegerUnsigned(_) | S::Int4Unsigned(_) | S::UInt32 => C::UInt32,
        S::UBigInt | S::BigIntUnsigned(_) | S::Int8Unsigned(_) | S::UInt64 => C::UInt64,
        S::Float(ExactNumberInfo::None) | S::Real | S::Float4 | S::Float32 => C::Float,
        S::Float(ExactNumberInfo::Precision(p)) if *p <= 24 => C::Float,
        S::Float(ExactNumberInfo::Precision(_)) => C::Double,
        S::Double(_) | S::DoublePrecision | S::Float8 | S::Float64 => C::Double,
        S::Decimal(n) | S::Numeric(n) | S::Dec(n) => decimal(n)?,
        S::Varchar(_)
        | S::Char(_)
        | S::Character(_)
        | S::CharacterVarying(_)
        | S::CharVarying(_)
        | S::Text
        | S::String(_)
        | S::Nvarchar(_) => C::Varchar,
        S::Blob(_) | S::Bytea | S::Binary(_) | S::Varbinary(_) => C::Blob,
        S::Date | S::Date32 => C::Date,
        S::Time(_, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => C::Time,
        S::Time(_, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone) => C::TimeTz,
        S::Timestamp(precision, zone) => {
            let zoned = matches!(zone, TimezoneInfo::Tz | TimezoneInfo::WithTimeZone);
            C::Timestamp(timestamp_unit(*precision)?, zoned)
        }
        S::Datetime(precision) => C::Timestamp(timestamp_unit(*precision)?, false),
        S::Interval { .. } => C::Interval,
        S::Uuid => C::Uuid,
        // As in DuckDB, a number of bits says nothing.
        S::Bit(_) | S::BitVarying(_) | S::VarBit(_) => C::Bit,
        S::Array(ArrayElemTypeDef::SquareBracket(item, None)) => {
            sound(C::List(Box::new(column_type(item)?)))?
        }
        S::Array(ArrayElemTypeDef::SquareBracket(item, Some(length))) => {
            sound(C::Array(array_of(column_type(item)?, *length)?))?
        }
        S::Struct(fields, _) => sound(C::Struct(struct_fields(fields)?))?,
        S::Map(key, value) => sound(C::Map(MapType::new(column_type(key)?, column_type(value)?)))?,
        S::Union(members) => C::Union(union_of(members)?),
        S::Enum(members, None) => C::Enum(listed(members)?),
        S::Custom(name, modifiers) => return custom(&name.to_string(), modifiers),
        S::HugeInt | S::Int128 => C::HugeInt,
        S::UHugeInt | S::UInt128 => C::UHugeInt,
        S::JSON => C::Json,
        other => return Err(refused(&other.to_string())),
    })
}

fn listed(members: &[EnumMember]) -> Result<EnumType> {
    let values = members.iter().map(|member| match member {
        EnumMember::Name(value) => Ok(value.clone()),
        EnumMember::NamedValue(..) => Err(Error::parser(
            "the values of an ENUM are texts alone: ENUM('a', 'b')",
        )),
    });
    enum_of(values.collect::<Result<_>>()?)
}

/// The ENUM of these values.
///
/// # Errors
/// `Invalid` if one is there twice; `Unsupported` if there are too many.
pub fn enum_of(values: Vec<String>) -> Result<EnumType> {
    let mut seen = HashSet::new();
    if let Some(twice) = values.iter().find(|value| !seen.insert(value.as_str())) {
        return Err(Error::invalid(format!(
            "Attempted to create ENUM type with duplicate value {twice}"
        )));
    }
    EnumType::new(values).ok_or_else(|| {
        Error::unsupported(format!(
            "an ENUM has at most {} values, of {} bytes together",
            EnumType::MAX_VALUES,
            EnumType::MAX_BYTES
        ))
    })
}

fn union_of(members: &[UnionField]) -> Result<UnionType> {
    let mut names = HashSet::new();
    let mut named = Vec::with_capacity(members.len());
    for member in members {
        let name = member.field_name.value.clone();
        if !names.insert(folded(&name)) {
            return Err(Error::binder(format!(
                "Duplicate UNION type member name \"{name}\""
            )));
        }
        named.push((name, column_type(&member.field_type)?));
    }
    sound_union(named)
}

fn sound_union(members: Vec<(String, ColumnType)>) -> Result<UnionType> {
    let union = UnionType::new(members).ok_or_else(|| {
        let most = UnionType::MAX_MEMBERS;
        Error::binder(format!("UNION types can have at most {most} members"))
    })?;
    sound(ColumnType::Union(union.clone())).map(|_| union)
}

/// The type of so many values of a type.
fn array_of(item: ColumnType, length: u64) -> Result<ArrayType> {
    let known = u32::try_from(length).unwrap_or(u32::MAX);
    ArrayType::new(item, known).ok_or_else(|| match known {
        0 => Error::binder("ARRAY type size must be at least 1"),
        _ => {
            let most = ArrayType::MAX_LENGTH;
            Error::binder(format!("ARRAY type size must be at most {most}"))
        }
    })
}

/// Whether an Arrow type stands for an ENUM.
pub fn is_enum(of: &DataType) -> bool {
    enum_type(of).is_some()
}

/// Whether an Arrow type is that of STRUCTs, and stands for no other.
pub fn is_struct(of: &DataType) -> bool {
    let is_other = || is_enum(of) || UnionType::members_of(of).is_some();
    matches!(of, DataType::Struct(_)) && !is_other()
}

/// The ENUM that an Arrow type stands for, if it does.
///
/// What was looked up last is kept for each thread: values are shown one by one.
pub fn enum_type(of: &DataType) -> Option<EnumType> {
    thread_local! {
        static LAST: RefCell<Option<(Fields, EnumType)>> = const { RefCell::new(None) };
    }
    let DataType::Struct(fields) = of else {
        return None;
    };
    LAST.with_borrow_mut(|last| {
        if let Some((known, found)) = last
            && std::ptr::eq(known.as_ptr(), fields.as_ptr())
        {
            return Some(found.clone());
        }
        let found = EnumType::of_fields(fields)?;
        *last = Some((fields.clone(), found.clone()));
        Some(found)
    })
}

fn struct_fields(fields: &[StructField]) -> Result<Vec<(String, ColumnType)>> {
    let mut named: Vec<(String, ColumnType)> = Vec::with_capacity(fields.len());
    for field in fields {
        let name = field.field_name.as_ref().map(|name| name.value.clone());
        let name = name.ok_or_else(|| Error::binder("a field of a STRUCT needs a name"))?;
        named.push((name, column_type(&field.field_type)?));
    }
    Ok(named)
}

/// A nested type, if its fields have names of their own and it is within what a file takes.
fn sound(ty: ColumnType) -> Result<ColumnType> {
    if let ColumnType::Struct(fields) = &ty {
        let mut names = HashSet::new();
        let mut fields_twice = fields.iter().map(|(name, _)| name);
        if let Some(name) = fields_twice.find(|name| !names.insert(folded(name))) {
            return Err(Error::binder(format!(
                "Duplicate STRUCT type argument name \"{name}\""
            )));
        }
        if fields.is_empty() {
            return Err(Error::binder("Can't pack nothing into a struct"));
        }
    }
    match ty.is_valid() {
        true => Ok(ty),
        false => Err(Error::unsupported(format!(
            "a type is nested at most {MAX_TYPE_DEPTH} deep and has at most {MAX_TYPES_IN_TYPE} types in it"
        ))),
    }
}

/// The name of the `n`th field of what `row(...)` gives, which has no names.
pub fn row_field(n: usize) -> String {
    format!("${n}")
}

/// Whether fields are those of a `row(...)`.
pub fn is_row(fields: &Fields) -> bool {
    let mut named = fields.iter().enumerate();
    !fields.is_empty() && named.all(|(n, field)| *field.name() == row_field(n + 1))
}

fn refused(name: &str) -> Error {
    Error::unsupported(format!(
        "type {name} cannot be stored; use one of BOOLEAN, TINYINT to HUGEINT, UTINYINT to UHUGEINT, FLOAT, DOUBLE, \
         DECIMAL(p,s), VARCHAR, JSON, BLOB, DATE, TIME, TIMESTAMP, INTERVAL, UUID, ENUM('a', 'b'), and lists (INTEGER[]), arrays (INTEGER[3]), STRUCTs (STRUCT(a INTEGER)), MAPs (MAP(VARCHAR, INTEGER)) and UNIONs (UNION(a INTEGER, b VARCHAR)) of them"
    ))
}

fn custom(name: &str, modifiers: &[String]) -> Result<ColumnType> {
    use ColumnType as C;
    if !modifiers.is_empty() {
        return with_parameters(name, modifiers);
    }
    Ok(match name.trim_matches('"').to_ascii_lowercase().as_str() {
        "uinteger" => C::UInt32,
        "usmallint" => C::UInt16,
        "utinyint" => C::UInt8,
        "ubigint" => C::UInt64,
        "hugeint" | "int128" => C::HugeInt,
        "uhugeint" | "uint128" => C::UHugeInt,
        "int1" => C::Int8,
        "short" => C::Int16,
        "long" => C::Int64,
        "signed" => C::Int32,
        "logical" => C::Boolean,
        "bpchar" | "string" => C::Varchar,
        "timestamp_s" => C::Timestamp(TimeUnit::Second, false),
        "timestamp_ms" => C::Timestamp(TimeUnit::Millisecond, false),
        "timestamp_us" | "datetime" => C::Timestamp(TimeUnit::Microsecond, false),
        "timestamp_ns" => C::Timestamp(TimeUnit::Nanosecond, false),
        "timestamptz" => C::Timestamp(TimeUnit::Microsecond, true),
        "timetz" => C::TimeTz,
        "bitstring" => C::Bit,
        "uuid" | "guid" => C::Uuid,
        "blob" | "bytea" => C::Blob,
        _ => {
            return Err(Error::catalog(format!(
                "Type with name {name} does not exist!"
            )));
        }
    })
}

/// A type with something in brackets: how long a text is says nothing, as in DuckDB.
fn with_parameters(name: &str, given: &[String]) -> Result<ColumnType> {
    let is_length = matches!(given, [length] if length.parse::<u32>().is_ok());
    let named = match name.trim_matches('"').to_ascii_lowercase().as_str() {
        "text" => ColumnType::Varchar,
        "json" => ColumnType::Json,
        "uuid" => ColumnType::Uuid,
        "date" => ColumnType::Date,
        _ => custom(name, &[])?,
    };
    let takes_length = [ColumnType::Varchar, ColumnType::Bit].contains(&named);
    match takes_length && is_length {
        true => Ok(named),
        false => Err(no_parameters(&column_type_name(&named))),
    }
}

fn timestamp_unit(precision: Option<u64>) -> Result<TimeUnit> {
    match precision {
        None => Ok(TimeUnit::Microsecond),
        Some(0) => Ok(TimeUnit::Second),
        Some(1..=3) => Ok(TimeUnit::Millisecond),
        Some(4..=6) => Ok(TimeUnit::Microsecond),
        Some(7..=9) => Ok(TimeUnit::Nanosecond),
        Some(_) => Err(Error::parser(
            "TIMESTAMP only supports until nano-second precision (9)",
        )),
    }
}

fn decimal(info: &ExactNumberInfo) -> Result<ColumnType> {
    let (precision, scale) = match info {
        ExactNumberInfo::None => (u64::from(DEFAULT_DECIMAL.0), i64::from(DEFAULT_DECIMAL.1)),
        ExactNumberInfo::Precision(p) => (*p, 0),
        ExactNumberInfo::PrecisionAndScale(p, s) => (*p, *s),
    };
    if !(1..=38).contains(&precision) {
        return Err(Error::binder("DECIMAL type width must be between 1 and 38"));
    }
    if scale < 0 || scale > precision as i64 {
        return Err(Error::binder(
            "DECIMAL type scale cannot be greater than width",
        ));
    }
    Ok(ColumnType::Decimal {
        precision: precision as u8,
        scale: scale as i8,
    })
}

/// The column type in which values of an Arrow type are stored, for CREATE TABLE AS.
///
/// # Errors
/// `Unsupported`, with the type's SQL name, when there is none.
pub fn stored_type(field: &Field) -> Result<ColumnType> {
    match (is_called_json(field), collation_of(field)) {
        (true, _) => Ok(ColumnType::Json),
        (false, Some(collation)) => Ok(ColumnType::Collated(collation)),
        (false, None) => plain_type(field),
    }
}

/// The same of what is within another type, where a text has no collation.
fn type_within(field: &Field) -> Result<ColumnType> {
    match is_called_json(field) {
        true => Ok(ColumnType::Json),
        false => plain_type(field),
    }
}

/// The same of the items of a list.
fn item_type(item: &Field) -> Result<ColumnType> {
    type_within(&plain_item(item))
}

/// The same but for what a field says of its texts.
fn plain_type(field: &Field) -> Result<ColumnType> {
    use ColumnType as C;
    Ok(match field.data_type() {
        DataType::Boolean => C::Boolean,
        DataType::Int8 => C::Int8,
        DataType::Int16 => C::Int16,
        // DuckDB gives an untyped NULL column the type INTEGER.
        DataType::Int32 | DataType::Null => C::Int32,
        DataType::Int64 => C::Int64,
        DataType::UInt8 => C::UInt8,
        DataType::UInt16 => C::UInt16,
        DataType::UInt32 => C::UInt32,
        DataType::UInt64 => C::UInt64,
        DataType::Float16 | DataType::Float32 => C::Float,
        DataType::Float64 => C::Double,
        DataType::Decimal32(p, s) | DataType::Decimal64(p, s) | DataType::Decimal128(p, s)
            if *s >= 0 =>
        {
            C::Decimal {
                precision: *p,
                scale: *s,
            }
        }
        of if *of == HUGEINT => C::HugeInt,
        of if *of == UHUGEINT => C::UHugeInt,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => C::Varchar,
        of if *of == BIT => C::Bit,
        DataType::FixedSizeBinary(16) => C::Uuid,
        of if *of == TIMETZ => C::TimeTz,
        DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_) => C::Blob,
        DataType::Date32 | DataType::Date64 => C::Date,
        DataType::Time32(_) | DataType::Time64(_) => C::Time,
        DataType::Timestamp(unit, zone) => C::Timestamp(*unit, zone.is_some()),
        DataType::Interval(_) | DataType::Duration(_) => C::Interval,
        DataType::Dictionary(_, value) => {
            plain_type(&Field::new(field.name(), value.as_ref().clone(), true))?
        }
        of @ DataType::List(item) if let Some(length) = ArrayType::length_of(of) => {
            sound(C::Array(array_of(item_type(item)?, length.into())?))?
        }
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => sound(C::List(Box::new(item_type(item)?)))?,
        DataType::Struct(fields) if is_row(fields) => {
            return Err(Error::invalid(
                "A table cannot be created from an unnamed struct",
            ));
        }
        of @ DataType::Struct(fields) => {
            if let Some(found) = enum_type(field.data_type()) {
                return Ok(C::Enum(found));
            }
            let field = |f: &Arc<Field>| Ok((f.name().clone(), type_within(f)?));
            if let Some(members) = UnionType::members_of(of) {
                let members = members.iter().map(field).collect::<Result<_>>()?;
                return Ok(C::Union(sound_union(members)?));
            }
            sound(C::Struct(fields.iter().map(field).collect::<Result<_>>()?))?
        }
        DataType::Map(entries, _)
            if let DataType::Struct(fields) = entries.data_type()
                && let [key, value] = &fields[..] =>
        {
            sound(C::Map(MapType::new(type_within(key)?, type_within(value)?)))?
        }
        _ => return Err(refused(&display_type(field))),
    })
}

/// Whether a file's schema calls sixteen bytes a UUID. Others of them are BLOBs, and no sixteen bytes when they have been read.
pub fn is_called_uuid(field: &Field) -> bool {
    field
        .metadata()
        .get(EXTENSION_KEY)
        .is_some_and(|name| name == UUID_EXTENSION)
}

/// The collation of the texts of a field.
pub fn collation_of(field: &Field) -> Option<Collation> {
    let name = field.metadata().get(COLLATION_KEY);
    let name = name.filter(|_| field.data_type().is_string());
    name.and_then(|name| Collation::named(name))
}

/// What a field of texts with a collation says of it.
pub fn collation_metadata(collation: Collation) -> HashMap<String, String> {
    [(COLLATION_KEY.to_owned(), collation.name().to_owned())].into()
}

/// A column's type as CREATE TABLE has it.
pub fn declared_type(ty: &ColumnType) -> String {
    let name = column_type_name(ty);
    if let ColumnType::Collated(collation) = ty {
        return format!("{name} COLLATE {}", collation.name());
    }
    name
}

/// The Arrow field of a column: its type, nullability and, for a UUID, the extension that says so.
pub fn arrow_field(name: &str, ty: &ColumnType, nullable: bool) -> Field {
    let field = Field::new(name, ty.arrow(), nullable);
    if matches!(ty, ColumnType::Json) {
        return called_json(field);
    }
    if let ColumnType::Collated(collation) = ty {
        return field.with_metadata(collation_metadata(*collation));
    }
    if matches!(ty, ColumnType::Uuid) {
        return field
            .with_metadata([(EXTENSION_KEY.to_string(), UUID_EXTENSION.to_string())].into());
    }
    field
}

/// DuckDB's name of a result column's type, such as `BIGINT`, `DECIMAL(15,2)` or `TIMESTAMP WITH TIME ZONE`.
pub fn display_type(field: &Field) -> String {
    match is_called_json(field) {
        true => "JSON".into(),
        false => type_name(field.data_type()),
    }
}

/// DuckDB's name of an Arrow type.
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "\"NULL\"".into(),
        DataType::Boolean => "BOOLEAN".into(),
        DataType::Int8 => "TINYINT".into(),
        DataType::Int16 => "SMALLINT".into(),
        DataType::Int32 => "INTEGER".into(),
        DataType::Int64 => "BIGINT".into(),
        DataType::UInt8 => "UTINYINT".into(),
        DataType::UInt16 => "USMALLINT".into(),
        DataType::UInt32 => "UINTEGER".into(),
        DataType::UInt64 => "UBIGINT".into(),
        DataType::Float16 | DataType::Float32 => "FLOAT".into(),
        DataType::Float64 => "DOUBLE".into(),
        of if *of == HUGEINT => "HUGEINT".into(),
        of if *of == UHUGEINT => "UHUGEINT".into(),
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => format!("DECIMAL({p},{s})"),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "VARCHAR".into(),
        DataType::FixedSizeBinary(16) => "UUID".into(),
        of if *of == TIMETZ => "TIME WITH TIME ZONE".into(),
        of if *of == BIT => "BIT".into(),
        DataType::Binary | DataType::BinaryView | DataType::FixedSizeBinary(_) => "BLOB".into(),
        DataType::Date32 | DataType::Date64 => "DATE".into(),
        DataType::Time32(_) | DataType::Time64(_) => "TIME".into(),
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE".into(),
        DataType::Timestamp(TimeUnit::Second, None) => "TIMESTAMP_S".into(),
        DataType::Timestamp(TimeUnit::Millisecond, None) => "TIMESTAMP_MS".into(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "TIMESTAMP".into(),
        DataType::Timestamp(TimeUnit::Nanosecond, None) => "TIMESTAMP_NS".into(),
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL".into(),
        DataType::List(f)
        | DataType::LargeList(f)
        | DataType::FixedSizeList(f, _)
        | DataType::ListView(f) => {
            let length = ArrayType::length_of(data_type);
            let length = length.map(|length| length.to_string());
            let item = display_type(&plain_item(f));
            format!("{item}[{}]", length.unwrap_or_default())
        }
        DataType::Struct(fields) => {
            if let Some(found) = enum_type(data_type) {
                return found.name();
            }
            let named = |f: &FieldRef| format!("{} {}", quote(f.name()), display_type(f));
            if let Some(members) = UnionType::members_of(data_type) {
                let members = members.iter().map(named).collect::<Vec<_>>();
                return format!("UNION({})", members.join(", "));
            }
            let unnamed = is_row(fields);
            let inner = fields.iter().map(|f| match unnamed {
                true => display_type(f),
                false => named(f),
            });
            format!("STRUCT({})", inner.collect::<Vec<_>>().join(", "))
        }
        DataType::Dictionary(_, value) => type_name(value),
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) => {
                let both = fields.iter().map(|field| display_type(field));
                format!("MAP({})", both.collect::<Vec<_>>().join(", "))
            }
            other => format!("MAP({})", type_name(other)),
        },
        other => other.to_string().to_uppercase(),
    }
}

/// The SQL name of a column's type, as CREATE TABLE takes it.
pub fn column_type_name(ty: &ColumnType) -> String {
    display_type(&arrow_field("", ty, true))
}

/// A column's type, as SQL.
pub fn sql_type(ty: &ColumnType) -> Result<SqlType> {
    if matches!(ty, ColumnType::Enum(of) if of.values().is_empty()) {
        return Ok(SqlType::Enum(vec![], None));
    }
    let name = column_type_name(ty);
    parse_data_type(&name).map_err(|e| Error::internal(e.message()))
}

/// `CAST(expr AS type)`, as SQL.
pub fn cast_to(expr: ast::Expr, ty: &ColumnType) -> Result<ast::Expr> {
    Ok(ast::Expr::Cast {
        kind: ast::CastKind::Cast,
        expr: Box::new(expr),
        data_type: sql_type(ty)?,
        array: false,
        format: None,
    })
}

/// The type of a column of PostgreSQL's numeric without digits.
pub const NUMERIC: ColumnType = ColumnType::Decimal {
    precision: 38,
    scale: NUMERIC_SCALE,
};

/// An expression as a value of a column: a cast, which loses no digit where the column is PostgreSQL's numeric.
pub fn stored_as(expr: ast::Expr, ty: &ColumnType) -> Result<ast::Expr> {
    match *ty == NUMERIC {
        true => Ok(quoted_call(STORED_NUMERIC, vec![expr])),
        false => cast_to(expr, ty),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(name: &str) -> Result<ColumnType> {
        column_type(&parse_data_type(name).unwrap())
    }

    #[test]
    fn names_round_trip() {
        for name in [
            "BOOLEAN",
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
            "HUGEINT",
            "UHUGEINT[]",
            "FLOAT",
            "DOUBLE",
            "DECIMAL(15,2)",
            "DECIMAL(38,10)",
            "VARCHAR",
            "BLOB",
            "DATE",
            "TIME",
            "TIMESTAMP",
            "TIMESTAMP_S",
            "TIMESTAMP_MS",
            "TIMESTAMP_NS",
            "TIMESTAMP WITH TIME ZONE",
            "INTERVAL",
            "UUID",
            "TIME WITH TIME ZONE",
            "BIT",
            "INTEGER[]",
            "UUID[][]",
            "INTEGER[3]",
            "VARCHAR[2][][100000]",
            "MAP(FLOAT[2], STRUCT(a DATE[1]))",
            "STRUCT(a INTEGER, \"b c\" VARCHAR[])[]",
            "STRUCT(s STRUCT(d DECIMAL(5,2)))",
            "ENUM('sad', 'it''s')",
            "ENUM('a')[]",
            "MAP(VARCHAR, MAP(DATE, DECIMAL(5,2)[]))",
            "JSON",
            "JSON[]",
            "MAP(JSON, STRUCT(a JSON[2][], \"b c\" JSON))",
            "UNION(j JSON, n INTEGER)",
            "UNION(num INTEGER, \"s t\" VARCHAR[])",
            "UNION(u UNION(a DATE), m MAP(VARCHAR, UNION(a DATE, b TIME)))[2]",
        ] {
            assert_eq!(column_type_name(&parse(name).unwrap()), name);
        }
    }

    #[test]
    fn refuses_by_name() {
        for name in [
            "INTEGER[0]",
            "INTEGER[100001]",
            "INTEGER[99999999999]",
            "STRUCT(a INTEGER, A INTEGER)",
            "UNION(a INTEGER, A INTEGER)",
            "DECIMAL(39,2)",
            "DECIMAL(4,5)",
            "ENUM('a', 'a')",
            "nonsense",
        ] {
            assert!(parse(name).is_err(), "{name}");
        }
    }
}
