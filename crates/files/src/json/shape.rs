//! What values of JSON look like, of which `found.rs` makes their type.
//!
//! What must hold: the members of objects keep the order in which they first appear.

use super::text_kinds::{Fits, TextKinds};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::collections::HashMap;
use std::fmt;

/// What the values seen so far have in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Nothing but NULL.
    Unknown,
    Boolean,
    Integer,
    /// Integers of which one is beyond 63 bits, and within 64.
    Wide,
    Double,
    /// Texts, and what all of them may be.
    Text(Fits),
    List(Box<Shape>),
    Struct(Members),
    /// Of several kinds.
    Json,
}

/// From so many members on they are found by their names' hashes: a stranger's object may have millions.
const MANY: usize = 32;

/// Members of objects, in the order in which they first appear.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Members {
    all: Vec<Member>,
    /// How many objects they are of.
    objects: u64,
    /// One of the objects has a member twice.
    is_twice: bool,
    /// Where those are that are found by name, once there are [`MANY`].
    places: HashMap<String, usize>,
}

/// A member of objects.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) shape: Shape,
    /// So many objects have it.
    pub(super) times: u64,
}

impl Members {
    /// The member of a name; `place` is where it may be.
    fn get_mut(&mut self, name: &str, place: usize) -> Option<&mut Member> {
        let is_named = |member: &Member| member.name == name;
        let place = match self.all.get(place).is_some_and(is_named) {
            true => Some(place),
            false if self.places.is_empty() => self.all.iter().position(is_named),
            false => self.places.get(name).copied(),
        }?;
        self.all.get_mut(place)
    }

    /// Adds a member of a name that is not there.
    fn push(&mut self, member: Member) {
        match self.all.len() {
            ..MANY => {}
            MANY => {
                let names = self.all.iter().chain([&member]);
                self.places = names.map(|member| member.name.clone()).zip(0..).collect();
            }
            len => {
                self.places.insert(member.name.clone(), len);
            }
        }
        self.all.push(member);
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Member> {
        self.all.iter()
    }

    pub(super) fn objects(&self) -> u64 {
        self.objects
    }

    /// Whether one of the objects has a member twice, of which nobody knows which is meant.
    pub(super) fn is_twice(&self) -> bool {
        self.is_twice
    }

    /// These and those of other objects.
    fn merge(mut self, others: Self) -> Self {
        self.objects += others.objects;
        self.is_twice |= others.is_twice;
        for (place, member) in others.all.into_iter().enumerate() {
            // Records mostly have their members in one order.
            match self.get_mut(&member.name, place) {
                Some(known) => {
                    known.times += member.times;
                    let before = std::mem::replace(&mut known.shape, Shape::Unknown);
                    known.shape = before.merge(member.shape);
                }
                None => self.push(member),
            }
        }
        self
    }
}

impl Shape {
    /// What both are.
    pub(super) fn merge(self, other: Self) -> Self {
        use Shape as S;
        match (self, other) {
            (S::Unknown, other) | (other, S::Unknown) => other,
            (S::List(a), S::List(b)) => S::List(Box::new(a.merge(*b))),
            (S::Struct(members), S::Struct(others)) => S::Struct(members.merge(others)),
            (S::Text(a), S::Text(b)) => S::Text(a.both(b)),
            (a, b) if a == b => a,
            (S::Integer, S::Wide) | (S::Wide, S::Integer) => S::Wide,
            (S::Integer | S::Wide, S::Double) | (S::Double, S::Integer | S::Wide) => S::Double,
            _ => S::Json,
        }
    }

    /// Columns that it takes: values that are no objects, and lists.
    pub(super) fn columns(&self) -> usize {
        match self {
            Self::Struct(members) => members.iter().map(|member| member.shape.columns()).sum(),
            Self::List(item) => 1 + item.columns(),
            _ => 1,
        }
    }
}

/// Takes values in with what their texts may be.
#[derive(Clone, Copy)]
pub(super) struct Values<'a>(pub(super) &'a TextKinds);

