//! Table 2.

use super::tables;
use crate::{Context, Error, Experiment, Item, Outcome};

/// Table 2.
pub struct Table2;

impl Item for Table2 {
    fn name(&self) -> &'static str {
        "table2"
    }

    fn experiment(&self) -> &'static str {
        include_str!("../../experiments/table2.toml")
    }

    fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        tables::run(self.name(), experiment, context)
    }
}
