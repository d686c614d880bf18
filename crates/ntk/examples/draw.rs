//! The kernel of one draw of a network, with the weights and inputs it was computed from, for
//! comparison with others.
//!
//!     cargo run --release -p collegial-ntk --example draw -- \
//!         SPEC NORM COUNT SEED OUTPUT OUT [DRAWS]
//!
//! SPEC is a name or the path of a TOML spec, NORM none, frozen or batch. OUT gets `kernel.npy`,
//! `inputs.npy` and `weights.safetensors`; with DRAWS, mean and variance over so many draws are
//! printed, and how long they took.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use collegial_arch::Spec;
use collegial_core::tensors::safetensors::Archive;
use collegial_core::tensors::{Tensor, npy};
use collegial_ntk::NetworkDraws;
use collegial_ntk::explicit::{NormPolicy, Options, Readout, normal_inputs};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [spec, norm, count, seed, output, out, draws @ ..] = words.as_slice() else {
        return Err("usage: draw SPEC NORM COUNT SEED OUTPUT OUT [DRAWS]".into());
    };
    let graph = Spec::load(spec)?.graph()?;
    let policies = [NormPolicy::None, NormPolicy::Frozen, NormPolicy::Batch];
    let norm =
        policies.into_iter().find(|policy| policy.name() == norm).ok_or("NORM: none, frozen or batch")?;
    let (count, seed): (usize, u64) = (count.parse()?, seed.parse()?);
    let options = Options { norm, readout: Readout::Unit(output.parse()?), ..Options::default() };
    let inputs = normal_inputs(&graph, count, seed);
    let network = NetworkDraws::new(&graph, options, &inputs)?;
    let write = |name: &str, bytes: &[u8]| std::fs::write(Path::new(out).join(name), bytes);
    write("kernel.npy", &npy::write(&Tensor::new([count, count], network.at(seed)?)?))?;
    let inputs = inputs.concat();
    write("inputs.npy", &npy::write(&Tensor::new([count, inputs.len() / count], inputs)?))?;
    write("weights.safetensors", &Archive::from(network.weights(seed)?).to_bytes()?)?;
    if let [draws] = draws {
        let start = Instant::now();
        let statistics = network.run(seed..seed + draws.parse::<u64>()?, &collegial_core::Silent)?;
        println!("{statistics:?}, {:.1} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}
