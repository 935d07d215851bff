//! Catalog root, table records, directory pages, delete vectors, sketches: sealed again with what no writer writes.

use hushdb_storage::{BlockRef, Role};

use super::cases::Cases;
use super::fields::{self, GroupFields, RootFields, TableFields};
use super::forge::put;
use super::samples::{Sample, Samples};

/// Is told where the fields of the payload stand.
type Edit<'a, Fields> = &'a dyn Fn(&Fields, &mut Vec<u8>);
type Bytes<'a> = &'a dyn Fn(&mut Vec<u8>);

const ABSURD: [u8; 4] = [0xff; 4];

pub(crate) fn add(cases: &mut Cases, samples: &Samples) {
    for (prefix, sound) in [("", &samples.tables), ("plain-", &samples.plain)] {
        root(cases, prefix, sound);
        entries(cases, prefix, sound);
        sequences(cases, prefix, sound);
        table(cases, prefix, sound);
        columns(cases, prefix, sound);
        page(cases, prefix, sound);
        bounds(cases, prefix, sound);
        indexes(cases, prefix, sound);
        nodes(cases, prefix, sound);
        deletes(cases, prefix, sound);
        sketches(cases, prefix, sound);
    }
}

/// A case for each edit of one block of the sample.
fn forged(cases: &mut Cases, name: &str, sound: &Sample, part: (Role, usize), edit: Bytes<'_>) {
    cases.forged(name, sound, |forge| forge.edit(part.0, part.1, |p| edit(p)));
}

fn root(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: Edit<'_, RootFields>| {
        let name = format!("{prefix}catalog-{name}");
        self::forged(cases, &name, sound, (Role::Metadata, 0), &|p| {
            edit(&fields::root(p), p)
        });
    };
    forged("version", &|_, p| p[0] = 9);
    forged("version-with-entries-without-them", &|_, p| p[0] = 2);
    forged("truncated", &|_, p| p.truncate(p.len() - 1));
    forged("longer", &|_, p| p.push(0));
    forged("schema-count-absurd", &|_, p| put(p, 9, &ABSURD));
    forged("schema-count-short", &|f, p| p[f.schema_count] -= 1);
    forged("schema-name-length-absurd", &|f, p| {
        put(p, f.schemas[0].0, &ABSURD)
    });
    forged("schema-name-not-utf-8", &|f, p| {
        p[f.schemas[0].0 + 4] = 0xff
    });
    forged("without-main", &|f, p| p[f.schemas[0].0 + 4] = b'n');
    forged("schemas-of-one-name", &|f, p| p[f.schemas[2].0 + 5] = b'1');
    forged("table-count-absurd", &|f, p| {
        put(p, f.schemas[0].1, &ABSURD)
    });
    forged("table-ref-none", &|f, p| {
        put(p, f.schemas[0].2[0], &[0; 40])
    });
    forged("table-twice", &|f, p| {
        let refs = f.schemas[0].2.clone();
        p.copy_within(refs[0]..refs[0] + 40, refs[1]);
    });
    forged("root-as-table", &|f, p| {
        let refs = f.schemas[0].2.clone();
        p[refs[0]] = p[refs[0]].wrapping_add(1);
    });
    forged("view-count-absurd", &|f, p| put(p, f.schemas[0].3, &ABSURD));
    forged("view-name-length-absurd", &|f, p| {
        put(p, f.schemas[0].4[0], &ABSURD)
    });
    forged("views-of-one-name", &|f, p| p[f.schemas[0].4[1] + 5] = b'1');
    forged("view-of-a-tables-name", &|f, p| {
        // A text of one character takes one byte less.
        let at = f.schemas[0].4[0];
        put(p, at, &[1, 0, 0, 0, b't']);
        p.remove(at + 5);
    });
    forged("view-not-utf-8", &|f, p| p[f.schemas[0].4[0] + 10] = 0xff);
    forged("next-table-id-too-low", &|f, p| {
        put(p, f.next_table_id, &2u64.to_le_bytes())
    });
}

