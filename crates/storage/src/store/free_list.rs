//! The free list: which extents a file's newest superblock does not need, as a chain of sealed blocks (FORMAT.md, "Free
//! list").
//!
//! Refuses extents out of order, overlapping, empty or outside of the file, and chains that repeat a block: with order
//! enforced across blocks, and no block empty, a chain ends.

use crate::block::{BlockBuf, BlockRef, Role, Sector};
use crate::error::{Error, Result};

use super::extents::Extent;
use super::file_map::FIRST_SECTOR;

/// Extents in one block of the chain: a block of 1 MiB.
pub(crate) const EXTENTS_PER_BLOCK: usize = ((1 << 20) - 80 - HEAD_BYTES) / EXTENT_BYTES;

const HEAD_BYTES: usize = 48;
const EXTENT_BYTES: usize = 16;

/// A block of the chain with room for `room` extents that holds `extents`, followed by `next`.
pub(crate) fn encode(extents: &[Extent], room: usize, next: Option<&BlockRef>) -> BlockBuf {
    let mut buf = BlockBuf::with_capacity(HEAD_BYTES + room * EXTENT_BYTES);
    buf.extend_from_slice(&(extents.len() as u32).to_le_bytes());
    buf.extend_from_slice(&[0; 4]);
    buf.extend_from_slice(&BlockRef::option_to_bytes(next));
    for extent in extents {
        buf.extend_from_slice(&extent.sector.number().to_le_bytes());
        buf.extend_from_slice(&extent.sectors.to_le_bytes());
    }
    buf.resize(payload_len(room));
    buf
}

/// Bytes of payload of a block with room for `room` extents.
pub(crate) fn payload_len(room: usize) -> usize {
    HEAD_BYTES + room * EXTENT_BYTES
}

/// Reads the chain that begins at `first`; `read` opens a block. Returns the extents and the chain's own blocks.
pub(crate) fn read_chain(
    first: Option<BlockRef>,
    total_sectors: u64,
    mut read: impl FnMut(&BlockRef) -> Result<bytes::Bytes>,
) -> Result<(Vec<Extent>, Vec<BlockRef>)> {
    let (mut extents, mut blocks) = (Vec::new(), Vec::new());
    let (mut next, mut free_from) = (first, FIRST_SECTOR);
    while let Some(block) = next {
        let payload = read(&block)?;
        next = decode(
            &payload,
            &block,
            total_sectors,
            &mut free_from,
            &mut extents,
        )?;
        blocks.push(block);
    }
    Ok((extents, blocks))
}

fn decode(
    payload: &[u8],
    block: &BlockRef,
    total_sectors: u64,
    free_from: &mut Sector,
    extents: &mut Vec<Extent>,
) -> Result<Option<BlockRef>> {
    let malformed = |what| Error::malformed(Role::FreeList, block.sector, what);
    let (head, rest) = payload
        .split_first_chunk::<HEAD_BYTES>()
        .ok_or_else(|| malformed("it is too short"))?;
    let [c0, c1, c2, c3, 0, 0, 0, 0, next @ ..] = head else {
        return Err(malformed("a reserved byte is not zero"));
    };
    let count = u32::from_le_bytes([*c0, *c1, *c2, *c3]) as usize;
    let (entries, padding) = count
        .checked_mul(EXTENT_BYTES)
        .and_then(|len| rest.split_at_checked(len))
        .ok_or_else(|| malformed("it counts more extents than it holds"))?;
    if count == 0 {
        return Err(malformed("it holds no extent"));
    }
    if padding.iter().any(|&byte| byte != 0) {
        return Err(malformed("its unused part is not zero"));
    }
    for entry in entries.as_chunks::<EXTENT_BYTES>().0 {
        let [
            s0,
            s1,
            s2,
            s3,
            s4,
            s5,
            s6,
            s7,
            n0,
            n1,
            n2,
            n3,
            n4,
            n5,
            n6,
            n7,
        ] = *entry;
        let extent = Extent {
            sector: Sector::new(u64::from_le_bytes([s0, s1, s2, s3, s4, s5, s6, s7])),
            sectors: u64::from_le_bytes([n0, n1, n2, n3, n4, n5, n6, n7]),
        };
        let end = extent
            .end()
            .filter(|&end| end <= Sector::new(total_sectors) && extent.sectors > 0);
        let end = end.ok_or_else(|| malformed("an extent is empty or outside of the file"))?;
        if extent.sector < *free_from {
            return Err(malformed("its extents overlap or are out of order"));
        }
        *free_from = end;
        extents.push(extent);
    }
    Ok(BlockRef::option_from_bytes(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(sector: u64, sectors: u64) -> Extent {
        Extent::new(Sector::new(sector), sectors)
    }

    fn block(sector: u64) -> BlockRef {
        BlockRef {
            sector,
            payload_len: 64,
            key_id: 1,
            birth_generation: 1,
            tag: [0; 16],
        }
    }

    fn read(blocks: &[BlockBuf]) -> Result<Vec<Extent>> {
        let chain = |r: &BlockRef| {
            Ok(bytes::Bytes::copy_from_slice(
                blocks[r.sector as usize - 1].payload(),
            ))
        };
        read_chain(Some(block(1)), 100, chain).map(|(extents, _)| extents)
    }

    #[test]
    fn a_chain_is_read_as_it_was_written() {
        let (a, b) = (extent(16, 4), extent(30, 70));
        let chain = [encode(&[a], 3, Some(&block(2))), encode(&[b], 1, None)];
        assert_eq!(read(&chain).unwrap(), [a, b]);
    }

    #[test]
    fn a_chain_that_comes_back_to_itself_is_refused() {
        let looping = encode(&[extent(16, 1)], 1, Some(&block(1)));
        assert!(matches!(read(&[looping]), Err(Error::Malformed { .. })));
    }

    #[test]
    fn impossible_extents_are_refused() {
        for wrong in [
            extent(15, 1),
            extent(99, 2),
            extent(20, 0),
            extent(u64::MAX, 9),
        ] {
            assert!(read(&[encode(&[wrong], 1, None)]).is_err(), "{wrong:?}");
        }
        assert!(read(&[encode(&[extent(20, 4), extent(23, 1)], 2, None)]).is_err());
    }

    #[test]
    fn an_absurd_count_is_refused() {
        let mut absurd = encode(&[extent(20, 4)], 1, None);
        absurd.payload_mut()[0..4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(read(&[absurd]), Err(Error::Malformed { .. })));
    }
}
