//! Forward pass of element-wise steps: statistics, then the rest while the operand is in cache.

use super::statistics::{PartialSums, batch_statistics};
use super::{Affine, EPSILON, FusedActivation, MOMENTUM, NormState, norm_coefficients};
use crate::options::Mode;
use crate::passes::nontemporal::Stores;
use crate::passes::{BLOCK, Dims, vector};
use crate::workers::{Shared, for_each};
use std::ops::Range;

/// An operand; without `x` it is in place, in the output.
pub(crate) struct Operand<'a> {
    pub x: Option<&'a [f32]>,
    pub affine: &'a Affine,
    pub state: Option<&'a mut NormState>,
}

/// Forward pass of an element-wise step; only the first operand can be in place.
pub(crate) struct Forward<'a> {
    pub dims: Dims,
    /// Norms use the statistics of the batch, or in evaluation the running ones.
    pub mode: Mode,
    pub activation: FusedActivation,
    pub operands: [Option<Operand<'a>>; 2],
}

/// [`Operand`] with a state that tasks share.
type SharedOperand<'a> = (Option<&'a [f32]>, &'a Affine, Option<SharedState<'a>>);

impl Forward<'_> {
    /// Computes the output.
    pub(crate) fn run(self, parameters: &[f32], out: &mut [f32]) {
        let Self { dims, mode, activation, operands } = self;
        let out = Shared::new(out);
        let operands: [Option<SharedOperand>; 2] =
            operands.map(|operand| operand.map(|o| (o.x, o.affine, o.state.map(SharedState::new))));
        let floor = activation.floor();
        let stores = Stores::for_tensor(dims.len());
        dims.for_each_block(|channels| {
            let coefficients = operands
                .each_ref()
                .map(|operand| coefficients(dims, mode, operand.as_ref(), parameters, channels.clone()));
            let sources = operands.each_ref().map(|operand| operand.as_ref().and_then(|(x, ..)| *x));
            for (channel, range) in dims.chunks(channels.clone()) {
                // SAFETY: a task owns its channels.
                let out = unsafe { out.piece(range.clone()) };
                let [first, second] = coefficients.each_ref().map(|c| c[channel - channels.start]);
                match sources.map(|x| x.map(|x| &x[range.clone()])) {
                    [Some(x), None] => stores.affine(out, x, first, floor),
                    [Some(x), Some(y)] => stores.affine_two(out, x, first, y, second, floor),
                    [None, Some(y)] => vector::add_affine(out, first, y, second, floor),
                    [None, None] => vector::affine_in_place(out, first, floor),
                }
            }
            stores.finish();
        });
    }
}

/// An operand's channels as a x + b; a norm updates its statistics first.
fn coefficients(
    dims: Dims,
    mode: Mode,
    operand: Option<&SharedOperand>,
    parameters: &[f32],
    channels: Range<usize>,
) -> [(f32, f32); BLOCK] {
    let mut coefficients = [(1.0, 0.0); BLOCK];
    match operand {
        Some((x, Affine::Norm { scale, shift, .. }, Some(state))) => {
            let batch =
                x.filter(|_| mode == Mode::Train).map(|x| batch_statistics(dims, x, channels.clone()));
            for (index, channel) in channels.enumerate() {
                let by = (parameters[scale.start + channel], parameters[shift.start + channel]);
                let batch = batch.map(|batch| batch[index]);
                // SAFETY: a task owns its channels.
                coefficients[index] = unsafe { state.set_channel(dims, channel, batch, by) };
            }
        }
        Some((_, Affine::Bias(bias), _)) => {
            let shifts = &parameters[bias.clone()][channels];
            coefficients.iter_mut().zip(shifts).for_each(|(to, &shift)| to.1 = shift);
        }
        _ => {}
    }
    coefficients
}

