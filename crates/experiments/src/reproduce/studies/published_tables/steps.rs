//! Pairs of equal cost one by one.

use std::iter;
use std::path::Path;

use super::scored::Scored;
use super::{Source, Study};
use crate::evidence::Step;
use crate::reproduce::{Error, Experiment, Scale};
use crate::score::Group;
use crate::score::pairs::equal_cost;

/// The steps to less variance at equal cost that others' tables hold, table by table. `folder` is
/// that of the study.
///
/// # Errors
///
/// If the study or one of its tables cannot be read.
pub fn published_steps(folder: &Path) -> Result<Vec<Step>, Error> {
    let experiment = Experiment::open("evidence", folder)?;
    let study: Study = experiment.settings(Scale::Paper)?;
    let mut steps = vec![];
    for listed in study.tables.iter().filter(|listed| listed.source == Source::Others) {
        let scored = Scored::read(listed, &experiment.table(&listed.file)?, &study.group, 0)?;
        steps.extend(scored.groups().iter().flat_map(equal_cost_pairs).map(|pair| pair.step(&listed.file)));
    }
    Ok(steps)
}

/// Two designs of a group of equal cost: the one of less variance, and the other.
pub(super) struct Pair<'a> {
    group: &'a Group<'a>,
    less: usize,
    more: usize,
}

/// The pairs of a group whose costs are equal and whose scores are not.
pub(super) fn equal_cost_pairs<'a>(group: &'a Group<'a>) -> impl Iterator<Item = Pair<'a>> {
    let count = group.rows.len();
    let pairs = (0..count).flat_map(move |a| iter::repeat(a).zip(a + 1..count));
    let of = |at: usize| &group.rows[at].predictors;
    let equal = pairs.filter(move |&(a, b)| equal_cost(of(a), of(b)));
    let ordered = equal.map(move |(a, b)| if of(a).score < of(b).score { (a, b) } else { (b, a) });
    let pairs = ordered.map(move |(less, more)| Pair { group, less, more });
    pairs.filter(|pair| pair.variance_ratio() > 1.0 + 1e-9)
}

impl Pair<'_> {
    /// How many times less variance.
    pub(super) fn variance_ratio(&self) -> f64 {
        self.ratio(|at| self.group.rows[at].predictors.score).recip()
    }

    /// The error of less variance over the other's.
    pub(super) fn error_ratio(&self) -> f64 {
        self.ratio(|at| self.group.errors[at])
    }

    fn ratio(&self, of: impl Fn(usize) -> f64) -> f64 {
        of(self.less) / of(self.more)
    }

    /// The same as a row of a table, its numbers to four decimals.
    fn step(&self, table: &str) -> Step {
        let round = |value: f64| (1e4 * value).round() / 1e4;
        let model = |at: usize| self.group.rows[at].cells.get("model").and_then(|name| name.as_str());
        let model = |at: usize| model(at).unwrap_or_default().to_owned();
        let errors = &self.group.errors;
        Step {
            table: table.to_owned(),
            group: self.group.name.clone().unwrap_or_default(),
            model: model(self.less),
            other: model(self.more),
            variance_ratio: round(self.variance_ratio()),
            inner_width_ratio: round(self.ratio(|at| self.group.rows[at].predictors.inner_width)),
            points: round(errors[self.more] - errors[self.less]),
        }
    }
}
