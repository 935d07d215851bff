//! What is wrong with a history of transactions: the anomalies of Adya (Adya, Liskov and O'Neil, "Generalized Isolation Level
//! Definitions", 2000), in appends to lists and reads of them (as in Kingsbury and Alvaro, "Elle", 2020).
//!
//! What must hold: each append is of one transaction and one place, so a list tells the order of those who wrote it. Appends of
//! transactions that were rolled back are in no list (G1a), a read sees all or none that another appended to it (G1b), what is read,
//! by whomever, is the beginning of what is there in the end, and an acknowledged append is there once (G0, lost update); who saw
//! or followed whom makes no circle (G1c), for REPEATABLE READ also not with one read that missed what came (G-single).
//!
//! The tests of the library have this file too: it needs nothing else.

use std::collections::{BTreeMap, BTreeSet};

/// How a transaction ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It was rolled back, or failed.
    #[default]
    Undone,
    /// Its commit was acknowledged.
    Committed,
    /// The machine went down while it committed: it is there wholly, or not at all.
    Unknown,
}

/// What a transaction did.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// How it ended.
    pub end: End,
    /// Whether it was to see one state from its first look on.
    pub sees_one_state: bool,
    /// Appends: the list's key and what was appended, in order.
    pub appends: Vec<(u64, u64)>,
    /// Lists that it read, by key, without what it had appended itself by then; none where nobody was told how it ended, and what it
    /// read need not be so.
    pub reads: Vec<(u64, Vec<u64>)>,
}

/// Edges from a transaction to one that must come after it.
#[derive(Default)]
struct Order {
    /// Since it followed or saw it.
    after: BTreeSet<(usize, usize)>,
    /// Since it missed what came.
    missed: BTreeSet<(usize, usize)>,
}

/// What is wrong with a history that left these lists; nothing if it is as the levels of its transactions promise.
pub fn anomaly(all: &[Done], lists: &BTreeMap<u64, Vec<u64>>) -> Option<String> {
    match order(all, lists) {
        Ok(order) => circle(all.len(), &order),
        Err(what) => Some(what),
    }
}

/// Whether a transaction counts as committed.
pub(super) fn is_there(done: &Done, lists: &BTreeMap<u64, Vec<u64>>) -> bool {
    let has = |(key, id): &(u64, u64)| lists.get(key).is_some_and(|list| list.contains(id));
    match done.end {
        End::Undone => false,
        End::Committed => true,
        End::Unknown => done.appends.first().is_some_and(has),
    }
}

/// Who comes after whom.
fn order(all: &[Done], lists: &BTreeMap<u64, Vec<u64>>) -> Result<Order, String> {
    let mut writers = BTreeMap::new();
    for (number, done) in all.iter().enumerate() {
        let is_there = is_there(done, lists);
        for (key, id) in &done.appends {
            let ids = lists.get(key).into_iter().flatten();
            let times = ids.filter(|known| *known == id).count();
            if times != usize::from(is_there) {
                let end = done.end;
                return Err(format!(
                    "lost update or G1a: {id} of one that is {end:?} is there {times} times"
                ));
            }
            if is_there {
                writers.insert(*id, number);
            }
        }
    }
    let mut order = Order::default();
    for ids in lists.values() {
        if let Some(unknown) = ids.iter().find(|id| !writers.contains_key(id)) {
            return Err(format!("G1a: a list has {unknown}, which was undone"));
        }
        let numbers: Vec<usize> = ids.iter().map(|id| writers[id]).collect();
        order
            .after
            .extend(numbers.windows(2).map(|pair| (pair[0], pair[1])));
    }
    for (number, done) in all.iter().enumerate() {
        // What it built on may have gone down with it, and nobody was told how it ended.
        if matches!(done.end, End::Unknown) && !is_there(done, lists) {
            continue;
        }
        for (key, read) in &done.reads {
            order_of_read(number, done, read, &lists[key], &writers, lists, &mut order)?;
        }
    }
    order.after.retain(|(before, next)| before != next);
    Ok(order)
}

/// What a read says of the order.
fn order_of_read(
    number: usize,
    done: &Done,
    read: &[u64],
    list: &[u64],
    writers: &BTreeMap<u64, usize>,
    lists: &BTreeMap<u64, Vec<u64>>,
    order: &mut Order,
) -> Result<(), String> {
    // Its own are in the list in the end, and were taken out of what it read.
    let ids = list.iter().filter(|id| writers[id] != number);
    let ids: Vec<u64> = ids.copied().collect();
    if !ids.starts_with(read) {
        return Err(format!("G0 or G1a: {read:?} was read, {ids:?} came of it"));
    }
    let next = ids.get(read.len()).map(|id| writers[id]);
    let last = read.last().map(|id| writers[id]);
    if next.is_some() && next == last {
        return Err(format!("G1b: {read:?} ends within a transaction"));
    }
    // What one that was undone has seen is right, and orders nobody.
    if is_there(done, lists) {
        order.after.extend(last.map(|last| (last, number)));
        let missed = next.filter(|_| done.sees_one_state);
        order.missed.extend(missed.map(|next| (number, next)));
    }
    Ok(())
}

fn circle(all: usize, order: &Order) -> Option<String> {
    let follows = |from: usize| {
        let (mut seen, mut next) = (vec![false; all], vec![from]);
        while let Some(at) = next.pop() {
            for (_, to) in order.after.range((at, 0)..(at + 1, 0)) {
                if !std::mem::replace(&mut seen[*to], true) {
                    next.push(*to);
                }
            }
        }
        seen
    };
    let reach: Vec<Vec<bool>> = (0..all).map(follows).collect();
    if let Some(at) = (0..all).find(|at| reach[*at][*at]) {
        return Some(format!("G1c: transaction {at} comes after itself"));
    }
    let mut single = order.missed.iter();
    let single = single.find(|(reader, writer)| reader != writer && reach[*writer][*reader]);
    single.map(|(reader, writer)| format!("G-single: {reader} missed {writer} and came after it"))
}
