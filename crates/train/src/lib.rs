//! Training of networks on image data sets: data, recipes, the loop, checkpoints, import and export.
//!
//! The main type is [`Trainer`]: a network, its optimiser and its place in the data, which it saves
//! and resumes to the bit. [`data`] reads and augments the data sets of the paper's section 5 and
//! appendix A, [`Recipe`] holds the training details printed there, [`checkpoint`] and [`run`] keep
//! what was trained safe, [`evaluate()`] counts the errors. Nothing is ever downloaded.

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

pub mod backend;
mod builtin;
pub mod checkpoint;
mod checkpoint_policy;
pub mod data;
mod difference;
mod error;
mod evaluate;
pub mod export;
mod history;
mod job;
mod layer_rates;
mod loss;
pub mod recipe;
pub mod run;
mod schedule;
mod spec_for;
mod step_time;
mod tensorboard;
mod trainer;

pub use backend::{Backends, Engine};
pub use checkpoint_policy::CheckpointPolicy;
pub use difference::Difference;
pub use error::Error;
pub use evaluate::{Evaluation, evaluate, evaluate_with};
pub use history::{Epoch, Progress, Sums, run_error};
pub use job::{Data, Job};
pub use layer_rates::layer_rates;
pub use loss::Loss;
pub use recipe::{Builtin, Parametrisation, Recipe};
pub use run::RunDirectory;
pub use schedule::Schedule;
pub use spec_for::spec_for;
pub use step_time::seconds_per_step;
pub use tensorboard::EventFile;
pub use trainer::{Outcome, Trainer, TrainingMonitor};
