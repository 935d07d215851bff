//! `Search`: worlds and queries by the thousand, and what is said of those whose forms disagree.
//!
//! The rule for errors: one that a value caused (a number out of range, a text that is no number) may come in one form alone,
//! since an engine is free to evaluate an expression for more rows than are asked for, or fewer. So may one that says that
//! something is not supported, since forms are different statements. A panic or an internal error is always a failure; any
//! other error is one unless all forms have it. Where only the parts have the predicate, they are asked to agree with each other.

use super::engines::{Engines, Fault};
use super::forms::{Check, Form, How, with_parameters};
use super::known::Known;
use super::run_statement::Outcome;
use hushdb::ErrorKind;
use hushdb_querygen::{Case, Dice, Generator, shrink, world};
use std::collections::HashSet;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Checks over one set of tables.
const CHECKS_PER_WORLD: usize = 60;
const WORKERS: usize = 2;

pub(crate) struct Search {
    pub(crate) seed: u64,
    /// How many statements are run.
    pub(crate) queries: usize,
    /// Characters of the longest query that is tried.
    pub(crate) longest: usize,
    pub(crate) fault: Option<Fault>,
    pub(crate) most_failures: usize,
    /// Defects that are known and left out.
    pub(crate) known: Known,
    /// Shapes of failures that were told of.
    pub(crate) shapes: Mutex<HashSet<String>>,
}

/// What was seen.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) failures: Vec<String>,
    pub(crate) statements: usize,
    pub(crate) checks: usize,
    /// Checks of which the first form has an answer.
    pub(crate) answered: usize,
    /// Checks all of whose forms give an error.
    pub(crate) errors: usize,
    /// Forms with an error that a value caused, where the first has an answer, or the other way round.
    pub(crate) excused: usize,
    /// Queries of a shape that is left out.
    pub(crate) left_out: usize,
    /// Queries that are longer than this search asks for.
    pub(crate) too_long: usize,
}

impl Report {
    pub(crate) fn summary(&self) -> String {
        format!(
            "{} statements in {} checks: {} with an answer, {} with an error in all forms; {} forms with an error that the \
             order of evaluation or a missing feature explains, {} queries left out, {} too long, {} failures",
            self.statements,
            self.checks,
            self.answered,
            self.errors,
            self.excused,
            self.left_out,
            self.too_long,
            self.failures.len()
        )
    }

    fn add(&mut self, other: Self) {
        self.failures.extend(other.failures);
        self.statements += other.statements;
        self.checks += other.checks;
        self.answered += other.answered;
        self.errors += other.errors;
        self.excused += other.excused;
        self.left_out += other.left_out;
        self.too_long += other.too_long;
    }
}

/// Why a form does not agree with the first one; nothing where it does, or where an error excuses it.
pub(crate) fn disagreement(
    first: &Outcome,
    form: &Outcome,
    holds_only: bool,
) -> Option<&'static str> {
    let value_kinds = [
        ErrorKind::OutOfRange,
        ErrorKind::Conversion,
        ErrorKind::InvalidInput,
        ErrorKind::Unsupported,
    ];
    for outcome in [first, form] {
        match outcome {
            Outcome::Panic(_) => return Some("a panic"),
            Outcome::Error(ErrorKind::Internal, _) => return Some("an internal error"),
            _ => {}
        }
    }
    match (first, form) {
        (Outcome::Rows(one), Outcome::Rows(other)) => {
            let same = match holds_only {
                true => other.holds(one),
                false => other.same_rows(one) && one.types == other.types,
            };
            (!same).then_some("another answer")
        }
        (Outcome::Rows(_), Outcome::Error(kind, _))
        | (Outcome::Error(kind, _), Outcome::Rows(_)) => {
            (!value_kinds.contains(kind)).then_some("an error in one form alone")
        }
        _ => None,
    }
}

