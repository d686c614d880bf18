//! Values of a lowering: deferred sums, and conversions between the two layouts.

use super::{Lowered, Lowering};
use crate::observed::Layout;
use crate::passes::Dims;
use crate::passes::fused::{Affine, FusedActivation};
use crate::program::{Fused, Placement, Step, Term, Value, ValueId};
use collegial_arch::{NodeId, Shape};

impl Lowering<'_> {
    /// The node as terms of a sum: its deferred ones if no other node reads them, else its value.
    pub(super) fn terms_of(&mut self, node: NodeId) -> Vec<Term> {
        match &self.lowered[node] {
            Lowered::Deferred(terms) if self.consumers[node] == 1 => terms.clone(),
            _ => vec![Term { from: self.value_of(node), affine: Affine::Plain }],
        }
    }

    /// The node's value, computed now if it was deferred.
    pub(super) fn value_of(&mut self, node: NodeId) -> ValueId {
        match self.lowered[node].clone() {
            Lowered::Computed(value) => value,
            Lowered::Deferred(terms) => {
                let value = self.push_fused(terms, FusedActivation::Identity);
                self.lowered[node] = Lowered::Computed(value);
                value
            }
        }
    }

    /// Computes deferred terms, and an activation behind them.
    pub(super) fn push_fused(&mut self, terms: Vec<Term>, activation: FusedActivation) -> ValueId {
        let to = self.value_like(terms[0].from);
        self.steps.push(Step::Fused(Fused { terms, activation, to, placement: Placement::OwnBuffer }));
        to
    }

    /// The node's value as `[units][batch]`.
    pub(super) fn flat(&mut self, node: NodeId) -> ValueId {
        self.in_layout(node, Layout::Channels)
    }

    /// The node's value as `[batch][channels][pixels]`.
    pub(super) fn image(&mut self, node: NodeId) -> ValueId {
        self.in_layout(node, Layout::Images)
    }

    fn in_layout(&mut self, node: NodeId, layout: Layout) -> ValueId {
        let value = self.value_of(node);
        if self.values[value].layout == layout { value } else { self.transpose(value) }
    }

    /// Transposes a value of one-pixel images from one layout into the other.
    pub(super) fn transpose(&mut self, from: ValueId) -> ValueId {
        let Value { dims: Dims { channels, .. }, layout } = self.values[from];
        let to = match layout {
            Layout::Channels => self.image_value(Shape::vector(channels)),
            Layout::Images => self.flat_value(channels),
        };
        self.steps.push(Step::Transpose { from, to });
        to
    }

    pub(super) fn push(&mut self, step: Step) -> Lowered {
        let to = step.to();
        self.steps.push(step);
        Lowered::Computed(to)
    }

    pub(super) fn new_value(&mut self, dims: Dims, layout: Layout) -> ValueId {
        self.values.push(Value { dims, layout });
        self.values.len() - 1
    }

    pub(super) fn value_like(&mut self, value: ValueId) -> ValueId {
        let Value { dims, layout } = self.values[value];
        self.new_value(dims, layout)
    }

    pub(super) fn image_value(&mut self, shape: Shape) -> ValueId {
        let dims = Dims { images: self.options.batch, channels: shape.channels, pixels: shape.pixels() };
        self.new_value(dims, Layout::Images)
    }

    pub(super) fn flat_value(&mut self, channels: usize) -> ValueId {
        self.new_value(Dims { images: 1, channels, pixels: self.options.batch }, Layout::Channels)
    }
}
