//! PIVOT and UNPIVOT, as statements and behind a table, are brought to queries before they are parsed: what they say goes into
//! calls of functions that no text has, which `plan/pivots.rs` reads, since the columns of the FROM say the rest.
//!
//! | text | becomes |
//! | --- | --- |
//! | `PIVOT t ON a IN (1) USING sum(x) GROUP BY b` | `FROM t SELECT "$pivot"(a IN (1)), sum(x) GROUP BY b` |
//! | `FROM t PIVOT (sum(x) FOR a IN (1) GROUP BY b)` | `FROM (FROM t SELECT sum(x), "$pivot_for"(a IN (1)) GROUP BY b)` |
//! | `UNPIVOT t ON a, b INTO NAME n VALUE v` | `FROM t SELECT a, b, "$unpivot"(n, v)` |
//! | `FROM t UNPIVOT (v FOR n IN (a, b))` | `FROM (FROM t SELECT "$unpivot_for"(v, n, false), a, b)` |
//!
//! What must hold: the work is linear in the number of tokens.

use super::super::token_list::{TokenList, is_word, keyword, named, word};
use crate::marks::{PIVOT, PIVOT_ENUM, PIVOT_FOR, PIVOT_NAMED, UNPIVOT, UNPIVOT_FOR};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use std::collections::HashSet;

/// Brings all of them to queries.
pub(super) fn as_queries(tokens: &mut Vec<TokenWithSpan>) {
    let any = tokens
        .iter()
        .any(|token| is_pivot(token) || is_unpivot(token));
    if !any {
        return;
    }
    let mut reader = Reader::new(tokens);
    reader.read();
    reader.list.changes().make(tokens);
}

fn is_pivot(token: &TokenWithSpan) -> bool {
    is_word(token, "pivot") || is_word(token, "pivot_wider")
}

fn is_unpivot(token: &TokenWithSpan) -> bool {
    is_word(token, "unpivot") || is_word(token, "pivot_longer")
}

/// What is being read on a level of brackets.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Other,
    /// From PIVOT, or UNPIVOT, to ON.
    Source {
        unpivot: bool,
    },
    PivotOn,
    UnpivotOn,
    UnpivotInto,
    /// Of `t PIVOT (...)`: until FOR, and behind it.
    Aggregates,
    PivotFor,
    /// Of `t UNPIVOT (...)`: all of it, and the brackets behind IN.
    Values {
        nulls: bool,
    },
    Items,
    /// The values of a PIVOT.
    In,
}

struct Level {
    part: Part,
    /// Where the item of FROM began.
    from: usize,
    /// Where the right sides of joins began whose condition is still to come, and whether the next has none.
    joins: Vec<usize>,
    free: bool,
    /// Where the value of a PIVOT began, and whether it got a name.
    value: usize,
    value_named: bool,
}

impl Level {
    fn new(part: Part, begin: usize) -> Self {
        Self {
            part,
            from: begin,
            joins: vec![],
            free: false,
            value: begin,
            value_named: false,
        }
    }

    /// Where the table begins that stands before PIVOT or UNPIVOT: of a join whose condition is still to come it is the right side.
    fn begin(&self) -> usize {
        self.joins.last().copied().unwrap_or(self.from)
    }

    /// Reads a word of a join; whether it is one.
    fn join(&mut self, n: usize, key: Keyword) -> bool {
        match key {
            Keyword::CROSS | Keyword::NATURAL => self.free = true,
            Keyword::JOIN if !std::mem::take(&mut self.free) => self.joins.push(n + 1),
            Keyword::ON | Keyword::USING if !self.joins.is_empty() => drop(self.joins.pop()),
            _ => return false,
        }
        true
    }
}

struct Reader<'a> {
    list: TokenList<'a>,
    /// Brackets that have FOR in them, by their tokens.
    with_for: HashSet<usize>,
    levels: Vec<Level>,
}

impl<'a> Reader<'a> {
    fn new(tokens: &'a [TokenWithSpan]) -> Self {
        let (mut open, mut with_for) = (vec![], HashSet::new());
        for (at, token) in tokens.iter().enumerate() {
            match &token.token {
                Token::LParen | Token::LBracket | Token::LBrace => open.push(at),
                Token::RParen | Token::RBracket | Token::RBrace => {
                    open.pop();
                }
                _ if keyword(token) == Keyword::FOR => with_for.extend(open.last()),
                _ => {}
            }
        }
        Self {
            list: TokenList::of(tokens),
            with_for,
            levels: vec![Level::new(Part::Other, 0)],
        }
    }

