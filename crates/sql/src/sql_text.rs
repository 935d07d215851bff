//! Parsed SQL as text that is parsed to the same again, for what the catalog stores.
//!
//! What must hold: a quote within a string stays one. sqlparser's own output takes `''` and `\'` in a string for quotes that
//! were doubled before.

use crate::walk::visit_mut;
use sqlparser::ast::{Value, ValueWithSpan, VisitMut, VisitorMut};
use std::convert::Infallible;
use std::fmt::Display;
use std::ops::ControlFlow;

/// The text of an expression or query.
pub fn sql_text<T: Clone + Display + VisitMut>(parsed: &T) -> String {
    let mut doubled = parsed.clone();
    let ControlFlow::Continue(()) = visit_mut(&mut doubled, &mut Doubled);
    doubled.to_string()
}

struct Doubled;

impl VisitorMut for Doubled {
    type Break = Infallible;

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Infallible> {
        if let Value::SingleQuotedString(text) = &mut value.value
            && text.contains('\'')
        {
            *text = text.replace('\'', "''");
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse_expr;
    use super::*;
    use sqlparser::ast::Expr;

    #[test]
    fn quotes_stay_what_they_are() {
        for text in [
            "",
            "a'b",
            "a''b",
            "'",
            "''",
            "\\'",
            "\\''",
            "'\\'",
            "it''s \\'' '",
        ] {
            let expr = Expr::value(Value::SingleQuotedString(text.into()));
            let printed = sql_text(&expr);
            let again = parse_expr(&printed).unwrap();
            assert_eq!(again.to_string(), expr.to_string(), "{printed}");
            let Expr::Value(value) = again else {
                panic!("{printed}")
            };
            assert_eq!(value.value, Value::SingleQuotedString(text.into()));
        }
    }
}
