//! 1x1 convolutions without padding: matrix products, `output (out x pixels) = weights (out x in) *
//! input (in x pixels)`, the pixels being those of all images.
//!
//! The forward pass and the data gradient are a `product` each, the weight gradient is in
//! `pointwise_weights`. With a stride, the pixels that it keeps are copied first, or spread last;
//! only a few shortcuts have one.

use super::input::{Input, map_in_place};
use super::padded::copy_every;
use super::pointwise_weights::WeightGradient;
use super::product::{Product, WeightOrder};
use super::shape::ConvShape;
use super::simd::Isa;
use super::weights::Operands;
use crate::workers::{ScratchLen, Shared, for_each};

/// A 1x1 convolution, planned.
pub(crate) struct Pointwise {
    shape: ConvShape,
    forward: Product,
    data_gradient: Product,
    weight_gradient: WeightGradient,
}

impl Pointwise {
    /// Whether the shape is one.
    pub(crate) fn applies_to(shape: &ConvShape) -> bool {
        shape.kernel == 1 && shape.padding == 0
    }

    pub(crate) fn new(shape: &ConvShape, isa: Isa) -> Self {
        debug_assert!(Self::applies_to(shape));
        assert!(isa.is_available(), "this CPU cannot run {isa:?}");
        let product = |rows, depth, order| Product {
            isa,
            batch: shape.batch,
            groups: shape.groups,
            pixels: shape.out_pixels(),
            rows,
            depth,
            order,
        };
        Self {
            shape: *shape,
            forward: product(shape.outputs, shape.inputs, WeightOrder::RowMajor),
            data_gradient: product(shape.inputs, shape.outputs, WeightOrder::ColumnMajor),
            weight_gradient: WeightGradient::new(shape, isa),
        }
    }

    /// Floats of scratch of the three passes: what the products need, and the pixels that a stride
    /// keeps.
    pub(crate) fn scratch_lens(&self) -> [ScratchLen; 3] {
        [self.forward.scratch_len(), self.data_gradient.scratch_len(), self.weight_gradient.scratch_len()]
            .map(|len| ScratchLen { shared: len.shared + self.kept_len(), ..len })
    }

    fn kept_len(&self) -> usize {
        let s = &self.shape;
        if s.stride == 1 { 0 } else { s.batch * s.groups * s.inputs * s.out_pixels() }
    }

    /// The forward pass, whose weights can be packed before.
    pub(crate) fn forward_product(&self) -> &Product {
        &self.forward
    }

    /// Blocks of the forward pass that an epilogue sees.
    pub(crate) fn blocks(&self) -> usize {
        self.forward.result_blocks()
    }

    pub(crate) fn forward(&self, operands: Operands, output: &mut [f32], scratch: &mut [f32]) {
        let (kept, scratch) = scratch.split_at_mut(self.kept_len());
        let input = self.keep(operands.input, kept);
        self.forward.run(Operands { input, ..operands }, output, scratch);
    }

    pub(crate) fn data_gradient(
        &self,
        out_grad: &[f32],
        weights: &[f32],
        in_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        let operands = Operands::plain(out_grad, weights);
        if self.shape.stride == 1 {
            return self.data_gradient.run(operands, in_grad, scratch);
        }
        let (kept, scratch) = scratch.split_at_mut(self.kept_len());
        self.data_gradient.run(operands, kept, scratch);
        self.spread(kept, in_grad);
    }

    pub(crate) fn weight_gradient(
        &self,
        input: Input,
        out_grad: &[f32],
        weight_grad: &mut [f32],
        scratch: &mut [f32],
    ) {
        let (kept, scratch) = scratch.split_at_mut(self.kept_len());
        self.weight_gradient.run(self.keep(input, kept), out_grad, weight_grad, scratch);
    }

    /// The pixels that the stride keeps: the images themselves, or a copy, mapped then.
    fn keep<'a>(&self, images: Input<'a>, kept: &'a mut [f32]) -> Input<'a> {
        let s = &self.shape;
        if s.stride == 1 {
            return images;
        }
        let target = Shared::new(kept);
        self.for_each_plane(|plane| {
            // SAFETY: a task has its own plane.
            let kept = unsafe { target.piece(plane * s.out_pixels()..(plane + 1) * s.out_pixels()) };
            let rows = images.values[plane * s.in_pixels()..].chunks_exact(s.width).step_by(s.stride);
            for (row, kept) in rows.zip(kept.chunks_exact_mut(s.out_width())) {
                copy_every(s.stride, row, kept);
            }
            if let Some(map) = images.channel(plane % (s.groups * s.inputs)) {
                map_in_place(kept, map);
            }
        });
        Input::plain(kept)
    }

    /// Puts the kept pixels back in their places, among zeros.
    fn spread(&self, kept: &[f32], images: &mut [f32]) {
        let s = &self.shape;
        let images = Shared::new(images);
        self.for_each_plane(|plane| {
            // SAFETY: a task has its own plane.
            let image = unsafe { images.piece(plane * s.in_pixels()..(plane + 1) * s.in_pixels()) };
            image.fill(0.0);
            let rows = image.chunks_exact_mut(s.width).step_by(s.stride);
            for (row, kept) in rows.zip(kept[plane * s.out_pixels()..].chunks_exact(s.out_width())) {
                row.iter_mut().step_by(s.stride).zip(kept).for_each(|(to, from)| *to = *from);
            }
        });
    }

    fn for_each_plane(&self, run: impl Fn(usize) + Sync) {
        let s = &self.shape;
        let channels = s.groups * s.inputs;
        for_each(s.batch, |image| {
            (image * channels..(image + 1) * channels).for_each(&run);
        });
    }
}
