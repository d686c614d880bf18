//! The one door to everything that collegial can do: per verb a request, which is data, and an
//! answer, which is data too.
//!
//! A request deserialises from JSON whose keys are the program's options
//! ([`Search`](search::Request) reads `{"model": "resnext29-1x128d", "alpha": 1.6}`); what is left
//! out has its default, and unknown keys are refused. `run` computes the [`Answer`]. Serialised, an
//! answer is the document that `--json` prints; text, tables, figures and pages of it are made on
//! request.
//!
//! ```
//! use collegial::{Answer, Silent, search};
//!
//! let request = r#"{"model": "resnext29-1x128d", "alpha": 1.6}"#;
//! let request: search::Request = serde_json::from_str(request)?;
//! let answer = search::run(&request, &Silent)?;
//! assert!(answer.table().to_csv().starts_with("width,"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
pub mod array;
pub mod backend;
pub mod budget;
mod class_list;
pub mod draws;
pub mod environment;
mod error;
pub mod evaluate;
pub mod explorer;
pub mod export;
pub mod files;
pub mod fit;
pub mod forward;
pub mod info;
pub mod jobs;
pub mod kernels;
pub mod merge;
pub mod message;
pub mod model;
mod model_ref;
pub mod models;
pub mod moments;
pub mod ntk;
pub mod options;
mod paths;
#[cfg(feature = "program")]
pub mod program;
pub mod reproduce;
mod request;
pub mod runtime;
pub mod score;
pub mod search;
mod style;
pub mod sweep;
mod threads;
pub mod train;
mod training_options;
pub mod transformer;
pub mod validate;
pub mod widths;
mod written;

pub(crate) use answer::untimed_json;
pub use answer::{Answer, Document, Paged, to_json};
pub use budget::{Budget, NotABudget};
pub use collegial_core::{Monitor, Silent};
pub use error::{ContentError, Error, InputsError};
pub use message::{InvalidRequest, Message};
pub use model::Model;
pub use model_ref::ModelRef;
pub use request::request;
pub use style::Style;
pub use threads::threads;
pub use training_options::TrainingOptions;
pub use widths::{NotWidths, Widths};
