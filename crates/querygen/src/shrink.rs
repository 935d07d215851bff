//! Making a case that fails as small as it gets, by structure: clauses go, expressions become what is in them or a
//! literal, tables lose rows and columns.

use crate::edit::{self, Node, children, edit};
use crate::literals::{Value, simplest};
use crate::shrink_changes::{change_cost, edit_change, edit_script, is_determined, names};
use crate::tree::{
    Body, Expression, Group, Naming, Query, Script, Select, SortKey, Source, Statement,
};
use crate::world::{Column, World};

/// Tables and a query over them, or a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Case<T = Query> {
    /// The tables.
    pub world: World,
    /// The query.
    pub query: T,
}

/// What is made small.
pub trait Tree: Clone + PartialEq {
    /// How many cases are tried at most.
    const TRIES: usize;

    /// Shows every part to `visit`, what holds others before these; where it says false, what is inside is left out.
    fn edit(&mut self, visit: &mut dyn FnMut(Node<'_>) -> bool);

    /// Whether its outcome is determined, over these tables.
    fn has_one_answer(&self, world: &World) -> bool;
}

impl Tree for Query {
    const TRIES: usize = 3000;

    fn edit(&mut self, visit: &mut dyn FnMut(Node<'_>) -> bool) {
        edit(self, visit);
    }

    fn has_one_answer(&self, _: &World) -> bool {
        queries_have_one_answer(self)
    }
}

impl Tree for Script {
    /// Each of them makes the tables again.
    const TRIES: usize = 800;

    fn edit(&mut self, visit: &mut dyn FnMut(Node<'_>) -> bool) {
        edit::edit_script(self, visit);
    }

    fn has_one_answer(&self, world: &World) -> bool {
        let mut changes = self.statements.iter().filter_map(|one| match one {
            Statement::Change(change) => Some(change),
            _ => None,
        });
        changes.all(|change| is_determined(change, world)) && queries_have_one_answer(self)
    }
}

/// The smallest case found for which `fails` is still true; it is asked often.
pub fn shrink<T: Tree>(mut case: Case<T>, fails: &mut dyn FnMut(&Case<T>) -> bool) -> Case<T> {
    let mut tries = T::TRIES;
    loop {
        let before = case.clone();
        shrink_query(&mut case, &mut tries, fails);
        shrink_world(&mut case, &mut tries, fails);
        if case == before || tries == 0 {
            return case;
        }
    }
}

fn attempt<T: Tree>(
    case: &mut Case<T>,
    candidate: Case<T>,
    tries: &mut usize,
    fails: &mut dyn FnMut(&Case<T>) -> bool,
) -> bool {
    if *tries == 0 || candidate == *case || !candidate.query.has_one_answer(&candidate.world) {
        return false;
    }
    *tries -= 1;
    let kept = fails(&candidate);
    if kept {
        *case = candidate;
    }
    kept
}

/// Whether the queries in it each have one answer.
fn queries_have_one_answer<T: Tree>(tree: &T) -> bool {
    let mut sorted = true;
    tree.clone().edit(&mut |node| {
        if let Node::Query(query) = node {
            let select = query.select();
            sorted &= is_sorted_wholly(query)
                && select.is_none_or(|select| !sees_order(select) || reads_sorted_rows(select));
        }
        sorted
    });
    sorted
}

/// Whether a SELECT has columns that follow the order of its rows.
fn sees_order(select: &Select) -> bool {
    let follows = |expression: &Expression| match expression {
        Expression::Call { arguments, .. } => arguments.iter().any(is_window_of_order),
        window @ Expression::Window { .. } => is_window_of_order(window),
        Expression::Aggregate {
            function, ordered, ..
        } => !ordered && ["list", "first", "last"].contains(&function.as_str()),
        _ => false,
    };
    let items = select.items.iter().map(|item| &item.expression);
    items.chain(&select.qualify).any(follows)
}

/// Whether it is a window function that asks for an order, over rows in none, or in one that has lost a key: a constant stands for it.
fn is_window_of_order(expression: &Expression) -> bool {
    let of_all = [
        "count",
        "min",
        "max",
        "sum",
        "rank",
        "dense_rank",
        "percent_rank",
        "cume_dist",
    ];
    match expression {
        Expression::Window {
            order,
            function,
            frame,
            ..
        } => {
            let is_constant = |key: &SortKey| matches!(key.expression, Expression::Literal { .. });
            let follows = !of_all.contains(&function.as_str()) || frame.starts_with("ROWS");
            follows && (order.is_empty() || order.iter().any(is_constant))
        }
        _ => false,
    }
}

fn reads_sorted_rows(select: &Select) -> bool {
    match &select.from {
        Some(Source::Derived { query, .. }) => !query.order.is_empty(),
        _ => false,
    }
}

/// Whether all columns are sorted by, if anything is: else a query has more than one answer.
fn is_sorted_wholly(query: &Query) -> bool {
    let is_key = |alias: &String| {
        let mut keys = query.order.iter().map(|key| &key.expression);
        keys.any(|key| matches!(key, Expression::Column { name, .. } if name == alias))
    };
    let is_unsorted = query.order.is_empty() && query.limit.is_none() && query.offset.is_none();
    let chooses = query
        .select()
        .is_some_and(|select| !select.distinct_on.is_empty());
    is_unsorted && !chooses || query.items().iter().all(|item| is_key(&item.alias))
}

fn shrink_query<T: Tree>(
    case: &mut Case<T>,
    tries: &mut usize,
    fails: &mut dyn FnMut(&Case<T>) -> bool,
) {
    let mut node = 0;
    loop {
        let mut choice = 0;
        loop {
            let mut candidate = case.clone();
            match choose(&mut candidate.query, node, choice) {
                Chosen::NoSuchNode => return,
                Chosen::NoMoreChoices => break,
                Chosen::Edited => {}
            }
            let smaller = cost(&candidate.query) < cost(&case.query);
            match smaller && attempt(case, candidate, tries, fails) {
                true => choice = 0,
                false => choice += 1,
            }
        }
        node += 1;
    }
}

/// Something that falls with every edit, so that shrinking ends.
fn cost<T: Tree>(tree: &T) -> usize {
    let mut cost = 0;
    tree.clone().edit(&mut |node| {
        cost += match node {
            Node::Script(script) => 4 * script.statements.len(),
            Node::Change(change) => change_cost(change),
            Node::Query(query) => {
                let around = query.order.len() + 2 * query.with.len() + usize::from(query.by_all);
                let ends = [query.limit, query.offset].iter().flatten().count()
                    + usize::from(!query.with_words.is_empty());
                4 + around + ends + body_cost(&query.body)
            }
            Node::Source(Source::Join { kind, using, .. }) => 4 + kind.len() + using.len(),
            Node::Source(Source::Derived { lateral: true, .. }) => 5,
            Node::Source(_) => 4,
            Node::Expression(expression) => expression_cost(expression),
        };
        true
    });
    cost
}

fn body_cost(body: &Body) -> usize {
    match body {
        Body::Set { left, right, .. } => 4 + body_cost(left) + body_cost(right),
        Body::Select(select) => {
            let group = match select.group {
                Group::None => 0,
                Group::All => 2,
                Group::Keys(_) => 1,
                Group::Sets(..) => 3,
            };
            let written = select
                .items
                .iter()
                .filter(|item| item.naming != Naming::Behind);
            let star = select.star.as_ref().map_or(0, |star| {
                1 + star.excluded.len() + star.renamed.len() + star.replaced.len()
            });
            let clauses = usize::from(select.distinct) + usize::from(select.from.is_some());
            group + clauses + star + written.count() + select.distinct_on.len()
        }
    }
}

fn expression_cost(expression: &Expression) -> usize {
    match expression {
        Expression::Literal {
            value: Value::Null, ..
        } => 2,
        Expression::Literal { ty, value } => 1 + 2 * usize::from(*value != simplest(ty)),
        Expression::Column { .. } => 4,
        Expression::Call { .. } | Expression::Subquery { .. } => 6,
        Expression::Aggregate {
            distinct, ordered, ..
        } => 6 + usize::from(*distinct) + usize::from(*ordered),
        Expression::Window { frame, nulls, .. } => {
            6 + frame.len().min(2) + nulls.len() + usize::from(frame.contains("EXCLUDE"))
        }
    }
}

enum Chosen {
    Edited,
    NoMoreChoices,
    NoSuchNode,
}

/// Makes one of the edits that one of the nodes allows.
fn choose<T: Tree>(tree: &mut T, node: usize, choice: usize) -> Chosen {
    let mut seen = 0;
    let mut chosen = Chosen::NoSuchNode;
    let mut gone = vec![];
    tree.edit(&mut |part| {
        let here = seen == node;
        seen += 1;
        if here {
            let edited = match part {
                Node::Script(script) => edit_script(script, choice),
                Node::Change(change) => edit_change(change, choice, &mut gone),
                Node::Query(query) => edit_query(query, choice),
                Node::Expression(expression) => edit_expression(expression, choice),
                Node::Source(source) => edit_source(source, choice, &mut gone),
            };
            chosen = match edited {
                Some(()) => Chosen::Edited,
                None => Chosen::NoMoreChoices,
            };
        }
        seen <= node
    });
    without_sources(tree, &gone);
    chosen
}

/// Columns of sources that are gone become literals, and windows are not sorted by them.
fn without_sources<T: Tree>(tree: &mut T, gone: &[String]) {
    let is_gone = |expression: &Expression| matches!(expression, Expression::Column { qualifier: Some(qualifier), .. } if gone.contains(qualifier));
    tree.edit(&mut |node| {
        let Node::Expression(expression) = node else {
            return true;
        };
        if let Expression::Window { order, .. } = expression {
            order.retain(|key| !is_gone(&key.expression));
        }
        if is_gone(expression) {
            let ty = expression.ty().clone();
            *expression = Expression::literal(ty.clone(), simplest(&ty));
        }
        true
    });
}

/// A way to change a query.
type Edit = Box<dyn Fn(&mut Query)>;

fn edit_query(query: &mut Query, choice: usize) -> Option<()> {
    let mut edits: Vec<Edit> = vec![
        Box::new(|q| {
            (q.limit, q.offset) = (None, None);
            q.order.clear();
        }),
        Box::new(|q| q.by_all = false),
        Box::new(|q| q.with_words = ""),
        Box::new(|q| q.limit = None),
        Box::new(|q| q.offset = None),
        Box::new(|q| {
            // What it selects from stands alone.
            if let Some(inner) = q.body_source() {
                *q = inner;
            }
        }),
    ];
    for n in 0..set_operations(&query.body) {
        edits.push(Box::new(move |q| one_side(&mut q.body, n, true)));
        edits.push(Box::new(move |q| one_side(&mut q.body, n, false)));
    }
    for n in 0..query.with.len() {
        edits.push(Box::new(move |q| drop(q.with.remove(n))));
        edits.push(Box::new(move |q| *q = q.with[n].1.clone()));
    }
    for n in 0..query.order.len() {
        edits.push(Box::new(move |q| drop(q.order.remove(n))));
    }
    for n in 0..query.items().len() {
        edits.push(Box::new(move |q| remove_item(q, n)));
    }
    let with_selects: [fn(&mut Select); 12] = [
        |s| s.star = None,
        |s| s.distinct_on.clear(),
        |s| {
            for item in &mut s.items {
                item.naming = Naming::Behind;
            }
        },
        |s| {
            if let Some(star) = &mut s.star {
                star.replaced.clear();
            }
        },
        |s| s.qualify = None,
        |s| s.filter = None,
        |s| s.having = None,
        |s| s.distinct = false,
        |s| s.group = Group::None,
        |s| s.from = None,
        |s| {
            if let Group::Sets(_, sets) = &s.group {
                s.group = Group::Keys(sets.iter().flatten().cloned().collect());
            }
        },
        |s| match &mut s.group {
            Group::Keys(keys) if keys.len() > 1 => drop(keys.pop()),
            Group::Sets(_, sets) if sets.len() > 1 => drop(sets.pop()),
            _ => {}
        },
    ];
    for change in with_selects {
        edits.push(Box::new(move |q| each_select(&mut q.body, &change)));
    }
    edits.get(choice).map(|edit| edit(query))
}

impl Query {
    /// The subquery that is all that a SELECT reads.
    fn body_source(&self) -> Option<Query> {
        match self.select()?.from.as_ref()? {
            Source::Derived { query, .. } | Source::Reshaped { query, .. } => {
                Some((**query).clone())
            }
            _ => None,
        }
    }
}

fn set_operations(body: &Body) -> usize {
    match body {
        Body::Select(_) => 0,
        Body::Set { left, right, .. } => 1 + set_operations(left) + set_operations(right),
    }
}

/// Puts one side of the `n`th set operation in its place.
fn one_side(body: &mut Body, n: usize, first: bool) {
    let Body::Set { left, right, .. } = body else {
        return;
    };
    let on_left = set_operations(left);
    match n {
        0 if first => *body = (**left).clone(),
        0 => *body = (**right).clone(),
        n if n <= on_left => one_side(left, n - 1, first),
        n => one_side(right, n - 1 - on_left, first),
    }
}

fn each_select(body: &mut Body, change: &dyn Fn(&mut Select)) {
    match body {
        Body::Select(select) => change(select),
        Body::Set { left, right, .. } => {
            each_select(left, change);
            each_select(right, change);
        }
    }
}

/// Takes a column out of every SELECT of the body, and out of ORDER BY.
fn remove_item(query: &mut Query, n: usize) {
    if query.items().len() < 2 {
        return;
    }
    let alias = query.items()[n].alias.clone();
    query.order.retain(
        |key| !matches!(&key.expression, Expression::Column { name, .. } if *name == alias),
    );
    each_select(&mut query.body, &|select| {
        if let Some(n) = select.items.iter().position(|item| item.alias == alias) {
            // A star that stands for it is no more.
            if select.star.as_ref().is_some_and(|star| n < star.count) {
                select.star = None;
            }
            let removed = select.items.remove(n).expression;
            // A key that nobody shows may go with it.
            if let Group::Keys(keys) = &mut select.group
                && keys.len() > 1
            {
                keys.retain(|key| *key != removed);
            }
        }
    });
}

fn edit_source(source: &mut Source, choice: usize, gone: &mut Vec<String>) -> Option<()> {
    if let Source::Derived { lateral, .. } = source {
        *lateral = false;
        return (choice == 0).then_some(());
    }
    let Source::Join {
        kind,
        left,
        right,
        on,
        using,
    } = source
    else {
        return None;
    };
    match choice {
        0 => {
            names(right, gone);
            *source = (**left).clone();
        }
        1 => {
            names(left, gone);
            *source = (**right).clone();
        }
        2 if on.is_some() || !using.is_empty() => *kind = "JOIN",
        2 if kind.starts_with("NATURAL") => *kind = "NATURAL JOIN",
        3 => drop(using.pop()),
        _ => return None,
    }
    Some(())
}

fn edit_expression(expression: &mut Expression, choice: usize) -> Option<()> {
    let ty = expression.ty().clone();
    match choice {
        0 => *expression = Expression::literal(ty.clone(), simplest(&ty)),
        1 => *expression = Expression::literal(ty, Value::Null),
        2 => match expression {
            Expression::Aggregate { filter, .. } => *filter = None,
            Expression::Window { frame, .. } => match frame.find(" EXCLUDE ") {
                Some(at) => frame.truncate(at),
                None => frame.clear(),
            },
            _ => {}
        },
        3 => match expression {
            Expression::Aggregate { distinct, .. } => *distinct = false,
            Expression::Window { filter, nulls, .. } if filter.is_some() || !nulls.is_empty() => {
                *filter = None;
                *nulls = "";
            }
            Expression::Window { partition, .. } => drop(partition.pop()),
            _ => {}
        },
        4 => match expression {
            Expression::Aggregate { ordered, .. } => *ordered = false,
            // Without an order any row may be the next one.
            Expression::Window {
                order, function, ..
            } if order.len() > 1 || !["lag", "lead"].contains(&function.as_str()) => {
                drop(order.pop());
            }
            _ => {}
        },
        _ => {
            let mut below = children(expression).into_iter();
            let child = below.nth(choice - 5)?.clone();
            if *child.ty() == ty {
                *expression = child;
            }
        }
    }
    Some(())
}

fn shrink_world<T: Tree>(
    case: &mut Case<T>,
    tries: &mut usize,
    fails: &mut dyn FnMut(&Case<T>) -> bool,
) {
    for n in (0..case.world.views.len()).rev() {
        let mut candidate = case.clone();
        candidate.world.views.remove(n);
        attempt(case, candidate, tries, fails);
    }
    for n in (0..case.world.tables.len()).rev() {
        let mut candidate = case.clone();
        candidate.world.tables.remove(n);
        if !attempt(case, candidate, tries, fails) {
            shrink_rows(case, n, tries, fails);
            shrink_columns(case, n, tries, fails);
        }
    }
}

fn shrink_rows<T: Tree>(
    case: &mut Case<T>,
    table: usize,
    tries: &mut usize,
    fails: &mut dyn FnMut(&Case<T>) -> bool,
) {
    let mut chunk = case.world.tables[table].rows.len();
    while chunk > 0 {
        let mut at = 0;
        while at < case.world.tables[table].rows.len() {
            let mut candidate = case.clone();
            let rows = &mut candidate.world.tables[table].rows;
            rows.drain(at..(at + chunk).min(rows.len()));
            if !attempt(case, candidate, tries, fails) {
                at += chunk;
            }
        }
        chunk /= 2;
    }
}

fn shrink_columns<T: Tree>(
    case: &mut Case<T>,
    table: usize,
    tries: &mut usize,
    fails: &mut dyn FnMut(&Case<T>) -> bool,
) {
    for n in (0..case.world.tables[table].columns.len()).rev() {
        let mut candidate = case.clone();
        let changed = &mut candidate.world.tables[table];
        if changed.columns.len() < 2 {
            return;
        }
        changed.columns.remove(n);
        for row in &mut changed.rows {
            row.remove(n);
        }
        attempt(case, candidate, tries, fails);
    }
    for n in 0..case.world.tables[table].columns.len() {
        let plain: [fn(&mut Column); 3] = [
            |column| column.constraint = "",
            |column| column.default = None,
            |column| column.generated = None,
        ];
        for change in plain {
            let mut candidate = case.clone();
            change(&mut candidate.world.tables[table].columns[n]);
            attempt(case, candidate, tries, fails);
        }
    }
    for n in (0..case.world.tables[table].rules.len()).rev() {
        let mut candidate = case.clone();
        candidate.world.tables[table].rules.remove(n);
        attempt(case, candidate, tries, fails);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dice, Generator, ruled_world, world};

    fn case(seed: u64) -> Case {
        let mut dice = Dice::new(seed);
        let world = world(&mut dice);
        let query = Generator::new(&world, dice.fork()).query();
        Case { world, query }
    }

    #[test]
    fn a_seed_gives_the_same_case_for_ever() {
        for seed in 0..50 {
            assert_eq!(case(seed), case(seed));
        }
        assert_ne!(case(1), case(2));
    }

    #[test]
    fn what_fails_is_made_small_and_still_fails() {
        let mut shrunk = 0;
        for seed in 0..300 {
            let case = case(seed);
            let shows = |case: &Case| case.query.to_string().contains(" EXCEPT ALL ");
            if !shows(&case) {
                continue;
            }
            shrunk += 1;
            let small = shrink(case, &mut |case| shows(case));
            let sql = small.query.to_string();
            assert!(shows(&small), "{sql}");
            assert!(sql.len() < 160, "{sql}");
            assert!(small.world.tables.is_empty() && small.world.views.is_empty());
            assert!(is_sorted_wholly(&small.query), "{sql}");
        }
        assert!(shrunk > 3, "{shrunk} cases show it");
    }

    #[test]
    fn a_window_function_keeps_the_order_that_it_asks_for() {
        let mut shrunk = 0;
        for seed in 0..600 {
            let case = case(seed);
            let shows = |case: &Case| case.query.to_string().contains("row_number() OVER ");
            if !shows(&case) || !case.query.has_one_answer(&case.world) {
                continue;
            }
            shrunk += 1;
            let sql = shrink(case, &mut |case| shows(case)).query.to_string();
            assert!(!sql.contains("ORDER BY 1"), "{sql}");
        }
        assert!(shrunk > 3, "{shrunk} cases show it");
    }

    fn script(seed: u64) -> Case<Script> {
        let mut dice = Dice::new(seed);
        let world = ruled_world(&mut dice);
        let mut generator = Generator::new(&world, dice.fork());
        let statements = (0..8).map(|n| generator.statement(n % 2 == 0));
        let query = Script {
            statements: statements.collect(),
        };
        Case { world, query }
    }

    #[test]
    fn a_seed_gives_the_same_script_for_ever_and_its_outcome_is_determined() {
        for seed in 0..200 {
            let one = script(seed);
            assert_eq!(one, script(seed));
            for statement in &one.query.statements {
                if let Statement::Change(change) = statement {
                    assert!(is_determined(change, &one.world), "{change}");
                }
            }
        }
    }

    #[test]
    fn a_script_that_fails_is_made_small_and_still_fails() {
        let mut shrunk = 0;
        for seed in 0..200 {
            let case = script(seed);
            let shows = |case: &Case<Script>| {
                let last = case.query.statements.last();
                last.is_some_and(|last| last.to_string().contains("WHEN NOT MATCHED THEN"))
            };
            if !shows(&case) {
                continue;
            }
            shrunk += 1;
            let small = shrink(case, &mut |case| shows(case));
            let text = small.query.to_string();
            assert_eq!(small.query.statements.len(), 1, "{text}");
            assert!(shows(&small) && text.len() < 450, "{text}");
            assert!(small.query.has_one_answer(&small.world), "{text}");
        }
        assert!(shrunk > 3, "{shrunk} cases show it");
    }
}
