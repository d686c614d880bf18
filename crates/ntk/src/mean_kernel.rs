//! The neural mean kernel (the paper's Fig. 2): what the kernel of an ensemble converges to as
//! members are added.

use collegial_arch::{FullyConnected, Module};
use collegial_core::{Moments, Rng};
use rayon::prelude::*;

use crate::Error;
use crate::sampler::{KernelSampler, Output};

/// Kernel values along the circle for one ensemble size.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// How many members' kernels were averaged.
    pub members: usize,
    /// K(x_0, x_γ) for every angle γ.
    pub kernel: Vec<f64>,
    /// Standard error of each value as an estimate of the mean kernel (NaN for one member).
    pub standard_error: Vec<f64>,
}

/// The kernel between x_0 = (1, 0) and x_γ = (cos γ, sin γ), averaged over the first m members for
/// every m in `members`.
///
/// The network has `layers` weight matrices and hidden width `width`. Member j draws from (seed,
/// stream 0, trial j), so a larger ensemble contains the smaller ones, and threads do not matter.
pub fn circle_curves(
    layers: usize,
    width: usize,
    angles: &[f64],
    members: &[usize],
    seed: u64,
) -> Result<Vec<Curve>, Error> {
    if layers < 2 || members.contains(&0) {
        return Err(Error::Invalid(
            "the mean kernel needs at least two layers and ensembles of at least one".into(),
        ));
    }
    let network =
        FullyConnected { inputs: 2, outputs: 1, ..FullyConnected::mnist(1, vec![width; layers - 1]) };
    let chain = Module::FullyConnected(network).member();
    let points = [0.0].iter().chain(angles);
    let inputs: Vec<Vec<f32>> = points.map(|angle| vec![angle.cos() as f32, angle.sin() as f32]).collect();
    let sampler = KernelSampler::at_inputs(&chain, Output::Unit, &inputs)?;
    let most = members.iter().copied().max().unwrap_or(0);
    let rows: Vec<Vec<f64>> = (0..most as u64)
        .into_par_iter()
        .map_init(
            || (sampler.workspace(), vec![0.0; inputs.len() * inputs.len()]),
            |(workspace, kernel), member| {
                sampler.draw(workspace, &mut Rng::new(seed, 0, member), kernel);
                kernel[1..inputs.len()].to_vec()
            },
        )
        .collect();
    Ok(members.iter().map(|&count| average(&rows[..count])).collect())
}

fn average(rows: &[Vec<f64>]) -> Curve {
    let angles = rows.first().map_or(0, Vec::len);
    let moments = |angle: usize| rows.iter().map(|row| row[angle]).collect::<Moments>();
    let moments: Vec<Moments> = (0..angles).map(moments).collect();
    Curve {
        members: rows.len(),
        kernel: moments.iter().map(Moments::mean).collect(),
        standard_error: moments.iter().map(Moments::standard_error).collect(),
    }
}

/// The infinitely wide network's kernel between two points of the unit circle at angle γ, by the
/// arc-cosine recursion (gain 2 before every ReLU, 1 at the output, n_0 = 2).
pub fn infinite_width(layers: usize, angle: f64) -> f64 {
    use std::f64::consts::PI;
    let norm = 0.5;
    let mut cosine = angle.cos();
    let mut tangent = cosine;
    for _ in 1..layers {
        let theta = cosine.clamp(-1.0, 1.0).acos();
        let derivative = (PI - theta) / PI;
        cosine = (theta.sin() + (PI - theta) * cosine) / PI;
        tangent = cosine + tangent * derivative;
    }
    norm * tangent
}