impl Values<'_> {
    /// What the value of a text looks like.
    pub(super) fn shape(self, json: &str) -> Result<Shape, serde_json::Error> {
        let mut json = serde_json::Deserializer::from_str(json);
        let shape = self.deserialize(&mut json)?;
        json.end().map(|()| shape)
    }
}

impl<'de> DeserializeSeed<'de> for Values<'_> {
    type Value = Shape;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Values<'_> {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Unknown)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Boolean)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Integer)
    }

    fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
        Ok(match i64::try_from(value) {
            Ok(_) => Shape::Integer,
            Err(_) => Shape::Wide,
        })
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Double)
    }

    fn visit_str<E>(self, text: &str) -> Result<Shape, E> {
        Ok(Shape::Text(self.0.fits(text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
        let mut shape = Shape::Unknown;
        while let Some(item) = items.next_element_seed(self)? {
            shape = shape.merge(item);
        }
        Ok(Shape::List(Box::new(shape)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Shape, A::Error> {
        let mut all = Members {
            objects: 1,
            ..Members::default()
        };
        while let Some(name) = members.next_key::<String>()? {
            let shape = members.next_value_seed(self)?;
            match all.get_mut(&name, usize::MAX) {
                Some(known) => {
                    known.shape = shape;
                    all.is_twice = true;
                }
                None => all.push(Member {
                    name,
                    shape,
                    times: 1,
                }),
            }
        }
        Ok(Shape::Struct(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(json: &str) -> Shape {
        let texts = TextKinds::new(None, None, false).expect("formats");
        Values(&texts).shape(json).expect("JSON")
    }

    fn times(shape: &Shape) -> Vec<(&str, u64)> {
        let Shape::Struct(members) = shape else {
            panic!("no object");
        };
        let members = members.iter();
        members
            .map(|member| (member.name.as_str(), member.times))
            .collect()
    }

    #[test]
    fn shapes_of_records_add_up() {
        let first = shape(r#"{"b": 1, "a": null, "l": [], "d": "x"}"#);
        let second = shape(r#"{"a": {"x": true}, "b": 1.5, "l": [1], "n": "x"}"#);
        let merged = first.merge(second);
        let expected = [("b", 2), ("a", 2), ("l", 2), ("d", 1), ("n", 1)];
        assert_eq!(times(&merged), expected);
        let together = shape(r#"{"b": 2.5, "a": {"x": false}, "l": [7], "d": "y", "n": "z"}"#);
        assert_eq!(merged.clone().merge(together), {
            let Shape::Struct(mut members) = merged else {
                panic!("no object");
            };
            members.objects += 1;
            for member in &mut members.all {
                member.times += 1;
                if let Shape::Struct(within) = &mut member.shape {
                    within.objects += 1;
                    within.all[0].times += 1;
                }
            }
            Shape::Struct(members)
        });
    }

    #[test]
    fn very_many_members_in_another_order_are_merged_in_no_time() {
        let object = |names: &mut dyn Iterator<Item = u32>| {
            let members: Vec<String> = names.map(|name| format!("\"k{name}\": 1")).collect();
            shape(&format!("{{{}}}", members.join(",")))
        };
        let began = std::time::Instant::now();
        let first = object(&mut (0..100_000));
        let merged = first.clone().merge(object(&mut (0..100_001).rev()));
        assert_eq!((first.columns(), merged.columns()), (100_000, 100_001));
        assert!(began.elapsed().as_secs() < 20);
    }

    #[test]
    fn what_is_of_several_kinds_is_json() {
        assert_eq!(shape("[1, [1]]"), Shape::List(Box::new(Shape::Json)));
        assert_eq!(shape("[1, \"1\"]"), Shape::List(Box::new(Shape::Json)));
        assert_eq!(shape("[true, null]"), Shape::List(Box::new(Shape::Boolean)));
        assert_eq!(shape("[1, 1.5]"), Shape::List(Box::new(Shape::Double)));
    }
}
