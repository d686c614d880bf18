//! The integrality gap: whole members miss the optimum of a real-valued m. A RegNet has few groups
//! in its first stage, so that between m and m + 1 lies a large part of the budget.

use collegial_search::Gain;

use super::Designs;

/// With as many members a whole one is a small step.
const MANY: usize = 8;

/// Less than this is not worth a sentence.
const NOTABLE: f64 = 1.005;

impl Designs {
    /// That another width would be better if m were not a whole number, where it leaves nothing.
    pub(super) fn whole_members(&self) -> Option<String> {
        let own = self.answer.baseline_design.filter(|own| own.multiplicity < MANY)?;
        let paid_for = self.answer.curve.iter().filter(|point| point.primal_objective > 0.0);
        let best = paid_for.min_by(|a, b| a.primal_objective.total_cmp(&b.primal_objective))?;
        let gain = self.answer.baseline_score / best.primal_objective;
        if self.answer.primal.gain != Gain::BaselineIsBest || gain < NOTABLE {
            return None;
        }
        Some(format!(
            "Width {} would have {gain:.2} times less with {:.1} members in the place of {own}, at the same cost; whole ones leave nothing of that.",
            best.width, best.primal_multiplicity
        ))
    }
}
