//! How a passphrase becomes a key: what a slot may say, what a new slot must say, and how much work one open may cost.
//!
//! A slot's parameters come from a file that is not yet authenticated. Beyond the limits they are refused before any
//! memory is taken; within them, one open spends at most a [`KdfBudget`] over all slots.

use std::num::NonZeroU32;

use hushdb_crypto::{Argon2Params, CryptoProvider, SecretKey, StretchError};

use crate::HeaderError;

/// Limits for parameters read from a file.
const MAX_ARGON2: Argon2Params = Argon2Params {
    m_kib: 1 << 20,
    t: 16,
    p: 16,
};
const MAX_PBKDF2_ITERATIONS: u32 = 10_000_000;

/// Floor for new slots: RFC 9106, section 4, second recommended option.
const MIN_ARGON2: Argon2Params = Argon2Params {
    m_kib: 64 * 1024,
    t: 3,
    p: 4,
};
/// Floor for new slots with PBKDF2-HMAC-SHA-512 (OWASP Password Storage Cheat Sheet).
const MIN_PBKDF2_ITERATIONS: u32 = 210_000;

/// The KDF of a key slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKdf {
    /// The slot's key is 32 bytes and used as it is.
    None,
    /// Argon2id version 1.3.
    Argon2id(Argon2Params),
    /// PBKDF2-HMAC-SHA-512.
    Pbkdf2 {
        /// Iteration count.
        iterations: NonZeroU32,
    },
}

impl SlotKdf {
    /// Reads the KDF id and its three parameters; `None` when they are no KDF of this format or absurd.
    pub(crate) fn from_wire(id: u8, parameters: [u32; 3]) -> Option<Self> {
        let kdf = match (id, parameters) {
            (0, [0, 0, 0]) => Self::None,
            (1, [m_kib, t, p]) => Self::Argon2id(Argon2Params { m_kib, t, p }),
            (2, [iterations, 0, 0]) => Self::Pbkdf2 {
                iterations: NonZeroU32::new(iterations)?,
            },
            _ => return None,
        };
        kdf.within_limits().then_some(kdf)
    }

    pub(crate) fn to_wire(self) -> (u8, [u32; 3]) {
        match self {
            Self::None => (0, [0, 0, 0]),
            Self::Argon2id(Argon2Params { m_kib, t, p }) => (1, [m_kib, t, p]),
            Self::Pbkdf2 { iterations } => (2, [iterations.get(), 0, 0]),
        }
    }

    fn within_limits(self) -> bool {
        match self {
            Self::None => true,
            Self::Argon2id(Argon2Params { m_kib, t, p }) => {
                (1..=MAX_ARGON2.t).contains(&t)
                    && (1..=MAX_ARGON2.p).contains(&p)
                    && (8 * p..=MAX_ARGON2.m_kib).contains(&m_kib)
            }
            Self::Pbkdf2 { iterations } => iterations.get() <= MAX_PBKDF2_ITERATIONS,
        }
    }

    /// Units of work: 1 KiB of memory filled once, or one iteration; each about a microsecond.
    fn work(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Argon2id(Argon2Params { m_kib, t, .. }) => u64::from(m_kib) * u64::from(t),
            Self::Pbkdf2 { iterations } => u64::from(iterations.get()),
        }
    }

    /// Stretches a passphrase; `None` for a slot that takes a raw key.
    pub(crate) fn stretch(
        self,
        crypto: &CryptoProvider,
        pass: &[u8],
        salt: &[u8],
    ) -> Result<Option<SecretKey>, StretchError> {
        match self {
            Self::None => Ok(None),
            Self::Argon2id(params) => crypto.argon2id(pass, salt, params).map(Some),
            Self::Pbkdf2 { iterations } => {
                Ok(Some(crypto.pbkdf2_hmac_sha512(pass, salt, iterations)))
            }
        }
    }
}

/// How a new slot stretches a passphrase. Raw keys are not stretched, whatever is chosen here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch(SlotKdf);

impl Stretch {
    /// Argon2id with these parameters.
    ///
    /// # Errors
    /// [`HeaderError::WeakKdf`] below the floor (t = 3, p = 4, m = 64 MiB), [`HeaderError::ExcessiveKdf`] beyond what
    /// readers accept.
    pub fn argon2id(params: Argon2Params) -> Result<Self, HeaderError> {
        if params.m_kib < MIN_ARGON2.m_kib || params.t < MIN_ARGON2.t || params.p < MIN_ARGON2.p {
            return Err(HeaderError::WeakKdf);
        }
        Self::checked(SlotKdf::Argon2id(params))
    }

