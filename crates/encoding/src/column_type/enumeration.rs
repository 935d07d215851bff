//! `EnumType`: the texts that an ENUM's values are, in their order.
//!
//! What must hold: no text is there twice, and there are as many as a code of two bytes tells apart. In memory a value is a struct of its
//! code, whose only field is named by all of the texts: two ENUMs have one Arrow type exactly if they list the same. No user's
//! field has a name that begins with [`MARK`].
//! Refuses: on reading, texts that are there twice, and more of them than there may be.

use std::collections::HashSet;
use std::sync::Arc;

use arrow_schema::{DataType, Fields};

use super::ColumnType;
use crate::wire::{Reader, WireError, Writer};

/// What the name of the field of codes begins with.
const MARK: &str = "\u{1}ENUM(";

/// The texts of an ENUM.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EnumType {
    values: Arc<[String]>,
    /// The field of codes.
    parts: Arc<[(String, ColumnType)]>,
}

impl EnumType {
    /// The most values that an ENUM has.
    pub const MAX_VALUES: usize = u16::MAX as usize;
    /// The most bytes that its texts have together.
    pub const MAX_BYTES: usize = 1 << 20;

    /// An ENUM of these texts; `None` if there are too many, or one is there twice.
    pub fn new(values: Vec<String>) -> Option<Self> {
        let bytes = values.iter().map(String::len).sum::<usize>();
        let distinct: HashSet<&String> = values.iter().collect();
        if distinct.len() < values.len()
            || values.len() > Self::MAX_VALUES
            || bytes > Self::MAX_BYTES
        {
            return None;
        }
        let code = match values.len() {
            0..=255 => ColumnType::UInt8,
            _ => ColumnType::UInt16,
        };
        let name = format!("\u{1}{}", name_of(&values));
        Some(Self {
            values: values.into(),
            parts: Arc::new([(name, code)]),
        })
    }

    /// The ENUM whose values are structs of these fields, if they are.
    pub fn of_fields(fields: &Fields) -> Option<Self> {
        let [field] = fields.iter().as_slice() else {
            return None;
        };
        let is_code = matches!(field.data_type(), DataType::UInt8 | DataType::UInt16);
        let listed = field.name().strip_prefix(MARK).filter(|_| is_code)?;
        let found = Self::new(listed_texts(listed.strip_suffix(')')?)?)?;
        // A struct of another width of code is none.
        let [(_, code)] = found.parts() else {
            return None;
        };
        (&code.arrow() == field.data_type()).then_some(found)
    }

    /// The texts, in their order.
    pub fn values(&self) -> &[String] {
        &self.values
    }

    /// The code of a text.
    pub fn code(&self, text: &str) -> Option<usize> {
        self.values.iter().position(|value| value == text)
    }

    /// Its name in SQL: `ENUM('a', 'b')`.
    pub fn name(&self) -> String {
        name_of(&self.values)
    }

    /// The field of codes, as that of a struct.
    pub fn parts(&self) -> &[(String, ColumnType)] {
        &self.parts
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.count(self.values.len());
        for value in self.values.iter() {
            out.text(value);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let count = reader.count(4)?;
        if count > Self::MAX_VALUES {
            return Err(WireError);
        }
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(reader.text()?);
        }
        Self::new(values).ok_or(WireError)
    }
}

fn name_of(values: &[String]) -> String {
    let quoted = values
        .iter()
        .map(|v| format!("'{}'", v.replace('\'', "''")));
    format!("ENUM({})", quoted.collect::<Vec<_>>().join(", "))
}

/// The texts of `'a', 'b''c'`.
fn listed_texts(listed: &str) -> Option<Vec<String>> {
    let mut texts = vec![];
    let mut rest = listed;
    while !rest.is_empty() {
        rest = rest.strip_prefix('\'')?;
        let mut text = String::new();
        loop {
            let (before, behind) = rest.split_once('\'')?;
            text.push_str(before);
            rest = behind;
            match rest.strip_prefix('\'') {
                Some(behind) => {
                    text.push('\'');
                    rest = behind;
                }
                None => break,
            }
        }
        texts.push(text);
        if !rest.is_empty() {
            rest = rest.strip_prefix(", ")?;
        }
    }
    Some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[&str]) -> Option<EnumType> {
        EnumType::new(values.iter().map(|v| (*v).to_owned()).collect())
    }

    fn fields(of: &EnumType) -> Fields {
        ColumnType::struct_fields(of.parts())
    }

    #[test]
    fn an_enum_is_known_by_its_arrow_type() {
        let many: Vec<String> = (0..300).map(|n| n.to_string()).collect();
        let many = EnumType::new(many).unwrap();
        let plain = [&[][..], &[""], &["a", "it's", "', '", "b)"], &["a", "b"]];
        for one in plain
            .map(|values| of(values).unwrap())
            .iter()
            .chain([&many])
        {
            assert_eq!(EnumType::of_fields(&fields(one)).as_ref(), Some(one));
        }
        assert_ne!(fields(&of(&["a"]).unwrap()), fields(&of(&["b"]).unwrap()));
        for other in [
            "ENUM('a')",
            "\u{1}ENUM('a'",
            "\u{1}ENUM(a)",
            "\u{1}ENUM('a','b')",
        ] {
            let field = arrow_schema::Field::new(other, DataType::UInt8, true);
            assert_eq!(EnumType::of_fields(&vec![field].into()), None, "{other}");
        }
        let wide = arrow_schema::Field::new("\u{1}ENUM('a')", DataType::UInt16, true);
        assert_eq!(EnumType::of_fields(&vec![wide].into()), None);
    }

    #[test]
    fn texts_come_back_once_each() {
        assert_eq!(of(&["a", "a"]), None);
        let long = "x".repeat(EnumType::MAX_BYTES + 1);
        assert_eq!(of(&[&long]), None);
        let ty = ColumnType::Enum(of(&["sad", "ok"]).unwrap());
        let mut out = Writer::default();
        ty.write(&mut out);
        let bytes = out.into_bytes();
        assert_eq!(ColumnType::read(&mut Reader::new(&bytes)), Ok(ty));
        for len in 0..bytes.len() {
            assert!(ColumnType::read(&mut Reader::new(&bytes[..len])).is_err());
        }
        // How many there are; one of them twice.
        for (at, to) in [(3, &[0xff; 4][..]), (11, b"\x03\0\0\0sad")] {
            let mut edited = bytes.clone();
            edited.splice(at..(at + to.len()).min(edited.len()), to.iter().copied());
            assert!(ColumnType::read(&mut Reader::new(&edited)).is_err(), "{at}");
        }
    }
}
