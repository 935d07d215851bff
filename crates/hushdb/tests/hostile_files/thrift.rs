//! Where in a structure of Thrift's compact protocol its lengths, counts and numbers stand, so that they can be edited.

/// What stands at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    /// Of a text.
    Length,
    /// Of a list, with the kind of its elements.
    Count(u8),
    /// A whole field with its head.
    Field,
}

#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// Numbers of fields, and of elements of lists.
    pub(crate) path: Vec<usize>,
    pub(crate) kind: Kind,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

/// The places in the structure that begins at `at` of sound bytes, and where it ends.
pub(crate) fn places(bytes: &[u8], at: usize) -> (Vec<Place>, usize) {
    let mut walk = Walk {
        bytes,
        at,
        path: vec![],
        places: vec![],
    };
    walk.structure();
    (walk.places, walk.at)
}

/// The number at a place.
pub(crate) fn number(bytes: &[u8], place: &Place) -> i64 {
    let (value, _) = varint(bytes, place.from);
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

/// What stands at a place of that kind for a number.
pub(crate) fn written(kind: Kind, value: i64) -> Vec<u8> {
    match kind {
        Kind::Number => written_varint(((value << 1) ^ (value >> 63)) as u64),
        Kind::Length => written_varint(value as u64),
        Kind::Count(of) => [vec![0xf0 | of], written_varint(value as u64)].concat(),
        Kind::Field => vec![],
    }
}

fn varint(bytes: &[u8], mut at: usize) -> (u64, usize) {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = bytes[at];
        value |= u64::from(byte & 0x7f) << shift;
        (at, shift) = (at + 1, shift + 7);
        if byte & 0x80 == 0 {
            return (value, at);
        }
    }
}

fn written_varint(mut value: u64) -> Vec<u8> {
    let mut bytes = vec![];
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    path: Vec<usize>,
    places: Vec<Place>,
}

impl Walk<'_> {
    fn varint(&mut self) -> usize {
        let (value, at) = varint(self.bytes, self.at);
        self.at = at;
        value as usize
    }

    fn place(&mut self, kind: Kind, from: usize) {
        let (path, to) = (self.path.clone(), self.at);
        self.places.push(Place {
            path,
            kind,
            from,
            to,
        });
    }

    fn structure(&mut self) {
        let mut field = 0;
        loop {
            let (from, head) = (self.at, self.bytes[self.at]);
            self.at += 1;
            if head == 0 {
                return;
            }
            match head >> 4 {
                0 => field = self.varint() / 2,
                further => field += usize::from(further),
            }
            self.path.push(field);
            if head & 0x0f > 2 {
                self.value(head & 0x0f);
            }
            self.place(Kind::Field, from);
            self.path.pop();
        }
    }

    fn value(&mut self, kind: u8) {
        let from = self.at;
        match kind {
            1..=3 => self.at += 1,
            4..=6 => {
                self.varint();
                self.place(Kind::Number, from);
            }
            7 => self.at += 8,
            8 => {
                let len = self.varint();
                self.place(Kind::Length, from);
                self.at += len;
            }
            9 | 10 => self.list(),
            12 => self.structure(),
            other => panic!("our own files have no values of kind {other}"),
        }
    }

    fn list(&mut self) {
        let (from, head) = (self.at, self.bytes[self.at]);
        self.at += 1;
        let count = match head >> 4 {
            15 => self.varint(),
            count => usize::from(count),
        };
        self.place(Kind::Count(head & 0x0f), from);
        for element in 0..count {
            self.path.push(element);
            self.value(head & 0x0f);
            self.path.pop();
        }
    }
}
