//! A convolution, planned: which algorithm runs each pass of a shape.
//!
//! The rules, measured with two threads (shares of the sgemm rate, `benches/kernels.rs`):
//!
//! - 1x1 without padding, groups of 32 channels or more: matrix products (`pointwise`), 90 to 110 %
//!   in all three passes on AVX2. The direct kernels gain by reading an input once for many kernel
//!   positions; with one position they reach 44 to 88 %. At 10 channels (batch 128) there is too
//!   little to multiply for what is packed, and direct is better.
//! - 3x3 of stride 1 with padding 1, groups of 32 channels or more: `winograd`, F(4 x 4, 3 x 3) in
//!   all passes. On AVX-512, batch 16, it has 1.5 to 3.1 times the sgemm rate from 64 to 512
//!   channels; groups of 24 gain 1.1 over the direct kernels at most, and narrower ones lose.
//!   - Transformed weights are four times the weights. With groups wider than 128 channels and than
//!     the image has pixels, a lone image would wait for them: forward passes, which know no batch,
//!     are F(2 x 2, 3 x 3) there, whose weights are not twice as large (11 to 16 % slower at batch 16).
//!   - Weight gradients of few pixels are F(2 x 2, 3 x 3) for their error; so are those of stride 2,
//!     1.1 to 1.8 times as fast as the direct kernel.
//! - Everything else: direct, also 3x3 of stride 2 at 99 to 106 % on AVX2 where groups are wide, so
//!   im2col and a product, which reaches at best 100 % less the copying, has no shape left to win.
//!
//! The batch does not enter, so that an image's result is the same in a batch of any size; weight
//! gradients, which are sums over the batch, go by their number of pixels.

use super::epilogue::Epilogue;
use super::input::Input;
use super::panels::Finish;
use super::pointwise::Pointwise;
use super::shape::{ConvShape, ShapeError};
use super::simd::Isa;
use super::weights::Weights;
use super::winograd::{self, Tile};
use super::{direct, direct_weights};
use crate::workers::ScratchLen;

/// Channels of a group from which 1x1 convolutions are matrix products and 3x3 ones Winograd's.
const WIDE: usize = 32;

/// Channels of a group up to which transformed weights cost little, however small the image.
const NARROW: usize = 128;

/// Columns of an image up to which a row of tiles stays in cache.
const WIDEST_IMAGE: usize = 256;

/// How 3x3 convolutions with padding 1 are computed, all passes of stride 1 and the weight gradient
/// of stride 2; others have one way each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// The fastest, by a rule of the group's width and the image's size.
    #[default]
    Fastest,
    /// Every multiplication of the definition.
    Direct,
    /// Winograd's F(2 x 2, 3 x 3): 16 multiplications for 36, and errors that are 0.3 to 0.8 times
    /// the direct kernel's forward and for the data gradient, 1.2 to 3.1 times for the weight
    /// gradient.
    Winograd2,
    /// Winograd's F(4 x 4, 3 x 3): 36 multiplications for 144, and errors of 1.3 to 2.4 times
    /// the direct kernel's, 2.7 to 3.4 times for the weight gradient. Weight gradients of fewer than
    /// 1024 pixels in all, for which they would be more than four times, or of stride 2, are those of
    /// F(2 x 2, 3 x 3).
    Winograd4,
}

impl Method {
    /// The tiles of the forward pass, none if it is computed directly.
    fn forward_tile(self, shape: &ConvShape) -> Option<Tile> {
        match self {
            Self::Fastest => is_wide(shape).then(|| fastest_forward(shape)),
            _ => self.gradient_tile(shape),
        }
    }

    /// The tiles of both gradients.
    fn gradient_tile(self, shape: &ConvShape) -> Option<Tile> {
        match self {
            Self::Fastest => is_wide(shape).then_some(Tile::Four),
            Self::Direct => None,
            Self::Winograd2 => Some(Tile::Two),
            Self::Winograd4 => Some(Tile::Four),
        }
    }
}

