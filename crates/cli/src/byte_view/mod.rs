//! What a file's bytes look like from outside: pictures, entropy and a test for noise, by region where these are known.
#![expect(clippy::disallowed_methods, reason = "it looks at files from outside")]

mod counts;
mod letters;
mod noise;
mod picture;
mod regions;

pub(crate) use counts::ByteCounts;
pub(crate) use noise::Verdict;
pub(crate) use picture::{Panel, write};
pub(crate) use regions::{BLOCKS_BEGIN, Region, regions};