impl Search {
    /// Runs worlds until enough statements were run, on a few threads.
    pub(crate) fn run(&self) -> Report {
        let next = AtomicUsize::new(0);
        let whole = Mutex::new(Report::default());
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                // As much stack as planning asks for: each statement would else make one.
                let worker = std::thread::Builder::new().stack_size(64 << 20);
                let work = || {
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let seen = self.one_world(n);
                        let mut whole = whole.lock().unwrap();
                        whole.add(seen);
                        if whole.statements >= self.queries
                            || whole.failures.len() >= self.most_failures
                        {
                            return;
                        }
                    }
                };
                worker.spawn_scoped(scope, work).unwrap();
            }
        });
        whole.into_inner().unwrap()
    }

    fn one_world(&self, n: usize) -> Report {
        let mut dice = Dice::new(self.seed.wrapping_mul(1_000_003).wrapping_add(n as u64));
        let world = world(&mut dice);
        let engines = Engines::open(&world, self.fault);
        let mut generator = Generator::new(&world, dice.fork());
        let mut report = Report::default();
        if !engines.refused.is_empty() {
            let refused = engines.refused.first().cloned().unwrap_or_default();
            let failure = format!("seed {}, world {n}: not made:\n{refused}", self.seed);
            report.failures.push(failure);
            return report;
        }
        for turn in 0..CHECKS_PER_WORLD {
            let check = Check::in_turn(turn);
            let query = check.query(&mut generator);
            let case = Case {
                world: world.clone(),
                query,
            };
            if case.query.to_string().len() > self.longest {
                report.too_long += 1;
                continue;
            }
            if self.known.has_shape(&case) {
                report.left_out += 1;
                continue;
            }
            let Some(outcomes) = outcomes(check, &case, &engines) else {
                continue;
            };
            report.count(check, &outcomes);
            if self.failing(check, &outcomes).is_some() {
                let small = self.shrunk(check, case);
                report.failures.extend(self.described(check, &small, n));
                // One defect would be found again and again.
                break;
            }
        }
        report
    }

    fn shrunk(&self, check: Check, case: Case) -> Case {
        let mut engines = Engines::open(&case.world, self.fault);
        let mut open = case.world.clone();
        let first = outcomes(check, &case, &engines).and_then(|all| self.failing(check, &all));
        shrink(case, &mut |candidate| {
            if self.known.has_shape(candidate) {
                return false;
            }
            if candidate.world != open {
                engines = Engines::open(&candidate.world, self.fault);
                open = candidate.world.clone();
            }
            let found = outcomes(check, candidate, &engines);
            engines.refused.is_empty() && found.and_then(|all| self.failing(check, &all)) == first
        })
    }

    /// A failure, if none was like it.
    fn described(&self, check: Check, case: &Case, world: usize) -> Option<String> {
        let engines = Engines::open(&case.world, self.fault);
        let mut text = format!("seed {}, world {world}, {check:?}:\n", self.seed);
        for statement in case.world.statements() {
            let _ = writeln!(text, "  {statement};");
        }
        let all = outcomes(check, case, &engines).unwrap_or_default();
        let failure = self.failing(check, &all);
        for (at, (form, outcome)) in all.iter().enumerate() {
            if at > 0 && failure.is_some_and(|(_, failed)| failed != at) {
                continue;
            }
            let _ = writeln!(text, "  -- {}\n  {};", form.label, form.query);
            let _ = writeln!(text, "  {}", shown(outcome));
        }
        let last = all.get(failure.map_or(0, |(_, at)| at))?;
        let shape: String = last.0.query.to_string();
        let shape = shape.replace(|c: char| c.is_ascii_digit(), "");
        let new = self.shapes.lock().unwrap().insert(shape);
        new.then_some(text)
    }

    /// Why, and which of the forms does not agree, if that is not known.
    fn failing(&self, check: Check, outcomes: &[(Form, Outcome)]) -> Option<(&'static str, usize)> {
        let failure = failing(check, outcomes)?;
        let says = |outcome: &Outcome| match outcome {
            Outcome::Rows(_) => false,
            failed => self.known.says(&shown(failed)),
        };
        let known = says(&outcomes[0].1) || says(&outcomes[failure.1].1);
        (!known).then_some(failure)
    }
}

impl Report {
    fn count(&mut self, check: Check, outcomes: &[(Form, Outcome)]) {
        let failed = |outcome: &Outcome| !matches!(outcome, Outcome::Rows(_));
        let errors = outcomes
            .iter()
            .filter(|(_, outcome)| failed(outcome))
            .count();
        self.checks += 1;
        let views = outcomes.iter().filter(|(form, _)| form.how == How::View);
        // A view is made first, and a predicate asked for before it is known which row must be there.
        self.statements += outcomes.len() + views.count() + usize::from(check == Check::Pivot);
        if errors == outcomes.len() {
            self.errors += 1;
        } else {
            self.excused += errors;
        }
        self.answered += usize::from(outcomes.first().is_some_and(|(_, first)| !failed(first)));
    }
}

/// Runs all forms.
fn outcomes(check: Check, case: &Case, engines: &Engines) -> Option<Vec<(Form, Outcome)>> {
    let forms = check.forms(case, engines)?.into_iter();
    let run = forms.map(|form| {
        let outcome = run(&form, engines);
        (form, outcome)
    });
    Some(run.collect())
}

fn run(form: &Form, engines: &Engines) -> Outcome {
    match form.how {
        How::Text => engines.run_text(form.on, &form.query.to_string()),
        How::Prepared => {
            let (query, values) = with_parameters(form.query.clone());
            engines.run_prepared(form.on, &query.to_string(), &values)
        }
        How::View => {
            let made = format!("CREATE OR REPLACE VIEW as_view AS {}", form.query);
            match engines.run_text(form.on, &made) {
                Outcome::Rows(_) => engines.run_text(form.on, "SELECT * FROM as_view"),
                failed => failed,
            }
        }
    }
}

/// Why, and which of the forms does not agree.
fn failing(check: Check, outcomes: &[(Form, Outcome)]) -> Option<(&'static str, usize)> {
    let (_, first) = outcomes.first()?;
    let mut others = outcomes.iter().enumerate();
    others.find_map(|(at, (_, outcome))| {
        let reference = match check.first_has_no_predicate() && at > 1 && is_error(outcome) {
            true => &outcomes[1].1,
            false => first,
        };
        if at == 1 && check.first_has_no_predicate() && is_refusal(outcome) {
            return None;
        }
        let why = disagreement(reference, outcome, at > 0 && check.holds_only())?;
        Some((why, at))
    })
}

fn is_error(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Error(..))
}

/// An error that is no defect by itself.
fn is_refusal(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Error(kind, _) if *kind != ErrorKind::Internal)
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Panic(text) => format!("panic: {text}"),
        Outcome::Error(kind, text) => format!("{kind:?}: {text}"),
        Outcome::Rows(answer) => {
            let rows = answer.rows.iter().take(10).map(|row| {
                let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
                format!("({})", values.collect::<Vec<_>>().join(", "))
            });
            let rows: Vec<_> = rows.collect();
            format!(
                "{} rows of {}: {}",
                answer.rows.len(),
                answer.types.join(", "),
                rows.join(" ")
            )
        }
    }
}
