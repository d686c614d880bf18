//! Draws per second of kernels without a formula or a short way: several positions in several
//! layers, pooled outputs, other activations, several inputs. Rivals: `bench/rivals/sampling_torch.py`.
//!
//! `cargo bench -p collegial-ntk --bench general` prints one JSON line per module, best of several
//! repetitions on two threads, with the moments of K(x_1, x_1) and the mean of K(x_1, x_2);
//! `-- pooled` or another part of a name runs those only.

use std::hint::black_box;
use std::time::Instant;

use collegial_arch::Spec;
use collegial_core::{Moments, Rng};
use collegial_ntk::{KernelSampler, Output};

/// Name, spec, output and number of inputs.
const MODULES: [(&str, &str, Output, usize); 5] = [
    ("two-three-by-three", include_str!("modules/two-three-by-three.toml"), Output::Unit, 1),
    ("five-then-three", include_str!("modules/five-then-three.toml"), Output::Unit, 1),
    ("pooled-bottleneck", include_str!("modules/pooled-bottleneck.toml"), Output::PooledUnit, 1),
    ("gelu-bottleneck", include_str!("modules/gelu-bottleneck.toml"), Output::Unit, 1),
    ("four-inputs", include_str!("modules/four-inputs.toml"), Output::Unit, 4),
];

/// Seconds that a repetition takes about, and how many there are.
const SECONDS: f64 = 0.5;
const REPETITIONS: u64 = 7;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
    for (name, spec, output, inputs) in MODULES {
        if words.is_empty() || words.iter().any(|word| name.contains(word)) {
            pool.install(|| measure(name, spec, output, inputs));
        }
    }
}

fn measure(name: &str, spec: &str, output: Output, count: usize) {
    let chain = Spec::from_toml(spec).expect("a spec").module().expect("a module").member();
    let elements = chain.input.channels * chain.input.pixels();
    let sampler = KernelSampler::at_inputs(&chain, output, &inputs(elements, count)).expect("a chain");
    let start = Instant::now();
    black_box(sampler.tally(1, 0, 0..100));
    let draws = ((100.0 * SECONDS / start.elapsed().as_secs_f64()) as u64).max(100);
    let (mut seconds, mut moments) = (f64::INFINITY, Moments::new());
    for repetition in 0..REPETITIONS {
        let start = Instant::now();
        let tally = sampler.tally(1, 1, repetition * draws..(repetition + 1) * draws);
        seconds = seconds.min(start.elapsed().as_secs_f64());
        moments = moments.merge(tally.moments());
    }
    println!(
        "{{\"bench\": \"general draws\", \"module\": \"{name}\", \"draws_per_second\": {:.0}, \"normals_per_draw\": {}, \"mean\": {:.6}, \"mean_standard_error\": {:.6}, \"second_moment_ratio\": {:.6}, \"standard_error\": {:.6}, \"draws\": {}{}}}",
        draws as f64 / seconds,
        sampler.normals_per_draw(),
        moments.mean(),
        moments.standard_error(),
        moments.second_moment_ratio(),
        moments.second_moment_ratio_standard_error(),
        moments.count,
        if count > 1 { off_diagonal(&sampler) } else { String::new() },
    );
}

/// K(x_1, x_2), as further keys.
fn off_diagonal(sampler: &KernelSampler) -> String {
    let (mut workspace, mut moments) = (sampler.workspace(), Moments::new());
    let mut kernel = vec![0.0; sampler.inputs() * sampler.inputs()];
    for trial in 0..5000 {
        sampler.draw(&mut workspace, &mut Rng::new(2, 0, trial), &mut kernel);
        moments.push(kernel[1]);
    }
    format!(
        ", \"off_diagonal\": {:.6}, \"off_diagonal_standard_error\": {:.6}",
        moments.mean(),
        moments.standard_error()
    )
}

/// Inputs that the rivals can make, too: uniform numbers of variance 1 from a linear congruence, one
/// input after the other.
fn inputs(elements: usize, count: usize) -> Vec<Vec<f32>> {
    let mut state: u64 = 1;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f64 / f64::from(1 << 23) - 1.0) * 3.0_f64.sqrt()
    };
    (0..count).map(|_| (0..elements).map(|_| uniform() as f32).collect()).collect()
}
