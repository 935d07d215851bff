//! A recovery key: a raw key as it is printed on paper and typed from it. FORMAT.md, "Recovery key".
//!
//! 32 bytes and the first 14 bits of SHA-256("HUSH1 recovery" || key) are 270 bits: nine groups of six characters in Crockford's base32,
//! each with a check character behind it, `g + sum of a^i d_i` in GF(32) of x^5 + x^2 + 1, where g is the group's number from 0, i the
//! character's from 1 and a = 2. It finds each wrong character and each exchange within a group, and says in which; the 14
//! bits find the rest but for 1 in 16,384.

use hushdb_crypto::{CryptoProvider, SecretBytes, SecretKey};
use zeroize::Zeroizing;

use crate::KeyError;

const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const GROUPS: usize = 9;
/// Characters of a group that carry the key; one more checks them.
const DIGITS: usize = 6;
const CHECK_BITS: usize = 14;
const LABEL: &[u8] = b"HUSH1 recovery";

const _: () = assert!(GROUPS * DIGITS * 5 == 256 + CHECK_BITS);

/// A key as it is printed: nine groups with hyphens between them.
pub fn recovery_text(crypto: &CryptoProvider, key: &SecretKey) -> SecretBytes {
    let bits = with_check(crypto, key);
    let mut text = Zeroizing::new(Vec::with_capacity(GROUPS * (DIGITS + 2)));
    for group in 0..GROUPS {
        if group > 0 {
            text.push(b'-');
        }
        let digits: Zeroizing<[u8; DIGITS]> =
            Zeroizing::new(std::array::from_fn(|at| digit(&bits, group * DIGITS + at)));
        text.extend(digits.iter().map(|digit| ALPHABET[usize::from(*digit)]));
        text.push(ALPHABET[usize::from(check_digit(group, &digits[..]))]);
    }
    let text = std::str::from_utf8(&text).unwrap_or_default();
    SecretBytes::from(text)
}

/// Reads what was typed. Case and hyphens do not count, nor do spaces; I and L are 1, O is 0.
///
/// # Errors
/// [`KeyError::Malformed`] for too many or too few characters or one that is none, [`KeyError::RecoveryGroup`] for a mistyped group.
pub(crate) fn parse_recovery_text(text: &str) -> Result<SecretKey, KeyError> {
    let expected = KeyError::Malformed {
        expected: "recovery: is followed by nine groups of seven letters and digits",
    };
    let mut digits = Zeroizing::new(Vec::with_capacity(GROUPS * (DIGITS + 1)));
    for character in text.chars().filter(|c| !"- \t".contains(*c)) {
        if digits.len() == digits.capacity() {
            return Err(expected);
        }
        digits.push(value(character).ok_or(expected.clone())?);
    }
    if digits.len() != GROUPS * (DIGITS + 1) {
        return Err(expected);
    }
    let mut bits = Zeroizing::new([0; 34]);
    for (group, digits) in digits.chunks(DIGITS + 1).enumerate() {
        let (digits, check) = digits.split_at(DIGITS);
        if check != [check_digit(group, digits)] {
            return Err(KeyError::RecoveryGroup { group: group + 1 });
        }
        for (at, digit) in digits.iter().enumerate() {
            put_digit(&mut bits, group * DIGITS + at, *digit);
        }
    }
    let key = SecretKey::from_slice(&bits[..32]).ok_or(expected)?;
    match *with_check(&CryptoProvider::aws_lc(), &key) == *bits {
        true => Ok(key),
        false => Err(KeyError::Malformed {
            expected: "the recovery key's groups each read well and do not belong together: compare all of them",
        }),
    }
}

/// The key and its 14 bits, then two zeros.
fn with_check(crypto: &CryptoProvider, key: &SecretKey) -> Zeroizing<[u8; 34]> {
    let hash = Zeroizing::new(crypto.sha256(&[LABEL, key.expose()]));
    let mut bits = Zeroizing::new([0; 34]);
    bits[..32].copy_from_slice(key.expose());
    bits[32] = hash[0];
    bits[33] = hash[1] & 0xfc;
    bits
}

