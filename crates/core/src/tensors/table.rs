//! Arrays by name.

use indexmap::IndexMap;

use crate::tensors::{Error, Tensor};

/// How many names an error quotes.
const QUOTED: usize = 3;

/// Tensors by name, in the order in which they were added.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorTable<T = f32> {
    tensors: IndexMap<String, Tensor<T>>,
}

impl<T> Default for TensorTable<T> {
    fn default() -> Self {
        Self { tensors: IndexMap::new() }
    }
}

impl<T> TensorTable<T> {
    /// An empty table.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tensor under a new name.
    ///
    /// # Errors
    ///
    /// If the name is there already.
    pub fn insert(&mut self, name: impl Into<String>, tensor: Tensor<T>) -> Result<(), Error> {
        let name = name.into();
        if self.contains(&name) {
            return Err(Error::Duplicate { name });
        }
        self.tensors.insert(name, tensor);
        Ok(())
    }

    /// Takes a tensor out; the order of the others stays.
    ///
    /// # Errors
    ///
    /// If there is none of that name.
    pub fn remove(&mut self, name: &str) -> Result<Tensor<T>, Error> {
        self.tensors.shift_remove(name).ok_or_else(|| self.unknown(name))
    }

    /// The same tensors, in the same order, under other names.
    ///
    /// # Errors
    ///
    /// If two of them would have one name.
    pub fn renamed(self, name: impl Fn(&str) -> String) -> Result<Self, Error> {
        let mut table = Self::default();
        for (old, tensor) in self.tensors {
            table.insert(name(&old), tensor)?;
        }
        Ok(table)
    }

    /// Whether there is a tensor of that name.
    pub fn contains(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The tensor of that name.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn get(&self, name: &str) -> Result<&Tensor<T>, Error> {
        self.tensors.get(name).ok_or_else(|| self.unknown(name))
    }

    /// The same, to be changed.
    ///
    /// # Errors
    ///
    /// If there is none.
    pub fn get_mut(&mut self, name: &str) -> Result<&mut Tensor<T>, Error> {
        let unknown = self.unknown(name);
        self.tensors.get_mut(name).ok_or(unknown)
    }

    /// The tensor of that name, which must have this shape.
    ///
    /// # Errors
    ///
    /// If there is none, or it has another shape.
    pub fn shaped(&self, name: &str, shape: &[usize]) -> Result<&Tensor<T>, Error> {
        let tensor = self.get(name)?;
        if tensor.shape() == shape {
            return Ok(tensor);
        }
        let (found, expected) = (tensor.shape().to_vec(), shape.to_vec());
        Err(Error::Shape { name: name.to_owned(), found, expected })
    }

    /// Names in order.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// Names and tensors in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Tensor<T>)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }

    /// How many tensors there are.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    fn unknown(&self, name: &str) -> Error {
        let known = self.names().take(QUOTED).map(str::to_owned).collect();
        Error::Unknown { name: name.to_owned(), known }
    }
}

impl TensorTable {
    /// Whether all values are finite.
    ///
    /// # Errors
    ///
    /// Names the first tensor that contains NaN or an infinity.
    pub fn check_finite(&self) -> Result<(), Error> {
        let bad = |(name, tensor): (&str, &Tensor)| {
            let value = tensor.values().iter().find(|value| !value.is_finite())?;
            Some(Error::NotFinite { name: name.to_owned(), value: *value })
        };
        self.iter().find_map(bad).map_or(Ok(()), Err)
    }
}

impl<T> IntoIterator for TensorTable<T> {
    type Item = (String, Tensor<T>);
    type IntoIter = indexmap::map::IntoIter<String, Tensor<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.tensors.into_iter()
    }
}
