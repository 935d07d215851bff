//! What gzip unpacks to, counted without room for it: a page may unpack to more than its head says, up to 1,032 times its bytes.
//!
//! The forms are those of RFC 1951 and RFC 1952.

/// Bits in the longest code.
const LONGEST_CODE: usize = 15;
/// Symbols of bytes and lengths, and of distances.
const SYMBOLS: usize = 288;
const DISTANCES: usize = 30;
/// Behind the bytes there is one symbol for the end of a block, then those for lengths.
const END: u16 = 256;
/// The shortest copy of each symbol, and how many bits say how much longer it is.
const COPIES: [(u16, u8); 29] = [
    (3, 0),
    (4, 0),
    (5, 0),
    (6, 0),
    (7, 0),
    (8, 0),
    (9, 0),
    (10, 0),
    (11, 1),
    (13, 1),
    (15, 1),
    (17, 1),
    (19, 2),
    (23, 2),
    (27, 2),
    (31, 2),
    (35, 3),
    (43, 3),
    (51, 3),
    (59, 3),
    (67, 4),
    (83, 4),
    (99, 4),
    (115, 4),
    (131, 5),
    (163, 5),
    (195, 5),
    (227, 5),
    (258, 0),
];
/// The order in which the lengths of the codes for lengths stand.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];

/// How many bytes come of it, or some number over `most` if there are more; `None` if the bytes are no gzip.
pub(super) fn unpacked_bytes(bytes: &[u8], most: usize) -> Option<usize> {
    let mut bits = Bits {
        rest: bytes,
        held: 0,
        count: 0,
    };
    let mut unpacked = 0;
    while !bits.rest.is_empty() && unpacked <= most {
        head(&mut bits)?;
        loop {
            let is_last = bits.take(1)? == 1;
            block(&mut bits, &mut unpacked, most)?;
            if is_last || unpacked > most {
                break;
            }
        }
        bits.drop_to_byte();
        if unpacked <= most {
            // The checksum and the length.
            bits.skip(8)?;
        }
    }
    Some(unpacked)
}

/// What stands before the first block.
fn head(bits: &mut Bits<'_>) -> Option<()> {
    let [0x1f, 0x8b, 8, flags, ..] = *bits.rest else {
        return None;
    };
    bits.skip(10)?;
    if flags & 4 != 0 {
        let more = bits.take(16)?;
        bits.skip(more as usize)?;
    }
    // A name and a comment, which end with a zero.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = bits.rest.iter().position(|byte| *byte == 0)?;
            bits.skip(end + 1)?;
        }
    }
    if flags & 2 != 0 {
        bits.skip(2)?;
    }
    Some(())
}

/// Counts what a block unpacks to, but for no more than one copy above `most`.
fn block(bits: &mut Bits<'_>, unpacked: &mut usize, most: usize) -> Option<()> {
    let (symbols, distances) = match bits.take(2)? {
        0 => {
            bits.drop_to_byte();
            let len = bits.take(16)?;
            bits.take(16)?;
            bits.skip(len as usize)?;
            *unpacked += len as usize;
            return Some(());
        }
        1 => {
            let mut lengths = [8; SYMBOLS];
            lengths.get_mut(144..256)?.fill(9);
            lengths.get_mut(256..280)?.fill(7);
            (Codes::new(&lengths)?, Codes::new(&[5; DISTANCES])?)
        }
        2 => own_codes(bits)?,
        _ => return None,
    };
    while *unpacked <= most {
        let symbol = symbols.read(bits)?;
        if symbol == END {
            break;
        }
        if symbol < END {
            *unpacked += 1;
            continue;
        }
        let (shortest, more) = COPIES.get(usize::from(symbol - END - 1))?;
        *unpacked += usize::from(*shortest) + bits.take(*more)? as usize;
        let distance = u8::try_from(distances.read(bits)?).ok()?;
        bits.take((distance / 2).saturating_sub(1))?;
    }
    Some(())
}

/// The codes that a block begins with.
fn own_codes(bits: &mut Bits<'_>) -> Option<(Codes, Codes)> {
    let symbols = bits.take(5)? as usize + 257;
    let distances = bits.take(5)? as usize + 1;
    let given = bits.take(4)? as usize + 4;
    let mut of_lengths = [0; ORDER.len()];
    for at in ORDER.iter().take(given) {
        *of_lengths.get_mut(*at)? = bits.take(3)? as u8;
    }
    let codes = Codes::new(&of_lengths)?;
    let mut lengths = Vec::with_capacity(symbols + distances);
    while lengths.len() < symbols + distances {
        let (length, times) = match codes.read(bits)? {
            16 => (*lengths.last()?, 3 + bits.take(2)?),
            17 => (0, 3 + bits.take(3)?),
            18 => (0, 11 + bits.take(7)?),
            length => (length as u8, 1),
        };
        lengths.extend((0..times).map(|_| length));
    }
    let (of_symbols, of_distances) = lengths.split_at_checked(symbols)?;
    let is_whole = of_symbols.len() <= SYMBOLS && of_distances.len() == distances;
    let codes = (Codes::new(of_symbols)?, Codes::new(of_distances)?);
    is_whole.then_some(codes)
}

