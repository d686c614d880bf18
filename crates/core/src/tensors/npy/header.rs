//! The header of a .npy file: a Python dict literal that tells type, order and shape.

use super::{Dtype, MAGIC, NpyError};

/// The text of the header, and where the array's bytes start.
pub(super) fn text(bytes: &[u8]) -> Result<(&str, usize), NpyError> {
    let rest = bytes
        .strip_prefix(MAGIC)
        .ok_or_else(|| NpyError::new("an .npy array (magic bytes 0x93 NUMPY)", "other bytes"))?;
    let (width, length) = match rest {
        [1, _, a, b, ..] => (2, u32::from(u16::from_le_bytes([*a, *b]))),
        [2 | 3, _, a, b, c, d, ..] => (4, u32::from_le_bytes([*a, *b, *c, *d])),
        [version, ..] if !(1..=3).contains(version) => {
            return Err(NpyError::new("an .npy array of version 1, 2 or 3", format!("version {version}")));
        }
        _ => return Err(NpyError::new("an .npy header", "a file that ends before it")),
    };
    let start = MAGIC.len() + 2 + width;
    let end = start + length as usize;
    let text = bytes.get(start..end).ok_or_else(|| {
        NpyError::new(format!("an .npy header of {length} bytes"), "a file that ends before it")
    })?;
    let text = str::from_utf8(text).map_err(|_| NpyError::new("a textual .npy header", "other bytes"))?;
    Ok((text, end))
}

/// What the header says.
pub(super) struct Header {
    pub dtype: Dtype,
    pub shape: Vec<usize>,
}

impl Header {
    /// Reads `{'descr': '|u1', 'fortran_order': False, 'shape': (100, 3072), }`, the keys in any
    /// order.
    pub(super) fn parse(text: &str) -> Result<Self, NpyError> {
        let bad = || {
            let start: String = text.trim_end().chars().take(80).collect();
            NpyError::new("an .npy header with descr, fortran_order and shape", format!("{start:?}"))
        };
        let (mut dtype, mut fortran, mut shape) = (None, None, None);
        let mut rest = text.trim().strip_prefix('{').ok_or_else(bad)?.trim_start();
        while !rest.starts_with('}') {
            let (key, tail) = quoted(rest).ok_or_else(bad)?;
            let tail = tail.trim_start().strip_prefix(':').ok_or_else(bad)?.trim_start();
            rest = match key {
                "descr" => {
                    let (descr, tail) = quoted(tail).ok_or_else(bad)?;
                    dtype = Some(Dtype::from_descr(descr)?);
                    tail
                }
                "fortran_order" => {
                    let value =
                        ["False", "True"].iter().position(|word| tail.starts_with(word)).ok_or_else(bad)?;
                    fortran = Some(value == 1);
                    tail.trim_start_matches(char::is_alphabetic)
                }
                "shape" => {
                    let (inside, tail) =
                        tail.strip_prefix('(').and_then(|t| t.split_once(')')).ok_or_else(bad)?;
                    shape = Some(dimensions(inside).ok_or_else(bad)?);
                    tail
                }
                _ => return Err(bad()),
            }
            .trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        let (Some(dtype), Some(fortran), Some(shape)) = (dtype, fortran, shape) else { return Err(bad()) };
        if fortran && shape.len() > 1 {
            return Err(NpyError::new("an array in C order", "one in Fortran order"));
        }
        Ok(Self { dtype, shape })
    }
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// At most eight dimensions, as `3, 4` or `3,`.
fn dimensions(inside: &str) -> Option<Vec<usize>> {
    let inside = inside.trim().trim_end_matches(',');
    if inside.is_empty() {
        return Some(Vec::new());
    }
    let sizes: Vec<usize> =
        inside.split(',').take(9).map(|n| n.trim().parse().ok()).collect::<Option<_>>()?;
    (sizes.len() <= 8).then_some(sizes)
}
