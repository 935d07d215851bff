//! The words of a statement, as far as a server has to read it: what it is, and what is not the engine's business.

/// A word, a name in quotes, a text, or a mark, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    /// Bytes of the text.
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// In lower case.
    Word(String),
    /// As it stands between the quotes.
    Quoted(String),
    Text(String),
    Number(String),
    Mark(char),
}

/// All tokens of a statement; `None` where a quote or a comment has no end.
pub(crate) fn tokens(sql: &str) -> Option<Vec<Token>> {
    let mut tokens = vec![];
    let mut at = 0;
    while let Some(rest) = sql.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next()?;
        let (kind, length) = if first.is_whitespace() {
            (None, first.len_utf8())
        } else if rest.starts_with("--") {
            (None, rest.find('\n').unwrap_or(rest.len()))
        } else if rest.starts_with("/*") {
            (None, comment(rest)?)
        } else {
            let (kind, length) = token(rest, first)?;
            (Some(kind), length)
        };
        if let Some(kind) = kind {
            let (start, end) = (at, at + length);
            tokens.push(Token { kind, start, end });
        }
        at += length;
    }
    Some(tokens)
}

fn token(rest: &str, first: char) -> Option<(Kind, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    match first {
        '\'' => quoted(rest, '\'', false).map(|(text, n)| (Kind::Text(text), n)),
        '"' => quoted(rest, '"', false).map(|(name, n)| (Kind::Quoted(name), n)),
        'e' | 'E' if rest.get(1..2) == Some("'") => {
            let (text, n) = quoted(rest.get(1..)?, '\'', true)?;
            Some((Kind::Text(text), n + 1))
        }
        '$' => match dollar_tag(rest) {
            Some(tag) => {
                let inner = rest.get(tag.len()..)?;
                let end = inner.find(tag)?;
                let text = inner.get(..end)?.to_owned();
                Some((Kind::Text(text), end + 2 * tag.len()))
            }
            None => Some((Kind::Mark('$'), 1)),
        },
        _ if first.is_ascii_digit() => {
            let is_number = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
            let length = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
            Some((Kind::Number(rest.get(..length)?.to_owned()), length))
        }
        _ if is_word(first) => {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            Some((Kind::Word(rest.get(..length)?.to_lowercase()), length))
        }
        _ => Some((Kind::Mark(first), first.len_utf8())),
    }
}

/// What stands between quotes, which are doubled within.
fn quoted(rest: &str, quote: char, escapes: bool) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == '\\' && escapes {
            text.push(match letters.next()?.1 {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            });
        } else if letter != quote {
            text.push(letter);
        } else if letters.peek().is_some_and(|(_, next)| *next == quote) {
            letters.next();
            text.push(quote);
        } else {
            return Some((text, at + 1));
        }
    }
    None
}

/// `$$` or `$tag$`.
fn dollar_tag(rest: &str) -> Option<&str> {
    let inner = rest.get(1..)?;
    let end = inner.find('$')?;
    let tag = inner.get(..end)?;
    let is_tag = !tag.starts_with(|c: char| c.is_ascii_digit())
        && tag.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_tag.then(|| rest.get(..end + 2))?
}

/// The length of a comment, which may have comments in it.
fn comment(rest: &str) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    let bytes = rest.as_bytes();
    while at < bytes.len() {
        match bytes.get(at..at + 2) {
            Some(b"/*") => (depth, at) = (depth + 1, at + 2),
            Some(b"*/") => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Tokens that are read one after another.
pub(crate) struct Words<'a> {
    tokens: &'a [Token],
}

impl<'a> Words<'a> {
    pub(crate) fn new(tokens: &'a [Token]) -> Self {
        Self { tokens }
    }

    pub(crate) fn peek(&self) -> Option<&'a Kind> {
        self.tokens.first().map(|token| &token.kind)
    }

    pub(crate) fn next(&mut self) -> Option<&'a Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Takes words if they come next, all of them.
    pub(crate) fn take(&mut self, words: &[&str]) -> bool {
        let ahead = self.tokens.iter().map(|token| &token.kind);
        let fits = ahead
            .zip(words)
            .filter(|(kind, word)| matches!(kind, Kind::Word(is) if is == **word))
            .count();
        if fits == words.len() {
            self.tokens = self.tokens.get(words.len()..).unwrap_or_default();
        }
        fits == words.len()
    }

    /// Takes a mark if it comes next.
    pub(crate) fn mark(&mut self, mark: char) -> bool {
        let fits = matches!(self.peek(), Some(Kind::Mark(is)) if *is == mark);
        if fits {
            self.next();
        }
        fits
    }

    /// A name, folded where it has no quotes.
    pub(crate) fn name(&mut self) -> Option<String> {
        match self.peek()? {
            Kind::Word(name) | Kind::Quoted(name) => {
                self.next();
                Some(name.clone())
            }
            _ => None,
        }
    }

    /// `a.b.c`.
    pub(crate) fn names(&mut self) -> Option<Vec<String>> {
        let mut names = vec![self.name()?];
        while self.mark('.') {
            names.push(self.name()?);
        }
        Some(names)
    }

    /// A text, or a word or number that stands for one.
    pub(crate) fn value(&mut self) -> Option<String> {
        let sign = match self.mark('-') {
            true => "-",
            false => "",
        };
        match &self.next()?.kind {
            Kind::Word(text) | Kind::Quoted(text) | Kind::Text(text) | Kind::Number(text) => {
                Some(format!("{sign}{text}"))
            }
            Kind::Mark(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(sql: &str) -> Vec<Kind> {
        tokens(sql)
            .unwrap()
            .into_iter()
            .map(|token| token.kind)
            .collect()
    }

    #[test]
    fn words_are_found_behind_comments_and_quotes() {
        let word = |text: &str| Kind::Word(text.into());
        assert_eq!(
            kinds("/* a /* b */ */ SET \"A\"\"b\" -- c\n= 'it''s'"),
            [
                word("set"),
                Kind::Quoted("A\"b".into()),
                Kind::Mark('='),
                Kind::Text("it's".into())
            ]
        );
        assert_eq!(
            kinds("E'a\\'b' $x$ ' $x$"),
            [Kind::Text("a'b".into()), Kind::Text(" ' ".into())]
        );
        assert_eq!(kinds("-- ping"), []);
        assert_eq!(kinds("$1"), [Kind::Mark('$'), Kind::Number("1".into())]);
    }

    #[test]
    fn what_has_no_end_is_nothing() {
        for sql in ["'a", "\"a", "/* a", "$$ a", "e'a\\'"] {
            assert_eq!(tokens(sql), None, "{sql}");
        }
    }
}