/// Huffman codes: those of one length follow one another in the order of their symbols.
struct Codes {
    /// How many there are of each length.
    counts: [u16; LONGEST_CODE + 1],
    symbols: Vec<u16>,
}

impl Codes {
    /// By the lengths of the symbols' codes; 0 for those that have none. `None` if there are more than fit.
    fn new(lengths: &[u8]) -> Option<Self> {
        let mut counts = [0_u16; LONGEST_CODE + 1];
        for length in lengths.iter().filter(|length| **length > 0) {
            *counts.get_mut(usize::from(*length))? += 1;
        }
        let mut free = 1_i32;
        for count in counts.iter().skip(1) {
            free = free * 2 - i32::from(*count);
            if free < 0 {
                return None;
            }
        }
        let mut symbols: Vec<u16> = (0..lengths.len() as u16).collect();
        let length = |symbol: &u16| lengths.get(usize::from(*symbol)).copied().unwrap_or(0);
        symbols.retain(|symbol| length(symbol) > 0);
        symbols.sort_by_key(length);
        Some(Self { counts, symbols })
    }

    fn read(&self, bits: &mut Bits<'_>) -> Option<u16> {
        let (mut code, mut first, mut before) = (0_u32, 0, 0);
        for count in self.counts.iter().skip(1) {
            let count = u32::from(*count);
            code = code * 2 + bits.take(1)?;
            first *= 2;
            if code < first + count {
                return self.symbols.get((before + code - first) as usize).copied();
            }
            first += count;
            before += count;
        }
        None
    }
}

/// Bits, the lowest of each byte first.
struct Bits<'a> {
    /// Of which none are held.
    rest: &'a [u8],
    held: u32,
    count: u8,
}

impl Bits<'_> {
    /// So many, up to 16.
    fn take(&mut self, count: u8) -> Option<u32> {
        while self.count < count {
            let (byte, rest) = self.rest.split_first()?;
            self.held |= u32::from(*byte) << self.count;
            self.count += 8;
            self.rest = rest;
        }
        let taken = self.held & ((1 << count) - 1);
        self.held >>= count;
        self.count -= count;
        Some(taken)
    }

    /// Lets the rest of a byte go.
    fn drop_to_byte(&mut self) {
        self.held = 0;
        self.count = 0;
    }

    /// Whole bytes, where none are held.
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with codes of its own, made by zlib: 641 bytes.
    const OWN: &str = "1f8b08000000000002034b4c4a56481cc4988191899985958d9d83938b9b87978f5f4050485844544c5c42524a5a46564e5e4151495945554d5d43534b5b47574fdfc0d0c8d8c4d4ccdcc2d2cadac6d6cedec1d1c9d9c5d5cdddc3d3cbdbc7d7cf3f2030283824342c3c22322a3a26362e3e0168494a6a5a7a466656764e6e5e7e4161517149695979456555754d6d5d7d436353734b6b5b7b476757774f6f5fff848993264f993a6dfa8c99b366cf993b6ffe82858b162f59ba6cf98a95ab56af59bb6efd868d9b366fd9ba6dfb8e9dbb76efd9bb6fff8183870e1f397aecf88993a74e9f397beefc858b972e5fb97aedfa8d9bb76edfb97beffe83878f1e3f79faecf98b97af5ebf79fbeefd878f9f3e7ff9faedfb8f9fbf7efff9fbef7f4946aa4261696672b64252517e799e425a7e854256696e41b1427e596a9102483a27b1aa5221253f5d4f61282a060077f8de9a81020000";
    /// One with the codes that all know: 627 bytes.
    const KNOWN: &str = "1f8b08000000000002034b4c1c05a380fa202939051702004aa8bc9173020000";
    /// One that is not packed: 5 bytes.
    const STORED: &str = "1f8b0800000000000403010500faff68656c6c6f86a6103605000000";

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks(2);
        let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.map(byte).collect()
    }

    #[test]
    fn what_comes_of_it_is_counted() {
        for (hex, expected) in [(OWN, 641), (KNOWN, 627), (STORED, 5)] {
            let packed = bytes(hex);
            assert_eq!(unpacked_bytes(&packed, 1000), Some(expected));
            assert!(unpacked_bytes(&packed, expected - 1).unwrap() >= expected);
            for len in 1..packed.len() {
                assert_eq!(unpacked_bytes(&packed[..len], 1000), None, "cut to {len}");
            }
        }
    }

    #[test]
    fn members_are_counted_together() {
        let all = [bytes(OWN), bytes(KNOWN), bytes(STORED)].concat();
        assert_eq!(unpacked_bytes(&all, 2000), Some(641 + 627 + 5));
        let more = [bytes(STORED), b"more".to_vec()].concat();
        assert_eq!(unpacked_bytes(&more, 1000), None);
    }

    #[test]
    fn heads_may_say_more() {
        let mut packed = bytes(STORED);
        packed[3] = 2 | 4 | 8 | 16;
        let more = b"\x03\0abcname\0comment\0hc";
        packed.splice(10..10, more.iter().copied());
        assert_eq!(unpacked_bytes(&packed, 1000), Some(5));
    }
}
