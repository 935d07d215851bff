//! Where the bytes stand that divide a text into values: 64 of them are looked at together.

/// Bytes that are looked at together.
const BLOCK: usize = 64;

/// Goes from one of these bytes to the next.
pub(super) struct Stops<'a> {
    text: &'a [u8],
    bytes: [u8; 4],
    /// Where the bytes begin that were looked at last.
    block: usize,
    /// A bit for each stop among them that was not passed, the first one lowest.
    ahead: u64,
}

impl<'a> Stops<'a> {
    /// The stops of a text from `at` on.
    pub(super) fn new(text: &'a [u8], bytes: [u8; 4], at: usize) -> Self {
        let mut stops = Self {
            text,
            bytes,
            block: at,
            ahead: 0,
        };
        stops.look();
        stops
    }

    /// Where the next stop is, which is passed; behind the last one, the text's end.
    #[inline]
    pub(super) fn next(&mut self) -> usize {
        while self.ahead == 0 {
            if self.block >= self.text.len() {
                return self.text.len();
            }
            self.block += BLOCK;
            self.look();
        }
        let stop = self.block + self.ahead.trailing_zeros() as usize;
        self.ahead &= self.ahead - 1;
        stop
    }

    /// Passes all stops before `at`, which is not before the last one that was passed.
    pub(super) fn pass(&mut self, at: usize) {
        match at.checked_sub(self.block) {
            Some(within @ 0..BLOCK) => self.ahead &= u64::MAX << within,
            _ => {
                self.block = at;
                self.look();
            }
        }
    }

    fn look(&mut self) {
        let rest = self.text.get(self.block..).unwrap_or_default();
        self.ahead = match rest.first_chunk() {
            Some(block) => places(block, self.bytes),
            None => {
                let mut block = [0; BLOCK];
                for (to, byte) in block.iter_mut().zip(rest) {
                    *to = *byte;
                }
                places(&block, self.bytes) & !(u64::MAX << rest.len())
            }
        };
    }
}

/// A bit for each byte that is one of these. Without a branch, so that the compiler compares many at once.
fn places(block: &[u8; BLOCK], [a, b, c, d]: [u8; 4]) -> u64 {
    // Brings the lowest bit of the byte `n` to the bit `56 + n`.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut is_one = [0_u8; BLOCK];
    for (to, byte) in is_one.iter_mut().zip(block) {
        *to = u8::from((*byte == a) | (*byte == b) | (*byte == c) | (*byte == d));
    }
    let (eights, _) = is_one.as_chunks::<8>();
    let bits = eights.iter().enumerate().map(|(at, eight)| {
        let eight = u64::from_le_bytes(*eight);
        (eight.wrapping_mul(GATHER) >> 56) << (8 * at)
    });
    bits.fold(0, |all, bits| all | bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stop_is_found_wherever_it_is_begun() {
        let mut text = vec![b'x'; 300];
        let places = [0, 1, 7, 8, 62, 63, 64, 65, 128, 191, 255, 256, 299];
        for (at, byte) in places.iter().zip(b",\n\r\"".iter().cycle()) {
            text[*at] = *byte;
        }
        for from in 0..=text.len() {
            let expected: Vec<usize> = places.into_iter().filter(|at| *at >= from).collect();
            let mut stops = Stops::new(&text, *b",\n\r\"", from);
            let mut passed = Stops::new(&text, *b",\n\r\"", 0);
            passed.pass(from);
            for stop in expected.iter().chain([&text.len(), &text.len()]) {
                assert_eq!((stops.next(), passed.next()), (*stop, *stop), "from {from}");
            }
        }
    }

    #[test]
    fn nothing_is_found_behind_a_text() {
        assert_eq!(Stops::new(b"a", [0; 4], 0).next(), 1);
        assert_eq!(Stops::new(b"", [0; 4], 0).next(), 0);
    }
}
