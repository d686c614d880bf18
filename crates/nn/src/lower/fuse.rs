//! Optimisation of a lowered program: in-place steps, and element-wise steps fused into layers.

use crate::options::Purpose;
use crate::passes::fused::Affine;
use crate::program::{FusedBias, InputNorm, Linear, Placement, Program, Step, Term, ValueId};

impl Program {
    /// Lets fused steps overwrite an operand that no other step reads, now or in the backward pass.
    pub(super) fn reuse_operand_buffers(&mut self, purpose: Purpose) {
        let consumers = self.consumers();
        let mut saved = vec![false; self.values.len()];
        if purpose.has_backward() {
            self.steps.iter().flat_map(Step::saved_for_backward).for_each(|value| saved[value] = true);
        }
        let free = |value: ValueId| consumers[value] == 1 && !saved[value] && value != self.input;
        for step in &mut self.steps {
            let Step::Fused(fused) = step else { continue };
            if let Some(index) = fused.terms.iter().position(|term| free(term.from)) {
                fused.terms.swap(0, index);
                fused.placement = Placement::InPlace;
            }
        }
    }

    /// Fuses biases into the layers before them, where a step does nothing else.
    pub(super) fn fuse_biases_into_producers(&mut self) {
        for index in 1..self.steps.len() {
            let (before, after) = self.steps.split_at_mut(index);
            if let (Some(Step::Linear(linear)), Some(Step::Fused(fused))) =
                (before.last_mut(), after.first_mut())
                && let ([Term { from, affine: Affine::Bias(bias) }], Placement::InPlace) =
                    (fused.terms.as_slice(), fused.placement)
                && *from == linear.to
            {
                linear.bias = Some(FusedBias { bias: bias.clone(), activation: fused.activation });
                fused.placement = Placement::FusedIntoProducer;
            }
        }
    }

    /// Fuses norms, and ReLUs behind them, into the layer that reads them, where nothing else does:
    /// the value can be recomputed from its operand, which is saved for the norm's own gradient.
    pub(super) fn fuse_norms_into_consumers(&mut self) {
        let consumers = self.consumers();
        let mut fusible = vec![None; self.values.len()];
        for step in &mut self.steps {
            match step {
                Step::Fused(fused) if fused.placement == Placement::OwnBuffer => {
                    if let [Term { affine: Affine::Norm { state, .. }, .. }] = fused.terms.as_slice()
                        && consumers[fused.to] == 1
                    {
                        fusible[fused.to] = Some(InputNorm { state: *state, activation: fused.activation });
                    }
                }
                Step::Linear(linear) => linear.input_norm = fusible[linear.from],
                _ => {}
            }
        }
        let normalised: Vec<ValueId> = self.steps.iter().filter_map(normalised_input).collect();
        for index in 0..self.steps.len() {
            let (before, after) = self.steps.split_at_mut(index);
            if let Some(Step::Fused(fused)) = after.first_mut()
                && normalised.contains(&fused.to)
            {
                let norm = &fused.terms[0];
                let producer = before.iter_mut().find_map(|step| with_epilogue(step, norm.from));
                fused.placement = match producer {
                    Some(layer) => {
                        layer.output_norm = Some(norm.affine.clone());
                        Placement::FusedIntoBoth
                    }
                    None => Placement::FusedIntoConsumer,
                };
            }
        }
    }

    /// How many times steps read each value.
    fn consumers(&self) -> Vec<usize> {
        let mut consumers = vec![0; self.values.len()];
        self.steps.iter().flat_map(Step::inputs).for_each(|value| consumers[value] += 1);
        consumers
    }
}

/// The layer that computes a value, if its epilogue can compute statistics.
fn with_epilogue(step: &mut Step, value: ValueId) -> Option<&mut Linear> {
    match step {
        Step::Linear(linear) if linear.to == value && linear.conv.blocks().is_some() => Some(linear),
        _ => None,
    }
}

/// The value that a step reads through a norm.
fn normalised_input(step: &Step) -> Option<ValueId> {
    match step {
        Step::Linear(linear) => linear.input_norm.map(|_| linear.from),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Settings;
    use crate::lower::{Options, lower};
    use crate::options::Mode;
    use collegial_arch::Spec;

    /// Steps of a bottleneck network that are fused into a layer, and those that are stored.
    fn fused_and_stored(purpose: Purpose) -> (usize, usize) {
        let spec: Spec = "resnext29-2x4d".parse().expect("a known network");
        let settings = Settings { purpose, ..Settings::default() };
        let graph = spec.graph().expect("a valid network");
        let program = lower(&graph, Options::new(settings, 2, Mode::Train)).expect("a valid network");
        let placements = program.steps.iter().filter_map(|step| match step {
            Step::Fused(fused) => Some(fused.placement),
            _ => None,
        });
        let (fused, stored): (Vec<_>, Vec<_>) = placements.partition(|placement| {
            matches!(placement, Placement::FusedIntoConsumer | Placement::FusedIntoBoth)
        });
        (fused.len(), stored.len())
    }

    /// Nine blocks of three layers: two norms of each have one consumer, a layer. The third is part
    /// of the block's sum, which the next block reads twice, as it reads the stem's. One more step is
    /// the classifier's bias.
    #[test]
    fn training_stores_no_norm_that_one_layer_reads() {
        assert_eq!(fused_and_stored(Purpose::Training), (18, 11));
        assert_eq!(fused_and_stored(Purpose::Observation), (0, 29));
        assert_eq!(fused_and_stored(Purpose::Inference), (0, 29));
    }
}
