//! EXPLAIN (FORMAT json) and (FORMAT graphviz) of a query: its plan as programs read it, in the shape that DuckDB gives it.

use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::sql::sqlparser::ast::{self, AnalyzeFormat, AnalyzeFormatKind};
use hushdb_query::functions::json_string;
use hushdb_sql::{Error, Result};
use std::fmt::Write;
use std::sync::Arc;

/// `EXPLAIN [(FORMAT ...)] query`.
pub(super) fn explain(statement: &Statement<'_>, explain: ast::Statement) -> Result<QueryResult> {
    let (query, format) = match explain {
        ast::Statement::Explain {
            statement: query,
            format: Some(format),
            ..
        } => (*query, format),
        explain => return query::explain(statement, explain),
    };
    let plan = statement.planner().plan_statement(query)?;
    let plan = query::physical(statement, &plan)?;
    let (AnalyzeFormatKind::Keyword(format) | AnalyzeFormatKind::Assignment(format)) = format;
    let text = match format {
        AnalyzeFormat::JSON => {
            let mut text = "[\n".to_owned();
            write_json(&mut text, plan.as_ref(), 1)?;
            text + "\n]"
        }
        AnalyzeFormat::GRAPHVIZ => {
            let mut nodes = Nodes::default();
            nodes.add(plan.as_ref(), 0)?;
            nodes.text()
        }
        AnalyzeFormat::TEXT | AnalyzeFormat::TRADITIONAL | AnalyzeFormat::TREE => {
            return Err(Error::unsupported(
                "EXPLAIN takes FORMAT text, json and graphviz: another FORMAT is not there",
            ));
        }
    };
    let schema = query::explain_schema();
    let columns: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["physical_plan"])),
        Arc::new(StringArray::from(vec![text])),
    ];
    let rows = vec![RecordBatch::try_new(Arc::clone(&schema), columns)?];
    Ok(QueryResult::rows(schema, rows))
}

/// What an operator is called, and what else is said of it.
fn said(plan: &dyn ExecutionPlan) -> (String, String) {
    let line = displayable(plan).one_line().to_string();
    let line = query::shortened(line.trim_end());
    match line.split_once(": ") {
        Some((name, details)) => (name.to_owned(), details.to_owned()),
        None => (line, String::new()),
    }
}

/// Writes an operator, which is so many steps from the left.
fn write_json(text: &mut String, plan: &dyn ExecutionPlan, depth: usize) -> Result<()> {
    hold(depth)?;
    let (name, details) = said(plan);
    let (outer, inner) = ("    ".repeat(depth), "    ".repeat(depth + 1));
    let _ = write!(
        text,
        "{outer}{{\n{inner}\"name\": {},\n",
        json_string(&name)
    );
    let _ = write!(text, "{inner}\"children\": [");
    for (at, child) in plan.children().into_iter().enumerate() {
        text.push_str(if at == 0 { "\n" } else { ",\n" });
        write_json(text, child.as_ref(), depth + 2)?;
    }
    if !plan.children().is_empty() {
        let _ = write!(text, "\n{inner}");
    }
    let _ = write!(text, "],\n{inner}\"extra_info\": {{");
    if !details.is_empty() {
        let _ = write!(
            text,
            "\n{inner}    \"Details\": {}\n{inner}",
            json_string(&details)
        );
    }
    let _ = write!(text, "}}\n{outer}}}");
    Ok(())
}

/// # Errors
/// `Binder` where operators are in each other deeper than a stack is.
fn hold(depth: usize) -> Result<()> {
    match depth > MAX_DEPTH {
        true => Err(Error::binder("the plan is too deep to be shown so")),
        false => Ok(()),
    }
}

/// Twice as many as operators that are in each other.
const MAX_DEPTH: usize = 1000;

/// The nodes of a graph and the arrows between them, by their depth and their place there.
#[derive(Default)]
struct Nodes {
    /// How many there are at each depth.
    counts: Vec<usize>,
    nodes: String,
    arrows: String,
}

impl Nodes {
    fn add(&mut self, plan: &dyn ExecutionPlan, depth: usize) -> Result<String> {
        hold(depth * 2)?;
        if self.counts.len() <= depth {
            self.counts.push(0);
        }
        let node = format!("node_{}_{depth}", self.counts[depth]);
        self.counts[depth] += 1;
        let (name, details) = said(plan);
        let label = match details.is_empty() {
            true => name,
            false => format!("{name}\n───\n{details}"),
        };
        let _ = writeln!(self.nodes, "    {node} [label={}];", json_string(&label));
        for child in plan.children() {
            let child = self.add(child.as_ref(), depth + 1)?;
            let _ = writeln!(self.arrows, "    {node} -> {child};");
        }
        Ok(node)
    }

    fn text(&self) -> String {
        format!(
            "digraph G {{\n    node [shape=box, style=rounded, fontname=\"Courier New\", fontsize=10];\n{}{}}}\n",
            self.nodes, self.arrows
        )
    }
}
