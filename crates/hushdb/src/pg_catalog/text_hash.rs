//! `hashtext` and `hashtextextended`, which clients make the numbers of advisory locks with. Not for keeping anything secret.
//!
//! Source: Bob Jenkins, lookup3 (`hashlittle`, 2006), with the start value and the place of the last bytes that PostgreSQL has, so that
//! both give the same numbers.

use super::known::Known;
use super::rows::Cell;
use super::world::World;
use hushdb_sql::Result;

/// The functions, by name.
pub(super) const HASHES: &[Known] = &[
    Known("hashtext", 1, 1, "int4", false, of_text),
    Known("hashtextextended", 2, 2, "int8", false, of_text_with_seed),
];

/// `hashtext(text)`: 32 bits.
fn of_text(_: &World, args: &[Cell]) -> Result<Cell> {
    let hash = args.first().and_then(bytes).map(|text| hash(text, 0));
    Ok(hash.map(|hash| i64::from(hash as u32 as i32)).into())
}

/// `hashtextextended(text, seed)`: 64 bits.
fn of_text_with_seed(_: &World, args: &[Cell]) -> Result<Cell> {
    let seed = match args.get(1) {
        Some(Cell::Int(seed)) => *seed,
        Some(Cell::Text(text)) => text.trim().parse().unwrap_or_default(),
        _ => 0,
    };
    let hash = args.first().and_then(bytes);
    Ok(hash.map(|text| hash_seeded(text, seed)).into())
}

fn hash_seeded(text: &[u8], seed: i64) -> i64 {
    hash(text, seed as u64) as i64
}

fn bytes(cell: &Cell) -> Option<&[u8]> {
    match cell {
        Cell::Text(text) => Some(text.as_bytes()),
        _ => None,
    }
}

type Words = [u32; 3];

/// The last two words of the state; the lower half alone is what there is without a seed.
fn hash(text: &[u8], seed: u64) -> u64 {
    let start = 0x9e37_79b9_u32.wrapping_add(text.len() as u32);
    let mut words = [start.wrapping_add(3_923_095); 3];
    if seed != 0 {
        add(&mut words, [(seed >> 32) as u32, seed as u32, 0]);
        mix(&mut words);
    }
    let (blocks, rest) = text.as_chunks::<12>();
    for block in blocks {
        add(&mut words, words_of(block, 0));
        mix(&mut words);
    }
    // The lowest byte of the third word was the length's.
    add(&mut words, words_of(rest, 8));
    finish(&mut words);
    u64::from(words[1]) << 32 | u64::from(words[2])
}

/// Up to 12 bytes as words, of which the third begins at a bit of its own.
fn words_of(bytes: &[u8], third: u32) -> Words {
    let mut words = [0; 3];
    for (at, byte) in bytes.iter().enumerate() {
        let bit = 8 * (at as u32 % 4) + if at >= 8 { third } else { 0 };
        if let Some(word) = words.get_mut(at / 4) {
            *word |= u32::from(*byte).checked_shl(bit).unwrap_or_default();
        }
    }
    words
}

fn add(words: &mut Words, more: Words) {
    for (word, more) in words.iter_mut().zip(more) {
        *word = word.wrapping_add(more);
    }
}

fn mix([a, b, c]: &mut Words) {
    let step = |x: &mut u32, y: &mut u32, z: &mut u32, bits: u32| {
        *x = x.wrapping_sub(*z) ^ z.rotate_left(bits);
        *z = z.wrapping_add(*y);
    };
    step(a, b, c, 4);
    step(b, c, a, 6);
    step(c, a, b, 8);
    step(a, b, c, 16);
    step(b, c, a, 19);
    step(c, a, b, 4);
}

fn finish([a, b, c]: &mut Words) {
    let step = |x: &mut u32, y: u32, bits: u32| {
        *x = (*x ^ y).wrapping_sub(y.rotate_left(bits));
    };
    step(c, *b, 14);
    step(a, *c, 11);
    step(b, *a, 25);
    step(c, *b, 16);
    step(a, *c, 4);
    step(b, *a, 14);
    step(c, *b, 24);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Texts, and what PostgreSQL 15 gives of them: without a seed, and with -7.
    const ANSWERS: [(&str, i32, i64); 7] = [
        ("", -1_477_818_771, 7_897_695_672_827_216_937),
        ("a", 1_075_015_857, -1_390_133_477_695_463_801),
        ("lock", 377_326_227, 6_620_526_492_595_726_410),
        ("twelve bytes", 652_846_557, 7_524_365_991_215_980_085),
        ("thirteen byte", -1_367_827_268, -478_846_565_982_305_293),
        ("Grüße, 世界", 1_604_607_946, 1_221_227_242_536_963_260),
        (
            "a name that is longer than two blocks of it",
            -827_160_421,
            4_553_133_036_343_702_133,
        ),
    ];

    #[test]
    fn hashes_are_those_of_postgresql() {
        for (text, plain, seeded) in ANSWERS {
            assert_eq!(hash(text.as_bytes(), 0) as u32 as i32, plain, "{text}");
            assert_eq!(hash_seeded(text.as_bytes(), -7), seeded, "{text}");
        }
    }
}
