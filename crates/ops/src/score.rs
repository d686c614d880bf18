//! `score`: a table of designs with their scores, and how they rank a column of errors.

use std::path::PathBuf;

use collegial_report::{Align, Table, significant};
use collegial_trials::score::{Association, Predictor, Question, ScoredTable, Table as Designs};
use serde::{Deserialize, Serialize};

use crate::{Answer, Error, Style, to_json};

/// Which table, and which of its columns.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Request {
    /// A CSV file with one design per row.
    pub table: PathBuf,
    /// Columns of errors to correlate with.
    pub target: Vec<String>,
    /// The column whose values part the rows into groups, such as a training recipe.
    pub group: Option<String>,
    /// Seeds the bootstrap.
    pub seed: u64,
}

/// The table with all that was computed of it.
#[derive(Clone, Debug, Serialize)]
pub struct Scored(ScoredTable);

/// Scores every row.
///
/// # Errors
///
/// If the table cannot be read, or has not the columns that were named.
pub fn run(request: &Request) -> Result<Scored, Error> {
    let table = Designs::open(&request.table)?;
    let question =
        Question { targets: request.target.clone(), group: request.group.clone(), seed: request.seed };
    Ok(Scored(ScoredTable::new(&table, &question)?))
}

/// A predictor in words.
fn words(predictor: Predictor) -> &'static str {
    match predictor {
        Predictor::Score => "score",
        Predictor::WhiteScore => "score, white inputs",
        Predictor::Law => "law",
        Predictor::Parameters => "parameters",
        Predictor::Flops => "FLOPs",
        Predictor::Width => "inner width m n",
    }
}

impl Scored {
    /// The rows and their scores.
    pub fn rows(&self) -> &ScoredTable {
        &self.0
    }

    fn correlations(&self) -> Table {
        let mut table = Table::new(&[
            ("group", Align::Left),
            ("target", Align::Left),
            ("predictor", Align::Left),
            ("given", Align::Left),
            ("rank correlation", Align::Right),
            ("95 % interval", Align::Right),
            ("rows", Align::Right),
        ]);
        for found in &self.0.correlations {
            let Association { group, target, predictor, given, spearman, ci, rows } = found;
            let interval = ci.map_or("n/a".into(), |[low, high]| format!("{low:.2} to {high:.2}"));
            table.push([
                group.clone().unwrap_or_default(),
                target.clone(),
                words(*predictor).into(),
                given.map_or(String::new(), |given| words(given).into()),
                spearman.map_or("n/a".into(), |value| format!("{value:.2}")),
                interval,
                rows.to_string(),
            ]);
        }
        table
    }

    fn sentences(&self) -> Vec<String> {
        let (rows, refused) = (self.0.rows.len(), self.0.refused.len());
        let mut sentences = vec![format!(
            "{rows} designs scored: the mean over a network's blocks of the exact kernel variance at initialisation."
        )];
        if refused > 0 {
            sentences.push(format!("{refused} rows could not be read; they are listed with the reason."));
        }
        sentences
    }
}

impl Answer for Scored {
    fn json(&self) -> Result<String, Error> {
        to_json(self)
    }

    fn text(&self, _style: &Style) -> String {
        let mut text = self.sentences().join("\n");
        text.push_str("\n\n");
        if self.0.correlations.is_empty() {
            text.push_str(&self.table().to_text());
        } else {
            text.push_str(&self.correlations().to_text());
            text.push_str(
                "\nA positive correlation means that the predictor is right: errors grow with variances and fall with sizes.\n",
            );
        }
        for refused in &self.0.refused {
            text.push_str(&format!("row {}: {}\n", refused.row, refused.reason));
        }
        text
    }

    fn table(&self) -> Table {
        let own: Vec<String> = self.0.rows.first().map_or(vec![], |row| row.cells.keys().cloned().collect());
        let computed = ["score", "white_score", "law", "parameters", "flops", "inner_width"];
        let columns: Vec<(&str, Align)> = own
            .iter()
            .map(|name| (name.as_str(), Align::Left))
            .chain(computed.map(|name| (name, Align::Right)))
            .collect();
        let mut table = Table::new(&columns);
        for row in &self.0.rows {
            let mut cells: Vec<String> = row
                .cells
                .values()
                .map(|value| match value {
                    serde_json::Value::String(text) => text.clone(),
                    serde_json::Value::Null => String::new(),
                    other => other.to_string(),
                })
                .collect();
            let of = &row.predictors;
            cells.extend([
                significant(of.score, 6),
                significant(of.white_score, 6),
                significant(of.law, 6),
                of.parameters.to_string(),
                of.flops.to_string(),
                significant(of.inner_width, 6),
            ]);
            table.push_row(cells);
        }
        table
    }

    fn summary(&self) -> (Vec<String>, Table) {
        let table = if self.0.correlations.is_empty() { self.table() } else { self.correlations() };
        (self.sentences(), table)
    }
}
