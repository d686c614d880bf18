//! Shape of a convolution, and its checks.

use thiserror::Error;

/// A two-dimensional convolution over a batch of images in NCHW, with square kernels.
///
/// Channels are given per group, so that every value describes a convolution whose groups are
/// whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvShape {
    /// Images.
    pub batch: usize,
    /// Groups (the multiplicity m of the ensemble); 1 is a dense convolution.
    pub groups: usize,
    /// Input channels of each group.
    pub inputs: usize,
    /// Output channels of each group (the width n).
    pub outputs: usize,
    /// Rows of an input image.
    pub height: usize,
    /// Columns of an input image.
    pub width: usize,
    /// Rows and columns of the kernel.
    pub kernel: usize,
    /// Step of the kernel.
    pub stride: usize,
    /// Zeros around the image, on each side.
    pub padding: usize,
}

/// Why a [`ConvShape`] cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// A count is zero.
    #[error("{0} of a convolution is 0, but must be at least 1")]
    Zero(&'static str),
    /// The kernel is larger than the padded image.
    #[error("a kernel of {kernel} does not fit an image of {height}x{width} padded by {padding}")]
    KernelTooLarge {
        /// Rows and columns of the kernel.
        kernel: usize,
        /// Rows of the image.
        height: usize,
        /// Columns of the image.
        width: usize,
        /// Zeros on each side.
        padding: usize,
    },
    /// An array would have more than 2^31 elements, which the kernels' tables of offsets do not
    /// address.
    #[error("an image of {0} values is too large, at most 2147483647 are accepted")]
    TooLarge(u128),
}

impl ConvShape {
    /// A 3x3 convolution with padding 1, `width` channels in and out of each group.
    #[must_use]
    pub fn grouped3x3(batch: usize, groups: usize, width: usize, size: usize, stride: usize) -> Self {
        Self {
            batch,
            groups,
            inputs: width,
            outputs: width,
            height: size,
            width: size,
            kernel: 3,
            stride,
            padding: 1,
        }
    }

    /// A dense 1x1 convolution.
    #[must_use]
    pub fn pointwise(batch: usize, inputs: usize, outputs: usize, size: usize, stride: usize) -> Self {
        Self { batch, groups: 1, inputs, outputs, height: size, width: size, kernel: 1, stride, padding: 0 }
    }

    /// Checks that the shape has an output.
    ///
    /// # Errors
    ///
    /// If a count is zero, the kernel does not fit the padded image, or an image is beyond 2^31
    /// values.
    pub fn validate(&self) -> Result<(), ShapeError> {
        let counts = [
            (self.batch, "the batch"),
            (self.groups, "the number of groups"),
            (self.inputs, "the number of input channels"),
            (self.outputs, "the number of output channels"),
            (self.height, "the height"),
            (self.width, "the width"),
            (self.kernel, "the kernel"),
            (self.stride, "the stride"),
        ];
        if let Some((_, name)) = counts.iter().find(|(count, _)| *count == 0) {
            return Err(ShapeError::Zero(name));
        }
        let Self { height, width, kernel, padding, .. } = *self;
        // Beyond any real image, and safe to add and multiply below.
        let wide = |n: usize| n as u128;
        let padded = (wide(height) + 2 * wide(padding)) * (wide(width) + 2 * wide(padding));
        let channels = wide(self.groups) * wide(self.inputs.max(self.outputs)) * wide(self.batch);
        let values = padded.saturating_mul(channels.max(wide(kernel) * wide(kernel)));
        if values >= 1 << 40 || padded.saturating_mul(wide(self.inputs.max(self.outputs))) >= 1 << 31 {
            return Err(ShapeError::TooLarge(padded.saturating_mul(wide(self.inputs.max(self.outputs)))));
        }
        if kernel > height + 2 * padding || kernel > width + 2 * padding {
            return Err(ShapeError::KernelTooLarge { kernel, height, width, padding });
        }
        Ok(())
    }

    /// Rows of an output image.
    #[must_use]
    pub fn out_height(&self) -> usize {
        (self.height + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Columns of an output image.
    #[must_use]
    pub fn out_width(&self) -> usize {
        (self.width + 2 * self.padding - self.kernel) / self.stride + 1
    }

    /// Values of one channel of an input image.
    pub(crate) fn in_pixels(&self) -> usize {
        self.height * self.width
    }

    /// Values of one channel of an output image.
    pub(crate) fn out_pixels(&self) -> usize {
        self.out_height() * self.out_width()
    }

    /// Weights of one output channel: input channels of its group x kernel positions.
    pub(crate) fn fan_in(&self) -> usize {
        self.inputs * self.kernel * self.kernel
    }

    /// Floats of the input, `[batch][groups * inputs][height][width]`.
    #[must_use]
    pub fn input_len(&self) -> usize {
        self.batch * self.groups * self.inputs * self.in_pixels()
    }

    /// Floats of the output, `[batch][groups * outputs][out_height][out_width]`.
    #[must_use]
    pub fn output_len(&self) -> usize {
        self.batch * self.groups * self.outputs * self.out_pixels()
    }

    /// Floats of the weights, `[groups * outputs][inputs][kernel][kernel]`.
    #[must_use]
    pub fn weight_len(&self) -> usize {
        self.groups * self.outputs * self.fan_in()
    }

    /// Floating-point operations of one pass, multiplications and additions, padding counted as
    /// work (each of the three passes has as many).
    #[must_use]
    pub fn flops(&self) -> f64 {
        2.0 * self.output_len() as f64 * self.fan_in() as f64
    }

    /// Panics unless the three arrays have this shape's lengths.
    pub(crate) fn check(&self, input: usize, weights: usize, output: usize) {
        assert_eq!(input, self.input_len(), "the input does not have the plan's shape");
        assert_eq!(weights, self.weight_len(), "the weights do not have the plan's shape");
        assert_eq!(output, self.output_len(), "the output does not have the plan's shape");
    }
}
