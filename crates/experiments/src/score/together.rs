//! Variance explained by predictors, alone and together: least squares of ln error on ln predictors,
//! every group with its own mean.

use collegial_core::{Regression, centred_logs};
use serde::Serialize;

use super::{Group, Predictor};

/// How much of the scatter of ln error within groups some predictors explain.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// The predictors.
    pub predictors: Vec<Predictor>,
    /// 1 - residual over total sum of squares.
    pub r_squared: f64,
    /// The same with both divided by their degrees of freedom: below 0 where the predictors explain
    /// less than chance would.
    pub adjusted: f64,
    /// Designs.
    pub rows: usize,
    /// Groups.
    pub groups: usize,
}

/// `None` where there are not three designs more than groups and predictors, or the predictors are
/// linearly dependent within groups (one that is the same everywhere, say), or an error is not
/// positive.
pub fn explained(groups: &[Group], predictors: &[Predictor]) -> Option<Explained> {
    let errors = centred(groups, |group, at| group.errors[at]);
    let columns: Vec<Vec<f64>> = predictors
        .iter()
        .map(|predictor| centred(groups, |group, at| predictor.value(&group.rows[at].predictors)))
        .collect();
    let Regression { r_squared, adjusted, freedom, .. } =
        Regression::centred(&errors, &columns, groups.len())?;
    (freedom >= 3).then(|| Explained {
        predictors: predictors.to_vec(),
        r_squared,
        adjusted,
        rows: errors.len(),
        groups: groups.len(),
    })
}

/// The logarithms of a quantity minus their mean in the group, group after group.
fn centred(groups: &[Group], value: impl Fn(&Group, usize) -> f64) -> Vec<f64> {
    let of = |group: &Group| centred_logs((0..group.rows.len()).map(|at| value(group, at)));
    groups.iter().flat_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Question, ScoredTable, Table};
    use super::*;

    /// ln error = ln parameters / 4 + ln score / 2 exactly: each alone explains a part, both
    /// explain all, a third nothing more.
    #[test]
    fn parts_add_up() {
        let designs = [(1, 64), (2, 40), (4, 24), (8, 14), (32, 4), (3, 30), (6, 30)];
        let question = Question { targets: vec!["error".into()], ..Question::default() };
        let table = |errors: &[f64]| {
            let line = |((m, n), error): (&(usize, usize), &f64)| format!("50,{m},{n},{error}\n");
            let text: String = designs.iter().zip(errors).map(line).collect();
            Table::from_csv(format!("depth,m,n,error\n{text}").as_bytes()).unwrap()
        };
        let plain = ScoredTable::new(&table(&[1.0; 7]), &question).unwrap();
        let errors: Vec<f64> = plain
            .rows
            .iter()
            .map(|row| (row.predictors.parameters as f64).powf(0.25) * row.predictors.score.sqrt())
            .collect();
        let scored = ScoredTable::new(&table(&errors), &question).unwrap();
        let groups = scored.groups(&question);
        let of = |predictors: &[Predictor]| explained(&groups, predictors).map(|found| found.r_squared);
        let both = of(&[Predictor::Parameters, Predictor::Score]).unwrap();
        assert!((both - 1.0).abs() < 1e-9, "{both}");
        assert!(of(&[Predictor::Score]).unwrap() < 0.999 && of(&[Predictor::Parameters]).unwrap() < 0.999);
        assert_eq!(of(&[Predictor::Score, Predictor::Score]), None, "the same twice");
        assert_eq!(explained(&groups[..0], &[Predictor::Score]), None);
        let same = ScoredTable::new(&table(&[1.0; 7]), &question).unwrap();
        assert_eq!(explained(&same.groups(&question), &[Predictor::Score]), None, "nothing to explain");
    }
}
