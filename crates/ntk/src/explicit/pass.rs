//! Forward and backward through the graph at given weights, every layer's part of the kernel added on the way back.

use collegial_arch::{Activation, NodeId, Shape};
use collegial_stats::multiversion;

use super::contribution;
use super::gram::Gram;
use super::matmul::for_each_piece;
use super::plan::{Kind, MaxPool, Norm, Plan};
use super::weights::Weights;
use crate::law::activation;
use crate::law::columns::{add_scaled, dot, relu, relu_mask};

/// Added to a variance before its root is taken, as everywhere.
const EPSILON: f32 = 1e-5;

/// Memory for one network at one number of images; reused from draw to draw.
pub(crate) struct Workspace {
    values: Vec<Vec<f32>>,
    cotangents: Vec<Option<Vec<f32>>>,
    /// Buffers that nobody holds.
    spare: Vec<Vec<f32>>,
    scratch: Vec<f32>,
    /// Of layers that read the network's input, the Grams of its patches, where they are to be kept.
    input_grams: Vec<Option<Vec<f32>>>,
    pub kernel: Gram,
}

impl Workspace {
    /// For work on a pool of `threads`.
    pub(crate) fn new(plan: &Plan, threads: usize, inputs: &[f32]) -> Self {
        let scratch = plan.steps.iter().map(|step| match &step.kind {
            Kind::Linear(linear) => linear.scratch_len(threads),
            _ => 0,
        });
        let mut values = vec![vec![]; plan.steps.len()];
        values[0] = inputs.to_vec();
        Self {
            values,
            cotangents: plan.steps.iter().map(|_| None).collect(),
            spare: vec![],
            scratch: vec![0.0; scratch.max().unwrap_or(0)],
            input_grams: vec![None; plan.steps.len()],
            kernel: Gram::zeros(plan.count),
        }
    }

    /// Keeps what depends on the input only, for draws at one input.
    pub(crate) fn remember_input(&mut self, plan: &Plan) {
        for (id, step) in plan.steps.iter().enumerate() {
            if let Kind::Linear(linear) = &step.kind
                && step.inputs[0] == 0
            {
                self.input_grams[id] = contribution::input_gram(&linear.shape, &self.values[0]);
            }
        }
    }

    /// A buffer of arbitrary contents.
    fn take(&mut self, len: usize) -> Vec<f32> {
        let fitting = self.spare.iter().enumerate().filter(|(_, spare)| spare.capacity() >= len);
        let best = fitting.min_by_key(|(_, spare)| spare.capacity()).map(|(index, _)| index);
        let mut buffer = best.map_or_else(Vec::new, |index| self.spare.swap_remove(index));
        buffer.resize(len, 0.0);
        buffer
    }

    /// Computes every value that the backward pass reads.
    pub(crate) fn forward(&mut self, plan: &Plan, weights: &Weights) {
        for (id, step) in plan.steps.iter().enumerate().skip(1).filter(|(_, step)| step.computed) {
            let old = std::mem::take(&mut self.values[id]);
            self.spare.push(old);
            let mut to = if step.in_place {
                std::mem::take(&mut self.values[step.inputs[0]])
            } else {
                self.take(plan.len(id))
            };
            let mut scratch = std::mem::take(&mut self.scratch);
            let x = &self.values[step.inputs[0]];
            match &step.kind {
                Kind::Input | Kind::Nothing => {}
                Kind::Linear(linear) => {
                    let bias = linear.bias.as_ref().map(|bias| weights.at(bias));
                    linear.forward(x, weights.at(&linear.weight), bias, &mut to, &mut scratch);
                }
                Kind::Norm(norm) => norm_forward(norm, weights, step.shape, x, &mut to),
                Kind::Activation(phi) => {
                    if !step.in_place {
                        to.copy_from_slice(x);
                    }
                    each_image(plan, &mut to, |_, to| activate(*phi, to));
                }
                Kind::Add => {
                    if !step.in_place {
                        to.copy_from_slice(x);
                    }
                    add_scaled(1.0, &self.values[step.inputs[1]], &mut to);
                }
                Kind::MaxPool(pool) => {
                    let from = plan.steps[step.inputs[0]].shape;
                    pool.visit(from, step.shape, x, |at, largest| to[at] = x[largest]);
                }
                Kind::MeanPool => {
                    let pixels = plan.steps[step.inputs[0]].shape.pixels();
                    for (to, plane) in to.iter_mut().zip(x.chunks_exact(pixels)) {
                        *to = mean(plane);
                    }
                }
                Kind::MemberSum(members) => member_sum(*members, step.shape, x, &mut to),
            }
            self.scratch = scratch;
            self.values[id] = to;
            for &done in &step.releases {
                let done = std::mem::take(&mut self.values[done]);
                self.spare.push(done);
            }
        }
    }

