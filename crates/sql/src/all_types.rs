//! The table of `test_all_types()`: of each type its least value, its greatest or an odd one, and NULL, by which tools try what they
//! can show.

/// Name, type, least and greatest value of each column, as texts that are cast.
const COLUMNS: &[[&str; 4]] = &[
    ["bool", "BOOLEAN", "false", "true"],
    ["tinyint", "TINYINT", "-128", "127"],
    ["smallint", "SMALLINT", "-32768", "32767"],
    ["int", "INTEGER", "-2147483648", "2147483647"],
    [
        "bigint",
        "BIGINT",
        "-9223372036854775808",
        "9223372036854775807",
    ],
    [
        "hugeint",
        "HUGEINT",
        "-170141183460469231731687303715884105728",
        "170141183460469231731687303715884105727",
    ],
    [
        "uhugeint",
        "UHUGEINT",
        "0",
        "340282366920938463463374607431768211455",
    ],
    ["utinyint", "UTINYINT", "0", "255"],
    ["usmallint", "USMALLINT", "0", "65535"],
    ["uint", "UINTEGER", "0", "4294967295"],
    ["ubigint", "UBIGINT", "0", "18446744073709551615"],
    ["date", "DATE", "5877642-06-25 (BC)", "5881580-07-10"],
    ["time", "TIME", "00:00:00", "24:00:00"],
    [
        "timestamp",
        "TIMESTAMP",
        "290309-12-22 (BC) 00:00:00",
        "294247-01-10 04:00:54.775806",
    ],
    [
        "timestamp_s",
        "TIMESTAMP_S",
        "290309-12-22 (BC) 00:00:00",
        "294247-01-10 04:00:54",
    ],
    [
        "timestamp_ms",
        "TIMESTAMP_MS",
        "290309-12-22 (BC) 00:00:00",
        "294247-01-10 04:00:54.775",
    ],
    [
        "timestamp_ns",
        "TIMESTAMP_NS",
        "1677-09-22 00:00:00",
        "2262-04-11 23:47:16.854775806",
    ],
    [
        "time_tz",
        "TIME WITH TIME ZONE",
        "00:00:00+15:59:59",
        "24:00:00-15:59:59",
    ],
    [
        "timestamp_tz",
        "TIMESTAMP WITH TIME ZONE",
        "290309-12-22 (BC) 00:00:00+00",
        "294247-01-10 04:00:54.775806+00",
    ],
    ["float", "FLOAT", "-3.4028235e+38", "3.4028235e+38"],
    [
        "double",
        "DOUBLE",
        "-1.7976931348623157e+308",
        "1.7976931348623157e+308",
    ],
    ["dec_4_1", "DECIMAL(4,1)", "-999.9", "999.9"],
    ["dec_9_4", "DECIMAL(9,4)", "-99999.9999", "99999.9999"],
    [
        "dec_18_6",
        "DECIMAL(18,6)",
        "-999999999999.999999",
        "999999999999.999999",
    ],
    [
        "dec38_10",
        "DECIMAL(38,10)",
        "-9999999999999999999999999999.9999999999",
        "9999999999999999999999999999.9999999999",
    ],
    [
        "uuid",
        "UUID",
        "00000000-0000-0000-0000-000000000000",
        "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ],
    [
        "interval",
        "INTERVAL",
        "00:00:00",
        "83 years 3 months 999 days 00:16:39.999999",
    ],
    ["varchar", "VARCHAR", "🦆🦆🦆🦆🦆🦆", "goo\0se"],
    [
        "blob",
        "BLOB",
        "thisisalongblob\\x00withnullbytes",
        "\\x00\\x00\\x00a",
    ],
    ["bit", "BIT", "0010001001011100010101011010111", "10101"],
    [
        "small_enum",
        "ENUM('DUCK_DUCK_ENUM', 'GOOSE')",
        "DUCK_DUCK_ENUM",
        "GOOSE",
    ],
    ["medium_enum", "$medium", "enum_0", "enum_299"],
    [
        "large_enum",
        "ENUM('enum_0', 'enum_69999')",
        "enum_0",
        "enum_69999",
    ],
    ["int_array", "INTEGER[]", "[]", "[42, 999, NULL, NULL, -42]"],
    [
        "double_array",
        "DOUBLE[]",
        "[]",
        "[42.0, nan, inf, -inf, NULL, -42.0]",
    ],
    [
        "date_array",
        "DATE[]",
        "[]",
        "[1970-01-01, infinity, -infinity, NULL, 2022-05-12]",
    ],
    [
        "timestamp_array",
        "TIMESTAMP[]",
        "[]",
        "['1970-01-01 00:00:00', infinity, -infinity, NULL, '2022-05-12 16:23:45']",
    ],
    [
        "timestamptz_array",
        "TIMESTAMP WITH TIME ZONE[]",
        "[]",
        "['1970-01-01 00:00:00+00', infinity, -infinity, NULL, '2022-05-12 23:23:45+00']",
    ],
    [
        "varchar_array",
        "VARCHAR[]",
        "[]",
        "[🦆🦆🦆🦆🦆🦆, goose, NULL, '']",
    ],
    [
        "nested_int_array",
        "INTEGER[][]",
        "[]",
        "[[], [42, 999, NULL, NULL, -42], NULL, [], [42, 999, NULL, NULL, -42]]",
    ],
    [
        "struct",
        "STRUCT(a INTEGER, b VARCHAR)",
        "{'a': NULL, 'b': NULL}",
        "{'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}",
    ],
    [
        "struct_of_arrays",
        "STRUCT(a INTEGER[], b VARCHAR[])",
        "{'a': NULL, 'b': NULL}",
        "{'a': [42, 999, NULL, NULL, -42], 'b': [🦆🦆🦆🦆🦆🦆, goose, NULL, '']}",
    ],
    [
        "array_of_structs",
        "STRUCT(a INTEGER, b VARCHAR)[]",
        "[]",
        "[{'a': NULL, 'b': NULL}, {'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}, NULL]",
    ],
    [
        "map",
        "MAP(VARCHAR, VARCHAR)",
        "{}",
        "{key1=🦆🦆🦆🦆🦆🦆, key2=goose}",
    ],
    [
        "union",
        "UNION(\"name\" VARCHAR, age SMALLINT)",
        "Frank",
        AGE,
    ],
    ["fixed_int_array", "INTEGER[3]", "[NULL, 2, 3]", "[4, 5, 6]"],
    [
        "fixed_varchar_array",
        "VARCHAR[3]",
        "[a, NULL, c]",
        "[d, e, f]",
    ],
    [
        "fixed_nested_int_array",
        "INTEGER[3][3]",
        "[[NULL, 2, 3], NULL, [NULL, 2, 3]]",
        "[[4, 5, 6], [NULL, 2, 3], [4, 5, 6]]",
    ],
    [
        "fixed_nested_varchar_array",
        "VARCHAR[3][3]",
        "[[a, NULL, c], NULL, [a, NULL, c]]",
        "[[d, e, f], [a, NULL, c], [d, e, f]]",
    ],
    [
        "fixed_struct_array",
        "STRUCT(a INTEGER, b VARCHAR)[3]",
        "[{'a': NULL, 'b': NULL}, {'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}, {'a': NULL, 'b': NULL}]",
        "[{'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}, {'a': NULL, 'b': NULL}, {'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}]",
    ],
    [
        "struct_of_fixed_array",
        "STRUCT(a INTEGER[3], b VARCHAR[3])",
        "{'a': [NULL, 2, 3], 'b': [a, NULL, c]}",
        "{'a': [4, 5, 6], 'b': [d, e, f]}",
    ],
    [
        "fixed_array_of_int_list",
        "INTEGER[][3]",
        "[[], [42, 999, NULL, NULL, -42], []]",
        "[[42, 999, NULL, NULL, -42], [], [42, 999, NULL, NULL, -42]]",
    ],
    [
        "list_of_fixed_int_array",
        "INTEGER[3][]",
        "[[NULL, 2, 3], [4, 5, 6], [NULL, 2, 3]]",
        "[[4, 5, 6], [NULL, 2, 3], [4, 5, 6]]",
    ],
];

/// What no text becomes.
const AGE: &str = "union_value(age := CAST(5 AS SMALLINT))";

/// How many members the ENUM has that stands for those of two bytes.
const MEMBERS: usize = 300;

/// The query that gives the rows.
pub(super) fn query() -> String {
    let members: Vec<String> = (0..MEMBERS).map(|n| format!("'enum_{n}'")).collect();
    let medium = format!("ENUM({})", members.join(", "));
    let row = |value: usize| {
        let values = COLUMNS.iter().map(|column| {
            let ty = column[1].replace("$medium", &medium);
            format!("CAST({} AS {ty})", literal(column.get(value).copied()))
        });
        format!("({})", values.collect::<Vec<_>>().join(", "))
    };
    let names = COLUMNS.iter().map(|column| format!("\"{}\"", column[0]));
    format!(
        "SELECT * FROM (VALUES {}, {}, {}) AS t({})",
        row(2),
        row(3),
        row(4),
        names.collect::<Vec<_>>().join(", ")
    )
}

/// A text as it is written, or NULL.
fn literal(text: Option<&str>) -> String {
    match text {
        Some(AGE) => AGE.into(),
        // No text of SQL has that byte.
        Some(text) => format!(
            "'{}'",
            text.replace('\'', "''").replace('\0', "' || chr(0) || '")
        ),
        None => "NULL".into(),
    }
}
