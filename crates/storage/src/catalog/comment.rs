//! What people say of what a schema has (COMMENT ON).
//!
//! What must hold: a comment goes by the name of what it is about: it is renamed with it, and goes when that is dropped.

use std::collections::BTreeMap;
use std::sync::Arc;

use hushdb_encoding::wire::{Reader, WireError, Writer};

/// Kinds of what can be commented on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommentKind {
    /// A table or view, or a column of one.
    Relation,
    /// A sequence.
    Sequence,
    /// A macro of expressions.
    Macro,
    /// A macro of tables.
    TableMacro,
    /// An index of a table.
    Index,
    /// A type under a name.
    Type,
}

impl CommentKind {
    const ALL: [Self; 6] = [
        Self::Relation,
        Self::Sequence,
        Self::Macro,
        Self::TableMacro,
        Self::Index,
        Self::Type,
    ];

    fn number(self) -> u8 {
        let place = Self::ALL.iter().position(|kind| *kind == self);
        place.map_or(0, |place| place as u8 + 1)
    }

    fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.number() == number)
    }
}

/// What a comment is about, in its schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommentOn {
    /// What it is.
    pub kind: CommentKind,
    /// Its name; of an index that of its table.
    pub name: String,
    /// A column of a table or view, or the name of an index.
    pub part: Option<String>,
}

/// Comments by what they are about.
pub type Comments = BTreeMap<CommentOn, Arc<str>>;

impl CommentOn {
    /// The fewest bytes that a comment takes in a file.
    pub(super) const SMALLEST: usize = 1 + 4 + 1 + 4;

    /// Whether there can be something like that.
    pub(super) fn is_sound(&self) -> bool {
        match self.kind {
            CommentKind::Relation => true,
            CommentKind::Index => self.part.is_some(),
            _ => self.part.is_none(),
        }
    }

    pub(super) fn write(&self, text: &str, out: &mut Writer) {
        out.u8(self.kind.number());
        out.text(&self.name);
        out.optional_text(self.part.as_deref());
        out.text(text);
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<(Self, Arc<str>), WireError> {
        let kind = CommentKind::of_number(reader.u8()?).ok_or(WireError)?;
        let on = Self {
            kind,
            name: reader.text()?,
            part: reader.optional_text()?,
        };
        match on.is_sound() {
            true => Ok((on, reader.text()?.into())),
            false => Err(WireError),
        }
    }
}

/// Forgets what is said of something that is dropped: with all of its parts, or of one part alone.
pub(super) fn forget(
    comments: &mut Comments,
    kinds: &[CommentKind],
    name: &str,
    part: Option<&str>,
) {
    comments.retain(|on, _| {
        let is_it = kinds.contains(&on.kind) && on.name == name;
        !is_it || part.is_some() && on.part.as_deref() != part
    });
}

/// Gives what is said of a table or view, and of its parts, to its new name; or what is said of a column.
pub(super) fn rename(comments: &mut Comments, name: &str, part: Option<&str>, new: &str) {
    let renamed = std::mem::take(comments).into_iter().map(|(mut on, text)| {
        let is_of_it = matches!(on.kind, CommentKind::Relation | CommentKind::Index);
        if is_of_it && on.name == name {
            match part {
                None => new.clone_into(&mut on.name),
                Some(part)
                    if on.kind == CommentKind::Relation && on.part.as_deref() == Some(part) =>
                {
                    on.part = Some(new.to_owned());
                }
                Some(_) => {}
            }
        }
        (on, text)
    });
    *comments = renamed.collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(kind: CommentKind, name: &str, part: Option<&str>) -> CommentOn {
        CommentOn {
            kind,
            name: name.into(),
            part: part.map(str::to_owned),
        }
    }

    fn bytes(of: &CommentOn) -> Vec<u8> {
        let mut out = Writer::default();
        of.write("said", &mut out);
        out.into_bytes()
    }

    #[test]
    fn a_comment_comes_back_and_what_cannot_be_does_not() {
        for kind in CommentKind::ALL {
            let part = (kind == CommentKind::Index).then_some("i");
            let one = on(kind, "t", part);
            let bytes = bytes(&one);
            assert_eq!(
                CommentOn::read(&mut Reader::new(&bytes)),
                Ok((one, "said".into()))
            );
            for len in 0..bytes.len() {
                assert!(
                    CommentOn::read(&mut Reader::new(&bytes[..len])).is_err(),
                    "cut to {len}"
                );
            }
            for kind in [0, 7, 0xff] {
                let mut edited = bytes.clone();
                edited[0] = kind;
                assert!(
                    CommentOn::read(&mut Reader::new(&edited)).is_err(),
                    "{kind}"
                );
            }
        }
        for unsound in [
            on(CommentKind::Index, "t", None),
            on(CommentKind::Sequence, "s", Some("c")),
        ] {
            assert!(CommentOn::read(&mut Reader::new(&bytes(&unsound))).is_err());
        }
    }

    #[test]
    fn comments_go_with_what_they_are_about() {
        let all = [
            on(CommentKind::Relation, "t", None),
            on(CommentKind::Relation, "t", Some("a")),
            on(CommentKind::Relation, "t", Some("b")),
            on(CommentKind::Index, "t", Some("a")),
            on(CommentKind::Sequence, "t", None),
        ];
        let mut comments: Comments = all.map(|on| (on, "said".into())).into();
        rename(&mut comments, "t", Some("a"), "x");
        rename(&mut comments, "t", None, "u");
        forget(&mut comments, &[CommentKind::Relation], "u", Some("b"));
        let left: Vec<_> = comments.keys().cloned().collect();
        let expected = [
            on(CommentKind::Relation, "u", None),
            on(CommentKind::Relation, "u", Some("x")),
            on(CommentKind::Sequence, "t", None),
            on(CommentKind::Index, "u", Some("a")),
        ];
        assert_eq!(left, expected);
        forget(
            &mut comments,
            &[CommentKind::Relation, CommentKind::Index],
            "u",
            None,
        );
        assert_eq!(comments.len(), 1);
    }
}
