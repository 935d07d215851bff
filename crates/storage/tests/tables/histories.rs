//! Histories at random: files are copied, cut, put back and gone on from, by openings that know of no anchor. Then every anchor that
//! was ever taken is held against every file there is.
//!
//! What must hold: a file that an anchor accepts has all rows that were committed when it was taken; and an anchor holds
//! for every file that nobody harmed since.

use std::collections::BTreeSet;
use std::sync::Arc;

use hushdb_keys::SlotOptions;
use hushdb_keys::providers::KeyText;
use hushdb_storage::*;

use super::fixture::*;
use super::logged::*;

type Rows = BTreeSet<i64>;

/// The files of a database as a process, or somebody, left them.
struct State {
    files: [Option<Vec<u8>>; 3],
    rows: Rows,
    /// What it came from, and whether by harm.
    from: Option<(usize, Harm)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Harm {
    None,
    Cut,
}

struct Taken {
    anchor: Anchor,
    rows: Rows,
    /// The state that the process left in which it was taken.
    in_state: usize,
}

struct Histories {
    dice: u64,
    files: Files,
    states: Vec<State>,
    taken: Vec<Taken>,
    next_row: i64,
}

impl Histories {
    fn new(seed: u64) -> Self {
        let files = Files::new(!seed.is_multiple_of(3));
        let store = files.create();
        let anchor = store.anchor().unwrap();
        drop(store);
        let rows: Rows = (0..10).collect();
        Self {
            dice: seed,
            states: vec![State {
                files: files.all(),
                rows: rows.clone(),
                from: None,
            }],
            taken: vec![Taken {
                anchor,
                rows,
                in_state: 0,
            }],
            files,
            next_row: 10,
        }
    }

    /// SplitMix64.
    fn throw(&mut self, sides: usize) -> usize {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    /// A process opens a state, commits, and goes away.
    fn session(&mut self) {
        // Rather a late state than an early one, so that histories get long.
        let from = self
            .throw(self.states.len())
            .max(self.throw(self.states.len()));
        let files = self.files.with(&self.states[from].files);
        let store = files.open();
        let in_state = self.states.len();
        let mut rows = rows_of(&store);
        assert_eq!(rows, self.states[from].rows);
        for _ in 0..self.throw(5) {
            self.step(&store, &mut rows, in_state);
        }
        let image = match self.throw(3) {
            0 => files.all(),
            _ => {
                store.set_checkpoint_on_close(true);
                drop(store);
                files.all()
            }
        };
        self.states.push(State {
            files: image,
            rows,
            from: Some((from, Harm::None)),
        });
    }

    fn step(&mut self, store: &Arc<Store>, rows: &mut Rows, in_state: usize) {
        match self.throw(8) {
            0 => fill(
                store,
                &format!("t{}", self.next_name()),
                vec![def("n", ColumnType::Int64)],
                &[int64s(0..3)],
            ),
            1 => store.checkpoint().unwrap(),
            2 => {
                let checkpoint = store.begin_checkpoint().unwrap();
                self.insert(store, rows);
                if let Some(checkpoint) = checkpoint.filter(|_| self.throw(2) == 0) {
                    checkpoint.finish().unwrap();
                }
            }
            3 => {
                let key = KeyText::new(format!("hex:{}", "7e".repeat(32)));
                let changed = store.blocks().change_header(|header, crypto, keys| {
                    let slot = header.add_slot(crypto, keys, &key, &SlotOptions::default())?;
                    header.remove_slot(crypto, keys, slot)
                });
                assert!(changed.is_ok() || matches!(changed, Err(Error::NotEncrypted)));
            }
            _ => self.insert(store, rows),
        }
        self.taken.push(Taken {
            anchor: store.anchor().unwrap(),
            rows: rows.clone(),
            in_state,
        });
    }

    /// No two tables of all histories have one name.
    fn next_name(&mut self) -> i64 {
        self.next_row += 1;
        self.next_row - 1
    }

    fn insert(&mut self, store: &Arc<Store>, rows: &mut Rows) {
        insert(store, self.next_row..self.next_row + 1);
        rows.insert(self.next_row);
        self.next_row += 1;
    }

    /// Somebody cuts a log, spoils its end, or takes one away.
    fn harm(&mut self) {
        let from = self.throw(self.states.len());
        let mut files = self.states[from].files.clone();
        let name = match files[2].is_some() && self.throw(2) == 0 {
            true => 2,
            false => 1,
        };
        let Some(log) = files[name].take().map(without_zeros) else {
            return;
        };
        let cut = 128 + 64 * self.throw((log.len() - 128) / 64 + 1);
        files[name] = match self.throw(4) {
            0 => None,
            1 if cut < log.len() => {
                let mut log = log;
                log[cut + 50] ^= 1;
                Some(log)
            }
            _ => Some(log[..cut].to_vec()),
        };
        let harmed = self.files.with(&files);
        // Many are refused, which tests of their own are about.
        let reader = StoreOptions {
            read_only: true,
            ..StoreOptions::default()
        };
        if let Ok(store) = harmed.try_open(&reader) {
            self.states.push(State {
                files,
                rows: rows_of(&store),
                from: Some((from, Harm::Cut)),
            });
        }
    }

    /// Whether a state came of another one without harm.
    fn is_honest(&self, mut state: usize, to: usize) -> bool {
        while state != to {
            match self.states[state].from {
                Some((from, Harm::None)) => state = from,
                _ => return false,
            }
        }
        true
    }

    fn judge(&self) -> (usize, usize) {
        let (mut held, mut refused) = (0, 0);
        for (at, state) in self.states.iter().enumerate() {
            let files = self.files.with(&state.files);
            for taken in &self.taken {
                match files.try_open_at(taken.anchor) {
                    Ok(store) => {
                        let rows = rows_of(&store);
                        assert_eq!(rows, state.rows);
                        assert!(rows.is_superset(&taken.rows), "{} lost rows", taken.anchor);
                        held += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::Tampered, "{error}");
                        let honest = self.is_honest(at, taken.in_state);
                        assert!(!honest, "{}: {error}", taken.anchor);
                        refused += 1;
                    }
                }
            }
        }
        (held, refused)
    }
}

fn rows_of(store: &Arc<Store>) -> Rows {
    let rows = integers(store, &store.snapshot(), "t", "n");
    rows.into_iter().flatten().collect()
}

#[test]
fn no_file_that_an_anchor_accepts_lacks_anything() {
    let (mut held, mut refused) = (0, 0);
    for seed in 0..12 {
        let mut histories = Histories::new(seed);
        for _ in 0..24 {
            match histories.throw(4) {
                0 => histories.harm(),
                _ => histories.session(),
            }
        }
        let (yes, no) = histories.judge();
        (held, refused) = (held + yes, refused + no);
    }
    assert!(
        held > 1000 && refused > 1000,
        "{held} held, {refused} refused"
    );
}
