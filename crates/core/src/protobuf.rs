//! Protocol buffers on the wire: a message is a sequence of numbered fields.
//!
//! By hand, for ONNX files and TensorBoard events alike, since they need four kinds of fields; a
//! crate would bring a code generator or a thousand generated lines with it. Reading borrows from
//! the bytes and believes no length before it has been checked, so hostile bytes can neither panic
//! nor make it allocate.

/// A message being written. Fields are written in the order of their numbers, as every library
/// does, so that equal messages are equal bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED_64: u64 = 1;
const LENGTH: u64 = 2;
const FIXED_32: u64 = 5;

impl Message {
    /// Adds an integer.
    #[must_use]
    pub fn int(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3 | VARINT);
        self.varint(value);
        self
    }

    /// Adds a 64-bit number.
    #[must_use]
    pub fn double(mut self, field: u64, value: f64) -> Self {
        self.varint(field << 3 | FIXED_64);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds a 32-bit number.
    #[must_use]
    pub fn float(mut self, field: u64, value: f32) -> Self {
        self.varint(field << 3 | FIXED_32);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Adds bytes.
    #[must_use]
    pub fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | LENGTH);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// Adds text.
    #[must_use]
    pub fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    /// Adds a message within this one.
    #[must_use]
    pub fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    /// The message on the wire.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The message on the wire, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// Bytes that are not the message that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A field ends behind the message, or is of no known kind.
    #[error("it is cut off or not a protocol buffer")]
    Field,
    /// A field of another kind in the place of a number.
    #[error("a field that should be a number is not")]
    Number,
    /// A number in the place of text or a message.
    #[error("a field that should be text or a message is not")]
    Bytes,
    /// Text in no encoding that we read.
    #[error("a text in it is not UTF-8")]
    Text,
}

/// The value of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// An integer.
    Int(u64),
    /// Bytes, text or a message.
    Bytes(&'a [u8]),
    /// Four or eight bytes, which nothing that we read has.
    Fixed,
}

impl<'a> Value<'a> {
    /// The integer, if it is one.
    pub fn int(self) -> Result<u64, WireError> {
        match self {
            Self::Int(value) => Ok(value),
            _ => Err(WireError::Number),
        }
    }

    /// The bytes, if it is bytes, text or a message.
    pub fn bytes(self) -> Result<&'a [u8], WireError> {
        match self {
            Self::Bytes(value) => Ok(value),
            _ => Err(WireError::Bytes),
        }
    }

    /// The text, if it is text.
    pub fn text(self) -> Result<&'a str, WireError> {
        std::str::from_utf8(self.bytes()?).map_err(|_| WireError::Text)
    }
}

/// The fields of a message, one after the other; nothing comes after an error.
#[derive(Clone)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), WireError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.0 = &[];
        }
        Some(field.ok_or(WireError::Field))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Value<'a>)> {
        let key = self.varint()?;
        let value = match key & 7 {
            VARINT => Value::Int(self.varint()?),
            LENGTH => {
                let length = usize::try_from(self.varint()?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            FIXED_32 => self.take(4).map(|_| Value::Fixed)?,
            FIXED_64 => self.take(8).map(|_| Value::Fixed)?,
            _ => return None,
        };
        Some((key >> 3, value)).filter(|(field, _)| *field > 0)
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = *self.take(1)?.first()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            fields in prop::collection::vec((1..5000_u64, any::<u64>(), prop::collection::vec(any::<u8>(), 0..300)), 0..9),
        ) {
            let mut message = Message::default();
            for (field, int, bytes) in &fields {
                message = message.int(*field, *int).bytes(*field, bytes).float(*field, 1.5);
            }
            let read: Result<Vec<_>, WireError> = Fields(message.as_bytes()).collect();
            let expected: Vec<_> = fields
                .iter()
                .flat_map(|(field, int, bytes)| [(*field, Value::Int(*int)), (*field, Value::Bytes(bytes)), (*field, Value::Fixed)])
                .collect();
            prop_assert_eq!(read.unwrap(), expected);
        }

        #[test]
        fn any_bytes_end(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            // Every field takes at least two bytes.
            prop_assert!(Fields(&bytes).count() <= bytes.len());
        }
    }

    #[test]
    fn lengths_are_not_believed() {
        let huge = [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f];
        assert!(Fields(&huge).next().unwrap().is_err());
        assert_eq!(Fields(&huge).count(), 1);
    }
}
