//! Safetensors files: tensors by name, and texts by key in the header.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use safetensors::tensor::{Dtype, SafeTensors, TensorView, View};

use crate::tensors::{Error, Tensor, TensorTable};

/// The content of a safetensors file.
///
/// Floating-point tensors of 16, 32 and 64 bits are read as f32 (and written as F32), integers and
/// booleans as i64 (and written as I64: PyTorch's norms count their batches so). Reading keeps the
/// order of the file; a written file is in the order of the format, by name, whatever that of the
/// tables.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Archive {
    /// Floating-point tensors.
    pub tensors: TensorTable,
    /// Integer tensors.
    pub integers: TensorTable<i64>,
    /// Texts of the header by key.
    pub metadata: BTreeMap<String, String>,
}

impl From<TensorTable> for Archive {
    fn from(tensors: TensorTable) -> Self {
        Self { tensors, ..Self::default() }
    }
}

impl Archive {
    /// Adds a text to the header; one of the same key is replaced.
    #[must_use]
    pub fn with_metadata(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), text.into());
        self
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// If it is not a whole safetensors file, or a tensor is neither floating-point of at least 16
    /// bits nor integer.
    pub fn from_bytes(file: &[u8]) -> Result<Self, Error> {
        let refuse =
            |error: safetensors::SafeTensorError| Error::NotSafetensors { reason: error.to_string() };
        let (_, header) = SafeTensors::read_metadata(file).map_err(refuse)?;
        let texts = header.metadata().clone().unwrap_or_default();
        let mut archive = Self { metadata: texts.into_iter().collect(), ..Self::default() };
        let views = SafeTensors::deserialize(file).map_err(refuse)?;
        for name in header.offset_keys() {
            let view = views.tensor(&name).map_err(refuse)?;
            if let Some(values) = floats(&view) {
                archive.tensors.insert(name, Tensor::new(view.shape(), values)?)?;
            } else {
                let values = integers(&name, &view)?;
                archive.integers.insert(name, Tensor::new(view.shape(), values)?)?;
            }
        }
        Ok(archive)
    }

    /// The file. Equal archives with at most one text make equal bytes.
    ///
    /// # Errors
    ///
    /// If a name is both a floating-point and an integer tensor's.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        if let Some(name) = self.integers.names().find(|name| self.tensors.contains(name)) {
            return Err(Error::Duplicate { name: name.to_owned() });
        }
        let metadata: HashMap<String, String> = self.metadata.clone().into_iter().collect();
        let floats = self.tensors.iter().map(|(name, tensor)| (name, Element::Float(tensor)));
        let integers = self.integers.iter().map(|(name, tensor)| (name, Element::Integer(tensor)));
        safetensors::serialize(floats.chain(integers), (!metadata.is_empty()).then_some(metadata))
            .map_err(|error| Error::NotSafetensors { reason: error.to_string() })
    }
}

/// A tensor to be written.
enum Element<'a> {
    Float(&'a Tensor),
    Integer(&'a Tensor<i64>),
}

impl View for Element<'_> {
    fn dtype(&self) -> Dtype {
        match self {
            Self::Float(_) => Dtype::F32,
            Self::Integer(_) => Dtype::I64,
        }
    }

    fn shape(&self) -> &[usize] {
        match self {
            Self::Float(tensor) => tensor.shape(),
            Self::Integer(tensor) => tensor.shape(),
        }
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match self {
            Self::Float(tensor) => tensor.values().iter().flat_map(|x| x.to_le_bytes()).collect(),
            Self::Integer(tensor) => tensor.values().iter().flat_map(|x| x.to_le_bytes()).collect(),
        }
    }

    fn data_len(&self) -> usize {
        match self {
            Self::Float(tensor) => size_of_val(tensor.values()),
            Self::Integer(tensor) => size_of_val(tensor.values()),
        }
    }
}

/// The values of a floating-point tensor; `None` if it holds something else.
fn floats(view: &TensorView) -> Option<Vec<f32>> {
    let bytes = view.data();
    Some(match view.dtype() {
        Dtype::F16 => map_words(bytes, |word| half_precision(u16::from_le_bytes(word))),
        // The upper half of an f32.
        Dtype::BF16 => map_words(bytes, |word| f32::from_bits(u32::from(u16::from_le_bytes(word)) << 16)),
        Dtype::F32 => map_words(bytes, f32::from_le_bytes),
        Dtype::F64 => map_words(bytes, |word| f64::from_le_bytes(word) as f32),
        _ => return None,
    })
}

/// The value of IEEE half precision's bits: sign, five of the exponent, ten of the mantissa. Every
/// value is one of f32. By hand, because the crate for it brings a parser of Rust into the build.
fn half_precision(bits: u16) -> f32 {
    let (sign, magnitude) = (u32::from(bits & 0x8000) << 16, u32::from(bits & 0x7fff));
    let widened = match magnitude >> 10 {
        // Zero and subnormal numbers: multiples of 2^-24.
        0 => (magnitude as f32 * 2.0_f32.powi(-24)).to_bits(),
        // Infinity and what is not a number.
        31 => 0x7f80_0000 | (magnitude & 0x03ff) << 13,
        // The exponent's bias is 127 instead of 15.
        _ => (magnitude << 13) + ((127 - 15) << 23),
    };
    f32::from_bits(sign | widened)
}

fn integers(name: &str, view: &TensorView) -> Result<Vec<i64>, Error> {
    let bytes = view.data();
    Ok(match view.dtype() {
        Dtype::BOOL | Dtype::U8 => map_words(bytes, |[byte]| i64::from(byte)),
        Dtype::I8 => map_words(bytes, |word| i64::from(i8::from_le_bytes(word))),
        Dtype::I16 => map_words(bytes, |word| i64::from(i16::from_le_bytes(word))),
        Dtype::U16 => map_words(bytes, |word| i64::from(u16::from_le_bytes(word))),
        Dtype::I32 => map_words(bytes, |word| i64::from(i32::from_le_bytes(word))),
        Dtype::U32 => map_words(bytes, |word| i64::from(u32::from_le_bytes(word))),
        Dtype::I64 => map_words(bytes, i64::from_le_bytes),
        Dtype::U64 => map_words(bytes, u64::from_le_bytes)
            .into_iter()
            .map(|value| i64::try_from(value).map_err(|_| Error::Integer { name: name.to_owned(), value }))
            .collect::<Result<_, _>>()?,
        other => return Err(Error::ElementType { name: name.to_owned(), dtype: other.to_string() }),
    })
}

fn map_words<const N: usize, T>(bytes: &[u8], value: impl Fn([u8; N]) -> T) -> Vec<T> {
    bytes.as_chunks::<N>().0.iter().map(|word| value(*word)).collect()
}

#[cfg(test)]
mod tests {
    use super::half_precision;

    /// All 65,536 patterns against the definition in f64.
    #[test]
    fn every_half_precision_number_is_what_the_standard_says() {
        for bits in 0..=u16::MAX {
            let (exponent, mantissa) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
            let magnitude = match exponent {
                0 => mantissa * 2_f64.powi(-14),
                31 if mantissa > 0.0 => f64::NAN,
                31 => f64::INFINITY,
                _ => (1.0 + mantissa) * 2_f64.powi(exponent - 15),
            };
            let (found, expected) =
                (half_precision(bits), if bits >> 15 == 1 { -magnitude } else { magnitude });
            assert_eq!(found.is_sign_negative(), bits >> 15 == 1, "{bits:04x}");
            assert!(
                f64::from(found) == expected || found.is_nan() && expected.is_nan(),
                "{bits:04x}: {found}"
            );
        }
    }
}