/// Whether Winograd's tiles pay; see the rules above.
fn is_wide(shape: &ConvShape) -> bool {
    shape.inputs.min(shape.outputs) >= WIDE && shape.width <= WIDEST_IMAGE
}

/// The fastest tiles of a forward pass in batches of any size; see the rules above.
fn fastest_forward(shape: &ConvShape) -> Tile {
    let width = shape.inputs.min(shape.outputs);
    if width <= NARROW || width <= shape.in_pixels() { Tile::Four } else { Tile::Two }
}

/// A convolution of one shape, ready to run its three passes.
///
/// Making one allocates small tables; the passes allocate nothing, run on rayon's current pool, and
/// give the same bits for any number of threads. Arrays are NCHW; weights are `[out channels][in
/// channels of the group][kernel][kernel]`. Results are overwritten, never added to. Slices of
/// other lengths than the shape's, or less scratch than [`Conv::scratch_len`] says, panic.
pub struct Conv {
    shape: ConvShape,
    algorithm: Algorithm,
}

/// How the passes of a shape are computed.
enum Algorithm {
    Pointwise(Box<Pointwise>),
    Spatial(Box<Spatial>),
}

/// A convolution whose kernel covers several pixels.
struct Spatial {
    forward: Pass,
    data_gradient: Pass,
    weight_gradient: WeightGradient,
}

/// Forward pass or data gradient.
enum Pass {
    Direct(direct::Pass),
    Winograd(winograd::Pass),
}

impl Pass {
    fn forward(shape: &ConvShape, tile: Option<Tile>, isa: Isa) -> Self {
        match tile.filter(|_| Tile::applies_to(shape)) {
            None => Self::Direct(direct::Pass::forward(shape, isa)),
            Some(tile) => Self::Winograd(winograd::Pass::forward(shape, tile, isa)),
        }
    }

    fn data_gradient(shape: &ConvShape, tile: Option<Tile>, isa: Isa) -> Self {
        match tile.filter(|_| Tile::applies_to(shape)) {
            None => Self::Direct(direct::Pass::data_gradient(shape, isa)),
            Some(tile) => Self::Winograd(winograd::Pass::data_gradient(shape, tile, isa)),
        }
    }

    fn scratch_len(&self) -> ScratchLen {
        match self {
            Self::Direct(pass) => pass.scratch_len(),
            Self::Winograd(pass) => pass.scratch_len(),
        }
    }

    fn prepared_len(&self) -> usize {
        match self {
            Self::Direct(pass) => pass.prepared_len(),
            Self::Winograd(pass) => pass.prepared_len(),
        }
    }

    fn prepare(&self, weights: &[f32], to: &mut [f32], scratch: &mut [f32]) {
        match self {
            Self::Direct(pass) => pass.pack_all(weights, to),
            Self::Winograd(pass) => pass.transform_weights(weights, to, scratch),
        }
    }

    fn run(
        &self,
        input: Input,
        weights: Weights,
        finish: Option<Finish>,
        epilogue: Option<&dyn Epilogue>,
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        match self {
            Self::Direct(pass) => pass.run(input, weights, finish, epilogue, output, scratch),
            Self::Winograd(pass) => {
                assert!(epilogue.is_none(), "tiles are not shown");
                pass.run(input, weights, finish, output, scratch);
            }
        }
    }
}

enum WeightGradient {
    Direct(direct_weights::WeightGradient),
    Winograd(winograd::WeightGradient),
}

impl WeightGradient {
    fn new(shape: &ConvShape, tile: Option<Tile>, isa: Isa) -> Self {
        match tile.filter(|_| winograd::WeightGradient::applies_to(shape)) {
            None => Self::Direct(direct_weights::WeightGradient::new(shape, isa)),
            Some(tile) => Self::Winograd(winograd::WeightGradient::new(shape, tile, isa)),
        }
    }

    fn scratch_len(&self) -> ScratchLen {
        match self {
            Self::Direct(pass) => pass.scratch_len(),
            Self::Winograd(pass) => pass.scratch_len(),
        }
    }

