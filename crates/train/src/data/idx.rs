//! The IDX files of MNIST and Fashion-MNIST, plain or gzipped.
//!
//! All integers are big-endian: a magic number whose last byte is the number of dimensions, one
//! `u32` per dimension, then one byte per value.

use std::borrow::Cow;
use std::io::Read;

use flate2::bufread::GzDecoder;

use super::{Mismatch, Shape, amplification};

const IMAGES: u32 = 0x0803;
const LABELS: u32 = 0x0801;
/// Larger sides are not digits; the bound also keeps the products below from overflowing.
const MAX_SIDE: u32 = 1024;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// An image file: its shape (one channel) and the pixels of all images in a row.
pub(crate) fn images(bytes: &[u8]) -> Result<(Shape, Vec<u8>), Mismatch> {
    let (header, body) = open::<4>(bytes, IMAGES, "an IDX image file (magic number 0x00000803)")?;
    let [_, count, height, width] = header;
    if count == 0 || !(1..=MAX_SIDE).contains(&height) || !(1..=MAX_SIDE).contains(&width) {
        return Err(Mismatch::new(
            format!("at least one image with sides of 1 to {MAX_SIDE} pixels"),
            format!("{count} images of {height}x{width}"),
        ));
    }
    let size = u64::from(count) * u64::from(height) * u64::from(width);
    check_unpacked(bytes, size)?;
    let pixels = exactly(body, size, || format!("{count} images of {height}x{width} bytes"))?;
    Ok((Shape { channels: 1, height: height as usize, width: width as usize }, pixels))
}

/// A label file.
pub(crate) fn labels(bytes: &[u8]) -> Result<Vec<u8>, Mismatch> {
    let ([_, count], body) = open::<2>(bytes, LABELS, "an IDX label file (magic number 0x00000801)")?;
    check_unpacked(bytes, count.into())?;
    exactly(body, u64::from(count), || format!("{count} labels of one byte"))
}

/// Refuses a gzip file whose header promises more than it may become.
fn check_unpacked(file: &[u8], size: u64) -> Result<(), Mismatch> {
    let limit = amplification::limit(file.len() as u64);
    if !file.starts_with(&GZIP) || size <= limit {
        return Ok(());
    }
    Err(Mismatch::new(
        format!(
            "at most {limit} bytes in a gzip file of {} ({})",
            file.len(),
            amplification::raised_to(size)
        ),
        format!("{size} bytes"),
    ))
}

/// Reads the header of `N` words and returns it with the reader of what follows.
fn open<'a, const N: usize>(
    bytes: &'a [u8],
    magic: u32,
    what: &'static str,
) -> Result<([u32; N], Box<dyn Read + 'a>), Mismatch> {
    let mut body: Box<dyn Read + 'a> =
        if bytes.starts_with(&GZIP) { Box::new(GzDecoder::new(bytes)) } else { Box::new(bytes) };
    let mut header = [0_u32; N];
    for (i, word) in header.iter_mut().enumerate() {
        let mut raw = [0; 4];
        body.read_exact(&mut raw).map_err(|_| {
            Mismatch::new(what, format!("a file that ends (or breaks off) in its header, after {i} words"))
        })?;
        *word = u32::from_be_bytes(raw);
        if i == 0 && *word != magic {
            return Err(Mismatch::new(what, describe_magic(*word)));
        }
    }
    Ok((header, body))
}

fn describe_magic(word: u32) -> Cow<'static, str> {
    match word {
        IMAGES => "an IDX image file".into(),
        LABELS => "an IDX label file".into(),
        _ => format!("a file that starts with 0x{word:08x}").into(),
    }
}

/// Reads the body, which must hold `expected` bytes and not one more. The vector grows with what is
/// really there, not with what the header says.
fn exactly(body: Box<dyn Read + '_>, expected: u64, what: impl Fn() -> String) -> Result<Vec<u8>, Mismatch> {
    let mut values = Vec::new();
    body.take(expected + 1)
        .read_to_end(&mut values)
        .map_err(|error| Mismatch::new(what(), format!("a gzip stream that breaks off ({error})")))?;
    match (values.len() as u64).cmp(&expected) {
        std::cmp::Ordering::Equal => Ok(values),
        std::cmp::Ordering::Less => Err(Mismatch::new(what(), format!("only {} bytes", values.len()))),
        std::cmp::Ordering::Greater => Err(Mismatch::new(what(), "more bytes than that")),
    }
}
