//! What the log says of a transaction: the payload of a record (FORMAT.md, "Log", payload).
//!
//! What must hold: applied in order to the state that the log builds on, the changes give the state that was committed.
//! Refuses: input that does not parse, types that are not the columns', absurd counts; what does not fit the state is
//! refused when it is applied.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use hushdb_encoding::plain_values::{self, FlatValues};
use hushdb_encoding::wire::{Reader, WireError, Writer};
use hushdb_encoding::{ColumnType, MAX_ROW_GROUP_ROWS};
use roaring::{RoaringBitmap, RoaringTreemap};

use super::catalog_version::CatalogVersion;
use super::rebase::TableChange;
use super::sequence::SequencePoint;
use super::transaction::MAX_LOGGED_DELETES;
use crate::error::{Error, Result as StoreResult};
use crate::numbers::{ColumnId, RowId, TableId};
use crate::row_group::RowGroup;

const VERSION: u8 = 1;
/// Of a payload that says how far sequences are.
const WITH_SEQUENCES: u8 = 2;
/// What a transaction of a few rows takes.
const FEW_BYTES: usize = 1024;
/// Stands for the number of changes of a transaction that is how far a sequence is.
const SEQUENCE: u32 = u32::MAX;

/// One transaction's changes as bytes; `catalog` is the state with them.
///
/// # Errors
/// As [`write_values`].
pub(super) fn encode(changes: &[TableChange], catalog: &CatalogVersion) -> StoreResult<Vec<u8>> {
    let mut out = Writer::with_capacity(FEW_BYTES);
    out.count(changes.len());
    for change in changes {
        out.u64(change.table_id.number());
        out.u64(change.end_row_id.number());
        let mut deleted = Vec::with_capacity(change.deleted.serialized_size());
        // Writing into a vector does not fail.
        let _ = change.deleted.serialize_into(&mut deleted);
        out.bytes(&deleted);
        out.count(change.added.len());
        let table = catalog.table_by_id(change.table_id);
        let type_of = |id: ColumnId| {
            let columns = table.iter().flat_map(|table| &table.columns);
            columns.into_iter().find(|column| column.id == id)
        };
        for group in &change.added {
            out.u64(group.first_row_id.number());
            out.u32(group.rows);
            let deletes = group.deletes.as_deref().map(RowGroup::deletes_to_bytes);
            out.bytes(&deletes.unwrap_or_default());
            let values: Vec<_> = group
                .memory
                .iter()
                .flat_map(|memory| memory.iter())
                .filter_map(|(id, array)| Some((*id, &type_of(*id)?.ty, array)))
                .collect();
            out.count(values.len());
            for (id, ty, array) in values {
                out.u32(id.number());
                ty.write(&mut out);
                write_values(array.as_ref(), ty, group.rows, &mut out)?;
            }
        }
    }
    Ok(out.into_bytes())
}

/// Writes the values of a column, and reads them: a record that does not parse would keep the database from opening.
///
/// # Errors
/// `InvalidInput` for values that no column of the type has.
fn write_values(
    array: &dyn Array,
    ty: &ColumnType,
    rows: u32,
    out: &mut Writer,
) -> StoreResult<()> {
    let unsound = || Error::InvalidInput("there are values that no column of the type has".into());
    let start = out.written().len();
    plain_values::write(array, ty, out).map_err(|_| unsound())?;
    let mut reader = Reader::new(out.written().get(start..).unwrap_or_default());
    LoggedValues::read(ty, rows, &mut reader).map_err(|_| unsound())?;
    reader.finish().map_err(|_| unsound())
}

/// How far a sequence is, as bytes that stand for a transaction.
pub(super) fn encode_sequence(id: TableId, point: SequencePoint) -> Vec<u8> {
    let mut out = Writer::default();
    out.u32(SEQUENCE);
    out.u64(id.number());
    point.write(&mut out);
    out.into_bytes()
}

