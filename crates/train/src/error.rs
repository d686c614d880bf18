//! What can go wrong on the way from a data set to a trained network, each in one sentence.

use std::io;
use std::path::{Path, PathBuf};

use crate::Difference;
use crate::data::Shape;
use crate::recipe::Parametrisation;

/// Why a file is no whole checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointDefect {
    /// It is no safetensors file, or one that was cut off.
    #[error(transparent)]
    Tensors(#[from] collegial_core::tensors::Error),
    /// Its header holds another document.
    #[error("its header says something else ({0})")]
    Header(#[source] serde_json::Error),
    /// It has no header of ours.
    #[error("its header does not name a network of ours")]
    NoHeader,
    /// Its two files are of different checkpoints.
    #[error("it is number {training}, but {} beside it is number {model}", crate::checkpoint::MODEL_FILE)]
    Numbers {
        /// Of the network's file.
        model: u64,
        /// Of the file with the optimiser.
        training: u64,
    },
    /// Its two files are of different steps.
    #[error("it is of step {training}, but {} beside it is of step {model}", crate::checkpoint::MODEL_FILE)]
    Steps {
        /// Of the network's file.
        model: u64,
        /// Of the file with the optimiser.
        training: u64,
    },
}

/// How a file of weights differs from the network that it was to fill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkDifference {
    /// Its weights have another scale.
    #[error("its weights are those of the {found} parametrisation")]
    Parametrisation {
        /// The file's.
        found: Parametrisation,
    },
    /// It has a tensor too many.
    #[error("the network has no tensor {tensor}")]
    Unknown {
        /// Its name.
        tensor: String,
    },
    /// It lacks a tensor.
    #[error("it has no tensor {tensor}")]
    Missing {
        /// Its name.
        tensor: String,
    },
    /// A tensor has another shape.
    #[error("{tensor} has the shape {found:?}, expected {expected:?}")]
    Shape {
        /// Its name.
        tensor: String,
        /// The file's.
        found: Vec<usize>,
        /// The network's.
        expected: Vec<usize>,
    },
}

/// Why training or evaluation stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A recipe that cannot be followed.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The network and the data set do not belong together.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The spec is not one.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The engine refuses the network.
    #[error(transparent)]
    Engine(#[from] collegial_nn::Error),
    /// PyTorch where there is none.
    #[error("this process has no PyTorch; the torch engine is computed by the Python package collegial")]
    NoTorch,
    /// A backend refuses a network or a recipe, or fails.
    #[error("{reason}")]
    Backend {
        /// Its sentence.
        reason: String,
    },
    /// Tensors that do not make a table or a file.
    #[error("the tensors of the checkpoint: {0}")]
    Tensors(#[from] collegial_core::tensors::Error),
    /// What cannot be, since headers are plain data.
    #[error("the header of the checkpoint has no JSON form: {0}")]
    Header(#[source] serde_json::Error),
    /// The data cannot be read.
    #[error(transparent)]
    Data(#[from] crate::data::DataError),
    /// The operating system refused.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "read", "write", "create".
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that is no checkpoint, or one that was cut off.
    #[error("{} is not a whole checkpoint: {reason}", path.display())]
    NotACheckpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: Box<CheckpointDefect>,
    },
    /// A checkpoint of another network.
    #[error("{} does not fit {model}: {reason}", path.display())]
    OtherNetwork {
        /// The file.
        path: PathBuf,
        /// The network it was to fill.
        model: String,
        /// The first thing that differs.
        reason: Box<NetworkDifference>,
    },
    /// Another process trains there.
    #[error("the run directory {} is in use by process {process}; wait for it or choose another directory", path.display())]
    Busy {
        /// The run directory.
        path: PathBuf,
        /// The process that holds the lock, as it wrote it.
        process: String,
    },
    /// There is a run already.
    #[error("the run directory {} holds a run already; resume it or choose another directory", path.display())]
    Occupied {
        /// The run directory.
        path: PathBuf,
    },
    /// There is no checkpoint.
    #[error("there is no checkpoint in {}; give a run directory of a training, or a .safetensors file", path.display())]
    NoCheckpoint {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The run was begun in another way.
    #[error("cannot resume a run that began otherwise: {}", list(differences))]
    OtherRun {
        /// What differs, field by field.
        differences: Vec<Difference>,
    },
    /// A file whose content has changed since it was written.
    #[error("{} has changed since it was written: its checksum is not that of its content", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
    },
    /// Weights that are no numbers.
    #[error("{} has weights that are no numbers: {tensor} contains {value}", path.display())]
    NotFinite {
        /// The file.
        path: PathBuf,
        /// The first tensor that has one.
        tensor: String,
        /// NaN or infinity.
        value: f32,
    },
    /// Somebody took the run's lock away: another process may train there.
    #[error(
        "the lock file {} was removed or replaced while this run held it; nothing more is written, resuming goes on from the \
         last checkpoint", path.display()
    )]
    LostLock {
        /// The lock file.
        path: PathBuf,
    },
    /// A run's checkpoints cannot be numbered on.
    #[error("the checkpoint {} has the last number there is; move it away or rename it", path.display())]
    LastNumber {
        /// The checkpoint.
        path: PathBuf,
    },
    /// The loss is no longer a number.
    #[error(
        "the loss became {loss} in epoch {epoch}, step {step}, at learning rate {rate}; lower the rate or add a warm-up \
         (learning_rate=..., schedule.warm_up=5), the last good checkpoint is {}", checkpoint.display()
    )]
    Diverged {
        /// NaN or infinity.
        loss: f64,
        /// Counted from 1.
        epoch: u32,
        /// Counted from 1 within the epoch.
        step: usize,
        /// The learning rate then.
        rate: f64,
        /// What can be gone back to.
        checkpoint: PathBuf,
    },
}