/// Source of a norm's statistics.
#[derive(Clone, Copy)]
pub(crate) enum StatisticsSource<'a> {
    /// The running statistics.
    Running,
    /// A sweep over the batch.
    Batch(&'a [f32]),
    /// The partial sums of the producer's epilogue, in so many blocks.
    PartialSums(&'a PartialSums, usize),
}

/// Updates the statistics and coefficients of a norm that is fused into its consumer.
pub(crate) fn update_norm(
    dims: Dims,
    source: StatisticsSource,
    state: &mut NormState,
    (scale, shift): (&Range<usize>, &Range<usize>),
    parameters: &[f32],
) {
    let state = SharedState::new(state);
    let update_norm = |channel: usize, batch: Option<(f64, f64)>| {
        let by = (parameters[scale.start + channel], parameters[shift.start + channel]);
        // SAFETY: a task owns its channels.
        unsafe { state.set_channel(dims, channel, batch, by) };
    };
    match source {
        StatisticsSource::Running => (0..dims.channels).for_each(|channel| update_norm(channel, None)),
        StatisticsSource::Batch(x) => dims.for_each_block(|channels| {
            let batch = batch_statistics(dims, x, channels.clone());
            channels.zip(batch).for_each(|(channel, batch)| update_norm(channel, Some(batch)));
        }),
        // As many channels as there is room for: their sums lie next to each other.
        StatisticsSource::PartialSums(partial_sums, blocks) => {
            for_each(dims.channels.div_ceil(BLOCK), |task| {
                let channels = task * BLOCK..((task + 1) * BLOCK).min(dims.channels);
                let batch = partial_sums.statistics((blocks, dims.channels), channels.clone());
                channels.zip(batch).for_each(|(channel, batch)| update_norm(channel, Some(batch)));
            });
        }
    }
}

/// The arrays of a norm's state, open to all tasks; each touches its own channels only.
struct SharedState<'a> {
    mean: Shared<'a>,
    inverse_deviation: Shared<'a>,
    slope: Shared<'a>,
    shift: Shared<'a>,
    running_mean: Shared<'a>,
    running_var: Shared<'a>,
}

impl<'a> SharedState<'a> {
    fn new(state: &'a mut NormState) -> Self {
        Self {
            mean: Shared::new(&mut state.mean),
            inverse_deviation: Shared::new(&mut state.inverse_deviation),
            slope: Shared::new(&mut state.slope),
            shift: Shared::new(&mut state.shift),
            running_mean: Shared::new(&mut state.running_mean),
            running_var: Shared::new(&mut state.running_var),
        }
    }

    /// Sets a channel's mean and inverse deviation, to those of the batch where its mean and variance
    /// are given, else to the running ones. Sets and returns the norm's coefficients a x + b.
    ///
    /// # Safety
    ///
    /// No other thread is at this channel.
    unsafe fn set_channel<'b>(
        &'b self,
        dims: Dims,
        channel: usize,
        batch: Option<(f64, f64)>,
        (scale, shift): (f32, f32),
    ) -> (f32, f32) {
        let own = |array: &'b Shared<'_>| -> &'b mut f32 {
            // SAFETY: one thread per channel, which the caller promises.
            let own = unsafe { array.piece(channel..channel + 1) };
            &mut own[0]
        };
        let (running_mean, running_var) = (own(&self.running_mean), own(&self.running_var));
        let (mean, variance) = batch.unwrap_or((f64::from(*running_mean), f64::from(*running_var)));
        if batch.is_some() {
            let count = (dims.images * dims.pixels) as f64;
            let blend = |old: f32, new: f64| ((1.0 - MOMENTUM) * f64::from(old) + MOMENTUM * new) as f32;
            *running_mean = blend(*running_mean, mean);
            *running_var = blend(*running_var, variance * count / (count - 1.0));
        }
        let (mean, inverse) = (mean as f32, (1.0 / (variance + EPSILON).sqrt()) as f32);
        (*own(&self.mean), *own(&self.inverse_deviation)) = (mean, inverse);
        let coefficients = norm_coefficients(mean, inverse, scale, shift);
        (*own(&self.slope), *own(&self.shift)) = coefficients;
        coefficients
    }
}