/// A sequence that is none of the sample's, in the order of its bytes.
struct SequenceFields {
    id: u64,
    name: &'static [u8],
    start: i64,
    increment: i64,
    cycle: u8,
    owner: (u64, u32, u8),
    value: i64,
    given: u8,
}

impl SequenceFields {
    const SOUND: Self = Self {
        id: 0,
        name: b"q",
        start: 1,
        increment: 1,
        cycle: 0,
        owner: (0, 0, 0),
        value: 1,
        given: 0,
    };

    fn entry(&self) -> Vec<u8> {
        let mut body = self.id.to_le_bytes().to_vec();
        body.extend(u32::try_from(self.name.len()).unwrap().to_le_bytes());
        body.extend(self.name);
        for number in [self.start, self.increment, 1, 9] {
            body.extend(number.to_le_bytes());
        }
        body.push(self.cycle);
        body.extend(self.owner.0.to_le_bytes());
        body.extend(self.owner.1.to_le_bytes());
        body.push(self.owner.2);
        body.extend(1u64.to_le_bytes());
        body.extend(self.value.to_le_bytes());
        body.push(self.given);
        let len = u32::try_from(body.len()).unwrap().to_le_bytes();
        [&[1][..], &len, &body].concat()
    }
}

/// Gives the root's first schema these entries, and the others none.
fn put_entries(fields: &RootFields, root: &mut Vec<u8>, entries: &[Vec<u8>]) {
    root[0] = 2;
    let later = fields.schemas.iter().skip(1).map(|schema| schema.0);
    let ends: Vec<usize> = later.chain([root.len()]).collect();
    for (at, end) in ends.into_iter().enumerate().rev() {
        let entries = if at == 0 { entries } else { &[] };
        let count = u32::try_from(entries.len()).unwrap().to_le_bytes();
        root.splice(end..end, [&count[..], &entries.concat()].concat());
    }
}

fn entries(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, entries: &[Vec<u8>]| {
        let name = format!("{prefix}catalog-{name}");
        self::forged(cases, &name, sound, (Role::Metadata, 0), &|p| {
            put_entries(&fields::root(p), p, entries);
        });
    };
    let sequence = SequenceFields::SOUND;
    let entry = sequence.entry();
    let edited = |at: usize, bytes: &[u8]| {
        let mut entry = entry.clone();
        put(&mut entry, at, bytes);
        entry
    };
    forged("entry-of-no-kind", &[edited(0, &[0])]);
    forged("entry-of-another-kind", &[edited(0, &[200])]);
    forged("entry-length-absurd", &[edited(1, &ABSURD)]);
    forged("entry-length-short", &[edited(1, &[1])]);
    forged(
        "entry-longer",
        &[[&edited(1, &[entry[1] + 1]), &[0][..]].concat()],
    );
    forged("sequence-name-length-absurd", &[edited(13, &ABSURD)]);
}

fn sequences(cases: &mut Cases, prefix: &str, sample: &Sample) {
    let mut forged = |name: &str, sequences: &[SequenceFields]| {
        let name = format!("{prefix}catalog-sequence-{name}");
        let entries: Vec<Vec<u8>> = sequences.iter().map(SequenceFields::entry).collect();
        self::forged(cases, &name, sample, (Role::Metadata, 0), &|p| {
            put_entries(&fields::root(p), p, &entries);
        });
    };
    let sound = || SequenceFields::SOUND;
    forged("id-not-given-yet", &[SequenceFields { id: 99, ..sound() }]);
    forged("id-of-a-table", &[SequenceFields { id: 1, ..sound() }]);
    let wrong_name = SequenceFields {
        name: b"\xff",
        ..sound()
    };
    forged("name-not-utf-8", &[wrong_name]);
    let (increment, start, value) = (0, 10, 0);
    forged(
        "increment-0",
        &[SequenceFields {
            increment,
            ..sound()
        }],
    );
    forged("start-outside", &[SequenceFields { start, ..sound() }]);
    forged("value-outside", &[SequenceFields { value, ..sound() }]);
    forged(
        "cycle-flag",
        &[SequenceFields {
            cycle: 2,
            ..sound()
        }],
    );
    forged(
        "given-flag",
        &[SequenceFields {
            given: 2,
            ..sound()
        }],
    );
    for (name, owner) in [
        ("column-of-no-table", (0, 1, 0)),
        ("use-of-no-table", (0, 0, 1)),
        ("use-of-a-whole-table", (1, u32::MAX, 2)),
        ("use-of-another-kind", (1, 1, 3)),
    ] {
        forged(name, &[SequenceFields { owner, ..sound() }]);
    }
    forged(
        "of-one-name",
        &[sound(), SequenceFields { id: 2, ..sound() }],
    );
}