/// Why a recipe cannot be followed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// No recipe of this name, and no file.
    #[error("cannot read the recipe {name}: {reason}; known names are {}", known.join(", "))]
    Unreadable {
        /// A name or path.
        name: String,
        /// What the system said.
        reason: String,
        /// The names that are part of the program.
        known: Vec<&'static str>,
    },
    /// Not TOML, or not the TOML of a recipe.
    #[error("the recipe is not valid: {reason}")]
    Malformed {
        /// What the parser said.
        reason: String,
    },
    /// Not of the form `key=value`.
    #[error(
        "{change:?} is not a change of a recipe; write it as epochs=5, optimiser.momentum=0.8 or schedule.milestones=[2,4]"
    )]
    Change {
        /// What was given.
        change: String,
    },
    /// A value out of its range.
    #[error("the recipe's {field} is {value}; it must be {accepted}")]
    Value {
        /// The path of the field.
        field: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        accepted: &'static str,
    },
    /// Rates by fan-in of a network with convolutions.
    #[error("rates_by_fan_in is for fully connected networks; {layer} is a convolution")]
    LayerRates {
        /// The layer's name.
        layer: String,
    },
    /// Micro-batches that do not fill a batch.
    #[error("the recipe's batch of {batch} is not a multiple of its micro_batch of {micro_batch}")]
    MicroBatch {
        /// Images per step.
        batch: usize,
        /// Images computed at once.
        micro_batch: usize,
    },
}

/// Why a network and a data set do not belong together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// A setting of the user's says otherwise than the data.
    #[error("{setting} {given} contradicts the data set, which has {found} {what}")]
    Contradiction {
        /// `classes`, `outputs`, `inputs` or `image`.
        setting: &'static str,
        /// What was given.
        given: usize,
        /// What the data set has.
        found: usize,
        /// Of what.
        what: &'static str,
    },
    /// A convolutional network of ours and images it is not made for.
    #[error(
        "{model} takes square colour images, but those of the data set are {shape}; a fully connected network such as \
         fc6-30x48 takes any"
    )]
    Images {
        /// The network.
        model: String,
        /// The images.
        shape: Shape,
    },
    /// A network of the user's whose inputs or outputs are others.
    #[error(
        "{model} takes {input} values and puts out {outputs}, but the images of the data set are {shape} in {classes} classes"
    )]
    Shapes {
        /// The network.
        model: String,
        /// Its inputs.
        input: Shape,
        /// Its outputs.
        outputs: u64,
        /// The images.
        shape: Shape,
        /// The classes.
        classes: usize,
    },
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Says what was tried on which path.
pub(crate) fn io<'a>(action: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> Error + 'a {
    move |source| Error::Io { action, path: path.to_owned(), source }
}
