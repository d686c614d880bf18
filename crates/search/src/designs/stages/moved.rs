//! Designs per stage where cost may move between stages.
//!
//! Minimise Σ V_s(n_s)/m_s with Σ m_s c_s(n_s) within the budget, or the other way round. A
//! Lagrange multiplier splits either problem into one per stage, which is solved by looking at
//! every width; bisection on the multiplier meets the limit, and what is left is filled up stage by
//! stage. The multiplier also bounds how much better any other choice could be.

use super::StageProblem;
use super::choices::{Group, Pick};

/// A score and a cost, summed over groups.
fn sum(picks: &[Pick], of: impl Fn(&Pick) -> f64) -> f64 {
    picks.iter().map(of).sum()
}

impl StageProblem<'_> {
    /// The lowest score within the budget, and how much lower it could be at most.
    pub fn moved_primal(&self) -> Option<(Vec<Pick>, f64)> {
        let budget = self.budget - self.fixed;
        let multiplier = self.multiplier(|picks| sum(picks, Pick::cost) <= budget, false)?;
        let mut picks = self.relaxed(multiplier)?;
        let bound = sum(&picks, |pick| pick.score() + multiplier * pick.cost()) - multiplier * budget;
        // Each stage in turn takes the best that the others leave room for.
        self.improve(&mut picks, |picks, group, now| {
            let others = sum(picks, Pick::cost) - now.cost();
            group.primal(budget - others).filter(|pick| pick.score() < now.score())
        });
        let gap = sum(&picks, Pick::score) / bound - 1.0;
        Some((picks, gap.max(0.0)))
    }

    /// The lowest cost at the baseline's score, and how much lower it could be at most.
    pub fn moved_dual(&self) -> Option<(Vec<Pick>, f64)> {
        let multiplier = self.multiplier(|picks| sum(picks, Pick::score) <= self.target, true)?;
        let mut picks = self.relaxed(multiplier)?;
        let bound = (sum(&picks, |pick| pick.score() + multiplier * pick.cost()) - self.target) / multiplier;
        self.improve(&mut picks, |picks, group, now| {
            let others = sum(picks, Pick::score) - now.score();
            group.dual(self.target - others).filter(|pick| pick.cost() < now.cost())
        });
        let gap = (self.fixed + sum(&picks, Pick::cost)) / (self.fixed + bound) - 1.0;
        Some((picks, gap.max(0.0)))
    }

    fn relaxed(&self, multiplier: f64) -> Option<Vec<Pick>> {
        self.groups.iter().map(|group| group.relaxed(multiplier)).collect()
    }

    /// The multiplier at which the relaxed picks just satisfy `fits`, which large multipliers do
    /// (or, `falling`, small ones).
    fn multiplier(&self, fits: impl Fn(&[Pick]) -> bool, falling: bool) -> Option<f64> {
        let (mut low, mut high) = (1e-30f64, 1e30f64);
        let good = |multiplier: f64| self.relaxed(multiplier).is_some_and(|picks| fits(&picks));
        if !good(if falling { low } else { high }) {
            return None;
        }
        for _ in 0..60 {
            let middle = (low * high).sqrt();
            if good(middle) == falling { low = middle } else { high = middle }
        }
        Some(if falling { low } else { high })
    }

    fn improve(&self, picks: &mut [Pick], better: impl Fn(&[Pick], &Group, &Pick) -> Option<Pick>) {
        loop {
            let mut improved = false;
            for (index, group) in self.groups.iter().enumerate() {
                if let Some(pick) = better(picks, group, &picks[index]) {
                    picks[index] = pick;
                    improved = true;
                }
            }
            if !improved {
                return;
            }
        }
    }
}
