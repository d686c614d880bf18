//! Full kernels and draws of single kernels with explicit weights: the work of
//! `bench/rivals/ntk_matrix_*.py` and of the bottleneck block's draws.
//!
//! `cargo bench -p collegial-ntk --bench explicit` prints one JSON line per measurement, best of
//! several repetitions on two threads; `-- draws` or another part of a name runs those only.

use std::hint::black_box;
use std::time::{Duration, Instant};

use collegial_arch::{Graph, Spec};
use collegial_core::Rng;
use collegial_ntk::explicit::{ExplicitKernel, Options, Readout, drawn_weights};

/// 3x3 stem to 16 channels, two blocks of 1x1 to 32, 3x3 in four groups of 8, 1x1 to 16, average
/// pool, ten outputs.
const GROUPED: &str = "
kind = 'resnext'
stem = 'small'
blocks = [2]
design = '4x8d'
classes = 10
image = 16
stem_channels = 16
outputs = 16
";

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
    pool.install(|| {
        for inputs in [2, 784] {
            let spec = format!(
                "kind = 'fully-connected'\ninputs = {inputs}\noutputs = 1\nwidths = [1000, 1000, 1000]"
            );
            matrix(&format!("fc-{inputs}"), &spec, 100, Readout::Unit(0));
        }
        matrix("grouped convolutions, trace", GROUPED, 16, Readout::Trace);
        for width in [10, 64] {
            draws(width);
        }
    });
}

fn graph(spec: &str) -> Graph {
    Spec::from_toml(spec).and_then(|spec| spec.graph()).expect("a network")
}

fn inputs(graph: &Graph, count: usize) -> Vec<Vec<f32>> {
    let shape = graph.input_shape();
    let input = |index: usize| {
        let mut x = vec![0.0; shape.channels * shape.pixels()];
        Rng::new(1, 0, index as u64).fill_normal(&mut x);
        x
    };
    (0..count).map(input).collect()
}

/// Whether a measurement is requested.
fn wanted(name: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|word| !word.starts_with('-')).peekable();
    words.peek().is_none() || words.any(|word| name.contains(&word))
}

fn matrix(name: &str, spec: &str, count: usize, readout: Readout) {
    if !wanted(name) {
        return;
    }
    let graph = graph(spec);
    let options = Options { readout, ..Options::default() };
    let kernel = ExplicitKernel::new(&graph, options, &inputs(&graph, count)).expect("a kernel");
    let weights = drawn_weights(&graph, options.parametrisation, 1).expect("weights");
    let seconds = best(|| black_box(kernel.at(&weights)));
    println!("{{\"bench\": \"{name}\", \"inputs\": {count}, \"milliseconds\": {:.3}}}", 1e3 * seconds);
}

/// Single-image kernels of the block 256 -> n -> n (3x3) -> 256 on 8x8, pooled output, weights
/// drawn each time.
fn draws(width: usize) {
    let name = format!("bottleneck draws, 8x8, width {width}");
    if !wanted(&name) {
        return;
    }
    let spec = format!("kind = 'bottleneck'\nwidth = {width}\nimage = 8\nnorm = 'none'\nshortcut = 'none'");
    let graph = graph(&spec);
    let options = Options { readout: Readout::PooledUnit(0), ..Options::default() };
    let kernel = ExplicitKernel::new(&graph, options, &inputs(&graph, 1)).expect("a kernel");
    let draws = 100_000 / width as u64;
    let seconds = best(|| black_box(kernel.tally(1, 0, 0..draws).expect("draws")));
    println!(
        "{{\"bench\": \"{name}\", \"width\": {width}, \"kernels_per_second\": {:.0}}}",
        draws as f64 / seconds
    );
}

/// The best of repetitions over two seconds, at least five.
fn best<T>(mut work: impl FnMut() -> T) -> f64 {
    let (mut seconds, mut repetitions, begin) = (f64::INFINITY, 0, Instant::now());
    let clock = if std::env::args().any(|word| word == "--cpu") { cpu_seconds } else { wall_seconds };
    while repetitions < 5 || begin.elapsed() < Duration::from_secs(2) {
        let start = clock();
        black_box(work());
        seconds = seconds.min(clock() - start);
        repetitions += 1;
    }
    seconds
}

fn wall_seconds() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Time that all threads have spent computing (Linux): what is left of a measurement on a busy
/// machine.
fn cpu_seconds() -> f64 {
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    });
    1e-9 * spent.sum::<f64>()
}
