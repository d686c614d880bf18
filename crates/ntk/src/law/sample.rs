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
//! Chains that need less are drawn by `single_column.rs`.

use collegial_arch::Activation;
use collegial_stats::Rng;

use super::activation;
use super::columns::{add_scaled, all_pairs, apply_weights, combine, cross, dot, gram};
use super::factor::Factor;
use super::plan::{LinearStep, Method, Plan, Step};

/// Buffers of one layer.
#[derive(Clone, Debug, Default)]
struct State {
    /// Inner products of the columns C the layer reads.
    patch_gram: Vec<f64>,
    /// Their factor L.
    factor: Factor,
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
    cotangent_factor: Factor,
    pub(super) fresh: Vec<f32>,
    products: Vec<f64>,
    seen: Vec<f64>,
    solution: Vec<f64>,
    coefficients: Vec<f64>,
}

/// The columns of the input and their inner products.
pub(crate) struct Input<'a> {
    pub columns: &'a [f32],
    pub gram: &'a [f64],
    /// Factor of the first layer's patch Gram, the same in every draw.
    pub first_factor: &'a Factor,
    pub first_patch_gram: &'a [f64],
}

impl Workspace {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            states: vec![State::default(); plan.steps.len()],
            cotangent_factor: Factor::default(),
            fresh: vec![],
            products: vec![],
            seen: vec![],
            solution: vec![],
            coefficients: vec![],
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
            self.backward(plan, methods, rng, index, kernel);
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
                    gram(&state.after, *channels, &all_pairs(plan.inputs), &mut state.after_gram);
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
                    Method::Law if index == 0 => state.forward_law(step, input.first_factor, rng),
                    Method::Law => {
                        let mut factor = std::mem::take(&mut state.factor);
                        factor.compute(&state.patch_gram, columns);
                        state.forward_law(step, &factor, rng);
                        state.factor = factor;
                    }
                    Method::Explicit => state.forward_explicit(step, x, rng),
                }
                activation::apply(step.activation, &mut state.after, &mut state.before);
                if let Some(Step::Linear(next)) = plan.steps.get(index + 1) {
                    resized(&mut state.after_gram, columns * columns);
                    gram(&state.after, step.outputs, &next.pairs_in, &mut state.after_gram);
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

    fn backward(&mut self, plan: &Plan, methods: &[Method], rng: &mut Rng, index: usize, kernel: &mut [f64]) {
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
                self.add_contribution(plan, step, index, kernel);
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
        gram(&state.cotangent, step.outputs, &step.pairs, &mut state.cotangent_gram);
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
            pull_back_explicit(step, state, &mut self.fresh, &mut before.cotangent);
            return;
        }
        let columns = step.positions * plan.inputs;
        self.cotangent_factor.compute(&state.cotangent_gram, columns);
        let rank = self.cotangent_factor.rank;
        resized(&mut self.fresh, step.fan_in() * rank);
        rng.fill_normal(&mut self.fresh);
        self.condition(plan, step, index);
        let before = &mut self.states[index - 1];
        let mut cotangent = std::mem::take(&mut before.cotangent);
        self.scatter(plan, step, index, &mut cotangent);
        self.states[index - 1].cotangent = cotangent;
    }

    /// The coefficients M of the columns C_S in W^T D: L_S^-T (Z^T D - L_S^-1 C_S^T F), F = F'
    /// L_D^T with F' fresh.
    fn condition(&mut self, plan: &Plan, step: &LinearStep, index: usize) {
        let (x, state) = (&self.states[index - 1].after, &self.states[index]);
        let columns = step.positions * plan.inputs;
        let (rank, fresh_rank, n) = (state.factor.rank, self.cotangent_factor.rank, step.inputs);
        resized(&mut self.coefficients, rank * columns);
        if rank == 0 {
            return;
        }
        resized(&mut self.products, rank * columns);
        cross(&state.normals, &state.cotangent, step.outputs, columns, &mut self.products);
        resized(&mut self.seen, rank * fresh_rank);
        for (k, &pivot) in state.factor.pivots.iter().enumerate() {
            let seen = &mut self.seen[k * fresh_rank..][..fresh_rank];
            seen.fill(0.0);
            for tap in 0..step.taps {
                let Some(source) = step.source_column(pivot, tap) else { continue };
                for (j, seen) in seen.iter_mut().enumerate() {
                    *seen += dot(&x[source * n..][..n], &self.fresh[(tap * fresh_rank + j) * n..][..n]);
                }
            }
        }
        resized(&mut self.solution, rank);
        for q in 0..columns {
            let weights = &self.cotangent_factor.lower[q * columns..][..fresh_rank];
            for (k, value) in self.solution.iter_mut().enumerate() {
                let seen = &self.seen[k * fresh_rank..][..fresh_rank];
                *value = weights.iter().zip(seen).map(|(weight, seen)| weight * seen).sum();
            }
            state.factor.solve(&mut self.solution);
            for (k, value) in self.solution.iter_mut().enumerate() {
                *value = self.products[k * columns + q] - *value;
            }
            state.factor.solve_transposed(&mut self.solution);
            for (k, value) in self.solution.iter().enumerate() {
                self.coefficients[k * columns + q] = step.scale * value;
            }
        }
    }

    /// Adds scale W^T D = scale (F + C_S M), tap by tap, to the cotangents of the columns the taps
    /// read.
    fn scatter(&self, plan: &Plan, step: &LinearStep, index: usize, out: &mut [f32]) {
        let (x, state) = (&self.states[index - 1].after, &self.states[index]);
        let columns = step.positions * plan.inputs;
        let (fresh_rank, n) = (self.cotangent_factor.rank, step.inputs);
        for q in 0..columns {
            let weights = &self.cotangent_factor.lower[q * columns..][..fresh_rank];
            for tap in 0..step.taps {
                let Some(target) = step.source_column(q, tap) else { continue };
                let out = &mut out[target * n..][..n];
                for (j, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight != 0.0) {
                    let fresh = &self.fresh[(tap * fresh_rank + j) * n..][..n];
                    add_scaled((step.scale * weight) as f32, fresh, out);
                }
                for (k, &pivot) in state.factor.pivots.iter().enumerate().take(state.factor.rank) {
                    if let Some(source) = step.source_column(pivot, tap) {
                        add_scaled(self.coefficients[k * columns + q] as f32, &x[source * n..][..n], out);
                    }
                }
            }
        }
    }
}

