//! A published table, scored.

use crate::score::{Group, Question, ScoredTable, Table};
use serde_json::Value;

use crate::reproduce::Error;

/// A published table with the scores of its designs.
pub(super) struct Body {
    /// The item's name.
    pub name: &'static str,
    /// Its title.
    pub title: String,
    /// The designs, and those that are left out, with the reason.
    pub scored: ScoredTable,
    questions: Vec<Question>,
}

impl Body {
    /// Scores a table whose columns of errors are `targets`, the first of them the main one.
    pub(super) fn read(
        name: &'static str,
        title: &str,
        csv: &str,
        targets: Vec<String>,
        seed: u64,
    ) -> Result<Self, Error> {
        let question = |targets| Question { targets, group: vec!["recipe".into(), "blocks".into()], seed };
        let scored = ScoredTable::new(&Table::from_csv(csv.as_bytes())?, &question(targets.clone()))?;
        let questions = targets.into_iter().map(|target| question(vec![target])).collect();
        Ok(Self { name, title: title.to_owned(), scored, questions })
    }

    /// The question about the main column of errors.
    pub(super) fn primary(&self) -> &Question {
        &self.questions[0]
    }

    /// The questions, one per column of errors.
    pub(super) fn questions(&self) -> &[Question] {
        &self.questions
    }

    /// Designs of one recipe and one skeleton: only m and n differ.
    pub(super) fn groups<'a>(&'a self, question: &'a Question) -> Vec<Group<'a>> {
        self.scored.groups(question)
    }

    /// The same without the rows that the source was known to have wrong before anything was
    /// computed.
    pub(super) fn groups_without_outliers<'a>(&'a self, question: &'a Question) -> Vec<Group<'a>> {
        let ordinary = |group: Group<'a>| {
            let kept = group.rows.iter().zip(&group.errors).filter(|(row, _)| outlier(&row.cells).is_none());
            let (rows, errors) = kept.map(|(row, error)| (*row, *error)).unzip();
            Group { rows, errors, ..group }
        };
        self.groups(question).into_iter().map(ordinary).filter(|group| group.rows.len() > 1).collect()
    }

    /// The known outliers: the network and what is wrong with it.
    pub(super) fn outliers(&self) -> Vec<(String, String)> {
        let told = |cells: &serde_json::Map<String, Value>| {
            Some((cells.get("model")?.as_str()?.to_owned(), outlier(cells)?.to_owned()))
        };
        self.scored.rows.iter().filter_map(|row| told(&row.cells)).collect()
    }

    /// Rows whose error is of one run.
    pub(super) fn single_runs(&self) -> usize {
        let single =
            |cells: &serde_json::Map<String, Value>| cells.get("runs").and_then(Value::as_f64) == Some(1.0);
        self.scored.rows.iter().filter(|row| single(&row.cells)).count()
    }
}

fn outlier(cells: &serde_json::Map<String, Value>) -> Option<&str> {
    cells.get("known_outlier").and_then(Value::as_str)
}
