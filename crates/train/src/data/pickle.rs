//! Pickled batches, read without executing anything.
//!
//! A pickle is a program for a small stack machine, and Python's own runs whatever that program
//! names. This one knows only the instructions that a dict of texts, integers, lists and NumPy
//! arrays needs (protocols 2 to 5), and five names: the two constructors of an array, its two
//! types, and the text encoding in which protocol 2 wraps bytes. Any other name is refused and
//! told.

mod machine;
mod object;

use self::machine::Machine;
use self::object::Object;
use super::Mismatch;
use collegial_core::tensors::npy::Array;

/// A dict with the requested keys.
#[derive(Debug)]
pub(crate) struct Dict<'a> {
    objects: Vec<Object<'a>>,
    items: Vec<(usize, usize)>,
}

impl<'a> Dict<'a> {
    /// Runs the program; what it leaves must be a dict.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, Mismatch> {
        let (mut objects, top) = Machine::new(bytes).run()?;
        match objects.get_mut(top).map(std::mem::take) {
            Some(Object::Dict(items)) => Ok(Self { objects, items }),
            other => Err(Mismatch::new(
                "a pickled dict",
                other.map_or("nothing".into(), |object| object.describe()),
            )),
        }
    }

    /// Takes the array under `key`.
    pub(crate) fn array(&mut self, key: &str) -> Result<Option<Array<'a>>, Mismatch> {
        let Some(at) = self.find(key) else { return Ok(None) };
        match self.objects.get_mut(at).map(std::mem::take) {
            Some(Object::Array(array)) => Ok(Some(array)),
            other => Err(self.unexpected("an array", key, other)),
        }
    }

    /// The integers under `key`, a list or an array.
    pub(crate) fn integers(&mut self, key: &str) -> Result<Option<Vec<i64>>, Mismatch> {
        let Some(at) = self.find(key) else { return Ok(None) };
        match self.objects.get_mut(at).map(std::mem::take) {
            Some(Object::Array(array)) => Ok(Some(array.to_integers()?)),
            Some(Object::List(items)) => items
                .iter()
                .map(|&item| match self.objects.get(item) {
                    Some(Object::Int(value)) => Ok(*value),
                    other => Err(Mismatch::new(
                        format!("integers under the key {key:?}"),
                        other.map_or("nothing".into(), Object::describe),
                    )),
                })
                .collect::<Result<_, _>>()
                .map(Some),
            other => Err(self.unexpected("a list of integers", key, other)),
        }
    }

    fn find(&self, key: &str) -> Option<usize> {
        let named = |at: &usize| self.objects.get(*at).and_then(Object::as_text) == Some(key);
        self.items.iter().find(|(k, _)| named(k)).map(|&(_, value)| value)
    }

    fn unexpected(&self, what: &str, key: &str, found: Option<Object<'_>>) -> Mismatch {
        Mismatch::new(
            format!("{what} under the key {key:?}"),
            found.map_or("nothing".into(), |f| f.describe()),
        )
    }
}
