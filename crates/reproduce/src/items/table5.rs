//! Table 5.

use super::tables;
use crate::{Context, Error, Experiment, Item, Outcome};

/// Table 5.
pub struct Table5;

impl Item for Table5 {
    fn name(&self) -> &'static str {
        "table5"
    }

    fn experiment(&self) -> &'static str {
        include_str!("../../experiments/table5.toml")
    }

    fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        tables::run(self.name(), experiment, context)
    }
}
