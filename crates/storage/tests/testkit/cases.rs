//! A hostile file: the case is its name.

use super::forge::Forge;
use super::samples::Sample;
use super::seeds;

/// With which key a case is opened.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    /// The key of the samples.
    Key,
    /// Another key.
    WrongKey,
    /// None.
    Nothing,
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) file: Vec<u8>,
    pub(crate) log: Option<Vec<u8>>,
    pub(crate) given: Given,
    /// What was edited, as a seed for fuzzing: the target, and the bytes.
    pub(crate) seed: Option<(&'static str, Vec<u8>)>,
}

/// All cases, as they are made.
#[derive(Default)]
pub(crate) struct Cases(pub(crate) Vec<Case>);

impl Cases {
    /// A file by itself, opened with the key.
    pub(crate) fn file(&mut self, name: &str, file: Vec<u8>) {
        self.with(name, file, None, Given::Key);
    }

    pub(crate) fn with(&mut self, name: &str, file: Vec<u8>, log: Option<Vec<u8>>, given: Given) {
        let name = name.to_owned();
        self.0.push(Case {
            name,
            file,
            log,
            given,
            seed: None,
        });
    }

    /// A sample with its bytes edited, by someone without the key.
    pub(crate) fn edited(&mut self, name: &str, sample: &Sample, edit: impl FnOnce(&mut Vec<u8>)) {
        let mut file = sample.file.clone();
        edit(&mut file);
        assert!(file != sample.file, "{name}: the edit changes something");
        self.file(name, file);
    }

    /// A sample with its content edited, by someone with the key. A plain sample is opened without a key.
    pub(crate) fn forged(&mut self, name: &str, sample: &Sample, edit: impl FnOnce(&mut Forge)) {
        let mut forge = Forge::new(sample);
        edit(&mut forge);
        let given = match forge.keys {
            Some(_) => Given::Key,
            None => Given::Nothing,
        };
        self.with(name, forge.bytes(), None, given);
        let (role, nth, payload) = forge.edited();
        self.seed(seeds::target_of(role, nth), payload);
    }

    /// The case that was made last has this to say to a fuzz target.
    pub(crate) fn seed(&mut self, target: Option<&'static str>, bytes: Vec<u8>) {
        if let (Some(case), Some(target)) = (self.0.last_mut(), target) {
            case.seed = Some((target, bytes));
        }
    }
}
