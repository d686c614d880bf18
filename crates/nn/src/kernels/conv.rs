//! A planned convolution and its three passes.

use super::algorithm::Algorithm;
use super::epilogue::Bias;
use super::input::Input;
use super::method::Method;
use super::shape::{ConvShape, ShapeError};
use super::simd::Isa;
use super::weights::{Operands, Weights};

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
        let algorithm = Algorithm::new(&shape, isa, method);
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
        let lens = self.algorithm.scratch_lens();
        lens.into_iter().map(|len| len.total(threads)).fold(0, usize::max)
    }

    /// `output = input * weights`.
    pub fn forward(&self, input: &[f32], weights: &[f32], output: &mut [f32], scratch: &mut [f32]) {
        self.forward_of(Operands::plain(input, weights), output, scratch);
    }

    /// Floats of packed or transformed weights.
    pub(crate) fn prepared_len(&self) -> usize {
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.forward_product().prepared_len(),
            Algorithm::Spatial(spatial) => spatial.forward.prepared_len(),
        }
    }

    /// Packs or transforms the weights for [`Conv::forward_prepared`].
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
        bias: Option<Bias>,
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        assert_eq!(prepared.len(), self.prepared_len(), "the weights were prepared by another plan");
        let (input, weights) = (Input::plain(input), Weights::Prepared(prepared));
        self.forward_of(Operands { input, weights, bias, epilogue: None }, output, scratch);
    }

    /// `output = max(input * weights + bias, floor)`, a bias per channel, while the output is in
    /// cache. A floor of 0 is a ReLU, one of minus infinity none.
    pub fn forward_with_bias(
        &self,
        input: &[f32],
        weights: &[f32],
        bias: Bias,
        output: &mut [f32],
        scratch: &mut [f32],
    ) {
        self.forward_of(Operands { bias: Some(bias), ..Operands::plain(input, weights) }, output, scratch);
    }

    /// Blocks of the forward pass that an epilogue sees; none if it sees nothing.
    pub(crate) fn blocks(&self) -> Option<usize> {
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => Some(pointwise.blocks()),
            Algorithm::Spatial(spatial) => spatial.forward.blocks(),
        }
    }

    /// [`forward`](Self::forward) of any operands.
    pub(crate) fn forward_of(&self, operands: Operands, output: &mut [f32], scratch: &mut [f32]) {
        let Operands { input, weights, bias, .. } = operands;
        self.check_input(input);
        let channels = self.shape.groups * self.shape.outputs;
        assert!(
            bias.is_none_or(|bias| bias.values.len() == channels),
            "the biases do not have the plan's shape"
        );
        let weights_len = match weights {
            Weights::Plain(weights) => weights.len(),
            Weights::Prepared(_) => self.shape.weight_len(),
        };
        self.shape.check(input.values.len(), weights_len, output.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => {
                pointwise.forward(operands, output, scratch);
            }
            Algorithm::Spatial(spatial) => {
                spatial.forward.run(operands, output, scratch);
            }
        }
    }

    /// The gradient of the input from that of the output.
    pub fn data_gradient(&self, out_grad: &[f32], weights: &[f32], in_grad: &mut [f32], scratch: &mut [f32]) {
        self.shape.check(in_grad.len(), weights.len(), out_grad.len());
        match &self.algorithm {
            Algorithm::Pointwise(pointwise) => pointwise.data_gradient(out_grad, weights, in_grad, scratch),
            Algorithm::Spatial(spatial) => {
                spatial.data_gradient.run(Operands::plain(out_grad, weights), in_grad, scratch);
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
