//! A named expression or query with parameters.
//!
//! What must hold: texts are kept as given; storage does not read them. No two overloads have the same types of parameters in a row, of
//! which those without one are the same.

use hushdb_encoding::wire::{Reader, WireError, Writer};

use crate::ColumnType;
use std::collections::HashSet;

/// A macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macro {
    /// As the user wrote it.
    pub name: String,
    /// By the number and the types of their parameters; at least one.
    pub overloads: Vec<MacroOverload>,
}

/// What a macro is with parameters so many and of such types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroOverload {
    /// In the order in which arguments are given.
    pub parameters: Vec<MacroParameter>,
    /// An expression, or the query of a table macro, over the parameters.
    pub sql: String,
}

/// A parameter of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroParameter {
    /// As the user wrote it.
    pub name: String,
    /// What arguments are cast to; without one, they are taken as they are.
    pub ty: Option<ColumnType>,
    /// An expression; a parameter without one must be given.
    pub default: Option<String>,
}

impl Macro {
    /// The fewest bytes that one takes in a file.
    pub(super) const SMALLEST: usize = 4 + 4 + MacroOverload::SMALLEST;

    /// Whether there is an overload, and no two that cannot be told apart.
    pub fn is_sound(&self) -> bool {
        let types = self.overloads.iter().map(MacroOverload::types);
        let distinct: HashSet<Vec<Option<&ColumnType>>> = types.collect();
        !self.overloads.is_empty() && distinct.len() == self.overloads.len()
    }

    /// Whether a parameter has a type.
    pub fn has_types(&self) -> bool {
        let mut all = self.overloads.iter();
        all.any(|one| one.types().into_iter().any(|ty| ty.is_some()))
    }

    /// Its bytes: with types only where there are any, which earlier releases do not know.
    pub(super) fn write(&self, out: &mut Writer) {
        let typed = self.has_types();
        out.text(&self.name);
        out.count(self.overloads.len());
        for overload in &self.overloads {
            out.count(overload.parameters.len());
            for parameter in &overload.parameters {
                out.text(&parameter.name);
                if typed {
                    out.u8(u8::from(parameter.ty.is_some()));
                    parameter.ty.iter().for_each(|ty| ty.write(out));
                }
                out.optional_text(parameter.default.as_deref());
            }
            out.text(&overload.sql);
        }
    }

    /// One of those with types, or of those without.
    pub(super) fn read(reader: &mut Reader<'_>, typed: bool) -> Result<Self, WireError> {
        let name = reader.text()?;
        let count = reader.count(MacroOverload::SMALLEST)?;
        let mut overloads = Vec::with_capacity(count);
        for _ in 0..count {
            overloads.push(MacroOverload::read(reader, typed)?);
        }
        let read = Self { name, overloads };
        match read.is_sound() && read.has_types() == typed {
            true => Ok(read),
            false => Err(WireError),
        }
    }
}

impl MacroOverload {
    const SMALLEST: usize = 4 + 4;

    /// What tells it from others.
    fn types(&self) -> Vec<Option<&ColumnType>> {
        self.parameters.iter().map(|one| one.ty.as_ref()).collect()
    }

    fn read(reader: &mut Reader<'_>, typed: bool) -> Result<Self, WireError> {
        let count = reader.count(MacroParameter::SMALLEST)?;
        let mut parameters = Vec::with_capacity(count);
        for _ in 0..count {
            parameters.push(MacroParameter::read(reader, typed)?);
        }
        Ok(Self {
            parameters,
            sql: reader.text()?,
        })
    }
}

impl MacroParameter {
    /// The fewest bytes of one.
    const SMALLEST: usize = 4 + 1;

    fn read(reader: &mut Reader<'_>, typed: bool) -> Result<Self, WireError> {
        let name = reader.text()?;
        let ty = match typed && reader.flag()? {
            true => Some(ColumnType::read(reader)?),
            false => None,
        };
        Ok(Self {
            name,
            ty,
            default: reader.optional_text()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Macro {
        let parameter = |name: &str, default: Option<&str>| MacroParameter {
            name: name.into(),
            ty: None,
            default: default.map(str::to_owned),
        };
        Macro {
            name: "f".into(),
            overloads: vec![
                MacroOverload {
                    parameters: vec![parameter("a", None), parameter("b", Some("1"))],
                    sql: "a + b".into(),
                },
                MacroOverload {
                    parameters: vec![],
                    sql: "42".into(),
                },
            ],
        }
    }

    fn bytes(of: &Macro) -> Vec<u8> {
        let mut out = Writer::default();
        of.write(&mut out);
        out.into_bytes()
    }

    #[test]
    fn a_macro_comes_back_and_a_part_of_one_does_not() {
        let bytes = bytes(&sample());
        assert_eq!(Macro::read(&mut Reader::new(&bytes), false), Ok(sample()));
        for len in 0..bytes.len() {
            assert!(
                Macro::read(&mut Reader::new(&bytes[..len]), false).is_err(),
                "cut to {len}"
            );
        }
        // The number of overloads, of parameters, the length of a name.
        for at in [5, 9, 13] {
            let mut edited = bytes.clone();
            edited[at..at + 4].copy_from_slice(&[0xff; 4]);
            assert!(
                Macro::read(&mut Reader::new(&edited), false).is_err(),
                "at {at}"
            );
        }
    }

    #[test]
    fn overloads_that_cannot_be_told_apart_are_refused() {
        let mut twice = sample();
        twice.overloads.push(twice.overloads[1].clone());
        assert!(Macro::read(&mut Reader::new(&bytes(&twice)), false).is_err());
        twice.overloads.clear();
        assert!(Macro::read(&mut Reader::new(&bytes(&twice)), false).is_err());
    }

    #[test]
    fn types_come_back_and_tell_overloads_apart() {
        let mut typed = sample();
        typed.overloads.push(typed.overloads[0].clone());
        typed.overloads[2].parameters[0].ty = Some(ColumnType::Int32);
        let bytes = bytes(&typed);
        let read = |bytes: &[u8], typed| Macro::read(&mut Reader::new(bytes), typed);
        assert_eq!(read(&bytes, true), Ok(typed.clone()));
        for len in 0..bytes.len() {
            assert!(read(&bytes[..len], true).is_err(), "cut to {len}");
        }
        // As the other kind, and without a type as one that has them.
        assert!(read(&bytes, false).is_err());
        typed.overloads.pop();
        let mut out = Writer::default();
        typed.write(&mut out);
        assert!(read(&out.into_bytes(), true).is_err());
    }
}
