//! `KeyAttempt`: one opening's key and what it may cost, over every header that is tried with it.

use crate::{DatabaseId, KdfBudget, KeyContext, KeyError, KeyMaterial, KeyProvider};

/// A caller's key on its way into a file: asked for once, and stretched within one budget, though a file has two copies of its header.
pub struct KeyAttempt<'a> {
    pub(crate) provider: &'a dyn KeyProvider,
    pub(crate) budget: KdfBudget,
    answer: Option<(DatabaseId, Result<KeyMaterial, KeyError>)>,
}

impl<'a> KeyAttempt<'a> {
    /// Nothing is asked for yet.
    pub fn new(provider: &'a dyn KeyProvider, budget: KdfBudget) -> Self {
        Self {
            provider,
            budget,
            answer: None,
        }
    }

    /// What a provider without blobs yields, which is the same for all slots of a database; `None` for one that keeps blobs. The
    /// budget beside it, which the answer is stretched within.
    pub(crate) fn shared(
        &mut self,
        context: &KeyContext,
    ) -> Result<(Option<&KeyMaterial>, &mut KdfBudget), KeyError> {
        if self.provider.keeps_blob() {
            return Ok((None, &mut self.budget));
        }
        let database_id = context.database_id;
        let known = self.answer.take().filter(|(of, _)| *of == database_id);
        let (_, answer) = self.answer.insert(match known {
            Some(known) => known,
            None => (database_id, self.provider.recover(context, &[])),
        });
        match answer {
            Ok(material) => Ok((Some(material), &mut self.budget)),
            Err(error) => Err(error.clone()),
        }
    }
}

impl std::fmt::Debug for KeyAttempt<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KeyAttempt")
            .field("budget", &self.budget)
            .finish_non_exhaustive()
    }
}