    /// Adds the kernel of the output combined by `seed` (the same for every image): `seed(channel, position)`.
    pub(crate) fn backward(&mut self, plan: &Plan, weights: &Weights, seed: impl Fn(usize, usize) -> f32) {
        let shape = plan.steps[plan.output].shape;
        let mut cotangent = self.take(plan.len(plan.output));
        for image in cotangent.chunks_exact_mut(shape.channels * shape.pixels()) {
            for (channel, plane) in image.chunks_exact_mut(shape.pixels()).enumerate() {
                plane.iter_mut().enumerate().for_each(|(position, d)| *d = seed(channel, position));
            }
        }
        self.cotangents[plan.output] = Some(cotangent);
        for id in (0..plan.steps.len()).rev() {
            if let Some(cotangent) = self.cotangents[id].take() {
                if plan.steps[id].has_parameters {
                    self.step_back(plan, weights, id, cotangent);
                } else {
                    self.spare.push(cotangent);
                }
            }
        }
    }

    fn step_back(&mut self, plan: &Plan, weights: &Weights, id: NodeId, mut d: Vec<f32>) {
        let step = &plan.steps[id];
        let Some(&from) = step.inputs.first() else { return self.spare.push(d) };
        let wanted = plan.steps[from].has_parameters;
        match &step.kind {
            Kind::Input | Kind::Nothing => self.spare.push(d),
            Kind::Linear(linear) => {
                let x = &self.values[from];
                let scale = f64::from(linear.factor).powi(2);
                let bias = linear.bias.is_some();
                match &self.input_grams[id] {
                    Some(gram) => {
                        contribution::add_at_input(&mut self.kernel, &linear.shape, gram, &d, scale, bias);
                    }
                    None => {
                        let pair = (x.as_slice(), d.as_slice());
                        contribution::add(&mut self.kernel, &linear.method, &linear.shape, pair, scale, bias);
                    }
                }
                if wanted {
                    let mut to = self.take(plan.len(from));
                    linear.backward(&d, weights.at(&linear.weight), &mut to, &mut self.scratch);
                    self.send(from, to);
                }
                self.spare.push(d);
            }
            Kind::Norm(norm) => {
                self.norm_contribution(norm, weights, step.shape, from, &d);
                if wanted {
                    norm_backward(norm, weights, step.shape, &mut d);
                    self.send(from, d);
                } else {
                    self.spare.push(d);
                }
            }
            Kind::Activation(phi) => {
                let (before, after) = (&self.values[from], &self.values[id]);
                each_image(plan, &mut d, |place, d| match phi {
                    // Its operand may be gone, and is not asked for.
                    Activation::Relu => relu_mask(&after[place], d),
                    _ => activation::pull_back(*phi, &after[place.clone()], &before[place], d),
                });
                self.send(from, d);
            }
            Kind::Add => {
                if plan.steps[step.inputs[1]].has_parameters {
                    let mut copy = self.take(d.len());
                    copy.copy_from_slice(&d);
                    self.send(step.inputs[1], copy);
                }
                self.send(from, d);
            }
            Kind::MaxPool(pool) => {
                let mut to = self.take(plan.len(from));
                to.fill(0.0);
                let x = &self.values[from];
                pool.visit(plan.steps[from].shape, step.shape, x, |at, largest| to[largest] += d[at]);
                self.send(from, to);
                self.spare.push(d);
            }
            Kind::MeanPool => {
                let mut to = self.take(plan.len(from));
                let pixels = plan.steps[from].shape.pixels();
                for (plane, d) in to.chunks_exact_mut(pixels).zip(&d) {
                    plane.fill(d / pixels as f32);
                }
                self.send(from, to);
                self.spare.push(d);
            }
            Kind::MemberSum(members) => {
                let mut to = self.take(plan.len(from));
                member_spread(*members, step.shape, &d, &mut to);
                self.send(from, to);
                self.spare.push(d);
            }
        }
    }

    /// Adds to a node's cotangent.
    fn send(&mut self, to: NodeId, cotangent: Vec<f32>) {
        match &mut self.cotangents[to] {
            None => self.cotangents[to] = Some(cotangent),
            Some(sum) => {
                add_scaled(1.0, &cotangent, sum);
                self.spare.push(cotangent);
            }
        }
    }