    fn token(&self, n: usize) -> Option<&'a TokenWithSpan> {
        self.list.token(n)
    }

    fn put(&mut self, n: usize, new: impl IntoIterator<Item = Token>) {
        self.list.put(n, new);
    }

    fn replace(&mut self, n: usize, new: impl IntoIterator<Item = Token>) {
        self.list.replace(n, new);
    }

    fn part(&self) -> Part {
        self.levels.last().map_or(Part::Other, |level| level.part)
    }

    fn set(&mut self, part: Part) {
        if let Some(level) = self.levels.last_mut() {
            level.part = part;
        }
    }

    fn read(&mut self) {
        let mut n = 0;
        while let Some(token) = self.token(n) {
            match &token.token {
                Token::LParen | Token::LBracket | Token::LBrace => self.open(n),
                Token::RParen | Token::RBracket | Token::RBrace => self.close(n),
                Token::Comma => self.comma(n),
                Token::SemiColon => self.end(n),
                Token::Word(word) if word.quote_style.is_none() => n = self.word(n, token),
                _ => {}
            }
            n += 1;
        }
        self.end(n);
    }

    fn open(&mut self, n: usize) {
        let behind_in = n > 0 && self.token(n - 1).is_some_and(|t| keyword(t) == Keyword::IN);
        let part = match self.part() {
            Part::PivotOn | Part::PivotFor if behind_in => Part::In,
            Part::Values { .. } if behind_in => {
                self.replace(n, []);
                Part::Items
            }
            _ => Part::Other,
        };
        self.levels.push(Level::new(part, n + 1));
    }

    fn close(&mut self, n: usize) {
        let closed = self.part();
        self.end(n);
        if self.levels.len() < 2 {
            return;
        }
        self.levels.pop();
        match (closed, self.part()) {
            (Part::Items, _) => self.replace(n, []),
            (Part::In, Part::PivotFor) => self.go_on(n + 1),
            _ => {}
        }
    }

    fn comma(&mut self, n: usize) {
        self.end_value(n);
        if let Some(level) = self.levels.last_mut() {
            level.from = n + 1;
            level.value = n + 1;
        }
    }

    /// Ends a value that got a name.
    fn end_value(&mut self, n: usize) {
        let Some(level) = self.levels.last_mut() else {
            return;
        };
        if level.part == Part::In && std::mem::take(&mut level.value_named) {
            let begin = level.value;
            self.put(begin, [named(PIVOT_NAMED), Token::LParen]);
            self.put(n, [Token::RParen]);
        }
    }

    /// Ends what is being read on a level.
    fn end(&mut self, n: usize) {
        match self.part() {
            Part::PivotOn | Part::PivotFor | Part::UnpivotInto => self.put(n, [Token::RParen]),
            Part::UnpivotOn => {
                let made = [Token::Comma, named(UNPIVOT), Token::LParen, named("name")];
                self.put(n, made);
                self.put(n, [Token::Comma, named("value"), Token::RParen]);
            }
            Part::In => self.end_value(n),
            _ => {}
        }
        self.set(Part::Other);
    }

    /// Reads a word, and what belongs to it; the place of the last token of that.
    fn word(&mut self, n: usize, token: &TokenWithSpan) -> usize {
        if is_pivot(token) || is_unpivot(token) {
            return self.pivot(n, is_unpivot(token));
        }
        match (self.part(), keyword(token)) {
            (Part::Source { unpivot }, key) => self.source(n, key, unpivot),
            (Part::PivotOn, Keyword::USING) => {
                self.replace(n, [Token::RParen, Token::Comma]);
                self.set(Part::Other);
            }
            (Part::UnpivotOn, Keyword::INTO) => {
                self.replace(n, [Token::Comma]);
                self.set(Part::UnpivotInto);
                if self.token(n + 1).is_some_and(|next| is_word(next, "name")) {
                    self.replace(n + 1, [named(UNPIVOT), Token::LParen]);
                    // What follows is a name, whatever it is.
                    return n + 2;
                }
            }
            (Part::UnpivotInto, Keyword::VALUE | Keyword::VALUES) => {
                self.replace(n, [Token::Comma]);
                return n + 1;
            }
            (Part::PivotOn | Part::PivotFor, Keyword::IN) => return self.values_of_enum(n),
            (Part::Aggregates, Keyword::FOR) => {
                self.replace(n, [Token::Comma, named(PIVOT_FOR), Token::LParen]);
                self.set(Part::PivotFor);
            }
            (Part::Values { .. }, Keyword::FOR) => self.replace(n, [Token::Comma]),
            (Part::Values { nulls }, Keyword::IN) => {
                let nulls = word(if nulls { "TRUE" } else { "FALSE" });
                self.replace(n, [Token::Comma, nulls, Token::RParen, Token::Comma]);
            }
            (Part::In, Keyword::AS) => {
                self.replace(n, [Token::Comma]);
                if let Some(level) = self.levels.last_mut() {
                    level.value_named = true;
                }
            }
            (_, key) if ENDS.contains(&key) => self.end(n),
            (_, Keyword::FROM) => {
                if let Some(level) = self.levels.last_mut() {
                    level.from = n + 1;
                }
            }
            (_, key) => {
                if let Some(level) = self.levels.last_mut() {
                    level.join(n, key);
                }
            }
        }
        n
    }

    /// The name of an ENUM behind IN, if that is what stands there; the place of the last token of it.
    fn values_of_enum(&mut self, n: usize) -> usize {
        let is_name = |token: &TokenWithSpan| matches!(token.token, Token::Word(_));
        if !self.token(n + 1).is_some_and(is_name) {
            return n;
        }
        self.put(n + 1, [Token::LParen, named(PIVOT_ENUM), Token::LParen]);
        self.put(n + 2, [Token::RParen, Token::RParen]);
        if self.part() == Part::PivotFor {
            self.go_on(n + 2);
        }
        n + 1
    }

    /// Puts a comma between what `t PIVOT (...)` is for, and what comes next.
    fn go_on(&mut self, n: usize) {
        let next = self.token(n);
        let goes_on =
            next.is_some_and(|next| next.token != Token::RParen && keyword(next) != Keyword::GROUP);
        if goes_on {
            self.put(n, [Token::Comma]);
        }
    }

    /// A word between PIVOT and ON.
    fn source(&mut self, n: usize, key: Keyword, unpivot: bool) {
        let Some(level) = self.levels.last_mut() else {
            return;
        };
        if level.join(n, key) {
            return;
        }
        match key {
            Keyword::ON if unpivot => {
                level.part = Part::UnpivotOn;
                self.replace(n, [word("SELECT")]);
            }
            Keyword::ON => {
                level.part = Part::PivotOn;
                self.replace(n, [word("SELECT"), named(PIVOT), Token::LParen]);
            }
            Keyword::USING if !unpivot => {
                level.part = Part::Other;
                let call = [named(PIVOT), Token::LParen, Token::RParen];
                self.replace(
                    n,
                    std::iter::once(word("SELECT"))
                        .chain(call)
                        .chain([Token::Comma]),
                );
            }
            Keyword::GROUP if !unpivot => {
                level.part = Part::Other;
                let call = [named(PIVOT), Token::LParen, Token::RParen];
                self.put(n, std::iter::once(word("SELECT")).chain(call));
            }
            _ => {}
        }
    }

    /// PIVOT or UNPIVOT, if the word is one.
    fn pivot(&mut self, n: usize, unpivot: bool) -> usize {
        let nulls = self.token(n + 1).filter(|_| unpivot);
        let nulls = nulls.filter(|t| is_word(t, "include") || is_word(t, "exclude"));
        let is_nulls = |token: &TokenWithSpan| is_word(token, "nulls");
        let nulls = nulls.filter(|_| self.token(n + 2).is_some_and(is_nulls));
        let bracket = if nulls.is_some() { n + 3 } else { n + 1 };
        let opens = self
            .token(bracket)
            .is_some_and(|t| t.token == Token::LParen);
        if opens && self.with_for.contains(&self.list.place(bracket)) {
            (n..=bracket).for_each(|n| self.replace(n, []));
            let begin = self.levels.last().map_or(0, Level::begin);
            self.put(begin, [Token::LParen, word("FROM")]);
            self.replace(n, [word("SELECT")]);
            let part = match unpivot {
                false => Part::Aggregates,
                true => {
                    self.replace(bracket, [named(UNPIVOT_FOR), Token::LParen]);
                    Part::Values {
                        nulls: nulls.is_some_and(|t| is_word(t, "include")),
                    }
                }
            };
            self.levels.push(Level::new(part, bracket + 1));
            return bracket;
        }
        if self.begins_a_query(n) {
            self.replace(n, [word("FROM")]);
            if let Some(level) = self.levels.last_mut() {
                *level = Level::new(Part::Source { unpivot }, n + 1);
            }
        }
        n
    }

    /// Whether a query may stand where a word does, and a table behind it.
    fn begins_a_query(&self, n: usize) -> bool {
        use Keyword as K;
        let before = n.checked_sub(1).and_then(|n| self.token(n));
        let begins = before.is_none_or(|before| {
            matches!(
                before.token,
                Token::LParen | Token::RParen | Token::SemiColon
            ) || matches!(
                keyword(before),
                K::AS | K::UNION | K::ALL | K::EXCEPT | K::INTERSECT | K::NAME | K::EXPLAIN
            ) || matches!(keyword(before), K::ANALYZE | K::DESCRIBE)
                || is_word(before, "summarize")
        });
        let Some(next) = self.token(n + 1) else {
            return false;
        };
        let is_table = match &next.token {
            Token::Word(_) => !ENDS.contains(&keyword(next)) && !NO_TABLES.contains(&keyword(next)),
            Token::LParen | Token::SingleQuotedString(_) => true,
            _ => false,
        };
        begins && is_table
    }
}

