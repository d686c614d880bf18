//! Association of predictors with errors: Spearman's correlation, partial ones, and slopes in
//! ln-ln, within groups of rows.

use collegial_core::{Interval, Ordered, Regression, bootstrap, centred_logs, correlation, spearman};
use serde::Serialize;

use super::group::groups;
use super::{Group, Predictor, Question, ScoredRow};

/// Fewer rows than this have no correlation worth printing.
pub(super) const FEWEST: usize = 4;

/// Resamples of fewer rows than this repeat so few of them that their spread is no interval.
const RESAMPLED: usize = 6;

/// Values that all replicates of one bootstrap may rank in all, and the replicates at least and at
/// most.
const WORK: u64 = 4_000_000;
const REPLICATES: (u64, u64) = (200, 2000);

/// The stream of random numbers that is ours ("asso").
const STREAM: u32 = 0x6173_736f;

/// The rank correlation of one predictor with one target in one group.
///
/// Positive where the predictor is right: variances should grow with the error, sizes (parameters,
/// FLOPs, width) should fall, and their sign is turned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Association {
    /// The group's value in the grouping column; `null` without one.
    pub group: Option<String>,
    /// The column of errors.
    pub target: String,
    /// The predictor.
    pub predictor: Predictor,
    /// What is held fixed: the partial rank correlation given this predictor.
    pub given: Option<Predictor>,
    /// The correlation; `null` where it has no meaning, as for a predictor that is the same in all
    /// rows.
    pub spearman: Option<f64>,
    /// Its 95 % interval, by resampling rows; `null` where there are too few rows for that, or all
    /// resamples are alike.
    pub ci: Option<[f64; 2]>,
    /// How many rows.
    pub rows: usize,
}

/// The least-squares slope of ln error on ln predictor in one group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Slope {
    /// The group's value in the grouping column; `null` without one.
    pub group: Option<String>,
    /// The column of errors.
    pub target: String,
    /// The predictor.
    pub predictor: Predictor,
    /// The slope: 0.1 means that ten times as much goes with 10^0.1 times the error.
    pub slope: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// How many rows.
    pub rows: usize,
}

/// Spearman's partial correlation: that of the ranks of x and y, those of z held fixed.
///
/// `None` where it has no meaning: where two of them cannot be correlated, or z orders x or y
/// completely.
pub fn partial_spearman(x: &[f64], y: &[f64], z: &[f64]) -> Option<f64> {
    partial(spearman(x, y)?, spearman(x, z)?, spearman(y, z)?)
}

/// The partial correlation of x and y from the three plain ones.
fn partial(xy: f64, xz: f64, yz: f64) -> Option<f64> {
    let left = (1.0 - xz * xz) * (1.0 - yz * yz);
    (left > 1e-9).then(|| (xy - xz * yz) / left.sqrt())
}

/// All correlations and slopes that a question asks for.
pub(super) fn all(rows: &[ScoredRow], question: &Question) -> (Vec<Association>, Vec<Slope>) {
    let (mut associations, mut slopes) = (vec![], vec![]);
    for group in groups(rows, question).iter().filter(|group| group.rows.len() >= FEWEST) {
        for predictor in Predictor::ALL {
            for given in [None, Some(Predictor::Parameters), Some(Predictor::Flops)] {
                if given != Some(predictor) {
                    associations.push(group.association(predictor, given, question.seed));
                }
            }
            slopes.extend(group.slope(predictor));
        }
    }
    (associations, slopes)
}

