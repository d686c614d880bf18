//! Speed of training steps and inference, as a share of a 1024^3 sgemm measured in the same
//! run.
//!
//! `cargo bench -p collegial-nn --bench steps [-- WORDS]` times the works whose name contains every
//! word. Each number is the best of several, taken in turns with all the others and with the sgemm,
//! because other load on the machine comes and goes. `--rounds N` sets how many (5 by default),
//! `--profile` prints where the time of each work goes; the threads are those of rayon
//! (RAYON_NUM_THREADS). `--cpu` takes CPU time, which with one thread is worth something on a
//! loaded machine. `--json` prints one JSON line for each work and one with the peak memory of the
//! process.
//!
//! FLOPs are those of the multiplications: three passes of every layer with weights, but for the
//! first one's data gradient.

mod shared;

use collegial_arch::{Graph, Op, Spec};
use collegial_nn::{Mode, Network, Optimiser, UpdateRule, cross_entropy};
use shared::{Clock, Sgemm, noise};
use std::time::Instant;

/// A thing to time, and its best time so far.
struct Work {
    name: String,
    flops: f64,
    best: f64,
    job: Job,
}

enum Job {
    Reference(Sgemm),
    Train {
        network: Box<Network>,
        updating: f64,
        optimiser: Optimiser,
        input: Vec<f32>,
        labels: Vec<usize>,
        gradient: Vec<f32>,
    },
    Infer {
        network: Box<Network>,
        input: Vec<f32>,
    },
}

impl Job {
    fn run(&mut self) {
        match self {
            Self::Reference(sgemm) => sgemm.run(),
            Self::Train { network, updating, optimiser, input, labels, gradient } => {
                let logits = network.forward(input, Mode::Train).expect("whole images");
                cross_entropy(logits, labels, gradient).expect("one row per label");
                network.backward(gradient).expect("a forward pass came before");
                let start = Instant::now();
                network.update(optimiser, 1e-3).expect("an optimiser of this network");
                *updating += start.elapsed().as_secs_f64();
            }
            Self::Infer { network, input } => {
                network.forward(input, Mode::Evaluate).expect("whole images");
            }
        }
    }

    /// Starts the profile anew.
    fn forget(&mut self) {
        if let Self::Train { updating, .. } = self {
            *updating = 0.0;
        }
        if let Some(network) = self.network() {
            network.reset_profile();
        }
    }

    fn network(&mut self) -> Option<&mut Network> {
        match self {
            Self::Reference(_) => None,
            Self::Train { network, .. } | Self::Infer { network, .. } => Some(network),
        }
    }
}

fn graph(name: &str) -> Graph {
    let spec: Spec = name.parse().expect("the benchmark's names are known");
    spec.graph().expect("the benchmark's networks are valid")
}

/// FLOPs of the multiplications of one image: (forward, forward of layers that read the input).
fn flops(graph: &Graph) -> (f64, f64) {
    let mut totals = (0.0, 0.0);
    for node in &graph.nodes {
        let (kernel, groups) = match node.op {
            Op::Conv { kernel, groups, .. } => (kernel, groups),
            Op::Dense { groups, .. } => (1, groups),
            _ => continue,
        };
        let inputs = graph.nodes[node.inputs[0]].shape.channels / groups;
        let flops = 2.0 * node.shape.elements() as f64 * (inputs * kernel * kernel) as f64;
        totals.0 += flops;
        totals.1 += if node.inputs[0] == 0 { flops } else { 0.0 };
    }
    totals
}

fn train(name: &str, batch: usize, rule: UpdateRule) -> Work {
    let graph = graph(name);
    let network = Network::builder(&graph).batch(batch).seed(1).build();
    let network = network.expect("the benchmark's networks are valid");
    let (classes, values) = (graph.output_shape().channels, network.values().len());
    let (all, first) = flops(&graph);
    Work {
        name: format!("train {name} batch {batch}"),
        flops: batch as f64 * (3.0 * all - first),
        best: f64::INFINITY,
        job: Job::Train {
            network: Box::new(network),
            updating: 0.0,
            optimiser: Optimiser::new(rule, values),
            input: noise(batch * graph.input_shape().elements() as usize),
            labels: (0..batch).map(|n| n % classes).collect(),
            gradient: vec![0.0; batch * classes],
        },
    }
}

fn infer(name: &str, batch: usize, folded: bool) -> Work {
    let graph = graph(name);
    let trained = Network::builder(&graph).seed(1).build().expect("the benchmark's networks are valid");
    let network = if folded { trained.folded_inference(batch) } else { trained.inference(batch) };
    let network = network.expect("the benchmark's networks are valid");
    Work {
        name: format!("infer {name} batch {batch}{}", if folded { " folded" } else { "" }),
        flops: batch as f64 * flops(&graph).0,
        best: f64::INFINITY,
        job: Job::Infer {
            network: Box::new(network),
            input: noise(batch * graph.input_shape().elements() as usize),
        },
    }
}

