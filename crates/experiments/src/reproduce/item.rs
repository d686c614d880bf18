//! Figures and tables as data: a name, an experiment file, and how it is computed.

use crate::reproduce::{Context, Error, Experiment, ITEMS, Outcome};

type Run = fn(&Experiment, &Context) -> Result<Outcome, Error>;

/// One figure or table of the paper.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    name: &'static str,
    /// The text of `experiments/NAME.toml`.
    text: &'static str,
    trains: bool,
    run: Run,
}

impl Item {
    /// One that trains nothing.
    pub(crate) const fn new(name: &'static str, text: &'static str, run: Run) -> Self {
        Self { name, text, trains: false, run }
    }

    /// The same, which trains networks.
    pub(crate) const fn training(self) -> Self {
        Self { trains: true, ..self }
    }

    /// What it is called on the command line: `fig3`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it trains networks, which a plan can list as jobs.
    pub fn trains(&self) -> bool {
        self.trains
    }

    /// Its experiment file.
    ///
    /// # Errors
    ///
    /// If that is not one.
    pub fn experiment(&self) -> Result<Experiment, Error> {
        Experiment::parse(self.name, self.text)
    }

    /// Computes it at the context's scale.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from an outcome; data that is not there is a verdict, not an error.
    pub fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        (self.run)(experiment, context)
    }
}

/// The item of this name.
///
/// # Errors
///
/// If there is none; the sentence lists what there is.
pub fn item(name: &str) -> Result<&'static Item, Error> {
    ITEMS.iter().find(|item| item.name == name).ok_or_else(|| Error::unknown_item(name))
}
