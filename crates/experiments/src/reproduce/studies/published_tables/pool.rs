//! The groups of several tables together, and the tests over them.

use serde::Serialize;

use super::claims::CLAIMS;
use crate::score::pairs::{Among, PairTest, Tally, pair_test, share_interval, tally};
use crate::score::{Group, Predictor};

/// A test over several tables.
#[derive(Serialize)]
pub(super) struct Tested {
    #[serde(flatten)]
    pub test: PairTest,
    /// The 95 % interval of the share of right pairs, from drawing whole tables again.
    pub interval: Option<[f64; 2]>,
}

impl Tested {
    /// "81 of 96, 84 % (72 to 93)".
    pub(super) fn words(&self) -> String {
        let percent = |share: f64| format!("{:.0}", 100.0 * share);
        let Some(value) = self.test.tally.share() else { return "no pair".into() };
        let interval = self
            .interval
            .map_or(String::new(), |[low, high]| format!(" ({} to {})", percent(low), percent(high)));
        format!("{}, {} %{interval}", self.test.tally.words(), percent(value))
    }
}

/// The groups of several tables.
pub(super) struct Pool<'a> {
    pub tables: Vec<Vec<Group<'a>>>,
    pub all: Vec<Group<'a>>,
    /// Of every claim.
    pub tests: Vec<Tested>,
    seed: u64,
}

impl<'a> Pool<'a> {
    pub(super) fn of(tables: impl Iterator<Item = Vec<Group<'a>>>, seed: u64) -> Self {
        let tables: Vec<Vec<Group>> = tables.collect();
        let all: Vec<Group> = tables.iter().flatten().cloned().collect();
        let mut pool = Self { tables, all, tests: vec![], seed };
        pool.tests = CLAIMS.iter().map(|(_, among)| pool.test(Predictor::Score, *among)).collect();
        pool
    }

    /// Of a predictor over all tables.
    pub(super) fn test(&self, predictor: Predictor, among: Among) -> Tested {
        let of = |groups: &Vec<Group>| groups.iter().map(|group| tally(group, predictor, among)).sum();
        let tallies: Vec<Tally> = self.tables.iter().map(of).collect();
        Tested {
            test: pair_test(&self.all, predictor, among, self.seed),
            interval: share_interval(&tallies, self.seed),
        }
    }
}
