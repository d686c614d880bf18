//! Tensors of a network: parameters, gradients, buffers and scratch memory.
//!
//! `forward` and `backward` execute the steps of a program on them.

mod backward;
mod forward;

use crate::Error;
use crate::builder::Settings;
use crate::memory::{self, Array};
use crate::options::{Mode, Parametrisation, Purpose};
use crate::parameters::Table;
use crate::passes::fused::{NormState, PartialSums};
use crate::passes::vector;
use crate::profile::Profile;
use crate::program::{Linear, Program, Step, ValueId};
use crate::schedule::{BufferId, Schedule};
use std::mem::take;

/// Borrowed weights of all layers, in order, in place of the network's own.
pub(crate) type BorrowedWeights<'a> = Option<&'a [&'a [f32]]>;

/// What a pass executes: the plan, where norms take their statistics from, and the weights.
#[derive(Clone, Copy)]
pub(crate) struct PassContext<'a> {
    pub program: &'a Program,
    pub schedule: &'a Schedule,
    pub mode: Mode,
    pub borrowed: BorrowedWeights<'a>,
}

/// Memory of a network: everything that changes when it runs.
pub(crate) struct State {
    pub parameters: Array,
    pub gradients: Array,
    /// Parameters times the factors of the NTK parametrisation; empty in the standard one.
    scaled: Array,
    pub norms: Vec<NormState>,
    slots: Vec<Array>,
    scratch: Array,
    partial_sums: PartialSums,
    /// Cache of every layer's packed or transformed weights, for inference with folded norms.
    prepared: Vec<Array>,
    /// Whether parameters may have changed since the cache was filled.
    stale: bool,
    pub profile: Profile,
}

/// Floats of the arrays of a state.
struct Sizes {
    parameters: usize,
    gradients: usize,
    scaled: usize,
    scratch: usize,
    prepared: Vec<usize>,
}

impl Sizes {
    fn of(program: &Program, settings: Settings) -> Self {
        // Observed passes scale results instead of weights, which others may own.
        let ntk =
            settings.parametrisation == Parametrisation::Ntk && settings.purpose != Purpose::Observation;
        let training = settings.purpose.has_backward();
        let threads = settings.threading.threads();
        let scratch = linears(&program.steps).map(|linear| linear.conv.scratch_len(threads));
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
        Self { parameters: len, gradients, scaled, scratch, prepared }
    }

    /// Of all arrays, the activations among them.
    fn floats(&self, schedule: &Schedule) -> usize {
        let Self { parameters, gradients, scaled, scratch, prepared } = self;
        let arrays = [parameters, gradients, scaled, scratch].into_iter().chain(&schedule.slots);
        arrays.chain(prepared).fold(0, |sum, &floats| sum.saturating_add(floats))
    }
}

impl State {
    /// Floats of the arrays that [`new`](Self::new) takes.
    pub(crate) fn floats(program: &Program, schedule: &Schedule, settings: Settings) -> usize {
        Sizes::of(program, settings).floats(schedule)
    }

    /// # Errors
    ///
    /// If its arrays are more than the memory that is free; none has been taken then.
    pub(crate) fn new(program: &Program, schedule: &Schedule, settings: Settings) -> Result<Self, Error> {
        let sizes = Sizes::of(program, settings);
        memory::check(sizes.floats(schedule))?;
        let Sizes { parameters, gradients, scaled, scratch, prepared } = sizes;
        Ok(Self {
            parameters: Array::zeros(parameters),
            gradients: Array::zeros(gradients),
            scaled: Array::zeros(scaled),
            norms: program.norms.iter().map(|norm| NormState::new(norm.channels)).collect(),
            scratch: Array::zeros(scratch),
            partial_sums: PartialSums::new(
                linears(&program.steps).map(Linear::partial_sums_len).max().unwrap_or(0),
            ),
            prepared: prepared.into_iter().map(Array::zeros).collect(),
            stale: true,
            slots: schedule.slots.iter().map(|&len| Array::zeros(len)).collect(),
            profile: Profile::for_purpose(settings.purpose),
        })
    }

    /// Moves parameters, gradients, running statistics and profile from another state of the same
    /// network: they outlive its plan.
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

    /// Floats of the cache of prepared weights.
    pub(crate) fn prepared_len(&self) -> usize {
        self.prepared.iter().map(|prepared| prepared.len()).sum()
    }

    /// Fills the cache of prepared weights, unless it is up to date.
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

    /// Contents of a buffer.
    pub(crate) fn read(&self, schedule: &Schedule, buffer: BufferId) -> &[f32] {
        let buffer = &schedule.buffers[buffer];
        &self.slots[buffer.slot][..buffer.len]
    }

    /// Contents of a value's buffer.
    fn value(&self, schedule: &Schedule, value: ValueId) -> &[f32] {
        self.read(schedule, schedule.values[value])
    }

    /// Overwrites a buffer, and pads it with zeros.
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
        for linear in linears(steps) {
            let range = linear.weight.clone();
            vector::scale(&mut self.scaled[range.clone()], &self.parameters[range], linear.factor);
        }
    }

    fn weights<'a>(&'a self, linear: &Linear, borrowed: BorrowedWeights<'a>) -> &'a [f32] {
        if let Some(weights) = borrowed {
            return weights[linear.index];
        }
        let all = if self.scaled.is_empty() { &self.parameters } else { &self.scaled };
        &all[linear.weight.clone()]
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

/// The layers with weights, in order.
fn linears(steps: &[Step]) -> impl Iterator<Item = &Linear> {
    steps.iter().filter_map(|step| match step {
        Step::Linear(linear) => Some(&**linear),
        _ => None,
    })
}
