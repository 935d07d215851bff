//! Parts from aws-lc-rs: the default provider, with AES and carry-less multiplication in hardware.
//!
//! The calls below fail only where the library's own preconditions (key and buffer lengths, which are fixed here by
//! types) are broken or where it cannot allocate a cipher context; going on without a cipher is no choice, so those
//! are panics with a message, never an unencrypted write.

use std::num::NonZeroU32;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, RandomizedNonceKey, UnboundKey};
use aws_lc_rs::cipher::{AES_256, EncryptingKey, EncryptionContext, UnboundCipherKey};
use aws_lc_rs::iv::FixedLength;
use aws_lc_rs::kdf::{KbkdfCtrHmacAlgorithmId, get_kbkdf_ctr_hmac_algorithm, kbkdf_ctr_hmac};
use aws_lc_rs::key_wrap::{AES_256 as AES_256_KEK, AesKek, KeyWrap as _};
use aws_lc_rs::{digest, hmac, pbkdf2, rand};

use crate::parts::{Ciphers, Ctr, Derive, Digests, Gcm, KeyWrap, NonceAndTag, Random};
use crate::{OpenError, RandomError, SealError, UnwrapError};

/// Every part of the aws-lc-rs provider.
pub(crate) struct AwsLc;

/// The library seals with nonces of its own under one type of key and opens with a given nonce under another; both
/// hold the same key.
struct AwsGcm {
    sealing: RandomizedNonceKey,
    opening: LessSafeKey,
}

impl Gcm for AwsGcm {
    fn seal(&self, aad: &[u8], buf: &mut [u8]) -> Result<NonceAndTag, SealError> {
        let (nonce, tag) = self
            .sealing
            .seal_in_place_separate_tag(Aad::from(aad), buf)
            .map_err(|_| SealError)?;
        Ok((
            *nonce.as_ref(),
            tag.as_ref().try_into().map_err(|_| SealError)?,
        ))
    }

    fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        buf: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), OpenError> {
        self.opening
            .open_in_place_separate_tag(Nonce::from(nonce), Aad::from(aad), tag, buf)
            .map(|_| ())
            .map_err(|_| OpenError)
    }
}

struct AwsCtr(EncryptingKey);

impl Ctr for AwsCtr {
    fn apply(&self, counter_block: &[u8; 16], buf: &mut [u8]) {
        let context = EncryptionContext::Iv128(FixedLength::from(counter_block));
        self.0
            .less_safe_encrypt(buf, context)
            .expect("CTR takes any length");
    }
}

impl Ciphers for AwsLc {
    fn gcm(&self, key: &[u8; 32]) -> Box<dyn Gcm> {
        let sealing =
            RandomizedNonceKey::new(&AES_256_GCM, key).expect("the key has the cipher's length");
        let opening = UnboundKey::new(&AES_256_GCM, key).expect("the key has the cipher's length");
        Box::new(AwsGcm {
            sealing,
            opening: LessSafeKey::new(opening),
        })
    }

    fn ctr(&self, key: &[u8; 32]) -> Box<dyn Ctr> {
        let key = UnboundCipherKey::new(&AES_256, key).expect("the key has the cipher's length");
        Box::new(AwsCtr(
            EncryptingKey::ctr(key).expect("AES-256 has a CTR mode"),
        ))
    }
}

impl KeyWrap for AwsLc {
    fn wrap(&self, kek: &[u8; 32], key: &[u8; 32]) -> [u8; 40] {
        let mut wrapped = [0; 40];
        let kek = AesKek::new(&AES_256_KEK, kek).expect("the key has the cipher's length");
        kek.wrap(key, &mut wrapped)
            .expect("32 bytes can be wrapped");
        wrapped
    }

    fn unwrap(
        &self,
        kek: &[u8; 32],
        wrapped: &[u8; 40],
        key: &mut [u8; 32],
    ) -> Result<(), UnwrapError> {
        let kek = AesKek::new(&AES_256_KEK, kek).map_err(|_| UnwrapError)?;
        kek.unwrap(wrapped, key)
            .map(|_| ())
            .map_err(|_| UnwrapError)
    }
}

impl Derive for AwsLc {
    fn kbkdf(&self, key: &[u8], fixed_info: &[u8], out: &mut [u8]) {
        let algorithm = get_kbkdf_ctr_hmac_algorithm(KbkdfCtrHmacAlgorithmId::Sha256)
            .expect("KBKDF with SHA-256 is built in");
        kbkdf_ctr_hmac(algorithm, key, fixed_info, out).expect("key and output are not empty");
    }

    fn pbkdf2_sha512(&self, pass: &[u8], salt: &[u8], iterations: NonZeroU32, out: &mut [u8]) {
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA512, iterations, salt, pass, out);
    }

    fn pbkdf2_sha256(&self, pass: &[u8], salt: &[u8], iterations: NonZeroU32, out: &mut [u8]) {
        pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, iterations, salt, pass, out);
    }
}

impl Digests for AwsLc {
    fn sha256(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut context = digest::Context::new(&digest::SHA256);
        for part in parts {
            context.update(part);
        }
        to_32(context.finish().as_ref())
    }

    fn hmac_sha256(&self, key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&hmac::Key::new(hmac::HMAC_SHA256, key));
        for part in parts {
            context.update(part);
        }
        to_32(context.sign().as_ref())
    }
}

impl Random for AwsLc {
    fn fill(&self, buf: &mut [u8]) -> Result<(), RandomError> {
        rand::fill(buf).map_err(|_| RandomError)
    }
}

fn to_32(bytes: &[u8]) -> [u8; 32] {
    bytes.try_into().expect("SHA-256 gives 32 bytes")
}
