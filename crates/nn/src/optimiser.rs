//! SGD and Adam, as PyTorch computes them, in one pass over the parameters.

use crate::Error;
use crate::error::check_lengths;
use crate::memory::Array;
use crate::passes::TASK_FLOATS;
use collegial_core::multiversion;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Update rule of a parameter p with gradient g, in a training step and as the `optimiser` of a
/// recipe. The constants are f64, as people write them; a step rounds them to f32.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum UpdateRule {
    /// `g += decay p; v = momentum v + g; p -= rate v`, or with Nesterov's `p -= rate (g + momentum
    /// v)`.
    Sgd {
        /// The factor of the velocity v.
        #[serde(default = "nine_tenths")]
        momentum: f64,
        /// Whether the step looks ahead.
        #[serde(default)]
        nesterov: bool,
        /// Weight decay of all parameters, a part of the gradient.
        #[serde(default)]
        weight_decay: f64,
    },
    /// `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= rate mhat / (sqrt(vhat) + epsilon)`
    /// with `mhat = m / (1 - b1^t)`, `vhat = v / (1 - b2^t)`; the decay is a part of the gradient.
    Adam(AdamConstants),
    /// Adam with decoupled decay: `p *= 1 - rate decay` first.
    AdamW(AdamConstants),
}

/// The constants of Adam and AdamW; by default PyTorch's, without decay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConstants {
    /// The decay rates b1 and b2 of the two moments.
    pub betas: [f64; 2],
    /// Added to the root.
    pub epsilon: f64,
    /// Weight decay of all parameters.
    pub weight_decay: f64,
}

impl AdamConstants {
    /// PyTorch's betas and epsilon, no decay.
    pub const USUAL: Self = Self { betas: [0.9, 0.999], epsilon: 1e-8, weight_decay: 0.0 };
}

impl Default for AdamConstants {
    fn default() -> Self {
        Self::USUAL
    }
}

fn nine_tenths() -> f64 {
    0.9
}

impl UpdateRule {
    /// The paper's recipe: momentum 0.9, weight decay 5e-4, no Nesterov.
    pub const SGD: Self = Self::Sgd { momentum: 0.9, weight_decay: 5e-4, nesterov: false };
    /// Adam with its usual constants and no decay.
    pub const ADAM: Self = Self::Adam(AdamConstants::USUAL);
    /// AdamW with its usual constants.
    pub const ADAMW: Self = Self::AdamW(AdamConstants { weight_decay: 0.01, ..AdamConstants::USUAL });
}

/// A rule with its memory of earlier steps.
pub struct Optimiser {
    rule: UpdateRule,
    /// Number of parameters.
    parameters: usize,
    steps: u64,
    /// Velocity, or first moment.
    first: Array,
    /// Second moment; empty for SGD.
    second: Array,
    /// Parameter groups: ranges of the parameters with the factor of their rate.
    groups: Vec<(Range<usize>, f32)>,
}

impl Optimiser {
    /// A fresh optimiser for so many parameters, all with one rate.
    pub fn new(rule: UpdateRule, parameters: usize) -> Self {
        let len = |state: usize| if state < Self::states(rule) { parameters } else { 0 };
        let (first, second) = (Array::zeros(len(0)), Array::zeros(len(1)));
        Self { rule, parameters, steps: 0, first, second, groups: vec![(0..parameters, 1.0)] }
    }

    /// Numbers that a rule remembers of every parameter.
    pub fn states(rule: UpdateRule) -> usize {
        match rule {
            UpdateRule::Sgd { momentum: 0.0, .. } => 0,
            UpdateRule::Sgd { .. } => 1,
            UpdateRule::Adam(_) | UpdateRule::AdamW(_) => 2,
        }
    }

    /// Sets parameter groups: ranges, which together hold every parameter once, with the factor of
    /// their rate. By default all parameters have one rate.
    ///
    /// # Errors
    ///
    /// If the ranges do not follow each other from the first to the last parameter.
    pub fn groups(mut self, groups: Vec<(Range<usize>, f32)>) -> Result<Self, Error> {
        let end = groups.iter().try_fold(0, |end, (range, _)| (range.start == end).then_some(range.end));
        let found = end.unwrap_or(0);
        if found != self.parameters {
            return Err(Error::Optimiser { found, planned: self.parameters });
        }
        // One group is one pass over memory.
        self.groups.clear();
        for (range, factor) in groups {
            match self.groups.last_mut() {
                Some((before, same)) if *same == factor => before.end = range.end,
                _ => self.groups.push((range, factor)),
            }
        }
        Ok(self)
    }

    /// The rule.
    pub fn rule(&self) -> UpdateRule {
        self.rule
    }

    /// Steps taken so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// The state by PyTorch's names (`momentum_buffer`; `exp_avg`, `exp_avg_sq`), each laid out as
    /// the parameters.
    pub fn state(&self) -> impl Iterator<Item = (&'static str, &[f32])> {
        let (first, second) = self.names();
        [(first, &*self.first), (second, &*self.second)].into_iter().filter(|(_, values)| !values.is_empty())
    }

    /// The state by name, to be restored together with the number of steps.
    pub fn state_mut(&mut self) -> impl Iterator<Item = (&'static str, &mut [f32])> {
        let (first, second) = self.names();
        [(first, &mut *self.first), (second, &mut *self.second)]
            .into_iter()
            .filter(|(_, values)| !values.is_empty())
    }

    /// Sets how many steps the restored state has seen.
    pub fn set_steps(&mut self, steps: u64) {
        self.steps = steps;
    }

