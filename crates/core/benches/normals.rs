//! Nanoseconds per random number, on one thread and on two. Run with `cargo bench -p
//! collegial-core`.

use std::hint::black_box;
use std::time::Instant;

use collegial_core::philox::{Key, TILE, fill_words};
use collegial_core::{Rng, simd::Level};

const BUFFER: usize = 4096;
const PASSES: usize = 2000;
const ROUNDS: usize = 15;

/// Best nanoseconds per number over several rounds of `PASSES` calls of work, which makes `numbers`
/// of them.
fn best(numbers: usize, mut work: impl FnMut()) -> f64 {
    work();
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..PASSES * BUFFER / 4096 {
            work();
        }
        best = best.min(start.elapsed().as_nanos() as f64 / (PASSES * numbers) as f64);
    }
    best
}

fn normals(length: usize) -> f64 {
    let mut rng = Rng::new(1, 2, 3);
    let mut out = vec![0.0; BUFFER];
    best(BUFFER, || {
        for part in out.chunks_mut(length) {
            rng.fill_normal(part);
        }
        black_box(&out);
    })
}

fn words() -> f64 {
    let key = Key { seed: 1, stream: 2, trial: 3 };
    let mut out = vec![[0; TILE]; BUFFER / TILE];
    best(BUFFER, || {
        fill_words(&key, black_box(0), &mut out);
        black_box(&out);
    })
}

/// Slowest of two threads doing the same at the same time.
fn on_two_threads(work: impl Fn() -> f64 + Sync) -> f64 {
    std::thread::scope(|scope| {
        let other = scope.spawn(&work);
        let mine = work();
        other.join().map_or(f64::NAN, |theirs| theirs.max(mine))
    })
}

fn main() {
    println!("instruction set: {:?}", Level::of_this_cpu());
    for (name, one, two) in [
        ("philox word", words(), on_two_threads(words)),
        ("normal, 4096 at a time", normals(4096), on_two_threads(|| normals(4096))),
        ("normal, 100 at a time", normals(100), on_two_threads(|| normals(100))),
        ("normal, 10 at a time", normals(10), on_two_threads(|| normals(10))),
    ] {
        println!(
            "{name:24} {one:6.3} ns; two threads {:6.3} ns, {:.2} times as many per second",
            two / 2.0,
            2.0 * one / two
        );
    }
    let mut rng = Rng::new(1, 2, 3);
    for k in [2, 10, 100] {
        let chi_square = best(BUFFER, || {
            black_box((0..BUFFER).map(|_| rng.chi_square(k)).sum::<f64>());
        });
        println!("chi_square({k}) {chi_square:6.2} ns");
    }
}
