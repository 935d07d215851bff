//! EXPLAIN (FORMAT json) and (FORMAT graphviz): a plan as programs read it, in the shape that DuckDB gives it.

use crate::exec::query;
use crate::result::QueryResult;
use crate::statement::Statement;
use datafusion::arrow::array::{ArrayRef, StringArray};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::sql::sqlparser::ast::{self, AnalyzeFormat, AnalyzeFormatKind};
use hushdb_query::functions::json_string;
use hushdb_sql::{Error, Result};
use hushdb_storage::clock;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::time::Duration;

/// `EXPLAIN [(ANALYZE, FORMAT ...)] query`.
pub(super) fn explain(statement: &Statement<'_>, explain: ast::Statement) -> Result<QueryResult> {
    let (query, format, analyzes) = match explain {
        ast::Statement::Explain {
            statement: query,
            format: Some(format),
            analyze,
            ..
        } => (*query, format, analyze),
        explain => return query::explain(statement, explain),
    };
    let format = named(Some(format)).unwrap_or(AnalyzeFormat::TEXT);
    let plan = statement.planner().plan_statement(query)?;
    let plan = query::physical(statement, &plan)?;
    if !analyzes {
        return Node::of(plan.as_ref(), 1)?.shown(&format, false);
    }
    let began = clock::now();
    let mut rows = 0;
    for batch in query::stream_physical(statement, Arc::clone(&plan))? {
        rows += batch?.num_rows();
    }
    let time = began.elapsed();
    let mut node = Node::of(plan.as_ref(), 1)?;
    node.measure(plan.as_ref());
    let whole = Node {
        done: Some(Done {
            rows: Some(rows),
            time,
        }),
        children: vec![node],
        ..Node::default()
    };
    whole.shown(&format, true)
}

/// The format that a statement names.
pub(super) fn named(format: Option<AnalyzeFormatKind>) -> Option<AnalyzeFormat> {
    format.map(|format| match format {
        AnalyzeFormatKind::Keyword(format) | AnalyzeFormatKind::Assignment(format) => format,
    })
}

/// What doing something took.
pub(super) struct Done {
    /// Rows that were changed or given, where that is known.
    pub(super) rows: Option<usize>,
    pub(super) time: Duration,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(rows) = self.rows {
            write!(f, ", {rows} rows")?;
        }
        write!(f, ", {:.4} s", self.time.as_secs_f64())
    }
}

/// An operator, and those that it has its rows from.
#[derive(Default)]
pub(super) struct Node {
    /// Nothing: it is the whole of what was done.
    name: String,
    details: String,
    pub(super) done: Option<Done>,
    children: Vec<Node>,
}

impl Node {
    /// What is done with the rows of a plan, if it reads any.
    pub(super) fn of_change(title: &str, plan: Option<&dyn ExecutionPlan>) -> Result<Self> {
        let plan = plan.map(|plan| Self::of(plan, 2));
        let (name, details) = title.split_once(": ").unwrap_or((title, ""));
        Ok(Self {
            name: name.to_owned(),
            details: details.to_owned(),
            children: plan.transpose()?.into_iter().collect(),
            ..Self::default()
        })
    }

