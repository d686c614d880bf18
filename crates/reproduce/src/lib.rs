//! Every figure and table of the paper again: published and obtained side by side, with a verdict.
//!
//! The main type is [`Item`]: one figure or table, in one small file under `items/`, whose settings
//! at every [`Scale`] are in `experiments/NAME.toml`. An item computes with the other crates and
//! gives an [`Outcome`]: comparisons with the numbers of `paper/tables.json` ([`published`]),
//! sections for its page, and its data. Whatever takes long is a part ([`Context::part`]), kept in
//! a file, so that a run that was interrupted goes on where it was.
//!
//! To add one: write its experiment file, implement [`Item`] on a unit struct, and name it in
//! [`ITEMS`].

mod comparison;
mod context;
mod contrast;
pub mod drawings;
mod error;
mod experiment;
mod images;
mod items;
mod pages;
pub mod published;
mod report;
mod scale;

pub use collegial_train::Engine;
pub use collegial_trials::Parts;
pub use collegial_trials::jobs::Share;
pub use comparison::{Comparison, Verdict};
pub use context::Context;
pub use error::{Error, Misfit};
pub use experiment::Experiment;
pub use items::ITEMS;
pub use pages::{write_index, write_report};
pub use report::{Outcome, Report, Summary, reproduce};
pub use scale::{NotAScale, Scale};

/// One figure or table of the paper.
pub trait Item: Sync {
    /// What it is called on the command line: `fig3`.
    fn name(&self) -> &'static str;

    /// The text of `experiments/NAME.toml`.
    fn experiment(&self) -> &'static str;

    /// Whether it trains networks, which a plan can list as jobs.
    fn trains(&self) -> bool {
        false
    }

    /// Computes it at the context's scale.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from an outcome; data that is not there is a verdict, not an error.
    fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error>;
}

/// The item of this name.
///
/// # Errors
///
/// If there is none; the sentence lists what there is.
pub fn item(name: &str) -> Result<&'static dyn Item, Error> {
    ITEMS.iter().copied().find(|item| item.name() == name).ok_or_else(|| {
        let known: Vec<&str> = ITEMS.iter().map(|item| item.name()).collect();
        Error::UnknownItem { name: name.to_owned(), known: known.join(", ") }
    })
}