/// What no list of PIVOT or UNPIVOT goes on behind.
const ENDS: [Keyword; 8] = [
    Keyword::GROUP,
    Keyword::ORDER,
    Keyword::LIMIT,
    Keyword::OFFSET,
    Keyword::UNION,
    Keyword::EXCEPT,
    Keyword::INTERSECT,
    Keyword::WHERE,
];

/// What follows a column that is called so.
const NO_TABLES: [Keyword; 4] = [Keyword::AS, Keyword::FROM, Keyword::ON, Keyword::USING];

#[cfg(test)]
mod tests {
    use super::super::parse;
    use crate::{Statement, sql_text};

    fn read(sql: &str) -> String {
        match parse(sql) {
            Ok(Statement::Sql(statement)) => sql_text(statement.as_ref()),
            Ok(_) => panic!("{sql} is something else"),
            Err(error) => format!("{error}"),
        }
    }

    #[test]
    fn each_form_becomes_a_query() {
        for (sql, query) in [
            (
                "PIVOT t ON a IN (1, 2 AS two), b USING sum(x) AS s GROUP BY c LIMIT 1",
                "FROM t SELECT \"$pivot\"(a IN (1, \"$pivot_named\"(2, two)), b), sum(x) AS s GROUP BY c LIMIT 1",
            ),
            ("PIVOT t ON a", "FROM t SELECT \"$pivot\"(a)"),
            (
                "PIVOT t ON a IN mood, b USING sum(x)",
                "FROM t SELECT \"$pivot\"(a IN (\"$pivot_enum\"(mood)), b), sum(x)",
            ),
            (
                "SELECT * FROM t PIVOT (sum(x) FOR a IN mood b IN (1))",
                "SELECT * FROM (FROM t SELECT sum(x), \"$pivot_for\"(a IN (\"$pivot_enum\"(mood)), b IN (1)))",
            ),
            (
                "PIVOT t USING sum(x) GROUP BY a",
                "FROM t SELECT \"$pivot\"(), sum(x) GROUP BY a",
            ),
            (
                "PIVOT t GROUP BY a",
                "FROM t SELECT \"$pivot\"() GROUP BY a",
            ),
            (
                "SELECT * FROM t AS u PIVOT (sum(x) FOR a IN (1) b IN (2) GROUP BY c) AS p",
                "SELECT * FROM (FROM t AS u SELECT sum(x), \"$pivot_for\"(a IN (1), b IN (2)) GROUP BY c) AS p",
            ),
            (
                "UNPIVOT t ON a, (b) INTO NAME name VALUE value, more",
                "FROM t SELECT a, (b), \"$unpivot\"(name, value, more)",
            ),
            (
                "SELECT * FROM t UNPIVOT INCLUDE NULLS (v FOR n IN (a, b AS c))",
                "SELECT * FROM (FROM t SELECT \"$unpivot_for\"(v, n, true), a, b AS c)",
            ),
            (
                "PIVOT (UNPIVOT t ON a) ON name USING first(value)",
                "FROM (FROM t SELECT a, \"$unpivot\"(\"name\", \"value\")) SELECT \"$pivot\"(name), first(value)",
            ),
        ] {
            assert_eq!(read(sql), query, "{sql}");
            // What the catalog stores of a view is read again.
            assert_eq!(read(query), query, "{sql}");
        }
    }

    #[test]
    fn the_words_may_be_names() {
        for sql in [
            "SELECT pivot FROM t AS pivot",
            "SELECT count(unpivot) FROM (SELECT 1 AS unpivot) WHERE unpivot > 0",
            "SELECT \"PIVOT\" FROM \"UNPIVOT\"",
        ] {
            assert_eq!(read(sql), sql);
        }
    }

    #[test]
    fn what_is_cut_off_is_an_error() {
        let whole = "WITH w AS (PIVOT t ON a IN (1 AS x, 2) USING sum(x) GROUP BY c) SELECT * FROM w UNPIVOT (v FOR n IN (a, (b)))";
        let ends = whole.match_indices([' ', '(', ')', ',']);
        for (end, _) in ends {
            let _ = parse(&whole[..end]);
            let _ = parse(&whole[end..]);
        }
        let many = "PIVOT (".repeat(100_000);
        assert!(parse(&many).is_err());
        let many = format!(
            "SELECT * FROM t {}",
            "PIVOT (x FOR y IN (1)) ".repeat(20_000)
        );
        assert!(parse(&many).is_err());
    }
}
