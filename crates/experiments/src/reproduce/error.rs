//! Constructors of the errors of items, and what can be wrong with an experiment file.

use crate::Error;

impl Error {
    /// The refusal of a name, with those that there are.
    pub(crate) fn unknown_item(name: &str) -> Self {
        let known: Vec<&str> = crate::reproduce::ITEMS.iter().map(crate::reproduce::Item::name).collect();
        Self::UnknownItem { name: name.to_owned(), known: known.join(", ") }
    }

    /// An experiment that does not fit the program.
    pub(crate) fn experiment(source_name: impl Into<String>, reason: Misfit) -> Self {
        Self::Experiment { source_name: source_name.into(), reason }
    }
}

/// What does not fit of an experiment, of published numbers, or of data.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// The settings are not TOML, or not the item's.
    #[error("{}", .0.trim().replace('\n', " "))]
    Settings(
        /// In the parser's words.
        String,
    ),
    /// A key that every experiment has.
    #[error("there is no {key}")]
    NoKey {
        /// The key.
        key: &'static str,
    },
    /// A list that is empty.
    #[error("it names no {what}")]
    Nothing {
        /// Of what.
        what: &'static str,
    },
    /// Published numbers that are not there.
    #[error("nothing under {id:?}, or not what is asked for")]
    NotPublished {
        /// Where they should be.
        id: String,
    },
    /// A published table without a row of it.
    #[error("it has no row {row}")]
    NoRow {
        /// The row.
        row: String,
    },
    /// Rows of a published table that belong to no baseline, or to none that is printed.
    #[error("it has {printed} rows, but {grouped} are in groups")]
    Groups {
        /// Rows of the table.
        printed: usize,
        /// Rows of all groups.
        grouped: usize,
    },
    /// A network without a width to choose.
    #[error("it has no width")]
    NoWidth,
    /// A law that no alpha of the range makes true.
    #[error("no alpha between {low} and {high} gives the optimum of Fig. 3")]
    NoAlpha {
        /// The least that was tried.
        low: f64,
        /// The largest.
        high: f64,
    },
    /// A cell of recorded runs.
    #[error("{column} of row {row} is missing or not what it should be")]
    NoCell {
        /// The row, counted from 1.
        row: usize,
        /// Its column.
        column: String,
    },
    /// Runs too few to compare designs.
    #[error("a design has too few runs")]
    FewRuns,
    /// Photographs where pixels are wanted as they are.
    #[error("the tangent kernel is followed on stored images, not on photographs")]
    Photographs,
    /// A data set that is too small.
    #[error("{wanted} images are wanted, it has {found}")]
    FewImages {
        /// How many are wanted.
        wanted: usize,
        /// How many there are.
        found: usize,
    },
}
