//! Taking rows out of pages and row groups: those that have them are found by their ids, the others are not looked at.
//!
//! What must hold: pieces are in order of their ids and do not overlap.

use std::sync::Arc;

use super::Page;
use crate::error::Result;
use crate::numbers::RowId;
use crate::row_group::RowGroup;

/// A page or row group, which has the rows of a range of ids.
pub(super) trait Piece {
    /// Ids in it are below this.
    fn end(&self) -> RowId;
    /// Its least id.
    fn first(&self) -> RowId;
}

impl Piece for Page {
    fn end(&self) -> RowId {
        self.end_row_id
    }

    fn first(&self) -> RowId {
        self.first_row_id
    }
}

impl Piece for RowGroup {
    fn end(&self) -> RowId {
        self.end_row_id()
    }

    fn first(&self) -> RowId {
        self.first_row_id
    }
}

/// What takes the place of a piece.
pub(super) struct PieceChange<P> {
    pub(super) at: usize,
    /// `None`: no row of it is left.
    pub(super) left: Option<Arc<P>>,
    /// Rows that were there and are not any more.
    pub(super) gone: u64,
}

/// A piece without rows (`None` if none is left), and how many of these were there.
type Without<'a, P> = &'a dyn Fn(&Arc<P>) -> Result<(Option<Arc<P>>, u64)>;

/// Takes rows out of the pieces that have them, in order; pieces that had none of them do not come.
pub(super) fn changed_pieces<P: Piece>(
    ids: &[u64],
    pieces: &[Arc<P>],
    without: Without<'_, P>,
) -> Result<Vec<PieceChange<P>>> {
    let mut changes = Vec::new();
    let (mut ids, mut from) = (ids, 0);
    while let Some(id) = ids.first() {
        let rest = pieces.get(from..).unwrap_or_default();
        let at = from + rest.partition_point(|piece| piece.end() <= RowId::new(*id));
        let Some(piece) = pieces.get(at) else {
            break;
        };
        if piece.first() <= RowId::new(*id) {
            let (left, gone) = without(piece)?;
            if gone > 0 {
                changes.push(PieceChange { at, left, gone });
            }
            ids = ids
                .get(ids.partition_point(|id| RowId::new(*id) < piece.end())..)
                .unwrap_or_default();
        } else {
            ids = ids
                .get(ids.partition_point(|id| RowId::new(*id) < piece.first())..)
                .unwrap_or_default();
        }
        from = at;
    }
    Ok(changes)
}

/// Puts what is left of pieces in their place.
pub(super) fn replace_pieces<P>(pieces: &mut Vec<Arc<P>>, changes: Vec<PieceChange<P>>) {
    for change in changes.into_iter().rev() {
        match (change.left, pieces.get_mut(change.at)) {
            (Some(left), Some(piece)) => *piece = left,
            (None, Some(_)) => drop(pieces.remove(change.at)),
            (_, None) => {}
        }
    }
}

/// The part of sorted ids in `first..end`.
pub(super) fn slice_of(ids: &[u64], first: RowId, end: RowId) -> &[u64] {
    let from = ids.partition_point(|id| RowId::new(*id) < first);
    let to = ids.partition_point(|id| RowId::new(*id) < end);
    ids.get(from..to).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Ids(RowId, RowId);

    impl Piece for Ids {
        fn end(&self) -> RowId {
            self.1
        }

        fn first(&self) -> RowId {
            self.0
        }
    }

    #[test]
    fn pieces_are_found_by_the_ids_that_they_have() {
        let pieces = [(0, 4), (4, 5), (9, 12), (12, 20)]
            .map(|(a, b)| Arc::new(Ids(RowId::new(a), RowId::new(b))));
        let hits = |ids: &[u64]| -> Vec<usize> {
            let all = |piece: &Arc<Ids>| Ok((None, slice_of(ids, piece.0, piece.1).len() as u64));
            let changes = changed_pieces(ids, &pieces, &all).unwrap();
            changes.iter().map(|change| change.at).collect()
        };
        assert!(hits(&[]).is_empty());
        assert_eq!(hits(&[0, 3]), [0]);
        assert!(hits(&[5, 8]).is_empty());
        assert_eq!(hits(&[4, 8, 11, 12, 19]), [1, 2, 3]);
        assert_eq!(hits(&[3, 20, 21]), [0]);
    }

    #[test]
    fn what_is_left_takes_the_place_of_a_piece() {
        let mut pieces: Vec<Arc<u8>> = (0..4).map(Arc::new).collect();
        let change = |at, left: Option<u8>| PieceChange {
            at,
            left: left.map(Arc::new),
            gone: 1,
        };
        replace_pieces(
            &mut pieces,
            vec![change(0, None), change(2, Some(9)), change(3, None)],
        );
        assert_eq!(pieces.iter().map(|p| **p).collect::<Vec<u8>>(), [1, 9]);
    }
}
