//! Text that arrives line by line, cut into what can be run: statements and dot commands.
//!
//! A statement is given out as soon as its `;` has arrived, before the next line is read, so a program at the other end
//! of a pipe gets its answers in step. A line that begins with a dot, outside of a statement, is a dot command.

use hushdb::split_statements;
use zeroize::Zeroizing;

use crate::wiped::WipedText;

/// One thing to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// One SQL statement; it may have a key in it.
    Statement(Zeroizing<String>),
    /// A dot command with its arguments.
    Dot(String),
}

/// The part of a text that did not make a whole statement yet.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pending: WipedText,
}

impl Script {
    /// Takes one line (with or without its line break) and gives what became complete.
    pub(crate) fn line(&mut self, line: &str) -> Vec<Step> {
        if self.is_empty() {
            if line.starts_with('.') {
                self.pending = WipedText::default();
                return vec![Step::Dot(line.trim_end().to_owned())];
            }
            // A script may begin by saying how it is run.
            if line.starts_with("#!") {
                return Vec::new();
            }
        }
        self.pending.push(line.as_bytes());
        if !line.ends_with('\n') {
            self.pending.push(b"\n");
        }
        // Without a `;` in this line nothing new can be complete; long INSERTs are not searched again for each line.
        if !line.contains(';') {
            return Vec::new();
        }
        let pending = self.pending.as_str().unwrap_or_default();
        let split = split_statements(pending);
        let steps = split
            .statements
            .iter()
            .filter(|sql| !is_blank(sql))
            .map(|sql| Step::Statement(Zeroizing::new((*sql).to_owned())));
        let steps = steps.collect();
        // The rest comes trimmed, but blanks may belong to an open quote and line breaks end comments: keep them.
        let rest = match split.rest {
            "" => pending.len(),
            rest => rest.as_ptr().addr() - pending.as_ptr().addr(),
        };
        self.pending.cut_front(rest);
        steps
    }

    /// The last statement, whose `;` was left out.
    pub(crate) fn finish(&mut self) -> Option<Step> {
        let rest = std::mem::take(&mut self.pending);
        let rest = rest.as_str().unwrap_or_default().trim();
        (!is_blank(rest)).then(|| Step::Statement(Zeroizing::new(rest.to_owned())))
    }

    /// Whether nothing but blanks and comments waits for more.
    pub(crate) fn is_empty(&self) -> bool {
        is_blank(self.pending.as_str().unwrap_or_default())
    }
}

/// Whether `text` is something that the shell can run as it stands: used while a statement is typed.
pub(crate) fn is_complete(text: &str) -> bool {
    if text.trim_start().starts_with('.') {
        return true;
    }
    let mut script = Script::default();
    let mut steps = 0;
    for line in text.lines() {
        steps += script.line(line).len();
    }
    script.is_empty() && (steps > 0 || text.trim().is_empty())
}

/// Whether `sql` has nothing but white space, comments and semicolons.
fn is_blank(sql: &str) -> bool {
    let mut rest = sql;
    loop {
        rest = rest
            .trim_start_matches(|character: char| character.is_whitespace() || character == ';');
        if let Some(comment) = rest.strip_prefix("--") {
            rest = comment.split_once('\n').map_or("", |(_, after)| after);
        } else if let Some(mut comment) = rest.strip_prefix("/*") {
            let mut depth = 1;
            while depth > 0 {
                let (open, close) = (comment.find("/*"), comment.find("*/"));
                match (open, close) {
                    (Some(open), Some(close)) if open < close => {
                        depth += 1;
                        comment = &comment[open + 2..];
                    }
                    (_, Some(close)) => {
                        depth -= 1;
                        comment = &comment[close + 2..];
                    }
                    // A comment that never ends hides whatever follows: let the parser say so.
                    _ => return false,
                }
            }
            rest = comment;
        } else {
            return rest.is_empty();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(text: &str) -> Vec<Step> {
        let mut script = Script::default();
        let mut steps: Vec<Step> = text.lines().flat_map(|line| script.line(line)).collect();
        steps.extend(script.finish());
        steps
    }

    fn sql(step: &Step) -> &str {
        let text = match step {
            Step::Statement(text) => text,
            Step::Dot(text) => text,
        };
        text.trim().trim_end_matches(';')
    }

    #[test]
    fn statements_come_out_as_they_are_completed() {
        let mut script = Script::default();
        assert!(script.line("SELECT 1,").is_empty());
        assert_eq!(script.line("  2; SELECT ';'; SEL").len(), 2);
        assert!(!script.is_empty());
        assert_eq!(script.line("ECT 3;").len(), 1);
        assert!(script.is_empty());
    }

    #[test]
    fn a_rest_keeps_its_blanks() {
        let mut script = Script::default();
        assert_eq!(script.line("SELECT 1; SELECT 'a  ").len(), 1);
        assert!(
            matches!(script.line(" b';").as_slice(), [Step::Statement(sql)] if sql.contains("'a  \n b'"))
        );
        assert_eq!(script.line("SELECT 1; SELECT 2 -- two").len(), 1);
        assert!(
            matches!(script.line("+ 3;").as_slice(), [Step::Statement(sql)] if sql.contains("-- two\n+ 3"))
        );
    }

    #[test]
    fn the_last_semicolon_is_optional() {
        let steps = steps("SELECT 1;\nSELECT 2\n-- done");
        assert_eq!(steps.len(), 2);
        assert_eq!(sql(&steps[0]), "SELECT 1");
    }

    #[test]
    fn dot_commands_stand_between_statements_only() {
        let steps = steps(".mode csv\nSELECT 1\n.5;\n.tables\n");
        assert_eq!(steps.len(), 3);
        assert_eq!(steps[0], Step::Dot(".mode csv".to_owned()));
        assert!(matches!(&steps[1], Step::Statement(text) if text.contains(".5")));
        assert_eq!(steps[2], Step::Dot(".tables".to_owned()));
    }

    #[test]
    fn comments_alone_are_nothing_to_run() {
        assert!(steps("-- nothing\n/* here; /* or */ here */ ;\n").is_empty());
        assert_eq!(steps("/* a */ SELECT 1 -- b").len(), 1);
    }

    #[test]
    fn completeness_while_typing() {
        for text in [
            "SELECT 1;",
            ".tables",
            "",
            "SELECT 1; -- done",
            "SELECT 1;\nSELECT 2;",
        ] {
            assert!(is_complete(text), "{text}");
        }
        for text in [
            "SELECT 1",
            "SELECT ';",
            "SELECT 1; SELECT",
            "/* ;",
            "-- a comment",
        ] {
            assert!(!is_complete(text), "{text}");
        }
    }
}