fn table(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: Edit<'_, TableFields>| {
        let name = format!("{prefix}table-{name}");
        self::forged(cases, &name, sound, (Role::Metadata, 1), &|p| {
            edit(&fields::table(p), p)
        });
    };
    forged("version", &|_, p| p[0] = 9);
    forged("truncated", &|_, p| p.truncate(p.len() - 1));
    forged("longer", &|_, p| p.push(0));
    forged("id-of-another", &|f, p| p[f.id] = 2);
    forged("id-not-given-yet", &|f, p| p[f.id] = 99);
    forged("name-of-another", &|f, p| p[f.name + 4] = b'u');
    forged("name-length-absurd", &|f, p| put(p, f.name, &ABSURD));
    forged("name-not-utf-8", &|f, p| p[f.name + 4] = 0xff);
    forged("column-count-absurd", &|f, p| {
        put(p, f.column_count, &ABSURD)
    });
    forged("column-count-short", &|f, p| p[f.column_count] -= 1);
    forged("without-columns", &|f, p| {
        p.drain(f.column_count + 4..f.check_count);
        put(p, f.column_count, &[0; 4]);
    });
    forged("check-count-absurd", &|f, p| put(p, f.check_count, &ABSURD));
    forged("check-name-flag", &|f, p| p[f.checks[0][0]] = 2);
    forged("check-length-absurd", &|f, p| {
        put(p, f.checks[0][1], &ABSURD)
    });
    forged("check-not-utf-8", &|f, p| p[f.checks[0][1] + 4] = 0xff);
    forged("index-count-absurd", &|f, p| put(p, f.index_count, &ABSURD));
    forged("page-count-absurd", &|f, p| put(p, f.page_count, &ABSURD));
    forged("page-ref-none", &|f, p| put(p, f.pages[0][0], &[0; 40]));
    forged("page-ids-reversed", &|f, p| {
        put(p, f.pages[0][1], &999u64.to_le_bytes())
    });
    forged("page-first-row-id", &|f, p| p[f.pages[0][1]] = 1);
    forged("page-ends-later", &|f, p| {
        p[f.pages[0][2]] += 1;
        p[f.next_row_id] += 1;
    });
    forged("page-ends-behind-next-row-id", &|f, p| p[f.next_row_id] = 3);
    forged("page-without-visible-rows", &|f, p| {
        put(p, f.pages[0][3], &[0; 8])
    });
    forged("page-more-visible-rows-than-ids", &|f, p| {
        p[f.pages[0][3]] = 200
    });
    forged("page-wrong-visible-rows", &|f, p| p[f.pages[0][3]] -= 1);
    forged("page-twice", &|f, p| {
        p.extend_from_within(f.pages[0][0]..);
        p[f.page_count] = 2;
    });
}

