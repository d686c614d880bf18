//! Errors of requests, each one sentence.

use std::io;
use std::path::PathBuf;

use collegial_arch::plain_words;

use crate::message::{Span, message, option};
use crate::{InvalidRequest, Message};

/// Why there is no answer. [`Error::message`] has the options of a sentence as spans.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A runtime of Python where there is none.
    #[error("ONNX Runtime and PyTorch are timed by the Python package collegial")]
    NeedsPython,
    /// The spec itself.
    #[error(transparent)]
    Spec(#[from] collegial_arch::Error),
    /// The engine refuses the network.
    #[error(transparent)]
    Engine(collegial_nn::Error),
    /// The kernel's statistics.
    #[error(transparent)]
    Kernel(collegial_ntk::Error),
    /// The search.
    #[error(transparent)]
    Search(collegial_search::Error),
    /// Tensors that a file cannot hold.
    #[error(transparent)]
    Tensors(#[from] collegial_core::tensors::Error),
    /// Data, recipe, checkpoint or training.
    #[error(transparent)]
    Train(#[from] collegial_train::Error),
    /// A file of weights.
    #[error(transparent)]
    Export(#[from] collegial_train::export::Error),
    /// A figure or table of the paper, or a validation.
    #[error(transparent)]
    Experiment(collegial_experiments::Error),
    /// Threads that could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many; 0 stands for one per core.
        threads: usize,
        /// The system's words.
        reason: String,
    },
    /// Fields that contradict each other or leave something out.
    #[error(transparent)]
    Request(#[from] InvalidRequest),
    /// A request that is not JSON, or not an object.
    #[error("the request is not one: {0}")]
    NotJson(serde_json::Error),
    /// A field that cannot have its value.
    #[error("{field} cannot be {value}: {reason}")]
    Field {
        /// The field.
        field: String,
        /// What it is.
        value: serde_json::Value,
        /// What the reader says.
        reason: serde_json::Error,
    },
    /// A request with a field too many or too few.
    #[error(transparent)]
    Fields(serde_json::Error),
    /// A verb that there is not.
    #[error("{verb:?} is not a verb")]
    UnknownVerb {
        /// The requested name.
        verb: String,
    },
    /// A file that could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file that could not be written.
    #[error(transparent)]
    Unwritable(#[from] collegial_core::files::WriteError),
    /// A directory that could not be made.
    #[error("cannot make {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file whose content is not what it should be.
    #[error("{}: {reason}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: ContentError,
    },
    /// An array that the network does not take.
    #[error("{name} holds inputs of shape {found:?}, but the network takes {expected:?}")]
    InputShape {
        /// Where the array comes from.
        name: String,
        /// The shape of one of its rows.
        found: Vec<usize>,
        /// Channels, height and width of the network's input.
        expected: [usize; 3],
    },
    /// Inputs that cannot be read.
    #[error("cannot take inputs from {name}: {reason}")]
    Inputs {
        /// Where they come from.
        name: String,
        /// What is wrong with them.
        reason: InputsError,
    },
    /// A number that JSON does not have.
    #[error("the result has no JSON form: {0}")]
    Json(serde_json::Error),
    /// The monitor said stop.
    #[error("interrupted")]
    Interrupted,
}

/// What is wrong with the content of a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContentError {
    /// It is not what was written, or does not fit what it is used with, as the end of a sentence.
    #[error("{0}")]
    Invalid(String),
    /// It should be text.
    #[error(transparent)]
    NotText(#[from] std::str::Utf8Error),
    /// Its tensors do not serve as the network's weights.
    #[error(transparent)]
    Weights(#[from] Box<collegial_ntk::Error>),
    /// It should be the plan of a kernel's tiles.
    #[error("it is not a kernel's plan ({0})")]
    NotAPlan(#[from] serde_json::Error),
    /// The plan is another kernel's.
    #[error(
        "{} was begun as another kernel (not the same: {}); give another out, or remove it and this directory",
        file.display(),
        differing.join(", ")
    )]
    AnotherKernel {
        /// The file of the kernel.
        file: PathBuf,
        /// What the two kernels depend on and differ in.
        differing: Vec<String>,
    },
    /// A network whose outputs are not the data set's classes.
    #[error(
        "it has {outputs} outputs, but the data set has {classes} classes; name the outputs' classes with class_list"
    )]
    Outputs {
        /// Of the network.
        outputs: u128,
        /// Of the data set.
        classes: usize,
    },
}

/// Why an array is no inputs.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InputsError {
    /// The file is no array.
    #[error(transparent)]
    Array(#[from] collegial_core::tensors::npy::NpyError),
    /// The array has no rows.
    #[error("it is a single number")]
    SingleNumber,
}

/// Errors of libraries that can be interruptions, which are one error here.
macro_rules! from_interruptible {
    ($($library:ty => $variant:ident),*) => {$(
        impl From<$library> for Error {
            fn from(error: $library) -> Self {
                if error.is_interruption() { Self::Interrupted } else { Self::$variant(error) }
            }
        }
    )*};
}

from_interruptible!(
    collegial_nn::Error => Engine,
    collegial_ntk::Error => Kernel,
    collegial_search::Error => Search,
    collegial_experiments::Error => Experiment
);

impl From<collegial_experiments::jobs::PlanError> for Error {
    fn from(error: collegial_experiments::jobs::PlanError) -> Self {
        collegial_experiments::Error::from(error).into()
    }
}

impl Error {
    /// The sentence, with its options as spans.
    pub fn message(&self) -> Message {
        match self {
            Self::Request(InvalidRequest(message)) => message.clone(),
            Self::Field { field, value, reason } => {
                message![option(field), format!(" cannot be {value}: {}", plain_words(&reason.to_string()))]
            }
            Self::Spec(collegial_arch::Error::NotApplicable { option: name, model, reason, instead }) => {
                not_applicable(name, model, reason, instead)
            }
            Self::Content { path, reason: ContentError::AnotherKernel { file, differing } } => message![
                format!("{}: {} was begun as another kernel ", path.display(), file.display()),
                format!("(not the same: {}); give another ", differing.join(", ")),
                option("out"),
                ", or remove it and this directory",
            ],
            Self::Content { path, reason: ContentError::Outputs { outputs, classes } } => message![
                format!(
                    "{}: it has {outputs} outputs, but the data set has {classes} classes; ",
                    path.display()
                ),
                "name the outputs' classes with ",
                option("class_list"),
            ],
            Self::Experiment(collegial_experiments::Error::NoData { item, what, data }) => message![
                format!("{item} trains on {what}: give a directory with it as "),
                option("data"),
                data.as_ref().map_or(String::new(), |path| format!("; {} has none", path.display())),
            ],
            Self::Experiment(collegial_experiments::Error::NoRecords { item, folder }) => message![
                format!("{item} judges kept records: give the folder research of the repository as "),
                option("records"),
                folder
                    .as_ref()
                    .map_or(String::new(), |path| format!("; there is no study in {}", path.display())),
            ],
            Self::Fields(error) => plain_words(&error.to_string()).into(),
            error => error.to_string().into(),
        }
    }

    /// Whether PyTorch or ONNX Runtime is to compute, and this process has no Python.
    pub fn needs_python(&self) -> bool {
        let error = match self {
            Self::NeedsPython => return true,
            Self::Train(error) | Self::Experiment(collegial_experiments::Error::Train(error)) => error,
            _ => return false,
        };
        matches!(error, collegial_train::Error::NoTorch)
    }

    /// For `map_err` on reading a file.
    pub(crate) fn reading(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unreadable { path, source }
    }
}

/// A setting that a model does not have, and the settings to take in its place.
fn not_applicable(name: &str, model: &str, reason: &str, instead: &[&str]) -> Message {
    let mut spans = vec![option(name), format!(" does not apply to {model}: {reason}").into()];
    for (index, name) in instead.iter().enumerate() {
        spans.push(Span::from(if index == 0 { "; use " } else { " and " }));
        spans.push(option(name));
    }
    spans.into()
}
