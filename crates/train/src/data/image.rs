//! Photographs: red, green and blue bytes.

use super::Mismatch;

/// A rectangle of pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    pub(crate) left: usize,
    pub(crate) top: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

/// A decoded photograph, rows of interleaved red, green and blue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rgb {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Rgb {
    /// From `height` rows of `width` pixels of three bytes; `None` where sizes disagree or there is
    /// no pixel.
    pub fn new(width: usize, height: usize, pixels: Vec<u8>) -> Option<Self> {
        let length = width.checked_mul(height)?.checked_mul(3)?;
        (length > 0 && pixels.len() == length).then_some(Self { width, height, pixels })
    }

    /// Decodes a JPEG or PNG file, told apart by content: ImageNet has a PNG that is named `.JPEG`.
    /// Grey is repeated to three channels, transparency dropped, 16 bits cut to 8, CMYK converted.
    #[cfg(feature = "images")]
    pub fn decode(file: &[u8]) -> Result<Self, Mismatch> {
        super::decode::decode(file)
    }

    /// Refuses every file: this build cannot decode photographs.
    #[cfg(not(feature = "images"))]
    pub fn decode(_file: &[u8]) -> Result<Self, Mismatch> {
        Err(Mismatch::new("a build with the feature `images`, which decodes photographs", "one without it"))
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Three bytes per pixel, row by row.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }
}
