//! The operations of KMIP that a key takes: Locate, Get Attributes, Get, Encrypt, Decrypt. KMIP Specification 1.4, section 4.

use zeroize::Zeroizing;

use super::ttlv::{Item, Value, Writer};

const REQUEST_MESSAGE: u32 = 0x42_0078;
const REQUEST_HEADER: u32 = 0x42_0077;
const REQUEST_PAYLOAD: u32 = 0x42_0079;
pub(super) const RESPONSE_MESSAGE: u32 = 0x42_007B;
const RESPONSE_PAYLOAD: u32 = 0x42_007C;
const PROTOCOL_VERSION: u32 = 0x42_0069;
const PROTOCOL_MAJOR: u32 = 0x42_006A;
const PROTOCOL_MINOR: u32 = 0x42_006B;
const BATCH_COUNT: u32 = 0x42_000D;
const BATCH_ITEM: u32 = 0x42_000F;
const OPERATION: u32 = 0x42_005C;
const RESULT_STATUS: u32 = 0x42_007F;
const RESULT_REASON: u32 = 0x42_007E;
const UNIQUE_IDENTIFIER: u32 = 0x42_0094;
const ATTRIBUTE: u32 = 0x42_0008;
const ATTRIBUTES: u32 = 0x42_0125;
const ATTRIBUTE_REFERENCE: u32 = 0x42_013B;
const NAME: u32 = 0x42_0053;
const STATE: u32 = 0x42_008D;
const ATTRIBUTE_NAME: u32 = 0x42_000A;
const ATTRIBUTE_VALUE: u32 = 0x42_000B;
const NAME_VALUE: u32 = 0x42_0055;
const NAME_TYPE: u32 = 0x42_0054;
const KEY_FORMAT_TYPE: u32 = 0x42_0042;
const SYMMETRIC_KEY: u32 = 0x42_008F;
const KEY_BLOCK: u32 = 0x42_0040;
const KEY_VALUE: u32 = 0x42_0045;
const KEY_MATERIAL: u32 = 0x42_0043;
const CRYPTOGRAPHIC_PARAMETERS: u32 = 0x42_002B;
const BLOCK_CIPHER_MODE: u32 = 0x42_0011;
const CRYPTOGRAPHIC_ALGORITHM: u32 = 0x42_0028;
const TAG_LENGTH: u32 = 0x42_00CE;
const DATA: u32 = 0x42_00C2;
const IV: u32 = 0x42_003D;
const ADDITIONAL_DATA: u32 = 0x42_00FE;
const TAG: u32 = 0x42_00FF;

const OPERATION_FAILED: u32 = 1;
const GCM: u32 = 9;
const AES: u32 = 3;
const RAW: u32 = 1;
const UNINTERPRETED_TEXT: u32 = 1;
pub(super) const TAG_LEN: usize = 16;

/// Reasons by which a server says that it does not speak a version, or has not understood the message: Invalid Message, Unsupported Protocol
/// Version.
pub(super) const NOT_UNDERSTOOD: [u32; 2] = [0x04, 0x3F];
/// Reasons of a failed operation: KMIP Specification 1.4, section 9.1.3.2.29, and 2.0, section 11.48.
pub(super) const AUTHENTICATION_NOT_SUCCESSFUL: u32 = 0x03;
/// Those that say something of the key, or of what is asked to be opened by it: not found, cryptographic failure, illegal operation,
/// permission denied, archived; no value, sensitive, not extractable, used up; of another type or use; destroyed, not found, not
/// authorised; what wraps it archived, destroyed or not found; of another state. General Failure (0x100) is none.
pub(super) const WORDS_ON_THE_KEY: [u32; 18] = [
    0x01, 0x0A, 0x0B, 0x0C, 0x0D, 0x13, 0x16, 0x17, 0x1A, 0x28, 0x29, 0x36, 0x37, 0x39, 0x40, 0x41,
    0x42, 0x43,
];

