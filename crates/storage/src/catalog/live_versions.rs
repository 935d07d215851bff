//! Which catalog versions are still read.
//!
//! What must hold: the oldest generation reported is not above that of any version alive. A version dies with its last `Arc`.

use std::sync::{Arc, Weak};

use super::catalog_version::CatalogVersion;
use crate::block::Generation;

/// Published versions that may still be in use.
#[derive(Default)]
pub(crate) struct LiveVersions {
    published: Vec<(Generation, Weak<CatalogVersion>)>,
}

impl LiveVersions {
    pub(crate) fn add(&mut self, version: &Arc<CatalogVersion>) {
        self.published
            .push((Generation::new(version.generation), Arc::downgrade(version)));
    }

    /// The oldest generation in use, or `newest` if none older is.
    pub(crate) fn oldest(&mut self, newest: Generation) -> Generation {
        self.published
            .retain(|(_, version)| version.strong_count() > 0);
        self.published
            .iter()
            .map(|(generation, _)| *generation)
            .min()
            .unwrap_or(newest)
            .min(newest)
    }
}
