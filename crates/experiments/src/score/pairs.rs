//! Pairs of designs: which of two has the larger error?
//!
//! Two designs of a group are a pair. A predictor is right about it if the design of which it
//! expects more error has more. Groups too small for a correlation still have pairs, and pairs can
//! be chosen where the question is sharp: at equal cost, or where two predictors disagree. Pairs
//! share designs and so are not independent, which the test respects: it shuffles the errors among
//! the designs of each group.

use collegial_core::{Interval, Rng, bootstrap};
use rayon::prelude::*;
use serde::Serialize;

use super::{Group, Predictor, Predictors};

/// Costs within this factor of each other count as equal.
pub const EQUAL: f64 = 1.1;

/// Shuffles behind a p-value, and resamples behind an interval.
pub(crate) const REPLICATES: u64 = 4000;

/// The streams of random numbers that are ours ("shuf", "clus").
const SHUFFLES: u32 = 0x7368_7566;
pub(crate) const CLUSTERS: u32 = 0x636c_7573;

/// Fewer clusters have no interval.
pub(crate) const FEWEST_CLUSTERS: usize = 5;

/// Which pairs are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Among {
    /// All of them.
    All,
    /// Those whose numbers of parameters and FLOPs are both equal within [`EQUAL`].
    EqualCost,
    /// Those of equal inner width m n, which Theorem 1's quantity cannot tell apart.
    EqualWidth,
    /// Those that another predictor orders the other way round.
    Against(Predictor),
}

/// How many pairs a predictor is right about. Pairs whose errors are equal, or of which it expects
/// the same, do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Pairs it is right about.
    pub right: usize,
    /// Pairs that count.
    pub pairs: usize,
}

impl Tally {
    /// "41 of 45".
    pub fn words(self) -> String {
        format!("{} of {}", self.right, self.pairs)
    }

    /// The share of pairs that it is right about.
    pub fn share(self) -> Option<f64> {
        (self.pairs > 0).then(|| self.right as f64 / self.pairs as f64)
    }

    /// Right ones minus wrong ones.
    fn balance(self) -> i64 {
        2 * self.right as i64 - self.pairs as i64
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(tallies: I) -> Self {
        tallies.fold(Self::default(), |sum, tally| Self {
            right: sum.right + tally.right,
            pairs: sum.pairs + tally.pairs,
        })
    }
}

/// What pairs say of a predictor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// It is right more often than wrong, and shuffled errors are so in less than 5 % of cases.
    Right,
    /// It is wrong more often than right, likewise.
    Wrong,
    /// Shuffled errors are as clear in 5 % of cases or more.
    Undecided,
    /// So few designs that no errors whatever could decide it.
    TooFew,
}

/// A tally with the test against chance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PairTest {
    /// Which predictor.
    pub predictor: Predictor,
    /// Which pairs.
    pub among: Among,
    /// How often it is right.
    #[serde(flatten)]
    pub tally: Tally,
    /// The share of shuffles whose balance of right and wrong is at least as uneven.
    pub p_value: f64,
    /// What it comes to.
    pub finding: Finding,
}

/// The pairs of one group that a question is about, with the sign of what is expected of them.
struct Pairs {
    list: Vec<(usize, usize, bool)>,
}

impl Pairs {
    fn of(group: &Group, predictor: Predictor, among: Among) -> Self {
        let expected = group.expectations(predictor);
        let other = match among {
            Among::Against(other) => Some(group.expectations(other)),
            _ => None,
        };
        let equal = |a: usize, b: usize| equal_cost(&group.rows[a].predictors, &group.rows[b].predictors);
        let width = |at: usize| group.rows[at].predictors.inner_width;
        let mut list = vec![];
        for a in 0..expected.len() {
            for b in a + 1..expected.len() {
                let Some(larger) = larger(expected[a], expected[b]) else { continue };
                let asked = match (among, &other) {
                    (Among::EqualCost, _) => equal(a, b),
                    (Among::EqualWidth, _) => self::larger(width(a), width(b)).is_none(),
                    (_, Some(other)) => self::larger(other[a], other[b]) == Some(!larger),
                    _ => true,
                };
                if asked {
                    list.push((a, b, larger));
                }
            }
        }
        Self { list }
    }

