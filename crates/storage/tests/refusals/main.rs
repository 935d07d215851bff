//! What a database file must refuse, or bear and put right: one named test for each case.

mod blocks;
mod headers;
mod image;
mod superblocks;
