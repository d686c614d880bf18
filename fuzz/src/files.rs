//! Files that the program writes and reads back, and other programs' weights.

use std::path::Path;
use std::sync::LazyLock;

use collegial::fit::{Draws, Kernels, Line};
use collegial::jobs::Task;
use collegial_arch::Spec;
use collegial_core::checksum;
use collegial_experiments::jobs::{Machine, Plan};
use collegial_nn::{Network, Optimiser};
use collegial_train::checkpoint::{CheckpointFile, TrainingHeader};
use collegial_train::export::WeightFile;

/// A file whose checksum is right again, so that a mutation is not refused by that alone.
pub fn resealed(bytes: &[u8]) -> Vec<u8> {
    let prefix = &checksum::BLANK.as_bytes()[..6];
    let mut file = bytes.to_vec();
    let place = file.windows(prefix.len()).position(|window| window == prefix);
    if let Some(digits) = place.and_then(|at| file.get_mut(at + prefix.len()..at + checksum::BLANK.len())) {
        digits.fill(b'0');
        let whole = 0..file.len();
        checksum::seal(&mut file, whole);
    }
    file
}

pub fn safetensors(bytes: &[u8]) -> bool {
    weights("model.safetensors", bytes)
}

pub fn onnx(bytes: &[u8]) -> bool {
    weights("model.onnx", bytes)
}

fn weights(name: &str, bytes: &[u8]) -> bool {
    let taken = |bytes: &[u8]| WeightFile::parse(Path::new(name), bytes).map(|file| fill(&file)).is_ok();
    [taken(bytes), taken(&resealed(bytes))].contains(&true)
}

/// Builds the network of a file, if it is small: large ones are refused by what memory there is.
pub fn fill(file: &WeightFile) {
    let graph = file.spec().graph().expect("what was read is checked");
    let total = graph.counts().expect("what was read is checked").total;
    if total.parameters < 100_000 && total.activations < 100_000 {
        let _ = file.network(file.spec());
    }
}

pub fn shard(bytes: &[u8]) -> bool {
    let parse = |bytes: &[u8]| collegial::merge::parse(Path::new("shard.json"), bytes);
    let _ = parse(bytes);
    let Ok(measurements) = parse(&resealed(bytes)) else { return false };
    let _ = (measurements.module_name(), measurements.clone().join(measurements.clone()));
    let draws = Draws { kernels: Kernels::AtOneInput(measurements), seconds: 0.0, interrupted: false };
    for weighted in [false, true] {
        if let Ok(fitted) = draws.fitted(Line { weighted, no_intercept: weighted }) {
            use collegial::Answer;
            let _ = (fitted.json(), fitted.summary());
        }
    }
    true
}

/// The jobs of a plan: what is taken is written and read back as it was, and names no file outside.
pub fn plan(bytes: &[u8]) -> bool {
    let path = Path::new("plan.json");
    let parse = |bytes: &[u8]| Plan::<Task>::parse(path, bytes);
    let _ = parse(bytes);
    let Ok(plan) = parse(&resealed(bytes)) else { return false };
    for job in &plan.jobs {
        assert!(!job.part.contains(['/', '\\', '\0']) && job.part != "..", "{:?} names a file", job.part);
    }
    let _ = (plan.job(0).is_ok(), plan.check(&Machine::here()));
    let written = plan.to_bytes(path).expect("plain data");
    let again = parse(&written).expect("what was written is read");
    assert_eq!((again.jobs, again.request), (plan.jobs, plan.request));
    true
}

/// A network of two members, and what remembers its gradients.
static SMALL: LazyLock<(Spec, Network)> = LazyLock::new(|| {
    let spec: Spec = "fc2-2x3".parse().expect("a name");
    let network = Network::builder(&spec.graph().expect("a network")).build().expect("it fits");
    (spec, network)
});

pub fn run_state(bytes: &[u8]) -> bool {
    let _ = CheckpointFile::parse(Path::new("training.safetensors"), bytes);
    let Ok(file) = CheckpointFile::parse(Path::new("training.safetensors"), &resealed(bytes)) else {
        return false;
    };
    let (spec, network) = &*SMALL;
    let Ok(header) = file.own_header::<TrainingHeader>() else { return false };
    let mut optimiser = Optimiser::new(header.recipe.optimiser, network.values().len());
    let _ = file.fill_optimiser(network, &mut optimiser, &spec.name());
    true
}
