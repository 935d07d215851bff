//! Expressions of a wanted type.

use super::{Generator, Scope};
use crate::column_type::ColumnType;
use crate::literals::value;
use crate::tree::Expression;

/// A way to make a value: what is printed, and the types of its arguments.
type Production = (&'static str, Vec<ColumnType>);

impl Generator {
    /// An expression of the type.
    pub(crate) fn expression(&mut self, ty: &ColumnType, scope: &Scope, size: usize) -> Expression {
        if size == 0 || self.dice.chance(25) {
            return self.leaf(ty, scope);
        }
        let below = size - 1;
        if *ty == ColumnType::Boolean && self.dice.chance(60) {
            return self.condition(scope, below);
        }
        match self.dice.below(100) {
            0..=9 => self.case(ty, scope, below),
            10..=11 => self.of_two_types(ty, scope, below),
            12..=16 => {
                let form = *self.dice.pick(&["COALESCE({}, {})", "NULLIF({}, {})"]);
                let sides = vec![
                    self.expression(ty, scope, below),
                    self.expression(ty, scope, 0),
                ];
                Expression::call(ty.clone(), form, sides)
            }
            17..=21 if scope.depth < 2 => self.scalar_subquery(ty, scope),
            22..=25 => self.taken_out(ty, scope),
            26..=29 => match self.by_lambda(ty, scope) {
                Some(value) => value,
                None => self.production(ty, scope, below),
            },
            _ => self.production(ty, scope, below),
        }
    }

    /// A column of the type, or a literal.
    pub(crate) fn leaf(&mut self, ty: &ColumnType, scope: &Scope) -> Expression {
        let columns = scope.columns.iter().filter(|column| column.ty() == ty);
        let columns: Vec<_> = columns.collect();
        if !columns.is_empty() && self.dice.chance(75) {
            return (*self.dice.pick(&columns)).clone();
        }
        let value = value(ty, 8, self.domain, &mut self.dice);
        Expression::literal(ty.clone(), value)
    }

    /// A choice between values of two types, of which a third may come.
    fn of_two_types(&mut self, ty: &ColumnType, scope: &Scope, size: usize) -> Expression {
        let other = self.related_type(ty, 100);
        let form = *self.dice.pick(&[
            "TRY_CAST(COALESCE({}, {}) AS ",
            "TRY_CAST(CASE WHEN {} IS NULL THEN NULL ELSE {} END AS ",
            "TRY_CAST(greatest({}, {}) AS ",
            "TRY_CAST([{}, {}][2] AS ",
        ]);
        let sides = vec![
            self.expression(ty, scope, size),
            self.expression(&other, scope, 0),
        ];
        Expression::call(ty.clone(), format!("{form}{ty})"), sides)
    }

    fn case(&mut self, ty: &ColumnType, scope: &Scope, size: usize) -> Expression {
        if self.dice.chance(30) {
            let of = self.key_type(scope);
            let parts = vec![
                self.expression(&of, scope, size),
                self.expression(&of, scope, 0),
                self.expression(ty, scope, 0),
                self.expression(ty, scope, 0),
            ];
            return Expression::call(ty.clone(), "CASE {} WHEN {} THEN {} ELSE {} END", parts);
        }
        let forms = [
            "CASE WHEN {} THEN {} ELSE {} END",
            "CASE WHEN {} THEN {} WHEN {} THEN {} END",
        ];
        let form = *self.dice.pick(&forms);
        let last = match form == forms[0] {
            true => vec![self.expression(ty, scope, size)],
            false => vec![self.condition(scope, 0), self.expression(ty, scope, 0)],
        };
        let mut parts = vec![
            self.condition(scope, size),
            self.expression(ty, scope, size),
        ];
        parts.extend(last);
        Expression::call(ty.clone(), form, parts)
    }

    /// A field of a struct or an item of a list in scope.
    fn taken_out(&mut self, ty: &ColumnType, scope: &Scope) -> Expression {
        let mut found = vec![];
        for column in &scope.columns {
            match column.ty() {
                ColumnType::List(item) if **item == *ty => {
                    let at = Expression::integer(self.dice.between(1, 3) as i64);
                    found.push(Expression::call(
                        ty.clone(),
                        "list_extract({}, {})",
                        vec![column.clone(), at],
                    ));
                }
                ColumnType::Struct(fields) => {
                    for (name, _) in fields.iter().filter(|(_, field)| field == ty) {
                        let form = format!("struct_extract({{}}, '{name}')");
                        found.push(Expression::call(ty.clone(), form, vec![column.clone()]));
                    }
                }
                _ => {}
            }
        }
        match found.is_empty() {
            true => self.leaf(ty, scope),
            false => self.dice.pick(&found).clone(),
        }
    }

    fn production(&mut self, ty: &ColumnType, scope: &Scope, size: usize) -> Expression {
        match ty {
            ColumnType::Struct(fields) => return self.structure(fields, scope),
            ColumnType::List(item) if scope.depth < 2 && self.dice.chance(15) => {
                return self.array_of_query(item, scope);
            }
            ColumnType::List(_) if self.dice.chance(30) => {
                return self
                    .by_lambda(ty, scope)
                    .unwrap_or_else(|| self.leaf(ty, scope));
            }
            _ => {}
        }
        let productions = self.productions(ty);
        if productions.is_empty() {
            return self.leaf(ty, scope);
        }
        let (form, types) = self.dice.pick(&productions).clone();
        let arguments = types.iter().map(|ty| self.expression(ty, scope, size));
        let arguments = arguments.collect();
        // Results of other widths are brought back.
        let cast = matches!(ty, ColumnType::Decimal(..) | ColumnType::Float);
        let form = match (form.strip_prefix('~'), form.strip_prefix('?')) {
            (_, Some(bare)) => format!("TRY_CAST({bare} AS {ty})"),
            (Some(bare), _) => format!("CAST({bare} AS {ty})"),
            _ if cast => format!("CAST({form} AS {ty})"),
            _ => form.to_owned(),
        };
        Expression::call(ty.clone(), form, arguments)
    }

    /// Ways to make a value of the type. A form that begins with `~` is cast to it; one with `?` by TRY_CAST.
    fn productions(&mut self, ty: &ColumnType) -> Vec<Production> {
        use ColumnType as C;
        let same = |form, count| same(ty, form, count);
        match ty {
            C::Boolean => conditions(),
            C::Decimal(..) => decimal_productions(ty),
            C::Float | C::Double => float_productions(ty),
            C::Varchar => text_productions(),
            C::Date => vec![
                ("CAST({} AS DATE)", vec![C::Timestamp]),
                ("?{}", vec![C::Varchar]),
                ("last_day({})", vec![C::Date]),
                ("~({} + INTERVAL 1 DAY)", vec![C::Date]),
                ("({} - {})", vec![C::Date, C::TinyInt]),
                ("~date_trunc('year', {})", vec![C::Date]),
                ("~date_add({}, INTERVAL 1 MONTH)", vec![C::Date]),
                ("~time_bucket(INTERVAL 3 MONTH, {})", vec![C::Date]),
                (
                    "make_date(2000 + ({} % 50), 1 + abs({} % 12), 1 + abs({} % 28))",
                    vec![C::Integer, C::Integer, C::Integer],
                ),
                same("greatest({}, {})", 2),
            ],
            C::Timestamp => vec![
                ("CAST({} AS TIMESTAMP)", vec![C::Date]),
                ("?{}", vec![C::Varchar]),
                ("({} + {})", vec![C::Timestamp, C::Interval]),
                ("({} + {})", vec![C::Date, C::Time]),
                ("({} - {})", vec![C::Timestamp, C::Interval]),
                ("date_trunc('month', {})", vec![C::Timestamp]),
                ("date_trunc('week', {})", vec![C::Timestamp]),
                ("date_trunc('hour', {})", vec![C::Timestamp]),
                ("time_bucket(INTERVAL 2 DAY, {})", vec![C::Timestamp]),
                ("date_add({}, {})", vec![C::Timestamp, C::Interval]),
                same("least({}, {})", 2),
            ],
            C::Time => vec![
                ("CAST({} AS TIME)", vec![C::Timestamp]),
                ("?{}", vec![C::Varchar]),
                ("({} + {})", vec![C::Time, C::Interval]),
                ("({} - {})", vec![C::Time, C::Interval]),
                same("greatest({}, {})", 2),
            ],
            C::Interval => vec![
                ("({} + {})", vec![C::Interval, C::Interval]),
                ("({} - {})", vec![C::Timestamp, C::Timestamp]),
                ("CAST({} AS INTERVAL)", vec![C::Time]),
                ("(-{})", vec![C::Interval]),
                ("age({}, {})", vec![C::Timestamp, C::Timestamp]),
                ("({} * {})", vec![C::Interval, C::TinyInt]),
                ("to_days({})", vec![C::Integer]),
                ("to_months({})", vec![C::Integer]),
            ],
            C::Blob => vec![same("~({} || {})", 2)],
            C::Uuid => vec![],
            C::List(item) => list_productions(ty, item),
            C::Struct(_) => vec![],
            _ => integer_productions(ty),
        }
    }
}

fn conditions() -> Vec<Production> {
    use ColumnType as C;
    vec![
        (
            "list_contains({}, {})",
            vec![C::List(Box::new(C::Integer)), C::Integer],
        ),
        ("isnan({})", vec![C::Double]),
        (
            "({} IN list_concat({}, coalesce({}, [])))",
            vec![C::Integer, integers(), integers()],
        ),
        ("list_has_any({}, {})", vec![integers(), integers()]),
        ("list_has_all({}, {})", vec![integers(), integers()]),
        (
            "(({}, {}) < ({}, {}))",
            vec![C::Integer, C::Date, C::Integer, C::Date],
        ),
        (
            "(({}, {}) = ({}, {}))",
            vec![C::Varchar, C::Integer, C::Varchar, C::BigInt],
        ),
        ("regexp_matches({}, '^[a-c ]+')", vec![C::Varchar]),
        ("({} SIMILAR TO '(a|b)*%?')", vec![C::Varchar]),
        ("({} GLOB 'a*')", vec![C::Varchar]),
        ("({} ^@ {})", vec![C::Varchar, C::Varchar]),
        ("?{}", vec![C::Varchar]),
        (
            "({} = ANY({}))",
            vec![C::Integer, C::List(Box::new(C::Integer))],
        ),
    ]
}

fn list_productions(ty: &ColumnType, item: &ColumnType) -> Vec<Production> {
    let same = |form, count| same(ty, form, count);
    vec![
        // Of NULLs alone DuckDB has two answers, of which statistics choose one.
        same("list_concat({}, coalesce({}, []))", 2),
        ("list_append({}, {})", vec![ty.clone(), item.clone()]),
        same("list_sort({})", 1),
        same("list_reverse({})", 1),
        ("[{}, {}]", vec![item.clone(), item.clone()]),
        same("{}[1:2]", 1),
        same("list_sort(list_distinct({}))", 1),
        same("map_values(MAP {1: {}})[1]", 1),
        same("flatten([{}, {}])", 2),
        same("{}[-2:]", 1),
        same("list_slice({}, 2, -1)", 1),
        same("list_resize({}, 3)", 1),
        same("list_sort(list_intersect({}, {}))", 2),
        ("list_prepend({}, {})", vec![item.clone(), ty.clone()]),
        same("list_reverse_sort({})", 1),
        same("list_sort({}, 'DESC', 'NULLS FIRST')", 1),
    ]
}

fn decimal_productions(ty: &ColumnType) -> Vec<Production> {
    use ColumnType as C;
    vec![
        same(ty, "({} + {})", 2),
        same(ty, "({} - {})", 2),
        same(ty, "(-{})", 1),
        same(ty, "abs({})", 1),
        ("{}", vec![C::Integer]),
        ("?{}", vec![C::BigInt]),
        ("?{}", vec![C::Double]),
        ("?{}", vec![C::Varchar]),
        ("({} * {})", vec![C::Decimal(9, 2), C::Decimal(9, 2)]),
        ("round({}, 1)", vec![C::Decimal(9, 2)]),
    ]
}

fn float_productions(ty: &ColumnType) -> Vec<Production> {
    use ColumnType as C;
    vec![
        same(ty, "({} + {})", 2),
        same(ty, "({} - {})", 2),
        same(ty, "({} * {})", 2),
        same(ty, "(-{})", 1),
        same(ty, "abs({})", 1),
        same(ty, "floor({})", 1),
        same(ty, "greatest({}, {})", 2),
        ("~{}", vec![C::Integer]),
        ("~{}", vec![C::Decimal(9, 2)]),
        ("?{}", vec![C::Varchar]),
        ("?{}", vec![C::Double]),
        ("~({} / {})", vec![C::Integer, C::Integer]),
        same(ty, "~ceil({})", 1),
        same(ty, "~round({})", 1),
        same(ty, "~trunc({})", 1),
        same(ty, "~sqrt(abs({}))", 1),
        ("~list_avg({})", vec![integers()]),
    ]
}

fn integers() -> ColumnType {
    ColumnType::List(Box::new(ColumnType::Integer))
}

fn text_productions() -> Vec<Production> {
    use ColumnType as C;
    vec![
        ("({} || {})", vec![C::Varchar, C::Varchar]),
        // Of ß DuckDB makes one character.
        ("upper(replace({}, 'ß', 'é'))", vec![C::Varchar]),
        ("lower({})", vec![C::Varchar]),
        ("trim({})", vec![C::Varchar]),
        ("reverse({})", vec![C::Varchar]),
        // DuckDB has two answers for what begins or ends before the text, of which statistics choose one.
        (
            "substring({}, greatest({}, 0), greatest({}, 0))",
            vec![C::Varchar, C::Integer, C::Integer],
        ),
        (
            "replace({}, {}, {})",
            vec![C::Varchar, C::Varchar, C::Varchar],
        ),
        ("concat({}, {})", vec![C::Varchar, C::Integer]),
        ("left({}, {})", vec![C::Varchar, C::Integer]),
        (
            "MAP {coalesce({}, 0): {}}[{}]",
            vec![C::Integer, C::Varchar, C::Integer],
        ),
        ("union_extract(union_value(k := {}), 'k')", vec![C::Varchar]),
        ("right({}, {})", vec![C::Varchar, C::Integer]),
        ("CAST({} AS VARCHAR)", vec![C::Integer]),
        ("CAST({} AS VARCHAR)", vec![C::Decimal(9, 2)]),
        ("CAST({} AS VARCHAR)", vec![C::Date]),
        ("CAST({} AS VARCHAR)", vec![C::Timestamp]),
        ("CAST({} AS VARCHAR)", vec![C::Boolean]),
        ("CAST({} AS VARCHAR)", vec![C::Uuid]),
        ("CAST({} AS VARCHAR)", vec![C::Blob]),
        (
            "lpad({}, ({} % 9), {})",
            vec![C::Varchar, C::Integer, C::Varchar],
        ),
        ("rpad({}, ({} % 9), 'ab')", vec![C::Varchar, C::Integer]),
        ("repeat({}, ({} % 4))", vec![C::Varchar, C::Integer]),
        (
            "split_part({}, {}, ({} % 3))",
            vec![C::Varchar, C::Varchar, C::Integer],
        ),
        (
            "translate({}, {}, {})",
            vec![C::Varchar, C::Varchar, C::Varchar],
        ),
        (
            "concat_ws({}, {}, {})",
            vec![C::Varchar, C::Varchar, C::Varchar],
        ),
        ("regexp_replace({}, '[a-c]+', 'x')", vec![C::Varchar]),
        ("regexp_extract({}, '[a-z]+')", vec![C::Varchar]),
        ("array_to_string({}, ',')", vec![integers()]),
        ("strftime({}, '%Y-%m-%d %j %H:%M')", vec![C::Timestamp]),
        ("dayname({})", vec![C::Date]),
        ("chr(65 + abs({} % 20))", vec![C::Integer]),
        ("md5({})", vec![C::Varchar]),
        ("to_base64({})", vec![C::Blob]),
        ("ltrim({}, {})", vec![C::Varchar, C::Varchar]),
        ("{}[({} % 4)]", vec![C::Varchar, C::Integer]),
        ("printf('%s|%d', {}, {})", vec![C::Varchar, C::Integer]),
        ("CAST(to_json({}) AS VARCHAR)", vec![integers()]),
        ("typeof({})", vec![C::Decimal(9, 2)]),
        ("if({}, {}, {})", vec![C::Boolean, C::Varchar, C::Varchar]),
    ]
}

/// A form whose arguments are of the result's type.
fn same(ty: &ColumnType, form: &'static str, count: usize) -> Production {
    (form, vec![ty.clone(); count])
}

fn integer_productions(ty: &ColumnType) -> Vec<Production> {
    use ColumnType as C;

    let mut all = vec![
        same(ty, "({} + {})", 2),
        same(ty, "({} - {})", 2),
        same(ty, "({} * {})", 2),
        same(ty, "({} // {})", 2),
        same(ty, "({} % {})", 2),
        same(ty, "~greatest({}, {})", 2),
        same(ty, "~least({}, {})", 2),
        same(ty, "~({} & {})", 2),
        same(ty, "~({} | {})", 2),
        same(ty, "~xor({}, {})", 2),
        ("~{}", vec![C::Integer]),
        ("~{}", vec![C::BigInt]),
        ("?{}", vec![C::BigInt]),
        ("?{}", vec![C::Double]),
        ("?{}", vec![C::Varchar]),
    ];
    if ty.bounds().is_some_and(|(least, _)| least < 0) {
        all.push(same(ty, "(-{})", 1));
        all.push(same(ty, "abs({})", 1));
        all.push(("~{}", vec![C::Decimal(9, 2)]));
        all.push(("~{}", vec![C::Boolean]));
        all.push(("~length({})", vec![C::Varchar]));
        let integers = C::List(Box::new(C::Integer));
        all.push(("~list_position({}, {})", vec![integers.clone(), C::Integer]));
        all.push(("~list_sum({})", vec![integers.clone()]));
        all.push((
            "~element_at(MAP {coalesce({}, 0): {}}, {})[1]",
            vec![C::Integer, C::Integer, C::Integer],
        ));
        all.push(("~year({})", vec![C::Date]));
        all.push(("~extract(month FROM {})", vec![C::Timestamp]));
        all.push(("~date_diff('day', {}, {})", vec![C::Date, C::Date]));
        all.push(("~date_sub('month', {}, {})", vec![C::Date, C::Date]));
        all.push(("~date_part('dow', {})", vec![C::Timestamp]));
        all.push(("~strpos({}, {})", vec![C::Varchar, C::Varchar]));
        all.push(("~ascii({})", vec![C::Varchar]));
        all.push(("~levenshtein({}, {})", vec![C::Varchar, C::Varchar]));
        all.push(("~bit_count({})", vec![C::Integer]));
        all.push(("~sign({})", vec![C::Double]));
        all.push(("~gcd({}, {})", vec![C::Integer, C::Integer]));
        all.push(("~list_max({})", vec![integers.clone()]));
        all.push(("~list_count({})", vec![integers.clone()]));
        all.push(("~len({})", vec![integers]));
    }
    all
}
