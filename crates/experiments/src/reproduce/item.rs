//! Figures and tables as data: a name, an experiment file, and how it is computed.

use crate::reproduce::{Context, Error, Experiment, ITEMS, Outcome};

type Run = fn(&Experiment, &Context) -> Result<Outcome, Error>;

/// One figure or table of the paper, or one study whose records are judged.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    name: &'static str,
    kind: Kind,
    run: Run,
}

/// Where an item's numbers come from, with the text of its experiment file or the folder of its
/// study.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// They are computed; the text is that of `experiments/NAME.toml`.
    Computes(&'static str),
    /// Networks are trained for them, which a plan can list as jobs.
    Trains(&'static str),
    /// They are read from a study's folder under the context's records.
    Judges(&'static str),
}

impl Item {
    pub(crate) const fn new(name: &'static str, kind: Kind, run: Run) -> Self {
        Self { name, kind, run }
    }

    /// What it is called on the command line: `fig3`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it trains networks, which a plan can list as jobs.
    pub fn trains(&self) -> bool {
        matches!(self.kind, Kind::Trains(_))
    }

    /// Its experiment file.
    ///
    /// # Errors
    ///
    /// If that is not one, or is a study's and the context has no records of it.
    pub fn experiment(&self, context: &Context) -> Result<Experiment, Error> {
        match self.kind {
            Kind::Computes(text) | Kind::Trains(text) => Experiment::parse(self.name, text),
            Kind::Judges(study) => Experiment::open(self.name, &context.study(self.name, study)?),
        }
    }

    /// Computes it at the context's scale.
    ///
    /// # Errors
    ///
    /// Whatever keeps it from an outcome, such as [data or records](Error::is_missing_input) that are
    /// not there.
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
