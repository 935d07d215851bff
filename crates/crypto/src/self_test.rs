//! One known answer for each part, asked when a program starts.
//!
//! The answers were computed with other implementations (OpenSSL through Python's `cryptography`, `hashlib`, and
//! argon2-cffi). A part must also refuse: a changed tag must not open, a changed wrapping must not unwrap.

use std::num::NonZeroU32;

use crate::{Argon2Params, CryptoProvider, KdfLabel, SecretKey, SelfTestError};

const KEY: [u8; 32] = hex("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
const NONCE: [u8; 12] = hex("000102030405060708090a0b");
const TEXT: &[u8; 14] = b"hush self-test";
const LONG_TEXT: &[u8; 32] = b"hush self-test, two blocks of it";
const SALT: &[u8; 16] = b"self-test salt!!";

const GCM: [u8; 14] = hex("2f77a573e596a777eb6ce3eec29d");
const GCM_TAG: [u8; 16] = hex("1fc970106be41b9a70bb79827630825d");
const CTR: [u8; 32] = hex("d5a93fa2912303a0a7d31f69c967129680b5b43da1e46ac010e137733b2ae8b8");
const WRAPPED: [u8; 40] =
    hex("ecbaa0e864dcde2e707d0dccbf6b3ca600e6d294ead8cd5991f8ab1f904ed8996fddb06fbbcbd702");
const HMAC: [u8; 32] = hex("51cd9630c150de9eafb404ffecd3aa3eef02d0d4a0fc082f38ebe805c5ee4ce1");
const SHA256: [u8; 32] = hex("aa1335027dacd39f42f93b8f03aa36d9ebca303205cd62be93021e9924992e47");
const KBKDF: [u8; 32] = hex("df40f66275c2f842edfe89c394e5f11ceb2328fbd714fd541f0d5987baa88da7");
const PBKDF2: [u8; 32] = hex("7febb3f8fcec5a19faa406545edd87e059d80b581ea392c323f74baa137be357");
const PBKDF2_SHA256: [u8; 32] =
    hex("d618d27a6a57ddc4a2d662f248b1b81d22ef5db718c2466c89d64a0793ca9386");
const ARGON2ID: [u8; 32] = hex("cb483dd9946c3bc97c25aecdd762767692d683d0dee2b42b0aafa47a4a5bec46");

type Test = fn(&CryptoProvider) -> bool;

pub(crate) fn run(provider: &CryptoProvider) -> Result<(), SelfTestError> {
    let tests: [(&'static str, Test); 10] = [
        ("AES-256-GCM", gcm),
        ("AES-256-CTR", ctr),
        ("AES-256-KW", key_wrap),
        ("HMAC-SHA-256", |p| {
            p.hmac_sha256(&key(), &[&TEXT[..4], &TEXT[4..]]) == HMAC
        }),
        ("SHA-256", |p| p.sha256(&[&TEXT[..4], &TEXT[4..]]) == SHA256),
        ("KBKDF", |p| {
            *p.kbkdf(&key(), KdfLabel::Block, b"context").expose() == KBKDF
        }),
        ("PBKDF2", |p| {
            *p.pbkdf2_hmac_sha512(b"hush", SALT, NonZeroU32::MIN.saturating_add(1))
                .expose()
                == PBKDF2
        }),
        ("PBKDF2 of SCRAM", |p| {
            *p.pbkdf2_hmac_sha256(b"hush", SALT, NonZeroU32::MIN.saturating_add(1))
                .expose()
                == PBKDF2_SHA256
        }),
        ("Argon2id", argon2id),
        ("random generator", random),
    ];
    for (part, test) in tests {
        if !test(provider) {
            return Err(SelfTestError {
                provider: provider.name(),
                part,
            });
        }
    }
    Ok(())
}

fn key() -> SecretKey {
    SecretKey::from_bytes(KEY)
}

fn gcm(provider: &CryptoProvider) -> bool {
    let key = provider.gcm_key(&key());
    let mut wrong_tag = GCM_TAG;
    wrong_tag[15] ^= 1;
    let (mut known, mut changed, mut fresh) = (GCM, GCM, *TEXT);
    let opens = key
        .open_in_place(&NONCE, b"aad", &mut known, &GCM_TAG)
        .is_ok()
        && known == *TEXT;
    let refuses = key
        .open_in_place(&NONCE, b"aad", &mut changed, &wrong_tag)
        .is_err();
    let Ok((nonce, tag)) = key.seal_in_place(b"aad", &mut fresh) else {
        return false;
    };
    let hides = fresh != *TEXT;
    opens
        && refuses
        && hides
        && key.open_in_place(&nonce, b"aad", &mut fresh, &tag).is_ok()
        && fresh == *TEXT
}

fn ctr(provider: &CryptoProvider) -> bool {
    let mut text = *LONG_TEXT;
    provider.ctr_key(&key()).apply(&NONCE, &mut text);
    text == CTR
}

fn key_wrap(provider: &CryptoProvider) -> bool {
    let wrapped_key = SecretKey::from_bytes([0x5a; 32]);
    let mut changed = WRAPPED;
    changed[39] ^= 1;
    provider.wrap_key(&key(), &wrapped_key) == WRAPPED
        && provider
            .unwrap_key(&key(), &WRAPPED)
            .is_ok_and(|key| key == wrapped_key)
        && provider.unwrap_key(&key(), &changed).is_err()
}

fn argon2id(provider: &CryptoProvider) -> bool {
    let params = Argon2Params {
        m_kib: 8,
        t: 1,
        p: 1,
    };
    provider
        .argon2id(b"hush", SALT, params)
        .is_ok_and(|key| *key.expose() == ARGON2ID)
}

/// Two draws of 256 bits are equal only if the generator is stuck.
fn random(provider: &CryptoProvider) -> bool {
    let (mut a, mut b) = ([0; 32], [0; 32]);
    provider.random(&mut a).is_ok() && provider.random(&mut b).is_ok() && a != b && a != [0; 32]
}

/// Hex digits to bytes at compile time.
const fn hex<const N: usize>(digits: &str) -> [u8; N] {
    const fn nibble(digit: u8) -> u8 {
        match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => panic!("not a hex digit"),
        }
    }
    let digits = digits.as_bytes();
    assert!(digits.len() == 2 * N);
    let mut bytes = [0; N];
    let mut i = 0;
    while i < N {
        bytes[i] = nibble(digits[2 * i]) << 4 | nibble(digits[2 * i + 1]);
        i += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::{Ciphers, Ctr, Derive, Digests, Gcm, KeyWrap, NonceAndTag, Random};
    use crate::{OpenError, RandomError, SealError, UnwrapError};

    #[test]
    fn every_provider_passes() {
        for provider in CryptoProvider::all() {
            assert_eq!(provider.self_test(), Ok(()), "{provider:?}");
        }
    }

    /// Parts that do no work and refuse nothing.
    struct Broken;

    impl Gcm for Broken {
        fn seal(&self, _: &[u8], _: &mut [u8]) -> Result<NonceAndTag, SealError> {
            Ok(([0; 12], [0; 16]))
        }
        fn open(
            &self,
            _: &[u8; 12],
            _: &[u8],
            _: &mut [u8],
            _: &[u8; 16],
        ) -> Result<(), OpenError> {
            Ok(())
        }
    }
    impl Ctr for Broken {
        fn apply(&self, _: &[u8; 16], _: &mut [u8]) {}
    }
    impl Ciphers for Broken {
        fn gcm(&self, _: &[u8; 32]) -> Box<dyn Gcm> {
            Box::new(Self)
        }
        fn ctr(&self, _: &[u8; 32]) -> Box<dyn Ctr> {
            Box::new(Self)
        }
    }
    impl KeyWrap for Broken {
        fn wrap(&self, _: &[u8; 32], _: &[u8; 32]) -> [u8; 40] {
            WRAPPED
        }
        fn unwrap(
            &self,
            _: &[u8; 32],
            _: &[u8; 40],
            key: &mut [u8; 32],
        ) -> Result<(), UnwrapError> {
            *key = [0x5a; 32];
            Ok(())
        }
    }
    impl Derive for Broken {
        fn kbkdf(&self, _: &[u8], _: &[u8], _: &mut [u8]) {}
        fn pbkdf2_sha512(&self, _: &[u8], _: &[u8], _: NonZeroU32, _: &mut [u8]) {}
        fn pbkdf2_sha256(&self, _: &[u8], _: &[u8], _: NonZeroU32, _: &mut [u8]) {}
    }
    impl Digests for Broken {
        fn sha256(&self, _: &[&[u8]]) -> [u8; 32] {
            [0; 32]
        }
        fn hmac_sha256(&self, _: &[u8], _: &[&[u8]]) -> [u8; 32] {
            [0; 32]
        }
    }
    impl Random for Broken {
        fn fill(&self, buf: &mut [u8]) -> Result<(), RandomError> {
            buf.fill(4);
            Ok(())
        }
    }

    #[test]
    fn a_broken_part_is_named() {
        let good = CryptoProvider::aws_lc();
        for (broken, part) in [
            (
                CryptoProvider {
                    ciphers: &Broken,
                    ..good
                },
                "AES-256-GCM",
            ),
            (
                CryptoProvider {
                    key_wrap: &Broken,
                    ..good
                },
                "AES-256-KW",
            ),
            (
                CryptoProvider {
                    digests: &Broken,
                    ..good
                },
                "HMAC-SHA-256",
            ),
            (
                CryptoProvider {
                    derive: &Broken,
                    ..good
                },
                "KBKDF",
            ),
            (
                CryptoProvider {
                    random: &Broken,
                    ..good
                },
                "random generator",
            ),
        ] {
            assert_eq!(broken.self_test().map_err(|e| e.part), Err(part));
        }
        assert!(!ctr(&CryptoProvider {
            ciphers: &Broken,
            ..good
        }));
    }
}