/// How requests are written: version 2.0 says attributes otherwise than those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// An operation and what it asks for.
pub(super) enum Operation<'a> {
    /// The ids of what has a name.
    Locate { name: &'a str },
    /// The state of a key.
    State { id: &'a str },
    /// A key's bytes.
    Get { id: &'a str },
    Encrypt {
        id: &'a str,
        data: &'a [u8],
        iv: &'a [u8],
        bound: &'a [u8],
    },
    Decrypt {
        id: &'a str,
        data: &'a [u8],
        iv: &'a [u8],
        tag: &'a [u8],
        bound: &'a [u8],
    },
}

impl Operation<'_> {
    fn code(&self) -> u32 {
        match self {
            Self::Locate { .. } => 0x08,
            Self::Get { .. } => 0x0A,
            Self::State { .. } => 0x0B,
            Self::Encrypt { .. } => 0x1F,
            Self::Decrypt { .. } => 0x20,
        }
    }

    /// The version that has what is asked: additional data came with 1.4.
    fn version(&self, version: Version) -> (i32, i32) {
        match (version, self) {
            (Version::Two, _) => (2, 0),
            (Version::One, Self::Encrypt { .. } | Self::Decrypt { .. }) => (1, 4),
            (Version::One, _) => (1, 2),
        }
    }

    /// The request's bytes.
    pub(super) fn request(&self, version: Version) -> Zeroizing<Vec<u8>> {
        let (major, minor) = self.version(version);
        let mut message = Writer::new();
        message.structure(REQUEST_MESSAGE, |message| {
            message.structure(REQUEST_HEADER, |header| {
                header.structure(PROTOCOL_VERSION, |version| {
                    version.integer(PROTOCOL_MAJOR, major);
                    version.integer(PROTOCOL_MINOR, minor);
                });
                header.integer(BATCH_COUNT, 1);
            });
            message.structure(BATCH_ITEM, |item| {
                item.enumeration(OPERATION, self.code());
                item.structure(REQUEST_PAYLOAD, |payload| self.payload(version, payload));
            });
        });
        message.finish()
    }

    fn payload(&self, version: Version, payload: &mut Writer) {
        let is_two = version == Version::Two;
        match *self {
            Self::Locate { name } => {
                let value = |value: &mut Writer| {
                    value.text(NAME_VALUE, name);
                    value.enumeration(NAME_TYPE, UNINTERPRETED_TEXT);
                };
                if is_two {
                    payload.structure(ATTRIBUTES, |attributes| {
                        attributes.structure(NAME, value);
                    });
                    return;
                }
                payload.structure(ATTRIBUTE, |attribute| {
                    attribute.text(ATTRIBUTE_NAME, "Name");
                    attribute.structure(ATTRIBUTE_VALUE, value);
                });
            }
            Self::State { id } => {
                payload.text(UNIQUE_IDENTIFIER, id);
                match is_two {
                    true => payload.enumeration(ATTRIBUTE_REFERENCE, STATE),
                    false => payload.text(ATTRIBUTE_NAME, "State"),
                };
            }
            Self::Get { id } => {
                payload.text(UNIQUE_IDENTIFIER, id);
                payload.enumeration(KEY_FORMAT_TYPE, RAW);
            }
            Self::Encrypt {
                id,
                data,
                iv,
                bound,
            } => {
                payload.text(UNIQUE_IDENTIFIER, id);
                gcm(payload);
                payload.bytes(DATA, data).bytes(IV, iv);
                payload.bytes(ADDITIONAL_DATA, bound);
            }
            Self::Decrypt {
                id,
                data,
                iv,
                tag,
                bound,
            } => {
                payload.text(UNIQUE_IDENTIFIER, id);
                gcm(payload);
                payload.bytes(DATA, data).bytes(IV, iv);
                payload.bytes(ADDITIONAL_DATA, bound).bytes(TAG, tag);
            }
        }
    }

    /// What the server says to it.
    pub(super) fn answer(&self, message: &[u8]) -> Answered {
        let Some(message) = Item::parse(message).filter(|it| it.is(RESPONSE_MESSAGE)) else {
            return Answered::Unlike;
        };
        match message.enumeration(&[BATCH_ITEM, RESULT_STATUS]) {
            Some(0) => match message.at(&[BATCH_ITEM, OPERATION]) {
                Some(_) => Answered::Done(Payload(message)),
                None => Answered::Unlike,
            },
            Some(OPERATION_FAILED) => {
                Answered::Failed(message.enumeration(&[BATCH_ITEM, RESULT_REASON]))
            }
            // Pending is for who said that it may be.
            _ => Answered::Unlike,
        }
    }
}

fn gcm(payload: &mut Writer) {
    payload.structure(CRYPTOGRAPHIC_PARAMETERS, |parameters| {
        parameters
            .enumeration(BLOCK_CIPHER_MODE, GCM)
            .enumeration(CRYPTOGRAPHIC_ALGORITHM, AES)
            .integer(TAG_LENGTH, TAG_LEN as i32);
    });
}

/// What came of an operation.
pub(super) enum Answered {
    Done(Payload),
    /// The server's reason, KMIP Specification 1.4, section 9.1.3.2.29.
    Failed(Option<u32>),
    /// No answer of KMIP.
    Unlike,
}

/// An answer's payload.
pub(super) struct Payload(Item);

impl Payload {
    /// Ids, of Locate.
    pub(super) fn ids(&self) -> Vec<String> {
        let payload = self.0.at(&[BATCH_ITEM, RESPONSE_PAYLOAD]);
        let values = payload.into_iter().flat_map(|it| it.all(UNIQUE_IDENTIFIER));
        let texts = values.filter_map(|value| match value {
            Value::Text(id) => Some(id.clone()),
            _ => None,
        });
        texts.collect()
    }

    /// The state, of Get Attributes: 2 is active.
    pub(super) fn state(&self) -> Option<u32> {
        let of_two = [BATCH_ITEM, RESPONSE_PAYLOAD, ATTRIBUTES, STATE];
        if let Some(state) = self.0.enumeration(&of_two) {
            return Some(state);
        }
        let at = [BATCH_ITEM, RESPONSE_PAYLOAD, ATTRIBUTE];
        let name = self.0.text(&[at[0], at[1], at[2], ATTRIBUTE_NAME])?;
        let state = self.0.enumeration(&[at[0], at[1], at[2], ATTRIBUTE_VALUE]);
        state.filter(|_| name == "State")
    }

    /// The key's bytes, of Get.
    pub(super) fn key(&self) -> Option<&[u8]> {
        let path = [SYMMETRIC_KEY, KEY_BLOCK, KEY_VALUE, KEY_MATERIAL];
        let path = [&[BATCH_ITEM, RESPONSE_PAYLOAD], &path[..]].concat();
        self.0.bytes(&path)
    }

    /// Ciphertext or plaintext.
    pub(super) fn data(&self) -> Option<&[u8]> {
        self.bytes(DATA)
    }

    /// The nonce, if the server says which it took.
    pub(super) fn iv(&self) -> Option<&[u8]> {
        self.bytes(IV)
    }

    /// The tag, of Encrypt.
    pub(super) fn tag(&self) -> Option<&[u8]> {
        self.bytes(TAG)
    }

    fn bytes(&self, tag: u32) -> Option<&[u8]> {
        self.0.bytes(&[BATCH_ITEM, RESPONSE_PAYLOAD, tag])
    }
}

/// Reads whatever came, for fuzz targets.
pub(super) fn read_any(bytes: &[u8]) {
    let operation = Operation::Locate { name: "" };
    if let Answered::Done(payload) = operation.answer(bytes) {
        let _ = (payload.ids(), payload.state(), payload.key());
        let _ = (payload.data(), payload.iv(), payload.tag());
    }
}
