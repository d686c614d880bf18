//! Speed of the kernels, as a share of a 1024^3 sgemm measured in the same run.
//!
//! `cargo bench -p collegial-nn --bench kernels [-- WORDS]` prints the lines whose shape or pass
//! contains every word. Each measurement is the best of many, taken in turns with all the others,
//! because other load on the machine comes and goes. `--seconds N` sets the time spent (20 by
//! default); the threads are those of rayon (RAYON_NUM_THREADS). `--cpu` takes CPU time, which with
//! one thread is worth something on a loaded machine too. `--shape 37x10@32/2` (groups, channels of
//! each, side, stride; may be repeated) times grouped 3x3 convolutions of batch 16 in place of the
//! list below, and `--json` prints one JSON line for each measurement. `--direct`, `--winograd2` and
//! `--winograd4` take that method in place of the rule's.

mod shared;

use collegial_nn::kernels::{Conv, ConvShape, Isa, Method};
use shared::{Clock, Floats, Sgemm, noise};
use std::time::{Duration, Instant};

/// Time spent on a case before the next one's turn.
const TURN: Duration = Duration::from_millis(5);

/// A thing to time, and its best time so far.
struct Case<'a> {
    shape: String,
    pass: &'static str,
    flops: f64,
    run: Box<dyn FnMut() + Send + 'a>,
    best: f64,
}

impl<'a> Case<'a> {
    fn new(shape: &str, pass: &'static str, flops: f64, run: impl FnMut() + Send + 'a) -> Self {
        Self { shape: shape.to_owned(), pass, flops, run: Box::new(run), best: f64::INFINITY }
    }

    /// Times one run, or several of a small case: between layers of a network its arrays stay in
    /// cache.
    fn measure(&mut self, clock: Clock) {
        let turn = Instant::now();
        loop {
            let start = clock.now();
            (self.run)();
            self.best = self.best.min(clock.now() - start);
            if turn.elapsed() > TURN {
                break;
            }
        }
    }

    fn rate(&self) -> f64 {
        self.flops / self.best / 1e9
    }
}

fn sgemm<'a>() -> Case<'a> {
    let mut sgemm = Sgemm::new();
    Case::new("sgemm 1024", "reference", Sgemm::FLOPS, move || sgemm.run())
}

fn conv_shapes() -> Vec<(String, ConvShape)> {
    let mut shapes = Vec::new();
    let mut grouped = |groups: usize, width: usize, size: usize, stride: usize| {
        let shape = ConvShape::grouped3x3(16, groups, width, size, stride);
        shapes.push((format!("3x3 {groups} x {width} @{size} /{stride}"), shape));
    };
    for (groups, width, size) in [(37, 10, 32), (37, 20, 16), (37, 40, 8)] {
        grouped(groups, width, size, 1);
    }
    for width in [1, 4, 6, 7, 8, 9, 11, 12, 13, 14] {
        grouped(37, width, 32, 1);
    }
    for width in [22, 23, 24] {
        grouped(37, width, 16, 1);
    }
    grouped(37, 20, 32, 2);
    grouped(37, 40, 16, 2);
    for (groups, width, size) in
        [(3, 64, 32), (3, 128, 16), (3, 256, 8), (1, 128, 32), (1, 256, 16), (1, 512, 8)]
    {
        grouped(groups, width, size, 1);
    }
    grouped(1, 256, 32, 2);
    grouped(32, 4, 56, 1);
    grouped(32, 32, 7, 1);
    for (inputs, outputs, size, stride) in [
        (100, 256, 32, 1),
        (256, 100, 32, 1),
        (200, 512, 16, 1),
        (400, 1024, 8, 1),
        (1024, 400, 8, 1),
        (64, 370, 32, 1),
        (370, 256, 32, 1),
        (256, 740, 32, 1),
        (740, 512, 16, 1),
        (512, 1480, 16, 1),
        (1480, 1024, 8, 1),
        (1024, 1480, 8, 1),
        (256, 512, 32, 2),
        (512, 1024, 16, 2),
    ] {
        let shape = ConvShape::pointwise(16, inputs, outputs, size, stride);
        shapes.push((format!("1x1 {inputs} to {outputs} @{size} /{stride}"), shape));
    }
    let stem = ConvShape { inputs: 3, kernel: 7, padding: 3, ..ConvShape::grouped3x3(4, 1, 64, 224, 2) };
    shapes.push(("7x7 3 to 64 @224 /2".to_owned(), stem));
    shapes
}

/// The shape that a text like `37x10@32/2` names.
fn shape(text: &str) -> Option<(String, ConvShape)> {
    let numbers: Result<Vec<usize>, _> = text.split(['x', '@', '/']).map(str::parse).collect();
    match *numbers.ok()? {
        [groups, width, size, stride] => {
            Some((text.to_owned(), ConvShape::grouped3x3(16, groups, width, size, stride)))
        }
        _ => None,
    }
}

