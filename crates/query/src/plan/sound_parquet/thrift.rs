//! Thrift's compact protocol, as far as it takes to know that a structure is whole: no count and no length in it asks for more than
//! there is behind it. The library that reads Parquet makes room for what some of them say before it looks.
//!
//! What must hold: walking takes time for the bytes that are there, and stack for [`MAX_DEPTH`] structures.

/// Structures and lists within one another; Parquet's own go to about ten.
const MAX_DEPTH: usize = 32;

/// What is told of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A structure begins.
    Structure,
    Integer(i64),
    /// A field of a structure that is true or false.
    Flag(bool),
}

/// Bytes of the structure that `bytes` begins with; `None` if there is none. `tell` is given its parts in their order, each with the
/// numbers of the fields that it is in; an element of a list is in the field of the list.
pub(super) fn structure(bytes: &[u8], tell: &mut dyn FnMut(&[i16], Part)) -> Option<usize> {
    let mut walk = Walk {
        rest: bytes,
        fields: vec![],
        tell,
    };
    walk.structure(0)?;
    Some(bytes.len() - walk.rest.len())
}

struct Walk<'a> {
    rest: &'a [u8],
    fields: Vec<i16>,
    tell: &'a mut dyn FnMut(&[i16], Part),
}

impl Walk<'_> {
    fn skip(&mut self, bytes: usize) -> Option<()> {
        self.rest = self.rest.get(bytes..)?;
        Some(())
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn zigzag(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// A count of what takes at least a byte each.
    fn count(&mut self) -> Option<usize> {
        let count = usize::try_from(self.varint()?).ok()?;
        (count <= self.rest.len()).then_some(count)
    }

    fn structure(&mut self, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        (self.tell)(&self.fields, Part::Structure);
        let mut field = 0_i16;
        loop {
            let head = self.byte()?;
            let kind = head & 0x0f;
            if kind == 0 {
                return Some(());
            }
            field = match head >> 4 {
                0 => i16::try_from(self.zigzag()?).ok()?,
                further => field.checked_add(i16::from(further))?,
            };
            self.fields.push(field);
            // The kind of a field that is true or false is its value.
            match kind {
                1 | 2 => (self.tell)(&self.fields, Part::Flag(kind == 1)),
                _ => self.value(kind, depth)?,
            }
            self.fields.pop();
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> Option<()> {
        match kind {
            1..=3 => self.skip(1),
            4..=6 => {
                let value = self.zigzag()?;
                (self.tell)(&self.fields, Part::Integer(value));
                Some(())
            }
            7 => self.skip(8),
            8 => {
                let bytes = self.count()?;
                self.skip(bytes)
            }
            9 | 10 => self.list(depth + 1),
            11 => self.map(depth + 1),
            12 => self.structure(depth + 1),
            13 => self.skip(16),
            _ => None,
        }
    }

    fn list(&mut self, depth: usize) -> Option<()> {
        let head = self.byte()?;
        let count = match head >> 4 {
            15 => self.count()?,
            count => usize::from(count),
        };
        self.values(count, &[head & 0x0f], depth)
    }

    fn map(&mut self, depth: usize) -> Option<()> {
        let count = self.count()?;
        if count == 0 {
            return Some(());
        }
        let kinds = self.byte()?;
        self.values(count, &[kinds >> 4, kinds & 0x0f], depth)
    }

    /// So many times a value of each kind.
    fn values(&mut self, count: usize, kinds: &[u8], depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        for _ in 0..count {
            for kind in kinds {
                self.value(*kind, depth)?;
            }
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Parts = Vec<(Vec<i16>, Part)>;

    fn walk(bytes: &[u8]) -> Option<(usize, Parts)> {
        let mut parts = vec![];
        let len = structure(bytes, &mut |fields, part| {
            parts.push((fields.to_vec(), part));
        })?;
        Some((len, parts))
    }

    #[test]
    fn integers_are_told_with_their_fields() {
        // {1: 150, 3: [{5: -1}, {5: 0}], 20: true}, and a byte behind it.
        let bytes = [
            0x15, 0xac, 0x02, 0x29, 0x2c, 0x55, 0x01, 0, 0x55, 0, 0, 0x01, 0x28, 0, 9,
        ];
        let expected = vec![
            (vec![], Part::Structure),
            (vec![1], Part::Integer(150)),
            (vec![3], Part::Structure),
            (vec![3, 5], Part::Integer(-1)),
            (vec![3], Part::Structure),
            (vec![3, 5], Part::Integer(0)),
            (vec![20], Part::Flag(true)),
        ];
        assert_eq!(walk(&bytes), Some((14, expected)));
        for len in 0..14 {
            assert_eq!(walk(&bytes[..len]), None, "cut to {len}");
        }
    }

    #[test]
    fn more_than_there_is_is_refused() {
        // A text, a list and a map of 127 bytes or elements, a number without an end.
        for bytes in [
            &[0x18, 0x7f, 1, 0][..],
            &[0x19, 0xf3, 0x7f, 1, 0],
            &[0x1b, 0x7f, 0x33, 1, 1, 0],
            &[
                0x16, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,
            ],
        ] {
            assert_eq!(walk(bytes), None, "{bytes:?}");
        }
        let nest = |depth: usize| [vec![0x1c; depth], vec![0; depth + 1]].concat();
        assert!(walk(&nest(MAX_DEPTH)).is_some());
        assert!(walk(&nest(MAX_DEPTH + 1)).is_none());
        let lists = [vec![0x19], vec![0x19; 1_000_000]].concat();
        assert!(walk(&lists).is_none());
    }
}
