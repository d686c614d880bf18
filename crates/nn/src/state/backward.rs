//! Backward execution of a program's steps.

use super::{PassContext, State};
use crate::observed::{Observed, Observer};
use crate::passes::fused::{self, Affine, BackwardOperand, Mask};
use crate::passes::{activation, channel_scale, pool, rearrange, vector};
use crate::profile::Pass;
use crate::program::{Fused, Kind, Linear, Step, ValueId};
use crate::schedule::{Backward, BackwardStep, BufferId};
use std::mem::take;

impl State {
    /// Executes a step of the backward pass.
    pub(crate) fn backward(
        &mut self,
        context: PassContext,
        step: &Backward,
        observer: &mut Option<&mut dyn Observer>,
    ) {
        match step {
            Backward::Sum { into, from, other } => self.sum_gradients(context, *into, *from, *other),
            Backward::Step(planned) => match &context.program.steps[planned.step] {
                Step::Linear(linear) => self.linear_backward(context, linear, planned, observer),
                step => {
                    let Some(result) = planned.result else { return };
                    let started = self.profile.start();
                    match step {
                        Step::Fused(fused) => self.fused_backward(context, fused, planned, result, observer),
                        Step::Scale { from, factors, .. } => {
                            self.scale_backward(context, [*from, *factors], planned, result);
                        }
                        _ => self.other_backward(context, step, planned.incoming, result),
                    }
                    self.profile.stop(started, step.kind(), Pass::DataGradient);
                }
            },
        }
    }

    /// Adds up two gradients of one value.
    fn sum_gradients(&mut self, context: PassContext, into: BufferId, from: BufferId, other: BufferId) {
        let schedule = context.schedule;
        let started = self.profile.start();
        let mut memory = self.take(schedule, into);
        let to = &mut memory[..schedule.buffers[into].len];
        if into != from {
            to.copy_from_slice(self.read(schedule, from));
        }
        rearrange::add(to, self.read(schedule, other));
        self.put(schedule, into, memory);
        self.profile.stop(started, Kind::Fused, Pass::DataGradient);
    }

    /// Weight gradient, or the observer's view of it, and data gradient of a layer.
    fn linear_backward(
        &mut self,
        context: PassContext,
        linear: &Linear,
        planned: &BackwardStep,
        observer: &mut Option<&mut dyn Observer>,
    ) {
        let schedule = context.schedule;
        let started = self.profile.start();
        let (mut scratch, mut gradients) = (take(&mut self.scratch), take(&mut self.gradients));
        let weight_gradient = &mut gradients[linear.weight.clone()];
        let inputs = self.input(schedule, linear);
        let cotangents = self.read(schedule, planned.incoming);
        if let Some(observer) = observer {
            // Networks for observation fuse no norms into layers: the values are the inputs.
            let inputs = inputs.values;
            observer.see(Observed::Linear { index: linear.index, inputs, cotangents });
        } else {
            linear.conv.weight_gradient_of(inputs, cotangents, weight_gradient, &mut scratch);
            if linear.factor != 1.0 {
                vector::scale_in_place(weight_gradient, linear.factor);
            }
        }
        self.gradients = gradients;
        let started = self.profile.stop(started, linear.kind, Pass::WeightGradient);
        if let Some(result) = planned.result {
            let mut memory = self.take(schedule, result);
            let to = &mut memory[..schedule.buffers[result].len];
            let gradient = self.read(schedule, planned.incoming);
            linear.conv.data_gradient(gradient, self.weights(linear, context.borrowed), to, &mut scratch);
            self.scale_result(linear, to);
            self.put(schedule, result, memory);
            self.profile.stop(started, linear.kind, Pass::DataGradient);
        }
        self.scratch = scratch;
    }

    /// Gradients of an element-wise step: of its sum, and of the norms in it.
    fn fused_backward(
        &mut self,
        context: PassContext,
        step: &Fused,
        planned: &BackwardStep,
        result: BufferId,
        observer: &mut Option<&mut dyn Observer>,
    ) {
        let schedule = context.schedule;
        let len = schedule.buffers[result].len;
        let mut memory = self.take(schedule, result);
        let mut norm_memory = planned.targets.map(|target| target.map(|target| self.take(schedule, target)));
        let mut gradients = take(&mut self.gradients);
        let [first, second] =
            norm_memory.each_mut().map(|memory| memory.as_mut().map(|memory| &mut memory[..len]));
        let operands = [(0, first), (1, second)].map(|(position, target)| {
            step.terms.get(position).map(|term| {
                let norm = match term.affine {
                    Affine::Norm { state, .. } => Some((self.value(schedule, term.from), &self.norms[state])),
                    _ => None,
                };
                BackwardOperand { affine: &term.affine, norm, target }
            })
        });
        let pass = fused::Backward {
            dims: context.program.values[step.to].dims,
            mode: context.mode,
            mask: self.mask(context, step),
            first: (result != planned.incoming).then(|| self.read(schedule, planned.incoming)),
            second: planned.second.map(|second| self.read(schedule, second)),
            gradient: &mut memory[..len],
            operands,
        };
        pass.run(&self.parameters, &mut gradients);
        self.gradients = gradients;
        if let Some(observer) = observer {
            self.observe_terms(context, step, &memory[..len], *observer);
        }
        self.put(schedule, result, memory);
        for (target, memory) in planned.targets.into_iter().zip(norm_memory) {
            if let (Some(target), Some(memory)) = (target, memory) {
                self.put(schedule, target, memory);
            }
        }
    }