impl Group<'_> {
    fn association(&self, predictor: Predictor, given: Option<Predictor>, seed: u64) -> Association {
        let x = self.expectations(predictor);
        let z = given.map(|given| self.expectations(given));
        let estimate = match &z {
            None => spearman(&x, &self.errors),
            Some(z) => partial_spearman(&x, &self.errors, z),
        };
        let rows = self.rows.len();
        let ordered = [Some(x), Some(self.errors.clone()), z];
        let [x, y, z] = ordered.map(|values| Ordered::new(&values?));
        let ci = estimate.filter(|_| rows >= RESAMPLED).and_then(|_| {
            let replicates = (WORK / rows as u64).clamp(REPLICATES.0, REPLICATES.1);
            let statistic = |drawn: &[usize]| {
                let mut counts = vec![0; rows];
                drawn.iter().for_each(|&at| counts[at] += 1);
                let ranks = |values: &Option<Ordered>| Some(values.as_ref()?.centred_ranks(&counts));
                let (x, y) = (ranks(&x)?, ranks(&y)?);
                let xy = correlation(&x, &y, &counts)?;
                match ranks(&z) {
                    None => Some(xy),
                    Some(z) => partial(xy, correlation(&x, &z, &counts)?, correlation(&y, &z, &counts)?),
                }
            };
            let values =
                bootstrap(seed, STREAM, replicates, rows, |drawn| statistic(drawn).unwrap_or(f64::NAN));
            // Resamples that repeat few rows may have no order.
            let values: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
            if values.is_empty() {
                return None;
            }
            let Interval { low, high } = Interval::percentile(&values, 0.95);
            // A perfect order stays one in every resample, which says nothing of other designs.
            (low < high).then_some([low, high])
        });
        Association {
            group: self.name.clone(),
            target: self.target.to_owned(),
            predictor,
            given,
            spearman: estimate,
            ci,
            rows,
        }
    }

    /// `None` where the predictor or the error is the same everywhere, or not positive.
    fn slope(&self, predictor: Predictor) -> Option<Slope> {
        let x = centred_logs(self.rows.iter().map(|row| predictor.value(&row.predictors)));
        let y = centred_logs(self.errors.iter().copied());
        // Equal logarithms are off their mean by rounding, which must not become a slope.
        let spread = |logs: &[f64]| logs.iter().fold(0.0, |most: f64, log| most.max(log.abs()));
        if spread(&x) < 1e-12 || spread(&y) < 1e-12 {
            return None;
        }
        let found = Regression::centred(&y, &[x], 1)?;
        Some(Slope {
            group: self.name.clone(),
            target: self.target.to_owned(),
            predictor,
            slope: found.slopes[0],
            standard_error: found.standard_errors[0],
            rows: self.rows.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ScoredTable, Table};
    use super::*;

    /// Twelve designs of ResNeXt-29 whose errors are `slope` times the logarithm of m n, plus a
    /// fixed scatter.
    fn table(slope: f64) -> Table {
        let mut text = String::from("depth,m,n,recipe,error\n");
        let scatter = [0.3, -0.2, 0.1, -0.4, 0.2, 0.0, -0.1, 0.4, -0.3, 0.15, -0.15, 0.05];
        for (index, scatter) in scatter.into_iter().enumerate() {
            let (m, n) = (1 + index % 4 * 3, 8 << (index / 4));
            let error = 20.0 - slope * f64::from(m as u32 * n).ln() + 0.5 * scatter;
            text += &format!("29,{m},{n},{},{error}\n", if index % 2 == 0 { "a" } else { "b" });
        }
        Table::from_csv(text.as_bytes()).unwrap()
    }

    fn scored(slope: f64, group: Option<&str>) -> ScoredTable {
        let question = Question {
            targets: vec!["error".into()],
            group: group.map(str::to_owned).into_iter().collect(),
            seed: 1,
        };
        ScoredTable::new(&table(slope), &question).unwrap()
    }

    fn score_association(table: &ScoredTable) -> &Association {
        let plain = |found: &&Association| found.predictor == Predictor::Score && found.given.is_none();
        table.correlations.iter().find(plain).unwrap()
    }

    /// Errors that fall with m n are ranked by the score, reversed ones are ranked the other way,
    /// and scatter alone is not.
    #[test]
    fn clear_reversed_and_no_effect_are_told_apart() {
        let of = |slope| score_association(&scored(slope, None)).clone();
        let (clear, reversed, none) = (of(0.5), of(-0.5), of(0.0));
        assert!(clear.ci.unwrap()[0] > 0.5, "{clear:?}");
        assert!(reversed.ci.unwrap()[1] < -0.5, "{reversed:?}");
        assert!(none.ci.unwrap()[0] < 0.0 && none.ci.unwrap()[1] > 0.0, "{none:?}");
    }

    #[test]
    fn groups_are_kept_apart() {
        let table = scored(3.0, Some("recipe"));
        let groups: Vec<_> = table.correlations.iter().filter_map(|found| found.group.as_deref()).collect();
        assert!(groups.contains(&"a") && groups.contains(&"b"));
        assert!(table.correlations.iter().all(|found| found.rows == 6));
        assert!(table.slopes.iter().all(|slope| slope.rows == 6 && slope.standard_error > 0.0));
    }

    /// A text, an empty cell and a group of two are said; five rows have no interval, and neither
    /// has a perfect order.
    #[test]
    fn what_is_not_compared_is_said() {
        let text = "depth,m,n,recipe,error\n29,1,8,a,5\n29,1,16,a,4\n29,1,32,a,x\n29,1,64,a,\n29,2,16,b,3\n29,2,32,b,2\n\
                    29,2,64,b,2.5\n29,4,16,b,2.6\n29,4,32,b,1.5\n";
        let question = Question { targets: vec!["error".into()], group: vec!["recipe".into()], seed: 1 };
        let scored = ScoredTable::new(&Table::from_csv(text.as_bytes()).unwrap(), &question).unwrap();
        let said: Vec<_> = scored.not_compared.iter().map(|left| (left.row, left.reason.as_str())).collect();
        assert_eq!(
            said,
            [
                (Some(3), "its error is \"x\", not a number"),
                (Some(4), "its error is empty"),
                (None, "2 designs with a number as error; a correlation needs 4")
            ]
        );
        assert!(scored.correlations.iter().all(|found| found.rows == 5 && found.ci.is_none()));
        let perfect =
            "depth,m,n,error\n29,1,8,8\n29,2,8,7\n29,3,8,6\n29,4,8,5\n29,5,8,4\n29,6,8,3\n29,7,8,2\n";
        let question = Question { targets: vec!["error".into()], ..Question::default() };
        let scored = ScoredTable::new(&Table::from_csv(perfect.as_bytes()).unwrap(), &question).unwrap();
        let found = score_association(&scored);
        assert_eq!((found.spearman, found.ci), (Some(1.0), None));
    }

    /// Seven designs of one m n: the mean of seven equal logarithms is not exactly each of them.
    #[test]
    fn what_is_the_same_everywhere_has_no_slope() {
        let designs = [(1, 64), (2, 32), (4, 16), (8, 8), (16, 4), (32, 2), (64, 1)];
        let mut text = String::from("depth,m,n,error\n");
        for (index, (m, n)) in designs.into_iter().enumerate() {
            text += &format!("29,{m},{n},{}\n", 5.0 + 0.1 * index as f64);
        }
        let question = Question { targets: vec!["error".into()], group: vec![], seed: 1 };
        let scored = ScoredTable::new(&Table::from_csv(text.as_bytes()).unwrap(), &question).unwrap();
        let found: Vec<_> = scored.slopes.iter().map(|slope| slope.predictor).collect();
        assert!(found.contains(&Predictor::Score), "{found:?}");
        assert!(!found.contains(&Predictor::Width), "{found:?}");
    }

    /// Ranks made by hand: x and y agree but for what both share with z.
    #[test]
    fn partial_correlations() {
        let z = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let x = [2.0, 1.0, 4.0, 3.0, 6.0, 5.0];
        let y = [1.0, 3.0, 2.0, 5.0, 4.0, 6.0];
        let (xy, xz, yz) = (spearman(&x, &y).unwrap(), spearman(&x, &z).unwrap(), spearman(&y, &z).unwrap());
        // The textbook's determinant form.
        let expected = (xy - xz * yz) / ((1.0 - xz * xz).sqrt() * (1.0 - yz * yz).sqrt());
        assert!((partial_spearman(&x, &y, &z).unwrap() - expected).abs() < 1e-12);
        assert!(expected < 0.0 && xy > 0.4, "what is left is against the trend: {expected} {xy}");
        assert_eq!(partial_spearman(&z, &y, &z), None);
    }
}
