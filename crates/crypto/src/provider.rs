//! `CryptoProvider`: a plain struct of parts that is passed to whoever needs cryptography.
//!
//! Both providers give the same bytes for the same input; a file does not record which one wrote it.

use std::fmt;
use std::num::NonZeroU32;

use crate::argon2id;
use crate::aws_lc::AwsLc;
use crate::dead_stack;
use crate::parts::{Ciphers, Derive, Digests, KeyWrap, Random};
use crate::portable::Portable;
use crate::self_test;
use crate::{
    Argon2Params, CtrKey, GcmKey, KdfLabel, RandomError, SecretKey, SelfTestError, StretchError,
    UnwrapError, constant_time_eq,
};

/// A set of cryptographic parts. Copying it copies references.
#[derive(Clone, Copy)]
pub struct CryptoProvider {
    pub(crate) name: &'static str,
    pub(crate) ciphers: &'static dyn Ciphers,
    pub(crate) key_wrap: &'static dyn KeyWrap,
    pub(crate) derive: &'static dyn Derive,
    pub(crate) digests: &'static dyn Digests,
    pub(crate) random: &'static dyn Random,
}

impl CryptoProvider {
    /// aws-lc-rs: the default.
    pub fn aws_lc() -> Self {
        Self {
            name: "aws-lc-rs",
            ciphers: &AwsLc,
            key_wrap: &AwsLc,
            derive: &AwsLc,
            digests: &AwsLc,
            random: &AwsLc,
        }
    }

    /// RustCrypto: pure Rust.
    pub fn portable() -> Self {
        Self {
            name: "rustcrypto",
            ciphers: &Portable,
            key_wrap: &Portable,
            derive: &Portable,
            digests: &Portable,
            random: &Portable,
        }
    }

    /// Every provider, the default first.
    pub fn all() -> [Self; 2] {
        [Self::aws_lc(), Self::portable()]
    }

