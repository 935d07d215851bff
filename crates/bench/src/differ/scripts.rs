//! Scripts: statements that change rows, among queries, in both databases.
//!
//! What must hold: after each, the table has the same rows in both, also after an error, of which a transaction ends. What
//! differs is told with the statements and rows that it needs; then both begin again from DuckDB's rows of before.

use super::judge::{Verdict, judge};
use super::run_statement::{Outcome, outcome};
use super::seen::Seen;
use super::theirs::Reply;
use super::{Differ, Filled, Plan, error_of, shown_outcome, shown_reply, with_views};
use crate::failure::Result;
use hushdb_querygen::{
    Answer, Case, Change, Dice, Generator, Script, Statement, Table, Value, World, ruled_world,
    shrink,
};

/// Statements over one set of tables.
const STATEMENTS_PER_WORLD: usize = 60;

/// A set of tables, what was run over them, and DuckDB's rows of each before the next statement.
struct Open {
    world: World,
    script: Script,
    rows: Vec<Answer>,
}

/// What came of a statement, and of looking at tables after it.
struct Step {
    verdict: Verdict,
    statement: (Outcome, Reply),
    /// The tables that were looked at, by their place.
    tables: Vec<(usize, Outcome, Reply)>,
}

impl Step {
    /// The verdict, and how errors begin: what a smaller script must show, too.
    fn looks(&self) -> (Verdict, String, String) {
        let (ours, theirs) = &self.statement;
        let ours = match ours {
            Outcome::Rows(_) => String::new(),
            failed => error_of(&shown_outcome(failed)).to_owned(),
        };
        let theirs = match theirs {
            Ok(_) => String::new(),
            Err(error) => error.chars().take(30).collect(),
        };
        (self.verdict, ours, theirs)
    }
}

impl Differ {
    /// Runs statements over one set of tables of the seed.
    pub(super) fn one_script(&mut self, plan: &Plan, n: u64) -> Result<()> {
        let mut dice = Dice::new(plan.seed.wrapping_mul(1_000_003).wrapping_add(n));
        let world = ruled_world(&mut dice);
        if let Filled::Differs(difference) = self.fill(&world)? {
            return self.fail(&format!("world {n}: setup: {difference}"), &difference);
        }
        let mut generator = Generator::new(&world, dice.fork());
        let Some(mut open) = self.open(world)? else {
            self.tally.refused_worlds += 1;
            return Ok(());
        };
        for _ in 0..STATEMENTS_PER_WORLD {
            if self.tally.shapes.len() >= plan.failures || self.tally.statements >= plan.queries {
                break;
            }
            let statement = generator.statement(open.script.is_in_transaction());
            if !self.next(&mut open, statement, n)? {
                break;
            }
        }
        Ok(())
    }

    /// Makes the tables in both; nothing where they have other rows.
    fn open(&mut self, world: World) -> Result<Option<Open>> {
        if !matches!(self.fill(&world)?, Filled::Whole) {
            return Ok(None);
        }
        let all: Vec<_> = (0..world.tables.len()).collect();
        let tables = self.tables(&world, &all)?;
        let rows = tables.into_iter().map(|(_, ours, theirs)| {
            let seen = Seen::of("", &ours, &theirs);
            (judge(&seen) == Verdict::Same).then(|| theirs.unwrap_or_default())
        });
        let rows: Option<Vec<_>> = rows.collect();
        Ok(rows.map(|rows| Open {
            world,
            rows,
            script: Script::default(),
        }))
    }

    /// Runs a statement of a script. Says whether others can follow.
    fn next(&mut self, open: &mut Open, statement: Statement, n: u64) -> Result<bool> {
        let was_in_transaction = open.script.is_in_transaction();
        let step = self.step(&open.world, &open.script, &statement)?;
        self.tally.add(step.verdict);
        open.script.statements.push(statement);
        if let Verdict::Failure(_) = step.verdict {
            self.explain_script(open, &step, n)?;
        }
        if matches!(step.verdict, Verdict::Same | Verdict::BothFail) {
            for (at, _, theirs) in step.tables {
                open.rows[at] = theirs.unwrap_or_default();
            }
            if step.verdict == Verdict::BothFail && was_in_transaction {
                let rollback = Statement::Transaction("ROLLBACK");
                open.script.statements.push(rollback);
            }
            return Ok(true);
        }
        match self.open(with_rows(&open.world, &open.rows))? {
            Some(again) => *open = again,
            None => return Ok(false),
        }
        Ok(true)
    }

    fn step(&mut self, world: &World, before: &Script, statement: &Statement) -> Result<Step> {
        let sql = statement.to_string();
        let ours = outcome(|| self.ours.execute(&sql));
        let theirs = match statement {
            Statement::Change(change) if !change.returns_rows() => self.theirs.count(&sql)?,
            _ => self.theirs.run(&sql)?,
        };
        let sql = with_definitions(sql, world);
        let touched = before.touched_tables();
        let verdict = judge(&Seen {
            ordered: matches!(statement, Statement::Query(query) if !query.order.is_empty()),
            change: match statement {
                Statement::Change(change) => changed_table(change, world),
                _ => None,
            },
            touched: &touched,
            ..Seen::of(&sql, &ours, &theirs)
        });
        let mut step = Step {
            verdict,
            statement: (ours, theirs),
            tables: vec![],
        };
        if matches!(verdict, Verdict::Same | Verdict::BothFail) {
            self.look_after(
                &mut step,
                world,
                (statement, &sql),
                before.is_in_transaction(),
            )?;
        }
        Ok(step)
    }