impl State {
    fn pull_back_activation(&mut self, step: &LinearStep) {
        activation::pull_back(step.activation, &self.after, &self.before, &mut self.cotangent);
    }

    fn forward_law(&mut self, step: &LinearStep, factor: &Factor, rng: &mut Rng) {
        resized(&mut self.normals, factor.rank * step.outputs);
        rng.fill_normal(&mut self.normals);
        combine(
            step.scale,
            &factor.lower,
            factor.size,
            factor.rank,
            &self.normals,
            &mut self.after,
            step.outputs,
        );
    }

    fn forward_explicit(&mut self, step: &LinearStep, x: &[f32], rng: &mut Rng) {
        resized(&mut self.normals, step.fan_in() * step.outputs);
        rng.fill_normal(&mut self.normals);
        self.factor.rank = 0;
        self.after.fill(0.0);
        for (column, out) in self.after.chunks_exact_mut(step.outputs).enumerate() {
            for tap in 0..step.taps {
                if let Some(source) = step.source_column(column, tap) {
                    let weights =
                        &self.normals[tap * step.inputs * step.outputs..][..step.inputs * step.outputs];
                    apply_weights(weights, &x[source * step.inputs..][..step.inputs], out);
                }
            }
            let scale = step.scale as f32;
            out.iter_mut().for_each(|value| *value *= scale);
        }
    }
}

/// Tap by tap, with the weights turned over once for all columns: sums then run along inputs, in
/// whole vectors.
fn pull_back_explicit(step: &LinearStep, state: &State, turned: &mut Vec<f32>, out: &mut [f32]) {
    let (n, scale) = (step.outputs, step.scale as f32);
    resized(turned, step.inputs * n);
    for tap in 0..step.taps {
        let weights = &state.normals[tap * step.inputs * n..][..step.inputs * n];
        for (input, row) in weights.chunks_exact(n).enumerate() {
            for (output, weight) in row.iter().enumerate() {
                turned[output * step.inputs + input] = scale * weight;
            }
        }
        for (q, cotangent) in state.cotangent.chunks_exact(n).enumerate() {
            if let Some(target) = step.source_column(q, tap) {
                apply_weights(turned, cotangent, &mut out[target * step.inputs..][..step.inputs]);
            }
        }
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