fn profile(work: &mut Work, steps: usize) {
    let updating = if let Job::Train { updating, .. } = work.job { updating } else { 0.0 };
    let Some(network) = work.job.network() else { return };
    let total: f64 = network.profile().entries().map(|(.., spent)| spent.as_secs_f64()).sum();
    let mean = |seconds: f64| 1e3 * seconds / steps as f64;
    println!(
        "\n{}: on average {:.2} ms in layers, {:.2} in the optimiser",
        work.name,
        mean(total),
        mean(updating)
    );
    for (kind, pass, spent) in network.profile().entries() {
        let (kind, pass) = (format!("{kind:?}"), format!("{pass:?}"));
        let spent = spent.as_secs_f64();
        println!("  {kind:<12} {pass:<15} {:>9.2} ms {:>5.1} %", mean(spent), 100.0 * spent / total);
    }
}

/// Names of the works, each made when it is wanted.
fn works(wanted: &dyn Fn(&str) -> bool) -> Vec<Work> {
    let mut works = Vec::new();
    for name in
        ["resnext29-37x10d", "resnext29-10x10d", "resnext29-4x4d", "resnext29-1x128d", "resnext29-3x64d"]
    {
        for batch in [16, 32] {
            if wanted(&format!("train {name} batch {batch}")) {
                works.push(train(name, batch, UpdateRule::SGD));
            }
        }
    }
    if wanted("train fc6-30x48 batch 128") {
        works.push(train("fc6-30x48", 128, UpdateRule::ADAM));
    }
    for name in ["resnext29-37x10d", "resnext29-10x10d", "resnet50"] {
        for (batch, folded) in [(16, false), (1, true), (16, true), (32, true)] {
            let folded_or_not = if folded { " folded" } else { "" };
            if wanted(&format!("infer {name} batch {batch}{folded_or_not}")) {
                works.push(infer(name, batch, folded));
            }
        }
    }
    works
}

/// The most memory this process has had so far; 0 where the system does not say.
fn peak_megabytes() -> f64 {
    #[cfg(target_os = "linux")]
    {
        // SAFETY: zeros are a valid rusage.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: writes one rusage, which is ours.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        usage.ru_maxrss as f64 / 1024.0
    }
    #[cfg(not(target_os = "linux"))]
    0.0
}

fn main() {
    let (mut rounds, mut profiled, mut words) = (5, false, Vec::new());
    let (mut json, mut clock) = (false, Clock { cpu: false });
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => rounds = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(rounds),
            "--profile" => profiled = true,
            "--cpu" => clock.cpu = true,
            "--json" => json = true,
            _ => words.push(argument),
        }
    }
    let job = Job::Reference(Sgemm::new());
    let mut reference = Work { name: "sgemm 1024".into(), flops: Sgemm::FLOPS, best: f64::INFINITY, job };
    let mut works = works(&|name| words.iter().all(|word| name.contains(word.as_str())));
    let measure = |work: &mut Work| {
        let start = clock.now();
        work.job.run();
        work.best = work.best.min(clock.now() - start);
    };
    // The first round warms up: it touches all memory and is not counted.
    for round in 0..=rounds {
        for work in &mut works {
            (0..5).for_each(|_| measure(&mut reference));
            let repeats = if work.flops < 1e10 { 20 } else { 1 };
            (0..repeats).for_each(|_| measure(work));
            if round == 0 {
                work.best = f64::INFINITY;
                work.job.forget();
            }
        }
    }
    if json {
        for work in std::iter::once(&reference).chain(&works) {
            let (name, milliseconds) = (&work.name, 1e3 * work.best);
            println!(
                "{{\"work\": \"{name}\", \"milliseconds\": {milliseconds:.4}, \"gigaflops\": {:.6}}}",
                work.flops / 1e9
            );
        }
        println!("{{\"peak_megabytes\": {:.1}}}", peak_megabytes());
        return;
    }
    let rate = |work: &Work| work.flops / work.best / 1e9;
    println!("{} threads, {rounds} rounds", rayon::current_num_threads());
    println!("{:<40} {:>10} {:>8} {:>8}", "work", "ms", "GF/s", "share");
    for work in std::iter::once(&reference).chain(&works) {
        let share = 100.0 * rate(work) / rate(&reference);
        println!("{:<40} {:>10.2} {:>8.1} {:>6.0} %", work.name, 1e3 * work.best, rate(work), share);
    }
    if profiled {
        for work in &mut works {
            let steps = rounds * if work.flops < 1e10 { 20 } else { 1 };
            profile(work, steps);
        }
    }
}
