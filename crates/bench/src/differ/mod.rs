//! `differ`: the same statements in HushDB and in DuckDB, whose answers are taken for right.
//!
//! What must hold: whatever differs is excused by a rule that has a name, or is a failure, shrunk to a minimal statement.

mod changes;
mod coverage;
mod functions;
mod judge;
#[path = "../../../../tests/run_statement.rs"]
mod run_statement;
mod scripts;
mod seen;
mod shapes;
mod theirs;

use crate::failure::{Failure, Result};
use crate::rival::Rival;
pub(crate) use coverage::coverage;
use hushdb::{Connection, Database, DatabaseOptions, ErrorKind};
use hushdb_querygen::{Case, Dice, Generator, World, shrink, world};
use judge::{Verdict, is_fatal, is_missing, judge};
use run_statement::{Outcome, outcome};
use seen::Seen;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Write, stdout};
use std::path::Path;
use theirs::{Reply, Theirs};

/// Queries over one set of tables.
const QUERIES_PER_WORLD: usize = 40;

/// What is run.
pub(crate) struct Plan {
    pub(crate) queries: usize,
    pub(crate) seed: u64,
    /// The set of tables of the seed to begin with.
    pub(crate) world: u64,
    /// Distinct failures after which it ends.
    pub(crate) failures: usize,
    /// Whether functions are tried by themselves, too.
    pub(crate) functions: bool,
    /// Whether statements that change rows are run among the queries.
    pub(crate) edits: bool,
}

/// Runs the plan. Fails where the answers differ.
pub(crate) fn run(plan: &Plan, directory: &Path) -> Result<()> {
    let theirs = Theirs::start(Rival::duckdb_answers(directory)?)?;
    let mut differ = Differ {
        ours: empty()?,
        theirs,
        tally: Tally::default(),
    };
    let mut n = plan.world;
    while differ.tally.statements < plan.queries && differ.tally.shapes.len() < plan.failures {
        match plan.edits {
            true => differ.one_script(plan, n)?,
            false => differ.one_world(plan, n)?,
        }
        n += 1;
    }
    if plan.functions {
        functions::try_all(&mut differ, plan)?;
    }
    differ.tally.print()?;
    match differ.tally.shapes.is_empty() {
        true => Ok(()),
        false => Err(Failure("the answers differ".to_owned())),
    }
}

/// What came of making a set of tables in both.
enum Filled {
    Whole,
    /// One of them says by name that it does not make a view, or a rule excuses what one of them does not take.
    Refused,
    /// Only one of them makes it.
    Differs(String),
}

struct Differ {
    ours: Connection,
    theirs: Theirs,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    statements: usize,
    same: usize,
    both_fail: usize,
    refused: usize,
    /// Sets of tables with a view that one of them says by name that it does not make.
    refused_worlds: usize,
    excused: BTreeMap<&'static str, usize>,
    failed: usize,
    /// Failures that are not alike.
    shapes: BTreeSet<String>,
    /// Functions that only DuckDB has.
    missing: BTreeSet<String>,
    /// What is said where something is refused by name, and the first statement of which it is said.
    refusals: BTreeMap<String, String>,
}

/// A statement, and behind it the queries of the views that it names, which have reasons for a difference as well.
fn with_views(mut sql: String, world: &World) -> String {
    for view in world.views.iter().rev() {
        if sql.contains(&view.name) {
            sql = format!("{sql} -- {}", view.query);
        }
    }
    sql
}

fn empty() -> Result<Connection> {
    let options = DatabaseOptions {
        threads: Some(1),
        memory_limit_bytes: Some(1 << 30),
        ..DatabaseOptions::default()
    };
    Ok(Database::open_with(None, options)?.connect()?)
}