/// The three passes of a layer; each case owns its arrays, as a layer of a network does.
macro_rules! layer_cases {
    ($name:expr, $shape:expr, $plan:expr, $wanted:expr) => {{
        let (shape, plan) = ($shape, || $plan.expect("the benchmark's shapes are valid"));
        let noise = |len: usize| Floats::of(&noise(len));
        let zeros = |len: usize| Floats::of(&vec![0.0_f32; len]);
        let mut cases = Vec::new();
        if $wanted("forward") {
            let (layer, x, w) = (plan(), noise(shape.input_len()), noise(shape.weight_len()));
            let mut scratch = zeros(layer.scratch_len(rayon::current_num_threads()));
            let mut y = zeros(shape.output_len());
            let run = move || layer.forward(&x, &w, &mut y, &mut scratch);
            cases.push(Case::new($name, "forward", shape.flops(), run));
        }
        if $wanted("data") {
            let (layer, g, w) = (plan(), noise(shape.output_len()), noise(shape.weight_len()));
            let mut scratch = zeros(layer.scratch_len(rayon::current_num_threads()));
            let mut x = zeros(shape.input_len());
            let run = move || layer.data_gradient(&g, &w, &mut x, &mut scratch);
            cases.push(Case::new($name, "data", shape.flops(), run));
        }
        if $wanted("weight") {
            let (layer, x, g) = (plan(), noise(shape.input_len()), noise(shape.output_len()));
            let mut scratch = zeros(layer.scratch_len(rayon::current_num_threads()));
            let mut w = zeros(shape.weight_len());
            let run = move || layer.weight_gradient(&x, &g, &mut w, &mut scratch);
            cases.push(Case::new($name, "weight", shape.flops(), run));
        }
        cases
    }};
}

/// Dense layers of ensembles: 1x1 convolutions of one image whose pixels are the batch.
fn ensemble_shapes() -> Vec<(String, ConvShape)> {
    [(30, 48, 48, 128), (1, 784, 1440, 128), (50, 10, 10, 128), (30, 47, 47, 100)]
        .map(|(members, inputs, outputs, batch)| {
            let name = format!("ensemble {members} x {inputs} to {outputs}, batch {batch}");
            let shape = ConvShape {
                batch: 1,
                groups: members,
                inputs,
                outputs,
                height: 1,
                width: batch,
                kernel: 1,
                stride: 1,
                padding: 0,
            };
            (name, shape)
        })
        .into()
}

/// Times all cases in turns; returns how often.
fn measure(cases: &mut [Case], clock: Clock, seconds: f64) -> usize {
    let start = Instant::now();
    let mut rounds = 0;
    while rounds < 3 || start.elapsed().as_secs_f64() < seconds {
        cases.iter_mut().for_each(|case| case.measure(clock));
        rounds += 1;
    }
    rounds
}

fn main() {
    let mut seconds = 20.0;
    let mut clock = Clock { cpu: false };
    let (mut method, mut batch) = (Method::Fastest, 16);
    let (mut json, mut asked, mut words) = (false, Vec::new(), Vec::new());
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => seconds = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(seconds),
            "--cpu" => clock.cpu = true,
            "--json" => json = true,
            "--direct" => method = Method::Direct,
            "--winograd2" => method = Method::Winograd2,
            "--winograd4" => method = Method::Winograd4,
            "--batch" => batch = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(batch),
            "--shape" => asked.extend(arguments.next().and_then(|text| shape(&text))),
            _ => words.push(argument),
        }
    }
    let mut cases = vec![sgemm()];
    let shapes = if asked.is_empty() { [conv_shapes(), ensemble_shapes()].concat() } else { asked };
    for (name, shape) in shapes {
        let shape = if name.starts_with("ensemble") { shape } else { ConvShape { batch, ..shape } };
        let wanted = |pass: &str| words.iter().all(|word| format!("{name} {pass}").contains(word));
        cases.extend(layer_cases!(&name, shape, Conv::with_method(shape, Isa::detect(), method), wanted));
    }
    // On a thread of the pool, as a network's steps are.
    let rounds = rayon::scope(|_| measure(&mut cases, clock, seconds));
    let reference = cases[0].rate();
    if json {
        for Case { shape, pass, best, .. } in &cases {
            println!("{{\"shape\": \"{shape}\", \"pass\": \"{pass}\", \"milliseconds\": {:.4}}}", 1e3 * best);
        }
        return;
    }
    println!("{} threads, {rounds} rounds", rayon::current_num_threads());
    println!("{:<36} {:<10} {:>8} {:>8}", "shape", "pass", "GF/s", "share");
    for case in &cases {
        let share = 100.0 * case.rate() / reference;
        println!("{:<36} {:<10} {:>8.1} {:>6.0} %", case.shape, case.pass, case.rate(), share);
    }
}