    /// # Errors
    /// `Binder` where operators are in each other deeper than a stack is.
    fn of(plan: &dyn ExecutionPlan, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(Error::binder("the plan is too deep to be shown so"));
        }
        let line = displayable(plan).one_line().to_string();
        let line = query::shortened(line.trim_end());
        let (name, details) = line.split_once(": ").unwrap_or((&line, ""));
        let children = plan.children().into_iter();
        let children = children.map(|child| Self::of(child.as_ref(), depth + 1));
        Ok(Self {
            name: name.to_owned(),
            details: details.to_owned(),
            done: None,
            children: children.collect::<Result<_>>()?,
        })
    }

    /// Takes over what the operators of its plan have counted.
    fn measure(&mut self, plan: &dyn ExecutionPlan) {
        let metrics = plan.metrics().unwrap_or_default();
        let nanos = metrics.elapsed_compute().unwrap_or(0);
        self.done = Some(Done {
            rows: metrics.output_rows(),
            time: Duration::from_nanos(nanos as u64),
        });
        for (node, child) in self.children.iter_mut().zip(plan.children()) {
            node.measure(child.as_ref());
        }
    }

    /// As the one row of an EXPLAIN.
    pub(super) fn shown(&self, format: &AnalyzeFormat, analyzes: bool) -> Result<QueryResult> {
        let text = match format {
            // Of what was done DuckDB gives one object, else a list.
            AnalyzeFormat::JSON if analyzes => {
                let mut text = String::new();
                self.write_json(&mut text, 0);
                text
            }
            AnalyzeFormat::JSON => {
                let mut text = "[\n".to_owned();
                self.write_json(&mut text, 1);
                text + "\n]"
            }
            AnalyzeFormat::GRAPHVIZ => {
                let mut graph = Graph::default();
                graph.add(self, 0);
                graph.text()
            }
            AnalyzeFormat::TEXT | AnalyzeFormat::TRADITIONAL | AnalyzeFormat::TREE => {
                return Err(Error::unsupported(
                    "EXPLAIN takes FORMAT text, json and graphviz: another FORMAT is not there",
                ));
            }
        };
        let key = match analyzes {
            true => "analyzed_plan",
            false => "physical_plan",
        };
        let schema = query::explain_schema();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec![key])),
            Arc::new(StringArray::from(vec![text])),
        ];
        let rows = vec![RecordBatch::try_new(Arc::clone(&schema), columns)?];
        Ok(QueryResult::rows(schema, rows))
    }

    /// Writes it, so many steps from the left.
    fn write_json(&self, text: &mut String, depth: usize) {
        let (outer, inner) = ("    ".repeat(depth), "    ".repeat(depth + 1));
        let mut parts = vec![];
        match (&self.done, self.name.is_empty()) {
            (None, _) => parts.push(format!("\"name\": {}", json_string(&self.name))),
            (Some(done), true) => {
                parts.push(format!("\"latency\": {:.6}", done.time.as_secs_f64()));
                parts.extend(done.rows.map(|rows| format!("\"rows_returned\": {rows}")));
            }
            (Some(done), false) => {
                parts.push(format!("\"operator_name\": {}", json_string(&self.name)));
                let time = done.time.as_secs_f64();
                parts.push(format!("\"operator_timing\": {time:.6}"));
                let rows = done.rows;
                parts.extend(rows.map(|rows| format!("\"operator_cardinality\": {rows}")));
            }
        }
        let mut children = "\"children\": [".to_owned();
        for (at, child) in self.children.iter().enumerate() {
            children.push_str(if at == 0 { "\n" } else { ",\n" });
            child.write_json(&mut children, depth + 2);
        }
        if !self.children.is_empty() {
            let _ = write!(children, "\n{inner}");
        }
        parts.push(children + "]");
        parts.push(match self.details.is_empty() {
            true => "\"extra_info\": {}".to_owned(),
            false => format!(
                "\"extra_info\": {{\n{inner}    \"Details\": {}\n{inner}}}",
                json_string(&self.details)
            ),
        });
        let parts = parts.join(&format!(",\n{inner}"));
        let _ = write!(text, "{outer}{{\n{inner}{parts}\n{outer}}}");
    }

    /// What a graph says of it.
    fn label(&self) -> String {
        let mut label = self.name.clone();
        if !self.details.is_empty() {
            let _ = write!(label, "\n───\n{}", self.details);
        }
        if let Some(done) = &self.done {
            let _ = write!(label, "\n───{}", done.to_string().trim_start_matches(','));
        }
        label
    }
}

/// Operators that are in each other.
const MAX_DEPTH: usize = 500;

/// The nodes of a graph and the arrows between them, by their depth and their place there.
#[derive(Default)]
struct Graph {
    /// How many there are at each depth.
    counts: Vec<usize>,
    nodes: String,
    arrows: String,
}

impl Graph {
    fn add(&mut self, node: &Node, depth: usize) -> String {
        if self.counts.len() <= depth {
            self.counts.push(0);
        }
        let name = format!("node_{}_{depth}", self.counts[depth]);
        self.counts[depth] += 1;
        let label = json_string(&node.label());
        let _ = writeln!(self.nodes, "    {name} [label={label}];");
        for child in &node.children {
            let child = self.add(child, depth + 1);
            let _ = writeln!(self.arrows, "    {name} -> {child};");
        }
        name
    }

    fn text(&self) -> String {
        format!(
            "digraph G {{\n    node [shape=box, style=rounded, fontname=\"Courier New\", fontsize=10];\n{}{}}}\n",
            self.nodes, self.arrows
        )
    }
}