impl Differ {
    fn one_world(&mut self, plan: &Plan, n: u64) -> Result<()> {
        let mut dice = Dice::new(plan.seed.wrapping_mul(1_000_003).wrapping_add(n));
        let world = world(&mut dice);
        match self.fill(&world)? {
            Filled::Whole => {}
            Filled::Refused => {
                self.tally.refused_worlds += 1;
                return Ok(());
            }
            Filled::Differs(difference) => {
                return self.fail(&format!("setup: {difference}"), &difference);
            }
        }
        let mut generator = Generator::new(&world, dice.fork());
        for _ in 0..QUERIES_PER_WORLD {
            if self.tally.shapes.len() >= plan.failures || self.tally.statements >= plan.queries {
                break;
            }
            let case = Case {
                world: world.clone(),
                query: generator.query(),
            };
            let verdict = self.verdict(&case)?;
            self.tally.add(verdict);
            if let Verdict::Failure(_) = verdict {
                self.explain(case, verdict, n)?;
                self.fill(&world)?;
            }
        }
        Ok(())
    }

    /// Makes the tables in both.
    fn fill(&mut self, world: &World) -> Result<Filled> {
        self.ours = empty()?;
        for (sql, theirs) in self.theirs.fill(world)? {
            let ours = outcome(|| self.ours.execute(&sql));
            let made = matches!(ours, Outcome::Rows(_));
            let is_refused = matches!(ours, Outcome::Error(ErrorKind::Unsupported, _))
                || theirs.as_ref().is_err_and(|error| is_missing(error));
            if is_refused {
                return Ok(Filled::Refused);
            }
            let verdict = judge(&Seen::of(&sql, &ours, &theirs));
            if made != theirs.is_ok() {
                if let Verdict::Excused(_) = verdict {
                    return Ok(Filled::Refused);
                }
                let (ours, theirs) = (shown_outcome(&ours), shown_reply(&theirs));
                return Ok(Filled::Differs(format!(
                    "{sql};\n  hushdb: {ours}\n  duckdb: {theirs}"
                )));
            }
        }
        Ok(Filled::Whole)
    }

    fn verdict(&mut self, case: &Case) -> Result<Verdict> {
        let sql = case.query.to_string();
        let ordered = !case.query.order.is_empty();
        let (ours, theirs) = self.run(&sql)?;
        let verdict = judge(&Seen {
            ordered,
            ..Seen::of(&with_views(sql, &case.world), &ours, &theirs)
        });
        if theirs.is_err_and(|error| is_fatal(&error)) {
            self.fill(&case.world)?;
        }
        if let (Verdict::Refused, Outcome::Error(_, text)) = (verdict, &ours) {
            let first = text.lines().next().unwrap_or_default();
            let sql = || case.query.to_string();
            let refusals = &mut self.tally.refusals;
            refusals.entry(first.to_owned()).or_insert_with(sql);
        }
        let is_other = verdict == Verdict::Failure("other rows");
        match is_other && self.contradicts_itself(case, &ours)? {
            true => Ok(Verdict::Excused("a view beside a table of its rows")),
            false => Ok(verdict),
        }
    }

    /// Whether DuckDB has HushDB's answer where tables with their rows stand in the place of views.
    fn contradicts_itself(&mut self, case: &Case, ours: &Outcome) -> Result<bool> {
        if case.world.views.is_empty() {
            return Ok(false);
        }
        self.theirs.fill_with_tables(&case.world)?;
        let theirs = self.theirs.run(&case.query.to_string())?;
        self.theirs.fill(&case.world)?;
        Ok(judge(&Seen {
            ordered: !case.query.order.is_empty(),
            ..Seen::of("", ours, &theirs)
        }) == Verdict::Same)
    }

    fn run(&mut self, sql: &str) -> Result<(Outcome, Reply)> {
        let ours = outcome(|| self.ours.execute(sql));
        Ok((ours, self.theirs.run(sql)?))
    }

    /// Shrinks a failure and tells of it, if none was like it.
    fn explain(&mut self, case: Case, verdict: Verdict, n: u64) -> Result<()> {
        let mut open = case.world.clone();
        let drawn = case.query.to_string();
        let small = shrink(case, &mut |candidate| {
            if candidate.world != open {
                open = candidate.world.clone();
                if !matches!(self.fill(&open), Ok(Filled::Whole)) {
                    return false;
                }
            }
            matches!(self.verdict(candidate), Ok(found) if found == verdict)
        });
        self.fill(&small.world)?;
        let sql = small.query.to_string();
        let (ours, theirs) = self.run(&sql)?;
        let mut text = format!("world {n}: {verdict:?}\n");
        for statement in small.world.statements() {
            text.push_str(&format!("  {statement};\n"));
        }
        let (ours, theirs) = (shown_outcome(&ours), shown_reply(&theirs));
        text.push_str(&format!(
            "  {sql};\n  hushdb: {ours}\n  duckdb: {theirs}\n  drawn as: {drawn}"
        ));
        self.fail(&text, &format!("{verdict:?} {sql} {}", error_of(&ours)))
    }