    fn run(&self, input: Input, out_grad: &[f32], weight_grad: &mut [f32], scratch: &mut [f32]) {
        match self {
            Self::Direct(pass) => pass.run(input, out_grad, weight_grad, scratch),
            Self::Winograd(pass) => pass.run(input, out_grad, weight_grad, scratch),
        }
    }
}

impl Conv {
    /// Plans a shape for the best instructions of this CPU.
    ///
    /// # Errors
    ///
    /// If the shape is not valid, see [`ConvShape::validate`].
    pub fn new(shape: ConvShape) -> Result<Self, ShapeError> {
        Self::with_isa(shape, Isa::detect())
    }

    /// Plans a shape for given instructions; panics if this CPU lacks them.
    ///
    /// # Errors
    ///
    /// If the shape is not valid, see [`ConvShape::validate`].
    pub fn with_isa(shape: ConvShape, isa: Isa) -> Result<Self, ShapeError> {
        Self::with_method(shape, isa, Method::Fastest)
    }

    /// Plans a shape for given instructions and a method; panics if this CPU lacks them.
    ///
    /// # Errors
    ///
    /// If the shape is not valid, see [`ConvShape::validate`].
    pub fn with_method(shape: ConvShape, isa: Isa, method: Method) -> Result<Self, ShapeError> {
        shape.validate()?;
        let wide = shape.inputs.min(shape.outputs) >= WIDE;
        let algorithm = if Pointwise::applies_to(&shape) && wide {
            Algorithm::Pointwise(Box::new(Pointwise::new(&shape, isa)))
        } else {
            let gradients = method.gradient_tile(&shape);
            Algorithm::Spatial(Box::new(Spatial {
                forward: Pass::forward(&shape, method.forward_tile(&shape), isa),
                data_gradient: Pass::data_gradient(&shape, gradients, isa),
                weight_gradient: WeightGradient::new(&shape, gradients, isa),
            }))
        };
        Ok(Self { shape, algorithm })
    }

    /// The planned shape.
    #[must_use]
    pub fn shape(&self) -> &ConvShape {
        &self.shape
    }

