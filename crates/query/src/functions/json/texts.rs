//! JSON in which some values are the texts of their JSON, as a reader wants them that has no other way to keep what is of any kind.

use super::super::strptime::MomentForm;
use super::value::{Kind, Value, write_string};
use hushdb_sql::Error;
use std::collections::HashMap;

/// What is said of values at some places.
#[derive(Clone, Debug, PartialEq)]
pub enum Places<T> {
    /// Neither of the value nor of one within it.
    Nowhere,
    /// Of the value.
    Here(T),
    /// Within the items of a list.
    Items(Box<Places<T>>),
    /// Within these members of an object; those that are not named are nowhere.
    Members(HashMap<String, Places<T>>),
    /// Within all members of an object.
    Values(Box<Places<T>>),
}

/// Where values are wanted as texts.
pub type JsonPlaces = Places<Kept>;

/// Which values are texts of their JSON.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kept {
    /// All but null.
    All,
    /// Lists and objects, among texts.
    Nested,
}

impl Kept {
    fn keeps(self, kind: Kind) -> bool {
        match self {
            Self::All => kind != Kind::Null,
            Self::Nested => matches!(kind, Kind::List | Kind::Object),
        }
    }
}

/// In which formats dates and points in time are.
pub type MomentPlaces = Places<MomentForm>;

impl<T: PartialEq> Places<T> {
    /// These within the items of a list.
    pub fn items(of: Self) -> Self {
        match of {
            Self::Nowhere => Self::Nowhere,
            of => Self::Items(Box::new(of)),
        }
    }

    /// These within all members of an object.
    pub fn values(of: Self) -> Self {
        match of {
            Self::Nowhere => Self::Nowhere,
            of => Self::Values(Box::new(of)),
        }
    }

    /// These within members of an object, by their names.
    pub fn members(of: impl Iterator<Item = (String, Self)>) -> Self {
        let somewhere = of.filter(|(_, places)| *places != Self::Nowhere);
        let members: HashMap<String, Self> = somewhere.collect();
        match members.is_empty() {
            true => Self::Nowhere,
            false => Self::Members(members),
        }
    }

    /// What is said of the items of a list.
    pub fn of_items(&self) -> &Self {
        match self {
            Self::Items(within) => within,
            _ => &Self::Nowhere,
        }
    }

    /// What is said of a member of an object.
    pub fn of_member(&self, name: &str) -> &Self {
        match self {
            Self::Members(members) => members.get(name).unwrap_or(&Self::Nowhere),
            Self::Values(within) => within,
            _ => &Self::Nowhere,
        }
    }

    /// What is said of all members of an object.
    pub fn of_values(&self) -> &Self {
        match self {
            Self::Values(within) => within,
            _ => &Self::Nowhere,
        }
    }
}

/// Adds a value to `out`, as it is written but for these places: there it is a string with its JSON, unless it is null.
///
/// # Errors
/// What is malformed in the text.
pub fn with_json_texts(text: &str, places: &JsonPlaces, out: &mut String) -> Result<(), Error> {
    write(Value::read(text)?, places, out);
    Ok(())
}

fn write(value: Value<'_>, places: &JsonPlaces, out: &mut String) {
    match (places, value.kind()) {
        (JsonPlaces::Here(kept), kind) if kept.keeps(kind) => {
            let mut json = String::new();
            value.write(&mut json);
            write_string(&json, out);
        }
        (JsonPlaces::Items(within), Kind::List) => {
            out.push('[');
            for (at, item) in value.items().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write(item, within, out);
            }
            out.push(']');
        }
        (JsonPlaces::Members(_) | JsonPlaces::Values(_), Kind::Object) => {
            out.push('{');
            for (at, (name, member)) in value.members().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_string(&name, out);
                out.push(':');
                write(member, places.of_member(&name), out);
            }
            out.push('}');
        }
        _ => out.push_str(value.text()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_at_their_places_are_texts() {
        let member = |name: &str, places| (name.to_owned(), places);
        let places = JsonPlaces::members(
            [
                member("a", JsonPlaces::Here(Kept::All)),
                member("b", JsonPlaces::items(JsonPlaces::Here(Kept::All))),
                member("c", JsonPlaces::values(JsonPlaces::Here(Kept::All))),
                member("d", JsonPlaces::items(JsonPlaces::Nowhere)),
                member("e", JsonPlaces::items(JsonPlaces::Here(Kept::Nested))),
            ]
            .into_iter(),
        );
        for (text, expected) in [
            (
                r#"{"a": {"x": [1, "y"]}, "z": [ 1.50 ]}"#,
                r#"{"a":"{\"x\":[1,\"y\"]}","z":[ 1.50 ]}"#,
            ),
            (
                r#"{"b": [1, null, "x"], "c": {"k": "v"}, "a": null}"#,
                r#"{"b":["1",null,"\"x\""],"c":{"k":"\"v\""},"a":null}"#,
            ),
            (
                r#"{"b": 1, "c": [2], "d": [3]}"#,
                r#"{"b":1,"c":[2],"d":[3]}"#,
            ),
            (
                r#"{"e": ["x", 1.50, null, [2, "y"]]}"#,
                r#"{"e":["x",1.50,null,"[2,\"y\"]"]}"#,
            ),
            ("[1]", "[1]"),
        ] {
            let mut out = String::new();
            with_json_texts(text, &places, &mut out).unwrap();
            assert_eq!(out, expected, "{text}");
        }
        assert!(with_json_texts("{", &places, &mut String::new()).is_err());
    }

    #[test]
    fn places_that_have_nothing_are_nowhere() {
        let none = [("a".to_owned(), JsonPlaces::items(JsonPlaces::Nowhere))];
        let members = JsonPlaces::members(none.into_iter());
        assert_eq!(JsonPlaces::values(members), JsonPlaces::Nowhere);
    }
}