    fn names(&self) -> (&'static str, &'static str) {
        match self.rule {
            UpdateRule::Sgd { .. } => ("momentum_buffer", ""),
            UpdateRule::Adam(_) | UpdateRule::AdamW(_) => ("exp_avg", "exp_avg_sq"),
        }
    }

    /// Updates the parameters with learning rate `rate`.
    ///
    /// # Errors
    ///
    /// If there are not as many parameters and gradients as the optimiser is for; nothing has
    /// changed then.
    pub fn step(&mut self, rate: f32, parameters: &mut [f32], gradients: &[f32]) -> Result<(), Error> {
        let (found, planned) = (parameters.len(), self.parameters);
        if found != planned {
            return Err(Error::Optimiser { found, planned });
        }
        check_lengths("gradients", gradients.len(), "parameters", parameters.len())?;
        self.steps += 1;
        for group in 0..self.groups.len() {
            let (range, factor) = self.groups[group].clone();
            self.step_group(rate * factor, range.clone(), &mut parameters[range.clone()], &gradients[range]);
        }
        Ok(())
    }

    /// The step of one range of parameters.
    fn step_group(&mut self, rate: f32, range: Range<usize>, parameters: &mut [f32], gradients: &[f32]) {
        let gradients = gradients.par_chunks(TASK_FLOATS);
        let parameters = parameters.par_chunks_mut(TASK_FLOATS).zip(gradients);
        // Rules without such a state have an empty array.
        let of = |range: &Range<usize>, state: &[f32]| if state.is_empty() { 0..0 } else { range.clone() };
        let (of_first, of_second) = (of(&range, &self.first), of(&range, &self.second));
        let first = self.first[of_first].par_chunks_mut(TASK_FLOATS);
        match self.rule {
            UpdateRule::Sgd { momentum: 0.0, weight_decay, .. } => {
                parameters.for_each(|(p, g)| descend(p, g, rate, weight_decay as f32));
            }
            UpdateRule::Sgd { momentum, weight_decay, nesterov } => {
                let (momentum, weight_decay) = (momentum as f32, weight_decay as f32);
                let by = Sgd { rate, momentum, weight_decay, nesterov };
                parameters.zip(first).for_each(|((p, g), v)| sgd(p, v, g, by));
            }
            UpdateRule::Adam(constants) | UpdateRule::AdamW(constants) => {
                let decay = match self.rule {
                    UpdateRule::AdamW(_) => Decay::Decoupled,
                    _ => Decay::Coupled,
                };
                let by = Adam::new(self.steps, rate, constants, decay);
                let second = self.second[of_second].par_chunks_mut(TASK_FLOATS);
                let all = parameters.zip(first).zip(second);
                all.for_each(|(((p, g), m), v)| adam(p, m, v, g, by));
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Sgd {
    rate: f32,
    momentum: f32,
    weight_decay: f32,
    nesterov: bool,
}

/// Weight decay: a part of the gradient, or applied to the parameter itself (AdamW).
#[derive(Clone, Copy)]
enum Decay {
    Coupled,
    Decoupled,
}

#[derive(Clone, Copy)]
struct Adam {
    beta1: f32,
    beta2: f32,
    /// rate / (1 - b1^t).
    rate: f32,
    /// 1 / sqrt(1 - b2^t).
    root: f32,
    epsilon: f32,
    coupled_decay: f32,
    /// 1 - rate decay where decoupled, else 1.
    shrink: f32,
}

impl Adam {
    fn new(step: u64, rate: f32, constants: AdamConstants, decay: Decay) -> Self {
        let [beta1, beta2] = constants.betas.map(|beta| beta as f32);
        let weight_decay = constants.weight_decay as f32;
        let (coupled_decay, shrink) = match decay {
            Decay::Coupled => (weight_decay, 1.0),
            Decay::Decoupled => (0.0, 1.0 - rate * weight_decay),
        };
        let correction = |beta: f32| 1.0 - f64::from(beta).powi(step.min(i32::MAX as u64) as i32);
        Self {
            beta1,
            beta2,
            rate: (f64::from(rate) / correction(beta1)) as f32,
            root: (1.0 / correction(beta2).sqrt()) as f32,
            epsilon: constants.epsilon as f32,
            coupled_decay,
            shrink,
        }
    }
}

multiversion! {
    fn descend(p: &mut [f32], g: &[f32], rate: f32, weight_decay: f32) {
        for (p, g) in p.iter_mut().zip(g) {
            *p -= rate * (g + weight_decay * *p);
        }
    }
}

multiversion! {
    fn sgd(p: &mut [f32], v: &mut [f32], g: &[f32], by: Sgd) {
        let ahead = if by.nesterov { (1.0, by.momentum) } else { (0.0, 1.0) };
        for ((p, v), g) in p.iter_mut().zip(v).zip(g) {
            let g = g + by.weight_decay * *p;
            *v = by.momentum * *v + g;
            *p -= by.rate * (ahead.0 * g + ahead.1 * *v);
        }
    }
}

multiversion! {
    fn adam(p: &mut [f32], m: &mut [f32], v: &mut [f32], g: &[f32], by: Adam) {
        for (((p, m), v), g) in p.iter_mut().zip(m).zip(v).zip(g) {
            let g = g + by.coupled_decay * *p;
            *m = by.beta1 * *m + (1.0 - by.beta1) * g;
            *v = by.beta2 * *v + (1.0 - by.beta2) * (g * g);
            *p = by.shrink * *p - by.rate * *m / (v.sqrt() * by.root + by.epsilon);
        }
    }
}