    /// Floats of scratch that any pass needs on a pool of `threads`.
    #[must_use]
    pub fn scratch_len(&self, threads: usize) -> usize {
        let lens = match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.scratch_lens(),
            Algorithm::Spatial(spatial) => [
                spatial.forward.scratch_len(),
                spatial.data_gradient.scratch_len(),
                spatial.weight_gradient.scratch_len(),
            ],
        };
        lens.into_iter().map(|len| len.total(threads)).fold(0, usize::max)
    }

    /// `output = input * weights`.
    pub fn forward(&self, input: &[f32], weights: &[f32], output: &mut [f32], scratch: &mut [f32]) {
        self.forward_of(Input::plain(input), weights, None, None, output, scratch);
    }

    /// Floats that the forward pass makes of the weights.
    pub(crate) fn prepared_len(&self) -> usize {
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.forward_product().prepared_len(),
            Algorithm::Spatial(spatial) => spatial.forward.prepared_len(),
        }
    }

    /// What the forward pass makes of the weights, for [`Conv::forward_prepared`].
    pub(crate) fn prepare(&self, weights: &[f32], to: &mut [f32], scratch: &mut [f32]) {
        assert_eq!(weights.len(), self.shape.weight_len(), "the weights do not have the plan's shape");
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.forward_product().pack_all(weights, to),
            Algorithm::Spatial(spatial) => spatial.forward.prepare(weights, to, scratch),
        }
    }

    /// As [`Conv::forward`] or, with a bias, [`Conv::forward_with_bias`], from prepared weights: the
    /// same bits.
    pub(crate) fn forward_prepared(
        &self,
        input: &[f32],
        prepared: &[f32],
        bias: Option<(&[f32], f32)>,
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        assert_eq!(prepared.len(), self.prepared_len(), "the weights were prepared by another plan");
        let finish = bias.map(|bias| self.finish(bias));
        self.run_forward(Input::plain(input), Weights::Prepared(prepared), finish, None, output, scratch);
    }

    fn finish<'a>(&self, (bias, floor): (&'a [f32], f32)) -> Finish<'a> {
        let channels = self.shape.groups * self.shape.outputs;
        assert_eq!(bias.len(), channels, "the biases do not have the plan's shape");
        Finish { bias, floor }
    }

    /// `output = max(input * weights + bias, floor)`, a bias per channel, while the output is in
    /// cache. A floor of 0 is a ReLU, one of minus infinity none.
    pub fn forward_with_bias(
        &self,
        input: &[f32],
        weights: &[f32],
        bias: (&[f32], f32),
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.forward_of(Input::plain(input), weights, Some(bias), None, output, scratch);
    }

    /// Blocks of the forward pass that an epilogue sees; none if it sees nothing.
    pub(crate) fn blocks(&self) -> Option<usize> {
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => Some(pointwise.blocks()),
            Algorithm::Spatial(spatial) => match &spatial.forward {
                Pass::Direct(pass) => Some(pass.blocks()),
                Pass::Winograd(_) => None,
            },
        }
    }

    /// [`forward`](Self::forward) of an input that may be read through a norm, with a bias and a
    /// floor where they are given; an epilogue sees the results if there are
    /// [blocks](Self::blocks).
    pub(crate) fn forward_of(
        &self,
        input: Input,
        weights: &[f32],
        bias: Option<(&[f32], f32)>,
        epilogue: Option<&dyn Epilogue>,
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        let finish = bias.map(|bias| self.finish(bias));
        self.run_forward(input, Weights::Plain(weights), finish, epilogue, output, scratch);
    }

    fn run_forward(
        &self,
        input: Input,
        weights: Weights,
        finish: Option<Finish>,
        epilogue: Option<&dyn Epilogue>,
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.check_input(input);
        let weights_len = match weights {
            Weights::Plain(weights) => weights.len(),
            Weights::Prepared(_) => self.shape.weight_len(),
        };
        self.shape.check(input.values.len(), weights_len, output.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => {
                pointwise.forward(input, weights, finish, epilogue, output, scratch);
            }
            Algorithm::Spatial(spatial) => {
                spatial.forward.run(input, weights, finish, epilogue, output, scratch);
            }
        }
    }

    /// The gradient of the input from that of the output.
    pub fn data_gradient(&self, out_grad: &[f32], weights: &[f32], in_grad: &mut [f32], scratch: &mut [f32]) {
        self.shape.check(in_grad.len(), weights.len(), out_grad.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.data_gradient(out_grad, weights, in_grad, scratch),
            Algorithm::Spatial(spatial) => {
                spatial.data_gradient.run(
                    Input::plain(out_grad),
                    Weights::Plain(weights),
                    None,
                    None,
                    in_grad,
                    scratch,
                );
            }
        }
    }

    /// The gradient of the weights from the input and the gradient of the output, summed over the
    /// batch.
    pub fn weight_gradient(
        &self,
        input: &[f32],
        out_grad: &[f32],
        weight_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.weight_gradient_of(Input::plain(input), out_grad, weight_grad, scratch);
    }

    /// [`weight_gradient`](Self::weight_gradient) of an input that may be read through a norm.
    pub(crate) fn weight_gradient_of(
        &self,
        input: Input,
        out_grad: &[f32],
        weight_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.check_input(input);
        self.shape.check(input.values.len(), weight_grad.len(), out_grad.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => {
                pointwise.weight_gradient(input, out_grad, weight_grad, scratch);
            }
            Algorithm::Spatial(spatial) => spatial.weight_gradient.run(input, out_grad, weight_grad, scratch),
        }
    }

    fn check_input(&self, input: Input) {
        let channels = self.shape.groups * self.shape.inputs;
        let whole = input
            .through
            .is_none_or(|through| (through.slopes.len(), through.shifts.len()) == (channels, channels));
        assert!(whole, "the norm does not have the plan's channels");
    }
}