    fn tally(&self, errors: &[f64]) -> Tally {
        let judged = self.list.iter().filter(|&&(a, b, _)| errors[a] != errors[b]);
        judged.fold(Tally::default(), |sum, &(a, b, larger)| Tally {
            right: sum.right + usize::from((errors[a] > errors[b]) == larger),
            pairs: sum.pairs + 1,
        })
    }
}

/// Whether parameters and FLOPs are both equal within [`EQUAL`].
pub(crate) fn equal_cost(a: &Predictors, b: &Predictors) -> bool {
    let near = |a: u64, b: u64| (a as f64 / b as f64).ln().abs() <= EQUAL.ln();
    near(a.parameters, b.parameters) && near(a.flops, b.flops)
}

/// Whether the first is larger; `None` where they are equal but for rounding.
fn larger(a: f64, b: f64) -> Option<bool> {
    ((a - b).abs() > 1e-9 * a.abs().max(b.abs())).then_some(a > b)
}

/// How often a predictor is right in one group.
pub fn tally(group: &Group, predictor: Predictor, among: Among) -> Tally {
    Pairs::of(group, predictor, among).tally(&group.errors)
}

/// How often a predictor is right over all groups, and whether that is chance: errors are shuffled
/// within groups.
pub fn pair_test(groups: &[Group], predictor: Predictor, among: Among, seed: u64) -> PairTest {
    let pairs: Vec<Pairs> = groups.iter().map(|group| Pairs::of(group, predictor, among)).collect();
    let asked: Vec<(&Pairs, &Group)> =
        pairs.iter().zip(groups).filter(|(pairs, _)| !pairs.list.is_empty()).collect();
    let tally: Tally = asked.iter().map(|(pairs, group)| pairs.tally(&group.errors)).sum();
    let shuffled: Vec<i64> = (0..REPLICATES)
        .into_par_iter()
        .map(|replicate| {
            let mut rng = Rng::new(seed, SHUFFLES, replicate);
            let of = |(pairs, group): &(&Pairs, &Group)| {
                let mut errors = group.errors.clone();
                rng.shuffle(&mut errors);
                pairs.tally(&errors)
            };
            asked.iter().map(of).sum::<Tally>().balance().abs()
        })
        .collect();
    let share = |least: i64| {
        shuffled.iter().filter(|&&balance| balance >= least).count() as f64 / shuffled.len() as f64
    };
    let p_value = share(tally.balance().abs());
    let clearest = share(shuffled.iter().copied().max().unwrap_or(0));
    PairTest { predictor, among, tally, p_value, finding: finding(tally, p_value, clearest) }
}

/// The rule of [`Finding`]; `clearest` is the smallest p-value that these designs could give.
fn finding(tally: Tally, p_value: f64, clearest: f64) -> Finding {
    match tally.balance() {
        _ if tally.pairs == 0 || clearest >= 0.05 => Finding::TooFew,
        _ if p_value >= 0.05 => Finding::Undecided,
        balance if balance > 0 => Finding::Right,
        _ => Finding::Wrong,
    }
}

/// The 95 % interval of the share of right pairs, by drawing whole clusters (groups, or sources)
/// again: pairs of one cluster are not independent. `None` for fewer than five clusters with pairs.
pub fn share_interval(clusters: &[Tally], seed: u64) -> Option<[f64; 2]> {
    let clusters: Vec<Tally> = clusters.iter().copied().filter(|tally| tally.pairs > 0).collect();
    if clusters.len() < FEWEST_CLUSTERS {
        return None;
    }
    let shares = bootstrap(seed, CLUSTERS, REPLICATES, clusters.len(), |drawn| share(&clusters, drawn));
    let Interval { low, high } = Interval::percentile(&shares, 0.95);
    Some([low, high])
}

