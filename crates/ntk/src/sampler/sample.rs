//! One draw of the kernel: forward through the layers' laws, backward through their conditional
//! laws.
//!
//! Let a layer's Gaussian weights W (outputs x fan-in) meet the columns C (fan-in x columns), and
//! write C_S = E L_S^T for an independent subset S of the columns, E having orthonormal columns.
//! Its scale s apart,
//!
//! (1)  forward, W E = Z is a matrix of fresh normals, and H = W C = Z L^T: outputs x rank numbers;
//!
//! (2)  backward, given Z, the part of W orthogonal to E is still free, so for cotangents D
//! (outputs x columns) W^T D = E Z^T D + (I - E E^T) F with F = W'^T D for independent weights W',
//! whose rows have covariance D^T D: fan-in x rank(D) fresh numbers through the factor of D^T D;
//!
//! (3)  the layer contributes to the kernel s^2 times the sum over pairs of columns of <C_p, C_q>
//! <D_p, D_q>, each pair counted for the inputs its columns belong to.
//!
//! Chains that need less are drawn by `one_position.rs`.

use collegial_arch::Activation;
use collegial_core::Rng;

use super::columns::add_scaled;
use super::conditional::{PullBack, Seen};
use super::factor::Factor;
use super::gram::{Pairs, Turned, gram};
use super::plan::{LinearStep, Method, Plan, Step};
use super::triangle::{Scratch, Triangle};
use super::{activation, explicit_weights};

/// Buffers of one layer.
#[derive(Clone, Debug, Default)]
struct State {
    /// Inner products of the columns C the layer reads.
    patch_gram: Vec<f64>,
    /// Their factor L, and what products with it need of it.
    factor: Factor,
    triangle: Triangle,
    /// Z (law), or all weights as taps x inputs x outputs (explicit).
    normals: Vec<f32>,
    /// φ(H), behind the weights and the activation.
    after: Vec<f32>,
    /// H, kept where φ' cannot be read off φ(H).
    before: Vec<f32>,
    /// Inner products of the columns of φ(H).
    after_gram: Vec<f64>,
    /// D, the output's derivative by H.
    cotangent: Vec<f32>,
    cotangent_gram: Vec<f64>,
}

/// Everything a thread needs to draw; made once, reused for every draw.
#[derive(Clone, Debug)]
pub struct Workspace {
    states: Vec<State>,
    pull_back: PullBack,
    turned: Turned,
    scratch: Scratch,
    pub(super) fresh: Vec<f32>,
    rows: Vec<(usize, usize)>,
}

/// The columns of the input and their inner products.
pub(crate) struct Input<'a> {
    pub columns: &'a [f32],
    pub gram: &'a [f64],
    /// Factor of the first layer's patch Gram, with the layer's scale, the same in every draw.
    pub first_triangle: &'a Triangle,
    pub first_patch_gram: &'a [f64],
}

impl State {
    /// Draws a layer's outputs by their law, given the factor of its patch Gram: that of the first
    /// layer is the same in every draw.
    fn draw_outputs(
        &mut self,
        step: &LinearStep,
        columns: usize,
        first: Option<&Triangle>,
        rng: &mut Rng,
        scratch: &mut Scratch,
    ) {
        if first.is_none() {
            self.factor.compute(&self.patch_gram, columns);
            self.triangle.fill(&self.factor, step.scale);
        }
        let triangle = first.unwrap_or(&self.triangle);
        resized(&mut self.normals, triangle.rank * step.outputs);
        rng.fill_normal(&mut self.normals);
        triangle.combine(&self.normals, step.outputs, scratch, &mut self.after);
    }
}

