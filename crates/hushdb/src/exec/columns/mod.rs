//! What rows get without being given it: defaults, generated columns and identity.

pub(super) mod default_text;
pub(super) mod generated;
pub(super) mod identity;
