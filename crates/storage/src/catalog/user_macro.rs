//! A named expression or query with parameters.
//!
//! What must hold: texts are kept as given; storage does not read them. No two overloads take the same number of parameters.

use hushdb_encoding::wire::{Reader, WireError, Writer};

/// A macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Macro {
    /// As the user wrote it.
    pub name: String,
    /// By the number of their parameters; at least one.
    pub overloads: Vec<MacroOverload>,
}

/// What a macro is with so many parameters.
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
    /// An expression; a parameter without one must be given.
    pub default: Option<String>,
}

impl Macro {
    /// The fewest bytes that one takes in a file.
    pub(super) const SMALLEST: usize = 4 + 4 + MacroOverload::SMALLEST;

    /// Whether there is an overload, and no two of one number of parameters.
    pub(super) fn is_sound(&self) -> bool {
        let counts = self.overloads.iter().map(|one| one.parameters.len());
        let distinct: std::collections::BTreeSet<usize> = counts.collect();
        !self.overloads.is_empty() && distinct.len() == self.overloads.len()
    }

    pub(super) fn write(&self, out: &mut Writer) {
        out.text(&self.name);
        out.count(self.overloads.len());
        for overload in &self.overloads {
            out.count(overload.parameters.len());
            for parameter in &overload.parameters {
                out.text(&parameter.name);
                out.optional_text(parameter.default.as_deref());
            }
            out.text(&overload.sql);
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let name = reader.text()?;
        let count = reader.count(MacroOverload::SMALLEST)?;
        let mut overloads = Vec::with_capacity(count);
        for _ in 0..count {
            overloads.push(MacroOverload::read(reader)?);
        }
        let read = Self { name, overloads };
        match read.is_sound() {
            true => Ok(read),
            false => Err(WireError),
        }
    }
}

impl MacroOverload {
    const SMALLEST: usize = 4 + 4;
    /// The fewest bytes of a parameter.
    const PARAMETER: usize = 4 + 1;

    fn read(reader: &mut Reader<'_>) -> Result<Self, WireError> {
        let count = reader.count(Self::PARAMETER)?;
        let mut parameters = Vec::with_capacity(count);
        for _ in 0..count {
            parameters.push(MacroParameter {
                name: reader.text()?,
                default: reader.optional_text()?,
            });
        }
        Ok(Self {
            parameters,
            sql: reader.text()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Macro {
        let parameter = |name: &str, default: Option<&str>| MacroParameter {
            name: name.into(),
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
        assert_eq!(Macro::read(&mut Reader::new(&bytes)), Ok(sample()));
        for len in 0..bytes.len() {
            assert!(
                Macro::read(&mut Reader::new(&bytes[..len])).is_err(),
                "cut to {len}"
            );
        }
        // The number of overloads, of parameters, the length of a name.
        for at in [5, 9, 13] {
            let mut edited = bytes.clone();
            edited[at..at + 4].copy_from_slice(&[0xff; 4]);
            assert!(Macro::read(&mut Reader::new(&edited)).is_err(), "at {at}");
        }
    }

    #[test]
    fn overloads_that_cannot_be_told_apart_are_refused() {
        let mut twice = sample();
        twice.overloads.push(twice.overloads[1].clone());
        assert!(Macro::read(&mut Reader::new(&bytes(&twice))).is_err());
        twice.overloads.clear();
        assert!(Macro::read(&mut Reader::new(&bytes(&twice))).is_err());
    }
}