fn columns(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: Edit<'_, TableFields>| {
        let name = format!("{prefix}column-{name}");
        self::forged(cases, &name, sound, (Role::Metadata, 1), &|p| {
            edit(&fields::table(p), p)
        });
    };
    forged("id-twice", &|f, p| p[f.columns[1][0]] = 0);
    forged("id-not-given-yet", &|f, p| p[f.next_column_id] = 4);
    forged("id-of-no-segment", &|f, p| {
        p[f.columns[4][0]] = 8;
        p[f.next_column_id] = 9;
    });
    forged("name-twice", &|f, p| p[f.columns[1][1] + 5] = b'1');
    forged("name-length-absurd", &|f, p| {
        put(p, f.columns[0][1], &ABSURD)
    });
    forged("name-not-utf-8", &|f, p| p[f.columns[0][1] + 4] = 0xff);
    forged("nullable-flag", &|f, p| p[f.columns[0][3]] = 2);
    forged("default-flag", &|f, p| p[f.columns[1][4]] = 2);
    forged("default-length-absurd", &|f, p| {
        put(p, f.columns[1][4] + 1, &ABSURD)
    });
    forged("type-zero", &|f, p| p[f.columns[0][2]] = 0);
    forged("type-unknown", &|f, p| p[f.columns[0][2]] = 20);
    forged("type-with-parameters", &|f, p| p[f.columns[0][2] + 1] = 1);
    forged("decimal-without-digits", &|f, p| {
        put(p, f.columns[2][2] + 1, &[0, 0])
    });
    forged("decimal-of-39-digits", &|f, p| p[f.columns[2][2] + 1] = 39);
    forged("decimal-scale-above-digits", &|f, p| {
        p[f.columns[2][2] + 2] = 21
    });
    forged("decimal-scale-absurd", &|f, p| p[f.columns[2][2] + 2] = 200);
    forged("decimal-of-another-scale", &|f, p| {
        p[f.columns[2][2] + 2] = 3
    });
    forged("timestamp-unit-unknown", &|f, p| p[f.columns[4][2] + 1] = 4);
    forged("timestamp-zone-flag", &|f, p| p[f.columns[4][2] + 2] = 2);
    forged("timestamp-of-another-unit", &|f, p| {
        p[f.columns[4][2] + 1] = 3
    });
    forged("of-another-type", &|f, p| p[f.columns[0][2]] = 9);
}

fn page(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: Edit<'_, Vec<GroupFields>>| {
        let name = format!("{prefix}page-{name}");
        self::forged(cases, &name, sound, (Role::Metadata, 2), &|p| {
            edit(&fields::page(p), p)
        });
    };
    forged("version", &|_, p| p[0] = 9);
    forged("truncated", &|_, p| p.truncate(p.len() - 1));
    forged("longer", &|_, p| p.push(0));
    forged("no-row-groups", &|_, p| put(p, 1, &[0; 4]));
    forged("row-group-count-absurd", &|_, p| put(p, 1, &ABSURD));
    forged("row-group-count-short", &|_, p| p[1] -= 1);
    forged("of-65-row-groups", &|f, p| {
        let group: Vec<u8> = p[f[1].first_row_id..].to_vec();
        for n in 2..65u64 {
            p.extend_from_slice(&group);
            let at = p.len() - group.len();
            put(p, at, &(10 + 8 * (n - 1)).to_le_bytes());
        }
        p[1] = 65;
    });
    forged("row-groups-overlap", &|f, p| p[f[1].first_row_id] -= 1);
    forged("row-groups-out-of-order", &|f, p| {
        p[f[0].first_row_id] = 100
    });
    forged("row-group-ids-end", &|f, p| {
        put(p, f[1].first_row_id, &[0xff; 8])
    });
    forged("row-group-without-rows", &|f, p| put(p, f[0].rows, &[0; 4]));
    forged("row-group-too-large", &|f, p| {
        put(p, f[1].rows, &((1u32 << 20) + 1).to_le_bytes())
    });
    forged("row-group-larger", &|f, p| p[f[1].rows] += 1);
    forged("row-group-rows-absurd", &|f, p| put(p, f[1].rows, &ABSURD));
    forged("segment-count-absurd", &|f, p| {
        put(p, f[0].segment_count, &ABSURD)
    });
    forged("segment-of-no-column", &|f, p| {
        p[f[0].segments[4].column_id] = 7
    });
    forged("segments-out-of-order", &|f, p| {
        p[f[0].segments[0].column_id] = 3
    });
    forged("segment-twice", &|f, p| p[f[0].segments[0].column_id] = 1);
    forged("more-nulls-than-rows", &|f, p| {
        p[f[0].segments[2].nulls] = 11
    });
    forged("wrong-nulls", &|f, p| p[f[0].segments[2].nulls] = 2);
    forged("exact-flag", &|f, p| p[f[0].segments[0].exact] = 2);
    forged("deletes-dropped", &|f, p| put(p, f[0].deletes, &[0; 40]));
    forged("deletes-of-another-row-group", &|f, p| {
        let from = f[0].deletes;
        p.copy_within(from..from + 40, f[1].deletes);
    });
    forged("deletes-length-absurd", &|f, p| {
        put(p, f[0].deletes + 8, &ABSURD)
    });
    forged("sketches-length-absurd", &|f, p| {
        put(p, f[0].sketches + 8, &ABSURD)
    });
}

