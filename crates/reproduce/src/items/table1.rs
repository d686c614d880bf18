//! Table 1.

use super::tables;
use crate::{Context, Error, Experiment, Item, Outcome};

/// Table 1.
pub struct Table1;

impl Item for Table1 {
    fn name(&self) -> &'static str {
        "table1"
    }

    fn experiment(&self) -> &'static str {
        include_str!("../../experiments/table1.toml")
    }

    fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        tables::run(self.name(), experiment, context)
    }
}
