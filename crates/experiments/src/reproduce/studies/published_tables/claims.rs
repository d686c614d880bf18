//! The three claims that every table is asked about, and the rule of their verdicts.

use crate::score::pairs::{Among, Finding, PairTest, pair_test};
use crate::score::{Group, Predictor};

use crate::reproduce::Verdict;

/// What is claimed, and of which pairs.
pub(super) const CLAIMS: [(&str, Among); 3] = [
    ("of two designs of equal cost, the one of lower score has the lower error", Among::EqualCost),
    ("of any two designs, the one of lower score has the lower error", Among::All),
    (
        "where score and number of parameters disagree, the score is right",
        Among::Against(Predictor::Parameters),
    ),
];

/// The tests of the three claims.
pub(super) fn tests(groups: &[Group], seed: u64) -> [PairTest; 3] {
    CLAIMS.map(|(_, among)| pair_test(groups, Predictor::Score, among, seed))
}

/// The verdict on a claim: only what shuffled errors bring in less than 5 % of cases is decided.
pub(super) fn verdict(test: &PairTest) -> Verdict {
    match test.finding {
        Finding::Right => Verdict::Reproduced,
        Finding::Wrong => Verdict::Differs("it is wrong more often than right".into()),
        Finding::Undecided => Verdict::Undecided("shuffled errors do as well in 5 % of cases or more".into()),
        Finding::TooFew => Verdict::Undecided("too few designs, whatever their errors".into()),
    }
}

/// "p = 0.03" or "p < 0.001".
pub(super) fn chance(p_value: f64) -> String {
    if p_value < 0.001 { "p < 0.001".into() } else { format!("p = {p_value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::score::{Question, ScoredTable, Table};

    /// Five designs of ResNeXt-50 of about equal cost under two recipes, the errors falling with ln
    /// score by `slope`.
    fn verdicts(slope: f64, scatter: f64) -> Vec<&'static str> {
        let noise = [0.5, -0.3, 0.1, 0.4, -0.6, -0.2, 0.6, -0.5, 0.3, -0.4];
        let designs = [(1, 64), (2, 40), (4, 24), (8, 14), (32, 4)];
        let row = |(at, noise): (usize, f64)| {
            let (m, n) = designs[at % 5];
            let error = 24.0 - slope * f64::from(m * n).ln() + scatter * noise;
            format!("50,{m},{n},r{},{error}\n", at / 5)
        };
        let text: String = noise.into_iter().enumerate().map(row).collect();
        let table = Table::from_csv(format!("depth,m,n,recipe,error\n{text}").as_bytes()).unwrap();
        let question = Question { targets: vec!["error".into()], group: vec!["recipe".into()], seed: 0 };
        let scored = ScoredTable::new(&table, &question).unwrap();
        tests(&scored.groups(&question), 0).iter().map(|test| verdict(test).name()).collect()
    }

    #[test]
    fn a_clear_effect_none_and_a_reversed_one() {
        assert_eq!(verdicts(2.0, 0.05), ["reproduced"; 3]);
        assert_eq!(verdicts(0.0, 1.0), ["undecided"; 3]);
        assert_eq!(verdicts(-2.0, 0.05), ["differs"; 3]);
    }

    #[test]
    fn chances_in_words() {
        assert_eq!((chance(0.0).as_str(), chance(0.0312).as_str()), ("p < 0.001", "p = 0.031"));
    }
}
