//! `Credentials`: what a request to AWS is signed with.

use hushdb_crypto::SecretBytes;

use crate::secret_json::Answer;

/// An access key.
pub(super) struct Credentials {
    pub(super) id: SecretBytes,
    pub(super) secret: SecretBytes,
    pub(super) session: Option<SecretBytes>,
}

impl Credentials {
    /// Those of an answer, whose members for id, secret and session have these names.
    pub(super) fn of_json(answer: &mut Answer, names: [&str; 3]) -> Option<Self> {
        let [id, secret, session] = names.map(|name| {
            let text = answer.text(name).filter(|text| !text.is_empty())?;
            Some(SecretBytes::from(text.as_str()))
        });
        Some(Self {
            id: id?,
            secret: secret?,
            session,
        })
    }
}
