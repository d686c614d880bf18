//! Bilinear resizing with antialiasing, as the Python imaging library does it up to one step of
//! 255: the triangle filter is widened by the factor of reduction. In fixed point, so that every
//! CPU gives the same bytes.

use fast_image_resize::images::{TypedCroppedImage, TypedImage, TypedImageRef};
use fast_image_resize::pixels::U8x3;
use fast_image_resize::{FilterType, ResizeAlg, ResizeOptions, Resizer};

use super::image::Window;
use super::{Mismatch, Rgb};

/// Buffers that are worth keeping from one photograph to the next.
#[derive(Debug, Default)]
pub struct Scratch {
    resizer: Resizer,
    pixels: Vec<u8>,
}

fn failed(error: impl std::fmt::Display) -> Mismatch {
    Mismatch::new("a photograph that can be resized", error.to_string())
}

impl Scratch {
    /// Cuts out the window, then resizes it to `side` x `side`: pixels outside have no influence.
    pub(crate) fn crop_then_resize(
        &mut self,
        image: &Rgb,
        window: Window,
        side: usize,
    ) -> Result<&[u8], Mismatch> {
        self.resize(image, window, &options(), side)
    }

    /// Resizes the whole to `full` = (width, height), then cuts out the square of `side` at (left,
    /// top) of that; but computes no more than this square, which also keeps a very long photograph
    /// from filling the memory.
    pub(crate) fn resize_then_crop(
        &mut self,
        image: &Rgb,
        full: (usize, usize),
        (left, top): (usize, usize),
        side: usize,
    ) -> Result<&[u8], Mismatch> {
        let (x, y) = (image.width() as f64 / full.0 as f64, image.height() as f64 / full.1 as f64);
        let side_f = side as f64;
        let options = options().crop(left as f64 * x, top as f64 * y, side_f * x, side_f * y);
        let whole = Window { left: 0, top: 0, width: image.width(), height: image.height() };
        self.resize(image, whole, &options, side)
    }

    /// Resizes a window by the options to `side` x `side`. The one place that does: the library's
    /// code for every instruction set is compiled once for each type of source.
    fn resize(
        &mut self,
        image: &Rgb,
        Window { left, top, width, height }: Window,
        options: &ResizeOptions,
        side: usize,
    ) -> Result<&[u8], Mismatch> {
        let source = source(image)?;
        let window =
            TypedCroppedImage::from_ref(&source, left as u32, top as u32, width as u32, height as u32)
                .map_err(failed)?;
        let mut target = target(&mut self.pixels, side)?;
        self.resizer.resize_typed(&window, &mut target, options).map_err(failed)?;
        Ok(&self.pixels)
    }
}

fn options() -> ResizeOptions {
    ResizeOptions::new().resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
}

// Typed images: without the type, code for every kind of pixel would be compiled, which takes
// minutes.
fn source(image: &Rgb) -> Result<TypedImageRef<'_, U8x3>, Mismatch> {
    TypedImageRef::from_buffer(image.width() as u32, image.height() as u32, image.pixels()).map_err(failed)
}

fn target(pixels: &mut Vec<u8>, side: usize) -> Result<TypedImage<'_, U8x3>, Mismatch> {
    pixels.resize(3 * side * side, 0);
    TypedImage::from_buffer(side as u32, side as u32, pixels).map_err(failed)
}

#[cfg(test)]
mod tests {
    use fast_image_resize::CpuExtensions;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// What the vector instructions of this CPU give is what any CPU gives.
        #[test]
        fn every_cpu_gives_the_same_bytes(
            width in 1..90_usize, height in 1..90_usize, side in 1..60_usize, seed in 0..255_usize,
        ) {
            let pixels = (0..width * height * 3).map(|i| ((i * i * (seed | 1)) >> 3) as u8).collect();
            let image = Rgb::new(width, height, pixels).unwrap();
            let window = Window { left: 0, top: 0, width, height };
            let (mut fast, mut portable) = (Scratch::default(), Scratch::default());
            // SAFETY: no extension at all is supported by every CPU.
            unsafe { portable.resizer.set_cpu_extensions(CpuExtensions::None) };
            let fast = fast.crop_then_resize(&image, window, side).unwrap();
            prop_assert_eq!(fast, portable.crop_then_resize(&image, window, side).unwrap());
        }
    }
}