/// The five bits of a digit.
fn digit(bits: &[u8; 34], at: usize) -> u8 {
    (0..5).fold(0, |digit, bit| {
        let at = at * 5 + bit;
        digit << 1 | bits[at / 8] >> (7 - at % 8) & 1
    })
}

fn put_digit(bits: &mut [u8; 34], at: usize, digit: u8) {
    for bit in 0..5 {
        let at = at * 5 + bit;
        bits[at / 8] |= (digit >> (4 - bit) & 1) << (7 - at % 8);
    }
}

fn check_digit(group: usize, digits: &[u8]) -> u8 {
    let mut weight = 1;
    digits.iter().fold(group as u8, |sum, digit| {
        weight = doubled(weight);
        sum ^ product(weight, *digit)
    })
}

/// Times x, modulo x^5 + x^2 + 1.
fn doubled(value: u8) -> u8 {
    let shifted = value << 1;
    if shifted & 32 == 0 {
        shifted
    } else {
        shifted ^ 0b10_0101
    }
}

fn product(a: u8, b: u8) -> u8 {
    let mut shifted = a;
    (0..5).fold(0, |sum, bit| {
        let term = if b >> bit & 1 == 1 { shifted } else { 0 };
        shifted = doubled(shifted);
        sum ^ term
    })
}

fn value(character: char) -> Option<u8> {
    let upper = match character.to_ascii_uppercase() {
        'I' | 'L' => '1',
        'O' => '0',
        other => other,
    };
    let at = ALPHABET
        .iter()
        .position(|letter| char::from(*letter) == upper)?;
    u8::try_from(at).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By an implementation that shares no code with this one.
    const KNOWN: &str = "000G40S-R40M30C-E20918D-5GR38E6-1W81244-GK2GAH7-C5RR34F-D1P70XB-3RFNBR8";

    fn key() -> SecretKey {
        SecretKey::from_bytes(std::array::from_fn(|at| at as u8))
    }

    #[test]
    fn the_known_key_is_written_and_read_as_people_type() {
        for crypto in CryptoProvider::all() {
            assert_eq!(recovery_text(&crypto, &key()).expose(), KNOWN.as_bytes());
        }
        let typed = KNOWN
            .to_lowercase()
            .replace('-', " ")
            .replace('1', "l")
            .replace('0', "o");
        for text in [
            KNOWN,
            &KNOWN.replace('-', ""),
            &typed,
            &KNOWN.replace('1', "i"),
        ] {
            assert_eq!(parse_recovery_text(text), Ok(key()), "{text}");
        }
    }

    #[test]
    fn each_wrong_character_and_exchange_is_found_in_its_group() {
        let plain: Vec<u8> = KNOWN.replace('-', "").into_bytes();
        let parse = |text: &[u8]| parse_recovery_text(std::str::from_utf8(text).unwrap());
        for at in 0..plain.len() {
            let group = at / 7 + 1;
            for letter in ALPHABET.iter().filter(|letter| **letter != plain[at]) {
                let mut text = plain.clone();
                text[at] = *letter;
                assert_eq!(parse(&text), Err(KeyError::RecoveryGroup { group }));
            }
            for other in (at + 1..group * 7).filter(|other| plain[*other] != plain[at]) {
                let mut text = plain.clone();
                text.swap(at, other);
                assert_eq!(
                    parse(&text),
                    Err(KeyError::RecoveryGroup { group }),
                    "{at} {other}"
                );
            }
        }
    }

    #[test]
    fn exchanged_groups_and_other_lengths_are_found() {
        let groups: Vec<&str> = KNOWN.split('-').collect();
        for at in 0..8 {
            let mut exchanged = groups.clone();
            exchanged.swap(at, at + 1);
            let error = parse_recovery_text(&exchanged.join("-")).unwrap_err();
            assert_eq!(error, KeyError::RecoveryGroup { group: at + 1 });
        }
        for text in [
            "",
            &KNOWN[1..],
            &format!("{KNOWN}0"),
            &KNOWN.replace('G', "U"),
            &KNOWN.replace('G', "é"),
            &"0".repeat(10_000),
        ] {
            let refused = parse_recovery_text(text);
            assert!(matches!(refused, Err(KeyError::Malformed { .. })), "{text}");
        }
    }
}