impl Workspace {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            states: vec![State::default(); plan.steps.len()],
            pull_back: PullBack::default(),
            turned: Turned::default(),
            scratch: Scratch::default(),
            fresh: vec![],
            rows: vec![],
        }
    }

    /// Draws the kernel matrix into `kernel` (inputs x inputs, row-major).
    pub(crate) fn draw(
        &mut self,
        plan: &Plan,
        methods: &[Method],
        input: &Input<'_>,
        rng: &mut Rng,
        kernel: &mut [f64],
    ) {
        let last = plan.steps.iter().rposition(|step| matches!(step, Step::Linear(_))).unwrap_or(0);
        for index in 0..plan.steps.len() {
            self.forward(plan, methods, input, rng, index, last);
        }
        kernel.fill(0.0);
        self.seed_cotangents(plan);
        for index in (0..plan.steps.len()).rev() {
            self.backward(plan, methods, input, rng, index, kernel);
        }
    }

    fn forward(
        &mut self,
        plan: &Plan,
        methods: &[Method],
        input: &Input<'_>,
        rng: &mut Rng,
        index: usize,
        last: usize,
    ) {
        let (earlier, rest) = self.states.split_at_mut(index);
        let state = &mut rest[0];
        let (x, x_gram) = match earlier.last() {
            Some(before) => (before.after.as_slice(), before.after_gram.as_slice()),
            None => (input.columns, input.gram),
        };
        match &plan.steps[index] {
            Step::Pool { positions, channels } => {
                // Behind the last weights only the mean matters, which `seed_cotangents` accounts
                // for.
                if index < last {
                    pool(x, *positions, *channels, &mut state.after);
                    resized(&mut state.after_gram, plan.inputs * plan.inputs);
                    let all = Pairs::all(plan.inputs, *channels);
                    gram(&state.after, *channels, &all, &mut self.turned, &mut state.after_gram);
                }
            }
            Step::Linear(step) => {
                let columns = step.positions * plan.inputs;
                if index == 0 {
                    state.patch_gram.clear();
                    state.patch_gram.extend_from_slice(input.first_patch_gram);
                } else {
                    step.patch_gram(plan.inputs, x_gram, &mut state.patch_gram);
                }
                resized(&mut state.after, columns * step.outputs);
                if index == last && step.activation == Activation::None {
                    // The output itself is not part of the kernel: its weights stay free for the
                    // way back.
                    state.factor.rank = 0;
                    state.normals.clear();
                    return;
                }
                match methods[index] {
                    Method::Law => {
                        let first = (index == 0).then_some(input.first_triangle);
                        state.draw_outputs(step, columns, first, rng, &mut self.scratch);
                    }
                    Method::Explicit => {
                        state.factor.rank = 0;
                        let (weights, after) = (&mut state.normals, &mut state.after);
                        explicit_weights::forward(step, x, rng, weights, &mut self.rows, after);
                    }
                }
                activation::apply(step.activation, &mut state.after, &mut state.before);
                if let Some(Step::Linear(next)) = plan.steps.get(index + 1) {
                    resized(&mut state.after_gram, columns * columns);
                    gram(&state.after, step.outputs, &next.pairs_in, &mut self.turned, &mut state.after_gram);
                }
            }
        }
    }

    /// The output is a weighted sum over the final positions of the last layer with weights.
    fn seed_cotangents(&mut self, plan: &Plan) {
        for (index, step) in plan.steps.iter().enumerate().rev() {
            let Step::Linear(step) = step else { continue };
            let state = &mut self.states[index];
            let weight = plan.output_weight / final_pool(plan, index);
            resized(&mut state.cotangent, step.positions * plan.inputs * step.outputs);
            state.cotangent.fill(weight as f32);
            activation::pull_back(step.activation, &state.after, &state.before, &mut state.cotangent);
            return;
        }
    }

    fn backward(
        &mut self,
        plan: &Plan,
        methods: &[Method],
        input: &Input<'_>,
        rng: &mut Rng,
        index: usize,
        kernel: &mut [f64],
    ) {
        match &plan.steps[index] {
            Step::Pool { positions, channels } => {
                if !self.states[index].cotangent.is_empty() && index > 0 {
                    let (earlier, rest) = self.states.split_at_mut(index);
                    let before = &mut earlier[index - 1];
                    spread(&rest[0].cotangent, *positions, *channels, &mut before.cotangent);
                    if let Step::Linear(step) = &plan.steps[index - 1] {
                        before.pull_back_activation(step);
                    }
                }
            }
            Step::Linear(step) => {
                if index == 0 && plan.inputs == 1 {
                    // No inner product is needed on its own.
                    let cotangent = &self.states[0].cotangent;
                    kernel[0] += input.first_triangle.square(cotangent, step.outputs, &mut self.scratch);
                } else {
                    self.add_contribution(plan, step, index, kernel);
                }
                if index > 0 {
                    self.pull_back(plan, methods[index], step, index, rng);
                    let before = &mut self.states[index - 1];
                    if let Step::Linear(step) = &plan.steps[index - 1] {
                        before.pull_back_activation(step);
                    }
                }
            }
        }
    }

    /// scale^2 times the sum over pairs of columns of <C_p, C_q> <D_p, D_q>.
    fn add_contribution(&mut self, plan: &Plan, step: &LinearStep, index: usize, kernel: &mut [f64]) {
        let state = &mut self.states[index];
        let columns = step.positions * plan.inputs;
        resized(&mut state.cotangent_gram, columns * columns);
        gram(&state.cotangent, step.outputs, &step.pairs, &mut self.turned, &mut state.cotangent_gram);
        let square = step.scale * step.scale;
        let rows = state.patch_gram.chunks_exact(columns).zip(state.cotangent_gram.chunks_exact(columns));
        for (p, (patches, cotangents)) in rows.enumerate() {
            let entries = &mut kernel[p / step.positions * plan.inputs..][..plan.inputs];
            let by_input = patches.chunks_exact(step.positions).zip(cotangents.chunks_exact(step.positions));
            for (entry, (patches, cotangents)) in entries.iter_mut().zip(by_input) {
                *entry += square * patches.iter().zip(cotangents).map(|(c, d)| c * d).sum::<f64>();
            }
        }
    }

    /// Carries D back through the weights, into the cotangent of the step before.
    fn pull_back(&mut self, plan: &Plan, method: Method, step: &LinearStep, index: usize, rng: &mut Rng) {
        let (earlier, rest) = self.states.split_at_mut(index);
        let (before, state) = (&mut earlier[index - 1], &mut rest[0]);
        resized(&mut before.cotangent, step.positions_in * plan.inputs * step.inputs);
        before.cotangent.fill(0.0);
        if method == Method::Explicit && !state.normals.is_empty() {
            let (weights, cotangent) = (&state.normals, &state.cotangent);
            let (turned, rows) = (&mut self.fresh, &mut self.rows);
            explicit_weights::pull_back(step, weights, cotangent, turned, rows, &mut before.cotangent);
            return;
        }
        let seen = Seen {
            x: &before.after,
            factor: &state.factor,
            normals: &state.normals,
            cotangent: &state.cotangent,
            cotangent_gram: &state.cotangent_gram,
        };
        self.pull_back.add(step, step.positions * plan.inputs, &seen, rng, &mut before.cotangent);
    }
}

