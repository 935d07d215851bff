//! Parts from the RustCrypto crates: pure Rust, for platforms without aws-lc and as a second opinion in tests.
//!
//! The crates pick AES instructions at run time where the processor has them. Nonces and keys come from the
//! operating system. Ciphers spread their round keys out on the stack for each call, and leave them there: that is
//! overwritten.

use std::num::NonZeroU32;

use aes::Aes256;
use aes_gcm::aead::AeadInOut;
use aes_gcm::{Aes256Gcm, KeyInit};
use aes_kw::KwAes256;
use ctr::cipher::{InnerIvInit, StreamCipher, StreamCipherCoreWrapper};
use ctr::{CtrCore, flavors};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256, Sha512};

use crate::dead_stack;
use crate::parts::{Ciphers, Ctr, Derive, Digests, Gcm, KeyWrap, NonceAndTag, Random};
use crate::{OpenError, RandomError, SealError, UnwrapError};

/// Every part of the portable provider.
pub(crate) struct Portable;

struct PortableGcm(Aes256Gcm);

impl Gcm for PortableGcm {
    fn seal(&self, aad: &[u8], buf: &mut [u8]) -> Result<NonceAndTag, SealError> {
        let mut nonce = [0; 12];
        getrandom::fill(&mut nonce).map_err(|_| SealError)?;
        let tag = self
            .0
            .encrypt_inout_detached(&nonce.into(), aad, buf.into());
        dead_stack::wipe();
        Ok((nonce, tag.map_err(|_| SealError)?.into()))
    }

    fn open(
        &self,
        nonce: &[u8; 12],
        aad: &[u8],
        buf: &mut [u8],
        tag: &[u8; 16],
    ) -> Result<(), OpenError> {
        let opened = self
            .0
            .decrypt_inout_detached(nonce.into(), aad, buf.into(), tag.into());
        dead_stack::wipe();
        opened.map_err(|_| OpenError)
    }
}

struct PortableCtr(Aes256);

impl Ctr for PortableCtr {
    fn apply(&self, counter_block: &[u8; 16], buf: &mut [u8]) {
        let core =
            CtrCore::<&Aes256, flavors::Ctr128BE>::inner_iv_init(&self.0, counter_block.into());
        StreamCipherCoreWrapper::from_core(core).apply_keystream(buf);
        dead_stack::wipe();
    }
}

impl Ciphers for Portable {
    fn gcm(&self, key: &[u8; 32]) -> Box<dyn Gcm> {
        Box::new(PortableGcm(Aes256Gcm::new(key.into())))
    }

    fn ctr(&self, key: &[u8; 32]) -> Box<dyn Ctr> {
        Box::new(PortableCtr(Aes256::new(key.into())))
    }
}

impl KeyWrap for Portable {
    fn wrap(&self, kek: &[u8; 32], key: &[u8; 32]) -> [u8; 40] {
        let mut wrapped = [0; 40];
        KwAes256::new(kek.into())
            .wrap_key(key, &mut wrapped)
            .expect("32 bytes can be wrapped");
        wrapped
    }

    fn unwrap(
        &self,
        kek: &[u8; 32],
        wrapped: &[u8; 40],
        key: &mut [u8; 32],
    ) -> Result<(), UnwrapError> {
        KwAes256::new(kek.into())
            .unwrap_key(wrapped, key)
            .map(|_| ())
            .map_err(|_| UnwrapError)
    }
}

impl Derive for Portable {
    fn kbkdf(&self, key: &[u8], fixed_info: &[u8], out: &mut [u8]) {
        for (counter, chunk) in (1u32..).zip(out.chunks_mut(32)) {
            let block = self.hmac_sha256(key, &[&counter.to_be_bytes(), fixed_info]);
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
    }

    fn pbkdf2_sha512(&self, pass: &[u8], salt: &[u8], iterations: NonZeroU32, out: &mut [u8]) {
        pbkdf2::pbkdf2_hmac::<Sha512>(pass, salt, iterations.get(), out);
    }

    fn pbkdf2_sha256(&self, pass: &[u8], salt: &[u8], iterations: NonZeroU32, out: &mut [u8]) {
        pbkdf2::pbkdf2_hmac::<Sha256>(pass, salt, iterations.get(), out);
    }
}

impl Digests for Portable {
    fn sha256(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
        }
        hash.finalize().into()
    }

    fn hmac_sha256(&self, key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
        let mut mac =
            <Hmac<Sha256> as KeyInit>::new_from_slice(key).expect("HMAC takes any key length");
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl Random for Portable {
    fn fill(&self, buf: &mut [u8]) -> Result<(), RandomError> {
        getrandom::fill(buf).map_err(|_| RandomError)
    }
}
