//! Every figure and table of the paper again: published and obtained side by side, with a verdict.
//!
//! The main type is [`Item`]: one figure or table, in one small file under `items/`, whose settings
//! at every [`Scale`] are in `experiments/NAME.toml`. An item computes with the other crates and
//! gives an [`Outcome`]: comparisons with the numbers of `paper/tables.json` ([`published`]),
//! sections for its page, and its data. Whatever takes long is a result
//! ([`cached`](crate::Context::cached)), kept in a file, so that a run that was interrupted goes on
//! where it was. Some items train nothing and judge the records of a study (`studies/`).
//!
//! To add one: write its experiment file and a function from that to its outcome, and name both in
//! [`ITEMS`].

mod comparison;
mod context;
mod contrast;
pub mod drawings;
mod experiment;
mod images;
mod item;
mod items;
mod pages;
pub mod published;
mod report;
mod scale;
mod studies;

pub use crate::Error;
pub use crate::ResultCache;
pub use crate::jobs::Share;
pub use collegial_train::{Backends, Engine};
pub use comparison::{Comparison, Verdict};
pub use context::Context;
pub use experiment::Experiment;
pub use item::{Item, item};
pub use items::ITEMS;
pub use pages::{write_index, write_report};
pub use report::{Outcome, Report, Summary, reproduce};
pub use scale::{NotAScale, Scale};
pub use studies::published_steps;
