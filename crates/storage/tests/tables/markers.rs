//! Nothing in the clear.
