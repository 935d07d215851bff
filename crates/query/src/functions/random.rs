//! `random()` and `setseed(x)`: numbers that a session draws, in DuckDB's order from a seed.
//!
//! It is a permuted congruential generator of 64 bits of state (M. O'Neill, "PCG: a family of simple fast space-efficient statistically
//! good algorithms for random number generation", 2014: PCG-XSH-RR 64/32). Each call in a statement has one of its own, which the
//! session's seeds. Nothing that must be a secret is drawn here.

use datafusion::arrow::array::Float64Array;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use hushdb_sql::Error;
use parking_lot::Mutex;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::sync::Arc;

const FACTOR: u64 = 6_364_136_223_846_793_005;
const STREAM: u64 = 1_442_695_040_888_963_407;
/// What a seed of 0 becomes, and how far 1 and -1 are from it.
const HALF: f64 = (u32::MAX / 2) as f64;

struct Generator(u64);

impl Generator {
    fn seeded(seed: u64) -> Self {
        Self(
            seed.wrapping_add(STREAM)
                .wrapping_mul(FACTOR)
                .wrapping_add(STREAM),
        )
    }

    fn bits(&mut self) -> u32 {
        let state = self.0;
        self.0 = state.wrapping_mul(FACTOR).wrapping_add(STREAM);
        let mixed = ((state >> 18) ^ state) >> 27;
        (mixed as u32).rotate_right((state >> 59) as u32)
    }

    fn number(&mut self) -> u64 {
        u64::from(self.bits()) << 32 | u64::from(self.bits())
    }

    /// From 0 to 1, and never 1.
    fn share(&mut self) -> f64 {
        let share = self.number() as f64 / 2_f64.powi(64);
        share.min(1.0_f64.next_down())
    }
}

/// What a session draws from.
pub struct Random(Mutex<Generator>);

impl Default for Random {
    /// One that nobody knows where it begins.
    fn default() -> Self {
        let seed = RandomState::new().hash_one(0);
        Self(Mutex::new(Generator::seeded(seed)))
    }
}

/// The function of that name over what a session draws from, if it is one of these.
pub(crate) fn random_function(name: &str, session: &Arc<Random>) -> Option<Arc<ScalarUDF>> {
    let session = Arc::clone(session);
    match name {
        "random" => Some(Arc::new(ScalarUDF::from(Drawn {
            session,
            own: Mutex::default(),
            signature: Signature::nullary(Volatility::Volatile),
        }))),
        "setseed" => Some(Arc::new(ScalarUDF::from(SetSeed {
            session,
            signature: Signature::user_defined(Volatility::Volatile),
        }))),
        _ => None,
    }
}

struct Drawn {
    session: Arc<Random>,
    /// Seeded when the first number is drawn.
    own: Mutex<Option<Generator>>,
    signature: Signature,
}

impl std::fmt::Debug for Drawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("random")
    }
}

/// Two calls are never one.
impl PartialEq for Drawn {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Drawn {}

impl Hash for Drawn {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}

impl ScalarUDFImpl for Drawn {
    fn name(&self) -> &'static str {
        "random"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut own = self.own.lock();
        let own = own.get_or_insert_with(|| Generator::seeded(self.session.0.lock().number()));
        let drawn = (0..args.number_rows).map(|_| own.share());
        Ok(ColumnarValue::Array(Arc::new(
            Float64Array::from_iter_values(drawn),
        )))
    }
}

struct SetSeed {
    session: Arc<Random>,
    signature: Signature,
}

impl std::fmt::Debug for SetSeed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("setseed")
    }
}

impl PartialEq for SetSeed {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.session, &other.session)
    }
}

impl Eq for SetSeed {}

impl Hash for SetSeed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        "setseed".hash(state);
    }
}

impl ScalarUDFImpl for SetSeed {
    fn name(&self) -> &'static str {
        "setseed"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [of] if of.is_numeric() || of.is_null() => Ok(vec![DataType::Float64]),
            _ => plan_err!("No function matches setseed: it takes one number"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Null)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        use datafusion::arrow::array::AsArray;
        let seeds = args
            .args
            .first()
            .map(|seeds| seeds.to_array(args.number_rows));
        if let Some(seeds) = seeds {
            for seed in seeds?.as_primitive::<Float64Type>().iter().flatten() {
                if !(-1.0..=1.0).contains(&seed) {
                    let what = "SETSEED accepts seed values between -1.0 and 1.0, inclusive";
                    return Err(Error::invalid(what).into());
                }
                let seed = ((seed + 1.0) * HALF) as u32;
                *self.session.0.lock() = Generator::seeded(u64::from(seed));
            }
        }
        Ok(ColumnarValue::Scalar(ScalarValue::Null))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As DuckDB 1.5.5 draws them after `SELECT setseed(0.5)`.
    #[test]
    fn a_seed_gives_the_numbers_of_duckdb() {
        let mut session = Generator::seeded(u64::from((1.5 * HALF) as u32));
        let drawn = [(); 3].map(|()| Generator::seeded(session.number()).share());
        assert_eq!(
            drawn,
            [
                0.851_113_188_628_732_5,
                0.002_978_387_269_385_594,
                0.131_401_206_703_069_82
            ]
        );
    }
}
