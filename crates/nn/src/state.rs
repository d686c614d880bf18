//! The arrays of a network, and how each step works on them.

use crate::Error;
use crate::builder::Settings;
use crate::kernels::{self, Epilogue, Input};
use crate::memory::{self, Array};
use crate::observed::{Observed, Observer};
use crate::options::{Mode, Parametrisation, Purpose};
use crate::parameters::Table;
use crate::passes::fused::{
    self, Affine, BackwardOperand, Mask, NormState, Operand, PartialSums, StatisticsSource,
};
use crate::passes::{Dims, activation, gate, pool, rearrange, vector};
use crate::profile::{Pass, Profile};
use crate::program::{Linear, Placement, Program, Step, Term, ValueId};
use crate::schedule::{Backward, BufferId, Schedule};
use std::mem::take;

/// Weights of all layers, in order, where they are not the network's own.
pub(crate) type BorrowedWeights<'a> = Option<&'a [&'a [f32]]>;

/// Everything that changes when a network runs.
pub(crate) struct State {
    pub parameters: Array,
    pub gradients: Array,
    /// Parameters times the factors of the NTK parametrisation; empty in the standard one.
    scaled: Array,
    pub norms: Vec<NormState>,
    slots: Vec<Array>,
    scratch: Array,
    partial_sums: PartialSums,
    /// What every layer's forward pass has made of its weights, where the network only infers with
    /// folded norms.
    prepared: Vec<Array>,
    /// Whether parameters may have changed since.
    stale: bool,
    pub profile: Profile,
}

impl State {
    /// # Errors
    ///
    /// If its arrays are more than the memory that is free; none has been taken then.
    pub(crate) fn new(program: &Program, schedule: &Schedule, settings: Settings) -> Result<Self, Error> {
        // Observed passes scale results instead of weights, which others may own.
        let ntk =
            settings.parametrisation == Parametrisation::Ntk && settings.purpose != Purpose::Observation;
        let training = settings.purpose.has_backward();
        let threads = if settings.alone { 1 } else { rayon::current_num_threads() };
        let scratch = program.steps.iter().filter_map(|step| match step {
            Step::Linear(linear) => Some(linear.conv.scratch_len(threads)),
            _ => None,
        });
        let scratch = scratch.max().unwrap_or(0);
        let len = program.parameters.len();
        let gradients = if training { len } else { 0 };
        let scaled = if ntk { len } else { 0 };
        let prepared: Vec<usize> = match settings.purpose {
            Purpose::FoldedInference => {
                linears(&program.steps).map(|linear| linear.conv.prepared_len()).collect()
            }
            _ => vec![],
        };
        let all = [len, gradients, scaled, scratch].into_iter().chain(schedule.slots.iter().copied());
        let all = all.chain(prepared.iter().copied());
        memory::check(all.fold(0, usize::saturating_add))?;
        Ok(Self {
            parameters: Array::zeros(len),
            gradients: Array::zeros(gradients),
            scaled: Array::zeros(scaled),
            norms: program.norms.iter().map(|norm| NormState::new(norm.channels)).collect(),
            scratch: Array::zeros(scratch),
            partial_sums: PartialSums::new(program.steps.iter().map(partial_sums_len).max().unwrap_or(0)),
            prepared: prepared.into_iter().map(Array::zeros).collect(),
            stale: true,
            slots: schedule.slots.iter().map(|&len| Array::zeros(len)).collect(),
            profile: if settings.purpose == Purpose::Observation {
                Profile::off()
            } else {
                Profile::default()
            },
        })
    }

    /// Takes what outlives a plan from another state of the same network.
    pub(crate) fn take_parameters_from(&mut self, other: &mut Self) {
        std::mem::swap(&mut self.parameters, &mut other.parameters);
        std::mem::swap(&mut self.gradients, &mut other.gradients);
        std::mem::swap(&mut self.norms, &mut other.norms);
        std::mem::swap(&mut self.profile, &mut other.profile);
    }

    /// All parameters, to be changed.
    pub(crate) fn parameters_mut(&mut self) -> &mut [f32] {
        self.stale = true;
        &mut self.parameters
    }

    /// Floats of prepared weights.
    pub(crate) fn prepared_len(&self) -> usize {
        self.prepared.iter().map(|prepared| prepared.len()).sum()
    }

    /// Prepares all weights that the network keeps so, unless they are up to date.
    pub(crate) fn prepare(&mut self, steps: &[Step]) {
        if !std::mem::replace(&mut self.stale, false) {
            return;
        }
        let (mut prepared, mut scratch) = (take(&mut self.prepared), take(&mut self.scratch));
        for (linear, to) in linears(steps).zip(&mut prepared) {
            linear.conv.prepare(self.weights(linear, None), to, &mut scratch);
        }
        (self.prepared, self.scratch) = (prepared, scratch);
    }

    /// What a buffer holds.
    pub(crate) fn read(&self, schedule: &Schedule, buffer: BufferId) -> &[f32] {
        let buffer = &schedule.buffers[buffer];
        &self.slots[buffer.slot][..buffer.len]
    }

    /// Overwrites a buffer; what is missing is zero.
    pub(crate) fn write(&mut self, schedule: &Schedule, buffer: BufferId, values: &[f32]) {
        let buffer = &schedule.buffers[buffer];
        let (given, missing) = self.slots[buffer.slot][..buffer.len].split_at_mut(values.len());
        given.copy_from_slice(values);
        missing.fill(0.0);
    }

    /// Takes a buffer's memory out of the table, so that it can be written while others are read.
    fn take(&mut self, schedule: &Schedule, buffer: BufferId) -> Array {
        take(&mut self.slots[schedule.buffers[buffer].slot])
    }

    fn put(&mut self, schedule: &Schedule, buffer: BufferId, memory: Array) {
        self.slots[schedule.buffers[buffer].slot] = memory;
    }

    /// Multiplies the weights by their factors, where there are any.
    pub(crate) fn scale_weights(&mut self, steps: &[Step]) {
        if self.scaled.is_empty() {
            return;
        }
        for step in steps {
            if let Step::Linear(linear) = step {
                let range = linear.weight.clone();
                vector::scale(&mut self.scaled[range.clone()], &self.parameters[range], linear.factor);
            }
        }
    }

    fn weights<'a>(&'a self, linear: &Linear, borrowed: BorrowedWeights<'a>) -> &'a [f32] {
        if let Some(weights) = borrowed {
            return weights[linear.index];
        }
        let all = if self.scaled.is_empty() { &self.parameters } else { &self.scaled };
        &all[linear.weight.clone()]
    }

    /// What a layer reads, through the norm that it is to apply.
    fn input(&self, schedule: &Schedule, linear: &Linear) -> Input<'_> {
        let values = self.read(schedule, schedule.values[linear.from]);
        let through = linear.norm.map(|(state, relu)| {
            let NormState { slope, shift, .. } = &self.norms[state];
            kernels::Affine { slopes: slope, shifts: shift, floor: floor(relu) }
        });
        Input { values, through }
    }

    /// Multiplies a layer's result by the factor that its weights do not have yet.
    fn scale_result(&self, linear: &Linear, result: &mut [f32]) {
        if self.scaled.is_empty() && linear.factor != 1.0 {
            rearrange::scale(result, linear.factor);
        }
    }

    pub(crate) fn forward(
        &mut self,
        program: &Program,
        schedule: &Schedule,
        step: &Step,
        mode: Mode,
        borrowed: BorrowedWeights<'_>,
    ) {
        let started = self.profile.start();
        let target = schedule.values[step.to()];
        let mut memory = self.take(schedule, target);
        let to = &mut memory[..schedule.buffers[target].len];
        let dims = program.values[step.to()].dims;
        let mut scratch = take(&mut self.scratch);
        match step {
            Step::Linear(linear) => {
                let (x, weights) = (self.input(schedule, linear), self.weights(linear, borrowed));
                let bias = linear.bias.as_ref();
                let finish = bias.map(|(bias, relu)| (&self.parameters[bias.clone()], floor(*relu)));
                let writer = self.partial_sums.writer(dims.channels);
                let output_norm = linear.output_norm.as_ref().filter(|_| mode == Mode::Train);
                let epilogue = output_norm.map(|_| &writer as &dyn Epilogue);
                if let Some(prepared) = self.prepared.get(linear.index) {
                    linear.conv.forward_prepared(x.values, prepared, finish, to, &mut scratch);
                } else {
                    linear.conv.forward_of(x, weights, finish, epilogue, to, &mut scratch);
                    self.scale_result(linear, to);
                }
                if let Some((norm, blocks)) = output_norm.zip(linear.conv.blocks()) {
                    let source = StatisticsSource::PartialSums(&self.partial_sums, blocks);
                    update_norm(&mut self.norms, dims, norm, source, &self.parameters);
                }
            }
            Step::Fused { placement: Placement::FusedIntoProducer, .. } => {}
            Step::Fused { placement: Placement::FusedIntoBoth, .. } if mode == Mode::Train => {}
            Step::Fused {
                terms, placement: Placement::FusedIntoConsumer | Placement::FusedIntoBoth, ..
            } => {
                let source =
                    if mode == Mode::Train { StatisticsSource::Batch(to) } else { StatisticsSource::Running };
                update_norm(&mut self.norms, dims, &terms[0].affine, source, &self.parameters);
            }
            Step::Fused { terms, relu, placement, .. } => {
                self.fused_forward(schedule, dims, (terms, *relu, *placement), mode, to);
            }
            Step::Activation { activation, from, .. } => {
                activation::forward(*activation, self.read(schedule, schedule.values[*from]), to);
            }
            Step::Scale { from, gate, .. } => {
                let [x, gate] = [*from, *gate].map(|value| self.read(schedule, schedule.values[value]));
                gate::forward(dims, x, gate, to);
            }
            Step::MaxPool { pool, from, .. } => {
                let x = self.read(schedule, schedule.values[*from]);
                pool.forward(dims.images * dims.channels, x, to);
            }
            Step::AveragePool { pool, from, .. } => {
                let x = self.read(schedule, schedule.values[*from]);
                pool.forward(dims.images * dims.channels, x, to);
            }
            Step::MeanPool { from, .. } => {
                let x = self.read(schedule, schedule.values[*from]);
                pool::mean_forward(program.values[*from].dims, x, to);
            }
            Step::MemberSum { members, from, .. } => {
                let x = self.read(schedule, schedule.values[*from]);
                rearrange::member_sum_forward(dims, *members, x, to);
            }
            Step::Transpose { from, .. } => {
                let x = self.read(schedule, schedule.values[*from]);
                let (rows, columns) = rows_and_columns(program, *from);
                rearrange::transpose(rows, columns, x, to);
            }
        }
        self.scratch = scratch;
        self.put(schedule, target, memory);
        self.profile.stop(started, step.kind(), Pass::Forward);
    }

    fn fused_forward(
        &mut self,
        schedule: &Schedule,
        dims: Dims,
        (terms, relu, result): (&[Term], bool, Placement),
        mode: Mode,
        to: &mut [f32],
    ) {
        let mut norms = [take_norm(&mut self.norms, terms.first()), take_norm(&mut self.norms, terms.get(1))];
        let [first, second] = norms.each_mut().map(Option::as_mut);
        let operands = [(0, first), (1, second)].map(|(position, state)| {
            terms.get(position).map(|term| {
                let overwritten = result == Placement::InPlace && position == 0;
                let x = (!overwritten).then(|| self.read(schedule, schedule.values[term.from]));
                Operand { x, affine: &term.affine, state }
            })
        });
        fused::forward(dims, operands, relu, mode, &self.parameters, to);
        for (term, norm) in terms.iter().zip(norms) {
            put_norm(&mut self.norms, term, norm);
        }
    }

    pub(crate) fn backward(
        &mut self,
        program: &Program,
        schedule: &Schedule,
        back: &Backward,
        mode: Mode,
        observer: &mut Option<&mut dyn Observer>,
        borrowed: BorrowedWeights<'_>,
    ) {
        match *back {
            Backward::Sum { into, from, other } => {
                let started = self.profile.start();
                let mut memory = self.take(schedule, into);
                let to = &mut memory[..schedule.buffers[into].len];
                if into != from {
                    to.copy_from_slice(self.read(schedule, from));
                }
                rearrange::add(to, self.read(schedule, other));
                self.put(schedule, into, memory);
                self.profile.stop(started, crate::Kind::Fused, Pass::DataGradient);
            }
            Backward::Step { step, incoming, result, norms } => match (&program.steps[step], result) {
                (Step::Linear(linear), _) => {
                    self.linear_backward(schedule, linear, (incoming.0, result), observer, borrowed);
                }
                (fused @ Step::Fused { .. }, Some(result)) => {
                    let started = self.profile.start();
                    let passes = (incoming, result, norms);
                    self.fused_backward(program, schedule, fused, passes, mode, observer);
                    self.profile.stop(started, crate::Kind::Fused, Pass::DataGradient);
                }
                (Step::Scale { from, gate, .. }, Some(result)) => {
                    let started = self.profile.start();
                    let values = [*from, *gate];
                    self.scale_backward(program, schedule, values, (incoming.0, result, norms[1]));
                    self.profile.stop(started, crate::Kind::Other, Pass::DataGradient);
                }
                (step, Some(result)) => {
                    let started = self.profile.start();
                    self.other_backward(program, schedule, step, incoming.0, result);
                    self.profile.stop(started, step.kind(), Pass::DataGradient);
                }
                (_, None) => {}
            },
        }
    }

    fn linear_backward(
        &mut self,
        schedule: &Schedule,
        linear: &Linear,
        (incoming, result): (BufferId, Option<BufferId>),
        observer: &mut Option<&mut dyn Observer>,
        borrowed: BorrowedWeights<'_>,
    ) {
        let started = self.profile.start();
        let (mut scratch, mut gradients) = (take(&mut self.scratch), take(&mut self.gradients));
        let weight_gradient = &mut gradients[linear.weight.clone()];
        let inputs = self.input(schedule, linear);
        let cotangents = self.read(schedule, incoming);
        if let Some(observer) = observer {
            // What is observed is computed in full.
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
        if let Some(result) = result {
            let mut memory = self.take(schedule, result);
            let to = &mut memory[..schedule.buffers[result].len];
            let gradient = self.read(schedule, incoming);
            linear.conv.data_gradient(gradient, self.weights(linear, borrowed), to, &mut scratch);
            self.scale_result(linear, to);
            self.put(schedule, result, memory);
            self.profile.stop(started, linear.kind, Pass::DataGradient);
        }
        self.scratch = scratch;
    }

    fn fused_backward(
        &mut self,
        program: &Program,
        schedule: &Schedule,
        step: &Step,
        (incoming, result, targets): ((BufferId, Option<BufferId>), BufferId, [Option<BufferId>; 2]),
        mode: Mode,
        observer: &mut Option<&mut dyn Observer>,
    ) {
        let Step::Fused { terms, relu, to, .. } = step else { return };
        let len = schedule.buffers[result].len;
        let mut memory = self.take(schedule, result);
        let mut norm_memory = targets.map(|target| target.map(|target| self.take(schedule, target)));
        let mut gradients = take(&mut self.gradients);
        let [first, second] =
            norm_memory.each_mut().map(|memory| memory.as_mut().map(|memory| &mut memory[..len]));
        let operands = [(0, first), (1, second)].map(|(position, target)| {
            terms.get(position).map(|term| {
                let norm = match term.affine {
                    Affine::Norm { state, .. } => {
                        Some((self.read(schedule, schedule.values[term.from]), &self.norms[state]))
                    }
                    _ => None,
                };
                BackwardOperand { affine: &term.affine, norm, target }
            })
        });
        let mask = match (*relu, step.masks_by_output()) {
            (false, _) => Mask::None,
            (true, true) => Mask::Output(self.read(schedule, schedule.values[*to])),
            (true, false) => Mask::Norm,
        };
        let pass = fused::Backward {
            dims: program.values[*to].dims,
            mode,
            mask,
            first: (result != incoming.0).then(|| self.read(schedule, incoming.0)),
            second: incoming.1.map(|second| self.read(schedule, second)),
            gradient: &mut memory[..len],
            operands,
        };
        pass.run(&self.parameters, &mut gradients);
        self.gradients = gradients;
        if let Some(observer) = observer {
            let extent = program.values[*to].extent();
            let cotangents = &memory[..len];
            for term in terms {
                match term.affine {
                    Affine::Plain => {}
                    Affine::Bias(_) => observer.see(Observed::Bias { extent, cotangents }),
                    Affine::Norm { state, .. } => {
                        let inputs = self.read(schedule, schedule.values[term.from]);
                        let (mean, inverse_deviation) =
                            (&self.norms[state].mean[..], &self.norms[state].inverse_deviation[..]);
                        observer.see(Observed::Norm { extent, inputs, cotangents, mean, inverse_deviation });
                    }
                }
            }
        }
        self.put(schedule, result, memory);
        for (target, memory) in targets.into_iter().zip(norm_memory) {
            if let (Some(target), Some(memory)) = (target, memory) {
                self.put(schedule, target, memory);
            }
        }
    }

    fn scale_backward(
        &mut self,
        program: &Program,
        schedule: &Schedule,
        values: [ValueId; 2],
        (incoming, result, target): (BufferId, BufferId, Option<BufferId>),
    ) {
        let dims = program.values[values[0]].dims;
        let mut gate_memory = target.map(|target| self.take(schedule, target));
        let mut memory = self.take(schedule, result);
        let gradient = &mut memory[..schedule.buffers[result].len];
        if result != incoming {
            gradient.copy_from_slice(self.read(schedule, incoming));
        }
        let [x, factors] = values.map(|value| self.read(schedule, schedule.values[value]));
        if let (Some(target), Some(memory)) = (target, &mut gate_memory) {
            gate::gate_gradient(dims, x, gradient, &mut memory[..schedule.buffers[target].len]);
        }
        gate::scale_in_place(dims, factors, gradient);
        self.put(schedule, result, memory);
        if let (Some(target), Some(memory)) = (target, gate_memory) {
            self.put(schedule, target, memory);
        }
    }

    fn other_backward(
        &mut self,
        program: &Program,
        schedule: &Schedule,
        step: &Step,
        incoming: BufferId,
        result: BufferId,
    ) {
        let mut memory = self.take(schedule, result);
        let to = &mut memory[..schedule.buffers[result].len];
        let value = |value: ValueId| self.read(schedule, schedule.values[value]);
        match step {
            Step::Activation { activation, from, .. } => {
                if result != incoming {
                    to.copy_from_slice(self.read(schedule, incoming));
                }
                activation::backward(*activation, value(*from), to);
            }
            Step::MaxPool { pool, from, to: of } => {
                let dims = program.values[*of].dims;
                pool.backward(dims.images * dims.channels, value(*from), self.read(schedule, incoming), to);
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
                let (rows, columns) = rows_and_columns(program, *of);
                rearrange::transpose(rows, columns, self.read(schedule, incoming), to);
            }
            Step::Linear(_) | Step::Fused { .. } | Step::Scale { .. } => {}
        }
        self.put(schedule, result, memory);
    }

    /// Sets the initial parameters.
    pub(crate) fn initialise(&mut self, table: &Table, parametrisation: Parametrisation, seed: u64) {
        table.initialise(parametrisation, seed, self.parameters_mut());
        for norm in &mut self.norms {
            norm.running_mean.fill(0.0);
            norm.running_var.fill(1.0);
        }
    }
}

/// A value of one-pixel images as a matrix.
fn rows_and_columns(program: &Program, value: ValueId) -> (usize, usize) {
    let dims = program.values[value].dims;
    if program.values[value].flat { (dims.channels, dims.pixels) } else { (dims.images, dims.channels) }
}

/// Settles a norm whose values its reader computes.
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

/// Channels times blocks of the partial sums that a step's epilogue computes.
fn partial_sums_len(step: &Step) -> usize {
    match step {
        Step::Linear(linear) if linear.output_norm.is_some() => {
            let shape = linear.conv.shape();
            linear.conv.blocks().unwrap_or(0) * shape.groups * shape.outputs
        }
        _ => 0,
    }
}

/// The least that a value can be behind a ReLU, or without one.
fn floor(relu: bool) -> f32 {
    if relu { 0.0 } else { f32::NEG_INFINITY }
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

/// The layers with weights, in order.
fn linears(steps: &[Step]) -> impl Iterator<Item = &Linear> {
    steps.iter().filter_map(|step| match step {
        Step::Linear(linear) => Some(&**linear),
        _ => None,
    })
}
