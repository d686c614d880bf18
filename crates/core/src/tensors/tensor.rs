//! An array of numbers.

use crate::tensors::Error;

/// A shape and as many values in C order (the last axis runs fastest).
///
/// Values are f32 unless said otherwise; kernels are `Tensor<f64>`, counters `Tensor<i64>`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor<T = f32> {
    shape: Vec<usize>,
    values: Vec<T>,
}

impl<T> Tensor<T> {
    /// Checks that there are as many values as the shape says. An empty shape is that of a single
    /// number.
    ///
    /// # Errors
    ///
    /// If there are more or fewer.
    pub fn new(shape: impl Into<Vec<usize>>, values: Vec<T>) -> Result<Self, Error> {
        let shape = shape.into();
        let expected = count(&shape)?;
        if expected != values.len() {
            return Err(Error::Length { shape, expected, found: values.len() });
        }
        Ok(Self { shape, values })
    }

    /// An array with one axis.
    pub fn vector(values: Vec<T>) -> Self {
        Self { shape: vec![values.len()], values }
    }

    /// A single number, whose shape is empty.
    pub fn scalar(value: T) -> Self {
        Self { shape: vec![], values: vec![value] }
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// All values in C order.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The same, to be changed.
    pub fn values_mut(&mut self) -> &mut [T] {
        &mut self.values
    }

    /// The values alone.
    pub fn into_values(self) -> Vec<T> {
        self.values
    }

    /// The same values in another shape.
    ///
    /// # Errors
    ///
    /// If the shape has more or fewer values.
    pub fn reshaped(self, shape: impl Into<Vec<usize>>) -> Result<Self, Error> {
        Self::new(shape, self.values)
    }

    /// The slices along the first axis: of a batch its images. A single number has none.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[T]> {
        let count = self.shape.first().copied().unwrap_or_default();
        let len = self.values.len().checked_div(count).unwrap_or_default();
        (0..count).map(move |row| &self.values[row * len..][..len])
    }
}

impl<T: Clone> Tensor<T> {
    /// An array with one value everywhere.
    ///
    /// # Errors
    ///
    /// If the shape has more values than can be counted.
    pub fn full(shape: impl Into<Vec<usize>>, value: T) -> Result<Self, Error> {
        let shape = shape.into();
        let values = vec![value; count(&shape)?];
        Ok(Self { shape, values })
    }
}

/// Values of an array, unless they are more than can be counted.
pub(crate) fn count(shape: &[usize]) -> Result<usize, Error> {
    let product = shape.iter().try_fold(1_usize, |product, &side| product.checked_mul(side));
    product.ok_or_else(|| Error::TooLarge { shape: shape.to_vec() })
}
