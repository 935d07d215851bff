//! PostgreSQL's meaning of what DuckDB's dialect reads otherwise, put into a parsed statement: `/` of whole numbers cuts, and names behind
//! `pg_catalog.` are those of functions.
//!
//! What must hold: what the catalog stores of such a statement, a view's query or a default, means the same in every dialect: it has
//! a call there that both read alike.

use crate::cut_divide::{CUT_DIVIDE, CUT_DIVIDE_CALL};
use crate::error::{Error, Result};
use crate::parser::Statement;
use sqlparser::ast::{
    self, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, VisitorMut,
};
use std::ops::ControlFlow;

/// Gives a statement PostgreSQL's meaning.
///
/// # Errors
/// None now.
pub fn as_postgres(statement: &mut Statement) -> Result<()> {
    let is_stored = matches!(
        statement,
        Statement::Sql(statement) if matches!(
            **statement,
            ast::Statement::CreateView(_) | ast::Statement::CreateTable(_) | ast::Statement::AlterTable(_)
        )
    );
    statement.visit(&mut Meaning { is_stored })
}

struct Meaning {
    /// Whether the catalog keeps the text.
    is_stored: bool,
}

impl VisitorMut for Meaning {
    type Break = Box<Error>;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::BinaryOp { left, op, right } if *op == BinaryOperator::Divide => {
                match self.is_stored {
                    false => *op = BinaryOperator::Custom(CUT_DIVIDE.into()),
                    true => *expr = call(left.as_ref().clone(), right.as_ref().clone()),
                }
            }
            Expr::Function(function) => {
                if let [schema, name] = function.name.0.as_slice()
                    && schema
                        .as_ident()
                        .is_some_and(|schema| schema.value.eq_ignore_ascii_case("pg_catalog"))
                {
                    function.name = ObjectName(vec![name.clone()]);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn call(left: Expr, right: Expr) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(CUT_DIVIDE_CALL)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![argument(left), argument(right)],
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
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
}