impl State {
    fn pull_back_activation(&mut self, step: &LinearStep) {
        activation::pull_back(step.activation, &self.after, &self.before, &mut self.cotangent);
    }
}

fn pool(x: &[f32], positions: usize, channels: usize, out: &mut Vec<f32>) {
    resized(out, x.len() / positions);
    out.fill(0.0);
    let share = 1.0 / positions as f32;
    for (input, out) in x.chunks_exact(positions * channels).zip(out.chunks_exact_mut(channels)) {
        for column in input.chunks_exact(channels) {
            add_scaled(share, column, out);
        }
    }
}

fn spread(cotangent: &[f32], positions: usize, channels: usize, out: &mut Vec<f32>) {
    resized(out, cotangent.len() * positions);
    let share = 1.0 / positions as f32;
    for (source, out) in cotangent.chunks_exact(channels).zip(out.chunks_exact_mut(positions * channels)) {
        for column in out.chunks_exact_mut(channels) {
            column.fill(0.0);
            add_scaled(share, source, column);
        }
    }
}

/// The positions that a pool behind the last weights averages over, 1 if there is none.
fn final_pool(plan: &Plan, last: usize) -> f64 {
    let pools = plan.steps[last + 1..].iter();
    pools.map(|step| if let Step::Pool { positions, .. } = step { *positions as f64 } else { 1.0 }).product()
}

/// Sets a buffer's length; its content is whatever it was.
fn resized<T: Clone + Default>(buffer: &mut Vec<T>, length: usize) {
    buffer.resize(length, T::default());
}