fn bounds(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: Edit<'_, Vec<GroupFields>>| {
        let name = format!("{prefix}bound-{name}");
        self::forged(cases, &name, sound, (Role::Metadata, 2), &|p| {
            edit(&fields::page(p), p)
        });
    };
    forged("kind-unknown", &|f, p| p[f[0].segments[0].min] = 7);
    forged("unsigned-of-a-bigint", &|f, p| p[f[0].segments[0].min] = 3);
    forged("float-of-a-bigint", &|f, p| p[f[0].segments[0].max] = 4);
    forged("number-of-a-text", &|f, p| {
        let at = f[0].segments[1].min;
        let len = p[at + 1] as usize;
        p.splice(at..at + 5 + len, [2, 0, 0, 0, 0, 0, 0, 0, 0]);
    });
    forged("length-absurd", &|f, p| {
        put(p, f[0].segments[1].min + 1, &ABSURD)
    });
    forged("of-65-bytes", &|f, p| {
        let at = f[0].segments[1].max;
        let len = p[at + 1] as usize;
        p.splice(at + 5 + len..at + 5 + len, vec![b'z'; 65 - len]);
        p[at + 1] = 65;
    });
    forged("not-utf-8", &|f, p| p[f[0].segments[1].max + 5] = 0xff);
}

/// Where table `x` keeps what its indexes are.
fn indexes(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: Edit<'_, TableFields>| {
        let name = format!("{prefix}index-{name}");
        self::forged(cases, &name, sound, (Role::Metadata, 8), &|p| {
            edit(&fields::table(p), p)
        });
    };
    forged("count-short", &|f, p| p[f.index_count] -= 1);
    forged("name-length-absurd", &|f, p| {
        put(p, f.indexes[0][0], &ABSURD)
    });
    forged("name-not-utf-8", &|f, p| p[f.indexes[0][0] + 4] = 0xff);
    forged("name-twice", &|f, p| p[f.indexes[1][0] + 5] = b'1');
    forged("kind-zero", &|f, p| p[f.indexes[0][1]] = 0);
    forged("kind-unknown", &|f, p| p[f.indexes[0][1]] = 4);
    forged("second-primary-key", &|f, p| {
        p[f.columns[1][3]] = 0;
        p[f.indexes[1][1]] = 1;
    });
    forged("primary-key-of-a-nullable-column", &|f, p| {
        p[f.columns[0][3]] = 1
    });
    forged("column-count-absurd", &|f, p| {
        put(p, f.indexes[0][2], &ABSURD)
    });
    forged("without-columns", &|f, p| {
        let at = f.indexes[0][2];
        put(p, at, &[0; 4]);
        p.drain(at + 4..at + 8);
    });
    forged("column-unknown", &|f, p| p[f.indexes[0][2] + 4] = 9);
    forged("column-that-is-no-key", &|f, p| p[f.indexes[1][2] + 4] = 2);
    forged("column-twice", &|f, p| {
        let at = f.indexes[1][2];
        p[at] = 2;
        p.splice(at + 8..at + 8, [1, 0, 0, 0]);
    });
    forged("of-another-column", &|f, p| {
        p[f.columns[1][3]] = 0;
        p[f.indexes[0][2] + 4] = 1;
    });
    forged("root-none", &|f, p| put(p, f.indexes[0][3], &[0; 40]));
    forged("dropped-entries", &|f, p| {
        put(p, f.indexes[0][3], &[0; 40]);
        put(p, f.indexes[0][4], &[0; 8]);
    });
    forged("root-without-entries", &|f, p| {
        put(p, f.indexes[0][4], &[0; 8])
    });
    forged("wrong-entries", &|f, p| p[f.indexes[0][4]] -= 1);
    forged("root-of-another", &|f, p| {
        let from = f.indexes[0][3];
        p.copy_within(from..from + 40, f.indexes[1][3]);
    });
    forged("root-length-absurd", &|f, p| {
        put(p, f.indexes[0][3] + 8, &ABSURD)
    });
}