/// The share of right pairs of clusters that may be drawn several times.
pub(crate) fn share(clusters: &[Tally], drawn: &[usize]) -> f64 {
    let sum: Tally = drawn.iter().map(|&at| clusters[at]).sum();
    sum.right as f64 / sum.pairs as f64
}

#[cfg(test)]
mod tests {
    use super::super::{Question, ScoredTable, Table};
    use super::*;

    /// Four recipes of four designs of ResNeXt-29 whose errors fall with ln(m n) by `slope`, with a
    /// fixed scatter.
    fn scored(slope: f64, scatter: f64, recipes: usize) -> (ScoredTable, Question) {
        let mut text = String::from("depth,m,n,recipe,error\n");
        let noise =
            [0.3, -0.4, 0.5, -0.2, -0.5, 0.1, 0.2, 0.4, -0.1, 0.6, -0.6, 0.0, 0.25, -0.3, 0.15, -0.35];
        for (at, noise) in noise.into_iter().take(4 * recipes).enumerate() {
            let m = [1, 2, 4, 8][(at * 7 + at / 4) % 4];
            let error = 20.0 - slope * f64::from(m * 16).ln() + scatter * noise;
            text += &format!("29,{m},16,r{},{error}\n", at / 4);
        }
        let table = Table::from_csv(text.as_bytes()).unwrap();
        let question = Question { targets: vec!["error".into()], group: vec!["recipe".into()], seed: 1 };
        (ScoredTable::new(&table, &question).unwrap(), question)
    }

    fn test(slope: f64, scatter: f64, recipes: usize) -> PairTest {
        let (scored, question) = scored(slope, scatter, recipes);
        pair_test(&scored.groups(&question), Predictor::Score, Among::All, 0)
    }

    #[test]
    fn a_clear_effect_none_and_a_reversed_one() {
        let clear = test(2.0, 0.1, 4);
        assert_eq!((clear.tally, clear.finding), (Tally { right: 24, pairs: 24 }, Finding::Right));
        let reversed = test(-2.0, 0.1, 4);
        assert_eq!((reversed.tally.right, reversed.finding), (0, Finding::Wrong));
        let none = test(0.0, 1.0, 4);
        assert_eq!(none.finding, Finding::Undecided, "{none:?}");
        // Four designs have 24 orders, and two of them are as clear as can be.
        let few = test(2.0, 0.1, 1);
        assert_eq!((few.tally.right, few.finding), (6, Finding::TooFew), "{few:?}");
        assert!((few.p_value - 2.0 / 24.0).abs() < 0.02, "{few:?}");
    }

    #[test]
    fn pairs_can_be_chosen() {
        // 3x64d and 37x10d cost about the same, 10x10d much less; 37x10d has the least variance.
        let text = "model,error\nresnext29-3x64d,18.57\nresnext29-37x10d,17.53\nresnext29-10x10d,20.5\n";
        let table = Table::from_csv(text.as_bytes()).unwrap();
        let question = Question { targets: vec!["error".into()], ..Question::default() };
        let scored = ScoredTable::new(&table, &question).unwrap();
        let groups = scored.groups(&question);
        let of = |predictor, among| tally(&groups[0], predictor, among);
        assert_eq!(of(Predictor::Score, Among::All), Tally { right: 3, pairs: 3 });
        assert_eq!(of(Predictor::Score, Among::EqualCost), Tally { right: 1, pairs: 1 });
        assert_eq!(of(Predictor::Score, Among::Against(Predictor::Parameters)).pairs, 0);
    }

    #[test]
    fn intervals_need_clusters() {
        let cluster = Tally { right: 8, pairs: 10 };
        assert_eq!(share_interval(&[cluster; 4], 0), None);
        let [low, high] = share_interval(&[cluster; 9], 0).unwrap();
        assert!((low - 0.8).abs() < 1e-9 && (high - 0.8).abs() < 1e-9);
        let mixed: Vec<Tally> = (0..10).map(|at| Tally { right: at, pairs: 10 }).collect();
        let [low, high] = share_interval(&mixed, 0).unwrap();
        assert!(low < 0.45 && high > 0.45 && high - low > 0.2, "{low} {high}");
    }
}