/// The payload of a record: the transactions that were committed together.
pub(super) fn payload(transactions: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let len: usize = transactions.iter().map(|t| t.as_ref().len()).sum();
    let mut out = Vec::with_capacity(1 + 4 + len);
    let is_sequence = |t: &&[u8]| t.starts_with(&SEQUENCE.to_le_bytes());
    let has_sequences = transactions
        .iter()
        .map(AsRef::as_ref)
        .any(|t| is_sequence(&t));
    out.push(if has_sequences {
        WITH_SEQUENCES
    } else {
        VERSION
    });
    out.extend_from_slice(
        &u32::try_from(transactions.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    );
    for transaction in transactions {
        out.extend_from_slice(transaction.as_ref());
    }
    out
}

/// What a record says.
pub(super) enum Logged<'a> {
    Table(LoggedChange<'a>),
    /// By its id.
    Sequence(TableId, SequencePoint),
}

/// What a record says of one table in one transaction.
pub(super) struct LoggedChange<'a> {
    pub(super) table_id: TableId,
    pub(super) deleted: RoaringTreemap,
    /// Added rows, in order of their ids.
    pub(super) added: Vec<LoggedRows<'a>>,
    /// The id that the next row of the table gets.
    pub(super) end_row_id: RowId,
}

/// Rows as a record has them, held against their types.
pub(super) struct LoggedRows<'a> {
    pub(super) first_row_id: RowId,
    pub(super) rows: u32,
    /// Offsets of the rows that are gone.
    pub(super) deletes: Option<Arc<RoaringBitmap>>,
    /// By column id, in ascending order.
    pub(super) values: Vec<(ColumnId, ColumnType, LoggedValues<'a>)>,
}

/// The values of a column.
pub(super) enum LoggedValues<'a> {
    Flat(FlatValues<'a>),
    /// Lists and structs.
    Nested(ArrayRef),
}

impl<'a> LoggedValues<'a> {
    /// # Errors
    /// If the bytes are not so many values of the type.
    fn read(ty: &ColumnType, rows: u32, reader: &mut Reader<'a>) -> Result<Self, WireError> {
        let rows = rows as usize;
        match FlatValues::are_of(ty) {
            true => FlatValues::read(ty, rows, reader).map(Self::Flat),
            false => plain_values::read(ty, rows, reader).map(Self::Nested),
        }
    }
}

impl LoggedChange<'_> {
    /// The change with its rows in memory.
    ///
    /// # Errors
    /// None but for values that were not held against their types.
    pub(super) fn in_memory(self) -> Result<TableChange, WireError> {
        let added = self.added.into_iter().map(LoggedRows::in_memory);
        Ok(TableChange {
            table_id: self.table_id,
            deleted: self.deleted,
            added: added.collect::<Result<_, _>>()?,
            end_row_id: self.end_row_id,
        })
    }
}

impl LoggedRows<'_> {
    /// The id behind the last row's.
    pub(super) fn end_row_id(&self) -> RowId {
        self.first_row_id.saturating_add(u64::from(self.rows))
    }

    /// Bytes of the values.
    pub(super) fn bytes(&self) -> usize {
        let values = self.values.iter().map(|(.., values)| match values {
            LoggedValues::Flat(flat) => flat.lengths.len() + flat.bytes.len(),
            LoggedValues::Nested(array) => array.get_array_memory_size(),
        });
        values.sum()
    }

    /// The rows in memory.
    ///
    /// # Errors
    /// As [`LoggedChange::in_memory`].
    pub(super) fn in_memory(self) -> Result<RowGroup, WireError> {
        let rows = self.rows as usize;
        let values = self.values.into_iter().map(|(id, ty, values)| {
            let array = match values {
                LoggedValues::Flat(flat) => flat.array(&ty, rows)?,
                LoggedValues::Nested(array) => array,
            };
            Ok((id, array))
        });
        let values = values.collect::<Result<_, WireError>>()?;
        let mut group = RowGroup::in_memory(self.first_row_id, self.rows, values);
        group.deletes = self.deletes;
        Ok(group)
    }
}

/// Reads what [`payload`] wrote: the number of transactions, and their changes in order.
pub(super) fn decode(payload: &[u8]) -> Result<(u64, Vec<Logged<'_>>), WireError> {
    let mut reader = Reader::new(payload);
    let has_sequences = match reader.u8()? {
        VERSION => false,
        WITH_SEQUENCES => true,
        _ => return Err(WireError),
    };
    let count = reader.count(4)?;
    let mut changes = Vec::with_capacity(count);
    for _ in 0..count {
        if has_sequences && reader.consume(&SEQUENCE.to_le_bytes()) {
            let id = TableId::new(reader.u64()?);
            changes.push(Logged::Sequence(id, SequencePoint::read(&mut reader)?));
            continue;
        }
        for _ in 0..reader.count(8 + 8 + 4 + 4)? {
            changes.push(Logged::Table(decode_change(&mut reader)?));
        }
    }
    reader.finish()?;
    Ok((count as u64, changes))
}

