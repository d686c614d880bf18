//! The shape of what flows through a network, one image at a time.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::error::{MAX_IMAGE_SIDE, dimension, within};

/// Channels x height x width of one image (1 x 1 pixel behind dense layers).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Channels, or units of a dense layer.
    pub channels: usize,
    /// Rows of pixels.
    #[serde(default = "one")]
    pub height: usize,
    /// Columns of pixels.
    #[serde(default = "one")]
    pub width: usize,
}

fn one() -> usize {
    1
}

impl Shape {
    /// A flat vector.
    pub fn vector(channels: usize) -> Self {
        Self { channels, height: 1, width: 1 }
    }

    /// A square image.
    pub fn image(channels: usize, side: usize) -> Self {
        Self { channels, height: side, width: side }
    }

    /// Number of pixels.
    pub fn pixels(&self) -> usize {
        self.height * self.width
    }

    /// Number of values.
    pub fn elements(&self) -> u128 {
        self.channels as u128 * self.pixels() as u128
    }

    pub(crate) fn check(&self, what: &str) -> Result<(), Error> {
        dimension(format_args!("the number of channels of {what}"), self.channels)?;
        within(format_args!("the height of {what}"), self.height, 1, MAX_IMAGE_SIDE)?;
        within(format_args!("the width of {what}"), self.width, 1, MAX_IMAGE_SIDE)?;
        Ok(())
    }
}

/// `64x8x8`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}x{}x{}", self.channels, self.height, self.width))
    }
}
