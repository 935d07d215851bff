//! Which catalog versions are still read.
//!
//! What must hold: the oldest generation reported is not above that of any version alive that somebody could get. A version dies with
//! its last `Arc`.

use std::sync::{Arc, Weak};

use super::catalog_version::CatalogVersion;
use crate::numbers::Generation;

/// Versions that were published, or shown to those who hold locks, and may still be in use.
#[derive(Default)]
pub(crate) struct LiveVersions {
    shown: Vec<(Generation, Weak<CatalogVersion>)>,
}

impl LiveVersions {
    pub(crate) fn add(&mut self, version: &Arc<CatalogVersion>) {
        let last = self.shown.last().map(|(_, last)| last.as_ptr());
        if last != Some(Arc::as_ptr(version)) {
            self.shown
                .push((version.generation, Arc::downgrade(version)));
        }
    }

    /// The oldest generation in use, or `newest` if none older is.
    pub(crate) fn oldest(&mut self, newest: Generation) -> Generation {
        self.shown.retain(|(_, version)| version.strong_count() > 0);
        self.shown
            .iter()
            .map(|(generation, _)| *generation)
            .min()
            .unwrap_or(newest)
            .min(newest)
    }
}
