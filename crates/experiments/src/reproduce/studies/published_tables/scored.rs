//! One published table, scored.

use serde_json::{Map, Value};

use super::Listed;
use crate::reproduce::Error;
use crate::score::{Group, Question, ScoredTable, Table};

/// A published table with the scores of its designs.
pub(super) struct Scored {
    pub listed: Listed,
    /// The designs, and those that are left out, with the reason.
    pub scored: ScoredTable,
    question: Question,
}

/// A row that the source was known to have wrong before anything was computed.
pub(super) struct Outlier<'a> {
    pub model: &'a str,
    pub why: &'a str,
}

impl Scored {
    pub(super) fn read(listed: &Listed, table: &Table, group: &[String], seed: u64) -> Result<Self, Error> {
        let question = Question { targets: vec![listed.error.clone()], group: group.to_owned(), seed };
        let scored = ScoredTable::new(table, &question)?;
        Ok(Self { listed: listed.clone(), scored, question })
    }

    /// Designs of one recipe and one skeleton: only m and n differ.
    pub(super) fn groups(&self) -> Vec<Group<'_>> {
        self.scored.groups(&self.question)
    }

    /// The same without the known outliers.
    pub(super) fn groups_without_outliers(&self) -> Vec<Group<'_>> {
        self.groups().into_iter().map(ordinary).filter(|group| group.rows.len() > 1).collect()
    }

    pub(super) fn outliers(&self) -> impl Iterator<Item = Outlier<'_>> {
        self.scored.rows.iter().filter_map(|row| outlier(&row.cells))
    }

    /// Rows whose error is of one run.
    pub(super) fn single_runs(&self) -> usize {
        let is_single = |cells: &Map<String, Value>| cells.get("runs").and_then(Value::as_f64) == Some(1.0);
        self.scored.rows.iter().filter(|row| is_single(&row.cells)).count()
    }
}

/// A group without its known outliers.
fn ordinary(group: Group<'_>) -> Group<'_> {
    let kept = group.rows.iter().zip(&group.errors).filter(|(row, _)| outlier(&row.cells).is_none());
    let (rows, errors) = kept.map(|(row, error)| (*row, *error)).unzip();
    Group { rows, errors, ..group }
}

fn outlier(cells: &Map<String, Value>) -> Option<Outlier<'_>> {
    let text = |column: &str| cells.get(column).and_then(Value::as_str);
    Some(Outlier { why: text("known_outlier")?, model: text("model").unwrap_or("") })
}
