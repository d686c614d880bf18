//! Evidence from others' trainings about a step from one design to another of equal cost.
//!
//! The main type is [`Evidence`]: of a step that divides the variance by some ratio, what the
//! published pairs did that differ about as much. The pairs are those that `reproduce evidence`
//! finds in `research/published-tables`, written to `evidence/steps.csv` by a test
//! (`tests/evidence.rs`), so that programs without these tables have them.

use collegial_core::{Interval, bootstrap, interpolated};
use serde::{Deserialize, Serialize};

use crate::score::pairs::{CLUSTERS, EQUAL, FEWEST_CLUSTERS, REPLICATES, Tally, share};

/// The steps of the published tables.
const STEPS: &str = include_str!("../evidence/steps.csv");

/// Pairs are like a step if their ratio of variances is that of the step within this factor.
const ALIKE: f64 = 1.25;

/// Fewer pairs are no evidence.
const FEWEST: usize = 5;

/// Seed of the intervals.
const SEED: u64 = 1;

/// Two published networks of one recipe, skeleton and cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The file of `research/published-tables`.
    pub table: String,
    /// Recipe and blocks per stage.
    pub group: String,
    /// The network of less variance, as its source calls it.
    pub model: String,
    /// The one of more.
    pub other: String,
    /// The other's score over the network's: how many times less variance.
    pub variance_ratio: f64,
    /// Its harmonic mean of inner widths m n over the other's.
    pub inner_width_ratio: f64,
    /// By how many points its error is lower.
    pub points: f64,
}

/// What pairs like a step say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// Whether the step itself is of equal cost; no pair is like one that is not.
    pub equal_cost: bool,
    /// From which to which ratio of variances pairs count as alike.
    pub variance_ratios: [f64; 2],
    /// How many there are, without those of equal errors.
    pub pairs: usize,
    /// How many have equal errors, which tell nothing.
    pub equal_error: usize,
    /// In how many of them the design of less variance has the lower error.
    pub lower_error: usize,
    /// In how many it has more total inner width m n as well.
    pub more_inner_width: usize,
    /// From how many tables they are.
    pub tables: usize,
    /// The rest, where there are at least five pairs.
    #[serde(flatten)]
    pub gain: Option<Gain>,
}

/// By how much the error is lower.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// The 95 % interval of the share of pairs with the lower error, by drawing whole tables again;
    /// `None` for fewer than five tables.
    pub share_ci: Option<[f64; 2]>,
    /// The median difference of errors in points; positive if less variance has less error.
    pub median_points: f64,
    /// Its 95 % interval, likewise.
    pub median_points_ci: Option<[f64; 2]>,
}

impl Evidence {
    /// Of a step to `variance_ratio` times less variance, whose network has these shares of the
    /// baseline's parameters and FLOPs.
    pub fn of_step(variance_ratio: f64, cost_shares: [f64; 2]) -> Self {
        let equal_cost = cost_shares.iter().all(|share| share.ln().abs() <= EQUAL.ln());
        let variance_ratios = [(variance_ratio / ALIKE).max(1.0), variance_ratio * ALIKE];
        let [low, high] = variance_ratios;
        let alike = |step: &Step| equal_cost && (low..=high).contains(&step.variance_ratio);
        let (steps, equal): (Vec<Step>, Vec<Step>) =
            published().into_iter().filter(alike).partition(|step| step.points != 0.0);
        let count = |holds: fn(&Step) -> bool| steps.iter().filter(|step| holds(step)).count();
        let tables: Vec<&[Step]> = steps.chunk_by(|a, b| a.table == b.table).collect();
        Self {
            equal_cost,
            variance_ratios,
            pairs: steps.len(),
            equal_error: equal.len(),
            lower_error: count(|step| step.points > 0.0),
            more_inner_width: count(|step| step.inner_width_ratio > 1.0),
            tables: tables.len(),
            gain: (steps.len() >= FEWEST).then(|| gain(&tables)),
        }
    }
}

/// The published steps, table by table.
fn published() -> Vec<Step> {
    let rows = csv::Reader::from_reader(STEPS.as_bytes()).into_deserialize();
    rows.collect::<Result<_, _>>().expect("tests read evidence/steps.csv")
}

fn gain(tables: &[&[Step]]) -> Gain {
    let (tallies, medians): (Vec<Tally>, _) =
        (tables.iter().map(|steps| tally(steps)).collect(), Medians::new(tables));
    // One set of resamples serves both intervals.
    let intervals = (tables.len() >= FEWEST_CLUSTERS).then(|| {
        let drawn = bootstrap(SEED, CLUSTERS, REPLICATES, tables.len(), |drawn| {
            [share(&tallies, drawn), medians.of(drawn)]
        });
        [0, 1].map(|which: usize| {
            let replicates: Vec<f64> = drawn.iter().map(|both| both[which]).collect();
            let Interval { low, high } = Interval::percentile(&replicates, 0.95);
            [low, high]
        })
    });
    let all: Vec<usize> = (0..tables.len()).collect();
    Gain {
        share_ci: intervals.map(|[share, _]| share),
        median_points: medians.of(&all),
        median_points_ci: intervals.map(|[_, median]| median),
    }
}

