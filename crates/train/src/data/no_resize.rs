//! What takes the place of `resize.rs` in a build that has no photographs to resize.

use super::image::Window;
use super::{Mismatch, Rgb};

/// Buffers that are worth keeping from one photograph to the next.
#[derive(Debug, Default)]
pub struct Scratch {}

impl Scratch {
    pub(crate) fn crop_then_resize(&mut self, _: &Rgb, window: Window, _: usize) -> Result<&[u8], Mismatch> {
        Err(missing(&format!(
            "a window of {}x{} at {}, {}",
            window.width, window.height, window.left, window.top
        )))
    }

    pub(crate) fn resize_then_crop(
        &mut self,
        _: &Rgb,
        full: (usize, usize),
        _: (usize, usize),
        _: usize,
    ) -> Result<&[u8], Mismatch> {
        Err(missing(&format!("a photograph to be resized to {}x{}", full.0, full.1)))
    }
}

fn missing(found: &str) -> Mismatch {
    Mismatch::new("a build with the feature `images`, which resizes photographs", found.to_owned())
}
