//! `Shared`: a list that many states have in common, and that is copied when one of them changes it.

use std::ops::Deref;
use std::sync::Arc;

/// A list whose clones are the same one, which derefs to a `Vec`.
#[derive(Debug)]
pub struct Shared<T>(Arc<Vec<T>>);

impl<T: Clone> Shared<T> {
    /// The list of this one alone, to be changed; copied if others have it too.
    pub fn make_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.0)
    }

    /// The same, with room for `room` in all where it is copied: what one more would have copied once again.
    pub(crate) fn make_mut_with_room(&mut self, room: usize) -> &mut Vec<T> {
        if Arc::get_mut(&mut self.0).is_none() {
            let mut copy = Vec::with_capacity(room.max(self.0.len() + 1));
            copy.extend_from_slice(&self.0);
            self.0 = Arc::new(copy);
        }
        self.make_mut()
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> From<Vec<T>> for Shared<T> {
    fn from(list: Vec<T>) -> Self {
        Self(Arc::new(list))
    }
}

impl<T> Deref for Shared<T> {
    type Target = Vec<T>;

    fn deref(&self) -> &Vec<T> {
        &self.0
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0 == other.0
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<'a, T> IntoIterator for &'a Shared<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_seen_by_nobody_else() {
        let one: Shared<u8> = vec![1, 2].into();
        let mut other = one.clone();
        assert!(one == other);
        other.make_mut().push(3);
        assert_eq!(
            (one.as_slice(), other.as_slice()),
            (&[1, 2][..], &[1, 2, 3][..])
        );
        assert!(one != other && one == vec![1, 2].into());
    }
}