    /// PBKDF2-HMAC-SHA-512, for those who must use what FIPS approves.
    ///
    /// # Errors
    /// [`HeaderError::WeakKdf`] below 210,000 iterations, [`HeaderError::ExcessiveKdf`] beyond 10 million.
    pub fn pbkdf2(iterations: u32) -> Result<Self, HeaderError> {
        match NonZeroU32::new(iterations) {
            Some(iterations) if iterations.get() >= MIN_PBKDF2_ITERATIONS => {
                Self::checked(SlotKdf::Pbkdf2 { iterations })
            }
            _ => Err(HeaderError::WeakKdf),
        }
    }

    /// Next to no work, for tests that make many databases. Protects no passphrase.
    pub fn cheap_for_tests() -> Self {
        Self(SlotKdf::Argon2id(Argon2Params {
            m_kib: 8,
            t: 1,
            p: 1,
        }))
    }

    pub(crate) fn kdf(self) -> SlotKdf {
        self.0
    }

    fn checked(kdf: SlotKdf) -> Result<Self, HeaderError> {
        if kdf.within_limits() {
            Ok(Self(kdf))
        } else {
            Err(HeaderError::ExcessiveKdf)
        }
    }
}

impl Default for Stretch {
    /// The floor: Argon2id with t = 3, p = 4, m = 64 MiB.
    fn default() -> Self {
        Self(SlotKdf::Argon2id(MIN_ARGON2))
    }
}

/// How much key-derivation work one open may do, over all slots. A unit is 1 KiB of Argon2id memory filled once, or one
/// PBKDF2 iteration: about a microsecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KdfBudget(u64);

impl KdfBudget {
    /// A budget of so many units.
    pub const fn new(units: u64) -> Self {
        Self(units)
    }

    /// Takes the work of `kdf` out of the budget, or says no and takes nothing.
    pub(crate) fn spend(&mut self, kdf: SlotKdf) -> bool {
        match self.0.checked_sub(kdf.work()) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }
}

impl Default for KdfBudget {
    /// 2^24 units: any one slot within the limits, or all eight at the floor ten times over.
    fn default() -> Self {
        Self(1 << 24)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u32 = 1 << 20;

    #[test]
    fn parameters_up_to_the_limits_are_read_and_one_more_is_not() {
        for good in [
            (1, [GIB, 16, 16]),
            (1, [8, 1, 1]),
            (2, [10_000_000, 0, 0]),
            (2, [1, 0, 0]),
            (0, [0, 0, 0]),
        ] {
            let kdf = SlotKdf::from_wire(good.0, good.1);
            assert_eq!(kdf.map(SlotKdf::to_wire), Some(good));
        }
        for bad in [
            (1, [GIB + 1, 3, 4]),
            (1, [65536, 17, 4]),
            (1, [65536, 3, 17]),
            (1, [65536, 0, 4]),
            (1, [65536, 3, 0]),
            (1, [31, 3, 4]),
            (1, [u32::MAX, u32::MAX, u32::MAX]),
            (2, [10_000_001, 0, 0]),
            (2, [0, 0, 0]),
            (2, [1, 1, 0]),
            (0, [1, 0, 0]),
            (3, [1, 1, 1]),
        ] {
            assert_eq!(SlotKdf::from_wire(bad.0, bad.1), None, "{bad:?}");
        }
    }

    #[test]
    fn new_slots_keep_to_the_floor() {
        let argon2 = |m_kib, t, p| Stretch::argon2id(Argon2Params { m_kib, t, p });
        assert_eq!(argon2(65536, 3, 4), Ok(Stretch::default()));
        for (m, t, p) in [(65535, 3, 4), (65536, 2, 4), (65536, 3, 3)] {
            assert_eq!(argon2(m, t, p), Err(HeaderError::WeakKdf));
        }
        assert_eq!(argon2(GIB + 1, 3, 4), Err(HeaderError::ExcessiveKdf));
        assert!(Stretch::pbkdf2(210_000).is_ok());
        assert_eq!(Stretch::pbkdf2(209_999), Err(HeaderError::WeakKdf));
        assert_eq!(Stretch::pbkdf2(10_000_001), Err(HeaderError::ExcessiveKdf));
    }

    #[test]
    fn the_default_budget_opens_the_dearest_slot_but_not_twice() {
        let dearest = SlotKdf::Argon2id(MAX_ARGON2);
        let mut budget = KdfBudget::default();
        assert!(budget.spend(dearest));
        assert!(!budget.spend(dearest));
        assert!(budget.spend(SlotKdf::None));
    }
}
