//! COLLATE in expressions: a call that says by which collation a text is compared.

use crate::calls::quoted_call;
use crate::collations::{COLLATE, collation};
use crate::error::Error;
use sqlparser::ast::{Expr, Value, VisitorMut};
use std::ops::ControlFlow;

/// Puts calls in the places of collations.
pub(super) struct Collated;

impl VisitorMut for Collated {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Collate {
            expr: text,
            collation: name,
        } = expr
        {
            let name = match collation(name) {
                Ok(known) => known.map_or("", |known| known.name()),
                Err(error) => return ControlFlow::Break(Box::new(error)),
            };
            let text = std::mem::replace(text.as_mut(), Expr::value(Value::Null));
            let name = Expr::value(Value::SingleQuotedString(name.to_owned()));
            *expr = quoted_call(COLLATE, vec![text, name]);
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{parse, parse_one};

    #[test]
    fn collations_become_calls() {
        for (given, expected) in [
            (
                "SELECT a COLLATE NOCASE = 'A' FROM t ORDER BY a COLLATE noaccent.nocase DESC",
                "SELECT \"$collate\"(a, 'nocase') = 'A' FROM t ORDER BY \"$collate\"(a, 'noaccent.nocase') DESC",
            ),
            (
                "SELECT 'x' < (b COLLATE \"NoCase.NoAccent\"), a COLLATE \"C\" FROM t",
                "SELECT 'x' < (\"$collate\"(b, 'noaccent.nocase')), \"$collate\"(a, '') FROM t",
            ),
        ] {
            assert_eq!(parse_one(given).unwrap().to_string(), expected);
        }
        assert!(parse("SELECT a COLLATE de = 'x' FROM t").is_err());
    }
}
