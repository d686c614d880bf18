//! Rows that compare: those of one group, such as a training recipe, that have a value of one
//! column of errors.

use std::collections::BTreeMap;

use serde_json::Value;

use super::association::FEWEST;
use super::{NotCompared, Predictor, Question, ScoredRow};

/// The rows of one group with their errors.
#[derive(Clone, Debug)]
pub struct Group<'a> {
    /// The values of the grouping columns, joined by ", "; `None` without such columns.
    pub name: Option<String>,
    /// The column of errors.
    pub target: &'a str,
    /// The designs.
    pub rows: Vec<&'a ScoredRow>,
    /// Their errors, in the same order.
    pub errors: Vec<f64>,
}

impl Group<'_> {
    /// What a predictor expects of the errors: variances as they are, sizes negative.
    pub(super) fn expectations(&self, predictor: Predictor) -> Vec<f64> {
        self.rows.iter().map(|row| predictor.expectation(&row.predictors)).collect()
    }
}

/// The groups of every target, in the order of targets and names; groups of one row are left out.
pub(super) fn groups<'a>(rows: &'a [ScoredRow], question: &'a Question) -> Vec<Group<'a>> {
    let mut groups = vec![];
    for target in &question.targets {
        let mut parts: BTreeMap<Option<String>, Vec<(&ScoredRow, f64)>> = BTreeMap::new();
        for row in rows {
            let Some(error) = row.cells.get(target).and_then(Value::as_f64) else { continue };
            parts.entry(name(row, &question.group)).or_default().push((row, error));
        }
        for (name, part) in parts.into_iter().filter(|(_, part)| part.len() > 1) {
            let (rows, errors) = part.into_iter().unzip();
            groups.push(Group { name, target, rows, errors });
        }
    }
    groups
}

/// Rows without an error, then groups of fewer designs than have a correlation, target by target.
pub(super) fn not_compared(rows: &[ScoredRow], question: &Question) -> Vec<NotCompared> {
    let mut all = vec![];
    for target in &question.targets {
        let mut sizes: BTreeMap<Option<String>, usize> = BTreeMap::new();
        let of = |group, row, reason| NotCompared { target: target.clone(), group, row, reason };
        for row in rows {
            let group = name(row, &question.group);
            match row.cells.get(target) {
                Some(value) if value.is_number() => *sizes.entry(group).or_default() += 1,
                Some(Value::String(text)) => {
                    all.push(of(group, Some(row.row), format!("its {target} is {text:?}, not a number")));
                }
                _ => all.push(of(group, Some(row.row), format!("its {target} is empty"))),
            }
        }
        for (group, size) in sizes.into_iter().filter(|(_, size)| *size < FEWEST) {
            let designs = if size == 1 { "design" } else { "designs" };
            let reason = format!("{size} {designs} with a number as {target}; a correlation needs {FEWEST}");
            all.push(of(group, None, reason));
        }
    }
    all
}

fn name(row: &ScoredRow, columns: &[String]) -> Option<String> {
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let values: Vec<String> = columns.iter().filter_map(|column| row.cells.get(column)).map(words).collect();
    (!values.is_empty()).then(|| values.join(", "))
}