fn decode_change<'a>(reader: &mut Reader<'a>) -> Result<LoggedChange<'a>, WireError> {
    let table_id = TableId::new(reader.u64()?);
    let end_row_id = RowId::new(reader.u64()?);
    let mut bytes = reader.bytes()?;
    let deleted = RoaringTreemap::deserialize_from(&mut bytes).map_err(|_| WireError)?;
    if !bytes.is_empty() || deleted.len() > MAX_LOGGED_DELETES {
        return Err(WireError);
    }
    let count = reader.count(8 + 4 + 4 + 4)?;
    let mut added = Vec::with_capacity(count);
    for _ in 0..count {
        added.push(decode_rows(reader)?);
    }
    Ok(LoggedChange {
        table_id,
        deleted,
        added,
        end_row_id,
    })
}

fn decode_rows<'a>(reader: &mut Reader<'a>) -> Result<LoggedRows<'a>, WireError> {
    let first_row_id = RowId::new(reader.u64()?);
    let rows = reader.u32()?;
    if rows == 0 || rows > MAX_ROW_GROUP_ROWS {
        return Err(WireError);
    }
    let deletes = match reader.bytes()? {
        [] => None,
        bytes => {
            let group = RowGroup::in_memory(first_row_id, rows, Vec::new());
            Some(Arc::new(group.deletes_from_bytes(bytes)?))
        }
    };
    let count = reader.count(4 + 3 + 1)?;
    let mut values: Vec<(ColumnId, ColumnType, LoggedValues<'a>)> = Vec::with_capacity(count);
    for _ in 0..count {
        let id = ColumnId::new(reader.u32()?);
        if values.last().is_some_and(|(last, ..)| *last >= id) {
            return Err(WireError);
        }
        let ty = ColumnType::read(reader)?;
        let of_column = LoggedValues::read(&ty, rows, reader)?;
        values.push((id, ty, of_column));
    }
    Ok(LoggedRows {
        first_row_id,
        rows,
        deletes,
        values,
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::{Decimal256Array, Int64Array, StringViewArray};
    use arrow_buffer::i256;
    use hushdb_encoding::HUGEINT;
    use proptest::prelude::*;

    use super::super::replay::Replay;
    use super::super::sequence::{SequenceDef, SequenceOptions};
    use super::*;
    use crate::Store;
    use crate::row_group::ColumnDef;
    use crate::store::StoreOptions;

    fn apply(bytes: &[u8], catalog: &mut CatalogVersion) -> Result<u64, &'static str> {
        let mut replay = Replay::strict(catalog.clone());
        let count = replay.apply(bytes)?;
        let (state, whole) = replay.finish();
        *catalog = state;
        whole.map(|()| count)
    }

    #[test]
    fn what_would_not_be_read_again_is_not_written() {
        let wide = |value| Decimal256Array::from(vec![value]).with_data_type(HUGEINT);
        for (value, is_written) in [
            (i256::from_i128(i128::MIN), true),
            (i256::from_parts(0, 1), false),
            (i256::from_i128(i128::MIN).wrapping_sub(i256::ONE), false),
        ] {
            let mut out = Writer::default();
            let written = write_values(&wide(value), &ColumnType::HugeInt, 1, &mut out);
            assert_eq!(written.is_ok(), is_written, "{value}");
        }
        let rows = write_values(
            &wide(i256::ONE),
            &ColumnType::HugeInt,
            2,
            &mut Writer::default(),
        );
        assert!(rows.is_err());
    }

    fn sample() -> (CatalogVersion, Vec<u8>) {
        let store = Store::open_in_memory(&StoreOptions::default()).unwrap();
        let mut txn = store.begin().unwrap();
        let def = |name: &str, ty| ColumnDef {
            name: name.into(),
            ty,
            nullable: true,
            default: None,
            generated: None,
            declared: None,
        };
        let columns = vec![def("n", ColumnType::Int64), def("s", ColumnType::Varchar)];
        let table_id = txn.create_table("main", "t", columns, vec![]).unwrap();
        let before = CatalogVersion::clone(&txn.commit().unwrap());
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
        let texts = StringViewArray::from(vec![Some("a"), Some("more than twelve bytes"), None]);
        let mut group = RowGroup::in_memory(
            RowId::default(),
            3,
            vec![
                (ColumnId::new(0), numbers),
                (ColumnId::new(1), Arc::new(texts)),
            ],
        );
        group.deletes = Some(Arc::new([1].into_iter().collect()));
        let change = TableChange {
            table_id,
            deleted: RoaringTreemap::new(),
            added: vec![group],
            end_row_id: RowId::new(4),
        };
        let bytes = payload(&[encode(&[change], &before).unwrap()]);
        (before, bytes)
    }

    #[test]
    fn a_record_gives_the_state_that_was_committed() {
        let (mut catalog, bytes) = sample();
        assert_eq!(apply(&bytes, &mut catalog), Ok(1));
        let table = catalog.table("main", "t").unwrap();
        assert_eq!((table.row_count(), table.next_row_id), (2, RowId::new(4)));
        let group = &table.row_groups().unwrap()[0];
        let texts: Vec<_> = group
            .memory_values(ColumnId::new(1))
            .unwrap()
            .to_data()
            .nulls()
            .map(|n| n.null_count())
            .into_iter()
            .collect();
        assert_eq!(texts, [1]);
        // The same rows a second time are not those that follow.
        assert!(apply(&bytes, &mut catalog).is_err());
    }

    #[test]
    fn more_deleted_rows_than_are_ever_logged_are_refused() {
        let (mut catalog, _) = sample();
        let change = |rows: u64| {
            let mut deleted = RoaringTreemap::new();
            deleted.insert_range(0..rows);
            TableChange {
                table_id: TableId::new(1),
                deleted,
                added: vec![],
                end_row_id: RowId::default(),
            }
        };
        // Few bytes can stand for many rows.
        let many = payload(&[encode(&[change(MAX_LOGGED_DELETES + 1)], &catalog).unwrap()]);
        assert!(decode(&many).is_err());
        let more_than_there_are = payload(&[encode(&[change(1000)], &catalog).unwrap()]);
        assert!(apply(&more_than_there_are, &mut catalog).is_err());
    }

    #[test]
    fn a_sequence_goes_to_where_it_was_and_never_back() {
        let options = SequenceOptions {
            start: 1,
            increment: 1,
            min: 1,
            max: 100,
            cycle: false,
        };
        let store = Store::open_in_memory(&StoreOptions::default()).unwrap();
        let mut txn = store.begin().unwrap();
        let def = SequenceDef {
            name: "s".into(),
            options,
            point: None,
        };
        txn.create_sequence("main", def).unwrap();
        let mut catalog = CatalogVersion::clone(&txn.commit().unwrap());
        let sequence = Arc::clone(catalog.sequences().next().unwrap());
        let at = |id, uses, value| {
            let point = SequencePoint {
                uses,
                value,
                is_given: true,
            };
            payload(&[encode_sequence(id, point)])
        };
        let id = sequence.id;
        assert_eq!(at(id, 33, 33)[0], WITH_SEQUENCES);
        assert_eq!(apply(&at(id, 33, 33), &mut catalog), Ok(1));
        assert_eq!(apply(&at(id, 12, 12), &mut catalog), Ok(1));
        assert_eq!(sequence.upcoming(), Some(34));
        assert!(apply(&at(id.next(), 34, 34), &mut catalog).is_err());
        assert!(apply(&at(id, 35, 101), &mut catalog).is_err());
        let bytes = at(id, 40, 40);
        for len in 0..bytes.len() {
            assert!(apply(&bytes[..len], &mut catalog).is_err(), "cut to {len}");
        }
    }

    #[test]
    fn no_part_of_a_record_is_one() {
        let (catalog, bytes) = sample();
        for len in 0..bytes.len() {
            assert!(
                apply(&bytes[..len], &mut catalog.clone()).is_err(),
                "cut to {len}"
            );
        }
        assert!(apply(&[&bytes[..], &[0]].concat(), &mut catalog.clone()).is_err());
    }

    proptest! {
        #[test]
        fn no_edit_makes_the_decoder_panic(at: usize, value: u8) {
            let (mut catalog, mut bytes) = sample();
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = apply(&bytes, &mut catalog);
        }

        #[test]
        fn no_bytes_make_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes);
        }
    }
}
