//! The encodings that may occur in a segment, and the byte that stands for each.
//!
//! What must hold: a code never changes its meaning; only encodings of frozen ("core") editions of the library are listed, so
//! later releases of it read them.
//! Refuses: encodings that are not listed, when writing and when reading.

use vortex_session::registry::Id;

/// Encoding ids by code minus one (FORMAT.md, "Segments").
pub(crate) const ENCODINGS: [&str; 19] = [
    "vortex.null",
    "vortex.bool",
    "vortex.primitive",
    "vortex.varbinview",
    "vortex.varbin",
    "vortex.constant",
    "vortex.dict",
    "vortex.masked",
    "vortex.runend",
    "vortex.sequence",
    "vortex.sparse",
    "vortex.zigzag",
    "vortex.alp",
    "vortex.alprd",
    "vortex.fsst",
    "vortex.onpair",
    "fastlanes.bitpacked",
    "fastlanes.for",
    "fastlanes.rle",
];

/// The code of an encoding id, if it may be written.
pub(crate) fn code_of(id: &Id) -> Option<u8> {
    let position = ENCODINGS.iter().position(|known| *known == id.as_str())?;
    u8::try_from(position + 1).ok()
}

/// The encoding id that a code stands for.
pub(crate) fn id_of(code: u8) -> Option<Id> {
    let index = usize::from(code).checked_sub(1)?;
    ENCODINGS.get(index).map(|id| Id::new_static(id))
}