    /// Source of a step's ReLU mask.
    fn mask(&self, context: PassContext, step: &Fused) -> Mask<'_> {
        match (step.activation.is_relu(), step.masks_by_output()) {
            (false, _) => Mask::None,
            (true, true) => Mask::Output(self.value(context.schedule, step.to)),
            (true, false) => Mask::Norm,
        }
    }

    /// Shows the biases and norms of an element-wise step to an observer.
    fn observe_terms(
        &self,
        context: PassContext,
        step: &Fused,
        cotangents: &[f32],
        observer: &mut dyn Observer,
    ) {
        let extent = context.program.values[step.to].extent();
        for term in &step.terms {
            match term.affine {
                Affine::Plain => {}
                Affine::Bias(_) => observer.see(Observed::Bias { extent, cotangents }),
                Affine::Norm { state, .. } => {
                    let inputs = self.value(context.schedule, term.from);
                    let (mean, inverse_deviation) =
                        (&self.norms[state].mean[..], &self.norms[state].inverse_deviation[..]);
                    observer.see(Observed::Norm { extent, inputs, cotangents, mean, inverse_deviation });
                }
            }
        }
    }

    /// Gradients of a channel-wise scaling: of the images, and of the factors.
    fn scale_backward(
        &mut self,
        context: PassContext,
        [from, factors]: [ValueId; 2],
        planned: &BackwardStep,
        result: BufferId,
    ) {
        let (schedule, target) = (context.schedule, planned.targets[1]);
        let dims = context.program.values[from].dims;
        let mut factors_memory = target.map(|target| self.take(schedule, target));
        let mut memory = self.take(schedule, result);
        let gradient = &mut memory[..schedule.buffers[result].len];
        if result != planned.incoming {
            gradient.copy_from_slice(self.read(schedule, planned.incoming));
        }
        let [x, factors] = [from, factors].map(|value| self.value(schedule, value));
        if let (Some(target), Some(memory)) = (target, &mut factors_memory) {
            let to = &mut memory[..schedule.buffers[target].len];
            channel_scale::factor_gradient(dims, x, gradient, to);
        }
        channel_scale::scale_in_place(dims, factors, gradient);
        self.put(schedule, result, memory);
        if let (Some(target), Some(memory)) = (target, factors_memory) {
            self.put(schedule, target, memory);
        }
    }

    /// Gradient of the operand of a step without parameters.
    fn other_backward(&mut self, context: PassContext, step: &Step, incoming: BufferId, result: BufferId) {
        let PassContext { program, schedule, .. } = context;
        let mut memory = self.take(schedule, result);
        let to = &mut memory[..schedule.buffers[result].len];
        match step {
            Step::Activation { activation, from, .. } => {
                if result != incoming {
                    to.copy_from_slice(self.read(schedule, incoming));
                }
                activation::backward(*activation, self.value(schedule, *from), to);
            }
            Step::MaxPool { pool, from, to: of } => {
                let dims = program.values[*of].dims;
                let (x, gradient) = (self.value(schedule, *from), self.read(schedule, incoming));
                pool.backward(dims.images * dims.channels, x, gradient, to);
            }
            Step::AveragePool { pool, to: of, .. } => {
                let dims = program.values[*of].dims;
                pool.backward(dims.images * dims.channels, self.read(schedule, incoming), to);
            }
            Step::MeanPool { from, .. } => {
                pool::mean_backward(program.values[*from].dims, self.read(schedule, incoming), to);
            }
            Step::MemberSum { members, to: of, .. } => {
                let gradient = self.read(schedule, incoming);
                rearrange::member_sum_backward(program.values[*of].dims, *members, gradient, to);
            }
            Step::Transpose { to: of, .. } => {
                let (rows, columns) = program.values[*of].rows_and_columns();
                rearrange::transpose(rows, columns, self.read(schedule, incoming), to);
            }
            Step::Linear(_) | Step::Fused(_) | Step::Scale { .. } => {}
        }
        self.put(schedule, result, memory);
    }
}
