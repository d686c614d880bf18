//! A NumPy array as files hold it: a type, a shape and bytes.

use std::borrow::Cow;

use super::NpyError;

/// The element types that are read, little-endian.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dtype {
    /// Bytes.
    U8,
    /// Unsigned integers of 16 bits.
    U16,
    /// Signed integers of 32 bits.
    I32,
    /// Signed integers of 64 bits.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Dtype {
    /// From NumPy's short name without byte order, `u1` or `f8`.
    pub fn from_code(code: &str) -> Option<Self> {
        Some(match code {
            "u1" => Self::U8,
            "u2" => Self::U16,
            "i4" => Self::I32,
            "i8" => Self::I64,
            "f4" => Self::F32,
            "f8" => Self::F64,
            _ => return None,
        })
    }

    /// From NumPy's name with byte order, `|u1` or `<f8`.
    pub fn from_descr(descr: &str) -> Result<Self, NpyError> {
        descr.strip_prefix(['|', '<']).and_then(Self::from_code).ok_or_else(|| {
            NpyError::new(
                "an array of type u1, u2, i4, i8, f4 or f8, little-endian",
                format!("type {descr:?}"),
            )
        })
    }

    fn size(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }
}

/// An array in C order whose bytes fill its shape exactly.
#[derive(Debug, Clone)]
pub struct Array<'a> {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Array<'a> {
    /// Checks that the bytes are as many as the shape says.
    pub fn new(dtype: Dtype, shape: Vec<usize>, bytes: Cow<'a, [u8]>) -> Result<Self, NpyError> {
        let size = shape.iter().try_fold(dtype.size(), |product, &n| product.checked_mul(n));
        if size != Some(bytes.len()) {
            return Err(NpyError::new(
                format!("the bytes of an array of {dtype:?} of shape {shape:?}"),
                format!("{} bytes", bytes.len()),
            ));
        }
        Ok(Self { dtype, shape, bytes })
    }

    /// Rows of bytes: (number of columns, all rows).
    pub fn into_byte_rows(self) -> Result<(usize, Cow<'a, [u8]>), NpyError> {
        match (self.dtype, self.shape.as_slice()) {
            (Dtype::U8, &[_, columns]) => Ok((columns, self.bytes)),
            _ => Err(NpyError::new("a matrix of U8", self.describe())),
        }
    }

    /// A vector of integers.
    pub fn to_integers(&self) -> Result<Vec<i64>, NpyError> {
        let bytes = self.vector("a vector of integers")?;
        match self.dtype {
            Dtype::U8 => Ok(bytes.iter().map(|&b| i64::from(b)).collect()),
            Dtype::U16 => Ok(words(bytes).map(|w| i64::from(u16::from_le_bytes(w))).collect()),
            Dtype::I32 => Ok(words(bytes).map(|w| i64::from(i32::from_le_bytes(w))).collect()),
            Dtype::I64 => Ok(words(bytes).map(i64::from_le_bytes).collect()),
            Dtype::F32 | Dtype::F64 => Err(NpyError::new("a vector of integers", self.describe())),
        }
    }

    /// A vector of real numbers, in single precision.
    pub fn to_reals(&self) -> Result<Vec<f32>, NpyError> {
        self.vector("a vector of F32 or F64")?;
        self.reals()
    }

    /// Real numbers of any shape, in single precision and C order.
    pub fn reals(&self) -> Result<Vec<f32>, NpyError> {
        match self.dtype {
            Dtype::F32 => Ok(words(&self.bytes).map(f32::from_le_bytes).collect()),
            Dtype::F64 => Ok(words(&self.bytes).map(|w| f64::from_le_bytes(w) as f32).collect()),
            _ => Err(NpyError::new("an array of F32 or F64", self.describe())),
        }
    }

    /// Lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn vector(&self, what: &'static str) -> Result<&[u8], NpyError> {
        if self.shape.len() == 1 { Ok(&self.bytes) } else { Err(NpyError::new(what, self.describe())) }
    }

    fn describe(&self) -> String {
        format!("an array of {:?} of shape {:?}", self.dtype, self.shape)
    }
}

fn words<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; N]> {
    bytes.as_chunks::<N>().0.iter().copied()
}
