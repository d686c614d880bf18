//! Draws per second of the bottleneck block's kernel, the whole of Algorithm 1, scaling with width
//! and threads.
//!
//! `cargo bench -p collegial-ntk --bench draws` prints one JSON line per measurement, best of
//! several repetitions.

use std::hint::black_box;
use std::time::Instant;

use collegial_arch::{Module, Spec};
use collegial_core::Rng;
use collegial_ntk::{KernelSampler, Output};

fn main() {
    let pools =
        [1, 2].map(|threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool"));
    let mut logs = vec![];
    for width in [1, 4, 16, 64, 256, 1024, 4096] {
        let sampler = sampler(width);
        let draws = (2_000_000 / (width as u64 + 20)).max(500);
        let [one, two] = [0, 1].map(|pool| {
            pools[pool].install(|| best(5, || black_box(sampler.tally(1, 0, 0..draws)))) / draws as f64
        });
        let normals = sampler.normals_per_draw();
        let random = rng_seconds(normals as usize);
        println!(
            "{{\"bench\": \"bottleneck draws\", \"width\": {width}, \"draws_per_second_1\": {:.0}, \"draws_per_second_2\": {:.0}, \"speedup\": {:.3}, \"normals_per_draw\": {normals}, \"normals_per_second_per_core\": {:.4e}, \"rng_share\": {:.3}}}",
            1.0 / one,
            1.0 / two,
            one / two,
            normals as f64 / one,
            random / one
        );
        if width >= 64 {
            logs.push(((width as f64).ln(), one.ln()));
        }
    }
    println!("{{\"bench\": \"cost exponent, n = 64..4096\", \"exponent\": {:.3}}}", slope(&logs));
    algorithm_1(&pools[1]);
}

fn sampler(width: usize) -> KernelSampler {
    let module: Module =
        format!("bottleneck-{width}").parse::<Spec>().expect("a name").module().expect("a module");
    KernelSampler::at_normal_input(&module.member(), Output::Unit, 0).expect("a chain")
}

/// Every width 1..=256 with 2000 trials each: 512,000 draws.
fn algorithm_1(pool: &rayon::ThreadPool) {
    let samplers: Vec<KernelSampler> = (1..=256).map(sampler).collect();
    let seconds = pool.install(|| {
        best(3, || {
            for (width, sampler) in samplers.iter().enumerate() {
                black_box(sampler.tally(1, width as u32, 0..2000));
            }
        })
    });
    let normals: u64 = samplers.iter().map(|sampler| 2000 * sampler.normals_per_draw()).sum();
    println!(
        "{{\"bench\": \"algorithm 1, widths 1..256, T = 2000, two threads\", \"seconds\": {seconds:.3}, \"normals\": {normals}, \"normals_per_second\": {:.4e}}}",
        normals as f64 / seconds
    );
}

/// Seconds that one draw's normals alone take on one core.
fn rng_seconds(count: usize) -> f64 {
    let mut buffer = vec![0.0f32; count];
    let repeats = 4_000_000 / count.max(1) + 1;
    best(5, || {
        for trial in 0..repeats {
            Rng::new(1, 0, trial as u64).fill_normal(black_box(&mut buffer));
        }
    }) / repeats as f64
}

fn best<T>(repetitions: usize, mut work: impl FnMut() -> T) -> f64 {
    let mut seconds = f64::INFINITY;
    for _ in 0..repetitions {
        let start = Instant::now();
        black_box(work());
        seconds = seconds.min(start.elapsed().as_secs_f64());
    }
    seconds
}

fn slope(points: &[(f64, f64)]) -> f64 {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / count, y + point.1 / count));
    let covariance: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    covariance / points.iter().map(|point| (point.0 - x).powi(2)).sum::<f64>()
}