    /// Compares the tables that the statement may have changed.
    fn look_after(
        &mut self,
        step: &mut Step,
        world: &World,
        (statement, sql): (&Statement, &str),
        in_transaction: bool,
    ) -> Result<()> {
        let ends = step.verdict == Verdict::BothFail && in_transaction;
        let all = 0..world.tables.len();
        let changed: Vec<usize> = match statement {
            Statement::Query(_) if !ends => return Ok(()),
            Statement::Change(change) if !ends => all
                .filter(|at| world.tables[*at].name == change.table)
                .collect(),
            _ => all.collect(),
        };
        if ends {
            let _ = self.run("ROLLBACK")?;
        }
        step.tables = self.tables(world, &changed)?;
        for (_, ours, theirs) in &step.tables {
            match judge(&Seen::of(sql, ours, theirs)) {
                Verdict::Same => {}
                Verdict::Excused(rule) => step.verdict = Verdict::Excused(rule),
                _ => {
                    step.verdict = Verdict::Failure("other rows in the table afterwards");
                    break;
                }
            }
        }
        Ok(())
    }

    fn tables(&mut self, world: &World, which: &[usize]) -> Result<Vec<(usize, Outcome, Reply)>> {
        let seen = which.iter().map(|at| {
            let sql = format!("SELECT * FROM {}", world.tables[*at].name);
            let (ours, theirs) = self.run(&sql)?;
            Ok((*at, ours, theirs))
        });
        seen.collect()
    }

    /// Makes the tables, runs the script, and says what came of its last statement; nothing where they differ before.
    fn play(&mut self, case: &Case<Script>) -> Result<Option<Step>> {
        if !matches!(self.fill(&case.world)?, Filled::Whole) {
            return Ok(None);
        }
        let Some((last, before)) = case.query.statements.split_last() else {
            return Ok(None);
        };
        for statement in before {
            let sql = statement.to_string();
            let (ours, theirs) = self.run(&sql)?;
            if matches!(ours, Outcome::Rows(_)) != theirs.is_ok() {
                return Ok(None);
            }
        }
        let before = Script {
            statements: before.to_vec(),
        };
        self.step(&case.world, &before, last).map(Some)
    }

    /// Shrinks a script whose last statement fails, and tells of it.
    fn explain_script(&mut self, open: &Open, step: &Step, n: u64) -> Result<()> {
        let (verdict, looks) = (step.verdict, step.looks());
        let whole = Case {
            world: open.world.clone(),
            query: open.script.clone(),
        };
        let last = open.script.statements.last().cloned();
        let alone = Case {
            world: with_rows(&open.world, &open.rows),
            query: Script {
                statements: last.into_iter().collect(),
            },
        };
        let mut fails = |case: &Case<Script>| {
            let played = self.play(case);
            matches!(played, Ok(Some(step)) if step.looks() == looks)
        };
        let start = if fails(&alone) { alone } else { whole };
        let small = shrink(start, &mut fails);
        let mut text = format!("world {n}: {verdict:?}\n");
        for statement in small.world.statements() {
            text.push_str(&format!("  {statement};\n"));
        }
        for statement in &small.query.statements {
            text.push_str(&format!("  {statement};\n"));
        }
        let mut error = String::new();
        match self.play(&small)? {
            None => text.push_str("  differs before the last statement now"),
            Some(step) => {
                let (ours, theirs) = &step.statement;
                error = shown_outcome(ours);
                text.push_str(&shown("", ours, theirs));
                for (at, ours, theirs) in &step.tables {
                    let table = format!("{} then: ", small.world.tables[*at].name);
                    text.push_str(&shown(&table, ours, theirs));
                }
            }
        }
        let last = small.query.statements.last().map(ToString::to_string);
        let like = format!(
            "{verdict:?} {} {}",
            last.unwrap_or_default(),
            error_of(&error)
        );
        self.fail(text.trim_end(), &like)
    }
}

fn shown(what: &str, ours: &Outcome, theirs: &Reply) -> String {
    let (ours, theirs) = (shown_outcome(ours), shown_reply(theirs));
    format!("  {what}hushdb: {ours}\n  {what}duckdb: {theirs}\n")
}

/// A statement, and behind it what has reasons for a difference as well: the tables and views that it names.
fn with_definitions(sql: String, world: &World) -> String {
    let mut all = with_views(sql, world);
    for table in &world.tables {
        if all.contains(&table.name) {
            all = format!("{all} -- {}", table.definition());
        }
    }
    all
}

/// The change with its table.
fn changed_table<'a>(change: &'a Change, world: &'a World) -> Option<(&'a Change, &'a Table)> {
    let mut tables = world.tables.iter();
    let table = tables.find(|table| table.name == change.table)?;
    Some((change, table))
}

/// The tables with other rows, as texts that are cast.
fn with_rows(world: &World, rows: &[Answer]) -> World {
    let mut world = world.clone();
    for (table, answer) in world.tables.iter_mut().zip(rows) {
        let value = |text: &Option<String>| match text {
            Some(text) => Value::Text(text.clone()),
            None => Value::Null,
        };
        let rows = answer.rows.iter();
        table.rows = rows.map(|row| row.iter().map(value).collect()).collect();
    }
    world
}
