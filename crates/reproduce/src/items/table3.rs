//! Table 3.

use super::tables;
use crate::{Context, Error, Experiment, Item, Outcome};

/// Table 3.
pub struct Table3;

impl Item for Table3 {
    fn name(&self) -> &'static str {
        "table3"
    }

    fn experiment(&self) -> &'static str {
        include_str!("../../experiments/table3.toml")
    }

    fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        tables::run(self.name(), experiment, context)
    }
}
