//! The paper's five tables.

use super::tables;
use crate::{Context, Error, Experiment, Item, Outcome};

/// A table of the paper; its experiment says which designs it has.
pub struct PaperTable {
    name: &'static str,
    experiment: &'static str,
}

/// Tables 1 to 5.
pub const TABLES: [PaperTable; 5] = [
    PaperTable { name: "table1", experiment: include_str!("../../experiments/table1.toml") },
    PaperTable { name: "table2", experiment: include_str!("../../experiments/table2.toml") },
    PaperTable { name: "table3", experiment: include_str!("../../experiments/table3.toml") },
    PaperTable { name: "table4", experiment: include_str!("../../experiments/table4.toml") },
    PaperTable { name: "table5", experiment: include_str!("../../experiments/table5.toml") },
];

impl Item for PaperTable {
    fn name(&self) -> &'static str {
        self.name
    }

    fn experiment(&self) -> &'static str {
        self.experiment
    }

    fn trains(&self) -> bool {
        true
    }

    fn run(&self, experiment: &Experiment, context: &Context) -> Result<Outcome, Error> {
        tables::run(self.name, experiment, context)
    }
}
