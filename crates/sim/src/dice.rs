//! `Dice`: the one source of chance. What must hold: the same seed gives the same throws, on every machine and in every
//! release of whatever library, so the generator is written out here (SplitMix64; Steele, Lea, Flood 2014).

/// A deterministic generator. Not fit for keys.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// A generator whose throws follow from `seed` alone.
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed ^ 0x5349_4d44_4943_4531);
        dice.throw();
        dice
    }

    /// The next 64 bits.
    pub fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 for a limit of 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        match limit {
            0 => 0,
            _ => self.throw() % limit,
        }
    }

    /// An index into something of that length.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number from `low` to `high`, both possible.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in `percent` of 100 throws.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `choices`, which must not be empty.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// Another generator, which goes its own way from here.
    pub fn fork(&mut self) -> Self {
        Self(self.throw())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_throws_for_ever() {
        let mut dice = Dice::new(1);
        let throws = [dice.throw(), dice.throw(), dice.throw()];
        let mut again = Dice::new(1);
        assert_eq!(throws, [again.throw(), again.throw(), again.throw()]);
        let mut other = Dice::new(2);
        assert_ne!(throws[0], other.throw());
    }
}
