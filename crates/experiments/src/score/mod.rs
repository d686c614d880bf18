//! Do predictions rank the errors of networks that were trained already? A table of designs in,
//! their scores and rank correlations out.
//!
//! The main type is [`ScoredTable`]. Every row of a [`Table`] describes one network (see
//! [`row_spec`] for the forms); its [`Predictors`] are computed from the spec alone. Given columns
//! of errors, each predictor is correlated with each of them within groups of rows, such as one
//! training recipe: errors of different recipes do not compare.

mod association;
mod group;
mod nds;
mod network;
pub mod pairs;
mod predictors;
mod table;
mod together;

use collegial_ntk::explicit::Parametrisation;
use rayon::prelude::*;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Error;
pub use association::{Association, Slope, partial_spearman};
pub use group::Group;
pub use network::{Resolver, named, row_spec};
pub use predictors::{Predictor, Predictors};
pub use table::Table;
pub use together::{Explained, explained};

/// What is asked of a table.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Columns of errors to correlate with.
    pub targets: Vec<String>,
    /// The columns whose values together part the rows into groups; all rows are one group without
    /// any.
    pub group: Vec<String>,
    /// Seeds the bootstrap.
    pub seed: u64,
}

/// One row that could be read, with its predictors.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredRow {
    /// The row's number in the table, from 1.
    pub row: usize,
    /// The table's own columns; numbers as numbers.
    #[serde(flatten)]
    pub cells: Map<String, Value>,
    /// What was computed.
    #[serde(flatten)]
    pub predictors: Predictors,
}

/// One row that could not be read, or that the table itself leaves out: its column `left_out` says
/// why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedRow {
    /// The row's number in the table, from 1.
    pub row: usize,
    /// What it calls its network, if it does.
    pub model: Option<String>,
    /// Why.
    pub reason: String,
}

/// A table with all that was computed of it.
#[derive(Clone, Debug, Serialize)]
pub struct ScoredTable {
    /// The rows that could be read.
    pub rows: Vec<ScoredRow>,
    /// Those that could not.
    pub refused: Vec<RefusedRow>,
    /// Rank correlations of every predictor with every target in every group of at least four rows.
    pub correlations: Vec<Association>,
    /// Slopes of ln error on ln predictor, likewise.
    pub slopes: Vec<Slope>,
    /// Scored rows without an error, and groups too small to correlate.
    pub not_compared: Vec<NotCompared>,
}

/// A row or a group that no correlation counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotCompared {
    /// The column of errors.
    pub target: String,
    /// The group.
    pub group: Option<String>,
    /// The row's number in the table, from 1; `null` for a whole group.
    pub row: Option<usize>,
    /// Why.
    pub reason: String,
}

impl ScoredTable {
    /// Scores every row, and correlates; a column `model` holds names.
    ///
    /// # Errors
    ///
    /// If a target or the grouping column is not in the table.
    pub fn new(table: &Table, question: &Question) -> Result<Self, Error> {
        Self::resolved(table, question, &named)
    }

    /// The same with a column `model` of whatever `resolve` makes networks of.
    ///
    /// # Errors
    ///
    /// If a target or the grouping column is not in the table.
    pub fn resolved(table: &Table, question: &Question, resolve: Resolver) -> Result<Self, Error> {
        Self::parametrised(table, question, resolve, Parametrisation::Ntk)
    }

    /// The same with scores in either parametrisation.
    ///
    /// # Errors
    ///
    /// As those of [`resolved`](Self::resolved).
    pub fn parametrised(
        table: &Table,
        question: &Question,
        resolve: Resolver,
        parametrisation: Parametrisation,
    ) -> Result<Self, Error> {
        for column in question.targets.iter().chain(&question.group) {
            table.require(column)?;
        }
        let outcomes: Vec<_> = (0..table.len())
            .into_par_iter()
            .map(|row| predictors(table, row, resolve, parametrisation).map_err(|error| error.to_string()))
            .collect();
        let (mut rows, mut refused) = (vec![], vec![]);
        for (index, outcome) in outcomes.into_iter().enumerate() {
            let row = index + 1;
            match outcome {
                Ok(predictors) => rows.push(ScoredRow { row, cells: table.cells(index), predictors }),
                Err(reason) => {
                    let model = table.get(index, "model").map(str::to_owned);
                    refused.push(RefusedRow { row, model, reason });
                }
            }
        }
        let (correlations, slopes) = association::all(&rows, question);
        let not_compared = group::not_compared(&rows, question);
        Ok(Self { rows, refused, correlations, slopes, not_compared })
    }

    /// The groups of at least two rows, of every target.
    pub fn groups<'a>(&'a self, question: &'a Question) -> Vec<Group<'a>> {
        group::groups(&self.rows, question)
    }
}

fn predictors(
    table: &Table,
    row: usize,
    resolve: Resolver,
    parametrisation: Parametrisation,
) -> Result<Predictors, Error> {
    if let Some(why) = table.get(row, "left_out") {
        return Err(Error::Invalid(format!("left out: {why}")));
    }
    Predictors::parametrised(&row_spec(table, row, resolve)?, parametrisation)
}
