//! Table 4.

use super::tables;
use crate::{Context, Error, Experiment, Item, Outcome};

/// Table 4.
pub struct Table4;

impl Item for Table4 {
    fn name(&self) -> &'static str {
        "table4"
    }

    fn experiment(&self) -> &'static str {
        include_str!("../../experiments/table4.toml")
    }

    fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        tables::run(self.name(), experiment, context)
    }
}