    /// The provider called `aws-lc-rs` or `rustcrypto`.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all()
            .into_iter()
            .find(|provider| provider.name == name)
    }

    /// This provider's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Expands an AES-256-GCM key.
    pub fn gcm_key(&self, key: &SecretKey) -> GcmKey {
        let key = GcmKey::new(self.ciphers.gcm(key.expose()));
        dead_stack::wipe();
        key
    }

    /// Expands an AES-256-CTR key.
    pub fn ctr_key(&self, key: &SecretKey) -> CtrKey {
        let key = CtrKey::new(self.ciphers.ctr(key.expose()));
        dead_stack::wipe();
        key
    }

    /// Wraps `key` under `kek` with AES-256-KW (RFC 3394).
    pub fn wrap_key(&self, kek: &SecretKey, key: &SecretKey) -> [u8; 40] {
        let wrapped = self.key_wrap.wrap(kek.expose(), key.expose());
        dead_stack::wipe();
        wrapped
    }

    /// Unwraps what [`Self::wrap_key`] made.
    ///
    /// # Errors
    /// [`UnwrapError`] when the integrity check does not hold: another key, or changed bytes.
    pub fn unwrap_key(
        &self,
        kek: &SecretKey,
        wrapped: &[u8; 40],
    ) -> Result<SecretKey, UnwrapError> {
        let mut key = SecretKey::zeroed();
        let unwrapped = self
            .key_wrap
            .unwrap(kek.expose(), wrapped, key.expose_mut());
        dead_stack::wipe();
        unwrapped.map(|()| key)
    }

    /// Derives a key for one purpose: KBKDF-CTR-HMAC-SHA-256 (SP 800-108r1, 4.1), 32-bit counter first, fixed info =
    /// label || 0x00 || context || BE32(256).
    pub fn kbkdf(&self, key: &SecretKey, label: KdfLabel, context: &[u8]) -> SecretKey {
        let label = label.as_bytes();
        let mut fixed_info = Vec::with_capacity(label.len() + 1 + context.len() + 4);
        fixed_info.extend_from_slice(label);
        fixed_info.push(0);
        fixed_info.extend_from_slice(context);
        fixed_info.extend_from_slice(&256u32.to_be_bytes());
        let mut derived = SecretKey::zeroed();
        self.derive
            .kbkdf(key.expose(), &fixed_info, derived.expose_mut());
        dead_stack::wipe();
        derived
    }

    /// Stretches a passphrase with PBKDF2-HMAC-SHA-512 (RFC 8018, SP 800-132); the first 32 bytes of output.
    pub fn pbkdf2_hmac_sha512(
        &self,
        pass: &[u8],
        salt: &[u8],
        iterations: NonZeroU32,
    ) -> SecretKey {
        let mut key = SecretKey::zeroed();
        self.derive
            .pbkdf2_sha512(pass, salt, iterations, key.expose_mut());
        dead_stack::wipe();
        key
    }

    /// SCRAM's `Hi` with SHA-256 (RFC 7677, RFC 5802 section 2.2): PBKDF2-HMAC-SHA-256 (RFC 8018), one block of output. For
    /// verifiers of passwords on the wire; keys of files are stretched by the others.
    pub fn pbkdf2_hmac_sha256(
        &self,
        pass: &[u8],
        salt: &[u8],
        iterations: NonZeroU32,
    ) -> SecretKey {
        let mut key = SecretKey::zeroed();
        self.derive
            .pbkdf2_sha256(pass, salt, iterations, key.expose_mut());
        dead_stack::wipe();
        key
    }

    /// Stretches a passphrase with Argon2id (RFC 9106); 32 bytes of output.
    ///
    /// # Errors
    /// [`StretchError`] when the parameters are outside of the RFC or the memory is not to be had.
    pub fn argon2id(
        &self,
        pass: &[u8],
        salt: &[u8],
        params: Argon2Params,
    ) -> Result<SecretKey, StretchError> {
        let key = argon2id::stretch(pass, salt, params);
        dead_stack::wipe();
        key
    }

    /// HMAC-SHA-256 (RFC 2104, FIPS 198-1) of the parts one after another.
    pub fn hmac_sha256(&self, key: &SecretKey, parts: &[&[u8]]) -> [u8; 32] {
        let mac = self.digests.hmac_sha256(key.expose(), parts);
        dead_stack::wipe();
        mac
    }

    /// Whether `mac` is the HMAC-SHA-256 of the parts, compared in constant time.
    pub fn hmac_sha256_verify(&self, key: &SecretKey, parts: &[&[u8]], mac: &[u8; 32]) -> bool {
        constant_time_eq(&self.hmac_sha256(key, parts), mac)
    }

    /// SHA-256 (FIPS 180-4) of the parts one after another.
    pub fn sha256(&self, parts: &[&[u8]]) -> [u8; 32] {
        self.digests.sha256(parts)
    }

    /// Fills `buf` with random bytes fit for keys.
    ///
    /// # Errors
    /// [`RandomError`] when the system has none to give.
    pub fn random(&self, buf: &mut [u8]) -> Result<(), RandomError> {
        self.random.fill(buf)
    }

    /// A fresh random key.
    ///
    /// # Errors
    /// [`RandomError`] when the system has no random bytes to give.
    pub fn random_key(&self) -> Result<SecretKey, RandomError> {
        let mut key = SecretKey::zeroed();
        self.random.fill(key.expose_mut())?;
        Ok(key)
    }

    /// Asks every part one question whose answer is known, in well under a millisecond. Run it once before the provider
    /// touches data.
    ///
    /// # Errors
    /// [`SelfTestError`] names the part that gave a wrong answer.
    pub fn self_test(&self) -> Result<(), SelfTestError> {
        self_test::run(self)
    }
}

impl Default for CryptoProvider {
    fn default() -> Self {
        Self::aws_lc()
    }
}

impl fmt::Debug for CryptoProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CryptoProvider").field(&self.name).finish()
    }
}