/// Blocks of the trees: the leaf of the primary key, then root and leaves of the other index.
fn nodes(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, nth: usize, edit: Bytes<'_>| {
        let name = format!("{prefix}node-{name}");
        self::forged(cases, &name, sound, (Role::Index, nth), edit);
    };
    // Version, level, count, ends, entries: in the leaf of the primary key, of 16 bytes.
    forged("version", 0, &|p| p[0] = 9);
    forged("level-absurd", 0, &|p| p[1] = 25);
    forged("leaf-as-an-inner-node", 0, &|p| p[1] = 1);
    forged("inner-node-as-a-leaf", 1, &|p| p[1] = 0);
    forged("inner-node-of-another-level", 1, &|p| p[1] = 2);
    forged("count-absurd", 0, &|p| put(p, 2, &ABSURD));
    forged("count-short", 0, &|p| p[2] -= 1);
    forged("without-entries", 0, &|p| {
        p.truncate(6);
        put(p, 2, &[0; 4]);
    });
    forged("first-end-absurd", 0, &|p| put(p, 6, &ABSURD));
    forged("last-end-absurd", 0, &|p| put(p, 6 + 199 * 4, &ABSURD));
    forged("ends-out-of-order", 0, &|p| p[6] = 40);
    forged("entry-too-short", 0, &|p| p[6] = 7);
    forged("entries-out-of-order", 0, &|p| {
        let at = 6 + 200 * 4;
        p[at..at + 32].rotate_left(16);
    });
    forged("entry-twice", 0, &|p| {
        let at = 6 + 200 * 4;
        p.copy_within(at..at + 16, at + 16);
    });
    forged("entry-of-another-key", 0, &|p| {
        p[6 + 200 * 4 + 199 * 16 + 7] = 250
    });
    forged("entry-of-another-row", 0, &|p| p[6 + 200 * 4 + 15] = 199);
    forged("entry-of-a-row-that-is-not-there", 0, &|p| {
        p[6 + 200 * 4 + 14] = 99
    });
    forged("truncated", 0, &|p| p.truncate(p.len() - 1));
    forged("longer", 0, &|p| p.push(0));
    forged("child-none", 1, &|p| {
        let at = p.len() - 40;
        put(p, at, &[0; 40]);
    });
    forged("child-twice", 1, &|p| {
        let at = p.len() - 40;
        let half = 6 + 2 * 4 + (at + 40 - 6 - 2 * 4) / 2;
        p.copy_within(at..at + 40, half - 40);
    });
    forged("child-length-absurd", 1, &|p| {
        let at = p.len() - 32;
        put(p, at, &ABSURD);
    });
    let name = format!("{prefix}node-child-of-many-on-each-level");
    cases.forged(&name, sound, |forge| {
        let leaf = forge.payload(Role::Index, &forge.part(Role::Index, 0));
        let first = &leaf[6 + 200 * 4..][..16];
        let mut lowest = forge.add(Role::Index, &node(0, &[first.to_vec()]));
        let thrice = |child: &BlockRef| {
            let entries = [0, 1, 2].map(|id| [&first[..15], &[id], &child.to_bytes()].concat());
            entries.to_vec()
        };
        for level in 1..20 {
            lowest = forge.add(Role::Index, &node(level, &thrice(&lowest)));
        }
        forge.edit(Role::Index, 0, |p| *p = node(20, &thrice(&lowest)));
    });
}