    /// Tells of a failure whose shape is new.
    fn fail(&mut self, text: &str, like: &str) -> Result<()> {
        if self.tally.shapes.insert(shape(like)) {
            writeln!(stdout(), "{text}\n")?;
        }
        Ok(())
    }
}

/// The start of an error, which tells one from another; nothing of an answer.
fn error_of(shown: &str) -> &str {
    match shown.split_once(": ") {
        Some((_, text)) if !shown.contains(" rows of ") => &text[..text.len().min(30)],
        _ => "",
    }
}

/// A statement without its names, numbers and texts.
fn shape(sql: &str) -> String {
    let mut shape = String::new();
    for (n, piece) in sql.split('\'').enumerate() {
        if n % 2 == 1 {
            shape.push('?');
            continue;
        }
        let words = piece.split_inclusive(|c: char| !c.is_alphanumeric() && c != '_');
        for word in words {
            let bare = word.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '_');
            let named = bare.len() < 5 && bare.ends_with(|c: char| c.is_ascii_digit());
            match named {
                true => shape.push_str(&word.replace(bare, "?")),
                false => shape.push_str(word),
            }
        }
    }
    shape
}

impl Tally {
    fn add(&mut self, verdict: Verdict) {
        self.statements += 1;
        match verdict {
            Verdict::Same => self.same += 1,
            Verdict::BothFail => self.both_fail += 1,
            Verdict::Refused => self.refused += 1,
            Verdict::Excused(rule) => *self.excused.entry(rule).or_default() += 1,
            Verdict::Failure(_) => self.failed += 1,
        }
    }

    fn print(&self) -> Result<()> {
        let mut out = stdout();
        let excused = self.excused.iter();
        let excused: Vec<_> = excused
            .map(|(rule, n)| format!("{n} by \"{rule}\""))
            .collect();
        let excused = match excused.is_empty() {
            true => "none".to_owned(),
            false => excused.join(", "),
        };
        if !self.missing.is_empty() {
            let names: Vec<_> = self.missing.iter().map(String::as_str).collect();
            writeln!(out, "functions that only DuckDB has: {}", names.join(" "))?;
        }
        for (refusal, sql) in &self.refusals {
            writeln!(out, "refused by name: {refusal}\n  {sql}")?;
        }
        if self.refused_worlds > 0 {
            let worlds = self.refused_worlds;
            writeln!(
                out,
                "{worlds} sets of tables have a view that is refused by name, or rows or rules that one of both does not take"
            )?;
        }
        writeln!(
            out,
            "{} statements: {} the same, {} errors in both, {} refused by name, excused: {excused}, {} failures of {} kinds",
            self.statements,
            self.same,
            self.both_fail,
            self.refused,
            self.failed,
            self.shapes.len()
        )?;
        Ok(())
    }
}

fn shown_reply(reply: &Reply) -> String {
    match reply {
        Ok(answer) => shown_answer(answer),
        Err(error) => error.clone(),
    }
}

fn shown_outcome(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Rows(answer) => shown_answer(answer),
        Outcome::Error(kind, text) => format!("{kind:?}: {text}"),
        Outcome::Panic(text) => format!("panic: {text}"),
    }
}

fn shown_answer(answer: &hushdb_querygen::Answer) -> String {
    let rows = answer.rows.iter().take(8).map(|row| {
        let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
        format!("({})", values.collect::<Vec<_>>().join(", "))
    });
    let rows: Vec<_> = rows.collect();
    let (types, rows) = (answer.types.join(", "), rows.join(" "));
    format!("{} rows of {types}: {rows}", answer.rows.len())
}