fn tally(steps: &[Step]) -> Tally {
    Tally { right: steps.iter().filter(|step| step.points > 0.0).count(), pairs: steps.len() }
}

/// Median differences of errors over some of the tables, without sorting each time.
struct Medians {
    /// Every pair's difference and its table, by ascending difference.
    points: Vec<(f64, usize)>,
    /// How many pairs a table has.
    pairs: Vec<usize>,
}

impl Medians {
    fn new(tables: &[&[Step]]) -> Self {
        let of = |(table, steps): (usize, &&[Step])| -> Vec<(f64, usize)> {
            steps.iter().map(|step| (step.points, table)).collect()
        };
        let mut points: Vec<(f64, usize)> = tables.iter().enumerate().flat_map(of).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self { points, pairs: tables.iter().map(|steps| steps.len()).collect() }
    }

    /// Over tables that may be drawn several times.
    fn of(&self, drawn: &[usize]) -> f64 {
        let mut times = vec![0usize; self.pairs.len()];
        drawn.iter().for_each(|&table| times[table] += 1);
        let count: usize = times.iter().zip(&self.pairs).map(|(times, pairs)| times * pairs).sum();
        interpolated(count, 0.5, |below| {
            let (mut met, mut lower) = (0, None);
            for &(value, table) in &self.points {
                met += times[table];
                if met > below {
                    let lower = *lower.get_or_insert(value);
                    if met > below + 1 {
                        return [lower, value];
                    }
                }
            }
            // The lower one is the last.
            [lower.unwrap_or(f64::NAN); 2]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 96 pairs of equal cost of docs/evidence.md, 81 of them right.
    #[test]
    fn the_steps_are_those_of_the_evidence() {
        let steps = published();
        let judged: Vec<&Step> = steps.iter().filter(|step| step.points != 0.0).collect();
        let right = judged.iter().filter(|step| step.points > 0.0).count();
        assert_eq!((steps.len(), judged.len(), right), (97, 96, 81));
        let mut tables: Vec<&String> = steps.iter().map(|step| &step.table).collect();
        let runs = tables.chunk_by(|a, b| a == b).count();
        tables.sort();
        tables.dedup();
        assert_eq!(runs, tables.len(), "every table's steps stand together");
    }

    /// Counted again without the types above.
    #[test]
    fn pairs_like_a_step_are_counted() {
        let found = Evidence::of_step(1.7, [1.0, 1.05]);
        let (mut pairs, mut lower, mut wider, mut points) = (0, 0, 0, vec![]);
        for line in STEPS.lines().skip(1) {
            let cells: Vec<f64> = line.rsplit(',').take(3).map(|cell| cell.parse().unwrap()).collect();
            let [fall, width, ratio] = cells[..] else { panic!("{line}") };
            if (1.36..=2.125).contains(&ratio) && fall != 0.0 {
                pairs += 1;
                lower += usize::from(fall > 0.0);
                wider += usize::from(width > 1.0);
                points.push(fall);
            }
        }
        assert_eq!((found.pairs, found.lower_error, found.more_inner_width), (pairs, lower, wider));
        points.sort_by(f64::total_cmp);
        let middle = 0.5 * (points[(pairs - 1) / 2] + points[pairs / 2]);
        let gain = found.gain.unwrap();
        assert!((gain.median_points - middle).abs() < 1e-12);
        let [low, high] = gain.share_ci.unwrap();
        let share = lower as f64 / pairs as f64;
        assert!(low < share && share < high && high <= 1.0);
        let [low, high] = gain.median_points_ci.unwrap();
        assert!(low < middle && middle < high);
    }

    /// Medians of tables drawn again are those of all their pairs in one list.
    #[test]
    fn medians_are_those_of_sorted_lists() {
        let steps = published();
        let tables: Vec<&[Step]> = steps.chunk_by(|a, b| a.table == b.table).collect();
        let medians = Medians::new(&tables);
        let drawn = bootstrap(7, CLUSTERS, 200, tables.len(), <[usize]>::to_vec);
        for drawn in drawn.into_iter().chain((0..tables.len()).map(|one| vec![one])) {
            let points: Vec<f64> = drawn.iter().flat_map(|&at| tables[at]).map(|step| step.points).collect();
            let expected = Interval::percentile(&points, 0.0).low;
            assert_eq!(medians.of(&drawn).to_bits(), expected.to_bits(), "{drawn:?}");
        }
    }

    #[test]
    fn steps_without_pairs_have_no_gain() {
        let far = Evidence::of_step(2.62, [1.0, 1.09]);
        assert!(far.equal_cost && far.pairs < FEWEST && far.gain.is_none(), "{far:?}");
        let dear = Evidence::of_step(1.7, [1.0, 1.11]);
        assert_eq!((dear.equal_cost, dear.pairs, dear.gain), (false, 0, None));
    }
}