/// A block of a tree.
fn node(level: u8, entries: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = vec![1, level];
    let mut end = 0;
    bytes.extend((entries.len() as u32).to_le_bytes());
    for entry in entries {
        end += entry.len() as u32;
        bytes.extend(end.to_le_bytes());
    }
    bytes.extend(entries.concat());
    bytes
}

fn deletes(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, new: &[u8]| {
        let name = format!("{prefix}deletes-{name}");
        self::forged(cases, &name, sound, (Role::Metadata, 3), &|p| {
            *p = new.to_vec()
        });
    };
    // Portable Roaring: cookie, containers, {key, values - 1}, offsets, values.
    let bitmap = |values: &[u16]| {
        let mut bytes = vec![0x3a, 0x30, 0, 0, 1, 0, 0, 0, 0, 0];
        bytes.extend_from_slice(&(values.len() as u16 - 1).to_le_bytes());
        bytes.extend_from_slice(&16u32.to_le_bytes());
        values
            .iter()
            .for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
        bytes
    };
    forged("empty", &[]);
    forged("of-no-rows", &[0x3a, 0x30, 0, 0, 0, 0, 0, 0]);
    forged("of-other-rows", &bitmap(&[2]));
    forged("of-all-rows", &bitmap(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]));
    forged("beyond-the-rows", &bitmap(&[2, 10]));
    forged("out-of-order", &bitmap(&[5, 2]));
    forged("longer", &[&bitmap(&[2, 5])[..], &[0]].concat());
    forged("truncated", &bitmap(&[2, 5])[..19]);
    forged("cookie-unknown", &[0x3c, 0x30, 0, 0, 0, 0, 0, 0]);
    forged(
        "container-count-absurd",
        &[0x3a, 0x30, 0, 0, 0xff, 0xff, 0, 0],
    );
    forged(
        "container-count-beyond-u16",
        &[0x3a, 0x30, 0, 0, 0xff, 0xff, 0xff, 0xff],
    );
    let mut absurd = bitmap(&[2, 5]);
    put(&mut absurd, 10, &[0xff; 2]);
    forged("values-absurd", &absurd);
}

fn sketches(cases: &mut Cases, prefix: &str, sound: &Sample) {
    let mut forged = |name: &str, edit: Bytes<'_>| {
        let name = format!("{prefix}sketches-{name}");
        self::forged(cases, &name, sound, (Role::Statistics, 0), edit);
    };
    // Version, count; column id, form, listed, register, rank.
    forged("version", &|p| p[0] = 9);
    forged("count-absurd", &|p| put(p, 1, &ABSURD));
    forged("form-unknown", &|p| p[9] = 3);
    forged("listed-absurd", &|p| put(p, 10, &[0xff; 2]));
    forged("register-unknown", &|p| put(p, 12, &2048u16.to_le_bytes()));
    forged("rank-above-54", &|p| p[14] = 55);
    forged("base-above-54", &|p| {
        p.truncate(9);
        p.extend_from_slice(&[2, 55]);
        p.resize(9 + 2 + 1024 + 2, 0);
        p[1] = 1;
    });
    forged("nibbles-cut", &|p| {
        p.truncate(9);
        p.extend_from_slice(&[2, 0, 1, 2, 3]);
        p[1] = 1;
    });
    forged("truncated", &|p| p.truncate(p.len() - 1));
    forged("longer", &|p| p.push(0));
    forged("empty", &|p| p.clear());
}
