//! `forward`: the outputs of a network for given inputs.

use std::path::PathBuf;

use collegial_core::tensors::Tensor;
use collegial_nn::{Mode, Network};
use collegial_train::export::WeightFile;

use crate::array;
use crate::message::{invalid, option_with};
use crate::model::Source;
use crate::options::options;
use crate::{Error, Model, Monitor};

/// Images computed at once.
const BATCH: usize = 64;

options! {
    /// The outputs (logits) of a network, inputs x outputs; norms use their running statistics
    #[serde(deny_unknown_fields)]
    pub struct Request {
        /// The network; a checkpoint in its place brings its weights
        #[command(flatten)]
        pub model: Model,
        /// A checkpoint [default: the weights that training from --seed starts with]
        #[arg(long)]
        pub weights: Option<PathBuf>,
        /// Seed of the weights
        #[arg(skip)]
        pub seed: u64,
    }
}

/// The outputs, inputs x outputs. Norms use their running statistics.
///
/// # Errors
///
/// Where network, weights and inputs do not belong together, or the monitor stopped it.
pub fn run(request: &Request, inputs: &Tensor, monitor: &dyn Monitor) -> Result<Tensor, Error> {
    let source = request.model.open()?;
    let spec = source.spec().with(&request.model.overrides())?;
    let graph = spec.graph()?;
    let rows = array::rows(inputs, "the array", &graph)?;
    let batch = rows.len().clamp(1, BATCH);
    let mut network = match (source, &request.weights) {
        (Source::Weights(file), None) => file.inference(&spec, batch)?,
        (Source::Weights(file), Some(weights)) => {
            let (file, weights) = (file.path().to_owned(), weights.clone());
            return Err(invalid![
                format!("the weights are given twice, by {} and by ", file.display()),
                option_with("weights", weights.display()),
                "; leave one out"
            ]
            .into());
        }
        (Source::Spec(_), Some(path)) => {
            WeightFile::open(path, Some(spec.clone()))?.inference(&spec, batch)?
        }
        (Source::Spec(_), None) => Network::builder(&graph).seed(request.seed).build()?.inference(batch)?,
    };
    let mut values = vec![];
    for rows in rows.chunks(batch) {
        let stopped = || monitor.stopped();
        values.extend_from_slice(network.forward_until(&rows.concat(), Mode::Evaluate, &stopped)?);
    }
    let outputs = graph.output_shape();
    Ok(Tensor::new([rows.len(), outputs.channels * outputs.pixels()], values)?)
}
