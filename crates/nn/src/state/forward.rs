//! Forward execution of a program's steps.

use super::{PassContext, State};
use crate::kernels::{self, Bias, Epilogue, Input, Operands, Weights};
use crate::options::Mode;
use crate::passes::fused::{self, Affine, NormState, Operand, StatisticsSource};
use crate::passes::{Dims, activation, channel_scale, pool, rearrange};
use crate::profile::Pass;
use crate::program::{Fused, Linear, Placement, Step, Term};
use crate::schedule::Schedule;
use std::mem::take;

impl State {
    /// Executes a step.
    pub(crate) fn forward(&mut self, context: PassContext, step: &Step) {
        let PassContext { program, schedule, .. } = context;
        let started = self.profile.start();
        let target = schedule.values[step.to()];
        let mut memory = self.take(schedule, target);
        let to = &mut memory[..schedule.buffers[target].len];
        let dims = program.values[step.to()].dims;
        let planes = dims.images * dims.channels;
        match step {
            Step::Linear(linear) => self.linear_forward(context, linear, dims, to),
            Step::Fused(fused) => self.fused_forward(context, fused, dims, to),
            Step::Activation { activation, from, .. } => {
                activation::forward(*activation, self.value(schedule, *from), to);
            }
            Step::Scale { from, factors, .. } => {
                let [x, factors] = [*from, *factors].map(|value| self.value(schedule, value));
                channel_scale::forward(dims, x, factors, to);
            }
            Step::MaxPool { pool, from, .. } => pool.forward(planes, self.value(schedule, *from), to),
            Step::AveragePool { pool, from, .. } => pool.forward(planes, self.value(schedule, *from), to),
            Step::MeanPool { from, .. } => {
                pool::mean_forward(program.values[*from].dims, self.value(schedule, *from), to);
            }
            Step::MemberSum { members, from, .. } => {
                rearrange::member_sum_forward(dims, *members, self.value(schedule, *from), to);
            }
            Step::Transpose { from, .. } => {
                let (rows, columns) = program.values[*from].rows_and_columns();
                rearrange::transpose(rows, columns, self.value(schedule, *from), to);
            }
        }
        self.put(schedule, target, memory);
        self.profile.stop(started, step.kind(), Pass::Forward);
    }

    /// A convolution or a dense layer, with the bias or the statistics of the norm fused into it.
    fn linear_forward(&mut self, context: PassContext, linear: &Linear, dims: Dims, to: &mut [f32]) {
        let mut scratch = take(&mut self.scratch);
        let input = self.input(context.schedule, linear);
        let bias = linear.bias.as_ref().map(|fused| Bias {
            values: &self.parameters[fused.bias.clone()],
            floor: fused.activation.floor(),
        });
        let output_norm = linear.output_norm.as_ref().filter(|_| context.mode == Mode::Train);
        if let Some(prepared) = self.prepared.get(linear.index) {
            linear.conv.forward_prepared(input.values, prepared, bias, to, &mut scratch);
        } else {
            let writer = self.partial_sums.writer(dims.channels);
            let epilogue = output_norm.map(|_| &writer as &dyn Epilogue);
            let weights = Weights::Plain(self.weights(linear, context.borrowed));
            linear.conv.forward_of(Operands { input, weights, bias, epilogue }, to, &mut scratch);
            self.scale_result(linear, to);
        }
        if let Some((norm, blocks)) = output_norm.zip(linear.conv.blocks()) {
            let source = StatisticsSource::PartialSums(&self.partial_sums, blocks);
            update_norm(&mut self.norms, dims, norm, source, &self.parameters);
        }
        self.scratch = scratch;
    }

    /// Input of a layer, read through the norm that is fused into it.
    pub(super) fn input(&self, schedule: &Schedule, linear: &Linear) -> Input<'_> {
        let values = self.value(schedule, linear.from);
        let through = linear.input_norm.map(|norm| {
            let NormState { slope, shift, .. } = &self.norms[norm.state];
            kernels::Affine { slopes: slope, shifts: shift, floor: norm.activation.floor() }
        });
        Input { values, through }
    }

    /// Multiplies a layer's result by the NTK factor, unless the weights were multiplied.
    pub(super) fn scale_result(&self, linear: &Linear, result: &mut [f32]) {
        if self.scaled.is_empty() && linear.factor != 1.0 {
            rearrange::scale(result, linear.factor);
        }
    }

    /// An element-wise step, or the part of it that is not fused into a layer.
    fn fused_forward(&mut self, context: PassContext, step: &Fused, dims: Dims, to: &mut [f32]) {
        let training = context.mode == Mode::Train;
        match step.placement {
            Placement::FusedIntoProducer => {}
            Placement::FusedIntoBoth if training => {}
            Placement::FusedIntoConsumer | Placement::FusedIntoBoth => {
                let source = if training { StatisticsSource::Batch(to) } else { StatisticsSource::Running };
                update_norm(&mut self.norms, dims, &step.terms[0].affine, source, &self.parameters);
            }
            Placement::OwnBuffer | Placement::InPlace => self.fused_sum(context, step, dims, to),
        }
    }

    fn fused_sum(&mut self, context: PassContext, step: &Fused, dims: Dims, to: &mut [f32]) {
        let terms = &step.terms;
        let mut norms = [take_norm(&mut self.norms, terms.first()), take_norm(&mut self.norms, terms.get(1))];
        let [first, second] = norms.each_mut().map(Option::as_mut);
        let operands = [(0, first), (1, second)].map(|(position, state)| {
            terms.get(position).map(|term| {
                let in_place = step.placement == Placement::InPlace && position == 0;
                let x = (!in_place).then(|| self.value(context.schedule, term.from));
                Operand { x, affine: &term.affine, state }
            })
        });
        let pass = fused::Forward { dims, mode: context.mode, activation: step.activation, operands };
        pass.run(&self.parameters, to);
        for (term, norm) in terms.iter().zip(norms) {
            put_norm(&mut self.norms, term, norm);
        }
    }
}

/// Updates the statistics of a norm that is fused into a layer.
fn update_norm(
    norms: &mut [NormState],
    dims: Dims,
    norm: &Affine,
    source: StatisticsSource,
    parameters: &[f32],
) {
    if let Affine::Norm { state, scale, shift } = norm {
        fused::update_norm(dims, source, &mut norms[*state], (scale, shift), parameters);
    }
}

fn take_norm(norms: &mut [NormState], term: Option<&Term>) -> Option<NormState> {
    match term?.affine {
        Affine::Norm { state, .. } => Some(take(&mut norms[state])),
        _ => None,
    }
}

fn put_norm(norms: &mut [NormState], term: &Term, norm: Option<NormState>) {
    if let (Affine::Norm { state, .. }, Some(norm)) = (&term.affine, norm) {
        norms[*state] = norm;
    }
}
