//! `Spread`: what hashes numbers for tables in memory, at the cost of a multiplication each.
//!
//! What must hold: the key is the process's own and never leaves it, so that nobody can make numbers that all meet in one place. For
//! what is looked up often and is told apart by a few numbers; texts and keys of rows take the standard library's hash.

use std::hash::{BuildHasher, Hasher, RandomState};

/// Odd, and without a pattern: the 64 bits behind the point of the golden ratio.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Makes hashes under a key of its own.
#[derive(Clone, Debug)]
pub(crate) struct Spread(u64);

impl Default for Spread {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0_u64))
    }
}

impl BuildHasher for Spread {
    type Hasher = Spreading;

    fn build_hasher(&self) -> Spreading {
        Spreading(self.0)
    }
}

/// What was put in so far.
#[derive(Debug)]
pub(crate) struct Spreading(u64);

impl Hasher for Spreading {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut number = [0; 8];
            number
                .iter_mut()
                .zip(part)
                .for_each(|(to, from)| *to = *from);
            self.write_u64(u64::from_le_bytes(number));
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        // Both halves of the product: the upper one has what the upper bits say, the lower one what the lower do.
        let product = u128::from(self.0 ^ number) * u128::from(MULTIPLIER);
        self.0 = (product as u64 ^ (product >> 64) as u64).wrapping_add(MULTIPLIER);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn numbers_that_follow_one_another_or_differ_in_high_bits_go_to_many_places() {
        let spread = Spread::default();
        for step in [1, 64, 4096, 1 << 40, 1 << 55] {
            let hashes = (0..4096_u64).map(|n| spread.hash_one(n.wrapping_mul(step)));
            let hashes: Vec<u64> = hashes.collect();
            let whole: HashSet<&u64> = hashes.iter().collect();
            assert!(whole.len() > hashes.len().min(1 << 9) - 1, "{step}");
            for shift in [0, 32, 57] {
                let mut places = [0; 64];
                let distinct = whole.iter().map(|hash| (**hash >> shift) % 64);
                distinct.for_each(|place| places[place as usize] += 1);
                let most = places.iter().max().unwrap();
                assert!(*most <= whole.len() / 64 * 3 + 16, "{step} {shift}: {most}");
            }
        }
    }

    #[test]
    fn two_tables_have_keys_of_their_own_and_order_counts() {
        let [one, two] = [Spread::default(), Spread::default()];
        assert_ne!(one.hash_one(7_u64), two.hash_one(7_u64));
        assert_ne!(one.hash_one((1_u64, 2_u64)), one.hash_one((2_u64, 1_u64)));
        assert_eq!(one.hash_one((1_u64, 2_u64)), one.hash_one((1_u64, 2_u64)));
    }
}