    /// The parts of a norm's scales, sum over positions of d (x - mean) / deviation, and of its shifts, sum of d.
    fn norm_contribution(&mut self, norm: &Norm, weights: &Weights, shape: Shape, from: NodeId, d: &[f32]) {
        let (mean, variance) = (weights.at(&norm.mean), weights.at(&norm.variance));
        let pixels = shape.pixels();
        let x = self.values[from].chunks_exact(pixels);
        let normed: Vec<f32> = d
            .chunks_exact(pixels)
            .zip(x)
            .enumerate()
            .map(|(index, (d, x))| {
                let channel = index % shape.channels;
                let sum: f64 = f64::from(mean[channel]) * d.iter().map(|&d| f64::from(d)).sum::<f64>();
                ((dot(d, x) - sum) / f64::from(variance[channel] + EPSILON).sqrt()) as f32
            })
            .collect();
        self.kernel.add_rows(&normed, 1.0);
        contribution::add_planes(&mut self.kernel, shape.channels, d, |_, plane| plane.iter().sum());
    }
}

/// Runs `run(place, piece)` on every image's piece.
fn each_image(plan: &Plan, values: &mut [f32], run: impl Fn(std::ops::Range<usize>, &mut [f32]) + Sync) {
    let len = values.len() / plan.count;
    let work = values.len();
    for_each_piece(values, len, work, |image, piece| run(image * len..(image + 1) * len, piece));
}

fn activate(phi: Activation, values: &mut [f32]) {
    match phi {
        Activation::Relu => relu(values),
        _ => activation::apply(phi, values, &mut vec![]),
    }
}

fn mean(plane: &[f32]) -> f32 {
    (plane.iter().map(|&value| f64::from(value)).sum::<f64>() / plane.len() as f64) as f32
}

multiversion! {
    /// `to = slope x + offset`
    fn affine(slope: f32, offset: f32, x: &[f32], to: &mut [f32]) {
        to.iter_mut().zip(x).for_each(|(to, x)| *to = slope * x + offset);
    }
}

/// The frozen norm of a channel as (slope, offset).
fn coefficients(norm: &Norm, weights: &Weights, channel: usize) -> (f32, f32) {
    let slope = weights.at(&norm.scale)[channel] / (weights.at(&norm.variance)[channel] + EPSILON).sqrt();
    (slope, weights.at(&norm.shift)[channel] - weights.at(&norm.mean)[channel] * slope)
}

fn norm_forward(norm: &Norm, weights: &Weights, shape: Shape, x: &[f32], to: &mut [f32]) {
    let planes = x.chunks_exact(shape.pixels()).zip(to.chunks_exact_mut(shape.pixels()));
    for (index, (x, to)) in planes.enumerate() {
        let (slope, offset) = coefficients(norm, weights, index % shape.channels);
        affine(slope, offset, x, to);
    }
}

fn norm_backward(norm: &Norm, weights: &Weights, shape: Shape, d: &mut [f32]) {
    for (index, plane) in d.chunks_exact_mut(shape.pixels()).enumerate() {
        let (slope, _) = coefficients(norm, weights, index % shape.channels);
        plane.iter_mut().for_each(|d| *d *= slope);
    }
}

impl MaxPool {
    /// Calls `visit(place in the output, place of the largest value in the input)`; the first of equal values wins.
    fn visit(&self, from: Shape, to: Shape, x: &[f32], mut visit: impl FnMut(usize, usize)) {
        let reach = |out: usize, side: usize| {
            let start = out * self.stride;
            start.saturating_sub(self.padding)..(start + self.kernel).saturating_sub(self.padding).min(side)
        };
        for plane in 0..x.len() / from.pixels() {
            for position in 0..to.pixels() {
                let rows = reach(position / to.width, from.height);
                let places = rows.flat_map(|row| {
                    reach(position % to.width, from.width)
                        .map(move |column| plane * from.pixels() + row * from.width + column)
                });
                let largest = places.reduce(|best, place| if x[place] > x[best] { place } else { best });
                if let Some(largest) = largest {
                    visit(plane * to.pixels() + position, largest);
                }
            }
        }
    }
}

/// The sum over members, divided by sqrt(m) (Eq. 2).
fn member_sum(members: usize, shape: Shape, x: &[f32], to: &mut [f32]) {
    let len = shape.channels * shape.pixels();
    let factor = (1.0 / (members as f64).sqrt()) as f32;
    for (image, to) in x.chunks_exact(members * len).zip(to.chunks_exact_mut(len)) {
        to.fill(0.0);
        image.chunks_exact(len).for_each(|member| add_scaled(factor, member, to));
    }
}

fn member_spread(members: usize, shape: Shape, d: &[f32], to: &mut [f32]) {
    let len = shape.channels * shape.pixels();
    let factor = (1.0 / (members as f64).sqrt()) as f32;
    for (d, image) in d.chunks_exact(len).zip(to.chunks_exact_mut(members * len)) {
        for member in image.chunks_exact_mut(len) {
            member.iter_mut().zip(d).for_each(|(to, d)| *to = factor * d);
        }
    }
}
